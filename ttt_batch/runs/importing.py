"""Import of other programs' tables as runs: recognition of the file, choice of a learner, and defaults."""

import json
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from ttt_batch.base.choices import SEATS, choose, choose_seat
from ttt_batch.base.errors import UsageError, flag, quoted, warn_python
from ttt_batch.base.files import begins_with, shown
from ttt_batch.base.named_code import AS_AGENT
from ttt_batch.base.quantities import count_text
from ttt_batch.game.board import FIRST_WINS, SECOND_WINS, Board, parse_board
from ttt_batch.game.enumeration import enumerate_graph
from ttt_batch.game.state_space import too_large
from ttt_batch.learners import learner_named
from ttt_batch.runs.batches import MAX_GAMES
from ttt_batch.runs.config import Config, make_config
from ttt_batch.runs.consistency import Parts, misfits
from ttt_batch.runs.exchange import has_actions, kind_in, values_of_both_players
from ttt_batch.runs.formats import FORMATS, format_named, read, read_file
from ttt_batch.runs.formats.base import ACTION_VALUES, POSITION_VALUES, STATES, FormatError, Table
from ttt_batch.runs.formats.contents import Content, content_of, most_bytes
from ttt_batch.runs.formats.keys import KeyReading, parse_reading
from ttt_batch.runs.formats.recognising import (
    OF_FINAL_VALUES,
    OF_OWN_VALUES,
    OF_VALUES,
    Recognised,
    in_our_numbering,
    learner_for,
    loses_by_table,
    missing_moves,
    recognised,
)
from ttt_batch.runs.formats.tables import (
    beads_from,
    edges_from,
    is_symmetry_reduced,
    possible,
    state_values_from,
    values_from,
)
from ttt_batch.runs.plain_reading import SIGNATURE, run_without_statistics
from ttt_batch.runs.recorder import Clock, record_once
from ttt_batch.runs.run import Run
from ttt_batch.runs.runfile.reading import is_run_file
from ttt_batch.simulation.policy import chosen_edges

PLAIN = "hdf5"
"""Name of the format in `plain_hdf5`, whose files name learner, board and settings."""

_MOST_PLAIN = 1 << 31
"""Largest size of a plain HDF5 table that is read, in bytes."""


def import_form(name: str) -> str:
    """Return the canonical name of a format that can be imported.  Raises UsageError."""
    return choose("format", name, (*FORMATS, PLAIN), words={"h5": PLAIN})


def import_tables(
    paths: Sequence[str | Path],
    learner: str | None = None,
    *,
    form: str | None = None,
    board: str | Board = "3x3",
    player: str | None = None,
    keys: str | None = None,
    command: str = "",
    warn: Callable[[str], None] = warn_python,
    **options: Any,
) -> Run:
    """Read another program's table into a run of `learner`, by default of the learner that the table fits.

    paths: one file, or one or two for a program with a file per player.  form: the format; by default recognised from
    the content.  player: the player of a single file.  keys: numbering of the keys, see `keys.parse_reading`; by
    default recognised from the table.  warn: called with each line about missing entries.  options: those of `Config`.
    `notes` of the run say how the files were read.
    Files that a page has saved name a learner and a number of games, which the run keeps.  With that learner it also
    keeps step size, exploration and seed.
    Entries that the files lack keep the learner's start values.  Raises UsageError and FormatError.
    """
    files = [Path(path) for path in paths]
    if keys is not None:
        parse_reading(keys)
    for file in files:
        if is_run_file(file):
            raise FormatError(f"{shown(file)} is a run already; use it as it is, or export it first")
        if form is None and file.suffix.lower() in (".html", ".htm"):
            raise UsageError(f"{shown(file)} is a page; import the .json file that Download on a learning page saves")
    form = None if form is None else import_form(form)
    try:
        if form == PLAIN or (form is None and begins_with(files[0], SIGNATURE)):
            return _import_plain(files, learner, board, command, {"player": player, "keys": keys, **options})
        return _import_files(files, learner, form, board, player, keys, command, options, warn)
    except FormatError as error:
        raise _with_way(files[0], error) from None


