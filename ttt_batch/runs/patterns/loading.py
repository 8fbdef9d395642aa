"""Run files of pattern networks become runs."""

from collections.abc import Iterator

import numpy as np

from ttt_batch.base.errors import RunFileError
from ttt_batch.base.memory import free_memory
from ttt_batch.base.quantities import counted
from ttt_batch.runs.patterns.config import pattern_config_from
from ttt_batch.runs.patterns.contents import FOREIGN, restored
from ttt_batch.runs.patterns.run import PatternRun
from ttt_batch.runs.runfile.checks import RunData


def pattern_run_of(data: RunData) -> PatternRun:
    """The run of a file's data.  Raises RunFileError if they contradict each other."""
    config = pattern_config_from(data.config)
    network = config.network()
    kinds, networks = network.kind_start.size - 1, len(config.aims)
    if data.states or data.resume:
        raise RunFileError(f"it holds positions, which pattern networks do not have; {FOREIGN}")
    for finding in _contradictions(data):
        raise RunFileError(f"{finding}; {FOREIGN}")
    if networks * kinds * 40 > free_memory():
        raise RunFileError(f"its {counted(networks * kinds * 2, 'weight')} take more memory than is free; free some")
    learnt, proved = restored(data.tables, networks, kinds, config.board.cells)
    run = PatternRun(config, data.games, learnt, data.statistics, proved)
    if (proved is not None) != any(map(run.proved_after, config.seats)):
        raise RunFileError(f"tables/proved does not agree with statistics/proof; {FOREIGN}")
    run.network = network
    run.provenance, run.notes, run.version, run.size = data.provenance, data.notes, data.version, data.size
    run.goal = int(data.progress.get("goal", 0))
    run.interrupted = run.games < run.goal or run.lacks_proof
    return run


def _contradictions(data: RunData) -> Iterator[str]:
    """What contradicts itself in the statistics of a file."""
    games = data.statistics["games"]
    missing = [name for name in ("proof", "proof_positions") if name not in data.statistics]
    if missing:
        yield f"statistics/{missing[0]} is missing"
    elif data.games and not (games.size and games[-1] == data.games):
        yield "its last recorded point is not that of its last game"
    elif data.games and int(np.sum(data.statistics["outcomes"][-1])) != data.games:
        yield "statistics/outcomes does not add up to the games played"
