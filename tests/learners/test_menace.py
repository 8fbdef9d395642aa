"""`menace` against the naive oracle: its boxes, game by game and in batches, and what it refuses."""

import io
import json
import random
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
from helpers.support import assert_same_in_parts, command, mostly_slow
from oracle import menace as naive_menace
from oracle import naive
from oracle.menace import BOARD, OPPONENTS, Menace, drawn_kinds, moves_of

import ttt_batch as ttt
from ttt_batch.analysis import warmup
from ttt_batch.analysis.review import HandicappedAgent
from ttt_batch.app.reports.training import verdict_facts, verdict_text
from ttt_batch.app.terminal.loop import play_in_terminal
from ttt_batch.compiler.numerics import stream_key
from ttt_batch.core.errors import TttBatchError, UsageError
from ttt_batch.evaluation.exact_results import match
from ttt_batch.runs.config import make_config
from ttt_batch.runs.loading import check_run
from ttt_batch.runs.run import Recorder
from ttt_batch.training.from_games import LearningRun
from ttt_batch.training.trainers.batched import make_trainer

CASES: list[tuple[str, dict[str, Any]]] = [
    ("random", {}),
    ("optimal", {}),
    ("random", {"beads": "8,4,2,1", "rewards": "1,0,-1"}),
    ("optimal", {"beads": "2,1,1,1", "rewards": "3,-1,-2"}),
]


def oracle_of(options: dict[str, Any]) -> Menace:
    return Menace(**{name: tuple(map(int, text.split(","))) for name, text in options.items()})


def beads_of(run: ttt.Run) -> dict[naive.Position, dict[frozenset[int], set[float]]]:
    """The beads of every box of a run, by kind: those of all its cells; nothing else has any."""
    graph, found = run.graph, dict[naive.Position, dict[frozenset[int], set[float]]]()
    for row in range(graph.legal.size):
        lo, hi = map(int, graph.first_edge[row : row + 2])
        position, edges = BOARD.position(int(graph.code[row])), range(lo, hi)
        resigning = [edge for edge in edges if graph.cell[edge] == 9]
        if not resigning:
            assert np.isnan(run.tables.q[lo:hi]).all()
            continue
        assert run.tables.q[resigning[0]] == 0.0 and int(graph.code[graph.child[resigning[0]]]) == -1
        beads = {int(graph.cell[edge]): float(run.tables.q[edge]) for edge in edges if graph.cell[edge] < 9}
        found[position] = {kind: {beads[cell] for cell in kind} for kind in naive_menace.kinds(position)}
    return found


def assert_same(run: ttt.Run, oracle: Menace, *, exact: bool = True) -> None:
    boxes = beads_of(run)
    assert boxes.keys() == oracle.boxes.keys()
    for position, kinds in boxes.items():
        for kind, beads in kinds.items():
            (found,) = beads  # one number for all cells of a kind
            wanted = oracle.boxes[position][kind]
            assert found == wanted if exact else found == pytest.approx(wanted, rel=1e-9, abs=1e-9)


def test_it_has_the_304_boxes_and_three_first_kinds() -> None:
    run = ttt.train(1, learner="menace")
    boxes = beads_of(run)
    assert len(boxes) == 304
    plies = [naive.ply(position) for position in boxes]
    assert [plies.count(ply) for ply in (0, 2, 4, 6)] == [1, 12, 108, 183]
    assert len(boxes[BOARD.empty]) == 3
    assert run.config.opponent == "random" and run.config.seat == "first" and run.config.batch == 1


def test_without_a_game_its_boxes_are_full_and_it_learns_on(tmp_path: Path) -> None:
    run = ttt.train(0, learner="menace", out=tmp_path / "full.h5")
    oracle = oracle_of({})
    assert_same(run, oracle)
    loaded = ttt.load(tmp_path / "full.h5")
    assert loaded == run and loaded.games == 0 and not loaded.interrupted
    assert loaded.statistics["games"].tolist() == [0]
    went_on = ttt.train(resume=loaded, more=50)
    assert went_on == ttt.train(50, learner="menace")
    assert went_on.statistics["games"].tolist() == ttt.train(50, learner="menace").statistics["games"].tolist()
    with pytest.raises(UsageError, match=r"games 0 is outside 1 "):
        ttt.train(0, learner="td")


