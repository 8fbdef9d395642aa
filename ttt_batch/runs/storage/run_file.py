"""Writer and reader of run files, which checks every dataset before it allocates memory for it.

The HDF5 library gets bytes instead of a file name, so that it cannot follow a link to another file.
"""

import hashlib
import io
import json
import os
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ttt_batch.core.console import one_line
from ttt_batch.core.errors import RunFileError, TakenError, command_with, flag, worded
from ttt_batch.core.files import NotOrdinaryError, identity_in, open_ordinary, shown, size_of
from ttt_batch.runs.storage.container import (
    FAULTY,
    FILE_TYPE,
    SIGNATURE,
    STUDY_TYPE,
    USER_BLOCK,
    Answer,
    FileKind,
    Invalid,
    digest_parts,
    in_child,
    parse_version,
    plain_json,
    run_child,
    version_text,
    write_attributes,
)
from ttt_batch.runs.storage.declaration import (
    ARRAYS,
    FORMAT,
    GROUPS,
    Checker,
    RunData,
    checked_datasets,
    value_findings,
)

# h5py is imported inside the functions that need it: it costs 0.1 s at start-up.

MAX_BYTES = 1 << 32
"""Size of the largest run file that is read, 4 GiB; a million games on 5x5 take 0.3 GB."""

SMALL_BYTES = 1 << 26
"""Size up to which a file is read at once, 64 MiB.  For a larger one, the digest is compared before it gets memory."""

TABLES = (".pkl", ".pickle", ".json", ".jsonl", ".csv", ".npy", ".npz", ".parquet")
"""Suffixes of other programs' table files."""

CERTIFICATE = b"format.npy"
"""Name of the first array in a certificate's file, at byte 30 of it."""

PROGRAMS = (b"#!", b"\x7fELF", b"\xcf\xfa\xed\xfe", b"MZ")
"""First bytes of programs: scripts, and those of Linux, macOS and Windows."""

_REMEDY = "use a file as training wrote it"

_MAX_TEXT = 1 << 16
"""Most bytes of an attribute; HDF5 allows no more in the layout that training writes."""

_MAX_NAMES = 1000
"""Most names in a group, or attributes of an object; a run has a few dozen."""


class DamagedRun(RunFileError):
    """Error for a file whose content is not what training wrote; with `trust`, it is read anyway."""


def _hint(name: str, start: bytes) -> str:
    """Return the use of a file that is not a run, to be added to a message."""
    if SIGNATURE in (start[:8], start[USER_BLOCK:]):
        return f", or {flag('trust', True)} opens one that another program has rewritten"
    if name.endswith(".py"):
        return f" ({name}:NAME is an agent in it, for evaluate or play)"
    if start.startswith(PROGRAMS):
        return f" (cmd:{name} is an agent if it is a program, for evaluate or play)"
    if start[30:].startswith(CERTIFICATE):
        return " (it is a certificate, which ttt-batch check reads)"
    if name.endswith(TABLES):
        return f" ({worded('ttt-batch import', 'import_run')} reads the tables of other programs)"
    return ""


RUN_FILE = FileKind(
    RunFileError,
    "out",
    taken=TakenError,
    name=FILE_TYPE,
    version=FORMAT,
    least=USER_BLOCK,
    most=USER_BLOCK,
    damaged=DamagedRun,
    writer="training",
    restore="restore a backup, or train again",
    anyway=lambda: f"{flag('trust', True)} opens it anyway",
    hint=_hint,
)
"""Kind of run files."""


class Stamp(NamedTuple):
    """Identity of a written file in the file system (`identity_in`), and its first 512 bytes with the digest.

    games: games of its run; 0 if this process has not written it.
    """

    identity: tuple[int, ...]
    block: bytes
    games: int = 0


def save_run(path: Path, data: RunData, *, overwrite: bool = False, coming: list[Stamp] | None = None) -> Stamp:
    """Write a run atomically and return the stamp of its file.

    coming: gets the stamp before the file gets its name, since an interrupt may follow directly.
    Without `overwrite`, an existing file is never replaced, even if it appears during the write.
    Raises RunFileError if the data do not match `FIELDS` or the disk refuses; the old file is then unchanged.
    """
    path = Path(path)
    with RUN_FILE.refusing(path):
        RUN_FILE.place(path, overwrite=overwrite)  # fail before composing the file
        try:
            image = run_image(data)
        except Invalid as exc:
            raise RunFileError(f"cannot write {shown(path)}: {exc}; nothing was written") from exc
        except MemoryError as exc:
            raise RunFileError(f"cannot write {shown(path)}: not enough memory; free some and try again") from exc
        # Release the view before its buffer: Python 3.13 complains if a buffer is collected first.
        with RUN_FILE.drafts([path], overwrite=overwrite) as [draft], image.getbuffer() as view:
            draft.write(view)
            stamp = Stamp(identity_in(draft.path.stat()), bytes(view[:USER_BLOCK]), data.games)
            if coming is not None:
                coming.append(stamp)
            return stamp  # a rename does not change it


