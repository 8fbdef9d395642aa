"""Helpers of the tests of run files: an example of a run, hand-made files, and reading in a child process."""

import hashlib
import io
import json
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import h5py
import numpy as np

from ttt_batch.runs.storage.container import unpack
from ttt_batch.runs.storage.declaration import RunData
from ttt_batch.runs.storage.run_file import from_answer, user_block


def example(*, action=False, points=3, rows=40, seed=0):
    """A run with every kind of value in it that breaks no rule; otherwise the numbers mean nothing."""
    rng = np.random.default_rng(seed)
    edges = 30
    states = {"code": np.arange(rows) * 7, "outcome": rng.integers(0, 4, rows, dtype=np.int8)}
    tables = {
        "value": rng.normal(size=(2, rows)),
        "visits": rng.integers(0, 9, rows),
        "seen": rng.random((rows, 3)) < 0.5,
    }
    fields = {"value": ("P,S", "what a position is worth — "), "visits": ("S", "visits"), "seen": ("S,3", "")}
    if action:
        states["first_edge"] = np.sort(rng.integers(0, edges, 11, dtype=np.int32))
        states["first_edge"][[0, -1]] = 0, edges
        states["cell"] = rng.integers(0, 9, edges, dtype=np.int8)
        tables["action"] = rng.normal(size=edges).astype(np.float32)
        fields["action"] = ("E", "what a move is worth")
    safe = rng.random(points) < 0.5  # in both seats, or in none
    worst = np.repeat(np.where(safe, 0, -1)[:, None], 2, axis=1).astype(np.int8)
    drawn, open_ended = np.eye(3)[1], rng.dirichlet(np.ones(3), (points, 3))
    statistics = {
        "games": np.arange(points) * 10,
        "seconds": np.sort(rng.random(points)),
        "outcomes": np.arange(points)[:, None] * [5, 3, 2],
        "unbeatable": worst >= 0,
        "worst": worst,
        "self_play": np.where(safe[:, None], drawn, open_ended[:, 2]),
        "versus_random": np.where(safe[:, None, None], drawn, open_ended[:, :2]),
        "best_response": -worst.astype(np.float64),
        "optimal_share": rng.random((points, 2)),
        "value_error": np.full((points, 2), np.nan),
    }
    return RunData(
        config={
            "board": "3x3",
            "learner": "td",
            "epsilon": 0.1,
            "engine": "walk",
            "seed": 2**60 + 1,
            "draw_worth": [0.5, 0.5],
        },
        games=2**40 + 1,
        states=states,
        tables=tables,
        table_fields=fields,
        statistics=statistics,
        provenance={"command": "ttt-batch train", "empty": "", "seconds": 1.5, "threads": 2, "who": "Zoë"},
    )


def changed(content: bytes, change: Callable[[Any], object]) -> bytes:
    """A run file changed with plain h5py, as another program would: the digest is no longer right."""
    buffer = io.BytesIO(content)
    with h5py.File(buffer, "r+") as file:
        change(file)
    return buffer.getvalue()


def sealed(content: bytes, block: bytes | None = None) -> bytes:
    """The file with a right digest and length in its user block."""
    digest = hashlib.sha256(content[512:]).hexdigest()
    version = re.match(rb"ttt-batch run, format ([0-9.]+)\n", content)
    text = block or user_block(version[1].decode() if version else "1.1", digest, len(content))
    return re.sub(rb"sha256 [0-9a-f]{64}", b"sha256 " + digest.encode(), text) + content[512:]


def put(name, value, where=...):
    """A change that puts a value into a dataset."""

    def change(file):
        file[name][where] = value

    return change


def instead(name, **new):
    """A change that puts another dataset in the place of one."""

    def change(file):
        attributes = dict(file[name].attrs)
        del file[name]
        file.create_dataset(name, **new).attrs.update(attributes)

    return change


def configured(*, ascii=True, **values):
    """A change of the configuration that keeps its hash right; `ascii=False` leaves other letters as they are."""

    def change(file):
        config = json.loads(file.attrs["config"]) | values
        text = json.dumps(config, sort_keys=True, separators=(",", ":"), ensure_ascii=ascii).encode()
        file.attrs.create("config", text, dtype=h5py.string_dtype("ascii" if ascii else "utf-8", len(text)))
        file.attrs["config_hash"] = np.bytes_(hashlib.sha256(text).hexdigest())

    return change


class Outcome(NamedTuple):
    """Outcome of reading one file in a process of its own.

    signal: that ended it, or 0.  peak: its resident memory, MiB.  data, findings: as `parse_image` gives them.
    """

    signal: int
    peak: float
    data: RunData | None
    findings: list[str]


SERVER = """
import os, resource, signal, struct
import h5py
from ttt_batch.runs.storage.container import limit_memory, pack
from ttt_batch.runs.storage.run_file import parse_image, to_answer

def take(size):
    parts = []
    while size:
        parts.append(os.read(0, size))
        if not parts[-1]:
            os._exit(9)
        size -= len(parts[-1])
    return b"".join(parts)

def reply(status, peak, data=b""):
    data = memoryview(struct.pack("<qqq", status, peak, len(data)) + data)
    while data:
        data = data[os.write(1, data):]

status = 0
while os.WEXITSTATUS(status) != 9 or os.WIFSIGNALED(status):
    if os.fork() == 0:
        limit_memory()
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
        for _ in range(50):
            content = take(int.from_bytes(take(8), "little"))
            signal.alarm(10)
            data = bytes(pack(*to_answer(*parse_image(content, None))))
            signal.alarm(0)
            reply(0, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, data)
        os._exit(0)
    _, status = os.wait()
    if status and os.WEXITSTATUS(status) != 9:
        reply(os.WTERMSIG(status) or -os.WEXITSTATUS(status), 0)
"""
"""Forks a worker per 50 files; where one dies, says of what, and forks the next."""


class Readers:
    """Reads files as the child of `parse_in_child` does, in forks of one process that has imported everything."""

    def __enter__(self) -> "Readers":
        self._process = subprocess.Popen(
            [sys.executable, "-c", SERVER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=Path(__file__).parents[2]
        )
        return self

    def __exit__(self, *_: object) -> None:
        self._process.stdin.close()
        self._process.stdout.close()
        self._process.wait(60)

    def read(self, content: bytes) -> Outcome:
        """Return the outcome of reading a file with this content."""
        self._process.stdin.write(len(content).to_bytes(8, "little") + content)
        self._process.stdin.flush()
        status, peak, size = (int.from_bytes(self._process.stdout.read(8), "little", signed=True) for _ in range(3))
        reply = self._process.stdout.read(size)
        if status:
            return Outcome(status, peak / 1024, None, [])
        return Outcome(0, peak / 1024, *from_answer(*unpack(reply)))
