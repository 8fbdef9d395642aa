"""The figures of a study's settings, their ranking, and the repetition of the best one."""

import json
import re
import sys

import numpy as np
import pytest
from helpers.studyfiles import design, missing, results, store, store_all

import ttt_batch as ttt
from ttt_batch.app.plots.studies.canvas import METRICS as PICTURED
from ttt_batch.app.plots.studies.canvas import at_end
from ttt_batch.app.reports.study import study_text
from ttt_batch.core.errors import TttBatchError, UsageError
from ttt_batch.runs.base import unbeatable_since
from ttt_batch.studies import summary
from ttt_batch.studies.designs.description import description_text, parse_description
from ttt_batch.studies.designs.design import make_design
from ttt_batch.studies.storage import reading
from ttt_batch.studies.storage.reading import open_study
from ttt_batch.studies.storage.writing import create_study
from ttt_batch.studies.study import Repetition, confirm
from ttt_batch.studies.summary import METRICS, interval_of_median, summarise, survival

NEVER = {"games": None, "low": None, "high": None}

ALPHAS = {"alpha": "0.1,0.2,0.3,0.4", "games": 2_000, "batch": 500}
"""Four settings of four points each: 500, 1,000, 1,500 and 2,000 games."""


@pytest.fixture
def mixed(tmp_path):
    """A study of eight settings, three kinds of learners missing: failed ones, unknown ones, a whole setting."""
    path = tmp_path / "study.h5"
    with create_study(path, design(9)) as study:
        for setting, seed in missing(study):
            if setting != 4 and (setting, seed) != (2, 3) and (setting != 6 or seed > 6):
                store(study, setting, seed)
        study.fail(2, 3, "no memory")
        study.fail(6, 0, "no memory")
        study.fail(6, 1, "a board too large")
    return path


def stored(path, verdicts, **columns):
    """The summary of a study of ALPHAS.  verdicts: of each setting, of each seed, a letter for each point:
    `#` if it is unbeatable in both seats.  columns: other statistics at the last point, by setting and seed."""
    seeds = max(map(len, verdicts))
    with create_study(path, make_design(ALPHAS, seeds=seeds), overwrite=True) as study:
        for i, several in enumerate(verdicts):
            for j, letters in enumerate(several):
                if letters:
                    own = results(study, i, j)
                    own["unbeatable"][:, 0] = True
                    own["unbeatable"][:, 1] = [letter == "#" for letter in letters]
                    for name, column in columns.items():
                        own[name][-1] = column[i][j]
                    store(study, i, j, own)
        return summarise(study)


# --- the figures ------------------------------------------------------------------------------------------


def test_known_answers(tmp_path):
    verdicts = [
        ["#.##", "..##", "...#", "...."],
        ["####", "####", "####", ""],
        ["....", "....", "....", "...."],
        ["", "", "", ""],
    ]
    versus = np.zeros((4, 4, 2, 3))
    versus[0, :, 0, 2], versus[0, :, 1, 2] = [0, 0.1, 0.2, 0.4], [0, 0.1, 0.4, 0.4]
    error = np.full((4, 4, 2), np.nan)
    error[0] = [[1, 2], [2, np.nan], [3, 4], [6, 6]]
    found = stored(tmp_path / "s.h5", verdicts, versus_random=versus, value_error=error, seconds=np.full((4, 4), 0.25))
    one, two, three, none = map(found.figures, range(4))
    assert one["learners"] == {"done": 4, "failed": 0, "missing": 0} and (one["points"], one["games"]) == (4, 2_000)
    assert one["first_proof"] == one["settling"] == NEVER | {"games": 1_500}  # of four seeds the second
    assert [one["later_points_that_hold"], *one["proved"].values()] == [3 / 4] * 3  # of .## and # and nothing
    assert [*one["loss_against_random"].values()] == pytest.approx([0.2, 0.075, 0.325])
    assert one["value_error"] == {"first": 2.5, "second": 4.0} and one["milliseconds"] == 250
    assert [*two["learners"].values(), two["later_points_that_hold"], two["first_proof"]["games"]] == [
        3,
        0,
        1,
        1.0,
        500,
    ]
    assert two["proved"]["ever"] == 1 and three["proved"] == {"ever": 0.0, "at_end": 0.0}
    assert three["first_proof"]["games"] is three["later_points_that_hold"] is None
    assert {none["proved"]["ever"], none["milliseconds"], *none["loss_against_random"].values()} == {None}
    assert none["learners"]["done"] == 0 and none["first_proof"] == NEVER and one["positions"] is None


