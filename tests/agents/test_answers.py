"""Wrong answers of agents: one line with the position and the answer."""

import functools
import time
from typing import Any

import numpy as np
import pytest

import ttt_batch as ttt
from ttt_batch.agents.base import Agent
from ttt_batch.core.errors import AgentError, UsageError


def answering(what):
    """An agent that answers so, whatever it is asked."""
    return lambda boards, to_move, legal: what(boards, legal)


def row(*chances):
    return lambda boards, legal: np.tile(np.array(chances), (len(boards), 1))


def raising(error):
    raise error


class NoArray:
    """A tensor that its graph still needs, for example."""

    def __array__(self, dtype=None, copy=None):
        raise RuntimeError("detach it first")


class Silent(Exception):
    def __str__(self):
        raise ValueError


WRONG = {
    "occupied": (lambda boards, legal: np.zeros(len(boards), int), "'XO. ... ...' (X to move)", "cell 0, which is occ"),
    "outside": (lambda boards, legal: np.full(len(boards), 9), "'... ... ...' (X to move)", "cell 9, outside 0 .. 8"),
    "negative": (lambda boards, legal: np.full(len(boards), -1), "'... ... ...'", "cell -1, outside"),
    "nan": (lambda boards, legal: np.full(legal.shape, np.nan), "'... ... ...'", "probability nan for cell 0"),
    "infinite": (lambda boards, legal: np.where(legal, np.inf, 0), "'... ... ...'", "probability inf for cell 0"),
    "less than 0": (row(-1.0, 2, 0, 0, 0, 0, 0, 0, 0), "'... ... ...'", "probability -1 for cell 0"),
    "sum": (lambda boards, legal: legal * 0.1, "'... ... ...'", "probabilities that sum to 0.9"),
    "occupied chance": (lambda boards, legal: np.full(legal.shape, 1 / 9), "'XO. ... ...'", "for cell 0, which is occ"),
    "shape": (lambda boards, legal: np.zeros((len(boards), 3)), "'... ... ...'", "float64[1, 3] to 1 position"),
    "too many": (lambda boards, legal: np.zeros(len(boards) + 1, int), "'... ... ...'", "int64[2] to 1 position"),
    "cells as floats": (lambda boards, legal: np.zeros(len(boards)), "'... ... ...'", "float64[1] to 1 position"),
    "nothing": (lambda boards, legal: None, "'... ... ...'", "answered None to 1 position, "),
    "one number": (lambda boards, legal: 4, "'... ... ...'", "answered 4 to 1 position, "),
    "text": (lambda boards, legal: "\x1b[2J", "'... ... ...'", "answered '\\x1b[2J' to 1 position, "),
    "generator": (lambda boards, legal: (4 for _ in boards), "'... ... ...'", "an object of generator to 1 position"),
    "bools": (lambda boards, legal: legal, "'... ... ...'", "bool[1, 9] to 1 position"),
    "objects": (lambda boards, legal: np.full(len(boards), 4, object), "'... ... ...'", "object[1] to 1 position"),
    "complex": (lambda boards, legal: np.zeros(len(boards), complex), "'... ... ...'", "complex128[1] to 1 position"),
    "huge": (
        lambda boards, legal: np.full(len(boards), 2**64 - 1, np.uint64),
        "'... ... ...'",
        "cell 18446744073709551615",
    ),
    "too likely": (lambda boards, legal: legal * 1e308, "'... ... ...'", "probabilities that sum to inf"),
    "long": (lambda boards, legal: legal * np.longdouble("1e400"), "'... ... ...'", "probability inf for cell 0"),
    "ragged": (
        lambda boards, legal: [[1], [1, 2]],
        "'... ... ...' (X to move)",
        "did not answer with an array when asked about 1",
    ),
    "no array": (
        lambda boards, legal: NoArray(),
        "'... ... ...'",
        "did not answer with an array when asked about 1 position",
    ),
    "exception": (lambda boards, legal: 1 // 0, "'... ... ...'", "failed when asked about 1 position"),
    "exit": (lambda boards, legal: exit(3), "'... ... ...'", "SystemExit: 3"),
    "Ctrl-C of its own": (lambda boards, legal: raising(KeyboardInterrupt), "'... ... ...'", "KeyboardInterrupt"),
    "recursion": (lambda boards, legal: WRONG["recursion"][0](boards, legal), "'... ... ...'", "RecursionError"),
    "no text": (lambda boards, legal: raising(Silent), "'... ... ...'", "Silent"),
    "escapes": (lambda boards, legal: raising(ValueError("\x1b[2J\nx")), "'... ... ...'", "ValueError: \\x1b[2J\\nx"),
}


@pytest.mark.parametrize("fault", WRONG)
def test_a_wrong_answer_is_one_line(fault):
    what, position, said = WRONG[fault]
    with pytest.raises(AgentError) as failed:
        ttt.judge(answering(what))
    message = str(failed.value)
    assert said in message and message.isprintable()
    assert position in message


def test_an_illegal_move_may_lose_instead():
    judged = ttt.judge(answering(WRONG["occupied"][0]), illegal="loses")
    assert judged.unbeatable == {"first": False, "second": False}
    assert judged.losing_line == {"first": [0, 1, 0], "second": [0, 0]}
    assert (judged.first, judged.second) == ((0, 0, 1), (0, 0, 1))
    spread = ttt.judge(answering(WRONG["occupied chance"][0]), illegal="loses")
    assert spread.losing_line["second"] == [0, 0] and spread.first[2] > 0.5
    with pytest.raises(AgentError, match="outside"):
        ttt.judge(answering(WRONG["outside"][0]), illegal="loses")
    with pytest.raises(UsageError, match="illegal"):
        ttt.judge(answering(WRONG["occupied"][0]), illegal="wins")


@pytest.mark.parametrize("how", ["computing", "waiting"])
def test_a_hang_ends_after_the_time_limit(how):
    def hangs(boards, to_move, legal):
        while True:
            time.sleep(0.001 if how == "waiting" else 0)

    begun = time.monotonic()
    with pytest.raises(AgentError, match=r"hangs did not answer within 0.2 s when asked about 1 position"):
        ttt.judge(hangs, time_limit=0.2)
    assert time.monotonic() - begun < 60  # at once on an idle machine


@pytest.mark.parametrize("limit", [0, -1, "abc", 1e9, float("nan")])
def test_a_time_limit_is_a_number_of_seconds(limit):
    with pytest.raises(UsageError):
        ttt.judge(answering(lambda boards, legal: legal.argmax(1)), time_limit=limit)


def test_answers_of_other_types_count():
    for kind in (np.int8, np.uint64):
        assert ttt.judge(answering(lambda boards, legal, kind=kind: legal.argmax(1).astype(kind))).first
    assert ttt.judge(answering(lambda boards, legal: legal.argmax(1).tolist())).first
    soft = answering(lambda boards, legal: (legal / legal.sum(1, keepdims=True)).astype(np.float32))
    assert ttt.judge(soft).unbeatable == {"first": False, "second": False}


def test_an_agent_may_change_what_it_is_given():
    def greedy_hand(boards, to_move, legal):
        cells = legal.argmax(1)
        boards[:], to_move[:], legal[:] = 7, 7, False
        return cells

    assert ttt.judge(greedy_hand).first == ttt.judge(answering(lambda boards, legal: legal.argmax(1))).first


def test_what_it_returned_stays_what_it_was():
    kept = []

    def holds_on(boards, to_move, legal):
        for before in kept:
            before[:] = 100
        kept.append(legal.argmax(1))
        return kept[-1]

    assert ttt.judge(holds_on).to_dict()["first"] == ttt.judge(lambda b, t, legal: legal.argmax(1)).to_dict()["first"]


def test_what_is_no_agent():
    for what in (5, None, [1], object(), NoArray, {".........": 0.5}):
        with pytest.raises(UsageError):
            ttt.judge(what)
    with pytest.raises(
        UsageError, match=r"not an agent: {'': 0.5}; give a callable such as agent\(board\), a run file"
    ):
        ttt.judge({"": 0.5})


def lowest_free(board: Any) -> int:
    """The lowest free cell of one position."""
    return int(np.flatnonzero(board == 0)[0])


class OneByOne:
    """It can be called with one position."""

    def __call__(self, board: Any) -> Any:
        return lowest_free(board)


class Static:
    __call__ = staticmethod(lowest_free)


SINGLE: dict[str, Any] = {
    "cell": lowest_free,
    "NumPy's": lambda board: np.flatnonzero(board == 0)[0],
    "array of one": lambda board: np.flatnonzero(board == 0)[:1],
    "pair": lambda board: divmod(lowest_free(board), board.shape[1]),
    "pair as an array": lambda board: np.argwhere(board == 0)[0],
    "probabilities": lambda board: np.eye(board.size, dtype=np.float32)[lowest_free(board)],
    "probabilities by row": lambda board: np.eye(board.size)[lowest_free(board)].reshape(board.shape),
    "a list of whole ones": lambda board: [int(cell == lowest_free(board)) for cell in range(board.size)],
    "settings": lambda board, depth=3, verbose=False: lowest_free(board),
    "partial": functools.partial(lambda depth, board: lowest_free(board), 3),
    "object": OneByOne(),
    "method": OneByOne().__call__,
    "static": Static(),
}


@pytest.mark.sampled(3)
@pytest.mark.parametrize("form", SINGLE)
def test_an_agent_of_one_argument_answers_one_position_at_a_time(form: str) -> None:
    batches = ttt.judge(lambda boards, to_move, legal: legal.argmax(1), "2x4x3").to_dict()
    assert ttt.judge(SINGLE[form], "2x4x3").to_dict() == batches


def test_one_position_is_the_movers_view_of_a_real_board() -> None:
    def agent(board: Any) -> Any:
        assert board.dtype == np.int8 and board.shape == (3, 3)
        assert (board == 1).sum() == (board == -1).sum() - (board.sum() == -1)
        board[:] = 7  # its own
        return np.full(9, 1 / 9)

    with pytest.raises(AgentError, match=r"'XO. ... ...' \(X to move\) agent answered probability 0.111111 for cell 0"):
        ttt.judge(agent)


WRONG_SINGLE = {
    "nothing": (lambda board: None, "answered None; return a cell (an int 0 .. 8), a pair of ints (row, column) from"),
    "float": (lambda board: 4.0, "answered 4.0; return a cell (an int 0 .. 8)"),
    "bool": (lambda board: True, "answered True; return a cell"),
    "text": (lambda board: "b2", "answered 'b2'; return a cell"),
    "pair outside": (lambda board: (0, 3), "answered [0, 3]; return a cell (an int 0 .. 8), a pair of ints (row"),
    "pair below": (lambda board: (-1, 0), "answered [-1, 0]; return a cell"),
    "cell outside": (lambda board: 9, "answered cell 9, outside 0 .. 8; cells count from 0"),
    "occupied": (lambda board: 0, "answered cell 0, which is occupied"),
    "three": (lambda board: [0, 1, 2], "answered [0, 1, 2]; return a cell"),
    "values": (lambda board: [0.5] * 9, "answered probabilities that sum to 4.5; let them sum to 1"),
    "ragged": (lambda board: [[1], [1, 2]], "did not answer with an array when asked about 1 position"),
    "generator": (lambda board: (cell for cell in board), "return a cell"),
    "exception": (
        lambda board: 1 // 0,
        "failed when asked about 1 position, the first '... ... ...' (X to move): Zero",
    ),
    "two": (lambda board, legal: 0, "takes 2 arguments; give agent(board) for one position at a time, or agent(boards"),
    "none": (lambda: 0, "takes 0 arguments; give agent(board)"),
    "four": (lambda boards, to_move, legal, more: 0, "takes 4 arguments; give agent(board)"),
}


@pytest.mark.parametrize("fault", WRONG_SINGLE)
def test_a_wrong_answer_to_one_position_is_one_line(fault: str) -> None:
    what, said = WRONG_SINGLE[fault]
    with pytest.raises(ttt.TttBatchError) as failed:
        ttt.judge(what)
    message = str(failed.value)
    assert said in message and message.isprintable()
    assert "position" in message


def test_the_time_limit_is_for_each_position() -> None:
    asked = []

    def ponders(board: Any) -> int:
        asked.append(board)
        time.sleep(0.1 if len(asked) < 30 else 60)  # longer than the limit in all, before one that takes too long
        return lowest_free(board)

    with pytest.raises(AgentError, match=r"did not answer within 2 s when asked about 1 position, the first"):
        ttt.judge(ponders, time_limit=2)
    assert len(asked) == 30


def test_a_batch_with_defaults_stays_a_batch() -> None:
    sizes = set()

    def agent(boards: Any, to_move: Any = None, legal: Any = None, *, temperature: float = 1.0) -> Any:
        sizes.add(len(boards))
        return legal.argmax(1)

    assert ttt.judge(agent).first and max(sizes) > 20
    assert ttt.judge(lambda *batch: batch[2].argmax(1)).first


def test_other_commands_take_an_agent_of_one_argument() -> None:
    assert ttt.train(1000, opponent=lowest_free, seat="first").games == 1000
    assert ttt.tournament([lowest_free, "two-ply"]).exact
    moves = ttt.show(lowest_free, "5 1").to_dict()["moves"]
    assert [move["cell"] for move in moves if move["probability"]] == [1]


class Occupies(Agent):
    """It chooses cell 0, and loses if that is occupied."""

    name, loses = "occupies", True

    def ask(self, batch: Any) -> Any:
        return np.zeros(batch.size, np.int64)


def test_an_occupied_cell_is_told_of_where_it_cannot_lose() -> None:
    with pytest.raises(ttt.TttBatchError, match=r"occupies chose cell 0, which is occupied"):
        ttt.train(10, opponent=Occupies(), seat="first")


class Ragged(Occupies):
    """It answers lists of different lengths."""

    def ask(self, batch: Any) -> Any:
        return [[1], [2, 3]]


def test_lists_of_different_lengths_are_no_answer() -> None:
    with pytest.raises(ttt.TttBatchError, match="occupies answered None"):
        ttt.judge(Ragged())