def stamp_of(path: Path) -> Stamp | None:
    """Return the stamp of a file, or None if it does not exist.  Raises OSError, also if it is not an ordinary file."""
    with suppress(FileNotFoundError), open_ordinary(path) as file:
        return Stamp(identity_in(os.fstat(file.fileno())), file.read(USER_BLOCK))
    return None


def is_unchanged(path: Path, stamp: Stamp) -> bool:
    """Return whether a file is the one of `stamp`, or has the same bytes.

    The file is opened only if it has been touched or replaced since.  Raises OSError if it cannot be opened.
    """
    with suppress(FileNotFoundError, NotOrdinaryError):
        if identity_in(path.stat()) == stamp.identity:
            return True
        with open_ordinary(path) as file:
            same = file.read(USER_BLOCK) == stamp.block
            return same and f"\nsha256 {hashlib.file_digest(file, 'sha256').hexdigest()}\n".encode() in stamp.block
    return False


def run_image(data: RunData) -> io.BytesIO:
    """Return the whole file; equal data gives equal bytes.  Raises Invalid if the data do not match `FIELDS`."""
    datasets = list(checked_datasets(data))
    try:
        # Canonical form, so that equal configurations give equal text.
        config = json.dumps(data.config, sort_keys=True, separators=(",", ":"), allow_nan=False)
    except (TypeError, ValueError, RecursionError) as exc:
        raise Invalid(f"config cannot be written as JSON ({exc})") from exc
    version = version_text(FORMAT)
    root = {
        "file_type": FILE_TYPE,
        "format_version": version,
        "config": config,
        "config_hash": hashlib.sha256(config.encode()).hexdigest(),
    }

    import h5py

    buffer = io.BytesIO()
    # Old HDF5 libraries can read what "earliest" writes.
    with h5py.File(buffer, "w", libver="earliest", userblock_size=USER_BLOCK) as file:
        write_attributes(file.attrs, root)
        for group, since in GROUPS.items():
            if since == (1, 0) or data.groups[group]:
                file.create_group(group)
        write_attributes(file["provenance"].attrs, data.provenance, "provenance ")
        for field, array in datasets:
            dtype = np.dtype(field.dtype).newbyteorder("<")
            dataset = file.create_dataset(field.path, data=array, dtype=dtype, track_times=False)
            labels = {"axes": field.axes, "unit": field.unit, "meaning": field.meaning}
            write_attributes(dataset.attrs, labels, f"{field.path} ")
    with buffer.getbuffer() as view, view[USER_BLOCK:] as content:
        view[:USER_BLOCK] = user_block(version, hashlib.sha256(content).hexdigest(), len(view))
    return buffer


def user_block(version: str, digest: str, length: int) -> bytes:
    """Return the first 512 bytes.  All versions up to this one use the same text, so reading compares all of it."""
    text = (
        f"{FILE_TYPE}, format {version}\n"
        f"sha256 {digest}\n"
        f"length {length} bytes\n"
        f"The digest covers everything from byte {USER_BLOCK} on, the length is the whole file's.\n"
        "\n"
        "A run of tabular self-play on tic-tac-toe, stored as HDF5.  In Python:\n"
        "    import h5py, json\n"
        '    run = h5py.File("NAME.h5")\n'
        '    print(json.loads(run.attrs["config"]), list(run["tables"]))\n'
        '    code = run["states/code"][:]\n'
    )
    return text.encode().ljust(USER_BLOCK - 1) + b"\n"


def load_run(path: Path, *, trust: bool = False) -> RunData:
    """Read a run and check it: length, digest, version, configuration, and every array's dtype, shape and values.

    trust: read a file with a wrong length or digest in a child process; all other checks still apply.
    Raises RunFileError, with the problem and a remedy, if the file is not a complete and valid run file.
    """
    data, findings = examine_run(path, trust=trust)
    if data is None or findings:
        name = shown(Path(path))
        raise RunFileError(f"{name} is not a valid run: {one_line(findings[0])}; {_REMEDY}")
    return data


