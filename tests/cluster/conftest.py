"""Schedulers and workers that are processes of their own."""

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

sys.path.append(str(Path(__file__).parents[2] / "scripts"))

from dask_processes import Processes

import ttt_batch as ttt


@pytest.fixture(scope="module")
def dask(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Processes]:
    """A scheduler with two workers, which have joined.  Whoever ends some starts others."""
    from distributed import Client

    with Processes(tmp_path_factory.mktemp("dask")) as processes:
        for _ in range(2):
            processes.start_worker("--no-nanny")
        with Client(processes.address, timeout=300, set_as_default=False) as client:
            client.wait_for_workers(2, timeout=300)
        yield processes


@pytest.fixture
def alone(tmp_path: Path) -> Iterator[Processes]:
    """A scheduler without workers."""
    with Processes(tmp_path / "dask") as processes:
        yield processes


@pytest.fixture
def told() -> list[str]:
    """Messages of studies that were given `told.append`."""
    return []


@pytest.fixture
def by_threads(tmp_path: Path) -> Callable[..., Path]:
    """The file of the same study learnt in this process."""

    def learn(**options: Any) -> Path:
        path = tmp_path / "threads.h5"
        ttt.study(out=path, overwrite=True, **options).close()
        return path

    return learn
