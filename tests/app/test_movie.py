"""Movies: a frame for each kept point, which shows what the table held then; and who has none."""

import sys
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers.support import command

import ttt_batch as ttt
from ttt_batch.app.plots import draw_picture
from ttt_batch.app.plots.boards import openings, shown_lines
from ttt_batch.app.plots.movie import HELD, _points, _Screen
from ttt_batch.app.plots.style import package_style
from ttt_batch.core.errors import TttBatchError, UsageError
from ttt_batch.runs.network_run import PatternRun
from ttt_batch.runs.run import Run

pytest.importorskip("matplotlib")


@pytest.fixture(scope="module")
def td() -> Run:
    run = ttt.train(games=40_000, batch=8_192, keep_points=True)
    assert isinstance(run, Run)
    return run


@pytest.fixture(scope="module")
def drawn(td: Run, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return draw_picture([td], ["td"], tmp_path_factory.mktemp("movie") / "learn.gif", "movie")


def texts(axes: Any) -> list[str]:
    return [text.get_text() for text in axes.texts]


@pytest.mark.slow
def test_a_frame_for_each_kept_point(td: Run, drawn: Path) -> None:
    from PIL import Image

    assert td.points is not None and td.points.games.size == 5
    with Image.open(drawn) as movie:
        assert (movie.format, movie.n_frames, movie.size[0]) == ("GIF", 5, 800)  # type: ignore[attr-defined]
        times, frames = [], []
        for number in range(5):
            movie.seek(number)
            times.append(movie.info["duration"])
            frames.append(np.array(movie.convert("RGB")))
        assert movie.info["loop"] == 0
    assert times == [330] * 4 + [HELD]
    assert all(tuple(frame[0, 0]) == (255, 255, 255) for frame in frames)
    assert all((one != other).any() for one, other in pairwise(frames))
    truth = slice(290, 450)  # rows of the boards of best play, which never move
    assert all((frame[truth] == frames[0][truth]).all() for frame in frames)
    assert drawn.stat().st_size < 300_000


def test_a_frame_shows_the_table_of_its_point(td: Run) -> None:
    """The oracle is a run that ends there."""
    lines = shown_lines(td)[:3]
    with package_style():
        points = _points(td, lines)
        screen = _Screen(td, points)
        for number, games in ((0, 8_192), (2, 24_576), (4, 40_000)):
            there = ttt.train(games=games, batch=8_192)
            assert points[number].games == games
            assert points[number].boards == openings(there, lines=lines)
            assert points[number].verdict == there.verdict()
            screen.show(number)
            shown = texts(screen.figure.axes[1])
            for cell, value in points[number].boards[1].values.items():
                assert (f"{value:+.2f}" if abs(value) > 0.004 else "0.00") in shown, cell
            assert any(text.get_text().startswith(f"after {games:,} games: ") for text in screen.figure.texts)
            drawn = [line for line in screen.figure.axes[-1].lines if len(line.get_xdata()) == number + 1]
            assert len(drawn) == 9 + 3 * 8
            assert {tuple(line.get_xdata()) for line in drawn} == {tuple(point.games for point in points[: number + 1])}
            last = [value for board in points[number].boards for value in board.values.values()]
            assert sorted(line.get_ydata()[-1] for line in drawn) == sorted(last)


def test_the_truth_is_that_of_best_play(td: Run) -> None:
    lines = shown_lines(td)[:3]
    with package_style():
        screen = _Screen(td, _points(td, lines))
    assert texts(screen.figure.axes[4]) == ["draw"] * 9
    middle = 5 + lines.index((4,))
    assert texts(screen.figure.axes[middle]) == ["draw", "loss"] * 2 + ["X"] + ["loss", "draw"] * 2


@pytest.mark.slow
def test_a_movie_of_chances_has_no_true_numbers_and_no_second_seat() -> None:
    for learner, seats in (("menace", "as first"), ("reinforce", "in both seats")):
        run = ttt.train(games=200, learner=learner, keep_points=True, batch=1)
        with package_style():
            screen = _Screen(run, _points(run, shown_lines(run)[:3]))
            screen.show(len(screen._points) - 1)
        said = [text.get_text() for text in screen.figure.texts]
        assert said[0].startswith("Chances of the opening") and any(text.endswith(f"beaten {seats}") for text in said)
        chart = screen.figure.axes[-1]
        assert "the truth" not in [text.get_text() for text in chart.get_legend().get_texts()]
        assert f"unbeatable {seats}" in [text.get_text() for text in chart.get_legend().get_texts()]
        assert all(0 <= value <= 1 for line in chart.lines for value in line.get_ydata())
        for opening in screen._points[-1].boards:
            assert sum(opening.values.values()) == pytest.approx(1.0)


@pytest.mark.slow
@pytest.mark.parametrize(
    "options",
    [
        {"board": "2x3", "learner": "value-feed"},
        {"board": "1x2x1"},
        {"board": "3x4x3", "learner": "sutton-barto", "symmetry": "on"},
        {"learner": "reinforce"},
        {"learner": "minimax-q", "board": "3x3-misere"},
    ],
    ids=str,
)
def test_other_boards_and_learners(options: dict[str, Any], tmp_path: Path) -> None:
    run = ttt.train(games=300, batch=100, keep_points=True, **options)
    path = draw_picture([run], ["run"], tmp_path / "learn.gif", "movie")
    assert path.read_bytes().startswith(b"GIF89a")


@pytest.mark.slow
def test_a_movie_is_the_same_bytes_twice_and_who_waits_is_told_of_every_frame(
    td: Run, drawn: Path, tmp_path: Path
) -> None:
    told: list[tuple[int, int]] = []
    again = draw_picture([td], ["td"], tmp_path / "m.gif", "movie", progress=lambda done, of: told.append((done, of)))
    frames = td.points.games.size
    assert told == [(number, frames) for number in range(frames)]
    assert again.read_bytes() == drawn.read_bytes()


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command(capsys, "train", "--games", "3000", "--batch", "1024", "--keep-points", "-q", "-o", "run.h5")
    assert command(capsys, "plot", "run", "--kind", "movie")[:2] == (0, "wrote run-movie.gif\n")
    assert ttt.plot("run.h5", kind="movie").name == "run-movie-2.gif"
    command(capsys, "train", "--games", "3000", "-q", "-o", "plain.h5")
    refusals = {
        "plain.h5": "plain.h5 keeps no points, and a movie shows the table at each; train with --keep-points",
        "run.h5 -o learn.png": "cannot plot into learn.png: a movie is a .gif file; name one",
        "run.h5 plain.h5": "a movie shows how one run learnt, not 2; name one",
    }
    for words, line in refusals.items():
        status, out, err = command(capsys, "plot", *words.split(), "--kind", "movie")
        assert (status, out, err.splitlines()[-1]) == (2, "", f"ttt-batch: {line}")
    status, _, err = command(capsys, "plot", "run.h5", "-o", "learn.gif")
    assert (status, err) == (
        2,
        "ttt-batch: cannot plot into learn.gif: a plot is a .png or a .svg file; name one of these\n",
    )
    assert sorted(path.name for path in tmp_path.glob("*.gif")) == ["run-movie-2.gif", "run-movie.gif"]


def test_networks_have_none(pattern_run: PatternRun, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"net\.h5 is of patterns, which keep no tables to show; choose a run of a"):
        draw_picture([pattern_run], ["net.h5"], tmp_path / "learn.gif", "movie")
    assert list(tmp_path.iterdir()) == []


def test_a_movie_is_no_figure(td: Run) -> None:
    with pytest.raises(UsageError, match="movie"):
        td.plot("movie")


def test_without_matplotlib(td: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(TttBatchError, match=r"pip install 'ttt-batch\[plot\]'"):
        draw_picture([td], ["td"], tmp_path / "learn.gif", "movie")


@pytest.mark.slow
def test_a_movie_at_the_pace_of_a_lesson(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A frame stands as long as the games to the next point take, which double their pace every five seconds."""
    from PIL import Image

    run, out = tmp_path / "td.h5", tmp_path / "film.gif"
    points = ttt.train(6, batch=1, keep_points=True, out=run).points
    assert points is not None
    assert command(capsys, "plot", run, "--kind", "movie", "--pace", "lesson", "-o", out)[0] == 0
    times = []
    with Image.open(out) as movie:
        for number in range(movie.n_frames):  # type: ignore[attr-defined]
            movie.seek(number)
            times.append(movie.info["duration"])
    games = points.games - points.games[0]
    due = 5 * np.log2(1 + games * np.log(2) / 5)
    assert times[-1] == HELD and sum(times[:-1]) / 1000 == pytest.approx(due[-1], abs=0.005 * len(times))
    assert times[0] == pytest.approx(1000 * due[1], abs=5)
    status, _, err = command(capsys, "plot", run, "--pace", "lesson", "-o", tmp_path / "curve.png")
    assert status == 2 and "--pace is for movies" in err
    status, _, err = command(capsys, "plot", run, "--kind", "movie", "--pace", "10", "-o", tmp_path / "film2.gif")
    assert status == 2 and "lesson" in err
