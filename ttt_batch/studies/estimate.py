"""How long a study will take and how large its file will be, before it begins."""

import time
from collections.abc import Sequence
from typing import Any, NamedTuple

from ttt_batch.studies.designs.description import description_text
from ttt_batch.studies.designs.design import Design
from ttt_batch.studies.designs.family import Setting
from ttt_batch.studies.learning.learnt import Room
from ttt_batch.studies.learning.rooms import make_room
from ttt_batch.studies.storage.layout import layout_of, size_of

FIRST_GAMES, FACTOR = 1_000, 8
"""Games of the first run that is tried, and how many times as many each next one has."""

ENOUGH_SECONDS, ALL_SECONDS = 0.05, 4.0
"""What a run takes that tells how long others take, and the time for all trials, kernels being loaded."""


class Estimate(NamedTuple):
    """bytes: the file's size.  seconds: what the learners take, None if none could be tried."""

    bytes: int
    seconds: float | None


def estimated(design: Design, keep: str, threads: int, missing: Sequence[int]) -> Estimate:
    """Estimate a study from short runs of its learners, one of each kind, as far as time allows.

    missing: how many learners of each setting are to learn.  Raises UsageError as `layout_of`.
    """
    size = size_of(layout_of(design, description_text(design), keep))
    kinds: dict[Any, tuple[Setting, int]] = {}
    for setting, learners in zip(design.settings, missing, strict=True):
        if learners:
            kind = setting.family.effort(setting)
            first, others = kinds.get(kind, (setting, 0))
            kinds[kind] = first, others + learners
    room, ends = make_room(design.family, keep=False, stop=lambda: False), time.perf_counter() + ALL_SECONDS
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


def _seconds_of(room: Room, setting: Setting) -> tuple[float | None, float]:
    """What a learner takes, None if it fails; and how long it took to load or compile what it needs."""
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
    """The same learner with about so many games, if it has more."""
    return setting if games >= setting.games else setting.family.shortened(setting, games)
