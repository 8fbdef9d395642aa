"""Every learner by name, and all that the author of another one needs.

A learner of your own is a NamedTuple of arrays (its tables), a body for each of four kernels, and a `Learner`, which
`register` adds; `scripts/examples/own_learner.py` is a whole one.  A new learner of the package is a file in `tabular`.

What it is:     Learner, Settings (its numbers), Choice (UNIFORM, FIRST_BEST or LAST_BEST among its best moves)
Its kernels:    score, fold, learn, state_value; and begin, if it is to play on boards too large to enumerate
The board:      Graph, edges_of, mover_of, n_unfinished; UNFINISHED, FIRST_WINS, SECOND_WINS, DRAW in `Graph.outcome`
What is learnt: Trajectory and explored (of one game, for `learn`); Counts, GREEDY, EXPLORING (of a batch, for `fold`)
Step sizes:     Step, step_size (one visit), share_of (a batch of visits), visit_weight; exploring_share of the policy
Tables:         one_value, own_values, own_afterstates register score, state_value and begin for tables of values
Helpers:        mark_parents, start_row, is_settled; inlined compiles a function of yours into the kernels that call it
"""

import importlib
import re
import sys
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from ttt_batch.compiler.jit import inlined
from ttt_batch.core.errors import TttBatchError, UsageError, quoted, worded
from ttt_batch.core.named_code import is_callable_name, named_object
from ttt_batch.core.text import LEARNER_NAMES, PATTERN_LEARNERS, choose, either, find_name
from ttt_batch.games.board import DRAW, FIRST_WINS, SECOND_WINS, UNFINISHED
from ttt_batch.games.graph import Graph, edges_of, mover_of, n_unfinished
from ttt_batch.learners.base import (
    Learner,
    Settings,
    Step,
    Trajectory,
    begin,
    explored,
    exploring_share,
    fold,
    is_settled,
    learn,
    mark_parents,
    share_of,
    start_row,
    state_value,
    step_size,
    visit_weight,
)
from ttt_batch.learners.values import one_value, own_afterstates, own_values
from ttt_batch.simulation.policy import EXPLORING, FIRST_BEST, GREEDY, LAST_BEST, UNIFORM, Choice, Counts, score

__all__ = [
    "DRAW",
    "EXPLORING",
    "FIRST_BEST",
    "FIRST_WINS",
    "GREEDY",
    "LAST_BEST",
    "LEARNERS",
    "SECOND_WINS",
    "UNFINISHED",
    "UNIFORM",
    "Choice",
    "Counts",
    "Graph",
    "Learner",
    "Settings",
    "Step",
    "Trajectory",
    "begin",
    "edges_of",
    "explored",
    "exploring_share",
    "fold",
    "inlined",
    "is_settled",
    "learn",
    "learner_named",
    "mark_parents",
    "mover_of",
    "n_unfinished",
    "one_value",
    "own_afterstates",
    "own_values",
    "register",
    "score",
    "share_of",
    "start_row",
    "state_value",
    "step_size",
    "visit_weight",
]

LEARNERS: dict[str, Learner] = {
    name: importlib.import_module(f"{__name__}.tabular.{name.replace('-', '_')}").LEARNER for name in LEARNER_NAMES
}


_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,39}")
"""Names that learners may have."""

_homes: dict[str, str] = {}
"""Place where each learner from outside was registered: the name of a module, or FILE.py:NAME."""


def register(learner: Learner) -> Learner:
    """Add a learner from outside the package, for this process; return it.

    `train` and everything else then know it by its name; a process that opens a file of one of its runs must register
    it, too.  A command does so with `--learner FILE.py:NAME`.  Its kernels are compiled in every process.
    Raises UsageError if its name is taken or unfit for a file's name, or if its tables lack one of the kernels `score`,
    `fold`, `learn` and `state_value`.
    """
    name = learner.name
    if (there := find_name(name, [*LEARNERS, *PATTERN_LEARNERS])) is not None:
        raise UsageError(f"learner {there!r} is there already; choose another name")
    if not _NAME.fullmatch(name):
        raise UsageError(f"learner name {name!r} is not up to 40 of a-z, 0-9, - and _; choose another")
    kernels = {"score": score, "fold": fold, "learn": learn, "state_value": state_value}
    lacking = [kernel for kernel, bodies in kernels.items() if bodies.body(learner.tables) is None]
    if lacking:
        raise UsageError(
            f"learner {name!r} lacks {', '.join(lacking)}; decorate one each with "
            f"@{lacking[0]}.register({learner.tables.__name__})"
        )
    LEARNERS[name] = learner
    _homes[name] = str(sys._getframe(1).f_globals.get("__name__"))
    return learner


