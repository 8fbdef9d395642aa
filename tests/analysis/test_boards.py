"""The boards that are listed, counted and solved, and what they are said to take."""

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from helpers.players import uneven
from helpers.support import command

import ttt_batch as ttt
from ttt_batch.analysis import boards as catalogue
from ttt_batch.analysis.boards import known_boards, measure, write_solution
from ttt_batch.app.reports.catalogues import board_text
from ttt_batch.core.errors import BoardError, UsageError
from ttt_batch.core.resources import parse_memory
from ttt_batch.games.board import MAX_TABLE_CELLS, most_positions, parse_board
from ttt_batch.games.enumeration import choose_space, enumerate_graph
from ttt_batch.games.gravity_solver import GravitySolver
from ttt_batch.games.solution import CERTIFIED, DRAWN, KNOWN, LOST, SEARCHED, SOLVED, WON, solve
from ttt_batch.runs.config import make_config
from ttt_batch.runs.growing_table import bytes_needed, check_space, rows_within
from ttt_batch.simulation.action_probabilities import even_chances, make_chances
from ttt_batch.simulation.policy import random_policy
from ttt_batch.simulation.sampled import make_mixture

QUICK = ("3x3", "3x3-misere", "3x4x3", "3x4x4")


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", QUICK)
def test_what_the_catalogue_says_is_what_counting_gives(name: str) -> None:
    entry = measure(parse_board(name))
    assert (entry.positions, entry.moves, entry.value, entry.source) == KNOWN[name]


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name, found in KNOWN.items() if found[0] and name not in QUICK])
def test_what_the_catalogue_says_of_larger_boards(name: str) -> None:
    test_what_the_catalogue_says_is_what_counting_gives(name)


def test_every_board_of_the_catalogue_has_its_name_a_value_and_a_source() -> None:
    for name, entry in zip(KNOWN, known_boards(), strict=True):
        assert entry.board.name == name
        assert entry.most >= (entry.positions or 0)
        assert (entry.space is None) == (entry.board.cells > MAX_TABLE_CELLS)
        assert (entry.space is None or entry.space.grown) == (entry.positions is None) == (entry.bytes is None)
        assert entry.value in (WON, DRAWN, LOST) and (entry.source == SOLVED) == (entry.positions is not None)


def test_a_board_on_its_side_has_the_same_value() -> None:
    for name, turned in (("4x5x4", "5x4x4"), ("6x5x4", "5x6x4")):
        lying, entry = measure(turned), measure(name)
        assert lying.board.name == turned and (lying.value, lying.source) == (entry.value, entry.source)
    assert measure("5x4x4-misere").value is None and measure("6x6x5").source is None


@pytest.mark.slow
def test_the_largest_board_that_is_solved_by_a_search() -> None:
    """6x7 takes some minutes; its opening book has the value."""
    board = parse_board("6x6x4-gravity")
    found = GravitySolver(board).solve((0,) * board.cells)
    assert found is not None and (found.result, SEARCHED) == (KNOWN[board.name].value, KNOWN[board.name].source)


def test_a_search_solves_boards_outside_the_catalogue() -> None:
    tall, wide = measure("6x4x4-gravity"), measure("4x6x4-gravity")
    assert (tall.value, wide.value) == (DRAWN, LOST), "no board with gravity is another one turned"
    assert tall.source == wide.source == "solved by a search of this program"


def test_what_follows_from_one_value_holds_in_the_catalogue() -> None:
    """A first player who wins does so with more room or shorter lines, if nobody has refuted that in the catalogue."""
    plain = [entry for entry in known_boards() if not entry.board.rules]
    for won in plain:
        for other in plain:
            ours, theirs = won.board, other.board
            if won.value == WON and ours.k >= theirs.k and ours.rows <= theirs.rows and ours.cols <= theirs.cols:
                assert other.value == WON, (ours.name, theirs.name)


@pytest.mark.parametrize(
    ("board", "symmetry", "prefers", "expected"),
    [
        ("3x3", "auto", True, (False, False)),
        ("3x3", "on", False, (False, True)),
        ("3x4x3", "auto", True, (False, False)),
        ("4x4x4", "auto", False, (False, True)),
        ("4x4x4", "off", True, (False, False)),
        ("5x5x5", "auto", True, (True, True)),
        ("5x5x5", "auto", False, (True, False)),
        ("5x5x5", "on", False, (True, True)),
        ("6x6x4", "off", True, (True, False)),
    ],
)
def test_how_positions_are_kept(board: str, symmetry: str, prefers: bool, expected: tuple[bool, bool]) -> None:
    assert choose_space(parse_board(board), symmetry, prefers=prefers) == expected


