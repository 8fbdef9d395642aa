"""Plain HDF5: what people read in it without this package, and tables that come back to the bit."""

import io
import json
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
from helpers.runfiles import changed
from helpers.support import command

import ttt_batch as ttt
from ttt_batch.__main__ import run as run_here
from ttt_batch.games.board import UNFINISHED
from ttt_batch.learners import LEARNERS
from ttt_batch.runs.formats.base import FormatError, marks_of_states
from ttt_batch.runs.importing import run_from_plain
from ttt_batch.runs.plain_hdf5 import encode
from ttt_batch.runs.run import Run

OTHERS: list[dict[str, Any]] = [
    {"symmetry": "on"},
    {"learner": "q-learning", "symmetry": "on", "alpha": "1/n"},
    {"board": "3x4x3", "learner": "sutton-barto"},
    {"board": "3x3-misere", "learner": "double-q", "alpha": "1/n"},
    {"board": "3x3-gravity"},
    {"epsilon": "0.5->0.1:linear"},
    {"board": "5x5x5"},
    {"board": "5x5x5", "learner": "q-learning", "alpha": "1/n"},
    {"board": "5x5x5", "learner": "double-q"},
    {"board": "5x5x5", "learner": "minimax-q"},
    {"learner": "menace", "engine": "flow", "batch": 100},
]
"""Trainings with other boards and options: dense, folded and growing tables, counted visits."""


def opened(content: bytes) -> h5py.File:
    """The file in memory."""
    return h5py.File(io.BytesIO(content), "r")


@pytest.fixture(scope="module")
def run() -> Run:
    """A short run of td."""
    made = ttt.train(2000, seed=3)
    assert isinstance(made, Run)
    return made


@pytest.fixture(scope="module")
def content(run: Run) -> bytes:
    """Its file."""
    return encode(run)


@pytest.mark.parametrize("learner", LEARNERS)
def test_every_learners_table_comes_back_to_the_bit(learner: str) -> None:
    check_back(ttt.train(300, learner=learner))


@pytest.mark.slow
@pytest.mark.parametrize("options", OTHERS, ids=lambda options: "-".join(map(str, options.values())))
def test_tables_of_other_boards_and_options_come_back_to_the_bit(options: dict[str, Any]) -> None:
    check_back(ttt.train(300, **options))


def check_back(run: Any) -> None:
    """Export a run, import it, and compare every table."""
    back = run_from_plain(encode(run))
    assert (back.board, back.config.learner, back.games) == (run.board, run.config.learner, run.games)
    assert (back.config.seed, back.config.epsilon, back.config.alpha) == (
        *(run.config.seed, run.config.epsilon, run.config.alpha),
    )
    for name, table in {**run.tables._asdict(), "visits": run.visits, "code": run.graph.code}.items():
        found = {**back.tables._asdict(), "visits": back.visits, "code": back.graph.code}[name]
        assert (found.dtype, found.shape, found.tobytes()) == (table.dtype, table.shape, table.tobytes()), name
    assert back.verdict() == run.verdict()


@pytest.mark.sampled(1)
@pytest.mark.parametrize("learner", ["td", "value-feed", "q-learning", "double-q", "reinforce", "menace"])
@pytest.mark.parametrize("symmetry", ["off", "on"])
def test_a_row_says_what_the_run_says_of_its_position(learner: str, symmetry: str) -> None:
    run = ttt.train(400, learner=learner, symmetry="on" if learner == "menace" else symmetry)
    with opened(encode(run)) as file:
        columns = {name: dataset[()] for name, dataset in file.items()}
    assert columns["value"].shape[0] == 19683 and columns["q"].shape == columns["policy"].shape == (19683, 9)
    assert columns["reachable"].sum() == 5478 and (columns["outcome"][columns["reachable"] == 0] == -1).all()
    for code in np.flatnonzero(columns["outcome"] == UNFINISHED)[::157].tolist():
        mover = columns["mover"][code]
        assert mover == 1 + np.count_nonzero(marks_of_states(np.array([code]), 9)) % 2
        if mover == 2 and learner == "menace":
            assert np.isnan(columns["policy"][code]).all()
            continue
        values, cells = run.move_values(code), run.candidates(code)
        assert np.flatnonzero(columns["legal"][code]).tolist() == list(values)
        if learner == "menace":
            shares = {cell: share for cell, share in run.drawn_shares(code).items() if cell < 9}  # type: ignore[union-attr]
            assert {cell: columns["policy"][code, cell] for cell in shares} == shares
            continue
        assert np.flatnonzero(columns["best"][code]).tolist() == cells
        assert columns["policy"][code, cells] == pytest.approx(1 / len(cells))
        assert np.count_nonzero(columns["policy"][code]) == len(cells)
        numbers = run.move_preferences(code) if learner == "reinforce" else values
        np.testing.assert_array_equal(columns["q"][code, list(numbers)], [*numbers.values()])
        occupied = [cell for cell in range(9) if cell not in values]
        assert np.isnan(columns["q"][code, occupied]).all()


