"""Boards (cells, winning lines, position codes, symmetries, text) and games in progress, without graphs.

Cells are numbered row by row from 0; a mark is 0 (empty), 1 (the player who moves first) or 2; the code of
a position is `sum(mark[i] * 3**i)`.
"""

import functools
import math
import re
import string
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import chain
from numbers import Integral
from typing import Any, NamedTuple, SupportsInt, TypeVar

from ttt_batch.core.errors import BoardError, quoted
from ttt_batch.core.text import check_switches, either, fold_case

EMPTY, FIRST, SECOND = 0, 1, 2
RESIGNS = "resigns"
"""The word for resigning, in the place of a cell's name."""

UNFINISHED, FIRST_WINS, SECOND_WINS, DRAW = 0, 1, 2, 3
MARKS = ".XO"
LETTERS = string.ascii_lowercase

MAX_CELLS = 64
"""Cells of a board at most: a player's cells are 64 bits."""

MAX_CODED_CELLS = 39
"""Cells up to which every code is below 2**63.  Codes of larger boards are Python ints, in no array or file."""

MAX_TABLE_CELLS = 36
"""Cells up to which tables have a row for each position, see `enumeration.check_table_cells`."""

Position = tuple[int, ...]
"""The marks of all cells, in cell order."""

Cells = TypeVar("Cells")


class Rule(NamedTuple):
    """Variant of the rules: a field of `Board`, and a word after a dash in the board's name.

    meaning: in a list of facts.  sentence: the end of a sentence that says who wins, if that is another.
    moves: some free cells may not be marked.
    """

    meaning: str
    sentence: str = ""
    moves: bool = False


BOARD_RULES = {
    "misere": Rule("the player who completes a line loses"),
    "exact": Rule("a longer line does not count", "longer lines count for nothing"),
    "gravity": Rule("a mark falls to the lowest free cell of its column", moves=True),
}
"""Rules by the names of their fields, in their order in a board's name."""


