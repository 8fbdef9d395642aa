"""Built-in agents: runs, scripted players and best play, also as kernels read them.

Three scripted players measure agents on boards too large for exact results.  `random` takes any free cell.  `one-ply`
wins at once if it can; `two-ply` does, too, and otherwise blocks a cell with which its opponent would win at once.  In
all other positions both move at random.  On misère boards both avoid completing a line while they can.
"""

import copy
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ttt_batch.agents.adapter import AgentAdapter, AgentProxy, PlayingAgent
from ttt_batch.agents.base import Agent, Positions, Words, as_cells, batch_at, mover_words
from ttt_batch.compiler.bits import NONE, ONE, lowest_bit, popcount
from ttt_batch.compiler.jit import BoolArray, Float64Array, Int8Array, Int64, Int64Array, Uint64Array, generic, kernel
from ttt_batch.core.errors import BoardError
from ttt_batch.core.text import AGENT_NAMES, SCRIPTED, SEATS, Ties, choose
from ttt_batch.evaluation.search import copy_for_thread, mark_cell, reset, tied_cells, unmark_cell
from ttt_batch.evaluation.ties import keep_soonest
from ttt_batch.games.bitboards import Lines, LineView, make_lines, make_places, scripted_cells, view_of
from ttt_batch.games.board import UNFINISHED, Board, Position, cells_in
from ttt_batch.games.graph import Graph, Growth, edges_of
from ttt_batch.games.solution import ends_alone
from ttt_batch.learners.base import row_at
from ttt_batch.learners.tabular.td import TdTables
from ttt_batch.ntuple.network import NetAgent
from ttt_batch.runs.loading import AnyRun
from ttt_batch.runs.run import Run
from ttt_batch.simulation.policy import Choice, Policy, cell_sets, chosen_edges, policy_over, row_choices


class TablePlayer(NamedTuple):
    """Learnt tables of a growing board, with the arrays needed to choose moves in any position.

    tables, graph, growth: of a `GrowingTable`; only its borrowed rows are modified.
    choice: the learner's rule.  worth: float64[P, 4].  chosen: bool[cells], scratch.
    solution: int8[S], for ties `soonest`; otherwise empty.
    """

    tables: TdTables
    graph: Graph
    growth: Growth
    choice: Choice
    worth: Float64Array
    chosen: BoolArray
    solution: Int8Array


class PolicyPlayer(NamedTuple):
    """Policy over the rows of an enumerated board, as a set of cells for each row.

    Within a ply rows are in the order of codes, by which a position is found.
    code: int64[U], ply_start: as in `Graph`.  cells: uint64[U], what it picks among in a row, also resignation.
    power: int64[cells, images], see `Places`.  origin: int8[images, cells + 1], where an image's cells come from.
    images: int64[images], scratch.
    """

    code: Int64Array
    ply_start: Int64Array
    cells: Uint64Array
    power: Int64Array
    origin: Int8Array
    images: Int64Array


class Scripted(NamedTuple):
    """Scripted player.  plies: the number of plies that it looks ahead, its index in `SCRIPTED`."""

    plies: int


KernelPlayer = TablePlayer | PolicyPlayer | NetAgent | Scripted
"""What kernels play: a class with a body for `cells_of`."""


@generic
def cells_of(player: Any, lines: Lines, own: np.uint64, other: np.uint64, ply: Int64) -> Any:
    """Return the set of cells (uint64) from which a player picks evenly after `ply` moves; see `agent_cells`.

    own, other: uint64, its marks and its opponent's.
    """


@kernel
def agent_cells(agent: TablePlayer, code: Int64, ply: Int64) -> np.int64:
    """Return the cells (int64, bits) that tables may pick in an unfinished position; `minimax-q` also occupied ones.

    Compiled separately: it alone differs between learners, and all kernels that need an agent's moves share it.
    """
    graph = agent.graph
    row, image = row_at(agent.tables, graph, agent.growth, code, ply, agent.worth)
    row_choices(agent.tables, graph, agent.choice, row, agent.chosen)
    if agent.solution.shape[0] != 0:
        keep_soonest(graph, agent.solution, row, agent.chosen)
    lo, hi = edges_of(graph, row)
    cells = np.int64(0)
    for edge in range(lo, hi):
        if agent.chosen[edge - lo]:
            cells |= np.int64(1) << agent.growth.origin[image, graph.cell[edge]]
    return cells


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


