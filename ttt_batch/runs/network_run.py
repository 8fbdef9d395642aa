"""Runs of n-tuple networks: contents, storage and loading.

The file holds only weights that games have used, because most patterns never occur: on 6x5x4 about 5 % are used.
"""

import functools
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ttt_batch.core.errors import RunFileError
from ttt_batch.core.resources import free_memory
from ttt_batch.core.text import SEATS, Ties, count_text, parse_int
from ttt_batch.games.bitboards import Lines, make_lines
from ttt_batch.games.board import EMPTY, FIRST_WINS, SECOND_WINS, UNFINISHED, Position
from ttt_batch.ntuple.games import NetworkView, network_view
from ttt_batch.ntuple.learning import LARGEST
from ttt_batch.ntuple.network import NetAgent, Network, make_network_agent
from ttt_batch.ntuple.objectives import BOTH
from ttt_batch.runs.base import StoredRun
from ttt_batch.runs.config import PatternConfig, pattern_config_from
from ttt_batch.runs.storage.declaration import NETWORK_COLUMNS, RunData

FOREIGN = "the file is damaged or foreign"

TABLES = {
    "network": ("uint8", "M", "the network of each weight that games have used, from 0"),
    "kind": ("int32", "M", "the number of the weight; weights that symmetry makes equal have one"),
    "player": ("uint8", "M", "whose move leads to the positions that the weight is for, 0 the first player's, else 1"),
    "weight": ("int32", "M", "the weight, in 2**-20"),
    "error": ("int64", "M", "the sum of all errors that the weight has seen, in 2**-20"),
    "absolute": ("int64", "M", "the sum of their absolute values"),
    "proved": ("int32", "M", "the weight when the player's seat was last proved; 0 if that seat does not play by it"),
    "average": ("int32", "M", "the weight's average over the last proofs; 0 if that seat does not play by it"),
    "lost": ("int8", "L,{cells}", "lost games that proofs have found, cells in order, -1 after the end"),
    "lost_network": ("uint8", "L", "the network that lost them"),
}
"""Dtype, axes and meaning of each table."""

KEPT_APART = ("proved", "average")
"""Tables that a file lacks if no seat was proved, and unless the run plays by it; the last fields of `PatternRun`."""


class NetworkState(NamedTuple):
    """Learnt contents of a run's networks; `N` networks, `K` kinds of weights.

    weights: int32[N, K, P].  coherence: int64[N, K, P, 2], see `ntuple.learning`.
    lost: for each network int8[lost games, cells], cells in order, -1 after the end.
    """

    weights: NDArray[np.int32]
    coherence: NDArray[np.int64]
    lost: tuple[NDArray[np.int8], ...]


def network_tables(learnt: NetworkState, apart: Mapping[str, NDArray[np.int32] | None]) -> dict[str, NDArray[Any]]:
    """Return the learnt contents as the tables of a file.

    apart: for each name of KEPT_APART int32[K, P], or None.
    """
    used = np.nonzero(learnt.coherence[..., 1])
    network, kind, player = used
    tables = {
        "network": network.astype(np.uint8),
        "kind": kind.astype(np.int32),
        "player": player.astype(np.uint8),
        "weight": learnt.weights[used],
        "error": learnt.coherence[*used, 0],
        "absolute": learnt.coherence[*used, 1],
        "lost": np.concatenate(learnt.lost),
        "lost_network": np.repeat(np.arange(len(learnt.lost)), [len(lost) for lost in learnt.lost]).astype(np.uint8),
    }
    plays = _plays(network, player, len(learnt.weights))
    present = {name: weights for name, weights in apart.items() if weights is not None}
    return tables | {name: np.where(plays, weights[kind, player], 0) for name, weights in present.items()}


def _plays(network: NDArray[Any], player: NDArray[Any], networks: int) -> NDArray[np.bool_]:
    """Return whether a player uses a network's weights; the first uses the first network, the second the last."""
    return np.asarray(network == player * (networks - 1))


def table_fields(cells: int, names: Iterable[str]) -> dict[str, tuple[str, str]]:
    """Return the axes and meaning of tables, for the file of a board with `cells` cells."""
    return {name: (TABLES[name][1].format(cells=cells), TABLES[name][2]) for name in names}


