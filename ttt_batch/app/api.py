"""Public Python API: the names that `ttt_batch` exports, and the functions behind its commands.

Functions take a run, the name of its file, or an agent.  Results print like the command's output, also in notebooks.
They have `to_dict()` (the keys of `--json`) and `to_frame()` (a table for pandas).  `train`, `load` and `import_run`
return runs, which have both methods.  `learn_from` returns a run and the bad lines.  `plot` and `export_run` return the
written files; a notebook shows the picture of a plot.

Functions take and return cells as numbers from 0.  Text is read as on the command line: a digit names a cell from 1, as
on screen, and `b2` means column and row.  Functions that return cells refuse digits in text.
"""

import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ttt_batch.agents.adapter import AgentAdapter
from ttt_batch.analysis.judge import prove
from ttt_batch.analysis.position import PositionReport
from ttt_batch.analysis.position import describe_position as show_position
from ttt_batch.analysis.tournament import Tournament
from ttt_batch.analysis.tournament import all_play_all as hold_tournament
from ttt_batch.app.judging import (
    AnyRunOrPath,
    Player,
    evaluate,
    export_run,
    import_run,
    import_table,
    judge,
    open_players,
)
from ttt_batch.app.terminal.faces import Score
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
    flag,
    quoted,
)
from ttt_batch.core.files import unused_paths
from ttt_batch.core.outputs import check_distinct, named_file
from ttt_batch.core.resources import thread_count
from ttt_batch.core.text import Number, Ties, parse_int, parse_seed
from ttt_batch.environments.batch import Batch
from ttt_batch.games.board import Board, Position, parse_board
from ttt_batch.learners import LEARNERS
from ttt_batch.runs.evaluation import Evaluation
from ttt_batch.runs.formats.base import FormatError
from ttt_batch.runs.loading import AnyRun, any_run
from ttt_batch.runs.loading import load_any as load
from ttt_batch.runs.lookup import find_run
from ttt_batch.runs.network_run import PatternRun
from ttt_batch.runs.run import Run
from ttt_batch.simulation import random_games as bulk
from ttt_batch.studies.study import MEMORY, Study, load_study, study
from ttt_batch.studies.work import StudyProgress
from ttt_batch.training.from_games import learn_from
from ttt_batch.training.session import Progress
from ttt_batch.training.train import train

if TYPE_CHECKING:
    from ttt_batch.app.notebooks import Picture

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
    "study",
    "tournament",
    "train",
]

RunOrPath = Run | str | Path
"""A run, or the name of its file."""


def tournament(
    runs: Sequence[Player],
    names: Sequence[str] | None = None,
    *,
    games: int | None = None,
    seed: int = 0,
    ties: Ties = "any",
) -> Tournament:
    """Play every run against every run in both seats: exactly, or with `games` games per meeting.

    runs: may include agents (see `judge`), which play on the board of the first run, or on 3x3 without a run.
    names: one for each; by default names of files, learners or agents.
    Raises UsageError, BoardError, RunFileError and AgentError.
    """
    if isinstance(runs, AnyRunOrPath):
        raise UsageError("a tournament takes two runs or more; use evaluate for one")
    _check_names(names)
    given = _several(runs)
    with open_players(given) as entrants:
        called = names if names is not None else list(map(_name, given, entrants))
        return hold_tournament(entrants, called, games=games, seed=seed, ties=ties)


def show(
    run: Player, position: str | int | Position = 0, *, symmetric: bool = False, ties: Ties = "any"
) -> PositionReport:
    """Return a report on a position: its value, each move's value and visits, the exact result, the best replies.

    position: as `Run.position` reads it; by default the empty board.  symmetric: include its symmetric images.
    Raises BoardError for a position that no game reaches.
    """
    with open_players([run]) as (player,):
        return show_position(player, position, symmetric=symmetric, ties=ties)


