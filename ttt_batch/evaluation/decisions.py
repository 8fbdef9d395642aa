"""Smallest certificates: the fewest positions in which an agent needs to know a move to reach its goal.

An agent may choose among all its moves that keep the goal.  A move needs the positions that can follow, one for each
reply.  So the positions and moves form a graph in which the agent chooses and its opponent does not, the decisions.
A certificate is a choice for the first positions, for all that its moves need, and so on; the smallest has the fewest.
"""

import math
import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ttt_batch.compiler.bits import NONE, ONE, lowest_bit, single
from ttt_batch.compiler.jit import BoolArray, Int64, Int64Array, Uint8Array, Uint64Array, inlined, kernel
from ttt_batch.core.errors import BoardError, UsageError, flag
from ttt_batch.core.text import count_text
from ttt_batch.evaluation.certificates import (
    NO_FAULT,
    ClosureLayer,
    fault_of_move,
    is_harmless,
    list_layer,
    list_next,
    unique_pairs,
)
from ttt_batch.evaluation.search import Claim, make_positions, make_task
from ttt_batch.games.bitboards import open_cells
from ttt_batch.games.board import Board

AT_ONCE = 1 << 12
"""Number of positions whose moves are listed together."""

MOST_NEEDS = 20_000_000
"""Maximum of needs of all moves of a ply, which take 2 GB; 4x4x4 has five million."""

LIST_ALL = 2
"""Goal not to lose, with positions in which no line can beat the agent any more listed, too."""


class Decisions(NamedTuple):
    """Positions with the agent to move, and its moves there that keep the goal.

    Axes: `n` positions, by ply; `m` moves, by position; `e` needs, by move.
    first, second: uint64[n], the players' cells.  ply: int8[n].
    first_move: int64[n + 1]; the moves of position p are first_move[p] to first_move[p + 1] - 1.
    cell: uint8[m].  first_need: int64[m + 1], likewise.  need: int64[e], positions that a move needs, ascending.
    start: int64[s], the positions that every certificate needs.
    """

    first: NDArray[np.uint64]
    second: NDArray[np.uint64]
    ply: NDArray[np.int8]
    first_move: NDArray[np.int64]
    cell: NDArray[np.uint8]
    first_need: NDArray[np.int64]
    need: NDArray[np.int64]
    start: NDArray[np.int64]


@kernel
def list_good_moves(
    positions: Any,
    task: Claim,
    ply: Int64,
    layer: tuple[Uint64Array, Uint64Array],
    allowed: Uint64Array,
    images: Uint64Array,
    moves: tuple[Int64Array, Uint8Array, Int64Array],
    keys: Uint64Array,
) -> tuple[Int64, Int64]:
    """Write the moves of a layer without fault, and the keys of the positions that they need.

    Return (number of moves, number of keys).
    ply: marks on the board.  layer: two uint64[n].  allowed: uint64[n], cells that the agent may mark.
    moves: for each move its position, its cell and the number of keys up to its last one, in place.
    """
    n, n_moves, nothing = np.int64(0), 0, np.int64(-1)
    reply: Int64
    for number in range(layer[0].shape[0]):
        before = layer[0][number], layer[1][number]
        own, other = (before[1], before[0]) if ply & 1 else before
        free = allowed[number] & open_cells(task.lines, own | other)
        while free != NONE:
            cell = lowest_bit(free)
            free &= free - ONE
            why, ended = fault_of_move(task, own, other, cell, ply)
            if why != NO_FAULT:
                continue
            after, reply = n, nothing
            if not ended:
                mine = own | single(cell)
                first, second = (other, mine) if ply & 1 else (mine, other)
                after, reply = list_next(positions, task, images, keys, n, first, second, ply + 1)
            if reply < 0:
                n = after
                moves[0][n_moves], moves[1][n_moves], moves[2][n_moves] = number, cell, n
                n_moves += 1
    return n_moves, n


@inlined
def includes(need: Int64Array, small: tuple[Int64, Int64], large: tuple[Int64, Int64]) -> bool:
    """Return whether every need of one range is in another; both ascend."""
    at = large[0]
    for number in range(small[0], small[1]):
        while at < large[1] and need[at] < need[number]:
            at += 1
        if at == large[1] or need[at] != need[number]:
            return False
    return True


@kernel
def mark_dominated(first_move: Int64Array, first_need: Int64Array, need: Int64Array, kept: BoolArray) -> None:
    """Clear `kept` for each move whose needs include all needs of another kept move of its position, in place.

    Of moves with equal needs the first is kept.
    """
    for position in range(first_move.shape[0] - 1):
        for move in range(first_move[position], first_move[position + 1]):
            for other in range(first_move[position], first_move[position + 1]):
                sizes = first_need[other + 1] - first_need[other], first_need[move + 1] - first_need[move]
                if other == move or sizes[0] > sizes[1] or (sizes[0] == sizes[1] and other > move) or not kept[other]:
                    continue
                small = first_need[other], first_need[other + 1]
                if includes(need, small, (first_need[move], first_need[move + 1])):
                    kept[move] = False
                    break


