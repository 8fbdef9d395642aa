"""Depth-first search through all games that an agent allows, with an explicit stack.

The opponent may make any move, and the agent any that its rule may pick.  A position is listed when a move to it is
found, unless it or an image of it was listed before.  It is entered later, in depth-first order.  A branch ends when
the goal is decided: no line can be filled any more by which the agent would lose or, if it must win, would win.

The opponent's most promising moves are tried first.  They are ranked by the marks in the lines that a move extends or
blocks, its own lines before the agent's, and cells of two such lines before cells of one.
"""

from typing import Any, NamedTuple

import numpy as np

from ttt_batch.base.bits import NONE, ONE, all_cells, lowest_bit, popcount, single
from ttt_batch.base.jit import inlined, kernel
from ttt_batch.game.board import Board
from ttt_batch.game.lines import Lines, LineView, can_fill, make_lines, view_of
from ttt_batch.proofs.playing import mark_cell, reset, tied_cells, unmark_cell
from ttt_batch.proofs.positions import Positions, enter_position, extend_table, find

CANNOT_LOSE, ALWAYS_WINS = 0, 1
"""Goals in kernels, as indices of `prover.GOALS`."""

DONE, ENOUGH, BUDGET_SPENT, NO_ROOM, CALLED = range(5)
"""Reasons why a search returns: no moves are left, enough lost games were found, the limit of positions is reached, the
slots are nearly full, or another thread is idle."""

PLY, BASE, ARRIVING, ENTERED, KEPT, LOST = range(6)
"""Indices of `Walk.at`: marks on the board, marks at the bottom of the stack, and whether the current position is still
to be entered; then positions entered, keys stored and lost games found since the start of the search."""

PATIENCE = 1024
"""Least number of positions that a thread enters before it checks for idle threads."""


class Walk(NamedTuple):
    """State of a thread's search.  The first five arrays have a row for each number of moves of the current game.

    images: see `positions`.  marks: uint64[cells + 1, P].  moves: uint8[cells + 1, cells], the moves to new positions.
    tried, listed: int64[cells + 1], the number of these moves that were made, and of all.

    played: int8[cells], the moves of the current game.  keys: uint64[words x cells], scratch.
    ranks: uint64[4 k + 4], scratch, sets of cells by ascending rank; the lowest set holds all cells.
    lost: int8[limit, cells], lost games, -1 after their ends.  at: int64[6], see `PLY`.
    """

    images: Any
    marks: Any
    moves: Any
    tried: Any
    listed: Any
    played: Any
    keys: Any
    ranks: Any
    lost: Any
    at: Any


class Claim(NamedTuple):
    """Claim to be proved.  seat: 0 or 1, the agent's.  goal: CANNOT_LOSE or ALWAYS_WINS.

    cut: 1 if a branch ends as soon as the goal is decided.
    filler: the player whose lines matter.  That is the agent if it must win, else its opponent; on misere boards, where
    the player who fills a line loses, the other way round.
    """

    lines: Lines
    seat: int
    goal: int
    cut: int
    filler: int


def make_task(board: Board, seat: int, goal: int, *, occupied: bool = False) -> Claim:
    """Return the task of an agent in `seat`.  occupied: whether it may pick occupied cells, by which it loses."""
    cut = int(goal == ALWAYS_WINS or not occupied)
    return Claim(make_lines(board), seat, goal, cut, seat ^ (goal == CANNOT_LOSE) ^ board.misere)


def make_walk(board: Board, positions: Positions, words: int, lost: int) -> Walk:
    """Return a walk at the empty board, with room for `lost` lost games."""
    cells = board.cells
    n_images = positions[0].shape[-1]
    return Walk(
        images=np.zeros((cells + 1, words * n_images), np.uint64),
        marks=np.zeros((cells + 1, 2), np.uint64),
        moves=np.zeros((cells + 1, cells), np.uint8),
        tried=np.zeros(cells + 1, np.int64),
        listed=np.zeros(cells + 1, np.int64),
        played=np.zeros(cells, np.int8),
        keys=np.zeros(words * cells, np.uint64),
        ranks=np.zeros(4 * board.k + 4, np.uint64),
        lost=np.full((lost, cells), -1, np.int8),
        at=np.array([0, 0, 1, 0, 0, 0], np.int64),
    )


@inlined
def descend(agent: Any, positions: Any, walk: Walk, ply: Any, cell: Any) -> None:
    """Update walk and agent, except `walk.at`, for the move to `cell` after `ply` moves."""
    player = ply & 1
    walk.played[ply] = cell
    walk.marks[ply + 1, player] = walk.marks[ply, player] | single(cell)
    walk.marks[ply + 1, 1 - player] = walk.marks[ply, 1 - player]
    extend_table(positions, walk.images, ply, cell, player)
    mark_cell(agent, cell, player)


@kernel
def begin_at(agent: Any, positions: Any, walk: Walk, moves: Any) -> None:
    """Set walk and agent to the position after `moves` (int8[n]), the bottom of the stack, in place."""
    reset(agent)
    for ply in range(moves.shape[0]):
        descend(agent, positions, walk, ply, np.int64(moves[ply]))
    walk.at[PLY] = walk.at[BASE] = moves.shape[0]


