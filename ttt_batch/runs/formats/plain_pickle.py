"""Reads pickles that hold a dictionary of plain numbers and strings, and runs nothing.

A pickle is a program for a small machine.  Python's own reader is no wall, even if `find_class` is closed: nine bytes
(a far place in the memo) make it ask for gigabytes, and three megabytes of nested tuples as a key crash it.  So every
operation is checked first, with `pickletools`, which only cuts bytes: only those pass that numbers, strings and
dictionaries need, and a tuple only as arguments or state.  The names that NumPy scalars are made of then stand for
functions of this file, which take plain values only, so tuples never nest; every other name is refused.
"""

import pickle
import pickletools
from collections.abc import Callable
from dataclasses import dataclass
from io import BytesIO
from typing import Any

import numpy as np

from ttt_batch.runs.formats.base import FormatError

Key = float | str

_OPERATIONS = 64
"""Operations for each entry; NumPy's pickles take up to 40."""

_MEMO = 16
"""Places in the memo for each entry; NumPy's pickles take eight."""

_MAX_LENGTH = 16
"""Length of a text that stands for a number's bytes."""

_MAX_WHOLE = 2**63
"""Whole numbers are smaller: what a NumPy scalar holds, and what can be shown."""

_FRAME_BYTES = 9
"""A frame's operation and its length."""

_REFUSED = "only plain numbers, text and NumPy scalars are read, and nothing was run; save a dictionary of these"

_PUTS = frozenset(("MEMOIZE", "PUT", "BINPUT", "LONG_BINPUT"))
_TUPLES = frozenset(("EMPTY_TUPLE", "TUPLE1", "TUPLE2", "TUPLE3", "TUPLE"))
_PERMITTED = frozenset(
    (
        *("INT", "BININT", "BININT1", "BININT2", "LONG", "LONG1", "LONG4", "FLOAT", "BINFLOAT"),
        *("STRING", "BINSTRING", "SHORT_BINSTRING", "UNICODE", "BINUNICODE", "SHORT_BINUNICODE", "BINUNICODE8"),
        *("BINBYTES", "SHORT_BINBYTES", "BINBYTES8", "NONE", "NEWTRUE", "NEWFALSE"),
        *("MARK", "EMPTY_DICT", "DICT", "SETITEM", "SETITEMS", "GET", "BINGET", "LONG_BINGET"),
        *("GLOBAL", "STACK_GLOBAL", "REDUCE", "BUILD", "PROTO", "FRAME", "STOP"),
        *(_PUTS | _TUPLES),
    )
)


def read_dictionary(content: bytes, most: int) -> dict[Key, float]:
    """The dictionary in a pickle: numbers or strings -> numbers, NumPy scalars as plain numbers.

    most: entries that it may have; what is kept meanwhile is bounded by it.
    Raises FormatError if the pickle holds or asks for anything else, and if it is damaged.
    """
    try:
        found = _Reader(BytesIO(_checked(content, most)), encoding="latin-1").load()
    except FormatError:
        raise
    except Exception:
        # Damaged bytes raise many errors; none of them is worth telling apart.
        raise FormatError("the pickle is damaged, or none at all; use another copy") from None
    if not isinstance(found, dict):
        raise FormatError(f"the pickle holds {_described(found)}, not a dictionary; name a file of a value table")
    for key, value in found.items():
        if isinstance(key, bool) or not isinstance(key, int | float | str):
            raise FormatError(f"a key of the pickle is {_described(key)}, neither a number nor text; {_REFUSED}")
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise FormatError(f"a value of the pickle is {_described(value)}, not a number; {_REFUSED}")
    if len(found) > most:
        raise FormatError(f"the pickle has more than {most:,} entries, one for each code; give its own board")
    return found


