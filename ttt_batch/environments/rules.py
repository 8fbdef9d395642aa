"""Rules of a board for `Batch`: moves and lines by shifts and masks, steps of a block, observations.

Bit `i` is cell `i`.  A line of `k` cells is found by shifting a player's cells onto themselves: after shifts by 1, 2
and 1 steps of a direction, those bits are left from which five cells follow each other.  `starts` are cells from which
a line of the direction fits on the board.  With gravity a move is a column: of its free cells only the lowest has no
free cell below, so `landing` knows it without a search.

A step of a block of boards, in loops that each do one thing to a few arrays, without a branch.
Such loops become vector code: a compiled loop tells its arrays apart when it starts, and gives up if there are many.
Every value is cast back to its word at once, because Numba would widen it to 64 bits.
"""

from typing import Any, NamedTuple

import numpy as np

from ttt_batch.compiler.bits import (
    NONE,
    ONE,
    ROWS,
    intersection,
    parity,
    ruler,
    shift_left,
    shift_right,
    unpack_bits,
    unpack_rows,
)
from ttt_batch.compiler.intrinsics import zeros
from ttt_batch.compiler.jit import (
    Bool,
    Float32Array,
    Int64,
    Int64Array,
    Uint8Array,
    Uint64Array,
    Word,
    WordArray,
    inlined,
    kernel,
)
from ttt_batch.games.board import DRAW, FIRST_WINS, SECOND_WINS, UNFINISHED, Board

MAX_NARROW_CELLS = 31
"""Cells up to which words have 32 bits: twice as many boards in a vector."""

STAGES, FEW_STAGES = 6, 3
"""Shifts that find a line of up to 64 cells, and of up to 8."""


class Rules(NamedTuple):
    """A board's rules.  `W` is the word of its states, uint32 or uint64.

    cells, actions: how many there are; with gravity an action is a column.  misere: 1 if a line loses, else 0.
    full: W[1], all cells.  column: W[1], the cells of action 0; those of action `a` are `a` bits higher.
    top: W[1], a bit for each action, which is legal if that cell is free.
    below: how many bits higher the cell below is; 0 without gravity.  bottom: W[1], cells that have none below.
    plain: whether no line has a fence and FEW_STAGES shifts find it.
    shifts: W[4, STAGES], for each direction by which a player's cells are moved onto themselves in turn.
    starts: W[4], first cells of lines.
    before, after: W[4], with `-exact` the starts that have a cell before the line, and after it.
    back, ahead: W[4], how far these are from the start.
    """

    cells: int
    actions: int
    misere: int
    full: WordArray
    column: WordArray
    top: WordArray
    below: int
    bottom: WordArray
    plain: bool
    shifts: WordArray
    starts: WordArray
    before: WordArray
    after: WordArray
    back: WordArray
    ahead: WordArray


def word_type(board: Board) -> Any:
    """Return the dtype of a set of the board's cells."""
    return np.uint32 if board.cells <= MAX_NARROW_CELLS else np.uint64


def stages(k: int, step: int) -> list[int]:
    """Return shifts that reduce lines of `k` cells at distance `step` to their first cell."""
    shifts, have = [], 1
    while have < k:
        more = min(have, k - have)
        shifts.append(more * step)
        have += more
    return shifts


def make_rules(board: Board) -> Rules:
    """Return the rules of a board."""
    word = word_type(board)

    def bits(cells: Any) -> Any:
        return sum(1 << cell for cell in cells)

    directions = []
    for down, right in ((0, 1), (1, 0), (1, 1), (1, -1)):
        step = down * board.cols + right
        starts = [
            row * board.cols + col
            for row in range(board.rows)
            for col in range(board.cols)
            if row + (board.k - 1) * down < board.rows and 0 <= col + (board.k - 1) * right < board.cols
        ]
        fences = [0, 0]
        for start in starts if board.exact and board.k > 1 else []:
            for side, far in enumerate((-1, board.k)):
                row, col = start // board.cols + far * down, start % board.cols + far * right
                fences[side] |= (0 <= row < board.rows and 0 <= col < board.cols) << start
        back, ahead = (step if fences[0] else 0), (board.k * step if fences[1] else 0)
        directions.append((stages(board.k, step) if starts else [], bits(starts), *fences, back, ahead))
    shifts = [(found[0] + STAGES * [0])[:STAGES] for found in directions]
    lists = [np.array([found[place] for found in directions], word) for place in range(1, 6)]
    most = max(len(found[0]) for found in directions)

    def one(value: int) -> Any:
        return np.array([value], word)

    return Rules(
        cells=board.cells,
        actions=n_actions(board),
        misere=int(board.misere),
        full=one(bits(range(board.cells))),
        column=one(bits(range(0, board.cells, board.cols)) if board.gravity else 1),
        top=one(bits(range(n_actions(board)))),
        below=board.cols if board.gravity and board.rows > 1 else 0,
        bottom=one(bits(range(board.cells - board.cols if board.gravity else 0, board.cells))),
        plain=not board.exact and most <= FEW_STAGES,
        shifts=np.array(shifts, word),
        starts=lists[0],
        before=lists[1],
        after=lists[2],
        back=lists[3],
        ahead=lists[4],
    )


