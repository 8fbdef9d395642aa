"""What datasets and axes are called in plain HDF5 tables, for those who write them and for those who read them."""

from ttt_batch.game.board import LETTERS

TABLE_TYPE = "ttt-batch table 1.0"
"""What the root attribute `format` of a file says."""

ROWS, CELLS, PLAYERS = "code", "cell", "player"
"""The axes of columns: dimension scales of the file."""


def datasets_of(field: str, axes: str) -> list[tuple[str, int | None]]:
    """Return the datasets for a table of a learner: the name of each, and its place on the table's leading axis.

    axes: those of the table, such as `S`, `P,S` or `2,E` (see `Learner.fields`).  Values by player are one dataset.
    """
    leading = axes.split(",")[:-1]
    if not leading or leading == ["P"]:
        return [(field, None)]
    return [(f"{field}_{LETTERS[number]}", number) for number in range(int(leading[0]))]
