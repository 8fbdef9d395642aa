"""Report on one position: a run's values and choices, the exact result, and the position's symmetric images.

Values are on the learner's own scale and for the player to move, as `Run.value` and `Run.move_values` return them.
Learners with action preferences have values of positions only.  The truth is the result of best play on both sides.  On
a board too large to enumerate only final positions have one; elsewhere every field that depends on it is None.
"""

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ttt_batch.agents.outsider import AgentAdapter
from ttt_batch.base.choices import SEATS, Ties, check_ties
from ttt_batch.base.printable import Printable
from ttt_batch.evaluation.ties import best_cells, check_sharp
from ttt_batch.game.board import DRAW, EMPTY, FIRST_WINS, SECOND_WINS, UNFINISHED, Board, Position
from ttt_batch.game.notation import read_position, rows_text
from ttt_batch.game.solution import SolvedResult
from ttt_batch.game.state_space import check_gravity
from ttt_batch.runs.loading import AnyRun
from ttt_batch.runs.run import Run
from ttt_batch.runs.truth import SolverAccess


class Move(NamedTuple):
    """Move to one free cell of a position.

    cell: from 0.  name: as `Board.cell_name` returns it.
    value: the agent's; nan if never visited or if the agent has no move values.
    probability: that the agent moves there.
    visits: updates so far of the entry that holds `value`; None if visits are not counted.
    truth: result of best play after the move; its plies are counted from the position before the move.
    keeps: True if the move keeps the result of best play.
    best: True if it also wins as soon or loses as late as possible.
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
    moves: one for each free cell; empty in a final position.
    forfeits: occupied cells that the agent may also choose, with equal probabilities (only `minimax-q`).
    resigns: the agent's box is empty and it resigns (only `menace`).  beads: number in its box (only `menace`) or None.
    boxless: the agent has no boxes for the player to move.
    keeps: probability that the agent's move keeps the result of best play; None in a final position.
    line: cells of best play by both players from here on, the lowest cell of equals.
    images: the distinct images by code, if requested.  ties: as for `Run.candidates`.
    outside: True for a third-party agent, which has no values.
    """

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
    boxless: bool = False

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
            "best": None if truth is None else [move.cell for move in self.moves if move.best],
            "line": None if self.line is None else list(self.line),
            "images": None if self.images is None else images,
        }

    def records(self) -> tuple[list[dict[str, Any]], str]:
        """Return a row for each free cell; no rows in a final position."""
        return self.to_dict()["moves"], "cell"


def describe_position(
    run: AnyRun | AgentAdapter, position: str | int | Position, *, symmetric: bool = False, ties: Ties = "any"
) -> PositionReport:
    """Return the report on a position.

    position: in a form that `notation.read_position` reads.  symmetric: include the symmetric images.
    ties: as for `Run.candidates`.
    Raises BoardError for a position that no game reaches, and UsageError for unknown ties.  `sharp` raises one of the
    two where it does not apply.  The run does not change.
    """
    check_gravity(run.board, "show")
    board, marks, ties = run.board, read_position(position, run.board), check_ties(ties)
    outcome, mover = board.outcome(marks), (board.cells - marks.count(EMPTY)) % 2
    value, truth = _value(run, marks), run.truth(marks)
    chosen = run.candidates(marks) if outcome == UNFINISHED else []
    if ties == "sharp" and not isinstance(run, AgentAdapter):
        check_sharp(run)
    resigns = chosen == [board.resignation]
    chosen = best_cells(run, marks, chosen, ties) if chosen and not resigns else []
    moves = _moves(run, marks, mover, chosen, truth) if outcome == UNFINISHED else ()
    return PositionReport(
        board=board,
        learner=run.name if isinstance(run, AgentAdapter) else run.config.learner,
        worth=tuple((run.worth[mover] + 0.0)[[FIRST_WINS + mover, DRAW, SECOND_WINS - mover]].tolist()),
        position=marks,
        player=mover if outcome == UNFINISHED else None,
        outcome=outcome,
        value=value,
        moves=moves,
        forfeits=tuple(cell for cell in chosen if marks[cell] != EMPTY),
        truth=truth,
        keeps=None if truth is None or not moves else sum(move.probability for move in moves if move.keeps),
        line=None if truth is None else best_play(run, marks),
        images=_images(run, marks) if symmetric else None,
        ties=ties,
        outside=isinstance(run, AgentAdapter),
        resigns=resigns,
        boxless=bool(moves) and isinstance(run, Run) and run.learner.boxes and mover == 1,
        beads=_beads(run, marks) if moves and isinstance(run, Run) and run.learner.boxes and mover == 0 else None,
    )


def _beads(run: Run, marks: Position) -> float | None:
    """Return the number of beads in a position's box, once for edges with the same child; None without a box."""
    row, _ = run._located(marks)
    edges = slice(int(run.graph.first_edge[row]), int(run.graph.first_edge[row + 1]))
    beads = run.tables.q[edges][np.unique(run.graph.child[edges], return_index=True)[1]]
    return None if np.isnan(beads).any() else float(beads.sum())


def _value(run: AnyRun | AgentAdapter, marks: Position) -> float:
    """Return a run's value of a position, or nan for a third-party agent."""
    return math.nan if isinstance(run, AgentAdapter) else run.value(marks) + 0.0  # 0 instead of -0


def best_play(run: SolverAccess, position: Position) -> tuple[int, ...]:
    """Return the cells of best play by both players from a position of an enumerated board.

    The winner wins as soon and the loser loses as late as possible, with the lowest of equal cells.  Raises BoardError.
    """
    line: list[int] = []
    while best := best_replies(run, position):
        line.append(best[0])
        position = run.board.after(position, best[0])
    return tuple(line)


def best_replies(run: SolverAccess, position: Position) -> list[int]:
    """Return the best moves on an enumerated board: those that keep the result, by the quickest win or longest loss.

    Empty in a final position.  Raises BoardError.
    """
    truth, after = run.truth(position), run.true_moves(position)
    if truth is None or not after:
        return []
    return [cell for cell, then in after.items() if then.a_ply_earlier == truth]


def _moves(
    run: AnyRun | AgentAdapter, marks: Position, mover: int, chosen: list[int], truth: SolvedResult | None
) -> tuple[Move, ...]:
    """Return the report on every free cell."""
    if isinstance(run, AgentAdapter):
        shares = run.shares(marks)
        values = {cell: math.nan for cell, mark in enumerate(marks) if mark == EMPTY}
    else:
        drawn = run.drawn_shares(marks) if isinstance(run, Run) else None
        shares, values = drawn or {cell: 1 / len(chosen) for cell in chosen}, run.move_values(marks)
    preferences = run.move_preferences(marks) if isinstance(run, Run) and run.gives == "chance" else {}
    after, visits = run.true_moves(marks) or {}, _visits(run, marks, mover) if isinstance(run, Run) else {}
    truths = {cell: then.a_ply_earlier for cell, then in after.items()}
    return tuple(
        Move(
            cell=cell,
            name=run.board.cell_name(cell),
            value=math.nan if preferences else value + 0.0,
            probability=shares.get(cell, 0.0),
            visits=visits.get(cell),
            truth=truths.get(cell),
            keeps=None if truth is None else truths[cell].result == truth.result,
            best=None if truth is None else truths[cell] == truth,
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
    free = [cell for cell, mark in enumerate(marks) if mark == EMPTY]
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
    every = isinstance(run, Run) and not run.config.symmetry
    return tuple(
        PositionImage(code, image, _value(run, image), None if not isinstance(run, Run) else every or code == lowest)
        for code, image in sorted((board.encode(position), position) for position in positions)
    )
