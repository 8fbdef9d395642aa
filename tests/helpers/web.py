"""Drivers of a page's scripts under Node: games and links of a match, and learners of the Learn tab."""

import base64
import json
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from helpers.pages import program, trained
from ttt_batch.app import web
from ttt_batch.app.cards import Deck
from ttt_batch.runs.run import Run

MATCH_DRIVER = Path(__file__).parent / "drive_match.mjs"


def play_match(run: Run | Deck, folder: Path, jobs: list[dict[str, Any]]) -> list[Any]:
    """Return what the page's scripts answer to jobs on a page of `run`."""
    page = web.export_page(run, folder / "page.html", ties="any", overwrite=True)
    return answers(MATCH_DRIVER, page, jobs)


LEARNING_DRIVER = Path(__file__).parent / "drive_learning.mjs"


def learn_on_page(folder: Path, *jobs: dict[str, Any], board: str = "3x3") -> list[Any]:
    """Return what the page's scripts answer to jobs of the Learn tab."""
    page = web.export_page(trained(games=1000, board=board), folder / "page.html", overwrite=True)
    return answers(LEARNING_DRIVER, page, jobs)


def answers(driver: Path, page: Path, jobs: Sequence[dict[str, Any]]) -> list[Any]:
    """Return what a driver of a page's scripts prints about jobs."""
    file = page.with_name("jobs.json")
    file.write_text(json.dumps(jobs))
    command = [program("node", "nodejs"), str(driver), str(page), str(file)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return list(json.loads(done.stdout))


def settings(learner: str, seed: int, alpha: float, epsilon: float, **own: Any) -> dict[str, Any]:
    boxes = {"beads": "4,3,2,1", "rewards": "3,1,-1"} if learner == "menace" else {}
    return {"learner": learner, "seed": str(seed), "alpha": alpha, "epsilon": epsilon} | boxes | own


def tables_of(found: Any) -> bytes:
    return b"".join(base64.b64decode(array) for array in found["arrays"])


def bytes_of(run: Run) -> bytes:
    return b"".join(array.tobytes() for array in run.tables)