def test_figures_are_what_the_learners_say_one_by_one(mixed):
    with open_study(mixed) as study:
        found = summarise(study)
        assert found.reasons == {"no memory": 2, "a board too large": 1}
        for number in range(8):
            row = found.figures(number)
            done = np.flatnonzero(study.state[number] == 1)
            assert [*row["learners"].values()] == [np.count_nonzero(study.state[number] == i) for i in (1, 2, 0)]
            learners = [results(study, number, int(seed)) for seed in done]
            if not learners:
                assert row["proved"]["ever"] is None and row["first_proof"] == NEVER
                continue
            last, games = row["games"], learners[0]["games"]
            proofs = [next(iter(one["games"][one["unbeatable"].all(axis=1)].tolist()), None) for one in learners]
            since = [unbeatable_since(one["games"], one["unbeatable"]) for one in learners]
            for event, share, times in (("first_proof", "ever", proofs), ("settling", "at_end", since)):
                there = np.array([time is not None for time in times])
                whole = np.array([last if time is None else time for time in times])
                assert row["proved"][share] == there.mean()
                curve = survival(whole, there)
                half = curve.times[curve.left <= 0.5 + 1e-12]
                median = int(half[0]) if half.size else None
                assert [*row[event].values()] == [median, *interval_of_median(whole, there)]
            proved = [(one["unbeatable"].all(axis=1), time) for one, time in zip(learners, proofs, strict=True) if time]
            later = [holds[games > time] for holds, time in proved]
            assert row["later_points_that_hold"] == np.concatenate(later).mean()
            lost = [one["versus_random"][-1, :, 2].mean() for one in learners]
            assert [*row["loss_against_random"].values()] == pytest.approx(np.quantile(lost, [0.5, 0.25, 0.75]))
            errors = np.array([one["value_error"][-1] for one in learners])
            assert found.columns["error"][number] == pytest.approx(np.median(errors.mean(axis=1)))
            assert [*row["value_error"].values()] == pytest.approx(np.median(errors, axis=0))
            assert row["milliseconds"] == pytest.approx(1e3 * np.median([one["seconds"][-1] for one in learners]))


@pytest.mark.sampled(1)
@pytest.mark.parametrize(("block", "window"), [(1, 1), (4_000, 20), (10_000, 1 << 17), (1 << 22, 9)])
def test_some_learners_at_a_time_or_all_at_once_are_the_same(mixed, monkeypatch, block, window):
    with open_study(mixed) as study:
        once = summarise(study)
        monkeypatch.setattr(reading, "BLOCK", block)
        monkeypatch.setattr(summary, "_LEARNERS", window)
        pieces = summarise(study)
    for name, figures in once.columns.items():
        assert figures.tobytes() == pieces.columns[name].tobytes(), name
    for name, event in once.events.items():
        assert event.tobytes() == pieces.events[name].tobytes(), name


def test_no_table_is_read(tmp_path):
    with create_study(tmp_path / "s.h5", design(2, alpha="0.5", games=20, batch=20), keep="last") as study:
        run = ttt.train(20, batch=20, alpha=0.5)
        store(study, 0, 0, run.statistics, run.tables._asdict())
        assert all(block.tables for block in study.blocks())
        assert not any(block.tables for block in study.blocks(tables=False))
        assert tuple(summarise(study).figures(0)["value_error"].values()) == tuple(run.statistics["value_error"][-1])


