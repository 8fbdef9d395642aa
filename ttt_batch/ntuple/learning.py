"""Learning of networks from batches of games: update of the weights, games to start from, given games.

Temporal coherence (Beal and Smith, "Temporal difference learning for heuristic search and game playing", Information
Sciences 122, 2000; Jaśkowski, "Mastering 2048 with delayed temporal coherence learning", IEEE Transactions on Games 10,
2018): a weight's step size is multiplied by |sum of its errors| / sum of their absolute values.

Given games are learnt one after the other, each as a batch.  A move counts as the network's own choice unless it is
marked as exploratory.  With the teaching `BEST` it must also be one of the network's best moves.

Self-play takes every win in one.  A given game that misses one is split there: its first part teaches the win, and the
rest is learnt like a game that begins after it.
"""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import numpy as np

from ttt_batch.compiler.bits import NONE, ONE, all_cells, single
from ttt_batch.compiler.intrinsics import prefetch_word
from ttt_batch.compiler.jit import (
    BoolArray,
    Int8Array,
    Int32Array,
    Int64,
    Int64Array,
    Integer,
    Uint32Array,
    inlined,
    kernel,
)
from ttt_batch.compiler.numerics import PATTERNS, stream_key
from ttt_batch.games.bitboards import Lines, view_of
from ttt_batch.games.board import DRAW, FIRST_WINS
from ttt_batch.games.transcripts import Games
from ttt_batch.ntuple.games import (
    Aim,
    Errors,
    GameWorkspace,
    KindSpans,
    Net,
    add_game,
    clear_errors,
    clear_game,
    copy_scores,
    decided_worth,
    is_decided,
    judge_moves,
    make_scores,
    play_move,
    play_network_games,
    see_empty,
    see_moves,
    slot_of,
    squash,
)
from ttt_batch.ntuple.network import WINS, Network, has_own_kinds
from ttt_batch.ntuple.objectives import BEST

LARGEST = 1 << 30
"""Weights end here; their sums stay far below 2**63."""

SPAN = np.uint64(3)
"""Neighbouring kinds that one thread folds, 2**3: threads seldom write to the same cache line."""


AHEAD = 16
"""Number of kinds by which coherence and weights are fetched ahead: they are scattered in memory."""


@inlined
def errors_of(errors: Errors, thread: Int64) -> Errors:
    """Return the errors of one thread, without the first axis."""
    return Errors(
        errors.sums[thread], errors.n_used[thread], errors.slots[thread], errors.place[thread], errors.outcomes[thread]
    )


