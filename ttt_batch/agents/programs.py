"""Programs in any language as agents: `cmd:PROGRAM ARGUMENTS`.

The program is started once, without a shell.  It reads a position a line from its standard input,

    BOARD MOVER CELLS       such as `3x3 X XO..X....`

with MOVER `X` or `O` and a character for each cell, row by row: `X`, `O` or `.`; and answers each with a line that
holds a cell, counted from 0.  Many lines may be waiting when it reads the first one.  It writes its answers out at
once (`fflush`), and ends when its input does.  The end of what it writes to standard error is shown if it fails.

It leads a process group of its own, which is ended with it: at the end, after the time limit, and on Ctrl-C.
"""

import contextlib
import os
import selectors
import shlex
import signal
import subprocess
import time
import weakref

import numpy as np
from numpy.typing import NDArray

from ttt_batch.agents.agent import Agent
from ttt_batch.agents.answers import where
from ttt_batch.agents.callables import TIME_LIMIT
from ttt_batch.agents.positions import Positions
from ttt_batch.base.console import one_line
from ttt_batch.base.errors import AgentError, UsageError, quoted
from ttt_batch.base.files import reason
from ttt_batch.game.board import Board
from ttt_batch.runs.lookup import PROGRAM

AT_ONCE = 1 << 16
"""Bytes that are written or read at once: what a pipe holds."""

LONGEST_TOLD = 500
"""Bytes of a program's standard error that are kept, the last ones, and that a message repeats."""

LONGEST_ANSWER, MOST_DIGITS = 80, 18
"""Characters that a line with an answer may have, and a number of 64 bits for certain."""

MOST_READINGS = 32
"""How often standard error is read after a failure: all that a pipe holds, and not for ever."""

GRACE = 0.5
"""Seconds that a program has to end after its input has."""


