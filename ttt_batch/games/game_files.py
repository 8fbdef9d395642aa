"""Interpretation of files of games and of labelled positions: layout, and meaning of the numbers.

Every reading is tried on the first games, and on more of them until one reading has more good games than the others.

Layouts of files of games: tables with a header, numbered games, and moves one below another.
Each becomes a game a line.  There are as many lines as before, so that messages name the line where a game ends: of a
game on several lines the others become empty.
"""

import csv
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import chain, islice, tee
from typing import NamedTuple

import numpy as np

from ttt_batch.core.errors import BoardError, GamesError, flag, quoted, worded
from ttt_batch.core.text import DIGITS_MEAN, Number, choose
from ttt_batch.games.board import EMPTY, Board, Position
from ttt_batch.games.notation import (
    COL_ROW,
    COLUMNS,
    NUMBERS,
    ROW_COL,
    DigitReading,
    begins_numbered,
    check_possible,
    is_header,
    line_words,
    rows_text,
)
from ttt_batch.games.transcript_reader import LONGEST_LINE, PIECE
from ttt_batch.games.transcripts import checked_base, moves_of

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
"""Contents of columns, by their names without case and signs."""

_CLAIMS = {
    **dict.fromkeys(("x", "xwins", "xwon", "1-0", "first", "player1", "p1"), "X wins"),
    **dict.fromkeys(("o", "owins", "owon", "0-1", "second", "player2", "p2"), "O wins"),
    **dict.fromkeys(("draw", "drawn", "tie", "tied", "1/2-1/2", "d"), "draw"),
}
"""Results in a column of a table, in the words that end a line; numbers have no common meaning and say nothing."""

Part = Callable[[str], tuple[bool, str]]
"""Reading of a line: True if it begins a game, and its moves."""


class GamesTable(NamedTuple):
    """Columns of a table by their roles, the columns of moves in a game a line, and what lies between."""

    columns: dict[str, int]
    moves: list[int]
    delimiter: str


def lines_of(piece: bytes) -> Iterator[str]:
    """Yield the lines of a chunk of text; often only the first are used."""
    begin = 0
    for end in ENDS.finditer(piece):
        yield piece[begin : end.start()].decode("utf-8", "backslashreplace")
        begin = end.end()


def with_a_game_a_line(pieces: Iterable[bytes], board: Board, occupied: bool = False) -> tuple[Iterator[bytes], str]:
    """Return the text with a game per line, and its layout in words, empty if it was so already.

    occupied: as for `parse_line`; where marks fall, a game may then have a single move.
    """
    pieces, begun = iter(pieces), []
    first: list[str] = []
    for piece in pieces:
        begun.append(piece)
        first += islice((line for line in lines_of(piece) if line.partition("#")[0].strip()), 2)
        if len(first) > 1 or (first and (first[0].lstrip().startswith("{") or _table(first[0]))):
            break
    whole = chain(begun, pieces)
    if not first:
        return whole, ""
    if first[0].lstrip().startswith("{"):
        return _joined(whole, _of_json), "JSON with a game a line"
    if (table := _table(first[0])) is not None:
        by_moves = _by_moves(table, first[1:])
        return _joined(whole, _Rows(table, by_moves)), f"a table with a {'move' if by_moves else 'game'} a line"
    if is_header(first[0]) or begins_numbered(first[0]):
        return _joined(whole, _numbered), "numbered moves"
    single = board.k == 1 or (occupied and board.gravity)
    if not single and len(first) > 1 and all(_is_one_move(line, board) for line in first[:2]):
        return _joined(whole, _below), "a move a line, empty lines between games"
    return whole, ""


def _is_one_move(line: str, board: Board) -> bool:
    words = line_words(line, board, DigitReading(first=1))
    return len(words) == 1 and words[0].cell is not None


def _joined(pieces: Iterable[bytes], part: Part) -> Iterator[bytes]:
    """Yield chunks in which each game is on the last of its lines."""
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
    """Read a line of a layout whose games begin with a number, after an empty line or a header."""
    if not line.strip() or is_header(line) or line.lstrip().startswith("#"):
        return True, ""
    return begins_numbered(line), line


