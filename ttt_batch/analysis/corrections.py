"""Corrections of a player: the positions in which it makes another move, so that it reaches its goal in every game.

A walk goes through all games that the player allows.  After a lost game, a solver finds the last position in which the
player could still reach its goal.  There, and in its images, the player now makes another move: of those that keep the
result of best play, the one that it values most.  The walk goes on from that position.

The walk drops the games after the mistake that it has not tried, though other games may lead to their positions.  So
walks are repeated until one finds no lost game.  That last walk is a proof by itself, and corrections that it does not
meet are dropped.
"""

import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ttt_batch.compiler.bits import single
from ttt_batch.compiler.jit import Int64, Uint8Array, Uint64Array
from ttt_batch.core.errors import flag
from ttt_batch.core.resources import free_memory
from ttt_batch.evaluation import search
from ttt_batch.evaluation.certificates import place_of
from ttt_batch.evaluation.prover import ALWAYS_WINS, AT_ONCE, GOALS, Goal, Proof
from ttt_batch.games.bitboards import Lines, LineView
from ttt_batch.games.board import EMPTY, FIRST, SECOND, Position
from ttt_batch.games.gravity_solver import GravitySolver, check_solvable
from ttt_batch.games.opening_book import read_book
from ttt_batch.runs.loading import AnyRun


class CorrectedAgent(NamedTuple):
    """A player that makes another move in some positions; `n` of them, with their images.

    player: the agent that moves elsewhere.  first, second: uint64[n], both players' cells as sets; the pairs ascend.
    cell: uint8[n], the move.  met: uint8[n], 1 once the player had to move there; scratch.
    """

    player: Any
    first: Uint64Array
    second: Uint64Array
    cell: Uint8Array
    met: Uint8Array


@search.reset.register(CorrectedAgent)
def _reset(agent: CorrectedAgent) -> None:
    search.reset(agent.player)


@search.mark_cell.register(CorrectedAgent)
def _mark(agent: CorrectedAgent, cell: Int64, player: Int64) -> None:
    search.mark_cell(agent.player, cell, player)


@search.unmark_cell.register(CorrectedAgent)
def _unmark(agent: CorrectedAgent, cell: Int64, player: Int64) -> None:
    search.unmark_cell(agent.player, cell, player)


@search.tied_cells.register(CorrectedAgent)
def _picks(
    agent: CorrectedAgent, lines: Lines, own: np.uint64, other: np.uint64, view: LineView, ply: Int64
) -> np.uint64:
    first, second = (other, own) if ply & 1 else (own, other)
    place = place_of(agent.first, agent.second, first, second)
    if place >= 0:
        agent.met[place] = 1
        return single(agent.cell[place])
    cells: np.uint64 = search.tied_cells(agent.player, lines, own, other, view, ply)
    return cells


def sets_of(position: Position) -> tuple[np.uint64, np.uint64]:
    """Return both players' cells as sets."""
    first, second = (sum(1 << cell for cell, there in enumerate(position) if there == mark) for mark in (FIRST, SECOND))
    return np.uint64(first), np.uint64(second)


class Corrected(NamedTuple):
    """Result of `correct`.

    agent: the corrected player.  proof: of the last walk.  size: number of corrections, a position with its images as
    one.
    """

    agent: CorrectedAgent
    proof: Proof
    size: int


def correct(
    run: AnyRun, player: Any, seat: int, goal: Goal, *, budget: int, follow: Callable[[int, int], bool]
) -> Corrected:
    """Correct a run's player in a seat (0 or 1) until it reaches its goal; by one thread, so always in the same way.

    player: from `table_player`.  budget: most positions that a walk enters.
    follow: called with the positions that the walk has entered and the lost games of all walks, every 65,536 positions
    and after each lost game.  Once it returns True, the search ends.
    The proof is `refuted` if best play does not reach the goal, and `undecided` if budget, memory or `follow` ended it.
    Raises BoardError for a board on which no search finds best play.
    """
    began = time.perf_counter()
    check_solvable(run.board, flag("correct", True), "leave it out")
    walks = _Walks(run, player, seat, goal)
    while True:
        found, before = None, walks.lost
        while found is None:
            found = walks.advance(budget, follow)
        if found.status != "proved" or walks.lost == before:
            break
        walks.begin()
    return walks.result(replace(found, seconds=time.perf_counter() - began))


