"""STUDY.toml: a study's options in a file, with a table `[[grid]]` for each of several grids.

    seeds = 100
    games = "1M"                      # keys outside hold for every grid that does not have its own

    [[grid]]
    learner = ["td", "sutton-barto"]
    alpha = "0.05..0.4:8"

    [[grid]]
    sweep = "one-at-a-time"
    epsilon = [0.1, 0.01, "0.3->0.01:linear"]

`tally = true`, outside all grids, counts results and judges no table.  `digests` is a table that a study keeps: for the
file of each run that is an opponent the digest of its tables, so that the study can be read without those files.
"""

import functools
import inspect
import json
import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

from ttt_batch.base.choices import find_name, unknown_name
from ttt_batch.base.errors import RunFileError, UsageError, option, quoted
from ttt_batch.base.files import NotOrdinaryError, open_ordinary, reason, shown
from ttt_batch.runs.runfile.declaration import STUDY_TYPE
from ttt_batch.studies.designs.design import Design, Request, make_designs
from ttt_batch.studies.designs.families import OPTION_NAMES
from ttt_batch.studies.designs.family import written
from ttt_batch.studies.designs.grid import FULL, placed, sweep_named
from ttt_batch.studies.designs.opponents import RunOpponent
from ttt_batch.studies.designs.tallies import TALLIES, TALLY
from ttt_batch.studies.designs.values import seed_runs
from ttt_batch.training.train import train

MAX_BYTES, MAX_GRIDS = 1_000_000, 1_000
"""Of a file that a person writes."""

GRID, DIGESTS = "grid", "digests"
OUTSIDE = -1
"""Of the keys outside all grids, where grids have numbers."""

_KEYS = (*OPTION_NAMES, "sweep")
_OUTER_KEYS = ("seeds", TALLY, *_KEYS, GRID, DIGESTS)
_WORDS = {"as": "seat"}

_TOKENS = re.compile(
    r'"""(?:\\.|[^\\])*?"{3,5}|' r"'''.*?'{3,5}|" r'"(?:\\.|[^"\\\n])*"|' r"'[^'\n]*'|#[^\n]*", re.DOTALL
)
_HEADER = re.compile(r"\s*(\[\[?)\s*[\"']?([^]\"']*?)[\"']?\s*\]")
_KEY = re.compile(r"\s*[\"']?([^\"'=.#\s]+)[\"']?\s*[=.]")
_DOTTED = re.compile(r"(?<![\w\"'-])(?:[\w\"'-]+[ \t]*\.[ \t]*){20}")
"""A key of many parts, over which `tomllib` takes time as the square of their number."""

_POSITION = re.compile(r"\s*\(at (?:line (\d+), column (\d+)|end of document)\)")


class _Lines(NamedTuple):
    """Where a description has what.

    name: of the file.  keys: line of each key by grid and name.  grids: line of each grid's head.
    """

    name: str
    keys: dict[tuple[int, str], int]
    grids: list[int]

    def place(self, grid: int, key: str) -> str:
        """Where a key of a grid stands, or the grid itself if `key` is empty, as a message begins."""
        line = self.keys.get((grid, key)) or self.keys.get((OUTSIDE, key))
        if line is None and 0 <= grid < len(self.grids):
            line = self.grids[grid]
        line = line or self.keys.get((OUTSIDE, GRID))
        return self.name + (f", line {line}" if line else "") + (f" ({key}): " if key else ": ")


def read_description(path: str | Path, *, seeds: Any = None) -> Design:
    """The design that a TOML file describes.  seeds: instead of the file's, as `make_design` takes them.

    Raises UsageError and RunFileError, which name line and key.
    """
    name = shown(Path(path))
    try:
        with open_ordinary(Path(path)) as file:
            content = file.read(MAX_BYTES + 1)
    except FileNotFoundError:
        raise RunFileError(f"there is no file {name}; check the name, or give the options without one") from None
    except (OSError, ValueError, NotOrdinaryError) as error:
        raise RunFileError(f"{name} cannot be read: {reason(error)}") from None
    if content.startswith(STUDY_TYPE.encode()):
        raise UsageError(f"{name} is a study, not a description of one; go on with it by {option('resume')}")
    if len(content) > MAX_BYTES:
        raise UsageError(f"{name} has more than {MAX_BYTES:,} bytes; a study is described in fewer")
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise UsageError(f"{name} is no text in UTF-8; a study is described in TOML") from None
    return parse_description(text, name, seeds=seeds)


