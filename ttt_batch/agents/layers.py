"""Whole layers of real positions, all those with the same number of marks, and the moves from one to the next.

Everything is done in whole arrays, a layer at a time.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ttt_batch.agents.positions import Words, as_cells, as_words
from ttt_batch.base.bits import NONE, ONE, lowest_bit, single
from ttt_batch.base.jit import kernel
from ttt_batch.game.bitboards import hash_of
from ttt_batch.game.board import DRAW, FIRST_WINS, UNFINISHED, Board
from ttt_batch.game.state_space import positions_of_ply


class Layer(NamedTuple):
    """The positions with as many marks as moves were made.

    first, second: uint64[n], the marks of both players.  outcome: int8[n].
    """

    first: Words
    second: Words
    outcome: NDArray[np.int8]


@kernel
def list_children(layer: Any, allowed: Any, mover: Any, slots: Any, child: Any, after: Any) -> Any:
    """Find the positions after the allowed moves; return how many there are.

    layer: the marks of both players, uint64[n] each.  allowed: uint64[n], sets of cells.  mover: 0 or 1.
    slots: int32, a power of two of -1, at least twice `after`.
    child: int32[E], filled: the position after each move, in the order of positions and cells, or -1 if the cell is
    occupied.  after: uint64[most, 2], filled in the order found with the marks of both players.
    """
    mask, found, edge = np.uint64(slots.shape[0] - 1), np.int32(0), 0
    for i in range(allowed.shape[0]):
        first, second, cells = layer[0][i], layer[1][i], allowed[i]
        while cells != NONE:
            mark = single(lowest_bit(cells))
            cells &= cells - ONE
            edge += 1
            if (first | second) & mark != NONE:
                child[edge - 1] = -1
                continue
            one, two = (first, second | mark) if mover else (first | mark, second)
            slot = hash_of(one ^ hash_of(two)) & mask
            while slots[slot] >= 0 and (after[slots[slot], 0] != one or after[slots[slot], 1] != two):
                slot = (slot + ONE) & mask
            if slots[slot] < 0:
                slots[slot] = found
                after[found, 0], after[found, 1] = one, two
                found += 1
            child[edge - 1] = slots[slot]
    return found


@kernel
def tell_apart(first: Any, second: Any, slots: Any, number: Any, kept: Any) -> Any:
    """Number equal positions alike, in the order of the first of each; return how many there are.

    first, second: uint64[n].  slots: int64, a power of two of -1, at least twice n.
    number: int64[n], the number of each.  kept: int64[n], the first position of each number.
    """
    mask, found = np.uint64(slots.shape[0] - 1), np.int64(0)
    for i in range(first.shape[0]):
        slot = hash_of(first[i] ^ hash_of(second[i])) & mask
        while slots[slot] >= 0 and (first[kept[slots[slot]]] != first[i] or second[kept[slots[slot]]] != second[i]):
            slot = (slot + np.uint64(1)) & mask
        if slots[slot] < 0:
            slots[slot], kept[found] = found, i
            found += 1
        number[i] = slots[slot]
    return found


def distinct(first: Words, second: Words) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Positions by number, and the first of each number: int64[n] and int64[found]."""
    number, kept = np.empty(first.size, np.int64), np.empty(first.size, np.int64)
    slots = np.full(1 << (2 * max(first.size, 1)).bit_length(), -1, np.int64)
    found = tell_apart(first, second, slots, number, kept)
    return number, kept[:found].copy()


class LayerRules:
    """The rules of a board for whole layers.  symmetric: of the images of a position only one is kept."""

    def __init__(self, board: Board, symmetric: bool = False) -> None:
        self.board, self.symmetric = board, symmetric
        self._all = np.uint64(2**board.cells - 1)
        self._masks = np.array(board.line_masks, np.uint64).reshape(-1, 2)
        # int64[halves, cells, images]: what a mark adds to the codes of the first and of the last cells of each image.
        place, half = np.argsort(np.array(board.symmetries), axis=1).T, board.cells // 2
        self._image_powers = (
            np.where(place < half, 3 ** np.minimum(place, half), 0),
            np.where(place < half, 0, 3 ** np.maximum(place - half, 0)),
        )

    @property
    def start(self) -> Layer:
        """The empty board."""
        nothing = np.zeros(1, np.uint64)
        return Layer(nothing, nothing, np.zeros(1, np.int8))

    def legal(self, layer: Layer) -> Words:
        """The cells that may be marked in the unfinished positions of a layer."""
        going = layer.outcome == UNFINISHED
        free: Words = self._all & ~(layer.first[going] | layer.second[going])
        # With gravity a mark falls onto the lowest free cell of its column; the next row's cells have higher bits.
        if self.board.gravity:
            free &= ~(free >> np.uint64(self.board.cols))
        return free

    def after(self, layer: Layer, ply: int, allowed: Words) -> tuple[NDArray[np.int32], Layer]:
        """The positions after the allowed moves out of a layer's unfinished positions, and where each move leads.

        allowed: sets of cells.
        Returns int32[E], the positions of the next layer in the order of positions and cells, -1 where the cell is
        occupied, and that layer.
        """
        going = layer.outcome == UNFINISHED
        edges, most = int(np.bitwise_count(allowed).sum(dtype=np.int64)), positions_of_ply(self.board, ply + 1)
        space = min(edges, most)
        found, child = np.empty((space, 2), np.uint64), np.empty(edges, np.int32)
        slots = np.full(1 << (2 * max(space, 1)).bit_length(), -1, np.int32)
        n = list_children((layer.first[going], layer.second[going]), allowed, ply % 2, slots, child, found)
        first, second = found[:n].T.copy()
        if self.symmetric:
            first, second, _ = self.folded(first, second)
            number, kept = distinct(first, second)
            first, second, made = first[kept], second[kept], child >= 0
            child[made] = number[child[made]]
        return child, Layer(first, second, self._outcome(first, second, ply))

    def _outcome(self, first: Words, second: Words, ply: int) -> NDArray[np.int8]:
        """How positions are after the move of `ply`."""
        own, mover = (second, 1) if ply % 2 else (first, 0)
        outcome = np.full(own.size, DRAW if ply + 1 == self.board.cells else UNFINISHED, np.int8)
        won = np.zeros(own.size, np.bool_)
        for line, fence in self._masks:
            won |= own & (line | fence) == line
        outcome[won] = FIRST_WINS + (mover ^ self.board.misere)
        return outcome

    def folded(self, first: Words, second: Words) -> tuple[Words, Words, NDArray[np.int64]]:
        """The images that stand for positions, those of the lowest codes, and their numbers in `Board.symmetries`."""
        mine, theirs = as_cells(first, self.board.cells), as_cells(second, self.board.cells)
        # A code of 64 cells is too large for int64: its last cells decide, and among equals the others.
        marks = mine + 2 * theirs.astype(np.int64)
        low, high = (marks @ powers for powers in self._image_powers)
        low[high != high.min(1, keepdims=True)] = np.iinfo(np.int64).max
        number = low.argmin(1)
        images = np.array(self.board.symmetries)[number]
        first, second = (as_words(np.take_along_axis(cells, images, axis=1)) for cells in (mine, theirs))
        return first, second, number
