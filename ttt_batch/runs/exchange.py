"""Export of runs to third-party table formats."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ttt_batch.base.errors import flag, warn_python
from ttt_batch.game.board import DRAW, EMPTY, UNFINISHED, Board
from ttt_batch.game.state_space import too_large
from ttt_batch.learners import learner_named
from ttt_batch.learners.base import Learner
from ttt_batch.runs.boxes import cannot_play_second_error
from ttt_batch.runs.config import Config
from ttt_batch.runs.formats import check_use, format_named, write
from ttt_batch.runs.formats.base import ACTION_VALUES, POSITION_VALUES, STATES, Format, marks_of_states
from ttt_batch.runs.formats.tables import (
    action_by_code,
    states_of_rows,
    value_by_code,
)
from ttt_batch.runs.run import Run
from ttt_batch.simulation.policy import chosen_edges

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
    if kind == STATES:
        numbers: dict[str, Any]
        if has_actions(run.learner):
            numbers = {"q": _actions(run), "more": _more(run)}
        else:
            numbers = {"values": values_of_both_players(run)}
        table = states_of_rows(run.graph, chosen_edges(run.graph, run.policy), run.board.cells, **numbers)
    elif kind == ACTION_VALUES:
        marks = run.graph.cell < run.board.cells  # without resignations
        table = action_by_code(run.graph, marks, np.nan_to_num(_actions(run)), _background(run))
    else:
        table = value_by_code(run.graph, values_of_both_players(run), run.board.cells)
    written = write(form.name, table, run.board, files, player=player, overwrite=overwrite)
    if kind == ACTION_VALUES and (more := _more(run)):
        what = "the mean of the two tables" if "a" in more else "preferences for moves, not the values of positions"
        warn(f"{form.name} holds {what}; npz, json and parquet hold both")
    return written


def check_export(config: Config, to: str) -> None:
    """Raise BoardError if a run's board is too large for a table in the format `to`.

    Raises UsageError for a page (`html`) of boxes, which play only one seat.
    """
    if to == "html" and learner_named(config.learner).boxes:
        raise cannot_play_second_error(
            config.learner, "a page on which either player begins", "choose json or another format"
        )
    if to == "hdf5":
        return
    if config.grown and to == "html":
        remedy = f"choose a smaller one, such as 4x4x4, or train {flag('learner', 'patterns')}"
        raise too_large("a page of a table", config.board, remedy)
    if config.grown:
        remedy = f"choose {flag('to', 'hdf5')}, which has a row for each position of the table"
        raise too_large("export", config.board, remedy)


def kind_in(form: Format, learner: Learner) -> str:
    """Return the kind of table that a format stores for a learner."""
    return STATES if STATES in form.kinds else ACTION_VALUES if has_actions(learner) else POSITION_VALUES


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
    if run.learner.boxes:
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
    marks = marks_of_states(codes, board.cells)
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
