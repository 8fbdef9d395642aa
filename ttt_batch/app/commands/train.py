"""Learning: `train` by play, `learn-from` from given games."""

import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ttt_batch.app.commands.completion import BOARDS, ENGINES, SWITCH, offering
from ttt_batch.app.commands.shared import (
    DrawWorth,
    Json,
    Overwrite,
    Quiet,
    Trust,
    answer,
    command_line,
    found,
    in_new_file,
    load_run,
    run_name,
    working,
)
from ttt_batch.base.choices import LEARNER_NAMES, SEATS
from ttt_batch.base.wording import counted

if TYPE_CHECKING:
    from ttt_batch.game.transcript_reader import Skipped
    from ttt_batch.runs.run import Run


def train(
    games: Annotated[
        str | None,
        typer.Option(
            metavar="N",
            help="Games to learn from, e.g. 100k or 10M; the learner's published number of games if not given.",
        ),
    ] = None,
    learner: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Which learner; see ttt-batch learners.  [default: td]",
            autocompletion=offering(*LEARNER_NAMES),
        ),
    ] = None,
    board: Annotated[
        str | None,
        typer.Option(
            metavar="BOARD", help="ROWSxCOLUMNS or ROWSxCOLUMNSxK.  [default: 3x3]", autocompletion=offering(*BOARDS)
        ),
    ] = None,
    epsilon: Annotated[
        str | None,
        typer.Option(
            metavar="SHARE",
            help="Probability of an exploratory move, 0 to 1 or 10%, or 0.3->0.01:linear (or :exp).",
        ),
    ] = None,
    alpha: Annotated[
        str | None,
        typer.Option(metavar="NUMBER", help="Step size, above 0 up to 1, or 0.3->0.01:linear (or :exp), 1/n, 1/n^0.8."),
    ] = None,
    gamma: Annotated[str | None, typer.Option(metavar="NUMBER", help="Discount, 0 to 1.")] = None,
    draw_worth: DrawWorth = None,
    batch: Annotated[
        str | None,
        typer.Option(
            metavar="N|auto",
            help="Games played with the same tables; auto grows with the games played.  "
            "[default: auto; 1 on boards too large to enumerate]",
        ),
    ] = None,
    engine: Annotated[
        str | None,
        typer.Option(
            metavar="walk|flow",
            help="walk plays every game; flow draws how many take each move, at any number of games.  [default: walk]",
            autocompletion=offering(*ENGINES),
        ),
    ] = None,
    symmetry: Annotated[
        str | None,
        typer.Option(
            metavar="on|off|auto",
            help="One row for all images of a position; auto where that pays.  [default: auto]",
            autocompletion=offering(*SWITCH),
        ),
    ] = None,
    max_memory: Annotated[
        str | None, typer.Option(metavar="2GB", help="What the table may take; half of what is free if not given.")
    ] = None,
    threads: Annotated[
        str | None,
        typer.Option(metavar="N", help="Threads; all processors if not given. Never changes the result."),
    ] = None,
    seed: Annotated[str | None, typer.Option(metavar="N", help="Seed of all chance.  [default: 0]")] = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", metavar="FILE", help="Run file to write; a new name if not given."),
    ] = None,
    checkpoint_every: Annotated[
        str,
        typer.Option(metavar="30s|1Mgames|never", help="How often the run file is written before the end."),
    ] = "30s",
    resume: Annotated[
        Path | None,
        typer.Option(
            metavar="RUN", help="Go on with a run, as if it had never ended, in the same file.", callback=found
        ),
    ] = None,
    more: Annotated[str | None, typer.Option(metavar="N", help="With --resume: N more games.")] = None,
    until: Annotated[
        str | None,
        typer.Option(metavar="N", help="With --resume: N games in all.  [default: the number first asked for]"),
    ] = None,
    fork: Annotated[
        bool, typer.Option("--fork", help="With --resume and --out: a run of its own, with other settings if given.")
    ] = False,
    overwrite: Overwrite = False,
    start: Annotated[
        Path | None, typer.Option(metavar="RUN|TABLE", help="Begin with the tables of a run or of another program.")
    ] = None,
    opponent: Annotated[
        str | None,
        typer.Option(
            metavar="random|optimal|RUN",
            help="Train against a fixed player, not itself.",
            autocompletion=offering("random", "optimal"),
        ),
    ] = None,
    seat: Annotated[
        str | None,
        typer.Option(
            "--as",
            metavar="first|second|both",
            help="The learner's seat against an opponent; X and O will do.",
            autocompletion=offering(*SEATS, "both"),
        ),
    ] = None,
    record: Annotated[Path | None, typer.Option(metavar="GAMES", help="Write the games played to a text file.")] = None,
    trust: Trust = False,
    quiet: Quiet = False,
    json: Json = False,
) -> None:
    """Train a learner by self-play, prove how good it is, and save the run."""
    from ttt_batch.app.interrupt import Interrupt
    from ttt_batch.app.progress import Reporter
    from ttt_batch.app.reports.training import training_summary, training_text
    from ttt_batch.base.console import tell
    from ttt_batch.base.errors import InterruptedTraining, RunFileError
    from ttt_batch.base.files import command_text
    from ttt_batch.game.board import parse_board
    from ttt_batch.learners import learner_named
    from ttt_batch.training import train as training

    named = (learner_named(learner or "td").name, parse_board(board or "3x3").name)
    nothing = "interrupted; nothing was written" if resume is None else "interrupted; nothing more was written"
    with Interrupt(nothing) as interrupt, Reporter(quiet=quiet) as report:

        def progress(now: training.Progress) -> None:
            interrupt.gently = True
            if now.saved:
                interrupt.message = lambda: f"interrupted; {now.saved_in()}"
            with suppress(OSError):  # the terminal may be gone, and what was learnt is still to be saved
                report(now)

        def warn(line: str) -> None:
            report.clear()
            tell(f"ttt-batch: {line}")

        def elsewhere(failure: RunFileError) -> Path | None:
            report.clear()
            return _ask_for_file(failure)

        training.check_files(out, record, resume, start, opponent)
        origin = _origin(start, *named, trust)

        def work(target: Path) -> "Run":
            return training.train(
                games,
                learner=learner,
                board=board,
                epsilon=epsilon,
                alpha=alpha,
                gamma=gamma,
                draw_worth=draw_worth,
                batch=batch,
                engine=engine,
                symmetry=symmetry,
                max_memory=max_memory,
                threads=threads,
                seed=seed,
                start=origin,
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
                command=command_line(),
            )

        run = in_new_file(out or resume, "-".join(named), work)
    target = run.file or (resume if out is None else None)
    if run.full:
        kept = (
            f"the {counted(run.games, 'game learnt so far is', 'games learnt so far are')} saved in {run_name(target)}"
            if run.games and target is not None
            else "nothing was written"
        )
        raise RunFileError(f"the table is full, and training has ended; {kept}; go on with a larger --max-memory")
    if run.games == 0 or target is None:
        raise InterruptedTraining("interrupted before the first batch was learnt; nothing was written")
    try:
        answer(
            json,
            lambda: training_summary(run, str(target)),
            lambda: training_text(run, target, compiled=report.compiled),
            saved=target,
        )
    finally:
        if run.interrupted:
            learnt = counted(run.games, "game learnt so far is", "games learnt so far are")
            raise InterruptedTraining(
                f"interrupted; the {learnt} saved in {run_name(target)}; "
                f"go on with {command_text('train', '--resume', target)}"
            )


