"""The review of games, against plain minimax written from the definition."""

import random

import pytest
from helpers.players import FakeAgent, KnowingAgent, best_play, moves_of, random_game

import ttt_batch as ttt
from ttt_batch.agents.external import at_board
from ttt_batch.analysis.review import (
    Mistake,
    known_from,
    move_results,
    oversights,
    oversights_text,
    review,
    review_text,
)
from ttt_batch.games.board import Board, Game, parse_board
from ttt_batch.games.notation import parse_moves
from ttt_batch.games.solution import Prospect

BOARD = Board()
NAMES = ["3x3", "3x3-misere", "2x3x2", "3x3x2-exact", "2x4x3", "3x3-gravity"]


def a_game(board: Board, seed: int) -> Game:
    return Game(board, tuple(random_game(board, random.Random(seed))))


@pytest.mark.sampled(1)
@pytest.mark.parametrize("name", NAMES)
def test_moves_that_worsen_the_result_and_no_others_are_named(name):
    board = parse_board(name)
    found = 0
    for seed in range(60):
        game = a_game(board, seed)
        slips = {slip.ply: slip for slip in review(KnowingAgent(board), game)}
        for ply, cell in enumerate(game.moves):
            sign = -1 if ply % 2 else 1
            here = Game(board, game.moves[:ply]).position
            after = {cell: best_play(board, there) for cell, there in moves_of(board, here).items()}
            before, now = sign * best_play(board, here)[0], sign * after[cell][0]
            assert (now < before) == (ply in slips)
            if ply in slips:
                found += 1
                slip = slips[ply]
                assert (slip.player, slip.cell, slip.before) == (ply % 2, cell, before)
                assert slip.after == (now, after[cell][1] + 1)
                good = {cell: (before, plies + 1) for cell, (value, plies) in after.items() if sign * value == before}
                assert dict(slip.better) == good and good
                assert [prospect.plies for _, prospect in slip.better] == sorted(plies for _, plies in good.values())
    assert found > 5


@pytest.mark.sampled(1)
@pytest.mark.parametrize("symmetry", ["off", "on"])
def test_a_run_reviews_as_minimax_does(symmetry):
    run = ttt.train(1000, symmetry=symmetry)
    for seed in range(20):
        game = a_game(BOARD, seed)
        assert review(run, game) == review(KnowingAgent(), game)
        assert move_results(run, game.position) == {}


def test_a_known_game():
    slips = review(KnowingAgent(), Game(BOARD, (4, 1, 0, 8, 3, 5, 6)))
    # O answers the centre at an edge, and is lost; X misses nothing on the way.
    assert [(slip.ply, slip.player, slip.cell, slip.before, slip.after) for slip in slips] == [(1, 1, 1, 0, (-1, 6))]
    assert slips[0].better == tuple((cell, Prospect(0, 8)) for cell in (0, 2, 6, 8))
    assert review_text(slips, BOARD, ("you", "agent")) == [
        "Mistakes found:",
        "2. O 2 (agent): draw -> loss in 6",
        "   better: 1 3 7 9 (draw)",
    ]


def test_a_win_given_away_names_the_quickest_first():
    slips = review(KnowingAgent(), Game(BOARD, (0, 1, 3, 6, 5)))
    assert [slip.ply for slip in slips] == [1, 4]
    assert review_text(slips[1:], BOARD)[1:] == ["5. X 6 (X): win -> loss in 4", "   better: 5 (win in 3)"]


def test_results_and_names_are_not_torn():
    ways = tuple((cell, Prospect(1, plies)) for cell, plies in ((0, 9), (1, 9), (2, 17), (3, 23)))
    slip = Mistake(8, 0, 4, 1, Prospect(-1, 32), ways)
    assert review_text([slip], BOARD, ("patterns-6x7x4-gravity.h5", "agent"))[1:] == [
        "9. X 5 (patterns-6x7x4-gravity.h5):",
        "   win -> loss in 32",
        "   better: 1 2 (win in 9);",
        "     3 (win in 17); 4 (win in 23)",
    ]


