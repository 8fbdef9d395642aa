"""Reading a run, trusting nothing: HDF5 sees only bytes whose digest is right, and every array is checked."""

import hashlib
import io
import json
import stat
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ttt_batch.errors import RunFileError
from ttt_batch.files import reason, shown
from ttt_batch.runfile.checks import Invalid, RunData, check_games, check_names, check_shape, table_field
from ttt_batch.runfile.declaration import FIELDS, FILE_TYPE, FORMAT, GROUPS, Field
from ttt_batch.runfile.header import MAGIC, read_verified

# h5py is imported inside the functions that need it: it costs 0.1 s at start-up.


def load_run(path: Path) -> RunData:
    """Read a run and check it: length, digest, version, configuration, and every array's dtype and shape.

    Raises RunFileError, one line that says what is wrong and what to do, for everything that is not a whole
    and valid run file.
    """
    path = Path(path)
    name = shown(path)
    try:
        content, version = read_verified(path)
    except FileNotFoundError as exc:
        raise RunFileError(f"there is no file {name}; check the name") from exc
    except MemoryError as exc:
        raise RunFileError(f"cannot read {name}: not enough memory; free some and try again") from exc
    except (OSError, ValueError) as exc:
        raise RunFileError(f"cannot read {name}: {reason(exc)}; check the name and its permissions") from exc

    import h5py

    try:
        with h5py.File(io.BytesIO(content), "r") as file:
            return _parse(file, len(content), version)
    except MemoryError as exc:
        raise RunFileError(f"cannot read {name}: not enough memory; free some and try again") from exc
    # The digest is right, so another program made this file, and h5py raises nearly anything over such files.
    except Exception as exc:
        problem = str(exc) if isinstance(exc, Invalid) else f"HDF5 cannot read it ({type(exc).__name__})"
        raise RunFileError(f"{name} is not a valid run: {problem}; use a file as training wrote it") from exc


def find_newest_run(folder: Path) -> Path | None:
    """The run file in `folder` (`*.h5`, not hidden) that was written last, or None.

    A run file is known by its first bytes alone, so this is fast; the file may still turn out to be damaged.
    Raises RunFileError where the folder cannot be listed.
    """
    folder = Path(folder)
    candidates = []
    try:
        for path in folder.iterdir():
            if path.suffix == ".h5" and not path.name.startswith("."):
                with suppress(OSError):
                    status = path.stat()
                    if stat.S_ISREG(status.st_mode):
                        candidates.append((status.st_mtime_ns, path.name, path))
    except OSError as exc:
        raise RunFileError(f"cannot look for runs in {shown(folder)}: {exc.strerror}; name a run file instead") from exc
    for _, _, path in sorted(candidates, reverse=True):
        with suppress(OSError), path.open("rb") as file:
            if file.read(len(MAGIC)) == MAGIC:
                return path
    return None


class _Reader:
    """Reads declared datasets out of an open HDF5 file, checking each before it takes memory for it."""

    def __init__(self, file: Any, size: int) -> None:
        """file: an open h5py.File.  size: its bytes, which all arrays together cannot exceed."""
        self.file = file
        self.left = size
        self.sizes = {"P": 2}

    def names(self, group: str) -> set[str]:
        """Names in a group, all of them plain (hard) links."""
        import h5py

        parent = self.file[group] if group else self.file
        if not isinstance(parent, h5py.Group):
            raise Invalid(f"{group} is not a group")
        names = set(parent)
        for name in names:
            # Soft and external links could lead to other datasets, or to other files on this computer.
            if type(parent.get(name, getlink=True)) is not h5py.HardLink:
                raise Invalid(f"{group}/{name[:40]} is a link, which a {FILE_TYPE} never holds")
        return names

    def dataset(self, path: str) -> Any:
        """The dataset at `path`; refuses everything else."""
        import h5py

        dataset = self.file[path]
        if not isinstance(dataset, h5py.Dataset):
            raise Invalid(f"{path} is not a dataset")
        return dataset

    def array(self, field: Field) -> NDArray[Any]:
        """The checked content of a declared dataset, in this machine's byte order."""
        import h5py

        dataset = self.dataset(field.path)
        if dataset.shape is None:
            raise Invalid(f"{field.path} has no shape")
        check_shape(field, dataset.dtype, dataset.shape, self.sizes)
        # Only contiguous storage is ever written.  With it no small file can ask for much memory, and nothing
        # is read from elsewhere.
        plain = dataset.id.get_create_plist().get_layout() == h5py.h5d.CONTIGUOUS and not dataset.external
        if not plain or dataset.id.get_storage_size() != dataset.nbytes or dataset.nbytes > self.left:
            raise Invalid(f"{field.path} does not hold the {dataset.nbytes:,} bytes that its shape asks for")
        self.left -= dataset.nbytes
        return np.asarray(dataset[()], dtype=np.dtype(field.dtype))

    def group(self, group: str, newer: bool) -> dict[str, NDArray[Any]]:
        """All declared datasets of a group, by name."""
        names = self.names(group)
        check_names(group, names, newer)
        fields = [(field.path.partition("/")[2], field) for field in FIELDS if field.path.startswith(f"{group}/")]
        return {name: self.array(field) for name, field in fields if name in names}


