"""Helpers of the tests of the page: required programs, runs that are trained once, and games in them."""

import functools
import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

import ttt_batch as ttt
from ttt_batch.app import web
from ttt_batch.core.text import Ties
from ttt_batch.games.board import EMPTY, Game, Position
from ttt_batch.runs.run import Run

DRIVER = Path(__file__).parent / "drive_page.mjs"


def program(name: str, package: str) -> str:
    """The path of a program; where it is missing the test is skipped, but fails where everything has to be there."""
    path = shutil.which(name)
    if path is None:
        reason = f"{name} is not installed (Debian package {package})"
        if os.environ.get("CI"):
            pytest.fail(reason)
        pytest.skip(reason)
    return path


@functools.cache
def trained(learner: str = "td", games: int = 100_000, board: str = "3x3", seed: int = 1, **options: Any) -> Run:
    return ttt.train(learner=learner, games=games, board=board, seed=seed, **options)


def drive(run: web.OnPage, folder: Path, *games: int | Path, **options: Any) -> Any:
    """What the page's own scripts make of every game, of some, or of a file's positions; options: of the page."""
    page = web.export_page(run, folder / "page.html", **options)
    command = [program("node", "nodejs"), str(DRIVER), str(page), *map(str, games)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


class Answers:
    """Answers of a run about positions, each queried once; by default it plays by the ties of a page."""

    def __init__(self, run: Run, ties: Ties = "sharp") -> None:
        self.candidates = functools.cache(lambda position: run.candidates(position, ties))
        self.move_values = functools.cache(run.move_values)
        self.true_moves = functools.cache(run.true_moves)


def line_with(run: Run, seat: int, *, forfeit: bool) -> list[int] | None:
    """A shortest game that the agent in `seat` (0 or 1) may lose against somebody: by a forfeit, or by a line."""
    answers, games = Answers(run), [Game(run.board)]
    for game in games:  # breadth first: it grows while it is read
        if game.outcome:
            if game.forfeited == forfeit and game.outcome == 2 - seat:
                return list(game.moves)
            continue
        mine = len(game.moves) % 2 == seat
        cells = answers.candidates(game.position) if mine else run.board.open_cells(game.position)
        games += [game.after(cell) for cell in cells]
    return None


def free(position: Position) -> list[int]:
    return [cell for cell, mark in enumerate(position) if mark == EMPTY]
