"""Judgements by whole sweeps in NumPy, one for each number, ply by ply over all positions of an enumerated board.

The oracle of `judge`: it knows nothing of reached rows, and adds up a row's moves in cell order, so it gives the same
bytes.  An opponent's occupied cells do not count, the agent's lose.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ttt_batch.compiler.jit import kernel
from ttt_batch.evaluation.judgement import Judgement
from ttt_batch.games.board import DRAW, FIRST_WINS, SECOND_WINS
from ttt_batch.games.graph import Graph
from ttt_batch.learners.base import Learner, state_value
from ttt_batch.simulation.policy import FIRST_BEST, UNIFORM, Choice, score

Chosen = NDArray[np.bool_]
"""bool[E]: the moves that a player may pick, each equally likely."""


@kernel
def read_tables(tables: Any, graph: Graph, scores: Any, values: Any) -> None:
    """Fill `scores` (float64[E]) for each row's mover, and `values` (float64[P, U])."""
    for row in range(values.shape[1]):
        for edge in range(graph.first_edge[row], graph.first_edge[row + 1]):
            scores[edge] = score(tables, graph, edge, graph.ply[row] & 1)
        values[0, row], values[1, row] = state_value(tables, graph, row, 0), state_value(tables, graph, row, 1)


def plies(graph: Graph) -> Iterator[tuple[int, slice, tuple[slice, tuple[int, int]]]]:
    """From the empty board on: the ply, its unfinished rows, and their edges with the shape (rows, moves)."""
    for ply in range(graph.ply_start.size - 1):
        start, end = int(graph.ply_start[ply]), int(graph.ply_start[ply + 1])
        if end > start:
            first, last = int(graph.first_edge[start]), int(graph.first_edge[end])
            yield ply, slice(start, end), (slice(first, last), (end - start, (last - first) // (end - start)))


def greedy(graph: Graph, choice: Choice, scores: NDArray[np.float64]) -> Chosen:
    """Return the moves that the choice rule may pick, by its definition; all moves if none was seen."""
    chosen = np.zeros(scores.size, np.bool_)
    for _, _, (edges, shape) in plies(graph):
        mine = scores[edges].reshape(shape)
        best = np.where(np.isnan(mine), -np.inf, mine).max(axis=1, keepdims=True)
        good = (mine >= best) | (mine > best - choice.window)
        if choice.tie != UNIFORM:
            first = good.argmax(axis=1) if choice.tie == FIRST_BEST else shape[1] - 1 - good[:, ::-1].argmax(axis=1)
            good &= np.arange(shape[1]) == first[:, None]
        chosen[edges] = (good | ~good.any(axis=1, keepdims=True)).ravel()
    return chosen


def mean(after: NDArray[np.float64], chosen: Chosen) -> Any:
    """The mean over the chosen moves of each row, added up move by move; after: [rows, moves, numbers]."""
    total = np.zeros((after.shape[0], after.shape[2]))
    for move in range(after.shape[1]):
        total = total + np.where(chosen[:, move, None], after[:, move], 0.0)
    return total / chosen.sum(axis=1)[:, None]


def results(graph: Graph, first: Chosen, second: Chosen) -> NDArray[np.float64]:
    """float64[S, 3]: first wins, draw, second wins from every row on."""
    result = np.stack([graph.outcome == outcome for outcome in (FIRST_WINS, DRAW, SECOND_WINS)], axis=1) * 1.0
    for ply, rows, (edges, shape) in reversed(list(plies(graph))):
        chosen = (second if ply & 1 else first)[edges].reshape(shape)
        result[rows] = mean(result[graph.child[edges]].reshape(*shape, 3), chosen)
    return result


def ends(graph: Graph, player: int) -> NDArray[np.float64]:
    """float64[S]: 1, 0 or -1 as `player` won, drew or lost; 0 while it is not over."""
    won = (graph.outcome == FIRST_WINS) * 1.0 - (graph.outcome == SECOND_WINS)
    return -won + 0.0 if player else won


def worst_results(graph: Graph, agent: Chosen, seat: int) -> NDArray[np.float64]:
    """float64[S]: the agent's worst result from every row on."""
    worst, legal = ends(graph, seat), graph.code[graph.child] >= 0
    for ply, rows, (edges, shape) in reversed(list(plies(graph))):
        chosen = (agent if ply & 1 == seat else legal)[edges]
        worst[rows] = np.where(chosen, worst[graph.child[edges]], np.inf).reshape(shape).min(axis=1)
    return worst


def best_responses(graph: Graph, agent: Chosen, seat: int) -> NDArray[np.float64]:
    """float64[S]: what the best opponent expects from every row on against the agent in `seat`."""
    value, legal = ends(graph, 1 - seat), graph.code[graph.child] >= 0
    for ply, rows, (edges, shape) in reversed(list(plies(graph))):
        after = value[graph.child[edges]]
        if ply & 1 == seat:
            value[rows] = mean(after.reshape(*shape, 1), agent[edges].reshape(shape))[:, 0]
        else:
            value[rows] = np.where(legal[edges], after, -np.inf).reshape(shape).max(axis=1)
    return value


def optimal_share(graph: Graph, agent: Chosen, seat: int, solution: NDArray[np.int8]) -> float:
    """Of the positions where the agent may have to move, the share in which every move it may pick keeps the value."""
    reached, n_own, n_optimal = np.zeros(graph.code.size, np.bool_), 0, 0
    reached[0] = True
    for ply, rows, (edges, shape) in plies(graph):
        children = graph.child[edges].reshape(shape)
        chosen = agent[edges].reshape(shape) if ply & 1 == seat else np.ones(shape, np.bool_)
        here = reached[rows]
        reached[children[chosen & here[:, None]]] = True
        if ply & 1 == seat:
            n_own += int(here.sum())
            n_optimal += int((here & ((solution[children] == solution[rows, None]) | ~chosen).all(axis=1)).sum())
    return n_optimal / n_own if n_own else 1.0


def value_error(values: NDArray[np.float64], truth: NDArray[np.float64]) -> float:
    """Mean distance of the values that are numbers from the truth, added up row by row; nan if there are none."""
    distance = np.abs(values - truth)[~np.isnan(values)]
    return float(np.add.accumulate(distance)[-1] / distance.size) if distance.size else np.nan


def judgement(
    tables: Any, graph: Graph, learner: Learner, worth: NDArray[np.float64], solution: NDArray[np.int8]
) -> Judgement:
    """Return the judgement that `judge` has to write, to the last bit."""
    n_open = graph.first_edge.size - 1
    scores, values = np.zeros(graph.child.size), np.zeros((2, n_open))
    read_tables(tables, graph, scores, values)
    agent, random = greedy(graph, learner.choice, scores), graph.code[graph.child] >= 0
    seats = range(2)
    worst = np.array([worst_results(graph, agent, seat)[0] for seat in seats], np.int8)
    truth = worth[:, np.array([DRAW, FIRST_WINS, SECOND_WINS])[solution[:n_open]]]
    return Judgement(
        unbeatable=worst >= 0,
        worst=worst,
        self_play=results(graph, agent, agent)[0],
        versus_random=np.stack([results(graph, agent, random)[0], results(graph, random, agent)[0, ::-1]]),
        best_response=np.array([best_responses(graph, agent, seat)[0] for seat in seats]),
        optimal_share=np.array([optimal_share(graph, agent, seat, solution) for seat in seats]),
        value_error=np.array([value_error(values[player], truth[player]) for player in seats]),
    )
