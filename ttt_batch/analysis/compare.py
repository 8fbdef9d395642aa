"""Differences between two runs: table entries or weights, and the moves that their policies may play.

Networks list no positions, so random games supply them if a run has networks.  Each distinct position counts once.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ttt_batch.agents.adapter import AgentAdapter
from ttt_batch.agents.base import as_words
from ttt_batch.agents.builtin import Scripted, kernel_player, move_cells
from ttt_batch.analysis.matches import play_ply, start_block
from ttt_batch.compiler.numerics import MEETINGS, stream_key
from ttt_batch.core.errors import BoardError
from ttt_batch.core.results import by_name
from ttt_batch.core.text import SEATS
from ttt_batch.games.bitboards import RANDOM, make_lines
from ttt_batch.games.board import UNFINISHED, cells_in
from ttt_batch.games.graph import rows_of_edges
from ttt_batch.games.notation import rows_text
from ttt_batch.games.solution import solve
from ttt_batch.ntuple.network import UNIT
from ttt_batch.runs.loading import AnyRun
from ttt_batch.runs.network_run import PatternRun
from ttt_batch.runs.run import Run
from ttt_batch.simulation.policy import chosen_edges

SHOWN = 5


def compare_runs(one: AnyRun, other: AnyRun) -> dict[str, Any]:
    """Compare two runs of one board; only positions count where both runs can play the mover's seat.

    Tables are compared in all positions, by symmetry classes if both use them, and networks in those of random games.
    Returns plain values:
    `tables`: entries, differing, largest and mean absolute difference, of networks of the weights used in play; None if
    the two have different shapes.
    `policies`: positions, differing, and in all positions differing_optimal, where exactly one run may play a move that
    worsens its result.  `examples`: the first differing positions with the cells (from 0) that each may pick.
    Raises BoardError for runs of different boards.
    """
    if isinstance(one, Run) and isinstance(other, Run):
        return _compare_everywhere(one, other)
    if one.board != other.board:
        raise BoardError(f"one run plays {one.board.name}, the other {other.board.name}; compare runs of one board")
    positions, differing = _compare_moves(one, other)
    weights = None  # those used in play, on the scale of the sums before the squashing function
    networks = [run for run in (one, other) if isinstance(run, PatternRun)]
    if len(networks) == 2 and len({(run.config.tuples, run.config.sharing) for run in networks}) == 1:
        kinds = networks[0].network.members[networks[0].network.kind_start[:-1]]
        weights = _differences(*(run.agent.weights[:, kinds] / UNIT for run in networks))
    return {
        "tables": weights,
        "policies": {"positions": positions, "differing": len(differing), "games": GAMES, "seed": SEED},
        "examples": [
            {"position": rows_text(one.board, one.board.position_of(*marks))} | by_name(map(cells_in, chosen), SEATS)
            for marks, chosen in list(differing.items())[:SHOWN]
        ],
    }


def _compare_everywhere(one: Run, other: Run) -> dict[str, Any]:
    """Compare two tables in all positions."""
    graph = one.common_graph(other)
    first, second = (chosen_edges(graph, run.policy_on(graph)) for run in (one, other))
    row, solution, examples = rows_of_edges(graph), solve(graph), []
    n_open = graph.first_edge.size - 1
    both = np.array([all(seat in run.seats for run in (one, other)) for seat in SEATS])[graph.ply[:n_open] % 2]
    differing = np.unique(row[(first != second) & both[row]])
    gives_away = (allowed & (solution[graph.child] != solution[row]) for allowed in (first, second))
    keeps = [np.bincount(row[edges], minlength=n_open) == 0 for edges in gives_away]
    for number in differing[:SHOWN].tolist():
        edges = slice(graph.first_edge[number], graph.first_edge[number + 1])
        cells = (graph.cell[edges][chosen[edges]].tolist() for chosen in (first, second))
        position = rows_text(one.board, one.board.decode(int(graph.code[number])))
        examples.append({"position": position} | by_name(cells, SEATS))
    alike = one.learner.fields == other.learner.fields and one.tables[0].shape == other.tables[0].shape
    return {
        "tables": _differences(one.tables[0], other.tables[0]) if alike else None,
        "policies": {
            "positions": int(np.count_nonzero(both)),
            "differing": int(differing.size),
            "differing_optimal": int(np.count_nonzero((keeps[0] != keeps[1]) & both)),
        },
        "examples": examples,
    }


def _differences(one: NDArray[Any], other: NDArray[Any]) -> dict[str, Any]:
    """Return how two arrays of one shape differ; NaN is an entry that was never seen."""
    unseen = np.isnan(one) | np.isnan(other)
    differs = np.where(unseen, np.isnan(one) != np.isnan(other), one != other)
    distance = np.abs(one - other)[~unseen]
    return {
        "entries": int(one.size),
        "differing": int(np.count_nonzero(differs)),
        "largest_difference": float(distance.max()) if distance.size else 0.0,
        "mean_difference": float(distance.mean()) if distance.size else 0.0,
    }


GAMES, SEED = 1_000, 0
"""Number and seed of the random games whose positions are compared."""

Differing = dict[tuple[int, int], tuple[int, int]]
"""Cells that each run may pick, by position; all four are bit sets, and the key holds both players' marks."""


def _compare_moves(one: AnyRun, other: AnyRun) -> tuple[int, Differing]:
    """Return the number of distinct positions in the random games, and the positions where the moves differ."""
    lines, key = make_lines(one.board), stream_key(SEED, MEETINGS)
    agents, random = (kernel_player(one), kernel_player(other)), Scripted(RANDOM)
    games, seen, differing = start_block(GAMES), 0, Differing()
    left, ply = GAMES, 0
    while left:
        # Positions of different plies differ, so duplicates occur within a ply only.
        marks, first = np.unique(games.marks, axis=1, return_index=True)
        own, theirs = games.marks[ply % 2], games.marks[1 - ply % 2]
        playing = (games.outcome[first] == UNFINISHED) & all(SEATS[ply % 2] in run.seats for run in (one, other))
        chosen = []
        for agent in agents if playing.any() else ():
            if isinstance(agent, AgentAdapter):
                asked = first[playing]
                games.cells[asked] = as_words(agent.answers(own[asked], theirs[asked], ply) > 0)
            else:
                move_cells(agent, lines, own, theirs, games.outcome, games.cells)
            chosen.append(games.cells[first].copy())
        seen += int(np.count_nonzero(playing))
        for number in np.flatnonzero(playing & (chosen[0] != chosen[1])) if chosen else ():
            where = int(marks[0, number]), int(marks[1, number])
            differing[where] = int(chosen[0][number]), int(chosen[1][number])
        move_cells(random, lines, own, theirs, games.outcome, games.cells)
        left = play_ply(lines, ply, key, 0, games)
        ply += 1
    return seen, differing
