"""Reader of run files that checks the digest before HDF5 gets the bytes, and then every array.

Parser of the HDF5 part of a run file, which checks every dataset before it allocates memory for it.
The library gets bytes instead of a file name, so that it cannot follow a link to another file.

Reader of possibly damaged HDF5 in a child process, which may crash, hang or need too much memory.
One flipped byte in an HDF5 file can make the library end the process or loop forever.  If the user trusts a file with a
wrong digest, a child process reads it and returns plain arrays.
"""

import hashlib
import io
import json
import os
import re
import signal
import subprocess
import sys
import zipfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from ttt_batch.core.console import one_line
from ttt_batch.core.errors import RunFileError, flag
from ttt_batch.core.files import begins_with, reason, shown
from ttt_batch.core.resources import module_environment
from ttt_batch.runs.lookup import no_such_file
from ttt_batch.runs.storage.declaration import (
    FIELDS,
    FILE_TYPE,
    FORMAT,
    GROUPS,
    POINTS,
    POINTS_SINCE,
    RESUME,
    RESUME_SINCE,
    Field,
    Invalid,
    RunData,
    check_names,
    check_shape,
    copy_field,
    table_field,
    value_findings,
    version_text,
)
from ttt_batch.runs.storage.writing import MAGIC, DamagedRun, holds_hdf5, read_bytes, verify

# h5py is imported inside the functions that need it: it costs 0.1 s at start-up.

T = TypeVar("T")

_MAX_TEXT = 1 << 16
"""Most bytes of an attribute; HDF5 allows no more in the layout that training writes."""

_MAX_NAMES = 1000
"""Most names in a group, or attributes of an object; a run has a few dozen."""


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
    written = None
    with found.about("format_version"):
        written = _version(_text(file.attrs, "format_version"))
        if version is not None and written != version:
            raise Invalid(f"attribute format_version is not {version_text(version)}, as the first line says")
    version = version or written
    if version is None or version[0] != FORMAT[0]:
        return None
    config: dict[str, Any] = {}
    with found.about("config"):
        config = _config(file.attrs)
    reader = _Reader(file, size, version, found)
    progress, states, statistics = (reader.declared(group) for group in ("progress", "states", "statistics"))
    tables = reader.each("tables", reader.table)
    fields = {name: field for name, (_, field) in tables.items()}
    resume, points = reader.copies(RESUME, fields), reader.copies(POINTS, fields)
    provenance = reader.provenance()
    games = int(progress.pop("games", np.int64(0)))
    if found:
        return None
    note = f"format {version_text(version)} is newer than this program's {version_text(FORMAT)}; additions are not read"
    return RunData(
        config=config,
        games=games,
        states=states,
        tables={name: array for name, (array, _) in tables.items()},
        table_fields={name: (field.axes, field.meaning) for name, field in fields.items()},
        statistics=statistics,
        provenance=provenance,
        progress=progress,
        resume=resume,
        points=points,
        notes=(note,) if version > FORMAT else (),
        version=version,
    )


def _version(text: str) -> tuple[int, int]:
    match = re.fullmatch(r"([0-9]{1,4})\.([0-9]{1,4})", text)
    if match is None:
        raise Invalid(f"attribute format_version is {text[:20]!r}, it must be {version_text(FORMAT)} or the like")
    version = int(match[1]), int(match[2])
    if version[0] != FORMAT[0]:
        advice = "upgrade ttt-batch" if version > FORMAT else "there never was one"
        raise Invalid(f"it has format {text}, but this program reads {FORMAT[0]}.x: {advice}")
    return version


def _config(attributes: Any) -> dict[str, Any]:
    text = _text(attributes, "config")
    if hashlib.sha256(text.encode()).hexdigest() != _text(attributes, "config_hash"):
        raise Invalid("config does not agree with config_hash")
    try:
        config = json.loads(text, parse_constant=int)  # int("NaN") fails: JSON has no NaN and infinities
    except (ValueError, RecursionError):
        raise Invalid("config is not JSON") from None
    if not isinstance(config, dict):
        raise Invalid("config is not a JSON object")
    return config


