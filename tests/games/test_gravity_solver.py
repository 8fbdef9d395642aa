"""The solver of boards with gravity: against sweeps over all positions, published values, and its own limits."""

import numpy as np
import pytest

import ttt_batch as ttt
from ttt_batch.compiler.jit import Int64, kernel
from ttt_batch.core.errors import UsageError
from ttt_batch.games import gravity_solver
from ttt_batch.games.board import UNFINISHED, Board, parse_board
from ttt_batch.games.enumeration import enumerate_graph
from ttt_batch.games.gravity_solver import UNKNOWN, ColumnBits, GravitySolver, can_solve, most_by_pairs
from ttt_batch.games.solution import solve_in_plies, solved_result

SMALL = 1 << 12
"""Slots that positions of these boards have to share, so that they replace each other."""

TROMP = [
    *[("4x4", 0), ("4x5", 0), ("4x6", -1), ("5x4", 0), ("5x5", 0), ("6x4", 0)],
    *[("4x7", 0), ("5x6", 0), ("6x5", 0)],
]
"""Rows x columns with four in a row, and the result: https://tromp.github.io/c4/c4.html."""


@pytest.mark.sampled(1)
@pytest.mark.parametrize(
    ("name", "step"),
    [
        *[("3x3-gravity", 1), ("3x4x3-gravity", 5), ("4x3x2-gravity", 1), ("2x5x5-gravity", 1), ("1x9x4-gravity", 1)],
        *[("4x4x4-gravity", 211), ("5x3x4-gravity", 31), ("1x1-gravity", 1), ("9x1x4-gravity", 1)],
    ],
)
def test_positions_have_the_results_and_plies_of_a_sweep(name: str, step: int):
    """Every position, or every one of some; the table is small, and one search's bounds serve the next."""
    board = ttt.parse_board(name)
    graph, solver = enumerate_graph(board), GravitySolver(board, SMALL)
    values = solve_in_plies(graph)
    for row in range(0, graph.code.size, step):
        marks = board.decode(int(graph.code[row]))
        assert solver.solve(marks) == solved_result(int(values[row]), marks.count(0)), board.format_position(marks)


@pytest.mark.parametrize(("name", "step"), [("3x3-gravity", 3), ("4x4x4-gravity", 997)])
def test_moves_that_keep_the_result_have_the_best_result(name: str, step: int):
    board = ttt.parse_board(name)
    graph, solver, seen = enumerate_graph(board), GravitySolver(board, SMALL), set()
    for row in range(0, graph.first_edge.size - 1, step):
        marks = board.decode(int(graph.code[row]))
        moves = solver.moves(marks, limit=1 << 40)
        assert moves is not None
        results = {cell: then.seen_by(graph.ply[row] % 2).result for cell, then in moves.items()}
        best = max(results.values())
        assert solver.keeping(marks) == [cell for cell, result in results.items() if result == best]
        seen.add(best)
    assert seen == {-1, 0, 1}


@kernel
def most(grid: ColumnBits, ply: Int64, own: np.uint64, taken: np.uint64) -> Int64:
    return most_by_pairs(grid, ply, own, taken)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "step"), [("4x4x3-gravity", 13), ("3x5x3-gravity", 29), ("4x4x4-gravity", 97)])
def test_a_plan_of_pairs_bounds_the_score(name: str, step: int):
    """No position scores more than its bound, and both bounds and both parities of free cells occur."""
    board = ttt.parse_board(name)
    graph, solver = enumerate_graph(board), GravitySolver(board, SMALL)
    values, seen = solve_in_plies(graph), set()
    for row in range(0, graph.code.size, step):
        marks = board.decode(int(graph.code[row]))
        if board.outcome(marks) != UNFINISHED:
            continue
        free = marks.count(0)
        own, taken = map(np.uint64, solver._words(marks))
        bound = int(most(solver._grid, board.cells - free, own, taken))
        if bound != UNKNOWN:
            result = solved_result(int(values[row]), free).seen_by((board.cells - free) % 2).result
            assert result <= bound, board.format_position(marks)
            seen.add((bound, free % 2))
    assert seen == {(0, 0), (-1, 0), (-1, 1)}


