"""The first 512 bytes, the user block: composed, taken apart, and the file compared with what they say."""

import hashlib
import io
import os
import re
import stat
from pathlib import Path

from ttt_batch.errors import RunFileError
from ttt_batch.files import shown
from ttt_batch.runfile.declaration import FILE_TYPE, FORMAT, USER_BLOCK

MAGIC = f"{FILE_TYPE}, format ".encode()

_HDF5_SIGNATURE = b"\x89HDF\r\n\x1a\n"

_RESTORE = "use a copy of it, or train again"


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


def read_verified(path: Path) -> tuple[bytes, tuple[int, int]]:
    """The bytes of a run file, whose length and digest are right, and its format version."""
    name = shown(path)
    # Looked at before opening: opening a pipe would wait for a writer.
    mode = path.stat().st_mode
    if stat.S_ISDIR(mode):
        raise RunFileError(f"{name} is a folder; name a run file in it")
    if not stat.S_ISREG(mode):
        raise RunFileError(f"{name} is not an ordinary file; copy it into one first")
    with path.open("rb") as file:
        size = os.fstat(file.fileno()).st_size
        block = file.read(USER_BLOCK)
        version, digest, length = _parse_user_block(path, block, size, file)
        if size < length:
            raise RunFileError(f"{name} is cut off: {length - size:,} of its {length:,} bytes are missing; {_RESTORE}")
        if size > length:
            raise RunFileError(f"{name} is damaged: {size - length:,} bytes follow its {length:,} own; {_RESTORE}")
        content = block + file.read(length - len(block))
    number = f"{version[0]}.{version[1]}"
    # A newer version may word the rest of the block differently, so only its three lines count.
    changed = version <= FORMAT and block != user_block(number, digest, length)
    if changed or hashlib.sha256(memoryview(content)[USER_BLOCK:]).hexdigest() != digest:
        raise RunFileError(f"{name} is damaged: its bytes are not those that were written (digest differs); {_RESTORE}")
    return content, version


def _parse_user_block(path: Path, block: bytes, size: int, file: io.BufferedReader) -> tuple[tuple[int, int], str, int]:
    """Format version, digest and length, from the first bytes.  Refuses what is not ours or too new."""
    name = shown(path)
    if not block:
        raise RunFileError(f"{name} is empty; {_RESTORE}")
    cut = len(block) < USER_BLOCK
    if not block.startswith(MAGIC) and not (cut and MAGIC.startswith(block)):
        # HDF5 looks for its signature at 0, 512, 1024, ...; these two are what there is in practice.
        signatures = block[:8], file.read(8)
        if _HDF5_SIGNATURE in signatures:
            raise RunFileError(f"{name} is an HDF5 file, but not a {FILE_TYPE}; name a file that training wrote")
        raise RunFileError(f"{name} is not a {FILE_TYPE}; name a file that training wrote")
    found = re.match(rb"([0-9]{1,4})\.([0-9]{1,4})\n", block[len(MAGIC) :])
    version = (int(found[1]), int(found[2])) if found else None
    if version and version[0] > FORMAT[0]:
        raise RunFileError(
            f"{name} has format {version[0]}.{version[1]}, but this program reads {FORMAT[0]}.x; upgrade ttt-batch"
        )
    if cut:
        length = re.search(rb"\nlength ([0-9]{1,18}) bytes\n", block)
        missing = f"{int(length[1]) - size:,}" if length else f"at least {USER_BLOCK - size:,}"
        raise RunFileError(f"{name} is cut off: {missing} bytes are missing; {_RESTORE}")
    rest = re.match(rb"[^\n]*\nsha256 ([0-9a-f]{64})\nlength ([0-9]{1,18}) bytes\n", block)
    if version is None or version[0] < FORMAT[0] or rest is None or int(rest[2]) < USER_BLOCK:
        raise RunFileError(f"{name} is damaged in its first {USER_BLOCK} bytes; {_RESTORE}")
    return version, rest[1].decode(), int(rest[2])
