"""The HDF5 superblock: tells damage from what other programs do to a whole file."""

from ttt_batch.base.console import for_shell

SIGNATURE = b"\x89HDF\r\n\x1a\n"

SIZE = 48
"""Bytes of the superblock that are read here."""

_MARK = slice(20, 24)
"""The consistency flags, which HDF5 sets while a file is open for writing."""

MARKED = (
    "another program was stopped while it had the file open for writing: HDF5's mark of that is set, "
    "and all else is as its digest says"
)
"""Says that nothing but the mark differs."""


def unmarked(superblock: bytes) -> bytes:
    """Return the superblock as it was before HDF5 marked the file as open for writing."""
    first_kind = superblock.startswith(SIGNATURE + b"\0")  # other kinds have other bytes there
    return superblock[: _MARK.start] + bytes(4) + superblock[_MARK.stop :] if first_kind else superblock


def rewritten(superblock: bytes, size: int, length: int) -> str:
    """Say that another program rewrote a file of `size` bytes, if HDF5 calls it whole; else return an empty text.

    length: the bytes that its header names.
    """
    version = superblock[8:9]
    place = 40 if version in (b"\0", b"\1") else 28
    if version == b"\1":
        place += 4
    if not superblock.startswith(SIGNATURE) or int.from_bytes(superblock[place : place + 8], "little") != size:
        return ""
    return (
        f"another program, such as h5repack, has rewritten it: HDF5 finds its {size:,} bytes complete, "
        f"and its header is of {length:,}"
    )


def clearing(name: str) -> str:
    """Say how to take HDF5's mark away."""
    return f"`h5clear -s {for_shell(name)}`, of HDF5's own tools, takes the mark away"
