"""Learning of networks from given games and from games against a person."""

from dataclasses import replace
from typing import Any

import numpy as np

from ttt_batch.base.errors import UsageError, flag
from ttt_batch.base.quantities import Number
from ttt_batch.game.transcripts import Games
from ttt_batch.runs.patterns.config import PatternConfig, make_pattern_config
from ttt_batch.runs.patterns.contents import NetworkState
from ttt_batch.runs.patterns.run import UNDECIDED, PatternRun
from ttt_batch.runs.state import table_digest
from ttt_batch.training.patterns.trainer import PatternTrainer

OPTIONS = ("alpha", "gamma")
"""Options that may differ from those of the continued run."""


def playing_weights(run: PatternRun) -> NetworkState:
    """Return what a run has learnt, with the weights by which it plays, such as the proved ones.

    So learning changes exactly the player that the person met.
    """
    weights = run.learnt.weights.copy()
    for seat in (0, 1):
        weights[-seat, :, seat] = run.weights_of(seat)
    return run.learnt._replace(weights=weights)


def networks_config_from_games(run: PatternRun, **options: Number | None) -> PatternConfig:
    """Return the configuration of networks that continue `run` with given games; options: see `OPTIONS`.

    These networks are not proved and play with their last weights.  Raises UsageError.
    """
    given = {name: value for name, value in options.items() if value is not None}
    for name in given:
        if name not in OPTIONS:
            raise UsageError(f"{flag(name)} cannot be changed for networks that learn from given games; leave it out")
    values: dict[str, Any] = run.config.to_dict() | {"prove_every": 0, "keep": "last", "batch": 1} | given
    learnt = playing_weights(run)
    values["start"] = table_digest([learnt.weights, learnt.coherence])
    return make_pattern_config(files=False, **values)


class NetworksFromGames:
    """Trainer of networks on given games, one at a time.

    config: from `networks_config_from_games`.  origin: the run that is continued, which is not modified.
    """

    def __init__(self, config: PatternConfig, origin: PatternRun) -> None:
        self.config, self._origin = config, origin
        start = replace(origin, learnt=playing_weights(origin))
        start.network = origin.network
        self._trainer = PatternTrainer(config, start, 1)

    def learn(self, games: Games) -> None:
        """Learn from games of cells, in order."""
        self._trainer.learn_given(games)

    def run(self, seconds: float) -> PatternRun:
        """Return the run with one recorded point, without a proof.

        seconds: how long learning took.  The games and outcomes include those of the original run.
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
