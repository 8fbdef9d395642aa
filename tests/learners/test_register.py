"""A learner from outside the package: what is refused, what it learns, and that an edit of its kernels is seen."""

import ast
import importlib
import json
import os
import re
import sys
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from helpers.support import finished

import ttt_batch as ttt
from ttt_batch import learners
from ttt_batch.core.errors import UsageError
from ttt_batch.games.board import Board
from ttt_batch.learners import LEARNERS, learner_named, register
from ttt_batch.learners.base import Learner, fold, learn, state_value
from ttt_batch.learners.tabular.td import TdTables
from ttt_batch.runs.config import Config, make_config
from ttt_batch.runs.growing_table import GrowingTable
from ttt_batch.simulation.policy import score

REGISTRY = {"LEARNERS", "learner_named"}
EXAMPLE = Path(__file__).parents[2] / "scripts" / "examples" / "own_learner.py"


def test_an_author_needs_no_other_module():
    tree = ast.parse(EXAMPLE.read_text(encoding="utf-8"))
    imports = [node for node in ast.walk(tree) if isinstance(node, ast.Import | ast.ImportFrom)]
    modules = {node.module if isinstance(node, ast.ImportFrom) else node.names[0].name for node in imports}
    assert {name for name in modules if str(name).startswith("ttt_batch")} == {"ttt_batch", "ttt_batch.learners"}
    assert set(learners.__all__) <= vars(learners).keys()
    assert not [name for name in learners.__all__ if name not in str(learners.__doc__) and name not in REGISTRY]


class NoTables(NamedTuple):
    """Tables without kernels."""

    value: Any


def changed(**fields: Any) -> Learner:
    td = learner_named("td")
    return Learner(**({name: getattr(td, name) for name in td.__dataclass_fields__} | fields))


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({}, "'td' is there already"),
        ({"name": "My Learner"}, "'My Learner' is not up to 40 of a-z"),
        ({"name": "../td"}, "is not up to 40"),
        ({"name": ""}, "is not up to 40"),
        (
            {"name": "bare", "tables": NoTables},
            "lacks score, fold, learn, state_value; decorate one each with @score.register(NoTables)",
        ),
    ],
)
def test_what_is_no_learner_is_refused(fields, message):
    before = dict(LEARNERS)
    with pytest.raises(UsageError, match=re.escape(message)):
        register(changed(**fields))
    assert before == LEARNERS


def test_a_registered_learner_is_found_by_name():
    try:
        mine = register(changed(name="mine"))
        assert learner_named("mine") is mine
    finally:
        LEARNERS.pop("mine", None)


def test_nobody_replaces_what_is_kept_under_the_hash_of_the_package():
    for kernel in (score, fold, learn, state_value):
        with pytest.raises(UsageError, match="has a body for TdTables already"):
            kernel.register(TdTables)(lambda tables, *rest: 42.0)
    with pytest.raises(UsageError, match="has a body for Config already"):  # the package's, though it has none
        score.register(Config)(lambda tables, *rest: 42.0)


class Plain(NamedTuple):
    """Tables without `begin`."""

    value: Any


@pytest.mark.slow
def test_only_boards_too_large_to_enumerate_need_begin(monkeypatch):
    learner = changed(name="plain", tables=Plain, start=lambda graph, worth, rng: Plain(worth[0, graph.outcome]))
    monkeypatch.setitem(LEARNERS, "plain", learner)
    for _ in range(2):
        with pytest.raises(UsageError, match=r"'plain' lacks begin, which 5x5x5 needs .*; .* @begin.register\(Plain\)"):
            make_config(learner="plain", board="5x5x5")
        # What looks up positions of an enumerated board, as matches and proofs do, is compiled without it.
        worth = learner.worth(learner.defaults)
        assert GrowingTable(Board(), learner, worth, symmetry=False).positions == 1


@pytest.mark.slow  # kernels of a learner from outside are compiled every time
def test_the_learner_of_the_example_is_proved_and_plays(monkeypatch):
    monkeypatch.syspath_prepend(str(EXAMPLE.parent))
    learner = importlib.import_module("own_learner").MONTE_CARLO
    monkeypatch.setitem(LEARNERS, learner.name, learner)
    run = ttt.train(2_000, learner=learner.name, seed=1)
    proofs, judged = ttt.prove(run), ttt.evaluate(run)
    assert {seat: proof.status == "proved" for seat, proof in proofs.found.items()} == judged.unbeatable
    assert ttt.judge(run).unbeatable == judged.unbeatable
    assert ttt.tournament([run, "random"], games=10).to_dict()["runs"]


