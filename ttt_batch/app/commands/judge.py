"""Judging agents: `evaluate`, `compare`, `show` and `tournament`."""

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ttt_batch.app.commands.declare import AGAINST, Text, argument, option, switch
from ttt_batch.app.commands.options import Json, Quiet, RunPath, SeedOfGames, TiesRule, Trust, all_found, found
from ttt_batch.app.commands.shared import answer, load_any_run, load_run, run_name, working
from ttt_batch.base.choices import check_ties
from ttt_batch.base.console import tell
from ttt_batch.base.errors import RunFileError, UsageError
from ttt_batch.base.quantities import counted

if TYPE_CHECKING:
    from ttt_batch.runs.loading import AnyRun

NAMED = 10
"""Most files left out of a tournament that are named one by one."""


def evaluate(
    path: RunPath,
    against: Annotated[
        Text,
        option(
            "random|one-ply|two-ply|optimal|self|RUN2",
            "The opponent; a run file for another agent.  On boards too large to enumerate, and with "
            "networks, one of the first three.",
            offers=AGAINST,
            default="random; all three there",
        ),
    ] = None,
    games: Annotated[
        Text, option("N", "Games a match, on boards too large to enumerate and with networks only.", default="10k")
    ] = None,
    seed: SeedOfGames = None,
    budget: Annotated[
        Text,
        option("N", "Positions to search per seat for a way to beat it, there only.", default="2M; 20M with networks"),
    ] = None,
    ties: TiesRule = "any",
    trust: Trust = False,
    quiet: Quiet = False,
    json: Json = False,
) -> None:
    """Judge a run, exactly unless its board is too large or it is of networks: results per seat, and how to beat it."""
    from ttt_batch.analysis.matches import GrownEvaluation
    from ttt_batch.app import api
    from ttt_batch.app.reports.evaluation import evaluation_text, grown_evaluation_text
    from ttt_batch.runs.lookup import name_or_run
    from ttt_batch.runs.run import Run

    rule, run = check_ties(ties), load_any_run(path, trust)
    opponent: str | Run | None = against
    if against is not None and isinstance(run, Run) and run.grown is None:
        found = name_or_run("opponent", against, AGAINST)
        opponent = load_run(found, trust) if isinstance(found, Path) else found
    with working(quiet=quiet):
        result = api.evaluate(run, opponent, games=games, seed=seed, budget=budget, ties=rule)
    name = run_name(path)
    if isinstance(result, GrownEvaluation):
        answer(json, result.to_dict, lambda: grown_evaluation_text(result, name))
    else:
        answer(json, result.to_dict, lambda: evaluation_text(result, name))


def compare(
    path: RunPath,
    other: Annotated[Path, argument("RUN2", "Another one.", read=found)],
    trust: Trust = False,
    quiet: Quiet = False,
    json: Json = False,
) -> None:
    """Say where two runs' tables and policies differ; with networks, in positions of random games."""
    from ttt_batch.analysis.compare import compare_runs
    from ttt_batch.analysis.compare_networks import compare_networks
    from ttt_batch.app.reports.comparison import network_comparison_text
    from ttt_batch.app.reports.information import comparison_text
    from ttt_batch.runs.run import Run

    with working(quiet=quiet):
        run, second = load_any_run(path, trust), load_any_run(other, trust)
        if isinstance(run, Run) and isinstance(second, Run):
            text, differences = comparison_text, compare_runs(run, second)
        else:
            text, differences = network_comparison_text, compare_networks(run, second)
    answer(json, lambda: differences, lambda: text(differences, run_name(path), run_name(other), run.board))


def show(
    path: RunPath,
    position: Annotated[
        list[str] | None,
        argument(
            "[POSITION]",
            "A position: rows (X.O/.X./...), moves (5 1 9 or b2 a1 c3), or a code; the empty board if not given.",
        ),
    ] = None,
    symmetric: Annotated[
        bool, switch("--symmetric", "Its images under the board's rotations and reflections, too.")
    ] = False,
    ties: TiesRule = "any",
    trust: Trust = False,
    quiet: Quiet = False,
    json: Json = False,
) -> None:
    """Say everything about a position: its value, each move's value and visits, the truth, the best replies."""
    from ttt_batch.analysis.position import show as look_up
    from ttt_batch.app.reports.position import show_text

    rule = check_ties(ties)
    with working(quiet=quiet):
        asked = " ".join(position or []).strip() or 0
        shown = look_up(load_any_run(path, trust), asked, symmetric=symmetric, ties=rule)
    answer(json, shown.to_dict, lambda: show_text(shown, run_name(path)))


def tournament(
    paths: Annotated[list[Path], argument("RUN...", "Two run files of one board, or more.", read=all_found)],
    games: Annotated[
        Text,
        option(
            "N",
            "Play N games a meeting.",
            default="exact results; 1000 on boards too large to enumerate and with networks",
        ),
    ] = None,
    seed: SeedOfGames = None,
    ties: TiesRule = "any",
    trust: Trust = False,
    quiet: Quiet = False,
    json: Json = False,
) -> None:
    """Play agents against each other, all pairs in both seats; exact between tables of boards that are enumerated.

    Files that cannot be opened and runs of another board than most are named and left out, and the others play if they
    are two or more; the status is 1 then.
    """
    from ttt_batch.analysis.meetings import enumerated
    from ttt_batch.analysis.tournament import tournament as hold
    from ttt_batch.app.reports.tournament import tournament_text

    rule = check_ties(ties)
    with working(quiet=quiet):
        runs, names = _openable(paths, trust)
        if seed is not None and games is None and enumerated(runs):
            raise UsageError(f"--seed {seed} is for games that are played; results here are exact: leave it out")
        result = hold(runs, names, games=games, seed=0 if seed is None else seed, ties=rule)
    answer(json, result.to_dict, lambda: tournament_text(result))
    if len(runs) < len(paths):
        raise typer.Exit(1)


def _openable(paths: list[Path], trust: bool) -> tuple[list["AnyRun"], list[str]]:
    """The runs of one board that can be opened, and what they are called; others are named on standard error.

    That is the board of most of them, of the first if several are as many; all runs if no two are of one board.
    Raises RunFileError if fewer than two of several can be opened.
    """
    entries: list[tuple[AnyRun, str]] = []
    left_out: list[str] = []
    try:
        for path in paths:
            try:
                entries.append((load_any_run(path, trust), run_name(path)))
            except RunFileError as error:
                left_out.append(str(error))
        if len(entries) < min(2, len(paths)):
            raise RunFileError(
                f"{len(entries)} of {len(paths)} files can be opened; a tournament takes two runs or more"
            )
        board, most = Counter(run.board.name for run, _ in entries).most_common(1)[0]
        if most > 1:
            others = [(run, name) for run, name in entries if run.board.name != board]
            left_out += [f"{name} plays {run.board.name}, most runs {board}" for run, name in others]
            entries = [(run, name) for run, name in entries if run.board.name == board]
    finally:
        for reason in left_out[:NAMED]:
            tell(f"ttt-batch: left out: {reason}")
        if len(left_out) > NAMED:
            tell(f"ttt-batch: left out: {counted(len(left_out) - NAMED, 'more file')}")
    return [run for run, _ in entries], [name for _, name in entries]
