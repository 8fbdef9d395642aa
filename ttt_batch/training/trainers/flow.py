"""Flow on enumerated boards of any size: how many games of a batch take each move is drawn, and none is played."""

from collections.abc import Callable

from ttt_batch.simulation.flow import make_rows
from ttt_batch.training.kernels.batch import run_batches
from ttt_batch.training.trainers.batched import Batched


class Flowing(Batched):
    """Batches in one kernel, whatever their size."""

    def _batches(self, turn: int, last: int, _stop: Callable[[], bool]) -> None:
        run_batches(make_rows(), self._learning, self._works[turn], self._key, self.batches, self.games, last)
        self.games = last