def _import_files(
    files: Sequence[Path],
    learner: str | None,
    form: str | None,
    board: str | Board,
    player: str | None,
    keys: str | None,
    command: str,
    options: dict[str, Any],
    warn: Callable[[str], None],
) -> Run:
    """Read files in the named format, or in the format recognised from their content."""
    if form is not None and keys is not None:
        raise UsageError(f"{flag('form', form)} fixes how keys are read; leave {flag('keys')} out")
    if form is not None:
        return _import_format(
            files, format_named(form).name, learner, board, player, command, options, warn, named=True
        )
    parsed = parse_board(board)
    contents = []
    for file in files:
        try:
            contents.append(content_of(read_file(file, most_bytes(parsed)), parsed, file.suffix.lower()))
        except FormatError as error:
            raise _with_way(file, error) from None
    if len({content.form for content in contents}) > 1:
        raise UsageError(f"{', '.join(map(shown, files))} are of two kinds; give two files of one kind, a player each")
    if contents[0].form and keys is not None:
        table = read(contents[0].form, files, parsed, None, player=player)
        if table.kind != ACTION_VALUES:
            raise UsageError(f"{shown(files[0])} says which positions it holds; leave {flag('keys')} out")
        contents = [Content(contents[0].form, data=table.q)]
    if contents[0].form:
        return _import_format(files, contents[0].form, learner, board, player, command, options, warn)
    try:
        return _import_contents(contents, learner, parsed, player, keys, command, options, warn)
    except UsageError as error:
        raise type(error)(f"{shown(files[0])}: {error}") from None


def _import_plain(
    files: Sequence[Path], learner: str | None, board: str | Board, command: str, options: dict[str, Any]
) -> Run:
    """Read a plain HDF5 table, which holds its own settings.  Raises UsageError for options that contradict them."""
    name = shown(files[0])
    if len(files) > 1:
        raise UsageError(f"{len(files)} files are given, but {name} holds both players; give only that one")
    run = run_from_plain(read_file(files[0], _MOST_PLAIN), command=command)
    if learner is not None and learner_named(learner) is not run.learner:
        raise UsageError(f"{name} holds a table of {run.config.learner}; leave {flag('learner')} out")
    if parse_board(board) not in (parse_board("3x3"), run.board):
        raise UsageError(f"{name} holds a table of {run.board.name}; leave {flag('board')} out")
    if given := next((key for key, value in options.items() if value is not None), None):
        raise UsageError(f"{name} holds a table with its settings; leave {flag(given)} out")
    run.notes = (f"taken for a plain HDF5 table of {run.config.learner} on {run.board.name}",)
    return run


def run_from_plain(content: bytes, *, command: str = "") -> Run:
    """Return the run of a table that `plain_hdf5.encode` wrote.  Raises FormatError, without the file's name."""
    run = run_without_statistics(content)
    _finish(run, command)
    for wrong in misfits(run.data(), Parts(run.config, run.graph, run.grown)):
        raise FormatError(f"{wrong.partition(';')[0]}; export the table again")
    return run


def import_object(
    found: Any,
    learner: str | None = None,
    *,
    board: str | Board = "3x3",
    player: str | None = None,
    keys: str | None = None,
    warn: Callable[[str], None] = warn_python,
    **options: Any,
) -> Run:
    """Read a table in memory (a dictionary, an array or a frame) as `import_tables` reads one from a file."""
    parsed = parse_board(board)
    if isinstance(found, str | bytes | Path):
        raise UsageError(f"table {quoted(found)} is not a table in memory; import_run reads files")
    try:
        return _import_contents([Content("", data=found)], learner, parsed, player, keys, "", options, warn)
    except FormatError as error:
        raise FormatError(f"the table: {error}; {AS_AGENT}") from None


def _with_way(file: Path, error: FormatError) -> FormatError:
    """Return a format error with the file's name and the remaining way to evaluate it."""
    text = str(error)
    text = text if shown(file) in text else f"{shown(file)}: {text}"
    return FormatError(text if AS_AGENT in text or "cannot read" in text else f"{text}; {AS_AGENT}")


