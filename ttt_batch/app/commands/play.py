"""Agents at play: `play` against a person, `watch` each other."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast

from ttt_batch.app.commands.declare import BOARDS, SCRIPTED, File, Text, argument, option, switch
from ttt_batch.app.commands.options import (
    BOARD,
    Epsilon,
    Json,
    Level,
    Quiet,
    RunPath,
    TiesRule,
    Trust,
    first_given,
    found,
)
from ttt_batch.app.commands.shared import answer, command_line, load_any_run, run_name, working
from ttt_batch.base.choices import SEATS, check_ties, choose_person
from ttt_batch.base.console import is_live, tell
from ttt_batch.base.errors import RunFileError, UsageError

if TYPE_CHECKING:
    from ttt_batch.analysis.meetings import Entrant
    from ttt_batch.app.progress import Reporter
    from ttt_batch.runs.knowledge import Playing
    from ttt_batch.runs.loading import AnyRun
    from ttt_batch.training.learning_run import LearningRun

RANDOM = "random"
"""What to play against instead of a run."""

PlayedRun = Annotated[
    File,
    argument(
        "[RUN|random]",
        "A run file, or random play; if not given, the newest run in this folder, or td, trained for a moment.",
        read=found,
    ),
]
Seat = Annotated[
    str,
    option("first|second|alternate", "Your seat; first, also X, moves first.", "--as", offers=(*SEATS, "alternate")),
]
Learn = Annotated[
    bool,
    switch("--learn", "The run learns from every finished game, and is saved after each, as a run of given games."),
]


def play(
    path: PlayedRun = None,
    seat: Seat = "first",
    board: Annotated[Text, option(BOARD, "With random: the board.", default="3x3", offers=BOARDS)] = None,
    level: Level = None,
    epsilon: Epsilon = None,
    ties: TiesRule = "soonest",
    plain: Annotated[bool, switch("--plain", "Prompts and lines also on a terminal that could show a screen.")] = False,
    seed: Annotated[Text, option("N", "Seed of the agent's choices.")] = None,
    learn: Learn = False,
    out: Annotated[
        File, option("FILE", "With --learn: a new run file for that; RUN stays as it is.", "--out", "-o")
    ] = None,
    record: Annotated[File, option("GAMES", "Append finished games to a text file, for learn-from.")] = None,
    trust: Trust = False,
    quiet: Quiet = False,
) -> None:
    """Play against an agent in the terminal; after each game it says which moves gave something away.

    With --ties soonest the agent may leave a line in which evaluate, whose ties are any, beats it.
    """
    from ttt_batch.base.files import is_there
    from ttt_batch.base.quantities import any_seed
    from ttt_batch.game.state_space import check_gravity

    person, rule = choose_person(seat), check_ties(ties)
    if out is not None and not learn:
        raise UsageError("--out is for what a run learns; give it with --learn")
    if out is not None and is_there(out):
        raise RunFileError(f"{run_name(out)} exists, and play replaces no other run; choose another file")
    keys = not plain and _at_a_terminal()
    with _told_later() as later, working(quiet=quiet, doing=_reading(path), keys=keys) as report:
        from ttt_batch.app.terminal import playing

        at_random = path is not None and str(path) == RANDOM and not path.exists()
        if board is not None and not at_random:
            raise UsageError(f"--board is for {RANDOM} play; a run has its own board, leave it out")
        if at_random and learn:
            raise UsageError(f"{RANDOM} play does not learn; name a run, or leave --learn out")
        agent: Playing
        if at_random:
            _checked(None, report, learn=False, out=out, record=record)
            agent = _random_player(board, report)
        else:
            path = _checked(path, report, learn=learn, out=out, record=record)
            agent = _agent(path, trust, report)
            check_gravity(agent.board, "playing against a run")
        report.clear()
        keeper = pupil = None
        if record is not None:
            from ttt_batch.game.transcript_writer import GameRecord

            keeper = GameRecord(record)
        if learn:
            pupil = _pupil(cast("AnyRun", agent), path, out, later.append)
        playing.play(
            pupil or agent,
            person=person,
            stdin=sys.stdin,
            stdout=sys.stdout,
            seed=time.time_ns() if seed is None else any_seed(seed),
            pupil=pupil,
            record=keeper,
            level=1.0 if level is None else level,
            epsilon=0.0 if epsilon is None else epsilon,
            ties=rule,
            plain=plain,
        )


def _random_player(board: str | None, report: "Reporter") -> "Playing":
    """Random play on a board.  Raises BoardError."""
    from ttt_batch.analysis.opponents import RandomPlayer
    from ttt_batch.game.board import parse_board

    report.clear()
    return RandomPlayer(parse_board(board or "3x3"))


def watch(
    path: RunPath,
    other: Annotated[
        Text, argument("[RUN2|random|one-ply|two-ply]", "The second player; RUN itself if not given.", offers=SCRIPTED)
    ] = None,
    games: Annotated[
        Text, option("N", "Play so many games and count: a table beside what is expected exactly.")
    ] = None,
    pace: Annotated[Text, option("SECONDS", "Seconds a move.", default="1 on a terminal, 0 elsewhere")] = None,
    level: Level = None,
    epsilon: Epsilon = None,
    ties: TiesRule = "any",
    seed: Annotated[Text, option("N", "Seed of the games.", default="0")] = None,
    trust: Trust = False,
    quiet: Quiet = False,
    json: Json = False,
) -> None:
    """Watch two agents play a game move by move, or count the results of many."""
    rule = check_ties(ties)
    if json and games is None:
        raise UsageError("--json is for results; give it with --games N")
    if games is not None:
        given = {"--pace": pace is not None, "--level": level is not None, "--epsilon": epsilon is not None}
        if extra := first_given(given):
            raise UsageError(f"{extra} is for a game to watch; leave it out, or leave --games {games} out")
    with working(quiet=quiet, doing=_reading(path), keys=games is None and _at_a_terminal()) as report:
        first = load_any_run(path, trust, report)
        second, name = (first, run_name(path)) if other is None else _second(other, first, trust, report)
        report.clear()
        names = (run_name(path), name)
        if games is None:
            from ttt_batch.app.watching import watch as show

            show(
                first,
                second,
                names=names,
                stdin=sys.stdin,
                stdout=sys.stdout,
                pace=pace,
                seed=0 if seed is None else seed,
                level=1.0 if level is None else level,
                epsilon=0.0 if epsilon is None else epsilon,
                ties=rule,
            )
            return
        from ttt_batch.analysis.tournament import series
        from ttt_batch.app.reports.tournament import series_text

        counted = series(first, second, names, games=games, seed=0 if seed is None else seed, ties=rule)
    answer(json, counted.to_dict, lambda: series_text(counted))


def _second(given: str, first: "AnyRun", trust: bool, report: "Reporter") -> "tuple[Entrant, str]":
    """The second player and what it is called."""
    from ttt_batch.analysis.opponents import ScriptedPlayer
    from ttt_batch.runs.lookup import name_or_run

    meant = name_or_run("player", given, SCRIPTED)
    if isinstance(meant, str):
        return ScriptedPlayer(meant, first), meant
    return load_any_run(meant, trust, report), run_name(meant)


def _at_a_terminal() -> bool:
    """Whether a person types and sees what is shown."""
    return is_live(sys.stdin) and is_live(sys.stdout)


def _reading(path: Path | None) -> str:
    """What is done first."""
    return "looking for the newest run here" if path is None else f"reading {run_name(path)}"


@contextmanager
def _told_later() -> Iterator[list[str]]:
    """Warnings that would disturb a screen now; they are printed at the end, however that comes."""
    lines: list[str] = []
    try:
        yield lines
    finally:
        for line in lines:
            tell(f"ttt-batch: {line}")


def _checked(
    path: Path | None, report: "Reporter", *, learn: bool, out: Path | None, record: Path | None
) -> Path | None:
    """The run's file if it is known by now: the one named, or the one that is to learn; files to write are checked."""
    from ttt_batch.base.outputs import check_distinct
    from ttt_batch.game.transcript_source import GameFile
    from ttt_batch.runs.runfile.writing import RUN_FILE

    if out is not None:
        RUN_FILE.check(out, overwrite=False)
    elif learn and path is None:
        path = _newest_to_update(report)
    written = [(name, file) for name, file in (("--out", out), ("--record", record)) if file]
    check_distinct(written, [*([("RUN", path)] if path else []), *GameFile("-").places()])
    return path


