"""A league for 3x3: softmax preferences learn by REINFORCE against random play and frozen copies of themselves.

Run `python scripts/examples/league.py [generations]`.  A frozen copy joins after each generation.  The last columns are
exact (`ttt.judge`): what the greedy player loses against random moves as second, and the seats that nobody can beat.
"""

import argparse
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

import ttt_batch as ttt

BOARDS, STEPS, RATE, NEWEST = 256, 66, 0.1, 5


def codes_of(boards: NDArray[np.int8]) -> NDArray[np.int64]:
    """Return the number of each position (int64[n])."""
    return (boards.reshape(-1, 9) % 3).astype(np.int64) @ 3 ** np.arange(9)


def play(preferences: NDArray[Any], boards: NDArray[Any], to_move: NDArray[Any], legal: NDArray[Any]) -> Any:
    """Return the probabilities of the cells, by their preferences (float64[positions, 9])."""
    weights = np.exp(preferences[codes_of(boards)]) * legal
    return weights / weights.sum(1, keepdims=True)


def learn(preferences: NDArray[Any], boards: ttt.Batch, draw: np.random.Generator) -> None:
    """Play STEPS steps, and move preferences towards the moves of won games and away from those of lost ones."""
    past: list[list[Any]] = [[] for _ in range(boards.n)]
    for _ in range(STEPS):
        now, seats = boards.observe("canonical"), boards.movers
        chances = play(preferences, now, seats.astype(np.int8), boards.mask)
        cells = (chances.cumsum(1) > draw.random((boards.n, 1))).argmax(1)
        _, _, rewards, over = boards.step(cells)
        for moves, *move in zip(past, codes_of(now), cells, chances, strict=True):
            moves.append(move)
        for env in np.flatnonzero(over):
            for code, cell, chance in past[env]:
                preferences[code] += RATE * rewards[env, seats[env]] * ((np.arange(9) == cell) - chance)
            past[env] = []


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("generations", nargs="?", type=int, default=12, help="frozen copies that join (12)")
    if (generations := parser.parse_args().generations) < 1:
        parser.error(f"generations {generations} is below 1; give a number from 1, e.g. 12")
    preferences, draw = np.zeros((3**9, 9)), np.random.default_rng(0)
    league: list[Any] = ["random"]
    for number in range(1, generations + 1):
        for opponent in league[:1] + league[1:][-NEWEST:]:
            learn(preferences, ttt.Batch(BOARDS, "3x3", number, opponent, "same-step"), draw)
        league.append(partial(play, preferences.copy()))
        judged = ttt.judge(lambda *asked: play(preferences, *asked).argmax(1))
        assert isinstance(judged, ttt.Evaluation)  # which it is on every board that can be enumerated
        safe = " and ".join(seat for seat, unbeatable in judged.unbeatable.items() if unbeatable)
        print(f"generation {number:2}   loses {judged.second[2]:.3f} as second   unbeatable as {safe or 'neither'}")
