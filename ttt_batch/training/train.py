"""Public function `train`, with validation of its arguments before any file is opened.

It never writes one of its files over another, and keeps each if the other fails.
"""

import functools
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import Any, TypeGuard, TypeVar, Unpack, cast, overload

from ttt_batch.agents.adapter import OpponentPolicy
from ttt_batch.agents.external import is_agent, make_agent
from ttt_batch.cluster.config import ClusterConfig, cluster_config
from ttt_batch.cluster.worker_pool import WorkerPool
from ttt_batch.core.errors import GamesError, RunFileError, UsageError, command_name, flag, warn_python
from ttt_batch.core.files import shown
from ttt_batch.core.outputs import check_distinct, named_file
from ttt_batch.core.resources import parse_memory, thread_count
from ttt_batch.core.results import progress_callback, stop_callback
from ttt_batch.core.text import (
    AGENT_NAMES,
    PATTERN_LEARNERS,
    NetworkLearner,
    Number,
    TableLearner,
    check_switches,
    find_name,
    given_options,
    parse_int,
    with_options,
)
from ttt_batch.games.board import parse_board
from ttt_batch.games.transcripts import GamesWriter
from ttt_batch.learners import any_learner, homes_of, learner_named
from ttt_batch.ntuple.network import file_of_tuples
from ttt_batch.runs.config import make_config
from ttt_batch.runs.growing_table import check_space, rows_within
from ttt_batch.runs.loading import AnyRun, load_any
from ttt_batch.runs.lookup import RUNS_OR_AGENTS, find_run, name_or_run
from ttt_batch.runs.network_run import PatternRun
from ttt_batch.runs.options import OPPONENTS, PatternOptions, PlayOptions, TrainOptions
from ttt_batch.runs.run import Clock, Run
from ttt_batch.simulation.action_probabilities import Probabilities
from ttt_batch.simulation.walk import BLOCK
from ttt_batch.training.network_trainer import PatternTrainer
from ttt_batch.training.plan import Opposing, Plan, check_options, make_plan, network_options, plan_networks
from ttt_batch.training.remote import RemoteBatches
from ttt_batch.training.session import DEFAULT_EVERY, Checkpoints, Hooks, Progress, Session, SnapshotStore, parse_every
from ttt_batch.training.trainers.base import TableTrainer
from ttt_batch.training.trainers.batched import Batched, ChunkedWalk, MixtureWalking, choose_trainer, make_trainer


def names_agent(opponent: Opposing) -> TypeGuard[str]:
    """Return whether a fixed opponent is the name of an agent, which must be made; `random` and `optimal` are none."""
    return isinstance(opponent, str) and is_agent(opponent) and find_name(opponent, OPPONENTS) is None


def check_request(games: Number | None, given: Mapping[str, Any], way: "Arguments", *, resume: bool) -> None:
    """Raise UsageError or BoardError for arguments that are invalid, or do not go with a new or a resumed run.

    given: the options of the learner; those of a resumed run, and of one that begins with given tables, are checked
    with these.
    """
    check_switches(fork=way["fork"], trust=way["trust"], keep_points=way["keep_points"])
    parse_int("block", way["block"], 1, 1 << 20)
    if way["time_limit"] is not None and not names_agent(way["opponent"]):
        limit = flag("time_limit")
        raise UsageError(f"{limit} is for agents such as one-ply, and no other opponent is named; leave it out")
    if resume and games is not None:
        resumed = f"with {flag('resume')}, give {flag('until')} or {flag('more')}"
        raise UsageError(f"games {games} belong to a new run; {resumed}")
    if not resume and (way["more"] is not None or way["until"] is not None or way["fork"]):
        wanted = f"go with {flag('resume', 'RUN')}; name the run to continue, or give {flag('games')}"
        raise UsageError(f"more, until and fork {wanted}")
    tables = given.get("learner") is None or any_learner(given["learner"]) not in PATTERN_LEARNERS
    if tables and not resume and way["start"] is None:
        check_options(given, networks=False)
        make_config(**given, seat=way["seat"] or "" if way["opponent"] is None else "")


