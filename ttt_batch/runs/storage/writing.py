"""User block of run files, the first 512 bytes, and atomic writing.

The user block is written, parsed, and compared with the file; a check shows whether a file on disk still holds a run.
"""

import errno
import hashlib
import io
import json
import os
import re
import stat
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np

from ttt_batch.core.console import for_shell
from ttt_batch.core.errors import RunFileError, TakenError, command_with, flag, worded
from ttt_batch.core.files import NotOrdinaryError, identity_in, open_ordinary, shown, size_of
from ttt_batch.core.outputs import OutputKind
from ttt_batch.runs.storage.declaration import (
    FILE_TYPE,
    FORMAT,
    GROUPS,
    POINTS,
    RESUME,
    STUDY_TYPE,
    USER_BLOCK,
    Invalid,
    RunData,
    checked_datasets,
    version_text,
)

SIGNATURE = b"\x89HDF\r\n\x1a\n"

SIZE = 48
"""Number of bytes of the superblock that are read."""

_MARK = slice(20, 24)
"""The consistency flags, which HDF5 sets while a file is open for writing."""

MARKED = (
    "another program was stopped while it had the file open for writing: HDF5's flag for that is set, "
    "and everything else matches the digest"
)
"""Message for a file that differs only in the consistency flags."""


def unmarked(superblock: bytes) -> bytes:
    """Return the superblock with cleared consistency flags, as before the file was opened for writing."""
    first_kind = superblock.startswith(SIGNATURE + b"\0")  # other versions have other bytes there
    return superblock[: _MARK.start] + bytes(4) + superblock[_MARK.stop :] if first_kind else superblock


def rewrite_message(superblock: bytes, size: int, length: int) -> str:
    """Return a message that another program rewrote a file, if HDF5 considers its `size` bytes complete; else "".

    length: the length in the file's header.
    """
    version = superblock[8:9]
    place = 40 if version in (b"\0", b"\1") else 28
    if version == b"\1":
        place += 4
    if not superblock.startswith(SIGNATURE) or int.from_bytes(superblock[place : place + 8], "little") != size:
        return ""
    return (
        f"another program, such as h5repack, has rewritten it: HDF5 finds its {size:,} bytes complete, "
        f"but its header gives {length:,}"
    )


def clear_flag_message(name: str) -> str:
    """Return a message with the command that clears HDF5's flag."""
    return f"`h5clear -s {for_shell(name)}`, one of HDF5's own tools, clears the flag"


MAGIC = f"{FILE_TYPE}, format ".encode()

MAX_BYTES = 1 << 32
"""Size of the largest run file that is read, 4 GiB; a million games on 5x5 take 0.3 GB."""

SMALL_BYTES = 1 << 26
"""Size up to which a file is read at once, 64 MiB.  For a larger one, the digest is compared before it gets memory."""

TABLES = (".pkl", ".pickle", ".json", ".jsonl", ".csv", ".npy", ".npz", ".parquet")
"""Suffixes of other programs' table files."""

PROGRAMS = (b"#!", b"\x7fELF", b"\xcf\xfa\xed\xfe", b"MZ")
"""First bytes of programs: scripts, and those of Linux, macOS and Windows."""

_RESTORE = "restore a backup, or train again"


class DamagedRun(RunFileError):
    """Error for a file whose content is not what training wrote; with `trust`, it is read anyway."""


class RunHeader(NamedTuple):
    """Content of the first 512 bytes: format version, digest of the bytes after them, and length of the whole file."""

    version: tuple[int, int]
    digest: str
    length: int


def user_block(version: str, digest: str, length: int) -> bytes:
    """Return the first 512 bytes.  All versions up to this one use the same text, so reading compares all of it."""
    text = (
        f"{FILE_TYPE}, format {version}\n"
        f"sha256 {digest}\n"
        f"length {length} bytes\n"
        f"The digest covers everything from byte {USER_BLOCK} on, the length is the whole file's.\n"
        "\n"
        "A run of tabular self-play on tic-tac-toe, stored as HDF5.  In Python:\n"
        "    import h5py, json\n"
        '    run = h5py.File("NAME.h5")\n'
        '    print(json.loads(run.attrs["config"]), list(run["tables"]))\n'
        '    code = run["states/code"][:]\n'
    )
    return text.encode().ljust(USER_BLOCK - 1) + b"\n"


def read_bytes(path: Path, *, trust: bool) -> bytes:
    """Return the bytes of an ordinary file of at most `MAX_BYTES`.  Raises RunFileError, and the system's OSError.

    trust: read a file larger than `SMALL_BYTES` without comparing its digest first.
    """
    name = shown(path)
    try:
        file = open_ordinary(path)
    except NotOrdinaryError as found:
        if found.folder:
            raise RunFileError(f"{name} is a folder; name a run file in it") from None
        raise RunFileError(f"{name} is not an ordinary file; copy it into one first") from None
    with file:
        size = size_of(file)
        if size > MAX_BYTES:
            # The header may give a better reason, such as a newer format or another kind of file.
            parse_header(name, file.read(USER_BLOCK + 8), size)
            raise DamagedRun(f"{name} has {size:,} bytes; a run file has at most {MAX_BYTES:,}; {_RESTORE}")
        if size > SMALL_BYTES and not trust:
            header = parse_header(name, file.read(USER_BLOCK + 8), size)
            if size == header.length:
                _check_digest(name, header.digest, file)
            file.seek(0)
        return file.read(size)


