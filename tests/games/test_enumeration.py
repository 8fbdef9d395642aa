"""Boards as graphs, as they are and up to symmetry: known answers, and every row and edge against the oracle."""

import functools
import itertools
from collections import Counter

import numpy as np
import pytest
from oracle import naive
from oracle.boards import VariantBoard, variant_of

from ttt_batch.core.errors import BoardError
from ttt_batch.games.bitboards import EMPTY_SLOT, make_places
from ttt_batch.games.board import DRAW, FIRST_WINS, SECOND_WINS, UNFINISHED, Board, parse_board, positions_of_ply
from ttt_batch.games.enumeration import GRAPHS, _plies, _plies_of_small, enumerate_graph, next_ply
from ttt_batch.games.graph import Graph, row_of
from ttt_batch.games.solution import solve

BOARDS = ["3x3", "2x2x1", "1x1", "1x7x3", "2x4x2", "4x2x3", "3x3-misere", "2x4x3-exact", "3x3x2-misere-exact"]
BOARDS += ["3x1x3", "3x3-gravity", "2x3x2-gravity", "2x4x3-misere-gravity", "3x3x2-exact-gravity"]
FORFEITS = (-1, -2)


@functools.cache
def oracle(name: str) -> tuple[VariantBoard, dict[naive.Position, int]]:
    """The naive board, and its positions with their plies."""
    board = parse_board(name)
    plain = variant_of(board)
    return plain, plain.states()


def image_codes(board: Board, code: np.ndarray) -> np.ndarray:
    """int64[images, S]: the codes of all images of positions."""
    powers = 3 ** np.arange(board.cells, dtype=np.int64)
    marks = (code[:, None] // powers % 3).astype(np.int8)
    return np.array([marks[:, list(image)] @ powers for image in board.symmetries])


def images_of_rows(board: Board, graph: Graph) -> np.ndarray:
    """int64[S]: how many positions each row of a graph up to symmetry stands for; its code is the least of them."""
    sizes = np.empty(graph.code.size, np.int64)
    for start in range(0, graph.code.size, 1 << 18):
        codes = image_codes(board, graph.code[start : start + (1 << 18)])
        assert (codes[0] == graph.code[start : start + (1 << 18)]).all()
        codes.sort(axis=0)
        assert (codes[0] == graph.code[start : start + (1 << 18)]).all(), "the code is the lowest of the images"
        sizes[start : start + (1 << 18)] = 1 + (np.diff(codes, axis=0) != 0).sum(axis=0)
    return sizes


# --- known answers -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "symmetry", "rows", "unfinished", "value"),
    [
        ("3x3", False, 5_478, 4_520, 0),
        ("3x3", True, 765, 627, 0),
        ("3x4x3", True, 28_275, 20_088, 1),
        pytest.param("4x4x4", True, 1_217_977, 1_135_214, 0, marks=pytest.mark.slow),
    ],
)
def test_known_numbers_of_positions(name: str, symmetry: bool, rows: int, unfinished: int, value: int) -> None:
    graph = enumerate_graph(parse_board(name), False, symmetry)
    assert graph.code.size == graph.outcome.size == graph.ply.size == rows
    assert graph.first_edge.size - 1 == unfinished
    assert (graph.outcome[:unfinished] == UNFINISHED).all() and (graph.outcome[unfinished:] != UNFINISHED).all()
    assert solve(graph)[0] == value


def test_four_in_a_row_on_four_rows_where_marks_fall() -> None:
    """The published number of positions (OEIS A212693 counts boards by size), and the value by John Tromp's table."""
    graph = enumerate_graph(parse_board("4x4x4-gravity"))
    assert graph.code.size == 161_029 and solve(graph)[0] == 0


def test_known_numbers_of_3x3() -> None:
    """Positions by their ends, by marks and by results of best play, and the 255,168 different games."""
    graph = enumerate_graph(Board())
    assert graph.child.size == 16_167
    assert Counter(graph.outcome.tolist()) == {UNFINISHED: 4520, FIRST_WINS: 626, SECOND_WINS: 316, DRAW: 16}
    assert np.bincount(graph.ply).tolist() == [1, 9, 72, 252, 756, 1260, 1520, 1140, 390, 78]
    assert Counter(solve(graph)[graph.outcome == UNFINISHED].tolist()) == {1: 2310, 0: 1052, -1: 1158}
    games = [1] + [0] * (graph.code.size - 1)
    for row in range(graph.first_edge.size - 1):
        for edge in range(graph.first_edge[row], graph.first_edge[row + 1]):
            games[graph.child[edge]] += games[row]
    ends = {outcome: sum(games[row] for row in np.flatnonzero(graph.outcome == outcome)) for outcome in (1, 2, 3)}
    assert ends == {FIRST_WINS: 131_184, SECOND_WINS: 77_904, DRAW: 46_080}


