"""Training loop of pattern networks, with proofs, recorded points and checkpoints."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ttt_batch.base.choices import SEATS
from ttt_batch.proofs.prover import Proof
from ttt_batch.runs.patterns.config import PatternConfig
from ttt_batch.runs.patterns.run import PROVED, REFUTED, UNDECIDED, PatternRun
from ttt_batch.runs.recorder import Clock, resumed_provenance
from ttt_batch.training.checkpoints import Checkpoints
from ttt_batch.training.patterns.trainer import PatternTrainer, next_point
from ttt_batch.training.session import Progress

SLICE_SECONDS = 0.05
"""Seconds that the kernels run between two calls of `stop` and two reports of progress."""

NUMBERS = {"proved": PROVED, "refuted": REFUTED, "undecided": UNDECIDED}


class Callbacks(NamedTuple):
    """Callbacks and settings of a training, as in `training.session.Session`."""

    checkpoints: Checkpoints | None
    progress: Callable[[Progress], None] | None
    stop: Callable[[], bool]
    command: str
    threads: int


@dataclass
class PatternSession:
    """Training that runs `trainer` up to `total` games.  before: the run that is continued; None for a new one."""

    config: PatternConfig
    total: int
    before: PatternRun | None
    trainer: PatternTrainer
    clock: Clock
    followers: Callbacks

    def __post_init__(self) -> None:
        self._points: list[dict[str, Any]] = []
        self._proved = None if self.before is None else self.before.proved
        self._proofs: dict[str, tuple[str, int]] = {}
        self._slice = self.config.round
        if self.before is not None:
            columns = self.before.statistics
            tried = self.before.tried | (not self.config.prove_every)
            for number, games in enumerate(columns["games"].tolist()):
                # Drop a last point that was recorded only because the run ended there.
                if games == next_point(self.config, games - 1) and tried[number]:
                    self._points.append({name: column[number] for name, column in columns.items()})

    def train(self) -> PatternRun:
        """Train to the last game, or until stopped; return the run."""
        trainer, checkpoints = self.trainer, self.followers.checkpoints
        began = trainer.games
        if checkpoints is not None:
            checkpoints.begin(began)
        while True:
            recorded = self._is_due() and self._record()
            if self.followers.progress is not None and trainer.games:
                self.followers.progress(self._progress(recorded))
            if trainer.games >= self.total or self.followers.stop():
                break
            if checkpoints is not None and trainer.games > began and checkpoints.due(trainer.games):
                checkpoints.attempt(self._run())
            self._advance(min(next_point(self.config, trainer.games), self.total, trainer.games + self._slice))
        if trainer.games == began and not recorded and self.before is not None:
            self.before.interrupted = True
            return self.before
        return self._run()

    def _is_due(self) -> bool:
        """Return whether a point must be recorded now."""
        games = self.trainer.games
        return games > 0 and games == next_point(self.config, games - 1) and games > self._last

    @property
    def _last(self) -> int:
        """Return the games at the last recorded point; 0 before the first."""
        return int(self._points[-1]["games"]) if self._points else 0

    def _advance(self, until: int) -> None:
        """Learn from the games up to `until`, and resize the next slice to about SLICE_SECONDS."""
        before, began = self.trainer.games, self.clock.seconds
        self.trainer.advance(until)
        elapsed = self.clock.seconds - began
        if elapsed < SLICE_SECONDS / 2 and until - before == self._slice:
            self._slice *= 2
        elif elapsed > 2 * SLICE_SECONDS:
            self._slice = max(self._slice // (2 * self.config.round) * self.config.round, self.config.round)

    def _record(self) -> bool:
        """Record a point, with proofs if configured; return False, without a point, if a proof was stopped."""
        proofs: dict[int, Proof] = {}
        if self.config.prove_every:
            found = self.trainer.prove(self.followers.stop)
            if found is None:
                return False
            proofs = found
            self._proofs = {SEATS[seat]: (proof.status, proof.positions) for seat, proof in proofs.items()}
            seats = [seat for seat, proof in proofs.items() if proof.status == "proved"]
            weights = self.trainer.weights()
            for seat in seats:
                self._proved = np.zeros(weights.shape[1:], np.int32) if self._proved is None else self._proved.copy()
                self._proved[:, seat] = weights[-seat, :, seat]  # of the first network, or the last one
        self._points.append(self._point(proofs))
        return True

    def _point(self, proofs: dict[int, Proof]) -> dict[str, Any]:
        found = [proofs.get(seat) for seat in (0, 1)]
        return {
            "games": np.int64(self.trainer.games),
            "seconds": np.float64(self.clock.seconds),
            "outcomes": self.trainer.outcomes.copy(),
            "proof": np.array([0 if one is None else NUMBERS[one.status] for one in found], np.int8),
            "proof_positions": np.array([0 if one is None else one.positions for one in found], np.int64),
        }

    def _statistics(self) -> dict[str, NDArray[Any]]:
        """Return the recorded points, plus the current state as a provisional last one unless it is recorded."""
        points = self._points
        if self._last != self.trainer.games or not points:
            points = [*points, self._point({})]
        return {name: np.stack([point[name] for point in points]) for name in points[0]}

    def _run(self) -> PatternRun:
        """Return the run in its current state."""
        past = {} if self.before is None else self.before.provenance
        now = self.clock.provenance(self.followers.command) | {"threads": self.followers.threads}
        run = PatternRun(self.config, self.trainer.games, self.trainer.learnt(), self._statistics(), self._proved)
        run.goal, run.interrupted = self.total, self.trainer.games < self.total or self._is_due()
        run.provenance = resumed_provenance(past, now, "resumed_by")
        return run

    def _progress(self, recorded: bool) -> Progress:
        trainer, checkpoints = self.trainer, self.followers.checkpoints
        wins, draws, losses = trainer.outcomes.tolist()
        counts = trainer.games, self.total, self.clock.seconds, (wins, draws, losses)
        now = Progress(*counts, None, recorded, proofs=self._proofs)
        return now if checkpoints is None else replace(now, saved=checkpoints.saved, saved_in=checkpoints.where)
