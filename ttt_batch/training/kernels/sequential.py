"""Self-play with `--batch 1` at a constant step size and epsilon: learn from each game before the next.

The result equals batches of one game bit for bit, without their sweeps.  Play follows the cache of greedy moves, and
draws the random number of the next decision early (1.03 to 1.08 times as fast).

The loop over plies is unrolled, so the processor predicts the branches of each ply better (1.08 to 1.25 times as fast).
One word holds the set of exploring plies from the draw to the update (1.06 times).  `games` contains all other play.

Greedy games may repeat.  A game without random moves changes only the values on its path.  The next such game takes the
same path while each of its moves beats the runner-up of its row, and then need not be played (`sutton-barto`).
"""

from typing import NamedTuple

import numpy as np

from ttt_batch.compiler.jit import Float64Array, Int64, Int64Array, inlined, kernel
from ttt_batch.compiler.numerics import GOLDEN, draw, game_base, mix
from ttt_batch.games.graph import edges_of, n_unfinished
from ttt_batch.learners.base import Trajectory, learn, with_exploring, with_game
from ttt_batch.simulation.policy import best_but, score
from ttt_batch.simulation.walk import SET_DRAW, Explorations, explores_at, exploring_set
from ttt_batch.training.kernels.batch import Learning
from ttt_batch.training.kernels.games import ONE, GreedyCache, cached_move, may_be_over


class Turn(NamedTuple):
    """A game of self-play in progress.

    row: uint64, the position.  plies: int, moves made so far.  counter, bits: uint64, the counter of the next decision
    and its random number.
    """

    row: np.uint64
    plies: Int64
    counter: np.uint64
    bits: np.uint64


@inlined
def still_leads(learning: Learning, game: Trajectory, plies: Int64, runner_up: Float64Array) -> bool:
    """Return whether each move of `game` still is the only one that may be picked."""
    for ply in range(plies):
        s, other = score(learning.tables, learning.graph, game.edge[ply], ply & 1), runner_up[ply]
        if not s > other or other > s - learning.choice.window:
            return False
    return True


@inlined
def repeat(
    learning: Learning,
    explorations: Explorations,
    game: Trajectory,
    plies: Int64,
    runner_up: Float64Array | None,
    outcomes: Int64Array,
    key: np.uint64,
    number: Int64,
    last_game: Int64,
) -> Int64:
    """Learn from `game` again while the games from `number` on repeat it; return the number of the first other game.

    A separate loop makes play 1.05 times as fast at epsilon 0.1.
    """
    if runner_up is None:
        return number
    tables, graph, _, step, _ = learning
    for ply in range(plies):
        lo, hi = edges_of(graph, game.row[ply])
        runner_up[ply] = best_but(tables, graph, lo, hi, game.edge[ply], ply & 1)
    outcome, early = graph.outcome[game.row[plies]], (ONE << np.uint64(plies)) - ONE
    while number < last_game:
        exploring = exploring_set(explorations, draw(game_base(key, number), SET_DRAW))
        if exploring & early != np.uint64(0) or not still_leads(learning, game, plies, runner_up):
            break
        outcomes[outcome] += 1
        learn(tables, graph, game, plies, with_game(step, step.alpha, step.epsilon, -1, number))
        number += 1
    return number


@inlined
def advance(
    learning: Learning, cache: GreedyCache, game: Trajectory, exploring: np.uint64, turn: Turn, ply: Int64
) -> "Turn":
    """Make the move of `ply` unless the game is over, and write it into `game`: the next `Turn`."""
    row, plies, counter, bits = turn
    if not may_be_over(cache.count, ply) or row < np.uint64(n_unfinished(learning.graph)):
        explores = explores_at(exploring, ply)
        edge, child, by_chance = cached_move(learning, cache, game, row, ply, explores, bits)
        game.row[ply], game.edge[ply] = row, edge
        row, plies = child, ply + 1
        if by_chance:
            counter += GOLDEN
            bits = mix(counter)
    return Turn(row, plies, counter, bits)


@kernel
def play_self(
    learning: Learning,
    explorations: Explorations,
    cache: GreedyCache,
    game: Trajectory,
    runner_up: Float64Array | None,
    outcomes: Int64Array,
    key: np.uint64,
    first_game: Int64,
    last_game: Int64,
) -> None:
    """Play games `first_game` to `last_game - 1` and learn from each.

    game: scratch except for its `settled`.
    runner_up: float64[9], scratch; None unless games are expected to repeat themselves (`Learner.repeats`).
    outcomes: int64[4], games by outcome, added to.  Everything but `explorations` is modified in place.
    """
    tables, graph, _, step, _ = learning
    number = first_game
    while number < last_game:
        base = game_base(key, number)
        exploring = exploring_set(explorations, draw(base, SET_DRAW))
        first = base + GOLDEN
        turn = Turn(np.uint64(0), 0, first, mix(first))
        # An integer literal would be a type of its own: nine signatures to compile instead of one.
        turn = advance(learning, cache, game, exploring, turn, np.int64(0))
        turn = advance(learning, cache, game, exploring, turn, np.int64(1))
        turn = advance(learning, cache, game, exploring, turn, np.int64(2))
        turn = advance(learning, cache, game, exploring, turn, np.int64(3))
        turn = advance(learning, cache, game, exploring, turn, np.int64(4))
        turn = advance(learning, cache, game, exploring, turn, np.int64(5))
        turn = advance(learning, cache, game, exploring, turn, np.int64(6))
        turn = advance(learning, cache, game, exploring, turn, np.int64(7))
        turn = advance(learning, cache, game, exploring, turn, np.int64(8))
        game.row[turn.plies] = turn.row
        outcomes[np.uint64(graph.outcome[turn.row])] += 1
        now = with_game(step, step.alpha, step.epsilon, -1, number)
        learn(tables, graph, with_exploring(game, exploring), turn.plies, now)
        number += 1
        if turn.counter == first:  # chance had no part in it
            number = repeat(learning, explorations, game, turn.plies, runner_up, outcomes, key, number, last_game)
