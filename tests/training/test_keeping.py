"""`--keep-points`: the tables at recorded points, in runs in one and in parts, in files, and where there are none."""

import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers.runfiles import changed, put, sealed
from helpers.support import assert_same_run, command, mostly_slow

import ttt_batch as ttt
from ttt_batch.core.errors import BoardError, RunFileError, UsageError
from ttt_batch.learners import LEARNERS
from ttt_batch.runs.loading import check_run
from ttt_batch.runs.run import Run
from ttt_batch.training.from_games import LearningRun


def trained(games: int = 6_000, **options: Any) -> Run:
    run = ttt.train(games, **{"batch": 700, "seed": 4, **options})
    assert isinstance(run, Run)
    return run


def assert_same_points(one: Run, other: Run) -> None:
    assert one.points is not None and other.points is not None
    assert one.points.games.tolist() == other.points.games.tolist()
    for ours, theirs in zip(one.points.tables, other.points.tables, strict=True):
        assert ours.dtype == theirs.dtype and ours.shape == theirs.shape and ours.tobytes() == theirs.tobytes()


@pytest.mark.parametrize("learner", ["td", "double-q", "sutton-barto"])
def test_they_are_the_tables_of_runs_that_end_there(learner: str) -> None:
    """The oracle is a run of as many games; nothing else of the run differs."""
    run, plain = trained(learner=learner, keep_points=True), trained(learner=learner)
    assert plain.points is None and run == plain
    assert_same_run(run, plain)
    assert run.points is not None
    assert run.points.games.tolist() == run.statistics["games"].tolist() == [*range(700, 6_000, 700), 6_000]
    for number, games in enumerate(run.points.games.tolist()):
        there = trained(games, learner=learner)
        for kept, table in zip(run.points.tables, there.tables, strict=True):
            assert kept[number].dtype == table.dtype and kept[number].tobytes() == table.tobytes()
    assert run.points.nbytes == 9 * sum(table.nbytes for table in run.tables)


@pytest.mark.sampled(1)
@pytest.mark.parametrize("name", mostly_slow(LEARNERS, "td", "minimax-q", "reinforce"))
def test_every_learner_keeps_them(name: str, tmp_path: Path) -> None:
    run = trained(1_500, learner=name, keep_points=True, out=tmp_path / "run.h5")
    assert_same_points(run, ttt.load(tmp_path / "run.h5"))
    assert check_run(tmp_path / "run.h5") == ([], ())


@pytest.mark.slow
def test_a_run_in_parts_keeps_what_the_run_in_one_keeps(tmp_path: Path) -> None:
    """Ended within batches, between them, and by `stop`; only the first part asks for it."""
    path, whole = tmp_path / "run.h5", trained(9_000, keep_points=True)
    for first in (1, 699, 700, 1_500, 5_600):
        trained(first, keep_points=True, out=path, overwrite=True)
        ttt.train(resume=path, until=first + 333)
        calls = itertools.count()
        ttt.train(resume=path, until=9_000, stop=lambda calls=calls: next(calls) > 2)
        part = ttt.load(path)
        assert part.points is not None and part.points.games[-1] == part.games < 9_000
        run = ttt.train(resume=path, until=9_000)
        assert_same_run(whole, run)
        assert_same_points(whole, run)
        assert_same_points(whole, ttt.load(path))


def test_a_fork_keeps_those_of_its_parent(tmp_path: Path) -> None:
    path, child = tmp_path / "run.h5", tmp_path / "child.h5"
    parent = trained(5_000, keep_points=True, out=path)
    fork = ttt.train(resume=path, fork=True, until=20_000, epsilon=0.5, batch=1_024, out=child)
    assert parent.points is not None and fork.points is not None
    assert fork.points.games[:7].tolist() == parent.points.games[:7].tolist()  # not that of the end within a batch
    assert fork.points.games.tolist() == fork.statistics["games"].tolist()
    assert fork.points.tables[0][:7].tobytes() == parent.points.tables[0][:7].tobytes()
    assert check_run(child) == ([], ())
    assert_same_points(fork, ttt.load(child))


def test_a_run_that_had_none_keeps_those_to_come(tmp_path: Path) -> None:
    path = tmp_path / "run.h5"
    trained(2_100, out=path)
    run = ttt.train(resume=path, until=4_200, keep_points=True)
    assert run.points is not None and run.points.games.tolist() == [2_800, 3_500, 4_200]
    assert_same_run(run, trained(4_200))
    assert check_run(path) == ([], ())


