"""Games as text, learning from them, and recording them."""

import errno
import itertools
import random
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers.players import random_game
from helpers.support import BY_EPSILON, bytes_of, command, games_of, mostly_slow
from oracle import naive

import ttt_batch as ttt
from ttt_batch.core.errors import GamesError, RunFileError, UsageError
from ttt_batch.core.outputs import Draft, Lock
from ttt_batch.games import transcript_reader
from ttt_batch.games.board import parse_board
from ttt_batch.games.enumeration import enumerate_graph
from ttt_batch.games.graph import Graph
from ttt_batch.games.notation import DigitReading
from ttt_batch.games.transcripts import GamesWriter, format_games, parse_line
from ttt_batch.learners import LEARNERS
from ttt_batch.training.from_games import GamesLearnt

BOARD = ttt.Board()
GRAPH = enumerate_graph(BOARD, False)
OCCUPIED = enumerate_graph(BOARD, True)


def assert_same_statistics(one: ttt.Run, other: ttt.Run) -> None:
    assert one.statistics.keys() == other.statistics.keys()
    for name in one.statistics.keys() - {"seconds"}:
        np.testing.assert_array_equal(one.statistics[name], other.statistics[name])


def outcomes_of(lines: list[str], graph: Graph) -> list[int]:
    """First wins, draws and second wins among games."""
    games = games_of(lines, graph)
    final = graph.outcome[graph.child[games.move[games.start[1:] - 1]]]
    return [int((final == outcome).sum()) for outcome in (naive.FIRST, naive.DRAW, naive.SECOND)]


# --- notation ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("board", ["3x3", "2x2", "3x4x3"])
def test_games_survive_the_round_trip(board: str) -> None:
    shape = parse_board(board)
    graph, rng, lines = enumerate_graph(shape, False), random.Random(1), []
    oracle = naive.Board(shape.rows, shape.cols, shape.k)
    for _ in range(200):
        position, moves = oracle.empty, []
        while cells := oracle.legal(position):
            moves.append((rng.choice(cells), rng.random() < 0.3))
            position = oracle.place(position, moves[-1][0])
        lines.append(naive.format_game(moves))
    games = games_of(lines, graph, shape)
    assert format_games(games, graph) == lines
    assert games.start[0] == 0 and games.start.size == 201
    assert games.exploring.sum() == sum(line.count("!") for line in lines)


@pytest.mark.sampled(1)
@pytest.mark.parametrize("name", ["8x8x5", "8x8x5-exact", "1x64x3", "64x1x3", "6x7x4-misere"])
def test_a_line_is_read_on_the_largest_boards(name: str) -> None:
    board, rng = parse_board(name), random.Random(name)
    for _ in range(20):
        cells = random_game(board, rng)
        for words in (map(str, cells), map(board.cell_name, cells)):
            assert parse_line(" ".join(words), board, occupied=False) == [(cell, False) for cell in cells]
        assert parse_line(
            " ".join(f"{cell + 1}!" for cell in cells), board, occupied=False, reading=DigitReading(first=1)
        ) == [(cell, True) for cell in cells]
    with pytest.raises(GamesError, match=r"'64', is not a free cell of the board: cells count from 0 .* 0 to "):
        parse_line("64", board, occupied=False)


def test_only_minimax_q_may_end_on_an_occupied_cell() -> None:
    lines = ["0 0", "0! 3 1 4 3!"]
    assert format_games(games_of(lines, OCCUPIED), OCCUPIED) == lines
    assert outcomes_of(lines, OCCUPIED) == [1, 0, 1]  # whoever names an occupied cell loses
    assert outcomes_of(["0 0"], OCCUPIED) == [1, 0, 0]
    assert outcomes_of(["0 3 0"], OCCUPIED) == [0, 0, 1]
    with pytest.raises(GamesError, match="line 1: the game is over after 2 moves, but '1' follows"):
        games_of(["0 0 1"], OCCUPIED)
    for name in LEARNERS:
        if name != "minimax-q":
            with pytest.raises(GamesError, match="games, line 1: move 2"):
                ttt.learn_from(["0 0"], learner=name)
    run, skipped = ttt.learn_from(["0 0", "0 9", "0 3 1 4 2"], learner="minimax-q", skip_bad=True)
    assert run.games == 2 and len(skipped) == 1 and "line 2" in skipped[0]


