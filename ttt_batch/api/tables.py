"""Tables of other programs, pages and kits: `export_run`, `import_run` and `import_table`."""

import os
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol, TypedDict, Unpack

from numpy.typing import NDArray

from ttt_batch.agents.adapter import AgentAdapter, as_csv, as_json
from ttt_batch.agents.external import is_agent, open_players
from ttt_batch.api.judging import Player
from ttt_batch.core.errors import UsageError, flag, with_option, worded
from ttt_batch.core.files import shown
from ttt_batch.core.hooks import call_hook
from ttt_batch.core.named_code import is_callable_name
from ttt_batch.core.outputs import check_distinct, named_file
from ttt_batch.core.text import Ties, choose, either, find_name, given_options, with_options
from ttt_batch.runs import importing
from ttt_batch.runs.formats import ENDINGS, EXPORT, FORMATS, WHOLE, check_ending, check_targets
from ttt_batch.runs.loading import AnyRun, any_run, load_any, with_table
from ttt_batch.runs.loading import load as load_table
from ttt_batch.runs.lookup import find_run, is_certificate
from ttt_batch.runs.options import LearnerOptions
from ttt_batch.runs.run import Run

AGENT_FORMATS = ("html", "json", "csv")
"""Formats for a third-party agent."""

CERTIFICATE_FORMATS = ("cards", *AGENT_FORMATS)
"""Formats for a certificate's file."""


class ExportOptions(TypedDict, total=False):
    """Options of `export_run`; each applies to some formats."""

    overwrite: bool
    ties: Ties | None
    warn: Callable[[str], None]


class TableOptions(LearnerOptions, total=False):
    """Options of `import_table`."""

    player: str | None
    keys: str | None
    warn: Callable[[str], None]


class ImportOptions(TableOptions, total=False):
    """Options of `import_run`."""

    form: str | None
    command: str


def formats_of(run: object, *, of_agent: bool) -> tuple[str, ...]:
    """Return the formats of a run, a certificate's file or an agent."""
    if is_certificate(run):
        return CERTIFICATE_FORMATS
    return AGENT_FORMATS if of_agent else (*WHOLE, *FORMATS)


def resolve_format(to: str | None, files: Sequence[Path], names: Collection[str]) -> str:
    """Return the format `to`, or else the one that the first file's suffix means; one of `names`.

    Raises UsageError for an unknown format, and if neither gives one.
    """
    if to is not None:
        known = find_name(to, (*WHOLE, *FORMATS), {"h5": "hdf5"})
        if known is not None and known not in names:
            owners = {"cards": "certificates", "boxes": "runs of menace"}.get(known, "runs")
            raise UsageError(f"format {known} is for {owners}; choose {either(tuple(names))}")
        return choose("format", to, names, words={"h5": "hdf5"})
    listed = f"one of: {', '.join(names)}{with_option('to')}"
    if not files:
        raise UsageError(f"no format given; name a file such as table.h5{with_option('out')}, or {listed}")
    meant = ENDINGS.get(files[0].suffix.lower(), "")
    if meant == "boxes" and meant not in names:
        meant = "cards"
    if meant in names:
        return meant
    raise UsageError(f"the name of {shown(files[0])} does not end in a known format; choose {listed}")


def check_export_options(to: str, files: Sequence[Path], player: str | None, ties: str | None, *, of_run: bool) -> None:
    """Raise UsageError for arguments of `export_run` that do not fit the format `to`.  of_run: False without a run."""
    for file in files if to not in ("boxes", "cards") else ():  # they check their own endings
        check_ending(file, to)
    for name, given in {"player": player, "ties": ties}.items():
        if not of_run and given is not None:
            raise UsageError(f"{flag(name)} is for runs; leave it out")
    if (not of_run or to in WHOLE) and (len(files) > 1 or player is not None):
        what = f"{WHOLE[to]} is" if to in WHOLE else "an agent's choices are"
        players = "" if to == "cards" else " for both players"
        remedy = worded("give one --out FILE and no --player", "give one file and no player")
        raise UsageError(f"{what} one file{players}; {remedy}")
    if ties is not None and to != "html":
        raise UsageError(f"{flag('ties', ties)} is for a page to play on; {to} holds the table as it is: leave it out")


