"""Requirements that a worker shares with the process that gives it work."""

import shutil
from pathlib import Path

import numpy as np
import pytest

from ttt_batch.cluster.config import Identity, Refusal, difference, perform, sources_hash, worker_identity
from ttt_batch.compiler.settings import ROOT
from ttt_batch.core import VERSION


def test_any_source_counts_and_nothing_else(tmp_path: Path) -> None:
    copy = tmp_path / "ttt_batch"
    shutil.copytree(ROOT, copy, ignore=shutil.ignore_patterns("__pycache__"))
    plain = sources_hash(ROOT)
    assert sources_hash(copy) == plain and worker_identity().ttt_batch == f"{VERSION} ({plain})"
    (copy / "notes.txt").write_text("new")
    assert sources_hash(copy) == plain
    (copy / "learners" / "tabular" / "td.py").write_bytes(
        (ROOT / "learners" / "tabular" / "td.py").read_bytes() + b"\n"
    )
    changed = sources_hash(copy)
    (copy / "learners" / "tabular" / "td.py").rename(copy / "learners" / "tabular" / "tdd.py")
    assert len({plain, changed, sources_hash(copy)}) == 3


@pytest.mark.parametrize("field", Identity._fields)
def test_a_difference_names_both(field: str) -> None:
    here = worker_identity()
    there = here._replace(**{field: "0.1"})
    assert difference(here, here) == ""
    assert difference(here, there) == f"it has {field.replace('_', '-')} 0.1, and here it is {getattr(here, field)}"
    assert perform(there, np.add, (1, 2)) == Refusal(here)
    assert perform(here, np.add, (1, 2)) == 3
