"""The Learn tab in headless Chromium: learn, stop, play, download, load, with everything that may go wrong."""

import json
import re
import time
from pathlib import Path
from typing import Any

import pytest
from helpers.browser import Browser
from helpers.pages import trained
from helpers.web import bytes_of, learn_on_page, settings, tables_of

import ttt_batch as ttt
from ttt_batch.app.kit import COLOURS, Box, boxes_of
from ttt_batch.runs.importing import export_table, import_tables

pytestmark = pytest.mark.slow  # a browser takes five seconds to start, and twenty to be driven

READY = "document.getElementById('learn-status').textContent.startsWith('A table that knows nothing')"
"""Holds once the tab's worker has begun."""


def text(browser: Browser, name: str) -> str:
    return str(browser.do("return document.getElementById(arguments[0]).textContent", name))


def open_tab(browser: Browser, *, pace: int = 7, **options: Any) -> None:
    browser.open(trained(), **options)
    browser.element("tab-learn").click()
    browser.wait(READY)
    set_pace(browser, pace)


def set_pace(browser: Browser, pace: int) -> None:
    """Move the slider: 0 is a move at a time, 7 as fast as it can."""
    script = "const [pace, at] = arguments; pace.value = at; pace.dispatchEvent(new Event('input', { bubbles: true }))"
    browser.do(script, browser.element("pace"), pace)


def fill(browser: Browser, **fields: Any) -> None:
    for name, value in fields.items():
        field = browser.element(name)
        if name not in ("learner", "stop"):
            field.clear()
        field.send_keys(str(value))


def wait_for(browser: Browser, games: int) -> None:
    browser.wait(f"document.getElementById('learn-status').textContent.startsWith('Stopped after {games:,} game')")


def download(browser: Browser, folder: Path) -> Path:
    browser.command("Browser.setDownloadBehavior", behavior="allow", downloadPath=str(folder))
    browser.element("download").click()
    until = time.monotonic() + 60
    while not (found := list(folder.glob("*.json"))):
        assert time.monotonic() < until
        time.sleep(0.05)
    return found[0]


def learn(browser: Browser) -> int:
    """Learn from 100,000 games; return how often the page showed something new before the last word."""
    return int(
        browser.do(
            """
            const status = document.getElementById("learn-status");
            let updates = 0;
            new MutationObserver(() => updates++).observe(document.getElementById("curve"), { childList: true });
            document.getElementById("go").click();
            return new Promise((done) => new MutationObserver(() => {
                if (status.textContent === "Stopped after 100,000 games.") done(updates);
            }).observe(status, { childList: true }));
            """
        )
    )


@pytest.mark.parametrize("learner", ["td", "menace"])
def test_learn_and_download(browser: Browser, tmp_path: Path, learner: str) -> None:
    """100,000 games, to the bit those of the command line; the page shows the curve while it learns.

    The tables of the other learners are compared in test_web_learning.py.
    """
    open_tab(browser)
    seed = 8 if learner == "menace" else 7  # one that is unbeatable in the end
    fill(browser, learner=learner, seed=seed)
    assert learn(browser) > 1
    run = ttt.train(100_000, learner=learner, batch=1, seed=seed)
    seats = "as first" if learner == "menace" else "in both seats"
    verdict = text(browser, "learn-verdict")
    assert verdict.startswith(f"Unbeatable {seats} at every recorded point since game ")
    assert ("Not applicable as second." in verdict) == (learner == "menace")
    assert f"--learner {learner} --batch 1" in text(browser, "command")
    path = download(browser, tmp_path)
    assert path.name == f"{learner}-3x3.json"
    assert f"ttt-batch import {path.name} --learner {learner}" in text(browser, "learn-status")
    assert bytes_of(import_tables([path], learner)) == bytes_of(run)


