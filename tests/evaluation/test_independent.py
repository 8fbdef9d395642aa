"""A proof in plain Python, position by position and without symmetry, agrees with the package's."""

import random
from collections.abc import Callable

import pytest
from helpers.support import mostly_slow

import ttt_batch as ttt
from ttt_batch.core.text import SEATS
from ttt_batch.games.board import Board
from ttt_batch.runs.network_run import PatternRun

Position = tuple[int, ...]

Agent = Callable[[Position], list[int]]
"""All cells that an agent may pick in a position."""


def lost_game(board: Board, agent: Agent, seat: int, *, must_win: bool) -> list[int] | None:
    """The cells of a game in which the agent misses its goal; None if there is none.

    seat: 0 or 1.  must_win: whether a draw misses the goal, too.
    """
    lines = [frozenset(line) for line in board.lines]
    through = [[line for line in lines if cell in line] for cell in range(board.cells)]
    seen: set[tuple[frozenset[int], frozenset[int]]] = set()
    games: list[list[int]] = [[]]
    while games:
        game = games.pop()
        marks = frozenset(game[0::2]), frozenset(game[1::2])
        if marks in seen:
            continue
        seen.add(marks)
        mover = len(game) % 2
        position = tuple(1 if cell in marks[0] else 2 if cell in marks[1] else 0 for cell in range(board.cells))
        cells = agent(position) if mover == seat else board.open_cells(position)
        for cell in cells:
            filled = any(line <= marks[mover] | {cell} for line in through[cell])
            full = len(game) + 1 == board.cells
            if (filled and mover != seat) or (full and not filled and must_win):
                return [*game, cell]
            if not filled and not full and (must_win or not _is_closed(lines, marks, mover, cell, seat)):
                games.append([*game, cell])
    return None


def _is_closed(
    lines: list[frozenset[int]], marks: tuple[frozenset[int], frozenset[int]], mover: int, cell: int, seat: int
) -> bool:
    """Return whether the opponent can fill no line any more after a move."""
    own = marks[seat] | ({cell} if mover == seat else frozenset())
    return all(line & own for line in lines)


def spoilt(board: Board, agent: Agent, seat: int) -> Agent:
    """An agent that gives one position away, deep in its games: it does not block a line.

    Its opponent moves at random, or to a cell of the line that it has the most marks in.
    """
    chance, position = random.Random(1), (0,) * board.cells
    deepest = min(board.cells // 3, 6)
    for _ in range(100_000):
        free = board.open_cells(position)
        if not free or board.outcome(position):
            position = (0,) * board.cells
            continue
        marks = board.cells - position.count(0)
        mover = marks % 2
        threats = [cell for cell in free if board.outcome(_marked(position, cell, 2 - seat)) == 2 - seat]
        if mover == seat and len(threats) == 1 and len(free) > 1 and marks >= deepest:
            wrong, deep = next(cell for cell in free if cell not in threats), position
            if not board.outcome(board.after(position, wrong)):
                return lambda asked: [wrong] if asked == deep else agent(asked)
        cells = (
            agent(position) if mover == seat else free if chance.random() < 0.5 else _builds(board, position, 2 - seat)
        )
        position = board.after(position, chance.choice(cells or free))
    raise AssertionError("its opponent never threatens to win")


def _builds(board: Board, position: Position, mark: int) -> list[int]:
    """Free cells of the lines that the player of `mark` has the most marks in and can still fill."""
    open_lines = [line for line in board.lines if all(position[cell] in (0, mark) for cell in line)]
    most = max((sum(position[cell] == mark for cell in line) for line in open_lines), default=0)
    best = [line for line in open_lines if sum(position[cell] == mark for cell in line) == most]
    return [cell for line in best for cell in line if board.is_open(position, cell)]


def _marked(position: Position, cell: int, mark: int) -> Position:
    return (*position[:cell], mark, *position[cell + 1 :])


def check(run: PatternRun | ttt.Run, seat: int, *, must_win: bool) -> None:
    """Check that the naive proof agrees, and that it refutes the same agent if one deep position is spoilt."""
    assert lost_game(run.board, run.candidates, seat, must_win=must_win) is None
    lost = lost_game(run.board, spoilt(run.board, run.candidates, seat), seat, must_win=must_win)
    assert lost is not None and len(lost) > min(run.board.cells // 3, 6)


@pytest.mark.parametrize("board", ["3x3", *mostly_slow(["4x4x4", "4x4x4-gravity"])])
@pytest.mark.parametrize("seat", [0, 1])
def test_it_cannot_lose(board: str, seat: int) -> None:
    run = ttt.train(20_000, learner="patterns", board=board, prove_every=2000)
    assert isinstance(run, PatternRun) and run.is_proved
    check(run, seat, must_win=False)


@pytest.mark.parametrize(("board", "seat"), [("3x4x3-gravity", 0), ("3x3-gravity", 1)])
def test_tables_prove_where_marks_fall(board: str, seat: int) -> None:
    run = ttt.train(200_000, board=board, epsilon=0.5, seed=1)
    goals = ("cannot-lose", "always-wins") if run.true_value(0) else ("cannot-lose",)
    for goal in goals:
        assert ttt.prove(run, seat=SEATS[seat], goal=goal).proved
        check(run, seat, must_win=goal == "always-wins")


@pytest.mark.slow
def test_it_always_wins_on_6x5x4() -> None:
    run = ttt.train(100_000, learner="patterns", board="6x5x4", stop=_once_proved(), progress=_SEEN.append)
    assert isinstance(run, PatternRun) and run.is_proved
    check(run, 0, must_win=True)


_SEEN: list[ttt.Progress] = []


def _once_proved() -> Callable[[], bool]:
    """Stop a training as soon as its first proof has succeeded."""
    _SEEN.clear()
    return lambda: bool(_SEEN) and bool(_SEEN[-1].proofs) and _SEEN[-1].proofs["first"][0] == "proved"
