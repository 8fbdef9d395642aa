"""What is seen of positions: planes and masks as bytes, and codes.  The words of the states say all of it."""

from typing import Any

import numpy as np

from ttt_batch.base.bits import NONE, ONE, lowered, odd, raised
from ttt_batch.base.jit import inlined, kernel
from ttt_batch.base.spread import spread
from ttt_batch.environments.rules import Rules
from ttt_batch.environments.steps import State


@inlined
def write_exactly(target: Any, start: Any, bits: Any, count: Any) -> None:
    """Write `count` (up to 64) bits to `target` (uint8[N]) from `start` on."""
    for bit in range(count):
        target[start + bit] = np.uint8(lowered(bits, bit) & ONE)


@inlined
def write_all(target: Any, first: int, stride: int, bits: Any, count: int) -> None:
    """Write the lowest `count` of each of `bits` (uint64[B]) to `target`, `stride` bytes apart from `first` on.

    Up to 64 bytes are written at once: those of as many boards as fit, if nothing lies between them.  What follows a
    board may be overwritten, so boards are written in order, and the last ones exactly.
    """
    together = 64 // count if stride == count else 1
    g, last = 0, bits.shape[0]
    while g + together <= last and first + g * stride + 64 <= target.shape[0]:
        word = bits[g]
        for more in range(1, together):
            word |= raised(bits[g + more], more * count)
        spread(target, np.uint64(first + g * stride), word)
        g += together
    for rest in range(g, last):
        write_exactly(target, first + rest * stride, bits[rest], count)


@inlined
def show(rules: Rules, state: State, seat: Any, planes: Any, mask: Any, words: Any, first: int, last: int) -> None:
    """Write what is seen of games `first` to `last - 1`.

    planes: uint8[n * 2 * cells], cells of the player and of its opponent.  mask: uint8[n * actions], legal actions;
    none in games that are over.  seat: uint8[n] whose view it is, or uint8[0]: of the player to move.
    words: uint64[2, at least last - first], scratch.
    """
    cells, top = rules.cells, np.uint64(rules.top[0])
    own, other, over = state.own[first:last], state.other[first:last], state.over[first:last]
    mine, theirs = words[0, : last - first], words[1, : last - first]
    for g in range(mine.shape[0]):
        mine[g] = NONE if over[g] != 0 else ~(np.uint64(own[g]) | np.uint64(other[g])) & top
    write_all(mask, rules.actions * first, rules.actions, mine, rules.actions)
    if seat.shape[0] == 0:
        for g in range(mine.shape[0]):
            mine[g], theirs[g] = np.uint64(own[g]), np.uint64(other[g])
    else:
        for g in range(mine.shape[0]):
            same = odd(np.uint64(own[g]) | np.uint64(other[g])) == seat[first + g]
            mine[g] = np.uint64(own[g]) if same else np.uint64(other[g])
            theirs[g] = np.uint64(other[g]) if same else np.uint64(own[g])
    if cells <= 32:
        for g in range(mine.shape[0]):
            mine[g] |= raised(theirs[g], cells)
        write_all(planes, 2 * cells * first, 2 * cells, mine, 2 * cells)
    else:
        write_pairs(planes, first, cells, mine, theirs)


@inlined
def write_pairs(planes: Any, first: int, cells: Any, own: Any, other: Any) -> None:
    """Write both planes of boards of more than 32 cells.  own, other: uint64[B], of board `first` and the next ones."""
    start = 2 * cells * first
    safe = min(own.shape[0], max(0, (planes.shape[0] - start - cells - 64) // (2 * cells) + 1))
    for g in range(safe):  # what is overwritten behind a plane is written next
        place = np.uint64(start + 2 * cells * g)
        spread(planes, place, own[g])
        spread(planes, place + np.uint64(cells), other[g])
    for g in range(safe, own.shape[0]):
        write_exactly(planes, start + 2 * cells * g, own[g], cells)
        write_exactly(planes, start + 2 * cells * g + cells, other[g], cells)


@kernel
def write_codes(rules: Rules, state: State, power: Any, codes: Any) -> None:
    """Write the code of each position to `codes` (int64[n]).  power: int64[cells], 3**cell."""
    for g in range(codes.shape[0]):
        codes[g] = 0
    for cell in range(rules.cells):
        worth = power[cell]
        for g in range(codes.shape[0]):
            moved = np.int64(odd(state.own[g] | state.other[g]))
            mine = np.int64(lowered(state.own[g], cell) & 1)
            theirs = np.int64(lowered(state.other[g], cell) & 1)
            codes[g] += worth * (mine * (1 + moved) + theirs * (2 - moved))


@kernel
def write_boards(state: State, boards: Any) -> None:
    """Write the cells of the first and of the second player to `boards` (uint64[n, 2])."""
    for g in range(boards.shape[0]):
        moved = np.int64(odd(state.own[g] | state.other[g]))
        boards[g, moved] = state.own[g]
        boards[g, 1 - moved] = state.other[g]
