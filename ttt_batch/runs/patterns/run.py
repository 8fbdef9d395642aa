"""A run of pattern networks: configuration, weights, lost games, and what was proved."""

import functools
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ttt_batch.base.choices import SEATS
from ttt_batch.base.printable import call_hook
from ttt_batch.base.quantities import counted
from ttt_batch.game.board import EMPTY, FIRST_WINS, SECOND_WINS, UNFINISHED, Board, Position
from ttt_batch.game.lines import Lines, make_lines
from ttt_batch.patterns.agent import NetAgent, make_agent
from ttt_batch.patterns.network import Network
from ttt_batch.patterns.values import Reading, read_position
from ttt_batch.runs.kept import Kept
from ttt_batch.runs.patterns.config import PatternConfig
from ttt_batch.runs.patterns.contents import Learnt, table_fields, tables_of
from ttt_batch.runs.runfile.checks import RunData
from ttt_batch.runs.runfile.declaration import FORMAT
from ttt_batch.runs.truth import SolvedBoard

PROVED, UNDECIDED, REFUTED = 1, 0, -1
"""What a proof has found, as a recorded point has it; UNDECIDED also if none was tried."""


@dataclass(repr=False, eq=False)
class PatternRun(SolvedBoard, Kept):
    """The result of training pattern networks, in memory or read from a file.

    Two runs are equal if configuration, games, weights, lost games and recorded points are, down to the bytes.

    games: games learnt from.  learnt: what training goes on with.
    proved: int32[K, P], the table by which each seat moved when it was last proved, 0 if it never was; or None.
    statistics, provenance, goal, interrupted, notes, version, size, file: as in `Run`.
    """

    config: PatternConfig
    games: int
    learnt: Learnt
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
    """It takes wins in one, and all that tie are best: its verdicts and proofs hold for each of them."""

    def __repr__(self) -> str:
        """In a line, without its arrays."""
        title = f"{self.config.learner} on {self.board.name}, {counted(self.games, 'game')}, seed {self.config.seed}"
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
        """What has to be equal in equal runs."""
        data = self.data()
        columns = {name: column for name, column in data.statistics.items() if name != "seconds"}
        return {name: (one.dtype, one.shape, one.tobytes()) for name, one in {**data.tables, **columns}.items()}

    @functools.cached_property
    def board(self) -> Board:  # type: ignore[override]
        """The configuration's board."""
        return self.config.board

    @functools.cached_property
    def network(self) -> Network:
        """The shape of its networks."""
        return self.config.network()

    @functools.cached_property
    def _lines(self) -> Lines:
        return make_lines(self.board)

    @functools.cached_property
    def agent(self) -> NetAgent:
        """Its player, for kernels; one thread at a time may use it."""
        return make_agent(self.network, np.stack([self.weights_of(seat)[self.network.kind] for seat in (0, 1)]))

    def plays_proved(self, seat: int) -> bool:
        """Whether it plays a seat (0 or 1) with the weights that were proved last, not with the last ones."""
        return self.config.keep == "proved" and self.proved_after(seat) > 0

    def weights_of(self, seat: int) -> NDArray[np.int32]:
        """int32[K]: the weights by which it plays a seat (0 or 1)."""
        if self.proved is not None and self.plays_proved(seat):
            return self.proved[:, seat]
        weights: NDArray[np.int32] = self.learnt.weights[-seat, :, seat]  # the first network, or the last one
        return weights

    @functools.cached_property
    def worth(self) -> NDArray[np.float64]:
        """float64[P, 4]: what each outcome is worth to each player, on the scale of its values."""
        worth = np.zeros((2, 4))
        worth[:, [FIRST_WINS, SECOND_WINS]] = [[1.0, -1.0], [-1.0, 1.0]]
        return worth

    def _read(self, position: str | int | Position) -> Reading:
        return read_position(self._lines, self.agent, self.position_asked(position))

    def candidates(self, position: str | int | Position) -> list[int]:
        """Cells that it may pick in an unfinished position: all that are best."""
        return self._read(position).best

    def move_values(self, position: str | int | Position) -> dict[int, float]:
        """What it holds of each free cell for the player to move: 1 a win, -1 a loss."""
        return self._read(position).values

    def value(self, position: str | int | Position) -> float:
        """What a position is worth to the player to move: the best move's value, or the result if it is final."""
        marks = self.position(position)
        outcome = self.board.outcome(marks)
        if outcome != UNFINISHED:
            return float(self.worth[(self.board.cells - marks.count(EMPTY)) & 1, outcome])
        return max(self.move_values(marks).values())

    @property
    def is_proved(self) -> bool:
        """Whether every seat asked for was proved at some recorded point."""
        return all(map(self.proved_after, self.config.seats))

    def proved_after(self, seat: int) -> int:
        """Games after which a seat (0 or 1) was proved last; 0 if it never was, or learnt from given games since."""
        return 0 if self.config.start else int(self.statistics["games"][self.proofs(seat)][-1:].sum())

    def proved_positions(self, seat: int) -> int:
        """Positions that the last proof of a seat entered; 0 without a proof, see `proved_after`."""
        return 0 if self.config.start else int(self.statistics["proof_positions"][self.proofs(seat), seat][-1:].sum())

    def proofs(self, seat: int) -> NDArray[np.bool_]:
        """bool[T]: at which recorded points a seat was proved."""
        found: NDArray[np.bool_] = self.statistics["proof"][:, seat] == PROVED
        return found

    def verdict(self) -> str:
        """What was proved of it, by seat; empty if nothing was."""
        goal = "always wins" if self.config.always_wins else "cannot lose"
        return "; ".join(
            f"{SEATS[seat]} {goal}: proved, {counted(self.proved_positions(seat), 'position')}"
            for seat in self.config.seats
            if self.proved_after(seat)
        )

    @property
    def tried(self) -> NDArray[np.bool_]:
        """bool[T]: at which recorded points proofs were tried.  A run that was stopped may end without."""
        proof, positions = self.statistics["proof"], self.statistics["proof_positions"]
        found: NDArray[np.bool_] = (proof != UNDECIDED).any(axis=1) | (positions != 0).any(axis=1)
        return found

    @property
    def lacks_proof(self) -> bool:
        """Whether it makes proofs, and was stopped before the one after its last game."""
        return self.config.prove_every > 0 and not self.tried[-1:].all()

    def later_proofs(self, seat: int) -> tuple[int, int]:
        """Of the proofs of a seat after the first success, how many succeeded, and how many there were."""
        held = self.proofs(seat)
        later = held[int(held.argmax()) + 1 :] if held.any() else held[:0]
        return int(later.sum()), later.size

    def data(self) -> RunData:
        """What the run file holds."""
        tables = tables_of(self.learnt, self.proved)
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
