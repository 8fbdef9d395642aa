"""The boards of `Batch` as dictionaries, from the definitions alone: an oracle, and the slow way to do it."""

import re
from dataclasses import dataclass, field


@dataclass
class NaiveGame:
    """One environment: a dictionary from (row, column) to player 0 or 1."""

    board: str
    autoreset: str
    forfeits: bool = False
    marks: dict[tuple[int, int], int] = field(default_factory=dict)
    over: bool = False
    cells: list[int] = field(default_factory=list)
    finished: list[int] | None = None

    def __post_init__(self) -> None:
        shape = re.fullmatch(r"(\d+)x(\d+)(?:x(\d+))?(.*)", self.board)
        assert shape is not None
        self.rows, self.cols = int(shape[1]), int(shape[2])
        self.k = int(shape[3] or min(self.rows, self.cols))
        self.misere, self.exact, self.gravity = (word in shape[4] for word in ("misere", "exact", "gravity"))

    @property
    def mover(self) -> int:
        return len(self.marks) % 2

    def landing(self, action: int) -> tuple[int, int] | None:
        """Return where an action goes; None if it is illegal."""
        if self.gravity:
            free = [row for row in range(self.rows) if (row, action) not in self.marks]
            return (max(free), action) if free else None
        cell = divmod(action, self.cols)
        return None if cell in self.marks else cell

    def has_line(self, last: tuple[int, int]) -> bool:
        """Return whether the player who marked `last` has a line through it."""
        player = self.marks[last]
        for down, right in ((0, 1), (1, 0), (1, 1), (1, -1)):
            length = 1
            for sign in (1, -1):
                row, col = last[0] + sign * down, last[1] + sign * right
                while self.marks.get((row, col)) == player:
                    length += 1
                    row, col = row + sign * down, col + sign * right
            if length == self.k or (length > self.k and (not self.exact or self.k == 1)):
                return True
        return False

    def play(self, action: int) -> tuple[float, float]:
        """Make a move; return the rewards.  An illegal one loses if it may be made."""
        cell, mover = self.landing(action), self.mover
        if cell is None:
            assert self.forfeits
            self.over, self.finished = True, None
            return (-1.0, 1.0) if mover == 0 else (1.0, -1.0)
        self.marks[cell] = mover
        self.cells.append(cell[0] * self.cols + cell[1])
        if self.has_line(cell):
            winner = 1 - mover if self.misere else mover
            self.over, self.finished = True, list(self.cells)
            return (1.0, -1.0) if winner == 0 else (-1.0, 1.0)
        if len(self.marks) == self.rows * self.cols:
            self.over, self.finished = True, list(self.cells)
        return 0.0, 0.0

    def reset(self) -> None:
        self.marks, self.cells, self.over = {}, [], False

    def step(self, action: int) -> tuple[tuple[float, float], bool]:
        """A step with the autoreset of the environment: rewards, and whether a game has ended."""
        self.finished = None
        if self.over and self.autoreset == "next-step":
            self.reset()
            return (0.0, 0.0), False
        assert not self.over
        rewards = self.play(action)
        ended = self.over
        if ended and self.autoreset == "same-step":
            self.reset()
        return rewards, ended

    def planes(self) -> list[list[list[int]]]:
        """Marks of the player to move, and of its opponent."""
        return [
            [[int(self.marks.get((row, col)) == player) for col in range(self.cols)] for row in range(self.rows)]
            for player in (self.mover, 1 - self.mover)
        ]

    def mask(self) -> list[bool]:
        actions = range(self.cols if self.gravity else self.rows * self.cols)
        return [not self.over and self.landing(action) is not None for action in actions]

    def code(self) -> int:
        return sum((1 + player) * 3 ** (row * self.cols + col) for (row, col), player in self.marks.items())
