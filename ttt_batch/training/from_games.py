"""Learning from given games, and from the games that people play against a run.

Run that learns from the games that people play against it.
An update is `learn_from` with one game.  So several updates give the same tables, or weights, as `learn_from` with all
the games.  A person's moves count as greedy, like the agent's, and the tables of both seats learn.  For networks see
`ntuple.learning`.
"""

import math
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple, Unpack

import numpy as np

from ttt_batch.agents.adapter import AgentProxy
from ttt_batch.core.errors import GamesError, UsageError, flag, warn_python
from ttt_batch.core.outputs import check_distinct, named_file
from ttt_batch.core.resources import parse_memory
from ttt_batch.core.results import progress_callback
from ttt_batch.core.text import PATTERN_LEARNERS, Number, check_switches, find_name, given_options, with_options
from ttt_batch.games.board import EMPTY, FIRST, RESIGNS, Position
from ttt_batch.games.game_files import find_games, refuse_positions
from ttt_batch.games.graph import rows_of_edges
from ttt_batch.games.transcript_reader import GameFile, GameLines, GameReader, Skipped
from ttt_batch.games.transcripts import Games, parse_line
from ttt_batch.learners import learner_named
from ttt_batch.runs.config import Config, PatternConfig, make_config, replace_exploration
from ttt_batch.runs.growing_table import rows_within
from ttt_batch.runs.loading import AnyRun, load_any
from ttt_batch.runs.network_run import PatternRun
from ttt_batch.runs.options import LearnerOptions
from ttt_batch.runs.run import Clock, Recorder, Run, resumed_provenance
from ttt_batch.runs.state import table_digest
from ttt_batch.training.network_trainer import PatternTrainer, networks_config_from_games, playing_weights
from ttt_batch.training.plan import check_origin, state_of
from ttt_batch.training.session import RewrittenRun
from ttt_batch.training.trainers.base import GivenGames, TrainerOptions


class GamesLearnt(NamedTuple):
    """Progress of learning from given games.

    games: learnt from so far.  read, size: bytes read, and of the whole source; size is 0 if unknown.
    seconds: since the start.
    """

    games: int
    read: int
    size: int
    seconds: float


class ReadingOptions(LearnerOptions, total=False):
    """Options of the learner in `learn_from`, and of the way in which games are read."""

    name: str
    skip_bad: bool
    moves: str | None
    cells_from: Number | None
    command: str


@with_options(ReadingOptions, {"name": "", "skip_bad": False, "command": ""})
def learn_from(
    games: str | Path | Iterable[str],
    *,
    learner: str | None = None,
    run: AnyRun | str | Path | None = None,
    out: str | Path | None = None,
    overwrite: bool = False,
    trust: bool = False,
    progress: Callable[[GamesLearnt], None] | bool | None = None,
    warn: Callable[[str], None] | None = None,
    **options: Unpack[ReadingOptions],
) -> tuple[AnyRun, Skipped]:
    """Learn from given games, one per line, in order; return the run and the bad lines.

    games: the file with the games, `-` for standard input, or the lines themselves.  Moves are cells in any notation
    that `games.notation` reads.  A table with a header has one game or one move per line (see `games.game_files`).
    learner: required unless `run` is given.  run: a run (or its file) to continue, with its learner and options.
    Pattern networks need a run.
    name: name of the source in messages.
    skip_bad: skip lines that are not games under the rules.  The first thousand are returned with their reasons; the
    list's `total` counts all of them.
    moves: the meaning of digits: `numbers` of cells, `row-col`, `col-row`, or with gravity `columns`.
    cells_from: the number of the first cell, row or column, 0 or 1.  If these two are not given, the games decide;
    lines in memory that fit both bases count from 0.
    progress: True for a bar on standard error, or a function called before reading and after every piece of about a
    megabyte.
    out: the run file to write, which is locked against other writers until the end.  It may be the file of `run`, with
    `overwrite`.
    trust: continue a run whose file another program has changed.
    warn: called with one line, instead of a Python warning, if the games were read in an unusual notation, or if
    another program has replaced the run's file and the run is saved in a new one.
    board, epsilon, explore, alpha, beta, gamma, draw_worth, start_value, lambda_, cut, beads, rewards, seed, symmetry:
    see `Config`; they override the learner's defaults or the run's values.  Networks can change only alpha and gamma.

    At most one piece is in memory at a time.  After an error nothing is saved.

    Raises GamesError (also if there are no games), UsageError, BoardError and RunFileError.
    """
    asked = given_options(learn_from, options)
    own: Any = {name: value for name, value in asked.items() if name in LearnerOptions.__annotations__}
    skip_bad = asked.get("skip_bad", False)
    check_switches(skip_bad=skip_bad, trust=trust)
    source = GameFile(games) if isinstance(games, str | Path) else GameLines(games)
    for line in source.beginning():
        refuse_positions(line, source.name)
    # Report bad options before bad files.
    config = config_from_games(learner, None, **own) if run is None else None
    say = warn or warn_python
    if out is not None:
        check_distinct([(flag("out"), out := named_file("out", out))], source.places())
    # Lock `out` before the run is read: it may be the same file, which another process may be writing.
    held = None if out is None else RewrittenRun(Path(out), overwrite=overwrite, hold=True, say=say)
    with held or nullcontext(), progress_callback(progress, "reading") as follow:
        origin = run if run is None or isinstance(run, AnyRun) else load_any(run, trust=trust)
        config, clock = config or config_from_games(learner, origin, **own), Clock()
        source.check()  # before any kernel is compiled
        name = asked.get("name") or source.name
        if follow is not None:
            follow(GamesLearnt(0, 0, source.size, clock.seconds))
        pupil = games_learner(config, origin)
        rule = learner_named(config.learner) if isinstance(config, Config) else None
        may = {"occupied": rule is not None and rule.occupied, "resigns": rule is not None and rule.resigns}
        asks, moves, cells_from = isinstance(source, GameFile), asked.get("moves"), asked.get("cells_from")
        found = find_games(source, config.board, name=name, moves=moves, cells_from=cells_from, asks=asks, **may)
        if found.said:
            say(found.said)
        reader = GameReader(config.board, reading=found.reading, name=name, skip_bad=skip_bad, **may)
        for some in reader.read(found.pieces):
            pupil.learn(some)
            if follow is not None:
                follow(GamesLearnt(reader.games, source.read, source.size, clock.seconds))
        if reader.games == 0:
            skipped = reader.skipped
            bad = f", only bad lines ({skipped.total:,}); the first: {skipped[0]}" if skipped else ""
            raise GamesError(f"{name}: no games{bad or '; give a line of cells per game, such as 4 0 2 1 6'}")
        result = run_of_games(pupil, clock.seconds)
        result.provenance = clock.provenance(asked.get("command", ""))
        if held is not None:
            held.write(result)
    return result, reader.skipped


