"""Text that others wrote (names of files, their content, arguments), made safe to show.

A terminal obeys control characters, and Unicode has characters that turn the direction of a line or take no room: with
them a name could clear the screen, recolour what follows, or forge a line of its own.  What cannot be printed is shown
as Python writes it, such as `\\x1b`, `\\n` or `\\u202e`; bytes of a name that are no text as `\\udcff`.
"""

import re
import shlex

_COLOUR = re.compile(r"(\x1b\[[0-9;]{0,20}m)")


def one_line(text: str) -> str:
    """Return `text` on one line, every character that cannot be printed as an escape.

    A second time changes nothing more.
    """
    if text.isprintable():
        return text
    return "".join(letter if letter.isprintable() else repr(letter)[1:-1] for letter in text)


def all_lines(text: str, *, colour: bool = False) -> str:
    """Return `text` with its line ends, and with our own colours if `colour`; otherwise as `one_line`."""
    if colour:
        return "".join(part if number % 2 else all_lines(part) for number, part in enumerate(_COLOUR.split(text)))
    return "\n".join(map(one_line, text.split("\n")))


def shortened(text: str, width: int) -> str:
    """Return `text` in at most `width` characters: of a longer one its beginning and its end."""
    return text if len(text) <= width else f"{text[: width * 2 // 3 - 5]} ... {text[len(text) - width // 3 :]}"


def for_shell(name: str) -> str:
    """Return `name` as one word of a command to copy; `$'...'` holds what cannot be printed."""
    if name.isprintable():
        return shlex.quote(name)
    found = []
    for character in name:
        if character.isprintable():
            found.append(f"\\{character}" if character in "\\'" else character)
        else:  # octal digits end after three, so what follows is never taken for one more
            found += [f"\\{byte:03o}" for byte in character.encode("utf-8", "surrogateescape")]
    return f"$'{''.join(found)}'"
