"""The page in headless Chromium, as people use it: by mouse and keyboard, with hints, looks and names for a reader."""

import re
from typing import Any

import pytest
from helpers.browser import Browser
from helpers.pages import free, line_with, trained

import ttt_batch as ttt
from ttt_batch.games.board import FIRST, SECOND
from ttt_batch.runs.network_run import PatternRun
from ttt_batch.runs.run import Run

pytestmark = pytest.mark.slow  # a browser takes five seconds to start, and twenty to be driven


def weak() -> Run:
    return trained("greedy-td", games=300)


def test_nothing_is_fetched(browser: Browser) -> None:
    browser.open(trained())
    browser.play_perfectly(trained())
    browser.press("v", "t", "d", "n")
    requests = browser.requests()
    outside = [address for address in requests if not address.startswith(("data:", "blob:"))]  # a blob is the worker
    assert outside == [browser.driver.current_url]
    # The check can fail: a request that is made is seen, and is blocked.
    browser.do("fetch('https://example.invalid/').catch(() => window.refused = true)")
    browser.wait("window.refused")
    assert browser.do("return violations.splice(0)") == ["https://example.invalid/"]
    assert any("Content Security Policy" in message for message in browser.errors())


@pytest.mark.parametrize("seat", [0, 1])
def test_a_win(browser: Browser, seat: int) -> None:
    line = line_with(weak(), seat, forfeit=False)
    assert line
    browser.open(weak())
    browser.play_line(weak(), line, seat)
    assert browser.status == "You win!"
    assert browser.score == (1, 0, 0)
    assert sum("in the completed line" in label for label in browser.labels()) == 3
    browser.cells()[0].click()  # the game is over
    assert browser.status.startswith("You win! “New game”")
    assert browser.score == (1, 0, 0)


def test_a_draw_and_a_loss(browser: Browser) -> None:
    browser.open(trained())
    browser.play_perfectly(trained())
    assert browser.status.endswith("A draw.")
    assert browser.score == (0, 1, 0)
    browser.element("new").click()
    browser.play_line(trained(), [0, 4, 1, 2, 3, 6], 1)
    assert browser.status == "The agent plays row 3, column 1. The agent wins."
    assert browser.score == (0, 1, 1)


def test_replay_and_review(browser: Browser) -> None:
    from selenium.webdriver.common.keys import Keys

    line = line_with(weak(), 1, forfeit=False)
    assert line
    browser.open(weak())
    assert not browser.element("after").is_displayed()
    browser.play_line(weak(), line, 1)
    text = browser.element("review").text
    assert text.startswith("Mistakes found") and "(the agent): draw → loss" in text
    slider = browser.element("replay")
    slider.send_keys(Keys.ARROW_LEFT, Keys.ARROW_LEFT)
    plies = len(line) - 2
    assert [cell for cell, mark in enumerate(browser.position) if mark] == sorted(line[:plies])
    name = f"row {line[plies - 1] // 3 + 1}, column {line[plies - 1] % 3 + 1}"
    said = f"ove {plies} of {len(line)}: {'XO'[(plies - 1) % 2]} {name}"
    assert browser.element("replayed").text == f"M{said}" and slider.get_attribute("aria-valuetext") == f"m{said}"
    browser.cells()[free(browser.position)[0]].click()  # what is over stays over
    assert browser.score == (1, 0, 0)
    slider.send_keys(Keys.END)
    assert sum(map(bool, browser.position)) == len(line)
    browser.element("new").click()
    assert not browser.element("after").is_displayed()


