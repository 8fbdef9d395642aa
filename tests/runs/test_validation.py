"""Files from anywhere: whatever became of a run file, there is one clear line, and nothing crashes, hangs or swells."""

import hashlib
import io
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import h5py
import numpy as np
import pytest
from helpers.runfiles import Readers, changed, configured, example, instead, put, sealed
from helpers.support import BOTH_SEATS
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import ttt_batch as ttt
from ttt_batch.__main__ import run as run_here
from ttt_batch.core.console import one_line as one_spelt
from ttt_batch.core.errors import RunFileError
from ttt_batch.runs.loading import check_run
from ttt_batch.runs.storage import container, run_file
from ttt_batch.runs.storage.declaration import FIELDS, FORMAT, value_findings
from ttt_batch.runs.storage.run_file import MAX_BYTES, SMALL_BYTES, examine_run, load_run, save_run

DATA = Path(__file__).parents[2] / "data"
STORED = (DATA / "run-1.0.h5").read_bytes()
RELEASED = sorted(DATA.glob("run-*.h5"))
MEMORY = 500
"""MiB that no file may cost."""

OPENING = (
    ("evaluate", "RUN"),
    ("play", "RUN"),
    ("info", "RUN"),
    ("check", "RUN"),
    ("export", "RUN", "--to", "csv", "--out", "table.csv"),
    ("compare", "RUN", "GOOD"),
    ("train", "--start", "RUN", "--out", "next.h5", "--games", "100"),
)


@pytest.fixture(scope="module")
def readers():
    with Readers() as found:
        yield found


@pytest.fixture
def path(tmp_path):
    return tmp_path / "run.h5"


def one_line(message, *words):
    assert message
    assert "\n" not in message
    assert all(character.isprintable() for character in message), message
    for word in words:
        assert word in message, message


def refused(path, *words, trust=False):
    """Loading fails with one line that names the file; `check` finds the same first."""
    with pytest.raises(RunFileError) as caught:
        ttt.load(path, trust=trust)
    one_line(str(caught.value), str(path), *words)
    findings, _ = check_run(path, trust=trust)
    for finding in findings:
        one_line(finding, str(path))
    assert any(all(word in finding for word in words) for finding in findings), findings


# The format and its files.


@pytest.mark.sampled(1)
@pytest.mark.parametrize("stored", RELEASED, ids=lambda stored: stored.stem)
def test_a_file_of_every_released_version_opens_for_ever(stored):
    run = ttt.load(stored)
    assert check_run(stored) == ([], ())
    assert (run.config.learner, run.config.board.name, run.games) == ("td", "3x3", 100_000)
    assert run.statistics["unbeatable"][-1].all()
    verdict = run.judgement()
    for name, value in verdict._asdict().items():
        assert np.allclose(run.statistics[name][-1], value, rtol=0, atol=1e-9), name
    assert verdict.unbeatable.all()
    assert np.allclose(verdict.versus_random, [[0.9678112, 0.0321888, 0], [0.7774838, 0.2225162, 0]], atol=1e-6)
    assert run.evaluation("optimal").first == (0.0, 1.0, 0.0)


def test_every_version_of_the_format_has_its_file():
    versions = {tuple(int(part) for part in stored.stem[4:].split(".")) for stored in RELEASED}
    assert versions == {(FORMAT[0], minor) for minor in range(FORMAT[1] + 1)}, (
        "make it with: ttt-batch train --games 100000 --out data/run-MAJOR.MINOR.h5"
    )
    for stored in RELEASED:
        assert stored.read_bytes().startswith(f"ttt-batch run, format {stored.stem[4:]}\n".encode())


def test_the_format_is_printed_from_its_declaration(capsys):
    version = f"{FORMAT[0]}.{FORMAT[1]}"
    assert run_here(["info", "--format"]) == 0
    text = capsys.readouterr().out
    assert text.startswith(f"ttt-batch run, format {version}\n")
    assert run_here(["info", "--format", "--json"]) == 0
    described = json.loads(capsys.readouterr().out)
    assert described["version"] == version
    assert {field["path"] for field in described["datasets"]} >= {field.path for field in FIELDS}
    for field in FIELDS:
        assert f"  {field.path} " in text and field.meaning in text
    assert run_here(["info"]) == 2
    assert run_here(["info", "--format", "x.h5"]) == 2


