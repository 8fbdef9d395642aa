"""Entry point of the program: runs a command and reports each failure as one line and an exit status.

Exit statuses: 0 done, 1 failed, 2 misused, 130 interrupted.
"""

import contextlib
import errno
import gc
import os
import signal
import sys

LEAST, LEAST_TO_COMPILE = 350_000_000, 500_000_000
"""Bytes of address space that training on 3x3 needs with all kernels compiled, and with no kernel compiled."""


def main() -> None:
    """Run `ttt-batch` with the arguments of the process.

    Less garbage collection, and no freeing of modules at the end, halve the time of a short command.
    """
    for number in (signal.SIGINT, signal.SIGTERM):
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _leave)
    from pathlib import Path  # not earlier: it takes a third of the time until here

    # NumPy would start a thread per processor for linear algebra, which this package does not use.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    gc.set_threshold(200_000, 20, 20)
    # A stream closed before the program started is None.  Open the null device, so that no file gets its number.
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, Path(os.devnull).open(mode, encoding="utf-8"))  # noqa: SIM115 - stays open
    status = run(sys.argv[1:])
    for number in (signal.SIGINT, signal.SIGTERM):  # all output is written
        signal.signal(number, signal.SIG_IGN)
    if status == 130:
        # An interrupt may have left LLVM in an inconsistent state, and its clean-up would crash.
        for stream in (sys.stdout, sys.stderr):
            with contextlib.suppress(OSError, ValueError):
                stream.flush()
        os._exit(status)
    gc.freeze()
    sys.exit(status)


def _leave(_number: int, _frame: object) -> None:
    """End at once with a line.

    Handles SIGINT until a command starts, and SIGTERM outside `Interrupt`.  No file is being written then.
    Python would print and drop an exception that is raised inside the import system.
    """
    with contextlib.suppress(OSError):
        os.write(2, b"ttt-batch: interrupted\n")
    os._exit(130)


def run(arguments: list[str]) -> int:
    """Run one command line and return its exit status.

    An unexpected exception is one line, too.  With TTT_BATCH_DEBUG set it is raised, with its traceback.
    """
    from ttt_batch.core import console
    from ttt_batch.core.errors import TttBatchError

    stdout = sys.stdout
    terminal = stdout.isatty()
    for stream in (stdout, sys.stderr):  # escape characters that their encoding lacks (LANG=C)
        with contextlib.suppress(AttributeError, OSError, ValueError):
            stream.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
    try:
        from ttt_batch.app.cli import program

        if signal.getsignal(signal.SIGINT) is _leave:
            signal.signal(signal.SIGINT, signal.default_int_handler)
        status = program(arguments, prog_name="ttt-batch", standalone_mode=False)
        sys.stdout.flush()
        if status == 130:  # the interrupt came before a command started; commands report their own
            return _fail("interrupted", 130)
        return status if isinstance(status, int) else 0
    except TttBatchError as error:
        return _fail(str(error), error.exit_status)
    except KeyboardInterrupt:
        return _fail("interrupted", 130)
    except MemoryError as error:
        return _fail(_starved(error) or "not enough memory for this board or batch; choose a smaller one", 1)
    except (Exception, SystemExit) as error:
        # typer raises SystemExit for a closed pipe.
        failure = error.__context__ if isinstance(error, SystemExit) else error
        # A write to standard output has no file name.  Code that writes other files words their errors.
        full = isinstance(failure, OSError) and failure.errno == errno.ENOSPC and failure.filename is None
        left = isinstance(error, SystemExit) and isinstance(failure, BrokenPipeError)  # a later flush may succeed
        if terminal and isinstance(failure, OSError) and not stdout.isatty():
            console.discard_output(stdout)
            return _fail("interrupted: the terminal was closed", 130)
        if isinstance(failure, OSError) and (left or full or console.is_broken(stdout)):
            console.discard_output(stdout)
            if isinstance(failure, BrokenPipeError):
                return 0  # the reader closed the pipe, which is not an error
            return _fail(f"cannot write to standard output: {failure.strerror}; make room, or send it elsewhere", 1)
        if isinstance(error, SystemExit):
            raise
        return _status(error)


def _status(error: Exception) -> int:
    """Report an exception from typer or from a defect in the program; return the exit status."""
    # A usage error of typer.  Its class differs between versions, which vendor click under different names.
    if hasattr(error, "format_message"):
        from ttt_batch.app.commands.usage import misuse

        return _fail(misuse(error), int(getattr(error, "exit_code", 2)))
    if type(error).__name__ == "Exit" and not isinstance(error.__cause__, KeyboardInterrupt):
        return int(getattr(error, "exit_code", 0))
    if type(error).__name__ in ("Abort", "Exit"):
        return _fail("interrupted", 130)
    if line := _starved(error):
        return _fail(line, 1)
    if isinstance(error, FileNotFoundError) and _folder_is_gone():  # Numba asks for it
        return _fail(f"cannot work here: {error.strerror}", 1)
    if os.environ.get("TTT_BATCH_DEBUG"):
        raise error
    return _fail(
        f"internal error ({type(error).__name__}: {error}); please report it with the command; "
        "TTT_BATCH_DEBUG=1 shows the traceback",
        1,
    )


def _starved(error: Exception) -> str:
    """Return a message if `ulimit -v` allows too little memory, where libraries fail in many ways; else nothing."""
    from ttt_batch.core.resources import address_limit

    limit = address_limit()
    if limit is None or limit >= LEAST_TO_COMPILE:
        return ""
    cause = f"{type(error).__name__}: {error}".strip(": ").splitlines()[0]
    return (
        f"not enough memory: {limit / 1e6:,.0f} MB are allowed (ulimit -v); allow {LEAST_TO_COMPILE / 1e6:.0f} MB at "
        f"least, or {LEAST / 1e6:.0f} MB if all kernels are compiled ({cause:.100})"
    )


def _folder_is_gone() -> bool:
    """Return whether the current folder has been deleted, so that no name in it can be read or written."""
    from pathlib import Path

    try:
        Path.cwd()
    except FileNotFoundError:
        return True
    return False


def _fail(message: str, status: int) -> int:
    from ttt_batch.core.console import print_message

    if status not in (2, 130) and _folder_is_gone():
        message += "; the current folder is gone: change to another one"
    print_message(f"ttt-batch: {message}")
    return status


if __name__ == "__main__":
    main()
