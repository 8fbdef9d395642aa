"""Tables in and out: round trips, files shaped like the original programs' own, and everything that is refused."""

import collections
import functools
import json
import os
import pickle
import random
import struct
import sys
import zipfile
from dataclasses import replace

import numpy as np
import pytest

from ttt_batch.core.errors import TttBatchError, UsageError
from ttt_batch.games.board import Board
from ttt_batch.games.enumeration import enumerate_graph
from ttt_batch.runs.formats import FORMATS, read, write
from ttt_batch.runs.formats.base import ACTION_VALUES, POSITION_VALUES, STATES, FormatError, Table, marks_of_states
from ttt_batch.runs.formats.numbering import action_by_code, edges_from, states_of_rows, value_by_code, values_from
from ttt_batch.simulation.policy import Policy, chosen_edges

BOARD = Board()
SMALL = Board(2, 3, 2)
BOARDS = pytest.mark.parametrize("board", [BOARD, SMALL, Board(1, 1, 1), Board(2, 2, 2)], ids=lambda board: board.name)


def value_table(board: Board = BOARD, seed: int = 0) -> Table:
    """Values of all positions that occur, some left out, with awkward floats among them."""
    graph = enumerate_graph(board)
    rng = np.random.default_rng(seed)
    values = rng.normal(size=(2, graph.code.size))
    values[rng.random(values.shape) < 0.3] = np.nan
    values[:, 0] = 0.1 + 0.2, -0.0
    values[0, -1] = 5e-324
    return value_by_code(graph, values, board.cells)


def sparse_table() -> Table:
    """The same with a tenth of the entries, where a test reads many files."""
    table = value_table()
    table.value[:, np.random.default_rng(1).random(19_683) < 0.9] = np.nan
    return table


def action_table(board: Board = BOARD, seed: int = 0) -> Table:
    return Table(q=np.random.default_rng(seed).normal(size=(3**board.cells, board.cells)))


def state_list(board: Board = BOARD, *, actions: bool = False, occupied: bool = False) -> Table:
    graph = enumerate_graph(board, occupied)
    rng = np.random.default_rng(0)
    chosen = rng.random(graph.child.size) < 0.5
    if actions:
        return states_of_rows(graph, chosen, board.cells, q=rng.normal(size=graph.child.size))
    values = rng.normal(size=(2, graph.code.size))
    values[1, -1] = np.nan
    return states_of_rows(graph, chosen, board.cells, values=values)


def example(kind, board: Board = BOARD):
    return {POSITION_VALUES: value_table, ACTION_VALUES: action_table, STATES: state_list}[kind](board)


def assert_same_bits(found, expected) -> None:
    """The same numbers to the last bit; which nan does not matter."""
    assert found.dtype == expected.dtype
    if found.dtype != np.float64:
        assert np.array_equal(found, expected)
        return
    assert np.array_equal(np.isnan(found), np.isnan(expected))
    assert np.array_equal(np.nan_to_num(found).view(np.int64), np.nan_to_num(expected).view(np.int64))


def refused(call, *words: str) -> str:
    """The one line with which `call` is refused; it holds `words`."""
    with pytest.raises(FormatError) as caught:
        call()
    message = str(caught.value)
    assert "\n" not in message
    assert len(message) < 500
    for word in words:
        assert word in message
    return message


# Every format.

CASES = [(name, kind) for name, one in FORMATS.items() for kind in one.kinds]


@pytest.mark.sampled(15)
@pytest.mark.parametrize(("name", "kind"), CASES)
@BOARDS
def test_round_trip(tmp_path, name, kind, board):
    if name == "parquet":
        pytest.importorskip("pyarrow")
    one = FORMATS[name]
    paths = [tmp_path / f"{number}{one.suffix}" for number in range(1 + one.per_player)]
    for table in [example(kind, board), *([state_list(board, actions=True)] if kind == STATES else [])]:
        assert write(name, table, board, paths, overwrite=True) == paths
        back = read(name, paths, board, kind)
        assert back.more == table.more == {}
        for found, expected in zip(vars(back).values(), vars(table).values(), strict=True):
            if expected is table.more:
                continue
            unsigned = name == "csv" and expected is not None and expected.dtype == np.float64  # no zero has a sign
            assert found is expected or assert_same_bits(found, expected + 0.0 if unsigned else expected) is None
    assert sorted(tmp_path.iterdir()) == paths
    if kind == STATES:
        refused(lambda: read(name, paths, Board(3, 4, 3), kind), str(paths[0]))


@pytest.mark.sampled(1)
@pytest.mark.parametrize(("name", "kind"), CASES)
def test_contract(tmp_path, name, kind):
    if name == "parquet":
        pytest.importorskip("pyarrow")
    one, table = FORMATS[name], example(kind)
    assert one.name == name
    assert one.meaning
    paths = [tmp_path / f"table {number}{one.suffix}" for number in range(1 + one.per_player)]
    write(name, table, BOARD, paths)
    first = [path.read_bytes() for path in paths]
    refused(lambda: write(name, table, BOARD, paths), str(paths[0]), "exists", "overwrite=True")
    paths[-1].write_bytes(b"old")
    write(name, table, BOARD, paths, overwrite=True)
    assert [path.read_bytes() for path in paths] == first
    with pytest.raises(UsageError, match="files"):
        write(name, table, BOARD, [tmp_path / str(number) for number in range(2 + one.per_player)])
    with pytest.raises(UsageError, match="0 files"):
        write(name, table, BOARD, [])
    refused(lambda: write(name, table, BOARD, [tmp_path / "missing" / "a"]), "no folder")
    refused(lambda: write(name, table, BOARD, [tmp_path], overwrite=True), "not an ordinary file")
    refused(lambda: write(name, table, SMALL, [tmp_path / "a"]), "shape", "must have")
    for other in (POSITION_VALUES, ACTION_VALUES, STATES):
        if other not in one.kinds:
            with pytest.raises(UsageError, match="does not hold"):
                write(name, example(other), BOARD, [tmp_path / "a"])
    assert sorted(tmp_path.iterdir()) == paths


