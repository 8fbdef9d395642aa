"""Proofs: against plain recursion on every kind of board, with any number of threads, keys and little memory."""

import functools
import threading
from typing import Any

import numpy as np
import pytest
from helpers.proof_agents import Oracle, Weigher, assert_lost, naive_picks, spoil, weigher
from helpers.support import mostly_slow, without_jit

from ttt_batch.compiler.jit import kernel
from ttt_batch.evaluation import prover as proving
from ttt_batch.evaluation.prover import ALWAYS_WINS, CANNOT_LOSE, Goal, Proof, Prover
from ttt_batch.evaluation.search import enter_position, make_positions
from ttt_batch.games import board as boards
from ttt_batch.games.board import Board, parse_board

CASES = {
    "3x3": ((0, 2, 5), (12,)),
    "3x3-misere": ((), (0, 1)),
    "3x4x3": ((2,), (707,)),
    "2x4x3-exact": ((4, 5, 7), (1,)),
    "2x4x3-misere-exact": ((0,), (6, 17)),
    "1x6x4": ((), (0,)),
    "2x3x2": ((), (0, 3)),
    "1x5x5": ((), (0,)),
    "1x1x1": ((), (0,)),
    "4x3x3-gravity": ((6, 43), (41,)),
    "3x4x4-gravity": ((0, 20), (11,)),
    "2x4x3-misere-gravity": ((1,), (2, 3)),
}
"""Seeds of agents that take wins and stop them, and of some that do not; many of them are proved in some seat."""


@functools.cache
def prover_of(board: str, wide: bool | None = None, *, symmetric: bool = True) -> Prover:
    return Prover(parse_board(board), symmetric=symmetric, wide=wide)


def oracle_of(agent: Weigher, board: Board, seat: int, goal: Goal, *, symmetric: bool = True) -> Oracle:
    policy = functools.cache(functools.partial(naive_picks, agent, board))
    return Oracle(policy, board, seat, must_win=goal == ALWAYS_WINS, symmetric=symmetric)


def assert_agrees(proof: Proof, oracle: Oracle) -> None:
    assert proof.status == ("proved" if oracle.holds else "refuted") and not proof.full
    if oracle.holds:
        assert proof.positions == len(oracle.reached) and proof.line is None and len(proof.lost) == 0
    else:
        assert proof.line is not None
        assert_lost(oracle, proof.line)


@pytest.mark.parametrize("wide", mostly_slow([None, True], None))
def test_proofs_are_those_of_the_oracle(wide: bool | None) -> None:
    found = set()
    for board, seeds in CASES.items():
        whole = parse_board(board)
        for agent in [weigher(whole, seed, takes=takes) for takes in (True, False) for seed in seeds[not takes]]:
            policy = functools.cache(functools.partial(naive_picks, agent, whole))
            for seat, goal, symmetric in [(0, CANNOT_LOSE, True), (1, CANNOT_LOSE, False), (0, ALWAYS_WINS, True)]:
                oracle = Oracle(policy, whole, seat, must_win=goal == ALWAYS_WINS, symmetric=symmetric)
                proof = prover_of(board, wide, symmetric=symmetric).prove(agent, seat, goal)
                found.add((proof.status, goal, "misere" in board))
                assert_agrees(proof, oracle)
    assert len(found) == 7  # no agent is proved to win a misère board


@pytest.mark.slow
def test_hunts_find_real_lost_games_or_prove() -> None:
    """Whatever they skip, and the same from the same key."""
    found = set()
    for board, seeds in CASES.items():
        whole, prover = parse_board(board), prover_of(board, symmetric=False)
        for agent in [weigher(whole, seed, takes=takes) for takes in (True, False) for seed in seeds[not takes]]:
            for seat, goal in [(0, CANNOT_LOSE), (1, CANNOT_LOSE), (0, ALWAYS_WINS)]:
                oracle = oracle_of(agent, whole, seat, goal, symmetric=False)
                hunts = [prover.prove(agent, seat, goal, lost=100, hunt=key) for key in (1, 2**63 - 1, 1)]
                for proof in hunts:
                    assert_agrees(proof, oracle)
                    for game in proof.lost.tolist():
                        assert_lost(oracle, [cell for cell in game if cell >= 0])
                assert np.array_equal(hunts[0].lost, hunts[2].lost) and hunts[0] == hunts[2]
                found.add((hunts[0].status, np.array_equal(hunts[0].lost, hunts[1].lost)))
    assert found == {("proved", True), ("refuted", True), ("refuted", False)}