class _Walks:
    """Walks through a player's games, one after the other, that correct its mistakes."""

    def __init__(self, run: AnyRun, player: Any, seat: int, goal: Goal) -> None:
        self._run, self._board, self._seat = run, run.board, seat
        self._least = int(goal == ALWAYS_WINS)
        # Its own solver: threads of the same process may use the shared one.
        self._solver = GravitySolver(run.board, book=read_book(run.board))
        nowhere, nothing = np.zeros(0, np.uint64), np.zeros(0, np.uint8)
        self._agent = CorrectedAgent(player, nowhere, nowhere, nothing, nothing)
        self._task = search.make_task(run.board, seat, GOALS.index(goal), occupied=run.occupied)
        self._memory: NDArray[np.uint64] = np.zeros(0, np.uint64)
        self._kept = self.lost = 0
        self._symmetric: bool = run.symmetric
        self.begin()

    def begin(self) -> None:
        """Begin a walk at the empty board."""
        positions = search.make_positions(self._board, symmetric=self._symmetric)
        self._slots = search.Slots(positions, self._memory, free_memory() // 2 + self._memory.nbytes, self._kept)
        self._walk = search.make_walk(self._board, positions, 1)
        self._agent.met[:] = 0
        search.begin_at(self._agent, self._slots.positions, self._walk, np.zeros(0, np.int8))

    def advance(self, budget: int, follow: Callable[[int, int], bool]) -> Proof | None:
        """Walk for a while; return a result at the end of the walk, or if there is none without an end."""
        walk, slots = self._walk, self._slots
        until, room = min(budget, int(walk.at[search.ENTERED]) + AT_ONCE), slots.room
        why = search.advance_search(self._agent, slots.positions, walk, self._task, until, room, np.zeros(1, np.int64))
        self._kept, entered = int(walk.at[search.KEPT]), int(walk.at[search.ENTERED])
        if why == search.ENOUGH:
            line = [int(cell) for cell in walk.lost[0] if cell >= 0]
            self.lost += 1
            if not self._mend(line):
                return Proof("refuted", entered, line)
        if why == search.DONE:
            self._memory = slots.array
            return Proof("proved", entered, None)
        full = why == search.NO_ROOM and not slots.grow()
        if full or entered >= budget or (why != search.NO_ROOM and follow(entered, self.lost)):
            return Proof("undecided", entered, None, full=full)
        return None

    def _mend(self, line: list[int]) -> bool:
        """Correct the last mistake of a lost game, and go on from there; return False if there was none."""
        positions: list[Position] = [(EMPTY,) * self._board.cells]
        for cell in line[:-1]:
            positions.append(self._board.after(positions[-1], cell))
        for ply in range(len(positions) - 1, -1, -1):
            if ply % 2 != self._seat:
                continue
            score = self._solver.score(positions[ply], between=(self._least - 1, self._least))
            if score is not None and score >= self._least:
                self._add(positions[ply])
                walk = self._walk
                walk.lost[:], walk.at[search.LOST] = -1, 0
                search.begin_at(self._agent, self._slots.positions, walk, walk.played[:ply].copy())
                walk.at[search.BASE], walk.at[search.ARRIVING] = 0, 1
                return True
        return False

    def _add(self, position: Position) -> None:
        """Correct a position and its images."""
        values = self._run.move_values(position)
        kept = self._solver.keeping(position)
        assert kept is not None  # the search has no limit
        best = max(kept, key=lambda cell: values[cell])
        for image in self._board.images(self._symmetric):
            agent, (first, second) = self._agent, sets_of(tuple(position[cell] for cell in image))
            at = int(place_of(agent.first, agent.second, first, second))
            if at >= 0:
                continue  # an image that is the position itself
            at = -1 - at
            self._agent = agent._replace(
                first=np.insert(agent.first, at, first),
                second=np.insert(agent.second, at, second),
                cell=np.insert(agent.cell, at, np.uint8(image.index(best))),
                met=np.insert(agent.met, at, np.uint8(0)),
            )

    def result(self, proof: Proof) -> Corrected:
        """Return the corrected player, with the corrections that the last walk met and their images."""
        agent, kept, size = self._agent, np.zeros(self._agent.cell.size, np.bool_), 0
        for number in np.flatnonzero(agent.met):
            position = self._board.position_of(agent.first[number], agent.second[number])
            size += not kept[number]
            for image in self._board.images(self._symmetric):
                pair = sets_of(tuple(position[cell] for cell in image))
                kept[place_of(agent.first, agent.second, *pair)] = True
        places = agent.first[kept], agent.second[kept]
        return Corrected(CorrectedAgent(agent.player, *places, agent.cell[kept], agent.met[kept]), proof, size)