@pytest.mark.slow
def test_4x4_three_in_a_row() -> None:
    """6,036,001 positions before symmetry, a first player's win, counted up to symmetry."""
    board = parse_board("4x4x3")
    graph = enumerate_graph(board, False, True)
    assert images_of_rows(board, graph).sum() == 6_036_001
    assert solve(graph)[0] == 1
    assert enumerate_graph(board).code.size == 6_036_001


@pytest.mark.slow
def test_every_class_of_4x4_four_in_a_row_is_named_by_its_lowest_code() -> None:
    board = parse_board("4x4x4")
    graph = enumerate_graph(board, False, True)
    sizes = images_of_rows(board, graph)
    assert np.unique(graph.code).size == graph.code.size and graph.child.size == 6_460_008
    assert sizes.sum() < sum(positions_of_ply(board, ply) for ply in range(17)) and sizes.max() == 8


def test_classes_hold_all_positions() -> None:
    """A class stands for all its images: together they are the positions of the plain board."""
    for name in ("3x3", "3x4x3", "2x5x3"):
        board = parse_board(name)
        plain, classes = enumerate_graph(board), enumerate_graph(board, False, True)
        sizes = images_of_rows(board, classes)
        assert sizes.sum() == plain.code.size
        for outcome in (UNFINISHED, FIRST_WINS, SECOND_WINS, DRAW):
            assert sizes[classes.outcome == outcome].sum() == (plain.outcome == outcome).sum()
        assert np.bincount(classes.ply, sizes).tolist() == np.bincount(plain.ply).tolist()
        assert np.isin(classes.code, plain.code).all()


def test_values_do_not_depend_on_symmetry() -> None:
    for name in ("3x3", "3x4x3", "2x5x3-misere"):
        board = parse_board(name)
        plain, classes = enumerate_graph(board), enumerate_graph(board, False, True)
        least = image_codes(board, plain.code).min(axis=0)
        by_code = np.argsort(classes.code)
        rows = by_code[np.searchsorted(classes.code, least, sorter=by_code)]
        assert (classes.code[rows] == least).all()
        assert (solve(classes)[rows] == solve(plain)).all()


# --- the two ways to enumerate ----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", BOARDS)
def test_the_kernel_finds_what_is_found_without(name: str) -> None:
    board = parse_board(name)
    with_kernel, without = list(_plies(board, False, None)), list(_plies_of_small(board))
    assert len(with_kernel) == len(without)
    for ours, theirs in zip(with_kernel, without, strict=True):
        for one, other in zip(ours, theirs, strict=True):
            assert one.dtype == other.dtype
            np.testing.assert_array_equal(one, other)


def test_too_little_space_for_a_ply_is_reported() -> None:
    places, images = make_places(Board(), False), np.zeros(1, np.int64)
    parents, cells, targets = np.zeros(1, np.int64), np.zeros(9, np.int8), np.zeros(9, np.int32)
    for space, found in ((8, -1), (9, 9)):
        code, outcome, slots = np.zeros(space, np.int64), np.zeros(space, np.int8), np.full(32, EMPTY_SLOT, np.int32)
        assert (
            next_ply(
                places, parents, 0, slots, code, outcome, cells, targets, np.zeros(parents.size, np.uint32), images
            )
            == found
        )
    assert sorted(code.tolist()) == [3**cell for cell in range(9)]


