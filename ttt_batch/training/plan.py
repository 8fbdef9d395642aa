"""Plan of a new or resumed training, checked before any work.

The games at which batches start and points are recorded follow from the configuration alone.  So a run that ended
within a batch continues from the start of that batch.  A point recorded only because the run ended there is dropped.
The result equals that of an uninterrupted run.
"""

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ttt_batch.agents.adapter import AgentAdapter, OpponentPolicy, opponent_policy
from ttt_batch.agents.base import Agent
from ttt_batch.agents.external import agent_of
from ttt_batch.core.errors import RunFileError, UsageError, command_name, command_with, flag, with_option
from ttt_batch.core.files import shown
from ttt_batch.core.text import Number, choose_seat, count_text, parse_int
from ttt_batch.games.enumeration import check_enumerable
from ttt_batch.games.solution import solve
from ttt_batch.learners import learner_named
from ttt_batch.runs.config import (
    DEFAULTS,
    OPPONENTS,
    Config,
    cannot_play_second_error,
    make_config,
    replace_exploration,
)
from ttt_batch.runs.loading import load, with_table
from ttt_batch.runs.lookup import RUNS_OR_AGENTS, name_or_run
from ttt_batch.runs.network_run import PatternRun
from ttt_batch.runs.run import Run
from ttt_batch.runs.schedules import MAX_GAMES, record_schedule
from ttt_batch.runs.state import State, table_digest
from ttt_batch.simulation.action_probabilities import Probabilities
from ttt_batch.simulation.policy import UNLISTED, Policy, optimal_policy, random_policy

Source = Run | str | Path | None
"""Run or run file."""

Opposing = Source | PatternRun | Agent | AgentAdapter | Callable[..., Any]
"""Fixed opponent: a run or its file, an agent, a callable, or a name such as `random` or `optimal`."""


class RunSources(NamedTuple):
    """Runs or run files that a training reads.

    trust: accept files that another program has changed.  read: the run in the file `resume`, if already loaded.
    """

    resume: Source
    start: Source
    opponent: Opposing
    trust: bool
    read: Run | None = None


@dataclass
class Plan:
    """Parameters of a training before it starts.

    total: games at the end.  opponent: the fixed opponent, as a run, `OpponentPolicy` or name; None in self-play.
    state: the state at the start; None for the learner's own start.  earlier: the recorded points so far, if any.
    provenance: of the run so far.  resumed: the run that is continued, if any.
    """

    config: Config
    total: int
    opponent: Run | OpponentPolicy | str | None
    state: State | None
    earlier: dict[str, NDArray[Any]] | None
    provenance: dict[str, str | int | float]
    resumed: Run | None = None

    @property
    def games(self) -> int:
        """Return the number of games learnt from before the start."""
        return 0 if self.state is None else self.state.games

    @property
    def seconds(self) -> float:
        """Return the seconds of earlier training."""
        return float(self.provenance.get("seconds", 0.0))

    @property
    def agent_policy(self) -> Policy | Probabilities | None:
        """Return the policy of an agent as the opponent; None for a run, a name and self-play."""
        return self.opponent.policy if isinstance(self.opponent, OpponentPolicy) else None


def make_plan(
    games: Number | None,
    runs: RunSources,
    options: dict[str, Any],
    *,
    seat: str | None,
    more: Number | None,
    until: Number | None,
    fork: bool,
    in_place: bool,
) -> Plan:
    """Return the plan for the parameters of `train`; `options` are those of `Config`.

    in_place: a run resumed from a file is saved in that file.  Raises UsageError, BoardError and RunFileError.
    """
    resume, start, named_opponent, trust, read = runs
    meant, origin = _opponent(named_opponent, trust=trust), load(start) if isinstance(start, str | Path) else start
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
    opponent = _resolve_opponent(meant, before)
    if origin is not None:
        given["start"] = table_digest(origin.tables)
    if opponent is not None:
        given = {"seat": before.seat or "both", **given, "opponent": _opponent_name(opponent)}
        if not fork and before.opponent not in ("", *OPPONENTS, given["opponent"]):
            raise UsageError(
                f"{name} was trained against another run or agent; name that one (info shows how it was trained), or "
                f"add {flag('fork', True)} and {flag('out')} for a new run"
            )
    elif before.opponent in OPPONENTS:
        opponent = before.opponent
    elif before.opponent:
        raise UsageError(f"{name} was trained against a run or an agent; name it again with {flag('opponent')}")
    config, changes = differing_settings(before, given, horizon=total)
    if changes and not fork:
        remedy = f"leave that out, or add {flag('fork', True)} and {flag('out')} for a new run"
        raise UsageError(f"{name} was trained with {changes}; {remedy}")
    _check_engine(config)
    if fork:
        past |= {"parent": table_digest(run.tables), "parent_games": run.games}
    if changes:
        # Equal configurations must give equal bytes, so a fork's configuration includes its starting point.
        config = replace(config, start=f"{table_digest(state.tables)}@{state.games}")
        check_origin(run, config)
    return Plan(config, total, opponent, state, snapshots_of(run, state.games), past, run)