def test_stop_play_and_go_on(browser: Browser, tmp_path: Path) -> None:
    open_tab(browser, pace=6)  # a thousand games a second, which cannot all be played before it is stopped
    fill(browser, games=500_000)
    browser.element("go").click()
    browser.wait("document.getElementById('go').textContent === 'Pause'")
    browser.wait("document.getElementById('command').textContent.includes('learnt')")
    browser.element("go").click()
    browser.wait("document.getElementById('go').textContent === 'Go on'")
    browser.wait("document.getElementById('learn-status').textContent.startsWith('Stopped after')")
    games = int(text(browser, "learn-status").split()[2].replace(",", ""))
    assert 0 < games < 500_000
    run = ttt.train(games, batch=1)
    browser.element("challenge").click()
    assert text(browser, "opponent-name") == f"td, learnt here from {games:,} games"
    browser.wait("document.body.dataset.turn === 'you'")
    values = run.move_values((0,) * 9)
    for cell, label in enumerate(browser.labels()):
        assert f"value {values[cell]:+.2f}".replace("-", "−").replace("+0.00", "0.00").replace("−0.00", "0.00") in label
    browser.play_perfectly(run)
    assert sum(browser.score) == 1
    browser.element("own").click()
    assert not browser.element("opponent").is_displayed()
    browser.element("tab-learn").click()
    set_pace(browser, 7)
    browser.element("go").click()
    wait_for(browser, 500_000)
    assert bytes_of(import_tables([download(browser, tmp_path)], "td")) == bytes_of(ttt.train(500_000, batch=1))


def test_game_by_game(browser: Browser) -> None:
    open_tab(browser)
    for game in range(1, 4):
        browser.element("one-game").click()
        wait_for(browser, game)
        assert browser.driver.find_element("css selector", "#last-game h3").text == f"Game {game}"
    assert re.search(r"-?\d\.\d\d → -?\d\.\d\d", text(browser, "last-game").replace("\N{MINUS SIGN}", "-"))
    set_pace(browser, 2)
    browser.element("go").click()
    browser.wait("Number(document.querySelector('#last-game h3')?.textContent.split(' ')[1]) >= 5")
    assert text(browser, "pace-text") == "3 games a second"
    browser.element("go").click()
    browser.wait("document.getElementById('go').textContent === 'Go on'")
    browser.element("again").click()
    browser.wait(READY)
    browser.wait("!document.getElementById('seed').disabled")


def test_move_by_move(browser: Browser) -> None:
    """A game's moves on the board, then each update with its arrow; then it goes on by itself."""
    open_tab(browser)
    cells = browser.driver.find_elements("css selector", "#learn-board button")
    fill(browser, epsilon=0, seed=3)
    moves: list[str] = []
    while not browser.driver.find_elements("css selector", ".arrow"):
        before = text(browser, "learn-status")
        browser.element("one-move").click()
        browser.wait(f"document.getElementById('learn-status').textContent !== {json.dumps(before)}")
        moves.append(text(browser, "learn-status"))
        marks = sum(cell.get_attribute("aria-label").split(", ")[2] != "empty" for cell in cells)
        assert marks == len(moves) or browser.driver.find_elements("css selector", ".arrow")
        assert len(moves) < 12
    assert all(re.fullmatch(r"Game 1\. [XO] in row \d, column \d\.", move) for move in moves[:-1])
    assert ": 0.00 moves half of the way to \N{MINUS SIGN}1.00. It is now \N{MINUS SIGN}0.50." in moves[-1]
    labels = [cell.get_attribute("aria-label") for cell in cells]
    assert sum(label.endswith("0.00 becomes \N{MINUS SIGN}0.50") for label in labels) == 1
    assert sum(label.endswith("target \N{MINUS SIGN}1.00") for label in labels) == 1
    set_pace(browser, 0)
    browser.element("go").click()
    browser.wait("document.getElementById('go').textContent === 'Pause'")
    until = text(browser, "learn-status")
    browser.wait(f"document.getElementById('learn-status').textContent !== {json.dumps(until)}")
    set_pace(browser, 7)  # while it runs
    browser.wait("document.getElementById('learn-status').textContent.startsWith('Stopped after')")
    assert not browser.driver.find_elements("css selector", ".arrow")
    assert cells[0].get_attribute("aria-label").startswith("row 1, column 1, empty, value")


