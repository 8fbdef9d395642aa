"""What an object of a lower floor offers and a higher floor does, such as `run.plot()`.

The package's door registers who does it; the module is loaded when the hook is first called.
"""

import importlib
from typing import Any

_homes: dict[str, str] = {}


def register(name: str, home: str) -> None:
    """Let the function at `home`, written `package.module:function`, do what is called `name`."""
    _homes[name] = home


def call(name: str, *arguments: Any, **options: Any) -> Any:
    """Call the function registered for `name`."""
    module, _, function = _homes[name].partition(":")
    return getattr(importlib.import_module(module), function)(*arguments, **options)
