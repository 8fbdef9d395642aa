"""Printed text of commands: counts of one, lines of at most 80 columns, readable numbers."""

import json
import re
from pathlib import Path

import pytest
from helpers.support import command

import ttt_batch as ttt
from ttt_batch.analysis.judge import SampledEvaluation
from ttt_batch.analysis.matches import Tally
from ttt_batch.app.reports.catalogues import learner_text, learners_text
from ttt_batch.app.reports.evaluation import grown_evaluation_text
from ttt_batch.app.reports.layout import REPORT_WIDTH, draw_labels, hanging, to_json
from ttt_batch.core.text import count_text
from ttt_batch.learners import LEARNERS


def test_one_of_something_is_not_several():
    assert count_text(0, "game") == "0 games" and count_text(1, "game") == "1 game"
    assert count_text(1_000_000, "game") == "1,000,000 games"
    assert count_text(1, "entry", "entries") == "1 entry" and count_text(2, "entry", "entries") == "2 entries"


@pytest.mark.parametrize("board", [ttt.Board(3, 4, 3), ttt.Board(8, 8, 5), ttt.Board(2, 32, 3), ttt.Board(1, 64, 5)])
@pytest.mark.parametrize("label", ["X", "+0.50"])
def test_what_a_cell_holds_is_drawn_below_its_column(board, label):
    for cell in range(board.cells):
        letters, *rows = draw_labels(board, [label if at == cell else "" for at in range(board.cells)])
        (row,) = (line for line in rows if label in line)
        middle = row.index(label) + len(label) // 2
        column = next(word[0] for word in re.finditer("[a-z]+", letters) if abs(word.start() - middle) <= 1)
        assert f"{column}{row.split()[0]}" == board.cell_name(cell)


def test_a_run_of_one_game_is_of_one_game_wherever_it_is_spoken_of(tmp_path, capsys):
    (tmp_path / "games.txt").write_text("0 4 1 5 2\n")
    said = [command(capsys, "learn-from", "games.txt", "--learner", "td", "-o", "one.h5")]
    words = [["info"], ["evaluate"], ["show"], ["watch", "--games", "1"], ["plot", "--live"]]
    said += [command(capsys, first, "one.h5", *others) for first, *others in words]
    said += [command(capsys, "compare", "one.h5", "one.h5"), command(capsys, "train", "--games", "1", "-o", "two.h5")]
    assert [status for status, *_ in said] == [0] * len(said)
    text = "\n".join(out + err for _, out, err in said)
    assert text.count("1 game") >= 6 and "1 recorded point\n" in text
    assert not re.search(r"\b1 (games|points|recorded points|positions|moves)\b", text)
    assert "1 game," in repr(ttt.load("one.h5"))


def test_a_table_from_elsewhere_is_not_unbeatable_since_game_0(capsys):
    ttt.train(50_000, out="td.h5")
    assert command(capsys, "export", "td.h5", "--to", "csv", "-o", "td.csv")[0] == 0
    status, out, _ = command(capsys, "import", "td.csv", "--learner", "td", "-o", "again.h5")
    assert status == 0 and "td on 3x3, unbeatable in both seats (--ties any)\n" in out
    assert "since" not in command(capsys, "info", "again.h5")[1]


@pytest.mark.slow
def test_no_zero_has_a_sign(capsys):
    assert json.loads(to_json({"a": [-0.0, {"b": -0.0}], "c": -1.5})) == {"a": [0, {"b": 0}], "c": -1.5}
    assert "-0.0" not in to_json([-0.0])
    for learner in ("td", "minimax-q"):
        run = ttt.train(1000, learner=learner)
        table = run.tables[0]
        table[:100] = -0.0
        run.save("run.h5", overwrite=True)
        for form in ("csv", "json"):
            assert command(capsys, "export", "run.h5", "--to", form, "-o", f"table.{form}", "--overwrite")[0] == 0
            assert not re.search(r"-0\.0+(e[+-]?0+)?(?![\d.e])", Path(f"table.{form}").read_text())
        out = command(capsys, "show", "run.h5", "--json")[1] + command(capsys, "evaluate", "run.h5", "--json")[1]
        assert not re.search(r"-0\.0\b(?!\d)", out)


