"""Recorded points at which learners were proved unbeatable in a seat, and the seats that learners play.

A learner with boxes plays only the first seat, so results of its second seat are ignored here.
"""

import numpy as np
from numpy.typing import NDArray

from ttt_batch.base.choices import SEATS
from ttt_batch.learners import LEARNERS
from ttt_batch.runs.kept import OF_BOTH, OF_SEATS, played
from ttt_batch.runs.patterns.run import PROVED
from ttt_batch.studies.storage.declared import COLUMNS
from ttt_batch.studies.storage.reading import Block, StudyFile


def proved_seats(study: StudyFile, block: Block) -> NDArray[np.float64] | None:
    """Return float64[n, points, seats]: 1 where a block's learners were proved in a seat, 0 where they were not.

    Seats without a requested proof are NaN.  The result is None if such learners have no verdicts.
    """
    if "unbeatable" in block.statistics:
        return in_own_seats(study, block)["unbeatable"]
    if "proof" not in block.statistics:
        return None
    asked = _asked(study)[block.settings][:, None]
    return np.where(asked, np.where(block.statistics["proof"] == PROVED, 1.0, 0.0), np.nan)


def in_own_seats(study: StudyFile, block: Block) -> dict[str, NDArray[np.float64]]:
    """Return the statistics with an axis for seats, float64[n, points, seats, ...], NaN for seats that are not played.

    Also return those of self-play, float64[n, points, 3], NaN unless the learner plays both seats.
    """
    own = plays(study)[block.settings]
    names = [name for name in (*OF_SEATS, OF_BOTH) if name in block.statistics]
    return {name: played(name, block.statistics[name], own, np.nan) for name in names}


def proved_in_all(seats: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return float64[n, points]: 1 if all seats with a requested proof are proved, 0 if not, NaN without such seats."""
    return np.asarray(np.fmin.reduce(seats, axis=2))


def mean_of_seats(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return float64[n, points]: the mean over the played seats, NaN without any value.

    values: float64[n, points, seats], NaN for seats that are not played.
    """
    first, second = values[..., 0], values[..., 1]
    return np.where(np.isnan(second), first, (first + second) / 2)


def has_proofs(study: StudyFile) -> NDArray[np.bool_]:
    """Return bool[settings]: whether the learners of a setting have verdicts."""
    found = _asked(study).any(axis=1) if "proof" in study.header.arrays else ~study.array("growing")
    return np.asarray(found, np.bool_)


def plays(study: StudyFile) -> NDArray[np.bool_]:
    """Return bool[settings, seats]: the seats that learners play.  Learners with boxes do not play the second one."""
    names = study.array("learner")
    boxes = [name for name in np.unique(names).tolist() if name in LEARNERS and LEARNERS[name].boxes]
    return np.stack([np.ones(names.size, np.bool_), ~np.isin(names, boxes)], axis=1)


def _asked(study: StudyFile) -> NDArray[np.bool_]:
    """Return bool[settings, seats]: the seats in which networks are to be proved, all False without proofs."""
    seat, every = study.array(COLUMNS["seat"]), study.array("prove_every")
    asked = np.stack([(seat == name) | (seat == "both") for name in SEATS], axis=1)
    return np.asarray(asked & (every > 0)[:, None])