def _value(attributes: Any, name: str) -> str | int | float:
    """An attribute of the file; its type is looked at before it is read."""
    import h5py

    shown = name[:40]
    if name not in attributes:
        raise Invalid(f"attribute {shown} is missing")
    attribute = attributes.get_id(name)
    kind = attribute.get_type()
    if attribute.shape == ():
        if isinstance(kind, h5py.h5t.TypeStringID) and not kind.is_variable_str():
            return bytes(attributes[name]).decode()
        if isinstance(kind, h5py.h5t.TypeIntegerID):
            return int(attributes[name])
        if isinstance(kind, h5py.h5t.TypeFloatID):
            return float(attributes[name])
    raise Invalid(f"attribute {shown} is neither text of fixed length nor a number")


def _text(attributes: Any, name: str) -> str:
    """A text attribute of the file."""
    value = _value(attributes, name)
    if not isinstance(value, str):
        raise Invalid(f"attribute {name} is not text")
    return value


def _parse(file: Any, size: int, version: tuple[int, int]) -> RunData:
    """Read and check everything in an open HDF5 file."""
    newer = version > FORMAT
    name = f"{version[0]}.{version[1]}"
    if _text(file.attrs, "file_type") != FILE_TYPE:
        raise Invalid(f"attribute file_type is not {FILE_TYPE!r}")
    if _text(file.attrs, "format_version") != name:
        raise Invalid(f"attribute format_version is not {name}, as the first line says")
    text = _text(file.attrs, "config")
    if hashlib.sha256(text.encode()).hexdigest() != _text(file.attrs, "config_hash"):
        raise Invalid("config does not agree with config_hash")
    config = json.loads(text)
    if not isinstance(config, dict):
        raise Invalid("config is not a JSON object")

    reader = _Reader(file, size)
    groups = reader.names("")
    if set(GROUPS) - groups:
        raise Invalid(f"{min(set(GROUPS) - groups)} is missing")
    if groups - set(GROUPS) and not newer:
        raise Invalid(f"{min(groups - set(GROUPS))[:40]} is not part of the format")
    games = check_games(int(reader.group("progress", newer)["games"]))
    states = reader.group("states", newer)
    statistics = reader.group("statistics", newer)
    tables, table_fields = {}, {}
    for table in sorted(reader.names("tables")):
        dataset = reader.dataset(f"tables/{table}")
        axes, meaning = _text(dataset.attrs, "axes"), _text(dataset.attrs, "meaning")
        field = table_field(table, dataset.dtype, axes, meaning)
        tables[table], table_fields[table] = reader.array(field), (field.axes, field.meaning)
    if reader.names("provenance") and not newer:
        raise Invalid("provenance holds more than attributes")
    attributes = file["provenance"].attrs
    provenance = {key: _value(attributes, key) for key in sorted(attributes)}
    notes = (
        (f"format {name} is newer than this program's {FORMAT[0]}.{FORMAT[1]}; what it added is not read",)
        if newer
        else ()
    )
    return RunData(config, games, states, tables, table_fields, statistics, provenance, notes)
