"""A proof in plain Python, position by position and without symmetry, agrees with the package's.

It shares nothing with the package but the cells that an agent may pick: the rules are those of the naive oracle.
"""

import functools
from collections.abc import Callable

import pytest
from helpers.support import mostly_slow
from oracle.boards import VariantBoard, variant_of
from oracle.naive import UNFINISHED, Position

import ttt_batch as ttt
from ttt_batch.core.text import SEATS
from ttt_batch.runs.network_run import PatternRun

Agent = Callable[[Position], list[int]]
"""All cells that an agent may pick in a position."""


def lost_game(board: VariantBoard, agent: Agent, seat: int, *, must_win: bool) -> list[int] | None:
    """The cells of a game in which the agent misses its goal; None if there is none.

    seat: 0 or 1.  must_win: whether a draw misses the goal, too.
    """
    lines = [frozenset(line) for line in board.lines]
    through = [[line for line in lines if cell in line] for cell in range(board.cells)]
    seen: set[Position] = set()
    games: list[list[int]] = [[]]
    while games:
        game = games.pop()
        marks = frozenset(game[0::2]), frozenset(game[1::2])
        position = tuple(1 if cell in marks[0] else 2 if cell in marks[1] else 0 for cell in range(board.cells))
        if position in seen:
            continue
        seen.add(position)
        player = len(game) % 2
        free = [cell for cell in range(board.cells) if board.is_open(position, cell)]
        for cell in agent(position) if player == seat else free:
            assert cell in free
            filled = any(line <= marks[player] | {cell} for line in through[cell])
            full = len(game) + 1 == board.cells
            if (filled and player != seat) or (full and not filled and must_win):
                return [*game, cell]
            if not filled and not full and (must_win or not _is_closed(lines, marks, player, cell, seat)):
                games.append([*game, cell])
    return None


def _is_closed(
    lines: list[frozenset[int]], marks: tuple[frozenset[int], frozenset[int]], player: int, cell: int, seat: int
) -> bool:
    """Return whether the opponent can fill no line any more after a move."""
    own = marks[seat] | ({cell} if player == seat else frozenset())
    return all(line & own for line in lines)


def mistake(board: VariantBoard, answers: dict[Position, list[int]], seat: int) -> tuple[Position, int]:
    """The fullest position in which some other move than the agent's lets the opponent win at once, and that move.

    Only the next move is looked at: to search all games from a position takes hours where many cells are free.
    """
    for position in sorted(answers, key=lambda position: position.count(0)):
        for cell in board.legal(position):
            after = board.place(position, cell)
            if cell in answers[position] or board.outcome(after) != UNFINISHED:
                continue
            if any(board.outcome(board.place(after, reply)) == 2 - seat for reply in board.legal(after)):
                return position, cell
    raise AssertionError("no move of any position lets the opponent win at once")


def check(run: PatternRun | ttt.Run, seat: int, *, must_win: bool) -> None:
    """Check that the naive proof agrees, and that it refutes the same agent if one deep position is spoilt."""
    board, answers = variant_of(run.board), dict[Position, list[int]]()

    def agent(position: Position) -> list[int]:
        if position not in answers:
            answers[position] = run.candidates(position)
        return answers[position]

    assert lost_game(board, agent, seat, must_win=must_win) is None
    deep, wrong = mistake(board, answers, seat)
    lost = lost_game(board, lambda asked: [wrong] if asked == deep else agent(asked), seat, must_win=must_win)
    played = board.cells - deep.count(0)
    assert played >= board.cells // 2 and lost is not None and lost[played] == wrong
    assert functools.reduce(board.place, lost[:played], board.empty) == deep


QUICK = ["3x3", "4x4x4-gravity", "5x4x4-gravity"]


@pytest.mark.sampled(1)
@pytest.mark.parametrize("board", mostly_slow([*QUICK, "4x4x4", "5x5x4-gravity"], *QUICK))
def test_neither_seat_can_lose(board: str) -> None:
    run = ttt.train(400_000, learner="patterns", board=board, seed=1, stop=_once_proved(), progress=_SEEN.append)
    assert isinstance(run, PatternRun) and run.is_proved
    for seat in (0, 1):
        check(run, seat, must_win=False)


@pytest.mark.slow
def test_both_proofs_refute_networks_that_have_learnt_too_little() -> None:
    agreed = set()
    for games in (100, 1000, 2000, 4000):
        run = ttt.train(games, learner="patterns", board="4x4x4-gravity", prove_every=0, seed=1)
        for seat in (0, 1):
            lost = lost_game(variant_of(run.board), run.candidates, seat, must_win=False)
            assert ttt.prove(run, seat=SEATS[seat]).proved == (lost is None)
            agreed.add(lost is None)
    assert agreed == {False, True}


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
    """Stop a training as soon as its latest proofs have succeeded."""
    _SEEN.clear()

    def stop() -> bool:
        proofs = _SEEN[-1].proofs if _SEEN else {}
        return bool(proofs) and all(proof[0] == "proved" for proof in proofs.values())

    return stop
