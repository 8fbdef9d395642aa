"""Judging and comparing of runs and agents: `evaluate`, `judge`, `show` and `tournament`."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal, TypedDict, Unpack, overload

from ttt_batch.agents.adapter import AgentAdapter, watched
from ttt_batch.agents.builtin import agent_of_run
from ttt_batch.agents.external import AgentLike, is_agent, make_agent, open_players
from ttt_batch.analysis.judge import SampledEvaluation, check_lengths, check_scripted, judge_agent
from ttt_batch.analysis.position import (
    LabelledEvaluation,
    PositionReport,
    Positions,
    describe_position,
    evaluate_positions,
    position_source,
)
from ttt_batch.analysis.tournament import Tournament, all_play_all
from ttt_batch.core.errors import UsageError, flag, quoted
from ttt_batch.core.results import progress_callback
from ttt_batch.core.text import (
    AGAINST,
    SCRIPTED,
    Number,
    Ties,
    check_functions,
    check_ties,
    find_name,
    given_options,
    with_options,
)
from ttt_batch.games.board import Board, Position, parse_board
from ttt_batch.games.game_files import board_meant
from ttt_batch.runs.evaluation import Evaluation, PlayedEvaluation, evaluate_as_played
from ttt_batch.runs.loading import AnyRun, any_run, load_any
from ttt_batch.runs.lookup import PROGRAM, RUNS_OR_AGENTS, name_or_run
from ttt_batch.runs.run import Run

AnyRunOrPath = AnyRun | str | Path
"""A run of any kind, or the name of its file."""

Player = AnyRunOrPath | AgentAdapter | AgentLike
"""Player: a run, the name of its file, or an agent (see `judge`).  A name is read as an agent's before a file's."""

AnswerProgress = Callable[[int], None] | bool | None
"""Callback that receives the number of the agents' answers so far, or True for a line on a terminal."""


class JudgingOptions(TypedDict, total=False):
    """Options of `judge` and `evaluate`."""

    games: Number | None
    seed: Number | None
    budget: Number | None
    samples: Number | None
    ties: Ties
    progress: AnswerProgress


class EvaluationOptions(JudgingOptions, total=False):
    """Options of `evaluate`; those here are for agents and files that it opens."""

    board: Board | str | None
    symmetric: bool
    illegal: str | None
    time_limit: Number | None
    load: Callable[[Any], AnyRun]


RULES: dict[str, Any] = {"symmetric": False, "illegal": "error", "time_limit": None}
"""Options of `at_board` besides the board, and their defaults."""


@with_options(JudgingOptions)
def judge(
    agent: Player,
    board: Board | str | None = None,
    against: Player | None = None,
    *,
    symmetric: bool = False,
    illegal: str = "error",
    time_limit: Number | None = None,
    **options: Unpack[JudgingOptions],
) -> Evaluation | SampledEvaluation:
    """Evaluate your own agent, exactly unless the board is too large to enumerate or its answers are sampled.

    agent: one of
    - a callable `agent(boards, to_move, legal)`.  It gets int8[n, rows, cols] (1 own marks, -1 the opponent's, 0 free),
      int8[n] (0 if the first player moves, 1 if the second) and bool[n, cells] (free cells).  It returns int[n], cells
      from 0, or float[n, cells], probabilities.
    - a callable `agent(board)`, simpler and slower.  It gets one position, int8[rows, cols]; the first player moves if
      `board.sum() == 0`.  It returns a cell, a pair (row, column), or a probability for each cell.
    - `FILE.py:NAME`, a callable of either kind in a file, whose code runs with your rights.
    - `cmd:PROGRAM ARGUMENTS`, see `ttt_batch.agents.external`.
    - `random`, `one-ply`, `two-ply` or `optimal`; a run or its file; a result of `ttt_batch.agents.from_openspiel`.
    The agent answers once in each position that its own play can reach, one call for each number of marks.  Up to 100
    positions are repeated in other batches as a check.  An agent with probabilities is unbeatable if no move with a
    probability above 0 loses.
    board: 3x3 by default; a run has its own.  against: the opponent, as for `evaluate`, or another agent.
    symmetric: query one image of each position only; the verdict assumes that the agent plays alike in all images.
    illegal: `error`, or `loses`: a move to an occupied cell loses the game.
    time_limit: seconds for each answer of a program or of `agent(board)`, or for every 10,000 positions of a callable
    with batches; 10 by default.  All three are also for an agent as the opponent.
    games, seed, budget: as for `evaluate`.  ties: rule of play of an opponent that is a run.
    samples: answers in each position, 1 to 1,000,000, of an agent or opponent whose moves are random with unknown
    probabilities.  The frequencies of the answers are evaluated, with 95 % intervals.  Such an evaluation proves
    nothing, except that a line in which the agent lost is possible.  On boards of more than 12 cells each match has
    this many games (unless `games` is given), and the agent gives a new answer in each.  `seed` seeds Python's and
    NumPy's generators before the first answer.
    progress: called with the number of answers so far; True shows it on standard error if that is a terminal.
    Raises AgentError for an invalid answer, an exception or an exceeded time limit; UsageError and BoardError.
    """
    given: Any = given_options(judge, options)
    if not isinstance(agent, AgentAdapter) and not is_agent(agent):
        run: Any = load_any(agent) if isinstance(agent, str | Path) else agent
        if not isinstance(run, AnyRun):
            make_agent(run, Board())  # raises UsageError
        check_own_board(run, {"board": board})
        # Its answers are judged, exactly also those of networks, except of one that may resign: no answer says so.
        agent, board = run if run.resigns else agent_of_run(run, given.get("ties", "any")), run.board
    given |= {"board": board, "symmetric": symmetric, "illegal": illegal, "time_limit": time_limit}
    found: Evaluation | SampledEvaluation = evaluate(agent, against, **given)
    return found