def check_files(resume: AnyRun | Path | None, way: Mapping[str, Any]) -> None:
    """Raise UsageError if an output is not a file name, or would overwrite an input or the other output.

    resume: the run to continue, or its file.  way: the arguments of `train` by name.
    """
    out, record, start, opponent = (way[name] for name in ("out", "record", "start", "opponent"))
    for name, given in {"out": out, "record": record}.items():
        if given is not None:
            named_file(name, given)
    if isinstance(opponent, str) and is_agent(opponent):
        opponent = None
    if isinstance(opponent, str | Path):
        meant = name_or_run("opponent", opponent, AGENT_NAMES, others=RUNS_OR_AGENTS)
        opponent = meant if isinstance(meant, Path) else None
    if start is not None and not isinstance(start, AnyRun):
        start = find_run(start)
    written = {"resume": resume, "record": record} if out is None else {"out": out, "record": record}
    read = {"resume": None if out is None else resume, "start": start, "opponent": opponent}
    read["tuples"] = None if way["tuples"] is None else file_of_tuples(way["tuples"])
    outputs, inputs = (
        [(flag(name), Path(path)) for name, path in named.items() if isinstance(path, str | Path)]
        for named in (written, read)
    )
    check_distinct(outputs, inputs)


R = TypeVar("R", Run, PatternRun)


class Arguments(PlayOptions, PatternOptions, total=False):
    """Arguments of `train` that do not affect the type of run it returns."""

    start: Run | str | Path | None
    opponent: Opposing
    time_limit: Number | None
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


