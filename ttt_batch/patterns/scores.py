"""What every move of a game would bring, kept up to date: a move changes only the parts of the tuples through its cell.

A network sums up a position once for every free cell.  All weights stay the same during a game, so what a tuple adds to
the sums of moves changes only if a mark is put on it: on 6x5x4 that is one of four.
"""

from typing import Any, NamedTuple

import numpy as np

from ttt_batch.base.bits import ONE
from ttt_batch.base.jit import inlined
from ttt_batch.patterns.network import Network


class Scores(NamedTuple):
    """Sums by each player's table, of a position and of what its moves change; brought up to date when they are needed.

    total: int64[P], of the position.  score: int64[P, cells], what a mark of the player on a free cell adds to it.
    seen: uint32[P, N], the index for which each tuple's part in both was found.  here: int32[P, N], its weight then;
    there: int32[P, E], those after each move on one of its cells, or `here` if the cell is taken.
    """

    total: Any
    score: Any
    seen: Any
    here: Any
    there: Any


def make_scores(network: Network) -> Scores:
    """Scores of nothing yet."""
    tuples, entries, cells = network.offset.size, network.cell.size, network.start.size - 1
    return Scores(
        np.zeros(2, np.int64),
        np.zeros((2, cells), np.int64),
        np.zeros((2, tuples), np.uint32),
        np.zeros((2, tuples), np.int32),
        np.zeros((2, entries), np.int32),
    )


@inlined
def copy_scores(source: Scores, target: Scores) -> None:
    """Make `target` the same as `source`, in place."""
    for table in range(2):
        target.total[table] = source.total[table]
        for cell in range(source.score.shape[1]):
            target.score[table, cell] = source.score[table, cell]
        for number in range(source.seen.shape[1]):
            target.seen[table, number] = source.seen[table, number]
            target.here[table, number] = source.here[table, number]
        for entry in range(source.there.shape[1]):
            target.there[table, entry] = source.there[table, entry]


@inlined
def see_tuple(network: Network, weights: Any, index: Any, scores: Scores, table: Any, free: Any, number: Any) -> None:
    """Bring one tuple's part in the scores by a player's table up to date, in place.

    weights: int32[P, W].  index: uint32[N], of the position; free: uint64, its free cells.
    """
    place = np.uint64(index[number])
    here = np.int64(weights[table, place])
    change = here - np.int64(scores.here[table, number])
    step = np.uint64(1 + table)
    for entry in range(np.uint64(network.place[number]), np.uint64(network.place[number + np.uint64(1)])):
        cell = np.uint64(network.cell[entry])
        there = np.int64(weights[table, place + step * (free >> cell & ONE) * np.uint64(network.digit[entry])])
        scores.score[table, cell] += there - np.int64(scores.there[table, entry]) - change
        scores.there[table, entry] = np.int32(there)
    scores.total[table] += change
    scores.here[table, number] = np.int32(here)
    scores.seen[table, number] = index[number]


@inlined
def see_cell(network: Network, weights: Any, index: Any, scores: Scores, table: Any, free: Any, cell: Any) -> None:
    """Bring the tuples through a cell up to date, in place; parameters as for `see_tuple`."""
    for entry in range(np.uint64(network.start[cell]), np.uint64(network.start[cell + 1])):
        number = np.uint64(network.through[entry])
        if scores.seen[table, number] != index[number]:
            see_tuple(network, weights, index, scores, table, free, number)


@inlined
def see_empty(network: Network, weights: Any, index: Any, scores: Scores, free: Any) -> None:
    """Find the scores of the empty board by both tables, from nothing, in place; parameters as for `see_tuple`."""
    scores.total[:] = 0
    scores.score[:] = 0
    scores.here[:] = 0
    scores.there[:] = 0
    for table in range(2):
        for number in range(np.uint64(index.shape[0])):
            see_tuple(network, weights, index, scores, table, free, number)
