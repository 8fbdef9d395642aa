"""Helpers that several tests share: commands, slow cases, tables, folds, and access to the naive oracle."""

import io
import os
import random
import re
import subprocess
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from oracle import naive
from oracle.boards import oracle_like

import ttt_batch as ttt
from helpers.players import random_game
from ttt_batch.__main__ import run as run_here
from ttt_batch.compiler.jit import kernel
from ttt_batch.compiler.numerics import RULE, stream_key
from ttt_batch.games.board import Board
from ttt_batch.games.enumeration import enumerate_graph
from ttt_batch.games.graph import Graph
from ttt_batch.games.transcript_reader import GameLines, GameReader
from ttt_batch.games.transcripts import Games, on_graph
from ttt_batch.learners import LEARNERS
from ttt_batch.learners.base import Learner, Settings, fold, make_step, make_trajectory
from ttt_batch.runs.config import Config
from ttt_batch.runs.run import Run
from ttt_batch.simulation.policy import EXPLORING, GREEDY, Counts, empty_counts
from ttt_batch.training.from_games import config_from_games, games_learner, run_of_games
from ttt_batch.training.kernels.games import learn_given
from ttt_batch.training.trainers.batched import make_trainer

BOARD = Board()
BY_EPSILON = [name for name, learner in LEARNERS.items() if not learner.by_chances]
"""Learners that play their best moves unless they explore; the others draw by chances that they learn."""
BOTH_SEATS = [name for name, learner in LEARNERS.items() if not learner.by_beads]
"""Learners that play in either seat and on any board."""


def never() -> bool:
    """A `stop` that never stops."""
    return False


def recorded(program: str) -> dict[str, Any]:
    """Games of another program, and the numbers that it learnt from them."""
    with np.load(Path(__file__).parents[1] / "recorded" / f"{program}.npz") as file:
        return dict(file)


def names(folder: Path) -> list[str]:
    """The names of what a folder holds, in order."""
    return sorted(path.name for path in folder.iterdir())


def bytes_of(tables: Iterable[Any]) -> list[bytes]:
    """The bytes of each table."""
    return [array.tobytes() for array in tables]


def random_games(board: Board, number: int, seed: int = 1) -> list[list[int]]:
    """Cells of finished games of random moves."""
    rng = random.Random(seed)
    return [random_game(board, rng) for _ in range(number)]


def lines_of(games: Iterable[Iterable[int]]) -> list[str]:
    """Games as they are written."""
    return [" ".join(map(str, cells)) for cells in games]


def without_compiling(err: str) -> str:
    """Standard error without the lines about compiled kernels, which come where the cache lacks one."""
    return re.sub(r"^compiling kernels .*\n", "", err, flags=re.MULTILINE)


def command(capsys: pytest.CaptureFixture[str], *words: Any, typed: str | None = None) -> tuple[int, str, str]:
    """Exit status, standard output and standard error of a command, in this process; see `without_compiling`.

    typed: what standard input holds, if the command reads it.
    """
    with pytest.MonkeyPatch.context() as patch:
        if typed is not None:
            patch.setattr(sys, "stdin", io.StringIO(typed))
        status = run_here([str(word) for word in words])
    out, err = capsys.readouterr()
    return status, out, without_compiling(err)


def finished(words: Sequence[str | Path], **options: Any) -> "subprocess.CompletedProcess[str]":
    """A program that has ended, with what it printed, `without_compiling`; `check` is False unless it is given."""
    done = subprocess.run(words, **{"capture_output": True, "text": True, "check": False, **options})
    done.stderr = without_compiling(done.stderr)
    return done


def interrupted(training: "subprocess.Popen[str]", number: int) -> tuple[str, str]:
    """Send a training a signal after its first games, and return what it printed from then on; its status is 130."""
    assert training.stderr is not None
    for line in training.stderr:
        if " games " in line:
            break
    training.send_signal(number)
    out, err = training.communicate(timeout=300)
    assert training.returncode == 130, err
    return out, err


