"""Detection of a file's kind by its content, and reading of its data as plain Python objects and arrays.

Kinds, mostly by the first bytes: HDF5, NumPy arrays, parquet, JSON, pickles, doubles, text.  Nothing is executed.
"""

import csv
import io
import json
import math
import re
import zipfile
import zlib
from dataclasses import dataclass
from typing import Any

import numpy as np

from ttt_batch.base.errors import quoted
from ttt_batch.base.files import unpacked_size
from ttt_batch.game.board import Board
from ttt_batch.runs.formats import base
from ttt_batch.runs.formats.base import FormatError
from ttt_batch.runs.formats.by_code import HEADER
from ttt_batch.runs.formats.columns import array_head, pyarrow
from ttt_batch.runs.formats.entries import CELL_SIGNS
from ttt_batch.runs.formats.json_records import reject_constant
from ttt_batch.runs.formats.keys import is_position
from ttt_batch.runs.formats.plain_pickle import read_plain
from ttt_batch.runs.formats.shapes import Columns, is_column_header

HDF5 = b"\x89HDF\r\n\x1a\n"
_PACKED = {b"\x1f\x8b": "gzip", b"BZh": "bzip2", b"\xfd7zXZ": "xz", b"\x28\xb5\x2f\xfd": "zstd"}
_NPY, _ZIP, _PARQUET = b"\x93NUMPY", (b"PK\x03\x04", b"PK\x05\x06"), b"PAR1"
_OLD_PICKLE = re.compile(rb"(?:\(dp?|\(lp?|\}|c(?:numpy|collections|__builtin__|copy_reg))")
_NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?", re.IGNORECASE)
_SAYS_MORE = 100_000
"""Bytes allowed for headers, names and blanks in addition to the rows of a table."""


@dataclass(frozen=True)
class Content:
    """Content of a file as detected.

    kind: a description.  form: the name of our format, or empty.  data: the data if `form` is empty.
    low: see `entries.Entries`.
    """

    kind: str
    form: str = ""
    data: Any = None
    low: bool = True


def most_bytes(board: Board) -> int:
    """Return the largest file size that is read: 25 characters for a number and 25 for a key, for each move."""
    return _SAYS_MORE + 50 * (board.cells + 4) * int(min(3**board.cells, 4 * base.most_states(board)))


def content_of(content: bytes, board: Board, suffix: str) -> Content:
    """Return the content in the bytes of a file.  suffix: the end of its name, which decides if the bytes do not.

    Raises FormatError if the bytes are damaged or do not hold a table.
    """
    if content.startswith(HDF5):
        raise FormatError(
            "the file is HDF5, but neither a run nor a table of ttt-batch; save a dictionary or an array instead"
        )
    for start, program in _PACKED.items():
        if content.startswith(start):
            raise FormatError(f"the file is packed by {program}; unpack it first")
    if content.startswith(_NPY):
        return Content("a NumPy array", data=_npy(content, board))
    if content.startswith(_ZIP):
        return _npz(content, board)
    if content.startswith(_PARQUET):
        return _parquet(content, board)
    if _is_pickle(content):
        return Content("a pickle", data=read_plain(content, 3**board.cells), low=False)
    if len(content) == 8 * 3**board.cells * board.cells and (b"\0" in content or suffix == ".bin"):
        return Content("doubles by code", form="raw")
    head = content.removeprefix(b"\xef\xbb\xbf")[:4096].lstrip()
    if head[:1] in (b"{", b"[") and (suffix in (".json", ".jsonl") or not _is_csv(head)):
        return _json(content)
    return _text(content, board, suffix)


def _is_pickle(content: bytes) -> bool:
    if content[:1] == b"\x80" and content[1:2] <= b"\x05":
        return True
    return content.endswith(b".") and _OLD_PICKLE.match(content) is not None


def _is_csv(head: bytes) -> bool:
    """Return whether lines that begin with a bracket are text such as `[0 1 -1 ...],0.5`, not JSON."""
    line = head.split(b"\n", 1)[0].strip()
    return head.startswith(b"[") and line.count(b"[") == line.count(b"]") > 0 and line[-1:] not in (b"]", b",")


def _npy(content: bytes, board: Board) -> Any:
    """Return the array of a .npy file; a pickled object in it is read as plain data."""
    stream = io.BytesIO(content)
    try:
        shape, dtype = array_head(stream)
    except ValueError:
        raise base.unreadable_error("the file is not a NumPy array") from None
    if dtype.hasobject:
        return read_plain(content[stream.tell() :], 3**board.cells)
    # An axis of length 0, or text without letters, takes no bytes, so the header could declare any number of items.
    whole = dtype.itemsize > 0 and 0 not in shape and dtype.itemsize * math.prod(shape) == len(content) - stream.tell()
    if dtype.kind not in "fiuU" or not whole:
        raise base.unreadable_error(f"the file holds an array of {dtype.name}, not of numbers")
    stream.seek(0)
    try:
        return np.load(stream, allow_pickle=False)
    except (ValueError, OSError, EOFError, MemoryError):
        raise base.unreadable_error("the file is not a NumPy array") from None


