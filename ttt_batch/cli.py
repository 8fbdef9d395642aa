"""The commands: arguments, messages and exit codes.

Nothing is computed here, and nothing heavy is imported until it is needed.
"""

import _thread
import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from ttt_batch.reports import Reporter
    from ttt_batch.run import Run

app = typer.Typer(
    help="Batch simulator and tabular self-play laboratory for tic-tac-toe and small m,n,k boards.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)

Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")]
Overwrite = Annotated[bool, typer.Option("--overwrite", help="Replace an existing file.")]
DrawWorth = Annotated[
    str | None, typer.Option(metavar="A,B", help="What a draw is worth to the first and the second player.")
]
RunPath = Annotated[Path, typer.Argument(metavar="RUN", help="A run file.")]


def _show_version(wanted: bool) -> None:
    if wanted:
        from ttt_batch.version import VERSION

        typer.echo(f"ttt-batch {VERSION}")
        raise typer.Exit


@app.callback()
def _program(
    version: Annotated[
        bool,
        typer.Option("--version", help="Show the version and leave.", callback=_show_version, is_eager=True),
    ] = False,
) -> None:
    pass


@app.command()
def train(
    games: Annotated[
        int | None, typer.Option(help="Games to learn from; the learner's headline length if not given.")
    ] = None,
    learner: Annotated[str, typer.Option(help="Which learner; see ttt-batch learners.")] = "td",
    board: Annotated[str, typer.Option(help="ROWSxCOLUMNS or ROWSxCOLUMNSxK.")] = "3x3",
    epsilon: Annotated[
        str | None, typer.Option(help="Probability of an exploratory move, 0 to 1, or 0.3->0.01:linear (or :exp).")
    ] = None,
    alpha: Annotated[
        str | None, typer.Option(help="Step size, above 0 up to 1, or 0.3->0.01:linear (or :exp), 1/n, 1/n^0.8.")
    ] = None,
    gamma: Annotated[float | None, typer.Option(help="Discount, 0 to 1.")] = None,
    draw_worth: DrawWorth = None,
    batch: Annotated[
        str, typer.Option(metavar="N|auto", help="Games played with the same tables; auto grows with the games played.")
    ] = "16384",
    engine: Annotated[
        str, typer.Option(help="walk plays every game; flow draws how many take each move, at any number of games.")
    ] = "walk",
    threads: Annotated[
        int | None, typer.Option(help="Threads; all processors if not given. Never changes the result.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed of all chance.")] = 0,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", metavar="FILE", help="Run file to write; a new name if not given."),
    ] = None,
    overwrite: Overwrite = False,
    start: Annotated[
        Path | None, typer.Option(metavar="RUN|TABLE", help="Begin with the tables of a run or of another program.")
    ] = None,
    opponent: Annotated[
        str | None, typer.Option(metavar="random|optimal|RUN", help="Train against a fixed player, not itself.")
    ] = None,
    seat: Annotated[
        str, typer.Option("--as", metavar="first|second|both", help="The learner's seat against an opponent.")
    ] = "",
    record: Annotated[Path | None, typer.Option(metavar="GAMES", help="Write the games played to a text file.")] = None,
    json: Json = False,
) -> None:
    """Train a learner by self-play, prove how good it is, and save the run."""
    from ttt_batch import reports, training
    from ttt_batch.errors import InterruptedTraining

    target = out if out is not None else _new_name(f"{learner}-{board}")
    with _Interrupt("interrupted; nothing was written") as interrupt, reports.Reporter() as report:

        def progress(now: training.Progress) -> None:
            interrupt.gently = True
            report(now)

        run = training.train(
            games,
            learner=learner,
            board=board,
            epsilon=epsilon,
            alpha=alpha,
            gamma=gamma,
            draw_worth=_two_numbers(draw_worth),
            batch=batch,
            engine=engine,
            threads=threads,
            seed=seed,
            start=_origin(start, learner, board),
            opponent=opponent,
            seat=seat,
            record=record,
            out=target,
            overwrite=overwrite,
            progress=progress,
            stop=interrupt.requested,
            command=_command_line(),
        )
    if run.games == 0:
        raise InterruptedTraining("interrupted before the first batch was learnt; nothing was written")
    typer.echo(
        reports.to_json(reports.training_summary(run, str(target))) if json else reports.training_text(run, str(target))
    )
    if run.interrupted:
        typer.echo(f"ttt-batch: interrupted; the {run.games:,} games learnt so far are saved in {target}", err=True)
        raise typer.Exit(130)