@pytest.mark.sampled(1)
@pytest.mark.parametrize(("opponent", "options"), mostly_slow(CASES, CASES[0], CASES[3]))
def test_games_one_by_one_equal_the_oracle(opponent: str, options: dict[str, Any], tmp_path: Path) -> None:
    file = tmp_path / "games.txt"
    run = ttt.train(3_000, learner="menace", seed=5, opponent=opponent, record=file, **options)
    oracle, outcomes = oracle_of(options), [0, 0, 0, 0]
    lines = file.read_text().splitlines()
    for number in range(3_000):
        moves, outcome = oracle.play(int(stream_key(5)), number, OPPONENTS[opponent])
        recorded, end = moves_of(lines[number])
        assert (drawn_kinds(recorded), end) == (drawn_kinds(moves), outcome), lines[number]
        outcomes[outcome] += 1
        oracle.learn(moves, outcome)
    assert_same(run, oracle)
    assert run.statistics["outcomes"][-1].tolist() == [outcomes[naive.FIRST], outcomes[naive.DRAW], outcomes[2]]


def test_a_bead_is_worth_a_whole_number_and_an_empty_box_resigns(tmp_path: Path) -> None:
    """With one bead of a kind, of which losses and draws take, the first box is empty soon, and every game ends."""
    file = tmp_path / "games.txt"
    ttt.train(300, learner="menace", opponent="optimal", beads="1,1,1,1", rewards="0,-1,-1", record=file)
    lines = file.read_text().splitlines()
    assert lines[-1] == "resigns" and lines.count("resigns") > 200
    taught, _ = ttt.learn_from(file, learner="menace", beads="1,1,1,1", rewards="0,-1,-1")
    run = ttt.train(300, learner="menace", opponent="optimal", beads="1,1,1,1", rewards="0,-1,-1")
    assert taught.tables.q.tobytes() == run.tables.q.tobytes()
    assert run.candidates("... ... ...") == [9]
    evaluation = run.evaluation("random")
    assert evaluation.first == (0.0, 0.0, 1.0) and evaluation.losing_line == {"first": [9]}
    assert ttt.evaluate(run, as_played=True).best == ((0.0, 0.0, 1.0),)


def test_hand_played_games_move_the_beads_that_were_drawn() -> None:
    """A win by the left column, a draw and a loss that begin in corners of other images."""
    games = ["0 1 3 4 6", "8 4 0 2 6 7 1 3 5", "2 4 0 1 3 7"]
    run, _ = ttt.learn_from(games, learner="menace")
    oracle = Menace()
    for line in games:
        oracle.learn(*moves_of(line))
    assert_same(run, oracle)
    assert run.move_values("... ... ...") == {
        cell: {0: 4 + 3 + 1 - 1, 1: 4, 4: 4}[kind] for cell, kind in enumerate(CORNERS)
    }
    after = run.move_values("XO. ... ...")
    assert after[3] == 3 + 3


CORNERS = (0, 1, 0, 1, 4, 1, 0, 1, 0)
"""The first cell that is an image of each."""


@pytest.mark.slow
@pytest.mark.parametrize("opponent", ["random", "optimal"])
def test_batches_equal_the_pooled_rewards(opponent: str, tmp_path: Path) -> None:
    file = tmp_path / "games.txt"
    options: dict[str, Any] = {"rewards": "2,1,-3"}
    run = ttt.train(600, learner="menace", batch=60, seed=6, opponent=opponent, record=file, **options)
    oracle, lines = oracle_of(options), file.read_text().splitlines()
    for start in range(0, 600, 60):
        oracle.fold([moves_of(line) for line in lines[start : start + 60]])
    assert_same(run, oracle, exact=False)
    assert min(min(box.values()) for box in oracle.boxes.values()) == 0.0


