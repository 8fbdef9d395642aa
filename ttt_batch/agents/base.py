"""Agent protocol: batches of positions, and answers brought into the form of action probabilities.

Inside the package a position is two words, the marks of both players; agents get arrays.  An invalid answer is
reported in one line, with its position.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ttt_batch.compiler.jit import Bool, BoolArray, Float64Array, Int64, kernel
from ttt_batch.core.errors import AgentError, command_with, flag, quoted
from ttt_batch.core.text import SEATS, count_text
from ttt_batch.games.board import EMPTY, FIRST, MARKS, SECOND, Board, Position

Words = NDArray[np.uint64]
"""uint64[n]: a set of cells for each of n positions."""


class Positions(NamedTuple):
    """Batch of unfinished positions, as agents get it.

    boards: int8[n, rows, cols], 1 marks of the player to move, -1 of the other, 0 free cells.
    to_move: int8[n], 0 if the first player moves, 1 if the second.
    legal: bool[n, cells], the cells that may be marked, row by row.
    """

    boards: NDArray[np.int8]
    to_move: NDArray[np.int8]
    legal: NDArray[np.bool_]

    @property
    def size(self) -> int:
        """Return the number of positions."""
        return len(self.boards)

    def picked(self, numbers: NDArray[np.int64] | slice) -> "Positions":
        """Return the positions with these numbers, in this order."""
        return Positions(self.boards[numbers], self.to_move[numbers], self.legal[numbers])

    def position(self, number: int) -> Position:
        """Return the marks of one position."""
        marks = FIRST, SECOND
        mover = int(self.to_move[number])
        named = {1: marks[mover], -1: marks[1 - mover], 0: EMPTY}
        return tuple(named[mark] for mark in self.boards[number].ravel().tolist())


def as_cells(words: Words, cells: int) -> NDArray[np.bool_]:
    """Return the cells of each set as bool[n, cells]."""
    octets = words.astype("<u8").view(np.uint8).reshape(-1, 8)
    return np.unpackbits(octets, axis=1, count=cells, bitorder="little").view(np.bool_)


def as_words(chosen: NDArray[np.bool_]) -> Words:
    """Return the cells that are True in each row (bool[n, cells]) as sets, uint64[n]."""
    octets = np.zeros((len(chosen), 8), np.uint8)
    octets[:, : -(-chosen.shape[1] // 8)] = np.packbits(chosen, axis=1, bitorder="little")
    return octets.view("<u8").ravel().astype(np.uint64)


def position_codes(first: Words, second: Words, cells: int) -> NDArray[np.int64]:
    """Return the codes (int64[n]) of positions with these marks of both players, on boards of at most 39 cells."""
    powers = 3 ** np.arange(cells, dtype=np.int64)
    codes: NDArray[np.int64] = as_cells(first, cells) @ powers + 2 * (as_cells(second, cells) @ powers)
    return codes


def batch_of(board: Board, own: Words, other: Words, mover: int | NDArray[np.integer]) -> Positions:
    """Return the batch of positions with these marks of the player to move and of its opponent.

    mover: 0 or 1, for all positions or for each.
    """
    mine, theirs = as_cells(own, board.cells), as_cells(other, board.cells)
    boards = (mine.astype(np.int8) - theirs.astype(np.int8)).reshape(-1, board.rows, board.cols)
    to_move = np.broadcast_to(np.int8(mover), own.shape).astype(np.int8)
    return Positions(boards, to_move, board.open_among(~(mine | theirs)))


def mover_words(batch: Positions) -> tuple[Words, Words]:
    """Return the marks of the player to move and of its opponent, uint64[n] each."""
    flat = batch.boards.reshape(batch.size, -1)
    return as_words(flat == 1), as_words(flat == -1)


def batch_at(board: Board, position: Position) -> Positions:
    """Return the batch of one unfinished position."""
    marks = np.array([position])
    mover = int((marks != EMPTY).sum()) % 2
    own, other = as_words(marks == FIRST + mover), as_words(marks == SECOND - mover)
    return batch_of(board, own, other, mover)


MOST_AT_ONCE = 1 << 20
"""Most positions of one call of an agent: 64 MB of arrays on 4x4x4."""


class Agent:
    """Source of answers to positions of one board or of many.

    name: for results and messages.  loses: True if an occupied cell loses, as in the rules under which it learnt; for
    other agents an occupied cell is an error, unless the user allows it.
    own: True for built-in agents, which always answer the same.
    at_once: most positions per call; few for a slow agent, so that progress can be shown.
    seats: the seats that it can play.  proved: the seat in which a certificate proves it; elsewhere it plays anything.
    resigns: True if an answer of zeros resigns; only for built-in agents.
    """

    name = "agent"
    loses = False
    own = False
    at_once = MOST_AT_ONCE
    seats: tuple[str, ...] = SEATS
    proved: str | None = None
    resigns = False

    def ask(self, batch: Positions) -> Any:
        """Return int[n], a cell for each position, or float[n, cells], probabilities.  Raises AgentError."""
        raise NotImplementedError

    def knows(self, position: Position) -> bool:
        """Return whether its answer to a position is its own; False for a stopgap."""
        return True

    def close(self) -> None:
        """End its processes."""


SUM_TOLERANCE = 1e-6
"""Largest deviation from 1 of a position's probabilities in all: float32 has seven digits."""

Answered = NDArray[np.float64]
"""float64[n, cells]: the probability of each cell in each of n positions; rows sum to 1."""


