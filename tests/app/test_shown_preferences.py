"""Learners of preferences for moves: what people see is preferences and chances by softmax, and positions' values."""

import io
import math
import random
import re
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from helpers.pages import drive, trained
from helpers.players import FakeAgent
from helpers.support import mostly_slow
from helpers.web import play_match

import ttt_batch as ttt
from ttt_batch.analysis.position import describe_position
from ttt_batch.analysis.review import HandicappedAgent
from ttt_batch.app.plots.boards import _scale, openings
from ttt_batch.app.reports.evaluation import show_text
from ttt_batch.app.terminal.drawing import draw_hints, hints_of
from ttt_batch.app.terminal.loop import watch_game
from ttt_batch.core.errors import UsageError
from ttt_batch.games.board import Game
from ttt_batch.runs.run import Run

EMPTY = (0,) * 9


@pytest.fixture(params=mostly_slow(["reinforce", "actor-critic"], "reinforce"))
def run(request: pytest.FixtureRequest) -> Run:
    return trained(request.param, games=20_000, batch=1, alpha=0.1, draw_worth=0.25)


def softmax(preferences: dict[int, float]) -> dict[int, float]:
    weights = {cell: math.exp(theta) for cell, theta in preferences.items()}
    return {cell: weight / sum(weights.values()) for cell, weight in weights.items()}


def test_moves_have_preferences_and_chances_and_positions_have_values(run: Run) -> None:
    graph = run.graph
    for row in (0, 5, 300):
        code = int(graph.code[row])
        edges = slice(int(graph.first_edge[row]), int(graph.first_edge[row + 1]))
        theta = dict(zip(graph.cell[edges].tolist(), run.tables.q[edges].tolist(), strict=True))
        assert run.move_preferences(code) == theta and len(set(theta.values())) > 1
        assert run.move_values(code) == pytest.approx(softmax(theta))
        assert run.value(code) == run.tables.value[row] != 0
    assert run.value("XXX OO. ...") == -1  # to the player who would move next
    with pytest.raises(UsageError, match=r"^td keeps values of moves, not preferences; use move_values$"):
        trained(games=200).move_preferences(0)


@pytest.mark.slow
def test_so_they_have_on_a_growing_board_and_for_every_image() -> None:
    run, _ = ttt.learn_from(["0 5 1 6 2 7 3"], learner="reinforce", board="5x5x4", alpha=0.5)
    theta = run.move_preferences(0)
    assert run.move_values(0) == pytest.approx(softmax(theta)) and len(set(theta.values())) > 1
    assert run.grown is not None and run.value(0) == run.tables.value[run.grown.compact()[0].code.tolist().index(0)]
    corners = [tuple(int(cell == corner) for cell in range(25)) for corner in (0, 4, 20, 24)]
    assert len({run.value(corner) for corner in corners}) == 1
    assert math.isclose(sum(run.move_values(corners[1]).values()), 1)


def test_show_names_each_by_what_it_is(run: Run) -> None:
    shown = describe_position(run, 0)
    assert shown.value == run.value(0)
    assert {move.cell: move.preference for move in shown.moves} == run.move_preferences(0)
    assert {move.cell: move.softmax for move in shown.moves} == run.move_values(0)
    move = shown.to_dict()["moves"][4]
    assert math.isnan(move["value"]) and move["preference"] == run.move_preferences(0)[4]
    text = show_text(shown)
    assert "  cell    preference   softmax    chance   truth" in text and "agent's values" not in text
    assert re.search(rf"^[* ] 5 +{run.move_preferences(0)[4]:z.4f} +{100 * run.move_values(0)[4]:.1f} % ", text, re.M)
    assert f"value   {run.value(0):z.4f} for X" in text
    plain = describe_position(trained(games=200), 0)
    assert "preference" not in plain.to_dict()["moves"][0] and "softmax" not in show_text(plain)


def test_hints_and_watching_tell_chances(run: Run) -> None:
    game = Game(run.board)
    lines = draw_hints(game, hints_of(run, game))
    shares = [f"{100 * share:.0f} %" for share in run.move_values(0).values()]
    assert lines[0] == "The agent's chance of each cell for X:" and "Below each chance the truth:" in lines
    assert re.findall(r"\d+ %", "\n".join(lines)) == shares
    seen = io.StringIO()
    watch_game(run, FakeAgent(), names=("one", "two"), stdout=seen, pace=0, seed=1)
    first = re.search(r"^1\. X (\d): (\d+ %), D$", seen.getvalue(), re.M)
    assert first is not None and first[2] == shares[int(first[1]) - 1]
    assert "Per cent: how likely the agent is to" in seen.getvalue()


@pytest.mark.slow
def test_moves_below_its_strength_have_its_chances(run: Run, tmp_path: Path) -> None:
    games, chances = 4000, run.move_values(0)
    weak = HandicappedAgent(run, 0.0, 0.0, random.Random(1))
    terminal = Counter(weak.candidates(EMPTY)[0] for _ in range(games))
    (page,) = play_match(run, tmp_path, [{"level": 0, "games": games}])
    for cell, share in chances.items():
        for count in (terminal[cell], page[cell]):
            assert abs(count - games * share) < 5 * math.sqrt(games * share * (1 - share)) + 1
    assert max(chances.values()) > 0.2


@pytest.mark.slow
def test_the_page_has_chances(run: Run, tmp_path: Path) -> None:
    found = drive(run, tmp_path)
    for text, said in list(found["positions"].items())[:300]:
        for cell, chance in run.move_values(run.position(text)).items():
            assert abs(said["values"][cell] - chance) <= found["step"] / 2 + 1e-12
    page = (tmp_path / "page.html").read_text("utf-8")
    assert '"scale":{"low":0,"high":1,"chance":true}' in page


def test_the_picture_of_the_opening_has_chances_from_0_to_1(run: Run) -> None:
    assert openings(run)[0].values == run.move_values(0) and _scale(run) == (0, 1)


def test_colours_of_values_span_the_ends_of_games_whatever_positions_start_at() -> None:
    run, _ = ttt.learn_from(["0 3 1 4 2"], learner="td", start_value=5)
    assert np.isclose(run.worth.max(), 5) and _scale(run) == (-1, 1)
