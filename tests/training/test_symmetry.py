"""A row for all images of a position: values, moves, games and lines on the real board, in all eight images."""

import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers.support import BOTH_SEATS, BY_EPSILON, assert_same_in_parts
from oracle import naive
from oracle.boards import ImageBoard, assert_same, oracle_of, random_games, start_tables

import ttt_batch as ttt
from ttt_batch.core.errors import UsageError
from ttt_batch.games.board import UNFINISHED, Board, Position, parse_board
from ttt_batch.games.enumeration import enumerate_graph
from ttt_batch.learners import LEARNERS

pytestmark = pytest.mark.quick_learners("td")

BOARD = Board()
PLAIN = naive.Board()
OF_VALUES = [name for name in BOTH_SEATS if "q" not in LEARNERS[name].fields]


class Trained(dict[str, ttt.Run]):
    """A run of each learner that a test needs."""

    def __missing__(self, name: str) -> ttt.Run:
        self[name] = ttt.train(3_000, learner=name, batch=500, symmetry="on", seed=2)
        return self[name]


@pytest.fixture(scope="module")
def runs() -> dict[str, ttt.Run]:
    return Trained()


def played_lines(path: Path) -> list[str]:
    return path.read_text().splitlines()


def in_images(board: ImageBoard, lines: list[str], shape: Board) -> list[naive.Moves]:
    """Games as moves of the images, an image of several permutations by the first of the board's."""
    return [board.in_images(naive.parse_game(line), shape.symmetries) for line in lines]


# --- one value for all images ---------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("name", BOTH_SEATS)
def test_all_eight_images_are_valued_and_played_alike(name: str, runs: dict[str, ttt.Run]) -> None:
    """Where a position has symmetries of its own, values of moves may go with any of them."""
    run, rng = runs[name], random.Random(1)
    unfinished = [position for position in PLAIN.states() if PLAIN.outcome(position) == UNFINISHED]
    for position in [PLAIN.empty, (1, 0, 0, 0, 0, 0, 0, 0, 2), *rng.sample(unfinished, 120)]:
        value, values, picks = run.value(position), run.move_values(position), run.candidates(position)
        assert sorted(values) == PLAIN.legal(position)
        images: dict[Position, list[tuple[int, ...]]] = {}
        for symmetry in BOARD.symmetries:
            images.setdefault(tuple(position[cell] for cell in symmetry), []).append(symmetry)
        for image, ways in images.items():
            assert np.array_equal(run.value(image), value, equal_nan=True)
            there, picked = run.move_values(image), run.candidates(image)
            moved = [({s.index(cell): v for cell, v in values.items()}, {s.index(c) for c in picks}) for s in ways]
            alike = [
                mapped.keys() == there.keys()
                and all(np.array_equal(mapped[cell], there[cell], equal_nan=True) for cell in there)
                and chosen == set(picked)
                for mapped, chosen in moved
            ]
            assert any(alike)
            if LEARNERS[name].choice.tie == 0 and name in OF_VALUES:
                assert all(alike), "every symmetry of the board maps the moves"


def test_a_value_leads_to_the_child_it_names(runs: dict[str, ttt.Run]) -> None:
    """On the real board: a move's value is that of the position after it."""
    run, rng = runs["td"], random.Random(2)
    for position in rng.sample([p for p in PLAIN.states() if PLAIN.outcome(p) == UNFINISHED], 300):
        sign = 1 if naive.mover(position) == naive.FIRST else -1
        for cell, value in run.move_values(position).items():
            after = PLAIN.place(position, cell)
            least, _ = BOARD.representative(after)
            there = run.tables.value[run.graph.code.tolist().index(BOARD.encode(least))]
            assert value == sign * there


def test_positions_that_no_game_reaches_are_refused(runs: dict[str, ttt.Run]) -> None:
    with pytest.raises(ttt.BoardError, match="no game reaches it"):
        runs["td"].value((1, 1, 1, 2, 2, 2, 0, 0, 0))
    with pytest.raises(ttt.BoardError, match="final"):
        runs["td"].candidates((1, 1, 1, 2, 2, 0, 0, 0, 0))


