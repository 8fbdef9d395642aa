"""Readers and writers of tables in other programs' formats.

They use arrays and position codes, but no runs or learners.  A new format is a `Format` in a module of this folder
whose name begins with `format_`; nothing else names it.
"""

import importlib
import re
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import numpy as np

from ttt_batch.core.errors import BoardError, UsageError, flag
from ttt_batch.core.files import PICTURES, open_ordinary, reading, shown, size_of
from ttt_batch.core.outputs import OutputKind, check_distinct
from ttt_batch.core.text import SEATS, choose, choose_seat
from ttt_batch.games.board import Board, parse_board
from ttt_batch.runs.formats import base
from ttt_batch.runs.options import LARGEST

EXPORT = OutputKind(base.FormatError, taken=base.TakenFormatError)
"""Output kind for files of tables and pictures."""

FORMATS: dict[str, base.Format] = {
    one.name: one
    for module in sorted(Path(__file__).parent.glob("format_*.py"), reverse=True)
    for one in vars(importlib.import_module(f"{__name__}.{module.stem}")).values()
    if isinstance(one, base.Format)
}
"""All formats by name, those of text first."""

WHOLE = {"html": "a page", "boxes": "a kit", "cards": "a deck", "hdf5": "a plain HDF5 file"}
"""Formats that take a whole run, also one of networks, or a certificate (`cards`); the word for a file in messages."""

ENDINGS = {
    **{".html": "html", ".htm": "html", ".pdf": "boxes", ".h5": "hdf5", ".hdf5": "hdf5"},
    **{ending: one.name for one in FORMATS.values() for ending in one.endings},
    **dict.fromkeys(PICTURES, "picture"),
}
"""Format by the suffix of a file's name; `.bin` is left out, since several formats use it."""

TEXT_FORMATS = ("csv", "json", "jsonl")
"""Formats of tables whose files may end in .txt."""


def check_ending(file: Path, to: str, what: str = "", remedy: str = "name another file or format") -> None:
    """Raise UsageError if the name ends like a file of another format than `to`.

    what: the content, for the message.
    """
    ending = file.suffix.lower()
    is_text = ending == ".txt" and to in TEXT_FORMATS
    kind = "pickle-text" if to == "pickle" else to  # .pkl is the ending of both pickles
    if ENDINGS.get(ending, kind) != kind and not is_text:
        raise UsageError(f"{shown(file)} ends in {file.suffix}, which is not for {what or to}; {remedy}")


def format_named(name: str) -> base.Format:
    """Return the format called `name`, in any spelling that `choose` accepts.  Raises UsageError."""
    return FORMATS[choose("format", name, FORMATS)]


def write(
    name: str,
    table: base.Table,
    board: Board,
    paths: Sequence[str | Path],
    *,
    player: str | None = None,
    overwrite: bool = False,
) -> list[Path]:
    """Write a table of `board` to one file, or to two in a format with a file per player; return the paths.

    paths: one file, or two for the first and the second player, in this order.  In a format with a file per player, one
    file is for `player`, `first` (the default) or `second`.
    Raises UsageError for an unknown format, a wrong number of files or a kind of table that the format does not hold.
    Raises FormatError if the format cannot hold an entry, a file exists without `overwrite`, or writing fails.
    """
    form, targets = format_named(name), [Path(path) for path in paths]
    players = check_use(form, board, targets, table.kind, player)
    check_targets(targets, overwrite=overwrite)
    try:
        whole = base.validated_table(table, board)
        if whole.kind == base.ACTION_VALUES and np.isnan(whole.q).any():
            raise base.FormatError(
                f"some action values are missing; {name} has a number for every cell; fill them first"
            )
        parts = [base.Table(whole.value[[number]]) for number in players] if form.per_player else [whole]
        contents = [form.encode(part, board) for part in parts]
    except base.FormatError as error:
        raise base.FormatError(f"cannot write {', '.join(map(shown, targets))}: {error}") from None
    EXPORT.write(targets, contents, overwrite=overwrite)
    return targets


