"""Batches on a growing board: every game is played ply by ply and counted, and the counts are folded."""

from collections.abc import Callable

import numpy as np

from ttt_batch.game.graph import Graph
from ttt_batch.runs.batches import batch_bounds, batch_parity
from ttt_batch.runs.growing_table import GrowingTable
from ttt_batch.simulation.counts import Counts, empty_counts
from ttt_batch.training.kernels.large_board import fold_wide
from ttt_batch.training.trainers.ply_by_ply import PlyByPly


class Growing(PlyByPly):
    """One batch after the other; the counts of the batch at hand move along where the board grows."""

    def _learn(self, last: int, _stop: Callable[[], bool]) -> None:
        assert self.grown is not None
        end = min(last, batch_bounds(self.batches, self.games)[1])
        if not self._count(end, self._seats[batch_parity(self.batches, self.games)], self.grown):
            self.full = True
            return
        self._fold(self._counts_at_hand())
        self.games = end

    def _count(self, last: int, seat: int, _grown: GrowingTable) -> bool:
        """Count the batch of games `self.games` to `last - 1`, the learner in `seat`; False where there is no room."""
        self._counts_at_hand()
        self._play(last, self._players._replace(even=seat, odd=seat))
        return True

    def _counts_at_hand(self) -> Counts:
        if self._counts is None:
            self._counts = empty_counts(self.graph)
        return self._counts

    def _fold(self, counts: Counts) -> None:
        """Learn from a counted batch that began with `self.games`."""
        n_open = self.graph.first_edge.size - 1
        stale, rows = np.zeros(n_open, np.bool_), np.zeros(n_open, np.uint32)
        fold_wide(self._learning, counts, stale, rows, self.games)

    def _make_room(self, grown: GrowingTable) -> None:
        super()._make_room(grown)
        if self._counts is not None:
            self._counts = _moved(self._counts, grown.graph)


def _moved(counts: Counts, graph: Graph) -> Counts:
    """The counts of a batch at hand over a graph that has grown meanwhile."""
    moved = empty_counts(graph)
    before, now = counts.visited.size, moved.visited.size
    moved.visited[: counts.n_visited[0]] = counts.visited[: counts.n_visited[0]]
    moved.n_visited[:] = counts.n_visited
    moved.taken[: counts.taken.shape[0]] = counts.taken
    moved.arrived[:before] = counts.arrived[:before]
    moved.arrived[now : now + counts.arrived.size - before] = counts.arrived[before:]
    return moved
