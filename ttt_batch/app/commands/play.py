"""Agents at play: `play` against a person, `watch` each other."""

import sys
import time
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

from ttt_batch.app.commands import shared
from ttt_batch.app.commands.shared import File, Text, argument, option, switch
from ttt_batch.core.console import is_live, print_message
from ttt_batch.core.errors import RunFileError, UsageError
from ttt_batch.core.files import exists, shown
from ttt_batch.core.outputs import check_distinct
from ttt_batch.core.text import AGENT_NAMES, SCRIPTED, SEATS, Ties, check_ties, choose_person, find_name, parse_seed
from ttt_batch.games.board import MAX_TABLE_CELLS, parse_board
from ttt_batch.runs.lookup import RUNS_OR_AGENTS, find_run, is_agent_name, name_or_run

if TYPE_CHECKING:
    from ttt_batch.agents.adapter import AgentAdapter
    from ttt_batch.runs.loading import AnyRun
    from ttt_batch.training.from_games import LearningRun

PlayedRun = Annotated[
    Text,
    argument(
        "[RUN]",
        "A run file, or an agent (see evaluate); if not given, the newest in this folder (of --board, if that is "
        "given), or one trained for a moment: td, or networks on boards of more than 36 cells. menace is a new machine "
        "of matchboxes.",
    ),
]
Seat = Annotated[
    Text,
    option(
        "first|second|alternate",
        "Your seat; first, also X, moves first.",
        "--as",
        offers=(*SEATS, "alternate"),
        default="first; second against menace",
    ),
]
Learn = Annotated[
    bool,
    switch(
        "--learn",
        "The run learns from every finished game, and is saved after each, as a run of given games. menace learns "
        "without it, too, until you leave.",
    ),
]
LearntFile = Annotated[
    File, option("FILE", "With --learn: a new run file; RUN stays as it is.", "--out", "-o", read=shared.new_run)
]


def play_command(
    run: PlayedRun = None,
    seat: Seat = None,
    level: shared.Level = None,
    epsilon: shared.Epsilon = None,
    ties: shared.PlayTies = None,
    plain: Annotated[bool, switch("--plain", "Prompts and lines also on a terminal that could show a screen.")] = False,
    large: Annotated[bool, switch("--large", "Large marks, for a projector, if the window has room for them.")] = False,
    seed: Annotated[Text, option("N", "Seed of the agent's choices.")] = None,
    learn: Learn = False,
    out: LearntFile = None,
    record: Annotated[File, option("GAMES", "Append finished games to a text file, for learn-from.")] = None,
    board: shared.AgentBoard = None,
    illegal: shared.Illegal = None,
    time_limit: shared.TimeLimit = None,
    trust: shared.Trust = False,
    learner: shared.OwnLearner = None,
    quiet: shared.Quiet = False,
) -> None:
    """Play against an agent in the terminal; after each game it says which moves gave something away.

    With its usual ties the agent may leave a line in which evaluate, whose ties are any, beats it.
    """
    rule = None if ties is None else check_ties(ties)
    if seat is not None:
        choose_person(seat)
    if out is not None and not learn:
        raise UsageError("--out is for what a run learns; give it with --learn")
    if out is not None and exists(out):
        raise RunFileError(f"{shown(out)} exists, and play replaces no other run; choose another file")
    keys, rules = not plain and _at_a_terminal(), shared.AgentOptions(board, illegal, time_limit)
    path, named = _who(run, rules, learn=learn)
    learner = MACHINE if run is not None and path is None and not named else None
    doing = "looking for the newest run here" if path is None else f"reading {shown(path)}"
    doing = f"asking {named}" if named else doing
    with ExitStack() as stack, shared.working(quiet=quiet, doing=doing, keys=keys) as report:
        from ttt_batch.app.terminal import loop
        from ttt_batch.games.transcripts import GameRecord

        path = path or (None if named or learner else _newest(board, trust))
        _check_files(path, learn=learn, out=out, record=record)
        if run is None:
            report.clear()
            if path is not None:
                doing = "teaching" if learn and out is None else "playing"
                print_message(f"{doing} {shown(path)}, the newest run here")
        if path is None and not named:
            agent: AnyRun | AgentAdapter = _trained(board) if learner is None else _machine()
        else:
            (agent,) = stack.enter_context(rules.open([named or path], trust, report))
        report.clear()
        person = loop.persons_seat(agent, seat)
        keeper = None if record is None else GameRecord(record, agent.board.resignation)
        pupil = _learning_agent(cast("AnyRun", agent), path, out, stack) if learn else _taught_by_hand(agent)
        loop.play_in_terminal(
            pupil or agent,
            person=person,
            stdin=sys.stdin,
            stdout=sys.stdout,
            seed=time.time_ns() if seed is None else parse_seed(seed),
            pupil=pupil,
            record=keeper,
            plain=plain,
            large=large,
            **_handicap(level, epsilon, rule),
        )


