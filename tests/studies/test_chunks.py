"""Chunks of a study: every missing learner once, in chunks that take as long as they should."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from ttt_batch.studies.storage.layout import DONE
from ttt_batch.studies.work import Chunk, Chunks

GAMES = (100, 100, 300)
SPEED = 1000.0
"""Games a second."""


def chunks_of(seeds: int, slots: int = 3, seconds: float = 2.0) -> tuple[Chunks, Any]:
    """Those of a study of which every tenth learner is done, for hands that want four chunks for each slot."""
    state = np.zeros((len(GAMES), seeds), np.uint8)
    state[:, ::10] = DONE
    settings = [SimpleNamespace(games=games) for games in GAMES]
    study: Any = SimpleNamespace(design=SimpleNamespace(settings=settings), state=state)
    hands: Any = SimpleNamespace(slots=slots, wanted=4 * slots, chunk_seconds=seconds)
    return Chunks(study, hands), study


def games_in(chunk: Chunk) -> int:
    return sum(GAMES[part.setting] * len(part.seeds) for part in chunk)


def learners_in(chunk: Chunk) -> list[tuple[int, int]]:
    return [(part.setting, seed) for part in chunk for seed in part.seeds]


def test_all_that_is_missing_is_given_out_once() -> None:
    chunks, study = chunks_of(200)
    given: list[tuple[int, int]] = []
    for chunk in chunks:
        given += learners_in(chunk)
        chunks.took(games_in(chunk), games_in(chunk) / SPEED)
    assert sorted(given) == [tuple(one) for one in np.argwhere(study.state != DONE).tolist()]


def test_a_learner_for_each_slot_is_tried_first() -> None:
    chunks, _ = chunks_of(1000)
    todo = iter(chunks)
    for left in (3, 2, 1):
        assert chunks.wanted == left
        assert len(learners_in(next(todo))) == 1
    assert chunks.wanted == 0
    chunks.took(GAMES[0], GAMES[0] / SPEED)
    assert chunks.wanted == 12
    assert games_in(next(todo)) == pytest.approx(2.0 * SPEED, abs=GAMES[0])


def test_learners_that_fail_hold_nothing_up() -> None:
    chunks, _ = chunks_of(1000)
    todo = iter(chunks)
    for _ in range(3):
        next(todo)
    chunks.took(0, 0.1)
    assert chunks.wanted == 12
    assert len(learners_in(next(todo))) == 1  # the speed is not known yet


def test_chunks_become_smaller_at_the_end() -> None:
    """So that all slots have work until then."""
    chunks, _ = chunks_of(100, slots=2, seconds=1e6)
    sizes = []
    for chunk in chunks:
        sizes.append(games_in(chunk))
        chunks.took(sizes[-1], sizes[-1] / SPEED)
    left = 90 * sum(GAMES) - np.cumsum(sizes)  # when the next one is made
    assert all(size <= before / 4 + max(GAMES) for size, before in zip(sizes[1:], left, strict=False))
    assert left[-1] == 0
