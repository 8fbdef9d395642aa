"""The curve in the terminal: drawn from the run file alone, while that is replaced again and again."""

import io
import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers.players import Terminal
from helpers.runfiles import changed
from helpers.support import command

import ttt_batch as ttt
from ttt_batch.app.plots.live import Curve, Snapshot, can_show, curve_of, make_chart, picture, watch_curve
from ttt_batch.core.errors import RunFileError, TttBatchError
from ttt_batch.runs.run import Run

pexpect = pytest.importorskip("pexpect") if os.name == "posix" else None

# pexpect forks, and from Python 3.12 on a fork of a process with threads (NumPy's) warns.
pytestmark = pytest.mark.filterwarnings("ignore:This process .*is multi-threaded:DeprecationWarning")


@pytest.fixture(autouse=True)
def a_capable_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm-256color")


@pytest.fixture(scope="module")
def run() -> Run:
    return ttt.train(games=65_536)


@pytest.fixture
def partial() -> Run:
    """A run that is not at its goal."""
    calls = iter(range(2))
    return ttt.train(games=65_536, stop=lambda: next(calls, None) is None)


def snapshot(run: Run, folder: Path) -> Snapshot:
    found = Snapshot(run.save(folder / "run.h5"))
    assert found.refresh()
    return found


def test_points_stand_where_their_numbers_say() -> None:
    falling = Curve("falling", np.array([1, 10, 100, 1000]), np.array([100.0, 50.0, np.nan, 0.0]))
    lines = make_chart([falling], 37, 12, ascii=True).lines  # 31 columns and 9 rows for the chart
    chart = [line[6:].ljust(31) for line in lines[:9]]
    found = {(row, col) for row, line in enumerate(chart) for col, sign in enumerate(line) if sign == "o"}
    assert found == {(0, 0), (4, 10), (8, 30)}  # equal steps for equal ratios; nan is left out
    assert [line[:6] for line in (lines[0], lines[4], lines[8])] == [" 100 |", "  50 |", "   0 |"]
    assert lines[9] == "     +" + 10 * "-" + "+" + 19 * "-" + "+"  # room for two labels
    assert lines[10].split() == ["10", "1", "k"]
    assert lines[11].strip() == "o falling"


def test_lines_between_points_are_unbroken() -> None:
    series = Curve("up", np.array([1, 1000]), np.array([0.0, 1.0]))
    for ascii in (True, False):
        rows = [line[6:] for line in make_chart([series], 46, 13, ascii=ascii).lines[:10]]
        assert all(any(row[col : col + 1].strip() for row in rows) for col in range(40))


def test_curves_are_told_apart_without_colours() -> None:
    games = np.array([1, 10, 100])
    series = [
        Curve("as first", games, np.array([1.0, 0.5, 0.0])),
        Curve("as second", games, np.array([0.0, 0.2, 0.0])),
    ]
    for ascii, (one, two, both) in ((True, "ox*"), (False, "●○◎")):
        lines = make_chart(series, 60, 14, ascii=ascii).lines
        body = "".join(line[6:] for line in lines[:-3])
        assert [body.count(sign) for sign in (one, two, both)] == [2, 2, 1]
        assert lines[-1].strip() == f"{one} as first  {two} as second  {both} both"
    assert all(character < "\x7f" for line in make_chart(series, 60, 14, ascii=True).lines for character in line)


@pytest.mark.sampled(3)
@pytest.mark.parametrize(("width", "height"), [(80, 24), (40, 20), (20, 9), (120, 50), (16, 4), (3, 1)])
@pytest.mark.parametrize("ascii", [True, False])
def test_a_picture_fits(width: int, height: int, ascii: bool, run: Run, tmp_path: Path) -> None:
    chart = picture(snapshot(run, tmp_path), width, height, ascii=ascii)
    assert len(chart.lines) <= height and all(len(line) <= width for line in chart.lines)
    assert len(chart.owner) == len(chart.lines)
    if width >= 40:
        text = "\n".join(chart.lines)
        assert "td on 3x3, seed 0" in text and "65,536 games" in text and "unbeatable since game" in text


