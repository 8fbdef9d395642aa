"""Where batches end, against games counted off one by one, and both engines on growing batches."""

import itertools
from pathlib import Path

import numpy as np
import pytest

from ttt_batch.core.errors import UsageError
from ttt_batch.runs.config import config_from_dict, make_config
from ttt_batch.runs.options import MAX_GAMES, parse_batch
from ttt_batch.runs.schedules import (
    Batches,
    batch_bounds,
    batch_parity,
    first_game_of_size,
    make_batches,
    record_schedule,
)
from ttt_batch.simulation.walk import MAX_WALKED
from ttt_batch.training.train import train


def counted_off(batches: Batches, games: int) -> list[tuple[int, int]]:
    """The batches of the first `games` games, by the definition: doubled once the experience allows it."""
    found, start, size = [], 0, batches.least
    while start < games:
        while size < batches.most and start >= batches.games_per_game * 2 * size:
            size *= 2
        found.append((start, start + size))
        start += size
    return found


@pytest.mark.parametrize(
    "batches", [make_batches(1), make_batches(7), make_batches("auto"), make_batches("auto", 2048), Batches(4, 64, 4)]
)
def test_batches_are_functions_of_the_game_number(batches: Batches) -> None:
    games = 200 if batches.most == 1 else 20_000
    for number, (start, end) in enumerate(counted_off(batches, games)):
        for game in {start, (start + end) // 2, end - 1}:
            assert batch_bounds(batches, game) == (start, end)
            assert batch_parity(batches, game) == number % 2
        size = end - start
        assert start == 0 or size <= max(batches.least, start // batches.games_per_game)


@pytest.mark.parametrize("most", [MAX_GAMES, MAX_WALKED, 1 << 20])
def test_growing_batches_reach_their_bound_and_stay_there(most: int) -> None:
    batches = make_batches("auto", most)
    start, end = batch_bounds(batches, MAX_GAMES - 1)
    assert most / 2 < batches.most <= most
    assert end - start == min(batches.most, 1 << ((MAX_GAMES - 1) // batches.games_per_game // 2).bit_length())
    for size in (1, 256, 257, 1 << 15, batches.most):
        first = first_game_of_size(batches, size)
        assert first is not None
        sizes = [end - start for start, end in (batch_bounds(batches, max(first - 1, 0)), batch_bounds(batches, first))]
        assert sizes[1] >= size and (first == 0 or sizes[0] < size)
    assert first_game_of_size(batches, batches.most + 1) is None


@pytest.mark.parametrize("number", [1, 2, 8])
def test_growing_batches_are_recorded_so_many_times_an_octave(number: int) -> None:
    batches, dense = make_batches("auto"), 4 * number
    points = list(itertools.takewhile(lambda point: point < 10**12, record_schedule(batches, number)))
    assert points[:dense] == [end for _, end in counted_off(batches, points[dense - 1])]
    assert all(batch_bounds(batches, point)[0] == point for point in points)
    assert points == sorted(set(points))
    octaves = [sum(2**k <= point < 2 ** (k + 1) for point in points) for k in range(20, 39)]
    assert all(abs(n - number) <= 2 for n in octaves) and number * 0.75 <= sum(octaves) / len(octaves) <= number


def test_large_boards_record_fewer_points_unless_asked() -> None:
    usual = {"3x3": 8, "3x4": 8, "4x4x3-gravity": 8, "3x5": 2, "4x4": 2, "5x5": 8}  # 5x5 grows, and is not judged
    assert {board: make_config(board=board).points for board in usual} == usual
    assert "points" not in make_config().to_dict() and make_config(board="4x4").to_dict()["points"] == 2
    old = make_config(board="4x4", points=8)
    assert "points" not in old.to_dict() and config_from_dict(old.to_dict()) == old
    for bad in (0, 1001, "many"):
        with pytest.raises(UsageError, match="points"):
            make_config(points=bad)


def test_a_resumed_run_keeps_its_points(tmp_path: Path) -> None:
    whole = train(5000, points=3, batch=16)
    train(1000, points=3, batch=16, out=tmp_path / "run.h5")
    resumed = train(resume=tmp_path / "run.h5", until=5000)
    assert resumed.config == whole.config
    assert np.array_equal(resumed.statistics["games"], whole.statistics["games"])
    assert len(whole.statistics["games"]) < len(train(5000, batch=16).statistics["games"]) / 2
    with pytest.raises(UsageError, match="was trained with points 3, not 8; leave that out"):
        train(resume=tmp_path / "run.h5", points=8, more=1000)


def test_a_number_of_games_or_auto() -> None:
    assert parse_batch("auto") == parse_batch("Auto") == "auto"
    assert parse_batch("16_384") == 16_384 and parse_batch("10k") == 10_000 and parse_batch(5) == 5
    for bad in ("", "some", "1.5", "1,5", 1.5, None, True):
        remedy = "is not a number of games; give a whole number, e.g. 16384 or 10k, or auto$"
        with pytest.raises(UsageError, match=f"^batch .* {remedy}"):
            parse_batch(bad)  # type: ignore[arg-type]


def test_what_an_engine_cannot_play_is_refused() -> None:
    with pytest.raises(UsageError, match="belongs to engine='walk'"):
        make_config(engine="flow", batch=1)
    with pytest.raises(UsageError, match="choose engine='flow'"):
        make_config(batch=MAX_WALKED + 1)
    with pytest.raises(UsageError, match="outside"):
        make_config(engine="flow", batch=MAX_GAMES + 1)
    with pytest.raises(UsageError, match="plays no games to record"):
        train(1000, engine="flow", record="games.txt")


def test_growing_batches_with_a_seat_in_turn_stop_anywhere() -> None:
    """Against an opponent the seats alternate by batch, whatever its size."""
    whole = train(200_000, batch="auto", opponent="random")
    points = whole.statistics["games"]
    assert len(points) > 40
    shorter = train(int(points[20]), batch="auto", opponent="random")
    assert (shorter.statistics["outcomes"] == whole.statistics["outcomes"][:21]).all()
    assert (shorter.statistics["value_error"] == whole.statistics["value_error"][:21]).all()


def test_flow_learns_from_any_number_of_games() -> None:
    batch = 10**15
    run = train(batch, engine="flow", batch=batch, epsilon=1.0, learner="td", alpha=1.0)
    assert run.games == batch and run.statistics["outcomes"][-1].sum() == batch
    assert run.statistics["unbeatable"][-1].all()
