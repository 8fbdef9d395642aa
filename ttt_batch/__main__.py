"""The program's entry: runs a command and turns every expected failure into one line and an exit status.

0 done, 1 could not, 2 misused, 130 interrupted.
"""

import os
import sys


def main() -> None:
    """Run `ttt-batch` with the arguments of the process."""
    sys.exit(run(sys.argv[1:]))


def run(arguments: list[str]) -> int:
    """Run one command line and return its exit status."""
    from ttt_batch.cli import app
    from ttt_batch.errors import TttBatchError

    try:
        status = app(arguments, prog_name="ttt-batch", standalone_mode=False)
        sys.stdout.flush()
        return status if isinstance(status, int) else 0
    except TttBatchError as error:
        return _fail(str(error), error.exit_status)
    except KeyboardInterrupt:
        return _fail("interrupted", 130)
    except BrokenPipeError:
        # Whoever read our output has gone; nothing is wrong.  Keep the interpreter from flushing into the closed pipe.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except MemoryError:
        return _fail("not enough memory for this board or batch; choose a smaller one", 1)
    except Exception as error:
        # typer's own usage errors; it carries click under different names in different versions.
        if hasattr(error, "format_message"):
            return _fail(f"{error.format_message()} (see ttt-batch --help)", int(getattr(error, "exit_code", 2)))
        if type(error).__name__ == "Abort":
            return _fail("interrupted", 130)
        if type(error).__name__ == "Exit":
            return int(getattr(error, "exit_code", 0))
        raise


def _fail(message: str, status: int) -> int:
    print(f"ttt-batch: {' '.join(message.split())}", file=sys.stderr)
    return status


if __name__ == "__main__":
    main()
