"""What is seen of positions: planes and masks as bytes, and codes.  The words of the states say all of it."""

from typing import Any, NamedTuple

import numpy as np

from ttt_batch.base.bits import NONE, ONE, parity, shift_left, shift_right
from ttt_batch.base.jit import inlined, kernel
from ttt_batch.base.spread import ROWS, ruler, unpack_bits, unpack_rows
from ttt_batch.environments.rules import Rules
from ttt_batch.environments.steps import BLOCK, JOINED, BatchState, Scratch


class ObservationLayout(NamedTuple):
    """What is seen of positions, and what it takes to write it.

    cells, actions: see `Rules`.  top: its `top`, as uint64.  planes, mask, seat: see `kernels.Seen`.
    words: see `Scratch`.  ruler: says `cells`, if they are more than JOINED, see `base.spread.ruler`.
    """

    cells: int
    actions: int
    top: Any
    planes: Any
    mask: Any
    seat: Any
    words: Any
    ruler: Any


def make_observation_layout(rules: Rules, seen: Any, words: Any) -> ObservationLayout:
    """What a batch sees.  Kernels for boards of up to JOINED cells are the same for all: their ruler says nothing."""
    width = rules.cells if rules.cells > JOINED else 1
    top = np.uint64(rules.top[0])
    return ObservationLayout(rules.cells, rules.actions, top, seen.planes, seen.mask, seen.seat, words, ruler(width))


@inlined
def write_exactly(target: Any, start: Any, bits: Any, count: Any) -> None:
    """Write `count` (up to 64) bits to `target` (uint8[N]) from `start` on."""
    for bit in range(count):
        target[start + bit] = np.uint8(shift_right(bits, bit) & ONE)


@inlined
def write_bits(target: Any, start: int, words: Any, spare: Any, count: int, bits: int) -> None:
    """Write the lowest `bits` (1 to 64) of the first `count` words to `target` (uint8[N]) from `start` on, byte by bit.

    words, spare: uint64[W], overwritten; higher bits are 0.  Up to 63 bytes that follow may be overwritten, so blocks
    are written in order.
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
def find_masks(top: Any, own: Any, other: Any, over: Any, masks: Any) -> None:
    """Write which actions are legal, none in games that are over, to `masks` (uint64[2 * BLOCK]).  top: see `Rules`."""
    for g in range(own.shape[0]):
        masks[g] = NONE if over[g] != 0 else ~(np.uint64(own[g]) | np.uint64(other[g])) & top


@inlined
def find_sides(own: Any, other: Any, seat: Any, mine: Any, theirs: Any) -> None:
    """Write the cells of the player whose view it is (`seat`, uint8[count]) to `mine`, its opponent's to `theirs`."""
    for g in range(own.shape[0]):
        same = parity(np.uint64(own[g]) | np.uint64(other[g])) == seat[g]
        mine[g] = np.uint64(own[g]) if same else np.uint64(other[g])
        theirs[g] = np.uint64(other[g]) if same else np.uint64(own[g])


@inlined
def write_observations(rules: Rules, state: BatchState, scratch: Scratch, seen: Any, first: int, last: int) -> None:
    """Write planes and mask of games `first` to `last - 1` to `seen`, or nothing if `show_wide` is to do so.

    Of later games something is written that the next call overwrites.
    """
    if rules.cells > JOINED:
        return
    count, bits, spare = last - first, scratch.words[0], scratch.words[1]
    own, other = state.own[first:last], state.other[first:last]
    find_masks(np.uint64(rules.top[0]), own, other, state.over[first:last], bits)
    write_bits(seen.mask, rules.actions * first, bits, spare, count, rules.actions)
    if seen.seat.shape[0] == 0:
        for g in range(count):
            bits[g] = np.uint64(own[g]) | shift_left(np.uint64(other[g]), rules.cells)
    else:
        mine, theirs = scratch.words[2, :count], scratch.words[2, BLOCK : BLOCK + count]
        find_sides(own, other, seen.seat[first:last], mine, theirs)
        for g in range(count):
            bits[g] = mine[g] | shift_left(theirs[g], rules.cells)
    write_bits(seen.planes, 2 * rules.cells * first, bits, spare, count, 2 * rules.cells)


@inlined
def show_rows(state: BatchState, look: ObservationLayout, mine: Any, theirs: Any, first: int, last: int) -> None:
    """`show` for boards of more than JOINED cells, of which as many rows as possible are written ROWS at a time.

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

    It is compiled for each number of cells, in 1 s.  `kernels.step` and `kernels.start_games`, which take 10 s to
    compile, do not contain it for this reason.
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
def write_codes(rules: Rules, state: BatchState, power: Any, codes: Any) -> None:
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
def write_boards(state: BatchState, boards: Any) -> None:
    """Write the cells of the first and of the second player to `boards` (uint64[n, 2])."""
    for g in range(boards.shape[0]):
        moved = np.int64(parity(state.own[g] | state.other[g]))
        boards[g, moved] = state.own[g]
        boards[g, 1 - moved] = state.other[g]
