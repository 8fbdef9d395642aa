"""What a worker must have in common with whoever gives it work: other sources or versions may give other bytes."""

import functools
import hashlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numba
import numpy as np

from ttt_batch.base.kernel_cache import ROOT
from ttt_batch.base.version import VERSION


class Identity(NamedTuple):
    """Versions, as a person reads them; that of the package with the first digits of a hash of its sources."""

    ttt_batch: str
    numpy: str
    numba: str


class Refusal(NamedTuple):
    """What a worker answers instead of a result if it is another than it should be."""

    identity: Identity


@functools.cache
def identity() -> Identity:
    """That of this process."""
    return Identity(f"{VERSION} ({sources_hash(ROOT)})", np.__version__, numba.__version__)


def sources_hash(package: Path) -> str:
    """8 hex digits of the SHA-256 of a package's names and sources."""
    digest = hashlib.sha256()
    for source in sorted(package.rglob("*.py")):
        digest.update(source.relative_to(package).as_posix().encode())
        digest.update(source.read_bytes())
    return digest.hexdigest()[:8]


def difference(here: Identity, there: Identity) -> str:
    """The first thing in which a worker differs, in words; empty if there is none."""
    for name, own, other in zip(Identity._fields, here, there, strict=True):
        if own != other:
            return f"it has {name.replace('_', '-')} {other}, and here it is {own}"
    return ""


def perform(expected: Identity, function: Callable[..., Any], arguments: Sequence[Any]) -> Any:
    """Do a task on a worker; return what `function` returns, or a `Refusal`.

    expected: who gave it.  Raises whatever `function` raises.
    """
    mine = identity()
    if mine != tuple(expected):
        return Refusal(mine)
    return function(*arguments)
