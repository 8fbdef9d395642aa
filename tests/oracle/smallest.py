"""The naive oracle of smallest certificates: all choices of moves, searched exhaustively.

As in `naive`, nothing is shared with the package but what is compared.
"""

from collections.abc import Callable, Iterable
from functools import cache, reduce

from oracle.boards import VariantBoard
from oracle.naive import DRAW, UNFINISHED, Position, other, ply
from oracle.patterns import Rules

Following = frozenset[Position]
"""Positions that a move needs: the agent is to move again."""


class Choices:
    """All choices of an agent that reach its goal.

    agent: 1 or 2.  wins: it must always win, else not lose.  merged: a position stands for its images.
    harmless: list positions in which no line can beat the agent any more, too.
    most: the most positions of one game that may be listed, or None for any number.
    """

    def __init__(
        self, board: VariantBoard, agent: int, *, wins: bool, merged: bool, harmless: bool, most: int | None = None
    ) -> None:
        self.board, self.agent, self.wins, self.merged, self.harmless = board, agent, wins, merged, harmless
        self.last = board.cells if most is None else agent - 1 + 2 * (most - 1)
        self.good = cache(self._good)
        empty = board.empty
        self.start = self._listed([empty]) if agent == 1 else self.replies(empty)
        self.reachable = self.start is not None and all(self.good(position) for position in self.start)

    def _image(self, position: Position) -> Position:
        return self.board.canonical(position) if self.merged else position

    def _listed(self, positions: Iterable[Position]) -> Following:
        """Return those of the positions, with the agent to move, in which it must know a move."""
        feared = self.agent if self.board.misere else other(self.agent)
        whole = self.wins or self.harmless
        danger = Rules(self.board).can_complete
        return frozenset(self._image(position) for position in positions if whole or danger(position, feared))

    def replies(self, position: Position) -> Following | None:
        """Return what may have to be listed after the opponent's reply, or None if a reply misses the goal."""
        following = [self.board.place(position, cell) for cell in self.board.legal(position)]
        if any(self._misses(after) for after in following):
            return None
        return self._listed(after for after in following if self.board.outcome(after) == UNFINISHED)

    def _misses(self, position: Position) -> bool:
        """Return whether the game is over and the agent has missed its goal."""
        outcome = self.board.outcome(position)
        return outcome == other(self.agent) or (self.wins and outcome == DRAW)

    def _good(self, position: Position) -> list[Following]:
        """Return what each move needs that reaches the goal; images of one position are one move if merged."""
        if ply(position) > self.last:
            return []
        found = []
        for after in sorted({self._image(self.board.place(position, cell)) for cell in self.board.legal(position)}):
            needs = None if self._misses(after) else self.replies(after)
            if needs is not None and all(self.good(need) for need in needs):
                found.append(needs)
        return found

    def fewest(self, weigh: Callable[[Position], int] = lambda position: 1, most: int = 200) -> tuple[int, int]:
        """Return the least total weight of the listed positions, and the number of players that have it.

        Every total is tried from the least possible one.  A search marks the positions to list, chooses a move for the
        first of them, marks what it needs, and gives up only if positions that follow in any case weigh too much.
        """
        assert self.reachable
        order: list[Position] = sorted(self._all(), key=ply)
        place = {position: number for number, position in enumerate(order)}
        weights = [weigh(position) for position in order]

        def marked(positions: Iterable[Position]) -> int:
            return sum(1 << place[position] for position in positions)

        ways = [[marked(needs) for needs in self.good(position)] for position in order]
        certain = [0] * len(order)
        for number in reversed(range(len(order))):
            after = [reduce(int.__or__, (certain[n] for n in members(needs)), 0) for needs in ways[number]]
            certain[number] = 1 << number | reduce(int.__and__, after)

        @cache
        def weight(marks: int) -> int:
            every = reduce(int.__or__, (certain[number] for number in members(marks)), 0)
            return sum(weights[number] for number in members(every))

        @cache
        def players(marks: int, left: int) -> int:
            """Count the ways to go on from marked positions whose total weight is `left`."""
            if weight(marks) > left:
                return 0
            if not marks:
                return int(left == 0)
            number = next(members(marks))
            rest = marks & ~(1 << number)
            return sum(players(rest | needs, left - weights[number]) for needs in ways[number])

        start = marked(self.start)
        return next((total, n) for total in range(weight(start), most) if (n := players(start, total)))

    def _all(self) -> set[Position]:
        found, left = set(self.start), list(self.start)
        while left:
            new = {need for needs in self.good(left.pop()) for need in needs} - found
            found |= new
            left += new
        return found


def members(marks: int) -> Iterable[int]:
    """Yield the numbers of the bits that are set, from the lowest."""
    while marks:
        yield (marks & -marks).bit_length() - 1
        marks &= marks - 1
