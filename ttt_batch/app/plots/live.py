"""Learning curve of a run in the terminal, while another process trains it.

All data are from the run file, which training replaces by renaming.  So every read gets a whole run, and nothing is
locked, written or held open.  The file is read again only after it was replaced.

The chart is text, with a logarithmic axis.  Lines are dots of braille signs, eight per character, or full stops.  Each
curve marks its points with its own sign, so that curves differ without colours.
"""

import calendar
import os
import shutil
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple, TextIO

import numpy as np
from numpy.typing import NDArray

from ttt_batch.app.plots.curves import PLAYED, after_games, shares_in_play
from ttt_batch.app.plots.style import log_ticks, since_text
from ttt_batch.app.terminal.keys import Keyboard
from ttt_batch.core.console import is_live, one_line, print_lines
from ttt_batch.core.errors import RunFileError, TttBatchError, command_with
from ttt_batch.core.files import file_identity, reason, shown
from ttt_batch.core.text import SEATS, count_text, duration_text, short_number
from ttt_batch.learners import learner_named
from ttt_batch.runs.base import unbeatable_since
from ttt_batch.runs.config import pattern_config_from
from ttt_batch.runs.loading import course_misfits, is_pattern_run
from ttt_batch.runs.lookup import find_run
from ttt_batch.runs.network_run import PROVED, REFUTED, UNDECIDED
from ttt_batch.runs.run import TIME
from ttt_batch.runs.storage.declaration import EXACT_COLUMNS, RunData
from ttt_batch.runs.storage.run_file import load_run


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
    """Curve of the chart.  name: in the legend.  games: increasing, above 0.  value: in its unit; nan is left out."""

    name: str
    games: NDArray[np.int64]
    value: NDArray[np.float64]


class Chart(NamedTuple):
    """Chart as text.  lines: the text.  owner: for each line the number of the curve of each character, or -1."""

    lines: list[str]
    owner: list[list[int]]


class _Canvas:
    """Canvas of `height` by `width`: code points of the characters, and their curves."""

    def __init__(self, height: int, width: int) -> None:
        self.code, self.owner = np.full((height, width), ord(" ")), np.full((height, width), -1)

    def write(self, row: int, col: int, text: str, number: int = -1) -> int:
        """Write text, as much of it as there is room for; return the column after it."""
        codes = [ord(character) for character in text][: self.code.shape[1] - col]
        self.code[row, col : col + len(codes)] = codes
        self.owner[row, col : col + len(codes)] = number
        return col + len(codes)


