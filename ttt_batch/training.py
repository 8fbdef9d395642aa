"""The training loop: batches, threads, recorded points, progress.

Batch boundaries and recorded points are functions of the game number alone, and games are functions of (seed,
game number), so
neither the number of threads nor an interruption shows in the result.
"""

import math
import os
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ttt_batch.board import parse_board
from ttt_batch.config import DEFAULT_BATCH, MAX_GAMES, Config, make_config, whole
from ttt_batch.engine import finish_batch, make_workspace, prepare_batch, run_batches, run_games
from ttt_batch.evaluation import Judgement, judge, make_bench, make_judgement
from ttt_batch.graph import enumerate_graph, solve
from ttt_batch.learners import learner_named
from ttt_batch.learners.base import make_game
from ttt_batch.learners.steps import make_step
from ttt_batch.play.explorations import make_explorations
from ttt_batch.play.walk import BLOCK, make_abreast, walk
from ttt_batch.policy import empty_policy, random_policy
from ttt_batch.run import Run
from ttt_batch.runfile import check_target
from ttt_batch.streams import stream_key

GAMES_PER_THREAD = 131_072
"""Fewer games a thread are not worth the hand-over of 0.1 ms: a batch joins threads from twice this on."""

PIECE = 1 << 20
"""Games walked between two looks at `stop` within a batch."""

SLICE_SECONDS = 0.05
"""How long the kernels run between two looks at `stop` and two reports of progress."""

DENSE_BATCHES, PER_OCTAVE = 32, 8


@dataclass(frozen=True)
class Progress:
    """Where training stands.

    games, total: games learnt from and asked for.  seconds: since the start, compiling included.
    outcomes: first wins, draws and second wins in play.
    unbeatable_since: games at the first recorded point since which every one was unbeatable in both seats, or None.
    recorded: whether a point has just been recorded.
    """

    games: int
    total: int
    seconds: float
    outcomes: tuple[int, int, int]
    unbeatable_since: int | None
    recorded: bool


def recorded_points(batch: int) -> Iterator[int]:
    """Games after which the tables are judged: every batch at first, then eight times an octave."""
    number = 1
    while True:
        yield number * batch
        step = number / DENSE_BATCHES
        number = number + 1 if step < 1 else max(number + 1, round(number * 2 ** (1 / PER_OCTAVE)))


