"""Clusters: their configuration and start, and a check of the workers' versions."""

import functools
import hashlib
import logging
import os
import re
import signal
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ttt_batch.compiler.settings import ROOT
from ttt_batch.core import VERSION
from ttt_batch.core.errors import ClusterError, TttBatchError, UsageError, flag, quoted
from ttt_batch.core.text import Number, count_text, parse_int

if TYPE_CHECKING:
    from distributed import Client


class Identity(NamedTuple):
    """Versions as text; the version of the package includes the first digits of a hash of its sources."""

    ttt_batch: str
    numpy: str
    numba: str


class Refusal(NamedTuple):
    """Answer of a worker with other versions, instead of a result."""

    identity: Identity


@functools.cache
def worker_identity() -> Identity:
    """Return the identity of this process."""
    import numba

    return Identity(f"{VERSION} ({sources_hash(ROOT)})", np.__version__, numba.__version__)


def sources_hash(package: Path) -> str:
    """Return the first 8 hex digits of the SHA-256 of a package's file names and sources."""
    digest = hashlib.sha256()
    for source in sorted(package.rglob("*.py")):
        digest.update(source.relative_to(package).as_posix().encode())
        digest.update(source.read_bytes())
    return digest.hexdigest()[:8]


def difference(here: Identity, there: Identity) -> str:
    """Return the first difference of a worker in words, or an empty text."""
    for name, own, other in zip(Identity._fields, here, there, strict=True):
        if own != other:
            return f"it has {name.replace('_', '-')} {other}, and here it is {own}"
    return ""


def perform(expected: Identity, function: Callable[..., Any], arguments: Sequence[Any]) -> Any:
    """Call `function` on a worker; return its result, or a `Refusal` if the worker differs.

    expected: identity of the client.  Exceptions of `function` pass through.
    """
    mine = worker_identity()
    if mine != tuple(expected):
        return Refusal(mine)
    return function(*arguments)


MOST_WORKERS = 1024

CONNECT_SECONDS, CALL_SECONDS = 8, 5
"""Seconds that a scheduler may take to answer, at first and later."""

LOOPBACK = "127.0.0.1"

SILENT = logging.CRITICAL + 1

_LOCAL_SETTINGS = {
    # A task fails when three workers died while running it.  Workers queue no tasks, so only that task is counted.
    "distributed.scheduler.allowed-failures": 2,
    "distributed.scheduler.worker-saturation": 1.0,
    # Profiles of kernels are not used.  Both settings save each process 2 to 3 % of a core, idle or not.
    "distributed.worker.profile.enabled": False,
    "distributed.admin.tick.interval": "1s",
    # Their pages need no password: every user of the machine could see the running work.
    "distributed.scheduler.http.routes": [],
    "distributed.worker.http.routes": [],
}


class ClusterConfig(NamedTuple):
    """Cluster: the number of worker processes on this machine, or a scheduler's address, e.g. tcp://host:8786."""

    workers: int = 0
    address: str = ""

    def __str__(self) -> str:
        return f"at {self.address}" if self.address else "on this machine"


def cluster_config(workers: Number | None, scheduler: str | None, threads: Number | None) -> ClusterConfig | None:
    """Return the cluster to use, or None for this process.  Raises UsageError, and TttBatchError without Dask."""
    if workers is None and scheduler is None:
        return None
    named = "scheduler" if workers is None else "workers"
    if workers is not None and scheduler is not None:
        raise UsageError(
            f"{flag('workers')} starts a cluster and {flag('scheduler')} uses an existing one; leave out either"
        )
    if threads is not None:
        raise UsageError(
            f"{flag('threads')} counts threads of this process, which only waits with {flag(named)}; "
            f"leave out {flag('threads')}"
        )
    config = (
        ClusterConfig(address=_address(scheduler))
        if workers is None
        else ClusterConfig(parse_int("workers", workers, 1, MOST_WORKERS))
    )
    check_installed(local=bool(config.workers))
    return config


def _address(given: object) -> str:
    """Return the address of a scheduler, with tcp:// by default.  Raises UsageError."""
    found = re.fullmatch(r"(?:([a-z]+)://)?(\[[0-9a-fA-F:.]+\]|[^\s:/\[\]]+):([0-9]{1,5})", str(given))
    if found is None or not 0 < int(found[3]) < 65_536 or found[1] not in (None, "tcp", "tls"):
        raise UsageError(
            f"scheduler {quoted(given)} is not an address; give one such as tcp://host:8786 or tls://host:8786"
        )
    return f"{found[1] or 'tcp'}://{found[2]}:{found[3]}"


def _variables() -> str:
    """Return Dask's environment variables that are set, for a message."""
    return ", ".join(f"{name}={quoted(value)}" for name, value in sorted(os.environ.items()) if name[:5] == "DASK_")


@contextmanager
def _reading_settings() -> Iterator[None]:
    """Raise UsageError if Dask cannot read its own settings in the block."""
    try:
        yield
    except (AttributeError, LookupError, TypeError, ValueError) as error:
        if isinstance(error, UsageError):
            raise
        cause = f"{error.args[0] if error.args else error}".partition("\n")[0]
        place = _variables() or "the files in ~/.config/dask"
        raise UsageError(f"Dask cannot use its settings ({cause:.120}); correct or unset {place}") from None


