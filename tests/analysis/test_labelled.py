"""Files of positions with results: public sets, what cannot occur, and how often values, labels and truth agree."""

import json
import random
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from helpers.support import command

import ttt_batch as ttt
from ttt_batch.analysis.position import LabelledEvaluation
from ttt_batch.games.board import FIRST_WINS, UNFINISHED, parse_board
from ttt_batch.games.notation import check_possible, rows_text

BOARD = ttt.Board()
EVERY = [
    marks
    for marks in product((0, 1, 2), repeat=9)
    if marks.count(1) - marks.count(2) in (0, 1) and not any(marks[a] == 3 for a in range(9))
]


def possible(marks: tuple[int, ...]) -> bool:
    try:
        return bool(check_possible(marks, BOARD))
    except ttt.BoardError:
        return False


POSSIBLE = [marks for marks in EVERY if possible(marks)]


def line_of(marks: tuple[int, ...], label: str) -> str:
    return ",".join([*("bxo"[mark] for mark in marks), label])


def set_of_ends() -> list[str]:
    """The lines of the public set of tic-tac-toe, made by the rules, in another order."""
    ends = [marks for marks in POSSIBLE if BOARD.outcome(marks) != UNFINISHED]
    return [line_of(marks, "positive" if BOARD.outcome(marks) == FIRST_WINS else "negative") for marks in ends]


@pytest.fixture(scope="module")
def run() -> ttt.Run:
    return ttt.train(300, seed=1)


def judged(agent: object, positions: object) -> LabelledEvaluation:
    result = ttt.evaluate(agent, positions=positions)  # type: ignore[arg-type]
    assert isinstance(result, LabelledEvaluation)
    return result


