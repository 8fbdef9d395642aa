"""Checks that the contents of a run file fit its configuration: the board's positions, the learner's tables."""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ttt_batch.base.errors import BoardError, RunFileError
from ttt_batch.base.quantities import count_text
from ttt_batch.game.graph import Graph
from ttt_batch.game.growing_graph import plies_of
from ttt_batch.learners import learner_named
from ttt_batch.runs.batches import MAX_GAMES, batch_bounds
from ttt_batch.runs.config import Config, config_from_dict
from ttt_batch.runs.growing_table import GrowingTable, grow
from ttt_batch.runs.runfile.checks import RunData
from ttt_batch.runs.runfile.declaration import EXACT_COLUMNS, FORMAT, RESUME_SINCE

_FOREIGN = "the file is damaged or foreign"


class Parts(NamedTuple):
    """Configuration, graph of positions and moves, and the growing board (None if enumerated) of a file."""

    config: Config
    graph: Graph
    grown: GrowingTable | None


def parts_of(data: RunData, check: Callable[[Config], None] | None = None) -> Parts:
    """Return configuration and graph of a file's data.  Raises RunFileError if the data do not define them.

    check: called with the configuration before its board is built; may raise.
    """
    config = config_from_dict(data.config)
    if not data.states:
        raise RunFileError(f"states/code is missing; {_FOREIGN}")
    if check is not None:
        check(config)
    if config.grown:
        grown = _grown_of(config, data)
        return Parts(config, grown.compact()[0], grown)
    code = data.states["code"]
    plies = plies_of(code[code >= 0], config.board.cells)
    try:
        # The counts of the file's own positions limit the cost of the enumeration.
        graph = config.graph_of(tuple(np.bincount(plies, minlength=config.board.cells + 1).tolist()))
    except BoardError:
        raise RunFileError(f"its states/code is not that of board {config.board.name}; {_FOREIGN}") from None
    return Parts(config, graph, None)


def _grown_of(config: Config, data: RunData) -> GrowingTable:
    """Return the growing board of a file, with its tables.  Raises RunFileError if play cannot have produced it."""
    learner, grown, counted = learner_named(config.learner), grow(config), config.alpha.power > 0
    code, outcome = data.states["code"], data.states["outcome"]
    try:
        tables = learner.tables(**{name: data.tables[name] for name in learner.tables._fields})
        visits = data.tables["visits"].ravel() if counted else np.zeros(0)
    except KeyError as error:
        raise RunFileError(f"table {error} is missing; {_FOREIGN}") from None
    try:
        grown.restore(code, outcome, tables, visits)
    except BoardError as error:
        raise RunFileError(f"{error}; {_FOREIGN}") from None
    return grown


def misfits(data: RunData, parts: Parts) -> Iterator[str]:
    """Yield a message for each contradiction, in order; `data` has passed the checks of `runfile`."""
    config, graph, grown = parts
    yield from course_misfits(data)
    learner = learner_named(config.learner)
    wanted = {"code": graph.code, "outcome": graph.outcome, "cell": graph.cell, "first_edge": graph.first_edge}
    for name, found in data.states.items():
        if not np.array_equal(found, wanted[name]):
            yield f"its states/{name} is not that of board {config.board.name}; {_FOREIGN}"
    if any(found.shape != wanted[name].shape for name, found in data.states.items()):
        return  # the tables cannot fit either, and start tables may take far more memory than the file
    seed = np.random.default_rng(config.seed % 2**64)
    start = learner.fresh(graph, config.settings, seed) if grown is None else grown.fresh()
    yield from table_misfits("", data.tables, data, config, start)
    if data.resume:
        yield from table_misfits("resume/", data.resume, data, config, start)
    if data.points:
        yield from _point_misfits(data, config, start)
    if grown is not None and not data.provenance.get("positions_without_room"):
        led_to = np.bincount(graph.child, minlength=graph.code.size) > 0
        led_to[:1] = True
        if not led_to[graph.code >= 0].all():
            yield f"its states/code holds a position that no move leads to; {_FOREIGN}"
    if grown is not None and data.resume:
        rows, finals = data.progress.get("batch_positions", np.zeros(2, np.int64)).tolist()
        if not 0 < rows <= grown.used.rows or not 0 <= finals <= grown.used.finals:
            yield f"progress/batch_positions are not among those of the run; {_FOREIGN}"


