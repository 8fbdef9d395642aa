"""The lesson: its figures measured again, its sheets and its guide, its options, and its tab in headless Chromium."""

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers.browser import Browser
from helpers.pages import trained
from helpers.support import command

import ttt_batch as ttt
from ttt_batch.app import web
from ttt_batch.app.kit import boxes_of
from ttt_batch.app.lesson import EXPERIMENTS, GAMES, SEEDS, TITLE, Experiment, answers, guide, lesson_html, sheet

GUIDE = Path(__file__).parents[2] / "data" / "guide" / "lesson.md"
EXPLORATION, STEP_SIZE, SEATS, BEATEN, CARDS = EXPERIMENTS


def learnt(experiment: Experiment, **options: Any) -> ttt.Run:
    """What an experiment learns; options: other ones."""
    numbers = {} if experiment.alpha is None else {"alpha": experiment.alpha, "epsilon": experiment.epsilon}
    given = {"learner": experiment.learner, "seed": experiment.seed, **numbers, **options}
    return ttt.train(GAMES, batch=1, **given)


def first_points(run: ttt.Run) -> list[float]:
    """The games of the first point at which each seat is unbeatable."""
    proved, games = run.statistics["unbeatable"], run.statistics["games"]
    return [float(games[seat.argmax()]) if seat.any() else np.inf for seat in proved.T]


