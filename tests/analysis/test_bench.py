"""The figures of `ttt-batch bench`, and the scripts that measure the package against other programs."""

import importlib.util
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pexpect
import pytest
from helpers.support import finished, mostly_slow

import ttt_batch as ttt
from ttt_batch.__main__ import run as run_here
from ttt_batch.analysis import warmup as benches
from ttt_batch.analysis.warmup import ROUNDS, Figure, Steps, measure_machine, thread_counts
from ttt_batch.learners import LEARNERS

# pexpect forks, and from Python 3.12 on a fork of a process with threads (NumPy's) warns.
pytestmark = pytest.mark.filterwarnings("ignore:This process .*is multi-threaded:DeprecationWarning")

PROGRAM = [sys.executable, "-m", "ttt_batch", "bench"]
SCRIPTS = Path(__file__).parents[2] / "scripts"
SECONDS = 600
"""Kernels may have to be compiled."""

LONG_NAME = "Processor(R) of a Long Name(TM) 9999X-3D with Graphics, 16C"
"""As long as some are."""


# --- the command ----------------------------------------------------------------------------------------


@pytest.mark.slow  # where kernels are not cached it compiles all of them
def test_the_figures_as_json(tmp_path: Path) -> None:
    done = finished([*PROGRAM, "--seconds", "0.3", "--threads", "3", "--json"], cwd=tmp_path, timeout=SECONDS)
    assert done.returncode == 0, done.stderr
    assert not list(tmp_path.iterdir())
    found = json.loads(done.stdout)
    assert set(found) == {"machine", "versions", "date", "figures"}
    assert set(found["machine"]) == {"processor", "cores", "system"} and found["machine"]["cores"] >= 1
    assert {"ttt-batch", "python", "numpy", "numba"} <= set(found["versions"])
    keys = {"work", "learner", "engine", "batch", "threads", "unit", "median", "min", "max", "rounds"}
    for figure in found["figures"]:
        assert set(figure) == keys
        assert len(figure["rounds"]) == ROUNDS and 0 < figure["min"] <= figure["median"] <= figure["max"]
        if figure["unit"] == "ms":
            assert figure["work"] == "evaluation"
        else:
            assert figure["unit"] == "games/s"
    ways = [(f["work"], f["learner"], f["engine"], f["batch"], f["threads"]) for f in found["figures"]]
    assert ways == [
        ("random play", None, None, None, 1),
        *(("learning", name, *way, 1) for name in LEARNERS for way in (("walk", 16_384), ("walk", 1), ("flow", 10**6))),
        *(("threads", "td", "walk", 10**6, n) for n in (1, 2, 3)),
        ("evaluation", "td", None, None, 1),
    ]
    progress = [line for line in done.stderr.splitlines() if line.startswith("measuring: ")]
    assert 3 <= len(progress) <= 10
    last = re.fullmatch(r"measuring: (\d+) of (\d+)", progress[-1])
    assert last and last[1] == last[2]


