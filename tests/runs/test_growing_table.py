"""Boards that grow: the values of enumerated ones, whatever the room, the interruptions and the bound on memory."""

import dataclasses
import random
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers.runfiles import changed, put, sealed
from helpers.support import BOTH_SEATS, BY_EPSILON, assert_same_in_parts, cells_of, recorded
from oracle import naive
from oracle.boards import ImageBoard, assert_same, oracle_of, position_values, random_games, start_tables, variant_of

import ttt_batch as ttt
from ttt_batch.core.errors import RunFileError
from ttt_batch.games import enumeration, graph, transcript_reader
from ttt_batch.games.board import EMPTY, Position, parse_board
from ttt_batch.learners.base import make_step, make_trajectory
from ttt_batch.runs import config, growing_table
from ttt_batch.runs.config import make_config
from ttt_batch.runs.loading import check_run
from ttt_batch.training import train
from ttt_batch.training.kernels.games import learn_given

pytestmark = pytest.mark.quick_learners("td")

LARGE = "5x5x5"
SHAPES = "2x5x3", "3x4x3-gravity"
WITHOUT_CHANCE = [name for name in BOTH_SEATS if name != "minimax-q"]


@pytest.fixture
def grown(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """Once called, no board is small enough to be enumerated."""

    def grow() -> None:
        monkeypatch.setattr(enumeration, "PLAIN", 0)
        monkeypatch.setattr(enumeration, "ENUMERATED", 0)
        monkeypatch.setattr(config, "SMALL_CELLS", 0)

    return grow


def by_code(run: ttt.Run) -> list[dict[Any, float]]:
    """Values by code, or by code and cell."""
    if "q" not in run.learner.fields:
        return position_values(run)
    graph = run.graph
    rows = np.arange(graph.first_edge.size - 1).repeat(np.diff(graph.first_edge.astype(np.int64)))
    keys = list(zip(graph.code[rows].tolist(), graph.cell.tolist(), strict=True))
    return [dict(zip(keys, q, strict=True)) for q in np.atleast_2d(run.tables.q).tolist()]


def reached(board: naive.Board, lines: list[str], *, finals: bool) -> set[int]:
    """Codes of the positions that games reach."""
    found = {0}
    for line in lines:
        for step in naive.replay(board, naive.parse_game(line), occupied_loses=True):
            if step.after is not None and (finals or board.outcome(step.after) == naive.UNFINISHED):
                found.add(board.code(step.after))
    return found


def bytes_of(run: ttt.Run) -> list[bytes]:
    """Everything that the games determine: rows in their order, tables, visits, results."""
    outcomes = run.statistics["outcomes"].tobytes(), run.statistics["games"].tobytes()
    return [*(t.tobytes() for t in run.tables), *(p.tobytes() for p in run.positions), run.visits.tobytes(), *outcomes]


# --- the same as enumerated ---------------------------------------------------------------------------------------


@pytest.mark.sampled(1)
@pytest.mark.parametrize("name", WITHOUT_CHANCE)
@pytest.mark.parametrize("shape", ["3x3", "2x5x3", "2x4x3-misere", "1x7x3-exact", "3x4x3-gravity"])
def test_given_games_teach_what_they_teach_enumerated(
    shape: str, name: str, grown: Callable[[], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    real = parse_board(shape)
    board = variant_of(real)
    lines = random_games(board, 150, shape)
    known, _ = ttt.learn_from(lines, learner=name, board=shape, symmetry="off")
    values = by_code(known)
    grown()
    monkeypatch.setattr(growing_table, "FIRST_ROWS", 16)
    run, _ = ttt.learn_from(lines, learner=name, board=shape, symmetry="off")
    assert known.grown is None and run.grown is not None
    for ours, theirs in zip(by_code(run), values, strict=True):
        assert len(ours) > 100 and {key: value for key, value in ours.items() if theirs[key] != value} == {}
    codes = run.graph.code[run.graph.code >= 0].tolist()
    assert len(codes) == len(set(codes)) == run.grown.positions
    assert set(codes) == reached(board, lines, finals=name == "value-feed")
    assert run.statistics["outcomes"].tolist() == known.statistics["outcomes"].tolist()
    assert run.statistics["positions"].tolist() == [len(codes)]


@pytest.mark.sampled(12)
@pytest.mark.parametrize("batch", [1, 200])
@pytest.mark.parametrize("name", WITHOUT_CHANCE)
@pytest.mark.parametrize("shape", SHAPES)
def test_play_is_what_it_is_enumerated(
    shape: str, name: str, batch: int, grown: Callable[[], None], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Same seed, same games, same values."""
    options: dict[str, Any] = {"learner": name, "board": shape, "batch": batch, "seed": 8}
    options |= {"epsilon": 0.3} if name in BY_EPSILON else {}
    known = by_code(ttt.train(900, **options, symmetry="off", record=tmp_path / "known.txt"))
    grown()
    monkeypatch.setattr(growing_table, "FIRST_ROWS", 16)
    run = ttt.train(900, **options, symmetry="off", record=tmp_path / "grown.txt")
    assert run.grown is not None and run.positions[0].size > 100
    assert (tmp_path / "grown.txt").read_text() == (tmp_path / "known.txt").read_text()
    for ours, theirs in zip(by_code(run), known, strict=True):
        assert {key: value for key, value in ours.items() if theirs[key] != value} == {}


@pytest.mark.slow
@pytest.mark.parametrize("batch", [1, 100])
@pytest.mark.parametrize("symmetry", ["off", "on"])
@pytest.mark.parametrize("name", BY_EPSILON)
@pytest.mark.parametrize("text", SHAPES)
def test_recorded_games_teach_what_the_oracle_learns(
    text: str, name: str, symmetry: str, batch: int, grown: Callable[[], None], tmp_path: Path
) -> None:
    """Also up to symmetry, and where a row's start values are drawn by chance."""
    grown()
    path, shape = tmp_path / "games.txt", parse_board(text)
    options: dict[str, Any] = {"learner": name, "board": shape.name, "symmetry": symmetry, "seed": 5}
    run = ttt.train(300, **options, batch=batch, epsilon=0.4, record=path)
    assert run.grown is not None and run.config.symmetry == (symmetry == "on")
    lines = path.read_text().splitlines()
    games = [naive.parse_game(line) for line in lines]
    board = variant_of(shape)
    for moves in games:
        naive.replay(board, moves, occupied_loses=True)
    if run.config.symmetry:
        board = ImageBoard(*dataclasses.astuple(board))
        games = [board.in_images(moves, shape.symmetries) for moves in games]
    oracle = oracle_of(run, board, start_tables(run))
    for start in range(0, 300, batch):
        oracle.fold(games[start : start + batch])
    assert_same(run, oracle)
    expected = reached(board, [naive.format_game(moves) for moves in games], finals=name == "value-feed")
    assert set(run.graph.code[run.graph.code >= 0].tolist()) == expected
    if batch == 1:
        given, _ = ttt.learn_from(lines, **options, epsilon=0.4)
        assert bytes_of(given)[:-2] == bytes_of(run)[:-2]


@pytest.mark.slow
def test_the_edges_of_a_row_are_its_moves_and_lead_where_they_should(grown: Callable[[], None]) -> None:
    """To the child's row where it has one, and else to the row that stands for all like it."""
    grown()
    for name, symmetry in (("td", "on"), ("value-feed", "off"), ("value-feed", "on"), ("minimax-q", "on")):
        run = ttt.train(150, learner=name, board="2x5x3", symmetry=symmetry, batch=1, epsilon=0.6)
        board = ImageBoard(2, 5, 3) if symmetry == "on" else naive.Board(2, 5, 3)
        graph = run.graph
        rows = {code: row for row, code in enumerate(graph.code.tolist())}
        unseen = {naive.UNFINISHED: -3, naive.FIRST: -4, naive.SECOND: -5, naive.DRAW: -6}
        for row in range(graph.first_edge.size - 1):
            position = board.position(int(graph.code[row]))
            assert board.outcome(position) == naive.UNFINISHED and graph.ply[row] == naive.ply(position)
            edges = slice(graph.first_edge[row], graph.first_edge[row + 1])
            occupied = run.learner.occupied
            cells = [cell for cell in range(10) if occupied or position[cell] == 0]
            assert graph.cell[edges].tolist() == cells
            for cell, child in zip(cells, graph.child[edges].tolist(), strict=True):
                if position[cell] != 0:
                    assert graph.code[child] == (-1 if naive.mover(position) == naive.FIRST else -2)
                    continue
                after = board.place(position, cell)
                expected = rows.get(board.code(after), rows[unseen[board.outcome(after)]])
                assert child == expected
                assert graph.outcome[child] == board.outcome(after)


@pytest.mark.slow
def test_the_recorded_games_on_5x5() -> None:
    arrays = recorded("greedy-td-5x5")
    run, skipped = ttt.learn_from(arrays["games"].tolist(), learner="greedy-td", board=LARGE, alpha=0.99)
    assert not skipped and not run.config.symmetry and run.grown is not None
    for player, values in enumerate(position_values(run)):
        expected = dict(zip(arrays[f"code{player}"].tolist(), arrays[f"value{player}"].tolist(), strict=True))
        assert len(expected) > 100 and set(expected) <= set(values)
        assert {code: value for code, value in values.items() if expected.get(code, 0.5) != value} == {}


@pytest.mark.slow
def test_td_on_5x5_shares_values_between_images() -> None:
    lines = random_games(naive.Board(5, 5, 5), 40, "td")
    run, _ = ttt.learn_from(lines, learner="td", board=LARGE)
    assert run.config.symmetry, "auto is on for td"
    board = ImageBoard(5, 5, 5)
    oracle = oracle_of(run, board)
    for line in lines:
        oracle.learn(board.in_images(naive.parse_game(line)))
    assert_same(run, oracle)


@pytest.mark.sampled(1)
@pytest.mark.parametrize(
    "options",
    [
        {"batch": 1},
        {"batch": 64},
        {"batch": 256, "engine": "flow"},
        {"batch": 1, "alpha": "1/n"},
        {"batch": 1, "alpha": "1/n", "learner": "q-learning"},
        {"given": True, "alpha": "1/n", "learner": "td"},
        {"given": True, "alpha": "1/n", "learner": "q-learning"},
    ],
    ids=str,
)
def test_nothing_else_holds_old_arrays_while_the_table_grows(
    options: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise growing takes twice the memory: old arrays are freed one by one as new ones are made."""
    monkeypatch.setattr(growing_table, "FIRST_ROWS", 256)
    enlarge, grew = growing_table.GrowingTable.enlarge, list[int]()

    def watched(self: growing_table.GrowingTable) -> None:
        held = [self.growth.slots, *self.graph[:6], *self.tables, *([self.visits.base] if self.visits.size else [])]
        old = [weakref.ref(array) for array in held]
        del held
        enlarge(self)
        assert not [array.shape for ref in old if (array := ref()) is not None]
        grew.append(self.used.rows)

    monkeypatch.setattr(growing_table.GrowingTable, "enlarge", watched)
    options = dict(options)
    if options.pop("given", False):
        lines = random_games(variant_of(parse_board(LARGE)), 100, LARGE)
        ttt.learn_from(lines, board=LARGE, symmetry="off", **options)
    else:
        ttt.train(300, board=LARGE, **options)
    assert len(grew) > 2


def test_an_interrupted_growth_leaves_no_wrong_table(monkeypatch: pytest.MonkeyPatch) -> None:
    run = ttt.train(60, board=LARGE, batch=1)
    assert run.grown is not None
    copied, calls = growing_table.GrowingTable._copied, list[int]()

    def interrupted(self: growing_table.GrowingTable, *given: Any) -> Any:
        calls.append(1)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return copied(self, *given)

    monkeypatch.setattr(growing_table.GrowingTable, "_copied", interrupted)
    with pytest.raises(KeyboardInterrupt):
        run.grown.enlarge()
    with pytest.raises(AttributeError):
        run.grown.compact_tables()


# --- asking ---------------------------------------------------------------------------------------------------------


@pytest.mark.sampled(1)
@pytest.mark.parametrize("symmetry", ["off", "on"])
@pytest.mark.parametrize("name", ["td", "value-feed", "minimax-q", "greedy-td"])
def test_any_position_can_be_asked_about_and_asking_changes_nothing(
    name: str, symmetry: str, grown: Callable[[], None]
) -> None:
    grown()
    run = ttt.train(60, learner=name, board="2x5x3", symmetry=symmetry, batch=1, seed=2)
    assert run.grown is not None
    before = [table.tobytes() for table in run.grown.compact()[1]]
    real, rng = naive.Board(2, 5, 3), random.Random(3)
    board = ImageBoard(2, 5, 3) if symmetry == "on" else real
    oracle = oracle_of(run, board)
    if name != "minimax-q":
        for table, values in zip([oracle.V] if name == "td" else oracle.V.values(), position_values(run), strict=True):
            table.update(values)
    known = set(run.graph.code.tolist())
    new = 0
    for _ in range(200):
        position: Position = real.empty
        for _ in range(rng.randrange(6)):
            if real.outcome(real.place(position, cell := rng.choice(real.legal(position)))) == naive.UNFINISHED:
                position = real.place(position, cell)
        least = board.canonical(position) if symmetry == "on" else position
        new += board.code(least) not in known
        values = run.move_values(position)
        assert sorted(values) == real.legal(position) and set(run.candidates(position)) <= set(range(10))
        if name == "minimax-q":
            if board.code(least) in known and symmetry == "off":
                side = 1 if naive.mover(position) == naive.FIRST else -1
                assert values == {cell: side * oracle.Q[board.code(least), cell] for cell in values}
            continue
        picks = oracle.candidates(least)
        assert len(run.candidates(position)) == len(picks)
        after = [board.code(board.place(least, cell)) for cell in board.legal(least)]
        table = oracle.V if name == "td" else oracle.V[naive.mover(position)]
        sign = -1 if name == "td" and naive.mover(position) == naive.SECOND else 1
        nan = float("nan")
        expected = [sign * table[c] if name != "value-feed" or c in table else nan for c in after]
        np.testing.assert_array_equal(np.sort(list(values.values())), np.sort(expected))
        if symmetry == "off":
            assert run.candidates(position) == picks
    assert new > 20
    assert [table.tobytes() for table in run.grown.compact()[1]] == before
    assert run.true_value(real.empty) is None
    for ask in (run.judgement, run.evaluation, lambda: run.policy, lambda: run.solution):
        with pytest.raises(ttt.BoardError, match="too large to enumerate"):
            ask()


# --- room, interruptions and files -----------------------------------------------------------------------------------


@pytest.mark.sampled(1)
@pytest.mark.parametrize("batch", [1, 100, "auto"])
@pytest.mark.parametrize("name", BY_EPSILON)
def test_room_shows_nowhere(name: str, batch: int | str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    options: dict[str, Any] = {"learner": name, "board": LARGE, "batch": batch, "seed": 1, "epsilon": 0.5}
    plenty = ttt.train(350, **options, record=tmp_path / "plenty.txt")
    monkeypatch.setattr(growing_table, "FIRST_ROWS", 4)
    little = ttt.train(350, **options, record=tmp_path / "little.txt")
    assert bytes_of(little) == bytes_of(plenty)
    assert (tmp_path / "little.txt").read_bytes() == (tmp_path / "plenty.txt").read_bytes()
    assert bytes_of(ttt.train(350, **options, threads=2)) == bytes_of(plenty), "without recording, on more threads"
    lines = (tmp_path / "little.txt").read_text().splitlines()
    if batch == 1:
        assert bytes_of(ttt.learn_from(lines, learner=name, board=LARGE, seed=1)[0])[:-2] == bytes_of(plenty)[:-2]


CASES: list[dict[str, Any]] = [
    *({"learner": name, "batch": batch} for name in BOTH_SEATS for batch in (1, 300)),
    {"learner": "td", "batch": "auto"},
    *(
        {"learner": name, "alpha": "1/n^0.8", "batch": batch}
        for name in ("td", "value-feed", "backward-q", "minimax-q")
        for batch in (1, 300)
    ),
    *({"learner": name, "engine": "flow", "batch": 300} for name in BOTH_SEATS),
    {"learner": "greedy-td", "opponent": "random", "seat": "both", "batch": 300},
    {"learner": "minimax-q", "opponent": "random", "seat": "second", "batch": 1},
    {"learner": "value-feed", "symmetry": "on", "batch": 300},
    *({"learner": "td", "board": "5x5x5-gravity", "batch": batch} for batch in (1, 300)),
]


@pytest.mark.parametrize("name", ["backward-q", "minimax-q"])
def test_visits_of_action_values_are_counted(name: str) -> None:
    lines = random_games(naive.Board(5, 5, 5), 1, name)
    started = growing_table.grow(make_config(learner=name, board=LARGE, alpha="1/n", batch=1))
    assert started.visits.size == started.tables.q.size, "or what follows breaks the process"
    run, _ = ttt.learn_from(lines, learner=name, board=LARGE, alpha="1/n")
    moves = len(lines[0].split())
    assert run.visits.size == run.tables.q.size
    assert run.visits.sum() == (moves if name == "minimax-q" else moves - 2)


@pytest.mark.slow
@pytest.mark.parametrize("options", CASES, ids=str)
def test_a_run_in_parts_is_the_run_in_one(options: dict[str, Any], tmp_path: Path) -> None:
    path = tmp_path / "run.h5"
    whole = assert_same_in_parts(path, 1_100, (299, 300, 450, 1_050), **{"board": LARGE, "seed": 3, **options})
    assert ttt.load(path).move_values((EMPTY,) * 25) == whole.move_values((EMPTY,) * 25)
    assert whole.statistics["positions"][-1] == whole.grown.positions  # type: ignore[union-attr]


@pytest.mark.slow
@pytest.mark.parametrize("options", [{"batch": 300}, {"batch": 1}, {"batch": 300, "alpha": "1/n"}], ids=str)
@pytest.mark.parametrize("name", ["td", "greedy-td"])
def test_a_run_that_starts_from_another_can_be_read_and_resumed(
    name: str, options: dict[str, Any], tmp_path: Path
) -> None:
    first = ttt.train(200, learner=name, board=LARGE, seed=1)
    begin: dict[str, Any] = {"learner": name, "board": LARGE, "seed": 2, "start": first, **options}
    path = tmp_path / "run.h5"
    whole = ttt.train(900, **begin)
    assert whole.positions[0][:100].tolist() == first.positions[0][:100].tolist()
    ttt.train(450, **begin, out=path)
    assert bytes_of(ttt.load(path)) == bytes_of(ttt.train(450, **begin))
    assert bytes_of(ttt.train(resume=path, until=900, start=first)) == bytes_of(whole)
    assert bytes_of(ttt.load(path)) == bytes_of(whole)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["td", "value-feed"])
def test_checkpoints_on_the_way_can_be_resumed(name: str, tmp_path: Path) -> None:
    path, kept = tmp_path / "run.h5", {}

    def keep(now: ttt.Progress) -> None:
        if now.saved and now.saved not in kept:
            kept[now.saved] = path.read_bytes()

    options: dict[str, Any] = {"learner": name, "board": LARGE, "batch": 100}
    whole = ttt.train(1_050, **options, out=path, checkpoint_every="200games", progress=keep)
    assert len(kept) >= 3
    for saved, content in kept.items():
        path.write_bytes(content)
        assert ttt.load(path).games == saved
        assert bytes_of(ttt.train(resume=path)) == bytes_of(whole)


@pytest.mark.slow
def test_given_games_go_on_from_a_run(tmp_path: Path) -> None:
    lines = random_games(naive.Board(5, 5, 5), 60, "on")
    for name, alpha in (("value-feed", None), ("backward-q", None), ("td", "1/n")):
        whole, _ = ttt.learn_from(lines, learner=name, board=LARGE, alpha=alpha)
        path = tmp_path / f"{name}.h5"
        ttt.learn_from(lines[:25], learner=name, board=LARGE, alpha=alpha, out=path)
        parts, _ = ttt.learn_from(lines[25:], run=path)
        assert bytes_of(parts)[:-2] == bytes_of(whole)[:-2]


@pytest.mark.sampled(1)
@pytest.mark.parametrize(
    ("name", "shape"), [("td", "5x5x5-gravity"), *((name, LARGE) for name in ("td", "minimax-q", "value-feed"))]
)
def test_damaged_positions_cost_a_line(name: str, shape: str, tmp_path: Path) -> None:
    """Among them: too many marks of one player, a line made, a mark in the air, and one to which no move leads."""
    path = tmp_path / "run.h5"
    run = ttt.train(60, learner=name, board=shape, symmetry="off", batch=1, out=path)
    content, (code, outcome) = path.read_bytes(), run.positions
    rows = int((code < 0).argmax())
    deep = max(range(rows), key=lambda row: sum(map(bool, run.board.decode(int(code[row])))))

    def mirrored(row: int) -> int:
        marks = run.board.decode(int(code[row]))
        return run.board.encode(tuple(marks[cell + 4 - 2 * (cell % 5)] for cell in range(25)))

    texts = ["X"] if run.board.gravity else ["XX", "X.OO", "XXXXXOOOO"]
    unreached = [run.board.encode(tuple(".XO".index(mark) for mark in text)) for text in texts]
    damages: list[tuple[str, Any, Any]] = [
        *(("states/code", 7, value) for value in (code[5], 3**25, -9)),
        ("states/code", [0, 1], code[[1, 0]]),
        ("states/code", rows, 5),
        *(("states/outcome", row, value) for row, value in ((7, 1), (rows, 3))),
        *(("states/code", deep, value) for value in (*unreached, mirrored(deep))),
    ]
    if name == "value-feed":  # it alone keeps ends of games
        damages += [("states/outcome", -1, 3 - outcome[-1]), ("states/code", -1, mirrored(-1))]
    changes = [put(dataset, value, where) for dataset, where, value in damages]
    for number, change in enumerate([*changes, lambda file: file["statistics"].pop("positions")]):
        path.write_bytes(sealed(changed(content, change)))
        with pytest.raises(RunFileError) as caught:
            ttt.load(path)
        assert len(str(caught.value).splitlines()) == 1 and "run.h5" in str(caught.value), number
    path.write_bytes(sealed(content))
    assert ttt.load(path).games == 60


def test_a_damaged_shared_value_permits_no_other(tmp_path: Path) -> None:
    """Rows begin with shared values, which are learnt for all positions without a row."""
    run = ttt.train(60, board=LARGE, learner="td", symmetry="off", batch=1)
    rows = int((run.positions[0] < 0).argmax())
    run.tables[0][..., rows], run.tables[0][..., 5] = 1e9, 7e8
    with pytest.raises(RunFileError, match="holds a value beyond 1, which training never reaches"):
        ttt.load(run.save(tmp_path / "run.h5"))


def test_pieces_of_given_games_do_not_show(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(growing_table, "FIRST_ROWS", 64)
    lines = random_games(naive.Board(5, 5, 5), 40, "pieces")
    whole, _ = ttt.learn_from(lines, learner="td", board=LARGE, alpha="1/n")
    for piece in (1, 500):
        monkeypatch.setattr(transcript_reader, "PIECE", piece)
        run, _ = ttt.learn_from(lines, learner="td", board=LARGE, alpha="1/n")
        assert bytes_of(run) == bytes_of(whole)


# --- the bound on memory ------------------------------------------------------------------------------------------


def taught_within(max_rows: int, lines: list[str], **options: Any) -> ttt.Run:
    """`learn_from` with a bound on the unfinished rows."""
    settings = make_config(batch=1, engine="given", **options)
    board = growing_table.grow(settings)
    board.max_rows = max_rows
    games = cells_of(lines, settings.board, occupied=board.learner.occupied)
    learnt, game, outcomes = 0, make_trajectory(settings.board.cells), np.zeros(4, np.int64)
    while True:
        step = make_step(settings.alpha.start, settings.gamma, board.worth)
        at = board.tables, board.graph, step, board.growth
        learnt = learn_given(*at, games, game, outcomes, learnt, board.may_grow)
        if learnt == len(lines):
            return ttt.Run(settings, board.compact()[1], learnt, {}, grown=board)
        board.enlarge()


@pytest.mark.slow
@pytest.mark.parametrize("name", ["sutton-barto", "value-feed", "greedy-td", "td"])
@pytest.mark.parametrize("shape", SHAPES)
def test_beyond_the_bound_nothing_is_kept(
    shape: str, name: str, grown: Callable[[], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """As the oracle that forgets after each game all but the positions that came first."""
    grown()
    monkeypatch.setattr(growing_table, "FIRST_ROWS", 8)
    board = variant_of(parse_board(shape))
    lines = random_games(board, 300, name)
    run = taught_within(60, lines, learner=name, board=shape, symmetry="off")
    assert run.grown is not None and run.grown.used.rows == 60 and run.grown.lost > 300
    codes = run.positions[0]
    kept = set(codes[codes >= 0].tolist())
    oracle, met = oracle_of(run, board), [0]
    for line in lines:
        moves = naive.parse_game(line)
        steps = naive.replay(board, moves)
        for step in steps:
            assert step.after is not None
            code = board.code(step.after)
            if board.outcome(step.after) == naive.UNFINISHED and code not in met:
                met.append(code)
        if name == "td":  # looks at all children alike, and a lost one is worth what it is worth at the start
            for step in reversed(steps):
                s = board.code(step.position)
                if s in kept:
                    oracle.V[s] += oracle.alpha * (oracle.gamma * oracle._best(step.position) - oracle.V[s])
            continue
        oracle.learn(moves)
        for table in oracle.V.values():
            for code in set(table) - kept:
                del table[code]
    assert codes[:60].tolist() == met[:60], "those that came first"
    assert_same(run, oracle)
    shared = start_tables(run).value[..., 60:66]
    np.testing.assert_array_equal(run.tables.value[..., 60:66], shared)


@pytest.mark.sampled(1)
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("batch", [1, 100])
def test_games_recorded_with_a_full_table_are_real(
    shape: str, batch: int, grown: Callable[[], None], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    grown()
    monkeypatch.setattr(growing_table, "FIRST_ROWS", 8)
    monkeypatch.setattr(train, "rows_within", lambda *_: 60)
    path, said = tmp_path / "games.txt", []
    options: dict[str, Any] = {"board": shape, "batch": batch, "symmetry": "off"}
    run = ttt.train(400, **options, epsilon=0.4, record=path, warn=said.append)
    assert run.grown is not None and run.grown.used.rows == 60 and run.grown.lost > 0
    assert len(said) == 1 and "max_memory" in said[0]
    for line in path.read_text().splitlines():
        naive.replay(variant_of(run.board), naive.parse_game(line))


@pytest.mark.sampled(1)
@pytest.mark.parametrize(("name", "shape"), [("td", "2x5x3"), ("greedy-td", "2x5x3"), ("td", "3x4x3-gravity")])
def test_a_batch_learns_nothing_from_a_game_that_left_the_table(
    name: str, shape: str, grown: Callable[[], None], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    grown()
    monkeypatch.setattr(growing_table, "FIRST_ROWS", 8)
    monkeypatch.setattr(train, "rows_within", lambda *_: 200)
    path = tmp_path / "games.txt"
    options: dict[str, Any] = {"learner": name, "board": shape, "batch": 100, "symmetry": "off"}
    run = ttt.train(600, **options, epsilon=0.2, record=path, warn=lambda _: None)
    assert run.grown is not None and run.grown.used.rows == 200 and run.grown.lost > 0
    kept = set(run.positions[0].tolist())
    board = variant_of(run.board)
    oracle = oracle_of(run, board)
    lines = path.read_text().splitlines()
    whole = [line for line in lines if reached(board, [line], finals=False) <= kept]
    assert 20 < len(whole) < 500
    for start in range(0, 600, 100):
        games = [naive.parse_game(line) for line in lines[start : start + 100] if line in whole]
        if games:
            oracle.fold(games)
    assert_same(run, oracle)


@pytest.mark.parametrize(
    "options",
    [
        {"learner": "greedy-td", "batch": 1},
        {"learner": "value-feed", "batch": 1},
        {"learner": "td", "batch": 100},
        {"learner": "sutton-barto", "batch": 1, "alpha": "1/n"},
    ],
    ids=str,
)
def test_a_full_table_is_saved_and_resumed_within_its_bound(
    options: dict[str, Any], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(growing_table, "FIRST_ROWS", 64)
    monkeypatch.setattr(train, "rows_within", lambda *_: 700)
    options = {"board": LARGE, "epsilon": 0.6, "symmetry": "off", "warn": lambda _: None, **options}
    path = tmp_path / "run.h5"
    whole = ttt.train(600, **options)
    assert whole.grown is not None and whole.grown.used.rows == 700 and whole.grown.lost > 0
    ttt.train(350, **options, out=path)
    assert ttt.load(path).statistics["positions"][-1] <= 1_400
    resumed = ttt.train(resume=path, until=600, warn=lambda _: None)
    assert resumed.grown is not None and resumed.grown.used.rows == 700
    assert bytes_of(resumed) == bytes_of(whole)
    assert bytes_of(ttt.load(path)) == bytes_of(whole)


def test_max_memory_bounds_the_table(tmp_path: Path) -> None:
    """By the real way in: 4 MB hold more than 10,000 rows, and 400 games at random meet more positions."""
    path = tmp_path / "run.h5"
    options: dict[str, Any] = {"learner": "td", "board": LARGE, "batch": 1, "epsilon": 1.0, "symmetry": "off"}
    free = ttt.train(3_000, **options)
    said: list[str] = []
    run = ttt.train(3_000, **options, max_memory="4MB", out=path, warn=said.append)
    assert len(said) == 1
    assert run.grown is not None and free.grown is not None
    assert 10_000 <= run.grown.used.rows < free.grown.used.rows
    assert free.grown.lost == 0
    assert run.grown.lost >= free.grown.used.rows - run.grown.used.rows, "every new position was counted as lost"
    held = sum(array.nbytes for array in (*run.grown.graph, *run.grown.tables, run.grown.growth.slots))
    assert held < 5_000_000
    codes = run.positions[0][: run.grown.used.rows]
    assert codes.tolist() == free.positions[0][: codes.size].tolist(), "those that came first"
    assert bytes_of(ttt.load(path)) == bytes_of(run)
    with pytest.raises(ttt.BoardError, match="max_memory"):
        ttt.train(10, **options, max_memory="1MB")


@pytest.mark.slow
def test_more_ends_of_games_than_positions_survive_a_file(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Where lines are short, most of what is met is final."""
    monkeypatch.setattr(growing_table, "FIRST_ROWS", 64)
    lines = [f"{a} {b} {c}" for a in range(25) for b in range(25) for c in range(25) if len({a, b, c}) == 3]
    path = tmp_path / "run.h5"
    run, skipped = ttt.learn_from(
        lines, learner="value-feed", board="5x5x2", symmetry="off", skip_bad=True, out=path, name="ends"
    )
    assert run.grown is not None and skipped
    assert run.grown.used.finals > run.grown.used.rows
    loaded = ttt.load(path)
    assert bytes_of(loaded) == bytes_of(run)
    more, _ = ttt.learn_from(["0 24 1"], run=path)
    assert more.games == run.games + 1


# --- flow -----------------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("symmetry", ["off", "on"])
def test_flow_teaches_ends_of_games_each_on_its_own(symmetry: str) -> None:
    """The rows that stand for all final positions hold start values, whoever ended how often."""
    run = ttt.train(
        3_000, learner="value-feed", board="1x18x2", engine="flow", batch=3_000, symmetry=symmetry, epsilon=1.0
    )
    shared = (run.positions[0] < 0) & (run.positions[0] > -7)
    assert shared.sum() == graph.N_SHARED
    assert np.isnan(run.tables.value[:, shared]).all()
    finals = np.flatnonzero(run.positions[1] != naive.UNFINISHED)
    own = finals[finals > int(np.flatnonzero(shared)[-1])]
    seen = ~np.isnan(run.tables.value[:, own])
    assert own.size > 10 and (seen.sum(axis=0) == 1).all()  # the player who ended the game has learnt


def test_a_batch_of_flow_without_room_leaves_no_trace(tmp_path: Path) -> None:
    path = tmp_path / "run.h5"
    options: dict[str, Any] = {"board": LARGE, "symmetry": "off", "engine": "flow", "batch": 500, "seed": 5}
    with pytest.warns(RuntimeWarning, match="table is full"):
        stopped = ttt.train(20_000, **options, max_memory="6MB", out=path)
    assert stopped.full and 0 < stopped.games < 20_000
    whole = ttt.train(stopped.games, **options)
    assert bytes_of(stopped) == bytes_of(whole) == bytes_of(ttt.load(path))
    assert check_run(path)[0] == []
    longer = ttt.train(resume=path, until=stopped.games + 1_000)
    assert bytes_of(longer) == bytes_of(ttt.train(longer.games, **options))
