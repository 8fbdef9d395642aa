"""Names as people write them: taken for what they mean, or refused with the one that was probably meant."""

import pytest

from ttt_batch.core.errors import UsageError
from ttt_batch.core.text import OPPONENT_HINTS, choose, choose_seat, find_name
from ttt_batch.learners import LEARNERS, learner_named
from ttt_batch.runs.formats import FORMATS, format_named

pytestmark = pytest.mark.quick_learners(*LEARNERS)  # nothing is compiled

NAMES = ("random", "one-ply", "two-ply", "optimal", "self")


@pytest.mark.parametrize(
    ("choose_one", "found", "names"),
    [
        (learner_named, LEARNERS["td"], ["TD", " td "]),
        (learner_named, LEARNERS["sutton-barto"], ["sutton_barto", "Sutton Barto"]),
        (learner_named, LEARNERS["minimax-q"], ["minimaxQ"]),
        (format_named, FORMATS["csv"], ["CSV"]),
        (format_named, FORMATS["pickle-text"], ["Pickle_Text"]),
        (choose_seat, "first", ["first", "First", "X", "x", "1st", "1"]),
        (lambda given: choose_seat(given, "both"), "second", ["second", "O", "o", "2nd", "2"]),
    ],
)
def test_names_as_people_write_them(choose_one, found, names):
    assert all(choose_one(name) is found or choose_one(name) == found for name in names)


@pytest.mark.parametrize(
    ("given", "meant"),
    [("minimax", "optimal"), ("Optimum", "optimal"), ("rand", "random"), ("oneply.", "one-ply"), ("two", "two-ply")],
)
def test_a_name_that_was_probably_meant(given, meant):
    with pytest.raises(UsageError, match=rf"unknown opponent '.*' \(did you mean {meant}\?\); choose one of: random, "):
        choose("opponent", given, NAMES, hints=OPPONENT_HINTS)


@pytest.mark.parametrize("given", ["xyzzy", "", " ", None, 3, ["td"], "-"])
def test_what_resembles_nothing(given):
    with pytest.raises(UsageError, match=r"unknown engine .*; choose walk or flow$") as e:
        choose("engine", given, ("walk", "flow"))
    assert "did you mean" not in str(e.value)


def test_a_name_with_two_meanings_is_none_of_them():
    assert find_name("AB", ("a-b", "a_b")) is None
    assert find_name("a_b", ("a-b", "a_b")) == "a_b"
    with pytest.raises(UsageError, match="did you mean a-b"):
        choose("learner", "AB", ("a-b", "a_b"))


def test_a_long_name_costs_a_short_line():
    with pytest.raises(UsageError) as e:
        choose("engine", "x" * 100_000, ("walk", "flow"))
    assert len(str(e.value)) < 120


def test_what_else_may_be_given_is_said():
    with pytest.raises(UsageError, match="choose random, optimal or a run file"):
        choose("opponent", "nobody", ("random", "optimal"), others="a run file")