@cells_of.register(PolicyPlayer)
def _cells_of_policy(player: PolicyPlayer, lines: Lines, own: np.uint64, other: np.uint64, ply: Int64) -> np.uint64:
    images = player.images
    images[:] = 0
    for number in range(2):
        marks, worth = (other, 2 - (ply & 1)) if number else (own, 1 + (ply & 1))
        while marks != NONE:
            cell = lowest_bit(marks)
            for image in range(images.shape[0]):
                images[image] += worth * player.power[cell, image]
            marks &= marks - ONE
    code, image = images[0], 0
    for number in range(1, images.shape[0]):
        if images[number] < code:
            code, image = images[number], number
    low, high = np.int64(player.ply_start[ply]), np.int64(player.ply_start[ply + 1])
    while high - low > 1:
        middle = (low + high) // 2
        if player.code[middle] <= code:
            low = middle
        else:
            high = middle
    found, cells = player.cells[low], NONE
    while found != NONE:
        cells |= ONE << np.uint64(player.origin[image, lowest_bit(found)])
        found &= found - ONE
    return cells


@cells_of.register(NetAgent)
def _cells_of_network(agent: NetAgent, lines: Lines, own: np.uint64, other: np.uint64, ply: Int64) -> np.uint64:
    reset(agent)
    for number in range(2):
        marks, player = (other, 1 - (ply & 1)) if number else (own, ply & 1)
        while marks != NONE:
            mark_cell(agent, lowest_bit(marks), player)
            marks &= marks - ONE
    return tied_cells(agent, lines, own, other, view_of(lines, own, other), ply)


Stateless = PolicyPlayer | TablePlayer


def _forget(player: Stateless) -> None:
    """Do nothing: these players find each position by its marks, also in a search."""


def _pass(player: Stateless, cell: Int64, mover: Int64) -> None:
    """Do nothing, as `_forget`."""


def _ties(player: Stateless, lines: Lines, own: np.uint64, other: np.uint64, _view: LineView, ply: Int64) -> np.uint64:
    return np.uint64(cells_of(player, lines, own, other, ply))


for _stateless in (PolicyPlayer, TablePlayer):
    reset.register(_stateless)(_forget)
    mark_cell.register(_stateless)(_pass)
    unmark_cell.register(_stateless)(_pass)
    tied_cells.register(_stateless)(_ties)
    copy_for_thread.register(_stateless, copy.deepcopy)  # their scratch, too; also tables have rows of scratch


def policy_player(board: Board, graph: Graph, policy: Policy, symmetry: bool) -> PolicyPlayer:
    """Return a policy over the rows of an enumerated board as a player; symmetry: a row stands for all images."""
    n_open, images = graph.first_edge.size - 1, np.array(board.images(symmetry), np.int8)
    return PolicyPlayer(
        graph.code[:n_open].copy(),
        graph.ply_start.astype(np.int64),
        cell_sets(graph, chosen_edges(graph, policy)),
        make_places(board, symmetry).power,
        np.pad(images, ((0, 0), (0, 1)), constant_values=board.resignation),
        np.zeros(len(images), np.int64),
    )


def table_player(run: AnyRun, ties: Ties = "any") -> KernelPlayer:
    """Return the player of a run for kernels; ties: as for `Run.candidates`.

    For networks ties make no difference, because they always take wins in one.  Raises UsageError for `sharp` with
    them, and BoardError for `sharp` on a growing board.
    """
    ties = run.checked_ties(ties)
    if not isinstance(run, Run):
        return run.agent
    if run.grown is None:
        return policy_player(run.board, run.graph, run.policy_on(run.graph, ties), run.config.symmetry)
    grown, chosen = run.grown, np.zeros(run.board.cells, np.bool_)
    solution = ends_alone(grown.graph.outcome) if ties == "soonest" else np.zeros(0, np.int8)
    return TablePlayer(grown.tables, grown.graph, grown.growth, run.learner.choice, run.worth, chosen, solution)


@cells_of.register(Scripted)
def _cells_of_scripted(player: Scripted, lines: Lines, own: np.uint64, other: np.uint64, ply: Int64) -> np.uint64:
    return scripted_cells(lines, own, other, player.plies)


class ScriptedPlayer(AgentProxy):
    """Scripted player for `watch`: it moves by its rule, and shows its opponent's values.

    plies: RANDOM, ONE_PLY or TWO_PLY.  Raises UsageError for a name outside `SCRIPTED`.
    """

    exact = images_share = True
    occupied = resigns = False
    seats = SEATS

    def __init__(self, name: str, opponent: PlayingAgent) -> None:
        super().__init__(opponent)
        self.plies, self._lines = SCRIPTED.index(choose("player", name, SCRIPTED)), make_lines(self.board)

    def policy_on(self, graph: Graph, _ties: Ties = "any") -> Policy:
        """Return its policy over the edges of a graph of its board."""
        return policy_over(graph, self.board, self.plies)

    def candidates(self, position: Position) -> list[int]:
        """Return the cells that it picks among."""
        own, other = mover_words(batch_at(self.board, position))
        return cells_in(int(scripted_cells(self._lines, own[0], other[0], self.plies)))


