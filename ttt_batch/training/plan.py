"""What a training begins with, fresh or from the state of a run; checked before any work starts.

Batches begin and points are recorded at games that follow from the configuration alone.  So a run that ended within a
batch goes on from that batch's beginning, and a point recorded only because the run ended there is dropped: the result
is that of a run without the interruption.
"""

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ttt_batch.agents.agent import Agent
from ttt_batch.agents.callables import CallableAgent
from ttt_batch.agents.outsider import Outsider
from ttt_batch.agents.rival import Rival, rival_of
from ttt_batch.base.choices import choose_seat
from ttt_batch.base.errors import RunFileError, UsageError, command_name, command_with, option, with_option
from ttt_batch.base.files import shown
from ttt_batch.base.quantities import Number, counted, whole
from ttt_batch.game.solution import solve
from ttt_batch.game.state_space import check_enumerable
from ttt_batch.learners import learner_named
from ttt_batch.runs.batches import MAX_GAMES, recorded_points
from ttt_batch.runs.boxes import not_second
from ttt_batch.runs.config import DEFAULTS, OPPONENTS, Config, make_config
from ttt_batch.runs.explorations import instead_of_the_other
from ttt_batch.runs.loading import load, with_table
from ttt_batch.runs.lookup import RUNS_OR_AGENTS, name_or_run
from ttt_batch.runs.patterns.run import PatternRun
from ttt_batch.runs.run import Run
from ttt_batch.runs.state import State, table_digest
from ttt_batch.simulation.chances import Chances
from ttt_batch.simulation.policy import UNLISTED, Policy, optimal_policy, random_policy

Source = Run | str | Path | None
"""A run, or its file."""

Opposing = Source | PatternRun | Agent | Outsider | Callable[..., Any]
"""A fixed opponent, or what names it: a run, an agent, or `random` or `optimal`."""


class Runs(NamedTuple):
    """The runs that a training reads, or their files, and whether to trust files that another program has changed.

    read: the run in the file `resume`, if it was read already.
    """

    resume: Source
    start: Source
    opponent: Opposing
    trust: bool
    read: Run | None = None


@dataclass
class Plan:
    """A training about to begin.

    total: games it goes on to.  rival: the fixed opponent, a run or its name; None in self-play.
    state: at its beginning; None for the learner's own start.  earlier: its recorded points so far, if there are any.
    provenance: what is known of its past.  resumed: the run that it goes on with, if any.
    """

    config: Config
    total: int
    rival: Run | Rival | str | None
    state: State | None
    earlier: dict[str, NDArray[Any]] | None
    provenance: dict[str, str | int | float]
    resumed: Run | None = None

    @property
    def games(self) -> int:
        """Games learnt from before it begins."""
        return 0 if self.state is None else self.state.games

    @property
    def seconds(self) -> float:
        """Seconds that its past took."""
        return float(self.provenance.get("seconds", 0.0))


def make_plan(
    games: Number | None,
    runs: Runs,
    options: dict[str, Any],
    *,
    seat: str | None,
    more: Number | None,
    until: Number | None,
    fork: bool,
    in_place: bool,
) -> Plan:
    """The training with the given parameters of `train`, among them the `options` of `Config`.

    in_place: a run resumed from a file goes on in that file.  Raises UsageError, BoardError and RunFileError.
    """
    resume, start, opponent, trust, read = runs
    meant, origin = _opponent(opponent, trust=trust), load(start) if isinstance(start, str | Path) else start
    origin = origin if origin is None else with_table(origin)
    seat = "" if seat is None else choose_seat(seat, "both")
    if resume is None:
        return _fresh_plan(games, origin, meant, seat, options)
    run, name = (
        (resume, "the run") if isinstance(resume, Run) else ((read or load(resume, trust=trust)), shown(Path(resume)))
    )
    if fork and in_place and run is not resume:
        raise UsageError(f"a fork is a run of its own; name its file{with_option('out')}")
    state, past = resumable_state(run, name), dict(run.provenance)
    total = goal_of(run, name, more, until)
    before, given = run.config, options | {"seat": seat} if seat else dict(options)
    rival = _asked(meant, before)
    if origin is not None:
        given["start"] = table_digest(origin.tables)
    if rival is not None:
        given = {"seat": before.seat or "both", **given, "opponent": _rival_name(rival)}
        if not fork and before.opponent not in ("", *OPPONENTS, given["opponent"]):
            raise UsageError(
                f"{name} was trained against another run or agent; name that one (info says how it was trained), or "
                f"add {option('fork', True)} and {option('out')} for a new run"
            )
    elif before.opponent in OPPONENTS:
        rival = before.opponent
    elif before.opponent:
        raise UsageError(f"{name} was trained against a run or an agent; name it again with {option('opponent')}")
    config, changes = differing_settings(before, given, horizon=total)
    if changes and not fork:
        remedy = f"leave that out, or add {option('fork', True)} and {option('out')} for a new run"
        raise UsageError(f"{name} was trained with {changes}; {remedy}")
    _check_engine(config)
    if fork:
        past |= {"parent": table_digest(run.tables), "parent_games": run.games}
    if changes:
        # Equal configurations make equal bytes, so a fork's says where it began.
        config = replace(config, start=f"{table_digest(state.tables)}@{state.games}")
        check_origin(run, config)
    return Plan(config, total, rival, state, kept_points(run, state.games), past, run)


