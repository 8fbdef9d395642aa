"""Python functions of `export` and `import`: write and read tables in other programs' formats."""

import os
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol, TypedDict, Unpack

from numpy.typing import NDArray

from ttt_batch.agents.choices import as_csv, as_json
from ttt_batch.agents.naming import is_agent
from ttt_batch.agents.outsider import AgentAdapter
from ttt_batch.app.judging import Player, open_players
from ttt_batch.base.choices import Ties, choose
from ttt_batch.base.errors import UsageError, flag, with_option
from ttt_batch.base.files import shown
from ttt_batch.base.outputs import check_distinct, named_file
from ttt_batch.runs import exchange, importing
from ttt_batch.runs.config import LearnerOptions
from ttt_batch.runs.formats import EXPORT, FORMATS, check_targets
from ttt_batch.runs.loading import AnyRun, any_run, load_any, with_table
from ttt_batch.runs.loading import load as load_table
from ttt_batch.runs.lookup import find_run
from ttt_batch.runs.run import Run

WHOLE = {"html": "a page", "boxes": "a kit", "hdf5": "a plain HDF5 file"}
"""Formats that take a whole run, also one of networks, and the word for such a file in messages."""

ENDINGS = {
    **{".html": "html", ".htm": "html", ".pdf": "boxes", ".h5": "hdf5", ".hdf5": "hdf5", ".csv": "csv", ".txt": "csv"},
    **{".npy": "npy", ".npz": "npz", ".json": "json", ".jsonl": "jsonl", ".parquet": "parquet", ".pq": "parquet"},
    **{".pkl": "pickle-text", ".pickle": "pickle-text"},
}
"""Format by the suffix of a file's name; `.bin` is left out, since several formats use it."""

AGENT_FORMATS = ("html", "json", "csv")
"""Formats for a third-party agent."""


class ExportOptions(TypedDict, total=False):
    """Options of `export_run`; each applies to some formats."""

    overwrite: bool
    ties: Ties | None
    warn: Callable[[str], None]


class ImportOptions(LearnerOptions, total=False):
    """Options of `import_run`."""

    form: str | None
    player: str | None
    keys: str | None
    command: str
    warn: Callable[[str], None]


class TableOptions(LearnerOptions, total=False):
    """Options of `import_table`."""

    player: str | None
    keys: str | None
    warn: Callable[[str], None]


def export_agent(agent: AgentAdapter, out: str | Path, to: str, *, overwrite: bool = False) -> list[Path]:
    """Write an agent's choices to `out`: a page to play on (`html`), or a table as `json` or `csv`; return the file.

    Raises UsageError for another format, BoardError for a board too large to enumerate, AgentError and FormatError.
    """
    to, path = choose("format", to, AGENT_FORMATS), Path(out)
    if to == "html":
        from ttt_batch.app.web import export_page

        return [export_page(agent, path, overwrite=overwrite)]
    check_targets([path], overwrite=overwrite)
    EXPORT.write([path], [as_json(agent) if to == "json" else as_csv(agent)], overwrite=overwrite)
    return [path]


def resolve_format(to: str | None, files: Sequence[Path], names: Collection[str]) -> str:
    """Return the format `to`, or else the one that the first file's suffix means; one of `names`.

    Raises UsageError for an unknown format, and if neither gives one.
    """
    if to is not None:
        return choose("format", to, names, words={"h5": "hdf5"})
    listed = f"one of: {', '.join(names)}{with_option('to')}"
    if not files:
        raise UsageError(f"no format given; name a file such as table.h5{with_option('out')}, or {listed}")
    meant = ENDINGS.get(files[0].suffix.lower(), "")
    if meant in names:
        return meant
    raise UsageError(f"the name of {shown(files[0])} does not end in a known format; choose {listed}")


def export_whole(run: AnyRun, to: str, path: Path, *, ties: Ties | None = None, overwrite: bool = False) -> Path:
    """Write a page to play on (`html`), the kit of menace's boxes (`boxes`) or plain HDF5 (`hdf5`); return its path.

    ties: for a page, see `web.export_page`.  Raises UsageError and the errors of that and `kit.export_boxes`.
    """
    if to == "hdf5":
        from ttt_batch.runs.plain_hdf5 import encode

        if ties is not None:
            raise UsageError(f"{flag('ties', ties)} is for a page to play on; leave it out of a table")
        check_targets([path], overwrite=overwrite)
        EXPORT.write([path], [encode(run)], overwrite=overwrite)
        return path
    if to == "html":
        from ttt_batch.app.web import export_page

        return export_page(run, path, ties=ties, overwrite=overwrite)
    from ttt_batch.app.kit import export_boxes

    if ties is not None:
        raise UsageError(f"{flag('ties', ties)} is for a page to play on; leave it out of a kit of boxes")
    return export_boxes(run, path, overwrite=overwrite)


