"""What commands print about training, judgements and files: plain text and JSON, nothing computed.

Progress goes to standard error, as a live bar on a terminal and as plain lines elsewhere.
"""

import gc
import json
import math
import os
import sys
import time
from collections.abc import Callable, Iterable
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, TextIO

from ttt_batch.compile import on_compile
from ttt_batch.learners.base import Learner
from ttt_batch.recorder import unbeatable_since
from ttt_batch.run import SEATS, Evaluation, Run
from ttt_batch.training import Progress

if TYPE_CHECKING:
    from ttt_batch.matches import GrownEvaluation
    from ttt_batch.warmup import Warmth

RESULTS = ("win", "draw", "loss")


def to_json(value: Any) -> str:
    """Render plain values as JSON; numbers that JSON lacks become null."""
    return json.dumps(_finite(value), indent=2)


def _finite(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(item) for item in value]
    return value


def verdict_text(run: Run) -> str:
    """The verdict on the tables as they are, with the game since which it holds where it is good in both seats."""
    if run.grown is not None:
        return (
            f"{int(run.statistics['positions'][-1]):,} positions in the table; "
            "whether it can be beaten is for evaluate to search"
        )
    unbeatable = run.statistics["unbeatable"]
    since = unbeatable_since(run.statistics["games"], unbeatable)
    if since is not None:
        return f"unbeatable as first and as second, at every recorded point since game {since:,}"
    seats = [
        f"{'unbeatable' if good else 'can be beaten'} as {seat}"
        for seat, good in zip(SEATS, unbeatable[-1], strict=True)
    ]
    return ", ".join(seats)


def training_summary(run: Run, path: str | None) -> dict[str, Any]:
    """What `train --json` prints."""
    last = {name: column[-1] for name, column in run.statistics.items()}
    seconds = float(run.provenance["seconds"])
    outcomes = ("first_wins", "draws", "second_wins")
    summary: dict[str, Any] = {
        "learner": run.config.learner,
        "board": run.config.board,
        "games": run.games,
        "interrupted": run.interrupted,
        "seconds": seconds,
        "games_per_second": run.games / seconds,
        "in_play": dict(zip(outcomes, last["outcomes"].tolist(), strict=True)),
    }
    if run.grown is not None:
        summary |= {
            "positions": int(last["positions"]),
            "positions_without_room": int(run.provenance.get("positions_without_room", 0)),
        }
    else:
        summary |= {
            "unbeatable": dict(zip(SEATS, last["unbeatable"].tolist(), strict=True)),
            "unbeatable_since": unbeatable_since(run.statistics["games"], run.statistics["unbeatable"]),
            "against_random": {
                seat: dict(zip(RESULTS, row, strict=True))
                for seat, row in zip(SEATS, last["versus_random"].tolist(), strict=True)
            },
            "self_play": dict(zip(outcomes, last["self_play"].tolist(), strict=True)),
            "optimal_share": dict(zip(SEATS, last["optimal_share"].tolist(), strict=True)),
            "value_error": dict(zip(SEATS, last["value_error"].tolist(), strict=True)),
        }
    return {**summary, "config": run.config.as_dict(), "run": path}


def training_text(run: Run, path: str) -> str:
    """What `train` prints at the end: a short table, the file, and the two commands a person wants next."""
    last = {name: column[-1] for name, column in run.statistics.items()}
    seconds = float(run.provenance["seconds"])
    played = last["outcomes"] / max(1, int(last["outcomes"].sum()))
    exact = (
        []
        if run.grown is not None
        else [
            _row("as first, against random", *last["versus_random"][0]),
            _row("as second, against random", *last["versus_random"][1]),
            _row("greedy self-play, as first", *last["self_play"]),
        ]
    )
    lines = [
        f"{run.config.learner} on {run.config.board}: {run.games:,} games in {seconds:.2f} s, seed {run.config.seed}",
        "",
        _row("", "win", "draw", "loss"),
        *exact,
        _row("games played, as first", *played),
        "",
        f"verdict: {verdict_text(run)}",
        f"saved:   {path}",
        "",
        f"next:    ttt-batch evaluate {path}",
        f"         ttt-batch play {path}",
    ]
    return "\n".join(lines)


