"""The notion of an agent: it has a name, and answers batches of positions."""

from typing import Any

from ttt_batch.agents.positions import Positions
from ttt_batch.base.choices import SEATS

MOST_AT_ONCE = 1 << 20
"""Positions that an agent is asked about in one call at most: 64 MB of arrays on 4x4x4."""


class Agent:
    """Source of answers to positions of one board or of many.

    name: what it is called in results and messages.  loses: an occupied cell that it chooses loses its game by the
    rules under which it learnt; with others that is an error, unless the person allows it.
    own: whether it is the package's own, which is known to answer the same each time.
    at_once: positions that it is asked about in one call at most; few if it is slow, so that progress can be shown.
    seats: those in which it can play.  resigns: an answer of zeros gives its game up; only the package's own do so.
    """

    name = "agent"
    loses = False
    own = False
    at_once = MOST_AT_ONCE
    seats: tuple[str, ...] = SEATS
    resigns = False

    def ask(self, batch: Positions) -> Any:
        """Its answer: int[n], a cell for each position, or float[n, cells], probabilities.  Raises AgentError."""
        raise NotImplementedError

    def close(self) -> None:
        """End what it runs."""