def test_a_link_carries_a_position(browser: Browser) -> None:
    browser.open(trained())
    assert browser.element("link").get_attribute("href").endswith("#.../.../...")
    browser.do("location.hash = '#X.O/.X./...'")
    browser.wait("document.querySelector('input[value=second]').checked")
    assert browser.position == (1, 0, 2, 0, 1, 0, 0, 0, 0)
    assert browser.status == "Your move."
    browser.element("undo").click()  # nothing to take back yet
    assert sum(map(bool, browser.position)) == 3
    browser.cells()[8].click()
    browser.wait_for_agent()
    assert sum(map(bool, browser.position)) == 5
    browser.element("undo").click()
    assert sum(map(bool, browser.position)) == 3
    browser.do("location.hash = '#XXX/OOO/...'")
    browser.wait("document.getElementById('status').textContent.startsWith('No game on this board')")
    browser.element("new").click()
    browser.wait_for_agent()
    assert browser.position.count(FIRST) == 1


def test_strength(browser: Browser) -> None:
    from selenium.webdriver.common.keys import Keys

    browser.open(trained())
    assert browser.element("level-text").text == "plays its best"
    browser.element("level").send_keys(Keys.ARROW_LEFT, Keys.ARROW_LEFT, Keys.ARROW_LEFT)
    assert browser.element("level-text").text == "70 of 100 moves are its own"
    browser.do("window.drawn = 0.999")  # not its own move, and the last of those that softmax draws
    browser.cells()[0].click()
    browser.wait_for_agent()
    browser.do("delete window.drawn")
    assert browser.position == (1, 0, 0, 0, 0, 0, 0, 0, 2)


def test_a_forfeit(browser: Browser) -> None:
    run = trained("minimax-q", games=2000)
    line = line_with(run, 1, forfeit=True)
    assert line
    browser.open(run)
    browser.play_line(run, line, 1)
    assert re.fullmatch(r"The agent chose row \d, column \d, which is taken, and forfeits. You win!", browser.status)
    assert browser.score == (1, 0, 0)
    browser.element("undo").click()
    assert sum(map(bool, browser.position)) == len(line) - 2
    assert browser.score == (0, 0, 0)


def test_where_marks_fall_a_column_is_a_tap(browser: Browser) -> None:
    browser.open(trained(games=1000, board="3x3-gravity"))
    browser.do("document.querySelectorAll('.cell')[1].dispatchEvent(new PointerEvent('pointerenter'))")
    assert ["lit" in cell.get_attribute("class") for cell in browser.cells()] == [False, True, False] * 3
    assert [cell.get_attribute("data-face") for cell in browser.cells()][4:8] == ["", "", "", ""], "values are shown"
    browser.cells()[1].click()
    browser.wait_for_agent()
    assert browser.position[7] == FIRST and sum(map(bool, browser.position)) == 2
    for _ in range(3):
        browser.cells()[1].click()
        browser.wait_for_agent()
    assert browser.status == "Column 2 is full. Your move." or browser.position[1]
    assert not browser.errors()


def test_undo(browser: Browser) -> None:
    browser.open(trained())
    undo = browser.element("undo")
    assert undo.get_attribute("aria-disabled") == "true"
    undo.click()
    assert browser.status == "You are X. You move first."
    browser.cells()[4].click()
    browser.wait_for_agent()
    before = browser.position
    browser.cells()[free(before)[0]].click()
    browser.wait_for_agent()
    assert sum(map(bool, browser.position)) == 4
    undo.click()
    assert browser.position == before
    assert browser.status == "Taken back. Your move."
    undo.click()
    assert not any(browser.position)
    assert undo.get_attribute("aria-disabled") == "true"
    browser.play_perfectly(trained())
    assert browser.score == (0, 1, 0)
    undo.click()
    assert browser.score == (0, 0, 0)  # a finished game that goes on does not count
    browser.play_perfectly(trained())
    assert browser.score == (0, 1, 0)


def test_undo_while_the_agent_thinks(browser: Browser) -> None:
    browser.open(trained(), prefers_reduced_motion="no-preference")
    browser.do("document.querySelector('#board button').click(); document.getElementById('undo').click()")
    browser.do("return new Promise((done) => setTimeout(done, 500))")
    assert not any(browser.position)


