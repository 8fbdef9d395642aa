"""Run tuned.c, the program tuned by hand, on the package's own graph, and check that it learns the same bytes.

    python scripts/tuned.py [--games N]

checks both learners that the program knows at several epsilons and batch sizes, then prints how fast it is.
"""

import argparse
import math
import subprocess
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ttt_batch.compiler.numerics import stream_key
from ttt_batch.learners.base import fill_weights
from ttt_batch.runs.config import make_config
from ttt_batch.simulation.policy import outcomes_of
from ttt_batch.simulation.walk import make_explorations
from ttt_batch.training.trainers.base import TableTrainer
from ttt_batch.training.trainers.batched import make_trainer

SOURCE = Path(__file__).with_suffix(".c")
FLAGS = ("-O3", "-march=native", "-mprefer-vector-width=512", "-ffp-contract=off")
LEARNERS = ("sutton-barto", "td")


class Outcome(NamedTuple):
    """Results of a run of the program.

    values: games, seconds, games/s, and nanoseconds a batch by part.  table: as the learner's.
    ended: int64[S - U], games that ended in each final row.
    """

    values: dict[str, float]
    table: NDArray[np.float64]
    ended: NDArray[np.int64]


def build(folder: Path) -> Path:
    """Compile the program into `folder`."""
    program = folder / "tuned"
    subprocess.run(["gcc", *FLAGS, "-o", str(program), str(SOURCE)], check=True)
    return program


def write_input(path: Path, trainer: TableTrainer) -> None:
    """Write what the program reads: settings, alias table, weights, tables and graph of a trainer at its start."""
    config, graph = trainer.config, trainer.graph
    if config.board.rows != 3 or graph.code.size != 5478 or config.learner not in LEARNERS:
        raise SystemExit(f"tuned.c knows {' and '.join(LEARNERS)} on 3x3, not {config.learner} on {config.board.name}")
    alpha = config.alpha.start
    weights = np.zeros(math.ceil(40 / alpha) + 2)  # the last one, and all after it, are 1
    fill_weights(alpha, weights)
    key = stream_key(config.seed)
    sizes = [LEARNERS.index(config.learner), graph.first_edge.size - 1, graph.code.size, graph.child.size, weights.size]
    parts: list[Any] = [
        np.array(sizes, np.int64),
        np.array([key], np.uint64),
        make_explorations(config.epsilon.start).column,
        weights,
        np.array([config.gamma]),
        trainer.tables.value,
        graph.first_edge,
        graph.child,
        graph.ply_start,
    ]
    path.write_bytes(b"".join(np.ascontiguousarray(part).tobytes() for part in parts))


def run(program: Path, trainer: TableTrainer, batches: int, warm: int = 0) -> Outcome:
    """Learn from `warm` and then `batches` timed batches, from the settings and tables of a trainer at its start."""
    source, target = program.with_name("tuned.in"), program.with_name("tuned.out")
    write_input(source, trainer)
    numbers = map(str, (trainer.config.batch, warm, batches))
    lines = subprocess.check_output([str(program), str(source), str(target), *numbers], text=True).splitlines()
    values = {name: float(value) for name, value in map(str.split, lines)}
    values["games/s"] = values["games"] / values["seconds"]
    data, n = target.read_bytes(), trainer.tables.value.nbytes
    table = np.frombuffer(data[:n]).reshape(trainer.tables.value.shape)
    return Outcome(values, table, np.frombuffer(data[n:], np.int64))


def check(program: Path, learner: str, epsilon: float, batch: int, batches: int) -> None:
    """Raise unless the program and the package end in the same bytes, and their games in the same results."""
    trainer = make_trainer(make_config(learner=learner, epsilon=epsilon, batch=batch))
    outcome = run(program, trainer, batches)
    trainer.advance(batches * batch, lambda: False)
    name = f"{learner}, epsilon {epsilon:g}, {batches} batches of {batch:,}"
    if outcome.table.tobytes() != trainer.tables.value.tobytes():
        rows = int(np.count_nonzero(outcome.table != trainer.tables.value))
        raise SystemExit(f"{name}: {rows} values of tuned.c differ from the package's")
    if not np.array_equal(outcomes_of(trainer.graph, outcome.ended), trainer.outcomes):
        raise SystemExit(f"{name}: games of tuned.c end otherwise than the package's")


def main() -> None:
    """Check, then measure."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--games", type=int, default=50_000_000, help="games to time each setting with")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        program = build(Path(folder))
        for learner in LEARNERS:
            for batch, batches in ((16_384, 300), (1_000, 300), (100_003, 10)):
                for epsilon in (0.1, 0.3, 0.01, 0.0, 1.0):
                    check(program, learner, epsilon, batch, batches)
            print(f"{learner}: same bytes as the package's")
        for learner, epsilon in (("sutton-barto", 0.1), ("sutton-barto", 0.3), ("sutton-barto", 0.01), ("td", 0.3)):
            trainer = make_trainer(make_config(learner=learner, epsilon=epsilon, batch=16_384))
            values = run(program, trainer, math.ceil(options.games / 16_384), warm=100).values
            parts = ", ".join(f"{name} {values[name] / 1e3:.1f}" for name in ("walk", "down", "up"))
            print(f"{learner}, epsilon {epsilon:g}: {values['games/s'] / 1e6:.1f} M games/s; us a batch: {parts}")


if __name__ == "__main__":
    main()