@dataclass(frozen=True)
class Board:
    """A rows x columns board on which `k` marks in a line win.

    misere: the player who completes a line loses.  exact: longer lines do not count.  gravity: a mark falls to the
    lowest free cell of its column, so a move is a column; rows are counted from the top.
    Raises BoardError for a side or a `k` outside its range, and UsageError for a rule that is not True or False;
    `parse_board` reads text.
    """

    rows: int = 3
    cols: int = 3
    k: int = 3
    misere: bool = False
    exact: bool = False
    gravity: bool = False

    def __post_init__(self) -> None:
        given = self.rows, self.cols, self.k
        check_switches(**{name: getattr(self, name) for name in BOARD_RULES})
        if not all(isinstance(number, Integral) and not isinstance(number, bool) for number in given):
            raise BoardError(
                f"board {', '.join(map(quoted, given))}: rows, columns and k are whole numbers; write Board(3, 4, 3), "
                "or parse_board('3x4x3') for text"
            )
        _check_sides(self.name, *given)

    @property
    def cells(self) -> int:
        """Return the number of cells."""
        return self.rows * self.cols

    @property
    def name(self) -> str:
        """Return the usual name: `3x4x3`, `5x5x4-exact`, and `3x3` for the classic."""
        full = f"{self.rows}x{self.cols}x{self.k}"
        shape = "3x3" if full == "3x3x3" else full
        return "-".join([shape, *self.rules])

    @property
    def rules(self) -> list[str]:
        """Return the names of the board's `BOARD_RULES`."""
        return [name for name in BOARD_RULES if getattr(self, name)]

    @functools.cached_property
    def lines(self) -> tuple[tuple[int, ...], ...]:
        """Return the runs of `k` cells in a row, column or diagonal, each as its cells in order."""
        found = set()
        for row in range(self.rows):
            for col in range(self.cols):
                for down, right in ((0, 1), (1, 0), (1, 1), (1, -1)):
                    last_row, last_col = row + (self.k - 1) * down, col + (self.k - 1) * right
                    if last_row < self.rows and 0 <= last_col < self.cols:
                        line = tuple((row + i * down) * self.cols + col + i * right for i in range(self.k))
                        found.add(tuple(sorted(line)))
        return tuple(sorted(found))

    @functools.cached_property
    def line_masks(self) -> tuple[tuple[int, int], ...]:
        """Return the bits of each line's cells, and of the cells that must not belong to the same player.

        Python ints below 2**64; they fit into int64 on boards of up to 63 cells.
        """
        found = []
        for line in self.lines:
            fence = 0
            if self.exact and self.k > 1:  # a single mark is a line in every direction: it has none to be longer in
                step = [b - a for a, b in zip(divmod(line[0], self.cols), divmod(line[1], self.cols), strict=True)]
                for end, sign in ((line[0], -1), (line[-1], 1)):
                    row, col = (x + sign * y for x, y in zip(divmod(end, self.cols), step, strict=True))
                    if 0 <= row < self.rows and 0 <= col < self.cols:
                        fence |= 1 << (row * self.cols + col)
            found.append((sum(1 << cell for cell in line), fence))
        return tuple(found)

    @functools.cached_property
    def lines_through(self) -> tuple[tuple[tuple[int, int], ...], ...]:
        """Return the `line_masks` of the lines through each cell."""
        return tuple(tuple(pair for pair in self.line_masks if pair[0] >> cell & 1) for cell in range(self.cells))

    def completed_lines(self, position: Position) -> list[tuple[int, ...]]:
        """Return the lines that one player has filled; with `exact` no part of a longer one."""
        found = []
        for line, (_, fence) in zip(self.lines, self.line_masks, strict=True):
            mark = position[line[0]]
            longer = fence and any(fence >> cell & 1 and position[cell] == mark for cell in range(self.cells))
            if mark != EMPTY and all(position[cell] == mark for cell in line) and not longer:
                found.append(line)
        return found

    @functools.cached_property
    def symmetries(self) -> tuple[tuple[int, ...], ...]:
        """Return the symmetries of the board as permutations: cell `i` of the image shows cell `permutation[i]`."""
        grid = [[row * self.cols + col for col in range(self.cols)] for row in range(self.rows)]
        images = []
        for _ in range(4):
            images += [grid, [line[::-1] for line in grid]]
            grid = [list(line) for line in zip(*grid[::-1], strict=True)]  # turned
        if self.gravity:
            images = images[:2]
        return tuple(dict.fromkeys(tuple(chain(*image)) for image in images if len(image) == self.rows))

    def images(self, symmetry: bool) -> tuple[tuple[int, ...], ...]:
        """Return the symmetries whose images share a row: all of the board's, or only the identity."""
        return self.symmetries if symmetry else (tuple(range(self.cells)),)

    def representative(self, position: Position, symmetry: bool = True) -> tuple[Position, tuple[int, ...]]:
        """Return the image of a position with the lowest code, and its permutation (see `symmetries`)."""
        images = [(tuple(position[cell] for cell in image), image) for image in self.images(symmetry)]
        return min(images, key=lambda found: self.encode(found[0]))

    def real_line(self, line: list[int], symmetry: bool) -> list[int]:
        """Return the cells of a game from its cells in the images with the lowest codes; unchanged without `symmetry`.

        Its last cell may be occupied, or `resignation`.
        """
        marks: Position = (EMPTY,) * self.cells
        cells: list[int] = []
        for cell in line:
            image = (*self.representative(marks, symmetry)[1], self.resignation)
            cells.append(image[cell])
            if cell != self.resignation:
                marks = self.after(marks, image[cell])
        return cells

    def encode(self, position: Position) -> int:
        """Return the code of a position."""
        return sum(mark * 3**cell for cell, mark in enumerate(position))

    def decode(self, code: int) -> Position:
        """Return the position of a code (0 to 3**cells - 1)."""
        if not 0 <= code < 3**self.cells:
            raise BoardError(f"code {code} is outside 0 .. {3**self.cells - 1}, the codes of board {self.name}")
        return tuple(code // 3**cell % 3 for cell in range(self.cells))

    def position_of(self, first: SupportsInt, second: SupportsInt) -> Position:
        """Return the position with these sets of cells of both players, bit i for cell i."""
        return tuple((int(first) >> cell & 1) + 2 * (int(second) >> cell & 1) for cell in range(self.cells))

    def after(self, position: Position, cell: int) -> Position:
        """Return the position after the player to move marks a free cell, without a check of legality."""
        mark = FIRST + (self.cells - position.count(EMPTY)) % 2
        return (*position[:cell], mark, *position[cell + 1 :])

    def open_cells(self, position: Position) -> list[int]:
        """Return the cells that may be marked next: all free ones, with gravity the lowest free one of each column."""
        return [cell for cell in range(self.cells) if self.is_open(position, cell)]

    def is_open(self, position: Sequence[int], cell: int) -> bool:
        """Return whether a cell may be marked next; a move to any other cell forfeits the game."""
        return position[cell] == EMPTY and not self.floats(position, cell)

    def floats(self, position: Sequence[int], cell: int) -> bool:
        """Return whether the board has gravity and the cell below is free."""
        return self.gravity and cell + self.cols < self.cells and position[cell + self.cols] == EMPTY

    def why_closed(self, position: Sequence[int], cell: int) -> str:
        """Return in words why a cell may not be marked."""
        return "in the air" if self.floats(position, cell) else "taken already"

    def open_among(self, free: Cells) -> Cells:
        """Return which of the free cells may be marked: bool[N, cells], changed in place, or sets of cells as bits."""
        found: Any = free
        if self.gravity and getattr(found, "ndim", 0) < 2:
            found = found & ~(found >> self.cols)
        elif self.gravity:
            found[:, : -self.cols] &= ~found[:, self.cols :]
        opened: Cells = found
        return opened

    def won_by_line_of(self, player: int) -> int:
        """Return FIRST_WINS or SECOND_WINS for a line of player 0 or 1."""
        return FIRST_WINS + (player ^ self.misere)

    def outcome(self, position: Position) -> int:
        """Return UNFINISHED, FIRST_WINS, SECOND_WINS or DRAW."""
        for line in self.completed_lines(position):
            return self.won_by_line_of(position[line[0]] - FIRST)
        return UNFINISHED if EMPTY in position else DRAW

    def winning_cells(self, position: Position) -> frozenset[int]:
        """Return the cells of all completed lines."""
        return frozenset(cell for line in self.completed_lines(position) for cell in line)

    def format_position(self, position: Position) -> str:
        """Write a position as rows of X, O and `.` separated by spaces."""
        text = "".join(MARKS[mark] for mark in position)
        return " ".join(text[row * self.cols : (row + 1) * self.cols] for row in range(self.rows))

    @property
    def resignation(self) -> int:
        """Return the number used as a cell for resigning: one above the last cell's."""
        return self.cells

    def cell_name(self, cell: int) -> str:
        """Return the name of a cell: digit 1-9 on boards of up to nine cells, else column letter and row number.

        The name of `resignation` is its word.
        """
        if cell == self.resignation:
            return RESIGNS
        if self.cells <= 9:
            return str(cell + 1)
        row, col = divmod(cell, self.cols)
        return f"{column_name(col)}{row + 1}"


def rules_text(board: Board) -> str:
    """Return a sentence about how the game is won and lost."""
    line = f"completes a line of {board.k} (row, column or diagonal)" if board.k > 1 else "makes a mark"
    also = "".join(f"; {BOARD_RULES[name].sentence}" for name in board.rules if BOARD_RULES[name].sentence)
    falls = "".join(f" {BOARD_RULES[name].meaning.capitalize()}." for name in board.rules if BOARD_RULES[name].moves)
    return f"The player who first {line} {'loses' if board.misere else 'wins'}{also}.{falls}"


def cells_in(bits: int) -> list[int]:
    """Return the cells of a set of bits, cell i as bit i."""
    return [cell for cell in range(bits.bit_length()) if bits >> cell & 1]


def column_name(col: int) -> str:
    """Return the letters of a column, counted from 0: `aa` follows `z`, and `ba` follows `az`."""
    before, last = divmod(col, 26)
    return (LETTERS[before - 1] if before else "") + LETTERS[last]


def most_positions(board: Board) -> int:
    """Return the number of positions with as many X as O, or one more, an upper bound of those that play can reach."""
    return sum(positions_of_ply(board, ply) for ply in range(board.cells + 1))


def positions_of_ply(board: Board, ply: int) -> int:
    """Return the number of positions with `ply` marks, reachable or not; with gravity those that leave no gap."""
    sets = math.comb(board.cells, ply)
    if board.gravity:
        ways = [1] + ply * [0]
        for _ in range(board.cols):
            ways = [sum(ways[max(0, marks - board.rows) : marks + 1]) for marks in range(ply + 1)]
        sets = ways[ply]
    return sets * math.comb(ply, ply // 2)


@dataclass(frozen=True)
class Game:
    """A game so far: its moves.  Position, player to move and outcome follow from them."""

    board: Board
    moves: tuple[int, ...] = ()

    @functools.cached_property
    def position(self) -> Position:
        """Return the marks of all cells, without a mark for a forfeiting move."""
        marks = [EMPTY] * self.board.cells
        for ply, cell in enumerate(self.moves):
            if cell != self.board.resignation and self.board.is_open(marks, cell):
                marks[cell] = FIRST + ply % 2
        return tuple(marks)

    @property
    def mover(self) -> int:
        """Return the mark of the player to move, FIRST or SECOND."""
        return FIRST + len(self.moves) % 2

    @property
    def forfeited(self) -> bool:
        """Return True if the last move went to a cell that may not be marked, or resigned."""
        return self.board.cells - self.position.count(EMPTY) < len(self.moves)

    @property
    def resigned(self) -> bool:
        """Return True if the last move resigned."""
        return self.moves[-1:] == (self.board.resignation,)

    @functools.cached_property
    def outcome(self) -> int:
        """Return the outcome: UNFINISHED, FIRST_WINS, SECOND_WINS or DRAW; a forfeit is won by the other player."""
        if self.forfeited:
            return FIRST_WINS if self.mover == FIRST else SECOND_WINS
        return self.board.outcome(self.position)

    def after(self, cell: int) -> "Game":
        """Return the game with one more move; a cell that may not be marked, and resigning, forfeits it.

        Raises BoardError for a cell outside the board and for a move after the end.
        """
        if self.outcome != UNFINISHED:
            raise BoardError(f"no move to cell {cell}: the game is over")
        if cell == self.board.resignation:
            return replace(self, moves=(*self.moves, cell))
        if not 0 <= cell < self.board.cells:
            raise BoardError(f"cell {cell} is outside 0 .. {self.board.cells - 1}")
        return replace(self, moves=(*self.moves, cell))

    def before_move_of(self, player: int) -> "Game | None":
        """Return the game before the last move of `player` (FIRST or SECOND), or None without one."""
        plies = range(player - FIRST, len(self.moves), 2)
        return replace(self, moves=self.moves[: plies[-1]]) if plies else None


BOARD_NAMES = dict.fromkeys(("connect4", "connectfour"), "6x7x4-gravity")
"""Names of boards that `parse_board` reads, folded."""

NAMED = {
    **dict.fromkeys(("tictactoe", "noughtsandcrosses", "ttt", "xo", "classic", "standard"), "3x3"),
    **dict.fromkeys(("misere", "misère", "misèretictactoe", "miseretictactoe", "notakto"), "3x3-misere"),
    **dict.fromkeys(("c4", "fourinarow", "4inarow"), "connect4"),
    **dict.fromkeys(("connect3", "connectthree"), "4x4x3-gravity"),
    **dict.fromkeys(("gomoku", "fiveinarow", "5inarow"), "8x8x5"),
}
"""Other games by their names, folded, each with the board to suggest, or the largest like it."""

BOARDS = (
    *("3x3", "3x3-misere", "3x4x3", "3x4x4", "3x5x3", "3x5x4", "4x4x3", "4x4x3-exact", "4x4x4", "4x4x4-misere"),
    *("4x5x4", "5x5x4", "5x5x5", "6x5x4", "6x6x4", "4x4x4-gravity", "5x5x4-gravity", "6x6x4-gravity"),
)
"""Boards that the shell offers, those of the catalogue that tables can learn."""
BOARD = f"connect4, ROWSxCOLUMNS or ROWSxCOLUMNSxK, and {', '.join(f'-{name}' for name in BOARD_RULES)}"


def _named_with_rules(text: str) -> str:
    """Return the board that a name with rules appended means, such as `connect4-misere`; empty if none is known."""
    name, rules = fold_case(text), set[str]()
    while rule := next((one for one in BOARD_RULES if name.endswith(one)), ""):
        name, rules = name.removesuffix(rule), {*rules, rule}
    named = BOARD_NAMES.get(NAMED.get(name, name), name if rules else "")
    if numbers := re.fullmatch(r"connect([1-9])", named or name):  # as large as connect4, with another k
        named = f"6x7x{numbers[1]}-gravity"
    with suppress(BoardError):
        return replace(parse_board(named), **dict.fromkeys(rules, True)).name if named else ""
    return ""


def _board_meant(text: str) -> str:
    """Return the board that a text of another form probably means; empty if none is known."""
    numbers = re.findall(r"\d{1,3}", text[:40], re.ASCII)
    if not numbers or re.sub(r"by|[\d\s,;.:*x×/()\[\]-]", "", text.casefold()):
        return NAMED.get(fold_case(text)) or _named_with_rules(text)
    if len(numbers) == 1:
        numbers = [*numbers[0]] if len(numbers[0]) > 1 else numbers * 2
    with suppress(BoardError):
        if len(numbers) in (2, 3):
            rows, cols, *k = map(int, numbers)
            return Board(rows, cols, k[0] if k else max(1, min(rows, cols))).name
    return ""


_SUFFIXES = "".join(rf"(?:[-_\s]+(?P<{name}>{name}))?" for name in BOARD_RULES)


def parse_board(text: str | Board) -> Board:
    """Read `RxC` or `RxCxK` (k defaults to the shorter side), with `-misere`, `-exact` and `-gravity` appended or not.

    `connect4` and `connect-four` are 6x7x4-gravity.  A board is returned as it is.  Raises BoardError.
    """
    if isinstance(text, Board):
        return text
    match = re.fullmatch(
        rf"\s*(\d{{1,3}})\s*[x×]\s*(\d{{1,3}})(?:\s*[x×]\s*(\d{{1,3}}))?{_SUFFIXES}\s*",
        BOARD_NAMES.get(fold_case(text), text) if isinstance(text, str) else "",
        re.IGNORECASE | re.ASCII,
    )
    if match is None:
        meant = _board_meant(text) if isinstance(text, str) else ""
        form = f"board {quoted(text)} is not of the form ROWSxCOLUMNS or ROWSxCOLUMNSxK"
        if meant:
            raise BoardError(f"{form}; did you mean {meant}?")
        variants = f"with {either([f'-{name}' for name in BOARD_RULES])} appended for a variant, in this order"
        raise BoardError(f"{form}, e.g. 3x3 or 4x4x3, {variants}")
    rows, cols = int(match[1]), int(match[2])
    k = int(match[3]) if match[3] else max(1, min(rows, cols))
    _check_sides(" ".join(text.split()), rows, cols, k)
    return Board(rows, cols, k, **{name: match[name] is not None for name in BOARD_RULES})


def _check_sides(name: str, rows: int, cols: int, k: int) -> None:
    """Raise BoardError for a board, called `name`, that does not exist."""
    if rows < 1 or cols < 1:
        raise BoardError(f"board {name}: rows and columns must be at least 1")
    if rows * cols > MAX_CELLS:
        raise BoardError(f"board {name} has {rows * cols} cells; at most {MAX_CELLS} are supported: choose fewer")
    if not 1 <= k <= max(rows, cols):
        raise BoardError(f"board {name}: k must be between 1 and the longer side, {max(rows, cols)}")
