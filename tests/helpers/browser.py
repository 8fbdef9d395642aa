"""Headless Chromium with pages in it, driven as people use them; see `app/conftest.py`."""

import json
import re
from pathlib import Path
from typing import Any

from helpers.pages import program
from ttt_batch.app import web
from ttt_batch.games.board import FIRST, SECOND, Position
from ttt_batch.runs.loading import AnyRun
from ttt_batch.runs.run import Run

MARKS = {"empty": 0, "X": FIRST, "O": SECOND}
SCORES = ("you", "draw", "agent")

BEFORE_THE_PAGE = """
    window.violations = [];
    document.addEventListener("securitypolicyviolation", (event) => violations.push(event.blockedURI));
    const chance = Math.random;
    Math.random = () => window.drawn ?? chance();
"""
"""Run before the page's own scripts: notes what its policy blocks, and lets a test choose what the agent draws."""


class Browser:
    """Chromium with a page of a run in it."""

    def __init__(self, folder: Path) -> None:
        from selenium import webdriver

        options = webdriver.ChromeOptions()
        options.binary_location = program("chromium", "chromium")
        for argument in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"):
            options.add_argument(argument)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
        service = webdriver.ChromeService(program("chromedriver", "chromium-driver"))
        self.driver = webdriver.Chrome(options=options, service=service)
        self.command("Page.addScriptToEvaluateOnNewDocument", source=BEFORE_THE_PAGE)
        self.folder = folder
        self.pages: dict[
            tuple[int, str], tuple[AnyRun, Path]
        ] = {}  # a run that was freed would leave its `id` to another

    def command(self, name: str, **parameters: Any) -> Any:
        return self.driver.execute_cdp_cmd(name, parameters)

    def do(self, script: str, *arguments: Any) -> Any:
        return self.driver.execute_script(script, *arguments)

    def open(
        self,
        run: web.OnPage,
        *,
        width: int = 1000,
        height: int = 800,
        values: bool = True,
        opens: web.Tab = "play",
        ready: str = "document.body.dataset.turn",
        **media: str,
    ) -> None:
        """Open the page of a run, in a window of some size, with media features such as prefers_color_scheme.

        values: leave them shown, as a page begins; without them a cell's name says only what stands in it.
        ready: what holds once the page can be used.

        Motion is reduced unless it is asked for: the agent answers at once then.
        """
        features = {"prefers_reduced_motion": "reduce", "prefers_color_scheme": "light", **media}
        self.command(
            "Emulation.setEmulatedMedia",
            features=[{"name": name.replace("_", "-"), "value": value} for name, value in features.items()],
        )
        self.command(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 500
        )
        key = (id(run), opens)
        if key not in self.pages:
            self.pages[key] = run, web.export_page(run, self.folder / f"{len(self.pages)}.html", opens=opens)
        for kind in ("browser", "performance"):
            self.driver.get_log(kind)  # forget what came before
        self.driver.get(self.pages[key][1].as_uri())
        self.wait(ready)
        if not values:
            self.do("document.getElementById('values').click()")

    def wait(self, condition: str) -> None:
        from selenium.webdriver.support.ui import WebDriverWait

        WebDriverWait(self.driver, 60, poll_frequency=0.01).until(lambda _: self.do(f"return {condition}"), condition)

    def wait_for_agent(self) -> None:
        self.wait("document.body.dataset.turn !== 'agent'")

    def element(self, name: str) -> Any:
        return self.driver.find_element("id", name)

    def cells(self) -> list[Any]:
        return self.driver.find_elements("css selector", "#board button")

    def labels(self) -> list[str]:
        return self.do("return [...document.querySelectorAll('#board button')].map((b) => b.ariaLabel)")

    @property
    def position(self) -> Position:
        return tuple(MARKS[re.findall(r"empty|X|O", label)[0]] for label in self.labels())

    @property
    def status(self) -> str:
        return str(self.element("status").text)

    @property
    def score(self) -> tuple[int, ...]:
        return tuple(int(self.element(f"score-{name}").text) for name in SCORES)

    def press(self, *keys: str) -> None:
        from selenium.webdriver.common.action_chains import ActionChains

        ActionChains(self.driver, duration=0).send_keys(*keys).perform()

    def choose_side(self, side: str) -> None:
        self.driver.find_element("css selector", f"input[value={side}] + span").click()

    def draw(self, run: AnyRun, position: Position, cell: int) -> None:
        """Let the agent's next draw be `cell`, which has to be among its candidates."""
        candidates = run.candidates(position)
        self.do("window.drawn = arguments[0]", (candidates.index(cell) + 0.5) / len(candidates))

    def play_line(self, run: AnyRun, line: list[int], seat: int) -> None:
        """Play a game with the agent in `seat` (0 or 1); the last move that is clicked need not be the last one."""
        marks = [0] * run.board.cells
        if seat == 0:
            self.draw(run, tuple(marks), line[0])
        self.choose_side("second" if seat == 0 else "first")
        for ply, cell in enumerate(line):
            if ply % 2 == seat:
                self.wait_for_agent()
            else:
                after = [*marks[:cell], 1 + ply % 2, *marks[cell + 1 :]]
                if ply + 1 < len(line):
                    self.draw(run, tuple(after), line[ply + 1])
                self.cells()[cell].click()
            marks[cell] = marks[cell] or 1 + ply % 2
        self.do("delete window.drawn")
        self.wait_for_agent()

    def play_perfectly(self, run: Run) -> None:
        """Play the game to its end with moves that keep its result."""
        while self.do("return document.body.dataset.turn") == "you":
            position = self.position
            player = sum(map(bool, position)) % 2
            moves = run.true_moves(position)
            assert moves
            self.cells()[max(moves, key=lambda cell: moves[cell].seen_by(player).result)].click()
            self.wait_for_agent()

    def errors(self) -> list[str]:
        return [entry["message"] for entry in self.driver.get_log("browser")]

    def requests(self) -> list[str]:
        events = [json.loads(entry["message"])["message"] for entry in self.driver.get_log("performance")]
        return [event["params"]["request"]["url"] for event in events if event["method"] == "Network.requestWillBeSent"]
