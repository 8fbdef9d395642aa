"""Studies of pattern networks: every learner is that of `train`, and the figures are what the arrays hold."""

import random
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers.studyfiles import same_results

import ttt_batch as ttt
from ttt_batch.runs.network_run import PROVED
from ttt_batch.studies.checks import check_study
from ttt_batch.studies.designs.description import description_text, parse_description
from ttt_batch.studies.designs.design import make_design
from ttt_batch.studies.study import Study, load_study, study

SMALL: dict[str, Any] = {"learner": "patterns", "games": 300, "prove_every": 100}
VARIED: dict[str, Any] = {**SMALL, "epsilon": [0.1, 0.3], "seat": ["first", "both"]}

ANY = "provenance/progress", "provenance/reasons", "seconds"
"""Results that are measured or noted, not computed."""


def assert_as_train(found: Study, **keep: Any) -> None:
    """Every learner of a study has the bytes of a run of its own."""
    assert (found.state == 1).all()
    for block in found.blocks():
        for k, (i, j) in enumerate(zip(block.settings.tolist(), block.seeds.tolist(), strict=True)):
            options = found.design.settings[i].written
            run = ttt.train(seed=int(found.seeds[j]), **options)
            games = found.games[i, : found.points[i]]
            assert games.tolist() == run.statistics["games"].tolist()
            assert block.statistics.keys() == run.statistics.keys() - {"games"}
            for name, array in block.statistics.items():
                assert name == "seconds" or array[k].tobytes() == run.statistics[name].tobytes(), (name, options)
            assert np.all(block.statistics["seconds"] > 0)
            if block.tables:
                assert block.tables["weight"][k].tobytes() == run.learnt.weights.tobytes()
                proved = np.zeros_like(block.tables["proved"][k]) if run.proved is None else run.proved
                assert block.tables["proved"][k].tobytes() == proved.tobytes()


CASES: list[dict[str, Any]] = [
    {**VARIED, "keep": "last"},
    {"learner": ["patterns", "ntuple-td"], "games": 100, "keep": "last"},
    {**SMALL, "batch": [1, 64], "alpha": [0.5, 1], "gamma": [0.9], "sweep": "one-at-a-time"},
    {**SMALL, "objective": "safe;win;plain", "tuples": "lines;segments:2,blocks:2x2", "trace": [0.0, 0.5]},
    {**SMALL, "sharing": ["none", "symmetry"], "prove_every": [0, 40], "board": ["3x3-misere", "2x3x2"]},
]


@pytest.mark.sampled(1)
@pytest.mark.parametrize("case", range(len(CASES)))
def test_every_learner_is_that_of_train(case: int, tmp_path: Path) -> None:
    found = study(out=tmp_path / "s.h5", seeds="3,8", threads=2, **CASES[case])
    assert_as_train(found)
    assert check_study(tmp_path / "s.h5")[:2] == ([], ())


@pytest.mark.slow
def test_every_learner_is_that_of_train_on_a_large_board(tmp_path: Path) -> None:
    found = study(out=tmp_path / "s.h5", seeds=2, learner="patterns", board="4x4x4", epsilon="0.1,0.3", games=5_000)
    assert_as_train(found)


