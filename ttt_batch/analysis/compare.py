"""Differences between two runs with tables: table entries, and moves that their policies may play."""

from typing import Any

import numpy as np

from ttt_batch.base.choices import SEATS
from ttt_batch.game.graph import rows_of_edges
from ttt_batch.game.notation import rows_text
from ttt_batch.game.solution import solve
from ttt_batch.runs.run import Run
from ttt_batch.simulation.policy import chosen_edges

SHOWN = 5


def compare_runs(one: Run, other: Run) -> dict[str, Any]:
    """Compare two runs of one board: by symmetry classes if both tables use them, else by single positions.

    Positions of a player whose seat one of the runs cannot play do not count.  Returns plain values:
    `tables`: entries, differing, largest and mean absolute difference; None if the tables have different shapes.
    `policies`: positions, differing, and differing_optimal, where exactly one run may play a move that worsens its
    result.  `examples`: the first differing positions with the cells (from 0) that each may pick.
    Raises BoardError for runs of different boards.
    """
    graph = one.common_graph(other)
    first, second = (chosen_edges(graph, run.policy_on(graph)) for run in (one, other))
    row, solution, examples = rows_of_edges(graph), solve(graph), []
    n_open = graph.first_edge.size - 1
    both = np.array([all(seat in run.seats for run in (one, other)) for seat in SEATS])[graph.ply[:n_open] % 2]
    differing = np.unique(row[(first != second) & both[row]])
    keeps = [_keeping(graph, allowed, row, solution) for allowed in (first, second)]
    for number in differing[:SHOWN].tolist():
        edges = slice(graph.first_edge[number], graph.first_edge[number + 1])
        examples.append(
            {
                "position": rows_text(one.board, one.board.decode(int(graph.code[number]))),
                "first": graph.cell[edges][first[edges]].tolist(),
                "second": graph.cell[edges][second[edges]].tolist(),
            }
        )
    return {
        "tables": _compare_tables(one, other),
        "policies": {
            "positions": int(np.count_nonzero(both)),
            "differing": int(differing.size),
            "differing_optimal": int(np.count_nonzero((keeps[0] != keeps[1]) & both)),
        },
        "examples": examples,
    }


def _keeping(graph: Any, allowed: Any, row: Any, solution: Any) -> Any:
    """Return bool[U]: True where every allowed move keeps the game's value."""
    gives_away = allowed & (solution[graph.child] != solution[row])
    return np.bincount(row[gives_away], minlength=graph.first_edge.size - 1) == 0


def _compare_tables(one: Run, other: Run) -> dict[str, Any] | None:
    if one.learner.fields != other.learner.fields or one.tables[0].shape != other.tables[0].shape:
        return None
    a, b = one.tables[0], other.tables[0]
    unseen = np.isnan(a) | np.isnan(b)
    differs = np.where(unseen, np.isnan(a) != np.isnan(b), a != b)
    distance = np.abs(a - b)[~unseen]
    return {
        "entries": int(a.size),
        "differing": int(np.count_nonzero(differs)),
        "largest_difference": float(distance.max()) if distance.size else 0.0,
        "mean_difference": float(distance.mean()) if distance.size else 0.0,
    }
