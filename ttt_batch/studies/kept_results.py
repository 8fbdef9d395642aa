"""Validation of the tables and networks that a study keeps, and of the recorded results against them."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ttt_batch.evaluation.judgement import exact_judge
from ttt_batch.game.solution import solve_in_plies
from ttt_batch.learners import learner_named
from ttt_batch.patterns.fold import LARGEST
from ttt_batch.runs.consistency import table_misfits
from ttt_batch.runs.patterns.contents import NetworkState
from ttt_batch.runs.patterns.loading import contradictions
from ttt_batch.runs.patterns.run import PatternRun
from ttt_batch.runs.runfile.checks import RunData
from ttt_batch.studies.designs.networks import NETWORKS
from ttt_batch.studies.storage.reading import Block, StudyFile
from ttt_batch.training.patterns.proved_again import check_proofs

_TOLERANCE = 1e-6
"""Allowed difference between a recorded result and the same result computed here."""

Check = Callable[[Any, RunData], Iterator[str]]


def mismatches(study: StudyFile, block: Block) -> Iterator[tuple[str, NDArray[np.bool_]]]:
    """Yield each problem of the kept tables or networks, and bool[n]: which learners have it.  Raises TttBatchError."""
    if not block.tables:
        return
    found: dict[str, NDArray[np.bool_]] = {}
    checks: dict[int, Check] = {}
    for number, setting in enumerate(block.settings.tolist()):
        config = study.design.settings[setting].config_for(int(study.seeds[block.seeds[number]]))
        if setting not in checks:
            checks = {setting: _networks(config) if study.family is NETWORKS else _tables(config)}
        games = study.games[setting, : block.kind.points]
        statistics = {"games": games} | {name: column[number] for name, column in block.statistics.items()}
        tables = {name: np.ascontiguousarray(table[number]) for name, table in block.tables.items()}
        data = RunData({}, int(games[-1]), {}, tables, {}, statistics, {})
        for problem in checks[setting](config, data):
            found.setdefault(problem, np.zeros(block.settings.size, np.bool_))[number] = True
    yield from found.items()


def _tables(like: Any) -> Check:
    """Return a check for tables whose configuration differs from `like` at most in the seed."""
    learner, graph = learner_named(like.learner), like.graph
    judge, value = exact_judge(graph, learner, learner.worth(like.settings)), np.sign(solve_in_plies(graph)[0])

    def check(config: Any, data: RunData) -> Iterator[str]:
        fresh = learner.fresh(graph, config.settings, np.random.default_rng(config.seed % 2**64))
        data.table_fields.update({name: learner.fields[name] for name in fresh._fields})
        misfits = list(table_misfits("", data.tables, data, config, fresh))
        yield from misfits
        if misfits or "worst" not in data.statistics:
            return
        verdict = judge(learner.tables(*(data.tables[name] for name in learner.tables._fields)))._asdict()
        recorded = data.statistics
        if not all(np.allclose(verdict[n], recorded[n][-1], rtol=0, atol=_TOLERANCE, equal_nan=True) for n in verdict):
            yield "results at the last point that differ from those of the kept tables"
        best = value * np.array([1, -1])
        if (recorded["worst"] > best).any() or ((recorded["optimal_share"] == 1) & (recorded["worst"] < best)).any():
            yield "worst that contradicts the value of the game"

    return check


def _networks(like: Any) -> Check:
    """Return a check for networks whose configuration differs from `like` at most in the seed."""
    network, aims = like.network(), len(like.aims)
    shape = aims, network.kind_start.size - 1, 2

    def check(config: Any, data: RunData) -> Iterator[str]:
        forms = {name: (array.dtype, array.shape) for name, array in data.tables.items()}
        int32 = np.dtype(np.int32)
        if forms != {"weight": (int32, shape), "proved": (int32, shape[1:])}:
            yield "networks whose form differs from the design"
            return
        weight, proved = data.tables["weight"], data.tables["proved"]
        if max(np.abs(array.astype(np.int64)).max(initial=0) for array in (weight, proved)) > LARGEST:
            yield f"weights beyond {LARGEST:,}"
        wrong = list(contradictions(data, config))
        yield from wrong
        lost = tuple(np.zeros((0, config.board.cells), np.int8) for _ in range(aims))
        learnt = NetworkState(weight, np.zeros((*shape, 2), np.int64), lost)
        run = PatternRun(config, data.games, learnt, data.statistics, proved)
        run.network = network
        unproved = [seat for seat in (0, 1) if not run.proved_after(seat)]
        if proved[:, unproved].any():
            yield "weights of a proof that does not appear at any recorded point"
        if not wrong:
            yield from check_proofs(run)

    return check
