"""Walking by greedy paths on boards of up to nine cells: all games of a batch are played, by one thread or more."""

from ttt_batch.learners.base import Learner
from ttt_batch.simulation.exploration import fill_explorations, make_explorations
from ttt_batch.simulation.greedy_paths import make_paths
from ttt_batch.simulation.walk import Walker, make_walker
from ttt_batch.training.kernels.batch import Workspace
from ttt_batch.training.trainers.base import Task
from ttt_batch.training.trainers.pieces import InPieces


class Walking(InPieces):
    """A walk on a small board: the games of a block go from one decision of chance to the next."""

    games_per_thread = 262_144
    """A millisecond of walking.

    Binding threads to processors of their own did not pay: between 0.93 and 1.2 times the speed from run to run.  Nor
    does sharing out ordering and folding: 0.1 ms of a batch of a million games, which takes 1 to 13 ms, less nine
    hand-overs.
    """

    stop_every = 1 << 20

    claim = 1 << 14
    """Two threads reach 0.88 to 0.9 of two runs side by side, and 0.8 to 0.84 if each has its half from the start;
    4,096 or 65,536 are 2 to 4 % slower.
    """

    @classmethod
    def least_shared(cls, learner: Learner) -> int:
        """Two workers are 1.1 times as fast as one thread at 2 million games, 1.6 times at 8 and 1.8 times at 32."""
        return 1 << 23

    def _way(self, work: Workspace, task: Task) -> Walker:
        explorations = make_explorations(self.config.epsilon.start, work.seat)
        return make_walker(self.graph, explorations, make_paths(self.graph, work.policy), task.block)

    def _beside(self, way: Walker) -> Walker:
        return make_walker(self.graph, way.explorations, way.paths, way.game.size)

    def _retake(self, way: Walker, work: Workspace) -> None:
        fill_explorations(
            way.explorations, self.config.epsilon.start, work.seat, self._decays.weight, self._decays.stack
        )
