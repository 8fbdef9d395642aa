"""Training from the outside: `train` plays and learns.

Of its files none is written over another, and each is kept if the other fails.
"""

import functools
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Unpack

from ttt_batch.base.errors import RunFileError, UsageError, option
from ttt_batch.base.files import shown
from ttt_batch.base.kernel_cache import announce_kernels
from ttt_batch.base.memory import parse_memory
from ttt_batch.base.outputs import check_distinct
from ttt_batch.base.processors import available_threads
from ttt_batch.base.quantities import Number, whole
from ttt_batch.base.signatures import given_options, with_options
from ttt_batch.game.transcript_writer import GamesWriter
from ttt_batch.game.transcripts import GamesError
from ttt_batch.runs.config import OPPONENTS, Config, Options
from ttt_batch.runs.lookup import find_run, name_or_run
from ttt_batch.runs.memory_needs import check_space, rows_within
from ttt_batch.runs.recorder import Clock
from ttt_batch.runs.run import Run
from ttt_batch.simulation.walk import BLOCK
from ttt_batch.training.checkpoints import DEFAULT_EVERY, Checkpoints, parse_every, warn_python
from ttt_batch.training.plan import Plan, Runs, check_request, make_plan, rival_policy
from ttt_batch.training.session import Progress, Session
from ttt_batch.training.trainers import kernels_needed, make_trainer
from ttt_batch.training.trainers.base import Trainer


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
    """Train a learner and return the run, saved to `out` if that is given.

    games: how many to learn from; None for the learner's published number.  Numbers may be text as in the commands,
    `games="10M"` or `epsilon="10%"`; names may be spelled freely.
    learner, board, epsilon, alpha, gamma, draw_worth, batch, engine, seed, symmetry: see `Config`; None for the
    default, or when resuming for the run's own.  epsilon, alpha: numbers or schedules (see `schedules`).
    start: a run (or its file) of the same board and learner whose tables to begin with.
    opponent: `random`, `optimal` or a run (or its file) to train against instead of self-play; seat: the learner's
    seat then, `first`, `second` or `both` (batches in turn; the default).
    resume: a run (or its file, which is then written to unless `out` is given) to go on with, with its configuration,
    as if it had never ended: up to `until` games, `more` games, or its first goal.  An opponent that was a run has to
    be given again.  fork: allow settings other than its own; needs `out`.
    trust: resume from, or play against, a file that another program has changed.
    out, record: files for the run and for the games played, in the notation of `learn_from`; existing ones stay unless
    `overwrite`.  If the games cannot be written any more, GamesError is raised at the end, when the run is saved.
    max_memory: what the table may take, such as `2GB`; half of what is free if not given.
    threads: None for all processors.  block: games that a thread plays in lockstep.  Neither shows in the result.
    checkpoint_every: how often `out` is written on the way: `30s`, `1Mgames`, or `never`.
    progress: called at every recorded point and about twenty times a second.
    stop: called as often; once it returns True, training ends after the current batch and the run is `interrupted`.
    warn: called with a line, instead of a Python warning, if a checkpoint cannot be written, which stops nothing, or if
    another program has taken the name of a file, and the run (its `file` is the path) or the games go into a new one.
    elsewhere: called for another file if the run cannot be written at the end; None gives up.

    Raises UsageError (also if two of the files are the same one), BoardError and RunFileError before any work starts,
    and RunFileError at the end if the run could not be written; the exception's `run` holds it.
    """
    given = given_options(train, options)
    n_threads = whole("threads", available_threads() if threads is None else threads, 1, 1024)
    whole("block", block, 1, 1 << 20)
    every = parse_every(checkpoint_every)
    check_request(games, more, until, resume=resume is not None, fork=fork)
    if isinstance(resume, str | Path):
        resume = find_run(resume)
    check_files(out, record, resume, start, opponent)
    target = resume if out is None and isinstance(resume, Path) else out
    say = warn or warn_python
    with ExitStack() as stack:
        files = None
        if target is not None:  # no other process may write the file while it is read
            kept = Checkpoints(Path(target), overwrite=overwrite or out is None, every=every, say=say)
            files = stack.enter_context(kept)
        runs = Runs(resume, start, opponent, trust)
        plan = make_plan(games, runs, given, seat=seat, more=more, until=until, fork=fork, in_place=out is None)
        config, limit, writer = plan.config, parse_memory(max_memory), None
        check_space(config, limit)
        if record is not None:
            writer = stack.enter_context(_writer(Path(record), config, overwrite=overwrite, say=say))
        elif plan.rival is None:
            announce_kernels(kernels_needed(config, plan.total, n_threads))
        clock = Clock(float(plan.provenance.get("seconds", 0.0)))
        trainer = _trainer(plan, writer, limit, n_threads, block)
        run = Session(plan, trainer, clock, files, progress, stop or (lambda: False), say, command, n_threads).train()
        if run is not plan.resumed:
            keep(run, files if run.games else None, writer, elsewhere)
    return run


def _writer(path: Path, config: Config, *, overwrite: bool, say: Callable[[str], None]) -> GamesWriter:
    """The file for the games played.  Raises UsageError and GamesError."""
    if config.engine == "flow":
        flow, walk = option("engine", "flow"), option("engine", "walk")
        raise UsageError(f"{flow} draws counts and plays no games to record; choose {walk}")
    return GamesWriter(path, config.board if config.symmetry else None, overwrite=overwrite, say=say)


def _trainer(plan: Plan, writer: GamesWriter | None, limit: int, threads: int, block: int) -> Trainer:
    """What plays and learns.  limit: bytes that the table may take."""
    config = plan.config
    graph = None if writer is None or config.grown else config.graph
    return make_trainer(
        config,
        rival=None if plan.rival is None else rival_policy(plan.rival, config),
        state=plan.state,
        record=None if writer is None else functools.partial(writer.write, graph=graph),
        threads=threads,
        block=block,
        max_rows=rows_within(config, limit) if config.grown else 0,
        games=plan.total,
    )


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
    if isinstance(start, str | Path):
        start = find_run(start)
    written = {"resume": resume, "record": record} if out is None else {"out": out, "record": record}
    read = {"resume": None if out is None else resume, "start": start, "opponent": opponent}
    check_distinct(_paths(written), _paths(read))


def _paths(named: dict[str, Any]) -> list[tuple[str, Path]]:
    """The options that name files."""
    return [(option(name), Path(path)) for name, path in named.items() if isinstance(path, str | Path)]


def keep(
    run: Run,
    files: Checkpoints | None,
    writer: GamesWriter | None,
    elsewhere: Callable[[RunFileError], Path | None] | None,
) -> None:
    """Save the run and let the file of its games appear; neither depends on the other.

    Raises RunFileError, whose `run` is the run, or GamesError; one line says what became of both.
    """
    failure = lost = None
    try:
        if files is not None:
            files.finish(run, elsewhere)
    except RunFileError as error:
        failure = error
    finally:
        try:
            if writer is not None:
                writer.finish()
        except GamesError as error:
            lost = error
    if failure is not None:
        kept = "" if writer is None or writer.file is None else f"; the games played are in {shown(writer.file)}"
        failed = RunFileError(f"{failure}; {lost}" if lost else f"{failure}{kept}")
        failed.run = run  # type: ignore[attr-defined]
        raise failed from failure
    if lost is not None:
        where = "" if run.file is None else f"; the run itself is saved in {shown(run.file)}"
        raise GamesError(f"{lost}{where}") from lost
