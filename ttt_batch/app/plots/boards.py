"""Pictures of boards: the opening, and how much of the board play visits.

A cell's colour and number are the agent's value of the move for the player who makes it, on its learner's own scale.
If the learner keeps preferences or draws beads, they are the chance of the move.  A frame marks the moves that it may
choose; the letter says what best play makes of the move, where that is known.  First moves that are images of each
other under the board's symmetries count as one; the first of them is shown.  A learner that plays first alone has no
replies: it is shown after replies to the first move that it likes best.

Coverage is counted by the number of moves made.  Where positions are enumerated, the probability that a game reaches
each of them under the run's own play (its final table, exploring as at its end) is one sweep down the graph:

    reach(empty board) = 1,   reach(child) += reach(s) * (epsilon / moves(s) + (1 - epsilon) [greedy] / best(s))

A learner that draws its moves by softmax or beads has those chances instead; where it plays first alone, the second
player moves at random.  Times the run's games, this is the expected number of visits to a position: exact, and nothing
is played.  If the table counts its updates (alpha by visits), these counts are shown instead.  On a board that grows, a
position has a row once play has visited it, so that rows are counted against the positions there might be.
"""

import functools
import math
import textwrap
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ttt_batch.analysis.review import move_results
from ttt_batch.app.plots import style
from ttt_batch.core.errors import UsageError
from ttt_batch.core.text import SEATS, count_text, short_number
from ttt_batch.evaluation.exact_results import chances_of
from ttt_batch.games.board import DRAW, EMPTY, FIRST_WINS, MARKS, SECOND_WINS, UNFINISHED, Board, Game, Position
from ttt_batch.games.graph import rows_of_edges
from ttt_batch.games.notation import moves_text
from ttt_batch.games.solution import WORDS
from ttt_batch.runs.evaluation import epsilon_after, exploration_of
from ttt_batch.runs.loading import AnyRun
from ttt_batch.runs.run import Run

BOARDS = 4
"""Boards of a single run: the empty one and after three first moves."""

SMALL_COLS = 3
"""Columns up to which four boards stand in a row; of wider ones two do, or their numbers could not be read."""

MOST_RUNS, LARGEST = 4, 8
"""Runs of a picture, and rows and columns of their boards."""

COLOUR_MAP, DARKEST = "PuOr", 0.9
"""Orange is bad for the player to move, purple good, pale between: every kind of colour vision tells them apart.

The ends of the map are left out: a frame would not be seen on them.
"""


class Opening(NamedTuple):
    """One board of the picture.

    position: the marks.  title: what it shows.
    values: the agent's value of each free cell, nan if never visited, or the chance of it.
    choices: the free cells that it may choose.
    truth: what best play makes of each free cell for the player to move, 1 win, 0 draw, -1 loss; empty if unknown.
    """

    position: Position
    title: str
    values: dict[int, float]
    choices: list[int]
    truth: dict[int, int]


def first_moves(run: AnyRun) -> list[int]:
    """Return the first moves of a board up to symmetry, as the lowest cell of each: those that the run may choose, then
    those that it values most, then in cell order.
    """
    board = run.board
    empty = (EMPTY,) * board.cells
    values = run.move_values(empty)
    chosen = _alike((cell for cell in run.candidates(empty) if cell != board.resignation), board.symmetries)

    def rank(cell: int) -> tuple[bool, float, int]:
        seen = [value for image in board.symmetries if not math.isnan(value := values[image[cell]])]
        return cell not in chosen, -max(seen, default=-math.inf), cell

    return sorted(_alike(range(board.cells), board.symmetries), key=rank)


def _alike(cells: Iterable[int], symmetries: Sequence[Sequence[int]]) -> list[int]:
    """Return the lowest image of each cell, each once.  symmetries: a group, so its inverses are in it, too."""
    return sorted({min(image[cell] for image in symmetries) for cell in cells})


def shown_lines(run: AnyRun) -> list[tuple[int, ...]]:
    """Return moves, as cells, to the positions that are shown after the empty board, the best to see first."""
    firsts = first_moves(run)
    if SEATS[1] in run.seats:
        return [(cell,) for cell in firsts]
    favourite = firsts[0]
    kept = [image for image in run.board.symmetries if image[favourite] == favourite]
    return [(favourite, reply) for reply in _alike(range(run.board.cells), kept) if reply != favourite]


