"""Loading of run files as runs, and checks that list every fault of a file."""

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from ttt_batch.base.choices import PATTERN_LEARNERS
from ttt_batch.base.console import one_line
from ttt_batch.base.errors import RunFileError, UsageError, quoted
from ttt_batch.base.files import shown
from ttt_batch.runs.claims import statistics_contradictions
from ttt_batch.runs.config import Config
from ttt_batch.runs.consistency import misfits, parts_of
from ttt_batch.runs.lookup import find_run
from ttt_batch.runs.patterns.loading import pattern_run_of
from ttt_batch.runs.patterns.run import PatternRun
from ttt_batch.runs.run import Run
from ttt_batch.runs.runfile.checks import RunData
from ttt_batch.runs.runfile.header import DamagedRun, verify
from ttt_batch.runs.runfile.parsing import parse_image
from ttt_batch.runs.runfile.reading import examine_run, load_run
from ttt_batch.runs.state import KeptPoints, State

AnyRun = Run | PatternRun
"""A run of any kind."""


def load(path: str | Path, *, trust: bool = False, check: Callable[[Config], None] | None = None) -> Run:
    """Read a run file with a table of positions; `.h5` may be left out of its name.

    trust: True to open a file with a wrong digest, which another program changed; every other check applies.
    check: called with the run's configuration before anything is compiled for it; may raise.
    Raises RunFileError if it is damaged, foreign, too new or does not fit its own board.
    """
    path = find_run(path)
    run = _loaded(path, load_run(path, trust=trust), check)
    if isinstance(run, PatternRun):
        raise RunFileError(
            f"{shown(path)} is a run of {run.config.learner}, which has no table of positions; choose a run of another "
            "learner"
        )
    return run


def with_table(run: AnyRun) -> Run:
    """Return the same run.  Raises UsageError if it has no table of positions."""
    if isinstance(run, PatternRun):
        raise UsageError(f"a run of {run.config.learner} has no table of positions; choose a run of another learner")
    return run


def load_any(path: str | Path, *, trust: bool = False, check: Callable[[Config], None] | None = None) -> AnyRun:
    """Read a run file of tables or of pattern networks, as `load` does; `check` is only called for tables."""
    path = find_run(path)
    return _loaded(path, load_run(path, trust=trust), check)


def any_run(given: object) -> AnyRun:
    """Return a given run, or load the run of a given file.  Raises UsageError for other objects, and RunFileError."""
    if isinstance(given, AnyRun):
        return given
    if isinstance(given, str | Path):
        return load_any(given)
    raise UsageError(
        f"{quoted(given)} is not a run; give a run, the name of its file, or an agent (see ttt_batch.judge)"
    )


def is_pattern_run(data: RunData) -> bool:
    """Return whether a file's data are those of pattern networks."""
    return data.config.get("learner") in PATTERN_LEARNERS


def _loaded(path: Path, data: RunData, check: Callable[[Config], None] | None) -> AnyRun:
    """Return the run of a file's data.  Raises RunFileError."""
    if is_pattern_run(data):
        try:
            return pattern_run_of(data)
        except RunFileError as error:
            raise RunFileError(f"{shown(path)}: {error}") from None
    run, wrong = run_of(data, check=check)
    if run is None:
        raise RunFileError(f"{shown(path)}: {wrong[0]}")
    return run


def run_from(content: bytes) -> Run:
    """Return the run of a file's bytes that another process has sent.  Raises RunFileError."""
    data, wrong = parse_image(content, verify("what was sent", content))
    run, wrong = (None, wrong) if data is None else run_of(data)
    if run is None:
        raise RunFileError(f"what was sent: {wrong[0]}")
    return run


def run_of(
    data: RunData, findings: Sequence[str] = (), check: Callable[[Config], None] | None = None
) -> tuple[Run | None, list[str]]:
    """Return the run of a file (None if it has faults) and all faults, `findings` included; check: see `load`."""
    try:
        parts = parts_of(data, check)
    except RunFileError as error:
        return None, [*findings, str(error)]
    if wrong := [*findings, *misfits(data, parts)]:
        return None, wrong
    run = Run(parts.config, None, data.games, data.statistics, data.provenance, notes=data.notes, version=data.version)
    run.size = data.size
    if parts.config.alpha.power:
        run.visits = data.tables["visits"].ravel()
    run.background = data.tables.get("background")
    run.tables = run.learner.tables(**{name: data.tables[name] for name in run.learner.tables._fields})
    if parts.grown is not None:
        run.grown = parts.grown
        run.tables, run.visits = run.grown.compact()[1:]
    run.goal = int(data.progress.get("goal", 0))
    run.batch_start = _batch_start(run, data)
    if data.points:
        kept = run.learner.tables(**{name: data.points[name] for name in run.learner.tables._fields})
        run.points = KeptPoints(data.progress["point_games"], kept)
    run.interrupted = run.games < run.goal
    return run, []


def _batch_start(run: Run, data: RunData) -> State | None:
    """Return the state before the unfinished last batch of a run; None if its last batch is complete."""
    if not data.resume:
        return None
    visits = data.resume["visits"].ravel() if run.visits.size else np.zeros(0)
    tables = run.learner.tables(**{name: data.resume[name] for name in run.tables._fields})
    state = State(int(data.progress["batch_games"]), tables, visits, data.progress["batch_outcomes"])
    return state if run.grown is None else run.grown.cut(state, *data.progress["batch_positions"].tolist())


def check_run(path: str | Path, *, trust: bool = False) -> tuple[list[str], tuple[str, ...]]:
    """Return all findings about a run file, a line each, and its notes, which are not faults.

    trust: True to continue after a wrong digest.  Raises RunFileError for a missing, unreadable or too new file.
    """
    path = Path(path)
    name = shown(path)
    try:
        data, problems = examine_run(path, trust=trust)
    except DamagedRun as error:
        return [str(error)], ()
    if data is not None and is_pattern_run(data):
        try:
            pattern_run_of(data)
        except RunFileError as error:
            problems = [*problems, str(error)]
    elif data is not None:
        run, problems = run_of(data, problems)
        if run is not None:
            problems = list(statistics_contradictions(run))
    return [f"{name}: {one_line(problem)}" for problem in problems], () if data is None else data.notes
