"""The unfinished positions of a board and their true results, for the page, if the board is enumerated.

Rows are the positions in the order of their codes (up to symmetry: the lowest code of each class).  A bit for each of
the 3**cells codes says which have a row, so no code is written down.
"""

import numpy as np
from numpy.typing import NDArray

from ttt_batch.app.web.packing import PagePart
from ttt_batch.game.board import Board
from ttt_batch.game.graph import Graph
from ttt_batch.game.solution import QUICKEST


def solution_part(board: Board, graph: Graph, symmetry: bool, solution: NDArray[np.int8]) -> PagePart:
    """The part of a board whose graph is enumerated, as itself or up to `symmetry`; at most 16 cells.

    solution: int8[S], as `solution.solve_in_plies` gives it.
    Its arrays are `rows`, a bit for each code, lowest first; and `truths`, int8[U], of each row.
    """
    codes = open_codes(graph)
    arrays = {"rows": _bits(codes, 3**board.cells), "truths": solution[np.argsort(codes)].astype("i1")}
    return PagePart("solution", {"rows": codes.size, "quickest": QUICKEST, "images": board.images(symmetry)}, arrays)


def open_codes(graph: Graph) -> NDArray[np.int64]:
    """int64[U]: the codes of unfinished positions, in the order of the graph."""
    codes: NDArray[np.int64] = graph.code[: graph.first_edge.size - 1]
    return codes


def _bits(codes: NDArray[np.int64], size: int) -> NDArray[np.uint8]:
    """uint8[size / 8]: a bit for each number below `size`, set for those in `codes`."""
    present = np.zeros(size, np.bool_)
    present[codes] = True
    return np.packbits(present, bitorder="little")
