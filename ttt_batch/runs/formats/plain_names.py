"""Names of datasets and axes in plain HDF5 tables, shared by their reader and writer."""

from ttt_batch.game.board import LETTERS

TABLE_TYPE = "ttt-batch table 1.0"
"""Value of a file's root attribute `format`."""

ROWS, CELLS, PLAYERS = "code", "cell", "player"
"""Names of the axes, which are dimension scales of the file."""


def datasets_of(field: str, axes: str) -> list[tuple[str, int | None]]:
    """Return the datasets for a learner's table as (name, index on the table's leading axis or None for all).

    axes: the table's axes, such as `S`, `P,S` or `2,E` (see `Learner.fields`).  Values by player are one dataset.
    """
    leading = axes.split(",")[:-1]
    if not leading or leading == ["P"]:
        return [(field, None)]
    return [(f"{field}_{LETTERS[number]}", number) for number in range(int(leading[0]))]
