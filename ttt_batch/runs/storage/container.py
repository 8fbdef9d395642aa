"""Container of runs and studies: a header of text with format version, digest and length, and HDF5 behind it.

The header is compared with the file before the HDF5 library gets the bytes.  One flipped byte in an HDF5 file can make
the library end the process or loop forever, so a child process reads files whose digest is wrong.
"""

import hashlib
import io
import json
import os
import re
import signal
import subprocess
import sys
import zipfile
from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ttt_batch.core.console import for_shell
from ttt_batch.core.errors import TttBatchError
from ttt_batch.core.files import begins_with, reading
from ttt_batch.core.outputs import OutputKind
from ttt_batch.core.resources import module_environment
from ttt_batch.core.text import count_text
from ttt_batch.runs.lookup import missing_file_text

FILE_TYPE, STUDY_TYPE = "ttt-batch run", "ttt-batch study"
"""File types of runs and studies, written in the first line and in the root attribute `file_type`."""

SIGNATURE = b"\x89HDF\r\n\x1a\n"

USER_BLOCK = 512
"""Smallest user block that HDF5 allows, the bytes before the HDF5 part of a run."""

SUPERBLOCK = 48
"""Number of bytes of the superblock that are read."""

_MARK = slice(20, 24)
"""The consistency flags, which HDF5 sets while a file is open for writing."""

_PIECE = 1 << 20

_MAX_TEXT = 60_000
"""Most bytes of text in an attribute; HDF5 allows 64 KiB including its own overhead."""


class Invalid(ValueError):
    """Finding about the data, without the file's name and the remedy."""


class Header(NamedTuple):
    """First lines of a file: format version, digest, length of the whole file, and bytes of the header."""

    version: tuple[int, int]
    digest: str
    length: int
    size: int


@dataclass(frozen=True, kw_only=True)
class FileKind(OutputKind):
    """Kind of file with such a header, and the words of its messages in addition to those of `OutputKind`.

    name: its type in the first line.  version: newest format, of which every older minor version is read.
    least, most: bytes of the header, a power of two.  damaged: class of the error for other content than was written.
    writer: who writes such files.  restore: remedy for damage.  anyway: returns the remedy for a changed file.
    hint: returns a further remedy for a file of another kind, from its name and first bytes.
    """

    name: str
    version: tuple[int, int]
    least: int
    most: int
    damaged: type[TttBatchError]
    writer: str
    restore: str
    anyway: Callable[[], str]
    hint: Callable[[str, bytes], str] = lambda name, start: ""

    def begins(self, path: Path) -> bool:
        """Return whether an ordinary file of any name begins as such a file does."""
        return begins_with(path, f"{self.name}, format ".encode())

    def reading(self, path: Path) -> AbstractContextManager[None]:
        """Turn errors of reading `path` into one-line errors, as `files.reading` does."""
        return reading(path, self.error, lambda: missing_file_text(path))

    def changed(self, finding: str) -> TttBatchError:
        """Return the error about a file that another program has changed."""
        return self.damaged(f"{finding}; {self.anyway()}")

    def read_header(self, name: str, file: BinaryIO, size: int) -> Header:
        """Return the first lines of an open file of `size` bytes.

        Raises `damaged` if it is not an intact file of this kind, and `error` for a newer format.
        """
        file.seek(0)
        start, magic = file.read(self.least + 8), f"{self.name}, format ".encode()
        if not start:
            raise self.damaged(f"{name} is empty; {self.restore}")
        if not start.startswith(magic[: len(start)]):
            # HDF5 looks for its signature at 0, 512, 1024, ...; only the first two occur in practice.
            is_hdf5 = SIGNATURE in (start[:8], start[USER_BLOCK:][:8])
            what = f"is {'an HDF5 file, but ' if is_hdf5 else ''}not a {self.name}"
            raise self.damaged(f"{name} {what}; name a file that {self.writer} wrote{self.hint(name, start)}")
        first, _, rest = start[len(magic) :].partition(b"\n")
        version = parse_version(first.decode("ascii", "replace"))
        if version and version[0] > self.version[0]:
            ours = f"this program reads {self.version[0]}.x; upgrade ttt-batch"
            raise self.error(f"{name} has format {version_text(version)}, but {ours}")
        lines = re.match(rb"sha256 ([0-9a-f]{64})\nlength ([0-9]{1,18}) bytes\n(?:header ([0-9]{1,18}) bytes\n)?", rest)
        if version is not None and version[0] == self.version[0] and lines is not None:
            header = Header(version, lines[1].decode(), int(lines[2]), int(lines[3] or self.least))
            if self.least <= header.size <= min(self.most, header.length) and header.size.bit_count() == 1:
                return header
        if size < self.least:
            raise self.damaged(f"{name} is cut off: at least {self.least - size:,} bytes are missing; {self.restore}")
        raise self.damaged(f"{name} is damaged in its first {self.least:,} bytes; {self.restore}")

    def check_length(self, name: str, file: BinaryIO, header: Header, size: int) -> None:
        """Raise `damaged` unless an open file has the length that its header gives."""
        length = header.length
        file.seek(header.size)
        if size != length and (how := rewrite_message(file.read(SUPERBLOCK), size, length)):
            raise self.changed(f"{name}: {how}")
        if size < length:
            raise self.damaged(
                f"{name} is cut off: {length - size:,} of its {length:,} bytes are missing; {self.restore}"
            )
        if size > length:
            more = f"{count_text(size - length, 'byte follows', 'bytes follow')} its {length:,} own"
            raise self.changed(f"{name} is damaged, or changed by another program: {more}")

    def check_digest(self, name: str, expected: str, compute: Callable[..., str]) -> None:
        """Raise `damaged` unless the digest is that of the content.

        compute: returns the digest of the content, with `marked=True` that with cleared consistency flags.
        """
        if compute() == expected:
            return
        if compute(marked=True) == expected:
            tool = f"`h5clear -s {for_shell(name)}`, one of HDF5's own tools, clears the flag"
            # The tool mends a file, so a kind whose only other remedy is `restore` needs none.
            more = "" if self.anyway().endswith(self.restore) else f"; {self.anyway()}"
            raise self.damaged(f"{name}: {MARKED}; {tool}{more}")
        raise self.changed(f"{name}: its content does not match its digest: damaged, or changed by another program")


