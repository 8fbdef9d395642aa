"""The step of `Batch` in NumPy, for the comparisons of `benchmark.py`: as people write it, and tuned.

Both make a move in all games, begin the next game where one has ended, and return planes, mask, rewards and terminated
as `Batch` does with `autoreset="same-step"`.  A wrong action raises before anything changes.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

import ttt_batch as ttt
from ttt_batch.environments.rules import Rules, make_rules

DIRECTIONS = ((0, 1), (1, 0), (1, 1), (1, -1))

Seen = tuple[NDArray[Any], ...]


def cells_of_lines(board: ttt.Board) -> NDArray[np.intp]:
    """intp[lines, k]: the cells of each line."""
    lines = []
    for row, col in np.ndindex(board.rows, board.cols):
        for down, right in DIRECTIONS:
            places = [(row + step * down, col + step * right) for step in range(board.k)]
            if all(0 <= r < board.rows and 0 <= c < board.cols for r, c in places):
                lines.append([r * board.cols + c for r, c in places])
    return np.array(lines)


def rewards_of(won: NDArray[np.bool_], mover: NDArray[np.intp]) -> NDArray[np.float32]:
    """float32[n, 2]: 1 for those who have won, -1 for the others in their games."""
    rewards = np.zeros((won.size, 2), np.float32)
    games = np.flatnonzero(won)
    rewards[games, mover[games]], rewards[games, 1 - mover[games]] = 1, -1
    return rewards


class PlainBoards:
    """As people write it: a byte for each cell, marks by fancy indexing, lines through a table, columns by height.

    Of lines through a table, through slices shifted over each other, cell by cell and as a product of matrices, the
    table is the fastest on all boards that are compared but 6x7x4, where the product takes nine tenths of its time.
    """

    def __init__(self, n: int, board: ttt.Board) -> None:
        self.board, self.lines = board, cells_of_lines(board)
        self.games = np.arange(n)
        # Of the player to move, and of its opponent: [n, 2, cells].  The other array is for the next step.
        self.planes, self.next = np.zeros((2, n, 2, board.cells), np.bool_)
        self.plies, self.heights = np.zeros(n, np.intp), np.zeros((n, board.cols), np.intp)

    def step(self, actions: NDArray[np.int64]) -> Seen:
        """Make a move everywhere: planes, mask, rewards, terminated."""
        board, games = self.board, self.games
        if ((actions < 0) | (actions >= (board.cols if board.gravity else board.cells))).any():
            raise ValueError("an action that is none")
        cells = actions
        if board.gravity:
            heights = self.heights[games, actions]
            if (heights == board.rows).any():
                raise ValueError("an illegal action")
            cells = (board.rows - 1 - heights) * board.cols + actions
            self.heights[games, actions] = heights + 1
        elif self.planes[games, :, cells].any():
            raise ValueError("an illegal action")
        self.planes[games, 0, cells] = True
        won = self.planes[:, 0][:, self.lines].all(axis=2).any(axis=1)
        rewards = rewards_of(won, self.plies & 1)
        self.plies += 1
        over = won | (self.plies == board.cells)
        self.next[:, 0], self.next[:, 1] = self.planes[:, 1], self.planes[:, 0]
        self.planes, self.next = self.next, self.planes
        self.planes[over], self.plies[over], self.heights[over] = False, 0, 0
        mask = self.heights < board.rows if board.gravity else ~(self.planes[:, 0] | self.planes[:, 1])
        return self.planes.view(np.uint8), mask, rewards, over


class TunedBoards:
    """Tuned: a player's cells are bits of one word; shifts and masks find lines, and make bytes of bits."""

    def __init__(self, n: int, board: ttt.Board) -> None:
        self.rules: Rules = make_rules(board)
        word = self.rules.full.dtype
        self.own, self.other = np.zeros((2, n), word)
        self.cells, self.moves = np.arange(self.rules.cells, dtype=word), np.arange(self.rules.actions, dtype=word)

    def step(self, actions: NDArray[np.int64]) -> Seen:
        """Make a move everywhere: planes, mask, rewards, terminated."""
        rules, own, other = self.rules, self.own, self.other
        taken = own | other
        free = rules.full & ~taken & ((taken >> rules.full.dtype.type(rules.below)) | rules.bottom)
        cell = free & (rules.column << actions.astype(own.dtype))
        if not cell.all():
            raise ValueError("an illegal action")
        marked, won = own | cell, np.zeros(own.size, np.bool_)
        for shifts, starts in zip(rules.shifts, rules.starts, strict=True):
            run = marked
            for shift in shifts[shifts != 0]:
                run = run & (run >> shift)
            won |= run & starts != 0
        over = won | (marked | other == rules.full)
        rewards = rewards_of(won, (np.bitwise_count(taken) & 1).astype(np.intp))
        self.own, self.other = np.where(over, 0, other).astype(own.dtype), np.where(over, 0, marked).astype(own.dtype)
        planes = np.stack([self.own, self.other], axis=1)[:, :, None] >> self.cells & own.dtype.type(1)
        mask = (~(self.own | self.other)[:, None] >> self.moves & own.dtype.type(1)).astype(np.bool_)
        return planes.astype(np.uint8), mask, rewards, over
