"""Studies that count results and judge no table: whose results they are, what is said of them, and what is refused."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers.studyfiles import same_results
from helpers.support import command

import ttt_batch as ttt
from ttt_batch.app.reports.study import study_text
from ttt_batch.core.errors import UsageError
from ttt_batch.studies import work
from ttt_batch.studies.checks import check_study
from ttt_batch.studies.designs.description import description_text, parse_description
from ttt_batch.studies.designs.design import make_design
from ttt_batch.studies.work import Worker, in_one_kernel

ANY = "provenance/progress", "provenance/reasons", "seconds"

ONE_KERNEL: list[dict[str, Any]] = [
    {"opponent": "optimal"},
    {"opponent": "random", "beads": "8,4,2,1"},
    {"opponent": "optimal", "rewards": "1,0,-1", "beads": "1,1,1,1"},
    {"opponent": "random", "rewards": "2,-1,-9"},
]


def learnt(options: dict[str, Any], seeds: list[int], room: Worker) -> Any:
    (setting,) = make_design({"tally": True, **{name: [value] for name, value in options.items()}}, 1).settings
    return setting, room.learn(setting, seeds)


def assert_as_train(options: dict[str, Any], room: Worker, *, kernel: bool) -> None:
    setting, found = learnt(options, [4, 0, 2**60], room)
    assert found.failure is None and found.learners == 3 and in_one_kernel(setting) == kernel
    for i, seed in enumerate([4, 0, 2**60]):
        for point, outcomes in zip(setting.points, found.statistics["outcomes"][i], strict=True):
            run = ttt.train(**{**options, "games": point}, seed=seed)
            assert outcomes.tolist() == run.statistics["outcomes"][-1].tolist(), point
        tables = run.tables._asdict()
        assert found.tables.keys() == (tables.keys() if run.grown is None else set())
        for name, array in tables.items() if run.grown is None else ():
            np.testing.assert_array_equal(array, found.tables[name][i])


@pytest.mark.slow
@pytest.mark.parametrize("options", ONE_KERNEL, ids=str)
def test_many_menaces_are_those_of_train(options: dict[str, Any]) -> None:
    """To the last bead, though several are played by one kernel, one after the other, after others with other beads."""
    room = Worker(keep=True, stop=lambda: False)
    learnt({"learner": "menace", "opponent": "optimal", "games": 9}, [1], room)
    assert_as_train({"learner": "menace", "games": 220, **options}, room, kernel=True)


@pytest.mark.slow
def test_a_run_is_an_opponent_too(tmp_path: Path) -> None:
    ttt.train(2_000, learner="td", symmetry="on", seed=5).save(tmp_path / "td.h5")
    options = {"learner": "menace", "games": 150, "opponent": str(tmp_path / "td.h5")}
    assert_as_train(options, Worker(keep=True, stop=lambda: False), kernel=True)


@pytest.mark.sampled(1)
@pytest.mark.parametrize(
    "options",
    [
        {"learner": "td", "games": 500, "batch": 1},
        {"learner": "menace", "games": 300, "batch": 100},
        {"learner": "td", "games": 40, "batch": 1, "opponent": "optimal", "seat": "second"},
        pytest.param({"learner": "td", "games": 12, "board": "5x5x4"}, marks=pytest.mark.slow),
    ],
    ids=str,
)
def test_all_other_learners_are_those_of_train(options: dict[str, Any]) -> None:
    assert_as_train(options, Worker(keep="board" not in options, stop=lambda: False), kernel=False)


def test_batches_are_looked_at_where_they_end() -> None:
    (setting,) = make_design({"tally": True, "learner": "td", "games": 50_000, "batch": 1000}, 1).settings
    (judged,) = make_design({"learner": "td", "games": 50_000, "batch": 1000}, 1).settings
    assert setting.points == judged.points and setting.key == judged.key and setting == judged
    (single,) = make_design({"tally": True, "learner": "td", "games": 220, "batch": 1}, 1).settings
    assert single.points == [1, 2, 5, 10, 20, 50, 100, 200, 220]


@pytest.mark.slow
def test_a_learner_is_stopped_before_its_end() -> None:
    for options in ({"learner": "td", "games": "1G"}, {"learner": "menace", "games": 220}):
        asked = iter([False] * (2 if "G" in str(options["games"]) else 0))
        found = learnt(options, [0, 1], Worker(keep=False, stop=lambda asked=asked: next(asked, True)))[1]
        assert found.learners == 0 and found.failure is None


# --- the file -----------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_the_file_has_results_alone_and_goes_on(tmp_path: Path) -> None:
    path = tmp_path / "s.h5"
    options: dict[str, Any] = {"learner": "menace", "opponent": "optimal", "games": 100, "tally": True}
    first = ttt.study(out=path, seeds=3, **options)
    assert first.header.version == (1, 2) and "unbeatable" not in first.header.arrays
    assert first.array("outcomes").shape == (1, 3, 7, 3) and check_study(path)[:2] == ([], ())
    more = ttt.study(resume=path, seeds=5)
    assert more.array("outcomes")[:, :3].tobytes() == first.array("outcomes").tobytes()
    assert (more.state == 1).all() and more.to_dataframe(last=True)["outcomes.draws"].size == 5
    assert "unbeatable" not in more.to_xarray()
    wider = ttt.study(resume=path, tally=True, rewards=["3,1,-1", "1,0,-1"])
    assert wider.state.shape == (2, 5) and wider.array("outcomes")[0].tobytes() == more.array("outcomes")[0].tobytes()


def test_a_study_of_format_1_2_is_learnt_again_byte_for_byte(tmp_path: Path) -> None:
    """Kept from the day when the format was made: neither it nor any result may change unnoticed."""
    kept = Path(__file__).parents[2] / "data" / "study-1.2.h5"
    options: dict[str, Any] = {
        "learner": "menace",
        "opponent": "optimal",
        "games": 220,
        "rewards": ["3,1,-1", "1,0,-1"],
    }
    ttt.study(out=tmp_path / "s.h5", seeds=3, keep="last", tally=True, **options).close()
    assert check_study(kept)[:2] == ([], ()) and same_results(kept, tmp_path / "s.h5", ANY)


@pytest.mark.slow
def test_neither_threads_nor_workers_show(tmp_path: Path) -> None:
    options: dict[str, Any] = {"learner": "menace", "opponent": "random", "games": 220, "tally": True, "seeds": 30_000}
    for name, more in {"one": {"threads": 1}, "two": {"threads": 2}, "workers": {"workers": 2}}.items():
        ttt.study(out=tmp_path / f"{name}.h5", **options, **more).close()
    assert same_results(tmp_path / "one.h5", tmp_path / "two.h5", ANY)
    assert same_results(tmp_path / "one.h5", tmp_path / "workers.h5", ANY)


def test_a_description_is_read_back() -> None:
    design = make_design({"learner": ["td", "menace"], "opponent": "random", "tally": True}, 4)
    text = description_text(design)
    again = parse_description(text, "s.toml")
    assert "tally = true" in text and again.family is design.family and again.settings == design.settings
    for wrong, line in (
        (
            'tally = true\n[[grid]]\nlearner = "patterns"',
            "learner patterns is proved, not tallied; leave tally=True out",
        ),
        ('[[grid]]\ntally = true\nlearner = "td"', "s.toml, line 2 (tally): tally holds for the whole study; "),
        ("seeds = 3\ntally = 3", "s.toml, line 2 (tally): unknown tally 3; choose on or off"),
    ):
        with pytest.raises(UsageError) as error:
            parse_description(wrong, "s.toml")
        assert line in str(error.value)


# --- figures ------------------------------------------------------------------------------------------------------


def test_figures_are_quantiles_of_the_seeds(tmp_path: Path) -> None:
    options: dict[str, Any] = {"learner": "menace", "opponent": "random", "games": 60, "rewards": ["3,1,-1", "1,0,-1"]}
    study = ttt.study(out=tmp_path / "s.h5", seeds=41, tally=True, **options)
    summary, outcomes = study.summary(), study.array("outcomes")
    for number in range(2):
        results = summary.figures(number)["results"]
        assert results["last_games"].pop("since") == 50
        for every, shares in (
            (results["all_games"], outcomes[number, :, -1] / 60),
            (results["last_games"], (outcomes[number, :, -1] - outcomes[number, :, -2]) / 10),
        ):
            for i, one in enumerate(every.values()):
                assert [*one.values()] == pytest.approx(np.quantile(shares[:, i], [0.5, 0.05, 0.95]), abs=1e-12)
    assert summary.figures(0)["proved"] == {"ever": None, "at_end": None}
    text = study_text(summary)
    assert "first wins at end" in text and "5..95 %" in text and "proved" not in text


def test_a_setting_without_learners_has_no_results(tmp_path: Path) -> None:
    with ttt.study(out=tmp_path / "s.h5", seeds=2, stop=lambda: True, learner="menace", tally=True) as study:
        assert "results" not in study.summary().figures(0)
        assert "wins" not in study_text(study.summary())


def test_as_a_person_calls_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "s.h5"
    asked = ["--learner", "menace", "--opponent", "optimal", "--games", "30", "--seeds", "20", "--tally"]
    words = ["study", *asked, "-o", path]
    status, out, err = command(capsys, *words)
    assert status == 0 and "second wins, median" in out and "20 of 20 learners" in err
    assert command(capsys, "plot", path, "-o", tmp_path / "s.png")[0] == 0
    assert command(capsys, "info", path)[0] == 0
    status, _, err = command(capsys, "plot", path, "--metric", "loss", "-o", tmp_path / "t.png")
    assert status == 2 and "has no exact results: --tally judges no table; choose play, " in err
    for more, figure in (
        (("--best", "loss"), "median loss against random"),
        (("--confirm", 2), "median games to the first"),
    ):
        status, _, err = command(capsys, *words[:-1], tmp_path / "t.h5", *more)
        assert status == 2 and f"--tally judges no table, so there is no {figure}" in err and "give --best time" in err
    status, out, _ = command(capsys, *words[:-2], "--dry-run", "-o", tmp_path / "t.h5")
    assert status == 0 and "20 learners" in out
    status, _, err = command(capsys, "study", "--learner", "patterns", "--tally", "-o", tmp_path / "t.h5")
    assert (status, err) == (2, "ttt-batch: learner patterns is proved, not tallied; leave --tally out\n")
    judged = tmp_path / "judged.h5"
    assert command(capsys, "study", "--games", 100, "--seeds", 1, "-o", judged)[0] == 0
    status, _, err = command(capsys, "study", "--resume", judged, "--tally")
    assert status == 2 and "evaluates its learners, which is fixed; leave --tally out, or make another study" in err
    status, _, err = command(capsys, "study", "--resume", path, "--seeds", 21, "--best", "proof", "--confirm", 2)
    assert status == 1 and "every figure is missing or 0; choose another metric" in err
    status, out, _ = command(capsys, "study", "--resume", path, "--best", "time", "--confirm", 2)
    assert status == 0 and "second wins, median" in out.partition("fresh seeds")[2]


def test_its_kernel_is_asked_for_so_many_games_at_most() -> None:
    (setting,) = make_design({"tally": True, "learner": "menace", "games": work.MOST_EXACT * 2}, 1).settings
    assert not in_one_kernel(setting)