@pytest.mark.slow  # kernels of flow by chances
def test_flow_and_threads_and_interruptions(tmp_path: Path) -> None:
    assert_same_in_parts(tmp_path / "run.h5", 500, (7, 220), learner="menace", seed=3)
    options: dict[str, Any] = {"learner": "menace", "batch": 1 << 17, "seed": 1}
    both = [ttt.train(300_000, threads=threads, **options).tables.q.tobytes() for threads in (1, 2)]
    assert both[0] == both[1]
    walked, flowed = (
        ttt.train(20_000, learner="menace", batch=20_000, engine=engine).statistics["outcomes"][-1] / 20_000
        for engine in ("walk", "flow")
    )
    assert walked == pytest.approx(flowed, abs=0.02)


def test_a_run_is_an_opponent_in_its_seat() -> None:
    machine = ttt.train(2_000, learner="menace", seed=1)
    run = ttt.train(20_000, learner="td", symmetry="on", opponent=machine, seat="second")
    assert machine.evaluation("random").first[0] > 0.8
    assert match(run.graph, machine.policy_on(run.graph), run.policy)[0] == 0.0
    other = ttt.train(2_000, learner="menace", opponent=run)
    assert other.config.seat == "first"


BAD: list[tuple[dict[str, Any], str]] = [
    ({"beads": "4,3,2"}, "beads '4,3,2' are not four whole numbers from 1"),
    ({"beads": "4,3,2,-1"}, "beads '4,3,2,-1' are not four whole numbers from 1"),
    ({"beads": "4,3,2,0"}, "beads '4,3,2,0' are not"),
    ({"beads": "4,3,2,1.5"}, "beads '4,3,2,1.5' are not"),
    ({"beads": "4;3;2;1"}, "beads '4;3;2;1' are not"),
    ({"beads": ""}, "beads '' are not"),
    ({"rewards": "3,1"}, "rewards '3,1' are not three whole numbers of beads"),
    ({"rewards": "-3,1,-1"}, "rewards '-3,1,-1' are not"),
    ({"rewards": "3,1,1"}, "rewards '3,1,1' are not"),
    ({"board": "4x4x4"}, "menace is not applicable to 4x4x4: its boxes are the 304 of 3x3"),
    ({"board": "3x3-misere"}, "menace is not applicable to 3x3-misere"),
    ({"symmetry": "off"}, "symmetry off is not applicable to menace"),
    ({"opponent": "random", "seat": "second"}, "seat second is not applicable to menace"),
    ({"opponent": "random", "seat": "both"}, "seat both is not applicable to menace"),
    ({"gamma": 0.9}, "menace is not discounted: gamma 0.9 is not 1"),
    ({"alpha": 0.5}, "menace has no step size: alpha 0.5"),
    ({"alpha": "1/n"}, "menace has no step size: alpha 1/n"),
    ({"epsilon": "0.3->0.1:linear"}, "menace draws its moves from probabilities that it learns"),
    ({"explore": "softmax:1"}, "explore is not an option of menace"),
    ({"draw_worth": 0.5}, "menace has rewards in beads"),
    ({"start_value": 1}, "start_value is not an option of menace"),
    ({"lambda_": 0.5}, "lambda_ is not an option of menace"),
]


@pytest.mark.parametrize(("options", "message"), BAD)
def test_misuse_is_one_line(options: dict[str, Any], message: str) -> None:
    with pytest.raises(TttBatchError) as caught:
        ttt.train(10, learner="menace", **options)
    assert message in str(caught.value) and "\n" not in str(caught.value)


def test_other_learners_have_no_beads() -> None:
    for option in ("beads", "rewards"):
        with pytest.raises(UsageError, match=f"{option} is not an option of td, only of menace"):
            ttt.train(10, **{option: "4,3,2,1"})


