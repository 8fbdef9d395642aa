"""Many light Dask workers in one process, and tasks that take time and room but no work, for `scaling.py`.

python scripts/dummy_workers.py ADDRESS WORKERS
"""

import asyncio
import functools
import pickle
import random
import sys
import tempfile
import time
from collections.abc import Sequence
from typing import Any

import numpy as np

from ttt_batch.studies.designs.design import make_design
from ttt_batch.studies.work import Arrays, LearnerResults, Worker


@functools.cache
def sample(games: int, batch: int) -> Arrays:
    """The statistics of one learner."""
    (setting,) = make_design({"games": games, "batch": batch}, 1, "grid").settings
    return Worker(keep=False, stop=lambda: False).learn(setting, [0]).statistics


def seem_to_learn(seconds: float, hurry: bool, parts: bytes, _keep: bool) -> tuple[list[Any], float]:
    """Return the result of `learn_remotely` after about the time that it takes.

    seconds: that a learner takes.  hurry: whether to return at once.
    """
    sent = pickle.loads(parts)
    one = sample(sent[0][0].games, sent[0][0].config.batch)
    spent = seconds * sum(len(seeds) for _, seeds in sent)
    learnt = [
        LearnerResults({name: np.repeat(array, len(seeds), axis=0) for name, array in one.items()}, {})
        for _, seeds in sent
    ]
    if not hurry:
        time.sleep(spent * random.uniform(0.9, 1.1))
    return learnt, spent


def seem_to_walk(_policy: Sequence[Any] | None, size: int) -> Any:
    """Counts, as many as there are."""
    return np.zeros(size, np.uint32)


async def serve(address: str, workers: int) -> None:
    """Be so many workers of a scheduler, until it ends."""
    import dask
    from distributed import Worker

    # As in local clusters: with Dask's own profiles, 200 workers would wake 30,000 times a second.
    dask.config.set({"distributed.worker.profile.enabled": False, "distributed.admin.tick.interval": "1s"})
    with tempfile.TemporaryDirectory() as folder:
        settings = {"nthreads": 1, "dashboard": False, "memory_limit": 0, "local_directory": folder}
        made = await asyncio.gather(*(Worker(address, **settings) for _ in range(workers)))
        await asyncio.gather(*(worker.finished() for worker in made))


if __name__ == "__main__":
    from dummy_workers import sample as shared  # the module that tasks name, not this one, `__main__`

    shared(int(sys.argv[3]), int(sys.argv[4]))  # once, before 50 threads want it
    asyncio.run(serve(sys.argv[1], int(sys.argv[2])))
