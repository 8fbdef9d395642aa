"""What a scheduler would keep of tasks that have ended, by the thousand: about 0.6 KB a task."""

from collections.abc import Sequence
from contextlib import suppress
from typing import Any

OFTEN = 500
"""After how many tasks it is let go."""


def forget(groups: Sequence[str], dask_scheduler: Any = None) -> None:
    """Let go what Dask keeps of the tasks of these groups that have ended; run on the scheduler, which stays as it is.

    An entry for every call of `submit` in the record (the span) of a group, all of them equal: one is kept.  And the
    names of the last 100,000 tasks, of which Dask remembers the groups.
    """
    from dask.utils import key_split

    key_split.cache_clear()
    for group in groups:
        with suppress(AttributeError, KeyError, TypeError):  # the group or the record is not there
            entries = dask_scheduler.extensions["spans"].spans[dask_scheduler.task_groups[group].span_id].metadata
            kept: list[Any] = []
            for entry in entries["collections"]:
                if entry not in kept:
                    kept.append(entry)
            entries["collections"][:] = kept
