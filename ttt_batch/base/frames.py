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
    return pd.DataFrame(rows).set_index(index) if rows else pd.DataFrame(index=pd.Index([], name=index))


def point_records(statistics: Mapping[str, NDArray[Any]]) -> list[dict[str, Any]]:
    """Return a record for each recorded point of a run; seats and results become nested mappings.

    statistics: arrays of shape [T], [T, seats], [T, 3] or [T, seats, 3], as `runfile` declares them.
    """
    return [
        {name: _nested(column[row]) for name, column in statistics.items()} for row in range(len(statistics["games"]))
    ]


def _nested(value: Any) -> Any:
    plain = value.tolist()
    if np.ndim(value) == 0:
        return plain
    if np.ndim(value) == 2:
        plain = [dict(zip(RESULTS, shares, strict=True)) for shares in plain]
    return dict(zip(SEATS if len(value) == len(SEATS) else SELF_PLAY, plain, strict=True))


def _flat(record: Mapping[str, Any], before: str = "") -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for name, value in record.items():
        if isinstance(value, Mapping):
            flat |= _flat(value, f"{before}{name}.")
        else:
            flat[f"{before}{name}"] = value
    return flat
