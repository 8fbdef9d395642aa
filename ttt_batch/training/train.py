"""Training from the outside: `train` plays and learns, `learn_from` learns from given games.

Batch boundaries and recorded points are functions of the game number alone, so that only the clock, never the
result, knows where the loop looks up to report progress or to stop.
"""

import functools
import math
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ttt_batch.base.choices import choose_seat
from ttt_batch.base.errors import RunFileError, UsageError, option
from ttt_batch.base.files import shown
from ttt_batch.base.kernel_cache import announce_kernels
from ttt_batch.base.memory import parse_memory
from ttt_batch.base.outputs import check_distinct
from ttt_batch.base.processors import available_threads
from ttt_batch.base.quantities import Number, whole
from ttt_batch.evaluation.judgement import exact_judge
from ttt_batch.game.board import Board
from ttt_batch.game.transcript_writer import GamesWriter
from ttt_batch.game.transcripts import GamesError
from ttt_batch.runs.batches import MAX_GAMES, batch_bounds, recorded_points
from ttt_batch.runs.config import OPPONENTS
from ttt_batch.runs.lookup import find_run, name_or_run
from ttt_batch.runs.memory_needs import check_space, rows_within
from ttt_batch.runs.provenance import Clock
from ttt_batch.runs.recorder import Recorder, counting_judge
from ttt_batch.runs.run import Run
from ttt_batch.runs.state import State
from ttt_batch.simulation.walk import BLOCK
from ttt_batch.training.checkpoints import DEFAULT_EVERY, Checkpoints, parse_every
from ttt_batch.training.plan import fresh_plan, opponent_of, resumed_plan, rival_policy
from ttt_batch.training.rewriting import warn_python
from ttt_batch.training.trainers import Trainer, kernels_needed, make_trainer

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
    saved_in: called, it says in words where the last checkpoint is now.
    positions: those in the table of a growing board, else None.  without_room: how often one was met without room.
    """

    games: int
    total: int
    seconds: float
    outcomes: tuple[int, int, int]
    unbeatable_since: int | None
    recorded: bool
    saved: int = 0
    saved_in: Callable[[], str] = lambda: "nothing was written"
    positions: int | None = None
    without_room: int = 0


def train(
    games: Number | None = None,
    *,
    learner: str | None = None,
    board: str | Board | None = None,
    epsilon: Number | None = None,
    alpha: Number | None = None,
    gamma: Number | None = None,
    draw_worth: tuple[Number, Number] | str | None = None,
    batch: Number | None = None,
    engine: str | None = None,
    seed: Number | None = None,
    start: Run | str | Path | None = None,
    opponent: Run | str | Path | None = None,
    seat: str | None = None,
    resume: Run | str | Path | None = None,
    more: Number | None = None,
    until: Number | None = None,
    fork: bool = False,
    trust: bool = False,
    record: str | Path | None = None,
    symmetry: bool | str | None = None,
    max_memory: str | None = None,
    threads: Number | None = None,
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

    games: how many to learn from; None for the learner's published number of games.
    Numbers may be text as in the commands, `games="10M"` or `epsilon="10%"`; names may be spelled freely (`choices`).
    epsilon, alpha: numbers or schedules (see `schedules`).
    start: a run (or its file) of the same board and learner whose tables to begin with.
    opponent: `random`, `optimal` or a run (or its file) to train against instead of self-play; seat: the learner's
    seat then, `first`, `second` or `both` (batches in turn; the default).
    resume: a run (or its file, which is then written to unless `out` is given) to go on with, with its configuration,
    as if it had never ended: up to `until` games, `more` games, or what it was first asked for.  An opponent that was
    a run has to be given again.  fork: allow settings other than its own; needs `out`.
    trust: resume from, or play against, a file that another program has changed.
    record: a file for the games played (from where it resumes), in the notation of `learn_from`; as with `out`, an
    existing one stays unless `overwrite`.  If it cannot be written any more, training goes on and raises GamesError in
    the end, when the run is saved.
    symmetry: `on`, `off` or `auto`, see `state_space.choose_space`.
    max_memory: what the table may take, such as `2GB`; half of what is free if not given.
    threads: None for all processors.  block: games a thread plays abreast.  Neither shows in the result.
    checkpoint_every: how often `out` is written on the way: `30s`, `1Mgames`, or `never`.
    progress: called at every recorded point and about twenty times a second.
    stop: asked as often; once it returns True, training ends after the batch at hand and the run is `interrupted`.
    warn: called with a line where a checkpoint cannot be written, which stops nothing, or another program has replaced
    the run's file or taken the name of the games' file, and the run or the games go into a new one beside it; a Python
    warning if not given.  The run's `file` says where it is.
    elsewhere: asked for another file where the run cannot be written in the end; None gives up.
    The other parameters are those of `Config`; None for the default, or when resuming for what the run has.

    Raises UsageError (also if two of the files are the same one), BoardError and RunFileError before any work starts,
    and RunFileError at the end if the run could not be written; the exception's `run` holds it.
    """
    n_threads = whole("threads", available_threads() if threads is None else threads, 1, 1024)
    whole("block", block, 1, 1 << 20)
    every = parse_every(checkpoint_every)
    if resume is None and (more is not None or until is not None or fork):
        wanted = f"go with {option('resume', 'RUN')}; name the run to go on with, or give {option('games')}"
        raise UsageError(f"more, until and fork {wanted}")
    in_place = out is None and isinstance(resume, str | Path)
    if isinstance(resume, str | Path):
        resume = find_run(resume)
    check_files(out, record, resume, start, opponent)
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
        "symmetry": symmetry,
    }
    options = {name: value for name, value in options.items() if value is not None}
    seat = "" if seat is None else choose_seat(seat, "both")
    say = warn or warn_python
    with ExitStack() as stack:
        files = None
        if in_place:  # nobody may write the file while it is read
            files = stack.enter_context(Checkpoints(Path(resume), overwrite=True, every=every, warn=say))  # type: ignore[arg-type]
        rival = opponent_of(opponent, trust=trust)
        if resume is None:
            plan = fresh_plan(games, options, start, rival, seat)
        else:
            if games is not None:
                resumed = f"with {option('resume')}, say {option('until')} or {option('more')}"
                raise UsageError(f"games {games} belong to a new run; {resumed}")
            plan = resumed_plan(
                resume, options, start, rival, seat, more, until, fork=fork, elsewhere=not in_place, trust=trust
            )
        config, total = plan.config, plan.total
        if config.engine == "flow" and record is not None:
            flow, walk = option("engine", "flow"), option("engine", "walk")
            raise UsageError(f"{flow} draws counts and plays no games to record; choose {walk}")
        limit = parse_memory(max_memory)
        check_space(config, limit)
        if plan.rival is None and record is None:
            announce_kernels(kernels_needed(config))
        if files is None and out is not None:
            files = stack.enter_context(Checkpoints(Path(out), overwrite=overwrite, every=every, warn=say))
        clock = Clock(float(plan.provenance.get("seconds", 0.0)))
        pictured = config.board if config.symmetry else None
        record_games = writer = None
        if record is not None:
            writer = stack.enter_context(GamesWriter(Path(record), pictured, overwrite=overwrite, say=say))
            record_games = functools.partial(writer.write, graph=None if config.grown else config.graph)
        trainer = make_trainer(
            config,
            rival=None if plan.rival is None else rival_policy(plan.rival, config),
            state=plan.state,
            record=record_games,
            threads=n_threads,
            block=block,
            max_rows=rows_within(config, limit) if config.grown else 0,
        )
        recorder = Recorder(
            exact_judge(trainer.graph, trainer.learner, trainer.worth)
            if trainer.grown is None
            else counting_judge(trainer.grown)
        )
        if plan.earlier is not None:
            recorder.restore(plan.earlier)

        def run_now() -> Run:
            now = trainer.tables, trainer.games, clock.seconds, trainer.outcomes
            statistics = recorder.statistics_now(*now)
            provenance = plan.provenance | clock.provenance(command) | {"threads": n_threads}
            if plan.earlier is not None:
                provenance |= {key: plan.provenance[key] for key in ("created", "command") if key in plan.provenance}
                provenance["resumed_by"] = command
            tables, visits = trainer.tables, trainer.visits
            if trainer.grown is not None:
                tables, visits = trainer.grown.compact()[1:]
            run = Run(config, tables, trainer.games, statistics, provenance, visits=visits, grown=trainer.grown)
            run.interrupted, run.goal = trainer.games < total, total
            if trainer.grown is not None and trainer.grown.lost:
                before = int(plan.provenance.get("positions_without_room", 0))
                run.provenance["positions_without_room"] = before + trainer.grown.lost
            return run

        stop = stop or (lambda: False)
        before = _train_to(total, trainer, recorder, clock, progress, stop, files, run_now, say)
        if trainer.games == plan.games and plan.resumed is not None:
            plan.resumed.interrupted, plan.resumed.full = True, trainer.full
            return plan.resumed  # not even the batch within which it had ended was played: all is as it was
        run = run_now()
        run.batch_start, run.full = before, trainer.full
        _keep(run, files if run.games else None, writer, elsewhere)
    return run


