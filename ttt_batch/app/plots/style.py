"""How pictures look, and how a figure becomes a file: colours, sizes, bytes.

Only matplotlib's objects are used, never pyplot: nothing is shown, and no figure outlives its file.
"""

import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

from ttt_batch.base.errors import TttBatchError
from ttt_batch.base.quantities import short_number

# matplotlib is imported inside the functions that need it: it is an extra, and costs a third of a second.

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#000000")
"""The palette of Okabe and Ito without its yellow, which is too pale for lines."""

MARKERS = ("o", "s", "^", "D", "v", "P", "X")
WIN, DRAW, LOSS = "#0072B2", "#7F7F7F", "#D55E00"

FIGURE_WIDTH, DPI = 8.0, 150
"""Inches and dots an inch; letters are sized for a picture that is shown 800 pixels wide."""

RC: Any = {
    "font.size": 9.0,
    "axes.titlesize": 10.0,
    "axes.titlelocation": "left",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": "#DDDDDD",
    "grid.linewidth": 0.6,
    "lines.linewidth": 1.6,
    "lines.markersize": 4.0,
    "legend.frameon": False,
    "legend.fontsize": 8.5,
    "figure.titlesize": 12.0,
    "hatch.linewidth": 0.5,
    "text.parse_math": False,  # a name may hold dollar signs
    "svg.hashsalt": "ttt-batch",
}


def _matplotlib() -> Any:
    """Import matplotlib even if MPLBACKEND names a backend that it does not know.

    Pictures need no backend.  The variable still holds for pyplot, which a person may use later.
    """
    backend = os.environ.pop("MPLBACKEND", None) if "matplotlib" not in sys.modules else None
    try:
        import matplotlib
    finally:
        if backend is not None:
            os.environ["MPLBACKEND"] = backend
    if backend:
        with suppress(ValueError):
            matplotlib.rcParams["backend"] = backend
    return matplotlib


@contextmanager
def package_style() -> Iterator[None]:
    """Draw and render in the package's own style, whatever a person's settings file says.

    Raises TttBatchError if matplotlib is not installed.
    """
    try:
        matplotlib = _matplotlib()
        from matplotlib import style
    except ImportError as error:
        raise TttBatchError(
            f"a plot needs matplotlib ({error}); install it with: pip install 'ttt-batch[plot]'"
        ) from None
    with style.context("default"), matplotlib.rc_context(RC):
        yield


def new_figure(height: float, width: float = FIGURE_WIDTH) -> Any:
    """An empty figure of so many inches."""
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), dpi=DPI, layout="constrained")


def put_legend(place: Any, handles: Sequence[Any], labels: Sequence[str], **style: Any) -> Any:
    """Put a legend into the upper left corner of axes or a figure, without moving anything for it."""
    # The names come after: matplotlib before 3.10 leaves out what begins with an underscore.
    legend = place.legend(handles, ["-"] * len(labels), loc="upper left", borderaxespad=0, **style)
    for text, label in zip(legend.get_texts(), labels, strict=True):
        text.set_text(label)
    legend.set_in_layout(False)  # a long name must not squeeze the panels
    return legend


def log_counts(axes: Any) -> None:
    """Make the vertical axis logarithmic, with short numbers: matplotlib's own are mathematics, which is off here."""
    from matplotlib.ticker import FuncFormatter, LogFormatter

    class Between(LogFormatter):
        """Numbers between powers of ten, if the axis is so short that it needs them."""

        def __call__(self, x: float, pos: int | None = None) -> str:
            return short_number(x) if super().__call__(x, pos) else ""

    axes.set_yscale("log")
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: short_number(value)))
    axes.yaxis.set_minor_formatter(Between())


def render(figure: Any, kind: str) -> bytes:
    """The figure as a `png` or `svg` file; equal figures give equal bytes.  To be called within `package_style`.

    Signs that the font does not have become boxes, of which matplotlib would warn one by one.
    """
    import io
    import warnings

    content = io.BytesIO()
    metadata = {"Date": None, "Creator": None} if kind == "svg" else {"Software": None}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        figure.savefig(content, format=kind, metadata=metadata)
    return content.getvalue()