@pytest.mark.parametrize("name", FORMATS)
def test_files_that_are_no_tables(tmp_path, name):
    kind = FORMATS[name].kinds[0]
    path = tmp_path / "table"
    refused(lambda: read(name, [path], BOARD, kind), "no such file")
    refused(lambda: read(name, [tmp_path], BOARD, kind), "it is a folder; name a file in it")
    noise = np.random.default_rng(0).bytes(5000)
    for content in (b"", b"\n", b"\x00", b"[1, 2]", b"\xff\xfe", noise, "é,1\n".encode("latin-1")):
        path.write_bytes(content)
        refused(lambda: read(name, [path], BOARD, kind), str(path))
    with path.open("wb") as file:
        file.truncate(10**9)
    refused(lambda: read(name, [path], BOARD, kind), "1,000,000,000 bytes")
    os.mkfifo(tmp_path / "pipe")
    refused(lambda: read(name, [tmp_path / "pipe"], BOARD, kind), "not an ordinary file")
    with pytest.raises(UsageError, match="unknown format"):
        read("xls", [path], BOARD, kind)
    if kind != STATES:
        with pytest.raises(UsageError, match="at most 12"):
            read(name, [path], Board(4, 4, 4), kind)


def test_two_files_are_written_together(tmp_path, monkeypatch):
    first, second = tmp_path / "first", tmp_path / "second"
    table = value_table()
    second.write_bytes(b"kept")
    refused(lambda: write("pickle", table, BOARD, [first, second]), "second", "exists")
    second.unlink()
    refused(lambda: write("pickle", table, BOARD, [first, first]), "named twice")

    def appear(self, other):
        second.write_bytes(b"somebody else's")
        os.link(other, self)

    monkeypatch.setattr("pathlib.Path.hardlink_to", appear)
    refused(lambda: write("pickle", table, BOARD, [first, second]), "second", "exists")
    assert second.read_bytes() == b"somebody else's"
    assert list(tmp_path.iterdir()) == [second]


@pytest.mark.parametrize(("name", "kind"), CASES)
def test_infinity_is_not_written(tmp_path, name, kind):
    table = example(kind)
    (table.q if table.value is None else table.value).flat[0] = -np.inf
    refused(lambda: write(name, table, BOARD, [tmp_path / "a"]), "inf", "code 0", "finite")


@pytest.mark.parametrize("name", ["csv", "raw"])
def test_missing_action_values_are_not_written(tmp_path, name):
    table = action_table()
    table.q[19_682, 8] = np.nan
    refused(lambda: write(name, table, BOARD, [tmp_path / "a"]), "missing", "fill")


# csv


@pytest.mark.slow
def test_action_csv_is_what_savetxt_writes(tmp_path):
    table, path, theirs = action_table(), tmp_path / "q.csv", tmp_path / "theirs.csv"
    write("csv", table, BOARD, [path])
    np.savetxt(theirs, table.q, delimiter=",")
    assert path.read_bytes() == theirs.read_bytes()
    assert np.array_equal(np.loadtxt(path, delimiter=","), table.q)


def test_value_csv(tmp_path):
    path = tmp_path / "v.csv"
    value = np.full((2, 19_683), np.nan)
    value[0, 0], value[:, 1], value[1, 7] = 0.5, (1 / 3, -1.0), 1e-300
    write("csv", Table(value), BOARD, [path])
    lines = path.read_text().splitlines()
    assert lines[:3] == ["code,board,first,second", "0,.........,0.5,", "1,X........,0.3333333333333333,-1.0"]
    assert lines[8] == "7,XO.......,,1e-300"
    assert lines[19_683] == "19682,OOOOOOOOO,,"
    assert len(lines) == 19_684
    # What a spreadsheet makes of it: another header case, line ends, a byte order mark.
    text = "\ufeff" + "\r\n".join(["Code,Board,First,Second", *lines[1:]])
    path.write_bytes(text.encode())
    assert_same_bits(read("csv", [path], BOARD, POSITION_VALUES).value, value)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda lines: lines[:-1], ["19,682 lines", "19,683"]),
        (lambda lines: [*lines, lines[0]], ["19,684 lines"]),
        (lambda lines: lines[: 3**6], ["729 lines", "6 cells"]),
        (lambda lines: [*lines[:9], lines[9] + ",1", *lines[10:]], ["line 10", "10 numbers", "must have 9"]),
        (lambda lines: [lines[0].rpartition(",")[0], *lines[1:]], ["line 1 has 8"]),
        (lambda lines: [lines[0].replace("0,", "nan,", 1), *lines[1:]], ["line 1", "'nan'", "finite"]),
        (lambda lines: [lines[0].replace("0,", "1e999,", 1), *lines[1:]], ["'1e999'"]),
        (lambda lines: [lines[0].replace("0,", "1_0,", 1), *lines[1:]], ["'1_0'"]),
        (lambda lines: [lines[0].replace("0,", ",", 1), *lines[1:]], ["''"]),
        (lambda lines: [*lines[:5], "", *lines[5:]], ["line 6"]),
    ],
)
def test_damaged_action_csv(tmp_path, change, words):
    path = tmp_path / "q.csv"
    path.write_text("\n".join(change(["0,1,2,3,4,5,6,7,8"] * 19_683)) + "\n")
    refused(lambda: read("csv", [path], BOARD, ACTION_VALUES), str(path), *words)


