"""The distributions: what they hold, and that they can be built from a folder without Git."""

import re
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

import ttt_batch

ROOT = Path(__file__).parents[1]
NOT_SOURCE = shutil.ignore_patterns(
    ".git", "__pycache__", "*.egg-info", ".venv", ".*_cache", ".hypothesis", "build", "dist"
)


def files_below(folder: Path) -> set[str]:
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.slow  # pip takes some seconds
def test_distributions_built_without_git_hold_everything(tmp_path: Path) -> None:
    tree = tmp_path / "tree"
    shutil.copytree(ROOT, tree, ignore=NOT_SOURCE)
    for left_by_a_run in tree.glob("*.h5"):
        left_by_a_run.unlink()
    build = "import hatchling.build, sys; print(hatchling.build.build_sdist(sys.argv[1]))"
    done = subprocess.run(
        [sys.executable, "-c", build, str(tmp_path)], cwd=tree, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    with tarfile.open(tmp_path / done.stdout.split()[-1]) as archive:
        archive.extractall(tmp_path / "unpacked", filter="data")
    (unpacked,) = (tmp_path / "unpacked").iterdir()
    assert files_below(unpacked) == files_below(tree) | {"PKG-INFO"}

    pip = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation", "--no-index"]
    done = subprocess.run(
        [*pip, "--wheel-dir", str(tmp_path / "wheels"), str(unpacked)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    (wheel,) = (tmp_path / "wheels").iterdir()
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
    inside = {f"ttt_batch/{name}" for name in files_below(tree / "ttt_batch")}
    assert {name for name in names if ".dist-info/" not in name} == inside
    assert any(name.endswith(".dist-info/licenses/ttt_batch/LICENSE") for name in names)


def test_the_version_is_the_same_everywhere() -> None:
    citation = (ROOT / "data" / "CITATION.cff").read_text(encoding="utf-8")
    changelog = (ROOT / "data" / "CHANGELOG.md").read_text(encoding="utf-8")
    assert re.findall(r"^version: (.*)$", citation, re.MULTILINE) == [ttt_batch.__version__]
    assert re.findall(r"^## ([0-9.]+)", changelog, re.MULTILINE)[0] == ttt_batch.__version__
