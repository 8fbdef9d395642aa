"""A chart as text: curves over a logarithmic axis, in characters that the terminal can show.

Lines are dots of braille signs, eight to a character, or full stops; every curve's points have a sign of their own, so
that curves are told apart without colours.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ttt_batch.app.plots.labels import log_ticks
from ttt_batch.app.units import short_number

SIGNS = ("●", "○", "■", "□")
ASCII_SIGNS = ("o", "x", "+", "#")

SHARED, ASCII_SHARED = "◎", "*"
"""Where points of several curves meet."""

DOT_BITS = ((0x01, 0x08), (0x02, 0x10), (0x04, 0x20), (0x40, 0x80))
"""Bits of the dots of a braille sign, by row and column."""

BRAILLE = 0x2800
LABEL = 5
"""Characters of the numbers beside the vertical axis, with a space."""

LEAST_WIDTH, LEAST_HEIGHT = 16, 4


class Curve(NamedTuple):
    """A curve to draw.  name: in the legend.  games: increasing, above 0.  value: in its unit; nan is left out."""

    name: str
    games: NDArray[np.int64]
    value: NDArray[np.float64]


class Chart(NamedTuple):
    """lines: the text.  owner: for each line the number of the series that each character belongs to, or -1."""

    lines: list[str]
    owner: list[list[int]]


def make_chart(series: Sequence[Curve], width: int, height: int, *, ascii: bool = False) -> Chart:
    """The curves as `height` lines of `width` characters at most, axes and legend among them.  Values run from 0 up."""
    width, height = max(width, LEAST_WIDTH), max(height, LEAST_HEIGHT)
    columns, rows = width - LABEL - 1, height - 3
    low = min((int(s.games[0]) for s in series if s.games.size), default=1)
    high = max((int(s.games[-1]) for s in series if s.games.size), default=1)
    if high == low:
        low, high = max(1, low // 2), high * 2
    top = _top(max((float(np.nanmax(s.value, initial=0)) for s in series), default=0.0))
    span = np.log(high / low)

    def across(games: NDArray[np.int64] | NDArray[np.float64]) -> NDArray[np.float64]:
        return np.asarray(np.log(games / low) / span)

    signs, own = [[" "] * columns for _ in range(rows)], [[-1] * columns for _ in range(rows)]
    drawn = list(enumerate(series))[::-1]  # the first one last, on top
    for number, s in drawn:
        _draw_line(signs, own, number, across(s.games), s.value / top, ascii=ascii)
    shared, used = (ASCII_SHARED, ASCII_SIGNS) if ascii else (SHARED, SIGNS)
    for number, s in drawn:
        sign = used[number % len(used)]
        for x, y in zip(across(s.games).tolist(), (s.value / top).tolist(), strict=True):
            if y == y:
                row, col = rows - 1 - round(y * (rows - 1)), round(x * (columns - 1))
                meet = signs[row][col] == shared or (signs[row][col] in used and own[row][col] != number)
                signs[row][col], own[row][col] = shared if meet else sign, number
    lines, owner = [], []
    wall, corner, floor, tick_sign = ("|", "+", "-", "+") if ascii else ("│", "└", "─", "┬")
    marked = {rows - 1 - round(y * (rows - 1)): f"{top * y:.3g}" for y in ((0, 0.5, 1) if rows > 4 else (0, 1))}
    for row in range(rows):
        lines.append(f"{marked.get(row, ''):>{LABEL - 1}} {wall}" + "".join(signs[row]))
        owner.append([-1] * (LABEL + 1) + own[row])
    ticks = log_ticks(low, high, max(2, columns // 12))
    base, labels = [floor] * columns, [" "] * width
    for tick in ticks:
        col = round(float(across(np.array([tick]))[0]) * (columns - 1))
        base[col] = tick_sign
        text = short_number(tick)
        start = min(max(LABEL + 1 + col - len(text) // 2, 0), width - len(text))
        if all(c == " " for c in labels[max(start - 1, 0) : start + len(text) + 1]):
            labels[start : start + len(text)] = text
    lines += [" " * LABEL + corner + "".join(base), "".join(labels).rstrip()]
    owner += [[-1] * (width), [-1] * width]
    text, owned = " " * (LABEL + 1), [-1] * (LABEL + 1)
    for number, s in enumerate(series):
        entry = ("  " if number else "") + f"{used[number % len(used)]} {s.name}"
        text += entry
        owned += [number] * len(entry)
    if any(shared in line for line in signs):
        text += f"  {shared} both" if len(series) == 2 else f"  {shared} several"
        owned += [-1] * (len(text) - len(owned))
    lines.append(text[:width].rstrip())
    owner.append(owned[:width])
    return Chart(lines, owner)


def _top(value: float) -> float:
    """A round number at or above `value`."""
    if value <= 0:
        return 1.0
    power = 10.0 ** np.floor(np.log10(value))
    return float(next(power * m for m in (1, 2, 2.5, 5, 10) if power * m >= value * (1 - 1e-9)))


def _draw_line(
    signs: list[list[str]],
    own: list[list[int]],
    number: int,
    x: NDArray[np.float64],
    y: NDArray[np.float64],
    *,
    ascii: bool,
) -> None:
    """Draw the line between the points (both 0 to 1) of a curve into `signs` and `own`, in place."""
    rows, columns = len(signs), len(signs[0])
    seen = ~np.isnan(y)
    x, y = x[seen], y[seen]
    if x.size < 2:
        return
    per_row, per_col = (1, 1) if ascii else (4, 2)
    # Dots and signs of points have the same middle, so a line goes through the signs.
    col = x * (columns - 1) + 0.5
    row = (1 - y) * (rows - 1) + 0.5
    for i in range(x.size - 1):
        steps = int(max(abs(col[i + 1] - col[i]) * per_col, abs(row[i + 1] - row[i]) * per_row) * 2) + 1
        for t in np.linspace(0, 1, steps + 1):
            fine_col = int((col[i] + t * (col[i + 1] - col[i])) * per_col)
            fine_row = int((row[i] + t * (row[i + 1] - row[i])) * per_row)
            r, c = min(fine_row // per_row, rows - 1), min(fine_col // per_col, columns - 1)
            if ascii:
                signs[r][c] = "."
            else:
                bits = ord(signs[r][c]) - BRAILLE if signs[r][c] != " " else 0
                signs[r][c] = chr(BRAILLE + (bits | DOT_BITS[fine_row % 4][fine_col % 2]))
            own[r][c] = number
