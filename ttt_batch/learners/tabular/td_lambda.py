"""`td-lambda`: returns that look ahead as far as lambda says, with one table seen from the first player's side.

Source: Sutton and Barto, Reinforcement Learning, 2nd edition, sections 12.1 to 12.3, offline.  After a game of T moves
with result z, positions s(0) .. s(T), and V from before the game:

    G(T-1) = z;   G(t) = (1 - lambda) * gamma * V(s(t+1)) + lambda * gamma * G(t+1)
    V(s(t)) += alpha * (G(t) - V(s(t)))   for t = 0 .. T - 1

With lambda 0 this is TD(0), with lambda and gamma 1 every-visit Monte Carlo.  `--cut` (Watkins): if the move from s(t)
was exploratory, V(s(t)) is not updated, and G(t-1) = gamma * V(s(t)), so that no target has a blunder in it.

In a batch, G of a position is the mean over all its games: over the moves taken there, each with what its child gives.
"""

from typing import NamedTuple

from ttt_batch.compiler.jit import BoolArray, Float64Array, Int64
from ttt_batch.games.board import UNFINISHED
from ttt_batch.games.graph import Graph, edges_of
from ttt_batch.learners.base import (
    Learner,
    Settings,
    Step,
    Trajectory,
    explored,
    fold,
    learn,
    mark_parents,
    share_of,
    step_size,
)
from ttt_batch.learners.values import one_value
from ttt_batch.simulation.policy import EXPLORING, GREEDY, Counts


@one_value
class TdLambdaTables(NamedTuple):
    """value: float64[S], what a position is worth to the first player; a win 1, a loss -1."""

    value: Float64Array


@fold.register(TdLambdaTables)
def _fold(tables: TdLambdaTables, graph: Graph, counts: Counts, step: Step, dirty: BoolArray) -> None:
    value, taken, gives = tables.value, counts.taken, counts.scratch  # gives: what a row gives to the row before
    for i in range(counts.n_visited[0] - 1, -1, -1):
        row = counts.visited[i]
        total, n = 0.0, 0  # of the returns that count, and how many do
        lo, hi = edges_of(graph, row)
        for edge in range(lo, hi):
            times = taken[edge, GREEDY] + (0 if step.cut else taken[edge, EXPLORING])
            if times != 0:
                child = graph.child[edge]
                outcome = graph.outcome[child]
                total += times * (step.worth[0, outcome] if outcome != UNFINISHED else gives[child])
                n += times
        before = value[row]
        given = step.gamma * before
        if n != 0:
            target = total / n
            value[row] = before + share_of(step, row, n) * (target - before)
            far = (1.0 - step.lambda_) * step.gamma * before + step.lambda_ * step.gamma * target
            cut_off = counts.arrived[row] - n
            given = far if cut_off == 0 else (n * far + cut_off * given) / counts.arrived[row]
            if value[row] != before:
                mark_parents(graph, row, dirty, True)
        gives[row] = given


@learn.register(TdLambdaTables)
def _learn(tables: TdLambdaTables, graph: Graph, game: Trajectory, plies: Int64, step: Step) -> None:
    value = tables.value
    target = step.worth[0, graph.outcome[game.row[plies]]]
    for ply in range(plies - 1, -1, -1):
        row = game.row[ply]
        before = value[row]
        if step.cut and explored(game, ply):
            target = step.gamma * before
        else:
            value[row] = before + step_size(step, row, 1) * (target - before)
            target = (1.0 - step.lambda_) * step.gamma * before + step.lambda_ * step.gamma * target


LEARNER = Learner(
    name="td-lambda",
    source="Sutton and Barto 12.1 to 12.3: offline lambda-returns on afterstates; one shared table",
    rule="V(s) += alpha * (G - V(s)), G = z at the end, else (1-lambda) * gamma * V(s') + lambda * gamma * G'",
    defaults=Settings(epsilon=0.1, alpha=0.1, lambda_=0.7, cut=False),
    zero_sum=True,
    prefers_symmetry=True,
    tables=TdLambdaTables,
    fields={"value": ("S", "what the position is worth to the first player: a win 1, a loss -1")},
    start=lambda graph, worth, _: TdLambdaTables(worth[0, graph.outcome]),
    start_value=0.0,
)