@pytest.fixture(scope="module")
def machine(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("menace") / "menace.h5"
    ttt.train(500, learner="menace", seed=2, out=path)
    return path


def test_the_commands_say_what_it_does(capsys: pytest.CaptureFixture[str], machine: Path, tmp_path: Path) -> None:
    _, shown, _ = command(capsys, "show", machine, "... ... ...")
    assert "beads; moves that are images of each other share theirs" in shown
    assert "as second: not applicable, it moves first" in command(capsys, "evaluate", machine)[1]
    assert "by chances" in command(capsys, "evaluate", machine, "--as-played")[1]
    assert "it plays as first alone" in command(capsys, "show", machine, "X.. ... ...")[1]
    assert "beads 4,3,2,1, rewards 3,1,-1" in command(capsys, "info", machine)[1]
    for form in ("json", "csv"):
        assert command(capsys, "export", machine, "--to", form, "-o", tmp_path / f"beads.{form}")[0] == 0
    rows = json.loads((tmp_path / "beads.json").read_text())["states"]
    run = ttt.load(machine)
    assert rows[0]["q"] == [run.move_values(0)[cell] for cell in range(9)]
    table = np.loadtxt(tmp_path / "beads.csv", delimiter=",")
    assert table[0].tolist() == rows[0]["q"] and table.shape == (3**9, 9) and not np.isnan(table).any()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["play", "RUN", "--as", "first"], "a game in which you move first is not applicable to menace"),
        (["play", "RUN", "--as", "alternate"], "a game in which you move first in turn is not applicable to menace"),
        (["watch", "RUN"], "the second player's part is not applicable to menace"),
        (["watch", "random", "RUN"], "the second player's part is not applicable to menace"),
        (["watch", "RUN", "--games", "10"], "play against itself is not applicable to"),
        (["tournament", "RUN", "RUN"], "a meeting of two such runs is not applicable to menace"),
        (["evaluate", "RUN", "--against", "self"], "play against itself is not applicable to"),
        (["evaluate", "RUN", "--against", "RUN"], "play against menace is not applicable to menace"),
        (["export", "RUN", "--to", "html", "-o", "OUT"], "first player alone; choose boxes, to print them, or json"),
        (["study", "--learner", "menace", "--opponent", "self", "-o", "OUT"], "opponent self is not applicable"),
        (["train", "--learner", "menace", "--beads", "4,3,2"], "beads '4,3,2' are not four whole numbers"),
        (["import", "TABLE", "--learner", "menace", "-o", "OUT"], "menace has boxes, which only a .json file"),
    ],
)
def test_what_does_not_apply_is_one_line(
    capsys: pytest.CaptureFixture[str], machine: Path, tmp_path: Path, words: list[str], message: str
) -> None:
    (tmp_path / "table.csv").write_text("X........,0.5\n")
    names = {"RUN": machine, "OUT": tmp_path / "out", "TABLE": tmp_path / "table.csv"}
    status, out, err = command(capsys, *(names.get(word, word) for word in words))
    assert status in (1, 2) and not out and message in err and err.count("\n") == 1


