"""Layers of real positions with equally many marks, and the positions that an agent's own play can reach.

Everything is done in whole arrays, a layer at a time.

What an agent's own play lets happen: every real position that a game can reach with the agent in one seat.
The agent's positions of a layer, all with the same number of marks, are asked about together.  After each of them come
the moves that it may make, and after its opponent's all that are legal.  So it can be beaten if and only if a game that
it has lost is among them.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ttt_batch.agents.base import Answered, Words, as_cells, as_words
from ttt_batch.compiler.bits import NONE, ONE, lowest_bit, single
from ttt_batch.compiler.jit import kernel
from ttt_batch.games.bitboards import hash_of
from ttt_batch.games.board import DRAW, FIRST_WINS, SECOND_WINS, UNFINISHED, Board
from ttt_batch.games.enumeration import positions_of_ply


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


Answers = Callable[[Words, Words, int], Answered]
"""float64[n, cells]: the probability of each cell, given the marks of the player to move, those of its opponent, and
how many marks there are."""

MOVES_A_POSITION = 8
"""Moves out of one layer, for each position that a search may reach, at which it gives up: 50 bytes each."""


@kernel
def list_possible(chances: Any, cells: Any) -> None:
    """Write the cells of a probability above 0 (float64[n, cells]) into `cells` (uint64[n])."""
    for i in range(chances.shape[0]):
        possible = NONE
        for cell in range(chances.shape[1]):
            if chances[i, cell] > 0:
                possible |= single(cell)
        cells[i] = possible


@kernel
def pass_on(cells: Any, chance: Any, chances: Any, child: Any, after: Any) -> Any:
    """Add to `after` (float64[m]) how likely games come there; return how likely they mark an occupied cell.

    cells: uint64[n], the moves out of each position.  chance: float64[n], how likely games come to it.
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


def possible_cells(chances: Answered) -> Words:
    """The cells that may be chosen."""
    cells = np.empty(len(chances), np.uint64)
    list_possible(np.ascontiguousarray(chances), cells)
    return cells


class ReachedPositions:
    """How likely games of two players come to each position of a layer, and how those that are over ended."""

    def __init__(self) -> None:
        self._results, self._chance = np.zeros(4), np.ones(1)

    def going(self, layer: Layer) -> NDArray[np.float64]:
        """float64[unfinished]: how likely games come to the unfinished positions; count the others as ended."""
        over = layer.outcome != UNFINISHED
        self._results += np.bincount(layer.outcome[over], self._chance[over], minlength=4)
        self._chance = self._chance[~over]
        return self._chance

    def move(self, mover: int, cells: Words, chances: Answered | None, child: NDArray[np.int32], after: Layer) -> None:
        """Go on to the next layer; `cells` are moves of at least the cells that `chances` are above 0 for.

        chances: None if no game comes to the layer's unfinished positions.  Zeros alone are a player who resigns.
        """
        arrived = np.zeros(after.first.size)
        if chances is not None:
            missed = pass_on(cells, self._chance, np.ascontiguousarray(chances), child, arrived)
            resigned = self._chance[~chances.any(1)].sum()
            self._results[FIRST_WINS + 1 - mover] += missed + resigned
        self._chance = arrived

    @property
    def shares(self) -> tuple[float, float, float]:
        """Probabilities that the first player wins, of a draw, and that the second wins."""
        first, draw, second = (float(self._results[result]) for result in (FIRST_WINS, DRAW, SECOND_WINS))
        total = first + draw + second  # 1 but for rounding: what is certain is exactly 1
        return first / total, draw / total, second / total


