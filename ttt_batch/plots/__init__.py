"""Pictures of runs: learning curves, the opening as boards, coverage; as files, and as text on a terminal.

`plot` makes a file and needs the extra `plot` (matplotlib).  `watch_curve` draws in the terminal and needs nothing.
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from ttt_batch import files
from ttt_batch.errors import TttBatchError, UsageError
from ttt_batch.files import reason, shown
from ttt_batch.plots.boards import opening_figure
from ttt_batch.plots.coverage import coverage_figure
from ttt_batch.plots.curves import curves_figure
from ttt_batch.plots.live import watch_curve
from ttt_batch.plots.style import render, styled
from ttt_batch.run import Run

__all__ = ["KINDS", "SUFFIXES", "make_figure", "plot", "watch_curve"]

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
    TttBatchError where matplotlib is missing, where `out` exists (unless `overwrite`), and for what the disk refuses.
    """
    path = Path(out)
    suffix = path.suffix.lower()
    if suffix not in SUFFIXES:
        raise UsageError(f"cannot plot into {shown(path)}: a plot is a .png or a .svg file; name one of these")
    if kind not in KINDS:
        raise UsageError(f"unknown kind of plot {kind!r}; choose one of: {', '.join(KINDS)}")
    target = _target(path, overwrite)
    with styled():
        content = render(make_figure(runs, names, kind), suffix[1:])
    _write(path, target, content, overwrite)
    return path


def make_figure(runs: Sequence[Run], names: Sequence[str], kind: str = "curves") -> Any:
    """The matplotlib Figure of a plot.  Raises UsageError; to be drawn and saved within `style.styled`."""
    if not runs:
        raise UsageError("a plot needs at least one run; name a run file")
    if len(runs) != len(names):
        raise UsageError(f"{len(runs)} runs have {len(names)} names; give each run one")
    return KINDS[kind](runs, names)


def _target(path: Path, overwrite: bool) -> Path:
    """Where to write, with links followed so that a link stays one.  Refused before anything is drawn."""
    try:
        # RuntimeError is what `resolve` makes of a loop of links before Python 3.13.
        target = path.resolve()
        exists, is_file, has_folder = target.exists(), target.is_file(), target.parent.is_dir()
    except (OSError, ValueError, RuntimeError) as error:
        raise TttBatchError(f"cannot write {shown(path)}: {reason(error)}; name another file") from None
    if exists and not is_file:
        raise TttBatchError(f"cannot write {shown(path)}: it is not an ordinary file; name another one")
    if exists and not overwrite:
        raise _exists(path)
    if not has_folder:
        raise TttBatchError(
            f"cannot write {shown(path)}: there is no folder {shown(target.parent)}; create it, or name another file"
        )
    return target


def _write(path: Path, target: Path, content: bytes, overwrite: bool) -> None:
    temporary = files.temporary_name(target)
    try:
        files.write_new(temporary, content)
        if overwrite:
            temporary.replace(target)
        else:
            files.rename_new(temporary, target)
    except FileExistsError:
        raise _exists(path) from None
    except OSError as error:
        raise TttBatchError(f"cannot write {shown(path)}: {reason(error)}; make room, or name another file") from None
    finally:
        temporary.unlink(missing_ok=True)


def _exists(path: Path) -> TttBatchError:
    return TttBatchError(f"{shown(path)} exists already; replace it with --overwrite, or name another file")
