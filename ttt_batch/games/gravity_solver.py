"""Solver of boards on which marks fall, such as Connect Four: exact results of single positions by search.

A position is two words: the cells of the player to move, and those of both players.  Column c has the bits from
`c * (rows + 1)` up, its lowest cell first, and one bit above them that stays free.  So no line runs from the top of a
column into the next one, and the sum of the two words is a key that no other position has.

A score is a result for the player to move.  It counts the marks that the winner has left, so quicker wins score higher.
The search is negamax with null windows: it asks whether a score reaches a bound, and narrows the range of scores by
that.  It enters positions only whose player cannot win at once.  It leaves out moves after which the opponent could,
and orders the others by the threats that they make, central columns first.  Where a player can answer in pairs, so that
the other cannot win, no search is needed.

Bounds of scores are kept in a table, in which later positions replace earlier ones.  The index of a slot and the 56
bits of its tag hold a whole hash, and no two keys have the same.  So an entry never belongs to another position.
"""

import functools
import threading
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ttt_batch.compiler.bits import NONE, ONE, popcount
from ttt_batch.compiler.intrinsics import prefetch_word
from ttt_batch.compiler.jit import Int64, Int64Array, Uint64Array, inlined, kernel
from ttt_batch.core.errors import BoardError, UsageError
from ttt_batch.games.bitboards import hash_of
from ttt_batch.games.board import EMPTY, FIRST, FIRST_WINS, SECOND_WINS, UNFINISHED, Board, Position
from ttt_batch.games.opening_book import SIGN_ONLY, read_book
from ttt_batch.games.solution import SolvedResult

SLOTS, FEWEST_SLOTS = 1 << 22, 256
"""Slots of the table, a power of two, of 8 bytes each.  With fewer an entry would not hold a whole hash."""

LIMIT = 6_000_000
"""Positions that the search for one answer may enter, which takes 1.2 s."""

QUICK_LIMIT = LIMIT // 10
"""The same for an answer at every move of a game that goes on by itself."""

SLICE = 2_000_000
"""Positions entered between two chances to interrupt a search, which take 0.4 s."""

WORD_BITS = 64
"""Bits of a word, which hold `cols * (rows + 1)`."""

TAG = ~np.uint64(0xFF)
"""Bits of a hash in a slot.  The low byte holds 2 * (score + MIDDLE), plus 1 for a lower bound; 0 if it is empty."""

MIDDLE = 33
"""Number above all scores, since a player has at most 32 marks."""

UNKNOWN = 99
"""Number outside the scores."""

ALL, SIGN = (-MIDDLE, MIDDLE), (-1, 1)
"""Ranges of scores, the second of which tells who wins."""


class ColumnBits(NamedTuple):
    """Board as the solver reads it.

    columns: uint64[cols], the cells of each column, central columns first.
    bottom, board: uint64, the lowest cells of all columns, and all cells.
    even: uint64, those of the top row and of every second one below it.  rows, k, cells: as in `Board`.
    """

    columns: Uint64Array
    bottom: np.uint64
    board: np.uint64
    even: np.uint64
    rows: int
    k: int
    cells: int


class Stack(NamedTuple):
    """Scratch of a search.  The first six arrays have a row for each number of marks.

    own, taken: uint64[cells + 1], the marks of the player to move, and of both.  hash: uint64[cells + 1], of their key.
    moves: uint64[cells + 1, cols], the moves to search, each a set of one cell, the most promising last.
    left: int64[cells + 1], the number of moves still to be searched.  best: int64[cells + 1], the best score found.
    threats: int64[cols], those that each move makes.  entered: int64[1], the number of positions entered.
    paused: int64[3] of a search that is to go on: its number of marks, else -1, and the range of the score.
    """

    own: Uint64Array
    taken: Uint64Array
    hash: Uint64Array
    moves: Uint64Array
    left: Int64Array
    best: Int64Array
    threats: Int64Array
    entered: Int64Array
    paused: Int64Array


