"""Judging agents: `evaluate` and `compare`."""

from pathlib import Path
from typing import Annotated

import typer

from ttt_batch.commands.completion import OPPONENTS, offering
from ttt_batch.commands.shared import Json, Quiet, RunPath, Trust, answer, load_run, working


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
    trust: Trust = False,
    quiet: Quiet = False,
    json: Json = False,
) -> None:
    """Judge a run, exactly unless its board is too large: results per seat, whether it can be beaten, and if so how."""
    from ttt_batch.errors import UsageError
    from ttt_batch.reports.evaluation import evaluation_text, grown_evaluation_text
    from ttt_batch.scripted import PLAYERS

    run = load_run(path, trust)
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
            sampled = evaluate_grown(run, PLAYERS if against is None else [against], **given)
        answer(json, sampled.as_dict, lambda: grown_evaluation_text(run, sampled, str(path)))
        return
    if given:
        raise UsageError(
            f"--{next(iter(given))} is for boards too large to enumerate; {run.board.name} is judged exactly, "
            "leave it out"
        )
    with working(quiet=quiet):
        if against in (None, "random", "optimal", "self"):
            evaluation = run.evaluation(against or "random")  # type: ignore[arg-type]
        elif against in PLAYERS:
            from ttt_batch.matches import scripted_evaluation

            evaluation = scripted_evaluation(run, against)
        elif Path(against).exists():
            evaluation = run.evaluation(load_run(Path(against), trust))
        else:
            raise UsageError(
                f"unknown opponent {against!r}: neither {', '.join(PLAYERS)}, optimal or self nor an existing run file"
            )
    answer(json, evaluation.as_dict, lambda: evaluation_text(run, evaluation, str(path)))


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
        found = compare_runs(load_run(path, trust), load_run(other, trust))
    answer(json, lambda: found, lambda: comparison_text(found, str(path), str(other)))
