"""Snapshots of the tables at the recorded points of a training (`--keep-points`)."""

from collections.abc import Callable
from itertools import takewhile
from typing import Any

import numpy as np

from ttt_batch.base.errors import BoardError, UsageError, flag
from ttt_batch.base.quantities import count_text, size_text
from ttt_batch.runs.batches import record_schedule
from ttt_batch.runs.state import KeptPoints
from ttt_batch.training.plan import Plan

KEEP = "keep_points"


class SnapshotStore:
    """Store of snapshots, allocated for all points of the training.

    room: number of points, including earlier ones.  tables: a NamedTuple of arrays of the shapes to store.
    earlier: the snapshots of an earlier part of the run, if any.
    """

    def __init__(self, room: int, tables: Any, earlier: KeptPoints | None = None) -> None:
        self._games = np.zeros(room, np.int64)
        # The system provides memory only when it is written to.
        self._tables = type(tables)(*(np.empty((room, *array.shape), array.dtype) for array in tables))
        self._number = 0
        if earlier is not None:
            for number, games in enumerate(earlier.games.tolist()):
                self.keep(games, type(tables)(*(array[number] for array in earlier.tables)))

    def keep(self, games: int, tables: Any) -> None:
        """Store a snapshot of the tables at `games` games."""
        self._put(games, tables)
        self._number += 1

    def points_now(self, games: int, tables: Any) -> KeptPoints:
        """Return the snapshots so far, plus the current tables as a provisional last one unless already stored.

        The arrays are views, which the next snapshot changes.
        """
        number = self._number
        if not number or self._games[number - 1] != games:
            self._put(games, tables)
            number += 1
        return KeptPoints(self._games[:number], type(tables)(*(array[:number] for array in self._tables)))

    def _put(self, games: int, tables: Any) -> None:
        """Write the tables into the next free entry."""
        self._games[self._number] = games
        for place, array in zip(self._tables, tables, strict=True):
            place[self._number] = array


def make_snapshot_store(
    plan: Plan, tables: Any, limit: int, note: Callable[[str], None] | None, *, wanted: bool
) -> SnapshotStore | None:
    """Return the snapshot store of a training, or None if snapshots were requested neither now nor by the resumed run.

    tables: those at the start.  limit: bytes that the snapshots may take.  note: called with one line about their size.
    Raises UsageError if the table grows, and BoardError if the snapshots exceed `limit`.
    """
    run = plan.resumed
    past = None if run is None else run.points
    if past is None and not wanted:
        return None
    if plan.config.grown:
        raise UsageError(
            f"{flag(KEEP, True)} keeps the same positions at every point, and the table of {plan.config.board.name} "
            "grows; leave it out"
        )
    if past is not None and plan.earlier is not None:
        stays = np.isin(past.games, plan.earlier["games"])
        past = KeptPoints(past.games[stays], type(past.tables)(*(array[stays] for array in past.tables)))
    due = takewhile(lambda games: games < plan.total, record_schedule(plan.config.batches))
    room = sum(games > plan.games for games in due) + 1 + (0 if past is None else past.games.size)
    one = sum(array.nbytes for array in tables)
    size = f"{count_text(room, 'recorded point')} with tables of {_bytes(one)} each"
    if room * one > limit:
        raise BoardError(
            f"{size} take {_bytes(room * one)}, and {_bytes(limit)} may be used: "
            f"raise {flag('max_memory')}, or leave {flag(KEEP, True)} out"
        )
    if note is not None:
        note(f"keeping {size}: the run file will grow by about {_bytes(room * one)}")
    return SnapshotStore(room, tables, past)


def _bytes(number: int) -> str:
    """Format a number of bytes, in kB below a megabyte."""
    return size_text(number) if number >= 1e6 else f"{number / 1e3:.0f} kB"
