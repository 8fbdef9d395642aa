"""Arrows between modules point down only: the README's table of layers, held against every import."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "ttt_batch"


def layers() -> dict[str, int]:
    """The row of each module or package in the README's table, 0 at the top."""
    table = (ROOT / "README.md").read_text(encoding="utf-8").partition("| layer | modules |")[2].partition("\n\n")[0]
    rows = [line for line in table.splitlines() if line.startswith("| ") and "---" not in line]
    return {name: number for number, row in enumerate(rows) for name in re.findall(r"`([a-z_]+)/?`", row)}


def modules() -> Iterator[tuple[str, Path]]:
    """Every source file, with the name of the module or package at the top that it belongs to."""
    for path in sorted(PACKAGE.rglob("*.py")):
        parts = path.relative_to(PACKAGE).with_suffix("").parts
        if parts not in (("__init__",), ("__main__",)):  # the doors to all of it
            yield parts[0], path


def imported(path: Path) -> set[str]:
    """Modules and packages at the top that a file imports, wherever in it, but for types only."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            node.body = []
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module is not None and node.module.startswith("ttt_batch"):
            parts = node.module.split(".")
            found |= {parts[1]} if len(parts) > 1 else {alias.name for alias in node.names}
    return found


def test_the_table_names_every_module_and_no_other():
    assert set(layers()) == {name for name, _ in modules()}


def test_no_import_points_up():
    layer = layers()
    upward = [
        f"{path.relative_to(ROOT)} imports {other}"
        for name, path in modules()
        for other in imported(path) - {name}
        if layer[other] < layer[name]
    ]
    assert not upward


def test_no_modules_import_each_other_in_a_circle():
    arrows: dict[str, set[str]] = {}
    for name, path in modules():
        arrows[name] = arrows.get(name, set()) | (imported(path) - {name})
    while arrows:
        free = [name for name, others in arrows.items() if not others & arrows.keys()]
        assert free, f"in a circle: {sorted(arrows)}"
        for name in free:
            del arrows[name]
