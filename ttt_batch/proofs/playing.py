"""What a proof asks of an agent, whatever it plays by: kernels with one body for each class of agents.

An agent is a NamedTuple of arrays and numbers.  Some arrays are its scratch, e.g. sums that follow the position move by
move, so each thread needs an agent of its own: `spare`.
"""

import functools
from typing import Any

from ttt_batch.base.jit import generic

inlined_generic = functools.partial(generic, inline=True)
"""Compiled into the search: a call that passes an agent's arrays takes longer than most of these bodies."""


@inlined_generic
def reset(agent: Any) -> None:
    """Set the agent's scratch to the empty board, in place."""


@inlined_generic
def mark(agent: Any, cell: Any, player: Any) -> None:
    """Follow a move of `player` (0 or 1) to a free cell, in place; both int64."""


@inlined_generic
def unmark(agent: Any, cell: Any, player: Any) -> None:
    """Take back the latest of the moves marked, in place; as for `mark`."""


@inlined_generic
def picks(agent: Any, lines: Any, own: Any, other: Any, view: Any, ply: Any) -> Any:
    """The cells (uint64, a set) that the agent may pick, to move after `ply` moves: all that tie, at least one.

    lines: `game.lines.Lines`.  own, other: uint64, the marks of the agent and of its opponent.  view: what
    `game.lines.view_of` says of them.  An agent that picks an occupied cell has lost.
    """


@functools.singledispatch
def spare(agent: Any) -> Any:
    """A copy of an agent for another thread: what its kernels write is its own.  One body for each class."""
    raise TypeError(f"{type(agent).__name__} has no copies for threads: decorate a function with @spare.register")
