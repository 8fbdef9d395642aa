"""Built-in agents: runs, scripted players and best play, also as kernels read them.

Three scripted players measure agents on boards too large for exact results.  `random` takes any free cell.  `one-ply`
wins at once if it can; `two-ply` does, too, and otherwise blocks a cell with which its opponent would win at once.  In
all other positions both move at random.  On misère boards both avoid completing a line while they can.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ttt_batch.agents.adapter import Player
from ttt_batch.agents.base import Agent, Positions, Words, as_cells, mover_words
from ttt_batch.compiler.bits import NONE, ONE, lowest_bit, popcount
from ttt_batch.compiler.jit import BoolArray, Float64Array, Int8Array, Int64, Uint64Array, generic, kernel
from ttt_batch.core.text import SEATS, Ties, check_ties, choose, choose_seat
from ttt_batch.evaluation.search import mark_cell, reset, tied_cells
from ttt_batch.evaluation.ties import check_sharp, keep_soonest
from ttt_batch.games.bitboards import Lines, make_lines, marks_of, open_cells, view_of
from ttt_batch.games.board import EMPTY, FIRST, SECOND, UNFINISHED, Board, Position
from ttt_batch.games.enumeration import check_enumerable, check_gravity, choose_space, enumerate_graph
from ttt_batch.games.graph import (
    N_SHARED,
    SHARED_CODES,
    SHARED_OUTCOMES,
    Graph,
    Growth,
    edges_of,
    mover_of,
    n_unfinished,
    rows_of_edges,
)
from ttt_batch.games.solution import ends_alone, solve
from ttt_batch.learners.base import row_at
from ttt_batch.learners.tabular.td import TdTables
from ttt_batch.ntuple.network import NetAgent
from ttt_batch.runs.config import cannot_play_second_error
from ttt_batch.runs.growing_table import GrowingTable
from ttt_batch.runs.loading import AnyRun
from ttt_batch.runs.q_values import AgentProxy, PlayingAgent
from ttt_batch.runs.run import Run
from ttt_batch.simulation.policy import Choice, Policy, chosen_edges, optimal_policy, policy_among, row_choices


class TablePlayer(NamedTuple):
    """A learner's tables with the arrays needed to choose moves in any position.

    tables, graph, growth: of a `GrowingTable`; only its borrowed rows are modified.
    choice: the learner's rule.  worth: float64[P, 4].  chosen: bool[cells], scratch.
    solution: int8[S], for ties `soonest`; otherwise empty.
    kept: bool[E], the moves that ties `sharp` keeps; otherwise empty.
    """

    tables: TdTables
    graph: Graph
    growth: Growth
    choice: Choice
    worth: Float64Array
    chosen: BoolArray
    solution: Int8Array
    kept: BoolArray


@kernel
def agent_cells(agent: TablePlayer, code: Int64, ply: Int64) -> np.int64:
    """Return the cells (int64, bits) that an agent may pick in an unfinished position; `minimax-q` also occupied ones.

    Compiled separately: it alone differs between learners, and all kernels that need an agent's moves share it.
    """
    graph = agent.graph
    row, image = row_at(agent.tables, graph, agent.growth, code, ply, agent.worth)
    row_choices(agent.tables, graph, agent.choice, row, agent.chosen)
    if agent.solution.shape[0] != 0:
        keep_soonest(graph, agent.solution, row, agent.chosen)
    lo, hi = edges_of(graph, row)
    sharp, cells = agent.kept.shape[0] != 0, np.int64(0)
    for edge in range(lo, hi):
        if agent.chosen[edge - lo] and (not sharp or agent.kept[edge]):
            cells |= np.int64(1) << agent.growth.origin[image, graph.cell[edge]]
    return cells


@generic
def cells_of(player: Any, lines: Lines, own: np.uint64, other: np.uint64, ply: Int64) -> Any:
    """Return the set of cells (uint64) from which a player picks evenly after `ply` moves; see `agent_cells`.

    own, other: uint64, its marks and its opponent's.
    """


@cells_of.register(TablePlayer)
def _cells_of_tables(agent: TablePlayer, lines: Lines, own: np.uint64, other: np.uint64, ply: Int64) -> np.uint64:
    first, second = (other, own) if ply & 1 else (own, other)
    code = np.int64(0)
    for number in range(2):
        marks = second if number else first
        while marks != NONE:
            code += (1 + number) * agent.growth.places.power[lowest_bit(marks), 0]
            marks &= marks - ONE
    return np.uint64(agent_cells(agent, code, ply))


@cells_of.register(NetAgent)
def _cells_of_network(agent: NetAgent, lines: Lines, own: np.uint64, other: np.uint64, ply: Int64) -> np.uint64:
    reset(agent)
    for number in range(2):
        marks, player = (other, 1 - (ply & 1)) if number else (own, ply & 1)
        while marks != NONE:
            mark_cell(agent, lowest_bit(marks), player)
            marks &= marks - ONE
    return tied_cells(agent, lines, own, other, view_of(lines, own, other), ply)


def table_player(run: AnyRun, ties: Ties = "any") -> TablePlayer | NetAgent:
    """Return the player of a run; on an enumerated board its tables are copied.

    For networks ties make no difference, because they always take wins in one.  Raises UsageError for `sharp` with
    them, and BoardError for `sharp` on a growing board.
    """
    if (ties := check_ties(ties)) == "sharp":
        check_sharp(run)
    if not isinstance(run, Run):
        return run.agent
    return make_table_agent(run, ties)


def make_table_agent(run: Run, ties: Ties = "any") -> TablePlayer:
    """Return `table_player` for a run with a table of positions."""
    ties = check_ties(ties)
    if run.learner.boxes:
        raise cannot_play_second_error(
            run.config.learner, "a match in both seats, or a search,", "evaluate judges it exactly"
        )
    check_gravity(run.board, "an agent that searches or plays matches")
    grown = run.grown if run.grown is not None else _as_grown(run)
    chosen, solution = np.zeros(run.board.cells, np.bool_), np.zeros(0, np.int8)
    if ties == "soonest":
        solution = ends_alone(grown.graph.outcome)
        if run.grown is None:
            n_open = run.graph.first_edge.size - 1  # the same rows in both graphs, then final positions
            solution[:n_open] = run.solution_in_plies[:n_open]
    # An enumerated run's rows have the same edges in both graphs.
    kept = run.sharp_edges if ties == "sharp" else np.zeros(0, np.bool_)
    return TablePlayer(grown.tables, grown.graph, grown.growth, run.learner.choice, run.worth, chosen, solution, kept)


def _as_grown(run: Run) -> GrowingTable:
    """Return an enumerated run as a growing board on which every position has been reached."""
    graph, learner = run.graph, run.learner
    n_open = graph.first_edge.size - 1
    kept = np.flatnonzero((graph.outcome != UNFINISHED) & (graph.code >= 0) & learner.final_rows)
    grown = GrowingTable(run.board, learner, run.worth, symmetry=run.config.symmetry)

    def rows(of_graph: NDArray[Any], shared: Any) -> NDArray[Any]:
        """Return an array over rows (its last axis) with the shared rows added."""
        return np.concatenate([of_graph[..., :n_open], shared, of_graph[..., kept]], axis=-1).astype(of_graph.dtype)

    shared_rows = slice(grown.graph.first_edge.size - 1, grown.graph.first_edge.size - 1 + N_SHARED)
    tables = [
        rows(table, start[..., shared_rows]) if learner.fields[name][0].endswith("S") else table.copy()
        for name, table, start in zip(run.tables._fields, run.tables, grown.tables, strict=True)
    ]
    shared = np.array(SHARED_CODES), np.array(SHARED_OUTCOMES)
    grown.restore(rows(graph.code, shared[0]), rows(graph.outcome, shared[1]), learner.tables(*tables), np.zeros(0))
    return grown


PLAYERS = ("random", "one-ply", "two-ply")
"""Scripted players; kernels use the index, which is the number of plies that a player looks ahead."""

RANDOM, ONE_PLY, TWO_PLY = range(3)


class Scripted(NamedTuple):
    """Scripted player.  plies: RANDOM, ONE_PLY or TWO_PLY."""

    plies: int


@kernel
def scripted_cells(lines: Lines, own: np.uint64, other: np.uint64, plies: Int64) -> np.uint64:
    """Return the cells (uint64, a set) that a scripted player picks among evenly.

    own, other: uint64, its marks and its opponent's.  plies: RANDOM, ONE_PLY or TWO_PLY.
    """
    free = open_cells(lines, own | other)
    if plies == RANDOM:
        return free
    view = view_of(lines, own, other)
    if lines.misere != 0:
        return free & ~view.own if free & ~view.own != NONE else free
    if free & view.own != NONE:
        return free & view.own
    return free & view.other if plies == TWO_PLY and free & view.other != NONE else free


@cells_of.register(Scripted)
def _cells_of_scripted(player: Scripted, lines: Lines, own: np.uint64, other: np.uint64, ply: Int64) -> np.uint64:
    return scripted_cells(lines, own, other, player.plies)


@kernel
def scripted_edges(lines: Lines, graph: Graph, plies: Int64, allowed: BoolArray) -> None:
    """Write whether a scripted player picks among each edge of an enumerated board into `allowed` (bool[E])."""
    for row in range(n_unfinished(graph)):
        first, second = marks_of(graph.code[row], lines.cells)
        own, other = (second, first) if mover_of(graph, row) else (first, second)
        cells = scripted_cells(lines, np.uint64(own), np.uint64(other), plies)
        lo, hi = edges_of(graph, row)
        for edge in range(lo, hi):
            allowed[edge] = cells >> np.uint64(graph.cell[edge]) & ONE != NONE


def player_number(name: str) -> int:
    """Return the number of a scripted player.  Raises UsageError."""
    return PLAYERS.index(choose("player", name, PLAYERS))


def seat_number(seat: str) -> int:
    """Return 0 for `first`, 1 for `second`.  Raises UsageError."""
    return SEATS.index(choose_seat(seat))


def scripted_policy(run: Run, player: str) -> Policy:
    """Return a scripted player's policy on an enumerated run's graph.  Raises UsageError and BoardError."""
    check_enumerable(run.board, run.grown is not None, "an exact result")
    return policy_over(run.graph, run.board, player_number(player))


def policy_over(graph: Graph, board: Board, plies: int) -> Policy:
    """Return a scripted player's policy on a graph of all positions.  plies: RANDOM, ONE_PLY or TWO_PLY."""
    allowed = np.zeros(graph.child.size, np.bool_)
    scripted_edges(make_lines(board), graph, plies, allowed)
    return policy_among(graph, allowed)


