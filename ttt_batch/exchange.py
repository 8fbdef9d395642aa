"""Runs to and from other people's table formats: what each learner's numbers are called in a table by code."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ttt_batch.board import Board
from ttt_batch.config import make_config
from ttt_batch.errors import BoardError
from ttt_batch.formats import ActionTable, FormatError, Listing, Player, ValueTable, format_named, read, write
from ttt_batch.formats.tables import (
    action_by_code,
    edges_from_action,
    listing,
    value_by_code,
    values_from_table,
)
from ttt_batch.policy import chosen_edges
from ttt_batch.provenance import Clock
from ttt_batch.recorder import record_once
from ttt_batch.run import Run

ILLEGAL = -1.0

DENSE_CELLS = 12
"""Cells up to which tables by code are written and read: 531,441 codes."""


def export_run(
    run: Run, to: str, paths: Sequence[str | Path], *, player: Player | None = None, overwrite: bool = False
) -> list[Path]:
    """Write a run's table as format `to`: one file, or for a format with a file per player one or two.

    Returns the paths written.  Raises UsageError and FormatError.
    """
    files = [Path(path) for path in paths]
    if run.grown is not None:
        raise BoardError(
            f"export needs a board whose positions are all known, and {run.board.name} is not; "
            "read the run file itself: states/code says which position each row of its table is"
        )
    if Listing not in format_named(to).forms and run.board.cells > DENSE_CELLS:
        raise BoardError(
            f"format {to} has an entry for each of the {3**run.board.cells:,} codes of {run.board.name}; "
            "choose npz, json or parquet"
        )
    table: ValueTable | ActionTable | Listing
    if Listing in format_named(to).forms:
        chosen = chosen_edges(run.graph, run.policy)
        numbers: dict[str, Any] = {"q": run.tables.q} if _has_actions(run) else {"values": _both_players(run)}
        table = listing(run.graph, chosen, run.board.cells, **numbers)
    elif _has_actions(run):
        table = action_by_code(run.graph, run.tables.q, _background(run))
    else:
        table = value_by_code(run.graph, _both_players(run), run.board.cells)
    return write(to, table, run.board, files, player=player, overwrite=overwrite)


def import_tables(
    paths: Sequence[str | Path],
    learner: str,
    *,
    form: str | None = None,
    board: str = "3x3",
    player: Player | None = None,
    command: str = "",
    **options: Any,
) -> Run:
    """Read another program's table into a run of `learner`.

    paths: one file, or for a program with a file per player one or two.  form: the format; told from the files if
    not given.  player: whose file a single one is.  options: those of `Config`. Entries that the files do not have
    keep the learner's start values.  Raises UsageError and FormatError.
    """
    files = [Path(path) for path in paths]
    config = make_config(learner=learner, board=board, batch=1, engine="given", symmetry="off", **options)
    if config.shape.cells > DENSE_CELLS:
        raise BoardError(f"tables of other programs are read up to {DENSE_CELLS} cells; {config.board} has more")
    run = Run(config, None, 0, {})
    run.tables = run.learner.start(run.graph, run.worth, np.random.default_rng(config.seed % 2**64))
    actions = _has_actions(run)
    name = form or _told_from(files[0], actions)
    kind: Any = ActionTable if actions else ValueTable
    table = read(name, files, run.board, kind, player=player)
    try:
        if isinstance(table, ActionTable):
            run.tables.q[:] = edges_from_action(run.graph, table)
            run.background = table.q
        else:
            values = values_from_table(run.graph, table, _both_players(run))
            if run.learner.zero_sum:
                only_second = len(files) == 1 and player == "second"
                run.tables.value[:] = 0.0 - values[1] if only_second else values[0]
            else:
                run.tables.value[:] = values
    except FormatError as error:
        raise FormatError(f"{files[0]}: {error}") from None
    run.statistics = record_once(run)
    run.provenance = Clock().provenance(command)
    return run


def _has_actions(run: Run) -> bool:
    return "q" in run.tables._fields


def _both_players(run: Run) -> NDArray[np.float64]:
    """float64[P, S]: values as each player sees them."""
    value = run.tables.value
    return np.stack([value, 0.0 - value]) if run.learner.zero_sum else value  # -value would turn 0 into -0.0


def _told_from(path: Path, actions: bool) -> str:
    """The format of a file, by its name and the kind of table that is wanted."""
    if path.suffix.lower() == ".csv":
        return "csv"
    return "raw" if actions else "pickle"


def _background(run: Run) -> NDArray[np.float64]:
    """float64[codes, cells]: what a full table holds where the run has no number of its own."""
    if run.background is not None:
        return run.background
    if run.learner.occupied:  # every cell is an action, and every row was drawn at the start
        rng = np.random.default_rng([run.config.seed % 2**64, 1])
        return rng.standard_normal((3**run.board.cells, run.board.cells))
    return _start_values(run.board, run.worth)


def _start_values(board: Board, worth: NDArray[np.float64]) -> NDArray[np.float64]:
    """`backward-q`'s start values for every code, those that cannot occur included.

    The mover follows from the number of marks; a move is worth 1 where any line is complete behind it.
    """
    codes = np.arange(3**board.cells)
    marks = codes[:, None] // 3 ** np.arange(board.cells) % 3
    mover = (marks != 0).sum(axis=1) % 2
    table = np.full(marks.shape, ILLEGAL)
    for cell in range(board.cells):
        after = marks.copy()
        after[:, cell] = mover + 1
        complete = np.zeros(codes.size, dtype=bool)
        for line in board.lines:
            first = after[:, line[0]]
            complete |= (first != 0) & (after[:, list(line)] == first[:, None]).all(axis=1)
        full = (after != 0).all(axis=1)
        value = np.where(complete, 1.0, np.where(full, worth[mover, 3], 0.5))
        table[:, cell] = np.where(marks[:, cell] == 0, value, ILLEGAL)
    return table
