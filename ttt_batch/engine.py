"""A batch from start to end: find the best moves, play or draw the counts, fold.

Kernels and their working space only; what to run, for how long and what to report is `training`'s.
"""

from typing import Any, NamedTuple

import numpy as np

from ttt_batch.batches import Batches, bounds_in_kernels
from ttt_batch.compile import inlined, kernel
from ttt_batch.games import Games
from ttt_batch.graph import Graph, edges_of, n_unfinished
from ttt_batch.learners.base import Game, fold, learn
from ttt_batch.learners.steps import Step, fill_weights
from ttt_batch.play.counts import Counts, clear, complete, empty_counts
from ttt_batch.play.courses import Courses, lay_courses, make_courses, pack_row
from ttt_batch.play.explorations import N_SETS, SET_DRAW, Explorations, exploring_plies, fill_explorations
from ttt_batch.play.flow import flow
from ttt_batch.play.walk import BLOCK, U15, Lane, make_lane, walk
from ttt_batch.policy import Choice, Policy, empty_policy, leads, order_row, pick
from ttt_batch.schedules import EXPONENTIAL, LINEAR, Decay, value_at
from ttt_batch.streams import below, draw, game_base

SEVERAL = -1
"""A favourite that is none: several moves were best, and no single one needs to be looked for at first."""


class Pace(NamedTuple):
    """How step size and exploration change over the run, and scratch for refilling their tables.

    weight: float64[512], stack: int64[512].
    """

    alpha: Decay
    epsilon: Decay
    weight: Any
    stack: Any


class Workspace(NamedTuple):
    """Everything a batch needs besides tables and settings; what outlives a batch follows from the tables.

    seat: the learner's seat, 0 or 1, against a rival; -1 in self-play.
    policy: the best moves of each row, the rival's included.
    stale: bool[U], rows whose best moves may have changed.
    rows: uint32[U], scratch.
    owned: bool[U], rows where the learner moves; the others are the rival's.
    ended: int64[S - U], games so far that ended in each final row.
    """

    seat: int
    policy: Policy
    counts: Counts
    stale: Any
    rows: Any
    owned: Any
    ended: Any


class Walker(NamedTuple):
    """What a walk needs beside the workspace: which plies explore, at the epsilon of the batch at hand, the policy
    laid out, and the lane of one thread.
    """

    explorations: Explorations
    courses: Courses
    lane: Lane


def make_pace(alpha: Decay, epsilon: Decay) -> Pace:
    """A pace with its scratch."""
    return Pace(alpha, epsilon, np.zeros(N_SETS), np.zeros(N_SETS, np.int64))


def make_workspace(graph: Graph, *, rival: Policy | None = None, seat: int = -1) -> Workspace:
    """Working space for one board, every row stale; with a `rival`, for the learner in `seat`."""
    policy = empty_policy(graph)
    n_open = graph.first_edge.size - 1
    owned = np.ones(n_open, dtype=np.bool_)
    if rival is not None:
        owned = (graph.ply[:n_open] & 1) == seat
        policy.ordered[:] = rival.ordered
        policy.best[:] = rival.best
    stale = np.ones(n_open, dtype=np.bool_)
    ended = np.zeros(graph.code.size - n_open, np.int64)
    return Workspace(seat, policy, empty_counts(graph), stale, np.zeros(n_open, np.uint32), owned, ended)


def make_walker(graph: Graph, work: Workspace, explorations: Explorations, block: int = BLOCK) -> Walker:
    """A walker for the policy of `work`, `block` games abreast.  Raises BoardError where the board is too large."""
    return Walker(explorations, make_courses(graph, work.policy), make_lane(graph, block))


@inlined
def by_games(decay: Decay) -> Any:
    """Whether a schedule changes with the games played."""
    return decay.kind == LINEAR or decay.kind == EXPONENTIAL


