"""Families of learners, and the choice of a family by learner."""

from collections.abc import Mapping
from typing import Any

from ttt_batch.base.choices import PATTERN_LEARNERS
from ttt_batch.base.errors import UsageError, flag
from ttt_batch.learners import any_learner
from ttt_batch.studies.designs.family import Method, Option
from ttt_batch.studies.designs.networks import NETWORKS
from ttt_batch.studies.designs.tables import TABLES
from ttt_batch.studies.designs.tallies import TALLIES, TALLY
from ttt_batch.studies.designs.values import listed, values_of

FAMILIES: Mapping[str, Method] = {family.name: family for family in (TABLES, NETWORKS, TALLIES)}

OPTION_NAMES = tuple(dict.fromkeys(name for family in FAMILIES.values() for name in family.options))
"""Options of all families."""


_LEARNER = {"learner": Option(any_learner)}


def family_for(learners: Any, *, tally: bool = False) -> Method:
    """Return the family of one or several learners.

    learners: the given values of the option, None for the default.
    tally: count results without evaluating tables.
    Raises UsageError for an unknown learner, for learners of both tables and networks, and for networks with `tally`.
    """
    names = () if learners is None else values_of("learner", learners, _LEARNER)
    networks = [name for name in names if name in PATTERN_LEARNERS]
    tables = [name for name in names if name not in networks]
    if networks and tables:
        raise UsageError(
            f"learner {listed(names)}: a study holds learners of tables or of networks, whose results differ; choose "
            f"{listed(tables)}, or {listed(networks)}"
        )
    if networks and tally:
        raise UsageError(f"learner {listed(networks)} is proved, not tallied; leave {flag(TALLY, True)} out")
    return NETWORKS if networks else TALLIES if tally else TABLES
