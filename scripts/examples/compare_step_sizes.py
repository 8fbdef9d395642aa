"""Two step sizes over twenty seeds: after how many games can the agent not be beaten any more?

    python scripts/examples/compare_step_sizes.py [--learner backward-q] [--alpha 0.1 0.01] [--seeds 20]

Games are learnt one by one, as in a textbook.  No games are sampled to find out how good the agent is: every recorded
point of a run holds a proof of what the best opponent gets there.  A seed has settled where every point from some game
to the end is unbeatable in both seats.  (Try it with `--learner td`: there the step size hardly matters.)
"""

import argparse
import statistics
import sys

import numpy as np

import ttt_batch as ttt


def settled_after(run: ttt.Run) -> int | None:
    """Games at the first recorded point since which no opponent beats the agent in either seat, or None."""
    as_first, as_second = run.statistics["unbeatable"].T
    good = as_first & as_second
    if not good[-1]:
        return None
    first = 1 + int(np.flatnonzero(~good)[-1]) if not good.all() else 0
    return int(run.statistics["games"][first])


def main() -> None:
    """Train every seed with each step size, and compare."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--learner", default="backward-q")
    parser.add_argument("--alpha", nargs=2, default=["0.1", "0.01"], help="numbers, or schedules such as 1/n^0.8")
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--games", type=int, default=1_000_000)
    options = parser.parse_args()

    found: dict[str, list[int | None]] = {}
    for alpha in options.alpha:
        print(f"training {options.seeds} seeds with alpha {alpha} (the first time compiles it) ...", file=sys.stderr)
        runs = (
            ttt.train(options.games, learner=options.learner, alpha=alpha, batch=1, seed=seed)
            for seed in range(options.seeds)
        )
        found[alpha] = [settled_after(run) for run in runs]

    print(f"{options.learner}, {options.games:,} games, {options.seeds} seeds: games until unbeatable for good")
    print(f"{'alpha':<12}{'settled':>9}{'fastest':>12}{'median':>12}{'slowest':>12}")
    for alpha, results in found.items():
        games = [result for result in results if result is not None]
        cells = (min(games), int(statistics.median(games)), max(games)) if games else ("-", "-", "-")
        row = "".join(f"{cell:>12,}" if isinstance(cell, int) else f"{cell:>12}" for cell in cells)
        print(f"{alpha:<12}{f'{len(games)}/{options.seeds}':>9}{row}")
    one, other = (found[alpha] for alpha in options.alpha)
    pairs = [(a, b) for a, b in zip(one, other, strict=True) if a is not None and b is not None]
    sooner = sum(a < b for a, b in pairs)
    print(f"of {len(pairs)} seeds that settled with both, {sooner} settled sooner with alpha {options.alpha[0]}")


if __name__ == "__main__":
    main()