@inlined
def step_at(pace: Pace, step: Step, game: int) -> Any:
    """The `Step` of a batch that begins with `game`; its tabulated weights stay those of `step`."""
    alpha = value_at(pace.alpha, game) if by_games(pace.alpha) else step.alpha
    return Step(alpha, step.gamma, step.weights, step.worth, step.power, step.visits)


@inlined
def set_explorations(pace: Pace, seat: int, explorations: Explorations, game: int) -> None:
    """Refill `explorations` for a batch that begins with `game`, where epsilon goes by games."""
    if by_games(pace.epsilon):
        fill_explorations(explorations, value_at(pace.epsilon, game), seat, pace.weight, pace.stack)


@inlined
def batch_step(pace: Pace, step: Step, game: int) -> Any:
    """The `Step` of a batch that begins with `game`; `step.weights` are refilled in place where alpha goes by games."""
    now = step_at(pace, step, game)
    if by_games(pace.alpha):
        fill_weights(now.alpha, now.weights)
    return now


@inlined
def order_stale(tables: Any, graph: Graph, choice: Choice, work: Workspace) -> Any:
    """Find the best moves of every stale row; return how many rows changed, listed in `work.rows`.

    `work` is modified in place.
    """
    stale, rows = work.stale, work.rows
    n_stale, n_changed = 0, 0
    for row in range(n_unfinished(graph)):  # a list first: a branch for each row would be guessed wrong
        rows[n_stale] = row
        n_stale += stale[row]
        stale[row] = False
    for i in range(n_stale):
        row = rows[i]
        if work.owned[row] and order_row(tables, graph, choice, work.policy, row):
            rows[n_changed] = row
            n_changed += 1
    return n_changed


@kernel
def begin_walk(
    tables: Any, graph: Graph, choice: Choice, step: Step, pace: Pace, work: Workspace, walker: Walker, game: int
) -> Any:
    """Get ready to walk a batch that begins with `game`: step size, exploration, best moves, courses.

    Returns the batch's `Step`.  `work`, `walker` and `step.weights` are modified in place.
    """
    set_explorations(pace, work.seat, walker.explorations, game)
    n_changed = order_stale(tables, graph, choice, work)
    for i in range(n_changed):
        pack_row(graph, work.policy, walker.courses, work.rows[i])
    if n_changed:
        lay_courses(graph, work.policy, walker.courses)
    return batch_step(pace, step, game)


@kernel
def end_walk(tables: Any, graph: Graph, step: Step, work: Workspace, walker: Walker, games: int) -> None:
    """Complete the counts of a batch of `games`, fold them into `tables`, and clear them; all in place."""
    complete(graph, work.policy, walker.lane.drawn, work.counts, games)
    fold(tables, graph, work.counts, step, work.stale)
    clear(graph, work.counts, work.ended)


@kernel
def run_walks(
    tables: Any,
    graph: Graph,
    choice: Choice,
    step: Step,
    pace: Pace,
    work: Workspace,
    walker: Walker,
    key: Any,
    batches: Batches,
    first_game: int,
    last_game: int,
) -> None:
    """Walk games `first_game` to `last_game - 1` and learn from them batch by batch, on one thread.

    key: uint64, `stream_key(seed)`.  `tables`, `step`, `work` and `walker` are modified in place.
    """
    game = first_game
    while game < last_game:
        end = min(last_game, bounds_in_kernels(batches, game)[1])
        now = begin_walk(tables, graph, choice, step, pace, work, walker, game)
        walk(graph, walker.courses, walker.explorations, key, game, end, walker.lane)
        end_walk(tables, graph, now, work, walker, end - game)
        game = end


