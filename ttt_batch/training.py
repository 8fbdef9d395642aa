"""Training from the outside: `train` plays and learns, `learn_from` learns from given games.

Batch boundaries and recorded points are functions of the game number alone, so that only the clock, never the
result, knows where the loop looks up to report progress or to stop.
"""

import hashlib
import math
import platform
import time
from collections.abc import Callable, Iterable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray

from ttt_batch.batches import MAX_GAMES, batch_bounds, recorded_points
from ttt_batch.board import parse_board
from ttt_batch.config import DEFAULT_BATCH, make_config, whole
from ttt_batch.errors import UsageError
from ttt_batch.games import GamesWriter, parse_games
from ttt_batch.graph import Graph, enumerate_graph, solve
from ttt_batch.learners import learner_named
from ttt_batch.learners.base import make_game
from ttt_batch.learners.steps import make_step
from ttt_batch.play.counts import outcomes_of
from ttt_batch.play.walk import BLOCK
from ttt_batch.policy import Policy, optimal_policy, random_policy
from ttt_batch.processors import available_threads
from ttt_batch.recorder import Recorder
from ttt_batch.run import Run, load
from ttt_batch.runfile import check_target
from ttt_batch.sequential import learn_games
from ttt_batch.trainer import Trainer
from ttt_batch.version import VERSION

NAMED_OPPONENTS = ("random", "optimal")

SLICE_SECONDS = 0.05
"""How long the kernels run between two looks at `stop` and two reports of progress."""


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


def train(
    games: int | None = None,
    *,
    learner: str = "td",
    board: str = "3x3",
    epsilon: float | str | None = None,
    alpha: float | str | None = None,
    gamma: float | None = None,
    draw_worth: tuple[float, float] | None = None,
    batch: int | str = DEFAULT_BATCH,
    engine: str = "walk",
    seed: int = 0,
    start: Run | str | Path | None = None,
    opponent: Run | str | Path | None = None,
    seat: str = "",
    record: str | Path | None = None,
    threads: int | None = None,
    block: int = BLOCK,
    out: str | Path | None = None,
    overwrite: bool = False,
    progress: Callable[[Progress], None] | None = None,
    stop: Callable[[], bool] | None = None,
    command: str = "",
) -> Run:
    """Train a learner and return the run, saved to `out` where that is given.

    games: how many to learn from; None for the learner's headline length.
    epsilon, alpha: numbers or schedules (see `schedules`).
    start: a run (or its file) of the same board and learner whose tables to begin with.
    opponent: `random`, `optimal` or a run (or its file) to train against instead of self-play; seat: the learner's
    seat then, `first`, `second` or `both` (batches in turn; the default).
    record: a file for the games played, in the notation of `learn_from`.
    threads: None for all processors.  block: games a thread plays abreast.  Neither shows in the result.
    progress: called at every recorded point and about twenty times a second.
    stop: asked as often; once it returns True, training ends after the batch at hand and the run is `interrupted`.
    The other parameters are those of `Config`.

    Raises UsageError, BoardError and RunFileError before any work starts.
    """
    total = whole("games", learner_named(learner).games if games is None else games, 1, MAX_GAMES)
    n_threads = whole("threads", available_threads() if threads is None else threads, 1, 1024)
    whole("block", block, 1, 1 << 20)
    origin = load(start) if isinstance(start, str | Path) else start
    rival = opponent if opponent is None or isinstance(opponent, Run) or opponent in NAMED_OPPONENTS else load(opponent)
    if rival is None and seat:
        raise UsageError(f"seat {seat!r} goes with an opponent; name one, or leave the seat out for self-play")
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
        horizon=total,
        start="" if origin is None else table_digest(origin),
        opponent=rival if isinstance(rival, str) else "" if rival is None else table_digest(rival),
        seat="" if rival is None else seat or "both",
    )
    if engine == "given":
        raise UsageError("engine 'given' belongs to learn-from; choose walk or flow")
    if engine == "flow" and record is not None:
        raise UsageError("--engine flow draws counts and plays no games that could be recorded; choose --engine walk")
    if origin is not None:
        _check_origin(origin, config.learner, config.board)
    graph = enumerate_graph(parse_board(config.board), learner_named(learner).occupied)
    if out is not None:
        check_target(Path(out), overwrite=overwrite)
    clock = Clock()
    with ExitStack() as stack:
        writer = None if record is None else stack.enter_context(GamesWriter(Path(record), graph, overwrite=overwrite))
        trainer = Trainer(
            config,
            threads=n_threads,
            block=block,
            rival=None if rival is None else _rival_policy(rival, graph, config.board),
            tables=None if origin is None else origin.tables,
            visits=None if origin is None or not config.alpha_schedule.power else origin.visits_or_zeros(),
            record=None if writer is None else writer.write,
        )
        recorder = Recorder(trainer.graph, trainer.learner, trainer.worth)
        interrupted = _train_to(total, trainer, recorder, clock, progress, stop or (lambda: False))
    run = Run(config, trainer.tables, trainer.games, recorder.statistics(), visits=trainer.visits)
    run.interrupted = interrupted
    run.provenance = {**clock.provenance(command), "threads": n_threads}
    if out is not None and run.games:
        run.save(out, overwrite=overwrite)
    return run