def test_a_newer_minor_version_opens_with_a_note(path, capsys):
    def newer(file):
        file.attrs["format_version"] = np.bytes_("1.77")
        file["statistics/new"] = np.zeros(3)
        file["more/new"] = np.zeros(3)

    content = changed(STORED, newer)
    path.write_bytes(sealed(content[:512].replace(b"format 1.0\n", b"format 1.77\n")[:512] + content[512:]))
    for words in (["info", str(path), "--json"], ["check", str(path)], ["evaluate", str(path)]):
        assert run_here(words) == 0, capsys.readouterr()
        found = capsys.readouterr()
        assert re.fullmatch(r"ttt-batch: .*format 1\.77 is newer than this program's .*\n", found.err)
    assert ttt.load(path) == ttt.load(DATA / "run-1.0.h5")


# Changed on purpose.


@pytest.mark.slow
@pytest.mark.parametrize("words", OPENING, ids=lambda words: words[0])
def test_every_command_says_what_became_of_its_file(path, monkeypatch, capsys, words):
    """A changed file opens with trust, one of a newer major version does not."""
    monkeypatch.setattr(sys, "stdin", io.StringIO(""))
    shutil.copy(DATA / "run-1.0.h5", "good.h5")
    path.write_bytes(changed(STORED, put("statistics/seconds", 99.0, -1)))
    Path("numpy.py").write_text("raise SystemExit(3)")  # no child imports what lies in the current folder
    filled = [{"RUN": "run.h5", "GOOD": "good.h5"}.get(word, word) for word in words]
    assert run_here(filled) == 1
    found = capsys.readouterr()
    one_line(
        (found.err or found.out).strip(),
        "run.h5: its content does not match its digest: damaged, or changed by another program; "
        "--trust opens it anyway",
    )
    assert run_here([*filled, "--trust"]) == 0
    assert "opened because of --trust" in capsys.readouterr().err
    for newer in (STORED.replace(b"format 1.0\n", b"format 2.0\n", 1), b"ttt-batch run, format 2.0\nwhat comes next"):
        path.write_bytes(newer)
        for trust in ([], ["--trust"]):
            assert run_here([*filled, *trust]) == 1
            one_line(capsys.readouterr().err.strip(), "format 2.0", "upgrade ttt-batch")


def test_trust_changes_nothing_about_a_whole_file(monkeypatch):
    monkeypatch.setattr(run_file, "parse_in_child", None)
    assert ttt.load(DATA / "run-1.0.h5", trust=True).notes == ()


