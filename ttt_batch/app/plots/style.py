"""Style of pictures: labels, colours, sizes, and figures as files with the same bytes.

Only matplotlib's objects are used, never pyplot: nothing is shown, and no figure outlives its file.
"""

import math
import os
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ttt_batch.core.errors import TttBatchError
from ttt_batch.core.text import SEATS, count_text, short_number
from ttt_batch.runs.config import make_config, make_pattern_config
from ttt_batch.runs.loading import AnyRun
from ttt_batch.runs.network_run import PatternRun
from ttt_batch.runs.options import OPTIONS, option_text

SETTINGS = tuple(name for name in OPTIONS if name not in ("learner", "games", "seed", "keep"))
"""Configuration keys that a legend may name beside learner and seed, in its order."""


class Legend(NamedTuple):
    """Names of runs in a picture.

    texts: of each run, what tells it from the others.
    settings: of each run, the same without its seed, which runs of the same settings share.
    """

    texts: list[str]
    settings: list[str]


def make_legend(runs: Sequence[AnyRun], names: Sequence[str]) -> Legend:
    """Name each run by the settings that differ between `runs`; by its file name only if no setting does.

    Beside learners or boards that differ, what a run has by default goes without saying.
    What a picture cannot show of a name, such as a line end, is escaped.
    """
    names = [name if name.isprintable() else repr(name) for name in map(str, names)]
    several = len({run.config.learner for run in runs}) > 1
    plain = not several and len({run.config.board for run in runs}) == 1
    values = [_values(run, plain=plain) for run in runs]
    differing = [key for key in SETTINGS if len({value[key] for value in values}) > 1]
    settings, texts = [], []
    for run, value in zip(runs, values, strict=True):
        parts = [run.config.learner] if several else []
        parts += [text for text in (option_text(key, value[key]) for key in differing) if text]
        settings.append(", ".join(parts))
    seeds = len({run.config.seed for run in runs}) > 1
    for run, setting in zip(runs, settings, strict=True):
        texts.append(", ".join(part for part in (setting, f"seed {run.config.seed}" if seeds else "") if part))
    texts = _told_apart(texts, [count_text(run.games, "game") for run in runs])
    texts = _told_apart(texts, names)
    texts = [text or name for text, name in zip(texts, names, strict=True)]  # one file, named twice
    if len(runs) == 1:
        texts = [names[0]]
    return Legend(texts, settings)


def _told_apart(texts: list[str], more: list[str]) -> list[str]:
    """Return the texts; equal ones get an addition where the additions differ."""
    alike = Counter(texts)
    differing = {text: len({m for t, m in zip(texts, more, strict=True) if t == text}) > 1 for text in alike}
    return [
        ", ".join(part for part in (text, extra) if part) if alike[text] > 1 and differing[text] else text
        for text, extra in zip(texts, more, strict=True)
    ]


def _values(run: AnyRun, *, plain: bool) -> dict[str, Any]:
    """Return the run's settings as the configuration has them; unless `plain`, None for the defaults."""
    values = {key: run.config.written.get(key) for key in SETTINGS}
    if plain:
        return values
    if isinstance(run, PatternRun):
        default = make_pattern_config(learner=run.config.learner, board=run.board).written
    else:
        config = run.config
        default = make_config(learner=config.learner, board=config.board, engine=config.engine).written
        default["engine"] = "walk" if config.engine == "walk" else None
    return values | {key: None for key in SETTINGS if key != "board" and values[key] == default.get(key)}


class Look(NamedTuple):
    """Looks of runs: colour and marker of each, and the entries of the legend with their runs."""

    style: list[int]
    entries: list[tuple[str, list[int]]]


def make_look(runs: Sequence[AnyRun], legend: Legend, most: int) -> Look:
    """Return the runs by colour: equal settings share one if both are several, or if runs are more than `most`."""
    groups = list(dict.fromkeys(legend.settings))
    if len(runs) <= most and (len(groups) == 1 or len(groups) == len(runs)):
        return Look(list(range(len(runs))), [(text, [number]) for number, text in enumerate(legend.texts)])
    members = {group: [i for i, setting in enumerate(legend.settings) if setting == group] for group in groups}
    entries = []
    for group, numbers in members.items():
        seeds = len({runs[number].config.seed for number in numbers})
        many = f"{seeds} seeds" if seeds == len(numbers) else f"{len(numbers)} runs"
        text = legend.texts[numbers[0]] if len(numbers) == 1 else ", ".join(part for part in (group, many) if part)
        entries.append((text, numbers))
    return Look([groups.index(setting) for setting in legend.settings], entries)


