"""The page: a run as one HTML file that anyone can open and play against, without a network.

`page.html` is the frame, `page.css` the look; `game.js` knows rules and match, `table.js`, `network.js` or `cards.js`
what the agent thinks of a position, those of `learning/` learn, and the other scripts show them.  They are put
into one file, whose content security policy allows these very scripts and nothing else.
"""

import base64
import hashlib
import html
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal, NamedTuple

from ttt_batch.agents.adapter import AgentAdapter
from ttt_batch.app.cards import Deck
from ttt_batch.app.lesson import for_page
from ttt_batch.app.web import packing
from ttt_batch.app.web.texts import about, describe_cards, describe_networks
from ttt_batch.core.errors import BoardError, UsageError, flag, worded
from ttt_batch.core.files import shown
from ttt_batch.core.text import Ties, check_ties, count_text
from ttt_batch.games.board import BOARD_NAMES, Board, cells_in
from ttt_batch.games.enumeration import choose_space, enumerate_graph
from ttt_batch.games.solution import solve_in_plies
from ttt_batch.runs.formats import EXPORT, check_targets
from ttt_batch.runs.importing import check_export
from ttt_batch.runs.loading import AnyRun
from ttt_batch.runs.network_run import PatternRun

MAX_BYTES = 5_000_000
"""Bytes that an agent takes on a page at most, so that it can be sent around and opens at once."""

Tab = Literal["play", "learn", "lesson"]

OnPage = AnyRun | AgentAdapter | Deck
"""What can play on a page."""


def export_page(
    run: OnPage,
    path: str | Path,
    *,
    ties: Ties | None = None,
    opens: Tab = "play",
    overwrite: bool = False,
) -> Path:
    """Write the page of a run, an agent or a deck to `path`, whole or not at all, and return the path.

    ties: which of the moves that its rule may pick the agent plays there, as for `Run.candidates`, `sharp` if not
    given; networks, which know a win at once, play any of them.
    opens: the tab that it begins with; only boards that `learns` have `learn`.  `lesson` adds this tab to 3x3.
    Raises UsageError for other ties, `sharp` of networks and a .pdf, BoardError for a table whose board is not
    enumerated and for an agent of more than `MAX_BYTES`, and FormatError if the file cannot be written or exists
    already (unless `overwrite`).
    """
    path = Path(path)
    if path.suffix.lower() == ".pdf":
        sheets = worded("ttt-batch export --to lesson", "export_run(to='lesson')")
        raise UsageError(f"cannot write a page into {shown(path)}: a page is an .html file; {sheets} writes a .pdf")
    check_targets([path], overwrite=overwrite)
    EXPORT.write([path], [page_text(run, ties, opens).encode()], overwrite=overwrite)
    return path


def page_text(run: OnPage, ties: Ties | None = None, opens: Tab = "play") -> str:
    """Return the page of a run as HTML.  Raises BoardError as `export_page` does, and UsageError for other ties."""
    if ties is not None:
        ties = check_ties(ties) if isinstance(run, Deck) else run.checked_ties(ties)
    by_cards = ["card"] if isinstance(run, Deck) else []
    ties = "any" if isinstance(run, Deck) else ties or run.usual_ties
    shown, learning = _shown(run, ties), packing.learns(run.board) and not by_cards
    before, after = (packing.IN_THE_WORKER[1:], packing.TO_SHOW) if learning else ((), ())
    lesson = ["learning/lesson"] if opens == "lesson" else []
    agent = ["sections", *(part.script for part in shown.parts), "links", "review"]
    names = ["game", *before, *agent, "parts", "hints", "about", "after", *by_cards, "page"]
    names += [*after[:-1], *lesson, *after[-1:]]
    style = "\n".join(map(packing.source, ["page.css", *(f"{name}.css" for name in [*by_cards, *lesson])]))
    scripts = {name: packing.source(f"{name}.js") for name in names}
    # The page's worker runs them, too.
    marks = dict.fromkeys(packing.IN_THE_WORKER if learning else (), f' class="{packing.CLASS}"')
    pieces = {
        "title": html.escape(_title(run.board, shown.name, learning)),
        "policy": _policy(style, *scripts.values()) + ("; worker-src blob:" if learning else ""),
        "style": style,
        "data": _json(_data(run, shown) | {"tab": opens} | ({"lesson": for_page()} if lesson else {})),
        "scripts": "\n".join(f"<script{marks.get(name, '')}>\n{text}\n</script>" for name, text in scripts.items()),
        **{
            piece: packing.source(f"learning/{piece}.html") if learning else ""
            for piece in ("tabs", "machine", "learn")
        },
    }
    # One pass, so that nothing within a piece is taken for the name of another.
    return re.sub(r"\{\{(\w+)\}\}", lambda found: pieces[found[1]], packing.source("page.html"))


