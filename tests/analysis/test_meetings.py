"""Meetings of any two agents, against plain recursion over real positions: symmetry, boxes, networks and callables."""

import functools
import itertools
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers.players import lowest, uneven
from helpers.support import command
from oracle import menace as naive_menace
from oracle import naive

import ttt_batch as ttt
from ttt_batch.agents.builtin import ScriptedPlayer
from ttt_batch.agents.external import at_board
from ttt_batch.analysis.compare import compare_runs
from ttt_batch.analysis.tournament import all_play_all, series
from ttt_batch.app.reports.tournament import series_text, tournament_text
from ttt_batch.compiler.numerics import MEETINGS, stream_key
from ttt_batch.core.errors import UsageError

BOARD = naive.Board()


@functools.cache
def trained(learner: str = "td", games: int = 200, **options: Any) -> Any:
    return ttt.train(games, learner=learner, seed=3, **options)


def empty_boxes() -> Any:
    """A machine that has lost beads, and resigns in positions that it reaches."""
    return trained("menace", 40, beads="2,1,1,1", rewards="0,-1,-1", opponent="optimal")


MAKE: dict[str, Callable[[], Any]] = {
    "td": lambda: trained(games=300, batch=50),
    "symmetric": lambda: trained(games=200, batch=50, symmetry="on"),
    "menace": lambda: trained("menace", 220),
    "empty boxes": empty_boxes,
    "minimax-q": lambda: trained("minimax-q", 3000, batch=10),
    "network": lambda: trained("patterns", 500),
    "lowest": lambda: at_board(lowest),
    "uneven": lambda: at_board(uneven),
}
FIRST_ONLY = "menace", "empty boxes"


def of_table(run: Any, rules: naive.Board = BOARD) -> naive.Rule:
    """The best cells by the values of `td`, from the table alone: it is the second player's with the other sign."""
    codes, value = np.sort(run.graph.code), run.tables.value[np.argsort(run.graph.code)]

    def cells(position: naive.Position) -> list[int]:
        sign, scores = 1 if naive.mover(position) == naive.FIRST else -1, {}
        for cell in rules.legal(position):
            after = rules.place(position, cell)
            code = rules.code(rules.canonical(after) if run.config.symmetry else after)
            scores[cell] = sign * value[np.searchsorted(codes, code)]
        return [cell for cell, score in scores.items() if score == max(scores.values())]

    return cells


def of_boxes(run: Any) -> naive.Rule:
    """The cells of the kinds with the most beads, from the boxes alone; resigning if there is none."""
    graph, beads = run.graph, dict[tuple[int, int], float]()
    for row in range(graph.legal.size):
        for edge in range(*map(int, graph.first_edge[row : row + 2])):
            beads[int(graph.code[row]), int(graph.cell[edge])] = float(run.tables.q[edge])

    def cells(position: naive.Position) -> list[int]:
        legal, least = BOARD.legal(position), BOARD.canonical(position)
        if len(legal) == 1:
            return legal
        image = next(s for s in BOARD.symmetries if tuple(position[cell] for cell in s) == least)
        scores = {cell: beads[BOARD.code(least), image.index(cell)] for cell in legal}
        most = max(scores.values())
        return [cell for cell, score in scores.items() if score == most] if most > 0 else [naive_menace.RESIGNS]

    return cells


@functools.cache
def policy_of(name: str) -> naive.Policy:
    agent = MAKE[name]()
    if name in ("td", "symmetric"):
        return naive.uniform(of_table(agent))
    if name in FIRST_ONLY:
        return naive.uniform(of_boxes(agent))
    if name == "lowest":
        return lambda position: {BOARD.legal(position)[0]: 1}
    if name == "uneven":

        def chances(position: naive.Position) -> dict[int, float]:
            legal = BOARD.legal(position)
            return {cell: (1 + cell) / sum(1 + other for other in legal) for cell in legal}

        return chances
    return naive.uniform(agent.candidates)


@functools.cache
def plain(first: str, second: str) -> tuple[float, ...]:
    """Exact results of the first, from real positions."""
    return tuple(map(float, naive.result(BOARD, policy_of(first), policy_of(second))))


