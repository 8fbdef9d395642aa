"""The public API: all that `ttt_batch` offers is listed here, and the functions that do what commands do are here.

A run, or the name of its file, goes in.  What `evaluate`, `tournament`, `show` and `play` return prints as the command
does, with parameters for options, and has `to_dict()` (the keys of `--json`) and `to_frame()` (a table for pandas);
`import_run` returns a run, `learn_from` a run and the bad lines, `plot` and `export_run` the files written.
"""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ttt_batch.analysis.matches import GrownEvaluation, evaluate_grown, scripted_evaluation
from ttt_batch.analysis.opponents import PLAYERS
from ttt_batch.analysis.position import Shown
from ttt_batch.analysis.position import show as show_position
from ttt_batch.analysis.tournament import Tournament
from ttt_batch.analysis.tournament import tournament as hold_tournament
from ttt_batch.app.terminal.faces import Score
from ttt_batch.base.choices import Ties, check_ties, choose, choose_person, either, find_name
from ttt_batch.base.errors import BoardError, RunFileError, TttBatchError, UsageError, option, quoted
from ttt_batch.base.files import free_names
from ttt_batch.base.outputs import check_distinct
from ttt_batch.base.processors import available_threads
from ttt_batch.base.quantities import Number, any_seed, whole
from ttt_batch.game.board import Board, Position, parse_board
from ttt_batch.game.state_space import too_large
from ttt_batch.game.transcripts import GamesError
from ttt_batch.learners import LEARNERS
from ttt_batch.runs import exchange
from ttt_batch.runs.evaluation import EXACT_OPPONENTS, Evaluation
from ttt_batch.runs.formats import FORMATS
from ttt_batch.runs.formats.base import FormatError
from ttt_batch.runs.loading import load
from ttt_batch.runs.lookup import find_run, name_or_run
from ttt_batch.runs.run import Run
from ttt_batch.simulation import random_games as bulk
from ttt_batch.training.from_games import learn_from
from ttt_batch.training.session import Progress
from ttt_batch.training.train import train

__all__ = [
    "LEARNERS",
    "Board",
    "BoardError",
    "Evaluation",
    "FormatError",
    "GamesError",
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
    "random_games",
    "show",
    "tournament",
    "train",
]

RunOrPath = Run | str | Path
"""A run, or the name of its file."""


def evaluate(
    run: RunOrPath,
    against: RunOrPath | None = None,
    *,
    games: int | str | None = None,
    seed: int | str | None = None,
    budget: int | str | None = None,
    ties: Ties = "any",
) -> Evaluation | GrownEvaluation:
    """Judge a run, exactly unless its board is too large to enumerate.

    against: `random` (if not given), `one-ply`, `two-ply`, `optimal`, `self` or another run.  On boards too large to
    enumerate `random`, `one-ply` or `two-ply`; all three if not given.
    games: games per match, on such boards only.  seed: of these matches.  budget: positions to search in each seat for
    a way to beat the agent.
    ties: as for `Run.candidates`.
    Raises UsageError, BoardError and RunFileError.
    """
    agent, ties = _run(run), check_ties(ties)
    given = {name: value for name, value in (("games", games), ("seed", seed), ("budget", budget)) if value is not None}
    if agent.grown is not None:
        return evaluate_grown(agent, PLAYERS if against is None else [_player(against, agent)], ties=ties, **given)
    if given:
        raise UsageError(
            f"{option(next(iter(given)))} is for boards too large to enumerate; {agent.board.name} is judged exactly, "
            "leave it out"
        )
    names = tuple(dict.fromkeys((*PLAYERS, *EXACT_OPPONENTS)))
    opponent = against if against is not None else "random"
    if not isinstance(opponent, Run):
        opponent = name_or_run("opponent", opponent, names)
    if isinstance(opponent, Path):
        opponent = load(opponent)
    if isinstance(opponent, Run) or opponent in EXACT_OPPONENTS:
        return agent.evaluation(opponent, ties)
    return scripted_evaluation(agent, opponent, ties)


def tournament(
    runs: Sequence[RunOrPath],
    names: Sequence[str] | None = None,
    *,
    games: int | None = None,
    seed: int = 0,
    ties: Ties = "any",
) -> Tournament:
    """Let every run play every run in both seats: exactly, or by `games` games a meeting.

    names: what to call them; if not given, their files' names, or learners.  Raises UsageError and BoardError.
    """
    if isinstance(runs, Run | str | Path):
        raise UsageError("a tournament takes two runs or more; evaluate judges one alone")
    called = names if names is not None else [_name(run) for run in runs]
    return hold_tournament([_run(run) for run in runs], called, games=games, seed=seed, ties=ties)


def show(run: RunOrPath, position: str | int | Position = 0, *, symmetric: bool = False, ties: Ties = "any") -> Shown:
    """Gather everything about a position: its value, each move's value and visits, the truth, the best replies.

    position: as `Run.position` reads it; the empty board if not given.  symmetric: its images, too.
    Raises BoardError for a position that no game reaches.
    """
    return show_position(_run(run), position, symmetric=symmetric, ties=ties)


