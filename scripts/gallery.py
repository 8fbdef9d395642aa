"""Make the README's pictures from real runs: how agents learnt, a movie, a study, the terminal, the page, boards.

    python scripts/gallery.py [--out FOLDER] [--only NAME ...] [--games 1000000]

Trains what it shows (a few seconds) and writes into FOLDER (default: `data`).  Needs matplotlib for the plots, rich for
the terminal, and for the page Debian's chromium and selenium; what is missing is left out, with a word on standard
error.  `--games` are those of each run; the movie and each learner of the study have a tenth of them.
"""

import argparse
import functools
import io
import random
import shutil
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import ttt_batch as ttt

LEARNERS = ("td", "backward-q", "sutton-barto")
games = 1_000_000
"""What each run learns from, unless `--games` says another number."""

# Rich's own template fetches a font from elsewhere; this one takes what there is.
SVG = """<svg class="rich-terminal" viewBox="0 0 {width} {height}" xmlns="http://www.w3.org/2000/svg">
<style>
.{unique_id}-matrix {{ font-family: ui-monospace, Menlo, Consolas, "DejaVu Sans Mono", monospace;
    font-size: {char_height}px; line-height: {line_height}px; font-variant-east-asian: full-width; }}
.{unique_id}-title {{ font-size: 18px; font-weight: bold; font-family: sans-serif; }}
{styles}
</style>
<defs><clipPath id="{unique_id}-clip-terminal"><rect x="0" y="0" width="{terminal_width}" height="{terminal_height}" />
</clipPath>{lines}</defs>
{chrome}
<g transform="translate({terminal_x}, {terminal_y})" clip-path="url(#{unique_id}-clip-terminal)">
{backgrounds}
<g class="{unique_id}-matrix">{matrix}</g>
</g>
</svg>
"""


@functools.cache
def trained(learner: str = "td") -> ttt.Run:
    """A run to show."""
    return ttt.train(games, learner=learner, seed=0)


def draw_plot(kind: str, learners: tuple[str, ...]) -> Callable[[Path], None]:
    """Return a function that draws one kind of plot of runs of these learners."""

    def draw(path: Path) -> None:
        from ttt_batch.app.plots import draw_picture

        draw_picture(
            [trained(name) for name in learners], [f"{name}-3x3.h5" for name in learners], path, kind, overwrite=True
        )

    return draw


