"""Hostile text and streams, in every command: names, arguments and files that would command the terminal that shows
them or are no text at all; readers who have gone, and disks that are full.
"""

import io
import json
import os
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import h5py
import pytest
from helpers.runfiles import changed, configured, sealed
from helpers.support import command, finished, mostly_slow

import ttt_batch as ttt
from ttt_batch.__main__ import run as run_here
from ttt_batch.app.cli import COMMANDS, program
from ttt_batch.app.commands.train import _ask_for_file
from ttt_batch.app.reports.catalogues import learners_text
from ttt_batch.core import console
from ttt_batch.core.console import all_lines, for_shell, one_line, shortened
from ttt_batch.core.errors import TttBatchError

HOSTILE = "a\x7f\x1b[31m\x9b2J\x07\r\n$ttt$: [red]saved[bold] \u202eb\u2028\u200b\udcff\u00e9'\\.h5"
"""A file's name with colours, a line of its own, a turned direction, a byte that is no text, and markup."""

FORGED = "\n$ttt$"
"""A line that begins so was forged."""

RUN, NEW, GAMES, TABLE, STUDY = "<run>", "<new>", "<games>", "<table>", "<study>"
"""Stand for names in `USES`: of a run, of a file that is not there yet, of games, of a table, of a study."""

OLD = {RUN, GAMES, TABLE, STUDY}

USES: dict[str, list[list[str]]] = {
    "train": [
        ["--games", "100", "-q", "-o", NEW],
        ["--resume", RUN, "--more", "10", "-o", NEW, "--fork"],
        ["--games", "10", "--start", RUN, "--opponent", RUN, "--as", "first", "-o", NEW],
    ],
    "study": [["--resume", STUDY, "-q"], ["--games", "10", "--seeds", "1", "-q", "-o", NEW]],
    "evaluate": [[RUN], [RUN, "--against", RUN]],
    "prove": [[RUN], [RUN, "--certificate", f"{NEW}.npz"]],
    "play": [[RUN], [RUN, "--learn", "-o", NEW]],
    "page": [["-o", f"{NEW}.html"]],
    "watch": [[RUN], [RUN, RUN, "--games", "10"]],
    "plot": [[RUN, "--live"], [RUN, "--kind", "opening", "-o", f"{NEW}.svg"]],
    "show": [[RUN]],
    "tournament": [[RUN, RUN]],
    "learners": [[]],
    "boards": [["3x3"]],
    "compare": [[RUN, RUN]],
    "learn-from": [[GAMES, "--learner", "td", "-o", NEW], [GAMES, "--run", RUN, "--skip-bad", "-o", NEW]],
    "export": [[RUN, "--to", form, "-o", f"{NEW}.{form}"] for form in ("csv", "html")],
    "import": [[TABLE, "--format", "csv", "--learner", "td", "-o", NEW]],
    "info": [[RUN], [RUN, "--json"], [STUDY]],
    "check": [[RUN], [STUDY]],
    "warmup": [["--help"]],
    "bench": [["--help"]],
}
"""What each command can do with a file, by its words."""

EACH = [(name, *words) for name, uses in USES.items() for words in uses]
NAMING = ("evaluate", "watch", "show", "tournament", "info", "check")
"""Commands that say which file it is about."""

MOST = [words for words in EACH if "opening" not in words]
"""Without the picture, which takes as long as all others together."""

needs_full = pytest.mark.skipif(not Path("/dev/full").is_char_device(), reason="needs /dev/full")


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """Return the contents of files of each kind."""
    folder = tmp_path_factory.mktemp("files")
    run = ttt.train(20_000, out=folder / "run.h5")
    assert run.games and run_here(["export", str(folder / "run.h5"), "--to", "csv", "-o", str(folder / "t.csv")]) == 0
    games = b"4 0 8 2 6 7 1 3 5\n4 \x1b[2J\xe2\x80\xae 0\n"
    study = ttt.study(games=10, seeds=1, out=folder / "study.h5").path
    found = {RUN: folder / "run.h5", TABLE: folder / "t.csv", STUDY: study}
    return {kind: path.read_bytes() for kind, path in found.items()} | {GAMES: games}


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(sys, "stdin", io.StringIO("5\n0\n"))
    return tmp_path


def named(words: tuple[str, ...], files: dict[str, bytes], name: str) -> list[str]:
    """The words with `name` in each place; the files are made."""
    found = []
    for word in words:
        for kind, content in files.items():
            if word == kind:
                Path(f"{kind[1]}-{name}").write_bytes(content)
                word = f"{kind[1]}-{name}"
        found.append(word.replace(NEW, f"n-{name}"))
    return found


