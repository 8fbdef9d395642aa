"""Review, strength and links of a page under Node, against the terminal's review and handicap."""

import math
from pathlib import Path

import pytest
from helpers.pages import trained
from helpers.support import random_games
from helpers.web import play_match

from ttt_batch.analysis.review import TEMPERATURE, review, softmax_probabilities
from ttt_batch.games.board import Game


@pytest.mark.slow
def test_a_review_is_that_of_the_terminal(tmp_path: Path) -> None:
    for board in ("3x3", "3x3-misere", "3x3-gravity"):
        run = trained(games=1000, board=board)
        games = [Game(run.board, tuple(cells)) for cells in random_games(run.board, 60)]
        found = play_match(run, tmp_path, [{"review": list(game.moves)} for game in games])
        assert sum(map(len, found)) > 60
        for game, slips in zip(games, found, strict=True):
            expected = review(run, game)
            assert expected is not None
            for slip, one in zip(expected, slips, strict=True):
                assert (one["ply"], one["cell"], one["before"]) == (slip.ply, slip.cell, slip.before)
                assert (one["after"]["result"], one["after"]["plies"]) == slip.after
                better = [(way["cell"], (way["result"], way["plies"])) for way in one["better"]]
                assert better == list(slip.better)


def test_a_taken_cell_gives_the_game_away(tmp_path: Path) -> None:
    (found,) = play_match(trained(games=1000), tmp_path, [{"review": [0, 0]}])
    assert [(slip["ply"], slip["after"]) for slip in found] == [(1, {"result": -1, "plies": 1})]


def test_links(tmp_path: Path) -> None:
    run = trained(games=1000)
    texts = {
        "X.O/.X./...": {"text": "X.O/.X./...", "person": 2, "turn": "you", "undo": False},
        "x.o/.x./...": {"text": "X.O/.X./...", "person": 2, "turn": "you", "undo": False},
        ".../.../...": {"text": ".../.../...", "person": 1, "turn": "you", "undo": False},
        "XXX/OO./...": {"text": "XXX/OO./...", "person": 2, "turn": "over", "undo": False},
        "XXX/OOX/OOX": {"text": "XXX/OOX/OOX", "person": 2, "turn": "over", "undo": False},
        "XXX/OOO/...": None,  # both have a line
        "XXX/XXX/OOO": None,
        "OO./.../...": None,
        "X.O/.X.": None,
        "X.O/.X?/...": None,
        "X.OO/.X./...": None,
        "5-3-1": {"text": "X.O/.X./...", "person": 2, "turn": "you", "undo": False},
        "X5 O3,x1": {"text": "X.O/.X./...", "person": 2, "turn": "you", "undo": False},
        "b2-c1-a1": {"text": "X.O/.X./...", "person": 2, "turn": "you", "undo": False},
        "1-4-2-5-3": {"text": "XXX/OO./...", "person": 2, "turn": "over", "undo": False},
        "1-4-2-5-3-6": None,  # the game is over
        "5-5": None,
        "5-0": None,
        "O5": None,
        "10": None,
        "d1": None,
        "": None,
    }
    for expected, found in zip(
        texts.values(), play_match(run, tmp_path, [{"link": text} for text in texts]), strict=True
    ):
        assert found == expected


def test_links_where_marks_fall(tmp_path: Path) -> None:
    """By columns, by cells, or as rows, for which a game is found that piles them up."""
    run = trained(games=1000, board="3x3-gravity")
    here = {"text": ".../.O./XX.", "person": 2, "turn": "you", "undo": False}
    texts = {
        "b-b-a": here,
        "8-5-7": here,
        ".../.O./XX.": here,
        "XX./OO./XXO": {"text": "XX./OO./XXO", "person": 2, "turn": "you", "undo": False},
        "b-b-b-b": None,  # the column is full
        "5": None,  # in the air
        ".X./.../...": None,
        ".../X../O..": None,  # X moves first, and O is below
        "d": None,
    }
    found = play_match(run, tmp_path, [{"link": text} for text in texts])
    assert dict(zip(texts, found, strict=True)) == texts


def test_a_tap_stands_for_its_column(tmp_path: Path) -> None:
    run = trained(games=1000, board="3x3-gravity")
    found = play_match(run, tmp_path, [{"taps": taps} for taps in ([2], [2, 8], [0, 3, 6], [0, 0, 0, 0])])
    assert found == [[8], [8, 5], [6, 3, 0], [6, 3, 0, False]]


def test_a_link_is_in_the_fragment_or_the_query(tmp_path: Path) -> None:
    addresses = {
        ("#5-3-1", ""): "5-3-1",
        ("", "?moves=5,3,1"): "5,3,1",
        ("", "?moves=5+3%201&x=y"): "5 3 1",
        ("#X.O%2F.X.%2F...", "?moves=5"): "X.O/.X./...",
        ("#%", ""): "%",
        ("", "?other=5"): "",
    }
    jobs = [{"address": {"hash": fragment, "search": query}} for fragment, query in addresses]
    assert play_match(trained(games=1000), tmp_path, jobs) == list(addresses.values())


@pytest.mark.slow
def test_moves_below_its_strength_are_those_of_the_terminal(tmp_path: Path) -> None:
    run = trained("td", games=300)
    values = run.move_values((0,) * 9)
    given = [1.0, None, "never", 0.25, -0.5]
    games = 4000
    shares, weak, half, best = play_match(
        run,
        tmp_path,
        [
            {"softmax": given, "temperature": 0.5},
            *({"level": level, "games": games} for level in (0, 0.5, 1)),
        ],
    )
    expected = softmax_probabilities({0: 1.0, 2: math.nan, 3: 0.25, 4: -0.5}, 0.5)
    assert all(math.isclose(shares[cell], share, rel_tol=1e-12) for cell, share in expected.items())
    assert shares[1] == 0
    drawn, chosen = softmax_probabilities(values, TEMPERATURE), run.candidates((0,) * 9)
    for level, counts in ((0.0, weak), (0.5, half), (1.0, best)):
        for cell, count in enumerate(counts):
            share = (1 - level) * drawn[cell] + level * (cell in chosen) / len(chosen)
            assert abs(count / games - share) <= 5 * math.sqrt(share * (1 - share) / games), (level, cell)