def test_the_file_says_what_it_holds(run: Run, content: bytes) -> None:
    with opened(content) as file:
        assert dict(file.attrs) | {
            **{"board": "3x3", "rows": 3, "columns": 3, "in_a_row": 3, "rules": "normal", "learner": "td"},
            **{"seed": 3, "games": 2000, "verdict_first": "can be beaten"},
        } == dict(file.attrs)
        assert json.loads(file.attrs["config"]) == run.config.to_dict()
        for name, dataset in file.items():
            assert {"meaning", "units", "source"} <= set(dataset.attrs), name
            for dim, size in zip(dataset.dims, dataset.shape, strict=True):
                assert dim.label in {"code", "cell", "player"}
                assert name == dim.label or [scale.shape for scale in dim.values()] == [(size,)]
        assert file["value"].compression == "gzip" and file["value"].shuffle
    assert content[:8] == b"\x89HDF\r\n\x1a\n" and content == encode(run)


@pytest.mark.slow
def test_xarray_opens_it_with_names_for_axes(run: Run, content: bytes) -> None:
    xarray = pytest.importorskip("xarray")
    with xarray.open_dataset(io.BytesIO(content), engine="h5netcdf") as data:
        assert data["q"].dims == ("code", "cell") and data["value"].dims == ("code",)
        assert float(data["value"].sel(code=0)) == run.value(0)
        assert int(data["best"].sel(code=0).argmax("cell")) == run.candidates(0)[0]


def test_networks_are_their_weights_and_tuples(pattern_run: Any) -> None:
    with opened(encode(pattern_run)) as file:
        cells, offset, weight = file["tuple_cells"][()], file["tuple_offset"][()], file["weight"][()]
        assert file.attrs["verdict_first"] == "proved"
    position = pattern_run.position("b2 a1 c3")
    values = pattern_run.move_values(position)
    totals: dict[int, float] = {}
    for cell in values:
        marks = np.array(position)
        marks[cell] = 2
        digits = np.where(cells >= 0, marks[cells], 0) * 3 ** np.arange(cells.shape[1])
        totals[cell] = -weight[offset + digits.sum(axis=1), 1].sum()
    assert sorted(totals, key=lambda cell: (totals[cell], cell)) == sorted(
        values, key=lambda cell: (values[cell], cell)
    )
    with pytest.raises(FormatError, match="it holds networks, which can only be read from their run file"):
        run_from_plain(encode(pattern_run))


def replaced(name: str, array: Any, **options: Any) -> Any:
    """A change that stores another array as a dataset."""

    def change(file: h5py.File) -> None:
        del file[name]
        file.create_dataset(name, data=array, **options).attrs["source"] = "table"

    return change


@pytest.mark.slow
@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda file: file.attrs.modify("format", "other"), "not a table of this package"),
        (lambda file: file.attrs.modify("config", "{}"), "not the configuration of a table"),
        (lambda file: file.attrs.modify("config", "[" * 10**4), "not the configuration of a table"),
        (lambda file: file.attrs.__delitem__("games"), "its HDF5 is damaged"),
        (lambda file: file.__delitem__("value"), "'value' is missing"),
        (lambda file: file.__setitem__("value", h5py.SoftLink("/code")), "not a dataset of this file"),
        (replaced("value", np.zeros(5)), "'value' is missing, or of another type or shape"),
        (replaced("value", np.zeros(19683, np.float32)), "'value' is missing, or of another type or shape"),
        (replaced("value", np.full(19683, 1e200)), "a number beyond 1e\\+100"),
        (replaced("value", np.full(19683, np.nan)), "holds NaN, which td never does"),
        (replaced("code", np.arange(19683)[::-1].copy()), "codes do not ascend"),
        (replaced("code", np.arange(3)), "some positions of board 3x3 are missing|another type or shape"),
        (replaced("value", None, shape=(1 << 28,), dtype=np.float64, compression="gzip"), "memory"),
    ],
)
def test_other_files_are_refused_in_a_line(change: Any, said: str, content: bytes) -> None:
    def safe(file: h5py.File) -> None:
        if said == "not a dataset of this file":
            del file["value"]
        change(file)

    with pytest.raises(FormatError, match=said) as refused:
        run_from_plain(changed(content, safe))
    assert "\n" not in str(refused.value)


