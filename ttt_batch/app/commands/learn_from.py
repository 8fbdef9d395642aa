"""`learn-from`: learning from given games."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from ttt_batch.app.commands.declare import BOARDS, File, Text, argument, option, switch
from ttt_batch.app.commands.options import (
    BOARD,
    Beads,
    Beta,
    Cut,
    DrawWorth,
    Explore,
    Gamma,
    Json,
    Lambda,
    NewRun,
    Overwrite,
    Quiet,
    Rewards,
    StartValue,
    Trust,
    find_named_run,
    learner_meant,
)
from ttt_batch.app.commands.shared import command_line, in_new_file, print_result, working
from ttt_batch.base.choices import DIGITS_MEAN, LEARNER_NAMES
from ttt_batch.base.console import print_message
from ttt_batch.base.quantities import count_text

if TYPE_CHECKING:
    from collections.abc import Callable

    from ttt_batch.app.progress import Reporter
    from ttt_batch.game.transcript_reader import Skipped
    from ttt_batch.game.transcript_source import GameFile
    from ttt_batch.runs.loading import AnyRun
    from ttt_batch.training.from_games import GamesLearnt


LearnerOfGames = Annotated[
    Text,
    option(
        "NAME",
        "Which learner, unless --run is given; FILE.py:NAME for one of your own.",
        offers=LEARNER_NAMES,
        read=learner_meant,
    ),
]


Moves = Annotated[
    Text,
    option("HOW", "What digits in GAMES are, unless only one way fits.", offers=DIGITS_MEAN, default="what fits"),
]
CellsFrom = Annotated[Text, option("0|1", "The number of the first cell, row or column in GAMES.", default="what fits")]


def learn_from_command(
    games: Annotated[Path, argument("GAMES", "A text file, a game a line; - for standard input.")],
    learner: LearnerOfGames = None,
    run: Annotated[
        File, option("RUN", "A run to go on from, with its options; networks, too.", read=find_named_run)
    ] = None,
    alpha: Annotated[Text, option("NUMBER", "Step size, above 0 up to 1, or 1/n, n the visits.")] = None,
    epsilon: Annotated[Text, option("SHARE", "expected-sarsa: how often the policy explores that it expects.")] = None,
    explore: Explore = None,
    gamma: Gamma = None,
    draw_worth: DrawWorth = None,
    start_value: StartValue = None,
    lambda_: Lambda = None,
    cut: Cut = False,
    beta: Beta = None,
    beads: Beads = None,
    rewards: Rewards = None,
    board: Annotated[Text, option("BOARD", f"{BOARD}.", offers=BOARDS)] = None,
    seed: Annotated[Text, option("N", "Seed of the start table.")] = None,
    skip_bad: Annotated[bool, switch("--skip-bad", "Leave out lines that are no legal game.")] = False,
    moves: Moves = None,
    cells_from: CellsFrom = None,
    out: NewRun = None,
    overwrite: Overwrite = False,
    trust: Trust = False,
    quiet: Quiet = False,
    json: Json = False,
) -> None:
    """Learn from given games: cells such as 4, b2, X5, (1, 1) or 1-1, ! after an exploratory move, # before a comment.

    A game a line, or a table (CSV) with a header and a game or a move a line.  A result may end a game: X wins, 1-0.
    """
    from ttt_batch.app.reports.training import training_summary, training_text
    from ttt_batch.game.transcript_source import GameFile
    from ttt_batch.training import from_games

    options: dict[str, Any] = {"alpha": alpha, "gamma": gamma, "draw_worth": draw_worth, "start_value": start_value}
    options |= {"lambda_": lambda_, "cut": cut or None, "beta": beta, "beads": beads, "rewards": rewards}
    options |= {"epsilon": epsilon, "explore": explore, "board": board, "seed": seed}
    options |= {"skip_bad": skip_bad, "moves": moves, "cells_from": cells_from}
    source = GameFile(games)
    with working("interrupted; nothing was written", quiet=quiet) as report:

        def work(target: Path) -> "tuple[AnyRun, Skipped]":
            return from_games.learn_from(
                games,
                learner=learner,
                run=run,
                out=target,
                overwrite=overwrite,
                trust=trust,
                progress=_progress_line(source, report),
                warn=report.warn,
                command=command_line(),
                **options,
            )

        result, skipped = in_new_file(out, "given-games", work)
    target, left_out = result.file, _tell_skipped(skipped)
    assert target is not None  # it was given one
    print_result(
        json,
        lambda: {**training_summary(result, str(target)), "skipped": skipped.total},
        lambda: training_text(result, target, compiled=report.compiled) + left_out,
        saved=target,
    )


def _progress_line(source: "GameFile", report: "Reporter") -> "Callable[[GamesLearnt], None]":
    """What shows how far reading is, and that it waits for games."""

    def follow(now: "GamesLearnt") -> None:
        if now.read == 0 and source.waits():
            report.note(f"waiting for games from {source.name} ...")
        elif now.read and not source.typed():
            report.reading(now)

    return follow


def _tell_skipped(skipped: "Skipped") -> str:
    """Name the bad lines that were left out, as many of them as are kept; return a last line with their number."""
    for line in skipped:
        print_message(f"skipped {line}")
    if skipped.total > len(skipped):
        print_message(f"skipped {count_text(skipped.total - len(skipped), 'more line')}")
    return f"\nskipped: {count_text(skipped.total, 'bad line')}" if skipped else ""
