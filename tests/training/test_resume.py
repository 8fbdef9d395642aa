"""Resuming: a run in two parts is the run in one, byte for byte; and what must not be resumed."""

import getpass
import itertools
import platform
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
from helpers.support import assert_same_run, interrupted, mostly_slow

import ttt_batch as ttt
from ttt_batch.core.errors import RunFileError, UsageError
from ttt_batch.learners import LEARNERS
from ttt_batch.runs.importing import export_table, import_tables
from ttt_batch.runs.state import table_digest
from ttt_batch.training.trainers.batched import Walking

PROGRAM = [sys.executable, "-m", "ttt_batch"]
SECONDS = 300


def stop_after(asked: int) -> Callable[[], bool]:
    """A `stop` that is true from the so-manieth time on."""
    number = itertools.count(1)
    return lambda: next(number) > asked


CASES: list[dict[str, Any]] = [
    *({"learner": name, "batch": batch} for name in LEARNERS for batch in (1, 700, "auto")),
    *({"learner": name, "engine": "flow", "batch": batch} for name in LEARNERS for batch in (700, "auto")),
    *({"learner": "td", "alpha": alpha, "batch": batch} for alpha in ("1/n", "1/n^0.8") for batch in (1, 700)),
    {"learner": "backward-q", "alpha": "1/n", "engine": "flow", "batch": 700},
    *({"opponent": name, "seat": seat} for name in ("random", "optimal") for seat in ("first", "both")),
    {"opponent": "random", "seat": "second", "batch": 1},
    {"opponent": "random", "seat": "both", "batch": 1},
    {"opponent": "random", "seat": "both", "batch": "auto", "engine": "flow"},
    {"learner": "minimax-q", "board": "2x3x2", "seed": -7},
]


QUICK = [case for case in CASES if case.get("learner", "td") == "td"]


@pytest.mark.sampled(1)
@pytest.mark.parametrize("options", mostly_slow(CASES, *QUICK), ids=str)
def test_a_run_in_parts_is_the_run_in_one(options: dict[str, Any], tmp_path: Path) -> None:
    """Ended within batches and between them, by the number of games and by `stop`, through files each time."""
    options = {"seed": 3, "batch": 700, **options}
    path = tmp_path / "run.h5"
    whole = ttt.train(25_000, **options)
    for first in (1, 699, 1_400, 9_999, 20_123):
        ttt.train(first, **options, out=path, overwrite=True)
        assert_same_run(whole, ttt.train(resume=path, until=25_000))
        assert_same_run(whole, ttt.load(path))
    ttt.train(100, **options, out=path, overwrite=True)
    for more in (1, 1_000, 5_555, 13_344, 5_000):
        ttt.train(resume=path, more=more)
    assert_same_run(whole, ttt.load(path))
    stopped = ttt.train(25_000, **options, stop=stop_after(2), out=path, overwrite=True)
    assert stopped.interrupted and 0 < stopped.games < 25_000 and stopped.goal == 25_000
    assert ttt.load(path).interrupted
    assert_same_run(whole, ttt.train(resume=path))
    assert not ttt.load(path).interrupted


@pytest.mark.slow
@pytest.mark.parametrize(
    "options",
    [
        {"epsilon": "0.3->0.01:linear"},
        {"epsilon": "0.3->0.01:exp", "batch": 1},
        {"alpha": "0.5->0.01:linear", "engine": "flow"},
        {"alpha": "0.5->0.01:exp", "epsilon": "0.4->0.1:linear", "batch": "auto"},
    ],
    ids=str,
)
def test_schedules_keep_their_horizon(options: dict[str, Any], tmp_path: Path) -> None:
    options = {"seed": 5, "batch": 700, **options}
    path = tmp_path / "run.h5"
    whole = ttt.train(30_000, **options)
    for asked in (1, 3):
        ttt.train(30_000, **options, stop=stop_after(asked), out=path, overwrite=True)
        resumed = ttt.train(resume=path)
        assert_same_run(whole, resumed)
        assert resumed.config.horizon == 30_000
    beyond = ttt.train(resume=whole, until=45_000)
    ttt.train(resume=path, until=31_234)
    assert_same_run(beyond, ttt.train(resume=path, until=45_000))
    assert beyond.config == whole.config


@pytest.mark.slow
@pytest.mark.parametrize("threads", [1, 2, 3])
def test_threads_may_change_on_the_way(threads: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Walking, "games_per_thread", 1_000)
    monkeypatch.setattr(Walking, "stop_every", 3_000)
    options: dict[str, Any] = {"learner": "td", "batch": 20_000, "seed": 2}
    whole = ttt.train(130_000, **options, threads=4 - threads)
    path = tmp_path / "run.h5"
    for first in (20_000, 47_000):
        ttt.train(first, **options, threads=threads, out=path, overwrite=True)
        assert_same_run(whole, ttt.train(resume=path, until=130_000, threads=4 - threads, block=77))
    ttt.train(130_000, **options, threads=threads, stop=stop_after(20), out=path, overwrite=True)
    assert 0 < ttt.load(path).games < 130_000
    assert_same_run(whole, ttt.train(resume=path, threads=1))


