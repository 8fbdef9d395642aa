"""Tables as they are found elsewhere: each shape comes back exactly, and what is no table is refused with a way."""

import functools
import io
import itertools
import json
import os
import pickle
import random
import re
import zipfile
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from helpers.support import command
from oracle import naive

import ttt_batch as ttt
from ttt_batch.core.errors import UsageError
from ttt_batch.core.named_code import AS_AGENT
from ttt_batch.games.board import Board
from ttt_batch.games.enumeration import enumerate_graph
from ttt_batch.runs.formats.base import FormatError
from ttt_batch.runs.formats.keys import KeyReading
from ttt_batch.runs.formats.recognising import Content, recognised
from ttt_batch.runs.importing import export_table, import_tables

BOARD = Board()
ROOT = Path(__file__).parents[2]
SHAPES = [
    *("book.pickle", "older-book.pickle", "printed.pickle", "tuples.pickle", "mover.pickle", "nested.json"),
    *("marks.json", "commas.json", "second.json", "cube.npy", "columns.npz", "visits.txt", "indexed.csv", "codes.npy"),
    *("digits.npy", "object.npy", "lists.json", "moves.json", "default.pickle", "pairs.pickle", "pairs.json"),
    *("occupied.csv", "actions.csv", "records.jsonl"),
]


@pytest.fixture
def tables(script: Callable[[str], ModuleType]) -> ModuleType:
    """The script that makes a file of each shape."""
    return script("tables")


class Known(dict[str, tuple[ttt.Run, Any]]):
    """Runs and their tables by name; `best` tables are made into runs by our own list of states."""

    def __init__(self, tables: ModuleType) -> None:
        self.tables = tables

    def __missing__(self, name: str) -> tuple[ttt.Run, Any]:
        kind, games = name.split()
        moves = kind == "moves"
        run = ttt.train(1 if games == "best" else int(games), seed=3, record="games.txt", overwrite=True)
        if moves:  # of the same games: no other test compiles kernels for training by this learner
            run, _ = ttt.learn_from("games.txt", learner="q-learning")
        if games == "best" and moves:
            table = self.tables.best_moves()
            codes = [BOARD.encode(BOARD.decode(code)) for code in table]
            assert codes == sorted(table, key=codes.index)
            run.tables.q[:] = [q for code in run.graph.code[: len(table)].tolist() for q in table[code].values()]
        elif games == "best":
            table = self.tables.best_values()
            run.tables.value[:] = list(table.values())
        else:
            table = self.tables.moves_of(run) if moves else self.tables.values_of(run)
        self[name] = run, table
        return self[name]


KNOWN: list[Known] = []


@pytest.fixture
def known(tables: ModuleType) -> Known:
    """Tables of known results."""
    if not KNOWN:
        KNOWN.append(Known(tables))
    return KNOWN[0]


CASES = [(shape, games) for shape in SHAPES for games in ("best", "30000", "2000")]


@pytest.mark.sampled(12)
@pytest.mark.parametrize(("name", "games"), CASES)
def test_each_shape_comes_back_exactly(name: str, games: str, tables: ModuleType, known: Known, tmp_path: Path) -> None:
    (shape,) = (one for one in tables.SHAPES if one.name == name)
    run, table = known[f"{'moves' if shape.moves else 'values'} {games}"]
    (tmp_path / name).write_bytes(shape.make(table))
    said: list[str] = []
    found = ttt.import_run(tmp_path / name, warn=said.append)
    for against in ("random", "self"):
        one, other = found.evaluation(against), run.evaluation(against)
        assert (one.first, one.second, one.unbeatable) == (other.first, other.second, other.unbeatable)
    assert not said
    assert found.config.learner == ("q-learning" if shape.moves else "td")
    # A file without an ending of its own is told by its content.
    (tmp_path / "table").write_bytes((tmp_path / name).read_bytes())
    assert bytes(ttt.import_run(tmp_path / "table").tables[0]) == bytes(found.tables[0])


def test_the_page_shows_every_shape(tables: ModuleType) -> None:
    page = (ROOT / "data" / "tables.md").read_text(encoding="utf-8")
    assert [shape.name for shape in tables.SHAPES] == SHAPES == re.findall(r"^\| `([\w.-]+)` \|", page, re.MULTILINE)
    table: dict[Any, Any] = {(0, 0, 0, 0, 0, 0, 0, 0, 0): 0.5, (0, 0, 0, 0, 1, 0, 0, 0, 0): 0.9}
    run = ttt.import_table(table, warn=lambda _: None)
    assert run.tables.value[:10].tolist() == [0.5, *[0.5] * 4, 0.9, *[0.5] * 4]


@pytest.mark.slow
def test_the_page_is_what_its_script_writes(tables: ModuleType, tmp_path: Path) -> None:
    assert tables.page(tmp_path) == (ROOT / "data" / "tables.md").read_text(encoding="utf-8"), (
        "write it again: python scripts/tables.py --page data/tables.md"
    )


# --- numberings ---------------------------------------------------------------------------------------------


def test_the_book_s_older_numbering_is_told_by_its_keys(tmp_path: Path) -> None:
    (tmp_path / "table.pkl").write_bytes(pickle.dumps({0: 0.5, 81: 0.9}, 2))
    run = import_tables([tmp_path / "table.pkl"], warn=lambda _: None)
    assert run.tables.value[0] == 0.5 and run.tables.value[run.graph.child[4]] == 0.9
    assert "0 empty, 1 the first player, 2 the second" in run.notes[0]


def written(code: int, reading: KeyReading, rng: np.random.Generator | None = None) -> list[str]:
    """The symbols of a position by a reading."""
    marks = BOARD.decode(code)
    turned = reading.mover and sum(mark != 0 for mark in marks) % 2 == 1
    symbols = (
        (reading.empty, reading.second, reading.first) if turned else (reading.empty, reading.first, reading.second)
    )
    return [symbols[mark] for mark in marks]


def mirrored(reading: KeyReading, taken: str) -> bool:
    """Return whether a table of positions was read from the other end, which is as good."""
    return reading.numbers and ("lowest digit" in taken) != reading.low