@pytest.mark.sampled(6)
@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("1,X........,0.5,0.5\n", "", ["line 3", "X........", "order"]),
        ("1,X........,0.5,0.5", "1,x........,0.5,0.5", ["line 3", "x........"]),
        ("1,X........,0.5,0.5", "1,X........,0.5", ["line 3", "3 fields"]),
        ("1,X........,0.5,0.5", "1,X........,0.5,nan", ["line 3", "'nan'"]),
        ("2,O........,,", "2,O........,1,", ["O........", "as many marks", "3x3"]),
        ("19682,OOOOOOOOO,,\n", "", ["19,682 lines after the header"]),
        ("19682,OOOOOOOOO,,\n", "19682,OOOOOOOOO,,\n19683,,,\n", ["19,684 lines"]),
        ("code,board,first,second\n", "", ["line 1", "header"]),
    ],
)
def test_damaged_value_csv(tmp_path, old, new, words):
    path = tmp_path / "v.csv"
    value = np.full((2, 19_683), np.nan)
    value[:, 1] = 0.5
    write("csv", Table(value), BOARD, [path])
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))
    refused(lambda: read("csv", [path], BOARD, POSITION_VALUES), str(path), *words)


def test_csv_of_another_kind_or_board(tmp_path):
    values, actions = tmp_path / "v.csv", tmp_path / "q.csv"
    write("csv", value_table(SMALL), SMALL, [values])
    write("csv", action_table(SMALL), SMALL, [actions])
    refused(lambda: read("csv", [values], BOARD, POSITION_VALUES), "......", "3x3")
    refused(lambda: read("csv", [actions], BOARD, ACTION_VALUES), "6 numbers", "3x3")
    refused(lambda: read("csv", [values], SMALL, ACTION_VALUES), "position values", "learner")
    refused(lambda: read("csv", [actions], SMALL, POSITION_VALUES), "action values", "learner")


# raw


def test_raw_is_little_endian_doubles(tmp_path):
    path, table = tmp_path / "q.bin", action_table()
    write("raw", table, BOARD, [path])
    content = path.read_bytes()
    assert len(content) == 1_417_176
    assert struct.unpack_from("<9d", content, 72 * 5) == tuple(table.q[5])


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (bytes(1_417_175), ["1,417,175 bytes", "1,417,176"]),
        (bytes(8 * 729 * 6), ["34,992 bytes", "6 cells"]),
        (struct.pack("<d", float("nan")) + bytes(1_417_168), ["code 0", "cell 0", "nan"]),
        (bytes(1_417_168) + struct.pack("<d", float("-inf")), ["code 19682", "-inf"]),
    ],
)
def test_damaged_raw(tmp_path, content, words):
    path = tmp_path / "q.bin"
    path.write_bytes(content)
    refused(lambda: read("raw", [path], BOARD, ACTION_VALUES), str(path), *words)


# pickle


def number_key(marks) -> np.float64:
    """The key as the original program computes it, from its array of 1, -1 and 0."""
    key = 0
    for one in np.array([{0: 0, 1: 1, 2: -1}[int(mark)] for mark in marks], dtype=float):
        key = key * 3 + one + 1
    return key


def entries_of(value) -> list[tuple[np.ndarray, float]]:
    codes = np.flatnonzero(~np.isnan(value))
    return list(zip(marks_of_states(codes, 9), value[codes].tolist(), strict=True))


@pytest.mark.sampled(1)
@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
@pytest.mark.parametrize("module", ["numpy._core.multiarray", "numpy.core.multiarray"])
def test_numbers_as_the_original_writes_them(tmp_path, protocol, module):
    value = sparse_table().value
    paths = [tmp_path / "policy_first.bin", tmp_path / "policy_second.bin"]
    for path, own in zip(paths, value, strict=True):
        entries = {number_key(marks): np.float64(one) for marks, one in entries_of(own)}
        assert all(type(key) is np.float64 for key in entries)
        content = pickle.dumps(entries, protocol=protocol)
        if module == "numpy.core.multiarray":
            here, there = b"numpy._core.multiarray", module.encode()
            content = content.replace(bytes([len(here)]) + here, bytes([len(there)]) + there).replace(here, there)
        path.write_bytes(content)
    assert_same_bits(read("pickle", paths, BOARD, POSITION_VALUES).value, value)


@pytest.mark.parametrize("convert", [int, float, np.int64, np.float32, np.uint16])
def test_keys_may_be_any_plain_number(tmp_path, convert):
    path, value = tmp_path / "policy", sparse_table().value
    path.write_bytes(pickle.dumps({convert(number_key(marks)): one for marks, one in entries_of(value[0])}))
    assert_same_bits(read("pickle", [path], BOARD, POSITION_VALUES).value[0], value[0])


