"""The kit of matchboxes: every box once, its beads, the rules that the run had, and what is refused."""

import json
import re
import zlib
from pathlib import Path

import numpy as np
import pytest
from helpers.support import command

import ttt_batch as ttt
from ttt_batch.app.kit import boxes_of, pages_of_kit, rules_of
from ttt_batch.app.sheets import pdf_of
from ttt_batch.core.errors import UsageError
from ttt_batch.runs.loading import check_run

TURNS = [(6, 3, 0, 7, 4, 1, 8, 5, 2), (2, 1, 0, 5, 4, 3, 8, 7, 6)]
"""A quarter turn, and a reflection: all images come from them."""


def images(position: tuple[int, ...]) -> set[tuple[int, ...]]:
    found = {position}
    for _ in range(4):
        found |= {tuple(one[cell] for cell in turn) for one in found for turn in TURNS}
    return found


def positions_with_a_choice() -> set[tuple[int, ...]]:
    """One image of every position in which the first player has more than one free cell, by a search of all games."""
    found, ahead = set(), [(0,) * 9]
    while ahead:
        position = ahead.pop()
        free = [cell for cell in range(9) if not position[cell]]
        lines = [(0, 1, 2), (3, 4, 5), (6, 7, 8), (0, 3, 6), (1, 4, 7), (2, 5, 8), (0, 4, 8), (2, 4, 6)]
        if any(position[a] and position[a] == position[b] == position[c] for a, b, c in lines) or len(free) < 2:
            continue
        mark = 1 + (9 - len(free)) % 2
        if mark == 1:
            found.add(min(images(position)))
        children = {(*position[:cell], mark, *position[cell + 1 :]) for cell in free}
        ahead.extend({min(images(child)) for child in children})
    return found


@pytest.fixture(scope="module")
def run() -> ttt.Run:
    return ttt.train(220, learner="menace", batch=1, seed=3)


@pytest.mark.slow
def test_a_box_for_every_choice_of_the_first_player(run: ttt.Run) -> None:
    boxes = boxes_of(run)
    assert [box.number for box in boxes] == list(range(1, 305))
    assert {min(images(box.position)) for box in boxes} == positions_with_a_choice()
    assert [sum(box.move == move for box in boxes) for move in (1, 2, 3, 4)] == [1, 12, 108, 183]


def test_beads_are_those_of_one_cell_of_each_kind() -> None:
    for box in boxes_of(ttt.train(1, learner="menace", batch=1, opponent="optimal", rewards="0,0,0")):
        assert set(box.beads.values()) == {5 - box.move}
        after = {cell: min(images((*box.position[:cell], 1, *box.position[cell + 1 :]))) for cell in range(9)}
        free = [cell for cell in range(9) if not box.position[cell]]
        assert len({after[cell] for cell in box.beads}) == len(box.beads) == len({after[cell] for cell in free})


def test_the_page_holds_every_box_and_the_rules(
    run: ttt.Run, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run.save(tmp_path / "menace.h5")
    status, out, _ = command(capsys, "export", tmp_path / "menace.h5", "--to", "boxes", "-o", tmp_path / "kit.html")
    assert status == 0 and "wrote " in out
    page = (tmp_path / "kit.html").read_text(encoding="utf-8")
    assert page.count("<li><b>") == 304 and "after 220 games" in page and "<script" not in page
    assert "after a win put the bead back and add 3 more beads" in page and "after a loss keep the bead out" in page
    first = boxes_of(run)[0]
    label = re.search(r"<li><b>1</b>.*?</li>", page, re.DOTALL)
    assert label and re.findall(r'class="c(\d)">([\d,]+)<', label[0]) == [
        (str(cell), f"{beads:,}") for cell, beads in first.beads.items()
    ]


def test_trained_boxes_are_never_called_those_of_the_beginning(run: ttt.Run, tmp_path: Path) -> None:
    """A page's file says after how many games, an export only that the table is another's."""
    ttt.export_run(run, tmp_path / "plain.json", "json")
    whole = json.loads((tmp_path / "plain.json").read_text())
    learnt = {"learner": "menace", "alpha": 1, "epsilon": 0, "seed": "3", "games": 220}
    (tmp_path / "page.json").write_text(json.dumps(whole | {"learnt": learnt}))
    begun = ttt.import_run(tmp_path / "page.json")
    assert (begun.games, begun.config.seed, boxes_of(begun)) == (220, 3, boxes_of(run))
    begun.save(tmp_path / "page.h5")
    assert check_run(tmp_path / "page.h5") == ([], ())
    gone_on, _ = ttt.learn_from(["4 0 2 1 6"], run=tmp_path / "page.h5")
    assert gone_on.games == 221
    more = ttt.train(10, learner="menace", start=tmp_path / "page.h5", seed=1)
    fresh = ttt.import_run(tmp_path / "plain.json", "menace")
    fresh.tables.q[:] = fresh.learner.fresh(fresh.graph, fresh.config.settings, np.random.default_rng(0)).q
    for one, words in {
        "page": (begun, "after 220 games"),
        "export": (ttt.import_run(tmp_path / "plain.json", "menace"), "as in the table that was imported"),
        "given": (gone_on, "after 221 games"),
        "started": (more, "after 10 games that began with another table"),
        "untouched": (fresh, "as at the beginning"),
    }.values():
        assert f"into the box, {words}." in dict(rules_of(one, boxes_of(one)).paragraphs)["Build"]


def assert_sheets(content: bytes, number: int) -> None:
    """A PDF of so many A4 sheets, which are not empty."""
    assert content.startswith(b"%PDF")
    sizes = [tuple(map(float, size)) for size in re.findall(rb"/MediaBox \[ 0 0 ([\d.]+) ([\d.]+) \]", content)]
    assert len(sizes) == number and all(abs(w - 595.3) < 0.1 and abs(h - 841.9) < 0.1 for w, h in sizes)
    texts = [zlib.decompress(part) for part in re.findall(rb"stream\r?\n(.*?)\r?\nendstream", content, re.DOTALL)[:2]]
    assert all(texts)


def test_the_sheets_are_a4(run: ttt.Run) -> None:
    boxes = boxes_of(run)
    rules = rules_of(run, boxes)
    some = pdf_of(rules.title, pages_of_kit(boxes[:24], rules))
    assert_sheets(some, 1 + 1)
    assert pdf_of(rules.title, pages_of_kit(boxes[:24], rules)) == some  # also seconds later


@pytest.mark.slow
def test_all_boxes_are_on_sheets(run: ttt.Run, tmp_path: Path) -> None:
    ttt.export_run(run, tmp_path / "kit.pdf", "boxes")
    assert_sheets((tmp_path / "kit.pdf").read_bytes(), 1 + 13)


def test_what_has_no_boxes_is_refused_in_a_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ttt.train(100, learner="td", out=tmp_path / "td.h5")
    status, _, err = command(capsys, "export", tmp_path / "td.h5", "--to", "boxes", "-o", tmp_path / "kit.pdf")
    assert status == 2 and "only menace has boxes, not td" in err and not (tmp_path / "kit.pdf").exists()
    ttt.train(10, learner="menace", out=tmp_path / "menace.h5")
    words = "export", tmp_path / "menace.h5", "--to", "boxes", "-o"
    status, _, err = command(capsys, *words, tmp_path / "kit.png")
    assert status == 2 and "sheets are a .pdf or an .html file" in err
    with pytest.raises(UsageError, match=r"sheets are a \.pdf or an \.html file"):
        ttt.export_run(tmp_path / "menace.h5", tmp_path / "kit.txt", "boxes")
