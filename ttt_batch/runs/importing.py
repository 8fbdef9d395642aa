"""Import of other programs' tables as runs: recognition of the file, choice of a learner, and defaults."""

import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ttt_batch.core.errors import UsageError, flag, quoted, warn_python
from ttt_batch.core.files import begins_with, shown
from ttt_batch.core.named_code import AS_AGENT
from ttt_batch.core.text import SEATS, choose, choose_seat, count_text
from ttt_batch.evaluation.certificates import Certificate
from ttt_batch.games.board import DRAW, EMPTY, FIRST_WINS, SECOND_WINS, UNFINISHED, Board, parse_board
from ttt_batch.games.enumeration import too_large
from ttt_batch.games.graph import movers_of_edges
from ttt_batch.learners import learner_named
from ttt_batch.learners.base import Learner
from ttt_batch.runs.config import GIVEN, Config, cannot_play_second_error, make_config
from ttt_batch.runs.formats import (
    FORMATS,
    base,
    check_use,
    format_named,
    numbering,
    read,
    read_file,
    recognising,
    write,
)
from ttt_batch.runs.formats.keys import KeyReading, parse_reading
from ttt_batch.runs.loading import misfits
from ttt_batch.runs.options import MAX_GAMES
from ttt_batch.runs.plain_hdf5 import run_without_statistics
from ttt_batch.runs.run import Clock, Run, record_once
from ttt_batch.runs.storage.container import SIGNATURE
from ttt_batch.runs.storage.run_file import RUN_FILE
from ttt_batch.simulation.policy import chosen_edges, legal_edges

ILLEGAL = -1.0


def export_table(
    run: Run,
    to: str,
    paths: Sequence[str | Path],
    *,
    player: str | None = None,
    overwrite: bool = False,
    warn: Callable[[str], None] = warn_python,
) -> list[Path]:
    """Write a run's table as format `to`: one file, or one or two for a format with a file per player.

    Lists of states hold both tables of `double-q`, and position values beside preferences.  Formats that cannot hold
    these call `warn` with a line about what is left out.
    A table by code holds the beads of a box at the image of lowest code, and 0 at the other images.
    Returns the paths written.  Raises UsageError and FormatError.
    """
    files = [Path(path) for path in paths]
    check_export(run.config, to)
    form = format_named(to)
    kind = kind_in(form, run.learner)
    check_use(form, run.board, files, kind, player)
    if kind == base.STATES:
        numbers: dict[str, Any]
        if has_actions(run.learner):
            numbers = {"q": _actions(run), "more": _more(run)}
        else:
            numbers = {"values": values_of_both_players(run)}
        table = numbering.states_of_rows(run.graph, chosen_edges(run.graph, run.policy), run.board.cells, **numbers)
    elif kind == base.ACTION_VALUES:
        marks = run.graph.cell < run.board.cells  # without resignations
        table = numbering.action_by_code(run.graph, marks, np.nan_to_num(_actions(run)), _background(run))
    else:
        table = numbering.value_by_code(run.graph, values_of_both_players(run), run.board.cells)
    written = write(form.name, table, run.board, files, player=player, overwrite=overwrite)
    if kind == base.ACTION_VALUES and (more := _more(run)):
        what = "the mean of the two tables" if "a" in more else "preferences for moves, not the values of positions"
        warn(f"{form.name} holds {what}; npz, json and parquet hold both")
    return written


def check_export(config: Config, to: str) -> None:
    """Raise BoardError if a run's board is too large for a table in the format `to`.

    Raises UsageError for a page (`html`) of a learner that plays one seat alone, and for cards.
    """
    if to == "cards":
        raise UsageError(
            "cards are of a certificate, an .npz file; make one with ttt-batch prove RUN --certificate FILE.npz"
        )
    if to == "html" and len((learner := learner_named(config.learner)).seats) == 1:
        remedy = "choose boxes, to print them, or json" if learner.by_beads else f"choose {flag('to', 'hdf5')}"
        raise cannot_play_second_error(config.learner, "a page on which either player begins", remedy)
    if to == "hdf5":
        return
    if config.grown and to == "html":
        remedy = f"choose a smaller one, such as 4x4x4, or train {flag('learner', 'patterns')}"
        raise too_large("a page of a table", config.board, remedy)
    if config.grown:
        remedy = f"choose {flag('to', 'hdf5')}, which has a row for each position of the table"
        raise too_large("export", config.board, remedy)