class ScriptedPlayer(AgentProxy):
    """Scripted player for `watch`: it moves by its rule, and shows its opponent's values.

    plies: RANDOM, ONE_PLY or TWO_PLY.  Raises UsageError for a name outside `PLAYERS`.
    """

    def __init__(self, name: str, opponent: PlayingAgent) -> None:
        super().__init__(opponent)
        self.plies, self._lines = player_number(name), make_lines(self.board)

    def candidates(self, position: Position) -> list[int]:
        """Return the cells that it picks among."""
        mover = FIRST + (len(position) - position.count(EMPTY)) % 2
        own, other = (
            np.uint64(sum(1 << cell for cell, mark in enumerate(position) if mark == player))
            for player in (mover, FIRST + SECOND - mover)
        )
        cells = int(scripted_cells(self._lines, own, other, self.plies))
        return [cell for cell in range(self.board.cells) if cells >> cell & 1]


def alike(chances: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return rows of 0 and 1 divided by their sums; a row without a cell stays as it is."""
    equal: NDArray[np.float64] = chances / chances.sum(1, keepdims=True).clip(min=1)
    return equal


class PolicyAgent(Agent):
    """Agent that plays a policy over all positions of a board, or over all up to symmetry."""

    own = True

    def __init__(self, name: str, board: Board, graph: Graph, symmetry: bool, policy: Policy) -> None:
        """symmetry: a row of `graph` stands for all images of a position."""
        self.name = name
        self.resigns = bool((graph.cell == board.resignation).any())
        self.loses = not self.resigns and bool((graph.code < 0).any())
        self._images = np.array(board.images(symmetry))
        self._powers = 3 ** np.arange(board.cells, dtype=np.int64)
        n_open = graph.first_edge.size - 1
        self._order = np.argsort(graph.code[:n_open])
        self._codes = graph.code[:n_open][self._order]
        chosen = chosen_edges(graph, policy)
        self._cells = np.zeros(n_open, np.uint64)
        np.bitwise_or.at(
            self._cells, rows_of_edges(graph)[chosen], np.uint64(1) << graph.cell[chosen].astype(np.uint64)
        )

    def ask(self, batch: Positions) -> NDArray[np.float64]:
        """Return even probabilities of its moves (float64[n, cells]); zeros where it resigns."""
        flat = batch.boards.reshape(batch.size, -1).astype(np.int64)
        marks = np.where(flat == 0, 0, 1 + (flat.clip(max=0) + batch.to_move[:, None]) % 2)
        codes = np.stack([marks[:, image] @ self._powers for image in self._images])
        number = codes.argmin(0)
        lowest = codes[number, np.arange(batch.size)]
        row = self._order[np.searchsorted(self._codes, lowest)]
        chances = np.zeros(flat.shape)
        # Cell i of the image shows cell image[i] of the board.
        np.put_along_axis(chances, self._images[number], as_cells(self._cells[row], flat.shape[1]), axis=1)
        # Resigning marks no cell.  An occupied cell loses as well; the empty board has none.
        resigns = np.flatnonzero(~chances.any(1) & flat.any(1))
        chances[resigns, (flat[resigns] != 0).argmax(1)] = 1
        return alike(chances)


@kernel
def move_cells(player: Any, lines: Lines, own: Uint64Array, other: Uint64Array, cells: Uint64Array) -> None:
    """Write the set of cells from which a player picks in each position into `cells` (uint64[n]).

    own, other: uint64[n], the marks of the player to move and of its opponent.
    """
    for number in range(own.shape[0]):
        ply = popcount(own[number] | other[number])
        cells[number] = cells_of(player, lines, own[number], other[number], ply)


class KernelAgent(Agent):
    """Agent for a player that kernels read: scripted, a grown table, or networks."""

    own = True

    def __init__(self, name: str, board: Board, player: Any, *, loses: bool = False) -> None:
        """player: of a class with a body for `cells_of`."""
        self.name, self.loses, self._player, self._lines = name, loses, player, make_lines(board)

    def ask(self, batch: Positions) -> NDArray[np.float64]:
        """Return even probabilities of its moves (float64[n, cells])."""
        own, other = mover_words(batch)
        cells: Words = np.zeros_like(own)
        move_cells(self._player, self._lines, own, other, cells)
        chances = as_cells(cells, self._lines.cells).astype(np.float64)
        return alike(chances)


def agent_of_run(run: AnyRun, ties: Ties = "any", name: str = "") -> Agent:
    """Return a run as an agent; ties: as for `Run.candidates`."""
    name = name or run.config.learner
    if isinstance(run, Run) and run.grown is None:
        agent = PolicyAgent(name, run.board, run.graph, run.config.symmetry, run.policy_on(run.graph, ties))
        agent.seats = run.seats
        return agent
    loses = isinstance(run, Run) and run.learner.occupied
    return KernelAgent(name, run.board, table_player(run, ties), loses=loses)


def playing_agent(run: AnyRun, ties: Ties = "any") -> Any:
    """Return a run in the form that `play_agents` takes: a player for kernels, or a `Player` if it may resign."""
    if isinstance(run, Run) and run.learner.boxes:
        return Player(agent_of_run(run, ties), run.board)
    return table_player(run, ties)


def named_agent(name: str, board: Board) -> Agent:
    """Return an agent of `AGENT_NAMES`.  Raises UsageError, and BoardError for `optimal` without enumeration."""
    if name != "optimal":
        return KernelAgent(name, board, Scripted(player_number(name)))
    space = choose_space(board, "auto", prefers=True)
    check_enumerable(board, space.grown, "the agent optimal")
    graph = enumerate_graph(board, symmetry=space.symmetry)
    return PolicyAgent(name, board, graph, space.symmetry, optimal_policy(graph, solve(graph)))