HELPER = """
from ttt_batch.compiler.kernel_cache import cached_kernels
from ttt_batch.compiler.jit import kernel

@kernel
def scaled(x):
    return x * FACTOR

print(scaled(2.0), len(cached_kernels()))
"""


@pytest.mark.slow  # it compiles in two processes
def test_a_kernel_from_elsewhere_is_never_kept(tmp_path):
    for factor in ("0.5", "7.0"):  # the same code to Numba's stamp, but for a constant
        done = finished(
            [sys.executable, "-c", HELPER.replace("FACTOR", factor)],
            check=True,
            env={**os.environ, "TTT_BATCH_CACHE_DIR": str(tmp_path)},
        )
        assert done.stdout.split() == [str(2 * float(factor)), "0"]


SCRIPT = """
import json, sys
sys.path.insert(0, sys.argv[1])
import numpy as np
from own_learner import MONTE_CARLO
import ttt_batch as ttt
from ttt_batch.learners import register
register(MONTE_CARLO)
batch, games = int(sys.argv[2]), 300
run = ttt.train(games, learner="monte-carlo", batch=batch, epsilon=1.0, record="games.txt", overwrite=True)
print(json.dumps({"code": run.graph.code.tolist(), "value": run.tables.value.tolist()}))
"""


def values(folder: Path, cwd: Path, batch: int) -> dict[int, float]:
    done = finished(
        [sys.executable, "-c", SCRIPT, str(folder), str(batch)],
        cwd=cwd,
        timeout=240,
        check=True,
    )
    found = json.loads(done.stdout)
    return dict(zip(found["code"], found["value"], strict=True))


LINES = [(0, 1, 2), (3, 4, 5), (6, 7, 8), (0, 3, 6), (1, 4, 7), (2, 5, 8), (0, 4, 8), (2, 4, 6)]


def by_hand(games: str, alpha: float, batch: int) -> dict[int, float]:
    """Monte Carlo over games written down: in a batch a move counts with the mean result behind it, however reached."""
    value: dict[int, float] = {}
    lines = [line for line in games.splitlines() if line and not line.startswith("#")]
    for start in range(0, len(lines), batch):
        moves: dict[int, list[int]] = {}  # the positions that games went on to, one entry a game
        mean: dict[int, float] = {}
        for line in lines[start : start + batch]:
            code, marks = 0, [0] * 9
            for ply, word in enumerate(line.split()):
                cell = int(word.rstrip("!"))
                marks[cell] = 1 + ply % 2
                moves.setdefault(code, []).append(code + marks[cell] * 3**cell)
                code += marks[cell] * 3**cell
            won = any(marks[a] == marks[b] == marks[c] == 1 + ply % 2 for a, b, c in LINES)
            mean[code] = (-1.0 if ply % 2 else 1.0) if won else 0.0
        for code in sorted(moves, key=lambda code: -sum(code // 3**cell % 3 > 0 for cell in range(9))):
            n = len(moves[code])
            mean[code] = sum(mean[after] for after in moves[code]) / n
            before = value.get(code, 0.0)
            value[code] = before + (1 - (1 - alpha) ** n) * (mean[code] - before)
    return value


@pytest.mark.slow  # its kernels are compiled anew every time
@pytest.mark.parametrize("batch", [1, 100])
def test_the_example_learns_what_its_rule_says_and_an_edit_is_seen(tmp_path, batch):
    source = EXAMPLE.read_text(encoding="utf-8")
    (tmp_path / "own_learner.py").write_text(source, encoding="utf-8")
    found = values(tmp_path, tmp_path, batch)
    expected = by_hand((tmp_path / "games.txt").read_text(encoding="utf-8"), 0.05, batch)
    assert len(expected) > 300
    assert all(found[code] == pytest.approx(value, abs=1e-12) for code, value in expected.items())

    doubled = source.replace("step_size(step, row, 1) *", "2 * step_size(step, row, 1) *").replace(
        "share_of(step, row, counts.arrived[row]) *", "2 * share_of(step, row, counts.arrived[row]) *"
    )
    assert doubled != source
    (tmp_path / "own_learner.py").write_text(doubled, encoding="utf-8")
    again = values(tmp_path, tmp_path, batch)
    assert sum(again[code] != found[code] for code in expected) > len(expected) / 2
