"""What `train` prints in the end, and verdicts in words."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ttt_batch.app.reports.heads import OUTCOMES, training_head, training_title
from ttt_batch.app.reports.layout import hanging, row
from ttt_batch.app.reports.patterns import pattern_training_summary, pattern_training_text
from ttt_batch.base.choices import RESULTS, SEATS
from ttt_batch.base.console import one_line
from ttt_batch.base.files import command_text
from ttt_batch.base.quantities import count_text
from ttt_batch.evaluation.ties import meaning
from ttt_batch.runs.loading import AnyRun
from ttt_batch.runs.patterns.run import PatternRun
from ttt_batch.runs.recorder import unbeatable_since
from ttt_batch.runs.run import Run


def verdict_text(run: Run) -> str:
    """Return the verdict on the tables as they are, with any ties, and the game since which it is good in its seats."""
    if run.grown is not None:
        return (
            f"{count_text(int(run.statistics['positions'][-1]), 'position')} in the table; "
            "whether it can be beaten is for evaluate to search"
        )
    return proof_text(run, verdict_facts(run)["unbeatable"])


def proof_text(run: Run, unbeatable: Mapping[str, bool | None]) -> str:
    """Return a verdict by seat, with the game since which it holds; the caller names the ties.

    What training records is judged with any ties; a run that is unbeatable so is unbeatable with the others, too.
    """
    since = _since(run)
    if since is not None:
        points = f" at every recorded point since game {since:,}" if since else " from its start" if run.games else ""
        return f"unbeatable {'in both seats' if run.seats == SEATS else f'as {SEATS[0]}'}{points}"
    verdicts = {seat: "unbeatable" if unbeatable[seat] else "can be beaten" for seat in run.seats}
    return ", ".join(f"{verdict} as {seat}" for seat, verdict in verdicts.items())


def _since(run: Run) -> int | None:
    """Return the games since which a run is unbeatable in every seat that it plays, None if it is not."""
    return unbeatable_since(run.statistics["games"], run.statistics["unbeatable"][:, : len(run.seats)])


def verdict_facts(run: Run) -> dict[str, Any]:
    """Return the recorded verdict of a run on an enumerated board; None for a seat that it cannot play."""
    found = zip(SEATS, run.statistics["unbeatable"][-1].tolist(), strict=True)
    return {
        "unbeatable": {seat: good if seat in run.seats else None for seat, good in found},
        "ties": "any",
        "unbeatable_since": _since(run),
    }


def training_summary(run: AnyRun, path: str | None) -> dict[str, Any]:
    """What `train --json` prints."""
    if isinstance(run, PatternRun):
        return pattern_training_summary(run, path)
    last = {name: column[-1] for name, column in run.own_statistics.items()}
    summary = training_head(run)
    if run.grown is not None:
        summary |= {
            "positions": int(last["positions"]),
            "positions_without_room": int(run.provenance.get("positions_without_room", 0)),
        }
    else:
        summary |= {
            **verdict_facts(run),
            "against_random": {
                seat: dict(zip(RESULTS, shares, strict=True))
                for seat, shares in zip(SEATS, last["versus_random"].tolist(), strict=True)
            },
            "self_play": dict(zip(OUTCOMES, last["self_play"].tolist(), strict=True)),
            **{name: dict(zip(SEATS, last[name].tolist(), strict=True)) for name in ("optimal_share", "value_error")},
        }
    return {**summary, "config": run.config.to_report(), "run": path}


def run_summary(run: AnyRun) -> dict[str, Any]:
    """Return what `train --json` prints, for `to_dict` of a run."""
    return training_summary(run, None if run.file is None else str(run.file))


def training_text(run: AnyRun, path: Path, *, compiled: bool = False) -> str:
    """What `train` prints at the end: a short table, the file, and the two commands a person wants next.

    compiled: kernels were compiled meanwhile, which its seconds include.
    """
    if isinstance(run, PatternRun):
        return pattern_training_text(run, path, compiled=compiled)
    last = {name: column[-1] for name, column in run.statistics.items()}
    played = last["outcomes"] / max(1, int(last["outcomes"].sum()))
    exact = []
    if run.grown is None:
        seats = SEATS[:1] if run.learner.boxes else SEATS
        exact = [row(f"as {seat}, against random", *last["versus_random"][i]) for i, seat in enumerate(seats)]
        if not run.learner.boxes:  # without a second player's boxes it does not play itself
            exact.append(row("greedy self-play, as first", *last["self_play"]))
    lines = [
        training_title(run, compiled=compiled),
        "",
        row("", "win", "draw", "loss"),
        *exact,
        row("games played, as first", *played),
        "",
        *hanging("verdict:", verdict_text(run), 9),
        *([f"ties:    {meaning('any')}"] if run.grown is None else []),
        f"saved:   {one_line(str(path))}",
        "",
        f"next:    {command_text('evaluate', path)}",
        f"         {command_text('play', path)}",
    ]
    return "\n".join(lines)
