"""A study's best setting once more, beside the default, on seeds that had no part in choosing it.

The best of many settings on the same seeds looks better than it is: part of what made it the best was luck.
"""

from typing import TYPE_CHECKING, Any, NamedTuple

from ttt_batch.base.quantities import whole
from ttt_batch.studies.designs.design import Design, Request, make_designs
from ttt_batch.studies.designs.family import Setting
from ttt_batch.studies.designs.tallies import TALLIES, TALLY
from ttt_batch.studies.designs.values import MAX_SEEDS
from ttt_batch.studies.figures.ranking import DEFAULT_METRIC

if TYPE_CHECKING:
    from ttt_batch.studies.figures.summary import Figures, Summary

TASK = ("board", "opponent", "seat", "prove_every", "games")
"""Options that say what is learnt, and when it is proved; all others say how."""


class Confirmation(NamedTuple):
    """What is to be repeated.

    metric: by which the winner is the best.  settings: of how many.  winner: its figures in the study.
    design: the winner, then the default unless it is the same; its seeds are fresh.
    """

    metric: str
    settings: int
    winner: "Figures"
    design: Design


def confirm(summary: "Summary", count: Any, best: str | None = None) -> Confirmation:
    """Return what confirms a study: its best setting and the default, on the first `count` seeds above all of its own.

    The default is the winner with every option that the study varies left to `train`'s default.  What the study holds
    fixed stays, and so do the winner's board, opponent, seat, games, and how often networks are proved.
    best: a metric (`ranking.METRICS`), DEFAULT_METRIC if not given.
    Raises UsageError for another metric or count, and TttBatchError if no setting is any good by that metric.
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
    """On how many seeds a study is confirmed.  Raises UsageError."""
    return whole("confirm", count, 1, MAX_SEEDS)


def _options(setting: Setting) -> dict[str, list[Any]]:
    """What makes this setting: every option with its value in a list, but for a seat without an opponent."""
    values = setting.written | ({} if setting.opponent is None else {"opponent": setting.opponent})
    return {name: [value] for name, value in values.items() if value != ""}