@pytest.fixture(scope="module")
def quiet(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("quiet") / "s.h5"
    study(out=path, seeds=5, threads=1, keep="last", **VARIED).close()
    return path


@pytest.mark.slow
@pytest.mark.parametrize("threads", [2, 4])
def test_threads_do_not_show(threads: int, tmp_path: Path, quiet: Path) -> None:
    study(out=tmp_path / "s.h5", seeds=5, threads=threads, keep="last", **VARIED).close()
    assert same_results(quiet, tmp_path / "s.h5", ANY)


@pytest.mark.slow
def test_stopped_resumed_and_extended_it_is_that_of_a_quiet_study(tmp_path: Path, quiet: Path) -> None:
    path, asked = tmp_path / "s.h5", 0

    def stop() -> bool:
        nonlocal asked
        asked += 1
        return asked > 1  # one learner has ended

    study(out=path, seeds=2, threads=1, keep="last", stop=stop, **VARIED | {"seat": "first"}).close()
    with load_study(path) as begun:
        assert (begun.state == 0).any()
        before = begun.array("seconds")[begun.state == 1]
    assert check_study(path)[0] == []
    study(resume=path, threads=2, seeds=5, seat="first,both").close()
    assert same_results(quiet, path, ANY)
    with load_study(path) as whole:
        assert np.isin(before, whole.array("seconds")).all(), "no learner is learnt twice"


LONG = {"learner": "patterns", "games": "1G", "prove_every": "1M"}


@pytest.mark.slow
def test_a_learner_is_stopped_before_its_end(tmp_path: Path) -> None:
    asked = iter([False, False, False, True, *[True] * 100])
    found = study(out=tmp_path / "s.h5", seeds=1, stop=lambda: next(asked), **LONG)
    assert (found.state == 0).all() and check_study(tmp_path / "s.h5")[1] == ("1 learner missing",)


@pytest.mark.slow
def test_killed_at_random_moments(tmp_path: Path, script: Callable[[str], Any]) -> None:
    """With `kill -9`; see `scripts/killed_studies.py`."""
    killed = script("killed_studies").Killed(tmp_path, random.Random(1), games="200", learner="patterns")
    kills = 8
    while kills:
        kills -= killed.kill()
    assert killed.end()


def test_a_study_of_format_1_1_is_learnt_again_byte_for_byte(tmp_path: Path) -> None:
    """Kept from the day when the format was made: neither it nor any result may change unnoticed."""
    kept = Path(__file__).parents[2] / "data" / "study-1.1.h5"
    options = {"learner": ["patterns", "ntuple-td"], "epsilon": [0.1, 0.3], "prove_every": 200, "games": 600}
    study(out=tmp_path / "s.h5", seeds=2, keep="last", **options).close()
    assert check_study(kept)[0] == [] and same_results(kept, tmp_path / "s.h5", ANY)


# --- what is asked for --------------------------------------------------------------------------------------------


def test_a_description_is_read_back(tmp_path: Path) -> None:
    """Tuples of a file are kept, not its name."""
    file = tmp_path / "cells.txt"
    file.write_text("a1 b1 c1  # a row\na1 b2 c3\n")
    design = make_design({**SMALL, "tuples": f"lines;{file}", "trace": "0..0.8:3", "prove_every": "50,100"}, "5,7")
    file.unlink()
    text = description_text(design)
    again = parse_description(text, "s.toml")
    assert [setting.key for setting in again.settings] == [setting.key for setting in design.settings]
    assert again.seeds == design.seeds and "a1 b1 c1; a1 b2 c3" in text and again.axes == design.axes
    assert design.axes["tuples"] == ("lines", "1 2 3; 1 5 9")


def test_games_go_to_the_end_of_the_last_proof() -> None:
    settings = make_design({"learner": "patterns", "games": "100,250,300,5k", "prove_every": "100"}, 1).settings
    assert [setting.games for setting in settings] == [128, 256, 384, 5_120]
    assert [setting.points[-2:] for setting in settings] == [[128], [128, 256], [256, 384], [4_992, 5_120]]
    (alone,) = make_design({"learner": "patterns", "games": 500}, 1).settings
    assert (alone.config.prove_every, alone.games) == (500, 512), "a short run ends with its only proof"


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"learner": "td,patterns"}, "learner td, patterns: a study holds learners of tables or of netw.*choose td,"),
        ({"learner": "patterns", "engine": "flow"}, "engine is for tables of positions"),
        ({"learner": "patterns", "opponent": "random"}, "opponent is for tables of positions"),
        ({"tuples": "lines"}, "tuples is for pattern networks; add learner="),
        ({"learner": "patterns", "tuples": "rows"}, "tuples 'rows' are neither lines, segments"),
        ({"learner": "patterns", "epsilon": "0.3->0.01:linear"}, "epsilon '0.3->0.01:linear' is not a"),
        ({"learner": "patterns", "batch": "auto"}, "batch 'auto' is not a whole number"),
        ({"learner": "patterns", "prove_every": "100,2k", "games": "1k,3k"}, "prove_every 2_000, games 1_000: 1,000 g"),
        ({"learner": "patterns", "games": "1G", "prove_every": 100}, "a study has at most 100,000 for each learner"),
        ({"learner": "patterns", "objective": "win,safe", "board": "3x3-misere"}, "objective win: objective win needs"),
        ({"lernrate": 1}, "unknown option 'lernrate'"),
    ],
)
def test_what_does_not_go_together_is_refused_in_a_line(options: dict[str, Any], said: str) -> None:
    with pytest.raises(ttt.UsageError, match=said) as error:
        make_design(options, 1)
    assert "\n" not in str(error.value)


def test_grids_of_both_families_are_refused_where_they_stand() -> None:
    text = '[[grid]]\nlearner = "td"\n[[grid]]\nlearner = "patterns"\n'
    with pytest.raises(ttt.UsageError, match=r"s.toml, line 4 \(learner\): this grid has learners of networks"):
        parse_description(text, "s.toml")


def test_a_study_of_one_family_is_not_extended_by_the_other(quiet: Path) -> None:
    with pytest.raises(ttt.UsageError, match="learner td learns a table, and this study is of networks"):
        study(resume=quiet, learner="td")
    with pytest.raises(ttt.UsageError, match="engine is for tables"):
        study(resume=quiet, engine="flow")