@app.command()
def evaluate(
    path: RunPath,
    against: Annotated[
        str,
        typer.Option(metavar="random|optimal|self|RUN2", help="The opponent; a run file for another agent."),
    ] = "random",
    json: Json = False,
) -> None:
    """Judge a run exactly: results per seat, whether it can be beaten, and if so how."""
    from ttt_batch import reports
    from ttt_batch.errors import UsageError
    from ttt_batch.run import load

    run = load(path)
    with _working():
        if against in ("random", "optimal", "self"):
            evaluation = run.evaluation(against)  # type: ignore[arg-type]
        elif Path(against).exists():
            evaluation = run.evaluation(load(against))
        else:
            raise UsageError(f"unknown opponent {against!r}: neither random, optimal or self nor an existing run file")
    typer.echo(reports.to_json(evaluation.as_dict()) if json else reports.evaluation_text(run, evaluation, str(path)))


@app.command()
def play(
    path: Annotated[
        Path | None,
        typer.Argument(metavar="[RUN]", help="A run file; the newest in this folder if not given."),
    ] = None,
    seat: Annotated[str, typer.Option("--as", metavar="first|second", help="Your seat; first moves first.")] = "first",
    seed: Annotated[int | None, typer.Option(help="Seed of the agent's choices among equals.")] = None,
) -> None:
    """Play against an agent in the terminal."""
    from ttt_batch import terminal
    from ttt_batch.errors import UsageError
    from ttt_batch.run import SEATS

    if seat not in SEATS:
        raise UsageError(f"unknown seat {seat!r}; choose first or second")
    with _working():
        terminal.play(
            _agent(path),
            person=SEATS.index(seat),
            stdin=sys.stdin,
            stdout=sys.stdout,
            seed=time.time_ns() if seed is None else seed,
        )


@app.command()
def learners(
    name: Annotated[str | None, typer.Argument(metavar="[NAME]", help="One learner, in full.")] = None,
    json: Json = False,
) -> None:
    """List the learners, or describe one."""
    from ttt_batch import reports
    from ttt_batch.learners import LEARNERS, learner_named

    chosen = list(LEARNERS.values()) if name is None else [learner_named(name)]
    if json:
        descriptions = [reports.learner_description(learner) for learner in chosen]
        typer.echo(reports.to_json(descriptions if name is None else descriptions[0]))
    else:
        typer.echo(reports.learners_text(chosen) if name is None else reports.learner_text(chosen[0]))


@app.command()
def compare(path: RunPath, other: Annotated[Path, typer.Argument(metavar="RUN2")], json: Json = False) -> None:
    """Say where two runs' tables and policies differ."""
    from ttt_batch import reports
    from ttt_batch.comparison import compare_runs
    from ttt_batch.run import load

    with _working():
        found = compare_runs(load(path), load(other))
    typer.echo(reports.to_json(found) if json else reports.comparison_text(found, str(path), str(other)))


@app.command("learn-from")
def learn_from(
    games: Annotated[Path, typer.Argument(metavar="GAMES", help="A text file, a game a line; - for standard input.")],
    learner: Annotated[str | None, typer.Option(help="Which learner, unless --run is given.")] = None,
    run: Annotated[Path | None, typer.Option(metavar="RUN", help="A run to go on from, with its options.")] = None,
    alpha: Annotated[str | None, typer.Option(help="Step size, or 1/n by visits.")] = None,
    gamma: Annotated[float | None, typer.Option(help="Discount, 0 to 1.")] = None,
    draw_worth: DrawWorth = None,
    board: Annotated[str | None, typer.Option(help="ROWSxCOLUMNS or ROWSxCOLUMNSxK.")] = None,
    seed: Annotated[int | None, typer.Option(help="Seed of the start table.")] = None,
    skip_bad: Annotated[bool, typer.Option("--skip-bad", help="Leave out lines that are no legal game.")] = False,
    out: Annotated[Path | None, typer.Option("--out", "-o", metavar="FILE", help="Run file to write.")] = None,
    overwrite: Overwrite = False,
    json: Json = False,
) -> None:
    """Learn from given games: cell numbers separated by spaces, ! behind an exploratory move, # before a comment."""
    from ttt_batch import reports, training

    target = out if out is not None else _new_name("given-games")
    lines = _read_lines(games)
    with _working():
        result, skipped = training.learn_from(
            lines,
            learner=learner,
            run=run,
            name=str(games),
            skip_bad=skip_bad,
            out=target,
            overwrite=overwrite,
            command=_command_line(),
            alpha=alpha,
            gamma=gamma,
            draw_worth=_two_numbers(draw_worth),
            board=board,
            seed=seed,
        )
    for line in skipped:
        typer.echo(f"skipped {line}", err=True)
    if json:
        typer.echo(reports.to_json({**reports.training_summary(result, str(target)), "skipped": len(skipped)}))
    else:
        typer.echo(reports.training_text(result, str(target)))
        if skipped:
            typer.echo(f"skipped: {len(skipped)} bad lines")