def test_a_person_plays_second_against_it(
    capsys: pytest.CaptureFixture[str], machine: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for seat in ([], ["--as", "second"]):
        monkeypatch.setattr("sys.stdin", io.StringIO("q\n"))
        status, out, _ = command(capsys, "play", machine, "--plain", "--seed", 1, *seat)
        assert status == 0 and "You are O and move second." in out
    monkeypatch.setattr("sys.stdin", io.StringIO("q\n"))
    ttt.play(machine, plain=True, seed=1)
    assert "You are O and move second." in capsys.readouterr().out
    with pytest.raises(UsageError, match=r"a game in which you move first is not applicable.*choose seat='second'"):
        ttt.play(machine, seat="first")


@pytest.mark.slow
def test_nothing_is_said_of_a_second_seat(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    run = tmp_path / "menace.h5"
    found = json.loads(command(capsys, "train", "--learner", "menace", "--games", 50, "-o", run, "--json")[1])
    assert isinstance(found["unbeatable"]["first"], bool) and found["unbeatable"]["second"] is None
    assert found["against_random"]["first"]["win"] > 0
    nothing = [found["against_random"]["second"], found["self_play"]]
    assert {number for numbers in nothing for number in numbers.values()} == {None}
    assert found["optimal_share"]["second"] is None
    assert json.loads(command(capsys, "info", run, "--json")[1])["unbeatable"]["second"] is None
    frame = ttt.load(run).to_frame()
    for name in ("unbeatable", "worst", "versus_random", "best_response", "optimal_share", "self_play"):
        seat = "" if name == "self_play" else ".second"
        assert frame.filter(regex=rf"^{name}{seat}\b").isna().all(axis=None)
        assert not frame.filter(regex=rf"^{name}\.first\b").isna().any(axis=None)
    assert "as second" not in ttt.load(run)._repr_html_()


def test_a_proof_counts_if_it_is_unbeatable_as_first() -> None:
    run = ttt.train(50, learner="menace", seed=1)
    run.statistics["unbeatable"][:] = [[number > 5, False] for number in range(len(run.statistics["games"]))]
    since = int(run.statistics["games"][6])
    assert verdict_text(run) == f"unbeatable as first at every recorded point since game {since}"
    assert verdict_facts(run)["unbeatable_since"] == since
    judged = iter(run.statistics["unbeatable"])
    recorder = Recorder(1)
    for games in run.statistics["games"].tolist():
        recorder.record(games, 0.0, np.zeros(3, np.int64), {"unbeatable": next(judged)})
    assert recorder.since == since


def test_it_draws_by_its_beads_in_play_and_resigns() -> None:
    run = ttt.train(300, learner="menace", seed=1)
    player = HandicappedAgent(run, rng=random.Random(0))
    drawn = [player.candidates((0,) * 9) for _ in range(2_000)]
    shares = run.drawn_shares(0)
    assert shares is not None and sum(shares.values()) == pytest.approx(1.0)
    for cell, share in shares.items():
        assert drawn.count([cell]) / 2_000 == pytest.approx(share, abs=0.04)
    empty = ttt.train(300, learner="menace", opponent="optimal", beads="1,1,1,1", rewards="0,-1,-1")
    out = io.StringIO()
    play_in_terminal(empty, person=1, stdin=io.StringIO("q\n"), stdout=out, plain=True, record=(kept := []).append)
    assert "The agent resigns." in out.getvalue() and "You win" in out.getvalue() and kept == [(9,)]
    pupil = LearningRun(ttt.train(1, learner="menace"))
    assert pupil.update([0, 4, 8, 2, 6, 7, 3]) == 4  # a win
    assert pupil.update([9]) == 0


def test_a_file_with_other_beads_is_refused(machine: Path, tmp_path: Path) -> None:
    for number, words in ((-1.0, "a number of beads below 0"), (0.5, "a fraction of a bead")):
        path = tmp_path / f"{number}.h5"
        path.write_bytes(machine.read_bytes())
        with h5py.File(path, "r+") as file:
            file["tables/q"][0] = number
        with pytest.raises(TttBatchError, match=words):
            ttt.load(path, trust=True)


def test_its_first_file_opens_for_ever() -> None:
    stored = Path(__file__).parents[2] / "data" / "menace-1.5.h5"
    run, again = ttt.load(stored), ttt.train(220, learner="menace", seed=1)
    assert run == again and check_run(stored) == ([], ())


def test_a_trainer_without_a_player_to_train_against_takes_the_named_one() -> None:
    trainer = make_trainer(make_config(learner="menace", seed=3))
    trainer.advance(100, lambda: False)
    assert trainer.tables.q.tobytes() == ttt.train(100, learner="menace", seed=3).tables.q.tobytes()


@pytest.mark.slow
def test_its_kernels_are_compiled_ahead_for_3x3_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    jobs: list[str] = []
    monkeypatch.setattr(warmup, "_is_warm", lambda name: False)
    monkeypatch.setattr(warmup, "_run_jobs", lambda missing, at_once, report: jobs.extend(missing))
    warmup.warm_up(learners=["menace", "td"])
    assert "menace" in jobs and "td" + warmup.BEYOND in jobs and "menace" + warmup.BEYOND not in jobs
    warmup.run_job("menace")


def test_its_runs_are_opponents_of_who_plays_second_alone() -> None:
    menace = ttt.train(300, learner="menace", seed=2)
    for options, remedy in (
        ({"learner": "td", "seat": "both"}, "give seat='second', or choose another opponent"),
        ({"learner": "td", "symmetry": "on", "seat": "first"}, "give seat='second', or choose another opponent"),
        ({"learner": "menace"}, "; choose another opponent"),
    ):
        with pytest.raises(UsageError, match=f"plays as the first player alone.*{remedy}"):
            ttt.train(50, opponent=menace, **options)
    for symmetry in ("on", "off"):
        assert ttt.train(50, opponent=menace, learner="td", symmetry=symmetry).config.seat == "second"
