"""Checkpoints: what is on disk whatever happens, and what a training makes of a disk that fails."""

import errno
import json
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import time
import warnings
from pathlib import Path
from typing import Any

import pexpect
import pytest
from helpers import killed
from helpers.support import assert_same_run, command, names

import ttt_batch as ttt
from ttt_batch.core.errors import RunFileError, UsageError
from ttt_batch.runs.storage.run_file import save_run
from ttt_batch.training.session import Checkpoints, Every, RewrittenRun, parse_every

pytestmark = pytest.mark.filterwarnings("ignore:This process .*is multi-threaded:DeprecationWarning")

PROGRAM = [sys.executable, "-m", "ttt_batch"]
SECONDS = 300


def full(*_: Any) -> None:
    raise OSError(errno.ENOSPC, "No space left on device")


# --- when -------------------------------------------------------------------------------------------------


def test_how_often() -> None:
    assert parse_every("30s") == Every(seconds=30.0)
    assert parse_every("0.5s") == Every(seconds=0.5)
    for text in ("1_000_000 games", "1000000games", "1Mgames", "1e6 Games", "1,000,000games"):
        assert parse_every(text) == Every(games=1_000_000)
    assert parse_every("never") == parse_every("Never") == Every()
    for text in ("", "30", "s", "-1s", "nans", "often", "30min"):
        with pytest.raises(UsageError, match=r"give e\.g\. 30s, 1Mgames or never") as caught:
            parse_every(text)
        assert repr(text) in str(caught.value)
    assert parse_every("1e3games") == parse_every("1k games") == Every(games=1000)
    for text in ("0games", "9" * 20 + "games"):
        with pytest.raises(UsageError, match=r"outside 1 \.\. 1,000,000,000,000,000"):
            parse_every(text)


