"""ttt-batch: a vectorised batch simulator and tabular self-play laboratory for small m,n,k boards.

    import ttt_batch as ttt
    run = ttt.train(games=1_000_000, seed=1)
    print(run.evaluation(against="random"))

Names are loaded when first used, so that importing the package (and `ttt-batch --help`) stays quick.
"""

from typing import TYPE_CHECKING, Any

from ttt_batch import hooks
from ttt_batch.version import VERSION

if TYPE_CHECKING:
    from ttt_batch.api import evaluate, export_run, import_run, play, plot, show, tournament
    from ttt_batch.board import Board, parse_board
    from ttt_batch.errors import BoardError, RunFileError, TttBatchError, UsageError
    from ttt_batch.given import learn_from
    from ttt_batch.learners import LEARNERS
    from ttt_batch.run import Evaluation, Run, load
    from ttt_batch.training import Progress, train

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
    "Board": "board",
    "parse_board": "board",
    "BoardError": "errors",
    "RunFileError": "errors",
    "TttBatchError": "errors",
    "UsageError": "errors",
    "LEARNERS": "learners",
    "Evaluation": "run",
    "Run": "run",
    "load": "run",
    "Progress": "training",
    "evaluate": "api",
    "export_run": "api",
    "import_run": "api",
    "learn_from": "given",
    "play": "api",
    "plot": "api",
    "show": "api",
    "tournament": "api",
    "train": "training",
}

for _name, _home in {
    "figure": "api:figure",
    "Evaluation": "reports.evaluation:evaluation_text",
    "GrownEvaluation": "reports.evaluation:grown_evaluation_text",
    "Series": "reports.tournament:series_text",
    "Shown": "reports.position:show_text",
    "Tournament": "reports.tournament:tournament_text",
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
