"""The Learn tab in headless Chromium: learn, stop, play, download, load, with everything that may go wrong."""

import json
import time
from pathlib import Path
from typing import Any

import pytest
from helpers.browser import Browser
from helpers.pages import trained
from helpers.web import bytes_of, learn_on_page, settings, tables_of

import ttt_batch as ttt
from ttt_batch.app.kit import COLOURS, boxes_of
from ttt_batch.runs.importing import export_table, import_tables

pytestmark = pytest.mark.slow  # a browser takes five seconds to start, and twenty to be driven

READY = "document.getElementById('learn-status').textContent.startsWith('A table without')"
"""Holds once the tab's worker has begun."""


def text(browser: Browser, name: str) -> str:
    return str(browser.do("return document.getElementById(arguments[0]).textContent", name))


def open_tab(browser: Browser, **options: Any) -> None:
    browser.open(trained(), **options)
    browser.element("tab-learn").click()
    browser.wait(READY)


def fill(browser: Browser, **fields: Any) -> None:
    for name, value in fields.items():
        field = browser.element(name)
        if name != "learner":
            field.clear()
        field.send_keys(str(value))


def choose(browser: Browser, pace: str) -> None:
    browser.driver.find_element("css selector", f"input[value={pace}] + span").click()


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


@pytest.mark.parametrize("learner", ["td", "sutton-barto", "backward-q", "q-learning", "menace"])
def test_learn_and_download(browser: Browser, tmp_path: Path, learner: str) -> None:
    """100,000 games, to the bit those of the command line; the page shows the curve while it learns."""
    open_tab(browser)
    seed = 8 if learner == "menace" else 7  # one that is unbeatable in the end
    fill(browser, learner=learner, seed=seed)
    assert learn(browser) > 1
    run = ttt.train(100_000, learner=learner, batch=1, seed=seed)
    recorded = run.evaluation("random").unbeatable
    if learner == "menace":
        assert text(browser, "learn-verdict").startswith("Unbeatable as first at every recorded point since game ")
        assert "Not applicable as second." in text(browser, "learn-verdict")
    elif all(recorded.values()):
        assert text(browser, "learn-verdict").startswith("Unbeatable in both seats at every recorded point since game ")
    else:
        assert text(browser, "learn-verdict") == "Unbeatable as first, can be beaten as second."
    assert f"--learner {learner} --batch 1" in text(browser, "command")
    path = download(browser, tmp_path)
    assert path.name == f"{learner}-3x3.json"
    assert f"ttt-batch import {path.name} --learner {learner}" in text(browser, "learn-status")
    assert bytes_of(import_tables([path], learner)) == bytes_of(run)


def test_stop_play_and_go_on(browser: Browser, tmp_path: Path) -> None:
    open_tab(browser)
    fill(browser, games=500_000)
    browser.element("go").click()
    browser.wait("document.getElementById('go').textContent === 'Stop'")
    browser.element("go").click()
    browser.wait("document.getElementById('go').textContent === 'Go on'")
    browser.wait("document.getElementById('learn-status').textContent.startsWith('Stopped after')")
    games = int(text(browser, "learn-status").split()[2].replace(",", ""))
    assert 0 < games < 500_000
    assert not browser.element("seed").is_enabled()  # another seed would be another table
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
    browser.element("go").click()
    wait_for(browser, 500_000)
    assert bytes_of(import_tables([download(browser, tmp_path)], "td")) == bytes_of(ttt.train(500_000, batch=1))


def test_game_by_game(browser: Browser) -> None:
    open_tab(browser)
    choose(browser, "step")
    for game in range(1, 4):
        browser.element("go").click()
        wait_for(browser, game)
        assert browser.driver.find_element("css selector", "#last-game h3").text == f"Game {game}"
    choose(browser, "slow")
    browser.element("go").click()
    browser.wait("document.querySelector('#last-game h3')?.textContent === 'Game 5'")
    browser.element("go").click()
    browser.wait("document.getElementById('go').textContent === 'Go on'")
    browser.element("again").click()
    browser.wait("document.getElementById('learn-status').textContent.startsWith('A table without')")
    browser.wait("!document.getElementById('seed').disabled")