def play(
    run: Player,
    *,
    seat: str | None = None,
    level: float = 1.0,
    epsilon: float = 0.0,
    seed: int | None = None,
    ties: Ties | None = None,
    plain: bool = False,
) -> Score:
    """Play against a run in the terminal until the user leaves; return the user's score.

    seat: the user's, `first`, `second` or `alternate`; by default `first`, against `menace` `second`.
    level, epsilon: the agent's strength, 0 to 1.
    seed: of the agent's choices.  plain: print lines of text on a terminal, too; other outputs always get them.
    ties: by default `sharp`, or `soonest` on a board too large to enumerate.
    Raises UsageError and BoardError.
    """
    from ttt_batch.app.terminal import loop

    with open_players([run]) as (player,):
        return loop.play_in_terminal(
            player,
            person=loop.persons_seat(player, seat),
            stdin=sys.stdin,
            stdout=sys.stdout,
            seed=seed,
            level=level,
            epsilon=epsilon,
            ties=ties,
            plain=plain,
        )


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
    Raises RunFileError and the errors of `plots.draw_runs` and `plots.plot_study`.
    """
    from ttt_batch.app.notebooks import Picture
    from ttt_batch.app.plots import draw_runs as draw
    from ttt_batch.app.plots import plot_study, study_to_draw

    given = _several(runs)
    files: list[Any] = [
        run if isinstance(run, Study) else None if isinstance(run, AnyRun) else find_run(run) for run in given
    ]
    _check_names(names)
    called = names if names is not None else [_name(run) for run in given]
    study, kind = study_to_draw(files, kind)
    wrong = {"names": names} if study else {"metric": metric, "only": only}
    for name, value in wrong.items():
        if value is not None:
            raise UsageError(f"{flag(name)} is for {'runs' if study else 'a study'}; leave it out")
    if out is not None:
        out = named_file("out", out)
    else:
        stem = f"{Path(_name(given[0])).stem}-{kind}" if len(given) == 1 else kind
        out = next(unused_paths(Path(f"{stem}{'.gif' if kind == 'movie' else '.png'}")))
    check_distinct(
        [(flag("out"), Path(out))], [("study" if study else "run", file) for file in map(_file, files) if file]
    )
    if study:
        return Picture(plot_study(study, out, kind, metric=metric, only=only, overwrite=overwrite))
    return Picture(draw([any_run(run) for run in given], called, out, kind, overwrite=overwrite))


def random_games(
    board: Board | str = "3x3", games: Number = 1_000_000, *, seed: Number = 0, threads: Number | None = None
) -> NDArray[np.int64]:
    """Play games of uniformly random moves without learning, and return their results.

    The result is int64[3]: wins of the first player, draws, wins of the second player; it sums to `games`.
    games: up to 10**15; a processor plays about a billion per second on 3x3.  threads: None for all processors.
    Raises UsageError, and BoardError for an `-exact` board or one of more than 36 cells.
    """
    at_once, n_games = thread_count(threads), parse_int("games", games, 0, bulk.MAX_RANDOM_GAMES)
    return bulk.play_random_games(parse_board(board), n_games, seed=parse_seed(seed), threads=at_once)


def _several(runs: Any) -> list[Any]:
    """Return the runs as a list, also for a single run or a study."""
    return list(runs) if isinstance(runs, Iterable) and not isinstance(runs, AnyRunOrPath) else [runs]


def _check_names(names: object) -> None:
    """Raise UsageError if the names of runs are a single string, whose letters would become the names."""
    if isinstance(names, str):
        raise UsageError(f"names {quoted(names)} is one string; give a list with a name for each run, or leave it out")


def _file(given: Study | Path | None) -> Path | None:
    """Return the file of a study or run; None if it is in memory only."""
    if isinstance(given, Study):
        return None if given.path == MEMORY else given.path
    return given


def _name(given: object, read: AnyRun | AgentAdapter | None = None) -> str:
    """Return the name of a run, a study or an agent.  read: the run or agent itself, if `given` is not one."""
    if isinstance(given, str | Path):
        return str(given)
    if isinstance(given, Study):
        return "study" if given.path == MEMORY else str(given.path)
    meant = given if read is None else read
    return meant.config.learner if isinstance(meant, AnyRun) else getattr(meant, "name", "")