@overload
def evaluate(
    run: Player,
    against: Player | None = None,
    *,
    as_played: Literal[False] = False,
    **options: Unpack[EvaluationOptions],
) -> Evaluation | SampledEvaluation: ...
@overload
def evaluate(run: Player, *, as_played: Literal[True], progress: AnswerProgress = None) -> PlayedEvaluation: ...
@overload
def evaluate(run: Player, *, positions: Positions, progress: AnswerProgress = None) -> LabelledEvaluation: ...
@overload
def evaluate(
    run: Player,
    against: Player | None = None,
    *,
    as_played: bool,
    positions: Positions | None = None,
    **options: Unpack[EvaluationOptions],
) -> Evaluation | SampledEvaluation | PlayedEvaluation | LabelledEvaluation: ...
@with_options(EvaluationOptions)
def evaluate(
    run: Player,
    against: Player | None = None,
    *,
    as_played: bool = False,
    positions: Positions | None = None,
    **options: Unpack[EvaluationOptions],
) -> Evaluation | SampledEvaluation | PlayedEvaluation | LabelledEvaluation:
    """Evaluate a run, exactly unless its board is too large to enumerate or it has networks; an agent as `judge` does.

    against: `random` (default), `one-ply`, `two-ply`, `optimal`, `self`, another run or an agent.  On boards too large
    to enumerate `random`, `one-ply` or `two-ply`; by default all three.  On those with gravity also `optimal`, exactly
    if few positions are reached.  Networks play matches against these, and on enumerated boards have exact results
    against the others.
    games, seed: number of games and seed of each match.  budget: positions to search in each seat for a way to beat the
    agent.  All three are for boards with matches only.  ties: as for `Run.candidates`.
    as_played: evaluate a run of tables as it plays while it learns, against random moves and the best opponent; no
    other option applies.
    samples, progress: for agents, as for `judge`.
    positions: a file of labelled positions, or its lines; compares values, labels and exact results.
    board, symmetric, illegal, time_limit: of agents, as for `judge`; they play on the board of a run by default.
    load: opens the files of runs.
    Raises GamesError for a file without positions, UsageError, BoardError and RunFileError.
    """
    given = given_options(evaluate, options)
    how: dict[str, Any] = {name: given.pop(name) for name in ("board", *RULES, "load") if name in given}
    check_functions(load=how.get("load"))
    needless = [name for name, usual in RULES.items() if how.get(name, usual) != usual]
    if needless and not any(map(is_agent, (run, against))):
        raise UsageError(
            f"{flag(needless[0])} is for agents that are opened here; leave it out, or give it to at_board"
        )
    progress, ties = given.pop("progress", None), check_ties(given.pop("ties", "any"))
    excess = [*(["against"] if against is not None else []), *given, *(["ties"] if ties != "any" else [])]
    with progress_callback(progress, "asking") as tell, watched(tell):
        if positions is not None:
            excess += ["as_played"] if as_played else []
            if excess:
                raise UsageError(f"{flag('positions')} compares values of positions; leave {flag(excess[0])} out")
            if is_agent(run) and "board" not in how:
                how["board"] = board_meant(position_source(positions).beginning())
            with open_players([run], **how) as (player,):
                check_own_board(player, how)
                return evaluate_positions(player, positions)
        if as_played:
            switched = flag("as_played", True)
            if excess:
                raise UsageError(
                    f"{switched} is against random moves and the best opponent; leave {flag(excess[0])} out"
                )
            learnt = None if isinstance(run, AgentAdapter) or is_agent(run) else how.get("load", any_run)(run)
            if not isinstance(learnt, Run):
                raise UsageError(f"{switched} is for runs of tables, which explore; leave it out")
            return evaluate_as_played(learnt)
        beside = list[object]()
        if is_agent(run) and against is not None and find_name(against, AGAINST) is None:
            if isinstance(against, str) and not is_agent(against):
                name_or_run("opponent", against, AGAINST, others=RUNS_OR_AGENTS)  # before a program starts
            # An agent plays on the opponent's board if it has one.
            has_board = isinstance(against, AnyRun | AgentAdapter) or not is_agent(against)
            beside = [against] if has_board else []
        with open_players([run, *beside], **how) as (player, *others):
            check_own_board(player, how)
            if isinstance(player, AnyRun) and player.exact and "samples" not in given:  # before a program starts
                check_lengths(player, [name for name in ("games", "seed", "budget") if name in given])
            # A program that plays itself is started once.
            twin = isinstance(run, str) and run.startswith(PROGRAM) and against == run
            with open_opponent(player if twin else [*others, against][0], player, how) as opponent:
                return judge_agent(player, opponent, **given, ties=ties)


