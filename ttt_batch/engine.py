"""A batch from start to end: order the moves, lay the courses, play, complete the counts, fold.

Kernels and their working space only; what to run, for how long and what to report is `training`'s.
"""

from typing import Any, NamedTuple

import numpy as np

from ttt_batch.compile import kernel
from ttt_batch.games import Games
from ttt_batch.graph import Graph, n_unfinished
from ttt_batch.learners.base import Game, fold, learn
from ttt_batch.learners.steps import Step
from ttt_batch.play.counts import Counts, add_outcomes, clear, complete, empty_counts
from ttt_batch.play.courses import U15, Courses, lay_courses, make_courses, pack_row
from ttt_batch.play.explorations import SET_DRAW, Explorations, exploring_plies
from ttt_batch.play.walk import BLOCK, Abreast, make_abreast, walk
from ttt_batch.policy import Choice, Policy, empty_policy, leads_alone, order_row, pick
from ttt_batch.streams import below, draw, game_base


class Workspace(NamedTuple):
    """Everything a batch needs besides tables and settings; nothing in it outlives a batch but what it can be
    made from.

    taken: int64[E * 2], the memory of `counts.taken` as one dimension.
    stale: bool[U], rows whose order of moves may have changed.
    outcomes: int64[4], how all games so far ended, by outcome.
    """

    policy: Policy
    courses: Courses
    counts: Counts
    abreast: Abreast
    taken: Any
    stale: Any
    outcomes: Any


def make_workspace(graph: Graph, block: int = BLOCK) -> Workspace:
    """Working space for one board, every row stale."""
    policy, counts = empty_policy(graph), empty_counts(graph)
    return Workspace(
        policy,
        make_courses(graph, policy),
        counts,
        make_abreast(block),
        counts.taken.reshape(-1),
        np.ones(graph.first_edge.size - 1, dtype=np.bool_),
        np.zeros(4, np.int64),
    )


@kernel
def prepare_batch(tables: Any, graph: Graph, choice: Choice, work: Workspace) -> None:
    """Order the moves of every stale row and lay the courses; `work` is modified in place."""
    policy, courses, stale = work.policy, work.courses, work.stale
    for row in range(n_unfinished(graph)):
        if stale[row]:
            stale[row] = False
            if order_row(tables, graph, choice, policy, row):
                pack_row(graph, policy, courses, row)
    lay_courses(graph, courses)


@kernel
def finish_batch(tables: Any, graph: Graph, step: Step, work: Workspace, games: int) -> None:
    """Complete the counts of a batch of `games`, fold them into `tables`, and clear them; all in place."""
    complete(graph, work.policy, work.counts, games)
    fold(tables, graph, work.counts, step, work.stale)
    add_outcomes(graph, work.counts, work.outcomes)
    clear(graph, work.counts)


@kernel
def run_batches(
    tables: Any,
    graph: Graph,
    choice: Choice,
    step: Step,
    explorations: Explorations,
    work: Workspace,
    key: Any,
    first_game: int,
    last_game: int,
    batch: int,
) -> None:
    """Learn from games `first_game` to `last_game - 1` in batches that end at multiples of `batch`, on one thread.

    `tables` and `work` are modified in place.
    """
    game = first_game
    while game < last_game:
        end = min(last_game, (game // batch + 1) * batch)
        prepare_batch(tables, graph, choice, work)
        walk(graph, work.courses, explorations, key, game, end, work.abreast, work.taken)
        finish_batch(tables, graph, step, work, end - game)
        game = end


@kernel
def run_games(
    tables: Any,
    graph: Graph,
    choice: Choice,
    step: Step,
    explorations: Explorations,
    game: Game,
    favourite: Any,
    outcomes: Any,
    key: Any,
    first_game: int,
    last_game: int,
) -> None:
    """Learn from games `first_game` to `last_game - 1` one after the other: batches of one, without the sweeps.

    Plays and learns what `run_batches` with `batch=1` does, bit for bit.  A greedy move is guessed to be the row's last one
    (`favourite`, int32[U]) and checked afterwards: the processor follows the guess while it checks, and so does not wait
    at every ply for values, comparison and look-up.
    `tables`, `outcomes` (int64[4]), `favourite` (any edge of each row) and `game` (scratch) are modified in place.
    """
    for number in range(first_game, last_game):
        base = game_base(key, number)
        plies = exploring_plies(explorations, draw(base, SET_DRAW))
        row, ply = 0, 0
        while row < n_unfinished(graph):
            edge = favourite[row]
            explores = (plies & U15) == np.uint64(ply)
            if explores:
                plies >>= np.uint64(4)
                n_moves = graph.first_edge[row + 1] - graph.first_edge[row]
                edge = graph.first_edge[row] + below(draw(base, 1 + ply), n_moves)
            elif not leads_alone(tables, graph, choice, row, edge):
                edge = pick(tables, graph, choice, row, draw(base, 1 + ply))
                favourite[row] = edge
            game.row[ply], game.edge[ply], game.exploring[ply] = row, edge, explores
            row = graph.child[edge]
            ply += 1
        game.row[ply] = row
        outcomes[graph.outcome[row]] += 1
        learn(tables, graph, game, ply, step)


@kernel
def learn_games(tables: Any, graph: Graph, step: Step, games: Games, game: Game, outcomes: Any) -> None:
    """Learn from given games one after the other.

    `tables`, `outcomes` (int64[4]) and `game` (scratch) are modified in place.
    """
    for number in range(games.start.shape[0] - 1):
        plies, row = 0, 0
        for move in range(games.start[number], games.start[number + 1]):
            edge = games.edge[move]
            game.row[plies], game.edge[plies], game.exploring[plies] = row, edge, games.exploring[move]
            row = graph.child[edge]
            plies += 1
        game.row[plies] = row
        outcomes[graph.outcome[row]] += 1
        learn(tables, graph, game, plies, step)
