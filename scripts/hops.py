"""Count the files and functions of the package that five commands pass through, and draw their way through its folders.

    python scripts/hops.py
    python scripts/hops.py --guide data/guide/development.md --picture data/hops.png

Each function counts once.  Module bodies, lambdas and comprehensions do not count.  Kernels are counted apart: they run
in Python here (`NUMBA_DISABLE_JIT=1`), so that the profiler sees them.  The picture needs matplotlib.
"""

import argparse
import ast
import json
import os
import re
import subprocess
import sys
import tempfile
import threading
from pathlib import Path
from types import FrameType
from typing import Any, NamedTuple

from page_writer import markdown_table, say

COMMANDS = {
    "train": ["train", "--games", "300"],
    "evaluate": ["evaluate", "td-3x3.h5"],
    "show": ["show", "td-3x3.h5", "X........"],
    "study": ["study", "--games", "300", "--alpha", "0.1,0.2", "--seeds", "2", "--out", "study.h5"],
    "train networks": ["train", "--learner", "patterns", "--board", "4x4x4", "--games", "16"],
}
"""Commands to follow, in one folder: `evaluate` and `show` read the run of `train`."""

TARGETS = {
    "train": (40, 190),
    "evaluate": (28, 130),
    "show": (28, 150),
    "study": (50, 280),
    "train networks": (38, 170),
}
"""Files and functions outside kernels that each command should not exceed."""

COMPILED = {"kernel", "inlined", "vectorized", "generic", "njit", "jit", "entry_point", "intrinsic"}
"""Decorators of functions that Numba compiles."""

UNNAMED = ("<lambda>", "<genexpr>", "<listcomp>")


class Hop(NamedTuple):
    """Function that a command enters for the first time.

    file: its path in the package.  line: its first line.  name: its qualified name.  kernel: whether Numba compiles it.
    """

    file: str
    line: int
    name: str
    kernel: bool = False


