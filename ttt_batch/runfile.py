"""The run file: a run's arrays in one HDF5 file that explains itself and is never half written.

    byte 0     512 bytes of text: magic line with the format version, digest, length, how to read the file
    byte 512   an ordinary HDF5 file: everything that `FIELDS` declares, and one dataset per table

`FIELDS` is the only description of the format.  It creates the datasets, checks them when they are read, and
prints their documentation.  Reading trusts nothing: the length and the digest are compared before the HDF5
library sees a byte, and the library is then given the very bytes that were digested.

Writing builds the file in memory, writes it to a temporary file beside the target, flushes it to disk, and
renames it over the target: a crash at any moment leaves the old file or the new one.  Equal data makes equal
bytes: names are written in sorted order, and HDF5 keeps no times of day.

Text stands in attributes of fixed length, which h5py shows as `bytes`.  Text of variable length would live in
HDF5's global heap, and one wrong byte there can keep the library busy for ever.
"""

import errno
import hashlib
import io
import json
import os
import re
import secrets
import stat
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ttt_batch.errors import RunFileError

# h5py is imported inside the functions that need it: it costs 0.1 s at start-up.

FILE_TYPE = "ttt-batch run"
"""What the file says it is, in its first line and in the root attribute `file_type`."""

FORMAT = (1, 0)
"""Major and minor version of the format; a reader opens every minor version of its own major version."""

USER_BLOCK = 512
"""Bytes before the HDF5 part; the smallest user block that HDF5 allows."""

