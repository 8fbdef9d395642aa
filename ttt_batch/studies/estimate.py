"""Estimates of a study's run time and file size, made before it starts."""

import time
from collections.abc import Sequence
from typing import Any, NamedTuple

from ttt_batch.studies.designs.description import description_text
from ttt_batch.studies.designs.design import Design
from ttt_batch.studies.designs.family import Setting
from ttt_batch.studies.learning.learnt import Worker
from ttt_batch.studies.learning.rooms import make_worker
from ttt_batch.studies.storage.layout import layout_size, study_layout

FIRST_GAMES, FACTOR = 1_000, 8
"""Games of the first trial run, and the factor from each trial run to the next."""

ENOUGH_SECONDS, ALL_SECONDS = 0.05, 4.0
"""Duration of a trial run that suffices for extrapolation, and limit of all trials without loading kernels."""


class Estimate(NamedTuple):
    """Estimated costs.  bytes: size of the file.  seconds: training time, None if no trial run succeeded."""

    bytes: int
    seconds: float | None


def estimated(design: Design, keep: str, threads: int, missing: Sequence[int]) -> Estimate:
    """Return an estimate from short trial runs, one for each kind of learner, within the time limit.

    missing: number of learners still to train, for each setting.  Raises UsageError as `study_layout` does.
    """
    size = layout_size(study_layout(design, description_text(design), keep))
    kinds: dict[Any, tuple[Setting, int]] = {}
    for setting, learners in zip(design.settings, missing, strict=True):
        if learners:
            kind = setting.family.effort(setting)
            first, others = kinds.get(kind, (setting, 0))
            kinds[kind] = first, others + learners
    room, ends = make_worker(design.family, keep=False, stop=lambda: False), time.perf_counter() + ALL_SECONDS
    seconds, tried = 0.0, 0
    for setting, learners in kinds.values():
        if time.perf_counter() > ends:
            break
        own, loading = _seconds_of(room, setting)
        ends += loading
        if own is not None:
            seconds += own * learners
            tried += setting.games * learners
    games = sum(setting.games * learners for setting, learners in kinds.values())
    return Estimate(size, seconds * games / tried / threads if tried else None if games else 0.0)


def _seconds_of(room: Worker, setting: Setting) -> tuple[float | None, float]:
    """Return a learner's estimated training time (None if it fails) and the time for loading or compiling kernels."""
    known: list[tuple[int, float]] = [(0, 0.0)]
    short = _shortened(setting, FIRST_GAMES)
    began = time.perf_counter()
    if not room.learn(short, [0]).learners:
        return None, 0.0
    loading = time.perf_counter() - began
    while True:
        began = time.perf_counter()
        room.learn(short, [0])
        known.append((short.games, time.perf_counter() - began))
        if short.games == setting.games or known[-1][1] > ENOUGH_SECONDS:
            break
        short = _shortened(setting, short.games * FACTOR)
    (before, less), (last, more) = known[-2:]
    return more + (setting.games - last) * max(more - less, 0.0) / (last - before), loading


def _shortened(setting: Setting, games: int) -> Setting:
    """Return the setting shortened to about `games` games, or unchanged if it has no more than that."""
    return setting if games >= setting.games else setting.family.shortened(setting, games)