def random_case(rng: np.random.Generator, known: Known) -> str:
    """Import a dictionary in a random numbering; return `right`, `asked` or `wrong`."""
    moves = bool(rng.random() < 0.5)
    _, table = known[f"{'moves' if moves else 'values'} {rng.choice(['best', '30000', '2000'])}"]
    digits = rng.permutation(["0", "1", "2"]).tolist()
    symbols, numbers = [
        (digits, True),
        (digits, False),
        (["0", "1", "-1"], False),
        ([str(rng.choice([".", "-", "_", " ", "b"])), "X", "O"], False),
    ][rng.integers(4)]
    mover = bool(rng.random() < 0.4) and "X" not in symbols
    reading = KeyReading(*symbols, mover=mover, low=bool(rng.random() < 0.5), numbers=numbers)
    codes = list(table)
    if rng.random() < 0.5:
        codes = rng.choice(codes, int(len(codes) * rng.uniform(0.2, 1.0)), replace=False).tolist()
    ply = {code: sum(mark != 0 for mark in BOARD.decode(code)) for code in codes}
    view = rng.integers(4)
    scale = bool(rng.random() < 0.5)
    shift = int(rng.random() < 0.5)
    found: dict[Any, Any] = {}
    for code in codes:
        cells = written(code, reading)
        if numbers:
            key: Any = sum(int(s) * 3**n for n, s in enumerate(cells if reading.low else cells[::-1]))
        elif rng.random() < 2 and symbols[1] in ("X", "1", "0", "2") and view % 2:
            key = str([int(s) if s.lstrip("-").isdigit() else s for s in cells])
        else:
            key = tuple(int(s) if s.lstrip("-").isdigit() else s for s in cells)
        if moves:
            found[key] = {cell + shift: q for cell, q in table[code].items()}
        else:
            odd = ply[code] % 2 == 1
            sign = (1, -1, -1 if odd else 1, 1 if odd else -1)[view]
            found[key] = (sign * table[code] + 1) / 2 if scale else sign * table[code]
    graph = enumerate_graph(BOARD)
    try:
        got = recognised([Content("", data=found, low=reading.low)], BOARD, graph, None, None)
    except UsageError:
        return "asked"
    expected = {code: table[code] for code in codes}
    if not moves and mirrored(reading, got.taken):
        expected = {BOARD.encode(BOARD.decode(code)[::-1]): value for code, value in expected.items()}
    if got.table.code.size != len(codes):
        return "wrong"
    if moves:
        for code, q in zip(got.table.code.tolist(), got.table.q.tolist(), strict=True):
            if {cell: each for cell, each in enumerate(q) if each == each} != expected[code]:
                return "wrong"
        return "right"
    first, second = got.table.value
    of_first = np.where(np.isnan(first), (1.0 if scale else 0.0) - second, first)
    wanted = np.array([(expected[c] + 1) / 2 if scale else expected[c] for c in got.table.code.tolist()])
    return "right" if np.allclose(of_first, wanted, rtol=0, atol=1e-12) else "wrong"


@pytest.mark.slow
@pytest.mark.parametrize("number", [200, 10])
def test_random_numberings_are_recognised(number: int, known: Known) -> None:
    rng = np.random.default_rng(number)
    found = [random_case(rng, known) for _ in range(number)]
    assert found.count("wrong") == 0 and found.count("asked") <= number // 100


def one_text(marks: Any) -> str:
    return "".join(str(mark) for mark in marks)


WRITTEN: dict[str, tuple[tuple[Any, Any, Any], Callable[[tuple[Any, ...]], Any]]] = {
    "numpy 2": ((0, 1, -1), lambda marks: f"({', '.join(f'np.int64({mark})' for mark in marks)})"),
    "numpy 2 rows": ((0, 1, 2), lambda marks: str([[f"np.int8({m})" for m in marks[n : n + 3]] for n in (0, 3, 6)])),
    "bytes": ((0, 1, -1), lambda marks: np.array(marks, np.int8).tobytes()),
    "bytes of int64": ((0, 1, -1), lambda marks: np.array(marks).tobytes()),
    "bytes of floats": ((0, 1, -1), lambda marks: np.array(marks, float).reshape(3, 3).tobytes()),
    "joined": ((0, 1, -1), one_text),
    "lines": ((" ", "X", "O"), lambda marks: "\n".join(one_text(marks[n : n + 3]) for n in (0, 3, 6))),
    "-1 is empty": ((-1, 0, 1), str),
    "free cells hold their number": ((None, "X", "O"), lambda marks: tuple(m or n for n, m in enumerate(marks, 1))),
}


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", WRITTEN)
def test_keys_are_read_as_programs_write_them(name: str, known: Known, tables: ModuleType) -> None:
    run, values = known["values 30000"]
    symbols, write = WRITTEN[name]
    found = ttt.import_table({write(tables.marks(code, *symbols)): value for code, value in values.items()})
    assert bytes(found.tables.value) == bytes(run.tables.value)


@pytest.mark.slow
def test_moves_are_read_beside_keys_that_numpy_prints(known: Known, tables: ModuleType) -> None:
    run, moves = known["moves 30000"]
    write = WRITTEN["numpy 2"][1]
    rows = {f"({write(tables.marks(c, 0, 1, -1))}, np.int64({cell}))": q for c, cell, q in tables.of_moves(moves)}
    assert bytes(ttt.import_table(rows).tables.q) == bytes(run.tables.q)


def test_x_is_the_player_to_move_only_if_the_table_plays_better_so(known: Known, tables: ModuleType) -> None:
    """The keys of unfinished positions fit both ways if O is who moves."""
    run, moves = known["moves 30000"]
    found = ttt.import_table({one_text(written(c, KeyReading(".", "O", "X", mover=True))): q for c, q in moves.items()})
    assert bytes(found.tables.q) == bytes(run.tables.q) and "O the player to move" in found.notes[0]
    first = {tables.text(code): q for code, q in moves.items() if sum(map(bool, BOARD.decode(code))) % 2 == 0}
    (note, *_) = ttt.import_table(first, warn=lambda _: None).notes
    assert "X the first player" in note and "the only numbering that fits" not in note


