"""Movie of how a run learnt: the opening at each kept snapshot, beside the exact results, and as curves.

A frame has the boards of `boards` with the agent's values at that point, and below them the same boards with best play.
Curves show the values of these moves over the games so far, with the exact values as dashed lines.  All frames have the
boards that the run prefers at its end.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from ttt_batch.app.plots import boards, style
from ttt_batch.app.plots.boards import Opening
from ttt_batch.app.plots.curves import PROVED_COLOUR, games_axis, games_edges
from ttt_batch.app.progress import lesson_seconds
from ttt_batch.core.errors import UsageError, flag
from ttt_batch.core.text import count_text
from ttt_batch.games.board import DRAW, EMPTY, FIRST_WINS, SECOND_WINS
from ttt_batch.runs.loading import AnyRun
from ttt_batch.runs.run import Run

Frames = Callable[[int, int], object]
"""Called with the frames that are drawn, and with all that are to be."""

DPI = 100
"""Dots an inch: 800 pixels wide."""

SECONDS, SLOWEST, FASTEST = 12, 3, 16
"""Usual length of a movie in seconds, and frames per second."""

HELD = 3_000
"""Milliseconds for which the last frame stands."""

SHORTEST = 20
"""Milliseconds of a frame at least, which is the fastest that browsers play."""

PALETTE = 256
"""Colours of a movie, as many as a GIF has."""

HUES = {1: style.WIN, 0: style.DRAW, -1: style.LOSS}
MEANINGS = {1: "moves that win", 0: "moves that draw", -1: "moves that lose"}
"""The lines of moves, by what best play makes of them."""

LEFT, BETWEEN, TOP, LABEL, CHART, UNDER = 0.72, 0.2, 0.9, 0.34, 1.5, 0.55
"""Inches: left of the boards, between them, above them, for the title of each, and of the chart and below it."""


class Point(NamedTuple):
    """Content of a frame.  games: learnt from.  boards: the agent's openings.  verdict, unbeatable: in all seats."""

    games: int
    boards: list[Opening]
    verdict: str
    unbeatable: bool


def movie_bytes(
    runs: Sequence[AnyRun], names: Sequence[str], progress: Frames = lambda *_: None, *, lesson: bool = False
) -> bytes:
    """Return the movie of one run as a GIF; call it within `style.package_style`.

    progress: called with the number of frames drawn, and of all, before each.
    lesson: show each point as long as a lesson would take to the next one (see `progress.Pace`).  With one game a
    batch 30,000 games take a minute.
    Raises UsageError for several runs, networks, a board that cannot be read, and a run that keeps no points.
    """
    if len(runs) != 1:
        raise UsageError(f"a movie shows how one run learnt, not {len(runs)}; name one")
    run, name = runs[0], names[0]
    if not isinstance(run, Run):
        raise UsageError(f"{name} is of {run.config.learner}, which keep no tables to show; choose a run of a table")
    if run.points is None or not run.points.games.size:
        raise UsageError(
            f"{name} keeps no points, and a movie shows the table at each; train with {flag('keep_points', True)}"
        )
    boards.check_readable([run])
    lines = boards.shown_lines(run)[: (4 if run.board.cols <= boards.SMALL_COLS else 3) - 1]
    points = _points(run, lines)
    return _filmed(run, points, _lesson_times(points) if lesson else _even_times(points), progress)


def _even_times(points: Sequence[Point]) -> list[int]:
    """Return the milliseconds of each frame: equal except the last."""
    each = round(1000 / round(min(FASTEST, max(SLOWEST, len(points) / SECONDS))))
    return [each] * (len(points) - 1) + [HELD]


def _lesson_times(points: Sequence[Point]) -> list[int]:
    """Return the milliseconds of each frame at the pace of a lesson; the first point has learnt the first batch."""
    first = max(points[0].games, 1)
    due = [lesson_seconds(point.games - points[0].games, first) for point in points]
    return [max(SHORTEST, 10 * round(100 * (after - before))) for before, after in pairwise(due)] + [HELD]