@pytest.mark.parametrize("learners", mostly_slow([[*LEARNERS], ["td"]], ["td"]), ids=len)
def test_the_table_fits_a_terminal(
    learners: list[str], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(benches, "LEARNERS", learners)
    monkeypatch.setattr(benches, "processor_name", lambda: LONG_NAME)
    assert run_here(["bench", "--seconds", "0.1", "--threads", "1"]) == 0
    out, err = capsys.readouterr()
    assert not re.search(r"[^\n\x20-\x7e]", out + err)
    assert all(len(line) <= 80 for line in out.splitlines())
    assert " ".join(out.split()).startswith(f"{LONG_NAME}, ")
    for name in learners:
        (line,) = [line for line in out.splitlines() if line.startswith(f"{name} ")]
        assert len(re.findall(r"[\d.]+ [kMG]  [\d.]+-[\d.]+", line)) == 3
    assert re.search(r"^random play +[\d.]+ [kMG]  [\d.]+-[\d.]+ ", out, re.MULTILINE)
    assert re.search(r"^one evaluation +[\d.]+ ms  [\d.]+-[\d.]+ ", out, re.MULTILINE)


@pytest.mark.slow  # it measures every learner
def test_at_a_terminal_a_bar_of_which_nothing_remains() -> None:
    child = pexpect.spawn(
        PROGRAM[0],
        [*PROGRAM[1:], "--seconds", "0.1", "--threads", "1"],
        env=os.environ | {"TERM": "xterm-256color"},
        encoding="utf-8",
        timeout=SECONDS,
        dimensions=(40, 80),
    )
    child.expect("learning, 1 thread")
    shown = child.before
    child.expect(pexpect.EOF)
    child.close()
    assert child.exitstatus == 0
    assert "━" in shown and "measuring" not in shown
    assert "━" not in child.before


@pytest.mark.parametrize(
    ("words", "value"),
    [
        ("--seconds 0", "seconds 0 is outside 0.1 .. 3600; give a number in it"),
        ("--seconds nan", "seconds 'nan' is not a number"),
        ("--seconds long", "seconds 'long' is not a number"),
        ("--threads 9999999", "threads 9,999,999 is outside"),
        ("something", "something"),
    ],
)
def test_bad_values_cost_one_line(
    words: str, value: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr(benches, "_subjects")  # nothing is measured
    assert run_here(["bench", *words.split()]) == 2
    out, err = capsys.readouterr()
    assert out == "" and len(err.splitlines()) == 1
    assert err.startswith("ttt-batch: ") and value in err


@pytest.mark.slow
def test_without_the_compiler_there_is_nothing_to_measure() -> None:
    environment = os.environ | {"NUMBA_DISABLE_JIT": "1"}
    done = subprocess.run(PROGRAM, env=environment, capture_output=True, text=True, timeout=SECONDS, check=False)
    assert (done.returncode, done.stdout) == (1, "")
    assert len(done.stderr.splitlines()) == 1 and "NUMBA_DISABLE_JIT" in done.stderr


@pytest.mark.slow  # it measures every learner
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_it_can_be_interrupted(number: signal.Signals, start: Any) -> None:
    process = start([*PROGRAM, "--seconds", "300"], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stderr is not None
    for line in process.stderr:
        if line.startswith("measuring"):
            break
    time.sleep(0.3)
    process.send_signal(number)
    out, err = process.communicate(timeout=300)
    assert (process.returncode, out) == (130, "")
    assert re.fullmatch(r"(measuring: .*\n)*ttt-batch: interrupted.*\n", err), err


def test_rates_of_work_whose_duration_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    calls, now = list[int](), [0.0]
    monkeypatch.setattr(benches, "time", SimpleNamespace(perf_counter=lambda: now[0]))

    def work(n: int) -> None:
        calls.append(n)
        now[0] += 0.002 * n + (1.0 if len(calls) == 1 else 0.0)  # the first step loads kernels

    subjects: list[tuple[Figure, int, Steps]] = [
        (Figure("learning"), 100, work),
        (Figure("judging", unit="ms"), 1, work),
    ]
    monkeypatch.setattr(benches, "_subjects", lambda most: iter(subjects))
    reports: list[tuple[int, int]] = []
    learning, judging = measure_machine(seconds=0.5, progress=lambda done, total: reports.append((done, total)))
    assert 1.4 < now[0] < 1.6
    assert learning.rounds == pytest.approx([50_000] * ROUNDS) and judging.rounds == pytest.approx([2] * ROUNDS)
    assert min(calls[-2:]) >= 5  # many steps a measurement
    assert reports == [(done, 12) for done in range(13)]


def test_thread_counts_double_up_to_the_most() -> None:
    assert [thread_counts(n) for n in (1, 2, 3, 4, 6, 16)] == [
        [1],
        [1, 2],
        [1, 2, 3],
        [1, 2, 4],
        [1, 2, 4, 6],
        [1, 2, 4, 8, 16],
    ]


# --- the scripts ----------------------------------------------------------------------------------------


def run_script(name: str, *words: str) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, str(SCRIPTS / f"{name}.py"), *words]
    return subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, check=False)


@pytest.fixture
def benchmark(script: Callable[[str], ModuleType]) -> ModuleType:
    """The script as a module."""
    return script("benchmark")


@pytest.mark.slow  # every measurement once
def test_the_benchmark_of_a_command() -> None:
    done = run_script("benchmark", "--quick", "--only", "ttt-batch --help", "--json", "-")
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert report["quick"] and {"machine", "versions", "date"} <= set(report)
    (figure,) = report["figures"]
    assert figure["figure"] == "ttt-batch --help" and figure["unit"] == "s" and figure["target"] == "< 0.3"
    assert len(figure["rounds"]) >= 5 and 0 < figure["min"] <= figure["value"] <= figure["max"] < 10
    assert figure["reached"] == (figure["value"] < 0.3)
    refused = run_script("benchmark", "--only", "nothing of the kind")
    assert refused.returncode == 1 and "train --games 100000" in refused.stderr and refused.stdout == ""


def test_figures_name_contestants(benchmark: ModuleType) -> None:
    known = benchmark.contestants()
    for amounts in (benchmark.QUICK, benchmark.FULL):
        plan = benchmark.Plan(Path(), sys.executable, **amounts)
        figures = list(benchmark.figures(plan))
        assert len({figure.name for figure in figures}) == len(figures)
        used = {name for figure in figures for name in (figure.contestant, figure.over)} - {None}
        assert used == set(known)
        assert all(getattr(plan, known[figure.contestant].rounds) >= 5 for figure in figures if figure.over)


@pytest.mark.parametrize("processor", ["Z80", LONG_NAME])
def test_a_ratio_is_taken_to_what_was_measured_around_it(
    processor: str, benchmark: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a machine that becomes slower from one measurement to the next, evenly."""
    order: list[str] = []

    def contestant(name: str, speed: float, dear: bool = False) -> Any:
        def measure() -> dict[str, float]:
            order.append(name)
            return {"games/s": speed * (100 - len(order))}

        return benchmark.Contestant(lambda plan: measure, dear=dear)

    fakes = {
        "yardstick": contestant("yardstick", 1),
        "a": contestant("a", 5),
        "b": contestant("b", 7),
        "far": contestant("far", 0.5, dear=True),
    }
    monkeypatch.setattr(benchmark, "contestants", lambda: fakes)
    figures = [
        benchmark.Figure(f"{name} / {over}", name, "games/s", "x", over, (">=", least))
        for name, over, least in (("a", "yardstick", 5), ("b", "yardstick", 8), ("a", "far", 1))
    ]
    plan = benchmark.Plan(Path(), sys.executable, **benchmark.QUICK)._replace(rounds=2)
    found = benchmark.measure_all(figures, plan)
    assert order == 2 * ["yardstick", "a", "yardstick", "b", "yardstick", "a", "far", "a"]
    rows = list(benchmark.results(figures, found))
    assert [row["rounds"] for row in rows] == [pytest.approx([ratio] * 2) for ratio in (5, 7, 10)]
    assert [row["reached"] for row in rows] == [
        row["value"] >= least for row, least in zip(rows, (5, 8, 1), strict=True)
    ]
    monkeypatch.setattr(benches, "processor_name", lambda: processor)
    heading, _, lines = benchmark.table({"figures": rows, **benches.environment_info()}).partition("\n\n")
    assert heading.startswith(f"Measured on {processor}, ") and max(map(len, heading.splitlines())) <= 120
    assert len(lines.splitlines()) == 1 + len(rows)


def test_first_proofs_and_settling(benchmark: ModuleType) -> None:
    """The games are those of a training, and what is timed ends there."""
    measure = benchmark.contestants()["settling td"].prepare(None)
    for seed in range(2):
        found = measure()
        statistics = ttt.train(1_000_000, batch=16_384, seed=seed).statistics
        holds, games = statistics["unbeatable"].all(axis=1), statistics["games"]
        assert found["first games"] == games[holds.argmax()]
        assert found["settled games"] == games[np.flatnonzero(~holds)[-1] + 1]
        assert found["first seconds"] > 0 and found["settled seconds"] > 0
        assert found["later"] == holds[holds.argmax() + 1 :].mean()


@pytest.mark.slow
def test_the_stages_of_a_command_add_up(tmp_path: Path, script: Callable[[str], ModuleType]) -> None:
    itemise = script("itemise")
    found = itemise.itemise(tmp_path)
    total = found.pop("total")
    assert set(found) == set(itemise.STAGES)
    # The stages begin and end with the process, but for the parent's work at both ends; other programs add to that.
    assert 0.5 * total < sum(found.values()) <= total
    assert found["playing, learning, proving"] > 0 and not list(tmp_path.iterdir())


@pytest.mark.slow  # it starts matplotlib twice
@pytest.mark.skipif(importlib.util.find_spec("matplotlib") is None, reason="needs matplotlib")
def test_a_picture_of_a_report(tmp_path: Path, benchmark: ModuleType) -> None:
    plan = benchmark.Plan(Path(), sys.executable, **benchmark.QUICK)
    entries = [
        {"figure": figure.name, "unit": figure.unit, "value": value, "min": 0.9 * value, "max": 1.1 * value}
        for figure, value in zip(benchmark.figures(plan), range(1000, 10**6, 1000), strict=False)
    ]
    (tmp_path / "report.json").write_text(json.dumps(benches.environment_info() | {"figures": entries}))
    done = run_script("picture", str(tmp_path / "report.json"), str(tmp_path / "picture.png"))
    # Nothing is left out: every figure that the picture shows is one that the benchmark has.
    assert (done.returncode, done.stderr) == (0, "")
    assert (tmp_path / "picture.png").read_bytes().startswith(b"\x89PNG")
    (tmp_path / "empty.json").write_text(json.dumps(benches.environment_info() | {"figures": []}))
    refused = run_script("picture", str(tmp_path / "empty.json"))
    assert refused.returncode == 1 and refused.stdout == "" and not (tmp_path / "empty.png").exists()
