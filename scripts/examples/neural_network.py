"""A neural network of one hidden layer, in NumPy, learns 3x3 by Q-learning from `ttt.Batch`.

    python scripts/examples/neural_network.py [seconds]

It plays against itself and against a run, by turns.  The curve is the point: what the best opponent gets against the
network, and whether anybody can beat it at all, proved over every game that its own play lets happen (`ttt.judge`), not
estimated from games.  It stops once nobody can.
"""

import sys
import time
from typing import Any

import numpy as np
from numpy.typing import NDArray

import ttt_batch as ttt

Array = NDArray[np.float32]
Lesson = tuple[NDArray[np.int8], NDArray[np.int64], Array]
"""Positions, moves and their targets."""

HIDDEN, BOARDS, MINIBATCHES, STEP, EPSILON = 128, 128, 6, 1e-3, 0.5


class Network:
    """Network of the worth of each cell to the player to move, from -1 to 1, by its marks and its opponent's."""

    def __init__(self, seed: int, start: float) -> None:
        """start: what it says before it has learnt."""
        draw = np.random.default_rng(seed)
        shapes = (18, HIDDEN), (HIDDEN,), (HIDDEN, 9), (9,)
        self.weights = [(draw.standard_normal(s) * (len(s) == 2) / s[0] ** 0.5).astype(np.float32) for s in shapes]
        self.weights[3] += np.float32(start)
        self.means = [(np.zeros_like(w), np.zeros_like(w)) for w in self.weights]
        self.steps = 0

    def values(self, boards: NDArray[np.int8]) -> tuple[Array, Array, Array]:
        """Inputs, the hidden layer, and the values: float32[n, 18], float32[n, HIDDEN], float32[n, 9]."""
        flat = boards.reshape(-1, 9)
        inputs = np.hstack([flat == 1, flat == -1]).astype(np.float32)
        a, b, c, d = self.weights
        hidden = np.maximum(inputs @ a + b, 0)
        return inputs, hidden, hidden @ c + d

    def __call__(self, boards: NDArray[np.int8], to_move: NDArray[np.int8], legal: NDArray[np.bool_]) -> Any:
        """The agent: the free cell of the highest value in each position."""
        return np.where(legal, self.values(boards)[2], -np.inf).argmax(1)

    def learn(self, boards: NDArray[np.int8], cells: NDArray[np.int64], targets: Array) -> None:
        """One step (Adam) towards these values of these cells."""
        inputs, hidden, values = self.values(boards)
        error = np.zeros_like(values)
        rows = np.arange(len(cells))
        error[rows, cells] = (values[rows, cells] - targets) / len(cells)
        back = (error @ self.weights[2].T) * (hidden > 0)
        self.steps += 1
        for weight, (mean, square), slope in zip(
            self.weights, self.means, (inputs.T @ back, back.sum(0), hidden.T @ error, error.sum(0)), strict=True
        ):
            mean += 0.1 * (slope - mean)
            square += 0.001 * (slope**2 - square)
            rate = STEP * (1 - 0.999**self.steps) ** 0.5 / (1 - 0.9**self.steps)
            weight -= rate * mean / (np.sqrt(square) + 1e-8)


def play(network: Network, boards: ttt.Batch, draw: np.random.Generator) -> Lesson:
    """Positions, moves and their targets from nine steps of all boards, in which half of the moves are random.

    A move that ends the game is worth the mover's reward, and any other as much as the best move that follows: against
    an opponent, who has replied by then, the network's own; against itself the other player's, with the sign changed.
    """
    found: list[Lesson] = []
    rows, against = np.arange(boards.n), boards.seats is not None
    for _ in range(9):
        now = positions(boards)
        mover = (now != 0).sum(1) % 2
        scores = np.where(draw.random((boards.n, 1)) < EPSILON, draw.random(now.shape), network.values(now)[2])
        cells = np.where(boards.mask, scores, -np.inf).argmax(1)
        _, mask, rewards, over = boards.step(cells)
        follows = np.where(mask, network.values(positions(boards))[2], -np.inf).max(1).clip(-1, 1)
        found.append((now, cells, np.where(over, rewards[rows, mover], follows if against else -follows)))
    now, cells, targets = (np.concatenate(part) for part in zip(*found, strict=True))
    return now, cells, targets


def positions(boards: ttt.Batch) -> NDArray[np.int8]:
    """int8[n, 9]: 1 marks of the player to move, -1 of the other."""
    planes = boards.planes.reshape(boards.n, 2, 9).astype(np.int8)
    return planes[:, 0] - planes[:, 1]


def main(seconds: float, seed: int = 0) -> bool:
    """Learn for so long at most; return whether the network cannot be beaten in either seat."""
    wins, _, losses = ttt.random_games("3x3", 100_000, seed=seed) / 100_000
    network, draw = Network(seed, wins - losses), np.random.default_rng(seed)
    run = ttt.train(20_000, seed=seed)
    both = [ttt.Batch(BOARDS, seed=seed, opponent=player, autoreset="same-step") for player in (None, run)]
    begun = time.perf_counter()
    print("positions    s   loses to the best opponent   lost to random moves, as first and as second")
    while True:
        judged, spent = ttt.judge(network), time.perf_counter() - begun
        assert isinstance(judged, ttt.Evaluation)  # which it is on every board that can be enumerated
        loses = " and ".join(f"as {seat}" for seat, safe in judged.unbeatable.items() if not safe) or "never"
        seen, lost = network.steps // MINIBATCHES * BOARDS * 9, f"{judged.first[2]:.4f} {judged.second[2]:.4f}"
        print(f"{seen:9,} {spent:4.0f}   {loses:<28} {lost}", flush=True)
        if loses == "never" or spent > seconds:
            return loses == "never"
        for number in range(120):
            now, cells, targets = play(network, both[number % 2], draw)
            for some in np.array_split(draw.permutation(len(cells)), MINIBATCHES):
                network.learn(now[some], cells[some], targets[some])


if __name__ == "__main__":
    sys.exit(0 if main(float((sys.argv[1:] or ["110"])[0])) else 1)
