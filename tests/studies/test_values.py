"""Written values of an option become the list of its values."""

import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ttt_batch.core.errors import RunFileError, UsageError
from ttt_batch.core.text import MAX_VALUES
from ttt_batch.games.board import Board
from ttt_batch.runs.options import parse_schedule
from ttt_batch.studies.designs.methods import RunOpponent, written
from ttt_batch.studies.designs.values import seed_runs, seeds_of, values_of

HALVES = (0.5, 0.5)


def read(name, given):
    """The values as they are written."""
    return tuple(written(value) for value in values_of(name, given))


def seeds(given):
    return tuple(seeds_of(given))


def nested(depth):
    found = [0.1]
    for _ in range(depth):
        found = [found]
    return found


@pytest.mark.parametrize(
    ("name", "given", "values"),
    [
        ("alpha", "0.1", (0.1,)),
        ("alpha", 0.1, (0.1,)),
        ("alpha", " 0.1 ,0.2", (0.1, 0.2)),
        ("alpha", "0.1;0.2", (0.1, 0.2)),
        ("alpha", [0.1, "20%", "1/n"], (0.1, 0.2, "1/n")),
        ("alpha", (0.2, 0.1), (0.2, 0.1)),
        ("alpha", np.array([0.25, 0.5]), (0.25, 0.5)),
        ("alpha", [np.float64(0.25)], (0.25,)),
        ("alpha", "0.1,0.1,10%,1e-1", (0.1,)),
        ("alpha", "0.3->0.01:linear,1/n^0.8,0.1", ("0.3->0.01:linear", "1/n^0.8", 0.1)),
        ("alpha", parse_schedule("alpha", "1/n", positive=True), ("1/n",)),
        ("alpha", "0.1..0.5:5", (0.1, 0.2, 0.3, 0.4, 0.5)),
        ("alpha", "0.01, 0.1..0.3:3", (0.01, 0.1, 0.2, 0.3)),
        ("alpha", ["0.1..0.3:3", 0.9], (0.1, 0.2, 0.3, 0.9)),
        ("alpha", "1..0.1:3", (1.0, 0.55, 0.1)),
        ("alpha", "0.001..1:4log", (0.001, 0.01, 0.1, 1.0)),
        ("alpha", "1..0.01:3 LOG", (1.0, 0.1, 0.01)),
        ("epsilon", "0.01..0.5:6", (0.01, 0.108, 0.206, 0.304, 0.402, 0.5)),
        ("epsilon", "1% .. 3% : 3", (0.01, 0.02, 0.03)),
        ("epsilon", "0..1:3", (0.0, 0.5, 1.0)),
        ("gamma", "90%,1", (0.9, 1.0)),
        ("games", "1M,2M", (1_000_000, 2_000_000)),
        ("games", "1_000", (1000,)),
        ("games", "1,000;10,000", (1000, 10_000)),
        ("games", ["1,000", "10k"], (1000, 10_000)),
        ("games", range(10, 40, 10), (10, 20, 30)),
        ("games", "1k..1M:4log", (1000, 10_000, 100_000, 1_000_000)),
        ("batch", "64,128,256", (64, 128, 256)),
        ("batch", "auto,1..4:4", ("auto", 1, 2, 3, 4)),
        ("batch", "1..10:3", (1, 6, 10)),
        ("batch", "10..1:10", (10, 9, 8, 7, 6, 5, 4, 3, 2, 1)),
        ("batch", "1..10:10log", (1, 2, 3, 4, 5, 6, 8, 10)),
        ("batch", np.array([1, 2]), (1, 2)),
        ("draw_worth", "0.5,0.5", (HALVES,)),
        ("draw_worth", "0.5", (HALVES,)),
        ("draw_worth", "0.5,0.5; 1,0", (HALVES, (1.0, 0.0))),
        ("draw_worth", "0..1:3", ((0.0, 0.0), HALVES, (1.0, 1.0))),
        ("draw_worth", "-0.1..0.3:5", ((-0.1, -0.1), (0.0, 0.0), (0.1, 0.1), (0.2, 0.2), (0.3, 0.3))),
        ("draw_worth", (1, 0), ((1.0, 0.0),)),
        ("draw_worth", [0, 0.5, 1], ((0.0, 0.0), HALVES, (1.0, 1.0))),
        ("draw_worth", [[0.5, 0.5], (1, 0)], (HALVES, (1.0, 0.0))),
        ("draw_worth", ["0.5,0.5", "1,0"], (HALVES, (1.0, 0.0))),
        ("draw_worth", np.array([[0.5, 0.5], [1, 0]]), (HALVES, (1.0, 0.0))),
        ("explore", "softmax:0.1, Softmax:0.5", ("softmax:0.1", "softmax:0.5")),
        ("explore", "softmax:0.1..0.5:3,softmax:2", ("softmax:0.1", "softmax:0.3", "softmax:0.5", "softmax:2.0")),
        ("explore", ["softmax:0.01..1:3log"], ("softmax:0.01", "softmax:0.1", "softmax:1.0")),
        ("learner", "TD,sutton_barto", ("td", "sutton-barto")),
        ("board", ["3x3", Board(3, 4, 3), "3x4"], ("3x3", "3x4x3")),
        ("symmetry", [True, "no", "auto"], ("on", "off", "auto")),
        ("engine", "flow,walk", ("flow", "walk")),
        ("opponent", "self,Optimal", ("self", "optimal")),
        ("seat", "X,both", ("first", "both")),
    ],
)
def test_values(name, given, values):
    found = read(name, given)
    assert found == values and [type(value) for value in found] == [type(value) for value in values]


