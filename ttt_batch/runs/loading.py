"""Loading of run files as runs, and checks that list every fault of a file."""

import io
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ttt_batch.core.console import one_line
from ttt_batch.core.errors import BoardError, RunFileError, UsageError, quoted
from ttt_batch.core.files import shown
from ttt_batch.core.text import PATTERN_LEARNERS, SEATS, check_functions, check_switches, count_text
from ttt_batch.evaluation.judgement import exact_judge
from ttt_batch.games.graph import plies_of
from ttt_batch.learners import learner_named
from ttt_batch.runs.config import Config, config_from_dict
from ttt_batch.runs.growing_table import GrowingTable, grow
from ttt_batch.runs.lookup import find_run
from ttt_batch.runs.network_run import FOREIGN, PatternRun, pattern_run_of
from ttt_batch.runs.options import MAX_GAMES
from ttt_batch.runs.run import Run
from ttt_batch.runs.schedules import batch_bounds
from ttt_batch.runs.state import KeptPoints, State
from ttt_batch.runs.storage.declaration import EXACT_COLUMNS, FORMAT, GROUPS, RESUME, TOLERANCE, RunData
from ttt_batch.runs.storage.run_file import DamagedRun, examine_run, load_run, parse_image, verify

_ORIGIN = "the seconds, the goal and where the run comes from"


class Grounds(NamedTuple):
    """Facts about a sound file, in words: those that `check` has verified, and those that it takes on trust."""

    verified: tuple[str, ...]
    trusted: tuple[str, ...]


def statistics_contradictions(run: Run) -> Iterator[str]:
    """Yield the recorded results of a run that its tables or the game's value contradict."""
    games = run.statistics["games"]
    judged = run.games in games[-1:]
    if run.grown is not None:
        if judged:
            yield from _unlike(run, games.size - 1, {"positions": run.grown.positions}, "the tables give")
        return
    judge = exact_judge(run.graph, run.learner, run.worth, run.solution)
    if judged:
        yield from _unlike(run, games.size - 1, judge(run.tables)._asdict(), "the tables give")
    for number, tables in _earlier(run):
        for row in np.flatnonzero(games == number):
            yield from _unlike(run, int(row), judge(tables)._asdict(), "the tables of that point give")
    if contradict_value(run.statistics, int(run.solution[0])):
        yield "statistics/worst contradicts the value of the game"


def contradict_value(statistics: Mapping[str, NDArray[Any]], value: int) -> bool:
    """Return whether recorded results are better than best play, or worse though optimal.

    value: of the game, 1 if the first player wins, 0 for a draw, -1.
    """
    worst, best = statistics["worst"], value * np.array([1, -1])
    return bool((worst > best).any() or ((statistics["optimal_share"] == 1) & (worst < best)).any())


def _earlier(run: Run) -> Iterator[tuple[int, Any]]:
    """Yield (games, tables) of each earlier point whose tables the file stores."""
    if run.batch_start is not None:
        yield run.batch_start.games, run.batch_start.tables
    if run.points is not None:
        for number, games in enumerate(run.points.games.tolist()):
            kept = run.points.tables
            yield games, type(kept)(*(np.ascontiguousarray(array[number]) for array in kept))


def _unlike(run: Run, row: int, verdict: dict[str, Any], what: str) -> Iterator[str]:
    """Yield a message for each statistic of a recorded point that differs from a verdict."""
    last = row == run.statistics["games"].size - 1
    which = "the last row" if last else f"the row of {count_text(int(run.statistics['games'][row]), 'game')}"
    for name, found in run.statistics.items():
        if name in verdict and not np.allclose(found[row], verdict[name], rtol=0, atol=TOLERANCE, equal_nan=True):
            yield f"{which} of statistics/{name} is not what {what}"