def learn_from(
    games: Annotated[Path, typer.Argument(metavar="GAMES", help="A text file, a game a line; - for standard input.")],
    learner: Annotated[
        str | None,
        typer.Option(
            metavar="NAME", help="Which learner, unless --run is given.", autocompletion=offering(*LEARNER_NAMES)
        ),
    ] = None,
    run: Annotated[
        Path | None, typer.Option(metavar="RUN", help="A run to go on from, with its options.", callback=found)
    ] = None,
    alpha: Annotated[
        str | None, typer.Option(metavar="NUMBER", help="Step size, above 0 up to 1, or 1/n, n the visits.")
    ] = None,
    gamma: Annotated[str | None, typer.Option(metavar="NUMBER", help="Discount, 0 to 1.")] = None,
    draw_worth: DrawWorth = None,
    board: Annotated[
        str | None,
        typer.Option(metavar="BOARD", help="ROWSxCOLUMNS or ROWSxCOLUMNSxK.", autocompletion=offering(*BOARDS)),
    ] = None,
    seed: Annotated[str | None, typer.Option(metavar="N", help="Seed of the start table.")] = None,
    skip_bad: Annotated[bool, typer.Option("--skip-bad", help="Leave out lines that are no legal game.")] = False,
    cells_from: Annotated[
        str | None, typer.Option(metavar="0|1", help="The number of the first cell in GAMES.  [default: 0]")
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", metavar="FILE", help="Run file to write; a new name if not given.")
    ] = None,
    overwrite: Overwrite = False,
    quiet: Quiet = False,
    json: Json = False,
) -> None:
    """Learn from given games: cells from 0 or names such as b2, ! after an exploratory move, # before a comment."""
    from ttt_batch.app.reports.training import training_summary, training_text
    from ttt_batch.base.console import tell
    from ttt_batch.base.wording import counted
    from ttt_batch.game.transcript_source import GameFile
    from ttt_batch.training import from_games

    notes: list[str] = []
    with working("interrupted; nothing was written", quiet=quiet) as report:
        if (source := GameFile(games)).waits():
            report.note(f"waiting for games from {source.name} ...")

        def work(target: Path) -> "tuple[Run, Skipped]":
            return from_games.learn_from(
                games,
                learner=learner,
                run=run,
                skip_bad=skip_bad,
                cells_from=cells_from,
                out=target,
                overwrite=overwrite,
                progress=None if source.typed() else report.reading,
                warn=notes.append,
                command=command_line(),
                alpha=alpha,
                gamma=gamma,
                draw_worth=draw_worth,
                board=board,
                seed=seed,
            )

        result, skipped = in_new_file(out, "given-games", work)
    target = result.file
    assert target is not None  # it was given one
    for line in notes:
        tell(f"ttt-batch: {line}")
    for line in skipped:
        tell(f"skipped {line}")
    if skipped.total > len(skipped):
        tell(f"skipped {counted(skipped.total - len(skipped), 'more line')}")
    left_out = f"\nskipped: {counted(skipped.total, 'bad line')}" if skipped else ""
    answer(
        json,
        lambda: {**training_summary(result, str(target)), "skipped": skipped.total},
        lambda: training_text(result, target) + left_out,
        saved=target,
    )


def _origin(path: Path | None, learner: str, board: str, trust: bool) -> "Run | None":
    """The run whose tables to begin with: a run file, or another program's table."""
    from ttt_batch.base.files import is_there
    from ttt_batch.runs.lookup import find_run

    if path is None:
        return None
    path = find_run(path)
    if path.suffix.lower() in (".h5", ".hdf5") or not is_there(path):
        return load_run(path, trust)
    from ttt_batch.runs.exchange import import_tables

    return import_tables([path], learner, board=board)


def _ask_for_file(failure: Exception) -> Path | None:
    """Another file for a run that could not be written; None if no person can be asked, or wants to give one."""
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        return None
    from ttt_batch.base.console import tell

    tell(f"ttt-batch: {failure}")
    tell("write it to another file (nothing to give up): ", end="")
    with suppress(OSError, ValueError):  # a name need be no text; a stream already read from may refuse
        sys.stdin.reconfigure(errors="surrogateescape")  # type: ignore[union-attr]
    name = sys.stdin.readline().strip()
    if not name:
        return None
    with suppress(RuntimeError):  # ~ of a person who does not exist is a name like any other
        return Path(name).expanduser()
    return Path(name)
