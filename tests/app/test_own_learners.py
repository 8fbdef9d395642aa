"""Learners of a person's own on the command line: their code runs if it is named there, and never else."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from helpers.support import assert_same_run, command

import ttt_batch as ttt
from ttt_batch.__main__ import run
from ttt_batch.app.cli import COMMANDS, program
from ttt_batch.core import files, named_code
from ttt_batch.core.errors import RunFileError, StudyFileError, UsageError
from ttt_batch.learners import LEARNERS, homes_of, register, register_named
from ttt_batch.studies.study import load_study

CODE = """
import dataclasses
from pathlib import Path

from ttt_batch.learners import LEARNERS

with Path(__file__).with_name("ran").open("a") as file:
    file.write("x")
MINE = dataclasses.replace(LEARNERS["td"], name="mine")
MINE = dataclasses.replace(MINE, defaults=dataclasses.replace(MINE.defaults, lambda_=0.7))
TD = LEARNERS["td"]
TAKEN = dataclasses.replace(TD)
NETWORKS = dataclasses.replace(TD, name="patterns")
ALIKE = dataclasses.replace(TD, name="sutton_barto")
"""
"""Its kernels are those of td, which know no lambda, so nothing is compiled for it."""

OPEN = ["evaluate", "show", "play", "watch", "tournament", "plot", "info", "check", "compare", "export", "prove"]
REMEDY = "it is of learner mine, which does not come with this package; add --learner FILE.py:NAME"


def forget() -> None:
    """Be as a process that has just begun."""
    LEARNERS.pop("mine", None)
    named_code._kept.clear()
    files.EVERYWHERE.clear()


@pytest.fixture(autouse=True)
def clean() -> Iterator[None]:
    forget()
    yield
    forget()


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the code, and a run and a study of its learner."""
    folder = tmp_path_factory.mktemp("own")
    (folder / "own.py").write_text(CODE)
    words = ["--learner", "own.py:MINE", "--games", "500", "--batch", "100", "--quiet"]
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        assert run(["train", *words, "--lambda", "0.25", "--out", "m.h5"]) == 0
        assert run(["study", *words, "--lambda", "0.25,0.5", "--seeds", "2", "--out", "s.h5"]) == 0
    return folder


@pytest.fixture
def here(made: Path, tmp_path: Path) -> Path:
    """A copy of these files; nothing knows the learner any more."""
    for name in ("own.py", "m.h5", "s.h5"):
        shutil.copy(made / name, tmp_path)
    forget()
    return tmp_path


def arguments(name: str) -> list[str]:
    return {
        "evaluate": ["m"],
        "show": ["m"],
        "play": ["m", "--plain"],
        "watch": ["m", "--games", "2"],
        "tournament": ["m", "m.h5"],
        "plot": ["m", "-o", "m.png"],
        "compare": ["m", "m"],
        "export": ["m", "--to", "csv"],
    }.get(name, ["m"])


@pytest.mark.parametrize("name", OPEN)
def test_every_command_says_which_code_it_needs_and_runs_none(here: Path, capsys, name: str) -> None:
    status, out, err = command(capsys, name, *arguments(name))
    assert (status, REMEDY in out + err, "Traceback" in err) == (1, True, False)
    assert not (here / "ran").exists()


@pytest.mark.sampled(1)
@pytest.mark.parametrize("name", [name for name in OPEN if name not in ("play", "plot", "prove")])
def test_every_command_opens_a_run_whose_code_is_named(here: Path, capsys, name: str) -> None:
    status, _, err = command(capsys, name, *arguments(name), "--learner", "own.py:MINE")
    assert (status, "ttt-batch: " in err) == (0, False), err
    assert (here / "ran").read_text() == "x"


def test_every_command_that_opens_runs_has_the_option() -> None:
    options = {name: {param.name for param in program.commands[name].params} for name in COMMANDS}
    assert [name for name, names in options.items() if "trust" in names and "learner" not in names] == []


def test_what_python_opens_is_registered_first(here: Path) -> None:
    with pytest.raises(RunFileError, match=r"m.h5: it is of learner mine, .*; register it first \(learners.register\)"):
        ttt.load("m.h5")
    with load_study("s.h5") as study, pytest.raises(StudyFileError, match=r"s.h5: it is of learner mine, which does"):
        _ = study.design


def test_a_run_goes_on_with_its_own_options(here: Path, capsys) -> None:
    words = ["--learner", "own.py:MINE", "--quiet"]
    assert REMEDY in command(capsys, "train", "--resume", "m", "--until", "1000")[2]
    status, out, _ = command(capsys, "train", "--resume", "m", "--until", "1000", *words)
    assert status == 0 and "ttt-batch play m.h5 --learner own.py:MINE" in out
    whole = ttt.train(1_000, learner="mine", lambda_=0.25, batch=100)
    assert whole.config.lambda_ == 0.25
    assert_same_run(ttt.load("m.h5"), whole)


