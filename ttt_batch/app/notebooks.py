"""Notebook output: a run as a small table above its learning curve, and the pictures of `api.public.plot`."""

import base64
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ttt_batch.api.judging import check_names_of_runs, name_of
from ttt_batch.app.plots import draw_picture, figure, study_to_draw
from ttt_batch.app.plots.style import package_style, render
from ttt_batch.app.reports.training import run_html
from ttt_batch.core.errors import TttBatchError, UsageError, flag
from ttt_batch.core.files import unused_paths
from ttt_batch.core.outputs import check_distinct, named_file
from ttt_batch.runs.loading import AnyRun, any_run
from ttt_batch.runs.lookup import find_run
from ttt_batch.studies.study import MEMORY, Study

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


def plot_files(
    given: list[Any],
    names: Sequence[str] | None,
    out: str | Path | None,
    kind: str,
    metric: str | None,
    only: Mapping[str, object] | None,
    *,
    overwrite: bool,
) -> Picture:
    """Plot runs or a study into a file.  given: runs or files, or one study.  The rest is as for `api.public.plot`."""
    check_names_of_runs(names)
    files = [one if isinstance(one, Study) else None if isinstance(one, AnyRun) else find_run(one) for one in given]
    called = names if names is not None else [_name(one) for one in given]
    study, kind = study_to_draw(files, kind)
    wrong = {"names": names} if study else {"metric": metric, "only": only}
    for name, value in wrong.items():
        if value is not None:
            raise UsageError(f"{flag(name)} is for {'runs' if study else 'a study'}; leave it out")
    if out is not None:
        out = named_file("out", out)
    else:
        stem = f"{Path(_name(given[0])).stem}-{kind}" if len(given) == 1 else kind
        out = next(unused_paths(Path(f"{stem}{'.gif' if kind == 'movie' else '.png'}")))
    paths = [one.path if isinstance(one, Study) else one for one in files]
    read = [("study" if study else "run", path) for path in paths if path is not None and path != MEMORY]
    check_distinct([(flag("out"), Path(out))], read)
    runs = [] if study else [any_run(run) for run in given]
    return Picture(draw_picture(runs, called, out, kind, study=study, metric=metric, only=only, overwrite=overwrite))


def _name(given: object) -> str:
    """Return the name of a run or a study: its file, or the learner of a run in memory."""
    if isinstance(given, Study):
        return "study" if given.path == MEMORY else str(given.path)
    return name_of(given)


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
