"""Notebook output: a run as a small table above its learning curve, and the pictures of `plot`."""

import base64
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from ttt_batch.app.plots import figure
from ttt_batch.app.plots.style import package_style, render
from ttt_batch.app.reports.training import run_html
from ttt_batch.core.errors import TttBatchError
from ttt_batch.runs.loading import AnyRun

LEAST_POINTS = 2
"""Fewest recorded points for a curve; an imported table has one."""

if TYPE_CHECKING:
    _Path = Path
else:
    _Path = type(Path())  # the concrete class of this system; before Python 3.12 `Path` cannot be subclassed


class Picture(_Path):
    """Path of a picture drawn by `plot`; a notebook shows the picture."""

    def _content(self, suffix: str) -> bytes | None:
        """Return the file's content, or None if it has another suffix or cannot be read."""
        with suppress(OSError):
            return self.read_bytes() if self.suffix.lower() == suffix else None
        return None

    def _repr_png_(self) -> bytes | None:
        return self._content(".png")

    def _repr_svg_(self) -> str | None:
        content = self._content(".svg")
        return None if content is None else content.decode("utf-8", "replace")

    def _repr_html_(self) -> str | None:
        content = self._content(".gif")
        return None if content is None else f'<img alt="movie" src="{_data("gif", content)}"/>'


def _data(kind: str, content: bytes) -> str:
    """Return a picture as a data URL."""
    return f"data:image/{kind};base64,{base64.b64encode(content).decode()}"


def notebook_html(run: AnyRun) -> str:
    """Return a single HTML element with the table and, if available, the curve as an embedded picture."""
    table = run_html(run)
    if run.statistics["games"].size < LEAST_POINTS:
        return table
    try:
        with package_style():
            picture = _data("png", render(figure(run), "png"))
    except TttBatchError:  # matplotlib is missing, or no recorded quantity can be drawn
        return table
    return f'<div>{table}<img alt="learning curve" width="800" src="{picture}"/></div>'
