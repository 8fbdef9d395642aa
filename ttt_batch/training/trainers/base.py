"""Trainers of tables: their base class with the state of a run, and those that play game by game or grow the table.

Games depend only on (seed, game number), and batches on the game number.  So neither threads nor the stops of
`advance` affect the tables.

On growing boards the games of a batch are played ply by ply, or their counts drawn, and then folded.
Drawn counts need room for every position of the batch.  A batch without this room is not learnt from.
"""

import functools
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from ttt_batch.agents.adapter import OpponentPolicy
from ttt_batch.compiler.jit import entry_point
from ttt_batch.compiler.numerics import FLOW, PLAY, RULE, stream_key
from ttt_batch.compiler.settings import in_package
from ttt_batch.core.errors import UsageError, flag
from ttt_batch.evaluation.judgement import LARGE, Judgement, exact_judge, listed_judge
from ttt_batch.games.board import DRAW, FIRST_WINS, SECOND_WINS
from ttt_batch.games.enumeration import check_enumerable
from ttt_batch.games.graph import MAX_ROWS, Graph
from ttt_batch.games.solution import solve
from ttt_batch.games.transcripts import Games, games_space, on_graph
from ttt_batch.learners import learner_named
from ttt_batch.learners.base import make_step, make_trajectory
from ttt_batch.runs.config import GIVEN, SEATS_IN_TURN, SMALL_CELLS, Config, cannot_play_second_error
from ttt_batch.runs.evaluation import exploration_of
from ttt_batch.runs.growing_table import GrowingTable, grow
from ttt_batch.runs.run import Run
from ttt_batch.runs.schedules import batch_bounds, batch_parity
from ttt_batch.runs.state import State
from ttt_batch.simulation.action_probabilities import NO_CHANCES, Probabilities, even_chances
from ttt_batch.simulation.flow import make_rows
from ttt_batch.simulation.lockstep import trimmed
from ttt_batch.simulation.policy import UNLISTED, Counts, Policy, empty_counts, optimal_policy, random_policy
from ttt_batch.simulation.sampled import Streams, make_streams
from ttt_batch.simulation.walk import BLOCK, make_explorations
from ttt_batch.training.kernels.batch import Learning, Workspace, arrive, draw_ply, make_decays, make_workspace
from ttt_batch.training.kernels.games import (
    CELLS,
    BestMoves,
    Play,
    Shortcuts,
    Span,
    fold_counted,
    has_even_plies,
    is_like_3x3,
    learn_given,
    make_cache,
    play_games,
    window_decides,
)
from ttt_batch.training.kernels.sampled import draw_mixed_ply
from ttt_batch.training.kernels.sequential import play_self
from ttt_batch.training.kernels.train_many import order_now

RECORDED_AT_ONCE = 1 << 16
"""Maximum of games passed to `record` at once; a quarter of that on larger boards, whose games are longer."""


@dataclass(frozen=True)
class TrainerOptions:
    """Parameters of a trainer.

    opponent: the fixed opponent against the learner in `config.seat`: a `Policy` of equally likely moves or
    `Probabilities`; None for self-play.  On growing boards `UNLISTED` stands for a random opponent.
    state: the start state, which is copied; None for the learner's start tables.
    record: called with the games as they are played.
    threads: number of threads on enumerated boards.  block: games per thread in lockstep, up to nine cells.
    max_rows: maximum of unfinished rows on a growing board.
    games: games at the end of the training; 0 if unknown.
    shares: distributes large batches to the workers of a cluster; see `training.remote`.
    """

    config: Config
    opponent: Policy | Probabilities | None = None
    state: State | None = None
    record: Callable[[Games], None] | None = None
    threads: int = 1
    block: int = BLOCK
    max_rows: int = MAX_ROWS
    games: int = 0
    shares: Any = None

    @property
    def by_chances(self) -> bool:
        """Return whether the learner, or the opponent, draws moves from unequal probabilities."""
        return self.config.by_chances or isinstance(self.opponent, Probabilities)