def test_the_pace_changes_before_the_worker_answers(browser: Browser) -> None:
    """Start and a change of pace in one go: the slow pace would take a quarter of an hour."""
    open_tab(browser, pace=2)
    fill(browser, games=3_000)
    script = """
        const [go, pace] = arguments;
        go.click();
        pace.value = 7;
        pace.dispatchEvent(new Event("input", { bubbles: true }));
        return go.textContent;
    """
    assert browser.do(script, browser.element("go"), browser.element("pace")) == "Pause"
    wait_for(browser, 3_000)


def test_it_stops_where_it_is_told_to(browser: Browser) -> None:
    open_tab(browser)
    fill(browser, stop="at the first proof")
    browser.element("go").click()
    browser.wait(
        "document.getElementById('learn-status').textContent === 'Stopped after 14,700 games: the first proof.'"
    )
    browser.element("again").click()
    browser.wait(READY)
    fill(browser, stop="at few losses")
    assert browser.element("loss").is_displayed()
    fill(browser, loss=0)
    browser.element("go").click()
    assert text(browser, "learn-status").startswith("0 is no share of lost games; give per cent above 0")
    fill(browser, loss=10)
    browser.element("go").click()
    browser.wait(
        "document.getElementById('learn-status').textContent.endsWith('games: the losses are as few as wanted.')"
    )
    shares = re.findall(r"[\d.]+(?=\s%)", browser.driver.find_element("css selector", "#learn tbody").text)
    assert all(float(share) < 10 for share in shares) and len(shares) == 2


def test_a_lesson_begins_slowly(browser: Browser) -> None:
    """It is what a page begins with; the slider goes along, and moving it ends the lesson."""
    open_tab(browser)
    browser.element("lesson").click()
    assert (text(browser, "pace-text"), browser.element("pace").get_attribute("value")) == ("1 game a second", "1")
    browser.element("go").click()
    browser.wait("document.getElementById('last-game').textContent.startsWith('Game ')")
    assert text(browser, "go") == "Pause"
    set_pace(browser, 5)
    assert not browser.element("lesson").is_selected() and text(browser, "pace-text") == "100 games a second"
    browser.element("go").click()
    browser.wait("document.getElementById('go').textContent === 'Go on'")


def test_the_learner_can_be_changed(browser: Browser) -> None:
    """A table that has learnt is asked about: kept with its own settings, or begun again with the new ones."""
    open_tab(browser)
    fill(browser, games=50)
    browser.element("go").click()
    wait_for(browser, 50)
    fill(browser, learner="q-learning")
    assert text(browser, "question").startswith("Begin again with q-learning? What td has learnt here from 50 games")
    browser.element("ask-no").click()
    assert browser.element("learner").get_attribute("value") == "td"
    assert browser.element("alpha").get_attribute("value") == "0.5"
    wait_for(browser, 50)
    fill(browser, learner="menace")
    browser.press("\ue00c")  # Escape
    browser.wait("document.getElementById('learner').value === 'td'")
    assert browser.element("alpha").is_enabled()
    fill(browser, learner="q-learning")
    browser.element("ask-yes").click()
    browser.wait(READY)
    browser.element("go").click()
    wait_for(browser, 50)
    assert "--learner q-learning --batch 1 --alpha 0.1 --epsilon 0.1" in text(browser, "command")


@pytest.mark.parametrize(("width", "height"), [(1280, 800), (390, 844)])
def test_board_and_controls_are_in_view(browser: Browser, width: int, height: int) -> None:
    """On a large screen with the curve, on a telephone with the curve a swipe further down."""
    open_tab(browser, width=width, height=height)
    browser.element("one-game").click()
    wait_for(browser, 1)

    def bottom(name: str) -> float:
        return float(browser.do("return document.getElementById(arguments[0]).getBoundingClientRect().bottom", name))

    assert bottom("learn-board") < height and bottom("go") <= height
    assert bottom("curve") <= (height if width > 1000 else 2 * height)


def held(box: Any) -> str:
    """Return the end of a box's name."""
    total = sum(box.beads.values())
    return f", {total} bead{'s' * (total != 1)}" if total else ", empty: it resigns"