def kind_in(form: base.Format, learner: Learner) -> str:
    """Return the kind of table that a format stores for a learner."""
    if base.STATES in form.kinds:
        return base.STATES
    return base.ACTION_VALUES if has_actions(learner) else base.POSITION_VALUES


def has_actions(learner: Learner) -> bool:
    """Return whether a learner's table holds numbers of moves, not of positions."""
    return "q" in learner.fields


def _actions(run: Run) -> NDArray[np.float64]:
    """Return the value of each move, float64[E]; with two tables their mean."""
    q: NDArray[np.float64] = run.tables.q
    return q if q.ndim == 1 else 0.5 * (q[0] + q[1])


def _more(run: Run) -> dict[str, NDArray[np.float64]]:
    """Return the numbers of a table that `_actions` leaves out, by the names of `formats.base.MORE`."""
    q: NDArray[np.float64] = run.tables.q
    if q.ndim > 1:
        return {"a": q[0], "b": q[1]}
    return {"value": run.tables.value} if "value" in run.learner.fields else {}


def values_of_both_players(run: Run) -> NDArray[np.float64]:
    """Return the values of positions as each player sees them, float64[P, S]."""
    value = run.tables.value
    return np.stack([value, 0.0 - value]) if run.learner.zero_sum else value  # -value would turn 0 into -0.0


def _background(run: Run) -> NDArray[np.float64]:
    """Return the numbers of a full table, float64[codes, cells], where the run has no number of its own."""
    if run.background is not None:
        return run.background
    if run.by_beads:
        return np.zeros((3**run.board.cells, run.board.cells))
    if run.learner.occupied:  # every cell is an action, and every row starts with random numbers
        rng = np.random.default_rng([run.config.seed % 2**64, 1])
        return rng.standard_normal((3**run.board.cells, run.board.cells))
    start = run.learner.fresh(run.graph, run.config.settings, np.random.default_rng(0)).q
    alike = float(start.flat[0]) if (start == start.flat[0]).all() else None
    return _start_values(run.board, run.worth, alike)


def _start_values(board: Board, worth: NDArray[np.float64], alike: float | None) -> NDArray[np.float64]:
    """Return the start values of moves for every code, including codes that cannot occur.

    alike: the common start value of all moves; None if they differ, as for `backward-q`.  Then the mover follows from
    the number of marks, and a move is worth 1 if any line is complete after it.
    """
    codes = np.arange(3**board.cells)
    marks = base.marks_of_states(codes, board.cells)
    in_lines = marks[:, np.array(board.lines)]  # [codes, lines, cells of a line]
    complete = ((in_lines == in_lines[..., :1]).all(axis=2) & (in_lines[..., 0] != EMPTY)).any(axis=1)
    mover = np.count_nonzero(marks, axis=1) % 2
    table = np.full(marks.shape, ILLEGAL)
    for cell in range(board.cells):
        free = np.flatnonzero(marks[:, cell] == EMPTY)
        if alike is not None:
            table[free, cell] = alike
            continue
        after = codes[free] + (mover[free] + 1) * 3**cell
        in_full = np.where((marks[after] != EMPTY).all(axis=1), worth[mover[free], DRAW], worth[0, UNFINISHED])
        table[free, cell] = np.where(complete[after], 1.0, in_full)
    return table


PLAIN = "hdf5"
"""Name of the format in `plain_hdf5`, whose files name learner, board and settings."""

_MOST_PLAIN = 1 << 31
"""Largest size of a plain HDF5 table that is read, in bytes."""


def import_form(name: str) -> str:
    """Return the canonical name of a format that can be imported.  Raises UsageError."""
    return choose("format", name, (*FORMATS, PLAIN), words={"h5": PLAIN})