class Trainer(ABC):
    """Trainer of one new or continued run by any method; `advance` plays and learns, `judge` evaluates.

    config: of the run.  games: learnt from so far.
    seats: number of seats that the agent plays.
    tables: the arrays of a snapshot; empty if the method keeps none.
    grown: the growing board; None on an enumerated one, and for networks.
    full: a batch of flow on a growing board needs more positions than the table can hold.
    proofs: each seat's latest verdict and positions entered; None for a method without proofs.
    """

    config: Any
    games: int
    seats = 2
    tables: Any = ()
    grown: GrowingTable | None = None
    full = False
    proofs: dict[str, tuple[str, int]] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:  # noqa: B027 - most have nothing to close
        """Close what training has opened, such as threads."""

    @property
    @abstractmethod
    def outcomes(self) -> NDArray[np.int64]:
        """Return int64[3]: first wins, draws and second wins so far."""

    @abstractmethod
    def advance(self, last: int, stop: Callable[[], bool]) -> None:
        """Learn from the games up to `last` (exclusive), or to an earlier end of a batch once `stop()` is true."""

    @abstractmethod
    def bounds(self, game: int) -> tuple[int, int]:
        """Return the first game of the unit of learning that contains `game`, and the first game after that unit."""

    @abstractmethod
    def next_point(self, games: int) -> int:
        """Return the number of games at the first recorded point after `games`."""

    @abstractmethod
    def judge(self, stop: Callable[[], bool] = lambda: False) -> dict[str, Any] | None:
        """Return the columns of a recorded point of the current state; None once `stop()` is true."""

    @abstractmethod
    def glance(self) -> dict[str, Any] | None:
        """Return the columns of a point recorded only because the run ends here; None if it needs no such point."""

    @abstractmethod
    def state(self) -> Any:
        """Return a copy of the current state, from which a run ending within a batch resumes."""

    @abstractmethod
    def run(self, statistics: dict[str, NDArray[Any]]) -> Any:
        """Return the run in its current state.  Tables of enumerated boards are not copied."""


