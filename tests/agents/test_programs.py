"""Agents that are files or programs, as the command line names them."""

import json
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from helpers.players import lowest
from helpers.support import command

import ttt_batch as ttt
from ttt_batch.agents.base import batch_of
from ttt_batch.agents.external import make_agent
from ttt_batch.core.errors import AgentError
from ttt_batch.games.board import Board

LOWEST = """
import sys
for line in sys.stdin:
    board, mover, cells = line.split()
    assert mover == "XO"[cells.count("X") - cells.count("O")]
    print(cells.index("."), flush=True)
"""

FILE = """
import numpy as np
from beside import choose

def lowest(boards, to_move, legal):
    return choose(legal)

class Lowest:
    def __call__(self, boards, to_move, legal):
        return choose(legal)

def wrong(boards, to_move, legal):
    return np.zeros(len(boards), int)

NUMBER = 5

class Useless:
    pass

class Ends(Lowest):
    def __init__(self):
        exit(3)

class More(Lowest):
    def __init__(self, what):
        pass
"""


@pytest.fixture
def folder(tmp_path):
    Path("program.py").write_text(LOWEST)
    Path("mine.py").write_text(FILE)
    Path("beside.py").write_text("def choose(legal):\n    return legal.argmax(1)\n")
    return tmp_path


def python(code: str) -> str:
    """A command that runs Python code."""
    Path("other.py").write_text(code)
    return f"cmd:{sys.executable} other.py"


def test_a_file_and_a_program_are_judged_as_the_callable_they_are(folder):
    expected = ttt.judge(lowest).to_dict()
    for agent in ("mine.py:lowest", "mine.py:Lowest", f"cmd:{sys.executable} program.py"):
        assert ttt.judge(agent).to_dict() == expected
    assert ttt.judge(f"cmd:{sys.executable} program.py", "3x4x3").to_dict() == ttt.judge(lowest, "3x4x3").to_dict()


def test_a_program_that_is_named_twice_starts_once(folder):
    program = python(f"open('starts', 'a').write('1')\n{LOWEST}")
    twice = ttt.evaluate(program, program).to_dict()
    assert Path("starts").read_text() == "1"
    assert twice == ttt.judge(lowest, against=lowest).to_dict() | {"against": twice["against"]}
    assert ttt.tournament([program, program, "random"]).exact
    assert Path("starts").read_text() == "11"


