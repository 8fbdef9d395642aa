"""Learning from given games, whoever played them."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from ttt_batch.board import DRAW, FIRST_WINS, SECOND_WINS
from ttt_batch.config import Config, make_config
from ttt_batch.errors import UsageError
from ttt_batch.games import parse_cells, parse_games
from ttt_batch.growth import grow
from ttt_batch.learners import learner_named
from ttt_batch.learners.base import make_game
from ttt_batch.learners.steps import make_step
from ttt_batch.memory import parse_memory, rows_within
from ttt_batch.plans import check_origin
from ttt_batch.play.counts import outcomes_of
from ttt_batch.provenance import Clock
from ttt_batch.recorder import record_once
from ttt_batch.resuming import table_digest
from ttt_batch.run import Run, load
from ttt_batch.runfile import check_target
from ttt_batch.sequential import learn_games
from ttt_batch.wide import learn_wide


def learn_from(
    lines: Iterable[str],
    *,
    learner: str | None = None,
    run: Run | str | Path | None = None,
    name: str = "games",
    skip_bad: bool = False,
    out: str | Path | None = None,
    overwrite: bool = False,
    command: str = "",
    **options: Any,
) -> tuple[Run, list[str]]:
    """Learn from given games one after the other, a line each (see `games`); return the run and the lines skipped.

    learner: needed unless `run` is given, a run (or its file) to go on from, with its learner and options.
    name: what messages call the source of the lines.  skip_bad: leave out games that the rules do not allow.
    options: those of `Config`, over the learner's defaults or the run's.

    Raises GamesError before anything is learnt, UsageError, BoardError and RunFileError.
    """
    origin = load(run) if isinstance(run, str | Path) else run
    if origin is None and learner is None:
        raise UsageError("name a learner, or a run to go on from")
    given = {key: value for key, value in options.items() if value is not None}
    if origin is not None:
        if learner not in (None, origin.config.learner):
            raise UsageError(f"the run was made by {origin.config.learner}, not {learner}; leave the learner out")
        before = {
            key: getattr(origin.config, key)
            for key in ("board", "epsilon", "alpha", "gamma", "draw_worth", "seed", "symmetry")
        }
        given = before | given
        learner = origin.config.learner
    config = make_config(
        learner=str(learner),
        batch=1,
        engine="given",
        start="" if origin is None else table_digest(origin.tables),
        **given,
    )
    if origin is not None:
        check_origin(origin, config.learner, config.board, config.symmetry)
    if config.alpha_schedule.by_games:
        raise UsageError(f"alpha {config.alpha} goes by the games of a run; give a number or 1/n for given games")
    if out is not None:
        check_target(Path(out), overwrite=overwrite)
    clock = Clock()
    learn = _learn_grown if config.grown else _learn_enumerated
    result, skipped = learn(config, origin, lines, name, skip_bad, clock)
    result.provenance = clock.provenance(command)
    if out is not None:
        result.save(out, overwrite=overwrite)
    return result, skipped


def _learn_enumerated(
    config: Config, origin: Run | None, lines: Iterable[str], name: str, skip_bad: bool, clock: Clock
) -> tuple[Run, list[str]]:
    """Learn from games on an enumerated board."""
    graph, learner = config.graph, learner_named(config.learner)
    parsed = parse_games(lines, graph, config.shape if config.symmetry else None, name=name, skip_bad=skip_bad)
    worth = learner.worth(config.settings)
    begin = learner.start(graph, worth, np.random.default_rng(config.seed % 2**64)) if origin is None else origin.tables
    tables = learner.tables(*(array.copy() for array in begin))
    alpha = config.alpha_schedule
    visits = np.zeros(tables[0].size if alpha.power else 0)
    if origin is not None and alpha.power:
        visits = origin.visits_or_zeros().copy()
    ended = np.zeros(graph.code.size - graph.first_edge.size + 1, np.int64)
    step = make_step(alpha.start, config.gamma, worth, alpha.power, visits)
    learn_games(tables, graph, step, parsed.games, make_game(int(graph.ply.max())), ended)
    games = parsed.games.start.size - 1 + (0 if origin is None else origin.games)
    result = Run(config, tables, games, {}, visits=visits)
    result.statistics = record_once(result, clock.seconds, outcomes_of(graph, ended))
    return result, parsed.skipped


def _learn_grown(
    config: Config, origin: Run | None, lines: Iterable[str], name: str, skip_bad: bool, clock: Clock
) -> tuple[Run, list[str]]:
    """Learn from games on a board that grows by their positions."""
    learner = learner_named(config.learner)
    parsed = parse_cells(lines, config.shape, occupied=learner.occupied, name=name, skip_bad=skip_bad)
    grown, alpha = grow(config), config.alpha_schedule
    if origin is not None:
        visits = origin.visits_or_zeros() if alpha.power else np.zeros(0)
        grown.restore(*origin.positions, origin.tables, visits)
    grown.limit(rows_within(config, parse_memory(None)))
    game, outcomes, learnt = make_game(config.shape.cells), np.zeros(4, np.int64), 0
    while True:
        step = make_step(alpha.start, config.gamma, grown.worth, alpha.power, grown.visits)
        at = grown.tables, grown.graph, step, grown.growth
        learnt = learn_wide(*at, *parsed.games, game, outcomes, learnt, grown.may_grow)
        if learnt == parsed.games.start.size - 1:
            break
        grown.enlarge()
    _, tables, visits = grown.compact()
    games = learnt + (0 if origin is None else origin.games)
    result = Run(config, tables, games, {}, visits=visits, grown=grown)
    result.statistics = record_once(result, clock.seconds, outcomes[[FIRST_WINS, DRAW, SECOND_WINS]])
    return result, parsed.skipped