_MAGIC = f"{FILE_TYPE}, format ".encode()
_HDF5_SIGNATURE = b"\x89HDF\r\n\x1a\n"
_GROUPS = ("progress", "provenance", "states", "statistics", "tables")
_TABLE_DTYPES = (
    *("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
    *("float32", "float64"),
)
_MAX_TEXT = 60_000
"""Bytes of text in an attribute; HDF5 itself allows 64 KiB with everything around it."""

_TABLE_UNIT = "the learner's own scale"
_AXES = {
    "S": "rows (positions)",
    "U": "unfinished rows",
    "E": "edges (moves), grouped by row",
    "P": "players: first, second",
    "T": "recorded points",
}


class Field(NamedTuple):
    """One declared dataset.

    path: where it stands.  dtype: its NumPy name; stored little-endian.  axes: letters, "U+1" or numbers,
    separated by commas; empty for a single number.  optional: may be absent.
    """

    path: str
    dtype: str
    axes: str
    unit: str
    meaning: str
    optional: bool = False


FIELDS = (
    Field("progress/games", "int64", "", "games", "games learnt from"),
    Field("states/code", "int64", "S", "", "base-3 code of the position; -1 and -2: a player has forfeited"),
    Field("states/outcome", "int8", "S", "", "0 unfinished, 1 first player wins, 2 second player wins, 3 draw"),
    Field(
        "states/first_edge",
        "int32",
        "U+1",
        "edges",
        "edges of row r: first_edge[r] to first_edge[r+1]-1",
        True,
    ),
    Field("states/cell", "int8", "E", "", "cell that the move marks, row by row from the top left", True),
    Field("statistics/games", "int64", "T", "games", "games learnt from at the point"),
    Field("statistics/seconds", "float64", "T", "s", "wall clock since the start; informative only"),
    Field("statistics/outcomes", "int64", "T,3", "games", "first wins, draws, second wins in play so far"),
    Field(
        "statistics/unbeatable",
        "bool",
        "T,P",
        "",
        "no opponent and no tie-break beats the agent in that seat",
    ),
    Field("statistics/worst", "int8", "T,P", "result", "worst result from that seat: 1 win, 0 draw, -1 loss"),
    Field(
        "statistics/self_play",
        "float64",
        "T,3",
        "probability",
        "exact: first wins, draw, second wins in greedy self-play",
    ),
    Field(
        "statistics/versus_random",
        "float64",
        "T,P,3",
        "probability",
        "exact: win, draw, loss of the agent in that seat against uniformly random play",
    ),
    Field(
        "statistics/best_response",
        "float64",
        "T,P",
        "result",
        "what the best opponent gets on average (its wins - losses) against the agent in that seat, "
        "which breaks ties in its own way",
    ),
    Field(
        "statistics/optimal_share",
        "float64",
        "T,P",
        "share",
        "share of the positions reachable in that seat in which every move the agent may pick keeps the game's value",
    ),
    Field(
        "statistics/value_error",
        "float64",
        "T,P",
        _TABLE_UNIT,
        "mean distance of the table's values from the truth; NaN where it has none",
    ),
)
"""The declaration of every fixed dataset.  Tables differ from learner to learner and declare themselves."""


@dataclass(eq=False)
class RunData:
    """Everything that one run file holds.

    config: what determines the result (board, learner, its numbers, batch, engine, seed); anything that JSON
        can write, without NaN.  Tuples come back as lists.
    games: games learnt from.
    states: arrays that say what a table's rows and edges are; "code" and "outcome", with action tables also
        "first_edge" and "cell" (see `FIELDS`).
    tables: name -> array of bool, integers or floats.
    table_fields: name -> (axes such as "P,S", meaning), one for each table.
    statistics: one array for each "statistics/..." in `FIELDS`, one row per recorded point.
    provenance: how the run came about (creation time, command, versions, seconds); changes no result.  Bytes
        that are no text are written as escapes.
    notes: lines for the person, such as that a newer version wrote the file; made by reading, not written.
    """

    config: dict[str, Any]
    games: int
    states: dict[str, NDArray[Any]]
    tables: dict[str, NDArray[Any]]
    table_fields: dict[str, tuple[str, str]]
    statistics: dict[str, NDArray[Any]]
    provenance: dict[str, str | int | float]
    notes: tuple[str, ...] = ()


class _Invalid(ValueError):
    """A finding about the data, without the file's name and the remedy."""


def _shown(path: Path) -> str:
    """The path for a message, on one line whatever its name holds."""
    return str(path) if str(path).isprintable() else repr(str(path))


# What the data must look like; the same checks for writing and for reading.


def _check_shape(field: Field, dtype: Any, shape: tuple[int, ...], sizes: dict[str, int]) -> None:
    """Compare an array's dtype and shape with its declaration.

    sizes: the length of every axis met so far (modified in place: a letter is bound where it is first met).
    """
    if dtype != np.dtype(field.dtype).newbyteorder("<"):
        raise _Invalid(f"{field.path} holds {dtype}, it must hold {field.dtype}")
    axes = field.axes.split(",") if field.axes else []
    if len(shape) != len(axes):
        raise _Invalid(f"{field.path} has {len(shape)} axes, it must have {len(axes)} ({field.axes or 'one number'})")
    for axis, length in zip(axes, shape, strict=True):
        match = re.fullmatch(r"([A-Z])(\+1)?|([0-9]{1,9})", axis)
        if match is None or (match[1] and match[1] not in _AXES):
            raise _Invalid(f"{field.path} has the unknown axis {axis[:20]!r}; known are {', '.join(_AXES)} and numbers")
        more = 1 if match[2] else 0
        expected = int(match[3]) if match[3] else sizes.setdefault(match[1], max(length - more, 0)) + more
        if length != expected:
            raise _Invalid(f"{field.path} has length {length} along axis {axis}, it must have {expected}")


def _check_names(group: str, names: set[str], newer: bool) -> None:
    """Refuse declared datasets that are missing and, unless the format is `newer` than ours, unknown ones."""
    declared = [field for field in FIELDS if field.path.startswith(f"{group}/")]
    known = {field.path.partition("/")[2] for field in declared}
    missing = {field.path.partition("/")[2] for field in declared if not field.optional} - names
    if missing:
        raise _Invalid(f"{group}/{min(missing)} is missing")
    if names - known and not newer:
        raise _Invalid(f"{group}/{str(min(names - known))[:40]} is not part of the format")
    if group == "states" and ("first_edge" in names) != ("cell" in names):
        raise _Invalid("states has only one of first_edge and cell; action tables need both")


def _table_field(name: str, dtype: Any, axes: Any, meaning: Any) -> Field:
    """The declaration that a table makes of itself."""
    if re.fullmatch(r"[A-Za-z][A-Za-z0-9_]{0,63}", name) is None:
        raise _Invalid(f"table name {name[:80]!r} must be 1 to 64 letters, digits or underscores")
    if str(dtype) not in _TABLE_DTYPES:
        raise _Invalid(f"tables/{name} holds {str(dtype)[:80]}, it must hold one of {', '.join(_TABLE_DTYPES)}")
    if not isinstance(axes, str) or not isinstance(meaning, str):
        raise _Invalid(f"tables/{name} does not say its axes and meaning as text")
    return Field(f"tables/{name}", str(dtype), axes, _TABLE_UNIT, meaning)


def _check_games(games: Any) -> int:
    """The number of games, if it is one."""
    if isinstance(games, bool) or not isinstance(games, int | np.integer):
        raise _Invalid(f"progress/games is {games!r:.40}, it must be a whole number")
    if not 0 <= games < 2**63:
        raise _Invalid(f"progress/games is {games}, it must be 0 to 2^63 - 1")
    return int(games)


def _datasets(data: RunData) -> list[tuple[Field, NDArray[Any]]]:
    """Every dataset of a run with its declaration, checked."""
    _check_names("states", set(data.states), newer=False)
    _check_names("statistics", set(data.statistics), newer=False)
    if set(data.tables) != set(data.table_fields):
        raise _Invalid(f"tables are {sorted(data.tables)}, but table_fields describes {sorted(data.table_fields)}")
    groups: Mapping[str, Mapping[str, Any]] = {
        "progress": {"games": np.array(_check_games(data.games), dtype=np.int64)},
        "states": data.states,
        "statistics": data.statistics,
    }
    found = []
    for field in FIELDS:
        group, _, name = field.path.partition("/")
        if name in groups[group]:
            found.append((field, np.asarray(groups[group][name])))
    for name in sorted(data.tables):
        array = np.asarray(data.tables[name])
        found.append((_table_field(name, array.dtype, *data.table_fields[name]), array))
    sizes = {"P": 2}
    for field, array in found:
        _check_shape(field, array.dtype, array.shape, sizes)
    return found


# Writing.


def _canonical(config: dict[str, Any]) -> str:
    """The configuration as canonical JSON: equal configurations give equal text."""
    try:
        return json.dumps(config, sort_keys=True, separators=(",", ":"), allow_nan=False)
    except (TypeError, ValueError, RecursionError) as exc:
        raise _Invalid(f"config cannot be written as JSON ({exc})") from exc


def _attribute(name: str, value: Any) -> Any:
    """An attribute's value as HDF5 can store it: text as bytes."""
    if isinstance(value, str):
        # A command line may hold bytes that are no text, and HDF5 ends a string at a zero byte.
        text = value.encode("utf-8", "backslashreplace").replace(b"\0", b"\\x00")
        if len(text) > _MAX_TEXT:
            raise _Invalid(f"{name} has {len(text):,} bytes of text, it may have {_MAX_TEXT:,}")
        return text
    if isinstance(value, int | np.integer) and not isinstance(value, bool) and -(2**63) <= value < 2**63:
        return np.int64(value)
    if isinstance(value, float | np.floating):
        return np.float64(value)
    raise _Invalid(f"{name} is {value!r:.80}, it must be text, a 64-bit integer or a float")


def _put(attributes: Any, values: Mapping[str, Any]) -> None:
    """Write attributes in the order of their names."""
    import h5py

    for name in sorted(values):
        value = values[name]
        text = h5py.string_dtype("utf-8", max(len(value), 1)) if isinstance(value, bytes) else None
        attributes.create(name, value, dtype=text)


def _user_block(version: str, digest: str, length: int) -> bytes:
    """The first 512 bytes.  All versions up to this one word them alike, so reading compares them whole."""
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


def _image(data: RunData) -> memoryview:
    """The whole file as bytes; equal data gives equal bytes."""
    datasets = _datasets(data)
    config = _canonical(data.config)
    version = f"{FORMAT[0]}.{FORMAT[1]}"
    root = {
        "file_type": FILE_TYPE,
        "format_version": version,
        "config": config,
        "config_hash": hashlib.sha256(config.encode()).hexdigest(),
    }
    root = {name: _attribute(name, value) for name, value in root.items()}
    provenance = {name: _attribute(f"provenance {name}", value) for name, value in data.provenance.items()}

    import h5py

    buffer = io.BytesIO()
    # "earliest" writes what old HDF5 libraries read, too.
    with h5py.File(buffer, "w", libver="earliest", userblock_size=USER_BLOCK) as file:
        _put(file.attrs, root)
        for group in _GROUPS:
            file.create_group(group)
        _put(file["provenance"].attrs, provenance)
        for field, array in datasets:
            dtype = np.dtype(field.dtype).newbyteorder("<")
            dataset = file.create_dataset(field.path, data=array, dtype=dtype, track_times=False)
            labels = {"axes": field.axes, "unit": field.unit, "meaning": field.meaning}
            _put(dataset.attrs, {name: _attribute(f"{field.path} {name}", labels[name]) for name in labels})
    view = buffer.getbuffer()
    view[:USER_BLOCK] = _user_block(version, hashlib.sha256(view[USER_BLOCK:]).hexdigest(), len(view))
    return view


def _remedy(exc: BaseException) -> str:
    number = exc.errno if isinstance(exc, OSError) else None
    if number in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
        return "make room there, or name a file elsewhere with --out"
    if number in (errno.EACCES, errno.EPERM, errno.EROFS):
        return "name a file in a folder that you may write to with --out"
    return "name another file with --out"


@contextmanager
def _writing(path: Path) -> Iterator[None]:
    """Turn whatever refuses a write into one line."""
    try:
        yield
    except RunFileError:
        raise
    except _Invalid as exc:
        raise RunFileError(f"cannot write {_shown(path)}: {exc}; nothing was written") from exc
    except MemoryError as exc:
        raise RunFileError(f"cannot write {_shown(path)}: not enough memory; free some and try again") from exc
    # RuntimeError is what Path.resolve makes of a loop of links before Python 3.13.
    except (OSError, ValueError, RuntimeError) as exc:
        reason = getattr(exc, "strerror", None) or str(exc)
        raise RunFileError(f"cannot write {_shown(path)}: {reason}; {_remedy(exc)}") from exc


def _exists(path: Path) -> RunFileError:
    return RunFileError(f"{_shown(path)} exists already; replace it with --overwrite, or name another file with --out")


def _target(path: Path, overwrite: bool) -> Path:
    """Where to write: `path` with links followed, so that a link stays one.  Refuses what must stay."""
    target = path.resolve()
    try:
        mode = target.stat().st_mode
    except FileNotFoundError:
        if not target.parent.is_dir():
            raise RunFileError(
                f"cannot write {_shown(path)}: there is no folder {_shown(target.parent)}; "
                "create it, or name a file elsewhere with --out"
            ) from None
        return target
    if stat.S_ISDIR(mode):
        raise RunFileError(f"{_shown(path)} is a folder; name a file in it, such as {_shown(path / 'run.h5')}")
    if not stat.S_ISREG(mode):
        raise RunFileError(f"{_shown(path)} is not an ordinary file; name another file with --out")
    if not overwrite:
        raise _exists(path)
    return target


def _create_temporary(target: Path) -> tuple[Path, int]:
    """A new, empty file beside `target` and its descriptor, with the permissions that any new file gets."""
    temporary = target.with_name(f".{target.name}.{secrets.token_hex(6)}.tmp")
    flags = os.O_CREAT | os.O_EXCL | os.O_WRONLY | getattr(os, "O_BINARY", 0)
    return temporary, os.open(temporary, flags, 0o666)


def _rename_new(temporary: Path, target: Path) -> None:
    """Give the file its name unless something has it already: FileExistsError, whoever is first."""
    try:
        target.hardlink_to(temporary)
    except FileExistsError:
        raise
    except (OSError, NotImplementedError):
        # No hard links here (FAT, some network folders): claim the name with an empty file, replace that.
        os.close(os.open(target, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666))
        try:
            temporary.replace(target)
        except BaseException:
            target.unlink()
            raise


def _flush_folder(folder: Path) -> None:
    """Make a rename last through a power cut, where the system can."""
    try:
        descriptor = os.open(folder, os.O_RDONLY)
    except OSError:
        return  # Windows opens no folders, and a folder may be writable without being readable
    try:
        os.fsync(descriptor)
    except OSError as exc:
        if exc.errno in (errno.EIO, errno.ENOSPC, errno.EDQUOT):
            raise
    finally:
        os.close(descriptor)


def check_target(path: Path, *, overwrite: bool) -> None:
    """Make sure, before hours of training, that a run can be written to `path`.

    Raises RunFileError where a file exists (unless `overwrite`), and for a folder, a special file, or a place
    where the disk refuses a new file.  To know that, an empty temporary file is made and removed.
    """
    path = Path(path)
    with _writing(path):
        temporary, descriptor = _create_temporary(_target(path, overwrite))
        os.close(descriptor)
        temporary.unlink()


def save_run(path: Path, data: RunData, *, overwrite: bool = False) -> None:
    """Write a run, whole or not at all.

    Without `overwrite` an existing file is never replaced, also when it appears during the write.
    Raises RunFileError where the data are not what `FIELDS` declares, and for whatever the disk refuses; the
    old file is then as it was and no temporary file is left.
    """
    path = Path(path)
    with _writing(path):
        target = _target(path, overwrite)
        image = _image(data)
        temporary, descriptor = _create_temporary(target)
        try:
            try:
                written = 0
                while written < len(image):
                    written += os.write(descriptor, image[written:])
                os.fsync(descriptor)
            finally:
                os.close(descriptor)
            if overwrite:
                temporary.replace(target)
            else:
                try:
                    _rename_new(temporary, target)
                except FileExistsError:
                    raise _exists(path) from None
        finally:
            with suppress(OSError):
                temporary.unlink()
        _flush_folder(target.parent)


# Reading.


_RESTORE = "use a copy of it, or train again"


def _read_verified(path: Path) -> tuple[bytes, tuple[int, int]]:
    """The bytes of a run file, whose length and digest are right, and its format version."""
    shown = _shown(path)
    # Looked at before opening: opening a pipe would wait for a writer.
    mode = path.stat().st_mode
    if stat.S_ISDIR(mode):
        raise RunFileError(f"{shown} is a folder; name a run file in it")
    if not stat.S_ISREG(mode):
        raise RunFileError(f"{shown} is not an ordinary file; copy it into one first")
    with path.open("rb") as file:
        size = os.fstat(file.fileno()).st_size
        block = file.read(USER_BLOCK)
        version, digest, length = _parse_user_block(path, block, size, file)
        if size < length:
            raise RunFileError(f"{shown} is cut off: {length - size:,} of its {length:,} bytes are missing; {_RESTORE}")
        if size > length:
            raise RunFileError(f"{shown} is damaged: {size - length:,} bytes follow its {length:,} own; {_RESTORE}")
        content = block + file.read(length - len(block))
    name = f"{version[0]}.{version[1]}"
    # A newer version may word the rest of the block differently, so only its three lines count.
    changed = version <= FORMAT and block != _user_block(name, digest, length)
    if changed or hashlib.sha256(memoryview(content)[USER_BLOCK:]).hexdigest() != digest:
        raise RunFileError(
            f"{shown} is damaged: its bytes are not those that were written (digest differs); {_RESTORE}"
        )
    return content, version


def _parse_user_block(path: Path, block: bytes, size: int, file: io.BufferedReader) -> tuple[tuple[int, int], str, int]:
    """Format version, digest and length, from the first bytes.  Refuses what is not ours or too new."""
    shown = _shown(path)
    if not block:
        raise RunFileError(f"{shown} is empty; {_RESTORE}")
    cut = len(block) < USER_BLOCK
    if not block.startswith(_MAGIC) and not (cut and _MAGIC.startswith(block)):
        # HDF5 looks for its signature at 0, 512, 1024, ...; these two are what there is in practice.
        signatures = block[:8], file.read(8)
        if _HDF5_SIGNATURE in signatures:
            raise RunFileError(f"{shown} is an HDF5 file, but not a {FILE_TYPE}; name a file that training wrote")
        raise RunFileError(f"{shown} is not a {FILE_TYPE}; name a file that training wrote")
    found = re.match(rb"([0-9]{1,4})\.([0-9]{1,4})\n", block[len(_MAGIC) :])
    version = (int(found[1]), int(found[2])) if found else None
    if version and version[0] > FORMAT[0]:
        raise RunFileError(
            f"{shown} has format {version[0]}.{version[1]}, but this program reads {FORMAT[0]}.x; upgrade ttt-batch"
        )
    if cut:
        length = re.search(rb"\nlength ([0-9]{1,18}) bytes\n", block)
        missing = f"{int(length[1]) - size:,}" if length else f"at least {USER_BLOCK - size:,}"
        raise RunFileError(f"{shown} is cut off: {missing} bytes are missing; {_RESTORE}")
    rest = re.match(rb"[^\n]*\nsha256 ([0-9a-f]{64})\nlength ([0-9]{1,18}) bytes\n", block)
    if version is None or version[0] < FORMAT[0] or rest is None or int(rest[2]) < USER_BLOCK:
        raise RunFileError(f"{shown} is damaged in its first {USER_BLOCK} bytes; {_RESTORE}")
    return version, rest[1].decode(), int(rest[2])


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
            raise _Invalid(f"{group} is not a group")
        names = set(parent)
        for name in names:
            # Soft and external links could lead to other datasets, or to other files on this computer.
            if type(parent.get(name, getlink=True)) is not h5py.HardLink:
                raise _Invalid(f"{group}/{name[:40]} is a link, which a {FILE_TYPE} never holds")
        return names

    def dataset(self, path: str) -> Any:
        """The dataset at `path`; refuses everything else."""
        import h5py

        dataset = self.file[path]
        if not isinstance(dataset, h5py.Dataset):
            raise _Invalid(f"{path} is not a dataset")
        return dataset

    def array(self, field: Field) -> NDArray[Any]:
        """The checked content of a declared dataset, in this machine's byte order."""
        import h5py

        dataset = self.dataset(field.path)
        if dataset.shape is None:
            raise _Invalid(f"{field.path} has no shape")
        _check_shape(field, dataset.dtype, dataset.shape, self.sizes)
        # Only contiguous storage is ever written.  With it no small file can ask for much memory, and nothing
        # is read from elsewhere.
        plain = dataset.id.get_create_plist().get_layout() == h5py.h5d.CONTIGUOUS and not dataset.external
        if not plain or dataset.id.get_storage_size() != dataset.nbytes or dataset.nbytes > self.left:
            raise _Invalid(f"{field.path} does not hold the {dataset.nbytes:,} bytes that its shape asks for")
        self.left -= dataset.nbytes
        return np.asarray(dataset[()], dtype=np.dtype(field.dtype))

    def group(self, group: str, newer: bool) -> dict[str, NDArray[Any]]:
        """All declared datasets of a group, by name."""
        names = self.names(group)
        _check_names(group, names, newer)
        fields = [(field.path.partition("/")[2], field) for field in FIELDS if field.path.startswith(f"{group}/")]
        return {name: self.array(field) for name, field in fields if name in names}


def _value(attributes: Any, name: str) -> str | int | float:
    """An attribute of the file; its type is looked at before it is read."""
    import h5py

    shown = name[:40]
    if name not in attributes:
        raise _Invalid(f"attribute {shown} is missing")
    attribute = attributes.get_id(name)
    kind = attribute.get_type()
    if attribute.shape == ():
        if isinstance(kind, h5py.h5t.TypeStringID) and not kind.is_variable_str():
            return bytes(attributes[name]).decode()
        if isinstance(kind, h5py.h5t.TypeIntegerID):
            return int(attributes[name])
        if isinstance(kind, h5py.h5t.TypeFloatID):
            return float(attributes[name])
    raise _Invalid(f"attribute {shown} is neither text of fixed length nor a number")


def _text(attributes: Any, name: str) -> str:
    """A text attribute of the file."""
    value = _value(attributes, name)
    if not isinstance(value, str):
        raise _Invalid(f"attribute {name} is not text")
    return value


def _parse(file: Any, size: int, version: tuple[int, int]) -> RunData:
    """Read and check everything in an open HDF5 file."""
    newer = version > FORMAT
    name = f"{version[0]}.{version[1]}"
    if _text(file.attrs, "file_type") != FILE_TYPE:
        raise _Invalid(f"attribute file_type is not {FILE_TYPE!r}")
    if _text(file.attrs, "format_version") != name:
        raise _Invalid(f"attribute format_version is not {name}, as the first line says")
    text = _text(file.attrs, "config")
    if hashlib.sha256(text.encode()).hexdigest() != _text(file.attrs, "config_hash"):
        raise _Invalid("config does not agree with config_hash")
    config = json.loads(text)
    if not isinstance(config, dict):
        raise _Invalid("config is not a JSON object")

    reader = _Reader(file, size)
    groups = reader.names("")
    if set(_GROUPS) - groups:
        raise _Invalid(f"{min(set(_GROUPS) - groups)} is missing")
    if groups - set(_GROUPS) and not newer:
        raise _Invalid(f"{min(groups - set(_GROUPS))[:40]} is not part of the format")
    games = _check_games(int(reader.group("progress", newer)["games"]))
    states = reader.group("states", newer)
    statistics = reader.group("statistics", newer)
    tables, table_fields = {}, {}
    for table in sorted(reader.names("tables")):
        dataset = reader.dataset(f"tables/{table}")
        axes, meaning = _text(dataset.attrs, "axes"), _text(dataset.attrs, "meaning")
        field = _table_field(table, dataset.dtype, axes, meaning)
        tables[table], table_fields[table] = reader.array(field), (field.axes, field.meaning)
    if reader.names("provenance") and not newer:
        raise _Invalid("provenance holds more than attributes")
    attributes = file["provenance"].attrs
    provenance = {key: _value(attributes, key) for key in sorted(attributes)}
    notes = (
        (f"format {name} is newer than this program's {FORMAT[0]}.{FORMAT[1]}; what it added is not read",)
        if newer
        else ()
    )
    return RunData(config, games, states, tables, table_fields, statistics, provenance, notes)


def load_run(path: Path) -> RunData:
    """Read a run and check it: length, digest, version, configuration, and every array's dtype and shape.

    Raises RunFileError, one line that says what is wrong and what to do, for everything that is not a whole
    and valid run file.
    """
    path = Path(path)
    shown = _shown(path)
    try:
        content, version = _read_verified(path)
    except FileNotFoundError as exc:
        raise RunFileError(f"there is no file {shown}; check the name") from exc
    except MemoryError as exc:
        raise RunFileError(f"cannot read {shown}: not enough memory; free some and try again") from exc
    except (OSError, ValueError) as exc:
        reason = getattr(exc, "strerror", None) or str(exc)
        raise RunFileError(f"cannot read {shown}: {reason}; check the name and its permissions") from exc

    import h5py

    try:
        with h5py.File(io.BytesIO(content), "r") as file:
            return _parse(file, len(content), version)
    except MemoryError as exc:
        raise RunFileError(f"cannot read {shown}: not enough memory; free some and try again") from exc
    # The digest is right, so another program made this file, and h5py raises nearly anything over such files.
    except Exception as exc:
        reason = str(exc) if isinstance(exc, _Invalid) else f"HDF5 cannot read it ({type(exc).__name__})"
        raise RunFileError(f"{shown} is not a valid run: {reason}; use a file as training wrote it") from exc


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
        raise RunFileError(
            f"cannot look for runs in {_shown(folder)}: {exc.strerror}; name a run file instead"
        ) from exc
    for _, _, path in sorted(candidates, reverse=True):
        with suppress(OSError), path.open("rb") as file:
            if file.read(len(_MAGIC)) == _MAGIC:
                return path
    return None


def format_documentation() -> str:
    """The run file's format as text, from its declaration."""
    lines = [
        f"{FILE_TYPE}, format {FORMAT[0]}.{FORMAT[1]}",
        "",
        f"An HDF5 file behind {USER_BLOCK} bytes of text: the line above, the SHA-256 digest of everything",
        "behind the text, and the length of the whole file.  HDF5 libraries skip the text by themselves.",
        "",
        "Attributes of the root:",
        f'  file_type       "{FILE_TYPE}"',
        '  format_version  "major.minor"; a newer minor version only adds',
        "  config          what determines the result, as JSON with sorted keys and no spaces",
        "  config_hash     SHA-256 of config",
        "Attributes of the group provenance: how the run came about; they change no result.",
        "",
        "Axes: " + "; ".join(f"{letter} {meaning}" for letter, meaning in _AXES.items()) + ".",
        "Every dataset says its axes, unit and meaning in attributes of these names.  All text is UTF-8 of fixed",
        "length, which h5py shows as bytes.",
        "",
    ]
    tables = Field("tables/NAME", "any", "any", _TABLE_UNIT, "one for each table of the learner; it declares itself")
    for path, dtype, axes, unit, meaning, optional in (*FIELDS, tables):
        kind = f"{dtype}[{axes}]" if axes else dtype
        extra = "".join((f" [{unit}]" if unit else "", " (with action tables only)" if optional else ""))
        lines.append(f"  {path:<25} {kind:<15} {meaning}{extra}")
    return "\n".join(lines) + "\n"