def _checked(content: bytes, most: int) -> bytes:
    """The pickle without its frames, which need not be right.

    Raises FormatError for operations that no such dictionary needs, and ValueError for damaged ones.
    """
    stream, after_tuple, pieces, start = BytesIO(content), False, [], 0
    for number, (opcode, argument, at) in enumerate(pickletools.genops(stream)):
        assert at is not None
        name = opcode.name
        if name not in _PERMITTED:
            raise FormatError(f"the pickle asks for {name}; {_REFUSED}")
        place = argument if name in _PUTS and argument is not None else 0
        if number > _OPERATIONS * (most + 1) or place > _MEMO * (most + 4):
            raise FormatError("the pickle holds more than a table of this board; give the table's own board")
        if name == "FRAME":
            pieces.append(content[start:at])
            start = at + _FRAME_BYTES
        elif isinstance(argument, int) and abs(argument) > _MAX_WHOLE:
            raise FormatError(f"the pickle holds a whole number of more than 64 bits; {_REFUSED}")
        if after_tuple and name not in (*_PUTS, "REDUCE", "BUILD", "STOP"):
            raise FormatError(f"the pickle holds a tuple that is no part of a NumPy scalar, such as a key; {_REFUSED}")
        after_tuple = name in _TUPLES or (after_tuple and name in _PUTS)
    if stream.read(1):
        raise FormatError("the pickle goes on after its end; keep one table in a file")
    return b"".join([*pieces, content[start:]])


class _Dtype:
    """A number's type as NumPy pickles it: its name, and its byte order, which follows later."""

    def __init__(self, name: object = None, *flags: object) -> None:
        if not isinstance(name, str) or name[:1] not in ("f", "i", "u") or name[1:] not in ("1", "2", "4", "8"):
            raise FormatError(f"the pickle asks for a NumPy type that is no plain number, {name!r:.40}; {_REFUSED}")
        if not all(isinstance(flag, int) for flag in flags):
            raise ValueError("flags of a NumPy type")
        self.name, self.order = name, "<"

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        if not all(isinstance(each, int | str | None) for each in state) or state[1] not in ("<", ">", "|"):
            raise ValueError("state of a NumPy type")
        self.order = state[1]


def _number(dtype: object, data: object) -> Any:
    """A NumPy scalar as a plain number."""
    if not isinstance(dtype, _Dtype) or not isinstance(data, str | bytes):
        raise FormatError(f"the pickle holds a NumPy scalar that is no plain number; {_REFUSED}")
    # Python 2 wrote bytes as strings.
    raw = data.encode("latin-1") if isinstance(data, str) else data
    numpy_type = np.dtype(dtype.order + dtype.name)
    if len(raw) != numpy_type.itemsize:
        raise ValueError(f"{len(raw)} bytes for a NumPy scalar of {numpy_type.itemsize}")
    return np.frombuffer(raw, dtype=numpy_type)[0].item()


def _bytes(text: object, encoding: object) -> bytes:
    """The bytes of a number, as Python 3 writes them for Python 2 (protocols 0 to 2)."""
    # The length is bounded because one long text could be encoded again and again.
    if not isinstance(text, str) or len(text) > _MAX_LENGTH or encoding not in ("latin1", "latin-1"):
        raise FormatError(f"the pickle encodes something other than the bytes of a number; {_REFUSED}")
    return text.encode("latin-1")


@dataclass(frozen=True)
class _Name:
    """What a permitted name stands for; it can be called, but not changed."""

    call: Callable[..., Any]

    def __call__(self, *arguments: Any) -> Any:
        return self.call(*arguments)

    def __setstate__(self, _: object) -> None:
        raise FormatError(f"the pickle sets the state of a function; {_REFUSED}")


_NAMES = {
    ("numpy", "dtype"): _Name(_Dtype),
    ("numpy.core.multiarray", "scalar"): _Name(_number),
    ("numpy._core.multiarray", "scalar"): _Name(_number),
    ("_codecs", "encode"): _Name(_bytes),
}


class _Reader(pickle.Unpickler):
    """Python's reader with these names instead of modules."""

    def find_class(self, module: str, name: str) -> _Name:
        if (module, name) not in _NAMES:
            raise FormatError(f"the pickle asks for {f'{module}.{name}'!r:.80}; {_REFUSED}")
        return _NAMES[module, name]


def _described(value: Any) -> str:
    """A value's kind, for a message."""
    named = {_Dtype: "a NumPy type", _Name: "a function", type(None): "None", int: "an int"}
    return named.get(type(value), f"a {type(value).__name__}")
