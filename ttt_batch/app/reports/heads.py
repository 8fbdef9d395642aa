"""What the reports of all runs begin with, of tables and of networks."""

from typing import Any

from ttt_batch.base.quantities import count_text
from ttt_batch.runs.loading import AnyRun

OUTCOMES = ("first_wins", "draws", "second_wins")
"""Results of games, as `--json` names them."""


def training_head(run: AnyRun) -> dict[str, Any]:
    """The first values of `train --json`."""
    seconds, in_play = run.provenance.get("seconds"), run.statistics["outcomes"][-1].tolist()
    return {
        "learner": run.config.learner,
        "board": run.board.name,
        "games": run.games,
        "interrupted": run.interrupted,
        "seconds": seconds,
        "games_per_second": run.games / float(seconds) if seconds and any(in_play) else 0.0,  # an import plays none
        "in_play": dict(zip(OUTCOMES, in_play, strict=True)),
    }


def training_title(run: AnyRun, *, compiled: bool) -> str:
    """The first line of `train`.  compiled: kernels were compiled meanwhile, which its seconds include."""
    took = f"{float(run.provenance['seconds']):.2f} s{' (compiling included)' if compiled else ''}"
    games = count_text(run.games, "game")
    return f"{run.config.learner} on {run.board.name}: {games} in {took}, seed {run.config.seed}"


def file_head(run: AnyRun, path: str) -> dict[str, Any]:
    """The first values of `info --json`."""
    return {
        "file": path,
        "bytes": run.size,
        "format": f"{run.version[0]}.{run.version[1]}",
        "games": run.games,
        "goal": run.goal or run.games,
        "config": run.config.to_report(),
    }
