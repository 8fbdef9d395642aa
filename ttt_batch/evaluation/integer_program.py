"""Integer programs, solved by SciPy's HiGHS in a process of its own.

HiGHS says nothing while it runs, cannot be stopped, and loses its best result with its process.  So it runs for a few
seconds at first, then each time for twice as long, and returns its best result each time.  All runs together take at
most twice the time of the last one.
"""

import os
import pickle
import queue
import subprocess
import sys
import threading
from collections.abc import Callable
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from ttt_batch.core.errors import TttBatchError
from ttt_batch.core.resources import module_environment

FOLLOWED_EVERY = 0.1
"""Seconds between two calls of a callback while a program is solved."""


class IntegerProgram(NamedTuple):
    """Integer program: minimise `cost @ x` for x in [0, 1] with `low <= A @ x <= high`.

    row, column, entry: the matrix A, one entry each.  least: least value of each variable.  whole: whether it is whole.
    """

    cost: NDArray[np.float64]
    row: NDArray[np.int64]
    column: NDArray[np.int64]
    entry: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    least: NDArray[np.float64]
    whole: NDArray[np.bool_]


class Answer(NamedTuple):
    """Best x found, or None without one; a proved lower bound of the cost, a whole number; whether x is optimal."""

    x: NDArray[np.float64] | None
    bound: int
    optimal: bool


def solve_program(program: IntegerProgram, seconds: float) -> Answer:
    """Minimise a program whose costs are whole numbers, with HiGHS, for at most some seconds."""
    from scipy.optimize import Bounds, LinearConstraint, milp
    from scipy.sparse import csr_matrix

    shape = program.low.size, program.cost.size
    matrix = csr_matrix((program.entry, (program.row, program.column)), shape=shape)
    found = milp(
        program.cost,
        constraints=LinearConstraint(matrix, program.low, program.high),
        bounds=Bounds(program.least, np.ones(program.cost.size)),
        integrality=program.whole.astype(np.uint8),
        options={"time_limit": seconds, "mip_rel_gap": 0.0},
    )
    linear = not program.whole.any()  # HiGHS gives it no bound
    bound = found.fun if linear and found.status == 0 else found.mip_dual_bound
    known = bound is not None and np.isfinite(bound)
    return Answer(found.x, int(np.ceil(bound - 1e-6)) if known else 0, found.status == 0)


def check_scipy() -> None:
    """Raise TttBatchError, with the command that installs it, if SciPy is missing."""
    try:
        import scipy  # noqa: F401
    except ImportError as error:
        needed = f"smallest proofs need scipy ({error}); install it with: pip install 'ttt-batch[study]'"
        raise TttBatchError(needed) from None


class Solver:
    """Process that solves programs one after the other; a context manager that ends it.

    It has a session of its own, so that Ctrl-C on a terminal does not reach it.
    ended: whether it has died or was stopped, and solves no more.
    """

    ended = False

    def __init__(self) -> None:
        command, pipe = [sys.executable, "-c", f"from {__name__} import serve; serve()"], subprocess.PIPE
        self._process = subprocess.Popen(
            command,
            env=module_environment(),
            stdin=pipe,
            stdout=pipe,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.communicate()

    def solve(self, program: IntegerProgram, seconds: float, follow: Callable[[], bool]) -> Answer | None:
        """Run `solve_program` there; return None if it dies, or if `follow()`, called while it runs, returns True."""
        answers = list[Answer]()

        def wait() -> None:
            try:
                pickle.dump((program, seconds), self._process.stdin)  # type: ignore[arg-type]
                self._process.stdin.flush()  # type: ignore[union-attr]
                answers.append(pickle.load(self._process.stdout))  # type: ignore[arg-type]
            except (OSError, EOFError, pickle.UnpicklingError):  # it was killed, perhaps for lack of memory
                self._process.kill()

        waiting = threading.Thread(target=wait, daemon=True)
        waiting.start()
        while waiting.is_alive():
            waiting.join(FOLLOWED_EVERY)
            if waiting.is_alive() and follow():
                self._process.kill()
        self.ended = not answers
        return None if self.ended else answers[0]


def serve() -> None:
    """Solve the programs of standard input until its end, which also ends the program being solved."""
    source: Any = sys.stdin.buffer
    programs = queue.SimpleQueue[tuple[IntegerProgram, float]]()

    def read() -> None:
        while source.peek(1):
            programs.put(pickle.load(source))
        os._exit(0)

    results = os.fdopen(os.dup(1), "wb")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # HiGHS prints lines there, between the answers
    threading.Thread(target=read, daemon=True).start()
    while True:
        pickle.dump(solve_program(*programs.get()), results)
        results.flush()
