"""Agents to be proved, the same ones in plain Python, and proofs written from the definition."""

import functools
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ttt_batch.compiler.bits import NONE, ONE, lowest_bit, single
from ttt_batch.evaluation.certificates import Certificate, check_holds, load_certificate
from ttt_batch.evaluation.search import copy_for_thread, mark_cell, reset, tied_cells, unmark_cell
from ttt_batch.games.board import DRAW, FIRST_WINS, UNFINISHED, Board, Position

SPOILT_NOWHERE = 2**64 - 1


class Weigher(NamedTuple):
    """An agent that adds up weights of the lines through a cell, by the marks in them.

    through: int64[cells, lines], 1 if the line holds the cell.  weight: int64[k + 2, k + 2], by own and other marks.
    counts: int64[P, lines], scratch.  spoilt: uint64[3], the position (own and other marks) in which it picks other
    cells, and these.  takes: 1 if it takes wins and stops them first.
    """

    through: Any
    weight: Any
    counts: Any
    spoilt: Any
    takes: int


def weigher(board: Board, seed: int, *, takes: bool = True) -> Weigher:
    """An agent with random weights, few of them, so that there are ties."""
    through = np.array([[cell in line for line in board.lines] for cell in range(board.cells)], np.int64)
    weight = np.random.default_rng(seed).integers(0, 4, (board.k + 2, board.k + 2)) ** 3
    spoilt = np.full(3, SPOILT_NOWHERE, np.uint64)
    return Weigher(
        through.reshape(board.cells, -1), weight, np.zeros((2, len(board.lines)), np.int64), spoilt, int(takes)
    )


def spoil(agent: Weigher, position: Position, seat: int, cells: list[int]) -> Weigher:
    """The same agent, but in one position it picks `cells`."""
    sets = [sum(1 << cell for cell, m in enumerate(position) if m == player) for player in (1 + seat, 2 - seat)]
    return agent._replace(spoilt=np.array([*sets, sum(1 << cell for cell in set(cells))], np.uint64))


@reset.register(Weigher)
def _reset(agent: Weigher) -> None:
    agent.counts[:] = 0


@mark_cell.register(Weigher)
def _mark(agent: Weigher, cell: Any, player: Any) -> None:
    for line in range(agent.through.shape[1]):
        agent.counts[player, line] += agent.through[cell, line]


@unmark_cell.register(Weigher)
def _unmark(agent: Weigher, cell: Any, player: Any) -> None:
    for line in range(agent.through.shape[1]):
        agent.counts[player, line] -= agent.through[cell, line]


@tied_cells.register(Weigher)
def _picks(agent: Weigher, lines: Any, own: Any, other: Any, view: Any, ply: Any) -> Any:
    if own == agent.spoilt[0] and other == agent.spoilt[1]:
        return agent.spoilt[2]
    free = (~NONE >> np.uint64(64 - lines.cells)) & ~(own | other)
    if lines.below:
        free &= ~(free >> np.uint64(lines.below))
    if agent.takes == 1 and free & (view.own | view.other) != NONE:
        return free & view.own if free & view.own != NONE else free & view.other
    mover, best, found = ply & 1, np.int64(-1), NONE
    while free != NONE:
        cell = lowest_bit(free)
        free &= free - ONE
        score = np.int64(0)
        for line in range(agent.through.shape[1]):
            if agent.through[cell, line] == 1:
                score += agent.weight[agent.counts[mover, line], agent.counts[1 - mover, line]]
        if score > best:
            best, found = score, NONE
        if score == best:
            found |= single(cell)
    return found


@copy_for_thread.register(Weigher)
def _spare(agent: Weigher) -> Weigher:
    return agent._replace(counts=agent.counts.copy())


def fills_line(board: Board, position: Position, cell: int, who: int) -> bool:
    """Return whether a player (1 or 2) would complete a line with a cell."""
    return bool(board.completed_lines((*position[:cell], who, *position[cell + 1 :])))


