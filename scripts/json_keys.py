"""Run every command with `--json` and write down the keys that it prints.

    python scripts/json_keys.py --page data/json-keys.md

Runs in a folder of its own that is removed afterwards.  `--page` writes `data/json-keys.md`, whose text is
`scripts/pages/json-keys.md`; without it the page goes to standard output.
"""

import argparse
import contextlib
import io
import json
import shlex
import tempfile
from collections.abc import Iterable, Iterator
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

from page_writer import fill, markdown_table

from ttt_batch.__main__ import run


class Command(NamedTuple):
    """A use of a command.

    label: the section's heading.  words: what is run.  like: the section whose keys it has, too.  quick: it takes less
    than a second with compiled kernels of 3x3 alone.
    """

    label: str
    words: str
    like: str = ""
    quick: bool = True


FILES = (
    "train --games 100k -o run.h5",
    "train --games 1000 --seed 1 -o other.h5",
    "export run.h5 --to csv -o table.csv",
)
"""What makes the files that the commands read."""

AGENT = "def agent(board):\n    return (board.ravel() == 0).nonzero()[0][0]\n"

NETWORKS = "train --learner patterns --board 4x4x4 --games 4000 --prove-every 2000 -o networks.h5"

GROWN = "train --board 5x5x5 --games 100 -o grown.h5"

STUDIED = "--alpha 0.1,0.5 --seeds 10 --games 50k"

COMMANDS = (
    Command("train", "train --games 100k -o new.h5"),
    Command("study", f"study {STUDIED} -o study.h5"),
    Command("study --confirm N", f"study {STUDIED} --confirm 2 -o again.h5", "study"),
    Command("study --dry-run", f"study {STUDIED} --dry-run", quick=False),
    Command("learn-from", "learn-from games.txt --learner td -o given.h5", "train"),
    Command("import", "import table.csv --learner td -o imported.h5", "train"),
    Command("evaluate", "evaluate other.h5"),
    Command("evaluate, of an agent", "evaluate agent.py:agent", "evaluate"),
    Command("evaluate --samples N", "evaluate agent.py:agent --samples 10", "evaluate, of an agent"),
    Command("evaluate --as-played", "evaluate other.h5 --as-played"),
    Command("evaluate --positions FILE", "evaluate other.h5 --positions tic-tac-toe.data"),
    Command("watch --games N", "watch run.h5 other.h5 --games 10"),
    Command("tournament", "tournament run.h5 other.h5"),
    Command("tournament --games N", "tournament run.h5 other.h5 --games 10", quick=False),
    Command("prove", "prove run.h5 --certificate proof.npz"),
    Command("prove --smallest", "prove --smallest"),
    Command("show", "show run.h5 '5 1'"),
    Command("show --symmetric", "show run.h5 '5 1' --symmetric"),
    Command("plot", "plot run.h5 -o plot.svg"),
    Command("boards BOARD", "boards 3x3"),
    Command("boards", "boards", "boards BOARD", quick=False),
    Command("info", "info run.h5"),
    Command("info --format", "info --format"),
    Command("check", "check run.h5"),
    Command("learners NAME", "learners td"),
    Command("learners", "learners", "learners NAME"),
    Command("compare", "compare run.h5 other.h5"),
    Command("export", "export run.h5 --to csv -o copy.csv"),
    Command("page", "page -o learn.html"),
    Command("warmup", "warmup --small", quick=False),
    Command("bench", "bench --seconds 0.1 --threads 1", quick=False),
    Command("train, on a board that is not enumerated", f"{GROWN} --overwrite", quick=False),
    Command("evaluate, on a board that is not enumerated", "evaluate grown.h5 --games 10 --budget 1000", quick=False),
    Command("info, on a board that is not enumerated", "info grown.h5", quick=False),
    Command("train, of pattern networks", f"{NETWORKS} --overwrite", quick=False),
    Command("study, of pattern networks", "study --learner patterns --games 1k --seeds 10 -o proofs.h5", quick=False),
    Command("study --tally", "study --tally --learner menace --games 100 --seeds 10 -o tally.h5"),
    Command("evaluate, of pattern networks", "evaluate networks.h5 --games 10", quick=False),
    Command("show, of pattern networks", "show networks.h5 'a1 b2'", quick=False),
    Command("info, of pattern networks", "info networks.h5", quick=False),
)


def output(words: str) -> str:
    """Return what a command prints in this process; its progress is dropped."""
    printed, progress = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(progress):
        status = run(shlex.split(words))
    if status:
        raise SystemExit(f"{words}: status {status}\n{progress.getvalue()}")
    return printed.getvalue()


def collect(folder: Path, commands: Iterable[Command]) -> dict[Command, Any]:
    """Return what these commands print as JSON, run in this folder in order."""
    chosen = list(commands)
    with contextlib.chdir(folder):
        Path("games.txt").write_text("0 4 1 5 2\n", encoding="utf-8")
        Path("tic-tac-toe.data").write_text(
            "x,x,x,o,o,b,b,b,b,positive\nx,x,b,b,b,b,b,b,b,negative\n", encoding="utf-8"
        )
        Path("agent.py").write_text(AGENT, encoding="utf-8")
        for words in FILES:
            output(words)
        for words in (GROWN, NETWORKS):
            if any(words.rpartition(" ")[2] in command.words for command in chosen):
                output(words)
        return {command: json.loads(output(f"{command.words} --json")) for command in chosen}


def holds(value: Any) -> str:
    """Return what a value is: its type, or for an object its keys and for a list its first item."""
    if isinstance(value, dict):
        parts = []
        for inside, group in groupby(value, lambda key: holds(value[key]) if holds(value[key])[0] in "{[" else ""):
            keys = ", ".join(group)
            parts.append(f"({keys}): {inside}" if inside and ", " in keys else f"{keys}: {inside}" if inside else keys)
        return f"{{{', '.join(parts)}}}"
    if isinstance(value, list):
        return f"[{holds(value[0]) if value else ''}]"
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true or false"
    return "text" if isinstance(value, str) else "number"


def section(command: Command, found: dict[Command, Any]) -> str:
    """Return the heading of a command, what was run, and its keys."""
    report, notes = found[command], []
    if isinstance(report, list):
        report = report[0]
        notes.append("A list of objects.")
    if command.like:
        (model,) = (other for label, other in ((each.label, found[each]) for each in found) if label == command.like)
        if missing := set(model) - set(report):
            raise SystemExit(f"{command.label} lacks {missing}, unlike {command.like}")
        report = {key: value for key, value in report.items() if key not in model}
        notes.append(f"The keys of `{command.like}`{', and:' if report else '.'}")
    table = markdown_table(["key", "holds"], ((f"`{key}`", holds(value)) for key, value in report.items()))
    parts = [f"## {command.label}", f"`ttt-batch {command.words} --json`", " ".join(notes), table if report else ""]
    return "\n\n".join(filter(None, parts))


def sections(found: dict[Command, Any]) -> Iterator[str]:
    """Yield the section of each command."""
    return (section(command, found) for command in found)


def page(found: dict[Command, Any]) -> str:
    """Return the page."""
    return fill("json-keys.md", sections="\n\n".join(sections(found)))


def parser() -> argparse.ArgumentParser:
    """Return the options."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--page", type=Path, metavar="FILE", help="write the page; standard output if not given")
    return parser


def main() -> None:
    """Run every command, then write the page."""
    options = parser().parse_args()
    with tempfile.TemporaryDirectory() as folder:
        text = page(collect(Path(folder), COMMANDS))
    if options.page is None:
        print(text, end="")
    else:
        options.page.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
