"""The commands: arguments, messages and exit codes.

Nothing is computed here, and nothing heavy is imported until it is needed.
"""

import _thread
import os
import shlex
import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
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
Trust = Annotated[
    bool, typer.Option("--trust", help="Open a run file that another program changed, though its digest is wrong.")
]


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
    learner: Annotated[str | None, typer.Option(help="Which learner; see ttt-batch learners.  [default: td]")] = None,
    board: Annotated[str | None, typer.Option(help="ROWSxCOLUMNS or ROWSxCOLUMNSxK.  [default: 3x3]")] = None,
    epsilon: Annotated[
        str | None, typer.Option(help="Probability of an exploratory move, 0 to 1, or 0.3->0.01:linear (or :exp).")
    ] = None,
    alpha: Annotated[
        str | None, typer.Option(help="Step size, above 0 up to 1, or 0.3->0.01:linear (or :exp), 1/n, 1/n^0.8.")
    ] = None,
    gamma: Annotated[float | None, typer.Option(help="Discount, 0 to 1.")] = None,
    draw_worth: DrawWorth = None,
    batch: Annotated[
        str | None,
        typer.Option(
            metavar="N|auto",
            help="Games played with the same tables; auto grows with the games played.  [default: 16384; 1 on 5x5]",
        ),
    ] = None,
    engine: Annotated[
        str | None,
        typer.Option(
            help="walk plays every game; flow draws how many take each move, at any number of games.  [default: walk]"
        ),
    ] = None,
    symmetry: Annotated[
        str | None,
        typer.Option(
            metavar="on|off|auto", help="One row for all images of a position; auto where that pays.  [default: auto]"
        ),
    ] = None,
    max_memory: Annotated[
        str | None, typer.Option(metavar="2GB", help="What the table may take; half of what is free if not given.")
    ] = None,
    threads: Annotated[
        int | None, typer.Option(help="Threads; all processors if not given. Never changes the result.")
    ] = None,
    seed: Annotated[int | None, typer.Option(help="Seed of all chance.  [default: 0]")] = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", metavar="FILE", help="Run file to write; a new name if not given."),
    ] = None,
    checkpoint_every: Annotated[
        str,
        typer.Option(metavar="30s|1000000games|never", help="How often the run file is written before the end."),
    ] = "30s",
    resume: Annotated[
        Path | None, typer.Option(metavar="RUN", help="Go on with a run, as if it had never ended, in the same file.")
    ] = None,
    more: Annotated[int | None, typer.Option(metavar="N", help="With --resume: so many games more.")] = None,
    until: Annotated[
        int | None, typer.Option(metavar="N", help="With --resume: up to N games; what was first asked for by default.")
    ] = None,
    fork: Annotated[
        bool, typer.Option("--fork", help="With --resume and --out: a run of its own, with other settings if given.")
    ] = False,
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
    trust: Trust = False,
    json: Json = False,
) -> None:
    """Train a learner by self-play, prove how good it is, and save the run."""
    from ttt_batch import reports, training
    from ttt_batch.errors import InterruptedTraining, RunFileError

    target = out or resume or _new_name(f"{learner or 'td'}-{board or '3x3'}")
    nothing = "interrupted; nothing was written" if resume is None else "interrupted; nothing more was written"
    with _Interrupt(nothing) as interrupt, reports.Reporter() as report:

        def progress(now: training.Progress) -> None:
            interrupt.gently = True
            if now.saved:
                interrupt.message = f"interrupted; the last checkpoint in {target} holds {now.saved:,} games"
            with suppress(OSError):  # the terminal may be gone, and what was learnt is still to be saved
                report(now)

        def warn(line: str) -> None:
            report.clear()
            typer.echo(f"ttt-batch: {line}", err=True)

        def elsewhere(failure: RunFileError) -> Path | None:
            nonlocal target
            report.clear()
            other = _ask_for_file(failure)
            target = other or target
            return other

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
            symmetry=symmetry,
            max_memory=max_memory,
            threads=threads,
            seed=seed,
            start=_origin(start, learner or "td", board or "3x3", trust),
            opponent=opponent,
            seat=seat,
            resume=resume,
            more=more,
            until=until,
            fork=fork,
            trust=trust,
            record=record,
            out=target if resume is None else out,
            overwrite=overwrite,
            checkpoint_every=checkpoint_every,
            progress=progress,
            stop=interrupt.requested,
            warn=warn,
            elsewhere=elsewhere,
            command=_command_line(),
        )
    if run.full:
        kept = f"the {run.games:,} games learnt so far are saved in {target}" if run.games else "nothing was written"
        raise RunFileError(f"the table is full, and training has ended; {kept}; go on with a larger --max-memory")
    if run.games == 0 or not target.exists():
        raise InterruptedTraining("interrupted before the first batch was learnt; nothing was written")
    typer.echo(
        reports.to_json(reports.training_summary(run, str(target))) if json else reports.training_text(run, str(target))
    )
    if run.interrupted:
        typer.echo(
            f"ttt-batch: interrupted; the {run.games:,} games learnt so far are saved in {target}; "
            f"go on with ttt-batch train --resume {shlex.quote(str(target))}",
            err=True,
        )
        raise typer.Exit(130)


