"""Search for a game that a run's agent can lose: exact if it exhausts the game tree, on boards of any size.

`proofs` holds the search for any agent; this module registers the kernels that play a learner's tables.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ttt_batch.agents.scripted import seat_number
from ttt_batch.agents.tables import TablePlayer, agent_cells, make_table_agent
from ttt_batch.base.choices import Ties
from ttt_batch.base.errors import UsageError
from ttt_batch.base.memory import free_memory
from ttt_batch.base.quantities import Number, parse_int
from ttt_batch.proofs.playing import copy_for_thread, mark_cell, reset, tied_cells, unmark_cell
from ttt_batch.proofs.prover import Status, prove_agent
from ttt_batch.runs.run import Run

SEARCH_BUDGET = 2_000_000
"""Default limit of the positions that a search enters: some seconds and 32 MB."""

MAX_SEARCH_BUDGET = 500_000_000

LEAST_MEMORY = 1 << 20
"""Least bytes for the positions of a search: it lists more positions than it enters, even with a tiny budget."""


class TableAgent(NamedTuple):
    """Agent with tables, and the code of its current position: int64[1], modified in place."""

    agent: TablePlayer
    code: Any


@reset.register(TableAgent)
def _reset(table: TableAgent) -> None:
    table.code[0] = 0


@mark_cell.register(TableAgent)
def _mark(table: TableAgent, cell: Any, player: Any) -> None:
    table.code[0] += (1 + player) * table.agent.growth.places.power[cell, 0]


@unmark_cell.register(TableAgent)
def _unmark(table: TableAgent, cell: Any, player: Any) -> None:
    table.code[0] -= (1 + player) * table.agent.growth.places.power[cell, 0]


@tied_cells.register(TableAgent)
def _picks(table: TableAgent, _lines: Any, _own: Any, _other: Any, _view: Any, ply: Any) -> Any:
    return np.uint64(agent_cells(table.agent, table.code[0], ply))


@copy_for_thread.register(TableAgent)
def _spare(table: TableAgent) -> TableAgent:
    """Return a full copy: positions without a row of their own use one of the tables' rows as scratch."""
    return _copied(table)  # type: ignore[no-any-return]


def _copied(part: Any) -> Any:
    """Return a deep copy of a NamedTuple of arrays."""
    if isinstance(part, tuple):
        return type(part)(*map(_copied, part))
    return part.copy() if isinstance(part, np.ndarray) else part


@dataclass(frozen=True)
class SearchResult:
    """Result of a search for an agent in one seat.

    status: `proved` (no opponent and no tie-break beats it), `refuted`, or `undecided` within the budget.
    positions: number of entered positions.  line: if refuted, the cells of a game that the agent can lose; else None.
    """

    status: Status
    positions: int
    line: list[int] | None

    @property
    def unbeatable(self) -> bool | None:
        """Return whether the agent is unbeatable in this seat; None if undecided."""
        return None if self.status == "undecided" else self.status == "proved"


def search(
    run: Run, seat: str, *, budget: Number = SEARCH_BUDGET, ties: Ties = "any", agent: TablePlayer | None = None
) -> SearchResult:
    """Search for a game that a run's agent can lose in a seat, `first` or `second`.

    budget: most positions to enter, 1 to 500,000,000; each takes up to 32 bytes.
    ties: as for `Run.candidates`.  agent: result of `make_table_agent` for the run and these ties, if available.
    Raises UsageError.  The run does not change.
    """
    budget, number = parse_int("budget", budget, 1, MAX_SEARCH_BUDGET), seat_number(seat)
    size = 8 << (2 * budget).bit_length()
    if size > free_memory():
        raise UsageError(
            f"budget {budget:,} takes {size / 1e9:.1f} GB of memory, {free_memory() / 1e9:.1f} GB are free; "
            "give a smaller one"
        )
    table = TableAgent(agent or make_table_agent(run, ties), np.zeros(1, np.int64))
    proof = prove_agent(
        table,
        run.board,
        number,
        memory=max(2 * size, LEAST_MEMORY),
        budget=budget,
        symmetric=run.config.symmetry,
        occupied=run.learner.occupied,
    )
    return SearchResult(proof.status, proof.positions, proof.line)
