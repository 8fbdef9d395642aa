"""How commands declare what a person gives them: options, arguments and switches."""

import functools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import typer

Text = str | None
File = Path | None
"""Types of the values of options that may be left out."""

BOARDS = (
    *("3x3", "3x3-misere", "3x4x3", "3x4x4", "3x5x3", "3x5x4", "4x4x3", "4x4x3-exact", "4x4x4", "4x4x4-misere"),
    *("4x5x4", "5x5x4", "5x5x5", "6x5x4", "6x6x4"),
)
BEYOND_TABLES = ("7x7x5", "8x8x5")
ENGINES = ("walk", "flow")
FORMATS = (*("html", "boxes", "hdf5", "csv", "npy", "raw", "pickle", "pickle-text", "npz", "json", "jsonl", "parquet"),)
AGAINST = ("random", "one-ply", "two-ply", "optimal", "self")
SCRIPTED = AGAINST[:3]
PLOTS = ("curves", "opening", "coverage", "movie", "sensitivity", "settling", "heat")
METRICS = (
    *("proof", "settling", "proved", "unbeatable", "first", "second", "loss", "error", "optimal", "response"),
    *("draws", "play", "first-wins", "second-wins", "time", "positions"),
)
RANKS = ("proof", "settling", "proved", "holds", "loss", "error", "time")
RIVALS = ("self", "random", "optimal")
SWEEPS = ("grid", "one-at-a-time")
KEEPS = ("none", "last")
SHARINGS = ("symmetry", "translation", "none")
OBJECTIVES = ("safe", "win", "plain")
KEPT = ("proved", "last")
CLAIMS = ("cannot-lose", "always-wins")
CUTS = ("on", "off")
SWITCH = (*CUTS, "auto")
"""What the shell offers while a value is being typed.

A person is waiting for the key, so nothing here loads numba: names whose registry would are written out, and a test
compares them with the registries.
"""


def option(
    metavar: str,
    meaning: str,
    *names: str,
    offers: tuple[str, ...] = (),
    default: str = "",
    read: Callable[..., Any] | None = None,
    kind: Callable[..., Any] = typer.Option,
) -> Any:
    """An option, or another `kind` of parameter, that takes a value.

    meaning: its help.  names: unless the parameter's own does.  offers: values that the shell completes.
    default: for the help, if the parameter's is None.  read: turns what was typed into what is meant.
    """
    return kind(
        *names,
        metavar=metavar,
        help=f"{meaning}  [default: {default}]" if default else meaning,
        autocompletion=_completing(offers) if offers else None,
        callback=read,
    )


def _completing(names: tuple[str, ...]) -> Callable[[str], list[str]]:
    """A completion function for typer: those of `names` that begin with what was typed so far.

    After a comma, as in a study's lists, another one is offered.
    """

    def complete(incomplete: str) -> list[str]:
        before, comma, begun = incomplete.rpartition(",")
        return [f"{before}{comma}{name}" for name in names if name.startswith(begun)]

    return complete


argument = functools.partial(option, kind=typer.Argument)
"""An argument: as `option`, without names."""


def switch(name: str, meaning: str) -> Any:
    """An option that takes no value."""
    return typer.Option(name, help=meaning)
