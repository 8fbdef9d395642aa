"""The command line, driven as a person would: as a process of its own, by pipes, signals and a terminal."""

import contextlib
import ctypes
import itertools
import json
import os
import random
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar

import pytest
from helpers.support import command as command_here
from helpers.support import finished, interrupted, names, without_compiling
from helpers.terminals import SECONDS, at_a_terminal, ended

import ttt_batch as ttt
from ttt_batch.app import progress as moving
from ttt_batch.app.interrupt import Interrupt
from ttt_batch.app.progress import COMPILING, Reporter
from ttt_batch.compiler import settings
from ttt_batch.core.errors import InterruptedTraining, UsageError
from ttt_batch.core.text import duration_text
from ttt_batch.learners.base import Settings

PROGRAM = [sys.executable, "-m", "ttt_batch"]


def assert_plain(text: str) -> None:
    """No control characters but the ends of lines."""
    assert not re.search(r"[^\n\x20-\x7e]", text), text


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with an unbeatable run and a hopeless one."""
    folder = tmp_path_factory.mktemp("runs")
    ttt.train(100_000, seed=1, out=folder / "good.h5")
    ttt.train(30, batch=30, seed=1, out=folder / "poor.h5")
    return folder


# --- train ----------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_train_prints_a_table_the_file_and_what_to_do_next(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    done = finished([*PROGRAM, "train", "--games", "100000", "--seed", "1"], cwd=tmp_path, timeout=SECONDS)
    assert done.returncode == 0
    assert_plain(done.stdout + done.stderr)
    assert names(tmp_path) == ["td-3x3.h5"]
    assert "as first, against random" in done.stdout and "0.9678" in done.stdout
    verdict = "verdict: unbeatable in both seats at every recorded point since game "
    assert re.search(verdict + r"\d+,\d+\n", done.stdout)
    assert "saved:   td-3x3.h5" in done.stdout
    assert "ttt-batch evaluate td-3x3.h5" in done.stdout and "ttt-batch play td-3x3.h5" in done.stdout
    lines = [line for line in done.stderr.splitlines() if " games " in line]
    assert 3 <= len(lines) <= 20
    line = r" *[\d,]+ games  +([\d.]+( [kMG])?/s)?  X \d+%  draw \d+%  O \d+%  (can|unbeatable) .*"
    assert all(re.fullmatch(line, text) and len(text) <= 80 for text in lines)
    assert "can still be beaten" in lines[0]  # the first point comes before the learning is over
    assert lines[-1].lstrip().startswith("100,000 games") and "unbeatable since " in lines[-1]
    found = ttt.load(tmp_path / "td-3x3.h5")
    assert found.games == 100_000 and found.config.seed == 1
    assert found.provenance["command"] == "ttt-batch train --games 100000 --seed 1"

    status, out, err = command_here(capsys, "train", "--games", "1000", "--json")
    assert status == 0
    assert_plain(out + err)
    summary = json.loads(out)
    assert summary["run"] == "td-3x3-2.h5" and summary["games"] == 1000 and not summary["interrupted"]
    assert sum(summary["in_play"].values()) == 1000
    assert summary["unbeatable"] == {"first": False, "second": False} and summary["unbeatable_since"] is None
    assert names(tmp_path) == ["td-3x3-2.h5", "td-3x3.h5"]
    assert ttt.load(tmp_path / "td-3x3.h5").games == 100_000


def test_options_reach_the_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = "train --games 40 --learner minimax-q --epsilon 0.25 --alpha 0.125 --gamma 0.5 --draw-worth 0.25,0.75"
    words += " --batch 20 --threads 1 --seed -5 -o my.h5 --board 2x2"
    status, _, err = command_here(capsys, *words.split())
    assert status == 0, err
    config = ttt.load(tmp_path / "my.h5").config
    assert (config.learner, config.board.name, config.batch, config.seed) == ("minimax-q", "2x2x2", 20, -5)
    assert config.settings == Settings(0.25, 0.125, 0.5, (0.25, 0.75))
    words = "train --games 1000 --board 2x2 --engine flow --batch auto -o flow.h5"
    assert command_here(capsys, *words.split())[0] == 0
    config = ttt.load(tmp_path / "flow.h5").config
    assert (config.engine, config.batch) == ("flow", "auto")
    assert "in batches of auto (flow)" in command_here(capsys, "info", "flow.h5")[1]


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_interrupted_training_keeps_what_was_learnt(tmp_path: Path, number: signal.Signals, start: Any) -> None:
    words = [*PROGRAM, "train", "--games", "2000000000", "-o", "run.h5"]  # it would take minutes
    pipe = subprocess.PIPE
    stdout, stderr = interrupted(start(words, cwd=tmp_path, stdout=pipe, stderr=pipe), number)
    last = stderr.splitlines()[-1]
    said = re.search(r"interrupted; the ([\d,]+) games learnt so far are saved in run\.h5", last)
    assert said, stderr
    assert "Traceback" not in stderr
    assert "saved:   run.h5" in stdout
    found = ttt.load(tmp_path / "run.h5")
    assert found.games == int(said[1].replace(",", ""))
    assert 0 < found.games < 2_000_000_000 and found.games % 1024 == 0
    assert found.statistics["games"][-1] == found.games
    assert names(tmp_path) == ["run.h5"]


@pytest.mark.usefixtures("own_signals")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_after_a_signal_that_ended_it_none_kills_the_process(number: int) -> None:
    """There is a line to be said and an exit status to be given; this process would end."""
    with pytest.raises(InterruptedTraining, match="the end"), Interrupt("the end"):
        signal.raise_signal(number)
    signal.raise_signal(signal.SIGTERM)
    signal.raise_signal(signal.SIGINT)


@pytest.mark.usefixtures("own_signals")
def test_after_a_request_to_stop_none_kills_the_process_either() -> None:
    with Interrupt("the end") as interrupt:
        interrupt.gently = True
        signal.raise_signal(signal.SIGTERM)
    assert interrupt.requested()
    signal.raise_signal(signal.SIGTERM)


@pytest.mark.usefixtures("own_signals")
def test_a_signal_on_the_way_out_changes_nothing() -> None:
    class Late:
        """Takes the place of the lock, while the block is left."""

        def acquire(self) -> None:
            signal.raise_signal(signal.SIGTERM)

    with pytest.raises(InterruptedTraining, match="the end"), Interrupt("the end") as interrupt:
        interrupt._over = Late()  # type: ignore[assignment]
        signal.raise_signal(signal.SIGTERM)


@pytest.mark.usefixtures("own_signals")
def test_signals_are_heeded_as_before_where_none_came() -> None:
    heeded = signal.getsignal(signal.SIGTERM)
    with Interrupt("the end"):
        assert signal.getsignal(signal.SIGTERM) != heeded
    assert signal.getsignal(signal.SIGTERM) == heeded


@pytest.mark.usefixtures("own_signals")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_that_python_drops_comes_again(number: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """LLVM calls Python back while it compiles; what is raised there never reaches the caller."""
    dropped: list[object] = []
    monkeypatch.setattr(sys, "unraisablehook", lambda unraisable: dropped.append(unraisable.exc_type))
    started = time.monotonic()
    with pytest.raises(InterruptedTraining, match="the end"), Interrupt("the end"):
        ctypes.CFUNCTYPE(None)(lambda: signal.raise_signal(number))()
        time.sleep(60)
    assert time.monotonic() - started < 30 and dropped == []
    with Interrupt("the end"):
        ctypes.CFUNCTYPE(None)(lambda: [][0])()
    assert dropped == [IndexError]


@pytest.mark.usefixtures("own_signals")
def test_what_an_interrupt_cut_off_fails_silently_to_clean_up(monkeypatch: pytest.MonkeyPatch) -> None:
    dropped: list[object] = []
    monkeypatch.setattr(sys, "unraisablehook", lambda unraisable: dropped.append(unraisable.exc_type))

    class HalfMade:
        def __del__(self) -> None:
            raise AttributeError

    def compile_half() -> None:
        _module = HalfMade()
        signal.raise_signal(signal.SIGINT)

    with pytest.raises(InterruptedTraining), Interrupt("the end"):
        compile_half()
    assert dropped == []
    with Interrupt("the end"):
        HalfMade()
    assert dropped == [AttributeError]


@pytest.mark.usefixtures("own_signals")
@pytest.mark.parametrize("seconds", [60, 0])
def test_a_dropped_sigterm_is_still_no_persons_way_to_leave(seconds: float) -> None:
    with pytest.raises(InterruptedTraining), Interrupt("the end"), contextlib.suppress(KeyboardInterrupt):
        ctypes.CFUNCTYPE(None)(lambda: signal.raise_signal(signal.SIGTERM))()
        time.sleep(seconds)
    sent: list[int] = []
    signal.signal(signal.SIGTERM, lambda number, _frame: sent.append(number))
    time.sleep(0.1)
    assert sent == [], "it is over"


EARLY = """
import os, signal, sys
before = {*sys.modules}
from ttt_batch import __main__
assert not {"ttt_batch.core.text", "pathlib"} & {*sys.modules} - before, "until main, Python handles signals"
__main__.run = lambda arguments: os.kill(os.getpid(), signal.NAME)
__main__.main()
"""


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM"])
def test_a_signal_before_any_command_ends_with_a_line(name: str) -> None:
    done = finished([sys.executable, "-c", EARLY.replace("NAME", name)])
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "ttt-batch: interrupted\n")


# --- compiling ------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "number"),
    [
        ("train", signal.SIGTERM),
        ("evaluate {folder}/good.h5", signal.SIGINT),
        ("learn-from {folder}/games.txt --learner td", signal.SIGINT),
    ],
)
def test_the_first_use_says_that_it_compiles_and_can_be_interrupted(
    words: str, number: signal.Signals, folder: Path, tmp_path: Path, start: Any
) -> None:
    (folder / "games.txt").write_text("1 2 4 3 7\n")
    kernels = {"TTT_BATCH_CACHE_DIR": str(tmp_path / "kernels")}
    work = tmp_path / "work"
    work.mkdir()
    process = start(
        [*PROGRAM, *words.format(folder=folder).split()],
        cwd=work,
        env=os.environ | kernels,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stderr is not None
    said = process.stderr.readline()
    assert re.fullmatch(r"compiling kernels \(once\) \.\.\.\n", said), said
    process.send_signal(number)
    out, err = process.communicate(timeout=SECONDS)
    assert (process.returncode, out) == (130, "")
    assert re.fullmatch(r"ttt-batch: interrupted.*\n", err), err
    assert names(work) == []


@pytest.mark.slow
@pytest.mark.parametrize("environment", [{}, {"NO_COLOR": "1"}, {"TERM": "dumb"}])
def test_a_spinner_turns_at_a_terminal_while_kernels_are_compiled(
    environment: dict[str, str], folder: Path, tmp_path: Path
) -> None:
    environment = {"TTT_BATCH_CACHE_DIR": str(tmp_path / "kernels"), "TERM": "xterm-256color"} | environment
    with at_a_terminal(*PROGRAM[1:], "evaluate", folder / "good.h5", **environment) as child:
        seen = ""
        if environment["TERM"] == "dumb":
            child.expect(r"compiling kernels .* \.\.\.\r\n")
            seen += child.after
        else:
            for _ in range(8):
                child.expect(r"[-\\|/] compiling kernels .* \d+ s")
                seen += child.after
            assert len(set(re.findall(r"(.) compiling", seen))) > 1
        child.sendintr()
        assert ended(child) == 130
        seen += child.before
    assert "ttt-batch: interrupted\r\n" in seen and "Traceback" not in seen
    if environment["TERM"] == "dumb":
        assert "\x1b" not in seen.replace("^C", "")
    else:
        assert seen.count("\x1b[?25l") <= 1 and seen.rindex("\x1b[?25h") < seen.index("ttt-batch: interrupted")
    if "NO_COLOR" in environment:
        assert not re.search(r"\x1b\[[\d;]+m", seen)


class FakeDisplay:
    """Stands in for rich's display and counts how many are shown."""

    shown: ClassVar[list["FakeDisplay"]] = []
    printed: ClassVar[list[str]] = []

    def __init__(self, _renderable: object = None, *, moving: bool = True) -> None:
        assert moving
        assert not self.shown, "two displays at once"
        self.shown.append(self)

    @property
    def console(self) -> "FakeDisplay":
        return self

    def print(self, text: object, **_: object) -> None:
        self.printed.append(str(text))

    def update(self, _what: object) -> None:
        assert self.shown == [self]

    def stop(self) -> None:
        self.shown.remove(self)


