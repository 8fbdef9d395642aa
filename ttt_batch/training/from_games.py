"""Learning from given games of any players."""

from collections.abc import Callable, Iterable
from contextlib import nullcontext
from pathlib import Path
from typing import NamedTuple, Protocol, Unpack

from ttt_batch.base.choices import PATTERN_LEARNERS, check_switches, find_name
from ttt_batch.base.errors import GamesError, UsageError, flag, warn_python
from ttt_batch.base.memory import parse_memory
from ttt_batch.base.outputs import check_distinct, named_file
from ttt_batch.base.printable import progress_callback
from ttt_batch.base.quantities import Number
from ttt_batch.base.signatures import given_options, with_options
from ttt_batch.game.game_files import find_games, refuse_positions
from ttt_batch.game.transcript_reader import GameReader, Skipped
from ttt_batch.game.transcript_source import GameFile, GameLines
from ttt_batch.game.transcripts import Games
from ttt_batch.learners import learner_named
from ttt_batch.runs.config import Config, LearnerOptions, make_config
from ttt_batch.runs.explorations import replace_exploration
from ttt_batch.runs.loading import AnyRun, load_any
from ttt_batch.runs.memory_needs import rows_within
from ttt_batch.runs.patterns.config import PatternConfig
from ttt_batch.runs.patterns.run import PatternRun
from ttt_batch.runs.recorder import Clock, record_once
from ttt_batch.runs.run import Run
from ttt_batch.runs.state import table_digest
from ttt_batch.training.checkpoints import RewrittenRun
from ttt_batch.training.patterns.given import NetworksFromGames, networks_config_from_games
from ttt_batch.training.plan import check_origin, state_of
from ttt_batch.training.trainers.base import TrainerOptions
from ttt_batch.training.trainers.ply_by_ply import GivenGames


class GamesLearnt(NamedTuple):
    """Progress of learning from given games.

    games: learnt from so far.  read, size: bytes read, and of the whole source; size is 0 if unknown.
    seconds: since the start.
    """

    games: int
    read: int
    size: int
    seconds: float


@with_options(LearnerOptions)
def learn_from(
    games: str | Path | Iterable[str],
    *,
    learner: str | None = None,
    run: AnyRun | str | Path | None = None,
    name: str = "",
    skip_bad: bool = False,
    moves: str | None = None,
    cells_from: Number | None = None,
    out: str | Path | None = None,
    overwrite: bool = False,
    trust: bool = False,
    progress: Callable[[GamesLearnt], None] | bool | None = None,
    warn: Callable[[str], None] | None = None,
    command: str = "",
    **options: Unpack[LearnerOptions],
) -> tuple[AnyRun, Skipped]:
    """Learn from given games, one per line, in order; return the run and the bad lines.

    games: the file with the games, `-` for standard input, or the lines themselves.  Moves are cells in any notation
    that `game_words` reads.  A table with a header has one game or one move per line (see `game_layouts`).
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
    check_switches(skip_bad=skip_bad, trust=trust)
    given_options(learn_from, options)  # refuses unknown names before anything is read
    source = GameFile(games) if isinstance(games, str | Path) else GameLines(games)
    for line in source.beginning():
        refuse_positions(line, source.name)
    if run is None:
        config_from_games(learner, None, **options)  # report bad options before bad files
    say = warn or warn_python
    if out is not None:
        check_distinct([(flag("out"), out := named_file("out", out))], source.places())
    # Lock `out` before the run is read: it may be the same file, which another process may be writing.
    held = None if out is None else RewrittenRun(Path(out), overwrite=overwrite, hold=True, say=say)
    with held or nullcontext(), progress_callback(progress, "reading") as follow:
        origin = run if run is None or isinstance(run, AnyRun) else load_any(run, trust=trust)
        config, clock = config_from_games(learner, origin, **options), Clock()
        source.check()  # before any kernel is compiled
        name = name or source.name
        if follow is not None:
            follow(GamesLearnt(0, 0, source.size, clock.seconds))
        pupil = games_learner(config, origin)
        rule = learner_named(config.learner) if isinstance(config, Config) else None
        may = {"occupied": rule is not None and rule.occupied, "resigns": rule is not None and rule.boxes}
        asks = isinstance(source, GameFile)
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
        result = pupil.run(clock.seconds)
        result.provenance = clock.provenance(command)
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


class GamesLearner(Protocol):
    """Trainer that learns from given games."""

    def learn(self, games: Games) -> None:
        """Learn from games of cells, in order."""

    def run(self, seconds: float) -> AnyRun:
        """Return the run with one recorded point; `seconds`: how long learning took."""


def games_learner(config: Config | PatternConfig, origin: AnyRun | None) -> GamesLearner:
    """Return a trainer for `config`, which `config_from_games` made.

    It starts from a copy of what `origin` has learnt, or from the learner's start.
    """
    if isinstance(config, PatternConfig):
        assert isinstance(origin, PatternRun)
        return NetworksFromGames(config, origin)
    assert not isinstance(origin, PatternRun)
    return _TablesFromGames(config, origin)


class _TablesFromGames:
    """Trainer of tables on given games."""

    def __init__(self, config: Config, origin: Run | None) -> None:
        state = None if origin is None else state_of(origin, origin.games)
        max_rows = rows_within(config, parse_memory(None)) if config.grown else 0
        self._trainer = GivenGames(TrainerOptions(config, state=state, max_rows=max_rows))

    def learn(self, games: Games) -> None:
        self._trainer.learn(games)

    def run(self, seconds: float) -> Run:
        trainer, state = self._trainer, self._trainer.state()
        run = Run(trainer.config, state.tables, state.games, {}, visits=state.visits, grown=trainer.grown)
        run.statistics = record_once(run, seconds, state.outcomes)
        return run
