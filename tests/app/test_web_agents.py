"""The page of an agent of somebody's own: it plays there as likely as the agent said."""

import json
import re
from typing import Any

import numpy as np
import pytest
from helpers.pages import drive
from helpers.players import anything, uneven

from ttt_batch.agents import at_board
from ttt_batch.app.web import page_text
from ttt_batch.core.errors import AgentError

BOARDS = ("3x3", "3x3-misere", "2x3")


def parts_of(agent: Any) -> dict[str, Any]:
    """Return the parts of an agent's page."""
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', page_text(agent), re.DOTALL)
    assert found is not None
    data: dict[str, Any] = json.loads(found[1])
    return data


@pytest.mark.slow
@pytest.mark.parametrize("board", BOARDS)
def test_it_plays_as_likely_as_the_agent_said(board, tmp_path):
    agent = at_board(uneven, board)
    # On a larger board a quarter of a million games could be played.
    said = drive(agent, tmp_path, *([] if board == "2x3" else [1000]))["positions"]
    unfinished = {text: found for text, found in said.items() if "outcome" not in found}
    assert unfinished
    free = np.array([[mark not in "XO" for mark in text] for text in unfinished])
    for row, found in zip(uneven(None, None, free), unfinished.values(), strict=True):
        assert found["candidates"] == np.flatnonzero(row).tolist()
        np.testing.assert_allclose(found["chances"], row[row > 0], rtol=1e-6)


def test_equally_likely_moves_need_no_probabilities(tmp_path):
    assert "chances" not in parts_of(at_board(anything))["sections"]["sizes"]
    assert "chances" in parts_of(at_board(uneven))["sections"]["sizes"]
    said = drive(at_board(anything, "2x3"), tmp_path)["positions"]
    assert all(found.get("chances") is None for found in said.values())


@pytest.mark.slow
def test_draws_follow_the_probabilities(tmp_path):
    page = drive(at_board(uneven, "2x3"), tmp_path, 2000)
    first = page["openings"]
    assert sum(first) == 2000
    expected = np.arange(1, 7) / 21
    assert np.abs(np.array(first) / 2000 - expected).max() < 0.04


def test_an_occupied_cell_is_no_move_of_a_page():
    occupied = at_board(lambda boards, to_move, legal: np.zeros(len(boards), int), illegal="loses")
    with pytest.raises(AgentError, match=r"which is occupied$"):
        page_text(occupied)
