"""Layers of real positions with equally many marks, and the positions that an agent's own play can reach.

All work is done in whole arrays, a layer at a time.

The agent is queried about all its positions of a layer in one batch.  They are followed by the moves that it may make,
and its opponent's positions by all legal moves.  So it can be beaten exactly if a lost game is among those reached.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ttt_batch.agents.base import Answered, Words, as_cells, as_words
from ttt_batch.compiler.bits import NONE, ONE, lowest_bit, single
from ttt_batch.compiler.jit import Float64Array, Int32Array, Int64, Int64Array, Integer, Uint64Array, kernel
from ttt_batch.games.bitboards import hash_of
from ttt_batch.games.board import DRAW, FIRST_WINS, SECOND_WINS, UNFINISHED, Board, positions_of_ply


class Layer(NamedTuple):
    """Positions with the same number of marks.

    first, second: uint64[n], the marks of both players.  outcome: int8[n].
    """

    first: Words
    second: Words
    outcome: NDArray[np.int8]


@kernel
def list_children(
    layer: tuple[Uint64Array, Uint64Array],
    legal: Uint64Array,
    allowed: Uint64Array,
    mover: Int64,
    slots: Int32Array,
    child: Int32Array,
    after: Uint64Array,
) -> Integer:
    """Find the positions after the allowed moves; return how many there are.

    layer: the marks of both players, uint64[n] each.  mover: 0 or 1.
    legal, allowed: uint64[n], sets of cells: those that may be marked, and the moves.
    slots: int32, a power of two of -1, at least twice `after`.
    child: int32[E], filled: the position after each move, in the order of positions and cells, or -1 if the cell is
    not legal.  after: uint64[most, 2], filled in the order found with the marks of both players.
    """
    mask, found, edge = np.uint64(slots.shape[0] - 1), np.int32(0), 0
    for i in range(allowed.shape[0]):
        first, second, cells = layer[0][i], layer[1][i], allowed[i]
        while cells != NONE:
            mark = single(lowest_bit(cells))
            cells &= cells - ONE
            edge += 1
            if legal[i] & mark == NONE:
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
def tell_apart(
    first: Uint64Array, second: Uint64Array, slots: Int64Array, number: Int64Array, kept: Int64Array
) -> np.int64:
    """Give equal positions the same number, in order of first appearance; return how many there are.

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
    """Return the number of each position (int64[n]) and the first position of each number (int64[found])."""
    number, kept = np.empty(first.size, np.int64), np.empty(first.size, np.int64)
    slots = np.full(1 << (2 * max(first.size, 1)).bit_length(), -1, np.int64)
    found = tell_apart(first, second, slots, number, kept)
    return number, kept[:found].copy()


