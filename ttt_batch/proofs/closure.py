"""Enumeration, layer by layer, of the positions that can occur if an agent has one fixed move in each position.

A layer holds the positions after the same number of moves with the agent to move.  Each is represented by its lowest
image, which has the lowest pair of sets (first player's cells, second player's cells).  Every reply to every move leads
into the next layer, unless the game ends or the goal is decided.
"""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ttt_batch.base.bits import NONE, ONE, all_cells, lowest_bit, single
from ttt_batch.base.jit import inlined, kernel
from ttt_batch.game.board import Board
from ttt_batch.game.lines import Lines, can_fill, view_of
from ttt_batch.proofs.playing import mark_cell, reset, tied_cells
from ttt_batch.proofs.positions import Pairs, find, make_positions
from ttt_batch.proofs.search import ALWAYS_WINS, CANNOT_LOSE, Claim, make_task

AT_ONCE = 1 << 14
"""Number of positions whose replies are listed together."""

NO_FAULT, TAKEN, LOST, NOT_WON = range(4)
"""Faults of a move: none, its cell is not free, the agent loses by it or by a reply, or the agent does not win."""


class ClosureLayer(NamedTuple):
    """Positions after `ply` moves, as sorted lowest images.  first, second: uint64[n], the players' cells."""

    ply: int
    first: NDArray[np.uint64]
    second: NDArray[np.uint64]


class Fault(NamedTuple):
    """Fault `why` of the move in position `number` of a layer, after the opponent's `reply` or -1."""

    number: int
    why: int
    reply: int


@kernel
def lowest_moves(agent: Any, lines: Lines, firsts: Any, seconds: Any, moves: Any) -> None:
    """Write the lowest cell that an agent may pick in each of its positions into `moves` (uint8[n]), in place."""
    for number in range(firsts.shape[0]):
        left, ply = (firsts[number], seconds[number]), 0
        reset(agent)
        while left[ply & 1] != NONE:
            mark_cell(agent, lowest_bit(left[ply & 1]), ply & 1)
            rest = left[ply & 1] & (left[ply & 1] - ONE)
            left = (left[0], rest) if ply & 1 else (rest, left[1])
            ply += 1
        own, other = (seconds[number], firsts[number]) if ply & 1 else (firsts[number], seconds[number])
        moves[number] = lowest_bit(tied_cells(agent, lines, own, other, view_of(lines, own, other), ply))


@inlined
def take_image(positions: Pairs, images: Any, first: Any, second: Any) -> None:
    """Write the images of a position into the first row of `images`, in place."""
    n_images = positions.image.shape[1]
    images[0] = NONE
    for cell in range(positions.image.shape[0]):
        for image in range(n_images):
            here = positions.image[cell, image]
            images[0, image] |= here if first & single(cell) else NONE
            images[0, n_images + image] |= here if second & single(cell) else NONE