def test_matchboxes(browser: Browser, tmp_path: Path) -> None:
    """Learn, look into a box by mouse and keys, teach a game, save it, and load it again; on a telephone."""
    open_tab(browser, width=390, prefers_color_scheme="dark")
    fill(browser, learner="menace", games=220, seed=3)
    browser.element("go").click()
    wait_for(browser, 220)
    run = ttt.train(220, learner="menace", batch=1, seed=3)
    boxes = boxes_of(run)
    tiles = browser.driver.find_elements("css selector", "#wall button")
    browser.wait(f"[...document.querySelectorAll('#wall button')].at(-1).title.endsWith({json.dumps(held(boxes[-1]))})")
    names = [tile.get_attribute("aria-label") for tile in tiles]
    assert len(names) == len(boxes) == 304
    for box, name in zip(boxes, names, strict=True):
        assert name.startswith(f"Box {box.number}, ")
        assert name.endswith(held(box))
        for cell, mark in enumerate(box.position):
            assert (f"{'.XO'[mark]} in cell {cell + 1}" in name) == (mark != 0)
    assert browser.do("return document.documentElement.scrollWidth") <= 390
    tiles[20].click()
    browser.press("\ue014", "\ue007")  # the arrow to the right, and Enter
    opened = "return document.querySelector('#chosen-box .box').getAttribute('aria-label')"
    assert browser.do(opened).endswith(
        ". " + ", ".join(f"{COLOURS[cell][0]} for cell {cell + 1}: {beads}" for cell, beads in boxes[21].beads.items())
    )
    assert len(browser.driver.find_elements("css selector", "#wall button[tabindex='0']")) == 1
    browser.element("challenge").click()
    assert not browser.driver.find_element("css selector", "input[value=first]").is_enabled()
    played: list[int] = []
    for _ in range(5):
        browser.wait("document.body.dataset.turn !== 'agent'")
        if browser.do("return document.body.dataset.turn") == "over":
            break
        played = list(browser.position)
        check_opened(browser, boxes, played)
        browser.cells()[played.index(0)].click()
    browser.wait("/added|taken|nothing changed/.test(document.getElementById('machine-news').textContent)")
    opened = text(browser, "machine-boxes")
    learnt = [(int(box), int(change)) for box, change in re.findall(r"Box (\d+).*?: (\d+) (?:added|taken)", opened)]
    assert len(learnt) == opened.count("Drew") >= 2
    assert len({change for _, change in learnt}) == 1
    assert text(browser, "opponent-name") == "menace, learnt here from 221 games; it learns from yours, too"
    browser.element("tab-learn").click()
    wait_for(browser, 221)
    assert text(browser, "command") == "221 games learnt, of which a person has played 1."
    path = download(browser, tmp_path)
    (taught,) = learn_on_page(tmp_path, {"text": path.read_text()})
    assert tables_of(taught) == bytes_of(import_tables([path])) != bytes_of(run)
    changed = {box.number for box, old in zip(boxes_of(import_tables([path])), boxes, strict=True) if box != old}
    assert changed == {box for box, _ in learnt}
    browser.element("load").send_keys(str(path))
    browser.wait("document.getElementById('command').textContent.startsWith('A table that was loaded')")
    assert not browser.errors()


def check_opened(browser: Browser, boxes: list[Box], position: list[int]) -> None:
    """Check the box opened last before the machine's last move: its picture, all beads, and the bead drawn."""
    shown = browser.driver.find_element("css selector", "#machine .opened")
    box = boxes[int(re.findall(r"Box (\d+)", shown.text)[0]) - 1]
    label = shown.find_element("css selector", ".box").get_attribute("aria-label")
    beads = {name.strip(): int(count) for name, count in re.findall(r"([a-z ]+) for cell \d: (\d+)", label)}
    assert beads == {COLOURS[cell][0]: count for cell, count in box.beads.items()}
    where = re.findall(r"\(cell\s(\d)\)", shown.text)
    marks = [0] * 9
    for mark, cell in re.findall(r"([XO]) in cell (\d)", label):
        marks[int(cell) - 1] = ".XO".index(mark)
    marks[int(where[0]) - 1] = 1
    assert marks == position  # the box is turned as the board is
    drawn = shown.find_elements("css selector", ".box > span")
    assert [cell.get_attribute("class") for cell in drawn].index("drawn") == int(where[0]) - 1
    name = re.findall(r"Drew\s+([a-z ]+) \(", shown.text)[0]
    number = drawn[int(where[0]) - 1].find_element("css selector", "b").text
    assert int(number) == beads[name]


