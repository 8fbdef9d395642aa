"""Evaluation, import and export from Python: `evaluate`, `judge` and the tables of other programs."""

import os
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, Literal, Protocol, TypedDict, Unpack, overload

from numpy.typing import NDArray

from ttt_batch.agents.adapter import AgentAdapter, as_csv, as_json, watched
from ttt_batch.agents.builtin import adapter_of
from ttt_batch.agents.external import AgentLike, at_board, is_agent
from ttt_batch.analysis.judge import SampledEvaluation, judge_agent
from ttt_batch.analysis.position import LabelledEvaluation, Positions, evaluate_positions, position_source
from ttt_batch.core.errors import UsageError, flag, quoted, with_option
from ttt_batch.core.files import shown
from ttt_batch.core.outputs import check_distinct, named_file
from ttt_batch.core.results import progress_callback
from ttt_batch.core.text import AGAINST, SCRIPTED, Number, Ties, check_ties, choose, find_name
from ttt_batch.games.board import Board, parse_board
from ttt_batch.games.game_files import board_meant
from ttt_batch.runs import importing
from ttt_batch.runs.evaluation import Evaluation, PlayedEvaluation, evaluate_as_played
from ttt_batch.runs.formats import ENDINGS, EXPORT, FORMATS, WHOLE, check_targets
from ttt_batch.runs.loading import AnyRun, any_run, load_any, with_table
from ttt_batch.runs.loading import load as load_table
from ttt_batch.runs.lookup import RUNS_OR_AGENTS, find_run, name_or_run
from ttt_batch.runs.options import LearnerOptions
from ttt_batch.runs.run import Run

AnyRunOrPath = AnyRun | str | Path
"""A run of any kind, or the name of its file."""

Player = AnyRunOrPath | AgentAdapter | AgentLike
"""Player: a run, the name of its file, or an agent (see `judge`).  A name is read as an agent's before a file's."""

AnswerProgress = Callable[[int], None] | bool | None
"""Callback that receives the number of the agents' answers so far, or True for a line on a terminal."""


