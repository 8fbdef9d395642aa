"""Tuples of cells by name, list or file: what a pattern network looks at.

`lines` are the winning lines; `segments` all runs of k and of k + 1 cells, `segments:N` those of N;
`blocks:RxC` all rectangles of R x C cells, lying and standing.  Items are separated by commas, and sizes after
`blocks:` belong to it: `segments,blocks:3x3,3x4`.  Tuples of one's own are cells by name, separated by spaces, with
semicolons or ends of lines between tuples: `a1 b1 c1; a1 b2 c3`, or such text in a file.
"""

import re
from pathlib import Path

from ttt_batch.base.errors import UsageError, quoted
from ttt_batch.base.files import NotOrdinaryError, exists, open_ordinary, shown
from ttt_batch.game.board import Board
from ttt_batch.game.notation import cell_of

MAX_CELLS = 12
"""Cells of a tuple: its table has 3**12 weights."""

MAX_FILE = 1 << 20
"""Bytes of a file of tuples."""

MAX_TEXT = 40_000
"""Characters of all tuples written out: a run keeps them in its configuration."""

Tuples = list[tuple[int, ...]]


def parse_tuples(given: str, board: Board, *, files: bool = True) -> tuple[str, Tuples]:
    """The tuples of a text, none twice, and the text as a configuration keeps it: names, or all cells of a file.

    files: whether the text may name a file.
    Raises UsageError for what is no tuple of the board, and TttBatchError for a file that cannot be read.
    """
    if given == "auto":
        given = default_tuples(board)
    names = _names(given)
    if names is None:
        found = _listed(given, board, files)
        text = "; ".join(" ".join(map(board.cell_name, cells)) for cells in found)
        if len(text) > MAX_TEXT:
            raise UsageError(
                f"{len(found):,} tuples take {len(text):,} characters; a run has room for {MAX_TEXT:,}: give fewer (no "
                "images of others are needed)"
            )
    else:
        found = [cells for name in names for cells in _named(name, board)]
        text = ",".join(names)
    kept = list({frozenset(cells): cells for cells in reversed(found)}.values())[::-1]
    if not kept:
        raise UsageError(
            f"tuples {quoted(given)}: there are none on board {board.name}; choose shorter ones, such as segments:2"
        )
    return text, kept


class FileText(str):
    """Tuples written out as a file has them.  path: the file."""

    path: Path


def text_of_tuples(given: object) -> str:
    """What `parse_tuples` takes, with the lines of a file instead of its name, so that the file may go: a `FileText`.

    Raises UsageError for a file that cannot be read.
    """
    text = str(given).strip()
    path = file_of_tuples(text)
    if path is None:
        return text
    lines = [line.partition("#")[0].strip() for line in re.split(r"[;\n]", _read(path))]
    found = FileText("; ".join(filter(None, lines)) or str(path))
    found.path = path
    return found


def file_of_tuples(given: str | None) -> Path | None:
    """The file that a text names, if there is one of that name."""
    if not given or ";" in given or _names(given) is not None or not exists(Path(given)):
        return None
    return Path(given)


def default_tuples(board: Board) -> str:
    """What is used if nothing is chosen: lines if they cross the whole board, else segments and blocks."""
    if board.k == board.rows == board.cols:
        return "lines"
    blocks = [f"{rows}x{cols}" for rows, cols in ((3, 3), (3, 4)) if _fits(board, rows, cols)]
    return ",".join(["segments", *(f"blocks:{block}" for block in blocks)])


def _fits(board: Board, rows: int, cols: int) -> bool:
    return (rows <= board.rows and cols <= board.cols) or (rows <= board.cols and cols <= board.rows)


def _names(given: str) -> list[str] | None:
    """The items of a list of names, sizes of blocks each with `blocks:`; None if it is something else."""
    items, names = [item.strip().lower() for item in given.split(",")], list[str]()
    for item in items:
        if re.fullmatch(r"\d+x\d+", item) and names and names[-1].startswith("blocks:"):
            item = f"blocks:{item}"
        if not re.fullmatch(r"lines|segments(:\d{1,9})?|blocks:\d{1,9}x\d{1,9}", item):
            return None
        names.append(item)
    return names


def _named(name: str, board: Board) -> Tuples:
    """The tuples of a name, in order.  Raises UsageError if they are too long."""
    kind, _, size = name.partition(":")
    if kind == "blocks":
        rows, cols = map(int, size.split("x"))
        _check_length(name, rows * cols)
        return [
            tuple((row + i) * board.cols + col + j for i in range(high) for j in range(wide))
            for high, wide in dict.fromkeys([(rows, cols), (cols, rows)])
            for row in range(board.rows - high + 1)
            for col in range(board.cols - wide + 1)
        ]
    lengths = [int(size)] if size else [board.k] if kind == "lines" else [board.k, board.k + 1]
    fitting = [length for length in lengths if length <= max(board.rows, board.cols)]
    for length in fitting if kind == "segments" else lengths:
        _check_length(name, length)
    return [line for length in fitting for line in Board(board.rows, board.cols, length).lines]


def _check_length(name: str, cells: int) -> None:
    if not 1 <= cells <= MAX_CELLS:
        raise UsageError(f"tuples {quoted(name)} have {cells} cells; a tuple has 1 to {MAX_CELLS}: choose others")


def _listed(given: str, board: Board, files: bool) -> Tuples:
    """Tuples of cells written out, in a text or in a file."""
    where, text = f"tuples {quoted(given)}", given
    words = given.split()
    # What begins with a cell is no file's name, so that a wrong cell after it is named.
    if files and ";" not in given and words and cell_of(words[0], board) is None:
        where, text = f"tuples of {shown(Path(given))}", _read(Path(given))
    found = []
    for line in re.split(r"[;\n]", text):
        cells = line.partition("#")[0].split()
        if not cells:
            continue
        named = tuple(_cell(where, cell, board) for cell in cells)
        for number, cell in enumerate(named):
            if cell in named[:number]:
                raise UsageError(f"{where}: cell {cells[number]} stands twice in {quoted(line.strip())}; leave one out")
        _check_length(line.strip(), len(named))
        found.append(named)
    if not found:
        raise UsageError(f"{where}: there are none; write the cells of a tuple in each line, such as a1 b1 c1")
    return found


def _cell(where: str, name: str, board: Board) -> int:
    cell = cell_of(name, board)
    if cell is None:
        last = board.cell_name(board.cells - 1)
        raise UsageError(f"{where}: {quoted(name)} is no cell of board {board.name}; its last one is {last}")
    return cell


def _read(path: Path) -> str:
    """The text of a file of tuples.  Raises UsageError if it is none."""
    try:
        with open_ordinary(path) as file:
            content = file.read(MAX_FILE + 1)
        text = content.decode("utf-8")
    except (OSError, NotOrdinaryError, ValueError):
        raise UsageError(
            f"tuples {quoted(str(path))} are neither lines, segments, blocks:RxC nor a file that can be read; "
            "choose one of these, or write cells such as 'a1 b1 c1; a2 b2 c2'"
        ) from None
    if len(content) > MAX_FILE:  # not within `try`: a UsageError is a ValueError
        raise UsageError(f"{shown(path)} is too long for tuples: at most 1 MiB")
    return text