def draw_movie(path: Path) -> None:
    """Return how the values of the opening moved, until no opponent beats the table, and on."""
    from ttt_batch.app.plots import draw_picture

    draw_picture([ttt.train(games // 10, keep_points=True)], ["td-3x3.h5"], path, "movie", overwrite=True)


def draw_study(path: Path) -> None:
    """Return how the step size decides when a proof comes: the study of the README, with more seeds."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "steps.h5"
        given = {"learner": "td,sutton-barto", "alpha": "0.02..0.9:8log", "epsilon": "0.1,0.3"}
        ttt.study(out=file, games=games // 10, seeds=50, **given).close()
        ttt.plot(file, out=path, kind="sensitivity", overwrite=True)


def draw_terminal(path: Path) -> None:
    """A game on the screen, with hints: what `play` shows in a terminal of 64 columns and 24 rows."""
    from rich.console import Console
    from rich.text import Text

    from ttt_batch.app.terminal.loop import play_person_games
    from ttt_batch.app.terminal.screen import ScreenFace

    run = trained()
    view = ScreenFace(run.board, colour=True)
    session = play_person_games(run, view, person=1, rng=random.Random(4))
    view.ask(next(session))
    answer = view.press("h")
    assert answer is not None
    view.ask(session.send(answer))
    console = Console(record=True, width=64, file=io.StringIO(), force_terminal=True, color_system="standard")
    for line in view.lines(64, 24):
        console.print(Text.from_ansi(line))
    path.write_text(console.export_svg(title="ttt-batch play td-3x3.h5 --as second", code_format=SVG, unique_id="ttt"))


def play_on(window: Any) -> None:
    """A game on the page, with values and truth."""
    from selenium.webdriver import ActionChains

    for key in "st":  # change sides, so that the agent moves first; truth beside the values
        ActionChains(window).send_keys(key).pause(1.0).perform()


def learn_on(window: Any) -> None:
    """A table that has learnt on the page, at full speed."""
    from selenium.webdriver.common.keys import Keys
    from selenium.webdriver.support.ui import WebDriverWait

    window.find_element("id", "tab-learn").click()
    window.find_element("id", "pace").send_keys(Keys.END)
    window.find_element("id", "go").click()
    WebDriverWait(window, 60).until(lambda _: "Stopped" in window.find_element("id", "learn-status").text)


def lesson_on(window: Any) -> None:
    """The third experiment of the lesson, at its end."""
    from selenium.webdriver.common.keys import Keys
    from selenium.webdriver.support.ui import WebDriverWait

    window.find_element("id", "experiment-3").click()
    window.find_element("id", "experiment-go").click()
    WebDriverWait(window, 60).until(lambda _: window.find_element("id", "go").text == "Pause")
    window.find_element("id", "pace").send_keys(Keys.END)
    WebDriverWait(window, 60).until(lambda _: window.find_element("id", "told").is_displayed())
    window.execute_script("document.activeElement.blur(); scrollTo(0, 0)")


def draw_page(
    path: Path, act: Callable[[Any], None] = play_on, size: tuple[int, int] = (1000, 830), opens: Any = "play"
) -> None:
    """The page after something was done on it: a screenshot of Chromium.  opens: the tab of the page."""
    path.write_bytes(smaller(screenshot(act, *size, opens)))


def draw_phones(path: Path) -> None:
    """The page on a phone, playing by day and learning by night."""
    from PIL import Image

    size = {"width": 390, "height": 760, "deviceScaleFactor": 1, "mobile": True}
    shots = []
    for act, look in ((play_on, "light"), (learn_on, "dark")):

        def dressed(window: Any, act: Callable[[Any], None] = act, look: str = look) -> None:
            window.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
            media = [{"name": "prefers-color-scheme", "value": look}]
            window.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": media})
            act(window)

        shots.append(Image.open(io.BytesIO(screenshot(dressed, 390, 760))).convert("RGB"))
    gap = 20
    both = Image.new("RGB", (2 * shots[0].width + gap, shots[0].height), "white")
    for number, shot in enumerate(shots):
        both.paste(shot, (number * (shots[0].width + gap), 0))
    both.save(path)


def screenshot(act: Callable[[Any], None], width: int, height: int, opens: Any = "play") -> bytes:
    """The page in a window of some size after something was done on it, as a PNG."""
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service

    from ttt_batch.app.web import export_page

    browser, driver = shutil.which("chromium"), shutil.which("chromedriver")
    if browser is None or driver is None:
        raise ImportError("chromium and chromedriver")
    options = webdriver.ChromeOptions()
    options.binary_location = browser
    for word in (
        "--headless=new",
        "--no-sandbox",
        "--disable-gpu",
        "--hide-scrollbars",
        f"--window-size={width},{height}",
    ):
        options.add_argument(word)
    with tempfile.TemporaryDirectory() as folder:
        page = export_page(trained(), Path(folder) / "play.html", opens=opens)
        window = webdriver.Chrome(options=options, service=Service(driver))
        try:
            window.get(page.as_uri())
            act(window)
            return bytes(window.get_screenshot_as_png())
        finally:
            window.quit()


def smaller(picture: bytes) -> bytes:
    """A PNG in few colours, which takes a third of the bytes."""
    from PIL import Image

    out, image = io.BytesIO(), Image.open(io.BytesIO(picture)).convert("RGB")
    image.quantize(128, dither=Image.Dither.NONE).save(out, "png", optimize=True)
    return out.getvalue()


SHOWN = {"6x7x4-gravity": 21, "5x5x5": 12, "8x8x5": 32}
"""Boards of environments, and how many marks are on each."""


def draw_boards(path: Path) -> None:
    """Games of two scripted players on larger boards, as environments render them, side by side."""
    import numpy as np
    from PIL import Image

    from ttt_batch.agents.external import at_board
    from ttt_batch.environments.pictures import position_picture

    pictures = []
    for name, marks in SHOWN.items():
        board, draw = ttt.parse_board(name), random.Random(3)
        position = (0,) * board.cells
        with at_board("two-ply", board) as player:
            while sum(mark != 0 for mark in position) < marks and board.outcome(position) == 0:
                position = board.after(position, draw.choice(player.candidates(position)))
        pictures.append(position_picture(board, position))
    gap, tall = 24, max(len(picture) for picture in pictures)
    wide = sum(picture.shape[1] for picture in pictures) + gap * (len(pictures) - 1)
    whole, left = np.full((tall, wide, 3), 255, np.uint8), 0
    for picture in pictures:
        whole[tall - len(picture) :, left : left + picture.shape[1]] = picture
        left += picture.shape[1] + gap
    Image.fromarray(whole).save(path)


PICTURES: dict[str, Callable[[Path], None]] = {
    "curves.png": draw_plot("curves", LEARNERS),
    "opening.png": draw_plot("opening", ("td", "sutton-barto")),
    "coverage.png": draw_plot("coverage", ("td", "sutton-barto")),
    "learn.gif": draw_movie,
    "study.png": draw_study,
    "terminal.svg": draw_terminal,
    "page.png": draw_page,
    "learn.png": lambda path: draw_page(path, learn_on, (1280, 830)),
    "lesson.png": lambda path: draw_page(path, lesson_on, (1280, 1050), "lesson"),
    "phone.png": draw_phones,
    "environments.png": draw_boards,
}
"""Every picture by its file."""


def main() -> None:
    """Draw them."""
    global games
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--out", type=Path, default=Path(__file__).resolve().parent.parent / "data")
    parser.add_argument("--only", nargs="+", choices=PICTURES, default=list(PICTURES), metavar="NAME")
    parser.add_argument("--games", type=int, default=games)
    options = parser.parse_args()
    games = options.games
    options.out.mkdir(parents=True, exist_ok=True)
    for name in options.only:
        try:
            PICTURES[name](options.out / name)
        except (ImportError, ttt.TttBatchError) as error:
            print(f"left out, {name}: {error}", file=sys.stderr)
            continue
        if name.endswith(".png"):
            (options.out / name).write_bytes(smaller((options.out / name).read_bytes()))
        print(f"wrote {options.out / name}, {(options.out / name).stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