def assert_tame(text: str) -> None:
    """Nothing that a terminal would obey, and no line that a name forged."""
    assert all(character == "\n" or character.isprintable() for character in text), ascii(text)
    assert FORGED not in text and "Traceback" not in text, text


def test_every_command_is_attacked():
    assert list(USES) == list(COMMANDS)


@pytest.mark.slow
@pytest.mark.parametrize("words", EACH, ids=" ".join)
def test_hostile_names(here, capsys, files, words):
    if words[:2] == ("learn-from", GAMES) and "--skip-bad" not in words:
        files = files | {GAMES: files[GAMES].splitlines(keepends=True)[0]}
    status, out, err = command(capsys, *named(words, files, HOSTILE))
    assert status == 0, err
    assert_tame(out + err)
    if words[0] in NAMING and "--json" not in words:
        assert r"\x1b[31m\x9b2J" in out and r"\udcff" in out
    if "--json" in words:
        assert json.loads(out)["file"] == f"r-{HOSTILE}"
    for path in here.glob("*.svg"):
        ElementTree.parse(path)
    if "html" in words:
        assert_tame(next(here.glob("n-*")).read_text("utf-8"))


@pytest.mark.sampled(4)
@pytest.mark.parametrize("words", MOST, ids=" ".join)
def test_names_that_ascii_lacks(here, capsys, files, words, monkeypatch):
    """As with LANG=C or PYTHONIOENCODING=ascii: what cannot be encoded is written as an escape."""
    streams = [io.TextIOWrapper(io.BytesIO(), "ascii", write_through=True) for _ in range(2)]
    monkeypatch.setattr(sys, "stdout", streams[0])
    monkeypatch.setattr(sys, "stderr", streams[1])
    files = files | {GAMES: files[GAMES].splitlines(keepends=True)[0]}
    assert run_here(named(words, files, "中é.h5")) == 0
    out, err = (stream.buffer.getvalue().decode("ascii") for stream in streams)
    assert "Traceback" not in err
    if words[0] in ("info", "show", "check", "evaluate") and "--json" not in words:
        assert r"\u4e2d\xe9.h5" in out


def hostile_run(content: bytes) -> bytes:
    """The run with hostile names and values in its provenance, sealed as whole."""

    def change(file: h5py.File) -> None:
        attributes = file["provenance"].attrs
        for name in ("created", "command", "ttt_batch_version", "processor"):
            attributes.create(name, HOSTILE.replace("\udcff", "").encode(), dtype=h5py.string_dtype("utf-8", 80))
        attributes.create("wh\x1bo\u202e\n$ttt$", b"\x1b]0;title\x07", dtype=h5py.string_dtype("utf-8", 10))

    return sealed(changed(content, change))


@pytest.mark.sampled(1)
@pytest.mark.parametrize("words", [words for words in MOST if RUN in words], ids=" ".join)
def test_hostile_provenance(here, capsys, files, words):
    files = files | {RUN: hostile_run(files[RUN]), GAMES: files[GAMES].splitlines(keepends=True)[0]}
    status, out, err = command(capsys, *named(words, files, "x.h5"))
    assert status == 0, err
    assert_tame(out + err)
    if words[0] == "info":
        assert r"\u202e" in out
    if "html" in words:
        assert_tame(next(here.glob("n-*")).read_text("utf-8"))


@pytest.mark.parametrize(
    "key", mostly_slow([f"wh{HOSTILE[:-5]}".replace("\udcff", ""), "learner", "board", "engine", "seat"], "learner")
)
@pytest.mark.parametrize("words", [words for words in EACH if RUN in words], ids=" ".join)
def test_hostile_configuration(here, capsys, files, words, key):
    files = files | {RUN: sealed(changed(files[RUN], configured(ascii=False, **{key: HOSTILE.replace("\udcff", "")})))}
    status, out, err = command(capsys, *named(words, files, "x.h5"))
    assert status == 1
    assert_tame(out + err)
    assert (out if words[0] == "check" else err).count("\n") == (3 if words[0] == "tournament" else 1)


