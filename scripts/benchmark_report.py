"""What `benchmark.py` reports: a table for the terminal, and the page `data/benchmark.md`."""

import math
from typing import Any

from page_writer import fill, markdown_table, measured_on

HEAD = ("figure", "measured", "spread", "target", "reached")


def show(number: float | None) -> str:
    """A number in three or four digits, thousands by commas, millions as M, thousands of millions as G."""
    if number is None or math.isinf(number):
        return "never"
    for size, letter in ((1e9, " G"), (1e6, " M")):
        if abs(number) >= size:
            return f"{number / size:,.4g}{letter}"
    return f"{number:,.0f}" if abs(number) >= 1000 or number == int(number) else f"{number:.3g}"


def table(report: dict[str, Any]) -> str:
    """Return the report for a terminal, in columns."""
    rows = [HEAD, *figure_rows(report)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    return "\n".join([measured_on(report), "", *lines])


def figure_rows(report: dict[str, Any]) -> list[tuple[str, ...]]:
    """Return a row of `HEAD` for each figure."""
    return [
        (
            entry["figure"],
            f"{show(entry['value'])} {entry['unit']}".rstrip(),
            f"{show(entry['min'])} .. {show(entry['max'])}",
            entry["target"] or "",
            {None: "", True: "yes", False: "NO"}[entry["reached"]],
        )
        for entry in report["figures"]
    ]


def page(report: dict[str, Any]) -> str:
    """Return the page of a report."""
    missed = [entry["figure"] for entry in report["figures"] if entry["reached"] is False]
    return fill(
        "benchmark.md",
        machine=measured_on(report),
        verdict=f"Not reached: {'; '.join(missed)}." if missed else "Every target is reached.",
        figures=markdown_table(HEAD, figure_rows(report)),
    )
