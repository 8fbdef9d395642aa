"""Ties broken by the truth: against plain minimax everywhere, verdicts on them, and all commands that play by them."""

import dataclasses
import functools
import io
import json
import random
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from helpers.players import FakeAgent, KnowingAgent, assert_game_lost, best_play
from helpers.support import BOTH_SEATS, command
from oracle import naive
from oracle.boards import variant_of

import ttt_batch as ttt
from ttt_batch.agents.base import batch_at
from ttt_batch.agents.builtin import agent_of_run
from ttt_batch.analysis.judge import evaluate_sampled, search
from ttt_batch.analysis.position import describe_position
from ttt_batch.analysis.review import HandicappedAgent
from ttt_batch.analysis.tournament import all_play_all, series
from ttt_batch.app.reports.evaluation import evaluation_text
from ttt_batch.app.reports.layout import REPORT_WIDTH
from ttt_batch.app.terminal import loop
from ttt_batch.app.terminal.loop import watch_game
from ttt_batch.core.errors import BoardError, UsageError
from ttt_batch.core.text import SEATS, TIES, Ties
from ttt_batch.evaluation.exact_results import match
from ttt_batch.evaluation.ties import meaning
from ttt_batch.games.board import DRAW, EMPTY, FIRST_WINS, UNFINISHED, Board, Position
from ttt_batch.games.notation import read_position
from ttt_batch.runs.run import Run
from ttt_batch.simulation.policy import Policy
from ttt_batch.training.from_games import LearningRun

PASSED_UP = "1 5 2 3 9"
"""A position of 3x3 in which O wins with 7 at once, and with 4 or 6 two moves later."""

BOARDS = ("3x3", "3x3-misere", "2x3x2")


@functools.cache
def trained(learner: str = "td", games: int = 2000, **options: Any) -> Run:
    return ttt.train(games, learner=learner, seed=3, **options)


@functools.cache
def indifferent(board: str, **options: Any) -> Run:
    """A run to which every move is as good as any other, also one that ends the game."""
    run = trained(games=10, board=board, **options)
    return dataclasses.replace(run, tables=run.tables._replace(value=np.zeros_like(run.tables.value)))


def hopeful(board: str, **options: Any) -> Run:
    """A run that takes every position in which the game goes on for a win of the first player's."""
    run = trained(games=10, board=board, **options)
    value = run.tables.value.copy()
    value[: run.graph.first_edge.size - 1] = 1.0
    return dataclasses.replace(run, tables=run.tables._replace(value=value))


def soonest(board: Board, position: Position, cells: list[int]) -> list[int]:
    """Return the cells that the tie rule keeps, word by word, by plain minimax."""
    sign = -1 if (board.cells - position.count(EMPTY)) % 2 else 1
    ends = dict.fromkeys(cells, (-1, 1))  # of choosing an occupied cell
    for cell in cells:
        if position[cell] == EMPTY:
            result, plies = best_play(board, board.after(position, cell))
            ends[cell] = sign * result, plies + 1
    won = [plies for result, plies in ends.values() if result == 1]
    if won:
        return [cell for cell in cells if ends[cell] == (1, min(won))]
    if all(result == -1 for result, _ in ends.values()):
        return [cell for cell in cells if ends[cell][1] == max(plies for _, plies in ends.values())]
    return cells


def expected(board: Board, rule: naive.Rule) -> Callable[[Position, int], Fraction]:
    """What an agent in a seat (0, 1) can expect of a position at most, win minus loss, if its opponent moves at random
    and it picks among the cells of a rule: by definition, in fractions."""

    @functools.cache
    def of(position: Position, seat: int) -> Fraction:
        if (outcome := board.outcome(position)) != UNFINISHED:
            return Fraction(0 if outcome == DRAW else 1 if outcome == FIRST_WINS + seat else -1)
        if (board.cells - position.count(EMPTY)) % 2 == seat:
            return max(after_move(position, cell, seat) for cell in rule(position))
        free = [cell for cell in range(board.cells) if position[cell] == EMPTY]
        return sum((of(board.after(position, cell), seat) for cell in free), Fraction(0)) / len(free)

    def after_move(position: Position, cell: int, seat: int) -> Fraction:
        return Fraction(-1) if position[cell] != EMPTY else of(board.after(position, cell), seat)

    return of


