"""Self-play of a network: games, the errors that they give for the weights, and values to show.

A game depends on its number and on the weights at the start of its batch.  It returns whole numbers for each kind of
weight: uses, sum of errors, and sum of absolute errors.

The sums of all moves are updated incrementally.  Weights do not change during a game, so a move changes only the parts
of the tuples through its cell: on 6x5x4 a quarter of them.  Where marks fall, the sums of the few legal moves are
computed from scratch instead.
"""

from typing import Any, NamedTuple

import numpy as np

from ttt_batch.compiler.bits import NONE, ONE, all_cells, lowest_bit, nth_member, popcount, single
from ttt_batch.compiler.jit import (
    BoolArray,
    Float64Array,
    Int8Array,
    Int32Array,
    Int64,
    Int64Array,
    Integer,
    Uint32Array,
    inlined,
    kernel,
)
from ttt_batch.compiler.numerics import GOLDEN, S32, below, draw, game_base, mix, unit
from ttt_batch.games.bitboards import Lines, LineView, open_among, view_of
from ttt_batch.games.board import DRAW, FIRST_WINS, Position, cells_in
from ttt_batch.ntuple.network import (
    BY_SUM,
    DRAWS,
    UNIT,
    WINS,
    NetAgent,
    Network,
    best_network_moves,
    best_scores,
    by_rules,
    clear_index,
    has_own_kinds,
    put_mark,
    total_after,
    total_of,
)
from ttt_batch.ntuple.objectives import BOTH, NOBODY, NOTHING, PLAYED


class Aim(NamedTuple):
    """Objective of a network, and how its games are played.

    seat: 0 or 1, safety or the goal of that seat; BOTH, the results of its games.
    safe: worth for a safe player that its opponent can fill no more line, on the empty board; less with every mark.
    discount: of a result, per ply.  trace: lambda, [0, 1].
    teaching: target of the position before an exploratory move: the worth of its `BEST` move, `NOTHING`, or what was
    `PLAYED`.
    epsilon: probability of an exploratory move.  share: of games that begin with moves of a lost game.
    filler: 0 or 1 if all that counts is whether this player fills a line; else NOBODY.
    unfilled: worth to the first player of a game in which `filler` fills none, -1 or 1; else 0, that of a draw.
    """

    seat: int
    safe: float
    discount: float
    trace: float
    teaching: int
    epsilon: float
    share: float
    filler: int = NOBODY
    unfilled: float = 0.0


class Net(NamedTuple):
    """One network that learns.

    lines: of its board.  network: its shape.  aim: its objective.  weights: int32[P, W].
    coherence: int64[P K, 2], see `learning.fold_errors`.  key: uint64, of its random numbers.
    """

    lines: Lines
    network: Network
    aim: Aim
    weights: Int32Array
    coherence: Int64Array
    key: np.uint64


class Scores(NamedTuple):
    """Sums of a position and changes by its moves, from each player's table; updated only when needed.

    total: int64[P], of the position.  score: int64[P, cells], what a mark of the player on a free cell adds to it.
    seen: uint32[P, N], the index of each tuple when it was last read.  here: int32[P, N], its weight then.
    there: int32[P, E], its weight after a move to each of its cells, or `here` if the cell is taken.
    """

    total: Int64Array
    score: Int64Array
    seen: Uint32Array
    here: Int32Array
    there: Int32Array


def make_scores(network: Network) -> Scores:
    """Return empty scores."""
    tuples, entries, cells = network.offset.size, network.cell.size, network.start.size - 1
    return Scores(
        np.zeros(2, np.int64),
        np.zeros((2, cells), np.int64),
        np.zeros((2, tuples), np.uint32),
        np.zeros((2, tuples), np.int32),
        np.zeros((2, entries), np.int32),
    )


@inlined
def copy_scores(source: Scores, target: Scores) -> None:
    """Make `target` the same as `source`, in place."""
    for table in range(2):
        target.total[table] = source.total[table]
        for cell in range(source.score.shape[1]):
            target.score[table, cell] = source.score[table, cell]
        for number in range(source.seen.shape[1]):
            target.seen[table, number] = source.seen[table, number]
            target.here[table, number] = source.here[table, number]
        for entry in range(source.there.shape[1]):
            target.there[table, entry] = source.there[table, entry]


