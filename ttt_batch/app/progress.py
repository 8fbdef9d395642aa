"""Progress display on standard error for training, reading, measuring and compiling.

A terminal shows a live bar or a spinner, other outputs plain lines.
"""

import gc
import math
import random
import sys
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Self

from ttt_batch.app.reports.layout import GAP, side_by_side
from ttt_batch.compiler.settings import on_compile
from ttt_batch.core.console import Notice, is_live, print_message
from ttt_batch.core.errors import InterruptedTraining, UsageError
from ttt_batch.core.text import count_text, duration_text, parse_float, short_number
from ttt_batch.games.board import MARKS, UNFINISHED, Game
from ttt_batch.runs.run import Run

if TYPE_CHECKING:
    from ttt_batch.studies.work import StudyProgress
    from ttt_batch.training.from_games import GamesLearnt
    from ttt_batch.training.session import Progress


COMPILING, COMPILING_ALL = "compiling kernels (once)", "compiling all kernels (once)"

FIRST_LINE = 8  # kernels until the first line about them off a terminal

RECENT_SECONDS, LEAST_SECONDS = 10.0, 0.5
"""Seconds of recent speed that estimate the time left, and the fewest seconds for an estimate."""

MEASURING_LINES = 6
"""Lines of progress that `bench` prints without a terminal, not counting the last one."""


