"""What a run file is known by, so that its writer can tell whether it still holds what was written."""

import errno
import hashlib
import os
import stat
from pathlib import Path
from typing import NamedTuple

from ttt_batch.base.files import identity_in
from ttt_batch.runs.runfile.declaration import USER_BLOCK


class Stamp(NamedTuple):
    """identity: the file by its system (`identity_in`).  block: its first 512 bytes, with the digest of the rest."""

    identity: tuple[int, ...]
    block: bytes


def stamp_of(path: Path) -> Stamp | None:
    """What a file is known by now; None if there is none.  Raises OSError, also for what is no ordinary file."""
    try:
        status = path.stat()
        if not stat.S_ISREG(status.st_mode):
            raise OSError(errno.EINVAL, "it is not an ordinary file")
        with path.open("rb") as file:
            return Stamp(identity_in(os.fstat(file.fileno())), file.read(USER_BLOCK))
    except FileNotFoundError:
        return None


def still_holds(path: Path, stamp: Stamp) -> bool:
    """Whether a file is the one of `stamp`, or has the bytes of its run.

    It is opened only if it was touched or replaced since.  Raises OSError if it cannot be opened.
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
