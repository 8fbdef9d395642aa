"""The adapters of OpenSpiel on every variant, with OpenSpiel where it is installed and with a stand-in everywhere."""

import importlib
import random
import sys

import numpy as np
import pytest
from helpers import fake_openspiel
from helpers.support import mostly_slow

import ttt_batch as ttt
from ttt_batch.agents import at_board, from_openspiel, to_openspiel
from ttt_batch.core.errors import AgentError, BoardError, UsageError

BOARDS = ["3x3", "2x4x3", "3x3-misere", "4x3x3-gravity", "3x3-misere-gravity", "1x4x2-gravity", "3x1x2"]
QUICK = BOARDS[0], BOARDS[-3]
WIDE = ["6x7x4-gravity", "8x8x5-gravity", "5x6x4-misere", "6x7x4", "4x5x4-misere-gravity"]


@pytest.fixture(params=["stand-in", "OpenSpiel"])
def pyspiel(request, monkeypatch):
    """`pyspiel`, made up or real."""
    if request.param == "stand-in":
        for name, module in fake_openspiel.modules().items():
            monkeypatch.setitem(sys.modules, name, module)
        return sys.modules["pyspiel"]
    pytest.importorskip("open_spiel.python.policy")
    return pytest.importorskip("pyspiel")


def uniform(game):
    """OpenSpiel's policy that takes every legal action alike."""
    return importlib.import_module("open_spiel.python.policy").UniformRandomPolicy(game)


def judged_the_same(one, other):
    assert one.unbeatable == other.unbeatable
    np.testing.assert_allclose([*one.first, *one.second], [*other.first, *other.second], atol=1e-12)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("board", mostly_slow([*BOARDS, *WIDE], *QUICK, WIDE[0]))
def test_every_move_is_one_of_their_game(pyspiel, board):
    """Random games: our `Batch` and their states agree on moves, ends and results, and the policy on the moves."""
    n, chance, ended = 8, random.Random(board), 0
    policy = to_openspiel("one-ply", board)
    batch = ttt.Batch(n, board, 1, autoreset="same-step")
    states = [policy.game.new_initial_state() for _ in range(n)]
    for step in range(60):
        actions = []
        for number, state in enumerate(states):
            assert state.legal_actions() == np.flatnonzero(batch.mask[number]).tolist()
            if step < 20:
                told = policy.action_probabilities(state)
                assert list(told) == state.legal_actions()
                assert sum(told.values()) == pytest.approx(1)
            actions.append(chance.choice(state.legal_actions()))
        seen = batch.step(actions)
        for number, (state, action) in enumerate(zip(states, actions, strict=True)):
            state.apply_action(action)
            assert state.is_terminal() == seen.terminated[number]
            assert state.returns() == seen.rewards[number].tolist()
            if state.is_terminal():
                assert policy.action_probabilities(state) == {}
                states[number], ended = policy.game.new_initial_state(), ended + 1
    assert ended > 0


@pytest.mark.slow
@pytest.mark.parametrize("board", BOARDS)
def test_there_and_back(pyspiel, board):
    run = ttt.train(300, board=board, seed=1)
    policy = to_openspiel(run)
    judged_the_same(ttt.judge(from_openspiel(policy, policy.game), board), ttt.evaluate(run))
    judged_the_same(
        ttt.judge(from_openspiel(uniform(policy.game), str(policy.game)), board), ttt.judge("random", board)
    )


@pytest.mark.slow
def test_positions_of_gravity_are_reached_by_moves(pyspiel):
    """Also where the moves have to be found: the same column twice by one player, and full columns."""
    agent = from_openspiel(uniform(pyspiel.load_game("connect_four")), "connect_four")
    with at_board(agent, "6x7x4-gravity") as player:
        batch = ttt.Batch(20, "6x7x4-gravity", 3, autoreset="same-step")
        for _ in range(30):
            for code in range(20):
                marks = batch.bitboards[code]
                position = tuple((int(marks[0]) >> c & 1) + 2 * (int(marks[1]) >> c & 1) for c in range(42))
                cells = player.board.open_cells(position)
                assert player.shares(position) == pytest.approx(dict.fromkeys(cells, 1 / len(cells)))
            batch.step(batch.sample())