def test_a_checkpoint_has_them(tmp_path: Path) -> None:
    path, seen = tmp_path / "run.h5", []

    def look(now: Any) -> None:
        if now.saved and not seen:
            seen.append(ttt.load(path))

    trained(keep_points=True, out=path, checkpoint_every="1500games", progress=look)
    assert seen[0].points.games.tolist() == seen[0].statistics["games"].tolist()
    assert seen[0].points.games[-1] == seen[0].games < 6_000


def test_playing_on_keeps_them(tmp_path: Path) -> None:
    path = tmp_path / "run.h5"
    run = trained(keep_points=True, out=path)
    LearningRun(ttt.load(path), path).update([4, 0, 2, 1, 6])
    taught = ttt.load(path)
    assert taught.games == 6_001
    assert_same_points(run, taught)
    assert check_run(path) == ([], ())


def test_the_size_is_said_before_training(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["train", "--games", 100_000, "--keep-points", "-o", tmp_path / "run.h5"]
    status, _, err = command(capsys, *words)
    said = "keeping 43 recorded points with tables of 44 kB each: the run file will grow by about 1.9 MB"
    assert status == 0
    lines = err.splitlines()
    assert lines.index(said) < next(
        number for number, line in enumerate(lines) if line.strip().startswith("1,024 games")
    )
    status, out, _ = command(capsys, "info", tmp_path / "run.h5")
    assert "tables kept at 43 recorded points, from game 1,024 to 100,000" in " ".join(out.split())
    status, out, _ = command(capsys, "info", tmp_path / "run.h5", "--json")
    assert '"kept_points": 43' in out
    trained(1_000, out=tmp_path / "plain.h5")
    assert "tables kept" not in command(capsys, "info", tmp_path / "plain.h5")[1]
    more = (tmp_path / "run.h5").stat().st_size - (tmp_path / "plain.h5").stat().st_size
    assert 1.85e6 < more < 1.95e6


@pytest.mark.parametrize(
    ("words", "line"),
    [
        ("train --board 5x5x5 --games 9", "--keep-points keeps the same positions at every point, and the table of "),
        ("train --learner patterns --games 9", "--keep-points is for tables of positions, which pattern "),
        (
            "train --games 9999 --max-memory 300kB",
            "10 recorded points with tables of 44 kB each take 438 kB, and 300 kB",
        ),
        ("study --seeds 2", "study has no option --keep-points: it keeps what was recorded of each learner"),
    ],
)
def test_where_there_are_none_a_line_says_why(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], words: str, line: str
) -> None:
    status, out, err = command(capsys, *words.split(), "--keep-points", "-o", tmp_path / "run.h5")
    assert (status, out) == (2, "") or (status, out) == (1, "")
    assert err.splitlines()[-1].startswith(f"ttt-batch: {line}")
    assert list(tmp_path.iterdir()) == []


def test_python_raises_the_same() -> None:
    with pytest.raises(UsageError, match="keep_points=True keeps the same positions"):
        ttt.train(10, board="5x5x5", keep_points=True)
    with pytest.raises(BoardError, match="raise max_memory, or leave keep_points=True out"):
        trained(keep_points=True, max_memory=300_000)


@pytest.mark.sampled(4)
@pytest.mark.parametrize(
    ("change", "finding"),
    [
        (lambda file: file.pop("points"), "only one of progress/point_games and points exists"),
        (lambda file: file["progress"].pop("point_games"), "only one of progress/point_games and points exists"),
        (put("progress/point_games", 701, 0), "holds games without a recorded point"),
        (put("progress/point_games", 700, 1), "does not ascend"),
        (put("points/value", 0.123, (-1, 9)), "the last table of points/value is not tables/value"),
        (put("points/value", np.nan, (2, 9)), "table 'points/value' holds NaN"),
        (put("points/value", np.inf, (2, 9)), "points/value holds an infinite number"),
        (lambda file: file.move("points/value", "points/other"), "points/other has no table of this name"),
        (lambda file: shorten(file), "points/value has length 8 along axis K"),
    ],
)
def test_check_finds_what_contradicts(tmp_path: Path, change: Any, finding: str) -> None:
    path = tmp_path / "run.h5"
    trained(keep_points=True, out=path)
    path.write_bytes(sealed(changed(path.read_bytes(), change)))
    findings, _ = check_run(path)
    assert any(finding in line for line in findings), findings
    with pytest.raises(RunFileError):
        ttt.load(path)


def shorten(file: Any) -> None:
    """Take the last point away from a table, but not from the games."""
    array, labels = file["points/value"][:-1], dict(file["points/value"].attrs)
    del file["points/value"]
    file.create_dataset("points/value", data=array).attrs.update(labels)
