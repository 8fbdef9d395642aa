"""The run file: what goes in comes out, and nothing that happens to a file makes reading it misbehave."""

import dataclasses
import hashlib
import io
import json
import os
import re
import time
from pathlib import Path

import h5py
import numpy as np
import pytest
from helpers.runfiles import example

from ttt_batch.core.errors import RunFileError
from ttt_batch.runs.loading import check_run, load_any
from ttt_batch.runs.storage import run_file
from ttt_batch.runs.storage.container import SIGNATURE
from ttt_batch.runs.storage.container import rewrite_message as superblock_says
from ttt_batch.runs.storage.declaration import FIELDS, RunData
from ttt_batch.runs.storage.run_file import RUN_FILE, find_newest_run, load_run, save_run, user_block

DATA = Path(__file__).parents[2] / "data"


def assert_same(a, b):
    for name in ("states", "tables", "statistics"):
        ours, theirs = getattr(a, name), getattr(b, name)
        assert ours.keys() == theirs.keys()
        for key in ours:
            assert ours[key].dtype == theirs[key].dtype
            assert ours[key].shape == theirs[key].shape
            assert ours[key].tobytes() == theirs[key].tobytes()
    for name in ("config", "games", "table_fields", "provenance"):
        assert getattr(a, name) == getattr(b, name)


def refused(path, *words):
    """Reading `path` fails with one line that names the file and holds every word."""
    with pytest.raises(RunFileError) as caught:
        load_run(path)
    message = str(caught.value)
    assert "\n" not in message
    for word in (str(path), *words):
        assert word in message, message
    return message


@pytest.fixture
def saved(tmp_path):
    path = tmp_path / "run.h5"
    save_run(path, example(action=True))
    return path


# What goes in comes out.


@pytest.mark.sampled(1)
@pytest.mark.parametrize("action", [False, True])
@pytest.mark.parametrize("points", [0, 1, 5])
def test_a_run_comes_back_bit_for_bit(tmp_path, action, points):
    data = example(action=action, points=points)
    save_run(tmp_path / "run.h5", data)
    back = load_run(tmp_path / "run.h5")
    assert_same(data, back)
    assert back.notes == ()
    assert type(back.games) is int
    assert {key: type(value) for key, value in back.provenance.items()} == {
        key: type(value) for key, value in data.provenance.items()
    }
    assert [path.name for path in tmp_path.iterdir()] == ["run.h5"]


def test_equal_data_gives_equal_bytes(tmp_path, monkeypatch):
    save_run(tmp_path / "a.h5", example(action=True))
    later = time.time() + 100_000
    monkeypatch.setattr(time, "time", lambda: later)
    data = example(action=True)
    for name in ("config", "states", "tables", "statistics", "provenance"):
        setattr(data, name, dict(reversed(getattr(data, name).items())))
    save_run(tmp_path / "b.h5", data)
    save_run(tmp_path / "c.h5", load_run(tmp_path / "a.h5"))
    first = (tmp_path / "a.h5").read_bytes()
    assert first == (tmp_path / "b.h5").read_bytes() == (tmp_path / "c.h5").read_bytes()
    assert str(tmp_path).encode() not in first


def test_views_and_numpy_scalars_are_taken(tmp_path):
    data = example()
    whole = data.tables["value"]
    data.tables["value"] = np.asfortranarray(whole)
    data.games = np.int64(77)
    data.provenance["threads"] = np.int32(3)
    save_run(tmp_path / "run.h5", data)
    back = load_run(tmp_path / "run.h5")
    assert np.array_equal(back.tables["value"], whole)
    assert (back.games, back.provenance["threads"]) == (77, 3)


def test_odd_and_long_texts(tmp_path):
    data = example()
    data.provenance["command"] = "x" * 60_000
    data.provenance["odd"] = "a\0b \udcff\n"
    data.config["long"] = ["é" * 9_000]
    save_run(tmp_path / "run.h5", data)
    back = load_run(tmp_path / "run.h5")
    assert back.provenance["command"] == data.provenance["command"]
    assert back.provenance["odd"] == "a\\x00b \\udcff\n"
    assert back.config == data.config


