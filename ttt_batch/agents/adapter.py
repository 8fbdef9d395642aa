"""Adapter that gives a third-party agent the interface of a run: checked answers, evaluation, opponent.

An agent that draws by chance without telling its probabilities is asked several times instead, and its answers count.

The exact judgement of an agent on a board that is enumerated: the `Evaluation` that a run gives.
Nothing is sampled and nothing is taken for granted: the agent is asked about each real position that its own play lets
happen, all of a layer in one call, and what follows is exact.

An agent as the fixed opponent of a training: a policy over the rows of its board, and a digest of that.
The agent is asked before the first game about every position that games of the learner against it can reach, however
the learner plays; then it plays no part any more.  So a training against it has the same bytes on any number of
threads, and a resumed one can tell whether the agent is still the same.
"""

import csv
import functools
import io
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from ttt_batch.agents.base import (
    MOST_AT_ONCE,
    Agent,
    Answered,
    Positions,
    Words,
    batch_at,
    batch_of,
    chances_answered,
    disagreement,
    mover_words,
    position_codes,
)
from ttt_batch.agents.layers import LayerRules, Reached, shares
from ttt_batch.core.errors import AgentError, BoardError
from ttt_batch.core.text import SEATS
from ttt_batch.games.board import EMPTY, FIRST_WINS, MAX_TABLE_CELLS, SECOND_WINS, UNFINISHED, Board, Position
from ttt_batch.games.enumeration import check_enumerable
from ttt_batch.games.graph import Graph, rows_of_edges
from ttt_batch.games.notation import rows_text
from ttt_batch.runs.base import SolvedBoard
from ttt_batch.runs.evaluation import NO_SHARES, Evaluation, JudgedAgent
from ttt_batch.runs.state import table_digest
from ttt_batch.simulation.action_probabilities import Probabilities, make_chances
from ttt_batch.simulation.policy import Policy, legal_edges, policy_among

ASKED_AGAIN = 100
"""Positions that are asked about once more, in another order and company."""

MOST_REMEMBERED = 1 << 18
"""Positions whose answers are kept in case they are asked about once more: 35 MB on 4x4x4."""

MOST_REMEMBERED_CELLS = 32
"""Cells up to which the marks of both players fit into one word, by which answers are found again."""

_listeners: list[Callable[[int], None]] = []


@contextmanager
def watched(tell: Callable[[int], None] | None) -> Iterator[None]:
    """Call `tell` meanwhile with the number of answers that agents have given so far, from 0."""
    answers = 0

    def listen(more: int) -> None:
        nonlocal answers
        answers += more
        if tell is not None:
            tell(answers)

    _listeners.append(listen)
    try:
        yield
    finally:
        _listeners.remove(listen)


