"""Compiled kernels on disk: none is loaded that is damaged, lies under a wrong name, or is open to others."""

import os
import stat
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest

from ttt_batch.compiler import kernel_cache
from ttt_batch.compiler.kernel_cache import (
    SharedError,
    cached_kernels,
    check_cache,
    private_folder,
    read_kernel,
    read_private,
    usable_folder,
    write_kernel,
)
from ttt_batch.core.errors import TttBatchError

NAME, CONTENT = "module.function-0123.kernel", bytes(range(256))

pytestmark = pytest.mark.skipif(not hasattr(os, "geteuid"), reason="Windows knows no owners")


@pytest.fixture(autouse=True)
def nothing_said(monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a new process."""
    monkeypatch.setattr(kernel_cache, "_said", [])


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


# --- digests --------------------------------------------------------------------------------------------


def test_what_is_written_is_read(tmp_path: Path) -> None:
    wished = tmp_path / "cache" / "kernels-1"
    write_kernel(wished, NAME, CONTENT)
    assert bytes(read_kernel(wished, NAME)) == CONTENT
    assert [path.name for path in wished.iterdir()] == [NAME]
    assert mode(wished) == mode(wished.parent) == 0o700 and mode(wished / NAME) == 0o600


def test_damaged_kernels_are_not_loaded(tmp_path: Path) -> None:
    write_kernel(tmp_path / "kernels-1", NAME, CONTENT)
    file = tmp_path / "kernels-1" / NAME
    good = file.read_bytes()
    for place in range(len(good)):
        file.write_bytes(good[:place] + bytes([good[place] ^ 1 << place % 8]) + good[place + 1 :])
        with pytest.raises(ValueError, match="is damaged"):
            read_kernel(tmp_path / "kernels-1", NAME)
    for torn in (b"", good[:31], good[:-1], good + b"\0"):
        file.write_bytes(torn)
        with pytest.raises(ValueError, match="is damaged"):
            read_kernel(tmp_path / "kernels-1", NAME)


def test_another_kernels_file_is_not_loaded(tmp_path: Path) -> None:
    """Neither under a name of the same folder nor from the folder of another version."""
    for folder in ("kernels-1", "kernels-2"):
        write_kernel(tmp_path / folder, NAME, CONTENT)
    (tmp_path / "kernels-1" / NAME).rename(tmp_path / "kernels-1" / "other.kernel")
    with pytest.raises(ValueError, match="is damaged"):
        read_kernel(tmp_path / "kernels-1", "other.kernel")
    (tmp_path / "kernels-2" / NAME).rename(tmp_path / "kernels-1" / NAME)
    with pytest.raises(ValueError, match="is damaged"):
        read_kernel(tmp_path / "kernels-1", NAME)


# --- owners ---------------------------------------------------------------------------------------------


def anothers(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let `path` belong to another user than this process."""
    if os.geteuid() == 0:
        os.chown(path, 65_534, 65_534)
    else:
        other = os.geteuid() + 1
        monkeypatch.setattr(os, "geteuid", lambda: other)


@pytest.mark.parametrize(
    ("of_parent", "of_folder", "why"),
    [
        (0o700, 0o700, ""),
        (0o755, 0o755, ""),
        (0o1777, 0o755, ""),  # as below /tmp
        (0o700, 0o777, "folder can be written by others"),
        (0o700, 0o1777, "folder can be written by others"),
        (0o700, 0o702, "folder can be written by others"),
        (0o777, 0o700, "parent can be written by others"),
        (0o703, 0o700, "parent can be written by others"),
    ],
)
def test_who_may_write_to_a_folder_and_to_those_above(of_parent: int, of_folder: int, why: str, tmp_path: Path) -> None:
    folder = tmp_path / "parent" / "folder"
    folder.mkdir(parents=True)
    folder.chmod(of_folder)
    folder.parent.chmod(of_parent)
    (tmp_path / "link").symlink_to(folder)
    for path in (folder, tmp_path / "link", folder.parent / ".." / "parent" / "folder"):
        if why:
            with pytest.raises(SharedError, match=why):
                private_folder(path)
        else:
            assert private_folder(path) == folder


def test_folders_and_files_of_other_users(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder, file = tmp_path / "folder", tmp_path / "file"
    folder.mkdir()
    file.write_bytes(CONTENT)
    for path in (folder, file):
        anothers(path, monkeypatch)
    with pytest.raises(SharedError, match=r"belongs to user"):
        private_folder(folder / "below")
    with pytest.raises(SharedError, match=r"file belongs to user"):
        read_private(file)


def test_the_group_of_one_user_is_not_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tmp_path.chmod(0o770)
    name, members = "someone", ["someone"]
    monkeypatch.setattr("pwd.getpwuid", lambda _uid: SimpleNamespace(pw_name="someone"))
    monkeypatch.setattr("grp.getgrgid", lambda _gid: SimpleNamespace(gr_name=name, gr_mem=members))
    assert private_folder(tmp_path) == tmp_path
    members = ["someone", "else"]
    with pytest.raises(SharedError, match="can be written by others"):
        private_folder(tmp_path)
    name, members = "staff", []
    with pytest.raises(SharedError, match="can be written by others"):
        private_folder(tmp_path)


def test_files_that_others_could_write_are_not_read(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_bytes(CONTENT)
    assert read_private(file) == CONTENT
    (tmp_path / "link").symlink_to(file)
    os.mkfifo(tmp_path / "fifo")
    for name in ("link", "fifo", ".", "missing"):
        with pytest.raises(OSError):
            read_private(tmp_path / name)
    file.chmod(0o666)
    with pytest.raises(SharedError, match="file can be written by others"):
        read_private(file)


def test_a_system_without_owners_refuses_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tmp_path.chmod(0o777)
    monkeypatch.delattr(os, "geteuid")
    assert private_folder(tmp_path / "folder") == tmp_path / "folder"
    (tmp_path / "file").write_bytes(CONTENT)
    assert read_private(tmp_path / "file") == CONTENT


# --- what is used instead -------------------------------------------------------------------------------

Roots = Callable[..., None]


@pytest.fixture
def roots(monkeypatch: pytest.MonkeyPatch) -> Roots:
    """Makes these folders the ones that may hold kernels, the first of them wished for."""

    def use(*folders: Path) -> None:
        monkeypatch.setattr(kernel_cache, "_roots", lambda: iter(folders))
        monkeypatch.setattr(kernel_cache, "cache_folder", lambda: folders[0] / "kernels-1")

    return use


def test_an_open_folder_is_not_used_but_a_private_one(
    tmp_path: Path, roots: Roots, capsys: pytest.CaptureFixture[str]
) -> None:
    shared, also, own = (tmp_path / name for name in ("open", "also", "own"))
    for folder in (shared, also):
        folder.mkdir()
        folder.chmod(0o777)
    roots(shared, also, own)
    for _ in range(2):
        write_kernel(shared / "kernels-1", NAME, CONTENT)
        assert bytes(read_kernel(shared / "kernels-1", NAME)) == CONTENT
    assert not list(shared.iterdir()) and not list(also.iterdir())
    assert check_cache() == own / "kernels-1"
    assert cached_kernels() == [own / "kernels-1" / NAME]
    line = f"ttt-batch: {shared} can be written by others: compiled kernels are kept in {own / 'kernels-1'} instead\n"
    assert capsys.readouterr() == ("", line)


def test_without_a_private_folder_nothing_is_kept(
    tmp_path: Path, roots: Roots, capsys: pytest.CaptureFixture[str]
) -> None:
    write_kernel(tmp_path / "open" / "kernels-1", NAME, CONTENT)
    usable_folder.cache_clear()
    (tmp_path / "open").chmod(0o777)
    roots(tmp_path / "open")
    write_kernel(tmp_path / "open" / "kernels-1", "other.kernel", CONTENT)
    with pytest.raises(FileNotFoundError):
        read_kernel(tmp_path / "open" / "kernels-1", NAME)
    assert cached_kernels() == []
    with pytest.raises(TttBatchError, match="where others could write; name a folder of your own in TTT_BATCH_CACHE"):
        check_cache()
    assert [path.name for path in (tmp_path / "open" / "kernels-1").iterdir()] == [NAME]
    out, err = capsys.readouterr()
    assert out == "" and err.count("\n") == 1
    assert f"{tmp_path / 'open'} can be written by others: compiled kernels are not kept; name a folder" in err


def test_a_planted_file_is_compiled_anew(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    wished = tmp_path / "kernels-1"
    for name in (NAME, "other.kernel"):
        write_kernel(wished, name, CONTENT)
        (wished / name).chmod(0o646)
        with pytest.raises(SharedError):
            read_kernel(wished, name)
    line = f"ttt-batch: {wished / NAME} can be written by others: it is not used, but compiled again\n"
    assert capsys.readouterr() == ("", line)
    write_kernel(wished, NAME, CONTENT)
    assert bytes(read_kernel(wished, NAME)) == CONTENT and mode(wished / NAME) == 0o600


def test_somebody_faster_in_a_folder_open_to_all_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Below /tmp another user may make the folder just after its absence was noticed."""
    tmp_path.chmod(0o1777)
    make = Path.mkdir

    def late(path: Path, mode: int = 0o777, *_: object) -> None:
        make(path, mode)
        path.chmod(0o777)

    monkeypatch.setattr(Path, "mkdir", late)
    with pytest.raises(SharedError, match="folder can be written by others"):
        private_folder(tmp_path / "folder")


def test_another_users_home_is_not_the_last_word(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`sudo` may leave another user's home in HOME."""
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.delenv("TTT_BATCH_CACHE_DIR", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "other"))
    monkeypatch.setattr("pwd.getpwuid", lambda _uid: SimpleNamespace(pw_name="me", pw_dir=str(tmp_path / "mine")))
    monkeypatch.setattr("sys.platform", "linux")
    first, second, last = kernel_cache._roots()
    assert (first, second) == (tmp_path / "other/.cache/ttt-batch", tmp_path / "mine/.cache/ttt-batch")
    assert last.name == f"ttt-batch-{os.geteuid()}"
    monkeypatch.setenv("TTT_BATCH_CACHE_DIR", "here")
    assert next(kernel_cache._roots()) == Path("here") and len(list(kernel_cache._roots())) == 4


def test_what_killed_processes_left_is_dropped(tmp_path: Path) -> None:
    folder = tmp_path / "cache" / "kernels-1"
    assert usable_folder(folder) == folder
    old, fresh, other = (folder / name for name in ("tmp0a.tmp", "tmp0b.tmp", "mine.tmp"))
    for path in (old, fresh, other):
        path.write_bytes(b"half")
    for path in (old, other):
        os.utime(path, (time.time() - 4_000,) * 2)
    write_kernel(folder, NAME, CONTENT)
    assert {path.name for path in folder.iterdir()} == {NAME, fresh.name, other.name}


def test_a_folder_that_another_process_drops_stops_no_write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder, gone = tmp_path / "cache" / "kernels-1", tmp_path / "cache" / "kernels-0"
    monkeypatch.setattr(Path, "glob", lambda *_: [gone])
    write_kernel(folder, NAME, CONTENT)
    assert bytes(read_kernel(folder, NAME)) == CONTENT
