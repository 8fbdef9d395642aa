"""A learner of your own: every-visit Monte Carlo.

    python scripts/examples/own_learner.py

After a game every position on the way moves towards the game's result, whatever moves led there:

    V(s) += alpha * (z - V(s)),   z = 1 where the first player won, 0 for a draw, -1 where the second won

`learn` says that for one game, `fold` for a whole batch of games at once, from the counts of how often each move was
taken (a move then counts with the mean result of all games through the position after it). Everything else comes
with the package: both engines, schedules, threads, run files, exact judgements. They tell what this learner gets
right and what not: its targets contain the explorers' blunders, so its values stay far from the true ones, and yet
they rank the moves so well that no opponent beats it after a million games.
"""

import sys
from typing import Any, NamedTuple

import numpy as np

import ttt_batch as ttt
from ttt_batch.learners import (
    EXPLORING,
    GREEDY,
    UNIFORM,
    Choice,
    Counts,
    Graph,
    Learner,
    Settings,
    Step,
    Trajectory,
    edges_of,
    fold,
    learn,
    mark_parents,
    register,
    score,
    share_of,
    state_value,
    step_size,
)


class MonteCarloTables(NamedTuple):
    """value: float64[S], what a position is worth to the first player; a win 1, a loss -1."""

    value: Any


@score.register(MonteCarloTables)
def _score(tables: MonteCarloTables, graph: Graph, edge: int, mover: int) -> Any:
    value = tables.value[graph.child[edge]]
    return -value if mover else value


@state_value.register(MonteCarloTables)
def _state_value(tables: MonteCarloTables, graph: Graph, row: int, player: int) -> Any:
    return -tables.value[row] if player else tables.value[row]


@learn.register(MonteCarloTables)
def _learn(tables: MonteCarloTables, graph: Graph, game: Trajectory, plies: int, step: Step) -> None:
    result = step.worth[0, graph.outcome[game.row[plies]]]
    for ply in range(plies):
        row = game.row[ply]
        tables.value[row] += step_size(step, row, 1) * (result - tables.value[row])


@fold.register(MonteCarloTables)
def _fold(tables: MonteCarloTables, graph: Graph, counts: Counts, step: Step, dirty: Any) -> None:
    mean = counts.scratch  # of the results of all games through a row
    for i in range(counts.n_visited[0] - 1, -1, -1):
        row, total = counts.visited[i], 0.0
        lo, hi = edges_of(graph, row)
        for edge in range(lo, hi):
            child, n = graph.child[edge], counts.taken[edge, GREEDY] + counts.taken[edge, EXPLORING]
            total += n * (step.worth[0, graph.outcome[child]] if graph.outcome[child] else mean[child]) if n else 0.0
        mean[row] = total / counts.arrived[row]
        tables.value[row] += share_of(step, row, counts.arrived[row]) * (mean[row] - tables.value[row])
        mark_parents(graph, row, dirty, True)


MONTE_CARLO = Learner(
    name="monte-carlo",
    source="every-visit Monte Carlo prediction of the policy that explores",
    rule="V(s) += alpha * (z - V(s)) for every position of a game with result z",
    defaults=Settings(epsilon=0.1, alpha=0.05, gamma=1.0, draw_worth=(0.0, 0.0)),
    games=1_000_000,
    choice=Choice(UNIFORM, 0.0),
    zero_sum=True,
    occupied=False,
    final_rows=False,
    prefers_symmetry=True,
    tables=MonteCarloTables,
    fields={"value": ("S", "mean result for the first player: a win 1, a loss -1")},
    start=lambda graph, worth, rng: MonteCarloTables(worth[0, graph.outcome]),
)


def main() -> None:
    """Train it and say how good it is, beside the learner that comes with the package."""
    register(MONTE_CARLO)
    for name, compiled in (("monte-carlo", "every time"), ("td", "the first time")):
        print(f"training {name} on 1,000,000 games (compiles it {compiled}) ...", file=sys.stderr)
        run = ttt.train(1_000_000, learner=name, batch=1024, seed=1)
        assert isinstance(run, ttt.Run)  # tables of positions, not the weights of a network
        judged = run.evaluation("random")
        verdicts = ", ".join(
            f"{'unbeatable' if good else 'can be beaten'} as {seat}" for seat, good in judged.unbeatable.items()
        )
        error = np.mean(run.statistics["value_error"][-1])
        print(f"{name:<12} mean error of its values {error:.3f}; {verdicts}")


if __name__ == "__main__":
    main()
