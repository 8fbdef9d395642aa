"""Report on one position, and comparison with a file of labelled positions.

Values are on the learner's own scale and for the player to move, as `Run.value` and `Run.move_values` return them.
Learners with action preferences have values of positions only.  The truth is the result of best play on both sides.  On
a board too large to enumerate final positions have one, and with gravity those that a search soon solves.  Elsewhere
every field that depends on it is None.

A file of labelled positions is compared with an agent and with the exact results.  A run's value of a position counts
as the nearest result on its learner's scale: a win, a draw or a loss of the player to move.  An agent without values
plays both sides to the end with its likeliest moves, and that result counts.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ttt_batch.agents.adapter import AgentAdapter
from ttt_batch.agents.base import as_words
from ttt_batch.agents.layers import distinct
from ttt_batch.analysis.matches import GameBlock, play_ply
from ttt_batch.compiler.numerics import stream_key
from ttt_batch.core.errors import GamesError
from ttt_batch.core.results import Printable
from ttt_batch.core.text import RESULTS, SEATS, Ties
from ttt_batch.games.bitboards import make_lines
from ttt_batch.games.board import DRAW, EMPTY, FIRST, FIRST_WINS, SECOND, SECOND_WINS, UNFINISHED, Board, Game, Position
from ttt_batch.games.game_files import Labelled, read_positions
from ttt_batch.games.notation import read_position, rows_text
from ttt_batch.games.solution import WORDS, SolvedResult, in_plies
from ttt_batch.games.transcript_reader import GameFile, GameLines
from ttt_batch.learners.tabular.menace import COLOURS, has_box
from ttt_batch.runs.base import SolverAccess
from ttt_batch.runs.loading import AnyRun
from ttt_batch.runs.run import Run

Positions = str | Path | Iterable[str]
"""A file of positions, or its lines."""

Results = frozenset[int]
"""Results of the first player that an answer allows: 1 a win, 0 a draw, -1 a loss; empty without an answer."""


class Agreement(NamedTuple):
    """Number of answers that agree, and number of positions with both answers."""

    agree: int
    of: int


@dataclass(frozen=True)
class LabelledEvaluation(Printable):
    """Agreement between the values of positions, their labels and the exact results.

    agent, file: names of the two.
    positions: number of reachable positions.  final: number of these where the game is over.
    left_out: number of unreachable positions.  left_out_example: one of them, or None.
    judged_by: `values` for a run, `play` for an agent without values.  unvalued: number of positions without a value.
    value_truth, value_label, label_truth: agreement of each pair; truth means the exact result.
    compared_with: `truth`, or `label` if exact results are unknown.  counts: positions by that result, then by the
    agent's.  Results are those of the player to move, in a final position of the player who would move next.
    """

    agent: str
    board: Board
    file: str
    positions: int
    final: int
    left_out: int
    left_out_example: str | None
    judged_by: str
    unvalued: int
    value_truth: Agreement
    value_label: Agreement
    label_truth: Agreement
    compared_with: str
    counts: dict[str, dict[str, int]] = field(repr=False)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values with stable keys, as `--json` prints them."""
        plain = {name: getattr(self, name) for name in self.__dataclass_fields__}
        agreements = ("value_truth", "value_label", "label_truth")
        return plain | {"board": self.board.name} | {name: plain[name]._asdict() for name in agreements}

    def records(self) -> tuple[list[dict[str, Any]], str]:
        """Return a row for each result, with the number of positions by the agent's result."""
        return [{self.compared_with: result, **counts} for result, counts in self.counts.items()], self.compared_with


