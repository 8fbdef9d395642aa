"""The textbook's learners by their definitions: Sutton and Barto, 2nd edition, 6.4 to 6.7 and 12.1 to 12.3.

As `naive`, of which this is a part: nothing is fast, and nothing is shared with the package.
"""

from collections.abc import Callable

from oracle import gradient as naive_gradient
from oracle import naive
from oracle import softmax as naive_softmax
from oracle.naive import DRAW, FIRST, SECOND, UNFINISHED, Board, Moves, Position, Step, Table, Tally, fold_weight, mover

Action = tuple[int, int]


class OwnMoves(naive.Learner):
    """Each player learns by itself: a move is pulled to what its mover's next turn is worth.

    Q[e_t] += alpha * (target - Q[e_t]), t ascending; target = r_t where the game is over by then, else gamma times what
    s_{t+2} is worth.  A loss is worth -1.  only: the player whose moves are learnt, if the other one is fixed.
    """

    only: int | None = None

    def __init__(
        self,
        board: Board,
        alpha: float = 0.1,
        gamma: float = 1.0,
        draw_worth: tuple[float, float] = (0.0, 0.0),
        start_value: float = 0.0,
        epsilon: float = 0.1,
    ) -> None:
        super().__init__(board, alpha, gamma, draw_worth)
        self.epsilon = epsilon
        self.Q: Table[Action] = Table(lambda _: start_value)

    def worth(self, outcome: int, player: int) -> float:
        if outcome == DRAW:
            return self.draw_worth[player - 1]
        return 1.0 if outcome == player else -1.0

    def played(self, action: Action) -> float:
        """Return the worth of a move to the player who ranks it."""
        return self.Q[action]

    def candidates(self, position: Position) -> list[int]:
        values = {cell: self.played((self.board.code(position), cell)) for cell in self.board.legal(position)}
        return [cell for cell, value in values.items() if value == max(values.values())]

    def turn(self, Q: Table[Action], position: Position, taken: list[tuple[int, int]]) -> float:
        """What being on turn is worth by a table; taken: (cell, times) of what was played there."""
        raise NotImplementedError

    def learning(self) -> Table[Action]:
        """The table that learns now."""
        return self.Q

    def learn(self, moves: Moves) -> None:
        steps, Q = self.replay(moves), self.learning()
        final = steps[-1].after
        assert final is not None
        for t, step in enumerate(steps):
            if self.only not in (None, mover(step.position)):
                continue
            key = self.board.code(step.position), step.cell
            if t + 2 < len(steps):
                later = steps[t + 2]
                target = self.gamma * self.turn(Q, later.position, [(later.cell, 1)])
            else:
                target = self.worth(self.board.outcome(final), mover(step.position))
            Q[key] += self.alpha * (target - Q[key])
        self.learnt(1)

    def learnt(self, games: int) -> None:
        """Count the games of a batch."""

    def fold(self, games: list[Moves]) -> None:
        tally, Q = self.tally(games), self.learning()
        before = Table(Q.start, Q)
        for position in tally.visits:
            if self.only not in (None, mover(position)):
                continue
            for cell, n in tally.edges(position):
                key = self.board.code(position), cell
                target = self.pooled(tally, before, position, self.board.place(position, cell))
                Q[key] += fold_weight(self.alpha, n) * (target - before[key])
        self.learnt(len(games))

    def pooled(self, tally: Tally, before: Table[Action], position: Position, after: Position) -> float:
        """The target of a move: the mean over the replies from its child, whichever move led there."""
        player = mover(position)
        if self.board.outcome(after) != UNFINISHED:
            return self.worth(self.board.outcome(after), player)
        total = 0.0
        for reply, n in tally.edges(after):
            then = self.board.place(after, reply)
            if self.board.outcome(then) != UNFINISHED:
                total += n * self.worth(self.board.outcome(then), player)
            else:
                total += n * (self.gamma * self.turn(before, then, tally.edges(then)))
        return total / tally.visits[after]


class QLearning(OwnMoves):
    """The best move of the next turn."""

    def turn(self, Q: Table[Action], position: Position, taken: list[tuple[int, int]]) -> float:
        return max(Q[self.board.code(position), cell] for cell in self.board.legal(position))


class Sarsa(OwnMoves):
    """The move made at the next turn, or the mean of those made."""

    def turn(self, Q: Table[Action], position: Position, taken: list[tuple[int, int]]) -> float:
        return naive.weighted_mean([(n, Q[self.board.code(position), cell]) for cell, n in taken])


class ExpectedSarsa(OwnMoves):
    """The mean over the policy: softmax play at a temperature, or epsilon-greedy, ties shared evenly."""

    temperature: float | None = None

    def turn(self, Q: Table[Action], position: Position, taken: list[tuple[int, int]]) -> float:
        legal = self.board.legal(position)
        values = [Q[self.board.code(position), cell] for cell in legal]
        best = [value == max(values) for value in values]
        total = 0.0
        if self.temperature is not None:
            slots = naive_softmax.softmax(dict(zip(legal, values, strict=True)), [], self.temperature)
            for value, (_, _, chance) in zip(values, slots, strict=True):
                total += chance * value
            return total
        for value, is_best in zip(values, best, strict=True):
            chance = self.epsilon / len(legal)
            if is_best:
                chance += (1 - self.epsilon) / best.count(True)
            total += chance * value
        return total


