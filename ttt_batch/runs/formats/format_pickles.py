"""Pickled dictionaries from position to value, a file for each player: `pickle` and `pickle-text`.

`pickle`: the key is a number in base 3 whose *most* significant digit is cell 0, with digits 0, 1, 2 for the second
player's mark, empty, the first player's mark (`policy_first.bin`, `policy_second.bin` of the program behind
`sutton-barto`).  The program's own keys are NumPy scalars.  This module writes equal Python floats, which load without
NumPy.
`pickle-text`: the key is the text that NumPy 1.14 and later print for the cells as floats, 1 for the first player's
mark, -1 for the second's, 0 for empty (`policy_p1` of the program behind `value-feed`).
Reading detects either format by the keys.  The reader executes nothing.

The reader supports only plain data: dictionaries, lists, tuples, numbers, text and NumPy arrays.
A pickle is a program for a small stack machine.  Python's own reader is unsafe even with a restricted `find_class`:
nine bytes with a large memo index make it allocate gigabytes, and three megabytes of nested tuples as a key crash it.
This module therefore has its own machine.  `pickletools` splits the bytes into operations, and the machine supports
only those that plain data needs.  The names in NumPy's numbers and arrays map to functions of this file, which accept
only plain values; other names raise FormatError.  Tuples are limited in size, because hashing visits nested values.
"""

import math
import pickle
import pickletools
from collections.abc import Callable
from dataclasses import dataclass, replace
from io import BytesIO
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ttt_batch.games.board import EMPTY, FIRST, SECOND, Board
from ttt_batch.runs.formats.base import POSITION_VALUES, Format, FormatError, Table, marks_of_states

Key = float | str

_OPERATIONS = 64
"""Most operations an entry; NumPy's pickles need up to 40."""

_MAX_TUPLE = 400
"""Most values in a tuple, including those of nested tuples."""

_MAX_WHOLE = 2**63
"""Largest absolute value of an integer: NumPy scalars hold no larger ones."""

_REFUSED = "only plain numbers, text, lists, tuples and NumPy arrays are read, and nothing was run; save a dictionary"

_PUTS = frozenset(("PUT", "BINPUT", "LONG_BINPUT"))
_GETS = frozenset(("GET", "BINGET", "LONG_BINGET"))
_CONSTANTS = {"NONE": None, "NEWTRUE": True, "NEWFALSE": False}
_ARGUMENTS = frozenset(
    (
        *("INT", "BININT", "BININT1", "BININT2", "LONG", "LONG1", "LONG4", "FLOAT", "BINFLOAT"),
        *("STRING", "BINSTRING", "SHORT_BINSTRING", "UNICODE", "BINUNICODE", "SHORT_BINUNICODE", "BINUNICODE8"),
        *("BINBYTES", "SHORT_BINBYTES", "BINBYTES8", "BYTEARRAY8"),
    )
)
"""Operations that push their argument."""
_POPS: dict[str, tuple[str, int | None]] = {
    **{"EMPTY_TUPLE": ("tuple", 0), "TUPLE1": ("tuple", 1), "TUPLE2": ("tuple", 2), "TUPLE3": ("tuple", 3)},
    **{"EMPTY_LIST": ("list", 0), "EMPTY_DICT": ("dict", 0), "APPEND": ("extend", 1), "SETITEM": ("update", 2)},
    **{"TUPLE": ("tuple", None), "LIST": ("list", None), "DICT": ("dict", None)},
    **{"APPENDS": ("extend", None), "SETITEMS": ("update", None)},
    **{"STACK_GLOBAL": ("name", 2), "REDUCE": ("call", 2), "BUILD": ("build", 2)},
}
"""Operations on values of the stack: method, and number of values or None for all above the last mark."""


def read_dictionary(content: bytes, most: int) -> dict[Key, float]:
    """Return the dictionary in a pickle, from numbers or strings to numbers, with NumPy scalars as plain numbers.

    most: largest number of entries; it also bounds the memory used.
    Raises FormatError if the pickle contains anything else, or is damaged.
    """
    found = read_plain(content, most)
    if not isinstance(found, dict):
        raise FormatError(f"the pickle holds {_described(found)}, not a dictionary; name a file of a value table")
    for key, value in found.items():
        if isinstance(key, bool) or not isinstance(key, int | float | str):
            raise FormatError(f"a key of the pickle is {_described(key)}, neither a number nor text; {_REFUSED}")
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise FormatError(f"a value of the pickle is {_described(value)}, not a number; {_REFUSED}")
    if len(found) > most:
        raise FormatError(f"the pickle has more than {most:,} entries, one for each code; give the table's own board")
    return found


