"""Claims of a run file: the verifiable ones, which follow from its tables, and the ones taken on trust."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from ttt_batch.base.choices import SEATS
from ttt_batch.base.quantities import count_text
from ttt_batch.evaluation.judgement import exact_judge
from ttt_batch.runs.patterns.run import PatternRun
from ttt_batch.runs.run import Run

_TOLERANCE = 1e-9
"""Allowed difference between a recorded and a recomputed number: processors may round differently."""

_ORIGIN = "the seconds, the goal and where the run comes from"


class Grounds(NamedTuple):
    """Facts about a sound file, in words: those that `check` has verified, and those that it takes on trust."""

    verified: tuple[str, ...]
    trusted: tuple[str, ...]


def statistics_contradictions(run: Run) -> Iterator[str]:
    """Yield the recorded results of a run that its tables or the game's value contradict."""
    games = run.statistics["games"]
    if run.games in games[-1:]:
        verdict = run.judgement()._asdict() if run.grown is None else {"positions": run.grown.positions}
        yield from _unlike(run, games.size - 1, verdict, "the tables give")
    if run.grown is not None:
        return
    judge = exact_judge(run.graph, run.learner, run.worth, run.solution)
    for number, tables in _earlier(run):
        for row in np.flatnonzero(games == number):
            yield from _unlike(run, int(row), judge(tables)._asdict(), "the tables of that point give")
    worst, value = run.statistics["worst"], int(run.solution[0]) * np.array([1, -1])
    optimal = run.statistics["optimal_share"] == 1.0
    if (worst > value).any() or (optimal & (worst < value)).any():
        yield "statistics/worst contradicts the value of the game"


def _earlier(run: Run) -> Iterator[tuple[int, Any]]:
    """Yield (games, tables) of each earlier point whose tables the file stores."""
    if run.batch_start is not None:
        yield run.batch_start.games, run.batch_start.tables
    if run.points is not None:
        for number, games in enumerate(run.points.games.tolist()):
            yield (
                games,
                run.points.tables._replace(
                    **{name: np.ascontiguousarray(array[number]) for name, array in run.points.tables._asdict().items()}
                ),
            )


def _unlike(run: Run, row: int, verdict: dict[str, Any], what: str) -> Iterator[str]:
    """Yield a message for each statistic of a recorded point that differs from a verdict."""
    last = row == run.statistics["games"].size - 1
    which = "the last row" if last else f"the row of {count_text(int(run.statistics['games'][row]), 'game')}"
    for name, found in run.statistics.items():
        if name in verdict and not np.allclose(found[row], verdict[name], rtol=0, atol=_TOLERANCE, equal_nan=True):
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
        earlier = "proofs at earlier points" if run.config.prove_every and not run.config.start else ""
        return Grounds(tuple(verified), tuple(filter(None, (*trusted, earlier))))
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
