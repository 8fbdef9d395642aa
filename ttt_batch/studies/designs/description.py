"""Reader and writer of STUDY.toml: a study's options, with a table `[[grid]]` for each of several grids.

    seeds = 100
    games = "1M"                      # keys outside grids are defaults of every grid

    [[grid]]
    learner = ["td", "sutton-barto"]
    alpha = "0.05..0.4:8"

    [[grid]]
    sweep = "one-at-a-time"
    epsilon = [0.1, 0.01, "0.3->0.01:linear"]

`tally = true`, outside all grids, counts results without evaluating tables.  A study stores a table `digests`: the
digest of the tables of each opponent's run, by file name.  The study can then be read without those files.
"""

import functools
import inspect
import json
import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

from ttt_batch.core.errors import RunFileError, UsageError, flag, quoted
from ttt_batch.core.files import open_ordinary, reading, shown
from ttt_batch.core.text import find_name, unknown_name
from ttt_batch.runs.storage.container import STUDY_TYPE
from ttt_batch.studies.designs.design import FULL, OPTION_NAMES, Design, Request, make_designs, placed, sweep_named
from ttt_batch.studies.designs.methods import TALLIES, TALLY, RunOpponent, written
from ttt_batch.studies.designs.values import seed_runs
from ttt_batch.training.train import train

MAX_BYTES, MAX_GRIDS = 1_000_000, 1_000
"""Limits of a description file."""

GRID, DIGESTS = "grid", "digests"
OUTSIDE = -1
"""Number that stands for the keys outside all grids."""

_OPTIONS = {name.rstrip("_"): name for name in OPTION_NAMES if name != "trace"}
"""Options by their keys.  `trace` is another name of `lambda`, in the file of a study."""

_KEYS = (*_OPTIONS, "sweep")
_OUTER_KEYS = ("seeds", TALLY, *_KEYS, GRID, DIGESTS)
_WORDS = {"as": "seat", "trace": "lambda"}

_TOKENS = re.compile(
    r'"""(?:\\.|[^\\])*?"{3,5}|' r"'''.*?'{3,5}|" r'"(?:\\.|[^"\\\n])*"|' r"'[^'\n]*'|#[^\n]*", re.DOTALL
)
_HEADER = re.compile(r"\s*(\[\[?)\s*[\"']?([^]\"']*?)[\"']?\s*\]")
_KEY = re.compile(r"\s*[\"']?([^\"'=.#\s]+)[\"']?\s*[=.]")
_DOTTED = re.compile(r"(?<![\w\"'-])(?:[\w\"'-]+[ \t]*\.[ \t]*){20}")
"""Pattern of a key of more than 20 parts, because `tomllib` takes quadratic time on such keys."""

_POSITION = re.compile(r"\s*\(at (?:line (\d+), column (\d+)|end of document)\)")


class _Lines(NamedTuple):
    """Line numbers of a description, for messages.

    name: name of the file.  keys: line of each key by grid and name.  grids: line of each grid's header.
    given: the file's spelling of each option's key, by grid and option.
    """

    name: str
    keys: dict[tuple[int, str], int]
    grids: list[int]
    given: dict[tuple[int, str], str]

    def place(self, grid: int, key: str) -> str:
        """Return a message prefix that locates a key of a grid, or the grid if `key` is empty."""
        key = self.given.get((grid, key)) or self.given.get((OUTSIDE, key), key)
        line = self.keys.get((grid, key)) or self.keys.get((OUTSIDE, key))
        if line is None and 0 <= grid < len(self.grids):
            line = self.grids[grid]
        line = line or self.keys.get((OUTSIDE, GRID))
        return self.name + (f", line {line}" if line else "") + (f" ({key}): " if key else ": ")


def read_description(path: str | Path, *, seeds: Any = None) -> Design:
    """Return the design that a TOML file describes.

    seeds: replace those of the file, in any form of `make_design`.
    Raises UsageError and RunFileError, which name line and key.
    """
    name = shown(Path(path))
    missing = f"there is no file {name}; check the name, or give the options without one"
    with reading(Path(path), RunFileError, lambda: missing), open_ordinary(Path(path)) as file:
        content = file.read(MAX_BYTES + 1)
    if content.startswith(STUDY_TYPE.encode()):
        raise UsageError(f"{name} is a study, not a description of one; continue it with {flag('resume')}")
    if len(content) > MAX_BYTES:
        raise UsageError(f"{name} has more than {MAX_BYTES:,} bytes, the limit of a description; shorten it")
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise UsageError(f"{name} is not UTF-8 text; describe the study in TOML") from None
    return parse_description(text, name, seeds=seeds)