def read_plain(content: bytes, most: int) -> Any:
    """Return the plain data in a pickle: dictionaries, lists, tuples, numbers, text, arrays of numbers.

    most: largest number of positions; it also bounds time and memory.
    Raises FormatError if the pickle contains anything else, or is damaged.
    """
    machine, stream, operations = _Machine(4096 + 2 * len(content)), BytesIO(content), _OPERATIONS * (most + 1)
    try:
        for number, (opcode, argument, _) in enumerate(pickletools.genops(stream)):
            name = opcode.name
            if number > operations:
                raise FormatError("the pickle holds more than a table of this board; give the table's own board")
            if isinstance(argument, int) and abs(argument) > _MAX_WHOLE and name != "FRAME":
                raise FormatError(f"the pickle holds a whole number of more than 64 bits; {_REFUSED}")
            machine.do(name, argument)
        if stream.read(1):
            raise FormatError("the pickle has bytes after its end; keep one table in a file")
        return machine.result()
    except FormatError:
        raise
    except Exception:
        # Damaged bytes raise many kinds of errors.
        raise FormatError("the file is damaged or not a pickle; use another copy") from None


class _Machine:
    """Stack machine with a memo and the pickle operations that plain data needs.

    room: bytes that calls may still create; a container may hold 32 times as many values.
    """

    def __init__(self, room: int) -> None:
        self.room, self.values = room, 32 * room
        self.stack: list[Any] = []
        self.marks: list[int] = []
        self.memo: dict[int, Any] = {}
        self.sizes, self.weights = dict[int, int](), dict[int, int]()
        self.held: set[int] = set()
        self.kept: list[Any] = []  # keeps containers alive, since the others have their ids

    def do(self, name: str, argument: Any) -> None:
        """Execute one operation.  Raises FormatError for one that plain data does not need."""
        stack = self.stack
        if name in _ARGUMENTS:
            stack.append(argument)
        elif name == "MEMOIZE":
            self.memo[len(self.memo)] = stack[-1]
        elif name in _PUTS:
            self.memo[argument] = stack[-1]
        elif name in _GETS:
            stack.append(self.memo[argument])
        elif name in _CONSTANTS:
            stack.append(_CONSTANTS[name])
        elif name == "MARK":
            self.marks.append(len(stack))
        elif name == "GLOBAL":
            self.do_name(argument.split(" ", 1))
        elif name in _POPS:
            method, count = _POPS[name]
            getattr(self, f"do_{method}")(self.taken(count))
        elif name not in ("PROTO", "FRAME", "STOP"):
            raise FormatError(f"the pickle uses {name}; {_REFUSED}")

    def result(self) -> Any:
        """Return the only value left on the stack.  Raises ValueError for more values or marks."""
        (found,) = self.stack
        if self.marks:
            raise ValueError("a mark is left")
        return found.value() if isinstance(found, _Array) else found

    def taken(self, count: int | None) -> list[Any]:
        """Pop the last `count` values from the stack, or the last mark and all above it, and return the values."""
        begin = self.marks.pop() if count is None else len(self.stack) - count
        if not (self.marks[-1] if self.marks else 0) <= begin <= len(self.stack):
            raise ValueError("below a mark")
        items = self.stack[begin:]
        del self.stack[begin:]
        return items

    def weigh(self, found: Any, items: list[Any]) -> None:
        """Count a container's values with those in `items`, which must not grow any more.  Raises FormatError."""
        # 400 bytes could hold lists that share lists, 2**40 values in all.
        weight = self.weights.get(id(found), 1) + sum(self.weights.get(id(item), 1) for item in items)
        if weight > self.values:
            raise FormatError(f"the pickle copies its contents too often; {_REFUSED}")
        self.weights[id(found)] = weight
        self.held.update(self.weights.keys() & map(id, items))
        self.kept.append(found)

    def do_tuple(self, items: list[Any]) -> None:
        """Push a tuple.  Raises FormatError if it holds more than `_MAX_TUPLE` values that its hash visits."""
        found, size = tuple(items), 1 + sum(self.sizes.get(id(item), 1) for item in items)
        if size > _MAX_TUPLE:
            raise FormatError(f"the pickle holds a tuple of more than {_MAX_TUPLE} values; {_REFUSED}")
        self.sizes[id(found)] = size
        self.weigh(found, items)
        self.stack.append(found)

    def do_list(self, items: list[Any]) -> None:
        """Push a list."""
        self.stack.append([])
        self.do_extend(items)

    def do_extend(self, items: list[Any]) -> None:
        """Append items to the list on top of the stack."""
        if type(self.stack[-1]) is not list or id(self.stack[-1]) in self.held:
            raise ValueError("not a list, or one that another container holds")
        self.weigh(self.stack[-1], items)
        self.stack[-1].extend(items)

    def do_dict(self, items: list[Any]) -> None:
        """Push a dictionary of keys and values."""
        self.stack.append({})
        self.do_update(items)

    def do_update(self, items: list[Any]) -> None:
        """Add keys and values to the dictionary on top of the stack."""
        if type(self.stack[-1]) is not dict or id(self.stack[-1]) in self.held or len(items) % 2:
            raise ValueError("not a dictionary, one that another container holds, or a key without a value")
        self.weigh(self.stack[-1], items)
        for key, value in zip(items[::2], items[1::2], strict=True):
            if isinstance(key, _Array | _Name | _Dtype):
                raise FormatError(f"a key of the pickle is {_described(key)}; {_REFUSED}")
            self.stack[-1][key] = value.value() if isinstance(value, _Array) else value

    def do_name(self, items: list[Any]) -> None:
        """Push the function for a permitted name, given with its module.  Raises FormatError for other names."""
        module, name = items
        if (module, name) not in _NAMES:
            raise FormatError(f"the pickle uses {f'{module}.{name}'!r:.80}; {_REFUSED}")
        self.stack.append(_NAMES[module, name])

    def do_call(self, items: list[Any]) -> None:
        """Push the result of a function."""
        function, arguments = items
        if not isinstance(function, _Name) or type(arguments) is not tuple:
            raise ValueError("not a call")
        made = function.call(*arguments)
        self.spend(made)
        self.stack.append(made)
        if isinstance(made, dict):
            self.weigh(made, [arguments])

    def do_build(self, items: list[Any]) -> None:
        """Push an array or a type with its state.  Raises FormatError for other targets."""
        target, state = items
        if not isinstance(target, _Dtype | _Array) or type(state) is not tuple:
            raise FormatError(f"the pickle sets the state of {_described(target)}; {_REFUSED}")
        target.set_state(state)
        self.weigh(target, [state])
        self.spend(target)
        self.stack.append(target)

    def spend(self, made: Any) -> None:
        """Raise FormatError if calls create more than `room` bytes: a small file could copy one text many times."""
        found = made.found if isinstance(made, _Array) else made
        size = found.nbytes if isinstance(found, np.ndarray) else len(found) if isinstance(found, bytes | dict) else 1
        self.room -= size
        if self.room < 0:
            raise FormatError(f"the pickle copies its contents too often; {_REFUSED}")


