"""Compare the speed of two versions of the package, measurement by measurement.

    git worktree add /tmp/before COMMIT
    python scripts/duel.py /tmp/before .

Each version runs in a process of its own.  For every subject the two take turns, and the ratio of their processor times
is taken round by round, so that other load on the machine slows both alike.  A ratio above 1 means that the second
version is slower.
"""

import argparse
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path

ROUNDS = 15
LEAST_SECONDS = 0.15
"""Processor time of a measurement; a subject that takes less is repeated."""


def subjects() -> dict[str, Callable[[], object]]:
    """Return the subjects: functions that do some work, by name.  Their first call makes what they work on."""
    import numpy as np

    import ttt_batch as ttt

    def train(games: int, **options: object) -> Callable[[], object]:
        return lambda: ttt.train(games, threads=1, **options)

    learners = [name for name in ttt.LEARNERS if name not in ("patterns", "ntuple-td", "menace")]
    found = {f"train {name}, batch 16,384": train(5_000_000, learner=name, batch=16_384) for name in learners}
    found |= {f"train {name}, batch 1": train(60_000, learner=name, batch=1) for name in learners}
    found |= {f"train {name}, flow": train(10**8, learner=name, engine="flow") for name in ("td", "sarsa")}
    found["train menace"] = train(20_000, learner="menace")
    found["train td by softmax"] = train(200_000, learner="td", explore="softmax:0.1", batch=16_384)
    found["train td on 4x4x4"] = train(100_000, board="4x4x4", batch=16_384)
    found["train td on 5x5x4, a growing table"] = train(3_000, board="5x5x4")
    found["train patterns on 4x4x4"] = train(2_000, learner="patterns", board="4x4x4")
    found["study of 200 learners"] = lambda: ttt.study(learner="td", games=10_000, seeds=200, threads=1)
    run, larger = cache(train(20_000)), cache(train(20_000, board="4x4x4", batch=4096))
    network = cache(train(50, learner="patterns", board="5x5x4", prove_every=0))
    found["evaluate td"] = lambda: ttt.evaluate(run())
    found["search for a proof on 5x5x4"] = lambda: ttt.prove(network(), budget=200_000, threads=1)
    found["train ntuple-td on 5x5x4"] = train(200, learner="ntuple-td", board="5x5x4", prove_every=0)
    found["train minimax-q on 4x4x4"] = train(20_000, learner="minimax-q", board="4x4x4", batch=4096)
    found["train td one by one on 4x4x4"] = train(3_000, board="4x4x4", batch=1)
    found["train menace in batches"] = train(20_000, learner="menace", batch=64)
    found["train td against the best opponent"] = train(200_000, opponent="optimal", batch=4096)
    found["evaluate td on 4x4x4"] = lambda: ttt.evaluate(larger())
    lines = ["0 3 1 4 2", "4 0 8 2 1 7 6 3 5", "4 0 2 6 3 5 1 7 8", "0 4 8 2 6 3 7"] * 1000
    found["learn from games"] = lambda: ttt.learn_from(lines, learner="sarsa")
    found["prove td on 4x4x4"] = lambda: ttt.prove(larger())
    found["tournament"] = lambda: ttt.tournament([run(), "random", "optimal"], games=200_000)
    for board in ("3x3", "4x4x4", "3x3-misere", "6x6x5"):
        found[f"random games on {board}"] = lambda board=board: ttt.random_games(board, 5_000_000, threads=1)
    for board in ("3x3", "4x5x4", "6x7x4-gravity"):
        for opponent in (None, "random", "one-ply"):
            games, actions = cache(partial(ttt.Batch, 16_384, board, seed=1, opponent=opponent)), np.zeros(16_384, int)
            found[f"step {board} against {opponent}"] = lambda games=games, actions=actions: [
                games().step(games().sample(actions)) for _ in range(30)
            ]
    return found


def serve() -> None:
    """Measure the subject named in each line of standard input, and print its processor time in seconds."""
    found = subjects()
    print(*found, sep="\t", flush=True)
    for line in sys.stdin:
        work = found[line.strip()]
        times, begun = 0, time.process_time()
        while (spent := time.process_time() - begun) < LEAST_SECONDS:
            work()
            times += 1
        print(spent / times, flush=True)


class Version:
    """Process that measures the version of the package in a folder."""

    def __init__(self, folder: Path) -> None:
        environment = os.environ | {"PYTHONPATH": str(folder.resolve())}
        command = [sys.executable, str(Path(__file__).resolve()), "--serve"]
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(
            command, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL, text=True, env=environment
        )
        self.names = self._line().split("\t")

    def _line(self) -> str:
        assert self.process.stdout is not None
        return self.process.stdout.readline().rstrip("\n")

    def measure(self, name: str) -> float:
        """Return the processor time of a subject in seconds."""
        assert self.process.stdin is not None
        print(name, file=self.process.stdin, flush=True)
        return float(self._line())


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", type=Path, nargs="*", help="the two checkouts")
    parser.add_argument("--only", default="", help="subjects whose name contains this")
    parser.add_argument("--rounds", type=int, default=ROUNDS, help=f"measurements of each [default: {ROUNDS}]")
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.serve:
        serve()
        return
    one, other = map(Version, given.folders)
    for name in one.names:
        if given.only not in name:
            continue
        one.measure(name), other.measure(name)  # compiles
        ratios = []
        for number in range(given.rounds):
            first, second = (one, other) if number % 2 else (other, one)
            times = {first: first.measure(name), second: second.measure(name)}
            ratios.append(times[other] / times[one])
        low, middle, high = statistics.quantiles(ratios)
        print(f"{middle:6.3f}  ({low:.3f} .. {high:.3f})  {name}", flush=True)


if __name__ == "__main__":
    main()
