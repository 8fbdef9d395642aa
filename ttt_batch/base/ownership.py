"""Who else could write here: compiled kernels are unpickled, and unpickling runs whatever the writer planted.

A folder is private if it and every folder above it belong to this user or to root, and others may write to none of
them; ssh and sudo check the same.  A folder above may be open to all if only an entry's owner may rename it (the sticky
bit, as on /tmp).  A group counts as others unless it is the user's own: many systems give every user a group of that
name, and make what the user creates writable for it.  On Windows, which has no such owners, nothing is refused.
"""

import errno
import os
import stat
from contextlib import suppress
from pathlib import Path

from ttt_batch.base.files import shown


class SharedError(PermissionError):
    """Others could write to a file or folder; the message names it and says why."""

    def __init__(self, path: Path, why: str) -> None:
        super().__init__(errno.EACCES, f"{shown(path)} {why}")


def why_shared(status: os.stat_result, *, above: bool = False) -> str:
    """Why others could write to what has this status, to follow its name; empty if they could not.

    above: it is a folder, and the question is whether others could replace what it holds.
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
    """Whether a group is named like the user and has no other member."""
    import grp
    import pwd

    with suppress(KeyError):
        name, group = pwd.getpwuid(os.geteuid()).pw_name, grp.getgrgid(gid)
        return group.gr_name == name and set(group.gr_mem) <= {name}
    return False


def check_private(folder: Path) -> None:
    """Raise SharedError if others could put files into `folder`, which has no links in it and need not exist."""
    for place in (folder, *folder.parents):
        with suppress(FileNotFoundError):
            if why := why_shared(place.lstat(), above=place != folder):
                raise SharedError(place, why)


def private_folder(folder: Path) -> Path:
    """Make a folder for this user alone, unless it is there, and return it with links followed.

    What is missing above it is made for this user alone, too.  Raises SharedError, and what the system raises.
    """
    real = folder.resolve()
    check_private(real)
    for place in (*reversed(real.parents), real):
        with suppress(FileExistsError):
            if not place.is_dir():
                place.mkdir(mode=0o700)
    check_private(real)  # in a folder open to all, another user may have been faster
    return real


def read_own(path: Path) -> bytes:
    """The content of an ordinary file that others could not have written.  Raises SharedError, and OSError.

    The open file is looked at and read, not the name, which could be given to another file in between.
    """
    flags = sum(getattr(os, name, 0) for name in ("O_NOFOLLOW", "O_NONBLOCK", "O_BINARY"))
    with os.fdopen(os.open(path, os.O_RDONLY | flags), "rb") as file:
        status = os.fstat(file.fileno())
        if not stat.S_ISREG(status.st_mode):
            raise OSError(errno.EINVAL, f"{path} is no ordinary file")
        if why := why_shared(status):
            raise SharedError(path, why)
        return file.read()
