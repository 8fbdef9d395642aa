"""A chart as text: curves over a logarithmic axis, in characters that the terminal can show.

Lines are dots of braille signs, eight to a character, or full stops; every curve's points have a sign of their own, so
that curves are told apart without colours.
"""

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ttt_batch.app.plots.labels import log_ticks
from ttt_batch.base.quantities import short_number


class Signs(NamedTuple):
    """The characters of a chart.  points: of each curve in turn.  shared: where points of several curves meet."""

    points: str
    shared: str
    wall: str
    corner: str
    floor: str
    tick: str


SIGNS, ASCII_SIGNS = Signs("●○■□", "◎", "│", "└", "─", "┬"), Signs("ox+#", "*", "|", "+", "-", "+")

DOT_BITS = np.array([[0x01, 0x08], [0x02, 0x10], [0x04, 0x20], [0x40, 0x80]])
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
    """lines: the text.  owner: for each line the number of the curve that each character belongs to, or -1."""

    lines: list[str]
    owner: list[list[int]]


class _Canvas:
    """Characters, as code points, and the curve that each belongs to: two arrays of `height` by `width`."""

    def __init__(self, height: int, width: int) -> None:
        self.code, self.owner = np.full((height, width), ord(" ")), np.full((height, width), -1)

    def write(self, row: int, col: int, text: str, number: int = -1) -> int:
        """Write text, as much of it as there is room for; return the column after it."""
        codes = [ord(character) for character in text][: self.code.shape[1] - col]
        self.code[row, col : col + len(codes)] = codes
        self.owner[row, col : col + len(codes)] = number
        return col + len(codes)


def make_chart(curves: Sequence[Curve], width: int, height: int, *, ascii: bool = False) -> Chart:
    """The curves as `height` lines of `width` characters at most, axes and legend among them.  Values run from 0 up."""
    width, height = max(width, LEAST_WIDTH), max(height, LEAST_HEIGHT)
    signs = ASCII_SIGNS if ascii else SIGNS
    columns, rows = width - LABEL - 1, height - 3
    low = min((int(curve.games[0]) for curve in curves if curve.games.size), default=1)
    high = max((int(curve.games[-1]) for curve in curves if curve.games.size), default=1)
    if high == low:
        low, high = max(1, low // 2), high * 2
    top = _top(max((float(np.nanmax(curve.value, initial=0)) for curve in curves), default=0.0))
    canvas = _Canvas(height, width)
    shares = [(np.log(curve.games / low) / np.log(high / low), curve.value / top) for curve in curves]
    shared = _draw_curves(canvas.code[:rows, LABEL + 1 :], canvas.owner[:rows, LABEL + 1 :], shares, signs)
    for share in (0, 0.5, 1) if rows > 4 else (0, 1):
        canvas.write(rows - 1 - round(share * (rows - 1)), 0, f"{top * share:>{LABEL - 1}.3g}")
    canvas.code[:rows, LABEL] = ord(signs.wall)
    canvas.write(rows, LABEL, signs.corner + signs.floor * columns)
    for tick in log_ticks(low, high, max(2, columns // 12)):
        col = LABEL + 1 + round(float(np.log(tick / low) / np.log(high / low)) * (columns - 1))
        canvas.write(rows, col, signs.tick)
        text = short_number(tick)
        start = min(max(col - len(text) // 2, 0), width - len(text))
        if (canvas.code[rows + 1, max(start - 1, 0) : start + len(text) + 1] == ord(" ")).all():
            canvas.write(rows + 1, start, text)
    col = LABEL + 1
    for number, curve in enumerate(curves):
        gap = "  " if number else ""
        col = canvas.write(rows + 2, col, f"{gap}{signs.points[number % len(signs.points)]} {curve.name}", number)
    if shared:
        canvas.write(rows + 2, col, f"  {signs.shared} {'both' if len(curves) == 2 else 'several'}")
    return Chart(["".join(map(chr, row)).rstrip() for row in canvas.code.tolist()], canvas.owner.tolist())


def _top(value: float) -> float:
    """A round number at or above `value`."""
    if value <= 0:
        return 1.0
    power = 10.0 ** np.floor(np.log10(value))
    return float(next(power * m for m in (1, 2, 2.5, 5, 10) if power * m >= value * (1 - 1e-9)))


def _draw_curves(
    code: NDArray[np.int64],
    owner: NDArray[np.int64],
    shares: Sequence[tuple[NDArray[np.float64], NDArray[np.float64]]],
    signs: Signs,
) -> bool:
    """Draw curves, given by their points' shares of the width and the height, into the two arrays of a canvas.

    The first curve is drawn last, on top.  Return whether points of several curves share a sign.
    """
    rows, columns = code.shape
    per_row, per_col = (1, 1) if signs is ASCII_SIGNS else (4, 2)
    dots = np.zeros_like(code)
    drawn = list(enumerate(shares))[::-1]
    for number, (x, y) in drawn:
        seen = ~np.isnan(y)
        # Dots and signs of points have the same middle, so a line goes through the signs.
        ends = np.column_stack([(1 - y[seen]) * (rows - 1) + 0.5, x[seen] * (columns - 1) + 0.5]) * (per_row, per_col)
        for start, end in pairwise(ends):
            n_steps = int(np.abs(end - start).max() * 2) + 1
            fine = np.linspace(start, end, n_steps + 1).astype(np.int64)
            row = np.minimum(fine[:, 0] // per_row, rows - 1)
            col = np.minimum(fine[:, 1] // per_col, columns - 1)
            np.bitwise_or.at(dots, (row, col), DOT_BITS[fine[:, 0] % 4, fine[:, 1] % 2])
            owner[row, col] = number
    code[dots > 0] = ord(".") if signs is ASCII_SIGNS else BRAILLE + dots[dots > 0]
    used = [ord(sign) for sign in signs.points]
    for number, (x, y) in drawn:
        for across, up in zip(x.tolist(), y.tolist(), strict=True):
            if up == up:
                at = rows - 1 - round(up * (rows - 1)), round(across * (columns - 1))
                meet = code[at] == ord(signs.shared) or (code[at] in used and owner[at] != number)
                code[at], owner[at] = ord(signs.shared) if meet else used[number % len(used)], number
    return bool((code == ord(signs.shared)).any())