class TableTrainer(Trainer):
    """Trainer of a table of positions.

    Subclasses define `_learn`, which learns from the next games, and `outcomes`.

    learner, worth, batches: of the run.
    graph, tables: positions and moves, and the learner's tables, with spare capacity on a growing board.
    visits: float64, the updates so far of every table entry; empty unless the step size depends on visits.
    """

    def __init__(self, task: TrainerOptions) -> None:
        config, state = task.config, task.state
        self.games = 0 if state is None else state.games
        self.learner = learner_named(config.learner)
        self.seats = len(self.learner.seats)
        if config.grown:
            self.grown = grow(config)
            if state is not None and state.code.size:
                self.grown.restore(state.code, state.outcome, state.tables, state.visits)
            self.grown.limit(task.max_rows)
            self._hold(self.grown)
        else:
            self.graph: Graph = config.graph
            start = start_tables(config, self.graph, [config.seed])[0] if state is None else state.tables
            self.tables = self.learner.tables(*(array.copy() for array in start))
            self.visits = np.zeros(self.tables[0].size if config.alpha.power else 0)
            if state is not None and state.visits.size and self.visits.size:
                self.visits[:] = state.visits
        self._take(config)
        self._seats = SEATS_IN_TURN[config.seat]
        self._record, self._threads = task.record, task.threads
        self._at_once = RECORDED_AT_ONCE if config.board.cells <= SMALL_CELLS else RECORDED_AT_ONCE // 4
        self._outcomes_before = np.zeros(3, np.int64) if state is None else state.outcomes.copy()

    def _hold(self, grown: GrowingTable) -> None:
        """Use the arrays of a growing board, which replaces them when it grows."""
        self.graph, self.tables, self.visits = grown.graph, grown.tables, grown.visits

    def _take(self, config: Config) -> None:
        """Set the numbers of a configuration; learner and board must already match it."""
        self.config, self.batches = config, config.batches
        self.worth = self.learner.worth(config.settings)
        alpha, epsilon = config.alpha, config.epsilon
        self._step = make_step(
            alpha.start,
            config.gamma,
            self.worth,
            alpha.power,
            self.visits,
            epsilon=epsilon.start,
            temperature=config.temperature,
            chance=stream_key(config.seed, RULE),
            **config.own,
        )
        self._decays = make_decays(alpha.over(config.horizon), epsilon.over(config.horizon))
        self._stream = FLOW if config.engine == "flow" else PLAY
        self._key = stream_key(config.seed, self._stream)
        self._points, self._point = config.record_schedule(), 0

    def bounds(self, game: int) -> tuple[int, int]:
        """Return the bounds of the batch that contains `game`."""
        return batch_bounds(self.batches, game)

    def next_point(self, games: int) -> int:
        """Return the number of games at the first recorded point after `games`, which no later call may undercut."""
        while self._point <= games:
            self._point = next(self._points)
        return self._point

    @functools.cached_property
    def evaluate(self) -> Callable[[Any], Any]:
        """Return the function that evaluates these tables between two batches, see `exact_judge`."""
        if self.graph.legal.size < LARGE:
            return exact_judge(self.graph, self.learner, self.worth)
        return self._judge_with(make_workspace(self.graph), [array.copy() for array in self.tables])

    def _judge_with(self, work: Workspace, before: Sequence[NDArray[Any]] = ()) -> Callable[[Any], Judgement]:
        """Return the function that evaluates tables, of which `work` lists the dirty rows again.

        before: the tables at the last evaluation, to find dirty rows by, changed in place; none if batches mark them.
        """
        # The function does not refer to `self`: a cycle would keep the trainer in memory after its training.
        at, foreign = (self.graph, self.learner.choice), not in_package(self.learner.tables)
        call = order_now, self.tables, *at, work
        order = functools.cache(functools.partial(entry_point, *call))  # not before it is needed
        judge = listed_judge(self.tables, *at, self.worth, work.policy, self._threads, call)

        def evaluate(tables: Any) -> Judgement:
            for array, last in zip(tables, before, strict=False):
                work.listed[0] = -1
                work.dirty[_rows_unlike(at[0], array, last)] = True
                work.dirty[:] |= foreign  # its scores may depend on anything
                last[...] = array
            order()(tables, *at, work)
            return judge(tables)

        return evaluate

    def judge(self, _stop: Callable[[], bool] = lambda: False) -> dict[str, Any]:
        """Return the exact results of the current tables, or the number of positions of a growing board."""
        if self.grown is not None:
            return {"positions": np.array(self.grown.positions, np.int64)}
        judged: dict[str, Any] = self.evaluate(self.tables)._asdict()
        return judged

    def glance(self) -> dict[str, Any] | None:
        """Return the results as `judge` does; None before the first game."""
        return self.judge() if self.games else None

    def state(self) -> State:
        """Return a copy of the current state."""
        if self.grown is not None:
            return State(self.games, *self.grown.compact_tables(), self.outcomes, *self.grown.compact_positions())
        tables = self.learner.tables(*(array.copy() for array in self.tables))
        return State(self.games, tables, self.visits.copy(), self.outcomes)

    def run(self, statistics: dict[str, NDArray[Any]]) -> Run:
        """Return the run in its current state, whose tables are not copied on an enumerated board."""
        tables, visits = (self.tables, self.visits) if self.grown is None else self.grown.compact_tables()
        return Run(self.config, tables, self.games, statistics, visits=visits, grown=self.grown, full=self.full)

    def advance(self, last: int, stop: Callable[[], bool]) -> None:
        """Learn from the games up to `last` (exclusive), or to an earlier end of a batch once `stop()` is true."""
        while self.games < last:
            before = self.games
            self._learn(last, stop)
            if self.games == before or stop():
                return

    def _record_games(self, last: int, write: Callable[[int, int, Games], None]) -> None:
        """Record games `self.games` to `last - 1` in pieces; `write` writes the games from one number up to another."""
        assert self._record is not None
        for start in range(self.games, last, self._at_once):
            end = min(last, start + self._at_once)
            space = games_space(end - start, self.config.board.cells)
            write(start, end, space)
            self._record(trimmed(space))

    @abstractmethod
    def _learn(self, last: int, stop: Callable[[], bool]) -> None:
        """Learn from games `self.games` to `last - 1`, or to an earlier end of a batch, and advance `self.games`.

        Learn nothing if `stop()` is true within the first batch, or if the table has no room for that batch.
        """

    def _chances(self, task: TrainerOptions) -> tuple[Any, Probabilities]:
        """Return how moves are drawn by probabilities, and those of the opponent, if it has a table of them."""
        how, opponent = exploration_of(self.config), task.opponent
        if opponent is None or self.config.grown:
            return how, NO_CHANCES
        return how, opponent if isinstance(opponent, Probabilities) else even_chances(self.graph, opponent)

    @property
    def _learning(self) -> Learning:
        """Return the common arguments of the kernels that play and learn."""
        return Learning(self.tables, self.graph, self.learner.choice, self._step, self._decays)


