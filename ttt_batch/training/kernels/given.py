"""Learning from given games on any board, one after the other."""

from typing import Any

import numpy as np

from ttt_batch.base.jit import kernel
from ttt_batch.game.graph import Graph, edges_of
from ttt_batch.game.growing_graph import clear_board, graph_cells, has_room
from ttt_batch.learners.base import Trajectory, learn, with_exploring
from ttt_batch.learners.steps import Step, with_game
from ttt_batch.training.kernels.games import follow_game


@kernel
def learn_given(
    tables: Any,
    graph: Graph,
    step: Step,
    growth: Any,
    games: Any,
    game: Trajectory,
    outcomes: Any,
    first_game: int,
    may_grow: bool,
) -> Any:
    """Learn from `games` from number `first_game` on; return the first one not learnt, for lack of room.

    growth: `Growth`, and games of cells; or None on an enumerated board, and games of edges.
    step: with the number of the first of `games`.
    may_grow: whether to return if a game might need more room than there is.
    game: scratch.  outcomes: int64[4], games by outcome, added to.  Everything but `games` is modified in place.
    """
    start, moves, exploring = games
    for number in range(first_game, start.shape[0] - 1):
        if growth is not None:
            if may_grow and not has_room(graph, growth, graph_cells(growth) + 1):
                return number
            clear_board(growth)
        row, ply, image, explored_at = np.int64(0), 0, np.int64(0), np.uint64(0)
        for move in range(start[number], start[number + 1]):
            edge = np.int64(moves[move])
            if growth is not None:
                lo, hi = edges_of(graph, row)
                for other in range(lo, hi):
                    if growth.origin[image, graph.cell[other]] == moves[move]:
                        edge = np.int64(other)
            game.row[ply], game.edge[ply] = row, edge
            explored_at |= np.uint64(exploring[move]) << np.uint64(ply)
            row = np.int64(graph.child[edge])
            if growth is not None:
                row, image = follow_game(tables, graph, growth, image, edge, row, ply, step.worth)
            ply += 1
        game.row[ply] = row
        outcomes[graph.outcome[row]] += 1
        now = with_game(step, step.alpha, step.epsilon, -1, step.game + number)
        learn(tables, graph, with_exploring(game, explored_at), ply, now)
    return start.shape[0] - 1
