"""Adapter that gives a third-party agent the interface of a run: checked answers, evaluation, opponent.

An agent that draws its moves without returning probabilities is queried several times; the shares of its answers are
its probabilities.

On an enumerated board the evaluation is exact: the agent is queried about each position that its own play can reach,
all positions of a layer in one call.

As the fixed opponent of a training, an agent becomes a policy over the rows of its board.  Before the first game it is
queried about every position that games against it can reach.  So the training has the same bytes on any number of
threads, and a resumed training compares the policy's digest.
"""

import csv
import io
import json
import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from ttt_batch.agents import base
from ttt_batch.agents.layers import LayerRules, Reached, shares
from ttt_batch.core.errors import AgentError, BoardError
from ttt_batch.core.text import SEATS
from ttt_batch.games.board import EMPTY, MAX_TABLE_CELLS, UNFINISHED, Board, Position
from ttt_batch.games.enumeration import check_enumerable
from ttt_batch.games.graph import Graph, rows_of_edges
from ttt_batch.games.notation import rows_text
from ttt_batch.runs.base import SolverAccess
from ttt_batch.runs.evaluation import NO_SHARES, Evaluation, JudgedAgent
from ttt_batch.runs.state import table_digest
from ttt_batch.simulation.action_probabilities import Probabilities, make_chances
from ttt_batch.simulation.policy import Policy, legal_edges, policy_among

ASKED_AGAIN = 100
"""Positions that are queried a second time, in another order and batch."""

MOST_REMEMBERED = 1 << 18
"""Most positions whose answers are cached: 35 MB on 4x4x4."""

MOST_REMEMBERED_CELLS = 32
"""Most cells at which the marks of both players fit into one word, the key of the cache."""

_listeners: list[Callable[[int], None]] = []


@contextmanager
def watched(tell: Callable[[int], None] | None) -> Iterator[None]:
    """Call `tell` with the number of answers of agents so far, from 0, while the block runs."""
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