def _rows_unlike(graph: Graph, array: NDArray[Any], last: NDArray[Any]) -> Any:
    """Return the rows of a table's moves, or with moves into its rows, whose numbers differ in two arrays."""
    entries = np.flatnonzero(array.view(np.int64) != last.view(np.int64)) % array.shape[-1]
    if array.shape[-1] == graph.child.size:
        return np.searchsorted(graph.first_edge, entries, "right") - 1
    first = graph.first_parent[entries].astype(np.int64)
    n = graph.first_parent[entries + 1] - first
    return graph.parent[np.arange(n.sum()) + np.repeat(first - np.cumsum(n) + n, n)]


def start_tables(config: Config, graph: Graph, seeds: Sequence[int]) -> list[Any]:
    """Return the start tables for some seeds on an enumerated board; only one if they do not depend on the seed."""
    learner, tables = learner_named(config.learner), []
    for seed in seeds:
        rng = np.random.default_rng(seed % 2**64)
        before = rng.bit_generator.state
        tables.append(learner.fresh(graph, config.settings, rng))
        if rng.bit_generator.state == before:
            break
    return tables


def check_opponent(opponent: Run | OpponentPolicy | str, config: Config) -> None:
    """Raise UsageError or BoardError if a fixed opponent cannot play on the board of `config`."""
    if isinstance(opponent, Run) and opponent.config.board != config.board:
        raise UsageError(
            f"the opponent plays {opponent.config.board.name}, not {config.board.name}; choose a run of the same board"
        )
    if opponent != "random":
        check_enumerable(config.board, config.grown, "an opponent that is not random")
    if isinstance(opponent, Run) and len(opponent.seats) == 1 and config.seat != "second":
        able = "" if len(learner_named(config.learner).seats) == 1 else f"give {flag('seat', 'second')}, or "
        remedy = f"{able}choose another opponent"
        raise cannot_play_second_error(
            opponent.config.learner, "an opponent's part against a learner that plays first", remedy
        )


def policy_of_opponent(opponent: Run | OpponentPolicy | str, config: Config) -> Policy | Probabilities:
    """Return the policy of a fixed opponent on the board of `config`.

    On a growing board it is the random policy, `UNLISTED`.
    If the learner has one row for all images of a position, a run plays in all of them as in the row's position.
    """
    check_opponent(opponent, config)
    if config.grown:
        return UNLISTED
    graph = config.graph
    if isinstance(opponent, OpponentPolicy):
        return opponent.policy
    if isinstance(opponent, Run):
        return opponent.policy_on(graph)
    return random_policy(graph) if opponent == "random" else optimal_policy(graph, solve(graph))


