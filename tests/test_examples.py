"""The tour in scripts/examples: each is run as a person runs it, and says what its docstring promises."""

import json
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest
from helpers.support import command, finished

import ttt_batch as ttt
from ttt_batch.core.named_code import AS_AGENT

EXAMPLES = Path(__file__).parent.parent / "scripts" / "examples"


def ran(name: str, *options: str, cwd: Path, saying: str) -> str:
    """What an example prints; on standard error it says what it is doing, line by line as in `saying`."""
    done = finished([sys.executable, "-W", "error", str(EXAMPLES / name), *options], cwd=cwd, timeout=300)
    assert done.returncode == 0, done.stderr
    assert re.fullmatch(saying, done.stderr), done.stderr
    return done.stdout


def test_every_example_is_run_here():
    tests = Path(__file__).read_text(encoding="utf-8")
    assert {path.name for path in EXAMPLES.glob("*.py")} == set(re.findall(r'ran\(\s*"(\w+\.py)"', tests))


@pytest.mark.slow
def test_train_and_plot(tmp_path):
    out = ran(
        "train_and_plot.py", "--games", "100000", cwd=tmp_path, saying=r"(training .* on 100,000 .*\n){2}drawing .*\n"
    )
    assert re.search(r"^td loses 0.0000 of its games as first and 0.0000 as second", out, re.MULTILINE)
    assert re.search(r"^sutton-barto loses 0.\d{4} of its games as first", out, re.MULTILINE)
    assert re.search(r"^wrote learning.png .* and losses.png", out, re.MULTILINE)
    for name in ("learning.png", "losses.png"):
        assert (tmp_path / name).read_bytes().startswith(b"\x89PNG")


@pytest.mark.slow
def test_two_step_sizes(tmp_path):
    out = ran("compare_step_sizes.py", "--seeds", "4", cwd=tmp_path, saying=r"(training 4 seeds with alpha .*\n){2}")
    rows = {line.split()[0]: line.split()[1:] for line in out.splitlines()[2:4]}
    assert rows.keys() == {"0.1", "0.01"}
    assert rows["0.01"][0] == "4/4"
    assert out.splitlines()[-1].startswith("of ")


def test_a_table_in_another_program(tmp_path):
    source = (EXAMPLES / "table_elsewhere.py").read_text(encoding="utf-8")
    assert "ttt_batch" not in source.replace("ttt-batch", "")
    run = ttt.train(100_000, out=tmp_path / "td.h5")
    out = ran(
        "table_elsewhere.py", "td.h5", "--games", "2000", cwd=tmp_path, saying=r"read .* 5,478 .* from td.h5; .*\n"
    )
    for line, exact in zip(out.splitlines(), (run.evaluation().first, run.evaluation().second), strict=True):
        won, drawn, lost = (int(number.replace(",", "")) for number in re.findall(r"(?:won|drawn|lost) ([\d,]+)", line))
        assert (won + drawn, lost) == (2000, 0)
        assert abs(won / 2000 - exact[0]) < 0.05  # the table's ties fall to the lowest cell here, so not exactly
    ttt.train(1000, learner="minimax-q", out=tmp_path / "other.h5")
    done = finished([sys.executable, str(EXAMPLES / "table_elsewhere.py"), "other.h5"], cwd=tmp_path)  # fmt: skip
    assert done.returncode == 1 and "this program reads td on 3x3" in done.stderr


def test_a_dictionary_is_wrapped_in_eight_lines(tmp_path, capsys, monkeypatch):
    run, table = ttt.train(200_000, seed=1), {}
    assert all(run.evaluation().unbeatable.values())
    for code, value in zip(run.graph.code.tolist(), run.tables.value.tolist(), strict=True):
        marks = [(0, 1, -1)[code // 3**cell % 3] for cell in range(9)]
        mover = 1 if sum(marks) else -1  # who has just moved
        table[str([mover * mark for mark in marks])] = mover * value
    (tmp_path / "table.json").write_text(json.dumps(table))
    out = ran("dictionary_agent.py", cwd=tmp_path, saying=r"(compiling .*\n)*")
    assert "unbeatable as first" in out and "unbeatable as second" in out
    monkeypatch.chdir(tmp_path)
    status, judged, _ = command(capsys, "evaluate", f"{EXAMPLES / 'dictionary_agent.py'}:agent")
    assert status == 0 and judged.partition("\n")[2] == out.partition("\n")[2]
    _, shown, _ = command(capsys, "evaluate", "--help")
    code = (
        (EXAMPLES / "dictionary_agent.py").read_text(encoding="utf-8").partition('"""\n\n')[2].partition("if __name")[0]
    )
    lines = [line for line in code.splitlines() if line and '"""' not in line]
    assert len(lines) == 8
    assert "\n".join(f"  {line}" for line in lines) in shown
    assert "evaluate --help shows eight lines" in AS_AGENT


@pytest.mark.slow
def test_a_neural_network_learns_and_is_judged_meanwhile(tmp_path):
    lines = ran("neural_network.py", "100", cwd=tmp_path, saying="").splitlines()
    assert re.fullmatch(r" +0 +0 +as first and as second +0\.\d{4} 0\.\d{4}", lines[1])
    assert re.fullmatch(r" *[\d,]+ +\d+ +never +0\.0000 0\.0000", lines[-1])
    assert 4 < len(lines) < 200


@pytest.mark.skipif(shutil.which("cc") is None, reason="there is no C compiler")
def test_an_agent_in_c(tmp_path):
    source, program = EXAMPLES / "agent.c", tmp_path / "agent"
    subprocess.run(["cc", "-O2", "-Wall", "-Wextra", "-Werror", "-o", program, source], check=True)
    judged = ttt.judge(f"cmd:{program}")
    assert judged.unbeatable == {"first": False, "second": False}
    assert judged.first[0] > 0.9 and judged.second[0] > 0.8
    begun = time.perf_counter()
    larger = ttt.judge(f"cmd:{program}", "4x4x4")
    assert time.perf_counter() - begun < 60
    assert larger.losing_line["first"] is not None
    assert ttt.judge(f"cmd:{program}", "5x5x4", games=20).verdicts["second"].status == "refuted"


@pytest.mark.slow  # its kernels are compiled every time
def test_a_learner_of_ones_own(tmp_path):
    lines = ran("own_learner.py", cwd=tmp_path, saying=r"(training .* on 1,000,000 games .*\n){2}").splitlines()
    errors = {line.split()[0]: float(re.findall(r"values ([\d.]+)", line)[0]) for line in lines}
    assert errors["monte-carlo"] > 0.1 > 0.001 > errors["td"]
    assert all(line.endswith("unbeatable as first, unbeatable as second") for line in lines)
