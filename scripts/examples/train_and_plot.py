"""Train two learners and draw how they learnt: once with the package's own picture, once with matplotlib by hand.

    python scripts/examples/train_and_plot.py [--games 300000] [--out FOLDER]

Writes `learning.png` and `losses.png`.  Everything drawn is exact: `run.statistics` holds a judgement of the whole
table at every recorded point, and no games are sampled.
"""

import argparse
import sys
from pathlib import Path

from matplotlib.figure import Figure

import ttt_batch as ttt


def draw_losses(runs: dict[str, ttt.Run], path: Path) -> None:
    """Return how often each agent loses against random moves, in either seat, over the games it has learnt from."""
    figure = Figure(figsize=(8, 4), layout="constrained")
    axes = figure.add_subplot(xscale="log", xlabel="games learnt from", ylabel="lost against random moves, %")
    for colour, (name, run) in zip(("#0072B2", "#D55E00"), runs.items(), strict=True):
        games = run.statistics["games"]  # int64[T]
        loss = 100 * run.statistics["versus_random"][:, :, 2]  # float64[T, P]: the last axis is win, draw, loss
        axes.plot(games, loss[:, 0], color=colour, label=f"{name}, first")
        axes.plot(games, loss[:, 1], color=colour, label=f"{name}, second", linestyle="--")
    axes.legend(frameon=False)
    axes.set_title("How often they lose")
    figure.savefig(path, dpi=150)


def main() -> None:
    """Train, draw, and say what the pictures show."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--games", type=int, default=300_000)
    parser.add_argument("--out", type=Path, default=Path())
    options = parser.parse_args()
    runs = {}
    for name in ("td", "sutton-barto"):
        print(f"training {name} on {options.games:,} games (the first time compiles it) ...", file=sys.stderr)
        runs[name] = ttt.train(options.games, learner=name, batch=1024, seed=1)
    print("drawing ...", file=sys.stderr)
    learning, losses = options.out / "learning.png", options.out / "losses.png"
    ttt.plot(list(runs.values()), list(runs), learning, overwrite=True)
    draw_losses(runs, losses)
    for name, run in runs.items():
        first, second = run.statistics["versus_random"][-1, :, 2]
        print(f"{name} loses {first:.4f} of its games as first and {second:.4f} as second against random moves")
    print(f"wrote {learning} (what is judged at every recorded point) and {losses} (how often they lose)")


if __name__ == "__main__":
    main()
