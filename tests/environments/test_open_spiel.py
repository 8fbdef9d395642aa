"""OpenSpiel's `tic_tac_toe`, `mnk` and `connect_four`, state by state: legal actions, returns, observations."""

import random

import numpy as np
import pytest

pyspiel = pytest.importorskip("pyspiel")

import ttt_batch as ttt  # noqa: E402

GAMES = {
    "3x3": "tic_tac_toe",
    "4x5x4": "mnk(m=5,n=4,k=4)",
    "7x7x5": "mnk(m=7,n=7,k=5)",
    "6x7x4-gravity": "connect_four",
    "4x5x3-gravity": "connect_four(rows=4,columns=5,x_in_row=3)",
    "3x3-misere": "misere(game=tic_tac_toe())",
    "4x4x3-misere-gravity": "misere(game=connect_four(rows=4,columns=4,x_in_row=3))",
}


def compare(board: str, steps: int, n: int = 50) -> int:
    """Step both with the same random legal actions; return how many games ended."""
    name, chance, ended = GAMES[board], random.Random(board), 0
    game, batch = pyspiel.load_game(name), ttt.Batch(n, board, autoreset="same-step")
    states = [game.new_initial_state() for _ in range(n)]
    orders = set()
    shape, flip = game.observation_tensor_shape(), "gravity" in board
    for _ in range(-(-steps // n)):
        actions = []
        for number, state in enumerate(states):
            legal = state.legal_actions()
            assert legal == np.flatnonzero(batch.mask[number]).tolist()
            actions.append(chance.choice(legal))
            tensor = np.array(state.observation_tensor(0)).reshape(shape)
            tensor = tensor[:, ::-1] if flip else tensor  # connect_four counts rows from below
            planes = batch.planes[number] if state.current_player() == 0 else batch.planes[number][::-1]
            expected = [*planes.astype(float).tolist(), (1.0 - planes.sum(0)).tolist()]
            found = tensor.tolist()
            assert sorted(found) == sorted(expected)
            if len({str(plane) for plane in found}) == 3:
                orders.add(tuple(found.index(plane) for plane in expected))
        seen = batch.step(np.array(actions))
        for number, (state, action) in enumerate(zip(states, actions, strict=True)):
            state.apply_action(action)
            assert state.is_terminal() == seen.terminated[number]
            assert state.returns() == seen.rewards[number].tolist()
            if state.is_terminal():
                states[number], ended = game.new_initial_state(), ended + 1
    assert len(orders) == 1  # the same plane is the same player's in all positions
    return ended


@pytest.mark.parametrize("board", GAMES)
def test_it_is_the_game_of_open_spiel(board: str):
    assert compare(board, 5000) > 30


@pytest.mark.slow
@pytest.mark.parametrize("board", GAMES)
def test_it_is_so_for_a_million_steps(board: str):
    compare(board, 1_000_000 // len(GAMES), n=1000)
