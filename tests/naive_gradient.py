"""`reinforce` and `actor-critic` from more-rules and Sutton and Barto 13.3 to 13.5, game by game and pooled.

Positions and moves by code, theta by (code, cell), V by code, what a position is worth to its mover; all start at 0.
"""

import math
from collections import defaultdict
from collections.abc import Sequence

import naive
import naive_softmax
from naive import Moves, Position
from naive_streams import drawn


class Gradient:
    """A learner of preferences; with `critic` the target is gamma * V(s(t+2)) as long as the game goes on."""

    def __init__(
        self,
        board: naive.Board,
        *,
        critic: bool,
        alpha: float = 0.1,
        beta: float = 0.1,
        gamma: float = 1.0,
        draw_worth: tuple[float, float] = (0.0, 0.0),
        start: float = 0.0,
    ) -> None:
        self.board, self.critic, self.alpha, self.beta, self.gamma = board, critic, alpha, beta, gamma
        self.draw_worth = draw_worth
        self.theta: dict[tuple[int, int], float] = defaultdict(float)
        self.V: dict[int, float] = defaultdict(lambda: start)

    def worth(self, outcome: int, player: int) -> float:
        """What an end counts for a player."""
        return self.draw_worth[player - 1] if outcome == naive.DRAW else 1.0 if outcome == player else -1.0

    def pi(self, position: Position) -> dict[int, float]:
        """The chance of every legal cell."""
        code = self.board.code(position)
        scores = {cell: self.theta[code, cell] for cell in self.board.legal(position)}
        return {cell: chance for cell, _, chance in naive_softmax.softmax(scores, [], 1.0)}

    def play(self, key: int, number: int) -> Moves:
        """Game `number` of the stream of `key`; a move counts as exploring unless its preference is the highest."""
        position, moves = self.board.empty, []
        while self.board.outcome(position) == naive.UNFINISHED:
            code, pi = self.board.code(position), self.pi(position)
            highest = max(self.theta[code, cell] for cell in pi)
            slots = [(cell, self.theta[code, cell] != highest, chance) for cell, chance in pi.items()]
            moves.append(naive_softmax.drawn_slot(slots, drawn(key, number, len(moves))))
            position = self.board.place(position, moves[-1][0])
        return moves

    def learn(self, moves: Moves, seat: int = 0) -> None:
        """The sequential algorithm; seat: of the learner (1 or 2), 0 for both."""
        steps = naive.replay(self.board, moves)
        outcome = self.board.outcome(steps[-1].after)
        policies = [self.pi(step.position) for step in steps]
        values = [self.V[self.board.code(step.position)] for step in steps]
        for t, step in enumerate(steps):
            player, code = naive.mover(step.position), self.board.code(step.position)
            if seat not in (0, player):
                continue
            target = self.worth(outcome, player)
            if self.critic and t + 2 < len(steps):
                target = self.gamma * values[t + 2]
            delta = target - values[t]
            for cell, chance in policies[t].items():
                self.theta[code, cell] += self.alpha * delta * ((1.0 if cell == step.cell else 0.0) - chance)
            self.V[code] += self.beta * delta

    def fold(self, games: Sequence[Moves]) -> None:
        """A batch by the pooled formulas, from how often each move was taken."""
        tally = naive.Tally(self.board)
        for moves in games:
            tally.add(naive.replay(self.board, moves))
        before = dict(self.V)
        new_theta: dict[tuple[int, int], float] = {}
        new_v: dict[int, float] = {}
        for position in tally.visits:
            if self.board.outcome(position) != naive.UNFINISHED:
                continue
            code, player, n = self.board.code(position), naive.mover(position), tally.visits[position]
            value, edges, pi = before.get(code, self.V[code]), tally.edges(position), self.pi(position)
            deltas = [(cell, k, self.after(tally, before, position, cell, player) - value) for cell, k in edges]
            for b, chance in pi.items():
                mean = math.fsum(k * delta * ((cell == b) - chance) for cell, k, delta in deltas) / n
                new_theta[code, b] = self.theta[code, b] + (1 - (1 - self.alpha) ** n) * mean
            mean = math.fsum(k * delta for _, k, delta in deltas) / n
            new_v[code] = value + (1 - (1 - self.beta) ** n) * mean
        self.theta.update(new_theta)
        self.V.update(new_v)

    def after(
        self, tally: naive.Tally, V: dict[int, float], position: Position, cell: int, player: int, *, even: bool = False
    ) -> float:
        """The mean target of a move for a player: over how games went on from where it leads.

        even: the wrong version, which takes each continuation for as frequent as the others.
        """
        child = self.board.place(position, cell)
        outcome = self.board.outcome(child)
        if outcome != naive.UNFINISHED:
            return self.worth(outcome, player)
        if self.critic and naive.mover(child) == player:
            return self.gamma * V.get(self.board.code(child), 0.0)
        edges = [(c, 1 if even else k) for c, k in tally.edges(child)]
        total = math.fsum(k * self.after(tally, V, child, c, player, even=even) for c, k in edges)
        return total / sum(k for _, k in edges)