def read(
    name: str, paths: Sequence[str | Path], board: Board, kind: str | None, *, player: str | None = None
) -> base.Table:
    """Read a table of `board`.

    kind: the expected kind, POSITION_VALUES, ACTION_VALUES or STATES; None accepts every kind of the format.
    paths, player: as for `write`; the values of a player without a file are nan.
    Raises UsageError for an unknown format, a format that does not hold `kind`, or a wrong number of files.
    Raises FormatError if a file is unreadable, damaged, of another board, or holds numbers beyond `options.LARGEST`.
    """
    form, sources = format_named(name), [Path(path) for path in paths]
    players = check_use(form, board, sources, kind, player)
    tables = []
    for source in sources:
        content = read_file(source, form.max_bytes(board), board)
        try:
            table = form.decode(content, board)
            if kind is not None and table.kind != kind:
                raise base.FormatError(
                    f"the file holds {table.kind}, not {kind}; name another file, or a learner with such a table"
                )
            tables.append(base.validated_table(table, board, LARGEST))
        except base.FormatError as error:
            raise base.FormatError(f"{shown(source)}: {error}") from None
    if not form.per_player:
        return tables[0]
    value = np.full((2, 3**board.cells), np.nan)
    for table, number in zip(tables, players, strict=True):
        value[number] = table.value[0]
    return base.Table(value)


def check_use(
    form: base.Format, board: Board, paths: Sequence[Path], kind: str | None, player: str | None
) -> tuple[int, ...]:
    """Return the players whose values the files hold, as 0 and 1.  Raises UsageError for a use that does not fit."""
    if kind is None:
        kind = form.kinds[0]
    if kind not in form.kinds:
        raise UsageError(f"format {form.name} does not hold {kind}; formats that do: {_formats_for(kind)}")
    if kind != base.STATES and board.cells > base.MAX_CELLS:
        raise UsageError(
            f"board {board.name} has {board.cells} cells and {3**board.cells:,} codes; format {form.name} keeps a "
            f"table by code, which allows at most {base.MAX_CELLS} cells; choose one of: {_formats_for(base.STATES)}"
        )
    if not 1 <= len(paths) <= 1 + form.per_player:
        wanted = "1 file, or 2 (first and second player)" if form.per_player else "1 file"
        raise UsageError(f"{len(paths)} files are given; format {form.name} takes {wanted}")
    if player is None:
        return (0,) if len(paths) == 1 and form.per_player else (0, 1)
    player = choose_seat(player, what="player")
    if not form.per_player or len(paths) == 2:
        raise UsageError(f"player {player} is named, but the files hold both players; leave the player out")
    return (SEATS.index(player),)


def _formats_for(kind: str) -> str:
    return ", ".join(form.name for form in FORMATS.values() if {kind, base.STATES} & set(form.kinds))


def check_targets(paths: Sequence[Path], *, overwrite: bool) -> None:
    """Check, before any work, that all files can be written.

    Raises FormatError if a file exists and `overwrite` is false, if a path is a folder or a special file, if its folder
    does not exist or is not writable, or if two paths name the same file.
    """
    check_distinct([(flag("out"), path) for path in paths], error=base.FormatError)
    for path in paths:
        EXPORT.check(path, overwrite=overwrite)


def read_file(path: Path, limit: int, board: Board | None = None) -> bytes:
    """Return the bytes of a file.  Raises FormatError if it is not ordinary, or longer than `limit` bytes.

    board: as the caller named it, for the remedy.
    """
    missing = f"cannot read {shown(path)}: there is no such file; name a file that holds a table"
    with reading(path, base.FormatError, lambda: missing), open_ordinary(path) as file:
        size = size_of(file)
        content = file.read(size if size <= limit else 200)
    if size > limit:
        remedy = "give the file's own board, or name another file"
        own = re.match(rb'\s*\{\s*"board":\s*"([\w-]+)"', content)  # as our json and pages begin
        if own is not None:
            with suppress(BoardError):
                named = parse_board(own[1].decode())
                other = f", or give {flag('board', named.name)}, which this one names" if named != board else ""
                remedy = f"name another file{other}"
        raise base.FormatError(
            f"{shown(path)}: the file has {size:,} bytes, a table of this board at most {limit:,}; {remedy}"
        )
    return content
