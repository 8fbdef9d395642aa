"""Pictures of runs: learning curves, the opening as boards, coverage; as files, and as text on a terminal.

`plot` makes a file and needs the extra `plot` (matplotlib).  `live` draws in the terminal and needs nothing.
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from ttt_batch.app.plots.boards import opening_figure
from ttt_batch.app.plots.coverage import coverage_figure
from ttt_batch.app.plots.curves import curves_figure
from ttt_batch.app.plots.style import render, styled
from ttt_batch.base.choices import choose
from ttt_batch.base.errors import UsageError
from ttt_batch.base.files import shown
from ttt_batch.runs.formats import EXPORT, check_targets
from ttt_batch.runs.run import Run

KINDS: dict[str, Callable[[Sequence[Run], Sequence[str]], Any]] = {
    "curves": curves_figure,
    "opening": opening_figure,
    "coverage": coverage_figure,
}
"""What can be drawn, each from runs and their names."""

SUFFIXES = (".png", ".svg")


def plot(
    runs: Sequence[Run], names: Sequence[str], out: str | Path, kind: str = "curves", *, overwrite: bool = False
) -> Path:
    """Draw `runs` into the file `out`, a `.png` or `.svg`, and return its path.

    names: what each run is called, such as its file's name.  kind: `curves`, `opening` or `coverage`.
    The same runs and the same matplotlib give the same bytes.
    Raises UsageError for another kind or suffix, for runs that such a picture cannot show, and without runs;
    TttBatchError if matplotlib is missing, and as FormatError if `out` exists (unless `overwrite`) or cannot be
    written.
    """
    path = Path(out)
    suffix = path.suffix.lower()
    if suffix not in SUFFIXES:
        raise UsageError(f"cannot plot into {shown(path)}: a plot is a .png or a .svg file; name one of these")
    check_targets([path], overwrite=overwrite)  # before anything is drawn
    with styled():
        content = render(make_figure(runs, names, kind), suffix[1:])
    EXPORT.write([path], [content], overwrite=overwrite)
    return path


def make_figure(runs: Sequence[Run], names: Sequence[str], kind: str = "curves") -> Any:
    """The matplotlib Figure of a plot.  Raises UsageError; to be drawn and saved within `style.styled`."""
    if not runs:
        raise UsageError("a plot needs at least one run; name a run file")
    kind = choose("kind of plot", kind, KINDS)
    if len(runs) != len(names):
        raise UsageError(f"{len(runs)} runs have {len(names)} names; give each run one")
    return KINDS[kind](runs, names)