@inlined
def see_tuple(net: Net, index: Uint32Array, scores: Scores, table: Int64, free: np.uint64, number: Integer) -> None:
    """Update one tuple's part in the scores by a player's table, in place.

    index: uint32[N], of the position; free: uint64, its free cells.
    """
    network, weights, place = net.network, net.weights, np.uint64(index[number])
    here = np.int64(weights[table, place])
    change = here - np.int64(scores.here[table, number])
    for entry in range(np.uint64(network.place[number]), np.uint64(network.place[number + np.uint64(1)])):
        cell = np.uint64(network.cell[entry])
        there = np.int64(weights[table, place + (free >> cell & ONE) * np.uint64(network.digit[table, entry])])
        scores.score[table, cell] += there - np.int64(scores.there[table, entry]) - change
        scores.there[table, entry] = np.int32(there)
    scores.total[table] += change
    scores.here[table, number] = np.int32(here)
    scores.seen[table, number] = index[number]


@inlined
def see_cell(net: Net, index: Uint32Array, scores: Scores, table: Int64, free: np.uint64, cell: Int64) -> None:
    """Update the tuples through a cell, in place; parameters as for `see_tuple`."""
    network = net.network
    for entry in range(np.uint64(network.start[cell]), np.uint64(network.start[cell + 1])):
        number = np.uint64(network.through[entry])
        if scores.seen[table, number] != index[number]:
            see_tuple(net, index, scores, table, free, number)


@inlined
def see_empty(net: Net, index: Uint32Array, scores: Scores) -> None:
    """Compute the scores of the empty board by both tables from scratch, in place; parameters as for `see_tuple`.

    Where marks fall nothing is updated incrementally, so nothing is done.
    """
    if net.network.fall != 0:
        return
    free = all_cells(net.lines.cells)
    scores.total[:] = 0
    scores.score[:] = 0
    scores.here[:] = 0
    scores.there[:] = 0
    for table in range(2):
        for number in range(np.uint64(index.shape[0])):
            see_tuple(net, index, scores, table, free, number)


@inlined
def see_fallen(net: Net, index: Uint32Array, scores: Scores, table: Int64, free: np.uint64) -> None:
    """Compute the sum of a position and the scores of its few legal moves, in place; parameters as for `see_tuple`.

    With at most a move for each column this takes fewer reads than to update the scores of all cells.
    """
    network, weights, total = net.network, net.weights, np.int64(0)
    for number in range(np.uint64(index.shape[0])):
        weight = weights[table, np.uint64(index[number])]
        scores.here[table, number] = weight
        total += np.int64(weight)
    scores.total[table] = total
    legal = free & ~(free >> np.uint64(network.fall))
    while legal != NONE:
        cell = np.uint64(lowest_bit(legal))
        legal &= legal - ONE
        change: Any = np.int64(0)
        for entry in range(np.uint64(network.start[cell]), np.uint64(network.start[cell + ONE])):
            place = np.uint64(network.through[entry])
            after = np.uint64(index[place] + network.power[table, entry])
            change += np.int64(weights[table, after]) - np.int64(scores.here[table, place])
        scores.score[table, cell] = change


START, START_LINE, START_PLIES = 100, 101, 102
"""Indices of a game's random numbers that decide how it begins; number p decides the move of ply p."""


class KindSpans(NamedTuple):
    """The kinds of weights that a game used, each from one ply to another.

    A move changes only the tuples through its cell, and marks stay, so a tuple uses each of its weights only once.

    kind: uint32[N], of each tuple in the position.  since: uint32[N], the ply from which on.
    ended: uint32[N + E, 3], kinds no longer used, with their first and last plies.  n_ended: int64[1], their number.
    """

    kind: Uint32Array
    since: Uint32Array
    ended: Uint32Array
    n_ended: Int64Array


class GameWorkspace(NamedTuple):
    """Scratch for one game.

    index: uint32[N], the index of each tuple's weight.  scores, empty: of the position, and of the empty board.
    moves: int8[cells].
    spans: the weights that the game used.
    value: float64[cells + 1], of the position after each ply.  target: its target, from the next position.
    explored: bool[cells + 1], whether the next move was exploratory.
    totals: int64[cells + 3, 3], see `add_game`.
    """

    index: Any
    scores: Scores
    empty: Scores
    moves: Int8Array
    spans: KindSpans
    value: Float64Array
    target: Float64Array
    explored: BoolArray
    totals: Int64Array


class Errors(NamedTuple):
    """Errors of a batch, summed by one thread.

    A batch uses few of all weights.  Their sums lie together, so that they stay in a cache; a hash table finds them.

    sums: int64[M, 8], a row for each kind of weight that was used: the kind, then for each mover's table uses, sum of
    errors and sum of absolute errors; the rest is 0.  n_used: int64[1], the number of rows.
    slots: uint32[2**n], the hash table, with numbers of rows plus 1, or 0.  place: uint32[M], the slot of each row.
    outcomes: int64[4], games by outcome.
    """

    sums: Int64Array
    n_used: Int64Array
    slots: Uint32Array
    place: Uint32Array
    outcomes: Int64Array