def _row(label: str, *cells: Any) -> str:
    return f"{label:<28}" + "".join(f"{cell if isinstance(cell, str) else format(cell, '.4f'):>9}" for cell in cells)


def evaluation_text(run: Run, evaluation: Evaluation, name: str) -> str:
    """What `evaluate` prints: exact results per seat, the verdicts, and where it can be beaten, how."""
    lines = [
        f"{name}: {run.config.learner} on {run.config.board}, {run.games:,} games",
        "",
        _row(f"against {evaluation.against}, exactly", *RESULTS),
        _row("as first", *evaluation.first),
        _row("as second", *evaluation.second),
        "",
    ]
    for seat in SEATS:
        line = evaluation.losing_line[seat]
        if line is None:
            lines.append(f"unbeatable as {seat}: no opponent and no tie-break beats it")
        else:
            lines += [f"can be beaten as {seat}:", *_line_of_play(run, line)]
    return "\n".join(lines)


def _line_of_play(run: Run, cells: list[int]) -> list[str]:
    """A game as moves and as boards side by side, the last move in brackets."""
    board = run.board
    moves = " ".join(f"{'XO'[ply % 2]}{board.cell_name(cell)}" for ply, cell in enumerate(cells))
    marks, pictures = [0] * board.cells, []
    for ply, cell in enumerate(cells):
        marks[cell] = 1 + ply % 2
        rows = []
        for row in range(board.rows):
            text = "".join(
                f"[{'.XO'[marks[i]]}]" if i == cell else f" {'.XO'[marks[i]]} "
                for i in range(row * board.cols, (row + 1) * board.cols)
            )
            rows.append(text)
        pictures.append(rows)
    per_line = max(1, 76 // (3 * board.cols + 2))
    lines = [f"  {moves}"]
    for start in range(0, len(pictures), per_line):
        group = pictures[start : start + per_line]
        lines += [
            "",
            *("  " + "  ".join(picture[row] for picture in group).rstrip() for row in range(board.rows)),
        ]
    return [*lines, ""]


def run_information(run: Run, path: str, size: int) -> dict[str, Any]:
    """What `info --json` prints."""
    return {
        "file": path,
        "bytes": size,
        "format": f"{run.version[0]}.{run.version[1]}",
        "games": run.games,
        "goal": run.goal or run.games,
        "config": run.config.as_dict(),
        "states": int(run.graph.code.size),
        "edges": int(run.graph.child.size),
        "tables": {
            name: {
                "dtype": str(array.dtype),
                "shape": list(array.shape),
                "axes": run.learner.fields[name][0],
                "meaning": run.learner.fields[name][1],
            }
            for name, array in run.tables._asdict().items()
        },
        "recorded_points": int(run.statistics["games"].size),
        **(
            {"positions": int(run.statistics["positions"][-1])}
            if run.grown is not None
            else {
                "unbeatable": dict(zip(SEATS, run.statistics["unbeatable"][-1].tolist(), strict=True)),
                "unbeatable_since": unbeatable_since(run.statistics["games"], run.statistics["unbeatable"]),
            }
        ),
        "provenance": dict(run.provenance),
    }


def information_text(information: dict[str, Any], run: Run) -> str:
    """What `info` prints."""
    config = information["config"]
    batch = config["batch"] if isinstance(config["batch"], str) else f"{config['batch']:,}"
    goal = f" of {information['goal']:,}" if information["goal"] > information["games"] else ""
    rows = [
        ("file", f"{information['file']} ({information['bytes']:,} bytes, format {information['format']})"),
        ("learner", f"{config['learner']}: {run.learner.source}"),
        ("rule", run.learner.rule),
        ("board", f"{config['board']}: {information['states']:,} positions, {information['edges']:,} moves"),
        ("games", f"{information['games']:,}{goal}, in batches of {batch} ({config['engine']})"),
        ("numbers", ", ".join(f"{key} {config[key]}" for key in ("epsilon", "alpha", "gamma", "draw_worth"))),
        ("seed", str(config["seed"])),
        ("verdict", verdict_text(run)),
        *(
            (f"tables/{name}", f"{table['dtype']} [{table['axes']}] {table['shape']}: {table['meaning']}")
            for name, table in information["tables"].items()
        ),
        ("statistics", f"{information['recorded_points']} recorded points"),
        *((key.replace("_", " "), str(value)) for key, value in information["provenance"].items()),
    ]
    return "\n".join(f"{key:<16} {value}" for key, value in rows if value != "")


def learner_description(learner: Learner) -> dict[str, Any]:
    """What `learners --json` prints of one."""
    defaults = learner.defaults
    return {
        "name": learner.name,
        "source": learner.source,
        "rule": learner.rule,
        "epsilon": defaults.epsilon,
        "alpha": defaults.alpha,
        "gamma": defaults.gamma,
        "draw_worth": list(defaults.draw_worth),
        "games": learner.games,
        "choice": choice_text(learner),
        "tables": {name: {"axes": axes, "meaning": meaning} for name, (axes, meaning) in learner.fields.items()},
    }


def choice_text(learner: Learner) -> str:
    """A learner's choice rule in words."""
    if learner.choice.window:
        return f"uniform among moves within {learner.choice.window:g} of the best"
    return ("uniform among the best moves", "first of the best moves", "last of the best moves")[learner.choice.tie]


def learners_text(chosen: list[Learner]) -> str:
    """What `learners` prints: a table of names, sources, rules and defaults."""
    lines = []
    for learner in chosen:
        worth = ",".join(f"{number:g}" for number in learner.defaults.draw_worth)
        d = learner.defaults
        lines += [
            f"{learner.name:<14}{learner.source}",
            f"{'':<14}{learner.rule}",
            f"{'':<14}epsilon {d.epsilon:g}, alpha {d.alpha:g}, gamma {d.gamma:g}, draw worth {worth}, "
            f"{learner.games:,} games",
            "",
        ]
    return "\n".join([*lines, "ttt-batch learners NAME tells more; ttt-batch train --learner NAME trains one"])


def learner_text(learner: Learner) -> str:
    """What `learners NAME` prints: the description of its file, its choice rule, tables and options."""
    worth = ",".join(f"{number:g}" for number in learner.defaults.draw_worth)
    d = learner.defaults
    return "\n".join(
        [
            (sys.modules[learner.tables.__module__].__doc__ or "").strip(),
            "",
            f"greedy moves    {choice_text(learner)}",
            *(f"tables/{name:<9}[{axes}] {meaning}" for name, (axes, meaning) in learner.fields.items()),
            "",
            "options and defaults",
            f"  --games {learner.games}",
            f"  --epsilon {d.epsilon:g}        or 0.3->0.01:linear, 0.3->0.01:exp",
            f"  --alpha {d.alpha:g}          or 0.3->0.01:linear, 0.3->0.01:exp, 1/n, 1/n^0.8",
            f"  --gamma {d.gamma:g}",
            f"  --draw-worth {worth}",
        ]
    )


def comparison_text(found: dict[str, Any], one: str, other: str) -> str:
    """What `compare` prints."""
    tables, policies = found["tables"], found["policies"]
    if tables is None:
        lines = ["tables:   of different learners, not comparable number by number"]
    else:
        lines = [
            f"tables:   {tables['differing']:,} of {tables['entries']:,} entries differ, "
            f"by {tables['largest_difference']:.6g} at most and {tables['mean_difference']:.6g} on average"
        ]
    lines.append(
        f"policies: other moves in {policies['differing']:,} of {policies['positions']:,} positions; in "
        f"{policies['differing_optimal']:,} only one of the two may give the result away"
    )
    for example in found["examples"]:
        cells = [" ".join(str(cell) for cell in example[key]) for key in ("first", "second")]
        lines.append(f"  {example['position']}   {one}: {cells[0]}   {other}: {cells[1]}")
    return "\n".join(lines)


def warmth_summary(warmth: "Warmth") -> dict[str, Any]:
    """What `warmup --json` prints."""
    return {
        "compiled": warmth.compiled,
        "seconds": warmth.seconds,
        "kernels": warmth.kernels,
        "bytes": warmth.size,
        "cache": str(warmth.cache),
    }


def warmth_text(warmth: "Warmth") -> str:
    """What `warmup` prints."""
    if warmth.compiled:
        first = f"compiled in {warmth.seconds:.1f} s, for {', '.join(warmth.compiled)}"
    else:
        first = f"everything is compiled already (looked for {warmth.seconds:.1f} s)"
    return (
        f"{first}\n{warmth.kernels} kernel{'s' * (warmth.kernels != 1)}, {warmth.size / 1e6:.1f} MB, in {warmth.cache}"
    )


COMPILING = "compiling kernels (once, about 15 seconds) ..."
"""Training compiles for 12 s on one processor of 2.5 GHz, and nothing else takes longer."""

MEASURING_LINES = 6
"""Lines of progress that `bench` prints off a terminal, but for the last one."""


def is_live(stream: TextIO) -> bool:
    """Whether a text stream shows moving pictures: a terminal that can do more than print lines."""
    return stream.isatty() and os.environ.get("TERM", "") not in ("dumb", "unknown")


def _say(line: str) -> None:
    """A line of progress.  Whoever read it may have gone (`ttt-batch train 2>&1 | head`): the work goes on unseen."""
    try:
        print(line, file=sys.stderr, flush=True)
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stderr.fileno())


