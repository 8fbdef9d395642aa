"""Agents against agents: exact results against plain recursion, games against a plain replay, samples against both."""

import functools
import json
import math
import random
import re

import numpy as np
import pytest
from helpers.support import mostly_slow
from oracle.streams import below, drawn

import ttt_batch as ttt
from ttt_batch.agents.builtin import ScriptedPlayer, table_player
from ttt_batch.analysis import matches
from ttt_batch.analysis.judge import judge_agent
from ttt_batch.analysis.matches import (
    DEVIATIONS,
    Tally,
    play_agents,
    play_walk,
    walk_games,
    wilson,
)
from ttt_batch.analysis.tournament import GAMES, Meeting, Series, all_play_all, deviation, series
from ttt_batch.app.reports.layout import cut
from ttt_batch.app.reports.tournament import series_text, tournament_text
from ttt_batch.compiler.numerics import MEETINGS, stream_key
from ttt_batch.core.errors import BoardError, UsageError
from ttt_batch.core.text import RESULTS, SCRIPTED
from ttt_batch.games.bitboards import make_lines
from ttt_batch.games.board import DRAW, EMPTY, FIRST_WINS, SECOND_WINS, UNFINISHED, Position
from ttt_batch.games.enumeration import enumerate_graph
from ttt_batch.games.graph import Graph
from ttt_batch.runs.run import Run
from ttt_batch.simulation.policy import Policy


@functools.cache
def trained(learner: str = "td", games: int = 200, seed: int = 3, **options: object) -> Run:
    return ttt.train(games, learner=learner, seed=seed, **options)


def weak() -> Run:
    """It knows little, so that its results against others are mixed."""
    return trained(games=100, batch=50)


def forfeiting() -> Run:
    """It still chooses occupied cells."""
    return trained("minimax-q", 3000, batch=10)


@functools.cache
def settled() -> Run:
    return trained("td", 100_000)


RESULTS_SO_FAR: dict[tuple[int, int], list[float]] = {}


def plain_result(first: Run, second: Run) -> list[float]:
    """`plain_chances` of runs that stay in memory, remembered."""
    key = id(first), id(second)
    if key not in RESULTS_SO_FAR:
        RESULTS_SO_FAR[key] = plain_chances(first, second)
    return RESULTS_SO_FAR[key]


def plain_chances(first: Run, second: Run) -> list[float]:
    """Win, draw and loss of the first by recursion over what each may choose; an illegal cell loses."""
    board, runs = first.board, (first, second)

    @functools.cache
    def chances(marks: Position) -> tuple[float, ...]:
        outcome = board.outcome(marks)
        if outcome != UNFINISHED:
            return tuple(float(outcome == end) for end in (FIRST_WINS, DRAW, SECOND_WINS))
        mover = (board.cells - marks.count(EMPTY)) % 2
        chosen, total = runs[mover].candidates(marks), [0.0] * 3
        for cell in chosen:
            forfeit = (float(mover), 0.0, float(1 - mover))
            found = chances(board.after(marks, cell)) if board.is_open(marks, cell) else forfeit
            total = [a + b / len(chosen) for a, b in zip(total, found, strict=True)]
        return tuple(total)

    return list(chances((EMPTY,) * board.cells))


PAIRS = {
    "two short runs": (weak, lambda: trained(games=300, batch=50)),
    "forfeits": (weak, forfeiting),
    "misere": (
        lambda: trained(games=100, batch=50, board="3x3-misere"),
        lambda: trained(games=300, batch=50, board="3x3-misere"),
    ),
    "forfeits where marks fall": (
        lambda: trained(games=100, batch=50, board="3x3-gravity"),
        lambda: trained("minimax-q", 3000, batch=10, board="3x3-gravity"),
    ),
}