@pytest.mark.sampled(1)
@pytest.mark.parametrize(
    ("seed", "goal"),
    mostly_slow([(2, ALWAYS_WINS), (3, ALWAYS_WINS), (4, CANNOT_LOSE)], (2, ALWAYS_WINS), (4, CANNOT_LOSE)),
)
def test_one_wrong_move_deep_in_the_tree_is_found(seed: int, goal: Goal) -> None:
    board, prover = parse_board("4x4x3"), prover_of("4x4x3", symmetric=False)
    agent = weigher(board, seed)
    oracle = oracle_of(agent, board, 0, goal, symmetric=False)
    assert_agrees(prover.prove(agent, 0, goal), oracle)
    spoilt = 0
    for position in sorted(oracle.reached, key=lambda position: (-sum(map(bool, position)), position)):
        free = [cell for cell, mark in enumerate(position) if not mark]
        if len(free) % 2:
            continue
        for cell in free:
            poor = spoil(agent, position, 0, [*naive_picks(agent, board, position), cell])
            other = oracle_of(poor, board, 0, goal, symmetric=False)
            spoilt += not other.holds
            assert_agrees(prover.prove(poor, 0, goal), other)
        if spoilt > 2:
            break
    assert spoilt


def test_an_agent_that_picks_an_occupied_cell_has_lost() -> None:
    board = parse_board("3x3")
    agent = weigher(board, 0)
    oracle = oracle_of(agent, board, 0, CANNOT_LOSE, symmetric=False)
    assert oracle.holds
    position = max(oracle.reached, key=lambda position: (sum(map(bool, position)) % 2 == 0, sum(map(bool, position))))
    poor = spoil(agent, position, 0, [position.index(2)])
    proof = prover_of("3x3", symmetric=False).prove(poor, 0)
    assert proof.status == "refuted" and proof.line is not None
    *before, last = proof.line
    assert last == position.index(2) and {cell: ply % 2 + 1 for ply, cell in enumerate(before)} == {
        cell: mark for cell, mark in enumerate(position) if mark
    }


SLOW, FOUR = 78_586, weigher(parse_board("4x4x4"), 12)
"""Positions of a proof in the second seat, and its agent."""


