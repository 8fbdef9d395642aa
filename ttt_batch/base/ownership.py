"""Checks that other users cannot write to a file or folder: unpickling a planted kernel would run its code.

A folder is private if it and every folder above it belong to this user or to root, and others cannot write to them;
ssh and sudo check the same.  A folder above may be writable for all if it has the sticky bit, as /tmp has.  The user's
own group does not count as others: many systems give every user a group of that name, with write permission by default.
On Windows, which has no such owners, everything passes.
"""

import errno
import os
import stat
from contextlib import suppress
from pathlib import Path

from ttt_batch.base.files import shown


class SharedError(PermissionError):
    """Error for a file or folder that others could write to; the message names it and the reason."""

    def __init__(self, path: Path, why: str) -> None:
        super().__init__(errno.EACCES, f"{shown(path)} {why}")


def sharing_reason(status: os.stat_result, *, above: bool = False) -> str:
    """Return why others could write to a file or folder, worded to follow its name, or an empty text.

    above: check for a folder only whether others could replace its entries.
    """
    if not hasattr(os, "geteuid"):
        return ""
    if status.st_uid not in (0, os.geteuid()):
        return f"belongs to {_user_name(status.st_uid)}"
    if above and status.st_mode & stat.S_ISVTX:
        return ""
    if status.st_mode & stat.S_IWOTH or (status.st_mode & stat.S_IWGRP and not _own_group(status.st_gid)):
        return "can be written by others"
    return ""


def _user_name(uid: int) -> str:
    import pwd

    with suppress(KeyError):
        return f"user {pwd.getpwuid(uid).pw_name}"
    return f"user {uid}"


def _own_group(gid: int) -> bool:
    """Return whether a group has the user's name and no other member."""
    import grp
    import pwd

    with suppress(KeyError):
        name, group = pwd.getpwuid(os.geteuid()).pw_name, grp.getgrgid(gid)
        return group.gr_name == name and set(group.gr_mem) <= {name}
    return False


def check_private(folder: Path) -> None:
    """Raise SharedError if others could put files into `folder`, a path without links that need not exist."""
    for place in (folder, *folder.parents):
        with suppress(FileNotFoundError):
            if why := sharing_reason(place.lstat(), above=place != folder):
                raise SharedError(place, why)


def private_folder(folder: Path) -> Path:
    """Create a folder for this user alone, unless it exists, and return it with links resolved.

    Missing parents are created for this user alone, too.  Raises SharedError, and OSError of the system.
    """
    real = folder.resolve()
    check_private(real)
    for place in (*reversed(real.parents), real):
        with suppress(FileExistsError):
            if not place.is_dir():
                place.mkdir(mode=0o700)
    check_private(real)  # again: another user may have created one of them first
    return real


def read_private(path: Path) -> bytes:
    """Return the content of an ordinary file that others could not have written.  Raises SharedError and OSError.

    The open file is checked, not its name, which another file could get in between.
    """
    flags = sum(getattr(os, name, 0) for name in ("O_NOFOLLOW", "O_NONBLOCK", "O_BINARY"))
    with os.fdopen(os.open(path, os.O_RDONLY | flags), "rb") as file:
        status = os.fstat(file.fileno())
        if not stat.S_ISREG(status.st_mode):
            raise OSError(errno.EINVAL, f"{path} is not an ordinary file")
        if why := sharing_reason(status):
            raise SharedError(path, why)
        return file.read()
