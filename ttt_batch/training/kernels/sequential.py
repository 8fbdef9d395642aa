"""Games one by one, each learnt from before the next begins: the textbook's way, `--batch 1`.

Plays and learns what batches of one game would, bit for bit, without their sweeps.  Play follows `greedy_cache`, and
the random number of the next decision is ready before it is needed (1.03 to 1.08 times as fast).

Self-play at a constant pace is a kernel of its own with every ply written out: each has its own number of moves, its
mover and its branches, which the processor then guesses better (1.08 to 1.25 times as fast for half a kilobyte of
machine code a ply and two seconds more to compile).  What explores stays a set in one word from the draw to the lesson
(1.06 times).

Greedy play may repeat itself: of a game in which chance had no part, only the values on its path change, so the next
such game takes the same path as long as each of its moves still beats the runner-up of its row.  It needs no playing
then: sutton-barto is 1.4 times as fast at its epsilon of 0.01, and 0.9 times at 0.1.  Waiting for two such games in a
row, or for four, 0.96 and 0.9 times at 0.01, 1.04 and 1.07 at 0.1.  All others are faster without (1.03 to 3 times,
down to epsilon 0): theirs seldom repeat themselves, or are played faster than compared.

What did not pay: a bound on the second-best move of every row, so that one comparison verifies (1.3 times for
sutton-barto at epsilon 0.01, 0.57 to 0.93 times for all others: keeping bounds true costs more memory than looking
again); looking behind each lesson, so that play need not verify (backward-q 0.73 times: each game then waits for the
lesson before); storing eight at a time what is looked at eight at a time (0.97 times: looks no longer wait for what was
stored in parts, but storing costs more); exploring without a branch (0.9 times, 0.95 at the first ply alone: the
look-ups of a move nobody makes delay the one that is made); playing a whole game ahead of the table and verifying it
behind (0.7 times), or 16 of them without branches (0.6 to 1.1 times); nine plies in every game, with ends of games that
lead to themselves, so that no loop ends early (0.8 times); a lesson for each length of game (1.0); drawing what
explores 64 games ahead (0.95 to 1.0 times); a loop of its own for games that repeat themselves (1.0 to 1.03).  What
remains of backward-q is mostly wrong guesses: 2.3 explorations a game that nobody can foresee at some 24 cycles each,
and 0.3 favourites that fail at some 100.
"""

from typing import Any, NamedTuple

import numpy as np

from ttt_batch.base.jit import inlined, kernel
from ttt_batch.base.streams import GOLDEN, below, draw, game_base, mix
from ttt_batch.game.graph import Graph, edges_of, n_unfinished
from ttt_batch.game.transcripts import Games
from ttt_batch.learners.base import Trajectory, learn, with_exploring
from ttt_batch.simulation.exploration import SET_DRAW, Explorations, explores_at, exploring_set
from ttt_batch.simulation.policy import Choice, Policy, best_but, score
from ttt_batch.training.kernels.batch import Learning, set_explorations, step_at
from ttt_batch.training.kernels.greedy_cache import ONE, Favourites, may_be_over, move


class Turn(NamedTuple):
    """A game of self-play in progress.

    row: uint64, the position.  plies: int, moves made so far.  counter, bits: uint64, the counter of the next decision
    and its random number.
    """

    row: Any
    plies: Any
    counter: Any
    bits: Any


@inlined
def find_runners_up(tables: Any, graph: Graph, game: Trajectory, plies: int, runner_up: Any) -> None:
    """Write the best score of the moves not taken, by ply, into `runner_up` (float64[plies]), in place.

    None where no game is expected to repeat itself (`Learner.repeats`): nothing is compiled for it then.
    """
    if runner_up is None:
        return
    for ply in range(plies):
        lo, hi = edges_of(graph, game.row[ply])
        runner_up[ply] = best_but(tables, graph, lo, hi, game.edge[ply], ply & 1)


@inlined
def repeats(tables: Any, graph: Graph, choice: Choice, game: Trajectory, plies: int, runner_up: Any) -> Any:
    """Whether each move of `game` still is the only one that may be picked; False if there is no `runner_up`."""
    if runner_up is None:
        return False
    for ply in range(plies):
        s, other = score(tables, graph, game.edge[ply], ply & 1), runner_up[ply]
        if not s > other or other > s - choice.window:
            return False
    return True


@inlined
def advance(
    tables: Any,
    graph: Graph,
    choice: Choice,
    scores: Any,
    favourites: Favourites,
    game: Trajectory,
    exploring: Any,
    turn: Turn,
    ply: Any,
) -> Any:
    """Make the move of `ply` unless the game is over, and write it into `game`: the next `Turn`."""
    row, plies, counter, bits = turn
    if not may_be_over(favourites.count, ply) or row < np.uint64(n_unfinished(graph)):
        explores = explores_at(exploring, ply)
        edge, child, by_chance = move(tables, graph, choice, scores, favourites, game, row, ply, explores, bits)
        game.row[ply], game.edge[ply] = row, edge
        row, plies = child, ply + 1
        if by_chance:
            counter += GOLDEN
            bits = mix(counter)
    return Turn(row, plies, counter, bits)