@pytest.mark.slow
def test_points_and_places():
    runs = [weak(), settled(), forfeiting(), weak()]
    found = all_play_all(runs, ["a", "b", "c", "d"])
    results = [[plain_result(one, other) for other in runs] for one in runs]
    for one in found.standings:
        others = [j for j in range(4) if j != one.run]
        first = sum(results[one.run][j][0] + results[one.run][j][1] / 2 for j in others)
        second = sum(results[j][one.run][2] + results[j][one.run][1] / 2 for j in others)
        assert (one.as_first, one.as_second) == pytest.approx((first, second))
        assert one.points == pytest.approx(first + second) and one.margin == 0
        won = sum(results[one.run][j][0] + results[j][one.run][2] for j in others) / 6
        assert one.shares[0] == pytest.approx(won) and sum(one.shares) == pytest.approx(1)
        assert one.points == pytest.approx(6 * (one.shares[0] + one.shares[1] / 2))
    assert sum(one.points for one in found.standings) == pytest.approx(4 * 3)  # a point a meeting
    assert [one.run for one in found.standings] == [1, 0, 3, 2]
    assert [one.place for one in found.standings] == [1, 2, 2, 4]  # two are the same run


def meeting_draw(seed: int, first: int, second: int, game: int, ply: int) -> int:
    """The random number of a move."""
    return drawn(stream_key(seed, MEETINGS + (first << 20) + second), game, ply)


def replay(first: Run, second: Run, games: int, seed: int, seats: tuple[int, int] = (0, 1)) -> Tally:
    """The games of a meeting one by one, from what the runs say that they choose."""
    board, counts = first.board, [0] * 4
    chosen = {0: functools.cache(first.candidates), 1: functools.cache(second.candidates)}
    for game in range(games):
        marks, outcome, ply = (EMPTY,) * board.cells, UNFINISHED, 0
        while outcome == UNFINISHED:
            cells = chosen[ply % 2](marks)
            cell = cells[below(meeting_draw(seed, *seats, game, ply), len(cells))]
            if not board.is_open(marks, cell):
                outcome = (SECOND_WINS, FIRST_WINS)[ply % 2]
            else:
                marks = board.after(marks, cell)
                outcome = board.outcome(marks)
            ply += 1
        counts[outcome] += 1
    return Tally(counts[FIRST_WINS], counts[DRAW], counts[SECOND_WINS])


@pytest.mark.slow
@pytest.mark.parametrize("name", PAIRS)
def test_played_games_are_those_of_a_plain_replay(name):
    runs = [make() for make in PAIRS[name]]
    found = all_play_all(runs, ["a", "b"], games=100, seed=7)
    for row in found.meetings:
        for meeting in row:
            one, other = runs[meeting.first], runs[meeting.second]
            assert meeting.tally == replay(one, other, 100, 7, (meeting.first, meeting.second))
            assert meeting.exact == pytest.approx(plain_result(one, other), abs=1e-12)
    without = all_play_all(runs, ["a", "b"])
    assert without.exact and without.games is None
    assert [[(one.exact, one.tally) for one in row] for row in without.meetings] == [
        [(one.exact, None) for one in row] for row in found.meetings
    ]
    if name.startswith("forfeits"):
        with pytest.raises(UsageError, match="still chooses occupied cells"):
            runs[1].policy_on(enumerate_graph(runs[1].board))  # what a tournament does without


@functools.cache
def large(learner: str = "td", games: int = 300, **options: object) -> Run:
    return ttt.train(games, learner=learner, board="5x5x5", seed=1, batch=16, **options)


@pytest.mark.parametrize("other", mostly_slow(["td", "greedy-td"], "td"))
def test_games_on_a_grown_board_are_those_of_a_plain_replay(other):
    runs = [large(), large(other, symmetry="off")]
    found = all_play_all(runs, ["a", "b"], seed=5, games=12)
    assert not found.exact and found.games == 12
    for i, j in ((0, 0), (0, 1), (1, 0)):
        assert found.meetings[i][j].exact is None
        assert found.meetings[i][j].tally == replay(runs[i], runs[j], 12, 5, (i, j))
    tallies = [[meeting.tally for meeting in row] for row in found.meetings]
    assert all_play_all([*runs, runs[0]], ["a", "b", "c"], seed=5, games=12).meetings[0][1].tally == tallies[0][1]


