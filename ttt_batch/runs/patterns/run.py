"""Runs of pattern networks: configuration, weights, lost games and proofs."""

import functools
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ttt_batch.base.choices import SEATS
from ttt_batch.base.printable import call_hook
from ttt_batch.base.quantities import count_text
from ttt_batch.game.board import EMPTY, FIRST_WINS, SECOND_WINS, UNFINISHED, Board, Position
from ttt_batch.game.lines import Lines, make_lines
from ttt_batch.patterns.agent import NetAgent, make_network_agent
from ttt_batch.patterns.network import Network
from ttt_batch.patterns.values import NetworkView, network_view
from ttt_batch.runs.kept import StoredRun
from ttt_batch.runs.patterns.config import PatternConfig
from ttt_batch.runs.patterns.contents import NetworkState, network_tables, table_fields
from ttt_batch.runs.runfile.checks import RunData
from ttt_batch.runs.runfile.declaration import FORMAT
from ttt_batch.runs.truth import SolvedBoard

PROVED, UNDECIDED, REFUTED = 1, 0, -1
"""Result of a proof at a recorded point; UNDECIDED also if no proof was tried."""


@dataclass(repr=False, eq=False)
class PatternRun(SolvedBoard, StoredRun):
    """Result of training pattern networks, in memory or read from a file.

    Two runs are equal if configuration, games, weights, lost games and recorded points are equal, down to the bytes.

    games: games learnt from.  learnt: the state from which training resumes.
    proved: int32[K, P], the weights of each seat when it was last proved, 0 for a seat never proved; or None.
    statistics, provenance, goal, interrupted, notes, version, size, file: as in `Run`.
    """

    config: PatternConfig
    games: int
    learnt: NetworkState
    statistics: dict[str, NDArray[Any]]
    proved: NDArray[np.int32] | None = None
    provenance: dict[str, str | int | float] = field(default_factory=dict)
    goal: int = 0
    interrupted: bool = False
    notes: tuple[str, ...] = ()
    version: tuple[int, int] = FORMAT
    size: int = 0
    file: Path | None = None

    own_ties: ClassVar[bool] = True
    """True: the agent takes wins in one, and its verdicts and proofs hold for each of the tied best moves."""

    def __repr__(self) -> str:
        """Return one line without the arrays."""
        title = f"{self.config.learner} on {self.board.name}, {count_text(self.games, 'game')}, seed {self.config.seed}"
        return f"<PatternRun: {'; '.join(filter(None, (title, self.verdict())))}>"

    def _repr_html_(self) -> str:
        """Return the same as a small table with the learning curve, for notebooks."""
        return str(call_hook("run_html", self))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, PatternRun):
            return NotImplemented
        return (self.config, self.games) == (other.config, other.games) and self._result() == other._result()

    __hash__ = None  # type: ignore[assignment]  # its arrays can change

    def _result(self) -> dict[str, tuple[Any, ...]]:
        """Return dtype, shape and bytes of the arrays that must be equal in equal runs, by name."""
        data = self.data()
        columns = {name: column for name, column in data.statistics.items() if name != "seconds"}
        return {name: (one.dtype, one.shape, one.tobytes()) for name, one in {**data.tables, **columns}.items()}

    @functools.cached_property
    def board(self) -> Board:  # type: ignore[override]
        """Return the configuration's board."""
        return self.config.board

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
        """Return whether a seat (0 or 1) plays with the weights that were proved last, not with the last ones."""
        return self.config.keep == "proved" and self.proved_after(seat) > 0

    def weights_of(self, seat: int) -> NDArray[np.int32]:
        """Return the weights, int32[K], by which a seat (0 or 1) plays."""
        if self.proved is not None and self.plays_proved(seat):
            return self.proved[:, seat]
        weights: NDArray[np.int32] = self.learnt.weights[-seat, :, seat]  # the first network, or the last one
        return weights

    @functools.cached_property
    def worth(self) -> NDArray[np.float64]:
        """Return the worth of each outcome to each player, float64[P, 4], on the scale of its values."""
        worth = np.zeros((2, 4))
        worth[:, [FIRST_WINS, SECOND_WINS]] = [[1.0, -1.0], [-1.0, 1.0]]
        return worth

    def _read(self, position: str | int | Position) -> NetworkView:
        return network_view(self._lines, self.agent, self.position_asked(position))

    def candidates(self, position: str | int | Position) -> list[int]:
        """Return the cells that it may pick in an unfinished position: all best moves."""
        return self._read(position).best

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
        """Return the recorded points at which a seat was proved, as bool[T]."""
        found: NDArray[np.bool_] = self.statistics["proof"][:, seat] == PROVED
        return found

    def verdict(self) -> str:
        """Return the proofs in words, by seat; empty without proofs."""
        goal = "always wins" if self.config.always_wins else "cannot lose"
        return "; ".join(
            f"{SEATS[seat]} {goal}: proved, {count_text(self.proved_positions(seat), 'position')}"
            for seat in self.config.seats
            if self.proved_after(seat)
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

    def data(self) -> RunData:
        """Return the contents of the run file."""
        tables = network_tables(self.learnt, self.proved)
        progress: dict[str, NDArray[Any]] = {"goal": np.array(self.goal, np.int64)} if self.goal else {}
        return RunData(
            config=self.config.to_dict(),
            games=self.games,
            states={},
            tables=tables,
            table_fields=table_fields(self.board.cells, tables),
            statistics=self.statistics,
            provenance=self.kept_provenance,
            progress=progress,
        )
