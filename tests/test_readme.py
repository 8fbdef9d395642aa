"""The README, its tour and the guides, run: every command in order, in a folder for each, and what is shown is printed.

Speeds and seconds differ from machine to machine and are left out of the comparison; everything else is exact.
"""

import os
import re
import shlex
import signal
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

from ttt_batch.app.cli import COMMANDS

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
LIBRARIES = ROOT / "data" / "guide" / "libraries.md"
"""Its programs are run in tests/environments/test_libraries.py."""

GUIDES = sorted({*(ROOT / "data" / "guide").glob("*.md")} - {LIBRARIES})
PAGES = {
    path.stem: path.read_text(encoding="utf-8") for path in (ROOT / "README.md", ROOT / "data" / "tour.md", *GUIDES)
}
BLOCK = re.compile(r"^```(sh|console|python)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
PROMPT = re.compile(r"^(Your move \([XO]\): |Another game\? \[[^]]*\] )(.*)$")
SPEED = re.compile(r" \(compiling included\)|  \d[\d.]* [kMG]?/s|in \d[\d.]* s\b|, \d[\d.]* s\b|\(?\d[\d.]* s\)?")

INSTALLING = "pip install"
FIRST = "pip install . && "

INTERRUPTED = "ttt-batch train --games 300000000 --out long.h5"
"""The command that is interrupted, as by Ctrl-C; the next one resumes its run."""


class Step(NamedTuple):
    """A command of a page and the lines shown below it; for Python, a program.  None where nothing is shown."""

    kind: str
    text: str
    shown: list[str] | None


def steps_of(page: str) -> list[Step]:
    found = []
    for kind, body in BLOCK.findall(page):
        if kind == "python":
            found.append(Step(kind, body, None))
        elif kind == "sh":
            found += [Step(kind, line, None) for line in body.splitlines() if line and not line.startswith("#")]
        else:
            for part in re.split(r"^\$ ", body, flags=re.MULTILINE)[1:]:
                command, _, shown = part.partition("\n")
                found.append(Step(kind, command, shown.rstrip("\n").split("\n") if shown.strip() else None))
    return found


STEPS = steps_of(README)


def run_step(step: Step, folder: Path) -> None:
    program = "python" if step.kind == "python" else shlex.split(step.text)[0]
    for link in ("scripts", "data"):
        if not (folder / link).exists():
            (folder / link).symlink_to(ROOT / link)
    if program == "python":
        words = [sys.executable, "-W", "error"]
        words += ["-c", step.text] if step.kind == "python" else shlex.split(step.text)[1:]
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
    listed = set(re.findall(r"`([a-z-]+)[^`]*`", README.partition("## Commands")[2].partition("\n## ")[0]))
    assert set(COMMANDS) <= listed | used
    assert {"train", "evaluate", "play"} <= used


@pytest.mark.slow  # hundreds of millions of games, and two boards beyond 3x3
@pytest.mark.parametrize("page", PAGES)
def test_every_command_does_what_is_shown(page, tmp_path):
    for step in steps_of(PAGES[page]):
        if INSTALLING not in step.text:
            run_step(step, tmp_path)
        elif step.text.startswith(FIRST):
            shown = re.search(r"^```text\n(.*?)^```$", PAGES[page], re.MULTILINE | re.DOTALL)[1].rstrip().split("\n")
            run_step(Step("console", f"{step.text.removeprefix(FIRST)} --quiet", shown), tmp_path)