@pytest.mark.slow
def test_a_file_without_our_first_bytes_opens_with_trust(path):
    """And then it comes back bit for bit."""
    whole = ttt.load(DATA / "run-1.0.h5")
    for content, said in (
        (bytes(512) + STORED[512:], "is an HDF5 file, but not a ttt-batch run"),
        (STORED.replace(b"NAME.h5", b"name.h5", 1), "first 512 bytes"),
    ):
        path.write_bytes(content)
        refused(path, said)
        back = ttt.load(path, trust=True)
        assert back == whole and back.provenance == whole.provenance
    path.write_bytes(bytes(1024))
    refused(path, "does not contain an HDF5 file", trust=True)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("change", "words"),
    [
        (put("states/code", 77, 5), "states/code is not that of board 3x3"),
        (put("states/outcome", 9, 5), "states/outcome holds 9"),
        (put("tables/value", np.nan, 7), "'value' holds NaN"),
        (put("tables/value", -np.inf, 7), "tables/value holds an infinite number"),
        (put("tables/value", 1.5, 7), "beyond 1"),
        (put("statistics/games", 5, 1), "statistics/games does not ascend"),
        (put("statistics/games", 10**6, -1), "statistics/games ends at 1,000,000"),
        (put("statistics/seconds", 0.0, 3), "statistics/seconds does not ascend"),
        (put("statistics/seconds", np.nan, 3), "statistics/seconds does not ascend"),
        (put("statistics/outcomes", 0, (3, 1)), "statistics/outcomes holds a count below 0, or one that falls"),
        (put("statistics/outcomes", 10**5, (-1, 1)), "statistics/outcomes does not add up"),
        (put("statistics/outcomes", 2**63 - 1, -1), "statistics/outcomes does not add up"),
        (put("statistics/worst", 2, (0, 0)), "statistics/worst holds 2"),
        (put("statistics/worst", -1, -1), "statistics/unbeatable does not agree"),
        (put("statistics/unbeatable", False, -1), "statistics/unbeatable does not agree"),
        (put("statistics/self_play", 1.5, (0, 0)), "statistics/self_play holds 1.5"),
        (put("statistics/versus_random", 0.5, (0, 0, 0)), "statistics/versus_random holds probabilities that do not"),
        (put("statistics/best_response", -2, (0, 0)), "statistics/best_response holds -2"),
        (put("statistics/best_response", 1, -1), "statistics/best_response is above 0"),
        (put("statistics/optimal_share", np.nan, 0), "statistics/optimal_share holds nan"),
        (put("statistics/value_error", -1, 0), "statistics/value_error holds a number below 0"),
        (put("statistics/value_error", np.inf, 0), "statistics/value_error holds a number below 0 or an infinite"),
        (put("progress/games", -5), "progress/games holds -5"),
        (instead("tables/value", data=np.zeros(5478, "f4")), "table 'value' is not float64"),
    ],
)
def test_values_that_cannot_be(path, change, words):
    content = changed(STORED, change)
    for trust in (False, True):
        path.write_bytes(content if trust else sealed(content))
        with pytest.raises(RunFileError, match=words.replace("(", r"\(")) as caught:
            ttt.load(path, trust=trust)
        one_line(str(caught.value), str(path))


def test_an_older_version_has_nothing_of_a_newer_one(path):
    for change, words in (
        (lambda file: file.create_group("resume"), "resume is not part of the format"),
        (lambda file: file.create_dataset("progress/goal", data=1), "progress/goal is not part of the format"),
        (attribute("/", "format_version", np.bytes_("1.9")), "format_version is not 1.0, as the first line says"),
    ):
        path.write_bytes(sealed(changed(STORED, change)))
        refused(path, words)


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"learner": "sutton-barto"}, "table 'value' is not float64[2, 5478]"),
        ({"learner": "minimax-q"}, "states/code is not that of board"),
        ({"learner": "backward-q"}, "table 'q' is not"),
        ({"learner": "none"}, "it is of learner none, which does not come with this package"),
        ({"learner": [1]}, "configuration is not usable"),
        ({"board": "2x3x2"}, "states/code is not that of board 2x3x2"),
        ({"board": None}, "configuration is not usable"),
        ({"epsilon": [[]]}, "configuration is not usable"),
        ({"seed": 2**70}, "configuration is not usable"),
        ({"seed": 1e400}, "config is not JSON"),
        ({"alpha": "1/n"}, "visits is missing"),
        ({"more": 1}, "configuration is not usable"),
    ],
)
def test_a_configuration_that_does_not_fit(path, values, words):
    path.write_bytes(sealed(changed(STORED, configured(**values))))
    refused(path, words)


def test_a_configuration_nested_too_deep(path):
    def deep(file):
        text = b'{"a":' + b"[" * 50_000 + b"]" * 5_000 + b"}"
        file.attrs["config"] = np.bytes_(text)
        file.attrs["config_hash"] = np.bytes_(hashlib.sha256(text).hexdigest())

    path.write_bytes(sealed(changed(STORED, deep)))
    refused(path, "config is not JSON")


def test_statistics_that_the_tables_contradict(path, capsys):
    """Each is possible by itself; `check` judges the tables once more."""
    path.write_bytes(sealed(changed(STORED, put("tables/value", 0.25, slice(1, 9)))))
    findings, _ = check_run(path)
    assert any("statistics/value_error is not what the tables give" in finding for finding in findings)
    assert run_here(["check", str(path)]) == 1
    assert capsys.readouterr().out.splitlines() == findings