def examine_run(path: Path, *, trust: bool = False) -> tuple[RunData | None, list[str]]:
    """Return a run and all findings about it; the run is None if its file cannot be read completely.

    Raises RunFileError if the file is missing, unreadable or of a newer format, and, without `trust`, if its length or
    digest is wrong.
    """
    path = Path(path)
    name = shown(path)
    notes: tuple[str, ...] = ()
    with RUN_FILE.reading(path):
        content = read_content(path, trust=trust)
        try:
            data, findings = parse_image(content, verify(name, io.BytesIO(content), len(content)))
        except DamagedRun as exc:
            if not trust:
                raise
            # HDF5 looks for its signature at 0 and at each power of two from 512 on.
            places = [0, *(USER_BLOCK << power for power in range(len(content).bit_length()))]
            if not any(content[place : place + 8] == SIGNATURE for place in places):
                raise DamagedRun(f"{name} does not contain an HDF5 file; {_REMEDY}") from exc
            data, findings = parse_in_child(content)  # takes 0.25 s, so only files with a wrong digest need it
            notes = (f"its content does not match its digest: opened because of {flag('trust', True)}",)
    if data is not None:
        data.notes = *notes, *data.notes
        findings = [*findings, *value_findings(data)]
    return data, findings


def read_content(path: Path, *, trust: bool) -> bytes:
    """Return the bytes of an ordinary file of at most `MAX_BYTES`.  Raises RunFileError, and the system's OSError.

    trust: read a file larger than `SMALL_BYTES` without comparing its digest first.
    """
    with open_ordinary(path) as file:
        size = size_of(file)
        if size > MAX_BYTES or (size > SMALL_BYTES and not trust):
            verify(shown(path), file, size)
            file.seek(0)
        return file.read(size)


def verify(name: str, file: BinaryIO, size: int) -> tuple[int, int]:
    """Check the length and digest of an open run file of `size` bytes, and return its format version.

    Raises DamagedRun if either is wrong, or the file is too large, and RunFileError for a newer format or a study.
    """
    file.seek(0)
    if file.read(len(STUDY_TYPE)) == STUDY_TYPE.encode():
        use = f"info, check, plot and {command_with('study', 'resume')} accept it"
        raise RunFileError(f"{name} is a study of many learners, not a run; {use}")
    header = RUN_FILE.read_header(name, file, size)
    if size > MAX_BYTES:
        limit = f"a run file has at most {MAX_BYTES:,}"
        raise DamagedRun(f"{name} has {size:,} bytes; {limit}; {RUN_FILE.restore}")
    RUN_FILE.check_length(name, file, header, size)
    file.seek(0)
    # A newer version may change the text after the first three lines.
    block = user_block(version_text(header.version), header.digest, header.length)
    if header.version <= FORMAT and file.read(USER_BLOCK) != block:
        raise RUN_FILE.changed(f"{name} is damaged in its first {USER_BLOCK} bytes, or another program changed them")
    RUN_FILE.check_digest(name, header.digest, partial(digest_parts, file, [(USER_BLOCK, size)], USER_BLOCK))
    return header.version


def find_newest_run(folder: Path, fits: Callable[[Path], bool] = RUN_FILE.begins) -> Path | None:
    """Return the newest run file in `folder` (`*.h5`, not hidden), or None.

    Only the first bytes are checked, so this is fast, but the file may be damaged.
    fits: predicate that accepts a file.  Raises RunFileError if the folder cannot be listed.
    """
    folder = Path(folder)
    candidates = []
    try:
        for path in folder.iterdir():
            if path.suffix == ".h5" and not path.name.startswith("."):
                with suppress(OSError):
                    candidates.append((path.stat().st_mtime_ns, path.name, path))
    except OSError as exc:
        raise RunFileError(f"cannot look for runs in {shown(folder)}: {exc.strerror}; name a run file instead") from exc
    return next((path for _, _, path in sorted(candidates, reverse=True) if fits(path)), None)


class Findings(list[str]):
    """Findings about a file, in the order of reading."""

    @contextmanager
    def about(self, what: str) -> Iterator[None]:
        """Turn an error in one part of the file into a finding, and continue after it."""
        try:
            yield
        except Invalid as exc:
            self.append(str(exc))
        except MemoryError:
            raise
        # h5py raises many kinds of errors for files that another program has written or damaged.
        except Exception as exc:
            self.append(f"HDF5 cannot read {what} ({type(exc).__name__})")