def _import_contents(
    contents: Sequence[Content],
    learner: str | None,
    board: Board,
    player: str | None,
    keys: str | None,
    command: str,
    options: dict[str, Any],
    warn: Callable[[str], None],
) -> Run:
    """Read tables and recognise the numbering of their keys."""
    if learner is not None and learner_named(learner).boxes:
        raise UsageError(f"{learner} has boxes, which only a .json file saved by a page holds; name such a file")
    if len(contents) > 2:
        raise UsageError(f"{len(contents)} files are given; a table is in 1 file, or in 2 (first and second player)")
    own = None if player is None else SEATS.index(choose_seat(player, what="player"))
    if own is not None and len(contents) == 2:
        raise UsageError(f"player {player} is named, but the files hold both players; leave the player out")
    reading: KeyReading | None = None if keys is None else parse_reading(keys)
    plain = make_config(learner=OF_VALUES, board=board, symmetry="off", engine="given", batch=1)
    if plain.grown:
        raise too_large("import", board, "choose a smaller one, such as 4x4x4")
    found = recognised(contents, board, plain.graph, reading, own)
    fitting = learner_for(found.table, found.middle)
    used = learner_named(fitting if learner is None else learner)
    settings: dict[str, Any] = {"learner": used.name, "board": board, "batch": 1, "engine": "given"}
    if learner is None and fitting == OF_VALUES and found.middle:
        settings |= {"draw_worth": (found.middle, -found.middle), "start_value": found.middle}
    if learner is None and fitting == OF_OWN_VALUES and not found.middle:
        settings |= {"draw_worth": (0.0, 0.0), "start_value": 0.0}
    settings |= {name: value for name, value in options.items() if value is not None}
    run = _fresh(make_config(symmetry="off", **settings), 0)
    for line in found.warnings:
        warn(line)
    only_second = own == 1 or (found.table.value is not None and bool(np.isnan(found.table.value[0]).all()))
    _fill(run, found.table, only_second=only_second)
    fed_back = learner is None and fitting == OF_FINAL_VALUES
    if fed_back:
        np.nan_to_num(run.tables.value, copy=False)  # its program treats missing values as 0, not as moves to avoid
    _finish(run, command)
    named = "" if learner is not None else f"; imported as {used.name}, whose table fits"
    run.notes = (
        f"{found.taken}{named}",
        *_lacking(run, found, "count as 0" if fed_back else "keep start values", warn),
    )
    return run


def _lacking(run: Run, found: Recognised, instead: str, warn: Callable[[str], None]) -> tuple[str, ...]:
    """Warn of the numbers that a table lacks; return a line about their effect on the verdict, if any are missing.

    instead: treatment of missing numbers, in words.
    """
    graph = run.graph
    missing = missing_moves(graph, found.table)
    lacking = int(np.count_nonzero(missing))
    if not lacking:
        return ()
    what = "moves" if found.table.q is not None else "moves to unfinished positions"
    share = f"{lacking:,} of {missing.size:,} {what} ({lacking / missing.size:.1%})"
    warn(f"the table has no number for {share}, which {instead}")
    chosen = chosen_edges(graph, run.policy)
    lines = []
    for seat, name in enumerate(SEATS):
        if run.statistics["unbeatable"][-1][seat]:
            continue
        lost = graph.outcome == (SECOND_WINS, FIRST_WINS)[seat]
        if loses_by_table(graph, chosen, missing, seat, lost):
            lines.append(f"as {name} it can be beaten through positions that the table has")
        else:
            lines.append(f"as {name} it can be beaten only through positions that the table lacks")
    return ("; ".join(lines),) if lines else ()


