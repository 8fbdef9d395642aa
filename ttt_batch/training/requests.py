"""Validation of `train` arguments before any file is opened."""

from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from ttt_batch.agents.naming import is_agent, make_agent
from ttt_batch.base.choices import PATTERN_LEARNERS, check_switches, find_name
from ttt_batch.base.errors import UsageError, flag
from ttt_batch.base.outputs import check_distinct, named_file
from ttt_batch.base.quantities import Number, parse_int
from ttt_batch.game.board import Board, parse_board
from ttt_batch.learners import any_learner
from ttt_batch.patterns.tuples import file_of_tuples
from ttt_batch.runs.config import OPPONENTS, make_config
from ttt_batch.runs.loading import AnyRun
from ttt_batch.runs.lookup import RUNS_OR_AGENTS, find_run, name_or_run
from ttt_batch.runs.patterns.run import PatternRun
from ttt_batch.runs.run import Run
from ttt_batch.training.patterns.train import check_tables
from ttt_batch.training.plan import Opposing


def check_request(
    games: Number | None,
    more: Number | None,
    until: Number | None,
    block: int,
    *,
    resume: bool,
    fork: bool,
    **switches: bool,
) -> None:
    """Raise UsageError for parameters of `train` that are out of range or conflict.

    switches: other parameters that must be True or False.
    """
    check_switches(fork=fork, **switches)
    parse_int("block", block, 1, 1 << 20)
    if resume and games is not None:
        resumed = f"with {flag('resume')}, give {flag('until')} or {flag('more')}"
        raise UsageError(f"games {games} belong to a new run; {resumed}")
    if not resume and (more is not None or until is not None or fork):
        wanted = f"go with {flag('resume', 'RUN')}; name the run to continue, or give {flag('games')}"
        raise UsageError(f"more, until and fork {wanted}")


def check_fresh(options: Mapping[str, Any], seat: str | None, opponent: Opposing, *, begun: bool) -> None:
    """Raise UsageError or BoardError for options that are invalid for a new run of a table.

    options: those of `Config`.  begun: the training starts from another run's table, whose options also apply; then
    nothing is checked.
    """
    learner = options.get("learner")
    if begun or (learner is not None and any_learner(learner) in PATTERN_LEARNERS):
        return
    check_tables(options)
    make_config(**options, seat=seat or "" if opponent is None else "")


def check_files(
    out: str | Path | None,
    record: str | Path | None,
    resume: Run | PatternRun | str | Path | None,
    start: Run | str | Path | None,
    opponent: Opposing,
    tuples: str | None = None,
) -> None:
    """Raise UsageError if an output is not a file name, or would overwrite an input or the other output."""
    for name, given in {"out": out, "record": record}.items():
        if given is not None:
            named_file(name, given)
    if isinstance(opponent, str) and is_agent(opponent):
        opponent = None
    if isinstance(opponent, str | Path):
        meant = name_or_run("opponent", opponent, OPPONENTS, others=RUNS_OR_AGENTS)
        opponent = meant if isinstance(meant, Path) else None
    if start is not None and not isinstance(start, AnyRun):
        start = find_run(start)
    written = {"resume": resume, "record": record} if out is None else {"out": out, "record": record}
    read = {"resume": None if out is None else resume, "start": start, "opponent": opponent}
    read["tuples"] = file_of_tuples(tuples)
    check_distinct(_paths(written), _paths(read))


@contextmanager
def seated_opponent(
    opponent: Opposing, board: str | Board | None, before: AnyRun | None, *, time_limit: Number | None = None
) -> Iterator[Opposing]:
    """Yield a fixed opponent; for the name of an agent, make the agent and close it after the block.

    board: the board played; the board of `before`, the run that is continued, has precedence.
    time_limit, errors: as for `make_agent`.
    """
    if not isinstance(opponent, str) or not is_agent(opponent) or find_name(opponent, OPPONENTS) is not None:
        yield opponent
        return
    board = board if before is None else before.board
    with closing(make_agent(opponent, parse_board(board or "3x3"), time_limit=time_limit)) as agent:
        yield agent


def _paths(named: dict[str, Any]) -> list[tuple[str, Path]]:
    """Return the options that name files, with their paths."""
    return [(flag(name), Path(path)) for name, path in named.items() if isinstance(path, str | Path)]
