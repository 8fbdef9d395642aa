"""What a run's data must look like: the same checks for writing and for reading."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ttt_batch.runfile.declaration import AXES, FIELDS, TABLE_DTYPES, TABLE_UNIT, Field


@dataclass(eq=False)
class RunData:
    """Everything that one run file holds.

    config: what determines the result (board, learner, its numbers, batch, engine, seed); anything that JSON
        can write, without NaN.  Tuples come back as lists.
    games: games learnt from.
    states: arrays that say what a table's rows and edges are; "code" and "outcome", with action tables also
        "first_edge" and "cell" (see `FIELDS`).
    tables: name -> array of bool, integers or floats.
    table_fields: name -> (axes such as "P,S", meaning), one for each table.
    statistics: one array for each "statistics/..." in `FIELDS`, one row per recorded point.
    provenance: how the run came about (creation time, command, versions, seconds); changes no result.  Bytes
        that are no text are written as escapes.
    notes: lines for the person, such as that a newer version wrote the file; made by reading, not written.
    """

    config: dict[str, Any]
    games: int
    states: dict[str, NDArray[Any]]
    tables: dict[str, NDArray[Any]]
    table_fields: dict[str, tuple[str, str]]
    statistics: dict[str, NDArray[Any]]
    provenance: dict[str, str | int | float]
    notes: tuple[str, ...] = ()


class Invalid(ValueError):
    """A finding about the data, without the file's name and the remedy."""


def check_shape(field: Field, dtype: Any, shape: tuple[int, ...], sizes: dict[str, int]) -> None:
    """Compare an array's dtype and shape with its declaration.

    sizes: the length of every axis met so far (modified in place: a letter is bound where it is first met).
    """
    if dtype != np.dtype(field.dtype).newbyteorder("<"):
        raise Invalid(f"{field.path} holds {dtype}, it must hold {field.dtype}")
    axes = field.axes.split(",") if field.axes else []
    if len(shape) != len(axes):
        raise Invalid(f"{field.path} has {len(shape)} axes, it must have {len(axes)} ({field.axes or 'one number'})")
    for axis, length in zip(axes, shape, strict=True):
        match = re.fullmatch(r"([A-Z])(\+1)?|([0-9]{1,9})", axis)
        if match is None or (match[1] and match[1] not in AXES):
            raise Invalid(f"{field.path} has the unknown axis {axis[:20]!r}; known are {', '.join(AXES)} and numbers")
        more = 1 if match[2] else 0
        expected = int(match[3]) if match[3] else sizes.setdefault(match[1], max(length - more, 0)) + more
        if length != expected:
            raise Invalid(f"{field.path} has length {length} along axis {axis}, it must have {expected}")


def check_names(group: str, names: set[str], newer: bool) -> None:
    """Refuse declared datasets that are missing and, unless the format is `newer` than ours, unknown ones."""
    declared = [field for field in FIELDS if field.path.startswith(f"{group}/")]
    known = {field.path.partition("/")[2] for field in declared}
    missing = {field.path.partition("/")[2] for field in declared if not field.optional} - names
    if missing:
        raise Invalid(f"{group}/{min(missing)} is missing")
    if names - known and not newer:
        raise Invalid(f"{group}/{str(min(names - known))[:40]} is not part of the format")
    if group == "states" and ("first_edge" in names) != ("cell" in names):
        raise Invalid("states has only one of first_edge and cell; action tables need both")


def table_field(name: str, dtype: Any, axes: Any, meaning: Any) -> Field:
    """The declaration that a table makes of itself."""
    if re.fullmatch(r"[A-Za-z][A-Za-z0-9_]{0,63}", name) is None:
        raise Invalid(f"table name {name[:80]!r} must be 1 to 64 letters, digits or underscores")
    if str(dtype) not in TABLE_DTYPES:
        raise Invalid(f"tables/{name} holds {str(dtype)[:80]}, it must hold one of {', '.join(TABLE_DTYPES)}")
    if not isinstance(axes, str) or not isinstance(meaning, str):
        raise Invalid(f"tables/{name} does not say its axes and meaning as text")
    return Field(f"tables/{name}", str(dtype), axes, TABLE_UNIT, meaning)


def check_games(games: Any) -> int:
    """The number of games, if it is one."""
    if isinstance(games, bool) or not isinstance(games, int | np.integer):
        raise Invalid(f"progress/games is {games!r:.40}, it must be a whole number")
    if not 0 <= games < 2**63:
        raise Invalid(f"progress/games is {games}, it must be 0 to 2^63 - 1")
    return int(games)


def checked_datasets(data: RunData) -> list[tuple[Field, NDArray[Any]]]:
    """Every dataset of a run with its declaration, checked."""
    check_names("states", set(data.states), newer=False)
    check_names("statistics", set(data.statistics), newer=False)
    if set(data.tables) != set(data.table_fields):
        raise Invalid(f"tables are {sorted(data.tables)}, but table_fields describes {sorted(data.table_fields)}")
    groups: Mapping[str, Mapping[str, Any]] = {
        "progress": {"games": np.array(check_games(data.games), dtype=np.int64)},
        "states": data.states,
        "statistics": data.statistics,
    }
    found = []
    for field in FIELDS:
        group, _, name = field.path.partition("/")
        if name in groups[group]:
            found.append((field, np.asarray(groups[group][name])))
    for name in sorted(data.tables):
        array = np.asarray(data.tables[name])
        found.append((table_field(name, array.dtype, *data.table_fields[name]), array))
    sizes = {"P": 2}
    for field, array in found:
        check_shape(field, array.dtype, array.shape, sizes)
    return found
