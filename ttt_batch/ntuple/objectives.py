"""Objectives of pattern networks: one declaration each, from which configurations, proofs, help and reports follow."""

from collections.abc import Callable
from typing import NamedTuple

BOTH = 2
"""The seat of a network that plays for both players."""

NOBODY = -1
"""The filler of an aim whose results are more than that its goal is reached or missed."""

BEST, NOTHING, PLAYED = range(3)
"""Targets of exploratory moves.

With `PLAYED` values are those of games with exploratory moves.  Only these tell drawn positions apart, which have the
same worth in best play: after 20,000 games on 5x5x5 it wins 96 to 99 % as first against random play, with `BEST` 25
to 80 %.
"""


class Objective(NamedTuple):
    """Objective of networks.

    words: the objective on a page.  offered: in the help of its option.  explained: in `learners NAME`.
    is_default: called with the learner and whether best play lets one player win.
    apart: a network learns for each seat; else one for both.  always_wins: a proof shows a win, else no loss.
    suits_misere: it makes sense where a line loses.  seat: default of the seats to prove.
    teaching: target of the position before an exploratory move.  epsilon, gamma: defaults of the options.
    """

    words: str
    offered: str
    explained: str
    is_default: Callable[[str, bool], bool] = lambda learner, won: False
    apart: bool = False
    always_wins: bool = False
    suits_misere: bool = True
    seat: str = "both"
    teaching: int = BEST
    epsilon: float = 0.3
    gamma: float = 1.0


SAFE = 0.8
"""Worth of being safe on the empty board, where a win is worth 1."""

OBJECTIVES = {
    "safe": Objective(
        "not to lose",
        "not to lose (one for each seat)",
        "trains a network for each seat: a loss is worth -1, a win 1, and a position in which the opponent can fill no "
        f"line any more up to {SAFE}, more the earlier; on boards with gravity 1.",
        lambda learner, won: learner == "patterns" and not won,
        apart=True,
    ),
    "win": Objective(
        "to win, the sooner the better",
        "to win soon",
        "discounts results by 0.98 a ply; on boards with gravity every other result of its seat is worth -1.",
        lambda learner, won: learner == "patterns" and won,
        always_wins=True,
        suits_misere=False,
        seat="first",
        gamma=0.98,
    ),
    "plain": Objective(
        "what games bring",
        "the results of games",
        "is what games bring.",
        lambda learner, won: learner == "ntuple-td",
        teaching=PLAYED,
        epsilon=0.5,
    ),
}
"""All objectives by name.  A shell completes their names, so this module loads no kernels."""
