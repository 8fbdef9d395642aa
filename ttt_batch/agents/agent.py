"""The notion of an agent: it has a name, and answers batches of positions."""

from typing import Any

from ttt_batch.agents.positions import Batch
from ttt_batch.base.choices import SEATS


class Agent:
    """Source of answers to positions of one board or of many.

    name: what it is called in results and messages.  loses: an occupied cell that it chooses loses its game by the
    rules under which it learnt; with others that is an error, unless the person allows it.
    own: whether it is the package's own, which is known to answer the same each time.
    seats: those in which it can play.  resigns: an answer of zeros gives its game up; only the package's own do so.
    """

    name = "agent"
    loses = False
    own = False
    seats: tuple[str, ...] = SEATS
    resigns = False

    def ask(self, batch: Batch) -> Any:
        """Its answer: int[n], a cell for each position, or float[n, cells], probabilities.  Raises AgentError."""
        raise NotImplementedError

    def close(self) -> None:
        """End what it runs."""
