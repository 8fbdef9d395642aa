"""Methods of lower folders that a higher folder carries out, such as `run.plot()`.

The package's `__init__` registers the functions; a module is loaded when its hook is first called.
"""

import importlib
from typing import Any

_homes: dict[str, str] = {}


def register(name: str, home: str) -> None:
    """Let the hook `name` call the function at `home`, written `package.module:function`."""
    _homes[name] = home


def call(name: str, *arguments: Any, **options: Any) -> Any:
    """Call the function registered for `name`."""
    module, _, function = _homes[name].partition(":")
    return getattr(importlib.import_module(module), function)(*arguments, **options)
