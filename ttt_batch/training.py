"""Training from the outside: `train` plays and learns, `learn_from` learns from given games.

Batch boundaries and recorded points are functions of the game number alone, so that only the clock, never the
result, knows where the loop looks up to report progress or to stop.
"""

import math
import platform
import time
import warnings
from collections.abc import Callable, Iterable
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray

from ttt_batch.batches import MAX_GAMES, batch_bounds, recorded_points
from ttt_batch.board import parse_board
from ttt_batch.checkpoints import DEFAULT_EVERY, Checkpoints, Every, parse_every
from ttt_batch.config import Config, make_config, whole
from ttt_batch.errors import RunFileError, UsageError
from ttt_batch.files import shown
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
from ttt_batch.resuming import differing_settings, goal_of, kept_points, resumable_state, table_digest
from ttt_batch.run import Run, load
from ttt_batch.runfile import check_target
from ttt_batch.sequential import learn_games
from ttt_batch.state import State
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
    saved: games in the last checkpoint of this training; 0 before the first.
    """

    games: int
    total: int
    seconds: float
    outcomes: tuple[int, int, int]
    unbeatable_since: int | None
    recorded: bool
    saved: int = 0


@dataclass
class Plan:
    """A training about to begin.

    total: games it goes on to.  rival: the fixed opponent, a run or its name; None in self-play.
    state: where it begins; None for the learner's own start.  earlier: its recorded points so far, if there are any.
    provenance: what is known of its past.  resumed: the run that it goes on with, if any.
    """

    config: Config
    total: int
    rival: Run | str | None
    state: State | None
    earlier: dict[str, NDArray[Any]] | None
    provenance: dict[str, str | int | float]
    resumed: Run | None = None

    @property
    def games(self) -> int:
        """Games learnt from before it begins."""
        return 0 if self.state is None else self.state.games


def train(
    games: int | None = None,
    *,
    learner: str | None = None,
    board: str | None = None,
    epsilon: float | str | None = None,
    alpha: float | str | None = None,
    gamma: float | None = None,
    draw_worth: tuple[float, float] | None = None,
    batch: int | str | None = None,
    engine: str | None = None,
    seed: int | None = None,
    start: Run | str | Path | None = None,
    opponent: Run | str | Path | None = None,
    seat: str = "",
    resume: Run | str | Path | None = None,
    more: int | None = None,
    until: int | None = None,
    fork: bool = False,
    trust: bool = False,
    record: str | Path | None = None,
    threads: int | None = None,
    block: int = BLOCK,
    out: str | Path | None = None,
    overwrite: bool = False,
    checkpoint_every: str = DEFAULT_EVERY,
    progress: Callable[[Progress], None] | None = None,
    stop: Callable[[], bool] | None = None,
    warn: Callable[[str], None] | None = None,
    elsewhere: Callable[[RunFileError], Path | None] | None = None,
    command: str = "",
) -> Run:
    """Train a learner and return the run, saved to `out` where that is given.

    games: how many to learn from; None for the learner's headline length.
    epsilon, alpha: numbers or schedules (see `schedules`).
    start: a run (or its file) of the same board and learner whose tables to begin with.
    opponent: `random`, `optimal` or a run (or its file) to train against instead of self-play; seat: the learner's
    seat then, `first`, `second` or `both` (batches in turn; the default).
    resume: a run (or its file, which is then written to unless `out` is given) to go on with, with its configuration,
    as if it had never ended: up to `until` games, `more` games, or what it was first asked for.  An opponent that was
    a run has to be given again.  fork: allow settings other than its own; needs `out`.
    trust: resume from a file that another program has changed.
    record: a file for the games played (from where it resumes), in the notation of `learn_from`.
    threads: None for all processors.  block: games a thread plays abreast.  Neither shows in the result.
    checkpoint_every: how often `out` is written on the way: `30s`, `1000000games`, or `never`.
    progress: called at every recorded point and about twenty times a second.
    stop: asked as often; once it returns True, training ends after the batch at hand and the run is `interrupted`.
    warn: called with a line where a checkpoint cannot be written, which stops nothing; a Python warning if not given.
    elsewhere: asked for another file where the run cannot be written in the end; None gives up.
    The other parameters are those of `Config`; None for the default, or when resuming for what the run has.

    Raises UsageError, BoardError and RunFileError before any work starts, and RunFileError at the end where the run
    could not be written; the exception's `run` holds it.
    """
    n_threads = whole("threads", available_threads() if threads is None else threads, 1, 1024)
    whole("block", block, 1, 1 << 20)
    every = parse_every(checkpoint_every)
    if resume is None and (more is not None or until is not None or fork):
        raise UsageError("more, until and fork go with --resume RUN; name the run to go on with, or give --games")
    in_place = out is None and isinstance(resume, str | Path)
    if in_place:
        out, overwrite = resume, True  # type: ignore[assignment]
    options: dict[str, Any] = {
        "learner": learner,
        "board": board,
        "epsilon": epsilon,
        "alpha": alpha,
        "gamma": gamma,
        "draw_worth": draw_worth,
        "batch": batch,
        "engine": engine,
        "seed": seed,
    }
    options = {name: value for name, value in options.items() if value is not None}
    with ExitStack() as stack:
        files = None
        if in_place:  # nobody may write the file while it is read
            files = _checkpoints(stack, out, overwrite, every, warn)
        if resume is None:
            plan = _fresh(games, options, start, opponent, seat)
        else:
            if games is not None:
                raise UsageError(f"games {games} belong to a new run; with --resume, say --until or --more")
            plan = _resumed(
                resume, options, start, opponent, seat, more, until, fork=fork, elsewhere=not in_place, trust=trust
            )
        config, total = plan.config, plan.total
        if config.engine == "flow" and record is not None:
            raise UsageError("--engine flow draws counts and plays no games to record; choose --engine walk")
        graph = enumerate_graph(parse_board(config.board), learner_named(config.learner).occupied)
        if files is None and out is not None:
            files = _checkpoints(stack, out, overwrite, every, warn)
        clock = Clock(float(plan.provenance.get("seconds", 0.0)))
        writer = None if record is None else stack.enter_context(GamesWriter(Path(record), graph, overwrite=overwrite))
        trainer = Trainer(
            config,
            threads=n_threads,
            block=block,
            rival=None if plan.rival is None else _rival_policy(plan.rival, graph, config.board),
            record=None if writer is None else writer.write,
            **_beginning(plan.state, config),
        )
        recorder = Recorder(trainer.graph, trainer.learner, trainer.worth)
        if plan.earlier is not None:
            recorder.restore(plan.earlier)

        def run_now() -> Run:
            now = trainer.tables, trainer.games, clock.seconds, trainer.outcomes
            statistics = recorder.statistics_now(*now)
            provenance = plan.provenance | clock.provenance(command) | {"threads": n_threads}
            if plan.earlier is not None:
                provenance |= {key: plan.provenance[key] for key in ("created", "command") if key in plan.provenance}
                provenance["resumed_by"] = command
            run = Run(config, trainer.tables, trainer.games, statistics, provenance, visits=trainer.visits)
            run.interrupted, run.goal = trainer.games < total, total
            return run

        before = _train_to(total, trainer, recorder, clock, progress, stop or (lambda: False), files, run_now)
        if trainer.games == plan.games and plan.resumed is not None:
            plan.resumed.interrupted = True
            return plan.resumed  # not even the batch within which it had ended was played: all is as it was
        run = run_now()
        run.batch_start = before
        if files is not None and run.games:
            try:
                files.finish(run, elsewhere)
            except RunFileError as error:
                error.run = run  # type: ignore[attr-defined]
                raise
    return run


def _checkpoints(
    stack: ExitStack, out: Any, overwrite: bool, every: Every, warn: Callable[[str], None] | None
) -> Checkpoints:
    say = warn or (lambda line: warnings.warn(line, RuntimeWarning, stacklevel=2))
    return stack.enter_context(Checkpoints(Path(out), overwrite=overwrite, every=every, warn=say))


def _fresh(
    games: int | None,
    options: dict[str, Any],
    start: Run | str | Path | None,
    opponent: Run | str | Path | None,
    seat: str,
) -> Plan:
    """A training from the first game on."""
    total = whole("games", learner_named(options.get("learner", "td")).games if games is None else games, 1, MAX_GAMES)
    origin = load(start) if isinstance(start, str | Path) else start
    rival = _rival(opponent)
    _check_seat(seat, against=rival is not None)
    config = make_config(
        **options,
        horizon=total,
        start="" if origin is None else table_digest(origin.tables),
        opponent="" if rival is None else _rival_name(rival),
        seat="" if rival is None else seat or "both",
    )
    _check_engine(config)
    state = None
    if origin is not None:
        _check_origin(origin, config.learner, config.board)
        state = State(0, origin.tables, origin.visits_or_zeros(), np.zeros(3, np.int64))
    return Plan(config, total, rival, state, None, {})


def _resumed(
    resume: Run | str | Path,
    options: dict[str, Any],
    start: Run | str | Path | None,
    opponent: Run | str | Path | None,
    seat: str,
    more: int | None,
    until: int | None,
    *,
    fork: bool,
    elsewhere: bool,
    trust: bool,
) -> Plan:
    """A training that goes on from where `resume` stands.

    fork: with another configuration.  elsewhere: whether it is written to another file.
    """
    run = resume if isinstance(resume, Run) else load(resume, trust=trust)
    name = "the run" if isinstance(resume, Run) else shown(Path(resume))
    if fork and not elsewhere:
        raise UsageError("a fork is a run of its own; name its file with --out")
    state = resumable_state(run, name)
    total = goal_of(run, name, more, until)
    before = run.config
    given = dict(options)
    if start is not None:
        given["start"] = table_digest((start if isinstance(start, Run) else load(start)).tables)
    rival = _rival(opponent)
    if rival is not None:
        given |= {"opponent": _rival_name(rival), "seat": before.seat or "both"}
    elif before.opponent in NAMED_OPPONENTS:
        rival = before.opponent
    elif before.opponent:
        raise UsageError(f"{name} was trained against a run; name its file again with --opponent")
    if seat:
        given["seat"] = seat
    config, changes = differing_settings(before, given, horizon=total)
    if changes and not fork:
        raise UsageError(f"{name} was trained with {changes}; leave that out, or add --fork and --out for a new run")
    _check_seat(config.seat, against=bool(config.opponent))
    _check_engine(config)
    past = dict(run.provenance)
    if fork:
        past |= {"parent": table_digest(run.tables), "parent_games": run.games}
    if changes:
        # Equal configurations make equal bytes, so a fork's says where it began.
        config = replace(config, start=f"{table_digest(state.tables)}@{state.games}")
        _check_origin(run, config.learner, config.board)
    return Plan(config, total, rival, state, kept_points(run, state.games), past, run)


def _rival(opponent: Run | str | Path | None) -> Run | str | None:
    """A fixed opponent: its name, or a run, read where only its file is given."""
    if opponent is None or isinstance(opponent, Run) or opponent in NAMED_OPPONENTS:
        return opponent
    return load(opponent)


def _rival_name(rival: Run | str) -> str:
    return rival if isinstance(rival, str) else table_digest(rival.tables)


def _check_seat(seat: str, *, against: bool) -> None:
    if seat and not against:
        raise UsageError(f"seat {seat!r} goes with an opponent; name one, or leave the seat out for self-play")


def _check_engine(config: Config) -> None:
    if config.engine == "given":
        raise UsageError("engine 'given' belongs to learn-from; choose walk or flow")


def _beginning(state: State | None, config: Config) -> dict[str, Any]:
    """What `Trainer` is told of where it begins."""
    if state is None:
        return {}
    visits = state.visits if config.alpha_schedule.power and state.visits.size else None
    return {"tables": state.tables, "visits": visits, "games": state.games, "outcomes": state.outcomes}


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
        learner=str(learner),
        batch=1,
        engine="given",
        start="" if origin is None else table_digest(origin.tables),
        **given,
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


def record_once(run: Run, seconds: float = 0.0, outcomes: NDArray[np.int64] | None = None) -> dict[str, NDArray[Any]]:
    """The statistics of a run that was not played here: one recorded point, its tables as they are."""
    recorder = Recorder(run.graph, run.learner, run.worth)
    recorder.record(run.tables, run.games, seconds, np.zeros(3, np.int64) if outcomes is None else outcomes)
    return recorder.statistics()


class Clock:
    """When a run was made, how long it took, and with what.

    before: seconds that it had taken when it was interrupted.
    """

    def __init__(self, before: float = 0.0) -> None:
        self._created = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        self._started = time.perf_counter() - before

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
    checkpoints: Checkpoints | None,
    run_now: Callable[[], Run],
) -> State | None:
    """Advance to `total` games or until `stop`, recording on the way and writing checkpoints.

    Returns where it stood before the batch within which it ends; None where it ends with a batch.
    """
    batches = trainer.batches
    slice_games = batches.least
    points = (games for games in recorded_points(batches) if games > trainer.games)
    point = next(points)
    last_batch, its_end = batch_bounds(batches, total - 1)
    before: State | None = None
    if checkpoints is not None:
        checkpoints.begin(trainer.games)
    while trainer.games < total and not stop():
        end = batch_bounds(batches, trainer.games)[1]
        until = min(total, point, max(end, batch_bounds(batches, trainer.games + slice_games)[0]))
        if checkpoints is not None and checkpoints.next_games() < until:
            until = min(until, batch_bounds(batches, max(int(checkpoints.next_games()) - 1, trainer.games))[1])
        if its_end > total:  # the run ends within a batch
            if trainer.games < last_batch:
                until = min(until, last_batch)
            else:
                before = trainer.state()
        first, began = trainer.games, clock.seconds
        trainer.advance(until, stop)
        elapsed = clock.seconds - began
        if elapsed < SLICE_SECONDS / 2:
            slice_games = min(2 * slice_games, MAX_GAMES)
        elif elapsed > 2 * SLICE_SECONDS:
            slice_games = math.ceil(slice_games / 2)
        recorded = trainer.games == min(point, total) and trainer.games > first
        if recorded:
            recorder.record(trainer.tables, trainer.games, clock.seconds, trainer.outcomes)
            point = next(points) if trainer.games == point else point
        if checkpoints is not None and first < trainer.games < total and checkpoints.due(trainer.games):
            checkpoints.attempt(run_now())
        if progress is not None:
            wins, draws, losses = (int(n) for n in trainer.outcomes)
            saved = 0 if checkpoints is None else checkpoints.saved
            outcomes = (wins, draws, losses)
            progress(Progress(trainer.games, total, clock.seconds, outcomes, recorder.since, recorded, saved))
    if trainer.games > recorder.last:
        recorder.record(trainer.tables, trainer.games, clock.seconds, trainer.outcomes)
    return before if before is not None and trainer.games > before.games else None


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