def chances_answered(board: Board, name: str, batch: Positions, answer: Any, *, loses: bool | None = False) -> Answered:
    """Return the probabilities that an answer means.

    answer: int[n], a cell for each position, or float[n, cells], probabilities.
    loses: an occupied cell is valid and loses the game; None if the user cannot choose that here.
    Raises AgentError for any other answer.
    """
    n, cells = batch.size, board.cells
    try:
        given = np.asarray(answer)
    except Exception:  # lists of different lengths, or an error of a foreign object
        given = np.array(None)
    if given.shape == (n,) and given.dtype.kind in "iu":
        return _of_cells(board, name, batch, given, loses)
    if given.shape == (n, cells) and given.dtype.kind == "f":
        with np.errstate(over="ignore"):  # more than 64 bits: too large becomes infinite, which is reported
            return _of_probabilities(board, name, batch, np.ascontiguousarray(given, np.float64), loses)
    first = f", the first {where(board, batch, 0)}" if n else ""
    raise AgentError(
        f"{name} answered {_kind(given)} to {count_text(n, 'position')}{first}; "
        f"return int[{n}], a cell for each, or float[{n}, {cells}], probabilities"
    )


def where(board: Board, batch: Positions, number: int) -> str:
    """Return a position for a message: its rows, and who moves."""
    return f"{board.format_position(batch.position(number))!r} ({MARKS[1 + int(batch.to_move[number])]} to move)"


def _kind(given: NDArray[Any]) -> str:
    """Return the type and shape of an invalid answer."""
    if given.shape or given.dtype.kind not in "OiufU":
        return f"{given.dtype}{list(given.shape)}"
    one = given.item()
    return quoted(one) if one is None or isinstance(one, int | float | str) else f"an object of {type(one).__name__}"


def _of_cells(board: Board, name: str, batch: Positions, given: NDArray[Any], loses: bool | None) -> Answered:
    """Return the probabilities of an answer with a cell for each position."""
    outside = np.flatnonzero((given < 0) | (given >= board.cells))
    if outside.size:
        number = int(outside[0])
        raise AgentError(
            f"in position {where(board, batch, number)} {name} answered cell {int(given[number])}, outside 0 .. "
            f"{board.cells - 1}; cells count from 0"
        )
    rows = np.arange(batch.size)
    occupied = np.flatnonzero(~batch.legal[rows, given])
    if occupied.size and not loses:
        number = int(occupied[0])
        raise AgentError(
            f"in position {where(board, batch, number)} {name} answered cell {int(given[number])}, which is "
            f"{why_not(board)}{_remedy(loses)}"
        )
    chances = np.zeros((batch.size, board.cells))
    chances[rows, given] = 1.0
    return chances


@kernel
def evened(given: Float64Array, legal: BoolArray, loses: Bool, chances: Float64Array) -> Int64:
    """Write probabilities divided by their sums (float64[n, cells]); return the first row that is at fault, or -1.

    given: float64[n, cells].  legal: bool[n, cells].  loses: whether occupied cells may have a probability.
    """
    for i in range(given.shape[0]):
        total, fault = 0.0, False
        for cell in range(given.shape[1]):
            total += given[i, cell]
            fault |= not given[i, cell] >= 0 or (given[i, cell] > 0 and not legal[i, cell] and not loses)
        if fault or not abs(total - 1) <= SUM_TOLERANCE:
            return i
        for cell in range(given.shape[1]):
            chances[i, cell] = given[i, cell] / total
    return -1


def _of_probabilities(board: Board, name: str, batch: Positions, given: Answered, loses: bool | None) -> Answered:
    """Return the probabilities of an answer with a probability for each cell."""
    chances: Answered = np.empty_like(given)
    number = int(evened(given, batch.legal, bool(loses), chances))
    if number >= 0:
        row = given[number]
        total = sum(row.tolist())
        cell = int(np.flatnonzero(~np.isfinite(row) | (row < 0) | ((row > 0) & ~batch.legal[number]))[0:1].sum())
        if not np.isfinite(row).all() or (row < 0).any():
            fault = f"answered probability {row[cell]:g} for cell {cell}; give numbers from 0 to 1"
        elif abs(total - 1) > SUM_TOLERANCE:
            fault = f"answered probabilities that sum to {total:.9g}; let them sum to 1"
        else:
            fault = f"answered probability {row[cell]:g} for cell {cell}, which is {why_not(board)}{_remedy(loses)}"
        raise AgentError(f"in position {where(board, batch, number)} {name} {fault}")
    return chances


def why_not(board: Board) -> str:
    """Return why a cell may not be marked."""
    return "occupied or in the air" if board.gravity else "occupied"


def _remedy(loses: bool | None) -> str:
    return "" if loses is None else f"; {flag('illegal', 'loses')} lets it lose the game"


def disagreement(board: Board, name: str, batch: Positions, before: Answered, after: Answered) -> None:
    """Raise AgentError if an agent's second answer to `batch` differs from `before`."""
    differ = np.flatnonzero((np.abs(before - after) > AGAIN_TOLERANCE).any(1))
    if differ.size:
        number = int(differ[0])
        raise AgentError(
            f"in position {where(board, batch, number)} {name} answered {_told(before[number])}, and in another batch "
            f"{_told(after[number])}; an agent that draws its moves must return probabilities, and only "
            f"{command_with('evaluate', 'samples', 100)} judges it by its answers"
        )


AGAIN_TOLERANCE = 1e-4
"""Tolerance of probabilities between batches, in which sums of float32 round differently."""


def _told(row: Answered) -> str:
    """Return an answer in words."""
    if row.max() == 1.0:
        return f"cell {int(row.argmax())}"
    return f"probabilities {quoted([round(one, 4) for one in row.tolist()])}"