@contextmanager
def open_players(players: Sequence[object], board: Board | str | None = None) -> Iterator[list[AnyRun | AgentAdapter]]:
    """Yield the players: runs, and agents on `board`, else on that of the first player that has one, else on 3x3.

    Programs that were started for agents end with the block.
    Raises UsageError for a player that is neither a run nor an agent, RunFileError and AgentError.
    """
    seated = AnyRun | AgentAdapter
    read = [one if isinstance(one, seated) else None if is_agent(one) else any_run(one) for one in players]
    whose = board or next((one.board for one in read if one is not None), "3x3")
    with ExitStack() as stack:
        yield [
            stack.enter_context(at_board(given, whose)) if one is None else one
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
    samples: Number | None = None,
    ties: Ties = "any",
    progress: AnswerProgress = None,
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
    with batches; 10 by default.
    games, seed, budget: as for `evaluate`.  ties: rule of play of an opponent that is a run.
    samples: answers in each position, 1 to 1,000,000, of an agent or opponent whose moves are random with unknown
    probabilities.  The frequencies of the answers are evaluated, with 95 % intervals.  Such an evaluation proves
    nothing, except that a line in which the agent lost is possible.  On boards of more than 12 cells each match has
    this many games (unless `games` is given), and the agent gives a new answer in each.  `seed` seeds Python's and
    NumPy's generators before the first answer.
    progress: called with the number of answers so far; True shows it on standard error if that is a terminal.
    Raises AgentError for an invalid answer, an exception or an exceeded time limit; UsageError and BoardError.
    """
    with progress_callback(progress, "asking") as tell, watched(tell), ExitStack() as stack:
        if not isinstance(agent, AgentAdapter) and not is_agent(agent):
            run = load_any(agent) if isinstance(agent, str | Path) else agent
            if isinstance(run, AnyRun):  # its answers are judged, exactly also those of networks
                if board is not None and parse_board(board) != run.board:
                    name = parse_board(board).name
                    raise UsageError(f"the run plays {run.board.name}, not {name}; leave {flag('board')} out")
                # One that may resign is judged as a run, because no answer says so.
                agent = run if run.resigns else adapter_of(run, run.board, check_ties(ties))
        player: Any = agent
        if not isinstance(agent, AnyRun | AgentAdapter):
            how: dict[str, Any] = {"symmetric": symmetric, "illegal": illegal, "time_limit": time_limit}
            player = stack.enter_context(at_board(agent, "3x3" if board is None else board, **how))
        opponent = stack.enter_context(open_opponent(against, player))
        return judge_agent(player, opponent, games=games, seed=seed, budget=budget, samples=samples, ties=ties)


class EvaluationOptions(TypedDict, total=False):
    """Options of `evaluate` that any player has."""

    games: Number | None
    seed: Number | None
    budget: Number | None
    samples: Number | None
    ties: Ties
    progress: AnswerProgress


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
def evaluate(
    run: Player,
    against: Player | None = None,
    *,
    games: Number | None = None,
    seed: Number | None = None,
    budget: Number | None = None,
    samples: Number | None = None,
    ties: Ties = "any",
    as_played: bool = False,
    positions: Positions | None = None,
    progress: AnswerProgress = None,
) -> Evaluation | SampledEvaluation | PlayedEvaluation | LabelledEvaluation:
    """Evaluate a run, exactly unless its board is too large to enumerate or it has networks; an agent as `judge` does.

    against: `random` (default), `one-ply`, `two-ply`, `optimal`, `self`, another run or an agent.  On boards too large
    to enumerate `random`, `one-ply` or `two-ply`; by default all three.  Networks play matches against these three, and
    on enumerated boards have exact results against the others.
    games, seed: number of games and seed of each match.  budget: positions to search in each seat for a way to beat the
    agent.  All three are for boards with matches only.  ties: as for `Run.candidates`.
    as_played: evaluate a run of tables as it plays while it learns, against random moves and the best opponent; no
    other option applies.
    samples, progress: for agents, as for `judge`.
    positions: a file of labelled positions, or its lines; compares values, labels and exact results.
    Raises GamesError for a file without positions, UsageError, BoardError and RunFileError.
    """
    options = {"games": games, "seed": seed, "budget": budget, "samples": samples}
    excess = [name for name, value in {"against": against, **options}.items() if value is not None]
    excess += ["ties"] if check_ties(ties) != "any" else []
    with progress_callback(progress, "asking") as tell, watched(tell):
        if positions is not None:
            return _by_positions(run, positions, [*excess, *(["as_played"] if as_played else [])])
        if as_played:
            return _as_played(run, excess)
        # An agent plays on the opponent's board if it has one.
        named = against is None or find_name(against, AGAINST) is not None
        given = [run] if named or not is_agent(run) else [run, against]
        with open_players(given) as (player, *others), open_opponent([*others, against][0], player) as opponent:
            return judge_agent(player, opponent, **options, ties=ties)


def _by_positions(run: Any, positions: Positions, excess: list[str]) -> LabelledEvaluation:
    """Compare a run or an agent with a file of positions.  excess: names of other options, which must be empty."""
    if excess:
        raise UsageError(f"{flag('positions')} compares values of positions; leave {flag(excess[0])} out")
    board = board_meant(position_source(positions).beginning()) if is_agent(run) else None
    with open_players([run], board) as (player,):
        return evaluate_positions(player, positions)


def _as_played(run: Any, excess: list[str]) -> PlayedEvaluation:
    """Evaluate a run as it plays while it learns.  excess: names of other options, which must be empty."""
    switched = flag("as_played", True)
    if excess:
        raise UsageError(f"{switched} is against random moves and the best opponent; leave {flag(excess[0])} out")
    agent = run if isinstance(run, AgentAdapter) or is_agent(run) else any_run(run)
    if not isinstance(agent, Run):
        raise UsageError(f"{switched} is for runs of tables, which explore; leave it out")
    return evaluate_as_played(agent)


@contextmanager
def open_opponent(against: Player | None, agent: AnyRun | AgentAdapter) -> Iterator[AnyRun | AgentAdapter | str | None]:
    """Yield the opponent of an agent: a name of `AGAINST`, a run, or an agent on the same board.

    Programs that were started for it end with the block.
    Raises UsageError for an unknown name, RunFileError and AgentError.
    """
    if against is None or isinstance(against, AnyRun | AgentAdapter):
        yield against
    elif is_agent(against) and find_name(against, AGAINST) is None:
        with at_board(against, agent.board) as opponent:
            yield opponent
    elif isinstance(against, str | Path):
        any_name = agent.enumerated or find_name(against, AGAINST) is not None
        names, others = (AGAINST, RUNS_OR_AGENTS) if any_name else (SCRIPTED, "")
        meant = name_or_run("opponent", against, names, others=others)
        yield load_any(meant) if isinstance(meant, Path) else meant
    else:
        raise UsageError(f"unknown opponent {quoted(against)}; give a run, a name or an agent")


AGENT_FORMATS = ("html", "json", "csv")
"""Formats for a third-party agent."""


class ExportOptions(TypedDict, total=False):
    """Options of `export_run`; each applies to some formats."""

    overwrite: bool
    ties: Ties | None
    warn: Callable[[str], None]


class ImportOptions(LearnerOptions, total=False):
    """Options of `import_run`."""

    form: str | None
    player: str | None
    keys: str | None
    command: str
    warn: Callable[[str], None]


class TableOptions(LearnerOptions, total=False):
    """Options of `import_table`."""

    player: str | None
    keys: str | None
    warn: Callable[[str], None]


def export_agent(agent: AgentAdapter, out: str | Path, to: str, *, overwrite: bool = False) -> list[Path]:
    """Write an agent's choices to `out`: a page to play on (`html`), or a table as `json` or `csv`; return the file.

    Raises UsageError for another format, BoardError for a board too large to enumerate, AgentError and FormatError.
    """
    to, path = choose("format", to, AGENT_FORMATS), Path(out)
    if to == "html":
        from ttt_batch.app.web import export_page

        return [export_page(agent, path, overwrite=overwrite)]
    check_targets([path], overwrite=overwrite)
    EXPORT.write([path], [as_json(agent) if to == "json" else as_csv(agent)], overwrite=overwrite)
    return [path]


def resolve_format(to: str | None, files: Sequence[Path], names: Collection[str]) -> str:
    """Return the format `to`, or else the one that the first file's suffix means; one of `names`.

    Raises UsageError for an unknown format, and if neither gives one.
    """
    if to is not None:
        return choose("format", to, names, words={"h5": "hdf5"})
    listed = f"one of: {', '.join(names)}{with_option('to')}"
    if not files:
        raise UsageError(f"no format given; name a file such as table.h5{with_option('out')}, or {listed}")
    meant = ENDINGS.get(files[0].suffix.lower(), "")
    if meant in names:
        return meant
    raise UsageError(f"the name of {shown(files[0])} does not end in a known format; choose {listed}")


def export_whole(run: AnyRun, to: str, path: Path, *, ties: Ties | None = None, overwrite: bool = False) -> Path:
    """Write a page to play on (`html`), the kit of menace's boxes (`boxes`) or plain HDF5 (`hdf5`); return its path.

    ties: for a page, see `web.export_page`.  Raises UsageError and the errors of that and `kit.export_boxes`.
    """
    if to == "hdf5":
        from ttt_batch.runs.plain_hdf5 import encode

        if ties is not None:
            raise UsageError(f"{flag('ties', ties)} is for a page to play on; leave it out of a table")
        check_targets([path], overwrite=overwrite)
        EXPORT.write([path], [encode(run)], overwrite=overwrite)
        return path
    if to == "html":
        from ttt_batch.app.web import export_page

        return export_page(run, path, ties=ties, overwrite=overwrite)
    from ttt_batch.app.kit import export_boxes

    if ties is not None:
        raise UsageError(f"{flag('ties', ties)} is for a page to play on; leave it out of a kit of boxes")
    return export_boxes(run, path, overwrite=overwrite)


def export_run(
    run: Player,
    out: str | Path | Sequence[str | Path],
    to: str | None = None,
    *,
    player: str | None = None,
    **options: Unpack[ExportOptions],
) -> list[Path]:
    """Write a run to `out` in the format `to`, and return the written files.

    run: a run, its file, or an agent (see `judge`) with the formats of `export_agent`, on 3x3 unless it has a board.
    out: one file, or for formats with a file for each player one or two.
    to: `html` (a page to play on), `boxes` (a kit of menace's boxes, .pdf or .html) or a table's format; by default the
    suffix decides (`ENDINGS`).  Networks have only a page, and plain HDF5 of their weights and tuples.
    player: the player whose values go into a single file.
    options: `overwrite`; for a page also `ties`, for tables `warn`, see `runs.importing.export_table`.
    Raises UsageError, BoardError, FormatError and RunFileError.
    """
    given: dict[str, Any] = dict(options)
    if isinstance(run, AgentAdapter) or is_agent(run):
        if player is not None or not isinstance(out, str | Path):
            raise UsageError("an agent's choices go into one file for both players; give one file and no player")
        with open_players([run]) as (agent,):
            assert isinstance(agent, AgentAdapter)
            return export_agent(agent, out, resolve_format(to, _named("out", out), AGENT_FORMATS), **given)
    files = _named("out", out)
    to = resolve_format(to, files, (*WHOLE, *FORMATS))
    written = [(flag("out"), file) for file in files]
    check_distinct(written, [("run", find_run(run))] if isinstance(run, str | Path) else [])
    if isinstance(run, str | Path):
        load = load_any if to in WHOLE else load_table
        run = load(run, check=lambda config: importing.check_export(config, to))
    run = any_run(run)
    if to in WHOLE:
        if len(files) != 1 or player is not None:
            raise UsageError(f"{WHOLE[to]} is one file for both players; give one file and no player")
        return [export_whole(run, to, files[0], **given)]
    return importing.export_table(with_table(run), to, files, player=player, **given)


def import_run(
    files: str | Path | Sequence[str | Path],
    learner: str | None = None,
    *,
    out: str | Path | None = None,
    overwrite: bool = False,
    **options: Unpack[ImportOptions],
) -> Run:
    """Read another program's table into a run of `learner`, and save it to `out` if given.

    files: one file, or one for each player.
    learner: by default the one named in the file, or one with such a table.
    options: `form`, `board`, `player`, `keys`, `warn` and those of `Config`.
    keys: notation of the keys, such as `0,1,2,low`, if the table leaves it open; see `import_table`.
    The run's `notes` describe how the files were read.
    Raises UsageError, FormatError and RunFileError.
    """
    paths = _named("files", files)
    check_distinct(
        [(flag("out"), named_file("out", out))] if out is not None else [], [("files", path) for path in paths]
    )
    given: dict[str, Any] = dict(options)
    run = importing.import_tables(paths, learner, **given)
    if out is not None:
        run.save(out, overwrite=overwrite)
    return run


class Frame(Protocol):
    """Data frame of pandas or a compatible library."""

    @property
    def columns(self) -> Any:
        """Return the names of the columns."""

    def to_numpy(self) -> Any:
        """Return the numbers as an array."""


def import_table(
    table: Mapping[Any, Any] | Sequence[Any] | NDArray[Any] | Frame,
    learner: str | None = None,
    *,
    out: str | Path | None = None,
    overwrite: bool = False,
    **options: Unpack[TableOptions],
) -> Run:
    """Read a table in memory into a run of `learner`, and save it to `out` if given.

    table: a dictionary from positions to values, to numbers for all cells, or to dictionaries of moves; or from
    (position, move) to numbers.  Also an array indexed by position number, or a frame of pandas.
    learner: by default one with such a table.
    options: `board`, `player` (the owner of the values), `keys`, `warn` and those of `Config`.
    keys: signs for an empty cell, the first and the second player, such as `0,1,2` or `space,X,O`.  Then `mover` if the
    second sign means the player to move, and `low` if the first cell is the lowest digit of a number.  By default the
    table decides, or UsageError lists the possible keys.
    The run's `notes` describe how the table was read.
    Raises UsageError, FormatError and RunFileError.
    """
    given: dict[str, Any] = dict(options)
    run = importing.import_object(table, learner, **given)
    if out is not None:
        run.save(named_file("out", out), overwrite=overwrite)
    return run


def _named(name: str, given: Any) -> list[Path]:
    """Return the paths of one or several files.  Raises UsageError for an empty list or a value that is not a path."""
    several = isinstance(given, Iterable) and not isinstance(given, str | bytes | os.PathLike)
    files = [named_file(name, one) for one in (given if several else [given])]
    if not files:
        raise UsageError(f"{flag(name)} is empty; give a file")
    return files
