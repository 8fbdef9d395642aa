"""What agents answer wrongly, and what becomes of it: one line with the position and the answer."""

import time

import numpy as np
import pytest

import ttt_batch as ttt
from ttt_batch.base.errors import AgentError, UsageError


def answering(what):
    """An agent that answers so, whatever it is asked."""
    return lambda boards, to_move, legal: what(boards, legal)


def row(*chances):
    return lambda boards, legal: np.tile(np.array(chances), (len(boards), 1))


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
    "nothing": (lambda boards, legal: None, "'... ... ...'", "object[] to 1 position"),
    "text": (lambda boards, legal: "5", "'... ... ...'", "to 1 position"),
    "ragged": (lambda boards, legal: [[1], [1, 2]], "first", "no array"),
    "exception": (lambda boards, legal: 1 // 0, "'... ... ...'", "failed when asked about 1 position"),
    "exit": (lambda boards, legal: exit(3), "'... ... ...'", "SystemExit: 3"),
}


@pytest.mark.parametrize("fault", WRONG)
def test_a_wrong_answer_is_one_line(fault):
    what, position, said = WRONG[fault]
    with pytest.raises(AgentError) as failed:
        ttt.judge(answering(what))
    message = str(failed.value)
    assert said in message and "\n" not in message
    assert fault == "ragged" or position in message


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
    assert time.monotonic() - begun < 5


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


def test_what_is_no_agent():
    for what in (5, None, [1], object()):
        with pytest.raises(UsageError):
            ttt.judge(what)