def assert_meetings(names: list[str]) -> None:
    found = all_play_all([MAKE[name]() for name in names], names)
    assert found.exact
    for row, meeting in itertools.product(range(len(names)), found.meetings):
        one, other = names[meeting[row].first], names[meeting[row].second]
        assert meeting[row].held == (other not in FIRST_ONLY)
        if meeting[row].held:
            assert meeting[row].exact == pytest.approx(plain(one, other), abs=1e-12), (one, other)
    rates = {}
    for standing in found.standings:
        own = [m for row in found.meetings for m in row if m.held and standing.run in (m.first, m.second)]
        own = [m for m in own if m.first != m.second]
        points = [m.score if m.first == standing.run else 1 - m.score for m in own]
        assert standing.points == pytest.approx(sum(points))
        assert math.isnan(standing.as_second) == (standing.name in FIRST_ONLY)
        rates[standing.run] = round(standing.points / len(own), 9)
    assert list(rates.values()) == sorted(rates.values(), reverse=True)


def test_tables_of_any_kind_meet_exactly() -> None:
    assert plain("empty boxes", "td")[2] > plain("menace", "td")[2]
    assert_meetings(["td", "symmetric", "menace", "empty boxes"])
    assert_meetings(["minimax-q", "symmetric", "menace"])


@pytest.mark.slow
def test_callables_meet_tables_of_any_kind_exactly() -> None:
    assert_meetings(["symmetric", "uneven", "menace", "lowest", "empty boxes", "td"])


AGAINST = [("symmetric", "td"), ("menace", "td"), ("td", "menace"), ("menace", "symmetric"), ("empty boxes", "uneven")]
AGAINST += [("lowest", "empty boxes"), ("td", "network"), ("network", "symmetric"), ("network", "menace")]
AGAINST += [("menace", "network"), ("symmetric", "lowest"), ("uneven", "menace"), ("minimax-q", "symmetric")]


@pytest.mark.sampled(4)
@pytest.mark.parametrize(("one", "other"), AGAINST)
def test_evaluate_and_judge_are_exact_in_each_seat_that_both_play(one: str, other: str) -> None:
    agent, rival = MAKE[one](), MAKE[other]()
    for found in (ttt.evaluate(agent, rival), ttt.judge(agent, against=rival)):
        for seat, shares, pair in (("first", found.first, (one, other)), ("second", found.second, (other, one))):
            if pair[1] in FIRST_ONLY:
                assert np.isnan(shares).all(), seat
            else:
                wanted = plain(*pair)[:: 1 if seat == "first" else -1]
                assert shares == pytest.approx(wanted, abs=1e-12), seat
        assert list(found.unbeatable) == (["first"] if one in FIRST_ONLY else ["first", "second"])


@pytest.mark.parametrize("one", ["symmetric", "menace", "empty boxes"])
@pytest.mark.parametrize("other", ["td", "uneven", "one-ply", "network"])
@pytest.mark.sampled(1)
def test_a_series_samples_what_is_exact(one: str, other: str) -> None:
    agent = MAKE[one]()
    rival = ScriptedPlayer(other, agent) if other == "one-ply" else MAKE[other]()
    found = series(agent, rival, [one, other], games=4_000, seed=5)
    seats = [(0, 1)] if one in FIRST_ONLY else [(0, 1), (1, 0)]
    assert [(meeting.first, meeting.second) for meeting in found.meetings] == seats
    assert sum(meeting.tally.games for meeting in found.meetings) == 4_000
    assert "nan" not in series_text(found)
    if other == "network":  # sampled alone
        wanted = [plain(*((one, other) if meeting.first == 0 else (other, one))) for meeting in found.meetings]
    else:
        wanted = [meeting.exact for meeting in found.meetings]
    for meeting, exact in zip(found.meetings, wanted, strict=True):
        for share, chance in zip(meeting.shares, exact, strict=True):
            assert abs(share - chance) <= 4 * math.sqrt(max(chance * (1 - chance), 1e-9) / meeting.tally.games)
    if one in FIRST_ONLY:  # the order of naming makes no difference to who moves first
        turned = series(MAKE["td"](), agent, ["a", "b"], games=10)
        assert [(meeting.first, meeting.second) for meeting in turned.meetings] == [(1, 0)]