def _below(line: str) -> tuple[bool, str]:
    """Read a line of a layout whose games end with an empty line."""
    return not line.strip(), line.partition("#")[0]


def _of_json(line: str) -> tuple[bool, str]:
    """Read a line that is a JSON object with moves, and maybe a result."""
    if not line.strip():
        return True, ""
    try:
        game = {_role(name): value for name, value in json.loads(line).items()}
    except (ValueError, AttributeError, RecursionError):
        return True, line
    moves = game.get(MOVES, game.get(CELL, game.get(GAME, line.strip("{}"))))
    return True, f"{moves} {_claim(game.get(RESULT))}"


def _role(name: str) -> str:
    """Return what a column or a key of this name holds; empty if unknown."""
    return ROLES.get(re.sub("[^a-z0-9]", "", name.lower()), "")


def _claim(result: object) -> str:
    """Return a result in the words that end a line, or ''."""
    return _CLAIMS.get(re.sub(r"\s", "", str(result).lower()), "")


def _table(line: str) -> GamesTable | None:
    """Return the table with this header line; None if the header is not known."""
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
    """Return the fields of a row; empty for a broken row."""
    try:
        return [field.strip() for field in next(csv.reader([line], delimiter=delimiter, skipinitialspace=True), [])]
    except csv.Error:
        return []


def _by_moves(table: GamesTable, rows: list[str]) -> bool:
    """Return whether a table has a move per line: its columns of cells hold one move."""
    if table.moves:
        return False
    if CELL not in table.columns:
        return True
    fields = _fields(rows[0], table.delimiter) if rows else []
    cell = table.columns[CELL]
    return len(fields) <= cell or len(re.findall(r"\w+", fields[cell])) <= 2


class _Rows:
    """Reader of the rows of a table, which are games or, `by_moves`, moves; the header is skipped."""

    def __init__(self, table: GamesTable, by_moves: bool) -> None:
        self._table, self._by_moves, self._begun = table, by_moves, False
        self._last = "", float("inf")

    def __call__(self, line: str) -> tuple[bool, str]:
        if not line.strip() or line.lstrip().startswith("#"):
            return not self._by_moves, ""  # an empty line may be within a game
        if not self._begun:
            self._begun = True
            return True, ""
        fields = _fields(line, self._table.delimiter)
        if len(fields) <= max(self._table.columns.values(), default=0):
            return True, line
        return self._move(fields) if self._by_moves else (True, self._game(fields))

    def _game(self, fields: list[str]) -> str:
        """Return the moves and the result of a game."""
        columns, moves = self._table.columns, self._table.moves or [self._table.columns[CELL]]
        text = " ".join(fields[number] for number in moves if number < len(fields))
        return f"{text} {_claim(fields[columns[RESULT]]) if RESULT in columns else ''}"

    def _move(self, fields: list[str]) -> tuple[bool, str]:
        """Return a move; it begins a game if the game's number changes or moves count from the start again."""
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


MARKS_OF = {"x": 1, "o": 2, "b": 0, ".": 0, "-": 0, "_": 0, "": 0}
"""Marks by their letters."""

FEWEST = 4
"""Cells of a position at least, so that no line of a game looks like one."""

LABELS: Mapping[str, frozenset[int]] = {
    **dict.fromkeys(("positive", "win", "won", "x", "xwins", "1", "1.0", "true", "first"), frozenset({1})),
    **dict.fromkeys(("loss", "lose", "lost", "o", "owins", "-1", "-1.0", "second"), frozenset({-1})),
    **dict.fromkeys(("draw", "tie", "drawn", "0", "0.0"), frozenset({0})),
    **dict.fromkeys(("negative", "false"), frozenset({0, -1})),
}
"""Results of the first player that a label allows, 1 a win; `negative` is anything but a win."""