# --- verdicts on the real board ---------------------------------------------------------------------------------


@pytest.mark.slow
def test_td_proves_unbeatable_and_is() -> None:
    run = ttt.train(20_000, symmetry="on", batch=1_024)
    assert run.tables.value.size == 765 and run.config.symmetry
    assert run.evaluation().unbeatable == {"first": True, "second": True}
    assert run.evaluation().losing_line == {"first": None, "second": None}
    assert [naive.worst_case(PLAIN, run.candidates, seat) for seat in (1, 2)] == [0, 0]
    assert run.statistics["unbeatable"][-1].all()
    for position, value in list(naive.game_values(PLAIN).items())[::7]:
        assert run.true_value(position) == value


@pytest.mark.slow
@pytest.mark.parametrize("name", BOTH_SEATS)
def test_results_are_those_of_the_real_board(name: str, runs: dict[str, ttt.Run]) -> None:
    run = runs[name]
    agent, anyone = naive.uniform(run.candidates), naive.uniform(PLAIN.legal)
    evaluation = run.evaluation("random")
    assert evaluation.first == pytest.approx([float(x) for x in naive.result(PLAIN, agent, anyone)], abs=1e-12)
    second = [float(x) for x in naive.result(PLAIN, anyone, agent)]
    assert evaluation.second == pytest.approx(second[::-1], abs=1e-12)
    for number, seat in enumerate(("first", "second"), 1):
        assert evaluation.unbeatable[seat] == (naive.worst_case(PLAIN, run.candidates, number) >= 0)


@pytest.mark.parametrize("name", BOTH_SEATS)
def test_losing_lines_are_real_games_that_the_agent_loses(name: str) -> None:
    beaten = 0
    for seed in range(3):
        run = ttt.train(60, learner=name, batch=20, symmetry="on", seed=seed)
        for player, line in enumerate(run.evaluation().losing_line.values(), 1):
            if line is None:
                continue
            beaten += 1
            position: Position = PLAIN.empty
            for number, cell in enumerate(line, 1):
                if naive.mover(position) == player:
                    assert cell in run.candidates(position)
                if position[cell] != 0:
                    assert naive.mover(position) == player and number == len(line), "the agent forfeits"
                    break
                position = PLAIN.place(position, cell)
                assert (PLAIN.outcome(position) == UNFINISHED) == (number < len(line))
            else:
                assert PLAIN.outcome(position) == naive.other(player)
    assert beaten >= 3


# --- games ------------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("batch", [1, 200])
@pytest.mark.parametrize("name", BY_EPSILON)
def test_recorded_games_are_real_and_teach_the_same(name: str, batch: int, tmp_path: Path) -> None:
    """Folded batch by batch by the oracle, whose positions are the images of lowest code."""
    path = tmp_path / "games.txt"
    run = ttt.train(500, learner=name, batch=batch, symmetry="on", epsilon=0.4, seed=4, record=path)
    lines = played_lines(path)
    assert len(lines) == 500
    for line in lines:
        naive.replay(PLAIN, naive.parse_game(line), occupied_loses=LEARNERS[name].occupied)
    assert len({line.split()[0].rstrip("!") for line in lines}) > 3, "cells are those of the real board"
    board = ImageBoard()
    games = in_images(board, lines, run.board)
    oracle = oracle_of(run, board, start_tables(run))
    for start in range(0, 500, batch):
        oracle.fold(games[start : start + batch])
    assert_same(run, oracle)
    if batch == 1:
        given, skipped = ttt.learn_from(lines, learner=name, symmetry="on", epsilon=0.4, seed=4)
        assert not skipped
        assert [table.tobytes() for table in given.tables] == [table.tobytes() for table in run.tables]


@pytest.mark.slow
@pytest.mark.parametrize("name", BOTH_SEATS)
@pytest.mark.parametrize("shape", ["3x3", "2x5x3"])
def test_given_games_teach_what_the_oracle_learns(shape: str, name: str) -> None:
    real = parse_board(shape)
    board = ImageBoard(real.rows, real.cols, real.k)
    lines = random_games(board, 150, name, occupied=LEARNERS[name].occupied)
    run, _ = ttt.learn_from(lines, learner=name, board=shape, symmetry="on", seed=6)
    assert run.config.symmetry and run.graph.code.size == enumerate_graph(real, run.learner.occupied, True).code.size
    oracle = oracle_of(run, board, start_tables(run))
    for moves in in_images(board, lines, real):
        oracle.learn(moves)
    assert_same(run, oracle)


