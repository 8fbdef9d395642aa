"""Training from the outside: `train` plays and learns.

Of its files none is written over another, and each is kept if the other fails.
"""

import functools
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, nullcontext
from pathlib import Path
from typing import Any, Unpack, overload

from ttt_batch.agents.rival import Rival
from ttt_batch.base.choices import NetworkLearner, TableLearner
from ttt_batch.base.errors import GamesError, RunFileError, UsageError, option, warn_python
from ttt_batch.base.files import shown
from ttt_batch.base.kernel_cache import announce_kernels
from ttt_batch.base.memory import parse_memory
from ttt_batch.base.printable import followed
from ttt_batch.base.processors import thread_count
from ttt_batch.base.quantities import Number
from ttt_batch.base.signatures import given_options, with_options
from ttt_batch.cluster.crew import Crew
from ttt_batch.cluster.place import Place, place_of
from ttt_batch.game.transcript_writer import GamesWriter
from ttt_batch.learners import homes_of, learner_named
from ttt_batch.runs.config import Config, Options, PlayOptions
from ttt_batch.runs.loading import AnyRun, load_any
from ttt_batch.runs.lookup import find_run
from ttt_batch.runs.memory_needs import check_space, rows_within
from ttt_batch.runs.patterns.config import PatternOptions
from ttt_batch.runs.patterns.run import PatternRun
from ttt_batch.runs.recorder import Clock
from ttt_batch.runs.run import Run
from ttt_batch.simulation.chances import Chances
from ttt_batch.simulation.walk import BLOCK
from ttt_batch.training.checkpoints import DEFAULT_EVERY, Checkpoints, parse_every
from ttt_batch.training.keeping import make_keeper
from ttt_batch.training.patterns.session import Followers
from ttt_batch.training.patterns.train import check_networks, check_tables, is_network, network_options, train_patterns
from ttt_batch.training.plan import Opposing, Plan, Runs, make_plan, rival_policy
from ttt_batch.training.requests import check_files, check_fresh, check_request, seated_opponent
from ttt_batch.training.session import Progress, Session
from ttt_batch.training.shares import Shares
from ttt_batch.training.trainers import kernels_needed, make_trainer, way_to_learn
from ttt_batch.training.trainers.base import Trainer
from ttt_batch.training.trainers.mixture import MixtureWalking
from ttt_batch.training.trainers.pieces import InPieces


class TrainOptions(Options, PatternOptions, total=False):
    """What shapes learning, by a table of positions or by pattern networks."""


class Arguments(PlayOptions, PatternOptions, total=False):
    """Arguments of `train` that do not say which kind of run it returns."""

    start: Run | str | Path | None
    opponent: Opposing
    seat: str | None
    more: Number | None
    until: Number | None
    fork: bool
    trust: bool
    record: str | Path | None
    keep_points: bool
    max_memory: Number | None
    threads: Number | None
    workers: Number | None
    scheduler: str | None
    block: int
    out: str | Path | None
    overwrite: bool
    checkpoint_every: str
    progress: Callable[[Progress], None] | bool | None
    stop: Callable[[], bool] | None
    warn: Callable[[str], None] | None
    note: Callable[[str], None] | None
    elsewhere: Callable[[RunFileError], Path | None] | None
    command: str