def test_a_run_as_the_opponent_and_a_run_to_start_from(tmp_path: Path) -> None:
    rival, other = ttt.train(2_000, batch=500, out=tmp_path / "rival.h5"), ttt.train(1_500, batch=500)
    options: dict[str, Any] = {"batch": 700, "seed": 1, "start": other}
    whole = ttt.train(20_000, **options, opponent=rival, seat="both")
    path = tmp_path / "run.h5"
    ttt.train(3_333, **options, opponent=tmp_path / "rival.h5", out=path)
    with pytest.raises(UsageError, match="again with opponent"):
        ttt.train(resume=path, until=20_000)
    with pytest.raises(UsageError, match="was trained against another run or agent"):
        ttt.train(resume=path, until=20_000, opponent=other)
    with pytest.raises(UsageError, match="start"):
        ttt.train(resume=path, until=20_000, opponent=rival, start=rival)
    assert_same_run(whole, ttt.train(resume=path, until=20_000, opponent=rival, seat="both", start=other))


@pytest.mark.slow
def test_checkpoints_do_not_show_and_can_be_resumed(tmp_path: Path) -> None:
    """Every checkpoint on the way, copied, leads to the same end."""
    options: dict[str, Any] = {"batch": 700, "seed": 1}
    path = tmp_path / "run.h5"
    whole = ttt.train(60_123, **options)
    kept: dict[int, bytes] = {}
    games: list[int] = []

    def keep(now: ttt.Progress) -> None:
        if now.saved and now.saved not in kept:
            kept[now.saved] = path.read_bytes()
        games.append(now.games)

    assert_same_run(whole, ttt.train(60_123, **options, out=path, checkpoint_every="4000games", progress=keep))
    assert len(kept) >= 10
    for saved, content in kept.items():
        assert saved % 700 == 0
        path.write_bytes(content)
        found = ttt.load(path)
        assert found.games == saved == found.statistics["games"][-1] and found.goal == 60_123 and found.interrupted
        assert_same_run(whole, ttt.train(resume=path))


def test_the_seconds_and_the_past_go_on(tmp_path: Path) -> None:
    path = tmp_path / "run.h5"
    first = ttt.train(5_000, batch=700, out=path, command="ttt-batch train --games 5000")
    again = ttt.train(resume=path, more=5_000, command="ttt-batch train --resume run.h5 --more 5000")
    assert (np.diff(again.statistics["seconds"]) >= 0).all()
    assert float(again.provenance["seconds"]) > float(first.provenance["seconds"])
    assert again.provenance["created"] == first.provenance["created"]
    assert again.provenance["command"] == "ttt-batch train --games 5000"
    assert again.provenance["resumed_by"] == "ttt-batch train --resume run.h5 --more 5000"
    assert ttt.load(path).provenance == again.provenance


def test_where_it_comes_from_names_no_person_and_no_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOGNAME", "grace")
    monkeypatch.setattr(platform, "node", lambda: "harvard")
    assert getpass.getuser() == "grace"
    run = ttt.train(1_000, batch=500, out=tmp_path / "run.h5")
    past = ttt.load(tmp_path / "run.h5").provenance
    assert past == run.provenance
    assert set(past) == {
        *("created", "ended", "seconds", "command", "processor", "threads"),
        *("ttt_batch_version", "python_version", "numpy_version", "numba_version"),
    }
    assert "" < str(past["created"]) <= str(past["ended"]) and past["processor"]
    assert not [value for value in past.values() if "grace" in str(value) or "harvard" in str(value)]


@pytest.mark.slow
def test_files_changed_by_others_go_on_only_where_they_are_trusted(tmp_path: Path) -> None:
    """As the run that goes on, and as the opponent."""
    changed, rival = tmp_path / "changed.h5", tmp_path / "rival.h5"
    ttt.train(2_000, batch=500, out=changed)
    rival.write_bytes(changed.read_bytes())
    for path in (changed, rival):
        with h5py.File(path, "r+") as file:
            file["provenance"].attrs["threads"] = 77
    whole = ttt.train(4_000, batch=500)
    with pytest.raises(RunFileError, match="trust=True"):
        ttt.train(resume=changed, until=4_000)
    assert_same_run(ttt.train(resume=changed, until=4_000, trust=True), whole)
    assert_same_run(ttt.load(changed), whole)
    with pytest.raises(RunFileError, match="trust=True"):
        ttt.train(1_000, batch=500, opponent=rival)
    against = ttt.train(1_000, batch=500, opponent=rival, trust=True)
    assert against.config == ttt.train(1_000, batch=500, opponent=ttt.load(rival, trust=True)).config