def _who(run: str | None, rules: shared.AgentOptions, *, learn: bool) -> tuple[Path | None, str]:
    """Return the player: a run's file, None for one still to be found, or the name of an agent.  Raises UsageError."""
    if run is not None and is_agent_name(run):
        if learn:
            raise UsageError(f"--learn is for a run, and {shared.called(run)} is none; leave it out")
        return None, run
    if run is None:
        rules._replace(board=None).refuse("none is named")
        return None, ""
    name = shared.called(run)
    rules.refuse(f"{name} is a run", f"leave {name} out to play on")
    path = find_run(run)
    return (None if find_name(run, [MACHINE]) and not exists(path) else path), ""


Other = Annotated[
    Text,
    argument("[RUN2|random|one-ply|two-ply]", "The second player, also an agent; RUN if not given.", offers=SCRIPTED),
]


def watch_command(
    path: shared.AnyPlayer = shared.NEWEST,
    other: Other = None,
    games: Annotated[Text, option("N", "Play N games and count: a table beside the exact expectation.")] = None,
    pace: Annotated[Text, option("SECONDS", "Seconds per move.", default="1 on a terminal, 0 elsewhere")] = None,
    level: shared.Level = None,
    epsilon: shared.Epsilon = None,
    ties: shared.TiesRule = "any",
    seed: Annotated[Text, option("N", "Seed of the games.", default="0")] = None,
    board: shared.AgentBoard = None,
    illegal: shared.Illegal = None,
    time_limit: shared.TimeLimit = None,
    trust: shared.Trust = False,
    learner: shared.OwnLearner = None,
    quiet: shared.Quiet = False,
    json: shared.Json = False,
) -> None:
    """Watch two agents play a game move by move, or count the results of many."""
    rule, rules = check_ties(ties), shared.AgentOptions(board, illegal, time_limit)
    if json and games is None:
        raise UsageError("--json is for results; give it with --games N")
    given = {"--pace": pace is not None, "--level": level is not None, "--epsilon": epsilon is not None}
    if games is not None and (extra := shared.first_given(given)):
        raise UsageError(f"{extra} is for a game to watch; leave it out, or leave --games {games} out")
    if not is_agent_name(path) and (other is None or other in SCRIPTED or not is_agent_name(other)):
        rules.refuse("none is named")
    keys = games is None and _at_a_terminal()
    scripted = find_name(other, SCRIPTED) if other is not None and is_agent_name(other) else None
    players: list[str | Path] = [path]
    if other is not None and not scripted:
        named = is_agent_name(other)
        players.append(other if named else name_or_run("player", other, AGENT_NAMES, others=RUNS_OR_AGENTS))
    names = shared.called(path), scripted or shared.called(other or path)
    doing = f"reading {shared.called(path)}"
    with shared.working(quiet=quiet, doing=doing, keys=keys) as report, rules.open(players, trust, report) as opened:
        from ttt_batch.agents.builtin import ScriptedPlayer
        from ttt_batch.runs.config import cannot_play_second_error

        first, second = opened[0], ScriptedPlayer(scripted, opened[0]) if scripted else opened[-1]
        report.clear()
        if games is None:
            if SEATS[1] not in second.seats:
                what, remedy = "the second player's part", "name it first, and another player second"
                raise cannot_play_second_error(second.name, what, remedy)
            from ttt_batch.app.terminal.loop import watch_game

            watch_game(
                first,
                second,
                names=names,
                stdin=sys.stdin,
                stdout=sys.stdout,
                pace=pace,
                seed=0 if seed is None else seed,
                **_handicap(level, epsilon, rule),
            )
            return
        from ttt_batch.agents.adapter import watched
        from ttt_batch.analysis.tournament import series
        from ttt_batch.app.reports.tournament import series_text

        with watched(report.asking):
            counted = series(first, second, names, games=games, seed=0 if seed is None else seed, ties=rule)
    shared.print_result(json, counted.to_dict, lambda: series_text(counted))


