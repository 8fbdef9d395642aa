"""The program's entry: runs a command and turns every expected failure into one line and an exit status.

0 done, 1 could not, 2 misused, 130 interrupted.
"""

import contextlib
import errno
import gc
import os
import signal
import sys
from pathlib import Path

LEAST, LEAST_TO_COMPILE = 350_000_000, 500_000_000
"""Bytes of address space that training on 3x3 takes with all kernels compiled, and with none."""


def main() -> None:
    """Run `ttt-batch` with the arguments of the process.

    Unneeded work took half of a short command's time: on one 2.5 GHz processor, looking for garbage among imported
    modules 0.05 s, and freeing them one by one before the process ends anyway 0.3 s.
    """
    # NumPy starts a thread per processor for linear algebra, of which there is none here.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    gc.set_threshold(200_000, 20, 20)
    # A stream that was closed before the program started is None.  The null device takes its number, so no file does.
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, Path(os.devnull).open(mode, encoding="utf-8"))  # noqa: SIM115 - for good
    status = run(sys.argv[1:])
    for number in (signal.SIGINT, signal.SIGTERM):  # all is written: there is nothing left to interrupt
        signal.signal(number, signal.SIG_IGN)
    if status == 130:
        # An interrupt may have left the compiler's library in disorder; its clean-up would then crash.
        for stream in (sys.stdout, sys.stderr):
            with contextlib.suppress(OSError, ValueError):
                stream.flush()
        os._exit(status)
    gc.freeze()
    sys.exit(status)


def run(arguments: list[str]) -> int:
    """Run one command line and return its exit status.

    An unforeseen exception is one line, too; with TTT_BATCH_DEBUG set it passes, with its traceback.
    """
    from ttt_batch.base import (
        console,
        memory,  # noqa: F401 - while there is memory to load it
    )
    from ttt_batch.base.errors import TttBatchError

    stdout = sys.stdout
    for stream in (stdout, sys.stderr):
        console.escape_what_it_lacks(stream)
    try:
        from ttt_batch.app.cli import program

        status = program(arguments, prog_name="ttt-batch", standalone_mode=False)
        sys.stdout.flush()
        if status == 130:  # commands report their own interrupts; this one came before a command began
            return _fail("interrupted", 130)
        return status if isinstance(status, int) else 0
    except TttBatchError as error:
        return _fail(str(error), error.exit_status)
    except KeyboardInterrupt:
        return _fail("interrupted", 130)
    except MemoryError as error:
        return _fail(_starved(error) or "not enough memory for this board or batch; choose a smaller one", 1)
    except (Exception, SystemExit) as error:
        # typer leaves a closed pipe by SystemExit.
        failure = error.__context__ if isinstance(error, SystemExit) else error
        # A write that fails at once leaves nothing to flush; errors on other files are worded by their writers.
        full = isinstance(failure, OSError) and failure.errno == errno.ENOSPC and failure.filename is None
        if isinstance(failure, OSError) and (console.refuses(stdout) or full):
            console.silence(stdout)
            if isinstance(failure, BrokenPipeError):
                return 0  # the reader of the output has gone; nothing is wrong
            return _fail(f"cannot write to standard output: {failure.strerror}; make room, or send it elsewhere", 1)
        if isinstance(error, SystemExit):
            raise
        return _status(error)


def _status(error: Exception) -> int:
    """Report what typer, or a defect of the program, ended a command with; return its exit status."""
    # typer's own usage errors; it carries click under different names in different versions.
    if hasattr(error, "format_message"):
        from ttt_batch.app.commands.usage import misuse

        return _fail(misuse(error), int(getattr(error, "exit_code", 2)))
    if type(error).__name__ == "Exit" and not isinstance(error.__cause__, KeyboardInterrupt):
        return int(getattr(error, "exit_code", 0))
    if type(error).__name__ in ("Abort", "Exit"):
        return _fail("interrupted", 130)
    if line := _starved(error):
        return _fail(line, 1)
    if os.environ.get("TTT_BATCH_DEBUG"):
        raise error
    return _fail(
        f"this should not have happened ({type(error).__name__}: {error}); please report it with the command; "
        "TTT_BATCH_DEBUG=1 shows where it did",
        1,
    )


def _starved(error: Exception) -> str:
    """The message if `ulimit -v` allows too little for the libraries, which then fail in many ways; else nothing."""
    from ttt_batch.base.memory import address_limit

    limit = address_limit()
    if limit is None or limit >= LEAST_TO_COMPILE:
        return ""
    cause = f"{type(error).__name__}: {error}".strip(": ").splitlines()[0]
    return (
        f"not enough memory: {limit / 1e6:,.0f} MB are allowed (ulimit -v); allow {LEAST_TO_COMPILE / 1e6:.0f} MB at "
        f"least, or {LEAST / 1e6:.0f} MB if all kernels are compiled ({cause:.100})"
    )


def _fail(message: str, status: int) -> int:
    from ttt_batch.base.console import tell

    tell(f"ttt-batch: {message}")
    return status


if __name__ == "__main__":
    main()