@with_options(LearnerOptions)
def config_from_games(
    learner: str | None, origin: AnyRun | None, **options: Unpack[LearnerOptions]
) -> Config | PatternConfig:
    """Return the configuration of a run of given games, new by `learner` or continued from `origin`.

    See `learn_from`.  Raises UsageError and BoardError.
    """
    if origin is None and learner is None:
        raise UsageError(
            f"no learner is named; give {flag('learner', 'NAME')}, or {flag('run', 'RUN')} for a run to continue"
        )
    given, start = given_options(config_from_games, options), ""
    if origin is not None and learner is not None:
        named = find_name(learner, PATTERN_LEARNERS) or learner_named(learner).name
        if named != origin.config.learner:
            raise UsageError(f"the run was made by {origin.config.learner}, not {learner}; leave the learner out")
    if isinstance(origin, PatternRun):
        return networks_config_from_games(origin, **given)
    if origin is not None:
        before = {name: getattr(origin.config, name) for name in LearnerOptions.__annotations__}
        given = before | replace_exploration(given)
        learner, start = origin.config.learner, table_digest(origin.tables)
    config = make_config(learner=str(learner), batch=1, engine="given", start=start, **given)
    if origin is not None:
        check_origin(origin, config)
    if config.alpha.by_games:
        raise UsageError(
            f"alpha {config.alpha.text} depends on the number of games of a run; give a number or 1/n for given games"
        )
    return config


def games_learner(config: Config | PatternConfig, origin: AnyRun | None) -> GivenGames | PatternTrainer:
    """Return a trainer for `config`, which `config_from_games` made.

    It starts from a copy of what `origin` has learnt, or from the learner's start.
    """
    if isinstance(config, PatternConfig):
        assert isinstance(origin, PatternRun)
        start = replace(origin, learnt=playing_weights(origin), proved=None, average=None)
        start.network = origin.network
        return PatternTrainer(config, start, 1)
    assert not isinstance(origin, PatternRun)
    state = None if origin is None else state_of(origin, origin.games)
    max_rows = rows_within(config, parse_memory(None)) if config.grown else 0
    return GivenGames(TrainerOptions(config, state=state, max_rows=max_rows))


def run_of_games(trainer: GivenGames | PatternTrainer, seconds: float) -> AnyRun:
    """Return the run of a trainer, with one recorded point, without proofs.  seconds: duration of learning."""
    recorder = Recorder()
    recorder.record(trainer.games, seconds, trainer.outcomes, trainer.glance() or {})
    return trainer.run(recorder.statistics())


