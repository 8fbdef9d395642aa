"""Random play against its games replayed one by one, and against the exact shares of random games."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from helpers.support import without_jit
from oracle.streams import mixed

from ttt_batch.compiler.numerics import GOLDEN, RANDOM_PLAY, stream_key
from ttt_batch.core.errors import BoardError, UsageError
from ttt_batch.games.board import DRAW, EMPTY, FIRST, FIRST_WINS, SECOND, SECOND_WINS, UNFINISHED, Board, parse_board
from ttt_batch.simulation import random_games as random_play
from ttt_batch.simulation.random_games import (
    BLOCKS_PER_SUM,
    MAX_PRODUCT,
    RandomRules,
    make_random_block,
    make_random_rules,
    play_random,
    play_random_games,
    radices,
)

PINNED_GAMES = [[1, 2, 6, 8, 7, 4, 0, 5], [0, 4, 8, 3, 2, 7, 1], [3, 1, 7, 0, 4, 5, 2, 8, 6]]
PINNED_COUNTS = [570, 130, 300]
"""The first three games of seed 0, and the results of its first thousand."""

SHARES = (Fraction(737, 1260), Fraction(8, 63), Fraction(121, 420))
"""First wins, draws, second wins of random play on 3x3."""

LENGTHS = {5: 1_440, 6: 5_328, 7: 47_952, 8: 72_576, 9: 127_872}
"""Games of 3x3 by number of moves, 255,168 in all."""

BOARDS = [(3, 3, 3), (3, 4, 3), (4, 4, 4), (2, 3, 2), (1, 1, 1), (1, 2, 1), (1, 2, 2), (2, 2, 2), (1, 4, 3), (1, 7, 5)]
LARGE_BOARDS = [(5, 5, 4), (6, 6, 6), (1, 36, 2)]


def random_game(board: Board, seed: int, number: int) -> list[int]:
    """Play game `number` of `play_random_games`, in plain Python: its moves, as cells, up to the one that ends it."""
    groups = radices(board.cells)
    numbers = -(-len(groups) // 2)
    free = list(range(board.cells))
    ranks = []
    for fraction, group in enumerate(groups):
        bits = mixed(int(stream_key(seed, RANDOM_PLAY)) + (number * numbers + fraction // 2) * int(GOLDEN))
        index = (bits & 0xFFFFFFFF if fraction % 2 else bits >> 32) * math.prod(group) >> 32
        for radix in group:
            index, drawn = divmod(index, radix)
            ranks.append(free.pop(drawn))
    ranks += free
    half, last = board.cells // 2, board.cells - 1
    plies = [2 * rank + 1 if rank < half else 2 * (last - rank) for rank in ranks]
    marks = [EMPTY] * board.cells
    moves: list[int] = []
    for cell in sorted(range(board.cells), key=plies.__getitem__):
        marks[cell] = SECOND if len(moves) % 2 else FIRST
        moves.append(cell)
        if board.outcome(tuple(marks)) != UNFINISHED:
            break
    return moves


def result(board: Board, moves: list[int]) -> tuple[int, int]:
    """Outcome and length of a game, by the rules alone; an error where the game is not a whole one."""
    marks = [0] * board.cells
    for ply, cell in enumerate(moves):
        assert board.outcome(tuple(marks)) == UNFINISHED and marks[cell] == 0
        marks[cell] = 1 + ply % 2
    outcome = board.outcome(tuple(marks))
    assert outcome != UNFINISHED
    return outcome, len(moves)


def replayed(board: Board, seed: int, first: int, last: int) -> list[int]:
    """Outcomes of games `first` to `last - 1`, each played alone."""
    return [result(board, random_game(board, seed, number))[0] for number in range(first, last)]


def played(board: Board, seed: int, first: int, last: int, block: int = 1024) -> tuple[int, int]:
    """Wins of both players in the same games, from the kernel."""
    rules, wins = make_random_rules(board), np.zeros(2, np.int64)
    scratch = make_random_block(rules, block)
    play_random(rules, stream_key(seed, RANDOM_PLAY), first, last, scratch, wins)
    assert not scratch.first_wins.any() and not scratch.second_wins.any()
    return int(wins[0]), int(wins[1])


def scores(counts: np.ndarray, shares: tuple[Fraction, ...]) -> list[float]:
    """Return how many standard deviations each count lies from its share."""
    games = int(counts.sum())
    return [(int(n) - games * p) / math.sqrt(games * p * (1 - p)) for n, p in zip(counts, shares, strict=True)]


def chi_squared_score(observed: np.ndarray, expected: np.ndarray) -> float:
    """Return how many standard deviations a chi-squared sum lies from its mean."""
    degrees = observed.size - 1
    return float((((observed - expected) ** 2 / expected).sum() - degrees) / math.sqrt(2 * degrees))


# --- the same games as one by one -----------------------------------------------------------------------


@pytest.mark.sampled(3)
@pytest.mark.parametrize("size", BOARDS + LARGE_BOARDS)
@pytest.mark.parametrize(("seed", "first"), [(0, 0), (-(2**70) + 3, 987_654_321_012)])
def test_every_game_ends_as_it_does_when_replayed(size: tuple[int, int, int], seed: int, first: int) -> None:
    board = Board(*size)
    rules, key = make_random_rules(board), stream_key(seed, RANDOM_PLAY)
    scratch, wins = make_random_block(rules), np.zeros(2, np.int64)
    for number, outcome in enumerate(replayed(board, seed, first, first + 200), first):
        wins[:] = 0
        play_random(rules, key, number, number + 1, scratch, wins)
        assert wins.tolist() == [outcome == FIRST_WINS, outcome == SECOND_WINS]


@pytest.mark.slow
@pytest.mark.parametrize("size", BOARDS)
def test_blocks_and_pieces_do_not_show(size: tuple[int, int, int]) -> None:
    board = Board(*size)
    outcomes = replayed(board, 4, 0, 1_500)
    expected = outcomes.count(FIRST_WINS), outcomes.count(SECOND_WINS)
    for block in (1, 7, 64, 300, 1024, 4096):
        assert played(board, 4, 0, 1_500, block) == expected
    pieces = [played(board, 4, a, b) for a, b in itertools.pairwise([0, 1, 600, 1_499, 1_500])]
    assert tuple(map(sum, zip(*pieces, strict=True))) == expected


def test_more_blocks_than_a_byte_can_count_are_summed() -> None:
    board = Board(1, 1, 1)  # the first player wins every game
    for blocks in (BLOCKS_PER_SUM, BLOCKS_PER_SUM + 1, 3 * BLOCKS_PER_SUM + 2):
        assert played(board, 0, 0, 4 * blocks - 1, block=4) == (4 * blocks - 1, 0)


def test_threads_and_block_sizes_do_not_show(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(random_play, "WORTH_A_THREAD", 1_000)
    monkeypatch.setattr(random_play, "STOP_EVERY", 12_345)
    one = play_random_games(Board(), 100_003, seed=5)
    assert one.dtype == np.int64 and one.sum() == 100_003
    for threads, block in ((1, 999), (2, 1024), (3, 64), (50, 1024)):
        assert (play_random_games(Board(), 100_003, seed=5, threads=threads, block=block) == one).all()


def test_an_error_in_a_thread_stops_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = []

    def fail(*arguments: object) -> None:
        calls.append(arguments)
        raise KeyboardInterrupt

    monkeypatch.setattr(random_play, "play_random", fail)
    with pytest.raises(KeyboardInterrupt):
        play_random_games(Board(), 10**15, threads=2)
    assert 1 <= len(calls) <= 2


def test_seeds_and_game_numbers_have_games_of_their_own() -> None:
    games = {
        (seed, first): tuple(tuple(random_game(Board(), seed, first + i)) for i in range(20))
        for seed in (0, 1, -1, 2**32, 2**63)
        for first in (0, 20, 2**32, 10**15)
    }
    assert len(set(games.values())) == len(games)
    assert random_game(Board(), 2**64 + 1, 7) == random_game(Board(), 1, 7)
    assert (play_random_games(Board(), 10_000, seed=1) != play_random_games(Board(), 10_000, seed=2)).any()


def test_the_games_of_a_seed_stay_the_same() -> None:
    assert [random_game(Board(), 0, number) for number in range(3)] == PINNED_GAMES
    assert play_random_games(Board(), 1_000).tolist() == PINNED_COUNTS


def counts_of_boards(block: int) -> list[list[int]]:
    return [play_random_games(Board(*size), 300, seed=9, block=block).tolist() for size in BOARDS[:5]]


@pytest.mark.slow
def test_without_the_compiler_the_result_is_the_same() -> None:
    assert without_jit(__file__, "counts_of_boards(128)") == str(counts_of_boards(1024))


# --- the right games ------------------------------------------------------------------------------------


def test_results_have_their_known_shares_unless_moves_are_drawn_with_a_bias(monkeypatch: pytest.MonkeyPatch) -> None:
    """With the bias two of the 504 draws of the first three cells never come up."""
    assert all(abs(z) < 4 for z in scores(play_random_games(Board(), 20_000_000, threads=2), SHARES))
    honest = random_play.make_random_rules

    def biased(board: Board) -> RandomRules:
        rules = honest(board)
        rules.product[0] -= 2
        return rules

    monkeypatch.setattr(random_play, "make_random_rules", biased)
    assert any(abs(z) > 4 for z in scores(play_random_games(Board(), 20_000_000, threads=2), SHARES))


@pytest.mark.slow
def test_the_shares_as_they_are_drawn_are_exact_to_a_billionth() -> None:
    """Count every pair of 32-bit fractions by the order of cells that it stands for."""
    weights = []  # of each group: how many fractions give each of its numbers
    for group in radices(9):
        m = math.prod(group)
        starts = [-(-(i << 32) // m) for i in range(m + 1)]
        weights.append([b - a for a, b in itertools.pairwise(starts)])
        assert max(abs(w * m - 2**32) for w in weights[-1]) < m
    assert [len(w) for w in weights] == [504, 720]
    wins = {FIRST_WINS: 0, DRAW: 0, SECOND_WINS: 0}
    lengths = dict.fromkeys(LENGTHS, 0)
    for outcome, length, weight in outcomes_of_all_orders(weights):
        wins[outcome] += weight
        lengths[length] += weight
    assert sum(wins.values()) == 2**64
    for outcome, share in zip((FIRST_WINS, DRAW, SECOND_WINS), SHARES, strict=True):
        assert abs(Fraction(wins[outcome], 2**64) - share) < Fraction(1, 10**10)
    for length, games in LENGTHS.items():
        share = Fraction(games * math.factorial(9 - length), math.factorial(9))
        assert abs(Fraction(lengths[length], 2**64) - share) < Fraction(1, 10**9)


def outcomes_of_all_orders(weights: list[list[int]]) -> list[tuple[int, int, int]]:
    """Outcome, length and weight of each pair of numbers that the two fractions of a 3x3 game can give."""
    n = 9
    first, second = (np.array(w, dtype=object) for w in weights)
    a, b = (x.ravel() for x in np.meshgrid(np.arange(504), np.arange(720), indexing="ij"))
    drawn = []
    for index, group in zip((a, b), radices(n), strict=True):
        for radix in group:
            drawn.append(index % radix)
            index = index // radix
    # A draw counts the free ranks below: undo it cell by cell with an explicit list of the free ranks.
    free = np.tile(np.arange(n), (a.size, 1))
    ranks = np.empty((a.size, n), np.int64)
    games = np.arange(a.size)
    for cell in range(n - 1):
        ranks[:, cell] = free[games, drawn[cell]]
        free = free[free != ranks[:, [cell]]].reshape(a.size, n - cell - 1)
    ranks[:, n - 1] = free[:, 0]
    ply = np.where(ranks < 4, 2 * ranks + 1, 2 * (8 - ranks))
    assert (np.sort(ply, axis=1) == np.arange(n)).all()
    # The ply that completes each line, n where both players have a part of it.
    ends = np.full(a.size, n)
    for line in Board().lines:
        plies = ply[:, line]
        same = (plies % 2 == plies[:, :1] % 2).all(axis=1)
        ends = np.minimum(ends, np.where(same, plies.max(axis=1), n))
    outcome = np.where(ends == n, DRAW, np.where(ends % 2 == 0, FIRST_WINS, SECOND_WINS))
    length = np.minimum(ends + 1, n)
    weight = first[a] * second[b]
    found = []
    for o, moves in itertools.product((FIRST_WINS, DRAW, SECOND_WINS), LENGTHS):
        chosen = (outcome == o) & (length == moves)
        found.append((o, moves, int(weight[chosen].sum())))
    return found


def test_moves_are_uniform_and_lengths_have_their_shares() -> None:
    games = 8_000
    board = Board()
    moves = [random_game(board, 3, number) for number in range(games)]
    by_length = np.bincount([result(board, game)[1] for game in moves], minlength=10)[5:]
    shares = [games * n * math.factorial(9 - length) / math.factorial(9) for length, n in LENGTHS.items()]
    assert sum(shares) == pytest.approx(games)
    assert abs(chi_squared_score(by_length, np.array(shares))) < 4
    for ply in range(9):
        # The move's place among the free cells, for the games that come this far.
        places = np.bincount(
            [game[ply] - sum(cell < game[ply] for cell in game[:ply]) for game in moves if len(game) > ply],
            minlength=9 - ply,
        )
        assert places.size == 9 - ply
        if ply < 8:
            assert abs(chi_squared_score(places, np.full(9 - ply, places.sum() / (9 - ply)))) < 4
    openings = np.bincount([81 * game[0] + 9 * game[1] + game[2] for game in moves], minlength=729)
    openings = openings[openings > 0]
    assert openings.size == 9 * 8 * 7
    assert abs(chi_squared_score(openings, np.full(504, games / 504))) < 4


@pytest.mark.sampled(1)
@pytest.mark.parametrize(
    "name",
    [*("2x3x2", "2x2x2", "1x4x2", "1x6x4", "2x4x3", "3x3x2"), "3x3x2-exact", "3x4x3-gravity", "2x4x3-misere-gravity"],
)
def test_other_boards_have_the_shares_of_a_walk_over_all_positions(name: str) -> None:
    board, games = parse_board(name), 2_000_000
    known: dict[tuple[int, ...], tuple[Fraction, ...]] = {}

    def shares(marks: tuple[int, ...], mover: int) -> tuple[Fraction, ...]:
        outcome = board.outcome(marks)
        if outcome != UNFINISHED:
            return tuple(Fraction(outcome == o) for o in (FIRST_WINS, DRAW, SECOND_WINS))
        if marks not in known:
            free = board.open_cells(marks)
            after = [shares((*marks[:cell], mover, *marks[cell + 1 :]), 3 - mover) for cell in free]
            known[marks] = tuple(sum(part) / len(free) for part in zip(*after, strict=True))
        return known[marks]

    for count, share in zip(play_random_games(board, games, seed=8), shares((0,) * board.cells, 1), strict=True):
        assert abs(int(count) - games * share) <= 4 * math.sqrt(games * share * (1 - share))


# --- edges ----------------------------------------------------------------------------------------------


def test_fractions_and_divisions_are_exact() -> None:
    for cells in range(1, 37):
        groups = radices(cells)
        assert [radix for group in groups for radix in group] == list(range(cells, 1, -1))
        for group in groups:
            below = math.prod(group)
            assert below <= MAX_PRODUCT
            for radix in group:
                index = np.arange(below)
                assert (index * -(-(2**16) // radix) >> 16 == index // radix).all()
                below //= radix


@pytest.mark.parametrize(
    ("options", "part"),
    [
        ({"games": -1}, "-1"),
        ({"games": 10**15 + 1}, "1,000,000,000,000,000"),
        ({"threads": 0}, "0"),
        ({"block": 0}, "0"),
    ],
)
def test_numbers_outside_their_range_are_refused_in_one_line(options: dict[str, int], part: str) -> None:
    with pytest.raises(UsageError, match=part) as refused:
        play_random_games(Board(), **{"games": 10, **options})
    assert "\n" not in str(refused.value)


def test_no_games_have_no_results() -> None:
    assert play_random_games(Board(), 0, threads=4).tolist() == [0, 0, 0]


@pytest.mark.slow
def test_variants_are_played_or_refused() -> None:
    board = Board(misere=True)
    found = play_random_games(board, 200, seed=3)
    expected = [0, 0, 0]
    for number in range(200):
        marks = [EMPTY] * board.cells
        for ply, cell in enumerate(random_game(board, 3, number)):
            marks[cell] = 1 + ply % 2
        expected[{FIRST_WINS: 0, DRAW: 1, SECOND_WINS: 2}[board.outcome(tuple(marks))]] += 1
    assert found.tolist() == expected
    moved = [play_random_games(Board(6, 6, 4, gravity=True), 1_000_000, threads=n).tolist() for n in (1, 2)]
    assert moved[0] == moved[1], "threads do not show"
    with pytest.raises(BoardError, match=r"^board 8x8x5 has 64 cells; random games take at most 36: choose a smaller"):
        play_random_games(Board(8, 8, 5), 0)
