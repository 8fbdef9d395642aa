"""Where workers are, and who may use them; what is asked for badly is refused in a line, before a file is made."""

import asyncio
import re
import socket
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

import dask
import psutil
import pytest
from dask_processes import LOOPBACK
from distributed import Client
from helpers.support import command

import ttt_batch as ttt
from ttt_batch import learners
from ttt_batch.cluster import config, worker_pool
from ttt_batch.cluster.config import ClusterConfig, cluster_config
from ttt_batch.cluster.worker_pool import WorkerPool
from ttt_batch.core.errors import ClusterError, TttBatchError, UsageError
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
            (["--scheduler", address], "is not an address")
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
    assert cluster_config(None, given, None) == ClusterConfig(address=address)
    assert cluster_config(None, None, None) is None and cluster_config("2", None, None) == ClusterConfig(2)


def test_without_dask(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    for words in (["--workers", "2"], ["--scheduler", "h:1"]):
        status, out, err = command(capsys, *QUICK, "-o", tmp_path / "s.h5", *words)
        assert (status, out, err.count("\n")) == (1, "", 1) and "pip install 'ttt-batch[cluster]'" in err
    assert not list(tmp_path.iterdir())
    with pytest.raises(TttBatchError, match="install"):
        ttt.study(out=tmp_path / "s.h5", workers=2)


def test_workers_of_this_machine_need_certificates(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "cryptography", None)
    status, out, err = command(capsys, *QUICK, "-o", tmp_path / "s.h5", "--workers", "2")
    assert (status, out, err.count("\n")) == (1, "", 1)
    assert "need dask, distributed and cryptography" in err and "pip install 'ttt-batch[cluster]'" in err
    assert cluster_config(None, "tcp://h:1", None) == ClusterConfig(address="tcp://h:1"), (
        "those have certificates of their own"
    )
    assert not list(tmp_path.iterdir())


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of temporary files, an empty one."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


@pytest.mark.slow
def test_only_holders_of_its_key_use_a_cluster_of_this_machine(temporary: Path) -> None:
    """Every port: without TLS, and with another certificate; even where Dask's configuration would allow it."""
    from distributed.security import Security

    loose = {
        "distributed.comm.require-encryption": False,
        "distributed.comm.tls.min-version": 1.1,
        "distributed.comm.tls.ciphers": "nonsense",
        "distributed.scheduler.http.routes": ["distributed.http.scheduler.api", "distributed.http.scheduler.info"],
    }
    before = listening()  # of other tests
    with dask.config.set(loose), WorkerPool(ClusterConfig(1), lambda _: None) as pool:
        until = time.monotonic() + 300
        while not pool.workers and time.monotonic() < until:
            pool.ended(0.1)
        ((worker, found),) = pool._client.scheduler_info()["workers"].items()
        addresses = [pool._cluster.scheduler_address, worker, found["nanny"]]
        own = pool._cluster.security.get_connection_args("client")
        other = Security.temporary(tls_min_version=None, tls_ciphers=None).get_connection_args("client")
        assert asyncio.run(answering(addresses, own, seconds=60)) == [True] * 3
        assert asyncio.run(answering(addresses, other)) == [False] * 3
        plain = [address.replace("tls://", "tcp://") for address in addresses]
        assert plain != addresses and asyncio.run(answering(plain, {})) == [False] * 3
        # Whatever else listens has no page to show.
        ports = {int(address.rpartition(":")[2]) for address in addresses}
        for port in listening() - ports - before:
            for page in ("", "info/main/workers.html", "api/v1/get_workers", "json/counts.json", "metrics", "health"):
                with pytest.raises(urllib.error.HTTPError, match="404") as missing:
                    urllib.request.urlopen(f"http://{LOOPBACK}:{port}/{page}", timeout=60)
                missing.value.close()  # Python 3.14 warns of an error that is left open
        (private,) = temporary.iterdir()
        assert private.stat().st_mode & 0o077 == 0 and private in Path(found["local_directory"]).parents
        assert not [config for config in sys.path if "dask-scratch-space" in config and str(private) not in config]
        assert not [path for path in temporary.rglob("*") if path.suffix in (".pem", ".crt")]
    assert not list(temporary.iterdir())


async def answering(addresses: list[str], arguments: dict[str, Any], seconds: float = 3) -> list[bool]:
    """Whether a client with these arguments is answered by each address."""
    from distributed.comm import connect

    async def answers(address: str) -> bool:
        try:
            comm = await connect(address, timeout=seconds, **arguments)
            await comm.write({"op": "identity", "reply": True})
            answer = await comm.read()
            await comm.close()
        except OSError:
            return False
        return "id" in answer

    return list(await asyncio.gather(*map(answers, addresses)))


def listening() -> set[int]:
    """The ports at which this process and its children listen."""
    me, found = psutil.Process(), list[Any]()
    for process in (me, *me.children(recursive=True)):
        with suppress(psutil.NoSuchProcess):  # it has just ended
            found += process.net_connections("tcp")
    return {one.laddr.port for one in found if one.status == psutil.CONN_LISTEN}


@pytest.fixture
def silent() -> Iterator[str]:
    """An address at which nobody listens, and which no other process gets meanwhile."""
    with socket.socket() as kept:
        kept.bind((LOOPBACK, 0))
        yield f"{LOOPBACK}:{kept.getsockname()[1]}"


@pytest.mark.parametrize(
    ("settings", "address", "reason"),
    [
        ({"require-encryption": True}, "tcp://127.0.0.1:1", r"refuses addresses that are not tls://"),
        ({}, "tls://127.0.0.1:1", r"has no certificates that can be used \(distributed\.comm\.tls\)"),
        (
            {"tls.ca-file": "/nowhere/ca.pem", "tls.client.cert": "/nowhere/cert.pem"},
            "tls://127.0.0.1:1",
            r"has no certificates that can be used",
        ),
    ],
)
def test_what_dask_is_told_of_certificates(
    settings: dict[str, Any], address: str, reason: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:

    monkeypatch.setattr("ttt_batch.cluster.worker_pool.CONNECT_SECONDS", 1)
    with (
        dask.config.set({f"distributed.comm.{name}": value for name, value in settings.items()}),
        pytest.raises(ClusterError, match=f"no scheduler at {address}: Dask's configuration {reason}"),
    ):
        ttt.study(out=tmp_path / "s.h5", games=100, scheduler=address)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("seconds", [1, pytest.param(config.CONNECT_SECONDS, marks=pytest.mark.slow)])
def test_a_scheduler_that_is_not_there(
    seconds: int, silent: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("ttt_batch.cluster.worker_pool.CONNECT_SECONDS", seconds)
    began = time.monotonic()
    words = [*QUICK, "-o", tmp_path / "s.h5", "--scheduler", silent]
    status, out, err = command(capsys, *words)
    assert (status, out, err.count("\n")) == (1, "", 1) and "no scheduler at tcp://127.0.0.1" in err
    assert time.monotonic() - began < 60 and not list(tmp_path.iterdir())


def test_a_name_that_nobody_knows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ttt_batch.cluster.worker_pool.CONNECT_SECONDS", 1)
    with pytest.raises(ClusterError, match=r"no scheduler at tcp://nobody\.invalid:1: it does not answer"):
        ttt.study(out=tmp_path / "s.h5", games=100, scheduler="nobody.invalid:1")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("settings", [{}, {"require-encryption": True}])
def test_a_client_that_fails_to_start_is_closed(settings: dict[str, Any], silent: str, monkeypatch: Any) -> None:
    """One that Python collects later closes then, and a command may hang."""
    started: list[Client] = []
    start = Client.start

    def remember(client: Client, **options: Any) -> Any:
        started.append(client)
        return start(client, **options)

    monkeypatch.setattr(Client, "start", remember)
    given = dask.config.set({f"distributed.comm.{name}": value for name, value in settings.items()})
    with given, ExitStack() as stack, pytest.raises(ClusterError, match="no scheduler at"):
        config.connect(f"tcp://{silent}", stack, 1)
    assert [client.status for client in started] == ["closed"]


def test_a_learner_of_the_script_itself_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Before anything is started or written."""
    tables: Any = type("Tables", (LEARNERS["td"].tables,), {"__module__": "__main__"})
    own = LEARNERS["td"].__class__(**{**vars(LEARNERS["td"]), "name": "own", "tables": tables})
    monkeypatch.setitem(LEARNERS, "own", own)
    monkeypatch.setitem(learners._homes, "own", "__main__")
    monkeypatch.setattr(config, "start_workers", None)
    with pytest.raises(UsageError, match=r"learner 'own' is registered in the script itself \(__main__\)"):
        ttt.study(out=tmp_path / "s.h5", learner=["td", "own"], games=100, workers=2)
    assert not list(tmp_path.iterdir())


def test_a_scheduler_that_goes_while_its_dashboard_is_asked_for() -> None:
    """The link comes from the scheduler: nothing of the failure shows."""

    class Gone:
        @property
        def dashboard_link(self) -> str:
            raise OSError("Timed out trying to connect")

    assert worker_pool._dashboard(Gone()) == ""


@pytest.mark.parametrize(
    ("error", "status", "said"),
    [
        (
            KeyError("Invalid time unit: abc"),
            2,
            r"Dask cannot use its settings \(Invalid time unit: abc\); correct or unset ",
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
