"""What a training begins with: fresh, or where a run stands; checked before any work starts."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ttt_batch.base.errors import UsageError, command_name, option, with_option
from ttt_batch.base.files import shown
from ttt_batch.base.quantities import Number, whole
from ttt_batch.game.solution import solve
from ttt_batch.game.state_space import check_enumerable, space_of
from ttt_batch.learners import learner_named
from ttt_batch.runs.batches import MAX_GAMES
from ttt_batch.runs.config import DEFAULTS, OPPONENTS, Config, make_config
from ttt_batch.runs.loading import load
from ttt_batch.runs.lookup import name_or_run
from ttt_batch.runs.run import Run
from ttt_batch.runs.state import State
from ttt_batch.simulation.policy import UNLISTED, Policy, optimal_policy, random_policy
from ttt_batch.training.resume import differing_settings, goal_of, kept_points, resumable_state, table_digest


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


@dataclass(frozen=True)
class Request:
    """What `train` is asked for beside the learning options, see there; `rival` is the opponent, read.

    in_place: whether the run goes on in the file that it is resumed from.
    """

    games: Number | None
    start: Run | str | Path | None
    rival: Run | str | None
    seat: str
    resume: Run | str | Path | None
    more: Number | None
    until: Number | None
    fork: bool
    trust: bool
    in_place: bool


def make_plan(request: Request, options: dict[str, Any]) -> Plan:
    """The training that is asked for, with the learning options that were given.

    Raises UsageError, BoardError and RunFileError.
    """
    if request.resume is None:
        return _fresh_plan(request, options)
    if request.games is not None:
        resumed = f"with {option('resume')}, say {option('until')} or {option('more')}"
        raise UsageError(f"games {request.games} belong to a new run; {resumed}")
    return _resumed_plan(request, request.resume, options)


def _fresh_plan(request: Request, options: dict[str, Any]) -> Plan:
    """A training from the first game on."""
    rival, start, seat = request.rival, request.start, request.seat
    learner = learner_named({**DEFAULTS, **options}["learner"])
    total = whole("games", learner.games if request.games is None else request.games, 1, MAX_GAMES)
    origin = load(start) if isinstance(start, str | Path) else start
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
        check_origin(origin, config)
        state = state_of(origin, 0)
    return Plan(config, total, rival, state, None, {})


def state_of(origin: Run, games: int) -> State:
    """Where a training begins that takes over a run's tables, with so many `games` learnt from."""
    return State(games, origin.tables, origin.visits_or_zeros(), np.zeros(3, np.int64), *origin.positions)


def _resumed_plan(request: Request, resume: Run | str | Path, options: dict[str, Any]) -> Plan:
    """A training that goes on from where `resume` stands; a fork may have another configuration."""
    run = resume if isinstance(resume, Run) else load(resume, trust=request.trust)
    name = "the run" if isinstance(resume, Run) else shown(Path(resume))
    if request.fork and request.in_place:
        raise UsageError(f"a fork is a run of its own; name its file{with_option('out')}")
    state = resumable_state(run, name)
    total = goal_of(run, name, request.more, request.until)
    before, rival, start = run.config, request.rival, request.start
    given = dict(options)
    if start is not None:
        given["start"] = table_digest((start if isinstance(start, Run) else load(start)).tables)
    if rival is not None:
        given |= {"opponent": _rival_name(rival), "seat": before.seat or "both"}
    elif before.opponent in OPPONENTS:
        rival = before.opponent
    elif before.opponent:
        raise UsageError(f"{name} was trained against a run; name its file again with {option('opponent')}")
    if request.seat:
        given["seat"] = request.seat
    config, changes = differing_settings(before, given, horizon=total)
    if changes and not request.fork:
        remedy = f"leave that out, or add {option('fork', True)} and {option('out')} for a new run"
        raise UsageError(f"{name} was trained with {changes}; {remedy}")
    _check_seat(config.seat, against=bool(config.opponent))
    _check_engine(config)
    past = dict(run.provenance)
    if request.fork:
        past |= {"parent": table_digest(run.tables), "parent_games": run.games}
    if changes:
        # Equal configurations make equal bytes, so a fork's says where it began.
        config = replace(config, start=f"{table_digest(state.tables)}@{state.games}")
        check_origin(run, config)
    return Plan(config, total, rival, state, kept_points(run, state.games), past, run)


def opponent_of(opponent: Run | str | Path | None, *, trust: bool) -> Run | str | None:
    """A fixed opponent: its name, or a run, read where only its file is given.  Raises UsageError and RunFileError."""
    if opponent is None or isinstance(opponent, Run):
        return opponent
    meant = name_or_run("opponent", opponent, OPPONENTS)
    return meant if isinstance(meant, str) else load(meant, trust=trust)


def _rival_name(rival: Run | str) -> str:
    return rival if isinstance(rival, str) else table_digest(rival.tables)


def _check_seat(seat: str, *, against: bool) -> None:
    if seat and not against:
        raise UsageError(f"seat {seat!r} goes with an opponent; name one, or leave the seat out for self-play")


def _check_engine(config: Config) -> None:
    if config.engine == "given":
        raise UsageError(f"engine 'given' belongs to {command_name('learn-from')}; choose walk or flow")


def check_origin(origin: Run, config: Config) -> None:
    """Raise UsageError where a run's tables are not those of the learner, board and symmetry of `config`."""
    before = origin.config
    if (before.learner, before.board, before.symmetry) != (config.learner, config.board, config.symmetry):
        raise UsageError(
            f"cannot start {config.learner} on {config.board.name} from a run of {before.learner} on "
            f"{before.board.name}; choose a run of the same learner, board and symmetry"
        )


def rival_policy(rival: Run | str, config: Config) -> Policy:
    """What a fixed opponent plays on the board of `config`; without moves, for random ones, on a growing board."""
    if isinstance(rival, Run) and rival.config.board != config.board:
        raise UsageError(
            f"the opponent plays {rival.config.board.name}, not {config.board.name}; choose a run of the same board"
        )
    if rival == "random" and config.grown:
        return UNLISTED
    check_enumerable(config.board, space_of(config.board, config.symmetry), "an opponent that is not random")
    graph = config.graph
    if isinstance(rival, Run):
        if rival.config.symmetry != config.symmetry:
            raise UsageError(
                "the opponent's run takes all images of a position for one, or this one does and it does not; "
                f"give the {option('symmetry')} of the opponent"
            )
        return rival.policy_on(graph)
    return random_policy(graph) if rival == "random" else optimal_policy(graph, solve(graph))