DEFAULTS: Arguments = {
    "fork": False,
    "trust": False,
    "keep_points": False,
    "block": BLOCK,
    "overwrite": False,
    "checkpoint_every": DEFAULT_EVERY,
    "command": "",
}
"""Defaults of the arguments that are not None by default."""


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
def train(games: Number | None = None, *, learner: str | None = None, resume: R, **options: Unpack[Arguments]) -> R: ...
@overload
def train(
    games: Number | None = None,
    *,
    learner: str | None = None,
    resume: Run | PatternRun | str | Path | None = None,
    **options: Unpack[Arguments],
) -> Run | PatternRun: ...
@with_options(Arguments, DEFAULTS)
def train(
    games: Number | None = None,
    *,
    learner: str | None = None,
    resume: Run | PatternRun | str | Path | None = None,
    **options: Unpack[Arguments],
) -> Run | PatternRun:
    """Train a learner and return the run, saved to `out` if given: a `PatternRun` for networks, else a `Run`.

    games: number of games; None for the learner's published number.  Numbers may be text as in the commands, such as
    `games="10M"` or `epsilon="10%"`.  Names may be spelled freely.
    learner, board, epsilon, alpha, gamma, draw_worth, batch, engine, seed, symmetry: see `Config`; None for the
    default, or for the resumed run's own.
    start_value, lambda_, cut, beta, explore, beads, rewards: see `Settings`; for the learners that have them
    (`lambda_` also for `ntuple-td`).
    tuples, sharing, objective, trace, prove_every, keep: only for pattern networks, see `PatternConfig`.  For these
    `seat` is the seat to prove, and the number of games is rounded up to the next proof.
    epsilon, alpha: numbers or schedules (see `schedules`).
    start: a run (or its file) of the same board and learner with whose tables to start.
    opponent: play against `random`, `optimal`, a run (or its file) or an agent, also by name (see `judge`), instead of
    self-play, on enumerated boards.  time_limit: of a named agent, also as in `judge`.
    seat: the learner's seat against an opponent: `first`, `second` or `both` (alternating batches; the default).
    resume: a run (or its file, which is rewritten unless `out` is given) to continue with its configuration, as if it
    had not been interrupted, up to `until` games, by `more` games, or to its own goal.  A run that was the opponent
    must be given again.  fork: allow settings that differ from the resumed run's; needs `out`.
    trust: resume or play against a run whose file another program has changed.
    out, record: files for the run and for the games played, in the notation of `learn_from`.  Existing files need
    `overwrite`.  If writing games fails, training continues, and GamesError is raised after the run is saved.
    keep_points: store snapshots of the tables at recorded points (`Run.points`); a resumed run with snapshots always
    continues them.  note: called before any work with one line about their size.
    max_memory: memory limit of the table, such as `2GB`; half of the free memory if not given.
    threads: None for all processors.  block: games that a thread plays in lockstep.
    workers: number of processes of this machine that share the games of every large batch.
    scheduler: instead, the address of a Dask scheduler with such workers, such as `tcp://host:8786`.
    Threads, block, workers and scheduler do not affect the result.
    checkpoint_every: interval at which `out` is written: `30s`, `1Mgames`, or `never`.
    progress: True for a bar on standard error, or a function called at recorded points and about twenty times a second.
    stop: called as often; once it returns True, training ends after the current batch and the run is `interrupted`.
    warn: called with one line, instead of a Python warning, in three cases.  A checkpoint fails; training continues.
    Another program has taken a file's name, so the run (see its `file`) or the games are saved in a new file.  Workers
    fail or are lost; training continues without them.
    elsewhere: called for another file if the run cannot be written at the end; it returns None to give up.

    Raises UsageError (also if two of the files are the same), BoardError, RunFileError and ClusterError before any
    work.  Raises RunFileError at the end if the run could not be written; the exception's `run` holds it.
    """
    asked = given_options(train, {**options, "learner": learner})
    way = cast(Arguments, dict.fromkeys(Arguments.__annotations__) | DEFAULTS | asked)
    given = {name: value for name, value in asked.items() if name in TrainOptions.__annotations__}
    out, say = way["out"], way["warn"] or warn_python
    every, place = parse_every(way["checkpoint_every"]), None
    if way["workers"] is not None or way["scheduler"] is not None:
        place = cluster_config(way["workers"], way["scheduler"], way["threads"])
    check_request(games, given, way, resume=resume is not None)
    resume = resume if resume is None or isinstance(resume, AnyRun) else find_run(resume)
    check_files(resume, way)
    file = resume if isinstance(resume, Path) else None
    target, replaces = file if out is None else Path(out), way["overwrite"] or out is None
    with ExitStack() as stack, progress_callback(way["progress"], "training") as follow:
        hooks = Hooks(follow, stop_callback(way["stop"]), say, way["command"], thread_count(way["threads"]))
        checkpoints = None
        if target is not None:
            checkpoints = stack.enter_context(Checkpoints(target, overwrite=replaces, every=every, say=say))
        before = load_any(resume, trust=way["trust"]) if isinstance(resume, Path) else resume
        if find_name(given.get("learner") if before is None else before.name, PATTERN_LEARNERS) is not None:
            given = network_options(given)
            check_options([*(name for name in OF_TABLES if way.get(name)), *given], networks=True)
            plan = plan_networks(given, way, games, before, file)
            clock, network_trainer = Clock(plan.provenance), PatternTrainer(plan.config, plan.resumed, hooks.threads)
            session = Session(plan, stack.enter_context(network_trainer), clock, hooks, checkpoints)
        else:
            check_options(given, networks=False)  # before an opponent's program is started
            if names_agent(way["opponent"]):
                board = parse_board(given.get("board", "3x3")) if before is None else before.board
                agent = make_agent(way["opponent"], board, time_limit=way["time_limit"])
                way["opponent"] = stack.enter_context(closing(agent))
            plan = make_plan(given, way, games, before, file)
            session = table_session(plan, way, place, hooks, checkpoints, stack)
        run: Run | PatternRun = session.train()
        if run is not before:
            save_and_publish(
                run, None if run.games == 0 and run.interrupted else checkpoints, session.writer, way["elsewhere"]
            )
        return run


OF_TABLES = ("start", "opponent", "fork", "record", "max_memory", "keep_points", "workers", "scheduler")
"""Arguments of `train`, beside learners' options, that networks lack."""


