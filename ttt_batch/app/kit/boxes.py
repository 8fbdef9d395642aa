"""What stands on a menace's matchboxes, and which beads are in them."""

from typing import NamedTuple

from ttt_batch.base.quantities import count_text
from ttt_batch.game.board import Position
from ttt_batch.runs.run import Run

COLOURS = (
    ("white", "#FFFFFF"),
    ("sky blue", "#56B4E9"),
    ("yellow", "#F0E442"),
    ("orange", "#E69F00"),
    ("black", "#000000"),
    ("green", "#009E73"),
    ("red", "#D55E00"),
    ("blue", "#0072B2"),
    ("pink", "#CC79A7"),
)
"""A colour for each cell, by name: those of Okabe and Ito, and white.  The cell's number stands beside it, always."""

DARK = ("black", "green", "red", "blue")
"""Colours on which letters are white."""


class Box(NamedTuple):
    """A matchbox.

    number: from 1, in the order of the moves.  move: which move of the first player's it is for, from 1.
    position: what stands on it.  beads: by cell, of one cell of each kind; the others of a kind have none of their own.
    """

    number: int
    move: int
    position: Position
    beads: dict[int, int]

    @property
    def holds(self) -> str:
        """How many beads are in it."""
        total = sum(self.beads.values())
        return count_text(total, "bead") if total else "empty: resigns"


def boxes_of(run: Run) -> list[Box]:
    """The boxes of a run of `menace`; beads of large batches are rounded, halves up."""
    graph, q = run.graph, run.tables.q
    boxes: list[Box] = []
    for row in range(graph.legal.size):
        if graph.ply[row] % 2 or graph.legal[row] < 2:
            continue
        lo, hi = graph.first_edge[row : row + 2].tolist()
        kinds: dict[int, int] = {}
        for edge in range(lo, hi):
            if graph.code[graph.child[edge]] >= 0:
                kinds.setdefault(int(graph.child[edge]), edge)
        beads = {int(graph.cell[edge]): int(q[edge] + 0.5) for edge in kinds.values()}
        position = run.board.decode(int(graph.code[row]))
        boxes.append(Box(len(boxes) + 1, int(graph.ply[row]) // 2 + 1, position, beads))
    return boxes