# --- every row and edge against the oracle ------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("occupied", [False, True])
@pytest.mark.parametrize("symmetry", [False, True])
@pytest.mark.parametrize("name", BOARDS)
def test_rows_are_the_positions_and_edges_the_moves(name: str, symmetry: bool, occupied: bool) -> None:
    plain, states = oracle(name)
    board = parse_board(name)
    graph = enumerate_graph(board, occupied, symmetry)

    def row_code(position: naive.Position) -> int:
        return plain.code(plain.canonical(position) if symmetry else position)

    expected = sorted(
        {
            (plain.outcome(position) != naive.UNFINISHED, ply, row_code(position), plain.outcome(position))
            for position, ply in states.items()
        }
    )
    n_rows = len(expected)
    assert graph.code[:n_rows].tolist() == [code for _, _, code, _ in expected]
    assert graph.ply[:n_rows].tolist() == [ply for _, ply, _, _ in expected]
    assert graph.outcome[:n_rows].tolist() == [outcome for _, _, _, outcome in expected]
    assert graph.first_edge.size - 1 == sum(not final for final, _, _, _ in expected)
    assert graph.code[n_rows:].tolist() == (list(FORFEITS) if occupied else [])
    assert graph.outcome[n_rows:].tolist() == ([SECOND_WINS, FIRST_WINS] if occupied else [])
    for row in range(graph.first_edge.size - 1):
        position = plain.position(int(graph.code[row]))
        edges = slice(graph.first_edge[row], graph.first_edge[row + 1])
        cells = range(plain.cells) if occupied else plain.legal(position)
        forfeit = FORFEITS[naive.mover(position) - 1]
        legal = plain.legal(position)
        children = [row_code(plain.place(position, cell)) if cell in legal else forfeit for cell in cells]
        assert graph.cell[edges].tolist() == list(cells)
        assert graph.code[graph.child[edges]].tolist() == children
        assert board.open_cells(position) == legal and graph.legal[row] == len(legal)
    for ply, (start, end) in enumerate(itertools.pairwise(graph.ply_start.tolist())):
        assert graph.ply[start:end].tolist() == [ply] * (end - start)


@pytest.mark.parametrize("occupied", [False, True])
@pytest.mark.parametrize(("name", "symmetry"), [("3x3", True), ("2x5x3", False), ("2x5x3", True), ("3x4x3", True)])
def test_parents_are_the_rows_with_a_move_into_a_row(name: str, symmetry: bool, occupied: bool) -> None:
    """As often as there are such moves, in row order."""
    graph = enumerate_graph(parse_board(name), occupied, symmetry)
    sources = np.arange(graph.first_edge.size - 1).repeat(np.diff(graph.first_edge.astype(np.int64)))
    order = np.lexsort((sources, graph.child))
    np.testing.assert_array_equal(graph.parent, sources[order])
    of_row = np.bincount(graph.child, minlength=graph.code.size)
    np.testing.assert_array_equal(np.diff(graph.first_parent.astype(np.int64)), of_row)
    assert graph.first_parent[0] == 0 and of_row[0] == 0
    assert (of_row[1 : graph.code.size - 2 * occupied] > 0).all()


@pytest.mark.sampled(1)
@pytest.mark.parametrize("name", ["3x4x3", "1x11x3", "3x4x3-misere", "3x4x3-exact"])
def test_moves_up_to_symmetry_lead_to_the_class_of_the_child(name: str) -> None:
    """On boards too large for the oracle, some rows of every kind by the board's own functions."""
    board = parse_board(name)
    graph = enumerate_graph(board, False, True)
    images_of_rows(board, graph)
    rng = np.random.default_rng(5)
    for row in rng.choice(graph.first_edge.size - 1, 1_500, replace=False).tolist():
        position = board.decode(int(graph.code[row]))
        edges = slice(graph.first_edge[row], graph.first_edge[row + 1])
        assert graph.cell[edges].tolist() == [cell for cell in range(board.cells) if position[cell] == 0]
        for cell, child in zip(graph.cell[edges].tolist(), graph.child[edges].tolist(), strict=True):
            marks = list(position)
            marks[cell] = 1 + int(graph.ply[row]) % 2
            least, _ = board.representative(tuple(marks))
            assert graph.code[child] == board.encode(least)
            assert graph.outcome[child] == board.outcome(tuple(marks))
            assert graph.ply[child] == graph.ply[row] + 1


def test_arrays_are_those_that_kernels_expect() -> None:
    expected = Graph("int64", "int8", "int8", "uint32", "uint32", "int8", "uint32", "uint32", "uint32", "uint32")
    for name, symmetry, occupied in itertools.product(("3x3", "2x5x3"), (False, True), (False, True)):
        graph = enumerate_graph(parse_board(name), occupied, symmetry)
        assert Graph(*(str(array.dtype) for array in graph)) == expected
        assert all(array.flags.c_contiguous and not array.flags.writeable for array in graph)
        assert enumerate_graph(parse_board(name), occupied, symmetry) is graph


# --- rows of codes ------------------------------------------------------------------------------------------------


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
