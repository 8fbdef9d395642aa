"""Games of networks, their errors and folds against the naive oracle; threads; what networks learn."""

import itertools
import os
import random
import subprocess
import sys
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pytest
from helpers.players import random_game
from oracle.boards import VariantBoard, variant_of
from oracle.patterns import NaiveNet, NaiveNetwork, Rules

from ttt_batch.evaluation.prover import CANNOT_LOSE, Prover
from ttt_batch.games.bitboards import Lines, make_lines
from ttt_batch.games.board import UNFINISHED, Board, parse_board
from ttt_batch.games.notation import position_after
from ttt_batch.games.transcripts import Games
from ttt_batch.ntuple.games import Aim, Errors, GameWorkspace, play_network_games
from ttt_batch.ntuple.learning import (
    Net,
    fold_errors,
    learn_batches,
    learn_network_games,
    make_errors,
    make_game,
    make_net,
)
from ttt_batch.ntuple.network import COLUMNS, MARKS, Network, Tuples, make_network, make_network_agent, parse_tuples
from ttt_batch.ntuple.objectives import BEST, BOTH, NOTHING, PLAYED

PLAIN = Aim(seat=BOTH, safe=0.0, discount=1.0, trace=0.0, teaching=BEST, epsilon=0.3, share=0.0)
BATCH = 16


def plain(board: Board) -> VariantBoard:
    return variant_of(board)


def setting(
    name: str, tuples: str = "auto", sharing: str = "symmetry", coding: str = MARKS
) -> tuple[Board, Lines, Tuples, Network]:
    board = parse_board(name)
    _, cells = parse_tuples(tuples, board, coding)
    return board, make_lines(board), cells, make_network(cells, board, sharing, coding)


def lost_lines(board: Board, number: int) -> list[list[int]]:
    """Games of random moves up to a finished line or the last cell but one."""
    rng, rules, found = random.Random(5), Rules(plain(board)), []
    for _ in range(number):
        cells, position = list[int](), [0] * board.cells
        for ply in range(board.cells - 1):
            cells.append(rng.choice(board.open_cells(tuple(position))))
            if rules.completes(tuple(position), cells[-1], 1 + ply % 2):
                break
            position[cells[-1]] = 1 + ply % 2
        found.append(cells)
    return found


def as_starts(lines: list[list[int]], board: Board) -> Any:
    starts = np.full((len(lines), board.cells), -1, np.int8)
    for row, cells in zip(starts, lines, strict=True):
        row[: len(cells)] = cells
    return starts


def learn(net: Net, starts: Any, games: tuple[int, int]) -> Errors:
    errors, step = make_errors(net.network, 1, BATCH), 1 / net.network.offset.size
    learn_batches(net, starts, step, games, BATCH, make_game(net.lines, net.network), errors)
    return errors


@pytest.mark.sampled(6)
@pytest.mark.parametrize(
    ("name", "tuples", "sharing", "options"),
    [
        ("3x3", "lines", "symmetry", {}),
        ("3x3", "lines,segments:2", "none", {"trace": 0.7, "teaching": NOTHING}),
        ("3x3-misere", "blocks:2x2", "translation", {"seat": 0, "safe": 0.8}),
        ("3x4x3", "segments", "symmetry", {"seat": 1, "safe": 0.8, "share": 0.5}),
        ("3x4x3", "lines", "symmetry", {"teaching": PLAYED, "trace": 0.6, "discount": 0.9, "share": 0.5}),
        ("3x4x3-misere", "lines", "symmetry", {"seat": 1, "safe": 0.5, "share": 0.7, "trace": 0.9}),
        ("4x4x4", "auto", "symmetry", {"seat": 0, "safe": 0.8, "share": 0.5}),
        ("3x5x4-misere-exact", "lines,blocks:2x2", "none", {"teaching": NOTHING, "trace": 1.0, "share": 0.5}),
        ("3x4x3-gravity", "columns:2", "symmetry", {"coding": COLUMNS, "filler": 1, "unfilled": 1.0, "share": 0.5}),
        ("3x4x3-exact", "segments,blocks:2x2", "translation", {"discount": 0.98, "trace": 0.5}),
        ("3x4x3-gravity", "lines", "symmetry", {"seat": 0, "safe": 0.8, "share": 0.5}),
        ("4x4x3-misere-gravity", "segments,blocks:2x2", "translation", {"trace": 0.5, "share": 0.5}),
        ("4x4x3-gravity", "blocks:2x2", "translation", {"coding": COLUMNS, "filler": 0, "unfilled": -1.0, "seat": 0}),
    ],
)
def test_learning_is_that_of_the_definitions_to_the_last_bit(
    name: str, tuples: str, sharing: str, options: dict[str, Any]
) -> None:
    coding = options.get("coding", MARKS)
    board, lines, cells, network = setting(name, tuples, sharing, coding)
    aim = PLAIN._replace(**{name: option for name, option in options.items() if name != "coding"})
    net = make_net(lines, network, aim, 3)
    given = lost_lines(board, 7) if aim.share else []
    games = 32 if board.cells > 9 else 80
    learn(net, as_starts(given, board), (0, games))

    oracle = NaiveNet(NaiveNetwork(plain(board), cells, sharing, coding == COLUMNS), aim, int(net.key))
    for first in range(0, games, BATCH):
        oracle.learn(given, 1 / network.offset.size, range(first, first + BATCH))
    assert any(oracle.weights.values())
    for table in range(2):
        theirs = {key: weight for (player, key), weight in oracle.weights.items() if player == table and weight}
        ours = weights_by_key(network, net.weights[table], oracle.network)
        assert {key: weight for key, weight in ours.items() if weight} == theirs