def available_threads() -> int:
    """Processors this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def unbeatable_since(games: NDArray[np.int64], unbeatable: NDArray[np.bool_]) -> int | None:
    """Games at the first point from which on all of `unbeatable` (bool[T, P]) holds, or None."""
    failing = np.flatnonzero(~unbeatable.all(axis=1))
    first = int(failing[-1]) + 1 if failing.size else 0
    return int(games[first]) if first < games.size else None


class Recorder:
    """The recorded points of a run, judged as they come."""

    def __init__(self, graph: Any, learner: Any, worth: NDArray[np.float64]) -> None:
        self._graph, self._choice = graph, learner.choice
        self._bench = make_bench(graph, empty_policy(graph), random_policy(graph), solve(graph), worth)
        self._rows: list[tuple[int, float, NDArray[np.int64], Judgement]] = []

    def record(self, tables: Any, games: int, seconds: float, outcomes: NDArray[np.int64]) -> None:
        """Judge `tables` after `games` games."""
        verdict = make_judgement()
        judge(tables, self._graph, self._choice, self._bench, verdict)
        self._rows.append((games, seconds, outcomes, verdict))

    @property
    def last(self) -> int:
        """Games at the last point; 0 before the first."""
        return self._rows[-1][0] if self._rows else 0

    def unbeatable_since(self) -> int | None:
        """See `unbeatable_since`, over the points so far."""
        since = None
        for games, _, _, verdict in reversed(self._rows):
            if not verdict.unbeatable.all():
                break
            since = games
        return since

    def statistics(self) -> dict[str, NDArray[Any]]:
        """The points as columns, by the names of the run file."""
        columns: dict[str, NDArray[Any]] = {
            "games": np.array([row[0] for row in self._rows], np.int64),
            "seconds": np.array([row[1] for row in self._rows], np.float64),
            "outcomes": np.array([row[2] for row in self._rows], np.int64).reshape(-1, 3),
        }
        for name, empty in make_judgement()._asdict().items():
            stacked = [getattr(row[3], name) for row in self._rows]
            columns[name] = np.array(stacked, empty.dtype).reshape(-1, *empty.shape)
        return columns


class Trainer:
    """Tables and working space of one run; `advance` moves it from game to game."""

    def __init__(self, config: Config, *, threads: int = 1, block: int = BLOCK) -> None:
        self.config, self.games = config, 0
        self.learner = learner_named(config.learner)
        self.graph = enumerate_graph(parse_board(config.board), self.learner.occupied)
        self.worth = self.learner.worth(config.settings)
        self.tables = self.learner.start(self.graph, self.worth, np.random.default_rng(config.seed % 2**64))
        self._step = make_step(config.alpha, config.gamma, self.worth)
        self._explorations = make_explorations(config.epsilon)
        self._key = stream_key(config.seed)
        self._work = make_workspace(self.graph, block)
        self._game = make_game(self.graph)
        self._favourite = self.graph.first_edge[:-1].copy()
        self._threads = min(threads, config.batch // GAMES_PER_THREAD)
        self._lanes = [
            (make_abreast(block), np.zeros_like(self._work.taken))
            for _ in range(self._threads if self._threads > 1 else 0)
        ]

    @property
    def outcomes(self) -> NDArray[np.int64]:
        """int64[3]: first wins, draws and second wins so far."""
        outcomes: NDArray[np.int64] = self._work.outcomes[[1, 3, 2]]
        return outcomes

    def advance(self, last: int, stop: Callable[[], bool]) -> None:
        """Learn from the games up to `last` (exclusive), or to an earlier end of a batch once `stop()` is true."""
        batch = self.config.batch
        if batch == 1:
            run_games(
                self.tables,
                self.graph,
                self.learner.choice,
                self._step,
                self._explorations,
                self._game,
                self._favourite,
                self._work.outcomes,
                self._key,
                self.games,
                last,
            )
        elif batch <= PIECE and not self._lanes:
            run_batches(
                self.tables,
                self.graph,
                self.learner.choice,
                self._step,
                self._explorations,
                self._work,
                self._key,
                self.games,
                last,
                batch,
            )
        else:
            self._advance_in_pieces(last, stop)
            return
        self.games = last

    def _advance_in_pieces(self, last: int, stop: Callable[[], bool]) -> None:
        """Large batches: walked in pieces, by several threads where there are any; counts add up in any order."""
        while self.games < last:
            end = min(last, (self.games // self.config.batch + 1) * self.config.batch)
            prepare_batch(self.tables, self.graph, self.learner.choice, self._work)
            if not self._walk_pieces(self.games, end, stop):
                self._work.taken[:] = 0  # stopped within the batch: it was not played
                return
            finish_batch(self.tables, self.graph, self._step, self._work, end - self.games)
            self.games = end

    def _walk_pieces(self, first: int, last: int, stop: Callable[[], bool]) -> bool:
        """Walk games `first` to `last - 1`; return False where `stop()` came first."""

        def walk_piece(piece: tuple[int, int, Any, NDArray[np.int64]]) -> None:
            walk(self.graph, self._work.courses, self._explorations, self._key, *piece)

        if not self._lanes:
            for start in range(first, last, PIECE):
                if stop():
                    return False
                walk_piece((start, min(start + PIECE, last), self._work.abreast, self._work.taken))
            return True
        with ThreadPoolExecutor(len(self._lanes)) as pool:
            stride = PIECE * len(self._lanes)
            for start in range(first, last, stride):
                if stop():
                    for _, taken in self._lanes:
                        taken[:] = 0
                    return False
                bounds = np.linspace(start, min(start + stride, last), len(self._lanes) + 1).astype(np.int64).tolist()
                pieces = zip(bounds[:-1], bounds[1:], *zip(*self._lanes, strict=True), strict=True)
                list(pool.map(walk_piece, pieces))
        for _, taken in self._lanes:
            self._work.taken[:] += taken
            taken[:] = 0
        return True


def train(
    games: int | None = None,
    *,
    learner: str = "td",
    board: str = "3x3",
    epsilon: float | None = None,
    alpha: float | None = None,
    gamma: float | None = None,
    draw_worth: tuple[float, float] | None = None,
    batch: int = DEFAULT_BATCH,
    engine: str = "walk",
    seed: int = 0,
    threads: int | None = None,
    block: int = BLOCK,
    out: str | Path | None = None,
    overwrite: bool = False,
    progress: Callable[[Progress], None] | None = None,
    stop: Callable[[], bool] | None = None,
    command: str = "",
) -> Run:
    """Train a learner by self-play and return the run, saved to `out` where that is given.

    games: how many to learn from; None for the learner's headline length.
    threads: None for all processors.  block: games a thread plays abreast.  Neither shows in the result.
    progress: called at every recorded point and about twenty times a second.
    stop: asked as often; once it returns True, training ends after the batch at hand and the run says `interrupted`.
    The other parameters are those of `Config`.  Raises UsageError, BoardError and RunFileError before any work starts.
    """
    config = make_config(
        learner=learner,
        board=board,
        epsilon=epsilon,
        alpha=alpha,
        gamma=gamma,
        draw_worth=draw_worth,
        batch=batch,
        engine=engine,
        seed=seed,
    )
    total = whole("games", learner_named(learner).games if games is None else games, 1, MAX_GAMES)
    n_threads = whole("threads", available_threads() if threads is None else threads, 1, 1024)
    whole("block", block, 1, 1 << 20)
    if out is not None:
        check_target(Path(out), overwrite=overwrite)
    started = time.perf_counter()
    created = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    trainer = Trainer(config, threads=n_threads, block=block)
    recorder = Recorder(trainer.graph, trainer.learner, trainer.worth)
    interrupted = _train_to(total, trainer, recorder, started, progress, stop or (lambda: False))
    run = Run(config, trainer.tables, trainer.games, recorder.statistics(), interrupted=interrupted)
    run.provenance = {
        "created": created,
        "command": command,
        "seconds": time.perf_counter() - started,
        "threads": n_threads,
        **_versions(),
    }
    if out is not None:
        run.save(out, overwrite=overwrite)
    return run


def _train_to(
    total: int,
    trainer: Trainer,
    recorder: Recorder,
    started: float,
    progress: Callable[[Progress], None] | None,
    stop: Callable[[], bool],
) -> bool:
    """Advance to `total` games, recording on the way; return whether `stop` came first."""
    batch = trainer.config.batch
    slice_games = batch
    points = recorded_points(batch)
    point = next(points)
    while trainer.games < total and not stop():
        # Slices end at ends of batches, so that only the clock, never the result, knows of them.
        until = min(total, point, (trainer.games + slice_games) // batch * batch)
        before = time.perf_counter()
        first = trainer.games
        trainer.advance(until, stop)
        elapsed = time.perf_counter() - before
        if elapsed < SLICE_SECONDS / 2:
            slice_games = min(2 * slice_games, MAX_GAMES)
        elif elapsed > 2 * SLICE_SECONDS:
            slice_games = max(batch, math.ceil(slice_games / 2))
        recorded = trainer.games == min(point, total) and trainer.games > first
        if recorded:
            recorder.record(trainer.tables, trainer.games, time.perf_counter() - started, trainer.outcomes)
            if trainer.games == point:
                point = next(points)
        if progress is not None:
            wins, draws, losses = (int(n) for n in trainer.outcomes)
            progress(
                Progress(
                    trainer.games,
                    total,
                    time.perf_counter() - started,
                    (wins, draws, losses),
                    recorder.unbeatable_since(),
                    recorded,
                )
            )
    if trainer.games > recorder.last:
        recorder.record(trainer.tables, trainer.games, time.perf_counter() - started, trainer.outcomes)
    return trainer.games < total


def _versions() -> dict[str, str]:
    """Versions of what the result depends on."""
    import platform

    import numba

    from ttt_batch import __version__

    return {
        "ttt_batch_version": __version__,
        "python_version": platform.python_version(),
        "numpy_version": np.__version__,
        "numba_version": numba.__version__,
    }
