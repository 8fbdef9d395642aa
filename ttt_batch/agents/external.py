"""Agents from outside: Python callables, programs in any language, and reading of agents' names.

A callable of three arguments answers whole batches, which is fast.  One of one argument answers position by position.

A program in any language, `cmd:PROGRAM ARGUMENTS`, is started once, without a shell.  It reads one position per line
from its standard input,

    BOARD MOVER CELLS       such as `3x3 X XO..X....`

with MOVER `X` or `O` and a character for each cell, row by row: `X`, `O` or `.`; and answers each with a line that
holds a cell, counted from 0.  Many lines may be waiting when it reads the first one.  It must flush each answer
(`fflush`), and exit at the end of its input.  If it fails, the last of its standard error is shown.

It leads its own process group, which is ended with it: at the end, after the time limit, and on Ctrl-C.
"""

import contextlib
import ctypes
import inspect
import os
import selectors
import shlex
import signal
import subprocess
import sys
import threading
import time
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ttt_batch.agents.adapter import AgentAdapter
from ttt_batch.agents.base import Agent, Positions, where
from ttt_batch.agents.builtin import named_agent
from ttt_batch.core.console import one_line, redirect_prints
from ttt_batch.core.errors import AgentError, UsageError, quoted
from ttt_batch.core.files import reason, shown
from ttt_batch.core.named_code import is_callable_name, named_object, reason_of
from ttt_batch.core.text import AGENT_NAMES, ILLEGAL, Number, check_switches, choose, count_text, parse_float
from ttt_batch.games.board import Board, parse_board
from ttt_batch.runs.loading import AnyRun, any_run
from ttt_batch.runs.lookup import PROGRAM, RUNS_OR_AGENTS, is_agent_name, is_certificate

if TYPE_CHECKING:
    from ttt_batch.agents.certified import CertifiedAgent

TIME_LIMIT = 10.0
"""Default time limit of an answer in seconds."""

POSITIONS_AN_ANSWER = 10_000
"""Positions per time limit of a callable: twice as many may take twice as long."""

BATCH_FORM, SINGLE_FORM = "agent(boards, to_move, legal)", "agent(board)"
BATCH_NAMES = {"to_move", "legal"}