def without_jit(file: str, expression: str) -> str:
    """What an expression prints that begins with a name of a test file, in another process without the JIT."""
    path = Path(file)
    folders = [str(path.parent), str(path.parents[1])]
    program = f"import sys; sys.path[:0] = {folders!r}; import {path.stem} as here; print(here.{expression})"
    environment = {**os.environ, "NUMBA_DISABLE_JIT": "1"}
    done = finished([sys.executable, "-W", "error::RuntimeWarning", "-c", program], env=environment, timeout=300)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def assert_begun_anew_changes_nothing(config: Config) -> None:
    """A trainer that goes on, and one made anew for every batch of 128 games, which remembers nothing, learn alike."""
    options = {"opponent": config.opponent or None}
    one, other = make_trainer(config, **options), make_trainer(config, **options)
    for games in range(128, 5_000, 128):
        other = make_trainer(config, **options, state=other.state())
        for trainer in (one, other):
            trainer.advance(games, lambda: False)
    for ours, theirs in zip(one.tables, other.tables, strict=True):
        assert ours.tobytes() == theirs.tobytes()


def mostly_slow(values: Iterable[Any], *quick: Any) -> list[Any]:
    """`values` as parameters of a test, of which all but `quick` are marked as slow; a tuple is several arguments."""
    listed = list(values)
    assert all(value in listed for value in quick)
    return [
        pytest.param(
            *(value if isinstance(value, tuple) else (value,)), marks=() if value in quick else (pytest.mark.slow,)
        )
        for value in listed
    ]


def cells_of(lines: Iterable[str], board: Board = BOARD, *, occupied: bool = False) -> Games:
    """Games as cells; a bad line is an error."""
    pieces = list(GameReader(board, occupied=occupied).read(GameLines(lines)))
    assert len(pieces) <= 1, "few enough to be read at once"
    return pieces[0] if pieces else Games(np.zeros(1, np.int64), np.zeros(0, np.int8), np.zeros(0, np.bool_))


def games_of(lines: Iterable[str], graph: Graph, board: Board = BOARD) -> Games:
    """Games on the rows of `graph`, of all positions of `board`; a bad line is an error."""
    return on_graph(cells_of(lines, board, occupied=bool((graph.code < 0).any())), graph, board, False)


def untaught(learner: str | None = None, run: Run | None = None, **options: Any) -> Run:
    """Return the tables with which `ttt.learn_from` begins."""
    return run_of_games(games_learner(config_from_games(learner, run, **options), run), 0.0)


def assert_same_run(one: Run, other: Run) -> None:
    """Everything that the games determine is the same to the last bit."""
    assert one.config == other.config
    assert one.games == other.games
    for ours, theirs in zip(one.tables, other.tables, strict=True):
        assert ours.dtype == theirs.dtype and ours.tobytes() == theirs.tobytes()
    assert one.visits.tobytes() == other.visits.tobytes()
    assert [column.tobytes() for column in one.positions] == [column.tobytes() for column in other.positions]
    assert one.statistics.keys() == other.statistics.keys()
    for name, column in one.statistics.items():
        assert column.dtype == other.statistics[name].dtype, name
        assert name == "seconds" or column.tobytes() == other.statistics[name].tobytes(), name
    assert (one.batch_start is None) == (other.batch_start is None)
    if one.batch_start is not None and other.batch_start is not None:
        assert one.batch_start.games == other.batch_start.games
        assert one.batch_start.outcomes.tolist() == other.batch_start.outcomes.tolist()
        assert one.batch_start.visits.tobytes() == other.batch_start.visits.tobytes()
        for ours, theirs in zip(one.batch_start.tables, other.batch_start.tables, strict=True):
            assert ours.tobytes() == theirs.tobytes()
    assert int(one.statistics["outcomes"][-1].sum()) == one.games


