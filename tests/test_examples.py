"""The tour in scripts/examples: each is run as a person runs it, and says what its docstring promises."""

import importlib
import io
import json
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest
from helpers.chat_server import KEY, chat_server
from helpers.support import command, finished
from oracle import naive

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


@pytest.mark.slow
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


@pytest.mark.slow
def test_a_dictionary_is_wrapped_in_eight_lines(tmp_path, capsys):
    run, table = ttt.train(200_000, seed=1), {}
    assert all(run.evaluation().unbeatable.values())
    for code, value in zip(run.graph.code.tolist(), run.tables.value.tolist(), strict=True):
        marks = [(0, 1, -1)[code // 3**cell % 3] for cell in range(9)]
        mover = 1 if sum(marks) else -1  # who has just moved
        table[str([mover * mark for mark in marks])] = mover * value
    (tmp_path / "table.json").write_text(json.dumps(table))
    out = ran("dictionary_agent.py", cwd=tmp_path, saying=r"(compiling .*\n)*")
    assert "unbeatable as first" in out and "unbeatable as second" in out
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
def test_a_league_of_frozen_copies(tmp_path):
    lines = ran("league.py", "6", cwd=tmp_path, saying="").splitlines()
    lost = [
        float(re.match(r"generation +\d+ +loses (0\.\d{3}) as second +unbeatable as \w+", line)[1]) for line in lines
    ]
    assert len(lost) == 6
    assert lost[-1] < lost[0] / 2


@pytest.mark.slow
def test_a_neural_network_learns_and_is_judged_meanwhile(tmp_path):
    lines = ran("neural_network.py", "100", cwd=tmp_path, saying="").splitlines()
    assert re.fullmatch(r" +0 +0 +as first and as second +0\.\d{4} 0\.\d{4}", lines[1])
    assert re.fullmatch(r" *[\d,]+ +\d+ +never +0\.0000 0\.0000", lines[-1])
    assert 4 < len(lines) < 200


@pytest.mark.slow
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


NAIVE = naive.Board()
KEEPING = naive.optimal_rule(NAIVE)


def marks_of(position):
    """A position of the naive oracle from nine characters `X`, `O` or `.`."""
    return tuple(".XO".index(mark) for mark in position)


def plays_well(position, _):
    return f"1 and 2 are tempting.\n**Move: {1 + KEEPING(marks_of(position))[0]}**"


def plays_badly(position, _):
    return str(1 + position.index("."))


def insists_on_cell_1(position, messages):
    return "move: 1" if len(messages) == 1 else f"move: {1 + position.index('.')}"


@pytest.fixture
def judged(capsys, monkeypatch):
    """Function that runs the example with a server: the report (None without one), and all that it printed."""
    monkeypatch.syspath_prepend(str(EXAMPLES))

    def run(server, *options, **environment):
        for name, value in (server.environment | environment).items():
            monkeypatch.setenv(name, value)
        monkeypatch.setattr("sys.argv", ["language_model.py", "--wait", "0", "--json", "report.json", *options])
        Path("report.json").unlink(missing_ok=True)
        failure = ""
        try:
            importlib.import_module("language_model").main()
        except SystemExit as error:
            failure = str(error)
        out, err = capsys.readouterr()
        kept = Path("report.json").read_text() if Path("report.json").exists() else "null"
        files = [Path(name).read_text() for name in ("answers.jsonl",) if Path(name).exists()]
        assert KEY not in "".join([out, err, failure, kept, *files])
        return json.loads(kept, parse_constant=pytest.fail), f"{out}{failure}{err if failure == '2' else ''}"

    return run


def naive_losses(policy, opponent):
    """Probabilities that a policy loses against an opponent, as first and as second."""
    first, second = naive.result(NAIVE, policy, opponent), naive.result(NAIVE, opponent, policy)
    return [float(first[2]), float(second[0])]


def losses(report, against="against_random"):
    return [report[against][seat]["loss"] for seat in ("first", "second")]


@pytest.mark.slow
def test_a_language_model(tmp_path, monkeypatch):
    with chat_server(plays_well) as server:
        for name, value in server.environment.items():
            monkeypatch.setenv(name, value)
        options = "--symmetric", "--json", "report.json", "--picture", "board.png"
        out = ran("language_model.py", *options, cwd=tmp_path, saying=r"asking parrot .*\n(compiling .*\n)*")
        assert "unbeatable as first" in out and "unbeatable as second" in out
        assert "gives something away in 0 of" in out and "it holds for a model that always answers alike" in out
        report = json.loads((tmp_path / "report.json").read_text())
        assert report["positions"] == len(server.asked) == len(set(server.asked)) < 300
        assert f"{100 * report['positions']:,} prompt and {7 * report['positions']:,} completion tokens" in out
        assert losses(report) == losses(report, "against_best_play") == [0, 0]
        assert (tmp_path / "board.png").read_bytes().startswith(b"\x89PNG")
        assert not [path for path in tmp_path.iterdir() if KEY.encode() in path.read_bytes()]


@pytest.mark.slow
def test_a_language_model_that_plays_badly(judged):
    with chat_server(plays_badly) as server:
        report, out = judged(server, "--picture", "board.png")
        random, best = naive.uniform(NAIVE.legal), naive.uniform(KEEPING)

        def policy(position):
            return {NAIVE.legal(position)[0]: 1}

        assert losses(report) == pytest.approx(naive_losses(policy, random))
        assert losses(report, "against_best_play") == pytest.approx(naive_losses(policy, best))
        wrong = {one for one in server.asked if NAIVE.legal(marks_of(one))[0] not in KEEPING(marks_of(one))}
        assert {one["position"].replace("/", "") for one in report["gives_away"]} == wrong
        assert "  XO./.../...  X plays 3 (draw); better: 4 5 7\n" in out
        folded, _ = judged(server, "--symmetric", "--answers", "folded.jsonl")
        assert folded["positions"] < report["positions"]


def test_a_language_model_that_names_no_cell(judged):
    with chat_server(lambda *_: "I would rather play chess, move 12") as server:
        report, out = judged(server)
    assert len(server.asked) == report["lost_by_illegal_answers"] == 10
    assert losses(report) == losses(report, "against_best_play") == [1, 1]
    assert "10 answers, 10 illegal, 10 of these lose; 1,000 prompt and 70 completion tokens" in out
    assert "it names no cell on the empty board, so that it loses every game as first" in out
    assert ".../.../..X  O plays an illegal move (loss); better: 5\n" in out


@pytest.mark.slow
def test_illegal_answers_lose_or_are_repeated(judged):
    with chat_server(insists_on_cell_1) as server:
        report, _ = judged(server, "--repeat", "1")
        assert report["answers"] - report["positions"] == report["illegal"] > report["lost_by_illegal_answers"] == 0
        asked = len(server.asked)
        report, _ = judged(server)  # of the same answers; after O has moved, cell 1 is always taken
        assert losses(report, "against_best_play") == [1, 1] and losses(report)[0] == 1
        assert len(server.asked) == asked


@pytest.mark.slow
def test_samples_of_a_language_model(judged):
    def plays_either(position, _):
        """Now the first free cell, now the last one, or the first of all: a model that draws its early moves."""
        free = [cell for cell, mark in enumerate(position, 1) if mark == "."]
        return f"move: {[free[0], free[-1], 1][len(server.asked) % 3 if len(free) > 6 else 0]}"

    with chat_server(plays_either) as server:
        report, out = judged(server, "--samples", "3", "--at-once", "1")
        assert len(server.asked) == 3 * len(set(server.asked)) == report["answers"]
    answers = {}
    for line in Path("answers.jsonl").read_text().splitlines()[1:]:
        told = json.loads(line)
        answers.setdefault(marks_of(told["position"]), []).append(int(told["answer"][-1]) - 1)

    def policy(position):
        found = answers[position]
        return {cell: found.count(cell) / len(found) for cell in found}

    assert losses(report) == pytest.approx(naive_losses(policy, naive.uniform(NAIVE.legal)))
    low, high = report["against_random"]["intervals"]["first"]["loss"].values()
    assert low < losses(report)[0] < high
    assert True not in report["against_random"]["unbeatable"].values()
    assert "3 answers to each position" in out


@pytest.mark.slow
def test_a_broken_run_goes_on(judged):
    def breaks(position, messages):
        return plays_badly(position, messages) if len(server.asked) <= 50 else 503

    with chat_server(breaks) as server:
        _, out = judged(server, "--at-once", "1", "--retries", "2")
        assert "error: the server failed: status 503: no; answers are kept in answers.jsonl" in out
        asked = set(server.asked[:50])
        assert 50 + 3 <= len(server.asked) <= 50 + 2 * 3  # the next question may have begun
    with Path("answers.jsonl").open("a") as file:
        file.write('{"position": "XO')
    failed = set()

    def fails_at_first(position, messages):
        if position not in failed:
            failed.add(position)
            return 429
        return plays_badly(position, messages)

    with chat_server(fails_at_first) as server:
        report, _ = judged(server)
        assert report["answers"] == report["positions"] == len(asked) + len(failed) and not asked & failed
        _, out = judged(server, CHAT_MODEL="another")
        assert "answers.jsonl holds answers of another model or question" in out


@pytest.mark.parametrize(
    ("reply", "said"),
    [
        (lambda *_: time.sleep(0.5) or "move: 1", "no answer within 0.1 s"),
        (lambda *_: b"<html>", "an answer that is not of the chat-completions protocol"),
        (lambda *_: b'{"choices": []}', "an answer that is not of the chat-completions protocol"),
        (lambda *_: 302, "status 302: no"),
    ],
)
def test_servers_that_fail(judged, reply, said):
    with chat_server(reply) as server:
        report, out = judged(server, "--timeout", "0.1", "--retries", "1")
        assert report is None and f"error: the server failed: {said}; answers are kept" in out
    _, out = judged(server, "--retries", "0")
    assert "error: the server failed: Connection refused; answers are kept in answers.jsonl" in out


def test_a_further_try_is_announced(judged, monkeypatch):
    """It is the only sign of life while a server is down for minutes."""
    kept = io.StringIO()
    monkeypatch.setattr("sys.stderr", kept)
    with chat_server(lambda *_: 503) as server:
        _, out = judged(server, "--retries", "2", "--at-once", "1")
    assert "error: the server failed: status 503: no" in out
    said = [line for line in kept.getvalue().splitlines() if "try" in line]
    assert said == [f"the server failed: status 503: no; try {number} of 2 in 0 s" for number in (1, 2)]


def test_the_key_of_a_language_model_is_not_repeated(judged):
    with chat_server(plays_well) as server:
        _, out = judged(server, CHAT_KEY="wrong-key")
        assert "status 401: bad key: Bearer (key)" in out and "wrong-key" not in out
        for name, value in ("CHAT_ADDRESS", "ftp://x"), ("CHAT_MODEL", ""), ("CHAT_KEY", "two words"):
            _, out = judged(server, **{name: value})
            assert out == "set CHAT_ADDRESS to http://... or https://..., CHAT_MODEL, and CHAT_KEY if there is one"
        for wrong, said in (
            (("--samples", "0"), "--samples 0 is below 1"),
            (("--picture", "board.txt"), "--picture board.txt ends in neither .png nor .svg"),
            (("--answers", "missing/a.jsonl"), "error: missing/a.jsonl: No such file or directory"),
        ):
            assert judged(server, *wrong)[1].strip().endswith(said)
