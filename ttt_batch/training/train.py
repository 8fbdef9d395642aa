"""Training from the outside: `train` plays and learns."""

import functools
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Unpack

from ttt_batch.base.choices import choose_seat
from ttt_batch.base.errors import RunFileError, UsageError, option
from ttt_batch.base.kernel_cache import announce_kernels
from ttt_batch.base.memory import parse_memory
from ttt_batch.base.processors import available_threads
from ttt_batch.base.quantities import Number, whole
from ttt_batch.base.signatures import given_options, with_options
from ttt_batch.game.transcript_writer import GamesWriter
from ttt_batch.runs.config import Options
from ttt_batch.runs.lookup import find_run
from ttt_batch.runs.memory_needs import check_space, rows_within
from ttt_batch.runs.provenance import Clock
from ttt_batch.runs.run import Run
from ttt_batch.simulation.walk import BLOCK
from ttt_batch.training.checkpoints import DEFAULT_EVERY, Checkpoints, parse_every
from ttt_batch.training.plan import Request, make_plan, opponent_of, rival_policy
from ttt_batch.training.rewriting import warn_python
from ttt_batch.training.session import Progress, Session, Watch
from ttt_batch.training.targets import check_files, keep
from ttt_batch.training.trainers import kernels_needed, make_trainer


@with_options(Options)
def train(
    games: Number | None = None,
    *,
    start: Run | str | Path | None = None,
    opponent: Run | str | Path | None = None,
    seat: str | None = None,
    resume: Run | str | Path | None = None,
    more: Number | None = None,
    until: Number | None = None,
    fork: bool = False,
    trust: bool = False,
    record: str | Path | None = None,
    max_memory: Number | None = None,
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
    **options: Unpack[Options],
) -> Run:
    """Train a learner and return the run, saved to `out` where that is given.

    games: how many to learn from; None for the learner's published number of games.
    Numbers may be text as in the commands, `games="10M"` or `epsilon="10%"`; names may be spelled freely (`choices`).
    epsilon, alpha: numbers or schedules (see `schedules`).  symmetry: `on`, `off` or `auto`, see
    `state_space.choose_space`.
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
    max_memory: what the table may take, such as `2GB`; half of what is free if not given.
    threads: None for all processors.  block: games a thread plays abreast.  Neither shows in the result.
    checkpoint_every: how often `out` is written on the way: `30s`, `1Mgames`, or `never`.
    progress: called at every recorded point and about twenty times a second.
    stop: asked as often; once it returns True, training ends after the batch at hand and the run is `interrupted`.
    warn: called with a line where a checkpoint cannot be written, which stops nothing, or another program has replaced
    the run's file or taken the name of the games' file, and the run or the games go into a new one beside it; a Python
    warning if not given.  The run's `file` says where it is.
    elsewhere: asked for another file where the run cannot be written in the end; None gives up.
    learner, board, epsilon, alpha, gamma, draw_worth, batch, engine, seed, symmetry: see `Config`; None for the
    default, or when resuming for what the run has.

    Raises UsageError (also if two of the files are the same one), BoardError and RunFileError before any work starts,
    and RunFileError at the end if the run could not be written; the exception's `run` holds it.
    """
    given = given_options(train, options)
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
    seat = "" if seat is None else choose_seat(seat, "both")
    watch = Watch(progress, stop or (lambda: False), warn or warn_python)
    with ExitStack() as stack:
        files = None
        if in_place:  # nobody may write the file while it is read
            files = stack.enter_context(Checkpoints(Path(resume), overwrite=True, every=every, warn=watch.say))  # type: ignore[arg-type]
        rival = opponent_of(opponent, trust=trust)
        request = Request(games, start, rival, seat, resume, more, until, fork, trust, in_place)
        plan = make_plan(request, given)
        config = plan.config
        if config.engine == "flow" and record is not None:
            flow, walk = option("engine", "flow"), option("engine", "walk")
            raise UsageError(f"{flow} draws counts and plays no games to record; choose {walk}")
        limit = parse_memory(max_memory)
        check_space(config, limit)
        if plan.rival is None and record is None:
            announce_kernels(kernels_needed(config))
        if files is None and out is not None:
            files = stack.enter_context(Checkpoints(Path(out), overwrite=overwrite, every=every, warn=watch.say))
        clock = Clock(float(plan.provenance.get("seconds", 0.0)))
        record_games = writer = None
        if record is not None:
            pictured = config.board if config.symmetry else None
            writer = stack.enter_context(GamesWriter(Path(record), pictured, overwrite=overwrite, say=watch.say))
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
        session = Session(plan, trainer, clock, files, watch, command, n_threads)
        before = session.advance()
        if trainer.games == plan.games and plan.resumed is not None:
            plan.resumed.interrupted, plan.resumed.full = True, trainer.full
            return plan.resumed  # not even the batch within which it had ended was played: all is as it was
        run = session.run_now()
        run.batch_start, run.full = before, trainer.full
        keep(run, files if run.games else None, writer, elsewhere)
    return run