def test_a_growing_board_has_positions_and_no_verdicts(tmp_path):
    with create_study(tmp_path / "s.h5", design(3, board="3x3,5x5x5", games=20, batch=20)) as study:
        store_all(study)
        row = summarise(study).figures(1)
        assert row["positions"] == np.median([results(study, 1, seed)["positions"][-1] for seed in range(3)])
        assert (row["learners"]["done"], row["proved"]["ever"], row["later_points_that_hold"]) == (3, None, None)
        assert row["first_proof"] == NEVER
        text = study_text(summarise(study))
    line = next(line for line in text.splitlines() if line.startswith("5x5x5"))
    assert line.split()[1:] == ["-"] * len(line.split()[1:])


def test_without_scipy_all_but_intervals_is_there(mixed, monkeypatch):
    with open_study(mixed) as study:
        whole = summarise(study).to_dict()
        monkeypatch.setitem(sys.modules, "scipy", None)
        found = summarise(study)
        facts, text = found.to_dict(), study_text(found)
    assert "pip install 'ttt-batch[study]'" in text.splitlines()[-1] and text.count("scipy") == 2
    assert facts["note"] == found.note and whole["note"] is None
    for one, other in zip(facts["settings"], whole["settings"], strict=True):
        for event in ("first_proof", "settling"):
            assert one[event] == {"games": other[event]["games"], "low": None, "high": None}
            one[event] = other[event]
        assert one == other


# --- ranking and repeating --------------------------------------------------------------------------------


def test_settings_are_ranked_by_a_metric(tmp_path):
    verdicts = [["...#", "....", "...."], ["..##", "..#.", "...."], ["#...", ".###", ".###"], ["..##", "..##", "...."]]
    error = np.array([3.0, 1.0, np.nan, 1.0])[:, None, None] * np.ones((4, 3, 2))
    found = stored(
        tmp_path / "s.h5", verdicts, value_error=error, seconds=np.array([[4.0], [3], [2], [1]]) * np.ones(3)
    )
    assert found.ranked() == [0, 1, 2, 3]
    assert found.ranked("proof") == [2, 1, 3, 0]  # 1 and 3 are equal
    assert found.ranked("settling") == [2, 3, 0, 1]  # 0 and 1 settle as often
    assert found.ranked("proved") == [2, 1, 3, 0]
    assert found.ranked("holds") == [3, 2, 1, 0]
    assert found.ranked("error") == [1, 3, 0, 2]
    assert found.ranked("TIME") == [3, 2, 1, 0]
    never = stored(tmp_path / "s.h5", [["", ""], ["....", "...."], ["...#", "...."], ["....", ""]])
    assert never.ranked("settling") == [2, 1, 3, 0]


def test_an_unknown_metric_is_refused_with_a_suggestion(mixed):
    with open_study(mixed) as study:
        found = summarise(study)
    for given, meant in (("settlin", "settling"), ("games", "proof"), ("lost", "loss")):
        with pytest.raises(UsageError, match=rf"did you mean {meant}\?"):
            found.ranked(given)
    with pytest.raises(UsageError, match="unknown metric"):
        study_text(found, "quality")


def test_the_winner_and_the_default_are_repeated_on_fresh_seeds(tmp_path):
    grid = {
        "alpha": "0.1,0.2",
        "epsilon": "0.05,0.3->0.01:linear",
        "games": 2_000,
        "batch": 500,
        "draw_worth": "0.2,0.4",
    }
    with create_study(tmp_path / "s.h5", design("3,7..9", **grid)) as study:
        store_all(study)
        found = summarise(study)
    again = confirm(found, "5", "error")
    best = found.ranked("error")[0]
    winner, default = again.design.settings
    assert again.winner == found.figures(best) and winner.key == found.design.settings[best].key
    assert (again.metric, again.settings, again.design.seeds) == ("error", 4, (10, 11, 12, 13, 14))
    train = make_design({"games": 2_000, "batch": 500, "draw_worth": "0.2,0.4"}, seeds=1)
    assert default == train.settings[0]  # what the study varies is left to its default
    assert parse_description(description_text(again.design), "it") == again.design
    with create_study(tmp_path / "again.h5", again.design) as study:
        store_all(study)
        fresh = summarise(study)
    repeated = Repetition(again, fresh)
    text = str(repeated)
    assert max(map(len, text.splitlines())) <= 80
    heads = next(line for line in text.splitlines() if "in the study" in line)
    assert re.split("  +", heads.strip()) == ["in the study", "fresh seeds", "fresh seeds"]
    alphas = next(line.split() for line in text.splitlines() if line.startswith("alpha"))
    assert alphas[1] == alphas[2] and alphas[3] == "0.5"
    facts = repeated.to_dict()
    assert [facts["winner"], facts["default"]] == fresh.to_dict()["settings"]
    assert facts["in_the_study"]["milliseconds"] == again.winner["milliseconds"]


