"""Python callables as agents: given in Python, or named `FILE.py:NAME` on the command line (see `base.named_code`).

A callable of three arguments answers whole batches, which is fast.  One of one argument answers position by position.
"""

import ctypes
import inspect
import sys
import threading
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ttt_batch.agents.agent import Agent
from ttt_batch.agents.answers import where
from ttt_batch.agents.positions import Positions
from ttt_batch.base.console import redirect_prints
from ttt_batch.base.errors import AgentError, UsageError, quoted
from ttt_batch.base.files import shown
from ttt_batch.base.named_code import named_object, reason_of
from ttt_batch.base.quantities import count_text
from ttt_batch.game.board import Board

TIME_LIMIT = 10.0
"""Seconds that an answer may take by default."""

POSITIONS_AN_ANSWER = 10_000
"""Positions that count as one answer of a callable: so many more may take so much longer."""

BATCH_FORM, SINGLE_FORM = "agent(boards, to_move, legal)", "agent(board)"
BATCH_NAMES = {"to_move", "legal"}


class CallableAgent(Agent):
    """A callable `agent(boards, to_move, legal)`, with arrays as in `Positions`, which it may change.

    Returns int[n], a cell for each position, or float[n, cells], probabilities.
    """

    def __init__(
        self, function: Callable[..., Any], name: str = "", *, limit: float = TIME_LIMIT, aside: bool = False
    ) -> None:
        """limit: seconds for each 10,000 positions begun.  aside: what it prints goes to standard error."""
        if not callable(function):
            raise UsageError(f"agent {quoted(function)} cannot be called; give {BATCH_FORM} or {SINGLE_FORM}")
        if isinstance(function, type):
            raise UsageError(f"agent {quoted(function)} is a class; give an object of it that can be called")
        self._function, self._limit, self._aside = function, limit, aside
        self.name = name or getattr(function, "__name__", type(function).__name__)

    def ask(self, batch: Positions) -> NDArray[Any]:
        """What the callable returns, as an array of its own.

        Raises AgentError for an exception, for what is no array, and after the time limit.
        """
        return self._answer(batch, *batch)

    def _answer(self, batch: Positions, *given: NDArray[Any]) -> NDArray[Any]:
        """Call with copies of arrays.  batch: the positions, for messages; raises as `ask` does."""
        returned: list[Any] = []
        answer: list[NDArray[Any]] = []
        failure: list[BaseException] = []

        def work() -> None:
            try:
                returned.append(self._function(*(array.copy() for array in given)))
                answer.append(np.array(returned[0]))  # code of the agent's own, too, such as a tensor's
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
                if thread.is_alive():
                    _stop(thread)
        if failure:
            how = "answered no array" if returned else "failed"
            told = f"{how} when asked about {self._asked(batch)}: {reason_of(failure[0])}"
            raise AgentError(f"{self.name} {told}") from failure[0]
        if not answer:
            raise AgentError(f"{self.name} did not answer within {limit:g} s when asked about {self._asked(batch)}")
        return answer[0]

    def _asked(self, batch: Positions) -> str:
        rows, cols = batch.boards.shape[1:]
        return f"{count_text(batch.size, 'position')}, the first {where(Board(rows, cols, 1), batch, 0)}"


class SingleAgent(CallableAgent):
    """A callable `agent(board)` that answers one position at a time; see `Positions.boards` for its array.

    Returns a cell, counted from 0, a pair (row, column), or probabilities: a number for each cell, which sum to 1.
    """

    at_once = 1

    def ask(self, batch: Positions) -> NDArray[Any]:
        """int[1], a cell, or float[1, cells], probabilities, of a batch of one position.  Raises AgentError."""
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
            f"in position {where(Board(rows, cols, 1), batch, 0)} {self.name} answered {quoted(one)}; return a cell, "
            f"0 .. {cells - 1}, a pair (row, column) from 0, or {cells} probabilities"
        )


def agent_of(
    function: Callable[..., Any], name: str = "", *, limit: float = TIME_LIMIT, aside: bool = False
) -> CallableAgent:
    """Return a callable as an agent that answers batches or single positions, by its arguments.

    name, limit, aside: as for `CallableAgent`.  Raises UsageError.
    """
    form = SingleAgent if _takes_one(function) else CallableAgent
    return form(function, name, limit=limit, aside=aside)


def _takes_one(function: Any) -> bool:
    """Return whether a callable takes single positions; arguments with defaults are settings of its own.

    So is none of any number, and neither are `to_move` and `legal`.  Raises UsageError if it takes no batches either.
    """
    try:
        static = isinstance(inspect.getattr_static(type(function), "__call__", None), staticmethod)
        # Python takes the first argument of a static `__call__` for the object.
        arguments = inspect.signature(function.__call__ if static else function).parameters.values()
    except (ValueError, TypeError):  # a function in C does not tell, and what is none is told of elsewhere
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
    """Have a thread that takes too long end at its next line of Python; compiled code goes on to its end."""
    if thread.ident is not None and sys.implementation.name == "cpython":
        ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread.ident), ctypes.py_object(SystemExit))


def load_callable(text: str, *, limit: float = TIME_LIMIT) -> CallableAgent:
    """The agent `NAME` of a Python file, whose code runs now.  Raises UsageError and AgentError.

    A class whose objects can be called is called without arguments first.  What the code prints goes to standard error.
    """
    path, name, function = named_object("agent", text, AgentError)
    if isinstance(function, type) and any("__call__" in vars(base) for base in function.__mro__):
        function = _called(function, path, name)
    return agent_of(function, f"{path.name}:{name}", limit=limit, aside=True)


def _called(function: Any, path: Path, name: str) -> Any:
    try:
        with redirect_prints():
            return function()
    except (Exception, SystemExit) as error:
        raise AgentError(f"{shown(path)}: {name}() failed: {reason_of(error)}") from error