def test_big_endian_scalars(tmp_path):
    path = tmp_path / "policy"
    content = pickle.dumps({np.float64(9841): np.float64(0.25)}, protocol=2)
    big = content.replace(b"<", b">")
    for number in (9841.0, 0.25):
        escaped = [struct.pack(f"{order}d", number).decode("latin-1").encode() for order in "<>"]
        assert escaped[0] in big
        big = big.replace(
            struct.pack("<I", len(escaped[0])) + escaped[0], struct.pack("<I", len(escaped[1])) + escaped[1]
        )
    path.write_bytes(big)
    assert pickle.loads(big) == {9841.0: 0.25}
    assert read("pickle", [path], BOARD, POSITION_VALUES).value[0, 0] == 0.25


def test_written_numbers_are_what_the_original_looks_up(tmp_path):
    value = value_table().value
    paths = [tmp_path / "first", tmp_path / "second"]
    write("pickle", Table(value), BOARD, paths)
    for path, own in zip(paths, value, strict=True):
        found = pickle.loads(path.read_bytes())
        assert {type(number) for entry in found.items() for number in entry} == {float}
        assert len(found) == np.count_nonzero(~np.isnan(own))
        for marks, one in entries_of(own)[::7]:
            assert found[number_key(marks)] == one
            assert found[int(number_key(marks))] == one


def test_written_text_is_what_numpy_prints(tmp_path):
    value, path = sparse_table().value, tmp_path / "policy_p1"
    write("pickle-text", Table(value), BOARD, [path])
    found = pickle.loads(path.read_bytes())
    for marks, one in entries_of(value[0]):
        assert found.pop(str(np.where(marks == 2, -1.0, marks))) == one
    assert not found


SPACINGS = {
    "1.13": lambda cells: np.array2string(cells, formatter={"float": lambda x: f"{x: .0f}."}),
    "wide": lambda cells: np.array2string(cells, formatter={"float": lambda x: f"{x:7.1f}"}),
    "wrapped": lambda cells: np.array2string(cells, max_line_width=12),
    "scientific": lambda cells: np.array2string(cells, formatter={"float": lambda x: f"{x:.8e}"}),
    "negative zero": lambda cells: np.array2string(np.where(cells == 0, -0.0, cells)),
    "tight": lambda cells: "[" + " ".join(f"{x:g}" for x in cells) + "]",
}


@pytest.mark.sampled(1)
@pytest.mark.parametrize("spacing", SPACINGS)
@pytest.mark.parametrize("protocol", [0, 2, 4])
def test_text_in_any_spacing(tmp_path, spacing, protocol):
    path, value = tmp_path / "policy_p1", sparse_table().value
    entries = {SPACINGS[spacing](np.where(marks == 2, -1.0, marks)): one for marks, one in entries_of(value[1])}
    path.write_bytes(pickle.dumps(entries, protocol=protocol))
    for name in ("pickle", "pickle-text"):
        table = read(name, [path], BOARD, POSITION_VALUES, player="second")
        assert np.isnan(table.value[0]).all()
        expected = dict.fromkeys(range(19_683), np.nan)
        expected |= {BOARD.encode(tuple(marks.tolist())): one for marks, one in entries_of(value[1])}
        assert_same_bits(table.value[1], np.array(list(expected.values())))


def test_strings_of_python_2(tmp_path):
    path = tmp_path / "policy_p1"
    text = b"[ 0.  0.  0.  0.  1.  0.  0.  0.  0.]"
    path.write_bytes(b"(dp0\nS'" + text + b"'\np1\nF0.5\ns.")
    assert read("pickle", [path], BOARD, POSITION_VALUES).value[0, 3**4] == 0.5
    path.write_bytes(b"\x80\x02}U" + bytes([len(text)]) + text + b"K\x01s.")
    assert read("pickle", [path], BOARD, POSITION_VALUES).value[0, 3**4] == 1.0


def test_one_player(tmp_path):
    value, path = sparse_table().value, tmp_path / "policy"
    write("pickle", Table(value), BOARD, [path], player="second")
    assert_same_bits(read("pickle", [path], BOARD, POSITION_VALUES, player="second").value[1], value[1])
    assert_same_bits(read("pickle", [path], BOARD, POSITION_VALUES).value[0], value[1])
    assert np.isnan(read("pickle", [path], BOARD, POSITION_VALUES, player="first").value[1]).all()
    with pytest.raises(UsageError, match="third"):
        read("pickle", [path], BOARD, POSITION_VALUES, player="third")
    with pytest.raises(UsageError, match="both players"):
        read("pickle", [path, path], BOARD, POSITION_VALUES, player="first")
    with pytest.raises(UsageError, match="both players"):
        read("csv", [path], BOARD, POSITION_VALUES, player="first")


EMPTY = 9841.0
BIG = "[1. 0. 0. 0. 0. 0. 0. 0. 0.]"


