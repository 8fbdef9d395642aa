"""What a page carries in bytes: arrays, one after the other, deflated.  `sections.js` reads them.

Each part of a page is a script, the plain values that it reads, and its arrays: `solution`, `table` and `network`.
"""

import base64
import zlib
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray


class PagePart(NamedTuple):
    """What one script of the page reads.

    script: its name without `.js`, under which the page keeps its values, too.  values: plain values.
    arrays: by name, little-endian; no two parts of a page have the same name.
    """

    script: str
    values: dict[str, Any]
    arrays: dict[str, NDArray[Any]]


def pack_arrays(parts: list[PagePart]) -> dict[str, Any]:
    """The arrays of all parts as plain values.

    sizes: bytes of each, in order.  deflated: a zlib stream of them, in base 64.
    """
    arrays = {name: array for part in parts for name, array in part.arrays.items()}
    content = b"".join(array.tobytes() for array in arrays.values())
    return {
        "sizes": {name: array.nbytes for name, array in arrays.items()},
        "deflated": base64.b64encode(zlib.compress(content, 9)).decode(),
    }


def planes(numbers: NDArray[np.uint32]) -> NDArray[np.uint8]:
    """uint8[4, n]: the lowest bytes of all numbers, then the next ones ...; the highest, mostly 0, take no room so."""
    return np.ascontiguousarray(numbers.astype("<u4").view(np.uint8).reshape(-1, 4).T)