class _Request(NamedTuple):
    """A table to import, as the caller describes it.

    files: empty for a table in memory.  keys: the reading of its keys, if named.  named: the user named the format.
    options: those of `Config`.  The others are parameters of `import_tables`.
    """

    files: Sequence[Path]
    learner: str | None
    board: Board
    player: str | None
    keys: KeyReading | None
    named: bool
    command: str
    options: Mapping[str, Any]
    warn: Callable[[str], None]

    @property
    def own(self) -> int | None:
        """Return the player of a single file, 0 or 1, or None."""
        return None if self.player is None else SEATS.index(choose_seat(self.player, what="player"))

    def config(self, symmetry: str, **settings: Any) -> Config:
        """Return the configuration of a run with the caller's options, and else with `settings`."""
        given = {name: value for name, value in self.options.items() if value is not None}
        settings = {"symmetry": symmetry, **settings, **given}
        return make_config(board=self.board, batch=1, engine=GIVEN, **settings)


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
    default recognised from the table.  warn: called with each warning.  options: those of `Config`.
    `notes` of the run say how the files were read.
    Files that a page has saved name a learner and a number of games, which the run keeps.  With that learner it also
    keeps step size, exploration and seed.
    Entries that the files lack keep the learner's start values.  Raises UsageError and FormatError.
    """
    files, reading = [Path(path) for path in paths], None if keys is None else parse_reading(keys)
    for file in files:
        if RUN_FILE.begins(file):
            raise base.FormatError(f"{shown(file)} is a run already; use it as it is, or export it first")
        if form is None and file.suffix.lower() in (".html", ".htm"):
            raise UsageError(f"{shown(file)} is a page; import the .json file that Download on a learning page saves")
    form = None if form is None else import_form(form)
    ask = _Request(files, learner, parse_board(board), player, reading, form is not None, command, options, warn)
    try:
        if form == PLAIN or (form is None and begins_with(files[0], SIGNATURE)):
            return _import_plain(ask)
        if form is not None and keys is not None:
            raise UsageError(f"{flag('form', form)} fixes how keys are read; leave {flag('keys')} out")
        return _import_format(ask, form) if form is not None else _import_files(ask)
    except base.FormatError as error:
        raise _with_remedy(files[0], error) from None
    except RecursionError:
        raise _with_remedy(files[0], base.FormatError("its lists lie too deep in one another")) from None


def _import_files(ask: _Request) -> Run:
    """Read files in the format recognised from their content."""
    contents = []
    for file in ask.files:
        try:
            content = read_file(file, recognising.most_bytes(ask.board), ask.board)
            packed = content.startswith((b"PK\x03\x04", b"PAR1"))
            marked = next((one for one in FORMATS.values() if packed and one.mark and one.mark in content), None)
            contents.append(
                recognising.Content(f"{marked.name} of ttt-batch", form=marked.name)
                if marked is not None
                else recognising.content_of(content, ask.board, file.suffix.lower())
            )
        except base.FormatError as error:
            raise _with_remedy(file, error) from None
    if len({content.form for content in contents}) > 1:
        names = ", ".join(map(shown, ask.files))
        raise UsageError(f"{names} are of two kinds; give two files of one kind, a player each")
    form, first = contents[0].form, shown(ask.files[0])
    if form and ask.keys is None:
        return _import_format(ask, form)
    if form:
        table = read(form, ask.files, ask.board, None, player=ask.player)
        if table.kind != base.ACTION_VALUES:
            raise UsageError(f"{first} says which positions it holds; leave {flag('keys')} out")
        contents = [recognising.Content(form, data=table.q)]
    try:
        return _import_contents(ask, contents)
    except UsageError as error:
        raise type(error)(f"{first}: {error}") from None


def _import_plain(ask: _Request) -> Run:
    """Read a plain HDF5 table, which holds its own settings.  Raises UsageError for options that contradict them."""
    name = shown(ask.files[0])
    if len(ask.files) > 1:
        raise UsageError(f"{len(ask.files)} files are given, but {name} holds both players; give only that one")
    run = run_from_plain(read_file(ask.files[0], _MOST_PLAIN), command=ask.command)
    if ask.learner is not None and learner_named(ask.learner) is not run.learner:
        raise UsageError(f"{name} holds a table of {run.config.learner}; leave {flag('learner')} out")
    if ask.board not in (Board(), run.board):
        raise UsageError(f"{name} holds a table of {run.board.name}; leave {flag('board')} out")
    options = {"player": ask.player, "keys": ask.keys, **ask.options}
    if given := next((key for key, value in options.items() if value is not None), None):
        raise UsageError(f"{name} holds a table with its settings; leave {flag(given)} out")
    run.notes = (f"taken for a plain HDF5 table of {run.config.learner} on {run.board.name}",)
    return run


def run_from_plain(content: bytes, *, command: str = "") -> Run:
    """Return the run of a table that `plain_hdf5.encode` wrote.  Raises FormatError, without the file's name."""
    run = run_without_statistics(content)
    _finish(run, command)
    for wrong in misfits(run.data(), run):
        raise base.FormatError(f"{wrong.partition(';')[0]}; export the table again")
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
    reading = None if keys is None else parse_reading(keys)
    try:
        ask = _Request((), learner, parsed, player, reading, False, "", options, warn)
        return _import_contents(ask, [recognising.Content("", data=found)])
    except base.FormatError as error:
        raise base.FormatError(f"the table: {error}; {AS_AGENT}") from None


