"""Coverage: how much of the board play visits, by the number of moves made.

Where positions are enumerated, the probability that a game reaches each of them under the run's own play (its final
table, exploring as at its end) is one sweep down the graph:

    reach(empty board) = 1,   reach(child) += reach(s) * (epsilon / moves(s) + (1 - epsilon) [greedy] / best(s))

A learner that draws its moves by softmax or beads has those chances instead; where it plays first alone, the second
player moves at random.  Times the run's games, this is the expected number of visits to a position: exact, and nothing
is played.  If the table counts its updates (alpha by visits), these counts are shown instead.  On a board that grows, a
position has a row once play has visited it, so that rows are counted against the positions there might be.
"""

import textwrap
from collections.abc import Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ttt_batch.app.plots.labels import common_title, make_legend
from ttt_batch.app.plots.style import COLOURS, log_counts, new_figure
from ttt_batch.base.choices import SEATS
from ttt_batch.base.errors import UsageError
from ttt_batch.base.quantities import count_text, short_number
from ttt_batch.game.board import Board
from ttt_batch.game.graph import rows_of_edges
from ttt_batch.runs.as_played import played_chances
from ttt_batch.runs.loading import AnyRun
from ttt_batch.runs.run import Run
from ttt_batch.runs.schedules import value_at

LIMITS = (0.0, 1.0, 10.0, 100.0, 1e4)
"""Visits that bound the bins: none at all, below 1, 1 to 10, and so on."""

BINS = ("never", "less than once", "1 to 10 times", "10 to 100", "100 to 10 k", "10 k or more")
FILLS = ("#FFFFFF", "#E8D8A8", "#C9B05C", "#7C9E93", "#3F6FA3", "#122A5C")
"""Light to dark, so that the order is seen without colours."""

MOST_COVERED_RUNS = 6


class Coverage(NamedTuple):
    """How often positions are visited.

    kind: `expected` visits, counted `updates`, or positions `visited` on a growing board.
    plies: int64[N], moves made.  positions: float64[N], unfinished positions of each; an upper bound for `visited`.
    shares: float64[N, bins], share of them in each of `BINS`; for `visited` float64[N], positions visited.
    """

    kind: str
    plies: NDArray[np.int64]
    positions: NDArray[np.float64]
    shares: NDArray[np.float64]


def reach_probabilities(run: Run) -> NDArray[np.float64]:
    """float64[S]: the probability that a game of the run against itself reaches each row.

    The game is played with the final table, by the learner's choice rule, exploring with epsilon as at the run's end,
    or by the chances that it learns.  A second player that has no moves of its own makes random ones.
    Raises BoardError on a growing board.
    """
    graph, row = run.graph, rows_of_edges(run.graph)
    chance = played_chances(run).chance if run.config.by_chances else _exploring_chances(run, row)
    reach = np.zeros(graph.code.size)
    reach[0] = 1.0
    for start, stop in pairwise(graph.ply_start.tolist()):
        edges = slice(int(graph.first_edge[start]), int(graph.first_edge[stop]))
        np.add.at(reach, graph.child[edges], reach[row[edges]] * chance[edges])
    return reach


def _exploring_chances(run: Run, row: NDArray[np.int64]) -> NDArray[np.float64]:
    """float64[E]: how likely a learner that explores by epsilon makes each move; row: of each edge."""
    graph, policy, epsilon = run.graph, run.policy, end_epsilon(run)
    n_edges = np.diff(graph.first_edge).astype(np.int64)
    slot = np.arange(graph.child.size) - graph.first_edge[row].astype(np.int64)
    chance: NDArray[np.float64] = epsilon / n_edges[row]
    greedy = slot < policy.best[row]
    chance[policy.ordered[greedy]] += ((1 - epsilon) / policy.best[row])[greedy]
    return chance


def end_epsilon(run: Run) -> float:
    """The probability of an exploratory move in a game after the run's last."""
    return float(value_at(run.config.epsilon.over(run.config.horizon), run.games))


