"""`menace` from its definition alone (Michie 1963): a dictionary of boxes, each a dictionary of kinds of beads.

As `naive`, of which this is a part.  A position is always the image of least code; a kind of move is the set of cells
that a symmetry of the position turns into each other.  A box is of a position in which the first player has a choice.
"""

from collections.abc import Callable
from functools import cache

from oracle import naive
from oracle import softmax as naive_softmax
from oracle.naive import Position
from oracle.streams import drawn

BOARD = naive.Board()
RESIGNS = 9
"""What stands in the place of a cell."""

Kind = frozenset[int]
Opponent = Callable[[Position], list[int]]


@cache
def kinds(position: Position) -> list[Kind]:
    """The free cells, those together that a symmetry which leaves the position as it is turns into each other."""
    own = [s for s in BOARD.symmetries if tuple(position[cell] for cell in s) == position]
    found: list[Kind] = []
    for cell in BOARD.legal(position):
        kind = frozenset(s[cell] for s in own)
        if kind not in found:
            found.append(kind)
    return found


@cache
def value(position: Position) -> int:
    """The result of best play: 1 if the first player wins, 0, or -1."""
    outcome = BOARD.outcome(position)
    if outcome != naive.UNFINISHED:
        return {naive.FIRST: 1, naive.DRAW: 0, naive.SECOND: -1}[outcome]
    values = [value(BOARD.canonical(BOARD.place(position, cell))) for cell in BOARD.legal(position)]
    return max(values) if naive.mover(position) == naive.FIRST else min(values)


def optimal(position: Position) -> list[int]:
    """The cells that keep the result of best play."""
    after = {cell: value(BOARD.canonical(BOARD.place(position, cell))) for cell in BOARD.legal(position)}
    return [cell for cell, then in after.items() if then == value(position)]


OPPONENTS: dict[str, Opponent] = {"random": BOARD.legal, "optimal": optimal}


class Menace:
    """Boxes with beads: integers as long as it learns game by game."""

    def __init__(
        self, beads: tuple[int, int, int, int] = (4, 3, 2, 1), rewards: tuple[int, int, int] = (3, 1, -1)
    ) -> None:
        self.reward = dict(zip((naive.FIRST, naive.DRAW, naive.SECOND), rewards, strict=True))
        self.boxes: dict[Position, dict[Kind, float]] = {}
        for position, ply in BOARD.states().items():
            if ply % 2 == 0 and len(BOARD.legal(position)) > 1:
                least = BOARD.canonical(position)
                self.boxes[least] = dict.fromkeys(kinds(least), beads[ply // 2])

    def slots(self, position: Position) -> naive_softmax.Slots:
        """The slots of a position by cell: kinds by their beads, their cells evenly; greedy if no kind has more."""
        if position not in self.boxes:
            legal = BOARD.legal(position)
            return [(cell, False, 1 / len(legal)) for cell in legal]
        box = {cell: (kind, beads) for kind, beads in self.boxes[position].items() for cell in kind}
        shares = {cell: box[cell][1] / len(box[cell][0]) for cell in sorted(box)}
        total = 0.0
        for share in shares.values():
            total += share
        if total == 0.0:
            return [(RESIGNS, False, 1.0)]
        most = max(self.boxes[position].values())
        return [(cell, box[cell][1] < most, share / total) for cell, share in shares.items()]

    def play(self, key: int, number: int, opponent: Opponent) -> tuple[list[tuple[Position, int]], int]:
        """Game `number` of the stream of `key`: its moves, each with the position, and its outcome."""
        position, moves = BOARD.empty, list[tuple[Position, int]]()
        while BOARD.outcome(position) == naive.UNFINISHED:
            if naive.mover(position) == naive.FIRST:
                slots = self.slots(position)
            else:
                cells = opponent(position)
                slots = [(cell, False, 1 / len(cells)) for cell in cells]
            cell, _ = naive_softmax.reached_slot(slots, drawn(key, number, len(moves)))
            moves.append((position, cell))
            if cell == RESIGNS:
                return moves, naive.SECOND
            position = BOARD.canonical(BOARD.place(position, cell))
        return moves, BOARD.outcome(position)

    def learn(self, moves: list[tuple[Position, int]], outcome: int) -> None:
        """Return, add or take away the beads drawn."""
        for position, cell in moves:
            for kind in self.boxes.get(position, {}):
                if cell in kind:
                    self.boxes[position][kind] = max(0, self.boxes[position][kind] + self.reward[outcome])

    def fold(self, games: list[tuple[list[tuple[Position, int]], int]]) -> None:
        """Learn from a batch: each kind as often as it was drawn its mean reward, pooled over how games went on."""
        taken: dict[Position, dict[Position | int, int]] = {}
        for moves, outcome in games:
            after = [position for position, _ in moves[1:]]
            for (position, _), child in zip(moves, [*after, -outcome], strict=True):
                counts = taken.setdefault(position, {})
                counts[child] = counts.get(child, 0) + 1

        @cache
        def mean(child: Position | int) -> float:
            if isinstance(child, int):
                return float(self.reward[-child])
            counts = taken[child]
            return sum(n * mean(then) for then, n in counts.items()) / sum(counts.values())

        added: dict[tuple[Position, Kind], float] = {}
        for moves, outcome in games:
            after = [position for position, _ in moves[1:]]
            for (position, cell), child in zip(moves, [*after, -outcome], strict=True):
                for kind in self.boxes.get(position, {}):
                    if cell in kind:
                        added[position, kind] = added.get((position, kind), 0.0) + mean(child)
        for (position, kind), beads in added.items():
            self.boxes[position][kind] = max(0.0, self.boxes[position][kind] + beads)


def drawn_kinds(moves: list[tuple[Position, int]]) -> list[tuple[Position, Kind]]:
    """Moves by their kinds: which of its cells is marked depends on the image, which is not unique."""
    return [
        (position, next((kind for kind in kinds(position) if cell in kind), frozenset())) for position, cell in moves
    ]


def moves_of(line: str) -> tuple[list[tuple[Position, int]], int]:
    """A game's line of text: its moves in the images of least code, and its outcome."""
    position, moves = BOARD.empty, list[tuple[Position, int]]()
    for word in line.split():
        least = BOARD.canonical(position)
        image = next(s for s in BOARD.symmetries if tuple(position[cell] for cell in s) == least)
        if word == "resigns":
            return [*moves, (least, RESIGNS)], naive.SECOND
        cell = int(word.rstrip("!"))
        moves.append((least, image.index(cell)))
        position = BOARD.place(position, cell)
    return moves, BOARD.outcome(position)
