"""Differences between two runs: table entries or weights, and the moves that their policies may play.

Networks list no positions, so random games supply them if a run has networks.  Each distinct position counts once.
"""

from typing import Any

import numpy as np

from ttt_batch.agents.adapter import Player
from ttt_batch.agents.builtin import RANDOM, Scripted, playing_agent
from ttt_batch.agents.layers import possible_cells
from ttt_batch.analysis.matches import list_cells, play_ply, start_block
from ttt_batch.compiler.numerics import MEETINGS, stream_key
from ttt_batch.core.errors import BoardError
from ttt_batch.core.text import SEATS
from ttt_batch.games.bitboards import make_lines
from ttt_batch.games.board import EMPTY, FIRST, SECOND, UNFINISHED, Board
from ttt_batch.games.graph import rows_of_edges
from ttt_batch.games.notation import rows_text
from ttt_batch.games.solution import solve
from ttt_batch.ntuple.network import UNIT
from ttt_batch.runs.loading import AnyRun
from ttt_batch.runs.network_run import PatternRun
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


GAMES, SEED = 1_000, 0
"""Number and seed of the random games whose positions are compared."""

Differing = dict[tuple[int, int], tuple[int, int]]
"""Cells that each run may pick, by position; all four are bit sets, and the key holds both players' marks."""


def compare_networks(one: AnyRun, other: AnyRun) -> dict[str, Any]:
    """Compare two runs of one board.

    Only positions count where both runs can play the mover's seat.
    Returns plain values as `compare_runs` does.  `tables` compares the weights used in play; None unless both are
    networks of one shape.  `policies` counts distinct positions of random games, and those where the moves differ.
    `examples` lists some of the latter.  Raises BoardError for runs of different boards.
    """
    if one.board != other.board:
        raise BoardError(f"one run plays {one.board.name}, the other {other.board.name}; compare runs of one board")
    positions, differing = _compare_moves(one, other)
    return {
        "tables": _compare_weights(one, other),
        "policies": {"positions": positions, "differing": len(differing), "games": GAMES, "seed": SEED},
        "examples": [
            {
                "position": _rows(one.board, marks),
                "first": _cells(one.board, first),
                "second": _cells(one.board, second),
            }
            for marks, (first, second) in list(differing.items())[:SHOWN]
        ],
    }


def _compare_weights(one: AnyRun, other: AnyRun) -> dict[str, Any] | None:
    """Return the differences of the weights used in play, on the scale of the sums before the squashing function."""
    if not (isinstance(one, PatternRun) and isinstance(other, PatternRun)):
        return None
    if (one.config.tuples, one.config.sharing) != (other.config.tuples, other.config.sharing):
        return None
    kinds = one.network.members[one.network.kind_start[:-1]]
    weights = [run.agent.weights[:, kinds].astype(np.int64) for run in (one, other)]
    distance = np.abs(weights[0] - weights[1]) / UNIT
    return {
        "entries": int(distance.size),
        "differing": int(np.count_nonzero(distance)),
        "largest_difference": float(distance.max()),
        "mean_difference": float(distance.mean()),
    }


def _compare_moves(one: AnyRun, other: AnyRun) -> tuple[int, Differing]:
    """Return the number of distinct positions in the random games, and the positions where the moves differ."""
    lines, key = make_lines(one.board), stream_key(SEED, MEETINGS)
    agents, random = (playing_agent(one), playing_agent(other)), Scripted(RANDOM)
    games, seen, differing = start_block(GAMES), 0, Differing()
    left, ply = GAMES, 0
    while left:
        # Positions of different plies differ, so duplicates occur within a ply only.
        marks, first = np.unique(games.marks, axis=1, return_index=True)
        playing = (games.outcome[first] == UNFINISHED) & all(SEATS[ply % 2] in run.seats for run in (one, other))
        chosen = []
        for agent in agents if playing.any() else ():
            if isinstance(agent, Player):
                own, theirs = marks[ply % 2, playing], marks[1 - ply % 2, playing]
                games.cells[first[playing]] = possible_cells(agent.answers(own, theirs, ply))
            else:
                list_cells(agent, lines, ply, games)
            chosen.append(games.cells[first].copy())
        seen += int(np.count_nonzero(playing))
        for number in np.flatnonzero(playing & (chosen[0] != chosen[1])) if chosen else ():
            where = int(marks[0, number]), int(marks[1, number])
            differing[where] = int(chosen[0][number]), int(chosen[1][number])
        list_cells(random, lines, ply, games)
        left = play_ply(lines, ply, key, 0, games)
        ply += 1
    return seen, differing


def _cells(board: Board, cells: int) -> list[int]:
    return [cell for cell in range(board.cells) if cells >> cell & 1]


def _rows(board: Board, marks: tuple[int, int]) -> str:
    first, second = marks
    position = [FIRST if first >> cell & 1 else SECOND if second >> cell & 1 else EMPTY for cell in range(board.cells)]
    return rows_text(board, tuple(position))