def grounds_of(run: Run | PatternRun, *, digest: bool) -> Grounds:
    """Return the grounds for the claims of a run without findings.  digest: True if the file's digest is right."""
    games = f"that it learnt from {count_text(run.games, 'game')} by its configuration, and how they ended"
    verified, trusted = ["digest"] if digest else [], [games, _ORIGIN]
    if isinstance(run, PatternRun):
        proved = [f"{SEATS[seat]} by {count_text(run.proved_positions(seat), 'position')}" for seat in run.config.seats]
        proved = [text for text, seat in zip(proved, run.config.seats, strict=True) if run.proved_after(seat)]
        verified += ["form of configuration and weights", "lost games by the rules"]
        verified += [f"proofs made again ({', '.join(proved)})"] if proved else []
        verified += ["results of the last proofs"] if run.statistics["proof"][-1:].any() else []
        trusted += ["proofs at earlier points"] if run.config.prove_every and not run.config.start else []
        trusted += ["the average of the weights"] if run.average is not None else []
        return Grounds(tuple(verified), tuple(trusted))
    verified += ["form of configuration and tables", "positions and moves"]
    games_judged = {run.games} | ({number for number, _ in _earlier(run)} if run.grown is None else set())
    points = run.statistics["games"]
    judged = int(np.isin(points, list(games_judged)).sum())
    what = "exact results" if run.grown is None else "count of positions"
    verified += [f"{what} at {count_text(judged, 'recorded point')}"] if judged else []
    rest = points.size - judged
    trusted += [f"{what} at {count_text(rest, 'earlier point')}"] if rest else []
    trusted += ["counts of visits"] if run.visits.size else []
    trusted += ["the tables before the last batch"] if run.batch_start is not None else []
    trusted += ["the imported table beyond the board's positions"] if run.background is not None else []
    return Grounds(tuple(verified), tuple(trusted))


def begun_run(data: RunData, check: Callable[[Config], None] | None = None) -> Run:
    """Return a run with a file's configuration and positions, but without its tables.

    check: called with the configuration before its board is built; may raise.
    Raises RunFileError if the data do not define them.
    """
    config = config_from_dict(data.config)
    if not data.states:
        raise RunFileError(f"states/code is missing; {FOREIGN}")
    if check is not None:
        check(config)
    run, code = Run(config, None, data.games, data.statistics), data.states["code"]
    if config.grown:
        run.grown = _grown_of(run, data)
        return run
    plies = plies_of(code[code >= 0], config.board.cells)
    try:
        # The counts of the file's own positions limit the cost of the enumeration.
        run.graph = config.graph_of(tuple(np.bincount(plies, minlength=config.board.cells + 1).tolist()))
    except BoardError:
        raise RunFileError(f"its states/code is not that of board {config.board.name}; {FOREIGN}") from None
    return run


def _grown_of(run: Run, data: RunData) -> GrowingTable:
    """Return the growing board of a file, with its tables.  Raises RunFileError if play cannot have produced it."""
    grown = grow(run.config)
    try:
        grown.restore(data.states["code"], data.states["outcome"], *_learnt(run, data.tables))
    except KeyError as error:
        raise RunFileError(f"table {error} is missing; {FOREIGN}") from None
    except BoardError as error:
        raise RunFileError(f"{error}; {FOREIGN}") from None
    return grown


def misfits(data: RunData, run: Run) -> Iterator[str]:
    """Yield a message for each contradiction, in order; `data` has passed the checks of `runs.storage`.

    run: as from `begun_run`.
    """
    config, graph, grown = run.config, run.graph, run.grown
    yield from course_misfits(data, config)
    for name, found in data.states.items():
        if not np.array_equal(found, getattr(graph, name)):
            yield f"its states/{name} is not that of board {config.board.name}; {FOREIGN}"
    if any(found.shape != getattr(graph, name).shape for name, found in data.states.items()):
        return  # the tables cannot fit either, and start tables may take far more memory than the file
    seed = np.random.default_rng(config.seed % 2**64)
    start = run.learner.fresh(graph, config.settings, seed) if grown is None else grown.fresh()
    yield from table_misfits("", data.tables, data, config, start)
    if data.resume:
        yield from table_misfits("resume/", data.resume, data, config, start)
    if data.points and set(data.points) != set(start._fields):
        yield f"its points/ are not the tables of {config.learner}; {FOREIGN}"
    elif data.points and config.grown:
        yield f"it has points/, but the table of {config.board.name} grows from point to point; {FOREIGN}"
    for name, found in data.points.items():
        if np.isnan(found).any() and not np.isnan(start._asdict().get(name, 0.0)).any():
            yield f"table 'points/{name}' holds NaN, which {config.learner} never does; {FOREIGN}"
    if grown is not None and not data.provenance.get("positions_without_room"):
        led_to = np.bincount(graph.child, minlength=graph.code.size) > 0
        led_to[:1] = True
        if not led_to[graph.code >= 0].all():
            yield f"its states/code holds a position that no move leads to; {FOREIGN}"
    if grown is not None and data.resume:
        rows, finals = data.progress.get("batch_positions", np.zeros(2, np.int64)).tolist()
        if not 0 < rows <= grown.used.rows or not 0 <= finals <= grown.used.finals:
            yield f"progress/batch_positions are not among those of the run; {FOREIGN}"


