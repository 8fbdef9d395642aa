"""Use a table in another program: h5py and NumPy, nothing else.

    ttt-batch train --out td-3x3.h5
    python scripts/examples/table_elsewhere.py td-3x3.h5 [--games 10000]

A run file of `td` on 3x3 becomes a dictionary from position codes to values.  The agent's move is the one whose
position is worth most to it; it plays random opponents in both seats, and an unbeatable table never loses.
`ttt-batch info --format` says what else a run file holds.
"""

import argparse
import json
import random
import sys

import h5py

LINES = [(0, 1, 2), (3, 4, 5), (6, 7, 8), (0, 3, 6), (1, 4, 7), (2, 5, 8), (0, 4, 8), (2, 4, 6)]


def read_table(path: str) -> dict[int, float]:
    """The value of every position to the first player, by the position's code: sum of mark[i] * 3**i, marks 0, 1, 2."""
    with h5py.File(path) as run:
        config = json.loads(run.attrs["config"])
        if (config["learner"], config["board"]) != ("td", "3x3"):
            raise SystemExit(f"{path} is of {config['learner']} on {config['board']}; this program reads td on 3x3")
        return dict(zip(run["states/code"][:].tolist(), run["tables/value"][:].tolist(), strict=True))


def wins(marks: list[int], player: int) -> bool:
    """Return whether `player` (1 or 2) has three in a line."""
    return any(all(marks[cell] == player for cell in line) for line in LINES)


def best_move(table: dict[int, float], marks: list[int], player: int) -> int:
    """The agent's move: the first player wants a high value after it, the second a low one."""
    code = sum(mark * 3**cell for cell, mark in enumerate(marks))
    values = {cell: table[code + player * 3**cell] for cell in range(9) if not marks[cell]}
    return (max if player == 1 else min)(values, key=lambda cell: values[cell])


def play(table: dict[int, float], seat: int, rng: random.Random) -> str:
    """One game of the agent in `seat` (1 moves first, 2 second) against random moves: `won`, `drawn` or `lost`."""
    marks = [0] * 9
    for ply in range(9):
        player = 1 + ply % 2
        free = [cell for cell in range(9) if not marks[cell]]
        marks[best_move(table, marks, player) if player == seat else rng.choice(free)] = player
        if wins(marks, player):
            return "won" if player == seat else "lost"
    return "drawn"


def main() -> None:
    """Read the table and play."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("run", help="a run file of td on 3x3")
    parser.add_argument("--games", type=int, default=10_000)
    options = parser.parse_args()
    try:
        table, rng = read_table(options.run), random.Random(0)
    except (OSError, KeyError):
        parser.error(f"{options.run} is not a run file of td on 3x3; make one: ttt-batch train -o td-3x3.h5")
    print(f"read the values of {len(table):,} positions from {options.run}; playing ...", file=sys.stderr)
    for seat, name in ((1, "first"), (2, "second")):
        results = [play(table, seat, rng) for _ in range(options.games)]
        counts = ", ".join(f"{result} {results.count(result):,}" for result in ("won", "drawn", "lost"))
        print(f"as {name}, {options.games:,} games against random moves: {counts}")


if __name__ == "__main__":
    main()