@pytest.mark.sampled(1)
@pytest.mark.parametrize(("size", "result"), TROMP)
def test_known_boards_have_their_values(size: str, result: int):
    board = ttt.parse_board(f"{size}x4-gravity")
    found = GravitySolver(board).solve((0,) * board.cells)
    assert found is not None and found.result == result


def test_connect_four_in_mid_game_agrees_with_its_moves():
    """A position's result is the best of its moves': each comes from a search of its own."""
    board, rng = ttt.parse_board("connect4"), np.random.default_rng(3)
    solver = GravitySolver(board)
    for _ in range(20):
        marks = (0,) * board.cells
        while board.outcome(marks) == 0 and marks.count(0) > 24:
            marks = board.after(marks, int(rng.choice(board.open_cells(marks))))
        if board.outcome(marks) == 0:
            moves = solver.moves(marks, limit=1 << 40)
            assert moves is not None and set(moves) == set(board.open_cells(marks))
            seen = [then.a_ply_earlier.seen_by(0) for then in moves.values()]
            best = max(seen, key=lambda one: (one.result, -one.result * one.plies))
            assert solver.solve(marks) == (best.result, best.plies)


def test_slices_of_a_search_do_not_show(monkeypatch):
    board = parse_board("5x5x4-gravity")
    found = []
    for size in (gravity_solver.SLICE, 1, 777):
        monkeypatch.setattr(gravity_solver, "SLICE", size)
        solver = GravitySolver(board, 1 << 16)
        results = []
        for moves in ([0, 1, 2, 3], [2, 2, 2, 2, 1], [4, 0, 4, 0, 3, 3, 1, 1]):
            marks = (0,) * board.cells
            for column in moves:
                marks = board.after(marks, max(cell for cell in range(column, 25, 5) if not marks[cell]))
            results.append((solver.solve(marks), solver.entered))
        found.append(results)
    assert found[0] == found[1] == found[2] and found[0][0][1] > 10_000
    solver._stack.paused[:] = 7, -3, 3  # as after an interrupted search
    assert solver.solve(marks) == results[-1][0]


@pytest.mark.parametrize("slots", [0, 128, 1000, -256])
def test_a_table_has_a_power_of_two_of_slots(slots):
    with pytest.raises(UsageError, match="no power of two from 256 on"):
        GravitySolver(parse_board("3x3-gravity"), slots)


def test_an_answer_has_a_limit_and_does_not_depend_on_earlier_ones():
    board = ttt.parse_board("connect4")
    solver, empty = GravitySolver(board), (0,) * board.cells
    assert solver.solve(empty, limit=1000) is None and solver.moves(empty, limit=1000) is None
    assert solver.entered == 1000
    marks = board.decode(0)
    for cell in (38, 31, 24, 17, 10, 3, 35, 28, 21, 14, 36, 41, 34, 29, 39, 40):
        marks = board.after(marks, cell)
    first = solver.moves(marks)
    entered = solver.entered
    assert first is not None and solver.moves(marks) == first and solver.entered == entered
    signs = solver.moves(marks, limit=entered - 1)
    assert signs == {
        cell: (then.result, then.plies if then.result == 0 or then.plies == 0 else None) for cell, then in first.items()
    }
    assert solver.entered == entered - 1
    assert solver.moves(marks, limit=10) is None


@pytest.mark.parametrize(
    ("board", "fits"),
    [
        *[(Board(6, 7, 4, gravity=True), True), (Board(7, 8, 4, gravity=True), True)],
        *[(Board(8, 8, 4, gravity=True), False), (Board(6, 7, 4), False), (Board(4, 4, 4, True, gravity=True), False)],
    ],
)
def test_boards_that_fit_into_a_word(board: Board, fits: bool):
    assert can_solve(board) == fits