@inlined
def clear_errors(errors: Errors) -> None:
    """Forget all sums, in place."""
    for number in range(np.uint64(errors.n_used[0])):
        errors.slots[np.uint64(errors.place[number])] = 0
    errors.n_used[0] = 0


@inlined
def slot_of(errors: Errors, kind: np.uint64) -> np.uint64:
    """Return the slot of a kind of weight: the one that holds its row, or else the free one for it."""
    last = np.uint64(errors.slots.shape[0] - 1)
    slot = (kind * GOLDEN >> S32) & last
    while errors.slots[slot] != 0 and np.uint64(errors.sums[np.uint64(errors.slots[slot]) - ONE, 0]) != kind:
        slot = (slot + ONE) & last
    return slot


@inlined
def squash(total: Int64) -> float:
    """Return a sum as a value in [-1, 1], by a quotient close to tanh.

    The last bits of tanh itself differ between platforms.
    With x / (1 + |x|), which is flat far from 0, 6x5x4 took three times as many games or was not proved.
    """
    x = max(-3.0, min(3.0, np.float64(total) / UNIT))
    return x * (27.0 + x * x) / (27.0 + 9.0 * x * x)


@inlined
def is_decided(net: Net, view: LineView, mover: Int64) -> bool:
    """Return whether no line can be filled any more; with one seat or a filler, no line that counts for it."""
    aim = net.aim
    if aim.filler != NOBODY:
        return not (view.own_open if aim.filler == mover else view.other_open)
    if aim.seat == BOTH:
        return not view.own_open and not view.other_open
    return not (view.own_open if (aim.seat == mover) == (net.lines.misere != 0) else view.other_open)


@inlined
def decided_worth(net: Net, ply: Int64) -> float:
    """Return the worth to the first player of a position with `is_decided` after `ply` moves."""
    aim = net.aim
    if aim.filler != NOBODY:
        return aim.unfilled
    bonus = aim.safe * (1.0 - ply / net.lines.cells)
    return 0.0 if aim.seat == BOTH else bonus if aim.seat == 0 else -bonus


@inlined
def end_span(spans: KindSpans, number: Integer, last: Int64, place: np.uint64) -> None:
    """Write the span of tuple `number`, which ends at ply `last`, to a row of `spans.ended`, in place."""
    row = spans.ended[place]
    row[0], row[1], row[2] = spans.kind[number], spans.since[number], last


@inlined
def play_move(network: Network, game: GameWorkspace, ply: Int64, cell: Int64) -> None:
    """Make the move to `cell` after `ply` others, in place."""
    game.moves[ply] = cell
    own_kinds, spans = has_own_kinds(network), game.spans
    n = np.uint64(spans.n_ended[0])
    for entry in range(np.uint64(network.start[cell]), np.uint64(network.start[cell + 1])):
        number = np.uint64(network.through[entry])
        end_span(spans, number, ply, n)
        n += ONE
        index = np.uint64(game.index[number] + network.power[ply & 1, entry])
        game.index[number] = index
        spans.kind[number], spans.since[number] = np.uint32(index) if own_kinds else network.kind[index], ply + 1
    spans.n_ended[0] = n


@inlined
def clear_game(network: Network, game: GameWorkspace) -> None:
    """Set the indices and the spans to those of the empty board, in place."""
    clear_index(network, game.index)
    game.spans.n_ended[0] = 0
    for number in range(np.uint64(game.index.shape[0])):
        game.spans.kind[number], game.spans.since[number] = network.kind[network.offset[number]], 0


@inlined
def begin_game(net: Net, game: GameWorkspace, starts: Int8Array, base: np.uint64) -> tuple[np.uint64, np.uint64, Int64]:
    """Set up how a game begins: (first player's marks, second player's, plies).

    starts: int8[lost games, cells], -1 after the end of each.
    """
    clear_game(net.network, game)
    if net.network.fall == 0:
        copy_scores(game.empty, game.scores)
    marks, other, ply = NONE, NONE, 0
    if starts.shape[0] != 0 and unit(draw(base, START)) < net.aim.share:
        line = below(draw(base, START_LINE), starts.shape[0])
        length = 0
        while length < starts.shape[1] and starts[line, length] >= 0:
            length += 1
        plies = below(draw(base, START_PLIES), max(1, length - 1))
        while ply < plies:
            cell = np.int64(starts[line, ply])
            play_move(net.network, game, ply, cell)
            if ply & 1:
                other |= single(cell)
            else:
                marks |= single(cell)
            ply += 1
    game.spans.n_ended[0] = 0
    return marks, other, ply