class LearningRun(AgentProxy):
    """Run that continues to learn, game by game, and plays as an agent by its current tables or weights.

    run: the current run.  It has the configuration with which `learn_from` continues the original run, that run's
    recorded points, and a last point for the current tables.
    path: the run's file, or a new one, written after every update; None keeps the updates in memory.
    overwrite: whether `path` may exist, as the run's own file does.  command: recorded in the file.
    warn: called with one line, instead of a Python warning, if another program has replaced the file.

    Raises UsageError if the step size depends on the games of a training.  Raises RunFileError if `path` cannot be
    written, exists (unless `overwrite`), or a training is writing it.
    """

    def __init__(
        self,
        run: AnyRun,
        path: str | Path | None = None,
        *,
        overwrite: bool = True,
        command: str = "",
        warn: Callable[[str], None] = warn_python,
    ) -> None:
        super().__init__(run)
        self.run: AnyRun = run
        self._start = run
        self._before: AnyRun | None = None  # before the last update; None after an undo
        self._command, self._began = command, time.perf_counter()
        # No lock between updates: a training may write the file while the person thinks, and its work must not be lost.
        self._file = None if path is None else RewrittenRun(Path(path), overwrite=overwrite, hold=False, say=warn)
        self._config = config_from_games(None, run)

    @property
    def stored(self) -> bool:
        """Return whether its updates are written to a file."""
        return self._file is not None

    def drawn_shares(self, position: Position) -> dict[int, float] | None:
        """Return the probability of each cell if the run always draws from them, as `menace` does; else None."""
        return self.run.drawn_shares(position)

    def update(self, cells: Sequence[int]) -> int:
        """Learn from a finished game and save; return the number of positions whose value changed.

        cells: the moves in order, counted from 0.  With action tables, count the positions whose move changed value.
        Raises GamesError if the game is not finished or not legal, and RunFileError if the run could not be saved;
        after either, nothing is learnt.
        """
        words = [RESIGNS if cell == self.board.resignation else str(cell) for cell in cells]
        line, before, clock = " ".join(words), self.run, Clock()
        try:
            if not (moves := parse_line(line, self.board, occupied=before.occupied, resigns=before.resigns)):
                raise GamesError("a game needs a move")
        except GamesError as error:
            raise GamesError(f"the game: {error}; nothing was learnt") from None
        pupil = games_learner(self._config, before)
        taken, exploring = (np.array(column) for column in zip(*moves, strict=True))
        pupil.learn(Games(np.array([0, len(moves)]), taken.astype(np.int8), exploring))
        run = run_of_games(pupil, clock.seconds)
        run.background = before.background
        self._describe(run, clock)
        changed = _changed_positions(before, run, cells)
        self._go_on_with(run, before=before)
        return changed

    def undo(self) -> bool:
        """Undo the last update and save; return False if there is no update to undo.

        Only one update can be undone.  Undoing the first update restores the original run.
        Raises RunFileError if the run could not be saved; then the update stays.
        """
        if self._before is None:
            return False
        self._go_on_with(self._before, before=None)
        return True

    def _go_on_with(self, run: AnyRun, before: AnyRun | None) -> None:
        if self._file is not None:
            self._file.write(run)
        self.run = self._agent = run
        self._before = before

    def _describe(self, run: AnyRun, clock: Clock) -> None:
        """Prepend this run's recorded points and provenance to those of `run`."""
        seconds, point, past = time.perf_counter() - self._began, run.statistics, self._start.statistics
        if past.keys() == point.keys() and past["games"].size:
            point["seconds"] = past["seconds"][-1:] + seconds
            if not run.generalises:  # networks already count the earlier games
                point["outcomes"] = point["outcomes"] + self.run.statistics["outcomes"][-1]
            run.statistics = {name: np.concatenate([past[name], point[name]]) for name in point}
            run.points = self._start.points
        origin = self._start.provenance
        now = clock.provenance(self._command)
        run.provenance = resumed_provenance(
            origin, now | {"seconds": float(origin.get("seconds", 0.0)) + seconds}, "taught_by"
        )


def _changed_positions(before: AnyRun, after: AnyRun, cells: Sequence[int]) -> int:
    """Return how many positions have a new value after the game `cells`, which changes at most one move of each.

    For networks, which have a value for every position, count only the positions of the game.
    """
    if not (isinstance(before, Run) and isinstance(after, Run)):
        return _changed_moves(before, after, cells)
    # Tables of moves and of positions together, or of moves of which several change together.
    mixed = len({table.shape[-1] for table in after.tables}) > 1 or after.by_beads
    if any(old.shape != new.shape for old, new in zip(before.tables, after.tables, strict=True)) or (
        mixed and after.grown is not None
    ):
        return _changed_moves(before, after, cells)
    changed = np.zeros(after.graph.code.size if mixed else 1, np.bool_)
    for old, new in zip(before.tables, after.tables, strict=True):
        differs = (old != new) & ~(np.isnan(old) & np.isnan(new))
        differs = differs.reshape(-1, differs.shape[-1]).any(axis=0)
        if mixed and differs.size != changed.size:
            changed[rows_of_edges(after.graph)[differs]] = True
        else:
            changed = changed | differs
    return int(changed.sum())


def _changed_moves(before: AnyRun, after: AnyRun, cells: Sequence[int]) -> int:
    """Return how many moves of the game have a new value; for networks, and for tables whose rows have changed."""
    marks, changed = [EMPTY] * after.board.cells, 0
    for ply, cell in enumerate(cells):
        old, new = (run.move_values(tuple(marks)).get(cell, math.nan) for run in (before, after))
        changed += not np.array_equal(old, new, equal_nan=True)
        marks[cell] = marks[cell] or FIRST + ply % 2
    return changed
