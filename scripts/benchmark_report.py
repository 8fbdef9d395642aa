"""Report of `benchmark.py`: a table for the terminal, and the page `data/benchmark.md`."""

import math
import textwrap
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
    return "\n".join([measured_when(report), "", *lines])


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


def added(earlier: dict[str, Any], report: dict[str, Any]) -> dict[str, Any]:
    """An earlier report with the figures of a later one, which remembers where and when these were measured."""
    names = [entry["figure"] for entry in report["figures"]]
    kept = [entry for entry in earlier["figures"] if entry["figure"] not in names]
    parts = [
        part | {"names": [name for name in part["names"] if name not in names]} for part in earlier.get("parts", [])
    ]
    own = {key: report[key] for key in ("machine", "versions", "date", "quick")} | {"names": names}
    return earlier | {
        "figures": kept + report["figures"],
        "parts": [part for part in parts if part["names"]] + [own],
        "measurements": earlier["measurements"] | report["measurements"],
    }


def measured_when(report: dict[str, Any]) -> str:
    """Return where and when the figures were measured; those that were added later, too."""
    lines = [measured_on(report)]
    for part in report.get("parts", []):
        first, *_, last = part["names"] * 2
        rows = textwrap.wrap(f"Rows from *{first}* to *{last}*:", 120)
        lines += ["", *rows, *measured_on(part).splitlines()]
    return "\n".join(lines)


def page(report: dict[str, Any]) -> str:
    """Return the page of a report."""
    missed = [entry["figure"] for entry in report["figures"] if entry["reached"] is False]
    return fill(
        "benchmark.md",
        machine=measured_when(report),
        verdict=textwrap.fill(f"Not reached: {'; '.join(missed)}.", 120) if missed else "Every target is reached.",
        figures=markdown_table(HEAD, figure_rows(report)),
    )