class CallableAgent(Agent):
    """Agent around a callable `agent(boards, to_move, legal)`, with arrays as in `Positions`, which it may modify.

    The callable returns int[n], a cell for each position, or float[n, cells], probabilities.
    """

    def __init__(
        self, function: Callable[..., Any], name: str = "", *, limit: float = TIME_LIMIT, aside: bool = False
    ) -> None:
        """limit: seconds per 10,000 positions or part of them.  aside: redirect its prints to standard error."""
        if not callable(function):
            raise UsageError(f"agent {quoted(function)} cannot be called; give {BATCH_FORM} or {SINGLE_FORM}")
        if isinstance(function, type):
            raise UsageError(
                f"agent {quoted(name or function.__name__)} is a class; give an object of it that can be called"
            )
        self._function, self._limit, self._aside = function, limit, aside
        self.name = name or getattr(function, "__name__", type(function).__name__)

    def ask(self, batch: Positions) -> NDArray[Any]:
        """Return the callable's answer as a new array.

        Raises AgentError for an exception, for an answer that is not an array, and after the time limit.
        """
        return self._answer(batch, *batch)

    def _answer(self, batch: Positions, *given: NDArray[Any]) -> NDArray[Any]:
        """Call the function with copies of arrays.  batch: the positions, for messages.  Raises as `ask`."""
        returned: list[Any] = []
        answer: list[NDArray[Any]] = []
        failure: list[BaseException] = []

        def work() -> None:
            try:
                returned.append(self._function(*(array.copy() for array in given)))
                answer.append(np.array(returned[0]))  # may run the agent's code, such as a tensor's
            except BaseException as error:  # even an exit is a failure to answer
                failure.append(error)

        limit = self._limit * -(-batch.size // POSITIONS_AN_ANSWER)
        thread = threading.Thread(target=work, daemon=True)
        with ExitStack() as meanwhile:
            if self._aside:
                meanwhile.enter_context(redirect_prints())
            thread.start()
            try:
                thread.join(limit)
            finally:
                if late := thread.is_alive():  # before it is stopped, which `work` notes as a failure
                    _stop(thread)
        if late:
            raise AgentError(f"{self.name} did not answer within {limit:g} s when asked about {self._asked(batch)}")
        if failure:
            how = "did not answer with an array" if returned else "failed"
            told = f"{how} when asked about {self._asked(batch)}: {reason_of(failure[0])}"
            raise AgentError(f"{self.name} {told}") from failure[0]
        return answer[0]

    def _asked(self, batch: Positions) -> str:
        rows, cols = batch.boards.shape[1:]
        return f"{count_text(batch.size, 'position')}, the first {where(Board(rows, cols, 1), batch, 0)}"


class SingleAgent(CallableAgent):
    """Agent around a callable `agent(board)` that answers one position at a time; board: as `Positions.boards`.

    The callable returns a cell, counted from 0, a pair (row, column), or a probability for each cell.
    """

    at_once = 1

    def ask(self, batch: Positions) -> NDArray[Any]:
        """Return int[1], a cell, or float[1, cells], probabilities, for a batch of one position.  Raises AgentError."""
        rows, cols = batch.boards.shape[1:]
        answer = self._answer(batch, batch.boards[0])
        integers, cells = answer.dtype.kind in "iu", rows * cols
        if integers and answer.size == 1:
            return answer.reshape(1)
        if integers and answer.shape == (2,) and (answer >= 0).all() and (answer < (rows, cols)).all():
            return np.array([answer[0] * cols + answer[1]])
        if answer.dtype.kind in "iuf" and answer.shape in ((cells,), (rows, cols)):
            return answer.reshape(1, cells).astype(np.float64)
        one = answer.item() if not answer.shape and answer.dtype.kind in "OifU" else answer.tolist()
        raise AgentError(
            f"in position {where(Board(rows, cols, 1), batch, 0)} {self.name} answered {quoted(one)}; return a cell "
            f"(an int 0 .. {cells - 1}), a pair of ints (row, column) from 0, or {cells} probabilities"
        )


def agent_of(
    function: Callable[..., Any], name: str = "", *, limit: float = TIME_LIMIT, aside: bool = False
) -> CallableAgent:
    """Return a callable as an agent; its arguments decide whether it answers batches or single positions.

    name, limit, aside: as for `CallableAgent`.  Raises UsageError.
    """
    form = SingleAgent if _takes_one(function) else CallableAgent
    return form(function, name, limit=limit, aside=aside)


def _takes_one(function: Any) -> bool:
    """Return whether a callable takes single positions; arguments with defaults do not count.

    `*arguments`, `to_move` and `legal` mean batches.  Raises UsageError if it takes neither form.
    """
    try:
        static = isinstance(inspect.getattr_static(type(function), "__call__", None), staticmethod)
        # Python takes the first argument of a static `__call__` for the object.
        arguments = inspect.signature(function.__call__ if static else function).parameters.values()
    except (ValueError, TypeError):  # a function in C has no signature; other objects are refused elsewhere
        return False
    places = [one for one in arguments if one.kind in (one.POSITIONAL_ONLY, one.POSITIONAL_OR_KEYWORD)]
    if isinstance(function, type) or any(one.kind is one.VAR_POSITIONAL for one in arguments):
        return False
    needed = sum(one.default is one.empty for one in places)
    if places and needed < 2 and not {one.name for one in places} >= BATCH_NAMES:
        return True
    if not needed <= 3 <= len(places):
        raise UsageError(
            f"agent {quoted(getattr(function, '__name__', function))} takes {count_text(needed, 'argument')}; "
            f"give {SINGLE_FORM} for one position at a time, or {BATCH_FORM} for batches, which is faster"
        )
    return False


def _stop(thread: threading.Thread) -> None:
    """Stop a thread at its next line of Python; compiled code runs to its end."""
    if thread.ident is not None and sys.implementation.name == "cpython":
        ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread.ident), ctypes.py_object(SystemExit))


def load_callable(text: str, *, limit: float = TIME_LIMIT) -> CallableAgent:
    """Run the file of `FILE.py:NAME` and return its agent NAME.  Raises UsageError and AgentError.

    A class of callable objects is instantiated without arguments.  Prints of the code go to standard error.
    """
    path, name, function = named_object("agent", text, AgentError)
    if isinstance(function, type) and any("__call__" in vars(base) for base in function.__mro__):
        try:
            with redirect_prints():
                function = function()
        except (Exception, SystemExit) as error:
            raise AgentError(f"{shown(path)}: {name}() failed: {reason_of(error)}") from error
    return agent_of(function, f"{path.name}:{name}", limit=limit, aside=True)