def test_learners_and_opponents_of_the_winner_are_its_own(trained, tmp_path):
    options = {"learner": "sutton-barto,td", "opponent": [trained(1), "random"], "games": 100, "board": "3x3"}
    with create_study(tmp_path / "s.h5", design(2, **options)) as study:
        store_all(study)
        found = summarise(study)
    for metric in ("time", "error", "loss"):
        again = confirm(found, 2, metric)
        best = found.design.settings[found.ranked(metric)[0]]
        assert again.design.settings[0].key == best.key
        assert again.design.settings[-1].config.learner == "td"
        assert {setting.plan_opponent for setting in again.design.settings} == {best.plan_opponent}


def test_a_winner_that_is_the_default_stands_alone(tmp_path):
    with create_study(tmp_path / "s.h5", design(3, alpha="0.5", games=2_000)) as study:
        store_all(study)
        found = summarise(study)
    again = confirm(found, 3, "loss")
    assert len(again.design.settings) == 1
    repeated = Repetition(again, found)
    assert "the default itself" in str(repeated) and repeated.to_dict()["default"] is None


def test_what_cannot_be_repeated_is_refused(tmp_path):
    found = stored(tmp_path / "s.h5", [["...."]] * 4)
    for metric in ("proof", "settling", "proved", "holds"):
        with pytest.raises(TttBatchError, match="no setting is the best"):
            confirm(found, 3, metric)
    assert confirm(found, 3, "error").design.learners == 6
    for count in (0, "many", 10**9):
        with pytest.raises(UsageError):
            confirm(found, count, "error")


# --- what is printed --------------------------------------------------------------------------------------


def test_tables_fit_their_width(mixed):
    with open_study(mixed) as study:
        found = summarise(study)
    for width in (60, 80, 200):
        lines = study_text(found, width=width).splitlines()
        assert max(map(len, lines)) <= width and not any(line != line.rstrip() for line in lines)
        assert sum(line.startswith("20 ") for line in lines) == 4 * sum(
            "batch" in line and "games" in line for line in lines
        )
    assert len(study_text(found, width=200).splitlines()) < len(study_text(found).splitlines())
    assert "1 no memory" not in study_text(found) and "2 no memory; 1 a board too large" in study_text(found)


def test_one_setting_reads_as_a_list(tmp_path):
    with create_study(tmp_path / "s.h5", design(8, alpha="0.5", games=2_000)) as study:
        store(study, 0, 0)
        lines = study_text(summarise(study), name="s.h5").splitlines()
    assert lines[0] == "s.h5: 1 setting, 8 seeds each"
    figures = dict(re.split("  +", line, maxsplit=1) for line in lines[7:] if "  " in line)
    assert figures["learners, done"] == "1" and figures["proved, ever"] in ("0%", "100%") and "time, ms" in figures


