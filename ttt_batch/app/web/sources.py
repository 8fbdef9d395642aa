"""The files that a page is put together from, without what only their readers here need.

Comments and indentation are left out: of a page of 3x3 that learns, 30 KB.
"""

import re
from importlib.resources import files

FOLDER = "ttt_batch.app.web"


def source(name: str) -> str:
    """A part of the page, without its last line end, as `bare` leaves it."""
    text = bare(files(FOLDER).joinpath(name).read_text("utf-8"))
    if name.endswith(".css"):
        return re.sub(r"(?<=[:;,]) | (?={)|(?<={) | (?=})", "", text)  # no string of a style has such a space
    if name.endswith(".js"):
        return "\n".join(map(tight, text.splitlines()))
    return text


def bare(text: str) -> str:
    """A script, style or frame without indentation, empty lines and comments that have lines of their own.

    Its lines stay lines, so what stands on them means the same; no string of it may go over a line's end.
    """
    kept, comment = [], False
    for line in map(str.strip, text.splitlines()):
        if comment or line.startswith("/*"):
            comment = "*/" not in line
        elif line and not line.startswith("//"):
            kept.append(line)
    return "\n".join(kept)


def tight(line: str) -> str:
    """A script's line without the spaces that separate nothing, and without a comment at its end.

    Lines with templates, regular expressions or single quotes are left as they are, for their spaces may count.
    """
    line = re.sub(r"\s+// [^\"'`]*$", "", line)
    if re.search(r"[`'/\\]", line):
        return line
    parts = line.split('"')
    parts[::2] = [re.sub(r" ?([=<>*,;:?{}()&|]) ?", r"\1", part) for part in parts[::2]]
    return '"'.join(parts)
