"""Removal of records that a scheduler keeps of ended tasks: 0.6 KB a task, and arguments of the last 1,000 calls."""

from collections.abc import Sequence
from contextlib import suppress
from typing import Any

OFTEN = 50
"""Ended tasks per removal: the arguments of a task with 200 short learners take 10 KB."""


def remove_records(groups: Sequence[str], dask_scheduler: Any = None) -> None:
    """Remove records of ended tasks of these groups; Dask calls this on the scheduler.

    - equal entries, one per call of `submit`, in the record (the span) of a group, except for one;
    - the cached groups of the last 100,000 task names;
    - the last 1,000 messages to each worker and client, kept for debugging, which contain the tasks' arguments.
    """
    from dask.utils import key_split

    key_split.cache_clear()
    for stream in (*dask_scheduler.stream_comms.values(), *dask_scheduler.client_comms.values()):
        with suppress(AttributeError):
            stream.recent_message_log.clear()
    for group in groups:
        with suppress(AttributeError, KeyError, TypeError):  # the group or its record does not exist
            entries = dask_scheduler.extensions["spans"].spans[dask_scheduler.task_groups[group].span_id].metadata
            kept: list[Any] = []
            for entry in entries["collections"]:
                if entry not in kept:
                    kept.append(entry)
            entries["collections"][:] = kept