@inlined
def see_moves(net: Net, game: GameWorkspace, table: Int64, free: np.uint64, first: Int64, last: Int64) -> None:
    """Update the scores of a player's moves after the game's moves `first` to `last` - 1, in place."""
    if net.network.fall != 0:
        see_fallen(net, game.index, game.scores, table, free)
        return
    for ply in range(first, last):
        see_cell(net, game.index, game.scores, table, free, np.int64(game.moves[ply]))


@inlined
def judge_moves(
    net: Net, game: GameWorkspace, ply: Int64, free: np.uint64, view: LineView
) -> tuple[np.uint64, Int64, Int64, float]:
    """Return the best moves after `ply` others (bits), one of `WINS` to `BY_SUM`, the position's sum, and their worth.

    The sum is computed only for `BY_SUM`; the worth is that to the first player.
    """
    mover = ply & 1
    sign = 1 - 2 * mover
    cells, kind = by_rules(net.lines, free, view)
    worth: Any = net.aim.unfilled if kind == DRAWS else sign if kind == WINS else -sign
    score, total = game.scores.score[mover], np.int64(0)
    if kind == BY_SUM:
        see_moves(net, game, mover, free, max(ply - 2, 0), ply)
        total = game.scores.total[mover]
        cells = best_scores(score, cells, sign)
        worth = squash(total + score[lowest_bit(cells)])
    return cells, kind, total, worth


@inlined
def play_network_game(
    net: Net, starts: Int8Array, base: np.uint64, game: GameWorkspace, outcomes: Int64Array
) -> tuple[Int64, Int64]:
    """Play a game, stored in `game`; return (first ply, last ply) of the positions to learn from.

    outcomes: int64[4], in which the result is counted.
    """
    lines, aim, everywhere = net.lines, net.aim, all_cells(net.lines.cells)
    first, second, ply = begin_game(net, game, starts, base)
    begun = ply
    if ply > 0:
        for table in range(2):
            see_moves(net, game, table, everywhere & ~(first | second), 0, ply)
        game.value[ply] = squash(game.scores.total[(ply - 1) & 1])
    while True:
        mover = ply & 1
        own, other = (second, first) if mover else (first, second)
        free = everywhere & ~(first | second)
        view = view_of(lines, own, other)
        game.explored[ply] = False
        if ply > 0 and is_decided(net, view, mover):
            game.target[ply] = decided_worth(net, ply)
            outcomes[DRAW] += 1
            return begun, ply
        cells, kind, total, worth = judge_moves(net, game, ply, free, view)
        game.target[ply] = aim.discount * worth
        if kind == WINS:
            outcomes[FIRST_WINS + mover] += 1
            return begun, ply
        bits = draw(base, ply)
        if unit(bits) < aim.epsilon:
            game.explored[ply], cells = True, open_among(lines, free)
        cell = nth_member(cells, below(mix(bits), popcount(cells)))
        if view.own & single(cell) != NONE:
            outcomes[FIRST_WINS + 1 - mover] += 1
            return begun, ply
        if kind == DRAWS:
            outcomes[DRAW] += 1
            return begun, ply
        play_move(net.network, game, ply, cell)
        if mover:
            second |= single(cell)
        else:
            first |= single(cell)
        ply += 1
        game.value[ply] = squash(total + game.scores.score[mover, cell])


@inlined
def end_spans(spans: KindSpans, last: Int64) -> None:
    """End the spans of all tuples at ply `last`, in place."""
    n = np.uint64(spans.n_ended[0])
    for number in range(np.uint64(spans.kind.shape[0])):
        end_span(spans, number, last, n)
        n += ONE
    spans.n_ended[0] = n


@inlined
def add_errors(totals: Int64Array, spans: KindSpans, errors: Errors) -> None:
    """Add the errors of a game to the sums of the weights that it used, in place.

    totals: see `add_game`.  spans: all of them ended.
    """
    sums, n_used = errors.sums, np.uint64(errors.n_used[0])
    for span in range(np.uint64(spans.n_ended[0])):
        kind, begin, end = np.uint64(spans.ended[span, 0]), spans.ended[span, 1], spans.ended[span, 2]
        slot = slot_of(errors, kind)
        number = np.uint64(errors.slots[slot]) - ONE
        if errors.slots[slot] == 0:
            number = n_used
            n_used += ONE
            errors.slots[slot], errors.place[number] = n_used, slot
            sums[number] = 0
            sums[number, 0] = kind
        for table in range(2):
            # The last plies of this table's player up to the end, and before the beginning.
            after = np.uint64(np.int64(end) + 2 - ((np.int64(end) + 1 + table) & 1))
            before = np.uint64(np.int64(begin) + 1 - ((np.int64(begin) + table) & 1))
            sums[number, 1 + 3 * table] += totals[after, 0] - totals[before, 0]
            sums[number, 2 + 3 * table] += totals[after, 1] - totals[before, 1]
            sums[number, 3 + 3 * table] += totals[after, 2] - totals[before, 2]
    errors.n_used[0] = n_used