@with_options(ExportOptions)
def export_run(
    run: Player,
    out: str | Path | Sequence[str | Path],
    to: str | None = None,
    *,
    player: str | None = None,
    **options: Unpack[ExportOptions],
) -> list[Path]:
    """Write a run to `out` in the format `to`, and return the written files.

    run: a run, its file, or an agent (see `judge`) with the formats of `AGENT_FORMATS`, on 3x3 unless it has a board.
    Or the file of a certificate, whose name ends with .npz, with these and `cards`.
    out: one file, or for formats with a file for each player one or two.
    to: `html` (a page to play on), `boxes` (a kit of menace's boxes, .pdf or .html), `cards` (a certificate's, .pdf or
    .html) or a table's format; by default the suffix decides (`ENDINGS`).  Networks have only a page, and plain HDF5 of
    their weights and tuples.
    player: the player whose values go into a single file.
    options: `overwrite`; for a page also `ties`, for tables `warn`, see `runs.importing.export_table`.
    Raises UsageError, BoardError, AgentError, FormatError, RunFileError and CertificateError.
    """
    given: Any = given_options(export_run, options)
    files, of_agent = _named("out", out), isinstance(run, AgentAdapter) or (is_agent(run) and not is_certificate(run))
    to = resolve_format(to, files, formats_of(run, of_agent=of_agent))
    of_run = not (of_agent or is_certificate(run))
    check_export_options(to, files, player, given.get("ties"), of_run=of_run)
    written = [(flag("out"), file) for file in files]
    if of_agent:
        source = [("run", Path(run.rpartition(":")[0]))] if isinstance(run, str) and is_callable_name(run) else []
        check_distinct(written, source)
        with open_players([run]) as (agent,):
            return [_export_whole(agent, to, files[0], given)]
    check_distinct(written, [("run", find_run(run))] if isinstance(run, str | Path) else [])
    if is_certificate(run):
        if to in ("cards", "html"):
            return [Path(call_hook("cards", run, files[0], to=to, overwrite=given.get("overwrite", False)))]
        from ttt_batch.evaluation.certificates import check_holds, load_certificate  # with their kernels

        check_holds(load_certificate(Path(str(run))), Path(str(run)))
        with open_players([str(run)]) as (agent,):
            return [_export_whole(agent, to, files[0], given)]
    if isinstance(run, str | Path):
        load = load_any if to in WHOLE else load_table
        run = load(run, check=lambda config: importing.check_export(config, to))
    run = any_run(run)
    if to in WHOLE:
        return [_export_whole(run, to, files[0], given)]
    given.pop("ties", None)
    return importing.export_table(with_table(run), to, files, player=player, **given)


def _export_whole(run: AnyRun | AgentAdapter, to: str, path: Path, options: ExportOptions) -> Path:
    """Write a page (`html`), a kit (`boxes`), plain HDF5 (`hdf5`) or an agent's table; return its path.

    Raises the errors of `web.export_page` and `kit.export_boxes`.
    """
    overwrite = options.get("overwrite", False)
    if to == "html":
        return Path(call_hook("page", run, path, ties=options.get("ties"), overwrite=overwrite))
    if to == "boxes":
        return Path(call_hook("boxes", run, path, overwrite=overwrite))
    check_targets([path], overwrite=overwrite)
    if isinstance(run, AgentAdapter):
        content = as_json(run) if to == "json" else as_csv(run)
    else:
        from ttt_batch.runs.plain_hdf5 import encode

        content = encode(run)
    EXPORT.write([path], [content], overwrite=overwrite)
    return path


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

    table: a dictionary from positions to values, to numbers for all cells, to dictionaries of moves, or to the moves
    to play; or from (position, move) to numbers.  Also an array indexed by position number, or a frame of pandas.
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