@pytest.mark.sampled(1)
@pytest.mark.parametrize("wide", [False, True])
@pytest.mark.parametrize("threads", [1, 2, 3])
def test_threads_and_keys_do_not_show(threads: int, wide: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(proving, "AT_ONCE", 5_000)
    monkeypatch.setattr(proving, "WORTH_SHARING", 50)
    proof = prover_of("4x4x4", wide).prove(FOUR, 1, threads=threads)
    assert (proof.status, proof.positions, len(proof.lost)) == ("proved", SLOW, 0)
    poor = weigher(parse_board("4x4x4"), 0)
    refuted = prover_of("4x4x4", wide).prove(poor, 1, threads=threads, lost=5)
    assert refuted.status == "refuted" and 1 <= len(refuted.lost) <= 5


def test_lost_games_are_collected_and_the_same_each_time() -> None:
    board = parse_board("3x4x3")
    agent = weigher(board, 2)
    oracle = oracle_of(agent, board, 1, CANNOT_LOSE)
    proofs = [prover_of("3x4x3").prove(agent, 1, lost=lost) for lost in (1, 20, 20, 100_000)]
    assert proofs[1].lost.tobytes() == proofs[2].lost.tobytes() and proofs[1].lost.shape == (20, 12)
    assert proofs[0].line == proofs[1].line == proofs[3].line
    assert (proofs[3].lost[:20] == proofs[1].lost).all() and 20 < len(proofs[3].lost) < 100_000
    ends = set()
    for game in proofs[3].lost.tolist():
        cells = [cell for cell in game if cell >= 0]
        assert game == cells + [-1] * (12 - len(cells))
        assert_lost(oracle, cells)
        before = [0] * 12
        for ply, cell in enumerate(cells[:-1]):
            before[cell] = 1 + ply % 2
        ends.add(board.representative(tuple(before))[0])
    assert len(ends) == len(proofs[3].lost)  # one for each position


@pytest.mark.parametrize("threads", [1, 2])
def test_a_budget_is_enough_or_leaves_the_question_open(threads: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(proving, "AT_ONCE", 7_001)
    monkeypatch.setattr(proving, "WORTH_SHARING", 50)
    prover = prover_of("4x4x4")
    assert prover.prove(FOUR, 1, budget=SLOW, threads=threads).status == "proved"
    for budget in (1, 77, SLOW - 1):
        proof = prover.prove(FOUR, 1, budget=budget, threads=threads)
        assert (proof.status, proof.positions, proof.full) == ("undecided", budget, False)


@pytest.mark.sampled(1)
@pytest.mark.parametrize("wide", [False, True])
def test_memory_is_a_bound_that_says_when_it_is_full(wide: bool) -> None:
    board, word = parse_board("4x4x4"), 16 if wide else 8
    for memory in (1, 1_000, 200_000):
        for threads in (1, 2):
            proof = Prover(board, memory, wide=wide).prove(FOUR, 1, threads=threads)
            assert proof.status == "undecided" and proof.full and proof.positions <= memory // word
    ample = Prover(board, 300_000 * word, wide=wide)
    for _ in range(2):  # grown, and at once as large
        assert ample.prove(FOUR, 1).positions == SLOW


def test_progress_is_told_and_a_stop_is_heard(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(proving, "AT_ONCE", 10_000)
    told = list[tuple[int, ...]]()
    prover_of("4x4x4").prove(FOUR, 1, follow=lambda *now: bool(told.append(now)))
    assert told[-1] == (70_000, 0) and told == sorted(told)
    stopped = prover_of("4x4x4").prove(FOUR, 1, follow=lambda *_: True)
    assert (stopped.status, stopped.positions, stopped.full) == ("undecided", 10_000, False)


@pytest.mark.slow
def test_boards_of_more_than_forty_cells(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(boards, "MAX_CELLS", 64)
    for board in (Board(7, 7, 4), Board(8, 8, 5), Board(1, 64, 3)):
        agent = weigher(board, 2)
        oracle = Oracle.__new__(Oracle)  # not the tree, only what a lost game needs
        oracle.board, oracle.seat, oracle.must_win = board, 1, False
        oracle.policy = functools.partial(naive_picks, agent, board)
        proof = Prover(board).prove(agent, 1, budget=200_000)
        assert proof.status == "refuted" and proof.line is not None
        assert_lost(oracle, proof.line)
    long = Board(1, 45, 23)  # who wastes a move can fill no line any more
    agent = weigher(long, 1)
    proof = Prover(long).prove(agent, 1)
    assert proof.status == "proved" and proof.positions == 47
    assert_agrees(proof, oracle_of(agent, long, 1, CANNOT_LOSE))


@kernel
def enter_all(positions: Any, keys: Any, n: int, new: Any, me: int) -> None:
    """Enter keys, and add `me` for each that was new."""
    for number in range(n):
        if enter_position(positions, keys, number):
            new[number] += me


@pytest.mark.slow
@pytest.mark.parametrize("words", [1, 2])
def test_every_position_is_new_to_one_thread(words: int) -> None:
    n = 200_000
    keys = np.random.default_rng(0).integers(1, 2**63, words * n, np.uint64)
    keys[words * (n // 2) :] = keys[: words * (n // 2)]  # each comes twice
    empty = make_positions(parse_board("3x3"), symmetric=True, wide=words == 2)
    enter_all(empty._replace(slots=np.zeros(1024, np.uint64)), keys, 1, np.zeros(n, np.int64), 1)  # compiled
    positions = empty._replace(slots=np.zeros(words * n, np.uint64))
    new, begin = np.zeros((2, n), np.int64), threading.Barrier(2)

    def race(me: int) -> None:
        begin.wait()
        enter_all(positions, keys, n, new[me], 1)

    racing = [threading.Thread(target=race, args=(me,)) for me in range(2)]
    for thread in racing:
        thread.start()
    for thread in racing:
        thread.join()
    assert new.sum() == n // 2 and (new.sum(axis=0)[: n // 2] + new.sum(axis=0)[n // 2 :] == 1).all()


@pytest.mark.slow
def test_plain_python_proves_alike() -> None:
    without_jit(__file__, "test_plain()")


@pytest.mark.slow
def test_plain() -> None:
    board = parse_board("3x3")
    for seat in (0, 1):
        for wide in (None, True):
            agent = weigher(board, 0)
            for threads in (1, 2):
                proof = Prover(board, wide=wide).prove(agent, seat, threads=threads)
                assert_agrees(proof, oracle_of(agent, board, seat, CANNOT_LOSE))


def test_memory_kept_does_not_show_in_what_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    """A first proof grows its slots, a second one finds them: both may be stopped after the same positions."""
    monkeypatch.setattr(proving, "AT_ONCE", 1 << 12)
    board = parse_board("5x5x5")
    agent, prover, reports = weigher(board, 0), Prover(board, 1 << 27), [list[tuple[int, ...]](), []]
    for told in reports:
        prover.prove(agent, 0, budget=50_000, lost=50_000, follow=lambda *now, told=told: bool(told.append(now)))
    assert reports[0] == reports[1] and [entered for entered, _ in reports[0]] == list(range(1 << 12, 50_000, 1 << 12))
