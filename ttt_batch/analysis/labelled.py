"""Comparison of an agent with a file of labelled positions and with the exact results.

A run's value of a position counts as the nearest result on its learner's scale: a win, a draw or a loss of the player
to move.  An agent without values plays both sides to the end with its likeliest moves, and that result counts.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ttt_batch.agents.layers import distinct
from ttt_batch.agents.outsider import AgentAdapter
from ttt_batch.agents.positions import Words, as_words
from ttt_batch.base.choices import RESULTS
from ttt_batch.base.errors import GamesError
from ttt_batch.base.printable import Printable
from ttt_batch.game.board import DRAW, EMPTY, FIRST, FIRST_WINS, SECOND, SECOND_WINS, UNFINISHED, Board, Position
from ttt_batch.game.position_lines import Labelled, LabelledPositions, read_positions
from ttt_batch.game.solution import WORDS
from ttt_batch.game.transcript_source import GameFile, GameLines
from ttt_batch.runs.loading import AnyRun

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
    """Compare an agent with a file of positions in the format of `position_lines`.

    Raises GamesError, BoardError for positions of another board, and AgentError.
    """
    source = position_source(positions)
    name = source.name if isinstance(source, GameFile) else "positions"
    source.check()
    given = read_positions(source, agent.board, name)
    if not given.positions:
        raise GamesError(f"{name}: no game reaches any of its {given.left_out:,} positions; the first: {given.shown}")
    return _compared(agent, given, name)


def position_source(positions: Positions) -> GameFile | GameLines:
    """Return the source that reads a file or lines of positions."""
    return GameFile(positions, "position") if isinstance(positions, str | Path) else GameLines(positions)


def _compared(agent: AnyRun | AgentAdapter, given: LabelledPositions, file: str) -> LabelledEvaluation:
    """Return the comparison over all positions."""
    board, rows = agent.board, given.positions
    valued = _by_play(agent, rows) if isinstance(agent, AgentAdapter) else [_by_value(agent, row.marks) for row in rows]
    truth = [frozenset(() if (true := agent.true_value(row.marks)) is None else (true,)) for row in rows]
    labels = [row.allowed or frozenset() for row in rows]
    known = all(truth)
    counts = {result: dict.fromkeys(RESULTS, 0) for result in RESULTS}
    for value, right, row in zip(valued, truth if known else labels, rows, strict=True):
        if len(right) == 1 and value:
            sign = -1 if _mover(row.marks) else 1  # counts are by the mover's result
            counts[WORDS[sign * min(right)]][WORDS[sign * min(right & value or value)]] += 1
    return LabelledEvaluation(
        agent=agent.name if isinstance(agent, AgentAdapter) else agent.config.learner,
        board=board,
        file=file,
        positions=len(rows),
        final=sum(board.outcome(row.marks) != UNFINISHED for row in rows),
        left_out=given.left_out,
        left_out_example=given.shown,
        judged_by="play" if isinstance(agent, AgentAdapter) else "values",
        unvalued=sum(not value for value in valued),
        value_truth=_agreement(valued, truth),
        value_label=_agreement(valued, labels),
        label_truth=_agreement(labels, truth),
        compared_with="truth" if known else "label",
        counts=counts,
    )


def _agreement(one: Iterable[Results], two: Iterable[Results]) -> Agreement:
    """Return the number of positions where two answers share a result, and the number where both are known."""
    both = [(this, that) for this, that in zip(one, two, strict=True) if this and that]
    return Agreement(sum(bool(this & that) for this, that in both), len(both))


def _mover(marks: Position) -> int:
    """Return the player to move, 0 or 1; in a final position, the player who would move next."""
    return sum(mark != EMPTY for mark in marks) % 2


def _by_value(run: AnyRun, marks: Position) -> Results:
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
    board = agent.board
    marks = np.array([row.marks for row in rows])
    outcome = np.array([board.outcome(row.marks) for row in rows], np.int8)
    ply = (marks != EMPTY).sum(1)
    sides = [as_words(marks == FIRST), as_words(marks == SECOND)]
    for now in range(int(ply.min()), board.cells):
        going = np.flatnonzero((ply <= now) & (outcome == UNFINISHED))
        if going.size:
            outcome[going] = _moved(agent, sides, going, now)
    agent.ask_again()
    results = {FIRST_WINS: 1, SECOND_WINS: -1, DRAW: 0}
    return [frozenset({results[int(end)]}) for end in outcome]


def _moved(agent: AgentAdapter, sides: list[Words], going: NDArray[np.int64], ply: int) -> NDArray[np.int8]:
    """Make the agent's moves in the positions `going`, all with `ply` marks, and return their new outcomes.

    sides: uint64[n] for each player, changed in place.
    """
    board, mover = agent.board, ply % 2
    own, other = sides[mover][going], sides[1 - mover][going]
    number, kept = distinct(own, other)
    chosen = agent.answers(own[kept], other[kept], ply).argmax(1)[number]
    mark = np.uint64(1) << chosen.astype(np.uint64)
    forfeits = (own | other) & mark != 0
    sides[mover][going] = own = own | np.where(forfeits, np.uint64(0), mark)
    wins = np.zeros(own.size, np.bool_)
    for line, fence in board.line_masks:
        wins |= own & np.uint64(line | fence) == np.uint64(line)
    outcome = np.full(own.size, DRAW if ply + 1 == board.cells else UNFINISHED, np.int8)
    outcome[wins] = FIRST_WINS + (mover ^ board.misere)
    outcome[forfeits] = SECOND_WINS - mover
    return outcome
