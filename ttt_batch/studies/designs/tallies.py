"""Learners of tables whose results are counted and whose tables are not judged.

A judgement takes as long as thousands of games, and its figures more room: a million short runs have no need of them.
"""

from itertools import count, takewhile

from ttt_batch.runs.config import Config
from ttt_batch.studies.designs.tables import Tables

TALLY = "tally"
"""What chooses this family, as an option of a study or a key of its description."""

STEPS = (1, 2, 5)
"""Times powers of ten: games at the recorded points of learners that learn game by game, which are few."""


class Tallies(Tables):
    """See the module.  Learners are those of `Tables`, with the same keys."""

    name = "tallies"

    def points(self, config: Config, games: int) -> list[int]:
        """See `Family`.  In batches they are those of `Tables`, which are ends of batches."""
        if config.batch != 1:
            return super().points(config, games)
        steps = (step * 10**power for power in count() for step in STEPS)
        return [*takewhile(lambda point: point < games, steps), games]

    def columns(self, *, exact: bool) -> tuple[str, ...]:
        """See `Family`."""
        del exact
        return ()

    def exact(self, config: Config) -> bool:
        """See `Family`."""
        del config
        return False


TALLIES = Tallies()