def test_of_many_settings_the_best_are_shown(tmp_path):
    with create_study(tmp_path / "s.h5", design(1, alpha="0.01..0.5:30", games=20, batch=20)) as study:
        store_all(study)
        found = summarise(study)
    text = study_text(found, "loss")
    best = [found.design.settings[number].written["alpha"] for number in found.ranked("loss")]
    rows = [line.split() for line in text.splitlines() if re.match(r"\d+ +0\.", line)]
    assert [int(row[0]) for row in rows] == [*range(1, 21)] * (len(rows) // 20)
    assert [float(row[1]) for row in rows[:20]] == pytest.approx(best[:20], rel=5e-3)
    assert "10 more settings" in text and "median games to the first proof" in study_text(found)
    assert len(found.to_dict("loss")["settings"]) == 30


def test_values_of_options_are_told_apart(tmp_path):
    values = "0.1234567891,0.1234567892,0.5,0.3->0.01:linear"
    with create_study(tmp_path / "s.h5", design(1, alpha=values, games=20, batch=20)) as study:
        text = study_text(summarise(study))
    for shown in ("0.1234567891", "0.1234567892", "0.5", "0.3->0.01:linear"):
        assert f"\n{shown} " in text


def test_shares_and_intervals_are_rounded_to_no_lie(tmp_path):
    seeds, letters = 3_000, [("....", "...#"), ("#...", "#..."), ("....", "...."), ("..##", "....")]
    with create_study(tmp_path / "s.h5", make_design(ALPHAS, seeds=seeds)) as study:
        for i, (first, others) in enumerate(letters):
            many = {name: np.repeat(column[None], seeds, axis=0) for name, column in results(study, i, 0).items()}
            several = np.array([[letter == "#" for letter in first], *[[letter == "#" for letter in others]] * 2_999])
            many["unbeatable"][:] = several[:, :, None]
            del many["games"]
            study.store_many(i, np.arange(seeds), many)
        text = study_text(summarise(study))
    words = [line.split()[1:] for line in text.splitlines() if line.startswith("0.")]
    assert [row[:2] for row in words[:4]] == [["99.9%", "99.9%"], ["100%", "0%"], ["0%", "0%"], ["0.0333%", "0.0333%"]]
    assert "2..2 k" in text and "500..500" in text and "> 2 k from 2 k" in text


def test_json_has_raw_numbers_and_null_for_what_never_happens(tmp_path):
    found = stored(tmp_path / "s.h5", [["..##"] * 6, ["...."] * 6, [""] * 6, ["#.#."] * 6])
    facts = json.loads(json.dumps(found.to_dict("proof")))
    assert [row["setting"] for row in facts["settings"]] == [3, 0, 1, 2]
    assert list(facts) == ["seeds", "learners", "reasons", "best", "note", "settings"]
    assert facts["seeds"] == ["0..5"] and facts["learners"] == {"done": 18, "failed": 0, "missing": 6}
    row = facts["settings"][0]
    assert list(row) == [
        *("setting", "key", "options", "learners", "points", "games", "proved", "first_proof", "settling"),
        *("later_points_that_hold", "loss_against_random", "value_error", "milliseconds", "positions"),
    ]
    assert row["options"]["alpha"] == 0.4 and row["options"]["draw_worth"] == [0.0, 0.0]
    assert row["first_proof"] == {"games": 500, "low": 500, "high": 500}
    assert row["settling"] == {"games": None, "low": 2_000, "high": None}
    assert row["later_points_that_hold"] == 1 / 3 and row["proved"] == {"ever": 1.0, "at_end": 0.0}
    nothing = facts["settings"][3]
    assert nothing["proved"] == {"ever": None, "at_end": None} and nothing["milliseconds"] is None


def test_every_metric_ranks_and_is_explained(mixed):
    with open_study(mixed) as study:
        found = summarise(study)
    for metric in METRICS:
        assert sorted(found.ranked(metric)) == [*range(8)] and found.ranked(metric)[-1] == 4  # nothing is known of it
        assert f"ranked by  {METRICS[metric]}" in study_text(found, metric)


def test_who_plays_first_alone_is_judged_as_first_alone(tmp_path):
    with ttt.study(out=tmp_path / "s.h5", seeds=6, learner="menace", opponent="random", games=3_000, batch=1) as study:
        figures, last = study.summary().figures(0), study.array("versus_random")[0, :, -1, 0, 2]
        ever = study.array("unbeatable")[0, :, :, 0].any(axis=1)
        seconds = at_end(study, PICTURED["second"])
        assert figures["proved"]["ever"] == ever.mean() and figures["loss_against_random"]["median"] == np.median(last)
        assert at_end(study, PICTURED["loss"])[0].tolist() == (100 * last).tolist() and np.isnan(seconds).all()
        assert (at_end(study, PICTURED["unbeatable"])[0] == 100 * study.array("unbeatable")[0, :, -1, 0]).all()