def _pupil(agent: "AnyRun", path: Path | None, out: Path | None, warn: Callable[[str], None]) -> "LearningRun":
    """What learns from the games, in the run's file or in `out`.  Raises UsageError if it does not learn so.

    Says what the run will not be any more, unless it is so already or stays as it is.
    """
    from ttt_batch.runs.run import Run
    from ttt_batch.training.learning_run import LearningRun

    pupil = LearningRun(agent, out or path, overwrite=out is None, command=command_line(), warn=warn)
    given = agent.config.engine == "given" if isinstance(agent, Run) else agent.config.start != ""
    if out is None and not given:
        unproved = "" if isinstance(agent, Run) or not agent.verdict() else ", and no proof of it holds any more"
        tell(
            "ttt-batch: after an update this is a run of given games, which train --resume does not go on with"
            f"{unproved}; --out FILE leaves RUN as it is"
        )
    return pupil


def _newest_to_update(report: "Reporter") -> Path:
    """The newest run here, which is to learn.  Raises UsageError if there is none."""
    from ttt_batch.runs.runfile.reading import find_newest_run

    path = find_newest_run(Path())
    if path is None:
        raise UsageError("no run file here that could learn; train one first, or name a file for one with --out")
    report.clear()
    tell(f"teaching {run_name(path)}, the newest run here")
    return path


def _agent(path: Path | None, trust: bool, report: "Reporter") -> "AnyRun":
    """The run to play against: the one named, else the newest here, else one trained on the spot."""
    from ttt_batch.runs.runfile.reading import find_newest_run

    if path is not None:
        return load_any_run(path, trust, report)
    newest = find_newest_run(Path())
    report.clear()
    if newest is None:
        from ttt_batch.training.train import train_table

        tell("no run file here: training td on 3x3 for 100,000 games first")
        return train_table(100_000)
    tell(f"playing {run_name(newest)}, the newest run here")
    return load_any_run(newest, trust, report)
