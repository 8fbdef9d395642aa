"""The folders of the package are floors: each reads only those below it, and so do the modules inside a folder."""

import ast
import functools
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import ttt_batch

PACKAGE = Path(ttt_batch.__file__).parent
TESTS = Path(__file__).parent

FOLDERS = [
    "core",
    "compiler",
    "cluster",
    "games",
    "simulation",
    "learners",
    "evaluation",
    "ntuple",
    "runs",
    "agents",
    "training",
    "studies",
    "analysis",
    "environments",
    "api",
    "app",
]
"""From the ground up."""

MOST_FLOORS = 8

MODULES = {path.relative_to(PACKAGE).with_suffix("").parts: path for path in sorted(PACKAGE.rglob("*.py"))}
"""Every source file by the names of its folders and its own; a folder's own file is called `__init__`."""

INSIDE = sorted({parts[:-1] for parts in MODULES} - {()})
"""Every folder, also those inside others."""


@functools.cache
def nodes_of(path: Path) -> list[Any]:
    """All parts of a source file, the module first."""
    return [*ast.walk(ast.parse(path.read_text(encoding="utf-8")))]


def imported(path: Path) -> Iterator[tuple[str, ...]]:
    """The modules of the package that a file imports, wherever in it, except for types only."""
    nodes = nodes_of(path)
    of_types = [node.body for node in nodes if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"]
    left_out = {inner for body in of_types for node in body for inner in ast.walk(node)}
    for node in nodes:
        if not isinstance(node, ast.ImportFrom) or node in left_out:
            continue
        if node.module is not None and node.module.startswith("ttt_batch"):
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


@functools.cache
def imports() -> dict[tuple[str, ...], set[tuple[str, ...]]]:
    """The modules that each module imports."""
    return {parts: set(imported(path)) for parts, path in MODULES.items()}


def test_the_root_holds_nothing_but_the_folders():
    files = {path.name for path in PACKAGE.iterdir() if path.is_file()}
    assert files == {"LICENSE", "__init__.py", "__main__.py", "py.typed"}
    assert sorted({parts[0] for parts in MODULES if len(parts) > 1}) == sorted(FOLDERS)


@pytest.mark.slow
def test_every_folder_reads_only_those_below_it():
    upward = [
        f"{'.'.join(parts)} imports {'.'.join(other)}"
        for parts, others in imports().items()
        for other in others
        if len(parts) > 1 and FOLDERS.index(other[0]) > FOLDERS.index(parts[0])
    ]
    assert not upward


BEHIND_THE_API = {"all_play_all", "describe_position", "evaluate_positions", "export_table", "judge_agent"}
"""Functions that only the public functions of `api` call."""


def test_what_people_see_stands_on_the_public_functions():
    beside = [
        f"{path.name} imports {alias.name}"
        for parts, path in MODULES.items()
        if parts[0] == "app"
        for node in nodes_of(path)
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
        if alias.name in BEHIND_THE_API
    ]
    assert not beside


@pytest.mark.parametrize("folder", INSIDE, ids=".".join)
def test_a_folder_has_no_circles_and_few_floors(folder: tuple[str, ...]):
    """A module or a folder is on the floor above everything that it imports in its folder."""
    depth = len(folder)
    arrows: dict[str, set[str]] = {}
    for parts, others in imports().items():
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
        for parts, others in imports().items()
        for other in others
        if other[-1] == "__init__" and parts[: len(other) - 1] == other[:-1] and parts != other
    ]
    assert not inside


def test_no_module_function_or_kernel_is_long():
    """At most 650 lines a module, 65 a function without its docstring, and ten parameters a kernel."""
    long = []
    for parts, path in MODULES.items():
        text = path.read_text(encoding="utf-8")
        if (lines := len(text.splitlines())) > 650:
            long.append(f"{'.'.join(parts)}: {lines} lines")
        for node in nodes_of(path):
            if not isinstance(node, ast.FunctionDef):
                continue
            first = node.body[0]
            documented = isinstance(first, ast.Expr) and ast.get_docstring(node) is not None
            lines = node.end_lineno - node.lineno + 1 - (first.end_lineno - first.lineno + 1 if documented else 0)
            if lines > 65:
                long.append(f"{'.'.join(parts)}.{node.name}: {lines} lines")
            in_kernels = {"kernel", "inlined", "vectorized", "generic", "register"} & set(
                re.findall(r"\w+", "".join(map(ast.unparse, node.decorator_list)))
            )
            if in_kernels and len(node.args.args) > 10:
                long.append(f"{'.'.join(parts)}.{node.name}: {len(node.args.args)} parameters")
    assert not long