class Reporter:
    """Context manager that shows progress and compilation on standard error.

    A terminal shows a live bar and a spinner and wipes them at the end; other outputs get a few lines about the
    compiler.  Both keep the recorded points at doubling numbers of games as plain lines, as a record of the learning.
    live: whether to use the terminal's display; by default `is_live` decides.  quiet: show no progress.
    notice: wiped by the first report.
    """

    def __init__(self, *, live: bool | None = None, quiet: bool = False, notice: Notice | None = None) -> None:
        self._live = not quiet and (is_live(sys.stderr) if live is None else live)
        self._quiet, self._next_line, self._notice = quiet, 0, notice
        self._display: Any = None
        self._first: Progress | GamesLearnt | None = None
        self._recent: deque[tuple[int, float]] = deque()
        self._compiling_since: float | None = None
        self._kernels, self._next_kernels, self._kernels_said, self._warming_since = 0, FIRST_LINE, False, 0.0
        self._answers, self._asking_since, self._spins, self._paced = 0, 0.0, False, False

    @property
    def compiled(self) -> bool:
        """Return whether kernels were compiled inside the block."""
        return self._compiling_since is not None

    def __enter__(self) -> Self:
        self._forget = on_compile(self.compiling, self.clear, self.compiled_one)
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self._forget()
        self.clear()
        if kind is None or not issubclass(kind, KeyboardInterrupt | InterruptedTraining):
            self._end_compiling()

    def note(self, line: str) -> None:
        """Print a permanent line."""
        self.clear()
        self._say(line)

    def warn(self, line: str) -> None:
        """Print a warning, even if progress is quiet."""
        self.clear()
        print_message(f"ttt-batch: {line}")

    def _say(self, line: str) -> None:
        """Print a line of progress, after the compiler's last line."""
        self._end_compiling()
        self._print(line)

    def _print(self, line: str) -> None:
        """Print a line unless quiet.  Work continues if the reader is gone (`train 2>&1 | head`)."""
        if not self._quiet:
            print_message(line)

    def clear(self) -> None:
        """Remove the notice, the bar or the spinner; the next report redraws the last two."""
        if self._notice is not None:
            self._notice.wipe()
        if self._display is not None:
            with suppress(OSError):  # the terminal may be gone, but the results must still be saved or printed
                self._display.stop()
            self._display, self._spins = None, False

    def compiling(self) -> None:
        """Show that a kernel is being compiled, until `clear`."""
        first = self._compiling_since is None
        if first:
            self._compiling_since = time.perf_counter()
            # The program postpones garbage collection for a fast start, but the compiler leaves 25 MB of cycles.
            gc.set_threshold(200, 5, 5)
        if self._live:
            self.spin(self._compiled_text, self._compiling_since)
        elif first:
            self._print(f"{COMPILING} ...")

    def compiled_one(self) -> None:
        """Count a compiled kernel; without a terminal, print a line at doubling numbers."""
        self._kernels += 1
        if self._kernels >= self._next_kernels and not (self._live or self._kernels_said):
            self._next_kernels = 2 * self._kernels
            self._print(f"{self._compiled_text()} ...")

    def _compiled_text(self) -> str:
        return f"{COMPILING}: {self._kernels} done" if self._kernels else COMPILING

    def _end_compiling(self) -> None:
        """Print the compiler's last line once, without a terminal and if anything was compiled."""
        if self._compiling_since is not None and not (self._live or self._kernels_said):
            self._kernels_said = True
            self._print(f"{self._compiled_text()} in {time.perf_counter() - self._compiling_since:.0f} s")

    def spin(self, text: Callable[[], str], since: float | None = None) -> None:
        """Show a spinner, a text and the elapsed seconds until `clear`, in place of the current display.

        text: called for each redraw.  since: start of the seconds, a `time.perf_counter`; None for now.
        """
        from rich.spinner import Spinner

        # ASCII only: not every terminal has the characters of other spinners.
        spinner, began = Spinner("line"), time.perf_counter() if since is None else since

        def now() -> Any:
            spinner.update(text=f"{text()}, {time.perf_counter() - began:.0f} s")
            return spinner

        self.clear()
        self._display, self._spins = _live_display(now), True

    def counting(self, text: Callable[..., str], *numbers: int) -> Callable[..., None]:
        """Show a text about numbers on a terminal until `clear`; return the function that is told the next numbers."""
        began = time.perf_counter()

        def tell(*now: int) -> None:
            nonlocal numbers
            numbers = now
            if self._live and self._display is None:
                self.spin(lambda: text(*numbers), began)

        tell(*numbers)
        return tell

    def proving(self) -> Callable[[int, int], None]:
        """Show the number of positions that a proof enters; return its progress callback."""
        return self.counting(lambda positions, _lost: f"proving: {count_text(positions, 'position')}", 0, 0)

    def shrinking(self) -> Callable[[int, int], None]:
        """Show the size and the bound of a smallest proof; return its progress callback."""
        return self.counting(lambda size, bound: f"at most {size:,}, at least {bound:,}" if size else "listing", 0, 0)

    def warming(self, name: str, seconds: float, done: int, total: int) -> None:
        """Show that one more job of `warmup.warm_up` is done; the name is empty before the first."""
        self.clear()
        if name:
            self._print(f"{name:<14}{seconds:6.1f} s   {done} of {total}")
        else:
            self._warming_since = time.perf_counter()
            if not self._live:
                self._print(f"{COMPILING_ALL}: {count_text(total, 'job')} ...")
        if self._live and done < total:
            from ttt_batch.compiler.kernel_cache import cached_kernels

            jobs = f"{COMPILING_ALL}: {done} of {total} jobs"
            self.spin(lambda: f"{jobs}, {len(cached_kernels())} kernels", self._warming_since)

    def measuring(self, done: int, total: int) -> None:
        """Show the number of completed measurements of `warmup.measure_machine`.

        Draws between measurements only: an animated display would slow them down.
        """
        if self._live:
            self._draw(done, total)
            self._display.refresh()
            if done == total:
                self.clear()
        elif done >= self._next_line:
            self._next_line = done + total // MEASURING_LINES
            self._say(f"measuring: {done} of {total}")

    def asking(self, answers: int) -> None:
        """Show the number of the agents' answers on a terminal until `clear`; `answers` is 0 before the first."""
        self._answers = answers
        self._asking_since = self._asking_since if answers else time.perf_counter()
        if self._live and self._display is None:
            self.spin(lambda: f"waiting for the agent: {count_text(self._answers, 'answer')}", self._asking_since)

    def reading(self, now: "GamesLearnt") -> None:
        """Show the progress of learning from given games: a bar, or a line at doubling numbers of games."""
        self._first = self._first or now
        pace = pace_text(now, self._first)
        if self._live:
            self._draw(now.read, now.size, count_text(now.games, "game"), pace, seconds=now.seconds)
        elif now.games >= self._next_line and (now.size == 0 or now.read < now.size):
            self._next_line = 2 * now.games
            done = f"  {100 * now.read // now.size}% of the file" if now.size else ""
            self._say(f"{count_text(now.games, 'game'):>19}  {pace:>9}{done}".rstrip())

    def studying(self, now: "StudyProgress") -> None:
        """Show the progress of a study: a bar, or a line at doubling numbers of learners and at the end."""
        pace = f"{short_number(now.games / now.seconds)} games/s" if now.games else ""
        learners = f"{now.done:,} of {count_text(now.total, 'learner')}"
        learners += f", {now.failed:,} failed" if now.failed else ""
        pace += f"  {count_text(now.workers, 'worker')}" if now.workers is not None else ""
        if self._live:
            self._draw(now.done, now.total, learners, pace, seconds=now.seconds)
        elif now.done >= min(max(self._next_line, 1), now.total) and self._next_line < 2 * now.total:
            self._next_line = 2 * now.done
            self._say(f"{learners}  {pace}".rstrip())

    def __call__(
        self, now: "Progress", beside: "Callable[[Progress], list[str]]" = lambda _: [], pace: "Pace | None" = None
    ) -> float:
        """Show the progress of training; on a terminal also the lines of `beside`, and keep a pace if there is one.

        Return the seconds waited for that.
        """
        self._first = self._first or now
        self._paced = self._paced or pace is not None
        line = progress_text(now, self._first)
        if self._live:
            games = f"{now.games:,} of {count_text(now.total, 'game')}"
            self._draw(now.games, now.total, games, line, *beside(now), seconds=now.seconds)
        if now.recorded and (now.games >= self._next_line or now.games == now.total):
            self._next_line = 2 * now.games
            point = f"{count_text(now.games, 'game'):>19}  {line}"  # 80 columns up to 10**10 games
            if self._live:
                self._display.console.print(point, soft_wrap=True, markup=False, highlight=False)
            else:
                self._say(point)
        return pace.wait(now, lambda then: self(then, beside)) if self._live and pace is not None else 0.0

    def _draw(self, done: int, total: int, *lines: str, seconds: float | None = None) -> None:
        """Draw a bar and lines below it, the first with the time left; without a total only the lines.

        seconds: since the start of the work; None for a display that does not move.
        """
        # Imported here: rich takes 0.1 s to load, and only a terminal needs it.
        from rich.console import Group
        from rich.padding import Padding
        from rich.progress_bar import ProgressBar
        from rich.text import Text

        if self._spins:
            self.clear()
        if self._display is None:
            self._display = _live_display(moving=seconds is not None)
        bar = [Padding(ProgressBar(total=total, completed=done, width=38), 0)] if total else []  # on a line of its own
        # A lesson is not as slow as it begins, so its speed tells nothing of the time left.
        left = self._time_left(done, total, seconds) if seconds is not None and total and not self._paced else ""
        self._display.update(Group(*bar, *(Text(f"{line}{left if n == 0 else ''}") for n, line in enumerate(lines))))

    def _time_left(self, done: int, total: int, seconds: float) -> str:
        """Return a text with the time left at the speed of the last seconds; empty while unknown."""
        self._recent.append((done, seconds))
        while seconds - self._recent[0][1] > RECENT_SECONDS and len(self._recent) > 2:
            self._recent.popleft()
        earlier, since = self._recent[0]
        if done <= earlier or seconds - since < LEAST_SECONDS:
            return ""
        return f", about {duration_text((total - done) * (seconds - since) / (done - earlier))} left"