class _Reader:
    """Reader of declared datasets in an open HDF5 file, which checks each one before it allocates memory for it."""

    def __init__(self, file: Any, size: int, version: tuple[int, int], found: Findings) -> None:
        """Check the groups of `file`, an open h5py.File.  size: its bytes, the limit of all arrays together."""
        self.file, self.left, self.version, self.found = file, size, version, found
        self.sizes = {"P": 2}
        self.groups: set[str] = set()
        known = {*GROUPS, *([RESUME] if version >= RESUME_SINCE else [])}
        known |= {POINTS} if version >= POINTS_SINCE else set()
        with found.about("the groups"):
            names = self.names("")
            found.extend(f"{name} is missing" for name in sorted(set(GROUPS) - names))
            if version <= FORMAT:
                found.extend(f"{name[:40]} is not part of the format" for name in sorted(names - known))
            self.groups = names & known

    def names(self, group: str) -> set[str]:
        """Return the names in a group.  Raises Invalid unless all are hard links."""
        import h5py

        parent = self.file[group] if group else self.file
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

    def dataset(self, path: str) -> Any:
        """Return the dataset at `path`.  Raises Invalid if it is not a dataset."""
        import h5py

        dataset = self.file[path]
        if not isinstance(dataset, h5py.Dataset):
            raise Invalid(f"{path[:80]} is not a dataset")
        return dataset

    def array(self, field: Field) -> NDArray[Any]:
        """Return the checked content of a declared dataset, in this machine's byte order."""
        import h5py

        dataset = self.dataset(field.path)
        if dataset.shape is None:
            raise Invalid(f"{field.path} has no shape")
        check_shape(field, dataset.dtype, dataset.shape, self.sizes)
        # We write only contiguous storage.  With it, a small file cannot need much memory or refer to other files.
        if dataset.id.get_create_plist().get_layout() != h5py.h5d.CONTIGUOUS or dataset.external:
            raise Invalid(
                f"{field.path} is stored in chunks, compressed or elsewhere; store it whole (h5repack -f NONE -l CONTI)"
            )
        if dataset.id.get_storage_size() != dataset.nbytes or dataset.nbytes > self.left:
            raise Invalid(f"{field.path} does not hold the {dataset.nbytes:,} bytes that its shape needs")
        self.left -= dataset.nbytes
        return np.asarray(dataset[()], dtype=np.dtype(field.dtype))

    def table(self, name: str) -> tuple[NDArray[Any], Field]:
        """Return a learner's table and the declaration in its attributes."""
        dataset = self.dataset(f"tables/{name}")
        axes, meaning = _text(dataset.attrs, "axes"), _text(dataset.attrs, "meaning")
        field = table_field(name, dataset.dtype, axes, meaning)
        return self.array(field), field

    def each(self, group: str, read: Callable[[str], T]) -> dict[str, T]:
        """Return the results of `read` for all names in a group, by name."""
        items = {}
        if group in self.groups:
            with self.found.about(group):
                for name in sorted(self.names(group)):
                    with self.found.about(f"{group}/{name[:40]}"):
                        items[name] = read(name)
        return items

    def copies(self, group: str, fields: Mapping[str, Field]) -> dict[str, NDArray[Any]]:
        """Return the tables of `resume` or `points` by name.  fields: the learner's."""
        return self.each(group, lambda name: self.array(copy_field(group, name, fields)))

    def declared(self, group: str) -> dict[str, NDArray[Any]]:
        """Return all declared datasets of a group, by name."""
        arrays = {}
        if group in self.groups:
            with self.found.about(group):
                names = self.names(group)
                self.found.extend(check_names(group, names, self.version))
                for field in FIELDS:
                    if field.group == group and field.name in names:
                        with self.found.about(field.path):
                            arrays[field.name] = self.array(field)
        return arrays

    def provenance(self) -> dict[str, str | int | float]:
        """Return the attributes of the group `provenance`."""
        values = {}
        if "provenance" in self.groups:
            with self.found.about("provenance"):
                if self.names("provenance") and self.version <= FORMAT:
                    raise Invalid("provenance holds more than attributes")
                attributes = self.file["provenance"].attrs
                if len(attributes) > _MAX_NAMES:
                    raise Invalid(f"provenance has {len(attributes):,} attributes, it may have {_MAX_NAMES:,}")
                for key in sorted(attributes):
                    values[key] = _value(attributes, key)
        return values


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


_REMEDY = "use a file as training wrote it"


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


def is_run_file(path: Path) -> bool:
    """Return whether an ordinary file of any name begins with the run file's magic bytes."""
    return begins_with(path, MAGIC)


def examine_run(path: Path, *, trust: bool = False) -> tuple[RunData | None, list[str]]:
    """Return a run and all findings about it; the run is None if its file cannot be read completely.

    Raises RunFileError if the file is missing, unreadable or of a newer format, and, without `trust`, if its length or
    digest is wrong.
    """
    path = Path(path)
    name = shown(path)
    try:
        content = read_bytes(path, trust=trust)
        notes: tuple[str, ...] = ()
        try:
            data, findings = parse_image(content, verify(name, content))
        except DamagedRun as exc:
            if not trust:
                raise
            if not holds_hdf5(content):
                raise DamagedRun(f"{name} does not contain an HDF5 file; {_REMEDY}") from exc
            # A child process costs 0.25 s, so only files with a wrong digest need one.
            data, findings = parse_in_child(content)
            notes = (f"its content does not match its digest: opened because of {flag('trust', True)}",)
    except FileNotFoundError as exc:
        raise no_such_file(path) from exc
    except MemoryError as exc:
        raise RunFileError(f"cannot read {name}: not enough memory; free some and try again") from exc
    except (OSError, ValueError) as exc:
        raise RunFileError(f"cannot read {name}: {reason(exc)}; check the name and its permissions") from exc
    if data is not None:
        data.notes, data.size = (*notes, *data.notes), len(content)
        findings = [*findings, *value_findings(data)]
    return data, findings


def find_newest_run(folder: Path, fits: Callable[[Path], bool] = is_run_file) -> Path | None:
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


