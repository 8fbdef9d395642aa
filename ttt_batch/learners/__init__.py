"""The registry: every learner by name.  A new one is a file beside this one and a line here."""

from ttt_batch.errors import UsageError
from ttt_batch.learners import backward_q, greedy_td, minimax_q, sutton_barto, td, value_feed
from ttt_batch.learners.base import Learner

_FILES = (td, sutton_barto, value_feed, minimax_q, backward_q, greedy_td)

LEARNERS: dict[str, Learner] = {file.LEARNER.name: file.LEARNER for file in _FILES}


def learner_named(name: str) -> Learner:
    """The learner of that name.  Raises UsageError."""
    try:
        return LEARNERS[name]
    except KeyError:
        raise UsageError(f"unknown learner {name!r}; choose one of: {', '.join(LEARNERS)}") from None
