"""The configuration that a run file holds, checked key by key: it may be foreign, damaged, or an older version's."""

from collections.abc import Iterator
from dataclasses import MISSING, fields
from typing import Any

from ttt_batch.base.errors import RunFileError, UsageError
from ttt_batch.game.board import Board
from ttt_batch.runs.config import Config, make_config
from ttt_batch.runs.schedules import Schedule

_MAX_FINDING = 300
"""Characters of a message about a configuration, which may hold anything."""


def config_from_dict(values: dict[str, Any]) -> Config:
    """The configuration of a run file.  Raises RunFileError where it is not one of ours."""
    for finding in _type_findings(values):
        raise _not_usable(finding)
    try:
        config = make_config(**values)
    except UsageError as error:
        raise _not_usable(str(error)) from None
    defaults = {field.name: field.default for field in fields(Config) if field.default is not MISSING}
    if {**defaults, **values} != config.to_dict():
        raise RunFileError("the run's configuration is not written as this version writes it; train it again")
    return config


def _type_findings(values: dict[str, Any]) -> Iterator[str]:
    """Keys of a run file's configuration that are missing, unknown, or hold something of another type."""
    declared = {field.name: field for field in fields(Config)}
    for name in sorted(values.keys() - declared.keys()):
        yield f"unknown key {name!r:.60}"
    for name, field in declared.items():
        if name not in values:
            if field.default is MISSING:
                yield f"{name} is missing"
            continue
        value = values[name]
        if name == "draw_worth":
            if not isinstance(value, list) or [type(number) for number in value] != [float, float]:
                yield f"{name} is {value!r:.60}, it must be two numbers such as [0.5, 0.5]"
        # Exactly: True counts as 1 in Python, and 1.0 equals it, but neither is written for a whole number.
        elif type(value) not in _stored_as(field.type):
            yield f"{name} is {value!r:.60}, of the wrong type"


def _stored_as(kind: Any) -> tuple[type, ...]:
    """The types that a run file has for a field of `Config`."""
    return (str,) if kind in (Board, Schedule) else getattr(kind, "__args__", (kind,))


def _not_usable(finding: str) -> RunFileError:
    return RunFileError(
        f"the run's configuration is not usable ({finding[:_MAX_FINDING]}); was it made by another version?"
    )