@kernel
def move_cells(
    player: Any, lines: Lines, own: Uint64Array, other: Uint64Array, outcome: Int8Array, cells: Uint64Array
) -> None:
    """Write the set of cells from which a player picks in each unfinished position into `cells` (uint64[n]).

    own, other: uint64[n], the marks of the player to move and of its opponent.  outcome: int8[n].
    """
    for number in range(own.shape[0]):
        if outcome[number] == UNFINISHED:
            ply = popcount(own[number] | other[number])
            cells[number] = cells_of(player, lines, own[number], other[number], ply)


class KernelAgent(Agent):
    """Agent for a player that kernels read: a policy, a grown table, networks, or a scripted player."""

    own = True

    def __init__(
        self,
        name: str,
        board: Board,
        player: KernelPlayer,
        *,
        loses: bool = False,
        resigns: bool = False,
        seats: tuple[str, ...] = SEATS,
    ) -> None:
        """loses, resigns, seats: see `Agent`."""
        self.name, self.loses, self.resigns, self.seats = name, loses, resigns, seats
        self.player, self._lines = player, make_lines(board)

    def ask(self, batch: Positions) -> NDArray[np.float64]:
        """Return even probabilities of its moves (float64[n, cells]); zeros where it resigns on the empty board."""
        own, other = mover_words(batch)
        cells: Words = np.zeros_like(own)
        move_cells(self.player, self._lines, own, other, np.zeros(own.size, np.int8), cells)
        chances = as_cells(cells, self._lines.cells).astype(np.float64)
        # Resigning marks no cell.  An occupied cell loses as well; the empty board has none.
        resigned = np.flatnonzero(~chances.any(1) & (own | other != NONE))
        chances[resigned, (batch.boards.reshape(batch.size, -1)[resigned] != 0).argmax(1)] = 1
        equal: NDArray[np.float64] = chances / chances.sum(1, keepdims=True).clip(min=1)
        return equal


def agent_of_run(run: AnyRun, ties: Ties = "any") -> KernelAgent:
    """Return a run as an agent; ties: as for `Run.candidates`."""
    player = table_player(run, ties)
    return KernelAgent(run.name, run.board, player, loses=run.occupied, resigns=run.resigns, seats=run.seats)


Seated = AnyRun | AgentAdapter | ScriptedPlayer
"""An agent at a board: a run, an agent that is queried, or a scripted player."""


def adapter_of(agent: Seated | str, board: Board, ties: Ties = "any") -> AgentAdapter:
    """Return an agent, or a built-in one by its name, as an agent that is queried; ties: of a run.

    Raises BoardError for another board.
    """
    agent = SCRIPTED[agent.plies] if isinstance(agent, ScriptedPlayer) else agent
    if isinstance(agent, str):
        return AgentAdapter(named_agent(agent, board), board)
    if agent.board != board:
        raise BoardError(f"the opponent plays {agent.board.name}, not {board.name}; choose one of the same board")
    return agent if isinstance(agent, AgentAdapter) else AgentAdapter(agent_of_run(agent, ties), board)


def kernel_player(agent: Seated, ties: Ties = "any") -> KernelPlayer | AgentAdapter:
    """Return what plays matches for an agent: a player for kernels, or an adapter if it is queried or may resign."""
    if isinstance(agent, ScriptedPlayer):
        return Scripted(agent.plies)
    if isinstance(agent, AgentAdapter) or agent.resigns:
        return adapter_of(agent, agent.board, ties)
    return table_player(agent, ties)


def named_agent(name: str, board: Board) -> Agent:
    """Return an agent of `AGENT_NAMES`, a scripted player or the `AGENT` of a file `play_NAME.py` in this folder.

    Raises UsageError for another name, and the errors of that file, such as BoardError.
    """
    if (name := choose("agent", name, AGENT_NAMES)) in SCRIPTED:
        return KernelAgent(name, board, Scripted(SCRIPTED.index(name)))
    agent: Agent = import_module(f"ttt_batch.agents.play_{name.replace('-', '_')}").AGENT(board)
    return agent