@pytest.mark.parametrize(
    ("suffix", "content"),
    [
        (".csv", "code,board,first,second\n0,\x1b[31m\u202e\x9b,1,2\n".encode()),
        (".csv", b"1,\x1b[31m,3,4,5,6,7,8,9\n" * 19_683),
        (".pkl", b"cos\x1b[31m\nsys\x9btem\n."),
        (".pkl", b"\x80\x04\x8c\x0eos\xc2\x9b\xe2\x80\xaesystem\x94\x8c\x03x\x1by\x94\x93\x94."),
        (".csv", b"\xff\xfe\x1b[31m"),
    ],
)
def test_hostile_tables(here, capsys, suffix, content):
    Path(f"t{suffix}").write_bytes(content)
    learner = "minimax-q" if content.startswith(b"1,") else "td"
    status, out, err = command(capsys, "import", f"t{suffix}", "--learner", learner, "-o", "x.h5")
    assert (status, out, err.count("\n")) == (1, "", 1)
    assert_tame(err)


def test_hostile_games(here, capsys, files):
    Path("g.txt").write_bytes(files[GAMES])
    for words in ([], ["--skip-bad"]):
        status, out, err = command(capsys, "learn-from", "g.txt", "--learner", "td", "-o", "x.h5", *words)
        assert (status, err.count("\n")) == (0 if words else 1, 1) and r"\x1b" in err
        assert_tame(out + err)


def options(name: str) -> list[str]:
    """Options of a command that take a value."""
    found = program.commands[name].params
    names = [one.opts[0] for one in found if not getattr(one, "is_flag", False)]
    return [name for name in names if name.startswith("-") and name != "--help"]


ODD = ["n" * 300, "", ".", "/", "x\0y", "folder", "loop.h5", "no/x.h5", "g.txt/x.h5", "/proc/self/mem", HOSTILE]
"""Names of nothing that could be read."""

FIRST = {"train": ["--games", "10", "-o", "n"], "learn-from": ["g.txt", "--learner", "td", "-o", "n"]}
"""Words with which an option is attacked, where they are not those of `USES`."""


OUTPUTS = ("--out", "--record", "--solution")
"""Options that name a file to write, which may have a hostile name."""


@pytest.mark.sampled(26)
@pytest.mark.parametrize("value", mostly_slow([HOSTILE, "9" * 5000, "n" * 300, "", "x\0y", "."], HOSTILE))
@pytest.mark.parametrize(("name", "option"), [(name, option) for name in COMMANDS for option in options(name)])
def test_hostile_values(here, capsys, files, name, option, value):
    """Whatever an option is given costs a line at most, and no word of Python's or the system's own."""
    Path("g.txt").write_text("4 0 8 2 6 7 1 3 5\n")
    words = FIRST[name] if name in FIRST else [] if name in ("warmup", "bench") else USES[name][-1]
    if name == "plot":
        words = [*USES[name][-1][:1], "-o", "n.svg"]
    status, out, err = command(capsys, name, *named(tuple(words), files, "x.h5"), option, value)
    assert_tame(out + err)
    if status == 0:
        assert option in OUTPUTS and value == HOSTILE
    else:
        assert status in (1, 2) and len(err.splitlines()) == 1, (status, out, err)
    assert len(err) < 1100


@pytest.mark.parametrize("name", mostly_slow(ODD, "n" * 300, "loop.h5"))
@pytest.mark.parametrize("words", [words for words in EACH if OLD & {*words}], ids=" ".join)
def test_names_of_what_is_no_file(here, capsys, files, words, name):
    Path("folder").mkdir()
    Path("loop.h5").symlink_to("loop.h5")
    Path("g.txt").write_text("4 0 8 2 6 7 1 3 5\n")
    wanted = [name if word in OLD else word.replace(NEW, "n") for word in words]
    status, out, err = command(capsys, *wanted)
    assert_tame(out + err)
    lines = 3 if words[0] == "tournament" and name else 1  # it says of each file why it is left out
    finding = words[0] == "check" and name == "/proc/self/mem"  # an empty file, as far as anybody can see
    assert status in (1, 2) and len((out if finding else err).splitlines()) == lines, (status, out, err)


@pytest.mark.parametrize("argument", mostly_slow([HOSTILE, f"--{HOSTILE}", "9" * 5000], f"--{HOSTILE}"))
@pytest.mark.parametrize("name", ["", *COMMANDS])
def test_arguments_that_nothing_takes(here, capsys, name, argument):
    status, out, err = command(capsys, *([name] if name else []), argument, *["x"] * 400)
    taken = name in ("plot", "show", "tournament") and not argument.startswith("--")  # as names and moves
    # A position of the newest run, and a wrong one; or perhaps games.
    taken = taken and (name, argument[0]) not in (("show", "9"), ("tournament", "9"))
    lines = 12 if taken and name == "tournament" else 1  # it says of ten files why they are left out
    assert (status, out, err.count("\n")) == (1 if taken else 2, "", lines)
    assert_tame(err)
    assert max(map(len, err.splitlines())) < 1100


