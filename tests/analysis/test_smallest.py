"""Smallest proofs: known sizes, what they are worth as agents and runs, and what is refused."""

import json
import pickle
import subprocess
import sys

import numpy as np
import pytest
from helpers.support import command

import ttt_batch as ttt
from ttt_batch.agents.certified import CertifiedAgent
from ttt_batch.core.errors import AgentError
from ttt_batch.evaluation.certificates import fault_of, load_certificate
from ttt_batch.evaluation.integer_program import IntegerProgram, Solver


def test_a_smallest_player_is_written_checked_played_and_kept_as_a_run(tmp_path, capfd):
    file, run = tmp_path / "cannot-lose.npz", tmp_path / "cannot-lose.h5"
    code, out, err = command(capfd, "prove", "--smallest", "--count", "--certificate", str(file), "-o", str(run))
    assert code == 0 and "13 positions, minimal" in out and "players with as few: 5" in out and not err
    assert load_certificate(file).move.size == 13
    code, out, _ = command(capfd, "check", str(file))
    assert code == 0 and "nothing is wrong" in out
    listed = tmp_path / "moves.json"
    assert command(capfd, "export", str(file), "--to", "json", "-o", str(listed))[0] == 0
    moves = {at["position"]: at["chances"] for at in json.loads(listed.read_text())["positions"]}
    assert moves[".../.../..."] == [0, 0, 0, 0, 1, 0, 0, 0, 0] and all(sum(chances) == 1 for chances in moves.values())
    assert len(moves) == 68 and "X../.../..." not in moves  # all images of the thirteen, and no other position
    for player in (file, run):
        judged = ttt.evaluate(str(player))
        assert judged.to_dict()["unbeatable"] == {"first": True, "second": False}
    code, out, _ = command(capfd, "show", str(file), "--json")
    shown = json.loads(out)
    assert code == 0 and [move["name"] for move in shown["moves"] if move["probability"]] == ["5"]


@pytest.mark.slow
def test_a_certificate_plays_on_its_own_board(tmp_path, capfd):
    file = tmp_path / "wins.npz"
    found = ttt.smallest_proof("3x4x3", goal="always-wins", certificate=file)
    assert found.minimal and found.positions == 46 and found.depth == 4
    assert ttt.judge(str(file)).to_dict()["first"]["win"] == 1.0
    code, _, err = command(capfd, "evaluate", str(file), "--board", "3x3")
    assert code == 1 and "is for board 3x4x3, not for 3x3" in err
    certificate = load_certificate(file)
    certificate.move[0] = 77
    with pytest.raises(AgentError, match="lists moves outside its board"):
        CertifiedAgent(certificate, certificate.board)


@pytest.mark.slow
def test_a_run_limits_the_moves():
    run = ttt.train(200_000, seed=1)
    within = ttt.smallest_proof(seat="second", within=run, time_limit=1)
    free = ttt.smallest_proof(seat="second", images="separate", time_limit=0.1)
    assert within.images == "separate" and within.positions >= 242 and within.candidates < free.candidates
    other = ttt.train(200_000, seed=2)
    both = ttt.smallest_proof(seat="second", within=[run, other], time_limit=1)
    assert both.candidates >= within.candidates and len(both.certificate.source["runs"]) == 2
    with pytest.raises(ttt.UsageError, match="needs runs that share images"):
        ttt.smallest_proof(within=run, images="merge")
    with pytest.raises(ttt.UsageError, match="a run plays 3x3, not 3x4x3; name runs of one board"):
        ttt.smallest_proof("3x4x3", within=run)
    assert within.certificate.source["games"] == 200_000 and within.certificate.source["learner"] == "td"


@pytest.mark.parametrize(
    ("board", "images", "positions"), [("2x2", "merge", 3), ("2x2", "separate", 4), ("1x3x3", "separate", 0)]
)
def test_an_agent_with_nothing_to_choose_has_a_smallest_proof(board, images, positions):
    found = ttt.smallest_proof(board, images=images)
    assert found.minimal and found.positions == found.candidates == positions


