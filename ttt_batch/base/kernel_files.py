"""Files of compiled kernels: their folder, and safe reading and writing.

Loading a kernel unpickles it, which runs code that the file contains.  So the file and all folders above it must be
private (`ownership`).  A damaged kernel crashes LLVM and the interpreter.  So a file begins with a digest of its
content, its name and its folder's name.  If the digest does not match, the kernel is compiled.
"""

import contextlib
import functools
import hashlib
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from ttt_batch.base.console import print_message
from ttt_batch.base.files import remove, shown
from ttt_batch.base.ownership import SharedError, private_folder, read_private

STALE_AFTER_DAYS = 30
LEFT_AFTER_SECONDS = 3600.0
DIGEST_SIZE = 32


def cache_root() -> Path:
    """Return the directory with the folders of all versions, by default in the user's cache directory."""
    return next(_roots())


def _roots() -> Iterator[Path]:
    """Yield directories for the folders of all versions: the preferred one, then fallbacks."""
    if chosen := os.environ.get("TTT_BATCH_CACHE_DIR"):
        yield Path(chosen)
    if os.name == "nt":
        yield Path(os.environ.get("LOCALAPPDATA") or tempfile.gettempdir()) / "ttt-batch"
        return
    mac = sys.platform == "darwin"
    if not mac and (caches := os.environ.get("XDG_CACHE_HOME")):
        yield Path(caches) / "ttt-batch"
    for home in _homes():
        yield home / ("Library/Caches" if mac else ".cache") / "ttt-batch"
    yield Path(tempfile.gettempdir()) / f"ttt-batch-{os.geteuid()}"


def _homes() -> Iterator[Path]:
    """Yield the user's home from the environment, then from the system: `sudo` may leave another user's in HOME."""
    import pwd

    with contextlib.suppress(RuntimeError):
        yield Path.home()
    with contextlib.suppress(KeyError):
        yield Path(pwd.getpwuid(os.geteuid()).pw_dir)


@functools.cache
def usable_folder(wished: Path) -> Path | None:
    """Return the folder to use for `wished`, created if necessary, with links resolved.

    If others could write to `wished`, print a warning and use a folder of that name in one of `_roots`.  Return None if
    all fail.
    """
    refused = ""
    for folder in (wished, *(root / wished.name for root in _roots())):
        try:
            found = private_folder(folder)
        except SharedError as error:
            refused = refused or str(error.strerror)
        except (OSError, RuntimeError):  # read-only, a file in the path, a loop of links
            if not refused:
                return folder
        else:
            if refused:
                _say_once(f"{refused}: compiled kernels are kept in {shown(found)} instead")
            return found
    _say_once(f"{refused}: compiled kernels are not kept; name a folder of your own in TTT_BATCH_CACHE_DIR")
    return None


_said: list[str] = []


def _say_once(line: str) -> None:
    """Print a warning, only once per process."""
    if not _said:
        _said.append(line)
        print_message(f"ttt-batch: {line}")


@functools.cache
def _tidy(folder: Path) -> None:
    """Remove kernel folders unused for `STALE_AFTER_DAYS`, and temporary files of killed writes."""
    for other in folder.parent.glob("kernels-*"):
        if other != folder and _age(other) > STALE_AFTER_DAYS * 86_400:
            shutil.rmtree(other, ignore_errors=True)
    for left in folder.glob("tmp*.tmp"):
        if _age(left) > LEFT_AFTER_SECONDS:  # a write takes less than a second
            remove(left)


def _age(path: Path) -> float:
    """Return the seconds since the last change of a path, or 0 if another process has just removed it."""
    try:
        return time.time() - path.stat().st_mtime
    except OSError:
        return 0.0


@functools.cache
def _note_use(folder: Path) -> None:
    """Update the folder's time of use, so that it is not removed; once per process, if possible."""
    with contextlib.suppress(OSError):
        os.utime(folder)


def read_kernel(wished: Path, name: str) -> memoryview:
    """Return the content written under `name`.  Raises an exception if it is missing, damaged or not private."""
    folder = usable_folder(wished)
    if folder is None:
        raise FileNotFoundError(name)
    try:
        content = memoryview(read_private(folder / name))
    except SharedError as error:
        _say_once(f"{error.strerror}: it is not used, but compiled again")
        raise
    if content[:DIGEST_SIZE] != _digest(wished, name, content[DIGEST_SIZE:]):
        raise ValueError(f"{name} is damaged")
    _note_use(folder)
    return content[DIGEST_SIZE:]


def write_kernel(wished: Path, name: str, content: bytes) -> None:
    """Write `content` under `name` atomically; do nothing without a usable folder."""
    folder = usable_folder(wished)
    if folder is None:
        return
    _tidy(folder)
    handle, temporary = tempfile.mkstemp(dir=folder, suffix=".tmp")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(_digest(wished, name, content))
            file.write(content)
        Path(temporary).replace(folder / name)
    except BaseException:
        remove(Path(temporary))
        raise


def _digest(wished: Path, name: str, content: bytes | memoryview) -> bytes:
    """Return the digest at the start of a kernel's file."""
    digest = hashlib.blake2b(f"{wished.name}/{name}\0".encode(), digest_size=DIGEST_SIZE)
    digest.update(content)
    return digest.digest()