class Reporter:
    """Everything that moves on standard error: progress while training, and the notice that kernels are being compiled.

    On a terminal a live bar and a spinner, of which nothing remains; elsewhere plain lines, at doubling numbers of
    games and once for the compiler.  To be entered by every command that may compile.
    live: which of the two; by `is_live` if not given.
    """

    def __init__(self, *, live: bool | None = None) -> None:
        self._live, self._next_line = is_live(sys.stderr) if live is None else live, 0
        self._display: Any = None
        self._first: Progress | None = None
        self._compiling_since: float | None = None

    def __enter__(self) -> Self:
        self._forget = on_compile(self.compiling, self.clear)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._forget()
        self.clear()

    def clear(self) -> None:
        """Take the bar or the spinner away; the next report brings it back."""
        if self._display is not None:
            self._display.stop()
            self._display = None

    def compiling(self) -> None:
        """Say that kernels are being compiled, until `clear`: the first one is compiled now, or one more."""
        first = self._compiling_since is None
        if first:
            self._compiling_since = time.perf_counter()
            # The program postpones collections to start faster; the compiler leaves cycles, 25 MB in the end.
            gc.set_threshold(200, 5, 5)
        if self._live:
            self.spin(COMPILING, self._compiling_since)
        elif first:
            _say(COMPILING)

    def spin(self, text: str, since: float | None = None) -> None:
        """Show a spinner, `text` and the seconds since then (or since now) until `clear`, in place of what is shown."""
        from rich.spinner import Spinner

        # Only ASCII: not every terminal has the signs of the prettier ones.
        spinner, began = Spinner("line"), time.perf_counter() if since is None else since

        def now() -> Any:
            spinner.update(text=f"{text} {time.perf_counter() - began:.0f} s")
            return spinner

        self.clear()
        self._display = _live_display(now)

    def warming(self, name: str, seconds: float, done: int, total: int) -> None:
        """Show that one more job of `warmup.warm_up` is done; an empty name says that they begin."""
        self.clear()
        if name:
            _say(f"{name:<14}{seconds:6.1f} s   {done} of {total}")
        else:
            self._compiling_since = time.perf_counter()
            if not self._live:
                _say("compiling all kernels (once, about two minutes) ...")
        if self._live and done < total:
            self.spin(f"compiling all kernels (once, about two minutes) ... {done} of {total},", self._compiling_since)

    def measuring(self, done: int, total: int) -> None:
        """Show how many measurements of `bench.bench` are done.

        Drawn between measurements only: a display that moves by itself would take time from what is measured.
        """
        if not self._live:
            if done >= self._next_line:
                self._next_line = done + total // MEASURING_LINES
                _say(f"measuring: {done} of {total}")
            return
        from rich.progress_bar import ProgressBar

        if done == total:
            self.clear()
            return
        if self._display is None:
            self._display = _live_display(moving=False)
        self._display.update(ProgressBar(total=total, completed=done, width=38), refresh=True)

    def __call__(self, progress: Progress) -> None:
        """Show one `Progress`."""
        self._first = self._first or progress
        if self._live:
            self._show(progress)
        elif progress.recorded and (progress.games >= self._next_line or progress.games == progress.total):
            self._next_line = 2 * progress.games
            _say(f"{progress.games:>15,} games  {progress_text(progress, self._first)}")

    def _show(self, progress: Progress) -> None:
        # Imported here: rich takes a tenth of a second, which only a terminal needs.
        from rich.console import Group
        from rich.padding import Padding
        from rich.progress_bar import ProgressBar
        from rich.text import Text

        if self._display is None:
            self._display = _live_display()
        bar = Padding(ProgressBar(total=progress.total, completed=progress.games, width=38), 0)
        games = f"{progress.games:,} of {progress.total:,} games"
        self._display.update(Group(bar, Text(games), Text(progress_text(progress, self._first or progress))))


