"""Loader of code that a person names as `FILE.py:NAME`.

The code runs with that person's rights, as with `python FILE.py`.  No other file makes the package run code, not even a
run file that names its opponent or learner.
"""

import hashlib
import importlib.util
import re
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from ttt_batch.core.console import one_line, redirect_prints
from ttt_batch.core.errors import TttBatchError, UsageError, quoted
from ttt_batch.core.files import is_file, reason, shown

AS_AGENT = (
    "wrap a table of another shape as an agent, FILE.py:NAME or cmd:PROGRAM: ttt-batch evaluate --help shows eight "
    "lines for a dictionary"
)
"""Remedy in messages about tables that cannot be read, after `; `."""

LONGEST_REASON = 200
"""Maximum number of characters of an exception's text that a message repeats."""

_kept: dict[str, Any] = {}
"""Modules with learners, by module name, so that each learner is registered only once."""


def is_callable_name(text: str) -> bool:
    """Return whether a text has the form `FILE.py:NAME`."""
    return re.fullmatch(r".+\.py:[^:/\\]*", text) is not None


def named_object(
    what: str, text: str, error: type[TttBatchError], fits: Callable[[Any], bool] = callable, *, keep: bool = False
) -> tuple[Path, str, Any]:
    """Run the file of `FILE.py:NAME`; return the file, the name and the object with that name.

    what: the kind of object, for messages.  fits: selects the objects of the file that a message suggests.
    keep: run the file only once in this process.
    Raises UsageError, and `error` if the file cannot be run.
    """
    file, _, name = text.rpartition(":")
    if not is_callable_name(text) or not name.isidentifier():
        raise UsageError(f"{what} {quoted(text)} is not of the form FILE.py:NAME; give a Python file and a name in it")
    path = Path(file)
    if not is_file(path):
        raise error(f"there is no file {shown(path)}; check the name")
    module = _module(path, error, keep=keep)
    if not hasattr(module, name):
        there = [one for one, value in vars(module).items() if fits(value) and not one.startswith("_")]
        nothing = "nothing that can be called" if fits is callable else f"no {what}"
        raise UsageError(f"{shown(path)} has no {name}; it has {', '.join(there[:10]) or nothing}")
    return path, name, getattr(module, name)


def _module(path: Path, error: type[TttBatchError], *, keep: bool) -> Any:
    """Execute a file as a module and return it; the file can import modules beside it.

    The module's name is the same in every process that reads the same file, so its classes can be pickled.
    """
    try:
        content = path.read_bytes()
    except OSError as exc:
        raise error(f"cannot read {shown(path)}: {reason(exc)}; check its permissions") from None
    digest = hashlib.sha256(bytes(path.resolve()) + b"\0" + content).hexdigest()[:16]
    name = f"_named_{path.stem}_{digest}"
    if name in _kept:
        return _kept[name]
    specification = importlib.util.spec_from_file_location(name, path)
    if specification is None or specification.loader is None:
        raise error(f"{shown(path)} is not a Python file")
    module = importlib.util.module_from_spec(specification)
    sys.modules[name] = module
    folder = str(path.resolve().parent)
    sys.path.insert(0, folder)
    try:
        with redirect_prints():
            specification.loader.exec_module(module)
    except Exception as exc:
        raise error(f"{shown(path)} failed: {reason_of(exc)}") from exc
    except SystemExit as exc:
        raise error(f"{shown(path)} ended the program: {reason_of(exc)}") from exc
    finally:
        sys.path.remove(folder)
    if keep:
        _kept[name] = module
    return module


def reason_of(error: BaseException) -> str:
    """Return the type and text of a third-party exception, or only its type if `str` fails."""
    text = ""
    with suppress(Exception):
        text = str(error)
    return one_line(f"{type(error).__name__}: {text}" if text else type(error).__name__)[:LONGEST_REASON]
