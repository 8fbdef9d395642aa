"""Observations of environments: planes of `Batch`, or one number for each cell.

| name | numbers | meaning |
|---|---|---|
| `planes` | uint8[2, rows, cols] | 1 where the viewer has a mark, and 1 where its opponent has one |
| `planes-float32` | float32[2, rows, cols] | the same, for libraries that take no bytes |
| `canonical` | int8[rows, cols] | 1 the viewer's marks, -1 its opponent's, 0 free |
| `cells` | int8[rows, cols] | 1 the first player's marks, 2 the second's, 0 free |

The viewer is the agent; without an opponent it is the player to move.  A game that is over then has two views, and
`terminal_view` chooses: `to-move`, of the player who would move next, or `acted`, of the one whose action ended it.
An illegal action that loses leaves no mark, so both are the same player.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import DTypeLike, NDArray

from ttt_batch.agents.base import as_cells
from ttt_batch.core.errors import UsageError, quoted
from ttt_batch.core.text import choose
from ttt_batch.games.board import Board

DTYPES: dict[str, type[Any]] = {
    "planes": np.uint8,
    "planes-float32": np.float32,
    "canonical": np.int8,
    "cells": np.int8,
}
"""Kinds of observations, and their dtypes unless the user chooses one."""

TERMINAL_VIEWS = ("to-move", "acted")
"""Viewers of a game that is over, without an opponent."""


class Observer(NamedTuple):
    """Kind of observations, one of `DTYPES`, and their dtype."""

    kind: str
    dtype: np.dtype[Any]

    @property
    def bounds(self) -> tuple[int, int]:
        """Return the least and the greatest number."""
        return {"canonical": (-1, 1), "cells": (0, 2)}.get(self.kind, (0, 1))

    def __call__(self, planes: NDArray[Any], viewers: NDArray[Any]) -> NDArray[Any]:
        """Return new observations of some games.

        planes: uint8[n, 2, rows, cols], the viewers' marks first.  viewers: int[n], their seats.
        """
        if self.kind.startswith("planes"):
            return planes.astype(self.dtype)
        own, other = planes[:, 0].astype(self.dtype), planes[:, 1].astype(self.dtype)
        if self.kind == "canonical":
            return own - other
        seat = viewers.astype(self.dtype)[:, None, None]
        return own * (1 + seat) + other * (2 - seat)


def make_observer(observation: str, dtype: DTypeLike | None = None) -> Observer:
    """Return what makes observations of a kind.  dtype: None for the kind's own.

    Raises UsageError for an unknown kind, and for a dtype that cannot hold its numbers.
    """
    kind = choose("observation", observation, list(DTYPES))
    try:
        wanted = np.dtype(DTYPES[kind] if dtype is None else dtype)
    except TypeError:
        raise UsageError(f"dtype {quoted(str(dtype))} is unknown; give one of NumPy's, such as float32") from None
    observer = Observer(kind, wanted)
    if wanted.kind not in "iuf" or (wanted.kind == "u" and observer.bounds[0] < 0):
        raise UsageError(f"{kind} observations of the dtype {wanted} are not supported; choose int8 or float32")
    return observer


def planes_of(board: Board, own: NDArray[Any], other: NDArray[Any]) -> NDArray[np.uint8]:
    """Return planes (uint8[n, 2, rows, cols]) of positions with these marks of both sides (sets, uint32 or uint64)."""
    cells = as_cells(np.stack([own, other], axis=1), board.cells)
    return cells.view(np.uint8).reshape(-1, 2, board.rows, board.cols)


def turned(planes: NDArray[Any], shown: NDArray[Any], viewers: NDArray[Any]) -> NDArray[Any]:
    """Return planes (uint8[n, 2, rows, cols]) with the marks of `viewers` first, not of `shown` (int[n], seats)."""
    return np.where((shown != viewers)[:, None, None, None], planes[:, ::-1], planes)
