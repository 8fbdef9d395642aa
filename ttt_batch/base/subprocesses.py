"""Modules of this package run as programs in processes of their own."""

import os
import sys
from pathlib import Path


def module_command(name: str, *words: str) -> list[str]:
    """The command that runs module `name` with this interpreter."""
    return [sys.executable, "-m", name, *words]


def module_environment() -> dict[str, str]:
    """This process's environment, with this very package first where modules are looked for."""
    path = [str(Path(__file__).parents[2]), *filter(None, [os.environ.get("PYTHONPATH")])]
    return os.environ | {"PYTHONPATH": os.pathsep.join(path)}
