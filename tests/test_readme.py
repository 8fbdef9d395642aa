"""The README, run: every command in it in order, in one folder, and what it shows beside what they print.

Speeds and seconds differ from machine to machine and are left out of the comparison; everything else is exact.
"""

import json
import os
import re
import shlex
import signal
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

import ttt_batch as ttt
from ttt_batch.__main__ import run as run_here
from ttt_batch.app.cli import COMMANDS

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
BLOCK = re.compile(r"^```(sh|console|python)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
PROMPT = re.compile(r"^(Your move \([XO]\): |Another game\? \[[^]]*\] )(.*)$")
SPEED = re.compile(r" \(compiling included\)|  \d[\d.]* [kMG]?/s|in \d[\d.]* s\b|, \d[\d.]* s\b|\(?\d[\d.]* s\)?")
INSTALLING = "pip install"

INTERRUPTED = "ttt-batch train --games 1000000000 --out long.h5"
"""The command below which the README speaks of Ctrl-C; what follows goes on with its run."""


class Step(NamedTuple):
    """A command of the README and the lines shown below it; for Python, a program.  None where nothing is shown."""

    kind: str
    text: str
    shown: list[str] | None


def steps() -> list[Step]:
    found = []
    for kind, body in BLOCK.findall(README):
        if kind == "python":
            found.append(Step(kind, body, None))
        elif kind == "sh":
            found += [Step(kind, line, None) for line in body.splitlines() if line and not line.startswith("#")]
        else:
            for part in re.split(r"^\$ ", body, flags=re.MULTILINE)[1:]:
                command, _, shown = part.partition("\n")
                found.append(Step(kind, command, shown.rstrip("\n").split("\n") if shown.strip() else None))
    return found


STEPS = steps()


def run_step(step: Step, folder: Path) -> None:
    program = "python" if step.kind == "python" else shlex.split(step.text)[0]
    if program == "python":
        words = [sys.executable, "-W", "error"]
        words += ["-c", step.text] if step.kind == "python" else shlex.split(step.text)[1:]
        for link in ("scripts", "data"):
            if not (folder / link).exists():
                (folder / link).symlink_to(ROOT / link)
    else:
        assert program == "ttt-batch", step.text
        words = [sys.executable, "-m", "ttt_batch", *shlex.split(step.text)[1:]]
    typed = [match[2] for line in step.shown or [] if (match := PROMPT.match(line))]
    if step.text == INTERRUPTED:
        with subprocess.Popen(words, cwd=folder, stderr=subprocess.PIPE, text=True) as process:
            assert process.stderr is not None
            assert any("games" in line for line in process.stderr)
            process.send_signal(signal.SIGINT)
            process.communicate()
        assert process.returncode == 130
        return
    done = subprocess.run(
        words,
        cwd=folder,
        input="".join(f"{line}\n" for line in typed),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=300,
        check=False,
        env={**os.environ, "COLUMNS": "80"},
    )
    assert done.returncode == 0, f"{step.text}\n{done.stdout}"
    if step.shown is not None:
        found, shown = plain(done.stdout.rstrip().splitlines()), plain(step.shown)
        if shown[-1] == "...":  # more, about this machine
            assert found[: len(shown) - 1] == shown[:-1] and len(found) > len(shown), step.text
        else:
            assert found == shown, step.text


def plain(lines: list[str]) -> list[str]:
    """Without what differs from machine to machine, and without the notice that kernels are being compiled."""
    kept = [line for line in lines if not line.startswith("compiling kernels")]
    return [" ".join(SPEED.sub(" ", line).split()) for line in kept]


def test_the_two_commands_are_those_that_ci_runs():
    installing = [step.text for step in STEPS if INSTALLING in step.text and "ttt-batch[" not in step.text]
    ci = (ROOT / ".ci" / "run").read_text(encoding="utf-8").splitlines()
    assert installing[:2] == ["pip install . && ttt-batch train --games 10000000", "pip install '.[test]' && pytest"]
    assert all(command in ci for command in installing[:2])


def test_every_command_of_the_package_is_shown():
    used = {shlex.split(step.text)[1] for step in STEPS if step.text.startswith("ttt-batch ")}
    listed = set(re.findall(r"`([a-z-]+)[^`]*`", README.partition("### Commands")[2].partition("\n## ")[0]))
    assert set(COMMANDS) <= listed | used
    assert {"train", "evaluate", "play"} <= used


KEY_COMMANDS = {
    "train": "train --games 1000 -o new.h5",
    "import": "import table.raw --learner backward-q -o imported.h5",
    "learn-from": "learn-from games.txt --learner td -o given.h5",
    "evaluate": "evaluate run.h5",
    "watch --games N": "watch run.h5 --games 10",
    "tournament": "tournament run.h5 other.h5",
    "show": "show run.h5",
    "plot": "plot run.h5 -o plot.svg",
    "boards BOARD": "boards 3x3",
    "info": "info run.h5",
    "info --format": "info --format",
    "check": "check run.h5",
    "learners NAME": "learners td",
    "compare": "compare run.h5 other.h5",
    "export": "export run.h5 --to csv -o table.csv",
}
"""A command for each row of the table of keys; `warmup` and `bench`, which take long, have tests of their own."""


def test_json_has_the_keys_that_the_readme_names(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    ttt.train(1000, out="run.h5")
    ttt.train(1000, learner="backward-q", out="other.h5")
    assert run_here(["export", "other.h5", "--to", "raw", "-o", "table.raw"]) == 0
    (tmp_path / "games.txt").write_text("0 4 1 5 2\n")
    capsys.readouterr()
    table = README.partition("### From scripts")[2].partition("\n## ")[0]
    named = {}
    for commands, keys in re.findall(r"^\| (`.*?) \| (.*?) \|$", table, re.MULTILINE):
        inherited = named["train"] if keys.startswith("the same") else []
        for command in re.findall(r"`([^`]+)`", commands):
            named[command] = [*inherited, *re.findall(r"`([a-z_]+)`", keys.partition(";")[0])]
    assert named.keys() == {*KEY_COMMANDS, "warmup", "bench"}
    for label, command in KEY_COMMANDS.items():
        assert run_here([*command.split(), "--json"]) == 0, command
        assert sorted(json.loads(capsys.readouterr().out)) == sorted(named[label]), label


@pytest.mark.slow  # a billion games, and two boards beyond 3x3
def test_every_command_does_what_the_readme_shows(tmp_path):
    for step in STEPS:
        if INSTALLING not in step.text:
            run_step(step, tmp_path)
