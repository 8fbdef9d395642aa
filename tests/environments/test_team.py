"""Batches that several threads step: the same games, whether helpers come or not, and after interrupts."""

import copy
import math
import subprocess
import sys
import threading
import time
from concurrent.futures import wait
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import ttt_batch as ttt
from ttt_batch.compiler.jit import JIT_DISABLED
from ttt_batch.environments import team

KEEP = {"keep_last": True, "record": True}
CASES = [
    ("3x3", None, "same-step", {}),
    ("3x3", "random", "same-step", KEEP | {"illegal": "lose", "first_env": 3}),
    ("3x3", "optimal", "next-step", {"seat": "second"}),
    ("6x7x4-gravity", None, "same-step", {}),
    ("6x7x4-gravity", None, "next-step", KEEP),
    ("6x7x4-gravity", "random", "same-step", {}),
]


def seen(batch: ttt.Batch) -> list[bytes]:
    """The bytes of all that the last step wrote."""
    kept = [batch.last.tobytes(), *(game.encode() for game in batch.games())] if batch.last is not None else []
    return [array.tobytes() for array in (*batch._step, batch.bitboards, batch.game_numbers)] + kept


def played(batch: ttt.Batch, steps: int) -> tuple[list[NDArray[np.int64]], list[list[bytes]]]:
    """Random actions of some steps from a reset on, and what they showed."""
    batch.reset(seed=7)
    actions, found = [], []
    for _ in range(steps):
        actions.append(batch.sample())
        batch.step(actions[-1])
        found.append(seen(batch))
    return actions, found


def replayed(batch: ttt.Batch, actions: list[NDArray[np.int64]]) -> list[list[bytes]]:
    """What these actions show from a reset on, without a call between two steps."""
    batch.reset(seed=7)
    return [seen(batch) for given in actions if batch.step(given)]


def call_helpers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Wake helpers for every job, on one processor, too."""
    monkeypatch.setattr(team, "SOON", math.inf)
    monkeypatch.setattr(team, "available_threads", lambda: 16)


@pytest.mark.slow
@pytest.mark.parametrize(("board", "opponent", "autoreset", "options"), CASES)
def test_threads_change_nothing(
    board: str, opponent: str | None, autoreset: str, options: dict[str, object], monkeypatch: pytest.MonkeyPatch
):
    """Not even of where a game has a wrong action: nothing moves in any part then."""
    call_helpers(monkeypatch)
    one, *more = (ttt.Batch(6500, board, 7, opponent, autoreset, threads=threads, **options) for threads in (1, 2, 9))
    assert [len(batch._team._parts) for batch in more] == [2, 4]
    actions, expected = played(one, 15)
    for batch in more:
        assert played(batch, 15)[1] == expected
        assert replayed(batch, actions) == expected
        other = copy.deepcopy(batch)
        assert replayed(other, actions) == expected
        before, wrong = seen(batch), batch.sample()
        wrong[[6100, 6400]] = batch.n_actions
        huge = np.where(wrong == batch.n_actions, np.uint64(2**64 - 1), wrong.astype(np.uint64))
        for given in (wrong, wrong.astype(np.int8), huge, wrong.tolist(), wrong.repeat(2)[::2]):
            with pytest.raises(ttt.UsageError, match=f"of environment {6100 + batch.first_env} is outside"):
                batch.step(given)
        assert seen(batch) == before
        more_actions = batch.sample().astype(np.int32)
        assert batch.step(more_actions) and other.step(more_actions)
        assert seen(batch) == seen(other)


def test_helpers_move_boards(monkeypatch: pytest.MonkeyPatch):
    """Their scratch shows it.  Steps are repeated until it does, as a busy processor may wake them late."""
    call_helpers(monkeypatch)
    one, two = (ttt.Batch(30_000, "3x3", 7, "random", "same-step", threads=threads) for threads in (1, 2))
    actions, expected = played(one, 20)
    scratch, end = two._team._parts[1].games.scratch.words, time.monotonic() + 60
    while time.monotonic() < end:
        two.reset(seed=7)
        scratch[:] = 0
        for given, shown in zip(actions, expected, strict=True):
            two.step(given)
            assert seen(two) == shown
        if scratch.any():
            break
    else:
        pytest.fail("no helper has moved a board")


def test_nothing_waits_for_helpers_that_do_not_come():
    """They are busy, as those of other batches may be, or there are none, as in a copy of the process."""
    one, two = (ttt.Batch(6500, "3x3", 7, "random", "disabled", threads=threads) for threads in (1, 2))
    free = threading.Event()
    two._team._pool.submit(free.wait, 60)
    for round in range(2):
        for _ in range(12):
            actions = one.sample()
            assert (actions == two.sample()).all()
            over = one.step(actions).terminated.copy()
            two.step(actions)
            assert seen(one) == seen(two)
            for batch in (one, two):
                batch.reset(over)
            assert seen(one) == seen(two)
        if round == 0:
            free.set()
            two._team._pool.shutdown()


@pytest.mark.parametrize("error", [KeyboardInterrupt, RuntimeError])
def test_an_error_after_a_call_is_queued(error: type[BaseException], monkeypatch: pytest.MonkeyPatch):
    """Such as an interrupt, or no room for a thread: no call is made twice, and no helper is there twice."""
    call_helpers(monkeypatch)
    one, two = (ttt.Batch(6500, "3x3", 7, "random", "same-step", threads=threads) for threads in (1, 2))
    free, pool, queued = threading.Event(), two._team._pool, []
    pool.submit(free.wait, 60)

    def fail(*call: Any) -> None:
        queued.append(pool.submit(*call))
        raise error

    monkeypatch.setattr(two._team, "_pool", SimpleNamespace(submit=fail))
    actions = one.sample()
    if error is KeyboardInterrupt:
        with pytest.raises(error):
            two.step(actions)
    for batch in (one, two):
        batch.step(actions)
    assert len(queued) == 1
    if error is RuntimeError:
        for batch in (one, two):
            batch.reset(seed=9)
    free.set()
    wait(queued)
    assert seen(one) == seen(two)


INTERRUPTED = """
import _thread, signal, threading, time
import ttt_batch as ttt

two, one = (ttt.Batch(6500, "3x3", 1, "random", "same-step", threads=threads) for threads in (2, 1))
two.step(two.mask.argmax(1))
inside, interrupts, done = False, 0, threading.Event()

def interrupt(*_):
    global inside
    if inside:
        inside = False
        raise KeyboardInterrupt

def disturb():
    while not done.wait(0.0007):
        _thread.interrupt_main()

signal.signal(signal.SIGINT, interrupt)
threading.Thread(target=disturb).start()
steps, end = 1, time.monotonic() + 60
while interrupts < 100 and time.monotonic() < end:
    actions, steps = two.mask.argmax(1), steps + 1
    try:
        inside = True
        two.step(actions)
        inside = False
    except KeyboardInterrupt:
        interrupts += 1
done.set()
one.step(one.mask.argmax(1))
for _ in range(steps):
    if (one.game_numbers == two.game_numbers).all() and (one.planes == two.planes).all():
        print("after a whole step" if interrupts == 100 else interrupts)
        break
    one.step(one.mask.argmax(1))
"""


@pytest.mark.slow
@pytest.mark.skipif(JIT_DISABLED, reason="a step is one call of machine code")
def test_an_interrupt_leaves_no_half_step():
    done = subprocess.run([sys.executable, "-c", INTERRUPTED], capture_output=True, text=True, timeout=600, check=False)
    assert (done.stdout, done.stderr) == ("after a whole step\n", "")
