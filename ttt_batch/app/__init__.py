"""User interfaces: commands, terminal output, reports, pictures, the page, and hooks.

A hook is imported when it is first needed: reports, plots and progress take time to load.
"""

import importlib
from collections.abc import Callable
from typing import Any

HOOKS = {
    "boxes": ("kit", "export_boxes"),
    "cards": ("card_sheets", "export_cards"),
    "figure": ("plots", "figure"),
    "page": ("web", "export_page"),
    "play": ("terminal.loop", "play_here"),
    "plot": ("notebooks", "plot_files"),
    "progress": ("progress", "show_progress"),
    "run_dict": ("reports.training", "training_summary"),
    "run_html": ("notebooks", "notebook_html"),
    "Evaluation": ("reports.evaluation", "evaluation_text"),
    "LabelledEvaluation": ("reports.evaluation", "positions_text"),
    "PlayedEvaluation": ("reports.evaluation", "played_text"),
    "PositionReport": ("reports.evaluation", "show_text"),
    "Proofs": ("reports.evaluation", "proofs_text"),
    "Repetition": ("reports.study", "confirmation_text"),
    "SampledEvaluation": ("reports.evaluation", "grown_evaluation_text"),
    "Series": ("reports.tournament", "series_text"),
    "SmallestProof": ("reports.evaluation", "smallest_text"),
    "Study": ("reports.study", "saved_text"),
    "Summary": ("reports.study", "study_text"),
    "Tournament": ("reports.tournament", "tournament_text"),
}
"""Module in `app` and function of each hook; results have one of the name of their class, which returns their text."""


def hook(name: str) -> Callable[..., Any]:
    """Return the function that `core.results.call_hook` calls for `name`.  Raises KeyError for an unknown one."""
    module, function = HOOKS[name]
    return getattr(importlib.import_module(f"ttt_batch.app.{module}"), function)  # type: ignore[no-any-return]
