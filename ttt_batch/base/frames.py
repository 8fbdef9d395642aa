"""Results as tables of pandas, for people who have it; it is not needed for anything else."""

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ttt_batch.base.choices import SEATS
from ttt_batch.base.errors import TttBatchError

RESULTS = ("win", "draw", "loss")
SELF_PLAY = ("first_wins", "draws", "second_wins")


def make_frame(records: Iterable[Mapping[str, Any]], index: str) -> Any:
    """Return a pandas DataFrame with a row for each record, under the column `index`.

    Values that are mappings become columns of their own, `first.win` for `{"first": {"win": ...}}`.
    Raises TttBatchError if pandas is missing.
    """
    try:
        import pandas as pd
    except ImportError:
        raise TttBatchError("a table needs pandas; install it with: pip install 'ttt-batch[pandas]'") from None
    rows = [_flat(record) for record in records]
    if not rows:  # which columns there would be only a record says
        return pd.DataFrame(index=pd.Index([], name=index))
    return pd.DataFrame.from_records(rows).set_index(index)


def point_records(statistics: Mapping[str, NDArray[Any]]) -> list[dict[str, Any]]:
    """Return a record for each recorded point of a run; seats and results become nested mappings.

    statistics: arrays of shape [T], [T, seats], [T, 3] or [T, seats, 3], as `runfile` declares them.
    """
    length = len(statistics["games"])
    return [{name: _nested(column[row]) for name, column in statistics.items()} for row in range(length)]


def _nested(value: Any) -> Any:
    if np.ndim(value) == 0:
        return value.item()
    if np.ndim(value) == 2:
        return {
            seat: dict(zip(RESULTS, shares.tolist(), strict=True)) for seat, shares in zip(SEATS, value, strict=True)
        }
    names = SEATS if len(value) == len(SEATS) else SELF_PLAY
    return dict(zip(names, value.tolist(), strict=True))


def _flat(record: Mapping[str, Any], before: str = "") -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for name, value in record.items():
        if isinstance(value, Mapping):
            flat |= _flat(value, f"{before}{name}.")
        else:
            flat[f"{before}{name}"] = value
    return flat