def parse_description(text: str, name: str, *, seeds: Any = None) -> Design:
    """Return the design that a text in TOML describes.

    name: file name for messages.  seeds: replace those in the text.  Raises as `read_description` does.
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
        tables = [(number, {**outer, **_keys(table, _KEYS, number, lines)}) for number, table in enumerate(grids)]
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
        options = {name: table[name] for name in (*OPTION_NAMES, TALLY) if name in table}
        if "opponent" in options:
            options["opponent"] = _known(options["opponent"], runs)
        requests.append(Request(options, sweep, functools.partial(lines.place, number)))
    if seeds is None:
        return make_designs(requests, own_seeds, lines.place(OUTSIDE, "seeds"))
    return make_designs(requests, seeds)


def _keys(table: Mapping[str, Any], names: tuple[str, ...], number: int, lines: _Lines) -> dict[str, Any]:
    """Return a table with options instead of its keys.  Raises UsageError if a key is unknown or repeated."""
    if not table:
        raise UsageError(f"{lines.place(number, '')}this grid has no key; give it one, or remove it")
    found: dict[str, Any] = {}
    spelled: dict[str, str] = {}
    for given, value in table.items():
        key = find_name(given, names, _WORDS)
        with placed(lines.place(number, given)):
            if key is None:
                _refuse(given, names)
            name = _OPTIONS.get(key, key)
            if name in found:
                raise UsageError(f"{spelled[name]} and {given} mean the same; remove one")
        found[name], spelled[name] = value, given
    lines.given.update({(number, name): given for name, given in spelled.items()})
    return found


_ON_COMMAND_LINE = ("threads", "out", "resume", "workers", "scheduler", "overwrite", "best", "quiet", "json")
"""Options of `study` that are not of its learners."""


def _refuse(given: str, names: tuple[str, ...]) -> NoReturn:
    """Raise UsageError for a key that is not in `names`."""
    if find_name(given, _OUTER_KEYS) is not None:
        raise UsageError(f"{given} holds for the whole study; write it above the first [[grid]]")
    if find_name(given, ("seed",)) is not None:
        raise UsageError("a study has many seeds; write seeds = 100, or seeds = '5..5' for one")
    if name := find_name(given, _ON_COMMAND_LINE):
        raise UsageError(f"{given} belongs on the command line, as --{name}; remove it")
    if find_name(given, tuple(inspect.signature(train).parameters)) is not None:
        raise UsageError(f"{given} is an option of train, but not of a study; remove it")
    raise unknown_name("key", given, [name for name in names if name != DIGESTS])


def _runs(digests: Any) -> dict[str, RunOpponent]:
    """Return the opponents that are runs, by name.  Raises UsageError."""
    if not isinstance(digests, dict):
        raise UsageError("it is not a table; remove it")
    for digest in digests.values():
        if not (isinstance(digest, str) and re.fullmatch("[0-9a-f]{16}", digest)):
            raise UsageError(f"{quoted(digest)} is not a digest of 16 hex digits; remove it")
    return {name: RunOpponent(digest, name) for name, digest in digests.items()}


def _known(given: Any, runs: Mapping[str, RunOpponent]) -> Any:
    """Return the given opponents, with a RunOpponent for each name in `runs`, whose file need not be read."""
    if isinstance(given, list):
        return [_known(item, runs) if isinstance(item, str) else item for item in given]
    return runs.get(given, given) if isinstance(given, str) else given


def _parse(text: str, name: str) -> dict[str, Any]:
    """Return the parsed document.  Raises UsageError with line and key if it is not valid TOML."""
    try:
        if _DOTTED.search(text):
            raise RecursionError
        return tomllib.loads(text)
    except RecursionError:
        raise UsageError(f"{name} has lists or tables nested too deep to read; give plain lists") from None
    except tomllib.TOMLDecodeError as error:
        message = str(error)
    except ValueError:  # Python refuses to convert such long numbers
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
    raise UsageError(f'{place}: not valid TOML{column}: {wrong}; text needs quotes, as in alpha = "0.1..0.5:5"')


def _lines(text: str, name: str) -> _Lines:
    """Return the line numbers of the keys in a valid TOML text."""

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
                table = OUTSIDE - 1  # a table that needs no places
        elif key := _KEY.match(line):
            keys.setdefault((table, key[1]), number)
    return _Lines(name, keys, grids, {})


def description_text(design: Design) -> str:
    """Return the description of a design in TOML, which `parse_description` reads.

    It lists every value.  Settings that `Design.extended` added get other places; `Design.in_order` restores them.
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
    """Return text, a number or a list of these in TOML.  Its escapes are JSON's and that of U+007F."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
