"""Judging agents: `evaluate`, `compare`, `show` and `tournament`."""

from pathlib import Path
from typing import Annotated

import typer

from ttt_batch.commands.completion import OPPONENTS, offering
from ttt_batch.commands.shared import (
    Json,
    Quiet,
    RunPath,
    TiesRule,
    Trust,
    answer,
    load_run,
    run_name,
    ties_named,
    working,
)


def evaluate(
    path: RunPath,
    against: Annotated[
        str | None,
        typer.Option(
            metavar="random|one-ply|two-ply|optimal|self|RUN2",
            help="The opponent; a run file for another agent.  On boards too large to enumerate one of the first "
            "three.  [default: random; all three on such boards]",
            autocompletion=offering(*OPPONENTS),
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
    ties: TiesRule = "any",
    trust: Trust = False,
    quiet: Quiet = False,
    json: Json = False,
) -> None:
    """Judge a run, exactly unless its board is too large: results per seat, whether it can be beaten, and if so how."""
    from ttt_batch.errors import UsageError
    from ttt_batch.files import is_there
    from ttt_batch.reports.evaluation import evaluation_text, grown_evaluation_text
    from ttt_batch.scripted import PLAYERS

    rule, run = ties_named(ties), load_run(path, trust)
    sampling = {"games": games, "seed": seed, "budget": budget}
    given = {name: value for name, value in sampling.items() if value is not None}
    if run.grown is not None:
        from ttt_batch.matches import evaluate_grown

        if against not in (None, *PLAYERS):
            raise UsageError(
                f"--against {against} needs a board whose positions are all known, and {run.board.name} has too many; "
                f"choose one of: {', '.join(PLAYERS)}"
            )
        with working(quiet=quiet):
            sampled = evaluate_grown(run, PLAYERS if against is None else [against], ties=rule, **given)
        answer(json, sampled.as_dict, lambda: grown_evaluation_text(run, sampled, run_name(path)))
        return
    if given:
        raise UsageError(
            f"--{next(iter(given))} is for boards too large to enumerate; {run.board.name} is judged exactly, "
            "leave it out"
        )
    with working(quiet=quiet):
        if against in (None, "random", "optimal", "self"):
            evaluation = run.evaluation(against or "random", rule)  # type: ignore[arg-type]
        elif against in PLAYERS:
            from ttt_batch.matches import scripted_evaluation

            evaluation = scripted_evaluation(run, against, rule)
        elif is_there(Path(against)):
            evaluation = run.evaluation(load_run(Path(against), trust), rule)
        else:
            raise UsageError(
                f"unknown opponent {against!r}: neither {', '.join(PLAYERS)}, optimal or self nor an existing run file"
            )
    answer(json, evaluation.as_dict, lambda: evaluation_text(run, evaluation, run_name(path)))


def compare(
    path: RunPath,
    other: Annotated[Path, typer.Argument(metavar="RUN2")],
    trust: Trust = False,
    quiet: Quiet = False,
    json: Json = False,
) -> None:
    """Say where two runs' tables and policies differ."""
    from ttt_batch.comparison import compare_runs
    from ttt_batch.reports.comparison import comparison_text

    with working(quiet=quiet):
        run = load_run(path, trust)
        found = compare_runs(run, load_run(other, trust))
    answer(json, lambda: found, lambda: comparison_text(found, run_name(path), run_name(other), run.board))


def show(
    path: RunPath,
    position: Annotated[
        str,
        typer.Argument(
            help='A position: rows ("X.O/.X./..."), moves ("5 1 9" or "b2 a1 c3"), or a code; "" for the empty board.'
        ),
    ] = "",
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
        shown = look_up(load_run(path, trust), position.strip() or 0, symmetric=symmetric, ties=rule)
    answer(json, shown.as_dict, lambda: show_text(shown, run_name(path)))


def tournament(
    paths: Annotated[list[Path], typer.Argument(metavar="RUN...", help="Two run files of one board, or more.")],
    games: Annotated[
        int | None,
        typer.Option(metavar="N", help="Play so many games a meeting.  [default: exact results; 1000 on large boards]"),
    ] = None,
    seed: Annotated[int | None, typer.Option(help="Seed of these games.  [default: 0]")] = None,
    ties: TiesRule = "any",
    trust: Trust = False,
    quiet: Quiet = False,
    json: Json = False,
) -> None:
    """Let agents meet, all against all in both seats: exactly where the board's positions are all known."""
    from ttt_batch.errors import UsageError
    from ttt_batch.reports.tournament import tournament_text
    from ttt_batch.tournament import tournament as hold

    rule = ties_named(ties)
    with working(quiet=quiet):
        runs = [load_run(path, trust) for path in paths]
        if seed is not None and games is None and runs[0].grown is None:
            raise UsageError(f"--seed {seed} is for games that are played; results here are exact: leave it out")
        found = hold(runs, [run_name(path) for path in paths], games=games, seed=seed or 0, ties=rule)
    answer(json, found.as_dict, lambda: tournament_text(found))
