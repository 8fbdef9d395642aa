"""Boards as graphs: the known answers of 3x3, and every row, edge and solution against the naive oracle."""

import functools
import itertools
from collections import Counter

import numpy as np
import pytest
from oracle import naive

from ttt_batch.core.errors import BoardError
from ttt_batch.games.board import DRAW, FIRST_WINS, SECOND_WINS, UNFINISHED, Board
from ttt_batch.games.enumeration import GRAPHS, enumerate_graph
from ttt_batch.games.graph import Graph, row_of
from ttt_batch.games.solution import solve

BOARDS = [
    Board(3, 3, 3),
    Board(2, 3, 2),
    Board(3, 3, 2),
    Board(1, 4, 2),
    Board(2, 2, 1),
    Board(3, 1, 3),
    Board(1, 1, 1),
]
FORFEITS = (-1, -2)


@functools.cache
def oracle(board: Board) -> tuple[naive.Board, dict[naive.Position, int]]:
    """The naive board, and its positions with their plies."""
    plain = naive.Board(board.rows, board.cols, board.k)
    return plain, plain.states()


# --- known answers for 3x3 ------------------------------------------------------------------------------


def test_positions_of_3x3() -> None:
    graph = enumerate_graph(Board())
    assert graph.code.size == 5478
    assert Counter(graph.outcome.tolist()) == {UNFINISHED: 4520, FIRST_WINS: 626, SECOND_WINS: 316, DRAW: 16}
    assert np.bincount(graph.ply).tolist() == [1, 9, 72, 252, 756, 1260, 1520, 1140, 390, 78]
    assert graph.child.size == graph.cell.size == graph.first_edge[-1] == 16_167


def test_positions_of_3x3_up_to_symmetry() -> None:
    board, graph = Board(), enumerate_graph(Board())
    assert len(board.symmetries) == 8
    classes, unfinished = set(), set()
    for code, outcome in zip(graph.code.tolist(), graph.outcome.tolist(), strict=True):
        position = board.decode(code)
        least = min(board.encode(tuple(position[cell] for cell in image)) for image in board.symmetries)
        classes.add(least)
        if outcome == UNFINISHED:
            unfinished.add(least)
    assert (len(classes), len(unfinished)) == (765, 627)
    assert classes <= set(graph.code.tolist())


def test_different_games_of_3x3() -> None:
    graph = enumerate_graph(Board())
    ways = [0] * graph.code.size
    ways[0] = 1
    for row in range(graph.first_edge.size - 1):
        for edge in range(graph.first_edge[row], graph.first_edge[row + 1]):
            ways[graph.child[edge]] += ways[row]
    found = {outcome: sum(ways[row] for row in np.flatnonzero(graph.outcome == outcome)) for outcome in (1, 2, 3)}
    assert found == {FIRST_WINS: 131_184, SECOND_WINS: 77_904, DRAW: 46_080}
    assert sum(found.values()) == 255_168


def test_the_solution_of_3x3() -> None:
    graph = enumerate_graph(Board())
    solution = solve(graph)
    assert solution[0] == 0
    unfinished = solution[graph.outcome == UNFINISHED].tolist()
    assert Counter(unfinished) == {1: 2310, 0: 1052, -1: 1158}


def test_3x4_three_in_a_row() -> None:
    """28,275 positions up to symmetry, of which 20,088 are unfinished."""
    board = Board(3, 4, 3)
    graph = enumerate_graph(board)
    powers = 3 ** np.arange(12, dtype=np.int64)
    marks = graph.code[:, None] // powers % 3
    least = np.min([marks[:, list(image)] @ powers for image in board.symmetries], axis=0)
    assert np.unique(least).size == 28_275
    assert np.unique(least[graph.outcome == UNFINISHED]).size == 20_088
    assert solve(graph)[0] == 1


# --- every board against the oracle -----------------------------------------------------------------------


@pytest.mark.parametrize("occupied", [False, True])
@pytest.mark.parametrize("board", BOARDS, ids=lambda board: board.name)
def test_rows_are_all_positions_unfinished_first_in_ply_order_by_code(board: Board, occupied: bool) -> None:
    plain, states = oracle(board)
    expected = sorted(
        (plain.outcome(position) != naive.UNFINISHED, ply, plain.code(position), plain.outcome(position))
        for position, ply in states.items()
    )
    graph = enumerate_graph(board, occupied)
    n_rows = len(expected)
    assert graph.code[:n_rows].tolist() == [code for _, _, code, _ in expected]
    assert graph.ply[:n_rows].tolist() == [ply for _, ply, _, _ in expected]
    assert graph.outcome[:n_rows].tolist() == [outcome for _, _, _, outcome in expected]
    assert graph.first_edge.size - 1 == sum(not final for final, _, _, _ in expected)
    if occupied:
        assert graph.code[n_rows:].tolist() == list(FORFEITS)
        assert graph.outcome[n_rows:].tolist() == [SECOND_WINS, FIRST_WINS]
    else:
        assert graph.code.size == n_rows