class PlyByPly(TableTrainer):
    """Trainer that learns from each game before the next; a board without room for a game grows first.

    Small boards have shortcuts.  Self-play at constant step size and epsilon has a faster kernel on boards like 3x3,
    and on all small boards if occupied cells are moves.
    """

    _counts: Counts | None = None
    """Counts of a batch; None to learn from each game."""

    _shortcuts: Shortcuts | None = None
    _plain = False
    """Whether the faster kernel plays."""

    def __init__(self, task: TrainerOptions) -> None:
        super().__init__(task)
        config = self.config
        self._game = make_trajectory(config.board.cells)
        self._by_outcome = np.zeros(4, np.int64)
        alone = config.batch == 1 and config.engine != GIVEN and not task.by_chances
        if alone and config.board.cells <= SMALL_CELLS and has_even_plies(self.graph):
            self._add_shortcuts(task)
        # A signature of `play_games` for self-play alone is 0 to 3 % faster, but adds a second of compilation.
        opponent = task.opponent if isinstance(task.opponent, Policy) else UNLISTED
        self._players: BestMoves | Streams = BestMoves(opponent, self._shortcuts)
        if task.by_chances:
            self._players = make_streams(*self._chances(task))
        self._stop_every = 1 << (12 if self._shortcuts is None else 16)  # games between two calls of `stop`

    def _add_shortcuts(self, task: TrainerOptions) -> None:
        """Make what the kernels for small boards need."""
        config, graph = self.config, self.graph
        made = {seat: make_explorations(config.epsilon.start, seat) for seat in self._seats}
        even, odd = (made[seat] for seat in self._seats)
        self._shortcuts = Shortcuts(make_cache(graph), even, odd, np.zeros(CELLS) if self.learner.repeats else None)
        like_3x3 = is_like_3x3(graph)
        by_games = config.alpha.by_games or config.epsilon.by_games
        self._plain = (like_3x3 or self.learner.occupied) and not (task.opponent or task.record or by_games)
        if self._plain and self.learner.settles:
            self._game = make_trajectory(CELLS, graph.first_edge.size - 1)
        if self._plain and like_3x3:
            scores = getattr(self.tables, self.learner.edge_scores) if self.learner.edge_scores else None
            if scores is not None and not window_decides(self.learner.choice, self.worth, scores):
                scores = None
            self._shortcuts = self._shortcuts._replace(cache=self._shortcuts.cache._replace(count=None, scores=scores))

    @property
    def outcomes(self) -> NDArray[np.int64]:
        """Return int64[3]: first wins, draws and second wins so far."""
        return self._outcomes_before + self._by_outcome[[FIRST_WINS, DRAW, SECOND_WINS]]

    def _learn(self, last: int, _stop: Callable[[], bool]) -> None:
        if self._plain:
            assert self._shortcuts is not None
            cache, explorations, _, runner_up = self._shortcuts
            known = self._learning, explorations, cache, self._game, runner_up, self._by_outcome
            play_self(*known, self._key, self.games, last)
        else:
            last = min(last, self.games + (self._stop_every if self._record is None else self._at_once))
            self._play(last, self._seats)
        self.games = last

    def _play(self, last: int, seats: tuple[int, int]) -> None:
        """Play games `self.games` to `last - 1`; count or learn from them, and record them in pieces."""
        if self._record is None:
            self._play_piece(seats, self.games, last, games_space(0, 0))
        else:
            self._record_games(last, functools.partial(self._play_piece, seats))

    def _play_piece(self, seats: tuple[int, int], first: int, last: int, space: Games) -> None:
        """Play games `first` to `last - 1`, and write them to `space` unless it is empty."""
        game = first
        while True:
            rest = Games(space.start[game - first :], space.move, space.exploring)
            game = self._play_until_full(seats, game, last, rest)
            if game == last or self.grown is None:
                return
            self._make_room(self.grown)  # the game needs a larger table

    def _play_until_full(self, seats: tuple[int, int], first: int, last: int, space: Games) -> int:
        """Play games, and return the first that needs a larger table, or the one after the last."""
        span, grown = Span(self._key, self.games, first, last), self.grown
        play = Play(self._learning, seats, self._game, span, space)
        growth, may_grow = None if grown is None else grown.growth, grown is not None and grown.may_grow
        return int(play_games(self._players, play, self._counts, growth, self._by_outcome, may_grow))

    def _make_room(self, grown: GrowingTable) -> None:
        """Enlarge the board's tables, whose old arrays are freed on the way: nothing else may hold them."""
        del self.graph, self.tables, self.visits
        self._step = self._step._replace(visits=np.zeros(0))
        grown.enlarge()
        self._hold(grown)
        self._step = self._step._replace(visits=grown.visits)


class GivenGames(PlyByPly):
    """Trainer on given games, on any board; a board without room for a game grows first."""

    _games: Games

    def learn(self, games: Games) -> None:
        """Learn from games, in order."""
        self._games = games
        self.advance(self.games + games.start.size - 1, lambda: False)

    def _learn(self, last: int, _stop: Callable[[], bool]) -> None:
        grown, config, learnt = self.grown, self.config, 0
        games = on_graph(self._games, self.graph, config.board, config.symmetry) if grown is None else self._games
        while True:
            step = self._step._replace(game=self.games)
            growth, may_grow = (None, False) if grown is None else (grown.growth, grown.may_grow)
            at = self.tables, self.graph, step, growth, games, self._game, self._by_outcome
            learnt = learn_given(*at, learnt, may_grow)
            if grown is None or learnt == games.start.size - 1:
                break
            del at, growth, step
            self._make_room(grown)
        self.games = last


