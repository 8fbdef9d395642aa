"""Family of learners with tables whose results are counted without evaluating the tables.

An evaluation takes as long as thousands of games, and its figures need more space.  A million short runs
do not need it.
"""

from itertools import count, takewhile

from ttt_batch.runs.config import Config
from ttt_batch.studies.designs.tables import Tables

TALLY = "tally"
"""Name of the option of a study, or key of its description, that selects this family."""

STEPS = (1, 2, 5)
"""Multiples of powers of ten at which learners without batches record a point."""


class Tallies(Tables):
    """Family of the learners of `Tables`, with the same keys, whose results are counted."""

    name = "tallies"

    def points(self, config: Config, games: int) -> list[int]:
        """Return the recorded points, for batches those of `Tables`, because they are ends of batches."""
        if config.batch != 1:
            return super().points(config, games)
        steps = (step * 10**power for power in count() for step in STEPS)
        return [*takewhile(lambda point: point < games, steps), games]

    def columns(self, *, exact: bool) -> tuple[str, ...]:
        """Return an empty tuple."""
        del exact
        return ()

    def exact(self, config: Config) -> bool:
        """Return False."""
        del config
        return False


TALLIES = Tallies()
