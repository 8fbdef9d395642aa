"""Pictures of runs: learning curves, the opening as boards, coverage, a movie; as files, and as text on a terminal; and
of studies.

`draw_picture` makes a file and needs the extra `plot` (matplotlib).  `live` draws in the terminal and needs nothing.
"""

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ttt_batch.app.plots.boards import coverage_figure, opening_figure
from ttt_batch.app.plots.curves import curves_figure
from ttt_batch.app.plots.movie import Frames, movie_bytes
from ttt_batch.app.plots.style import package_style, render
from ttt_batch.core.errors import UsageError
from ttt_batch.core.files import PICTURES, shown
from ttt_batch.core.text import choose, either
from ttt_batch.runs.formats import EXPORT, check_targets
from ttt_batch.runs.loading import AnyRun

if TYPE_CHECKING:
    from ttt_batch.studies.storage.reading import StudyFile

    Given = Path | StudyFile | None

KINDS: dict[str, Callable[[Sequence[AnyRun], Sequence[str]], Any]] = {
    "curves": curves_figure,
    "opening": opening_figure,
    "coverage": coverage_figure,
}
"""Kinds of pictures, each drawn from runs and their names."""

MOVIE = "movie"
"""Kind of picture of one run with snapshots."""

STUDY_KINDS = ("curves", "sensitivity", "settling", "heat")
"""Kinds of pictures of a study; `studies` has the functions, and is imported only for a study."""

SUFFIXES, MOVING = PICTURES[:2], PICTURES[2:]
"""Endings of pictures, and of movies."""


def draw_picture(
    runs: Sequence[AnyRun],
    names: Sequence[str],
    out: str | Path,
    kind: str = "curves",
    *,
    study: "Given" = None,
    overwrite: bool = False,
    progress: Frames = lambda *_: None,
    lesson: bool = False,
    **of_study: Any,
) -> Path:
    """Draw runs, or the finished part of a study, into the file `out`, a `.png` or `.svg`, and return its path.

    names: what each run is called, such as its file's name.  study: drawn instead of runs.
    kind: of runs `curves`, `opening` or `coverage`; or `movie`, a `.gif` of one run that was trained with
    `keep_points`; of a study one of `STUDY_KINDS`.
    progress: called with the number of frames of a movie that are drawn, and of all.  lesson: see `movie_bytes`.
    of_study: `metric` and `only` of a study, see `studies.panels.study_figure`.
    The same runs or results and the same matplotlib give the same bytes.
    Raises UsageError for another kind or suffix, for what such a picture cannot show, and without runs; StudyFileError
    for a damaged study; TttBatchError if matplotlib is missing, or scipy, which `settling` needs, and as FormatError if
    `out` exists (unless `overwrite`) or cannot be written.
    """
    moving = bool(runs) and choose("kind of plot", kind, dict.fromkeys([*KINDS, MOVIE])) == MOVIE
    path = Path(out)
    suffix = path.suffix.lower()
    if suffix not in (MOVING if moving else SUFFIXES):
        what = "a movie is a .gif file; name one" if moving else "a plot is a .png or a .svg file; name one of these"
        raise UsageError(f"cannot plot into {shown(path)}: {what}")
    check_targets([path], overwrite=overwrite)  # before anything is drawn
    with package_style():
        if moving:
            content = movie_bytes(runs, names, progress, lesson=lesson)
        elif study is None:
            content = render(make_figure(runs, names, kind), suffix[1:])
        else:
            from ttt_batch.app.plots.studies.panels import study_figure
            from ttt_batch.studies.storage.reading import StudyFile, open_study

            with nullcontext(study) if isinstance(study, StudyFile) else open_study(study) as opened:
                content = render(study_figure(opened, kind, **of_study), suffix[1:])
    EXPORT.write([path], [content], overwrite=overwrite)
    return path


def study_to_draw(files: "Sequence[Given]", kind: str) -> "tuple[Given, str]":
    """Return the study among the files to draw, None if there is none, and the kind of picture that is meant.

    files: also a study itself; None stands for a run without a file.
    Raises UsageError for a study that is not alone, and for a kind of picture that such files do not have.
    """
    from ttt_batch.studies.storage.header import STUDY_FILE
    from ttt_batch.studies.storage.reading import StudyFile

    kind = choose("kind of plot", kind, dict.fromkeys([*KINDS, MOVIE, *STUDY_KINDS]))
    study = next(
        (one for one in files if isinstance(one, StudyFile) or (one is not None and STUDY_FILE.begins(one))), None
    )
    if study is not None and len(files) > 1:
        name = shown(study) if isinstance(study, Path) else "a Study"
        raise UsageError(f"{name} is a study, and a picture shows one study alone; leave the other files out")
    kinds = (*KINDS, MOVIE) if study is None else STUDY_KINDS
    if kind not in kinds:
        here, there = ("runs", "a study") if study is None else ("a study", "runs")
        raise UsageError(f"{kind} is a picture of {there}, not of {here}; choose {either(kinds)}")
    return study, kind


def make_figure(runs: Sequence[AnyRun], names: Sequence[str], kind: str = "curves") -> Any:
    """Return the matplotlib Figure of a plot.  Raises UsageError.  Draw and save it within `style.package_style`."""
    if not runs:
        raise UsageError("a plot needs at least one run; name a run file")
    kind = choose("kind of plot", kind, KINDS)
    if len(runs) != len(names):
        raise UsageError(f"{len(runs)} runs have {len(names)} names; give each run one")
    return KINDS[kind](runs, names)


def figure(run: AnyRun, kind: str = "curves") -> Any:
    """Return a matplotlib Figure of a run, for `Run.plot`."""
    with package_style():
        return make_figure([run], [run.config.learner], kind)
