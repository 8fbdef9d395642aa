"""Games one by one, each learnt from before the next begins: the textbook's way, `--batch 1`.

Plays and learns what batches of one game would, bit for bit, without their sweeps.

What each ply waits for is to know the next row.  So a greedy move is guessed to be the row's last one, its
*favourite*, and verified afterwards, while the processor already follows it (1.3 to 2.5 times).  Where the row's
moves lie, how many they are, the favourite and its child share a word (with the loop of `leads` that never stops
early, 1.15 to 1.25 times).

What did not pay: a bound on the second-best move, so that one comparison verifies (1.3 times for sutton-barto at
epsilon 0.01, 0.57 to 0.93 times for all others: keeping bounds true costs more memory than looking again); exploring
without a branch (the look-ups of a move nobody makes delay the one that is made).
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ttt_batch.compile import kernel
from ttt_batch.engine import Pace, set_explorations, step_at
from ttt_batch.games import Games
from ttt_batch.graph import Graph, n_unfinished
from ttt_batch.learners.base import Game, learn
from ttt_batch.learners.steps import Step
from ttt_batch.play.explorations import NEXT_PLY, PLY_BITS, SET_DRAW, Explorations, exploring_plies
from ttt_batch.policy import Choice, Policy, leads, pick
from ttt_batch.streams import below, draw, game_base

EDGE_BITS, COUNT_BITS, CHILD_AT = 26, 6, 38
EDGES, COUNT = (1 << EDGE_BITS) - 1, (1 << COUNT_BITS) - 1
KEPT = (1 << (EDGE_BITS + COUNT_BITS)) - 1

SEVERAL = COUNT
"""A favourite that is none: several moves were best, and no single one needs to be looked for at first."""


def make_favourites(graph: Graph) -> NDArray[np.int64]:
    """int64[U], any move of each row for its favourite.

    A word holds the row's first edge (bits 0-25) and number of edges (26-31), and the favourite: how many edges behind
    the first it is, or SEVERAL (32-37), and its child (from 38 on).
    """
    lo = graph.first_edge[:-1].astype(np.int64)
    count = np.diff(graph.first_edge).astype(np.int64)
    words: NDArray[np.int64] = lo | (count << EDGE_BITS) | (graph.child[lo].astype(np.int64) << CHILD_AT)
    return words


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
    favourites: Any,
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
    recorded, n_open = 0, n_unfinished(graph)
    for number in range(first_game, last_game):
        now, seat, exploring = step, -1, explorations
        if circumstances is not None:
            odd = number & 1
            seat = circumstances.odd_seat if odd else circumstances.even_seat
            exploring = circumstances.explore_odd if odd else circumstances.explore_even
            now = step_at(circumstances.pace, step, number)  # one visit each: the tabulated weights are not needed
            set_explorations(circumstances.pace, seat, exploring, number)
        base = game_base(key, number)
        plies = exploring_plies(exploring, draw(base, SET_DRAW))
        row, ply, decision = 0, 0, 1
        while row < n_open:
            word = favourites[row]
            lo = word & EDGES
            hi = lo + ((word >> EDGE_BITS) & COUNT)
            slot, child = (word >> (EDGE_BITS + COUNT_BITS)) & COUNT, word >> CHILD_AT
            edge = lo + slot
            explores = (plies & NEXT_PLY) == np.uint64(ply)
            if explores:
                plies >>= PLY_BITS
                edge = lo + below(draw(base, decision), hi - lo)
                child = np.int64(graph.child[edge])
                decision += 1
            elif circumstances is not None and seat >= 0 and ply & 1 != seat:
                rival = circumstances.rival
                edge = np.int64(rival.ordered[lo + below(draw(base, decision), rival.best[row])])
                child = np.int64(graph.child[edge])
                decision += rival.best[row] > 1
            elif slot == SEVERAL or not leads(tables, graph, choice, lo, hi, edge, ply & 1):
                edge, among = pick(tables, graph, choice, lo, hi, ply & 1, draw(base, decision))
                child = np.int64(graph.child[edge])
                decision += among > 1
                slot = edge - lo if among == 1 else SEVERAL
                favourites[row] = (word & KEPT) | (slot << (EDGE_BITS + COUNT_BITS)) | (child << CHILD_AT)
            game.row[ply], game.edge[ply], game.exploring[ply] = row, edge, explores
            row = child
            ply += 1
        game.row[ply] = row
        ended[row - n_open] += 1
        learn(tables, graph, game, ply, now)
        if circumstances is not None and circumstances.record.edge.shape[0] > 0:
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