def make_chart(curves: Sequence[Curve], width: int, height: int, *, ascii: bool = False) -> Chart:
    """Draw the curves in `height` lines of at most `width` characters, with axes and legend.  Values begin at 0."""
    width, height = max(width, LEAST_WIDTH), max(height, LEAST_HEIGHT)
    signs = ASCII_SIGNS if ascii else SIGNS
    columns, rows = width - LABEL - 1, height - 3
    low = min((int(curve.games[0]) for curve in curves if curve.games.size), default=1)
    high = max((int(curve.games[-1]) for curve in curves if curve.games.size), default=1)
    if high == low:
        low, high = max(1, low // 2), high * 2
    # A round number at or above the highest value.
    highest = max((float(np.nanmax(curve.value, initial=0)) for curve in curves), default=0.0) or 1.0
    power = 10.0 ** np.floor(np.log10(highest))
    top = float(next(power * m for m in (1, 2, 2.5, 5, 10) if power * m >= highest * (1 - 1e-9)))
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


COLUMNS, LINES = 80, 24
"""Size of a picture without a terminal."""

LEAST_LINES = 9
VERDICTS = {PROVED: "proved", UNDECIDED: "not proved", REFUTED: "refuted"}
STYLES = ("bold cyan", "bold yellow", "bold magenta", "bold white")


@dataclass
class Snapshot:
    """Content of a run file at its last read.

    trust: also read a file with a wrong digest.  data: the run; None before the file exists.
    written: time of the file, seconds since 1970.
    """

    path: Path
    trust: bool = False
    data: RunData | None = field(default=None, init=False)
    written: float = field(default=0.0, init=False)
    _known: tuple[int, ...] | None = field(default=None, init=False)

    def refresh(self) -> bool:
        """Read the file if it was replaced; return whether it was.

        Raises RunFileError for another kind of file.  A missing file is awaited, with `.h5` or without.
        """
        if self.data is None:
            self.path = find_run(self.path)
        try:
            now = file_identity(self.path)
        except (OSError, ValueError) as error:
            raise RunFileError(
                f"cannot read {shown(self.path)}: {reason(error)}; check the name and its permissions"
            ) from None
        if now is None or now == self._known:
            return False
        try:
            self.read()
        except RunFileError:
            if file_identity(self.path) is None:  # removed between the two
                return False
            raise
        self._known, self.written = now, now[-1] / 1e9
        return True

    def read(self) -> None:
        """Read the course of the run.  Raises RunFileError.

        Rows and tables are not compared with the board, which may take seconds.
        """
        data = load_run(self.path, trust=self.trust)
        try:
            if is_pattern_run(data):
                pattern_config_from(data.config)
            for misfit in () if is_pattern_run(data) else course_misfits(data):
                raise RunFileError(misfit)
        except RunFileError as error:
            raise RunFileError(f"{shown(self.path)}: {error}") from None
        self.data = data

    @property
    def done(self) -> bool:
        """Return True if the run has reached its goal."""
        return self.data is not None and self.data.games >= int(self.data.progress.get("goal", 0))

    @property
    def saved(self) -> float:
        """Return when a finished run ended, or when the file was written, in seconds since 1970."""
        if self.data is not None and self.done:
            with suppress(ValueError):  # the entry may be missing, or changed
                return calendar.timegm(time.strptime(str(self.data.provenance.get("ended")), TIME))
        return self.written


def curve_of(data: RunData) -> tuple[str, list[Curve]]:
    """Return the title and the curves of a run, in % of games.

    They are exact losses against random play; results in play if positions are not enumerated.
    """
    statistics = after_games(data.statistics)
    games = statistics["games"]
    if all(name in statistics for name in EXACT_COLUMNS):
        lost, seats = 100 * statistics["versus_random"][:, :, 2], learner_named(data.config["learner"]).seats
        return "Lost against random play, %", [
            Curve(f"as {seat}", games, lost[:, number]) for number, seat in enumerate(seats)
        ]
    shares = shares_in_play(statistics)
    return "Play, latest half, %", [Curve(name, games, shares[:, i]) for i, name in enumerate(PLAYED)]


def status_lines(snapshot: Snapshot, now: float | None = None) -> list[str]:
    """Return the lines below the chart: progress, verdict, and the age of the run at `now` (seconds since 1970)."""
    data = snapshot.data
    assert data is not None
    goal, statistics = int(data.progress.get("goal", 0)), data.statistics
    lines = [count_text(data.games, "game") if goal <= data.games else f"{data.games:,} of {count_text(goal, 'game')}"]
    if "unbeatable" in statistics and statistics["games"].size:
        seats = len(learner_named(data.config["learner"]).seats)
        lines.append(since_text(unbeatable_since(statistics["games"], statistics["unbeatable"][:, :seats])))
    elif "proof" in statistics and statistics["games"].size:
        proofs = statistics["proof"][-1].tolist()
        proved = pattern_config_from(data.config).seats
        lines.append(", ".join(f"{SEATS[seat]} {VERDICTS[proofs[seat]]}" for seat in proved))
    elif "positions" in statistics and statistics["games"].size:
        lines.append(f"{count_text(int(statistics['positions'][-1]), 'position')} in the table")
    age = max(0.0, (time.time() if now is None else now) - snapshot.saved)
    at = time.strftime("%H:%M:%S", time.localtime(snapshot.saved))
    lines.append(f"{'finished' if snapshot.done else 'written'} {duration_text(age)} ago, at {at}")
    return lines


def picture(
    snapshot: Snapshot, width: int, height: int, *, ascii: bool, now: float | None = None, leaving: str = ""
) -> Chart:
    """Return title, chart, status and a hint how to leave, as at most `height` lines of `width` characters."""
    foot = [leaving] if leaving and height > 1 else []
    room = max(height - len(foot), 1)
    if snapshot.data is None:
        waiting = f"waiting for {one_line(snapshot.path.name)}"
        remedy = ["It is written when training saves it:", command_with("train", "checkpoint_every", "5s")]
        return _framed([waiting, *remedy][:room], Chart([], []), foot, width)
    title, curves = curve_of(snapshot.data)
    config = snapshot.data.config
    heading = f"{config['learner']} on {config['board']}, seed {config['seed']}"
    under = status_lines(snapshot, now)
    together = next((n for n in (len(under), 2) if len("; ".join(under[:n])) <= width), 0)
    under = ["; ".join(under[:together]), *under[together:]] if together else under
    if height - len(foot) < LEAST_LINES:
        return _framed([heading, *under][:room], Chart([], []), foot, width)
    over = [f"{title}   {heading}"] if len(title) + 3 + len(heading) <= width else [heading, title]
    chart = make_chart(curves, width, room - len(over) - len(under), ascii=ascii)
    return _framed(over, chart, [*under, *foot], width)


def _framed(over: list[str], chart: Chart, under: list[str], width: int) -> Chart:
    """Return a chart with lines over and under it, all cut to `width`."""
    owner = [*([] for _ in over), *chart.owner, *([] for _ in under)]
    return Chart([line[:width] for line in (*over, *chart.lines, *under)], owner)


def can_show(stream: TextIO) -> bool:
    """Return whether the stream's encoding has the braille signs."""
    try:
        "⣿●○■□◎│└─┬".encode(getattr(stream, "encoding", None) or "ascii")
    except (UnicodeEncodeError, LookupError):
        return False
    return True


def watch_curve(
    path: str | Path,
    stream: TextIO,
    *,
    stdin: TextIO | None = None,
    every: float = 1.0,
    once: bool = False,
    trust: bool = False,
    stop: Callable[[], bool] = lambda: False,
) -> bool:
    """Draw the learning curve of the run file `path` on `stream` while it is trained; return whether it is at its goal.

    On a terminal the picture is drawn again every `every` seconds until the run is at its goal, `stop` returns True or
    the user leaves: by a key, if `stdin` is a terminal, or by Ctrl-C (any KeyboardInterrupt); the last picture
    stays.  A missing file is awaited.  Elsewhere, or with `once`, one plain picture is printed.
    trust: draw a file that another program changed, though its digest is wrong.
    Raises RunFileError for another kind of file, and off a terminal for a missing one; TttBatchError if the
    terminal is closed.
    """
    snapshot, ascii = Snapshot(Path(path), trust=trust), not can_show(stream)
    if is_live(stream) and not once:
        try:
            with suppress(KeyboardInterrupt), Keyboard(stdin) as keyboard:
                _watch(snapshot, stream, keyboard, every, stop, ascii=ascii)
            _print(snapshot, stream, ascii=ascii)
        except OSError as error:
            raise TttBatchError(
                f"cannot draw on the terminal: {reason(error)}; if it was closed, start again in another one"
            ) from None
    else:
        if not snapshot.refresh():
            snapshot.read()  # raises an error for a missing file
        _print(snapshot, stream, ascii=ascii)
    return snapshot.done


def _print(snapshot: Snapshot, stream: TextIO, *, ascii: bool) -> None:
    """Print the picture once, if there is one."""
    if snapshot.data is not None:
        lines = picture(snapshot, *_size(stream), ascii=ascii).lines
        print_lines("\n".join(line.rstrip() for line in lines), stream)


def _size(stream: TextIO) -> tuple[int, int]:
    """Return the columns and lines to draw in; the last line stays free for what follows the picture."""
    try:
        size = os.get_terminal_size(stream.fileno()) if stream.isatty() else None
    except (OSError, ValueError):
        size = None
    if size is None or size.columns < 1:
        size = shutil.get_terminal_size((COLUMNS, LINES)) if size else os.terminal_size((COLUMNS, LINES))
    return size.columns, max(1, size.lines - 1)


def _watch(
    snapshot: Snapshot, stream: TextIO, keyboard: Keyboard, every: float, stop: Callable[[], bool], *, ascii: bool
) -> None:
    """Draw on a screen of its own, which leaves the person's lines as they were."""
    # Imported here: rich takes a tenth of a second, which only a terminal needs.
    from rich.console import Console

    def draw() -> None:
        show(_coloured(picture(snapshot, *_size(stream), ascii=ascii, leaving=keyboard.how_to_leave)))

    console = Console(file=stream, highlight=False)
    snapshot.refresh()
    # rich's Live does not clean up after an interrupt that comes while it starts.
    try:
        show: Callable[[Any], None] = console.update_screen if console.set_alt_screen() else console.print
        console.show_cursor(False)
        while not snapshot.done and not stop():
            draw()
            keyboard.wait(every)
            snapshot.refresh()
        draw()
    finally:
        console.show_cursor()
        console.set_alt_screen(False)


def _coloured(chart: Chart) -> Any:
    from rich.text import Text

    text = Text(no_wrap=True, overflow="crop")
    for number, (line, owner) in enumerate(zip(chart.lines, chart.owner, strict=True)):
        start = len(text)
        text.append(line + ("\n" if number < len(chart.lines) - 1 else ""))
        for at, series in enumerate(owner[: len(line)]):
            if series >= 0:
                text.stylize(STYLES[series % len(STYLES)], start + at, start + at + 1)
    return text