@inlined
def list_replies(
    positions: Pairs, task: Claim, images: Any, keys: Any, n: Any, agents: Any, replier: Any, ply: Any
) -> Any:
    """Append the positions after each reply at ply `ply`, as keys.

    Return the new number of keys, and the reply by which the agent misses its goal, or -1.
    agents, replier: uint64, marks of the agent and of its opponent, who is to move.
    """
    lines, player = task.lines, ply & 1
    view = view_of(lines, replier, agents)
    free = all_cells(lines.cells) & ~(agents | replier)
    if lines.misere == 0 and view.own != NONE:
        return n, lowest_bit(view.own)
    free &= ~view.own
    while free != NONE:
        cell = lowest_bit(free)
        free &= free - ONE
        if ply + 1 == lines.cells:
            if task.goal == ALWAYS_WINS:
                return n, cell
            continue
        if task.goal == CANNOT_LOSE:
            left, then = (lines.cells - ply) // 2, replier | single(cell)
            if task.filler == player:
                if not can_fill(lines, then, agents, (lines.cells - ply - 1) // 2):
                    continue
            elif not can_fill(lines, agents, then, left):
                continue
        find(positions, images, 0, cell, player, keys, n)
        n += 1
    return n, np.int64(-1)


@kernel
def list_layer(positions: Any, task: Claim, ply: int, layer: Any, moves: Any, images: Any, keys: Any) -> Any:
    """Write the successors of positions after `ply` moves as keys.

    Return (number of keys, index of a faulty position or -1, why, reply).
    layer: two uint64[n].  moves: uint8[n], the agent's; unused if the opponent is to move first.
    """
    lines, n, mine = task.lines, np.int64(0), ply & 1 == task.seat
    for number in range(layer[0].shape[0]):
        first, second = layer[0][number], layer[1][number]
        after = ply
        if mine:
            cell, own, other = np.int64(moves[number]), second if ply & 1 else first, first if ply & 1 else second
            if cell >= lines.cells or (own | other) & single(cell):
                return n, number, TAKEN, np.int64(-1)
            if view_of(lines, own, other).own & single(cell):
                if lines.misere:
                    return n, number, LOST, np.int64(-1)
                continue
            own |= single(cell)
            first, second = (other, own) if ply & 1 else (own, other)
            after = ply + 1
            if after == lines.cells:
                if task.goal == ALWAYS_WINS:
                    return n, number, NOT_WON, np.int64(-1)
                continue
        agents, replier = (second, first) if task.seat else (first, second)
        if task.goal == CANNOT_LOSE:
            left = (lines.cells - after + 1) // 2
            if task.filler != task.seat:
                if not can_fill(lines, replier, agents, left):
                    continue
            elif not can_fill(lines, agents, replier, (lines.cells - after) // 2):
                continue
        take_image(positions, images, first, second)
        n, reply = list_replies(positions, task, images, keys, n, agents, replier, after)
        if reply >= 0:
            missed = task.goal == ALWAYS_WINS and after + 1 == lines.cells
            return n, number, NOT_WON if missed else LOST, reply
    return n, np.int64(-1), NO_FAULT, np.int64(-1)


Choice = Callable[[ClosureLayer], NDArray[np.uint8]]
"""Function that returns a move for each position of a layer."""


def layers_of(board: Board, seat: int, goal: int, *, symmetric: bool, choose: Choice) -> Iterator[ClosureLayer | Fault]:
    """Yield every layer, after `choose` has returned its moves; after a faulty layer, yield the fault and end.

    seat: 0 or 1, the agent's.  goal: as in `search`.  symmetric: merge images.
    """
    task = make_task(board, seat, goal)
    positions = make_positions(board, symmetric=symmetric, wide=True)
    images = np.zeros((1, 2 * positions[0].shape[-1]), np.uint64)
    layer = ClosureLayer(0, np.zeros(1, np.uint64), np.zeros(1, np.uint64))
    if goal == CANNOT_LOSE and not (board.lines and board.k <= (board.cells + 1 - task.filler) // 2):
        return
    while layer.first.size:
        mine = layer.ply & 1 == seat
        moves = choose(layer) if mine else np.zeros(1, np.uint8)
        if mine:
            yield layer
        found = []
        for start in range(0, layer.first.size, AT_ONCE):
            some = layer.first[start : start + AT_ONCE], layer.second[start : start + AT_ONCE]
            keys = np.empty(2 * board.cells * some[0].size, np.uint64)
            n, number, why, reply = list_layer(
                positions, task, layer.ply, some, moves[start : start + AT_ONCE], images, keys
            )
            if number >= 0:
                yield Fault(start + int(number), int(why), int(reply))
                return
            found.append(_unique(keys[: 2 * n : 2], ~keys[1 : 2 * n : 2]))
        first, second = _unique(*map(np.concatenate, zip(*found, strict=True)))
        layer = ClosureLayer(layer.ply + (2 if mine else 1), first, second)


def _unique(first: NDArray[np.uint64], second: NDArray[np.uint64]) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
    """Return pairs of words, sorted and without duplicates."""
    order = np.lexsort((second, first))
    first, second = first[order], second[order]
    new = np.ones(first.size, np.bool_)
    new[1:] = (first[1:] != first[:-1]) | (second[1:] != second[:-1])
    return first[new], second[new]
