"""Draw the speeds of `data/benchmark.json` for the README: bars of games/s, or of steps/s, on a logarithmic axis.

    python scripts/picture.py [REPORT] [PICTURE]

Needs matplotlib.  PICTURE is PNG or SVG by its suffix (default: `benchmark.png` beside the report).  Figures that the
report lacks are left out, with a word on standard error.
"""

import argparse
import io
import json
import math
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

Row = tuple[str, str]
"""The label, and the name of the figure in the report."""


class Section(NamedTuple):
    """Rows of one kind, in one colour.

    base: what their ratios are to; its label also ends the names of the report's own ratios, as in `td / textbook`.
    """

    title: str
    colour: str
    base: Row
    rows: tuple[Row, ...]


# Colours by Okabe and Ito, which people tell apart whatever their colour vision.
GREY, ORANGE, SKY, BLUE, GREEN = "#999999", "#E69F00", "#56B4E9", "#0072B2", "#009E73"
TEXTBOOK: Row = ("textbook", "textbook C, backward-q")
PGX: Row = ("Pgx", "Pgx, random play")
STEPS: Row = ("Pgx", "environments: Pgx, 3x3")
PRESETS = ("backward-q", "greedy-td", "minimax-q", "value-feed", "td", "sutton-barto")

SECTIONS = (
    Section(
        "Other programs: learning",
        ORANGE,
        TEXTBOOK,
        (
            ("OpenSpiel, tabular_qlearner", "OpenSpiel, tabular_qlearner self-play"),
            ("C, textbook: backward-q", TEXTBOOK[1]),
            ("C, hand-tuned: sutton-barto, ε 0.1", "hand-tuned C, sutton-barto, epsilon 0.1, batch 16,384"),
        ),
    ),
    Section(
        "ttt-batch: learning, one game after another",
        SKY,
        TEXTBOOK,
        tuple((name, f"{name}, sequential") for name in PRESETS),
    ),
    Section(
        "ttt-batch: learning, batches of 16,384, every game played out",
        BLUE,
        TEXTBOOK,
        (
            *((name, f"{name}, batch 16,384") for name in PRESETS),
            ("sutton-barto, ε 0.1", "sutton-barto, epsilon 0.1, batch 16,384"),
        ),
    ),
    Section(
        "ttt-batch: learning, flow, batches of a million",
        GREEN,
        TEXTBOOK,
        (("sutton-barto, ε 0.1", "flow, sutton-barto, epsilon 0.1, batch 1,000,000"),),
    ),
    Section(
        "Other programs: random play without learning",
        GREY,
        PGX,
        (
            ("OpenSpiel, loop in Python", "OpenSpiel, random playouts"),
            ("OpenSpiel, bots in C++", "OpenSpiel, random bots in C++"),
            ("Pgx, own random player", PGX[1]),
            ("Pgx, tuned", "Pgx, random play, tuned"),
        ),
    ),
    Section("ttt-batch: random play without learning", BLUE, PGX, (("random play", "random play"),)),
    Section(
        "Other environments: steps of 3x3 a second",
        GREY,
        STEPS,
        (
            ("Gymnasium, SyncVectorEnv", "environments: SyncVectorEnv, 3x3"),
            ("Pgx", STEPS[1]),
            ("NumPy, plain", "environments: 16,384 boards of 3x3, plain NumPy"),
        ),
    ),
    Section(
        "ttt-batch: steps of 3x3 a second",
        BLUE,
        STEPS,
        (("ttt.Batch", "environments: 16,384 boards of 3x3"),),
    ),
)

WIDTH, LINE, GAP, FONT = 8.0, 0.2, 0.4, 9.0
"""The picture's width and a line's height in inches, the space above a heading in lines, and the size of the letters
in points."""
DPI, COLOURS = 200, 64
"""To be shown 800 pixels wide and sharp on a screen of twice as many; few colours make a small file."""


class Bar(NamedTuple):
    """A line of the picture: a heading (no value), or a bar of games/s.

    ratio: to the section's base, and in a heading the base's name where it changes.  low, high: the slowest and the
    fastest round.
    """

    label: str
    colour: str
    ratio: str
    value: float | None = None
    low: float = math.inf
    high: float = 0.0


def bars(figures: dict[str, dict[str, Any]]) -> Iterator[Bar]:
    """The lines from top to bottom: each section that has a figure, headed by its title."""
    above = ""
    for title, colour, base, rows in SECTIONS:
        present = [row for row in rows if row[1] in figures]
        for _, name in rows:
            if name not in figures:
                print(f"left out, not in the report: {name}", file=sys.stderr)
        if present:
            head = f"× {base[0]}" if base[1] in figures else ""
            yield Bar(title, colour, head if head != above else "")
            above = head
        for label, name in present:
            entry = figures[name]
            yield Bar(label, colour, ratio(figures, name, base), entry["value"], entry["min"], entry["max"])