def evaluate_positions(agent: AnyRun | AgentAdapter, positions: Positions) -> LabelledEvaluation:
    """Compare an agent with a file of positions in the format of `games.game_files.read_positions`.

    Raises GamesError, BoardError for positions of another board, and AgentError.
    """
    source = position_source(positions)
    name = source.name if isinstance(source, GameFile) else "positions"
    source.check()
    given = read_positions(source, agent.board, name)
    if not given.positions:
        raise GamesError(f"{name}: no game reaches any of its {given.left_out:,} positions; the first: {given.shown}")
    board, rows = agent.board, given.positions
    valued = _by_play(agent, rows) if isinstance(agent, AgentAdapter) else [_by_value(agent, row.marks) for row in rows]
    truth = [_known_result(agent, row.marks) for row in rows]
    labels = [row.allowed or frozenset() for row in rows]
    known = all(truth)
    counts = {result: dict.fromkeys(RESULTS, 0) for result in RESULTS}
    for value, right, row in zip(valued, truth if known else labels, rows, strict=True):
        if len(right) == 1 and value:
            sign = -1 if _mover(row.marks) else 1  # counts are by the mover's result
            counts[WORDS[sign * min(right)]][WORDS[sign * min(right & value or value)]] += 1
    return LabelledEvaluation(
        agent=agent.name,
        board=board,
        file=name,
        positions=len(rows),
        final=sum(board.outcome(row.marks) != UNFINISHED for row in rows),
        left_out=given.left_out,
        left_out_example=given.shown,
        judged_by="play" if agent.outside else "values",
        unvalued=sum(not value for value in valued),
        value_truth=_agreement(valued, truth),
        value_label=_agreement(valued, labels),
        label_truth=_agreement(labels, truth),
        compared_with="truth" if known else "label",
        counts=counts,
    )


def _known_result(agent: AnyRun | AgentAdapter, marks: Position) -> Results:
    """Return the exact result of a position of an enumerated board or at the end of a game, without a search."""
    known = agent.enumerated or agent.board.outcome(marks) != UNFINISHED
    true = agent.true_value(marks) if known else None
    return frozenset() if true is None else frozenset({true})


def position_source(positions: Positions) -> GameFile | GameLines:
    """Return the source that reads a file or lines of positions."""
    return GameFile(positions, "position") if isinstance(positions, str | Path) else GameLines(positions)


def _agreement(one: Iterable[Results], two: Iterable[Results]) -> Agreement:
    """Return the number of positions where two answers share a result, and the number where both are known."""
    both = [(this, that) for this, that in zip(one, two, strict=True) if this and that]
    return Agreement(sum(bool(this & that) for this, that in both), len(both))


def _mover(marks: Position) -> int:
    """Return the player to move, 0 or 1; in a final position, the player who would move next."""
    return sum(mark != EMPTY for mark in marks) % 2


def _by_value(run: AnyRun | AgentAdapter, marks: Position) -> Results:
    """Return the first player's results whose worth is nearest to a position's value; empty without a value."""
    value, mover = run.value(marks), _mover(marks)
    if value != value:
        return frozenset()
    worth = {1: FIRST_WINS, 0: DRAW, -1: SECOND_WINS}
    scale = {result: float(run.worth[mover, outcome]) for result, outcome in worth.items()}
    nearest = min(scale.values(), key=lambda each: abs(each - value))
    return frozenset(result for result, each in scale.items() if each == nearest)


def _by_play(agent: AgentAdapter, rows: list[Labelled]) -> list[Results]:
    """Return the first player's result from each position if the agent plays both sides.  Raises AgentError."""
    board, lines, marks = agent.board, make_lines(agent.board), np.array([row.marks for row in rows])
    outcome = np.array([board.outcome(row.marks) for row in rows], np.int8)
    ply, sides = (marks != EMPTY).sum(1), np.stack([as_words(marks == FIRST), as_words(marks == SECOND)])
    for now in range(int(ply.min()), board.cells):
        going = np.flatnonzero((ply <= now) & (outcome == UNFINISHED))
        if going.size:
            own, other = sides[now % 2, going], sides[1 - now % 2, going]
            number, kept = distinct(own, other)
            chosen = agent.answers(own[kept], other[kept], now).argmax(1)[number]
            games = GameBlock(sides[:, going], outcome[going], np.uint64(1) << chosen.astype(np.uint64))
            play_ply(lines, now, stream_key(0), 0, games)
            sides[:, going], outcome[going] = games.marks, games.outcome
    agent.ask_again()
    results = {FIRST_WINS: 1, SECOND_WINS: -1, DRAW: 0}
    return [frozenset({results[int(end)]}) for end in outcome]