@pytest.mark.parametrize(
    ("entries", "words"),
    [
        ({}, ["empty"]),
        ([1.0], ["a list", "not a dictionary"]),
        ({19_683: 1.0}, ["19683", "3x3", "19682"]),
        ({0.5: 1.0}, ["0.5"]),
        ({float("nan"): 1.0}, ["nan"]),
        ({10**400: 1.0}, ["64 bits"]),
        ({EMPTY: 10**400}, ["64 bits"]),
        ({EMPTY: float("nan")}, ["9841.0", "nan", "finite"]),
        ({EMPTY: np.float64("-inf")}, ["-inf"]),
        ({EMPTY: True}, ["a bool"]),
        ({True: 1.0}, ["a bool"]),
        ({EMPTY: "1.0"}, ["a str"]),
        ({EMPTY: {1.0: 2.0}}, ["a dict"]),
        ({(1.0,): 1.0}, ["a tuple"]),
        ({EMPTY: 1j}, ["builtins.complex"]),
        ({EMPTY: np.complex128(1)}, ["'c16'"]),
        ({EMPTY: np.bool_(True)}, ["'b1'"]),
        ({EMPTY: np.longdouble(1)}, ["NumPy type"]),
        ({EMPTY: np.array(1.0)}, ["a ndarray, not a number"]),
        ({0.0: 1.0}, ["OOOOOOOOO", "as many marks"]),
        ({EMPTY: 1.0, "[0. 0. 0. 0. 0. 0. 0. 0. 0.]": 2.0}, ["another key"]),
        ({BIG: 1.0, BIG.replace("[", "[ "): 1.0}, ["another key"]),
        ({"[1. 0. 0. 0. 0. 0.]": 1.0}, ["6 cells", "has 9"]),
        ({BIG.replace("1.", "2."): 1.0}, ["1, -1 and 0"]),
        ({BIG.replace("1.", "x"): 1.0}, ["1, -1 and 0"]),
        ({BIG.replace("1.", "1.\x1b[2J"): 1.0}, ["\\x1b"]),
        ({"": 1.0}, ["0 cells"]),
        ({EMPTY: collections.deque()}, ["collections.deque"]),
        ({n + 0.5: 1.0 for n in range(19_684)}, ["19,683"]),
    ],
)
def test_pickles_that_are_no_tables(tmp_path, entries, words):
    path = tmp_path / "policy"
    path.write_bytes(pickle.dumps(entries, protocol=4))  # Python 3.14 writes arrays in another way by default
    refused(lambda: read("pickle", [path], BOARD, POSITION_VALUES), str(path), *words)


def test_pickle_of_another_board(tmp_path):
    path = tmp_path / "policy"
    for name in ("pickle", "pickle-text"):
        write(name, value_table(), BOARD, [path], overwrite=True)
        refused(lambda: read("pickle", [path], SMALL, POSITION_VALUES), "own board")
        refused(lambda: read("pickle", [path], Board(3, 4, 3), POSITION_VALUES), "3x4x3", "own board")


class Asks:
    """Pickled as a call."""

    def __init__(self, *call):
        self.call = call

    def __reduce__(self):
        return self.call


class Text(str):
    def __reduce__(self):
        return (str, ("x",))


def shared_lists():
    """Lists that take 200 bytes in a pickle, and 2**60 characters as text."""
    return functools.reduce(lambda found, _: [found, found], range(60), [])


def short(text: str) -> bytes:
    return b"\x8c" + bytes([len(text)]) + text.encode()


def numpy_call(module: str, name: str, *arguments: object) -> bytes:
    """A call of a name with plain arguments, as the bytes of a pickle."""
    plain = pickle.dumps(arguments, 3)[2:-1]
    return b"\x80\x04" + short(module) + short(name) + b"\x93" + plain + b"R."


TOUCH = "touched"


def nested_through_the_memo(depth: int) -> bytes:
    """Tuples nested as arguments of `numpy.dtype`, each kept in the memo, and the last one as a key."""
    step = b"cnumpy\ndtype\nX\x02\x00\x00\x00f8h\x00\x86q\x00R0"
    return b"\x80\x02)q\x00cnumpy\ndtype\nX\x02\x00\x00\x00f8\x85R0" + step * depth + b"}h\x00K\x01s."