# --- what it says -------------------------------------------------------------------------------------------------


def test_figures_are_what_the_arrays_hold(quiet: Path) -> None:
    with load_study(quiet) as found:
        summary, proof = found.summary(), found.array("proof") == PROVED
        for i, setting in enumerate(found.design.settings):
            seats = [0] if setting.config.seat == "first" else [0, 1]
            own, games = proof[i, :, : found.points[i]], found.games[i]
            both, figures = own[:, :, seats].all(axis=2), summary.figures(i)
            assert figures["proved"] == {"ever": both.any(axis=1).mean(), "at_end": both[:, -1].mean()}
            assert figures["first_proof"]["games"] == median_of(both, games)
            assert set(figures["loss_against_random"].values()) == {None}
            for seat, one in enumerate(figures["seats"].values()):
                if seat not in seats:
                    assert one["proved"] == {"ever": None, "at_end": None} and one["first_proof"]["games"] is None
                    continue
                held = own[:, :, seat]
                assert one["proved"] == {"ever": held.any(axis=1).mean(), "at_end": held[:, -1].mean()}
                assert one["first_proof"]["games"] == median_of(held, games)
        assert list(figures["seats"]) == ["first", "second"]


def median_of(held: Any, games: Any) -> int | None:
    """The median of the first games at which it holds; None if half of the seeds have none."""
    times = sorted(games[row.argmax()] if row.any() else np.inf for row in held)
    median = times[(len(times) + 1) // 2 - 1]
    return None if median == np.inf else int(median)


def test_without_proofs_there_are_no_figures_of_them(tmp_path: Path) -> None:
    found = study(out=tmp_path / "s.h5", seeds=2, learner="patterns", games=100, prove_every=0)
    figures = found.summary().figures(0)
    assert figures["proved"] == {"ever": None, "at_end": None} and figures["first_proof"]["games"] is None
    assert figures["later_points_that_hold"] is None and figures["milliseconds"] > 0


def test_frames_have_proofs(quiet: Path) -> None:
    pytest.importorskip("pandas")
    with load_study(quiet) as found:
        table, last = found.to_dataframe(), found.to_dataframe(last=True)
        assert len(table) == int(found.points.sum()) * 5 and len(last) == 20
        assert {"proof.first", "proof_positions.second", "tuples", "prove_every", "trace"} <= set(table.columns)
        pytest.importorskip("xarray")
        data = found.to_xarray()
    assert data["proof"].dims == ("setting", "seed", "point", "seat") and "unbeatable" not in data


def test_the_best_is_repeated(quiet: Path) -> None:
    with load_study(quiet) as found:
        again = found.confirm(2)
    assert again.fresh.design.seeds == (5, 6) and (again.fresh.states[:, 1] == 2).all()


def test_the_estimate_is_that_of_runs() -> None:
    from ttt_batch.studies.study import estimated

    design = make_design({**SMALL, "games": 3_000}, 4)
    found = estimated(design, "none", 1, [4])
    assert found.seconds is not None and 0 < found.seconds < 60 and found.bytes > 1_000
    rarely = make_design({**SMALL, "games": "100M", "prove_every": "100M"}, 4)  # minutes, even without a proof
    began = time.perf_counter()
    assert (estimated(rarely, "none", 1, [4]).seconds or 0) > 60 > time.perf_counter() - began


def test_the_best_of_both_learners_is_repeated(tmp_path: Path) -> None:
    """The default learns networks, too, whichever learner won."""
    with study(learner=["patterns", "ntuple-td"], games=200, prove_every=100, seeds=2, out=tmp_path / "s.h5") as found:
        again = found.confirm(1, best="time")
    assert {setting.config.learner for setting in again.fresh.design.settings} <= {"patterns", "ntuple-td"}


def test_a_study_does_not_replace_its_tuples(tmp_path: Path) -> None:
    tuples, described = tmp_path / "t.txt", tmp_path / "s.toml"
    tuples.write_text("a1 b1\nb1 b2\n")
    described.write_text(f'learner = "patterns"\ngames = 100\ntuples = ["lines", "{tuples}"]\n')
    for given in ({"description": described}, {**SMALL, "tuples": f"lines;{tuples}"}):
        with pytest.raises(ttt.UsageError, match="is read, too"):
            study(out=tuples, overwrite=True, **given)
    assert tuples.read_text() == "a1 b1\nb1 b2\n"


def test_what_cannot_rank_says_so(quiet: Path) -> None:
    from ttt_batch.app.reports.study import study_text

    with load_study(quiet) as found:
        assert "median loss against random, which none has" in study_text(found.summary(), "loss")
        assert "which none has" not in study_text(found.summary(), "time")
