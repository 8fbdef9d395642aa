"""Training of pattern networks: the same bytes whatever interrupts it or shares it, proofs, and every refusal."""

import itertools
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers.support import command

import ttt_batch as ttt
from ttt_batch.app.reports.training import network_verdicts, verdict_lines
from ttt_batch.core.errors import RunFileError, UsageError
from ttt_batch.runs.config import make_pattern_config, pattern_config_from
from ttt_batch.runs.loading import check_run, grounds_of
from ttt_batch.runs.network_run import PROVED, PatternRun
from ttt_batch.training.network_trainer import LOST_A_PROOF, PatternTrainer, check_proofs, last_game, next_point

STORED = Path(__file__).parent.parent.parent / "data" / "networks-1.3.h5"

SMALL: dict[str, Any] = {"learner": "patterns", "board": "4x4x4", "prove_every": 1000, "seed": 3}


def train(games: int | None = 6000, **options: Any) -> PatternRun:
    run = ttt.train(games, **{**SMALL, **options})
    assert isinstance(run, PatternRun)
    return run


@pytest.fixture(scope="module")
def whole() -> PatternRun:
    return train(threads=1)


def after_calls(calls: int) -> Callable[[], bool]:
    """A `stop` that says so from that call on."""
    numbers = itertools.count(1)
    return lambda: next(numbers) > calls


def test_a_stored_run_opens_for_ever() -> None:
    """The file of format 1.3; what was proved of it holds."""
    run = ttt.load(STORED)
    assert isinstance(run, PatternRun) and run.version == (1, 3) and check_run(STORED) == ([], ())
    assert (run.config.learner, run.board.name, run.games, run.config.seed) == ("patterns", "4x4x4", 4032, 1)
    assert run.is_proved and [run.proved_positions(seat) for seat in (0, 1)] == [4968, 6599]
    found = ttt.prove(run).found.values()
    assert [(proof.status, proof.positions) for proof in found] == [("proved", 4968), ("proved", 6599)]


def test_it_is_proved(whole: PatternRun) -> None:
    """The weights of a seat's last success are kept, and play."""
    assert whole.is_proved and whole.proved is not None
    for seat in (0, 1):
        held = whole.statistics["proof"][:, seat] == PROVED
        assert whole.proved_after(seat) == whole.statistics["games"][held][-1]
        assert whole.proved_positions(seat) == whole.statistics["proof_positions"][held, seat][-1]
        first = int(np.flatnonzero(held)[0])
        assert whole.later_proofs(seat) == (held[first + 1 :].sum(), held.size - first - 1)
    assert re.fullmatch(
        r"first cannot lose: proved, [\d,]+ positions; second cannot lose: proved, [\d,]+ positions", whole.verdict()
    )


@pytest.mark.slow
@pytest.mark.parametrize("seat", [0, 1])
def test_no_game_is_lost(whole: PatternRun, seat: int) -> None:
    """A search in plain Python, without symmetry, agrees with the proof."""
    board, seen, stack = whole.board, set(), [(0,) * 16]
    while stack:
        position = stack.pop()
        if position in seen:
            continue
        seen.add(position)
        outcome = board.outcome(position)
        assert outcome != 2 - seat, "the agent has lost"
        if outcome:
            continue
        mover = (16 - position.count(0)) % 2
        if not any(all(position[cell] in (0, 2 - seat) for cell in line) for line in board.lines):
            continue  # the opponent can fill no line any more
        cells = whole.candidates(position) if mover == seat else [c for c in range(16) if not position[c]]
        stack += [board.after(position, cell) for cell in cells]
    assert len(seen) > 1000


def test_threads_do_not_show(whole: PatternRun) -> None:
    assert train(threads=2) == whole


@pytest.mark.sampled(1)
@pytest.mark.parametrize(("board", "batch", "threads"), [("4x4", 256, 2), ("6x5x4", 131, 3)])
def test_a_network_alone_is_shared_by_threads(board: str, batch: int, threads: int) -> None:
    """Batches large enough for that, and the same bytes, also where a batch uses few of the weights."""
    options = {"board": board, "objective": "plain", "batch": batch, "prove_every": 0}
    assert train(4 * batch, **options, threads=threads) == train(4 * batch, **options, threads=1)