def play(
    run: RunOrPath,
    *,
    seat: str = "first",
    level: float = 1.0,
    epsilon: float = 0.0,
    seed: int | None = None,
    ties: Ties = "soonest",
    plain: bool = False,
) -> Score:
    """Play against a run in the terminal until the person leaves; return the person's score.

    seat: the person's, `first`, `second` or `alternate`.  level, epsilon: the agent's strength, 0 to 1.
    seed: of the agent's choices.  plain: lines of text on a terminal, too; elsewhere there is nothing else.
    Raises UsageError.
    """
    from ttt_batch.app.terminal import playing

    return playing.play(
        _run(run),
        person=choose_person(seat),
        stdin=sys.stdin,
        stdout=sys.stdout,
        seed=seed,
        level=level,
        epsilon=epsilon,
        ties=ties,
        plain=plain,
    )


def plot(
    runs: RunOrPath | Sequence[RunOrPath],
    names: Sequence[str] | None = None,
    out: str | Path | None = None,
    kind: str = "curves",
    *,
    overwrite: bool = False,
) -> Path:
    """Draw one run or several into the file `out`, a `.png` or `.svg`, and return its path.

    names: what to call them; if not given, their files' names, or learners.
    out: a new name, such as `td-3x3-curves.png`, if not given.  kind: `curves`, `opening` or `coverage`.
    Raises as `plots.plot` does, and RunFileError.
    """
    from ttt_batch.app.plots import KINDS
    from ttt_batch.app.plots import plot as draw

    given = [runs] if isinstance(runs, Run | str | Path) else list(runs)
    if isinstance(names, str):
        raise UsageError(f"names {quoted(names)} is one text; give a list with a name for each run, or leave it out")
    called = names if names is not None else [_name(run) for run in given]
    kind = choose("kind of plot", kind, KINDS)
    if out is None:
        stem = f"{Path(_name(given[0])).stem}-{kind}" if len(given) == 1 else kind
        out = next(free_names(Path(f"{stem}.png")))
    check_distinct([(option("out"), Path(out))], [("run", find_run(run)) for run in given if not isinstance(run, Run)])
    return draw([_run(run) for run in given], called, out, kind, overwrite=overwrite)


def export_run(
    run: RunOrPath, out: str | Path | Sequence[str | Path], to: str, *, player: str | None = None, **options: Any
) -> list[Path]:
    """Write a run's table to `out` as the format `to`, or as a page to play on (`html`); return the files written.

    out: one file, or for formats with a file for each player one or two.  player: whose values go into one file.
    options: `overwrite`; for a page also `ties`.  Raises UsageError, BoardError and FormatError.
    """
    files = [Path(out)] if isinstance(out, str | Path) else [Path(one) for one in out]
    to = choose("format", to, ("html", *FORMATS))
    read = [] if isinstance(run, Run) else [("run", find_run(run))]
    check_distinct([(option("out"), file) for file in files], read)
    if not isinstance(run, Run):
        run = load(run, check=lambda config: exchange.check_export(config, to))
    if to == "html":
        from ttt_batch.app.web import export_page

        if len(files) != 1 or player is not None:
            raise UsageError("a page is one file for both players; give one file and no player")
        return [export_page(run, files[0], **options)]
    return exchange.export_run(run, to, files, player=player, **options)


def import_run(
    files: str | Path | Sequence[str | Path],
    learner: str,
    *,
    out: str | Path | None = None,
    overwrite: bool = False,
    **options: Any,
) -> Run:
    """Read another program's table into a run of `learner`, saved to `out` if that is given.

    files: one file, or two, a player each.  options: `form`, `board`, `player` and those of `Config`.
    Raises UsageError, FormatError and RunFileError.
    """
    paths = [files] if isinstance(files, str | Path) else list(files)
    if out is not None:
        check_distinct([(option("out"), Path(out))], [("files", Path(path)) for path in paths])
    run = exchange.import_tables(paths, learner, **options)
    if out is not None:
        run.save(out, overwrite=overwrite)
    return run


def random_games(
    board: Board | str = "3x3", games: Number = 1_000_000, *, seed: Number = 0, threads: Number | None = None
) -> NDArray[np.int64]:
    """Play games of uniformly random moves, without learning; return how they ended.

    The result is int64[3]: wins of the first player, draws, wins of the second player; it sums to `games`.
    games: up to 10**15; a processor plays about a billion a second on 3x3.
    threads: None for all processors; the result is the same.
    Raises UsageError, and BoardError for an `-exact` board.
    """
    n_threads = whole("threads", available_threads() if threads is None else threads, 1, 1024)
    n_games = whole("games", games, 0, bulk.MAX_RANDOM_GAMES)
    return bulk.random_games(parse_board(board), n_games, seed=any_seed(seed), threads=n_threads)


def figure(run: Run, kind: str = "curves") -> Any:
    """A matplotlib Figure of a run, for `Run.plot`."""
    from ttt_batch.app.plots import make_figure
    from ttt_batch.app.plots.style import styled

    with styled():
        return make_figure([run], [run.config.learner], kind)


def _run(run: RunOrPath) -> Run:
    return run if isinstance(run, Run) else load(run)


def _name(run: RunOrPath) -> str:
    return run.config.learner if isinstance(run, Run) else str(run)


def _player(against: RunOrPath, agent: Run) -> str:
    """The scripted player that is meant.  Raises UsageError and RunFileError for other opponents."""
    what = "another run"
    if not isinstance(against, Run):
        if (known := find_name(against, EXACT_OPPONENTS)) is not None and known not in PLAYERS:
            what = option("against", known)
        elif isinstance(found := name_or_run("opponent", against, PLAYERS, others=""), str):
            return found
    raise too_large(what, agent.board, f"choose {either(PLAYERS)}")
