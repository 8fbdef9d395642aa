"""Commands `train` and `learn-from`."""

import sys
from contextlib import nullcontext, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from ttt_batch.app.commands import shared
from ttt_batch.app.commands.shared import File, Text, argument, option, switch
from ttt_batch.core.console import is_live, print_message
from ttt_batch.core.errors import InterruptedTraining, RunFileError, UsageError, flag
from ttt_batch.core.files import command_text, exists, shown
from ttt_batch.core.text import ALL_LEARNERS, DIGITS_MEAN, LEARNER_NAMES, PATTERN_LEARNERS, count_text
from ttt_batch.games.board import parse_board
from ttt_batch.runs.lookup import find_run

if TYPE_CHECKING:
    from ttt_batch.app.interrupt import Interrupt
    from ttt_batch.app.progress import Reporter
    from ttt_batch.app.terminal.keys import Keyboard
    from ttt_batch.games.board import Board
    from ttt_batch.games.transcript_reader import Skipped
    from ttt_batch.runs.loading import AnyRun
    from ttt_batch.runs.network_run import PatternRun
    from ttt_batch.runs.run import Run
    from ttt_batch.training.from_games import GamesLearnt
    from ttt_batch.training.session import Progress


Games = Annotated[
    Text,
    option(
        "N", "Games to learn from, e.g. 100k or 10M, of menace also 0; the learner's published number if not given."
    ),
]
Learner = Annotated[
    Text,
    option(
        "NAME",
        "Which learner; see ttt-batch learners. One of your own is FILE.py:NAME, a Python file, which runs with your "
        "rights, and the Learner in it.",
        offers=ALL_LEARNERS,
        default="td",
        read=shared.learner_meant,
    ),
]
SharedBy = Annotated[
    Text,
    option(
        "N",
        "Processes of this machine, by Dask, that share a batch; they pay from 8M games a batch on 3x3, from 4M "
        "(td) or 16M on 4x4x4, and threads pay sooner.",
    ),
]
Watch = Annotated[
    bool,
    switch(
        "--watch",
        "On a terminal: games of the table as it is now, a few new ones each second. Keys pause, step and change the "
        "pace.",
    ),
]

Pace = Annotated[
    Text,
    option(
        "N|lesson|max",
        "With --watch: games per second. A lesson begins with a batch per second and doubles that every 5 seconds; "
        "--batch 1 shows single games.",
        offers=("lesson", "max"),
        default="lesson",
    ),
]

Until = Annotated[Text, option("N", "With --resume: N games in all.", default="the number of the first call")]
KeepPoints = Annotated[
    bool, switch("--keep-points", "Keep the table at every recorded point, too: plot --kind movie shows them.")
]


OF_GAMES = ("batch", "engine", "points", "seed", "symmetry", "seat")


@shared.learning_options(*shared.OF_LEARNERS, *OF_GAMES, *shared.OF_NETWORKS)
def train_command(
    games: Games = None,
    learner: Learner = None,
    *,
    max_memory: Annotated[Text, option("2GB", "Memory for the table; half of the free memory if not given.")] = None,
    threads: Annotated[Text, option("N", "Threads; all processors if not given. Never changes the result.")] = None,
    workers: SharedBy = None,
    scheduler: shared.Scheduler = None,
    out: shared.NewRun = None,
    checkpoint_every: Annotated[
        str, option("30s|1Mgames|never", "How often the run file is written before the end.")
    ] = "30s",
    resume: Annotated[
        File, option("RUN", "Continue a run in its file, as if never interrupted.", read=find_run)
    ] = None,
    more: Annotated[Text, option("N", "With --resume: N more games.")] = None,
    until: Until = None,
    fork: Annotated[
        bool, switch("--fork", "With --resume and --out: a separate run, with other settings if given.")
    ] = False,
    overwrite: shared.Overwrite = False,
    start: Annotated[File, option("RUN|TABLE", "Begin with the tables of a run or of another program.")] = None,
    opponent: Annotated[
        Text,
        option(
            "random|optimal|RUN",
            "Train against a fixed player, not itself; also an agent, FILE.py:NAME or cmd:PROGRAM (see evaluate).",
            offers=("random", "optimal"),
        ),
    ] = None,
    record: Annotated[File, option("GAMES", "Write the games played to a text file.")] = None,
    keep_points: KeepPoints = False,
    time_limit: shared.TimeLimit = None,
    watch: Watch = False,
    pace: Pace = None,
    trust: shared.Trust = False,
    quiet: shared.Quiet = False,
    json: shared.Json = False,
    **options: Any,
) -> None:
    """Train a learner by self-play, prove how good it is, and save the run."""
    asked = {**locals(), **options}
    for own in ("options", "out", "watch", "pace", "quiet", "json"):
        del asked[own]
    from ttt_batch.agents.adapter import watched
    from ttt_batch.app.interrupt import Interrupt
    from ttt_batch.app.progress import Reporter
    from ttt_batch.learners import any_learner
    from ttt_batch.runs.config import DEFAULTS, make_config
    from ttt_batch.training.train import train as train_run

    name = any_learner(learner or DEFAULTS["learner"])
    board = parse_board(options["board"] or "3x3")
    if name not in PATTERN_LEARNERS:  # refused before an opponent starts or a file is opened
        make_config(learner=name, board=board)
    nothing = f"interrupted; nothing {'' if resume is None else 'more '}was written"
    tell = watched if opponent is not None else nullcontext
    with _keys(watch, quiet) as keys, Interrupt(nothing) as stop, Reporter(quiet=quiet) as report, tell(report.asking):
        asked |= {"start": _origin(asked, out, name, board), "command": shared.command_line()}
        asked |= _followers(stop, report, keys, watch=watch, pace=pace)

        def work(target: Path) -> Any:
            return train_run(**asked, out=target if resume is None else out)

        run = shared.in_new_file(out or resume, f"{name}-{board.name}", work)
    _say_end(run, run.file or (resume if out is None else None), json=json, compiled=report.compiled)


