"""The naive oracle of pattern networks: weights by what is seen, games, errors and folds from the definitions.

As in `naive`, nothing is shared with the package but what is compared.  Floats come in the order of the definitions,
but for the return that mixes those of all lengths, which the package finds step by step: both are rounded to the same
whole numbers.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from oracle.boards import VariantBoard
from oracle.streams import below, drawn, mixed

UNIT = 1 << 20
BOTH, NOBODY = 2, -1
BEST, NOTHING, PLAYED = range(3)
Cells = tuple[int, ...]


def images(cells: Cells, board: VariantBoard) -> list[Cells]:
    """Return where cells lie after turning and mirroring the board, by row and column."""
    rows, columns = board.rows, board.columns
    found = []
    for number in (0, 2) if board.gravity else range(8):
        image = []
        for cell in cells:
            row, column = divmod(cell, columns)
            row = rows - 1 - row if number & 1 else row
            column = columns - 1 - column if number & 2 else column
            row, column = (column, row) if number & 4 else (row, column)
            image.append(row * columns + column)
        if rows == columns or not number & 4:
            found.append(tuple(image))
    return found


def moved(cells: Cells, board: VariantBoard) -> list[Cells]:
    """The same shape wherever it fits."""
    places = [divmod(cell, board.columns) for cell in cells]
    found = []
    for down in range(-board.rows, board.rows):
        for right in range(-board.columns, board.columns):
            new = [(row + down, column + right) for row, column in places]
            if all(0 <= row < board.rows and 0 <= column < board.columns for row, column in new):
                found.append(tuple(row * board.columns + column for row, column in new))
    return found


class NaiveNetwork:
    """Tuples and all their images; what one of them sees is known by the least of the images of what it sees."""

    def __init__(self, board: VariantBoard, tuples: Iterable[Cells], sharing: str, falls: bool = False) -> None:
        """falls: tuples see which cells may be marked next, too."""
        self.board, self.sharing, self.falls = board, sharing, falls
        self.tuples = sorted({tuple(sorted(image)) for cells in tuples for image in self.alike(cells)})
        self._images = [self.alike(cells) for cells in self.tuples]

    def alike(self, cells: Cells) -> list[Cells]:
        if self.sharing == "none":
            return [cells]
        found = images(cells, self.board)
        return [m for one in found for m in moved(one, self.board)] if self.sharing == "translation" else found

    def key(self, number: int, position: Sequence[int]) -> Any:
        """Return the pattern that a tuple sees."""
        seen = [self.seen(position, cell) for cell in self.tuples[number]]
        return min(tuple(sorted(zip(image, seen, strict=True))) for image in self._images[number])

    def seen(self, position: Sequence[int], cell: int) -> int:
        """Return the mark on a cell, or 3 for a cell that may be marked next, if that is seen."""
        return 3 if self.falls and self.board.is_open(tuple(position), cell) else position[cell]

    def keys(self, position: Sequence[int]) -> list[Any]:
        """Return the pattern that each tuple sees."""
        return [self.key(number, position) for number in range(len(self.tuples))]


@dataclass
class Rules:
    """The board's rules as a player of networks needs them."""

    board: VariantBoard

    def completes(self, position: tuple[int, ...], cell: int, mark: int) -> bool:
        return mark in self.board.makers((*position[:cell], mark, *position[cell + 1 :]))

    def can_complete(self, position: tuple[int, ...], mark: int) -> bool:
        """Return whether a player may still get a line with as many marks as it has left to make."""
        free = position.count(0)
        to_move = 1 + (self.board.cells - free) % 2
        left = (free + 1) // 2 if mark == to_move else free // 2
        for line in self.board.lines:
            possible = all(position[cell] in (0, mark) for cell in line)
            if self.board.exact:  # with a mark of its own at either end the line would be longer
                possible = possible and all(self.board._at(position, *end) != mark for end in self._ends(line))
            if possible and sum(position[cell] == 0 for cell in line) <= left:
                return True
        return False

    def _ends(self, line: Cells) -> list[tuple[int, int]]:
        """Row and column of what lies next to a line of at least two cells, on the board or off it."""
        places = [divmod(cell, self.board.columns) for cell in line]
        down, right = (b - a for a, b in zip(*places[:2], strict=True))
        return [(places[0][0] - down, places[0][1] - right), (places[-1][0] + down, places[-1][1] + right)]


