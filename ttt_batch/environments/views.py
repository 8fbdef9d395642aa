"""What is seen of positions: planes and masks as bytes, and codes.  The words of the states say all of it."""

from typing import Any

import numpy as np

from ttt_batch.base.bits import NONE, ONE, lowered, odd, raised
from ttt_batch.base.jit import inlined, kernel
from ttt_batch.base.spread import spread_bits
from ttt_batch.environments.rules import Rules
from ttt_batch.environments.steps import State


@inlined
def write_exactly(target: Any, start: Any, bits: Any, count: Any) -> None:
    """Write `count` (up to 64) bits to `target` (uint8[N]) from `start` on."""
    for bit in range(count):
        target[start + bit] = np.uint8(lowered(bits, bit) & ONE)


@inlined
def write_all(target: Any, start: int, words: Any, spare: Any, count: int, bits: int) -> None:
    """Write the lowest `bits` (1 to 64) of the first `count` words to `target` (uint8[N]) from `start` on, byte by bit.

    words, spare: uint64[W], overwritten; higher bits are 0.  Up to 63 bytes that follow may be overwritten, so blocks
    are written in order.
    """
    total, wide = count * bits, bits
    while wide <= 32:  # two words become one, in vector code: half as many are to be written
        count = (count + 1) // 2
        for g in range(count):
            spare[g] = words[2 * g] | raised(words[2 * g + 1], wide)
        words, spare = spare, words
        wide *= 2
    # 64 bytes at once, of which the next word overwrites those behind its own; the last words are written exactly.
    safe = min(total // wide, max(0, (target.shape[0] - start - 64) // wide + 1))
    place = np.uint64(start)
    for g in range(safe):
        spread_bits(target, place, words[g])
        place += np.uint64(wide)
    for g in range(safe, count):
        write_exactly(target, start + g * wide, words[g], min(wide, total - g * wide))


@inlined
def write_pairs(target: Any, start: int, own: Any, other: Any, cells: int) -> None:
    """Write the cells of both players, 33 to 64 of each, to `target` (uint8[N]) from `start` on, board by board.

    own, other: W[count].  Up to 63 bytes that follow may be overwritten, as by `write_all`.  From the state straight
    to bytes: with the words in one array first, a step of 6x7x4 took 7 % longer.
    """
    count: int = own.shape[0]
    wide = np.uint64(cells)
    safe = min(count, max(0, (target.shape[0] - start - cells - 64) // (2 * cells) + 1))
    place = np.uint64(start)
    for g in range(safe):
        spread_bits(target, place, np.uint64(own[g]))
        spread_bits(target, place + wide, np.uint64(other[g]))
        place += wide + wide
    for g in range(safe, count):
        write_exactly(target, start + 2 * cells * g, np.uint64(own[g]), cells)
        write_exactly(target, start + 2 * cells * g + cells, np.uint64(other[g]), cells)


@inlined
def write_planes(planes: Any, start: int, own: Any, other: Any, bits: Any, spare: Any, cells: int) -> None:
    """Write the cells of both players to `planes` (uint8[N]) from `start` on; those of a board in one word if they fit.

    own, other: W[count].  bits, spare: uint64[2 * BLOCK], overwritten if they fit.
    """
    if cells > 32:
        write_pairs(planes, start, own, other, cells)
        return
    for g in range(own.shape[0]):
        bits[g] = np.uint64(own[g]) | raised(np.uint64(other[g]), cells)
    write_all(planes, start, bits, spare, own.shape[0], 2 * cells)


@inlined
def show(rules: Rules, state: State, seat: Any, planes: Any, mask: Any, words: Any, first: int, last: int) -> None:
    """Write what is seen of games `first` to `last - 1`; of later ones, too, something that the next call overwrites.

    planes: uint8[n * 2 * cells], cells of the player and of its opponent.  mask: uint8[n * actions], legal actions;
    none in games that are over.  seat: uint8[n] whose view it is, or uint8[0]: of the player to move.
    words: uint64[3, 2 * BLOCK], scratch.
    """
    cells, count, top = rules.cells, last - first, np.uint64(rules.top[0])
    own, other, over = state.own[first:last], state.other[first:last], state.over[first:last]
    bits, spare = words[0], words[1]
    for g in range(count):
        bits[g] = NONE if over[g] != 0 else ~(np.uint64(own[g]) | np.uint64(other[g])) & top
    write_all(mask, rules.actions * first, bits, spare, count, rules.actions)
    if seat.shape[0] == 0:
        write_planes(planes, 2 * cells * first, own, other, bits, spare, cells)
    else:
        mine, theirs = words[2, :count], words[2, count : 2 * count]
        for g in range(count):
            same = odd(np.uint64(own[g]) | np.uint64(other[g])) == seat[first + g]
            mine[g] = np.uint64(own[g]) if same else np.uint64(other[g])
            theirs[g] = np.uint64(other[g]) if same else np.uint64(own[g])
        write_planes(planes, 2 * cells * first, mine, theirs, bits, spare, cells)


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