def _points(run: Run, lines: Sequence[Sequence[int]]) -> list[Point]:
    """Return what each kept point shows: the opening, and the boards after the moves of `lines`."""
    kept = run.points
    assert kept is not None
    found = []
    for number, games in enumerate(kept.games.tolist()):
        tables = type(kept.tables)(*(array[number] for array in kept.tables))
        here = run.statistics["games"] == games
        record = {name: column[here] for name, column in run.statistics.items()}
        then = replace(run, tables=tables, games=games, statistics=record)
        unbeatable = bool(record["unbeatable"][-1, : len(run.seats)].all())
        found.append(Point(games, boards.openings(then, lines=lines), then.verdict(), unbeatable))
    return found


def _filmed(run: Run, points: Sequence[Point], times: Sequence[int], progress: Frames) -> bytes:
    """Draw every point into a GIF of one palette; equal frames give equal bytes.  times: milliseconds of each."""
    import io
    import warnings

    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from PIL import Image

    screen, frames = _Screen(run, points), list[Any]()
    canvas = FigureCanvasAgg(screen.figure)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # signs that the font does not have become boxes
        for number in range(len(points)):
            progress(number, len(points))
            screen.show(number)
            # Not `savefig`, as matplotlib's own writers of movies do: it draws every frame twice.
            canvas.draw()  # type: ignore[no-untyped-call]
            pixels = np.asarray(canvas.buffer_rgba())  # type: ignore[no-untyped-call]
            frames.append(Image.fromarray(pixels).convert("RGB"))
    wide, tall = frames[0].size
    some = Image.new("RGB", (wide, 3 * tall))
    for number, frame in enumerate((frames[0], frames[len(frames) // 2], frames[-1])):
        some.paste(frame, (0, number * tall))
    colours: Any = some.quantize(PALETTE, Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE)
    palette, corner = colours.getpalette(), 3 * colours.getpixel((0, 0))
    palette[corner : corner + 3] = 255, 255, 255  # the colour chosen for the background is only nearly white
    colours.putpalette(palette)
    drawn = [frame.quantize(palette=colours, dither=Image.Dither.NONE) for frame in frames]
    film = io.BytesIO()
    drawn[0].save(film, "GIF", save_all=True, append_images=drawn[1:], duration=list(times), loop=0)
    return film.getvalue()


class _Screen:
    """The figure, and what stands on it."""

    def __init__(self, run: Run, points: Sequence[Point]) -> None:
        self._run, self._points = run, points
        columns = len(points[-1].boards)  # no board of a move that ends the game
        wide = (8.0 - LEFT - 0.15 - BETWEEN * (columns - 1)) / columns
        tall = min(wide, 2.2) * run.board.rows / max(run.board.cols, run.board.rows)
        height = TOP + 2 * (tall + LABEL) + CHART + UNDER + 0.1
        self.figure = style.new_figure(height)
        self.figure.set_layout_engine("none")
        self.figure.set_dpi(DPI)
        self._size = min(9.5, 72 * tall / run.board.rows / 3.6)

        def row(top: float) -> list[Any]:
            places = [(LEFT + column * (wide + BETWEEN), height - top - tall) for column in range(columns)]
            return [self.figure.add_axes((x / 8.0, y / height, wide / 8.0, tall / height)) for x, y in places]

        self._agent, self._truth = row(TOP), row(TOP + tall + LABEL)
        self._chart = self.figure.add_axes((LEFT / 8.0, UNDER / height, (8.0 - LEFT - 0.15) / 8.0, CHART / height))
        title = f"{'Values' if boards.gives(run) == 'value' else 'Chances'} of the opening: {style.common_title([run])}"
        self.figure.text(0.012, 1 - 0.12 / height, title, va="top", fontsize=12)
        self._learnt = self.figure.text(0.012, 1 - 0.36 / height, "", va="top", fontsize=10.5)
        for which, top in (("agent", TOP), ("truth", TOP + tall + LABEL)):
            middle = 1 - (top + tall / 2) / height
            self.figure.text(0.03, middle, which, rotation=90, va="center", ha="center", fontsize=11, weight="bold")
        for axes, opening in zip(self._truth, points[-1].boards, strict=True):
            self._draw(axes, self._as_best_play(opening), words=True)
        self._draw_chart()

    def show(self, number: int) -> None:
        """Draw the point of that number."""
        point = self._points[number]
        self._learnt.set_text(f"after {count_text(point.games, 'game')}: {point.verdict}")
        for axes, opening in zip(self._agent, point.boards, strict=True):
            self._draw(axes, opening, words=False)
        games = [one.games for one in self._points[: number + 1]]
        for line, values in zip(self._lines, self._values.T, strict=True):
            line.set_data(games, values[: number + 1])
        self._proved.set_visible(point.unbeatable)
        since = next((n for n in range(number, -1, -1) if not self._points[n].unbeatable), -1) + 1
        if since <= number:
            self._proved.set_x(self._points[since].games)
            self._proved.set_width(point.games - self._points[since].games)

    def _draw(self, axes: Any, opening: Opening, *, words: bool) -> None:
        """Draw a board again."""
        for artist in [*axes.patches, *axes.texts]:  # to clear the axes takes three times as long
            artist.remove()
        axes.set_axis_off()
        boards.draw_board_axes(axes, self._run, opening, self._size, words=words)
        axes.set_title("" if words else opening.title, loc="center", fontsize=9.5)

    def _as_best_play(self, opening: Opening) -> Opening:
        """Return a board with the true values of its moves on the learner's scale; all that keep the result are framed.

        For chances, whose truth has no number, they are only colours: 1 for a win, 1/2 for a draw.
        """
        worth = {1: 1.0, 0: 0.5, -1: 0.0}
        if boards.gives(self._run) == "value":
            mover = sum(mark != EMPTY for mark in opening.position) & 1
            ends = {1: FIRST_WINS + mover, 0: DRAW, -1: SECOND_WINS - mover}
            worth = {truth: float(self._run.worth[mover, end]) for truth, end in ends.items()}
        values = {cell: worth[truth] for cell, truth in opening.truth.items()}
        best = max(opening.truth.values())
        return opening._replace(values=values, choices=[c for c, truth in opening.truth.items() if truth == best])

    def _draw_chart(self) -> None:
        """Return the axes of the chart, its dashed truth, and lines without points yet."""
        from matplotlib.patches import Rectangle

        axes, points = self._chart, self._points
        true = [self._as_best_play(board).values for board in points[-1].boards]
        moves = [(board, cell) for board, values in enumerate(true) for cell in values]
        results = [points[-1].boards[board].truth[cell] for board, cell in moves]
        self._values = np.array([[point.boards[board].values[cell] for board, cell in moves] for point in points])
        truths = sorted({(result, true[board][cell]) for result, (board, cell) in zip(results, moves, strict=True)})
        if boards.gives(self._run) == "chance":
            truths = []
        low, high = games_edges(max(points[0].games, 1), max(points[-1].games, 2))
        games_axis(axes, low, high)
        shown = np.append(self._values, [value for _, value in truths])
        least, most = (float(end(shown[np.isfinite(shown)], initial=0.0)) for end in (np.min, np.max))
        room = 0.08 * max(most - least, 0.02)
        axes.set_ylim(least - room, most + room)
        axes.set_ylabel("to who moves" if truths else "chance", fontsize=9)
        place = axes.get_xaxis_transform()
        self._proved = Rectangle((low, 0), 0, 1, transform=place, facecolor=PROVED_COLOUR, alpha=0.15, lw=0, zorder=0)
        axes.add_patch(self._proved)
        for result, value in truths:
            axes.axhline(value, color=HUES[result], ls="--", lw=1)
        self._lines = [axes.plot([], [], color=HUES[result], lw=0.9, alpha=0.7)[0] for result in results]
        handles = [
            axes.plot([], [], color=HUES[result], lw=1.6, label=MEANINGS[result])[0]
            for result in sorted(set(results), reverse=True)
        ]
        if truths:
            handles += axes.plot([], [], color="#444444", ls="--", lw=1, label="the truth")
        handles.append(
            Rectangle((0, 0), 1, 1, facecolor=PROVED_COLOUR, alpha=0.25, label=style.unbeatable_text([self._run]))
        )
        axes.legend(handles=handles, loc="lower right", bbox_to_anchor=(1.0, 1.0), ncols=5, borderaxespad=0.1)
