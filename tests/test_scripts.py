"""The scripts that the README and the pages of data/ name, each run with as little work as it can be given."""

import json
import os
import re
import runpy
import shutil
import sys
from pathlib import Path

import numpy as np
import pytest
from helpers.support import finished

import ttt_batch as ttt

ROOT = Path(__file__).parent.parent
SCRIPTS = ROOT / "scripts"
BOOK = ROOT / "ttt_batch" / "games" / "book-6x7x4-gravity.npz"

SMALL = {
    "benchmark.py": ["--once", "--only", "td, batch 16,384", "--json", "out.json", "--page", "out.md"],
    "boards.py": ["--once", "--games", "10000", "--json", "out.json", "--picture", "out.png", "--page", "out.md"],
    "claims.py": ["--only", "optimal-at-random", "--json", "out.json", "--page", "out.md"],
    "claims_beans.py": ["--learners", "3"],
    "commands_page.py": ["--page", "out.md"],
    "connect_four.py": [
        *("--board", "4x5x3-gravity", "--seeds", "1", "--seconds", "0.1", "--games", "100", "10"),
        *("--json", "out.json", "--page", "out.md", "--picture", "out.png"),
    ],
    "duel.py": [str(ROOT), str(ROOT), "--only", "random games", "--rounds", "2"],
    "fingerprints.py": ["out.jsonl", "--count", "12"],
    "gallery.py": ["--out", "pictures", "--games", "10000"],
    "hops.py": ["--only", "train", "evaluate", "--picture", "out.png"],
    "itemise.py": ["--runs", "1"],
    "json_keys.py": ["--page", "out.md"],
    "opening_book.py": ["4x4x3-gravity", "--plies", "2", "--signs", "3", "--slots", "65536", "--book", "out.npz"],
    "picture.py": [str(ROOT / "data" / "benchmark.json"), "out.png"],
    "proofs.py": [
        *("--seeds", "1", "--long", "1", "--larger", "1", "--gravity", "1", "--at-most", "1"),
        *("--json", "out.json", "--picture", "out.png", "--page", "out.md"),
    ],
    "rules.py": [
        *("--games", "300", "--seeds", "2", "--only", "td", "reinforce"),
        *("--json", "out.json", "--page", "out.md", "--picture", "out.png"),
    ],
    "scaling.py": ["--quick", "--json", "out.json", "--page", "out.md"],
    "seeds.py": [
        *("study.h5", "--samples", "20"),
        *("--json", "out.json", "--page", "out.md", "--picture", "out.png"),
    ],
    "smallest.py": ["--seconds", "5", "--only", "3x3-misere first", "--json", "out.json", "--page", "out.md"],
    "soak.py": ["--minutes", "0.1", "--kills", "1", "--json", "out.json"],
    "tables.py": ["--page", "out.md"],
    "study_pages.py": ["settling", "study.h5", "--json", "out.json", "--page", "out.md"],
}
"""Options for each script, by its name."""


def test_every_script_of_the_pages_is_run_here():
    pages = [ROOT / "README.md", *(ROOT / "data").rglob("*.md")]
    named = {name for page in pages for name in re.findall(r"scripts/(\w+\.py)", page.read_text(encoding="utf-8"))}
    assert {name for name in named if (SCRIPTS / name).exists()} == named
    # The checker has tests of its own: `proofs/test_certificates.py`.  Three are modules that others of them import.
    others = {"check_certificate.py", "claims_list.py", "claims_menace.py", "numpy_boards.py"}
    assert named <= {*SMALL, *others, *(path.name for path in (SCRIPTS / "examples").glob("*.py"))}