def sharpest(board: Board, rule: naive.Rule) -> Callable[[Position], list[int]]:
    """Return the cells that ties `sharp` keep, word by word."""
    of = expected(board, rule)

    def kept(position: Position) -> list[int]:
        cells, mover = list(rule(position)), (board.cells - position.count(EMPTY)) % 2
        after = {cell: Fraction(-1) if position[cell] else of(board.after(position, cell), mover) for cell in cells}
        return soonest(board, position, [cell for cell in cells if after[cell] == max(after.values())])

    return kept


def cells_in_row(run: Run, policy: Policy, row: int) -> list[int]:
    first = run.graph.first_edge[row]
    return sorted(run.graph.cell[policy.ordered[first : first + policy.best[row]]].tolist())


def some_positions(board: Board, games: int, seed: int = 0) -> list[Position]:
    """Every unfinished position of some random games."""
    rng, found = random.Random(seed), {}
    for _ in range(games):
        position: Position = (EMPTY,) * board.cells
        while board.outcome(position) == UNFINISHED:
            found[position] = None
            position = board.after(position, rng.choice([cell for cell in range(board.cells) if not position[cell]]))
    return list(found)


def wins_at_once(board: Board, position: Position, cells: list[int]) -> list[int]:
    mover = 1 + (board.cells - position.count(EMPTY)) % 2
    return [cell for cell in cells if not position[cell] and board.outcome(board.after(position, cell)) == mover]


# --- which moves ------------------------------------------------------------------------------------------------------


def test_a_win_in_one_is_no_longer_passed_up() -> None:
    run = trained(games=1_000_000)
    position = read_position(PASSED_UP, run.board)
    assert run.candidates(position) == [3, 5, 6]
    assert run.candidates(position, "soonest") == [6]
    chances = [move.probability for move in describe_position(run, PASSED_UP, ties="soonest").moves]
    assert chances == [0, 0, 1, 0]


@pytest.mark.sampled(1)
@pytest.mark.parametrize("board", BOARDS)
@pytest.mark.parametrize("learner", BOTH_SEATS)
def test_the_policy_is_the_rule_word_by_word(learner: str, board: str) -> None:
    run, ones = trained(learner, board=board), 0
    for row in range(run.graph.first_edge.size - 1):
        position = run.board.decode(int(run.graph.code[row]))
        before, after = cells_in_row(run, run.policy, row), cells_in_row(run, run.soonest, row)
        assert after == soonest(run.board, position, before)
        if ready := wins_at_once(run.board, position, before):
            assert after == ready
            ones += 1
    assert (ones == 0) == run.board.misere


@pytest.mark.slow
@pytest.mark.parametrize("board", BOARDS)
@pytest.mark.parametrize("learner", BOTH_SEATS)
def test_the_sharp_policy_is_the_rule_word_by_word(learner: str, board: str) -> None:
    run, fewer = trained(learner, board=board), 0
    kept = sharpest(run.board, rule_of(run, run.policy))
    for row in range(run.graph.first_edge.size - 1):
        after = cells_in_row(run, run.sharp, row)
        assert after == kept(run.board.decode(int(run.graph.code[row])))
        fewer += len(after) < run.policy.best[row]
    assert fewer or board == "2x3x2" or learner in ("minimax-q", "greedy-td")


def test_equal_results_are_equal_however_they_are_added_up() -> None:
    """By symmetry all corners are worth the same to the first player, and so are all edges, on a fresh table."""
    run = indifferent("3x3")
    assert run.candidates(0, "sharp") in ([0, 2, 6, 8], [4], [1, 3, 5, 7])
    for position in some_positions(run.board, 20):
        found, images = run.candidates(position, "sharp"), run.board.images(True)
        for image in images:
            turned = tuple(position[cell] for cell in image)
            assert sorted(image.index(cell) for cell in found) == run.candidates(turned, "sharp")