class _Dtype:
    """Type of a number as NumPy pickles it: its name, and its byte order, set later by `set_state`."""

    def __init__(self, name: object = None, *flags: object) -> None:
        numbers = isinstance(name, str) and name[:1] in ("f", "i", "u") and name[1:] in ("1", "2", "4", "8")
        if not numbers and name not in ("O8", "O"):
            raise FormatError(f"the pickle uses the NumPy type {name!r:.40} instead of a plain number; {_REFUSED}")
        if not all(isinstance(flag, int) for flag in flags):
            raise ValueError("flags of a NumPy type")
        self.name, self.order = str(name), "<"

    def set_state(self, state: tuple[Any, ...]) -> None:
        """Set the byte order."""
        if not all(isinstance(each, int | str | None) for each in state) or state[1] not in ("<", ">", "|"):
            raise ValueError("state of a NumPy type")
        self.order = state[1]

    @property
    def numpy(self) -> np.dtype[Any]:
        """Return the NumPy dtype.  Raises FormatError for objects."""
        if self.name.startswith("O"):
            raise FormatError(f"the pickle holds an array of objects; {_REFUSED}")
        return np.dtype(self.order + self.name)


class _Array:
    """NumPy array that is created empty and filled by its state."""

    def __init__(self, found: Any = None) -> None:
        self.found = found

    def set_state(self, state: tuple[Any, ...]) -> None:
        """Set shape, type and numbers, or the object of an array with a single object."""
        _, shape, dtype, by_column, data = state
        objects = isinstance(dtype, _Dtype) and dtype.name.startswith("O")
        if objects and isinstance(data, list) and len(data) == 1 and shape in ((), (1,)):
            self.found = data[0]
        else:
            self.found = _filled(data, dtype, shape, by_column)

    def value(self) -> Any:
        """Return the array.  Raises ValueError if it has no state."""
        if self.found is None:
            raise ValueError("an array without numbers")
        return self.found


