"""The games of a batch move by move: the plain walk, for recording.

It draws what `walk` draws, ply by ply, so it plays the very games whose decisions `walk` counts; recording
therefore changes no count.
"""

from typing import Any

import numpy as np

from ttt_batch.base.jit import kernel
from ttt_batch.base.streams import below, draw, game_base
from ttt_batch.game.graph import Graph, edges_of, n_unfinished
from ttt_batch.game.transcripts import Games
from ttt_batch.simulation.exploration import SET_DRAW, Explorations, explores_at, exploring_set
from ttt_batch.simulation.policy import Policy


def games_space(graph: Graph, games: int) -> Games:
    """Space for `games` games of any length."""
    moves = games * int(graph.ply.max())
    return Games(np.zeros(games + 1, np.int64), np.zeros(moves, np.uint32), np.zeros(moves, np.bool_))


def trimmed(games: Games) -> Games:
    """The games without the space behind their last move."""
    end = int(games.start[-1])
    return Games(games.start, games.edge[:end], games.exploring[:end])


@kernel
def replay(
    graph: Graph, policy: Policy, explorations: Explorations, key: Any, first_game: int, last_game: int, games: Games
) -> None:
    """Write games `first_game` to `last_game - 1` into `games`, in place."""
    move = 0
    for number in range(first_game, last_game):
        base = game_base(key, number)
        exploring = exploring_set(explorations, draw(base, SET_DRAW))
        row, ply, decision = 0, 0, 1
        while row < n_unfinished(graph):
            lo, hi = edges_of(graph, row)
            explores = explores_at(exploring, ply)
            bits = draw(base, decision)
            decision += explores or policy.best[row] > 1
            edge = lo + below(bits, hi - lo) if explores else policy.ordered[lo + below(bits, policy.best[row])]
            games.edge[move], games.exploring[move] = edge, explores
            move += 1
            ply += 1
            row = graph.child[edge]
        games.start[number - first_game + 1] = move
