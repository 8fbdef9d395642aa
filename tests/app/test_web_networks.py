"""The page of networks: its own sums, rules and games under Node against the run that it was made from."""

import dataclasses
import json
import random
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers.pages import drive, trained
from helpers.support import command

import ttt_batch as ttt
from ttt_batch.app import web
from ttt_batch.games.board import UNFINISHED, Board, Game
from ttt_batch.runs.config import make_pattern_config
from ttt_batch.runs.network_run import NetworkState, PatternRun

RUNS: dict[str, dict[str, Any]] = {
    "two seats": {},
    "one network": {"objective": "plain"},
    "one seat": {"seat": "second"},
    "misere": {"board": "3x3-misere"},
    "exact": {"board": "4x4x3-exact", "tuples": "segments:3,blocks:2x2"},
    "nothing shared": {"board": "4x4x4", "sharing": "none"},
    "translation": {"board": "4x5x4", "tuples": "segments:3,blocks:2x3", "sharing": "translation"},
    "5x5x5": {"board": "5x5x5"},
    "6x5x4": {"board": "6x5x4", "games": 2000},
    "baseline, misere": {"board": "4x4x4-misere", "learner": "ntuple-td"},
    "64 cells": {"board": "8x8x5", "tuples": "segments:5,blocks:2x2", "prove_every": 0},
    "one cell": {"board": "1x1", "tuples": "a1"},
    "gravity": {"board": "4x5x4-gravity"},
}


def networks(games: int = 500, **options: Any) -> PatternRun:
    run = ttt.train(games, **{"learner": "patterns", "seed": 4, **options})
    assert isinstance(run, PatternRun)
    return run


def drawn(board: Board, weights: Any, **options: Any) -> PatternRun:
    """Networks that have learnt nothing, with weights of our own: int32[seats, kinds, players]."""
    config = make_pattern_config(board=board, **options)
    lost = (np.zeros((0, board.cells), np.int8),) * len(config.aims)
    learnt = NetworkState(weights, np.zeros((*weights.shape, 2), np.int64), lost)
    statistics = {"games": np.zeros(0, np.int64), "proof": np.zeros((0, 2), np.int8)}
    return PatternRun(config, 0, learnt, statistics | {"proof_positions": np.zeros((0, 2), np.int64)})


def random_moves(board: Board, number: int) -> list[list[int]]:
    """Beginnings of games of random moves, and some whole ones."""
    chance, found = random.Random(board.name), []
    for _ in range(number):
        game = Game(board)
        for _ in range(chance.randint(0, board.cells)):
            if game.outcome == UNFINISHED:
                game = game.after(chance.choice(board.open_cells(game.position)))
        found.append(list(game.moves))
    return found


def check(run: PatternRun, folder: Path, positions: int = 200) -> Any:
    """The page says of random positions what the run says, to the last bit."""
    file = folder / "positions.json"
    file.write_text(json.dumps(random_moves(run.board, positions)))
    found = drive(run, folder, file)
    seen = 0
    for text, said in found["positions"].items():
        marks = tuple(".XO".index(mark) for mark in text)
        outcome = run.board.outcome(marks)
        assert said.get("outcome", UNFINISHED) == outcome, text
        if outcome != UNFINISHED:
            continue
        values = {cell: value for cell, value in enumerate(said["values"]) if value is not None}
        assert values == run.move_values(marks), text
        assert said["candidates"] == run.candidates(marks), text
        seen += 1
    assert seen > 0
    return found


def told(text: str) -> Any:
    """The values of a page."""
    data = re.search(r'id="data">(.*?)</script>', text)
    assert data
    return json.loads(data[1])


