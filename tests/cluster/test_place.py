"""Where workers are: what is asked for badly is refused in a line, before a file is made."""

import re
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from dask_processes import LOOPBACK, free_port
from support import command

import ttt_batch as ttt
from ttt_batch.base.errors import ClusterError, TttBatchError, UsageError
from ttt_batch.cluster import place, roster
from ttt_batch.cluster.place import Place, place_of
from ttt_batch.learners import LEARNERS

QUICK = ("study", "--games", 100, "--batch", 50, "--seeds", 2, "--quiet")


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (["--workers", "0"], "workers"),
        (["--workers", "-3"], "workers"),
        (["--workers", "two"], "workers"),
        (["--workers", "1G"], "workers"),
        (["--workers", "1.5"], "workers"),
        (["--workers", "2", "--scheduler", "h:1"], "leave out either"),
        (["--workers", "2", "--threads", "2"], "leave out --threads"),
        (["--scheduler", "h:1", "--threads", "2"], "leave out --threads"),
        *(
            (["--scheduler", address], "is no address")
            for address in (
                *("", "host", ":8786", "host:", "host:0", "host:65536", "host:x", "http://host:8786", "tcp:/host:1"),
                *("tcp://host:1/x", "tcp://ho st:1", "tcp://[::1:1", "::1:8786", "tcp://host:123456", "host:1\n"),
            )
        ),
    ],
)
def test_misuse_is_refused(words: list[str], reason: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, out, err = command(capsys, *QUICK, "-o", tmp_path / "s.h5", *words)
    assert (status, out, err.count("\n")) == (2, "", 1) and reason in err
    assert not list(tmp_path.iterdir())
    assert command(capsys, *QUICK, "--dry-run", *words)[0] == 2


@pytest.mark.parametrize(
    ("given", "address"),
    [
        ("host:8786", "tcp://host:8786"),
        ("tls://a.b-c:1", "tls://a.b-c:1"),
        ("tcp://[::1]:65535", "tcp://[::1]:65535"),
        ("127.0.0.1:08786", "tcp://127.0.0.1:08786"),
    ],
)
def test_addresses(given: str, address: str) -> None:
    assert place_of(None, given, None) == Place(address=address)
    assert place_of(None, None, None) is None and place_of("2", None, None) == Place(2)


def test_without_dask(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    for words in (["--workers", "2"], ["--scheduler", "h:1"]):
        status, out, err = command(capsys, *QUICK, "-o", tmp_path / "s.h5", *words)
        assert (status, out, err.count("\n")) == (1, "", 1) and "pip install 'ttt-batch[cluster]'" in err
    assert not list(tmp_path.iterdir())
    with pytest.raises(TttBatchError, match="install"):
        ttt.study(out=tmp_path / "s.h5", workers=2)


@pytest.mark.parametrize("seconds", [1, pytest.param(place.CONNECT_SECONDS, marks=pytest.mark.slow)])
def test_a_scheduler_that_is_not_there(
    seconds: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("ttt_batch.cluster.crew.CONNECT_SECONDS", seconds)
    began = time.monotonic()
    words = [*QUICK, "-o", tmp_path / "s.h5", "--scheduler", f"{LOOPBACK}:{free_port()}"]
    status, out, err = command(capsys, *words)
    assert (status, out, err.count("\n")) == (1, "", 1) and "no scheduler at tcp://127.0.0.1" in err
    assert time.monotonic() - began < 10 and not list(tmp_path.iterdir())


def test_a_name_that_nobody_knows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ttt_batch.cluster.crew.CONNECT_SECONDS", 1)
    with pytest.raises(ClusterError, match=r"no scheduler at tcp://nobody\.invalid:1: it does not answer"):
        ttt.study(out=tmp_path / "s.h5", games=100, scheduler="nobody.invalid:1")
    assert not list(tmp_path.iterdir())


def test_a_learner_of_the_script_itself_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Before anything is started or written."""
    tables: Any = type("Tables", (LEARNERS["td"].tables,), {"__module__": "__main__"})
    own = LEARNERS["td"].__class__(**{**vars(LEARNERS["td"]), "name": "own", "tables": tables})
    monkeypatch.setitem(LEARNERS, "own", own)
    monkeypatch.setattr(place, "start_workers", None)
    with pytest.raises(UsageError, match=r"learner 'own' is registered in the script itself \(__main__\)"):
        ttt.study(out=tmp_path / "s.h5", learner=["td", "own"], games=100, workers=2)
    assert not list(tmp_path.iterdir())


def test_a_scheduler_that_goes_while_its_dashboard_is_asked_for() -> None:
    """The link comes from the scheduler: nothing of the failure shows."""

    class Gone:
        @property
        def dashboard_link(self) -> str:
            raise OSError("Timed out trying to connect")

    assert roster._dashboard(Gone()) == ""


@pytest.mark.parametrize(
    ("error", "status", "said"),
    [
        (
            KeyError("Invalid time unit: abc"),
            2,
            r"Dask cannot use its settings \(Invalid time unit: abc\); mend or unset ",
        ),
        (RuntimeError("Nanny failed to start."), 1, r"cannot start 2 workers: one ended, .* \(with "),
    ],
)
def test_settings_that_dask_cannot_use_are_named(
    error: Exception,
    status: int,
    said: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def refuse(**_: Any) -> None:
        raise error

    monkeypatch.setattr("distributed.LocalCluster", refuse)
    monkeypatch.setenv("DASK_DISTRIBUTED__COMM__TIMEOUTS__CONNECT", "abc")
    found, out, err = command(capsys, *QUICK, "-o", tmp_path / "s.h5", "--workers", "2")
    assert (found, out, err.count("\n")) == (status, "", 1)
    assert re.search(rf"{said}DASK_DISTRIBUTED__COMM__TIMEOUTS__CONNECT='abc'", err)
    assert not list(tmp_path.iterdir())
