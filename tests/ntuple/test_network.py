"""Networks: which weights are shared, sums of images, and the moves that a network prefers."""

import itertools
import random

import numpy as np
import pytest
from oracle.boards import VariantBoard, variant_of
from oracle.patterns import NaiveNet, NaiveNetwork, images

from ttt_batch.compiler.bits import all_cells
from ttt_batch.compiler.jit import kernel
from ttt_batch.evaluation.search import mark_cell, reset, tied_cells, unmark_cell
from ttt_batch.games.bitboards import make_lines, view_of
from ttt_batch.games.board import Board, parse_board
from ttt_batch.ntuple.games import Aim, make_scores, see_cell, see_empty, see_fallen
from ttt_batch.ntuple.learning import make_net
from ttt_batch.ntuple.network import (
    COLUMNS,
    MARKS,
    SHARING,
    Network,
    make_network,
    make_network_agent,
    parse_tuples,
    weights_of,
)
from ttt_batch.ntuple.objectives import BEST, BOTH

CASES = [
    ("3x3", "lines"),
    ("3x4x3", "segments,blocks:2x2"),
    ("4x4x4", "lines,blocks:2x3"),
    ("3x3", "a1 b1 a2; b2; c3 b1"),
    ("4x3x3-exact", "lines"),
    ("3x3-misere", "lines,blocks:2x2"),
    ("3x4x3-gravity", "lines,blocks:2x2"),
    ("3x4x3-gravity", "lines,blocks:2x2,columns:2"),
]
AIM = Aim(BOTH, 0.0, 1.0, 0.0, BEST, 0.2, 0.0)


def plain(board: Board) -> VariantBoard:
    return variant_of(board)


def made(name: str, tuples: str, sharing: str) -> tuple[Board, Network, NaiveNetwork]:
    """A network, coded by columns if there are such tuples."""
    board, coding = parse_board(name), COLUMNS if "columns" in tuples else MARKS
    cells = parse_tuples(tuples, board, coding)[1]
    naive = NaiveNetwork(plain(board), cells, sharing, coding == COLUMNS)
    return board, make_network(cells, board, sharing, coding), naive


def random_position(board: Board, rng: random.Random) -> tuple[int, ...]:
    """Any marks, which leave no gap if they fall."""
    marks = rng.choices((0, 1, 2), k=board.cells)
    for cell in range(board.cells - board.cols - 1, -1, -1):
        if board.gravity and marks[cell + board.cols] == 0:
            marks[cell] = 0
    return tuple(marks)


def indices(network: Network, position: tuple[int, ...]) -> list[int]:
    """The weights that a position uses, from the tuples' cells and digits."""
    found = network.offset.astype(np.int64)
    for number in range(found.size):
        for entry in range(network.place[number], network.place[number + 1]):
            mark = position[network.cell[entry]]
            found[number] += int(network.digit[mark - 1, entry]) if mark else 0
    return [int(index) for index in found]


@pytest.mark.slow
@pytest.mark.parametrize("sharing", SHARING)
@pytest.mark.parametrize(("name", "tuples"), CASES)
def test_weights_are_shared_exactly_if_what_they_see_is_the_same(name: str, tuples: str, sharing: str) -> None:
    board, network, naive = made(name, tuples, sharing)
    rng, kinds = random.Random(1), {}
    order = order_of(network, naive)
    assert sorted(order) == list(range(len(naive.tuples))), "every image once"
    for _ in range(300):
        position = random_position(board, rng)
        for number, index in zip(order, indices(network, position), strict=True):
            key = naive.key(number, position)
            assert kinds.setdefault(key, int(network.kind[index])) == network.kind[index]
    assert len(set(kinds.values())) == len(kinds), "patterns that differ have weights of their own"


def order_of(network: Network, naive: NaiveNetwork) -> list[int]:
    """The oracle's number of each tuple; on a cell below a run both players' marks count the same."""
    cell, differ = network.cell, network.digit[0] != network.digit[1]
    own = [cell[first:last][differ[first:last]] for first, last in itertools.pairwise(network.place.tolist())]
    return [naive.tuples.index(tuple(sorted(cells.tolist()))) for cells in own]


@pytest.mark.parametrize("sharing", SHARING)
def test_members_of_a_kind_are_listed_once_and_together(sharing: str) -> None:
    board, network, _ = made("4x4x4", "segments:2,blocks:2x3", sharing)
    assert sorted(network.members.tolist()) == list(range(network.kind.size))
    for kind in range(network.kind_start.size - 1):
        members = network.members[network.kind_start[kind] : network.kind_start[kind + 1]]
        assert members.size > 0
        assert (network.kind[members] == kind).all()
    assert network.kind.size == weights_of(parse_tuples("segments:2,blocks:2x3", board)[1], board, sharing)