def kernel_names(path: Path) -> set[str]:
    """Return the names of a file's kernels: functions with one of `COMPILED`, or registered for a generic kernel."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        for decorator in getattr(node, "decorator_list", []):
            words = {getattr(part, "id", getattr(part, "attr", "")) for part in ast.walk(decorator)}
            if words & COMPILED or ("register" in words and "app" not in path.parts):
                found.add(node.name)  # type: ignore[attr-defined]
    return found


def follow(arguments: list[str]) -> list[Hop]:
    """Run a command in this process, and return the functions that it enters, in the order of their first calls."""
    import ttt_batch
    from ttt_batch.__main__ import main as run

    root = str(Path(ttt_batch.__file__).parent) + os.sep
    found: dict[tuple[str, int], str] = {}

    def is_importing(frame: FrameType | None) -> bool:
        while frame is not None:
            if frame.f_code.co_name == "<module>" and frame.f_code.co_filename.startswith(root):
                return True
            frame = frame.f_back
        return False

    def see(frame: FrameType, event: str, _: Any) -> None:
        code = frame.f_code
        here = code.co_filename, code.co_firstlineno
        own = event == "call" and code.co_filename.startswith(root) and code.co_name != "<module>"
        if own and here not in found and not is_importing(frame.f_back):
            found[here] = code.co_qualname

    sys.argv = ["ttt-batch", *arguments]
    threading.setprofile(see)
    sys.setprofile(see)
    try:
        run()
    except SystemExit as end:
        if end.code:
            raise
    finally:
        sys.setprofile(None)
    kernels = {file: kernel_names(Path(file)) for file, _ in found}
    return [
        Hop(file.removeprefix(root).replace(os.sep, "/"), line, name, name.rpartition(".")[2] in kernels[file])
        for (file, line), name in found.items()
        if not name.endswith(UNNAMED)
    ]


def measure(names: list[str]) -> dict[str, list[Hop]]:
    """Follow these commands, each in a process of its own."""
    environment = {**os.environ, "NUMBA_DISABLE_JIT": "1"}
    hops = {}
    with tempfile.TemporaryDirectory() as folder:
        for name in names:
            arguments = COMMANDS[name]
            say(f"following ttt-batch {' '.join(arguments)}")
            path = Path(folder) / "hops.json"
            call = [sys.executable, __file__, "--follow", str(path), "--", *arguments]
            subprocess.run(call, cwd=folder, env=environment, stdout=subprocess.DEVNULL, check=True)
            hops[name] = [Hop(*hop) for hop in json.loads(path.read_text(encoding="utf-8"))]
    return hops


def count(hops: list[Hop]) -> tuple[int, int]:
    """Return the number of files and of functions."""
    return len({hop.file for hop in hops}), len(hops)


def table(hops: dict[str, list[Hop]]) -> str:
    """Return the counts of all commands as a table in Markdown."""
    rows = []
    for name, passed in hops.items():
        outside = count([hop for hop in passed if not hop.kernel])
        both = [f"{files} / {functions}" for files, functions in (outside, TARGETS[name], count(passed))]
        rows.append([f"`{' '.join(COMMANDS[name])}`", *both])
    return markdown_table(["command", "files / functions outside kernels", "goal", "with kernels"], rows)


def draw(hops: dict[str, list[Hop]], floors: list[str], picture: Path) -> None:
    """Draw the way of each command: the folder of each function, in the order of the first calls."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(11, 2.3 * len(hops)), layout="constrained")
    for axes, (name, passed) in zip(figure.subplots(len(hops), squeeze=False).flat, hops.items(), strict=True):
        places = [floors.index(hop.file.partition("/")[0]) for hop in passed if "/" in hop.file]
        kernels = [hop.kernel for hop in passed if "/" in hop.file]
        axes.plot(places, color="#0072B2", linewidth=0.8)
        axes.scatter(range(len(places)), places, s=6, c=["#E69F00" if kernel else "#0072B2" for kernel in kernels])
        axes.set_title(f"ttt-batch {' '.join(COMMANDS[name])}", loc="left", fontsize=9)
        axes.set_yticks(range(len(floors)), floors, fontsize=7)
        axes.set_ylim(-0.5, len(floors) - 0.5)
        axes.grid(axis="y", linewidth=0.3)
    axes.set_xlabel("functions in the order of their first calls; kernels in orange", fontsize=8)
    figure.savefig(picture, dpi=110)


def folders() -> list[str]:
    """Return the folders of the package from the ground up, as the development guide lists them."""
    guide = Path(__file__).parents[1] / "data" / "guide" / "development.md"
    return re.findall(r"^\| `(\w+)/` \|", guide.read_text(encoding="utf-8"), re.MULTILINE)


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--guide", type=Path, metavar="FILE", help="replace the table between the marks of this page")
    parser.add_argument("--picture", type=Path, metavar="FILE", help="draw the ways, as PNG or SVG")
    parser.add_argument(
        "--only", nargs="+", metavar="NAME", choices=COMMANDS, default=[*COMMANDS], help="these commands"
    )
    parser.add_argument("--list", metavar="NAME", choices=COMMANDS, help="list the functions of one command, too")
    parser.add_argument("--follow", type=Path, metavar="FILE", help=argparse.SUPPRESS)
    parser.add_argument("arguments", nargs="*", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.follow is not None:
        given.follow.write_text(json.dumps(follow(given.arguments)), encoding="utf-8")
        return
    hops = measure(given.only if given.list in (None, *given.only) else [*given.only, given.list])
    for hop in hops[given.list] if given.list else []:
        print(f"{hop.file}:{hop.line} {hop.name}{' (kernel)' if hop.kernel else ''}")
    print(found := table(hops))
    if given.guide is not None:
        text = given.guide.read_text(encoding="utf-8")
        marked = re.compile(r"(?<=<!-- hops -->\n).*?(?=<!-- /hops -->)", re.DOTALL)
        given.guide.write_text(marked.sub(lambda _: f"\n{found}\n\n", text), encoding="utf-8")
    if given.picture is not None:
        draw(hops, folders(), given.picture)


if __name__ == "__main__":
    main()