def test_sides(browser: Browser) -> None:
    browser.open(trained())
    browser.choose_side("second")
    browser.wait_for_agent()
    assert browser.status.startswith("The agent plays row ")
    assert browser.position.count(FIRST) == 1
    browser.play_perfectly(trained())
    assert browser.score == (0, 1, 0)
    browser.choose_side("alternate")  # from the next game on
    assert 0 not in browser.position
    browser.element("new").click()
    assert browser.status == "You are X. You move first."
    browser.element("new").click()
    browser.wait_for_agent()
    assert browser.position.count(FIRST) == 1
    browser.choose_side("first")
    assert browser.status == "You are X. You move first."
    assert not any(browser.position)


def test_keyboard_alone(browser: Browser) -> None:
    from selenium.webdriver.common.keys import Keys

    browser.open(trained(), values=False)

    def focused() -> str:
        return str(browser.do("return document.activeElement.ariaLabel"))

    browser.press(Keys.ARROW_RIGHT)  # an arrow key finds the board
    assert focused() == "row 2, column 2, empty"
    browser.press(Keys.ARROW_RIGHT, Keys.ENTER)
    browser.wait_for_agent()
    assert browser.position[5] == FIRST
    browser.open(trained(), values=False)
    browser.press(Keys.TAB)
    assert focused() == "Projector"
    browser.press(Keys.TAB)
    assert focused() == "Dark mode"
    browser.press(Keys.TAB)
    assert browser.do("return document.activeElement.id") == "tab-play"
    browser.press(Keys.TAB, Keys.TAB)  # one stop for the whole board
    assert focused() == "row 2, column 2, empty"
    assert browser.do("return getComputedStyle(document.activeElement).outlineStyle") == "solid"
    browser.press(Keys.ARROW_UP, Keys.ARROW_LEFT, Keys.ARROW_LEFT)
    assert focused() == "row 1, column 1, empty"
    browser.press(Keys.END, Keys.ARROW_DOWN)
    assert focused() == "row 2, column 3, empty"
    browser.press(Keys.ENTER)
    browser.wait_for_agent()
    assert focused() == "row 2, column 3, X"
    assert browser.position.count(SECOND) == 1
    browser.press(Keys.ENTER)
    assert browser.status == "The cell in row 2, column 3 is taken. Your move."
    browser.press("u")
    assert not any(browser.position)
    browser.press(Keys.ARROW_LEFT, Keys.SPACE)
    browser.wait_for_agent()
    assert browser.position[4] == FIRST
    browser.press("s")
    browser.wait_for_agent()
    assert browser.position.count(FIRST) == 1
    assert browser.element("status").text.startswith("The agent plays")
    browser.press("n")
    browser.wait_for_agent()
    browser.press("v")
    assert browser.element("values").get_attribute("aria-pressed") == "true"
    browser.press(Keys.TAB, Keys.TAB, Keys.TAB)  # the link to the position, and the seats
    assert browser.do("return document.activeElement.id") == "new"
    browser.element("shortcuts").click()
    browser.press("v")  # letters are no shortcuts any more
    assert browser.element("values").get_attribute("aria-pressed") == "true"


