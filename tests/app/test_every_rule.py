"""Every command over a board of each rule: from one list of commands and one of boards."""

import io
import sys
from pathlib import Path

import pytest
from helpers.support import command

import ttt_batch as ttt
from ttt_batch.app.cli import COMMANDS
from ttt_batch.games.board import BOARD_RULES, parse_board
from ttt_batch.runs.network_run import PatternRun

QUICK = ["3x3-gravity", "3x3-misere-exact"]
BOARDS = [*QUICK, "3x6x3", "4x4x4-gravity", "4x4x4-misere-gravity", "4x4x4-exact-gravity"]
"""On those of more than nine cells networks are the agent that is proved.  The table of 3x6x3 grows."""

WORDS = {
    "train": [
        *("train --board {board} --games 500 --out new.h5", "train --resume new.h5 --more 500"),
        "train --learner patterns --board {board} --games 200 --prove-every 0 --out net.h5",
    ],
    "study": ["study --board {board} --games 200 --seeds 2 --batch 10 --out study.h5"],
    "evaluate": ["evaluate good.h5", "evaluate weak.h5 --against two-ply", "evaluate random --board {board}"],
    "prove": ["prove good.h5 --as {seat} --certificate proof.npz"],
    "play": ["play weak.h5 --seed 1"],
    "watch": ["watch good.h5 weak.h5 --seed 1", "watch good.h5 random --games 100"],
    "plot": ["plot good.h5 --out curves.svg", "plot study.h5 --out study.svg"],
    "show": ["show good.h5 {moves}", "show good.h5 --symmetric"],
    "tournament": ["tournament good.h5 weak.h5", "tournament good.h5 weak.h5 --games 50"],
    "boards": ["boards {board}"],
    "compare": ["compare good.h5 weak.h5"],
    "learn-from": ["learn-from games.txt --learner td --board {board} --out taught.h5"],
    "export": [
        *(f"export good.h5 --to {form} --out good.{form}" for form in ("html", "hdf5")),
        *(f"export weak.h5 --to {form} --out table.{form}" for form in ("html", "json", "{text}", "npz", "hdf5")),
        *("export proof.npz --to html --out proof.html", "export proof.npz --to cards --out cards.html"),
    ],
    "import": [f"import table.{form} --learner td --board {{board}} --out {form}.h5" for form in ("json", "npz")],
    "info": ["info good.h5", "info study.h5"],
    "check": ["check good.h5", "check study.h5", "check proof.npz"],
}
"""What each command is started with, in this order: later ones read the files of earlier ones."""

WITHOUT_BOARD = {"learners", "warmup", "bench", "page"}
"""Commands that take no board of other rules: `page` learns in a browser, on two boards of its own."""


def test_the_lists_hold_every_command_and_every_rule() -> None:
    assert set(WORDS) | WITHOUT_BOARD == set(COMMANDS)
    assert {rule for board in BOARDS for rule in parse_board(board).rules} == set(BOARD_RULES)


@pytest.mark.slow
@pytest.mark.parametrize("board", BOARDS)
def test_every_command_takes_a_board_of_every_rule(
    board: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each ends well, and says nothing of a board that it does not take."""
    played, names = parse_board(board), {"board": board}
    if played.cells > 9:
        good = ttt.train(20_000, learner="patterns", board=board, prove_every=2000, seed=1, out="good.h5")
        assert isinstance(good, PatternRun)
        first = good.proved_after(0) > 0
    else:
        good = ttt.train(100_000, board=board, batch=1024, epsilon=0.5, seed=1, out="good.h5")
        first = good.evaluation().unbeatable["first"]
    weak = ttt.train(100, board=board, batch=10, learner="td", record="games.txt", out="weak.h5")
    names |= {"seat": "first" if first else "second", "text": "csv" if played.cells <= 12 else "jsonl"}
    cells = [played.cell_name(cell) for cell in range(played.cells)]
    names["moves"] = cells[-2]
    for words in (words for starts in WORDS.values() for words in starts):
        monkeypatch.setattr(sys, "stdin", io.StringIO("\n".join([*cells * played.rows, "q", ""])))
        status, out, err = command(capsys, *words.format(**names).split())
        if not weak.enumerated and words.startswith(("export weak", "import")) and "hdf5" not in words:
            # Only HDF5 holds a table that grows, so nothing else is written, or read back.
            assert status != 0 and (words.startswith("import") or "needs an enumerated board" in err), (words, err)
            continue
        assert status == 0, (words, err)
        assert "Traceback" not in out + err and "does not take" not in err, words
        if words.startswith("play"):
            assert "Score:" in out, out
        if words.startswith("prove"):
            assert Path("proof.npz").exists(), out