GIVEN: list[tuple[str, str, str, dict[str, Any]]] = [
    ("3x3", "lines", "symmetry", {}),
    ("3x3", "lines,segments:2", "none", {"trace": 0.7, "teaching": NOTHING}),
    ("3x3-misere", "blocks:2x2", "translation", {"seat": 0, "safe": 0.8}),
    ("3x3-misere", "lines", "symmetry", {"teaching": NOTHING, "trace": 0.5, "discount": 0.9}),
    ("3x4x3", "segments", "symmetry", {"seat": 1, "safe": 0.8, "trace": 0.4}),
    ("3x4x3-exact", "segments,blocks:2x2", "translation", {"discount": 0.98, "trace": 0.5}),
    ("4x4x4", "auto", "symmetry", {"seat": 0, "safe": 0.8}),
    ("3x4x3", "lines", "symmetry", {"teaching": PLAYED, "trace": 0.6, "discount": 0.9}),
    ("3x4x3-gravity", "lines", "symmetry", {"seat": 0, "safe": 0.8, "trace": 0.5}),
    ("3x3-misere-gravity", "lines", "none", {}),
]


@pytest.mark.slow
@pytest.mark.parametrize(("name", "tuples", "sharing", "options"), GIVEN)
def test_given_games_teach_what_the_definitions_say(
    name: str, tuples: str, sharing: str, options: dict[str, Any]
) -> None:
    """Games of random moves, which pass up wins, leave lines, and go on after nothing is open any more."""
    board, lines, cells, network = setting(name, tuples, sharing)
    net, step = make_net(lines, network, PLAIN._replace(**options), 3), 1 / network.offset.size
    oracle = NaiveNet(NaiveNetwork(plain(board), cells, sharing), net.aim, 0)
    rng, errors, ended = random.Random(6), make_errors(network, 1, 1), [0] * 4
    games = [random_game(board, rng) for _ in range(24)]
    marked = [[rng.random() < 0.2 for _ in game] for game in games]
    for game, marks in zip(games, marked, strict=True):
        oracle.fold(oracle.errors_of_given(game, marks), step)
        ended[board.outcome(position_after(game, board))] += 1
    start = np.cumsum([0, *map(len, games)])
    given = Games(start, np.concatenate(games).astype(np.int8), np.concatenate(marked))
    learn_network_games(net, step, given, make_game(lines, network), errors)
    assert errors.outcomes[0].tolist() == ended and any(oracle.weights.values())
    for table in range(2):
        theirs = {key: weight for (player, key), weight in oracle.weights.items() if player == table and weight}
        ours = weights_by_key(network, net.weights[table], oracle.network)
        assert {key: weight for key, weight in ours.items() if weight} == theirs


def moves_made(network: Network, game: GameWorkspace) -> list[int]:
    """The moves of the last game, up to the last position that taught something."""
    index, made = network.offset.astype(np.int64), list[int]()
    while not np.array_equal(index, game.index):
        cell = int(game.moves[len(made)])
        for entry in range(int(network.start[cell]), int(network.start[cell + 1])):
            index[network.through[entry]] += int(network.power[len(made) % 2, entry])
        made.append(cell)
    return made