def test_hints(browser: Browser) -> None:
    """What the cells show, and what a screen reader says of them, is what the run says."""
    run = trained("sutton-barto")
    browser.open(run)
    browser.play_line(run, [2, run.candidates((0, 0, 1, *[0] * 6))[0]], 1)
    position = browser.position
    values, moves, chosen = run.move_values(position), run.true_moves(position), run.candidates(position)
    assert moves and {move.seen_by(0).result for move in moves.values()} == {-1, 0, 1}
    assert browser.element("values").get_attribute("aria-pressed") == "true"  # a page begins with its values
    browser.element("truth").click()
    words = {1: "▲ win", 0: "■ draw", -1: "▼ loss"}
    for cell, button in enumerate(browser.cells()):
        label = browser.labels()[cell]
        if position[cell]:
            assert re.fullmatch(r"row \d, column \d, [XO]", label)
            continue
        result, plies = moves[cell].seen_by(0).result, moves[cell].plies + 1
        end = f" in {plies}" if result else ""
        star = ["★"] if cell in chosen else []
        shown, *others = button.text.split("\n")
        assert others == [words[result] + end, *star]
        assert abs(float(shown) - values[cell]) <= 0.0055  # rounded when it was packed, and when it is shown
        assert f"value {shown}" in label
        assert label.endswith(words[result][2:] + (f"{end} {'ply' if plies == 1 else 'plies'}" if result else ""))
        assert ("the agent’s choice" in label) == bool(star)
    tints = browser.do("return [...document.querySelectorAll('#board button')].map((b) => b.dataset.tint)")
    assert [bool(tint) for tint in tints] == [not mark for mark in position]
    told = {cell: tints[cell] for cell, value in values.items() if abs(value - 0.5) > 0.005}  # it was rounded
    assert told == {cell: "win" if values[cell] > 0.5 else "loss" for cell in told}
    assert {*told.values()} == {"win", "loss"}
    assert "from 0 (loss) to 1 (win)" in browser.element("legend").text
    browser.element("values").click()
    browser.element("truth").click()
    assert not browser.driver.find_elements("css selector", "#board .hint")
    assert browser.element("legend").text == ""


def test_hints_without_values(browser: Browser, monkeypatch: pytest.MonkeyPatch) -> None:
    """Boards as large as 4x4x4 have no values on their page, which says so."""
    monkeypatch.setattr("ttt_batch.app.web.packing.VALUED_CELLS", 5)
    run = trained(board="2x3", games=1000)
    browser.open(run)
    assert browser.element("values").text.startswith("Choices")
    assert browser.element("values").get_attribute("aria-pressed") == "false"
    browser.press("v")
    shown = {cell for cell, button in enumerate(browser.cells()) if button.text == "★"}
    assert shown == set(run.candidates((0,) * 6))


def networks(board: str, games: int = 100, **options: Any) -> PatternRun:
    run = ttt.train(games, learner="patterns", board=board, prove_every=0, **options)
    assert isinstance(run, PatternRun)
    return run


def test_networks(browser: Browser) -> None:
    """A game against networks on a large board: values, stars, no truth, and a game that they lose."""
    run = networks("5x5x5", games=16, objective="plain")
    browser.open(run)
    assert browser.driver.title == "5x5x5 tic-tac-toe against patterns"
    line = evaluated(run, "second")
    picture = browser.driver.find_elements("css selector", "#beatable details:last-child li")
    assert len(picture) == len(line)
    browser.play_line(run, line[:4], 1)
    values, chosen = run.move_values(browser.position), run.candidates(browser.position)
    for cell, button in enumerate(browser.cells()):
        if browser.position[cell]:
            continue
        shown, *star = button.text.split("\n")
        assert float(shown.replace("\N{MINUS SIGN}", "-")) == pytest.approx(values[cell], abs=0.0051)
        assert star == ["\N{BLACK STAR}"] * (cell in chosen)
    assert "from \N{MINUS SIGN}1 (loss) to 1 (win)" in browser.element("legend").text
    assert not browser.driver.find_elements("id", "truth")
    assert "Truth" not in browser.element("values").find_element("xpath", "./../..").text
    before = browser.labels()
    browser.press("t")
    assert browser.labels() == before
    browser.element("undo").click()
    assert sum(map(bool, browser.position)) == 2
    browser.element("new").click()
    browser.play_line(run, line, 1)
    assert browser.status == "You win!" and browser.score == (1, 0, 0)


def evaluated(run: PatternRun, seat: str) -> list[int]:
    """A game that networks can lose."""
    line = ttt.prove(run, seat=seat, goal="cannot-lose", threads=1).found[seat].line
    assert line
    return line


def test_networks_on_a_small_board_have_the_truth(browser: Browser) -> None:
    run = networks("3x3-misere")
    browser.open(run)
    assert browser.element("introduction").text.endswith("With best play on both sides it is a draw.")
    browser.press("t")
    moves = trained(board="3x3-misere").true_moves((0,) * 9)
    assert moves
    words = {1: "win", 0: "draw", -1: "loss"}
    for cell, label in enumerate(browser.labels()):
        assert words[moves[cell].seen_by(0).result] in label


