"""Functions of `app` behind methods of lower folders, such as `run.plot()` and `print(evaluation)`.

Each is imported when it is first needed: reports, plots and progress take time to load.
"""

from collections.abc import Callable
from typing import Any


def hook(name: str) -> Callable[..., Any]:
    """Return the function that `core.results.call_hook` calls for `name`.  Raises LookupError for an unknown one."""
    if name in ("figure", "progress", "run_dict", "run_html"):
        return _hook_of_runs(name)
    texts = _texts_of_studies if name in ("Repetition", "Study", "Summary") else _texts_of_agents
    return texts()[name]


def _hook_of_runs(name: str) -> Callable[..., Any]:
    if name == "figure":
        from ttt_batch.app.plots import figure

        return figure
    if name == "progress":
        from ttt_batch.app.progress import show_progress

        return show_progress
    if name == "run_dict":
        from ttt_batch.app.reports.training import run_summary

        return run_summary
    from ttt_batch.app.notebooks import notebook_html

    return notebook_html


def _texts_of_agents() -> dict[str, Callable[..., str]]:
    from ttt_batch.app.reports import evaluation, tournament

    return {
        "Evaluation": evaluation.evaluation_text,
        "LabelledEvaluation": evaluation.positions_text,
        "PlayedEvaluation": evaluation.played_text,
        "PositionReport": evaluation.show_text,
        "Proofs": evaluation.proofs_text,
        "SampledEvaluation": evaluation.grown_evaluation_text,
        "Series": tournament.series_text,
        "Tournament": tournament.tournament_text,
    }


def _texts_of_studies() -> dict[str, Callable[..., str]]:
    from ttt_batch.app.reports import study

    return {"Repetition": study.confirmation_text, "Study": study.file_text, "Summary": study.study_text}
