"""Runs to and from other people's table formats: what each learner's numbers are called in a table by code."""

import json
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ttt_batch.base.choices import choose_seat
from ttt_batch.base.errors import UsageError, option, quoted, warn_python
from ttt_batch.base.files import shown
from ttt_batch.game.board import DRAW, EMPTY, UNFINISHED, Board, parse_board
from ttt_batch.game.state_space import too_large
from ttt_batch.learners import learner_named
from ttt_batch.learners.base import Learner
from ttt_batch.runs.batches import MAX_GAMES
from ttt_batch.runs.boxes import not_second
from ttt_batch.runs.config import Config, make_config
from ttt_batch.runs.formats import FORMATS, check_use, format_named, read, read_file, write
from ttt_batch.runs.formats.base import ACTION_VALUES, POSITION_VALUES, STATES, Format, FormatError, Table, marks_of
from ttt_batch.runs.formats.tables import (
    action_by_code,
    beads_from,
    edges_from,
    listing,
    of_classes,
    state_values_from,
    value_by_code,
    values_from,
)
from ttt_batch.runs.recorder import Clock, record_once
from ttt_batch.runs.run import Run
from ttt_batch.runs.runfile.reading import is_run_file
from ttt_batch.simulation.policy import chosen_edges

ILLEGAL = -1.0


def export_run(
    run: Run,
    to: str,
    paths: Sequence[str | Path],
    *,
    player: str | None = None,
    overwrite: bool = False,
    warn: Callable[[str], None] = warn_python,
) -> list[Path]:
    """Write a run's table as format `to`: one file, or for a format with a file per player one or two.

    Lists of states hold both tables of `double-q`, and what positions are worth beside preferences; of formats that do
    not, `warn` is called with a line that says what is left out.  Of boxes a table by code holds the beads for the
    images of lowest code, and 0 elsewhere.
    Returns the paths written.  Raises UsageError and FormatError.
    """
    files = [Path(path) for path in paths]
    check_export(run.config, to)
    form = format_named(to)
    kind = _kind_in(form, run.learner)
    check_use(form, run.board, files, kind, player)
    if kind == STATES:
        numbers: dict[str, Any]
        if _has_actions(run.learner):
            numbers = {"q": _actions(run), "more": _more(run)}
        else:
            numbers = {"values": _both_players(run)}
        table = listing(run.graph, chosen_edges(run.graph, run.policy), run.board.cells, **numbers)
    elif kind == ACTION_VALUES:
        marks = run.graph.cell < run.board.cells  # not those that resign
        table = action_by_code(run.graph, marks, np.nan_to_num(_actions(run)), _background(run))
    else:
        table = value_by_code(run.graph, _both_players(run), run.board.cells)
    written = write(form.name, table, run.board, files, player=player, overwrite=overwrite)
    if kind == ACTION_VALUES and (more := _more(run)):
        what = "the mean of the two tables" if "a" in more else "preferences for moves, not the values of positions"
        warn(f"{form.name} holds {what}; npz, json and parquet hold both")
    return written


def check_export(config: Config, to: str) -> None:
    """Raise BoardError if a run's board is too large for any table to be written, or for a page of it (`html`).

    Raises UsageError for a page of boxes, which play one seat.
    """
    if to == "html" and learner_named(config.learner).boxes:
        raise not_second(config.learner, "a page on which either player begins", "choose json or another format")
    if to == "hdf5":
        return
    if config.grown and to == "html":
        remedy = f"choose a smaller one, such as 4x4x4, or train {option('learner', 'patterns')}"
        raise too_large("a page of a table", config.board, remedy)
    if config.grown:
        remedy = f"choose {option('to', 'hdf5')}, which has a row for each position of the table"
        raise too_large("export", config.board, remedy)


def import_tables(
    paths: Sequence[str | Path],
    learner: str | None = None,
    *,
    form: str | None = None,
    board: str | Board = "3x3",
    player: str | None = None,
    command: str = "",
    **options: Any,
) -> Run:
    """Read another program's table into a run of `learner`; without one, of the learner that the file names.

    paths: one file, or for a program with a file per player one or two.  form: the format; by default that of the
    first file's name.  player: whose file a single one is.  options: those of `Config`.
    Only files that a page has saved name a learner.  Of these the number of games is kept, and, for that learner, its
    step size, exploration and seed.
    Entries that the files do not have keep the learner's start values.  csv, raw and both kinds of pickle name no
    board: give their own.  Raises UsageError and FormatError.
    """
    files = [Path(path) for path in paths]
    for file in files:
        if is_run_file(file):
            raise FormatError(f"{shown(file)} is a run already; use it as it is, or export it first")
        if form is None and file.suffix.lower() in (".html", ".htm"):
            raise UsageError(f"{shown(file)} is a page; import the .json file that Download on a learning page saves")
    learnt = _learnt_in(files[0], form, board)
    learner = _named_in(files[0], learnt) if learner is None else learner
    used = learner_named(learner)
    settings: dict[str, Any] = {"learner": learner, "board": board, "batch": 1, "engine": "given"}
    if learnt.get("learner") == used.name:
        settings |= {name: learnt[name] for name in ("alpha", "epsilon", "seed") if name in learnt}
    settings |= {name: value for name, value in options.items() if value is not None}
    config = make_config(symmetry="on" if used.boxes else "off", **settings)
    form_used = format_named(form or _format_of(files[0], used))
    if used.boxes and STATES not in form_used.kinds:
        raise UsageError(
            f"import is not applicable to {config.learner} from {form_used.name}, which has no boxes; name a .json file"
        )
    table = read(form_used.name, files, config.board, _kind_in(form_used, used), player=player)
    if table.kind == STATES and of_classes(table, config.board):
        config = make_config(symmetry="on", **settings)
    run = Run(config, None, _games_in(files[0], learnt), {})
    run.tables = run.learner.fresh(run.graph, config.settings, np.random.default_rng(config.seed % 2**64))
    only_second = len(files) == 1 and player is not None and choose_seat(player) == "second"
    try:
        _fill(run, table, only_second=only_second)
    except FormatError as error:
        raise FormatError(f"{shown(files[0])}: {error}") from None
    run.statistics = record_once(run)
    run.provenance = Clock().provenance(command)
    return run


