"""Judging in Python: `evaluate` for runs, `judge` for agents of any kind."""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, Literal, cast, overload

from ttt_batch.agents.known import agent_of_run
from ttt_batch.agents.naming import AgentLike, at_board, is_agent
from ttt_batch.agents.outsider import Outsider
from ttt_batch.agents.scripted import PLAYERS
from ttt_batch.analysis.matches import GrownEvaluation, evaluate_grown, scripted_evaluation
from ttt_batch.analysis.outsiders import against_outsider, judge_outsider
from ttt_batch.base.choices import Ties, check_ties, either, find_name
from ttt_batch.base.errors import BoardError, UsageError, option, quoted
from ttt_batch.base.quantities import Number
from ttt_batch.game.board import Board, parse_board
from ttt_batch.game.state_space import too_large
from ttt_batch.runs.as_played import PlayedEvaluation, evaluate_as_played
from ttt_batch.runs.evaluation import EXACT_OPPONENTS, Evaluation
from ttt_batch.runs.loading import AnyRun, any_run, load_any
from ttt_batch.runs.lookup import RUNS_OR_AGENTS, name_or_run
from ttt_batch.runs.patterns.run import PatternRun
from ttt_batch.runs.run import Run

AnyRunOrPath = AnyRun | str | Path
"""A run of any kind, or the name of its file."""

Player = AnyRunOrPath | Outsider | AgentLike
"""Who plays: a run, the name of its file, or an agent (see `judge`).  A name of an agent is preferred to a file's."""

AGAINST = tuple(dict.fromkeys((*PLAYERS, *EXACT_OPPONENTS)))
"""Opponents by name."""


@contextmanager
def seated(players: Sequence[object]) -> Iterator[list[AnyRun | Outsider]]:
    """Yield the players as runs, and agents at the board of the first player that has one, else 3x3.

    Programs that were begun for them end with the block.
    Raises UsageError for what is neither a run nor an agent, RunFileError and AgentError.
    """
    read = [one if isinstance(one, Outsider) else None if is_agent(one) else any_run(one) for one in players]
    board = next((one.board for one in read if one is not None), parse_board("3x3"))
    with ExitStack() as stack:
        yield [
            stack.enter_context(at_board(given, board)) if one is None else one
            for given, one in zip(players, read, strict=True)
        ]


def judge(
    agent: Player,
    board: Board | str | None = None,
    against: Player | None = None,
    *,
    symmetric: bool = False,
    illegal: str = "error",
    time_limit: Number | None = None,
    games: Number | None = None,
    seed: Number | None = None,
    budget: Number | None = None,
    ties: Ties = "any",
) -> Evaluation | GrownEvaluation:
    """Judge an agent of your own, exactly unless the board is too large to enumerate.

    agent: a callable `agent(boards, to_move, legal)`, which gets int8[n, rows, cols] (1 marks of the player to move, -1
    of the other, 0 free), int8[n] (0 if the first player moves, 1 if the second) and bool[n, cells] (free cells), and
    returns int[n], a cell for each (from 0), or float[n, cells], probabilities; or `FILE.py:NAME`, such a callable in a
    file, whose code then runs with your rights; or `cmd:PROGRAM ARGUMENTS` (see `ttt_batch.agents.programs`); or
    `random`, `one-ply`, `two-ply` or `optimal`; or a run or its file; or what `ttt_batch.agents.from_openspiel` makes
    of a policy.
    It is asked about each position that its own play lets happen once, all with as many marks in one call, and about
    up to 100 of them again, in other company.  With probabilities it is unbeatable if no move above 0 loses.
    board: 3x3 if not given; a run has its own.
    against: the opponent of the shares of wins, draws and losses, as for `evaluate`; also another agent.
    symmetric: ask about one image of each position alone; the verdict is that of an agent that plays alike in all.
    illegal: `error`, or `loses`: a move to an occupied cell loses the game.
    time_limit: seconds for each answer of a program, or for each 10,000 positions of a callable; 10 if not given.
    games, seed, budget: as for `evaluate`.  ties: how an opponent that is a run plays.
    Raises AgentError for an answer that is none, for an exception and after the time limit; UsageError, BoardError.
    """
    if isinstance(agent, Outsider):
        return _judged(agent, against, games=games, seed=seed, budget=budget, ties=check_ties(ties))
    if not is_agent(agent):
        run = load_any(agent) if isinstance(agent, str | Path) else agent
        if isinstance(run, AnyRun):  # of networks, too: what is judged exactly is what it answers
            if isinstance(run, Run) and run.learner.boxes:  # it plays one seat, and no answer resigns
                given: dict[str, Any] = {"games": games, "seed": seed, "budget": budget, "ties": ties}
                return cast("Evaluation", evaluate(run, against, **given))
            if board is not None and parse_board(board) != run.board:
                name = parse_board(board).name
                raise UsageError(f"the run plays {run.board.name}, not {name}; leave {option('board')} out")
            agent, board = agent_of_run(run, check_ties(ties)), run.board
    board = "3x3" if board is None else board
    with at_board(agent, board, symmetric=symmetric, illegal=illegal, time_limit=time_limit) as player:
        return _judged(player, against, games=games, seed=seed, budget=budget, ties=check_ties(ties))