def restore(
    tables: Mapping[str, NDArray[Any]], networks: int, kinds: int, cells: int
) -> tuple[NetworkState, dict[str, NDArray[np.int32]]]:
    """Return what a file's tables hold: the networks, and what there is of KEPT_APART, int32[K, P] each.

    Raises RunFileError for tables that training cannot have written.
    """
    _check_layout(tables, cells)
    used = tables["network"], tables["kind"], tables["player"]
    for name, limit in (("network", networks), ("kind", kinds), ("player", 2), ("lost_network", networks)):
        if ((tables[name] < 0) | (tables[name] >= limit)).any():
            raise RunFileError(f"tables/{name} holds a number that is not from 0 to {limit - 1:,}; {FOREIGN}")
    places = np.ravel_multi_index(tuple(one.astype(np.int64) for one in used), (networks, kinds, 2))
    if (np.diff(places) <= 0).any():
        raise RunFileError(f"tables/kind does not ascend; {FOREIGN}")
    if (tables["absolute"] <= 0).any() or (np.abs(tables["error"]) > tables["absolute"]).any():
        raise RunFileError(f"tables/error holds a sum beyond that of absolute values; {FOREIGN}")
    for name in ("weight", *(name for name in KEPT_APART if name in tables)):
        if (np.abs(tables[name].astype(np.int64)) > LARGEST).any():
            raise RunFileError(f"tables/{name} holds a number beyond {LARGEST:,}; {FOREIGN}")
    weights, coherence = np.zeros((networks, kinds, 2), np.int32), np.zeros((networks, kinds, 2, 2), np.int64)
    weights[used] = tables["weight"]
    coherence[*used, 0], coherence[*used, 1] = tables["error"], tables["absolute"]
    lost = tuple(tables["lost"][tables["lost_network"] == number] for number in range(networks))
    network, kind, player = (one.astype(np.int64) for one in used)
    plays, apart = _plays(network, player, networks), {}
    for name in (name for name in KEPT_APART if name in tables):
        if tables[name][~plays].any():
            raise RunFileError(f"tables/{name} holds a weight by which no seat plays; {FOREIGN}")
        apart[name] = np.zeros((kinds, 2), np.int32)
        apart[name][kind[plays], player[plays]] = tables[name][plays]
    return NetworkState(weights, coherence, lost), apart


def _check_layout(tables: Mapping[str, NDArray[Any]], cells: int) -> None:
    """Raise RunFileError unless the tables are those of `TABLES` and every lost game is a valid sequence of cells."""
    for name, (dtype, axes, _) in TABLES.items():
        if name not in tables:
            if name not in KEPT_APART:
                raise RunFileError(f"table {name!r} is missing; {FOREIGN}")
        elif tables[name].dtype != dtype or tables[name].ndim != len(axes.split(",")):
            raise RunFileError(f"tables/{name} is not {dtype}[{axes.format(cells=cells)}]; {FOREIGN}")
    odd = sorted(tables.keys() - TABLES.keys())
    if odd:
        raise RunFileError(f"tables/{odd[0][:40]} is not a table of pattern networks; {FOREIGN}")
    lengths = {len(tables[name]) for name in tables if TABLES[name][1] == "M"}
    if len(lengths) > 1 or len(tables["lost"]) != len(tables["lost_network"]) or tables["lost"].shape[1] != cells:
        raise RunFileError(f"the lengths of its tables do not agree; {FOREIGN}")
    for game in tables["lost"]:
        length = int((game >= 0).sum())
        moves = game[:length]
        legal = (moves >= 0).all() and (moves < cells).all() and len(set(moves.tolist())) == length
        if not legal or (game[length:] != -1).any():
            raise RunFileError(f"tables/lost holds an invalid game; {FOREIGN}")


PROVED, UNDECIDED, REFUTED = 1, 0, -1
"""Result of a proof at a recorded point; UNDECIDED also if no proof was tried."""


