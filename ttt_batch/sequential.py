"""Games one by one, each learnt from before the next begins: the textbook's way, `--batch 1`.

Plays and learns what batches of one game would, bit for bit, without their sweeps.

What each ply waits for is to know the next row.  So greedy play follows what the row's best moves were last time, its
*favourites*, and a look at the table behind it verifies them, while the processor already goes on (1.3 to 2.5 times).
All that play needs to know of a row stands in one word; several best moves stand there as a set, so that a tie is drawn
without looking for them (td 1.25, backward-q 1.1 times).  The random number of the next decision is ready before it
is needed (1.03 to 1.08 times), and what explores in the next 64 games long before: a wrong guess about exploring is
noticed at once then (1.02 to 1.09 times at epsilon 0.3, 0.98 times at 0.1 and below).  Rows that a learner calls
settled need no look (td 1.2 times, no lesson either 1.4).

Where games seldom explore, greedy play repeats itself: of a game in which chance had no part, only the values on its
path change, so the next such game takes the same path as long as each of its moves still beats the runner-up of its
row.  It needs no playing then (1.3 times for sutton-barto at epsilon 0.01, nothing lost at 0.1 and above).

What did not pay: a bound on the second-best move of every row, so that one comparison verifies (1.3 times for
sutton-barto at epsilon 0.01, 0.57 to 0.93 times for all others: keeping bounds true costs more memory than looking
again); a copy of the scores by row, compared eight at a time (what is compared has just been stored in parts, and waits
for that; keeping copies costs what looking saves); exploring without a branch (0.8 to 1.0 times: the look-ups of a move
nobody makes delay the one that is made); playing 16 games ahead of the table, without branches, and playing those again
whose moves did not hold (0.6 to 1.1 times: each part costs little, all together more than wrong guesses do); looking
at nine moves of every row instead of its own, or going back over nine plies of every game, so that no loop ends early
(0.8 and 0.92 times); the favourite's row in a table of its own with 16 bits, or the rule of choice as a constant (1.0).
What remains of backward-q is mostly waiting: 2.3 explorations a game that nobody can foresee, and 0.3 favourites that
fail at 130 cycles each.
"""

from typing import Any, NamedTuple

import numpy as np

from ttt_batch.compile import inlined, kernel
from ttt_batch.engine import Pace, set_explorations, step_at
from ttt_batch.games import Games
from ttt_batch.graph import Graph, edges_of, n_unfinished
from ttt_batch.learners.base import Game, learn
from ttt_batch.learners.steps import Step
from ttt_batch.play.explorations import NEXT_PLY, PLY_BITS, SET_DRAW, Explorations, exploring_plies
from ttt_batch.policy import Choice, Policy, best_but, best_set, leads, score
from ttt_batch.streams import GOLDEN, below, draw, game_base, mix

CELLS = 9
"""Moves of a row at most."""

AHEAD = 64
"""Games whose exploring plies are drawn at once, a power of two; 16 to 1,024 are within 2 % of each other."""

QUIET = 3
"""Games in a row without a part for chance before the next of them is expected to be the same.  With 1 sutton-barto
at epsilon 0.01 is 1.08 times as fast, greedy-td at epsilon 0.1 only 0.9 times: it seldom repeats a game."""

COUNT_AT, SLOT_AT, AMONG_AT, SET_AT, CHILD_AT = (np.uint64(n) for n in (20, 24, 28, 32, 41))
EDGES, COUNT, KEPT, SET = (np.uint64((1 << n) - 1) for n in (20, 4, 24, CELLS))
ONE, MEMBER_BITS, SIZE = np.uint64(1), np.uint64(4), np.uint64(15)


class Favourites(NamedTuple):
    """What play goes by until a look at the tables tells otherwise.

    word: uint64[U]; a row's first edge (bits 0-19), its number of edges (20-23), and its favourite: the first of the
    moves that may be picked (24-27, counted from the first edge), how many they are (28-31), which (32-40, a bit each),
    and the child that the favourite leads to (from 41 on).
    member: uint8[512 * 16]; the members of each set of moves in rising order, and last of 16 entries how many they are.
    runner_up: float64[9], scratch: the best score of the moves not taken, by ply, in a game that may repeat itself.
    exploring: uint64[AHEAD], scratch: what explores in the games to come, see `Explorations.packed`.
    """

    word: Any
    member: Any
    runner_up: Any
    exploring: Any