def table_session(
    plan: Plan,
    way: Arguments,
    place: ClusterConfig | None,
    hooks: Hooks,
    checkpoints: Checkpoints | None,
    stack: ExitStack,
) -> Session:
    """Return the session that trains a table; `stack` closes the workers and the writer of games.

    way: the arguments of `train`.  place: workers that share the games of batches, instead of threads.
    """
    config, limit, record = plan.config, parse_memory(way["max_memory"]), way["record"]
    if config.engine == "given":
        raise UsageError(f"engine 'given' belongs to {command_name('learn-from')}; choose walk or flow")
    policy = plan.opponent.policy if isinstance(plan.opponent, OpponentPolicy) else None
    check_space(config, limit, uneven=isinstance(policy, Probabilities))
    shares = None
    if place is not None:
        shares = stack.enter_context(_shared(place, plan, choose_trainer(config, policy), way["warn"]))
    writer = None
    if record is not None:
        if config.engine == "flow":
            flow, walk = flag("engine", "flow"), flag("engine", "walk")
            raise UsageError(f"{flow} draws counts and plays no games to record; choose {walk}")
        board = config.board if config.symmetry else None
        writer = stack.enter_context(GamesWriter(Path(record), board, overwrite=way["overwrite"], say=hooks.say))
    clock, graph = Clock(plan.provenance), None if writer is None or config.grown else config.graph
    trainer = make_trainer(
        config,
        opponent=plan.opponent,
        state=plan.state,
        record=None if writer is None else functools.partial(writer.write, graph=graph),
        threads=hooks.threads,
        block=way["block"],
        max_rows=rows_within(config, limit) if config.grown else 0,
        games=plan.total,
        shares=shares,
    )
    if isinstance(trainer, Batched):
        trainer.prepare()
    keeps = way["keep_points"] or (plan.resumed is not None and plan.resumed.points is not None)
    keeper = SnapshotStore(plan, trainer.tables, limit, way["note"]) if keeps else None
    return Session(plan, trainer, clock, hooks, checkpoints, keeper, writer)


@contextmanager
def _shared(
    place: ClusterConfig, plan: Plan, trainer: type[TableTrainer], warn: Callable[[str], None] | None
) -> Iterator[RemoteBatches | None]:
    """Yield the distributor of a run's batches to workers, or None if all batches are too small.

    trainer: the class that trains the run.

    Raises UsageError if the batches cannot be shared, and ClusterError.
    """
    config, games, workers = plan.config, plan.total, flag("workers" if place.workers else "scheduler")
    if config.batch == 1:
        raise UsageError(f"{workers} share the games of a batch, and one game cannot be shared; choose a larger batch")
    if not issubclass(trainer, ChunkedWalk):
        flow = config.engine == "flow"
        why = "flow plays no games" if flow else f"the table of {config.board.name} grows with every game"
        raise UsageError(f"{workers} share the games of a batch, but {why}; leave {workers} out")
    if issubclass(trainer, MixtureWalking):
        others = "a stochastic policy" if config.by_chances else "an opponent with unequal probabilities"
        raise UsageError(
            f"{workers} share a batch by its best moves, but {others} also draws other moves; leave {workers} out"
        )
    homes_of([config.learner])
    say = warn or warn_python
    least = trainer.least_shared[learner_named(config.learner).by_arrivals]
    largest = min(config.batches.most, games)
    if largest < least:
        say(
            f"batches of up to {largest:,} games are walked in this process alone: on {config.board.name} workers pay "
            f"from {least:,} games a batch on"
        )
        yield None
        return
    with WorkerPool(place, say, warn) as pool:
        yield RemoteBatches(pool, config, say)


def save_and_publish(
    run: Run | PatternRun,
    files: Checkpoints | None,
    writer: GamesWriter | None,
    elsewhere: Callable[[RunFileError], Path | None] | None,
) -> None:
    """Save the run and publish the file of its games; each is tried even if the other fails.

    Raises RunFileError, whose `run` is the run, or GamesError; the message covers both files.
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