def parse_description(text: str, name: str, *, seeds: Any = None) -> Design:
    """The design that a text in TOML describes.  name: of its file, for messages.

    seeds: instead of those in the text.  Raises as `read_description`.
    """
    document, lines = _parse(text, name), _lines(text, name)
    if not document:
        raise UsageError(f'{name} has no key; write one, such as alpha = "0.1,0.2"')
    outer = _keys(document, _OUTER_KEYS, OUTSIDE, lines)
    grids, digests = outer.pop(GRID, None), outer.pop(DIGESTS, {})
    own_seeds = outer.pop("seeds", None)
    if grids is None:
        tables = [(OUTSIDE, outer)]
    elif isinstance(grids, list) and grids and all(isinstance(table, dict) for table in grids):
        tables = [(number, {**outer, **_own(table, number, lines)}) for number, table in enumerate(grids)]
    else:
        raise UsageError(
            f"{lines.place(OUTSIDE, GRID)}it is not a list of grids; write [[grid]] above each grid's keys"
        )
    if len(tables) > MAX_GRIDS:
        raise UsageError(f"{name} has {len(tables):,} grids; a study has at most {MAX_GRIDS:,}")
    with placed(lines.place(OUTSIDE, DIGESTS)):
        runs = _runs(digests)
    requests = []
    for number, table in tables:
        with placed(lines.place(number, "sweep")):
            sweep = sweep_named(table.pop("sweep", FULL))
        options = {key: table[key] for key in (*OPTION_NAMES, TALLY) if key in table}
        if "opponent" in options:
            options["opponent"] = _known(options["opponent"], runs)
        requests.append(Request(options, sweep, functools.partial(lines.place, number)))
    if seeds is None:
        return make_designs(requests, own_seeds, lines.place(OUTSIDE, "seeds"))
    return make_designs(requests, seeds)


def _own(table: Mapping[str, Any], number: int, lines: _Lines) -> dict[str, Any]:
    """The keys of one grid.  Raises UsageError."""
    if not table:
        raise UsageError(f"{lines.place(number, '')}this grid has no key; give it one, or remove it")
    return _keys(table, _KEYS, number, lines)


def _keys(table: Mapping[str, Any], names: tuple[str, ...], number: int, lines: _Lines) -> dict[str, Any]:
    """A table with its keys as they are spelled here.  Raises UsageError for an unknown one, or one given twice."""
    found: dict[str, Any] = {}
    for given, value in table.items():
        key = find_name(given, names, _WORDS)
        with placed(lines.place(number, given)):
            if key is None:
                _refuse(given, names)
            if key in found:
                raise UsageError(f"{key} is given twice; remove one")
        found[key] = value
        if (number, given) in lines.keys:
            lines.keys.setdefault((number, key), lines.keys[number, given])
    return found


def _refuse(given: str, names: tuple[str, ...]) -> NoReturn:
    """Raise UsageError for a key that is none of `names`."""
    if find_name(given, _OUTER_KEYS) is not None:
        raise UsageError(f"{given} holds for the whole study; write it above the first [[grid]]")
    if find_name(given, ("seed",)) is not None:
        raise UsageError("a study has many seeds; write seeds = 100, or seeds = '5..5' for one")
    if find_name(given, tuple(inspect.signature(train).parameters)) is not None:
        raise UsageError(f"{given} is an option of train that belongs to no setting of a study; remove it")
    raise unknown_name("key", given, names)


