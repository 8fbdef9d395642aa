"""The games of a batch move by move: a plain walk, for recording.

It draws what `walk` and `lockstep` draw, so it plays the very games whose decisions they count; recording changes no
count.
"""

from typing import Any

import numpy as np

from ttt_batch.base.jit import kernel
from ttt_batch.base.streams import GOLDEN, below, game_base, mix
from ttt_batch.game.graph import Graph, edges_of, n_unfinished
from ttt_batch.game.transcripts import Games
from ttt_batch.simulation.exploration import explores_at, exploring_plies, next_counter
from ttt_batch.simulation.policy import Policy


def trimmed(games: Games) -> Games:
    """The games without the space after their last move."""
    end = int(games.start[-1])
    return Games(games.start, games.move[:end], games.exploring[:end])


@kernel
def replay(
    graph: Graph,
    policy: Policy,
    explorations: Any,
    epsilon: float,
    seat: int,
    key: Any,
    first_game: int,
    last_game: int,
    games: Games,
) -> None:
    """Write games `first_game` to `last_game - 1` into `games`, in place.

    explorations, epsilon, seat: see `exploring_plies`.
    """
    move, plies = 0, graph.ply_start.shape[0] - 1
    for number in range(first_game, last_game):
        base = game_base(key, number)
        exploring = exploring_plies(explorations, base, epsilon, seat, plies)
        row, ply, counter = np.int64(0), 0, base + GOLDEN
        while row < n_unfinished(graph):
            lo, hi = edges_of(graph, row)
            explores, bits = explores_at(exploring, ply), mix(counter)
            counter = next_counter(explorations, counter, explores or policy.best[row] > 1)
            edge = lo + below(bits, hi - lo)
            if not explores:
                edge = np.int64(policy.ordered[lo + below(bits, policy.best[row])])
            games.move[move], games.exploring[move] = edge, explores
            move += 1
            ply += 1
            row = np.int64(graph.child[edge])
        games.start[number - first_game + 1] = move
