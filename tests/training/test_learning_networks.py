"""Networks learn from people and from given games: the same way twice, honest about proofs, undone on demand."""

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers.support import command, lines_of, random_games

import ttt_batch as ttt
from ttt_batch.core.errors import UsageError
from ttt_batch.games.board import DRAW, EMPTY, FIRST_WINS, UNFINISHED, Position
from ttt_batch.runs.loading import check_run
from ttt_batch.runs.network_run import PatternRun
from ttt_batch.training.from_games import LearningRun

LOST = [0, 4, 1, 5, 2]
"""A game on 3x3 that the first player wins."""


def train(games: int = 64, **options: Any) -> PatternRun:
    run = ttt.train(games, **{"learner": "patterns", "board": "3x3", "prove_every": 0, "seed": 3, **options})
    assert isinstance(run, PatternRun)
    return run


def bytes_of(run: Any) -> list[bytes]:
    return [run.learnt.weights.tobytes(), run.learnt.coherence.tobytes()]


@pytest.fixture(scope="module")
def proved() -> PatternRun:
    """Networks on 4x4x4 of which the second seat plays with weights that later games have changed."""
    run = train(3000, board="4x4x4", prove_every=200, epsilon=0.9, alpha=5, seed=2)
    assert 0 < run.proved_after(1) < run.games and run.plays_proved(1)
    return run


@pytest.mark.slow
@pytest.mark.parametrize(
    "options",
    [{"learner": "ntuple-td", "prove_every": 0}, {"objective": "plain", "epsilon": 0.9}, {"board": "3x3-misere"}, {}],
    ids=["ntuple-td", "plain", "misere", "safe"],
)
def test_update_by_update_equals_learn_from(options: dict[str, Any], tmp_path: Path) -> None:
    path = tmp_path / "run.h5"
    before = train(**options)
    before.save(path)
    games = random_games(before.board, 12)
    learning, again = LearningRun(ttt.load(path), path), LearningRun(ttt.load(path))
    for number, cells in enumerate(games, 1):
        changed = learning.update(cells)
        assert 0 <= changed <= len(cells) and again.update(cells) == changed
        whole, skipped = ttt.learn_from(lines_of(games[:number]), run=before)
        assert bytes_of(learning.run) == bytes_of(whole) == bytes_of(again.run) and not skipped
        assert learning.run.games == whole.games == before.games + number
    assert bytes_of(whole) != bytes_of(before) and before.config.start == ""
    found = ttt.load(path)
    assert isinstance(found, PatternRun)
    assert found == learning.run == again.run and found.config == whole.config and check_run(path) == ([], ())
    outcomes = found.statistics["outcomes"]
    assert outcomes[-1].sum() == found.games and np.array_equal(outcomes[-1], whole.statistics["outcomes"][-1])


@pytest.mark.slow
def test_a_lesson_begins_with_the_player_that_was_proved(proved: PatternRun, tmp_path: Path) -> None:
    """And changes that one alone: of the proof nothing is left but that there was one."""
    path, empty = tmp_path / "run.h5", (EMPTY,) * 16
    proved.save(path)
    learning = LearningRun(ttt.load(path), path, command="ttt-batch play run.h5 --learn")
    assert learning.move_values(empty) == proved.move_values(empty)
    (cells,) = random_games(proved.board, 1)
    learning.update(cells)
    found = ttt.load(path)
    assert isinstance(found, PatternRun) and found == learning.run
    for seat in (0, 1):
        differ = np.count_nonzero(found.weights_of(seat) != proved.weights_of(seat))
        assert 0 < differ <= len(cells) * proved.network.offset.size
        assert np.array_equal(found.weights_of(seat), found.learnt.weights[-seat, :, seat])
        assert found.proved_after(seat) == found.proved_positions(seat) == 0
    assert found.proved is None and not found.is_proved and found.verdict() == ""
    config = found.config
    assert (config.prove_every, config.keep, config.batch, len(config.start)) == (0, "last", 1, 16)
    # The points of the training stay, and every session adds one.
    points = proved.statistics["games"]
    assert found.statistics["games"].tolist() == [*points.tolist(), proved.games + 1]
    assert np.array_equal(found.statistics["proof"][:-1], proved.statistics["proof"])
    assert not found.statistics["proof"][-1].any()
    assert found.provenance["taught_by"] == "ttt-batch play run.h5 --learn"
    assert found.provenance["created"] == proved.provenance["created"]
    second = LearningRun(found)
    second.update(cells)
    assert second.run.games == proved.games + 2 and second.run.config.start != config.start
    with pytest.raises(
        UsageError, match="learnt from given games, which a training does not repeat; continue with learn"
    ):
        ttt.train(resume=path, more=1000)


@pytest.mark.slow
def test_undo_restores_the_very_file(proved: PatternRun, tmp_path: Path) -> None:
    path = tmp_path / "run.h5"
    proved.save(path)
    content, (one, two) = path.read_bytes(), random_games(proved.board, 2)
    learning = LearningRun(ttt.load(path), path)
    learning.update(one)
    taught = path.read_bytes()
    learning.update(two)
    assert learning.undo() and not learning.undo() and path.read_bytes() == taught
    learning = LearningRun(ttt.load(path), path)
    path.write_bytes(content)
    learning = LearningRun(ttt.load(path), path)
    learning.update(one)
    assert path.read_bytes() != content and learning.undo() and path.read_bytes() == content
    assert ttt.train(resume=path, more=200).games > proved.games