def squash(total: int) -> float:
    x = max(-3.0, min(3.0, total / UNIT))
    return x * (27.0 + x * x) / (27.0 + 9.0 * x * x)


class NaiveNet:
    """A network that learns, game by game."""

    def __init__(self, network: NaiveNetwork, aim: Any, key: int) -> None:
        self.network, self.aim, self.key = network, aim, key
        self.rules = Rules(network.board)
        self.weights: dict[Any, int] = defaultdict(int)
        self.coherence: dict[Any, list[int]] = defaultdict(lambda: [0, 0])

    def total(self, position: tuple[int, ...], table: int) -> int:
        return sum(self.weights[table, key] for key in self.network.keys(position))

    def choices(self, position: tuple[int, ...]) -> tuple[list[int], float]:
        """The best moves of the player to move, and what the position is worth to the first player."""
        ply = sum(mark != 0 for mark in position)
        mark, sign = 1 + ply % 2, 1 - 2 * (ply % 2)
        free = [cell for cell in range(len(position)) if self.network.board.is_open(position, cell)]
        making = [cell for cell in free if self.rules.completes(position, cell, mark)]
        if making and not self.network.board.misere:
            return making, float(sign)
        rest = [cell for cell in free if cell not in making]
        if not rest:
            return free, float(-sign)
        if position.count(0) == 1:
            return rest, self.aim.unfilled
        totals = {cell: self.total((*position[:cell], mark, *position[cell + 1 :]), mark - 1) for cell in rest}
        best = max(totals.values(), key=lambda total: sign * total)
        return [cell for cell in rest if totals[cell] == best], squash(best)

    def decided(self, position: tuple[int, ...]) -> float | None:
        """Return the worth of a position whose game ends early, or None."""
        ply, seat, filler = sum(mark != 0 for mark in position), self.aim.seat, self.aim.filler
        if filler != NOBODY:
            return None if self.rules.can_complete(position, 1 + filler) else self.aim.unfilled
        if seat == BOTH:
            return None if any(self.rules.can_complete(position, mark) for mark in (1, 2)) else 0.0
        feared = 1 + seat if self.network.board.misere else 2 - seat
        if self.rules.can_complete(position, feared):
            return None
        return float(self.aim.safe * (1.0 - ply / self.network.board.cells) * (1 if seat == 0 else -1))

    def errors(self, starts: Sequence[Sequence[int]], game: int) -> list[tuple[Any, int]]:
        """(weight, error) for each use of a weight in a game."""
        draws = [drawn(self.key, game, number) for number in range(128)]
        position, begun = (0,) * self.network.board.cells, 0
        if starts and (draws[100] >> 11) * 2.0**-53 < self.aim.share:
            line = starts[below(draws[101], len(starts))]
            begun = below(draws[102], max(1, len(line) - 1))
            for number, cell in enumerate(line[:begun]):
                position = (*position[:cell], 1 + number % 2, *position[cell + 1 :])
        positions, targets, explored, ply = {begun: position}, {}, {}, begun
        while True:
            explored[ply] = False
            if ply > 0 and (worth := self.decided(position)) is not None:
                targets[ply] = worth
                break
            cells, worth = self.choices(position)
            targets[ply] = self.aim.discount * worth
            mark = 1 + ply % 2
            if not self.network.board.misere and self.rules.completes(position, cells[0], mark):
                break
            if (draws[ply] >> 11) * 2.0**-53 < self.aim.epsilon:
                explored[ply] = True
                cells = [cell for cell in range(len(position)) if self.network.board.is_open(position, cell)]
            cell = cells[below(mixed(draws[ply]), len(cells))]
            if self.rules.completes(position, cell, mark) or position.count(0) == 1:
                break
            position = (*position[:cell], mark, *position[cell + 1 :])
            ply += 1
            positions[ply] = position
        if self.aim.teaching == PLAYED:  # no move cuts a return off, and what follows is what was played
            for at in range(begun, ply):
                if explored[at]:
                    targets[at] = self.aim.discount * squash(self.total(positions[at + 1], at % 2))
            explored = dict.fromkeys(explored, False)
        return self.errors_of(positions, targets, explored, begun)

    def errors_of(
        self, positions: dict[int, Any], targets: dict[int, float], explored: dict[int, bool], begun: int
    ) -> list[tuple[Any, int]]:
        """The errors of the positions from ply `begun` to that of the last target."""
        found = []
        for at in range(max(targets), max(begun, 1) - 1, -1):
            if self.aim.teaching == NOTHING and explored[at]:
                continue
            table = (at - 1) % 2
            error = round((self.mixed_return(targets, explored, at) - squash(self.total(positions[at], table))) * UNIT)
            found += [((table, key), error) for key in self.network.keys(positions[at])]
        return found

    def errors_of_given(self, cells: Sequence[int], marked: Sequence[bool]) -> list[tuple[Any, int]]:
        """(weight, error) for each use of a weight in a whole game that was played elsewhere."""
        positions = {0: (0,) * self.network.board.cells}
        for ply, cell in enumerate(cells):
            before = positions[ply]
            positions[ply + 1] = (*before[:cell], 1 + ply % 2, *before[cell + 1 :])
        pieces: list[tuple[int, dict[int, float], dict[int, bool]]] = [(0, {}, {})]
        misere, last = self.network.board.misere, len(cells) - 1
        for ply, (cell, mark) in enumerate(zip(cells, marked, strict=True)):
            _, targets, explored = pieces[-1]
            explored[ply] = False
            if ply > 0 and (worth := self.decided(positions[ply])) is not None:
                targets[ply] = worth
                break
            best, worth = self.choices(positions[ply])
            targets[ply] = self.aim.discount * worth
            if not misere and self.rules.completes(positions[ply], best[0], 1 + ply % 2):
                pieces.append((ply + 1, {}, {}))  # a win, taken or passed up, ends what may be learnt together
            elif mark or (cell not in best and self.aim.teaching == BEST):
                explored[ply] = True
            elif cell not in best:
                after = squash(self.total(positions[ply + 1], ply % 2)) if ply < last else float(2 * (ply % 2) - 1)
                targets[ply] = self.aim.discount * after
            if self.aim.teaching == PLAYED and explored[ply]:
                explored[ply] = False
                if cell not in best and ply < last:
                    targets[ply] = self.aim.discount * squash(self.total(positions[ply + 1], ply % 2))
        return [
            error
            for begun, targets, explored in pieces
            if targets
            for error in self.errors_of(positions, targets, explored, begun)
        ]

    def mixed_return(self, targets: dict[int, float], explored: dict[int, bool], ply: int) -> float:
        """The lambda return: that of n steps counts lambda**(n - 1), as far as no move is exploratory."""
        last, mixed, n = max(targets), 0.0, 0
        trace, discount = self.aim.trace, self.aim.discount
        while True:
            of_n = discount**n * targets[ply + n]
            if ply + n == last or explored[ply + n]:
                return float(mixed + trace**n * of_n)
            mixed += (1 - trace) * trace**n * of_n
            n += 1

    def learn(self, starts: Sequence[Sequence[int]], step: float, games: Iterable[int]) -> None:
        """One batch."""
        self.fold([pair for game in games for pair in self.errors(starts, game)], step)

    def fold(self, found: Iterable[tuple[Any, int]], step: float) -> None:
        """Change the weights by what a batch has found."""
        uses = defaultdict(list)
        for weight, error in found:
            uses[weight].append(error)
        for weight, errors in uses.items():
            absolute = sum(map(abs, errors))
            if absolute == 0:
                continue
            trust = self.coherence[weight]
            trust[0] += sum(errors)
            trust[1] += absolute
            rate = step * abs(float(trust[0])) / float(trust[1])
            change = round(rate * float(sum(errors)) / float(len(errors)))
            self.weights[weight] = max(-(1 << 30), min(1 << 30, self.weights[weight] + change))
