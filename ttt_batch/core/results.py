"""Results of functions: plain values, a table for pandas, and the text that the command prints."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from html import escape
from typing import TYPE_CHECKING, Any, ClassVar

from ttt_batch.core.errors import TttBatchError, UsageError, quoted
from ttt_batch.core.hooks import call_hook
from ttt_batch.core.text import RESULTS, SEATS, check_functions

if TYPE_CHECKING:
    from pandas import DataFrame

SELF_PLAY = ("first_wins", "draws", "second_wins")


@contextmanager
def progress_callback(progress: Callable[..., None] | bool | None, what: str) -> Iterator[Callable[..., None] | None]:
    """Yield the progress callback: `progress`, for True a bar on standard error, else None.

    what: the kind of work, as in `app.progress.show_progress`.  Raises UsageError if `progress` cannot be called.
    """
    if progress is None or progress is False:
        yield None
    elif progress is True:
        with call_hook("progress", what) as show:
            yield show
    elif callable(progress):
        yield progress
    else:
        raise UsageError(f"progress is {quoted(progress)}; give True for a bar on standard error, or a function")


def stop_callback(stop: Callable[[], bool] | None) -> Callable[[], bool]:
    """Return the callback `stop`, for None one that returns False.  Raises UsageError if it cannot be called."""
    check_functions(stop=stop)
    return (lambda: False) if stop is None else stop


class Printable:
    """Result of a function of the package.  `print(result)` prints the same text as the command.

    rows: the key of `to_dict` that holds the rows of `to_frame`, and the key of a row that becomes the index.
    """

    rows: ClassVar[tuple[str, str]]

    def to_dict(self) -> dict[str, Any]:
        """Return plain values with stable keys, as `--json` prints them; a missing number is NaN."""
        raise NotImplementedError

    def records(self) -> tuple[Sequence[Mapping[str, Any]], str]:
        """Return the rows of `to_frame` and the key that becomes its index."""
        key, index = self.rows
        return self.to_dict()[key], index

    def to_frame(self) -> "DataFrame":
        """Return a pandas DataFrame.  Raises TttBatchError if pandas is missing."""
        return make_frame(*self.records())

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict[str, str]:
        """Return the command's output for notebooks, as text and as escaped HTML."""
        text = str(self)
        return {"text/plain": text, "text/html": f"<pre>{escape(text)}</pre>"}

    def __str__(self) -> str:
        return str(call_hook(type(self).__name__, self))


def make_frame(records: Iterable[Mapping[str, Any]], index: str) -> "DataFrame":
    """Return a pandas DataFrame with one row per record and the column `index` as its index.

    Nested mappings become columns: `first.win` for `{"first": {"win": ...}}`.
    Raises TttBatchError if pandas is missing.
    """
    try:
        import pandas as pd
    except ImportError:
        raise TttBatchError("a table needs pandas; install it with: pip install 'ttt-batch[pandas]'") from None
    rows = [flattened(record) for record in records]
    return pd.DataFrame(rows).set_index(index) if rows else pd.DataFrame(index=pd.Index([], name=index))


def point_records(statistics: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return one record per recorded point of a run; a statistic of several numbers has several keys.

    statistics: arrays of shape [T], [T, seats], [T, 3] or [T, seats, 3], as the run file declares them.
    """
    columns: dict[str, Any] = {}
    for name, array in statistics.items():
        labels = SEATS if array.shape[1:2] == (len(SEATS),) else SELF_PLAY, RESULTS
        columns |= labelled(name, array, labels[: array.ndim - 1])
    rows = zip(*(column.tolist() for column in columns.values()), strict=True)
    return [dict(zip(columns, row, strict=True)) for row in rows]


def labelled(name: str, array: Any, labels: Sequence[Sequence[str]]) -> dict[str, Any]:
    """Return an array [n, ...] as columns [n], with the labels of its other axes in their names: `unbeatable.first`."""
    if not labels:
        return {name: array}
    columns: dict[str, Any] = {}
    for number, label in enumerate(labels[0]):
        columns |= labelled(f"{name}.{label}", array[:, number], labels[1:])
    return columns


def by_name(values: Any, *names: Sequence[str]) -> Any:
    """Return nested sequences as nested dictionaries.  names: the keys of each axis, as many as it is long at least."""
    if not names:
        return values
    return {name: by_name(value, *names[1:]) for name, value in zip(names[0], values, strict=False)}


def rows_by(index: str, columns: Mapping[str, Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return a row for each key of the columns, which all have the same keys.  index: the column of these keys."""
    keys = next(iter(columns.values()))
    return [{index: key} | {name: column[key] for name, column in columns.items()} for key in keys]


def flattened(record: Mapping[str, Any], before: str = "") -> dict[str, Any]:
    """Return a record without nested mappings: `first.win` for `{"first": {"win": ...}}`."""
    found: dict[str, Any] = {}
    for name, value in record.items():
        if isinstance(value, Mapping):
            found |= flattened(value, f"{before}{name}.")
        else:
            found[f"{before}{name}"] = value
    return found
