"""The naive oracle: rules, exact evaluation and every learner, straight from their definitions.

Nothing here is fast and nothing is shared with the package, so that agreement between the two means
something. A position is a tuple of marks (0 empty, 1 first player, 2 second player), players are called by
their mark, and tables are dicts by code. Floating point operations come in the order in which the definitions
write them, and sums of floats are explicit loops in cell order: the built-in `sum` compensates rounding from
Python 3.12 on.
"""

import math
import random
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any, NamedTuple, TypeVar

Position = tuple[int, ...]
Moves = list[tuple[int, bool]]
"""One game: (cell, exploratory) of every move in order."""
Policy = Callable[[Position], Mapping[int, Any]]
"""Position -> {cell: probability}, probabilities as floats or as exact fractions."""
Rule = Callable[[Position], Iterable[int]]
"""Position -> the cells that an agent could ever pick there."""
Triple = tuple[Any, Any, Any]
"""Chances of (win, draw, loss) of whoever the function names."""

UNFINISHED, FIRST, SECOND, DRAW = 0, 1, 2, 3


# --- rules ---------------------------------------------------------------------------------------------


def ply(position: Position) -> int:
    """Count the moves that led to a position: its marks."""
    return sum(1 for mark in position if mark != 0)


def mover(position: Position) -> int:
    """Return the player to move, 1 or 2: the first player whenever the number of marks is even."""
    return FIRST if ply(position) % 2 == 0 else SECOND


def other(player: int) -> int:
    """Return the opponent of a player."""
    return SECOND if player == FIRST else FIRST