def test_resuming_elsewhere_leaves_the_run_as_it_was(tmp_path: Path) -> None:
    path, other = tmp_path / "run.h5", tmp_path / "other.h5"
    ttt.train(5_000, batch=700, seed=4, out=path)
    before = path.read_bytes()
    ttt.train(resume=path, more=5_000, out=other)
    assert path.read_bytes() == before
    assert_same_run(ttt.train(10_000, batch=700, seed=4), ttt.load(other))
    with pytest.raises(RunFileError, match="overwrite=True"):
        ttt.train(resume=path, more=5_000, out=other)
    ttt.train(resume=path, more=6_000, out=other, overwrite=True)
    assert ttt.load(other).games == 11_000


def test_a_resumption_that_is_stopped_at_once_changes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "run.h5"
    ttt.train(5_000, batch=700, seed=4, out=path)
    before = path.read_bytes()
    for out in (None, tmp_path / "other.h5"):
        run = ttt.train(resume=path, more=5_000, out=out, stop=lambda: True)
        assert run.interrupted and run.games == 5_000
    assert path.read_bytes() == before
    assert [found.name for found in tmp_path.iterdir()] == ["run.h5"]


# --- refusals and forks -----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def ended(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """The file of a run that reached its goal."""
    path = tmp_path_factory.mktemp("ended") / "run.h5"
    ttt.train(5_000, batch=700, seed=4, epsilon=0.1, out=path)
    return path.read_bytes()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"epsilon": 0.25}, r"epsilon 0\.1, not 0\.25"),
        ({"alpha": "1/n"}, r"alpha .*, not 1/n"),
        ({"gamma": 0.5}, r"gamma 1\.0, not 0\.5"),
        ({"batch": 500}, r"batch 700, not 500"),
        ({"engine": "flow"}, r"engine walk, not flow"),
        ({"seed": 5}, r"seed 4, not 5; leave that out, or add fork=True and out for a new run"),
        ({"seed": 0}, r"seed 4, not 0"),
        ({"learner": "sutton-barto"}, r"learner td, not sutton-barto; leave that out, or train a new run"),
        ({"learner": "Patterns"}, r"learner td, not patterns; leave that out, or train a new run"),
        ({"board": "2x3x2"}, r"board 3x3, not 2x3x2; leave that out, or train a new run"),
        ({"board": "2x3x2", "more": None, "fork": True, "out": "other.h5"}, "cannot start td on 2x3x2"),
        ({"draw_worth": (0.5, 0.0)}, r"draw_worth .*, not \(0\.5, 0\.0\)"),
        ({"opponent": "random"}, r"opponent none, not random; seat none, not both"),
        ({"epsilon": 0.25, "seed": 5}, r"epsilon 0\.1, not 0\.25; seed 4, not 5"),
        ({"games": 10_000}, "give until or more"),
        ({"more": 5, "until": 10_000}, "mean the same"),
        ({"until": 5_000}, "5,000 games; "),
        ({"more": 0}, "more 0"),
        ({"more": None}, ", its goal"),
        ({"more": None, "seed": 4}, ", its goal"),
        ({"more": None, "alpha": 0.25}, r"alpha 0\.5, not 0\.25"),
        ({"fork": True}, "name its file"),
    ],
    ids=str,
)
def test_other_settings_are_named_and_refused(
    options: dict[str, Any], words: str, ended: bytes, tmp_path: Path
) -> None:
    path = tmp_path / "run.h5"
    path.write_bytes(ended)
    with pytest.raises(UsageError, match=words) as caught:
        ttt.train(resume=path, **{"more": None if "until" in options else 5_000, **options})
    assert len(str(caught.value).splitlines()) == 1
    assert path.read_bytes() == ended
    assert [found.name for found in tmp_path.iterdir()] == ["run.h5"]


def test_a_finished_run_is_refused_before_its_opponent_is_asked(tmp_path: Path) -> None:
    asked = []

    def agent(boards: Any, _to_move: Any, legal: Any) -> Any:
        asked.append(len(boards))
        return legal.argmax(1)

    ttt.train(100, opponent=agent, out=tmp_path / "run.h5")
    assert asked
    asked.clear()
    with pytest.raises(UsageError, match=", its goal"):
        ttt.train(resume=tmp_path / "run.h5", opponent=agent, seed=0)
    assert not asked


def test_its_own_settings_may_be_repeated(tmp_path: Path) -> None:
    options: dict[str, Any] = {"learner": "td", "board": "3x3", "epsilon": "0.10", "batch": "700", "seed": 4}
    path = tmp_path / "run.h5"
    ttt.train(5_000, **options, out=path)
    assert_same_run(ttt.train(9_000, **options), ttt.train(resume=path, **options, until=9_000))
    with pytest.raises(UsageError, match="resume=RUN"):
        ttt.train(more=100)