@inlined
def add_game(aim: Aim, game: GameWorkspace, first: Int64, last: Int64, errors: Errors) -> None:
    """Add the errors of the positions after plies `first` to `last` of a game, in place; the empty board has none.

    Their returns end at `last`.  Row p + 2 of `game.totals` sums uses, errors and absolute errors after plies p, p - 2
    and so on: those of a weight in the table of one player that is used in the whole game up to ply p.
    """
    totals, worth = game.totals, game.target[last]
    totals[:] = 0
    for ply in range(last, max(first, 1) - 1, -1):
        if ply < last:
            target, follows = game.target[ply], not game.explored[ply]
            if aim.teaching == PLAYED and game.explored[ply]:
                target, follows = aim.discount * game.value[ply + 1], True
            worth = target + aim.trace * (aim.discount * worth - target) if follows else target
        if aim.teaching == NOTHING and game.explored[ply]:
            continue
        error = np.int64(np.rint((worth - game.value[ply]) * UNIT))
        totals[ply + 2, 0], totals[ply + 2, 1], totals[ply + 2, 2] = 1, error, abs(error)
    for row in range(2, last + 3):
        for what in range(3):
            totals[row, what] += totals[row - 2, what]
    begun = game.spans.n_ended[0]
    end_spans(game.spans, last)
    add_errors(totals, game.spans, errors)
    game.spans.n_ended[0] = begun  # a given game may continue


@kernel
def play_network_games(
    net: Net, starts: Int8Array, games: tuple[Int64, Int64], game: GameWorkspace, errors: Errors
) -> None:
    """Play games `games[0]` to `games[1] - 1` with the same weights; set `errors` to their errors."""
    clear_errors(errors)
    clear_index(net.network, game.index)
    see_empty(net, game.index, game.empty)
    for number in range(games[0], games[1]):
        base = game_base(net.key, number)
        first, last = play_network_game(net, starts, base, game, errors.outcomes)
        add_game(net.aim, game, first, last, errors)


class NetworkView(NamedTuple):
    """best: the cells that may be picked.  values: of each legal move for the player to move, [-1, 1]."""

    best: list[int]
    values: dict[int, float]


@kernel
def _read(lines: Lines, agent: NetAgent, marks: Any, values: Any) -> Any:
    """Return the best moves (uint64) in a position; write values of legal moves (float64[cells]) in place.

    marks: int64[cells], 0 an empty cell, 1 and 2 the players' marks.
    """
    clear_index(agent.network, agent.index)
    first, second, free, plies = NONE, NONE, NONE, 0
    for cell in range(lines.cells):
        if marks[cell] == 0:
            free |= single(cell)
            continue
        put_mark(agent, cell, marks[cell] - 1, 1)
        plies += 1
        if marks[cell] == 1:
            first |= single(cell)
        else:
            second |= single(cell)
    mover = plies & 1
    own, other = (second, first) if mover else (first, second)
    view = view_of(lines, own, other)
    best = best_network_moves(lines, agent, mover, free, view)
    total = total_of(agent, mover)
    rest = open_among(lines, free)
    while rest != NONE:
        cell = lowest_bit(rest)
        rest &= ~single(cell)
        if view.own & single(cell) != NONE:
            values[cell] = -1.0 if lines.misere else 1.0
        elif plies + 1 == lines.cells:
            values[cell] = 0.0
        else:
            values[cell] = (1 - 2 * mover) * squash(total_after(agent, mover, total, cell))
    return best


def network_view(lines: Lines, agent: NetAgent, position: Position) -> NetworkView:
    """Return a network's view of an unfinished position.  agent: its scratch is modified."""
    values = np.full(lines.cells, np.nan)
    best = int(_read(lines, agent, np.array(position, np.int64), values))
    legal = np.flatnonzero(~np.isnan(values)).tolist()
    return NetworkView(cells_in(best), {cell: float(values[cell]) for cell in legal})