class Player:
    """An agent at a board, which answers with probabilities.

    symmetric: of the images of a position the agent sees one alone, and its answer holds for all.
    loses: an occupied cell loses instead of being an error; None if a person cannot choose that here.
    samples: answers in each position, whose shares are its probabilities; 0 for an agent that always answers alike.
    asked: positions that the agent was asked about so far, each counted once.
    """

    def __init__(
        self, agent: Agent, board: Board, *, symmetric: bool = False, loses: bool | None = False, samples: int = 0
    ) -> None:
        self.agent, self.board, self.symmetric = agent, board, symmetric
        self.samples, self.asked = 0 if agent.own else samples, 0
        self._loses, self._rules = agent.loses or loses, LayerRules(board)
        self._known: dict[int, tuple[Words, Answered]] = {}
        self._kept: list[tuple[Positions, Answered]] = []
        self._remembers = not agent.own and board.cells <= MOST_REMEMBERED_CELLS

    @property
    def name(self) -> str:
        """What the agent is called."""
        return self.agent.name

    def close(self) -> None:
        """End what the agent runs."""
        self.agent.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, _kind: type[BaseException] | None, _error: object, _trace: TracebackType | None) -> None:
        self.close()

    def answers(self, own: Words, other: Words, ply: int, *, anew: bool = False) -> Answered:
        """float64[n, cells]: the probability of each cell in unfinished positions, all different, after `ply` moves.

        own, other: the marks of the player to move and of its opponent.  Zeros where the agent resigns, if it may.
        anew: one answer for each, which is not remembered; the positions may be the same.
        Raises AgentError.
        """
        ask: Callable[[Words, Words, int], Answered] = self._drawn if anew else self._recalled
        if not self.symmetric:
            return ask(own, other, ply)
        marks = (other, own) if ply % 2 else (own, other)
        first, second, number = self._rules.folded(*marks)
        back: Any = slice(None)
        if not anew:  # images of one position are one question
            (first, second), back = np.unique(np.stack([first, second]), axis=1, return_inverse=True)
            back = back.ravel()
        chances: Answered = ask(*((second, first) if ply % 2 else (first, second)), ply)[back]
        placed: Answered = np.empty_like(chances)
        np.put_along_axis(placed, np.array(self.board.symmetries)[number], chances, axis=1)
        return placed

    def _recalled(self, own: Words, other: Words, ply: int) -> Answered:
        """As `answers`, of the positions as they are; what is remembered is not asked again."""
        if not self._remembers:
            return self._asked(own, other, ply)
        keys = own | (other << np.uint64(32))
        known, chances = self._known.get(ply, (np.zeros(0, np.uint64), np.zeros((0, self.board.cells))))
        place = np.searchsorted(known, keys)
        new = np.ones(keys.size, np.bool_)
        inside = place < known.size
        new[inside] = known[place[inside]] != keys[inside]
        if not new.any():
            return chances[place]
        fresh = self._asked(own[new], other[new], ply)
        if new.all():
            answers = fresh
        else:
            answers = np.empty((keys.size, self.board.cells))
            answers[new], answers[~new] = fresh, chances[place[~new]]
        if sum(keys.size for keys, _ in self._known.values()) + len(fresh) <= MOST_REMEMBERED:
            known, chances = np.append(known, keys[new]), np.concatenate([chances, fresh])
            order = np.argsort(known)
            self._known[ply] = known[order], chances[order]
        return answers

    def _drawn(self, own: Words, other: Words, ply: int) -> Answered:
        """As `answers`, anew, of the positions as they are."""
        self.asked += own.size
        return self._answered(batch_of(self.board, own, other, ply % 2))

    def _asked(self, own: Words, other: Words, ply: int) -> Answered:
        """What the agent answers now, on the average of its samples."""
        found = np.zeros((own.size, self.board.cells))
        for start in range(0, own.size, MOST_AT_ONCE):
            part = slice(start, start + MOST_AT_ONCE)
            batch = batch_of(self.board, own[part], other[part], ply % 2)
            self.asked += batch.size
            for _ in range(self.samples or 1):
                found[part] += self._answered(batch)
            some = np.unique(np.linspace(0, batch.size - 1, ASKED_AGAIN).astype(np.int64))
            self._kept.append((batch.picked(some), found[part][some]))
        found /= self.samples or 1
        return found

    def _answered(self, batch: Positions) -> Answered:
        """What the agent answers now, in calls that are as large as it takes."""
        found = np.empty((batch.size, self.board.cells))
        self._tell(0)
        for start in range(0, batch.size, self.agent.at_once):
            part = batch.picked(slice(start, start + self.agent.at_once))
            answer = self.agent.ask(part)
            found[start : start + part.size] = (
                np.asarray(answer, np.float64)
                if self.agent.resigns
                else chances_answered(self.board, self.name, part, answer, loses=self._loses)
            )
            self._tell(part.size)
        return found

    def _tell(self, answers: int) -> None:
        """Say how many more answers there are."""
        if not self.agent.own:
            for listener in _listeners:
                listener(answers)

    def ask_again(self) -> None:
        """Ask about up to 100 positions once more, in another order and company, and forget which they were.

        Raises AgentError if an answer differs; with samples answers may.
        """
        kept, self._kept = self._kept, []
        if self.agent.own or self.samples or not kept:
            return
        batch = Positions(*(np.concatenate(arrays) for arrays in zip(*(one for one, _ in kept), strict=True)))
        before = np.concatenate([chances for _, chances in kept])
        some = np.random.default_rng(0).permutation(batch.size)[:ASKED_AGAIN]
        again = batch.picked(some)
        disagreement(self.board, self.name, again, before[some], self._answered(again))