def test_damaged_files_are_refused_in_a_line(content: bytes) -> None:
    for place in (60, len(content) // 2):
        damaged = content[:place] + bytes([content[place] ^ 0xFF]) + content[place + 1 :]
        try:
            run_from_plain(damaged)
        except FormatError as error:
            assert "\n" not in str(error)
    with pytest.raises(FormatError, match="its HDF5 is damaged"):
        run_from_plain(content[:4000])


@pytest.mark.sampled(1)
@pytest.mark.parametrize(
    ("name", "first"),
    [
        *(("t.h5", b"\x89HDF"), ("t.hdf5", b"\x89HDF"), ("t.npy", b"\x93NUMPY"), ("t.npz", b"PK"), ("t.csv", b"code,")),
        *(("t.json", b'{"board"'), ("t.jsonl", b'{"code": 0'), ("t.pkl", b"\x80"), ("t.pickle", b"\x80")),
        *(("t.html", b"<!"), ("t.txt", b"code,"), ("t.parquet", b"PAR1")),
    ],
)
def test_the_name_of_the_file_tells_the_format(name: str, first: bytes, run: Run, tmp_path: Any) -> None:
    if name.endswith("parquet"):
        pytest.importorskip("pyarrow")
    run.save("td.h5")
    assert run_here(["export", "td", "-o", name]) == 0
    assert (tmp_path / name).read_bytes().startswith(first)
    assert ttt.export_run(run, f"2{name}") and (tmp_path / f"2{name}").read_bytes().startswith(first)


def test_a_name_that_tells_no_format(run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    run.save("td.h5")
    for words in (["export", "td"], ["export", "td", "-o", "t.bin"], ["export", "td", "-o", "t"]):
        capsys.readouterr()
        assert run_here(words) == 2
        assert "one of: html, boxes, cards, hdf5, csv" in capsys.readouterr().err.replace("\n", " ")
    assert run_here(["export", "td", "--to", "h5"]) == 0
    assert "wrote td-table.h5" in capsys.readouterr().out


@pytest.mark.sampled(1)
@pytest.mark.parametrize("learner", ["td", "q-learning"])
@pytest.mark.parametrize("form", ["npy", "jsonl"])
def test_arrays_and_lines_come_back(learner: str, form: str) -> None:
    run = ttt.train(500, learner=learner)
    ttt.export_run(run, f"t.{form}")
    for named in (form, None):
        back = ttt.import_run(f"t.{form}", learner, form=named)
        np.testing.assert_array_equal(back.tables[0], run.tables[0])


@pytest.mark.slow
@pytest.mark.parametrize("options", [{}, {"learner": "minimax-q", "board": "2x3x2", "symmetry": "on"}])
def test_import_takes_a_table_back_by_what_the_file_holds(
    options: dict[str, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = ttt.train(300, **options)
    ttt.export_run(run, tmp_path / "table.h5")
    (tmp_path / "table.h5").rename(tmp_path / "table")
    status, _, err = command(capsys, "import", tmp_path / "table", "-o", tmp_path / "back.h5")
    taken = f"taken for a plain HDF5 table of {run.config.learner} on {run.board.name}"
    assert status == 0 and err.endswith(f"{taken}\n")  # perhaps after a line about compiling
    back = ttt.load(tmp_path / "back.h5")
    assert back.config.learner == run.config.learner and back.config.symmetry == run.config.symmetry
    for mine, theirs in zip(run.tables, back.tables, strict=True):
        np.testing.assert_array_equal(mine, theirs)


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    "options, said",
    [
        (["--learner", "sarsa"], "holds a table of td; leave --learner out"),
        (["--board", "4x4"], "holds a table of 3x3; leave --board out"),
        (["--player", "first"], "holds a table with its settings; leave --player out"),
        (["--draw-worth", "0.2"], "holds a table with its settings; leave --draw-worth out"),
        (["--keys", "0,1,2"], "holds a table with its settings; leave --keys out"),
        (["other.h5"], "2 files are given, but table.h5 holds both players; give only that one"),
    ],
)
def test_options_that_the_file_decides_are_refused(
    options: list[str], said: str, run: Run, capsys: pytest.CaptureFixture[str]
) -> None:
    ttt.export_run(run, "table.h5")
    status, out, err = command(capsys, "import", "table.h5", *options, "-o", "back.h5")
    assert (status, out) == (2, "") and said in err and not Path("back.h5").exists()


def test_the_format_may_be_named(run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    ttt.export_run(run, "table.h5")
    assert command(capsys, "import", "table.h5", "--format", "h5", "-o", "back.h5")[0] == 0
    Path("text").write_text("X........,0.5\n")
    status, _, err = command(capsys, "import", "text", "--format", "hdf5", "-o", "other.h5")
    assert status == 1 and err.startswith("ttt-batch: text: ") and err.count("\n") == 1