@pytest.mark.slow
@pytest.mark.parametrize("name", RUNS)
def test_the_page_says_what_the_run_says(name: str, tmp_path: Path) -> None:
    check(networks(**RUNS[name]), tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("size", [3, 1 << 30])
def test_weights_of_any_size_and_ties(size: int, tmp_path: Path) -> None:
    """Small weights make ties, also of values that are cut off; large ones have sums beyond 32 bits."""
    board = Board(4, 3, 3)
    kinds = drawn(board, np.zeros((2, 0, 2), np.int32)).network.kind_start.size - 1
    weights = np.random.default_rng(1).integers(-size, size, (2, kinds, 2), np.int32, endpoint=True)
    run = drawn(board, weights)
    found = check(run, tmp_path)
    assert size > 3 or any(1 < len(said.get("candidates", ())) < 5 for said in found["positions"].values())


def test_games_on_the_page_are_those_of_the_run(tmp_path: Path) -> None:
    """A page of a proved run plays all games, and loses none; the truth beside its values is that of a table."""
    run = networks(20_000)
    assert run.is_proved
    found = drive(run, tmp_path)
    assert all(found["tallies"][seat]["you"] == 0 for seat in ("first", "second"))
    table = trained()
    for text, said in found["positions"].items():
        marks = tuple(".XO".index(mark) for mark in text)
        expected = table.true_moves(marks)
        assert expected is not None
        mover = sum(map(bool, marks)) % 2
        truths = {cell: truth for cell, truth in enumerate(said["truths"]) if truth is not None}
        assert {cell: (t["result"], t["plies"]) for cell, t in truths.items()} == {
            cell: (truth.seen_by(mover).result, truth.plies) for cell, truth in expected.items()
        }, text


@pytest.mark.slow
def test_what_is_told_of_networks(pattern_run: PatternRun) -> None:
    about = told(web.page_text(pattern_run))["about"]
    assert about["verdict"] == "unbeatable in both seats"
    assert re.fullmatch(
        r"As first: proved by search .* positions\. As second: proved by .* positions\.", about["proof"]
    )
    assert about["losing_line"] == {"first": None, "second": None}
    assert "With best play" not in about["rules"]  # the page knows
    for shares in about["results"].values():
        assert sum(shares) == pytest.approx(1) and shares[2] == 0
    facts = dict(about["facts"])
    assert facts["Networks"] == "2, each of 10 tuples (lines)"
    assert facts["Objective"] == "not to lose"
    assert facts["Proofs"] == "every 2,000 games"
    assert facts["Weights kept"].startswith("those after ")
    assert facts["Seed"] == "3"


def test_what_was_refuted_is_told_and_shown() -> None:
    """A game that it can lose is one: the agent makes moves that it may pick, and the other player wins."""
    run = networks(16, objective="plain", prove_every=0)
    about = told(web.page_text(run))["about"]
    assert about["verdict"] == "can be beaten as first, can be beaten as second"
    for seat, line in enumerate(about["losing_line"].values()):
        game = Game(run.board)
        for ply, cell in enumerate(line):
            assert ply % 2 != seat or cell in run.candidates(game.position)
            game = game.after(cell)
        assert game.outcome == 2 - seat
    assert dict(about["facts"])["Proofs"] == "none"


@pytest.mark.slow
def test_a_search_without_an_end_gives_way_to_a_proof_of_training(
    pattern_run: PatternRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ttt_batch.app.web.texts.SEARCH_BUDGET", 10)
    about = told(web.page_text(pattern_run))["about"]
    assert about["verdict"] == "unbeatable in both seats"
    assert about["proof"].count("in training") == 2
    last = dataclasses.replace(pattern_run, config=dataclasses.replace(pattern_run.config, keep="last"))
    last.statistics = last.statistics | {"proof": np.where(last.statistics["proof"] == 1, 0, 0).astype(np.int8)}
    about = told(web.page_text(last))["about"]
    assert about["verdict"] == "undecided as first, undecided as second"
    assert about["proof"] == " ".join(
        f"As {seat}: no way to beat it among 10 positions." for seat in ("first", "second")
    )


def test_a_large_board_has_no_truth_but_what_is_known_of_it() -> None:
    run = networks(board="5x5x5", games=100, prove_every=0)
    text = web.page_text(run)
    data = told(text)
    assert "solution" not in data and "const solutions" not in text and "class TableAgent" not in text
    assert "With best play on both sides it is a draw (Berlekamp" in data["about"]["rules"]
    assert (
        "With best play" not in told(web.page_text(networks(board="7x3x3", tuples="lines", games=16)))["about"]["rules"]
    )


@pytest.mark.slow
def test_a_page_of_networks_is_the_same_each_time(pattern_run: PatternRun) -> None:
    assert web.page_text(pattern_run) == web.page_text(pattern_run, "any")


@pytest.mark.slow
def test_networks_that_are_too_large_are_refused(
    pattern_run: PatternRun, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(web, "MAX_BYTES", 5_000)
    file = pattern_run.save(tmp_path / "run.h5")
    status, out, err = command(capsys, "export", file, "--to", "html", "-o", tmp_path / "page.html")
    assert (status, out) == (2, "") and err.count("\n") == 1
    assert re.search(
        r"the agent of this run of 4x4x4 takes [0-9,]+ bytes; a page has room for 5,000: train with fewer or shorter "
        r"--tuples, or with --sharing translation",
        err,
    )
    assert list(tmp_path.iterdir()) == [file]


@pytest.mark.slow
def test_the_command_and_the_function_write_one_page(
    pattern_run: PatternRun, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = pattern_run.save(tmp_path / "run.h5")
    one, other = tmp_path / "one.html", tmp_path / "other.html"
    assert command(capsys, "export", file, "--to", "html", "-o", one)[0] == 0
    assert ttt.export_run(pattern_run, other, "html") == [other]
    assert one.read_bytes() == other.read_bytes()