def gives(run: AnyRun) -> str:
    """Return what the numbers of moves are: `value`, or `chance` also for a learner that draws beads."""
    return "chance" if run.resigns else run.gives


def openings(run: AnyRun, most: int = BOARDS, lines: Sequence[Sequence[int]] | None = None) -> list[Opening]:
    """Return the empty board and the positions after the first moves, as the run sees them.

    lines: these moves, as `shown_lines` gives them; up to `most - 1` of its own if not given.
    """
    board = run.board
    found = [_opening(run, (EMPTY,) * board.cells, "X begins")]
    if board.cells < 2:
        return found
    for line in shown_lines(run)[: most - 1] if lines is None else lines:
        game = Game(board, tuple(line))
        title = f"X after {moves_text(board, line)}" if len(line) > 1 else f"O replies to {board.cell_name(line[0])}"
        if game.outcome == UNFINISHED:
            found.append(_opening(run, game.position, title))
    return found


def _opening(run: AnyRun, position: Position, title: str) -> Opening:
    shares, free = run.drawn_shares(position), run.board.open_cells(position)
    values = run.move_values(position) if shares is None else {cell: shares.get(cell, 0.0) for cell in free}
    choices = [cell for cell in run.candidates(position) if cell in free]  # it may name others, and resign
    results = move_results(run, position) if run.enumerated else None
    truth = {cell: known.result for cell, known in (results or {}).items()}
    return Opening(position, title, values, choices, truth)