def course_misfits(data: RunData, config: Config | None = None) -> Iterator[str]:
    """Yield contradictions between configuration, games, recorded points and batches: the quick part of `misfits`.

    config: made from the data, if that was done already.
    """
    try:
        config = config or config_from_dict(data.config)
    except RunFileError as error:
        yield str(error)
        return
    exact = set(EXACT_COLUMNS) & set(data.statistics)
    if exact != (set() if config.grown else set(EXACT_COLUMNS)) or config.grown != ("positions" in data.statistics):
        yield f"its statistics are not those that board {config.board.name} has; {FOREIGN}"
    games, points, before = data.games, data.statistics["games"], data.progress.get("batch_games")
    if not points.size:
        yield f"it has no recorded points, but training always writes one; {FOREIGN}"
    elif points[-1] != games and data.version >= GROUPS[RESUME]:
        yield f"its last recorded point is at {count_text(int(points[-1]), 'game')}, but it has {games:,}; {FOREIGN}"
    if config.inherited > games:
        yield f"it began with {count_text(config.inherited, 'game')}, but has {games:,}; {FOREIGN}"
    if config.engine == "given":
        if before is not None:
            yield f"it stores a batch, but was not played in batches; {FOREIGN}"
        return
    for name, number in (("games", games), ("goal", int(data.progress.get("goal", 0)))):
        if number > MAX_GAMES:
            yield f"progress/{name} is {number:,}, training goes up to {MAX_GAMES:,}; {FOREIGN}"
    if before is not None and games:
        start, end = batch_bounds(config.batches, games - 1)
        start = max(start, config.inherited)
        if before != start or games == end:
            yield (
                f"progress/batch_games is {before:,}, but the batch of its last game "
                f"begins at {start:,} and ends at {end:,}; {FOREIGN}"
            )


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
            yield f"table {prefix + name!r} is not {dtype}{list(shape)}; {FOREIGN}"
        elif name == "visits":
            if not (found >= 0).all():  # not always whole: some learners divide a batch's visits among moves
                yield f"table '{prefix}visits' holds a number below 0 or NaN; {FOREIGN}"
            elif found.max(initial=0.0) > games * (1 + 1e-9):  # a game updates an entry at most once
                yield f"table '{prefix}visits' holds more updates of an entry than its {games:,} games; {FOREIGN}"
        elif name == "background":
            if np.isnan(found).any():
                yield f"table 'background' holds NaN, which no imported table does; {FOREIGN}"
        else:
            if data.table_fields[name][0] != learner.fields[name][0]:
                yield f"table {prefix + name!r} must have the axes {learner.fields[name][0]}; {FOREIGN}"
            # NaN is valid only for a learner that starts with it, as "never seen".
            if np.isnan(found).any() and not np.isnan(start[name]).any():
                yield f"table {prefix + name!r} holds NaN, which {config.learner} never does; {FOREIGN}"
            # Steps of at most 1 towards worths or towards other values stay in the range of both.
            limit = max(np.nanmax(np.abs(start[name]), initial=0.0), np.abs(worth).max()) * (1 + 1e-6)
            if name == "q" and learner.by_chances:  # a game changes preferences or beads by at most this range
                limit *= 1 + 2 * data.games
            own = not config.start and config.engine != "given"
            if learner.by_beads and np.nanmin(found) < 0:
                yield f"table {prefix + name!r} holds a number of beads below 0; {FOREIGN}"
            if learner.by_beads and config.batch == 1 and own and (np.nan_to_num(found) % 1 != 0).any():
                yield f"table {prefix + name!r} holds a fraction of a bead, which no game adds; {FOREIGN}"
            if own and np.nanmax(np.abs(found), initial=0.0) > limit:
                beyond = f"holds a value beyond {limit:.6g}, which training never reaches"
                yield f"table {prefix + name!r} {beyond}; {FOREIGN}"
    if config.alpha.power and "visits" not in tables:
        yield f"its step size depends on visits, but {prefix or 'tables/'}visits is missing; the file is damaged"
    # A newer minor version may have added tables.
    for name in sorted(set(tables) - {*start, *extra}) if data.version <= FORMAT else ():
        yield f"table {prefix + name!r} does not belong to a run of {config.learner}; {FOREIGN}"


AnyRun = Run | PatternRun
"""A run of any kind."""


def load(path: str | Path, *, trust: bool = False, check: Callable[[Config], None] | None = None) -> Run:
    """Read a run file with a table of positions, as `load_any` does.  Raises RunFileError for other runs."""
    run = load_any(path, trust=trust, check=check)
    try:
        return with_table(run)
    except UsageError as error:
        raise RunFileError(f"{shown(find_run(path))}: {error}") from None


