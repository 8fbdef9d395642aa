"""Tables in other people's formats, in and out.  Knows arrays and position codes, neither runs nor learners.

A format is one file of this package and one line in the registry below.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from ttt_batch.base.choices import SEATS, choose, choose_seat
from ttt_batch.base.errors import UsageError
from ttt_batch.base.files import shown
from ttt_batch.game.board import Board
from ttt_batch.runs.formats import csv_lines, json_records, npz_arrays, parquet_columns, pickles, raw_doubles
from ttt_batch.runs.formats.base import (
    DESCRIPTION,
    MAX_CELLS,
    ActionTable,
    Format,
    FormatError,
    Listing,
    Table,
    ValueTable,
)
from ttt_batch.runs.formats.checks import checked
from ttt_batch.runs.formats.files import EXPORT, check_targets, read_file
from ttt_batch.runs.state import LARGEST

__all__ = [
    "FORMATS",
    "ActionTable",
    "Format",
    "FormatError",
    "Listing",
    "Player",
    "Table",
    "ValueTable",
    "check_use",
    "format_named",
    "read",
    "write",
]

Player = str
"""`first` or `second`."""
_Kind = TypeVar("_Kind", ValueTable, ActionTable, Listing)

FORMATS: dict[str, Format] = {
    one.name: one
    for one in (
        csv_lines.FORMAT,
        raw_doubles.FORMAT,
        pickles.NUMBERS,
        pickles.TEXT,
        npz_arrays.FORMAT,
        json_records.FORMAT,
        parquet_columns.FORMAT,
    )
}
"""Every format by name."""


def format_named(name: str) -> Format:
    """The format called `name`, however it is spelled (see `choices`).  Raises UsageError."""
    return FORMATS[choose("format", name, FORMATS)]


def write(
    name: str,
    table: Table,
    board: Board,
    paths: Sequence[str | Path],
    *,
    player: Player | None = None,
    overwrite: bool = False,
) -> list[Path]:
    """Write a table of `board` to one file, or to one or two in a format that keeps a file per player.

    paths: two for the first and the second player, in this order; one for `player` (the first if not given).
    Existing files are kept unless `overwrite`.  Returns the paths.
    Raises UsageError for an unknown format, a wrong number of files or a form that the format does not hold, and
    FormatError where the table has entries that it cannot hold, or the files cannot be written.
    """
    form, targets = format_named(name), [Path(path) for path in paths]
    players = check_use(form, board, targets, type(table), player)
    check_targets(targets, overwrite=overwrite)
    try:
        whole = checked(table, board)
        if isinstance(whole, ActionTable) and np.isnan(whole.q).any():
            raise FormatError(f"some action values are missing; {name} has a number for every cell; fill them first")
        if isinstance(whole, ValueTable) and form.per_player:
            contents = [form.encode(ValueTable(whole.value[[number]]), board) for number in players]
        else:
            contents = [form.encode(whole, board)]
    except FormatError as error:
        raise FormatError(f"cannot write {', '.join(map(shown, targets))}: {error}") from None
    EXPORT.write(targets, contents, overwrite=overwrite)
    return targets


def read(
    name: str,
    paths: Sequence[str | Path],
    board: Board,
    kind: type[_Kind],
    *,
    player: Player | None = None,
) -> _Kind:
    """Read a table of `board`.

    kind: `ValueTable`, `ActionTable` or `Listing`, what is expected.
    paths, player: as for `write`; the values of a player without a file are nan.
    Raises UsageError for a format that is unknown or of another kind, or a wrong number of files, and
    FormatError where a file cannot be read, is damaged, holds anything but numbers up to `state.LARGEST`, or is of
    another board.
    """
    form, sources = format_named(name), [Path(path) for path in paths]
    players = check_use(form, board, sources, kind, player)
    tables: list[Any] = []
    for source in sources:
        content = read_file(source, form.max_bytes(board))
        try:
            table = form.decode(content, board)
            if not isinstance(table, kind):
                raise FormatError(
                    f"the file holds {DESCRIPTION[type(table)]} where {DESCRIPTION[kind]} are expected; "
                    "name another file, or a learner with such a table"
                )
            tables.append(checked(table, board, LARGEST))
        except FormatError as error:
            raise FormatError(f"{shown(source)}: {error}") from None
    if not form.per_player:
        only: _Kind = tables[0]
        return only
    value = np.full((2, 3**board.cells), np.nan)
    for table, number in zip(tables, players, strict=True):
        value[number] = table.value[0]
    return kind(value)  # type: ignore[call-arg]


def check_use(
    form: Format, board: Board, paths: Sequence[Path], kind: type[Table], player: Player | None
) -> tuple[int, ...]:
    """Whose values the files hold, each player as 0 or 1.  Raises UsageError."""
    if kind not in form.forms:
        raise UsageError(f"format {form.name} does not hold {DESCRIPTION[kind]}; formats that do: {_formats_for(kind)}")
    if kind is not Listing and board.cells > MAX_CELLS:
        raise UsageError(
            f"board {board.name} has {board.cells} cells and {3**board.cells:,} codes; format {form.name} keeps a "
            f"table by code, which is for at most {MAX_CELLS} cells; choose one of: {_formats_for(Listing)}"
        )
    if not 1 <= len(paths) <= form.files:
        wanted = "1 file, or 2 (first and second player)" if form.per_player else "1 file"
        raise UsageError(f"{len(paths)} files are given; format {form.name} takes {wanted}")
    if player is None:
        return (0,) if len(paths) == 1 and form.per_player else (0, 1)
    player = choose_seat(player, what="player")
    if not form.per_player or len(paths) == 2:
        raise UsageError(f"player {player} is named, but the files hold both players; leave the player out")
    return (SEATS.index(player),)


def _formats_for(kind: type[Table]) -> str:
    return ", ".join(form.name for form in FORMATS.values() if kind in form.forms)