def test_their_simplest_game_is_chosen(pyspiel):
    names = {
        board: str(to_openspiel("random", board).game) for board in ("3x3", "4x4x3", "6x7x4-gravity", "3x3-misere")
    }
    assert names["3x3"].startswith("tic_tac_toe")
    assert names["4x4x3"].startswith("mnk")
    assert names["6x7x4-gravity"].startswith("connect_four")
    assert names["3x3-misere"].startswith("misere(game=tic_tac_toe")


@pytest.mark.parametrize("board", ["3x3-exact", "4x4x4-misere-exact-gravity"])
def test_what_they_do_not_have_is_named(pyspiel, board):
    with pytest.raises(BoardError, match=f"no game for board {board}; choose one without -exact"):
        to_openspiel("random", board)


def bot(pyspiel, **methods):
    """A bot in Python with these methods."""
    return type("Made", (pyspiel.Bot,), {"__init__": pyspiel.Bot.__init__, **methods})()


def alike(_self, state):
    legal = state.legal_actions()
    return [(action, 1 / len(legal)) for action in legal]


@pytest.mark.slow
@pytest.mark.parametrize("told", [True, False])
@pytest.mark.parametrize(
    "methods",
    [
        {"step_with_policy": lambda self, state: (alike(self, state), state.legal_actions()[0])},
        {
            "step_with_policy": lambda self, state: (dict(alike(self, state)), -1),
            "restart_at": lambda self, state: None,
        },
        {"get_policy": alike},
    ],
)
def test_bots_that_tell_their_policy_are_judged_by_it(pyspiel, methods, told):
    """By whatever method they have of their own; `get_policy` counts if they say that they provide one."""
    if told or "get_policy" in methods:
        methods = {**methods, "provides_policy": lambda self: True}
    judged_the_same(ttt.judge(from_openspiel(bot(pyspiel, **methods))), ttt.judge("random"))


def test_bots_that_only_step_keep_no_memory(pyspiel):
    """`restart_at` of the base class only fails, and is not called."""
    lowest = bot(pyspiel, step=lambda self, state: state.legal_actions()[0])
    judged_the_same(ttt.judge(from_openspiel(lowest)), ttt.judge(lambda boards, to_move, legal: legal.argmax(1)))


@pytest.mark.slow
def test_the_last_free_cell_is_taken_by_a_bot_that_sees_no_action(pyspiel):
    """As OpenSpiel's `PolicyBot` answers where action 0 is the only one."""

    def tell(self, state):
        return ([], -1) if state.legal_actions() == [0] else (alike(self, state), state.legal_actions()[0])

    judged_the_same(ttt.judge(from_openspiel(bot(pyspiel, step_with_policy=tell))), ttt.judge("random"))


@pytest.mark.slow
def test_bots_of_one_seat_come_in_pairs(pyspiel):
    def of(seat):
        def tell(self, state):
            return (alike(self, state), None) if state.current_player() == seat else ([], -1)

        return bot(pyspiel, step_with_policy=tell)

    judged_the_same(ttt.judge(from_openspiel((of(0), of(1)))), ttt.judge("random"))
    for players in (of(0), (of(1), of(0))):
        with pytest.raises(
            AgentError, match="answered action -1; return one from 0 to 8, or give a pair of bots, one for"
        ):
            ttt.judge(from_openspiel(players))


@pytest.mark.slow
def test_bots_need_not_be_of_their_class(pyspiel):
    class Highest:
        def step(self, state):
            return np.int64(max(state.legal_actions()))

    class Telling:
        def provides_policy(self):
            return True

        def step_with_policy(self, state):
            return alike(self, state), None

    judged_the_same(
        ttt.judge(from_openspiel(Highest())), ttt.judge(lambda boards, to_move, legal: 8 - legal[:, ::-1].argmax(1))
    )
    judged_the_same(ttt.judge(from_openspiel(Telling())), ttt.judge("random"))


