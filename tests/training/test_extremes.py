"""Whatever a person may configure can be learnt, saved, opened and checked; what cannot is refused beforehand."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers.support import BY_EPSILON, command
from hypothesis import given, settings
from hypothesis import strategies as st

import ttt_batch as ttt
from ttt_batch.compiler.jit import kernel
from ttt_batch.core.errors import UsageError
from ttt_batch.runs.formats.base import FormatError
from ttt_batch.runs.importing import export_table, import_tables
from ttt_batch.runs.loading import check_run
from ttt_batch.runs.options import LARGEST, MAX_GAMES, parse_schedule
from ttt_batch.runs.schedules import value_at
from ttt_batch.simulation.walk import MAX_WALKED

TINY = 5e-324
"""The smallest number above 0."""

EXTREMES: dict[str, list[Any]] = {
    "epsilon": [0, 1, "-0.0", TINY, "0->1:linear", f"{TINY}->1e-24:exp", f"1->{TINY}:exp", "0.3->1:exp"],
    "alpha": [1, TINY, "1/n", f"1/n^{TINY}", "1/n^1", f"1->{TINY}:linear", f"1->{TINY}:exp", "0.3->1:exp"],
    "gamma": [0.0, -0.0, 1, TINY],
    "draw_worth": [(LARGEST, -LARGEST), (-LARGEST, LARGEST), (LARGEST, LARGEST), (TINY, -TINY), (-0.0, 0)],
    "seed": [-(2**63), 2**63 - 1],
    "batch": [1, 2, 41, MAX_WALKED, "auto"],
    "games": [1, 40],
    "symmetry": ["on", "off"],
    "board": ["1x1", "1x2x2", "2x2x1", "2x3x2", "1x3x2-misere-exact", "2x2"],
}
"""Values of every option that a training accepts, the farthest out among them."""

USUAL = {"board": "2x3x2", "games": 40, "batch": 16, "symmetry": "off"}


def holds(path: Path, **options: Any) -> None:
    """A training with these options can be saved, opened, gone on with, and breaks no rule."""
    ttt.train(**{**USUAL, **options}, out=path)
    assert check_run(path) == ([], ()), options
    further = path.with_name("further.h5")
    ttt.train(resume=path, more=3, out=further, overwrite=True)
    assert check_run(further) == ([], ()), options


@pytest.mark.slow
@pytest.mark.parametrize("name", EXTREMES)
def test_every_extreme_of_an_option_opens_again(name: str, tmp_path: Path) -> None:
    for number, value in enumerate(EXTREMES[name]):
        holds(tmp_path / f"{number}.h5", **{name: value})


@pytest.mark.sampled(1)
@pytest.mark.parametrize("options", [{"batch": MAX_GAMES}, {"batch": 2}, {"batch": "auto"}])
def test_the_most_games_open_again(options: dict[str, Any], tmp_path: Path) -> None:
    path = tmp_path / "run.h5"
    games = MAX_GAMES if options["batch"] != 2 else 4
    ttt.train(games, board="2x2", engine="flow", out=path, **options)
    assert check_run(path) == ([], ())


@pytest.mark.slow
@settings(max_examples=200, deadline=None, derandomize=True, database=None)
@given(
    options=st.fixed_dictionaries({name: st.sampled_from(values) for name, values in EXTREMES.items()}),
    learner=st.sampled_from(BY_EPSILON),
    engine=st.sampled_from(["walk", "flow"]),
)
def test_extremes_together_open_again(
    options: dict[str, Any], learner: str, engine: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    if engine == "flow" and options["batch"] == 1:
        options = {**options, "batch": 2}
    holds(tmp_path_factory.mktemp("together") / "run.h5", **options, learner=learner, engine=engine)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"draw_worth": (1e308, 0.0)}, r"draw worth 1e\+308 is not a number from -1e\+100 to 1e\+100"),
        ({"draw_worth": (0.0, float("nan"))}, "draw worth nan"),
        ({"alpha": f"{TINY}->1:exp"}, r"more than 1e\+300 times its start; begin with a larger number"),
        ({"epsilon": "1e-310->0.5:exp"}, r"more than 1e\+300 times its start"),
        ({"alpha": "0.1" + "0" * 300}, "has 303 characters, at most 200 are read"),
        ({"epsilon": "->" * 30_000}, "has 60,000 characters, at most 200 are read"),
    ],
)
def test_what_could_not_be_opened_again_is_refused(options: dict[str, Any], words: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=words) as caught:
        ttt.train(**{**USUAL, **options}, out=tmp_path / "run.h5")
    assert len(str(caught.value)) < 200
    assert not list(tmp_path.iterdir())


@kernel
def values(decay: Any, games: Any, found: Any) -> None:
    """Write the value of a schedule at each of `games` into `found`."""
    for number in range(games.size):
        found[number] = value_at(decay, games[number])


@pytest.mark.slow
def test_no_schedule_leaves_its_range() -> None:
    """0.3 * exp(log(1 / 0.3)) is more than 1, and a step size above 1 turned the table into NaN."""
    games, found = np.array([0, 1, 50, 99, 100, 10**15]), np.zeros(6)
    for shape in ("exp", "linear"):
        for start in (0.3, 0.1, 0.01, 0.277, 1e-9, 1e-299):
            values(parse_schedule("alpha", f"{start}->1:{shape}", positive=True).over(100), games, found)
            assert found[0] == start
            assert found[-1] == pytest.approx(1)
            assert (np.diff(found) >= 0).all()
            assert (found <= 1).all()


@pytest.mark.slow  # kernels of another learner
@pytest.mark.parametrize("form", ["raw", "csv"])
def test_an_import_of_too_large_numbers_is_refused(
    form: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    table = np.zeros((3**4, 4))
    given = tmp_path / "table"
    for value, status in ((LARGEST, 0), (-LARGEST, 0), (1e308, 1), (-2 * LARGEST, 1)):
        table[0, 2] = value
        if form == "raw":
            table.astype("<f8").tofile(given)
        else:
            np.savetxt(given, table, delimiter=",")
        out = tmp_path / f"{form}{value}.h5"
        words = ("--learner", "backward-q", "--board", "2x2", "--format", form, "--out", out)
        found = command(capsys, "import", given, *words)
        assert found[0] == status, found
        assert out.exists() == (status == 0)
        if status:
            assert f"is {value}; a table holds numbers from -1e+100 to 1e+100" in found[2]
        else:
            assert command(capsys, "check", out)[0] == 0
            further = tmp_path / "further.h5"
            ttt.train(20, board="2x2", learner="backward-q", start=out, out=further, overwrite=True)
            assert check_run(further) == ([], ())


@pytest.mark.slow  # kernels of another learner
def test_pickled_values_too_large_are_refused(tmp_path: Path) -> None:
    run = ttt.train(20, board="2x2", learner="sutton-barto")
    run.tables.value[:, 0] = 1e200
    paths = [tmp_path / "first.pickle", tmp_path / "second.pickle"]
    export_table(run, "pickle", paths)
    with pytest.raises(FormatError, match=r"is 1e\+200; a table holds numbers from -1e\+100"):
        import_tables(paths, "sutton-barto", form="pickle", board="2x2")


def test_a_long_command_does_not_keep_a_run_from_being_saved(tmp_path: Path) -> None:
    path = tmp_path / "run.h5"
    for text in ("x" * 100_000, "\udc80" * 100_000, "\0" * 100_000):
        ttt.train(4, board="2x2", command=text, out=path, overwrite=True)
        assert check_run(path) == ([], ())
        assert len(str(ttt.load(path).provenance["command"])) >= 10_000
