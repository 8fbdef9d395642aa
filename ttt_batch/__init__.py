"""ttt-batch: a vectorised batch simulator and tabular self-play laboratory for small m,n,k boards.

    import ttt_batch as ttt
    run = ttt.train(games=1_000_000, seed=1)
    print(run.evaluation(against="random"))

Names are loaded when first used, so that importing the package (and `ttt-batch --help`) stays quick.
"""

from typing import TYPE_CHECKING, Any

from ttt_batch.base import hooks
from ttt_batch.base.version import VERSION

if TYPE_CHECKING:
    from ttt_batch.app.api import evaluate, export_run, import_run, play, plot, show, tournament
    from ttt_batch.base.errors import BoardError, RunFileError, TttBatchError, UsageError
    from ttt_batch.game.board import Board, parse_board
    from ttt_batch.learners import LEARNERS
    from ttt_batch.runs.run import Evaluation, Run, load
    from ttt_batch.training.from_games import learn_from
    from ttt_batch.training.train import Progress, train

__version__ = VERSION

__all__ = [
    "LEARNERS",
    "Board",
    "BoardError",
    "Evaluation",
    "Progress",
    "Run",
    "RunFileError",
    "TttBatchError",
    "UsageError",
    "evaluate",
    "export_run",
    "import_run",
    "learn_from",
    "load",
    "parse_board",
    "play",
    "plot",
    "show",
    "tournament",
    "train",
]

_HOMES = {
    "Board": "game.board",
    "parse_board": "game.board",
    "BoardError": "base.errors",
    "RunFileError": "base.errors",
    "TttBatchError": "base.errors",
    "UsageError": "base.errors",
    "LEARNERS": "learners",
    "Evaluation": "runs.run",
    "Run": "runs.run",
    "load": "runs.run",
    "Progress": "training.train",
    "evaluate": "app.api",
    "export_run": "app.api",
    "import_run": "app.api",
    "learn_from": "training.from_games",
    "play": "app.api",
    "plot": "app.api",
    "show": "app.api",
    "tournament": "app.api",
    "train": "training.train",
}

for _name, _home in {
    "figure": "app.api:figure",
    "Evaluation": "app.reports.evaluation:evaluation_text",
    "GrownEvaluation": "app.reports.evaluation:grown_evaluation_text",
    "Series": "app.reports.tournament:series_text",
    "Shown": "app.reports.position:show_text",
    "Tournament": "app.reports.tournament:tournament_text",
}.items():
    hooks.register(_name, f"{__name__}.{_home}")


def __getattr__(name: str) -> Any:
    """Load a public name from its module on first use."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import importlib

    return getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
