"""What `evaluate` prints: results per seat, the verdicts, and where an agent can be beaten, how."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from ttt_batch.reports.layout import line_of_play, row
from ttt_batch.run import SEATS, Evaluation, Run
from ttt_batch.truth import RESULTS

if TYPE_CHECKING:
    from ttt_batch.matches import GrownEvaluation


def evaluation_text(run: Run, evaluation: Evaluation, name: str) -> str:
    """What `evaluate` prints: exact results per seat, the verdicts, and where it can be beaten, how."""
    lines = [
        f"{name}: {run.config.learner} on {run.config.board}, {run.games:,} games",
        "",
        row(f"against {evaluation.against}, exactly", *RESULTS),
        row("as first", *evaluation.first),
        row("as second", *evaluation.second),
        "",
    ]
    for seat in SEATS:
        line = evaluation.losing_line[seat]
        if line is None:
            lines.append(f"unbeatable as {seat}: no opponent and no tie-break beats it")
        else:
            lines += [f"can be beaten as {seat}:", *line_of_play(run.board, line)]
    return "\n".join(lines)


def grown_evaluation_text(run: Run, evaluation: "GrownEvaluation", name: str) -> str:
    """What `evaluate` prints on a board too large to enumerate: verdicts of the search, then sampled matches."""
    lines = [f"{name}: {run.config.learner} on {run.config.board}, {run.games:,} games", ""]
    for seat, verdict in evaluation.verdicts.items():
        found = f"{verdict.positions:,} position{'s' * (verdict.positions != 1)}"
        if verdict.line is not None:
            lines += [f"can be beaten as {seat}:", *line_of_play(run.board, verdict.line)]
        elif verdict.unbeatable:
            lines += [f"unbeatable as {seat}: no opponent and no tie-break beats it ({found} searched)", ""]
        else:
            nothing = f"no way to beat it among {found}; --budget N searches on"
            lines += [f"undecided as {seat} within the budget: {nothing}", ""]
    lines.append(f"{evaluation.games:,} games each, seed {evaluation.seed}, with 95 % confidence intervals")
    for player, tallies in evaluation.matches.items():
        lines += ["", _wide_row(f"against {player}", RESULTS)]
        for seat, tally in tallies.items():
            shares = ("{:.4f} ({:.4f}-{:.4f})".format(*tally.share(result)) for result in RESULTS)
            lines.append(_wide_row(f"as {seat}", shares))
    return "\n".join(lines)


def _wide_row(label: str, cells: Iterable[str]) -> str:
    return f"{label:<16}" + "".join(f"{cell:<24}" for cell in cells).rstrip()
