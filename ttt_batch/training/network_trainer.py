"""Trainer and prover of n-tuple networks, from self-play or from given games.

The networks learn in turn, a batch each, and independently.  So each thread trains a whole network.  A single network
is shared by the threads batch by batch.  Threads do not affect the weights.
"""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ttt_batch.core.errors import UsageError, flag
from ttt_batch.core.text import Number
from ttt_batch.evaluation.prover import ALWAYS_WINS, CANNOT_LOSE, Proof, Prover
from ttt_batch.games.bitboards import make_lines
from ttt_batch.games.board import DRAW, FIRST_WINS, SECOND_WINS
from ttt_batch.games.transcripts import Games
from ttt_batch.ntuple.learning import (
    WORTH_SHARING,
    NetworkWorkspace,
    learn_batches,
    learn_network_games,
    learn_shared,
    make_net,
    make_space,
)
from ttt_batch.ntuple.network import NetAgent, make_network_agent
from ttt_batch.ntuple.objectives import BOTH
from ttt_batch.runs.network_config import PatternConfig, make_pattern_config
from ttt_batch.runs.network_run import UNDECIDED, NetworkState, PatternRun
from ttt_batch.runs.state import table_digest

BUDGET, REFUTING, ENOUGH_LOST = 3_000_000, 65_536, 32
"""Limits of a proof within a training.  It enters at most BUDGET positions.  After REFUTING it stops if it has found
ENOUGH_LOST lost games.

Proofs must not stop at the first lost game, since the last few are far apart: 5x5x4 was then not proved as second.
"""

MEMORY = 1 << 29
"""Bytes for the positions of a proof; fixed, since the result must not depend on free memory."""

LOST_A_PROOF, MOST_LOST = 300, 1000
"""Maximum of lost games that a proof collects, and of the latest ones stored for each network."""


class PatternTrainer:
    """Trainer of one run.

    games: learnt from so far.  outcomes: int64[3], first wins, draws, second wins.  threads: number for learning and
    proving.  Use it in a `with` block, unless it only learns from given games.
    """

    def __init__(self, config: PatternConfig, before: PatternRun | None, threads: int) -> None:
        self.config, self.lines = config, make_lines(config.board)
        self.network = config.network() if before is None else before.network
        self.games, self.outcomes = 0, np.zeros(3, np.int64)
        self._nets = [make_net(self.network, aim, config.seed) for aim in config.aims]
        self._lost = [np.zeros((0, config.board.cells), np.int8) for _ in self._nets]
        self._threads, alone = threads, len(self._nets) == 1
        each = threads if alone and config.batch >= WORTH_SHARING else 1
        self._spaces = [make_space(self.lines, self.network, each) for _ in self._nets]
        self._provers = {seat: Prover(config.board, MEMORY) for seat in config.seats}
        self._stack = ExitStack()
        if before is not None:
            self._restore(before)

    def __enter__(self) -> "PatternTrainer":
        self._pool = self._stack.enter_context(ThreadPoolExecutor(max(self._threads, 1)))
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def _restore(self, run: PatternRun) -> None:
        """Load the state of a run."""
        for number, net in enumerate(self._nets):
            net.weights[:] = run.learnt.weights[number].T[:, self.network.kind]
            net.coherence[:] = run.learnt.coherence[number].reshape(net.coherence.shape)
        self._lost = list(run.learnt.lost)
        self.games = run.games
        self.outcomes = run.statistics["outcomes"][-1].copy()

    def advance(self, until: int) -> None:
        """Learn from the games up to `until`, which must be the end of a round of batches."""
        config, networks = self.config, len(self._nets)
        bounds = self.games // networks, until // networks
        step = config.alpha / self.network.offset.size

        def learn(number: int) -> None:
            net, space, starts = self._nets[number], self._spaces[number], self._lost[number]
            common = self.lines, self.network, net, starts, step, bounds, config.batch
            if len(space.game) > 1:
                learn_shared(*common, space, self._pool)
            else:
                learn_batches(*common, space.game[0], space.errors)

        if networks > 1 and self._threads > 1:
            list(self._pool.map(learn, range(networks)))
        else:
            for number in range(networks):
                learn(number)
        self.outcomes += sum(map(_taken, self._spaces))
        self.games = until

    def learn_given(self, games: Games) -> None:
        """Train every network on given whole games of cells, in order."""
        step = self.config.alpha / self.network.offset.size
        for net, space in zip(self._nets, self._spaces, strict=True):
            learn_network_games(self.lines, self.network, net, step, games, space.game[0], space.errors)
        ended = [_taken(space) for space in self._spaces]  # each network counts the same games
        self.outcomes += ended[0]
        self.games += games.start.size - 1

    def prove(self, stop: Callable[[], bool]) -> dict[int, Proof] | None:
        """Prove each seat, and store the lost games for training; if `stop()` is true, store none and return None."""
        config = self.config
        goal = ALWAYS_WINS if config.always_wins else CANNOT_LOSE
        agents = {seat: self.agent(seat) for seat in config.seats}

        def proof(seat: int) -> Proof:
            entered, lost = 0, 0

            def progress(*now: int) -> None:
                nonlocal entered, lost
                entered, lost = now

            return self._provers[seat].prove(
                agents[seat],
                seat,
                goal,
                budget=BUDGET,
                lost=LOST_A_PROOF,
                symmetric=config.sharing != "none",
                progress=progress,
                stop=lambda: stop() or (lost >= ENOUGH_LOST and entered >= REFUTING),
            )

        shared = len(agents) > 1 and self._threads > 1
        found = dict(zip(agents, (self._pool.map if shared else map)(proof, agents), strict=True))
        if stop():
            return None
        for number, aim in enumerate(config.aims):
            games = [found[seat].lost for seat in found if aim.seat in (seat, BOTH)]
            self._lost[number] = np.concatenate([self._lost[number], *games])[-MOST_LOST:]
        return found

    def agent(self, seat: int) -> NetAgent:
        """Return the current player of a seat."""
        number = [aim.seat for aim in self.config.aims].index(seat) if len(self._nets) > 1 else 0
        return make_network_agent(self.network, self._nets[number].weights)

    def learnt(self) -> NetworkState:
        """Return a copy of the weights, coherence and lost games."""
        return NetworkState(
            self.weights(),
            np.stack([net.coherence.reshape(-1, 2, 2) for net in self._nets]),
            tuple(lost.copy() for lost in self._lost),
        )

    def weights(self) -> NDArray[np.int32]:
        """Return int32[N, K, P]: a copy of all weights."""
        first = self.network.members[self.network.kind_start[:-1]]
        return np.stack([net.weights[:, first].T for net in self._nets])


