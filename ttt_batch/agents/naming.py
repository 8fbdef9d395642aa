"""Agents by what a person writes: `random`, `FILE.py:NAME`, `cmd:PROGRAM ARGUMENTS`, a callable, or a run."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from ttt_batch.agents.agent import Agent
from ttt_batch.agents.callables import SINGLE_FORM, TIME_LIMIT, agent_of, load_callable
from ttt_batch.agents.known import named_agent
from ttt_batch.agents.outsider import AgentAdapter
from ttt_batch.agents.programs import ProgramAgent
from ttt_batch.base.choices import AGENT_NAMES, ILLEGAL, check_switches, choose
from ttt_batch.base.errors import UsageError, quoted
from ttt_batch.base.named_code import is_callable_name
from ttt_batch.base.quantities import Number, parse_float
from ttt_batch.game.board import Board, parse_board
from ttt_batch.runs.loading import AnyRun
from ttt_batch.runs.lookup import PROGRAM, find_agent_or_run, is_program

AgentLike = Agent | str | Callable[..., Any]
"""An agent that is no run, or what names it."""

FORMS = "a run file, FILE.py:NAME or cmd:PROGRAM"

MOST_SECONDS = 86_400
"""The longest time limit: a day."""


def is_agent(given: object) -> bool:
    """Whether this is an agent that is no run, or names one; not the file of a run."""
    if isinstance(given, str | Path):
        return isinstance(given, str) and isinstance(find_agent_or_run(given), str)
    return isinstance(given, Agent) or (callable(given) and not isinstance(given, AnyRun))


def make_agent(given: object, board: Board, *, time_limit: Number | None = None) -> Agent:
    """An agent that is no run.

    time_limit: seconds for each answer, of a callable for each 10,000 positions begun; above 0.
    Raises UsageError, BoardError and AgentError.
    """
    limit = checked_limit(time_limit)
    if isinstance(given, Agent):
        return given
    if isinstance(given, str):
        if is_program(given):
            return ProgramAgent(given.removeprefix(PROGRAM), board, limit=limit)
        if is_callable_name(given):
            return load_callable(given, limit=limit)
        return named_agent(choose("agent", given, AGENT_NAMES, others=FORMS), board)
    if not callable(given):
        raise UsageError(f"not an agent: {quoted(given)}; give a callable such as {SINGLE_FORM}, {FORMS}")
    return agent_of(given, limit=limit)


def at_board(
    agent: object,
    board: Board | str = "3x3",
    *,
    symmetric: bool = False,
    illegal: str = "error",
    time_limit: Number | None = None,
) -> AgentAdapter:
    """An agent at a board, which goes into `evaluate`, `tournament`, `show`, `play` and `export_run` as a run does.

    agent, symmetric, illegal, time_limit: as for `ttt_batch.judge`.  A program runs until `close`, the end of a `with`
    block, or this process's.
    Raises UsageError, BoardError and AgentError.
    """
    check_switches(symmetric=symmetric)
    whose, loses = parse_board(board), choose("illegal", illegal, ILLEGAL) == "loses"
    return AgentAdapter(make_agent(agent, whose, time_limit=time_limit), whose, symmetric=symmetric, loses=loses)


def checked_limit(time_limit: Number | None) -> float:
    """Seconds for each answer.  Raises UsageError."""
    if time_limit is None:
        return TIME_LIMIT
    limit = parse_float("time_limit", time_limit, "seconds for each answer, e.g. 10")
    if not 0 < limit <= MOST_SECONDS:
        raise UsageError(f"time_limit {limit:g} is outside 0 to {MOST_SECONDS:,} seconds; give more than 0")
    return limit
