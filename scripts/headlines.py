"""Train every preset at its own published number of games and judge it exactly, beside what its source claims.

    python scripts/headlines.py [--seeds 20] [--json FILE]

Sequentially (the textbook) and in batches of 16,384.  The sources test greedy self-play or a few games against
people; the
columns here are exact: the result of greedy self-play, wins, draws and losses against random play in each seat, in
how many of the seeds nobody can beat the table as first and as second, and how many positions training never saw.
"""

import argparse
import json
import statistics
import time
from pathlib import Path
from typing import Any

import numpy as np

from ttt_batch.game.transcripts import Games
from ttt_batch.learners import LEARNERS
from ttt_batch.runs.config import make_config
from ttt_batch.runs.run import Run
from ttt_batch.training.train import train
from ttt_batch.training.trainers import make_trainer

CLAIMS = {
    "sutton-barto": "1,000 greedy games against itself end in draws",
    "value-feed": "holds its own against a person",
    "minimax-q": "greedy self-play is a draw",
    "backward-q": "none named",
    "greedy-td": "holds a person to draws",
}
SEEDS_SEEN = 3
"""Seeds whose positions are counted; it takes a second run that records every game."""


def positions_never_seen(learner: str, batch: int, seed: int) -> int:
    """Positions that no game of the run reached."""

    def note(games: Games) -> None:
        seen[trainer.graph.child[games.edge]] = True

    config = make_config(learner=learner, batch=batch, seed=seed)
    trainer = make_trainer(config, record=note)
    seen = np.zeros(trainer.graph.code.size, dtype=bool)
    seen[0] = True
    trainer.advance(LEARNERS[learner].games, lambda: False)
    return int(np.count_nonzero(~seen & (trainer.graph.code >= 0)))


def judge_preset(learner: str, batch: int, seeds: int) -> dict[str, Any]:
    """Train one preset on all seeds; medians over seeds, and shares of seeds for the verdicts."""
    runs: list[Run] = []
    seconds = []
    for seed in range(seeds):
        started = time.perf_counter()
        runs.append(train(learner=learner, batch=batch, seed=seed))
        seconds.append(time.perf_counter() - started)
    last = [{name: column[-1] for name, column in run.statistics.items()} for run in runs]

    def median(values: list[Any]) -> Any:
        return np.median(np.array(values), axis=0).tolist()

    return {
        "learner": learner,
        "batch": batch,
        "games": runs[0].games,
        "claim": CLAIMS[learner],
        "self_play": median([point["self_play"] for point in last]),
        "self_play_always_drawn": sum(bool(point["self_play"][1] == 1.0) for point in last),
        "versus_random": median([point["versus_random"] for point in last]),
        "unbeatable": np.sum([point["unbeatable"] for point in last], axis=0).tolist(),
        "never_seen": statistics.median(
            positions_never_seen(learner, batch, seed) for seed in range(min(seeds, SEEDS_SEEN))
        ),
        "seconds": statistics.median(seconds),
        "seeds": seeds,
    }


def table(rows: list[dict[str, Any]]) -> str:
    """The results as a Markdown table."""
    lines = [
        "| preset | games | batch | the source's claim | self-play drawn | against random, first | second "
        "| unbeatable first | second | never seen | seconds |",
        "|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    for row in rows:
        first, second = (" / ".join(f"{number:.3f}" for number in seat) for seat in row["versus_random"])
        seeds = row["seeds"]
        lines.append(
            f"| {row['learner']} | {row['games']:,} | {row['batch']:,} | {row['claim']} "
            f"| {row['self_play_always_drawn']} of {seeds} | {first} | {second} "
            f"| {row['unbeatable'][0]} of {seeds} | {row['unbeatable'][1]} of {seeds} "
            f"| {row['never_seen']:,.0f} | {row['seconds']:.2f} |"
        )
    return "\n".join(lines)


def main() -> None:
    """Run everything and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--json", type=Path, help="write the numbers to this file, too")
    options = parser.parse_args()
    for learner in CLAIMS:
        for batch in (1, 16_384):
            train(1, learner=learner, batch=batch)  # compile or load the kernels outside the clock
    rows = [judge_preset(learner, batch, options.seeds) for learner in CLAIMS for batch in (1, 16_384)]
    print(table(rows))
    if options.json:
        options.json.write_text(json.dumps(rows, indent=2))


if __name__ == "__main__":
    main()