@given(st.floats(0, 1), st.floats(0, 1), st.integers(2, 50))
def test_a_range_is_even_and_has_its_ends(start, end, count):
    text = f"{start!r}..{end!r}:{count}"
    if start == end:
        with pytest.raises(UsageError, match="ends at its start"):
            values_of("gamma", text)
        return
    found = values_of("gamma", text)
    assert (found[0], found[-1]) == (start, end)
    if len(found) == count:  # fewer only if the floats between the ends are fewer
        # Floats below 2.3e-308 have fewer digits, which no relative error measures.
        assert np.allclose(found, np.linspace(start, end, count), rtol=1e-11, atol=1e-318)
    else:
        assert abs(end - start) < count * 2 * math.ulp(max(start, end))


@given(st.integers(1, 10**6), st.integers(1, 10**6), st.integers(2, 50), st.booleans())
def test_whole_numbers_are_whole_and_different(start, end, count, log):
    text = f"{start}..{end}:{count}{'log' * log}"
    if count > abs(end - start) + 1:
        with pytest.raises(UsageError, match=r"ends at its start|there are only"):
            values_of("games", text)
        return
    found = values_of("games", text)
    assert all(type(number) is int for number in found) and len(set(found)) == len(found) <= count
    assert (found[0], found[-1]) == (start, end) and list(found) in (sorted(found), sorted(found, reverse=True))
    exact = (np.geomspace if log else np.linspace)(start, end, count)
    assert all(np.abs(exact - number).min() <= 0.5 + 1e-6 for number in found)
    if not log:
        assert len(found) == count


@pytest.mark.parametrize(
    ("name", "given", "message"),
    [
        ("alpha", "", "alpha '' has an empty value"),
        ("alpha", ";", "alpha ';' has an empty value"),
        ("draw_worth", ";", "draw_worth ';' has an empty value"),
        ("alpha", "0.1,,0.2", "has an empty value; write one between every two ','"),
        ("alpha", "0.1,", "has an empty value"),
        ("alpha", [], "alpha is an empty list"),
        ("alpha", "fast", "alpha 'fast' is not a number"),
        ("alpha", "0.1,0", r"alpha 0 is outside \(0, 1\]"),
        ("alpha", "0..1:3", r"alpha 0 is outside \(0, 1\]"),
        ("epsilon", "1/n", "only alpha can depend on visits"),
        ("alpha", "nan..1:3", "alpha 'nan' is not a number"),
        ("alpha", "1/n..1:3", "a range has numbers as its ends, not '1/n'"),
        ("batch", "auto..16:3", "a range has numbers as its ends, not 'auto'"),
        ("draw_worth", "0.5,0..1:3", "a range has numbers as its ends, not '0.5,0'"),
        ("alpha", "0.1..0.5", "has no number of values; write 0.1..0.5:5"),
        ("alpha", "0.1..0.5:", "has no number of values"),
        ("alpha", "0.1..0.5:log", "has no number of values"),
        ("alpha", "0.1..0.5:many", "its number of values 'many' is not a whole number"),
        ("alpha", "0.1..0.5:1", "its number of values 1 is outside 2 .. 100,000"),
        ("alpha", "0.1..0.5:1000000000", "its number of values 1,000,000,000 is outside 2 .. 100,000"),
        ("alpha", "0.5..0.5:3", "ends at its start"),
        ("games", "5..5:3", "ends at its start"),
        ("epsilon", "0..1:3log", "equal ratios need both ends above 0"),
        ("draw_worth", "-1..1:3log", "equal ratios need both ends above 0"),
        ("batch", "1..3:10", "there are only 3 whole numbers"),
        ("batch", "0.5..3:2", "batch 0.5 is not a number of games"),
        ("batch", "10%..20%:2", "batch 10% is not a number of games"),
        ("games", "1,000", "commas separate values; write 1_000 or 1k for 1,000"),
        ("batch", "1,024", "write 1_024"),
        ("games", "10k,1,000,000", "write 1_000_000 or 1000k for 1,000,000"),
        ("games", "1,000..5,000:3", "commas separate values"),
        ("alpha", "०.१..1:3", "is not a number"),
        ("alpha", "0.1..1:३", "is not a whole number"),
        ("alpha", nested(10), "alpha has a list or table within its list"),
        ("draw_worth", nested(100_000), "draw_worth has a list or table within its list"),
        ("draw_worth", [[[0.5], [0.5]], [1, 0]], "draw_worth has a list or table within its list"),
        ("alpha", {"from": 0.1}, "alpha has a list or table"),
        ("alpha", True, "alpha True is not a number"),
        ("alpha", None, "alpha None is not a number"),
        ("alpha", object(), "is not a number"),
        ("learner", "td,tdd", r"unknown learner 'tdd' \(did you mean td\?\)"),
        ("learner", 3, "unknown learner 3"),
        ("opponent", "minimax", r"did you mean optimal\?.*self, a run file"),
        ("opponent", 5, "5 is not the name of a run file"),
        ("draw_worth", "-1e999..1:3", "draw worth -inf is not a number"),
        ("explore", "softmax:0.1..1", r"has no number of values; write softmax:0\.1\.\.1:5, or :5log"),
        ("explore", "softmax:0..1:3", "explore 'softmax:0': its temperature is not above 0"),
        ("explore", "softmax:-1", "explore 'softmax:-1': its temperature is not above 0"),
        ("explore", "softmax:nan", "explore 'softmax:nan': its temperature is not a number"),
        ("explore", "softmax:warm", "explore 'softmax:warm': its temperature is not a number"),
        ("explore", "0.1..1:3", "explore '0.1..1:3' is not softmax:T"),
    ],
)
def test_refusals(name, given, message):
    with pytest.raises(UsageError, match=message) as error:
        values_of(name, given)
    assert len(str(error.value)) < 300


