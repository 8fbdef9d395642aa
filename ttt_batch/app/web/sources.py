"""The files that a page is put together from, without what only their readers here need.

Comments on lines of their own and indentation are left out of scripts and styles: 25 KB of a page of 3x3.
"""

from importlib.resources import files

FOLDER = "ttt_batch.app.web"


def source(name: str) -> str:
    """A part of the page, without its last line end; scripts and styles as `bare` leaves them."""
    text = files(FOLDER).joinpath(name).read_text("utf-8").rstrip("\n")
    return bare(text) if name.endswith((".js", ".css")) else text


def bare(text: str) -> str:
    """A script or style without indentation, empty lines and comments that have lines of their own.

    Its lines stay lines, so what stands on them means the same; no string of it may go over a line's end.
    """
    kept, comment = [], False
    for line in map(str.strip, text.splitlines()):
        if comment or line.startswith("/*"):
            comment = "*/" not in line
        elif line and not line.startswith("//"):
            kept.append(line)
    return "\n".join(kept)