@pytest.mark.parametrize(("width", "height"), [(1280, 800), (390, 844)])
def test_the_open_box_is_in_view(browser: Browser, width: int, height: int) -> None:
    """Beside the board on a large screen; on a telephone it begins below the board."""
    open_tab(browser, width=width, height=height)
    fill(browser, learner="menace")
    browser.wait("document.getElementById('learn-verdict').textContent.includes('not applicable')")
    browser.element("challenge").click()
    browser.wait("document.body.dataset.turn === 'you'")
    browser.do("scrollTo(0, 0)")
    board, box = (
        browser.do(f"return document.querySelector('{one}').getBoundingClientRect().toJSON()")
        for one in ("#board", "#machine .opened")
    )
    if width > 1000:
        assert box["left"] >= board["right"] and box["bottom"] < height
    else:
        assert board["bottom"] <= box["top"] < height
    assert browser.do("return document.documentElement.scrollWidth") <= width
    browser.element("own").click()
    assert not browser.element("machine").is_displayed()


def test_beads_and_rewards(browser: Browser, tmp_path: Path) -> None:
    """They are set beside the learner, go into its file, and make the machine of the command line."""
    open_tab(browser)
    fill(browser, learner="menace")
    assert not browser.element("alpha").is_displayed()
    for name, wrong, fault in (("beads", "4,3,2", "4,3,2 is not four"), ("rewards", "3,1,1", "3,1,1 is not three")):
        before = browser.element(name).get_attribute("value")
        fill(browser, **{name: wrong})
        browser.element("go").click()
        assert text(browser, "learn-status").startswith(fault)
        fill(browser, **{name: before})
    fill(browser, beads="8,4,2,1", rewards="2,0,-3", games=300)
    browser.element("go").click()
    wait_for(browser, 300)
    assert "a win adds 2, a draw changes nothing, a loss takes 3" in text(browser, "boxes")
    assert "--beads 8,4,2,1 --rewards 2,0,-3" in text(browser, "command")
    run = ttt.train(300, learner="menace", batch=1, beads="8,4,2,1", rewards="2,0,-3")
    path = download(browser, tmp_path)
    assert bytes_of(import_tables([path], "menace")) == bytes_of(run)
    (more,) = learn_on_page(tmp_path, {"text": path.read_text(), "more": 100})
    assert tables_of(more) == bytes_of(ttt.train(400, learner="menace", batch=1, beads="8,4,2,1", rewards="2,0,-3"))


def test_an_empty_box_resigns(browser: Browser, tmp_path: Path) -> None:
    (found,) = learn_on_page(tmp_path, {"settings": settings("menace", 0, 1, 0), "games": 1})
    table = json.loads(found["text"])
    table["states"][0]["q"] = [0.0] * 9
    (tmp_path / "empty.json").write_text(json.dumps(table))
    open_tab(browser)
    browser.element("load").send_keys(str(tmp_path / "empty.json"))
    browser.wait("document.getElementById('learner').value === 'menace'")
    assert text(browser, "learn-verdict").startswith("Can be beaten as first, not applicable as second.")
    wait_for(browser, 1)
    browser.element("challenge").click()
    browser.wait("document.body.dataset.turn === 'over'")
    assert browser.status == "The agent’s box is empty: it resigns. You win!"
    assert "X resigns (the agent)" in text(browser, "review")
    browser.wait("document.getElementById('machine-news').textContent.includes('resigned')")
    assert browser.score == (1, 0, 0)
    browser.press("u", "s")  # it has learnt from the game, and moves first
    assert browser.score == (1, 0, 0)
    assert browser.status == "It has boxes for the first player alone: you are O."
    browser.element("tab-learn").click()
    wait_for(browser, 2)
    assert "No bead: it resigned." in text(browser, "drawn-boxes")
    assert not browser.errors()


