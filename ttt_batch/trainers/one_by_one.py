"""The textbook's way on boards of up to nine cells: each game is learnt from before the next one begins."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from ttt_batch.learners.base import make_game
from ttt_batch.play.counts import outcomes_of
from ttt_batch.play.explorations import make_explorations
from ttt_batch.play.replay import games_space, trimmed
from ttt_batch.policy import empty_policy
from ttt_batch.sequential import Circumstances, make_favourites, run_games
from ttt_batch.trainers.base import Task, Trainer


class OneByOne(Trainer):
    """Games in one kernel, which alternates seats by itself."""

    def __init__(self, task: Task) -> None:
        super().__init__(task)
        config = self.config
        made = {seat: make_explorations(config.epsilon_schedule.start, seat) for seat in self._seats}
        self._explorations = [made[seat] for seat in self._seats]
        self._favourites = make_favourites(self.graph)
        self._ended = np.zeros(self.graph.code.size - self.graph.first_edge.size + 1, np.int64)
        by_games = config.alpha_schedule.by_games or config.epsilon_schedule.by_games
        self._plain = not (task.rival or task.record or by_games)
        rows = self.graph.first_edge.size - 1
        settles = self.learner.settles and not (task.rival or config.alpha_schedule.by_games)
        self._game = make_game(int(self.graph.ply.max()), rows if settles else 0)
        self._rival = task.rival or empty_policy(self.graph)

    def _played(self) -> NDArray[np.int64]:
        return outcomes_of(self.graph, self._ended)

    def _learn(self, last: int, _stop: Callable[[], bool]) -> None:
        end = last if self._record is None else min(last, self.games + self._at_once)
        record = games_space(self.graph, 0 if self._record is None else end - self.games)
        even, odd = self._seats
        explore_even, explore_odd = self._explorations
        circumstances = Circumstances(self._pace, self._rival, even, odd, explore_even, explore_odd, record)
        tables, graph, choice, step, _ = self._knowledge
        run_games(
            tables,
            graph,
            choice,
            step,
            explore_even,
            None if self._plain else circumstances,
            self._game,
            self._favourites,
            self._ended,
            self._key,
            self.games,
            end,
        )
        self.games = end
        if self._record is not None:
            self._record(trimmed(record))
