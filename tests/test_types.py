"""The package as a type checker sees it: what functions return, and that none gives or takes anything at all."""

import inspect
import os
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, get_args

import pytest
from helpers.support import finished

import ttt_batch as ttt
from ttt_batch.core.text import LEARNER_NAMES, PATTERN_LEARNERS, NetworkLearner, TableLearner

REASONS = {
    "Batch.reset: which": "an array, a list, or what another library makes an array of",
    "Batch.step: actions": "an array, a list, or what another library makes an array of",
    "Run.__init__: tables": "each learner has a NamedTuple of its own",
}
"""Where `Any` is right, and why."""

PROGRAM = """
from pathlib import Path

import numpy as np

import ttt_batch as ttt
from ttt_batch import agents


def first(boards: np.ndarray, to_move: np.ndarray, legal: np.ndarray) -> np.ndarray:
    cells: np.ndarray = legal.argmax(1)
    return cells


name: str = "td"
run = ttt.train("10k", epsilon="10%", out=Path("td.h5"), progress=True)
reveal_type(run)
reveal_type(ttt.train(100, learner="menace"))
reveal_type(ttt.train(100, learner="patterns", board="4x4x4"))
reveal_type(ttt.train(100, learner=name))
reveal_type(ttt.train(resume=run, more=10))
reveal_type(ttt.train(resume="td.h5", more=10, progress=lambda now: print(now.games)))
reveal_type(ttt.load("td.h5"))
reveal_type(ttt.evaluate(first, against=run))
reveal_type(ttt.evaluate(run, as_played=True))
reveal_type(ttt.evaluate(run, positions="tic-tac-toe.data"))
ttt.train(10, draw_worth=0.5)
reveal_type(ttt.judge(first, illegal="loses"))
reveal_type(ttt.tournament([run, "random", first, agents.at_board("optimal")]))
reveal_type(ttt.show("one-ply", "b2 a1"))
reveal_type(ttt.prove(run, progress=True))
reveal_type(ttt.plot(run))
reveal_type(ttt.export_run(run, "td.json", "json", overwrite=True))
reveal_type(ttt.import_run("td.json", "td", alpha=0.1))
reveal_type(ttt.learn_from(["4 0 2"], learner="td"))
reveal_type(ttt.study(learner=["td", "sarsa"], seeds=[1, 2]))
reveal_type(ttt.load_study("study.h5").summary())
ttt.random_games("3x3", "1k")
reveal_type(run.to_dict())
reveal_type(run.move_values("b2 a1"))
ttt.train(epsilonn=0.1)
ttt.export_run(run, "td.json", "json", tiess="any")
"""

REVEALED = """
Run
Run
PatternRun
Run | PatternRun
Run
Run | PatternRun
Run | PatternRun
Evaluation | SampledEvaluation
PlayedEvaluation
LabelledEvaluation
Evaluation | SampledEvaluation
Tournament
PositionReport
Proofs
Picture
list[Path]
Run
tuple[Run | PatternRun, Skipped]
Study
Summary
dict[str, Any]
dict[int, float]
""".strip().splitlines()


def functions() -> Iterator[tuple[str, Callable[..., Any]]]:
    """Every public function, and every public method and constructor of the public classes, by name."""
    for name in ttt.__all__:
        found = getattr(ttt, name)
        if not inspect.isclass(found):
            if callable(found):
                yield name, found
            continue
        for member in dir(found):
            value = inspect.getattr_static(found, member)
            if (
                inspect.isfunction(value)
                and value.__name__ != "<lambda>"
                and (member == "__init__" or not member.startswith("_"))
            ):
                yield f"{name}.{member}", value


def test_nothing_public_is_of_any_type() -> None:
    bare = []
    for name, function in functions():
        signature = inspect.signature(function)
        hints = {one.name: one.annotation for one in signature.parameters.values() if one.name not in ("self", "_")}
        bare += [f"{name}: {one}" for one, hint in hints.items() if hint in (Any, "Any", inspect.Parameter.empty)]
        bare += [f"{name} ->"] if signature.return_annotation in (Any, "Any", inspect.Signature.empty) else []
    assert [one for one in bare if not re.match(r"\w+Error\.", one)] == list(REASONS)


def test_the_types_of_learners_are_their_names() -> None:
    assert get_args(NetworkLearner) == PATTERN_LEARNERS
    assert {*get_args(TableLearner)} <= {*LEARNER_NAMES}, "those are found in their folder"
    assert all(isinstance(ttt.LEARNERS[name].name, str) for name in get_args(TableLearner))


@pytest.mark.slow
def test_a_program_of_a_user_is_checked(tmp_path: Path) -> None:
    pytest.importorskip("mypy")
    (tmp_path / "program.py").write_text(PROGRAM)
    words = ["--strict", "--disable-error-code=type-arg", "--follow-imports=silent", "--cache-dir=cache", "program.py"]
    where, root = {**os.environ, "COLUMNS": "400"}, Path(ttt.__file__).parents[1]
    if root.name != "site-packages":  # mypy finds an installed package on its own, and refuses its folder
        where["MYPYPATH"] = str(root)
    done = finished([sys.executable, "-m", "mypy", "--config-file=", *words], cwd=tmp_path, env=where, timeout=600)
    revealed = re.findall(r'Revealed type is "(.*)"$', done.stdout, re.MULTILINE)
    assert [re.sub(r"\w+\.(?=\w)", "", one) for one in revealed] == REVEALED, done.stdout + done.stderr
    errors = re.findall(r"error: (.*)", done.stdout)
    assert len(errors) == 2 and "epsilonn" in done.stdout and '"tiess"' in errors[1], done.stdout