def _filled(data: Any, dtype: object, shape: Any, by_column: Any) -> Any:
    """Return an array of plain numbers from its bytes."""
    if not isinstance(dtype, _Dtype):
        raise ValueError("type of an array")
    raw = data.encode("latin-1") if isinstance(data, str) else data  # Python 2 wrote bytes as strings
    whole = isinstance(shape, tuple) and len(shape) <= 40 and all(type(n) is int and n > 0 for n in shape)
    if not isinstance(raw, bytes | bytearray) or not whole or len(raw) != math.prod(shape) * dtype.numpy.itemsize:
        raise ValueError("numbers of an array")
    return np.frombuffer(bytes(raw), dtype=dtype.numpy).reshape(shape, order="F" if by_column in (True, "F") else "C")


def _reconstruct(kind: object, *_: object) -> _Array:
    """Return an array to be filled by its state."""
    if kind is not _NDARRAY:
        raise FormatError(f"the pickle uses an array that is not a plain one; {_REFUSED}")
    return _Array()


def _from_buffer(data: object, dtype: object, shape: object, order: object) -> _Array:
    """Return an array as written by pickle protocol 5."""
    return _Array(_filled(data, dtype, shape, order))


def _dictionary(*arguments: object) -> dict[Any, Any]:
    """Return a dictionary of another type, such as a defaultdict, as a plain one."""
    (found,) = arguments or (None,)
    if found is None or found is _FACTORY:
        return {}
    if type(found) is dict:
        return dict(found)
    raise FormatError(f"the pickle makes a dictionary of {_described(found)}; {_REFUSED}")


def _number(dtype: object, data: object) -> Any:
    """Return a NumPy scalar as a plain number."""
    if not isinstance(dtype, _Dtype) or not isinstance(data, str | bytes):
        raise FormatError(f"the pickle holds a NumPy scalar that is not a plain number; {_REFUSED}")
    return _filled(data, dtype, (), "C").item()


def _bytes(text: object, encoding: object) -> bytes:
    """Return the bytes of a number, which Python 3 writes as text in protocols 0 to 2."""
    if not isinstance(text, str) or encoding not in ("latin1", "latin-1"):
        raise FormatError(f"the pickle encodes something other than the bytes of a number; {_REFUSED}")
    return text.encode("latin-1")


@dataclass(frozen=True, eq=False)
class _Name:
    """Function for a permitted name, opaque to values of the file."""

    call: Callable[..., Any]


def _not_called(*_: object) -> None:
    raise FormatError(f"the pickle calls a type; {_REFUSED}")


_NDARRAY, _FACTORY = _Name(_not_called), _Name(_not_called)
_NAMES = {("numpy", "dtype"): _Name(_Dtype), ("numpy", "ndarray"): _NDARRAY, ("_codecs", "encode"): _Name(_bytes)}
for _core in ("numpy.core", "numpy._core"):
    _NAMES[f"{_core}.multiarray", "scalar"] = _Name(_number)
    _NAMES[f"{_core}.multiarray", "_reconstruct"] = _Name(_reconstruct)
    _NAMES[f"{_core}.numeric", "_frombuffer"] = _Name(_from_buffer)
for _kind in ("defaultdict", "OrderedDict", "Counter"):
    _NAMES["collections", _kind] = _Name(_dictionary)
for _module in ("builtins", "__builtin__"):
    for _type in ("float", "int", "dict", "list"):
        _NAMES[_module, _type] = _FACTORY


def _described(value: Any) -> str:
    """Return the kind of a value, for a message."""
    named = {_Dtype: "a NumPy type", _Name: "a function", _Array: "an array", type(None): "None", int: "an int"}
    return named.get(type(value), f"a {type(value).__name__}")