@pytest.mark.parametrize("occupied", [False, True])
@pytest.mark.parametrize("board", BOARDS, ids=lambda board: board.name)
def test_edges_are_the_moves_in_cell_order(board: Board, occupied: bool) -> None:
    plain, _ = oracle(board)
    graph = enumerate_graph(board, occupied)
    for row in range(graph.first_edge.size - 1):
        position = plain.position(int(graph.code[row]))
        edges = slice(graph.first_edge[row], graph.first_edge[row + 1])
        cells = range(plain.cells) if occupied else plain.legal(position)
        forfeit = FORFEITS[naive.mover(position) - 1]
        children = [plain.code(plain.place(position, c)) if position[c] == 0 else forfeit for c in cells]
        assert graph.cell[edges].tolist() == list(cells)
        assert graph.code[graph.child[edges]].tolist() == children
        assert graph.legal[row] == len(plain.legal(position))
        assert (graph.child[edges] > row).all()


@pytest.mark.parametrize("occupied", [False, True])
@pytest.mark.parametrize("board", BOARDS, ids=lambda board: board.name)
def test_parents_are_the_rows_with_a_move_into_a_row(board: Board, occupied: bool) -> None:
    graph = enumerate_graph(board, occupied)
    expected: list[list[int]] = [[] for _ in range(graph.code.size)]
    for row in range(graph.first_edge.size - 1):
        for edge in range(graph.first_edge[row], graph.first_edge[row + 1]):
            expected[graph.child[edge]].append(row)
    starts = graph.first_parent.tolist()
    found = [graph.parent[a:b].tolist() for a, b in itertools.pairwise(starts)]
    assert found == expected
    assert found[0] == [] and all(found[1:-2])


@pytest.mark.parametrize("board", BOARDS, ids=lambda board: board.name)
def test_plies_start_where_their_first_row_is(board: Board) -> None:
    graph = enumerate_graph(board, True)
    plies = graph.ply[: graph.first_edge.size - 1].tolist()
    assert graph.ply_start[-1] == len(plies)
    for ply, (start, end) in enumerate(itertools.pairwise(graph.ply_start.tolist())):
        assert plies[start:end] == [ply] * (end - start)


@pytest.mark.parametrize("occupied", [False, True])
@pytest.mark.parametrize("board", BOARDS, ids=lambda board: board.name)
def test_the_solution_is_that_of_the_oracle(board: Board, occupied: bool) -> None:
    plain, _ = oracle(board)
    graph = enumerate_graph(board, occupied)
    solution = solve(graph)
    for position, value in naive.game_values(plain).items():
        assert solution[row_of(graph, plain.code(position))] == value
    if occupied:
        assert solution[-2:].tolist() == [-1, 1]


def test_types_are_those_that_kernels_expect() -> None:
    expected = Graph("int64", "int8", "int8", "uint32", "uint32", "int8", "uint32", "uint32", "uint32", "uint32")
    for occupied in (False, True):
        graph = enumerate_graph(Board(), occupied)
        assert Graph(*(str(array.dtype) for array in graph)) == expected
        assert all(array.flags.c_contiguous and not array.flags.writeable for array in graph)
        assert enumerate_graph(Board(), occupied) is graph


# --- rows of codes ------------------------------------------------------------------------------------------


def test_every_code_finds_its_row() -> None:
    graph = enumerate_graph(Board(), True)
    for row in range(0, graph.code.size - 2, 13):
        assert row_of(graph, int(graph.code[row])) == row


@pytest.mark.parametrize("code", [-1, -2, 2, 3**9 - 1, 3**9, 10**30])
def test_codes_that_no_game_reaches_have_no_row(code: int) -> None:
    for occupied in (False, True):
        with pytest.raises(BoardError, match=f"code {code} cannot occur"):
            row_of(enumerate_graph(Board(), occupied), code)


def test_boards_with_too_many_positions_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ttt_batch.games.enumeration.MAX_ROWS", 1_000)
    GRAPHS.clear()
    with pytest.raises(BoardError, match=r"2x5x3 .*1,000"):
        enumerate_graph(Board(2, 5, 3))