class AgentAdapter(SolvedBoard, Player):
    """An agent at a board, with the truth of that board if it is known."""

    own_ties = True
    """It says itself which of its moves it makes."""

    gives = "chance"
    """It tells how likely its moves are, and no values."""

    def __init__(
        self, agent: Agent, board: Board, *, symmetric: bool = False, loses: bool | None = False, samples: int = 0
    ) -> None:
        """symmetric, loses, samples: as for `Player`."""
        Player.__init__(self, agent, board, symmetric=symmetric, loses=loses, samples=samples)

    def sampled(self, samples: int) -> "AgentAdapter":
        """Return the same agent, asked so often in each position."""
        return AgentAdapter(self.agent, self.board, symmetric=self.symmetric, loses=self._loses, samples=samples)

    @property
    def judged(self) -> JudgedAgent:
        """What a judgement says of it."""
        return JudgedAgent(self.name, self.board, self.symmetric, None if self.agent.own else self.asked)

    @property
    def exact(self) -> bool:
        """Whether its results are exact: its board is enumerated."""
        return self.enumerated

    @functools.cached_property
    def worth(self) -> NDArray[np.float64]:
        """float64[P, 4]: what each outcome is worth to each player: a win 1, a loss -1."""
        worth = np.zeros((2, 4))
        worth[:, [FIRST_WINS, SECOND_WINS]] = [[1.0, -1.0], [-1.0, 1.0]]
        return worth

    def shares(self, position: str | int | Position) -> dict[int, float]:
        """The probability of each cell that it may choose in an unfinished position.  Raises BoardError, AgentError."""
        marks = self.position_asked(position)
        if self.board.outcome(marks) != UNFINISHED:
            raise BoardError(f"position {self.board.format_position(marks)!r} is final: there is nothing to choose")
        own, other = mover_words(batch_at(self.board, marks))
        chances = self.answers(own, other, self.board.cells - marks.count(EMPTY))[0]
        return {cell: float(chances[cell]) for cell in np.flatnonzero(chances).tolist()}

    def candidates(self, position: str | int | Position) -> list[int]:
        """Cells that it may choose; see `shares` for how likely each is."""
        return list(self.shares(position))

    def move_values(self, position: str | int | Position) -> dict[int, float]:
        """The probability of each move: what there is to show of an agent that tells no values."""
        marks, found = self.position(position), self.shares(position)
        return {cell: found.get(cell, 0.0) for cell in self.board.open_cells(marks)}


def judge_exactly(player: AgentAdapter, against: Player, *, called: str = "") -> Evaluation:
    """Exact results of an agent against an opponent, whether it can be beaten, and how.

    against: the opponent; the same player for the agent itself.  called: what the opponent is called if not by its
    name.  The shares are nan in a seat against which the opponent cannot play.  With samples of one of them all is that
    of its answers.
    Raises AgentError, and BoardError for a board that is too large to enumerate.
    """
    board = player.board
    check_enumerable(board, not player.exact, "an exact evaluation")
    rules, alone = LayerRules(board), player is against
    met = [not alone and seat in against.agent.seats for seat in SEATS[::-1]]
    reached = [
        Reached(rules, player.answers, number, against=against.answers if there else None)
        for number, there in enumerate(met)
    ]
    if alone:
        first = second = shares(rules, player.answers, player.answers)
    else:
        first, second = (one.games.shares if there else NO_SHARES for one, there in zip(reached, met, strict=True))
    for one in {id(one): one for one in (player, against)}.values():
        one.ask_again()
    lines = {seat: one.losing_line() for seat, one in zip(SEATS, reached, strict=True)}
    proved = None if player.samples else True  # what it has not answered yet may lose
    return Evaluation(
        against=called or against.name,
        first=first,
        second=second[::-1],
        unbeatable={seat: proved if line is None else False for seat, line in lines.items()},
        losing_line=lines,
        agent=player.judged,
    )


class Choices(NamedTuple):
    """code: int64[n], ascending.  chances: float64[n, cells], the probability of each cell, row by row."""

    code: NDArray[np.int64]
    chances: Answered


def choices_of(agent: AgentAdapter) -> Choices:
    """An agent's choices in both seats.  Raises BoardError on a board too large to enumerate, and AgentError."""
    board = agent.board
    check_enumerable(board, not agent.exact, "a table of an agent's choices")
    code, chances = list[NDArray[np.int64]](), list[Answered]()

    def answers(own: Words, other: Words, ply: int) -> Answered:
        found = agent.answers(own, other, ply)
        code.append(position_codes(*((other, own) if ply % 2 else (own, other)), board.cells))
        chances.append(found)
        return found

    for seat in (0, 1):
        Reached(LayerRules(board, agent.symmetric), answers, seat)
    agent.ask_again()
    codes, first = np.unique(np.concatenate(code), return_index=True)
    return Choices(codes, np.concatenate(chances)[first])