SEVERAL_DEFINITIONS = {
    "evaluate": "overloads say which result each kind of player has",
    "train": "overloads say which run each kind of learner has",
}
"""Public names that may be defined more than once, and why."""


def test_a_public_name_has_one_definition():
    """Bodies of a generic kernel for several types do not count: they are registered with its name."""
    found: dict[str, list[str]] = {}
    for parts, path in MODULES.items():
        for node in nodes_of(path)[0].body:
            if not isinstance(node, ast.FunctionDef | ast.ClassDef) or node.name.startswith("_"):
                continue
            if not any(".register" in ast.unparse(decorator) for decorator in node.decorator_list):
                found.setdefault(node.name, []).append(".".join(parts))
    several = {name: places for name, places in found.items() if len(places) > 1}
    assert several.keys() == SEVERAL_DEFINITIONS.keys(), several
    assert all(len(set(places)) == 1 for places in several.values())


DOTTED = re.compile(r"(?:ttt_batch\.)?([a-z_]+(?:\.[a-z_]+)+)(?::[A-Za-z_]+)?")


def test_no_string_names_a_module_of_a_higher_folder():
    """A string such as `app.plots:figure` is an import that no checker sees."""
    upward = []
    for parts, path in MODULES.items():
        for node in nodes_of(path):
            if not (isinstance(node, ast.Constant) and isinstance(node.value, str)):
                continue
            match = DOTTED.fullmatch(node.value)
            named = tuple(match[1].split(".")) if match else ()
            known = named in MODULES or named[:-1] in MODULES or (*named, "__init__") in MODULES
            if known and len(named) > 1 and (len(parts) == 1 or FOLDERS.index(named[0]) > FOLDERS.index(parts[0])):
                upward.append(f"{'.'.join(parts)}: {node.value}")
    assert not upward


@pytest.mark.slow
def test_text_has_one_door():
    """Only `core.console` prints or writes to a stream by its name: results, messages, and what is being done."""
    found = []
    for parts, path in MODULES.items():
        for node in nodes_of(path):
            called = ast.unparse(node.func) if isinstance(node, ast.Call) else ""
            if called in ("print", "typer.echo") or re.search(r"(stdout|stderr|stream)\.write(lines)?$", called):
                found.append(".".join(parts))
    assert found == ["core.console"] * 3


def test_scripts_of_the_page_and_modules_have_different_names():
    stems = {(path.parent, path.stem) for path in PACKAGE.rglob("*.py")}
    assert not [str(path) for path in PACKAGE.rglob("*.js") if (path.parent, path.stem) in stems]


def test_no_test_imports_another():
    """Code that several tests share is in `helpers` and `oracle`."""
    found, line = [], re.compile(r"^ *(?:from|import)\b.*\btest_", re.MULTILINE)  # maybe of a program in a string
    for path in sorted(TESTS.rglob("*.py")):
        for node in nodes_of(path) if line.search(path.read_text(encoding="utf-8")) else ():
            modules = [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            modules += [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            found += [f"{path.name} imports {module}" for module in modules if module.split(".")[0].startswith("test_")]
    assert not found


PACKAGE_MODULES, PACKAGE_LINES, TEST_LINES = 214, 57_579, 47_004
"""Size budget, which goes down.  Who needs more lines raises it, and says why in the commit."""


def test_the_size_budget_holds():
    lines = {
        folder: sum(len(path.read_text(encoding="utf-8").splitlines()) for path in folder.rglob("*.py"))
        for folder in (PACKAGE, TESTS)
    }
    assert len(MODULES) <= PACKAGE_MODULES
    assert lines[PACKAGE] <= PACKAGE_LINES and lines[TESTS] <= TEST_LINES, lines


UNTYPED = 46
"""Most parameters and results of kernels that are `Any`: agents and samplers of several classes."""


@pytest.mark.slow
def test_kernels_say_the_types_of_their_arrays():
    untyped = 0
    for path in PACKAGE.rglob("*.py"):
        for node in nodes_of(path):
            words = [ast.unparse(one) for one in getattr(node, "decorator_list", [])]
            if any(word in ("kernel", "inlined", "vectorized") or ".register(" in word for word in words):
                given = [*(one.annotation for one in node.args.args), node.returns]
                untyped += sum(one is not None and "Any" in ast.unparse(one) for one in given)
    assert untyped <= UNTYPED, untyped