@pytest.mark.slow
@pytest.mark.parametrize("name", SMALL)
def test_a_script_does_its_work(name, tmp_path):
    if name == "benchmark.py" and shutil.which("gcc") is None:
        pytest.skip("compares with C, and there is no gcc")
    if name == "claims.py":
        shutil.copy(ROOT / "data" / "claims.json", tmp_path / "out.json")
    if name in ("study_pages.py", "seeds.py"):
        described = ROOT / "data" / ("seeds.toml" if name == "seeds.py" else "settling.toml")
        grids = described.read_text(encoding="utf-8")
        (tmp_path / "study.toml").write_text(grids.replace('"1M"', "20_000"), encoding="utf-8")
        ttt.study(tmp_path / "study.toml", seeds=2, out=tmp_path / "study.h5")
    done = finished([sys.executable, str(SCRIPTS / name), *SMALL[name]], cwd=tmp_path, timeout=400)
    assert done.returncode == 0, done.stderr
    if "out.json" in SMALL[name]:
        assert json.loads((tmp_path / "out.json").read_text(encoding="utf-8"))
    if "out.md" in SMALL[name]:
        assert (tmp_path / "out.md").read_text(encoding="utf-8").startswith("# ")
    if name == "gallery.py":
        made = {path.name for path in (tmp_path / "pictures").iterdir()}
        plots = {"learn.gif", "curves.png", "opening.png", "coverage.png", "study.png", "environments.png"}
        assert {*plots, "terminal.svg"} <= made, done.stderr
        assert {"page.png", "learn.png", "phone.png"} <= made or not os.environ.get("CI"), done.stderr
    if "out.png" in SMALL[name]:
        assert (tmp_path / "out.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("script", "options", "status", "said"),
    [
        ("seeds.py", [], 1, "name the study's file, or figures that were kept with --from"),
        ("seeds.py", ["missing.h5"], 1, "there is no file missing.h5; check the name"),
        ("seeds.py", ["text.txt"], 1, "text.txt is not a ttt-batch study; name a file that a study wrote"),
        ("seeds.py", ["text.txt", "--samples", "0"], 2, "--samples 0 is below 1"),
        (
            *("seeds.py", ["--from", "missing.json"], 1),
            "cannot read missing.json: No such file or directory; check the name and its permissions",
        ),
        *(
            (
                "seeds.py",
                ["--from", name],
                1,
                f"{name} holds no figures of this script; name a file that it wrote with --json",
            )
            for name in ("text.txt", "other.json")
        ),
        ("study_pages.py", ["settling", "missing.h5"], 1, "there is no file missing.h5; check the name"),
        ("check_certificate.py", [], 1, "name one file: FILE.npz"),
        ("check_certificate.py", ["one.npz", "two.npz"], 1, "name one file: FILE.npz"),
        ("check_certificate.py", ["missing.npz"], 1, "cannot read missing.npz: No such file or directory"),
        ("check_certificate.py", ["."], 1, "cannot read .: Is a directory"),
        ("check_certificate.py", ["text.txt"], 1, "does not hold: it is damaged, or no certificate"),
        ("check_certificate.py", ["objects.npz"], 1, "does not hold: it is damaged, or no certificate"),
        ("check_certificate.py", [str(BOOK)], 1, "does not hold: it is damaged, or no certificate"),
        ("examples/league.py", ["0"], 2, "generations 0 is below 1; give a number from 1, e.g. 12"),
        ("examples/league.py", ["many"], 2, "argument generations: invalid int value: 'many'"),
    ],
)
def test_a_script_refuses_wrong_files_and_options_in_a_line(
    script, options, status, said, tmp_path, monkeypatch, capsys
):
    (tmp_path / "text.txt").write_text("no file of ours", encoding="utf-8")
    (tmp_path / "other.json").write_text('{"rows": []}', encoding="utf-8")
    np.savez(tmp_path / "objects.npz", source=np.array(None, dtype=object))
    monkeypatch.syspath_prepend(str(SCRIPTS))
    monkeypatch.setattr("sys.argv", [script, *options])
    with pytest.raises(SystemExit) as end:
        runpy.run_path(str(SCRIPTS / script), run_name="__main__")
    # Python prints the text of an exit on standard error, and exits with 1.
    text = capsys.readouterr().err if end.value.code == 2 else end.value.code
    assert text.strip().rpartition("error: ")[2] == said
    assert end.value.code in (status, said)