@pytest.mark.sampled(1)
@pytest.mark.parametrize(
    "options", [{}, {"seat": 0, "safe": 0.8}, {"teaching": PLAYED, "trace": 0.5}, {"epsilon": 0.0, "trace": 0.5}]
)
def test_a_game_of_self_play_teaches_the_same_when_it_is_given(options: dict[str, Any]) -> None:
    """In batches of one, whatever happens after the last position that taught something."""
    board, lines, _, network = setting("3x4x3")
    own, other = (make_net(lines, network, PLAIN._replace(**options), 3) for _ in range(2))
    errors, game, step = make_errors(network, 1, 1), make_game(lines, network), 1 / network.offset.size
    starts, rng = np.zeros((0, board.cells), np.int8), random.Random(1)
    for number in range(60):
        learn_batches(own, starts, step, (number, number + 1), 1, game, errors)
        cells = moves_made(network, game)
        while board.outcome(position_after(cells, board)) == UNFINISHED:  # a win in one if there is one
            free = [cell for cell in range(board.cells) if cell not in cells]
            wins = [cell for cell in free if board.outcome(position_after([*cells, cell], board)) != UNFINISHED]
            cells.append(rng.choice(wins or free))
        given = Games(np.array([0, len(cells)]), np.array(cells, np.int8), np.zeros(len(cells), np.bool_))
        learn_network_games(other, step, given, make_game(lines, network), make_errors(network, 1, 1))
        assert np.array_equal(own.weights, other.weights) and np.array_equal(own.coherence, other.coherence)
    assert own.weights.any()


def weights_by_key(network: Network, weights: Any, naive: NaiveNetwork) -> dict[Any, int]:
    """Every weight by what the oracle calls it; weights of one name must be the same."""
    found: dict[Any, int] = {}
    for number, offset in enumerate(network.offset.tolist()):
        part = slice(int(network.place[number]), int(network.place[number + 1]))
        cells, digits = network.cell[part].tolist(), network.digit[:, part].T.tolist()
        of_tuple = naive.tuples.index(
            tuple(sorted(c for c, (own, other) in zip(cells, digits, strict=True) if own != other))
        )
        for position in positions_seen(naive, naive.tuples[of_tuple]):
            marks = [position[cell] for cell in cells]
            at = offset + sum(digit[mark - 1] for digit, mark in zip(digits, marks, strict=True) if mark)
            key = naive.key(of_tuple, position)
            assert found.setdefault(key, int(weights[at])) == weights[at]
    return found


def positions_seen(naive: NaiveNetwork, cells: Sequence[int]) -> Iterator[list[int]]:
    """Positions in which a tuple sees everything that it may see; a tuple has one run of cells in a column at most."""
    width = naive.board.columns
    for marks in itertools.product(range(3), repeat=len(cells)):
        position = [0] * naive.board.cells
        for cell, mark in zip(cells, marks, strict=True):
            position[cell] = mark
        if not naive.falls:
            yield position
            continue
        columns = sorted({cell % width for cell in cells})
        for reached in itertools.product((0, 1), repeat=len(columns)):
            found = list(position)
            for column, mark in zip(columns, reached, strict=True):
                lowest = max(cell for cell in cells if cell % width == column)
                for below in range(lowest + width, naive.board.cells, width):
                    found[below] = mark
            if all(found[cell] == 0 or found[cell + width] for cell in range(naive.board.cells - width)):
                yield found


@pytest.mark.parametrize("seat", [0, BOTH])
def test_threads_and_parts_change_nothing(seat: int) -> None:
    """Games shared out to three threads, and kinds folded by two."""
    board, lines, _, network = setting("4x4x4", "lines,blocks:2x2")
    aim = PLAIN._replace(seat=seat, safe=0.8, share=0.5)
    starts = as_starts(lost_lines(board, 5), board)
    alone, shared = make_net(lines, network, aim, 1), make_net(lines, network, aim, 1)
    outcomes = learn(alone, starts, (0, 64)).outcomes.sum(0)

    errors, scratch = make_errors(network, 3, BATCH), [make_game(lines, network) for _ in range(3)]
    for first in range(0, 64, BATCH):
        for thread, (low, high) in enumerate([(0, 3), (3, 4), (4, 16)]):
            own = Errors(*(array[thread] for array in errors))
            part = (first + low, first + high)
            play_network_games(shared, starts, part, scratch[thread], own)
        for part in range(2):
            fold_errors(shared, 1 / network.offset.size, errors, (part, 2))
    assert np.array_equal(alone.weights, shared.weights) and np.array_equal(alone.coherence, shared.coherence)
    assert np.array_equal(errors.outcomes.sum(0), outcomes)
    assert outcomes.sum() == 64