FAULTS = {
    "no file": ("no.py:agent", "there is no file no.py"),
    "no name": ("mine.py:nobody", "mine.py has no nobody; it has choose, lowest, Lowest, wrong"),
    "no function": ("mine.py:NUMBER", "cannot be called"),
    "form": ("mine.py:a b", "not of the form FILE.py:NAME"),
    "syntax": ("bad.py:agent", "bad.py failed: SyntaxError"),
    "class": ("mine.py:Useless", "is a class; give an object of it"),
    "class that ends": ("mine.py:Ends", "mine.py: Ends() failed: SystemExit: 3"),
    "class with more": ("mine.py:More", "mine.py: More() failed: TypeError"),
    "no name at all": (
        "mine.py",
        "name a file that training wrote (mine.py:NAME is an agent in it, for evaluate or play)",
    ),
    "folder": ("folder.py:agent", "there is no file folder.py"),
    "no program": ("cmd:", "names no program"),
    "empty program": ("cmd:''", "names no program"),
    "no executable": ("cmd:./mine.py", "cannot be started: Permission denied"),
    "quotes": ("cmd:a 'b", "cannot be split into words"),
    "not there": ("cmd:./nothing-here", "cannot be started: No such file"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_an_agent_that_cannot_be_loaded(fault, folder, capsys):
    Path("bad.py").write_text("def agent(:\n")
    Path("folder.py").mkdir()
    name, said = FAULTS[fault]
    with pytest.raises(ttt.TttBatchError):
        ttt.judge(name)
    status, out, err = command(capsys, "evaluate", name)
    assert status in (1, 2) and out == "" and said in err and err.count("\n") == 1


ENDS = {
    "ends": ("import sys; print('boom', file=sys.stderr); sys.exit(4)", "ended with status 4; it said: boom"),
    "another signal": ("import os; os.kill(os.getpid(), 40)", "was ended by signal 40"),
    "leaves a child": (
        "import os, time\nif os.fork() == 0: time.sleep(60)\nelse: os._exit(3)",
        "ended with status 3, and what it started held its output for 4.5 s",
    ),
    "much to say": (
        "import sys; print('\\x1b[31m' * 2_000_000, 'boom', file=sys.stderr); sys.exit(4)",
        "ended with status 4; it said: ",
    ),
    "says on and on": (
        "import sys, time\nfor _ in range(200_000): print('thinking', file=sys.stderr)\ntime.sleep(60)",
        "did not answer within 4.5 s; it said: ",
    ),
    "dribbles": (
        "import sys, time\ninput()\nfor _ in range(60): print(' ', end='', flush=True), time.sleep(0.2)",
        "did not answer within 0.5 s",
    ),
    "escapes": ("input(); print('\\x1b[2J', flush=True); input()", "answered '\\x1b[2J', which is no cell"),
    "no text": (
        "import sys; input(); sys.stdout.buffer.write(b'\\xff4\\n'); sys.stdout.flush(); input()",
        "answered '\ufffd4', which is no cell",
    ),
    "killed": ("import os; os.kill(os.getpid(), 9)", "was ended by SIGKILL"),
    "no number": ("input(); print('five', flush=True); input(); input()", "answered 'five', which is no cell"),
    "two lines": ("input(); print('4\\n5', flush=True)\nwhile input(): pass", "answered more than a line"),
    "no line": ("input(); print('4' * 200, end='', flush=True)\nwhile input(): pass", "without an end of the line"),
    "closes": ("import os, time; os.close(1); time.sleep(60)", "closed its output"),
    "hangs": ("import time; time.sleep(60)", "did not answer within 0.5 s; does it write out each answer at once"),
    "complains": (
        "import sys, time; print('thinking\\nhard', file=sys.stderr, flush=True); time.sleep(60)",
        "did not answer within 4.5 s; it said: thinking\\nhard",
    ),
    "buffers": (
        "import sys, time\nsys.stdout = open(1, 'w', 4096, closefd=False)\ninput(); print(4); time.sleep(60)",
        "did not answer within 0.5 s",
    ),
    "huge": ("input(); print(10**30, flush=True)\nwhile input(): pass", "which is no cell"),
    "outside": ("while True: input(); print(9, flush=True)", "cell 9, outside 0 .. 8"),
    "occupied": ("while True: input(); print(4, flush=True)", "cell 4, which is occupied"),
}


@pytest.mark.sampled(12)
@pytest.mark.parametrize("fault", ENDS)
def test_a_program_that_fails_is_one_line(fault, folder, capsys):
    code, said = ENDS[fault]
    begun = time.monotonic()
    limit = re.search(r"(\d\.\d) s", said)
    status, out, err = command(capsys, "evaluate", python(code), "--time-limit", limit[1] if limit else "100")
    assert (status, out) == (1, "") and err.count("\n") == 1 and said in err and "in position '" in err
    assert err.rstrip("\n").isprintable()
    assert time.monotonic() - begun < 60  # at once on an idle machine


def wait_for(condition: Callable[[], object]) -> None:
    until = time.monotonic() + 60
    while not condition() and time.monotonic() < until:
        time.sleep(0.05)


def alive(pid: int) -> bool:
    """Return whether a process runs; one that only waits to be collected does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


PARENT = """
import subprocess, sys
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
open("child", "w").write(str(child.pid))
for line in sys.stdin:
    {}
    print(line.split()[2].index("."), flush=True)
"""


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="reads /proc")
@pytest.mark.parametrize("end", ["well", "time-out", "Ctrl-C"])
def test_its_process_group_ends_with_the_command(end, folder, start):
    agent = python(PARENT.format("pass" if end == "well" else "import time; time.sleep(600)"))
    limit = "5" if end == "time-out" else "100"
    words = [sys.executable, "-m", "ttt_batch", "evaluate", agent, "--time-limit", limit]
    process = start(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    wait_for(lambda: Path("child").exists() and Path("child").read_text())
    if end == "Ctrl-C":
        time.sleep(0.2)
        process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=300)
    assert process.returncode == {"well": 0, "time-out": 1, "Ctrl-C": 130}[end], err
    child = int(Path("child").read_text())
    wait_for(lambda: not alive(child))  # a signal takes a moment to arrive
    assert not alive(child)


@pytest.mark.parametrize(
    ("name", "content", "way"),
    [
        ("values.pkl", b"\x80\x04}.", "ttt-batch import reads the tables of other programs"),
        ("values.csv", b"position,value", "ttt-batch import reads the tables of other programs"),
        ("proof", b"PK\3\4" + bytes(26) + b"format.npy", "it is a certificate, which ttt-batch check reads"),
        ("agent", b"\x7fELF", "cmd:agent is an agent if it is a program, for evaluate or play"),
        ("agent.sh", b"#!/bin/sh", "cmd:agent.sh is an agent if it is a program, for evaluate or play"),
        ("agent.py", b"#!/usr/bin/python", "agent.py:NAME is an agent in it, for evaluate or play"),
    ],
)
def test_what_is_no_run_is_led_to_what_takes_it(name, content, way, folder, capsys):
    Path(name).write_bytes(content)
    for words in ("evaluate", "play", "show"):
        status, out, err = command(capsys, words, name)
        assert (status, out) == (1, "") and err.endswith(f"; name a file that training wrote ({way})\n"), err


DRAWS = """
import random, time
def agent(board):
    return random.choice([cell for cell in range(9) if not board.flat[cell]])
def slow(board):
    if (board == 1).any():
        open("asked", "w").close()
        time.sleep(600)
    return agent(board)
"""


@pytest.mark.slow
def test_an_agent_that_draws_is_led_to_samples(folder, capsys):
    Path("draws.py").write_text(DRAWS)
    status, out, err = command(capsys, "evaluate", "draws.py:agent", "--quiet")
    assert (status, out) == (1, "") and err.endswith("only evaluate --samples 100 judges it by its answers\n")
    status, out, err = command(capsys, "evaluate", "draws.py:agent", "--samples", "2", "--json", "--quiet")
    assert (status, err) == (0, "")
    found = json.loads(out)
    assert found["samples"] == 2 and found["unbeatable"] == {"first": False, "second": False}
    _, again, _ = command(capsys, "evaluate", "draws.py:agent", "--samples", "2", "--json", "--quiet")
    assert again == out  # by the seed 0
    status, out, _ = command(capsys, "evaluate", "draws.py:agent", "--samples", "2", "--seed", "5", "--quiet")
    assert status == 0 and "2 answers in each position, seed 5, with 95 % confidence intervals" in out
    assert re.match(r"draws\.py:agent on 3x3, asked about [\d,]+ positions\n", out)


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_judging_a_slow_agent_can_be_interrupted(number, folder, start):
    Path("draws.py").write_text(DRAWS)
    words = [sys.executable, "-m", "ttt_batch", "evaluate", "draws.py:slow", "--samples", "2", "--time-limit", "900"]
    process = start(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    wait_for(Path("asked").exists)
    process.send_signal(number)
    out, err = process.communicate(timeout=300)
    assert (process.returncode, out) == (130, "") and err.endswith("ttt-batch: interrupted\n"), err


@pytest.mark.parametrize("name", ["prints", "Printing", "closes", "replaces"])
def test_what_a_file_prints_is_no_part_of_a_result(name, folder, capsys):
    Path("loud.py").write_text(
        "import sys\nprint('imported')\n"
        "def prints(boards, to_move, legal):\n    print('asked')\n    return legal.argmax(1)\n"
        "class Printing:\n    def __init__(self):\n        print('made')\n    __call__ = staticmethod(prints)\n"
        "def closes(boards, to_move, legal):\n"
        "    sys.stdout.close()\n    sys.stderr.close()\n    return legal.argmax(1)\n"
        "def replaces(boards, to_move, legal):\n    sys.stdout = sys.stderr = None\n    return legal.argmax(1)\n"
    )
    status, out, err = command(capsys, "evaluate", f"loud.py:{name}", "--json", "--quiet")
    assert status == 0 and json.loads(out)["unbeatable"] == {"first": False, "second": False}
    assert err.startswith("imported\n") and ("asked\n" in err) == (name in ("prints", "Printing"))
    assert ("made\n" in err) == (name == "Printing")


def test_a_name_may_hold_colons_and_spaces(folder, capsys):
    for name in ("a:b.py", "my agent.py", "it's.py"):
        Path(name).write_text(FILE)
        status, out, _ = command(capsys, "evaluate", f"{name}:lowest", "--json", "--quiet")
        assert status == 0 and json.loads(out)


def test_an_answer_before_the_question_is_none(folder):
    code = (
        "import time\nfor line in iter(input, ''):\n"
        "    print(line.split()[2].index('.'), flush=True)\n"
        "    time.sleep(0.1); print(5, flush=True); open('told', 'w').close()"
    )
    agent = make_agent(python(code), Board())
    nothing = np.zeros(1, np.uint64)
    batch = batch_of(Board(), nothing, nothing, 0)
    assert agent.ask(batch).tolist() == [0]
    wait_for(Path("told").exists)
    with pytest.raises(
        AgentError, match=r"in position '... ... ...' \(X to move\) .* answered '5' before it got a position"
    ):
        agent.ask(batch)


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="reads /proc")
def test_a_second_interruption_leaves_no_process(folder, monkeypatch):
    agent = make_agent(
        python("import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(60)"), Board()
    )
    pid = agent._process.pid

    def interrupted(pid, patience):
        raise KeyboardInterrupt

    monkeypatch.setattr("ttt_batch.agents.external._ended", interrupted)
    with pytest.raises(KeyboardInterrupt):
        agent.close()
    assert not alive(pid)


def test_an_illegal_move_is_told_with_a_remedy_that_there_is(folder, capsys):
    for words, remedy in (
        (("evaluate", "mine.py:wrong"), True),
        (("export", "mine.py:wrong", "--to", "csv"), True),
        (("export", "mine.py:wrong", "--to", "html"), False),
        (("train", "--opponent", "mine.py:wrong", "--games", "100"), False),
    ):
        status, out, err = command(capsys, *words, "--quiet")
        assert (status, out) == (1, "") and "which is occupied" in err and ("--illegal" in err) == remedy
        assert command(capsys, *words, "--illegal", "loses", "--quiet")[0] == (0 if remedy else 2)


def test_no_shell_reads_the_command(folder, capsys):
    status, _, err = command(capsys, "evaluate", "cmd:echo 4; touch made > made")
    assert status == 1 and "4; touch made > made" in err and not Path("made").exists()


def test_an_option_of_matches_is_refused_before_a_program_starts(folder, capsys):
    ttt.train(10, out="run.h5")
    status, _, err = command(capsys, "evaluate", "run.h5", "--against", "cmd:touch made", "--games", "5")
    assert status == 2 and "--games is for boards too large" in err and not Path("made").exists()


def test_a_program_is_asked_about_thousands_of_positions_at_once(folder):
    agent = make_agent(f"cmd:{sys.executable} program.py", Board())
    nothing = np.zeros(5_000, np.uint64)
    batch = batch_of(Board(), nothing, nothing, 0)
    try:
        assert agent.ask(batch).tolist() == [0] * 5_000
    finally:
        agent.close()
    with pytest.raises(AgentError, match="has ended"):
        agent.ask(batch)


@pytest.mark.slow
def test_every_command_takes_agents(folder, capsys):
    ttt.train(1000, out="run.h5")
    for words in (
        ("evaluate", "run", "--against", "mine.py:lowest", "--json"),
        ("evaluate", "mine.py:lowest", "--against", "run.h5", "--json"),
        ("evaluate", "optimal", "--board", "3x4x3", "--symmetric", "--json"),
        ("evaluate", f"cmd:{sys.executable} program.py", "--samples", "2", "--json"),
        ("evaluate", "run", "--against", "mine.py:lowest", "--samples", "2", "--seed", "1", "--json"),
        ("watch", "mine.py:lowest", "run.h5", "--games", "10", "--json"),
        ("watch", "run.h5", f"cmd:{sys.executable} program.py", "--games", "10", "--json"),
        ("tournament", "run", "mine.py:lowest", "two-ply", "--json"),
        ("tournament", "mine.py:lowest", "two-ply", "--board", "3x4x3", "--games", "10", "--json"),
        ("show", "mine.py:lowest", "5 1", "--json"),
        ("train", "--opponent", "mine.py:lowest", "--games", "1000", "-o", "against.h5", "--json"),
        ("export", "mine.py:lowest", "--to", "csv", "--json"),
        ("export", "mine.py:lowest", "--to", "html", "--json"),
        ("export", "two-ply", "--to", "json", "--json"),
    ):
        status, out, err = command(capsys, *words, "--quiet")
        assert (status, err) == (0, ""), words
        assert json.loads(out)
    status, out, _ = command(capsys, "watch", "mine.py:lowest", "two-ply", "--quiet")
    assert status == 0 and "O wins (two-ply)." in out
    table = json.loads(Path("two-ply.json").read_text())
    assert table["board"] == "3x3" and sum(table["positions"][0]["chances"]) == pytest.approx(1)
    lines = Path("mine.csv").read_text().splitlines()
    assert lines[:2] == ["code,position,0,1,2,3,4,5,6,7,8", "0,.../.../...,1,0,0,0,0,0,0,0,0"]
    assert "agent was asked for its move" in Path("mine.html").read_text()


def test_networks_play_agents_exactly_where_the_board_is_enumerated(folder, capsys):
    ttt.train(2000, learner="patterns", board="3x3", out="net.h5")
    found = []
    for words in (("net.h5", "--against", "mine.py:lowest"), ("mine.py:lowest", "--against", "net.h5")):
        status, out, err = command(capsys, "evaluate", *words, "--json", "--quiet")
        assert (status, err) == (0, "")
        found.append(json.loads(out))
    assert found[0]["first"]["win"] == pytest.approx(found[1]["second"]["loss"])


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("evaluate", "run.h5", "--board", "3x3"), "--board is for agents"),
        (("evaluate", "run.h5", "--symmetric"), "--symmetric is for agents"),
        (("show", "run.h5", "--illegal", "loses"), "--illegal is for agents"),
        (("tournament", "run.h5", "run.h5", "--time-limit", "3"), "--time-limit is for agents"),
        (("train", "--time-limit", "3"), "--time-limit is for agents"),
        (("play", "mine.py:lowest", "--learn"), "--learn is for a run"),
        (("export", "mine.py:lowest", "--to", "npz"), "npz"),
        (("export", "mine.py:lowest", "--to", "csv", "--board", "5x5x4"), "too large to enumerate"),
        (("evaluate", "optimal", "--board", "5x5x4"), "too large to enumerate"),
        (("train", "--opponent", "mine.py:lowest", "--board", "5x5x5"), "too large to enumerate"),
        (("evaluate", "mine.py:lowest", "--against", "run.h5", "--board", "3x4x3"), "plays 3x3, not 3x4x3"),
        (("evaluate", "mine.py:lowest", "--games", "5"), "--games is for boards too large"),
        (("evaluate", "run.h5", "--samples", "5"), "--samples 5 is for your own agents with random moves"),
        (("evaluate", "two-ply", "--samples", "5"), "--samples 5 is for your own agents with random moves"),
        (("evaluate", "mine.py:lowest", "--samples", "none"), "samples"),
        (("evaluate", "mine.py:lowest", "--samples", "5", "--budget", "5"), "--budget is for boards too large"),
    ],
)
def test_misuse_is_one_line(words, said, folder, capsys):
    ttt.train(1000, out="run.h5")
    status, out, err = command(capsys, *words, "--quiet")
    assert (status, out) == (2, "") and said in err and err.count("\n") == 1


def test_a_training_against_an_agent_is_resumed_against_the_same_one_alone(folder, capsys):
    once = ttt.train(4000, opponent=lowest, seat="first", seed=1, batch=500)
    ttt.train(2000, opponent=lowest, seat="first", seed=1, batch=500, out="half.h5")
    before = Path("half.h5").read_bytes()
    for words, said in (
        ((), "name it again with --opponent"),
        (("--opponent", "two-ply"), "was trained against another run or agent"),
        (("--opponent", "mine.py:wrong"), "which is occupied"),
    ):
        status, _, err = command(capsys, "train", "--resume", "half.h5", "--more", "2000", *words, "--quiet")
        assert status in (1, 2) and said in err
        assert Path("half.h5").read_bytes() == before
    words = ("train", "--resume", "half.h5", "--more", "2000", "--opponent", "mine.py:Lowest", "--quiet")
    assert command(capsys, *words)[0] == 0
    assert ttt.load("half.h5") == once


def test_nothing_named_inside_a_file_runs(folder, capsys):
    Path("evil.py").write_text(
        "import os\nos.mkdir('ran')\ndef agent(boards, to_move, legal):\n    return legal.argmax(1)\n"
    )
    assert command(capsys, "train", "--opponent", "evil.py:agent", "--games", "500", "-o", "run.h5", "--quiet")[0] == 0
    Path("ran").rmdir()
    for words in ("train --more 500 --resume", "info", "evaluate", "check", "show", "export --overwrite --to html"):
        command(capsys, *words.split(), "run.h5")
        assert not Path("ran").exists()


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="reads /proc")
def test_no_agent_is_left_behind(folder):
    def held() -> int:
        return sum(1 for _ in Path("/proc/self/fd").iterdir())

    before = held()
    for _ in range(3):
        ttt.judge(f"cmd:{sys.executable} program.py")
    assert held() <= before
