"""Trainers for learners or opponents whose moves have unequal probabilities (`simulation.chances`)."""

from collections.abc import Callable
from typing import Any

import numpy as np

from ttt_batch.base.memory import free_memory
from ttt_batch.game.graph import Graph
from ttt_batch.game.transcripts import Games, games_space
from ttt_batch.learners.base import Learner
from ttt_batch.runs.as_played import exploration_of
from ttt_batch.runs.config import Config
from ttt_batch.simulation.chances import NO_CHANCES, Probabilities, even_chances
from ttt_batch.simulation.counts import Counts
from ttt_batch.simulation.mixture import Mixture, make_mixture, replay_mixture, second_mixture
from ttt_batch.simulation.mixture_flow import Streams, make_streams
from ttt_batch.simulation.replay import trimmed
from ttt_batch.training.kernels.batch import Workspace
from ttt_batch.training.kernels.games import Seats, Span
from ttt_batch.training.kernels.mixture import lay_out_rows
from ttt_batch.training.kernels.mixture_games import draw_mixed_ply, play_drawn_games
from ttt_batch.training.trainers.base import TrainerOptions
from ttt_batch.training.trainers.batched import Batched
from ttt_batch.training.trainers.growing import Growing, GrowingFlow
from ttt_batch.training.trainers.pieces import ChunkedWalk
from ttt_batch.training.trainers.ply_by_ply import PlyByPly

NOBODY_SHARES = 1 << 62
"""Least games of a batch for workers; infinite in practice, since workers receive best moves, not probabilities."""


def _take_numbers(how: Any, config: Config) -> None:
    """Set another configuration's numbers in place; the caller must lay out the rows again."""
    how[0][0] = exploration_of(config)[0][0]


def opponent_probabilities(task: TrainerOptions, graph: Graph) -> Probabilities:
    """Return the action probabilities of a task's opponent; `NO_CHANCES` in self-play and on a growing board."""
    if task.rival is None or task.config.grown:
        return NO_CHANCES
    return task.rival if isinstance(task.rival, Probabilities) else even_chances(graph, task.rival)


class MixtureWalking(ChunkedWalk):
    """Walk trainer for any enumerated board, with the games of a block in lockstep and every move drawn."""

    games_per_thread = 1 << 16
    stop_every = 1 << 20
    claim = 1 << 14

    @classmethod
    def least_shared(cls, learner: Learner) -> int:
        """Return `NOBODY_SHARES`."""
        return NOBODY_SHARES

    def _learn(self, last: int, stop: Callable[[], bool]) -> None:
        super()._learn(last, stop)
        if len(self._ways) > 1:  # seats alternate: rows changed by one are stale for the other
            stale = np.any([way.stale for way in self._ways], axis=0)
            for way in self._ways:
                way.stale[:] = stale

    def _most_helpers(self) -> int:
        """Return how many helping threads fit into half of the free memory, at 8 bytes a move (52 MB on 4x4x4)."""
        each: int = sum(way.drawn.nbytes for way in self._ways)
        return free_memory() // (2 * each)

    def _way(self, work: Workspace, task: TrainerOptions) -> Mixture:
        how, rival = exploration_of(self.config), opponent_probabilities(task, self.graph)
        way = make_mixture(self.graph, how, self.tables, self.learner.choice, rival)
        lay_out_rows(way, self.graph, work.owned)
        return way

    def _beside(self, way: Mixture) -> Mixture:
        return second_mixture(way)

    def _retake(self, way: Mixture, work: Workspace) -> None:
        _take_numbers(way.how, self.config)
        way.stale[:] = True

    def _record_batch(self, turn: int, last: int) -> None:
        if self._record is None:
            return
        for start in range(self.games, last, self._at_once):
            end = min(last, start + self._at_once)
            space = games_space(end - start, self.config.board.cells)
            replay_mixture(self.graph, self._ways[turn], self._key, start, end, space)
            self._record(trimmed(space))


class MixtureFlowing(Batched):
    """Flow trainer, which draws the number of games that take each move."""

    def _way(self, work: Workspace, task: TrainerOptions) -> Streams:
        how, rival = exploration_of(self.config), opponent_probabilities(task, self.graph)
        return make_streams(how, rival, self.tables, self.learner.choice)

    def _retake(self, way: Streams, work: Workspace) -> None:
        _take_numbers(way.how, self.config)


class MixtureGames(PlyByPly):
    """Game-by-game trainer for any board."""

    def __init__(self, task: TrainerOptions) -> None:
        super().__init__(task)
        self._way = make_streams(exploration_of(self.config), opponent_probabilities(task, self.graph))

    def _kernel(self, players: Seats, span: Span, space: Games) -> int:
        grown = self.grown
        played: int = play_drawn_games(
            self._way,
            self._learning,
            (players.even, players.odd),
            None if grown is None else grown.growth,
            self._game,
            self._counts,
            self._by_outcome,
            grown is not None and grown.may_grow,
            span,
            space,
        )
        return played


class MixtureGrowing(MixtureGames, Growing):
    """Batch trainer for growing boards that plays games."""


class MixtureGrowingFlow(MixtureGames, GrowingFlow):
    """Batch trainer for growing boards that draws counts."""

    def _draw(self, counts: Counts, first: int, last: int, *, rival: bool) -> None:
        draw_mixed_ply(self._way, self._learning, not rival, self._key, self.games, counts, first, last)
