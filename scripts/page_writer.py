"""Write the pages of `data/`: a template of `scripts/pages/`, its tables filled in from what a script measured.

A script that has a page takes two options: `--page FILE` writes the page of what was measured, and `--from JSON` takes
what an earlier run wrote with `--json` instead of measuring.  So a page is written again in a second:

    python scripts/boards.py --from data/boards.json --page data/boards.md
"""

import argparse
import json
import sys
import textwrap
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from ttt_batch.core.text import count_text

TEMPLATES = Path(__file__).parent / "pages"


def fill(template: str, **parts: str) -> str:
    """Return the text of a template; `{{name}}` is replaced by the part of that name, and every part is used."""
    text = (TEMPLATES / template).read_text(encoding="utf-8")
    for name, part in parts.items():
        if f"{{{{{name}}}}}" not in text:
            raise LookupError(f"{template} has no place for {name}")
        text = text.replace(f"{{{{{name}}}}}", part)
    if "{{" in text:
        raise LookupError(f"{template} needs more than {', '.join(parts)}")
    return text


def markdown_table(head: Iterable[str], rows: Iterable[Iterable[object]]) -> str:
    """Return a table in Markdown; a bar inside a cell is escaped."""
    head = list(head)
    cells = [head, *([str(cell).replace("|", r"\|") for cell in row] for row in rows)]
    first, *others = ["| " + " | ".join(row) + " |" for row in cells]
    return "\n".join([first, "|---" * len(head) + "|", *others])


def measured_on(report: dict[str, Any]) -> str:
    """Return a sentence of its own lines: the processor, the versions and the date of a report."""
    machine = report["machine"]
    versions = ", ".join(f"{name} {version}" for name, version in report["versions"].items())
    cores = count_text(machine["cores"], "core")
    return textwrap.fill(f"Measured on {machine['processor']}, {cores}; {versions}; {report['date']}.", 120)


def add_page_options(parser: argparse.ArgumentParser) -> None:
    """Add `--page` and `--from` to a script's options."""
    parser.add_argument("--page", type=Path, metavar="FILE", help="write a page of the figures, in Markdown")
    parser.add_argument(
        "--from", dest="source", type=Path, metavar="JSON", help="measure nothing; take the figures of this file"
    )


def write_json(path: Path, report: Any) -> None:
    """Write what was measured, for `--from`."""
    path.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")


def read_report(path: Path, *names: str) -> dict[str, Any]:
    """Return the figures that a script kept with `--json`.  Raises SystemExit for a file that lacks one of `names`."""
    try:
        report = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise SystemExit(f"cannot read {path}: {error.strerror}; check the name and its permissions") from None
    except ValueError:
        report = None
    if not isinstance(report, dict) or not report.keys() >= {*names}:
        raise SystemExit(f"{path} holds no figures of this script; name a file that it wrote with --json")
    return report


def write_from(options: argparse.Namespace, page: Callable[[Any], str]) -> bool:
    """Write the page of `--from`; without that option do nothing and return False."""
    if options.source is None:
        return False
    if options.page is None:
        raise SystemExit("--from needs --page: the file to write")
    write_page(options, page(read_report(options.source)))
    return True


def write_report(
    options: argparse.Namespace,
    report: Any,
    page: Callable[[Any], str],
    draw: Callable[[Any, Path], None] | None = None,
) -> None:
    """Write what is asked for of a report: `--json`, its page, and `--picture` of scripts that `draw` one."""
    if options.json is not None:
        write_json(options.json, report)
    if draw is not None and options.picture is not None:
        draw(report, options.picture)
    write_page(options, page(report))


def say(message: str) -> None:
    """Print a line of progress, on standard error."""
    print(message, file=sys.stderr, flush=True)


def write_page(options: argparse.Namespace, text: str) -> None:
    """Write the text to `--page`, if that is given."""
    if options.page is not None:
        options.page.write_text(text, encoding="utf-8")