class AgentAdapter(SolverAccess):
    """Agent at a board with the interface of a run; it answers with probabilities, and the solver serves small boards.

    symmetric: the agent sees one image of each position, and its answer holds for all images.
    loses: an occupied cell loses instead of being an error; None if the user cannot choose that here.
    samples: answers per position, whose shares are its probabilities; 0 for a deterministic agent.
    asked: number of different positions queried so far.
    """

    outside = True
    own_ties = True
    """The agent breaks ties itself."""

    gives = "chance"
    """It returns probabilities of moves, not values."""

    def __init__(
        self, agent: base.Agent, board: Board, *, symmetric: bool = False, loses: bool | None = False, samples: int = 0
    ) -> None:
        self.agent, self.name, self.board, self.symmetric = agent, agent.name, board, symmetric
        self.samples, self.asked = 0 if agent.own else samples, 0
        self._loses, self._rules = agent.loses or loses, LayerRules(board)
        self._known: dict[int, tuple[base.Words, base.Answered]] = {}
        self._kept: list[tuple[base.Positions, base.Answered]] = []
        self._remembers = not agent.own and board.cells <= MOST_REMEMBERED_CELLS

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End the agent's processes."""
        self.agent.close()

    def answers(self, own: base.Words, other: base.Words, ply: int, *, anew: bool = False) -> base.Answered:
        """Return the probability of each cell (float64[n, cells]) in different unfinished positions after `ply` moves.

        own, other: the marks of the player to move and of its opponent.  Zeros where the agent resigns, if it may.
        anew: query each position without the cache; positions may repeat.
        Raises AgentError.
        """
        ask: Callable[[base.Words, base.Words, int], base.Answered] = self._drawn if anew else self._recalled
        if not self.symmetric:
            return ask(own, other, ply)
        marks = (other, own) if ply % 2 else (own, other)
        first, second, number = self._rules.folded(*marks)
        back: Any = slice(None)
        if not anew:  # images of one position are one query
            (first, second), back = np.unique(np.stack([first, second]), axis=1, return_inverse=True)
            back = back.ravel()
        chances: base.Answered = ask(*((second, first) if ply % 2 else (first, second)), ply)[back]
        placed: base.Answered = np.empty_like(chances)
        np.put_along_axis(placed, np.array(self.board.symmetries)[number], chances, axis=1)
        return placed

    def _recalled(self, own: base.Words, other: base.Words, ply: int) -> base.Answered:
        """Return `answers` for the positions as given, from the cache where possible."""
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

    def _drawn(self, own: base.Words, other: base.Words, ply: int) -> base.Answered:
        """Return `answers` for the positions as given, without the cache."""
        self.asked += own.size
        return self.answered(base.batch_of(self.board, own, other, ply % 2))

    def _asked(self, own: base.Words, other: base.Words, ply: int) -> base.Answered:
        """Return new answers of the agent, averaged over its samples."""
        found = np.zeros((own.size, self.board.cells))
        for start in range(0, own.size, base.MOST_AT_ONCE):
            part = slice(start, start + base.MOST_AT_ONCE)
            batch = base.batch_of(self.board, own[part], other[part], ply % 2)
            self.asked += batch.size
            for _ in range(self.samples or 1):
                found[part] += self.answered(batch)
            some = np.unique(np.linspace(0, batch.size - 1, ASKED_AGAIN).astype(np.int64))
            self._kept.append((batch.picked(some), found[part][some]))
        found /= self.samples or 1
        return found

    def answered(self, batch: base.Positions) -> base.Answered:
        """Return new answers of the agent (float64[n, cells]), in calls of its batch size.  Raises AgentError."""
        found = np.empty((batch.size, self.board.cells))
        listeners = [] if self.agent.own else _listeners
        for listener in listeners:
            listener(0)
        for start in range(0, batch.size, self.agent.at_once):
            part = batch.picked(slice(start, start + self.agent.at_once))
            answer = self.agent.ask(part)
            found[start : start + part.size] = (
                np.asarray(answer, np.float64)
                if self.agent.resigns
                else base.chances_answered(self.board, self.name, part, answer, loses=self._loses)
            )
            for listener in listeners:
                listener(part.size)
        return found

    def ask_again(self) -> None:
        """Query up to 100 positions a second time, in another order and batch.

        Raises AgentError if an answer differs, unless the agent is sampled.
        """
        kept, self._kept = self._kept, []
        if self.agent.own or self.samples or not kept:
            return
        batch = base.Positions(*(np.concatenate(arrays) for arrays in zip(*(one for one, _ in kept), strict=True)))
        before = np.concatenate([chances for _, chances in kept])
        some = np.random.default_rng(0).permutation(batch.size)[:ASKED_AGAIN]
        again = batch.picked(some)
        base.disagreement(self.board, self.name, again, before[some], self.answered(again))

    def sampled(self, samples: int) -> Self:
        """Return the same agent with `samples` queries per position."""
        return type(self)(self.agent, self.board, symmetric=self.symmetric, loses=self._loses, samples=samples)

    @property
    def judged(self) -> JudgedAgent:
        """Return what reports say of the agent."""
        return JudgedAgent(self.name, self.board, self.symmetric, None if self.agent.own else self.asked)

    def shares(self, position: str | int | Position) -> dict[int, float]:
        """Return the probability of each cell that it may choose.  Raises BoardError, AgentError."""
        marks = self.position_asked(position)
        if self.board.outcome(marks) != UNFINISHED:
            raise BoardError(f"position {self.board.format_position(marks)!r} is final: there is nothing to choose")
        own, other = base.mover_words(base.batch_at(self.board, marks))
        chances = self.answers(own, other, self.board.cells - marks.count(EMPTY))[0]
        return {cell: float(chances[cell]) for cell in np.flatnonzero(chances).tolist()}

    drawn_shares = shares

    def value(self, _position: str | int | Position) -> float:
        """Return NaN: the agent has no values."""
        return math.nan

    def candidates(self, position: str | int | Position) -> list[int]:
        """Return the cells that it may choose; `shares` has their probabilities."""
        return list(self.shares(position))

    def move_values(self, position: str | int | Position) -> dict[int, float]:
        """Return the probability of each move, which is shown in place of values."""
        marks, found = self.position(position), self.shares(position)
        return {cell: found.get(cell, 0.0) for cell in self.board.open_cells(marks)}