def test_plain_h5py_reads_it(saved):
    data = example(action=True)
    with h5py.File(saved) as run:
        assert np.array_equal(run["tables/value"][0], data.tables["value"][0])
        assert np.array_equal(run["states/code"], data.states["code"])
        assert run["states/code"].dtype == "<i8"
        assert run["statistics/unbeatable"].dtype == bool
        assert run["progress/games"][()] == data.games
        assert run["tables/action"].attrs["axes"] == b"E"
        assert run.attrs["format_version"] == b"1.5"
        assert json.loads(run.attrs["config"]) == data.config
        assert run.attrs["config_hash"].decode() == hashlib.sha256(run.attrs["config"]).hexdigest()
        for field in FIELDS:
            assert field.optional or field.path in run
            if field.path in run:
                assert run[field.path].attrs["meaning"].decode() == field.meaning


def test_the_first_512_bytes_say_what_it_is(saved):
    content = saved.read_bytes()
    lines = content[:512].decode("ascii").splitlines()
    assert lines[0] == "ttt-batch run, format 1.5"
    assert lines[1] == f"sha256 {hashlib.sha256(content[512:]).hexdigest()}"
    assert lines[2] == f"length {len(content)} bytes"
    assert content[512:520] == b"\x89HDF\r\n\x1a\n"


# What must not be written.


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda d: d.states.update(code=d.states["code"].astype(np.int32)), "states/code holds int32"),
        (lambda d: d.states.update(code=d.states["code"].astype(">i8")), "states/code holds >i8"),
        (lambda d: d.states.update(outcome=d.states["outcome"][1:]), "length 39 along axis S, it must have 40"),
        (lambda d: d.states.pop("cell"), "only one of first_edge and cell"),
        (lambda d: d.states.pop("code"), "states/code is missing"),
        (lambda d: d.states.update(ply=d.states["outcome"]), "states/ply is not part"),
        (lambda d: d.statistics.pop("worst"), "statistics/worst is missing"),
        (lambda d: d.statistics.update(worst=d.statistics["worst"][:2]), "statistics/worst has length 2"),
        (lambda d: d.statistics.update(worst=d.statistics["worst"][:, 0]), "statistics/worst has 1 axes"),
        (lambda d: d.tables.pop("seen"), "table_fields"),
        (lambda d: d.tables.update(seen=np.array(["a"])), "tables/seen holds <U1"),
        (lambda d: d.tables.update(seen=d.tables["seen"].astype(object)), "tables/seen holds object"),
        (lambda d: d.table_fields.update(seen=("S,X", "")), "unknown axis 'X'"),
        (lambda d: d.table_fields.update(seen=("S,4", "")), "length 3 along axis 4"),
        (lambda d: (d.tables.update({"a/b": np.zeros(2)}), d.table_fields.update({"a/b": ("P", "")})), "'a/b'"),
        (lambda d: d.config.update(alpha=float("nan")), "config"),
        (lambda d: d.config.update(alpha=np.zeros(2)), "config"),
        (lambda d: d.config.update(long="x" * 60_000), "config has 60,"),
        (lambda d: d.provenance.update(when=None), "provenance when is None"),
        (lambda d: d.provenance.update(when=True), "provenance when is True"),
        (lambda d: d.provenance.update(when=2**63), "provenance when"),
        (lambda d: setattr(d, "games", True), "progress/games holds bool"),
        (lambda d: setattr(d, "games", 1.5), "progress/games holds float64"),
    ],
)
def test_data_that_break_the_declaration_are_not_written(tmp_path, change, words):
    data = example(action=True)
    change(data)
    with pytest.raises(RunFileError, match=re.escape(words)) as caught:
        save_run(tmp_path / "run.h5", data)
    assert "\n" not in str(caught.value)
    assert list(tmp_path.iterdir()) == []


# Where must not be written.


def test_an_existing_file_is_replaced_only_on_request(saved):
    before = saved.read_bytes()
    for write in (lambda: save_run(saved, example()), lambda: RUN_FILE.check(saved, overwrite=False)):
        with pytest.raises(RunFileError, match=r"exists already.*overwrite=True.*another file"):
            write()
    assert saved.read_bytes() == before
    RUN_FILE.check(saved, overwrite=True)
    RUN_FILE.check(saved.with_name("new.h5"), overwrite=False)
    assert saved.read_bytes() == before
    save_run(saved, example(seed=1), overwrite=True)
    assert_same(load_run(saved), example(seed=1))
    assert [path.name for path in saved.parent.iterdir()] == ["run.h5"]


def no_links(*_, **__):
    raise PermissionError(1, "Operation not permitted")