def _fresh_plan(
    games: Number | None,
    origin: Run | None,
    meant: Run | Agent | AgentAdapter | str | None,
    seat: str,
    options: dict[str, Any],
) -> Plan:
    """Return the plan of a new run, which starts with the tables of `origin` if given."""
    learner = learner_named({**DEFAULTS, **options}["learner"])
    total = parse_int("games", learner.games if games is None else games, 1, MAX_GAMES)
    meant = OPPONENTS[0] if learner.boxes and meant is None else meant  # one seat only: no self-play
    start, usual = "" if origin is None else table_digest(origin.tables), "first" if learner.boxes else "both"
    if isinstance(meant, Run) and meant.learner.boxes and not learner.boxes:
        usual = "second"  # boxes always play first
    opponent = None if meant is None else _resolve_opponent(meant, make_config(**options, horizon=total, start=start))
    against, seat = ("", seat) if opponent is None else (_opponent_name(opponent), seat or usual)
    config = make_config(**options, horizon=total, start=start, opponent=against, seat=seat)
    _check_engine(config)
    if origin is not None:
        check_origin(origin, config)
    return Plan(config, total, opponent, None if origin is None else state_of(origin, 0), None, {})


def state_of(origin: Run, games: int) -> State:
    """Return a training's start state with the tables of a run, counted as `games` games learnt."""
    return State(games, origin.tables, origin.visits_or_zeros(), np.zeros(3, np.int64), *origin.positions)


def _opponent(opponent: Opposing, *, trust: bool) -> Run | Agent | AgentAdapter | str | None:
    """Return a fixed opponent as a name, an agent, or a run; load a run if its file is given.

    An agent must always be given by the caller; one named in a run file is never started.
    Raises UsageError and RunFileError.
    """
    if opponent is None or isinstance(opponent, Run | PatternRun):
        return None if opponent is None else with_table(opponent)
    if isinstance(opponent, Agent | AgentAdapter):
        return opponent
    if callable(opponent):
        return agent_of(opponent)
    meant = name_or_run("opponent", opponent, OPPONENTS, others=RUNS_OR_AGENTS)
    return meant if isinstance(meant, str) else load(meant, trust=trust)


def _resolve_opponent(
    meant: Run | Agent | AgentAdapter | str | None, config: Config
) -> Run | OpponentPolicy | str | None:
    """Return a fixed opponent; for an agent, collect its moves in all positions of the board of `config`.

    Raises BoardError if there are too many positions, UsageError if the agent plays another board, and AgentError.
    """
    if not isinstance(meant, Agent | AgentAdapter):
        return meant
    check_enumerable(config.board, config.grown, "an agent to train against, whose move in every position is needed,")
    asked = meant if isinstance(meant, AgentAdapter) else AgentAdapter(meant, config.board, loses=None)
    if asked.board != config.board:
        raise UsageError(
            f"the opponent plays {asked.board.name}, not {config.board.name}; choose one of the same board"
        )
    return opponent_policy(asked, config.graph, config.symmetry)


def _opponent_name(opponent: Run | OpponentPolicy | str) -> str:
    if isinstance(opponent, OpponentPolicy):
        return opponent.digest
    return opponent if isinstance(opponent, str) else table_digest(opponent.tables)


def _check_engine(config: Config) -> None:
    if config.engine == "given":
        raise UsageError(f"engine 'given' belongs to {command_name('learn-from')}; choose walk or flow")


def check_origin(origin: Run, config: Config) -> None:
    """Raise UsageError if a run's learner, board or symmetry differs from that of `config`."""
    before = origin.config
    if (before.learner, before.board, before.symmetry) != (config.learner, config.board, config.symmetry):
        raise UsageError(
            f"cannot start {config.learner} on {config.board.name} from a run of {before.learner} on "
            f"{before.board.name}; choose a run of the same learner, board and symmetry"
        )