@overload
def train(
    games: Number | None = None,
    *,
    learner: TableLearner | None = None,
    resume: None = None,
    **options: Unpack[Arguments],
) -> Run: ...
@overload
def train(
    games: Number | None = None, *, learner: NetworkLearner, resume: None = None, **options: Unpack[Arguments]
) -> PatternRun: ...
@overload
def train(
    games: Number | None = None, *, learner: str | None = None, resume: Run, **options: Unpack[Arguments]
) -> Run: ...
@overload
def train(
    games: Number | None = None, *, learner: str | None = None, resume: PatternRun, **options: Unpack[Arguments]
) -> PatternRun: ...
@overload
def train(
    games: Number | None = None,
    *,
    learner: str | None = None,
    resume: Run | PatternRun | str | Path | None = None,
    **options: Unpack[Arguments],
) -> Run | PatternRun: ...
@with_options(TrainOptions)
def train(
    games: Number | None = None,
    *,
    start: Run | str | Path | None = None,
    opponent: Opposing = None,
    seat: str | None = None,
    resume: Run | PatternRun | str | Path | None = None,
    more: Number | None = None,
    until: Number | None = None,
    fork: bool = False,
    trust: bool = False,
    record: str | Path | None = None,
    keep_points: bool = False,
    max_memory: Number | None = None,
    threads: Number | None = None,
    workers: Number | None = None,
    scheduler: str | None = None,
    block: int = BLOCK,
    out: str | Path | None = None,
    overwrite: bool = False,
    checkpoint_every: str = DEFAULT_EVERY,
    progress: Callable[[Progress], None] | bool | None = None,
    stop: Callable[[], bool] | None = None,
    warn: Callable[[str], None] | None = None,
    note: Callable[[str], None] | None = None,
    elsewhere: Callable[[RunFileError], Path | None] | None = None,
    command: str = "",
    **options: Unpack[TrainOptions],
) -> Run | PatternRun:
    """Train a learner and return the run, saved to `out` if that is given: a `PatternRun` of networks, else a `Run`.

    games: how many to learn from; None for the learner's published number.  Numbers may be text as in the commands,
    `games="10M"` or `epsilon="10%"`; names may be spelled freely.
    learner, board, epsilon, alpha, gamma, draw_worth, batch, engine, seed, symmetry: see `Config`; None for the
    default, or when resuming for the run's own.
    start_value, lambda_, cut, beta, explore, beads, rewards: see `Settings`; for the learners that have them
    (`lambda_` also for `ntuple-td`).
    tuples, sharing, objective, trace, prove_every, keep: of pattern networks alone, see `PatternConfig`; `seat` is the
    one to be proved then, and the number of games is rounded up to the next proof.
    epsilon, alpha: numbers or schedules (see `schedules`).
    start: a run (or its file) of the same board and learner whose tables to begin with.
    opponent: `random`, `optimal`, a run (or its file) or an agent, also by name (see `judge`), to train against instead
    of self-play, on enumerated boards; seat: the learner's seat then, `first`, `second` or `both` (batches in turn; the
    default).
    resume: a run (or its file, which is then written to unless `out` is given) to go on with, with its configuration,
    as if it had never ended: up to `until` games, `more` games, or its first goal.  An opponent that was a run has to
    be given again.  fork: allow settings other than its own; needs `out`.
    trust: resume from, or play against, a file that another program has changed.
    out, record: files for the run and for the games played, in the notation of `learn_from`; existing ones stay unless
    `overwrite`.  If the games cannot be written any more, GamesError is raised at the end, when the run is saved.
    keep_points: keep the tables at recorded points, too (`Run.points`); a run that has some goes on keeping them.
    note: called with a line on how large that makes the file, before any work starts.
    max_memory: what the table may take, such as `2GB`; half of what is free if not given.
    threads: None for all processors.  block: games that a thread plays in lockstep.
    workers: so many processes of this machine, or scheduler: the address of a Dask scheduler, such as
    `tcp://host:8786`, whose workers share the games of every large batch.  None of these shows in the result.
    checkpoint_every: how often `out` is written on the way: `30s`, `1Mgames`, or `never`.
    progress: True for a bar on standard error, or a function that is called at every recorded point and about twenty
    times a second.
    stop: called as often; once it returns True, training ends after the current batch and the run is `interrupted`.
    warn: called with a line, instead of a Python warning, if a checkpoint cannot be written, which stops nothing; if
    another program has taken the name of a file, and the run (its `file` is the path) or the games go into a new one;
    and about what happens to workers.  If these are lost, training goes on without them.
    elsewhere: called for another file if the run cannot be written at the end; None gives up.

    Raises UsageError (also if two of the files are the same one), BoardError, RunFileError and ClusterError before any
    work starts,
    and RunFileError at the end if the run could not be written; the exception's `run` holds it.
    """
    given, every, say = given_options(train, options), parse_every(checkpoint_every), warn or warn_python
    place, n_threads, stop = place_of(workers, scheduler, threads), thread_count(threads), stop or (lambda: False)
    check_request(games, more, until, block, resume=resume is not None, fork=fork, trust=trust, keep_points=keep_points)
    resume = resume if resume is None or isinstance(resume, AnyRun) else find_run(resume)
    check_files(out, record, resume, start, opponent, given.get("tuples"))
    check_fresh(given, seat, opponent, begun=resume is not None or start is not None)
    target, replaces = resume if out is None and isinstance(resume, Path) else out, overwrite or out is None
    with ExitStack() as stack, followed(progress, "training") as follow:
        files = None if target is None else Checkpoints(Path(target), overwrite=replaces, every=every, say=say)
        stack.enter_context(files or nullcontext())
        before = load_any(resume, trust=trust) if isinstance(resume, Path) else resume
        if isinstance(before, PatternRun) or (before is None and is_network(given.get("learner"))):
            others = {"start": start, "opponent": opponent, "fork": fork, "record": record, "max_memory": max_memory}
            others |= {"keep_points": keep_points, "workers": workers, "scheduler": scheduler}
            check_networks(given := network_options(given), others)
            followers = Followers(files, follow, stop, command, n_threads)
            trained = train_patterns(games, given, seat, before, _called(resume), more, until, followers)
            return _kept(trained, before, files, None, elsewhere)
        check_tables(given)
        opponent = stack.enter_context(seated_opponent(opponent, given.get("board"), before))
        runs = Runs(resume if isinstance(resume, Path) else before, start, opponent, trust, before)
        plan = make_plan(games, runs, given, seat=seat, more=more, until=until, fork=fork, in_place=out is None)
        config, limit = plan.config, parse_memory(max_memory)
        check_space(config, limit, uneven=isinstance(plan.rival, Rival) and isinstance(plan.rival.policy, Chances))
        shares = None if place is None else stack.enter_context(_shared(place, plan, warn))
        writer = None if record is None else stack.enter_context(_writer(record, config, overwrite=overwrite, say=say))
        announce_kernels(0 if writer or plan.rival is not None else kernels_needed(config, plan.total, n_threads))
        clock, trainer = Clock(plan.seconds), _trainer(plan, writer, limit, n_threads, block, shares)
        keeper = make_keeper(plan, trainer.tables, limit, note, wanted=keep_points)
        run = Session(plan, trainer, clock, files, follow, stop, say, command, n_threads, keeper).train()
        return _kept(run, plan.resumed, files, writer, elsewhere)