def _with_remedy(file: Path, error: base.FormatError) -> base.FormatError:
    """Return a format error with the file's name and the remaining way to evaluate it."""
    text = str(error)
    text = text if shown(file) in text else f"{shown(file)}: {text}"
    return base.FormatError(text if AS_AGENT in text or "cannot read" in text else f"{text}; {AS_AGENT}")


def _import_contents(ask: _Request, contents: Sequence[recognising.Content]) -> Run:
    """Read tables and recognise the numbering of their keys."""
    learner, own = ask.learner, ask.own
    if learner is not None and learner_named(learner).by_beads:
        raise UsageError(f"{learner} has boxes, which only a .json file saved by a page holds; name such a file")
    if len(contents) > 2:
        raise UsageError(f"{len(contents)} files are given; a table is in 1 file, or in 2 (first and second player)")
    if own is not None and len(contents) == 2:
        raise UsageError(f"player {ask.player} is named, but the files hold both players; leave the player out")
    plain = make_config(learner=recognising.OF_VALUES, board=ask.board, symmetry="off", engine=GIVEN, batch=1)
    if plain.grown:
        raise too_large("import", ask.board, "choose a smaller one, such as 4x4x4")
    found = recognising.recognised(contents, ask.board, plain.graph, ask.keys, own)
    fitting = recognising.learner_for(found.table, found.middle)
    settings: dict[str, Any] = {"learner": learner_named(fitting if learner is None else learner).name}
    if settings["learner"] == fitting == recognising.OF_VALUES and found.middle:
        settings |= {"draw_worth": (found.middle, -found.middle), "start_value": found.middle}
    if settings["learner"] == fitting == recognising.OF_OWN_VALUES and not found.middle:
        settings |= {"draw_worth": (0.0, 0.0), "start_value": 0.0}
    run = _fresh(ask.config("off", **settings), 0)
    if found.shared:
        table = numbering.with_the_others_values(found.table, found.middle, zero_sum=run.learner.zero_sum)
        found = replace(found, table=table)
    for line in found.warnings:
        ask.warn(line)
    only_second = own == 1 or (found.table.value is not None and bool(np.isnan(found.table.value[0]).all()))
    _fill(run, found.table, only_second=only_second)
    if run.learner.zero_sum and has_actions(run.learner):
        _as_first_player_sees(run, recognising.missing_moves(run.graph, found.table))
    fed_back = learner is None and fitting == recognising.OF_FINAL_VALUES
    if fed_back:
        np.nan_to_num(run.tables.value, copy=False)  # its program treats missing values as 0, not as moves to avoid
    _finish(run, ask.command)
    lacking = _lacking(run, found, "count as 0" if fed_back else "keep start values", ask.warn)
    run.notes = (_note(found.taken, run, learner), *lacking)
    return run


def _as_first_player_sees(run: Run, missing: NDArray[np.bool_]) -> None:
    """Convert move values to the first player's view.  Moves to occupied cells get the value of a loss.

    missing: bool[E], the moves without a value, which keep their random start values if they are legal.
    """
    graph, q = run.graph, run.tables.q
    q[~missing & (movers_of_edges(graph) == 1)] *= -1
    taken = missing & ~legal_edges(graph)
    largest = max(1.0, float(np.abs(q[~missing]).max(initial=0.0)))  # on the table's scale
    q[taken] = largest * run.worth[0, graph.outcome[graph.child[taken]]]


def _note(taken: str, run: Run, told: str | None) -> str:
    """Return the note about the reading of a file, with the learner if nobody `told` which one it is."""
    return taken if told is not None else f"{taken}; imported as {run.config.learner}, whose table fits"