class Growing(PlyByPly):
    """Batch trainer that plays games, or draws their counts; these grow with the board within a batch."""

    _policy = UNLISTED

    def __init__(self, task: TrainerOptions) -> None:
        super().__init__(task)
        self._rows: Any = make_rows() if self.config.engine == "flow" else None

    def _learn(self, last: int, _stop: Callable[[], bool]) -> None:
        assert self.grown is not None
        end = min(last, batch_bounds(self.batches, self.games)[1])
        if self._counts is None:
            self._counts = empty_counts(self.graph)
        seat = self._seats[batch_parity(self.batches, self.games)]
        if self._rows is None:
            self._play(end, (seat, seat))
        elif not self._draw_batch(end, seat, self.grown):
            self.full, self._counts = True, None
            return
        n_open = self.graph.first_edge.size - 1
        dirty, rows = np.zeros(n_open, np.bool_), np.zeros(n_open, np.uint32)
        fold_counted(self._learning, self._counts, dirty, rows, seat, self.games)
        self.games = end

    def _make_room(self, grown: GrowingTable) -> None:
        super()._make_room(grown)
        if self._counts is not None:
            self._counts = _moved(self._counts, grown.graph)

    def _draw_batch(self, last: int, seat: int, grown: GrowingTable) -> bool:
        """Draw the counts of games `self.games` to `last - 1`, the learner in `seat`.

        If the table is full, remove all new positions of the batch, and return False.
        """
        counts = self._counts
        assert counts is not None
        counts.visited[0], counts.arrived[0], counts.n_visited[0] = 0, last - self.games, 1
        before, first, ply = grown.used, 0, 0
        while first < counts.n_visited[0]:
            until = int(counts.n_visited[0])
            self._draw(counts, first, until, opponent=seat >= 0 and ply & 1 != seat)
            while (first := arrive(grown.tables, grown.graph, grown.growth, counts, first, until, self.worth)) < until:
                if not grown.may_grow:
                    grown.go_back(before.rows, before.finals)
                    self._hold(grown)
                    return False
                self._make_room(grown)
                assert self._counts is not None
                counts = self._counts
            ply += 1
        n_open = grown.graph.first_edge.size - 1
        finals = grown.graph.outcome[n_open:]
        for outcome in (FIRST_WINS, SECOND_WINS, DRAW):
            self._by_outcome[outcome] += counts.arrived[n_open:][finals == outcome].sum()
        return True

    def _draw(self, counts: Counts, first: int, last: int, *, opponent: bool) -> None:
        """Draw the moves of games at `counts.visited[first:last]`, all of one ply; opponent: at random."""
        batch = self._key, self.games, counts
        if isinstance(self._players, Streams):
            draw_mixed_ply(self._players, self._learning, not opponent, *batch, first, last)
            return
        if self._policy.ordered.size != self.graph.child.size:
            # Space for the moves of rows, which are listed when games arrive there.
            rows = np.zeros(self.graph.first_edge.size - 1, np.uint32)
            self._policy = Policy(np.zeros(self.graph.child.size, np.uint32), rows)
        draw_ply(self._learning, self._policy, opponent, *batch, self._rows, first, last)


def _moved(counts: Counts, graph: Graph) -> Counts:
    """Return the counts of the current batch, copied to the size of a grown graph."""
    moved = empty_counts(graph)
    before, now = counts.visited.size, moved.visited.size
    moved.visited[: counts.n_visited[0]] = counts.visited[: counts.n_visited[0]]
    moved.n_visited[:] = counts.n_visited
    moved.taken[: counts.taken.shape[0]] = counts.taken
    moved.arrived[:before] = counts.arrived[:before]
    moved.arrived[now : now + counts.arrived.size - before] = counts.arrived[before:]
    return moved