def _title(board: Board, agent: str, learning: bool) -> str:
    """Return the title of a page: for a class if a table learns there, else with the opponent's name."""
    if not learning:
        game = "Connect Four" if board.name == BOARD_NAMES["connect4"] else f"{board.name} tic-tac-toe"
        return f"{game} against {agent}"
    return f"{'Misère tic-tac-toe' if board.misere else 'Tic-tac-toe'} that learns"


class Shown(NamedTuple):
    """Agent as a page shows it.

    name: for the title.  parts: data, exact results first if the board is enumerated.  about: returns the texts.
    low: lowest value of a move; None if moves have chances.  remedy: what to do if the agent takes too much space.
    """

    name: str
    parts: list[packing.PagePart]
    about: Callable[[], dict[str, Any]]
    low: float | None
    remedy: str


def _shown(run: OnPage, ties: Ties) -> Shown:
    """Return what a page shows.  Raises BoardError for a table whose board is not enumerated."""
    if isinstance(run, AgentAdapter):
        parts = [*_solved(run.board), packing.agent_part(run)]
        return Shown(run.name, parts, lambda: packing.about_agent(run), None, "export it as json")
    if isinstance(run, Deck):
        name = count_text(run.certificate.move.size, "card")
        parts = [*_solved(run.board), packing.cards_part(run)]
        return Shown(name, parts, lambda: describe_cards(run), None, "print it as cards")
    name = run.config.learner
    if isinstance(run, PatternRun):
        solved = _solved(run.board)
        remedy = f"train with fewer or shorter {flag('tuples')}, or with {flag('sharing', 'translation')}"
        parts = [*solved, packing.network_part(run)]
        return Shown(name, parts, lambda: describe_networks(run, solved=bool(solved)), -1, remedy)
    check_export(run.config, "html")
    packing.check_cells(run.board)
    symmetry = run.config.symmetry
    remedy = "export it as npz" if symmetry else f"train with {flag('symmetry', 'on')}, or export it as npz"
    parts = [
        packing.solution_part(run.board, run.graph, symmetry, run.solution_in_plies),
        packing.table_part(run, ties),
    ]
    low = run.learner.lost if run.gives == "value" else None
    return Shown(name, parts, lambda: about(run, ties), low, remedy)


def _solved(board: Board) -> list[packing.PagePart]:
    """Return the truth of a board of networks, if it can be enumerated."""
    if board.cells > packing.MAX_CELLS:
        return []
    space = choose_space(board, "auto", prefers=True)
    if space.grown:
        return []
    graph = enumerate_graph(board, symmetry=space.symmetry)
    return [packing.solution_part(board, graph, space.symmetry, solve_in_plies(graph))]


def _data(run: OnPage, shown: Shown) -> dict[str, Any]:
    """Return everything about this run as plain values.  Raises BoardError if its agent takes too much space."""
    board, packed = run.board, packing.pack_arrays(shown.parts)
    values = {part.script: part.values for part in shown.parts}
    if (size := len(_json(values | packed))) > MAX_BYTES:
        raise BoardError(
            f"the agent of this run of {board.name} takes {size:,} bytes; a page has room for {MAX_BYTES:,}: "
            f"{shown.remedy}"
        )
    lines = zip(board.lines, board.line_masks, strict=True)
    return {
        "board": {
            "name": board.name,
            "rows": board.rows,
            "cols": board.cols,
            "k": board.k,
            "misere": board.misere,
            "gravity": board.gravity,
            "lines": [{"cells": line, "fence": cells_in(fence)} for line, (_, fence) in lines],
        },
        "about": shown.about(),
        "scale": {"low": 0, "high": 1, "chance": True} if shown.low is None else {"low": shown.low, "high": 1},
        **values,
        "sections": packed,
    }


def _policy(style: str, *scripts: str) -> str:
    """Return the content security policy: nothing is fetched, and only these sources run."""

    def allowed(*sources: str) -> str:
        digests = [base64.b64encode(hashlib.sha256(f"\n{one}\n".encode()).digest()) for one in sources]
        return " ".join(f"'sha256-{digest.decode()}'" for digest in digests)

    return (
        f"default-src 'none'; style-src {allowed(style)}; script-src {allowed(*scripts)}; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )


def _json(data: dict[str, Any]) -> str:
    """Return plain values as JSON that may stand in HTML."""
    return json.dumps(data, separators=(",", ":")).replace("<", "\\u003c")
