"""Choice of the per-thread worker for each family of learners."""

from collections.abc import Callable, Mapping

from ttt_batch.studies.designs.family import Method
from ttt_batch.studies.designs.networks import NETWORKS
from ttt_batch.studies.designs.tables import TABLES
from ttt_batch.studies.designs.tallies import TALLIES
from ttt_batch.studies.learning.learnt import Worker
from ttt_batch.studies.learning.networks import NetworkWorker
from ttt_batch.studies.learning.tables import TableWorker
from ttt_batch.studies.learning.tallies import TallyWorker

_ROOMS: Mapping[str, type[Worker]] = {TABLES.name: TableWorker, NETWORKS.name: NetworkWorker, TALLIES.name: TallyWorker}


def make_worker(family: Method, *, keep: bool, stop: Callable[[], bool]) -> Worker:
    """Return a per-thread worker (`Worker`) for learners of a family."""
    return _ROOMS[family.name](keep=keep, stop=stop)
