"""Exact evaluation of a run's exploring policy, as it plays while it learns."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ttt_batch.base.choices import RESULTS, SEATS
from ttt_batch.base.printable import Printable
from ttt_batch.evaluation.chances import Shares, chances_of, shares_against
from ttt_batch.learners import learner_named
from ttt_batch.runs.config import Config
from ttt_batch.runs.evaluation import AnyEvaluation
from ttt_batch.runs.schedules import value_at
from ttt_batch.simulation.chances import BY_BEADS, Exploring, Probabilities, Softmax, even_chances
from ttt_batch.simulation.policy import random_policy

PLAYED_AGAINST = ("random", "best")
"""Opponents of the exploring policy: random moves, and the best opponent."""


@dataclass(frozen=True)
class PlayedEvaluation(Printable):
    """Exact results of a run's exploring policy, as it plays while it learns.

    how: `softmax:0.1`, `chances` for a learnt policy, or `epsilon 0.1` with the epsilon of the last game.
    random, best: (win, draw, loss) as first and as second player, against random moves and against the best opponent.
    A learner that cannot play second has only the first entry.
    """

    how: str
    random: tuple[Shares, ...]
    best: tuple[Shares, ...]
    run: AnyEvaluation | None = field(default=None, repr=False, compare=False)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values with stable keys, as `--json` prints them."""
        return {"judged": "as played", "how": self.how} | {
            against: {
                seat: dict(zip(RESULTS, shares, strict=True))
                for seat, shares in zip(SEATS, getattr(self, against), strict=False)
            }
            for against in PLAYED_AGAINST
        }

    def records(self) -> tuple[list[dict[str, Any]], str]:
        """Return a row for each opponent and seat."""
        whole = self.to_dict()
        rows = [
            {"against": one, "seat": seat, **shares} for one in PLAYED_AGAINST for seat, shares in whole[one].items()
        ]
        return rows, "seat"


def exploration_of(config: Config, games: int = 0) -> Any:
    """Return the exploration of a learner after `games` games, for `chances.write_chances`."""
    if learner_named(config.learner).boxes:
        return BY_BEADS
    if config.temperature is not None:
        return Softmax(np.array([config.temperature]))
    return Exploring(np.array([value_at(config.epsilon.over(config.horizon), games)]))


def played_chances(run: AnyEvaluation) -> Probabilities:
    """Return the move probabilities of a run in its last game.  Raises BoardError on a growing board."""
    return chances_of(exploration_of(run.config, max(run.games - 1, 0)), run.tables, run.graph, run.learner.choice)


def evaluate_as_played(run: AnyEvaluation) -> PlayedEvaluation:
    """Return the exact shares of a run's exploring policy against random moves and the best opponent.

    Raises BoardError on a board too large to enumerate.
    """
    run._needs_all("an exact evaluation")
    graph, agent, config = run.graph, played_chances(run), run.config
    seats = range(1 if run.learner.boxes else 2)
    rivals = even_chances(graph, random_policy(graph)), None
    random, best = (tuple(shares_against(graph, agent, rival, seat) for seat in seats) for rival in rivals)
    epsilon = float(exploration_of(config, max(run.games - 1, 0))[0][0])
    how = config.explore or ("chances" if config.by_chances else f"epsilon {epsilon:g}")
    return PlayedEvaluation(how, random, best, run)