MARKED = (
    "another program was stopped while it had the file open for writing: HDF5's flag for that is set, "
    "and everything else matches the digest"
)
"""Message for a file that differs only in the consistency flags."""


def digest_parts(
    file: BinaryIO, parts: Iterable[tuple[int, int]], superblock: int, *, marked: bool = False, before: bytes = b""
) -> str:
    """Return the SHA-256 digest of parts of an open file, given by begin and end.

    marked: clear the consistency flags of the superblock, which is at this offset.  before: bytes before the parts.
    """
    digest = hashlib.sha256(before)
    for begin, end in parts:
        file.seek(begin)
        while begin < end and (piece := file.read(min(_PIECE, end - begin))):
            if marked and begin == superblock and piece.startswith(SIGNATURE + b"\0"):  # others have other bytes there
                piece = piece[: _MARK.start] + bytes(4) + piece[_MARK.stop :]
            digest.update(piece)
            begin += len(piece)
    return digest.hexdigest()


def rewrite_message(superblock: bytes, size: int, length: int) -> str:
    """Return a message that another program rewrote a file, if HDF5 considers its `size` bytes complete; else "".

    length: the length in the file's header.
    """
    version = superblock[8:9]
    place = {b"\0": 40, b"\1": 44}.get(version, 28)
    if not superblock.startswith(SIGNATURE) or int.from_bytes(superblock[place : place + 8], "little") != size:
        return ""
    return (
        f"another program, such as h5repack, has rewritten it: HDF5 finds its {size:,} bytes complete, "
        f"but its header gives {length:,}"
    )


def version_text(version: tuple[int, int]) -> str:
    """Return a format version as text, such as `1.5`."""
    return f"{version[0]}.{version[1]}"


def parse_version(text: str) -> tuple[int, int] | None:
    """Return the format version in a text; None if it is not one."""
    match = re.fullmatch(r"([0-9]{1,4})\.([0-9]{1,4})", text)
    return match and (int(match[1]), int(match[2]))


def plain_json(text: str | bytes) -> Any:
    """Return the value of a JSON text.  Raises ValueError or RecursionError, also for NaN and infinities."""
    return json.loads(text, parse_constant=int)  # int("NaN") fails