def parse_image(content: bytes, version: tuple[int, int] | None) -> tuple[RunData | None, list[str]]:
    """Read a run file; return the run, None if there are findings, and the list of findings.

    version: the version in the user block, or None if the user block is not reliable.
    """
    import h5py

    found = Findings()
    data = None
    with found.about("it"), h5py.File(io.BytesIO(content), "r") as file:
        data = _parse(file, len(content), version, found)
    return (None if found else data), list(found)


def _parse(file: Any, size: int, version: tuple[int, int] | None, found: Findings) -> RunData | None:
    """Read and check all data in an open HDF5 file of `size` bytes."""
    with found.about("file_type"):
        if _text(file.attrs, "file_type") != FILE_TYPE:
            raise Invalid(f"attribute file_type is not {FILE_TYPE!r}")
    with found.about("format_version"):
        text = _text(file.attrs, "format_version")
        if (written := parse_version(text)) is None:
            raise Invalid(f"attribute format_version is {text[:20]!r}, it must be {version_text(FORMAT)} or the like")
        if written[0] != FORMAT[0]:
            advice = "upgrade ttt-batch" if written > FORMAT else "there never was one"
            raise Invalid(f"it has format {text}, but this program reads {FORMAT[0]}.x: {advice}")
        if version is not None and written != version:
            raise Invalid(f"attribute format_version is not {version_text(version)}, as the first line says")
        version = written
    if version is None:
        return None
    config: Any = None
    with found.about("config"):
        text = _text(file.attrs, "config")
        if hashlib.sha256(text.encode()).hexdigest() != _text(file.attrs, "config_hash"):
            raise Invalid("config does not agree with config_hash")
        with suppress(ValueError, RecursionError):
            config = plain_json(text)
        if not isinstance(config, dict):
            raise Invalid("config is not JSON, or not an object")
    groups: set[str] = set()
    with found.about("the groups"):
        names, known = _names(file, ""), {group for group, since in GROUPS.items() if since <= version}
        found.extend(f"{name} is missing" for name in sorted(known - names) if GROUPS[name] == (1, 0))
        if version <= FORMAT:
            found.extend(f"{name[:40]} is not part of the format" for name in sorted(names - known))
        groups = names & known
    checker = Checker(version)
    arrays: dict[str, Any] = _read_arrays(file, groups, size, checker, found)
    provenance = {}
    with found.about("provenance"):
        if "provenance" in groups:
            if _names(file, "provenance") and version <= FORMAT:
                raise Invalid("provenance holds more than attributes")
            attributes = file["provenance"].attrs
            if len(attributes) > _MAX_NAMES:
                raise Invalid(f"provenance has {len(attributes):,} attributes, it may have {_MAX_NAMES:,}")
            for key in sorted(attributes):
                provenance[key] = _value(attributes, key)
    games = int(arrays["progress"].pop("games", np.int64(0)))
    fields = {name: (field.axes, field.meaning) for name, field in checker.tables.items()}
    note = f"format {version_text(version)} is newer than this program's {version_text(FORMAT)}; additions are not read"
    rest: dict[str, Any] = {"notes": (note,) if version > FORMAT else (), "version": version, "size": size}
    return RunData(config=config, games=games, table_fields=fields, provenance=provenance, **arrays, **rest)


def _names(file: Any, group: str) -> set[str]:
    """Return the names in a group of an open HDF5 file.  Raises Invalid unless all are hard links."""
    import h5py

    parent = file[group] if group else file
    if not isinstance(parent, h5py.Group):
        raise Invalid(f"{group} is not a group")
    if len(parent) > _MAX_NAMES:
        raise Invalid(f"{group or 'the root'} has {len(parent):,} members, it may have {_MAX_NAMES:,}")
    names = set(parent)
    for name in sorted(names):
        # Soft and external links could point to other datasets, or to other files on this computer.
        if type(parent.get(name, getlink=True)) is not h5py.HardLink:
            raise Invalid(f"{f'{group}/{name}'.lstrip('/')[:80]} is a link, which a {FILE_TYPE} never contains")
    return names


