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
            # Settings that differ in their seat alone share a row.
            keys = ("games", "epsilon", "alpha", "opponent", "explore", "beads", "rewards")
            options = dict.fromkeys(tuple(one.written.get(key, "") for key in keys) for one in design.settings)
            assert dict.fromkeys(tuple(row.get(key, "") for key in keys) for row in kept["settings"]) == options
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


def test_figures_of_menace_are_of_its_seat(claims, tmp_path):
    """By hand, from what `train` records of the same seeds: 40 games, of which the first 20 are left out once."""
    options = {"learner": "menace", "opponent": "random"}
    with ttt.study(out=tmp_path / "s.h5", games=40, seeds=6, **options) as study:
        (row,) = claims.study_rows(study)
    runs = [ttt.train(40, seed=seed, **options).statistics for seed in range(6)]
    losses = np.array([run["outcomes"][-1][2] for run in runs])
    early = np.array([run["outcomes"][list(run["games"]).index(20)][2] for run in runs])
    assert row["since"].keys() == {"0", "20"}
    for start, lost in (("0", losses), ("20", losses - early)):
        found = row["since"][start]
        assert found["of"] == 40 - int(start) and found["lost"][0] == np.median(lost)
        assert found["seeds"] == [(lost == 0).sum(), (lost <= found["of"] / 10).sum(), (lost == found["of"]).sum()]
    assert row["unbeatable"] == sum(run["unbeatable"][-1, 0] for run in runs)
    assert row["ever"] == sum(run["unbeatable"][:, 0].any() for run in runs)
    assert row["random"][0] == pytest.approx(np.mean([run["versus_random"][-1, 0] for run in runs], axis=0).tolist())


def test_claims_about_beads_and_softmax_are_judged(script):
    newer = script("claims_menace")
    row = {"beads": "4,3,2,1", "since": {"0": {"of": 100, "lost": [68.0, 67.0, 69.0, 50.0, 80.0], "seeds": [0, 0, 0]}}}
    assert newer.as_published({"settings": [row]}) == "holds"
    assert newer.lost(row) == "68 of 100 games lost (median, 67 to 69; 95 % of the seeds 50 to 80)"
    row["since"]["0"]["lost"][0] = 69.0
    assert newer.as_published({"settings": [row]}) == "does not hold"
    for tenth, verdict in ((11, "holds"), (10, "does not hold")):
        simulated = {"seeds": 20, "settings": [{"since": {"20": {"seeds": [0, tenth, 0]}}}]}
        assert newer.settles({"simulated": simulated}) == verdict

    def proved(explore, games):
        return {"explore": explore, "epsilon": 0.0, "proved": 1.0, "proof": [games, 5, None]}

    rows = [proved("softmax:0.01", 300), proved("softmax:0.1", 200), proved("softmax:1.0", 900), {"epsilon": 0.1}]
    assert newer.ten_times_off({"settings": rows}) == [1.5, 4.5]
    assert newer.games(rows[0]) == "300 (5 to never)" and newer.temperature(rows[3]) == 0.0


@pytest.fixture
def beans(script):
    return script("claims_beans")


@pytest.mark.slow
def test_the_player_by_rules_loses_one_line_and_the_sound_one_none(beans):
    """Against every reply, in either seat, whichever of its moves it takes."""

    def lost(way, seat, board=beans.START, player=1, moves=()):
        if beans.won(board):
            return {moves} if player == seat else set()  # the other one has just moved
        cells = way(board, player) if player == seat and beans.empty(board) else beans.empty(board)
        games = (lost(way, seat, beans.played(board, one, player), -player, (*moves, one)) for one in cells)
        return set().union(*games)

    lines = {game[:4] for game in lost(beans.by_rules, -1)}
    assert {(first, second + third) for first, second, third, _ in lines} == {(4, 8)}  # centre, opposite corners
    assert {side % 2 for *_, side in lines} == {1} and len(lines) == 8
    assert not lost(beans.by_rules, 1) | lost(beans.soundly, 1) | lost(beans.soundly, -1)
    assert len(set(beans.IMAGES)) == 8 and sorted(map(len, map(beans.kinds, [beans.START]))) == [3]


@pytest.mark.slow
def test_beans_and_beads_are_counted(beans):
    """The median of most_beans is near the published one; a MENACE either ends resigning or learns to draw."""
    lost = np.array([beans.most_beans(seed, 100) for seed in range(40)])
    assert 62 <= np.median(lost.sum(axis=1)) <= 69 and lost[:, :10].mean() > 0.8 > lost[:, -10:].mean()
    machines = np.array([beans.menace(seed, 220) for seed in range(40)])
    resigned = machines[:, 149:].all(axis=1)
    assert 0.15 < resigned.mean() < 0.6 and machines[~resigned].sum(axis=1).max() < 60
    row = beans.simulate(beans.menace, 220, (0, 20), 40)["settings"][0]["since"]
    assert row["20"] == beans.lost_of(machines[:, 20:].sum(axis=1), 200) and row["0"]["of"] == 220


def test_the_interval_of_a_median_is_of_its_ranks(beans):
    """Of 20 numbers the 6th and the 15th: outside lies the median with probability 0.041, by the binomial law."""
    assert beans.quantiles(np.arange(1, 21)[::-1])[:3] == [10.5, 6.0, 15.0]
    assert beans.quantiles(np.array([7]))[:3] == [7.0, 7.0, 7.0]
    assert beans.quantiles(np.arange(1001))[3:] == [25.0, 975.0]