def _keep(
    run: Run,
    files: Checkpoints | None,
    writer: GamesWriter | None,
    elsewhere: Callable[[RunFileError], Path | None] | None,
) -> None:
    """Save the run and let the file of its games appear, each whatever becomes of the other.

    Raises RunFileError, whose `run` is the run, or GamesError; one line says what became of both.
    """
    try:
        if files is not None:
            files.finish(run, elsewhere)
    except BaseException as error:
        of_games = "" if writer is None else f"; {_kept_games(writer)}"
        if not isinstance(error, RunFileError):
            raise
        failure = RunFileError(f"{error}{of_games}")
        failure.run = run  # type: ignore[attr-defined]
        raise failure from error
    if writer is not None:
        try:
            writer.finish()
        except GamesError as error:
            where = "" if run.file is None else f"; the run itself is saved in {shown(run.file)}"
            raise GamesError(f"{error}{where}") from error


def _kept_games(writer: GamesWriter) -> str:
    """Let the file of games appear; return in words where they are, or why they are nowhere."""
    try:
        writer.finish()
    except GamesError as error:
        return str(error)
    assert writer.file is not None
    return f"the games played are in {shown(writer.file)}"


def check_files(
    out: str | Path | None,
    record: str | Path | None,
    resume: Run | str | Path | None,
    start: Run | str | Path | None,
    opponent: Run | str | Path | None,
) -> None:
    """Refuse a training that would write over what it reads, or its run over its games."""
    if opponent is not None and not isinstance(opponent, Run):
        meant = name_or_run("opponent", opponent, OPPONENTS)
        opponent = meant if isinstance(meant, Path) else None
    in_place = out is None
    written = {"resume" if in_place else "out": resume if in_place else out, "record": record}
    if isinstance(start, str | Path):
        start = find_run(start)
    read = {"resume": None if in_place else resume, "start": start, "opponent": opponent}
    check_distinct(_paths(written), _paths(read))