@app.command()
def evaluate(
    path: RunPath,
    against: Annotated[
        str | None,
        typer.Option(
            metavar="random|one-ply|two-ply|optimal|self|RUN2",
            help="The opponent; a run file for another agent.  On boards too large to enumerate one of the first "
            "three.  [default: random; all three on such boards]",
        ),
    ] = None,
    games: Annotated[
        int | None,
        typer.Option(metavar="N", help="Games a match, on boards too large to enumerate only.  [default: 10000]"),
    ] = None,
    seed: Annotated[int | None, typer.Option(help="Seed of these games.  [default: 0]")] = None,
    budget: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            help="Positions to search per seat for a way to beat it, on such boards only.  [default: 2000000]",
        ),
    ] = None,
    trust: Trust = False,
    json: Json = False,
) -> None:
    """Judge a run, exactly unless its board is too large: results per seat, whether it can be beaten, and if so how."""
    from ttt_batch import reports
    from ttt_batch.errors import UsageError
    from ttt_batch.scripted import PLAYERS

    run = _load(path, trust)
    sampling = {"games": games, "seed": seed, "budget": budget}
    given = {name: value for name, value in sampling.items() if value is not None}
    if run.grown is not None:
        from ttt_batch.matches import evaluate_grown

        if against not in (None, *PLAYERS):
            raise UsageError(
                f"--against {against} needs a board whose positions are all known, and {run.board.name} has too many; "
                f"choose one of: {', '.join(PLAYERS)}"
            )
        with _working():
            sampled = evaluate_grown(run, PLAYERS if against is None else [against], **given)
        text = reports.grown_evaluation_text(run, sampled, str(path))
        typer.echo(reports.to_json(sampled.as_dict()) if json else text)
        return
    if given:
        raise UsageError(
            f"--{next(iter(given))} is for boards too large to enumerate; {run.board.name} is judged exactly, "
            "leave it out"
        )
    with _working():
        if against in (None, "random", "optimal", "self"):
            evaluation = run.evaluation(against or "random")  # type: ignore[arg-type]
        elif against in PLAYERS:
            from ttt_batch.matches import scripted_evaluation

            evaluation = scripted_evaluation(run, against)
        elif Path(against).exists():
            evaluation = run.evaluation(_load(Path(against), trust))
        else:
            raise UsageError(
                f"unknown opponent {against!r}: neither {', '.join(PLAYERS)}, optimal or self nor an existing run file"
            )
    typer.echo(reports.to_json(evaluation.as_dict()) if json else reports.evaluation_text(run, evaluation, str(path)))


