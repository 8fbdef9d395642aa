"""Threads available: what affinity and control groups leave, from folder trees as Linux shows them."""

import math
import os
import threading
from pathlib import Path
from typing import Any

import pytest

from ttt_batch.core import resources
from ttt_batch.core.resources import allowed_processors, available_threads, group_limit, startable_threads, thread_count
from ttt_batch.games.board import Board
from ttt_batch.simulation import random_games as random_play
from ttt_batch.simulation.random_games import play_random_games
from ttt_batch.training.train import train
from ttt_batch.training.trainers import batched

V2 = "0::/user.slice/job\n"
V1 = "12:pids:/job\n4:cpu,cpuacct:/docker/job\n1:name=systemd:/job\n0::/job\n"


def tree(root: Path, files: dict[str, str]) -> tuple[Path, Path]:
    """Write `files` below `root`; return its `proc` and `groups` folders."""
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return root / "proc", root / "groups"


def quota(folder: str, microseconds: int, period: int = 100_000) -> dict[str, str]:
    """Files of version 1."""
    return {
        f"groups/{folder}/cpu.cfs_quota_us": f"{microseconds}\n",
        f"groups/{folder}/cpu.cfs_period_us": f"{period}\n",
    }


@pytest.mark.parametrize(
    ("files", "limit"),
    [
        ({}, math.inf),
        ({"proc/cgroup": ""}, math.inf),
        ({"proc/cgroup": V2}, math.inf),
        # Version 2: the group's own limit, one above it, the smaller of both.
        ({"proc/cgroup": V2, "groups/user.slice/job/cpu.max": "200000 100000\n"}, 2),
        ({"proc/cgroup": V2, "groups/user.slice/job/cpu.max": "max 100000\n"}, math.inf),
        ({"proc/cgroup": V2, "groups/user.slice/cpu.max": "300000 100000\n"}, 3),
        (
            {
                "proc/cgroup": V2,
                "groups/user.slice/job/cpu.max": "700000 100000\n",
                "groups/user.slice/cpu.max": "300000 100000\n",
            },
            3,
        ),
        ({"proc/cgroup": V2, "groups/user.slice/other/cpu.max": "100000 100000\n"}, math.inf),
        # Within a container the group is the mount, whatever the path says.
        ({"proc/cgroup": "0::/\n", "groups/cpu.max": "150000 100000\n"}, 2),
        ({"proc/cgroup": "0::/../../elsewhere\n", "groups/cpu.max": "150000 100000\n"}, 2),
        ({"proc/cgroup": V2, "groups/cpu.max": "400000 100000\n"}, 4),
        ({"groups/cpu.max": "400000 100000\n"}, 4),
        # Parts of processors are rounded up; never to none.
        ({"proc/cgroup": "0::/\n", "groups/cpu.max": "50000 100000\n"}, 1),
        ({"proc/cgroup": "0::/\n", "groups/cpu.max": "100001 100000\n"}, 2),
        # Version 1, by the controllers' names or by `cpu` alone.
        ({"proc/cgroup": V1, **quota("cpu,cpuacct/docker/job", 250_000)}, 3),
        ({"proc/cgroup": V1, **quota("cpu", 100_000, 50_000)}, 2),
        ({"proc/cgroup": V1, **quota("cpu,cpuacct/docker/job", -1), **quota("cpu,cpuacct/docker", 500_000)}, 5),
        # A quota without a period, and the limits of other controllers, are none.
        ({"proc/cgroup": V1, "groups/cpu/cpu.cfs_quota_us": "100000\n"}, math.inf),
        ({"proc/cgroup": "3:pids:/job\n", "groups/pids/job/cpu.max": "100000 100000\n"}, math.inf),
        # Oddities.
        ({"proc/cgroup": "0::/\n", "groups/cpu.max": "many 100000\n"}, math.inf),
        ({"proc/cgroup": "0::/\n", "groups/cpu.max": "100000\n"}, math.inf),
        ({"proc/cgroup": "0::/\n", "groups/cpu.max": "100000 0\n"}, math.inf),
        ({"proc/cgroup": "0::/\n", "groups/cpu.max": "\N{GREEK SMALL LETTER ALPHA}\n"}, math.inf),
        ({"proc/cgroup/file": "a folder", "groups/cpu.max/file": "a folder"}, math.inf),
        ({"proc/cgroup": "nonsense\n::\n0::\0\n", "groups/cpu.max": "100000 100000\n"}, 1),
    ],
)
def test_the_smallest_limit_counts(files: dict[str, str], limit: float, tmp_path: Path) -> None:
    assert group_limit(*tree(tmp_path, files)) == limit


def test_affinity_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 3, 5}, raising=False)
    assert allowed_processors() == 3
    monkeypatch.delattr(os, "sched_getaffinity")
    monkeypatch.setattr(os, "cpu_count", lambda: 7)
    assert allowed_processors() == 7
    monkeypatch.setattr(os, "cpu_count", lambda: None)
    assert allowed_processors() == 1


def test_the_smaller_of_affinity_and_groups(monkeypatch: pytest.MonkeyPatch) -> None:
    for allowed, limit, threads in ((8, 2, 2), (2, 8, 2), (4, math.inf, 4), (0, 1, 1)):
        monkeypatch.setattr(resources, "allowed_processors", lambda allowed=allowed: allowed)
        monkeypatch.setattr(resources, "group_limit", lambda limit=limit: limit)
        assert available_threads() == threads
        assert isinstance(available_threads(), int)


def test_no_more_threads_than_the_system_starts(monkeypatch: pytest.MonkeyPatch) -> None:
    before = threading.active_count()
    assert [startable_threads(wanted) for wanted in (0, 1, 3)] == [0, 1, 3]
    start, running = threading.Thread.start, list[threading.Thread]()

    def limited(thread: threading.Thread) -> None:
        if len(running) == 2:
            raise RuntimeError("can't start new thread")
        running.append(thread)
        start(thread)

    monkeypatch.setattr(threading.Thread, "start", limited)
    assert startable_threads(5) == 2 and threading.active_count() == before
    room = iter([True, False])
    running.clear()
    monkeypatch.setattr(resources, "can_allocate", lambda _size: next(room))
    assert startable_threads(5) == 1


def test_without_helping_threads_the_result_is_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    settings: dict[str, Any] = {"batch": 600_000, "seed": 1, "threads": 3}
    usual, rolls = train(600_000, **settings), play_random_games(Board(), 600_000, threads=3)
    for module in (batched, random_play):
        monkeypatch.setattr(module, "startable_threads", lambda _wanted: 0)
        monkeypatch.setattr(module, "ThreadPoolExecutor", None)
    alone = train(600_000, **settings)
    assert alone.tables.value.tobytes() == usual.tables.value.tobytes()
    assert play_random_games(Board(), 600_000, threads=3).tolist() == rolls.tolist()


def test_this_machine() -> None:
    assert 1 <= available_threads() <= (os.cpu_count() or 1)
    assert thread_count(None) == available_threads() and thread_count("3") == 3
