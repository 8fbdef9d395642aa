"""One writer: who holds a run file is refused to others, and the dead hold nothing."""

import errno
import os
import re
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from helpers.support import command, names

import ttt_batch as ttt
from ttt_batch.core import outputs as lock_module
from ttt_batch.core.errors import RunFileError
from ttt_batch.core.outputs import Lock, OutputKind
from ttt_batch.games.transcripts import GameRecord

PROGRAM = [sys.executable, "-m", "ttt_batch"]
HOLD = (
    "import sys; from pathlib import Path; from ttt_batch.core import outputs; "
    "exec(sys.argv[2]); outputs.Lock(Path(sys.argv[1])).acquire(); print('held', flush=True); sys.stdin.read()"
)
NO_LOCKS = "outputs.locked = lambda descriptor: None"


@pytest.fixture(params=[True, False], ids=["locks", "no locks"])
def locks(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Any:
    """With the system's file locks and without; says how another process is to do the same."""
    if request.param:
        return "pass"
    monkeypatch.setattr(lock_module, "locked", lambda descriptor: None)
    return NO_LOCKS


def holder(path: Path, locks: str) -> "subprocess.Popen[str]":
    pipe = subprocess.PIPE  # its input ends with this process
    process = subprocess.Popen([sys.executable, "-c", HOLD, str(path), locks], stdin=pipe, stdout=pipe, text=True)
    assert process.stdout is not None and process.stdout.readline() == "held\n"
    return process


@pytest.mark.sampled(1)
def test_the_second_is_refused_and_told_who_has_it(locks: str, tmp_path: Path) -> None:
    path = tmp_path / "run.h5"
    process = holder(path, locks)
    try:
        for _ in range(3):
            began = time.monotonic()
            with pytest.raises(RunFileError, match=rf"process {process.pid} .* since \d{{4}}-\d\d-\d\d") as caught:
                ttt.train(1_000, out=path)
            assert time.monotonic() - began < 30  # at once, not when the other ends
            assert len(str(caught.value).splitlines()) == 1 and str(path) in str(caught.value)
        assert names(tmp_path) == [".run.h5.lock"]
        other = ttt.train(1_000, batch=500, out=tmp_path / "other.h5")
        with pytest.raises(RunFileError, match=rf"process {process.pid} "):
            other.save(path)
        with pytest.raises(RunFileError, match=rf"process {process.pid} "):
            ttt.learn_from(["1 2 4 3 7"], learner="td", out=path)
        assert names(tmp_path) == [".run.h5.lock", "other.h5"]
    finally:
        process.kill()
        process.communicate()


@pytest.mark.sampled(1)
def test_a_dead_process_holds_nothing(locks: str, tmp_path: Path) -> None:
    path = tmp_path / "run.h5"
    process = holder(path, locks)
    process.kill()
    process.communicate()
    assert names(tmp_path) == [".run.h5.lock"]
    ttt.train(1_000, batch=500, out=path)
    assert names(tmp_path) == ["run.h5"]


@pytest.mark.sampled(1)
def test_another_process_of_the_same_number_is_not_the_holder(locks: str, tmp_path: Path) -> None:
    if not Path("/proc/self/stat").exists():
        pytest.skip("the system does not say when a process began")
    for content in (f"pid {os.getpid()}\nbirth 1\nsince 2020-01-01 00:00:00\n", "", "nonsense", "pid 0\n"):
        (tmp_path / ".run.h5.lock").write_text(content)
        ttt.train(1_000, batch=500, out=tmp_path / "run.h5", overwrite=True)
        assert names(tmp_path) == ["run.h5"]


@pytest.mark.sampled(1)
def test_of_many_at_once_one_gets_it(locks: str, tmp_path: Path) -> None:
    """From a lock that a dead process left, over and over."""
    for round_ in range(20):
        target = tmp_path / f"{round_}.h5"
        lock = Lock(target)
        if round_ % 2:
            lock.path.write_text("pid 999999999\nbirth 1\nsince 2020-01-01 00:00:00\n")
        got: list[Lock] = []
        barrier = threading.Barrier(6)

        def take(target: Path = target, got: list[Lock] = got, barrier: threading.Barrier = barrier) -> None:
            mine = Lock(target)
            barrier.wait()
            try:
                mine.acquire()
                got.append(mine)
            except RunFileError:
                pass

        threads = [threading.Thread(target=take) for _ in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(got) == 1
        got[0].release()
    assert names(tmp_path) == []


def test_release_leaves_the_lock_of_another(tmp_path: Path) -> None:
    lock = Lock(tmp_path / "run.h5")
    with lock:
        lock.path.unlink()
        lock.path.write_text("another's")
    assert names(tmp_path) == [".run.h5.lock"]


@pytest.mark.sampled(1)
def test_what_another_process_writes_is_not_replaced(locks: str, tmp_path: Path) -> None:
    path, output = tmp_path / "run.h5", OutputKind(RunFileError)
    path.write_text("a checkpoint")
    lock = Lock(path).path
    lock.write_text("of another program")
    output.write([path], [b"a table"], overwrite=True)
    assert lock.read_text() == "of another program"
    lock.unlink()
    for make in (os.mkfifo, os.mkdir):
        make(lock)
        output.write([path], [b"a table"], overwrite=True)
        lock.rmdir() if lock.is_dir() else lock.unlink()
    process = holder(path, locks)
    try:
        for _ in range(2):
            with pytest.raises(RunFileError, match=rf"is being written: process {process.pid} "):
                output.check(path, overwrite=True)
            with pytest.raises(RunFileError, match=rf"is being written: process {process.pid} "):
                output.write([path], [b"nothing"], overwrite=True)
        if locks != NO_LOCKS:  # as with a process of another container, which may have this one's number
            for number in (os.getpid(), 999_999_999):
                lock.write_text(f"pid {number}\nbirth 1\nsince 2026-01-01 00:00:00\n")
                with pytest.raises(RunFileError, match=rf"is being written: process {number} "):
                    output.check(path, overwrite=True)
    finally:
        process.kill()
        process.communicate()
    assert path.read_text() == "a table"
    output.write([path], [b"another"], overwrite=True)
    with Lock(path):
        output.write([path], [b"one more"], overwrite=True)


def test_a_game_waits_for_another_process(locks: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "games.txt"
    path.write_text("0 3 1 4 2\n")
    process = holder(path, locks)

    def sleep(_seconds: float) -> None:
        process.kill()
        process.communicate()

    monkeypatch.setattr("time.sleep", sleep)
    GameRecord(path)([4, 0, 2, 1, 6])
    assert process.returncode is not None and path.read_text() == "0 3 1 4 2\n4 0 2 1 6\n"


@pytest.mark.slow
def test_two_commands(tmp_path: Path, capsys: pytest.CaptureFixture[str], start: Any) -> None:
    ttt.train(games=10, out=tmp_path / "other.h5")
    words = [*PROGRAM, "train", "--games", "100000000000", "--checkpoint-every", "0s", "-o", "run.h5"]
    first = start(words, cwd=tmp_path, stderr=subprocess.PIPE)
    assert first.stderr is not None
    for line in first.stderr:
        if " games " in line and "run.h5" in names(tmp_path):
            break
    first.send_signal(signal.SIGSTOP)  # it holds the lock all the same
    again, export = words[len(PROGRAM) :], ["export", "other.h5", "--to", "hdf5", "--out", "run.h5", "--overwrite"]
    for given in ([*again, "--overwrite"], again, export):
        status, _, err = command(capsys, *given)
        assert status == 1
        assert re.fullmatch(rf"ttt-batch: .*run\.h5 is being written: process {first.pid} .*\n", err)
    words = [*PROGRAM, "train", "--resume", "run.h5", "--more", "1000"]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 1 and f"process {first.pid} " in done.stderr
    first.send_signal(signal.SIGCONT)
    first.terminate()
    first.communicate()
    assert first.returncode == 130
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    assert names(tmp_path) == ["other.h5", "run.h5"]


def test_an_interrupt_while_it_is_given_back_leaves_no_lock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object) -> bool:
        monkeypatch.undo()
        raise KeyboardInterrupt

    target = tmp_path / "run.h5"
    with pytest.raises(KeyboardInterrupt), Lock(target):
        monkeypatch.setattr("ttt_batch.core.outputs.is_same", interrupted)
    assert list(tmp_path.iterdir()) == []
    Lock(target).acquire()


def test_a_full_disk_is_not_a_wrong_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is to be resumed is there already, so another name is no remedy."""
    for number, remedy in ((errno.ENOSPC, "make room there"), (errno.EROFS, "name a file elsewhere")):

        def refusing(_: Path, number: int = number) -> int:
            raise OSError(number, os.strerror(number))

        monkeypatch.setattr(lock_module.files, "create_file", refusing)
        with pytest.raises(RunFileError, match=f"{os.strerror(number)}; {remedy}$"), Lock(tmp_path / "run.h5"):
            pass