@app.command("export")
def export_(
    path: RunPath,
    to: Annotated[str, typer.Option(metavar="FORMAT", help="csv, raw, pickle, pickle-text, npz, json or parquet.")],
    out: Annotated[list[Path], typer.Option("--out", "-o", metavar="FILE", help="File to write; two for two players.")],
    player: Annotated[str | None, typer.Option(metavar="first|second", help="Whose values go into one file.")] = None,
    overwrite: Overwrite = False,
) -> None:
    """Write a run's table in another program's format."""
    from ttt_batch.exchange import export_run
    from ttt_batch.run import load

    with _working():
        files = export_run(load(path), to, out, player=_player(player), overwrite=overwrite)
    for written in files:
        typer.echo(f"wrote {written}")


@app.command("import")
def import_(
    files: Annotated[list[Path], typer.Argument(metavar="FILE...", help="The table; one or two files, a player each.")],
    learner: Annotated[str, typer.Option(help="The learner whose table it is.")],
    out: Annotated[Path, typer.Option("--out", "-o", metavar="RUN", help="Run file to write.")],
    form: Annotated[str | None, typer.Option("--format", help="csv, raw or pickle, if the name does not tell.")] = None,
    player: Annotated[str | None, typer.Option(metavar="first|second", help="Whose file a single one is.")] = None,
    board: Annotated[str, typer.Option(help="ROWSxCOLUMNS or ROWSxCOLUMNSxK.")] = "3x3",
    draw_worth: DrawWorth = None,
    overwrite: Overwrite = False,
) -> None:
    """Read another program's table into a run file."""
    from ttt_batch import reports
    from ttt_batch.exchange import import_tables
    from ttt_batch.runfile import check_target

    check_target(out, overwrite=overwrite)
    with _working():
        run = import_tables(
            files,
            learner,
            form=form,
            board=board,
            player=_player(player),
            command=_command_line(),
            draw_worth=_two_numbers(draw_worth),
        )
    run.save(out, overwrite=overwrite)
    typer.echo(f"saved {out}: {run.config.learner} on {run.config.board}, {reports.verdict_text(run)}")


@app.command()
def info(path: RunPath, json: Json = False) -> None:
    """Say what a run file holds."""
    from ttt_batch import reports
    from ttt_batch.run import load

    run = load(path)
    information = reports.run_information(run, str(path), path.stat().st_size)
    typer.echo(reports.to_json(information) if json else reports.information_text(information, run))


@app.command()
def warmup(
    processes: Annotated[
        int | None, typer.Option(help="Processes that compile at the same time; as many as processors if not given.")
    ] = None,
    json: Json = False,
) -> None:
    """Compile everything once, so that no command ever waits for the compiler."""
    from ttt_batch import reports
    from ttt_batch.warmup import warm_up

    with _working("interrupted; what was compiled is kept") as report:
        warmth = warm_up(processes=processes, report=report.warming)
    typer.echo(reports.to_json(reports.warmth_summary(warmth)) if json else reports.warmth_text(warmth))


@app.command()
def bench(
    seconds: Annotated[float, typer.Option(help="How long to measure, about.")] = 15.0,
    threads: Annotated[int | None, typer.Option(help="The most threads; all processors if not given.")] = None,
    json: Json = False,
) -> None:
    """Measure what this machine can do: games per second with each learner and engine, threads, evaluation."""
    from ttt_batch import bench as benches

    with _working("interrupted before everything was measured") as report:
        benches.check(seconds, threads)
        benches.prepare(report.warming)
        figures = benches.bench(seconds=seconds, threads=threads, progress=report.measuring)
    typer.echo(benches.bench_json(figures) if json else benches.bench_text(figures))