def assert_same_in_parts(path: Path, games: int, ends: Iterable[int], **options: Any) -> Run:
    """A run that is resumed from its file at each of `ends` is the run in one piece; return that one."""
    whole = ttt.train(games, **options)
    ttt.train(1, **options, out=path)
    for until in (*ends, games):
        resumed = ttt.train(resume=path, until=until)
        assert resumed.games == until
    assert_same_run(resumed, whole)
    assert_same_run(ttt.load(path), whole)
    return whole


def assert_arrivals_add_up(graph: Graph, counts: Counts, games: int) -> None:
    """Check that the games that arrive in a row are those taken into it, and those that leave it; none is negative."""
    n_open = graph.first_edge.size - 1
    assert (counts.taken >= 0).all()
    arrived = np.zeros(graph.code.size, np.int64)
    np.add.at(arrived, graph.child, counts.taken.sum(axis=1))
    arrived[0] = games
    assert (counts.arrived == arrived).all()
    assert (np.add.reduceat(counts.taken.sum(axis=1), graph.first_edge[:-1]) == arrived[:n_open]).all()
    assert arrived[n_open:].sum() == games
    assert (counts.visited[: counts.n_visited[0]] == np.flatnonzero(arrived[:n_open])).all()


@kernel
def run_fold(tables: Any, graph: Graph, counts: Counts, step: Any, dirty: Any) -> None:
    """The fold of a learner as a kernel that can be called from here."""
    fold(tables, graph, counts, step, dirty)


class Subject:
    """A learner of the package with its tables, driven by given games."""

    def __init__(self, name: str, seed: int = 0, board: Board = BOARD, **changes: Any) -> None:
        self.learner: Learner = LEARNERS[name]
        d = self.learner.defaults
        self.settings = Settings(**{**{f: getattr(d, f) for f in d.__dataclass_fields__}, **changes})
        self.board = board
        self.graph = enumerate_graph(board, self.learner.occupied)
        self.worth = self.learner.worth(self.settings)
        self.outcomes = np.zeros(4, np.int64)
        s = self.settings
        self.games, self.chance = 0, stream_key(seed, RULE)
        own = {"epsilon": s.epsilon, "lambda_": s.lambda_, "cut": s.cut, "beta": s.beta, "chance": self.chance}
        self.step = make_step(s.alpha, s.gamma, self.worth, **own)
        self.tables = self.learner.start(self.graph, self.worth, np.random.default_rng(seed))

    def parse(self, lines: list[str]) -> Games:
        return games_of(lines, self.graph, self.board)

    def learn(self, lines: list[str]) -> None:
        game, step = make_trajectory(int(self.graph.ply.max())), self.step._replace(game=self.games)
        self.games += len(lines)
        learn_given(self.tables, self.graph, step, None, self.parse(lines), game, self.outcomes, 0, False)

    def counts(self, lines: list[str]) -> Counts:
        games = self.parse(lines)
        counts = empty_counts(self.graph)
        np.add.at(counts.taken, (games.move, np.where(games.exploring, EXPLORING, GREEDY)), 1)
        np.add.at(counts.arrived, self.graph.child[games.move], 1)
        counts.arrived[0] = games.start.size - 1
        visited = np.flatnonzero(counts.arrived[: counts.visited.size])
        counts.visited[: visited.size] = visited
        counts.n_visited[0] = visited.size
        return counts

    def fold(self, lines: list[str]) -> np.ndarray:
        dirty = np.zeros(self.graph.first_edge.size - 1, np.bool_)
        run_fold(self.tables, self.graph, self.counts(lines), self.step._replace(game=self.games), dirty)
        self.games += len(lines)
        return dirty

    def oracle(self) -> naive.Learner:
        """The naive learner with the same options and start table."""
        board = naive.Board(self.board.rows, self.board.cols, self.board.k)
        return oracle_like(self, self.settings, board, int(self.chance))