_DIGIT_OF_MARK = np.array([1, 2, 0])
_MARK_OF_DIGIT = np.array([SECOND, EMPTY, FIRST])
_NUMBER_OF_MARK = ("0.", "1.", "-1.")
_MARK_OF_NUMBER = {0.0: EMPTY, 1.0: FIRST, -1.0: SECOND}

_PROTOCOL = 2
"""Pickle protocol: every Python since 2.3 reads it, and later ones store plain numbers no better."""


def _encode_numbers(table: Table, board: Board) -> bytes:
    code, value = _entries(table)
    keys = _DIGIT_OF_MARK[marks_of_states(code, board.cells)] @ 3 ** np.arange(board.cells - 1, -1, -1)
    entries = dict(sorted(zip(keys.astype(np.float64).tolist(), value, strict=True)))
    return pickle.dumps(entries, protocol=_PROTOCOL)


def _encode_text(table: Table, board: Board) -> bytes:
    code, value = _entries(table)
    texts = map(_printed, marks_of_states(code, board.cells).tolist())
    return pickle.dumps(dict(zip(texts, value, strict=True)), protocol=_PROTOCOL)


def _entries(table: Table) -> tuple[NDArray[np.int64], list[float]]:
    """Return the codes that have a value, and the values."""
    code = np.flatnonzero(~np.isnan(table.value[0]))
    return code, table.value[0, code].tolist()


def _printed(marks: list[int]) -> str:
    """Return the cells as NumPy prints them, all as wide as the widest.  `MAX_CELLS` cells fit on NumPy's line."""
    width = 3 if SECOND in marks else 2
    return "[" + " ".join(_NUMBER_OF_MARK[mark].rjust(width) for mark in marks) + "]"


def _decode(content: bytes, board: Board) -> Table:
    entries = read_dictionary(content, 3**board.cells)
    if not entries:
        raise FormatError("the dictionary is empty; name a file of a trained table")
    value = np.full((1, 3**board.cells), np.nan)
    for key, number in entries.items():
        marks = _marks_of_text(key, board) if isinstance(key, str) else _marks_of_number(key, board)
        code = board.encode(marks)
        if not math.isfinite(number):
            raise FormatError(f"the value of key {key!r} is {number!r:.40}; a table holds finite numbers only")
        if not math.isnan(value[0, code]):
            raise FormatError(f"key {key!r} names the same position as another key; remove one of them")
        value[0, code] = number
    return Table(value)


def _marks_of_number(key: float, board: Board) -> tuple[int, ...]:
    if not (0 <= key < 3**board.cells and key == int(key)):
        raise FormatError(
            f"key {key!r:.40} is not a position: board {board.name} has whole numbers from 0 to {3**board.cells - 1}; "
            "give the table's own board"
        )
    digits = (int(key) // 3**power % 3 for power in range(board.cells - 1, -1, -1))
    return tuple(int(_MARK_OF_DIGIT[digit]) for digit in digits)


def _marks_of_text(key: str, board: Board) -> tuple[int, ...]:
    words = key.strip().removeprefix("[").removesuffix("]").split()
    try:
        marks = tuple(_MARK_OF_NUMBER[float(word)] for word in words)
    except (ValueError, KeyError):
        raise FormatError(f"key {key!r:.80} must be a board of the numbers 1, -1 and 0 in brackets; fix it") from None
    if len(marks) != board.cells:
        raise FormatError(
            f"key {key!r:.80} has {len(marks)} cells; board {board.name} has {board.cells}; give the table's own board"
        )
    return marks


NUMBERS = Format(
    name="pickle",
    meaning="a dict from base-3 number to value for each player; the files of the program behind sutton-barto",
    suffix=".bin",
    kinds=(POSITION_VALUES,),
    encode=_encode_numbers,
    decode=_decode,
    max_bytes=lambda board: 4096 + 256 * int(3**board.cells),  # the programs' own files take about a tenth
    per_player=True,
)
TEXT = replace(
    NUMBERS,
    name="pickle-text",
    meaning="a dict from NumPy's text of the cells to value for each player; the file of the program behind value-feed",
    suffix=".pkl",
    endings=(".pkl", ".pickle"),
    encode=_encode_text,
)