def ratio(figures: dict[str, dict[str, Any]], name: str, base: Row) -> str:
    """Return how many times the base: the report's own ratio, taken round by round, or the quotient of the medians."""
    label, over = base
    if over not in figures:
        return ""
    paired = figures.get(f"{name} / {label}")
    times = paired["value"] if paired else figures[name]["value"] / figures[over]["value"]
    return f"{times:,.0f}" if times >= 10 else f"{times:.1f}" if times >= 1 else f"{times:.1g}"


def rate(number: float) -> str:
    """Games a second in three digits."""
    for size, letter in ((1e9, " G"), (1e6, " M"), (1e3, " k")):
        if number >= size:
            return f"{number / size:.3g}{letter}"
    return f"{number:.3g}"


def draw(report: dict[str, Any], path: Path) -> None:
    """Draw what `report`, as `benchmark.py` writes it, has of SECTIONS, and save it as `path`."""
    try:
        from matplotlib.figure import Figure
        from matplotlib.ticker import FuncFormatter, NullLocator
    except ImportError:
        raise SystemExit("the picture is drawn by matplotlib, which is not installed: pip install matplotlib") from None

    lines = list(bars({entry["figure"]: entry for entry in report["figures"]}))
    if not lines:
        raise SystemExit("the report has none of the figures that the picture shows: run scripts/benchmark.py in full")
    places = [place + GAP * sum(line.value is None for line in lines[1 : place + 1]) for place in range(len(lines))]
    tall = LINE * (places[-1] + 1)
    above, below = 0.5, 0.9  # inches for the title, and for the axis and the small print
    height = above + tall + below
    figure = Figure(figsize=(WIDTH, height))
    left, width = 0.29, 0.52  # shares of the picture's width
    axes = figure.add_axes((left, below / height, width, tall / height))
    least, most = min(line.low for line in lines), max(line.high for line in lines)
    axes.set(xscale="log", xlim=(least / 2, most * 1.3), ylim=(places[-1] + 0.5, -0.5))
    across = axes.get_yaxis_transform()

    def write(x: float, place: float, words: str, **style: Any) -> None:
        axes.text((x - left) / width, place, words, transform=across, va="center_baseline", size=FONT, **style)

    for place, line in zip(places, lines, strict=True):
        if line.value is None:
            # On white, so that the grid does not cross the words.
            write(0.01, place, line.label, weight="bold", bbox={"color": "white", "pad": 1})
            write(0.99, place, line.ratio, ha="right", weight="bold")
        else:
            axes.barh(place, line.value, height=0.72, color=line.colour)
            axes.plot([line.low, line.high], [place, place], color="black", linewidth=1, solid_capstyle="butt")
            write(left - 0.006, place, line.label, ha="right")
            write(0.876, place, rate(line.value), ha="right")
            write(0.99, place, line.ratio, ha="right")
    write(0.876, places[0], "a second", ha="right", weight="bold")
    axes.set_yticks([])
    axes.xaxis.set_major_formatter(FuncFormatter(lambda number, _: rate(number)))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.tick_params(axis="x", labelsize=FONT)
    axes.set_xlabel("games/s or steps/s, logarithmic; black line: slowest to fastest round", size=FONT)
    axes.grid(axis="x", color="#DDDDDD", linewidth=0.6)
    axes.set_axisbelow(True)
    axes.spines[["top", "right", "left"]].set_visible(False)
    figure.text(
        0.01, 1 - 0.28 / height, "Tic-tac-toe on one core: games or steps per second", weight="bold", size=FONT + 4
    )
    figure.text(0.01, 0.08 / height, small_print(report), size=FONT - 2, color="#555555")
    save(figure, path)


def save(figure: Any, path: Path) -> None:
    """Write the picture without a date in it, so that the same report gives the same bytes."""
    if path.suffix != ".png":
        figure.savefig(path, metadata={"Date": None})
        return
    from PIL import Image  # comes with matplotlib

    pixels = io.BytesIO()
    figure.savefig(pixels, dpi=DPI)
    Image.open(pixels).convert("RGB").quantize(COLOURS, dither=Image.Dither.NONE).save(path, optimize=True)


def small_print(report: dict[str, Any]) -> str:
    """The machine, the versions and the days, in lines as wide as the picture."""
    machine = report["machine"]
    versions = ", ".join(f"{name} {version}" for name, version in report["versions"].items())
    days = ", ".join(dict.fromkeys(part["date"][:10] for part in (report, *report.get("parts", []))))
    return textwrap.fill(f"{machine['processor']}, {machine['cores']} cores; {versions}; {days}", 115)


def main() -> None:
    """Read the report and draw it."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    data = Path(__file__).resolve().parent.parent / "data"
    parser.add_argument("report", nargs="?", type=Path, default=data / "benchmark.json")
    parser.add_argument("picture", nargs="?", type=Path, help="default: benchmark.png beside the report")
    options = parser.parse_args()
    report = json.loads(options.report.read_text(encoding="utf-8"))
    draw(report, options.picture or options.report.with_name("benchmark.png"))


if __name__ == "__main__":
    main()
