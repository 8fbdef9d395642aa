"""Shell completion: the names of the registries, and its installation."""

import os
import sys
from pathlib import Path

import pytest
from helpers.support import finished

from ttt_batch.__main__ import run
from ttt_batch.analysis.boards import known_boards
from ttt_batch.app.commands import shared
from ttt_batch.app.plots import KINDS, MOVIE, STUDY_KINDS
from ttt_batch.app.plots.studies.canvas import METRICS
from ttt_batch.core.text import LEARNER_NAMES
from ttt_batch.games.board import BOARDS
from ttt_batch.learners import LEARNERS
from ttt_batch.runs.formats import FORMATS, WHOLE
from ttt_batch.studies.designs.design import SWEEPS
from ttt_batch.studies.storage.layout import KEEPS
from ttt_batch.studies.summary import METRICS as RANKS


def test_what_is_offered_is_what_there_is():
    assert LEARNER_NAMES == tuple(LEARNERS) == tuple(learner.name for learner in LEARNERS.values())
    assert (*WHOLE, "lesson", *FORMATS) == shared.FORMATS
    assert tuple(dict.fromkeys([*KINDS, MOVIE, *STUDY_KINDS])) == shared.PLOTS
    assert tuple(METRICS) == shared.METRICS
    assert tuple(RANKS) == shared.RANKS
    assert (SWEEPS, KEEPS) == (shared.SWEEPS, shared.KEEPS)
    assert list(BOARDS) == [entry.board.name for entry in known_boards() if entry.space is not None]
    assert list(shared.BEYOND_TABLES) == [entry.board.name for entry in known_boards() if entry.space is None]


@pytest.mark.parametrize(
    ("typed", "offered"),
    [
        ("tr", {"train"}),
        ("train --learner s", {"sarsa", "sutton-barto"}),
        ("train --board 4x4x4", {"4x4x4", "4x4x4-misere", "4x4x4-gravity"}),
        ("boards 8", {"8x8x5"}),
        ("evaluate --against o", {"one-ply", "optimal"}),
        ("learners gre", {"greedy-td"}),
        ("study --learner td,su", {"td,sutton-barto"}),
        ("study --best pro", {"proof", "proved"}),
        ("study --opponent o", {"one-ply", "optimal"}),
        ("export --to pi", {"pickle", "pickle-text"}),
    ],
)
def test_a_shell_completes(typed, offered, capsys, monkeypatch):
    monkeypatch.setenv("_TTT_BATCH_COMPLETE", "complete_bash")
    monkeypatch.setenv("COMP_WORDS", f"ttt-batch {typed}")
    monkeypatch.setenv("COMP_CWORD", str(len(typed.split())))
    with pytest.raises(SystemExit):
        run([])
    assert set(capsys.readouterr().out.split()) == offered


@pytest.mark.slow
@pytest.mark.skipif(not Path("/bin/bash").exists(), reason="asks a bash")
def test_completion_installs_itself(tmp_path):
    """What it writes asks the program, which answers with the words that a shell offers."""
    line = f"'{sys.executable}' -m ttt_batch --install-completion; echo status $?"
    done = finished(["/bin/bash", "-c", line], env={**os.environ, "HOME": str(tmp_path)}, check=True)
    assert "status 0" in done.stdout, done
    written = [path.read_text(encoding="utf-8") for path in tmp_path.rglob("*") if path.is_file()]
    assert any("_TTT_BATCH_COMPLETE=complete_bash" in text for text in written)
    asked = {"_TTT_BATCH_COMPLETE": "complete_bash", "COMP_WORDS": "ttt-batch tr", "COMP_CWORD": "1"}
    assert finished([sys.executable, "-m", "ttt_batch"], env={**os.environ, **asked}, check=True).stdout == "train\n"


@pytest.mark.slow
@pytest.mark.skipif(not Path("/bin/bash").exists(), reason="asks a bash")
def test_completion_that_cannot_be_installed_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "latin").mkdir()
    (tmp_path / "latin" / ".bashrc").write_bytes(b"alias caf\xe9=ls\n")
    for home, option, status, said in (
        ("file", "--install-completion", 1, f"cannot write {tmp_path / 'file'}"),
        ("latin", "--install-completion", 1, "cannot install completion: the shell's file is not UTF-8; put what"),
        ("latin", "--install-completion zsh", 2, "leave 'zsh' out"),
        ("latin", "--show-completion nonsense", 2, "leave 'nonsense' out"),
    ):
        line = f"'{sys.executable}' -m ttt_batch {option}; exit $?"
        done = finished(["/bin/bash", "-c", line], env={**os.environ, "HOME": str(tmp_path / home)})
        assert (done.returncode, done.stdout) == (status, "")
        assert done.stderr.startswith("ttt-batch: ") and said in done.stderr and done.stderr.count("\n") == 1
    words = {"COMP_WORDS": "ttt-batch --install-completion bash tr", "COMP_CWORD": "3"}
    asked = {**os.environ, "_TTT_BATCH_COMPLETE": "complete_bash", **words}
    assert finished([sys.executable, "-m", "ttt_batch"], env=asked).stderr == ""
