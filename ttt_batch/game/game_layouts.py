"""Layouts of files of games: tables with a header, numbered games, and moves one below another.

Each becomes a game a line.  There are as many lines as before, so that messages name the line where a game ends: of a
game on several lines the others become empty.
"""

import csv
import json
import re
from collections.abc import Callable, Iterable, Iterator
from itertools import chain, islice
from typing import NamedTuple

from ttt_batch.game.board import Board
from ttt_batch.game.game_words import DigitReading, begins_numbered, is_header, line_words
from ttt_batch.game.transcript_source import LONGEST_LINE, PIECE

ENDS = re.compile(rb"\r\n|\n|\r")
"""Ends of lines in a piece of text, which ends with one."""

GAME, PLY, MARK, CELL, ROW, COL, MOVES, RESULT = "game", "ply", "mark", "cell", "row", "col", "moves", "result"

_NAMES = {
    GAME: "game gameid id gamenumber gameno gameindex episode episodeid match matchid",
    PLY: "ply turn movenumber moveno movenum moveindex turnnumber step stepid timestep t n nr no index",
    MARK: "player mark symbol side agent who mover playerid",
    CELL: "cell move action square position pos field place cellindex moveposition",
    ROW: "row r y i moverow",
    COL: "col column c x j movecol movecolumn",
    MOVES: "moves sequence history actions movetext cells movelist gamemoves pgn",
    RESULT: "result winner outcome won",
}
ROLES = {name: role for role, names in _NAMES.items() for name in names.split()}
"""What a column holds, by its name without case and signs."""

_CLAIMS = {
    **dict.fromkeys(("x", "xwins", "xwon", "1-0", "first", "player1", "p1"), "X wins"),
    **dict.fromkeys(("o", "owins", "owon", "0-1", "second", "player2", "p2"), "O wins"),
    **dict.fromkeys(("draw", "drawn", "tie", "tied", "1/2-1/2", "d"), "draw"),
}
"""Results in a column of a table, in the words that end a line; numbers have no common meaning and say nothing."""

Part = Callable[[str], tuple[bool, str]]
"""Of a line whether it begins a game (or is none), and its moves."""


class GamesTable(NamedTuple):
    """Columns of a table by their roles, the columns of moves in a game a line, and what lies between."""

    columns: dict[str, int]
    moves: list[int]
    delimiter: str


def lines_of(piece: bytes) -> Iterator[str]:
    """The lines of a piece of text, one by one: often only the first are looked at."""
    begin = 0
    for end in ENDS.finditer(piece):
        yield piece[begin : end.start()].decode("utf-8", "backslashreplace")
        begin = end.end()


def with_a_game_a_line(pieces: Iterable[bytes], board: Board) -> tuple[Iterator[bytes], str]:
    """The text with a game a line, and its layout in words, empty if it is like that already."""
    pieces, begun = iter(pieces), []
    first: list[str] = []
    for piece in pieces:
        begun.append(piece)
        first += islice((line for line in lines_of(piece) if line.partition("#")[0].strip()), 2)
        if len(first) > 1 or (first and (_is_object(first[0]) or _table(first[0]))):
            break
    whole = chain(begun, pieces)
    if not first:
        return whole, ""
    if _is_object(first[0]):
        return _joined(whole, _of_json), "JSON with a game a line"
    if (table := _table(first[0])) is not None:
        by_moves = _by_moves(table, first[1:])
        part = _MovesOfRows(table) if by_moves else _GamesOfRows(table)
        return _joined(whole, part), f"a table with a {'move' if by_moves else 'game'} a line"
    if is_header(first[0]) or begins_numbered(first[0]):
        return _joined(whole, _numbered), "numbered moves"
    if board.k > 1 and len(first) > 1 and all(_is_one_move(line, board) for line in first[:2]):
        return _joined(whole, _below), "a move a line, empty lines between games"
    return whole, ""


def _is_object(line: str) -> bool:
    return line.lstrip().startswith("{")


def _is_one_move(line: str, board: Board) -> bool:
    words = line_words(line, board, DigitReading(first=1))
    return len(words) == 1 and words[0].cell is not None


def _joined(pieces: Iterable[bytes], part: Part) -> Iterator[bytes]:
    """Pieces in which each game is on the last of its lines."""
    held: str | None = None
    some: list[str] = []
    size = 0
    for line in chain.from_iterable(map(lines_of, pieces)):
        begins, text = part(line)
        if held is not None:
            begins = begins or len(held) > LONGEST_LINE
            some.append(held if begins else "")
            size += len(some[-1]) + 1
            text = text if begins else f"{held} {text}"
        held = text
        if size > PIECE:
            yield _text(some)
            some, size = [], 0
    yield _text([*some, *([] if held is None else [held])])


def _text(lines: list[str]) -> bytes:
    return "".join(f"{line}\n" for line in lines).encode("utf-8", "backslashreplace")


def _numbered(line: str) -> tuple[bool, str]:
    """A game begins with its first number, after an empty line or a header."""
    if not line.strip() or is_header(line) or line.lstrip().startswith("#"):
        return True, ""
    return begins_numbered(line), line