def test_looking_further(browser: Browser) -> None:
    open_tab(browser)
    cells = browser.driver.find_elements("css selector", "#learn-board button")
    assert not browser.element("look-back").is_displayed()
    said = "X to move. Each number is what the move is worth to X by the table, from \N{MINUS SIGN}1 (loss) to 1 (win)."
    assert text(browser, "looking").startswith(said)
    cells[4].click()
    assert cells[4].get_attribute("aria-label") == "row 2, column 2, X"
    assert text(browser, "looking").startswith("O to move")
    browser.element("look-back").click()
    assert cells[0].get_attribute("aria-label") == "row 1, column 1, empty, value 0.00, the agent’s choice"
    assert not browser.element("look-back").is_displayed()
    for cell in (0, 3, 1, 4, 2):
        cells[cell].click()
    assert text(browser, "looking") == "X has won."


def test_what_is_no_setting_is_refused(browser: Browser) -> None:
    open_tab(browser)
    for name, value, expected in (
        ("alpha", "2", "2 is no step size; give a number above 0, up to 1, such as 0.1."),
        ("epsilon", "much", "much is no exploration; give a number from 0 to 1, such as 0.3."),
        ("seed", "1.5", "1.5 is no seed; give a whole number of up to 18 digits, such as 7."),
        ("games", "0", "0 is no number of games; give one from 1 to 999999999."),
    ):
        before = browser.element(name).get_attribute("value")
        fill(browser, **{name: value})
        browser.element("go").click()
        assert text(browser, "learn-status") == expected
        assert browser.do("return document.activeElement.id") == name
        fill(browser, **{name: before})
    fill(browser, games=10)
    browser.element("go").click()
    wait_for(browser, 10)


def test_load(browser: Browser, tmp_path: Path) -> None:
    """A run's own export, a page's download with which it goes on, and a file that is no such thing."""
    run = trained("backward-q", games=3000, batch=1, seed=4)
    export_table(run, "json", [tmp_path / "run.json"])
    (tmp_path / "broken.json").write_text((tmp_path / "run.json").read_text()[:5000])
    (found,) = learn_on_page(tmp_path, {"settings": settings("td", 6, 0.5, 0.3), "games": 2000})
    (tmp_path / "page.json").write_text(found["text"])
    open_tab(browser)
    assert text(browser, "command") == ""
    load = browser.element("load")
    load.send_keys(str(tmp_path / "broken.json"))
    browser.wait("document.getElementById('learn-status').textContent.startsWith('This file was not loaded')")
    assert "it is no JSON;" in text(browser, "learn-status")
    load.send_keys(str(tmp_path / "run.json"))
    browser.wait("document.getElementById('learner').value === 'backward-q'")
    assert text(browser, "command") == "A table that was loaded."
    fill(browser, games=100)
    browser.element("go").click()
    wait_for(browser, 100)
    assert text(browser, "command") == "A table that was loaded, and 100 games learnt here."
    load.send_keys(str(tmp_path / "page.json"))
    browser.wait("document.getElementById('learner').value === 'td'")
    wait_for(browser, 2000)
    assert text(browser, "command").endswith("--seed 6 --games 2000")
    fill(browser, games=1000)
    browser.element("go").click()
    wait_for(browser, 3000)
    (tmp_path / "more").mkdir()
    path = download(browser, tmp_path / "more")
    (again,) = learn_on_page(tmp_path, {"text": path.read_text()})
    assert tables_of(again) == bytes_of(ttt.train(3000, batch=1, seed=6))