HOSTILE = {
    "system": lambda: pickle.dumps(Asks(os.system, (f"echo > {TOUCH}",))),
    "as a key": lambda: pickle.dumps({Asks(os.system, (f"echo > {TOUCH}",)): 1.0}),
    "before the table": lambda: b"\x80\x02cposix\nsystem\n(X\x0e\x00\x00\x00echo > touchedtR0}K\x01K\x01s.",
    "eval": lambda: pickle.dumps(Asks(eval, (f"open({TOUCH!r}, 'w')",))),
    "getattr": lambda: b"cbuiltins\ngetattr\n(cnumpy\ndtype\nS'type'\ntR.",
    "dotted": lambda: numpy_call("numpy", "dtype.__class__", 1),
    "our own module": lambda: numpy_call("ttt_batch.runs.formats.format_pickles", "BytesIO", 1),
    "numpy.save": lambda: numpy_call("numpy", "save", TOUCH, 1),
    "numpy array": lambda: pickle.dumps(np.zeros(3)),
    "object array": lambda: pickle.dumps(np.array([None])),
    "imports": lambda: numpy_call("antigravity", "x"),
    "dtype of an object": lambda: pickle.dumps(np.dtype(object)),
    "dtype of a record": lambda: pickle.dumps(np.dtype([("a", "f8")])),
    "dtype of an expression": lambda: numpy_call("numpy", "dtype", "(1000000,1000000)f8"),
    "dtype of a call": lambda: pickle.dumps(Asks(np.dtype, (Asks(os.system, (f"echo > {TOUCH}",)),))),
    "dtype of shared lists": lambda: pickle.dumps(Asks(np.dtype, (shared_lists(),))),
    "dtype of nothing": lambda: numpy_call("numpy", "dtype"),
    "scalar of an object": lambda: pickle.dumps({1.0: np.void(b"x")}),
    "scalar of nothing": lambda: numpy_call("numpy._core.multiarray", "scalar"),
    "scalar without type": lambda: numpy_call("numpy._core.multiarray", "scalar", "f8", b"12345678"),
    "scalar of seven bytes": lambda: pickle.dumps({1.0: np.float64(1)}).replace(b"C\x08\x00", b"C\x07"),
    "encode with a codec": lambda: numpy_call("_codecs", "encode", "x", "rot13"),
    "encode a long text": lambda: numpy_call("_codecs", "encode", "x" * 100_000, "latin1"),
    "call of a value": lambda: b"K\x01)R.",
    "call without tuple": lambda: b"cnumpy\ndtype\nK\x01R.",
    "state of a dict": lambda: b"}(K\x01K\x02tb.",
    "state of a name": lambda: b"cnumpy\ndtype\n}b.",
    "nested through the memo": lambda: nested_through_the_memo(100_000),
    "state of another order": lambda: b"cnumpy\ndtype\n(X\x02\x00\x00\x00f8tR(K\x03X\x01\x00\x00\x00!tb.",
    "instance": lambda: b"(iposix\nsystem\n.",
    "object": lambda: b"(cposix\nsystem\nX\x01\x00\x00\x00xo.",
    "new object": lambda: b"cnumpy\ndtype\n)\x81.",
    "new object with keywords": lambda: b"\x80\x04cnumpy\ndtype\n)}\x92.",
    "name not text": lambda: b"\x80\x04K\x01K\x02\x93.",
    "subclass": lambda: pickle.dumps({Text("y"): 1.0}),
    "persistent": lambda: b"\x80\x04}X\x02\x00\x00\x00idQG?\xf0\x00\x00\x00\x00\x00\x00s.",
    "extension": lambda: b"\x80\x02\x82\xc8.",
    "set": lambda: pickle.dumps({1.0, 2.0}),
    "bytearray": lambda: pickle.dumps(bytearray(b"x"), 5),
    "out of band": lambda: b"\x80\x05\x97.",
    "nested tuples": lambda: b"\x80\x02}(" + b")" + b"\x85" * 1_000_000 + b"K\x01u.",
    "nested marks": lambda: b"(" * 1_000_000 + b".",
    "nested lists": lambda: b"]" * 100_000 + b"a" * 99_999 + b".",
    "nested dicts": lambda: b"K\x01}" * 100_000 + b"s" * 99_999 + b".",
    "itself": lambda: b"}q\x00K\x01h\x00s.",
    "a long stack": lambda: b"N" * 1_000_000 + b".",
    "a long memo": lambda: b"}" + b"\x94" * 1_000_000 + b".",
    "a far memo": lambda: b"\x80\x02}r\xff\xff\xff\xff.",
    "a far memo in text": lambda: b"\x80\x02}p9223372036854775807\n.",
    "memo of nothing": lambda: b"h\x07.",
    "copies": lambda: b"\x80\x04X\x00\x00\x10\x00" + b"x" * 0x100000 + b"\x94(" + b"h\x00" * 100_000 + b"t.",
    "huge bytes": lambda: b"\x80\x04\x8e" + struct.pack("<Q", 2**62) + b"x.",
    "huge text": lambda: b"\x80\x04\x8d" + struct.pack("<Q", 2**62) + b"x.",
    "huge bytearray": lambda: b"\x80\x05\x96" + struct.pack("<Q", 2**62) + b"x.",
    "huge number": lambda: b"\x80\x02\x8b" + struct.pack("<i", 2**31 - 1) + b"x.",
    "negative number": lambda: b"\x80\x02\x8b" + struct.pack("<i", -1) + b"x.",
    "long number": lambda: b"L" + b"9" * 100_000 + b"L\n.",
    "long number, binary": lambda: b"}\x8b" + struct.pack("<i", 10**6) + b"\x7f" * 10**6 + b"K\x01s.",
    "huge frame": lambda: b"\x80\x04\x95" + struct.pack("<Q", 2**62) + b"N.",
    "short frame": lambda: b"\x80\x04\x95" + struct.pack("<Q", 1) + b"cposix\nsystem\n.",
    "later protocol": lambda: b"\x80\xffN.",
    "no stop": lambda: b"}",
    "stop at once": lambda: b".",
    "mark left": lambda: b"(}.",
    "two left": lambda: b"}}.",
    "after the end": lambda: pickle.dumps({EMPTY: 1.0}) + b"x",
    "odd items": lambda: b"}(K\x01u.",
    "items for a tuple": lambda: b")K\x01K\x02s.",
    "unknown operation": lambda: b"\xfe.",
    "needless operation": lambda: pickle.dumps({EMPTY: 1.0}, 2)[:-1] + pickle.DUP + b".",
    "bad text": lambda: b"\x8c\x01\xff.",
    "bad escape": lambda: b"V\\u12\n.",
}


@pytest.mark.slow
@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_pickles(tmp_path, name):
    content = HOSTILE[name]()
    before = set(sys.modules)
    path = tmp_path / "policy"
    path.write_bytes(content)
    refused(lambda: read("pickle", [path], BOARD, POSITION_VALUES), str(path))
    assert not (tmp_path / TOUCH).exists()
    # Python itself loads the codec that a text asks for; nothing else is imported.
    assert not {name for name in set(sys.modules) - before if not name.startswith("encodings.")}


