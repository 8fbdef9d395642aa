"""Agents of any kind: whatever answers a batch of positions with moves.

`ttt_batch.judge` judges one; `at_board` seats it at a board, so that it goes into `evaluate`, `tournament`, `show` and
`play` as a run does; `from_openspiel` makes one of a pyspiel policy or bot, and `to_openspiel` a pyspiel policy of one.
"""

from ttt_batch.agents.external import at_board
from ttt_batch.agents.openspiel import from_openspiel, to_openspiel

__all__ = ["at_board", "from_openspiel", "to_openspiel"]
