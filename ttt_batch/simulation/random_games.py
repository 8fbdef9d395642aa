"""Games of uniformly random legal moves in bulk, without learning: a block of games at a time.

A game played until the board is full is a random order of the cells.  The first completed line decides it; later marks
do not count.  So each cell draws its ply among the free ones, instead of each ply its cell.  The orders are as
uniform, without a search for the n-th empty cell.  A game is one byte per cell, its *rank*.  On a board of n cells the
second player has h = n // 2 plies.  These get the lower ranks, the first player's plies the upper ranks:

    rank h .. n - 1:  plies 2 * (n - 1 - rank), the first player's;    rank 0 .. h - 1:  plies 2 * rank + 1.

A line belongs to the first player if its *lowest* rank is at least h; it is complete at that rank's ply.  Let A be the
maximum over all lines of their lowest rank, and B the minimum of their highest rank.  The first player has won if
A >= h and A + B >= n - 1 (then any line of the second player came later), the second player if B < h and
A + B < n - 1, and neither if A < h <= B.  So a game takes additions, minima and maxima of bytes.  The loops over
the games of a block compile to the processor's widest vectors: a game of 3x3 takes 1.0 to 1.2 ns of one core with
AVX-512.

Other rules need the marks on the board: whether a longer line counts, and where a mark falls.  There games are played
move by move.
"""

import math
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ttt_batch.compiler.bits import NONE, nth_member, popcount, single
from ttt_batch.compiler.jit import Int64, Int64Array, Uint8Array, Uint16Array, Uint32Array, kernel, vectorized
from ttt_batch.compiler.numerics import GOLDEN, RANDOM_PLAY, S32, below, draw, game_base, mix, stream_key
from ttt_batch.core.errors import UsageError
from ttt_batch.core.resources import startable_threads
from ttt_batch.games.bitboards import Lines, Places, completes, make_lines, make_places, open_cells
from ttt_batch.games.board import Board
from ttt_batch.games.enumeration import check_table_cells

MAX_PRODUCT = 1024
"""Largest number of outcomes that are drawn with one 32-bit fraction; see `radices`."""

AT_ONCE = 1536
"""Games of a block: 26 KB of state on 3x3, inside the first cache; 9 % faster than 1,024, 36 % than 512, as 2,048."""

BLOCKS_PER_SUM = 255
"""Blocks whose wins a byte can count."""

LOW = np.uint64(0xFFFFFFFF)
S16 = np.uint32(16)
NOTHING, EVERYTHING = np.uint8(0), np.uint8(255)


class RandomRules(NamedTuple):
    """A board of n cells, for the kernel.

    line: int64[L, k], cells of every line.
    radix: uint16[n], plies that are still free when a cell draws: n, n - 1, ..., 1.
    reciprocal: uint16[n], ceil(2**16 / radix); that of radix 1 is never used.
    product: uint32[F], the product of the radices that share a 32-bit fraction; F is even.
    first_cell: int64[F + 1], the cells first_cell[f] to first_cell[f + 1] - 1 share fraction f.
    """

    line: Int64Array
    radix: Uint16Array
    reciprocal: Uint16Array
    product: Uint32Array
    first_cell: Int64Array


class RandomBlock(NamedTuple):
    """Scratch for the B games of a block.

    index: uint16[F, B], what is left of each fraction's number below its product.
    rank: uint8[n, B], first the cells' draws, then their ranks.
    low, high: uint8[B], lowest and highest rank of one line.
    first, second: uint8[B], A and B of the module's docstring.
    first_wins, second_wins: uint8[B], wins since they were last summed.
    """

    index: Any
    rank: Uint8Array
    low: Uint8Array
    high: Uint8Array
    first: Uint8Array
    second: Uint8Array
    first_wins: Uint8Array
    second_wins: Uint8Array


