"""Choice of the per-thread worker for each family of learners."""

from collections.abc import Callable, Mapping

from ttt_batch.studies.designs.family import Family
from ttt_batch.studies.designs.networks import NETWORKS
from ttt_batch.studies.designs.tables import TABLES
from ttt_batch.studies.designs.tallies import TALLIES
from ttt_batch.studies.learning.learnt import Room
from ttt_batch.studies.learning.networks import NetworkRoom
from ttt_batch.studies.learning.tables import Classroom
from ttt_batch.studies.learning.tallies import TallyRoom

_ROOMS: Mapping[str, type[Room]] = {TABLES.name: Classroom, NETWORKS.name: NetworkRoom, TALLIES.name: TallyRoom}


def make_room(family: Family, *, keep: bool, stop: Callable[[], bool]) -> Room:
    """Return a per-thread worker (`Room`) for learners of a family."""
    return _ROOMS[family.name](keep=keep, stop=stop)