class Move(NamedTuple):
    """Move to one free cell of a position.

    cell: from 0.  name: as `Board.cell_name` returns it.
    value: the agent's; nan if never visited or if the agent has no move values.
    probability: that the agent moves there.
    visits: updates so far of the entry that holds `value`; None if visits are not counted.
    truth: result of best play after the move; its plies are counted from the position before the move.
    keeps: True if the move keeps the result of best play.
    best: True if it also wins as soon or loses as late as possible; None if plies are not known.
    preference, softmax: action preference and its softmax probability, used in training; None for other learners.
    """

    cell: int
    name: str
    value: float
    probability: float
    visits: int | None
    truth: SolvedResult | None
    keeps: bool | None
    best: bool | None
    preference: float | None = None
    softmax: float | None = None

    def to_dict(self, player: int) -> dict[str, Any]:
        """Return plain values with stable keys; `result` is for `player` (0 or 1), who moves."""
        plain = self._asdict()
        truth, keeps, best = (plain.pop(name) for name in ("truth", "keeps", "best"))
        if self.preference is None:
            del plain["preference"], plain["softmax"]
        result, plies = (None, None) if truth is None else (truth.seen_by(player).word, truth.plies)
        return plain | {"result": result, "plies": plies, "keeps": keeps, "best": best}


class PositionImage(NamedTuple):
    """Image of a position under a symmetry of the board.

    value: as `PositionReport.value`.
    own_row: whether the table has a row for this very image (with symmetry only the lowest code); None for networks.
    """

    code: int
    position: Position
    value: float
    own_row: bool | None


@dataclass(frozen=True)
class PositionReport(Printable):
    """Report on a position for one agent.

    learner: its name.  worth: values of a win, a draw and a loss for `player` on the learner's scale.
    player: the player to move, 0 or 1; None in a final position.  outcome: as `Board.outcome` returns it.
    value: for the player to move, in a final position for the player who would move next; nan if never visited.
    moves: one for each cell that may be marked; empty in a final position.
    forfeits: illegal cells that the agent may also choose, with equal probabilities (only `minimax-q`).
    resigns: the agent's box is empty and it resigns (only `menace`).  beads: number in its box (only `menace`) or None.
    absent: the agent does not play as the player to move.
    keeps: probability that the agent's move keeps the result of best play; None in a final position.
    line: cells of best play by both players from here on, the lowest cell of equals.
    images: the distinct images by code, if requested.  ties: as for `Run.candidates`.
    outside: True for a third-party agent, which has no values.
    """

    rows = "moves", "cell"  # of free cells; none in a final position

    board: Board
    learner: str
    worth: tuple[float, float, float]
    position: Position
    player: int | None
    outcome: int
    value: float
    moves: tuple[Move, ...]
    forfeits: tuple[int, ...]
    truth: SolvedResult | None
    keeps: float | None
    line: tuple[int, ...] | None
    images: tuple[PositionImage, ...] | None
    ties: Ties = "any"
    outside: bool = False
    resigns: bool = False
    beads: float | None = None
    absent: bool = False

    @property
    def code(self) -> int:
        """Return the position's code."""
        return self.board.encode(self.position)

    @property
    def prefers(self) -> bool:
        """Return whether the learner has action preferences instead of action values."""
        return any(move.preference is not None for move in self.moves)

    @property
    def counted(self) -> bool:
        """Return whether visits are counted."""
        return any(move.visits is not None for move in self.moves)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values with stable keys, as `--json` prints them; seats are words, cells count from 0."""
        truth = self.truth
        images = [one._asdict() | {"position": rows_text(self.board, one.position)} for one in self.images or ()]
        return {
            "board": self.board.name,
            "learner": self.learner,
            "ties": self.ties,
            "position": rows_text(self.board, self.position),
            "code": self.code,
            "to_move": None if self.player is None else SEATS[self.player],
            "winner": {FIRST_WINS: SEATS[0], SECOND_WINS: SEATS[1]}.get(self.outcome),
            "value": self.value,
            "truth": truth and {"winner": {1: SEATS[0], -1: SEATS[1]}.get(truth.result), "plies": truth.plies},
            "moves": [] if self.player is None else [move.to_dict(self.player) for move in self.moves],
            "forfeits": list(self.forfeits),
            **({} if self.beads is None else {"resigns": self.resigns, "beads": self.beads}),
            "keeps": self.keeps,
            "best": None if truth is None or truth.plies is None else [move.cell for move in self.moves if move.best],
            "line": None if self.line is None else list(self.line),
            "images": None if self.images is None else images,
        }


def describe_position(
    run: AnyRun | AgentAdapter, position: str | int | Position, *, symmetric: bool = False, ties: Ties = "any"
) -> PositionReport:
    """Return the report on a position.

    position: in a form that `notation.read_position` reads.  symmetric: include the symmetric images.
    ties: as for `Run.candidates`.
    Raises BoardError for a position that no game reaches, UsageError for unknown ties, and either of them if `sharp`
    does not apply.  The run does not change.
    """
    board, marks, ties = run.board, read_position(position, run.board), run.checked_ties(ties)
    outcome, mover = board.outcome(marks), (board.cells - marks.count(EMPTY)) % 2
    value, truth = run.value(marks) + 0.0, run.truth(marks)  # 0 instead of -0
    chosen = run.candidates(marks) if outcome == UNFINISHED else []
    resigns = chosen == [board.resignation]
    chosen = run.best_cells(marks, chosen, ties) if chosen and not resigns else []
    moves = _moves(run, marks, mover, chosen, truth) if outcome == UNFINISHED else ()
    truths = [move.truth for move in moves if move.truth is not None]
    return PositionReport(
        board=board,
        learner=run.name,
        worth=tuple((run.worth[mover] + 0.0)[[FIRST_WINS + mover, DRAW, SECOND_WINS - mover]].tolist()),
        position=marks,
        player=mover if outcome == UNFINISHED else None,
        outcome=outcome,
        value=value,
        moves=moves,
        forfeits=() if resigns else tuple(cell for cell in chosen if not board.is_open(marks, cell)),
        truth=truth,
        keeps=None if truth is None or not moves else sum(move.probability for move in moves if move.keeps),
        line=best_play(run, marks) if truth is not None and in_plies(truths) else None,
        images=_images(run, marks) if symmetric else None,
        ties=ties,
        outside=run.outside,
        resigns=resigns,
        absent=bool(moves) and SEATS[mover] not in run.seats,
        beads=_beads(run, marks) if moves and isinstance(run, Run) and run.resigns and mover == 0 else None,
    )


def _beads(run: Run, marks: Position) -> float | None:
    """Return the number of beads in a position's box, once for edges with the same child; None without a box."""
    row, _ = run._located(marks)
    edges = slice(int(run.graph.first_edge[row]), int(run.graph.first_edge[row + 1]))
    beads = run.tables.q[edges][np.unique(run.graph.child[edges], return_index=True)[1]]
    return None if np.isnan(beads).any() else float(beads.sum())


