"""Trainer and prover of n-tuple networks, from self-play or from given games.

The networks learn in turn, a batch each, and independently.  So each thread trains a whole network.  A single network
is shared by the threads batch by batch.  Threads do not affect the weights.
"""

from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ttt_batch.compiler.numerics import HUNTING, stream_key
from ttt_batch.core.errors import UsageError, flag
from ttt_batch.core.text import SEATS, Number, count_text
from ttt_batch.evaluation.prover import ALWAYS_WINS, CANNOT_LOSE, Goal, Proof, Prover
from ttt_batch.games.bitboards import make_lines
from ttt_batch.games.board import DRAW, EMPTY, FIRST_WINS, SECOND_WINS
from ttt_batch.games.transcripts import Games
from ttt_batch.ntuple.games import network_view
from ttt_batch.ntuple.learning import (
    WORTH_SHARING,
    NetworkWorkspace,
    follow_weights,
    learn_batches,
    learn_network_games,
    learn_shared,
    make_net,
    make_space,
)
from ttt_batch.ntuple.network import COLUMNS, NetAgent, make_network_agent
from ttt_batch.ntuple.objectives import BOTH
from ttt_batch.runs.config import PatternConfig, make_pattern_config
from ttt_batch.runs.network_run import PROVED, REFUTED, UNDECIDED, NetworkState, PatternRun
from ttt_batch.runs.state import table_digest
from ttt_batch.training.trainers.base import Trainer

BUDGET, REFUTING, ENOUGH_LOST = 3_000_000, 65_536, 32
"""Limits of a proof within a training.  It enters at most BUDGET positions.  After REFUTING it stops if it has found
ENOUGH_LOST lost games.

Proofs must not stop at the first lost game, since the last few are far apart: 5x5x4 was then not proved as second.
Networks coded by columns stop only at LOST_A_PROOF: on 5x6x4-gravity too few lost games were found otherwise.
"""

HUNTS, HUNTED, LOST_A_HUNT, FEW_LOST = 40, 20_000, 10, 4
"""Hunts before a proof, most positions that each enters, and lost games that each looks for.  The proof itself follows
if all of them find FEW_LOST at most.  Lost games of hunts are far apart, where those of a long proof that ends early
are close together: 6x6x4-gravity was not proved without hunts.
"""

BUDGET_AFTER_HUNTS = 1 << 25
"""Most positions of a proof after hunts: on 6x6x4-gravity it enters three to four million."""

MEMORY = 1 << 29
"""Bytes for the positions of a proof; fixed, since the result must not depend on free memory."""

AVERAGED = 32
"""At a proof the average of weights moves towards the present weights by 1/AVERAGED of the difference.

Small changes of weights change moves that few games depend on, so the lost games differ from proof to proof.
"""

LOST_A_PROOF, MOST_LOST = 300, 1000
"""Maximum of lost games that a proof collects, and of the latest ones stored for each network."""


NUMBERS = {"proved": PROVED, "refuted": REFUTED, "undecided": UNDECIDED}