def _lacking(run: Run, found: recognising.Recognised, instead: str, warn: Callable[[str], None]) -> tuple[str, ...]:
    """Warn of the numbers that a table lacks; return a line about their effect on the verdict, if any are missing.

    instead: treatment of missing numbers, in words.
    """
    graph = run.graph
    missing = recognising.missing_moves(graph, found.table) & legal_edges(graph)
    if not missing.any():
        return ()
    number, counted = "number", missing[legal_edges(graph)]
    what = "moves" if found.table.q is not None else "moves to unfinished positions"
    if found.to_play:
        number, what = "move", "unfinished positions"
        counted = np.logical_or.reduceat(missing, graph.first_edge[:-1].astype(np.int64))
    lacking = int(np.count_nonzero(counted))
    share = f"{lacking:,} of {counted.size:,} {what} ({lacking / counted.size:.1%})"
    warn(f"the table has no {number} for {share}, which {instead}")
    chosen = chosen_edges(graph, run.policy)
    lines = []
    for seat, name in enumerate(SEATS):
        if run.statistics["unbeatable"][-1][seat]:
            continue
        lost = graph.outcome == (SECOND_WINS, FIRST_WINS)[seat]
        has = recognising.loses_by_table(graph, chosen, missing, seat, lost)
        where = "through positions that the table has" if has else "only through positions that the table lacks"
        lines.append(f"as {name} it can be beaten {where}")
    return ("; ".join(lines),) if lines else ()


def _import_format(ask: _Request, form_name: str) -> Run:
    """Read a table in one of our formats, whose numbering is ours if the user named the format."""
    form, file = format_named(form_name), ask.files[0]
    learnt = _learnt_in(file, form, ask.board)
    told = ask.learner if ask.learner is not None else learnt.get("learner")
    table = None if isinstance(told, str) else read(form.name, ask.files, ask.board, None, player=ask.player)
    ours = None if table is None else recognising.read_as_ours(table, ask.board)
    if table is not None:
        of_all = recognising.is_of_minimax_q(table, ask.board, ours)
        told = recognising.OF_ALL_CELLS if of_all else recognising.learner_for(table)
    used = learner_named(str(told))
    settings: dict[str, Any] = {"learner": used.name}
    told = ask.learner
    if learnt.get("learner") == used.name:
        told = used.name
        settings |= {name: learnt[name] for name in ("alpha", "epsilon", "seed") if name in learnt}
    config = ask.config("on" if used.by_beads else "off", **settings)
    if used.by_beads and base.STATES not in form.kinds:
        raise UsageError(
            f"import is not applicable to {config.learner} from {form.name}, which has no boxes; name a .json file"
        )
    if table is None:
        table = read(form.name, ask.files, config.board, kind_in(form, used), player=ask.player)
        ours = recognising.read_as_ours(table, config.board)
    if table.kind == base.STATES and numbering.is_symmetry_reduced(table, config.board):
        config = ask.config("on", **settings)
    if table.kind == base.ACTION_VALUES and not recognising.in_our_numbering(table.q, config.board, ours):
        if not ask.named:
            return _import_contents(ask, [recognising.Content(f"{form.name} by another code", data=table.q)])
        ask.warn(
            f"the table plays better in another numbering than that of {form.name}; leave {flag('form')} out to find it"
        )
    run = _fresh(config, learnt.get("games", 0))
    try:
        if table.kind == base.STATES:
            table, left_out, example = numbering.possible(run.graph, table, config.board.cells)
            if left_out:
                entries = count_text(left_out, "position")
                ask.warn(f"{shown(file)}: {entries} left out that cannot occur, {example} for one")
        _fill(run, table, only_second=len(ask.files) == 1 and ask.own == 1)
    except base.FormatError as error:
        raise base.FormatError(f"{shown(file)}: {error}") from None
    if table.kind == base.STATES and table.q is not None and not used.by_beads:
        to_first = recognising.is_of_minimax_q(table, run.board)
        if run.learner.occupied and not to_first:
            _as_first_player_sees(run, recognising.missing_moves(run.graph, table))
        elif to_first and not run.learner.occupied:
            run.tables.q[..., movers_of_edges(run.graph) == 1] *= -1
    if table.kind == base.STATES and not used.by_beads:
        unfinished = run.graph.code[: run.graph.first_edge.size - 1]
        lacking = np.count_nonzero(~np.isin(unfinished, table.code))
        if lacking > numbering.MOST_IMPOSSIBLE * unfinished.size:
            share = f"{lacking:,} of {unfinished.size:,} unfinished positions of {run.board.name}"
            # json and parquet name their board.  Of npz, older files hold its size, but not rules such as gravity.
            named = form.name in ("json", "parquet") or (form.name == "npz" and run.board.rules)
            remedy = "" if named else f"; if the file is of another board, give {flag('board')}"
            ask.warn(f"{shown(file)} lacks {share}, which keep start values{remedy}")
    _finish(run, ask.command)
    run.notes = (_note(f"taken for the format {form.name}", run, told),)
    return run


