"""The first 512 bytes, the user block: composed, taken apart, and the file compared with what they say."""

import hashlib
import io
import re
from pathlib import Path
from typing import BinaryIO, NamedTuple

from ttt_batch.base.errors import RunFileError, command_with, option, worded
from ttt_batch.base.files import NotOrdinaryError, open_ordinary, shown, size_of
from ttt_batch.runs.runfile.declaration import FILE_TYPE, FORMAT, STUDY_TYPE, USER_BLOCK, version_text
from ttt_batch.runs.runfile.superblock import MARKED, SIGNATURE, SIZE, clearing, rewritten, unmarked

MAGIC = f"{FILE_TYPE}, format ".encode()

MAX_BYTES = 1 << 32
"""The largest run file that is read, 4 GiB: a million games on 5x5 take 0.3 GB."""

SMALL_BYTES = 1 << 26
"""Up to 64 MiB a file is read at once; the digest of a larger one is compared before it is given memory."""

TABLES = (".pkl", ".pickle", ".json", ".jsonl", ".csv", ".npy", ".npz", ".parquet")
"""Ends of names under which other programs keep tables."""

PROGRAMS = (b"#!", b"\x7fELF", b"\xcf\xfa\xed\xfe", b"MZ")
"""First bytes of programs: scripts, and those of Linux, macOS and Windows."""

_RESTORE = "restore a backup, or train again"


class Damaged(RunFileError):
    """What is in the file is not what training wrote; with trust it is looked at all the same."""


class Header(NamedTuple):
    """What the first 512 bytes say: format version, digest of what follows, and length of the whole file."""

    version: tuple[int, int]
    digest: str
    length: int


def user_block(version: str, digest: str, length: int) -> bytes:
    """The first 512 bytes.  All versions up to this one word them alike, so reading compares them whole."""
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
    """The bytes of an ordinary file of bearable size.  Raises RunFileError, and OSError as the system has it.

    trust: also those of a large one whose digest is wrong.
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
            # Its first lines may say more: a newer format, or another kind of file.
            parse_header(name, file.read(USER_BLOCK + 8), size)
            raise Damaged(f"{name} has {size:,} bytes, a run file has at most {MAX_BYTES:,}; {_RESTORE}")
        if size > SMALL_BYTES and not trust:
            header = parse_header(name, file.read(USER_BLOCK + 8), size)
            if size == header.length:
                _check_digest(name, header.digest, file)
            file.seek(0)
        return file.read(size)


def _check_digest(name: str, digest: str, file: BinaryIO) -> None:
    """Raise Damaged unless the digest is that of what follows the user block."""
    file.seek(USER_BLOCK)
    start = file.read(SIZE)
    if _digest(start, file) == digest:
        return
    if _digest(unmarked(start), file) == digest:
        raise Damaged(f"{name}: {MARKED}; {clearing(name)}, and {option('trust', True)} opens it as it is")
    raise _changed(f"{name}: its content does not match its digest: damaged, or changed by another program")


def _digest(start: bytes, file: BinaryIO) -> str:
    """SHA-256 of what follows the user block.  start: its first bytes, which may be changed."""
    digest = hashlib.sha256(start)
    file.seek(USER_BLOCK + len(start))
    while piece := file.read(1 << 20):
        digest.update(piece)
    return digest.hexdigest()


def _changed(finding: str) -> Damaged:
    return Damaged(f"{finding}; {option('trust', True)} opens it anyway")


def verify(name: str, content: bytes) -> tuple[int, int]:
    """The format version of a run file whose length and digest are right.

    Raises Damaged if they are not, and RunFileError for what is too new.
    """
    size = len(content)
    version, digest, length = parse_header(name, content[: USER_BLOCK + 8], size)
    if size != length and (how := rewritten(content[USER_BLOCK : USER_BLOCK + SIZE], size, length)):
        raise _changed(f"{name}: {how}")
    if size < length:
        raise Damaged(f"{name} is cut off: {length - size:,} of its {length:,} bytes are missing; {_RESTORE}")
    if size > length:
        found = f"{size - length:,} bytes follow its {length:,} own"
        raise _changed(f"{name} is damaged, or changed by another program: {found}")
    # A newer version may word the rest of the block differently, so only its three lines count.
    if version <= FORMAT and content[:USER_BLOCK] != user_block(version_text(version), digest, length):
        raise _changed(f"{name} is damaged in its first {USER_BLOCK} bytes, or another program changed them")
    _check_digest(name, digest, io.BytesIO(content))
    return version


def _what_takes(name: str, block: bytes) -> str:
    """Return the way for a file that is no run but looks like an agent or like a table, in brackets; else nothing."""
    if name.endswith(".py"):
        return f" ({name}:NAME is an agent in it, for evaluate or play)"
    if block.startswith(PROGRAMS):
        return f" (cmd:{name} is an agent if it is a program, for evaluate or play)"
    if name.endswith(TABLES):
        return f" ({worded('ttt-batch import', 'import_run')} reads the tables of other programs)"
    return ""


def parse_header(name: str, start: bytes, size: int) -> Header:
    """What the first bytes of a file of `size` bytes say.

    start: the user block and 8 bytes more, as far as there are any.
    Raises Damaged for what is not ours, and RunFileError for what is too new.
    """
    block = start[:USER_BLOCK]
    if not block:
        raise Damaged(f"{name} is empty; {_RESTORE}")
    if block.startswith(f"{STUDY_TYPE}, format ".encode()):
        use = f"info, check, plot and {command_with('study', 'resume')} take it"
        raise RunFileError(f"{name} is a study of many learners, not a run; {use}")
    cut = len(block) < USER_BLOCK
    if not block.startswith(MAGIC) and not (cut and MAGIC.startswith(block)):
        # HDF5 looks for its signature at 0, 512, 1024, ...; these two are what there is in practice.
        if SIGNATURE in (block[:8], start[USER_BLOCK:]):
            opens = f"{option('trust', True)} opens one that another program has rewritten"
            raise Damaged(f"{name} is an HDF5 file, but not a {FILE_TYPE}; name a file that training wrote, or {opens}")
        raise Damaged(f"{name} is not a {FILE_TYPE}; name a file that training wrote{_what_takes(name, block)}")
    found = re.match(rb"([0-9]{1,4})\.([0-9]{1,4})\n", block[len(MAGIC) :])
    version = (int(found[1]), int(found[2])) if found else None
    if version and version[0] > FORMAT[0]:
        ours = f"this program reads {FORMAT[0]}.x; upgrade ttt-batch"
        raise RunFileError(f"{name} has format {version_text(version)}, but {ours}")
    if cut:
        length = re.search(rb"\nlength ([0-9]{1,18}) bytes\n", block)
        missing = f"{int(length[1]) - size:,}" if length else f"at least {USER_BLOCK - size:,}"
        raise Damaged(f"{name} is cut off: {missing} bytes are missing; {_RESTORE}")
    rest = re.match(rb"[^\n]*\nsha256 ([0-9a-f]{64})\nlength ([0-9]{1,18}) bytes\n", block)
    if version is None or version[0] < FORMAT[0] or rest is None or int(rest[2]) < USER_BLOCK:
        raise Damaged(f"{name} is damaged in its first {USER_BLOCK} bytes; {_RESTORE}")
    return Header(version, rest[1].decode(), int(rest[2]))


def holds_hdf5(content: bytes) -> bool:
    """Whether an HDF5 file begins anywhere that the library would look for it."""
    places = [0, *(USER_BLOCK << power for power in range(len(content).bit_length()))]
    return any(content[place : place + 8] == SIGNATURE for place in places)