def n_actions(board: Board) -> int:
    """Return the number of actions: one for each cell, with gravity for each column."""
    return board.cols if board.gravity else board.cells


BLOCK = 1024
"""Boards that go through all loops together: their arrays stay in the processor's first cache."""

JOINED = 32
"""Cells up to which the words of boards are joined in vector code before they are spread to bytes."""

FORFEIT, OUTCOME = 4, 3
"""The bit that an outcome by forfeit has, and the bits of the outcome itself."""


class BatchState(NamedTuple):
    """State of the games.

    own, other: W[n], the cells of the player to move and of its opponent.  over: uint8[n], 1 if the game is over.
    games: int64[n], number of earlier games of the environment.
    """

    own: WordArray
    other: WordArray
    over: Uint8Array
    games: Int64Array


class Scratch(NamedTuple):
    """Scratch arrays of a block.

    marked: W[BLOCK], the mover's cells after its move; unchanged by an illegal move.
    won: W[BLOCK], first cells of lines in `marked`.  idle: W[BLOCK], not 0 for games that do not move.
    ended: uint8[BLOCK], outcomes of games that end in this step, plus FORFEIT for a forfeit; otherwise UNFINISHED.
    With W instead of bytes a step took 5 % longer.
    wanted: W[n], `marked` of all games for the given actions, see `kernels.wanted_moves`.
    words: uint64[3, 2 * BLOCK], for observations.
    """

    marked: WordArray
    won: WordArray
    idle: WordArray
    ended: Uint8Array
    wanted: WordArray
    words: Uint64Array


def make_state(n: int, word: Any) -> BatchState:
    """Return `n` games at the empty board."""
    return BatchState(zeros((n,), word), zeros((n,), word), zeros((n,), np.uint8), zeros((n,), np.int64))


def make_scratch(n: int, word: Any) -> Scratch:
    """Return scratch for `n` games."""
    marked, won, idle = zeros((3, BLOCK), word)
    return Scratch(marked, won, idle, zeros((BLOCK,), np.uint8), zeros((n,), word), zeros((3, 2 * BLOCK), np.uint64))


@inlined
def landing(rules: Rules, taken: Word) -> Word:
    """Return the legal cells if `taken` are occupied: all free ones, with gravity the lowest of each column."""
    word = rules.full.dtype.type
    return word(word(rules.full[0] & ~taken) & word(shift_right(taken, rules.below) | rules.bottom[0]))


@inlined
def judge_step(rules: Rules, own: WordArray, other: WordArray, scratch: Scratch, all_move: Bool) -> None:
    """Write the outcomes after a move to `scratch.ended`; keep those of idle games unless `all_move`.

    A completed line wins, or loses in misère games.  An illegal move loses.
    """
    if rules.plain:
        judge_plain(rules, own, other, scratch, all_move)
        return
    word = own.dtype.type
    marked, won = scratch.marked, scratch.won
    for g in range(own.shape[0]):
        won[g] = word(0)
    for direction in range(rules.starts.shape[0]):
        starts, shifts = rules.starts[direction], rules.shifts[direction]
        back, before = rules.back[direction], rules.before[direction]
        ahead, after = rules.ahead[direction], rules.after[direction]
        for g in range(own.shape[0]):
            run = marked[g]
            longer = word(word(shift_left(run, back) & before) | word(shift_right(run, ahead) & after))
            for stage in range(STAGES):
                run = word(run & shift_right(run, shifts[stage]))
            won[g] = word(won[g] | word(word(run & starts) & word(~longer)))
    for g in range(own.shape[0]):
        before, idle = scratch.ended[g], scratch.idle[g]
        result = results_after(rules, own[g], other[g], marked[g], won[g])
        scratch.ended[g] = result if all_move or idle == word(0) else before