def write_attributes(attributes: Any, values: Mapping[str, Any], where: str = "") -> None:
    """Write attributes in the order of their names.  where: prefix of a name in error messages."""
    import h5py

    for name in sorted(values):
        value, dtype = values[name], None
        if isinstance(value, str):
            # A command line can contain bytes that are not text, and HDF5 ends a string at a zero byte.
            value = value.encode("utf-8", "backslashreplace").replace(b"\0", b"\\x00")
            if len(value) > _MAX_TEXT:
                raise Invalid(f"{where}{name} has {len(value):,} bytes of text; at most {_MAX_TEXT:,} are allowed")
            dtype = h5py.string_dtype("utf-8", max(len(value), 1))
        elif isinstance(value, int | np.integer) and not isinstance(value, bool) and -(2**63) <= value < 2**63:
            value = np.int64(value)
        elif isinstance(value, float | np.floating):
            value = np.float64(value)
        else:
            raise Invalid(f"{where}{name} is {value!r:.80}; it must be text, a 64-bit integer or a float")
        attributes.create(name, value, dtype=dtype)


SECONDS = 20.0
"""Time limit of the child, more for files above 200 MB; one of 64 MiB takes about two seconds."""

MEMORY = 400 << 20
"""Limit of the child's data in bytes where the system supports it; `TIMES` the file size if that is more."""

TIMES = 10

Answer = tuple[dict[str, Any], dict[str, NDArray[Any]]]
"""Answer of a child: values for JSON, and arrays; of a file that it cannot read {"findings": [...]}."""

FAULTY = (ValueError, KeyError, TypeError, OSError, EOFError, zipfile.BadZipFile)
"""Errors of reading the answer of a faulty child."""


def in_child(module: str, content: bytes) -> Answer:
    """Pass `content` to a child process that runs `module` with `run_child`; return its answer, or a finding."""
    limit = max(SECONDS, len(content) / 1e7)
    try:
        done = subprocess.run(
            [sys.executable, "-m", module],
            input=content,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=module_environment() | {"OPENBLAS_NUM_THREADS": "1"},
            timeout=limit,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return finding(f"the HDF5 library does not finish reading it in {limit:.0f} s")
    if done.returncode == 0:
        with suppress(*FAULTY):
            return unpack(done.stdout)
    how = signal.Signals(-done.returncode).name if done.returncode < 0 else f"status {done.returncode}"
    return finding(f"the HDF5 library fails on it ({how})")


def finding(text: str) -> Answer:
    """Return the answer about a file that cannot be read."""
    return {"findings": [text]}, {}


def pack(text: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> memoryview:
    """Return an answer as the bytes of an npz file, in which one array is a JSON text."""
    buffer = io.BytesIO()
    text_bytes = np.frombuffer(json.dumps(text).encode(), np.uint8)
    # Without `allow_pickle`, which the oldest NumPy would write as an array.
    np.savez(buffer, text=text_bytes, **arrays)  # type: ignore[arg-type]
    return buffer.getbuffer()


def unpack(packed: bytes) -> Answer:
    """Return the answer packed by `pack`.  Raises ValueError and similar errors for bytes from a faulty child."""
    with np.load(io.BytesIO(packed), allow_pickle=False) as found:
        arrays = dict(found)
    return json.loads(arrays.pop("text").tobytes()), arrays


def memory_limit(size: int) -> int:
    """Return the limit of the child's data in bytes for a file of `size` bytes."""
    return max(MEMORY, TIMES * size)


def limit_memory(size: int = 0) -> None:
    """Limit this process's memory to the limit for a file of `size` bytes, and disable core dumps, if possible."""
    with suppress(ImportError):
        import resource

        for kind, limit in ((resource.RLIMIT_CORE, 0), (resource.RLIMIT_DATA, memory_limit(size))):
            with suppress(OSError, ValueError):
                resource.setrlimit(kind, (limit, limit))


def run_child(work: Callable[[bytes], Answer]) -> None:
    """Run the child: read a file's bytes from standard input and write the answer of `work` to standard output."""
    content = sys.stdin.buffer.read()
    limit_memory(len(content))
    try:
        packed = pack(*work(content))
    except MemoryError:
        packed = pack(*finding(f"reading it takes more than {memory_limit(len(content)) >> 20} MiB of memory"))
    except Exception:  # h5py raises many types of errors for damaged files, and objects cannot be packed
        packed = pack(*finding("its HDF5 is damaged"))
    sys.stdout.buffer.write(packed)
    sys.stdout.buffer.flush()
    # Skip the clean-up, since the library may have left a corrupt state.
    os._exit(0)
