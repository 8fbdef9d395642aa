"""How commands declare what a person gives them: options, arguments and switches."""

import functools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import typer

Text = str | None
File = Path | None
"""Types of the values of options that may be left out."""


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
    """A completion function for typer: those of `names` that begin with what was typed so far."""
    return lambda incomplete: [name for name in names if name.startswith(incomplete)]


argument = functools.partial(option, kind=typer.Argument)
"""An argument: as `option`, without names."""


def switch(name: str, meaning: str) -> Any:
    """An option that takes no value."""
    return typer.Option(name, help=meaning)
