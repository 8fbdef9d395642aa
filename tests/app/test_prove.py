"""`prove`: proofs of tables and of networks, certificates, and every refusal."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from helpers.proof_agents import read_certificate
from helpers.support import command

import ttt_batch as ttt
from ttt_batch.app.progress import Reporter
from ttt_batch.core.errors import CertificateError, UsageError

CHECK = Path(__file__).parent.parent.parent / "scripts" / "check_certificate.py"


@pytest.fixture(scope="module")
def networks(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("proofs") / "networks.h5"
    ttt.train(4000, learner="patterns", board="4x4x4", prove_every=1000, seed=3, out=path)
    return path


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("proofs") / "table.h5"
    ttt.train(100_000, out=path)
    return path


@pytest.mark.slow
def test_networks_and_their_certificates(
    networks: Path, table: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Proofs of training are proved again, and the script that imports nothing of ours accepts the certificates."""
    run = ttt.load(networks)
    assert isinstance(run, ttt.PatternRun) and run.is_proved
    status, out, err = command(capsys, "prove", networks, "--certificate", tmp_path / "c.npz", "--json", "-q")
    assert (status, err) == (0, "")
    found = json.loads(out)
    assert found["verdict"] == {"first": "proved", "second": "proved"}
    assert found["positions"] == {seat: run.proved_positions(number) for number, seat in enumerate(("first", "second"))}
    for seat, path in found["certificate"].items():
        assert path == str(tmp_path / f"c-{seat}.npz")
        read_certificate(Path(path))
        checked = subprocess.run([sys.executable, CHECK, path], capture_output=True, text=True, check=False)
        assert checked.returncode == 0 and f"the {seat} player cannot lose" in checked.stdout, checked
        assert command(capsys, "check", path, "--of", networks, "-q")[0] == 0
        status, out, _ = command(capsys, "check", path, "--of", table, "-q")
        assert status == 1 and "is for board 4x4x4, not for 3x3" in out