@pytest.mark.sampled(1)
@pytest.mark.parametrize("calls", [1, 2, 4, 7])
def test_an_interruption_does_not_show(whole: PatternRun, calls: int, tmp_path: Path) -> None:
    path = tmp_path / "run.h5"
    part = train(stop=after_calls(calls), out=path)
    assert part.interrupted and part.games < whole.games
    if part.games:
        assert ttt.load(path) == part
        assert ttt.train(resume=path) == whole
        assert ttt.load(path) == whole


def test_a_proof_that_was_stopped_is_made_again(
    whole: PatternRun, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Even if it was the last one, after the last game."""
    path, stopped, prove = tmp_path / "run.h5", list[bool](), PatternTrainer.prove

    def stop_last(trainer: PatternTrainer, stop: Callable[[], bool]) -> Any:
        stopped.extend([True] * (trainer.games == whole.games))
        return prove(trainer, stop)

    with monkeypatch.context() as patch:
        patch.setattr(PatternTrainer, "prove", stop_last)
        part = train(stop=lambda: bool(stopped), out=path)
    assert part.games == whole.games and part.interrupted and part != whole and ttt.load(path).interrupted
    assert ttt.train(resume=path) == whole
    with pytest.raises(UsageError, match=", its goal"):
        ttt.train(resume=path)


def test_going_on_does_not_show(whole: PatternRun) -> None:
    assert ttt.train(resume=train(3000), until=whole.games) == whole
    assert ttt.train(resume=train(3000), more=3000) == whole


def test_a_run_takes_positions_as_text_and_gives_no_tables(whole: PatternRun) -> None:
    """As runs of tables do."""
    values = whole.move_values("a1 b2")
    assert values == whole.move_values(whole.position("a1 b2")) and len(values) == 14
    assert whole.value("a1 b2") == max(values.values()) == values[whole.candidates("a1 b2")[0]]
    assert whole.value("a1 a2 b1 b2 c1 c2 d1") == -1
    for odd in ("start", "opponent"):
        with pytest.raises(UsageError, match="has no table of positions; choose a run of another learner"):
            ttt.train(64, board="4x4x4", **{odd: whole})
    with pytest.raises(UsageError, match="3 is not the name of a run file"):
        ttt.prove(3)  # type: ignore[arg-type]
    for ask in (whole.proofs, whole.weights_of):
        for seat in (2, -1):
            with pytest.raises(UsageError, match=rf"seat {seat} is outside 0 \.\. 1"):
                ask(seat)


@pytest.mark.slow
def test_points_follow_from_the_configuration() -> None:
    config = make_pattern_config(board="4x4x4", prove_every=1000, batch=16)
    assert [last_game(config, games) for games in (1, 1000, 1024, 1025, 3000)] == [1024, 1024, 1024, 2048, 3072]
    without = make_pattern_config(board="4x4x4", prove_every=0, batch=16)
    assert last_game(without, 33) == 64
    points = list(itertools.accumulate(range(12), lambda games, _: next_point(without, games), initial=0))[1:]
    assert points[:10] == [1024, 2016, 3008, 4000, 5024, 6016, 7008, 8000, 9024, 10016] and points[10] == 20000
    assert all(
        next_point(without, games) == min(point for point in points if point > games) for games in range(points[-1])
    )


def test_what_was_proved_is_kept() -> None:
    """Each seat plays with the weights that were proved last, unless the last ones are asked for."""
    stopped: list[ttt.Progress] = []

    def lost_again() -> bool:
        """Return whether a seat was proved before, and is not now."""
        found = [progress.proofs["second"][0] for progress in stopped if progress.recorded and progress.proofs]
        return "proved" in found[:-1] and found[-1] != "proved"

    unsteady: dict[str, Any] = {"epsilon": 0.9, "alpha": 5, "prove_every": 200, "seed": 2}
    options: dict[str, Any] = unsteady | {"progress": stopped.append, "stop": lost_again}
    proved = train(6000, **options)
    assert proved.interrupted and 0 < proved.proved_after(1) < proved.games, "no proof was lost again"
    then = train(proved.proved_after(1), **unsteady)
    assert np.array_equal(proved.agent.weights[1], then.learnt.weights[1, proved.network.kind, 1])
    stopped.clear()
    last = train(6000, **options, keep="last")
    assert np.array_equal(last.agent.weights[1], last.learnt.weights[1, last.network.kind, 1])
    assert not np.array_equal(last.agent.weights[1], proved.agent.weights[1])


@pytest.mark.sampled(1)
@pytest.mark.parametrize(
    "options", [{"board": "3x3"}, {"board": "4x3x3-gravity", "objective": "plain"}, {"seat": "second"}]
)
def test_an_average_of_the_weights_is_kept(tmp_path: Path, options: dict[str, Any]) -> None:
    """Each proof moves it by 1/32 of the way to the present weights, and nothing that is learnt changes."""
    options |= {"prove_every": 200, "seed": 2}
    run = train(1200, **options, keep="average")
    average: Any = None
    for games in range(200, 1201, 200):
        then = train(games, **options, keep="last")
        weights = np.stack([then.learnt.weights[-seat, :, seat] for seat in run.config.seats], axis=1)
        average = weights if average is None else average + np.floor((weights - average.astype(float)) / 32)
    seats = list(run.config.seats)
    report = network_verdicts(run)
    assert set(report["kept"].values()) == {None} and not any(report["proved"].values())
    assert np.array_equal(run.average[:, seats], average) and not np.array_equal(average, weights)
    assert all(np.array_equal(one, other) for one, other in zip(run.learnt[:2], then.learnt[:2], strict=True))
    assert np.array_equal(run.agent.weights[seats], average[run.network.kind].T)
    path = tmp_path / "run.h5"
    train(600, **options, keep="average", out=path)
    assert ttt.train(resume=path, until=1200) == run and np.array_equal(ttt.load(path).average, run.average)
    interrupted = train(600, **options, keep="average", stop=lambda: True)
    assert interrupted.average is None and ttt.train(resume=interrupted, until=1200) == run
    (line, *_) = verdict_lines(run)
    assert "it plays by an average of its weights" in line and run.verdict() == ""
    assert not check_run(path)[0] and "the average of the weights" in grounds_of(run, digest=True).trusted


def test_other_objectives() -> None:
    """A network for both players, a seat alone, another rule, and the baseline."""
    plain = train(2000, objective="plain")
    assert len(plain.config.aims) == 1 and plain.statistics["proof"].any()
    first = train(2000, seat="first")
    assert [aim.seat for aim in first.config.aims] == [0] and not first.statistics["proof"][:, 1].any()
    won = train(2000, board="3x4x3")
    assert won.config.objective == "win" and won.config.seat == "first"
    misere = train(2000, board="3x3-misere")
    assert misere.statistics["proof"].any()
    baseline = train(2000, learner="ntuple-td", prove_every=None)
    assert (baseline.config.trace, baseline.config.prove_every, baseline.proved) == (0.5, 0, None)


@pytest.mark.parametrize(
    ("board", "objective", "seat"),
    [("6x6x4-gravity", "win", "second"), ("6x7x4-gravity", "win", "first"), ("5x5x4-gravity", "safe", "both")],
)
def test_a_decided_board_is_learnt_for_its_winner(board: str, objective: str, seat: str) -> None:
    config = make_pattern_config(board=board)
    assert (config.objective, config.seat) == (objective, seat)
    assert make_pattern_config(board=board, objective="plain").seat == "both"


def test_boards_beyond_codes() -> None:
    """A position of more than 39 cells has no code; networks need none."""
    run = train(64, board="8x8x5", tuples="lines", prove_every=0)
    values = run.move_values((0,) * 64)
    assert len(values) == 64 and run.candidates((0,) * 64)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"prove_every": 0, "keep": "proved"}, "keep='proved' needs proofs, but prove_every=0 turns them off"),
        ({"prove_every": 0, "keep": "average"}, "keep='average' needs proofs, but prove_every=0 turns them off"),
        ({"objective": "win", "board": "3x3-misere"}, "objective win needs a board on which a line wins"),
        ({"objective": "fast"}, "unknown objective 'fast'; choose safe, win or plain"),
        ({"sharing": "all"}, "unknown sharing 'all'; choose symmetry, translation or none"),
        ({"alpha": 0}, "alpha 0.0 is outside 0 to 10"),
        ({"trace": 2}, "lambda 2 is outside 0 to 1"),
        ({"batch": 0}, "batch 0 is outside 1"),
        ({"epsilon": "0.3->0.1:linear"}, "epsilon '0.3->0.1:linear' is not a number"),
        ({"symmetry": False}, "symmetry is for tables of positions, which pattern networks are not"),
        ({"engine": "flow"}, "engine is for tables of positions, which pattern networks are not"),
        ({"opponent": "random"}, "opponent is for tables of positions"),
        ({"workers": 2}, "workers is for tables of positions"),
        ({"tuples": "blocks:4x4"}, "have 16 cells; a tuple has 1 to 12"),
        ({"tuples": "blocks:4x3", "board": "3x3"}, "there are none on board 3x3"),
        ({"tuples": "a1 b1; c1 c9"}, "'c9' is no cell of board 4x4x4; its last one is d4"),
        ({"tuples": "a1 b1 a1; c1"}, "cell a1 stands twice"),
        ({"tuples": "; ;"}, "there are none; write the cells of a tuple in each line"),
        ({"tuples": "nowhere.txt"}, "nor a file that can be read"),
        ({"learner": "td"}, "prove_every is for pattern networks; add learner='patterns'"),
    ],
)
def test_refusals(options: dict[str, Any], said: str) -> None:
    with pytest.raises((UsageError, ttt.TttBatchError), match=re.escape(said)):
        train(64, **options)


def test_a_short_run_is_proved_at_its_end() -> None:
    """By default; a proof that a person asked for later than that is refused, since the run would be much longer."""
    assert train(500, prove_every=None).games == 512
    with pytest.raises(UsageError, match=r"500 games end before the first proof of prove_every=1000; give more games"):
        train(500)


def test_tuples_of_a_file_are_kept_in_the_run(tmp_path: Path) -> None:
    (tmp_path / "tuples.txt").write_text("# corners\na1 b1 a2 b2\n\na1 b2 c3 d4  # a diagonal\n")
    run = train(64, tuples=str(tmp_path / "tuples.txt"), prove_every=0, out=tmp_path / "run.h5")
    (tmp_path / "tuples.txt").unlink()
    assert run.config.tuples == "a1 b1 a2 b2; a1 b2 c3 d4"
    assert ttt.load(tmp_path / "run.h5") == run


def test_too_many_tuples_are_refused_before_anything_is_learnt(tmp_path: Path) -> None:
    (tmp_path / "tuples.txt").write_text("a1 b2 c3 d4\n" * 5000)
    with pytest.raises(UsageError, match=r"5,000 tuples take 64,\d+ characters; a run has room for 40,000"):
        train(64, tuples=str(tmp_path / "tuples.txt"))


def test_another_configuration_does_not_go_on(tmp_path: Path) -> None:
    train(1000, out=tmp_path / "run.h5")
    others: list[tuple[dict[str, Any], str]] = [
        ({"epsilon": 0.5}, "was trained with epsilon 0.3, not 0.5; leave that out"),
        ({"epsilon": 0.5, "more": 1000}, "was trained with epsilon 0.3, not 0.5; leave that out"),
        ({"learner": "td", "more": 1000}, "was trained with learner patterns, not 'td'; leave that out"),
        ({"tuples": "a1 b1;" * 5000, "more": 1000}, r"tuples lines, not a1 b1; a1 b1.* \.\.\.; leave"),
        ({"seat": "first", "more": 1000}, "was trained with seat both, not first; leave that out"),
        ({}, "has .* its goal; continue with more"),
    ]
    for options, said in others:
        with pytest.raises(UsageError, match=said) as refused:
            ttt.train(resume=tmp_path / "run.h5", **options)
        assert len(str(refused.value)) < 200 + len(str(tmp_path))


@pytest.mark.slow
def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`train`, `info` and `check`, as text and as JSON, and the same run as in Python."""
    path = tmp_path / "run.h5"
    words = ["--learner", "patterns", "--board", "4x4x4", "--prove-every", "1000", "--seed", "3", "--games", "6k"]
    status, out, _ = command(capsys, "train", *words, "-o", path)
    assert status == 0
    assert re.search(
        r"verdict: first cannot lose: proved, [\d,]+ positions;.*second cannot lose: proved,", out, re.DOTALL
    )
    assert "the earliest after" in out and "kept: that after" in out and f"saved:   {path}" in out
    assert ttt.load(path) == train()
    status, out, err = command(capsys, "info", path, "--json")
    assert (status, err) == (0, "")
    known = json.loads(out)
    assert known["proved"] == {"first": True, "second": True} and known["tuples"] == 10 and known["weights"] == 243
    status, out, err = command(capsys, "info", path)
    assert (status, err) == (0, "") and "networks" in out
    assert command(capsys, "check", path)[0] == 0
    status, out, err = command(capsys, "train", "--resume", path, "--more", "1k", "--json", "--quiet")
    assert (status, err) == (0, "") and json.loads(out)["later_snapshots"]["first"] >= 1


def test_damaged_files_are_refused(whole: PatternRun, tmp_path: Path) -> None:
    """Every table is checked: its type, its length, and what it may hold."""
    data = whole.data()

    def spoilt(change: Callable[[dict[str, Any]], None]) -> str:
        from ttt_batch.runs.loading import load_any
        from ttt_batch.runs.storage.run_file import save_run

        tables = {name: table.copy() for name, table in data.tables.items()}
        change(tables)
        fields = {name: data.table_fields.get(name, ("M", "odd")) for name in tables}
        spoilt_data = type(data)(**{**vars(data), "tables": tables, "table_fields": fields})
        save_run(tmp_path / "spoilt.h5", spoilt_data, overwrite=True)
        with pytest.raises(RunFileError) as error:
            load_any(tmp_path / "spoilt.h5")
        return str(error.value)

    def put(name: str, value: int) -> Callable[[dict[str, Any]], None]:
        return lambda tables: tables[name].__setitem__(0, value)

    assert "tables/kind holds a number" in spoilt(put("kind", 10**6))
    assert "tables/network holds a number" in spoilt(put("network", 2))
    assert "tables/player holds a number" in spoilt(put("player", 2))
    assert "tables/error holds a sum beyond" in spoilt(put("absolute", 0))
    assert "tables/error holds a sum beyond" in spoilt(put("error", 2**62))
    assert "beyond" in spoilt(put("weight", -(2**31)))
    assert "does not ascend" in spoilt(lambda tables: tables["kind"].__setitem__(0, tables["kind"][9]))
    assert "table 'error' is missing" in spoilt(lambda tables: tables.pop("error"))
    assert "is not a table of pattern networks" in spoilt(lambda tables: tables.__setitem__("odd", tables["kind"]))
    assert "tables/proved does not agree" in spoilt(lambda tables: tables.pop("proved"))


def test_lost_games_are_checked(tmp_path: Path) -> None:
    run = train(1000, seed=1)
    number = next(number for number, lost in enumerate(run.learnt.lost) if len(lost))
    run.learnt.lost[number][0, 0] = run.learnt.lost[number][0, 1]
    run.save(tmp_path / "run.h5")
    with pytest.raises(RunFileError, match="tables/lost holds an invalid game"):
        ttt.load(tmp_path / "run.h5")


def test_networks_from_before_the_coding_by_columns_are_read_by_marks() -> None:
    before = make_pattern_config(board="4x4x4-gravity", coding="marks", tuples="segments")
    values = {name: value for name, value in before.to_dict().items() if name != "coding"}
    assert pattern_config_from(values) == before
    assert make_pattern_config(board="4x4x4-gravity").to_dict()["coding"] == "columns"
    assert "coding" not in make_pattern_config(board="4x4x4").to_report(), "without gravity there is no choice"
    with pytest.raises(RunFileError, match="coding 'columns' is unknown on board 4x4x4"):
        pattern_config_from(make_pattern_config(board="4x4x4").to_dict() | {"coding": "columns"})


def test_a_win_is_learnt_on_a_board_with_gravity() -> None:
    run = ttt.train(8000, learner="patterns", board="4x4x3-gravity", objective="win", seed=3)
    assert run.config.aims[0].filler == 0 and run.config.aims[0].unfilled == -1.0
    assert run.is_proved and run.winning_seats == ("first",)


def test_hunts_before_proofs_do_not_show() -> None:
    """Neither threads nor an end between them."""
    options = {"learner": "patterns", "board": "6x6x4-gravity", "tuples": "lines", "seat": "both", "prove_every": 1000}
    whole = ttt.train(4000, **options, seed=1, threads=2)
    assert whole.config.hunts and not ttt.train(10, board="5x5x4-gravity", learner="patterns").config.hunts
    assert ttt.train(resume=ttt.train(2000, **options, seed=1, threads=1), until=4000) == whole
    assert all(len(games) == LOST_A_PROOF for games in whole.learnt.lost)
    assert len({tuple(game[:4]) for game in whole.learnt.lost[0].tolist()}) > 10, "they are far apart"
    assert check_proofs(whole) == []