def test_positions_are_counted_by_marks() -> None:
    for name in ("1x1", "2x2", "3x3", "2x3x2"):
        board = parse_board(name)
        marks = [board.decode(code) for code in range(3**board.cells)]
        assert most_positions(board) == sum(p.count(1) - p.count(2) in (0, 1) for p in marks)


def test_memory_is_read_as_people_write_it() -> None:
    assert parse_memory("2GB") == 2 * 10**9 == parse_memory("2g")
    assert parse_memory("1.5 MB") == 1_500_000
    assert parse_memory("4096") == 4096 == parse_memory(4096)
    assert parse_memory("1e9") == 10**9 == parse_memory("1,000MB") == parse_memory("1_000 MiB") == parse_memory("1e9B")
    assert parse_memory("2Gi") == 2 * 10**9 == parse_memory("2  GB")
    assert parse_memory("5b") == 5
    assert parse_memory(None) > 0
    for text in ("", "GB", "b", "-1GB", "2XB", "0", "0.5", "5bb", "50%", "1,5GB", "1e999"):
        with pytest.raises(UsageError, match="max_memory"):
            parse_memory(text)


def test_boards_that_do_not_fit_are_refused_before_any_work() -> None:
    config = make_config(board="4x4x3", symmetry="off")
    with pytest.raises(BoardError, match=r"10,165,779 rows with [\d,]+ edges.*symmetry='on'.*max_memory"):
        check_space(config, 10**8)
    check_space(config, bytes_needed(config))
    with pytest.raises(BoardError, match="raise max_memory"):
        rows_within(make_config(board="5x5x5"), 10_000)
    assert 5_000_000 < rows_within(make_config(board="5x5x5", learner="greedy-td"), 2 * 10**9) < 20_000_000