def with_table(run: AnyRun) -> Run:
    """Return the same run.  Raises UsageError if it has no table of positions."""
    if isinstance(run, PatternRun):
        raise UsageError(f"a run of {run.config.learner} has no table of positions; choose a run of another learner")
    return run


def load_any(path: str | Path, *, trust: bool = False, check: Callable[[Config], None] | None = None) -> AnyRun:
    """Read a run file of any learner; `.h5` may be left out of its name.

    trust: True to open a file with a wrong digest, which another program changed; every other check applies.
    check: called with a table's configuration before anything is compiled for it; may raise.
    Raises RunFileError if it is damaged, foreign, too new or does not fit its own board.
    """
    path = find_run(path)
    check_switches(trust=trust)
    check_functions(check=check)
    run, wrong = run_of(load_run(path, trust=trust), check=check)
    if run is None:
        raise RunFileError(f"{shown(path)}: {wrong[0]}")
    return run


def any_run(given: object) -> AnyRun:
    """Return a given run, or load the run of a given file.  Raises UsageError for other objects, and RunFileError."""
    if isinstance(given, AnyRun):
        return given
    if isinstance(given, str | Path):
        return load_any(given)
    raise UsageError(
        f"{quoted(given)} is not a run; give a run, the name of its file, or an agent (see ttt_batch.judge)"
    )


def is_pattern_run(data: RunData) -> bool:
    """Return whether a file's data are those of pattern networks."""
    return data.config.get("learner") in PATTERN_LEARNERS


def run_from(content: bytes) -> Run:
    """Return the run of a file's bytes that another process has sent.  Raises RunFileError."""
    data, wrong = parse_image(content, verify("what was sent", io.BytesIO(content), len(content)))
    run, wrong = (None, wrong) if data is None else run_of(data)
    if run is None:
        raise RunFileError(f"what was sent: {wrong[0]}")
    return with_table(run)


def run_of(
    data: RunData, findings: Sequence[str] = (), check: Callable[[Config], None] | None = None
) -> tuple[AnyRun | None, list[str]]:
    """Return the run of a file (None if it has faults) and all faults, `findings` included; check: see `load_any`."""
    run: AnyRun
    try:
        if is_pattern_run(data):
            run, wrong = pattern_run_of(data), [*findings]
        else:
            run = begun_run(data, check)
            if wrong := [*findings, *misfits(data, run)]:
                return None, wrong
            _add_tables(run, data)
    except RunFileError as error:
        return None, [*findings, str(error)]
    run.provenance, run.notes, run.version, run.size = data.provenance, data.notes, data.version, data.size
    run.goal = int(data.progress.get("goal", 0))
    run.interrupted |= run.games < run.goal
    return None if wrong else run, wrong


def _add_tables(run: Run, data: RunData) -> None:
    """Add the tables of a file, whose data have no faults, to a run of `begun_run`."""
    run.background = data.tables.get("background")
    if run.grown is not None:
        run.tables, run.visits = run.grown.compact_tables()
    else:
        run.tables, run.visits = _learnt(run, data.tables)
    if data.resume:  # the state before the unfinished last batch
        state = State(int(data.progress["batch_games"]), *_learnt(run, data.resume), data.progress["batch_outcomes"])
        run.batch_start = (
            state if run.grown is None else run.grown.cut(state, *data.progress["batch_positions"].tolist())
        )
    if data.points:
        run.points = KeptPoints(data.progress["point_games"], run.learner.tables(**data.points))


def _learnt(run: Run, arrays: dict[str, NDArray[Any]]) -> tuple[Any, NDArray[np.float64]]:
    """Return a learner's tables among the arrays of a file, and its visits if the step size depends on them.

    Raises KeyError for a missing table.
    """
    tables = run.learner.tables(**{name: arrays[name] for name in run.learner.tables._fields})
    return tables, arrays["visits"].ravel() if run.config.alpha.power > 0 else np.zeros(0)


def check_run(path: str | Path, *, trust: bool = False) -> tuple[list[str], tuple[str, ...]]:
    """Return all findings about a run file, a line each, and its notes, which are not faults.

    trust: True to continue after a wrong digest.  Raises RunFileError for a missing, unreadable or too new file.
    """
    path = Path(path)
    name = shown(path)
    try:
        data, problems = examine_run(path, trust=trust)
    except DamagedRun as error:
        return [str(error)], ()
    if data is not None:
        run, problems = run_of(data, problems)
        if isinstance(run, Run):
            problems = list(statistics_contradictions(run))
    return [f"{name}: {one_line(problem)}" for problem in problems], () if data is None else data.notes
