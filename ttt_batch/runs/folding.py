"""Transfer of a policy to another graph of its board, such as from classes of positions to real positions."""

import numpy as np
from numpy.typing import NDArray

from ttt_batch.game.board import Board
from ttt_batch.game.graph import Graph, rows_of_edges

AT_ONCE = 1 << 18
"""Rows that are transferred together: on 4x4 with eight images they take 100 MB."""


def transfer_policy(
    board: Board, own: Graph, picked: NDArray[np.bool_], graph: Graph, *, symmetry: bool
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Transfer the `picked` edges (bool[E]) of `own` to another graph of the same board.

    symmetry: True if a row of `own` stands for all images of a position.  Then every position gets the moves of its
    class, in the orientation of `Board.representative`.
    Returns bool[E], the edges picked in `graph`, and bool[U], its rows that lack an edge for some picked move.
    """
    n_own, n_rows = own.first_edge.size - 1, graph.first_edge.size - 1
    cells = np.zeros(n_own, np.uint64)  # a set for each row
    np.bitwise_or.at(cells, rows_of_edges(own)[picked], np.uint64(1) << own.cell[picked].astype(np.uint64))
    order = np.argsort(own.code[:n_own])
    codes, powers = own.code[:n_own][order], 3 ** np.arange(board.cells, dtype=np.int64)
    # Position of each cell in each image.
    places = np.argsort(np.array(board.images(symmetry)), axis=1)
    turned = np.pad(places, ((0, 0), (0, 1)), constant_values=board.resignation)  # resignation maps to itself
    found, lacks = np.zeros(graph.child.size, np.bool_), np.zeros(n_rows, np.bool_)
    for start in range(0, n_rows, AT_ONCE):
        stop = min(start + AT_ONCE, n_rows)
        images = (graph.code[start:stop, None] // powers % 3) @ powers[places].T
        number = images.argmin(1)
        wanted = cells[order[np.searchsorted(codes, images[np.arange(stop - start), number])]]
        edges = slice(int(graph.first_edge[start]), int(graph.first_edge[stop]))
        row = np.repeat(np.arange(stop - start), np.diff(graph.first_edge[start : stop + 1]))
        place = turned[number[row], graph.cell[edges]].astype(np.uint64)
        found[edges] = wanted[row] >> place & np.uint64(1) != 0
        lacks[start:stop] = np.bincount(row[found[edges]], minlength=stop - start) < np.bitwise_count(wanted)
    return found, lacks