class PatternTrainer(Trainer):
    """Trainer of one run of networks, from self-play or from given games.

    before: the run to continue, if any.  threads: number for learning and proving.
    Use it in a `with` block, unless it only learns from given games.
    """

    def __init__(self, config: PatternConfig, before: PatternRun | None, threads: int) -> None:
        self.config, self.lines = config, make_lines(config.board)
        self.network = config.network() if before is None else before.network
        self.games, self._outcomes, self.proofs = 0, np.zeros(3, np.int64), {}
        self._proved = None if before is None else before.proved
        self._average: NDArray[np.int32] | None = None
        self._nets = [make_net(self.lines, self.network, aim, config.seed) for aim in config.aims]
        self._lost = [np.zeros((0, config.board.cells), np.int8) for _ in self._nets]
        self._threads, alone, self._pool = threads, len(self._nets) == 1, ThreadPoolExecutor(max(threads, 1))
        each = threads if alone and config.batch >= WORTH_SHARING else 1
        self._spaces = [make_space(self.lines, self.network, each, config.batch) for _ in self._nets]
        symmetric = config.sharing != "none"
        self._provers = {seat: Prover(config.board, MEMORY, symmetric=symmetric) for seat in config.seats}
        # Provers of their own: fewer slots take less time to clear.
        self._hunters = {seat: Prover(config.board, MEMORY, symmetric=symmetric) for seat in config.seats}
        if before is not None:
            for number, net in enumerate(self._nets):
                net.weights[:] = before.learnt.weights[number].T[:, self.network.kind]
                net.coherence[:] = before.learnt.coherence[number].reshape(net.coherence.shape)
            self._lost, self.games = list(before.learnt.lost), before.games
            if before.average is not None:
                self._average = before.average.copy()
            self._outcomes = before.statistics["outcomes"][-1].copy()
        for seat, prover in self._provers.items() if config.prove_every else ():
            prover.prepare(self.agent(seat))

    def __exit__(self, *_: object) -> None:
        self._pool.shutdown()

    @property
    def outcomes(self) -> NDArray[np.int64]:
        """Return int64[3]: first wins, draws and second wins so far."""
        return self._outcomes.copy()

    def bounds(self, game: int) -> tuple[int, int]:
        """Return the bounds of the round of batches that contains `game`."""
        first = game - game % self.config.round
        return first, first + self.config.round

    def next_point(self, games: int) -> int:
        """Return the number of games at the first recorded point after `games`."""
        return next_point(self.config, games)

    def advance(self, last: int, _stop: Callable[[], bool]) -> None:
        """Learn from the games up to `last`, which must be the end of a round of batches."""
        config, networks = self.config, len(self._nets)
        bounds = self.games // networks, last // networks
        step = config.alpha / self.network.offset.size

        def learn(number: int) -> None:
            net, space, starts = self._nets[number], self._spaces[number], self._lost[number]
            common = net, starts, step
            if len(space.game) > 1:
                learn_shared(*common, range(*bounds, config.batch), space, self._pool)
            else:
                learn_batches(*common, bounds, config.batch, space.game[0], space.errors)

        if networks > 1 and self._threads > 1:
            list(self._pool.map(learn, range(networks)))
        else:
            for number in range(networks):
                learn(number)
        self._outcomes += sum(map(_taken, self._spaces))
        self.games = last

    def learn(self, games: Games) -> None:
        """Train every network on given whole games of cells, in order."""
        step = self.config.alpha / self.network.offset.size
        for net, space in zip(self._nets, self._spaces, strict=True):
            learn_network_games(net, step, games, space.game[0], space.errors)
        ended = [_taken(space) for space in self._spaces]  # each network counts the same games
        self._outcomes += ended[0]
        self.games += games.start.size - 1

    def prove(self, stop: Callable[[], bool]) -> dict[int, Proof] | None:
        """Prove each seat, store the lost games for training, and average the weights.

        If `stop()` is true, change nothing and return None.
        """
        config = self.config
        goal = ALWAYS_WINS if config.always_wins else CANNOT_LOSE
        enough = LOST_A_PROOF if config.coding == COLUMNS else ENOUGH_LOST
        agents = {seat: self.agent(seat) for seat in config.seats}

        def proof(seat: int) -> Proof:
            hunt = self._hunt(agents[seat], seat, goal, stop) if config.hunts else None
            if hunt is not None and len(hunt.lost) > FEW_LOST:
                return hunt
            found = self._provers[seat].prove(
                agents[seat],
                seat,
                goal,
                budget=BUDGET if hunt is None else BUDGET_AFTER_HUNTS,
                lost=LOST_A_PROOF,
                hunt=0 if hunt is None else self._hunt_key(seat, HUNTS),
                follow=lambda entered, lost: stop() or (lost >= enough and entered >= REFUTING),
            )
            return found if hunt is None else replace(found, lost=np.concatenate([hunt.lost, found.lost]))

        shared = len(agents) > 1 and self._threads > 1
        found = dict(zip(agents, (self._pool.map if shared else map)(proof, agents), strict=True))
        if stop():
            return None
        most = LOST_A_PROOF if config.hunts else MOST_LOST
        for number, aim in enumerate(config.aims):
            games = [found[seat].lost for seat in found if aim.seat in (seat, BOTH)]
            self._lost[number] = np.concatenate([self._lost[number], *games])[-most:]
        if config.keep == "average":
            self._average_weights()
        return found

    def _average_weights(self) -> None:
        """Move the averages of the seats' weights towards the present ones; the first proof sets them to these."""
        share = AVERAGED
        if self._average is None:
            self._average, share = np.zeros((self.network.kind_start.size - 1, 2), np.int32), 1
        for seat in self.config.seats:
            follow_weights(self.network, self._nets[-seat].weights[seat], self._average[:, seat], share)

    def _hunt(self, agent: NetAgent, seat: int, goal: Goal, stop: Callable[[], bool]) -> Proof:
        """Return the lost games of several hunts as one proof, refuted or undecided."""
        found = []
        for number in range(HUNTS):
            key = self._hunt_key(seat, number)
            found.append(
                self._hunters[seat].prove(
                    agent, seat, goal, budget=HUNTED, lost=LOST_A_HUNT, hunt=key, follow=lambda *_: stop()
                )
            )
            if stop():
                break
        lost = np.concatenate([one.lost for one in found])
        positions = sum(one.positions for one in found)
        line = next((one.line for one in found if one.line), None)
        return Proof("refuted" if len(lost) else "undecided", positions, line, lost)

    def _hunt_key(self, seat: int, number: int) -> int:
        """Return the key of the random numbers of a hunt after the games so far."""
        return int(stream_key(self.config.seed + self.games * (HUNTS + 1) + number, HUNTING[seat])) >> 1 | 1

    def judge(self, stop: Callable[[], bool] = lambda: False) -> dict[str, Any] | None:
        """Prove each seat, if the configuration asks for proofs, and keep the weights of the proved seats.

        Return the columns of the point, or None once `stop()` is true.
        """
        found = self.prove(stop) if self.config.prove_every else {}
        if not found:
            return None if found is None else self.glance()
        self.proofs = {SEATS[seat]: (proof.status, proof.positions) for seat, proof in found.items()}
        for seat in (seat for seat, proof in found.items() if proof.status == "proved"):
            weights = self.present_weights(seat)
            self._proved = np.zeros((len(weights), 2), np.int32) if self._proved is None else self._proved.copy()
            self._proved[:, seat] = weights
        return self.glance(found)

    def glance(self, proofs: Mapping[int, Proof] = {}) -> dict[str, Any]:
        """Return the columns of a point, by default without proofs."""
        found = [proofs.get(seat) for seat in (0, 1)]
        return {
            "proof": np.array([0 if one is None else NUMBERS[one.status] for one in found], np.int8),
            "proof_positions": np.array([0 if one is None else one.positions for one in found], np.int64),
        }

    def run(self, statistics: dict[str, NDArray[Any]]) -> PatternRun:
        """Return the run in its current state."""
        average = None if self._average is None else self._average.copy()
        run = PatternRun(self.config, self.games, self.state(), statistics, self._proved, average)
        run.network = self.network
        return run

    def agent(self, seat: int) -> NetAgent:
        """Return the current player of a seat."""
        number = [aim.seat for aim in self.config.aims].index(seat) if len(self._nets) > 1 else 0
        return make_network_agent(self.network, self._nets[number].weights)

    def state(self) -> NetworkState:
        """Return a copy of the weights, coherence and lost games."""
        return NetworkState(
            self.weights(),
            np.stack([net.coherence.reshape(-1, 2, 2) for net in self._nets]),
            tuple(lost.copy() for lost in self._lost),
        )

    def present_weights(self, seat: int) -> NDArray[np.int32]:
        """Return int32[K]: a copy of the present weights of a seat, of the first network, or of the last one."""
        weights: NDArray[np.int32] = self._nets[-seat].weights[seat]
        return weights[self.network.members[self.network.kind_start[:-1]]]

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