def fields_of(line: str) -> list[str]:
    """Return the fields of a line without quotes, in lower case; adjacent marks are one field."""
    separator = next((sign for sign in ",;\t" if sign in line), None)
    return [field.strip().strip("\"'").strip().lower() for field in line.strip().split(separator)]


def is_labelled(line: str) -> bool:
    """Return whether a line holds a position, a field for each cell, and then a result."""
    *marks, label = fields_of(line)
    return (
        len(marks) >= FEWEST
        and {"x", "o"} <= set(marks)
        and MARKS_OF.keys() >= set(marks)
        and re.sub(r"\s", "", label) in LABELS
    )


KNOWN_BOARDS = {9: "3x3", 42: "6x7x4-gravity"}
"""Boards of public sets, by their cells; an agent without a board plays there."""

LABELLED_LOOKED_AT = 200
"""Positions that show in which order the cells of a board with gravity are written."""


class Labelled(NamedTuple):
    """A position of a file.

    line: its number.  marks: those of all cells.  allowed: the first player's results that its label allows, or None.
    """

    line: int
    marks: Position
    allowed: frozenset[int] | None


class LabelledPositions(NamedTuple):
    """Positions of a file.

    positions: those that a game can reach.  left_out: number of others.  shown: the first of these, and the reason.
    """

    positions: list[Labelled]
    left_out: int
    shown: str | None


def board_meant(lines: Iterable[str]) -> str | None:
    """Return the board of a public set with these first lines, by its number of cells; None if unknown."""
    return next((KNOWN_BOARDS.get(len(fields_of(line)) - 1) for line in lines if is_labelled(line)), None)


def read_positions(pieces: Iterable[bytes], board: Board, name: str) -> LabelledPositions:
    """Read positions of a board, one per line: a field per cell or rows such as X.O/.X./..., and maybe a result.

    Marks are x, o and b or `.` for a free cell.  A header is skipped.
    Raises GamesError for other lines, and BoardError for a position of another board.
    """
    rows: list[tuple[int, list[int], frozenset[int] | None]] = []
    for number, line in enumerate(chain.from_iterable(map(lines_of, pieces)), 1):
        text = line.partition("#")[0].strip()
        if text and (rows or not _is_header(text)):
            try:
                rows.append((number, *_read_line(text, board, name)))
            except GamesError as error:
                raise GamesError(f"{name}, line {number}: {error}") from None
    if not rows:
        raise GamesError(f"{name}: no positions; give a line such as x,x,x,x,o,o,x,o,o,positive per position")
    order = _order(board, [marks for _, marks, _ in rows[:LABELLED_LOOKED_AT]])
    kept: list[Labelled] = []
    shown, left_out = None, 0
    for number, written, allowed in rows:
        marks = tuple(written[place] for place in order)
        try:
            kept.append(Labelled(number, check_possible(marks, board), allowed))
        except BoardError as error:
            left_out += 1
            shown = shown or f"line {number}: {rows_text(board, marks)}: {error}"
    return LabelledPositions(kept, left_out, shown)


def _is_header(line: str) -> bool:
    """Return whether a line may be a header: its fields are names, and none is a mark."""
    fields = fields_of(line)
    return len(fields) > 1 and MARKS_OF.keys().isdisjoint(fields) and re.search("[a-z]{2}", line) is not None


def _read_line(text: str, board: Board, name: str) -> tuple[list[int], frozenset[int] | None]:
    """Return the marks of a line, and the results that its label allows."""
    fields = fields_of(text)
    if len(fields) <= 2:  # the marks stand together
        fields = [*re.sub("[/|]", "", fields[0]), *fields[1:]]
    if len(fields) not in (board.cells, board.cells + 1):
        cells = len(fields) - (fields[-1] in LABELS)
        meant = KNOWN_BOARDS.get(cells, f"a board of {cells} cells")
        raise BoardError(
            f"{name} holds positions of {cells} cells, and the board is {board.name}; name a run or an agent of {meant}"
        )
    marks, allowed = fields[: board.cells], None
    for cell, mark in enumerate(marks, 1):
        if mark not in MARKS_OF:
            raise GamesError(f"field {cell}, {quoted(mark)}, is no mark; write x, o, and b for a free cell")
    if len(fields) > board.cells:
        label = fields[-1]
        allowed = LABELS.get(re.sub(r"\s", "", label))
        if allowed is None:
            raise GamesError(
                f"label {quoted(label)} is no result; write win, draw or loss of X, or positive or negative"
            )
    return [MARKS_OF[mark] for mark in marks], allowed