@pytest.mark.parametrize("name", BOTH_SEATS)
def test_images_of_games_teach_the_same(name: str) -> None:
    """Eight images of the same games, one table of values; action values may go to an image of the same move."""
    lines = random_games(PLAIN, 60, name)
    expected = None
    for symmetry in BOARD.symmetries:
        image = [" ".join(f"{symmetry.index(c)}{'!' * e}" for c, e in naive.parse_game(line)) for line in lines]
        run, _ = ttt.learn_from(image, learner=name, symmetry="on", seed=1)
        if name in OF_VALUES:
            expected = expected or run.tables.value.tobytes()
            assert run.tables.value.tobytes() == expected
        assert run.statistics["outcomes"][-1].sum() == 60


def test_occupied_cells_of_a_game_end_it_on_the_real_board() -> None:
    run, _ = ttt.learn_from(["8 8"], learner="minimax-q", symmetry="on")
    fresh = start_tables(run)
    changed = np.flatnonzero(fresh.q != run.tables.q)
    row = run.graph.code.tolist().index(BOARD.encode(BOARD.representative((0,) * 8 + (1,))[0]))
    edges = range(int(run.graph.first_edge[row]), int(run.graph.first_edge[row + 1]))
    assert len(changed) == 2
    (forfeit,) = [edge for edge in changed.tolist() if edge in edges]
    assert run.graph.code[run.graph.child[forfeit]] == -2
    assert run.tables.q[forfeit] == fresh.q[forfeit] + 0.1 * (1.0 - fresh.q[forfeit])


# --- files, and runs that do not go together -----------------------------------------------------------------------


@pytest.mark.sampled(1)
@pytest.mark.parametrize("options", [{"batch": 700}, {"batch": 1}, {"batch": 700, "engine": "flow"}], ids=str)
def test_a_run_in_parts_is_the_run_in_one(options: dict[str, Any], tmp_path: Path) -> None:
    path = tmp_path / "run.h5"
    whole = assert_same_in_parts(path, 3_000, (1_234,), symmetry="on", seed=3, **options)
    loaded = ttt.load(path)
    assert loaded.config.symmetry and loaded.move_values("X.. .O. ...") == whole.move_values("X.. .O. ...")


def test_a_run_with_images_and_one_without_are_different_runs(tmp_path: Path, runs: dict[str, ttt.Run]) -> None:
    off = ttt.train(100, batch=100)
    assert not off.config.symmetry and off.tables.value.size == 5_478
    with pytest.raises(UsageError, match="symmetry"):
        ttt.train(100, start=off, symmetry="on")
    path = tmp_path / "run.h5"
    off.save(path)
    with pytest.raises(UsageError, match="symmetry False, not True"):
        ttt.train(resume=path, more=100, symmetry="on")
    with pytest.raises(UsageError, match="choose on, off or auto"):
        ttt.train(100, symmetry="maybe")


@pytest.mark.slow
@pytest.mark.parametrize("images", [True, False])
def test_a_run_with_images_meets_one_with_or_without(runs: dict[str, ttt.Run], images: bool) -> None:
    one, other = runs["td"], ttt.train(100, batch=100, symmetry="on" if images else "off", seed=2)
    found = one.evaluation(other)
    first, second = naive.uniform(one.candidates), naive.uniform(other.candidates)
    assert found.first == pytest.approx([float(x) for x in naive.result(PLAIN, first, second)], abs=1e-12)
    expected = [float(x) for x in naive.result(PLAIN, second, first)]
    assert found.second == pytest.approx(expected[::-1], abs=1e-12)


def test_boards_without_symmetries_of_their_own_have_none() -> None:
    run = ttt.train(50, board="1x1", symmetry="on", batch=10)
    assert not run.config.symmetry