class OpenBox(NamedTuple):
    """Box that is opened in a game, as it lies beside the board: it may be turned.

    number: as on its label.  kinds: for each colour of beads its cells on the board, and how many there are.
    """

    number: int
    kinds: dict[str, tuple[list[int], int]]

    def __str__(self) -> str:
        """Return its beads in a line, with the cells from 1."""
        held = (
            f"{beads:,} {colour} ({'/'.join(str(cell + 1) for cell in sorted(cells))})"
            for colour, (cells, beads) in self.kinds.items()
        )
        return f"Box {self.number}: {', '.join(held)}."

    def colour_of(self, cell: int) -> str | None:
        """Return the colour of the bead that marks a cell; None for another cell, and for resigning."""
        return next((colour for colour, (cells, _) in self.kinds.items() if cell in cells), None)


def open_box(run: Any, position: Position) -> OpenBox | None:
    """Return the box that `menace` opens in an unfinished position; None if it has none there.

    run: a run of `menace`, or an agent that stands for one.  Beads of large batches are rounded, halves up.
    """
    asked, graph = run._row(position), run.graph
    boxed = has_box(graph)
    if not boxed[asked.row]:
        return None
    colours: dict[int, str] = {}  # by the row to which the moves of a kind lead
    kinds: dict[str, tuple[list[int], int]] = {}
    for edge, cell in zip(asked.edges, asked.cells, strict=True):
        if graph.code[child := int(graph.child[edge])] >= 0:
            colour = colours.setdefault(child, COLOURS[int(graph.cell[edge])][0])
            kinds.setdefault(colour, ([], int(run.tables.q[edge] + 0.5)))[0].append(cell)
    return OpenBox(int(boxed[: asked.row + 1].sum()), kinds)