@pytest.mark.parametrize("action", [-1, 9, 2.5, None, "4"])
def test_an_action_that_is_none_is_refused(pyspiel, action):
    stepping = bot(pyspiel, step=lambda self, state: action, restart_at=lambda self, state: None)
    with pytest.raises(
        AgentError, match=r"in position '\.\.\. \.\.\. \.\.\.' \(X to move\) OpenSpiel's Made answered action"
    ):
        ttt.judge(from_openspiel(stepping))
    telling = bot(pyspiel, step_with_policy=lambda self, state: ([(action, 1.0)], action))
    with pytest.raises(AgentError, match="return one from 0 to 8"):
        ttt.judge(from_openspiel(telling))


def test_a_full_column_is_no_move(pyspiel):
    stubborn = bot(pyspiel, step_with_policy=lambda self, state: ([], 0))
    agent = from_openspiel(stubborn, "connect_four(rows=3,columns=4,x_in_row=4)")
    with pytest.raises(AgentError, match="answered probability 1 for cell 0, which is occupied or in the air"):
        ttt.judge(agent, "3x4x4-gravity")
    assert not any(ttt.judge(agent, "3x4x4-gravity", illegal="loses").unbeatable.values())


@pytest.mark.slow
def test_boards_may_be_text_runs_files_or_agents_at_a_board(pyspiel, tmp_path):
    run = ttt.train(100, board="3x4x3", seed=1)
    run.save(tmp_path / "run.h5")
    state = to_openspiel(run).game.new_initial_state()
    expected = to_openspiel(run).action_probabilities(state)
    for given in (
        tmp_path / "run.h5",
        str(tmp_path / "run"),
        at_board(from_openspiel(to_openspiel(run), to_openspiel(run).game), "3x4x3"),
    ):
        assert to_openspiel(given, "3x4x3").action_probabilities(state) == expected
    with pytest.raises(UsageError, match="the agent plays 3x4x3, not 4x4x4; leave board out"):
        to_openspiel(run, "4x4x4")
    with pytest.raises(UsageError, match="is not a run; give a run"):
        to_openspiel(5)


def test_states_of_another_game_are_refused(pyspiel):
    policy = to_openspiel("random", "4x4x3-gravity")
    for name, moves in {
        "tic_tac_toe": [],
        "mnk(m=4,n=4,k=3)": [15],
        "connect_four": [6],
        "connect_four(rows=4,columns=4,x_in_row=4)": [0, 1, 0, 1, 0],
    }.items():
        state = pyspiel.load_game(name).new_initial_state()
        for move in moves:
            state.apply_action(move)
        with pytest.raises(UsageError, match=r"the agent plays 4x4x3-gravity; give a state of its game"):
            policy.action_probabilities(state)


@pytest.mark.parametrize(
    ("game", "board"), [("connect_four", "6x7x4"), ("mnk(m=4,n=4,k=4)", "4x4x4-gravity"), ("tic_tac_toe", "2x4x3")]
)
def test_the_game_of_another_board_is_noticed(pyspiel, game, board):
    with (
        at_board(from_openspiel(uniform(pyspiel.load_game(game)), game), board) as player,
        pytest.raises(AgentError, match="which is not the game of this board; give that one"),
    ):
        player.shares("." * player.board.cells)


def test_games_that_are_none_are_named(pyspiel):
    with pytest.raises(UsageError, match="no game 'tik_tak'; check the name"):
        from_openspiel(to_openspiel("random"), "tik_tak")
    with pytest.raises(UsageError, match="game 5 is not a game of OpenSpiel; give one, or its name"):
        from_openspiel(to_openspiel("random"), 5)
    with pytest.raises(UsageError, match="neither a policy nor a bot"):
        from_openspiel(5)


def test_an_agent_that_may_choose_an_occupied_cell_is_no_policy(pyspiel):
    policy = to_openspiel(at_board(lambda boards, to_move, legal: np.zeros(len(boards), int), "3x3", illegal="loses"))
    state = policy.game.new_initial_state()
    assert policy.action_probabilities(state)[0] == 1
    with pytest.raises(AgentError, match=r"in position 'X\.\. \.\.\. \.\.\.' .* resigns or chooses an occupied"):
        policy.action_probabilities(state.child(0))
