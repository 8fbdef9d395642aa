"""Pictures of studies: how results depend on settings, learning curves with bands, proofs over games, two options
against each other.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ttt_batch.app.plots.studies.canvas import Selection, keep_places
from ttt_batch.app.plots.studies.panels import heat_figure, sensitivity_figure, settling_figure, study_curves_figure
from ttt_batch.core.errors import UsageError, quoted
from ttt_batch.core.text import choose
from ttt_batch.studies.storage.reading import StudyFile

KINDS: dict[str, Callable[[Selection, str | None], Any]] = {
    "curves": study_curves_figure,
    "sensitivity": sensitivity_figure,
    "settling": settling_figure,
    "heat": heat_figure,
}
"""Kinds of pictures of a study."""


def study_figure(
    study: StudyFile,
    kind: str = "curves",
    *,
    metric: str | None = None,
    only: Mapping[str, Any] | Sequence[tuple[str, Any]] | None = None,
) -> Any:
    """Return the matplotlib Figure of a study; to be drawn and saved within `style.package_style`.

    kind: of KINDS.  metric: of `summary.METRICS`, what `sensitivity` and `heat` show, and by which the others choose
    eight settings if there are more.  only: options with values, as a study's values are given, or such pairs; settings
    with other values are left out.
    Raises UsageError, and StudyFileError if the file cannot be read.
    """
    draw = KINDS[choose("kind of plot", kind, KINDS)]
    pairs: Any = list(only.items()) if isinstance(only, Mapping) else only or ()
    if not isinstance(pairs, Sequence) or not all(isinstance(pair, tuple | list) and len(pair) == 2 for pair in pairs):
        raise UsageError(f"only {quoted(only)} are no options with values; give them as {{'alpha': '0.1,0.2'}}")
    return keep_places(draw(Selection(study, pairs), metric))