def course_misfits(data: RunData) -> Iterator[str]:
    """Yield contradictions between configuration, games, recorded points and batches: the quick part of `misfits`."""
    try:
        config = config_from_dict(data.config)
    except RunFileError as error:
        yield str(error)
        return
    exact = set(EXACT_COLUMNS) & set(data.statistics)
    if exact != (set() if config.grown else set(EXACT_COLUMNS)) or config.grown != ("positions" in data.statistics):
        yield f"its statistics are not those that board {config.board.name} has; {_FOREIGN}"
    games, points, before = data.games, data.statistics["games"], data.progress.get("batch_games")
    if not points.size:
        yield f"it has no recorded points, but training always writes one; {_FOREIGN}"
    elif points[-1] != games and data.version >= RESUME_SINCE:
        yield f"its last recorded point is at {count_text(int(points[-1]), 'game')}, but it has {games:,}; {_FOREIGN}"
    if config.inherited > games:
        yield f"it began with {count_text(config.inherited, 'game')}, but has {games:,}; {_FOREIGN}"
    if config.engine == "given":
        if before is not None:
            yield f"it stores a batch, but was not played in batches; {_FOREIGN}"
        return
    for name, number in (("games", games), ("goal", int(data.progress.get("goal", 0)))):
        if number > MAX_GAMES:
            yield f"progress/{name} is {number:,}, training goes up to {MAX_GAMES:,}; {_FOREIGN}"
    if before is not None and games:
        start, end = batch_bounds(config.batches, games - 1)
        start = max(start, config.inherited)
        if before != start or games == end:
            yield (
                f"progress/batch_games is {before:,}, but the batch of its last game "
                f"begins at {start:,} and ends at {end:,}; {_FOREIGN}"
            )


def _point_misfits(data: RunData, config: Config, fresh: Any) -> Iterator[str]:
    """Yield a message for each fault of the tables at recorded points; `runfile` has checked their shapes.

    fresh: the learner's start tables.
    """
    start = fresh._asdict()
    if set(data.points) != set(start):
        yield f"its points/ are not the tables of {config.learner}; {_FOREIGN}"
    elif config.grown:
        yield f"it has points/, but the table of {config.board.name} grows from point to point; {_FOREIGN}"
    for name, found in data.points.items():
        if np.isnan(found).any() and not np.isnan(start.get(name, 0.0)).any():
            yield f"table 'points/{name}' holds NaN, which {config.learner} never does; {_FOREIGN}"


def table_misfits(
    prefix: str, tables: dict[str, NDArray[Any]], data: RunData, config: Config, fresh: Any
) -> Iterator[str]:
    """Yield a message for each fault of the tables, or of those for resuming, whose names begin with `prefix`.

    fresh: the learner's start tables.
    """
    learner = learner_named(config.learner)
    worth, start = learner.worth(config.settings), fresh._asdict()
    games = int(data.progress.get("batch_games", data.games)) if prefix else data.games
    first, codes, cells = next(iter(start.values())), 3**config.board.cells, config.board.cells
    extra = {"visits": first.shape, **({"background": (codes, cells)} if "q" in start and not prefix else {})}
    expected = {name: (table.dtype, table.shape) for name, table in start.items()}
    expected |= {name: (np.dtype(np.float64), shape) for name, shape in extra.items() if name in tables}
    for name, (dtype, shape) in expected.items():
        found = tables.get(name)
        if found is None or found.shape != shape or found.dtype != dtype:
            yield f"table {prefix + name!r} is not {dtype}{list(shape)}; {_FOREIGN}"
        elif name == "visits":
            if not (found >= 0).all():  # not always whole: some learners divide a batch's visits among moves
                yield f"table '{prefix}visits' holds a number below 0 or NaN; {_FOREIGN}"
            elif found.max(initial=0.0) > games * (1 + 1e-9):  # a game updates an entry at most once
                yield f"table '{prefix}visits' holds more updates of an entry than its {games:,} games; {_FOREIGN}"
        elif name == "background":
            if np.isnan(found).any():
                yield f"table 'background' holds NaN, which no imported table does; {_FOREIGN}"
        else:
            if data.table_fields[name][0] != learner.fields[name][0]:
                yield f"table {prefix + name!r} must have the axes {learner.fields[name][0]}; {_FOREIGN}"
            # NaN is valid only for a learner that starts with it, as "never seen".
            if np.isnan(found).any() and not np.isnan(start[name]).any():
                yield f"table {prefix + name!r} holds NaN, which {config.learner} never does; {_FOREIGN}"
            # Steps of at most 1 towards worths or towards other values stay in the range of both.
            limit = max(np.nanmax(np.abs(start[name]), initial=0.0), np.abs(worth).max()) * (1 + 1e-6)
            if name == "q" and learner.by_chances:  # a game changes preferences or beads by at most this range
                limit *= 1 + 2 * data.games
            if learner.boxes and np.nanmin(found) < 0:
                yield f"table {prefix + name!r} holds a number of beads below 0; {_FOREIGN}"
            if learner.boxes and config.batch == 1 and not config.start and (np.nan_to_num(found) % 1 != 0).any():
                yield f"table {prefix + name!r} holds a fraction of a bead, which no game adds; {_FOREIGN}"
            own = not config.start and config.engine != "given"
            if own and np.nanmax(np.abs(found), initial=0.0) > limit:
                beyond = f"holds a value beyond {limit:.6g}, which training never reaches"
                yield f"table {prefix + name!r} {beyond}; {_FOREIGN}"
    if config.alpha.power and "visits" not in tables:
        yield f"its step size depends on visits, but {prefix or 'tables/'}visits is missing; the file is damaged"
    # A newer minor version may have added tables.
    for name in sorted(set(tables) - {*start, *extra}) if data.version <= FORMAT else ():
        yield f"table {prefix + name!r} does not belong to a run of {config.learner}; {_FOREIGN}"