def _read_arrays(
    file: Any, groups: Collection[str], size: int, checker: Checker, found: Findings
) -> dict[str, dict[str, NDArray[Any]]]:
    """Return the datasets of an open HDF5 file of `size` bytes, by group and name; all together have at most these."""
    arrays: dict[str, dict[str, NDArray[Any]]] = {group: {} for group in ARRAYS}
    for group in ARRAYS:
        with found.about(group):
            names, wrong = checker.expected(group, _names(file, group)) if group in groups else ([], [])
            found.extend(wrong)
            for name in names:
                with found.about(f"{group}/{name[:40]}"):
                    arrays[group][name] = _read_dataset(file, group, name, size, checker)
                    size -= arrays[group][name].nbytes
    return arrays


def _read_dataset(file: Any, group: str, name: str, most: int, checker: Checker) -> NDArray[Any]:
    """Return a dataset of at most `most` bytes, checked before it gets memory, in this machine's byte order."""
    import h5py

    dataset = file[group][name]
    if not isinstance(dataset, h5py.Dataset):
        raise Invalid(f"{group}/{name[:80]} is not a dataset")
    field = checker.declaration(group, name, dataset, lambda label: _text(dataset.attrs, label))
    # We write only contiguous storage.  With it, a small file cannot need much memory or refer to other files.
    if dataset.id.get_create_plist().get_layout() != h5py.h5d.CONTIGUOUS or dataset.external:
        raise Invalid(
            f"{field.path} is stored in chunks, compressed or elsewhere; store it whole (h5repack -f NONE -l CONTI)"
        )
    if dataset.id.get_storage_size() != dataset.nbytes or dataset.nbytes > most:
        raise Invalid(f"{field.path} does not hold the {dataset.nbytes:,} bytes that its shape needs")
    return np.asarray(dataset[()], dtype=np.dtype(field.dtype))


def _value(attributes: Any, name: str) -> str | int | float:
    """Return an attribute of the file, after a check of its type and size.  Raises Invalid for other attributes."""
    import h5py

    shown = name[:40]
    if name not in attributes:
        raise Invalid(f"attribute {shown} is missing")
    attribute = attributes.get_id(name)
    kind = attribute.get_type()
    if attribute.shape == () and kind.get_size() <= _MAX_TEXT:
        if isinstance(kind, h5py.h5t.TypeStringID) and not kind.is_variable_str():
            try:
                return bytes(attributes[name]).decode()
            except UnicodeDecodeError:
                raise Invalid(f"attribute {shown} is not UTF-8 text") from None
        if isinstance(kind, h5py.h5t.TypeIntegerID):
            return int(attributes[name])
        if isinstance(kind, h5py.h5t.TypeFloatID):
            return float(attributes[name])
    raise Invalid(f"attribute {shown} is neither text of fixed length nor a number")


def _text(attributes: Any, name: str) -> str:
    """Return a text attribute of the file.  Raises Invalid if it is not text."""
    value = _value(attributes, name)
    if not isinstance(value, str):
        raise Invalid(f"attribute {name} is not text")
    return value


_PLAIN = ("config", "games", "table_fields", "provenance", "notes", "version", "size")


def parse_in_child(content: bytes) -> tuple[RunData | None, list[str]]:
    """Run `parse_image` without a known version in a child process; its failures become findings."""
    with suppress(*FAULTY):
        return from_answer(*in_child(__name__, content))
    return None, ["the HDF5 library fails on it (status 0)"]


def to_answer(data: RunData | None, findings: list[str]) -> Answer:
    """Return the result of `parse_image` as an answer."""
    if data is None:
        return {"findings": findings}, {}
    arrays = {f"{group}/{name}": array for group in ARRAYS for name, array in getattr(data, group).items()}
    return {"findings": findings, "data": {name: getattr(data, name) for name in _PLAIN}}, arrays


def from_answer(text: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> tuple[RunData | None, list[str]]:
    """Return the result in an answer.  Raises ValueError and similar errors for one from a faulty child."""
    findings = [str(finding) for finding in text["findings"]]
    if "data" not in text:
        return None, findings or ["HDF5 cannot read it"]
    values = text["data"]
    values["table_fields"] = {name: (axes, meaning) for name, (axes, meaning) in values["table_fields"].items()}
    values |= {"notes": tuple(values["notes"]), "version": tuple(values["version"])}
    groups: dict[str, Any] = {group: {} for group in ARRAYS}
    for path, array in arrays.items():
        group, _, name = path.partition("/")
        groups[group][name] = array
    return RunData(**values, **groups), findings


if __name__ == "__main__":
    run_child(lambda content: to_answer(*parse_image(content, None)))
