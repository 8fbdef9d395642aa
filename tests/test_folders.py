"""The folders of the package are floors: each reads only those below it, and so do the modules inside a folder."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import ttt_batch

PACKAGE = Path(ttt_batch.__file__).parent

FOLDERS = [
    "base",
    "cluster",
    "game",
    "simulation",
    "learners",
    "evaluation",
    "proofs",
    "patterns",
    "runs",
    "agents",
    "training",
    "studies",
    "analysis",
    "environments",
    "app",
]
"""From the ground up."""

MOST_FLOORS = 7

MODULES = {path.relative_to(PACKAGE).with_suffix("").parts: path for path in sorted(PACKAGE.rglob("*.py"))}
"""Every source file by the names of its folders and its own; a folder's own file is called `__init__`."""

INSIDE = sorted({parts[:-1] for parts in MODULES} - {()})
"""Every folder, also those inside others."""


def imported(path: Path) -> Iterator[tuple[str, ...]]:
    """The modules of the package that a file imports, wherever in it, except for types only."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            node.body = []
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module is not None and node.module.startswith("ttt_batch"):
            module = tuple(node.module.split(".")[1:])
            for alias in node.names:
                yield next(
                    parts
                    for parts in (
                        (*module, alias.name),
                        (*module, alias.name, "__init__"),
                        module,
                        (*module, "__init__"),
                    )
                    if parts in MODULES
                )


IMPORTS = {parts: set(imported(path)) for parts, path in MODULES.items()}


def test_the_root_holds_nothing_but_the_folders():
    files = {path.name for path in PACKAGE.iterdir() if path.is_file()}
    assert files == {"LICENSE", "__init__.py", "__main__.py", "py.typed"}
    assert sorted({parts[0] for parts in MODULES if len(parts) > 1}) == sorted(FOLDERS)


def test_every_folder_reads_only_those_below_it():
    upward = [
        f"{'.'.join(parts)} imports {'.'.join(other)}"
        for parts, others in IMPORTS.items()
        for other in others
        if len(parts) > 1 and FOLDERS.index(other[0]) > FOLDERS.index(parts[0])
    ]
    assert not upward


@pytest.mark.parametrize("folder", INSIDE, ids=".".join)
def test_a_folder_has_no_circles_and_few_floors(folder: tuple[str, ...]):
    """What lies in the folder, a module or a folder of its own, is on the floor above all that it imports there."""
    depth = len(folder)
    arrows: dict[str, set[str]] = {}
    for parts, others in IMPORTS.items():
        if parts[:depth] == folder:
            beside = {other[depth] for other in others if other[:depth] == folder} - {parts[depth]}
            arrows.setdefault(parts[depth], set()).update(beside)
    arrows.pop("__init__")  # the face of the folder, which nothing in it imports
    floors = 0
    while arrows:
        free = [name for name, others in arrows.items() if not others & arrows.keys()]
        assert free, f"in a circle: {sorted(arrows)}"
        for name in free:
            del arrows[name]
        floors += 1
    assert floors <= MOST_FLOORS


def test_nothing_in_a_folder_imports_the_folder():
    inside = [
        f"{'.'.join(parts)} imports {'.'.join(other)}"
        for parts, others in IMPORTS.items()
        for other in others
        if other[-1] == "__init__" and parts[: len(other) - 1] == other[:-1] and parts != other
    ]
    assert not inside


def test_no_module_function_or_kernel_is_long():
    """At most 400 lines a module, 60 a function without its docstring, and ten parameters a kernel."""
    long = []
    for parts, path in MODULES.items():
        text = path.read_text(encoding="utf-8")
        if (lines := len(text.splitlines())) > 400:
            long.append(f"{'.'.join(parts)}: {lines} lines")
        for node in ast.walk(ast.parse(text)):
            if not isinstance(node, ast.FunctionDef):
                continue
            first = node.body[0]
            documented = isinstance(first, ast.Expr) and ast.get_docstring(node) is not None
            lines = node.end_lineno - node.lineno + 1 - (first.end_lineno - first.lineno + 1 if documented else 0)
            if lines > 60:
                long.append(f"{'.'.join(parts)}.{node.name}: {lines} lines")
            in_kernels = {"kernel", "inlined", "generic", "register"} & set(
                re.findall(r"\w+", "".join(map(ast.unparse, node.decorator_list)))
            )
            if in_kernels and len(node.args.args) > 10:
                long.append(f"{'.'.join(parts)}.{node.name}: {len(node.args.args)} parameters")
    assert not long


ONE_MEANING = ("Chances", "chances_of", "share_out", "spread", "spread_bits", "Table", "NOBODY")
"""Names that once were given to two things."""


@pytest.mark.parametrize("name", ONE_MEANING)
def test_a_name_means_one_thing(name: str):
    found = []
    for parts, path in MODULES.items():
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
            names = {getattr(node, "name", None), *(target.id for target in targets if isinstance(target, ast.Name))}
            found += [".".join(parts)] * (name in names)
    assert len(found) == 1, found
