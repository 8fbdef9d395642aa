"""The commands that show, draw and let agents meet, driven in this process: what they print, write and refuse."""

import io
import json
import os
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from helpers.support import command

import ttt_batch as ttt
from ttt_batch.app.cli import COMMANDS, program
from ttt_batch.app.kit import COLOURS, boxes_of


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Runs: one that cannot be beaten, one of few games."""
    where = tmp_path_factory.mktemp("runs")
    ttt.train(100_000, out=where / "good.h5")
    ttt.train(100, batch=10, out=where / "weak.h5")
    return where


@pytest.fixture
def here(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(folder)
    return folder


@pytest.mark.slow
def test_playing_without_an_input(here):
    """As a job that nobody talks to: standard input is closed."""
    line = f"'{sys.executable}' -m ttt_batch play good.h5 <&-"
    done = subprocess.run(["/bin/sh", "-c", line], capture_output=True, text=True, timeout=300, check=False)
    assert (done.returncode, "Traceback" in done.stderr) == (0, False)
    assert done.stdout.endswith("Goodbye. You 0, agent 0, draws 0.\n")


@pytest.mark.slow
@pytest.mark.parametrize(("number", "status"), [(signal.SIGTERM, 130), (signal.SIGINT, 0)])
def test_a_game_that_is_told_to_end(here, number, status, start):
    """Ctrl-C is a person's way to leave; what ends the program from outside is not."""
    game = start(
        [sys.executable, "-m", "ttt_batch", "play", "good.h5"],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    assert game.stdout is not None
    assert any(line.startswith(" 7 ") for line in game.stdout)
    game.send_signal(number)
    out, err = game.communicate(timeout=300)
    assert game.returncode == status and "Goodbye" in out and "Traceback" not in err


def test_watch_counts(here, capsys):
    status, out, _ = command(capsys, "watch", "good.h5", "weak.h5", "--games", "400", "--json")
    found = json.loads(out)
    sampled, exact = found["total"]["sampled"], found["total"]["exact"]
    assert status == 0 and found["games"] == 400
    assert abs(sampled["win"]["share"] - exact["win"]) < 0.1
    assert command(capsys, "watch", "good.h5", "weak.h5", "--games", "400")[1].startswith("good.h5 against weak.h5")


def test_play_by_turns_and_below_strength(here, capsys, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.StringIO("0\n"))
    status, out, _ = command(capsys, "play", "good.h5", "--as", "alternate", "--level", "0.5", "--epsilon", "0.1")
    assert status == 0 and "You are X" in out


def test_quiet_says_nothing_but_the_result(here, capsys, tmp_path):
    status, out, err = command(capsys, "train", "--games", "50000", "--quiet", "-o", tmp_path / "run.h5")
    assert (status, err) == (0, "") and out.startswith("td on 3x3: 50,000 games")
    loud = command(capsys, "train", "--games", "50000", "-o", tmp_path / "loud.h5")
    assert "50,000 games" in loud[2] and loud[1].splitlines()[1:6] == out.splitlines()[1:6]


def test_help_lists_each_command_with_its_whole_line(capsys):
    status, out, _ = command(capsys, "--help")
    assert status == 0
    listed = [line.strip() for line in out.partition("Commands:")[2].splitlines() if line.strip()]
    assert [line.split()[0] for line in listed] == list(COMMANDS)
    assert all(line.endswith(said) for line, (_, said) in zip(listed, COMMANDS.values(), strict=True))
    assert list(program.commands) == list(COMMANDS)


def test_compare_names_cells_as_people_count_them(here, capsys):
    status, out, _ = command(capsys, "compare", "good.h5", "weak.h5")
    found = json.loads(command(capsys, "compare", "good.h5", "weak.h5", "--json")[1])
    example = found["examples"][0]
    assert status == 0
    shown = next(line for line in out.splitlines() if example["position"] in line)
    assert example["position"].count("/") == 2
    assert f"good.h5: {' '.join(str(cell + 1) for cell in example['first'])} " in shown


def test_updates_never_replace_another_run(here, capsys, monkeypatch, tmp_path):
    status, _, err = command(capsys, "play", "good.h5", "--learn", "-o", "weak.h5")
    assert status == 1 and "choose another file" in err and "--overwrite" not in err
    (tmp_path / "mine.h5").write_bytes((here / "good.h5").read_bytes())
    monkeypatch.setattr(sys, "stdin", io.StringIO("0\n"))
    status, _, err = command(capsys, "play", tmp_path / "mine.h5", "--learn")
    assert status == 0 and "train --resume does not go on with" in err


@pytest.mark.sampled(1)
@pytest.mark.parametrize("stored", [False, True])
def test_play_menace_shows_its_boxes_and_what_they_learn(capsys, monkeypatch, tmp_path, stored):
    """Each box, the bead drawn, and the change; the session's games teach it, and only --learn stores that."""
    typed = "".join(f"{number}\n" for number in ["1", "2", "3", "4", "5", "6", "7", "8", "9"] * 2)
    monkeypatch.setattr(sys, "stdin", io.StringIO(f"{typed}\n{typed}q\n"))
    words = ["--learn", "--out", "taught.h5"] if stored else []
    status, out, _ = command(capsys, "play", "menace", "--seed", "3", *words)
    assert status == 0 and list(tmp_path.glob("*.h5")) == [tmp_path / "taught.h5"] * stored
    assert (", and no file is written." in out) != stored
    beads = {
        box.number: {COLOURS[cell][0]: n for cell, n in box.beads.items()}
        for box in boxes_of(ttt.train(0, learner="menace"))
    }
    games, reward = out.split("You are O and move second.")[1:], {"You win.": -1, "The agent wins.": 3, "Draw.": 1}
    assert len(games) == 2
    for game in games:
        change = reward[next(line for line in game.splitlines() if line in reward)]
        opened = {}
        for number, held, cell, colour in re.findall(
            r"Box (\d+): (.*)\.\nThe agent plays (\d)\. It has drawn ([a-z ]+)\.\n", game
        ):
            kinds = re.findall(r"(\d+) ([a-z ]+) \(([\d/]+)\)", held)
            assert {name: int(n) for n, name, _ in kinds} == beads[int(number)]
            assert cell in next(cells for _, name, cells in kinds if name == colour).split("/")
            opened[int(number)] = colour
        learnt = re.findall(r"Box (\d+): ([a-z ]+) (\d) (added|taken), (\d+) left\.", game)
        assert {int(number): colour for number, colour, *_ in learnt} == opened and len(opened) >= 2
        for number, colour, by, what, left in learnt:
            assert int(by) * (1 if what == "added" else -1) == change
            beads[int(number)][colour] += change
            assert int(left) == beads[int(number)][colour]
    if stored:
        kept = boxes_of(ttt.load("taught.h5"))
        assert {box.number: {COLOURS[cell][0]: n for cell, n in box.beads.items()} for box in kept} == beads


def test_play_never_appends_to_the_file_that_it_reads(here, capsys, monkeypatch, tmp_path):
    games = tmp_path / "games.txt"
    games.write_text("0 3 1 4 2\n")
    with games.open() as stdin:
        monkeypatch.setattr(sys, "stdin", stdin)
        status, _, err = command(capsys, "play", "good.h5", "--record", games)
    assert status == 2 and err.count("\n") == 1 and "is read, too" in err and "as standard input" in err
    assert games.read_text() == "0 3 1 4 2\n"


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs FIFOs")
def test_learn_from_waits_for_no_games_that_it_cannot_learn_from(here, capsys, tmp_path):
    os.mkfifo(tmp_path / "fifo")
    for words in ([], ["--learner", "nobody"]):
        status, _, err = command(capsys, "learn-from", tmp_path / "fifo", *words)
        assert status == 2 and err.count("\n") == 1 and "waiting" not in err


def test_no_output_is_its_input_though_its_name_lacks_the_ending(folder, capsys):
    for name in ("good.h5", "movie.png"):
        shutil.copy(folder / "good.h5", name)
    Path("agent.py").write_text("def agent(board):\n    return int((board.ravel() == 0).argmax())\n")
    before = {path: path.read_bytes() for path in Path().iterdir()}
    for words in (
        "export good.h5 --to hdf5 --out good",
        "plot movie.png --out movie",
        "export agent.py:agent --board 2x2 --to csv --out agent.py",
    ):
        status, _, err = command(capsys, *words.split(), "--overwrite")
        assert status == 2 and "is read, too" in err, words
    assert before == {path: path.read_bytes() for path in Path().iterdir()}