AT_ONCE = 1 << 16
"""Bytes per write or read: the capacity of a pipe."""

LONGEST_TOLD = 500
"""Last bytes of a program's standard error that are kept, and that a message repeats."""

LONGEST_ANSWER, MOST_DIGITS = 80, 18
"""Most characters of an answer's line; any number of 64 bits fits."""

MOST_READINGS = 32
"""Most reads of standard error after a failure: the content of a pipe."""

GRACE = 0.5
"""Seconds that a program may take to exit after the end of its input."""


class ProgramAgent(Agent):
    """Agent around a program that reads a position per line and answers a cell per line."""

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
        """Return its answers (int64[n]).  Raises AgentError for a line without a number, a hang, or its exit."""
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
        """Return the lines that are written for a batch."""
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
            if ready.select(0) and (unasked := os.read(self._output, AT_ONCE)):  # otherwise it has exited
                raise self._failed(batch, 0, f"answered {_shown(unasked)} before it got a position")
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
                        except BrokenPipeError:  # it reads no more; its output says why
                            waiting = waiting[:0]
                        if not waiting:
                            ready.unregister(self._input)
                        continue
                    read = os.read(self._output, AT_ONCE)
                    if not read:
                        raise self._failed(batch, len(answers), self._ending(GRACE, "closed its output"))
                    *whole, rest = (rest + read).split(b"\n")
                    if whole:
                        answers += whole
                        deadline = time.monotonic() + self._limit
                    if len(rest) > LONGEST_ANSWER:
                        raise self._failed(batch, len(answers), f"answered {_shown(rest)} without an end of the line")
                if len(answers) < batch.size and time.monotonic() >= deadline:
                    waited = f"{self._limit:g} s"
                    how = self._ending(0, f"did not answer within {waited}")
                    if not how.startswith("did not"):
                        how += f", and what it started held its output for {waited}"
                    raise self._failed(batch, len(answers), how)
        if len(answers) > batch.size or rest:
            raise self._failed(batch, batch.size - 1, f"answered more than a line, {_shown(answers[-1] + rest)} last")
        return self._numbers(batch, answers)

    def _numbers(self, batch: Positions, answers: list[bytes]) -> NDArray[np.int64]:
        """Return the cells in lines."""
        try:
            return np.array(list(map(int, answers)), np.int64)
        except (ValueError, OverflowError):
            wrong = [not one.strip().isdigit() or len(one) > MOST_DIGITS for one in answers]
            number = wrong.index(True)
            raise self._failed(batch, number, f"answered {_shown(answers[number])}, which is no cell") from None

    def _listen(self) -> bool:
        """Read what its standard error holds now; return False at its end."""
        said = os.read(self._errors, AT_ONCE)
        self._said = (self._said + said)[-LONGEST_TOLD:]
        return bool(said)

    def _ending(self, patience: float, otherwise: str) -> str:
        """Return how the program has ended; `otherwise` if it still runs after `patience` seconds."""
        ended = _ended(self._process.pid, patience)
        if ended is None:
            return otherwise
        if ended.si_code == os.CLD_EXITED:
            return f"ended with status {ended.si_status}"
        named = {one.value: one.name for one in signal.Signals}  # real-time signals have no name
        return f"was ended by {named.get(ended.si_status, f'signal {ended.si_status}')}"

    def _failed(self, batch: Positions, number: int, how: str) -> AgentError:
        """Return the error for a missing or invalid answer, with the program's last words on standard error."""
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


def _end(process: "subprocess.Popen[bytes]") -> None:
    """Close a program's input, wait a moment, and end what is left of its process group."""
    try:
        for stream in (process.stdin, process.stdout, process.stderr):
            if stream is not None:
                with contextlib.suppress(OSError):
                    stream.close()
        _ended(process.pid, GRACE)
    finally:  # also if Ctrl-C is pressed again
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def _ended(pid: int, patience: float) -> "os.waitid_result | None":
    """Return how a process has ended, or None if it still runs after `patience` seconds.

    The process is not reaped, so its id stays the id of its group.
    """
    until = time.monotonic() + patience
    while (found := os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)) is None:
        if time.monotonic() >= until:
            return None
        time.sleep(0.002)
    return found


AgentLike = Agent | str | Callable[..., Any]
"""Agent other than a run, or its name."""

MOST_SECONDS = 86_400
"""The longest time limit: a day."""


def is_agent(given: object) -> bool:
    """Return whether this is an agent other than a run, or names one; run files are not."""
    if isinstance(given, str | Path):
        return is_agent_name(given)
    return isinstance(given, Agent) or (callable(given) and not isinstance(given, AnyRun))