@contextmanager
def show_progress(what: str) -> Iterator[Callable[..., None]]:
    """Yield a function that shows progress of `training`, `studying`, `reading`, `proving`, `shrinking` or `asking`."""
    collections = gc.get_threshold()
    try:
        with Reporter() as report:
            ways: dict[str, Callable[..., Any]] = {"training": report, "studying": report.studying}
            ways |= {"reading": report.reading, "asking": report.asking}
            begun = {"proving": report.proving, "shrinking": report.shrinking}
            yield begun[what]() if what in begun else ways[what]
    finally:
        gc.set_threshold(*collections)


def _live_display(renderable: Callable[[], Any] | None = None, *, moving: bool = True) -> Any:
    """Return a running display on standard error that wipes itself when it stops.

    moving: redraw ten times per second, else only at `refresh`.
    """
    from rich.console import Console
    from rich.live import Live

    # Do not redirect standard output: it may be a file while standard error is a terminal.
    display = Live(
        console=Console(stderr=True),
        transient=True,
        auto_refresh=moving,
        refresh_per_second=10,
        redirect_stdout=False,
        get_renderable=renderable,
    )
    display.start()
    return display


def pace_text(now: "Progress | GamesLearnt", first: "Progress | GamesLearnt") -> str:
    """Return the games per second since the first report, so without compilation; empty while unknown."""
    seconds, games = now.seconds - first.seconds, now.games - first.games
    return f"{short_number(games / seconds)}/s" if seconds > 0 and games else ""