class Full(io.TextIOWrapper):
    """A stream onto a full disk."""

    def __init__(self) -> None:
        super().__init__(open("/dev/full", "wb"), "utf-8")  # noqa: PTH123, SIM115 - closed with the stream


def without_reader() -> io.TextIOWrapper:
    """A pipe whose reader has gone."""
    reader, writer = os.pipe()
    os.close(reader)
    return io.TextIOWrapper(os.fdopen(writer, "wb"), "utf-8")


@pytest.mark.sampled(10)
@needs_full
@pytest.mark.parametrize("words", MOST, ids=" ".join)
def test_standard_output_that_takes_nothing(here, capsys, files, words, monkeypatch):
    """A full disk costs a line and status 1, a reader who has gone nothing; what was to be saved is saved."""
    files = files | {GAMES: files[GAMES].splitlines(keepends=True)[0]}
    for make, expected in ((Full, 1), (without_reader, 0)):
        for path in here.iterdir():
            path.unlink()
        monkeypatch.setattr(sys, "stdin", io.StringIO("5\n0\n"))
        with monkeypatch.context() as patch, make() as stream:
            patch.setattr(sys, "stdout", stream)
            status = run_here(named(words, files, "x.h5"))
        err = capsys.readouterr().err
        failures = [line for line in err.splitlines() if line.startswith("ttt-batch: cannot")]
        assert (status, len(failures)) == (expected, expected), err
        if words[0] != "play" and any(NEW in word for word in words):
            assert [path for path in here.iterdir() if path.name.startswith("n-")]
            assert make is without_reader or "it is saved in n-x.h5" in err


def test_findings_keep_their_status_without_a_reader(here, files, monkeypatch):
    Path("x.h5").write_bytes(files[RUN][:-1])
    with without_reader() as stream:
        monkeypatch.setattr(sys, "stdout", stream)
        assert run_here(["check", "x.h5"]) == 1


@pytest.mark.sampled(6)
@needs_full
@pytest.mark.parametrize("words", MOST, ids=" ".join)
def test_standard_error_that_takes_nothing(here, capsys, files, words, monkeypatch):
    files = files | {GAMES: files[GAMES].splitlines(keepends=True)[0]}
    expected = command(capsys, *named(words, files, "x.h5"))[:2]
    for make in (Full, without_reader):
        for path in here.glob("n-*"):
            path.unlink()
        monkeypatch.setattr(sys, "stdin", io.StringIO("5\n0\n"))
        with monkeypatch.context() as patch, make() as stream:
            patch.setattr(sys, "stderr", stream)
            status = run_here(named(words, files, "x.h5"))
        assert status == expected[0] and (capsys.readouterr().out != "") == (expected[1] != "")
        with monkeypatch.context() as patch, make() as stream:
            patch.setattr(sys, "stderr", stream)
            assert run_here(["info", "missing.h5"]) == 1


def test_an_exception_that_nobody_foresaw(capsys, monkeypatch):
    def fail(*_: object) -> str:
        raise ZeroDivisionError("by\n\x1b[31mnought")

    monkeypatch.setattr("ttt_batch.app.reports.catalogues.learners_text", fail)
    assert learners_text is not fail
    with pytest.raises(ZeroDivisionError):
        run_here(["learners"])  # conftest.py sets TTT_BATCH_DEBUG, so that no test leans on the last resort
    monkeypatch.delenv("TTT_BATCH_DEBUG")
    status, out, err = command(capsys, "learners")
    assert (status, out, err.count("\n")) == (1, "", 1)
    assert r"(ZeroDivisionError: by\n\x1b[31mnought); please report it" in err and "TTT_BATCH_DEBUG" in err


def test_one_line():
    assert one_line("plain é 中") == "plain é 中"
    assert one_line("a\nb\t\x1b\x9b\u202e\udcff\u00a0") == r"a\nb\t\x1b\x9b\u202e\udcff\xa0"
    assert one_line(one_line(HOSTILE)) == one_line(HOSTILE)
    assert str(TttBatchError("no\nsuch\x1b")) == r"no\nsuch\x1b"


def test_lines_keep_their_ends_and_our_colours():
    text = "\x1b[1mX\x1b[0m\n\x1b]0;title\x07\r\n"
    assert all_lines(text) == "\\x1b[1mX\\x1b[0m\n\\x1b]0;title\\x07\\r\n"
    assert all_lines(text, colour=True) == "\x1b[1mX\x1b[0m\n\\x1b]0;title\\x07\\r\n"