def _order(board: Board, written: list[list[int]]) -> list[int]:
    """Return the place of each cell's mark in a line.

    With gravity the order with the fewest floating marks is taken: column by column from the bottom, as in the public
    set, or row by row.
    """
    places = np.arange(board.cells)
    if not board.gravity:
        return places.tolist()
    by_rows, by_cols = places.reshape(board.rows, board.cols), places.reshape(board.cols, board.rows).T
    orders = [by_cols[::-1], by_rows, by_rows[::-1], by_cols]

    def floating(order: list[int]) -> int:
        boards = (tuple(marks[place] for place in order) for marks in written)
        return sum(board.floats(marks, cell) for marks in boards for cell, mark in enumerate(marks) if mark != EMPTY)

    return min((order.ravel().tolist() for order in orders), key=floating)


LOOKED_AT = 200
"""Different games that decide, unless two readings have as many good ones."""

MOST_UNDECIDED = 1 << 26
"""Bytes that are read in search of a game that decides."""


class GamesFound(NamedTuple):
    """A file of games that is understood.

    pieces: its text, a game a line.  reading: what digits mean.  said: what was taken, if that is not the usual.
    """

    pieces: Iterator[bytes]
    reading: DigitReading
    said: str


def find_games(
    source: Iterable[bytes],
    board: Board,
    *,
    name: str,
    occupied: bool,
    resigns: bool,
    moves: str | None = None,
    cells_from: Number | None = None,
    asks: bool = True,
) -> GamesFound:
    """Find out the meaning of a file of games.

    moves, cells_from: the user's options about digits.  asks: refuse two remaining readings, instead of taking 0.
    Raises UsageError, and GamesError for positions with results, and for ambiguous files, with the deciding option.
    """
    way = NUMBERS if moves is None else choose("moves", moves, DIGITS_MEAN)
    if way == COLUMNS and not board.gravity:
        raise BoardError(
            f"{flag('moves', COLUMNS)} is for boards with gravity, and the board is {board.name}; choose another"
        )
    usual = DigitReading(way, 0 if cells_from is None else checked_base(cells_from))
    pieces, layout = with_a_game_a_line(source, board, occupied)
    kept, ahead = tee(pieces)
    trial = _Trial(board, occupied, resigns, _readings(board, usual, moves is not None, cells_from is not None))
    size = 0
    for piece in ahead:
        size += len(piece)
        if trial.decided(lines_of(piece), name) or size > MOST_UNDECIDED:
            break
    del ahead
    reading = trial.settled(name, asks=asks)
    if reading == usual and not layout:
        return GamesFound(kept, reading, "")
    return GamesFound(kept, reading, f"{name}: {'; '.join(filter(None, (layout, _told(reading))))}")


def refuse_positions(line: str, name: str) -> None:
    """Raise GamesError for a line of a file of positions with results."""
    if is_labelled(line):
        how = worded(f"ttt-batch evaluate RUN --positions {name}", f"evaluate(run, positions={name!r})")
        raise GamesError(
            f"{name} holds positions with results, not moves, so nothing can be learnt from it; to judge by them: {how}"
        )


def _readings(board: Board, given: DigitReading, way: bool, first: bool) -> list[DigitReading]:
    """Return the readings to try, the usual first.  way, first: fixed by the user."""
    ways = [given.moves] if way else [NUMBERS, *([COLUMNS] if board.gravity else []), ROW_COL]
    if not way and (board.gravity or board.rows != board.cols):
        ways.append(COL_ROW)  # of other boards the reflection is as good: rows first, as matrices count
    firsts, ups = [given.first] if first else [0, 1], [False, True] if board.gravity else [False]
    return [DigitReading(moves, number, up) for up in ups for moves in ways for number in firsts]