def _fresh(config: Config, games: int) -> Run:
    run = Run(config, None, games, {})
    run.tables = run.learner.fresh(run.graph, config.settings, np.random.default_rng(config.seed % 2**64))
    return run


def _finish(run: Run, command: str) -> None:
    """Judge a filled run, and add its provenance."""
    run.statistics = record_once(run)
    run.provenance = Clock().provenance(command)


def _learnt_in(file: Path, form: base.Format, board: Board) -> dict[str, Any]:
    """Return the training settings in a file that a page saved; empty for other files.

    Raises FormatError, also for an invalid number of games.
    """
    learnt: dict[str, Any] = {}
    if form.name == "json":
        content = read_file(file, form.max_bytes(board), board)
        with suppress(ValueError, RecursionError):  # reading the table reports the fault
            whole = json.loads(content)
            found = whole.get("learnt") if isinstance(whole, dict) else None
            learnt = found if isinstance(found, dict) else {}
    games = learnt.get("games", 0)
    if isinstance(games, bool) or not isinstance(games, int) or not 0 <= games <= MAX_GAMES:
        wrong = f"games {quoted(games)} is not a number of games from 0 to {MAX_GAMES:,}"
        raise base.FormatError(f"{shown(file)}: {wrong}; fix it")
    return learnt


def _fill(run: Run, table: base.Table, *, only_second: bool) -> None:
    """Copy a table into the tables of a run.  only_second: True if it has only the second player's values."""
    if (table.q is not None) != has_actions(run.learner):
        found = base.POSITION_VALUES if table.q is None else base.ACTION_VALUES
        raise base.FormatError(
            f"the file holds {found}, which do not fit {run.config.learner}; name another file or learner"
        )
    if run.by_beads:
        run.tables.q[:] = numbering.beads_from(run.graph, table, run.tables.q)
        return
    if table.kind == base.ACTION_VALUES:
        run.background = table.q
    if has_actions(run.learner):
        start = run.tables.q if run.tables.q.ndim == 1 else run.tables.q[0]
        run.tables.q[...] = numbering.edges_from(run.graph, table, start)
        if run.tables.q.ndim > 1 and {"a", "b"} <= table.more.keys():
            for own, name in zip(run.tables.q, ("a", "b"), strict=True):
                own[:] = numbering.edges_from(run.graph, replace(table, q=table.more[name]), own)
        if "value" in run.learner.fields and "value" in table.more:
            alone = replace(table, value=table.more["value"][None])
            run.tables.value[:] = numbering.values_from(run.graph, alone, run.tables.value[None])[0]
    else:
        values = numbering.values_from(run.graph, table, values_of_both_players(run))
        of_first = 0.0 - values[1] if only_second else values[0]
        run.tables.value[:] = of_first if run.learner.zero_sum else values


def run_of_moves(certificate: Certificate) -> Run:
    """Return a run of `q-learning` that plays the moves of a certificate: they are worth 1, and all other moves 0.

    Raises BoardError for a board that is too large to enumerate.
    """
    board = certificate.board
    run = _fresh(make_config(learner="q-learning", board=board, symmetry=certificate.symmetric), 0)
    if run.config.grown:
        raise too_large("a run of a certificate", board, "keep the certificate, which plays itself")
    run.tables.q[:] = 0
    rows = {code: row for row, code in enumerate(run.graph.code.tolist())}
    listed = zip(certificate.first.tolist(), certificate.second.tolist(), certificate.move.tolist(), strict=True)
    for first, second, move in listed:
        position = board.position_of(first, second)
        for image in board.images(certificate.symmetric):
            row = rows.get(board.encode(tuple(position[cell] for cell in image)))
            if row is not None:
                edges = slice(*run.graph.first_edge[row : row + 2])
                run.tables.q[edges] = run.graph.cell[edges] == image.index(move)
    _finish(run, "")
    return run