def _keys(watch: bool, quiet: bool) -> "Keyboard":
    """Return the keyboard of a training that is watched; without a terminal it reads no keys.

    Raises UsageError for both `watch` and `quiet`.
    """
    from ttt_batch.app.terminal.keys import Keyboard

    if watch and quiet:
        raise UsageError(f"{flag('quiet', True)} shows no games, and {flag('watch', True)} shows them; leave one out")
    return Keyboard(sys.stdin if watch and is_live(sys.stderr) else None)


def _followers(
    interrupt: "Interrupt", report: "Reporter", keyboard: "Keyboard", *, watch: bool, pace: str | None
) -> dict[str, Any]:
    """Return the callbacks of a training: for progress, interruption, warnings and questions.

    watch: show games, too, at a pace that keys change (see `Pace`).  Raises UsageError for another pace, and for one
    without games.
    """
    from ttt_batch.app.progress import LESSON, Pace, SampleGames

    if pace is not None and not watch:
        raise UsageError(
            f"{flag('pace', pace)} is for games that are shown; add {flag('watch', True)}, or leave it out"
        )
    games = SampleGames()
    beside: tuple[Any, ...] = ()
    if watch:
        typed = keyboard.keys if keyboard.reads else None
        kept = Pace(LESSON if pace is None else pace, interrupt.requested, games, typed)
        beside = (lambda now: [*games.lines(now), *kept.lines()], kept)

    def progress(now: "Progress") -> float:
        interrupt.gently = True
        if now.saved:
            interrupt.message = lambda: f"interrupted; {now.saved_in()}"
        with suppress(OSError):  # the terminal may be gone, and what was learnt is still to be saved
            return report(now, *beside)
        return 0.0

    def elsewhere(failure: Exception) -> Path | None:
        report.clear()
        keyboard.close()  # the answer is a line
        return _ask_for_file(failure)

    said = {"warn": report.warn, "note": report.note}
    return {"progress": progress, "stop": interrupt.requested, "elsewhere": elsewhere, **said}


def _say_end(run: "Run | PatternRun", target: Path | None, *, json: bool, compiled: bool) -> None:
    """Print what was learnt.  Raises RunFileError if the table was full, and InterruptedTraining after Ctrl-C."""
    from ttt_batch.app.reports.training import training_summary, training_text

    learnt = count_text(run.games, "game learnt so far is", "games learnt so far are")
    saved = f"the {learnt} saved in {shown(target)}" if run.games and target is not None else "nothing was written"
    if run.full:
        raise RunFileError(f"the table is full, and training has ended; {saved}; go on with a larger --max-memory")
    if (run.games == 0 and run.interrupted) or target is None:
        raise InterruptedTraining(f"interrupted before the first batch was learnt; {saved}")
    try:
        shared.print_result(
            json,
            lambda: training_summary(run, str(target)),
            lambda: training_text(run, target, compiled=compiled),
            saved=target,
        )
    finally:
        if run.interrupted:
            raise InterruptedTraining(f"interrupted; {saved}; go on with {command_text('train', '--resume', target)}")