def person_against(run: LearningRun) -> tuple[list[int], int]:
    """A game, and how it ended: a person moves first, wins and blocks as it can, and likes corners."""
    marks: Position = (EMPTY,) * 9
    cells: list[int] = []
    while run.board.outcome(marks) == UNFINISHED:
        lines = [(line, [marks[cell] for cell in line]) for line in run.board.lines]
        closing = [
            line[seen.index(EMPTY)] for mark in (1, 2) for line, seen in lines if sorted(seen) == [0, mark, mark]
        ]
        wanted = [cell for cell in (*closing, 0, 2, 6, 8, *range(9)) if marks[cell] == EMPTY]
        cells.append(run.candidates(marks)[0] if len(cells) % 2 else wanted[0])
        marks = run.board.after(marks, cells[-1])
    return cells, run.board.outcome(marks)


@pytest.mark.parametrize("learner", ["patterns", "ntuple-td"])
def test_an_agent_that_lost_plays_otherwise(learner: str) -> None:
    """After a few games the same person does not win any more, as a teacher expects."""
    learning, lost = LearningRun(train(16, learner=learner)), 0
    while (game := person_against(learning))[1] == FIRST_WINS:
        learning.update(game[0])
        lost += 1
    assert 0 < lost < 10 and game[1] == DRAW


def test_boards_beyond_codes() -> None:
    """People teach networks on any board, and so do files of games."""
    run = train(32, board="8x8x5", tuples="lines")
    learning = LearningRun(run)
    assert learning.update([0, 8, 1, 9, 2, 10, 3, 11, 4]) > 0 and learning.run.games == run.games + 1
    given, _ = ttt.learn_from(["0 8 1 9 2 10 3 11 4"], run=run)
    assert bytes_of(given) == bytes_of(learning.run) != bytes_of(run)


def test_options_of_lessons() -> None:
    run = train()
    slower, _ = ttt.learn_from(lines_of([LOST]), run=run, alpha=0.1)
    assert slower.config.alpha == 0.1 and bytes_of(slower) != bytes_of(ttt.learn_from(lines_of([LOST]), run=run)[0])
    with pytest.raises(UsageError, match="epsilon cannot be changed for networks that learn from given games"):
        ttt.learn_from(lines_of([LOST]), run=run, epsilon=0.1)
    with pytest.raises(UsageError, match="the run was made by patterns, not td; leave the learner out"):
        ttt.learn_from(lines_of([LOST]), run=run, learner="td")
    assert ttt.learn_from(lines_of([LOST]), run=run, learner="Patterns")[0].games == run.games + 1


def test_a_person_teaches_networks(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The program as a person uses it: a game, undone and played again; then what the commands say of the file."""
    path = tmp_path / "run.h5"
    train(2000, prove_every=500).save(path)
    content = path.read_bytes()
    typed = "".join(f"{cell}\n" for cell in range(1, 10))

    def play(*words: str, after: str) -> tuple[int, str, str]:
        return command(capsys, "play", "run.h5", "--learn", "--seed", "1", *words, typed=typed + after)

    status, out, err = play("--out", "mine.h5", after="u\nq\n")
    assert status == 0 and "The last update is undone." in out, err
    assert path.read_bytes() == content and "train --resume" not in err
    status, out, err = play("--record", "games.txt", after="q\n")
    assert status == 0, err
    assert "train --resume does not go on with, and no proof of it holds any more; --out FILE" in err
    assert re.search(r"^Learnt: (\d+ positions|1 position|nothing) changed \(u: undo\)\.$", out, re.MULTILINE)
    before, found = ttt.load(tmp_path / "mine.h5"), ttt.load(path)
    lines = (tmp_path / "games.txt").read_text().splitlines()
    whole, _ = ttt.learn_from(lines, run=before)
    assert found.games == before.games + 1 and bytes_of(found) == bytes_of(whole)
    assert play(after="q\n")[2] == "", "it is a run of given games already"


def test_what_commands_say_of_taught_networks(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, taught, games = tmp_path / "run.h5", tmp_path / "taught.h5", tmp_path / "games.txt"
    train(2000, prove_every=500).save(path)
    games.write_text("5 1 9 3 2 8 4 6 7\n")
    status, out, _ = command(capsys, "learn-from", games, "--run", path, "--cells-from", 1, "--out", taught)
    assert status == 0 and "not proved since it learnt from given games" in out and "2,501 games" not in out
    for words, said in (
        (("info", taught), "the latest of them given or played with people"),
        (("check", taught), "nothing is wrong with it"),
        (("show", taught), "agent   plays "),
        (("evaluate", taught, "--games", 10), "as first"),
        (("prove", taught), "first"),
        (("compare", path, taught), "weights:"),
        (("plot", taught, "--out", tmp_path / "curves.png"), "curves.png"),
    ):
        status, out, err = command(capsys, *words)
        assert status in (0, 1) and said in out, (words, out, err)
    status, out, err = command(capsys, "train", "--resume", taught, "--more", 1000)
    assert (status, out) == (2, "") and "continue with learn-from --run, or train a new run" in err