def _live_display(renderable: Callable[[], Any] | None = None, *, moving: bool = True) -> Any:
    """A running display on standard error that leaves nothing when it stops.

    moving: drawn anew ten times a second; else only where that is asked for.
    """
    from rich.console import Console
    from rich.live import Live

    # Standard output stays untouched: it may be a file while standard error is a terminal.
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


def progress_text(progress: Progress, earlier: Progress) -> str:
    """Speed since the first report (which waits for the compiler), shares in play and the verdict so far, in a line."""
    played = max(1, sum(progress.outcomes))
    first, draws, second = (100 * n / played for n in progress.outcomes)
    seconds = progress.seconds - earlier.seconds
    speed = (progress.games - earlier.games) / seconds if seconds > 0 else 0.0
    if progress.positions is not None:
        verdict = f"{progress.positions:,} positions"
    elif progress.unbeatable_since is None:
        verdict = "can still be beaten"
    else:
        verdict = f"unbeatable since game {progress.unbeatable_since:,}"
    pace = f"{_short(speed)}/s  " if speed else ""
    return f"{pace}X {first:.1f} %  draw {draws:.1f} %  O {second:.1f} %  {verdict}"


def _short(number: float) -> str:
    for limit, unit in ((1e9, " G"), (1e6, " M"), (1e3, " k")):
        if number >= limit:
            return f"{number / limit:.1f}{unit}"
    return f"{number:.0f} "


