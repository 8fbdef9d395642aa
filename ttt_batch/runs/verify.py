"""Everything that is wrong with a run file: what reading finds, what does not fit its board, and its last verdict."""

from pathlib import Path

import numpy as np

from ttt_batch.base.escapes import one_line
from ttt_batch.base.files import shown
from ttt_batch.runs.loading import run_of
from ttt_batch.runs.recorder import judge_of
from ttt_batch.runs.run import Run
from ttt_batch.runs.runfile import examine_run
from ttt_batch.runs.runfile.header import Damaged

_TOLERANCE = 1e-9
"""How far a recorded number may be from the same one computed here: another processor may round differently."""


def check_run(path: str | Path, *, trust: bool = False) -> tuple[list[str], tuple[str, ...]]:
    """All findings about a run file, a line each, and notes that are no findings.

    trust: go on after a wrong digest.  Raises RunFileError for what is no file, cannot be read or is too new.
    """
    path = Path(path)
    name = shown(path)
    try:
        data, problems = examine_run(path, trust=trust)
    except Damaged as error:
        return [str(error)], ()
    if data is not None:
        run, problems = run_of(data, problems)
        if run is not None:
            problems = _verdict_findings(run)
    return [f"{name}: {one_line(problem)}" for problem in problems], () if data is None else data.notes


def _verdict_findings(run: Run) -> list[str]:
    """Where the last recorded point is not what its tables are worth."""
    games = run.statistics["games"]
    if not games.size or games[-1] != run.games:
        return []
    verdict = judge_of(run)(run.tables)._asdict()
    return [
        f"the last row of statistics/{name} is not what the tables give"
        for name, found in run.statistics.items()
        if name in verdict and not np.allclose(found[-1], verdict[name], rtol=0, atol=_TOLERANCE, equal_nan=True)
    ]
