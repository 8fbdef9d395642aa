"""Agents of any kind: everything that answers a batch of positions with moves.

`ttt_batch.judge` evaluates an agent.  `at_board` binds one to a board, so that `evaluate`, `tournament`, `show` and
`play` take it like a run.  `from_openspiel` converts a pyspiel policy or bot to an agent, and `to_openspiel` an agent
to a pyspiel policy.
"""

from ttt_batch.agents.external import at_board
from ttt_batch.agents.openspiel import from_openspiel, to_openspiel

__all__ = ["at_board", "from_openspiel", "to_openspiel"]
