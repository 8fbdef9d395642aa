"""Game-by-game trainer, as in the textbook, for boards of up to nine cells."""

from collections.abc import Callable

import numpy as np

from ttt_batch.learners.base import make_trajectory
from ttt_batch.simulation.exploration import make_explorations
from ttt_batch.training.kernels.games import Shortcuts
from ttt_batch.training.kernels.greedy_cache import CELLS, is_like_3x3, make_cache, window_decides
from ttt_batch.training.kernels.sequential import play_self
from ttt_batch.training.trainers.base import TrainerOptions
from ttt_batch.training.trainers.ply_by_ply import PlyByPly


class OneByOne(PlyByPly):
    """Trainer like `PlyByPly`, with shortcuts and a faster kernel for self-play at constant step size and epsilon.

    The faster kernel serves boards like 3x3, or all boards if occupied cells are moves.
    """

    _stop_every = 1 << 16

    def __init__(self, task: TrainerOptions) -> None:
        super().__init__(task)
        config, graph = self.config, self.graph
        made = {seat: make_explorations(config.epsilon.start, seat) for seat in self._seats}
        self._shortcuts = Shortcuts(make_cache(graph), *(made[seat] for seat in self._seats))
        like_3x3 = is_like_3x3(graph)
        by_games = config.alpha.by_games or config.epsilon.by_games
        self._plain = (like_3x3 or self.learner.occupied) and not (task.rival or task.record or by_games)
        self._runner_up = np.zeros(CELLS) if self.learner.repeats else None
        self._scored_by: str | None = None
        if self._plain and self.learner.settles:
            self._game = make_trajectory(CELLS, graph.first_edge.size - 1)
        if self._plain and like_3x3:
            self._shortcuts = self._shortcuts._replace(cache=self._shortcuts.cache._replace(count=None))
            scored_by = self.learner.edge_scores
            if scored_by and window_decides(self.learner.choice, self.worth, getattr(self.tables, scored_by)):
                self._scored_by = scored_by

    def _learn(self, last: int, stop: Callable[[], bool]) -> None:
        if not self._plain:
            super()._learn(last, stop)
            return
        assert self._shortcuts is not None
        play_self(
            self._learning,
            getattr(self.tables, self._scored_by) if self._scored_by else None,
            self._shortcuts.even,
            self._shortcuts.cache,
            self._game,
            self._runner_up,
            self._by_outcome,
            self._key,
            self.games,
            last,
        )
        self.games = last
