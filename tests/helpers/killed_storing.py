"""A process that stores results into ARGV[1] in children which are killed after random times, ARGV[2] of them at most.

Prints how many learners each kill found done.  At last one child may finish what is left.
"""

import os
import random
import signal
import sys
import time
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))

from helpers.studyfiles import store_all
from ttt_batch.studies.checks import check_study
from ttt_batch.studies.storage.reading import open_study
from ttt_batch.studies.storage.writing import resume_study


def child(path: Path) -> int:
    number = os.fork()
    if not number:
        with resume_study(path) as study:
            store_all(study)
        os._exit(0)
    return number


def main() -> None:
    path, kills = Path(sys.argv[1]), int(sys.argv[2])
    chance, most, done = random.Random(kills), 0.05, 0
    for _ in range(kills):
        number = child(path)
        time.sleep(chance.uniform(0.002, most))
        os.kill(number, signal.SIGKILL)
        os.waitpid(number, 0)
        findings, *_ = check_study(path)
        assert not findings, findings
        with open_study(path) as study:
            before, done = done, np.count_nonzero(study.state)
            whole = done == study.state.size
        most = most if done > before else min(1.5 * most, 2.0)  # a busy machine takes longer to begin
        print(done)
        if whole:
            break
    number = child(path)
    assert os.waitpid(number, 0)[1] == 0


if __name__ == "__main__":
    main()