class _Trial:
    """Counts the good games of each reading, and remembers which readings find the same moves."""

    def __init__(self, board: Board, occupied: bool, resigns: bool, readings: list[DigitReading]) -> None:
        self._board, self._occupied, self._resigns = board, occupied, resigns
        self._good = dict.fromkeys(readings, 0)
        self._trace = dict.fromkeys(readings, 0)
        self._seen: set[str] = set()
        self._first = ""
        self._padded = self._printed = False

    def decided(self, lines: Iterable[str], name: str) -> bool:
        """Try some lines; whether enough were tried, and one reading is the best.  Raises GamesError for positions."""
        for line in lines:
            text = line.partition("#")[0].strip()
            if not text or text in self._seen or len(line) > LONGEST_LINE:
                continue
            if len(self._seen) < 2:
                refuse_positions(text, name)
            self._first = self._first or text
            self._seen.add(text)
            self._padded = self._padded or re.search(r"\b0\d\b", text) is not None
            self._printed = self._printed or re.match(r"\s*[xX]\s*:?\d", text) is not None
            for reading in self._good:
                moves, whole = self._tried(text, reading)
                self._good[reading] += whole
                self._trace[reading] = hash((self._trace[reading], moves if whole else None))
            if len(self._seen) >= LOOKED_AT and len(best := self._best()) == 1:
                return True
            if len(self._seen) == LOOKED_AT:
                self._good = {reading: self._good[reading] for reading in best}
        return False

    def settled(self, name: str, *, asks: bool) -> DigitReading:
        """Return the reading to use.  Raises GamesError if several remain and the user must decide."""
        best = self._best()
        if len(best) > 1 and not any(self._good.values()):  # the messages are to be about the likeliest
            return max(best, key=lambda reading: len(self._tried(self._first, reading)[0]))
        if self._padded and any(reading.moves == ROW_COL for reading in best):
            best = [reading for reading in best if reading.moves != NUMBERS]
        if self._printed and self._board.cells <= 9 and len(best) > 1:  # as this program prints moves
            best = [reading for reading in best if reading.first == 1] or best
        if len(best) == 1 or (not asks and best[0].moves == NUMBERS):
            return best[0]
        one, two = best[:2]
        choices = [
            worded(f"{flag('moves', reading.moves)}", f"moves={reading.moves!r}")
            if one.moves != two.moves
            else flag("cells_from", reading.first)
            for reading in (one, two)
        ]
        raise GamesError(
            f"{name}: the games can be read in two ways, {_told(one)} or {_told(two)}; choose {' or '.join(choices)}"
        )

    def _best(self) -> list[DigitReading]:
        """Return the readings with the most good games, one for each set of moves."""
        most = max(self._good.values())
        rivals = [reading for reading, good in self._good.items() if good == most]
        if most == 0:
            return rivals
        found: dict[int, DigitReading] = {}
        for reading in rivals:
            found.setdefault(self._trace[reading], reading)
        return list(found.values())

    def _tried(self, line: str, reading: DigitReading) -> tuple[tuple[int, ...], bool]:
        """Return the cells of a line up to its first fault, and whether it is a whole game."""
        cells: list[int] = []
        rules = {"occupied": self._occupied, "resigns": self._resigns}
        try:
            for cell, _ in moves_of(line, self._board, reading=reading, **rules):
                cells.append(cell)
        except GamesError:
            return tuple(cells), False
        return tuple(cells), bool(cells)


def _told(reading: DigitReading) -> str:
    """Return `reading` in words."""
    end = ", rows from the bottom" if reading.up else ""
    if reading.moves == NUMBERS:
        return f"cells count from {reading.first}{end}"
    moves = {ROW_COL: "row and column", COL_ROW: "column and row", COLUMNS: "columns"}[reading.moves]
    return f"moves are {moves}, counted from {reading.first}{end}"