def test_a_study_goes_on_and_grows(here: Path, capsys) -> None:
    assert REMEDY in command(capsys, "study", "--resume", "s.h5")[2]
    finding = command(capsys, "check", "s.h5")[1]
    assert REMEDY in finding and finding.count("s.h5") == 1
    words = ["--learner", "own.py:MINE", "--quiet"]
    assert command(capsys, "study", "--resume", "s.h5", "--seeds", "3", *words)[0] == 0
    with load_study("s.h5") as study:
        assert study.state.tolist() == [[1, 1, 1], [1, 1, 1]]
        assert [setting.config.lambda_ for setting in study.design.settings] == [0.25, 0.5]
    assert command(capsys, "check", "s.h5", "--learner", "own.py:MINE")[0] == 0


def test_a_description_names_no_code(here: Path, capsys) -> None:
    (here / "a.toml").write_text('learner = "own.py:MINE"\ngames = 100\nseeds = 1\n')
    (here / "b.toml").write_text('learner = ["td", "mine"]\ngames = 100\nseeds = 1\n')
    status, _, err = command(capsys, "study", "a.toml", "-o", "a.h5")
    assert (status, "unknown learner 'own.py:MINE'" in err, (here / "ran").exists()) == (2, True, False)
    assert command(capsys, "study", "b.toml", "-o", "b.h5", "--learner", "own.py:MINE", "--quiet")[0] == 0
    few = ["--games", "100", "--seeds", "1", "--quiet"]
    for number, names in enumerate(("td,own.py:MINE", "own.py:MINE,td")):
        assert command(capsys, "study", "--learner", names, "-o", f"{number}.h5", *few)[0] == 0


def test_another_run_may_be_of_ones_own_learner(here: Path, capsys) -> None:
    words = ["train", "--games", "200", "--opponent", "m.h5", "-o", "t.h5", "--quiet"]
    assert REMEDY in command(capsys, *words)[2]
    assert command(capsys, *words, "--learner", "td,own.py:MINE")[0] == 0
    assert ttt.load("t.h5").config.learner == "td"


@pytest.mark.parametrize(
    ("named", "status", "message"),
    [
        ("own.py:NOBODY", 2, "own.py has no NOBODY; it has MINE, TD, TAKEN, NETWORKS, ALIKE"),
        ("own.py:dataclasses", 2, "learner 'own.py:dataclasses' is of type module; name a Learner of that file"),
        ("own.py:TAKEN", 2, "learner 'td' is there already; choose another name"),
        ("own.py:NETWORKS", 2, "learner 'patterns' is there already; choose another name"),
        ("own.py:ALIKE", 2, "learner 'sutton-barto' is there already; choose another name"),
        ("none.py:MINE", 1, "there is no file none.py; check the name"),
        ("bad.py:MINE", 1, "bad.py failed: ZeroDivisionError: division by zero"),
        ("own.py:", 2, "learner 'own.py:' is not of the form FILE.py:NAME"),
    ],
)
def test_what_is_no_learner_is_told_in_a_line(here: Path, capsys, named: str, status: int, message: str) -> None:
    (here / "bad.py").write_text("1 / 0\n")
    for words in (["train", "--games", "10"], ["study", "--games", "10", "--seeds", "1"], ["info", "m"], ["learners"]):
        given = [named] if words == ["learners"] else ["--learner", named]
        found, out, err = command(capsys, *words, *given)
        assert (found, out, err.count("\n")) == (status, "", 1), err
        assert message in err


def test_a_shell_that_completes_runs_no_code(here: Path) -> None:
    program.make_context("ttt-batch", ["info", "--learner", "own.py:MINE", "m"], resilient_parsing=True)
    context = program.commands["info"].make_context("info", ["--learner", "own.py:MINE"], resilient_parsing=True)
    assert context is not None and not (here / "ran").exists()


def test_other_processes_are_told_where_a_learner_is(here: Path, capsys) -> None:
    command(capsys, "learners", "own.py:MINE")
    assert homes_of(["td", "mine"]) == (f"{here.resolve() / 'own.py'}:MINE",)
    forget()
    register(type(LEARNERS["td"])(**{**vars(LEARNERS["td"]), "name": "mine"}))
    assert homes_of(["mine"]) == (__name__,)


def test_python_reads_no_files_of_learners(here: Path) -> None:
    with pytest.raises(UsageError, match=r"unknown learner 'own.py:MINE'"):
        ttt.train(10, learner="own.py:MINE")
    assert not (here / "ran").exists()


def test_a_path_may_have_a_comma(here: Path, capsys) -> None:
    (here / "a,b").mkdir()
    (here / "own.py").rename(here / "a,b" / "own.py")
    assert command(capsys, "info", "m", "--learner", "a,b/own.py:MINE")[0] == 0
    assert command(capsys, "study", "--resume", "s", "--learner", "a,b/own.py:MINE", "--quiet")[0] == 0


def test_all_learners_that_a_file_registers_are_found_in_it(here: Path) -> None:
    code = CODE.replace("import LEARNERS", "import LEARNERS, register")
    (here / "two.py").write_text(f'{code}register(MINE)\nregister(dataclasses.replace(TD, name="second-one"))\n')
    try:
        register_named("two.py:MINE")
        assert homes_of(["second-one"]) == homes_of(["mine"]) == (f"{here / 'two.py'}:MINE",)
    finally:
        LEARNERS.pop("second-one")