def _paths(named: dict[str, Any]) -> list[tuple[str, Path]]:
    return [(option(name), Path(path)) for name, path in named.items() if isinstance(path, str | Path)]


def _train_to(
    total: int,
    trainer: Trainer,
    recorder: Recorder,
    clock: Clock,
    progress: Callable[[Progress], None] | None,
    stop: Callable[[], bool],
    checkpoints: Checkpoints | None,
    run_now: Callable[[], Run],
    say: Callable[[str], None],
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
    full = False
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
        if trainer.grown is not None and trainer.full:
            say(
                f"the table is full at {trainer.grown.positions:,} positions, and flow needs room for all that its "
                f"games reach: training ends here. Raise {option('max_memory')} and resume, or choose "
                f"{option('engine', 'walk')}"
            )
            break
        if trainer.grown is not None and trainer.grown.lost and not full:
            full = True
            say(
                f"the table is full at {trainer.grown.positions:,} positions: new ones are played as at their start "
                f"value and not kept; training goes on. Raise {option('max_memory')} for more"
            )
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
            progress(_progress(trainer, total, clock, recorder, recorded, checkpoints))
    if trainer.games > recorder.last:
        recorder.record(trainer.tables, trainer.games, clock.seconds, trainer.outcomes)
    return before if before is not None and trainer.games > before.games else None


def _progress(
    trainer: Trainer,
    total: int,
    clock: Clock,
    recorder: Recorder,
    recorded: bool,
    checkpoints: Checkpoints | None,
) -> Progress:
    wins, draws, losses = (int(n) for n in trainer.outcomes)
    grown = trainer.grown
    return Progress(
        games=trainer.games,
        total=total,
        seconds=clock.seconds,
        outcomes=(wins, draws, losses),
        unbeatable_since=recorder.since,
        recorded=recorded,
        saved=0 if checkpoints is None else checkpoints.file.saved,
        saved_in=Progress.saved_in if checkpoints is None else checkpoints.file.where,
        positions=None if grown is None else grown.positions,
        without_room=0 if grown is None else grown.lost,
    )