@pytest.mark.slow
def test_a_fork_may_change_them_and_names_its_parent(tmp_path: Path) -> None:
    path, child = tmp_path / "run.h5", tmp_path / "child.h5"
    parent = ttt.train(5_000, batch=700, seed=4, epsilon=0.1, out=path)
    before = path.read_bytes()
    changes: dict[str, Any] = {"epsilon": "0.2->0.1:linear", "batch": 1_024, "seed": 9, "alpha": "1/n"}
    fork = ttt.train(resume=path, fork=True, until=20_000, out=child, **changes)
    assert path.read_bytes() == before
    assert fork.games == 20_000 and fork.config.batch == 1_024 and fork.config.horizon == 20_000
    assert parent.batch_start is not None and parent.batch_start.games == 4_900
    assert fork.config.start == f"{table_digest(parent.batch_start.tables)}@4900"
    assert fork.provenance["parent"] == table_digest(parent.tables) and fork.provenance["parent_games"] == 5_000
    assert fork.statistics["games"][:7].tolist() == parent.statistics["games"][:7].tolist()
    for first in (5_000, 5_100, 13_000):  # within the fork's first batch, behind it, and later
        other = tmp_path / f"{first}.h5"
        ttt.train(resume=path, fork=True, until=20_000, out=other, overwrite=True, stop=stop_after(0), **changes)
        assert not other.exists()
        cut = {**changes, "epsilon": 0.2}
        whole = ttt.train(resume=path, fork=True, until=20_000, **cut, out=tmp_path / "whole.h5", overwrite=True)
        ttt.train(resume=path, fork=True, until=first + 1, **cut, out=other)
        assert_same_run(whole, ttt.train(resume=other, until=20_000))
    same = ttt.train(resume=path, fork=True, until=9_000, out=tmp_path / "same.h5")
    assert_same_run(ttt.train(9_000, batch=700, seed=4, epsilon=0.1), same)
    with pytest.raises(UsageError, match="same learner, board"):
        ttt.train(resume=path, fork=True, more=100, out=tmp_path / "no.h5", learner="sutton-barto")


def test_given_and_imported_runs_are_refused_in_a_line(tmp_path: Path) -> None:
    given, _ = ttt.learn_from(["1 2 4 3 7"], learner="td", out=tmp_path / "given.h5")
    export_table(given, "csv", [tmp_path / "table.csv"])
    for run in (tmp_path / "given.h5", import_tables([tmp_path / "table.csv"], "td")):
        with pytest.raises(UsageError, match=r"learn_from\(run=\.\.\.\)") as caught:
            ttt.train(resume=run, more=100)
        assert len(str(caught.value).splitlines()) == 1


def test_a_run_that_contradicts_itself_is_refused() -> None:
    run = ttt.train(1_400, batch=700)
    run.statistics = {name: column[:1] for name, column in run.statistics.items()}
    with pytest.raises(RunFileError, match="last recorded point"):
        ttt.train(resume=run, more=10)


def test_missing_runs_are_refused(tmp_path: Path) -> None:
    with pytest.raises(RunFileError, match=r"no file .*none\.h5"):
        ttt.train(resume=tmp_path / "none.h5", more=10)
    assert list(tmp_path.iterdir()) == []


# --- the command ------------------------------------------------------------------------------------------


SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
WAYS = ("--batch 16384", "--batch 1", "--engine flow --batch 4096")


@pytest.mark.slow
@pytest.mark.parametrize(("number", "options"), list(itertools.product(SIGNALS, WAYS)))
def test_an_interrupted_command_goes_on_as_if_nothing_had_been(
    number: signal.Signals, options: str, tmp_path: Path, start: Any
) -> None:
    words = [*PROGRAM, "train", "--games", "2000000000000", "--seed", "6", *options.split(), "-o", "run.h5"]
    pipe = subprocess.PIPE
    _, err = interrupted(start(words, cwd=tmp_path, stdout=pipe, stderr=pipe), number)
    assert "go on with ttt-batch train --resume run.h5" in err
    stopped = ttt.load(tmp_path / "run.h5")
    goal = 2 * stopped.games + 1_234
    words = [*PROGRAM, "train", "--resume", "run.h5", "--until", str(goal)]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, timeout=SECONDS, check=False)
    assert done.returncode == 0, done.stderr
    config = stopped.config
    whole = ttt.train(goal, seed=6, batch=config.batch, engine=config.engine)
    assert_same_run(whole, ttt.load(tmp_path / "run.h5"))
    assert [found.name for found in tmp_path.iterdir()] == ["run.h5"]