@inlined
def starts_of_lines(cells: Word, one: Word, two: Word, three: Word) -> Word:
    """Return the first cells of lines in one direction, found by FEW_STAGES shifts."""
    cells = intersection(cells, shift_right(cells, one))
    cells = intersection(cells, shift_right(cells, two))
    return intersection(cells, shift_right(cells, three))


@inlined
def judge_plain(rules: Rules, own: WordArray, other: WordArray, scratch: Scratch, all_move: Bool) -> None:
    """Run `judge_step` for boards without fences and FEW_STAGES shifts: all four directions in one loop."""
    word = own.dtype.type
    marked, idle, ended = scratch.marked, scratch.idle, scratch.ended
    shifts, starts = rules.shifts, rules.starts
    a, b, c = shifts[0, 0], shifts[0, 1], shifts[0, 2]
    d, e, f = shifts[1, 0], shifts[1, 1], shifts[1, 2]
    h, i, j = shifts[2, 0], shifts[2, 1], shifts[2, 2]
    k, m, n = shifts[3, 0], shifts[3, 1], shifts[3, 2]
    first, second, third, fourth = starts[0], starts[1], starts[2], starts[3]
    for g in range(own.shape[0]):
        cells = marked[g]
        won = word(word(starts_of_lines(cells, a, b, c) & first) | word(starts_of_lines(cells, d, e, f) & second))
        won = word(won | word(starts_of_lines(cells, h, i, j) & third))
        won = word(won | word(starts_of_lines(cells, k, m, n) & fourth))
        result = results_after(rules, own[g], other[g], cells, won)
        ended[g] = result if all_move or idle[g] == word(0) else ended[g]


@inlined
def results_after(rules: Rules, own: Word, other: Word, marked: Word, won: Word) -> Word:
    """Return the outcome of a game after a move.  All arguments are words, so that vectors have one width."""
    word = rules.full.dtype.type
    one, mover = word(1), word(parity(word(own | other)))
    flip = word(rules.misere)
    by_line = word(FIRST_WINS) + word(mover ^ flip)
    by_forfeit = word(FIRST_WINS + FORFEIT) + word(mover ^ one)
    result = word(DRAW) if word(marked | other) == rules.full[0] else word(UNFINISHED)
    result = word(by_line) if won != word(0) else result
    return word(by_forfeit) if marked == own else result


@inlined
def turn(own: WordArray, other: WordArray, scratch: Scratch) -> None:
    """Pass the turn to the opponent in games with a legal move; change no other game."""
    # One array written a loop: with both in one, the vector code gave the opponent its own cells and the mover's.
    marked, before = scratch.marked, scratch.won
    for g in range(own.shape[0]):
        before[g] = other[g] if marked[g] != own[g] else own[g]
    for g in range(own.shape[0]):
        other[g] = marked[g] if marked[g] != own[g] else other[g]
    for g in range(own.shape[0]):
        own[g] = before[g]


@inlined
def make_moves(rules: Rules, own: WordArray, other: WordArray, scratch: Scratch) -> None:
    """Finish a move: lines, ends of games, and the turn."""
    judge_step(rules, own, other, scratch, False)
    turn(own, other, scratch)


@inlined
def report(ended: Uint8Array, rewards: Float32Array, terminated: Uint8Array) -> None:
    """Write rewards (float32[2 * block], first and second player) and `terminated` (uint8[block])."""
    one, none = np.float32(1), np.float32(0)
    for g in range(terminated.shape[0]):
        outcome = ended[g] & ended.dtype.type(OUTCOME)
        rewards[2 * g] = one if outcome == FIRST_WINS else (-one if outcome == SECOND_WINS else none)
        rewards[2 * g + 1] = one if outcome == SECOND_WINS else (-one if outcome == FIRST_WINS else none)
    for g in range(terminated.shape[0]):
        terminated[g] = np.uint8(ended[g] != UNFINISHED)


@inlined
def renew(own: WordArray, other: WordArray, games: Int64Array, scratch: Scratch) -> None:
    """Run `turn`, and `restart` for ended games, in half as many loops, without kept positions.

    A forfeit ends its game, so the turn of its players does not matter.
    """
    word = own.dtype.type
    marked, ended = scratch.marked, scratch.ended
    for g in range(own.shape[0]):
        own[g] = word(0) if ended[g] != word(0) else other[g]
    for g in range(own.shape[0]):
        other[g] = word(0) if ended[g] != word(0) else marked[g]
    for g in range(own.shape[0]):
        games[g] += np.int64(ended[g] != word(0))


