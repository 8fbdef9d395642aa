"""Atomic writing of run files, and a check that a file on disk still holds a run."""

import errno
import hashlib
import io
import json
import os
import stat
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ttt_batch.core.errors import RunFileError, TakenError
from ttt_batch.core.files import identity_in, shown
from ttt_batch.core.outputs import OutputKind
from ttt_batch.runs.storage.declaration import (
    FILE_TYPE,
    FORMAT,
    GROUPS,
    POINTS,
    RESUME,
    USER_BLOCK,
    Invalid,
    RunData,
    checked_datasets,
    version_text,
)
from ttt_batch.runs.storage.header import user_block

# h5py is imported inside the functions that need it: it costs 0.1 s at start-up.

_MAX_TEXT = 60_000
"""Most bytes of text in an attribute; HDF5 allows 64 KiB including its own overhead."""


RUN_FILE = OutputKind(RunFileError, "out", taken=TakenError)
"""Output kind for run files."""


class Stamp(NamedTuple):
    """Identity of a written file in the file system (`identity_in`), and its first 512 bytes with the digest."""

    identity: tuple[int, ...]
    block: bytes


def save_run(
    path: Path, data: RunData, *, overwrite: bool = False, before: Callable[[Stamp], None] = lambda _: None
) -> Stamp:
    """Write a run atomically and return the stamp of its file.

    before: called with the stamp before the file gets its name, since an interrupt may follow directly.
    Without `overwrite`, an existing file is never replaced, even if it appears during the write.
    Raises RunFileError if the data do not match `FIELDS` or the disk refuses; the old file is then unchanged.
    """
    path = Path(path)
    with RUN_FILE.refusing(path):
        RUN_FILE.place(path, overwrite=overwrite)  # fail before composing the file
        try:
            image = _image(data)
        except Invalid as exc:
            raise RunFileError(f"cannot write {shown(path)}: {exc}; nothing was written") from exc
        except MemoryError as exc:
            raise RunFileError(f"cannot write {shown(path)}: not enough memory; free some and try again") from exc
        # Release the view before its buffer: Python 3.13 complains if a buffer is collected first.
        with RUN_FILE.drafts([path], overwrite=overwrite) as [draft], image.getbuffer() as view:
            draft.write(view)
            stamp = Stamp(draft.identity(), bytes(view[:USER_BLOCK]))
            before(stamp)
            return stamp


def run_bytes(data: RunData) -> bytes:
    """Return the bytes of a run file, for another process.  Raises Invalid if the data do not match `FIELDS`."""
    return _image(data).getvalue()


def stamp_of(path: Path) -> Stamp | None:
    """Return the stamp of a file, or None if it does not exist.  Raises OSError, also if it is not an ordinary file."""
    try:
        status = path.stat()
        if not stat.S_ISREG(status.st_mode):
            raise OSError(errno.EINVAL, "it is not an ordinary file")
        with path.open("rb") as file:
            return Stamp(identity_in(os.fstat(file.fileno())), file.read(USER_BLOCK))
    except FileNotFoundError:
        return None


def is_unchanged(path: Path, stamp: Stamp) -> bool:
    """Return whether a file is the one of `stamp`, or has the same bytes.

    The file is opened only if it has been touched or replaced since.  Raises OSError if it cannot be opened.
    """
    try:
        status = path.stat()
        if not stat.S_ISREG(status.st_mode) or identity_in(status) == stamp.identity:
            return stat.S_ISREG(status.st_mode)
        with path.open("rb") as file:
            if file.read(USER_BLOCK) != stamp.block:
                return False
            digest = hashlib.file_digest(file, "sha256").hexdigest()
    except FileNotFoundError:
        return False
    return f"\nsha256 {digest}\n".encode() in stamp.block


def _image(data: RunData) -> io.BytesIO:
    """Return the whole file; equal data gives equal bytes."""
    datasets = checked_datasets(data)
    try:
        # Canonical form, so that equal configurations give equal text.
        config = json.dumps(data.config, sort_keys=True, separators=(",", ":"), allow_nan=False)
    except (TypeError, ValueError, RecursionError) as exc:
        raise Invalid(f"config cannot be written as JSON ({exc})") from exc
    version = version_text(FORMAT)
    root = {
        "file_type": FILE_TYPE,
        "format_version": version,
        "config": config,
        "config_hash": hashlib.sha256(config.encode()).hexdigest(),
    }

    import h5py

    buffer = io.BytesIO()
    # Old HDF5 libraries can read what "earliest" writes.
    with h5py.File(buffer, "w", libver="earliest", userblock_size=USER_BLOCK) as file:
        write_attributes(file.attrs, root)
        for group in (*GROUPS, *([RESUME] if data.resume else []), *([POINTS] if data.points else [])):
            file.create_group(group)
        write_attributes(file["provenance"].attrs, data.provenance, "provenance ")
        for field, array in datasets:
            dtype = np.dtype(field.dtype).newbyteorder("<")
            dataset = file.create_dataset(field.path, data=array, dtype=dtype, track_times=False)
            labels = {"axes": field.axes, "unit": field.unit, "meaning": field.meaning}
            write_attributes(dataset.attrs, labels, f"{field.path} ")
    with buffer.getbuffer() as view, view[USER_BLOCK:] as content:
        view[:USER_BLOCK] = user_block(version, hashlib.sha256(content).hexdigest(), len(view))
    return buffer


def _attribute(name: str, value: Any) -> Any:
    """Return an attribute's value in a type that HDF5 can store, with text as bytes."""
    if isinstance(value, str):
        # A command line can contain bytes that are not text, and HDF5 ends a string at a zero byte.
        text = value.encode("utf-8", "backslashreplace").replace(b"\0", b"\\x00")
        if len(text) > _MAX_TEXT:
            raise Invalid(f"{name} has {len(text):,} bytes of text; at most {_MAX_TEXT:,} are allowed")
        return text
    if isinstance(value, int | np.integer) and not isinstance(value, bool) and -(2**63) <= value < 2**63:
        return np.int64(value)
    if isinstance(value, float | np.floating):
        return np.float64(value)
    raise Invalid(f"{name} is {value!r:.80}; it must be text, a 64-bit integer or a float")


def write_attributes(attributes: Any, values: Mapping[str, Any], where: str = "") -> None:
    """Write attributes in the order of their names.  where: prefix of a name in error messages."""
    import h5py

    for name in sorted(values):
        value = _attribute(f"{where}{name}", values[name])
        text = h5py.string_dtype("utf-8", max(len(value), 1)) if isinstance(value, bytes) else None
        attributes.create(name, value, dtype=text)
