"""The page: a run as one HTML file that anyone can open and play against, without a network.

`page.html` is the frame, `page.css` the look; `game.js` knows rules, table and match, and the other scripts show them.
They are put into one file, whose content security policy allows these very scripts and nothing else.
"""

import base64
import hashlib
import html
import json
import re
from importlib.resources import files
from pathlib import Path
from typing import Any

from ttt_batch.app.web.about import about
from ttt_batch.app.web.packing import Packed, pack
from ttt_batch.base.choices import Ties
from ttt_batch.base.errors import BoardError, option
from ttt_batch.game.solution import QUICKEST
from ttt_batch.game.state_space import check_enumerable
from ttt_batch.runs.formats import EXPORT, check_targets
from ttt_batch.runs.run import Run

SCRIPTS = ("game.js", "parts.js", "hints.js", "about.js", "page.js")
"""The page's scripts; each knows those before it."""

MAX_BYTES = 5_000_000
"""Bytes of the largest page, so that it can be sent around and opens at once."""


def export_page(run: Run, path: str | Path, *, ties: Ties = "soonest", overwrite: bool = False) -> Path:
    """Write the page of a run to `path`, whole or not at all, and return the path.

    ties: which of the moves that its rule may pick the agent plays there, as for `Run.candidates`.
    Raises BoardError for a board that is not enumerated or whose page would have more than `MAX_BYTES`, and
    FormatError if the file cannot be written or exists already (unless `overwrite`).
    """
    path = Path(path)
    check_targets([path], overwrite=overwrite)
    EXPORT.write([path], [page_text(run, ties).encode()], overwrite=overwrite)
    return path


def page_text(run: Run, ties: Ties = "soonest") -> str:
    """The page of a run as HTML.  Raises BoardError as `export_page` does, and UsageError for other ties."""
    check_enumerable(run.board, run.config.grown, "a page")
    style, scripts = _source("page.css"), [_source(name) for name in SCRIPTS]
    parts = {
        "title": html.escape(f"{run.board.name} tic-tac-toe against {run.config.learner}"),
        "policy": _policy(style, *scripts),
        "style": style,
        "data": _data(run, pack(run, ties), ties),
        "scripts": "\n".join(f"<script>\n{script}\n</script>" for script in scripts),
    }
    # One pass, so that nothing within a part is taken for the name of another.
    text = re.sub(r"\{\{(\w+)\}\}", lambda found: parts[found[1]], _source("page.html"))
    size = len(text.encode())
    if size > MAX_BYTES:
        remedy = (
            "export it as npz" if run.config.symmetry else f"train with {option('symmetry', 'on')}, or export it as npz"
        )
        raise BoardError(
            f"the page of this run of {run.board.name} would have {size:,} bytes, more than {MAX_BYTES:,}; {remedy}"
        )
    return text


def _source(name: str) -> str:
    """A part of the page, without its last line end."""
    return files(__name__).joinpath(name).read_text("utf-8").rstrip("\n")


def _policy(style: str, *scripts: str) -> str:
    """The content security policy: nothing is fetched, and only these sources run."""

    def allowed(*sources: str) -> str:
        digests = [base64.b64encode(hashlib.sha256(f"\n{source}\n".encode()).digest()) for source in sources]
        return " ".join(f"'sha256-{digest.decode()}'" for digest in digests)

    return (
        f"default-src 'none'; style-src {allowed(style)}; script-src {allowed(*scripts)}; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )


def _data(run: Run, packed: Packed, ties: Ties) -> str:
    """Everything about this run, as JSON that may stand in HTML."""
    board = run.board
    data: dict[str, Any] = {
        "board": {
            "name": board.name,
            "rows": board.rows,
            "cols": board.cols,
            "misere": board.misere,
            "lines": board.line_masks,
            "images": board.images(run.config.symmetry),
        },
        "about": about(run, ties),
        "scale": {"low": -1 if run.learner.zero_sum else 0, "high": 1},
        "table": {
            "sizes": packed.sizes,
            "rows": packed.rows,
            "step": packed.step,
            "quickest": QUICKEST,
            "deflated": base64.b64encode(packed.deflated).decode(),
        },
    }
    return json.dumps(data, separators=(",", ":")).replace("<", "\\u003c")
