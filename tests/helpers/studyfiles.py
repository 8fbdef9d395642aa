"""Helpers of the tests of study files: designs, and valid results of learners that mean nothing."""

import hashlib
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from ttt_batch.studies.designs.design import Design, make_design
from ttt_batch.studies.storage.layout import DONE
from ttt_batch.studies.storage.reading import StudyFile
from ttt_batch.studies.storage.writing import StudyWriter

MIXED: dict[str, Any] = {"alpha": ["0.1", "0.5"], "batch": "500,20", "games": "1000,3000"}
"""Options of eight settings with four different numbers of points."""


def design(seeds: Any = 6, **options: Any) -> Design:
    return make_design(options or MIXED, seeds=seeds)


def results(study: StudyFile, setting: int, seed: int) -> dict[str, np.ndarray]:
    """Statistics of one learner: a function of the setting's key and the seed, wherever they stand."""
    name = f"{study.keys[setting]} {study.seeds[seed]}"
    rng = np.random.default_rng(int.from_bytes(hashlib.sha256(name.encode()).digest()[:8]))
    points = int(study.points[setting])
    games = study.games[setting, :points].copy()
    wins = np.sort(rng.integers(0, games + 1), axis=0)
    outcomes = np.stack([wins, games - wins, np.zeros_like(games)], axis=1)
    shared = {"games": games, "seconds": np.sort(rng.random(points)), "outcomes": outcomes}
    if study.array("growing")[setting]:
        return {**shared, "positions": np.sort(rng.integers(0, 10**6, points))}
    safe = rng.random(points) < 0.5  # in both seats, or in none
    worst = np.repeat(np.where(safe, 0, -1)[:, None], 2, axis=1).astype(np.int8)
    drawn, open_ended = np.eye(3)[1], rng.dirichlet(np.ones(3), (points, 3))
    return {
        **shared,
        "unbeatable": worst >= 0,
        "worst": worst,
        "self_play": np.where(safe[:, None], drawn, open_ended[:, 2]),
        "versus_random": np.where(safe[:, None, None], drawn, open_ended[:, :2]),
        "best_response": -worst.astype(np.float64),
        "optimal_share": rng.random((points, 2)),
        "value_error": rng.random((points, 2)),
    }


def store(
    study: StudyWriter,
    setting: int,
    seed: int,
    statistics: Mapping[str, np.ndarray] | None = None,
    tables: Mapping[str, np.ndarray] | None = None,
) -> None:
    """Store one learner, with its `results` if nothing else is given."""
    given = results(study, setting, seed) if statistics is None else statistics, tables or {}
    parts = [{name: np.asarray(array)[None] for name, array in part.items() if name != "games"} for part in given]
    study.store_many(setting, seed, *parts)


def missing(study: StudyFile) -> list[tuple[int, int]]:
    """Setting and seed, by number, of every learner that is not done."""
    return [(i, j) for i in range(len(study.keys)) for j in np.flatnonzero(study.state[i] != DONE).tolist()]


def store_all(study: StudyWriter) -> None:
    """Store everything that is missing, some learners of a setting at a time."""
    for setting in range(len(study.keys)):
        seeds = np.flatnonzero(study.state[setting] != DONE)
        for some in np.array_split(seeds, 3):
            if some.size:
                own = [results(study, setting, seed) for seed in some.tolist()]
                names = own[0].keys() - {"games"}
                study.store_many(setting, some, {name: np.stack([one[name] for one in own]) for name in names})


def assert_stored(study: StudyFile, setting: int, seed: int) -> None:
    """The file has the results of this learner, and nothing after its last point."""
    for name, column in results(study, setting, seed).items():
        if name != "games":
            found = study.array(name)[setting, seed]
            assert found.dtype == column.dtype
            assert found[: len(column)].tobytes() == column.tobytes(), name
            rest = found[len(column) :]
            assert np.isnan(rest).all() if rest.dtype.kind == "f" else not rest.any()


def same_results(
    one: Path, other: Path, leave_out: tuple[str, ...] = ("provenance/reasons", "provenance/progress")
) -> bool:
    """Return whether two files have the same bytes in every array of results."""
    from ttt_batch.studies.storage.reading import open_study

    with open_study(one) as ours, open_study(other) as theirs:
        places = {path: place for path, place in ours.header.arrays.items() if place.results and path not in leave_out}
        assert len(places) >= 4
        return all(ours.array(path).tobytes() == theirs.array(path).tobytes() for path in places)


def with_header(path: Path, change: Callable[[dict[str, Any]], object]) -> None:
    """Change what the header of a file says about its contents; the digest is no longer right."""
    content = path.read_bytes()
    begin = content.index(b"\n{") + 1
    size = int(content.split(b"\nheader ")[1].split()[0])
    values = json.loads(content[begin:size])
    change(values)
    text = (content[:begin] + json.dumps(values).encode()).ljust(size - 1) + b"\n"
    path.write_bytes(text[:size] + content[size:])