@kernel
def run_flows(
    tables: Any,
    graph: Graph,
    choice: Choice,
    step: Step,
    pace: Pace,
    work: Workspace,
    key: Any,
    batches: Batches,
    first_game: int,
    last_game: int,
) -> None:
    """Draw the counts of games `first_game` to `last_game - 1` and learn from them batch by batch.

    A batch's random numbers go by its first game.  key: uint64, `stream_key(seed, FLOW)`.
    `tables`, `step` and `work` are modified in place.
    """
    game = first_game
    while game < last_game:
        end = min(last_game, bounds_in_kernels(batches, game)[1])
        now = batch_step(pace, step, game)
        order_stale(tables, graph, choice, work)
        flow(graph, work.policy, value_at(pace.epsilon, game), work.seat, key, game, end - game, work.counts)
        fold(tables, graph, work.counts, now, work.stale)
        clear(graph, work.counts, work.ended)
        game = end


@kernel
def run_games(
    tables: Any,
    graph: Graph,
    choice: Choice,
    step: Step,
    pace: Pace,
    even: Workspace,
    odd: Workspace,
    explore_even: Explorations,
    explore_odd: Explorations,
    game: Game,
    favourite: Any,
    record: Games,
    key: Any,
    first_game: int,
    last_game: int,
) -> None:
    """Learn from games `first_game` to `last_game - 1` one after the other: batches of one, without the sweeps.

    Plays and learns what `run_walks` with batches of one does, bit for bit.  A greedy move is guessed to be the row's
    last one (`favourite`) and checked afterwards: the processor follows the guess while it checks, and so does not
    wait at every ply for values, comparison and look-up; 1.3 to 2.5 times faster.
    even, odd: seats for games of even and odd numbers, and what explores there; the rival's policy and `ended` are
    even's.
    favourite: int64[U], any edge of each row (bits 32-63) and its child (0-31), or SEVERAL; in one word because
    finding the next row is what each ply waits for.  game: scratch.
    record: the games are written there unless it is empty.

    Everything but `graph` and `choice` is modified in place.
    """
    recorded, rival = 0, even.policy
    for number in range(first_game, last_game):
        # One visit each: the tabulated weights are not needed.
        now = step_at(pace, step, number)
        base = game_base(key, number)
        if number & 1:
            set_explorations(pace, odd.seat, explore_odd, number)
            seat, plies = odd.seat, exploring_plies(explore_odd, draw(base, SET_DRAW))
        else:
            set_explorations(pace, even.seat, explore_even, number)
            seat, plies = even.seat, exploring_plies(explore_even, draw(base, SET_DRAW))
        row, ply, decision = 0, 0, 1
        while row < n_unfinished(graph):
            lo, hi = edges_of(graph, row)
            edge, child = favourite[row] >> 32, favourite[row] & 0xFFFFFFFF
            explores = (plies & U15) == np.uint64(ply)
            if explores:
                plies >>= np.uint64(4)
                edge = lo + below(draw(base, decision), hi - lo)
                child = np.int64(graph.child[edge])
                decision += 1
            elif seat >= 0 and ply & 1 != seat:
                edge = rival.ordered[lo + below(draw(base, decision), rival.best[row])]
                child = np.int64(graph.child[edge])
                decision += rival.best[row] > 1
            elif edge < 0 or not leads(tables, graph, choice, row, edge):
                edge, among = pick(tables, graph, choice, row, base, decision)
                child = np.int64(graph.child[edge])
                decision += among > 1
                favourite[row] = (np.int64(edge) << 32) | child if among == 1 else SEVERAL
            game.row[ply], game.edge[ply], game.exploring[ply] = row, edge, explores
            row = child
            ply += 1
        game.row[ply] = row
        even.ended[row - n_unfinished(graph)] += 1
        learn(tables, graph, game, ply, now)
        if record.edge.shape[0] > 0:
            for move in range(ply):
                record.edge[recorded], record.exploring[recorded] = game.edge[move], game.exploring[move]
                recorded += 1
            record.start[number - first_game + 1] = recorded


@kernel
def learn_games(tables: Any, graph: Graph, step: Step, games: Games, game: Game, ended: Any) -> None:
    """Learn from given games one after the other.

    `tables`, `ended` (int64[S - U], see `Workspace`) and `game` (scratch) are modified in place.
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
