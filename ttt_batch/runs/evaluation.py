"""Results of exact evaluations, exploring policies of runs, and policies transferred to other lists of positions."""

import itertools
import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ttt_batch.core.results import Printable, by_name, rows_by
from ttt_batch.core.text import RESULTS, SCRIPTED, SEATS, Ties
from ttt_batch.evaluation.exact_results import Shares, chances_of, shares_against
from ttt_batch.games.board import Board
from ttt_batch.games.graph import Graph, rows_of_edges
from ttt_batch.learners import learner_named
from ttt_batch.runs.config import Config
from ttt_batch.runs.schedules import value_at
from ttt_batch.simulation.action_probabilities import BY_BEADS, Exploring, Probabilities, Softmax, even_chances
from ttt_batch.simulation.policy import cell_sets, random_policy

if TYPE_CHECKING:
    from ttt_batch.runs.run import Run

AT_ONCE = 1 << 18
"""Rows that are transferred together: on 4x4 with eight images they take 100 MB."""


def find_images(
    board: Board, codes: NDArray[np.int64], known: NDArray[np.int64], *, symmetry: bool
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return where positions (int64[n] codes) stand in `known`, ascending codes that include them, as int64[n].

    symmetry: True if a known code stands for all images of a position: it is the lowest of their codes.
    Also return where each cell of a position lies in that image, int64[n, cells].
    """
    powers = 3 ** np.arange(board.cells, dtype=np.int64)
    places = np.argsort(np.array(board.images(symmetry)), axis=1)
    images = (codes[:, None] // powers % 3) @ powers[places].T
    number = images.argmin(1)
    return np.searchsorted(known, images[np.arange(codes.size), number]), places[number]


def transfer_policy(
    board: Board, own: Graph, picked: NDArray[np.bool_], graph: Graph, *, symmetry: bool
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Transfer the `picked` edges (bool[E]) of `own` to another graph of the same board.

    symmetry: True if a row of `own` stands for all images of a position.  Then every position gets the moves of its
    class, in the orientation of `Board.representative`.
    Returns bool[E], the edges picked in `graph`, and bool[U], its rows that lack an edge for some picked move.
    """
    n_own, n_rows = own.first_edge.size - 1, graph.first_edge.size - 1
    cells = cell_sets(own, picked)
    order = np.argsort(own.code[:n_own])
    codes = own.code[:n_own][order]
    found, lacks = np.zeros(graph.child.size, np.bool_), np.zeros(n_rows, np.bool_)
    for start in range(0, n_rows, AT_ONCE):
        stop = min(start + AT_ONCE, n_rows)
        at, places = find_images(board, graph.code[start:stop], codes, symmetry=symmetry)
        wanted = cells[order[at]]
        turned = np.pad(places, ((0, 0), (0, 1)), constant_values=board.resignation)  # resignation maps to itself
        edges = slice(int(graph.first_edge[start]), int(graph.first_edge[stop]))
        row = np.repeat(np.arange(stop - start), np.diff(graph.first_edge[start : stop + 1]))
        place = turned[row, graph.cell[edges]].astype(np.uint64)
        found[edges] = wanted[row] >> place & np.uint64(1) != 0
        lacks[start:stop] = np.bincount(row[found[edges]], minlength=stop - start) < np.bitwise_count(wanted)
    return found, lacks


EXACT_OPPONENTS = (*SCRIPTED, "optimal", "self")
"""Named opponents on enumerated boards; other runs are opponents too."""

NO_SHARES = (math.nan, math.nan, math.nan)
"""Results of games that cannot be played, because a player with boxes cannot move second."""


class JudgedAgent(NamedTuple):
    """An evaluated third-party agent.

    name: its name.  symmetric: True if it was queried for only one image of each position.  The verdict then holds
    for an agent that plays the same in all images.
    asked: number of positions queried; None for the package's own agents.
    """

    name: str
    board: Board
    symmetric: bool
    asked: int | None = None


class Samples(NamedTuple):
    """Settings and intervals of an evaluation of agents that draw by chance, by their shares of answers.

    answers: number of answers in each position.  seed: of Python's and NumPy's generators before the first answer.
    confidence: of the intervals.  intervals: (low, high) of wins, draws and losses, by seat; nan where shares are nan.
    """

    answers: int
    seed: int
    confidence: float
    intervals: dict[str, list[tuple[float, float]]]

    def to_dict(self) -> dict[str, Any]:
        """Return plain values with stable keys, as `--json` prints them."""
        intervals = {seat: by_name(ends, RESULTS, ("low", "high")) for seat, ends in self.intervals.items()}
        return {"samples": self.answers, "seed": self.seed, "confidence": self.confidence, "intervals": intervals}


@dataclass(frozen=True)
class Evaluation(Printable):
    """Exact results of an agent against an opponent.

    first, second: probabilities (win, draw, loss) of the agent in that seat; nan if one of the two cannot play there.
    unbeatable, losing_line: by the seats in which the agent can play.
    unbeatable: True if no opponent and no tie-break beats the agent, independent of `against`.  None if samples found
    no loss, which is not a proof.
    losing_line: a shortest game that the agent can lose, as cells; None if it cannot lose.
    ties: tie rule of runs, see `ties`.
    run: the agent if it is a run; otherwise `agent` describes it.
    samples: for an agent that draws by chance, whose shares are estimates; else None.
    """

    against: str
    first: tuple[float, float, float]
    second: tuple[float, float, float]
    unbeatable: dict[str, bool | None]
    losing_line: dict[str, list[int] | None]
    ties: Ties = "any"
    run: "Run | None" = field(default=None, repr=False, compare=False)
    agent: JudgedAgent | None = field(default=None, compare=False)
    samples: Samples | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return plain values with stable keys, as `--json` prints them.

        Agents other than runs add `symmetric` and `asked`; runs that draw from action probabilities add `judged`.
        """
        agent = self.agent
        folded: dict[str, Any] = {} if agent is None else {"symmetric": agent.symmetric, "asked": agent.asked}
        sampled = {} if self.samples is None else self.samples.to_dict()
        if self.run is not None and self.run.config.by_chances:
            folded["judged"] = "best moves"
        return folded | {
            "against": self.against,
            "ties": self.ties,
            **by_name((self.first, self.second), SEATS, RESULTS),
            "unbeatable": self.unbeatable,
            "losing_line": self.losing_line,
            **sampled,
        }

    def records(self) -> tuple[list[dict[str, Any]], str]:
        """Return a row for each seat."""
        shares = by_name((self.first, self.second), SEATS, RESULTS)
        proved = rows_by("seat", {"unbeatable": self.unbeatable, "losing_line": self.losing_line})
        return [{"seat": row["seat"], "against": self.against} | shares[row["seat"]] | row for row in proved], "seat"


def reachable_edges(graph: Graph, chosen: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return the edges (bool[E]) of rows that a game can reach if the first player follows the `chosen` edges."""
    reached = np.zeros(graph.code.size, np.bool_)
    reached[0] = True
    for row, (lo, hi) in enumerate(itertools.pairwise(graph.first_edge.tolist())):
        if reached[row]:
            kept = slice(lo, hi) if graph.ply[row] % 2 else lo + np.flatnonzero(chosen[lo:hi])
            reached[graph.child[kept]] = True
    return reached[rows_of_edges(graph)]


PLAYED_AGAINST = ("random", "best")
"""Opponents of the exploring policy: random moves, and the best opponent."""


@dataclass(frozen=True)
class PlayedEvaluation(Printable):
    """Exact results of a run's exploring policy, as it plays while it learns.

    how: `softmax:0.1`, `chances` for a learnt policy, or `epsilon 0.1` with the epsilon of the last game.
    random, best: (win, draw, loss) as first and as second player, against random moves and against the best opponent.
    A learner that cannot play second has only the first entry.
    """

    how: str
    random: tuple[Shares, ...]
    best: tuple[Shares, ...]
    run: "Run | None" = field(default=None, repr=False, compare=False)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values with stable keys, as `--json` prints them."""
        shares = by_name((self.random, self.best), PLAYED_AGAINST, SEATS, RESULTS)
        return {"judged": "as played", "how": self.how, **shares}

    def records(self) -> tuple[list[dict[str, Any]], str]:
        """Return a row for each opponent and seat."""
        whole = self.to_dict()
        rows = [
            {"against": one, "seat": seat, **shares} for one in PLAYED_AGAINST for seat, shares in whole[one].items()
        ]
        return rows, "seat"


def epsilon_after(config: Config, games: int) -> float:
    """Return the probability of an exploratory move after `games` games."""
    return float(value_at(config.epsilon.over(config.horizon), games))


def exploration_of(config: Config, games: int = 0) -> Any:
    """Return the exploration of a learner after `games` games, for `action_probabilities.write_chances`."""
    if learner_named(config.learner).by_beads:
        return BY_BEADS
    if config.temperature is not None:
        return Softmax(np.array([config.temperature]))
    return Exploring(np.array([epsilon_after(config, games)]))


def played_chances(run: "Run") -> Probabilities:
    """Return the move probabilities of a run in its last game.  Raises BoardError on a growing board."""
    return chances_of(exploration_of(run.config, max(run.games - 1, 0)), run.tables, run.graph, run.learner.choice)


def evaluate_as_played(run: "Run") -> PlayedEvaluation:
    """Return the exact shares of a run's exploring policy against random moves and the best opponent.

    Raises BoardError on a board too large to enumerate.
    """
    run._needs_all("an exact evaluation")
    graph, agent, config = run.graph, played_chances(run), run.config
    seats = range(len(run.seats))
    opponents = even_chances(graph, random_policy(graph)), None
    random, best = (tuple(shares_against(graph, agent, opponent, seat) for seat in seats) for opponent in opponents)
    epsilon = epsilon_after(config, max(run.games - 1, 0))
    how = config.explore or ("chances" if config.by_chances else f"epsilon {epsilon:g}")
    return PlayedEvaluation(how, random, best, run)