@pytest.mark.sampled(1)
@pytest.mark.parametrize(("every", "expected"), [("never", 1), ("1000s", 1), ("5000games", 10), ("0s", 3)])
def test_checkpoints_come_when_they_are_due(
    every: str, expected: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    saved: list[int] = []
    data = ttt.Run.data
    monkeypatch.setattr(ttt.Run, "data", lambda run: (saved.append(run.games), data(run))[1])
    ttt.train(50_000, batch=500, seed=1, out=tmp_path / "run.h5", checkpoint_every=every)
    assert len(saved) >= expected if every == "0s" else len(saved) == expected
    assert saved[-1] == 50_000
    if every == "5000games":
        assert saved == list(range(5_000, 50_001, 5_000))
    assert names(tmp_path) == ["run.h5"]


def test_only_our_leftovers_are_cleaned_up(tmp_path: Path) -> None:
    kept = {
        ".run.h5.tmp": b"",
        ".other.h5.0123456789ab.tmp": b"",
        ".run.h5.0123456789aX.tmp": b"",
        "run.h5.0123456789ab.tmp": b"",
        ".run.h5.00000000000a.tmp": b"somebody else's",
    }
    for name, content in kept.items():
        (tmp_path / name).write_bytes(content)
    (tmp_path / ".run.h5.ttt-batch.00000000000d.tmp").mkdir()
    (tmp_path / ".run.h5.ttt-batch.00000000000e.tmp").symlink_to(tmp_path / ".run.h5.tmp")
    (tmp_path / ".run.h5.ttt-batch.00000000000c.tmp").write_bytes(b"")
    (tmp_path / ".run.h5.ttt-batch.00000000000b.tmp").write_bytes(b"of any kind")
    ttt.train(1_000, batch=500, out=tmp_path / "run.h5")
    assert names(tmp_path) == sorted(
        [*kept, ".run.h5.ttt-batch.00000000000d.tmp", ".run.h5.ttt-batch.00000000000e.tmp", "run.h5"]
    )


# --- kill -9 ----------------------------------------------------------------------------------------------


class Killer:
    """Lets `killed` train, kills it, and looks at what is left."""

    def __init__(self, path: Path) -> None:
        self.path, self.kills, self.inside = path, 0, 0
        reading, writing = os.pipe()
        self.process = subprocess.Popen(
            [sys.executable, killed.__file__, str(writing)], stdin=subprocess.PIPE, pass_fds=[writing], text=True
        )
        os.close(writing)
        self.said = os.fdopen(reading)
        assert self.said.readline() == "ready\n"

    def kill(self, stage: str, seconds: float) -> None:
        """Kill one training at a stage of a write, or for `random` so many seconds after its first checkpoint."""
        assert self.process.stdin is not None
        before = ttt.load(self.path).games if self.path.exists() else 0
        possible, begun = [before], False
        self.process.stdin.write(f"{self.path} {stage}\n")
        self.process.stdin.flush()
        number, line = 0, ""
        while not (number and (line.startswith("at ") if stage != "random" else begun)):
            line = self.said.readline()
            number = int(line.split()[1]) if line.startswith("pid ") else number
            begun = begun or line.startswith("end ")
            possible = self.follow(possible, line)
            assert not line.startswith("ended"), line
        time.sleep(seconds if stage == "random" else 0)
        os.kill(number, signal.SIGKILL)
        while not (line := self.said.readline()).startswith("ended "):
            possible = self.follow(possible, line)
        assert int(line.split()[1]) == signal.SIGKILL, line
        self.kills += 1
        self.inside += len(possible) == 2
        found = ttt.load(self.path)  # opens and validates
        assert found.games in possible, (found.games, possible)
        assert found.games == found.statistics["games"][-1] == found.statistics["outcomes"][-1].sum()

    @staticmethod
    def follow(possible: list[int], line: str) -> list[int]:
        """Games that the file may hold: the last checkpoint, and one whose write has begun."""
        word, _, number = line.partition(" ")
        if word == "begin":
            return [possible[-1], int(number)]
        return [int(number)] if word == "end" else possible

    def close(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait(SECONDS)
        self.said.close()


@pytest.mark.slow
@pytest.mark.parametrize("half", [0, 1])
def test_kill_9_at_any_moment_leaves_one_of_the_two_last_checkpoints(half: int, tmp_path: Path) -> None:
    """Twice 60 kills at random moments and 50 within the write, ten at each of its stages."""
    chance = random.Random(half)
    plan = ["random"] * 60 + [stage for stage in killed.STAGES if stage != "random"] * 10
    chance.shuffle(plan)
    path = tmp_path / "run.h5"
    killer = Killer(path)
    try:
        for number, stage in enumerate(plan):
            if number % 20 == 0:
                path.unlink(missing_ok=True)
            killer.kill(stage, chance.uniform(0, 0.06))
            # What one kill leaves the next training clears away: never more than one temporary file, and the lock.
            left = [name for name in names(tmp_path) if name.endswith(".tmp")]
            assert len(left) <= 1 and set(names(tmp_path)) <= {"run.h5", ".run.h5.lock", *left}
            if number % 5 == 0:
                found = ttt.load(path)
                whole = ttt.train(found.games, batch=500, seed=1, threads=1)
                assert_same_run(whole, found)
    finally:
        killer.close()
    assert killer.kills == 110 and killer.inside >= 50
    ttt.train(resume=path, more=500)
    assert names(tmp_path) == ["run.h5"]


@pytest.mark.slow
def test_the_command_survives_kill_9(tmp_path: Path, start: Any) -> None:
    words = "train --games 1000000000000 --batch 500 --seed 1 --checkpoint-every 0s -o run.h5"
    chance, games = random.Random(5), 0
    for _ in range(4):
        process = start([*PROGRAM, *words.split()], cwd=tmp_path, stderr=subprocess.DEVNULL)
        deadline = time.monotonic() + SECONDS
        while not (tmp_path / "run.h5").exists() or ttt.load(tmp_path / "run.h5").games == games:
            assert process.poll() is None and time.monotonic() < deadline
            time.sleep(0.02)
        time.sleep(chance.uniform(0, 0.1))
        process.kill()
        process.wait()
        found = ttt.load(tmp_path / "run.h5")
        assert found.games > games
        games = found.games
        words = "train --resume run.h5 --checkpoint-every 0s"
    found = ttt.train(resume=tmp_path / "run.h5", more=250)
    assert_same_run(ttt.train(games + 250, batch=500, seed=1), found)
    assert names(tmp_path) == ["run.h5"]


# --- a disk that fails ------------------------------------------------------------------------------------

FAILURES = [errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EIO, errno.EACCES, errno.EPERM, errno.EFBIG, errno.ESTALE]


@pytest.mark.slow
@pytest.mark.parametrize("call", ["write", "fsync", "replace"])
@pytest.mark.parametrize("number", FAILURES, ids=errno.errorcode.get)
def test_a_failing_checkpoint_is_said_once_and_tried_again(
    number: int, call: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, said, failed = tmp_path / "run.h5", list[str](), 0
    real = getattr(os, call)

    def fail(*arguments: Any, **options: Any) -> Any:
        nonlocal failed
        if said_at[0] < 3:
            failed += 1
            raise OSError(number, os.strerror(number))
        return real(*arguments, **options)

    said_at = [9]

    def progress(now: ttt.Progress) -> None:
        said_at[0] = (now.games - 10_000) // 4_000 if now.games >= 10_000 else 9

    monkeypatch.setattr(os, call, fail)
    run = ttt.train(
        40_000, batch=500, seed=1, out=path, checkpoint_every="2000games", progress=progress, warn=said.append
    )
    assert failed >= 2 and len(said) == 2
    assert os.strerror(number) in said[0] and "training continues" in said[0] and str(path) in said[0]
    assert said[1].endswith("again")
    assert all(len(line.splitlines()) == 1 for line in said)
    monkeypatch.undo()
    assert_same_run(run, ttt.load(path))
    assert_same_run(run, ttt.train(40_000, batch=500, seed=1))
    assert names(tmp_path) == ["run.h5"]


def test_without_an_ear_it_is_a_python_warning(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "fsync", full)
    with (
        warnings.catch_warnings(record=True) as caught,
        pytest.raises(RunFileError, match="the 4,000 games learnt are not saved") as failure,
    ):
        warnings.simplefilter("always")
        ttt.train(4_000, batch=500, out=tmp_path / "run.h5", checkpoint_every="1000games")
    assert [found.category for found in caught] == [RuntimeWarning]
    assert failure.value.run.games == 4_000  # type: ignore[attr-defined]
    assert names(tmp_path) == []


def during(games: int, action: Any) -> Any:
    """A `progress` that acts once, when so many games were learnt."""
    done: list[bool] = []

    def progress(now: ttt.Progress) -> None:
        if now.games >= games and not done:
            done.append(True)
            action()

    return progress


def test_a_removed_folder(tmp_path: Path) -> None:
    folder, said = tmp_path / "runs", list[str]()
    folder.mkdir()
    with pytest.raises(RunFileError, match="there is no folder"):
        ttt.train(
            20_000,
            batch=500,
            out=folder / "run.h5",
            checkpoint_every="2000games",
            progress=during(6_000, lambda: shutil.rmtree(folder)),
            warn=said.append,
        )
    assert len(said) == 1 and "there is no folder" in said[0]
    assert names(tmp_path) == []
    folder.mkdir()
    said.clear()
    actions = [lambda: shutil.rmtree(folder), folder.mkdir]

    def progress(now: ttt.Progress) -> None:
        if actions and now.games >= (6_000, 12_000)[2 - len(actions)]:
            actions.pop(0)()

    run = ttt.train(
        20_000, batch=500, out=folder / "run.h5", checkpoint_every="2000games", progress=progress, warn=said.append
    )
    assert len(said) == 2
    assert_same_run(run, ttt.load(folder / "run.h5"))
    assert names(folder) == ["run.h5"]


def interfered(path: Path, interfere: Any, said: list[str]) -> ttt.Run:
    """20,000 games into `path`, with `interfere` called after 6,000."""
    return ttt.train(
        20_000, batch=500, out=path, checkpoint_every="2000games", warn=said.append, progress=during(6_000, interfere)
    )


@pytest.mark.sampled(1)
@pytest.mark.parametrize("how", ["touch", "copy", "remove"])
def test_a_file_that_holds_our_last_checkpoint_is_ours(how: str, tmp_path: Path) -> None:
    path, said = tmp_path / "run.h5", list[str]()

    def interfere() -> None:
        if how == "touch":
            os.utime(path, ns=(0, 0))
            return
        content = path.read_bytes()
        path.unlink()
        if how == "copy":
            path.write_bytes(content)

    run = interfered(path, interfere, said)
    assert said == [] and names(tmp_path) == ["run.h5"] and run.file == path
    assert_same_run(run, ttt.load(path))


def test_a_file_that_is_there_from_before_is_ours_too(tmp_path: Path) -> None:
    path, said = tmp_path / "run.h5", list[str]()
    ttt.train(1_000, batch=500, out=path)
    touch = during(500, lambda: os.utime(path, ns=(0, 0)))
    ttt.train(resume=path, more=20_000, progress=touch, warn=said.append)
    assert said == [] and ttt.load(path).games == 21_000


@pytest.mark.sampled(1)
@pytest.mark.parametrize("how", ["replace", "change", "flip", "folder", "another run"])
def test_a_file_that_another_program_replaces_is_left_alone(how: str, tmp_path: Path) -> None:
    """Later checkpoints go into a new file beside it."""
    path, said, theirs = tmp_path / "run.h5", list[str](), list[bytes]()
    (tmp_path / "run-2.h5").write_text("there before")

    def interfere() -> None:
        if how == "replace":
            (tmp_path / "new").write_text("somebody else's")
            (tmp_path / "new").replace(path)
        elif how == "change":
            path.write_text("somebody else's")
        elif how == "flip":
            content = bytearray(path.read_bytes())
            content[-100] ^= 1
            path.write_bytes(content)
        elif how == "another run":
            ttt.train(500, batch=500, seed=9, out=tmp_path / "other.h5").file.replace(path)  # type: ignore[union-attr]
        else:
            path.unlink()
            path.mkdir()
        theirs.append(b"" if how == "folder" else path.read_bytes())

    run = interfered(path, interfere, said)
    assert len(said) == 1 and f"is saved in {tmp_path / 'run-3.h5'} from now on" in said[0]
    assert "\n" not in said[0] and str(path) in said[0]
    assert run.file == tmp_path / "run-3.h5"
    assert_same_run(run, ttt.load(run.file))
    assert path.is_dir() if how == "folder" else [path.read_bytes()] == theirs
    assert names(tmp_path) == ["run-2.h5", "run-3.h5", "run.h5"]
    ttt.train(resume=run.file, more=500)


def test_the_command_says_where_the_run_went(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    attempt = Checkpoints.attempt

    def interfere(self: Checkpoints, run: ttt.Run) -> None:
        attempt(self, run)
        Path("run.h5").write_text("somebody else's")

    monkeypatch.setattr(Checkpoints, "attempt", interfere)
    words = "train --games 6000 --batch 500 --checkpoint-every 5000games -o run.h5 --quiet"
    status, out, err = command(capsys, *words.split(), "--json")
    assert status == 0 and json.loads(out)["run"] == "run-2.h5"
    assert err.count("\n") == 1 and "run.h5, which is left as it is" in err
    assert ttt.load("run-2.h5").games == 6_000


@pytest.mark.sampled(1)
@pytest.mark.parametrize(
    ("become", "said"), [("gone", "is gone, and nothing"), ("theirs", "was replaced"), ("ours", r"holds 6,000 of the")]
)
def test_the_last_checkpoint_is_named_only_where_it_is(
    become: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, told = tmp_path / "run.h5", list[str]()

    def interfere() -> None:
        if become == "gone":
            path.unlink()
        elif become == "theirs":
            path.write_text("somebody else's")
        monkeypatch.setattr(os, "fsync", full)

    def progress(now: ttt.Progress) -> None:
        act(now)
        if now.games >= 6_000:
            told.append(now.saved_in())

    act = during(6_000, interfere)
    with pytest.raises(RunFileError, match=said):
        ttt.train(20_000, batch=500, out=path, checkpoint_every="2000games", warn=str, progress=progress)
    wanted = said if become != "ours" else "holds 6,000 games"
    assert told and all(wanted in line for line in told)


@pytest.mark.slow
def test_a_limit_on_the_size_of_files(tmp_path: Path) -> None:
    """The system's own refusal, by the command: status 1, one warning, and what was written before stays."""
    words = [*PROGRAM, "train", "--games", "60000", "--batch", "500", "--checkpoint-every", "10000games", "-o", "r.h5"]

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))

    done = subprocess.run(
        words, cwd=tmp_path, preexec_fn=limit, capture_output=True, text=True, timeout=SECONDS, check=False
    )
    said = [line for line in done.stderr.splitlines() if line.startswith("ttt-batch: ")]
    assert (done.returncode, done.stdout) == (1, ""), done.stderr
    assert len(said) == 2 and all("File too large" in line for line in said)
    assert "training continues" in said[0] and "60,000 games learnt are not saved" in said[1]
    assert "Traceback" not in done.stderr and names(tmp_path) == []


@pytest.mark.slow
def test_at_a_terminal_another_file_is_asked_for(tmp_path: Path) -> None:
    (tmp_path / "runs").mkdir()
    words = ["-m", "ttt_batch", "train", "--games", "3000000000", "--checkpoint-every", "0s", "-o", "runs/run.h5"]
    child = pexpect.spawn(sys.executable, words, cwd=str(tmp_path), encoding="utf-8", timeout=SECONDS)
    try:
        child.expect(r"unbeatable since [\d,]+")
        while not (tmp_path / "runs" / "run.h5").exists():
            time.sleep(0.01)
        (tmp_path / "runs").rename(tmp_path / "moved")
        child.expect(r"training continues")
        child.sendintr()
        child.expect(r"another file \(nothing to give up\): ")
        child.sendline("none/there.h5")
        child.expect(r"another file \(nothing to give up\): ")
        child.sendline("other.h5")
        child.expect(r"saved in other\.h5")
        child.expect(pexpect.EOF)
        child.wait()
        assert child.exitstatus == 130
    finally:
        child.close(force=True)
    assert ttt.load(tmp_path / "other.h5").games > ttt.load(tmp_path / "moved" / "run.h5").games


@pytest.mark.slow  # several processes
@pytest.mark.parametrize("more", [1, 2, 2000])
def test_signals_leave_the_last_checkpoint_or_what_was_learnt(more: int, tmp_path: Path, start: Any) -> None:
    """A second signal does not wait for the batch: then the last checkpoint is what there is, and is said to be.

    However many follow, that is how it ends.
    """
    words = "train --games 1000000000000 --batch 100000000 --checkpoint-every 0s --threads 1 -o run.h5"
    process = start([*PROGRAM, *words.split()], cwd=tmp_path, stderr=subprocess.PIPE)
    assert process.stderr is not None
    while not (tmp_path / "run.h5").exists():
        assert process.poll() is None
        time.sleep(0.01)
    time.sleep(0.5)
    for _ in range(more):
        process.send_signal(signal.SIGTERM)
        time.sleep(0.01 if more <= 2 else 0.001)
    _, err = process.communicate(timeout=SECONDS)
    assert process.returncode == 130
    games = ttt.load(tmp_path / "run.h5").games
    assert games > 0 and games % 100_000_000 == 0
    last = err.splitlines()[-1]
    assert f"the {games:,} games learnt so far" in last or f"checkpoint in run.h5 holds {games:,} games" in last, err
    assert names(tmp_path) == ["run.h5"]


@pytest.mark.slow
def test_a_closed_terminal_loses_nothing(tmp_path: Path) -> None:
    words = ["-m", "ttt_batch", "train", "--games", "3000000000", "--checkpoint-every", "never", "-o", "run.h5"]
    child = pexpect.spawn(sys.executable, words, cwd=str(tmp_path), encoding="utf-8", timeout=SECONDS)
    try:
        child.expect(r"unbeatable since [\d,]+")
        os.close(child.child_fd)
        deadline = time.monotonic() + SECONDS
        while not os.waitpid(child.pid, os.WNOHANG)[0]:
            assert time.monotonic() < deadline
            time.sleep(0.02)
        assert ttt.load(tmp_path / "run.h5").interrupted
        assert names(tmp_path) == ["run.h5"]
    finally:
        child.closed, child.child_fd, child.terminated = True, -1, True


@pytest.fixture
def small_disk(tmp_path: Path) -> Any:
    """A file system of 512 KiB."""
    place = tmp_path / "disk"
    place.mkdir()
    mount = shutil.which("mount")
    words = [mount or "", "-t", "tmpfs", "-o", "size=512k", "ttt-batch-test", str(place)]
    if mount is None or subprocess.run(words, capture_output=True, check=False).returncode:
        pytest.skip("mounting is not allowed here")
    yield place
    subprocess.run(["umount", str(place)], check=False)


@pytest.mark.slow
def test_a_full_disk(small_disk: Path) -> None:
    said: list[str] = []
    filler = small_disk / "filler"

    def progress(now: ttt.Progress) -> None:
        if now.games == 8_000 and not filler.exists():
            with filler.open("wb", buffering=0) as file:
                try:
                    while True:
                        file.write(bytes(4_096))
                except OSError:
                    pass
        elif now.games >= 16_000:
            filler.unlink(missing_ok=True)

    run = ttt.train(
        40_000, batch=500, out=small_disk / "run.h5", checkpoint_every="2000games", progress=progress, warn=said.append
    )
    assert len(said) == 2 and "No space left" in said[0] and said[1].endswith("again")
    assert_same_run(run, ttt.load(small_disk / "run.h5"))
    assert names(small_disk) == ["run.h5"]


@pytest.mark.sampled(1)
@pytest.mark.parametrize("touched", [False, True])
def test_a_file_that_cannot_be_opened_for_a_moment_is_still_ours(
    touched: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As with no permission to read it; if it was touched, too, nobody can tell whose it is until it can be read."""
    path, said, opened, closed = tmp_path / "run.h5", list[str](), os.open, [False]

    def open_(file: Any, *mode: Any, **options: Any) -> int:
        if closed[0] and file == path:
            raise PermissionError(errno.EACCES, "Permission denied")
        return opened(file, *mode, **options)

    def progress(now: ttt.Progress) -> None:
        if not closed[0] and 6_000 <= now.games < 12_000 and touched:
            os.utime(path, ns=(0, 0))
        closed[0] = 6_000 <= now.games < 12_000

    monkeypatch.setattr(os, "open", open_)
    run = ttt.train(20_000, batch=500, out=path, checkpoint_every="2000games", warn=said.append, progress=progress)
    assert names(tmp_path) == ["run.h5"] and run.file == path
    assert_same_run(run, ttt.load(path))
    assert len(said) == (2 if touched else 0)
    assert not touched or ("Permission denied" in said[0] and "training continues" in said[0] and "again" in said[1])


def test_a_run_that_moved_on_to_another_name_stays_there_even_if_the_warning_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "run.h5"
    run = ttt.train(100, batch=50)

    def refuse(line: str) -> None:
        raise UserWarning(line)

    with RewrittenRun(path, overwrite=False, hold=True, say=refuse) as file:
        file.write(run)
        path.unlink()
        path.write_bytes(b"another program's")
        with pytest.raises(UserWarning, match="run-2"):
            file.write(run)
        assert file.path == tmp_path / "run-2.h5" == run.file
        file.write(run)
    assert sorted(each.name for each in tmp_path.iterdir()) == ["run-2.h5", "run.h5"]


def test_parameters_that_do_not_go_together_are_refused_before_a_file_is_looked_at(tmp_path: Path) -> None:
    path = tmp_path / "run.h5"
    path.write_text("mine")
    with pytest.raises(UsageError, match="more, until and fork go with"):
        ttt.train(100, fork=True, out=path)
    with pytest.raises(UsageError, match="belong to a new run"):
        ttt.train(100, resume=path)


def test_an_interrupt_right_after_a_write_leaves_what_was_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The file has its name already, and nobody has noted that yet."""
    first, later = ttt.train(700, batch=700), ttt.train(1400, batch=700)

    def interrupted(*given: Any, **options: Any) -> None:
        save_run(*given, **options)
        raise KeyboardInterrupt

    with RewrittenRun(tmp_path / "run.h5", overwrite=False, hold=True, say=lambda _: None) as file:
        file.write(first)
        monkeypatch.setattr("ttt_batch.training.session.save_run", interrupted)
        with pytest.raises(KeyboardInterrupt):
            file.write(later)
        assert file.where(1400).endswith("run.h5 holds 1,400 games")
        assert ttt.load(tmp_path / "run.h5").games == 1400
