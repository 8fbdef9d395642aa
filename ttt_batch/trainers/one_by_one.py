"""The textbook's way on boards of up to nine cells: each game is learnt from before the next one begins."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from ttt_batch.favourites import make_favourites, may_look_at_eight
from ttt_batch.learners.base import make_game
from ttt_batch.play.counts import outcomes_of
from ttt_batch.play.explorations import make_explorations
from ttt_batch.play.replay import games_space, trimmed
from ttt_batch.policy import empty_policy
from ttt_batch.sequential import Circumstances, make_scratch, play_self, play_under
from ttt_batch.trainers.base import Task, Trainer


class OneByOne(Trainer):
    """Games in one kernel, which alternates seats by itself."""

    def __init__(self, task: Task) -> None:
        super().__init__(task)
        config = self.config
        alpha = config.alpha_schedule
        made = {seat: make_explorations(config.epsilon_schedule.start, seat) for seat in self._seats}
        self._explorations = [made[seat] for seat in self._seats]
        self._favourites = make_favourites(self.graph)
        self._ended = np.zeros(self.graph.code.size - self.graph.first_edge.size + 1, np.int64)
        by_games = alpha.by_games or config.epsilon_schedule.by_games
        self._plain = not (task.rival or task.record or by_games)
        rows = self.graph.first_edge.size - 1
        settles = self.learner.settles and not (task.rival or alpha.by_games or alpha.power)
        self._game = make_game(int(self.graph.ply.max()), rows if settles else 0)
        self._rival = task.rival or empty_policy(self.graph)
        self._scratch = make_scratch()

    def _played(self) -> NDArray[np.int64]:
        return outcomes_of(self.graph, self._ended)

    def _learn(self, last: int, _stop: Callable[[], bool]) -> None:
        tables, graph, choice, step, _ = self._knowledge
        even, odd = self._explorations
        if self._plain:
            scores = None
            if self.learner.edge_scores and choice.window > 0.0 and may_look_at_eight(graph):
                scores = getattr(tables, self.learner.edge_scores)
            play_self(
                tables,
                graph,
                choice,
                scores,
                step,
                even,
                self._favourites,
                self._game,
                self._scratch,
                self._ended,
                self._key,
                self.games,
                last,
            )
            self.games = last
            return
        end = last if self._record is None else min(last, self.games + self._at_once)
        record = games_space(graph, 0 if self._record is None else end - self.games)
        circumstances = Circumstances(self._pace, self._rival, *self._seats, even, odd, record)
        play_under(
            tables,
            graph,
            choice,
            step,
            circumstances,
            self._favourites,
            self._game,
            self._ended,
            self._key,
            self.games,
            end,
        )
        self.games = end
        if self._record is not None:
            self._record(trimmed(record))