def test_without_hard_links(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "link", no_links)
    path = tmp_path / "run.h5"
    save_run(path, example())
    assert_same(load_run(path), example())
    assert [found.name for found in tmp_path.iterdir()] == ["run.h5"]
    other = tmp_path / "other.h5"
    monkeypatch.setattr(os, "fsync", lambda descriptor: other.write_text("somebody else's"))
    with pytest.raises(RunFileError, match="exists already"):
        save_run(other, example())
    assert other.read_text() == "somebody else's"
    assert sorted(found.name for found in tmp_path.iterdir()) == ["other.h5", "run.h5"]


@pytest.mark.parametrize("call", ["write", "fsync", "replace"])
def test_a_failing_disk_leaves_the_old_file_and_nothing_else(saved, monkeypatch, call):
    before = saved.read_bytes()

    def fail(*_, **__):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "link", no_links)
        patch.setattr(os, call, fail)
        for path in (saved, saved.with_name("new.h5")):
            with pytest.raises(RunFileError, match=rf"{path.name}: No space left on device; make room"):
                save_run(path, example(seed=1), overwrite=path == saved)
    assert saved.read_bytes() == before
    assert [path.name for path in saved.parent.iterdir()] == ["run.h5"]


def test_an_interrupt_leaves_no_temporary_file(saved, monkeypatch):
    def interrupt(descriptor):
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "fsync", interrupt)
    with pytest.raises(KeyboardInterrupt):
        save_run(saved, example(seed=1), overwrite=True)
    assert [path.name for path in saved.parent.iterdir()] == ["run.h5"]


@pytest.mark.parametrize("overwrite", [False, True])
def test_impossible_targets(tmp_path, overwrite):
    (tmp_path / "file").write_text("")
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    os.mkfifo(tmp_path / "pipe")
    cases = {
        tmp_path: "is a folder; name a file in it",
        tmp_path / "none" / "run.h5": "there is no folder .*none; create it",
        tmp_path / "file" / "run.h5": "Not a directory",
        tmp_path / "loop": "loop",
        tmp_path / "pipe": "is not an ordinary file",
        tmp_path / ("n" * 300): "name",
        tmp_path / "a\nb" / "run.h5": r"a\\nb",
    }
    for path, words in cases.items():
        for write in (
            lambda path=path: save_run(path, example(), overwrite=overwrite),
            lambda path=path: RUN_FILE.check(path, overwrite=overwrite),
        ):
            with pytest.raises(RunFileError, match=words) as caught:
                write()
            assert "\n" not in str(caught.value)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "loop", "pipe"]


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="needs a folder that refuses everybody")
def test_a_folder_that_takes_no_files():
    for write in (lambda path: save_run(path, example()), lambda path: RUN_FILE.check(path, overwrite=False)):
        with pytest.raises(RunFileError, match=r"cannot write /proc/run.h5: .*another file"):
            write(Path("/proc/run.h5"))


def test_a_read_only_disk(tmp_path, monkeypatch):
    def refuse(*_, **__):
        raise OSError(30, "Read-only file system")

    monkeypatch.setattr(os, "open", refuse)
    with pytest.raises(RunFileError, match="Read-only file system; name a file in a folder that you may"):
        RUN_FILE.check(tmp_path / "run.h5", overwrite=False)


def test_permissions_are_those_of_any_new_file(tmp_path):
    (tmp_path / "any").write_text("")
    save_run(tmp_path / "run.h5", example())
    assert (tmp_path / "run.h5").stat().st_mode == (tmp_path / "any").stat().st_mode


# Files that something happened to.


def test_a_file_cut_off_anywhere_says_what_is_missing(saved):
    content = saved.read_bytes()
    shown = len("ttt-batch run, format 1.5\n") + len("sha256 \n") + 64 + len(f"length {len(content)} bytes\n")
    for keep in (*range(1, 512, 37), 511, 512, 513, *range(600, len(content), 997), len(content) - 1):
        saved.write_bytes(content[:keep])
        missing = f"{len(content) - keep:,}" if keep >= shown else f"at least {512 - keep:,}"
        refused(saved, "is cut off: ", f" {missing} ")
    saved.write_bytes(b"")
    refused(saved, "is empty")


def test_a_file_with_more_behind_it(saved):
    saved.write_bytes(saved.read_bytes() + b"\0")
    refused(saved, "is damaged", " 1 byte follows")


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="nothing is forbidden to root")
def test_no_permission(saved):
    saved.chmod(0)
    refused(saved, "Permission denied")