def as_json(agent: AgentAdapter) -> bytes:
    """The table as JSON: board, agent, symmetric, and positions, each with code, position and chances."""
    found = choices_of(agent)
    positions = [
        {"code": code, "position": rows_text(agent.board, agent.board.decode(code)), "chances": row}
        for code, row in zip(found.code.tolist(), found.chances.tolist(), strict=True)
    ]
    whole = {"board": agent.board.name, "agent": agent.name, "symmetric": agent.symmetric, "positions": positions}
    return (json.dumps(whole, indent=1) + "\n").encode()


def as_csv(agent: AgentAdapter) -> bytes:
    """The table as CSV: code, position, and a column for each cell, counted from 0."""
    found, text = choices_of(agent), io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["code", "position", *range(agent.board.cells)])
    for code, row in zip(found.code.tolist(), found.chances.tolist(), strict=True):
        writer.writerow([code, rows_text(agent.board, agent.board.decode(code)), *(f"{one:.17g}" for one in row)])
    return text.getvalue().encode()


EVEN = 1e-5
"""How far equal probabilities may be apart, as a share of them: float32 has seven digits."""


class OpponentPolicy(NamedTuple):
    """What an agent plays on a graph, in the positions that its play lets happen; in others any move.

    policy: its moves if they are equally likely, else how likely each is.
    digest: of these moves or probabilities, for a configuration.
    """

    policy: Policy | Probabilities
    digest: str


def opponent_policy(agent: AgentAdapter, graph: Graph, symmetry: bool) -> OpponentPolicy:
    """An agent as a fixed opponent on the rows of a graph of its board.

    symmetry: whether a row stands for all images of a position; then it is asked about that image alone.
    Raises AgentError.
    """
    chances = edge_chances(agent, graph, symmetry)
    if not are_even(graph, chances):
        return OpponentPolicy(make_chances(graph, chances), table_digest([chances]))
    allowed = chances > 0
    return OpponentPolicy(policy_among(graph, allowed), table_digest([allowed]))


def are_even(graph: Graph, chances: NDArray[np.float64]) -> bool:
    """Whether the moves that may be made in each row are equally likely; chances: float64[E]."""
    likely, row = chances > 0, rows_of_edges(graph)
    share = chances[likely] * np.bincount(row[likely])[row[likely]]
    return bool((np.abs(share - 1) <= EVEN).all())


def edge_chances(agent: AgentAdapter, graph: Graph, symmetry: bool) -> NDArray[np.float64]:
    """float64[E]: the probability of each move of an agent, in positions that its play does not let happen any move.

    symmetry: as for `opponent_policy`.  Raises AgentError.
    """
    rules, cells = LayerRules(agent.board, symmetry), agent.board.cells
    code, cell, chance = list[NDArray[np.int64]](), list[NDArray[np.int64]](), list[NDArray[np.float64]]()

    def answers(own: Words, other: Words, ply: int) -> Answered:
        chances = agent.answers(own, other, ply)
        source, moves = np.nonzero(chances)
        code.append(position_codes(*((other, own) if ply % 2 else (own, other)), cells)[source])
        cell.append(moves)
        chance.append(chances[source, moves])
        return chances

    for seat in (0, 1):
        Reached(rules, answers, seat)
    agent.ask_again()
    return _on_edges(agent, graph, np.concatenate(code), np.concatenate(cell), np.concatenate(chance))


def _on_edges(
    agent: AgentAdapter, graph: Graph, code: NDArray[np.int64], cell: NDArray[np.int64], chance: NDArray[np.float64]
) -> NDArray[np.float64]:
    """float64[E]: the chances of moves given as codes of positions and cells; rows without any make all alike.

    Raises AgentError for an occupied cell.
    """
    n_open = graph.first_edge.size - 1
    row = rows_of_edges(graph)
    order = np.argsort(graph.code[:n_open])
    rows = order[np.searchsorted(graph.code[:n_open], code, sorter=order)]
    edges, wanted = row * MAX_TABLE_CELLS + graph.cell, rows * MAX_TABLE_CELLS + cell
    places = np.searchsorted(edges, wanted).clip(max=edges.size - 1)
    wrong = np.flatnonzero(edges[places] != wanted)
    if wrong.size:
        where = agent.board.format_position(agent.board.decode(int(code[wrong[0]])))
        raise AgentError(
            f"in position {where!r} {agent.name} chose cell {int(cell[wrong[0]])}, which is occupied; an agent that "
            "does so cannot be an opponent or have a page"
        )
    chances = np.zeros(row.size)
    chances[places] = chance
    legal = legal_edges(graph) & (np.bincount(row, chances, n_open) == 0)[row]
    chances[legal] = (1 / np.bincount(row[legal], minlength=n_open).clip(1))[row[legal]]
    return chances
