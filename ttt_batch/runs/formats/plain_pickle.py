"""Reads pickles that hold a dictionary of plain numbers and strings, and runs nothing.

A pickle is a program for a small machine, and Python's own reader is no wall even with `find_class` closed: nine
bytes (a far place in the memo) make it ask for gigabytes, and three megabytes of nested tuples as a key crash it.
So this is another machine.  It takes the operations one by one from `pickletools`, which only cuts bytes, knows the
few that numbers, strings and dictionaries need, and calls nothing that the file names: the names that NumPy scalars
are made of stand for functions of this file, every other name is refused.
"""

import pickletools
from dataclasses import dataclass, field
from enum import Enum
from io import BytesIO
from typing import Any

import numpy as np

from ttt_batch.runs.formats.base import FormatError

Key = float | str

_MAX_DEPTH = 8
"""Marks open at a time; pickles of dictionaries of scalars need two."""

_MAX_LENGTH = 16
"""Length of a tuple and of a number's bytes; the longest tuple that NumPy writes for a scalar has nine values."""

_MAX_WHOLE = 2**63
"""Whole numbers are smaller: what a NumPy scalar holds, and what can be shown."""

_REFUSED = "only plain numbers, text and NumPy scalars are read, and nothing was run; save a dictionary of these"


class _Name(Enum):
    """What the permitted names stand for."""

    DTYPE = "dtype"
    SCALAR = "scalar"
    ENCODE = "encode"


_NAMES = {
    ("numpy", "dtype"): _Name.DTYPE,
    ("numpy.core.multiarray", "scalar"): _Name.SCALAR,
    ("numpy._core.multiarray", "scalar"): _Name.SCALAR,
    # How Python 3 writes bytes for Python 2 (protocols 0 to 2).
    ("_codecs", "encode"): _Name.ENCODE,
}