# --- learning from games ----------------------------------------------------------------------------------


@pytest.mark.sampled(1)
@pytest.mark.parametrize("name", BY_EPSILON)
def test_recorded_games_teach_what_training_taught(name: str, tmp_path: Path) -> None:
    path = tmp_path / "games.txt"
    trained = ttt.train(3_000, learner=name, batch=1, epsilon=0.4, seed=11, record=path)
    lines = path.read_text().splitlines()
    assert len(lines) == 3_000
    assert bytes_of(ttt.train(3_000, learner=name, batch=1, epsilon=0.4, seed=11).tables) == bytes_of(trained.tables)
    given, skipped = ttt.learn_from(lines, learner=name, seed=11, epsilon=0.4)  # part of the rule of expected-sarsa
    assert skipped == [] and given.games == 3_000
    assert bytes_of(given.tables) == bytes_of(trained.tables)
    assert outcomes_of(lines, trained.graph) == trained.statistics["outcomes"][-1].tolist()
    assert given.statistics["outcomes"][-1].tolist() == trained.statistics["outcomes"][-1].tolist()
    assert any("!" in line for line in lines) and not all("!" in line for line in lines)


@pytest.mark.slow  # kernels of another learner
@pytest.mark.parametrize("how", [{"epsilon": "0.4"}, {"explore": "softmax:0.3"}], ids=str)
def test_the_policy_that_expected_sarsa_expects_may_be_given(
    how: dict[str, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, out = tmp_path / "games.txt", tmp_path / "given.h5"
    trained = ttt.train(500, learner="expected-sarsa", batch=1, seed=11, record=path, **how)
    words = [word for name, value in how.items() for word in (f"--{name}", value)]
    status, _, err = command(capsys, "learn-from", path, "--learner", "expected-sarsa", *words, "--out", out, "-q")
    assert status == 0, err
    given = ttt.load(out)
    assert bytes_of(given.tables) == bytes_of(trained.tables) and given.config.explore == trained.config.explore
    without, _ = ttt.learn_from(path, learner="expected-sarsa")
    assert bytes_of(without.tables) != bytes_of(trained.tables)


@pytest.mark.sampled(1)
@pytest.mark.parametrize("name", BY_EPSILON)
def test_learning_in_two_parts_equals_one(name: str, tmp_path: Path) -> None:
    path, games = tmp_path / "half.h5", tmp_path / "games.txt"
    options: dict[str, Any] = {"alpha": 0.25, "gamma": 0.95, "draw_worth": (0.25, 0.25)}
    ttt.train(400, learner=name, batch=1, epsilon=0.5, seed=3, record=games)
    lines = games.read_text().splitlines()
    whole, _ = ttt.learn_from(lines, learner=name, seed=3, **options)
    half, _ = ttt.learn_from(lines[:150], learner=name, seed=3, out=path, **options)
    before = bytes_of(half.tables)
    for origin in (half, path, str(path)):
        on, _ = ttt.learn_from(lines[150:], run=origin)
        assert on.games == 400
        assert bytes_of(on.tables) == bytes_of(whole.tables)
        assert on.config.settings == whole.config.settings
    assert bytes_of(half.tables) == before != bytes_of(whole.tables)


@pytest.mark.parametrize("piece", [1 << 20, 1])
def test_nothing_is_learnt_or_written_when_a_game_is_bad(
    piece: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transcript_reader, "PIECE", piece)
    run, _ = ttt.learn_from(["0 3 1 4 2"], learner="td")
    before = bytes_of(run.tables)
    with pytest.raises(GamesError, match="mine, line 2"):
        ttt.learn_from(["0 3 1 4 2", "0 0"], run=run, name="mine", out=tmp_path / "x.h5")
    assert bytes_of(run.tables) == before
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
@pytest.mark.parametrize("alpha", [None, "1/n"])
@pytest.mark.parametrize("name", BY_EPSILON)
def test_pieces_do_not_show(name: str, alpha: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "games.txt"
    ttt.train(300, learner=name, batch=1, epsilon=0.5, seed=3, record=path)
    whole, _ = ttt.learn_from(path, learner=name, alpha=alpha)
    for piece in (1, 50, 777):
        monkeypatch.setattr(transcript_reader, "PIECE", piece)
        for games in (path, str(path), path.read_text().splitlines()):
            reports: list[GamesLearnt] = []
            run, _ = ttt.learn_from(games, learner=name, alpha=alpha, progress=reports.append)
            told = [now.games for now in reports]
            assert bytes_of(run.tables) == bytes_of(whole.tables)
            assert run.visits.tobytes() == whole.visits.tobytes()
            assert_same_statistics(run, whole)
            assert len(told) > 2 and told == sorted(told) and told[-1] == 300


def test_misuse_of_learn_from(tmp_path: Path) -> None:
    run, _ = ttt.learn_from(["0 3 1 4 2"], learner="td", out=tmp_path / "x.h5")
    with pytest.raises(UsageError, match="no learner is named; give learner=NAME, or run=RUN"):
        ttt.learn_from(["0 3 1 4 2"])
    with pytest.raises(UsageError, match="made by td, not greedy-td"):
        ttt.learn_from(["0 3 1 4 2"], run=run, learner="greedy-td")
    with pytest.raises(RunFileError, match="exists"):
        ttt.learn_from(["0 3 1 4 2"], learner="td", out=tmp_path / "x.h5")
    with pytest.raises(UsageError, match="same learner, board and symmetry"):
        ttt.learn_from(["0 3 1 4 2"], run=run, board="2x3x2")
    with pytest.raises(UsageError, match="same learner, board and symmetry"):
        ttt.learn_from(["0 3 1 4 2"], run=run, symmetry="on")


@pytest.mark.parametrize("lines", [[], ["# none", "", "  "], ["0 0", "# none", "0"]], ids=str)
def test_no_games_at_all_are_an_error(lines: list[str], tmp_path: Path) -> None:
    with pytest.raises(GamesError, match="mine: no games") as raised:
        ttt.learn_from(lines, learner="td", skip_bad=True, name="mine", out=tmp_path / "x.h5")
    bad = ", only bad lines (2); the first: mine, line 1: move 2, '0', is not a free cell of the board"
    assert (bad in str(raised.value)) == ("0 0" in lines)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow  # kernels of every learner
def test_without_marks_every_move_counts_as_greedy() -> None:
    marked, _ = ttt.learn_from(["0! 3! 1! 4! 2!"], learner="sutton-barto")
    plain, _ = ttt.learn_from(["0 3 1 4 2"], learner="sutton-barto")
    assert bytes_of(marked.tables) != bytes_of(plain.tables)
    for name in ("td", "value-feed", "minimax-q", "backward-q"):  # these do not ask
        marked, _ = ttt.learn_from(["0! 3! 1! 4! 2!"], learner=name)
        plain, _ = ttt.learn_from(["0 3 1 4 2"], learner=name)
        assert bytes_of(marked.tables) == bytes_of(plain.tables)


# --- recording --------------------------------------------------------------------------------------------


@pytest.mark.sampled(1)
@pytest.mark.parametrize("name", mostly_slow(BY_EPSILON, "td", "minimax-q"))
def test_recording_changes_nothing(name: str, tmp_path: Path) -> None:
    path = tmp_path / "games.txt"
    plain = ttt.train(2_000, learner=name, batch=64, epsilon=0.4, seed=5)
    recorded = ttt.train(2_000, learner=name, batch=64, epsilon=0.4, seed=5, record=path)
    assert bytes_of(plain.tables) == bytes_of(recorded.tables)
    assert_same_statistics(plain, recorded)
    lines = path.read_text().splitlines()
    games = np.unique(recorded.statistics["games"])
    for count, outcomes in zip(recorded.statistics["games"].tolist(), recorded.statistics["outcomes"], strict=True):
        assert outcomes_of(lines[:count], recorded.graph) == outcomes.tolist()
    assert games[-1] == 2_000 == len(lines)


def test_recorded_batches_longer_than_a_piece(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    from ttt_batch.training.trainers import base
    from ttt_batch.training.trainers.batched import Walking

    ttt.train(700, batch=300, seed=5, record=tmp_path / "a.txt")
    ttt.train(700, batch=1, seed=5, record=tmp_path / "one.txt")
    monkeypatch.setattr(base, "RECORDED_AT_ONCE", 70)
    monkeypatch.setattr(Walking, "games_per_thread", 50)
    ttt.train(700, batch=300, seed=5, record=tmp_path / "b.txt", threads=3, block=5)
    ttt.train(700, batch=1, seed=5, record=tmp_path / "two.txt")
    assert (tmp_path / "a.txt").read_bytes() == (tmp_path / "b.txt").read_bytes()
    assert (tmp_path / "one.txt").read_bytes() == (tmp_path / "two.txt").read_bytes()


def test_a_training_that_plays_no_game_leaves_no_record(tmp_path: Path) -> None:
    path, run = tmp_path / "games.txt", tmp_path / "run.h5"
    assert ttt.train(20, batch=10, record=path, out=run, stop=lambda: True).games == 0
    assert list(tmp_path.iterdir()) == []
    ttt.train(20, batch=10, out=run)
    ttt.train(resume=run, more=20, record=path, stop=lambda: True)
    assert [found.name for found in tmp_path.iterdir()] == ["run.h5"]


def test_an_existing_record_is_kept_unless_overwritten(tmp_path: Path) -> None:
    path = tmp_path / "games.txt"
    path.write_text("precious")
    with pytest.raises(GamesError, match=r"games\.txt exists already; .*overwrite=True"):
        ttt.train(10, batch=10, record=path, out=tmp_path / "run.h5")
    assert path.read_text() == "precious" and not (tmp_path / "run.h5").exists()
    ttt.train(10, batch=10, record=path, overwrite=True)
    assert len(path.read_text().splitlines()) == 10
    with pytest.raises(GamesError, match="cannot write games"):
        ttt.train(10, batch=10, record=tmp_path / "missing" / "games.txt")
    assert [p.name for p in tmp_path.iterdir()] == ["games.txt"]


def test_a_failure_leaves_no_record(tmp_path: Path) -> None:
    path = tmp_path / "games.txt"
    with pytest.raises(KeyError), GamesWriter(path, say=str) as writer:
        writer.write(games_of(["0 3 1 4 2"], GRAPH), GRAPH)
        raise KeyError
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("games", [500, 10_000], ids=["in the end", "on the way"])
def test_a_disk_that_takes_no_more_games_costs_the_record_and_not_the_run(
    games: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    run = tmp_path / "run.h5"
    write = Draft.write

    def refuse_games(draft: Draft, content: Any) -> None:
        if bytes(content[:9]) != b"ttt-batch":
            full()
        write(draft, content)

    monkeypatch.setattr("ttt_batch.core.outputs.Draft.write", refuse_games)
    with pytest.raises(GamesError, match=r"No space left on device; make room .* the run itself is saved in .*run\.h5"):
        ttt.train(games, batch=500, out=run, record=tmp_path / "games.txt")
    assert ttt.load(run).games == games
    assert [path.name for path in tmp_path.iterdir()] == ["run.h5"]


def test_an_interrupted_run_records_its_games(tmp_path: Path) -> None:
    path, looks = tmp_path / "games.txt", itertools.count()
    run = ttt.train(10_000, batch=50, record=path, stop=lambda: next(looks) > 10)
    assert run.interrupted and 0 < run.games < 10_000
    assert len(path.read_text().splitlines()) == run.games


def once(action: Callable[[], object]) -> Callable[[ttt.Progress], None]:
    """A `progress` that acts at the first opportunity."""
    actions = [action]
    return lambda _: actions.pop()() if actions else None  # type: ignore[func-returns-value]


def test_games_outlive_a_run_that_cannot_be_saved(tmp_path: Path) -> None:
    folder, games = tmp_path / "sub", tmp_path / "g.txt"
    folder.mkdir()
    with pytest.raises(
        RunFileError, match=r"40 games learnt are not saved; the games played are in .*g\.txt"
    ) as caught:
        ttt.train(
            40, batch=10, out=folder / "x.h5", record=games, progress=once(lambda: shutil.rmtree(folder)), warn=str
        )
    assert caught.value.run.games == 40 == len(games.read_text().splitlines())  # type: ignore[attr-defined]
    assert [path.name for path in tmp_path.iterdir()] == ["g.txt"]


def test_a_run_and_games_that_cannot_be_saved_are_both_named(tmp_path: Path) -> None:
    folder = tmp_path / "sub"
    folder.mkdir()
    remove = once(lambda: shutil.rmtree(folder))
    with pytest.raises(RunFileError, match=r"not saved; cannot write games to .*g\.txt: No such file") as caught:
        ttt.train(40, batch=10, out=folder / "x.h5", record=folder / "g.txt", progress=remove, warn=str)
    assert len(str(caught.value).splitlines()) == 1 and caught.value.run.games == 40  # type: ignore[attr-defined]


@pytest.mark.parametrize("theirs", ["file", "folder"])
def test_games_whose_name_is_taken_meanwhile_go_beside_it(theirs: str, tmp_path: Path) -> None:
    games, said = tmp_path / "h.txt", list[str]()
    (tmp_path / "h-2.txt").write_text("there before")

    def take() -> None:
        games.mkdir() if theirs == "folder" else games.write_text("theirs")

    # With `overwrite` an ordinary file would be replaced; a folder stays.
    options: dict[str, Any] = {"record": games, "overwrite": theirs == "folder", "progress": once(take)}
    with Lock(tmp_path / "h-3.txt"):
        run = ttt.train(40, batch=10, out=tmp_path / "k.h5", **options, warn=said.append)
    assert len(said) == 1 and f"the games are in {tmp_path / 'h-4.txt'}" in said[0] and str(games) in said[0]
    assert games.is_dir() if theirs == "folder" else games.read_text() == "theirs"
    assert len((tmp_path / "h-4.txt").read_text().splitlines()) == 40 == ttt.load(tmp_path / "k.h5").games == run.games
    assert sorted(path.name for path in tmp_path.iterdir()) == ["h-2.txt", "h-4.txt", "h.txt", "k.h5"]


@pytest.mark.parametrize("step", ["flush", "publish"])
def test_games_that_fail_in_the_end_say_where_the_run_is(
    step: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = getattr(Draft, step)

    def fail(draft: Draft, **options: Any) -> None:
        if (tmp_path / "run.h5").exists():
            raise OSError(errno.EIO, "Input/output error")
        real(draft, **options)

    monkeypatch.setattr(Draft, step, fail)
    with pytest.raises(GamesError, match=r"Input/output error; .* the run itself is saved in .*run\.h5"):
        ttt.train(40, batch=10, out=tmp_path / "run.h5", record=tmp_path / "g.txt")
    assert [path.name for path in tmp_path.iterdir()] == ["run.h5"]
