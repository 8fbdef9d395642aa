"""Write the page of all commands from their `--help`: `data/guide/commands.md`.

python scripts/commands_page.py --page data/guide/commands.md
"""

import argparse
import os
import subprocess
import sys
from pathlib import Path

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
    command = [sys.executable, "-m", "ttt_batch", *words, "--help"]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env={**os.environ, "COLUMNS": "80"})
    return done.stdout.rstrip("\n")


def page() -> str:
    """Return the page: the program's own help, then a section for each command."""
    from ttt_batch.app.cli import COMMANDS

    parts = [HEAD, f"```text\n{help_of()}\n```\n"]
    parts += [f"## {name}\n\n```text\n{help_of(name)}\n```\n" for name in COMMANDS]
    return "\n".join(parts)


if __name__ == "__main__":
    options = parser().parse_args()
    if options.page is None:
        print(page(), end="")
    else:
        options.page.write_text(page(), encoding="utf-8")