def make_favourites(graph: Graph) -> Favourites:
    """The first move of each row for its favourite."""
    lo = graph.first_edge[:-1].astype(np.uint64)
    word = lo | (np.diff(graph.first_edge).astype(np.uint64) << COUNT_AT)
    word |= (ONE << AMONG_AT) | (ONE << SET_AT) | (graph.child[lo].astype(np.uint64) << CHILD_AT)
    member = np.zeros((1 << CELLS, 16), np.uint8)
    for bits in range(1 << CELLS):
        slots = [slot for slot in range(CELLS) if bits >> slot & 1]
        member[bits, : len(slots)], member[bits, -1] = slots, len(slots)
    return Favourites(word, member.ravel(), np.zeros(CELLS), np.zeros(AHEAD, np.uint64))


@inlined
def look_ahead(explorations: Explorations, key: Any, first_game: int, exploring: Any) -> None:
    """Draw what explores in the games from `first_game` on; write it into `exploring` (uint64[AHEAD]), in place."""
    for i in range(AHEAD):
        exploring[np.uint64(i)] = exploring_plies(explorations, draw(game_base(key, first_game + i), SET_DRAW))


@inlined
def find_runners_up(tables: Any, graph: Graph, game: Game, plies: int, runner_up: Any) -> None:
    """Write the best score of the moves not taken into `runner_up` (float64[plies]), in place."""
    for ply in range(plies):
        lo, hi = edges_of(graph, game.row[ply])
        runner_up[ply] = best_but(tables, graph, lo, hi, game.edge[ply], ply & 1)


@inlined
def repeats(tables: Any, graph: Graph, choice: Choice, game: Game, plies: int, runner_up: Any) -> Any:
    """Whether each move of `game` still is the only one that may be picked."""
    n = 0
    for ply in range(plies):
        s, other = score(tables, graph, game.edge[ply], ply & 1), runner_up[ply]
        n += (s > other) & (not other > s - choice.window)
    return n == plies


class Circumstances(NamedTuple):
    """What most runs do without.

    pace: how step size and exploration go by games.
    rival: the fixed opponent's policy; even_seat, odd_seat: the learner's seat (0 or 1) in games of even and odd
    numbers, -1 in self-play; explore_even, explore_odd: what explores there.
    record: the games are written there unless it is empty.
    """

    pace: Pace
    rival: Policy
    even_seat: int
    odd_seat: int
    explore_even: Explorations
    explore_odd: Explorations
    record: Games