@pytest.mark.parametrize("width", [16, 37, 80])
def test_charts_are_as_high_as_asked_for(width: int) -> None:
    for games in ([5], [1, 2], [7, 10**15], []):
        series = [Curve("a", np.array(games, np.int64), np.linspace(0.0, 3.0, len(games)))]
        for ascii in (True, False):
            chart = make_chart(series, width, 12, ascii=ascii)
            assert len(chart.lines) == 12 and all(len(line) <= width for line in chart.lines)


def test_what_is_drawn_is_in_the_file(run: Run, tmp_path: Path) -> None:
    data = snapshot(run, tmp_path).data
    assert data is not None
    title, series = curve_of(data)
    assert title == "Lost against random play, %" and [s.name for s in series] == ["as first", "as second"]
    for seat in range(2):
        assert series[seat].value.tolist() == (100 * run.statistics["versus_random"][:, seat, 2]).tolist()
        assert series[seat].games.tolist() == run.statistics["games"].tolist()


def test_a_growing_board_shows_results_in_play(tmp_path: Path) -> None:
    grown = ttt.train(games=30, board="5x5x5")
    found = snapshot(grown, tmp_path)
    assert found.data is not None
    assert [s.name for s in curve_of(found.data)[1]] == ["X wins", "draw", "O wins"]
    positions = int(grown.statistics["positions"][-1])
    assert f"{positions:,} positions in the table" in "\n".join(picture(found, 80, 24, ascii=True).lines)


def test_the_age_of_the_file_is_shown(run: Run, tmp_path: Path) -> None:
    found = snapshot(run, tmp_path)
    assert found.data is not None
    found.data.provenance["ended"] = "2001-09-09T01:46:40Z"  # 1e9 s; the file may be a copy
    for later, text in ((3, "3 s ago"), (120, "2 min ago"), (7200, "2 h ago"), (500_000, "5 days ago")):
        assert f"finished {text}" in picture(found, 80, 24, ascii=True, now=1e9 + later).lines[-1]


def test_off_a_terminal_one_plain_picture_is_printed(run: Run, partial: Run, tmp_path: Path) -> None:
    out = io.StringIO()
    assert watch_curve(run.save(tmp_path / "a.h5"), out) is True
    lines = out.getvalue().splitlines()
    assert 15 < len(lines) < 24 and "\x1b" not in out.getvalue() and all(len(line) <= 80 for line in lines)
    assert watch_curve(partial.save(tmp_path / "b.h5"), io.StringIO()) is False  # it ends though the run does not
    with pytest.raises(RunFileError, match="there is no file"):
        watch_curve(tmp_path / "none.h5", io.StringIO())
    (tmp_path / "text.h5").write_text("hello")
    with pytest.raises(RunFileError) as caught:
        watch_curve(tmp_path / "text.h5", io.StringIO())
    assert "\n" not in str(caught.value)
    with pytest.raises(RunFileError, match="its permissions"):
        watch_curve(tmp_path / "text.h5/x", io.StringIO())


def test_only_signs_that_the_stream_has(run: Run, tmp_path: Path) -> None:
    for encoding in ("utf-8", "ascii", "latin-1"):
        assert can_show(io.TextIOWrapper(io.BytesIO(), encoding)) == (encoding == "utf-8")
    stream = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    watch_curve(run.save(tmp_path / "a.h5"), stream)
    assert b"x as second" in stream.buffer.getvalue()  # type: ignore[attr-defined]


def test_a_file_is_waited_for_followed_and_left_at_its_goal(run: Run, partial: Run, tmp_path: Path) -> None:
    path, out = tmp_path / "run.h5", Terminal()
    seen: list[str] = []

    def wait_for(text: str) -> None:
        until = time.monotonic() + 60
        while text not in out.getvalue() and time.monotonic() < until:
            time.sleep(0.005)
        seen.append(text)
        assert text in out.getvalue()

    def train() -> None:
        wait_for("waiting for run.h5")
        partial.save(path)
        wait_for(f"{partial.games:,} of 65,536 games")
        run.save(path, overwrite=True)

    writer = threading.Thread(target=train)
    writer.start()
    try:
        # Ends by itself once the goal is reached; `stop` only guards the test.
        limit = time.monotonic() + 120
        assert watch_curve(path, out, every=0.005, stop=lambda: time.monotonic() > limit) is True
    finally:
        writer.join()
    assert time.monotonic() < limit and len(seen) == 2
    shown = out.getvalue()
    assert "\x1b[?1049h" in shown and "\x1b[?1049l" in shown  # a screen of its own, and back
    last = shown.rpartition("\x1b[?1049l")[2]
    assert "65,536 games; unbeatable since game" in last and "finished" in last


