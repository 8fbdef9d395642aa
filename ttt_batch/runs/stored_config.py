"""The configuration that a run file holds, checked key by key: it may be foreign, damaged, or an older version's."""

from dataclasses import MISSING, fields
from typing import Any

from ttt_batch.base.errors import RunFileError, UsageError
from ttt_batch.game.board import Board
from ttt_batch.runs.config import Config, make_config
from ttt_batch.runs.schedules import Schedule

_MAX_FINDING = 300
"""Characters of a message about a configuration, which may hold anything."""


def config_from_dict(values: dict[str, Any]) -> Config:
    """The configuration of a run file.  Raises RunFileError if it is not one of ours."""
    _check_types(values)
    try:
        config = make_config(**values)
    except UsageError as error:
        raise _not_usable(str(error)) from None
    defaults = {field.name: field.default for field in fields(Config) if field.default is not MISSING}
    if {**defaults, **values} != config.to_dict():
        raise RunFileError("the run's configuration is not written as this version writes it; train it again")
    return config


def _check_types(values: dict[str, Any]) -> None:
    """Raise RunFileError for a key that is missing, unknown, or holds something of another type."""
    declared = {field.name: field for field in fields(Config)}
    for name in sorted(values.keys() - declared.keys()):
        raise _not_usable(f"unknown key {name!r:.60}")
    for name, field in declared.items():
        if name not in values and field.default is MISSING:
            raise _not_usable(f"{name} is missing")
        value = values.get(name, field.default)
        if name == "draw_worth":
            if not isinstance(value, list) or [type(number) for number in value] != [float, float]:
                raise _not_usable(f"{name} is {value!r:.60}, it must be two numbers such as [0.5, 0.5]")
        # Exactly: True counts as 1 in Python, and 1.0 equals it, but neither is written for a whole number.
        elif type(value) not in _stored_as(field.type):
            raise _not_usable(f"{name} is {value!r:.60}, of the wrong type")


def _stored_as(kind: Any) -> tuple[type, ...]:
    """The types that a run file has for a field of `Config`."""
    return (str,) if kind in (Board, Schedule) else getattr(kind, "__args__", (kind,))


def _not_usable(finding: str) -> RunFileError:
    return RunFileError(
        f"the run's configuration is not usable ({finding[:_MAX_FINDING]}); was it made by another version?"
    )