@overload
def evaluate(
    run: Player,
    against: Player | None = None,
    *,
    games: Number | None = None,
    seed: Number | None = None,
    budget: Number | None = None,
    ties: Ties = "any",
    as_played: Literal[False] = False,
) -> Evaluation | GrownEvaluation: ...
@overload
def evaluate(run: Player, *, as_played: Literal[True]) -> PlayedEvaluation: ...
@overload
def evaluate(
    run: Player,
    against: Player | None = None,
    *,
    games: Number | None = None,
    seed: Number | None = None,
    budget: Number | None = None,
    ties: Ties = "any",
    as_played: bool,
) -> Evaluation | GrownEvaluation | PlayedEvaluation: ...
def evaluate(
    run: Player,
    against: Player | None = None,
    *,
    games: Number | None = None,
    seed: Number | None = None,
    budget: Number | None = None,
    ties: Ties = "any",
    as_played: bool = False,
) -> Evaluation | GrownEvaluation | PlayedEvaluation:
    """Judge a run, exactly unless its board is too large to enumerate or it is of networks; an agent as `judge` does.

    against: `random` (if not given), `one-ply`, `two-ply`, `optimal`, `self`, another run or an agent.  On boards
    too large to enumerate `random`, `one-ply` or `two-ply`; all three if not given.  Networks meet these in matches,
    and on enumerated boards the others exactly.
    games: games per match, there only.  seed: of these matches.  budget: positions to search in each seat for
    a way to beat the agent.  ties: as for `Run.candidates`.
    as_played: judge a run of tables as it plays while it learns, against random moves and the best opponent; the other
    options do not go with it.
    Raises UsageError, BoardError and RunFileError.
    """
    ties = check_ties(ties)
    if as_played:
        refused = {"against": against, "games": games, "seed": seed, "budget": budget}
        return _as_played(run, [name for name, value in refused.items() if value is not None], ties)
    if isinstance(run, Outsider):
        return _judged(run, against, games=games, seed=seed, budget=budget, ties=ties)
    if is_agent(run):  # on the board of an opponent that has one
        named = against is None or find_name(against, AGAINST) is not None
        with seated([run] if named else [run, against]) as (player, *others):
            return evaluate(player, others[0] if others else against, games=games, seed=seed, budget=budget, ties=ties)
    agent = any_run(run)
    given = {name: value for name, value in (("games", games), ("seed", seed), ("budget", budget)) if value is not None}
    if isinstance(agent, PatternRun) and agent.enumerated and against is not None and not _is_scripted(against):
        return judge(agent, against=against, ties=ties, games=games, seed=seed, budget=budget)
    if isinstance(agent, PatternRun) or agent.grown is not None:
        return evaluate_grown(agent, PLAYERS if against is None else [_scripted(against, agent)], ties=ties, **given)
    if given:
        raise UsageError(
            f"{option(next(iter(given)))} is for boards too large to enumerate; {agent.board.name} is judged exactly, "
            "leave it out"
        )
    opponent: Any = against if against is not None else "random"
    if _is_outside(opponent):
        with _seated(opponent, agent.board) as rival:
            return against_outsider(agent, rival, ties)
    if not isinstance(opponent, AnyRun):
        opponent = name_or_run("opponent", opponent, AGAINST, others=RUNS_OR_AGENTS)
    if isinstance(opponent, Path):
        opponent = load_any(opponent)
    if isinstance(opponent, PatternRun):
        return against_outsider(agent, opponent, ties)
    if isinstance(opponent, Run) or opponent in EXACT_OPPONENTS:
        return agent.evaluation(opponent, ties)
    return scripted_evaluation(agent, opponent, ties)