def test_statistics_of_another_processor_may_round_differently(path):
    def nudge(file):
        file["statistics/value_error"][-1, 0] += 1e-7

    path.write_bytes(sealed(changed(STORED, nudge)))
    assert check_run(path)[0] == []


def test_check_prints_all_findings_and_others_the_first(path, capsys):
    def change(file):
        put("statistics/worst", 2, (0, 0))(file)
        put("tables/value", np.nan, 7)(file)
        put("states/code", 77, 5)(file)

    path.write_bytes(sealed(changed(STORED, change)))
    assert run_here(["check", str(path), "--json"]) == 1
    found = json.loads(capsys.readouterr().out)
    assert found["file"] == str(path)
    text = "\n".join(found["findings"])
    for words in ("statistics/worst holds 2", "unbeatable does not agree", "'value' holds NaN", "states/code is not"):
        assert words in text
    assert run_here(["check", str(path)]) == 1
    assert capsys.readouterr().out.splitlines() == found["findings"]
    assert run_here(["evaluate", str(path)]) == 1
    found = capsys.readouterr()
    assert found.out == ""
    one_line(found.err.strip(), "statistics/worst holds 2")


@pytest.mark.sampled(1)
@pytest.mark.parametrize("learner", BOTH_SEATS)
def test_what_training_writes_breaks_no_rule(tmp_path, learner):
    """Every learner, in walk, flow and given games, with visits and from other tables; also its range of values."""
    runs = [
        ttt.train(700, learner=learner, board="2x3x2", batch=64, alpha="1/n", out=tmp_path / "visits.h5"),
        ttt.train(700, learner=learner, board="2x3x2", batch=1, alpha=1.0, out=tmp_path / "steps.h5"),
        ttt.train(10**6, learner=learner, board="2x3x2", batch=1000, engine="flow", out=tmp_path / "flow.h5"),
        ttt.train(200, learner=learner, board="2x3x2", opponent="random", out=tmp_path / "against.h5"),
        ttt.learn_from(["1 4 2"], learner=learner, board="2x3x2", out=tmp_path / "given.h5")[0],
    ]
    runs.append(ttt.train(300, learner=learner, board="2x3x2", start=runs[-1], out=tmp_path / "from.h5"))
    for path in tmp_path.iterdir():
        assert check_run(path) == ([], ()), path


# Structure.


def links_out(file):
    file["tables/more"] = h5py.ExternalLink("/etc/hostname", "/")


def nested(file):
    group = file
    for _ in range(300):
        group = group.create_group("deeper")


def many_names(file):
    for number in range(1100):
        file["provenance"].attrs[f"a{number}"] = 1


def many_aliases(file):
    for number in range(50):
        file[f"tables/alias{number}"] = file["tables/value"]


def soft_link(file):
    del file["states/code"]
    file["states/code"] = h5py.SoftLink("/states/outcome")


def attribute(path, name, value):
    """A change of an attribute."""
    return lambda file: file[path].attrs.create(name, value)


