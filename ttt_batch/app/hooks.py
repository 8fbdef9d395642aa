"""Functions of `app` behind methods of lower folders, such as `run.plot()` and `print(evaluation)`.

Each is imported when it is first needed: reports, plots and progress take time to load.
"""

from collections.abc import Callable
from typing import Any


def hook(name: str) -> Callable[..., Any]:
    """Return the function that `core.results.call_hook` calls for `name`.  Raises LookupError for an unknown one."""
    texts: dict[str, Callable[..., str]]
    if name == "figure":
        from ttt_batch.app.plots import figure

        return figure
    if name == "progress":
        from ttt_batch.app.progress import show_progress

        return show_progress
    if name == "run_dict":
        from ttt_batch.app.reports.training import run_summary

        return run_summary
    if name == "run_html":
        from ttt_batch.app.notebooks import notebook_html

        return notebook_html
    if name in ("Repetition", "Study", "Summary"):
        from ttt_batch.app.reports import study

        texts = {"Repetition": study.confirmation_text, "Study": study.saved_text, "Summary": study.study_text}
        return texts[name]
    from ttt_batch.app.reports import evaluation, tournament

    texts = {
        "Evaluation": evaluation.evaluation_text,
        "LabelledEvaluation": evaluation.positions_text,
        "PlayedEvaluation": evaluation.played_text,
        "PositionReport": evaluation.show_text,
        "Proofs": evaluation.proofs_text,
        "SampledEvaluation": evaluation.grown_evaluation_text,
        "Series": tournament.series_text,
        "Tournament": tournament.tournament_text,
    }
    return texts[name]