def test_a_board_takes_no_more_memory_than_is_said() -> None:
    """Of the arrays themselves; their sum is what the limit is compared with."""
    for learner in ("td", "greedy-td", "backward-q"):
        config = make_config(board="3x4x3", learner=learner, batch=1)
        graph = config.graph
        tables = ttt.LEARNERS[learner].start(graph, np.zeros((2, 4)), np.random.default_rng(0))
        arrays = [*tables, graph.code, graph.outcome, graph.ply, graph.first_edge, graph.child, graph.cell]
        assert sum(array.nbytes for array in arrays) <= bytes_needed(config)


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    ("options", "uneven", "seats"),
    [
        ({"explore": "softmax:0.1"}, False, 1),
        ({"explore": "softmax:0.1", "opponent": "random", "seat": "both"}, False, 2),
        ({"opponent": "0" * 16, "seat": "both"}, True, 2),
        ({"opponent": "0" * 16, "seat": "first", "engine": "flow"}, True, 0),
    ],
    ids=str,
)
def test_chances_of_moves_take_what_is_said(options: dict[str, Any], uneven: bool, seats: int) -> None:
    """Alias tables and draws of each seat, and the opponent's chances: no more than the estimate adds for them."""
    config = make_config(board="3x4x3", symmetry="off", **options)
    graph = config.graph
    way = make_mixture(graph, None, None)
    taken = seats * sum(array.nbytes for array in (way.column, way.drawn, way.dirty, way.columns))
    if config.opponent:
        taken += make_chances(graph, even_chances(graph, random_policy(graph)).chance).chance.nbytes
    plain = make_config(board="3x4x3", symmetry="off", **{key: options[key] for key in options if key != "explore"})
    added = bytes_needed(config, uneven=uneven) - bytes_needed(plain)
    assert taken <= added < 4 * taken  # the number of positions is a bound, too
    with pytest.raises(BoardError, match="may be used"):
        check_space(config, bytes_needed(plain) + taken // 4, uneven=uneven)


def test_training_counts_an_opponent_s_chances(monkeypatch: pytest.MonkeyPatch) -> None:
    def end(*_: Any, uneven: bool) -> None:
        raise MemoryError(uneven)

    monkeypatch.setattr("ttt_batch.training.train.check_space", end)
    for opponent in (uneven, "random"):
        with pytest.raises(MemoryError, match=str(opponent is uneven)):
            ttt.train(50, board="2x2", batch=10, opponent=opponent)


def test_the_command(capsys: pytest.CaptureFixture[str]) -> None:
    status, listed, _ = command(capsys, "boards")
    assert status == 0 and all(name in listed for name in KNOWN)
    assert all(len(line) <= 80 for line in listed.splitlines())
    assert [line.split()[0] for line in listed.splitlines() if line.endswith("(connect4)")] == ["6x7x4-gravity"]
    one = json.loads(command(capsys, "boards", "3x4x3", "--json")[1])
    assert (one["positions"], one["value"], one["kept"]) == (111_973, "first wins", "enumerated")
    large = json.loads(command(capsys, "boards", "5x5x5", "--json")[1])
    assert (large["positions"], large["kept"], large["value"]) == (None, "grown", "draw")
    huge = json.loads(command(capsys, "boards", "8x8x5", "--json")[1])
    assert (huge["kept"], huge["symmetry"], huge["bytes"], huge["value"]) == (None, None, None, "draw")
    assert huge["positions_at_most"] == most_positions(parse_board("8x8x5")) and "8,8,5-game" in huge["source"]
    for entry in known_boards():
        assert all(len(line) <= 80 for line in board_text(entry).splitlines() if line.startswith("source"))
    shown = dict(line.split(maxsplit=1) for line in command(capsys, "boards", "7x7x5")[1].splitlines())
    assert (shown["positions"], shown["memory"], shown["kept"]) == ("too many to count", "-", "-")
    assert "2020" in shown["source"] and "not listed" in command(capsys, "boards", "6x6x5")[1]
    for words in (
        ["boards", "9x9"],
        ["boards", "7x7x4"],
        ["boards", "8x8x5", "--symmetry", "maybe"],
        ["boards", "x"],
        ["boards", "3x3", "--symmetry", "maybe"],
        ["boards", "--solution", "f"],
    ):
        status, _, err = command(capsys, *words)
        assert status in (1, 2) and len(err.splitlines()) == 1, err


def test_a_solution_is_a_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "s.npz"
    words = ["boards", "3x4x3", "--symmetry", "on", "--solution", str(path)]
    status, out, _ = command(capsys, *words)
    assert status == 0 and out.endswith(f"\nwrote {path}\n")
    with np.load(path) as found:
        graph = enumerate_graph(parse_board("3x4x3"), False, True)
        assert found["symmetry"] and np.array_equal(found["code"], graph.code)
        assert np.array_equal(found["value"], solve(graph)) and found["value"][0] == WON != DRAWN
    status, _, err = command(capsys, *words)
    assert status == 1 and "--overwrite" in err
    assert command(capsys, *words, "--overwrite")[0] == 0
    status, _, err = command(capsys, "boards", "5x5x5", "--solution", str(tmp_path / "t.npz"))
    assert status == 2 and len(err.splitlines()) == 1
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["s.npz"]


@pytest.mark.parametrize(
    "words",
    [
        ["train"],
        ["train", "--learner", "greedy-td", "--engine", "flow"],
        ["study", "--seeds", "2", "--games", "100"],
        ["learn-from", "games.txt", "--learner", "td"],
        ["import", "table.csv", "--learner", "td"],
        ["boards", "--solution", "solution.npz"],
    ],
    ids=" ".join,
)
def test_what_works_by_position_refuses_larger_boards_and_writes_nothing(
    words: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("games.txt", "table.csv"):
        Path(name).write_text("0 1 2\n", encoding="utf-8")
    before = sorted(tmp_path.iterdir())
    name = ["7x7x5"] if words[0] == "boards" else ["--board", "7x7x5", "--out", "new.h5"]
    status, out, err = command(capsys, words[0], *words[1:], *name)
    assert (status, out, len(err.splitlines())) == (2, "", 1)
    assert "board 7x7x5 has 49 cells; tables by position take at most 36: choose a smaller board" in err
    assert sorted(tmp_path.iterdir()) == before


def test_a_solutions_buffer_closes_after_its_views(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise Python 3.13 complains where a disk refuses the solution."""
    views: list[memoryview] = []
    stand_in = SimpleNamespace(check=lambda *_, **__: None, write=lambda _, contents, **__: views.extend(contents))
    monkeypatch.setattr(catalogue, "_SOLUTION", stand_in)
    write_solution("2x2x2", tmp_path / "s.npz")
    with pytest.raises(ValueError, match="released"):
        bytes(views[0])


def test_what_networks_prove_is_marked(capsys: pytest.CaptureFixture[str]) -> None:
    """Only boards with a value that is known; also one that lies on its side."""
    listing = command(capsys, "boards")[1].splitlines()
    marked = {line.split()[0] for line in listing if "]* " in line}
    assert marked == CERTIFIED and KNOWN.keys() >= CERTIFIED
    assert "pattern networks" in command(capsys, "boards", "5x6x4")[1]
    assert json.loads(command(capsys, "boards", "7x7x5", "--json")[1])["proved_by_networks"] is False