@dataclass(repr=False, eq=False)
class PatternRun(StoredRun):
    """Result of training pattern networks, in memory or read from a file; equal runs, other fields: see `StoredRun`.

    learnt: the state from which training resumes.
    proved: int32[K, P], the weights of each seat when it was last proved, 0 for a seat never proved; or None.
    average: int32[K, P], the average of the weights of each seat over the last proofs, if the run plays by it; or None.
    """

    config: PatternConfig
    games: int
    learnt: NetworkState
    statistics: dict[str, NDArray[Any]]
    proved: NDArray[np.int32] | None = None
    average: NDArray[np.int32] | None = None

    generalises: ClassVar[bool] = True
    own_ties: ClassVar[bool] = True
    """True: the agent takes wins in one, and its verdicts and proofs hold for each of the tied best moves."""

    def __post_init__(self) -> None:
        config = self.config
        self.board, self.name = config.board, config.learner
        self.symmetric, self.from_games = config.sharing != "none", config.start != ""
        self.winning_seats = tuple(SEATS[seat] for seat in config.seats) if config.always_wins else ()

    @property
    def holds(self) -> NDArray[np.bool_] | None:
        """Return at which recorded points each configured seat was proved."""
        found: NDArray[np.bool_] = self.statistics["proof"][:, list(self.config.seats)] == PROVED
        return found

    @functools.cached_property
    def network(self) -> Network:
        """Return the shape of the networks."""
        return self.config.network()

    @functools.cached_property
    def _lines(self) -> Lines:
        return make_lines(self.board)

    @functools.cached_property
    def agent(self) -> NetAgent:
        """Return the agent for kernels; only one thread at a time may use it."""
        return make_network_agent(self.network, np.stack([self.weights_of(seat)[self.network.kind] for seat in (0, 1)]))

    def plays_proved(self, seat: int) -> bool:
        """Return whether a seat (0 or 1) plays with the weights of its last proof instead of the latest weights."""
        return self.config.keep == "proved" and self.proved_after(seat) > 0

    def claims_proof(self, seat: int) -> bool:
        """Return whether training proved a seat (0 or 1); False for an average, which training does not prove."""
        return self.average is None and self.proved_after(seat) > 0

    def kept_after(self, seat: int) -> int | None:
        """Return the games after which it had the weights by which a seat (0 or 1) plays; None for an average."""
        if self.plays_proved(seat):
            return self.proved_after(seat)
        return self.games if self.average is None else None

    def weights_of(self, seat: int) -> NDArray[np.int32]:
        """Return the weights, int32[K], by which a seat (0 or 1) plays.  Raises UsageError."""
        seat = parse_int("seat", seat, 0, 1)
        if self.proved is not None and self.plays_proved(seat):
            return self.proved[:, seat]
        if self.average is not None and seat in self.config.seats:
            return self.average[:, seat]
        weights: NDArray[np.int32] = self.learnt.weights[-seat, :, seat]  # the first network, or the last one
        return weights

    def _read(self, position: str | int | Position) -> NetworkView:
        return network_view(self._lines, self.agent, self.position_asked(position))

    def candidates(self, position: str | int | Position, ties: Ties = "any") -> list[int]:
        """Return the cells that it may pick in an unfinished position: all best moves, or some of them.

        ties: as for `Run.candidates`, but `sharp` is a UsageError.
        """
        ties = self.checked_ties(ties)
        return self.best_cells(self.position(position), self._read(position).best, ties)

    def move_values(self, position: str | int | Position) -> dict[int, float]:
        """Return its value of each free cell for the player to move: 1 is a win, -1 a loss."""
        return self._read(position).values

    def value(self, position: str | int | Position) -> float:
        """Return the value of a position for the player to move: the best move's, or the result if it is final."""
        marks = self.position(position)
        outcome = self.board.outcome(marks)
        if outcome != UNFINISHED:
            return float(self.worth[(self.board.cells - marks.count(EMPTY)) & 1, outcome])
        return max(self.move_values(marks).values())

    @property
    def is_proved(self) -> bool:
        """Return whether every configured seat was proved at some recorded point."""
        return all(map(self.proved_after, self.config.seats))

    def proved_after(self, seat: int) -> int:
        """Return the games after which a seat (0 or 1) was proved last; 0 if never, or if given games followed."""
        return 0 if self.config.start else int(self.statistics["games"][self.proofs(seat)][-1:].sum())

    def proved_positions(self, seat: int) -> int:
        """Return the number of positions that the last proof of a seat entered; 0 without one, see `proved_after`."""
        return 0 if self.config.start else int(self.statistics["proof_positions"][self.proofs(seat), seat][-1:].sum())

    def proofs(self, seat: int) -> NDArray[np.bool_]:
        """Return the recorded points at which a seat (0 or 1) was proved, as bool[T].  Raises UsageError."""
        found: NDArray[np.bool_] = self.statistics["proof"][:, parse_int("seat", seat, 0, 1)] == PROVED
        return found

    def verdict(self) -> str:
        """Return the proofs in words, by seat; empty without proofs, and for an average of weights, which has none."""
        goal = "always wins" if self.config.always_wins else "cannot lose"
        return "; ".join(
            f"{SEATS[seat]} {goal}: proved, {count_text(self.proved_positions(seat), 'position')}"
            for seat in self.config.seats
            if self.claims_proof(seat)
        )

    @property
    def tried(self) -> NDArray[np.bool_]:
        """Return the recorded points at which proofs were tried, as bool[T]; an interrupted run may end without one."""
        proof, positions = self.statistics["proof"], self.statistics["proof_positions"]
        found: NDArray[np.bool_] = (proof != UNDECIDED).any(axis=1) | (positions != 0).any(axis=1)
        return found

    @property
    def lacks_proof(self) -> bool:
        """Return whether the run makes proofs and was stopped before the one after its last game."""
        return self.config.prove_every > 0 and not self.tried[-1:].all()

    def later_proofs(self, seat: int) -> tuple[int, int]:
        """Return how many of a seat's proofs after its first success succeeded, and their number."""
        held = self.proofs(seat)
        later = held[int(held.argmax()) + 1 :] if held.any() else held[:0]
        return int(later.sum()), later.size

    def learnt_arrays(self) -> dict[str, NDArray[Any]]:
        """Return the tables of the file."""
        return network_tables(self.learnt, {"proved": self.proved, "average": self.average})

    def data(self) -> RunData:
        """Return the contents of the run file."""
        tables = self.learnt_arrays()
        return self._data(tables, table_fields(self.board.cells, tables))