def test_a_grown_board_is_sampled_without_being_asked():
    before = large().tables.value.copy()
    found = all_play_all([large(), large(symmetry="off")], ["a", "b"])
    assert found.games == GAMES and {m.tally.games for row in found.meetings for m in row} == {GAMES}
    assert all(one.margin > 0 for one in found.standings)
    assert np.array_equal(before, large().tables.value)
    again = all_play_all([large(), large(symmetry="off")], ["a", "b"])
    assert again == found and all_play_all([large(), large(symmetry="off")], ["a", "b"], seed=1) != found


@pytest.mark.parametrize("name", mostly_slow(["two short runs", "forfeits"], "two short runs"))
def test_walks_and_agents_play_the_same_games(name, monkeypatch):
    runs = [make() for make in PAIRS[name]]
    graph = enumerate_graph(runs[0].board, name == "forfeits")
    policies, agents = [run.policy_on(graph) for run in runs], [table_player(run) for run in runs]
    key, lines = stream_key(11, 5), make_lines(runs[0].board)
    walked, played = play_walk(graph, *policies, 2000, key), play_agents(*agents, lines, 2000, key)
    assert walked == played and walked.games == 2000
    for size in (1, 7):
        monkeypatch.setattr(matches, "AT_ONCE", size)
        monkeypatch.setattr(matches, "WALKS_AT_ONCE", size)
        few = play_agents(*agents, lines, 100, key)
        assert few == play_walk(graph, *policies, 100, key) == walked_at_once(graph, policies, key)


def test_tables_and_networks_meet_on_one_board():
    """They are played, with or without a number of games; tables alone stay exact."""
    runs = [weak(), ttt.train(64, learner="patterns", board="3x3", prove_every=0), trained(symmetry="on")]
    found = all_play_all(runs, ["a", "b", "c"], games=50, seed=3)
    assert not found.exact and all_play_all(runs[:2], ["a", "b"]).games == GAMES
    for row in found.meetings:
        for meeting in row:
            pair = [runs[meeting.first], runs[meeting.second]]
            assert meeting.tally == replay(*pair, 50, 3, (meeting.first, meeting.second))
    with pytest.raises(BoardError, match="a plays 3x3, b plays 4x4x4"):
        all_play_all([weak(), ttt.train(16, learner="patterns", board="4x4x4", prove_every=0)], ["a", "b"])


@pytest.mark.parametrize("name", SCRIPTED)
def test_a_scripted_player_can_be_met(name):
    exact = judge_agent(weak(), name)
    found = series(weak(), ScriptedPlayer(name, weak()), ["a", name], games=20_000, seed=1)
    assert [one.exact for one in found.meetings] == [pytest.approx(exact.first), pytest.approx(exact.second[::-1])]
    assert all(abs(z) < 4.5 for one in found.meetings for z in one.deviations)


@pytest.mark.slow
def test_a_scripted_player_picks_what_kernels_do():
    """It shows what its opponent knows of the moves."""
    agent = weak()
    marks = (1, 1, 0, 2, 2, 0, 0, 0, 0)
    picked = {name: ScriptedPlayer(name, agent).candidates(marks) for name in SCRIPTED}
    assert picked == {"random": [2, 5, 6, 7, 8], "one-ply": [2], "two-ply": [2]}
    assert ScriptedPlayer("two-ply", agent).candidates((1, 1, 0, 2, 0, 0, 0, 0, 0)) == [2]
    assert ScriptedPlayer("random", agent).move_values(marks) == agent.move_values(marks)


def walked_at_once(graph: Graph, policies: list[Policy], key: np.uint64) -> Tally:
    """A hundred games at once, whatever the block."""
    counts = np.zeros(4, np.int64)
    walk_games(graph, *policies, key, 0, 100, counts)
    return Tally(int(counts[FIRST_WINS]), int(counts[DRAW]), int(counts[SECOND_WINS]))