@pytest.mark.parametrize(("width", "height"), [(1280, 720), (390, 844)])
def test_sixty_four_cells(browser: Browser, width: int, height: int) -> None:
    """The largest board: nothing but the board itself may have to be scrolled at the side."""
    browser.open(networks("8x8x5", games=16, tuples="lines"), width=width, height=height)
    assert browser.do("return document.documentElement.scrollWidth") <= width
    assert len(browser.cells()) == 64
    browser.cells()[0].click()
    browser.wait_for_agent()
    assert sum(map(bool, browser.position)) == 2
    inner = "[...document.querySelectorAll('.hint')]"
    assert browser.do(f"return {inner}.filter((one) => one.scrollWidth > one.clientWidth + 1).length") == 0


@pytest.mark.parametrize("system", ["light", "dark"])
def test_looks(browser: Browser, system: str) -> None:
    def brightness() -> float:
        found = re.findall(r"\d+", browser.do("return getComputedStyle(document.body).backgroundColor"))
        return sum(map(int, found)) / 3

    browser.open(trained(), prefers_color_scheme=system)
    assert (brightness() < 128) == (system == "dark")
    look = browser.element("look")
    assert look.get_attribute("aria-pressed") == str(system == "dark").lower()
    look.click()
    assert (brightness() < 128) == (system == "light")
    browser.press("d")
    assert (brightness() < 128) == (system == "dark")


@pytest.mark.parametrize(("width", "height"), [(1280, 800), (1920, 1080)])
@pytest.mark.parametrize("board", ["3x3", "4x4"])
def test_projector(browser: Browser, board: str, width: int, height: int) -> None:
    """Marks and board grow, and both tabs fit the window."""
    browser.open(trained(board=board, games=1000), width=width, height=height)

    def sizes() -> tuple[float, float]:
        place = browser.do("return document.getElementById('board').getBoundingClientRect().toJSON()")
        return float(place["width"]), float(place["bottom"])

    before, _ = sizes()
    browser.press("p")
    assert browser.element("large").get_attribute("aria-pressed") == "true"
    assert sizes()[0] > before and sizes()[1] <= height
    assert browser.do("return document.documentElement.scrollWidth") <= width
    assert browser.element("undo").is_displayed() and not browser.element("introduction").is_displayed()
    if board == "3x3":
        browser.element("large").click()
        browser.element("tab-learn").click()
        browser.wait("document.getElementById('learn-status').textContent.startsWith('A table that')")
        browser.press("p")
        bottom = "return document.getElementById(arguments[0]).getBoundingClientRect().bottom"
        assert all(browser.do(bottom, name) <= height for name in ("learn-board", "curve", "pacing"))
        browser.press("p")
        assert browser.element("learner").is_displayed()


def test_names_for_a_screen_reader(browser: Browser) -> None:
    browser.open(weak(), values=False)
    nodes = browser.command("Accessibility.getFullAXTree")["nodes"]
    named: dict[str, list[str]] = {}
    for node in nodes:
        if not node["ignored"]:
            named.setdefault(node["role"]["value"], []).append(node.get("name", {}).get("value", "").strip())
    cells = [f"row {row}, column {col}, empty" for row in (1, 2, 3) for col in (1, 2, 3)]
    buttons = ["Projector", "Dark mode", "Play", "Learn", *cells, "New game", "Undo", "Values", "Truth"]
    assert sorted(named["button"]) == sorted(buttons)
    assert named["slider"] == ["Strength"]
    assert sorted(named["radio"]) == ["Alternate", "O, second", "X, first"]
    assert named["checkbox"] == ["Letters are shortcuts"]
    assert named["grid"] == ["Board of 3 rows and 3 columns"]
    assert len(named["row"]) == 3
    assert len(named["gridcell"]) == 9
    assert sorted(named["region"]) == ["Controls", "Game", "How good is it?"]
    summaries = ["Show a game that it can lose as first", "Show a game that it can lose as second"]
    assert sorted(named["DisclosureTriangle"]) == summaries
    status = next(node for node in nodes if not node["ignored"] and node["role"]["value"] == "status")
    assert {"name": "live", "value": {"type": "token", "value": "polite"}} in status["properties"]
    assert browser.driver.title == "Tic-tac-toe that learns"