def coverage_of(run: Run) -> Coverage:
    """How often positions are visited, by the number of moves made."""
    if run.grown is not None:
        graph = run.graph
        open_rows = slice(0, graph.first_edge.size - 1)
        visited = np.bincount(graph.ply[open_rows], minlength=run.board.cells)[: run.board.cells].astype(np.float64)
        plies = np.arange(run.board.cells)
        most = [most_of_ply(run.board, int(ply), run.config.symmetry) for ply in plies]
        return Coverage("visited", plies, np.array(most, np.float64), visited)
    n_open = run.graph.first_edge.size - 1
    ply = run.graph.ply[:n_open].astype(np.int64)
    if run.visits.size:
        kind, visits = "updates", row_visits(run)
    else:
        kind, visits = "expected", run.games * reach_probabilities(run)[:n_open]
    number = np.searchsorted(LIMITS, visits, side="right")
    number[visits == 0] = 0
    plies = np.arange(int(ply.max()) + 1)
    table = np.zeros((plies.size, len(BINS)))
    np.add.at(table, (ply, number), 1)
    positions = table.sum(axis=1)
    return Coverage(kind, plies, positions, table / positions[:, None])


def row_visits(run: Run) -> NDArray[np.float64]:
    """float64[U]: updates of every unfinished row's entries: its own, both players' together, or those of its moves."""
    n_open = run.graph.first_edge.size - 1
    if run.learner.by_moves:
        visits = run.visits.reshape(-1, run.graph.child.size).sum(axis=0)
        return np.asarray(np.add.reduceat(visits, run.graph.first_edge[:n_open].astype(np.int64)))
    return np.asarray(run.visits.reshape(-1, run.graph.code.size)[:, :n_open].sum(axis=0))


def most_of_ply(board: Board, ply: int, symmetry: bool) -> int:
    """Ways to place the marks of `ply` moves, up to symmetry where a row stands for all images: no fewer positions.

    Counted as the average, over the symmetries, of the placements that each leaves as they are (Burnside's lemma).
    """
    first, second = ply - ply // 2, ply // 2
    images = board.images(symmetry)
    return sum(_fixed(_cycles(image), first, second) for image in images) // len(images)


def _cycles(permutation: Sequence[int]) -> list[int]:
    """Lengths of the cycles of a permutation."""
    left, lengths = set(range(len(permutation))), []
    while left:
        cell, length = left.pop(), 1
        while (cell := permutation[cell]) in left:
            left.remove(cell)
            length += 1
        lengths.append(length)
    return lengths


def _fixed(cycles: Sequence[int], first: int, second: int) -> int:
    """Ways to give whole cycles to the players so that they have `first` and `second` cells."""
    ways = np.zeros((first + 1, second + 1), np.int64)  # by the cells of each; at most 36! / 12!**3 of them
    ways[0, 0] = 1
    for length in cycles:
        more = ways.copy()
        more[length:] += ways[:-length]
        more[:, length:] += ways[:, :-length]
        ways = more
    return int(ways[first, second])


