"""The commands: arguments, messages and exit codes.

Nothing is computed here, and nothing heavy is imported until it is needed.
"""

import os
import signal
import sys
import time
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from ttt_batch.run import Run

app = typer.Typer(
    help="Batch simulator and tabular self-play laboratory for tic-tac-toe and small m,n,k boards.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)

Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")]
RunPath = Annotated[Path, typer.Argument(metavar="RUN", help="A run file.")]


def _show_version(wanted: bool) -> None:
    if wanted:
        from ttt_batch import __version__

        typer.echo(f"ttt-batch {__version__}")
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
    epsilon: Annotated[float | None, typer.Option(help="Probability of an exploratory move, 0 to 1.")] = None,
    alpha: Annotated[float | None, typer.Option(help="Step size, above 0 up to 1.")] = None,
    gamma: Annotated[float | None, typer.Option(help="Discount, 0 to 1.")] = None,
    draw_worth: Annotated[
        str | None,
        typer.Option(metavar="A,B", help="What a draw is worth to the first and the second player."),
    ] = None,
    batch: Annotated[int, typer.Option(help="Games played with the same tables.")] = 16_384,
    threads: Annotated[
        int | None, typer.Option(help="Threads; all processors if not given. Never changes the result.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed of all chance.")] = 0,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", metavar="FILE", help="Run file to write; a new name if not given."),
    ] = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace an existing run file.")] = False,
    json: Json = False,
) -> None:
    """Train a learner by self-play, prove how good it is, and save the run."""
    from ttt_batch import compile as kernels
    from ttt_batch import reports, training

    target = out if out is not None else _new_name(f"{learner}-{board}")
    kernels.on_compile(lambda: print("compiling kernels (once, about 15 seconds) ...", file=sys.stderr, flush=True))
    live = sys.stderr.isatty()
    with _Interrupt() as interrupt, reports.Reporter(live=live) as report:

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
            threads=threads,
            seed=seed,
            out=target,
            overwrite=overwrite,
            progress=progress,
            stop=interrupt.requested,
            command=_command_line(),
        )
    if run.games == 0:
        typer.echo("ttt-batch: interrupted before the first batch was learnt; nothing was written", err=True)
        raise typer.Exit(130)
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
    terminal.play(
        _agent(path),
        person=SEATS.index(seat),
        stdin=sys.stdin,
        stdout=sys.stdout,
        seed=time.time_ns() if seed is None else seed,
    )


@app.command()
def info(path: RunPath, json: Json = False) -> None:
    """Say what a run file holds."""
    from ttt_batch import reports
    from ttt_batch.run import load

    run = load(path)
    information = reports.run_information(run, str(path), path.stat().st_size)
    typer.echo(reports.to_json(information) if json else reports.information_text(information, run))


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

    A second one, or one before any batch was learnt (kernels being compiled), stops at once.
    """

    def __init__(self) -> None:
        self.gently = False
        self._requested = False

    def requested(self) -> bool:
        """Whether to stop after the batch at hand."""
        return self._requested

    def _handle(self, _number: int, _frame: FrameType | None) -> None:
        if self._requested or not self.gently:
            raise KeyboardInterrupt
        self._requested = True

    def __enter__(self) -> "_Interrupt":
        self._before = {number: signal.signal(number, self._handle) for number in (signal.SIGINT, signal.SIGTERM)}
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)


def _new_name(stem: str) -> Path:
    """The first of stem.h5, stem-2.h5, stem-3.h5 ... that does not exist."""
    number, path = 1, Path(f"{stem.replace(os.sep, '_')}.h5")
    while path.exists():
        number += 1
        path = Path(f"{stem.replace(os.sep, '_')}-{number}.h5")
    return path


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
