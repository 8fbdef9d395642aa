"""Comparison of sources and versions between a worker and its client, as other versions may give different bytes."""

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
    """Versions as text; the version of the package includes the first digits of a hash of its sources."""

    ttt_batch: str
    numpy: str
    numba: str


class Refusal(NamedTuple):
    """Answer of a worker with other versions, instead of a result."""

    identity: Identity


@functools.cache
def worker_identity() -> Identity:
    """Return the identity of this process."""
    return Identity(f"{VERSION} ({sources_hash(ROOT)})", np.__version__, numba.__version__)


def sources_hash(package: Path) -> str:
    """Return the first 8 hex digits of the SHA-256 of a package's file names and sources."""
    digest = hashlib.sha256()
    for source in sorted(package.rglob("*.py")):
        digest.update(source.relative_to(package).as_posix().encode())
        digest.update(source.read_bytes())
    return digest.hexdigest()[:8]


def difference(here: Identity, there: Identity) -> str:
    """Return the first difference of a worker in words, or an empty text."""
    for name, own, other in zip(Identity._fields, here, there, strict=True):
        if own != other:
            return f"it has {name.replace('_', '-')} {other}, and here it is {own}"
    return ""


def perform(expected: Identity, function: Callable[..., Any], arguments: Sequence[Any]) -> Any:
    """Call `function` on a worker; return its result, or a `Refusal` if the worker differs.

    expected: identity of the client.  Exceptions of `function` pass through.
    """
    mine = worker_identity()
    if mine != tuple(expected):
        return Refusal(mine)
    return function(*arguments)
