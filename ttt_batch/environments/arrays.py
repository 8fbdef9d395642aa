"""The arrays that a batch writes to: its own, made once, or the caller's, for example in shared memory."""

from collections.abc import Mapping
from itertools import combinations
from typing import Any, TypeGuard

import numpy as np
from numpy.typing import DTypeLike, NDArray

from ttt_batch.base.aligned import zeros
from ttt_batch.base.choices import choose
from ttt_batch.base.errors import UsageError, quoted
from ttt_batch.base.memory import check_memory

NAMES = ("planes", "mask", "rewards", "terminated")

Shapes = dict[str, tuple[tuple[int, ...], np.dtype[Any]]]


def output_arrays(shapes: Shapes, given: Mapping[str, NDArray[Any]] | None, more: int) -> dict[str, NDArray[Any]]:
    """An array for each name of `shapes` (shape and dtype): the given one, or a new one of zeros.

    more: bytes that are needed besides.
    Raises UsageError for a name that is none, and for an array of another shape or dtype, that is not contiguous, is
    read-only, or shares memory with another one; and if there is no memory for new ones.  Nothing is written before.
    """
    if not isinstance(given, Mapping | None):
        raise UsageError(f"arrays is {quoted(type(given).__name__)}; give a dictionary of arrays by name")
    given = {} if given is None else dict(given)
    for name in given:
        choose("array", name, list(shapes))
    for name, array in given.items():
        check_array(name, array, *shapes[name])
    for (one, first), (other, second) in combinations(given.items(), 2):
        if np.may_share_memory(first, second):
            raise UsageError(f"{one} and {other} overlap; give arrays that share no memory")
    missing = [size(shape, dtype) for name, (shape, dtype) in shapes.items() if name not in given]
    check_memory(sum(missing) + more, "the batch")
    return {name: given[name] if name in given else zeros(*wanted) for name, wanted in shapes.items()}


def check_look(dtype: DTypeLike) -> np.dtype[Any]:
    """The dtype of planes.  Raises UsageError unless it is uint8 or bool."""
    try:
        look = np.dtype(dtype)
    except TypeError:
        look = None
    if look not in (np.dtype(np.uint8), np.dtype(np.bool_)):
        what = quoted(str(dtype)) if look is None else look
        raise UsageError(f"planes of the dtype {what} are not supported; choose uint8 or bool")
    return look


def flags_of(name: str, given: Any, n: int) -> NDArray[np.bool_]:
    """Return `given`, an array, a list or a tensor, as bool[n].  Raises UsageError."""
    flags = read_array(given)
    if flags is None or flags.dtype != np.bool_ or flags.shape != (n,):
        raise UsageError(f"{name} must be an array of bool with the shape ({n},)")
    return np.ascontiguousarray(flags)


def actions_of(given: Any, n: int) -> NDArray[Any]:
    """Return `given`, an array, a list or a tensor, as integers[n] that kernels take.  Raises UsageError."""
    actions = read_array(given)
    what = f"{quoted(type(given).__name__)}, no array of numbers"
    wanted = f"an array of integers with the shape ({n},)"
    if actions is not None:
        if actions.dtype.kind in "iu" and actions.shape == (n,) and actions.dtype.isnative:
            return actions
        what = f"an array of {actions.dtype} with the shape {actions.shape}"
        wanted = wanted if actions.dtype.isnative else "integers in this machine's byte order"
    raise UsageError(f"actions are {what}; give {wanted}")


def read_array(given: Any) -> NDArray[Any] | None:
    """Return an array, a list or a tensor as an array of numbers or flags; None for anything else."""
    if is_array(given):
        return given
    try:
        array = np.asarray(given)
    except Exception:  # lists of several lengths, and what a tensor of another device raises
        return None
    return None if array.dtype.kind not in "biuf" or isinstance(given, np.ma.MaskedArray) else array


def is_array(given: object) -> TypeGuard[NDArray[Any]]:
    """Whether this is an array that kernels take; masked ones are none."""
    # The first question spares nearly all the others, which take 0.1 us: 5 % of a step of one game.
    return type(given) is np.ndarray or (isinstance(given, np.ndarray) and not isinstance(given, np.ma.MaskedArray))


def is_plain(array: NDArray[Any], dtype: np.dtype[Any]) -> bool:
    """Whether kernels that are compiled for `dtype` may read an array."""
    return array.dtype == dtype and array.flags.c_contiguous and array.flags.aligned


def size(shape: tuple[int, ...], dtype: np.dtype[Any]) -> int:
    """Bytes of an array."""
    count = 1
    for length in shape:
        count *= length
    return count * dtype.itemsize


def check_array(name: str, array: object, shape: tuple[int, ...], dtype: DTypeLike) -> None:
    """Raise UsageError unless `array` is one that kernels can write to."""
    wanted = f"give a contiguous, writable array of {np.dtype(dtype)} with the shape {shape}"
    if not is_array(array):
        raise UsageError(f"{name} is {quoted(type(array).__name__)}, not an array: {wanted}")
    if array.dtype != dtype:
        raise UsageError(f"{name} has the dtype {array.dtype}: {wanted}")
    if array.shape != shape:
        raise UsageError(f"{name} has the shape {array.shape}: {wanted}")
    if not array.flags.c_contiguous:
        raise UsageError(f"{name} is not contiguous: {wanted}")
    if not array.flags.writeable:
        raise UsageError(f"{name} is read-only: {wanted}")


def flat(array: NDArray[Any]) -> NDArray[Any]:
    """The same memory in one dimension, bool as uint8."""
    line = array.reshape(-1)
    return line.view(np.uint8) if line.dtype == np.bool_ else line
