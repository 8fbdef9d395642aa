"""Batch trainers for growing boards, which count games played ply by ply, or draw the counts, and then fold them.

Drawn counts need room for every position of the batch.  A batch without this room is not learnt from.
"""

from collections.abc import Callable

import numpy as np

from ttt_batch.game.board import DRAW, FIRST_WINS, SECOND_WINS
from ttt_batch.game.graph import Graph
from ttt_batch.runs.batches import batch_bounds, batch_parity
from ttt_batch.runs.growing_table import GrowingTable
from ttt_batch.simulation.counts import Counts, empty_counts
from ttt_batch.simulation.flow import make_rows
from ttt_batch.simulation.policy import UNLISTED, Policy
from ttt_batch.training.kernels.games import fold_counted
from ttt_batch.training.kernels.growing_flow import arrive, draw_ply
from ttt_batch.training.trainers.base import TrainerOptions
from ttt_batch.training.trainers.ply_by_ply import PlyByPly


class Growing(PlyByPly):
    """Batch trainer that plays games; when the board grows, the counts of the current batch grow with it."""

    def _learn(self, last: int, _stop: Callable[[], bool]) -> None:
        assert self.grown is not None
        end = min(last, batch_bounds(self.batches, self.games)[1])
        if self._counts is None:
            self._counts = empty_counts(self.graph)
        seat = self._seats[batch_parity(self.batches, self.games)]
        counts = self._count(end, seat, self.grown)
        if counts is None:
            self.full, self._counts = True, None
            return
        n_open = self.graph.first_edge.size - 1
        stale, rows = np.zeros(n_open, np.bool_), np.zeros(n_open, np.uint32)
        fold_counted(self._learning, counts, stale, rows, seat, self.games)
        self.games = end

    def _count(self, last: int, seat: int, _grown: GrowingTable) -> Counts | None:
        """Return the counts of games `self.games` to `last - 1`, the learner in `seat`; None if the table is full."""
        self._play(last, self._players._replace(even=seat, odd=seat))
        return self._counts

    def _make_room(self, grown: GrowingTable) -> None:
        super()._make_room(grown)
        if self._counts is not None:
            self._counts = _moved(self._counts, grown.graph)


class GrowingFlow(Growing):
    """Batch trainer like `Growing`, with drawn counts."""

    _policy = UNLISTED

    def __init__(self, task: TrainerOptions) -> None:
        super().__init__(task)
        self._rows = make_rows()

    def _count(self, last: int, seat: int, grown: GrowingTable) -> Counts | None:
        """Return the counts as in `Growing`; if the table is full, remove all new positions of the batch."""
        counts = self._counts
        assert counts is not None
        counts.visited[0], counts.arrived[0], counts.n_visited[0] = 0, last - self.games, 1
        before, first, ply = grown.used, 0, 0
        while first < counts.n_visited[0]:
            until = int(counts.n_visited[0])
            self._draw(counts, first, until, rival=seat >= 0 and ply & 1 != seat)
            while (first := arrive(grown.tables, grown.graph, grown.growth, counts, first, until, self.worth)) < until:
                if not grown.may_grow:
                    grown.go_back(before.rows, before.finals)
                    return None
                self._make_room(grown)
                assert self._counts is not None
                counts = self._counts
            ply += 1
        n_open = grown.graph.first_edge.size - 1
        finals = grown.graph.outcome[n_open:]
        for outcome in (FIRST_WINS, SECOND_WINS, DRAW):
            self._by_outcome[outcome] += counts.arrived[n_open:][finals == outcome].sum()
        return counts

    def _draw(self, counts: Counts, first: int, last: int, *, rival: bool) -> None:
        """Draw the moves of games at `counts.visited[first:last]`, all of one ply; rival: a random opponent moves."""
        if self._policy.ordered.size != self.graph.child.size:
            self._policy = _scratch_policy(self.graph)
        draw_ply(self._learning, self._policy, rival, self._key, self.games, counts, self._rows, first, last)


def _scratch_policy(graph: Graph) -> Policy:
    """Return space for the moves of rows, which are listed when games arrive there."""
    return Policy(np.zeros(graph.child.size, np.uint32), np.zeros(graph.first_edge.size - 1, np.uint32))


def _moved(counts: Counts, graph: Graph) -> Counts:
    """Return the counts of the current batch, copied to the size of a grown graph."""
    moved = empty_counts(graph)
    before, now = counts.visited.size, moved.visited.size
    moved.visited[: counts.n_visited[0]] = counts.visited[: counts.n_visited[0]]
    moved.n_visited[:] = counts.n_visited
    moved.taken[: counts.taken.shape[0]] = counts.taken
    moved.arrived[:before] = counts.arrived[:before]
    moved.arrived[now : now + counts.arrived.size - before] = counts.arrived[before:]
    return moved