def test_the_watcher_reads_a_file_once_and_leaves_it_alone(
    partial: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = partial.save(tmp_path / "run.h5")
    before = path.stat()
    reads: list[Path] = []
    from ttt_batch.app.plots import live

    load: Callable[..., object] = live.load_run
    monkeypatch.setattr(live, "load_run", lambda p, **how: (reads.append(p), load(p, **how))[1])
    rounds = iter(range(5))
    assert watch_curve(path, Terminal(), every=0.001, stop=lambda: next(rounds, None) is None) is False
    assert reads == [path]
    after = path.stat()
    assert (before.st_mtime_ns, before.st_ino) == (after.st_mtime_ns, after.st_ino)
    assert [p.name for p in tmp_path.iterdir()] == ["run.h5"]


def test_a_file_that_vanishes_is_waited_for(partial: Run, run: Run, tmp_path: Path) -> None:
    found = snapshot(partial, tmp_path)
    found.path.unlink()
    assert not found.refresh() and found.data is not None and not found.done
    run.save(found.path)
    assert found.refresh() and found.done


def test_ctrl_c_ends_the_watch_and_leaves_the_picture(
    partial: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(_: float) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("ttt_batch.app.plots.live.time.sleep", interrupted)
    out = Terminal()
    assert watch_curve(partial.save(tmp_path / "a.h5"), out) is False
    assert f"{partial.games:,} of 65,536 games" in out.getvalue().rpartition("\x1b[?1049l")[2]


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="needs a terminal of its own")
def test_a_real_terminal_of_forty_columns(run: Run, tmp_path: Path) -> None:
    path = run.save(tmp_path / "run.h5")
    code = f"import sys; from ttt_batch.app.plots.live import watch_curve; watch_curve({str(path)!r}, sys.stdout)"
    environment = {**os.environ, "TERM": "xterm", "PYTHONIOENCODING": "utf-8"}
    child = pexpect.spawn(sys.executable, ["-c", code], dimensions=(20, 40), encoding="utf-8", env=environment)
    child.expect(pexpect.EOF, timeout=300)
    lines = child.before.rpartition("\x1b[?1049l")[2].replace("\x1b[?25h", "").split("\r\n")
    lines = [line for line in lines if line]
    assert 15 < len(lines) <= 19 and all(len(line) <= 40 for line in lines)
    assert any("●" in line for line in lines)


def saved_and_changed(run: Run, path: Path) -> Path:
    """A run's file that another program wrote to: its digest is no longer right."""

    def change(file: Any) -> None:
        file["provenance"].attrs["threads"] = 77

    path.write_bytes(changed(run.save(path).read_bytes(), change))
    return path


@pytest.mark.slow
def test_a_file_that_another_program_changed_is_drawn_if_trusted(run: Run, tmp_path: Path) -> None:
    path = saved_and_changed(run, tmp_path / "run.h5")
    for stream in (io.StringIO(), Terminal()):
        with pytest.raises(RunFileError, match="trust=True opens it anyway"):
            watch_curve(path, stream)
        assert watch_curve(path, stream, trust=True) is True
        assert "65,536 games" in stream.getvalue()


@pytest.mark.sampled(1)
@pytest.mark.parametrize("term", ["dumb", "unknown", "", "xterm"])
def test_a_terminal_that_only_prints_lines_gets_one_picture(
    term: str, partial: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So does any other one if one picture is asked for; it ends though the run does not."""
    monkeypatch.setenv("TERM", term)
    out = Terminal()
    assert watch_curve(partial.save(tmp_path / "a.h5"), out, once=term == "xterm") is False
    assert "\x1b" not in out.getvalue() and "of 65,536 games" in out.getvalue()


def test_a_closed_terminal_is_one_line(partial: Run, tmp_path: Path) -> None:
    class Closed(Terminal):
        def write(self, _: str) -> int:
            raise OSError(5, "Input/output error")

    with pytest.raises(TttBatchError, match="cannot draw on the terminal: Input/output error; ") as caught:
        watch_curve(partial.save(tmp_path / "a.h5"), Closed())
    assert "\n" not in str(caught.value)


def test_the_command_passes_trust_on(run: Run, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = saved_and_changed(run, tmp_path / "run.h5")
    status, _, err = command(capsys, "plot", path, "--live")
    assert status == 1 and "--trust" in err
    status, out, _ = command(capsys, "plot", path, "--live", "--trust")
    assert status == 0 and "65,536 games" in out


def live_command(path: Path, folder: Path) -> Any:
    """`plot --live` in a terminal of its own, without any kernel compiled before; standard error goes to a file."""
    environment = {**os.environ, "TERM": "xterm", "PYTHONIOENCODING": "utf-8", "TTT_BATCH_CACHE_DIR": f"{folder}/cache"}
    words = ["-c", 'exec "$0" -m ttt_batch plot --live "$1" 2>"$2"', sys.executable, str(path), f"{folder}/stderr"]
    return pexpect.spawn("/bin/sh", words, dimensions=(20, 80), encoding="utf-8", env=environment)


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="needs a terminal of its own")
@pytest.mark.parametrize(
    ("name", "status"), [("q", 0), ("quit\r", 0), ("SIGINT", 0), ("SIGTERM", 130), ("SIGHUP", 130)]
)
def test_however_it_is_ended_the_terminal_is_as_it_was(name: str, status: int, partial: Run, tmp_path: Path) -> None:
    child = live_command(partial.save(tmp_path / "run.h5"), tmp_path)
    child.expect_exact("\x1b[?1049h", timeout=300)
    child.expect("of 65,536 games", timeout=300)
    child.expect_exact("q leave", timeout=300)
    if name.startswith("SIG"):
        child.kill(getattr(signal, name))
    else:
        child.send(name)
    child.expect(pexpect.EOF, timeout=300)
    child.close()
    _, left, after = child.before.rpartition("\x1b[?1049l")
    assert left and "\x1b[?1049h" not in after  # the screen as it was
    assert child.before.rpartition("\x1b[?25")[2].startswith("h")  # and the cursor
    assert "of 65,536 games" in after  # the last picture stays
    assert child.exitstatus == status
    # Nothing compiles, so that nothing but the curve moves.
    assert (tmp_path / "stderr").read_text() == ("" if status == 0 else "ttt-batch: interrupted\n")
    assert not [path for path in (tmp_path / "cache").rglob("*") if path.is_file()]


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="needs a terminal of its own")
def test_closing_the_terminal_ends_it_with_one_line(partial: Run, tmp_path: Path) -> None:
    child = live_command(partial.save(tmp_path / "run.h5"), tmp_path)
    child.expect("of 65,536 games", timeout=300)
    os.close(child.child_fd)
    until, ended = time.monotonic() + 60, (0, 0)
    while ended[0] == 0 and time.monotonic() < until:
        time.sleep(0.02)
        ended = os.waitpid(child.pid, os.WNOHANG)
    child.closed = child.terminated = True  # pexpect shall not close it again
    assert ended[0] == child.pid and os.waitstatus_to_exitcode(ended[1]) in (1, 130)
    said = (tmp_path / "stderr").read_text()
    assert said.startswith("ttt-batch: ") and said.count("\n") == 1


def test_a_file_without_its_ending_is_waited_for(partial: Run, tmp_path: Path) -> None:
    found = Snapshot(tmp_path / "run")
    assert not found.refresh() and found.data is None
    partial.save(tmp_path / "run.h5")
    assert found.refresh() and found.data is not None and found.path == tmp_path / "run.h5"
    assert watch_curve(tmp_path / "run", Terminal(), once=True) is False
    (tmp_path / "run").write_bytes(b"another file, later")
    assert not found.refresh() and found.path == tmp_path / "run.h5"


def test_a_seat_that_is_not_played_has_no_curve(tmp_path: Path) -> None:
    run = ttt.train(games=50, learner="menace")
    found = snapshot(run, tmp_path)
    assert found.data is not None
    found.data.statistics["unbeatable"] = np.array([[game > 5, False] for game in run.statistics["games"].tolist()])
    assert [curve.name for curve in curve_of(found.data)[1]] == ["as first"]
    text = "\n".join(picture(found, 80, 24, ascii=True).lines)
    assert "as second" not in text and "unbeatable since game" in text