def test_games_are_what_their_numbers_say() -> None:
    """Learning in two calls is learning in one, if no batch is cut; another seed plays other games."""
    board, lines, _, network = setting("3x4x3")
    starts = as_starts([], board)
    whole, parts, other = (make_net(lines, network, PLAIN, seed) for seed in (1, 1, 2))
    learn(whole, starts, (0, 96))
    learn(parts, starts, (0, 32))
    learn(parts, starts, (32, 96))
    learn(other, starts, (0, 96))
    assert np.array_equal(whole.weights, parts.weights)
    assert not np.array_equal(whole.weights, other.weights)


def test_a_safe_network_is_soon_proved_on_4x4x4() -> None:
    board, lines, _, network = setting("4x4x4")
    prover = Prover(board)
    for seat in (0, 1):
        net = make_net(lines, network, PLAIN._replace(seat=seat, safe=0.8, epsilon=0.2), 1)
        for first in range(0, 20_000, 1_000):
            learn(net, as_starts([], board), (first, first + 1_000))
            if prover.prove(make_network_agent(network, net.weights), seat, CANNOT_LOSE).status == "proved":
                break
        else:
            pytest.fail(f"seat {seat} is not proved after 20,000 games")


@pytest.mark.slow
@pytest.mark.parametrize(("teaching", "trace"), [(PLAYED, 0.0), (NOTHING, 0.5)])
def test_results_are_learnt(teaching: int, trace: float) -> None:
    """Of the first player, who wins on 3x4x3: with the slips of both, and by the published baseline, TD(lambda)."""
    board, lines, cells, network = setting("3x4x3", "lines,blocks:2x2")
    net = make_net(lines, network, PLAIN._replace(trace=trace, teaching=teaching), 1)
    before = won_against_random(board, net, network, cells)
    learn(net, as_starts([], board), (0, 10_000))
    assert before < 0.9 < 0.95 < won_against_random(board, net, network, cells)


def won_against_random(board: Board, net: Net, network: Network, cells: Tuples, games: int = 100) -> float:
    """Share of games that a network wins as first, its moves found by the oracle's rules."""
    rng, won = random.Random(1), 0
    oracle = NaiveNet(NaiveNetwork(plain(board), cells, "symmetry"), net.aim, 0)
    for table in range(2):
        for key, weight in weights_by_key(network, net.weights[table], oracle.network).items():
            oracle.weights[table, key] = weight
    for _ in range(games):
        position: tuple[int, ...] = (0,) * board.cells
        for ply in range(board.cells):
            free = [cell for cell in range(board.cells) if position[cell] == 0]
            cell = rng.choice(free if ply % 2 else oracle.choices(position)[0])
            if oracle.rules.completes(position, cell, 1 + ply % 2):
                won += ply % 2 == 0
                break
            position = (*position[:cell], 1 + ply % 2, *position[cell + 1 :])
    return won / games


WITHOUT_JIT = """
import numpy as np
from ttt_batch.games.board import parse_board
from ttt_batch.games.bitboards import make_lines
from ttt_batch.ntuple.games import Aim
from ttt_batch.ntuple.learning import learn_batches, make_errors, make_game, make_net
from ttt_batch.ntuple.network import make_network
from ttt_batch.ntuple.network import parse_tuples

board = parse_board("3x3")
lines, network = make_lines(board), make_network(parse_tuples("lines", board)[1], board, "symmetry")
net = make_net(lines, network, Aim(0, 0.8, 1.0, 0.5, False, 0.3, 0.5), 1)
starts = np.array([[4, 0, 8, 2, 1, -1, -1, -1, -1]], np.int8)
learn_batches(net, starts, 0.1, (0, 12), 4, make_game(lines, network), make_errors(network, 1, 4))
print(net.weights.tolist())
"""


@pytest.mark.slow
def test_without_the_jit_the_weights_are_the_same(capsys: pytest.CaptureFixture[str]) -> None:
    environment = {**os.environ, "NUMBA_DISABLE_JIT": "1"}
    plain = subprocess.check_output([sys.executable, "-c", WITHOUT_JIT], env=environment, text=True)
    exec(WITHOUT_JIT, {})
    assert capsys.readouterr().out == plain and any(character in "123456789" for character in plain)
