"""`reinforce` and `actor-critic` from their definitions: Sutton and Barto, 2nd edition, 13.3 to 13.5; and pooled.

As `naive`, of which this is a part.  Q is theta, the preference for a move; W what a position is worth to its mover.
"""

import functools
from collections.abc import Callable

from oracle import naive
from oracle import softmax as naive_softmax
from oracle.naive import Board, Moves, Position, Table, Tally, fold_weight
from oracle.streams import drawn


class Gradient(naive.Learner):
    """Preferences, followed up their gradient: with delta = target - W[s] and pi and W from before the game,

    Q[s, b] += alpha * delta * (1[b = a] - pi(b)) for every b, and W[s] += beta * delta.  A loss is worth -1.
    critic: the target is gamma * W[s_{t+2}] as long as the game goes on, else the result.
    """

    def __init__(
        self,
        board: Board,
        alpha: float = 0.1,
        gamma: float = 1.0,
        draw_worth: tuple[float, float] = (0.0, 0.0),
        beta: float = 0.1,
        start_value: float = 0.0,
        *,
        critic: bool,
    ) -> None:
        super().__init__(board, alpha, gamma, draw_worth)
        self.beta, self.critic = beta, critic
        self.Q: Table[tuple[int, int]] = Table(lambda _: 0.0)
        self.W: Table[int] = Table(lambda _: start_value)

    def worth(self, outcome: int, player: int) -> float:
        if outcome == naive.DRAW:
            return self.draw_worth[player - 1]
        return 1.0 if outcome == player else -1.0

    def _preferences(self, position: Position) -> dict[int, float]:
        code = self.board.code(position)
        return {cell: self.Q[code, cell] for cell in self.board.legal(position)}

    def candidates(self, position: Position) -> list[int]:
        values = self._preferences(position)
        return [cell for cell, value in values.items() if value == max(values.values())]

    def pi(self, position: Position) -> dict[int, float]:
        """The chance of every legal cell."""
        return {cell: chance for cell, _, chance in naive_softmax.softmax(self._preferences(position), [], 1.0)}

    def drawn_game(self, key: int, number: int, draw: naive_softmax.Draw = naive_softmax.reached_slot) -> Moves:
        """Game `number` of the stream of `key`; a move counts as exploring unless its preference is the highest.

        draw: `drawn_slot` in a batch.
        """
        position, moves = self.board.empty, list[tuple[int, bool]]()
        while self.board.outcome(position) == naive.UNFINISHED:
            best = self.candidates(position)
            slots = [(cell, cell not in best, chance) for cell, chance in self.pi(position).items()]
            moves.append(draw(slots, drawn(key, number, len(moves))))
            position = self.board.place(position, moves[-1][0])
        return moves

    def learn(self, moves: Moves, seat: int = 0) -> None:
        """The sequential algorithm; seat: of the learner (1 or 2), 0 for both."""
        steps = self.replay(moves)
        assert steps[-1].after is not None
        outcome = self.board.outcome(steps[-1].after)
        policies = [self.pi(step.position) for step in steps]
        values = [self.W[self.board.code(step.position)] for step in steps]
        for t, step in enumerate(steps):
            player, code = naive.mover(step.position), self.board.code(step.position)
            if seat not in (0, player):
                continue
            target = self.worth(outcome, player)
            if self.critic and t + 2 < len(steps):
                target = self.gamma * values[t + 2]
            delta = target - values[t]
            for cell, chance in policies[t].items():
                self.Q[code, cell] += self.alpha * delta * ((1.0 if cell == step.cell else 0.0) - chance)
            self.W[code] += self.beta * delta

    def fold(self, games: list[Moves]) -> None:
        """The mean over n visits of delta * (1[b = a] - pi(b)): n(b) / n * delta(b) - pi(b) * mean delta."""
        tally, before = self.tally(games), Table(self.W.start, self.W)
        for position in tally.visits:
            if self.board.outcome(position) != naive.UNFINISHED:
                continue
            code, player, n = self.board.code(position), naive.mover(position), tally.visits[position]
            target = self.pooled(tally, before, position, player)
            mean, times = target - before[code], dict(tally.edges(position))
            w = fold_weight(self.alpha, n)
            for b, chance in self.pi(position).items():
                if n == 1:
                    self.Q[code, b] += w * mean * (times.get(b, 0) - chance)
                    continue
                own = 0.0
                if b in times:
                    own = times[b] * (self.after(tally, before, position, b, player) - before[code])
                self.Q[code, b] += w * (own / n - chance * mean)
            self.W[code] = before[code] + fold_weight(self.beta, n) * (target - before[code])

    def pooled(self, tally: Tally, W: Table[int], position: Position, player: int, *, even: bool = False) -> float:
        """The mean target over how games went on from a position.

        even: the wrong version, which takes each continuation for as frequent as the others.
        """
        total, n = 0.0, 0
        for cell, times in tally.edges(position):
            weight = 1 if even else times
            total += weight * self.after(tally, W, position, cell, player, even=even)
            n += weight
        return total / n

    def after(
        self, tally: Tally, W: Table[int], position: Position, cell: int, player: int, *, even: bool = False
    ) -> float:
        """The mean target of a move for a player."""
        child = self.board.place(position, cell)
        outcome = self.board.outcome(child)
        if outcome != naive.UNFINISHED:
            return self.worth(outcome, player)
        if self.critic and naive.mover(child) == player:
            return self.gamma * W[self.board.code(child)]
        return self.pooled(tally, W, child, player, even=even)


LEARNERS: dict[str, Callable[..., naive.Learner]] = {
    "reinforce": functools.partial(Gradient, critic=False),
    "actor-critic": functools.partial(Gradient, critic=True),
}
