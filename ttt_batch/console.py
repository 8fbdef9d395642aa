"""What a text stream can show: asked in one place, so that every command gives the same answer."""

import os
from collections.abc import Mapping
from typing import TextIO


def is_live(stream: TextIO, environ: Mapping[str, str] = os.environ) -> bool:
    """Whether a stream shows moving pictures: a terminal that can do more than print lines.

    Windows' own terminals can, and do not set TERM.
    """
    term = environ.get("TERM", "xterm" if os.name == "nt" else "")
    return stream.isatty() and term not in ("", "dumb", "unknown")


def wants_colour(stream: TextIO, environ: Mapping[str, str] = os.environ) -> bool:
    """Whether to write colour: to a terminal that is not dumb, unless NO_COLOR is set (no-color.org)."""
    return is_live(stream, environ) and not environ.get("NO_COLOR")
