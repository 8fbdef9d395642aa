"""Action probabilities of learners and fixed players, which need not be uniform.

Each edge has two slots with a probability each: slot 2 * edge + GREEDY means that the edge is taken and counts as
greedy, slot 2 * edge + EXPLORING that it counts as exploring, as in `Counts.taken`.  `write_chances` computes them for
a learner, with one body per class of exploration.  `Probabilities` are fixed, such as an opponent's.
"""

import functools
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ttt_batch.compiler.jit import Float64Array, Int64, Integer, Tables, generic, inlined
from ttt_batch.compiler.numerics import exponential
from ttt_batch.core.errors import UsageError
from ttt_batch.games.graph import Graph, edges_of, mover_of, rows_of_edges
from ttt_batch.simulation.policy import Choice, Policy, best_moves, chosen_edges, score, ties

WIDEST = 64
"""Moves of a row at most."""

LEAST_BEADS = 1e-300
"""Score of resigning: above the score of a kind without beads, and not above that of any other."""

SUM = 1e-6
"""Largest deviation from 1 of given probabilities of a row in all."""


class Probabilities(NamedTuple):
    """A fixed player.  chance: float64[E], the probability of every edge; those of an unfinished row add up to 1."""

    chance: Float64Array


class Softmax(NamedTuple):
    """Probabilities proportional to e**(score / temperature); temperature: float64[1], above 0."""

    temperature: Float64Array


class Beads(NamedTuple):
    """Probabilities proportional to beads: a move's score is its beads; moves to the same child share it.

    In a row without beads the player forfeits if possible; else all moves are equally likely.
    least: float64[1], LEAST_BEADS; only a higher score is a number of beads.
    """

    least: Float64Array


BY_BEADS = Beads(np.array([LEAST_BEADS]))


class Exploring(NamedTuple):
    """Epsilon-greedy: one of the best moves, or with probability `epsilon` (float64[1]) any move as exploration.

    Other samplers are faster.  This one serves games against a player whose moves are not equally likely.
    """

    epsilon: Float64Array


@functools.partial(generic, inline=True)
def write_chances(how: Any, tables: Tables, graph: Graph, choice: Choice, row: Integer, chance: Float64Array) -> Any:
    """Write the probabilities of the slots of `row` into `chance` (float64[2 * WIDEST])."""


@write_chances.register(Softmax)
def _softmax(how: Softmax, tables: Tables, graph: Graph, choice: Choice, row: Integer, chance: Float64Array) -> None:
    lo, hi = edges_of(graph, row)
    mover, temperature = mover_of(graph, row), how.temperature[0]
    highest = -np.inf
    for edge in range(lo, hi):
        s = score(tables, graph, np.uint64(edge), mover)
        s = s if s == s else 0.0  # a move never seen
        chance[2 * (edge - lo)] = s
        highest = s if s > highest else highest
    total = 0.0
    for even in range(0, 2 * (hi - lo), 2):
        chance[even] = exponential((chance[even] - highest) / temperature)
        total += chance[even]
    n, best, first, last = best_moves(tables, graph, choice, lo, hi, mover)
    for edge in range(lo, hi):
        slot = 2 * (edge - lo)
        share = chance[slot] / total
        good = edge >= first and edge <= last and ties(choice, score(tables, graph, np.uint64(edge), mover), best)
        greedy = good or n == 0
        chance[slot] = share if greedy else 0.0
        chance[slot + 1] = 0.0 if greedy else share


@write_chances.register(Beads)
def _beads(how: Beads, tables: Any, graph: Graph, choice: Choice, row: Integer, chance: Float64Array) -> None:
    lo, hi = edges_of(graph, row)
    mover, least, total = mover_of(graph, row), how.least[0], 0.0
    for edge in range(lo, hi):
        s, alike = score(tables, graph, np.uint64(edge), mover), 0
        for other in range(lo, hi):
            alike += graph.child[other] == graph.child[edge]
        chance[2 * (edge - lo)] = s / alike if s > least else 0.0
        total += chance[2 * (edge - lo)]
    n, best, first, last = best_moves(tables, graph, choice, lo, hi, mover)
    for edge in range(lo, hi):
        slot = 2 * (edge - lo)
        good = edge >= first and edge <= last and ties(choice, score(tables, graph, np.uint64(edge), mover), best)
        greedy = good or n == 0
        share = chance[slot] / total if total > 0.0 else (1.0 / (n if n else hi - lo) if greedy else 0.0)
        chance[slot] = share if greedy else 0.0
        chance[slot + 1] = 0.0 if greedy else share


@write_chances.register(Exploring)
def _exploring(how: Exploring, tables: Tables, graph: Graph, choice: Choice, row: Int64, chance: Float64Array) -> None:
    lo, hi = edges_of(graph, row)
    mover, epsilon = mover_of(graph, row), how.epsilon[0]
    n, best, first, last = best_moves(tables, graph, choice, lo, hi, mover)
    for edge in range(lo, hi):
        good = edge >= first and edge <= last and ties(choice, score(tables, graph, np.uint64(edge), mover), best)
        greedy = (1.0 - epsilon) / (n if n else hi - lo)
        chance[2 * (edge - lo)] = greedy if good or n == 0 else 0.0
        chance[2 * (edge - lo) + 1] = epsilon / (hi - lo)


@inlined
def copy_chances(fixed: Probabilities, graph: Graph, row: Integer, chance: Float64Array) -> None:
    """Write a fixed player's probabilities for `row` into `chance`, as `write_chances` does; all moves are greedy."""
    lo, hi = edges_of(graph, row)
    for edge in range(lo, hi):
        chance[2 * (edge - lo)] = fixed.chance[edge]
        chance[2 * (edge - lo) + 1] = 0.0


def make_chances(graph: Graph, chance: NDArray[np.float64]) -> Probabilities:
    """Return a fixed player from the probabilities of edges (float64[E]); each row is scaled to sum to 1.

    Raises UsageError for negative numbers, and for an unfinished row whose sum is not 1 within 1e-6.
    """
    given, first = np.asarray(chance, np.float64), graph.first_edge[:-1]
    if given.shape != graph.child.shape:
        raise UsageError(f"{given.size:,} chances for {graph.child.size:,} moves; give one for each")
    total = np.add.reduceat(given, first)
    if not (np.isfinite(given).all() and (given >= 0.0).all() and (np.abs(total - 1.0) <= SUM).all()):
        raise UsageError("the chances of a position's moves are at least 0 and add up to 1; some do not")
    return Probabilities(given / total[rows_of_edges(graph)])


def even_chances(graph: Graph, policy: Policy) -> Probabilities:
    """Return a policy as a fixed player's probabilities."""
    return Probabilities(chosen_edges(graph, policy) / policy.best[rows_of_edges(graph)])


NO_CHANCES = Probabilities(np.zeros(0))
"""Probabilities of no fixed player: in self-play, and of a random player on a growing board."""
