"""The registry: every learner by name.  A new one is a file beside this one and a line here, or `register`ed from
outside."""

import re

from ttt_batch.base.choices import choose
from ttt_batch.base.errors import UsageError
from ttt_batch.learners import backward_q, greedy_td, minimax_q, sutton_barto, td, value_feed
from ttt_batch.learners.base import Learner, fold, learn, state_value
from ttt_batch.simulation.policy import score

_FILES = (td, sutton_barto, value_feed, minimax_q, backward_q, greedy_td)

LEARNERS: dict[str, Learner] = {file.LEARNER.name: file.LEARNER for file in _FILES}


def register(learner: Learner) -> Learner:
    """Add a learner from outside the package, for this process; return it.

    It is then known by its name to `train` and everything else, as long as the process lasts; a file of one of its runs
    opens where it is registered.  Its kernels are compiled anew in every process.
    Raises UsageError for a name that is taken or unfit for a file's name, and where its tables lack one of the kernels
    `score`, `fold`, `learn` and `state_value`.
    """
    name = learner.name
    if name in LEARNERS:
        raise UsageError(f"learner {name!r} is there already; choose another name")
    if not re.fullmatch(r"[a-z0-9][a-z0-9_-]{0,39}", name):
        raise UsageError(f"learner name {name!r} is not up to 40 of a-z, 0-9, - and _; choose another")
    kernels = {"score": score, "fold": fold, "learn": learn, "state_value": state_value}
    lacking = [kernel for kernel, bodies in kernels.items() if bodies.body(learner.tables) is None]
    if lacking:
        raise UsageError(
            f"learner {name!r} lacks {', '.join(lacking)}; decorate one each with "
            f"@{lacking[0]}.register({learner.tables.__name__})"
        )
    LEARNERS[name] = learner
    return learner


def learner_named(name: str) -> Learner:
    """The learner of that name, however it is spelled (see `choices`).  Raises UsageError."""
    return LEARNERS[choose("learner", name, LEARNERS)]