def check_begins(learner: Learner, board: str) -> None:
    """Raise UsageError for a learner that cannot begin rows, for a board whose rows are added as play reaches them."""
    if begin.body(learner.tables) in (None, _begin_nothing):
        raise UsageError(
            f"learner {learner.name!r} lacks begin, which {board} needs because it is too large to enumerate; decorate "
            f"one with @begin.register({learner.tables.__name__}), or choose a smaller board"
        )


def add_empty_begin(learner: Learner) -> None:
    """Let kernels that look up rows be compiled for a learner without `begin`: on an enumerated board none begins."""
    if begin.body(learner.tables) is None:
        begin.register(learner.tables)(_begin_nothing)


def _begin_nothing(tables: Any, graph: Graph, row: Any, worth: Any, key: Any) -> None:
    """Do nothing: rows exist already."""


def register_named(text: str) -> str:
    """Run the file of `FILE.py:NAME`, register its object NAME, a learner, and return the learner's own name.

    Raises UsageError if NAME is not a learner, and as `register` does, and TttBatchError if the file cannot be run.
    """
    before = set(LEARNERS)
    path, name, learner = named_object(
        "learner", text, TttBatchError, lambda found: isinstance(found, Learner), keep=True
    )
    if not isinstance(learner, Learner):
        raise UsageError(f"learner {quoted(text)} is of type {type(learner).__name__}; name a Learner of that file")
    if LEARNERS.get(learner.name) is not learner:
        register(learner)
    for known in {*LEARNERS} - before | {learner.name}:  # the file may have registered others, too
        _homes[known] = f"{path.resolve()}:{name}"
    return learner.name


def with_learners(homes: Sequence[str], function: Callable[..., Any], *arguments: Any) -> Any:
    """Register the learners of `homes_of` in another process; return what a function returns there."""
    for home in homes:
        if is_callable_name(home):
            register_named(home)
        else:
            importlib.import_module(home)
    return function(*arguments)


def learner_named(name: str) -> Learner:
    """Return the learner of that name, in any spelling (see `core.text`).  Raises UsageError."""
    if name not in LEARNERS and (networks := find_name(name, PATTERN_LEARNERS)) is not None:
        raise UsageError(
            f"{networks} learns networks, and this takes a learner of tables; choose {either([*LEARNERS])}"
        )
    return LEARNERS[choose("learner", name, LEARNERS)]


def foreign_learner(name: object) -> str:
    """Return what is wrong with a file of a learner of that name, and the remedy; empty if the learner is known.

    A text that no learner can have for a name is not repeated here: it is wrong for another reason.
    """
    if not isinstance(name, str) or name in LEARNERS or name in PATTERN_LEARNERS or not _NAME.fullmatch(name):
        return ""
    remedy = worded(
        "add --learner FILE.py:NAME, the file and the Learner in it", "register it first (learners.register)"
    )
    return f"it is of learner {name}, which does not come with this package; {remedy}"


def any_learner(given: object) -> str:
    """Return the name of a learner of tables or networks, in any spelling.  Raises UsageError, which lists them."""
    return choose("learner", given, dict.fromkeys([*LEARNERS, *PATTERN_LEARNERS]))


def homes_of(names: Iterable[str]) -> tuple[str, ...]:
    """Return the modules, and files as FILE.py:NAME, from which another process can load these learners.

    Raises UsageError for a learner of the script itself, which no other process can import.
    """
    homes = {_homes[name]: name for name in sorted(set(names)) if name in _homes}
    if "__main__" in homes:
        raise UsageError(
            f"learner {homes['__main__']!r} is registered in the script itself (__main__), which workers cannot "
            "import; move it to a module of its own"
        )
    return tuple(sorted(homes))