def test_seconds_have_as_many_digits_as_anyone_reads(capsys):
    ttt.train(1000, out="run.h5")
    out = command(capsys, "info", "run.h5")[1]
    assert re.search(r"^seconds +\d+\.\d\d$", out, re.MULTILINE)
    column = re.search(r"^file +", out)
    assert column and all(line[column.end() - 2] == " " != line[column.end()] for line in out.splitlines())


@pytest.mark.parametrize("name", LEARNERS)
def test_options_of_a_learner_stand_in_two_columns(name):
    lines = learner_text(name).splitlines()
    options = lines[lines.index("options and defaults") + 1 :]
    scheduled = {line.index("or 0.3") for line in options if "or 0.3" in line}
    assert len(scheduled) == (0 if LEARNERS[name].by_beads else 1)
    assert all(re.match(r"  --[a-z-]+ \S+(  +or .*)?$|  --cut$", line) for line in options)


def test_no_line_passes_80_columns(capsys):
    """A terminal of 80 columns breaks longer ones wherever they stand, also within a number."""
    texts = [learners_text(LEARNERS), *map(learner_text, LEARNERS)]
    run = ttt.train(1000, learner="minimax-q", out="run.h5")
    ttt.train(1000, learner="minimax-q", seed=1, out="other.h5")
    texts += [command(capsys, *words)[1] for words in (["info", "run.h5"], ["compare", "run.h5", "other.h5"])]
    texts += [command(capsys, *words)[1] for words in (["evaluate", "run.h5"], ["show", "run.h5"], ["boards"])]
    thousands = Tally(win=24_000, draw=16_000, loss=10_000)
    sampled = SampledEvaluation({}, {"optimal": {"first": thousands, "second": thousands}}, 0, 50_000, 0, run=run)
    texts.append(grown_evaluation_text(sampled, "run.h5"))
    for text in texts:
        assert max(map(len, text.splitlines())) <= REPORT_WIDTH
    assert hanging("games", "1,000,000 of 2,000,000 " * 5, 8)[1].startswith("        ")


def test_numbers_are_numbers_and_verdicts_say_their_ties(capsys):
    changing = ("--epsilon", "0.3->0.01:linear", "--alpha", "1/n")
    found = [
        json.loads(command(capsys, *words, "--json")[1])
        for words in (
            ("train", "--games", "2k", "--epsilon", "30%", "-o", "td.h5"),
            ("info", "td.h5"),
            ("train", "--games", "2k", *changing, "-o", "other.h5"),
            ("info", "other.h5"),
        )
    ]
    assert command(capsys, "export", "td.h5", "--to", "npz", "-o", "td.npz")[0] == 0
    found.append(json.loads(command(capsys, "import", "td.npz", "--learner", "td", "-o", "back.h5", "--json")[1]))
    numbers = [(one["config"]["epsilon"], one["config"]["alpha"]) for one in found]
    assert numbers[:2] == [(0.3, 0.5)] * 2 and numbers[2:4] == [("0.3->0.01:linear", "1/n")] * 2
    assert {type(number) for number in numbers[4]} == {float}
    assert [one["ties"] for one in found] == ["any"] * 5
    keys = list(found[0])
    assert keys[keys.index("unbeatable") + 1] == "ties"
    assert ttt.load("td.h5").data().config["epsilon"] == "0.3", "what the run file holds stays text"
    assert "epsilon 0.3, alpha 0.5, gamma 1.0," in command(capsys, "info", "td.h5")[1].replace("\n", " ")


def test_a_growing_board_has_no_verdict_and_no_ties(tmp_path, capsys):
    path = ttt.train(20, board="4x5x4", out=tmp_path / "large.h5").file
    found = json.loads(command(capsys, "info", path, "--json")[1])
    assert not {"ties", "unbeatable"} & found.keys()