@pytest.mark.parametrize("name", ["two short runs", "forfeits"])
def test_samples_fit_what_is_exact(name):
    """Chi-squared over four meetings of 200,000 games: more than 30 has a chance of 4e-5 with 8 degrees of freedom."""
    runs, games = [make() for make in PAIRS[name]], 200_000
    found, total = all_play_all(runs, ["a", "b"], games=games, seed=1), 0.0
    for meeting in (meeting for row in found.meetings for meeting in row):
        for result, exact in zip(RESULTS, meeting.exact, strict=True):
            count = getattr(meeting.tally, result)
            if exact < 1e-12:
                assert count == 0
            else:
                total += (count - games * exact) ** 2 / (games * exact)
    assert total < 30


def test_a_series_takes_turns_and_adds_up():
    one, other = weak(), trained("minimax-q", 300)
    found = series(one, other, ["a", "b"], games=1001, seed=4)
    assert [(m.first, m.second, m.tally.games) for m in found.meetings] == [(0, 1, 501), (1, 0, 500)]
    ahead, behind = found.meetings
    assert ahead.tally == replay(one, other, 501, 4, (0, 1)) and behind.tally == replay(other, one, 500, 4, (1, 0))
    assert found.total == Tally(
        ahead.tally.win + behind.tally.loss, ahead.tally.draw + behind.tally.draw, ahead.tally.loss + behind.tally.win
    )
    first, second = plain_result(one, other), plain_result(other, one)
    expected = [(501 * a + 500 * b) / 1001 for a, b in zip(first, second[::-1], strict=True)]
    assert found.expected == pytest.approx(expected, abs=1e-12) and not found.itself
    assert found == series(one, other, ["a", "b"], games=1001, seed=4)
    assert found != series(one, other, ["a", "b"], games=1001, seed=5)
    assert [m.tally.games for m in series(one, other, ["a", "b"], games=1).meetings] == [1]


def test_a_series_of_one_against_itself_is_one_meeting():
    found = series(weak(), weak(), ["a", "a"], games=500)
    (meeting,) = found.meetings
    assert found.itself and meeting.tally.games == 500 and found.total == meeting.tally
    assert found.expected == pytest.approx(plain_result(weak(), weak()), abs=1e-12)
    assert "against itself" in series_text(found) and "X wins" in series_text(found)


def test_the_first_games_of_a_longer_series_are_those_of_a_shorter_one():
    """So that somebody who wants more loses none."""
    one, other = weak(), trained("minimax-q", 300)
    short, long = (series(one, other, ["a", "b"], games=n).meetings[0].tally for n in (200, 2000))
    rest = [getattr(long, result) - getattr(short, result) for result in RESULTS]
    assert min(rest) >= 0 and sum(rest) == 900


def test_deviations_agree_with_the_interval():
    rng = random.Random(1)
    for _ in range(2000):
        games = rng.choice([1, 2, 5, 20, 100, 10_000])
        count, exact = rng.randint(0, games), rng.random()
        low, high = wilson(count, games)
        z = deviation(count / games, exact, games)
        assert (low <= exact <= high) == (abs(z) <= DEVIATIONS) or min(abs(exact - low), abs(exact - high)) < 1e-9
        assert z == pytest.approx((count / games - exact) / math.sqrt(exact * (1 - exact) / games))
    assert deviation(0.0, 0.0, 10) == deviation(1.0, 1.0, 10) == deviation(1.0, 1 + 1e-16, 10) == 0
    assert deviation(0.1, 0.0, 10) == math.inf and deviation(0.9, 1.0, 10) == -math.inf