@pytest.mark.slow
def test_a_hostile_pickle_would_have_run(tmp_path):
    pickle.loads(HOSTILE["eval"]().replace(b"'w'", b"'x'")).close()
    assert (tmp_path / TOUCH).exists()


def test_frames_need_not_be_right(tmp_path):
    path = tmp_path / "policy"
    body = pickle.dumps({EMPTY: 0.5}, 3)[2:]
    path.write_bytes(b"\x80\x04\x95" + struct.pack("<Q", 2**63) + body)
    assert read("pickle", [path], BOARD, POSITION_VALUES).value[0, 0] == 0.5


def test_damaged_pickles_meet_no_other_error(tmp_path):
    """Every byte of a small pickle changed at random: a table or one line, never another exception."""
    path = tmp_path / "policy"
    rng = random.Random(0)
    counted = collections.Counter()
    for protocol in (0, 2, 4):
        original = pickle.dumps({np.float64(EMPTY): np.float64(0.5), 9842: 1}, protocol)
        for _ in range(150):
            content = bytearray(original)
            for _ in range(rng.randint(1, 3)):
                content[rng.randrange(len(content))] = rng.randrange(256)
            path.write_bytes(content[: rng.choice([len(content), rng.randrange(len(content))])])
            try:
                table = read("pickle", [path], BOARD, POSITION_VALUES)
            except TttBatchError as error:
                assert "\n" not in str(error)
                counted["refused"] += 1
            else:
                assert not np.isinf(table.value).any()
                counted["read"] += 1
    assert min(counted.values()) > 8


# Lists of states.


def test_arrays_of_a_board_with_other_rules_name_it(tmp_path):
    board, path, old = Board(3, 3, 3, gravity=True), tmp_path / "new.npz", tmp_path / "old.npz"
    write("npz", state_list(board), board, [path])
    with pytest.raises(FormatError, match="of board '3x3-gravity', not 3x3; give board"):
        read("npz", [path], BOARD, None)
    with np.load(path) as arrays:
        kept = dict(arrays)
    listed, pickled = tmp_path / "listed.npz", tmp_path / "pickled.npz"
    np.savez(listed, **kept | {"board_name": [board.name]})
    np.savez(old, **{name: array for name, array in kept.items() if name != "board_name"})
    for file in (path, listed, old):
        assert read("npz", [file], board, None).code.size == enumerate_graph(board).code.size
    for name in ("board_name", "rows_cols_k"):
        np.savez(pickled, **kept | {name: kept[name].astype(object)})
        with pytest.raises(FormatError, match="does not hold NumPy arrays"):
            read("npz", [pickled], board, None)


@pytest.mark.sampled(1)
@pytest.mark.parametrize("actions", [False, True])
@pytest.mark.parametrize("board", [BOARD, SMALL], ids=lambda board: board.name)
def test_lists_say_the_same(tmp_path, actions, board):
    pq = pytest.importorskip("pyarrow.parquet")
    table = state_list(board, actions=actions)
    for name in ("npz", "json", "parquet"):
        write(name, table, board, [tmp_path / name])
    with np.load(tmp_path / "npz", allow_pickle=False) as npz:
        arrays = dict(npz)
    records = json.loads((tmp_path / "json").read_text())
    columns = pq.read_table(tmp_path / "parquet")
    rows = columns.to_pylist()
    assert arrays["rows_cols_k"].tolist() == [board.rows, board.cols, board.k]
    assert [records[name] for name in ("board", "rows", "cols", "k")] == [board.name, board.rows, board.cols, board.k]
    assert columns.schema.metadata[b"ttt-batch board"].decode() == board.name
    assert len(rows) == len(records["states"]) == arrays["code"].size == enumerate_graph(board).code.size
    none = {True: None}
    for i in range(0, len(rows), 5):
        code = int(table.code[i])
        marks = board.decode(code)
        outcome = board.outcome(marks)
        placed = board.cells - marks.count(0)
        mover = 0 if outcome else 1 + placed % 2
        names = (None, "first", "second")
        words = ("unfinished", "first wins", "second wins", "draw")
        text = "".join(".XO"[mark] for mark in marks)
        state = records["states"][i]
        assert (arrays["code"][i], arrays["board"][i]) == (code, text)
        assert (arrays["to_move"][i], arrays["outcome"][i]) == (mover, outcome)
        for record in (state, rows[i]):
            assert [record[key] for key in ("code", "board", "to_move", "outcome")] == [
                code,
                text,
                names[mover],
                words[outcome],
            ]
            assert record["best"] == np.flatnonzero(table.best[i]).tolist()
        assert arrays["best"][i].tolist() == table.best[i].tolist()
        if actions:
            q = [none.get(x != x, x) for x in table.q[i].tolist()]
            assert state["q"] == q == [rows[i][f"q{cell}"] for cell in range(board.cells)]
            assert np.array_equal(arrays["q"][i], table.q[i], equal_nan=True)
        else:
            own = [none.get(x != x, x) for x in table.value[:, i].tolist()]
            assert own == [state["value"]["first"], state["value"]["second"]]
            assert own == [rows[i]["value_first"], rows[i]["value_second"]]
            assert np.array_equal(
                [arrays["value_first"][i], arrays["value_second"][i]], table.value[:, i], equal_nan=True
            )