def _below(line: str) -> tuple[bool, str]:
    """A game ends with an empty line."""
    return not line.strip(), line.partition("#")[0]


def _of_json(line: str) -> tuple[bool, str]:
    """A line is an object with moves, and with a result or none."""
    if not line.strip():
        return True, ""
    try:
        game = {_role(name): value for name, value in json.loads(line).items()}
    except (ValueError, AttributeError, RecursionError):
        return True, line
    moves = game.get(MOVES, game.get(CELL, game.get(GAME, line.strip("{}"))))
    return True, f"{moves} {_claim(game.get(RESULT))}"


def _role(name: str) -> str:
    """What a column or a key of this name holds; empty if that is not known."""
    return ROLES.get(re.sub("[^a-z0-9]", "", name.lower()), "")


def _claim(result: object) -> str:
    """The result of a game, in the words that end a line."""
    return _CLAIMS.get(re.sub(r"\s", "", str(result).lower()), "")


def _table(line: str) -> GamesTable | None:
    """The table of which a line is the header; None if it is none that is known."""
    if not re.search("[a-z]{3}|row|col", line, re.IGNORECASE):
        return None
    delimiter = max(",;\t|", key=line.count)
    names = [re.sub("[^a-z0-9]", "", name.lower()) for name in _fields(line, delimiter)]
    columns: dict[str, int] = {}
    for number, name in enumerate(names):
        if role := _role(name):
            columns.setdefault(role, number)
    numbered = [
        n for n, name in enumerate(names) if re.fullmatch("(move|m|ply|cell|action|turn|step|x|o)?[0-9]+", name)
    ]
    if len(numbered) > 1 and not all(name.isdigit() for name in names):
        return GamesTable(columns, numbered, delimiter)
    if CELL not in columns and MOVES not in columns and GAME in columns and not {ROW, COL} <= columns.keys():
        columns[MOVES] = columns.pop(GAME)
    if names == ["move"] or not (MOVES in columns or CELL in columns or {ROW, COL} <= columns.keys()):
        return None
    if CELL in columns and PLY not in columns and ROW in columns and COL in columns:
        columns[PLY] = columns.pop(CELL)  # a column `move` beside row and column counts moves
    return GamesTable(columns, [columns[MOVES]] if MOVES in columns else [], delimiter)


def _fields(line: str, delimiter: str) -> list[str]:
    """The fields of a row; none of one that is broken."""
    try:
        return [field.strip() for field in next(csv.reader([line], delimiter=delimiter, skipinitialspace=True), [])]
    except csv.Error:
        return []


def _by_moves(table: GamesTable, rows: list[str]) -> bool:
    """Whether a table has a move a line: its columns of cells hold one move."""
    if table.moves:
        return False
    if CELL not in table.columns:
        return True
    fields = _fields(rows[0], table.delimiter) if rows else []
    cell = table.columns[CELL]
    return len(fields) <= cell or len(re.findall(r"\w+", fields[cell])) <= 2


class _Rows:
    """Reads the rows of a table; the header is no game."""

    def __init__(self, table: GamesTable) -> None:
        self._table, self._begun = table, False

    def __call__(self, line: str) -> tuple[bool, str]:
        if not line.strip() or line.lstrip().startswith("#"):
            return self.gap()
        if not self._begun:
            self._begun = True
            return True, ""
        fields = _fields(line, self._table.delimiter)
        return self.row(fields) if len(fields) > max(self._table.columns.values(), default=0) else (True, line)

    def gap(self) -> tuple[bool, str]:
        """What an empty line is."""
        return True, ""

    def row(self, fields: list[str]) -> tuple[bool, str]:
        """What a row is."""
        raise NotImplementedError


class _GamesOfRows(_Rows):
    """A row is a game; its result is checked, too."""

    def row(self, fields: list[str]) -> tuple[bool, str]:
        columns, moves = self._table.columns, self._table.moves or [self._table.columns[CELL]]
        text = " ".join(fields[number] for number in moves if number < len(fields))
        return True, f"{text} {_claim(fields[columns[RESULT]]) if RESULT in columns else ''}"


class _MovesOfRows(_Rows):
    """A row is a move; a game begins where its number changes, or moves count from the beginning again."""

    _last: tuple[str, float] = "", float("inf")

    def gap(self) -> tuple[bool, str]:
        """Empty lines lie within games, too."""
        return False, ""

    def row(self, fields: list[str]) -> tuple[bool, str]:
        columns = self._table.columns
        game = fields[columns[GAME]] if GAME in columns else ""
        ply = fields[columns[PLY]] if PLY in columns else ""
        number = float(ply) if re.fullmatch(r"\d{1,9}", ply) else float("inf")
        begins = game != self._last[0] or (number <= self._last[1] and number != float("inf"))
        self._last = game, number
        mark = fields[columns[MARK]].upper() if MARK in columns else ""
        if {ROW, COL} <= columns.keys():
            move = f"r{fields[columns[ROW]]}c{fields[columns[COL]]}"
        else:
            move = fields[columns[CELL]]
        return begins, f"{mark} {move}" if mark in ("X", "O") and move[:1].upper() != mark else move