def _import_format(
    files: Sequence[Path],
    form: str,
    learner: str | None,
    board: str | Board,
    player: str | None,
    command: str,
    options: dict[str, Any],
    warn: Callable[[str], None],
    *,
    named: bool = False,
) -> Run:
    """Read a table in one of our formats.  named: True if the user named the format, so its numbering is ours."""
    learnt = _learnt_in(files[0], form, board)
    told = learner if learner is not None else learnt.get("learner")
    form_used = format_named(form)
    table = None
    if not isinstance(told, str):
        table = read(form, files, parse_board(board), None, player=player)
        told = learner_for(table)
    used = learner_named(told)
    settings: dict[str, Any] = {"learner": told, "board": board, "batch": 1, "engine": "given"}
    if learnt.get("learner") == used.name:
        settings |= {name: learnt[name] for name in ("alpha", "epsilon", "seed") if name in learnt}
    settings |= {name: value for name, value in options.items() if value is not None}
    config = make_config(symmetry="on" if used.boxes else "off", **settings)
    if used.boxes and STATES not in form_used.kinds:
        raise UsageError(
            f"import is not applicable to {config.learner} from {form_used.name}, which has no boxes; name a .json file"
        )
    kind = kind_in(form_used, used)
    table = read(form, files, config.board, kind, player=player) if table is None else table
    if table.kind == STATES and is_symmetry_reduced(table, config.board):
        config = make_config(symmetry="on", **settings)
    if table.kind == ACTION_VALUES and not in_our_numbering(table.q, config.board, enumerate_graph(config.board)):
        if not named:
            found = [Content(f"{form} by another code", data=table.q)]
            return _import_contents(found, learner, config.board, player, None, command, options, warn)
        warn(f"the table plays better in another numbering than that of {form}; leave {flag('form')} out to find it")
    run = _fresh(config, _games_in(files[0], learnt))
    only_second = len(files) == 1 and player is not None and choose_seat(player) == "second"
    try:
        if table.kind == STATES:
            table, left_out, example = possible(run.graph, table, config.board.cells)
            if left_out:
                entries = count_text(left_out, "position")
                warn(f"{shown(files[0])}: {entries} left out that cannot occur, {example} for one")
        _fill(run, table, only_second=only_second)
    except FormatError as error:
        raise FormatError(f"{shown(files[0])}: {error}") from None
    _finish(run, command)
    said = (
        ""
        if learner is not None or learnt.get("learner") == used.name
        else f"; imported as {used.name}, whose table fits"
    )
    run.notes = (f"taken for the format {form}{said}",)
    return run


def _fresh(config: Config, games: int) -> Run:
    run = Run(config, None, games, {})
    run.tables = run.learner.fresh(run.graph, config.settings, np.random.default_rng(config.seed % 2**64))
    return run


def _finish(run: Run, command: str) -> None:
    """Judge a filled run, and add its provenance."""
    run.statistics = record_once(run)
    run.provenance = Clock().provenance(command)


def _learnt_in(file: Path, form: str, board: str | Board) -> dict[str, Any]:
    """Return the training settings in a file that a page saved; empty for other files.  Raises FormatError."""
    if form == "json":
        content = read_file(file, format_named(form).max_bytes(parse_board(board)))
        with suppress(ValueError, RecursionError):  # reading the table reports the fault
            whole = json.loads(content)
            learnt = whole.get("learnt") if isinstance(whole, dict) else None
            return learnt if isinstance(learnt, dict) else {}
    return {}


def _games_in(file: Path, learnt: dict[str, Any]) -> int:
    """Return the number of games in a file that a page saved, 0 if it is missing.  Raises FormatError."""
    games = learnt.get("games", 0)
    if isinstance(games, bool) or not isinstance(games, int) or not 0 <= games <= MAX_GAMES:
        raise FormatError(
            f"{shown(file)}: games {quoted(games)} is not a number of games from 0 to {MAX_GAMES:,}; fix it"
        )
    return games


def _fill(run: Run, table: Table, *, only_second: bool) -> None:
    """Copy a table into the tables of a run.  only_second: True if it has only the second player's values."""
    if (table.q is not None) != has_actions(run.learner):
        found = POSITION_VALUES if table.q is None else ACTION_VALUES
        raise FormatError(
            f"the file holds {found}, which do not fit {run.config.learner}; name another file or learner"
        )
    if run.learner.boxes:
        run.tables.q[:] = beads_from(run.graph, table, run.tables.q)
        return
    if table.kind == ACTION_VALUES:
        run.background = table.q
    if has_actions(run.learner):
        start = run.tables.q if run.tables.q.ndim == 1 else run.tables.q[0]
        run.tables.q[...] = edges_from(run.graph, table, start)
        if run.tables.q.ndim > 1 and {"a", "b"} <= table.more.keys():
            for own, name in zip(run.tables.q, ("a", "b"), strict=True):
                own[:] = edges_from(run.graph, replace(table, q=table.more[name]), own)
        if "value" in run.learner.fields and "value" in table.more:
            run.tables.value[:] = state_values_from(run.graph, table, run.tables.value)
    else:
        values = values_from(run.graph, table, values_of_both_players(run))
        of_first = 0.0 - values[1] if only_second else values[0]
        run.tables.value[:] = of_first if run.learner.zero_sum else values