def test_tables_are_proved_as_they_are_judged(table: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The exact judgement of an enumerated board and the search agree, and so do both ways to break ties."""
    run = ttt.load(table)
    assert isinstance(run, ttt.Run)
    for ties in ("any", "soonest"):
        found = ttt.prove(run, ties=ties)  # type: ignore[arg-type]
        assert {seat: proof.status == "proved" for seat, proof in found.found.items()} == run.evaluation(
            ties=ties  # type: ignore[arg-type]
        ).unbeatable
    status, out, _ = command(capsys, "prove", table)
    assert status == 0 and "first cannot lose: proved" in out and "second cannot lose: proved" in out
    assert str(ttt.prove(table)).splitlines()[3].startswith("first cannot lose: proved")


def test_what_is_not_proved(table: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Status 1, and a game that misses the goal; or how far the budget went."""
    status, out, err = command(capsys, "prove", table, "--goal", "always-wins", "--as", "first", "--json", "-q")
    found = json.loads(out)
    assert (status, err) == (1, "") and found["verdict"] == {"first": "refuted"}
    board, marks = ttt.parse_board("3x3"), (0,) * 9
    for cell in found["losing_line"]["first"]:
        marks = board.after(marks, cell)
    assert board.outcome(marks) != 1
    status, out, err = command(capsys, "prove", table, "--budget", "3", "-q")
    assert (status, err) == (1, "") and "undecided, 3 positions" in out and "the budget is spent" in out
    assert "certificate" not in out


def test_seconds_say_whether_kernels_were_compiled(
    table: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Reporter, "compiled", True)
    first, second = (line for line in command(capsys, "prove", table, "-q")[1].splitlines() if " position" in line)
    assert first.endswith(" s (compiling included)") and second.endswith(" s")


def test_seats_without_a_certificate_are_named(table: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = "prove", table, "--certificate", tmp_path / "c.npz", "-q"
    for more, seats in (("--budget", 3), "first or second"), (("--budget", 1500, "--threads", 1), "first"):
        status, out, err = command(capsys, *words, *more)
        assert (status, err) == (1, "") and out.endswith(f"no certificate for {seats}: not proved\n")
    assert [path.name for path in tmp_path.iterdir()] == ["c-second.npz"]


def test_a_certificate_plays_its_own_seat(table: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = ttt.prove(table, certificate=tmp_path / "c.npz")
    for seat, mine in (("first", "You are O"), ("second", "You are X")):
        status, out, _ = command(capsys, "play", found.certificates[seat][0], typed="q\n")
        assert status == 0 and mine in out, out


def test_what_is_wrong_with_a_certificate(table: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ttt.prove(table, seat="first", certificate=tmp_path / "c.npz")
    status, out, _ = command(capsys, "check", tmp_path / "c.npz", "-q")
    claim, verdict = out.splitlines()
    assert status == 0 and claim.startswith(f"{tmp_path / 'c.npz'} claims: board 3x3, the first player cannot lose, ")
    assert verdict == f"{tmp_path / 'c.npz'}: nothing is wrong with it"
    content = (tmp_path / "c.npz").read_bytes()
    (tmp_path / "d.npz").write_bytes(content[: len(content) // 2])
    status, out, err = command(capsys, "check", tmp_path / "d.npz", "-q")
    assert (status, err) == (1, "") and "is not a valid certificate" in out and len(out.splitlines()) == 1
    other = ttt.train(1000, seed=5, out=tmp_path / "other.h5")
    assert other.games == 1000
    status, out, _ = command(capsys, "check", tmp_path / "c.npz", "--of", tmp_path / "other.h5", "-q")
    assert status == 1 and "the certificate comes from another" in out
    status, _, err = command(capsys, "check", table, "--of", table)
    assert status == 2 and "--of goes with a certificate" in err


def test_a_certificate_does_not_replace_its_run(
    table: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = tmp_path / "run.npz"
    run.write_bytes(table.read_bytes())
    (tmp_path / "run-first.npz").symlink_to(run)
    for words in (["--certificate", run, "--as", "first"], ["--certificate", run]):
        status, out, err = command(capsys, "prove", run, *words, "--overwrite")
        assert (status, out) == (2, "") and "is read, too" in err and len(err.splitlines()) == 1
    assert run.read_bytes() == table.read_bytes()


def test_refusals(table: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("c.txt", ".", "..", ".npz"):
        with pytest.raises(UsageError, match=r"give a name such as proof\.npz"):
            ttt.prove(table, certificate=name)
    (tmp_path / "c-second.npz").touch()
    with pytest.raises(CertificateError, match=r"c-second\.npz"):
        ttt.prove(table, certificate=tmp_path / "c.npz")
    assert not (tmp_path / "c-first.npz").exists(), "nothing is written if one of two cannot be"
    with pytest.raises(UsageError, match="unknown goal 'draw'; choose cannot-lose or always-wins"):
        ttt.prove(table, goal="draw")
    for words in (["--budget", "0"], ["--as", "third"], ["--goal", "win"]):
        status, out, err = command(capsys, "prove", table, *words)
        assert (status, out) == (2, "") and len(err.splitlines()) == 1


@pytest.mark.slow
def test_a_corrected_player_is_proved_and_certified(
    table: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Networks that lose are proved once best play has corrected them, and others can check the certificate."""
    run, certificate = tmp_path / "weak.h5", tmp_path / "corrected.npz"
    ttt.train(64, learner="patterns", board="4x4x4-gravity", prove_every=0, seed=1, out=run)
    asked = "prove", run, "--as", "second", "-q"
    assert command(capsys, *asked)[0] == 1
    status, out, err = command(capsys, *asked, "--correct", "--certificate", certificate)
    assert (status, err) == (0, "")
    count = json.loads(command(capsys, *asked, "--correct", "--json")[1])["corrections"]["second"]
    assert f"with moves of best play in {count} corrected positions, images counted once" in out
    assert read_certificate(certificate).source["corrections"] == count
    checked = subprocess.run([sys.executable, CHECK, certificate], capture_output=True, text=True, check=False)
    assert checked.returncode == 0 and "the second player cannot lose" in checked.stdout, checked
    status, out, _ = command(capsys, "prove", run, "--as", "first", "--goal", "always-wins", "-q", "--correct")
    assert status == 1 and "best play does not reach this goal: no correction can help" in out
    for refused, says in (
        (("prove", table, "--correct"), "--correct needs best play by search, on boards with gravity"),
        (("prove", "--smallest", "--correct"), "--correct does not go with --smallest; leave it out"),
        ((*asked, "--correct", "--threads", 2), "--threads 2 does not go with --correct, which takes 1; leave it out"),
    ):
        status, _, err = command(capsys, *refused)
        assert status == 2 and says in err, err