def _learnt_in(file: Path, form: str | None, board: str | Board) -> dict[str, Any]:
    """Return what a file of a page says of how its table was learnt; empty for other files.  Raises FormatError."""
    kind = FORMATS["json"]
    if format_named(form) is kind if form else file.suffix.lower() == kind.suffix:
        content = read_file(file, kind.max_bytes(parse_board(board)))
        with suppress(ValueError, RecursionError):  # what is wrong with it is told when the table is read
            whole = json.loads(content)
            learnt = whole.get("learnt") if isinstance(whole, dict) else None
            return learnt if isinstance(learnt, dict) else {}
    return {}


def _named_in(file: Path, learnt: dict[str, Any]) -> str:
    """Return the learner that a file of a page names.  Raises UsageError if it names none."""
    name = learnt.get("learner")
    if not isinstance(name, str):
        raise UsageError(f"{shown(file)} does not say whose table it is; give {option('learner', 'NAME')}")
    return name


def _games_in(file: Path, learnt: dict[str, Any]) -> int:
    """Return the number of games that a file of a page says, 0 if it says none.  Raises FormatError."""
    games = learnt.get("games", 0)
    if isinstance(games, bool) or not isinstance(games, int) or not 0 <= games <= MAX_GAMES:
        raise FormatError(f"{shown(file)}: games {quoted(games)} is no number of games from 0 to {MAX_GAMES:,}; fix it")
    return games


def _fill(run: Run, table: Table, *, only_second: bool) -> None:
    """Put a table into the tables of a run.  only_second: it has the second player's values alone."""
    if (table.q is not None) != _has_actions(run.learner):
        found = POSITION_VALUES if table.q is None else ACTION_VALUES
        raise FormatError(f"the file holds {found}, and {run.config.learner} has others; name another file or learner")
    if run.learner.boxes:
        run.tables.q[:] = beads_from(run.graph, table, run.tables.q)
        return
    if table.kind == ACTION_VALUES:
        run.background = table.q
    if _has_actions(run.learner):
        run.tables.q[...] = edges_from(run.graph, table)
        if run.tables.q.ndim > 1 and {"a", "b"} <= table.more.keys():
            for own, name in zip(run.tables.q, ("a", "b"), strict=True):
                own[:] = edges_from(run.graph, replace(table, q=table.more[name]))
        if "value" in run.learner.fields and "value" in table.more:
            run.tables.value[:] = state_values_from(run.graph, table, run.tables.value)
    else:
        values = values_from(run.graph, table, _both_players(run))
        of_first = 0.0 - values[1] if only_second else values[0]
        run.tables.value[:] = of_first if run.learner.zero_sum else values


def _kind_in(form: Format, learner: Learner) -> str:
    """What a learner's table is in a format."""
    return STATES if STATES in form.kinds else ACTION_VALUES if _has_actions(learner) else POSITION_VALUES


def _has_actions(learner: Learner) -> bool:
    return "q" in learner.fields


def _actions(run: Run) -> NDArray[np.float64]:
    """float64[E]: what each move is worth, by two tables their mean."""
    q: NDArray[np.float64] = run.tables.q
    return q if q.ndim == 1 else 0.5 * (q[0] + q[1])


def _more(run: Run) -> dict[str, NDArray[np.float64]]:
    """What the table has beside `_actions`, by the names of `formats.base.MORE`."""
    q: NDArray[np.float64] = run.tables.q
    if q.ndim > 1:
        return {"a": q[0], "b": q[1]}
    return {"value": run.tables.value} if "value" in run.learner.fields else {}


def _both_players(run: Run) -> NDArray[np.float64]:
    """float64[P, S]: values as each player sees them."""
    value = run.tables.value
    return np.stack([value, 0.0 - value]) if run.learner.zero_sum else value  # -value would turn 0 into -0.0


def _format_of(path: Path, learner: Learner) -> str:
    """The format of a file, by its name and its learner."""
    for form in FORMATS.values():
        if form.suffix == path.suffix.lower() and (form.name == "csv" or STATES in form.kinds):
            return form.name
    return "raw" if _has_actions(learner) else "pickle"


def _background(run: Run) -> NDArray[np.float64]:
    """float64[codes, cells]: what a full table holds if the run has no number of its own."""
    if run.background is not None:
        return run.background
    if run.learner.boxes:
        return np.zeros((3**run.board.cells, run.board.cells))
    if run.learner.occupied:  # every cell is an action, and every row was drawn at the start
        rng = np.random.default_rng([run.config.seed % 2**64, 1])
        return rng.standard_normal((3**run.board.cells, run.board.cells))
    start = run.learner.fresh(run.graph, run.config.settings, np.random.default_rng(0)).q
    alike = float(start.flat[0]) if (start == start.flat[0]).all() else None
    return _start_values(run.board, run.worth, alike)


def _start_values(board: Board, worth: NDArray[np.float64], alike: float | None) -> NDArray[np.float64]:
    """The start values of moves for every code, those that cannot occur included.

    alike: that of all moves, also of those that end the game; None if they differ.  Then, as `backward-q` has them, the
    mover follows from the number of marks, and a move is worth 1 after which any line is complete.
    """
    codes = np.arange(3**board.cells)
    marks = marks_of(codes, board.cells)
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
