"""A process that trains again and again in children which may be killed at any moment; driven by `test_checkpoints`.

Reads lines `PATH STAGE` and answers with the child's number; the child says on the descriptor ARGV[1] what it does:
`begin N`, `at STAGE` where it waits to be killed, `end N`.  One process imports and compiles, so that a kill costs
hundredths of a second.
"""

import os
import sys
import time
from pathlib import Path
from typing import Any

import ttt_batch as ttt
from ttt_batch.core import files
from ttt_batch.training.session import Checkpoints

STAGES = ("created", "half", "written", "flushed", "renamed", "random")
OPTIONS: dict[str, Any] = {"batch": 500, "seed": 1, "threads": 1, "checkpoint_every": "0s"}


def say(line: str) -> None:
    os.write(int(sys.argv[1]), f"{line}\n".encode())


def child(path: Path, stage: str) -> None:
    """Train into `path`, or go on with it, and wait at the given stage of a later checkpoint to be killed."""
    number = 0

    def reach(name: str) -> None:
        if name == stage and number > 2:
            say(f"at {name}")
            time.sleep(60)

    write, fsync, replace, save = os.write, os.fsync, Path.replace, Checkpoints.write

    def slow_write(descriptor: int, content: Any) -> int:
        if len(content) < 10_000:  # not a run file
            return write(descriptor, content)
        reach("created")
        if stage == "half" and number > 2:
            written = write(descriptor, content[: len(content) // 2])
            reach("half")
            return written
        written = write(descriptor, content)
        reach("written")
        return written

    def slow_fsync(descriptor: int) -> None:
        fsync(descriptor)
        reach("flushed")

    def slow_replace(self: Path, target: Path) -> Path:
        done = replace(self, target)
        reach("renamed")
        return done

    def noted(self: Checkpoints, run: Any) -> None:
        nonlocal number
        number += 1
        say(f"begin {run.games}")
        save(self, run)
        say(f"end {run.games}")

    files.os.write, files.os.fsync = slow_write, slow_fsync  # type: ignore[attr-defined]
    Path.replace, Checkpoints.write = slow_replace, noted  # type: ignore[method-assign, assignment]
    try:
        if path.exists():
            ttt.train(resume=path, threads=1, checkpoint_every="0s")
        else:
            ttt.train(10**12, **OPTIONS, out=path)
    finally:
        os._exit(1)


def main() -> None:
    ttt.train(2_000, **{**OPTIONS, "checkpoint_every": "never"})
    say("ready")
    for line in sys.stdin:
        path, stage = line.split()
        number = os.fork()
        if not number:
            child(Path(path), stage)
        say(f"pid {number}")
        _, status = os.waitpid(number, 0)
        say(f"ended {status}")


if __name__ == "__main__":
    main()