def test_a_game_without_a_slip():
    assert review(KnowingAgent(), Game(BOARD, (0, 4, 8, 1, 7, 6, 2, 5, 3))) == []
    assert review_text([], BOARD) == ["No mistakes found."]
    assert review(KnowingAgent(), Game(BOARD)) == []


def test_a_move_to_an_occupied_cell_loses_at_once():
    slips = review(KnowingAgent(), Game(BOARD, (4, 0, 4)))
    assert [(slip.ply, slip.cell, slip.before, slip.after) for slip in slips] == [(2, 4, 0, (-1, 1))]


def test_what_nobody_knows_is_not_reviewed():
    assert review(FakeAgent(), Game(BOARD, (4, 1))) is None
    assert move_results(FakeAgent(), Game(BOARD).position) is None
    assert review_text(None, Board(5, 5, 5)) == ["No review: 5x5x5 has too many positions", "to solve."]


@pytest.mark.slow  # seconds of search
def test_where_marks_fall_a_search_reviews_a_game():
    """O, who wins after 11 moves by f6 alone, moves elsewhere.  Of early moves only who wins is known."""
    board = parse_board("connect4")
    game = Game(board, tuple(parse_moves(["d", "d", "d", "d", "d", "c", "e", "e", "c", "c", "g", "b"], board)))
    with at_board("random", "connect4") as agent:
        start, slips = known_from(agent, game), review(agent, game)
    assert start == 0 and slips is not None
    # X wins until its fourth move, e, instead of c or f.
    assert slips[0][:4] == (6, 0, 39, 1) and slips[0].after == Prospect(-1, None)
    assert slips[-1][:4] == (11, 1, 36, 1) and slips[-1].after == Prospect(-1, 2)


@pytest.mark.slow
def test_where_marks_fall_the_end_of_a_game_is_reviewed():
    """The first moves of a larger board take a longer search."""
    game = Game(board := parse_board("7x8x4-gravity"), tuple(parse_moves(list("ddddd"), board)))
    with at_board("random", board.name) as agent:
        assert known_from(agent, game) == 5 and review(agent, game) is None


@pytest.mark.sampled(1)
@pytest.mark.parametrize("width", [20, 40])
def test_lines_keep_their_width(width):
    lines = [
        line
        for seed in range(40)
        for line in review_text(review(KnowingAgent(), a_game(BOARD, seed)), BOARD, ("you", "agent"), width)
    ]
    assert 10 < max(map(len, lines)) <= max(width, 27) and not any(line.endswith(" ") for line in lines)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", [*NAMES, "4x4x3"])
def test_what_is_overlooked_is_what_two_plies_show(name: str) -> None:
    board, seen = parse_board(name), set()

    def winners(position: tuple[int, ...], player: int) -> set[int]:
        """The cells with which a player, whether it is to move or not, makes a line."""
        return {
            c
            for c in board.open_cells(position)
            if board.completed_lines((*position[:c], 1 + player, *position[c + 1 :]))
        }

    for seed in range(40):
        game = a_game(board, seed)
        found = {one.ply: one for one in oversights(game)}
        for ply, cell in enumerate(game.moves):
            position, player = Game(board, game.moves[:ply]).position, ply % 2
            lines, threats = winners(position, player), winners(position, 1 - player)
            better = lines or (threats if len(threats) == 1 else set())
            if board.misere:
                free = set(board.open_cells(position))
                better = free - lines if cell in lines else set()
            assert (ply in found) == bool(better and cell not in better)
            if ply in found:
                assert set(found[ply].better) == better and found[ply].cell == cell
                seen.add(found[ply].text)
    assert seen


def test_oversights_in_words() -> None:
    game = Game(BOARD, (0, 3, 1, 4, 8, 2, 5))
    assert oversights_text(oversights(game), BOARD, ("you", "agent")) == [
        "Oversights found:",
        "4. O 5 (agent): left a win; better: 3",
        "5. X 9 (you): passed up a win; better: 3",
        "6. O 3 (agent): passed up a win;",
        "   better: 6",
    ]
    assert oversights_text([], BOARD) == []
