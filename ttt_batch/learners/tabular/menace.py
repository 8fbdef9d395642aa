"""`menace`: Michie's machine of matchboxes, whose beads each game adds or removes.

Source: Michie, "Experiments on the mechanization of game-learning", The Computer Journal 6, 1963.  It plays first on
3x3.  Each position with a choice has a box, shared by all its images: 304 boxes.  Moves that a symmetry of the position
maps to each other are one kind of bead.  At the beginning a box has 4, 3, 2 or 1 beads of each kind, depending on the
number of moves made.  A bead is drawn by chance.  After the game, with the reward R for a win, a draw or a loss:

    beads(s, a) = max(0, beads(s, a) + R)   for every bead drawn

With an empty box it resigns: the game is lost, and the boxes before it learn that.

In a batch R is the mean over the games after a move, and counts once per move.  Beads are then real numbers, and the
limit at 0 applies per batch, not per game.  So the expectation of a batch differs from that of its games one by one.
"""

from typing import NamedTuple

import numpy as np

from ttt_batch.compiler.jit import Bool, BoolArray, Float64Array, Int64, Integer, Tables, inlined
from ttt_batch.core.text import SEATS
from ttt_batch.games.board import UNFINISHED
from ttt_batch.games.graph import Graph, edges_of, mover_of, rows_of_edges
from ttt_batch.learners.base import Learner, Settings, Step, Trajectory, fold, learn, state_value
from ttt_batch.simulation.action_probabilities import LEAST_BEADS
from ttt_batch.simulation.policy import EXPLORING, GREEDY, Counts, score

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
"""Colour of each cell's beads: those of Okabe and Ito, and white.  The cell's number always stands beside it."""


class MenaceTables(NamedTuple):
    """q: float64[E], beads of a move's kind; NaN for moves that no box has."""

    q: Float64Array


@inlined
def _is_box(graph: Graph, row: np.uint32) -> Bool:
    """Return whether a row is a box: a position in which the first player has a choice."""
    return mover_of(graph, row) == 0 and np.int64(graph.legal[row]) > 1


@inlined
def _add_beads(tables: Tables, graph: Graph, row: np.uint32, edge: Int64, beads: float) -> None:
    """Add beads, or remove them if negative, to a move's kind; all moves of a kind lead to the same row."""
    if graph.code[graph.child[edge]] < 0:
        return
    lo, hi = edges_of(graph, row)
    after = max(tables.q[edge] + beads, 0.0)
    for other in range(lo, hi):
        if graph.child[other] == graph.child[edge]:
            tables.q[other] = after


@score.register(MenaceTables)
def _score(tables: MenaceTables, graph: Graph, edge: Integer, mover: Int64) -> float:
    return LEAST_BEADS if graph.code[graph.child[edge]] < 0 and mover == 0 else tables.q[edge]


@state_value.register(MenaceTables)
def _state_value(tables: MenaceTables, graph: Graph, row: np.uint64, player: Int64) -> float:
    return np.nan


@learn.register(MenaceTables)
def _learn(tables: MenaceTables, graph: Graph, game: Trajectory, plies: Int64, step: Step) -> None:
    reward = step.worth[0, graph.outcome[game.row[plies]]]
    for ply in range(0, plies, 2):
        if _is_box(graph, game.row[ply]):
            _add_beads(tables, graph, game.row[ply], np.int64(game.edge[ply]), reward)


@fold.register(MenaceTables)
def _fold(tables: MenaceTables, graph: Graph, counts: Counts, step: Step, dirty: BoolArray) -> None:
    taken, scratch = counts.taken, counts.scratch  # hand: the mean reward of the games through a row
    for i in range(counts.n_visited[0] - 1, -1, -1):
        row, total = counts.visited[i], 0.0
        box = _is_box(graph, row)
        lo, hi = edges_of(graph, row)
        for edge in range(lo, hi):
            child, alike, first = graph.child[edge], 0, edge
            for other in range(hi - 1, lo - 1, -1):
                if graph.child[other] == child:
                    alike += taken[other, GREEDY] + taken[other, EXPLORING]
                    first = other
            if alike == 0 or first != edge:
                continue
            outcome = graph.outcome[child]
            reward = alike * (step.worth[0, outcome] if outcome != UNFINISHED else scratch[4 * child])
            total += reward
            if box:
                _add_beads(tables, graph, row, edge, reward)
        scratch[4 * row] = total / counts.arrived[row]
        dirty[row] = True


def has_box(graph: Graph) -> BoolArray:
    """Return whether each unfinished position has a box (bool[R]): the first player has a choice there."""
    found: BoolArray = (graph.ply[: graph.legal.size] % 2 == 0) & (graph.legal > 1)
    return found


def _start(graph: Graph, settings: Settings) -> MenaceTables:
    """Return full boxes."""
    beads = np.array([int(number) for number in (settings.beads or "").split(",")], np.float64)
    row, n_open = rows_of_edges(graph), graph.legal.size
    ply = graph.ply[:n_open].astype(np.int64)
    boxed = has_box(graph)[row]
    q = np.full(graph.child.size, np.nan)
    q[boxed] = beads[np.minimum(ply[row[boxed]] // 2, beads.size - 1)]
    q[graph.code[graph.child] < 0] = 0.0
    return MenaceTables(q)


DEFAULTS = Settings(epsilon=0.0, alpha=1.0, gamma=1.0, draw_worth=(0.0, 0.0), beads="4,3,2,1", rewards="3,1,-1")

LEARNER = Learner(
    name="menace",
    source="Michie 1963: the Matchbox Educable Noughts and Crosses Engine, which plays first",
    rule="beads(s,a) = max(0, beads(s,a) + 3, 1 or -1 for a win, draw or loss); drawn by their shares",
    defaults=DEFAULTS,
    games=220,
    prefers_symmetry=True,
    tables=MenaceTables,
    fields={"q": ("E", "beads of the move's kind; 0 to resign, NaN for moves of which no box has beads")},
    start=lambda graph, worth, _: _start(graph, DEFAULTS),
    start_by=_start,
    seats=SEATS[:1],
    resigns=True,
    undiscounted=True,
)
