"""Every learner's kernels without the JIT: the same bytes, one by one, by walk and by flow."""

import ast
import hashlib
from typing import Any

import pytest
from helpers.support import mostly_slow, without_jit

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
    compiled = digests(name)
    assert ast.literal_eval(without_jit(__file__, f"digests({name!r})")) == compiled
    assert len(set(compiled.values())) == len(WAYS)
