"""What an agent's own play lets happen: every real position that a game can reach with the agent in one seat.

The agent's positions of a layer, all with the same number of marks, are asked about together.  After each of them come
the moves that it may make, and after its opponent's all that are legal.  So it can be beaten if and only if a game that
it has lost is among them.  Everything is done in whole arrays, a layer at a time.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ttt_batch.agents.answers import Chances
from ttt_batch.agents.positions import Words, as_cells, as_words, legal_cells
from ttt_batch.base.bits import NONE, ONE, lowest, single
from ttt_batch.base.jit import kernel
from ttt_batch.game.bitboards import hash_of
from ttt_batch.game.board import DRAW, FIRST_WINS, SECOND_WINS, UNFINISHED, Board
from ttt_batch.game.state_space import positions_of_ply

Answers = Callable[[Words, Words, int], Chances]
"""float64[n, cells]: the probability of each cell, given the marks of the player to move, those of its opponent, and
how many marks there are."""


class Layer(NamedTuple):
    """The positions with as many marks as moves were made.

    first, second: uint64[n], the marks of both players.  outcome: int8[n].
    """

    first: Words
    second: Words
    outcome: NDArray[np.int8]


class Moves(NamedTuple):
    """Moves out of the unfinished positions of a layer, in the order of positions and cells.

    source, cell: int32[E] and int8[E], the position, and the cell that is marked.
    child: int32[E], the position of the next layer, or -1 if the cell is occupied, which loses.
    """

    source: NDArray[np.int32]
    cell: NDArray[np.int8]
    child: NDArray[np.int32]


@kernel
def spread(layer: Any, allowed: Any, mover: Any, slots: Any, moves: Any, after: Any) -> Any:
    """Find the positions after the allowed moves; return how many there are.

    layer, after: the marks of both players, uint64[n] each; `after` is filled in the order found.
    allowed: uint64[n], sets of cells.  mover: 0 or 1.  slots: int32, a power of two of -1, at least twice `after`.
    moves: `cell` and `child` of `Moves`, filled in place.
    """
    mask, found, edge = np.uint64(slots.shape[0] - 1), np.int32(0), 0
    for i in range(allowed.shape[0]):
        first, second, cells = layer[0][i], layer[1][i], allowed[i]
        while cells != NONE:
            cell = lowest(cells)
            mark = single(cell)
            cells &= cells - ONE
            moves[0][edge] = cell
            edge += 1
            if (first | second) & mark != NONE:
                moves[1][edge - 1] = -1
                continue
            one, two = (first, second | mark) if mover else (first | mark, second)
            slot = hash_of(one ^ hash_of(two)) & mask
            while slots[slot] >= 0 and (after[0][slots[slot]] != one or after[1][slots[slot]] != two):
                slot = (slot + ONE) & mask
            if slots[slot] < 0:
                slots[slot] = found
                after[0][found], after[1][found] = one, two
                found += 1
            moves[1][edge - 1] = slots[slot]
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


MOVES_A_POSITION = 8
"""Moves out of one layer, for each position that a search may reach, at which it gives up: 60 bytes each."""


class Rules:
    """The rules of a board for whole layers.  symmetric: of the images of a position only one is kept."""

    def __init__(self, board: Board, symmetric: bool = False) -> None:
        self.board, self.symmetric = board, symmetric
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

    def after(self, layer: Layer, ply: int, allowed: NDArray[np.bool_]) -> tuple[Moves, Layer]:
        """The allowed moves out of a layer's unfinished positions, and the positions after them.

        allowed: bool[unfinished, cells].
        """
        unfinished = np.flatnonzero(layer.outcome == UNFINISHED).astype(np.int32)
        cells = as_words(allowed)
        many = np.bitwise_count(cells)
        edges, most = int(many.sum(dtype=np.int64)), positions_of_ply(self.board, ply + 1)
        space = min(edges, most)
        found = np.empty(space, np.uint64), np.empty(space, np.uint64)
        moves = Moves(unfinished.repeat(many), np.empty(edges, np.int8), np.empty(edges, np.int32))
        slots = np.full(1 << (2 * max(space, 1)).bit_length(), -1, np.int32)
        before = layer.first[unfinished], layer.second[unfinished]
        n = spread(before, cells, ply % 2, slots, (moves.cell, moves.child), found)
        first, second = (marks[:n].copy() for marks in found)
        if self.symmetric:
            first, second, _ = self.folded(first, second)
            number, kept = distinct(first, second)
            first, second, made = first[kept], second[kept], moves.child >= 0
            moves.child[made] = number[moves.child[made]]
        return moves, Layer(first, second, self._outcome(first, second, ply))

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


class Reached:
    """The positions that an agent's play lets happen with the agent in one seat, and what that means.

    seat: 0 or 1.  positions: how many there are, finished ones included.
    whole: whether all were reached; False if there were more than `most`, or a loss ended the search.
    """

    def __init__(self, rules: Rules, answers: Answers, seat: int, *, most: int = 0, stop: bool = False) -> None:
        """answers: what the agent answers.  most: positions to reach at most; 0 for any number.

        stop: end at the first layer in which the agent has lost.
        """
        self.seat, self._rules = seat, rules
        self.layers, self.moves, self.positions, self.whole = [rules.start], list[Moves](), 1, True
        for ply in range(rules.board.cells):
            layer = self.layers[-1]
            allowed = self._allowed(layer, ply, answers)
            if most and np.count_nonzero(allowed) > MOVES_A_POSITION * most:
                self.whole = False
                break
            moves, after = rules.after(layer, ply, allowed)
            self.layers.append(after)
            self.moves.append(moves)
            self.positions += after.first.size
            lost = (moves.child < 0).any() or (after.outcome == FIRST_WINS + 1 - seat).any()
            unfinished = (after.outcome == UNFINISHED).any()
            if unfinished and ((most and self.positions > most) or (stop and lost)):
                self.whole = False
            if not unfinished or not self.whole:
                break

    def _allowed(self, layer: Layer, ply: int, answers: Answers) -> NDArray[np.bool_]:
        """bool[unfinished, cells]: the moves that may be made."""
        going = layer.outcome == UNFINISHED
        first, second = layer.first[going], layer.second[going]
        if ply % 2 != self.seat:
            return legal_cells(self._rules.board, first | second)
        own, other = (second, first) if ply % 2 else (first, second)
        allowed: NDArray[np.bool_] = answers(own, other, ply) > 0
        return allowed

    @property
    def worst(self) -> int:
        """The agent's worst result, with every move that it may make: 1 it wins, 0 draws, -1 loses."""
        outcomes = np.concatenate([layer.outcome for layer in self.layers])
        if (outcomes == FIRST_WINS + 1 - self.seat).any() or any((moves.child < 0).any() for moves in self.moves):
            return -1
        return 0 if (outcomes == DRAW).any() else 1

    def losing_line(self) -> list[int] | None:
        """The cells of a shortest game that the agent can lose, or None if it cannot be beaten here."""
        before: list[int] = []
        for ply, moves in enumerate(self.moves):
            after = self.layers[ply + 1]
            lost = np.append(after.outcome == FIRST_WINS + 1 - self.seat, True)  # the last one: an occupied cell
            ends = np.flatnonzero(lost[moves.child])
            if ends.size:
                before = [int(moves.cell[ends[0]])]
                position = int(moves.source[ends[0]])
                for earlier in self.moves[:ply][::-1]:
                    move = int(np.flatnonzero(earlier.child == position)[0])
                    before.append(int(earlier.cell[move]))
                    position = int(earlier.source[move])
                return self._real(before[::-1])
        return None

    def _real(self, line: list[int]) -> list[int]:
        """A game given as cells of kept images, as cells of one board."""
        board, real = self._rules.board, list[int]()
        if not self._rules.symmetric:
            return line
        marks = [np.zeros(1, np.uint64), np.zeros(1, np.uint64)]
        for ply, cell in enumerate(line):
            image = board.symmetries[int(self._rules.folded(*marks)[2][0])]
            real.append(image[cell])
            marks[ply % 2] = marks[ply % 2] | np.uint64(1 << image[cell])
        return real


def shares(rules: Rules, first: Answers, second: Answers) -> tuple[float, float, float]:
    """Exact probabilities that the first player wins, of a draw, and that the second wins, from the empty board.

    Only positions that games of the two reach are asked about.  An occupied cell loses.
    """
    layer, results = rules.start, np.zeros(4)
    chance: NDArray[np.float64] = np.ones(1)
    for ply in range(rules.board.cells):
        going = layer.outcome == UNFINISHED
        results += np.bincount(layer.outcome[~going], chance[~going], minlength=4)
        if not going.any():
            break
        marks = layer.first[going], layer.second[going]
        answers = (second if ply % 2 else first)(*(marks[::-1] if ply % 2 else marks), ply)
        moves, after = rules.after(layer, ply, answers > 0)
        arrives = chance[moves.source] * answers[answers > 0]
        made = moves.child >= 0
        results[FIRST_WINS + 1 - ply % 2] += arrives[~made].sum()
        layer = after
        chance = np.bincount(moves.child[made], arrives[made], minlength=after.first.size).astype(np.float64)
    else:
        results += np.bincount(layer.outcome, chance, minlength=4)
    return float(results[FIRST_WINS]), float(results[DRAW]), float(results[SECOND_WINS])
