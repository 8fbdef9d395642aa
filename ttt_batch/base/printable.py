"""What every result of a function offers: plain values, a table for pandas, and the text that its command prints."""

from collections.abc import Mapping, Sequence
from typing import Any

from ttt_batch.base import hooks
from ttt_batch.base.frames import make_frame


class Printable:
    """A result of a function of the package.  `print(result)` shows what its command prints."""

    def to_dict(self) -> dict[str, Any]:
        """Return plain values with stable keys, as `--json` prints them."""
        raise NotImplementedError

    def records(self) -> tuple[Sequence[Mapping[str, Any]], str]:
        """Return the rows of `to_frame`, and the key that names them."""
        raise NotImplementedError

    def to_frame(self) -> Any:
        """Return a pandas DataFrame.  Raises TttBatchError if pandas is missing."""
        return make_frame(*self.records())

    def __str__(self) -> str:
        return str(hooks.call(type(self).__name__, self))