@_reading_settings()
def check_installed(*, local: bool) -> None:
    """Raise TttBatchError if Dask is missing, or, if `local`, the package for its TLS certificates."""
    try:
        import distributed  # noqa: F401

        if local:
            import cryptography  # noqa: F401
    except ImportError as error:
        needed = "dask, distributed and cryptography" if local else "dask and distributed"
        raise TttBatchError(
            f"workers need {needed} ({error}); install them with: pip install 'ttt-batch[cluster]'"
        ) from None


@contextmanager
def quiet() -> Iterator[None]:
    """Silence the loggers of Dask within the block; this package prints its own messages."""
    import distributed  # noqa: F401 - the import sets up its loggers

    # Tornado logs tracebacks for results in transit when a connection ends.
    names = ["tornado.application", *(n for n in logging.root.manager.loggerDict if n.startswith("distributed"))]
    loggers = [logging.getLogger(name) for name in names]
    before = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(SILENT)
    try:
        yield
    finally:
        for logger, level in zip(loggers, before, strict=True):
            logger.setLevel(level)


@_reading_settings()
def start_workers(config: ClusterConfig, stack: ExitStack) -> Any:
    """Start the workers of `config` on this machine and return the cluster; the workers end with `stack`.

    They listen on the loopback interface only.  Every user of the machine can reach it, so all connections are
    encrypted and need this cluster's own key.  Their folder is private, too, because scheduler and workers first look
    there for modules; Dask's default is a fixed name in a shared folder.

    Raises ClusterError.
    """
    import ssl

    import dask
    from distributed import LocalCluster
    from distributed.security import Security

    _silence_tracker()
    settings = {
        "loop": _loop(stack),
        "n_workers": config.workers,
        "threads_per_worker": 1,
        "processes": True,
        "host": LOOPBACK,
        "dashboard_address": f"{LOOPBACK}:0",
        "scheduler_kwargs": {"dashboard": False},
        "silence_logs": SILENT,
    }
    # Ignore the TLS settings of the user's configuration, which are for other clusters.
    tls = {"tls_min_version": ssl.TLSVersion.TLSv1_3, "tls_max_version": None, "tls_ciphers": None}
    with dask.config.set(_LOCAL_SETTINGS), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            folder = stack.enter_context(TemporaryDirectory(prefix="ttt-batch-", ignore_cleanup_errors=True))
            settings |= {"security": Security.temporary(**tls), "local_directory": folder}
            with dask.config.set({"temporary-directory": folder}):  # used by the scheduler
                return stack.enter_context(LocalCluster(**settings))
        except (OSError, RuntimeError, TimeoutError) as error:
            why = getattr(error, "strerror", None) or "one ended, or did not answer, before it could work"
            why += f" (with {_variables()})" if _variables() else ""
            raise ClusterError(
                f"cannot start {count_text(config.workers, 'worker')}: {why}; each takes up to 200 MB, and a script "
                'that starts some needs `if __name__ == "__main__":` around what it does'
            ) from None


def _loop(stack: ExitStack) -> Any:
    """Start and return the event loop of Dask, which runs until `stack` ends.

    A terminal sends Ctrl-C to all processes, but only the client must handle it.  So the loop's thread blocks the
    signal, and the workers inherit this.
    """
    from distributed.utils import LoopRunner

    runner, can_block = LoopRunner(), hasattr(signal, "pthread_sigmask")
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT}) if can_block else set()
    try:
        runner.start()
        stack.callback(runner.stop)
    finally:
        if can_block:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
    return runner.loop


def _silence_tracker() -> None:
    """Start the resource tracker of multiprocessing without its warnings about leaks of killed processes."""
    if os.name != "posix":
        return
    from multiprocessing import resource_tracker

    before = os.environ.get("PYTHONWARNINGS")
    os.environ["PYTHONWARNINGS"] = "ignore::UserWarning:multiprocessing.resource_tracker"
    try:
        resource_tracker.ensure_running()
    finally:
        del os.environ["PYTHONWARNINGS"]
        if before is not None:
            os.environ["PYTHONWARNINGS"] = before


def connect(address: Any, stack: ExitStack, seconds: float = CONNECT_SECONDS) -> "Client":
    """Return a client, closed with `stack`.  Raises ClusterError if the scheduler does not answer in `seconds`."""
    import ssl

    from distributed import Client

    class ClosingClient(Client):  # type: ignore[misc]
        """Client that closes as soon as it fails to start.

        Otherwise it closes when Python collects it.  If another thread starts at that moment, both deadlock.
        """

        def start(self, **options: Any) -> Any:
            try:
                return super().start(**options)
            except BaseException:
                self.close()
                raise

    with warnings.catch_warnings():  # about versions: `worker_identity` compares those that matter
        warnings.simplefilter("ignore")
        try:
            client = stack.enter_context(
                ClosingClient(address, timeout=seconds, set_as_default=False, name="ttt-batch")
            )
            client.run_on_scheduler(worker_identity)  # the scheduler unpickles tasks, so it needs the package
            return client
        except ImportError as error:
            raise ClusterError(
                f"the scheduler at {address} cannot load ttt-batch ({error}); install the same version there as here"
            ) from None
        except (OSError, TimeoutError, ValueError, TypeError, RuntimeError) as error:
            if isinstance(error, RuntimeError):
                why = "Dask's configuration refuses addresses that are not tls:// (distributed.comm.require-encryption)"
            elif isinstance(error, ssl.SSLError | FileNotFoundError | PermissionError | ValueError | TypeError):
                why = "Dask's configuration has no certificates that can be used (distributed.comm.tls)"
            else:
                why = "it does not answer"
            raise ClusterError(
                f"no scheduler at {address}: {why}; start one with `dask scheduler`, or check address, network and "
                "certificates"
            ) from None