def _npz(content: bytes, board: Board) -> Content:
    """Return the arrays of a .npz file, or only the format's name for our own `npz`."""
    damaged = base.unreadable_error("the file does not hold NumPy arrays")
    try:
        size = unpacked_size(io.BytesIO(content))
        with zipfile.ZipFile(io.BytesIO(content)) as packed:
            names = packed.namelist()
            if "rows_cols_k.npy" in names or not any(name.endswith(".npy") for name in names):
                return Content("NumPy arrays of ttt-batch", form="npz")
            if size > (most := most_bytes(board)):  # a few packed bytes can unpack to a huge size
                raise FormatError(f"its arrays take {size:,} bytes; those of this board take at most {most:,}")
            arrays = {
                name.removesuffix(".npy"): _npy(packed.read(name), board) for name in names if name.endswith(".npy")
            }
    except (OSError, ValueError, EOFError, KeyError, MemoryError, NotImplementedError, zipfile.BadZipFile, zlib.error):
        raise damaged from None
    return Content("NumPy arrays", data=next(iter(arrays.values())) if len(arrays) == 1 else arrays)


def _parquet(content: bytes, board: Board) -> Content:
    """Return the columns of a parquet file, or only the format's name for our own `parquet`."""
    pa, pq = pyarrow()
    try:
        file = pq.ParquetFile(pa.BufferReader(content))
        if b"ttt-batch board" in (file.metadata.metadata or {}):
            return Content("columns of ttt-batch", form="parquet")
        if file.metadata.num_rows > (most := 3**board.cells * board.cells):
            raise FormatError(f"it has {file.metadata.num_rows:,} rows; this board has at most {most:,} moves")
        texts = _parquet_texts(file.metadata, most_bytes(board))
        table = pq.ParquetFile(pa.BufferReader(content), read_dictionary=texts).read()
        return Content("parquet columns", data=Columns({name: _listed(table[name]) for name in table.column_names}))
    except (pa.ArrowException, OSError, ValueError):
        raise base.unreadable_error("the file is not parquet") from None


def _parquet_texts(metadata: Any, most: int) -> list[str]:
    """Return the names of the text columns.  Raises FormatError if columns hold too much, or texts in lists.

    The check protects memory: a few packed bytes can unpack to a long list or to many long texts.
    """
    texts = set()
    for group in map(metadata.row_group, range(metadata.num_row_groups)):
        for chunk in map(group.column, range(group.num_columns)):
            name, text = chunk.path_in_schema, "BYTE_ARRAY" in chunk.physical_type
            if 8 * chunk.num_values > most or chunk.total_uncompressed_size > most or (text and "." in name):
                raise FormatError(f"its column {quoted(name)} holds more than a table of this board, or texts in lists")
            if text:
                texts.add(name)
    return sorted(texts)


def _listed(column: Any) -> list[Any]:
    """Return the values of a parquet column; equal texts share one object."""
    chunks = column.combine_chunks()
    if not hasattr(chunks, "dictionary"):
        return list(chunks.to_pylist())
    words = chunks.dictionary.to_pylist()
    return [None if at is None else words[at] for at in chunks.indices.to_pylist()]


def _json(content: bytes) -> Content:
    text = ""
    try:
        text = content.decode("utf-8-sig")
        if "\n{" in text.strip() and text.lstrip().startswith("{"):  # perhaps JSON lines
            lines = [line for line in text.splitlines() if line.strip()]
            if len(lines) > 1 and all(line.rstrip().endswith("}") for line in lines):
                return Content("JSON lines", data=[json.loads(line, parse_constant=reject_constant) for line in lines])
        found = json.loads(text, parse_constant=reject_constant)
    except json.JSONDecodeError as error:
        place = f"line {error.lineno}, column {error.colno}"
        raise FormatError(f"the file is not valid JSON from {place} on; export it again") from None
    except (ValueError, RecursionError):
        if re.search(r"[:,\[]\s*(?:NaN|-?Infinity)", text):
            raise FormatError("it holds NaN or Infinity, which JSON does not have; save null instead") from None
        raise base.unreadable_error("the file is not valid JSON") from None
    states = found.get("states") if isinstance(found, dict) else None
    first = states[0] if isinstance(states, list) and states else {"code": 0}
    if isinstance(states, list) and isinstance(first, dict) and {"code", "value", "q"} & first.keys():
        return Content("a list of states of ttt-batch", form="json")
    return Content("JSON", data=found)


# --- text --------------------------------------------------------------------------------------------------