def check_opponent(opponent: Run | OpponentPolicy | str, config: Config) -> None:
    """Raise UsageError or BoardError if a fixed opponent cannot play on the board of `config`."""
    if isinstance(opponent, Run) and opponent.config.board != config.board:
        raise UsageError(
            f"the opponent plays {opponent.config.board.name}, not {config.board.name}; choose a run of the same board"
        )
    if opponent != "random":
        check_enumerable(config.board, config.grown, "an opponent that is not random")
    if isinstance(opponent, Run) and opponent.learner.boxes and config.seat != "second":
        able = "" if learner_named(config.learner).boxes else f"give {flag('seat', 'second')}, or "
        remedy = f"{able}choose another opponent"
        raise cannot_play_second_error(
            opponent.config.learner, "an opponent's part against a learner that plays first", remedy
        )


def policy_of_opponent(opponent: Run | OpponentPolicy | str, config: Config) -> Policy | Probabilities:
    """Return the policy of a fixed opponent on the board of `config`.

    On a growing board it is the random policy, `UNLISTED`.
    If the learner has one row for all images of a position, a run plays in all of them as in the row's position.
    """
    check_opponent(opponent, config)
    if config.grown:
        return UNLISTED
    graph = config.graph
    if isinstance(opponent, OpponentPolicy):
        return opponent.policy
    if isinstance(opponent, Run):
        return opponent.policy_on(graph)
    return random_policy(graph) if opponent == "random" else optimal_policy(graph, solve(graph))


def resumable_state(run: Run, name: str) -> State:
    """Return the state from which to continue `run`, called `name` in messages.

    Raises UsageError if the run learnt from given games, and RunFileError if its parts contradict each other.
    """
    if run.config.engine == "given":
        raise UsageError(
            f"{name} learnt from given games or was imported; continue with {command_with('learn-from', 'run')}, or "
            f"start a new run with {command_with('train', 'start')}"
        )
    if run.batch_start is not None:
        return run.batch_start
    points, outcomes = run.statistics["games"], run.statistics["outcomes"]
    if not points.size or points[-1] != run.games or outcomes[-1].sum() != run.games:
        raise RunFileError(
            f"{name} cannot be continued: its last recorded point is not at its {count_text(run.games, 'game')}"
        )
    return State(run.games, run.tables, run.visits, outcomes[-1], *run.positions)


def goal_of(
    run: Run | PatternRun, name: str, more: Number | None, until: Number | None, *, unfinished: bool = False
) -> int:
    """Return the games at which a resumed run ends.  Raises UsageError if the run already has them.

    unfinished: work is left after the last game, so a goal equal to the current games is valid.
    """
    if more is not None and until is not None:
        raise UsageError(f"{flag('more')} and {flag('until')} mean the same; leave one out")
    if more is not None:
        return parse_int("until", run.games + parse_int("more", more, 1, MAX_GAMES), 1, MAX_GAMES)
    goal = run.goal if until is None else parse_int("until", until, 1, MAX_GAMES)
    if goal < run.games or (goal == run.games and not unfinished):
        asked = count_text(run.games, "game") + (", its goal" if until is None else "")
        raise UsageError(f"{name} has {asked}; continue with {flag('more', 'N')}, or {flag('until')} a larger number")
    return goal


def differing_settings(before: Config, given: dict[str, Any], *, horizon: int) -> tuple[Config, str]:
    """Return the configuration `before` with the settings `given`, and the differences in words.

    horizon: games of a schedule if `before` has none.  Raises UsageError for invalid values.
    """
    values = {field.name: getattr(before, field.name) for field in fields(before)}
    config = make_config(**{**values, "horizon": before.horizon or horizon, **replace_exploration(given)})
    changes = [
        f"{name.rstrip('_')} {_spoken(name, old)}, not {_spoken(name, new)}"
        for (name, old), new in zip(before.written.items(), config.written.values(), strict=True)
        if new != old
    ]
    return config, "; ".join(changes)


def _spoken(name: str, value: Any) -> Any:
    """Return a setting's value for a message, with words in place of a digest."""
    if name in ("opponent", "start") and value not in ("", None, *OPPONENTS):
        return "a run or an agent" if name == "opponent" else "given tables"
    return "none" if value in ("", None) else value


def snapshots_of(run: Run, games: int) -> dict[str, NDArray[Any]]:
    """Return the recorded points of `run` up to `games`, without a last one recorded only because the run ended."""
    points = run.statistics["games"]
    kept = points <= games
    if kept.any():
        last = int(points[kept][-1])
        due = next(point for point in record_schedule(run.config.batches) if point >= last)
        # A fork keeps its parent's points, which follow from the parent's configuration.
        inherited = int(run.config.start.partition("@")[2] or 0)
        kept[points == last] = due == last or last <= inherited
    return {name: column[kept] for name, column in run.statistics.items()}
