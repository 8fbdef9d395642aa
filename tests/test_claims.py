"""The claims that scripts/claims.py repeats: their figures by hand, their verdicts, and that all studies are used."""

import json
from pathlib import Path

import numpy as np
import pytest

import ttt_batch as ttt
from ttt_batch.studies.designs.description import read_description

ROOT = Path(__file__).parent.parent
STUDIES = ROOT / "data" / "claims"


@pytest.fixture
def claims(script):
    return script("claims")


def test_figures_of_a_study(claims, tmp_path):
    """By hand, from what `train` records of the same seeds."""
    options = {"learner": "td", "batch": 256, "epsilon": 0.3}
    with ttt.study(out=tmp_path / "s.h5", games=3000, seeds=3, **options) as study:
        (row,) = claims.study_rows(study)
    runs = [ttt.train(3000, seed=seed, **options).statistics for seed in range(3)]
    last = [{name: column[-1] for name, column in run.items()} for run in runs]
    for seat in (0, 1):
        games = sorted(run["games"][run["unbeatable"][:, seat]].min(initial=1 << 62) for run in runs)
        assert row["first"][seat] == (games[1] if games[1] < 1 << 62 else None)
    assert row["drawn"] == sum(one["self_play"][1] == 1.0 for one in last)
    assert row["unbeatable"] == np.sum([one["unbeatable"] for one in last], axis=0).tolist()
    assert row["both"] == sum(one["unbeatable"].all() for one in last)
    results = np.array([one["versus_random"] for one in last])
    assert row["random"] == [results.mean(0).tolist(), results.min(0).tolist(), results.max(0).tolist()]
    assert row["error"] == pytest.approx(claims.spread(np.array([one["value_error"].mean() for one in last])))


def test_what_needs_no_learning(claims):
    found = claims.exact_figures()
    assert found["best_unbeatable"] == pytest.approx([0.99479167, 0.91640212])
    assert found["best"] == pytest.approx([0.99479167, 0.92486772])
    assert found["random"] == pytest.approx([0.58492, 0.12698, 0.28810], abs=1e-5)
    sharp = ttt.train(1_000_000, seed=3).evaluation("random", "sharp")
    assert [sharp.first[0], sharp.second[0]] == pytest.approx(found["best_unbeatable"])
    assert all(most >= best for most, best in zip(found["most_wins"], found["best"], strict=True))


def test_verdicts_follow_from_the_figures(claims, script):
    rules = script("claims_verdicts")
    drawn = {"settings": [{"drawn": 20, "both": 0, "unbeatable": [16, 0]}], "seeds": 20}
    assert rules.plays_well(drawn) == rules.draws_itself(drawn) == "holds in self-play only"
    assert rules.holds_a_person(drawn) == "does not hold"
    drawn["settings"][0] |= {"both": 19}
    assert {rules.plays_well(drawn), rules.draws_itself(drawn), rules.holds_a_person(drawn)} == {"holds"}
    drawn["settings"][0] |= {"both": 0, "drawn": 18}
    assert {rules.plays_well(drawn), rules.draws_itself(drawn), rules.holds_a_person(drawn)} == {"does not hold"}
    close = {"settings": [{"random": [[[0.985, 0, 0], [0.93, 0, 0]]]}]}
    assert rules.near(close, 0.99, 0.92, 0.011) == "holds" and rules.near(close, 0.99, 0.92, 0.009) == "does not hold"
    assert "20 of 20 (84 to 100 %)" in rules.of_seeds({"drawn": 20, "unbeatable": [16, 0]}, 20)
    assert rules.proof({"proof": [None, 50_000, None], "proved": 0.4}).startswith("40% of the seeds")


def test_figures_are_of_the_studies(claims):
    """A study's file that has changed needs its claims repeated; every study is a claim's, and every name one alone."""
    report = json.loads((ROOT / "data" / "claims.json").read_text(encoding="utf-8"))
    assert [*report["claims"]] == [claim.name for claim in claims.CLAIMS] and len(claims.CLAIMS) >= 20
    assert {claim.study for claim in claims.CLAIMS} - {""} == {path.stem for path in STUDIES.glob("*.toml")}
    for claim in claims.CLAIMS:
        if claim.study:
            design, kept = read_description(STUDIES / f"{claim.study}.toml"), report["claims"][claim.name]
            assert kept["seeds"] == len(design.seeds)
            keys = ("games", "epsilon", "alpha")  # settings that differ in their seat alone share a row
            options = dict.fromkeys(tuple(one.written[key] for key in keys) for one in design.settings)
            assert dict.fromkeys(tuple(row[key] for key in keys) for row in kept["settings"]) == options
    assert report["exact"] == claims.exact_figures()


def test_learners_of_one_seat_each_share_a_row(claims):
    def row(seat, number):
        random = [[[one, one, one], [one + 1] * 3] for one in (number, number + 10, number + 20)]
        return {
            "alpha": 0.1,
            "seat": seat,
            "unbeatable": [number, number + 1],
            "first": [None, number],
            "random": random,
        }

    (found,) = claims.merged([row("first", 1), row("second", 5)])
    assert found["unbeatable"] == [1, 6] and found["first"] == [None, 5] and "seat" not in found
    assert found["random"] == [[[1] * 3, [6] * 3], [[11] * 3, [16] * 3], [[21] * 3, [26] * 3]]
    assert claims.merged([row("", 1)]) == [row("", 1)]


def test_only_needs_the_figures_of_the_others(claims, monkeypatch, tmp_path):
    monkeypatch.setattr("sys.argv", ["claims.py", "--only", "openspiel", "--json", str(tmp_path / "none.json")])
    with pytest.raises(SystemExit, match="--only needs --json"):
        claims.main()
