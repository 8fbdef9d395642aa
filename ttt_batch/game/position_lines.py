"""Lines of positions with results, as public sets have them: `x,x,x,x,o,o,x,o,o,positive`."""

import re
from collections.abc import Mapping

MARKS_OF = {"x": 1, "o": 2, "b": 0, ".": 0, "-": 0, "_": 0, "": 0}
"""Marks by their letters."""

FEWEST = 4
"""Cells of a position at least, so that no line of a game looks like one."""

LABELS: Mapping[str, frozenset[int]] = {
    **dict.fromkeys(("positive", "win", "won", "x", "xwins", "1", "1.0", "true", "first"), frozenset({1})),
    **dict.fromkeys(("loss", "lose", "lost", "o", "owins", "-1", "-1.0", "second"), frozenset({-1})),
    **dict.fromkeys(("draw", "tie", "drawn", "0", "0.0"), frozenset({0})),
    **dict.fromkeys(("negative", "false"), frozenset({0, -1})),
}
"""Results of the first player that a label allows, 1 a win; `negative` is anything but a win."""


def fields_of(line: str) -> list[str]:
    """The fields of a line without quotes, in lower case; marks that stand together are one."""
    separator = next((sign for sign in ",;\t" if sign in line), None)
    return [field.strip().strip("\"'").strip().lower() for field in line.strip().split(separator)]


def is_labelled(line: str) -> bool:
    """Return whether a line holds a position, a field for each cell, and then a result."""
    *marks, label = fields_of(line)
    return (
        len(marks) >= FEWEST
        and {"x", "o"} <= set(marks)
        and MARKS_OF.keys() >= set(marks)
        and re.sub(r"\s", "", label) in LABELS
    )
