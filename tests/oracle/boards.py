"""The naive oracle beyond plain boards: variants of the rules, positions up to symmetry, and what tables must hold.

As in `naive`, nothing is shared with the package but what is compared.
"""

import random
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

import ttt_batch as ttt
from oracle import naive
from oracle.naive import DRAW, UNFINISHED, Moves, Position
from oracle.streams import drawn
from oracle.textbook import ORACLES
from ttt_batch.compiler.numerics import RULE, stream_key
from ttt_batch.learners.base import Settings
from ttt_batch.runs.options import OWN

DIRECTIONS = ((0, 1), (1, 0), (1, 1), (1, -1))


@dataclass(frozen=True)
class VariantBoard(naive.Board):
    """A board with other rules: who makes a line loses (misere), longer lines do not count (exact), marks fall."""

    misere: bool = False
    exact: bool = False
    gravity: bool = False

    def is_open(self, position: Position, cell: int) -> bool:
        below = cell + self.columns
        return position[cell] == 0 and not (self.gravity and below < self.cells and position[below] == 0)

    @cached_property
    def symmetries(self) -> list[tuple[int, ...]]:
        if not self.gravity:
            return super().symmetries
        rows = [range(row * self.columns, (row + 1) * self.columns) for row in range(self.rows)]
        return [tuple(range(self.cells)), tuple(cell for row in rows for cell in reversed(row))]

    def runs(self, position: Position) -> list[tuple[int, int]]:
        """(mark, length) of every run of equal marks that is as long as it gets, in every direction."""
        found = []
        for row in range(self.rows):
            for column in range(self.columns):
                for down, right in DIRECTIONS:
                    mark = self._at(position, row, column)
                    if mark in (0, None) or self._at(position, row - down, column - right) == mark:
                        continue
                    length = 1
                    while self._at(position, row + length * down, column + length * right) == mark:
                        length += 1
                    found.append((mark, length))
        return found

    def makers(self, position: Position) -> set[int]:
        """The players who have made a line."""
        return {m for m, length in self.runs(position) if length == self.k or (length > self.k and not self.exact)}

    def outcome(self, position: Position) -> int:
        makers = self.makers(position)
        if makers:
            maker = min(makers)
            return naive.other(maker) if self.misere else maker
        return UNFINISHED if 0 in position else DRAW

    def _at(self, position: Position, row: int, column: int) -> int | None:
        inside = 0 <= row < self.rows and 0 <= column < self.columns
        return position[row * self.columns + column] if inside else None


def variant_of(board: ttt.Board) -> VariantBoard:
    """Return the oracle of a board of the package."""
    return VariantBoard(board.rows, board.cols, board.k, **dict.fromkeys(board.rules, True))


@dataclass(frozen=True)
class ImageBoard(VariantBoard):
    """A board whose positions are the images of least code: every move leads to one."""

    def place(self, position: Position, cell: int) -> Position:
        return self.canonical(super().place(position, cell))

    def in_images(self, moves: Moves, symmetries: Iterable[tuple[int, ...]] | None = None) -> Moves:
        """A game of the real board as moves of the images that its positions have.

        symmetries: in the order in which they are tried; an image may be the least by several of them.
        """
        tried = list(symmetries or reversed(self.symmetries))
        marks, found = [0] * self.cells, []
        for number, (cell, exploratory) in enumerate(moves):
            least = self.canonical(tuple(marks))
            image = next(s for s in tried if tuple(marks[c] for c in s) == least)
            found.append((image.index(cell), exploratory))
            if marks[cell] == 0:
                marks[cell] = 1 + number % 2
        return found


def random_games(board: naive.Board, number: int, seed: Any, *, occupied: bool = False) -> list[str]:
    """Lines of games of random moves, some of them marked exploratory; occupied: some games end on an illegal cell."""
    rng, lines = random.Random(str(seed)), []
    for _ in range(number):
        position, moves = board.empty, []
        while cells := board.legal(position):
            taken = [cell for cell in range(board.cells) if not board.is_open(position, cell)]
            if occupied and taken and rng.random() < 0.05:
                moves.append((rng.choice(taken), rng.random() < 0.5))
                break
            moves.append((rng.choice(cells), rng.random() < 0.3))
            position = naive.Board.place(board, position, moves[-1][0])
        lines.append(naive.format_game(moves))
    return lines


def oracle_of(run: ttt.Run, board: naive.Board, start: Any = None) -> Any:
    """The naive learner with the options of a run on `board`; start: its tables at the start, where drawn by chance."""
    return oracle_like(run, run.config.settings, board, int(stream_key(run.config.seed, RULE)), start)


def oracle_like(holder: Any, settings: Settings, board: naive.Board, chance: int, start: Any = None) -> Any:
    """The naive learner with `settings`; holder: has learner, tables and graph; chance: the key of its draws."""
    name, options = holder.learner.name, {"alpha": settings.alpha, "gamma": settings.gamma}
    if holder.learner.zero_sum:
        options["draw"] = settings.draw_worth[0]
    else:
        options["draw_worth"] = settings.draw_worth
    given = {own: getattr(settings, own) for own in OWN if own != "explore"}  # that is no part of a rule
    options |= {own: value for own, value in given.items() if value is not None}
    if name == "minimax-q":
        options["start"] = action_values(holder, start)
    if name == "expected-sarsa":
        options["epsilon"] = settings.epsilon
    if name == "double-q":
        options["coins"] = lambda game: drawn(chance, game, 0) >> 63
    return ORACLES[name](board, **options)


def start_tables(run: ttt.Run) -> Any:
    """Return the tables of a run before its first game."""
    if run.grown is not None:
        return run.grown.fresh()
    return run.learner.start(run.graph, run.worth, np.random.default_rng(run.config.seed % 2**64))


def action_values(run: Any, tables: Any = None) -> dict[tuple[int, int], float]:
    """A run's action values by code and cell."""
    graph = run.graph
    rows = np.arange(graph.first_edge.size - 1).repeat(np.diff(graph.first_edge.astype(np.int64)))
    keys = zip(graph.code[rows].tolist(), graph.cell.tolist(), strict=True)
    return dict(zip(keys, (tables or run.tables).q.tolist(), strict=True))


def position_values(run: Any) -> list[dict[int, float]]:
    """A run's values by code, for each player who has some; those never seen left out."""
    codes = run.graph.code.tolist()
    tables = run.tables.value.reshape(-1, len(codes)).tolist()
    return [
        {code: value for code, value in zip(codes, values, strict=True) if code >= 0 and value == value}
        for values in tables
    ]


def assert_same(run: Any, oracle: Any) -> None:
    """Every entry of a run's tables is that of the oracle to the last bit, and it has all that the oracle wrote."""
    if "q" in run.learner.fields:
        rows = np.atleast_2d(run.tables.q)
        for q, table in zip(rows, oracle.pair if len(rows) > 1 else [oracle.Q], strict=True):
            ours = action_values(run, run.tables._replace(q=q))
            assert set(table) <= ours.keys()
            assert {key: value for key, value in ours.items() if table[key] != value} == {}
        return
    theirs = [oracle.V] if run.learner.zero_sum else [oracle.V[1], oracle.V[2]]
    for ours, table in zip(position_values(run), theirs, strict=True):
        if run.learner.name == "value-feed":
            assert ours == dict(table)
            continue
        assert set(table) <= ours.keys()
        assert {code: value for code, value in ours.items() if table[code] != value} == {}
