"""Learning from given games: none is played, and each is learnt from before the next."""

from collections.abc import Callable

from ttt_batch.game.transcripts import Games, on_graph
from ttt_batch.training.kernels.given import learn_given
from ttt_batch.training.trainers.ply_by_ply import PlyByPly


class Given(PlyByPly):
    """Learns from what `learn` is given, on any board; if the board lacks room for a game, it grows before that."""

    _games: Games

    def learn(self, games: Games) -> None:
        """Learn from games one after the other."""
        self._games = games
        self.advance(self.games + games.start.size - 1, lambda: False)

    def _learn(self, last: int, _stop: Callable[[], bool]) -> None:
        grown, config, learnt = self.grown, self.config, 0
        growth = None if grown is None else grown.growth
        games = on_graph(self._games, self.graph, config.board, config.symmetry) if grown is None else self._games
        while True:
            at = self.tables, self.graph, self._step, growth, games, self._game, self._by_outcome
            learnt = learn_given(*at, learnt, grown is not None and grown.may_grow)
            if grown is None or learnt == games.start.size - 1:
                break
            self._make_room(grown)
            growth = grown.growth
        self.games = last