def last_game(config: PatternConfig, games: int) -> int:
    """Round up `games` to a whole round of batches, or with proofs to the next proof."""
    return next_point(config, games - 1) if config.prove_every else whole_rounds(config, games)


def with_first_proof_by(config: PatternConfig, games: int, *, given: bool) -> PatternConfig:
    """Return the configuration of a run of `games` games, with its first proof at the end if that would come later.

    given: whether the user chose the interval of proofs.  Then raise UsageError instead of changing it.
    """
    if config.prove_every <= games:
        return config
    if given:
        every = flag("prove_every", config.prove_every)
        raise UsageError(f"{games:,} games end before the first proof of {every}; give more games, or prove more often")
    return replace(config, prove_every=games)


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


def check_proofs(run: PatternRun) -> list[str]:
    """Repeat the last proofs of a run of networks; return one line for each recorded proof or point that is wrong."""
    games = [0, *run.statistics["games"].tolist()]
    due = [next_point(run.config, before) for before in games[:-1]]
    wrong = not run.from_games and run.games and (games[1:-1] != due[:-1] or games[-1] > due[-1])
    points = ["statistics/games are not the recorded points that follow from its configuration"] if wrong else []
    return [*points, *_proved_again(run), *_last_again(run)]


def _proved_again(run: PatternRun) -> Iterator[str]:
    """Repeat the proofs of the weights proved last; yield a line for each difference."""
    if run.proved is None:
        return
    agent = make_network_agent(run.network, run.proved.T[:, run.network.kind])
    goal = ALWAYS_WINS if run.config.always_wins else CANNOT_LOSE
    prover = Prover(run.board, symmetric=run.symmetric)
    for seat in run.config.seats:
        recorded = run.proved_positions(seat)
        if not run.proved_after(seat):
            continue
        again = prover.prove(agent, seat, goal, budget=max(recorded, 1))
        if (again.status, again.positions) != ("proved", recorded):
            yield (
                f"statistics/proof has {SEATS[seat]} proved with {count_text(recorded, 'position')}; "
                f"tables/proved is {again.status} there with {again.positions:,}"
            )


