"""Boards on which marks fall: their positions, values and games, against what is written down or counted naively."""

from io import StringIO

import numpy as np
import pytest

import ttt_batch as ttt
from ttt_batch.agents.external import at_board
from ttt_batch.analysis.matches import play_scripted
from ttt_batch.app.terminal.loop import play_in_terminal


def test_symmetry_merges_the_left_and_the_right() -> None:
    run = ttt.train(3_000, board="3x3-gravity", symmetry="on", batch=1, seed=2)
    for code in run.graph.code.tolist():
        marks = run.board.decode(code)
        mirrored = tuple(marks[row + col] for row in (0, 3, 6) for col in (2, 1, 0))
        assert run.value(marks) == run.value(mirrored)
        assert code <= run.board.encode(mirrored)


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["walk", "flow"])
def test_it_is_learnt_and_judged_exactly(engine: str):
    """The exact evaluation agrees with the games of `Batch`, step by step."""
    run = ttt.train(20_000, board="4x4x4-gravity", engine=engine, epsilon=0.5, seed=1)
    assert run.truth(0).result == 0
    assert set(run.move_values(0)) == {12, 13, 14, 15}
    assert {truth.result for truth in run.true_moves(0).values()} <= {-1, 0, 1}
    expected = run.evaluation("random").first
    batch, count = ttt.Batch(5000, "4x4x4-gravity", 3, run, "same-step", seat="second"), np.zeros(3)
    for _ in range(80):
        seen = batch.step(batch.sample())
        count += [(seen.rewards[seen.terminated, 0] == value).sum() for value in (1, 0, -1)]
    assert np.abs(count / count.sum() - expected).max() < 0.02


def test_moves_must_fall():
    board = ttt.parse_board("3x3-gravity")
    for position in ("1", "7 1", "X../.../..."):
        with pytest.raises(ttt.BoardError, match=r"cell below it is free|marks fall"):
            ttt.train(100, board=board).position(position)


def test_a_person_plays_against_random_moves_by_columns():
    """Typed cells stand for their columns; a full one is refused, and what was overlooked is possible."""
    out = StringIO()
    with at_board("random", "2x4x3-gravity") as agent:
        typed = StringIO("a1\na\na\na\nb\nc\nd\nb\nc\nd\n")
        play_in_terminal(agent, person=0, stdin=typed, stdout=out, seed=4, plain=True)
    assert "column a is full" in out.getvalue()
    assert "The agent plays" in out.getvalue()


def test_agents_are_judged_as_runs_are_where_marks_fall():
    """They are told which cells are open; one that picks any of them is judged as random play."""

    def highest(boards, to_move, legal):
        free = boards.reshape(legal.shape) == 0
        below = np.ones_like(free).reshape(boards.shape)
        below[:, :-1] = boards[:, 1:] != 0
        assert (legal == free & below.reshape(legal.shape)).all()
        return legal / legal.sum(1, keepdims=True)

    mine, known = ttt.judge(highest, board="3x4x3-gravity"), ttt.judge("random", board="3x4x3-gravity")
    assert mine.first == pytest.approx(known.first) and mine.second == pytest.approx(known.second)
    assert mine.losing_line == known.losing_line and mine.unbeatable == {"first": False, "second": False}


def test_a_move_into_the_air_loses_where_illegal_moves_do():
    """An agent that takes the lowest free cell floats at once; in the other seat it loses by the same fault."""

    def highest(boards, to_move, legal):
        return (boards.reshape(legal.shape) == 0).argmax(1)

    with pytest.raises(ttt.AgentError, match="cell 0, which is occupied or in the air; illegal='loses' lets it lose"):
        ttt.judge(highest, board="3x3-gravity")
    found = ttt.judge(highest, board="3x3-gravity", illegal="loses")
    assert found.first == found.second == (0.0, 0.0, 1.0)
    assert found.losing_line["first"] == [0]
    with at_board(highest, "3x3-gravity", illegal="loses") as agent:
        assert play_scripted(agent, "random", "first", games=40) == (0, 0, 40)
