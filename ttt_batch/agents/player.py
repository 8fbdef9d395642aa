"""An agent at a board: each answer is checked, remembered while there are few, and some are asked for again.

An agent that draws by chance without telling its probabilities is asked several times instead, and its answers count.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Any, Self

import numpy as np

from ttt_batch.agents.agent import MOST_AT_ONCE, Agent
from ttt_batch.agents.answers import Answered, chances_answered, disagreement
from ttt_batch.agents.layers import LayerRules
from ttt_batch.agents.positions import Positions, Words, batch_of
from ttt_batch.game.board import Board

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