def check_own_board(player: AnyRun | AgentAdapter, how: Mapping[str, Any]) -> None:
    """Raise UsageError if a run or an agent at a board plays on another one than `how` says."""
    board = player.board if how.get("board") is None else parse_board(how["board"])
    if board != player.board:
        what = quoted(player.name) if isinstance(player, AgentAdapter) else "the run"
        raise UsageError(f"{what} plays {player.board.name}, not {board.name}; leave {flag('board')} out")


@contextmanager
def open_opponent(
    against: Player | None, agent: AnyRun | AgentAdapter, how: Mapping[str, Any]
) -> Iterator[AnyRun | AgentAdapter | str | None]:
    """Yield the opponent of an agent: a name of `AGAINST`, a run, or an agent on the same board.

    how: options of `open_players`.  Programs that were started for it end with the block.
    Raises UsageError for an unknown name, RunFileError and AgentError.
    """
    if against is None or isinstance(against, AnyRun | AgentAdapter):
        yield against
    elif is_agent(against) and find_name(against, AGAINST) is None:
        if not agent.enumerated:  # before its program starts
            check_scripted(agent, against)
        with open_players([against], **{"board": agent.board, **how}) as (opponent,):
            yield opponent
    elif isinstance(against, str | Path):
        any_name = agent.enumerated or find_name(against, AGAINST) is not None
        names, others = (AGAINST, RUNS_OR_AGENTS) if any_name else (SCRIPTED, "")
        meant = name_or_run("opponent", against, names, others=others)
        if isinstance(meant, Path) and not agent.enumerated:
            check_scripted(agent, against, run=True)
        yield how.get("load", any_run)(meant) if isinstance(meant, Path) else meant
    else:
        raise UsageError(f"unknown opponent {quoted(against)}; give a run, a name or an agent")


def show(
    run: Player, position: str | int | Position = 0, *, symmetric: bool = False, ties: Ties = "any"
) -> PositionReport:
    """Return a report on a position: its value, each move's value and visits, the exact result, the best replies.

    position: as `Run.position` reads it; by default the empty board.  symmetric: include its symmetric images.
    Raises BoardError for a position that no game reaches.
    """
    with open_players([run]) as (player,):
        return describe_position(player, position, symmetric=symmetric, ties=ties)


def tournament(
    runs: Sequence[Player],
    names: Sequence[str] | None = None,
    *,
    games: Number | None = None,
    seed: Number = 0,
    ties: Ties = "any",
) -> Tournament:
    """Play every run against every run in both seats: exactly, or with `games` games per meeting.

    runs: may include agents (see `judge`), which play on the board of the first run, or on 3x3 without a run.
    names: one for each; by default names of files, learners or agents.
    Raises UsageError, BoardError, RunFileError and AgentError.
    """
    if isinstance(runs, AnyRunOrPath):
        raise UsageError("a tournament takes two runs or more; use evaluate for one")
    check_names_of_runs(names)
    given = as_list(runs)
    with open_players(given) as entrants:
        called = names if names is not None else list(map(name_of, given, entrants))
        return all_play_all(entrants, called, games=games, seed=seed, ties=ties)


def as_list(runs: Any) -> list[Any]:
    """Return the runs as a list, also for a single run or a study."""
    return list(runs) if isinstance(runs, Iterable) and not isinstance(runs, AnyRunOrPath) else [runs]


def check_names_of_runs(names: object) -> None:
    """Raise UsageError if the names of runs are not a list, or are one string, whose letters would become the names."""
    if isinstance(names, str) or not isinstance(names, Iterable | None):
        what = "one string" if isinstance(names, str) else "no list"
        raise UsageError(f"names {quoted(str(names))} is {what}; give a list with a name for each run, or leave it out")


def name_of(given: object, read: AnyRun | AgentAdapter | None = None) -> str:
    """Return the name of a run or an agent.  read: the run or agent itself, if `given` is not one."""
    if isinstance(given, str | Path):
        return str(given)
    name: str = getattr(given if read is None else read, "name", "")
    return name
