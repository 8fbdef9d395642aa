"""Training of a study's pattern networks, as in `train` with one thread."""

from collections.abc import Callable, Sequence

import numpy as np

from ttt_batch.runs.patterns.config import PatternConfig, make_pattern_config
from ttt_batch.runs.patterns.run import PatternRun
from ttt_batch.runs.recorder import Clock
from ttt_batch.studies.designs.family import Setting
from ttt_batch.studies.learning.learnt import Arrays, Worker
from ttt_batch.training.patterns.session import Callbacks, PatternSession
from ttt_batch.training.patterns.trainer import PatternTrainer


class NetworkWorker(Worker):
    """Per-thread worker that trains networks."""

    def __init__(self, *, keep: bool, stop: Callable[[], bool]) -> None:
        super().__init__(keep=keep, stop=stop)
        self._ready = False

    def _at_once(self, setting: Setting) -> int:
        return 1

    def _learn(self, setting: Setting, seeds: Sequence[int]) -> tuple[Arrays, Arrays] | None:
        if not self._ready:
            clock = Clock()
            config = make_pattern_config(learner=setting.config.learner, prove_every=1)
            _train(config, config.round, self._stop)  # compiles the kernels
            self.prepared, self._ready = clock.seconds, True
        run = _train(setting.config_for(seeds[0]), setting.games, self._stop)
        if run.interrupted:
            return None
        statistics = {name: column[None] for name, column in run.statistics.items() if name != "games"}
        return statistics, {name: array[None] for name, array in _weights_of(run).items()} if self._keep else {}


def _train(config: PatternConfig, games: int, stop: Callable[[], bool]) -> PatternRun:
    """Return the run of `train` with this configuration, unfinished if `stop()` returned True."""
    clock, followers = Clock(), Callbacks(None, None, stop, command="", threads=1)
    with PatternTrainer(config, None, threads=1) as trainer:
        return PatternSession(config, games, None, trainer, clock, followers).train()


def _weights_of(run: PatternRun) -> Arrays:
    """Return the final weights, and those of each seat's last proof, by name."""
    weights = run.learnt.weights
    return {"weight": weights, "proved": np.zeros(weights.shape[1:], np.int32) if run.proved is None else run.proved}
