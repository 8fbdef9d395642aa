"""Plan of a new or resumed training, checked before any work.

The games at which batches start and points are recorded follow from the configuration alone.  So a run that ended
within a batch continues from the start of that batch.  A point recorded only because the run ended there is dropped.
The result equals that of an uninterrupted run.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ttt_batch.agents.adapter import AgentAdapter, OpponentPolicy, opponent_policy
from ttt_batch.agents.base import Agent
from ttt_batch.agents.external import agent_of
from ttt_batch.core.errors import RunFileError, UsageError, command_with, flag, quoted, with_option
from ttt_batch.core.files import shown
from ttt_batch.core.text import (
    AGENT_NAMES,
    ALL_LEARNERS,
    PATTERN_LEARNERS,
    Number,
    Option,
    choose_seat,
    count_text,
    find_name,
    parse_int,
)
from ttt_batch.games.enumeration import check_enumerable
from ttt_batch.learners import learner_named
from ttt_batch.runs.config import DEFAULTS, Config, Configuration, make_config, make_pattern_config, replace_exploration
from ttt_batch.runs.loading import AnyRun, load, with_table
from ttt_batch.runs.lookup import RUNS_OR_AGENTS, name_or_run
from ttt_batch.runs.network_run import PatternRun
from ttt_batch.runs.options import MAX_GAMES, NETWORK_GAMES, OPPONENTS, OPTIONS
from ttt_batch.runs.run import Run
from ttt_batch.runs.state import State, table_digest
from ttt_batch.training.network_trainer import last_game, next_point, with_first_proof_by

Source = Run | str | Path | None
"""Run or run file."""

Opposing = Source | PatternRun | Agent | AgentAdapter | Callable[..., Any]
"""Fixed opponent: a run or its file, an agent, a callable, or a name such as `random` or `optimal`."""

OR_A_NEW_RUN = "leave that out, or train a new run"


@dataclass
class Plan:
    """Parameters of a training before it starts.

    total: games at the end.  opponent: the fixed opponent, as a run, `OpponentPolicy` or name; None in self-play.
    state: the state at the start; None for the learner's own start.  earlier: the recorded points so far, if any.
    provenance: of the run so far.  resumed: the run that is continued, if any.
    lacks_point: True if a resumed run was stopped before the proof after its last game.
    """

    config: Any
    total: int
    opponent: Run | OpponentPolicy | str | None = None
    state: State | None = None
    earlier: dict[str, NDArray[Any]] | None = None
    provenance: dict[str, str | int | float] = field(default_factory=dict)
    resumed: Any = None
    lacks_point: bool = False


def make_plan(
    options: dict[str, Any],
    way: Mapping[str, Any],
    games: Number | None = None,
    before: AnyRun | None = None,
    file: Path | None = None,
) -> Plan:
    """Return the plan for the parameters of `train` for a table.

    options: those of `Config`.  way: the other arguments of `train` by name.  before: the run to continue.
    file: the file that it was read from, if any.
    Raises UsageError, BoardError and RunFileError.
    """
    fork, start, opponent = way["fork"], way["start"], way["opponent"]
    meant = None if opponent is None else _opponent(opponent, trust=way["trust"])
    origin = load(start) if isinstance(start, str | Path) else start
    origin = origin if origin is None else with_table(origin)
    seat = "" if way["seat"] is None else choose_seat(way["seat"], "both")
    if before is None:
        return _fresh_plan(games, origin, meant, seat, options)
    if fork and way["out"] is None and file is not None:
        raise UsageError(f"a fork is a run of its own; name its file{with_option('out')}")
    run, name = with_table(before), "the run" if file is None else shown(file)
    state, past = resumable_state(run, name), dict(run.provenance)
    learnt, given = run.config, options | {"seat": seat} if seat else dict(options)
    asked = find_name(options.get("learner"), ALL_LEARNERS)
    # Of other learners every option is compared below; these have options that the other one does not take.
    if asked and (asked in PATTERN_LEARNERS or learner_named(asked).resigns != run.resigns):
        raise UsageError(f"{name} was trained with learner {learnt.learner}, not {asked}; {OR_A_NEW_RUN}")
    values = {field.name: getattr(learnt, field.name) for field in fields(learnt)}
    values["horizon"] = learnt.horizon or run.goal
    # A finished run is refused here, before an opponent is asked, or below, after a setting that differs.
    differs = bool(differences(learnt, make_config(**{**values, **replace_exploration(options)})))
    total = goal_of(run, name, way, may_be_done=differs)
    opponent = _resolve_opponent(meant, learnt)
    if origin is not None:
        given["start"] = table_digest(origin.tables)
    if opponent is not None:
        given = {"seat": learnt.seat or "both", **given, "opponent": opponent_name(opponent)}
        if not fork and learnt.opponent not in ("", *OPPONENTS, given["opponent"]):
            raise UsageError(
                f"{name} was trained against another run or agent; name that one (info shows how it was trained), or "
                f"add {flag('fork', True)} and {flag('out')} for a new run"
            )
    elif learnt.opponent in OPPONENTS:
        opponent = learnt.opponent
    elif learnt.opponent:
        raise UsageError(f"{name} was trained against a run or an agent; name it again with {flag('opponent')}")
    config = make_config(**{**values, "horizon": learnt.horizon or total, **replace_exploration(given)})
    changes = differences(learnt, config)
    if changes and fork:
        check_origin(run, config)
    elif changes:
        branch = f"leave that out, or add {flag('fork', True)} and {flag('out')} for a new run"
        remedy = branch if _has_same_tables(learnt, config) else OR_A_NEW_RUN
        raise UsageError(f"{name} was trained with {changes}; {remedy}")
    goal_of(run, name, way)
    if fork:
        past |= {"parent": table_digest(run.tables), "parent_games": run.games}
    if changes:
        # Equal configurations must give equal bytes, so a fork's configuration includes its starting point.
        config = replace(config, start=f"{table_digest(state.tables)}@{state.games}")
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
    alone = len(learner.seats) == 1
    # Boxes with their first beads are a run, too: a kit to teach by hand.
    total = parse_int("games", learner.games if games is None else games, 0 if alone else 1, MAX_GAMES)
    meant = OPPONENTS[0] if alone and meant is None else meant  # one seat only: no self-play
    start, usual = "" if origin is None else table_digest(origin.tables), learner.seats[0] if alone else "both"
    if isinstance(meant, Run) and len(meant.seats) == 1 and not alone:
        usual = "second"  # boxes always play first
    opponent = None if meant is None else _resolve_opponent(meant, make_config(**options, horizon=total, start=start))
    against, seat = ("", seat) if opponent is None else (opponent_name(opponent), seat or usual)
    config = make_config(**options, horizon=total, start=start, opponent=against, seat=seat)
    if origin is not None:
        check_origin(origin, config)
    return Plan(config, total, opponent, None if origin is None else state_of(origin, 0), None, {})


def state_of(origin: Run, games: int) -> State:
    """Return a training's start state with the tables of a run, counted as `games` games learnt."""
    visits = origin.visits if origin.visits.size else np.zeros(origin.tables[0].size)
    return State(games, origin.tables, visits, np.zeros(3, np.int64), *origin.positions)


