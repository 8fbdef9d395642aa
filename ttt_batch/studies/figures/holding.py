"""At which recorded points learners were proved in a seat: unbeatable, or by a proof; and in which seats they play.

A learner with boxes plays first alone, so what a judgement says of its second seat counts for nothing here.
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
    """float64[n, points, seats]: 1 for learners of a block that were proved in a seat, 0 for those that were not.

    NaN for a seat that was not to be proved.  None if such learners have no verdicts.
    """
    if "unbeatable" in block.statistics:
        return in_own_seats(study, block)["unbeatable"]
    if "proof" not in block.statistics:
        return None
    asked = _asked(study)[block.settings][:, None]
    return np.where(asked, np.where(block.statistics["proof"] == PROVED, 1.0, 0.0), np.nan)


def in_own_seats(study: StudyFile, block: Block) -> dict[str, NDArray[np.float64]]:
    """Statistics that have an axis for the seats, float64[n, points, seats, ...], NaN for seats that are not played.

    Those of self-play, float64[n, points, 3], are NaN unless both are.
    """
    own = plays(study)[block.settings]
    names = [name for name in (*OF_SEATS, OF_BOTH) if name in block.statistics]
    return {name: played(name, block.statistics[name], own, np.nan) for name in names}


def proved_in_all(seats: NDArray[np.float64]) -> NDArray[np.float64]:
    """float64[n, points]: the same for all seats together that were to be proved; NaN if there is none."""
    return np.asarray(np.fmin.reduce(seats, axis=2))


def mean_of_seats(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """float64[n, points]: the mean over the seats that are played; NaN where nothing is known.

    values: float64[n, points, seats], NaN for seats that are not played.
    """
    first, second = values[..., 0], values[..., 1]
    return np.where(np.isnan(second), first, (first + second) / 2)


def has_proofs(study: StudyFile) -> NDArray[np.bool_]:
    """bool[settings]: whether learners of a setting are proved, or not, at any recorded point."""
    found = _asked(study).any(axis=1) if "proof" in study.header.arrays else ~study.array("growing")
    return np.asarray(found, np.bool_)


def plays(study: StudyFile) -> NDArray[np.bool_]:
    """bool[settings, seats]: in which seats learners play; the second one only without boxes."""
    names = study.array("learner")
    boxes = [name for name in np.unique(names).tolist() if name in LEARNERS and LEARNERS[name].boxes]
    return np.stack([np.ones(names.size, np.bool_), ~np.isin(names, boxes)], axis=1)


def _asked(study: StudyFile) -> NDArray[np.bool_]:
    """bool[settings, seats]: in which seats networks are to be proved; in none if they make no proofs."""
    seat, every = study.array(COLUMNS["seat"]), study.array("prove_every")
    asked = np.stack([(seat == name) | (seat == "both") for name in SEATS], axis=1)
    return np.asarray(asked & (every > 0)[:, None])
