"""Every learner's kernels without the JIT: the same bytes, one by one, by walk and by flow."""

import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from helpers.support import mostly_slow

import ttt_batch as ttt
from ttt_batch.learners import LEARNERS

CASES: dict[str, dict[str, Any]] = {
    **{name: {} for name in LEARNERS},
    "td-lambda": {"cut": True},
    "actor-critic": {"gamma": 0.9},
    "menace": {"board": "3x3"},
    "softmax play": {"learner": "td", "explore": "softmax:0.2"},
    "expected-sarsa by softmax": {"learner": "expected-sarsa", "explore": "softmax:0.2"},
    "sarsa against an opponent": {"learner": "sarsa", "opponent": "random"},
}
WAYS: dict[str, dict[str, Any]] = {
    "one by one": {"batch": 1},
    "walk": {"batch": 25},
    "flow": {"batch": 25, "engine": "flow"},
}

PLAIN = f"""
import json, sys
sys.path[:0] = {[str(Path(__file__).parent), str(Path(__file__).parents[1])]!r}
from test_plain_python import CASES, digests
print(json.dumps(digests(sys.argv[1])))
"""


def digests(name: str) -> dict[str, str]:
    """Hashes of what 150 games teach in each way, on a board of six cells where it may be."""
    found = {}
    for way, options in WAYS.items():
        run = ttt.train(150, seed=3, **{"board": "2x3", "learner": name, "epsilon": None, **CASES[name], **options})
        parts = [*run.tables, run.statistics["outcomes"], run.statistics["value_error"]]
        found[way] = hashlib.sha256(b"".join(part.tobytes() for part in parts)).hexdigest()
    return found


@pytest.mark.parametrize("name", mostly_slow(CASES, "td", "reinforce"))
def test_plain_python_learns_the_same_bytes(name: str) -> None:
    environment = {**os.environ, "NUMBA_DISABLE_JIT": "1"}
    words = [sys.executable, "-c", PLAIN, name]
    done = subprocess.run(words, env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    compiled = digests(name)
    assert json.loads(done.stdout) == compiled and len(set(compiled.values())) == len(WAYS)
