"""Write the page of all commands from their `--help`: `data/guide/commands.md`.

python scripts/commands_page.py --page data/guide/commands.md
"""

import argparse
import io
import os
from contextlib import redirect_stdout
from pathlib import Path
from unittest.mock import patch

from ttt_batch.__main__ import run
from ttt_batch.app.cli import COMMANDS

HEAD = """# Commands

Every command as `--help` prints it on a terminal of 80 columns. `python scripts/commands_page.py --page
data/guide/commands.md` writes this page again.
"""


def parser() -> argparse.ArgumentParser:
    """Return the parser of the script's options."""
    found = argparse.ArgumentParser(description=__doc__)
    found.add_argument("--page", type=Path, help="the page to write; standard output if not given")
    return found


def help_of(*words: str) -> str:
    """Return what the program prints for `words` and `--help`."""
    with patch.dict(os.environ, COLUMNS="80"), redirect_stdout(io.StringIO()) as printed:
        status = run([*words, "--help"])
    assert status == 0, words
    return printed.getvalue().rstrip("\n")


def page() -> str:
    """Return the page: the program's own help, then a section for each command."""
    parts = [HEAD, f"```text\n{help_of()}\n```\n"]
    parts += [f"## {name}\n\n```text\n{help_of(name)}\n```\n" for name in COMMANDS]
    return "\n".join(parts)


if __name__ == "__main__":
    options = parser().parse_args()
    if options.page is None:
        print(page(), end="")
    else:
        options.page.write_text(page(), encoding="utf-8")