def test_what_the_table_does_not_tell_is_asked(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Random numbers for unfinished positions: the marks of the player to move, or of the first player?"""
    graph, rng = enumerate_graph(BOARD), np.random.default_rng(0)
    unfinished = graph.code[: graph.first_edge.size - 1].tolist()
    path = tmp_path / "t.json"
    path.write_text(json.dumps({str(code): rng.random() for code in unfinished}))
    status, out, err = command(capsys, "import", path, "-o", tmp_path / "t.h5")
    assert (status, out, err.count("\n")) == (2, "", 1)
    assert "give --keys: " in err and "0,1,2,low (" in err and "0,2,1,mover,low (" in err
    assert command(capsys, "import", path, "-o", tmp_path / "t.h5", "--keys", "0,1,2,low")[0] == 0
    run = ttt.load(tmp_path / "t.h5")
    assert run.tables.value[: len(unfinished)].tolist() == list(json.loads(path.read_text()).values())
    for wrong in ("0,1", "0,1,2,3", "0,0,1"):
        with pytest.raises(UsageError, match="does not name three symbols"):
            ttt.import_run(path, keys=wrong)
    with pytest.raises(FormatError, match=r"with keys 9,1,2, 0% of the entries are positions that can occur"):
        ttt.import_run(path, keys="9,1,2")
    with pytest.raises(UsageError, match="is not a table in memory; import_run reads files"):
        ttt.import_table(str(path))


# --- what a table lacks --------------------------------------------------------------------------------------


def test_impossible_positions_are_left_out_with_a_warning(known: Known, tables: ModuleType) -> None:
    run, values = known["values 30000"]
    over = itertools.islice(
        (c for c in range(3**9) if c not in values and BOARD.decode(c).count(1) == BOARD.decode(c).count(2)), 300
    )
    said: list[str] = []
    found = ttt.import_table({tables.text(code): values.get(code, 0.7) for code in [*values, *over]}, warn=said.append)
    assert bytes(found.tables.value) == bytes(run.tables.value)
    assert len(said) == 1 and said[0].startswith("300 entries left out, of positions that cannot occur")
    assert re.search(r", such as [XO.]{9}$", said[0])


@pytest.mark.sampled(1)
@pytest.mark.parametrize(
    ("turned", "note"), [((0, 1), ""), ((1,), "; its numbers are values to the first"), ((0,), "values to the second")]
)
def test_numbers_of_moves_may_be_costs_or_one_player_s_values(
    known: Known, tables: ModuleType, turned: tuple[int, ...], note: str
) -> None:
    run, moves = known["moves 30000"]
    costs = {}
    for code, q in moves.items():
        sign = -1 if sum(mark != 0 for mark in BOARD.decode(code)) % 2 in turned else 1
        costs[tables.text(code)] = {cell: sign * x for cell, x in q.items()}
    said: list[str] = []
    found = ttt.import_table(costs, warn=said.append)
    assert [line.partition(":")[0] for line in said] == ["the table's numbers are read as costs"] * (len(turned) > 1)
    assert np.array_equal(found.tables.q, run.tables.q) and note in found.notes[0]


def test_a_partial_table_keeps_start_values_and_says_what_follows(known: Known, tables: ModuleType) -> None:
    run, moves = known["moves best"]
    assert all(run.evaluation("random").unbeatable.values())
    seen = {code: q for code, q in moves.items() if code != 3**4}  # an answer to the middle that was never learnt
    said: list[str] = []
    found = ttt.import_table({tables.text(code): q for code, q in seen.items()}, warn=said.append)
    assert said == ["the table has no number for 8 of 16,167 moves (0.0%), which keep start values"]
    assert found.evaluation("random").unbeatable == {"first": True, "second": False}
    assert found.notes[1] == "as second it can be beaten only through positions that the table lacks"
    worst = {code: {cell: -x for cell, x in q.items()} if code == 3**4 else q for code, q in moves.items()}
    del worst[0]
    found = ttt.import_table({tables.text(code): q for code, q in worst.items()}, warn=said.append)
    assert "as second it can be beaten through positions that the table has" in found.notes[1]


@pytest.mark.sampled(1)
@pytest.mark.parametrize("name", ["q.bin", "q.csv"])
def test_numbers_by_another_code_are_not_read_as_by_ours(
    name: str, known: Known, tables: ModuleType, tmp_path: Path
) -> None:
    """Read by our codes, such a table plays at random, without a word."""
    run, moves = known["moves 30000"]
    other, path = tables.dense(moves, lambda code: tables.number(code, tables.ODD)), tmp_path / name
    for table, ours in ((tables.dense(moves, int), True), (other, False)):
        if name == "q.bin":
            path.write_bytes(table.astype("<f8").tobytes())
        else:
            np.savetxt(path, table, delimiter=",")
        found = ttt.import_run(path)
        assert found.evaluation("random").first == run.evaluation("random").first
        assert (found.background is not None) == ours
        assert ("1 empty, 2 the first player, 0 the second" in found.notes[0]) == (not ours)
    said: list[str] = []
    ttt.import_run(path, form="raw" if name == "q.bin" else "csv", warn=said.append)
    assert len(said) == 1 and "better in another numbering" in said[0]


@pytest.mark.slow  # kernels of another learner
def test_two_players_tables_are_sutton_barto_s(known: Known, tables: ModuleType, tmp_path: Path) -> None:
    run = ttt.train(3_000, learner="sutton-barto", seed=2)
    both = [dict(zip(run.graph.code.tolist(), own.tolist(), strict=True)) for own in run.tables.value]
    keyed = [{tables.number(code, tables.ODD): value for code, value in own.items()} for own in both]
    paths = [tmp_path / "policy_first.bin", tmp_path / "policy_second.bin"]
    for path, own in zip(paths, keyed, strict=True):
        path.write_bytes(pickle.dumps(own))
    (tmp_path / "both.json").write_text(json.dumps(dict(zip(("X", "O"), keyed, strict=True))))
    for found in (ttt.import_run(paths), ttt.import_run(tmp_path / "both.json")):
        assert found.config.learner == "sutton-barto"
        assert found.evaluation("random").first == run.evaluation("random").first
        assert found.evaluation("random").second == run.evaluation("random").second


@pytest.mark.slow  # kernels of another learner
def test_players_who_value_their_own_afterstates_alone(known: Known, tables: ModuleType, tmp_path: Path) -> None:
    """Each of two files holds the positions after its player's moves, as most tutorials' programs write them."""
    run, values = known["values 30000"]
    paths, said = [tmp_path / "policy_p1", tmp_path / "policy_p2"], list[str]()
    for player, path in enumerate(paths):
        own = {code: value for code, value in values.items() if sum(map(bool, BOARD.decode(code))) % 2 != player}
        marks = {
            str(np.array(tables.marks(code, 0.0, 1.0, -1.0))): (value, -value)[player] for code, value in own.items()
        }
        path.write_bytes(pickle.dumps(marks))
    both = ttt.import_run(paths, warn=said.append).evaluation("random")
    expected = run.evaluation("random")
    assert (both.first, both.second, said) == (expected.first, expected.second, [])
    first, second = (ttt.import_run(path, warn=said.append) for path in paths)
    assert first.evaluation("random").first == expected.first and "as second it can be beaten only" in first.notes[1]
    assert second.evaluation("random").second == expected.second and len(said) == 2
    given = ttt.import_run(paths[1], player="second", warn=said.append).evaluation("random")
    assert given.second == expected.second


def test_chances_of_a_player_s_own_are_not_rounded(known: Known, tables: ModuleType) -> None:
    """As 1 - value, chances near 0 would all be alike."""
    _, values = known["values best"]
    later = {code: value for code, value in values.items() if sum(map(bool, BOARD.decode(code))) % 2 == 0}
    own = {code: 1.0 if value < 0 else 1e-20 * (code + 1) for code, value in later.items()}
    run = ttt.import_table({tables.text(code): value for code, value in own.items()}, warn=lambda _: None)
    assert run.config.learner == "sutton-barto" and run.config.settings.start_value in (None, 0.5)
    held = dict(zip(run.graph.code.tolist(), run.tables.value[1].tolist(), strict=True))
    assert {code: held[code] for code in own} == own


@pytest.mark.slow
def test_chances_of_finished_games_tell_what_missing_ones_count(known: Known, tables: ModuleType) -> None:
    """A program that feeds the result back values finished games below 1, and takes what it never saw for 0."""
    _, values = known["values best"]
    seen = {code: value for code, value in values.items() if code % 3}
    both = tuple(
        {
            str(np.array(tables.marks(code, 0.0, 1.0, -1.0))): 0.9 * max(value, 0.0) + 0.05
            for code, value in ((code, sign * value) for code, value in seen.items())
            if sum(map(bool, BOARD.decode(code))) % 2 == player
        }
        for player, sign in ((1, 1), (0, -1))
    )
    warned: list[str] = []
    run = ttt.import_table(both, warn=warned.append)
    assert run.config.learner == "value-feed" and warned[-1].endswith(", which count as 0")
    held = dict(zip(run.graph.code.tolist(), run.tables.value[0].tolist(), strict=True))
    assert {held[code] for code in values if code not in seen} == {0.0}


def test_two_tables_on_the_scale_of_losses_start_in_its_middle(known: Known, tables: ModuleType) -> None:
    _, values = known["values 2000"]
    own = [
        {tables.text(c): sign * v for c, v in values.items() if sum(map(bool, BOARD.decode(c))) % 2 == player and c % 5}
        for player, sign in ((1, 1), (0, -1))
    ]
    run = ttt.import_table((own[0], own[1]), warn=lambda _: None)
    assert (run.config.learner, run.config.settings.start_value) == ("sutton-barto", 0.0)
    assert run.config.settings.draw_worth == (0.0, 0.0)


def test_frames_and_arrays_need_no_file(known: Known, tables: ModuleType) -> None:
    pandas = pytest.importorskip("pandas")
    run, moves = known["moves 30000"]
    rows = [(tables.text(code), cell, q) for code, cell, q in tables.of_moves(moves)]
    frame = pandas.DataFrame(rows, columns=["state", "action", "q"])
    wide = pandas.DataFrame.from_dict(
        {tables.text(code): tables.listed(q) for code, q in moves.items()}, orient="index"
    )
    pairs = frame.set_index(["state", "action"])
    for table in (frame, pairs, pairs["q"], wide, tables.dense(moves, int)):
        found = ttt.import_table(table)
        assert found.evaluation("random").first == run.evaluation("random").first
        assert found.evaluation("random").second == run.evaluation("random").second


# --- what is no table ----------------------------------------------------------------------------------------


class Agent:
    """An object of a program's own."""


def npy(array: Any) -> bytes:
    buffer = io.BytesIO()
    np.save(buffer, array)
    return buffer.getvalue()


def zipped(name: str, content: bytes) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as packed:
        packed.writestr(name, content)
    return buffer.getvalue()


def header(shape: tuple[int, ...], dtype: str, *, version: int = 1) -> bytes:
    """An array that takes no bytes, however many numbers it says it has."""
    text = str({"descr": dtype, "fortran_order": False, "shape": shape}).encode() + b"\n"
    return b"\x93NUMPY" + bytes([version, 0]) + len(text).to_bytes(2 if version == 1 else 4, "little") + text


TUPLE = (0, 0, 0, 0, 1, 0, 0, 0, 0)
SHARED = functools.reduce(lambda found, _: [found, found], range(60), [0.5])
REFUSED: dict[str, Callable[[], bytes]] = {
    "agent.pkl": lambda: pickle.dumps(Agent()),
    "function.pkl": lambda: pickle.dumps({TUPLE: print}),
    "set.pkl": lambda: pickle.dumps({TUPLE: {1, 2}}),
    "weights.pkl": lambda: pickle.dumps([np.ones((9, 4)), np.ones(4)]),
    "deep.pkl": lambda: b"\x80\x02}" + b")" + b"\x85" * 100_000 + b"K\x01s.",
    "copies.pkl": lambda: b"\x80\x02]q\x00" + b"(" + b"h\x00" * 100_000 + b"t.",
    "shared.pkl": lambda: pickle.dumps([[SHARED, 0.5], [TUPLE, 0.7]]),
    "shared-states.pkl": lambda: pickle.dumps({"state": [SHARED, TUPLE], "action": [SHARED, 1], "value": [0.5, 0.7]}),
    "deep-lists.pkl": lambda: b"\x80\x02](](" + b"]" * 100_000 + b"a" * 99_999 + b"K\x01ee.",
    "two-kinds.pkl": lambda: pickle.dumps(({TUPLE: 0.5, (0,) * 9: 0.5}, {TUPLE: {0: 0.5}, (0,) * 9: {0: 0.5}})),
    "no-column.pkl": lambda: pickle.dumps({"state": ["X........"], "value": np.array(0.5)}, 4),
    "unequal.json": lambda: json.dumps({"state": ["X........"], "action": [1], "value": []}).encode(),
    "torch.pt": lambda: zipped("archive/data.pkl", b"x"),
    "bomb.npz": lambda: zipped("q.npy", npy(np.zeros(30_000_000))),
    "empty.npy": lambda: header((10**12, 0), "<f8"),
    "negative.npy": lambda: header((3, -1), "<f8") + bytes(64),
    "negative-4.npy": lambda: header((-2, -4), "<f8", version=4) + bytes(64),
    "letters.npy": lambda: header((10**12,), "<U0"),
    "words.npy": lambda: npy(np.array(["X", "O"])),
    "shape.npy": lambda: npy(np.ones((100, 4))),
    "zeros.npy": lambda: npy(np.zeros((19_683, 9))),
    "objects.npy": lambda: npy(np.array([Agent(), None], dtype=object)),
    "words.json": lambda: b'["a", "b"]',
    "settings.json": lambda: b'{"alpha": 0.1, "name": "agent"}',
    "nan.json": lambda: json.dumps({"X........": float("nan"), ".........": 1}).encode(),
    "deep.json": lambda: b'{"Q": ' + b"[" * 100_000,
    "huge.json": lambda: b'{"X........": 1' + b"0" * 5000 + b"}",
    "connect-4.json": lambda: json.dumps({"." * 42: 0.5, "X" + "." * 41: 0.7}).encode(),
    "seven.json": lambda: json.dumps({"X........": [1] * 7}).encode(),
    "text.json": lambda: json.dumps({"X........": "good", ".........": "bad"}).encode(),
    "impossible.json": lambda: json.dumps({"XXX......": 1, ".........": 0.5, "XOXOXOOO.": 3}).encode(),
    "prose.txt": lambda: b"To play well, take the middle.\n",
    "empty.csv": lambda: b"",
    "brackets.csv": lambda: (b"[" + b")" * 500_000 + b"[,1\n") * 2,
    "quotes.csv": lambda: b'........., "0.5\nX........,"' + b"1" * 200_000 + b"\n",
    "keys.json": lambda: json.dumps({"array(" + "," * 50_000: 1, "array([": 2}).encode(),
    "nothing.json": lambda: json.dumps({"state": ["X........"], "value": [None]}).encode(),
    "tuple.pkl": lambda: pickle.dumps(()),
    "head.npy": lambda: b"\x93NUMPY\x01\x00\x08\x00{'a': ) ",
    "ragged.csv": lambda: b".........,0.5\nX........,0.5,0.5\nO........,1\n",
    "picture.png": lambda: b"\x89PNG\r\n\x1a\n\0\0",
    "network.h5": lambda: b"\x89HDF\r\n\x1a\n\0\0",
    "table.pkl.gz": lambda: b"\x1f\x8b\x08\0",
    "infinite-moves.pkl": lambda: pickle.dumps({TUPLE: [float("inf")] * 9, (0,) * 9: [0.5] * 9}),
    "infinite.pkl": lambda: pickle.dumps({TUPLE: float("inf"), (0,) * 9: 0.5}),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_no_table_is_refused_with_a_way(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / name
    path.write_bytes(REFUSED[name]())
    status, out, err = command(capsys, "import", path, "-o", tmp_path / "out.h5")
    assert (status, out, err.count("\n")) == (1, "", 1)
    assert name in err and AS_AGENT in err and "FILE.py:NAME or cmd:PROGRAM" in err
    assert not (tmp_path / "out.h5").exists()


def perfect_moves() -> dict[Any, list[int]]:
    """Return every move of best play, by position; none where the game is over."""
    board = naive.Board()
    cells = naive.optimal_rule(board)
    return {position: list(cells(position)) for position in board.states()}


def text_of(position: Any) -> str:
    return "".join(".XO"[mark] for mark in position)


def digits_of(position: Any) -> int:
    """Return a number with digits 1 for empty, 2 first, 0 second, the first cell lowest."""
    return sum((1, 2, 0)[mark] * 3**cell for cell, mark in enumerate(position))


def mover_first(position: Any) -> tuple[int, ...]:
    return tuple((0, 1, -1)[mark if naive.mover(position) == 1 else -mark] for mark in position)


SWAPPED = str.maketrans("XO", "OX")


def as_policy(moves: dict[Any, list[int]]) -> Any:
    """Return int64[19683] by position code, -1 where there is no move."""
    policy = np.full(3**9, -1)
    for position, cells in moves.items():
        policy[naive.Board().code(position)] = cells[0] if cells else -1
    return policy


MOVES: dict[str, Callable[[dict[Any, list[int]]], Any]] = {
    "cells": lambda moves: {key: cells[0] if cells else None for key, cells in moves.items()},
    "cells from 1": lambda moves: {text_of(key): cells[-1] + 1 for key, cells in moves.items() if cells},
    "-1 at the end": lambda moves: {text_of(key): cells[0] if cells else -1 for key, cells in moves.items()},
    "pairs": lambda moves: {key: divmod(cells[0], 3) if cells else None for key, cells in moves.items()},
    "pairs from 1": lambda moves: {text_of(key): (c[0] // 3 + 1, c[0] % 3 + 1) for key, c in moves.items() if c},
    "pairs in lists": lambda moves: {text_of(key): [divmod(c[0], 3)] for key, c in moves.items() if c},
    "names": lambda moves: {text_of(key): f"{'abc'[c[0] % 3]}{c[0] // 3 + 1}" for key, c in moves.items() if c},
    "'' at the end": lambda moves: {text_of(key): cells[0] if cells else "" for key, cells in moves.items()},
    "O begins": lambda moves: {text_of(key).translate(SWAPPED): cells[0] for key, cells in moves.items() if cells},
    "named in dictionaries": lambda moves: {text_of(key): {"best_move": c[0]} for key, c in moves.items() if c},
    "with their scores": lambda moves: {text_of(key): {str(c[0]): -0.5} for key, c in moves.items() if c},
    "beside the player": lambda moves: {
        "board": [text_of(key) for key, cells in moves.items() if cells],
        "player": [naive.mover(key) for key, cells in moves.items() if cells],
        "move": [cells[0] for cells in moves.values() if cells],
    },
    "digits as text": lambda moves: {text_of(key): str(cells[0]) for key, cells in moves.items() if cells},
    "all best moves": lambda moves: {text_of(key): cells for key, cells in moves.items()},
    "a row for each": lambda moves: [{"board": key, "move": cell} for key, cells in moves.items() for cell in cells],
    "rows and columns": lambda moves: {
        "state": [text_of(key) for key, cells in moves.items() if cells],
        "row": [cells[0] // 3 for cells in moves.values() if cells],
        "col": [cells[0] % 3 for cells in moves.values() if cells],
    },
    "mover": lambda moves: {mover_first(key): cells[0] for key, cells in moves.items() if cells},
    "digits of keys": lambda moves: {digits_of(key): cells[0] for key, cells in moves.items() if cells},
    "policy": as_policy,
    "two players": lambda moves: [
        {text_of(key): cells[0] for key, cells in moves.items() if cells and naive.mover(key) == player}
        for player in (1, 2)
    ],
}


@pytest.mark.sampled(1)
@pytest.mark.parametrize("name", MOVES)
def test_moves_to_play_are_proved_or_beaten(name: str) -> None:
    """A perfect player by its moves, and the same with one spoilt move: O answers the middle at an edge."""
    moves, middle = perfect_moves(), (0, 0, 0, 0, 1, 0, 0, 0, 0)
    table = MOVES[name](moves)
    run = ttt.import_table(dict(zip("XO", table, strict=True)) if name == "two players" else table)
    assert "the moves to play, not of values" in run.notes[0]
    assert ("the first cell is number 1" in run.notes[0]) == (name == "cells from 1")
    assert run.evaluation("random").unbeatable == {"first": True, "second": True}
    table = MOVES[name](moves | {middle: [1]})
    run = ttt.import_table(dict(zip("XO", table, strict=True)) if name == "two players" else table)
    found = run.evaluation("random")
    line = found.losing_line["second"]
    assert found.unbeatable == {"first": True, "second": False} and line is not None and line[:2] == [4, 1]


@pytest.mark.sampled(1)
@pytest.mark.parametrize(
    ("write", "wrong", "shown"),
    [
        *((int, 3, "3"), (str, 3, "'3'"), (lambda cell: divmod(cell, 3), 3, "[1, 0]"), (int, 12, "12")),
        *((lambda cell: cell + 0.5 * (cell > 8), 9, "9.5"), (lambda cell: divmod(cell, 3), 15, "[5, 0]")),
        *(
            (lambda cell: f"{'abcd'[cell % 3 + cell // 9]}{cell // 3 % 3 + 1}", 11, "'d1'"),
            (lambda cell: [cell] * (1 + cell // 9), 9, "9"),
        ),
    ],
)
def test_a_move_that_is_not_possible_is_refused_by_name(
    write: Callable[[int], Any], wrong: int, shown: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    table = {text_of(position): write(cells[0]) for position, cells in perfect_moves().items() if cells}
    (tmp_path / "moves.json").write_text(json.dumps(table | {"X..O.....": write(wrong)}))
    status, out, err = command(capsys, "import", tmp_path / "moves.json", "-o", tmp_path / "out.h5")
    assert (status, out, err.count("\n")) == (1, "", 1)
    assert f"move {shown} of position X..O..... is not possible; mend the table" in err


@pytest.mark.parametrize("wrong", ["z9", "q", "b2", "b1"])
def test_a_wrong_move_of_a_few_is_refused_by_name(wrong: str) -> None:
    table = {".........": "b2", "X........": "b2", "....X....": "a1", "X...O.X..": wrong}
    for found in (table, {"state": [*table], "move": [*table.values()]}):
        if wrong == "b1":
            assert ttt.import_table(found, warn=lambda _: None).candidates("X...O.X..") == [1]
            continue
        said = f"move '{wrong}' of position X...O.X.. is not possible; mend the table; a1 is the top left cell"
        with pytest.raises(FormatError, match=said):
            ttt.import_table(found)


@pytest.mark.parametrize("numbers", [("0", "1", "0"), ("0.5", "1e-1", "-1"), ("0", "1", None)])
def test_text_of_numbers_is_read_as_numbers(numbers: tuple[str | None, ...]) -> None:
    keys = [".........", "X........", "....X...."]
    plain = [None if each is None else float(each) for each in numbers]
    one, other = (ttt.import_table(dict(zip(keys, n, strict=True)), warn=lambda _: None) for n in (numbers, plain))
    assert bytes(one.tables.value) == bytes(other.tables.value)


@pytest.mark.parametrize("cost", [1, -1])
def test_one_seat_s_moves_are_not_the_other_player_s_values(cost: int) -> None:
    free = naive.Board().legal
    table = {
        key: {cell: cost * float(cell in cells) for cell in free(key)}
        for key, cells in perfect_moves().items()
        if cells and naive.mover(key) == 1
    }
    said: list[str] = []
    run = ttt.import_table(table, warn=said.append)
    assert run.evaluation("random").unbeatable["first"] and "values to the" not in run.notes[0]
    assert said[0].startswith("the table's numbers are read as costs") == (cost < 0)


PLAYERS: dict[str, Callable[[Any, str], Any]] = {
    "pair": lambda key, player: (key, player),
    "other pair": lambda key, player: (player, key),
    "number": lambda key, player: (key, 1 if player == "X" else -1),
    "true": lambda key, player: (key, player == "X"),
    "text": lambda key, player: str((text_of(key), player)),
    "joined": lambda key, player: f"{text_of(key)}{player}",
}


@pytest.mark.parametrize("name", PLAYERS)
def test_keys_may_name_the_player_to_move(name: str) -> None:
    """As a search remembers them; they were taken for moves."""
    values = naive.game_values(naive.Board())
    found = {PLAYERS[name](key, "?XO"[naive.mover(key)]): value for key, value in values.items()}
    assert ttt.import_table(found).evaluation("random").unbeatable == {"first": True, "second": True}


def test_lines_of_a_key_and_a_cell_say_what_to_play(tmp_path: Path) -> None:
    """Without a header they were taken for values."""
    lines = [f'"{key}",{cells[0]}\n' for key, cells in perfect_moves().items() if cells]
    (tmp_path / "moves.csv").write_text("".join(lines))
    found = ttt.import_run(tmp_path / "moves.csv")
    assert found.evaluation("random").unbeatable == {"first": True, "second": True}


def test_a_search_s_results_may_have_their_move() -> None:
    values, best = naive.game_values(naive.Board()), perfect_moves()
    found = {key: (value, best[key][0] if best.get(key) else None) for key, value in values.items()}
    assert ttt.import_table(found).evaluation("random").unbeatable == {"first": True, "second": True}


@pytest.mark.parametrize("key", ["('{}', {})", "{}_{}"])
def test_a_blank_at_the_end_of_a_key_is_not_its_move(key: str, known: Known, tables: ModuleType) -> None:
    """`str((board, move))`, whose board ends with free cells, was taken for a board of nine marks."""
    run, moves = known["moves 30000"]
    rows = {key.format(tables.text(c).replace(".", " "), cell): q for c, cell, q in tables.of_moves(moves)}
    assert bytes(ttt.import_table(rows).tables.q) == bytes(run.tables.q)


@pytest.mark.slow
def test_moves_of_a_bad_player_are_not_turned() -> None:
    """By the marks' usual meaning, though with another one the moves would be better."""
    best = {position: set(cells) for position, cells in perfect_moves().items() if cells}
    bad = {key: max(set(naive.Board().legal(key)) - cells or cells) for key, cells in best.items()}
    for table in (bad, {text_of(key): cell for key, cell in bad.items()}):
        run = ttt.import_table(table)
        assert all(run.candidates(key) == [cell] for key, cell in list(bad.items())[:200])


@pytest.mark.slow
@pytest.mark.parametrize("learner", [None, "td", "sutton-barto", "td-lambda"])
@pytest.mark.parametrize("scale", ["-1 to 1", "0 to 1"])
def test_one_table_of_values_serves_both_players(scale: str, learner: str | None) -> None:
    """Whosever values they are, and whatever the learner: it was judged with start values for one of the players."""
    values = naive.game_values(naive.Board())
    turned: dict[str, Callable[[Any], int]] = {
        "first": lambda key: values[key],
        "second": lambda key: -values[key],
        "has just moved": lambda key: values[key] if naive.mover(key) == 2 else -values[key],
    }
    for side in turned.values():
        table = {text_of(key): side(key) if scale == "-1 to 1" else (1 + side(key)) / 2 for key in values}
        assert ttt.evaluate(ttt.import_table(table, learner)).unbeatable == {"first": True, "second": True}


def test_numbers_named_values_are_no_moves() -> None:
    """Counts of visits beside values say as much, and columns without a known name are refused."""
    keys, numbers = [".........", "X........", "....X....", "XO......."], [0, 1, 0, 2]
    for table in (
        {"state": keys, "value": numbers},
        dict(zip(keys, ([0.0, 3], [1.0, 3], [0.0, 1], [2.0, 1]), strict=True)),
    ):
        assert ttt.import_table(table, warn=lambda _: None).config.learner == "td"
    assert ttt.import_table(dict(zip(keys, numbers, strict=True)), warn=lambda _: None).config.learner == "q-learning"
    with pytest.raises(
        FormatError, match=r"several of its columns, \['plies', 'x'\], may hold values; name one `value`"
    ):
        ttt.import_table({"state": keys, "plies": numbers, "x": numbers})
    with pytest.raises(FormatError, match=r"one of its columns, \['rate'\], may hold the values of moves; name it"):
        ttt.import_table({"state": [*keys, keys[0]], "move": [*numbers, 3], "rate": [0.5] * 5})
    lost = {(".........", 4): -0.2, ("....X.O..", 5): -0.4, ("..O.XXO..", 0): -1.0}
    assert "a number" in ttt.import_table(lost, warn=lambda _: None).notes[0]


@pytest.mark.slow
def test_no_number_is_no_move() -> None:
    """Whatever stands for it: a missing number of pandas, None, NaN, an empty list or an empty text."""
    keys = ["XXXOO....", ".........", "X........", "....X....", "XO......."]
    pandas = pytest.importorskip("pandas")
    for moves in ([4, 4, 0, 8], ["b2", "b2", "a1", "c3"]):
        frame = pandas.DataFrame({"state": keys, "move": pandas.array([None, *moves], dtype=None)})
        tables = [frame.convert_dtypes(), *({keys[0]: no} | dict(zip(keys[1:], moves, strict=True)) for no in NO_MOVE)]
        for table in tables:
            run = ttt.import_table(table, warn=lambda _: None)
            assert [run.candidates(key) for key in keys[1:]] == [[4], [4], [0], [8]]


NO_MOVE: list[Any] = [None, float("nan"), [], ""]


@pytest.mark.slow
def test_pairs_count_from_0_or_1() -> None:
    """A row or a column as large as the board's counts from 1; without a 0 and without such a one it is asked."""
    keys = ["." * 12, "....XO......", "....X...O..."]
    run = ttt.import_table({"state": keys, "move": ["1,1", "2,2", "3,1"]}, board="4x3x3", warn=lambda _: None)
    assert [run.candidates(key) for key in keys] == [[4], [8], [10]]
    run = ttt.import_table({"state": keys, "move": ["1,1", "2,1", "4,1"]}, board="4x3x3", warn=lambda _: None)
    assert [run.candidates(key) for key in keys] == [[0], [3], [9]]
    run = ttt.import_table({".........": [1, 1], "X........": [1, 1], "....X....": [0, 0]}, warn=lambda _: None)
    assert run.candidates(".........") == [4] and run.candidates("....X....") == [0]
    with pytest.raises(UsageError, match="cells counted from 0 or from 1"):
        ttt.import_table({"board": [".........", "X........"], "move": ["2,2", "2,2"]})


@pytest.mark.sampled(1)
@pytest.mark.parametrize("side", [1, -1])
def test_values_of_moves_fit_minimax_q(side: int) -> None:
    """It keeps them as the first player sees them, and occupied cells among them.  side: of the second player's."""
    free, best = naive.Board().legal, perfect_moves()
    table = {
        text_of(key): {cell: float(cell in cells) * (side if naive.mover(key) == 2 else 1) for cell in free(key)}
        for key, cells in best.items()
        if cells
    }
    run = ttt.import_table(
        {key: {cell: 40 * x - 20 for cell, x in one.items()} for key, one in table.items()}, "minimax-q"
    )
    assert ttt.evaluate(run).unbeatable == {"first": True, "second": True}
    run = ttt.import_table(table, learner="minimax-q")
    assert ttt.evaluate(run).unbeatable == {"first": True, "second": True}
    assert all({*run.candidates(text_of(key))} <= {*cells} for key, cells in best.items() if cells)


@pytest.mark.slow
@pytest.mark.parametrize("form", ["csv", "json", "npz"])
def test_a_table_of_minimax_q_is_known_by_its_occupied_cells(form: str, tmp_path: Path) -> None:
    """Imported without a learner it was judged as one of `q-learning`, whose values are the mover's."""
    run = ttt.train(30_000, learner="minimax-q", batch=1000)
    ttt.export_run(run, out=tmp_path / f"q.{form}")
    found = ttt.import_run(tmp_path / f"q.{form}")
    assert found.config.learner == "minimax-q" and np.array_equal(found.tables.q, run.tables.q)
    if form != "csv":  # whose numbers of all cells do not tell whose they are
        turned = ttt.import_run(tmp_path / f"q.{form}", "q-learning")
        assert turned.move_values("X........") == run.move_values("X........")


def test_what_few_moves_leave_open_is_asked_or_said() -> None:
    few = {".........": 4, "X........": 4, "....X....": 1, "XO.......": 3, "X...O....": 8}
    with pytest.raises(UsageError, match="cells counted from 0 or from 1; write them as names, the first one as a1"):
        ttt.import_table(few)
    said: list[str] = []
    run = ttt.import_table({"X..O.....": "b2"}, warn=said.append)
    assert said == ["the table has no move for 4,519 of 4,520 unfinished positions (100.0%), which keep start values"]
    assert run.notes[1].startswith("as first it can be beaten only through positions that the table lacks")


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("most", [1e300, float("inf")])
def test_large_whole_numbers_are_no_moves(most: float) -> None:
    run = ttt.train(1)
    positions = [BOARD.decode(code) for code in run.graph.code[:200].tolist()]
    numbers = [float(number % 7) for number in range(199)] + [most]
    with pytest.raises((FormatError, UsageError), match="equally good ways"):
        ttt.import_table(dict(zip(positions, numbers, strict=True)))


def test_a_table_too_large_for_the_board_names_its_own(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "large.json"
    path.write_bytes(b'{"board": "4x4x4-gravity", "rows": 4, ')
    os.truncate(path, 20_000_000)  # sparse: it takes no room
    status, _, err = command(capsys, "import", path, "-o", tmp_path / "out.h5")
    assert status == 1 and "; name another file, or give --board 4x4x4-gravity, which this one names; " in err
    with path.open("r+b") as file:
        file.write(b'{"board": "3x3", ')
    status, _, err = command(capsys, "import", path, "-o", tmp_path / "out.h5")
    assert status == 1 and "; name another file; " in err and "--board" not in err


def test_a_table_by_code_of_a_board_with_gravity_is_not_too_large(tmp_path: Path) -> None:
    """It has all codes, and most of them cannot occur."""
    q = np.random.default_rng(0).random((3**9, 9))
    np.savetxt(tmp_path / "q.csv", q, delimiter=",")
    run = ttt.import_run(tmp_path / "q.csv", board="3x3-gravity")
    assert run.background is not None and np.array_equal(run.background, q)


def test_a_list_of_another_board_warns_of_what_it_lacks(tmp_path: Path) -> None:
    run = ttt.train(100, board="3x3-gravity", learner="td")
    export_table(run, "jsonl", [tmp_path / "q.jsonl"])
    said = "jsonl lacks 4,015 of 4,520 unfinished positions of 3x3, .*; if the file is of another board, give board$"
    with pytest.warns(RuntimeWarning, match=said):
        ttt.import_run(tmp_path / "q.jsonl")
    assert ttt.import_run(tmp_path / "q.jsonl", board="3x3-gravity").board == run.board


def test_a_list_that_names_its_board_is_of_no_other(tmp_path: Path) -> None:
    path = tmp_path / "few.json"
    export_table(ttt.train(100), "json", [path])
    whole = json.loads(path.read_text())
    path.write_text(json.dumps(whole | {"states": whole["states"][:9]}))
    with pytest.warns(RuntimeWarning, match=r"few\.json lacks .* of 4,520 .* which keep start values$"):
        ttt.import_run(path)


def test_refusals_name_what_is_wrong(tmp_path: Path) -> None:
    for name, said in {
        "nan.json": "it holds NaN or Infinity, which JSON does not have; save null instead",
        "table.pkl.gz": "the file is packed by gzip; unpack it first",
        "unequal.json": "its column 'value' has 0 entries for 1 position; save columns of the same length",
    }.items():
        (tmp_path / name).write_bytes(REFUSED[name]())
        with pytest.raises(FormatError, match=said):
            ttt.import_run(tmp_path / name)
    with pytest.raises(FormatError, match="its keys, such as"):
        ttt.import_table([[[np.zeros(2), *TUPLE[1:]], 0.5]])


PUZZLING: dict[str, tuple[Any, str]] = {
    "nan.csv": (
        "state,value\n.........,0.5\nX........,nan\n....X....,0.25\n",
        "the value of key 'X........' is 'nan', not a finite number; give a number such as 0.5, or leave a",
    ),
    "kinds.json": (
        {".........": 0.5, "X........": {"0": 1}},
        "X........' is a dictionary, not a finite number",
    ),
    "moves.json": ({"X........": {"1": 1}, ".........": 0.5}, "key '.........' holds 0.5; other keys hold moves with"),
    "comma.csv": ("state;value\n.........;0,5\nX........;0,7\n", "such as '0,5', are possible cells .* has a point"),
    "unequal.json": (
        {"state": [".........", "X........"], "value": [1, 2, 3]},
        "has 3 entries for 2 positions",
    ),
    "empty.json": ({"board": [], "value": []}, "its columns are empty; name a file of a trained table"),
    "no-board.json": ({"states": []}, "the file does not name its board; export the table again"),
    "wrong-key.json": ({".........": 0.5, "abc......": 1, "X........": 2}, "keys, such as 'abc......', into positions"),
    "text.csv": ("state,value\n.........,0.5\n".encode("utf-16"), "the file is of an unknown kind; save text as UTF-8"),
    "cells.json": ({".........": {"4": 0.5, "5": 0.5}}, "its moves may be cells counted from 0 or from 1; write them"),
}


@pytest.mark.parametrize("name", PUZZLING)
def test_refusals_name_the_wrong_entry_and_a_remedy(name: str, tmp_path: Path) -> None:
    """They spoke of `a str`, showed a right key or another fault, or were no refusals."""
    content, said = PUZZLING[name]
    text = content if isinstance(content, str | bytes) else json.dumps(content)
    (tmp_path / name).write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises((FormatError, UsageError), match=said):
        ttt.import_run(tmp_path / name)


PARTIAL = """state,first,second
.........,,0.5
X........,0.5,
.X.......,0.2,
....X....,0.7,
XO.......,,0.3
X...O....,,0.4
XOX......,,0.4
XO..X....,0.6,
XO.X.....,0.1,
"""


def test_a_column_for_each_player_may_have_gaps(tmp_path: Path) -> None:
    (tmp_path / "v.csv").write_text(PARTIAL)
    run = ttt.import_run(tmp_path / "v.csv", learner="td", warn=lambda _: None)
    assert run.board.name == "3x3"


def test_a_table_beside_lists_of_other_lengths_is_taken(tmp_path: Path) -> None:
    table = {".........": 0.5, "X........": 0.25, "XO.......": 0.75}
    content = {"q_table": table, "rewards": [1, 2, 3], "history": ["X........", "........."]}
    for name, found in {"whole.json": content, "plain.json": table}.items():
        (tmp_path / name).write_text(json.dumps(found))
    whole, plain = (
        ttt.import_run(tmp_path / name, warn=lambda _: None).tables for name in ("whole.json", "plain.json")
    )
    assert all(np.array_equal(one, other) for one, other in zip(whole, plain, strict=True))


def test_training_starts_from_a_table_of_any_shape(
    tables: ModuleType, known: Known, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _, values = known["values best"]
    few = dict(itertools.islice(values.items(), 3000))
    (tmp_path / "start.json").write_text(json.dumps({tables.text(code): value for code, value in few.items()}))
    status, _, err = command(
        capsys, *("train", "--games", 10, "--batch", 10, "--start", "start.json", "-o", "run.h5", "--quiet")
    )
    assert status == 0 and err.startswith("ttt-batch: the table has no number for ") and err.count("\n") == 1


def test_damaged_tables_meet_no_other_error(tables: ModuleType, known: Known, tmp_path: Path) -> None:
    """A few bytes changed, put in or left out: a table or one line, never another exception."""
    rng, read = random.Random(0), 0
    few = {name: dict(itertools.islice(known[f"{name} best"][1].items(), 4)) for name in ("moves", "values")}
    for number in range(120):
        shape = tables.SHAPES[number % len(tables.SHAPES)]
        content = bytearray(shape.make(few["moves" if shape.moves else "values"]))
        for _ in range(rng.randint(1, 3)):
            at = rng.randrange(len(content))
            content[at : at + rng.choice([0, 1, 5])] = rng.choice(
                [b"", b"\0", b"[", b'"', b",", b"\r", b"9", b"{", b"\xff"]
            )
        path = tmp_path / shape.name
        path.write_bytes(content)
        try:
            ttt.import_run(path, warn=lambda _: None)
            read += 1
        except ttt.TttBatchError as error:
            assert "\n" not in str(error)
    assert 5 < read < 100
