"""`kill -9` of `ttt-batch study` at random moments, for `soak.py`, `killed_cluster.py` and the tests.

Each life of a study is a process: it makes the file, resumes it, or extends it by seeds or by a step size.  It is
killed before it has the file's lock, just after (when files are made and checked), or while learners learn.  What it
leaves must be valid.  No learner that was done is lost or learnt again: its seconds, which no two trainings share, stay
as they are.  In the end all arrays have the bytes of an undisturbed study, and no other file is left.
"""

import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

import ttt_batch as ttt
from ttt_batch.studies.checks import check_study
from ttt_batch.studies.storage.layout import DONE, MISSING
from ttt_batch.studies.storage.reading import StudyFile, open_study

FILE, QUIET = "study.h5", "quiet.h5"
GAMES, BATCHES, KEEPS = "20k", ("1k", "5k"), ("none", "last")
"""Learners of some milliseconds."""

SOON, LATER, LONG = 0.06, 0.8, 1.6
"""Seconds until a kill, at most: two after the first new file, the last from the process's beginning."""

ANY = "provenance/progress", "provenance/reasons", "seconds"
"""Results that are measured or noted, not computed."""

Seconds = dict[tuple[str, int], float]


class Killed:
    """A study that is killed again and again in an empty folder.

    games: of each learner.  who: options that say who learns; some threads if not given.  learner: which one.
    lives: how its processes ended, and when.
    """

    def __init__(
        self,
        folder: Path,
        chance: random.Random,
        games: str = GAMES,
        who: Sequence[str] | None = None,
        learner: str = "td",
    ) -> None:
        self.lives: Counter[str] = Counter()
        self._folder, self._path, self._chance = folder, folder / FILE, chance
        self._alphas, self._seeds = 2, 100
        self._fixed = {
            "learner": learner,
            "batch": chance.choice(BATCHES),
            "keep": chance.choice(KEEPS),
            "games": games,
        }
        self._who = ["--threads", str(chance.choice((1, 2)))] if who is None else who
        self._known: Seconds = {}

    def kill(self) -> bool:
        """Live once.  Returns whether it was killed before its end.  Raises AssertionError if anything is lost."""
        begun, files, making = time.monotonic(), self._files(), "extended" if self._path.exists() else "made"
        child = self._start(subprocess.PIPE)
        most = self._chance.choice((SOON, LATER, LONG))
        while most < LONG and self._files() <= files and child.poll() is None and time.monotonic() < begun + 60:
            time.sleep(0.001)
        time.sleep(self._chance.uniform(0.0, most))
        working = {name.rpartition(".")[2] for name, *_ in self._files() - files}
        child.send_signal(signal.SIGKILL)
        _, said = child.communicate()
        killed = child.returncode == -signal.SIGKILL
        assert killed or child.returncode == 0, said.decode()
        new = self._look()
        if not killed:
            when = "not killed in time"
        elif "tmp" in working:
            when = f"killed while the file was {making}"
        elif "lock" in working:
            when = "killed while learners learnt" if new else "killed while the file was checked"
        else:
            when = "killed before it began"
        self.lives[when] += 1
        return killed

    def close(self) -> None:
        """End whatever runs: here, nothing."""

    def end(self) -> int:
        """Let the study end, and compare it with one that nothing disturbed.  Returns how many learners it has."""
        alphas = alphas_of(self._alphas)
        options = {**self._fixed, "alpha": alphas, "seeds": self._seeds}
        if self._path.exists():
            ttt.study(resume=self._path, alpha=alphas, seeds=self._seeds).close()
        else:
            ttt.study(out=self._path, **options).close()
        self._look()
        ttt.study(out=self._folder / QUIET, **options).close()
        with open_study(self._path) as ours, open_study(self._folder / QUIET) as theirs:
            assert (ours.state == DONE).all()
            differ = [path for path, one, other in _both(ours, theirs) if one.tobytes() != other.tobytes()]
            learners = ours.state.size
        assert not differ, f"not the bytes of an undisturbed study: {', '.join(differ)}"
        left = {entry.name for entry in self._folder.iterdir()} - {FILE, QUIET}
        assert not left, f"left behind: {', '.join(left)}"
        return learners

    def _start(self, errors: Any) -> subprocess.Popen[bytes]:
        """The next process.  errors: where its standard error goes."""
        return subprocess.Popen(
            [sys.executable, "-m", "ttt_batch", "study", *self._words(), *self._who, "--quiet"],
            cwd=self._folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=errors,
        )

    def _words(self) -> list[str]:
        """Return the words of the next process."""
        if not self._path.exists():
            fixed = [f"--{name}={value}" for name, value in self._fixed.items()]
            return [*fixed, f"--alpha={alphas_of(self._alphas)}", f"--seeds={self._seeds}", f"--out={FILE}"]
        with open_study(self._path) as study:
            alphas, seeds = study.state.shape
            whole = not (study.state == MISSING).any()
        more = [f"--alpha={alphas_of(self._alphas)}"] * (alphas < self._alphas)
        more += [f"--seeds={self._seeds}"] * (seeds < self._seeds)
        if not more and (whole or self._chance.random() < 0.4):
            if self._chance.random() < 0.3:
                self._alphas += 1
                more = [f"--alpha={alphas_of(self._alphas)}"]
            else:
                self._seeds += 50
                more = [f"--seeds={self._seeds}"]
        return [f"--resume={FILE}", *more]

    def _files(self) -> set[tuple[str, int, int]]:
        """Names of the folder's files, each with what a new file of that name has otherwise."""
        found = set()
        for entry in os.scandir(self._folder):
            try:
                status = entry.stat()
            except FileNotFoundError:
                continue
            found.add((entry.name, status.st_ino, status.st_ctime_ns * (entry.name != FILE)))
        return found

    def _look(self) -> int:
        """Check the file, if there is one, and return how many learners are done that were not before."""
        if not self._path.exists():
            assert not self._known, "the file is gone"
            return 0
        findings, *_ = check_study(self._path)
        assert not findings, findings
        with open_study(self._path) as study:
            found = dict(_seconds(study))
        lost = self._known.keys() - found.keys()
        assert not lost, f"{len(lost)} learners are lost"
        again = [learner for learner, seconds in self._known.items() if found[learner] != seconds]
        assert not again, f"{len(again)} learners were learnt twice"
        new, self._known = len(found) - len(self._known), found
        return new


def alphas_of(count: int) -> str:
    """The first step sizes."""
    return ",".join(f"{0.1 + 0.01 * number:.2f}" for number in range(count))


def _seconds(study: StudyFile) -> Iterator[tuple[tuple[str, int], float]]:
    """Key and seed of each learner that is done, with its seconds."""
    for block in study.blocks(tables=False):
        for i, j, seconds in zip(block.settings, block.seeds, block.statistics["seconds"][:, -1], strict=True):
            yield (study.keys[i], int(study.seeds[j])), float(seconds)


def _both(one: StudyFile, other: StudyFile) -> Iterator[tuple[str, np.ndarray, np.ndarray]]:
    """The results of two studies of the same settings, in the order of the first."""
    order = [other.keys.index(key) for key in one.keys]
    for path, place in one.header.arrays.items():
        if place.results and path not in ANY:
            yield path, one.array(path), other.array(path)[order]
