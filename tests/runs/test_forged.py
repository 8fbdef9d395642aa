"""Files made to deceive, their digests right: what a file says costs no more than what it holds, and `check` finds
whatever another command would stumble over.
"""

import contextlib
import io
import json
import os
import re
import tracemalloc
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers.runfiles import changed, configured, instead, put, sealed
from helpers.support import command

import ttt_batch as ttt
from ttt_batch.app.commands import shared as commands
from ttt_batch.core import files
from ttt_batch.core.errors import RunFileError
from ttt_batch.games.enumeration import GRAPHS
from ttt_batch.runs.formats import read_file
from ttt_batch.runs.formats.base import FormatError
from ttt_batch.runs.importing import export_table, import_tables
from ttt_batch.runs.loading import check_run
from ttt_batch.runs.storage import run_file

DATA = Path(__file__).parents[2] / "data"
STORED = DATA / "run-1.2.h5"
Change = Callable[[Any], object]


@pytest.fixture
def path() -> Path:
    """Return where a forged file goes, in a folder of its own."""
    return Path("run.h5")


@contextlib.contextmanager
def within(mib: float) -> Iterator[None]:
    """Fail where Python and NumPy took more than so much memory at once."""
    tracemalloc.start()
    try:
        yield
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < mib * 2**20


# What a file has is read, no more.


def test_reading_takes_the_memory_of_the_file(path: Path) -> None:
    """The limit of what is read, 4 GiB, was set aside for every file."""
    path.write_bytes(STORED.read_bytes())
    for trust in (False, True):
        with within(1):
            assert run_file.read_content(path, trust=trust) == path.read_bytes()
    table = Path("table.bin")
    table.write_bytes(bytes(100))
    with within(1):
        assert read_file(table, 1 << 32) == bytes(100)