class LayerRules:
    """Rules of a board for whole layers.  symmetric: only one image of each position is kept."""

    def __init__(self, board: Board, symmetric: bool = False) -> None:
        self.board, self.symmetric = board, symmetric
        self._all = np.uint64(2**board.cells - 1)
        self._masks = np.array(board.line_masks, np.uint64).reshape(-1, 2)
        # int64[halves, cells, images]: code of a mark in the first and in the last cells of each image.
        place, half = np.argsort(np.array(board.symmetries), axis=1).T, board.cells // 2
        self._image_powers = (
            np.where(place < half, 3 ** np.minimum(place, half), 0),
            np.where(place < half, 0, 3 ** np.maximum(place - half, 0)),
        )

    @property
    def start(self) -> Layer:
        """Return the layer of the empty board."""
        nothing = np.zeros(1, np.uint64)
        return Layer(nothing, nothing, np.zeros(1, np.int8))

    def legal(self, layer: Layer) -> Words:
        """Return the cells that may be marked in the unfinished positions of a layer."""
        going = layer.outcome == UNFINISHED
        free: Words = self.board.open_among(self._all & ~(layer.first[going] | layer.second[going]))
        return free

    def after(self, layer: Layer, ply: int, allowed: Words) -> tuple[NDArray[np.int32], Layer]:
        """Return where each allowed move of a layer's unfinished positions leads, and the next layer.

        allowed: sets of cells.  The first result is int32[E], numbers in the next layer in the order of positions and
        cells, -1 where the cell is not legal.
        """
        going = layer.outcome == UNFINISHED
        edges, most = int(np.bitwise_count(allowed).sum(dtype=np.int64)), positions_of_ply(self.board, ply + 1)
        space = min(edges, most)
        found, child = np.empty((space, 2), np.uint64), np.empty(edges, np.int32)
        slots = np.full(1 << (2 * max(space, 1)).bit_length(), -1, np.int32)
        marks = layer.first[going], layer.second[going]
        n = list_children(marks, self.legal(layer), allowed, ply % 2, slots, child, found)
        first, second = found[:n].T.copy()
        if self.symmetric:
            first, second, _ = self.folded(first, second)
            number, kept = distinct(first, second)
            first, second, made = first[kept], second[kept], child >= 0
            child[made] = number[child[made]]
        return child, Layer(first, second, self.outcome(first, second, ply))

    def outcome(self, first: Words, second: Words, ply: int) -> NDArray[np.int8]:
        """Return the outcome of positions after the move of `ply`."""
        own, mover = (second, 1) if ply % 2 else (first, 0)
        outcome = np.full(own.size, DRAW if ply + 1 == self.board.cells else UNFINISHED, np.int8)
        won = np.zeros(own.size, np.bool_)
        for line, fence in self._masks:
            won |= own & (line | fence) == line
        outcome[won] = self.board.won_by_line_of(mover)
        return outcome

    def folded(self, first: Words, second: Words) -> tuple[Words, Words, NDArray[np.int64]]:
        """Return each position's image of lowest code, and the number of that symmetry in `Board.symmetries`."""
        mine, theirs = as_cells(first, self.board.cells), as_cells(second, self.board.cells)
        # A code of 64 cells exceeds int64: compare its last cells first, then the others.
        marks = mine + 2 * theirs.astype(np.int64)
        low, high = (marks @ powers for powers in self._image_powers)
        low[high != high.min(1, keepdims=True)] = np.iinfo(np.int64).max
        number = low.argmin(1)
        images = np.array(self.board.symmetries)[number]
        first, second = (as_words(np.take_along_axis(cells, images, axis=1)) for cells in (mine, theirs))
        return first, second, number


Answers = Callable[[Words, Words, int], Answered]
"""Function from the marks of the mover, those of its opponent and the number of marks to the probabilities of cells,
float64[n, cells]."""

MOVES_A_POSITION = 8
"""Most moves of a layer, per position that a search may reach: 50 bytes each."""


@kernel
def pass_on(
    cells: Uint64Array, chance: Float64Array, chances: Float64Array, child: Int32Array, after: Float64Array
) -> float:
    """Add the probability of reaching each position of the next layer to `after` (float64[m]).

    Return the probability of picking a cell that is not legal.

    cells: uint64[n], the moves out of each position.  chance: float64[n], probability of reaching it.
    chances: float64[n, cells], of each move.  child: int32[E], see `layers.list_children`.
    """
    edge, missed = 0, 0.0
    for i in range(cells.shape[0]):
        left = cells[i]
        while left != NONE:
            arrives = chance[i] * chances[i, lowest_bit(left)]
            left &= left - ONE
            if child[edge] < 0:
                missed += arrives
            else:
                after[child[edge]] += arrives
            edge += 1
    return missed