def _fresh_plan(
    games: Number | None,
    origin: Run | None,
    meant: Run | Agent | Outsider | str | None,
    seat: str,
    options: dict[str, Any],
) -> Plan:
    """A training from the first game on, which takes over the tables of `origin`."""
    learner = learner_named({**DEFAULTS, **options}["learner"])
    total = whole("games", learner.games if games is None else games, 1, MAX_GAMES)
    meant = OPPONENTS[0] if learner.boxes and meant is None else meant  # it plays one seat, so never itself
    start, usual = "" if origin is None else table_digest(origin.tables), "first" if learner.boxes else "both"
    if isinstance(meant, Run) and meant.learner.boxes and not learner.boxes:
        usual = "second"  # the seat that is free
    rival = None if meant is None else _asked(meant, make_config(**options, horizon=total, start=start))
    against, seat = ("", seat) if rival is None else (_rival_name(rival), seat or usual)
    config = make_config(**options, horizon=total, start=start, opponent=against, seat=seat)
    _check_engine(config)
    if origin is not None:
        check_origin(origin, config)
    return Plan(config, total, rival, None if origin is None else state_of(origin, 0), None, {})


def state_of(origin: Run, games: int) -> State:
    """The state at the beginning of a training that takes over a run's tables, with `games` learnt from."""
    return State(games, origin.tables, origin.visits_or_zeros(), np.zeros(3, np.int64), *origin.positions)


def _opponent(opponent: Opposing, *, trust: bool) -> Run | Agent | Outsider | str | None:
    """A fixed opponent: its name, an agent, or a run, read if only its file is given.

    What a file names never runs by itself: an agent is always given here.  Raises UsageError and RunFileError.
    """
    if opponent is None or isinstance(opponent, Run | PatternRun):
        return None if opponent is None else with_table(opponent)
    if isinstance(opponent, Agent | Outsider):
        return opponent
    if callable(opponent):
        return CallableAgent(opponent)
    meant = name_or_run("opponent", opponent, OPPONENTS, others=RUNS_OR_AGENTS)
    return meant if isinstance(meant, str) else load(meant, trust=trust)


def _asked(meant: Run | Agent | Outsider | str | None, config: Config) -> Run | Rival | str | None:
    """A fixed opponent with its moves: an agent is asked for those on the board of `config`.

    Raises BoardError if there are too many positions, and AgentError.
    """
    if not isinstance(meant, Agent | Outsider):
        return meant
    check_enumerable(config.board, config.grown, "an agent to train against, which is asked about every position,")
    asked = meant if isinstance(meant, Outsider) else Outsider(meant, config.board, loses=None)
    if asked.board != config.board:
        raise UsageError(
            f"the opponent plays {asked.board.name}, not {config.board.name}; choose one of the same board"
        )
    return rival_of(asked, config.graph, config.symmetry)


def _rival_name(rival: Run | Rival | str) -> str:
    if isinstance(rival, Rival):
        return rival.digest
    return rival if isinstance(rival, str) else table_digest(rival.tables)


def _check_engine(config: Config) -> None:
    if config.engine == "given":
        raise UsageError(f"engine 'given' belongs to {command_name('learn-from')}; choose walk or flow")


def check_origin(origin: Run, config: Config) -> None:
    """Raise UsageError if a run's tables are not those of the learner, board and symmetry of `config`."""
    before = origin.config
    if (before.learner, before.board, before.symmetry) != (config.learner, config.board, config.symmetry):
        raise UsageError(
            f"cannot start {config.learner} on {config.board.name} from a run of {before.learner} on "
            f"{before.board.name}; choose a run of the same learner, board and symmetry"
        )