def _called(resume: Run | PatternRun | Path | None) -> str:
    """What a run to go on with is called in messages."""
    return shown(resume) if isinstance(resume, Path) else "the run"


def train_table(games: Number | None = None, **options: Any) -> Run:
    """`train` with a learner of tables of positions."""
    run = train(games, **options)
    assert isinstance(run, Run)
    return run


def _writer(path: str | Path, config: Config, *, overwrite: bool, say: Callable[[str], None]) -> GamesWriter:
    """The file for the games played.  Raises UsageError and GamesError."""
    if config.engine == "flow":
        flow, walk = option("engine", "flow"), option("engine", "walk")
        raise UsageError(f"{flow} draws counts and plays no games to record; choose {walk}")
    return GamesWriter(Path(path), config.board if config.symmetry else None, overwrite=overwrite, say=say)


def _trainer(
    plan: Plan, writer: GamesWriter | None, limit: int, threads: int, block: int, shares: Shares | None
) -> Trainer:
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
        shares=shares,
    )


@contextmanager
def _shared(place: Place, plan: Plan, warn: Callable[[str], None] | None) -> Iterator[Shares | None]:
    """The workers of a place for a run's batches.  Raises UsageError for what cannot be shared, and ClusterError."""
    config, games, workers = plan.config, plan.total, option("workers" if place.workers else "scheduler")
    way = way_to_learn(config, plan.rival.policy if isinstance(plan.rival, Rival) else None)
    if config.batch == 1:
        raise UsageError(f"{workers} share the games of a batch, and one game cannot be shared; choose a larger batch")
    if not issubclass(way, InPieces):
        why = (
            "flow plays no games"
            if config.engine == "flow"
            else f"the table of {config.board.name} grows with every game"
        )
        raise UsageError(f"{workers} share the games of a batch, but {why}; leave {workers} out")
    if issubclass(way, MixtureWalking):
        others = "play by chances" if config.by_chances else "an opponent of unequal chances"
        raise UsageError(
            f"{workers} share a batch by its best moves, and {others} draws others, too; leave {workers} out"
        )
    homes_of([config.learner])
    say = warn or warn_python
    largest, least = min(config.batches.most, games), way.least_shared(learner_named(config.learner))
    if largest < least:
        say(
            f"batches of up to {largest:,} games are walked in this process alone: on {config.board.name} workers pay "
            f"from {least:,} games a batch on"
        )
        yield None
        return
    with Crew(place, say, warn) as crew:
        yield Shares(crew, config, say)


def _kept(
    run: Run | PatternRun,
    before: Run | PatternRun | None,
    files: Checkpoints | None,
    writer: GamesWriter | None,
    elsewhere: Callable[[RunFileError], Path | None] | None,
) -> Run | PatternRun:
    """A run at its end, saved unless it is still the one that was to go on."""
    if run is not before:
        keep(run, files if run.games else None, writer, elsewhere)
    return run


def keep(
    run: Run | PatternRun,
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