def progress_text(now: "Progress", first: "Progress | GamesLearnt") -> str:
    """Return a line with the speed, the shares of results in training and the verdict so far."""
    played = max(1, sum(now.outcomes))
    x_wins, draws, o_wins = (100 * n / played for n in now.outcomes)
    if now.proofs is not None:
        verdict = "  ".join(f"{seat} {status} {short_number(size)}" for seat, (status, size) in now.proofs.items())
    elif now.positions is not None:
        verdict = count_text(now.positions, "position")
    elif now.unbeatable_since is None:
        verdict = "can still be beaten"
    else:
        verdict = f"unbeatable since {now.unbeatable_since:,}"
    return f"{pace_text(now, first):>9}  X {x_wins:.0f}%  draw {draws:.0f}%  O {o_wins:.0f}%  {verdict}"


WIDTH, MOST_GAMES = 60, 5
"""Most columns for the boards, and most boards."""


class SampleGames:
    """Animation of greedy self-play games of the current table, a few new ones each second; ties are random.

    It does not affect the training's games or random numbers.
    """

    def __init__(self) -> None:
        self._rng = random.Random(0)
        self._games: list[Game] = []
        self._began, self._steps = -1.0, 1

    def lines(self, now: "Progress") -> list[str]:
        """Return the current boards side by side as lines; empty if the training reports no run."""
        if now.run is None:
            return []
        if not self._games or now.seconds >= self._began + 1.0:
            run, self._began = now.run(), now.seconds
            count = max(1, min(MOST_GAMES, WIDTH // (2 * run.board.cols + len(GAP))))
            self._games = [self._play(run) for _ in range(count)]
            self._steps = max(len(game.moves) for game in self._games) + 2  # the final position stays for a moment
        shown = int(self._steps * (now.seconds - self._began) + 1e-9)
        return boards_side_by_side([Game(game.board, game.moves[:shown]) for game in self._games])

    def step(self) -> None:
        """Show the games one move further on than their time says."""
        self._began -= 1 / self._steps

    def _play(self, run: Run) -> Game:
        game = Game(run.board)
        while game.outcome == UNFINISHED:
            game = game.after(self._rng.choice(run.candidates(game.position)))
        return game


LESSON, FULL_SPEED = "lesson", "max"

DOUBLES = 5.0
"""Seconds in which a lesson doubles its pace."""

FRAME = 0.1
"""Seconds between two pictures while a training waits."""

FASTEST = 1e9
"""Games per second from which on a pace is as fast as the machine can."""


class Pace:
    """Pace of a training that is watched, which keys change.

    pace: games per second, above 0; `lesson`, a batch per second at first and twice as many every DOUBLES seconds; or
    `max`.  Whole batches are learnt at once.  stop: ends the waiting once it returns True.
    games: the games that are shown, for single moves.
    typed: waits for keys, some seconds at most, and returns them; None if there are no keys.
    Raises UsageError for another pace.
    """

    def __init__(
        self,
        pace: str,
        stop: Callable[[], bool],
        games: SampleGames | None = None,
        typed: Callable[[float], list[str]] | None = None,
    ) -> None:
        self._stop, self._games, self._typed = stop, games or SampleGames(), typed
        self._first: Progress | None = None  # from which on this pace is kept
        self._learnt = self._batch = 0  # games since then, and of the first slice after the first report
        self._paused, self._wanted = False, 0  # wanted: batches to learn while it is paused
        self._rate = {LESSON: None, FULL_SPEED: math.inf}.get(pace.casefold(), 0.0)
        if self._rate == 0:
            self._rate = parse_float("pace", pace, f"games per second, e.g. 10, {LESSON} or {FULL_SPEED}")
            if not 0 < self._rate < math.inf:
                raise UsageError(f"pace {pace} is not above 0; give games per second, e.g. 10, or {FULL_SPEED}")

    def wait(self, now: "Progress", show: "Callable[[Progress], object]") -> float:
        """Wait until the games learnt at this pace are due, and do what keys say; return the seconds that this took.

        show: called with each picture of the time between.
        """
        began, paused = time.perf_counter(), 0.0
        self._first = self._first or now
        self._batch = self._batch or now.games - self._first.games
        then = now
        self._press(self._keys(0.0), then)
        while not self._stop() and not self._wanted:
            self._learnt = now.games - self._first.games
            left = FRAME if self._paused else self._first.seconds + self._due(self._learnt) - then.seconds
            if left <= 0 or (self._learnt == 0 and not self._paused):
                break
            before, was_paused = time.perf_counter(), self._paused
            keys = self._keys(min(left, FRAME))
            paused += (time.perf_counter() - before) * was_paused
            then = replace(now, seconds=now.seconds + time.perf_counter() - began - paused, recorded=False)
            self._press(keys, then)
            show(then)
        self._wanted = max(self._wanted - 1, 0)
        self._first = replace(self._first, seconds=self._first.seconds + paused)
        return time.perf_counter() - began

    def lines(self) -> list[str]:
        """Return a line with the pace and the keys; nothing without keys."""
        if self._typed is None:
            return []
        a_batch = "a game" if self._batch == 1 else "a batch"
        rate = self._rate_now()
        now = "as fast as it can" if rate == math.inf else f"{rate:,.3g} games/s"
        state = "paused" if self._paused else f"{LESSON}, {now}" if self._rate is None else now
        return [f"{state}   space {'go on' if self._paused else 'pause'}, + - pace, right a move, n {a_batch}"]

    def _keys(self, seconds: float) -> list[str]:
        """Return the keys typed within some seconds at most; without keys wait for so long."""
        if self._typed is not None:
            return self._typed(seconds)
        time.sleep(seconds)
        return []

    def _press(self, keys: list[str], now: "Progress") -> None:
        """Do what keys say."""
        for key in keys:
            if key == " ":
                self._paused = not self._paused
            elif key in ("right", "n"):
                self._paused = True
                self._wanted += key == "n"
                if key == "right":
                    self._games.step()
            elif key in ("+", "=", "up"):
                self._keep(2 * self._rate_now(), now)
            elif key in ("-", "down"):
                rate, first = self._rate_now(), self._first or now
                seconds = now.seconds - first.seconds
                # From full speed on it is half of what the machine does.
                self._keep(
                    (rate if rate < math.inf else (now.games - first.games) / seconds if seconds else 2.0) / 2, now
                )

    def _keep(self, rate: float, now: "Progress") -> None:
        """Keep another pace from now on."""
        self._first, self._learnt = now, 0
        self._rate = rate if 0 < rate < FASTEST else math.inf

    def _rate_now(self) -> float:
        """Return the games per second that are wanted now."""
        if self._rate is not None:
            return self._rate
        return max(self._batch, 1) + self._learnt * math.log(2) / DOUBLES

    def _due(self, games: int) -> float:
        """Return the seconds that this number of games should take."""
        if self._rate is not None:
            return games / self._rate
        return lesson_seconds(games, max(self._batch, 1))


def lesson_seconds(games: int, batch: int) -> float:
    """Return the seconds that a lesson takes for this number of games; batch: at least 1."""
    # The pace is the derivative: 1 + ln 2 / DOUBLES batches per second for every batch learnt.
    return DOUBLES * math.log2(1 + games * math.log(2) / (DOUBLES * batch))


def boards_side_by_side(games: list[Game]) -> list[str]:
    """Return boards of equal size, drawn side by side, as lines."""
    cells, columns = games[0].board.cells, games[0].board.cols
    marks = [[MARKS[mark] for mark in game.position] for game in games]
    return side_by_side([[" ".join(own[row : row + columns]) for row in range(0, cells, columns)] for own in marks])