class ProgramAgent(Agent):
    """A program that reads a position a line and answers a cell a line; see above."""

    at_once = 1 << 6

    def __init__(self, command: str, board: Board, *, limit: float = TIME_LIMIT) -> None:
        """command: the program with its arguments, split as a shell does.  limit: seconds for each answer.

        Raises UsageError for a command without a program, and AgentError if it cannot be started.
        """
        try:
            words = shlex.split(command)
        except ValueError:
            what = f"agent {quoted(PROGRAM + command)} cannot be split into words"
            raise UsageError(f"{what}: a quotation is open at its end; close it") from None
        if not hasattr(os, "killpg"):
            raise AgentError("programs as agents need process groups, which this system lacks; use FILE.py:NAME")
        if not words or not words[0]:
            raise UsageError("agent 'cmd:' names no program; write cmd:PROGRAM ARGUMENTS")
        self.name, self._board, self._limit = PROGRAM + command, board, limit
        pipe = subprocess.PIPE
        try:
            self._process = subprocess.Popen(
                words, stdin=pipe, stdout=pipe, stderr=pipe, bufsize=0, start_new_session=True
            )
        except (OSError, ValueError) as error:
            raise AgentError(f"{self.name} cannot be started: {reason(error)}") from None
        self._end = weakref.finalize(self, _end, self._process)
        process = self._process
        assert process.stdin is not None and process.stdout is not None and process.stderr is not None
        self._input, self._output = process.stdin.fileno(), process.stdout.fileno()
        self._errors, self._said = process.stderr.fileno(), b""
        for stream in (self._input, self._output, self._errors):
            os.set_blocking(stream, False)

    def ask(self, batch: Positions) -> NDArray[np.int64]:
        """int64[n]: its answers.  Raises AgentError for a line that is no number, a hang, or its end."""
        if not self._end.alive:
            raise AgentError(f"{self.name} has ended; start it again")
        lines = self._lines(batch)
        try:
            return self._exchange(batch, lines)
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """End the program and its process group."""
        self._end()

    def _lines(self, batch: Positions) -> bytes:
        """What is written for a batch."""
        marks = batch.boards.reshape(batch.size, -1).astype(np.int64)
        marks[batch.to_move == 1] *= -1
        cells = np.frombuffer(b".XO", np.uint8)[marks]  # of 0, 1 and -1
        movers = np.frombuffer(b"XO", np.uint8)[batch.to_move]
        head = np.frombuffer(f"{self._board.name} ".encode(), np.uint8)
        line = np.full((batch.size, head.size + 3 + cells.shape[1]), ord(" "), np.uint8)
        line[:, : head.size], line[:, head.size], line[:, head.size + 2 : -1] = head, movers, cells
        line[:, -1] = ord("\n")
        return line.tobytes()

    def _exchange(self, batch: Positions, lines: bytes) -> NDArray[np.int64]:
        """Write and read at the same time, so that neither side waits for the other."""
        waiting, answers, rest = memoryview(lines), list[bytes](), b""
        deadline = time.monotonic() + self._limit
        with selectors.DefaultSelector() as ready:
            ready.register(self._output, selectors.EVENT_READ)
            if ready.select(0) and (unasked := os.read(self._output, AT_ONCE)):  # else it has ended: see below
                raise self._failed(batch, 0, f"answered {_shown(unasked)} before it was asked")
            ready.register(self._input, selectors.EVENT_WRITE)
            if self._errors >= 0:
                ready.register(self._errors, selectors.EVENT_READ)
            while len(answers) < batch.size:
                events = ready.select(max(0.0, deadline - time.monotonic()))
                for key, _ in events:
                    if key.fd == self._errors:
                        if not self._listen():
                            ready.unregister(self._errors)
                            self._errors = -1
                        continue
                    if key.fd == self._input:
                        try:
                            waiting = waiting[os.write(self._input, waiting[:AT_ONCE]) :]
                        except BrokenPipeError:  # it reads no more, and its output tells why
                            waiting = waiting[:0]
                        if not waiting:
                            ready.unregister(self._input)
                        continue
                    read = os.read(self._output, AT_ONCE)
                    if not read:
                        raise self._failed(batch, len(answers), self._how_it_ended())
                    *whole, rest = (rest + read).split(b"\n")
                    if whole:
                        answers += whole
                        deadline = time.monotonic() + self._limit
                    if len(rest) > LONGEST_ANSWER:
                        raise self._failed(batch, len(answers), f"answered {_shown(rest)} without an end of the line")
                if len(answers) < batch.size and time.monotonic() >= deadline:
                    raise self._failed(batch, len(answers), self._why_it_waits())
        if len(answers) > batch.size or rest:
            raise self._failed(batch, batch.size - 1, f"answered more than a line, {_shown(answers[-1] + rest)} last")
        return self._numbers(batch, answers)

    def _numbers(self, batch: Positions, answers: list[bytes]) -> NDArray[np.int64]:
        """The cells in lines."""
        try:
            return np.array(list(map(int, answers)), np.int64)
        except (ValueError, OverflowError):
            wrong = [not one.strip().isdigit() or len(one) > MOST_DIGITS for one in answers]
            number = wrong.index(True)
            raise self._failed(batch, number, f"answered {_shown(answers[number])}, which is no cell") from None

    def _listen(self) -> bool:
        """Read of its standard error what is there; False at its end."""
        said = os.read(self._errors, AT_ONCE)
        self._said = (self._said + said)[-LONGEST_TOLD:]
        return bool(said)

    def _why_it_waits(self) -> str:
        """Why there is no answer after the time limit."""
        ended = _ended(self._process.pid, 0)
        if ended is None:
            return f"did not answer within {self._limit:g} s"
        return f"{_told(ended)}, and what it started held its output for {self._limit:g} s"

    def _how_it_ended(self) -> str:
        ended = _ended(self._process.pid, GRACE)
        return "closed its output" if ended is None else _told(ended)

    def _failed(self, batch: Positions, number: int, how: str) -> AgentError:
        """The error of an answer that did not come, or was none; with what the program said last."""
        with contextlib.suppress(OSError):  # nothing more to read, or closed
            for _ in range(MOST_READINGS):
                if self._errors < 0 or not self._listen():
                    break
        told = one_line(self._said.decode(errors="replace").strip())
        hint = "; does it write out each answer at once (fflush)?" if how.startswith("did not") and not told else ""
        said = f"; it said: {told}" if told else hint
        return AgentError(f"in position {where(self._board, batch, number)} {self.name} {how}{said}")


def _shown(answer: bytes) -> str:
    return quoted(answer.decode(errors="replace").strip())


def _told(ended: "os.waitid_result") -> str:
    """How a process has ended, in words."""
    if ended.si_code == os.CLD_EXITED:
        return f"ended with status {ended.si_status}"
    named = {one.value: one.name for one in signal.Signals}  # some of those for other uses have no name
    return f"was ended by {named.get(ended.si_status, f'signal {ended.si_status}')}"


def _end(process: "subprocess.Popen[bytes]") -> None:
    """Close a program's input, wait a moment, and end what is left of its process group."""
    try:
        for stream in (process.stdin, process.stdout, process.stderr):
            if stream is not None:
                with contextlib.suppress(OSError):
                    stream.close()
        _ended(process.pid, GRACE)
    finally:  # also if Ctrl-C comes once more meanwhile
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def _ended(pid: int, patience: float) -> "os.waitid_result | None":
    """How a process has ended, or None if it has not after so many seconds.

    It is not waited for as a parent does at last, so its number stays that of its group meanwhile.
    """
    until = time.monotonic() + patience
    while (found := os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)) is None:
        if time.monotonic() >= until:
            return None
        time.sleep(0.002)
    return found