def test_what_is_told(browser: Browser) -> None:
    browser.open(trained())
    assert browser.element("verdict").text.startswith("Unbeatable in both seats at every recorded point")
    assert "100,000 games against itself" in browser.element("introduction").text
    assert browser.element("introduction").text.endswith("With best play on both sides it is a draw.")
    assert not browser.driver.find_elements("css selector", "#beatable details")
    evaluation = trained().evaluation("random", "sharp")
    for text, seat in zip(browser.element("results").text.split("\n"), ("first", "second"), strict=True):
        shares = [f"{100 * share:.1f}" for share in getattr(evaluation, seat)]
        assert re.findall(r"[\d.]+(?=\s%)", text) == shares
    assert "Seed\n1" in browser.element("facts").text
    browser.open(weak())
    line = weak().evaluation("random", "sharp").losing_line["first"]
    assert line
    browser.driver.find_element("css selector", "#beatable summary").click()
    moves = browser.driver.find_elements("css selector", "#beatable details:first-child li")
    names = [f"{'XO'[ply % 2]} row {cell // 3 + 1}, column {cell % 3 + 1}" for ply, cell in enumerate(line)]
    assert [move.text for move in moves] == names


@pytest.mark.parametrize("width", [320, 360, 768, 1000])
def test_widths(browser: Browser, width: int) -> None:
    """Nothing sticks out at the side, and cells are large enough for a finger."""
    browser.open(trained(), width=width)
    browser.press("t")
    assert browser.do("return document.documentElement.scrollWidth") <= width
    assert browser.do("return board.scrollWidth <= board.clientWidth")
    sizes = {(cell.size["width"], cell.size["height"]) for cell in browser.cells()}
    assert all(wide >= 44 and abs(wide - high) <= 1 for wide, high in sizes)
    inner = "[...document.querySelectorAll('.hint, button')]"
    assert browser.do(f"return {inner}.filter((one) => one.scrollWidth > one.clientWidth + 1).length") == 0


SIZES = [(1280, 720), (390, 844), (360, 640)]


@pytest.mark.parametrize(("width", "height"), SIZES)
@pytest.mark.parametrize("board", ["3x3", "3x5", "4x4"])
def test_a_game_fits_the_window(browser: Browser, board: str, width: int, height: int) -> None:
    """Board and buttons are seen without scrolling, and nothing touches the board, whatever the status says."""
    browser.open(trained(board=board, games=1000), width=width, height=height)

    def edges(name: str) -> dict[str, float]:
        return dict(browser.do("return document.getElementById(arguments[0]).getBoundingClientRect().toJSON()", name))

    long = "The agent plays row 3, column 1, one of 15 equal moves. Your move."
    for said in ("", long):
        browser.do("if (arguments[0]) document.getElementById('status').textContent = arguments[0]", said)
        place, status = edges("board"), edges("status")
        assert status["top"] >= 0 and place["top"] - status["bottom"] >= 6
        assert place["bottom"] <= height and place["right"] <= width
        assert min(place["width"], place["height"]) >= 0.25 * min(width, height)
        for name in ("values", "truth", "new", "undo"):
            assert edges(name)["bottom"] <= height, name
        assert browser.do("return document.getElementById('status').scrollHeight") <= status["height"] + 1


def test_motion(browser: Browser) -> None:
    drawn = "return getComputedStyle(document.querySelector('.mark path')).animationName"
    for wish, animation in (("no-preference", "draw"), ("reduce", "none")):
        browser.open(trained(), prefers_reduced_motion=wish)
        browser.cells()[0].click()
        assert browser.do(drawn) == animation
        browser.wait_for_agent()