STRUCTURES = {
    "chunks": (instead("states/code", data=np.arange(5478), chunks=(100,)), "in chunks"),
    "bomb": (instead("states/code", shape=(2**40,), dtype="<i8", chunks=(2**17,), compression="gzip"), "in chunks"),
    # Chunks that unpack to a thousand times their size.
    "full bomb": (
        instead("tables/value", data=np.zeros(3_000_000), chunks=(1_000_000,), compression="gzip"),
        "length 3000000 along axis S",
    ),
    "huge": (instead("states/code", shape=(10**15,), dtype="<i8"), "does not hold the 8,000,000,000,000,000 bytes"),
    "huge table": (instead("tables/value", shape=(2**60,), dtype="<f8"), "5478"),
    "external data": (instead("states/code", shape=5478, dtype="<i8", external="/etc/hostname"), "elsewhere"),
    "references": (instead("states/code", shape=5478, dtype=h5py.ref_dtype), "states/code holds object"),
    "ragged": (instead("states/code", shape=5478, dtype=h5py.vlen_dtype("i8")), "states/code holds object"),
    "ragged text": (instead("tables/value", shape=5478, dtype=h5py.string_dtype()), "tables/value holds object"),
    "compound": (instead("states/code", shape=5478, dtype=[("a", "i4"), ("b", "i4")]), "states/code holds"),
    "opaque": (instead("states/code", shape=5478, dtype="V8"), "states/code holds"),
    "array type": (instead("states/code", shape=5478, dtype="(2,)i4"), "states/code holds"),
    "wide text": (instead("tables/value", shape=5478, dtype="S200"), "tables/value holds"),
    "complex": (instead("tables/value", shape=5478, dtype="c16"), "tables/value holds complex128"),
    "nothing": (instead("states/code", data=h5py.Empty("i8")), "states/code has no shape"),
    "external link": (links_out, "tables/more is a link"),
    "nested": (nested, "deeper is not part of the format"),
    "many attributes": (many_names, "provenance has"),
    "floats": (instead("states/code", data=np.arange(5478.0)), "states/code holds float64"),
    "other byte order": (instead("states/code", data=np.arange(5478, dtype=">i8")), "states/code holds >i8"),
    "fewer codes": (instead("states/code", data=np.arange(5477)), "length 5478"),
    "several games": (instead("progress/games", data=np.zeros(3, np.int64)), "progress/games has 1 axes"),
    "no axes": (lambda f: f["tables/value"].attrs.pop("axes"), "axes is missing"),
    "another axis": (attribute("tables/value", "axes", np.bytes_("P")), "tables/value has length 5478 along axis P"),
    "axes of numbers": (attribute("tables/value", "axes", 3), "axes is not text"),
    "another configuration": (attribute("/", "config", np.bytes_("{}")), "does not agree with config_hash"),
    "another type of file": (attribute("/", "file_type", np.bytes_("another")), "file_type"),
    "configuration of numbers": (attribute("/", "config", np.arange(3)), "config is neither"),
    "no hash": (lambda f: f.attrs.pop("config_hash"), "config_hash is missing"),
    "odd text": (attribute("provenance", "command", np.bytes_(b"\xff")), "command is not UTF-8 text"),
    "attribute array": (attribute("provenance", "a", np.zeros(500)), "attribute a is neither text"),
    "attribute of objects": (attribute("provenance", "a", "x"), "attribute a is neither text"),
    "attribute reference": (lambda f: f["provenance"].attrs.create("a", f.ref), "attribute a is neither text"),
    "attribute compound": (attribute("provenance", "a", np.zeros((), [("x", "i4")])), "attribute a is neither text"),
    "empty attribute": (attribute("provenance", "a", h5py.Empty("f")), "attribute a is neither text"),
    "no statistic": (lambda f: f.pop("statistics/worst"), "statistics/worst is missing"),
    "no provenance": (lambda f: f.pop("provenance"), "provenance is missing"),
    "no games": (lambda f: f.pop("progress/games"), "progress/games is missing"),
    "one statistic more": (lambda f: f.create_dataset("statistics/more", data=1), "statistics/more is not part"),
    "group of tables": (lambda f: f.create_group("tables/deep"), "tables/deep is not a dataset"),
    "soft link": (soft_link, "states/code is a link"),
    "cycle": (lambda f: f.__setitem__("states/me", f["states"]), "states/me is not part"),
    "many aliases": (many_aliases, "does not hold"),
    "group for dataset": (lambda f: (f.pop("states/code"), f.create_group("states/code")), "is not a dataset"),
    "dataset for group": (lambda f: (f.pop("tables"), f.create_dataset("tables", data=1)), "tables is not a group"),
    "type for group": (lambda f: (f.pop("tables"), f.__setitem__("tables", np.dtype("i4"))), "tables is not a group"),
    "empty": (lambda f: [f.pop(name) for name in list(f)], "is missing"),
    "name with a newline": (lambda f: f.create_group("a\nb"), "a\\nb is not part of the format"),
    "attribute with a newline": (attribute("provenance", "a\nb", np.zeros(2)), "a\\nb is neither"),
}


@pytest.mark.parametrize("name", STRUCTURES)
def test_structures_that_are_not_ours(path, readers, name):
    change, words = STRUCTURES[name]
    content = changed(STORED, change)
    path.write_bytes(sealed(content))
    refused(path, words)
    outcome = readers.read(content)
    assert outcome.signal == 0
    assert any(words in one_spelt(finding) for finding in outcome.findings)
    assert outcome.peak < MEMORY