def check_rival(rival: Run | Rival | str, config: Config) -> None:
    """Raise UsageError or BoardError if a fixed opponent cannot play on the board of `config`."""
    if isinstance(rival, Run) and rival.config.board != config.board:
        raise UsageError(
            f"the opponent plays {rival.config.board.name}, not {config.board.name}; choose a run of the same board"
        )
    if rival != "random":
        check_enumerable(config.board, config.grown, "an opponent that is not random")
    if isinstance(rival, Run) and rival.learner.boxes and config.seat != "second":
        able = "" if learner_named(config.learner).boxes else f"give {option('seat', 'second')}, or "
        remedy = f"{able}choose another opponent"
        raise not_second(rival.config.learner, "an opponent's part against a learner that plays first", remedy)


def rival_policy(rival: Run | Rival | str, config: Config) -> Policy | Chances:
    """Return what a fixed opponent plays on the board of `config`.

    On a growing board these are random moves, which are not listed.
    Against a learner with one row for all images of a position, a run plays in all of them as in that row's.
    """
    check_rival(rival, config)
    if config.grown:
        return UNLISTED
    graph = config.graph
    if isinstance(rival, Rival):
        return rival.policy
    if isinstance(rival, Run):
        return rival.policy_on(graph)
    return random_policy(graph) if rival == "random" else optimal_policy(graph, solve(graph))


def resumable_state(run: Run, name: str) -> State:
    """The state from which `run` (called `name`) goes on.

    Raises UsageError if its games were not played here, and RunFileError if its parts contradict each other.
    """
    if run.config.engine == "given":
        raise UsageError(
            f"{name} learnt from given games or was imported; go on with {command_with('learn-from', 'run')}, or begin "
            f"with {command_with('train', 'start')}"
        )
    if run.batch_start is not None:
        return run.batch_start
    points, outcomes = run.statistics["games"], run.statistics["outcomes"]
    if not points.size or points[-1] != run.games or outcomes[-1].sum() != run.games:
        raise RunFileError(
            f"{name} cannot go on: its last recorded point is not that of its {counted(run.games, 'game')}"
        )
    return State(run.games, run.tables, run.visits, outcomes[-1], *run.positions)


def goal_of(
    run: Run | PatternRun, name: str, more: Number | None, until: Number | None, *, unfinished: bool = False
) -> int:
    """Games that a resumed run goes on to.  Raises UsageError if it has them already.

    unfinished: something is left to do after the last game.
    """
    if more is not None and until is not None:
        raise UsageError(f"{option('more')} and {option('until')} mean the same; leave one out")
    if more is not None:
        return whole("until", run.games + whole("more", more, 1, MAX_GAMES), 1, MAX_GAMES)
    goal = run.goal if until is None else whole("until", until, 1, MAX_GAMES)
    if goal < run.games or (goal == run.games and not unfinished):
        asked = counted(run.games, "game") + (", all it was asked for" if until is None else "")
        raise UsageError(f"{name} has {asked}; go on with {option('more', 'N')}, or {option('until')} a larger number")
    return goal


def differing_settings(before: Config, given: dict[str, Any], *, horizon: int) -> tuple[Config, str]:
    """The configuration `before` with the settings `given`, and the differences in words.

    horizon: games over which a schedule runs that `before` did not have.  Raises UsageError for impossible values.
    """
    values = {field.name: getattr(before, field.name) for field in fields(before)}
    config = make_config(**{**values, "horizon": before.horizon or horizon, **instead_of_the_other(given)})
    changes = [
        f"{name.rstrip('_')} {_spoken(name, old)}, not {_spoken(name, new)}"
        for (name, old), new in zip(before.written.items(), config.written.values(), strict=True)
        if new != old
    ]
    return config, "; ".join(changes)


def _spoken(name: str, value: Any) -> Any:
    """Return a setting's value for a message; a table's digest says nothing to a person."""
    if name in ("opponent", "start") and value not in ("", None, *OPPONENTS):
        return "a run or an agent" if name == "opponent" else "given tables"
    return "none" if value in ("", None) else value


def kept_points(run: Run, games: int) -> dict[str, NDArray[Any]]:
    """The recorded points of `run` up to `games` but for a last one that is there only because the run ended."""
    points = run.statistics["games"]
    kept = points <= games
    if kept.any():
        last = int(points[kept][-1])
        due = next(point for point in recorded_points(run.config.batches) if point >= last)
        # What a fork has of its parent stays: those points follow from the parent's configuration.
        inherited = int(run.config.start.partition("@")[2] or 0)
        kept[points == last] = due == last or last <= inherited
    return {name: column[kept] for name, column in run.statistics.items()}
