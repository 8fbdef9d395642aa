"""An agent at a board: each answer is checked, remembered while there are few, and some are asked for again."""

from types import TracebackType
from typing import Self

import numpy as np

from ttt_batch.agents.agent import Agent
from ttt_batch.agents.answers import Answered, chances_answered, disagreement
from ttt_batch.agents.layers import Rules
from ttt_batch.agents.positions import Batch, Words, batch_of
from ttt_batch.game.board import Board

ASKED_AGAIN = 100
"""Positions that are asked about once more, in another order and company."""

MOST_AT_ONCE = 1 << 20
"""Positions that an agent is asked about in one call at most: 64 MB of arrays on 4x4x4."""

MOST_REMEMBERED = 1 << 18
"""Positions whose answers are kept in case they are asked about once more: 35 MB on 4x4x4."""

MOST_REMEMBERED_CELLS = 32
"""Cells up to which the marks of both players fit into one word, by which answers are found again."""


class Player:
    """An agent at a board, which answers with probabilities.

    symmetric: of the images of a position the agent sees one alone, and its answer holds for all.
    loses: an occupied cell loses instead of being an error; None if a person cannot choose that here.
    """

    def __init__(self, agent: Agent, board: Board, *, symmetric: bool = False, loses: bool | None = False) -> None:
        self.agent, self.board, self.symmetric = agent, board, symmetric
        self._loses, self._rules = agent.loses or loses, Rules(board)
        self._known: dict[int, tuple[Words, Answered]] = {}
        self._kept: list[tuple[Batch, Answered]] = []
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

    def answers(self, own: Words, other: Words, ply: int) -> Answered:
        """float64[n, cells]: the probability of each cell in unfinished positions, all different, after `ply` moves.

        own, other: the marks of the player to move and of its opponent.  Zeros where the agent resigns, if it may.
        Raises AgentError.
        """
        if not self.symmetric:
            return self._recalled(own, other, ply)
        marks = (other, own) if ply % 2 else (own, other)
        first, second, number = self._rules.folded(*marks)
        # Images of one position are one question.
        kept, back = np.unique(np.stack([first, second]), axis=1, return_inverse=True)
        first, second = kept
        chances = self._recalled(*((second, first) if ply % 2 else (first, second)), ply)[back.ravel()]
        placed = np.empty_like(chances)
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

    def _asked(self, own: Words, other: Words, ply: int) -> Answered:
        """What the agent answers now."""
        found = np.empty((own.size, self.board.cells))
        for start in range(0, own.size, MOST_AT_ONCE):
            part = slice(start, start + MOST_AT_ONCE)
            batch = batch_of(self.board, own[part], other[part], ply % 2)
            answer = self.agent.ask(batch)
            chances = (
                np.asarray(answer, np.float64)
                if self.agent.resigns
                else chances_answered(self.board, self.name, batch, answer, loses=self._loses)
            )
            some = np.unique(np.linspace(0, batch.size - 1, ASKED_AGAIN).astype(np.int64))
            self._kept.append((batch.picked(some), chances[some]))
            found[part] = chances
        return found

    def ask_again(self) -> None:
        """Ask about up to 100 positions once more, in another order and company, and forget which they were.

        Raises AgentError if an answer differs.
        """
        kept, self._kept = self._kept, []
        if self.agent.own or not kept:
            return
        batch = Batch(*(np.concatenate(arrays) for arrays in zip(*(one for one, _ in kept), strict=True)))
        before = np.concatenate([chances for _, chances in kept])
        some = np.random.default_rng(0).permutation(batch.size)[:ASKED_AGAIN]
        again = batch.picked(some)
        after = chances_answered(self.board, self.name, again, self.agent.ask(again), loses=self._loses)
        disagreement(self.board, self.name, again, before[some], after)