RUNS = {
    "any move": lambda: indifferent("3x3"),
    "any move, up to symmetry": lambda: indifferent("3x3", symmetry="on"),
    "any move, misere": lambda: indifferent("3x3-misere"),
    "td": lambda: trained(),
    "minimax-q": lambda: trained("minimax-q"),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", RUNS)
def test_single_positions_are_those_of_the_policy(name: str) -> None:
    run, fewer = RUNS[name](), 0
    weakened, sharp = HandicappedAgent(run, ties="soonest"), HandicappedAgent(run, ties="sharp")
    kept = sharpest(run.board, lambda position: run.candidates(position))
    for position in some_positions(run.board, 30):
        before = run.candidates(position)
        after = run.candidates(position, "soonest")
        assert after == soonest(run.board, position, before) == weakened.candidates(position)
        assert run.candidates(position, "sharp") == sharp.candidates(position) == kept(position)
        fewer += len(after) < len(before)
    assert fewer or not name.startswith("any")


def test_agents_in_kernels_play_the_same() -> None:
    for run in (hopeful("3x3"), hopeful("3x3", symmetry="on")):
        agents, fewer = {name: agent_of_run(run, name) for name in TIES}, 0
        for position in some_positions(run.board, 10):
            batch = batch_at(run.board, position)
            cells = {name: np.flatnonzero(agent.ask(batch)[0]).tolist() for name, agent in agents.items()}
            for name in TIES:
                assert cells[name] == run.candidates(position, name)
            fewer += cells["soonest"] != cells["any"] and cells["sharp"] != cells["any"]
        assert fewer


@pytest.mark.sampled(1)
@pytest.mark.parametrize("board", ["5x5x3", "5x5x3-exact", "5x5x3-misere"])
def test_boards_too_large_to_enumerate_know_wins_in_one(board: str) -> None:
    run, ones = ttt.train(3, board=board), 0
    assert run.grown is not None
    run.grown.tables.value[...] = 0.0  # every move is as good as any other
    agent = agent_of_run(run, "soonest")
    for position in some_positions(run.board, 20):
        before, after = run.candidates(position), run.candidates(position, "soonest")
        ready = wins_at_once(run.board, position, before)
        assert after == (ready or before)
        assert np.flatnonzero(agent.ask(batch_at(run.board, position))[0]).tolist() == after
        ones += len(ready) < len(before) and bool(ready)
    assert (ones == 0) == run.board.misere


def test_an_agent_that_nobody_solves_knows_wins_in_one() -> None:
    everywhere = FakeAgent(choose=lambda position: [cell for cell, mark in enumerate(position) if not mark])
    position = read_position("1 4 2 5", Board())
    assert HandicappedAgent(everywhere, ties="soonest").candidates(position) == [2]
    assert HandicappedAgent(everywhere, ties="any").candidates(position) == [2, 5, 6, 7, 8]
    late_win_or_draw = read_position(PASSED_UP, Board())
    assert HandicappedAgent(FakeAgent(choose=lambda _: [3, 7]), ties="soonest").candidates(late_win_or_draw) == [3, 7]
    assert HandicappedAgent(KnowingAgent(choose=lambda _: [3, 7]), ties="soonest").candidates(late_win_or_draw) == [3]


def test_an_unknown_rule_is_refused() -> None:
    run: Any = trained()
    for ask in (
        lambda: run.candidates(0, "first"),
        lambda: run.evaluation("random", "first"),
        lambda: agent_of_run(run, "first"),  # type: ignore[arg-type]
        lambda: HandicappedAgent(run, ties="first"),  # type: ignore[arg-type]
        lambda: all_play_all([run, run], ["", ""], ties="first"),  # type: ignore[arg-type]
        lambda: describe_position(run, 0, ties="first"),  # type: ignore[arg-type]
    ):
        with pytest.raises(UsageError, match="unknown ties 'first'; choose sharp, soonest or any"):
            ask()


# --- verdicts ---------------------------------------------------------------------------------------------------------


def rule_of(run: Run, policy: Policy) -> naive.Rule:
    rows = {int(code): row for row, code in enumerate(run.graph.code[: run.graph.first_edge.size - 1])}
    return lambda position: cells_in_row(run, policy, rows[run.board.encode(position)])


def test_boards_too_large_and_networks_are_never_sharp(capsys: Any) -> None:
    large, networks = ttt.train(3, board="5x5x3"), ttt.train(3, learner="ntuple-td")
    large.save("large.h5"), networks.save("networks.h5")
    too_large, no_table = (
        "ties='sharp' needs an enumerated board; 5x5x3 is too large",
        "for tables of positions; networks",
    )
    for run, error, reason in ((large, BoardError, too_large), (networks, UsageError, no_table)):
        for ask in (
            lambda run: agent_of_run(run, "sharp"),
            lambda run: evaluate_sampled(run, ties="sharp"),
            lambda run: ttt.evaluate(run, ties="sharp"),
            lambda run: ttt.prove(run, ties="sharp"),
            lambda run: HandicappedAgent(run, ties="sharp"),
            lambda run: all_play_all([run, run], ["", ""], ties="sharp"),
            lambda run: describe_position(run, 0, ties="sharp"),
            lambda run: ttt.Batch(1, run.board, opponent=run, ties="sharp"),
        ):
            with pytest.raises(error, match=reason):
                ask(run)
    with pytest.raises(UsageError, match=no_table):
        ttt.export_run(networks, "page.html", "html", ties="sharp")
    for name, reason in (("large", "5x5x3 is too large to enumerate"), ("networks", "networks take wins in one")):
        for words in (("play",), ("evaluate",), ("show",), ("watch",), ("prove",)):
            status, _, err = command(capsys, *words, name, "--ties", "sharp", "--quiet")
            assert status == 2 and f"--ties sharp {'needs' if name == 'large' else 'is for'}" in err and reason in err
            assert err.count("\n") == 1


@pytest.mark.sampled(5)
@pytest.mark.parametrize("board", BOARDS)
@pytest.mark.parametrize("learner", BOTH_SEATS)
def test_verdicts_are_those_of_the_oracle(learner: str, board: str) -> None:
    for run in (trained(learner, games=100, board=board), trained(learner, games=20_000, board=board)):
        known = run.evaluation(ties="any")
        rule = rule_of(run, run.policy)

        def quick(position: Position, rule: naive.Rule = rule, run: Run = run) -> list[int]:
            return soonest(run.board, position, list(rule(position)))

        rules: dict[Ties, naive.Rule] = {"soonest": quick, "sharp": sharpest(run.board, rule)}
        for ties, kept in rules.items():
            found = run.evaluation(ties=ties)
            for number, seat in enumerate(SEATS):
                assert found.unbeatable[seat] == (naive.worst_case(variant_of(run.board), kept, 1 + number) >= 0)
                assert found.unbeatable[seat] or not known.unbeatable[seat]
                if line := found.losing_line[seat]:
                    assert_game_lost(run.board, line, number, kept)


def test_results_are_those_of_the_oracle() -> None:
    run = trained(board="2x3x2")
    board, rule = variant_of(run.board), rule_of(run, run.policy)
    rules = {"soonest": lambda position: soonest(run.board, position, list(rule(position)))}
    rules["sharp"] = sharpest(run.board, rule)
    anything = naive.uniform(board.legal)
    for ties, kept in rules.items():
        found, agent = run.evaluation("random", ties), naive.uniform(kept)  # type: ignore[arg-type]
        assert found.first == pytest.approx([float(Fraction(x)) for x in naive.result(board, agent, anything)])
        assert found.second == pytest.approx([float(Fraction(x)) for x in naive.result(board, anything, agent)[::-1]])


@pytest.mark.slow
def test_td_wins_as_often_as_any_agent_that_can_never_lose() -> None:
    """An agent that never can lose keeps to moves after which best play does not lose, and to no others."""
    run = trained(games=10_000_000)

    def safe(position: Position) -> list[int]:
        mover = (run.board.cells - position.count(EMPTY)) % 2
        ends = {
            cell: best_play(run.board, run.board.after(position, cell))[0] for cell in run.board.open_cells(position)
        }
        return [cell for cell, end in ends.items() if (-end if mover else end) >= 0] or list(ends)

    most, found, known = expected(run.board, safe), run.evaluation(ties="sharp"), run.evaluation()
    start: Position = (EMPTY,) * 9
    bounds = [float(most(start, seat)) for seat in (0, 1)]
    print(f"the most that an unbeatable agent wins against random moves: {bounds[0]:.6f} first, {bounds[1]:.6f} second")
    assert bounds == pytest.approx([0.99479167, 0.91640212])
    assert known.unbeatable == found.unbeatable == {"first": True, "second": True}
    for bound, shares, usual in zip(bounds, (found.first, found.second), (known.first, known.second), strict=True):
        assert bound - 0.005 <= shares[0] <= bound + 1e-12 and shares[2] == 0
        assert usual[0] < shares[0] - 0.02


def test_the_search_and_sampled_matches_judge_the_same() -> None:
    run = hopeful("2x3x2")
    exact = run.evaluation("random", "soonest")
    found = evaluate_sampled(run, ["random"], games=2000, ties="soonest")
    assert found.to_dict()["ties"] == "soonest"
    for number, seat in enumerate(SEATS):
        verdict, share = found.verdicts[seat], getattr(exact, seat)[0]
        assert verdict.unbeatable == exact.unbeatable[seat]
        if verdict.line:
            assert_game_lost(run.board, verdict.line, number, lambda position: run.candidates(position, "soonest"))
        assert found.matches["random"][seat].win / 2000 == pytest.approx(share, abs=0.05)
    assert not run.evaluation().unbeatable["first"] and not search(run, "first").unbeatable
    assert search(run, "first", ties="soonest").unbeatable
    assert search(run, "first", ties="sharp").unbeatable == run.evaluation(ties="sharp").unbeatable["first"]


@pytest.mark.parametrize(("board", "seat"), [("2x3x2", "first"), ("3x3x2-misere", "second")])
def test_who_can_be_beaten_with_any_ties_may_be_unbeatable_with_the_soonest(board: str, seat: str) -> None:
    run = indifferent(board)
    assert not any(run.evaluation().unbeatable.values())
    assert run.evaluation(ties="soonest").unbeatable == {name: name == seat for name in SEATS}


@pytest.mark.slow
def test_play_leaves_a_line_where_the_oracle_does() -> None:
    left = []
    for run in (indifferent("3x3"), indifferent("2x3x2"), trained(games=50, symmetry="on"), trained(games=200)):
        evaluation, kept = run.evaluation(), sharpest(run.board, run.candidates)
        for number, seat in enumerate(SEATS):
            line = evaluation.losing_line[seat]
            if line is None:
                continue
            leaves, position = None, (EMPTY,) * run.board.cells
            for ply, cell in enumerate(line):
                if ply % 2 == number and cell not in kept(position):
                    leaves = ply
                    break
                position = run.board.after(position, cell)
            assert run.leaves(line, number) == leaves
            text = evaluation_text(evaluation, "run.h5")
            assert (f"  play leaves this line before {'XO'[number]}" in text) or leaves is None
            assert ("  to judge that: ties='sharp'" in text) or leaves is None
            left.append(leaves)
    assert None in left and len(set(left)) > 1


def test_what_is_said_of_ties_fits_on_a_line() -> None:
    assert max(len(f"ties:    {text}") for text in map(meaning, TIES)) <= REPORT_WIDTH


# --- what plays by it -------------------------------------------------------------------------------------------------


def test_meetings_are_between_the_soonest() -> None:
    runs = [trained(board="2x3x2"), indifferent("2x3x2")]
    policies = [run.soonest for run in runs]
    found = all_play_all(runs, ["one", "other"], ties="soonest")
    for meeting in (meeting for row in found.meetings for meeting in row):
        exact = match(runs[0].graph, policies[meeting.first], policies[meeting.second])
        assert meeting.exact == exact
    sampled = series(runs[0], runs[1], ("one", "other"), games=2000, ties="soonest")
    assert sampled.ties == found.ties == "soonest"
    for meeting in sampled.meetings:
        assert meeting.exact == match(runs[0].graph, policies[meeting.first], policies[meeting.second])
        assert all(abs(z) < 4 for z in meeting.deviations or (9,))
    assert all_play_all(runs, ["one", "other"]) == all_play_all(runs, ["one", "other"], ties="any")
    assert all_play_all(runs, ["one", "other"]).standings != found.standings


def test_play_takes_the_soonest_unless_told_otherwise() -> None:
    everywhere = FakeAgent(choose=lambda position: [cell for cell, mark in enumerate(position) if not mark])
    wins: dict[Ties, int] = {"soonest": 0, "any": 0}
    for name in wins:
        options: dict[str, Any] = {} if name == "soonest" else {"ties": name}
        for seed in range(40):
            out = io.StringIO()
            answers = "".join(f"{cell}\n" for cell in "123456789") + "0\n0\n"
            score = loop.play_in_terminal(
                everywhere, person=0, stdin=io.StringIO(answers), stdout=out, seed=seed, **options
            )
            wins[name] += score.losses
            assert ("Agent: ties any." in out.getvalue()) == (name == "any")
    assert wins["soonest"] > wins["any"]


@pytest.mark.slow
def test_play_is_sharp_where_it_can_be() -> None:
    run, first = trained(games=300), {}
    answers = "".join(f"{cell}\n" for cell in "123456789") + "0\n0\n"
    for name in (None, *TIES):
        for seed in range(20):
            out = io.StringIO()
            loop.play_in_terminal(run, person=1, stdin=io.StringIO(answers), stdout=out, seed=seed, ties=name)
            opening = out.getvalue().split("The agent plays ")[1][0]
            first.setdefault(name, set()).add(int(opening) - 1)
            assert ("Agent: ties " in out.getvalue()) == (name in ("soonest", "any"))
    assert first[None] == first["sharp"] == set(run.candidates(0, "sharp"))


def test_environments_reply_sharply() -> None:
    run = indifferent("3x3")
    boards, kept = ttt.Batch(200, opponent=run, seat="second", seed=1, ties="sharp"), run.candidates(0, "sharp")
    for planes in boards.planes.reshape(200, 2, 9):
        assert np.flatnonzero(planes[1]).tolist() in [[cell] for cell in kept]
    assert len(kept) < 9


def test_a_pupil_plays_the_soonest_of_what_it_knows_now() -> None:
    learning = LearningRun(trained(games=50))
    player, sharp = HandicappedAgent(learning, ties="soonest"), HandicappedAgent(learning, ties="sharp")
    for cells in ([4, 0, 2, 1, 6], [0, 4, 1, 2, 8, 6]):
        for position in some_positions(learning.board, 5):
            assert player.candidates(position) == soonest(learning.board, position, learning.run.candidates(position))
            assert sharp.candidates(position) == learning.run.candidates(position, "sharp")
        assert learning.update(cells)


def test_agents_to_watch_take_the_soonest_where_they_are_told() -> None:
    run, won = indifferent("2x3x2"), dict.fromkeys(TIES, 0)
    for name in TIES:
        for seed in range(20):
            out = io.StringIO()
            won[name] += watch_game(run, run, names=("one", "other"), stdout=out, seed=seed, ties=name) == FIRST_WINS
            assert ("ties='soonest'" in out.getvalue()) == (name == "soonest")
    assert won["soonest"] == 20 > won["any"]


@pytest.mark.slow
def test_every_command_says_which_policy_it_judged(capsys: Any) -> None:
    trained(games=1_000_000).save("run.h5")
    trained(games=300).save("other.h5")
    judging = {
        "evaluate": ("evaluate", "run.h5"),
        "scripted": ("evaluate", "run.h5", "--against", "one-ply"),
        "rival": ("evaluate", "run.h5", "--against", "other.h5"),
        "watch": ("watch", "run.h5", "other.h5", "--games", 20),
        "tournament": ("tournament", "run.h5", "other.h5"),
        "show": ("show", "run.h5", PASSED_UP),
    }
    for name, words in judging.items():
        for rule in (None, "any", "soonest", "sharp"):
            chosen = words if rule is None else (*words, "--ties", rule)
            status, out, _ = command(capsys, *chosen)
            assert status == 0 and f"(--ties {rule or 'any'})" in out and max(map(len, out.splitlines())) <= 80, name
            assert json.loads(command(capsys, *chosen, "--json")[1])["ties"] == (rule or "any")
        status, _, err = command(capsys, *words, "--ties", "first")
        assert status == 2 and "unknown ties 'first'; choose sharp, soonest or any" in err
    assert "agent   plays 7: keeps the win" in command(capsys, *judging["show"], "--ties", "soonest")[1]
    assert "agent   plays 4 6 7 (1 in 3 each)" in command(capsys, *judging["show"])[1]
    status, _, err = command(capsys, "export", "run.h5", "--to", "csv", "-o", "table.csv", "--ties", "soonest")
    assert status == 2 and "--ties soonest is for a page" in err


@pytest.mark.slow
def test_what_only_its_ties_make_unbeatable_says_so() -> None:
    run = ttt.train(2000, learner="q-learning")
    assert "unbeatable as first: no opponent beats it with ties='sharp'" in str(ttt.evaluate(run, ties="sharp"))
    assert "can be beaten as first" in str(ttt.evaluate(run))