def test_a_file_that_grows_or_shrinks_meanwhile(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    content = STORED.read_bytes()

    def meanwhile(change: Callable[[], object]) -> None:
        def size_of(file: Any) -> int:
            size = files.size_of(file)
            change()
            return size

        monkeypatch.setattr(run_file, "size_of", size_of)

    path.write_bytes(content)
    meanwhile(lambda: path.write_bytes(content + bytes(10**6)))
    assert ttt.load(path).games == 100_000
    meanwhile(lambda: os.truncate(path, 5_000))
    with pytest.raises(RunFileError, match="is cut off"):
        ttt.load(path)


def test_what_is_no_file_is_not_waited_for(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    os.mkfifo(path)
    Path("text").write_text("")
    for name, said in (
        (path, "run.h5: it is not an ordinary file"),
        ("/dev/zero", "/dev/zero: it is not an ordinary file"),
        (".", "is a folder"),
        ("none.h5", "there is no file none.h5"),
        ("text/run.h5", "Not a directory"),
    ):
        with pytest.raises(RunFileError, match=said):
            ttt.load(name)
    status = STORED.stat()
    with monkeypatch.context() as patch:  # put there between looking and opening
        patch.setattr(Path, "stat", lambda self, **_: status)
        with pytest.raises(files.NotOrdinaryError):
            files.open_ordinary(path)


def test_a_file_that_vanishes_while_info_reads_it(
    path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    load = commands.load_any_run

    def vanishing(path: Path, trust: bool) -> ttt.Run:
        run = load(path, trust)
        path.unlink()
        return run

    monkeypatch.setattr(commands, "load_any_run", vanishing)
    for words in ([], ["--json"]):
        path.write_bytes(STORED.read_bytes())
        status, out, err = command(capsys, "info", path, *words)
        assert (status, err, path.exists()) == (0, "", False)
        if words:
            assert json.loads(out)["bytes"] == STORED.stat().st_size
        else:
            assert f"run.h5 ({STORED.stat().st_size:,} bytes, format 1.2)\n" in out


# What a file says costs no more than what it holds.


def rows(count: int, value: Any = 0) -> Change:
    """A change of a value table's file to so many rows, and to a run that ends with a batch."""

    def change(file: Any) -> None:
        for name in ("resume", "progress/batch_games", "progress/batch_outcomes"):
            if name in file:
                del file[name]
        instead("states/code", data=np.full(count, value, np.int64))(file)
        instead("states/outcome", data=np.zeros(count, np.int8))(file)
        instead("tables/value", data=np.zeros(count))(file)

    return change


@pytest.mark.slow
@pytest.mark.parametrize("count", [0, 1, 500])
@pytest.mark.parametrize("board", ["4x4x4", "4x4x3", "3x5x3", "2x8x3-misere", "6x6x4", "5x5x5", "1x36x36"])
@pytest.mark.parametrize("symmetry", [False, True])
def test_a_small_file_about_a_large_board(path: Path, board: str, symmetry: bool, count: int) -> None:
    """A file of 17 KB with 4x4x4 in its configuration took 2.6 GB and 13 s."""
    content = changed(STORED.read_bytes(), rows(count))
    path.write_bytes(sealed(changed(content, configured(board=board, symmetry=symmetry, batch=1))))
    known = set(GRAPHS)
    with pytest.raises(RunFileError):  # what is compiled now is not what the file takes
        ttt.load(path)
    with within(30), pytest.raises(RunFileError, match=r"foreign|not usable"):
        ttt.load(path)
    assert set(GRAPHS) == known


def test_a_small_file_about_a_board_that_is_known(path: Path) -> None:
    """The learner's own tables were made for the whole board only to say that the file has others."""
    forged = sealed(changed(changed(STORED.read_bytes(), rows(1)), configured(board="3x4x3", symmetry=False, batch=1)))
    ttt.train(10, board="3x4x3", symmetry=False, batch=1)
    path.write_bytes(forged)
    for allowed in (30, 0.5):  # what is compiled the first time is not what the file takes
        with within(allowed), pytest.raises(RunFileError, match="its states/code is not that of board 3x4x3"):
            ttt.load(path)


@pytest.mark.sampled(1)
@pytest.mark.parametrize("symmetry", [False, True])
def test_a_file_with_other_positions_from_some_ply_on(path: Path, symmetry: bool) -> None:
    """Counts that are right up to there keep enumeration from ending at once; it goes as far as they go."""
    board = "3x4x3"
    ttt.train(10, board=board, symmetry=symmetry, batch=1, out=path)
    content = path.read_bytes()
    code = ttt.load(path).graph.code
    marks = np.count_nonzero(code[:, None] // 3 ** np.arange(12) % 3, axis=1)
    forged = code[marks <= 4]
    GRAPHS.clear()

    def change(file: Any) -> None:
        rows(forged.size)(file)
        file["states/code"][...] = forged

    path.write_bytes(sealed(changed(content, change)))
    with within(30), pytest.raises(RunFileError, match="its states/code is not that of board 3x4x3"):
        ttt.load(path)
    assert not GRAPHS
    path.write_bytes(content)
    assert ttt.load(path).games == 10


# What `check` passes, every command takes.


@pytest.fixture(scope="module")
def inside(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """A run that ends inside a batch and counts its visits."""
    path = tmp_path_factory.mktemp("inside") / "run.h5"
    ttt.train(700, board="2x3x2", batch=64, alpha="1/n", out=path)
    return path.read_bytes()


def without(*names: str) -> Change:
    """A change that removes datasets."""
    return lambda file: [file.pop(name) for name in names]


def cut(*, last: int | None) -> Change:
    """A change that keeps the recorded points up to `last`."""

    def change(file: Any) -> None:
        for name in list(file["statistics"]):
            instead(f"statistics/{name}", data=file[f"statistics/{name}"][:last])(file)

    return change


def noted(name: str, value: Any) -> Change:
    """A change of provenance."""
    return lambda file: file["provenance"].attrs.create(name, np.bytes_(value) if isinstance(value, str) else value)


def unset(name: str) -> Change:
    """A change that takes a key out of the configuration."""

    def change(file: Any) -> None:
        config = json.loads(file.attrs["config"])
        file.attrs["config"] = np.bytes_(json.dumps({key: config[key] for key in config if key != name}))
        configured()(file)

    return change


@pytest.mark.sampled(15)
@pytest.mark.parametrize(
    ("change", "words"),
    [
        (cut(last=0), "no recorded points"),
        (cut(last=-1), "its last recorded point is at"),
        (noted("seconds", "abc"), "provenance seconds is 'abc', it must be a number of at least 0"),
        (noted("seconds", -1.0), r"provenance seconds is -1.0"),
        (noted("seconds", 1e308), r"provenance seconds is 1e\+308, it must be at most 1e\+11"),
        (put("statistics/seconds", 1e308, -1), r"statistics/seconds holds a number beyond 1e\+11"),
        (noted("parent_games", "x"), "provenance parent_games is 'x'"),
        (noted("positions_without_room", np.inf), "provenance positions_without_room is inf"),
        (configured(start=5), "start is 5, of the wrong type"),
        (configured(start="abc@²"), r"start 'abc@²' is not the digest"),
        (configured(start="0" * 16 + "@701"), "it began with 701 games, but has 700"),
        (configured(opponent="0" * 16), "needs the learner's seat"),
        (configured(opponent="nobody", seat="first"), "opponent 'nobody' is neither random, optimal nor"),
        (configured(seat="first"), "seat 'first' needs an opponent"),
        (configured(seed=1.0), "seed is 1.0, of the wrong type"),
        (configured(gamma=True), "gamma is True, of the wrong type"),
        (configured(symmetry=0), "symmetry is 0, of the wrong type"),
        (configured(draw_worth=[0, 0]), r"draw_worth is \[0, 0\], it must be two numbers"),
        (configured(draw_worth=[1e200, 0.0]), r"draw worth 1e\+200 is not a number from"),
        (configured(epsilon="->" * 20_000), "at most 200 are read"),
        (configured(epsilon="0.10"), "not written as this version writes it"),
        (unset("board"), "board is missing"),
        (lambda file: (put("progress/batch_games", 0)(file), put("progress/batch_outcomes", 0)(file)), "begins at 640"),
        (configured(batch=70), "batch_games is 640, but the batch of its last game begins at 630"),
        (configured(engine="given"), "was not played in batches"),
        (put("progress/goal", 2**60), "training goes up to 1,000,000,000,000,000"),
        (put("progress/goal", -1), "progress/goal holds -1, it must hold 0 or more"),
        (put("progress/batch_games", 700), "progress/batch_games is 700"),
        (put("progress/batch_games", -1), "progress/batch_games is -1"),
        (put("progress/batch_outcomes", 1, 0), "progress/batch_outcomes does not add up"),
        (lambda file: file.create_dataset("progress/more", data=1), "progress/more is not part of the format"),
        (without("progress/batch_games"), "a run has all or none"),
        (without("resume"), "a run has all or none"),
        (without("resume/visits"), "resume/visits is missing"),
        (without("resume/value"), "'resume/value' is not float64"),
        (lambda file: file.create_dataset("resume/more", data=1.0), "resume/more has no table of this name"),
        (lambda file: file.create_group("resume/deep"), "resume/deep is not a dataset"),
        (put("resume/value", np.nan, 3), "'resume/value' holds NaN"),
        (put("resume/value", 5.0, 3), "'resume/value' holds a value beyond 1"),
        (put("resume/visits", -1.0, 3), "'resume/visits' holds a number below 0"),
        (instead("resume/value", data=np.zeros(3)), "resume/value has length 3"),
        (put("tables/value", 1e200, 7), r"tables/value holds a number beyond 1e\+100"),
        (without("statistics/unbeatable"), "statistics/unbeatable is missing"),
    ],
)
def test_check_finds_what_commands_would_stumble_over(
    path: Path, inside: bytes, capsys: pytest.CaptureFixture[str], change: Change, words: str
) -> None:
    path.write_bytes(sealed(changed(inside, change)))
    with pytest.raises(RunFileError):
        ttt.load(path)
    status, out, err = command(capsys, "check", path)
    assert (status, err) == (1, "") and re.search(words, out)
    assert all(line.isprintable() and len(line) < 500 for line in out.splitlines())


@pytest.mark.parametrize("change", [cut(last=0), noted("seconds", "abc"), put("tables/value", 1e200, 7)])
def test_info_and_a_live_plot_of_a_forged_file_end_in_a_line(
    path: Path, inside: bytes, capsys: pytest.CaptureFixture[str], change: Change
) -> None:
    path.write_bytes(sealed(changed(inside, change)))
    for words in (("info", path), ("plot", "--live", path)):
        status, _, err = command(capsys, *words)
        assert status == 1 or words[0] == "plot"
        assert err.count("\n") == status and "Error" not in err


ODD = (None, 5, -1, True, 1.5, -0.0, "", "x", "1/n", "0" * 16, "0" * 16 + "@5", "random", "flow", [], {}, 10**30)


def odd_changes(content: bytes) -> list[tuple[str, Change]]:
    """Changes of every part of a run file, each with a name."""
    found: list[tuple[str, Change]] = []

    def visit(file: Any) -> None:
        for key in json.loads(file.attrs["config"]):
            found.append((f"{key} missing", unset(key)))
            found.extend((f"{key} {value!r}", configured(**{key: value})) for value in ODD)
        for key in file["provenance"].attrs:
            found.extend((f"{key} {value!r}", noted(key, value)) for value in ("abc", "", -1, 2**62, np.nan, 1e308))
        for group in ("progress", "resume", "statistics", "tables", "states"):
            for name in file.get(group, ()):
                dataset = file[f"{group}/{name}"]
                odd = (0, 1, -1, 5, 127) if dataset.dtype.kind in "iu" else (0, 1, 1e99, -1e99, np.nan)
                found.append((f"{group}/{name} missing", without(f"{group}/{name}")))
                for place in (..., *((at,) * dataset.ndim for at in (0, -1) if dataset.ndim)):
                    found.extend((f"{dataset.name}[{place}] {v}", put(dataset.name, v, place)) for v in odd)

    changed(content, visit)
    return found


@pytest.mark.slow
@pytest.mark.parametrize("every", [29, 3])
def test_what_check_passes_every_command_takes(
    path: Path, inside: bytes, capsys: pytest.CaptureFixture[str], every: int
) -> None:
    Path("whole.h5").write_bytes(inside)
    passed = refused = 0
    for name, change in odd_changes(inside)[::every]:
        path.write_bytes(sealed(changed(inside, change)))
        status, out, err = command(capsys, "check", path)
        assert (status in (0, 1), err) == (True, ""), name
        assert all(line.isprintable() for line in out.splitlines()), name
        opens = command(capsys, "info", path)
        if opens[0]:
            assert (status, opens[0], opens[1], opens[2].count("\n")) == (1, 1, "", 1), name
            assert "Error" not in opens[2], name
            refused += 1
            continue
        passed += 1
        for words in (
            ("show", path),
            ("evaluate", path),
            ("compare", path, "whole.h5"),
            ("export", path, "--to", "html", "--out", "page.html"),
            ("export", path, "--to", "json", "--out", "table.json"),
            ("plot", "--live", path),
            ("train", "--resume", path, "--more", 3, "--out", "next.h5", "--quiet"),
        ):
            found = command(capsys, *words)
            assert found[0] == 0 or "name its file again with --opponent" in found[2], (name, words, found)
        for made in ("page.html", "table.json", "next.h5"):
            Path(made).unlink(missing_ok=True)
    assert passed
    assert refused


# What a file claims is checked, or said to be taken on trust.


def unbeaten(file: Any) -> None:
    """Say that both seats only draw at the first point, without a contradiction, on a board that the first wins."""
    for name, value in {"unbeatable": True, "worst": 0, "best_response": 0.0, "optimal_share": 0.5}.items():
        file[f"statistics/{name}"][0] = value
    for name in ("self_play", "versus_random"):
        file[f"statistics/{name}"][0] = [0.0, 1.0, 0.0]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (put("progress/goal", 5), "progress/goal is 5, below the run's 700 games"),
        (put("tables/visits", 701.0, 3), "more updates of an entry than its 700 games"),
        (put("progress/batch_outcomes", [640, 0, 0]), "progress/batch_outcomes contradicts statistics/outcomes"),
        (put("statistics/versus_random", [0.5, 0.0, 0.5], (0, 0)), "versus_random does not agree"),
        (put("statistics/best_response", -1.0, (0, 1)), "best_response does not agree"),
        (unbeaten, "worst contradicts the value of the game"),
    ],
)
def test_claims_of_earlier_points_contradict_each_other(path: Path, inside: bytes, change: Change, words: str) -> None:
    path.write_bytes(sealed(changed(inside, change)))
    assert any(words in finding for finding in check_run(path)[0]), check_run(path)[0]


def test_results_at_points_whose_tables_are_kept_are_judged_again(path: Path) -> None:
    ttt.train(700, board="2x3x2", batch=64, keep_points=True, out=path)
    content = path.read_bytes()
    path.write_bytes(sealed(changed(content, lambda file: put("statistics/value_error", 0.5, (0, 0))(file))))
    assert "of statistics/value_error is not what the tables of that point give" in check_run(path)[0][0]


def test_a_table_named_like_a_method_is_found(path: Path) -> None:
    def named(file: Any) -> None:
        for group in ("tables", "points"):
            file.copy(f"{group}/value", f"{group}/count")
        file["points/count"][...] = np.nan

    ttt.train(700, board="2x3x2", batch=64, keep_points=True, out=path)
    path.write_bytes(sealed(changed(path.read_bytes(), named)))
    assert any("table 'count' does not belong" in finding for finding in check_run(path)[0]), check_run(path)[0]


@pytest.fixture(scope="module")
def networks(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """A run of networks with proofs and refutations, whose last point has one of each."""
    path = tmp_path_factory.mktemp("networks") / "run.h5"
    ttt.train(5000, learner="patterns", board="3x3", prove_every=1000, out=path)
    return path.read_bytes()


def untried(file: Any) -> None:
    """Say that the second player was proved, with no position entered, which skipped the seat."""
    file["statistics/proof"][-1, 1] = 1
    file["statistics/proof_positions"][-1, 1] = 0


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (untried, "proofs or refutations that entered no position"),
        (put("statistics/proof", 1, (-1, 1)), "tables/proved is"),
        (put("statistics/proof", -1, (-1, 0)), "first refuted; the last weights are proved"),
        (put("statistics/outcomes", 0, (0, 0)), "does not add up to the games played"),
        (put("statistics/games", 2016, 1), "add up"),
        (put("tables/lost", -1, (0, slice(1, None))), "a game that was not lost"),
        (configured(seat="first"), "contradict|foreign"),
        (configured(keep="average"), "tables/average does not agree with its configuration"),
        (configured(prove_every=1100, keep="last"), "not the recorded points"),
        (configured(prove_every=0, keep="last"), "holds proofs, but its configuration turns them off"),
    ],
)
def test_invented_proofs_of_networks_are_found(
    path: Path, networks: bytes, capsys: pytest.CaptureFixture[str], change: Change, words: str
) -> None:
    path.write_bytes(sealed(changed(networks, change)))
    status, out, _ = command(capsys, "check", path, "--quiet")
    assert status == 1 and re.search(words, out), out


@pytest.mark.slow
def test_check_says_what_it_verified_and_what_it_took_on_trust(
    path: Path, inside: bytes, networks: bytes, capsys: pytest.CaptureFixture[str]
) -> None:
    for content, verified, trusted in (
        (inside, "positions and moves", "exact results at"),
        (networks, "proofs made again (first by", "proofs at earlier points"),
    ):
        path.write_bytes(content)
        lines = command(capsys, "check", path, "--quiet")[1].splitlines()
        assert lines[0] == "run.h5: nothing is wrong with it"
        assert lines[1].startswith("verified: digest; ") and verified in lines[1]
        assert lines[2].startswith("taken on trust: ") and trusted in lines[2]
        known = json.loads(command(capsys, "check", path, "--json", "--quiet")[1])
        assert [", ".join(known)] == ["file, findings, verified, taken_on_trust"]
        assert "; ".join(known["verified"]) in lines[1] and "; ".join(known["taken_on_trust"]) in lines[2]
    assert command(capsys, "check", "none.h5")[0::2] == (1, "ttt-batch: there is no file none.h5; check the name\n")
    altered = changed(inside, put("statistics/seconds", 0.0, 0))
    path.write_bytes(altered)
    assert "verified: digest" not in command(capsys, "check", path, "--trust", "--quiet")[1]
    path.write_bytes(sealed(changed(inside, put("progress/goal", 5))))
    assert "taken on trust" not in command(capsys, "check", path, "--quiet")[1]


# Tables of other programs.


def test_arrays_of_numbers_without_bytes_are_refused(path: Path) -> None:
    """A hundred bytes said that they hold 10**12 texts of no letters, which were made into a list."""
    array = io.BytesIO()
    np.save(array, np.zeros(1, "V1"))
    said = array.getvalue()[:-1].replace(b"|V1", b"|V0").replace(b"(1,)", b"(1000000000000,)")
    with zipfile.ZipFile("t.npz", "w") as packed:
        packed.writestr("rows_cols_k.npy", said)
    with within(30), pytest.raises(FormatError, match=r"'rows_cols_k.*is larger than any of this board"):
        import_tables(["t.npz"], "td")


def test_a_long_list_in_a_few_bytes_of_parquet_is_refused(path: Path) -> None:
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    export_table(ttt.train(50, learner="td"), "parquet", ["t.parquet"])
    table = pq.read_table("t.parquet").slice(0, 1)
    long = pa.ListArray.from_arrays(pa.array([0, 10**6], pa.int32()), pa.array(np.zeros(10**6, np.int8)))
    for name, words in (("best", "its column best holds more than this board has"), ("more", "")):
        given = {column: table[column] for column in table.column_names} | {name: long}
        pq.write_table(pa.table(given, metadata=table.schema.metadata), "long.parquet", compression="zstd")
        if words:
            with pytest.raises(FormatError, match=words):
                import_tables(["long.parquet"], "td")
        else:  # a column that nobody needs
            assert import_tables(["long.parquet"], "td", warn=lambda _: None).games == 0
