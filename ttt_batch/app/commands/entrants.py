"""Who plays, as it is named on the command line: run files, and agents of any other kind."""

import functools
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from ttt_batch.app.commands.declare import SCRIPTED
from ttt_batch.app.commands.shared import load_any_run, run_name
from ttt_batch.base.choices import AGENT_NAMES, find_name
from ttt_batch.base.console import one_line
from ttt_batch.base.errors import UsageError

if TYPE_CHECKING:
    from ttt_batch.agents.outsider import AgentAdapter
    from ttt_batch.analysis.meetings import Participant as Participant
    from ttt_batch.app.progress import Reporter
    from ttt_batch.game.board import Board
    from ttt_batch.runs.loading import AnyRun
    from ttt_batch.training.plan import Opposing

    Entrant = AnyRun | AgentAdapter


class AgentOptions(NamedTuple):
    """How agents are asked, as options say; None if they were not given.

    board, illegal, time_limit: as typed.  symmetric: about one image of each position alone.
    """

    board: str | None = None
    illegal: str | None = None
    time_limit: str | None = None
    symmetric: bool = False

    def refuse(self, why: str) -> None:
        """Raise UsageError if any was given."""
        given = {
            "--board": self.board is not None,
            "--illegal": self.illegal is not None,
            "--time-limit": self.time_limit is not None,
            "--symmetric": self.symmetric,
        }
        for name, there in given.items():
            if there:
                instead = f", or name a run of {self.board}" if name == "--board" else ""
                raise UsageError(f"{name} is for agents such as one-ply, and {why}; leave it out{instead}")


def is_named(given: str | Path) -> bool:
    """Whether this names an agent that is no run's file."""
    from ttt_batch.runs.lookup import find_agent_or_run

    return isinstance(find_agent_or_run(given), str)


def called(given: str | Path) -> str:
    """What an entrant is called in results and messages."""
    from ttt_batch.runs.lookup import find_agent_or_run

    meant = find_agent_or_run(given)
    return one_line(meant) if isinstance(meant, str) else run_name(meant)


def file_stem(given: str | Path) -> str:
    """What a new file of an entrant is called, without its ending."""
    from ttt_batch.runs.lookup import find_agent_or_run

    meant = find_agent_or_run(given)
    if isinstance(meant, Path):
        return meant.stem
    words = meant.removeprefix("cmd:").split()
    return Path(words[0]).stem if words else meant


Load = Callable[[str | Path], "Entrant"]
"""Reads a run file, or seats an agent at the board that is played."""


@contextmanager
def entrants(
    rules: AgentOptions, trust: bool, report: "Reporter | None" = None, board: "Board | None" = None
) -> Iterator[Load]:
    """How to load those who play; what was begun for them ends with this.

    The board of agents is that of `rules`, else `board`, else that of the first run that is loaded, else 3x3: load
    runs first.
    """
    from ttt_batch.game.board import parse_board

    whose = parse_board(rules.board) if rules.board is not None else board
    with ExitStack() as stack:

        @functools.cache
        def load(given: str | Path) -> "Entrant":
            nonlocal whose
            if not is_named(given):
                from ttt_batch.runs.lookup import find_run

                run = load_any_run(find_run(given), trust, report)
                whose = whose or run.board
                return run
            from ttt_batch.agents.naming import at_board

            illegal = rules.illegal or "error"
            limit = rules.time_limit
            return stack.enter_context(
                at_board(str(given), whose or "3x3", symmetric=rules.symmetric, illegal=illegal, time_limit=limit)
            )

        yield load


def both_players(path: str, given: str | None, load: Load) -> "tuple[Entrant, Participant, tuple[str, str]]":
    """Both players, and what they are called."""
    if given is not None and is_named(path) and not is_named(given):
        load(given)  # it says which board is played
    first = load(path)
    second, name = (first, called(path)) if given is None else _second(given, first, load)
    return first, second, (called(path), name)


def _second(given: str, first: "Entrant", load: Load) -> "tuple[Participant, str]":
    """The second player and what it is called."""
    from ttt_batch.agents.scripted import ScriptedPlayer
    from ttt_batch.runs.lookup import RUNS_OR_AGENTS, name_or_run

    if is_named(given) and find_name(given, SCRIPTED) is None:
        return load(given), called(given)
    meant = name_or_run("player", given, AGENT_NAMES, others=RUNS_OR_AGENTS)
    if isinstance(meant, str):
        return ScriptedPlayer(meant, first), meant
    return load(meant), run_name(meant)


def refuse_boxes(player: object, what: str, remedy: str) -> None:
    """Raise UsageError for a run with boxes for the first player alone in `what`, which needs the second seat."""
    from ttt_batch.runs.boxes import cannot_play_second_error
    from ttt_batch.runs.run import Run

    if isinstance(player, Run) and player.learner.boxes:
        raise cannot_play_second_error(player.config.learner, what, remedy)


def fixed_opponent(
    given: str | None, board: "Board", resume: Path | None, time_limit: str | None, stack: ExitStack
) -> "Opposing":
    """Return a fixed opponent by name, or an agent, which ends with `stack`; here `random` and `optimal` are names.

    board: what is played, unless the run to `resume` says something else.
    """
    from ttt_batch.runs.config import OPPONENTS
    from ttt_batch.runs.loading import load_any
    from ttt_batch.training.requests import seated_opponent

    if given is None or not is_named(given) or find_name(given, OPPONENTS) is not None:
        AgentOptions(time_limit=time_limit).refuse("no other opponent is named")
        return given
    before = None if resume is None else load_any(resume, trust=True)
    return stack.enter_context(seated_opponent(given, board, before, time_limit=time_limit))