def _as_played(run: Any, given: list[str], ties: Ties) -> PlayedEvaluation:
    """A run as it plays while it learns.  given: other options, of which there must be none; nor are ties chosen."""
    switched = option("as_played", True)
    if given or ties != "any":
        first = option(given[0] if given else "ties")
        raise UsageError(f"{switched} is against random moves and the best opponent; leave {first} out")
    agent = run if isinstance(run, Outsider) or is_agent(run) else any_run(run)
    if not isinstance(agent, Run):
        raise UsageError(f"{switched} is for runs of tables, which explore; leave it out")
    return evaluate_as_played(agent)


def _judged(agent: Outsider, against: Player | None, **options: Any) -> Evaluation | GrownEvaluation:
    """Judge an agent at its board; see `judge`.  Raises UsageError for ties, which are a matter of runs."""
    if options["ties"] != "any" and (against is None or _is_outside(against) or find_name(against, AGAINST)):
        raise UsageError(
            f"{option('ties', options['ties'])} is for runs, and {agent.name} makes its own choices; leave it out"
        )
    if against is None:
        return judge_outsider(agent, None, **options)
    if _is_outside(against):
        with _seated(against, agent.board) as rival:
            return judge_outsider(agent, rival, **options)
    if isinstance(against, AnyRun):
        return judge_outsider(agent, against, **options)
    if not isinstance(against, str | Path):
        raise UsageError(f"opponent {quoted(against)} is none; give a run, a name or an agent")
    meant = name_or_run("opponent", against, AGAINST, others=RUNS_OR_AGENTS)
    return judge_outsider(agent, load_any(meant) if isinstance(meant, Path) else meant, **options)


def _is_outside(given: object) -> bool:
    """Whether an opponent is an agent of somebody's own, neither a run nor a name."""
    return isinstance(given, Outsider) or (is_agent(given) and find_name(given, AGAINST) is None)


def _is_scripted(given: object) -> bool:
    """Return whether an opponent is the name of a scripted player, which networks meet in matches on any board."""
    return isinstance(given, str) and find_name(given, PLAYERS) is not None


@contextmanager
def _seated(opponent: Any, board: Board) -> Iterator[Outsider]:
    """An opponent at a board; what was begun for it ends."""
    if isinstance(opponent, Outsider):
        yield opponent
        return
    with at_board(opponent, board) as rival:
        yield rival


def _scripted(against: Player, agent: AnyRun) -> str:
    """The scripted player that is meant.  Raises UsageError and RunFileError for other opponents."""
    what = "an agent" if _is_outside(against) else "another run"
    if isinstance(against, str | Path) and not _is_outside(against):
        if (known := find_name(against, EXACT_OPPONENTS)) is not None and known not in PLAYERS:
            what = option("against", known)
        elif isinstance(found := name_or_run("opponent", against, PLAYERS, others=""), str):
            return found
    remedy = f"choose {either(PLAYERS)}"
    if isinstance(agent, PatternRun):
        raise BoardError(f"{what} needs a table of all positions, which networks do not have: {remedy}")
    raise too_large(what, agent.board, remedy)