@inlined
def restart(own: WordArray, other: WordArray, games: Int64Array, fresh: WordArray | Uint8Array) -> None:
    """Begin the next games where `fresh` (W or uint8[block]) is not 0."""
    word = own.dtype.type
    for g in range(own.shape[0]):
        own[g] = word(0) if fresh[g] != word(0) else own[g]
    for g in range(own.shape[0]):
        other[g] = word(0) if fresh[g] != word(0) else other[g]
    for g in range(own.shape[0]):
        games[g] += np.int64(fresh[g] != word(0))


class ObservationLayout(NamedTuple):
    """Layout of observations, with the arrays needed to write them.

    cells, actions: see `Rules`.  top: its `top`, as uint64.  planes, mask, seat: see `kernels.Seen`.
    words: see `Scratch`.  ruler: encodes `cells` above JOINED, see `compiler.bits.ruler`.
    """

    cells: int
    actions: int
    top: np.uint64
    planes: Uint8Array
    mask: Uint8Array
    seat: Uint8Array
    words: Uint64Array
    ruler: Any


def make_observation_layout(rules: Rules, seen: Any, words: Any) -> ObservationLayout:
    """Return the layout of a batch.  Boards of up to JOINED cells share a ruler, and so their kernels."""
    width = rules.cells if rules.cells > JOINED else 1
    top = np.uint64(rules.top[0])
    return ObservationLayout(rules.cells, rules.actions, top, seen.planes, seen.mask, seen.seat, words, ruler(width))


@inlined
def write_exactly(target: Uint8Array, start: Int64, bits: np.uint64, count: Int64) -> None:
    """Write `count` (up to 64) bits to `target` (uint8[N]) from `start` on."""
    for bit in range(count):
        target[start + bit] = np.uint8(shift_right(bits, bit) & ONE)