def test_a_version_that_was_never_written(saved):
    for version in (b"0.9", b"1.x", b"1"):
        saved.write_bytes(saved.read_bytes().replace(b"format 1.5\n", b"format " + version + b"\n", 1)[:600])
        with pytest.raises(RunFileError, match=r"cut off|damaged"):
            load_run(saved)


def test_an_image_that_hdf5_cannot_read(saved):
    content = saved.read_bytes()[:512] + np.random.default_rng(1).bytes(5000)
    digest = hashlib.sha256(content[512:]).hexdigest()
    saved.write_bytes(user_block("1.5", digest, len(content)) + content[512:])
    refused(saved, "HDF5 cannot read it")


# Finding the newest.


def test_the_newest_run(tmp_path):
    assert find_newest_run(tmp_path) is None
    for second, name in enumerate(["old.h5", "new.h5", ".hidden.h5", "run.hdf5"]):
        save_run(tmp_path / name, example())
        os.utime(tmp_path / name, (second, second))
    (tmp_path / "text.h5").write_text("not a run")
    with h5py.File(tmp_path / "foreign.h5", "w"):
        pass
    (tmp_path / "folder.h5").mkdir()
    (tmp_path / "gone.h5").symlink_to(tmp_path / "nowhere")
    os.mkfifo(tmp_path / "pipe.h5")
    assert find_newest_run(tmp_path) == tmp_path / "new.h5"
    os.utime(tmp_path / "old.h5", (9, 9))
    assert find_newest_run(tmp_path) == tmp_path / "old.h5"
    with pytest.raises(RunFileError, match="cannot look for runs"):
        find_newest_run(tmp_path / "none")


def test_saving_twice_from_one_object_changes_nothing_in_it(tmp_path):
    data = example(action=True)
    before = dataclasses.asdict(data)
    save_run(tmp_path / "run.h5", data)
    assert_same(RunData(**before), data)


# What other programs do to a whole file.


def rewritten(content, *, block=True, libver="earliest"):
    """A run file copied by h5py alone, as h5repack does; `block` keeps the text in front."""
    buffer = io.BytesIO()
    with (
        h5py.File(io.BytesIO(content)) as old,
        h5py.File(buffer, "w", libver=libver, userblock_size=512 if block else 0) as new,
    ):
        for name in old:
            old.copy(name, new)
        for name, value in old.attrs.items():
            new.attrs.create(name, value, dtype=old.attrs.get_id(name).dtype)
    return content[:512] + buffer.getvalue()[512:] if block else buffer.getvalue()


@pytest.mark.slow
@pytest.mark.parametrize(("name", "large"), [("run-1.5.h5", True), ("networks-1.3.h5", False)])
def test_what_another_program_did_to_a_whole_run_is_said(tmp_path, monkeypatch, name, large):
    """A process killed while h5py had the file open, and h5repack: the data is whole, and `check` spoke of damage."""
    if large:
        monkeypatch.setattr(run_file, "SMALL_BYTES", 1000)
    content, path = (DATA / name).read_bytes(), tmp_path / "run.h5"
    marked = bytearray(content)
    marked[512 + 20] = 1
    path.write_bytes(marked)
    for words in ("stopped while it had the file open for writing", "h5clear -s", "trust=True opens it anyway"):
        refused(path, words)
    marked[-100] ^= 1
    path.write_bytes(marked)
    assert "h5clear" not in refused(path, "does not match its digest")
    foreign = "is an HDF5 file, but not a ttt-batch run"
    for block, libver, words in (
        (True, "earliest", "has rewritten it"),
        (False, "earliest", foreign),
        (False, "latest", foreign),
    ):
        again = rewritten(content, block=block, libver=libver)
        path.write_bytes(again)
        refused(path, words, "trust=True opens")
        assert check_run(path, trust=True)[0] == [] and load_any(path, trust=True) == load_any(DATA / name)
        path.write_bytes(again[:-1000])
        refused(path, "is cut off" if block and len(again) - 1000 < len(content) else "")


@pytest.mark.parametrize("version", [b"\0", b"\2"])
def test_only_a_superblock_that_names_this_length_tells_of_another_program(version):
    place = 40 if version == b"\0" else 28
    block = (SIGNATURE + version).ljust(place, b"\0") + (900).to_bytes(8, "little")
    assert "finds its 900 bytes complete, but its header gives 1,000" in superblock_says(block.ljust(48), 900, 1000)
    assert superblock_says(block.ljust(48), 899, 1000) == superblock_says(b"x" + block[1:], 900, 1000) == ""
    assert superblock_says(b"", 900, 1000) == ""
