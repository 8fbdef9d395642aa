"""Differences between two runs when at least one has networks: weights, and moves in positions of random games.

Networks list no positions, so random games supply them.  Each distinct position counts once.
"""

from typing import Any

import numpy as np

from ttt_batch.agents.known import playing_agent
from ttt_batch.agents.player import Player
from ttt_batch.agents.reach import possible_cells
from ttt_batch.agents.scripted import RANDOM, Scripted
from ttt_batch.analysis.compare import SHOWN
from ttt_batch.analysis.playing import list_cells, play_ply, start_block
from ttt_batch.base.choices import SEATS
from ttt_batch.base.errors import BoardError
from ttt_batch.base.streams import MEETINGS, stream_key
from ttt_batch.game.board import EMPTY, FIRST, SECOND, UNFINISHED, Board
from ttt_batch.game.lines import make_lines
from ttt_batch.game.notation import rows_text
from ttt_batch.patterns.sums import UNIT
from ttt_batch.runs.loading import AnyRun
from ttt_batch.runs.patterns.run import PatternRun

GAMES, SEED = 1_000, 0
"""Number and seed of the random games whose positions are compared."""

Differing = dict[tuple[int, int], tuple[int, int]]
"""Cells that each run may pick, by position; all four are bit sets, and the key holds both players' marks."""


def compare_networks(one: AnyRun, other: AnyRun) -> dict[str, Any]:
    """Compare two runs of one board.

    Positions of a player whose seat one of the runs cannot play do not count.
    Returns plain values as `compare_runs` does.  `tables` compares the weights used in play; None unless both are
    networks of one shape.  `policies` counts distinct positions of random games, and those where the moves differ.
    `examples` lists the first of those.  Raises BoardError for runs of different boards.
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
                own, rival = marks[ply % 2, playing], marks[1 - ply % 2, playing]
                games.cells[first[playing]] = possible_cells(agent.answers(own, rival, ply))
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