def _origin(options: dict[str, Any], out: Path | None, learner: str, board: "Board") -> "Run | None":
    """Return the run to start from, loaded from a run file or another program's table.  options, out: of `train`."""
    from ttt_batch.runs.loading import load
    from ttt_batch.runs.storage.run_file import RUN_FILE
    from ttt_batch.training.plan import check_options
    from ttt_batch.training.train import check_files

    if options["start"] is None:
        return None
    if learner in PATTERN_LEARNERS:
        check_options(["start"], networks=True)
    check_files(options["resume"], {**options, "out": out})
    path = find_run(options["start"])
    if path.suffix.lower() in (".h5", ".hdf5") or not exists(path) or RUN_FILE.begins(path):
        run = load(path, trust=options["trust"])
        shared.say(path, run.notes)
        return run
    from ttt_batch.runs.importing import import_tables

    return import_tables([path], learner, board=board, warn=lambda line: print_message(f"ttt-batch: {line}"))


def _ask_for_file(failure: Exception) -> Path | None:
    """Return another file for a run that could not be written; None without a user or an answer."""
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        return None
    print_message(f"ttt-batch: {failure}")
    print_message("write it to another file (nothing to give up): ", end="")
    with suppress(OSError, ValueError):  # a name need be no text; a stream already read from may refuse
        sys.stdin.reconfigure(errors="surrogateescape")  # type: ignore[union-attr]
    name = sys.stdin.readline().strip()
    if not name:
        return None
    with suppress(RuntimeError):  # ~ of a person who does not exist is a name like any other
        return Path(name).expanduser()
    return Path(name)


LearnerOfGames = Annotated[
    Text,
    option(
        "NAME",
        "Which learner, unless --run is given; FILE.py:NAME for one of your own.",
        offers=LEARNER_NAMES,
        read=shared.learner_meant,
    ),
]

Moves = Annotated[
    Text, option("HOW", "What digits in GAMES are, unless only one way fits.", offers=DIGITS_MEAN, default="what fits")
]
CellsFrom = Annotated[Text, option("0|1", "The number of the first cell, row or column in GAMES.", default="what fits")]


@shared.learning_options(*shared.OF_LEARNERS, "seed", command="learn-from")
def learn_from_command(
    games: Annotated[Path, argument("GAMES", "A text file, a game a line; - for standard input.")],
    learner: LearnerOfGames = None,
    run: Annotated[
        File, option("RUN", "A run to continue from, with its options; networks, too.", read=find_run)
    ] = None,
    *,
    skip_bad: Annotated[bool, switch("--skip-bad", "Leave out lines that are no legal game.")] = False,
    moves: Moves = None,
    cells_from: CellsFrom = None,
    out: shared.NewRun = None,
    overwrite: shared.Overwrite = False,
    trust: shared.Trust = False,
    quiet: shared.Quiet = False,
    json: shared.Json = False,
    **options: Any,
) -> None:
    """Learn from given games: cells such as 4, b2, X5, (1, 1) or 1-1, ! after an exploratory move, # before a comment.

    A game a line, or a table (CSV) with a header and a game or a move a line.  A result may end a game: X wins, 1-0.
    """
    asked = {**locals(), **options}
    for own in ("options", "out", "quiet", "json"):
        del asked[own]
    from ttt_batch.app.reports.training import training_summary, training_text
    from ttt_batch.games.transcript_reader import GameFile
    from ttt_batch.training import from_games

    source = GameFile(games)
    with shared.working("interrupted; nothing was written", quiet=quiet) as report:
        asked |= {"warn": report.warn, "command": shared.command_line()}

        def follow(now: "GamesLearnt") -> None:
            if now.read == 0 and source.waits():
                report.note(f"waiting for games from {source.name} ...")
            elif now.read and not source.typed():
                report.reading(now)

        def work(target: Path) -> "tuple[AnyRun, Skipped]":
            return from_games.learn_from(**asked, out=target, progress=follow)

        result, skipped = shared.in_new_file(out, "given-games", work)
    target, left_out = result.file, _tell_skipped(skipped)
    assert target is not None  # it was given one
    shared.print_result(
        json,
        lambda: {**training_summary(result, str(target)), "skipped": skipped.total},
        lambda: training_text(result, target, compiled=report.compiled) + left_out,
        saved=target,
    )


def _tell_skipped(skipped: "Skipped") -> str:
    """Print the skipped bad lines that were kept; return a last line with their number."""
    for line in skipped:
        print_message(f"skipped {line}")
    if skipped.total > len(skipped):
        print_message(f"skipped {count_text(skipped.total - len(skipped), 'more line')}")
    return f"\nskipped: {count_text(skipped.total, 'bad line')}" if skipped else ""
