"""Networks compared: with themselves, with others and with tables; counts against play by hand."""

import pytest
from oracle.streams import below, drawn

import ttt_batch as ttt
from ttt_batch.analysis.compare import GAMES, SEED, compare_runs
from ttt_batch.app.reports.training import comparison_text
from ttt_batch.compiler.numerics import MEETINGS, stream_key
from ttt_batch.core.errors import BoardError
from ttt_batch.games.board import EMPTY, UNFINISHED
from ttt_batch.runs.network_run import PatternRun


def test_a_run_is_like_itself(pattern_run: PatternRun) -> None:
    found = compare_runs(pattern_run, pattern_run)
    assert found["tables"]["differing"] == found["policies"]["differing"] == 0 and found["examples"] == []
    assert found["tables"]["entries"] > 100 and found["policies"]["positions"] > 5000


def test_positions_and_moves_are_those_of_random_games() -> None:
    one, other = (ttt.train(64, learner="patterns", board="3x3", prove_every=0, seed=seed) for seed in (1, 2))
    board, key, positions = one.board, stream_key(SEED, MEETINGS), set()
    for game in range(GAMES):
        position, ply = (EMPTY,) * 9, 0
        while board.outcome(position) == UNFINISHED:
            positions.add(position)
            free = [cell for cell in range(9) if position[cell] == EMPTY]
            position = board.after(position, free[below(drawn(key, game, ply), len(free))])
            ply += 1
    differing = [position for position in positions if one.candidates(position) != other.candidates(position)]
    found = compare_runs(one, other)
    assert found["policies"] == {"positions": len(positions), "differing": len(differing), "games": 1000, "seed": 0}
    weights = one.agent.weights != other.agent.weights
    assert 0 < found["tables"]["differing"] <= weights.sum() and found["tables"]["largest_difference"] > 0
    text = comparison_text(found, "a.h5", "b.h5", board)
    assert f"other moves in {len(differing):,} of {len(positions):,} positions" in text and "a.h5: " in text


def test_others_have_moves_to_compare(pattern_run: PatternRun) -> None:
    table = ttt.train(100, board="3x3")
    found = compare_runs(ttt.train(64, learner="patterns", board="3x3", prove_every=0), table)
    assert found["tables"] is None and found["policies"]["differing"] > 0
    with pytest.raises(BoardError, match="one run plays 4x4x4, the other 3x3"):
        compare_runs(pattern_run, table)