@pytest.mark.parametrize(
    "given",
    ["x" * 10_000_000, "," * 3_000_000, "0.1," * 900_000 + "1", range(10**9), "0.2..1:99999999999", "9" * 5000],
    ids=["long", "commas", "many", "range", "count", "digits"],
)
def test_hostile_sizes(given):
    with pytest.raises(UsageError) as error:
        values_of("gamma", given)
    assert len(str(error.value)) < 300


@pytest.mark.slow
def test_many_values():
    assert len(values_of("epsilon", f"0..1:{MAX_VALUES}")) == MAX_VALUES


@pytest.mark.parametrize(
    ("given", "values"),
    [
        (3, (0, 1, 2)),
        ("3", (0, 1, 2)),
        ("1e1", tuple(range(10))),
        ("0..3", (0, 1, 2, 3)),
        ("3..0", (3, 2, 1, 0)),
        ("-2..1", (-2, -1, 0, 1)),
        ("5..5", (5,)),
        ("5,7", (5, 7)),
        ([5], (5,)),
        (["0..2", 7, 7, 1], (0, 1, 2, 7)),
        ("0..100:3", (0, 50, 100)),
        (range(2, 8, 3), (2, 5)),
        (np.arange(3), (0, 1, 2)),
        (np.int64(2), (0, 1)),
        ("-9223372036854775808;1", (-(2**63), 1)),
    ],
)
def test_seeds(given, values):
    assert seeds(given) == values
    assert seeds(seed_runs(values)) == values


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (0, "seeds 0 is outside 1"),
        (10**9, "seeds 1,000,000,000 is outside"),
        (1.5, "seeds 1.5 is not a whole number"),
        ("", "seeds '' is not a whole number"),
        ("some", "seeds 'some' is not a whole number"),
        ("1,000", "write 1_000 or 1k"),
        ("0..9999999999", "seeds has 10,000,000,000 values; at most 10,000,000"),
        ("0..1e30", "seed 1e30 is outside"),
        ("0.5..3", "seed 0.5 is not a whole number"),
        ("5..5:3", "ends at its start"),
        ([], "seeds is an empty list"),
        (True, "seeds True is not a whole number"),
    ],
)
def test_refused_seeds(given, message):
    with pytest.raises(UsageError, match=message):
        seeds_of(given)


def test_a_run_as_opponent(trained):
    run = trained(1)
    run.save("rival.h5")
    trained(2).save("self")
    (by_name,) = values_of("opponent", "rival")
    assert isinstance(by_name, RunOpponent) and by_name.name == "rival.h5"
    assert values_of("opponent", [run, Path("rival.h5"), by_name]) == [by_name]
    assert RunOpponent(by_name.digest, "rival.h5").run.config == run.config
    assert values_of("opponent", Path("self"))[0].name == "./self", "a file, not the name"
    with pytest.raises(RunFileError, match="is not the run that the study has"):
        _ = RunOpponent(by_name.digest, "self").run
    with pytest.raises(RunFileError, match="there is no file"):
        values_of("opponent", "gone.h5")