def _opponent(opponent: Any, *, trust: bool) -> Run | Agent | AgentAdapter | str:
    """Return a fixed opponent as a name, an agent, or a run; load a run if its file is given.

    An agent must always be given by the caller; one named in a run file is never started.
    Raises UsageError and RunFileError.
    """
    if isinstance(opponent, Run | PatternRun):
        return with_table(opponent)
    if isinstance(opponent, Agent | AgentAdapter):
        return opponent
    if callable(opponent):
        return agent_of(opponent)
    meant = name_or_run("opponent", opponent, AGENT_NAMES, others=RUNS_OR_AGENTS)
    return meant if isinstance(meant, str) else load(meant, trust=trust)


def _resolve_opponent(
    meant: Run | Agent | AgentAdapter | str | None, config: Config
) -> Run | OpponentPolicy | str | None:
    """Return a fixed opponent; of an agent, the policy."""
    return policy_against(meant, config) if isinstance(meant, Agent | AgentAdapter) else meant


def policy_against(agent: Agent | AgentAdapter, config: Config) -> OpponentPolicy:
    """Return an agent as a fixed opponent; collect its moves in all positions of the board of `config`.

    Raises BoardError if there are too many positions, UsageError if the agent plays another board, and AgentError.
    """
    check_enumerable(config.board, config.grown, "an agent to train against, whose move in every position is needed,")
    asked = agent if isinstance(agent, AgentAdapter) else AgentAdapter(agent, config.board, loses=None)
    if asked.board != config.board:
        raise UsageError(
            f"the opponent plays {asked.board.name}, not {config.board.name}; choose one of the same board"
        )
    return opponent_policy(asked, config.graph, config.symmetry)


def opponent_name(opponent: Run | OpponentPolicy | str) -> str:
    """Return a fixed opponent as a configuration holds it: its name, or a digest."""
    if isinstance(opponent, OpponentPolicy):
        return opponent.digest
    return opponent if isinstance(opponent, str) else table_digest(opponent.tables)


def _has_same_tables(before: Config, config: Config) -> bool:
    return (before.learner, before.board, before.symmetry) == (config.learner, config.board, config.symmetry)


def check_origin(origin: Run, config: Config) -> None:
    """Raise UsageError if a run's learner, board or symmetry differs from that of `config`."""
    before = origin.config
    if not _has_same_tables(before, config):
        raise UsageError(
            f"cannot start {config.learner} on {config.board.name} from a run of {before.learner} on "
            f"{before.board.name}; choose a run of the same learner, board and symmetry"
        )


def resumable_state(run: Run, name: str) -> State:
    """Return the state from which to continue `run`, called `name` in messages.

    Raises UsageError if the run learnt from given games, and RunFileError if its parts contradict each other.
    """
    if run.from_games:
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