@inlined
def completing(grid: ColumnBits, own: np.uint64) -> np.uint64:
    """Return the cells (uint64), marked or not, that complete a line of the player of `own` (uint64)."""
    found = NONE
    for direction in range(4):
        step = np.int64(1) if direction == 0 else np.int64(grid.rows - 1 + direction)
        if (grid.k - 1) * step >= WORD_BITS:
            continue  # no such line fits, and machine code does not shift that far
        if grid.k == 4:  # most games; shared terms make it quicker than the loop below
            one, two, three = np.uint64(step), np.uint64(2 * step), np.uint64(3 * step)
            low, high = (own << one) & (own << two), (own >> one) & (own >> two)
            found |= (low & ((own << three) | (own >> one))) | (high & ((own >> three) | (own << one)))
            continue
        for gap in range(grid.k):
            line = ~NONE
            for place in range(grid.k):
                if place < gap:
                    line &= own << np.uint64((gap - place) * step)
                elif place > gap:
                    line &= own >> np.uint64((place - gap) * step)
            found |= line
    return found & grid.board


@inlined
def has_line(grid: ColumnBits, marks: np.uint64) -> bool:
    """Return whether a set of cells (uint64) contains a line."""
    return completing(grid, marks) & marks != NONE


@inlined
def most_by_pairs(grid: ColumnBits, ply: Int64, own: np.uint64, taken: np.uint64) -> Int64:
    """Return an upper bound of the score, 0 or -1, if the opponent has a pairing strategy; else UNKNOWN.

    With an even number of free cells the opponent answers each move with the cell above it.  A move to the lowest cell
    of a column with an odd number of free cells is answered with the lowest cell of another such column.  So the player
    to move gets at most the lowest free cells and those that are not `even`.

    With an odd number the opponent also needs a threat on a cell that is not `even`, and never plays the cell below it.
    In the end the player to move must, and the opponent completes the line.

    After Allis, "A Knowledge-Based Approach of Connect-Four", 1988.
    """
    most: Any = np.int64(UNKNOWN)
    other, free = own ^ taken, grid.board & ~taken
    even, lowest = free & grid.even, (taken + grid.bottom) & grid.board
    if (grid.cells - ply) & 1 == 0:
        if not has_line(grid, own | (free & ~even) | lowest):
            most = np.int64(-1) if has_line(grid, other | (even & ~lowest)) else np.int64(0)
        return most
    threats = completing(grid, other) & free & ~even & ~lowest
    for number in range(grid.columns.shape[0]):
        column = grid.columns[number]
        threat = threats & column
        if threat != NONE:
            below = (threat & (NONE - threat)) - ONE
            if not has_line(grid, own | (free & ~even & ~column) | (even & column & below) | lowest):
                most = np.int64(-1)
    return most


@inlined
def recalled(slots: Uint64Array, key: np.uint64, bound: Int64) -> Int64:
    """Return a kept bound that tells whether a score is at least `bound`; UNKNOWN without one.  key: uint64, a hash."""
    entry = slots[key & np.uint64(slots.shape[0] - 1)]
    kept = np.int64(entry & ~TAG)
    score = (kept >> 1) - MIDDLE
    return score if kept != 0 and (entry ^ key) & TAG == NONE and (score >= bound) == (kept & 1 == 1) else UNKNOWN


@inlined
def keep_bound(slots: Uint64Array, key: np.uint64, score: Int64, bound: Int64) -> None:
    """Keep a score that is a lower bound if it is at least `bound`, else an upper one."""
    kept = 2 * (score + MIDDLE) + np.int64(score >= bound)
    slots[key & np.uint64(slots.shape[0] - 1)] = (key & TAG) | np.uint64(kept)


@inlined
def order_moves(grid: ColumnBits, slots: Uint64Array, stack: Stack, ply: Int64, safe: np.uint64) -> bool:
    """List the moves to `safe` (uint64) after `ply` marks in their order; return True instead if one wins soon.

    It wins with the next mark if it makes two threats that must be met at once, or one above another.
    """
    own, taken, listed = stack.own[ply], stack.taken[ply], 0
    other = own ^ taken
    for number in range(grid.columns.shape[0]):
        move = safe & grid.columns[number]
        if move == NONE:
            continue
        after = taken | move
        threats = completing(grid, own | move) & ~after
        urgent = threats & (after + grid.bottom)
        if urgent & (urgent - ONE) != NONE or urgent & (threats >> ONE) != NONE:
            return True
        prefetch_word(slots, hash_of(other + after) & np.uint64(slots.shape[0] - 1))
        made, place = popcount(threats), listed
        while place > 0 and stack.threats[place - 1] >= made:
            stack.threats[place] = stack.threats[place - 1]
            stack.moves[ply, place] = stack.moves[ply, place - 1]
            place -= 1
        stack.threats[place], stack.moves[ply, place] = made, move
        listed += 1
    stack.left[ply] = listed
    return False