def test_bar_and_spinner_take_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(moving, "_live_display", FakeDisplay)
    progress = ttt.Progress(10, 20, 1.0, (4, 3, 3), None, False)
    watchers = len(settings.watchers)
    with Reporter(live=True) as report:
        begin, end, _ = settings.watchers[-1]
        for _ in range(2):
            begin()
            assert len(FakeDisplay.shown) == 1
            end()
            assert FakeDisplay.shown == []
            report(progress)
            report(progress)
            assert len(FakeDisplay.shown) == 1
        begin()
    assert FakeDisplay.shown == [] and len(settings.watchers) == watchers


def test_recorded_points_stay_above_the_bar(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(moving, "_live_display", FakeDisplay)
    monkeypatch.setattr(FakeDisplay, "printed", [])
    with Reporter(live=True) as report:
        for games, seconds, since, recorded in (
            (1024, 1.0, None, True),
            (1500, 1.1, None, False),
            (1600, 1.2, None, True),  # before the double of the last one shown
            (2048, 2.0, 2048, True),
        ):
            report(ttt.Progress(games, 10_000, seconds, (games, 0, 0), since, recorded))
    assert [line.split()[0] for line in FakeDisplay.printed] == ["1,024", "2,048"]
    assert "can still be beaten" in FakeDisplay.printed[0] and "unbeatable since 2,048" in FakeDisplay.printed[1]


def test_the_time_left_follows_the_speed_of_the_last_seconds() -> None:
    report = Reporter(live=False)
    said = [
        report._time_left(games, 1000, seconds)
        for seconds, games in ((0.0, 0), (0.1, 10), (2.0, 200), (14.0, 260), (26.0, 320))
    ]
    assert said == ["", "", ", about 8 s left", ", about 2 min left", ", about 2 min left"]
    assert [duration_text(n) for n in (0.2, 99.4, 100, 5990, 7200, 7800, 1e6)] == [
        *("0 s", "99 s", "2 min", "1 h 40 min", "2 h", "2 h 10 min", "11 days"),
    ]


@pytest.fixture
def still_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first kernel is begun at 0 s, and later it is 7 s."""
    times = itertools.chain([0.0], itertools.repeat(7.0))
    monkeypatch.setattr("ttt_batch.app.progress.time", SimpleNamespace(perf_counter=lambda: next(times)))


def compile_some(report: Reporter, number: int) -> None:
    """Stands in for the compiler: one kernel after another."""
    for _ in range(number):
        report.compiling()
        report.compiled_one()
        report.clear()


@pytest.mark.usefixtures("still_clock")
@pytest.mark.parametrize(
    ("done", "said"),
    [
        (40, [" ...", ": 8 done ...", ": 16 done ...", ": 32 done ...", ": 40 done in 7 s"]),
        (1, [" ...", ": 1 done in 7 s"]),
    ],
)
def test_off_a_terminal_a_few_lines_count_the_kernels(
    done: int, said: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    progress = ttt.Progress(10, 20, 1.0, (4, 3, 3), None, recorded=True)
    with Reporter() as report:
        compile_some(report, done)
        report(progress)
        compile_some(report, 50)  # what comes later is not announced again
    lines = capsys.readouterr().err.splitlines()
    assert lines[:-1] == [f"{COMPILING}{text}" for text in said] and "10 games" in lines[-1]


def test_a_command_that_ends_without_progress_says_how_many_kernels_it_compiled(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with Reporter() as report:
        compile_some(report, 2)
    assert re.fullmatch(
        rf"{re.escape(COMPILING)} \.\.\.\n{re.escape(COMPILING)}: 2 done in \d+ s\n", capsys.readouterr().err
    )
    with pytest.raises(InterruptedTraining), Reporter() as report:
        compile_some(report, 2)
        raise InterruptedTraining("the end")
    assert capsys.readouterr().err == f"{COMPILING} ...\n"
    with pytest.raises(UsageError), Reporter() as report:
        compile_some(report, 2)
        raise UsageError("refused")
    assert re.search("2 done in", capsys.readouterr().err)
    with Reporter(quiet=True) as report:
        compile_some(report, 2)
    with Reporter():
        pass
    assert capsys.readouterr().err == ""


def test_the_spinner_counts_the_kernels(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn: list[Any] = []
    monkeypatch.setattr(moving, "_live_display", lambda draw: drawn.append(draw) or FakeDisplay())
    with Reporter(live=True) as report:
        report.compiling()
        assert re.fullmatch(r"compiling kernels \(once\), \d+ s", drawn[-1]().text.plain)
        report.compiled_one()
        assert re.fullmatch(r"compiling kernels \(once\): 1 done, \d+ s", drawn[-1]().text.plain)


@pytest.mark.slow
@pytest.mark.parametrize(
    "words",
    [
        ("evaluate", "slow.py:agent"),
        ("evaluate", "two-ply", "--against", "slow.py:agent"),
        ("tournament", "slow.py:agent", "two-ply"),
        ("watch", "slow.py:agent", "two-ply", "--games", "10"),
        ("export", "slow.py:agent", "--to", "csv"),
        ("train", "--opponent", "slow.py:agent", "--games", "100"),
    ],
    ids=" ".join,
)
def test_a_slow_agent_is_seen_to_be_asked(words: tuple[str, ...], tmp_path: Path) -> None:
    (tmp_path / "slow.py").write_text(
        "import time\ndef agent(board):\n    time.sleep(0.2)\n    return (board.ravel() == 0).nonzero()[0][0]\n"
    )
    with at_a_terminal(*PROGRAM[1:], *words, TERM="xterm-256color") as child:
        child.expect(r"waiting for the agent: 0 answers, 0 s")
        child.expect(r"waiting for the agent: [3-9] answers, \d+ s")
        child.sendintr()
        assert ended(child) == 130


def test_the_answers_of_agents_are_counted_beside_the_kernels(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn: list[Any] = []
    monkeypatch.setattr(moving, "_live_display", lambda draw=None, moving=True: drawn.append(draw) or FakeDisplay())
    with Reporter(live=True) as report:
        report.asking(0)
        report.asking(7)
        assert len(drawn) == 1 and re.fullmatch(r"waiting for the agent: 7 answers, \d+ s", drawn[-1]().text.plain)
        compile_some(report, 1)
        report.asking(8)
        assert len(drawn) == 3 and re.fullmatch(r"waiting for the agent: 8 answers, \d+ s", drawn[-1]().text.plain)
        report(ttt.Progress(10, 20, 1.0, (4, 3, 3), None, False))  # the bar of a training against it, instead
        assert len(drawn) == 4 and drawn[-1] is None
    assert FakeDisplay.shown == []
    with Reporter(live=False) as report:
        report.asking(9)
    assert len(drawn) == 4


# --- evaluate and info ----------------------------------------------------------------------------------


def test_evaluate_gives_exact_results(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, out, err = command_here(capsys, "evaluate", folder / "good.h5")
    assert (status, err) == (0, "")
    assert_plain(out)
    assert "unbeatable as first" in out and "unbeatable as second" in out
    run = ttt.load(folder / "good.h5")
    for against in ("random", "optimal", "self"):
        found = json.loads(command_here(capsys, "evaluate", folder / "good.h5", "--against", against, "--json")[1])
        assert found == run.evaluation(against).to_dict()  # type: ignore[arg-type]
        assert found["unbeatable"] == {"first": True, "second": True}
        assert found["losing_line"] == {"first": None, "second": None}
        for seat in ("first", "second"):
            assert set(found[seat]) == {"win", "draw", "loss"} and found[seat]["loss"] == 0


def test_evaluate_shows_how_a_poor_agent_is_beaten(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    poor = folder / "poor.h5"
    lines = json.loads(command_here(capsys, "evaluate", poor, "--json")[1])["losing_line"]
    status, text, _ = command_here(capsys, "evaluate", poor, "--against", folder / "good.h5")
    assert status == 0
    assert_plain(text)
    for seat in ("first", "second"):
        moves = " ".join(f"{'XO'[ply % 2]}{cell + 1}" for ply, cell in enumerate(lines[seat]))
        assert f"can be beaten as {seat}:\n  {moves}\n" in text


def test_info_says_what_a_file_holds(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = folder / "good.h5"
    status, text, _ = command_here(capsys, "info", path)
    assert status == 0
    assert_plain(text)
    for words in ("good.h5", "td", "3x3", "100,000", "auto", "5,478", "16,167", "unbeatable in both seats"):
        assert words in text
    found = json.loads(command_here(capsys, "info", path, "--json")[1])
    assert found["games"] == 100_000 and found["bytes"] == path.stat().st_size
    assert found["states"] == 5478 and found["edges"] == 16_167
    assert found["config"]["learner"] == "td" and found["config"]["seed"] == 1
    assert found["tables"]["value"]["shape"] == [5478]
    assert found["unbeatable"] == {"first": True, "second": True}


@pytest.mark.slow
def test_commands_import_nothing_heavy_that_they_do_not_need(folder: Path) -> None:
    """A library takes up to half a second, and pydantic a tenth of a short training.  One process runs all in turn."""
    script = (
        "import sys\nfrom ttt_batch.__main__ import run\n"
        "for words, heavy in zip(sys.argv[1::2], sys.argv[2::2]):\n"
        "    assert run(words.split()) == 0, words\n"
        "    assert not set(heavy.split()) & set(sys.modules), f'{words} imports one of {heavy}'\n"
    )
    environment = {name: value for name, value in os.environ.items() if not name.startswith("NUMBA_")}
    everything, run = "numba numpy h5py rich", folder / "good.h5"
    cases = {"--version": everything, "train --help": everything, "learners": "numba h5py rich", "boards": "numba rich"}
    cases |= {f"info {run}": "numba rich", "train --games 100 --epsilon 10% -q -o x.h5": "pydantic rich"}
    cases |= {f"plot {run} -o x.svg": "pandas xarray ttt_batch.app.plots.studies"}
    done = finished([sys.executable, "-c", script, *(word for case in cases.items() for word in case)], env=environment)
    assert (done.returncode, done.stderr) == (0, "")
    assert_plain(done.stdout)


@pytest.mark.slow
def test_modules_of_pictures_and_terminals_import_their_libraries_only_to_draw() -> None:
    """Where matplotlib is missing, a line says how to install it."""
    code = """
import sys
import ttt_batch.app.plots
assert not {"matplotlib", "rich", "h5py"} & {*sys.modules}
import ttt_batch.app.terminal.loop
assert not {"prompt_toolkit", "rich"} & {*sys.modules}
"""
    subprocess.run([sys.executable, "-c", code], check=True)


# --- files ----------------------------------------------------------------------------------------------


def test_a_folder_that_takes_no_files_and_an_opponent_that_is_no_run_cost_a_line(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("foreign.h5").write_bytes(b"\x89HDF\r\n\x1a\n" + bytes(2000))
    for words, said in {
        "train --games 10 --out /proc/run.h5": "cannot lock /proc/run.h5: ",
        f"evaluate {folder}/good.h5 --against foreign.h5": "foreign.h5 is an HDF5 file, but not a ttt-batch run",
    }.items():
        status, out, err = command_here(capsys, *words.split())
        assert (status, out, err.count("\n")) == (1, "", 1) and err.startswith("ttt-batch: ") and said in err


@pytest.mark.slow
@pytest.mark.parametrize("name", ["info", "watch"])
def test_a_reader_that_leaves_is_no_error(folder: Path, name: str, start: Any) -> None:
    """At once, or after the first line of a command that goes on to write."""
    process = start([*PROGRAM, name, str(folder / "good.h5")], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdout is not None and process.stderr is not None
    assert name == "info" or process.stdout.readline()
    process.stdout.close()
    assert without_compiling(process.stderr.read()) == ""
    process.stderr.close()
    assert process.wait(SECONDS) == 0


# --- play -----------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_the_unbeatable_agent_is_not_beaten(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Not by trying the cells in any order: entries for taken cells are refused and cost nothing."""
    played = []
    for seed in (*range(20), 19):
        cells = random.Random(seed).sample(range(1, 10), 9)
        words = ["play", folder / "good.h5", "--seed", seed, "--as", ("first", "second")[seed % 2]]
        status, out, _ = command_here(capsys, *words, typed="".join(f"{cell}\n" for cell in cells))
        assert_plain(out)
        assert status == 0 and "You win." not in out
        assert ("The agent wins." in out) + ("Draw." in out) == 1
        played.append(out)
    assert played[-1] == played[-2]


@pytest.mark.slow
def test_ctrl_c_at_a_terminal_saves_and_the_bar_is_live(tmp_path: Path) -> None:
    with at_a_terminal(*PROGRAM[1:], "train", "--games", "2000000000", "-o", "run.h5") as child:
        child.expect(r"unbeatable since [\d,]+")
        child.sendintr()
        child.expect(r"interrupted; the ([\d,]+) games learnt so far are saved in run\.h5")
        games = int(child.match[1].replace(",", ""))
        assert ended(child) == 130
    assert ttt.load(tmp_path / "run.h5").games == games