@pytest.mark.parametrize(("width", "look"), [(390, "dark"), (1280, "light")])
def test_matchboxes(browser: Browser, tmp_path: Path, width: int, look: str) -> None:
    """Learn, look into a box by mouse and keys, teach a game, save it, and load it again."""
    open_tab(browser, width=width, prefers_color_scheme=look)
    fill(browser, learner="menace", games=220, seed=3)
    browser.element("go").click()
    wait_for(browser, 220)
    run = ttt.train(220, learner="menace", batch=1, seed=3)
    boxes = boxes_of(run)
    tiles = browser.driver.find_elements("css selector", "#wall button")
    names = [tile.get_attribute("aria-label") for tile in tiles]
    assert len(names) == len(boxes) == 304
    for box, name in zip(boxes, names, strict=True):
        total = sum(box.beads.values())
        assert name.startswith(f"Box {box.number}, ")
        assert name.endswith(f", {total} bead{'s' * (total != 1)}" if total else ", empty: it resigns")
        for cell, mark in enumerate(box.position):
            assert (f"{'.XO'[mark]} in cell {cell + 1}" in name) == (mark != 0)
    assert browser.do("return document.documentElement.scrollWidth") <= width
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
        browser.cells()[played.index(0)].click()
    browser.element("tab-learn").click()
    wait_for(browser, 221)
    assert text(browser, "command") == "221 games learnt, of which a person has played 1."
    path = download(browser, tmp_path)
    (taught,) = learn_on_page(tmp_path, {"text": path.read_text()})
    assert tables_of(taught) == bytes_of(import_tables([path])) != bytes_of(run)
    changed = {box.number for box, old in zip(boxes_of(import_tables([path])), boxes, strict=True) if box != old}
    assert 1 in changed and len(changed) <= 4
    browser.element("load").send_keys(str(path))
    browser.wait("document.getElementById('command').textContent.startsWith('A table that was loaded')")
    assert not browser.errors()


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
    assert cells[0].get_attribute("aria-label") == "row 1, column 1, X"
    cells[4].click()
    assert text(browser, "looking").startswith("X to move")
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
    """A run's own export, a page's download with which it goes on, and files that are no such thing."""
    run = trained("backward-q", games=3000, batch=1, seed=4)
    export_table(run, "json", [tmp_path / "run.json"])
    (tmp_path / "broken.json").write_text((tmp_path / "run.json").read_text()[:5000])
    (tmp_path / "other.json").write_text(json.dumps({"board": "4x4x3", "states": [{}]}))
    (found,) = learn_on_page(tmp_path, {"settings": settings("td", 6, 0.5, 0.3), "games": 2000})
    (tmp_path / "page.json").write_text(found["text"])
    open_tab(browser)
    assert text(browser, "command") == ""
    load = browser.element("load")
    wrong = {"broken": "it is no JSON;", "other": "it is of the board 4x4x3, and this page learns 3x3"}
    for name, expected in wrong.items():
        load.send_keys(str(tmp_path / f"{name}.json"))
        browser.wait("document.getElementById('learn-status').textContent.startsWith('This file was not loaded')")
        assert expected in text(browser, "learn-status")
        browser.do("document.getElementById('learn-status').textContent = ''")
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
    assert named["textbox"] == ["Step size", "Exploration", "Seed", "Games at a time"]
    assert named["combobox"] == ["Learner"]
    assert named["radio"] == ["A game", "Slow", "Fast"]
    assert {"Learn", "Start over", "Play against it", "Download", "Empty board"} <= set(named["button"])
    assert any(name.startswith("Load a table") for name in named["button"])
    assert "What the table gives each move" in named["group"]
    assert "Losses over the games learnt; the table beside it has the last ones" in named["image"]


@pytest.mark.parametrize("width", [320, 390, 768, 1280])
@pytest.mark.parametrize("look", ["light", "dark"])
def test_widths(browser: Browser, width: int, look: str) -> None:
    open_tab(browser, width=width, prefers_color_scheme=look)
    choose(browser, "step")
    browser.element("go").click()
    wait_for(browser, 1)
    assert browser.do("return document.documentElement.scrollWidth") <= width
    inner = "[...document.querySelectorAll('#learn button, #learn .hint')]"
    assert browser.do(f"return {inner}.filter((one) => one.scrollWidth > one.clientWidth + 1).length") == 0
    assert browser.do(f"return {inner}.filter((one) => one.matches('button') && one.clientHeight < 34).length") == 0


def test_nothing_is_fetched(browser: Browser) -> None:
    open_tab(browser)
    fill(browser, games=100)
    browser.element("go").click()
    wait_for(browser, 100)
    addresses = [address for address in browser.requests() if not address.startswith(("data:", "blob:"))]
    assert addresses == [browser.driver.current_url]