@kernel
def play_self(
    learning: Learning,
    scores: Any,
    explorations: Explorations,
    favourites: Favourites,
    game: Trajectory,
    runner_up: Any,
    ended: Any,
    key: Any,
    first_game: int,
    last_game: int,
) -> None:
    """Self-play at a constant pace: play games `first_game` to `last_game - 1` and learn from each.

    scores: see `greedy_cache.move`.  game: scratch but for its `settled`.  ended: int64[S - U], see `batch.Workspace`.
    Everything but `explorations` is modified in place.
    """
    tables, graph, choice, step, _ = learning
    n_open = np.uint64(n_unfinished(graph))
    plies, by_chance = 0, True  # how long the last game was, and whether chance had a part in it
    for number in range(first_game, last_game):
        base = game_base(key, number)
        exploring = exploring_set(explorations, draw(base, SET_DRAW))
        early = exploring & ((ONE << np.uint64(plies)) - ONE)
        if by_chance or early != np.uint64(0) or not repeats(tables, graph, choice, game, plies, runner_up):
            first = base + GOLDEN
            turn = Turn(np.uint64(0), 0, first, mix(first))
            # An integer literal would be a type of its own: nine signatures to compile instead of one.
            turn = advance(tables, graph, choice, scores, favourites, game, exploring, turn, np.int64(0))
            turn = advance(tables, graph, choice, scores, favourites, game, exploring, turn, np.int64(1))
            turn = advance(tables, graph, choice, scores, favourites, game, exploring, turn, np.int64(2))
            turn = advance(tables, graph, choice, scores, favourites, game, exploring, turn, np.int64(3))
            turn = advance(tables, graph, choice, scores, favourites, game, exploring, turn, np.int64(4))
            turn = advance(tables, graph, choice, scores, favourites, game, exploring, turn, np.int64(5))
            turn = advance(tables, graph, choice, scores, favourites, game, exploring, turn, np.int64(6))
            turn = advance(tables, graph, choice, scores, favourites, game, exploring, turn, np.int64(7))
            turn = advance(tables, graph, choice, scores, favourites, game, exploring, turn, np.int64(8))
            plies = turn.plies
            game.row[plies] = turn.row
            by_chance = turn.counter != first
            if not by_chance:
                find_runners_up(tables, graph, game, plies, runner_up)
        ended[np.uint64(game.row[plies]) - n_open] += 1
        learn(tables, graph, with_exploring(game, exploring), plies, step)


class Circumstances(NamedTuple):
    """What most runs do without.

    rival: the fixed opponent's policy; even_seat, odd_seat: the learner's seat (0 or 1) in games of even and odd
    numbers, -1 in self-play; explore_even, explore_odd: what explores there.
    record: the games are written there unless it is empty.
    """

    rival: Policy
    even_seat: int
    odd_seat: int
    explore_even: Explorations
    explore_odd: Explorations
    record: Games


@kernel
def play_under(
    learning: Learning,
    circumstances: Circumstances,
    favourites: Favourites,
    game: Trajectory,
    ended: Any,
    key: Any,
    first_game: int,
    last_game: int,
) -> None:
    """Play games `first_game` to `last_game - 1` under any circumstances and learn from each; else as `play_self`."""
    tables, graph, choice, step, pace = learning
    recorded, n_open = 0, np.uint64(n_unfinished(graph))
    record, rival = circumstances.record, circumstances.rival
    for number in range(first_game, last_game):
        odd, base = number & 1, game_base(key, number)
        seat = circumstances.odd_seat if odd else circumstances.even_seat
        explorations = circumstances.explore_odd if odd else circumstances.explore_even
        now = step_at(pace, step, number)  # one visit each: the tabulated weights are not needed
        set_explorations(pace, seat, explorations, number)
        exploring = exploring_set(explorations, draw(base, SET_DRAW))
        row, ply, counter = np.uint64(0), 0, base + GOLDEN
        while row < n_open:
            explores = explores_at(exploring, ply)
            bits = mix(counter)
            if seat >= 0 and ply & 1 != seat:
                edge = np.uint64(rival.ordered[np.int64(graph.first_edge[row]) + below(bits, rival.best[row])])
                child, by_chance = np.uint64(graph.child[edge]), rival.best[row] > 1
            else:
                edge, child, by_chance = move(tables, graph, choice, None, favourites, game, row, ply, explores, bits)
            if by_chance:
                counter += GOLDEN
            game.row[ply], game.edge[ply] = row, edge
            row = child
            ply += 1
        game.row[ply] = row
        ended[row - n_open] += 1
        learn(tables, graph, with_exploring(game, exploring), ply, now)
        if record.edge.shape[0] > 0:
            for made in range(ply):
                record.edge[recorded] = game.edge[made]
                record.exploring[recorded] = explores_at(exploring, made)
                recorded += 1
            record.start[number - first_game + 1] = recorded
