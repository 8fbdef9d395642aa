"""Learning from given games, whoever played them."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from ttt_batch.board import parse_board
from ttt_batch.config import make_config
from ttt_batch.errors import UsageError
from ttt_batch.games import parse_games
from ttt_batch.graph import enumerate_graph
from ttt_batch.learners import learner_named
from ttt_batch.learners.base import make_game
from ttt_batch.learners.steps import make_step
from ttt_batch.play.counts import outcomes_of
from ttt_batch.provenance import Clock
from ttt_batch.recorder import record_once
from ttt_batch.resuming import table_digest
from ttt_batch.run import Run, load
from ttt_batch.runfile import check_target
from ttt_batch.sequential import learn_games
from ttt_batch.trainer import Trainer


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
            key: getattr(origin.config, key) for key in ("board", "epsilon", "alpha", "gamma", "draw_worth", "seed")
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
    if config.alpha_schedule.by_games:
        raise UsageError(f"alpha {config.alpha} goes by the games of a run; give a number or 1/n for given games")
    if out is not None:
        check_target(Path(out), overwrite=overwrite)
    clock = Clock()
    graph = enumerate_graph(parse_board(config.board), learner_named(config.learner).occupied)
    parsed = parse_games(lines, graph, name=name, skip_bad=skip_bad)
    trainer = Trainer(
        config,
        tables=None if origin is None else origin.tables,
        visits=origin.visits_or_zeros() if origin is not None and config.alpha_schedule.power else None,
    )
    ended = np.zeros(graph.code.size - graph.first_edge.size + 1, np.int64)
    alpha = config.alpha_schedule
    step = make_step(alpha.start, config.gamma, trainer.worth, alpha.power, trainer.visits)
    learn_games(trainer.tables, graph, step, parsed.games, make_game(graph), ended)
    n_games = parsed.games.start.size - 1 + (0 if origin is None else origin.games)
    result = Run(config, trainer.tables, n_games, {}, visits=trainer.visits)
    result.statistics = record_once(result, clock.seconds, outcomes_of(graph, ended))
    result.provenance = clock.provenance(command)
    if out is not None:
        result.save(out, overwrite=overwrite)
    return result, parsed.skipped
