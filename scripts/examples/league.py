"""A league for 3x3: softmax preferences learn by REINFORCE against random play and frozen copies of themselves.

    python scripts/examples/league.py [generations]

A frozen copy joins the league after each generation.  The last columns are exact (`ttt.judge`): what the greedy player
loses against random moves as second, and the seats in which nobody can beat it.
"""

import argparse
from typing import Any

import numpy as np
from numpy.typing import NDArray

import ttt_batch as ttt

BOARDS, STEPS, RATE, NEWEST = 256, 66, 0.1, 5


class Player:
    """Agent with a preference for each cell in each position.  greedy: take the cell of the highest one."""

    def __init__(self, preferences: NDArray[np.float64], *, greedy: bool = False) -> None:
        self.preferences, self.greedy = preferences, greedy

    def __call__(self, boards: NDArray[np.int8], to_move: NDArray[np.int8], legal: NDArray[np.bool_]) -> Any:
        """Return the probabilities of the cells, or the likeliest one."""
        weights = np.exp(self.preferences[codes_of(boards)]) * legal
        return weights.argmax(1) if self.greedy else weights / weights.sum(1, keepdims=True)


def codes_of(boards: NDArray[np.int8]) -> NDArray[np.int64]:
    """Return the number of each position (int64[n])."""
    return (boards.reshape(-1, 9) % 3).astype(np.int64) @ 3 ** np.arange(9)


def learn(player: Player, boards: ttt.Batch, draw: np.random.Generator) -> None:
    """Play STEPS steps, and move preferences towards the moves of won games and away from those of lost ones."""
    past: list[list[Any]] = [[] for _ in range(boards.n)]
    for _ in range(STEPS):
        planes, seats = boards.planes.astype(np.int8), boards.movers
        now = planes[:, 0] - planes[:, 1]
        codes, chances = codes_of(now), player(now, seats.astype(np.int8), boards.mask)
        cells = (chances.cumsum(1) > draw.random((boards.n, 1))).argmax(1)
        _, _, rewards, over = boards.step(cells)
        for moves, *move in zip(past, codes, cells, chances, strict=True):
            moves.append(move)
        for env in np.flatnonzero(over).tolist():
            for code, cell, chance in past[env]:
                player.preferences[code] += RATE * rewards[env, seats[env]] * ((np.arange(9) == cell) - chance)
            past[env] = []


def main(generations: int, seed: int = 0) -> None:
    """Train a player, and print how it gets on."""
    player, draw = Player(np.zeros((3**9, 9))), np.random.default_rng(seed)
    league: list[str | Player] = ["random"]
    for number in range(1, generations + 1):
        for opponent in league[:1] + league[1:][-NEWEST:]:
            learn(player, ttt.Batch(BOARDS, "3x3", seed + number, opponent, "same-step"), draw)
        league.append(Player(player.preferences.copy()))
        judged = ttt.judge(Player(player.preferences, greedy=True))
        assert isinstance(judged, ttt.Evaluation)  # which it is on every board that can be enumerated
        safe = " and ".join(seat for seat, unbeatable in judged.unbeatable.items() if unbeatable)
        print(f"generation {number:2}   loses {judged.second[2]:.3f} as second   unbeatable as {safe or 'neither'}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("generations", nargs="?", type=int, default=12, help="frozen copies that join (12)")
    generations = parser.parse_args().generations
    if generations < 1:
        parser.error(f"generations {generations} is below 1; give a number from 1, e.g. 12")
    main(generations)
