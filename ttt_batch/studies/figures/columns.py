"""Figures of all settings of a study as columns, and the points of each learner's first proof and settling.

The file is read once, in parts.  Memory holds two numbers for each learner and about twenty for each setting.
"""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ttt_batch.base.choices import RESULTS, SEATS
from ttt_batch.studies.designs.networks import NETWORKS
from ttt_batch.studies.figures.holding import in_own_seats, mean_of_seats, proved_in_all, proved_seats
from ttt_batch.studies.figures.quantiles import quantiles
from ttt_batch.studies.figures.times import first_proof, games_at, settled_since
from ttt_batch.studies.storage.reading import Block, StudyFile

EVENTS = ("proof", "settling")
SEAT_EVENTS = tuple(f"proof_{seat}" for seat in SEATS)
"""Events of every learner, and events of networks, one for each seat."""

_LEARNERS = 1 << 17
"""Number of learners in a window, unless one setting has more."""

_PER_LEARNER = (
    *(*EVENTS, "later", "holding", "loss", "error", "milliseconds", "positions"),
    *(f"error_{seat}" for seat in SEATS),
    *(*SEAT_EVENTS, *(f"end_{seat}" for seat in SEATS)),
)

Columns = dict[str, NDArray[np.float64]]
"""Figures by name, float64[settings]; NaN where a setting lacks the figure.

proved, at_end: shares of the seeds.  proof, settling: median games, infinite if fewer than half of the seeds got there.
holds: share of later points.  loss_low, loss, loss_high: quartiles and median.  error (mean of both players),
error_first, error_second, milliseconds, positions: medians.
proved_first, at_end_first, proof_first, and the same with second: for one seat of networks, otherwise NaN.
"""


def read_columns(study: StudyFile) -> tuple[Columns, dict[str, NDArray[np.float32]]]:
    """Return the columns of all settings, and the point numbers at which events of learners happened.

    The events have the names EVENTS, and for networks SEAT_EVENTS, too.  Each is float32[settings, seeds]: infinite
    if the event never happened, NaN for learners without verdicts.
    Raises StudyFileError.
    """
    settings = study.state.shape[0]
    columns = {name: np.full(settings, np.nan) for name in _figures({name: np.zeros((0, 1)) for name in _PER_LEARNER})}
    names = (*EVENTS, *SEAT_EVENTS) if study.family is NETWORKS else EVENTS
    events = {name: np.full(study.state.shape, np.nan, np.float32) for name in names}
    for begin, numbers in _windows(study):
        end = begin + numbers["proof"].shape[0]
        for name, event in events.items():
            event[begin:end] = numbers[name]
        for name, column in _figures(numbers).items():
            columns[name][begin:end] = column
    for name in (*EVENTS, *SEAT_EVENTS):
        columns[name] = games_at(study.games, columns[name])
    return columns, events


def _windows(study: StudyFile) -> Iterator[tuple[int, dict[str, NDArray[np.float64]]]]:
    """Yield windows of consecutive settings with the numbers of their learners.

    Each window is the first setting's number and float64[settings, seeds] by name, NaN where a learner lacks a number.
    Windows may omit settings without a learner that is done.
    """
    settings, seeds = study.state.shape
    step = max(1, _LEARNERS // seeds)
    begin, numbers = -1, dict[str, NDArray[np.float64]]()
    for block in study.blocks(tables=False):  # in the order of settings
        found = _numbers(study, block)
        window = block.settings // step * step
        for first in np.unique(window).tolist():
            if first != begin:
                if numbers:
                    yield begin, numbers
                begin, shape = first, (min(step, settings - first), seeds)
                numbers = {name: np.full(shape, np.nan) for name in _PER_LEARNER}
            chosen = window == first
            for name, values in found.items():
                numbers[name][block.settings[chosen] - first, block.seeds[chosen]] = values[chosen]
    if numbers:
        yield begin, numbers


def _numbers(study: StudyFile, block: Block) -> dict[str, NDArray[Any]]:
    """Return the available numbers of _PER_LEARNER for a block's n learners, each [n].

    proof, settling: numbers of points.  later: how many points follow the first proof.  holding: how many of them hold.
    """
    last = {name: column[:, -1] for name, column in block.statistics.items()}
    found = {"milliseconds": 1e3 * last["seconds"]}
    if "positions" in last:
        found["positions"] = last["positions"]
    if (seats := proved_seats(study, block)) is not None:
        every = proved_in_all(seats)
        holds, known = every == 1, ~np.isnan(every[:, 0])
        found["proof"] = np.where(known, first_proof(holds), np.nan)
        found["settling"] = np.where(known, settled_since(holds), np.nan)
        proved = np.isfinite(found["proof"])
        found["later"] = np.where(proved, holds.shape[1] - 1 - found["proof"], 0)
        found["holding"] = np.where(proved, holds.sum(axis=1) - 1, 0)
    if "proof" in last and seats is not None:
        for i, seat in enumerate(SEATS):
            found[f"end_{seat}"] = seats[:, -1, i]
            known = ~np.isnan(seats[:, 0, i])
            found[f"proof_{seat}"] = np.where(known, first_proof(seats[:, :, i] == 1), np.nan)
    if "versus_random" in last:
        own = {name: column[:, -1] for name, column in in_own_seats(study, block).items()}
        found["loss"] = mean_of_seats(own["versus_random"][:, None, :, RESULTS.index("loss")])[:, 0]
        found["error"] = last["value_error"].mean(axis=1)
        found |= {f"error_{seat}": last["value_error"][:, i] for i, seat in enumerate(SEATS)}
    return found


def _figures(numbers: Mapping[str, NDArray[np.float64]]) -> Columns:
    """Return the columns of some settings, with medians of times as numbers of points.

    numbers: all of _PER_LEARNER, float64[settings, seeds].
    """
    known = np.count_nonzero(~np.isnan(numbers["proof"]), axis=1)
    found = {
        share: _ratio(np.count_nonzero(np.isfinite(numbers[event]), axis=1), known)
        for share, event in zip(("proved", "at_end"), EVENTS, strict=True)
    }
    for seat, event in zip(SEATS, SEAT_EVENTS, strict=True):
        known = np.count_nonzero(~np.isnan(numbers[event]), axis=1)
        found[f"proved_{seat}"] = _ratio(np.count_nonzero(np.isfinite(numbers[event]), axis=1), known)
        found[f"at_end_{seat}"] = _ratio(np.nansum(numbers[f"end_{seat}"], axis=1), known)
    for event in (*EVENTS, *SEAT_EVENTS):
        (found[event],) = quantiles(numbers[event], 0.5, occurring=True)
    found["holds"] = _ratio(np.nansum(numbers["holding"], axis=1), np.nansum(numbers["later"], axis=1))
    found["loss_low"], found["loss"], found["loss_high"] = quantiles(numbers["loss"], 0.25, 0.5, 0.75)
    for name in ("error", "error_first", "error_second", "milliseconds", "positions"):
        (found[name],) = quantiles(numbers[name], 0.5)
    return found


def _ratio(some: NDArray[Any], of: NDArray[Any]) -> NDArray[np.float64]:
    """Return the shares, NaN where `of` is 0."""
    return np.where(of > 0, some / np.maximum(of, 1), np.nan)
