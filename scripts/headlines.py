"""Train every preset at its own published number of games and judge it exactly, beside what its source claims.

    python scripts/headlines.py [--seeds 20] [--json FILE] [--page FILE] [--from JSON]

Sequentially (the textbook) and in batches of 16,384.  The sources test greedy self-play or a few games against
people; the columns here are exact: the result of greedy self-play, wins, draws and losses against random play in each
seat, in how many of the seeds the table is unbeatable as first and as second, and how many positions training never
reached.  `--page` writes `data/headlines.md`, whose text is `scripts/pages/headlines.md`.
"""

import argparse
import json
import statistics
import time
from pathlib import Path
from typing import Any

import numpy as np
from page_writer import add_page_options, fill, markdown_table, write_from, write_page

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
        seen[trainer.graph.child[games.move]] = True

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


def verdicts(rows: list[dict[str, Any]]) -> str:
    """Return each preset's claim and what is proved of it, in Markdown."""
    return markdown_table(
        ["preset", "games", "batch", "the source's claim", "self-play drawn", "unbeatable as first", "as second"],
        (
            (
                *(row["learner"], f"{row['games']:,}", f"{row['batch']:,}", row["claim"]),
                f"{row['self_play_always_drawn']} of {row['seeds']}",
                *(f"{number} of {row['seeds']}" for number in row["unbeatable"]),
            )
            for row in rows
        ),
    )


def random_results(rows: list[dict[str, Any]]) -> str:
    """Return each preset's results against random play, in Markdown."""
    return markdown_table(
        ["preset", "games", "batch", "as first", "as second", "never seen", "seconds"],
        (
            (
                *(row["learner"], f"{row['games']:,}", f"{row['batch']:,}"),
                *(" / ".join(f"{number:.3f}" for number in seat) for seat in row["versus_random"]),
                *(f"{row['never_seen']:,.0f}", f"{row['seconds']:.2f}"),
            )
            for row in rows
        ),
    )


def page(rows: list[dict[str, Any]]) -> str:
    """Return the page of these rows."""
    return fill(
        "headlines.md",
        seeds=f"{rows[0]['seeds']:,}",
        seen=f"{min(rows[0]['seeds'], SEEDS_SEEN)}",
        verdicts=verdicts(rows),
        random=random_results(rows),
    )


def parser() -> argparse.ArgumentParser:
    """Return the options."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--json", type=Path, help="write the numbers to this file, too")
    add_page_options(parser)
    return parser


def main() -> None:
    """Run everything and print the tables."""
    options = parser().parse_args()
    if write_from(options, page):
        return
    for learner in CLAIMS:
        for batch in (1, 16_384):
            train(1, learner=learner, batch=batch)  # compile or load the kernels outside the clock
    rows = [judge_preset(learner, batch, options.seeds) for learner in CLAIMS for batch in (1, 16_384)]
    print(f"{verdicts(rows)}\n\n{random_results(rows)}")
    if options.json:
        options.json.write_text(json.dumps(rows, indent=2))
    write_page(options, page(rows))


if __name__ == "__main__":
    main()