def make_agent(given: object, board: Board, *, time_limit: Number | None = None) -> Agent:
    """Return an agent other than a run.

    time_limit: seconds per answer, for a callable per 10,000 positions or part of them; above 0.
    Raises UsageError, BoardError and AgentError.
    """
    limit = TIME_LIMIT
    if time_limit is not None:
        limit = parse_float("time_limit", time_limit, "seconds for each answer, e.g. 10")
        if not 0 < limit <= MOST_SECONDS:
            raise UsageError(f"time_limit {limit:g} is outside 0 to {MOST_SECONDS:,} seconds; give more than 0")
    if isinstance(given, Agent):
        return given
    if isinstance(given, str):
        if given.startswith(PROGRAM):
            return ProgramAgent(given.removeprefix(PROGRAM), board, limit=limit)
        if is_callable_name(given):
            return load_callable(given, limit=limit)
        if is_certificate(given):
            return _certified([given], board)[given]
        return named_agent(choose("agent", given, AGENT_NAMES, others=RUNS_OR_AGENTS), board)
    if not callable(given):
        raise UsageError(f"not an agent: {quoted(given)}; give a callable such as {SINGLE_FORM}, {RUNS_OR_AGENTS}")
    return agent_of(given, limit=limit)


def _certified(names: Sequence[str], board: Board | None) -> dict[object, "CertifiedAgent"]:
    """Return the agents of certificates by the names of their files.  board: their board; None for that of the first.

    Raises CertificateError, and AgentError for a certificate of another board.
    """
    if not names:
        return {}
    from ttt_batch.agents.certified import CertifiedAgent  # with the kernels of certificates
    from ttt_batch.evaluation.certificates import load_certificate

    loaded = {name: load_certificate(Path(name)) for name in dict.fromkeys(names)}
    whose = board or loaded[names[0]].board
    return {name: CertifiedAgent(certificate, whose, name) for name, certificate in loaded.items()}


def at_board(
    agent: object,
    board: Board | str = "3x3",
    *,
    symmetric: bool = False,
    illegal: str = "error",
    time_limit: Number | None = None,
) -> AgentAdapter:
    """Return an agent at a board, which `evaluate`, `tournament`, `show`, `play` and `export_run` take like a run.

    agent, symmetric, illegal, time_limit: as for `ttt_batch.judge`.  A program runs until `close`, the end of a `with`
    block, or the end of this process.
    Raises UsageError, BoardError and AgentError.
    """
    check_switches(symmetric=symmetric)
    names_file = isinstance(agent, str | Path) and not is_agent(agent) and Path(agent).is_file()
    if isinstance(agent, AnyRun) or names_file:
        raise UsageError("at_board is for agents, and a run has a board of its own; give the run itself instead")
    whose, loses = parse_board(board), choose("illegal", illegal, ILLEGAL) == "loses"
    return AgentAdapter(make_agent(agent, whose, time_limit=time_limit), whose, symmetric=symmetric, loses=loses)


@contextmanager
def open_players(
    players: Sequence[object],
    board: Board | str | None = None,
    *,
    load: Callable[[Any], AnyRun] = any_run,
    **rules: Any,
) -> Iterator[list[AnyRun | AgentAdapter]]:
    """Yield the players: runs, and agents on `board`, else on that of the first run or certificate, else on 3x3.

    load: opens the file of a run.  rules: options of `at_board`, for agents.
    An agent that is named twice is opened once.  Programs that were started for agents end with the block.
    Raises UsageError for a player that is neither a run nor an agent, BoardError, RunFileError and AgentError.
    """
    seated, whose = AnyRun | AgentAdapter, None if board is None else parse_board(board)
    read = [one if isinstance(one, seated) else None if is_agent(one) else load(one) for one in players]
    whose = whose or next((one.board for one in read if one is not None), None)
    certified = _certified([one for one in players if isinstance(one, str) and is_certificate(one)], whose)
    whose = whose or next((one.board for one in certified.values()), Board())
    named: dict[object, AgentAdapter] = {}
    with ExitStack() as stack:
        for number, given in enumerate(players):
            if read[number] is None:
                name = given if isinstance(given, str) else number
                if name not in named:
                    named[name] = stack.enter_context(at_board(certified.get(name, given), whose, **rules))
                read[number] = named[name]
        yield [one for one in read if one is not None]