def pattern_run_of(data: RunData) -> PatternRun:
    """Return the run of a file's data.  Raises RunFileError if they contradict each other."""
    config = pattern_config_from(data.config)
    network = config.network()
    kinds, networks = network.kind_start.size - 1, len(config.aims)
    if data.states or data.resume:
        raise RunFileError(f"it holds positions, which pattern networks do not have; {FOREIGN}")
    for finding in contradictions(data, config):
        raise RunFileError(f"{finding}; {FOREIGN}")
    if networks * kinds * 40 > free_memory():
        raise RunFileError(f"its {count_text(networks * kinds * 2, 'weight')} take more memory than is free; free some")
    learnt, apart = restore(data.tables, networks, kinds, config.board.cells)
    for finding in _lost_contradictions(learnt, data, config):
        raise RunFileError(f"{finding}; {FOREIGN}")
    run = PatternRun(config, data.games, learnt, data.statistics, *map(apart.get, KEPT_APART))
    if (run.proved is not None) != any(map(run.proved_after, config.seats)):
        raise RunFileError(f"tables/proved does not agree with statistics/proof; {FOREIGN}")
    if (run.average is not None) != (config.keep == "average" and bool(run.tried.any())):
        raise RunFileError(f"tables/average does not agree with its configuration; {FOREIGN}")
    run.network = network
    run.interrupted = run.lacks_proof
    return run


def contradictions(data: RunData, config: PatternConfig) -> Iterator[str]:
    """Yield a message for each contradiction in the statistics of a file."""
    games, outcomes = data.statistics["games"], data.statistics["outcomes"]
    missing = [name for name in NETWORK_COLUMNS if name not in data.statistics]
    if missing:
        yield f"statistics/{missing[0]} is missing"
        return
    if data.games and not (games.size and games[-1] == data.games):
        yield "its last recorded point is not that of its last game"
    if any(sum(row) != number for row, number in zip(outcomes.tolist(), games.tolist(), strict=True)):
        yield "statistics/outcomes does not add up to the games played"
    if config.start:
        return  # proofs from before the given games do not hold for the present networks
    proof, positions = (data.statistics[name] for name in NETWORK_COLUMNS)
    if ((proof != UNDECIDED) & (positions == 0)).any():
        yield "statistics/proof holds proofs or refutations that entered no position"
    others = [seat for seat in (0, 1) if seat not in config.seats]
    if (proof[:, others] != UNDECIDED).any() or positions[:, others].any():
        yield f"statistics/proof holds a proof of a seat other than {config.seat}"
    if not config.prove_every and (proof.any() or positions.any()):
        yield "statistics/proof holds proofs, but its configuration turns them off"
    if data.games % config.round or (games % config.round).any():
        yield f"its games are not whole rounds of {config.round:,}"


def _lost_contradictions(learnt: NetworkState, data: RunData, config: PatternConfig) -> Iterator[str]:
    """Yield a message for each contradiction between the lost games and the rules or the proofs."""
    board = config.board
    for number, (games, aim) in enumerate(zip(learnt.lost, config.aims, strict=True)):
        seats = config.seats if aim.seat == BOTH else (aim.seat,)
        wins = {(FIRST_WINS, SECOND_WINS)[seat] for seat in seats}
        losses = {(SECOND_WINS, FIRST_WINS)[seat] for seat in seats}
        for game in games.tolist():
            ends, marks = UNFINISHED, (EMPTY,) * board.cells
            for cell in (cell for cell in game if cell >= 0):
                if ends != UNFINISHED:
                    yield "tables/lost holds a game with moves after its end"
                marks = board.after(marks, cell)
                ends = board.outcome(marks)
            # An agent that must win has failed as soon as it can no longer fill a line.
            if wins == {ends} if config.always_wins else ends not in losses:
                yield "tables/lost holds a game that was not lost"
        refuted = (data.statistics["proof"][:, list(seats)] == REFUTED).any()
        if not config.start and bool(refuted) != (len(games) > 0):
            yield (
                f"tables/lost holds {count_text(len(games), 'game')} of network {number}, contrary to statistics/proof"
            )