@inlined
def rank_cells(lines: Lines, ranks: Any, own: Any, other: Any) -> None:
    """Write the cells into `ranks` by their promise for the player to move; cells of several lines rank above one.

    On misere boards the order is reversed, since a player who builds lines must fill one later.
    """
    ranks[:] = NONE
    for number in range(lines.mask.shape[0]):
        line = lines.mask[number]
        if line & other == NONE:
            rank = 4 * popcount(line & own) + 2
        elif line & own == NONE:
            rank = 4 * popcount(line & other)
        else:
            continue
        ranks[rank + 1] |= ranks[rank] & line
        ranks[rank] |= line
    if lines.misere == 1:
        highest, above = ranks.shape[0] - 1, NONE
        for rank in range(highest, 0, -1):
            ranks[rank] &= ~above
            above |= ranks[rank]
        for rank in range(1, highest // 2 + 1):
            ranks[rank], ranks[highest + 1 - rank] = ranks[highest + 1 - rank], ranks[rank]
        ranks[highest] |= ~above


@inlined
def list_moves(positions: Any, walk: Walk, task: Claim, ply: Any, cells: Any, highest: Any) -> None:
    """List the moves to those of `cells` that lead to new positions, from `walk.ranks[highest]` down, and store these.

    All keys are computed before any lookup, so that their slots are prefetched together.
    Moves that block the last line that matters are not listed; on 5x5x5 they are a third of all positions stored.
    """
    moves, player, found = walk.moves, ply & 1, 0
    own, other = walk.marks[ply, player], walk.marks[ply, 1 - player]
    closing = task.cut == 1 and task.goal == CANNOT_LOSE and player != task.filler
    walk.ranks[0] = ~NONE
    for number in range(highest, -1, -1):
        ranked = cells & walk.ranks[number]
        cells &= ~ranked
        while ranked != NONE:
            cell = lowest_bit(ranked)
            ranked &= ranked - ONE
            if closing and not can_fill(task.lines, other, own | single(cell), (task.lines.cells - ply) // 2):
                continue
            moves[ply, found] = cell
            find(positions, walk.images, ply, cell, player, walk.keys, found)
            found += 1
    listed = 0
    for number in range(found):
        if enter_position(positions, walk.keys, number):
            moves[ply, listed] = moves[ply, number]
            listed += 1
    walk.tried[ply], walk.listed[ply] = 0, listed
    walk.at[KEPT] += listed


@inlined
def note_loss(walk: Walk, length: Any) -> Any:
    """Store the first `length` moves played as a lost game; return whether `walk.lost` is full."""
    game = walk.at[LOST]
    for ply in range(length):
        walk.lost[game, ply] = walk.played[ply]
    walk.at[LOST] = game + 1
    return game + 1 == walk.lost.shape[0]


@inlined
def losing_cells(task: Claim, view: LineView, cells: Any, taken: Any, mine: Any, last: Any) -> Any:
    """Return those of `cells`, the possible moves, after which the agent has missed its goal.

    taken: all marks.  mine: whether the agent is to move.  last: whether it is the last move.
    """
    lost = NONE
    if mine:
        lost = cells & taken
    if mine == (task.lines.misere == 1):
        lost |= cells & view.own
    if last and task.goal == ALWAYS_WINS:
        lost |= cells & ~view.own
    return lost


@inlined
def enter_next(agent: Any, positions: Any, walk: Walk, task: Claim, ply: Any, view: LineView) -> Any:
    """Enter the position after `ply` moves; list its moves or store a lost game; return whether `walk.lost` is full."""
    lines = task.lines
    own, other = walk.marks[ply, ply & 1], walk.marks[ply, 1 - (ply & 1)]
    mine, cells = ply & 1 == task.seat, all_cells(lines.cells) & ~(own | other)
    if mine:
        cells = tied_cells(agent, lines, own, other, view, ply)
    lost = losing_cells(task, view, cells, own | other, mine, ply + 1 == lines.cells)
    if lost != NONE:
        walk.played[ply] = lowest_bit(lost)
        return note_loss(walk, ply + 1)
    if ply + 1 < lines.cells:
        if not mine:
            rank_cells(lines, walk.ranks, own, other)
        list_moves(positions, walk, task, ply, cells & ~view.own, 0 if mine else walk.ranks.shape[0] - 1)
    return False


@kernel
def advance_search(agent: Any, positions: Any, walk: Walk, task: Claim, until: int, room: int, idle: Any) -> Any:
    """Continue a search until it has entered `until` positions or stored `room` keys; return the reason for the end.

    idle: int64[1], not 0 if a thread is idle.  Agent, positions and walk are modified in place.
    """
    lines, at, patience = task.lines, walk.at, walk.at[ENTERED] + PATIENCE
    ply, arriving = at[PLY], at[ARRIVING] != 0
    while True:
        if not arriving:
            if walk.tried[ply] == walk.listed[ply]:
                if ply == at[BASE]:
                    at[PLY], at[ARRIVING] = ply, 0
                    return DONE
                ply -= 1
                unmark_cell(agent, np.int64(walk.played[ply]), ply & 1)
                continue
            descend(agent, positions, walk, ply, np.int64(walk.moves[ply, walk.tried[ply]]))
            walk.tried[ply] += 1
            ply += 1
        arriving = False
        walk.tried[ply] = walk.listed[ply] = 0
        view = view_of(lines, walk.marks[ply, ply & 1], walk.marks[ply, 1 - (ply & 1)])
        enough = False
        if task.cut == 0 or (view.own_open if ply & 1 == task.filler else view.other_open):
            why = BUDGET_SPENT if at[ENTERED] >= until else DONE
            if at[KEPT] + lines.cells > room:
                why = NO_ROOM
            if at[ENTERED] >= patience and idle[0] > 0:
                why = CALLED
            if why != DONE:
                at[PLY], at[ARRIVING] = ply, 1
                return why
            at[ENTERED] += 1
            enough = enter_next(agent, positions, walk, task, ply, view)
        elif task.goal == ALWAYS_WINS:
            if ply > at[BASE]:
                walk.tried[ply - 1] = walk.listed[ply - 1]
            enough = note_loss(walk, ply)
        if enough:
            at[PLY], at[ARRIVING] = ply, 0
            return ENOUGH