def coverage_figure(runs: Sequence[AnyRun], names: Sequence[str]) -> Any:
    """A bar for every number of moves made, divided by how often its positions are visited; a panel a run.

    Raises UsageError for more runs than can be read.
    """
    if len(runs) > MOST_COVERED_RUNS:
        raise UsageError(f"a coverage picture of {len(runs)} runs cannot be read; choose {MOST_COVERED_RUNS} at most")
    tables = [run for run in runs if isinstance(run, Run)]
    if len(tables) < len(runs):
        raise UsageError("networks count no visits of positions; choose another kind of plot: curves or opening")
    legend = make_legend(runs, names)
    columns = 1 if len(runs) <= 3 else 2
    rows = -(-len(runs) // columns)
    covers = [coverage_of(run) for run in tables]
    figure = new_figure(0.95 + (3.3 if len(runs) == 1 else 2.5) * rows)
    figure.suptitle(f"How often play reaches each position: {common_title(runs)}", x=0.01, ha="left")
    grid = figure.subplots(rows, columns, squeeze=False)
    for axes in grid.flat:
        axes.set_axis_off()
    for axes, run, cover, text in zip(grid.flat, tables, covers, legend.texts, strict=False):
        axes.set_axis_on()
        if cover.kind == "visited":
            _draw_visited(axes, cover)
        else:
            _draw_shares(axes, cover, narrow=columns > 1)
        said = _said(run, cover, narrow=columns > 1)
        title = [said] if len(runs) == 1 else [*textwrap.wrap(text, 50 if columns > 1 else 100), said]
        axes.set_title("\n".join(title), fontsize=9)
    _draw_legend(figure, covers)
    return figure


def _said(run: Run, cover: Coverage, *, narrow: bool) -> str:
    games = f"{short_number(run.games)} games"
    if cover.kind == "visited":
        return f"{count_text(int(cover.shares.sum()), 'position')} visited in {games}"
    if cover.kind == "updates":
        return f"updates in {games}" if narrow else f"updates of the table in {games}, as counted"
    how = f"epsilon {end_epsilon(run):g}"
    if run.config.by_chances:
        how = "by its beads" if run.learner.boxes else run.config.explore or "by softmax"
    if narrow:
        return f"{games}, {how}"
    whom = "of self-play" if run.seats == SEATS else "against random moves"
    return f"expected visits in {games} {whom} with the final table, {how}"


def _fill(number: int) -> dict[str, Any]:
    """How a bin looks."""
    hatch = "////" if number == 0 else None
    return {"facecolor": FILLS[number], "edgecolor": "#666666", "linewidth": 0.4, "hatch": hatch}


def _draw_shares(axes: Any, cover: Coverage, *, narrow: bool) -> None:
    bottom = np.zeros(cover.plies.size)
    for number in range(len(BINS) - 1, -1, -1):
        height = 100 * cover.shares[:, number]
        axes.bar(cover.plies, height, 0.82, bottom=bottom, **_fill(number))
        bottom += height
    axes.set_ylim(0, 100)
    axes.set_ylabel("% of the positions")
    _plies_axis(axes, cover)
    crowded = cover.plies.size > 9
    if not (crowded and narrow):
        counts = [
            short_number(n).replace(" ", "") if crowded else f"{int(n)}" if narrow else f"{int(n):,}"
            for n in cover.positions.tolist()
        ]
        axes.set_xticks(cover.plies, [f"{ply}\n{n}" for ply, n in zip(cover.plies.tolist(), counts, strict=True)])
        axes.set_xlabel("moves made, and how many positions there are then")


def _draw_visited(axes: Any, cover: Coverage) -> None:
    axes.bar(cover.plies, cover.shares, 0.82, color=COLOURS[0], label="visited")
    axes.plot(cover.plies, cover.positions, color="#000000", ls="--", marker="o", ms=3, label="at most")
    log_counts(axes)
    axes.set_ylim(0.7, 3 * cover.positions.max())
    axes.set_ylabel("positions")
    _plies_axis(axes, cover)


def _plies_axis(axes: Any, cover: Coverage) -> None:
    axes.grid(axis="x", visible=False)
    axes.set_xlim(-0.6, cover.plies.size - 0.4)
    step = 1 if cover.plies.size <= 16 else 2 if cover.plies.size <= 30 else 4
    axes.set_xticks(cover.plies[::step])
    axes.set_xlabel("moves made")


def _draw_legend(figure: Any, covers: Sequence[Coverage]) -> None:
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    entries: list[tuple[Any, str]] = []
    if any(cover.kind != "visited" for cover in covers):
        entries += [(Patch(**_fill(number)), name) for number, name in enumerate(BINS)]
    if any(cover.kind == "visited" for cover in covers):
        most = Line2D([], [], color="#000000", ls="--", marker="o", ms=3)
        entries += [(Patch(facecolor=COLOURS[0]), "positions visited"), (most, "positions there are at most")]
    handles, labels = zip(*entries, strict=True)
    figure.legend(
        handles, labels, loc="outside lower left", ncols=min(len(labels), 6), columnspacing=1.2, handlelength=1.4
    )