_NUMERIC = frozenset({"f2", "f4", "f8", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8"})


@dataclass
class _Dtype:
    """A number's type as NumPy pickles it: its name, and its byte order, which follows later."""

    name: str
    order: str = "<"


_PLAIN = (int, float, str, bytes, _Dtype, type(None))
_PUSHED = frozenset(
    (
        *("INT", "BININT", "BININT1", "BININT2", "LONG", "LONG1", "LONG4", "FLOAT", "BINFLOAT"),
        *("STRING", "BINSTRING", "SHORT_BINSTRING", "UNICODE", "BINUNICODE", "SHORT_BINUNICODE", "BINUNICODE8"),
        *("BINBYTES", "SHORT_BINBYTES", "BINBYTES8"),
    )
)
_CONSTANTS = {"NONE": None, "NEWTRUE": True, "NEWFALSE": False}
_TUPLES = {"EMPTY_TUPLE": 0, "TUPLE1": 1, "TUPLE2": 2, "TUPLE3": 3}


def read_dictionary(content: bytes, most: int) -> dict[Key, float]:
    """The dictionary in a pickle: numbers or strings -> numbers, NumPy scalars as plain numbers.

    most: entries that it may have; what is kept meanwhile is bounded by it.
    Raises FormatError for whatever else the pickle holds or asks for, and where it is damaged.
    """
    try:
        found = _Machine(most).run(content)
    except FormatError:
        raise
    except Exception as error:
        # Damaged bytes meet many errors; none of them is worth telling apart.
        reason = " ".join(str(error).split())[:100] or type(error).__name__
        raise FormatError(f"the pickle is damaged, or none at all ({reason}); use another copy") from None
    if not isinstance(found, dict):
        raise FormatError(f"the pickle holds {_described(found)}, not a dictionary; name a file of a value table")
    return found


@dataclass
class _Machine:
    """The stack, the stacks set aside at each mark, and the memo."""

    most: int
    stack: list[Any] = field(default_factory=list)
    marked: list[list[Any]] = field(default_factory=list)
    memo: dict[int, Any] = field(default_factory=dict)

    def run(self, content: bytes) -> Any:
        stream = BytesIO(content)
        for opcode, argument, _ in pickletools.genops(stream):
            self.step(opcode.name, argument)
            # An entry leaves two values on the stack and, in NumPy's pickles, eight in the memo.
            if len(self.stack) > 4 * self.most + 64 or len(self.memo) > 16 * self.most + 64:
                raise FormatError("the pickle holds more than a table of this board; give the table's own board")
        if self.marked or len(self.stack) != 1:
            raise FormatError("the pickle is damaged (it ends with something left over); use another copy")
        if stream.read(1):
            raise FormatError("the pickle goes on after its end; keep one table in a file")
        return self.stack[0]

    def step(self, name: str, argument: Any) -> None:
        stack = self.stack
        if name in _PUSHED:
            if isinstance(argument, int) and abs(argument) > _MAX_WHOLE:
                raise FormatError(f"the pickle holds a whole number of more than 64 bits; {_REFUSED}")
            stack.append(argument)
        elif name in _CONSTANTS:
            stack.append(_CONSTANTS[name])
        elif name in _TUPLES:
            self.push_tuple(self.pop(_TUPLES[name]))
        elif name == "TUPLE":
            self.push_tuple(self.pop_mark())
        elif name == "MARK":
            if len(self.marked) == _MAX_DEPTH:
                raise FormatError(f"the pickle is nested more than {_MAX_DEPTH} deep; {_REFUSED}")
            self.marked.append(stack)
            self.stack = []
        elif name == "EMPTY_DICT":
            stack.append({})
        elif name == "DICT":
            items = self.pop_mark()
            self.stack.append({})
            self.set_items(items)
        elif name == "SETITEM":
            self.set_items(self.pop(2))
        elif name == "SETITEMS":
            self.set_items(self.pop_mark())
        elif name == "MEMOIZE":
            self.memo[len(self.memo)] = stack[-1]
        elif name in ("PUT", "BINPUT", "LONG_BINPUT"):
            self.memo[argument] = stack[-1]
        elif name in ("GET", "BINGET", "LONG_BINGET"):
            stack.append(self.memo[argument])
        elif name == "GLOBAL":
            module, _, attribute = argument.partition(" ")
            stack.append(_permitted(module, attribute))
        elif name == "STACK_GLOBAL":
            stack.append(_permitted(*self.pop(2)))
        elif name == "REDUCE":
            function, arguments = self.pop(2)
            stack.append(_call(function, arguments))
        elif name == "BUILD":
            (state,) = self.pop(1)
            _set_state(stack[-1], state)
        elif name not in ("PROTO", "FRAME", "STOP"):
            raise FormatError(f"the pickle asks for {name}; {_REFUSED}")

    def pop(self, count: int) -> list[Any]:
        """Take the last `count` values."""
        if len(self.stack) < count:
            raise ValueError("stack underflow")
        items = self.stack[len(self.stack) - count :]
        del self.stack[len(self.stack) - count :]
        return items

    def pop_mark(self) -> list[Any]:
        """Take what was put on since the last mark."""
        items, self.stack = self.stack, self.marked.pop()
        return items

    def push_tuple(self, items: list[Any]) -> None:
        if len(items) > _MAX_LENGTH or not all(isinstance(item, _PLAIN) for item in items):
            raise FormatError(f"the pickle holds a tuple that no NumPy scalar needs; {_REFUSED}")
        self.stack.append(tuple(items))

    def set_items(self, items: list[Any]) -> None:
        """Put keys and values, one after the other, into the dictionary on top of the stack."""
        target = self.stack[-1]
        if not isinstance(target, dict) or len(items) % 2:
            raise ValueError("items without a dictionary")
        for key, value in zip(items[::2], items[1::2], strict=True):
            if isinstance(key, bool) or not isinstance(key, int | float | str):
                raise FormatError(f"a key of the pickle is {_described(key)}, neither a number nor text; {_REFUSED}")
            if isinstance(value, bool) or not isinstance(value, int | float):
                raise FormatError(f"a value of the pickle is {_described(value)}, not a number; {_REFUSED}")
            target[key] = value
        if len(target) > self.most:
            raise FormatError(f"the pickle has more than {self.most:,} entries, one for each code; give its own board")


def _permitted(module: Any, attribute: Any) -> _Name:
    """The name that the file asks for.  Raises FormatError unless it is one of ours."""
    if not isinstance(module, str) or not isinstance(attribute, str):
        raise ValueError("a name that is no text")
    if (module, attribute) not in _NAMES:
        raise FormatError(f"the pickle asks for {f'{module}.{attribute}'!r:.80}; {_REFUSED}")
    return _NAMES[module, attribute]


def _call(function: Any, arguments: Any) -> Any:
    """What a permitted name gives for its arguments."""
    if not isinstance(arguments, tuple):
        raise ValueError("arguments that are no tuple")
    if function is _Name.ENCODE:
        text, encoding = arguments
        # The length is bounded because one long text could be encoded again and again.
        if not isinstance(text, str) or len(text) > _MAX_LENGTH or encoding not in ("latin1", "latin-1"):
            raise FormatError(f"the pickle encodes something other than the bytes of a number; {_REFUSED}")
        return text.encode("latin-1")
    if function is _Name.DTYPE:
        name = arguments[0] if arguments else None
        if not isinstance(name, str) or name not in _NUMERIC:
            raise FormatError(f"the pickle asks for a NumPy type that is no plain number, {name!r:.40}; {_REFUSED}")
        return _Dtype(name)
    if function is _Name.SCALAR:
        dtype, data = arguments
        if not isinstance(dtype, _Dtype) or not isinstance(data, str | bytes):
            raise FormatError(f"the pickle holds a NumPy scalar that is no plain number; {_REFUSED}")
        # Python 2 wrote bytes as strings.
        raw = data.encode("latin-1") if isinstance(data, str) else data
        numpy_type = np.dtype(dtype.order + dtype.name)
        if len(raw) != numpy_type.itemsize:
            raise ValueError(f"{len(raw)} bytes for a NumPy scalar of {numpy_type.itemsize}")
        return np.frombuffer(raw, dtype=numpy_type)[0].item()
    raise FormatError(f"the pickle calls {_described(function)}; {_REFUSED}")


def _set_state(target: Any, state: Any) -> None:
    """Give a NumPy type its byte order, the second number of its state."""
    if not isinstance(target, _Dtype) or not isinstance(state, tuple) or len(state) < 2:
        raise FormatError(f"the pickle sets the state of {_described(target)}; {_REFUSED}")
    if state[1] not in ("<", ">", "|"):
        raise ValueError("byte order")
    target.order = state[1]


def _described(value: Any) -> str:
    """A value's kind, for a message."""
    if isinstance(value, _Name):
        return f"a function ({value.value})"
    return {_Dtype: "a NumPy type", type(None): "None", int: "an int"}.get(type(value), f"a {type(value).__name__}")
