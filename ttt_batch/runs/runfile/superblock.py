"""HDF5 superblock checks, which distinguish damage from changes by other programs."""

from ttt_batch.base.console import for_shell

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