@pytest.mark.slow
def test_the_public_set_of_ends_is_right(run: ttt.Run, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = set_of_ends()
    assert len(lines) == 958 and sum(line.endswith("positive") for line in lines) == 626
    path, file = tmp_path / "tic-tac-toe.data", run.save(tmp_path / "run.h5")
    path.write_text("\n".join(lines))
    status, out, err = command(capsys, "evaluate", file, "--positions", path, "--json", "-q")
    found = json.loads(out)
    assert (status, err) == (0, "") and found == judged(run, path).to_dict() == judged(file, str(path)).to_dict()
    assert (found["positions"], found["final"], found["left_out"], found["unvalued"]) == (958, 958, 0, 0)
    whole = {"agree": 958, "of": 958}
    assert found["value_truth"] == found["value_label"] == found["label_truth"] == whole
    assert found["counts"]["draw"] == {"win": 0, "draw": 16, "loss": 0}
    status, out, _ = command(capsys, "evaluate", file, "--positions", path, "-q")
    assert status == 0 and "final: all of them, whose results follow from the rules" in out
    assert "label and exact truth             958      958   1.0000" in out


@pytest.mark.slow
def test_values_are_compared_with_the_truth_of_every_position(run: ttt.Run) -> None:
    """By hand: the class of a value is what the scale has nearest, and the truth that of the player to move."""
    going = [marks for marks in POSSIBLE if BOARD.outcome(marks) == UNFINISHED]
    lines = [line_of(marks, ("loss", "draw", "win")[1 + (run.true_value(marks) or 0)]) for marks in going]
    result = judged(run, lines)
    assert result.positions == len(going) == 4520 and result.final == 0 and result.compared_with == "truth"
    assert result.label_truth == (4520, 4520)
    agree = 0
    counts = np.zeros((3, 3), int)
    for marks in going:
        mover = sum(map(bool, marks)) % 2
        scale = [run.worth[mover, outcome] for outcome in (1 + mover, 3, 2 - mover)]
        valued = int(np.abs(np.array(scale) - run.value(marks)).argmin())
        true = 1 - (run.true_value(marks) or 0) * (-1 if mover else 1)
        agree += valued == true
        counts[true, valued] += 1
    assert result.value_truth == result.value_label == (agree, 4520) and 0 < agree < 4520
    assert [list(row.values()) for row in result.counts.values()] == counts.tolist()
    assert result.to_frame().to_numpy().tolist() == counts.tolist()


def test_wrong_labels_are_counted(run: ttt.Run) -> None:
    lines = set_of_ends()
    swapped = [line.replace("positive", "X").replace("negative", "positive") for line in lines]
    result = judged(run, swapped)
    assert result.label_truth == (626, 958) and result.value_truth == (958, 958)


@pytest.mark.slow
def test_an_agent_plays_both_sides_on(run: ttt.Run) -> None:
    going = [marks for marks in POSSIBLE if BOARD.outcome(marks) == UNFINISHED]
    lines = [rows_text(BOARD, marks) for marks in going]
    best = judged("optimal", lines)
    assert best.judged_by == "play" and best.value_truth == (4520, 4520) and best.value_label == (0, 0)

    def lowest(boards, to_move, legal):  # type: ignore[no-untyped-def]
        return legal.argmax(1)

    def by_hand(marks: tuple[int, ...]) -> int:
        while BOARD.outcome(marks) == UNFINISHED:
            marks = BOARD.after(marks, marks.index(0))
        return {1: 1, 2: -1, 3: 0}[BOARD.outcome(marks)]

    assert judged(lowest, lines).value_truth == (sum(by_hand(marks) == run.true_value(marks) for marks in going), 4520)


def test_positions_that_cannot_occur_are_left_out_and_one_is_shown(run: ttt.Run) -> None:
    lines = ["c1,c2,c3,c4,c5,c6,c7,c8,c9,class", "# mine", '"x","x","x","o","o","o","b","b","b","win"', *set_of_ends()]
    result = judged(run, [*lines, "x,x,x,x,b,b,b,b,b,win"])
    assert (result.positions, result.left_out) == (958, 2)
    assert result.left_out_example == "line 3: XXX/OOO/...: no game reaches it: one that has a line is over"
    assert "left out: 2 that no game reaches; line 3: XXX/OOO/...: no" in str(result)
    with pytest.raises(
        ttt.GamesError, match=r"^positions: no game reaches any of its 1 positions; the first: line 1: "
    ):
        judged(run, ["x,x,x,x,b,b,b,b,b,win"])


@pytest.mark.parametrize("order", ["columns from the bottom", "rows from the top"])
def test_positions_of_connect_four(order: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Their cells come column by column from the bottom, and another order is found; the truth is not known."""
    board, rng, lines = parse_board("6x7x4-gravity"), random.Random(1), []
    for _ in range(50):
        marks = (0,) * 42
        for _ in range(8):
            marks = board.after(marks, rng.choice(board.open_cells(marks)))
        cells = [(5 - row) * 7 + col for col in range(7) for row in range(6)]
        lines.append(
            ",".join(["bxo"[marks[cell]] for cell in (cells if order.startswith("columns") else range(42))] + ["win"])
        )
    path = tmp_path / "connect-4.data"
    path.write_text("\n".join(lines))
    result = judged("two-ply", path)
    assert (result.board, result.positions, result.left_out) == (board, 50, 0)
    assert result.compared_with == "label" and result.value_truth.of == 0 and result.value_label.of == 50
    status, out, _ = command(capsys, "evaluate", "two-ply", "--positions", path, "-q")
    assert status == 0 and out.startswith("two-ply on 6x7x4-gravity\npositions: 50 in ")
    assert "value and exact truth: not compared, truth is not known" in out


def test_positions_of_another_board_and_other_mistakes(run: ttt.Run, tmp_path: Path) -> None:
    with pytest.raises(ttt.BoardError) as caught:
        judged(run, [f"{','.join('xo' + 40 * 'b')},win"])
    assert str(caught.value) == (
        "positions holds positions of 42 cells, and the board is 3x3; name a run or an agent of 6x7x4-gravity"
    )
    for line, why in (
        ("x,q,b,b,b,b,b,b,b,win", "line 1: field 2, 'q', is no mark; write x, o, and b for a free cell"),
        ("x,b,b,b,b,b,b,b,b,good", "line 1: label 'good' is no result; write win, draw or loss of X, or positive or"),
        ("0 3 1 4 2", "positions holds positions of 5 cells, and the board is 3x3"),
        ("hellohere", "line 1: field 1, 'h', is no mark; "),
    ):
        with pytest.raises((ttt.GamesError, ttt.BoardError)) as caught:
            judged(run, [line])
        assert why in str(caught.value), line
    with pytest.raises(
        ttt.GamesError, match=r"positions: no positions; give a line such as x,x,x,x,o,o,x,o,o,positive"
    ):
        judged(run, [])
    with pytest.raises(ttt.GamesError, match=r"cannot read positions from .*none: No such file .*; name a text"):
        judged(run, tmp_path / "none")
    with pytest.raises(ttt.UsageError, match=r"^positions compares values of positions; leave against out$"):
        ttt.evaluate(run, "random", positions=set_of_ends())
    with pytest.raises(ttt.UsageError, match="leave as_played out"):
        ttt.evaluate(run, as_played=True, positions=set_of_ends())


@pytest.mark.slow
def test_a_run_of_networks_is_compared_too(pattern_run: ttt.PatternRun) -> None:
    result = judged(pattern_run, ["x,b,b,b,b,o,b,b,b,b,b,b,b,b,b,b,draw"])
    assert result.positions == 1 and result.judged_by == "values" and result.value_label.of == 1