def learn_from(
    lines: Iterable[str],
    *,
    learner: str | None = None,
    run: Run | str | Path | None = None,
    name: str = "games",
    skip_bad: bool = False,
    out: str | Path | None = None,
    overwrite: bool = False,
    command: str = "",
    **options: Any,
) -> tuple[Run, list[str]]:
    """Learn from given games one after the other, a line each (see `games`); return the run and the lines skipped.

    learner: needed unless `run` is given, a run (or its file) to go on from, with its learner and options.
    name: what messages call the source of the lines.  skip_bad: leave out games that the rules do not allow.
    options: those of `Config`, over the learner's defaults or the run's.

    Raises GamesError before anything is learnt, UsageError, BoardError and RunFileError.
    """
    origin = load(run) if isinstance(run, str | Path) else run
    if origin is None and learner is None:
        raise UsageError("name a learner, or a run to go on from")
    given = {key: value for key, value in options.items() if value is not None}
    if origin is not None:
        if learner not in (None, origin.config.learner):
            raise UsageError(f"the run was made by {origin.config.learner}, not {learner}; leave the learner out")
        before = {
            key: getattr(origin.config, key) for key in ("board", "epsilon", "alpha", "gamma", "draw_worth", "seed")
        }
        given = before | given
        learner = origin.config.learner
    config = make_config(
        learner=str(learner), batch=1, engine="given", start="" if origin is None else table_digest(origin), **given
    )
    if config.alpha_schedule.by_games:
        raise UsageError(f"alpha {config.alpha} goes by the games of a run; give a number or 1/n for given games")
    if out is not None:
        check_target(Path(out), overwrite=overwrite)
    clock = Clock()
    graph = enumerate_graph(parse_board(config.board), learner_named(config.learner).occupied)
    parsed = parse_games(lines, graph, name=name, skip_bad=skip_bad)
    trainer = Trainer(
        config,
        tables=None if origin is None else origin.tables,
        visits=origin.visits_or_zeros() if origin is not None and config.alpha_schedule.power else None,
    )
    ended = np.zeros(graph.code.size - graph.first_edge.size + 1, np.int64)
    alpha = config.alpha_schedule
    step = make_step(alpha.start, config.gamma, trainer.worth, alpha.power, trainer.visits)
    learn_games(trainer.tables, graph, step, parsed.games, make_game(graph), ended)
    n_games = parsed.games.start.size - 1 + (0 if origin is None else origin.games)
    result = Run(config, trainer.tables, n_games, {}, visits=trainer.visits)
    result.statistics = record_once(result, clock.seconds, outcomes_of(graph, ended))
    result.provenance = clock.provenance(command)
    if out is not None:
        result.save(out, overwrite=overwrite)
    return result, parsed.skipped


def table_digest(run: Run) -> str:
    """The first 16 hex digits of the SHA-256 of a run's tables: what stands for them in a configuration."""
    digest = hashlib.sha256()
    for array in run.tables:
        digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()[:16]


def record_once(run: Run, seconds: float = 0.0, outcomes: NDArray[np.int64] | None = None) -> dict[str, NDArray[Any]]:
    """The statistics of a run that was not played here: one recorded point, its tables as they are."""
    recorder = Recorder(run.graph, run.learner, run.worth)
    recorder.record(run.tables, run.games, seconds, np.zeros(3, np.int64) if outcomes is None else outcomes)
    return recorder.statistics()


class Clock:
    """When a run was made, how long it took, and with what."""

    def __init__(self) -> None:
        self._created = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        self._started = time.perf_counter()

    @property
    def seconds(self) -> float:
        """Seconds since the start."""
        return time.perf_counter() - self._started

    def provenance(self, command: str) -> dict[str, str | int | float]:
        """Creation time, duration, command and the versions of what the result depends on."""
        return {
            "created": self._created,
            "command": command,
            "seconds": self.seconds,
            "ttt_batch_version": VERSION,
            "python_version": platform.python_version(),
            "numpy_version": np.__version__,
            "numba_version": numba.__version__,
        }


def _train_to(
    total: int,
    trainer: Trainer,
    recorder: Recorder,
    clock: Clock,
    progress: Callable[[Progress], None] | None,
    stop: Callable[[], bool],
) -> bool:
    """Advance to `total` games, recording on the way; return whether `stop` came first."""
    batches = trainer.batches
    slice_games = batches.least
    points = recorded_points(batches)
    point = next(points)
    while trainer.games < total and not stop():
        end = batch_bounds(batches, trainer.games)[1]
        until = min(total, point, max(end, batch_bounds(batches, trainer.games + slice_games)[0]))
        first, before = trainer.games, clock.seconds
        trainer.advance(until, stop)
        elapsed = clock.seconds - before
        if elapsed < SLICE_SECONDS / 2:
            slice_games = min(2 * slice_games, MAX_GAMES)
        elif elapsed > 2 * SLICE_SECONDS:
            slice_games = math.ceil(slice_games / 2)
        recorded = trainer.games == min(point, total) and trainer.games > first
        if recorded:
            recorder.record(trainer.tables, trainer.games, clock.seconds, trainer.outcomes)
            point = next(points) if trainer.games == point else point
        if progress is not None:
            wins, draws, losses = (int(n) for n in trainer.outcomes)
            progress(Progress(trainer.games, total, clock.seconds, (wins, draws, losses), recorder.since, recorded))
    if trainer.games > recorder.last:
        recorder.record(trainer.tables, trainer.games, clock.seconds, trainer.outcomes)
    return trainer.games < total


def _check_origin(origin: Run, learner: str, board: str) -> None:
    if (origin.config.learner, origin.config.board) != (learner, board):
        raise UsageError(
            f"cannot start {learner} on {board} from a run of {origin.config.learner} on {origin.config.board}; "
            "choose a run of the same learner and board"
        )


def _rival_policy(rival: Run | str, graph: Graph, board: str) -> Policy:
    """What a fixed opponent plays on `graph`, that of `board`."""
    if isinstance(rival, Run):
        if rival.config.board != board:
            raise UsageError(f"the opponent plays {rival.config.board}, not {board}; choose a run of the same board")
        return rival.policy_on(graph)
    if rival == "random":
        return random_policy(graph)
    return optimal_policy(graph, solve(graph))