class Reached:
    """Positions that games with the agent in one seat can reach, and the results that follow.

    seat: 0 or 1.  positions: their number, finished ones included.
    layers: by the number of marks.  allowed: sets of cells, the moves out of the unfinished positions of each layer.
    whole: True if all were reached; False if there were more than `most`, or a loss ended the search.
    """

    def __init__(
        self,
        rules: LayerRules,
        answers: Answers,
        seat: int,
        *,
        against: Answers | None = None,
        both: bool = False,
        most: int = 0,
        stop: bool = False,
    ) -> None:
        """answers: of the agent.  most: limit of positions; 0 for none.

        against: an opponent for exact shares; it is queried only about positions that games of the two reach.
        both: reach only these positions, in place of all after any moves of an opponent.
        stop: end at the first layer in which the agent has lost.
        """
        self.seat, self._rules, self._answers, self._against, self._both = seat, rules, answers, against, both
        self.layers, self.allowed, self.positions, self.whole = [rules.start], list[Words](), 1, True
        # Of games against the opponent: results of finished ones, and the probability of each position of a layer.
        self._results, self._chance, self._lost_after = np.zeros(4), np.ones(1), -1
        for ply in range(rules.board.cells + 1):
            layer = self.layers[-1]
            unfinished = (layer.outcome == UNFINISHED).any()
            if against:
                over = layer.outcome != UNFINISHED
                self._results += np.bincount(layer.outcome[over], self._chance[over], minlength=4)
                self._chance = self._chance[~over]
            self.whole = not unfinished or not ((most and self.positions > most) or (stop and self._lost_after >= 0))
            if not unfinished or not self.whole or not self._go_on(layer, ply, most):
                break

    def _go_on(self, layer: Layer, ply: int, most: int) -> bool:
        """Make the moves out of a layer; return False if there are too many."""
        mover, rules = ply % 2, self._rules
        chances, allowed = self._moves(layer, ply)
        if most and np.bitwise_count(allowed).sum(dtype=np.int64) > MOVES_A_POSITION * most:
            self.whole = False
            return False
        child, after = rules.after(layer, ply, allowed)
        self.allowed.append(allowed)
        self.layers.append(after)
        self.positions += after.first.size
        if self._lost_after < 0 and _ends(self.seat, mover, child, after).any():
            self._lost_after = ply
        if self._against:
            arrived = np.zeros(after.first.size)
            if chances is not None:  # a row of zeros resigns
                missed = pass_on(allowed, self._chance, np.ascontiguousarray(chances), child, arrived)
                self._results[FIRST_WINS + 1 - mover] += missed + self._chance[~chances.any(1)].sum()
            self._chance = arrived
        return True

    @property
    def shares(self) -> tuple[float, float, float]:
        """Return the probabilities of a first player's win, a draw, and a second player's win against the opponent."""
        first, draw, second = (float(self._results[result]) for result in (FIRST_WINS, DRAW, SECOND_WINS))
        total = first + draw + second  # 1 up to rounding; a certain result becomes exactly 1
        return first / total, draw / total, second / total

    def _moves(self, layer: Layer, ply: int) -> tuple[Answered | None, Words]:
        """Return probabilities of moves of a layer's unfinished positions, None if unused, and the allowed moves."""
        going = layer.outcome == UNFINISHED
        marks = layer.first[going], layer.second[going]
        own, other = marks[::-1] if ply % 2 else marks
        asked = self._answers if ply % 2 == self.seat else self._against if self._both else None
        if asked is not None:
            chances = asked(own, other, ply)
            return chances, as_words(chances > 0)
        legal = self._rules.legal(layer)
        if self._against is None:
            return None, legal
        met = np.flatnonzero(self._chance > 0)
        if not met.size:
            return None, legal
        answers = self._against(own[met], other[met], ply)
        if met.size == self._chance.size:
            return answers, legal | as_words(answers > 0)
        chances = np.zeros((self._chance.size, self._rules.board.cells))
        chances[met] = answers
        return chances, legal | as_words(chances > 0)

    def losing_line(self) -> list[int] | None:
        """Return the cells of a shortest game that the agent can lose, or None if it cannot be beaten here."""
        if self._lost_after < 0:
            return None
        line, position = list[int](), -1
        for ply in range(self._lost_after, -1, -1):
            layer, allowed = self.layers[ply], self.allowed[ply]
            child, after = self._rules.after(layer, ply, allowed)  # again, as keeping all moves takes more memory
            ends = child == position if line else _ends(self.seat, ply % 2, child, after)
            move = int(np.flatnonzero(ends)[0])
            passed = np.cumsum(np.bitwise_count(allowed), dtype=np.int64)
            source = int(np.searchsorted(passed, move, side="right"))
            cells = np.flatnonzero(as_cells(allowed[source : source + 1], self._rules.board.cells)[0])
            line.append(int(cells[move - passed[source]]))
            position = int(np.flatnonzero(layer.outcome == UNFINISHED)[source])
        return self._rules.board.real_line(line[::-1], self._rules.symmetric)


def _ends(seat: int, mover: int, child: NDArray[np.int32], after: Layer) -> NDArray[np.bool_]:
    """Return the moves by which the agent in a seat has lost (bool[E]), also its own illegal ones."""
    lost = np.append(after.outcome == FIRST_WINS + 1 - seat, mover == seat)  # the last entry: an illegal move
    ends: NDArray[np.bool_] = lost[child]
    return ends


def shares(rules: LayerRules, first: Answers, second: Answers) -> tuple[float, float, float]:
    """Return exact probabilities of a first player's win, a draw and a second player's win, from the empty board.

    Only positions that games of the two reach are queried.  An illegal move loses, and so does a row of zeros.
    """
    return Reached(rules, first, 0, against=second, both=True).shares