class DoubleQ(OwnMoves):
    """Two tables: the one that learns says which move is best, the first of equals; the other what it is worth.

    coins: for the number of a batch's first game, which table learns.
    """

    def __init__(self, board: Board, coins: Callable[[int], int] = lambda game: game % 2, **options: float) -> None:
        super().__init__(board, **options)  # type: ignore[arg-type]
        self.pair = self.Q, Table(self.Q.start)
        self.coins, self.games = coins, 0

    def played(self, action: Action) -> float:
        return self.pair[0][action] + self.pair[1][action]

    def learning(self) -> Table[Action]:
        return self.pair[self.coins(self.games)]

    def learnt(self, games: int) -> None:
        self.games += games

    def turn(self, Q: Table[Action], position: Position, taken: list[tuple[int, int]]) -> float:
        s, chosen = self.board.code(position), None
        for cell in self.board.legal(position):
            if chosen is None or Q[s, cell] > Q[s, chosen]:
                chosen = cell
        assert chosen is not None
        return self.pair[1 - self.coins(self.games)][s, chosen]


class TDLambda(naive.Learner):
    """Offline lambda-returns on afterstates, one table from the first player's side.

    G_{T-1} = z; G_t = (1 - lambda) * gamma * V(s_{t+1}) + lambda * gamma * G_{t+1}, V from before the game;
    V(s_t) += alpha * (G_t - V(s_t)).  cut: where e_t explored, V(s_t) stays, and G_{t-1} = gamma * V(s_t).
    """

    def __init__(
        self,
        board: Board,
        alpha: float = 0.1,
        gamma: float = 1.0,
        draw: float = 0.0,
        lambda_: float = 0.7,
        cut: bool = False,
        start_value: float = 0.0,
    ) -> None:
        super().__init__(board, alpha, gamma, (draw, draw))
        self.lambda_, self.cut, self.start_value = lambda_, cut, start_value
        self.V: Table[int] = Table(self._start)

    def _start(self, code: int) -> float:
        outcome = self.board.outcome(self.board.position(code))
        return self.start_value if outcome == UNFINISHED else self.result(outcome)

    def result(self, outcome: int) -> float:
        """z, for the first player."""
        return {FIRST: 1.0, SECOND: -1.0, DRAW: self.draw_worth[0]}[outcome]

    def candidates(self, position: Position) -> list[int]:
        sign = 1 if mover(position) == FIRST else -1
        values = {c: sign * self.V[self.board.code(self.board.place(position, c))] for c in self.board.legal(position)}
        return [cell for cell, value in values.items() if value == max(values.values())]

    def learn(self, moves: Moves) -> None:
        steps = self.replay(moves)
        before, G = Table(self._start, self.V), self.returns(steps)
        for step, target in zip(steps, G, strict=True):
            if not (self.cut and step.exploratory):
                s = self.board.code(step.position)
                self.V[s] = before[s] + self.alpha * (target - before[s])

    def returns(self, steps: list[Step]) -> list[float]:
        """G_0 to G_{T-1}."""
        final = steps[-1].after
        assert final is not None
        G = [self.result(self.board.outcome(final))]
        for step in reversed(steps[1:]):
            v = self.V[self.board.code(step.position)]
            if self.cut and step.exploratory:
                G.append(self.gamma * v)
            else:
                G.append((1 - self.lambda_) * self.gamma * v + self.lambda_ * self.gamma * G[-1])
        return G[::-1]

    def fold(self, games: list[Moves]) -> None:
        """The recursion over counts: each edge gives what its child hands back on average over all that left it."""
        tally = self.tally(games)
        before, handed = Table(self._start, self.V), {}
        for position in tally.deepest_first():
            if self.board.outcome(position) != UNFINISHED:
                handed[position] = self.result(self.board.outcome(position))
                continue
            s = self.board.code(position)
            counting = tally.edges(position, exploring=not self.cut)
            parts = []
            if counting:
                n = tally.leaving(position, exploring=not self.cut)
                mean = naive.weighted_mean([(k, handed[self.board.place(position, cell)]) for cell, k in counting])
                self.V[s] = before[s] + fold_weight(self.alpha, n) * (mean - before[s])
                parts.append((n, (1 - self.lambda_) * self.gamma * before[s] + self.lambda_ * self.gamma * mean))
            if explored := tally.visits[position] - tally.leaving(position, exploring=not self.cut):
                parts.append((explored, self.gamma * before[s]))
            handed[position] = parts[0][1] if len(parts) == 1 else naive.weighted_mean(parts)


LEARNERS: dict[str, Callable[..., naive.Learner]] = {
    "q-learning": QLearning,
    "sarsa": Sarsa,
    "expected-sarsa": ExpectedSarsa,
    "double-q": DoubleQ,
    "td-lambda": TDLambda,
}
ORACLES = naive.LEARNERS | LEARNERS | naive_gradient.LEARNERS
"""Every learner of the package."""
