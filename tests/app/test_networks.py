"""Commands with runs of networks: play, watch, show, judge, draw; and their errors."""

import io
import json
from pathlib import Path

import pytest
from helpers.support import command

import ttt_batch as ttt
from ttt_batch.app.terminal.loop import play_in_terminal
from ttt_batch.runs.network_run import PatternRun


@pytest.fixture
def file(pattern_run: PatternRun, tmp_path: Path) -> Path:
    return pattern_run.save(tmp_path / "run.h5")


@pytest.mark.slow
def test_a_person_plays_networks(pattern_run: PatternRun) -> None:
    out = io.StringIO()
    answers = "h\na1\nb1\nc1\nd1\na2\nb2\nc2\nd2\na3\nb3\nc3\nd3\na4\nb4\nc4\nd4\nq\nq\n"
    play_in_terminal(pattern_run, person=0, stdin=io.StringIO(answers), stdout=out, seed=1)
    values = pattern_run.move_values((0,) * 16)
    assert f"{max(values.values()):+.2f}" in out.getvalue() and "Highest: " in out.getvalue()
    assert "The agent wins." in out.getvalue() or "Draw." in out.getvalue()


@pytest.mark.slow
def test_commands_take_networks(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for words, said in (
        (("show", file, "b2"), "agent   plays "),
        (("watch", file, "random"), "O: random"),
        (("watch", file, "two-ply", "--games", 10), "two-ply moves first in 5 games"),
        (("watch", file, "--games", 10), "against itself on 4x4x4: 10 games"),
        (("tournament", file, file, "--games", 10), "2 runs on 4x4x4"),
        (("compare", file, file), "weights:  0 of "),
        (("evaluate", file, "--games", 10), "unbeatable as first"),
        (("export", file, "--to", "html", "-o", file.with_suffix(".html")), "wrote "),
    ):
        status, out, err = command(capsys, *words)
        assert status == 0 and said in out, (words, err)
    status, out, _ = command(capsys, "evaluate", file, "--games", 10, "--against", "two-ply", "--json")
    assert status == 0 and json.loads(out)["unbeatable"] == {"first": True, "second": True}


def test_what_networks_cannot_do_costs_a_line(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    large = ttt.train(10, learner="ntuple-td", board="5x5x5").save(file.with_name("large.h5"))
    for words, wanted, said in (
        (("evaluate", large, "--against", "optimal"), 2, "optimal needs a table of all positions, which networks do"),
        (
            ("watch", file, "nobody"),
            2,
            "unknown player 'nobody'; choose one of: random, one-ply, two-ply, optimal, "
            "a run file, a certificate, FILE.py:NAME or cmd:PROGRAM",
        ),
        (("export", file, "--to", "csv"), 1, "a run of patterns has no table of positions"),
        (
            ("learn-from", "games.txt", "--run", file, "--seed", 4),
            2,
            "--seed cannot be changed for networks that learn",
        ),
        (("learn-from", "games.txt", "--learner", "patterns"), 2, "patterns learns networks, and this takes a learner"),
        (("study", "--learner", "td,patterns", "--games", 10), 2, "a study holds learners of tables or of networks"),
        (("plot", file, "--kind", "coverage"), 2, "networks count no visits"),
    ):
        status, out, err = command(capsys, *words)
        assert (status, out) == (wanted, "") and err.count("\n") == 1 and said in err, (words, err)
    with pytest.raises(ttt.UsageError, match="has no table of positions"):
        ttt.export_run(ttt.load(file), "a.csv", "csv")


def test_a_run_does_not_replace_its_tuples(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    tuples = tmp_path / "t.txt"
    tuples.write_text("a1 b1\nb1 b2\n")
    words = ("train", "--learner", "patterns", "--games", 10, "--tuples", tuples, "--overwrite")
    for more in (["-o", tuples], ["-o", tmp_path / "n.h5", "--record", tuples]):
        status, out, err = command(capsys, *words, *more)
        assert (status, out) == (2, "") and "is read, too" in err and len(err.splitlines()) == 1
    assert tuples.read_text() == "a1 b1\nb1 b2\n"


def test_tuples_for_boards_whose_default_ones_do_not_fit(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ("train", "--learner", "patterns", "--board", "1x30x20", "--games", 16, "--quiet")
    assert command(capsys, *words)[0] == 2
    assert command(capsys, *words, "--prove-every", 0, "--tuples", "segments:2")[0] == 0
    assert (tmp_path / "patterns-1x30x20.h5").exists()


@pytest.mark.slow
def test_small_boards_show_the_truth(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Hints, reviews, `show`, `watch` and the opening's picture say of networks what they say of tables."""
    file, out = tmp_path / "small.h5", io.StringIO()
    run = ttt.train(64, learner="patterns", board="3x3", prove_every=0, out=file)
    play_in_terminal(run, person=0, stdin=io.StringIO("h\n5\n1\n2\n3\n4\n6\n7\n8\n9\nq\n"), stdout=out, seed=1)
    assert out.getvalue().count("Below each value the truth:") == 1 and " D     | D     | D" in out.getvalue()
    assert "Mistakes found:" in out.getvalue() or "No mistakes found." in out.getvalue()
    for words, said in (
        (("show", file, "5 2"), "truth   X wins in 5 plies with best play"),
        (("watch", file, "random", "--seed", 1), "Below each value the truth:"),
        (("plot", file, "--kind", "opening", "--out", tmp_path / "opening.svg"), "opening.svg"),
    ):
        status, text, err = command(capsys, *words)
        assert status == 0 and said in text, (words, text, err)
    assert "with best play the move wins, draws, loses." in (tmp_path / "opening.svg").read_text()
    known = json.loads(command(capsys, "show", file, "5 2", "--json")[1])
    assert known["truth"] == {"winner": "first", "plies": 5} and known["best"] and known["line"]


def test_given_games_for_a_run_that_another_program_changed(
    file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The remedy that is named works."""
    import h5py

    with h5py.File(file, "r+") as changed:
        changed["statistics/seconds"][:] += 1
    (tmp_path / "g.txt").write_text("a1 b1 a2 b2 a3 b3 a4\n")
    words = ("learn-from", tmp_path / "g.txt", "--run", file, "-o", tmp_path / "n.h5", "--quiet")
    status, out, err = command(capsys, *words)
    assert (status, out) == (1, "") and "--trust" in err
    assert command(capsys, *words, "--trust")[0] == 0


@pytest.mark.slow
def test_check_makes_the_recorded_proofs_again(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A verdict that another program wrote is found out, even if the file is trusted."""
    import h5py

    run = ttt.train(3000, learner="patterns", board="3x3", seat="first", out=tmp_path / "run.h5")
    recorded = run.proved_positions(0)
    assert recorded > 0 and command(capsys, "check", tmp_path / "run.h5")[0] == 0
    with h5py.File(tmp_path / "run.h5", "r+") as file:
        file["statistics/proof_positions"][:, 0] += 1
    status, out, _ = command(capsys, "check", tmp_path / "run.h5", "--trust")
    assert status == 1 and out.count("\n") == 1, out
    assert f"first proved with {recorded + 1:,} positions; tables/proved is proved there with {recorded:,}" in out
    with h5py.File(tmp_path / "run.h5", "r+") as file:
        file["statistics/proof_positions"][:, 0] -= 1
        file["tables/proved"][:] = 0
    status, out, _ = command(capsys, "check", tmp_path / "run.h5", "--trust")
    assert status == 1 and "tables/proved is refuted there" in out, out
