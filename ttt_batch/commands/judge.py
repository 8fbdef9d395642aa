"""Judging agents: `evaluate`, `compare`, `show` and `tournament`."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ttt_batch.commands import completion
from ttt_batch.commands.completion import offering
from ttt_batch.commands.shared import (
    Json,
    Quiet,
    RunPath,
    TiesRule,
    Trust,
    all_found,
    answer,
    found,
    load_run,
    run_name,
    ties_named,
    working,
)

if TYPE_CHECKING:
    from ttt_batch.run import Run


def evaluate(
    path: RunPath,
    against: Annotated[
        str | None,
        typer.Option(
            metavar="random|one-ply|two-ply|optimal|self|RUN2",
            help="The opponent; a run file for another agent.  On boards too large to enumerate one of the first "
            "three.  [default: random; all three on such boards]",
            autocompletion=offering(*completion.OPPONENTS),
        ),
    ] = None,
    games: Annotated[
        str | None,
        typer.Option(metavar="N", help="Games a match, on boards too large to enumerate only.  [default: 10k]"),
    ] = None,
    seed: Annotated[str | None, typer.Option(metavar="N", help="Seed of these games.  [default: 0]")] = None,
    budget: Annotated[
        str | None,
        typer.Option(
            metavar="N",
            help="Positions to search per seat for a way to beat it, on such boards only.  [default: 2M]",
        ),
    ] = None,
    ties: TiesRule = "any",
    trust: Trust = False,
    quiet: Quiet = False,
    json: Json = False,
) -> None:
    """Judge a run, exactly unless its board is too large: results per seat, whether it can be beaten, and if so how."""
    from ttt_batch.errors import UsageError
    from ttt_batch.finding import name_or_run
    from ttt_batch.naming import find_name
    from ttt_batch.reports.evaluation import evaluation_text, grown_evaluation_text
    from ttt_batch.run import OPPONENTS
    from ttt_batch.scripted import PLAYERS

    rule, run = ties_named(ties), load_run(path, trust)
    sampling = {"games": games, "seed": seed, "budget": budget}
    given = {name: value for name, value in sampling.items() if value is not None}
    if run.grown is not None:
        from ttt_batch.matches import evaluate_grown

        player = None if against is None else find_name(against, PLAYERS)
        if player is None and against is not None:
            raise UsageError(
                f"--against {against} needs a board whose positions are all known, and {run.board.name} has too many; "
                f"choose one of: {', '.join(PLAYERS)}"
            )
        with working(quiet=quiet):
            sampled = evaluate_grown(run, PLAYERS if player is None else [player], ties=rule, **given)
        answer(json, sampled.as_dict, lambda: grown_evaluation_text(sampled, run_name(path)))
        return
    if given:
        raise UsageError(
            f"--{next(iter(given))} is for boards too large to enumerate; {run.board.name} is judged exactly, "
            "leave it out"
        )
    opponent = name_or_run("opponent", "random" if against is None else against, completion.OPPONENTS)
    with working(quiet=quiet):
        if isinstance(opponent, Path):
            evaluation = run.evaluation(load_run(opponent, trust), rule)
        elif opponent in OPPONENTS:
            evaluation = run.evaluation(opponent, rule)
        else:
            from ttt_batch.matches import scripted_evaluation

            evaluation = scripted_evaluation(run, opponent, rule)
    answer(json, evaluation.as_dict, lambda: evaluation_text(evaluation, run_name(path)))


def compare(
    path: RunPath,
    other: Annotated[Path, typer.Argument(metavar="RUN2", help="Another one.", callback=found)],
    trust: Trust = False,
    quiet: Quiet = False,
    json: Json = False,
) -> None:
    """Say where two runs' tables and policies differ."""
    from ttt_batch.comparison import compare_runs
    from ttt_batch.reports.comparison import comparison_text

    with working(quiet=quiet):
        run = load_run(path, trust)
        differences = compare_runs(run, load_run(other, trust))
    answer(json, lambda: differences, lambda: comparison_text(differences, run_name(path), run_name(other), run.board))


def show(
    path: RunPath,
    position: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[POSITION]",
            help="A position: rows (X.O/.X./...), moves (5 1 9 or b2 a1 c3), or a code; the empty board if not given.",
        ),
    ] = None,
    symmetric: Annotated[
        bool, typer.Option("--symmetric", help="Its images under the board's rotations and reflections, too.")
    ] = False,
    ties: TiesRule = "any",
    trust: Trust = False,
    quiet: Quiet = False,
    json: Json = False,
) -> None:
    """Say everything about a position: its value, each move's value and visits, the truth, the best replies."""
    from ttt_batch.reports.position import show_text
    from ttt_batch.showing import show as look_up

    rule = ties_named(ties)
    with working(quiet=quiet):
        asked = " ".join(position or []).strip() or 0
        shown = look_up(load_run(path, trust), asked, symmetric=symmetric, ties=rule)
    answer(json, shown.as_dict, lambda: show_text(shown, run_name(path)))


def tournament(
    paths: Annotated[
        list[Path],
        typer.Argument(metavar="RUN...", help="Two run files of one board, or more.", callback=all_found),
    ],
    games: Annotated[
        str | None,
        typer.Option(metavar="N", help="Play so many games a meeting.  [default: exact results; 1000 on large boards]"),
    ] = None,
    seed: Annotated[str | None, typer.Option(metavar="N", help="Seed of these games.  [default: 0]")] = None,
    ties: TiesRule = "any",
    trust: Trust = False,
    quiet: Quiet = False,
    json: Json = False,
) -> None:
    """Let agents meet, all against all in both seats: exactly where the board's positions are all known.

    Files that cannot be opened are named, and the others play if they are two or more; the status is 1 then.
    """
    from ttt_batch.errors import UsageError
    from ttt_batch.reports.tournament import tournament_text
    from ttt_batch.tournaments import tournament as hold

    rule = ties_named(ties)
    with working(quiet=quiet):
        runs, names = _openable(paths, trust)
        if seed is not None and games is None and runs[0].grown is None:
            raise UsageError(f"--seed {seed} is for games that are played; results here are exact: leave it out")
        result = hold(runs, names, games=games, seed=0 if seed is None else seed, ties=rule)
    answer(json, result.as_dict, lambda: tournament_text(result))
    if len(runs) < len(paths):
        raise typer.Exit(1)


def _openable(paths: list[Path], trust: bool) -> tuple[list["Run"], list[str]]:
    """The runs that can be opened, and what they are called; those that cannot are named on standard error.

    Raises RunFileError where fewer than two of several can be.
    """
    from ttt_batch.console import tell
    from ttt_batch.errors import RunFileError

    runs, names = list["Run"](), list[str]()
    for path in paths:
        try:
            runs.append(load_run(path, trust))
            names.append(run_name(path))
        except RunFileError as error:
            tell(f"ttt-batch: left out: {error}")
    if len(runs) < min(2, len(paths)):
        raise RunFileError(f"{len(runs)} of {len(paths)} files can be opened; a tournament takes two runs or more")
    return runs, names