def goal_of(run: AnyRun, name: str, way: Mapping[str, Any], *, may_be_done: bool = False) -> int:
    """Return the games at which a resumed run ends.  Raises UsageError if the run already has them.

    may_be_done: accept a goal equal to the current games.
    """
    more, until = way["more"], way["until"]
    if more is not None and until is not None:
        raise UsageError(f"{flag('more')} and {flag('until')} mean the same; leave one out")
    if more is not None:
        return parse_int("until", run.games + parse_int("more", more, 1, MAX_GAMES), 1, MAX_GAMES)
    goal = run.goal if until is None else parse_int("until", until, 1, MAX_GAMES)
    if goal < run.games or (goal == run.games and not may_be_done):
        asked = count_text(run.games, "game") + (", its goal" if until is None else "")
        raise UsageError(f"{name} has {asked}; continue with {flag('more', 'N')}, or {flag('until')} a larger number")
    return goal


LONGEST = 60
"""Maximum of characters of a setting in a message; tuples may be very long."""


def differences(before: Configuration, after: Configuration) -> str:
    """Return the settings of a run that differ from those asked for, in words; empty if none does."""

    def spoken(name: str, value: Any) -> str:
        if name in ("opponent", "start") and value not in ("", None, *OPPONENTS):
            return "a run or an agent" if name == "opponent" else "given tables"
        text = "none" if value in ("", None) else str(value)
        return text if len(text) <= LONGEST else f"{text[:LONGEST]} ..."

    pairs = zip(before.written.items(), after.written.values(), strict=True)
    changed = [(name, old, new) for (name, old), new in pairs if new != old]
    return "; ".join(f"{name.rstrip('_')} {spoken(name, old)}, not {spoken(name, new)}" for name, old, new in changed)


def snapshots_of(run: Run, games: int) -> dict[str, NDArray[Any]]:
    """Return the recorded points of `run` up to `games`, without a last one recorded only because the run ended."""
    points = run.statistics["games"]
    kept = points <= games
    if kept.any():
        last = int(points[kept][-1])
        due = next(point for point in run.config.record_schedule() if point >= last)
        # A fork keeps its parent's points, which follow from the parent's configuration.
        inherited = run.config.inherited
        kept[points == last] = due == last or 0 < last <= inherited
    return {name: column[kept] for name, column in run.statistics.items()}


def plan_networks(
    options: dict[str, Any], way: Mapping[str, Any], games: Number | None, before: AnyRun | None, file: Path | None
) -> Plan:
    """Return the plan for the parameters of `train` for networks, with proofs up to the end of the last proof.

    options: those of `PatternConfig` without the seat.  The others are as for `make_plan`.
    Raises UsageError and BoardError.
    """
    options = options if way["seat"] is None else options | {"seat": way["seat"]}
    if before is None:
        games = parse_int("games", NETWORK_GAMES if games is None else games, 1, MAX_GAMES)
        config = with_first_proof_by(make_pattern_config(**options), games, given="prove_every" in options)
        return Plan(config, last_game(config, games))
    assert isinstance(before, PatternRun)
    config, name = before.config, "the run" if file is None else shown(file)
    if before.from_games:
        raise UsageError(
            f"{name} learnt from given games, which a training does not repeat; continue with "
            f"{command_with('learn-from', 'run')}, or train a new run"
        )
    total = last_game(config, goal_of(before, name, way, may_be_done=True))
    asked = {name: value for name, value in options.items() if value is not None}
    if (learner := asked.get("learner", config.learner)) not in PATTERN_LEARNERS:
        raise UsageError(f"{name} was trained with learner {config.learner}, not {quoted(learner)}; {OR_A_NEW_RUN}")
    if changes := differences(config, make_pattern_config(**{**config.to_dict(), **asked})):
        raise UsageError(f"{name} was trained with {changes}; {OR_A_NEW_RUN}")
    goal_of(before, name, way, may_be_done=before.lacks_proof)  # a proof may be left after the last game
    points = before.statistics["games"]
    due = np.array([games > 0 and games == next_point(config, games - 1) for games in points.tolist()], np.bool_)
    kept = due & (before.tried | (not config.prove_every))  # others were recorded only because the run ended there
    earlier = {name: column[kept] for name, column in before.statistics.items()}
    lacks_point = before.games > 0 and before.games == next_point(config, before.games - 1) and not kept[-1:].all()
    return Plan(config, total, None, None, earlier, before.provenance, before, lacks_point)


def network_options(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return options with `lambda_` renamed to `trace`, its name for networks.  Raises UsageError if both are given."""
    if "lambda_" in options and "trace" in options:
        raise UsageError(f"{flag('lambda_')} and {flag('trace')} mean the same; leave one out")
    return {"trace" if name == "lambda_" else name: value for name, value in options.items()}


def check_options(names: Iterable[str], *, networks: bool) -> None:
    """Raise UsageError for a parameter of `train` that tables lack, or `networks`."""
    for name in names:
        declared = OPTIONS.get(name, Option())
        if networks and declared.networks is None:
            raise UsageError(f"{flag(name)} is for tables of positions, which pattern networks are not; leave it out")
        if not networks and declared.read is None and declared.networks is not None:
            remedy = f"add {flag('learner', 'patterns')}, or leave it out"
            raise UsageError(f"{flag(name)} is for pattern networks; {remedy}")