@kernel
def run_games(
    tables: Any,
    graph: Graph,
    choice: Choice,
    step: Step,
    explorations: Explorations,
    circumstances: Any,
    game: Game,
    favourites: Favourites,
    ended: Any,
    key: Any,
    first_game: int,
    last_game: int,
) -> None:
    """Learn from games `first_game` to `last_game - 1` one after the other.

    circumstances: `Circumstances`, or None in self-play at a constant pace that nobody records, where `explorations`
    says what explores; with None no code for them is compiled (1.05 to 1.18 times as fast as finding out in each game).
    game: scratch.  favourites: see `make_favourites`.  ended: int64[S - U], see `engine.Workspace`.

    Everything but `graph` and `choice` is modified in place.
    """
    recorded, n_open = 0, np.uint64(n_unfinished(graph))
    keeps_settled = game.settled.shape[0] > 0
    quiet, known = 0, 0  # games in a row in which chance had no part; plies of the last one if it may repeat itself
    for number in range(first_game, last_game):
        now, seat, base = step, -1, game_base(key, number)
        if circumstances is None:
            since = np.uint64(number - first_game) % np.uint64(AHEAD)
            if since == np.uint64(0):
                look_ahead(explorations, key, number, favourites.exploring)
            plies = favourites.exploring[since]
        else:
            odd = number & 1
            seat = circumstances.odd_seat if odd else circumstances.even_seat
            exploring = circumstances.explore_odd if odd else circumstances.explore_even
            now = step_at(circumstances.pace, step, number)  # one visit each: the tabulated weights are not needed
            set_explorations(circumstances.pace, seat, exploring, number)
            plies = exploring_plies(exploring, draw(base, SET_DRAW))
        row, ply = np.uint64(0), 0
        if circumstances is None and known > 0:
            explores_late = np.int64(plies & NEXT_PLY) >= known
            if explores_late and repeats(tables, graph, choice, game, known, favourites.runner_up):
                row, ply = np.uint64(game.row[known]), known
            else:
                known = 0
        counter = base + GOLDEN
        bits = mix(counter)  # of the next decision
        by_chance = False
        while row < n_open:
            word = favourites.word[row]
            lo = np.int64(word & EDGES)
            hi = lo + np.int64((word >> COUNT_AT) & COUNT)
            edge, child = lo + np.int64((word >> SLOT_AT) & COUNT), word >> CHILD_AT
            explores = (plies & NEXT_PLY) == np.uint64(ply)
            decided = explores
            if explores:
                plies >>= PLY_BITS
                edge = lo + below(bits, hi - lo)
            elif circumstances is not None and seat >= 0 and ply & 1 != seat:
                rival = circumstances.rival
                edge = np.int64(rival.ordered[lo + below(bits, rival.best[row])])
                child = np.uint64(graph.child[np.uint64(edge)])
                decided = rival.best[row] > 1
            else:
                among, best = (word >> AMONG_AT) & COUNT, (word >> SET_AT) & SET
                now_best = best
                known_best = keeps_settled and game.settled[row]
                if not known_best and (among != ONE or not leads(tables, graph, choice, lo, hi, edge, ply & 1)):
                    now_best = np.uint64(best_set(tables, graph, choice, lo, hi, ply & 1))
                if now_best != best:
                    members = now_best << MEMBER_BITS
                    slot, among = np.uint64(favourites.member[members]), np.uint64(favourites.member[members | SIZE])
                    edge = lo + np.int64(slot)
                    child = np.uint64(graph.child[np.uint64(edge)])
                    choices = (slot << SLOT_AT) | (among << AMONG_AT) | (now_best << SET_AT)
                    favourites.word[row] = (word & KEPT) | choices | (child << CHILD_AT)
                decided = among != ONE
                if decided:
                    edge = lo + np.int64(favourites.member[(now_best << MEMBER_BITS) | np.uint64(below(bits, among))])
            if decided:
                by_chance = True
                child = np.uint64(graph.child[np.uint64(edge)])
                counter += GOLDEN
                bits = mix(counter)
            game.row[ply], game.edge[ply], game.exploring[ply] = row, edge, explores
            row = child
            ply += 1
        game.row[ply] = row
        ended[row - n_open] += 1
        learn(tables, graph, game, ply, now)
        if circumstances is None:
            quiet = 0 if by_chance else quiet + 1
            if quiet > QUIET and known == 0:
                known = ply
                find_runners_up(tables, graph, game, known, favourites.runner_up)
        elif circumstances.record.edge.shape[0] > 0:
            record = circumstances.record
            for move in range(ply):
                record.edge[recorded], record.exploring[recorded] = game.edge[move], game.exploring[move]
                recorded += 1
            record.start[number - first_game + 1] = recorded


@kernel
def learn_games(tables: Any, graph: Graph, step: Step, games: Games, game: Game, ended: Any) -> None:
    """Learn from given games one after the other.

    `tables`, `ended` (int64[S - U], see `engine.Workspace`) and `game` (scratch) are modified in place.
    """
    for number in range(games.start.shape[0] - 1):
        plies, row = 0, 0
        for move in range(games.start[number], games.start[number + 1]):
            edge = games.edge[move]
            game.row[plies], game.edge[plies], game.exploring[plies] = row, edge, games.exploring[move]
            row = graph.child[edge]
            plies += 1
        game.row[plies] = row
        ended[row - n_unfinished(graph)] += 1
        learn(tables, graph, game, plies, step)