def unbeatable_text(runs: Sequence[AnyRun]) -> str:
    """Return the words for runs that no opponent beats in any seat that they play."""
    seats = {run.seats for run in runs}
    if seats == {SEATS}:
        return "unbeatable in both seats"
    return f"unbeatable as {SEATS[0]}" if len(seats) == 1 else "unbeatable in its seats"


def since_text(since: int | None) -> str:
    """Say in a few words since which game a run is unbeatable in its seats."""
    if since is None:
        return "can be beaten"
    return f"unbeatable since game {since:,}" if since else "unbeatable from the start"


def verdict(runs: Sequence[AnyRun]) -> str:
    """Return what a legend adds about an entry's runs: since when they are unbeatable, and how they ended."""
    if len(runs) == 1:
        run = runs[0]
        parts, since = list[str](), run.since
        if isinstance(run, PatternRun) and run.config.prove_every:
            parts.append("not proved at the end" if since is None else f"proved since game {since:,}")
        elif "unbeatable" in run.statistics:
            parts.append(since_text(since))
        if run.interrupted:
            parts.append(f"stopped at {short_number(run.games)} of {short_number(run.goal)} games")
        return "\n".join(parts)
    networks = all(run.generalises for run in runs)
    if not networks and any("unbeatable" not in run.statistics for run in runs):
        return ""
    proved = sum(run.since is not None for run in runs)
    return f"{proved} of {len(runs)} {'proved' if networks else 'unbeatable'} at the end"


def common_title(runs: Sequence[AnyRun]) -> str:
    """Return what all runs share, for a title: `td on 3x3, seed 0` or a part of it."""
    learners, boards = {run.config.learner for run in runs}, {run.config.board for run in runs}
    seeds = {run.config.seed for run in runs}
    what = learners.pop() if len(learners) == 1 else f"{len(learners)} learners"
    where = boards.pop().name if len(boards) == 1 else f"{len(boards)} boards"
    return f"{what} on {where}" + (f", seed {seeds.pop()}" if len(seeds) == 1 else "")