def _taken(space: NetworkWorkspace) -> NDArray[np.int64]:
    """Return int64[3]: first wins, draws and second wins counted in the threads' workspace, and reset the counts."""
    outcomes: NDArray[np.int64] = space.errors.outcomes[:, [FIRST_WINS, DRAW, SECOND_WINS]].sum(axis=0)
    space.errors.outcomes[:] = 0
    return outcomes


def next_point(config: PatternConfig, games: int) -> int:
    """Return the first recorded point after `games`: the next proof, or without proofs 1,000, 2,000 ... 10,000 ...

    Each point is rounded up to the end of a round of batches, and follows from the configuration alone.
    """
    if config.prove_every:
        every = whole_rounds(config, config.prove_every)
        return (games // every + 1) * every
    unit = 10 ** max(3, len(str(games)) - 1)
    before = whole_rounds(config, games // unit * unit)
    return before if before > games else whole_rounds(config, (games // unit + 1) * unit)


def whole_rounds(config: PatternConfig, games: int) -> int:
    """Round up `games` to the end of a round of batches."""
    return -(-games // config.round) * config.round


OPTIONS = ("alpha", "gamma")
"""Options that may differ from those of the continued run."""


def playing_weights(run: PatternRun) -> NetworkState:
    """Return what a run has learnt, with the weights by which it plays, such as the proved ones.

    So learning changes exactly the player that the person met.
    """
    weights = run.learnt.weights.copy()
    for seat in (0, 1):
        weights[-seat, :, seat] = run.weights_of(seat)
    return run.learnt._replace(weights=weights)


def networks_config_from_games(run: PatternRun, **options: Number | None) -> PatternConfig:
    """Return the configuration of networks that continue `run` with given games; options: see `OPTIONS`.

    These networks are not proved and play with their last weights.  Raises UsageError.
    """
    given = {name: value for name, value in options.items() if value is not None}
    for name in given:
        if name not in OPTIONS:
            raise UsageError(f"{flag(name)} cannot be changed for networks that learn from given games; leave it out")
    values: dict[str, Any] = run.config.to_dict() | {"prove_every": 0, "keep": "last", "batch": 1} | given
    learnt = playing_weights(run)
    values["start"] = table_digest([learnt.weights, learnt.coherence])
    return make_pattern_config(files=False, **values)


class NetworksFromGames:
    """Trainer of networks on given games, one at a time.

    config: from `networks_config_from_games`.  origin: the run that is continued, which is not modified.
    """

    def __init__(self, config: PatternConfig, origin: PatternRun) -> None:
        self.config, self._origin = config, origin
        start = replace(origin, learnt=playing_weights(origin))
        start.network = origin.network
        self._trainer = PatternTrainer(config, start, 1)

    def learn(self, games: Games) -> None:
        """Learn from games of cells, in order."""
        self._trainer.learn_given(games)

    def run(self, seconds: float) -> PatternRun:
        """Return the run with one recorded point, without a proof.

        seconds: how long learning took.  The games and outcomes include those of the original run.
        """
        trainer = self._trainer
        point = {
            "games": np.int64(trainer.games),
            "seconds": np.float64(seconds),
            "outcomes": trainer.outcomes,
            "proof": np.full(2, UNDECIDED, np.int8),
            "proof_positions": np.zeros(2, np.int64),
        }
        statistics = {name: np.array([value]) for name, value in point.items()}
        run = PatternRun(self.config, trainer.games, trainer.learnt(), statistics)
        run.network = self._origin.network
        return run