def test_lists_are_for_boards_of_any_size(tmp_path):
    board = Board(5, 5, 5)
    code = np.array([0, 3**24, 3**24 + 2], dtype=np.int64)
    table = Table(np.zeros((2, 3)), None, code, np.zeros(3, np.int8), np.ones((3, 25), np.bool_))
    write("json", table, board, [tmp_path / "states"])
    states = json.loads((tmp_path / "states").read_text())["states"]
    assert states[2]["board"] == "O" + "." * 23 + "X"
    assert [state["to_move"] for state in states] == ["first", "second", "first"]
    refused(lambda: write("json", table, Board(4, 4, 4), [tmp_path / "other"]), "shape")


def test_lists_need_values_of_one_kind(tmp_path):
    table = state_list()
    both = replace(table, q=np.zeros((table.code.size, 9)))
    refused(lambda: write("npz", both, BOARD, [tmp_path / "a"]), "either values or action values")
    refused(lambda: write("npz", replace(table, value=None), BOARD, [tmp_path / "a"]), "either values or action values")


def test_arrays_that_say_they_are_larger_than_the_memory_are_damaged(tmp_path):
    header = b"{'descr': '<f8', 'fortran_order': False, 'shape': (100000000000000,), }\n"
    with zipfile.ZipFile(tmp_path / "a.npz", "w") as packed:
        packed.writestr("q.npy", b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header)
    refused(
        lambda: read("npz", [tmp_path / "a.npz"], BOARD, STATES), "its array 'q.npy' is larger than any of this board"
    )


def test_parquet_without_pyarrow(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    refused(lambda: write("parquet", state_list(), BOARD, [tmp_path / "a"]), "pip install 'ttt-batch[parquet]'")
    assert not list(tmp_path.iterdir())


# Rows and edges.


@BOARDS
@pytest.mark.parametrize("occupied", [False, True])
def test_values_by_row_and_code(board, occupied):
    graph = enumerate_graph(board, occupied)
    values = np.random.default_rng(0).normal(size=(2, graph.code.size))
    values[0, 1] = np.nan
    table = value_by_code(graph, values, board.cells)
    for row, code in enumerate(graph.code.tolist()):
        if code >= 0:
            assert np.array_equal(table.value[:, code], values[:, row], equal_nan=True)
    real = graph.code >= 0
    assert np.count_nonzero(~np.isnan(table.value)) == np.count_nonzero(~np.isnan(values[:, real]))
    fill = np.full_like(values, 7.0)
    back = values_from(graph, table, fill)
    expected = np.where(real & ~np.isnan(values), values, 7.0)
    assert np.array_equal(back, expected)
    assert (fill == 7.0).all()


def test_values_of_another_board_are_refused():
    # On 3x3 with two in a row many positions of the classic never occur.
    graph = enumerate_graph(Board(3, 3, 2))
    table = value_table()
    message = refused(lambda: values_from(graph, table, np.zeros((2, graph.code.size))), "do not occur")
    assert "own board" in message


@BOARDS
@pytest.mark.parametrize("occupied", [False, True])
def test_actions_by_edge_and_code(board, occupied):
    graph = enumerate_graph(board, occupied)
    rng = np.random.default_rng(0)
    q, background = rng.normal(size=graph.child.size), np.full((3**board.cells, board.cells), -1.0)
    table = action_by_code(graph, np.ones(q.size, np.bool_), q, background)
    assert (background == -1.0).all()
    touched = np.zeros(table.q.shape, np.bool_)
    for row in range(graph.first_edge.size - 1):
        for edge in range(graph.first_edge[row], graph.first_edge[row + 1]):
            assert table.q[graph.code[row], graph.cell[edge]] == q[edge]
            touched[graph.code[row], graph.cell[edge]] = True
    assert (table.q[~touched] == -1.0).all()
    fill = np.full(q.size, 7.0)
    assert np.array_equal(edges_from(graph, table, fill), q)
    table.q[0, 0] = np.nan
    assert edges_from(graph, table, fill).tolist() == [7.0, *q[1:].tolist()]


def test_best_cells_of_a_policy():
    graph = enumerate_graph(BOARD)
    rng = np.random.default_rng(0)
    ordered = np.arange(graph.child.size, dtype=np.int32)
    best = np.ones(graph.first_edge.size - 1, np.int32)
    expected = []
    for row in range(best.size):
        own = slice(graph.first_edge[row], graph.first_edge[row + 1])
        ordered[own] = rng.permutation(ordered[own])
        best[row] = rng.integers(1, own.stop - own.start + 1)
        expected.append(sorted(graph.cell[ordered[own][: best[row]]].tolist()))
    table = states_of_rows(graph, chosen_edges(graph, Policy(ordered, best)), 9, values=np.zeros((2, graph.code.size)))
    assert [np.flatnonzero(row).tolist() for row in table.best[: best.size]] == expected
    assert not table.best[best.size :].any()


def test_forfeits_are_not_listed(tmp_path):
    table = state_list(actions=True, occupied=True)
    assert table.code.size == 5_478
    assert (table.code >= 0).all()
    assert not np.isnan(table.q[:4_520]).any()
    write("npz", table, BOARD, [tmp_path / "a"])


@pytest.mark.parametrize("name", ["json", "jsonl"])
def test_action_values_of_a_single_cell_come_back(tmp_path, name):
    table, board = state_list(Board(1, 1, 1), actions=True), Board(1, 1, 1)
    table = replace(table, more={"a": table.q, "b": -table.q})
    found = read(name, write(name, table, board, [tmp_path / "a"]), board, STATES)
    for one, other in ((found.q, table.q), *((found.more[key], table.more[key]) for key in "ab")):
        assert_same_bits(one, other)