@inlined
def fetch_kind(net: Net, sums: Int64Array, number: Integer) -> None:
    """Prefetch, in three stages, what `fold_errors` reads for the kinds after index `number` of `sums`."""
    network, last = net.network, np.uint64(sums.shape[0] - 1)
    kind = np.uint64(sums[min(number + np.uint64(AHEAD), last), 0])
    prefetch_word(net.coherence, kind * np.uint64(4))
    if has_own_kinds(network):
        prefetch_word(net.weights, kind)
        prefetch_word(net.weights, np.uint64(net.weights.shape[1]) + kind)
        return
    prefetch_word(network.kind_start, kind)
    kind = np.uint64(sums[min(number + np.uint64(AHEAD // 2), last), 0])
    prefetch_word(network.members, np.uint64(network.kind_start[kind]))
    kind = np.uint64(sums[min(number + np.uint64(AHEAD // 4), last), 0])
    weight = np.uint64(network.members[network.kind_start[kind]])
    prefetch_word(net.weights, weight)
    prefetch_word(net.weights, np.uint64(net.weights.shape[1]) + weight)


@kernel
def fold_errors(net: Net, step: float, errors: Errors, part: tuple[Int64, Int64]) -> None:
    """Change the weights of `net` and its coherence (sums of errors, and of absolute ones) in place.

    step: the step size, for each tuple.  errors: of all threads on a first axis; they are changed.
    part: (number, count) of the folding threads; each takes other kinds.
    """
    network, weights, coherence = net.network, net.weights, net.coherence
    threads, mine, parts = np.uint64(errors.sums.shape[0]), np.uint64(part[0]), np.uint64(part[1])
    own_kinds = has_own_kinds(network)
    for thread in range(threads):
        sums = errors.sums[thread]
        for number in range(np.uint64(errors.n_used[thread, 0])):
            fetch_kind(net, sums, number)
            kind = np.uint64(sums[number, 0])
            if parts > ONE and (kind >> SPAN) % parts != mine:
                continue
            for other in range(thread + ONE, threads):
                slot = slot_of(errors_of(errors, other), kind)
                if errors.slots[other, slot] != 0:
                    theirs = errors.sums[other, np.uint64(errors.slots[other, slot]) - ONE]
                    for what in range(1, 7):
                        sums[number, what] += theirs[what]
                        theirs[what] = 0
            for table in range(2):
                column = 3 * table + 1
                uses, error, absolute = sums[number, column], sums[number, column + 1], sums[number, column + 2]
                if absolute == 0:
                    continue
                entry = kind << ONE | np.uint64(table)
                coherence[entry, 0] += error
                coherence[entry, 1] += absolute
                rate = step * abs(np.float64(coherence[entry, 0])) / np.float64(coherence[entry, 1])
                change = np.int64(np.rint(rate * np.float64(error) / np.float64(uses)))
                if own_kinds:
                    weight: Any = weights[table, kind] + change
                    weights[table, kind] = max(-LARGEST, min(LARGEST, weight))
                    continue
                first, last = np.uint64(network.kind_start[kind]), np.uint64(network.kind_start[kind + ONE])
                weight = weights[table, network.members[first]] + change
                weight = max(-LARGEST, min(LARGEST, weight))
                for member in range(first, last):
                    weights[table, network.members[member]] = weight


WORTH_SHARING = 128
"""Games of a batch from which on threads share it: it takes a millisecond or more, and handing it over 0.1 ms."""

OUTCOMES = 4


@kernel
def follow_weights(network: Network, weights: Int32Array, average: Int32Array, share: int) -> None:
    """Move `average` (int32[K]) towards the weights of one player (int32[W]) by 1/`share` of the difference."""
    for kind in range(average.shape[0]):
        weight = np.int64(weights[network.members[network.kind_start[kind]]])
        average[kind] += (weight - average[kind]) // share


class NetworkWorkspace(NamedTuple):
    """Workspace of several threads.  game: one for each thread.  errors: of all threads, on a first axis."""

    game: list[GameWorkspace]
    errors: Errors


def make_net(lines: Lines, network: Network, aim: Aim, seed: int) -> Net:
    """Return a network whose weights are all 0."""
    kinds = network.kind_start.size - 1
    weights, coherence = np.zeros((2, network.kind.size), np.int32), np.zeros((2 * kinds, 2), np.int64)
    return Net(lines, network, aim, weights, coherence, stream_key(seed, PATTERNS[aim.seat]))


def make_game(lines: Lines, network: Network) -> GameWorkspace:
    """Return scratch for one thread."""
    cells, tuples = lines.cells, network.offset.size
    value, target = np.zeros((2, cells + 1))
    spans = KindSpans(
        np.zeros(tuples, np.uint32),
        np.zeros(tuples, np.uint32),
        np.zeros((network.through.size + tuples, 3), np.uint32),
        np.zeros(1, np.int64),
    )
    return GameWorkspace(
        network.offset.copy(),
        make_scores(network),
        make_scores(network),
        np.zeros(cells, np.int8),
        spans,
        value,
        target,
        np.zeros(cells + 1, np.bool_),
        np.zeros((cells + 3, 3), np.int64),
    )


def make_errors(network: Network, threads: int, games: int) -> Errors:
    """Return empty sums for some threads, on a first axis.  games: the most that a thread plays of a batch."""
    kinds = min(network.kind_start.size - 1, games * (network.through.size + network.offset.size))
    return Errors(
        np.zeros((threads, kinds, 8), np.int64),
        np.zeros((threads, 1), np.int64),
        np.zeros((threads, 1 << (2 * kinds - 1).bit_length()), np.uint32),
        np.zeros((threads, kinds), np.uint32),
        np.zeros((threads, OUTCOMES), np.int64),
    )


def make_space(lines: Lines, network: Network, threads: int, batch: int) -> NetworkWorkspace:
    """Return a workspace for `threads` threads and batches of `batch` games."""
    games = [make_game(lines, network) for _ in range(threads)]
    return NetworkWorkspace(games, make_errors(network, threads, -(-batch // threads)))


@kernel
def learn_batches(
    net: Net,
    starts: Int8Array,
    step: float,
    games: tuple[Int64, Int64],
    batch: Int64,
    game: GameWorkspace,
    errors: Errors,
) -> None:
    """Learn from games `games[0]` to `games[1] - 1` in batches on one thread; `net` changes in place."""
    first = games[0]
    own = errors_of(errors, 0)
    while first < games[1]:
        last = min(games[1], first + batch)
        play_network_games(net, starts, (first, last), game, own)
        fold_errors(net, step, errors, (0, 1))
        first = last


def learn_shared(
    net: Net, starts: Any, step: float, games: range, space: NetworkWorkspace, pool: ThreadPoolExecutor
) -> None:
    """Learn as `learn_batches` does, but with all threads on each batch.  games: a batch at each step."""
    threads, errors = len(space.game), space.errors

    def play(thread: int, bounds: Sequence[int]) -> None:
        span, own = (bounds[thread], bounds[thread + 1]), Errors(*(array[thread] for array in errors))
        play_network_games(net, starts, span, space.game[thread], own)

    for first in games:
        last = min(games.stop, first + games.step)
        bounds = [first + (last - first) * thread // threads for thread in range(threads + 1)]
        list(pool.map(lambda thread, bounds=bounds: play(thread, bounds), range(threads)))
        list(pool.map(lambda thread: fold_errors(net, step, errors, (thread, threads)), range(threads)))


@inlined
def replay_game(
    net: Net, moves: Int8Array | Uint32Array, exploring: BoolArray, game: GameWorkspace, errors: Errors
) -> None:
    """Replay a whole game; set `errors` to its errors.

    moves: int8[plies], cells.  exploring: bool[plies], moves marked as exploratory.
    """
    lines, aim = net.lines, net.aim
    clear_errors(errors)
    clear_game(net.network, game)
    see_empty(net, game.index, game.empty)
    copy_scores(game.empty, game.scores)
    everywhere, last, begun = all_cells(lines.cells), moves.shape[0] - 1, 0
    first, second = NONE, NONE
    for ply in range(last + 1):
        mover = ply & 1
        own, other = (second, first) if mover else (first, second)
        free = everywhere & ~(first | second)
        view = view_of(lines, own, other)
        game.explored[ply] = False
        if ply > 0 and is_decided(net, view, mover):
            game.target[ply] = decided_worth(net, ply)
            add_game(aim, game, begun, ply, errors)
            return
        cells, kind, total, worth = judge_moves(net, game, ply, free, view)
        game.target[ply] = aim.discount * worth
        cell = np.int64(moves[ply])
        best = cells & single(cell) != NONE
        game.explored[ply] = kind != WINS and (exploring[ply] != 0 or (aim.teaching == BEST and not best))
        played = kind != WINS and not best and not game.explored[ply]
        if played and ply == last:  # it has made a line by which it loses
            game.target[ply] = aim.discount * (2.0 * mover - 1.0)
        if kind == WINS or ply == last:
            add_game(aim, game, begun, ply, errors)
            if ply == last:
                return
            begun = ply + 1
            see_moves(net, game, mover, free, max(ply - 2, 0), ply)
            total = game.scores.total[mover]
        play_move(net.network, game, ply, cell)
        first, second = (first, second | single(cell)) if mover else (first | single(cell), second)
        game.value[ply + 1] = squash(total + game.scores.score[mover, cell])
        if played:
            game.target[ply] = aim.discount * game.value[ply + 1]


@inlined
def game_result(lines: Lines, moves: Int8Array | Uint32Array) -> Int64:
    """Return the outcome of a whole game, as that of a position."""
    marks, other = NONE, NONE  # of the player to move, and of the other one
    for ply in range(moves.shape[0] - 1):
        marks, other = other, marks | single(np.int64(moves[ply]))
    mover = (moves.shape[0] - 1) & 1
    if view_of(lines, marks, other).own & single(np.int64(moves[moves.shape[0] - 1])) == NONE:
        return DRAW
    return FIRST_WINS + (1 - mover if lines.misere else mover)


@kernel
def learn_network_games(net: Net, step: float, games: Games, game: GameWorkspace, errors: Errors) -> None:
    """Learn from whole games, each a batch of its own; `net` (a `Net`) changes in place, and `errors` counts results.

    games: with cells as moves.  errors: of one thread, with a first axis of length 1.
    """
    own = errors_of(errors, 0)
    for number in range(games.start.shape[0] - 1):
        begin, end = games.start[number], games.start[number + 1]
        moves = games.move[begin:end]
        replay_game(net, moves, games.exploring[begin:end], game, own)
        fold_errors(net, step, errors, (0, 1))
        own.outcomes[game_result(net.lines, moves)] += 1