def _runs(digests: Any) -> dict[str, RunOpponent]:
    """The runs that are opponents, by name.  Raises UsageError."""
    if not isinstance(digests, dict):
        raise UsageError("it is not a table; remove it")
    for digest in digests.values():
        if not (isinstance(digest, str) and re.fullmatch("[0-9a-f]{16}", digest)):
            raise UsageError(f"{quoted(digest)} is not a digest of 16 hex digits; remove it")
    return {name: RunOpponent(digest, name) for name, digest in digests.items()}


def _known(given: Any, runs: Mapping[str, RunOpponent]) -> Any:
    """Opponents as given, with those of a known digest as what need not be read."""
    if isinstance(given, list):
        return [_known(item, runs) if isinstance(item, str) else item for item in given]
    return runs.get(given, given) if isinstance(given, str) else given


def _parse(text: str, name: str) -> dict[str, Any]:
    """The document.  Raises UsageError with the line, and the key in it, at which it is no TOML."""
    try:
        if _DOTTED.search(text):
            raise RecursionError
        return tomllib.loads(text)
    except RecursionError:
        raise UsageError(f"{name} has lists or tables within each other, too many to read; give plain lists") from None
    except tomllib.TOMLDecodeError as error:
        message = str(error)
    except ValueError:  # Python's own, which reads no such number
        raise UsageError(f"{name} has a number of more than 4,300 digits; give a shorter one") from None
    found = _POSITION.search(message)
    at_end = found is None or found[1] is None
    number = text.rstrip().count("\n") + 1 if found is None or at_end else int(found[1])
    key = _KEY.match(text.split("\n")[number - 1])
    place = f"{name}, line {number}" + (f" ({key[1]:.40})" if key else "")
    if message.startswith("Cannot"):  # overwrite, declare twice
        raise UsageError(f"{place}: it is given twice; remove one")
    column = "" if found is None or at_end else f" at column {found[2]}"
    wrong = _POSITION.sub("", message)
    raise UsageError(f'{place}: no TOML{column}: {wrong}; text needs quotes, as in alpha = "0.1..0.5:5"')


def _lines(text: str, name: str) -> _Lines:
    """Where the keys of a text stand that is TOML."""

    def blank(found: re.Match[str]) -> str:
        token = found[0]
        return "\n" * token.count("\n") if token[0] == "#" or token[:3] in ('"""', "'''") else token

    keys: dict[tuple[int, str], int] = {}
    grids: list[int] = []
    table = OUTSIDE
    for number, line in enumerate(_TOKENS.sub(blank, text).split("\n"), 1):
        if header := _HEADER.match(line):
            if header[1] == "[[" and header[2] == GRID:
                table = len(grids)
                grids.append(number)
            elif table == OUTSIDE or header[1] == "[":
                keys.setdefault((OUTSIDE, header[2]), number)
                table = OUTSIDE - 1  # of no concern
        elif key := _KEY.match(line):
            keys.setdefault((table, key[1]), number)
    return _Lines(name, keys, grids)


def description_text(design: Design) -> str:
    """The description of a design in TOML, which `parse_description` reads back.

    Every value is written out.  Settings added later (`Design.extended`) then have other places; see `in_order`.
    """
    seeds = design.seeds
    first = seeds == tuple(range(len(seeds)))
    text = [f"seeds = {len(seeds) if first else _toml(seed_runs(seeds))}\n"]
    if design.family is TALLIES:
        text.append(f"{TALLY} = true\n")
    runs: dict[str, str] = {}
    for grid in design.grids:
        text.append(f"\n[[{GRID}]]\nsweep = {_toml(grid.sweep)}\n")
        for name, values in grid.values.items():
            text.append(f"{name} = [{', '.join(_toml(written(value)) for value in values)}]\n")
            runs |= {value.name: value.digest for value in values if isinstance(value, RunOpponent)}
    if runs:
        text += [f"\n[{DIGESTS}]\n", *(f"{_toml(name)} = {_toml(digest)}\n" for name, digest in runs.items())]
    return "".join(text)


def _toml(value: Any) -> str:
    """Text, a number or a list of these in TOML, whose text has JSON's escapes, and one more."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