def opening_figure(runs: Sequence[AnyRun], names: Sequence[str]) -> Any:
    """Draw the openings of `runs`, a row of boards each.  Raises UsageError for too many or too large boards."""
    if len(runs) > MOST_RUNS:
        raise UsageError(f"a picture of the openings of {len(runs)} runs cannot be read; choose {MOST_RUNS} at most")
    check_readable(runs)
    wide = any(run.board.cols > SMALL_COLS for run in runs)
    columns = 2 if wide else BOARDS
    boards = [openings(run, BOARDS if len(runs) == 1 else columns) for run in runs]
    per_run = -(-max(map(len, boards)) // columns)
    legend = style.make_legend(runs, names)
    cell_rows = max(run.board.rows / max(run.board.cols, 3) for run in runs)
    height = per_run * (0.4 + (7.2 / columns - 0.15) * cell_rows)
    what = "" if len(runs) > 1 else f", after {short_number(runs[0].games)} games"
    titled = "Values" if any(gives(run) == "value" for run in runs) else "Chances"
    title = f"{titled} of the opening: {style.common_title(runs)}{what}"
    figure = style.new_figure(0.75 + len(runs) * (height + 0.25 * (len(runs) > 1)), title)
    parts = figure.subfigures(len(runs), 1, squeeze=False)[:, 0]
    for part, run, row, text in zip(parts, runs, boards, legend.texts, strict=True):
        grid = style.make_panels(part, per_run, columns, 0)
        # Points of the numbers in the cells: five characters fill a third of a cell's width.
        size = 72 * (7.2 / columns - 0.25) / max(run.board.cols, run.board.rows, 3) / 3.4
        size = min(11.0, max(5.5, size))
        for axes, opening in zip(grid, row, strict=False):
            draw_board_axes(axes, run, opening, size)
        if len(runs) > 1:
            part.suptitle(text, x=0.01, ha="left", fontsize=10)
        _colour_bar(part, grid, run)
    known = [run.enumerated for run in runs]
    truth = "What best play makes of a move is not known on boards this large."
    if any(known):
        truth = f"W, D, L: with best play the move wins, draws, loses{'' if all(known) else ', where known'}."
    framed = "the agent may choose it" if all(gives(run) == "value" for run in runs) else "one of its best moves"
    under = f"{_which(runs, boards)}{_all_alike(boards, legend.texts)}Frame: {framed}.  {truth}"
    figure.supxlabel(under, fontsize=8.5, x=0.01, ha="left")
    return figure


def check_readable(runs: Sequence[AnyRun]) -> None:
    """Raise UsageError for a board with more rows or columns than can be read."""
    for run in runs:
        if max(run.board.rows, run.board.cols) > LARGEST:
            raise UsageError(
                f"the opening of {run.board.name} cannot be read in a picture: it shows up to {LARGEST} rows and "
                "columns; choose a run of a smaller board"
            )


def _which(runs: Sequence[AnyRun], boards: Sequence[Sequence[Opening]]) -> str:
    """Return how many of the first moves are shown, if not all are."""
    shown, lines = len(boards[0]) - 1, shown_lines(runs[0])
    if len(runs) > 1 or shown in (0, len(lines)):
        return ""
    if len(lines[0]) > 1:
        return f"{shown} of {len(lines)} replies to {runs[0].board.cell_name(lines[0][0])}, which it likes best.\n"
    return f"{shown} of {len(lines)} first moves, those that it likes best.\n"


def _all_alike(boards: Sequence[Sequence[Opening]], names: Sequence[str]) -> str:
    """Return a note about runs whose shown values are all equal, since such a board looks like a mistake."""
    lines = []
    for row, name in zip(boards, names, strict=True):
        numbers = {_number(value, signed=True) for opening in row for value in opening.values.values()}
        if len(numbers) == 1 and (text := numbers.pop()) != "new":
            whose = f"{name}: every" if len(boards) > 1 else "Every"
            lines.append(f"{whose} value shown is {text}; the agent expects the same of all these moves.\n")
    return "".join(lines)


def _scale(run: AnyRun) -> tuple[float, float]:
    """Return the ends of the colours: the worth of the worst and the best end of a game, or probabilities 0 and 1."""
    if gives(run) == "chance":
        return 0.0, 1.0
    ends = run.worth[:, [FIRST_WINS, SECOND_WINS, DRAW]]  # unfinished positions may start at any value
    return float(ends.min()), float(ends.max())


@functools.cache
def _colours() -> Any:
    import matplotlib
    from matplotlib.colors import ListedColormap

    whole = matplotlib.colormaps[COLOUR_MAP]
    return ListedColormap([whole(x) for x in np.linspace(1 - DARKEST, DARKEST, 255)])


def draw_board_axes(axes: Any, run: AnyRun, opening: Opening, size: float, *, words: bool = False) -> None:
    """Draw a board into axes.  size: points of its numbers.  words: its results in full, in place of numbers."""
    from matplotlib.colors import Normalize
    from matplotlib.patches import Rectangle

    board = run.board
    colours, norm = _colours(), Normalize(*_scale(run))
    for cell in range(board.cells):
        row, col = divmod(cell, board.cols)
        middle = col + 0.5, row + 0.5
        value = opening.values.get(cell)
        colour: Any = "#FFFFFF"
        if value is not None:
            colour = "#EEEEEE" if math.isnan(value) else colours(norm(value))
        hatch = "///" if value is not None and math.isnan(value) else None
        axes.add_artist(Rectangle((col, row), 1, 1, facecolor=colour, edgecolor="#888888", lw=0.6, hatch=hatch))
        if value is None:
            mark = MARKS[opening.position[cell]]
            axes.text(*middle, mark, ha="center", va="center", fontsize=2.2 * size, weight="bold")
            continue
        ink = "#000000" if math.isnan(value) else style.ink_on(colour)
        for height, text, share in _texts(run, opening, cell, words=words):
            axes.text(col + 0.5, row + height, text, ha="center", va="center", fontsize=share * size, color=ink)
    for cell in opening.choices:
        row, col = divmod(cell, board.cols)
        for zorder, colour, width in ((3, "#FFFFFF", 3.2), (4, "#000000", 1.8)):
            look = {"fill": False, "edgecolor": colour, "lw": width, "zorder": zorder}
            axes.add_artist(Rectangle((col + 0.06, row + 0.06), 0.88, 0.88, **look))
    axes.set_xlim(-0.03, board.cols + 0.03)
    axes.set_ylim(board.rows + 0.03, -0.03)
    axes.set_aspect("equal")
    axes.set_title(opening.title, loc="center", fontsize=9.5)


def _texts(run: AnyRun, opening: Opening, cell: int, *, words: bool) -> list[tuple[float, str, float]]:
    """Return the texts of a free cell: height, text and size of each."""
    truth = opening.truth.get(cell)
    if words and truth is not None:
        return [(0.5, WORDS[truth], 1.0)]
    number = _number(opening.values[cell], signed=_scale(run)[0] < 0)
    return [(0.5, number, 1.0)] if truth is None else [(0.42, number, 1.0), (0.76, WORDS[truth][0].upper(), 0.85)]


def _number(value: float, *, signed: bool) -> str:
    """Return a value with two decimals; a zero has no sign."""
    if math.isnan(value):
        return "new"
    text = f"{value:+.2f}" if signed else f"{value:.2f}"
    return "0.00" if float(text) == 0 else text


def _colour_bar(part: Any, grid: Any, run: AnyRun) -> None:
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import Normalize

    low, high = _scale(run)
    bar = part.colorbar(
        ScalarMappable(Normalize(low, high), _colours()),
        ax=grid,
        shrink=0.85,
        aspect=18,
        pad=0.015,
        ticks=[low, (low + high) / 2, high],
    )
    label = "worth to the player to move"
    if gives(run) == "chance":
        label = f"chance of the move, by {'its beads' if run.resigns else 'softmax'}"
    bar.set_label(label, fontsize=8)
    bar.ax.tick_params(labelsize=8)
    bar.outline.set_linewidth(0.5)


LIMITS = (0.0, 1.0, 10.0, 100.0, 1e4)
"""Visits that bound the bins: none at all, below 1, 1 to 10, and so on."""

BINS = ("never", "less than once", "1 to 10 times", "10 to 100", "100 to 10 k", "10 k or more")
FILLS = ("#FFFFFF", "#E8D8A8", "#C9B05C", "#7C9E93", "#3F6FA3", "#122A5C")
"""Light to dark, so that the order is seen without colours."""

MOST_COVERED_RUNS = 6


class Coverage(NamedTuple):
    """Frequencies of visits to positions.

    kind: `expected` visits, counted `updates`, or positions `visited` on a growing board.
    plies: int64[N], moves made.  positions: float64[N], unfinished positions of each; an upper bound for `visited`.
    shares: float64[N, bins], share of them in each of `BINS`; for `visited` float64[N], positions visited.
    """

    kind: str
    plies: NDArray[np.int64]
    positions: NDArray[np.float64]
    shares: NDArray[np.float64]


def reach_probabilities(run: Run) -> NDArray[np.float64]:
    """Return the probability that a game of the run against itself reaches each row (float64[S]).

    The game is played with the final table, by the learner's choice rule and the epsilon of the run's end, or by the
    learnt action probabilities.  A second player without a policy moves at random.
    Raises BoardError on a growing board.
    """
    graph, row = run.graph, rows_of_edges(run.graph)
    chance = chances_of(exploration_of(run.config, run.games), run.tables, graph, run.learner.choice).chance
    reach = np.zeros(graph.code.size)
    reach[0] = 1.0
    for start, stop in pairwise(graph.ply_start.tolist()):
        edges = slice(int(graph.first_edge[start]), int(graph.first_edge[stop]))
        np.add.at(reach, graph.child[edges], reach[row[edges]] * chance[edges])
    return reach


def coverage_of(run: Run) -> Coverage:
    """Return the frequencies of visits by the number of moves made."""
    if run.grown is not None:
        graph = run.graph
        open_rows = slice(0, graph.first_edge.size - 1)
        visited = np.bincount(graph.ply[open_rows], minlength=run.board.cells)[: run.board.cells].astype(np.float64)
        plies = np.arange(run.board.cells)
        most = [most_of_ply(run.board, int(ply), run.config.symmetry) for ply in plies]
        return Coverage("visited", plies, np.array(most, np.float64), visited)
    n_open = run.graph.first_edge.size - 1
    ply = run.graph.ply[:n_open].astype(np.int64)
    if run.visits.size and run.learner.by_moves:  # the updates of a row are those of its moves
        counted = run.visits.reshape(-1, run.graph.child.size).sum(axis=0)
        kind, visits = "updates", np.add.reduceat(counted, run.graph.first_edge[:n_open].astype(np.int64))
    elif run.visits.size:  # of its value, of both players'
        kind, visits = "updates", run.visits.reshape(-1, run.graph.code.size)[:, :n_open].sum(axis=0)
    else:
        kind, visits = "expected", run.games * reach_probabilities(run)[:n_open]
    number = np.searchsorted(LIMITS, visits, side="right")
    number[visits == 0] = 0
    plies = np.arange(int(ply.max()) + 1)
    table = np.zeros((plies.size, len(BINS)))
    np.add.at(table, (ply, number), 1)
    positions = table.sum(axis=1)
    return Coverage(kind, plies, positions, table / positions[:, None])


def most_of_ply(board: Board, ply: int, symmetry: bool) -> int:
    """Return an upper bound of the positions after `ply` moves, up to symmetry where a row stands for all images.

    Counted as the average, over the symmetries, of the placements that each leaves as they are (Burnside's lemma).
    """
    images = board.images(symmetry)
    return sum(_left_alone(image, ply - ply // 2, ply // 2) for image in images) // len(images)


def _left_alone(permutation: Sequence[int], first: int, second: int) -> int:
    """Return the number of placements of `first` and `second` marks that a permutation of the cells does not change."""
    ways = np.zeros((first + 1, second + 1), np.int64)  # by the marks of each; at most 36! / 12!**3 of them
    ways[0, 0] = 1
    left = set(range(len(permutation)))
    while left:
        cell, length = left.pop(), 1
        while (cell := permutation[cell]) in left:
            left.remove(cell)
            length += 1
        more = ways.copy()
        more[length:] += ways[:-length]
        more[:, length:] += ways[:, :-length]
        ways = more
    return int(ways[first, second])


def coverage_figure(runs: Sequence[AnyRun], names: Sequence[str]) -> Any:
    """Return a figure with a bar for every number of moves, divided by frequency of visits; a panel per run.

    Raises UsageError for too many runs.
    """
    if len(runs) > MOST_COVERED_RUNS:
        raise UsageError(f"a coverage picture of {len(runs)} runs cannot be read; choose {MOST_COVERED_RUNS} at most")
    tables = [run for run in runs if isinstance(run, Run)]
    if len(tables) < len(runs):
        raise UsageError("networks count no visits of positions; choose another kind of plot: curves or opening")
    legend = style.make_legend(runs, names)
    columns = 1 if len(runs) <= 3 else 2
    rows = -(-len(runs) // columns)
    covers = [coverage_of(run) for run in tables]
    title = f"How often play reaches each position: {style.common_title(runs)}"
    figure = style.new_figure(0.95 + (3.3 if len(runs) == 1 else 2.5) * rows, title)
    grid = style.make_panels(figure, rows, columns, len(runs))
    for axes, run, cover, text in zip(grid, tables, covers, legend.texts, strict=False):
        if cover.kind == "visited":
            _draw_visited(axes, cover)
        else:
            _draw_shares(axes, cover, narrow=columns > 1)
        said = _said(run, cover, narrow=columns > 1)
        lines = [said] if len(runs) == 1 else [*textwrap.wrap(text, 50 if columns > 1 else 100), said]
        axes.set_title("\n".join(lines), fontsize=9)
    _draw_legend(figure, covers)
    return figure


def _said(run: Run, cover: Coverage, *, narrow: bool) -> str:
    games = f"{short_number(run.games)} games"
    if cover.kind == "visited":
        return f"{count_text(int(cover.shares.sum()), 'position')} visited in {games}"
    if cover.kind == "updates":
        return f"updates in {games}" if narrow else f"updates of the table in {games}, as counted"
    how = f"epsilon {epsilon_after(run.config, run.games):g}"
    if run.config.by_chances:
        how = "by its beads" if run.by_beads else run.config.explore or "by softmax"
    if narrow:
        return f"{games}, {how}"
    whom = "of self-play" if run.seats == SEATS else "against random moves"
    return f"expected visits in {games} {whom} with the final table, {how}"


def _fill(number: int) -> dict[str, Any]:
    """Return the style of a bin."""
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
    axes.bar(cover.plies, cover.shares, 0.82, color=style.COLOURS[0], label="visited")
    axes.plot(cover.plies, cover.positions, color="#000000", ls="--", marker="o", ms=3, label="at most")
    style.log_counts(axes)
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
    from matplotlib.patches import Patch

    entries: list[tuple[Any, str]] = []
    if any(cover.kind != "visited" for cover in covers):
        entries += [(Patch(**_fill(number)), name) for number, name in enumerate(BINS)]
    if any(cover.kind == "visited" for cover in covers):
        most = style.line_sign(color="#000000", ls="--", marker="o", ms=3)
        entries += [(Patch(facecolor=style.COLOURS[0]), "positions visited"), (most, "positions there are at most")]
    handles, labels = zip(*entries, strict=True)
    figure.legend(
        handles, labels, loc="outside lower left", ncols=min(len(labels), 6), columnspacing=1.2, handlelength=1.4
    )