@pytest.mark.slow
@pytest.mark.parametrize("weigh", ["depth", "beads"])
def test_other_quantities_can_be_smallest(weigh):
    found = ttt.smallest_proof(seat="second", weigh=weigh)
    assert found.minimal and found.depth == 4 and fault_of(found.certificate) is None
    counts = 9 - np.bitwise_count(found.certificate.first | found.certificate.second)
    assert found.cost == (counts > 1).sum() if weigh == "beads" else found.positions


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("--smallest --goal always-wins", "the first player cannot always win: the game is a draw"),
        ("--smallest --board 3x4x3 --as second", "the second player cannot avoid every loss"),
        ("--smallest --board 3x3 --budget 7", "--budget does not go with --smallest"),
        ("--weigh beads", "--weigh goes with --smallest"),
        ("--smallest --time-limit soon", "'soon' is no duration; give e.g. 90s, 10min or 1h"),
        ("--smallest --time-limit 1e9", "--time-limit 1e9 is over the limit of 10,000,000 seconds; give less"),
        ("--smallest --board 4x4x4 --time-limit 0.001", "takes longer than the time limit; raise --time-limit, or"),
        ("--smallest --weigh marks", "choose positions, depth or beads"),
        ("--smallest --board 9x9x5", "board 9x9x5 has"),
    ],
)
def test_what_cannot_be_had_is_said_in_a_line(words, said, capfd):
    code, out, err = command(capfd, "prove", *words.split())
    assert code == 2 and not out and said in err and err.count("\n") == 1


@pytest.mark.slow
def test_a_solver_ends_with_the_program():
    """Its input ends when the program is killed; this covering of 1,500 random triples would take it hours."""
    rng = np.random.default_rng(1)
    rows, size = 1500, 150
    ones = np.ones(rows)
    program = IntegerProgram(
        cost=np.ones(size),
        row=np.arange(rows).repeat(3),
        column=np.concatenate([rng.choice(size, 3, replace=False) for _ in range(rows)]),
        entry=ones.repeat(3),
        low=ones,
        high=ones * np.inf,
        least=np.zeros(size),
        whole=np.ones(size, np.bool_),
    )
    with Solver() as solver:
        process = solver._process
        assert process.stdin is not None
        pickle.dump((program, 3600.0), process.stdin)
        process.stdin.flush()
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(2)
        process.stdin.close()
        assert process.wait(60) == 0
        process.stdin = None


def test_a_search_ends_with_its_solver(monkeypatch):
    begin = Solver.__init__

    def begin_and_end(solver):
        begin(solver)
        solver._process.kill()

    monkeypatch.setattr(Solver, "__init__", begin_and_end)
    found = ttt.smallest_proof(seat="second")
    assert not found.minimal and found.positions >= 66 and fault_of(found.certificate) is None


NOISY = """
import os
from ttt_batch.evaluation import integer_program as programs

def solve(program, seconds):
    os.write(1, b"a line of HiGHS")
    return programs.Answer(None, program, seconds == 1)

programs.solve_program = solve
programs.serve()
"""


def test_lines_of_the_solver_do_not_mix_with_its_answers():
    pipe = subprocess.PIPE
    with subprocess.Popen([sys.executable, "-c", NOISY], stdin=pipe, stdout=pipe) as process:
        assert process.stdin is not None and process.stdout is not None
        for number in range(3):
            pickle.dump((number, 1), process.stdin)
        process.stdin.flush()
        assert [pickle.load(process.stdout).bound for _ in range(3)] == [0, 1, 2]
        process.stdin.close()
        assert process.wait(60) == 0 and not process.stdout.read()


def test_the_files_of_a_smallest_proof_differ(tmp_path, capfd):
    file = tmp_path / "both.bin"
    code, out, err = command(capfd, "prove", "--smallest", "--certificate", str(file), "-o", str(file))
    assert code == 2 and not out and "is named twice, by --certificate and by --out" in err
    assert not file.exists()