LARGER = [("3x4x3", 20_000), ("4x4x3", 20_000)]


@pytest.mark.slow
@pytest.mark.parametrize(("board", "games"), LARGER)
def test_larger_boards_meet_across_symmetry(board: str, games: int) -> None:
    kept, real = (trained(games=games, board=board, symmetry=symmetry, batch=100) for symmetry in ("on", "off"))
    rows, cols, k = map(int, board.split("x"))
    rules = naive.Board(rows, cols, k)
    policies = [naive.uniform(of_table(run, rules)) for run in (kept, real)]
    found = ttt.evaluate(kept, real)
    assert found.first == pytest.approx(tuple(map(float, naive.result(rules, *policies))), abs=1e-12)
    assert found.second[::-1] == pytest.approx(tuple(map(float, naive.result(rules, *policies[::-1]))), abs=1e-12)


@pytest.mark.slow
def test_compare_counts_real_positions_of_seats_that_both_play() -> None:
    positions = {position: ply % 2 for position, ply in BOARD.states().items() if BOARD.legal(position)}
    for one, other in (("symmetric", "td"), ("menace", "td"), ("menace", "symmetric"), ("menace", "empty boxes")):
        mine, theirs = policy_of(one), policy_of(other)
        common = [position for position, mover in positions.items() if not mover or one not in FIRST_ONLY]
        if "td" not in (one, other):
            common = [position for position in common if BOARD.canonical(position) == position]
        found = compare_runs(MAKE[one](), MAKE[other]())["policies"]
        assert found["positions"] == len(common)
        assert found["differing"] == sum(set(mine(position)) != set(theirs(position)) for position in common)
    found = compare_runs(MAKE["network"](), MAKE["menace"]())
    key, seen = int(stream_key(0, MEETINGS)), found["policies"]
    assert key and seen["differing"] <= seen["positions"]
    for example in found["examples"]:
        position = tuple(".XO".index(mark) for mark in example["position"] if mark != "/")
        assert naive.ply(position) % 2 == 0
        assert set(example["second"]) == set(policy_of("menace")(position))


@pytest.mark.slow
def test_who_trains_against_a_run_of_another_symmetry() -> None:
    for learner, opponent in (("td", "symmetric"), ("menace", "td"), ("td", "menace")):
        run = ttt.train(50, learner=learner, opponent=MAKE[opponent]())
        assert run.config.seat == {"symmetric": "both", "td": "first", "menace": "second"}[opponent]
    symmetric, real = MAKE["symmetric"](), MAKE["td"]()
    wanted = {position: set(symmetric.candidates(position)) for position in BOARD.states() if BOARD.legal(position)}
    policy = symmetric.policy_on(real.graph)
    for row, code in enumerate(real.graph.code[: real.graph.legal.size].tolist()):
        lo = int(real.graph.first_edge[row])
        edges = policy.ordered[lo : lo + int(policy.best[row])]
        assert set(real.graph.cell[edges].tolist()) == wanted[BOARD.position(code)]


@pytest.mark.slow
def test_what_the_commands_print(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    for name in ("menace", "td", "symmetric"):
        MAKE[name]().save(tmp_path / f"{name}.h5")
    menace, td, symmetric = (tmp_path / f"{name}.h5" for name in ("menace", "td", "symmetric"))
    assert "as second: not applicable, it moves first" in command(capsys, "evaluate", menace, "--against", td)[1]
    assert "as first: not applicable, menace moves first" in command(capsys, "evaluate", td, "--against", menace)[1]
    status, out, _ = command(capsys, "tournament", td, menace, symmetric)
    assert status == 0 and "Places go by points a meeting: 2 plays first only." in out and "nan" not in out
    for words in ((menace, td), (td, menace), (menace, "random")):
        status, out, _ = command(capsys, "watch", *words, "--games", "100")
        assert status == 0 and "moves first in 100 games" in out
    with pytest.raises(UsageError, match="play against itself"):
        series(MAKE["menace"](), MAKE["menace"](), ["a", "b"], games=10)
    assert "in both seats" in tournament_text(all_play_all([MAKE["td"](), MAKE["symmetric"]()], ["a", "b"]))
