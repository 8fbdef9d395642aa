"""The pages of data/: each is what its script writes from the figures beside it, and what they name can be run."""

import importlib
import json
import re
import shlex
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parent.parent
DATA, SCRIPTS = ROOT / "data", ROOT / "scripts"
MEASURED = ("benchmark", "boards", "headlines", "settling")
"""Scripts that write data/NAME.md from data/NAME.json."""

PAGES = [ROOT / "README.md", *sorted(DATA.glob("*.md"))]
MEASURING = re.compile(r"python (scripts/[a-z_]+\.py[^`\n#]*)")


@pytest.fixture
def script(monkeypatch):
    """A script as a module, by its name."""

    def load(name: str) -> ModuleType:
        monkeypatch.syspath_prepend(str(SCRIPTS))
        return importlib.import_module(name)

    return load


@pytest.mark.parametrize("name", MEASURED)
def test_a_page_is_what_its_script_writes(name, script, tmp_path, monkeypatch):
    words = ["--from", str(DATA / f"{name}.json"), "--page", str(tmp_path / "page.md")]
    monkeypatch.setattr("sys.argv", [f"{name}.py", *words])
    script(name).main()
    assert (tmp_path / "page.md").read_text(encoding="utf-8") == (DATA / f"{name}.md").read_text(encoding="utf-8"), (
        f"write it again: python scripts/{name}.py --from data/{name}.json --page data/{name}.md"
    )


def test_from_without_a_page_is_refused(script, monkeypatch):
    monkeypatch.setattr("sys.argv", ["settling.py", "--from", str(DATA / "settling.json")])
    with pytest.raises(SystemExit, match="--from needs --page"):
        script("settling").main()


def test_a_seed_that_never_settles_stands_on_the_page(script):
    """What is infinite as measured is null in JSON."""
    report = json.loads((DATA / "settling.json").read_text(encoding="utf-8"))
    report["cases"][0].update(first_proof_games=None, first_proof_seconds=None, settled_games=None)
    assert "| td | 0.3 | 0.5 | walk | 1 | 100% | - | - | 100.0% | 100% | - |" in script("settling").page(report)


def test_a_template_takes_just_its_parts(script, tmp_path, monkeypatch):
    writer = script("page_writer")
    monkeypatch.setattr(writer, "TEMPLATES", tmp_path)
    (tmp_path / "page.md").write_text("{{one}} and {{two}}\n", encoding="utf-8")
    assert writer.fill("page.md", one="1", two="2") == "1 and 2\n"
    with pytest.raises(LookupError, match="needs more than one"):
        writer.fill("page.md", one="1")
    with pytest.raises(LookupError, match="no place for three"):
        writer.fill("page.md", one="1", two="2", three="3")
    assert writer.markdown_table(["a", "b"], [["|z|", 1]]) == "| a | b |\n|---|---|\n| \\|z\\| | 1 |"


def test_what_the_pages_run_has_the_options_that_they_give(script):
    """Measuring takes minutes to hours, so these commands are parsed here; test_scripts.py runs them with less work."""
    found = {}
    for page in PAGES:
        for line in MEASURING.findall(page.read_text(encoding="utf-8")):
            path, *words = shlex.split(line)
            assert (ROOT / path).exists(), line
            if Path(path).stem in MEASURED and words:
                found.setdefault(Path(path).stem, []).append(script(Path(path).stem).parser().parse_args(words))
    for name in MEASURED:
        assert {options.page for options in found[name]} == {Path(f"data/{name}.md")}, name


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_lines_fit_and_links_lead_somewhere(page):
    text = page.read_text(encoding="utf-8")
    long = [line for line in text.splitlines() if len(line) > 120 and not (page.parent == DATA and line[0] == "|")]
    assert not long or page.stem == "README"
    headings = {re.sub(r"[^a-z0-9 -]", "", h.lower()).replace(" ", "-") for h in re.findall(r"^#+ (.*)$", text, re.M)}
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        assert target[1:] in headings if target.startswith("#") else (page.parent / target).exists(), target
