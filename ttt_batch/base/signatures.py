"""Keyword options shared by several functions: declared once as a TypedDict and shown in every signature."""

import inspect
from collections.abc import Callable, Mapping
from typing import Any, TypeVar, get_type_hints

from ttt_batch.base.choices import suggested_name

F = TypeVar("F", bound=Callable[..., Any])


def with_options(options: type) -> Callable[[F], F]:
    """Return a decorator that lists the `**options` of a function in its signature, each with the default None.

    options: the TypedDict that `**options` unpacks.  The function reads the options with `given_options`.
    """

    def spelled_out(function: F) -> F:
        signature, by_name = inspect.signature(function), inspect.Parameter.KEYWORD_ONLY
        own = [given for given in signature.parameters.values() if given.kind is not given.VAR_KEYWORD]
        added = [
            inspect.Parameter(name, by_name, default=None, annotation=hint)
            for name, hint in get_type_hints(options).items()
        ]
        # A stable sort: positional parameters first, then the options, then the function's own keyword parameters.
        parameters = sorted([*added, *own], key=lambda given: given.kind)
        function.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
        return function

    return spelled_out


def given_options(function: Callable[..., Any], options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the `**options` of `function` that are not None.

    Raises TypeError for a name that `function` does not have; the message suggests a similar one.
    """
    names = inspect.signature(function).parameters
    for name in options:
        if name not in names:
            meant = suggested_name(name, list(names))
            hint = "" if meant is None else f"; did you mean {meant!r}?"
            raise TypeError(f"{function.__name__}() got an unexpected keyword argument {name!r}{hint}")
    return {name: value for name, value in options.items() if value is not None}
