"""Hash table of the positions that a search has reached, with exact keys, which threads share.

A position's key is that of its lowest image under the merged symmetries.  On boards of up to 40 cells the key is the
position's base-3 code, in one word.  On larger boards it is the two players' cells, in two words.  The empty board is
never stored, since its key 0 marks an empty slot; no game returns to it.

The keys of all images follow from those of the parent by one operation each.
"""

import functools
from typing import Any, NamedTuple

import numpy as np

from ttt_batch.base.bits import NONE, ONE
from ttt_batch.base.jit import generic, inlined, kernel
from ttt_batch.base.shared_words import compare_and_swap, prefetch_word, read_word, write_word
from ttt_batch.game.bitboards import hash_of
from ttt_batch.game.board import Board

CODE_CELLS = 40
"""Number of cells of the largest board whose codes fit into one word."""

TOGETHER = 4
"""Number of images whose keys are computed together; fewer images are repeated up to it."""

S32 = np.uint64(32)

inlined_generic = functools.partial(generic, inline=True)


class Codes(NamedTuple):
    """Table of positions by their codes.

    power: uint64[P, cells, images], what a mark adds to each image's code.  slots: uint64[S], 0 if empty.
    """

    power: Any
    slots: Any


class Pairs(NamedTuple):
    """Table of positions by the two players' cells.

    image: uint64[cells, images], the image of each cell, as a set.
    slots: uint64[2 S], pairs of the first player's cells (0 if empty) and the complement of the second player's cells
    (0 while it is being written).
    """

    image: Any
    slots: Any


Positions = Codes | Pairs


def make_positions(board: Board, *, symmetric: bool, wide: bool | None = None) -> Positions:
    """Return a table without slots.  symmetric: merge images.  wide: use keys of two words; None for only if needed."""
    images = board.images(symmetric)
    images *= -(-TOGETHER // len(images))
    target = np.array([np.argsort(image) for image in images]).T  # each cell's place in each image
    if board.cells > CODE_CELLS if wide is None else wide:
        return Pairs(ONE << target.astype(np.uint64), np.zeros(0, np.uint64))
    power = np.array([3**cell for cell in range(board.cells)], np.uint64)[target]
    return Codes(np.stack([power, 2 * power]), np.zeros(0, np.uint64))


def words_a_key(positions: Positions) -> int:
    """Return the number of words of a key."""
    return 1 if isinstance(positions, Codes) else 2


@inlined_generic
def extend_table(positions: Any, images: Any, ply: Any, cell: Any, player: Any) -> None:
    """Write the keys of all images after a move of `player` to `cell` into row `ply + 1` of `images`, in place.

    images: uint64[cells + 1, words x images], after each number of moves.
    """


@inlined_generic
def find(positions: Any, images: Any, ply: Any, cell: Any, player: Any, keys: Any, number: Any) -> None:
    """Write the key of the position after a move to index `number` of `keys`, and prefetch its slot."""


@inlined_generic
def enter_position(positions: Any, keys: Any, number: Any) -> Any:
    """Store the position with the key at index `number` of `keys`; return whether it is new.

    Thread-safe.  The table must have an empty slot, which is not checked.
    """


@inlined
def _first_slot(key: Any, n_slots: Any) -> Any:
    """Return the first slot (uint64) to try for a code; `n_slots` must be below 2**32."""
    return ((hash_of(key) >> S32) * np.uint64(n_slots)) >> S32


@inlined
def _first_pair(one: Any, other: Any, n_slots: Any) -> Any:
    """Return the index of the first word of the slot to try first for a key of two words."""
    return _first_slot(one ^ hash_of(other), n_slots >> 1) << ONE


@extend_table.register(Codes)
def _extend_codes(positions: Codes, images: Any, ply: Any, cell: Any, player: Any) -> None:
    for image in range(positions.power.shape[2]):
        images[ply + 1, image] = images[ply, image] + positions.power[player, cell, image]


@find.register(Codes)
def _find_codes(positions: Codes, images: Any, ply: Any, cell: Any, player: Any, keys: Any, number: Any) -> None:
    power = positions.power
    key = images[ply, 0] + power[player, cell, 0]
    for first in range(0, power.shape[2], TOGETHER):
        a = images[ply, first] + power[player, cell, first]
        b = images[ply, first + 1] + power[player, cell, first + 1]
        c = images[ply, first + 2] + power[player, cell, first + 2]
        d = images[ply, first + 3] + power[player, cell, first + 3]
        a = a if a < b else b
        c = c if c < d else d
        a = a if a < c else c
        key = a if a < key else key
    keys[number] = key
    prefetch_word(positions.slots, _first_slot(key, positions.slots.shape[0]))


@enter_position.register(Codes)
def _enter_codes(positions: Codes, keys: Any, number: Any) -> Any:
    slots, key = positions.slots, keys[number]
    slot, last = _first_slot(key, slots.shape[0]), np.uint64(slots.shape[0] - 1)
    while True:
        held = read_word(slots, slot)
        if held == NONE:
            held = compare_and_swap(slots, slot, NONE, key)
            if held == NONE:
                return True
        if held == key:
            return False
        slot = slot + ONE if slot < last else NONE


@extend_table.register(Pairs)
def _extend_pairs(positions: Pairs, images: Any, ply: Any, cell: Any, player: Any) -> None:
    n_images = positions.image.shape[1]
    for image in range(n_images):
        mine = positions.image[cell, image]
        images[ply + 1, image] = images[ply, image] | (NONE if player else mine)
        images[ply + 1, n_images + image] = images[ply, n_images + image] | (mine if player else NONE)


@find.register(Pairs)
def _find_pairs(positions: Pairs, images: Any, ply: Any, cell: Any, player: Any, keys: Any, number: Any) -> None:
    n_images = positions.image.shape[1]
    lowest, lowest_other = ~NONE, ~NONE
    for image in range(n_images):
        mine = positions.image[cell, image]
        first = images[ply, image] | (NONE if player else mine)
        second = images[ply, n_images + image] | (mine if player else NONE)
        if first < lowest or (first == lowest and second < lowest_other):
            lowest, lowest_other = first, second
    keys[2 * number], keys[2 * number + 1] = lowest, ~lowest_other
    prefetch_word(positions.slots, _first_pair(lowest, ~lowest_other, positions.slots.shape[0]))


@enter_position.register(Pairs)
def _enter_pairs(positions: Pairs, keys: Any, number: Any) -> Any:
    slots, one, other = positions.slots, keys[2 * number], keys[2 * number + 1]
    slot, last = _first_pair(one, other, slots.shape[0]), np.uint64(slots.shape[0] - 2)
    while True:
        held = read_word(slots, slot)
        if held == NONE:
            held = compare_and_swap(slots, slot, NONE, one)
            if held == NONE:
                write_word(slots, slot + ONE, other)
                return True
        if held == one:
            beside = read_word(slots, slot + ONE)
            while beside == NONE:  # its writer is between the two words
                beside = read_word(slots, slot + ONE)
            if beside == other:
                return False
        slot = slot + ONE + ONE if slot < last else NONE


@kernel
def move_over(positions: Any, keys: Any, words: int) -> None:
    """Store the keys of another table's slots in `positions`, which must have room.  words: words of a key."""
    for number in range(keys.shape[0] // words):
        if keys[words * number] != NONE:
            enter_position(positions, keys, number)
