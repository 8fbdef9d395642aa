"""Interface between proofs and agents, as kernels with one body for each class of agents.

An agent is a NamedTuple of arrays and numbers.  Some arrays are scratch, such as sums updated move by move.  So each
thread needs its own copy of the agent, made by `copy_for_thread`.
"""

import functools
from typing import Any

from ttt_batch.base.jit import generic

inlined_generic = functools.partial(generic, inline=True)
"""Decorator of kernels that are inlined, since passing an agent's arrays takes longer than most of the bodies."""


@inlined_generic
def reset(agent: Any) -> None:
    """Reset the agent's scratch to the empty board, in place."""


@inlined_generic
def mark_cell(agent: Any, cell: Any, player: Any) -> None:
    """Update the agent's scratch for a move of `player` (0 or 1) to a free `cell`; both int64."""


@inlined_generic
def unmark_cell(agent: Any, cell: Any, player: Any) -> None:
    """Undo the latest `mark`, with the same parameters."""


@inlined_generic
def tied_cells(agent: Any, lines: Any, own: Any, other: Any, view: Any, ply: Any) -> Any:
    """Return all cells (uint64, a set) that tie for the agent's move after `ply` moves; at least one.

    lines: `game.lines.Lines`.  own, other: uint64, the marks of the agent and of its opponent.  view: the result of
    `game.lines.view_of` for them.  An agent that picks an occupied cell has lost.
    """


@functools.singledispatch
def copy_for_thread(agent: Any) -> Any:
    """Return a copy of an agent with its own scratch, for another thread; one body for each class."""
    raise TypeError(f"{type(agent).__name__} cannot be copied for threads: decorate a function with @spare.register")