@pytest.mark.slow
def test_files_of_other_tools(path, readers):
    """HDF5, with 512 bytes in front of it or not, and what is none."""
    for size in (0, 512):
        with h5py.File(path, "w", libver="latest", userblock_size=size) as file:
            file["data/x"] = np.arange(5)
        refused(path, "is an HDF5 file, but not a ttt-batch run")
        refused(path, "attribute file_type is missing", trust=True)
    for content in (b"x", b"hello\n" * 500, bytes(2000), b"ttt-batch ran"):
        path.write_bytes(content)
        refused(path, "is not a ttt-batch run;")
    outcome = readers.read(changed(STORED, lambda file: [file.create_group(f"g{number}") for number in range(3000)]))
    assert any("the root has 3,005 members" in finding for finding in outcome.findings)


def test_a_file_larger_than_any_run(path):
    with path.open("wb") as file:
        file.write(STORED)
        file.truncate(10**12)  # sparse: it takes no room
    for trust in (False, True):
        with pytest.raises(RunFileError, match=f"a run file has at most {MAX_BYTES:,}") as caught:
            ttt.load(path, trust=trust)  # without reading it, which would take minutes and more memory than there is
        one_line(str(caught.value), str(path))


@pytest.mark.slow
def test_memory_stays_bounded_for_the_largest_file(path):
    """A file at the limit of what is read at once, nearly all of it a table that the format allows."""
    size = (SMALL_BYTES - 300_000) // 8

    def add(file):
        file.create_dataset("tables/more", data=np.zeros(size)).attrs.update(
            {"axes": np.bytes_(str(size)), "meaning": np.bytes_("much")}
        )

    content = changed(STORED, add)
    assert len(content) <= SMALL_BYTES
    script = (
        "import resource, sys; from ttt_batch.__main__ import run; status = run(sys.argv[1:])\n"
        "both = resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN\n"
        "print(status, *(resource.getrusage(who).ru_maxrss for who in both))"
    )
    for trust in (["--trust"], []):
        path.write_bytes(content if trust else sealed(content))
        # A shell between: what the system calls a process's peak begins with the memory of whoever started it.
        words = ["sh", "-c", '"$@"; exit $?', "sh", sys.executable, "-c", script, "check", str(path), *trust]
        done = subprocess.run(words, capture_output=True, text=True, check=False)
        *findings, figures = done.stdout.splitlines()
        status, own, child = (int(word) for word in figures.split())
        assert status == 1, done
        assert "'more' does not belong to a run of td" in "".join(findings)
        assert child > 0 or not trust
        assert max(own, child) / 1024 < MEMORY, (own, child)


# Damage.


def flipped(content, seed, number):
    """`content` with a byte changed in one of `number` random places at a time."""
    rng = np.random.default_rng(seed)
    for place in rng.integers(0, len(content), number):
        damaged = bytearray(content)
        damaged[place] ^= int(rng.integers(1, 256))
        yield bytes(damaged)


def test_a_flipped_byte_is_noticed_wherever_it_is(path):
    in_header = (header + STORED[512:] for header in flipped(STORED[:512], 5, 60))
    for damaged in (*flipped(STORED, 1, 440), *in_header):
        path.write_bytes(damaged)
        with pytest.raises(RunFileError) as caught:
            load_run(path)
        one_line(str(caught.value), str(path))


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 2])
def test_a_flipped_byte_with_trust_in_2000_places(readers, seed):
    """1,000 places in each half.  Where the library dies, so does the child of `parse_in_child`, which is one line."""
    assert_survived(readers, flipped(STORED, seed, 1000))


@pytest.mark.slow
def test_a_flipped_byte_with_trust_where_metadata_are_dense(path, readers):
    save_run(path, example(action=True))
    assert_survived(readers, flipped(path.read_bytes(), 3, 600))


