"""Whether a run's agent can be beaten, by search: exact if its game tree can be exhausted, on boards of any size.

`proofs` does it for any agent; here are the kernels by which it plays a learner's tables.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ttt_batch.agents.scripted import seat_number
from ttt_batch.agents.tables import Agent, agent_cells, make_table_agent
from ttt_batch.base.choices import Ties
from ttt_batch.base.errors import UsageError
from ttt_batch.base.memory import free_memory
from ttt_batch.base.quantities import Number, whole
from ttt_batch.proofs.playing import mark, picks, reset, spare, unmark
from ttt_batch.proofs.prover import Status, prove
from ttt_batch.runs.run import Run

BUDGET = 2_000_000
"""Positions that a search enters at most by default: some seconds and 32 MB."""

MAX_BUDGET = 500_000_000

LEAST_MEMORY = 1 << 20
"""Bytes for the positions of a search with the smallest budget: more are listed than entered."""


class TableAgent(NamedTuple):
    """An agent, and the code of the position that it is in: int64[1], scratch."""

    agent: Agent
    code: Any


@reset.register(TableAgent)
def _reset(table: TableAgent) -> None:
    table.code[0] = 0


@mark.register(TableAgent)
def _mark(table: TableAgent, cell: Any, player: Any) -> None:
    table.code[0] += (1 + player) * table.agent.growth.places.power[cell, 0]


@unmark.register(TableAgent)
def _unmark(table: TableAgent, cell: Any, player: Any) -> None:
    table.code[0] -= (1 + player) * table.agent.growth.places.power[cell, 0]


@picks.register(TableAgent)
def _picks(table: TableAgent, _lines: Any, _own: Any, _other: Any, _view: Any, ply: Any) -> Any:
    return np.uint64(agent_cells(table.agent, table.code[0], ply))


@spare.register(TableAgent)
def _spare(table: TableAgent) -> TableAgent:
    """All of it: positions without a row of their own borrow one of the tables'."""
    return _copied(table)  # type: ignore[no-any-return]


def _copied(part: Any) -> Any:
    """A copy of a NamedTuple with all arrays in it."""
    if isinstance(part, tuple):
        return type(part)(*map(_copied, part))
    return part.copy() if isinstance(part, np.ndarray) else part


@dataclass(frozen=True)
class Verdict:
    """What a search has found about an agent in one seat.

    status: `proved` (no opponent and no tie-break beats it), `refuted`, or `undecided` within the budget.
    positions: how many were entered.  line: a game that the agent can lose, as cells, if refuted; else None.
    """

    status: Status
    positions: int
    line: list[int] | None

    @property
    def unbeatable(self) -> bool | None:
        """Whether nothing beats the agent in this seat; None if undecided."""
        return None if self.status == "undecided" else self.status == "proved"


def search(run: Run, seat: str, *, budget: Number = BUDGET, ties: Ties = "any", agent: Agent | None = None) -> Verdict:
    """Look for a game that a run's agent can lose in a seat, `first` or `second`.

    budget: positions to enter at most, 1 to 500,000,000; each takes up to 32 bytes.
    ties: as for `Run.candidates`.  agent: what `make_table_agent` makes of the run with these ties, if there is one.
    Raises UsageError.  The run does not change.
    """
    budget, number = whole("budget", budget, 1, MAX_BUDGET), seat_number(seat)
    size = 8 << (2 * budget).bit_length()
    if size > free_memory():
        raise UsageError(
            f"budget {budget:,} takes {size / 1e9:.1f} GB of memory, {free_memory() / 1e9:.1f} GB are free; "
            "give a smaller one"
        )
    table = TableAgent(agent or make_table_agent(run, ties), np.zeros(1, np.int64))
    proof = prove(
        table,
        run.board,
        number,
        memory=max(2 * size, LEAST_MEMORY),
        budget=budget,
        symmetric=run.config.symmetry,
        occupied=run.learner.occupied,
    )
    return Verdict(proof.status, proof.positions, proof.line)