def _agent(path: Path | None) -> "Run":
    """The run to play against: the one named, else the newest here, else one trained on the spot."""
    from ttt_batch.run import load
    from ttt_batch.runfile import find_newest_run

    newest = path if path is not None else find_newest_run(Path())
    if newest is None:
        from ttt_batch.training import train as train_run

        typer.echo("no run file here: training td on 3x3 for 100,000 games first", err=True)
        return train_run(100_000)
    if path is None:
        typer.echo(f"playing {newest}, the newest run here", err=True)
    return load(newest)


class _Interrupt:
    """Turns the first Ctrl-C or SIGTERM into a request to stop after the batch at hand.

    A second one, or one before any batch was learnt (kernels being compiled), stops at once.  An exception that arises
    while LLVM calls back is printed and dropped by Python; it is raised again until it gets through.
    message: what is said in the end.
    """

    def __init__(self, message: str) -> None:
        self.gently, self._message = False, message
        self._requested = False

    def requested(self) -> bool:
        """Whether to stop after the batch at hand."""
        return self._requested

    def _handle(self, _number: int, _frame: FrameType | None) -> None:
        if self._requested or not self.gently:
            raise KeyboardInterrupt
        self._requested = True

    def _dropped(self, dropped: Any) -> None:
        if issubclass(dropped.exc_type, KeyboardInterrupt):
            threading.Timer(0.02, _thread.interrupt_main).start()
        else:
            self._hook_before(dropped)

    def __enter__(self) -> "_Interrupt":
        self._hook_before, sys.unraisablehook = sys.unraisablehook, self._dropped
        self._before = {number: signal.signal(number, self._handle) for number in (signal.SIGINT, signal.SIGTERM)}
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        sys.unraisablehook = self._hook_before
        for number, handler in self._before.items():
            signal.signal(number, handler)
        if kind is KeyboardInterrupt:
            from ttt_batch.errors import InterruptedTraining

            raise InterruptedTraining(self._message) from None


@contextmanager
def _working(message: str = "interrupted") -> "Iterator[Reporter]":
    """What every command does that may compile: say so, and end with one line if it is interrupted."""
    from ttt_batch import reports

    with _Interrupt(message), reports.Reporter() as report:
        yield report


def _new_name(stem: str) -> Path:
    """The first of stem.h5, stem-2.h5, stem-3.h5 ... that does not exist."""
    number, path = 1, Path(f"{stem.replace(os.sep, '_')}.h5")
    while path.exists():
        number += 1
        path = Path(f"{stem.replace(os.sep, '_')}-{number}.h5")
    return path


def _origin(path: Path | None, learner: str, board: str) -> "Run | None":
    """The run whose tables to begin with: a run file, or another program's table."""
    if path is None:
        return None
    from ttt_batch.run import load

    if path.suffix.lower() in (".h5", ".hdf5") or not path.exists():
        return load(path)
    from ttt_batch.exchange import import_tables

    return import_tables([path], learner, board=board)


def _player(name: str | None) -> Any:
    """Check a seat's name."""
    from ttt_batch.errors import UsageError

    if name not in (None, "first", "second"):
        raise UsageError(f"unknown player {name!r}; choose first or second")
    return name


def _read_lines(path: Path) -> list[str]:
    """The lines of a text file, or of standard input for `-`."""
    from ttt_batch.errors import TttBatchError

    try:
        return (sys.stdin.read() if str(path) == "-" else path.read_text(encoding="utf-8")).splitlines()
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is not UTF-8 text"
        raise TttBatchError(f"cannot read games from {path}: {reason}; name a text file with a game per line") from None


def _two_numbers(text: str | None) -> tuple[float, float] | None:
    """Read `A,B` (or `A` for both)."""
    from ttt_batch.errors import UsageError

    if text is None:
        return None
    try:
        numbers = [float(part) for part in text.split(",")]
    except ValueError:
        numbers = []
    if len(numbers) not in (1, 2):
        raise UsageError(f"draw worth {text!r} is not one or two numbers; give them as 0.5,0.5")
    return numbers[0], numbers[-1]


def _command_line() -> str:
    """The command as typed, for the run file; the program by its name, not by where it lies."""
    return " ".join(["ttt-batch", *sys.argv[1:]])