def _handicap(level: Text, epsilon: Text, ties: Ties | None) -> dict[str, Any]:
    """Return those of the options that are given, as for `HandicappedAgent`."""
    options = {"level": level, "epsilon": epsilon, "ties": ties}
    return {name: value for name, value in options.items() if value is not None}


def _at_a_terminal() -> bool:
    """Return whether a user types and sees the output."""
    return is_live(sys.stdin) and is_live(sys.stdout)


def _check_files(path: Path | None, *, learn: bool, out: Path | None, record: Path | None) -> None:
    """Check the files to write.  path: the run to play against; None for one that is trained first."""
    from ttt_batch.games.transcript_reader import GameFile
    from ttt_batch.runs.storage.run_file import RUN_FILE

    if out is not None:
        RUN_FILE.check(out, overwrite=False)
    elif learn and path is None:
        raise UsageError("no run file here that could learn; train one first, or name a file for one with --out")
    written = [(name, file) for name, file in (("--out", out), ("--record", record)) if file]
    check_distinct(written, [*([("RUN", path)] if path else []), *GameFile("-").places()])


def _learning_agent(agent: "AnyRun", path: Path | None, out: Path | None, stack: ExitStack) -> "LearningRun":
    """Return the learner of the games, in the run's file or in `out`.  Raises UsageError if it cannot learn so.

    Warn about properties that the run will lose.  stack: prints warnings that would disturb a screen at its end.
    """
    from ttt_batch.training.from_games import LearningRun

    def warn(line: str) -> None:
        stack.callback(print_message, f"ttt-batch: {line}")

    pupil = LearningRun(agent, out or path, overwrite=out is None, command=shared.command_line(), warn=warn)
    if out is None and not agent.from_games:
        unproved = ", and no proof of it holds any more" if agent.generalises and agent.verdict() else ""
        print_message(
            "ttt-batch: after an update this is a run of given games, which train --resume does not go on with"
            f"{unproved}; --out FILE leaves RUN as it is"
        )
    return pupil


def _newest(board: Text, trust: bool) -> Path | None:
    """Return the newest run here, of `board` if given; None without one.  Raises BoardError."""
    from ttt_batch.runs.loading import load_any
    from ttt_batch.runs.storage.run_file import RUN_FILE, find_newest_run

    if board is None:
        return find_newest_run(Path())
    wanted = parse_board(board)

    def fits(path: Path) -> bool:
        with suppress(RunFileError):
            return RUN_FILE.begins(path) and load_any(path, trust=trust).board == wanted
        return False

    return find_newest_run(Path(), fits)


MACHINE = "menace"
"""Learner that begins without training: a game teaches it at once."""


def _machine() -> "AnyRun":
    """Return a machine of matchboxes with its first beads."""
    from ttt_batch.training.train import train

    machine: AnyRun = train(0, learner=MACHINE)
    return machine


def _taught_by_hand(agent: "AnyRun | AgentAdapter") -> "LearningRun | None":
    """Return a run with matchboxes as one that learns from the games, and stores nothing; None for other agents."""
    from ttt_batch.training.from_games import LearningRun

    return LearningRun(cast("AnyRun", agent)) if agent.by_beads else None


TABLE: dict[str, Any] = {"learner": "td", "games": 100_000}
NETWORKS: dict[str, Any] = {"learner": "ntuple-td", "games": 20_000, "prove_every": 0}
"""Options of a training before play, for boards with and without a table.  It takes a few seconds."""


def _trained(board: Text) -> "AnyRun":
    """Train an agent for a board of which no run is here, and say so.  Raises BoardError."""
    from ttt_batch.training.train import train

    where = parse_board(board or "3x3")
    options = TABLE if where.cells <= MAX_TABLE_CELLS else NETWORKS
    of_board, games = "" if board is None else f" of {where.name}", f"{options['games']:,} games"
    print_message(f"no run file{of_board} here: training {options['learner']} on {where.name} for {games} first")
    run: AnyRun = train(board=where, **options)
    return run
