"""Opponents that move inside the kernel: scripted players, best play, and runs.

On an enumerated board best play and a run's table are a set of cells for each row.  A position is found by its code:
within a ply rows are in the order of codes.
"""

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ttt_batch.agents.scripted import PLAYERS, Scripted, player_number
from ttt_batch.agents.tables import TablePlayer, cells_of, table_player
from ttt_batch.base.bits import NONE, ONE, lowest_bit
from ttt_batch.base.choices import Ties
from ttt_batch.base.errors import BoardError, UsageError
from ttt_batch.base.jit import kernel
from ttt_batch.game.bitboards import make_places
from ttt_batch.game.board import MAX_TABLE_CELLS, Board
from ttt_batch.game.enumeration import enumerate_graph
from ttt_batch.game.graph import Graph, edges_of, n_unfinished
from ttt_batch.game.lines import Lines
from ttt_batch.game.solution import solve
from ttt_batch.game.state_space import choose_space, too_large
from ttt_batch.patterns.agent import NetAgent
from ttt_batch.runs.loading import AnyRun, load_any
from ttt_batch.runs.lookup import name_or_run
from ttt_batch.runs.run import Run
from ttt_batch.simulation.policy import Policy, optimal_policy

OPTIMAL = "optimal"


class Listed(NamedTuple):
    """A player that has a set of cells for each row of an enumerated board.

    code: int64[U], ply_start: as in `Graph`.  cells: uint64[U], what it picks among in a row.
    power: int64[cells, images], see `Places`.  origin: int8[images, cells], where an image's cells come from.
    images: int64[images], scratch.
    """

    code: Any
    ply_start: Any
    cells: Any
    power: Any
    origin: Any
    images: Any


class Nobody(NamedTuple):
    """No opponent: the caller moves for both players."""

    none: int = 0


NOBODY = Nobody()

Player = Nobody | Scripted | Listed | TablePlayer | NetAgent


@cells_of.register(Nobody)
def _cells_of_nobody(player: Nobody, lines: Lines, own: Any, other: Any, ply: Any) -> Any:
    return NONE


@kernel
def opponent_cells(graph: Graph, policy: Policy, cells: Any) -> None:
    """Write the cells that a policy may pick in each unfinished row to `cells` (uint64[U], zeros)."""
    for row in range(n_unfinished(graph)):
        lo, _ = edges_of(graph, row)
        for slot in range(lo, lo + np.int64(policy.best[row])):
            cells[row] |= ONE << np.uint64(graph.cell[policy.ordered[slot]])


@cells_of.register(Listed)
def _cells_of_listed(player: Listed, lines: Lines, own: Any, other: Any, ply: Any) -> Any:
    images = player.images
    images[:] = 0
    for number in range(2):
        marks, worth = (other, 2 - (ply & 1)) if number else (own, 1 + (ply & 1))
        while marks != NONE:
            cell = lowest_bit(marks)
            for image in range(images.shape[0]):
                images[image] += worth * player.power[cell, image]
            marks &= marks - ONE
    code, image = images[0], 0
    for number in range(1, images.shape[0]):
        if images[number] < code:
            code, image = images[number], number
    low, high = np.int64(player.ply_start[ply]), np.int64(player.ply_start[ply + 1])
    while high - low > 1:
        middle = (low + high) // 2
        if player.code[middle] <= code:
            low = middle
        else:
            high = middle
    found, cells = player.cells[low], NONE
    while found != NONE:
        cells |= ONE << np.uint64(player.origin[image, lowest_bit(found)])
        found &= found - ONE
    return cells


def opponent_list(board: Board, graph: Graph, policy: Policy, symmetry: bool) -> Listed:
    """A policy over the rows of an enumerated board as a player."""
    n_open = graph.first_edge.size - 1
    cells = np.zeros(n_open, np.uint64)
    opponent_cells(graph, policy, cells)
    images = board.images(symmetry)
    return Listed(
        graph.code[:n_open].copy(),
        graph.ply_start.astype(np.int64),
        cells,
        make_places(board, symmetry).power,
        np.array(images, np.int8),
        np.zeros(len(images), np.int64),
    )


def best_player(board: Board) -> Listed:
    """Uniform among the moves that keep the game's value.  Raises BoardError if the board is not enumerated."""
    space = None if board.cells > MAX_TABLE_CELLS else choose_space(board, "auto", prefers=False)
    if space is None or space.grown:
        raise too_large(f"opponent {OPTIMAL}", board, "choose random, one-ply, two-ply or a run")
    graph = enumerate_graph(board, symmetry=space.symmetry)
    return opponent_list(board, graph, optimal_policy(graph, solve(graph)), space.symmetry)


def player_of(run: AnyRun, ties: Ties) -> Player:
    """A run as a player."""
    if isinstance(run, Run) and run.grown is None:
        return opponent_list(run.board, run.graph, run.policy_on(run.graph, ties), run.config.symmetry)
    return table_player(run, ties)


def make_opponent(given: AnyRun | str | Path, board: Board, ties: Ties = "any") -> Player:
    """The player of a name, `random`, `one-ply`, `two-ply` or `optimal`, or of a run or its file.

    Raises UsageError, also for a run of another board, RunFileError for its file, and BoardError, also for games of one
    move.
    """
    if board.k == 1 or board.cells == 1:
        raise BoardError(f"a game on {board.name} is over after one move; choose a larger k for an opponent")
    if not isinstance(given, AnyRun):
        named = name_or_run("opponent", given, (*PLAYERS, OPTIMAL))
        if isinstance(named, str):
            return best_player(board) if named == OPTIMAL else Scripted(player_number(named))
        given = load_any(named)
    if given.board != board:
        raise UsageError(f"the opponent plays {given.board.name}, and the boards are {board.name}; give a run of these")
    return player_of(given, ties)