def test_letters_are_shortcuts_of_the_match_alone(browser: Browser) -> None:
    browser.open(trained())
    browser.cells()[0].click()
    browser.wait_for_agent()
    shown = browser.element("values").get_attribute("aria-pressed")
    browser.element("tab-learn").click()
    browser.wait(READY)
    look = browser.element("look").get_attribute("aria-pressed")
    for name in ("alpha", "learner", "tab-learn"):
        browser.do("document.getElementById(arguments[0]).focus()", name)
        browser.press(*"nuvts")
    browser.element("seed").send_keys("d")
    assert browser.element("look").get_attribute("aria-pressed") == look
    browser.do("document.activeElement.blur()")
    browser.press("d")
    assert browser.element("look").get_attribute("aria-pressed") != look
    key = "new KeyboardEvent('keydown', { key: 'ArrowDown', bubbles: true, cancelable: true })"
    assert browser.do(f"return document.body.dispatchEvent({key})")  # it scrolls, as nobody has prevented that
    assert browser.element("values").get_attribute("aria-pressed") == shown
    assert sum(map(bool, browser.position)) == 2
    browser.element("tab-play").click()
    browser.press("u")
    assert sum(map(bool, browser.position)) == 0


def test_a_browser_without_workers(browser: Browser) -> None:
    added = browser.command("Page.addScriptToEvaluateOnNewDocument", source="delete window.Worker")
    try:
        browser.open(trained())
        browser.element("tab-learn").click()
        assert text(browser, "learn-status").startswith("This browser has no Web Workers")
        assert not browser.element("go").is_enabled()
        browser.element("tab-play").click()
        browser.play_perfectly(trained())
        assert browser.score == (0, 1, 0)
    finally:
        browser.command("Page.removeScriptToEvaluateOnNewDocument", identifier=added["identifier"])


def test_a_browser_that_cannot_read_the_agent(browser: Browser) -> None:
    added = browser.command("Page.addScriptToEvaluateOnNewDocument", source="delete window.DecompressionStream")
    try:
        browser.open(trained(), ready=READY)
        assert browser.status == "This browser cannot read the page's agent; a newer one can."
        browser.element("tab-learn").click()
        set_pace(browser, 7)
        fill(browser, games=100)
        browser.element("go").click()
        wait_for(browser, 100)
        assert not browser.element("challenge").is_displayed()
        browser.element("tab-play").click()
        assert browser.element("status").is_displayed()
        assert all("DecompressionStream" in error for error in browser.errors())
    finally:
        browser.command("Page.removeScriptToEvaluateOnNewDocument", identifier=added["identifier"])


def test_names_for_a_screen_reader(browser: Browser) -> None:
    open_tab(browser)
    nodes = browser.command("Accessibility.getFullAXTree")["nodes"]
    named: dict[str, list[str]] = {}
    for node in nodes:
        if not node["ignored"]:
            named.setdefault(node["role"]["value"], []).append(node.get("name", {}).get("value", "").strip())
    assert named["textbox"] == ["Games at most", "Step size", "Exploration", "Seed"]
    assert named["combobox"] == ["Stop", "Learner"]
    assert [name.split()[0] for name in named["slider"]] == ["Pace"]
    assert named["checkbox"] == ["Lesson: begins slowly, twice as fast every 5 seconds"]
    buttons = {"Start", "One move", "One game", "Start over", "Play against it", "Download"}
    assert buttons <= set(named["button"])
    assert any(name.startswith("Load a table") for name in named["button"])
    assert "What each move is worth by the table" in named["group"]
    assert "Losses over the games learnt; the table beside it has the last ones" in named["image"]


@pytest.mark.parametrize("width", [320, 390, 768, 1280])
def test_widths(browser: Browser, width: int) -> None:
    open_tab(browser, width=width)
    browser.element("one-game").click()
    wait_for(browser, 1)
    assert browser.do("return document.documentElement.scrollWidth") <= width
    inner = "[...document.querySelectorAll('#learn button, #learn .hint')]"
    assert browser.do(f"return {inner}.filter((one) => one.scrollWidth > one.clientWidth + 1).length") == 0
    low = "one.matches('button') && one.checkVisibility() && one.clientHeight < 34"
    assert browser.do(f"return {inner}.filter((one) => {low}).length") == 0


def test_nothing_is_fetched(browser: Browser) -> None:
    open_tab(browser)
    fill(browser, games=100)
    browser.element("go").click()
    wait_for(browser, 100)
    addresses = [address for address in browser.requests() if not address.startswith(("data:", "blob:"))]
    assert addresses == [browser.driver.current_url]