def grown_evaluation_text(run: Run, evaluation: "GrownEvaluation", name: str) -> str:
    """What `evaluate` prints on a board too large to enumerate: verdicts of the search, then sampled matches."""
    lines = [f"{name}: {run.config.learner} on {run.config.board}, {run.games:,} games", ""]
    for seat, verdict in evaluation.verdicts.items():
        found = f"{verdict.positions:,} position{'s' * (verdict.positions != 1)}"
        if verdict.line is not None:
            lines += [f"can be beaten as {seat}:", *_line_of_play(run, verdict.line)]
        elif verdict.unbeatable:
            lines += [f"unbeatable as {seat}: no opponent and no tie-break beats it ({found} searched)", ""]
        else:
            nothing = f"no way to beat it among {found}; --budget N searches on"
            lines += [f"undecided as {seat} within the budget: {nothing}", ""]
    lines.append(f"{evaluation.games:,} games each, seed {evaluation.seed}, with 95 % confidence intervals")
    for player, tallies in evaluation.matches.items():
        lines += ["", _wide_row(f"against {player}", RESULTS)]
        for seat, tally in tallies.items():
            shares = ("{:.4f} ({:.4f}-{:.4f})".format(*tally.share(result)) for result in RESULTS)
            lines.append(_wide_row(f"as {seat}", shares))
    return "\n".join(lines)


def _wide_row(label: str, cells: Iterable[str]) -> str:
    return f"{label:<16}" + "".join(f"{cell:<24}" for cell in cells).rstrip()