def test_a_long_message_keeps_both_ends(capsys):
    assert shortened("a" * 100, 100) == "a" * 100
    assert shortened(f"begin {'9' * 5000}; remedy", 100).endswith("9; remedy")
    for width in (10, 99, 1000):
        assert len(shortened("9" * 5000, width)) <= width
    console.print_message(f"board {'9' * 5000} is too large; choose a smaller one")
    err = capsys.readouterr().err
    assert err.startswith("board 999") and err.endswith("choose a smaller one\n") and len(err) == console.LONGEST_LINE


@pytest.mark.skipif(os.name == "nt", reason="needs a shell")
def test_names_to_copy_into_a_shell():
    names = [HOSTILE, "plain.h5", "two words", "it's", "-x", "\x01" + "7", "a\\b\n", "\udcff" * 3 + "1", "é\u202e"]
    script = "printf '%s\\0' " + " ".join(map(for_shell, names))
    done = subprocess.run(["bash", "-c", script], capture_output=True, check=True)
    assert done.stdout.split(b"\0")[:-1] == [os.fsencode(name) for name in names]
    assert all(for_shell(name).isprintable() for name in names)


@pytest.mark.slow
@needs_full
@pytest.mark.parametrize(
    ("line", "expected", "said"),
    [
        ("info x.h5 > /dev/full", 1, "ttt-batch: cannot print the result: No space left on device; send it"),
        ("--help > /dev/full", 1, "ttt-batch: cannot write to standard output: No space left on device; make"),
        ("info missing.h5 2> /dev/full", 1, ""),
        ("info x.h5 2> /dev/full >&-", 0, ""),
        ("train --games 10 2> /dev/full > /dev/full", 1, ""),
        ("info $'no\\xff.h5'", 1, "ttt-batch: there is no file 'no\\udcff.h5'"),
    ],
)
def test_the_whole_program(here, files, line, expected, said):
    Path("x.h5").write_bytes(files[RUN])
    environment = os.environ | {"LC_ALL": "C", "PYTHONUTF8": "0"}
    script = f"'{sys.executable}' -m ttt_batch {line}"
    done = finished(["bash", "-c", script], env=environment)
    assert (done.returncode, done.stderr.count("\n")) == (expected, bool(said)), done.stderr
    assert done.stderr.startswith(said)


@pytest.mark.slow
def test_what_the_library_for_pictures_would_say(here, files):
    """Where it cannot keep its own files, matplotlib warns with their folder's name as it is."""
    Path("x.h5").write_bytes(files[RUN])
    done = finished(
        [sys.executable, "-m", "ttt_batch", "plot", "x.h5", "-o", "n.svg"],
        env=os.environ | {"MPLCONFIGDIR": "/proc/\x1b[31mx"},
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "wrote n.svg\n", "")


def test_the_newest_run_under_a_hostile_name(here, capsys, files):
    Path(HOSTILE).write_bytes(files[RUN])
    status, out, err = command(capsys, "play")
    assert status == 0 and r"\x1b[31m" in err
    assert_tame(out + err)
    status, out, err = command(capsys, "play", "--learn")
    assert status == 0 and err.startswith("teaching ")
    assert_tame(out + err)


def test_a_file_asked_for_by_a_person(monkeypatch, capsys):
    """The last way to save: a name that is no text, and one that looks like a person's folder and is none."""
    for typed, expected in (
        (b"n-\xff.h5\n", "n-\udcff.h5"),
        (b"~no-such-person/n.h5\n", "~no-such-person/n.h5"),
        (b"\n", None),
    ):
        stdin = io.TextIOWrapper(io.BytesIO(typed), "utf-8")
        for stream in (stdin, sys.stderr):
            monkeypatch.setattr(stream, "isatty", lambda: True, raising=False)
        monkeypatch.setattr(sys, "stdin", stdin)
        assert _ask_for_file(TttBatchError("no room")) == (expected and Path(expected))
    assert capsys.readouterr().err.startswith("ttt-batch: no room\nwrite it to another file")


@pytest.mark.parametrize("name", ["", *COMMANDS])
def test_what_typer_writes_by_itself_holds_no_text_of_others(here, capsys, monkeypatch, name):
    """Its help is the one text that does not pass through `console`."""
    for variable in ("HOME", "XDG_CACHE_HOME", "TTT_BATCH_CACHE_DIR", "USER"):
        monkeypatch.setenv(variable, HOSTILE)
    monkeypatch.setattr(sys, "argv", [HOSTILE])
    status, out, err = command(capsys, *([name] if name else []), "--help")
    assert (status, err) == (0, "") and out.startswith(f"Usage: ttt-batch {name}".rstrip())
    assert_tame(out)