def log_ticks(low: float, high: float, most: int = 6) -> list[float]:
    """Return 1 to `most` round numbers from `low` to `high` (0 < low <= high) for a log axis, if there are any.

    Powers of ten if at least two fit, thinned evenly if too many do; else 1, 2, 5 times them, else `low` itself.
    """
    first, last = math.ceil(math.log10(low) - 1e-9), math.floor(math.log10(high) + 1e-9)
    powers = list(range(first, last + 1))
    if len(powers) >= 2:
        step = -(-len(powers) // most)
        return [10.0**power for power in powers[::-1][::step][::-1]]
    fine = [m * 10.0**power for power in range(first - 1, last + 1) for m in (1, 2, 5)]
    return [tick for tick in fine if low * (1 - 1e-9) <= tick <= high * (1 + 1e-9)][:most] or [low]


# matplotlib is imported inside the functions that need it: it is an extra, and costs a third of a second.

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#000000")
"""The palette of Okabe and Ito without its yellow, which is too pale for lines."""

MARKERS = ("o", "s", "^", "D", "v", "P", "X")
MARKS = 14
"""Markers of a line, about."""

WIN, DRAW, LOSS = "#0072B2", "#7F7F7F", "#D55E00"

FIGURE_WIDTH, DPI = 8.0, 150
"""Inches and dots an inch; letters are sized for a picture that is shown 800 pixels wide."""

RC: Any = {
    "font.size": 9.0,
    "axes.titlesize": 10.0,
    "axes.titlelocation": "left",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": "#DDDDDD",
    "grid.linewidth": 0.6,
    "lines.linewidth": 1.6,
    "lines.markersize": 4.0,
    "legend.frameon": False,
    "legend.fontsize": 8.5,
    "figure.titlesize": 12.0,
    "hatch.linewidth": 0.5,
    "text.parse_math": False,  # a name may hold dollar signs
    "svg.hashsalt": "ttt-batch",
}


def _matplotlib() -> Any:
    """Import matplotlib even if MPLBACKEND names a backend that it does not know.

    Pictures need no backend.  The variable still holds for pyplot, which a person may use later.
    """
    backend = os.environ.pop("MPLBACKEND", None) if "matplotlib" not in sys.modules else None
    try:
        import matplotlib
    finally:
        if backend is not None:
            os.environ["MPLBACKEND"] = backend
    if backend:
        with suppress(ValueError):
            matplotlib.rcParams["backend"] = backend
    return matplotlib


@contextmanager
def package_style() -> Iterator[None]:
    """Draw and render in the package's own style, in place of the user's matplotlib settings.

    Raises TttBatchError if matplotlib is not installed.
    """
    try:
        matplotlib = _matplotlib()
        from matplotlib import style
    except ImportError as error:
        raise TttBatchError(
            f"a plot needs matplotlib ({error}); install it with: pip install 'ttt-batch[plot]'"
        ) from None
    with style.context("default"), matplotlib.rc_context(RC):
        yield


def new_figure(height: float, title: str = "") -> Any:
    """Return an empty figure of `height` inches with a title."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(FIGURE_WIDTH, height), dpi=DPI, layout="constrained")
    if title:
        figure.suptitle(title, x=0.01, ha="left")
    return figure


def make_panels(figure: Any, rows: int, columns: int, count: int | None = None, **options: Any) -> list[Any]:
    """Return the axes of a grid in a figure, row by row; those after the first `count` are empty."""
    grid = list(figure.subplots(rows, columns, squeeze=False, **options).flat)
    for axes in grid[count:]:
        axes.set_axis_off()
    return grid


def line_style(number: int) -> dict[str, Any]:
    """Return colour and marker of a line by its number; the markers of a second round of colours are open."""
    colour = COLOURS[number % len(COLOURS)]
    return {
        "color": colour,
        "marker": MARKERS[number % len(MARKERS)],
        "markerfacecolor": "white" if number // len(COLOURS) % 2 else colour,
    }


def line_sign(**style: Any) -> Any:
    """Return the sign of a line in a legend."""
    from matplotlib.lines import Line2D

    return Line2D([], [], **style)


def marked_points(games: NDArray[np.int64], low: float, high: float, turn: float) -> list[int]:
    """Return the points of a line that get a marker: first, last and some between, evenly from `low` to `high`.

    turn: 0 to 1, so that lines on top of each other have theirs in different places.
    """
    at = np.log(games / low) / max(np.log(high / low), 1e-9) * MARKS + turn
    return sorted({0, *np.flatnonzero(np.diff(np.floor(at), prepend=-1) > 0).tolist(), games.size - 1})


def ink_on(colour: Any) -> str:
    """Return black or white, whichever is read on a colour (red, green, blue)."""
    red, green, blue = colour[:3]
    return "#000000" if 0.299 * red + 0.587 * green + 0.114 * blue > 0.5 else "#FFFFFF"


def put_legend(place: Any, handles: Sequence[Any], labels: Sequence[str], **style: Any) -> Any:
    """Put a legend into the upper left corner of axes or a figure, without moving anything for it."""
    # The names come after: matplotlib before 3.10 leaves out what begins with an underscore.
    legend = place.legend(handles, ["-"] * len(labels), loc="upper left", borderaxespad=0, **style)
    for text, label in zip(legend.get_texts(), labels, strict=True):
        text.set_text(label)
    legend.set_in_layout(False)  # a long name must not squeeze the panels
    return legend


def log_counts(axes: Any) -> None:
    """Make the vertical axis logarithmic, with short numbers: matplotlib's own are mathematics, which is off here."""
    from matplotlib.ticker import FuncFormatter, LogFormatter

    class Between(LogFormatter):
        """Numbers between powers of ten, if the axis is so short that it needs them."""

        def __call__(self, x: float, pos: int | None = None) -> str:
            return short_number(x) if super().__call__(x, pos) else ""

    axes.set_yscale("log")
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: short_number(value)))
    axes.yaxis.set_minor_formatter(Between())


def render(figure: Any, kind: str) -> bytes:
    """Return the figure as a `png` or `svg` file; equal figures give equal bytes.  To be called within `package_style`.

    Signs that the font does not have become boxes, of which matplotlib would warn one by one.
    """
    import io
    import warnings

    content = io.BytesIO()
    metadata = {"Date": None, "Creator": None} if kind == "svg" else {"Software": None}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        figure.savefig(content, format=kind, metadata=metadata)
    return content.getvalue()
