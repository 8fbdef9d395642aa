"""The pages of data/: each is what its script writes from the figures beside it, and what they name can be run."""

import importlib
import json
import re
import shlex
from pathlib import Path
from types import ModuleType

import pytest

from ttt_batch.__main__ import run
from ttt_batch.app.cli import COMMANDS

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
DATA, SCRIPTS = ROOT / "data", ROOT / "scripts"
MEASURED = ("benchmark", "boards", "headlines", "settling")
"""Scripts that write data/NAME.md from data/NAME.json."""


def data_page(name: str) -> Path:
    """The page that a script writes."""
    return Path("data") / f"{name.replace('_', '-')}.md"


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


def test_json_has_the_keys_of_the_page(script, tmp_path):
    """Commands that take long are run by test_scripts.py, with the whole script."""
    keys, text = script("json_keys"), (DATA / "json-keys.md").read_text(encoding="utf-8")
    for section in keys.sections(keys.collect(tmp_path, [each for each in keys.COMMANDS if each.quick])):
        assert f"\n{section}\n" in text, (
            f"{section}\n\nwrite it again: python scripts/json_keys.py --page data/json-keys.md"
        )
    headings = re.findall("^## (.*)$", text, re.MULTILINE)
    assert headings == [command.label for command in keys.COMMANDS]
    shown = {re.split("[ ,]", heading)[0] for heading in headings}
    assert shown == {*COMMANDS} - {"play"}


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
            if Path(path).stem in (*MEASURED, "json_keys"):
                found.setdefault(Path(path).stem, []).append(script(Path(path).stem).parser().parse_args(words))
    for name in (*MEASURED, "json_keys"):
        assert {options.page for options in found[name] if options.page} == {data_page(name)}, name


def test_the_readme_keeps_its_length_and_order():
    assert len(README.splitlines()) <= 320
    assert re.findall("^## (.*)$", README, re.MULTILINE) == [
        *("Two commands", "A tour", "Learners", "From Python", "Play", "Commands", "Boards"),
        *("Engines, and what a batch means", "The run file", "Reliability", "Speed", "Development"),
    ]


def test_figures_of_the_readme_are_those_of_the_pages():
    """Rows of the table of commands begin with a name in code; the others are measured."""
    measured = {line for page in PAGES[1:] for line in page.read_text(encoding="utf-8").splitlines()}
    rows = [line for line in README.splitlines() if re.match(r"\| [^`c]", line)]
    assert len(rows) > 20 and not set(rows) - measured


def test_commands_within_a_line_exist(capsys):
    text = "".join(page.read_text(encoding="utf-8") for page in PAGES)
    named = [shlex.split(line) for line in re.findall(r"`ttt-batch ([a-z][^`]*)`", text)]
    for name, *words in named:
        assert run([name, "--help"]) == 0, name
        known = re.findall(r"--[a-z-]+", capsys.readouterr().out)
        assert {word for word in words if word.startswith("--")} <= set(known), name
    assert {name for name, *_ in named} >= {*COMMANDS} - {"play", "compare"}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_lines_fit_and_links_lead_somewhere(page):
    text = page.read_text(encoding="utf-8")
    long = [line for line in text.splitlines() if len(line) > 120 and not (page.parent == DATA and line[0] == "|")]
    assert not long
    headings = {re.sub(r"[^a-z0-9 -]", "", h.lower()).replace(" ", "-") for h in re.findall(r"^#+ (.*)$", text, re.M)}
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        assert target[1:] in headings if target.startswith("#") else (page.parent / target).exists(), target