def assert_survived(readers, contents):
    """Every file is a run, or has findings of one line, within time and memory, whatever the library did."""
    opened = 0
    for content in contents:
        outcome = readers.read(content)
        assert outcome.peak < MEMORY
        findings = outcome.findings
        if outcome.data is not None:
            opened += 1
            findings = [*findings, *value_findings(outcome.data)]
        else:
            assert findings or outcome.signal
        for finding in findings:
            one_line(one_spelt(finding))
            assert len(finding) < 300
    assert opened


# The child.


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("import os, signal; os.kill(os.getpid(), signal.SIGSEGV)", "the HDF5 library fails on it (SIGSEGV)"),
        ("import os; os.abort()", "the HDF5 library fails on it (SIGABRT)"),
        ("raise SystemExit(3)", "the HDF5 library fails on it (status 3)"),
        ("print('nonsense')", "the HDF5 library fails on it"),
        ("import time; time.sleep(60)", "the HDF5 library does not finish reading it"),
    ],
)
def test_a_child_that_dies_is_one_line(path, monkeypatch, code, words):
    started = subprocess.run

    def other(arguments, **options):
        return started([sys.executable, "-S", "-c", code], **options)

    if "sleep" in code:  # the others need time to start
        monkeypatch.setattr(container, "SECONDS", 1.0)
    monkeypatch.setattr(subprocess, "run", other)
    path.write_bytes(changed(STORED, put("statistics/seconds", 99.0, -1)))
    refused(path, words, trust=True)


@pytest.mark.slow
def test_a_child_that_wants_too_much_memory_is_one_line():
    script = "from ttt_batch.runs.storage.container import run_child\nrun_child(lambda content: bytearray(1 << 30))"
    done = subprocess.run([sys.executable, "-c", script], input=b"", stdout=subprocess.PIPE, check=True)
    assert container.unpack(done.stdout) == container.finding("reading it takes more than 400 MiB of memory")


# Anything at all.


@st.composite
def damages(draw):
    """A valid file with a few places overwritten, cut, doubled or moved, now and then in the user block only."""
    content = bytearray(draw(st.sampled_from(SEEDS)))
    for _ in range(draw(st.integers(1, 4))):
        place = draw(st.integers(0, len(content)))
        kind = draw(st.sampled_from(["bytes", "number", "cut", "insert", "copy"]))
        if kind == "bytes":
            new = draw(st.binary(min_size=1, max_size=16))
            content[place : place + len(new)] = new
        elif kind == "number":
            # Addresses and sizes are what the library follows.
            number = draw(st.sampled_from([0, 1, 2**16, 2**31, 2**32 - 1, 2**63, 2**64 - 1, place, len(content)]))
            content[place & ~7 : (place & ~7) + 8] = number.to_bytes(8, "little")
        elif kind == "cut":
            del content[place : place + draw(st.integers(1, 4096))]
        elif kind == "insert":
            content[place:place] = draw(st.binary(min_size=1, max_size=64))
        else:
            source = draw(st.integers(0, len(content)))
            size = draw(st.integers(1, 512))
            content[place : place + size] = content[source : source + size]
    return bytes(content)


def seed_files():
    """Small files of which every byte matters."""
    with tempfile.TemporaryDirectory() as place:
        files = []
        for action in (False, True):
            save_run(Path(place) / "run.h5", example(action=action, points=1, rows=5), overwrite=True)
            files.append((Path(place) / "run.h5").read_bytes())
    return files


SEEDS = seed_files()


@pytest.mark.slow
@settings(max_examples=300, derandomize=True, database=None, suppress_health_check=list(HealthCheck))
@given(content=damages(), resealed=st.booleans())
def test_no_damage_escapes(content, resealed, readers, tmp_path_factory):
    outcome = readers.read(content)
    assert outcome.peak < MEMORY
    assert outcome.data is not None or outcome.findings or outcome.signal
    if outcome.data is not None:
        list(value_findings(outcome.data))
    # Without trust, and where the library has shown that it survives also with a right digest.
    path = tmp_path_factory.getbasetemp() / f"fuzzed-{os.getpid()}.h5"
    path.write_bytes(sealed(content) if resealed and len(content) > 512 and not outcome.signal else content)
    try:
        examine_run(path)
    except RunFileError as error:
        one_line(str(error), str(path))