def bead_changes(before: AnyRun, after: AnyRun, game: Game) -> list[str]:
    """Return what each box that a game has opened holds more or less after it, a line for each."""
    lines: list[str] = []
    for ply in range(0, len(game.moves), 2):
        position = Game(game.board, game.moves[:ply]).position
        old, new = open_box(before, position), open_box(after, position)
        colour = old and old.colour_of(game.moves[ply])
        if old is not None and new is not None and colour:
            had, has = old.kinds[colour][1], new.kinds[colour][1]
            change = f"{abs(has - had):,} {'added' if has > had else 'taken'}" if has != had else "unchanged"
            lines.append(f"Box {old.number}: {colour} {change}, {has:,} left.")
    return lines


def best_play(run: SolverAccess, position: Position) -> tuple[int, ...]:
    """Return the cells of best play by both players, as far as it is known.

    The winner wins as soon and the loser loses as late as possible, with the lowest of equal cells.  Raises BoardError.
    """
    line: list[int] = []
    while (after := run.true_moves(position)) and in_plies(after.values()):
        truth = run.truth(position)
        line.append(next(cell for cell, then in after.items() if then.a_ply_earlier == truth))
        position = run.board.after(position, line[-1])
    return tuple(line)


def _moves(
    run: AnyRun | AgentAdapter, marks: Position, mover: int, chosen: list[int], truth: SolvedResult | None
) -> tuple[Move, ...]:
    """Return the report on every free cell."""
    shares, values = run.drawn_shares(marks) or {cell: 1 / len(chosen) for cell in chosen}, run.move_values(marks)
    preferences = run.move_preferences(marks) if isinstance(run, Run) and run.gives == "chance" else {}
    after, visits = run.true_moves(marks) or {}, _visits(run, marks, mover) if isinstance(run, Run) else {}
    truths = {cell: then.a_ply_earlier for cell, then in after.items()}
    return tuple(
        Move(
            cell=cell,
            name=run.board.cell_name(cell),
            value=math.nan if run.gives == "chance" else value + 0.0,
            probability=shares.get(cell, 0.0),
            visits=visits.get(cell),
            truth=truths.get(cell),
            keeps=None if truth is None else truths[cell].result == truth.result,
            best=None if truth is None or truth.plies is None else truths[cell] == truth,
            preference=preferences[cell] + 0.0 if preferences else None,
            softmax=value if preferences else None,
        )
        for cell, value in values.items()
    )


def _visits(run: Run, marks: Position, mover: int) -> dict[int, int]:
    """Return the number of updates of each free cell's entry; empty if visits are not counted.

    A table of actions counts the action itself.  A table of positions counts the position after it; final positions are
    included only if the learner has rows for them.
    """
    if not run.visits.size:
        return {}
    board, graph, symmetry = run.board, run.graph, run.config.symmetry
    free = board.open_cells(marks)
    if run.learner.by_moves:
        visits = run.visits.reshape(-1, graph.child.size).sum(axis=0)  # the sum over two tables, if there are two
        lowest, image = board.representative(marks, symmetry)
        edges = [slice(*graph.first_edge[row : row + 2]) for row in _rows(run, lowest)]
        counted = {image[cell]: n for here in edges for cell, n in zip(graph.cell[here], visits[here], strict=True)}
        return {cell: int(counted.get(cell, 0)) for cell in free}
    visits = run.visits.reshape(run.tables[0].shape)
    counts = visits if visits.ndim == 1 else visits[mover]
    after = {cell: board.after(marks, cell) for cell in free}
    return {
        cell: int(sum(counts[_rows(run, board.representative(then, symmetry)[0])]))
        for cell, then in after.items()
        if board.outcome(then) == UNFINISHED or run.learner.final_rows
    }


def _rows(run: Run, lowest: Position) -> NDArray[np.int64]:
    """Return the row of a position, given by its image with the lowest code; empty if a growing table has none."""
    return np.flatnonzero(run.graph.code == run.board.encode(lowest))


def _images(run: AnyRun | AgentAdapter, marks: Position) -> tuple[PositionImage, ...]:
    """Return the distinct images, sorted by code."""
    board = run.board
    lowest = board.encode(board.representative(marks)[0])
    positions = {tuple(marks[cell] for cell in image) for image in board.symmetries}
    tables, every = isinstance(run, Run), not run.images_share
    return tuple(
        PositionImage(code, image, run.value(image) + 0.0, every or code == lowest if tables else None)
        for code, image in sorted((board.encode(position), position) for position in positions)
    )
