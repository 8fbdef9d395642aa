"""Validation of study files."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ttt_batch.core.console import one_line
from ttt_batch.core.errors import TttBatchError
from ttt_batch.core.files import shown
from ttt_batch.core.text import count_text
from ttt_batch.evaluation.judgement import exact_judge
from ttt_batch.games.solution import solve_in_plies
from ttt_batch.learners import learner_named
from ttt_batch.ntuple.learning import LARGEST
from ttt_batch.runs.loading import Grounds, contradict_value, table_misfits
from ttt_batch.runs.lookup import find_run
from ttt_batch.runs.network_run import NetworkState, PatternRun, contradictions
from ttt_batch.runs.state import MOST_SECONDS
from ttt_batch.runs.storage.declaration import TOLERANCE, RunData, exact_contradictions
from ttt_batch.studies.designs.methods import NETWORKS, TABLES, TALLIES
from ttt_batch.studies.storage.header import DamagedStudy
from ttt_batch.studies.storage.layout import DONE, FAILED, LAST, STATISTICS, count_states
from ttt_batch.studies.storage.reading import Block, StudyFile, open_study, underived
from ttt_batch.training.network_trainer import check_proofs

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
    judge, value = exact_judge(graph, learner, learner.worth(like.settings)), int(np.sign(solve_in_plies(graph)[0]))

    def check(config: Any, data: RunData) -> Iterator[str]:
        fresh = learner.fresh(graph, config.settings, np.random.default_rng(config.seed % 2**64))
        data.table_fields.update({name: learner.fields[name] for name in fresh._fields})
        misfits = list(table_misfits("", data.tables, data, config, fresh))
        yield from misfits
        if misfits or "worst" not in data.statistics:
            return
        verdict = judge(learner.tables(*(data.tables[name] for name in learner.tables._fields)))._asdict()
        recorded = data.statistics
        if not all(np.allclose(verdict[n], recorded[n][-1], rtol=0, atol=TOLERANCE, equal_nan=True) for n in verdict):
            yield "results at the last point that differ from those of the kept tables"
        if contradict_value(recorded, value):
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


_KEPT = {
    TABLES.name: "exact results of the kept tables",
    NETWORKS.name: "the last proofs of the kept networks, repeated here",
    TALLIES.name: "form of the kept tables",
}
"""Checks of the kept tables or networks, by family."""


def check_study(path: str | Path) -> tuple[list[str], tuple[str, ...], Grounds]:
    """Return the findings about a study's file, one line each, then notes, then the grounds of its claims.

    Notes count the missing and failed learners.
    Raises StudyFileError if the file does not exist, cannot be read or is too new.
    """
    path = find_run(path)
    try:
        study = open_study(path)
    except DamagedStudy as error:
        return [str(error)], (), Grounds((), ())
    with study:
        problems = list(_findings(study))
        grounds = Grounds((), ()) if problems else _grounds(study)
        counts = count_states(study.state)
    notes = [f"{count_text(counts[name], 'learner')} {name}" for name in ("missing", "failed") if counts[name]]
    return [f"{shown(path)}: {one_line(problem)}" for problem in problems], tuple(notes), grounds


def _grounds(study: StudyFile) -> Grounds:
    """Return the verified and the trusted claims of a study without findings."""
    done = int(np.count_nonzero(study.state == DONE))
    verified = ["digest", "arrays that follow from the design", f"checksums of {count_text(done, 'learner')}"]
    trusted = [
        f"that {count_text(done, 'learner')} learnt by the design's settings and seeds",
        "the seconds and where the study comes from",
    ]
    kept = _KEPT[study.family.name] if study.keep == LAST else ""
    verified += [kept] if kept else []
    if study.family is not TALLIES:
        points = "at earlier points" if kept else "at recorded points"
        trusted.append(f"{'proofs and refutations' if study.family is NETWORKS else 'results'} {points}")
    return Grounds(tuple(verified), tuple(trusted))


def _findings(study: StudyFile) -> Iterator[str]:
    yield from _places(study)
    derived = False
    try:
        if study.design.seeds != tuple(study.seeds.tolist()):
            yield "its seeds are not those of its design"
        foreign = list(underived(study))
        yield from foreign
        derived = not foreign
    except TttBatchError as error:
        yield f"its design cannot be read: {str(error).removeprefix(f'{shown(study.path)}: ')}"
    if (study.array("state") > FAILED).any():
        yield f"state holds {study.array('state').max()}, it must hold 0 to {FAILED}"
    if not study.progress and str(study.array("provenance/progress")) not in ("", "{}"):
        yield "provenance/progress is malformed; resume the study to rewrite it"
    nameless = sum(reason == "unknown" for _, _, reason in study.failures())
    if nameless:
        yield f"{count_text(nameless, 'learner')} failed without a recorded reason"
    found: dict[str, tuple[int, str]] = {}
    for block in study.blocks():
        for problem, wrong in (*_wrong(study, block), *(mismatches(study, block) if derived else ())):
            if wrong.any():
                first = int(np.argmax(wrong))
                number, place = found.get(problem, (0, ""))
                place = place or f"setting {block.settings[first]}, seed {study.seeds[block.seeds[first]]}"
                found[problem] = number + int(np.count_nonzero(wrong)), place
    for problem, (number, place) in found.items():
        yield f"{problem} ({count_text(number, 'learner')}, the first: {place})"


def _places(study: StudyFile) -> Iterator[str]:
    """Yield findings about arrays whose place in HDF5 differs from the header, whose digest is correct."""
    try:
        with study.hdf5() as file:
            for path, place in study.header.arrays.items():
                array = file[path]
                if (array.id.get_offset(), array.dtype, array.shape) != (place.offset, place.dtype, place.shape):
                    yield f"{path} is not where the header says"
    # h5py raises almost any exception.
    except Exception as exc:
        yield f"HDF5 cannot read it ({type(exc).__name__})"


def _wrong(study: StudyFile, block: Block) -> Iterator[tuple[str, NDArray[np.bool_]]]:
    """Yield each possible problem of a block's learners, and bool[n]: which learners have it."""
    yield "results that do not match their checksum", ~study.sound(block)
    columns = block.statistics

    def any_of(wrong: NDArray[Any]) -> NDArray[np.bool_]:
        return np.asarray(wrong.reshape(wrong.shape[0], -1).any(axis=1))

    for name, column in columns.items():
        field = STATISTICS[name]
        slack = TOLERANCE if column.dtype.kind == "f" else 0
        if field.least > -np.inf:
            yield f"{name} out of range", any_of(~((column >= field.least - slack) & (column <= field.most + slack)))
    seconds = columns["seconds"]  # NaN at points within one kernel
    reached = np.fmax.accumulate(np.maximum(np.nan_to_num(seconds), 0.0), axis=1)
    yield "seconds that do not ascend from 0", any_of((seconds < reached) | np.isinf(seconds))
    yield f"seconds beyond {MOST_SECONDS:g}", any_of(seconds > MOST_SECONDS)
    yield "no seconds at the end", any_of(np.isnan(seconds[:, -1:]))
    games = study.games[block.settings, : block.kind.points]
    yield "outcomes that do not add up to the games", any_of(columns["outcomes"].sum(axis=2) != games)
    if "proof" in columns:
        proof, positions = columns["proof"], columns["proof_positions"]
        yield "proofs and refutations without an entered position", any_of((proof != 0) & (positions == 0))
    if "worst" in columns:
        for problem, wrong in exact_contradictions(columns):
            yield problem, any_of(wrong)