class Reached:
    """The positions that an agent's play lets happen with the agent in one seat, and what that means.

    seat: 0 or 1.  positions: how many there are, finished ones included.
    layers: by the number of marks.  allowed: sets of cells, the moves out of the unfinished positions of each layer.
    whole: whether all were reached; False if there were more than `most`, or a loss ended the search.
    games: what happens against the opponent, if there is one.
    """

    def __init__(
        self,
        rules: LayerRules,
        answers: Answers,
        seat: int,
        *,
        against: Answers | None = None,
        most: int = 0,
        stop: bool = False,
    ) -> None:
        """answers: what the agent answers.  most: positions to reach at most; 0 for any number.

        against: an opponent for exact shares; it is asked only about positions that games of the two reach.
        stop: end at the first layer in which the agent has lost.
        """
        self.seat, self._rules, self._answers, self._against = seat, rules, answers, against
        self.layers, self.allowed, self.positions, self.whole = [rules.start], list[Words](), 1, True
        self.games, self._lost_after = ReachedPositions(), -1
        for ply in range(rules.board.cells + 1):
            layer = self.layers[-1]
            chance = self.games.going(layer) if against else np.zeros(0)
            unfinished = (layer.outcome == UNFINISHED).any()
            self.whole = not unfinished or not ((most and self.positions > most) or (stop and self._lost_after >= 0))
            if not unfinished or not self.whole or not self._go_on(layer, ply, chance, most):
                break

    def _go_on(self, layer: Layer, ply: int, chance: NDArray[np.float64], most: int) -> bool:
        """Make the moves out of a layer, unless there are too many."""
        mover, rules = ply % 2, self._rules
        chances, allowed = self._moves(layer, ply, chance)
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
            self.games.move(mover, allowed, chances, child, after)
        return True

    def _moves(self, layer: Layer, ply: int, chance: NDArray[np.float64]) -> tuple[Answered | None, Words]:
        """Probabilities of the moves out of a layer's unfinished positions, if they matter, and which may be made."""
        going = layer.outcome == UNFINISHED
        marks = layer.first[going], layer.second[going]
        own, other = marks[::-1] if ply % 2 else marks
        if ply % 2 == self.seat:
            chances = self._answers(own, other, ply)
            return chances, possible_cells(chances)
        legal = self._rules.legal(layer)
        if self._against is None:
            return None, legal
        met = np.flatnonzero(chance > 0)
        if not met.size:
            return None, legal
        answers = self._against(own[met], other[met], ply)
        if met.size == chance.size:
            return answers, legal | possible_cells(answers)
        chances = np.zeros((chance.size, self._rules.board.cells))
        chances[met] = answers
        return chances, legal | possible_cells(chances)

    @property
    def worst(self) -> int:
        """The agent's worst result, with every move that it may make: 1 it wins, 0 draws, -1 loses."""
        if self._lost_after >= 0:
            return -1
        return 0 if any((layer.outcome == DRAW).any() for layer in self.layers) else 1

    def losing_line(self) -> list[int] | None:
        """The cells of a shortest game that the agent can lose, or None if it cannot be beaten here."""
        if self._lost_after < 0:
            return None
        line, position = list[int](), -1
        for ply in range(self._lost_after, -1, -1):
            layer, allowed = self.layers[ply], self.allowed[ply]
            child, after = self._rules.after(layer, ply, allowed)  # the same again: keeping all moves takes more memory
            ends = child == position if line else _ends(self.seat, ply % 2, child, after)
            move = int(np.flatnonzero(ends)[0])
            passed = np.cumsum(np.bitwise_count(allowed), dtype=np.int64)
            source = int(np.searchsorted(passed, move, side="right"))
            cells = np.flatnonzero(as_cells(allowed[source : source + 1], self._rules.board.cells)[0])
            line.append(int(cells[move - passed[source]]))
            position = int(np.flatnonzero(layer.outcome == UNFINISHED)[source])
        return self._real(line[::-1])

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


def _ends(seat: int, mover: int, child: NDArray[np.int32], after: Layer) -> NDArray[np.bool_]:
    """bool[E]: the moves by which the agent in a seat has lost; by its own onto an occupied cell, too."""
    lost = np.append(after.outcome == FIRST_WINS + 1 - seat, mover == seat)  # the last one: an occupied cell
    ends: NDArray[np.bool_] = lost[child]
    return ends


def shares(rules: LayerRules, first: Answers, second: Answers) -> tuple[float, float, float]:
    """Exact probabilities that the first player wins, of a draw, and that the second wins, from the empty board.

    Only positions that games of the two reach are asked about.  An occupied cell loses, and so do zeros alone.
    """
    layer, games = rules.start, ReachedPositions()
    for ply in range(rules.board.cells + 1):
        games.going(layer)
        going = layer.outcome == UNFINISHED
        if not going.any():
            break
        marks = layer.first[going], layer.second[going]
        chances = (second if ply % 2 else first)(*(marks[::-1] if ply % 2 else marks), ply)
        cells = possible_cells(chances)
        child, after = rules.after(layer, ply, cells)
        games.move(ply % 2, cells, chances, child, after)
        layer = after
    return games.shares