def _last_again(run: PatternRun) -> Iterator[str]:
    """Repeat the proofs of the last recorded point from the last weights; yield a line for each difference."""
    proof = run.statistics["proof"][-1:].ravel()
    if run.from_games or not proof.any():
        return
    trainer = PatternTrainer(run.config, run, 1)
    found = trainer.prove(lambda: False) or {}
    for seat, again in found.items():
        if proof[seat] not in (UNDECIDED, NUMBERS[again.status]):
            name = next(name for name, number in NUMBERS.items() if number == proof[seat])
            yield f"the last row of statistics/proof has {SEATS[seat]} {name}; the last weights are {again.status}"
        weights = run.learnt.weights[-seat, :, seat]  # of the first network, or the last one
        if proof[seat] == PROVED and run.proved is not None and not np.array_equal(run.proved[:, seat], weights):
            yield f"tables/proved is not what proved {SEATS[seat]} at the last recorded point"
    for aim, games in zip(run.config.aims, run.learnt.lost, strict=True):
        lost = [seat for seat in found if aim.seat in (seat, BOTH) and proof[seat] == REFUTED]
        if lost and len(games) and not _lets_happen(run, trainer.agent(lost[-1]), lost[-1], games[-1].tolist()):
            yield "the last game of tables/lost cannot occur with the last weights"


def _lets_happen(run: PatternRun, agent: NetAgent, seat: int, game: list[int]) -> bool:
    """Return whether all moves of the agent's seat in a game are among its best."""
    lines, marks = make_lines(run.board), (EMPTY,) * run.board.cells
    for ply, cell in enumerate(cell for cell in game if cell >= 0):
        if ply % 2 == seat and cell not in network_view(lines, agent, marks).best:
            return False
        marks = run.board.after(marks, cell)
    return True