def naive_picks(agent: Weigher, board: Board, position: Position) -> list[int]:
    """Return the cells that a Weigher may pick, from its definition."""
    mover = 1 + (board.cells - position.count(0)) % 2
    sets = [sum(1 << cell for cell, m in enumerate(position) if m == player) for player in (mover, 3 - mover)]
    if sets == agent.spoilt[:2].tolist():
        return [cell for cell in range(64) if int(agent.spoilt[2]) >> cell & 1]
    free = board.open_cells(position)
    for who in (mover, 3 - mover) if agent.takes else ():
        if filling := [cell for cell in free if fills_line(board, position, cell, who)]:
            return filling

    def score(cell: int) -> int:
        lines = [[position[other] for other in line] for line in board.lines if cell in line]
        return sum(int(agent.weight[marks.count(mover), marks.count(3 - mover)]) for marks in lines)

    best = max(map(score, free))
    return [cell for cell in free if score(cell) == best]


def can_fill(board: Board, position: Position, player: int) -> bool:
    """Return whether `player` (0 or 1) could still make a line if it alone decided."""
    own = 1 + player
    left = (board.cells + 1 - player) // 2 - position.count(own)
    for line, (_, fence) in zip(board.lines, board.line_masks, strict=True):
        marks = [position[cell] for cell in line]
        longer = fence and any(fence >> cell & 1 and position[cell] == own for cell in range(board.cells))
        if not longer and set(marks) <= {0, own} and marks.count(0) <= left:
            return True
    return False


Policy = Callable[[Position], list[int]]


class Oracle:
    """A proof by plain recursion.  reached: positions in which neither the game nor the question is decided."""

    def __init__(self, policy: Policy, board: Board, seat: int, *, must_win: bool, symmetric: bool) -> None:
        self.policy, self.board, self.seat, self.must_win = policy, board, seat, must_win
        self.symmetric, self.reached = symmetric, set[Position]()
        self.holds = self._holds((0,) * board.cells)

    @functools.cache  # noqa: B019
    def _holds(self, position: Position) -> bool:
        """Return whether the agent reaches its goal from a position, however ties are broken; without any early end."""
        board = self.board
        outcome = board.outcome(position)
        if outcome != UNFINISHED:
            return outcome == FIRST_WINS + self.seat or (outcome == DRAW and not self.must_win)
        filler = self.seat ^ (not self.must_win) ^ board.misere
        if can_fill(board, position, filler):
            self.reached.add(board.representative(position)[0] if self.symmetric else position)
        elif not self.must_win:
            return True
        return all(self._holds(child) for child in self.children(position))

    def children(self, position: Position) -> Iterator[Position]:
        """Return the positions that a move may lead to."""
        mine = (self.board.cells - position.count(0)) % 2 == self.seat
        cells = self.policy(position) if mine else self.board.open_cells(position)
        return (self.board.after(position, cell) for cell in cells)


def assert_lost(oracle: Oracle, game: list[int]) -> None:
    """The agent may come to play these moves, and cannot reach its goal after them."""
    board, position = oracle.board, (0,) * oracle.board.cells
    for ply, cell in enumerate(game):
        assert board.outcome(position) == UNFINISHED and board.is_open(position, cell)
        assert ply % 2 != oracle.seat or cell in oracle.policy(position)
        position = board.after(position, cell)
    outcome = board.outcome(position)
    if outcome == UNFINISHED:
        assert oracle.must_win and not can_fill(board, position, oracle.seat ^ board.misere)
    else:
        assert outcome != FIRST_WINS + oracle.seat and (oracle.must_win or outcome != DRAW)


def read_certificate(path: Path) -> Certificate:
    """Read a certificate and check its form, rules, closure and goal.  Raises CertificateError."""
    check_holds(certificate := load_certificate(path), path)
    return certificate