@pytest.mark.parametrize("name", ["3x3", "3x4x3", "4x4x4", "4x4x4-gravity"])
def test_images_of_a_position_have_the_same_kinds(name: str) -> None:
    board, network, _ = made(name, "lines,blocks:2x2", "symmetry")
    rng = random.Random(2)
    for _ in range(50):
        position = rng.choices((0, 1, 2), k=board.cells)
        kinds = sorted(network.kind[indices(network, tuple(position))].tolist())
        for image in images(tuple(range(board.cells)), plain(board)):
            turned = [0] * board.cells
            for cell, to in enumerate(image):
                turned[to] = position[cell]
            assert sorted(network.kind[indices(network, tuple(turned))].tolist()) == kinds


@kernel
def scores_along(net, index, scores, moves):
    """The scores of both players after these moves, brought up to date after every second one."""
    network, free = net.network, all_cells(net.lines.cells)
    see_empty(net, index, scores)
    for ply in range(moves.shape[0]):
        cell = np.int64(moves[ply])
        for entry in range(network.start[cell], network.start[cell + 1]):
            index[network.through[entry]] += network.power[ply & 1, entry]
        free &= ~(np.uint64(1) << np.uint64(cell))
        for table in range(2):
            if (ply + table) & 1 and network.fall != 0:
                see_fallen(net, index, scores, table, free)
            elif (ply + table) & 1:
                for before in range(max(ply - 1, 0), ply + 1):
                    see_cell(net, index, scores, table, free, np.int64(moves[before]))


@pytest.mark.slow
@pytest.mark.parametrize(("name", "tuples"), [*CASES[:4], CASES[-1]])
def test_scores_kept_up_to_date_are_those_from_scratch(name: str, tuples: str) -> None:
    board, network, _ = made(name, tuples, "symmetry")
    rng, order = np.random.default_rng(3), random.Random(3)
    weights = rng.integers(-(2**30), 2**30, (2, network.kind.size), endpoint=True).astype(np.int32)
    net = make_net(make_lines(board), network, AIM, 0)._replace(weights=weights)
    for length in range(1, board.cells):
        position = [0] * board.cells
        moves = np.zeros(length, np.int8)
        for ply in range(length):
            moves[ply] = order.choice(board.open_cells(tuple(position)))
            position[moves[ply]] = 1 + ply % 2
        scores = make_scores(network)
        scores_along(net, network.offset.copy(), scores, moves)
        table = length % 2  # whose turn it is: the other's scores are of the position before
        total = sum(int(weights[table, index]) for index in indices(network, tuple(position)))
        assert scores.total[table] == total
        for cell in board.open_cells(tuple(position)):
            after = [*position[:cell], 1 + table, *position[cell + 1 :]]
            there = sum(int(weights[table, index]) for index in indices(network, tuple(after)))
            assert scores.score[table, cell] == there - total


@kernel
def picked(agent, lines, moves, own, other, ply):
    reset(agent)
    for number in range(moves.shape[0]):
        mark_cell(agent, np.int64(moves[number]), number & 1)
    for number in range(moves.shape[0] - 1, -1, -1):  # there and back again
        unmark_cell(agent, np.int64(moves[number]), number & 1)
    for number in range(moves.shape[0]):
        mark_cell(agent, np.int64(moves[number]), number & 1)
    return tied_cells(agent, lines, own, other, view_of(lines, own, other), ply)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "tuples"), CASES)
def test_an_agent_picks_what_the_rules_and_the_sums_say(name: str, tuples: str) -> None:
    """Also with few different weights, so that moves tie, up to the last cell."""
    board, network, naive = made(name, tuples, "symmetry")
    lines, rng, oracle = make_lines(board), random.Random(4), NaiveNet(naive, AIM, 0)
    by_kind = np.random.default_rng(5).integers(-2, 3, (2, network.kind_start.size - 1))
    weights = by_kind[:, network.kind].astype(np.int32)
    order = order_of(network, naive)
    lengths, agent = set(), make_network_agent(network, weights)
    for _ in range(12):
        moves: list[int] = []
        position = (0,) * board.cells
        while len(moves) < board.cells:
            for table in range(2):
                for cell in board.open_cells(position):
                    after = (*position[:cell], 1 + table, *position[cell + 1 :])
                    for number, index in zip(order, indices(network, after), strict=True):
                        oracle.weights[table, naive.key(number, after)] = int(weights[table, index])
            ply = len(moves)
            sets = [sum(1 << cell for cell in moves[player::2]) for player in (0, 1)]
            own, other = sets[ply % 2], sets[1 - ply % 2]
            cells = picked(agent, lines, np.array(moves, np.int8), np.uint64(own), np.uint64(other), ply)
            assert [c for c in range(board.cells) if int(cells) >> c & 1] == oracle.choices(position)[0]
            lengths.add(ply)
            cell = rng.choice(board.open_cells(position))
            if oracle.rules.completes(position, cell, 1 + ply % 2):
                break
            position = (*position[:cell], 1 + ply % 2, *position[cell + 1 :])
            moves.append(cell)
    assert board.cells - 1 in lengths