@pytest.mark.slow
def test_the_spread_of_points_is_that_of_many_samples():
    """95 % of 200 tournaments lie within their own margin of the exact points: 180 or fewer has a chance of 0.3 %."""
    runs, names = [weak(), trained("minimax-q", 300)], ["a", "b"]
    exact = {one.run: one.points for one in all_play_all(runs, names).standings}
    hits = 0
    for seed in range(200):
        for one in all_play_all(runs, names, games=400, seed=seed).standings:
            hits += one.run == 0 and abs(one.points - exact[0]) <= one.margin
    assert 180 < hits < 200


@pytest.mark.parametrize("games", [50, 100, 1000])
@pytest.mark.parametrize("lost", [0.5, 0.1, 0.01, 0.001])
def test_the_spread_of_points_holds_where_hardly_a_game_is_lost(games, lost):
    """By the binomial distribution itself: where all games end alike nothing is certain yet."""
    covered = 0.0
    for losses in range(games + 1):
        meeting = Meeting(0, 1, Tally(games - losses, 0, losses), None)
        if abs(meeting.score - (1 - lost)) <= DEVIATIONS * math.sqrt(meeting.variance):
            covered += math.comb(games, losses) * lost**losses * (1 - lost) ** (games - losses)
    assert covered > 0.92


def test_sampled_points_are_never_certain():
    found = all_play_all([settled(), settled()], ["a", "b"], games=1000)
    assert {meeting.tally for row in found.meetings for meeting in row} == {Tally(0, 1000, 0)}
    assert all(0.001 < one.margin < 0.01 for one in found.standings)
    assert tournament_text(found).count("1.000 +- 0.002") == 2
    assert all(Meeting(0, 1, Tally(*counts), None).variance > 0 for counts in ((1, 0, 0), (0, 1, 0), (0, 0, 1)))
    # Where results are mixed it is the plain formula, but for three games in thousands.
    mixed = Meeting(0, 1, Tally(5000, 3000, 2000), None)
    assert mixed.variance == pytest.approx((0.5 + 0.3 / 4 - 0.65**2) / 10_000, rel=1e-3)


@pytest.mark.parametrize(
    ("runs", "names", "options", "message"),
    [
        ((weak,), ["a"], {}, "two runs or more"),
        ((weak, weak), ["a"], {}, "2 runs, but 1 names"),
        ((weak, lambda: trained(board="2x4x3")), ["a.h5", "b.h5"], {}, r"a\.h5 plays 3x3, b\.h5 plays 2x4x3"),
        ((weak, large), ["a", "b"], {}, "a plays 3x3, b plays 5x5x5"),
        ((weak, weak), ["a", "b"], {"games": 0}, r"games 0 is outside 1 \.\. 1,000,000,000"),
        ((weak, weak), ["a", "b"], {"games": 1.5}, "games 1.5 is not a whole number"),
        ((weak, weak), ["a", "b"], {"seed": 2**63}, "seed .* is outside"),
    ],
)
def test_refusals(runs, names, options, message):
    made = [make() for make in runs]
    with pytest.raises(UsageError, match=message) as caught:
        all_play_all(made, names, **options)
    assert "\n" not in str(caught.value)
    if len(made) == 2:
        with pytest.raises(UsageError, match=message):
            series(*made, names, **{"games": 10, **options})


def test_plain_values_with_stable_keys():
    runs, names = [weak(), settled()], ["a", "b"]
    exact, sampled = all_play_all(runs, names).to_dict(), all_play_all(runs, names, games=10).to_dict()
    keys = {"board", "runs", "ties", "exact", "games", "seed", "confidence", "standings", "meetings"}
    for found in (exact, sampled, all_play_all([large(), large(symmetry="off")], names, games=5).to_dict()):
        assert set(found) == keys and json.loads(json.dumps(found)) == found
        for one in found["meetings"]:
            assert set(one) == {"first", "second", "games", "exact", "sampled", "z", "inside", "score"}
        for one in found["standings"]:
            fields = {"place", "run", "name", "points", "margin", "as_first", "as_second"}
            assert set(one) == fields | set(RESULTS)
    assert exact["meetings"][1]["exact"] == pytest.approx(dict(zip(RESULTS, plain_result(*runs), strict=True)))
    assert exact["seed"] is None and exact["meetings"][0]["sampled"] is None
    assert sampled["meetings"][0]["sampled"]["win"].keys() == {"games", "share", "low", "high"}
    found = series(*runs, names, games=10).to_dict()
    assert set(found) == {"board", "runs", "ties", "games", "seed", "confidence", "meetings", "total"}
    assert set(found["total"]) == {"of", "sampled", "exact"} and json.loads(json.dumps(found)) == found