@dataclass(frozen=True)
class Board:
    """A board of `rows` x `columns` on which `k` in a row win; cells are numbered row by row from 0."""

    rows: int = 3
    columns: int = 3
    k: int = 3

    @property
    def cells(self) -> int:
        """The number of cells."""
        return self.rows * self.columns

    @property
    def empty(self) -> Position:
        """The position before the first move."""
        return (0,) * self.cells

    @cached_property
    def lines(self) -> list[tuple[int, ...]]:
        """Every run of `k` cells: right, down and along both diagonals, from every cell where it fits."""
        lines = set()
        for row in range(self.rows):
            for column in range(self.columns):
                for down, right in ((0, 1), (1, 0), (1, 1), (1, -1)):
                    run = [(row + i * down, column + i * right) for i in range(self.k)]
                    if all(0 <= r < self.rows and 0 <= c < self.columns for r, c in run):
                        lines.add(tuple(sorted(r * self.columns + c for r, c in run)))
        return sorted(lines)

    def outcome(self, position: Position) -> int:
        """Return 0 unfinished, 1 first player wins, 2 second player wins, 3 draw."""
        for line in self.lines:
            mark = position[line[0]]
            if mark != 0 and all(position[cell] == mark for cell in line):
                return mark
        return UNFINISHED if 0 in position else DRAW

    def legal(self, position: Position) -> list[int]:
        """Return the empty cells of an unfinished position in cell order; none where the game is over."""
        if self.outcome(position) != UNFINISHED:
            return []
        return [cell for cell in range(self.cells) if self.is_open(position, cell)]

    def is_open(self, position: Position, cell: int) -> bool:
        """Return whether a cell may be marked."""
        return position[cell] == 0

    def place(self, position: Position, cell: int) -> Position:
        """Return the position after the side to move marks a cell that may be marked."""
        assert self.is_open(position, cell), f"cell {cell} of {position} may not be marked"
        return (*position[:cell], mover(position), *position[cell + 1 :])

    def code(self, position: Position) -> int:
        """Return sum(mark[i] * 3**i)."""
        return sum(mark * 3**i for i, mark in enumerate(position))

    def position(self, code: int) -> Position:
        """Return the position of a code: its ternary digits, cell 0 the least significant."""
        return tuple(code // 3**i % 3 for i in range(self.cells))

    def states(self) -> dict[Position, int]:
        """Return every position that can occur with its ply, reached only through unfinished ones."""
        plies = {self.empty: 0}
        level = [self.empty]
        while level:
            following = []
            for position in level:
                for cell in self.legal(position):
                    child = self.place(position, cell)
                    if child not in plies:
                        plies[child] = plies[position] + 1
                        following.append(child)
            level = following
        return plies

    @cached_property
    def symmetries(self) -> list[tuple[int, ...]]:
        """Cell permutations that map the board onto itself: flips, and transposition where it is square."""
        found = set()
        for flip_rows in (False, True):
            for flip_columns in (False, True):
                for transpose in (False, True) if self.rows == self.columns else (False,):
                    image = []
                    for row in range(self.rows):
                        for column in range(self.columns):
                            r, c = (column, row) if transpose else (row, column)
                            r = self.rows - 1 - r if flip_rows else r
                            c = self.columns - 1 - c if flip_columns else c
                            image.append(r * self.columns + c)
                    found.add(tuple(image))
        return sorted(found)

    def canonical(self, position: Position) -> Position:
        """Return the symmetric image of least code."""
        return min((tuple(position[cell] for cell in s) for s in self.symmetries), key=self.code)


# --- exact evaluation ----------------------------------------------------------------------------------


def game_values(board: Board) -> dict[Position, int]:
    """Return what every state is worth with best play: 1 first wins, 0 draw, -1 second wins."""
    memo: dict[Position, int] = {}

    def value(position: Position) -> int:
        if position not in memo:
            result = board.outcome(position)
            if result != UNFINISHED:
                memo[position] = {FIRST: 1, SECOND: -1, DRAW: 0}[result]
            else:
                below = [value(board.place(position, cell)) for cell in board.legal(position)]
                memo[position] = max(below) if mover(position) == FIRST else min(below)
        return memo[position]

    value(board.empty)
    return memo


def result(board: Board, first: Policy, second: Policy, start: Position | None = None) -> Triple:
    """Return the chances of (first wins, draw, second wins) when two stochastic policies meet.

    Exact where the policies give fractions. Whoever picks an occupied cell, or one off the board, loses at once.
    """
    memo: dict[Position, Triple] = {}

    def chances(position: Position) -> Triple:
        if position not in memo:
            ended = board.outcome(position)
            if ended != UNFINISHED:
                memo[position] = _certain(ended)
            else:
                player = mover(position)
                parts = []
                for cell, chance in (first if player == FIRST else second)(position).items():
                    if chance != 0:
                        legal = cell < board.cells and board.is_open(position, cell)
                        below = chances(board.place(position, cell)) if legal else _certain(other(player))
                        parts.append((chance, below))
                memo[position] = _mixture(parts)
        return memo[position]

    return chances(board.empty if start is None else start)


def _certain(outcome: int) -> tuple[int, int, int]:
    """Return (first wins, draw, second wins) of an outcome that is certain."""
    return int(outcome == FIRST), int(outcome == DRAW), int(outcome == SECOND)


def _mixture(parts: list[tuple[Any, Triple]]) -> Triple:
    """Return the mean of triples under chances."""
    win, draw, loss = 0, 0, 0
    for chance, (w, d, s) in parts:
        win, draw, loss = win + chance * w, draw + chance * d, loss + chance * s
    return win, draw, loss


def worst_case(board: Board, rule: Rule, seat: int, start: Position | None = None) -> int:
    """Return the worst that can befall an agent in a seat: 1 win, 0 draw, -1 loss.

    The opponent plays any legal cell, and of the cells that the rule could ever pick the worst one is picked;
    picking an occupied cell loses. An agent whose worst case is not -1 is unbeatable in that seat.
    """
    memo: dict[Position, int] = {}

    def worst(position: Position) -> int:
        if position not in memo:
            ended = board.outcome(position)
            if ended != UNFINISHED:
                memo[position] = 0 if ended == DRAW else 1 if ended == seat else -1
            else:
                picks = rule(position) if mover(position) == seat else board.legal(position)
                below = [worst(board.place(position, c)) if board.is_open(position, c) else -1 for c in picks]
                memo[position] = min(below)
        return memo[position]

    return worst(board.empty if start is None else start)


def best_response(board: Board, policy: Policy, seat: int, start: Position | None = None) -> Triple:
    """Return (win, draw, loss) of the responder in `seat` who maximises win - loss against a policy.

    Among replies of equal win - loss the first in cell order counts, which settles the three parts.
    """
    memo: dict[Position, Triple] = {}

    def chances(position: Position) -> Triple:
        if position not in memo:
            ended = board.outcome(position)
            if ended != UNFINISHED:
                memo[position] = int(ended == seat), int(ended == DRAW), int(ended == other(seat))
            elif mover(position) == seat:
                below = [chances(board.place(position, cell)) for cell in board.legal(position)]
                memo[position] = max(below, key=lambda triple: triple[0] - triple[2])
            else:
                parts = []
                for cell, chance in policy(position).items():
                    if chance != 0:
                        reply = chances(board.place(position, cell)) if board.is_open(position, cell) else (1, 0, 0)
                        parts.append((chance, reply))
                memo[position] = _mixture(parts)
        return memo[position]

    return chances(board.empty if start is None else start)


def uniform(rule: Rule) -> Policy:
    """Return the policy that draws evenly from the cells of a rule, with exact chances."""

    def policy(position: Position) -> dict[int, Fraction]:
        cells = list(rule(position))
        return {cell: Fraction(1, len(cells)) for cell in cells}

    return policy


def optimal_rule(board: Board) -> Rule:
    """Return the rule that could pick every cell that keeps the game value."""
    values = game_values(board)

    def cells(position: Position) -> list[int]:
        return [c for c in board.legal(position) if values[board.place(position, c)] == values[position]]

    return cells


# --- games ---------------------------------------------------------------------------------------------


def parse_game(line: str) -> Moves:
    """Read a game such as `4 7! 1`: cells in the order played, `!` behind an exploratory move."""
    return [(int(word.removesuffix("!")), word.endswith("!")) for word in line.split()]


def format_game(moves: Moves) -> str:
    """Write a game as `parse_game` reads it."""
    return " ".join(f"{cell}!" if exploratory else f"{cell}" for cell, exploratory in moves)


class Step(NamedTuple):
    """One move: position, cell, how it was chosen, and the afterstate (None where the cell was occupied)."""

    position: Position
    cell: int
    exploratory: bool
    after: Position | None


def replay(board: Board, moves: Moves, occupied_loses: bool = False) -> list[Step]:
    """Return the steps of one whole game; it has to end with its last move and not before."""
    steps: list[Step] = []
    position: Position | None = board.empty
    for cell, exploratory in moves:
        assert position is not None and board.outcome(position) == UNFINISHED, f"moves after the end: {moves}"
        assert occupied_loses or board.is_open(position, cell), f"illegal cell {cell}: {moves}"
        after = board.place(position, cell) if board.is_open(position, cell) else None
        steps.append(Step(position, cell, exploratory, after))
        position = after
    assert position is None or board.outcome(position) != UNFINISHED, f"the game is not over: {moves}"
    return steps


@dataclass
class Tally:
    """Counts of a batch that a fold may use: how often each edge was taken, greedily and exploring."""

    board: Board
    greedy: dict[tuple[Position, int], int] = field(default_factory=dict)
    exploring: dict[tuple[Position, int], int] = field(default_factory=dict)
    visits: dict[Position, int] = field(default_factory=dict)

    def add(self, steps: list[Step]) -> None:
        """Count the edges of one game, and the visits that follow from them."""
        self.visits[self.board.empty] = self.visits.get(self.board.empty, 0) + 1
        for step in steps:
            counts = self.exploring if step.exploratory else self.greedy
            counts[step.position, step.cell] = counts.get((step.position, step.cell), 0) + 1
            if step.after is not None:
                self.visits[step.after] = self.visits.get(step.after, 0) + 1

    def deepest_first(self) -> list[Position]:
        """Return every position visited, final ones included, the deepest ply first."""
        return sorted(self.visits, key=lambda position: (-ply(position), self.board.code(position)))

    def edges(self, position: Position, exploring: bool = True) -> list[tuple[int, int]]:
        """Return (cell, times taken) of the edges taken from a position in cell order."""
        found = []
        for cell in range(self.board.cells):
            count = self.greedy.get((position, cell), 0)
            if exploring:
                count += self.exploring.get((position, cell), 0)
            if count > 0:
                found.append((cell, count))
        return found

    def leaving(self, position: Position, exploring: bool = True) -> int:
        """Return how often play left a position."""
        return sum(count for _, count in self.edges(position, exploring))


# --- learners ------------------------------------------------------------------------------------------

Key = TypeVar("Key", bound=Hashable)


class Table(dict[Key, float]):
    """Values by key; a key never written reads as its start value, and `in` tells the two apart."""

    def __init__(self, start: Callable[[Key], float], values: Mapping[Key, float] | None = None) -> None:
        super().__init__(values or {})
        self.start = start

    def __missing__(self, key: Key) -> float:
        return self.start(key)


def fold_weight(alpha: float, n: float) -> float:
    """Return w = 1 - (1 - alpha)**n, and alpha itself for n = 1."""
    if n == 1:
        return alpha
    if alpha == 1:
        return 1.0
    return -math.expm1(n * math.log1p(-alpha))


def weighted_mean(pairs: Sequence[tuple[float, float]]) -> float:
    """Return sum(weight * value) / sum(weight), added up in the order given."""
    total, n = 0.0, 0.0
    for weight, value in pairs:
        total += weight * value
        n += weight
    return total / n


class Learner:
    """Base of all learners: options, the worth of an end, and play."""

    def __init__(self, board: Board, alpha: float, gamma: float, draw_worth: tuple[float, float]) -> None:
        self.board, self.alpha, self.gamma, self.draw_worth = board, alpha, gamma, draw_worth

    def candidates(self, position: Position) -> list[int]:
        """Return the cells that the greedy rule could pick; each is drawn with the same chance."""
        raise NotImplementedError

    def learn(self, moves: Moves) -> None:
        """Learn from one game: the sequential algorithm."""
        raise NotImplementedError

    def fold(self, games: list[Moves]) -> None:
        """Learn from a batch of games, all played with the tables as they stand."""
        raise NotImplementedError

    def worth(self, outcome: int, player: int) -> float:
        """Return what an end counts for a player: win 1, loss 0, draw the player's draw worth."""
        if outcome == DRAW:
            return self.draw_worth[player - 1]
        return 1.0 if outcome == player else 0.0

    def explored(self, position: Position) -> list[int]:
        """Return the cells from which an exploratory move is drawn."""
        return self.board.legal(position)

    def policy(self, position: Position) -> dict[int, Fraction]:
        """Return the chances of the greedy rule: uniform over its candidates."""
        return dict(uniform(self.candidates)(position))

    def replay(self, moves: Moves) -> list[Step]:
        """Return the steps of one game by this learner's rules."""
        return replay(self.board, moves)

    def tally(self, games: list[Moves]) -> Tally:
        """Count the edges of a batch."""
        tally = Tally(self.board)
        for moves in games:
            tally.add(self.replay(moves))
        return tally

    def play(self, rng: random.Random, epsilon: float) -> Moves:
        """Play one game against itself with the tables as they stand."""
        moves: Moves = []
        position = self.board.empty
        while self.board.outcome(position) == UNFINISHED:
            exploratory = rng.random() < epsilon
            cell = rng.choice(self.explored(position) if exploratory else self.candidates(position))
            moves.append((cell, exploratory))
            if not self.board.is_open(position, cell):
                break
            position = self.board.place(position, cell)
        return moves


class TD(Learner):
    """`td`: backward over the visited states, each towards the best of all its children.

    V[s] += alpha * (gamma * best - V[s]) with `best` the highest child's value where the first player moves
    and the lowest where the second does. One table from the first player's view; exploration is not masked.
    """

    def __init__(self, board: Board, alpha: float = 0.5, gamma: float = 1.0, draw: float = 0.0) -> None:
        super().__init__(board, alpha, gamma, (draw, draw))
        self.V: Table[int] = Table(self._start)

    def _start(self, code: int) -> float:
        outcome = self.board.outcome(self.board.position(code))
        return {UNFINISHED: 0.0, FIRST: 1.0, SECOND: -1.0, DRAW: self.draw_worth[0]}[outcome]

    def _children(self, position: Position) -> dict[int, float]:
        return {c: self.V[self.board.code(self.board.place(position, c))] for c in self.board.legal(position)}

    def _best(self, position: Position) -> float:
        values = self._children(position).values()
        return max(values) if mover(position) == FIRST else min(values)

    def candidates(self, position: Position) -> list[int]:
        best = self._best(position)
        return [cell for cell, value in self._children(position).items() if value == best]

    def learn(self, moves: Moves) -> None:
        for step in reversed(self.replay(moves)):
            s = self.board.code(step.position)
            self.V[s] += self.alpha * (self.gamma * self._best(step.position) - self.V[s])

    def fold(self, games: list[Moves]) -> None:
        """All visits of a state share one target, the best child already folded."""
        tally = self.tally(games)
        for position in tally.deepest_first():
            if self.board.outcome(position) == UNFINISHED:
                s = self.board.code(position)
                w = fold_weight(self.alpha, tally.visits[position])
                self.V[s] += w * (self.gamma * self._best(position) - self.V[s])


class AfterstateLearner(Learner):
    """A learner with one table of afterstates per player, each seen from its own side."""

    def __init__(self, board: Board, alpha: float, gamma: float, draw_worth: tuple[float, float]) -> None:
        super().__init__(board, alpha, gamma, draw_worth)
        self.V: dict[int, Table[int]] = {
            FIRST: Table(lambda code: self._start(code, FIRST)),
            SECOND: Table(lambda code: self._start(code, SECOND)),
        }

    def _start(self, code: int, player: int) -> float:
        outcome = self.board.outcome(self.board.position(code))
        return 0.5 if outcome == UNFINISHED else self.worth(outcome, player)

    def _afterstates(self, position: Position) -> dict[int, float]:
        """Return {cell: the mover's value of the afterstate} in cell order."""
        V = self.V[mover(position)]
        return {c: V[self.board.code(self.board.place(position, c))] for c in self.board.legal(position)}

    def _best_cells(self, position: Position) -> list[int]:
        values = self._afterstates(position)
        best = max(values.values())
        return [cell for cell, value in values.items() if value == best]


class SuttonBarto(AfterstateLearner):
    """`sutton-barto`: reversed backup of every position into both tables, own exploration masked.

    V[s_i] += alpha * greedy_i * (gamma * V[s_{i+1}] - V[s_i]), i = T-1 ... 0, with the updated V[s_{i+1}].
    """

    def __init__(
        self,
        board: Board,
        alpha: float = 0.1,
        gamma: float = 1.0,
        draw_worth: tuple[float, float] = (0.5, 0.5),
    ) -> None:
        super().__init__(board, alpha, gamma, draw_worth)

    def candidates(self, position: Position) -> list[int]:
        return self._best_cells(position)

    def learn(self, moves: Moves) -> None:
        for player in (FIRST, SECOND):
            V = self.V[player]
            for step in reversed(self.replay(moves)):
                assert step.after is not None
                s, following = self.board.code(step.position), self.board.code(step.after)
                greedy = 0 if step.exploratory and mover(step.position) == player else 1
                V[s] += self.alpha * greedy * (self.gamma * V[following] - V[s])

    def fold(self, games: list[Moves]) -> None:
        """The target is the mean child over the edges taken, own exploring ones left out."""
        tally = self.tally(games)
        for player in (FIRST, SECOND):
            V = self.V[player]
            for position in tally.deepest_first():
                if self.board.outcome(position) != UNFINISHED:
                    continue
                edges = tally.edges(position, exploring=mover(position) != player)
                if edges:
                    s = self.board.code(position)
                    pairs = [(n, V[self.board.code(self.board.place(position, cell))]) for cell, n in edges]
                    w = fold_weight(self.alpha, sum(n for _, n in edges))
                    V[s] += w * (self.gamma * weighted_mean(pairs) - V[s])


class ValueFeed(AfterstateLearner):
    """`value-feed`: the final reward fed back through own afterstates, discounted at every one.

    V[s] += alpha * (gamma * r - V[s]), then r = V[s]; from the last own afterstate to the first. A position
    never updated is absent from the table: the greedy rule does not see it, and the update takes it for 0.
    """

    def __init__(
        self,
        board: Board,
        alpha: float = 0.3,
        gamma: float = 0.9,
        draw_worth: tuple[float, float] = (0.1, 0.5),
    ) -> None:
        super().__init__(board, alpha, gamma, draw_worth)

    def _start(self, code: int, player: int) -> float:
        return 0.0

    def candidates(self, position: Position) -> list[int]:
        V = self.V[mover(position)]
        seen = {}
        for cell in self.board.legal(position):
            afterstate = self.board.code(self.board.place(position, cell))
            if afterstate in V:
                seen[cell] = V[afterstate]
        if not seen:
            return self.board.legal(position)
        best = max(seen.values())
        return [max(cell for cell, value in seen.items() if value == best)]

    def learn(self, moves: Moves) -> None:
        steps = self.replay(moves)
        final = steps[-1].after
        assert final is not None
        for player in (FIRST, SECOND):
            V = self.V[player]
            r = self.worth(self.board.outcome(final), player)
            for step in reversed(steps):
                if mover(step.position) == player:
                    assert step.after is not None
                    s = self.board.code(step.after)
                    V[s] += self.alpha * (self.gamma * r - V[s])
                    r = V[s]

    def fold(self, games: list[Moves]) -> None:
        """The target of an own afterstate is the mean over the replies, each seen through.

        A reply that ended the game counts its worth, another the mean of the own afterstates that followed it
        anywhere in this batch (already folded); a final own afterstate counts its own worth.
        """
        tally = self.tally(games)
        for position in tally.deepest_first():
            if position == self.board.empty:
                continue
            player = other(mover(position))
            V = self.V[player]
            outcome = self.board.outcome(position)
            if outcome != UNFINISHED:
                mean = self.worth(outcome, player)
            else:
                pairs: list[tuple[float, float]] = []
                for cell, n in tally.edges(position):
                    pairs.append((n, self._through(tally, self.board.place(position, cell), player)))
                mean = weighted_mean(pairs)
            s = self.board.code(position)
            V[s] += fold_weight(self.alpha, tally.visits[position]) * (self.gamma * mean - V[s])

    def _through(self, tally: Tally, reply: Position, player: int) -> float:
        """Return the mean that follows a reply, to the player who has to answer it."""
        outcome = self.board.outcome(reply)
        if outcome != UNFINISHED:
            return self.worth(outcome, player)
        V = self.V[player]
        return weighted_mean([(n, V[self.board.code(self.board.place(reply, cell))]) for cell, n in tally.edges(reply)])


class MinimaxQ(Learner):
    """`minimax-q`: one shared Q from the first player's view, over all cells; an occupied one loses at once.

    Online: Q[s,a] += alpha * (target - Q[s,a]) with target r at the end, else gamma times the extreme of
    Q[s', .] for the side to move in s', as it stood before this game.
    """

    def __init__(
        self,
        board: Board,
        alpha: float = 0.1,
        gamma: float = 0.9,
        draw: float = 0.0,
        start: Mapping[tuple[int, int], float] | None = None,
        seed: int = 0,
    ) -> None:
        super().__init__(board, alpha, gamma, (draw, draw))
        self.seed = seed
        self.Q: Table[tuple[int, int]] = Table(self._start, start)

    def _start(self, key: tuple[int, int]) -> float:
        return random.Random(f"{self.seed} {key}").gauss(0.0, 1.0)

    def _best(self, Q: Table[tuple[int, int]], position: Position) -> float:
        row = [Q[self.board.code(position), cell] for cell in range(self.board.cells)]
        return max(row) if mover(position) == FIRST else min(row)

    def candidates(self, position: Position) -> list[int]:
        best = self._best(self.Q, position)
        s = self.board.code(position)
        return [min(cell for cell in range(self.board.cells) if self.Q[s, cell] == best)]

    def explored(self, position: Position) -> list[int]:
        return list(range(self.board.cells))

    def replay(self, moves: Moves) -> list[Step]:
        return replay(self.board, moves, occupied_loses=True)

    def _target(self, Q: Table[tuple[int, int]], position: Position, cell: int) -> float:
        reward = {FIRST: 1.0, SECOND: -1.0, DRAW: self.draw_worth[0]}
        if not self.board.is_open(position, cell):
            return reward[other(mover(position))]
        after = self.board.place(position, cell)
        outcome = self.board.outcome(after)
        return reward[outcome] if outcome != UNFINISHED else self.gamma * self._best(Q, after)

    def learn(self, moves: Moves) -> None:
        for step in self.replay(moves):
            key = self.board.code(step.position), step.cell
            target = self._target(self.Q, step.position, step.cell)
            self.Q[key] += self.alpha * (target - self.Q[key])

    def fold(self, games: list[Moves]) -> None:
        """All visits of (s, a) share one target, from the values before the batch."""
        tally = self.tally(games)
        before = Table(self._start, self.Q)
        for position in tally.deepest_first():
            for cell, n in tally.edges(position):
                key = self.board.code(position), cell
                target = self._target(before, position, cell)
                self.Q[key] += fold_weight(self.alpha, n) * (target - self.Q[key])


class BackwardQ(Learner):
    """`backward-q`: shared action values, each move pulled to the same player's next move.

    The last move keeps its value, the move before it is set to the final worth, every earlier one goes
    Q[s_t,a_t] += alpha * (gamma * Q[s_{t+2},a_{t+2}] - Q[s_t,a_t]), backwards.
    """

    def __init__(
        self,
        board: Board,
        alpha: float = 0.1,
        gamma: float = 1.0,
        draw_worth: tuple[float, float] = (0.5, 0.5),
        window: float = 0.01,
    ) -> None:
        super().__init__(board, alpha, gamma, draw_worth)
        self.window = window
        self.Q: Table[tuple[int, int]] = Table(self._start)

    def _start(self, key: tuple[int, int]) -> float:
        """A move after which there is a line on the board holds 1, even where the game was already over."""
        position, cell = self.board.position(key[0]), key[1]
        if position[cell] != 0:
            return -1.0
        outcome = self.board.outcome(self.board.place(position, cell))
        if outcome == DRAW:
            return self.draw_worth[mover(position) - 1]
        return 0.5 if outcome == UNFINISHED else 1.0

    def candidates(self, position: Position) -> list[int]:
        s = self.board.code(position)
        best = max(self.Q[s, cell] for cell in self.board.legal(position))
        return [cell for cell in self.board.legal(position) if self.Q[s, cell] > best - self.window]

    def learn(self, moves: Moves) -> None:
        steps = self.replay(moves)
        final = steps[-1].after
        assert final is not None
        keys = [(self.board.code(step.position), step.cell) for step in steps]
        n = len(steps)
        if n >= 2:
            self.Q[keys[n - 2]] = self.worth(self.board.outcome(final), mover(steps[n - 2].position))
        for t in range(n - 3, -1, -1):
            self.Q[keys[t]] += self.alpha * (self.gamma * self.Q[keys[t + 2]] - self.Q[keys[t]])

    def fold(self, games: list[Moves]) -> None:
        """Set where the reply ended the game, pull where play went on, by the shares of the replies seen.

        `p`, `v` and `m` are those of the afterstate, whichever move led there; p = 1 sets, p = 0 is the plain
        fold.
        """
        tally = self.tally(games)
        Q = self.Q
        for position in tally.deepest_first():
            for cell, n in tally.edges(position):
                after = self.board.place(position, cell)
                if self.board.outcome(after) != UNFINISHED:
                    continue
                ends: list[tuple[float, float]] = []
                pulls: list[tuple[float, float]] = []
                for reply, count in tally.edges(after):
                    then = self.board.place(after, reply)
                    outcome = self.board.outcome(then)
                    if outcome != UNFINISHED:
                        ends.append((count, self.worth(outcome, mover(position))))
                    else:
                        s = self.board.code(then)
                        pulls.append((count, weighted_mean([(k, Q[s, b]) for b, k in tally.edges(then)])))
                key = self.board.code(position), cell
                if not pulls:
                    Q[key] = weighted_mean(ends)
                    continue
                m = self.gamma * weighted_mean(pulls)
                if not ends:
                    Q[key] += fold_weight(self.alpha, n) * (m - Q[key])
                    continue
                ended = sum(count for count, _ in ends)
                p = ended / tally.leaving(after)
                v = weighted_mean(ends)
                q = p + self.alpha * (1 - p)
                F = (p * v + self.alpha * (1 - p) * m) / q
                Q[key] += fold_weight(q, n) * (F - Q[key])


class GreedyTD(AfterstateLearner):
    """`greedy-td`: online from own afterstate to own afterstate; only greedy moves teach.

    Before a greedy move to `q`: V[p] += alpha * (gamma * V[q] - V_then[p]), where `p` is the afterstate the
    player left last; at the end both players learn once more, from the worth of the final position.
    """

    def __init__(
        self,
        board: Board,
        alpha: float = 0.99,
        gamma: float = 1.0,
        draw_worth: tuple[float, float] = (0.0, 0.0),
    ) -> None:
        super().__init__(board, alpha, gamma, draw_worth)

    def candidates(self, position: Position) -> list[int]:
        return self._best_cells(position)[:1]

    def learn(self, moves: Moves) -> None:
        steps = self.replay(moves)
        held: dict[int, tuple[int, float]] = {}
        for step in steps:
            assert step.after is not None
            player = mover(step.position)
            V = self.V[player]
            q = self.board.code(step.after)
            if not step.exploratory and player in held:
                p, then = held[player]
                V[p] += self.alpha * (self.gamma * V[q] - then)
            held[player] = q, V[q]
        final = steps[-1].after
        assert final is not None
        for player, (p, then) in held.items():
            if p != self.board.code(final):
                worth = self.worth(self.board.outcome(final), player)
                self.V[player][p] += self.alpha * (self.gamma * worth - then)

    def fold(self, games: list[Moves]) -> None:
        """The replies count with the share of greedy moves that answered them, a reply that ended fully.

        n = sum(count * share) over the replies and the target the mean so weighted, from the values before
        the batch; n may be fractional, and zero n changes nothing.
        """
        tally = self.tally(games)
        before = {player: Table(self.V[player].start, self.V[player]) for player in (FIRST, SECOND)}
        for position in tally.deepest_first():
            if position == self.board.empty or self.board.outcome(position) != UNFINISHED:
                continue
            player = other(mover(position))
            pairs: list[tuple[float, float]] = []
            for cell, count in tally.edges(position):
                reply = self.board.place(position, cell)
                outcome = self.board.outcome(reply)
                if outcome != UNFINISHED:
                    pairs.append((count, self.worth(outcome, player)))
                    continue
                greedy = tally.edges(reply, exploring=False)
                if greedy:
                    share = tally.leaving(reply, exploring=False) / tally.leaving(reply)
                    values = []
                    for answer, k in greedy:
                        values.append((k, before[player][self.board.code(self.board.place(reply, answer))]))
                    pairs.append((count * share, weighted_mean(values)))
            if pairs:
                n = 0.0
                for weight, _ in pairs:
                    n += weight
                V, s = self.V[player], self.board.code(position)
                V[s] += fold_weight(self.alpha, n) * (self.gamma * weighted_mean(pairs) - V[s])


LEARNERS: dict[str, Callable[..., Learner]] = {
    "td": TD,
    "sutton-barto": SuttonBarto,
    "value-feed": ValueFeed,
    "minimax-q": MinimaxQ,
    "backward-q": BackwardQ,
    "greedy-td": GreedyTD,
}
