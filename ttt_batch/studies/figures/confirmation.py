"""Design of the repetition of a study's best setting, beside the default, on fresh seeds.

The best of many settings looks better than it is, because luck on its seeds helped to select it.
"""

from typing import TYPE_CHECKING, Any, NamedTuple

from ttt_batch.base.quantities import parse_int
from ttt_batch.studies.designs.design import Design, Request, make_designs
from ttt_batch.studies.designs.family import Setting
from ttt_batch.studies.designs.tallies import TALLIES, TALLY
from ttt_batch.studies.designs.values import MAX_SEEDS
from ttt_batch.studies.figures.ranking import DEFAULT_METRIC

if TYPE_CHECKING:
    from ttt_batch.studies.figures.summary import Figures, Summary

TASK = ("board", "opponent", "seat", "prove_every", "games")
"""Options that define the task and the points of proofs.  All others define the method."""


class Confirmation(NamedTuple):
    """Best setting of a study, and the design of its repetition.

    metric: the metric of the ranking.  settings: number of ranked settings.
    winner: figures of the best setting in the study.
    design: the winner, then the default unless both are the same, on fresh seeds.
    """

    metric: str
    settings: int
    winner: "Figures"
    design: Design


def confirm(summary: "Summary", count: Any, best: str | None = None) -> Confirmation:
    """Return the confirmation of a study: its best setting and the default, on the `count` seeds after its largest.

    The default is the winner with `train`'s defaults for every option that the study varies.  It keeps the options
    that the study fixes, and the winner's board, opponent, seat, games and interval of proofs.
    best: a metric (`ranking.METRICS`), DEFAULT_METRIC by default.
    Raises UsageError for an invalid metric or count, and TttBatchError if no setting has a usable figure of it.
    """
    seeds = fresh_seeds(count)
    study = summary.design
    metric, number = summary.winner(DEFAULT_METRIC if best is None else best)
    given = {name for grid in study.grids for name in grid.values}
    tally = {TALLY: True} if study.family is TALLIES else {}
    winner = _options(study.settings[number])
    default = {name: winner[name] for name in winner if name in TASK or name in given - study.axes.keys()}
    default.setdefault("learner", [study.family.default_learner])
    first = max(study.seeds) + 1
    requests = [Request(winner | tally), Request(default | tally, place=lambda name: "the default of this study: ")]
    design = make_designs(requests, range(first, first + seeds))
    return Confirmation(metric, len(study.settings), summary.figures(number), design)


def fresh_seeds(count: Any) -> int:
    """Return `count` as the number of seeds of a confirmation.  Raises UsageError."""
    return parse_int("confirm", count, 1, MAX_SEEDS)


def _options(setting: Setting) -> dict[str, list[Any]]:
    """Return every option of a setting with its value in a list, without an empty seat (no opponent)."""
    values = setting.written | ({} if setting.opponent is None else {"opponent": setting.opponent})
    return {name: [value] for name, value in values.items() if value != ""}