def _check_digest(name: str, digest: str, file: BinaryIO) -> None:
    """Raise DamagedRun unless the digest matches the bytes after the user block."""
    file.seek(USER_BLOCK)
    start = file.read(SIZE)
    if _digest(start, file) == digest:
        return
    if _digest(unmarked(start), file) == digest:
        raise DamagedRun(f"{name}: {MARKED}; {clear_flag_message(name)}, and {flag('trust', True)} opens it as it is")
    raise _changed(f"{name}: its content does not match its digest: damaged, or changed by another program")


def _digest(start: bytes, file: BinaryIO) -> str:
    """Return the SHA-256 digest of the bytes after the user block.  start: their beginning, possibly modified."""
    digest = hashlib.sha256(start)
    file.seek(USER_BLOCK + len(start))
    while piece := file.read(1 << 20):
        digest.update(piece)
    return digest.hexdigest()


def _changed(finding: str) -> DamagedRun:
    return DamagedRun(f"{finding}; {flag('trust', True)} opens it anyway")


def verify(name: str, content: bytes) -> tuple[int, int]:
    """Check the length and digest of a run file, and return its format version.

    Raises DamagedRun if either is wrong, and RunFileError for a newer format.
    """
    size = len(content)
    version, digest, length = parse_header(name, content[: USER_BLOCK + 8], size)
    if size != length and (how := rewrite_message(content[USER_BLOCK : USER_BLOCK + SIZE], size, length)):
        raise _changed(f"{name}: {how}")
    if size < length:
        raise DamagedRun(f"{name} is cut off: {length - size:,} of its {length:,} bytes are missing; {_RESTORE}")
    if size > length:
        found = f"{size - length:,} bytes follow its {length:,} own"
        raise _changed(f"{name} is damaged, or changed by another program: {found}")
    # A newer version may change the text after the first three lines.
    if version <= FORMAT and content[:USER_BLOCK] != user_block(version_text(version), digest, length):
        raise _changed(f"{name} is damaged in its first {USER_BLOCK} bytes, or another program changed them")
    _check_digest(name, digest, io.BytesIO(content))
    return version


def _what_takes(name: str, block: bytes) -> str:
    """Return a hint in brackets for a file that looks like an agent or a table; empty for other files."""
    if name.endswith(".py"):
        return f" ({name}:NAME is an agent in it, for evaluate or play)"
    if block.startswith(PROGRAMS):
        return f" (cmd:{name} is an agent if it is a program, for evaluate or play)"
    if name.endswith(TABLES):
        return f" ({worded('ttt-batch import', 'import_run')} reads the tables of other programs)"
    return ""


def parse_header(name: str, start: bytes, size: int) -> RunHeader:
    """Parse the first bytes of a file of `size` bytes.

    start: the user block and 8 more bytes, or fewer in a shorter file.
    Raises DamagedRun if it is not an intact run file, and RunFileError for a study or a newer format.
    """
    block = start[:USER_BLOCK]
    if not block:
        raise DamagedRun(f"{name} is empty; {_RESTORE}")
    if block.startswith(f"{STUDY_TYPE}, format ".encode()):
        use = f"info, check, plot and {command_with('study', 'resume')} accept it"
        raise RunFileError(f"{name} is a study of many learners, not a run; {use}")
    cut = len(block) < USER_BLOCK
    if not block.startswith(MAGIC) and not (cut and MAGIC.startswith(block)):
        # HDF5 looks for its signature at 0, 512, 1024, ...; only the first two occur in practice.
        if SIGNATURE in (block[:8], start[USER_BLOCK:]):
            opens = f"{flag('trust', True)} opens one that another program has rewritten"
            raise DamagedRun(
                f"{name} is an HDF5 file, but not a {FILE_TYPE}; name a file that training wrote, or {opens}"
            )
        raise DamagedRun(f"{name} is not a {FILE_TYPE}; name a file that training wrote{_what_takes(name, block)}")
    found = re.match(rb"([0-9]{1,4})\.([0-9]{1,4})\n", block[len(MAGIC) :])
    version = (int(found[1]), int(found[2])) if found else None
    if version and version[0] > FORMAT[0]:
        ours = f"this program reads {FORMAT[0]}.x; upgrade ttt-batch"
        raise RunFileError(f"{name} has format {version_text(version)}, but {ours}")
    if cut:
        length = re.search(rb"\nlength ([0-9]{1,18}) bytes\n", block)
        missing = f"{int(length[1]) - size:,}" if length else f"at least {USER_BLOCK - size:,}"
        raise DamagedRun(f"{name} is cut off: {missing} bytes are missing; {_RESTORE}")
    rest = re.match(rb"[^\n]*\nsha256 ([0-9a-f]{64})\nlength ([0-9]{1,18}) bytes\n", block)
    if version is None or version[0] < FORMAT[0] or rest is None or int(rest[2]) < USER_BLOCK:
        raise DamagedRun(f"{name} is damaged in its first {USER_BLOCK} bytes; {_RESTORE}")
    return RunHeader(version, rest[1].decode(), int(rest[2]))


def holds_hdf5(content: bytes) -> bool:
    """Return whether an HDF5 signature is at any offset where the library looks for it."""
    places = [0, *(USER_BLOCK << power for power in range(len(content).bit_length()))]
    return any(content[place : place + 8] == SIGNATURE for place in places)


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