class _Layer(NamedTuple):
    """Moves of a layer: owner, cell and needs, as indices into the next layer."""

    at: ClosureLayer
    owner: NDArray[np.int64]
    cell: NDArray[np.uint8]
    first_need: NDArray[np.int64]
    need: NDArray[np.int64]


Allowed = Callable[[ClosureLayer], NDArray[np.uint64]]
"""Function that returns the cells, uint64[n], which an agent may mark in the positions of a layer."""


def starts_of(counts: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the start of each group of `counts` items, and the end of the last."""
    return np.concatenate([np.zeros(1, np.int64), np.cumsum(counts)])


def _any_in(groups: NDArray[np.int64], flags: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return for each group, given by starts, whether any of its flags is set."""
    sums = starts_of(flags.astype(np.int64))
    return sums[groups[1:]] > sums[groups[:-1]]


def list_decisions(
    board: Board,
    seat: int,
    goal: int,
    *,
    symmetric: bool = True,
    allowed: Allowed | None = None,
    dominated: bool = False,
    until: float = math.inf,
) -> Decisions | None:
    """Return the decisions of an agent in `seat` (0 or 1), or None if no choice reaches the goal.

    goal: CANNOT_LOSE, ALWAYS_WINS or LIST_ALL.  symmetric: merge images.  allowed: the moves to choose from; by default
    all.
    dominated: keep moves that need all that another move of their position needs, and all images of a first move.
    until: a `time.perf_counter` at which to stop within a ply of more than AT_ONCE positions.
    Raises BoardError if the board has too many positions, and UsageError after `until`.
    """
    task = make_task(board, seat, goal)
    positions = make_positions(board, symmetric=symmetric, wide=True)
    images = np.zeros((1, 2 * positions[0].shape[-1]), np.uint64)
    empty = np.zeros(1, np.uint64)
    layer, layers, n_start = ClosureLayer(0, empty, empty), list[_Layer](), 1
    if is_harmless(board, task):
        layer = ClosureLayer(0, empty[:0], empty[:0])
    elif seat == 1:
        keys = np.empty(2 * board.cells, np.uint64)
        n, fault, _, _ = list_layer(positions, task, 0, (empty, empty), np.zeros(1, np.uint8), images, keys)
        if fault >= 0:
            return None
        first, second, _ = unique_pairs(keys[: 2 * n : 2], ~keys[1 : 2 * n : 2])
        layer, n_start = ClosureLayer(1, first, second), first.size
    if layer.first.size and not (symmetric or dominated) and allowed is None:
        allowed = _first_moves(board, layer)
    while layer.first.size:
        listed, first, second = _moves_of(board, layer, positions, task, images, allowed, until)
        layers.append(listed)
        layer = ClosureLayer(layer.ply + 2, first, second)
    return _joined(layers, n_start, dominated=dominated)


def _moves_of(
    board: Board,
    layer: ClosureLayer,
    positions: Any,
    task: Claim,
    images: NDArray[np.uint64],
    allowed: Allowed | None,
    until: float,
) -> tuple[_Layer, NDArray[np.uint64], NDArray[np.uint64]]:
    """List the moves of a layer; return them and the positions of the next layer."""
    cells, size = task.lines.cells, layer.first.size
    may = np.full(size, ~np.uint64(0)) if allowed is None else allowed(layer)
    owners, marked, ends, keys = [], [], [], []
    n_keys: Int64 = 0
    for start in range(0, size, AT_ONCE):
        if start and time.perf_counter() > until:
            raise UsageError(
                f"listing the positions of {board.name} takes longer than the time limit; raise {flag('time_limit')}, "
                f"or limit the moves to those of a run with {flag('within')}"
            )
        some = layer.first[start : start + AT_ONCE], layer.second[start : start + AT_ONCE]
        most = some[0].size * (cells - layer.ply)
        moves = np.empty(most, np.int64), np.empty(most, np.uint8), np.empty(most, np.int64)
        room = np.empty(2 * most * max(1, cells - layer.ply - 1), np.uint64)
        cells_here = may[start : start + AT_ONCE]
        n_moves, n = list_good_moves(positions, task, layer.ply, some, cells_here, images, moves, room)
        owners.append(moves[0][:n_moves] + start)
        marked.append(moves[1][:n_moves])
        ends.append(moves[2][:n_moves] + n_keys)
        keys.append(room[: 2 * n].copy())
        n_keys += n
        if n_keys > MOST_NEEDS:
            replies = count_text(MOST_NEEDS, "reply", "replies")
            raise BoardError(
                f"board {board.name} has more than {replies} to consider after {layer.ply} moves; limit the moves to "
                f"those of a run with {flag('within')}"
            )
    every = np.concatenate(keys)
    first, second, index = unique_pairs(every[::2], ~every[1::2])
    last = np.concatenate(ends)
    of_move = np.arange(last.size).repeat(np.diff(last, prepend=0))
    pairs = np.unique(of_move << 32 | index)
    first_need = starts_of(np.bincount(pairs >> 32, minlength=last.size))
    listed = _Layer(layer, np.concatenate(owners), np.concatenate(marked), first_need, pairs & ((1 << 32) - 1))
    return listed, first, second


def _first_moves(board: Board, start: ClosureLayer) -> Allowed:
    """Return a function that allows, in the first position of a layer alone, one of each set of moves that are images.

    A smallest choice may begin with any of them, because the other positions of the start are images of each other.
    """
    cells = np.full(start.first.size, ~np.uint64(0))
    position = board.position_of(start.first[0], start.second[0])
    same = [image for image in board.symmetries if tuple(position[cell] for cell in image) == position]
    cells[0] = sum(1 << cell for cell in range(board.cells) if cell == min(image[cell] for image in same))
    return lambda layer: cells if layer.ply == start.ply else np.full(layer.first.size, ~np.uint64(0))


def distinct_moves(decisions: Decisions, board: Board, *, symmetric: bool) -> Decisions:
    """Return the decisions with one of each set of moves whose positions are images of each other, if images merge."""
    kept = np.ones(decisions.cell.size, np.bool_)
    for number in range(decisions.first.size if symmetric else 0):
        position = board.position_of(decisions.first[number], decisions.second[number])
        seen = set()
        for move in range(decisions.first_move[number], decisions.first_move[number + 1]):
            after, _ = board.representative(board.after(position, int(decisions.cell[move])))
            kept[move] = after not in seen
            seen.add(after)
    return some_decisions(decisions, np.ones(decisions.first.size, np.bool_), kept)


def _joined(layers: Sequence[_Layer], n_start: int, *, dominated: bool) -> Decisions | None:
    """Join layers without the moves that miss the goal, dominated ones, and positions that no move needs."""
    reaches, kept = np.zeros(0, np.bool_), list[_Layer]()
    for layer in reversed(layers):
        good = ~_any_in(layer.first_need, ~reaches[layer.need])
        first_move = starts_of(np.bincount(layer.owner, minlength=layer.at.first.size))
        reaches = _any_in(first_move, good)
        if not dominated:
            mark_dominated(first_move, layer.first_need, layer.need, good)
        kept.insert(0, _only(layer, good))
    if not reaches[:n_start].all():
        return None
    wanted, found = np.ones(n_start, np.bool_), list[_Layer]()
    before = 0
    for number, layer in enumerate(kept):
        some, place = _only(layer, wanted[layer.owner]), np.cumsum(wanted) - 1
        at = ClosureLayer(layer.at.ply, layer.at.first[wanted], layer.at.second[wanted])
        after = before + at.first.size
        below = kept[number + 1].at.first.size if number + 1 < len(kept) else 0
        wanted = np.bincount(some.need, minlength=below) > 0
        need = (np.cumsum(wanted) - 1)[some.need] + after
        found.append(some._replace(at=at, owner=place[some.owner] + before, need=need))
        before = after
    counts, places = [np.diff(layer.first_need) for layer in found], [layer.at for layer in found]
    none = np.zeros(0, np.int64)
    return Decisions(
        first=np.concatenate([none.view(np.uint64), *(one.first for one in places)]),
        second=np.concatenate([none.view(np.uint64), *(one.second for one in places)]),
        ply=np.concatenate([np.zeros(0, np.int8), *(np.full(one.first.size, one.ply, np.int8) for one in places)]),
        first_move=starts_of(np.bincount(np.concatenate([none, *(layer.owner for layer in found)]), minlength=before)),
        cell=np.concatenate([np.zeros(0, np.uint8), *(layer.cell for layer in found)]),
        first_need=starts_of(np.concatenate([none, *counts])),
        need=np.concatenate([none, *(layer.need for layer in found)]),
        start=np.arange(n_start if found else 0),
    )


def some_decisions(decisions: Decisions, reached: NDArray[np.bool_], kept: NDArray[np.bool_]) -> Decisions:
    """Return the decisions with some of the positions (bool[n]) and moves (bool[m]) alone, which include the start.

    Needs of other positions are left out.
    """
    owner = np.arange(reached.size).repeat(np.diff(decisions.first_move))
    kept = kept & reached[owner]
    of_move = np.arange(kept.size).repeat(np.diff(decisions.first_need))
    wanted = kept[of_move] & reached[decisions.need]
    place, place_of_move = np.cumsum(reached) - 1, np.cumsum(kept) - 1
    n, n_moves = int(reached.sum()), int(kept.sum())
    return Decisions(
        first=decisions.first[reached],
        second=decisions.second[reached],
        ply=decisions.ply[reached],
        first_move=starts_of(np.bincount(place[owner[kept]], minlength=n)),
        cell=decisions.cell[kept],
        first_need=starts_of(np.bincount(place_of_move[of_move[wanted]], minlength=n_moves)),
        need=place[decisions.need[wanted]],
        start=place[decisions.start],
    )


def _only(layer: _Layer, wanted: NDArray[np.bool_]) -> _Layer:
    """Return a layer with some of its moves."""
    counts = np.diff(layer.first_need)
    need = layer.need[wanted.repeat(counts)]
    return _Layer(layer.at, layer.owner[wanted], layer.cell[wanted], starts_of(counts[wanted]), need)
