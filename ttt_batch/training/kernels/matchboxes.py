"""Many learners with matchboxes, one after the other, each game by game against the same opponent; results are counted.

They play the games of `mixture_games` and learn as `learners.menace` does, to the last bit, several times as fast: a
kind of beads is one number, what a box holds in all is kept beside it, and the opponent's chances are added up once.
That a box's beads are added up in another order changes nothing, since whole numbers and quarters have exact sums.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ttt_batch.base.jit import inlined, kernel
from ttt_batch.base.streams import draw, game_base, unit
from ttt_batch.game.board import DRAW, FIRST_WINS
from ttt_batch.game.graph import Graph, edges_of, n_unfinished, rows_of_edges

MOST_PLIES = 10
"""Of a game: nine moves, or fewer and resigning."""


class Matchboxes(NamedTuple):
    """All that learners with the same settings share.

    kind: int64[E], the number of the kind that an edge of a box belongs to; of no meaning for others, and to resign.
    portion: float64[E], what one edge has of the beads of its kind; 0 for edges to resign.
    holds: bool[U], which rows are boxes.
    full, filled: float64[K] and float64[U], beads of each kind and in each box at the beginning.
    reached: float64[E], the chances of the opponent's moves up to each edge of its row, infinite at the last edge that
    has a chance; of no meaning for other rows.
    reward: float64[4], beads for each outcome.
    """

    kind: Any
    portion: Any
    holds: Any
    full: Any
    filled: Any
    reached: Any
    reward: Any


class BoxSampler(NamedTuple):
    """One learner's beads, and its present game.

    beads: float64[K].  inside: float64[U], beads in each box.  row, kind: int64[MOST_PLIES], boxes opened in a game,
    and the kinds drawn.
    """

    beads: Any
    inside: Any
    row: Any
    kind: Any


def make_matchboxes(
    graph: Graph, q: NDArray[np.float64], chance: NDArray[np.float64], reward: NDArray[np.float64]
) -> Matchboxes:
    """The boxes of learners that begin with `q` (float64[E], as `MenaceTables` has it).

    chance: float64[E], of the opponent's moves.  reward: float64[4], by outcome.
    """
    row, child = rows_of_edges(graph), graph.child.astype(np.int64)
    boxed = np.flatnonzero(~np.isnan(q) & (graph.code[child] >= 0))
    _, own, alike = np.unique(row[boxed] * graph.code.size + child[boxed], return_inverse=True, return_counts=True)
    kind, portion = np.zeros(child.size, np.int64), np.zeros(child.size)
    full, filled, holds = np.zeros(alike.size), np.zeros(graph.legal.size), np.zeros(graph.legal.size, np.bool_)
    kind[boxed], portion[boxed] = own.reshape(-1), (1.0 / alike)[own.reshape(-1)]
    full[kind[boxed]], holds[row[boxed]] = q[boxed], True
    np.add.at(filled, row[boxed], q[boxed] * portion[boxed])
    reached = np.empty(child.size)
    for first, last in zip(graph.first_edge[:-1], graph.first_edge[1:], strict=True):
        reached[first:last] = np.add.accumulate(chance[first:last])  # one after the other
        reached[max(np.flatnonzero(chance[first:last]), default=0) + first] = np.inf
    return Matchboxes(kind, portion, holds, full, filled, reached, reward)


def make_box_sampler(graph: Graph, boxes: Matchboxes) -> BoxSampler:
    """Room for a learner."""
    return BoxSampler(np.zeros(boxes.full.size), np.zeros(boxes.filled.size), *np.zeros((2, MOST_PLIES), np.int64))


@inlined
def drawn_edge(graph: Graph, boxes: Matchboxes, hand: BoxSampler, row: Any, reach: Any) -> Any:
    """The edge whose bead is drawn from a box, or to resign if it is empty, which is the last one of its row."""
    lo, hi = edges_of(graph, row)
    inside, total, last = hand.inside[row], 0.0, hi - 1
    if inside > 0.0:
        for edge in range(lo, hi):
            share = hand.beads[boxes.kind[edge]] * boxes.portion[edge]
            if share > 0.0:
                total, last = total + share / inside, edge
                if total > reach:
                    break
    return last


@inlined
def opponent_edge(graph: Graph, boxes: Matchboxes, row: Any, reach: Any) -> Any:
    """The edge that the opponent takes, or the only one of a row that is no box."""
    edge = np.int64(graph.first_edge[row])
    while boxes.reached[edge] <= reach:
        edge += 1
    return edge


@inlined
def play_boxes_game(graph: Graph, boxes: Matchboxes, hand: BoxSampler, base: Any) -> Any:
    """Play a game and learn from it; return its outcome (int64)."""
    row, ply, opened = np.int64(0), np.int64(0), np.int64(0)
    while row < n_unfinished(graph):
        reach = unit(draw(base, ply))
        if boxes.holds[row]:
            edge = drawn_edge(graph, boxes, hand, row, reach)
            hand.row[opened], hand.kind[opened] = row, boxes.kind[edge]
            opened += 1
        else:
            edge = opponent_edge(graph, boxes, row, reach)
        row = np.int64(graph.child[edge])
        ply += 1
    outcome = np.int64(graph.outcome[row])
    if graph.code[row] < 0:
        opened -= 1  # whoever resigns has drawn no bead
    for i in range(opened):
        kind, box = hand.kind[i], hand.row[i]
        before = hand.beads[kind]
        after = max(before + boxes.reward[outcome], 0.0)
        hand.beads[kind] = after
        hand.inside[box] += after - before
    return outcome


@inlined
def copy_array(one: Any, other: Any) -> None:
    """Copy an array into another one."""
    for i in range(one.shape[0]):
        other[i] = one[i]


@kernel
def play_matchboxes(
    graph: Graph, boxes: Matchboxes, hand: BoxSampler, keys: Any, points: Any, outcomes: Any, ends: Any
) -> None:
    """Let one learner after the other play games 0 to `points[-1] - 1`, and count how they end.

    keys: uint64[n], the learners' streams.  points: int64[T], games, ascending.
    outcomes: int64[n, T, 3], first wins, draws and second wins up to each point.  ends: float64[n, K], the beads of
    each kind at the end, or float64[0, K] if nobody wants them.  Both are filled in place; `hand` is modified.
    """
    for learner in range(keys.shape[0]):
        copy_array(boxes.full, hand.beads)
        copy_array(boxes.filled, hand.inside)
        wins, draws, game = np.int64(0), np.int64(0), np.int64(0)
        for point in range(points.shape[0]):
            while game < points[point]:
                outcome = play_boxes_game(graph, boxes, hand, game_base(keys[learner], game))
                wins += outcome == FIRST_WINS
                draws += outcome == DRAW
                game += 1
            outcomes[learner, point, 0] = wins
            outcomes[learner, point, 1] = draws
            outcomes[learner, point, 2] = game - wins - draws
        if ends.shape[0] > 0:
            copy_array(hand.beads, ends[learner])
