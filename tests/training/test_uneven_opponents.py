"""Training against an agent whose moves are not equally likely: it plays as likely as it said."""

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers.players import uneven

import ttt_batch as ttt

GAMES = 6000
WALKED: list[dict[str, Any]] = [{"batch": 1}, {"batch": 500}]


def reversed_uneven(boards: Any, to_move: Any, legal: Any) -> Any:
    """A free cell, the likelier the lower its number: the same moves, other probabilities."""
    weights = legal * np.arange(legal.shape[1], 0.0, -1)
    return weights / weights.sum(1, keepdims=True)


@pytest.mark.slow
@pytest.mark.parametrize("options", [*WALKED, {"engine": "flow", "batch": 500}])
def test_it_plays_as_likely_as_it_said(options, tmp_path):
    games = tmp_path / "games.txt"
    record = {} if options.get("engine") == "flow" else {"record": games}
    run = ttt.train(GAMES, opponent=uneven, seat="second", seed=1, out=tmp_path / "run.h5", **options, **record)
    assert run.games == GAMES
    if record:
        first = Counter(line.split()[0] for line in games.read_text().splitlines() if line and line[0] != "#")
        found = np.array([first[str(cell)] for cell in range(9)])
        assert found.sum() == GAMES
        assert np.abs(found / GAMES - np.arange(1, 10) / 45).max() < 0.03


def test_threads_and_a_stop_do_not_show(tmp_path: Path) -> None:
    options: dict[str, Any] = {"opponent": uneven, "seat": "first", "seed": 1, "batch": 500}
    once = ttt.train(GAMES, threads=1, **options)
    assert ttt.train(GAMES, threads=2, **options) == once
    ttt.train(GAMES // 2, out=tmp_path / "half.h5", **options)
    assert ttt.train(resume=tmp_path / "half.h5", more=GAMES // 2, opponent=uneven) == once


def test_other_probabilities_are_another_opponent(tmp_path: Path) -> None:
    ttt.train(1000, opponent=uneven, seat="first", batch=500, out=tmp_path / "run.h5")
    with pytest.raises(ttt.TttBatchError, match="was trained against another run or agent"):
        ttt.train(resume=tmp_path / "run.h5", more=1000, opponent=reversed_uneven)