def half(figures: Any) -> Any:
    """The figure that half of the seeds do not exceed, by seat."""
    return np.sort(figures, axis=0)[SEEDS // 2 - 1]


@pytest.mark.slow  # kernels of another learner
def test_without_exploration() -> None:
    last = learnt(EXPLORATION).statistics
    assert f"loses {100 * last['versus_random'][-1, 1, 2]:.1f} of 100 games as second" in EXPLORATION.found
    assert last["best_response"][-1].tolist() == [1, 1] and not last["unbeatable"].any()


@pytest.mark.slow  # kernels of another learner
def test_a_step_size_of_one() -> None:
    assert not learnt(STEP_SIZE).statistics["unbeatable"].any()
    assert learnt(STEP_SIZE, alpha=0.1).statistics["unbeatable"][:, 0].any()


def test_the_second_seat_is_later() -> None:
    run = learnt(SEATS)
    first, second = first_points(run)
    assert f"as first since game {first:,.0f} and as second since game {second:,.0f}." in SEATS.found
    for seat, since in enumerate((first, second)):
        assert run.statistics["unbeatable"][run.statistics["games"] >= since, seat].all()
    assert "13 positions" in SEATS.reason and "needs 66" in SEATS.reason
    page = (GUIDE.parents[1] / "smallest.md").read_text(encoding="utf-8")
    assert "| second cannot lose | merged | left out | **66** | minimal |" in page
    assert "| 3x3 | first cannot lose | merged | left out | **13** | minimal |" in page


@pytest.mark.slow  # kernels of another learner
def test_anybody_beats_it() -> None:
    """The moves that the lesson names win, and it has no other answers, whichever ties it may break."""
    run = learnt(BEATEN)
    assert run.statistics["unbeatable"][-1].tolist() == [True, False]
    assert run.statistics["self_play"][-1].tolist() == [0, 1, 0]
    assert "the middle, then the bottom left, then the top right corner" in BEATEN.found
    position = (0,) * 9
    for cell in (4, 6, 2):
        position = run.board.after(position, cell)
        if cell != 2:
            (answer,) = run.candidates(position, ties="any")
            position = run.board.after(position, answer)
    assert run.board.outcome(position) == 1


def test_the_machine_of_the_cards() -> None:
    run = learnt(CARDS)
    assert run.statistics["unbeatable"][-1, 0]
    before = boxes_of(ttt.train(0, learner="menace", batch=1))
    changed = sum(box.beads != old.beads for box, old in zip(boxes_of(run), before, strict=True))
    assert f"beads of {changed} boxes" in CARDS.found and f"{len(before)} matchboxes" in CARDS.question


@pytest.mark.slow
def test_figures_of_all_seeds() -> None:
    def many(experiment: Experiment, **options: Any) -> list[ttt.Run]:
        return [learnt(experiment, seed=seed, **options) for seed in range(SEEDS)]

    def last(runs: list[ttt.Run]) -> Any:
        return np.sum([run.statistics["unbeatable"][-1] for run in runs], axis=0)

    assert last(many(EXPLORATION)).tolist() == [0, 0]
    exploring = many(EXPLORATION, epsilon=0.1)
    losses = half([run.statistics["versus_random"][-1, :, 2] for run in exploring])
    assert f"lose at most {100 * losses[1]:.1f} of 100, and {last(exploring)[0]} of 20" in EXPLORATION.found
    assert not any(run.statistics["unbeatable"].any() for run in many(STEP_SIZE))
    tenth, hundredth = (half([first_points(run) for run in many(STEP_SIZE, alpha=alpha)])[0] for alpha in (0.1, 0.01))
    assert f"half of them by game {tenth:,.0f}. With 0.01 half are by game {hundredth:,.0f}." in STEP_SIZE.found
    assert all(run.statistics["unbeatable"][:, 0].any() for run in many(STEP_SIZE, alpha=0.1))
    first, second = half([first_points(run) for run in many(SEATS)])
    assert f"as first by game {first:,.0f}, and as second by game {second:,.0f}." in SEATS.found
    assert last(many(BEATEN))[1] == 0
    assert f"{last(many(CARDS))[0]} of 20 seeds" in CARDS.found


def test_the_guide_follows_from_the_declaration() -> None:
    assert GUIDE.read_text(encoding="utf-8") == guide(), (
        "write it again: python scripts/lesson_page.py --page data/guide/lesson.md"
    )


def test_the_sheets(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = lesson_html()
    assert text.count("<h1>") == 2 and all(f"<p>{body}</p>" in text for _, body in [*sheet(), *answers()])
    out = tmp_path / "lesson.pdf"
    assert command(capsys, "export", "--to", "lesson", "-o", out)[0] == 0
    content = out.read_bytes()
    assert content.startswith(b"%PDF") and content.count(b"/MediaBox") == 2 and TITLE.encode() in content
    assert command(capsys, "export", "--to", "lesson", "-o", tmp_path / "lesson.html")[0] == 0
    assert (tmp_path / "lesson.html").read_text(encoding="utf-8") == text


def test_what_the_lesson_refuses(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "lesson.txt"
    for words, said in {
        ("export", "--to", "lesson", "-o", out): "name one of these",
        ("export", "run.h5", "--to", "lesson"): "a lesson is one file, of no run; leave RUN out",
        ("export", "--to", "lesson", "--ties", "any"): "leave --ties out",
        ("page", "--lesson", "-o", out): "lesson.txt ends in .txt, which is not for html; name another file",
        ("page", "--lesson", "--board", "3x3-misere"): "about learning on 3x3; leave --board 3x3-misere out",
    }.items():
        status, _, err = command(capsys, *words)
        assert status == 2 and said in err
    assert not out.exists()


def test_only_a_page_with_the_lesson_is_larger() -> None:
    plain, lesson = web.page_text(trained(), opens="learn"), web.page_text(trained(), opens="lesson")
    assert "experiment" not in plain and len(lesson.encode()) < 170_000


OVER = "!document.getElementById('told').hidden"


def hurry(browser: Browser) -> None:
    """Learn the rest of an experiment as fast as the browser can, once it has begun."""
    browser.wait("document.getElementById('go').textContent === 'Pause'")
    script = "const [pace] = arguments; pace.value = 7; pace.dispatchEvent(new Event('input', { bubbles: true }))"
    browser.do(script, browser.element("pace"))


@pytest.mark.slow
@pytest.mark.parametrize(("width", "height", "look"), [(1280, 800, "light"), (390, 844, "dark")])
def test_every_experiment_on_the_page(browser: Browser, width: int, height: int, look: str) -> None:
    """One click starts each; at its end the page says what is true, and its table is that of the command."""
    began = "document.getElementById('learn-status').textContent.startsWith('A table that knows nothing')"
    browser.open(trained(), opens="lesson", ready=began, width=width, height=height, prefers_color_scheme=look)
    assert browser.element("tab-lesson").get_attribute("aria-current") == "page"
    for number, one in enumerate(EXPERIMENTS, 1):
        browser.element(f"experiment-{number}").send_keys("\ue007")
        name = browser.element(f"experiment-{number}").accessible_name
        assert name == f"Experiment {number}: {one.title}"
        assert browser.element("prediction").accessible_name == f"Write down: {one.predict}"
        browser.element("prediction").send_keys(f"about {number}")
        assert not browser.element("told").is_displayed()
        browser.element("experiment-go").send_keys("\ue007")
        assert browser.element("lesson").is_selected()
        hurry(browser)
        browser.wait(OVER)
        assert one.found in browser.element("told").text and one.reason in browser.element("told").text
        shown = browser.element("command").get_attribute("textContent")
        numbers = "--beads 4,3,2,1 --rewards 3,1,-1" if one.alpha is None else f"--alpha {one.alpha:g}"
        assert f"--learner {one.learner} --batch 1 {numbers}" in shown
        assert shown.endswith(f"--seed {one.seed} --games {GAMES}")
        assert browser.do("return document.documentElement.scrollWidth") <= width
    browser.element("experiment-1").send_keys("\ue007")
    assert browser.element("prediction").get_attribute("value") == "about 1"
    assert not browser.element("told").is_displayed()


@pytest.mark.slow
def test_the_class_beats_the_table(browser: Browser) -> None:
    """As the fourth experiment says, on the page itself."""
    browser.open(trained(), opens="lesson", ready="!document.getElementById('experiment-go').disabled")
    browser.element("experiment-4").click()
    browser.element("experiment-go").click()
    hurry(browser)
    browser.wait(OVER)
    browser.element("experiment-play").click()
    for cell in (4, 6, 2):
        browser.wait("document.body.dataset.turn === 'you'")
        browser.cells()[cell].click()
    browser.wait("document.body.dataset.turn === 'over'")
    assert browser.status.startswith("You win!") and re.match("sutton-barto, ", browser.element("opponent-name").text)