def export_run(
    run: Player,
    out: str | Path | Sequence[str | Path],
    to: str | None = None,
    *,
    player: str | None = None,
    **options: Unpack[ExportOptions],
) -> list[Path]:
    """Write a run to `out` in the format `to`, and return the written files.

    run: a run, its file, or an agent (see `judge`) with the formats of `export_agent`, on 3x3 unless it has a board.
    out: one file, or for formats with a file for each player one or two.
    to: `html` (a page to play on), `boxes` (a kit of menace's boxes, .pdf or .html) or a table's format; by default the
    suffix decides (`ENDINGS`).  Networks have only a page, and plain HDF5 of their weights and tuples.
    player: the player whose values go into a single file.
    options: `overwrite`; for a page also `ties`, for tables `warn`, see `exchange.export_table`.
    Raises UsageError, BoardError, FormatError and RunFileError.
    """
    given: dict[str, Any] = dict(options)
    if isinstance(run, AgentAdapter) or is_agent(run):
        if player is not None or not isinstance(out, str | Path):
            raise UsageError("an agent's choices go into one file for both players; give one file and no player")
        with open_players([run]) as (agent,):
            assert isinstance(agent, AgentAdapter)
            return export_agent(agent, out, resolve_format(to, _named("out", out), AGENT_FORMATS), **given)
    files = _named("out", out)
    to = resolve_format(to, files, (*WHOLE, *FORMATS))
    written = [(flag("out"), file) for file in files]
    check_distinct(written, [("run", find_run(run))] if isinstance(run, str | Path) else [])
    if isinstance(run, str | Path):
        load = load_any if to in WHOLE else load_table
        run = load(run, check=lambda config: exchange.check_export(config, to))
    run = any_run(run)
    if to in WHOLE:
        if len(files) != 1 or player is not None:
            raise UsageError(f"{WHOLE[to]} is one file for both players; give one file and no player")
        return [export_whole(run, to, files[0], **given)]
    return exchange.export_table(with_table(run), to, files, player=player, **given)


def import_run(
    files: str | Path | Sequence[str | Path],
    learner: str | None = None,
    *,
    out: str | Path | None = None,
    overwrite: bool = False,
    **options: Unpack[ImportOptions],
) -> Run:
    """Read another program's table into a run of `learner`, and save it to `out` if given.

    files: one file, or one for each player.
    learner: by default the one named in the file, or one with such a table.
    options: `form`, `board`, `player`, `keys`, `warn` and those of `Config`.
    keys: notation of the keys, such as `0,1,2,low`, if the table leaves it open; see `import_table`.
    The run's `notes` describe how the files were read.
    Raises UsageError, FormatError and RunFileError.
    """
    paths = _named("files", files)
    check_distinct(
        [(flag("out"), named_file("out", out))] if out is not None else [], [("files", path) for path in paths]
    )
    given: dict[str, Any] = dict(options)
    run = importing.import_tables(paths, learner, **given)
    if out is not None:
        run.save(out, overwrite=overwrite)
    return run


class Frame(Protocol):
    """Data frame of pandas or a compatible library."""

    @property
    def columns(self) -> Any:
        """Return the names of the columns."""

    def to_numpy(self) -> Any:
        """Return the numbers as an array."""


def import_table(
    table: Mapping[Any, Any] | Sequence[Any] | NDArray[Any] | Frame,
    learner: str | None = None,
    *,
    out: str | Path | None = None,
    overwrite: bool = False,
    **options: Unpack[TableOptions],
) -> Run:
    """Read a table in memory into a run of `learner`, and save it to `out` if given.

    table: a dictionary from positions to values, to numbers for all cells, or to dictionaries of moves; or from
    (position, move) to numbers.  Also an array indexed by position number, or a frame of pandas.
    learner: by default one with such a table.
    options: `board`, `player` (the owner of the values), `keys`, `warn` and those of `Config`.
    keys: signs for an empty cell, the first and the second player, such as `0,1,2` or `space,X,O`.  Then `mover` if the
    second sign means the player to move, and `low` if the first cell is the lowest digit of a number.  By default the
    table decides, or UsageError lists the possible keys.
    The run's `notes` describe how the table was read.
    Raises UsageError, FormatError and RunFileError.
    """
    given: dict[str, Any] = dict(options)
    run = importing.import_object(table, learner, **given)
    if out is not None:
        run.save(named_file("out", out), overwrite=overwrite)
    return run


def _named(name: str, given: Any) -> list[Path]:
    """Return the paths of one or several files.  Raises UsageError for an empty list or a value that is not a path."""
    several = isinstance(given, Iterable) and not isinstance(given, str | bytes | os.PathLike)
    files = [named_file(name, one) for one in (given if several else [given])]
    if not files:
        raise UsageError(f"{flag(name)} is empty; give a file")
    return files
