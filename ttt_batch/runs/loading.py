"""Run files become runs."""

from pathlib import Path

import numpy as np

from ttt_batch.base.errors import RunFileError
from ttt_batch.base.files import shown
from ttt_batch.learners import learner_named
from ttt_batch.runs.consistency import config_of, grown_of, misfits
from ttt_batch.runs.lookup import find_run
from ttt_batch.runs.run import Run
from ttt_batch.runs.runfile import RunData, load_run
from ttt_batch.runs.state import State


def load(path: str | Path, *, trust: bool = False) -> Run:
    """Read a run file; `.h5` may be left out of its name.

    trust: open a file that another program changed, whose digest is wrong; every other check applies.
    Raises RunFileError where it is damaged, foreign, too new or does not fit its own board.
    """
    path = find_run(path)
    data = load_run(path, trust=trust)
    for misfit in misfits(data):
        raise RunFileError(f"{shown(path)}: {misfit}")
    config = config_of(data)
    learner = learner_named(config.learner)
    run = Run(config, None, data.games, data.statistics, data.provenance, notes=data.notes, version=data.version)
    run.size = data.size
    if config.alpha.power:
        run.visits = data.tables["visits"].ravel()
    run.background = data.tables.get("background")
    run.tables = learner.tables(**{name: data.tables[name] for name in learner.tables._fields})
    if config.grown:
        run.grown = grown_of(config, data)
        run.tables, run.visits = run.grown.compact()[1:]
    run.goal = int(data.progress.get("goal", 0))
    run.batch_start = _batch_start(run, data, shown(Path(path)))
    run.interrupted = run.games < run.goal
    return run


def _batch_start(run: Run, data: RunData, name: str) -> State | None:
    """Where the run stood before the batch within which it ends, if it does."""
    needed = {*run.tables._fields, *(["visits"] if run.visits.size else [])}
    found = set(data.resume)
    noted = {"batch_games", "batch_outcomes"} & set(data.progress)
    if not found and not noted:
        return None
    games = int(data.progress.get("batch_games", -1))
    if found != needed or len(noted) != 2 or not 0 <= games < run.games:
        raise RunFileError(f"{name}: what it keeps of the batch within which it ends is not whole; the file is damaged")
    visits = data.resume["visits"].ravel() if run.visits.size else np.zeros(0)
    tables = run.learner.tables(**{name: data.resume[name] for name in run.tables._fields})
    state = State(games, tables, visits, data.progress["batch_outcomes"])
    if run.grown is None:
        return state
    rows, finals = data.progress.get("batch_positions", np.zeros(2, np.int64)).tolist()
    if not 0 < rows <= run.grown.used.rows or not 0 <= finals <= run.grown.used.finals:
        raise RunFileError(f"{name}: progress/batch_positions are not among those of the run; the file is damaged")
    return run.grown.cut(state, rows, finals)
