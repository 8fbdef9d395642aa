"""What `evaluate --positions` prints: how often values, labels and the exact truth agree."""

from typing import TYPE_CHECKING

from ttt_batch.app.reports.layout import row
from ttt_batch.base.choices import RESULTS
from ttt_batch.base.console import one_line
from ttt_batch.base.quantities import count_text

if TYPE_CHECKING:
    from ttt_batch.analysis.labelled import LabelledEvaluation

_JUDGED = {
    "values": "by the value of each position: the nearest of a win, a draw and a loss",
    "play": "by the end of the game if it plays both sides on, each time its likeliest move",
}


def positions_text(evaluation: "LabelledEvaluation", name: str = "") -> str:
    """What `evaluate --positions` prints.  name: what to call the run or agent."""
    some = "all" if evaluation.final == evaluation.positions else f"{evaluation.final:,}"
    lines = [
        f"{one_line(name or evaluation.agent)} on {evaluation.board.name}",
        f"positions: {evaluation.positions:,} in {evaluation.file}",
    ]
    if evaluation.final:
        lines.append(f"final: {some} of them, whose results follow from the rules")
    if evaluation.left_out:
        lines.append(f"left out: {evaluation.left_out:,} that no game reaches; {evaluation.left_out_example}")
    lines.append(f"judged: {_JUDGED[evaluation.judged_by]}")
    if evaluation.unvalued:
        lines.append(f"without a value: {count_text(evaluation.unvalued, 'position')}")
    lines += ["", row("", "agree", "of", "share")]
    for title, agreement in (
        ("value and exact truth", evaluation.value_truth),
        ("value and label", evaluation.value_label),
        ("label and exact truth", evaluation.label_truth),
    ):
        if agreement.of:
            lines.append(row(title, f"{agreement.agree:,}", f"{agreement.of:,}", agreement.agree / agreement.of))
        else:
            missing = "truth is not known" if evaluation.compared_with == "label" and "truth" in title else "no labels"
            lines.append(f"{title}: not compared, {missing}")
    lines += ["", row(f"{evaluation.compared_with} of the mover, valued", *RESULTS)]
    for result, counts in evaluation.counts.items():
        lines.append(row(result, *(f"{counts[valued]:,}" for valued in RESULTS)))
    return "\n".join(lines)
