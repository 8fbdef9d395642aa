"""Networks that learn from games that they did not play: given ones, or those with a person."""

from dataclasses import replace
from typing import Any

import numpy as np

from ttt_batch.base.errors import UsageError, option
from ttt_batch.base.quantities import Number
from ttt_batch.game.transcripts import Games
from ttt_batch.runs.patterns.config import PatternConfig, make_pattern_config
from ttt_batch.runs.patterns.contents import Learnt
from ttt_batch.runs.patterns.run import UNDECIDED, PatternRun
from ttt_batch.runs.state import table_digest
from ttt_batch.training.patterns.trainer import PatternTrainer

OPTIONS = ("alpha", "gamma")
"""What may differ from the run that goes on."""


def playing_weights(run: PatternRun) -> Learnt:
    """What a run has learnt, with the weights by which it plays: those that were proved, if it plays by these.

    So a lesson changes the player that the person met, and no other.
    """
    weights = run.learnt.weights.copy()
    for seat in (0, 1):
        weights[-seat, :, seat] = run.weights_of(seat)
    return run.learnt._replace(weights=weights)


def given_networks_config(run: PatternRun, **options: Number | None) -> PatternConfig:
    """The configuration of networks that go on from `run` with given games; options: see `OPTIONS`.

    Nothing is proved meanwhile, so they play with the last weights.  Raises UsageError.
    """
    given = {name: value for name, value in options.items() if value is not None}
    for name in given:
        if name not in OPTIONS:
            raise UsageError(f"{option(name)} does not change for networks that go on with given games; leave it out")
    values: dict[str, Any] = run.config.to_dict() | {"prove_every": 0, "keep": "last", "batch": 1} | given
    learnt = playing_weights(run)
    values["start"] = table_digest([learnt.weights, learnt.coherence])
    return make_pattern_config(files=False, **values)


class GivenNetworks:
    """Networks that learn from what `learn` is given, a game at a time.

    config: of `given_networks_config`.  origin: the run from which they go on, which does not change.
    """

    def __init__(self, config: PatternConfig, origin: PatternRun) -> None:
        self.config, self._origin = config, origin
        start = replace(origin, learnt=playing_weights(origin))
        start.network = origin.network
        self._trainer = PatternTrainer(config, start, 1)

    def learn(self, games: Games) -> None:
        """Learn from games of cells, one after the other."""
        self._trainer.learn_given(games)

    def run(self, seconds: float) -> PatternRun:
        """The run after what it has learnt, with one recorded point, which holds no proof.

        seconds: that it took.  Its games, and how they ended, are also those of the run from which it went on.
        """
        trainer = self._trainer
        point = {
            "games": np.int64(trainer.games),
            "seconds": np.float64(seconds),
            "outcomes": trainer.outcomes,
            "proof": np.full(2, UNDECIDED, np.int8),
            "proof_positions": np.zeros(2, np.int64),
        }
        statistics = {name: np.array([value]) for name, value in point.items()}
        run = PatternRun(self.config, trainer.games, trainer.learnt(), statistics)
        run.network = self._origin.network
        return run
