"""A4 sheets to print: a page of text and pieces to cut out, as a PDF by matplotlib or as an HTML page."""

import html
import io
import textwrap
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from ttt_batch.app.plots.style import package_style
from ttt_batch.core.errors import UsageError
from ttt_batch.core.files import shown
from ttt_batch.runs.formats import EXPORT, check_targets

WIDTH, HEIGHT = 210.0, 297.0
"""A4, in millimetres: every length on a sheet is one."""

INCH = 25.4

Paragraphs = list[tuple[str, str]]
"""Heading and text of each paragraph."""

STYLE = """
@page { size: A4; margin: 15mm 13mm }
body { font: 10.5pt/1.5 sans-serif; max-width: 184mm; margin: 8mm auto; padding: 0 4mm; color: #000; background: #fff }
h1 { font-size: 15pt; line-height: 1.25 }
h2 { font-size: 11.5pt; margin: 5mm 0 1mm }
p { margin: 0 }
"""


def html_page(title: str, paragraphs: Paragraphs, style: str, pieces: str) -> str:
    """Return a page of text and pieces.  style: CSS of the pieces.  pieces: HTML."""
    title = html.escape(title)
    text = "\n".join(f"<h2>{html.escape(head)}</h2>\n<p>{html.escape(body)}</p>" for head, body in paragraphs)
    return (
        f'<!doctype html>\n<html lang="en">\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n"
        f"<title>{title}</title>\n<style>{STYLE}{style}</style>\n<h1>{title}</h1>\n{text}\n{pieces}\n</html>\n"
    )


def pdf_of(title: str, figures: Iterable[Any]) -> bytes:
    """Return figures as the pages of a PDF, with the same bytes each time.

    figures: iterated with the package's style set.  Raises TttBatchError if matplotlib is not installed.
    """
    with package_style():
        from matplotlib.backends.backend_pdf import PdfPages

        file = io.BytesIO()
        facts: dict[str, Any] = {"Title": title, "Creator": "ttt-batch", "CreationDate": None}
        with PdfPages(file, metadata=facts) as pages:
            for figure in figures:
                pages.savefig(figure)
        return file.getvalue()


def empty_page() -> tuple[Any, Any]:
    """Return an empty page, and axes over all of it in millimetres from the top left."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(WIDTH / INCH, HEIGHT / INCH))
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set(xlim=(0, WIDTH), ylim=(HEIGHT, 0))
    axes.axis("off")
    return figure, axes


def text_page(title: str, paragraphs: Paragraphs, room: float = 0.0) -> tuple[Any, Any, float]:
    """Return a page of text, its axes, and where the text ends, in millimetres from the top.

    room: millimetres left free below each paragraph but the first, to write in.
    """
    figure, axes = empty_page()
    axes.text(20, 28, title, size=14, weight="bold")
    y = 44.0
    for number, (heading, text) in enumerate(paragraphs):
        axes.text(20, y, heading, size=11, weight="bold")
        lines = textwrap.wrap(text, 92)
        axes.text(20, y + 4, "\n".join(lines), size=10, va="top", linespacing=1.5)
        y += 14 + 5.6 * len(lines) + (room if number else 0)
    return figure, axes, y


def draw_cut(axes: Any, left: float, top: float, width: float, height: float) -> None:
    """Draw dashed lines around a piece."""
    from matplotlib.patches import Rectangle

    cut: dict[str, Any] = {"fill": False, "edgecolor": "0.45", "linewidth": 0.5, "linestyle": (0, (4, 3))}
    axes.add_patch(Rectangle((left, top), width, height, **cut))


def draw_lines(axes: Any, left: float, top: float, rows: int, cols: int, cell: float, **look: Any) -> None:
    """Draw the inner lines of a board with cells of width `cell`.  look: options of `Axes.plot`."""
    for line in range(1, max(rows, cols)):
        if line < cols:
            axes.plot([left + line * cell] * 2, [top, top + rows * cell], color="black", linewidth=0.9, **look)
        if line < rows:
            axes.plot([left, left + cols * cell], [top + line * cell] * 2, color="black", linewidth=0.9, **look)


SUFFIXES = (".pdf", ".html")


def write_sheets(path: Path, title: str, figures: Iterable[Any], page: Callable[[], str], *, overwrite: bool) -> None:
    """Write sheets to a file: a PDF of the figures, or the HTML of `page` if the name ends in .html.

    Raises TttBatchError for a PDF without matplotlib, and FormatError if the file cannot be written.
    """
    content = pdf_of(title, figures) if path.suffix.lower() == ".pdf" else page().encode()
    EXPORT.write([path], [content], overwrite=overwrite)


def check_sheets(path: Path, pieces: str, *, overwrite: bool) -> None:
    """Check that sheets of `pieces` can be written to a file.

    Raises UsageError for an ending other than `SUFFIXES`, and FormatError as `check_targets`.
    """
    if path.suffix.lower() not in SUFFIXES:
        raise UsageError(
            f"cannot print {pieces} into {shown(path)}: sheets are a .pdf or an .html file; name one of these"
        )
    check_targets([path], overwrite=overwrite)
