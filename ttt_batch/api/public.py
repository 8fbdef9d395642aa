"""Public Python API: the names that `ttt_batch` exports, and the functions behind its commands.

Functions take a run, the name of its file, or an agent.  Results print like the command's output, also in notebooks.
They have `to_dict()` (the keys of `--json`) and `to_frame()` (a table for pandas).  `train`, `load` and `import_run`
return runs, which have both methods.  `learn_from` returns a run and the bad lines.  `plot` and `export_run` return the
written files; a notebook shows the picture of a plot.

Functions take and return cells as numbers from 0.  Text is read as on the command line: a digit names a cell from 1, as
on screen, and `b2` means column and row.  Functions that return cells refuse digits in text.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ttt_batch.agents.external import open_players
from ttt_batch.analysis.judge import prove
from ttt_batch.analysis.smallest import smallest_proof
from ttt_batch.api.judging import AnyRunOrPath, Player, as_list, evaluate, judge, show, tournament
from ttt_batch.api.tables import export_run, import_run, import_table
from ttt_batch.core.errors import (
    AgentError,
    BoardError,
    CertificateError,
    ClusterError,
    GamesError,
    RunFileError,
    StudyFileError,
    TttBatchError,
    UsageError,
)
from ttt_batch.core.hooks import call_hook
from ttt_batch.core.resources import thread_count
from ttt_batch.core.text import Number, Ties, parse_int, parse_seed
from ttt_batch.environments.batch import Batch
from ttt_batch.games.board import Board, parse_board
from ttt_batch.learners import LEARNERS
from ttt_batch.runs.evaluation import Evaluation
from ttt_batch.runs.formats.base import FormatError
from ttt_batch.runs.loading import load_any as load
from ttt_batch.runs.network_run import PatternRun
from ttt_batch.runs.run import Run
from ttt_batch.simulation import random_games as bulk
from ttt_batch.studies.study import Study, load_study, study
from ttt_batch.studies.work import StudyProgress
from ttt_batch.training.from_games import learn_from
from ttt_batch.training.session import Progress
from ttt_batch.training.train import train

if TYPE_CHECKING:
    from ttt_batch.app.notebooks import Picture
    from ttt_batch.app.terminal.faces import Score

__all__ = [
    "LEARNERS",
    "AgentError",
    "Batch",
    "Board",
    "BoardError",
    "CertificateError",
    "ClusterError",
    "Evaluation",
    "FormatError",
    "GamesError",
    "PatternRun",
    "Progress",
    "Run",
    "RunFileError",
    "Study",
    "StudyFileError",
    "StudyProgress",
    "TttBatchError",
    "UsageError",
    "evaluate",
    "export_run",
    "import_run",
    "import_table",
    "judge",
    "learn_from",
    "load",
    "load_study",
    "parse_board",
    "play",
    "plot",
    "prove",
    "random_games",
    "show",
    "smallest_proof",
    "study",
    "tournament",
    "train",
]


def play(
    run: Player,
    *,
    seat: str | None = None,
    level: float = 1.0,
    epsilon: float = 0.0,
    seed: int | None = None,
    ties: Ties | None = None,
    plain: bool = False,
) -> "Score":
    """Play against a run in the terminal until the user leaves; return the user's score.

    seat: the user's, `first`, `second` or `alternate`; by default `first`, against `menace` `second`.
    level, epsilon: the agent's strength, 0 to 1.
    seed: of the agent's choices.  plain: print lines of text on a terminal, too; other outputs always get them.
    ties: by default `sharp`, or `soonest` on a board too large to enumerate.
    Raises UsageError and BoardError.
    """
    how = {"seat": seat, "level": level, "epsilon": epsilon, "seed": seed, "ties": ties, "plain": plain}
    with open_players([run]) as (player,):
        score: Score = call_hook("play", player, **how)
    return score


def plot(
    runs: AnyRunOrPath | Study | Sequence[AnyRunOrPath],
    names: Sequence[str] | None = None,
    out: str | Path | None = None,
    kind: str = "curves",
    *,
    metric: str | None = None,
    only: Mapping[str, object] | None = None,
    overwrite: bool = False,
) -> "Picture":
    """Plot one or several runs, or a study, into the file `out`, a `.png` or `.svg`, and return its path.

    A notebook shows the returned path as a picture.
    runs: runs or names of their files.  names: of the runs; by default names of files or learners.
    out: by default a new name such as `td-3x3-curves.png`.
    kind: `curves`, `opening`, `coverage`, or `movie` (a `.gif` of one run that was trained with `keep_points`).  For a
    study `curves`, `sensitivity`, `settling` or `heat`.
    metric: for a study, the quantity of `sensitivity` and `heat`; the others choose the best eight settings by it.
    only: for a study, values by option, such as `{"alpha": "0.1,0.2"}`; other settings are left out.
    Raises RunFileError and the errors of `plots.draw_picture`.
    """
    picture: Picture = call_hook("plot", as_list(runs), names, out, kind, metric, only, overwrite=overwrite)
    return picture


def random_games(
    board: Board | str = "3x3", games: Number = 1_000_000, *, seed: Number = 0, threads: Number | None = None
) -> NDArray[np.int64]:
    """Play games of uniformly random moves without learning, and return their results.

    The result is int64[3]: wins of the first player, draws, wins of the second player; it sums to `games`.
    games: up to 10**15; a processor plays about a billion per second on 3x3.  threads: None for all processors.
    Raises UsageError, and BoardError for a board of more than 36 cells.
    """
    at_once, n_games = thread_count(threads), parse_int("games", games, 0, bulk.MAX_RANDOM_GAMES)
    return bulk.play_random_games(parse_board(board), n_games, seed=parse_seed(seed), threads=at_once)