def _text(content: bytes, board: Board, suffix: str) -> Content:
    """Return the columns of a text file, or only the format's name for our own `csv`."""
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise FormatError(f"byte {error.start} is not UTF-8 text, and the file is of an unknown kind") from None
    if "\0" in text:
        raise FormatError("the file is of an unknown kind")
    lines = [line for line in re.split(r"\r\n|\r|\n", text) if line.strip() and not line.startswith("#")]
    if not lines:
        raise FormatError("the file is empty; name one that holds a table")
    by_code = len(lines) >= 3**board.cells and all(line.count(",") == board.cells - 1 for line in lines[:9])
    if lines[0].replace(" ", "").lower() == HEADER or (by_code and _NUMBER.match(lines[0].strip())):
        return Content("text by code", form="csv")
    rows = [row for row in _rows(lines) if row]
    width = max(map(len, rows[:9]))
    if width < 2:
        raise FormatError(f"line 1, {quoted(lines[0])}, has only one field; separate key and number by a comma")
    wrong = next((number for number, row in enumerate(rows, 1) if len(row) != width), None)
    if wrong is not None:
        raise FormatError(f"line {wrong} has {len(rows[wrong - 1])} fields; others have {width}; fix the line")
    numbers = any(_NUMBER.fullmatch(field.strip()) for field in rows[0])
    if not is_column_header(rows[0]) and (numbers or is_position(rows[0][0], board)):
        names, body = _usual_names(rows, board), rows
    else:
        names, body = [field.strip() for field in rows[0]], rows[1:]
    if not body:
        raise FormatError("the file has only a header; name one that holds a table")
    columns: dict[str, Any] = {}
    for number, name in enumerate(names):
        column = [row[number] for row in body]
        columns[name if name not in columns else f"{name} {number}"] = _as_numbers(column)
    if "" in columns and columns[""] == list(range(len(body))):
        del columns[""]
    return Content("text in columns", data=Columns(columns))


def _rows(lines: list[str]) -> list[list[str]]:
    """Return the fields of lines; a key in brackets is one field.  Raises FormatError for quotes that do not close."""
    if all(line.lstrip('" ').startswith(("[", "(")) for line in lines[1:]) and len(lines) > 1:
        rows = [_bracketed(line) for line in lines]
        if rows[0] == [] or len(rows[0]) == 1:  # a header
            rows[0] = [field for field in re.split(r"[,;\t ]", lines[0]) if field]
        if all(len(row) > 1 for row in rows):
            return rows
    for separator in ("\t", ";", ","):
        if separator in lines[-1]:
            try:
                return list(csv.reader(lines, delimiter=separator))
            except csv.Error:
                raise FormatError("its quotes are not closed, or a field is too long; fix the file") from None
    return [line.split() for line in lines]


def _bracketed(line: str) -> list[str]:
    """Return a key in brackets and the fields after it, or the whole line as one field if it has no such key."""
    line = line.strip()
    if line.startswith('"') and (end := line.find('"', 1)) > 0:
        line = line[1:end] + line[end + 1 :]
    end = max(line.rfind("]"), line.rfind(")")) + 1
    if not line.startswith(("[", "(")) or end == 0:
        return [line]
    return [line[:end], *re.split(r"[,;:\t ]+", line[end:].strip(" ,;:\t"))]


def _usual_names(rows: list[list[str]], board: Board) -> list[str]:
    """Return names for columns without a header, according to their number and contents."""
    width, cells = len(rows[0]), board.cells
    columns = list(zip(*rows, strict=True))
    marks = {field.strip() for column in columns[:cells] for field in column} if width > cells else set()
    if 0 < len(marks) <= 3 and width in (cells + 1, cells + 2, 2 * cells):  # with a column of marks for each cell
        return [f"mark {n}" for n in range(cells)] + (["value", "visits"] if width < 2 * cells else _numbers(cells))[
            : width - cells
        ]
    if width == cells + 2 and [row[0] for row in rows] == [str(n) for n in range(len(rows))]:
        return ["index", "state", *_numbers(cells)]
    if width == cells + 1:
        return ["state", *_numbers(cells)]
    if width == 2:
        return ["state", "value"]
    moves = {field.strip() for field in columns[1]}
    if width >= 3 and len(moves) <= cells + 1 and not any("." in move for move in moves):
        return ["state", "action", "value", *(f"other {n}" for n in range(width - 3))]
    return ["state", "value", *(["visits"] if width > 2 else []), *(f"other {n}" for n in range(width - 3))]


def _numbers(cells: int) -> list[str]:
    return [f"q{cell}" for cell in range(cells)]


def _as_numbers(column: list[str]) -> list[Any]:
    """Return a column of text as numbers, or unchanged if it holds other text or digits with leading zeros."""
    whole = [field.strip() for field in column]
    if all(_NUMBER.fullmatch(field) or field in CELL_SIGNS for field in whole) and any(map(_NUMBER.fullmatch, whole)):
        if all(re.fullmatch(r"\d+", field) for field in whole):
            long = any(len(field) > 1 and field.startswith("0") for field in whole)
            return list(column) if long else [int(field) if len(field) < 18 else -1 for field in whole]
        return [None if field in CELL_SIGNS else float(field) for field in whole]
    return column