@inlined
def write_bits(
    target: Uint8Array, start: Int64, words: Uint64Array, spare: Uint64Array, count: Int64, bits: Int64
) -> None:
    """Write the lowest `bits` (1 to 64) of `count` words to `target` (uint8[N]) from `start` on, one byte per bit.

    words, spare: uint64[W], overwritten; higher bits are 0.  Write blocks in order: up to 63 bytes after the end may be
    overwritten.
    """
    total, wide = count * bits, bits
    while wide <= 32:  # two words become one, in vector code: half as many are to be written
        count = (count + 1) // 2
        for g in range(count):
            spare[g] = words[2 * g] | shift_left(words[2 * g + 1], wide)
        words, spare = spare, words
        wide *= 2
    # 64 bytes at once, of which the next word overwrites those behind its own; the last words are written exactly.
    safe = min(total // wide, max(0, (target.shape[0] - start - 64) // wide + 1))
    place = np.uint64(start)
    for g in range(safe):
        unpack_bits(target, place, words[g])
        place += np.uint64(wide)
    for g in range(safe, count):
        write_exactly(target, start + g * wide, words[g], min(wide, total - g * wide))


@inlined
def find_masks(top: np.uint64, own: WordArray, other: WordArray, over: Uint8Array, masks: Uint64Array) -> None:
    """Write which actions are legal, none in games that are over, to `masks` (uint64[2 * BLOCK]).  top: see `Rules`."""
    for g in range(own.shape[0]):
        masks[g] = NONE if over[g] != 0 else ~(np.uint64(own[g]) | np.uint64(other[g])) & top


@inlined
def find_sides(own: WordArray, other: WordArray, seat: Uint8Array, mine: WordArray, theirs: WordArray) -> None:
    """Write the cells of player `seat` (uint8[count]) to `mine`, and those of its opponent to `theirs`."""
    word = mine.dtype.type
    for g in range(own.shape[0]):
        same = parity(np.uint64(own[g]) | np.uint64(other[g])) == seat[g]
        mine[g] = word(own[g]) if same else word(other[g])
        theirs[g] = word(other[g]) if same else word(own[g])


@inlined
def join_sides(mine: WordArray, theirs: WordArray, cells: Int64, words: Uint64Array) -> None:
    """Write both sides' cells (W[count]), at most JOINED, to `words` (uint64[count or more]), a word a game."""
    for g in range(mine.shape[0]):
        words[g] = np.uint64(mine[g]) | shift_left(np.uint64(theirs[g]), cells)


@inlined
def write_observations(rules: Rules, state: BatchState, scratch: Scratch, seen: Any, first: Int64, last: Int64) -> None:
    """Write planes and mask of games `first` to `last - 1` to `seen`, or nothing if `show_wide` is to do so.

    Of later games something is written that the next call overwrites.
    """
    if rules.cells > JOINED:
        return
    cells, count, words, spare = rules.cells, last - first, scratch.words[0], scratch.words[1]
    own, other = state.own[first:last], state.other[first:last]
    find_masks(np.uint64(rules.top[0]), own, other, state.over[first:last], words)
    write_bits(seen.mask, rules.actions * first, words, spare, count, rules.actions)
    if seen.seat.shape[0] == 0:
        join_sides(own, other, cells, words)
    else:
        mine, theirs = scratch.words[2, :count], scratch.words[2, BLOCK : BLOCK + count]
        find_sides(own, other, seen.seat[first:last], mine, theirs)
        join_sides(mine, theirs, cells, words)
    write_bits(seen.planes, 2 * cells * first, words, spare, count, 2 * cells)


@inlined
def show_rows(
    state: BatchState, look: ObservationLayout, mine: WordArray, theirs: WordArray, first: Int64, last: Int64
) -> None:
    """Run `write_observations` for boards of more than JOINED cells, ROWS rows at a time where possible.

    mine, theirs: W[last - first], the cells of the player whose view it is, and of its opponent.
    """
    cells, actions, masks, spare = look.cells, look.actions, look.words[0], look.words[1]
    by_cell, more, count = actions == cells, np.uint64(cells * ROWS), last - first
    find_masks(look.top, state.own[first:last], state.other[first:last], state.over[first:last], masks)
    place, whole = np.uint64(cells * first), count - count % ROWS
    for g in range(0, whole, ROWS):
        if by_cell:
            unpack_rows(look.ruler, look.mask, place, (masks,), g)
        unpack_rows(look.ruler, look.planes, place + place, (mine, theirs), g)
        place += more
    rest = whole if by_cell else 0
    write_bits(look.mask, actions * (first + rest), masks[rest:], spare, count - rest, actions)
    for g in range(whole, count):
        spare[2 * (g - whole)], spare[2 * (g - whole) + 1] = np.uint64(mine[g]), np.uint64(theirs[g])
    write_bits(look.planes, 2 * cells * (first + whole), spare, masks, 2 * (count - whole), cells)


@kernel
def show_wide(state: BatchState, look: ObservationLayout) -> None:
    """Write planes and mask of all games of boards with more than JOINED cells.

    Each number of cells needs its own compilation of 1 s.  So this is separate from `kernels.step` and
    `kernels.start_games`, which compile in 10 s.
    """
    n = state.own.shape[0]
    for first in range(0, n, BLOCK):
        last = min(first + BLOCK, n)
        own, other = state.own[first:last], state.other[first:last]
        if look.seat.shape[0] != 0:
            mine, theirs = look.words[2, : last - first], look.words[2, BLOCK : BLOCK + last - first]
            find_sides(own, other, look.seat[first:last], mine, theirs)
            own, other = mine, theirs
        show_rows(state, look, own, other, first, last)


@kernel
def write_codes(rules: Rules, state: BatchState, power: Int64Array, codes: Int64Array) -> None:
    """Write the code of each position to `codes` (int64[n]).  power: int64[cells], 3**cell."""
    for g in range(codes.shape[0]):
        codes[g] = 0
    for cell in range(rules.cells):
        worth = power[cell]
        for g in range(codes.shape[0]):
            moved = np.int64(parity(state.own[g] | state.other[g]))
            mine = np.int64(shift_right(state.own[g], cell) & 1)
            theirs = np.int64(shift_right(state.other[g], cell) & 1)
            codes[g] += worth * (mine * (1 + moved) + theirs * (2 - moved))


@kernel
def write_boards(state: BatchState, boards: Uint64Array) -> None:
    """Write the cells of the first and of the second player to `boards` (uint64[n, 2])."""
    for g in range(boards.shape[0]):
        moved = np.int64(parity(state.own[g] | state.other[g]))
        boards[g, moved] = state.own[g]
        boards[g, 1 - moved] = state.other[g]