@app.command()
def play(
    path: Annotated[
        Path | None,
        typer.Argument(metavar="[RUN]", help="A run file; the newest in this folder if not given."),
    ] = None,
    seat: Annotated[str, typer.Option("--as", metavar="first|second", help="Your seat; first moves first.")] = "first",
    seed: Annotated[int | None, typer.Option(help="Seed of the agent's choices among equals.")] = None,
    learn: Annotated[
        bool, typer.Option("--learn", help="The run learns from every finished game, and is saved after each.")
    ] = False,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", metavar="FILE", help="With --learn: a new run file for that; RUN stays as it is."),
    ] = None,
    record: Annotated[
        Path | None, typer.Option(metavar="GAMES", help="Append finished games to a text file, for learn-from.")
    ] = None,
    trust: Trust = False,
) -> None:
    """Play against an agent in the terminal."""
    from ttt_batch import terminal
    from ttt_batch.errors import UsageError
    from ttt_batch.run import SEATS
    from ttt_batch.runfile import check_target, find_newest_run

    if seat not in SEATS:
        raise UsageError(f"unknown seat {seat!r}; choose first or second")
    if out is not None and not learn:
        raise UsageError("--out is for what a run learns; give it with --learn")
    if out is not None:
        check_target(out, overwrite=False)
    elif learn and path is None:
        path = find_newest_run(Path())
        if path is None:
            raise UsageError("no run file here that could learn; train one first, or name a file for one with --out")
        typer.echo(f"teaching {path}, the newest run here", err=True)
    with _working():
        agent = _agent(path, trust)
        keeper = pupil = None
        if record is not None or learn:
            from ttt_batch.lessons import GameRecord, Lessons

            keeper = None if record is None else GameRecord(record)
            pupil = Lessons(agent, out or path, command=_command_line()) if learn else None
        terminal.play(
            pupil or agent,
            person=SEATS.index(seat),
            stdin=sys.stdin,
            stdout=sys.stdout,
            seed=time.time_ns() if seed is None else seed,
            pupil=pupil,
            record=keeper,
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
def boards(
    name: Annotated[str | None, typer.Argument(metavar="[BOARD]", help="Count this one, e.g. 4x4x3.")] = None,
    symmetry: Annotated[
        str, typer.Option(metavar="on|off|auto", help="Whether images of a position count as one.")
    ] = "auto",
    solution: Annotated[
        Path | None, typer.Option(metavar="FILE.npz", help="Write every position's result with best play.")
    ] = None,
    overwrite: Overwrite = False,
    json: Json = False,
) -> None:
    """List boards with their positions, memory and value, or count and solve one."""
    from ttt_batch import boards_text, catalogue
    from ttt_batch.board import parse_board
    from ttt_batch.errors import UsageError

    if name is None:
        if solution is not None:
            raise UsageError("--solution goes with a board; name one, e.g. 4x4x4")
        entries = catalogue.known_boards()
    else:
        board = parse_board(name)
        with _working():
            entries = [catalogue.measure(board, symmetry)]
            if solution is not None:
                catalogue.write_solution(board, solution, symmetry, overwrite=overwrite)
    if json:
        from ttt_batch import reports

        found = [boards_text.board_information(entry) for entry in entries]
        typer.echo(reports.to_json(found if name is None else found[0]))
    else:
        typer.echo(boards_text.boards_text(entries) if name is None else boards_text.board_text(entries[0]))


@app.command()
def compare(
    path: RunPath, other: Annotated[Path, typer.Argument(metavar="RUN2")], trust: Trust = False, json: Json = False
) -> None:
    """Say where two runs' tables and policies differ."""
    from ttt_batch import reports
    from ttt_batch.comparison import compare_runs

    with _working():
        found = compare_runs(_load(path, trust), _load(other, trust))
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
    from ttt_batch import given, reports

    target = out if out is not None else _new_name("given-games")
    lines = _read_lines(games)
    with _working():
        result, skipped = given.learn_from(
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
    trust: Trust = False,
) -> None:
    """Write a run's table in another program's format."""
    from ttt_batch.exchange import export_run

    with _working():
        files = export_run(_load(path, trust), to, out, player=_player(player), overwrite=overwrite)
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
def info(
    path: Annotated[Path | None, typer.Argument(metavar="RUN", help="A run file, unless --format is given.")] = None,
    form: Annotated[bool, typer.Option("--format", help="Explain the format of run files instead.")] = False,
    trust: Trust = False,
    json: Json = False,
) -> None:
    """Say what a run file holds."""
    from ttt_batch.errors import UsageError

    if form:
        from ttt_batch.runfile import format_documentation, format_information

        if path is not None:
            raise UsageError("--format explains every run file; leave the name of one out")
        if json:
            from ttt_batch import reports
        typer.echo(reports.to_json(format_information()) if json else format_documentation().rstrip())
        return
    if path is None:
        raise UsageError("name a run file, or ask for --format")
    from ttt_batch import reports

    run = _load(path, trust)
    information = reports.run_information(run, str(path), path.stat().st_size)
    typer.echo(reports.to_json(information) if json else reports.information_text(information, run))


@app.command()
def check(path: RunPath, trust: Trust = False, json: Json = False) -> None:
    """Look for everything that is wrong with a run file: status 0 where nothing is, 1 where something is."""
    from ttt_batch import reports
    from ttt_batch.checking import check_run

    with _working():
        findings, notes = check_run(path, trust=trust)
    _say(path, notes)
    if json:
        typer.echo(reports.to_json({"file": str(path), "findings": findings}))
    else:
        typer.echo("\n".join(findings) if findings else f"{path}: nothing is wrong with it")
    if findings:
        raise typer.Exit(1)


@app.command()
def warmup(
    processes: Annotated[
        int | None, typer.Option(help="Processes that compile at the same time; as many as processors if not given.")
    ] = None,
    larger: Annotated[
        bool, typer.Option("--larger/--small", help="Also what only boards of more than nine cells need.")
    ] = True,
    json: Json = False,
) -> None:
    """Compile everything once, so that no command ever waits for the compiler."""
    from ttt_batch import reports
    from ttt_batch.warmup import warm_up

    with _working("interrupted; what was compiled is kept") as report:
        warmth = warm_up(processes=processes, larger=larger, report=report.warming)
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


def _load(path: Path, trust: bool) -> "Run":
    """Read a run file, with notes about it on standard error."""
    from ttt_batch.run import load

    run = load(path, trust=trust)
    _say(path, run.notes)
    return run


def _say(path: Path, notes: tuple[str, ...]) -> None:
    for note in notes:
        typer.echo(f"ttt-batch: {path}: {note}", err=True)


def _agent(path: Path | None, trust: bool) -> "Run":
    """The run to play against: the one named, else the newest here, else one trained on the spot."""
    from ttt_batch.runfile import find_newest_run

    newest = path if path is not None else find_newest_run(Path())
    if newest is None:
        from ttt_batch.training import train as train_run

        typer.echo("no run file here: training td on 3x3 for 100,000 games first", err=True)
        return train_run(100_000)
    if path is None:
        typer.echo(f"playing {newest}, the newest run here", err=True)
    return _load(newest, trust)


class _Interrupt:
    """Turns the first Ctrl-C, SIGTERM or SIGHUP into a request to stop after the batch at hand.

    A second one, or one before any batch was learnt (kernels being compiled), stops at once.  An exception that arises
    while LLVM calls back is printed and dropped by Python; it is raised again until it gets through.
    message: what is said in the end.
    """

    def __init__(self, message: str) -> None:
        self.gently, self.message = False, message
        self._requested = False
        self._again: threading.Timer | None = None

    def requested(self) -> bool:
        """Whether to stop after the batch at hand."""
        return self._requested

    def _handle(self, _number: int, _frame: FrameType | None) -> None:
        if self._requested or not self.gently:
            raise KeyboardInterrupt
        self._requested = True

    def _dropped(self, dropped: Any) -> None:
        if issubclass(dropped.exc_type, KeyboardInterrupt):
            self._again = threading.Timer(0.02, _thread.interrupt_main)
            self._again.start()
        else:
            self._hook_before(dropped)

    def __enter__(self) -> "_Interrupt":
        self._hook_before, sys.unraisablehook = sys.unraisablehook, self._dropped
        asked = [signal.SIGINT, signal.SIGTERM, *([signal.SIGHUP] if hasattr(signal, "SIGHUP") else [])]
        # What whoever started the program has it ignore (nohup does), it goes on ignoring.
        heeded = [number for number in asked if signal.getsignal(number) is not signal.SIG_IGN]
        self._before = {number: signal.signal(number, self._handle) for number in heeded}
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        sys.unraisablehook = self._hook_before
        if self._again is not None:
            self._again.cancel()  # what it was to interrupt has ended
        for number, handler in self._before.items():
            signal.signal(number, handler)
        if kind is KeyboardInterrupt:
            from ttt_batch.errors import InterruptedTraining

            raise InterruptedTraining(self.message) from None


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


def _origin(path: Path | None, learner: str, board: str, trust: bool) -> "Run | None":
    """The run whose tables to begin with: a run file, or another program's table."""
    if path is None:
        return None
    if path.suffix.lower() in (".h5", ".hdf5") or not path.exists():
        return _load(path, trust)
    from ttt_batch.exchange import import_tables

    return import_tables([path], learner, board=board)


def _ask_for_file(failure: Exception) -> Path | None:
    """Another file for a run that could not be written; None where nobody is there to ask, or wants to."""
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        return None
    typer.echo(f"ttt-batch: {failure}", err=True)
    typer.echo("write it to another file (nothing to give up): ", err=True, nl=False)
    name = sys.stdin.readline().strip()
    return Path(name).expanduser() if name else None


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
