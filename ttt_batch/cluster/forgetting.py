"""What a scheduler would keep of tasks that have ended: 0.6 KB a task, and the arguments of the last 1,000 calls."""

from collections.abc import Sequence
from contextlib import suppress
from typing import Any

OFTEN = 50
"""After how many tasks it is let go: the arguments of a task with 200 short learners take 10 KB."""


def forget(groups: Sequence[str], dask_scheduler: Any = None) -> None:
    """Let go what Dask keeps of the tasks of these groups that have ended; run on the scheduler, which stays as it is.

    An entry for every call of `submit` in the record (the span) of a group, all of them equal: one is kept.  And the
    names of the last 100,000 tasks, of which Dask remembers the groups.  And the last 1,000 messages to each worker and
    client, for debugging: they hold the tasks' arguments.
    """
    from dask.utils import key_split

    key_split.cache_clear()
    for stream in (*dask_scheduler.stream_comms.values(), *dask_scheduler.client_comms.values()):
        with suppress(AttributeError):
            stream.recent_message_log.clear()
    for group in groups:
        with suppress(AttributeError, KeyError, TypeError):  # the group or the record is not there
            entries = dask_scheduler.extensions["spans"].spans[dask_scheduler.task_groups[group].span_id].metadata
            kept: list[Any] = []
            for entry in entries["collections"]:
                if entry not in kept:
                    kept.append(entry)
            entries["collections"][:] = kept
