"""Methods of a lower folder whose code is in a higher folder, such as `run.plot()`; `set_hooks` says where.

The package imports this module at once, and so it imports little.
"""

from collections.abc import Callable
from typing import Any

_find: list[Callable[[str], Callable[..., Any]]] = []


def set_hooks(find: Callable[[str], Callable[..., Any]]) -> None:
    """Let `call_hook` call the functions that `find` returns for the names of hooks."""
    _find[:] = [find]


def call_hook(name: str, *arguments: Any, **options: Any) -> Any:
    """Call the function behind the hook `name`."""
    return _find[0](name)(*arguments, **options)
