"""The textbook's way on boards of up to nine cells: each game is learnt from before the next one begins."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from ttt_batch.learners.base import make_trajectory
from ttt_batch.simulation.counts import outcomes_of
from ttt_batch.simulation.exploration import make_explorations
from ttt_batch.simulation.policy import empty_policy
from ttt_batch.simulation.replay import games_space, trimmed
from ttt_batch.training.kernels.greedy_cache import CELLS, is_like_3x3, make_favourites, window_decides
from ttt_batch.training.kernels.sequential import Circumstances, play_self, play_under
from ttt_batch.training.trainers.base import Task, Trainer


class OneByOne(Trainer):
    """Games in one kernel, which alternates seats by itself.

    The fast one for self-play is compiled for boards like 3x3, or where occupied cells are moves for all boards; play
    on others is as that under circumstances.
    """

    def __init__(self, task: Task) -> None:
        super().__init__(task)
        config, graph = self.config, self.graph
        made = {seat: make_explorations(config.epsilon.start, seat) for seat in self._seats}
        self._explorations = [made[seat] for seat in self._seats]
        self._favourites = make_favourites(graph)
        self._ended = np.zeros(graph.code.size - graph.first_edge.size + 1, np.int64)
        like_3x3 = is_like_3x3(graph)
        by_games = config.alpha.by_games or config.epsilon.by_games
        self._plain = (like_3x3 or self.learner.occupied) and not (task.rival or task.record or by_games)
        rows = graph.first_edge.size - 1
        self._game = make_trajectory(int(graph.ply.max()), rows if self._plain and self.learner.settles else 0)
        self._rival = task.rival or empty_policy(graph)
        self._runner_up = np.zeros(CELLS) if self.learner.repeats else None
        self._scored_by: str | None = None
        if self._plain and like_3x3:
            self._favourites = self._favourites._replace(count=None)
            scored_by = self.learner.edge_scores
            if scored_by and window_decides(self.learner.choice, self.worth, getattr(self.tables, scored_by)):
                self._scored_by = scored_by

    def _played(self) -> NDArray[np.int64]:
        return outcomes_of(self.graph, self._ended)

    def _learn(self, last: int, _stop: Callable[[], bool]) -> None:
        if self._plain:
            self._play_self(last)
        else:
            self._play_under(last)

    def _play_self(self, last: int) -> None:
        play_self(
            self._learning,
            getattr(self.tables, self._scored_by) if self._scored_by else None,
            self._explorations[0],
            self._favourites,
            self._game,
            self._runner_up,
            self._ended,
            self._key,
            self.games,
            last,
        )
        self.games = last

    def _play_under(self, last: int) -> None:
        end = last if self._record is None else min(last, self.games + self._at_once)
        record = games_space(self.graph, 0 if self._record is None else end - self.games)
        (even, odd), (explore_even, explore_odd) = self._seats, self._explorations
        circumstances = Circumstances(self._rival, even, odd, explore_even, explore_odd, record)
        at = self._favourites, self._game, self._ended, self._key
        play_under(self._learning, circumstances, *at, self.games, end)
        self.games = end
        if self._record is not None:
            self._record(trimmed(record))