def named(n: int) -> list[str]:
    return [f"td-3x3-{number}.h5" for number in range(n)]


@pytest.mark.parametrize(("n", "games"), [(4, None), (4, 100), (5, 100), (17, None)])
def test_the_text_of_a_tournament(n, games):
    runs = [(weak(), settled(), forfeiting())[number % 3] for number in range(n)]
    found = all_play_all(runs, named(n), games=games)
    text = tournament_text(found)
    lines = text.splitlines()
    assert text.isascii() and all(line == line.rstrip() for line in lines)
    # The name of a file ends a line, and may be longer than this.
    assert max(len(line) for line in lines if not line.endswith(".h5")) <= 80
    assert len([line for line in lines if line.endswith(".h5")]) == n
    for i in range(n):
        scores = [f"{meeting.score:.3f}" for meeting in found.meetings[i]]
        rows = [line for line in lines if re.match(rf" *{i + 1} td-3x3-{i}\.h5? ", line)]
        shown = [score for line in rows for score in line.split()[2:]]
        assert shown == scores
    assert ("first - second" in text) == (n <= 4)
    assert ("games each, seed 0" in text) == (games is not None)
    assert ("exactly" in text) == (games is None or n <= 4)


def test_the_text_of_a_series():
    found = series(weak(), trained("minimax-q", 300), ["weak.h5", "minimax-q.h5"], games=10_000)
    text = series_text(found)
    assert text.startswith("weak.h5 against minimax-q.h5 on 3x3: 10,000 games, seed 0\n")
    assert "minimax-q.h5 moves first in 5,000 games" in text and max(map(len, text.splitlines())) <= 80
    for meeting in found.meetings:
        for number, result in enumerate(RESULTS):
            share, low, high = meeting.tally.share(result)
            pattern = rf"{share:.4f} +{low:.4f}-{high:.4f} +{meeting.exact[number]:.4f} +[+-]\d+\.\d\d( \*)?$"
            assert re.search(pattern, text, re.MULTILINE)
    inside = [one for meeting in found.meetings for one in meeting.inside]
    assert f"{sum(inside)} of 6 exact shares lie in the 95 % interval" in text
    assert text.count(" *\n") == 6 - sum(inside)
    unknown = series_text(series(large(), large(symmetry="off"), ["a" * 40, "a" * 40], games=10))
    assert "No exact expectation" in unknown and "the second run wins" in unknown
    assert "1 game, seed" in series_text(series(weak(), settled(), ["a", "b"], games=1))


def test_a_sample_that_cannot_be_is_called_wrong():
    meeting = Meeting(0, 1, Tally(1, 9, 0), (0.0, 1.0, 0.0))
    assert meeting.deviations == (math.inf, -math.inf, 0.0) and meeting.inside == (False, False, True)
    assert "happened that cannot" in series_text(Series("3x3", ("a", "b"), 10, 0, (meeting,)))
    off = Meeting(0, 1, Tally(300, 700, 0), (0.2, 0.8, 0.0))
    text = series_text(Series("3x3", ("a", "b"), 1000, 0, (off,)))
    assert "1 of 3 exact shares" in text and "by chance one in twenty does not (*)" in text


def test_names_are_cut_in_the_middle():
    assert cut("short", 16) == "short" and cut("runs/very/long/minimax.h5", 16) == "runs/v..nimax.h5"
    assert all(len(cut("x" * n, 16)) == min(n, 16) for n in range(40))