@inlined
def look_ahead(grid: ColumnBits, slots: Uint64Array, stack: Stack, ply: Int64, bound: Int64) -> Int64:
    """Return and keep a score of at least `bound` if one of the listed moves is known to reach it; else UNKNOWN."""
    score: Any = np.int64(UNKNOWN)
    own, taken, needed = stack.own[ply] ^ stack.taken[ply], stack.taken[ply], 1 - bound
    for number in range(stack.left[ply] - 1, -1, -1):
        score = recalled(slots, hash_of(own + (taken | stack.moves[ply, number])), needed)
        if score < needed:
            break
    if score >= needed and needed >= 0:
        for number in range(stack.left[ply] - 1, -1, -1):
            score = most_by_pairs(grid, ply + 1, own, taken | stack.moves[ply, number])
            if score < needed:
                break
    if score >= needed:
        return UNKNOWN
    keep_bound(slots, stack.hash[ply], -score, bound)
    return -score


@inlined
def enter(grid: ColumnBits, slots: Uint64Array, stack: Stack, ply: Int64, bound: Int64) -> bool:
    """Write a score into `stack.best` and return True if it is known at once; else list the moves, in place.

    bound: as in `reaches`, for the position after `ply` marks.
    """
    own, taken = stack.own[ply], stack.taken[ply]
    threats = completing(grid, own ^ taken) & ~taken
    open_cells = (taken + grid.bottom) & grid.board
    forced = open_cells & threats
    safe = (open_cells if forced == NONE else forced) & ~(threats >> ONE)
    lowest, highest = -((grid.cells - ply) // 2), (grid.cells - 1 - ply) // 2
    score = recalled(slots, stack.hash[ply], bound)
    if safe == NONE or forced & (forced - ONE) != NONE:
        score = lowest
    elif ply >= grid.cells - 2:
        score = np.int64(0)
    elif lowest + 1 >= bound:
        score = lowest + 1
    elif highest < bound:
        score = highest
    elif score == UNKNOWN:
        if bound >= 0:
            score = most_by_pairs(grid, ply, own, taken)
        if score >= bound:
            won_soon = order_moves(grid, slots, stack, ply, safe)
            score = highest if won_soon else look_ahead(grid, slots, stack, ply, bound)
    stack.best[ply] = -MIDDLE if score == UNKNOWN else score
    return score != UNKNOWN


@inlined
def place_marks(stack: Stack, ply: Int64, own: np.uint64, taken: np.uint64) -> None:
    """Write a position with `ply` marks into the stack."""
    stack.own[ply], stack.taken[ply], stack.hash[ply] = own, taken, hash_of(own + taken)


@kernel
def reaches(
    grid: ColumnBits, slots: Uint64Array, stack: Stack, own: np.uint64, taken: np.uint64, bound: Int64, limit: Int64
) -> Int64:
    """Return a bound of the score of a position whose player cannot win at once: a lower one if it reaches `bound`.

    Otherwise it is an upper bound below `bound`, or UNKNOWN once `stack.entered` is `limit`; the next call goes on.
    slots: uint64[2**n], the table.  own, taken: uint64, the marks of the player to move, and of both.
    """
    base = popcount(taken)
    ply = max(base, stack.paused[0])
    if stack.paused[0] < 0:
        place_marks(stack, ply, own, taken)
    stack.paused[0] = -1
    entering = True
    while True:
        wanted = bound if (ply - base) & 1 == 0 else 1 - bound
        if entering:
            if stack.entered[0] >= limit:
                stack.paused[0] = ply
                return UNKNOWN
            stack.entered[0] += 1
            done = enter(grid, slots, stack, ply, wanted)
        else:
            stack.best[ply] = max(stack.best[ply], -stack.best[ply + 1])
            done = stack.best[ply] >= wanted or stack.left[ply] == 0
            if done:
                keep_bound(slots, stack.hash[ply], stack.best[ply], wanted)
        entering = not done
        if entering:
            stack.left[ply] -= 1
            own, taken = stack.own[ply] ^ stack.taken[ply], stack.taken[ply] | stack.moves[ply, stack.left[ply]]
            ply += 1
            place_marks(stack, ply, own, taken)
        elif ply == base:
            return stack.best[ply]
        else:
            ply -= 1


@kernel
def score_of(
    grid: ColumnBits,
    slots: Uint64Array,
    stack: Stack,
    own: np.uint64,
    taken: np.uint64,
    between: tuple[Int64, Int64],
    limit: Int64,
) -> Int64:
    """Return the score of an unfinished position; UNKNOWN once `stack.entered` is `limit`.  See `reaches`.

    between: range to search.  A score beyond one end is returned as that end, or as any number beyond it.
    """
    marks = popcount(taken)
    highest = (grid.cells + 1 - marks) // 2
    if completing(grid, own) & (taken + grid.bottom) & grid.board & ~taken != NONE:
        return highest
    low: Int64 = max(-((grid.cells - marks) // 2), between[0])
    high: Int64 = min((grid.cells - 1 - marks) // 2, between[1])
    if stack.paused[0] >= 0:
        low, high = stack.paused[1], stack.paused[2]
    while low < high:
        bound = low + (high - low + 1) // 2
        if low < 0 <= high:
            bound = min(np.int64(1), high)  # the sign first: it takes less time than the rest
        found = reaches(grid, slots, stack, own, taken, bound, limit)
        if found == UNKNOWN:
            stack.paused[1], stack.paused[2] = low, high
            return UNKNOWN
        if found >= bound:
            low = found
        else:
            high = found
    return low


def can_solve(board: Board) -> bool:
    """Return whether a `GravitySolver` takes a board: marks fall, no other rule, and `cols * (rows + 1)` at most 64."""
    return board.rules == ["gravity"] and board.cols * (board.rows + 1) <= WORD_BITS


def check_solvable(board: Board, what: str, remedy: str) -> None:
    """Raise BoardError for `what` on a board that no `GravitySolver` takes."""
    if board.rules != ["gravity"]:
        raise BoardError(
            f"{what} needs best play by search, on boards with gravity and no other rule, not {board.name}: {remedy}"
        )
    if not can_solve(board):
        bits = f"{board.cols} x {board.rows + 1} = {board.cols * (board.rows + 1)}"
        raise BoardError(
            f"{what} needs best play by search, on boards with columns x (rows + 1) up to {WORD_BITS}; {board.name} "
            f"has {bits}: {remedy}"
        )


class GravitySolver:
    """Solver of a board that `can_solve` takes, with its table.

    slots: of the table, a power of two from FEWEST_SLOTS on.  book: known scores by `key`.
    Raises UsageError for another number of slots.
    """

    def __init__(self, board: Board, slots: int = SLOTS, book: Mapping[int, int] | None = None):
        if slots < FEWEST_SLOTS or slots & (slots - 1):
            raise UsageError(f"{slots} slots are no power of two from {FEWEST_SLOTS} on; choose e.g. {SLOTS}")
        self.board, tall, plies = board, board.rows + 1, board.cells + 1
        self.book = {} if book is None else book
        columns = [((1 << board.rows) - 1) << column * tall for column in range(board.cols)]
        bottom = sum(1 << column * tall for column in range(board.cols))
        central = sorted(columns, key=lambda column: abs(columns.index(column) - (board.cols - 1) / 2))
        self._grid = ColumnBits(
            np.array(central, np.uint64),
            np.uint64(bottom),
            np.uint64(sum(columns)),
            np.uint64(sum(bottom << row for row in range(board.rows - 1, -1, -2))),
            board.rows,
            board.k,
            board.cells,
        )
        self._stack = Stack(
            own=np.zeros(plies, np.uint64),
            taken=np.zeros(plies, np.uint64),
            hash=np.zeros(plies, np.uint64),
            moves=np.zeros((plies, board.cols), np.uint64),
            left=np.zeros(plies, np.int64),
            best=np.zeros(plies, np.int64),
            threats=np.zeros(board.cols, np.int64),
            entered=np.zeros(1, np.int64),
            paused=np.full(3, -1),
        )
        self._slots: NDArray[np.uint64] = np.zeros(slots, np.uint64)

    @property
    def entered(self) -> int:
        """Return the number of positions that the search has entered since `restart`."""
        return int(self._stack.entered[0])

    def restart(self) -> None:
        """Empty the table, so that an answer within a limit does not depend on earlier ones."""
        self._slots[:] = 0
        self._stack.entered[0] = 0

    def solve(self, position: Position, limit: int = 1 << 62, *, sign: bool = False) -> SolvedResult | None:
        """Return the result of best play from a position; None if more than `limit` positions are entered for it.

        The positions entered since `restart` count.  sign: True to find only who wins, not how soon.
        """
        outcome = self.board.outcome(position)
        if outcome != UNFINISHED:
            return SolvedResult({FIRST_WINS: 1, SECOND_WINS: -1}.get(outcome, 0), 0)
        score, free = self.score(position, limit, SIGN if sign else ALL), position.count(EMPTY)
        if score is None:
            return None
        mover = (self.board.cells - free) % 2
        result = int(np.sign(score)) * (1 - 2 * mover)
        if score == 0:
            return SolvedResult(0, free)
        if sign:
            return SolvedResult(result, None)
        return SolvedResult(result, 1 + 2 * ((free + 1) // 2 - score) if score > 0 else 2 + 2 * (free // 2 + score))

    def score(self, position: Position, limit: int = 1 << 62, between: tuple[int, int] = ALL) -> int | None:
        """Return the score of an unfinished position, from the book or by a search; None as for `solve`.

        between: as in `score_of`; SIGN for a score that has the right sign.
        """
        known = self.book.get(self.key(position)) if self.book else None
        if known is not None and (max(map(abs, between)) == 1 or abs(known) != SIGN_ONLY):
            return known
        own, taken = self._words(position)
        words = np.uint64(own), np.uint64(taken)
        self._stack.paused[0] = -1  # an interrupted search does not go on
        while True:
            until = min(limit, self.entered + SLICE)
            score = int(score_of(self._grid, self._slots, self._stack, *words, between, until))
            if score != UNKNOWN or self.entered >= limit:
                return None if score == UNKNOWN else score

    def key(self, position: Position) -> int:
        """Return the lower key of a position and its mirror image, for a book."""
        images = (tuple(position[cell] for cell in image) for image in self.board.symmetries)
        return min(sum(self._words(image)) for image in images)

    def _words(self, position: Position) -> tuple[int, int]:
        """Return the cells of the player to move, and of both, in the solver's order."""
        own = taken = 0
        mark = FIRST + (self.board.cells - position.count(EMPTY)) % 2
        for cell, there in enumerate(position):
            row, col = divmod(cell, self.board.cols)
            bit = 1 << col * (self.board.rows + 1) + self.board.rows - 1 - row
            taken |= bit if there != EMPTY else 0
            own |= bit if there == mark else 0
        return own, taken

    def keeping(self, position: Position, limit: int = 1 << 62) -> list[int] | None:
        """Return the cells of an unfinished position whose moves keep the result of best play; None as for `solve`."""
        score = self.score(position, limit, SIGN)
        if score is None:
            return None
        if score < 0:
            return self.board.open_cells(position)  # all lose
        found, mover = list[int](), (self.board.cells - position.count(EMPTY)) % 2
        for cell in self.board.open_cells(position):
            after = self.board.after(position, cell)
            outcome = self.board.outcome(after)
            if outcome != UNFINISHED:
                kept = outcome == FIRST_WINS + mover or score == 0
            elif (reply := self.score(after, limit, (-1, 0) if score > 0 else (0, 1))) is not None:
                kept = reply < 0 if score > 0 else reply <= 0
            else:
                return None
            if kept:
                found.append(cell)
        return found

    def moves(self, position: Position, limit: int = LIMIT) -> dict[int, SolvedResult] | None:
        """Return the result of best play after each move of an unfinished position, by cell; None beyond the limit.

        Plies count from the position after the move; they are None if the limit suffices only for who wins.
        limit: of positions entered for all moves together.
        """
        self.restart()
        found = None
        for sign in (True, False):
            results = {}
            for cell in self.board.open_cells(position):
                after = self.solve(self.board.after(position, cell), limit, sign=sign)
                if after is None:
                    return found
                results[cell] = after
            found = results
        return found


@functools.lru_cache(maxsize=4)
def gravity_solver(board: Board) -> GravitySolver:
    """Return the solver of a board, the same one for every caller."""
    return GravitySolver(board, book=read_book(board))


_lock = threading.Lock()
"""Held while a solver searches: it has one table for all threads."""


@functools.lru_cache(maxsize=1024)
def searched_moves(board: Board, position: Position, limit: int = LIMIT) -> Mapping[int, SolvedResult] | None:
    """Return `GravitySolver.moves` of an unfinished position; None also for a board that no solver takes."""
    if not can_solve(board):
        return None
    with _lock:
        return gravity_solver(board).moves(position, limit)
