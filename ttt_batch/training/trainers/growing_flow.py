"""Flow on a growing board: a batch's counts are drawn, ply by ply, with rows added for all that its games reach.

The counts need room for every position of the batch, so a batch without it is not learnt from at all.
"""

import numpy as np

from ttt_batch.game.board import DRAW, FIRST_WINS, SECOND_WINS
from ttt_batch.game.graph import Graph
from ttt_batch.runs.growing_table import GrowingTable
from ttt_batch.simulation.flow import make_rows
from ttt_batch.simulation.policy import Policy
from ttt_batch.training.kernels.growing_flow import arrive, draw_ply
from ttt_batch.training.trainers.growing import Growing


class GrowingFlow(Growing):
    """As `Growing`, with counts that are drawn."""

    def _count(self, last: int, seat: int, grown: GrowingTable) -> bool:
        """As in `Growing`; all positions of a batch without room are forgotten."""
        counts = self._counts_at_hand()
        policy, room = _scratch_policy(grown.graph), make_rows()
        counts.visited[0], counts.arrived[0], counts.n_visited[0] = 0, last - self.games, 1
        before, first, ply = grown.used, 0, 0
        while first < counts.n_visited[0]:
            until = int(counts.n_visited[0])
            rival = seat >= 0 and ply & 1 != seat
            draw_ply(self._learning, policy, rival, self._key, self.games, counts, room, first, until)
            while (first := arrive(grown.tables, grown.graph, grown.growth, counts, first, until, self.worth)) < until:
                if not grown.may_grow:
                    self._counts = None
                    grown.go_back(before.rows, before.finals)
                    return False
                self._make_room(grown)
                counts = self._counts_at_hand()
                policy = _scratch_policy(grown.graph)
            ply += 1
        n_open = grown.graph.first_edge.size - 1
        finals = grown.graph.outcome[n_open:]
        for outcome in (FIRST_WINS, SECOND_WINS, DRAW):
            self._by_outcome[outcome] += counts.arrived[n_open:][finals == outcome].sum()
        return True


def _scratch_policy(graph: Graph) -> Policy:
    """Space for the moves of rows, which are listed as games arrive there."""
    return Policy(np.zeros(graph.child.size, np.uint32), np.zeros(graph.first_edge.size - 1, np.uint32))