def judge_exactly(player: AgentAdapter, against: AgentAdapter, *, called: str = "") -> Evaluation:
    """Return exact results of an agent against an opponent, and a losing line if it can be beaten.

    against: the opponent; the same player for the agent itself.  called: the opponent's name in results, if another.
    The shares are nan in a seat against which the opponent cannot play.  With a sampled player all results refer to
    its answers.
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
        first, second = (one.shares if there else NO_SHARES for one, there in zip(reached, met, strict=True))
    for one in {id(one): one for one in (player, against)}.values():
        one.ask_again()
    lines = {seat: one.losing_line() for seat, one in zip(SEATS, reached, strict=True)}
    proved = None if player.samples else True  # an answer not drawn yet may lose
    return Evaluation(
        against=called or against.name,
        first=first,
        second=second[::-1],
        unbeatable={seat: proved if line is None else False for seat, line in lines.items()},
        losing_line=lines,
        agent=player.judged,
    )


def choices_of(agent: AgentAdapter, symmetric: bool) -> tuple[NDArray[np.int64], base.Answered]:
    """Return an agent's choices in both seats: codes of positions, ascending, and the probability of each cell.

    They are int64[n] and float64[n, cells].  symmetric: only one image of each position is queried.
    Raises BoardError on a board too large to enumerate, and AgentError.
    """
    board = agent.board
    check_enumerable(board, not agent.exact, "a table of an agent's choices")
    code, chances = list[NDArray[np.int64]](), list[base.Answered]()

    def answers(own: base.Words, other: base.Words, ply: int) -> base.Answered:
        found = agent.answers(own, other, ply)
        code.append(base.position_codes(*((other, own) if ply % 2 else (own, other)), board.cells))
        chances.append(found)
        return found

    for seat in (0, 1):
        Reached(LayerRules(board, symmetric), answers, seat)
    agent.ask_again()
    codes, first = np.unique(np.concatenate(code), return_index=True)
    return codes, np.concatenate(chances)[first]


def _rows_of(agent: AgentAdapter) -> list[tuple[int, str, list[float]]]:
    """Return the code, the rows of marks and the probabilities of each position where the agent may have to move.

    Positions to which it has no answer of its own are left out.
    """
    codes, chances = choices_of(agent, agent.symmetric)
    rows = zip(codes.tolist(), map(agent.board.decode, codes.tolist()), chances.tolist(), strict=True)
    return [(code, rows_text(agent.board, marks), row) for code, marks, row in rows if agent.agent.knows(marks)]


def as_json(agent: AgentAdapter) -> bytes:
    """Return the table as JSON: board, agent, symmetric, and positions, each with code, position and chances."""
    positions = [{"code": code, "position": rows, "chances": row} for code, rows, row in _rows_of(agent)]
    whole = {"board": agent.board.name, "agent": agent.name, "symmetric": agent.symmetric, "positions": positions}
    return (json.dumps(whole, indent=1) + "\n").encode()


def as_csv(agent: AgentAdapter) -> bytes:
    """Return the table as CSV: code, position, and a column for each cell, counted from 0."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["code", "position", *range(agent.board.cells)])
    for code, rows, row in _rows_of(agent):
        writer.writerow([code, rows, *(f"{one:.17g}" for one in row)])
    return text.getvalue().encode()


EVEN = 1e-5
"""Relative tolerance of equal probabilities: float32 has seven digits."""


class OpponentPolicy(NamedTuple):
    """Policy of an agent on a graph; all moves are equally likely in positions that its play cannot reach.

    policy: its moves if they are equally likely, otherwise their probabilities.
    digest: hash of these, for a configuration.
    """

    policy: Policy | Probabilities
    digest: str


def opponent_policy(agent: AgentAdapter, graph: Graph, symmetry: bool) -> OpponentPolicy:
    """Return an agent as a fixed opponent on the rows of a graph of its board.

    symmetry: a row stands for all images of a position, and the agent is queried about that image only.
    Raises AgentError.
    """
    chances = edge_chances(agent, graph, symmetry)
    if not are_even(graph, chances):
        return OpponentPolicy(make_chances(graph, chances), table_digest([chances]))
    allowed = chances > 0
    return OpponentPolicy(policy_among(graph, allowed), table_digest([allowed]))


def are_even(graph: Graph, chances: NDArray[np.float64]) -> bool:
    """Return whether the possible moves of each row are equally likely; chances: float64[E]."""
    likely, row = chances > 0, rows_of_edges(graph)
    share = chances[likely] * np.bincount(row[likely])[row[likely]]
    return bool((np.abs(share - 1) <= EVEN).all())


def edge_chances(agent: AgentAdapter, graph: Graph, symmetry: bool) -> NDArray[np.float64]:
    """Return the probability of each move of an agent (float64[E]); even ones in positions that its play cannot reach.

    symmetry: as for `opponent_policy`.  Raises AgentError.
    """
    codes, found = choices_of(agent, symmetry)
    source, cell = np.nonzero(found)
    code = codes[source]
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
            f"in position {where!r} {agent.name} chose cell {int(cell[wrong[0]])}, which is "
            f"{base.why_not(agent.board)}; an agent that does so cannot be an opponent or have a page"
        )
    chances = np.zeros(row.size)
    chances[places] = found[source, cell]
    legal = legal_edges(graph) & (np.bincount(row, chances, n_open) == 0)[row]
    chances[legal] = (1 / np.bincount(row[legal], minlength=n_open).clip(1))[row[legal]]
    return chances


class AgentProxy:
    """Proxy of another agent, which may change; board and worth of outcomes stay."""

    board: Board
    worth: NDArray[np.float64]
    own_ties: bool

    def __init__(self, agent: "PlayingAgent") -> None:
        self._agent, self.board, self.worth, self.own_ties = agent, agent.board, agent.worth, agent.own_ties

    def __getattr__(self, name: str) -> Any:
        if name == "_agent":  # not set yet, in a copy
            raise AttributeError(name)
        return getattr(self._agent, name)

    def drawn_shares(self, position: Position) -> dict[int, float] | None:
        """Return None: `candidates` has drawn already."""
        return None


PlayingAgent = SolverAccess | AgentProxy
"""Agent that plays and shows its values, such as a run; it may have exact values."""