SECONDS = 20.0
"""Time limit of the child in seconds; a file of 64 MiB takes about two."""

MEMORY = 400 << 20
"""Limit of the child's data in bytes where the system supports it; `TIMES` the file size if that is more."""

TIMES = 10

_PLAIN = ("config", "games", "table_fields", "provenance", "notes", "version")
_PARTS = ("states", "tables", "statistics", "progress", "resume", "points")


Answer = tuple[dict[str, Any], dict[str, NDArray[Any]]]
"""Answer of a child: values for JSON, and arrays; of a file that it cannot read {"findings": [...]}."""

_FAULTY = (ValueError, KeyError, TypeError, OSError, EOFError, zipfile.BadZipFile)
"""Errors of reading the answer of a faulty child."""


def parse_in_child(content: bytes) -> tuple[RunData | None, list[str]]:
    """Run `parse_image` without a known version in a child process; its failures become findings."""
    with suppress(*_FAULTY):
        return from_answer(*in_child(__name__, content))
    return None, ["the HDF5 library fails on it (status 0)"]


def in_child(module: str, content: bytes) -> Answer:
    """Pass `content` to a child process that runs `module` with `run_child`; return its answer, or a finding."""
    try:
        done = subprocess.run(
            [sys.executable, "-m", module],
            input=content,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=module_environment() | {"OPENBLAS_NUM_THREADS": "1"},
            timeout=max(SECONDS, len(content) / 1e7),
            check=False,
        )
    except subprocess.TimeoutExpired:
        return finding(f"the HDF5 library does not finish reading it in {SECONDS:g} s")
    if done.returncode == 0:
        with suppress(*_FAULTY):
            return unpack(done.stdout)
    how = signal.Signals(-done.returncode).name if done.returncode < 0 else f"status {done.returncode}"
    return finding(f"the HDF5 library fails on it ({how})")


def finding(text: str) -> Answer:
    """Return the answer about a file that cannot be read."""
    return {"findings": [text]}, {}


def pack(text: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> memoryview:
    """Return an answer as the bytes of an npz file, in which one array is a JSON text."""
    buffer = io.BytesIO()
    text_bytes = np.frombuffer(json.dumps(text).encode(), np.uint8)
    np.savez(buffer, allow_pickle=False, text=text_bytes, **arrays)
    return buffer.getbuffer()


def unpack(packed: bytes) -> Answer:
    """Return the answer packed by `pack`.  Raises ValueError and similar errors for bytes from a faulty child."""
    with np.load(io.BytesIO(packed), allow_pickle=False) as found:
        arrays = dict(found)
    return json.loads(arrays.pop("text").tobytes()), arrays


def to_answer(data: RunData | None, findings: list[str]) -> Answer:
    """Return the result of `parse_image` as an answer."""
    if data is None:
        return {"findings": findings}, {}
    arrays = {f"{part}/{name}": array for part in _PARTS for name, array in getattr(data, part).items()}
    return {"findings": findings, "data": {name: getattr(data, name) for name in _PLAIN}}, arrays


def from_answer(text: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> tuple[RunData | None, list[str]]:
    """Return the result in an answer.  Raises ValueError and similar errors for one from a faulty child."""
    findings = [str(finding) for finding in text["findings"]]
    if "data" not in text:
        return None, findings or ["HDF5 cannot read it"]
    values = text["data"]
    values["table_fields"] = {name: (axes, meaning) for name, (axes, meaning) in values["table_fields"].items()}
    values |= {"notes": tuple(values["notes"]), "version": tuple(values["version"])}
    parts: dict[str, Any] = {part: {} for part in _PARTS}
    for path, array in arrays.items():
        part, _, name = path.partition("/")
        parts[part][name] = array
    return RunData(**values, **parts), findings


def memory_limit(size: int) -> int:
    """Return the limit of the child's data in bytes for a file of `size` bytes."""
    return max(MEMORY, TIMES * size)


def limit_memory(size: int = 0) -> None:
    """Limit this process's memory to the limit for a file of `size` bytes, and disable core dumps, if possible."""
    with suppress(ImportError):
        import resource

        for kind, limit in ((resource.RLIMIT_CORE, 0), (resource.RLIMIT_DATA, memory_limit(size))):
            with suppress(OSError, ValueError):
                resource.setrlimit(kind, (limit, limit))


def run_child(work: Callable[[bytes], Answer]) -> None:
    """Run the child: read a file's bytes from standard input and write the answer of `work` to standard output."""
    content = sys.stdin.buffer.read()
    limit_memory(len(content))
    try:
        packed = pack(*work(content))
    except MemoryError:
        packed = pack(*finding(f"reading it takes more than {memory_limit(len(content)) >> 20} MiB of memory"))
    except Exception:  # what it read cannot be packed: objects, or text that JSON lacks
        packed = pack(*finding("its HDF5 is damaged"))
    sys.stdout.buffer.write(packed)
    sys.stdout.buffer.flush()
    # Skip the clean-up, since the library may have left a corrupt state.
    os._exit(0)


if __name__ == "__main__":
    run_child(lambda content: to_answer(*parse_image(content, None)))