def radices(cells: int) -> list[list[int]]:
    """Split the radices n, n - 1, ..., 2 of the cells' draws into groups that share a 32-bit fraction.

    A group draws `fraction * m >> 32` below its product m: no probability is off by more than m / 2**34.
    On 3x3 (m = 504 and 720) the shares of wins and draws are within 6e-11 (checked in the tests).
    """
    groups: list[list[int]] = []
    product = MAX_PRODUCT + 1
    for radix in range(cells, 1, -1):
        if product * radix > MAX_PRODUCT:
            groups.append([])
            product = 1
        groups[-1].append(radix)
        product *= radix
    return groups


def make_random_rules(board: Board) -> RandomRules:
    """Return the arrays of a board, without its variants of the rules."""
    groups = radices(board.cells)
    if len(groups) % 2:
        groups.append([])
    radix = np.arange(board.cells, 0, -1)
    return RandomRules(
        line=np.array(board.lines, np.int64),
        radix=radix.astype(np.uint16),
        reciprocal=np.minimum(-(-(2**16) // radix), 2**16 - 1).astype(np.uint16),
        product=np.array([math.prod(group) for group in groups], np.uint32),
        first_cell=np.cumsum([0] + [len(group) for group in groups]).astype(np.int64),
    )


def make_random_block(rules: RandomRules, games: int = AT_ONCE) -> RandomBlock:
    """Return scratch for `games` games."""
    return RandomBlock(
        np.zeros((rules.product.size, games), np.uint16),
        np.zeros((rules.first_cell[-1] + 1, games), np.uint8),
        *(np.zeros(games, np.uint8) for _ in range(6)),
    )


# Each loop below does one thing to a few rows of bytes.  Every value is cast back to its width at once: Numba would
# widen it to 64 bits, and an instruction would hold 8 games instead of 64.  No row that a loop writes is also read
# under another name: if rows overlap, the compiled code falls back to one game at a time (5 times as slow).


@vectorized
def draw_indices(
    rules: RandomRules, key: np.uint64, start: Int64, games: Int64, pair: Int64, index: Uint16Array
) -> None:
    """Draw two rows of `index` from one 64-bit number per game: numbers below the products of their fractions."""
    stride = np.uint64(rules.product.shape[0] // 2) * GOLDEN
    base = key + np.uint64(start) * stride + np.uint64(pair) * GOLDEN
    upper, lower = np.uint64(rules.product[2 * pair]), np.uint64(rules.product[2 * pair + 1])
    upper_index, lower_index = index[2 * pair], index[2 * pair + 1]
    for g in range(games):
        bits = mix(base + np.uint64(g) * stride)
        upper_index[g] = np.uint16(((bits >> S32) * upper) >> S32)
        lower_index[g] = np.uint16(((bits & LOW) * lower) >> S32)


@vectorized
def split_off(radix: np.uint16, reciprocal: np.uint16, index: Uint16Array, drawn: Uint8Array, games: Int64) -> None:
    """Divide `index` by `radix`: the remainder is a cell's draw, the quotient is what is left for the next cells.

    A multiplication by ceil(2**16 / radix) divides exactly, since index * radix stays below 2**16.
    """
    for g in range(games):
        quotient = np.uint16((np.uint32(index[g]) * np.uint32(reciprocal)) >> S16)
        drawn[g] = np.uint8(index[g] - np.uint16(quotient * radix))
        index[g] = quotient


@vectorized
def skip_one(rank: Uint8Array, earlier: Uint8Array, games: Int64) -> None:
    """Turn a number among the plies that an earlier cell left free into one among those it found free."""
    for g in range(games):
        rank[g] = np.uint8(rank[g] + np.uint8(rank[g] >= earlier[g]))


@vectorized
def skip_two(rank: Uint8Array, later: Uint8Array, earlier: Uint8Array, games: Int64) -> None:
    """Do `skip_one` for two earlier cells, the later one first; random games run 1.38 times as fast."""
    for g in range(games):
        r = rank[g]
        r = np.uint8(r + np.uint8(r >= later[g]))
        rank[g] = np.uint8(r + np.uint8(r >= earlier[g]))


@vectorized
def fill(row: Uint8Array, value: np.uint8, games: Int64) -> None:
    """Set a row to one value."""
    for g in range(games):
        row[g] = value


@vectorized
def join(low: Uint8Array, high: Uint8Array, rank: Uint8Array, games: Int64) -> None:
    """Update a line's `low` and `high` by a cell."""
    for g in range(games):
        r = rank[g]
        low[g] = r if r < low[g] else low[g]
        high[g] = r if r > high[g] else high[g]


@vectorized
def close(low: Uint8Array, high: Uint8Array, first: Uint8Array, second: Uint8Array, games: Int64) -> None:
    """Update A and B by a line."""
    for g in range(games):
        first[g] = low[g] if low[g] > first[g] else first[g]
        second[g] = high[g] if high[g] < second[g] else second[g]


@vectorized
def close_three(
    a: Uint8Array, b: Uint8Array, c: Uint8Array, first: Uint8Array, second: Uint8Array, games: Int64
) -> None:
    """Update A and B by a line of three cells, without `low` and `high`."""
    for g in range(games):
        x, y, z = a[g], b[g], c[g]
        low = x if x < y else y
        low = low if low < z else z
        high = x if x > y else y
        high = high if high > z else z
        first[g] = low if low > first[g] else first[g]
        second[g] = high if high < second[g] else second[g]


@vectorized
def count_wins(cells: Int64, block: RandomBlock, games: Int64) -> None:
    """Add each game's win to the block's wins."""
    half, last = np.uint8(cells // 2), np.uint8(cells - 1)
    _, _, _, _, first, second, first_wins, second_wins = block
    for g in range(games):
        before = np.uint8(first[g] + second[g]) >= last
        first_wins[g] = np.uint8(first_wins[g] + np.uint8(before & (first[g] >= half)))
        second_wins[g] = np.uint8(second_wins[g] + np.uint8((not before) & (second[g] < half)))


@kernel
def play_random(
    rules: RandomRules, key: np.uint64, first_game: Int64, last_game: Int64, block: RandomBlock, wins: Int64Array
) -> None:
    """Play games `first_game` to `last_game - 1`; add the wins of the first and the second player to `wins`.

    key: uint64, `stream_key(seed, RANDOM_PLAY)`; game g draws numbers F / 2 * g and following of the sequence.
    block: scratch, changed; its wins are zeros before and after.
    wins: int64[2], changed in place.
    """
    cells, k = block.rank.shape[0], rules.line.shape[1]
    index, rank, low, high, first, second, _, _ = block
    size, unsummed = first.shape[0], 0
    for start in range(first_game, last_game, size):
        games = min(size, last_game - start)
        for pair in range(rules.product.shape[0] // 2):
            draw_indices(rules, key, start, games, pair, index)
        fill(rank[cells - 1], NOTHING, games)
        for fraction in range(rules.product.shape[0]):
            for cell in range(rules.first_cell[fraction], rules.first_cell[fraction + 1]):
                split_off(rules.radix[cell], rules.reciprocal[cell], index[fraction], rank[cell], games)
        # The last cell first: the rows of the cells before it must still hold what they drew.
        for cell in range(cells - 1, 0, -1):
            earlier = cell
            while earlier > 1:
                earlier -= 2
                skip_two(rank[cell], rank[earlier + 1], rank[earlier], games)
            if earlier == 1:
                skip_one(rank[cell], rank[0], games)
        fill(first, NOTHING, games)
        fill(second, EVERYTHING, games)
        for line in range(rules.line.shape[0]):
            if k == 3:
                a, b, c = rules.line[line, 0], rules.line[line, 1], rules.line[line, 2]
                close_three(rank[a], rank[b], rank[c], first, second, games)
            else:
                fill(low, EVERYTHING, games)
                fill(high, NOTHING, games)
                for i in range(k):
                    join(low, high, rank[rules.line[line, i]], games)
                close(low, high, first, second, games)
        count_wins(cells, block, games)
        unsummed += 1
        if unsummed == BLOCKS_PER_SUM or start + size >= last_game:
            unsummed = 0
            for g in range(size):
                wins[0] += np.int64(block.first_wins[g])
                wins[1] += np.int64(block.second_wins[g])
            fill(block.first_wins, NOTHING, size)
            fill(block.second_wins, NOTHING, size)


@kernel
def play_move_by_move(
    lines: Lines, places: Places, key: np.uint64, first_game: Int64, last_game: Int64, wins: Int64Array
) -> None:
    """Play games `first_game` to `last_game - 1`; add the lines of the first and the second player to `wins`.

    key: as for `play_random`; game g draws the random numbers of its own plies.  wins: int64[2], changed in place.
    """
    for number in range(first_game, last_game):
        base, own, other = game_base(key, number), NONE, NONE
        for ply in range(lines.cells):
            free = open_cells(lines, own | other)
            cell = nth_member(free, below(draw(base, ply), popcount(free)))
            own |= single(cell)
            if completes(places, cell, np.int64(own)):
                wins[ply & 1] += 1
                break
            own, other = other, own


def needs_marks(board: Board) -> bool:
    """Return whether the rules of a board need the marks on it, so that its games are played move by move."""
    return board.exact or board.gravity


def make_random_player(board: Board, key: np.uint64, block: int) -> Callable[[int, int, Int64Array], None]:
    """Return a function of the first game, the one after the last, and `wins`, for one thread, as `play_random`."""
    if needs_marks(board):
        lines, places = make_lines(board), make_places(board, False)
        return lambda first, last, wins: play_move_by_move(lines, places, key, first, last, wins)
    rules = make_random_rules(board)
    scratch = make_random_block(rules, block)
    return lambda first, last, wins: play_random(rules, key, first, last, scratch, wins)


MAX_RANDOM_GAMES = 10**15
STOP_EVERY, STOP_EVERY_SLOW = 2**24, 2**18
"""Games that a thread plays before it takes others or stops: 20 ms on 3x3; move by move, 0.15 s on 6x6x4."""

WORTH_A_THREAD = 2**18
"""Games that take longer than handing them to a thread."""


def play_random_games(
    board: Board, games: int, *, seed: int = 0, threads: int = 1, block: int = AT_ONCE
) -> NDArray[np.int64]:
    """Play `games` random games (0 to 10**15): int64[3], the first player's wins, draws, the second player's wins.

    seed: any int, taken modulo 2**64.
    threads: at least 1.  block: games in a block.  Neither changes the result.
    Raises UsageError if a number is outside its range, and BoardError for a board of more than MAX_TABLE_CELLS cells.
    """
    check_table_cells(board, "random games", "a smaller board, such as 6x6x5")
    if not 0 <= games <= MAX_RANDOM_GAMES:
        raise UsageError(f"{games} random games: the number must be from 0 to {MAX_RANDOM_GAMES:,}")
    if threads < 1 or block < 1:
        raise UsageError(f"{threads} threads and {block} games in a block: both must be at least 1")
    key, most = stream_key(seed, RANDOM_PLAY), STOP_EVERY_SLOW if needs_marks(board) else STOP_EVERY
    threads = min(threads, 1 + games // WORTH_A_THREAD)
    if threads > 1:
        threads = max(1, startable_threads(threads))
    piece = max(1, min(most, -(-games // threads)))
    starts = iter(range(0, games, piece))  # shared: a thread that is done takes the next piece
    stopped = threading.Event()

    def work(_: int) -> NDArray[np.int64]:
        play, wins = make_random_player(board, key, block), np.zeros(2, np.int64)
        for start in starts:
            if stopped.is_set():
                break
            play(start, min(start + piece, games), wins)
        return wins

    if threads == 1:
        first, second = work(0)
    else:
        with ThreadPoolExecutor(threads) as pool:
            try:
                first, second = sum(pool.map(work, range(threads)), np.zeros(2, np.int64))
            except BaseException:
                stopped.set()  # or leaving the pool would wait until all games are played
                raise
    if board.misere:  # the player who makes a line loses
        first, second = second, first
    return np.array([first, games - first - second, second], np.int64)
