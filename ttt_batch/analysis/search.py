"""Whether an agent can be beaten, by search: exact if its game tree can be exhausted, on boards of any size.

The opponent may make any move, and the tie-breaks any move that the agent's rule may pick.  So the agent is unbeatable
exactly if no lost end can be reached.  The search walks, depth first, over the positions that the agent lets happen and
enters each once, by its code (up to symmetry if the run's table is).

A branch ends early if the player whose line would beat the agent (its opponent; on misère boards the agent itself) can
fill no line any more: every one holds a mark of the other player, or needs more moves than are left.  The opponent's
most promising moves come first, and the agent's last, by what they build and block.  That changes no verdict and finds
losing lines within a few thousand positions.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ttt_batch.analysis.agent import Agent, agent_cells, make_agent, move_outcome
from ttt_batch.analysis.opponents import seat_number
from ttt_batch.base.choices import Ties
from ttt_batch.base.errors import UsageError
from ttt_batch.base.jit import inlined, kernel
from ttt_batch.base.memory import free_memory
from ttt_batch.base.quantities import Number, whole
from ttt_batch.game.bitboards import Places, n_bits, nth_cell, slot_of
from ttt_batch.game.board import FIRST_WINS, UNFINISHED
from ttt_batch.runs.run import Run

PROVED, REFUTED, PAUSED = range(3)
STATUS = ("proved", "refuted", "undecided")

BUDGET = 2_000_000
"""Positions that a search enters at most by default: some seconds and 32 MB."""

MAX_BUDGET = 500_000_000

AT_ONCE = 1 << 16
"""Positions between two chances to interrupt."""

PLY, SEEN, ARRIVING = range(3)
"""What `Hunt.at` holds: marks on the board, positions entered, and whether the current one has yet to be entered."""

HEAVIEST = 12
"""Marks in a line beyond which its weight grows no more: each mark multiplies it by eight, and the sum has 64 bits."""


class Hunt(NamedTuple):
    """The state of a search.  After every ply of the current game:

    images: int64[cells + 1, images], codes of the position's images.  marks: int64[cells + 1, P], the players' cells as
    bits.  moves: int64[cells + 1, cells], the moves to try, the last one first; left: int64[cells + 1], how many.

    lines, fences: int64[lines], bits, as in `Board.line_masks`.  played: int64[cells], the moves of the current game.
    scores: int64[cells], scratch.  at: int64[3], see `PLY`.
    slots: int64, a power of two of them: 0, or the code of a position entered + 1.
    """

    lines: Any
    fences: Any
    images: Any
    marks: Any
    moves: Any
    left: Any
    played: Any
    scores: Any
    at: Any
    slots: Any


@inlined
def slot_for(hunt: Hunt, ply: Any) -> Any:
    """The slot of the position after `ply` moves in the hash table, and its key, the lowest code of its images."""
    code = hunt.images[ply, 0]
    for image in range(1, hunt.images.shape[1]):
        code = min(code, hunt.images[ply, image])
    mask = hunt.slots.shape[0] - 1
    slot = slot_of(code, mask)
    while hunt.slots[slot] != 0 and hunt.slots[slot] != code + 1:
        slot = (slot + 1) & mask
    return slot, code


@inlined
def is_open(hunt: Hunt, ply: Any, player: Any) -> Any:
    """Whether a player (0 or 1) can still fill a line, after `ply` moves."""
    own, other = hunt.marks[ply, player], hunt.marks[ply, 1 - player]
    left = (hunt.played.shape[0] + 1 - player) // 2 - n_bits(own)
    for number in range(hunt.lines.shape[0]):
        line = hunt.lines[number]
        if line & other == 0 and hunt.fences[number] & own == 0 and n_bits(line & ~own) <= left:
            return True
    return False


@inlined
def promise(places: Places, cell: Any, own: Any, other: Any) -> Any:
    """How much a move builds and blocks: the lines through the cell that one player has alone, by marks in them."""
    total = np.int64(0)
    for number in range(places.lines.shape[1]):
        line = places.lines[cell, number]
        if line & other == 0:
            total += np.int64(2) << 3 * min(n_bits(line & own), HEAVIEST)
        elif line & own == 0:
            total += np.int64(1) << 3 * min(n_bits(line & other), HEAVIEST)
    return total


@inlined
def list_moves(places: Places, hunt: Hunt, ply: Any, cells: Any, sign: Any) -> None:
    """List `cells` (bits) as the moves to try after `ply` others, in place.

    sign: 1 for the most promising first, -1 for the least; equals in cell order.
    """
    own, other = hunt.marks[ply, ply & 1], hunt.marks[ply, 1 - (ply & 1)]
    n = 0
    while cells != 0:
        cell = nth_cell(cells, 0)
        cells &= cells - 1
        score = sign * promise(places, cell, own, other)
        put = n
        while put > 0 and hunt.scores[put - 1] >= score:
            hunt.scores[put], hunt.moves[ply, put] = hunt.scores[put - 1], hunt.moves[ply, put - 1]
            put -= 1
        hunt.scores[put], hunt.moves[ply, put] = score, cell
        n += 1
    hunt.left[ply] = n


@kernel
def hunt_losses(agent: Agent, hunt: Hunt, seat: int, cut: bool, until: int) -> Any:
    """Go on with a search for a loss of the agent in `seat` (0 or 1) until `until` positions were entered.

    cut: whether the agent can lose by a line alone, and not by choosing an occupied cell.
    Returns PROVED if there is no loss, REFUTED with the lost game in the first `hunt.at[PLY]` of `hunt.played`, or
    PAUSED.  `hunt` is modified in place.
    """
    places = agent.growth.places
    filler = seat if places.misere else 1 - seat
    all_cells = (np.int64(1) << places.power.shape[0]) - 1
    ply, arriving = hunt.at[PLY], hunt.at[ARRIVING] != 0
    while ply >= 0:
        mover = ply & 1
        own, other = hunt.marks[ply, mover], hunt.marks[ply, 1 - mover]
        if arriving:
            arriving = False
            if cut and not is_open(hunt, ply, filler):
                ply -= 1
                continue
            slot, code = slot_for(hunt, ply)
            if hunt.slots[slot] != 0:
                ply -= 1
                continue
            if hunt.at[SEEN] == until:
                hunt.at[PLY], hunt.at[ARRIVING] = ply, 1
                return PAUSED
            hunt.slots[slot] = code + 1
            hunt.at[SEEN] += 1
            cells, sign = all_cells & ~(own | other), 1 - 2 * places.misere
            if mover == seat:
                cells, sign = agent_cells(agent, hunt.images[ply, 0], ply), -sign
            list_moves(places, hunt, ply, cells, sign)
        if hunt.left[ply] == 0:
            ply -= 1
            continue
        hunt.left[ply] -= 1
        cell = hunt.moves[ply, hunt.left[ply]]
        hunt.played[ply] = cell
        outcome = move_outcome(places, cell, own, other, ply)
        if outcome == FIRST_WINS + 1 - seat:
            hunt.at[PLY] = ply + 1
            return REFUTED
        if outcome == UNFINISHED:
            ply += 1
            hunt.marks[ply, mover], hunt.marks[ply, 1 - mover] = own | np.int64(1) << cell, other
            for image in range(hunt.images.shape[1]):
                hunt.images[ply, image] = hunt.images[ply - 1, image] + (1 + mover) * places.power[cell, image]
            arriving = True
    hunt.at[PLY], hunt.at[ARRIVING] = ply, 0
    return PROVED


@dataclass(frozen=True)
class Verdict:
    """What a search has found about an agent in one seat.

    status: `proved` (no opponent and no tie-break beats it), `refuted`, or `undecided` within the budget.
    positions: how many were entered.  line: a game that the agent can lose, as cells, if refuted; else None.
    """

    status: str
    positions: int
    line: list[int] | None

    @property
    def unbeatable(self) -> bool | None:
        """Whether nothing beats the agent in this seat; None if undecided."""
        return None if self.status == STATUS[PAUSED] else self.status == STATUS[PROVED]


def search(run: Run, seat: str, *, budget: Number = BUDGET, ties: Ties = "any", agent: Agent | None = None) -> Verdict:
    """Look for a game that a run's agent can lose in a seat, `first` or `second`.

    budget: positions to enter at most, 1 to 500,000,000; each takes 16 to 32 bytes.
    ties: as for `Run.candidates`.  agent: what `make_agent` makes of the run with these ties, if it is made already.
    Raises UsageError.  The run does not change.
    """
    budget, number = whole("budget", budget, 1, MAX_BUDGET), seat_number(seat)
    n_slots = 1 << (2 * budget).bit_length()
    if 8 * n_slots > free_memory():
        raise UsageError(
            f"budget {budget:,} takes {8 * n_slots / 1e9:.1f} GB of memory, {free_memory() / 1e9:.1f} GB are free; "
            "give a smaller one"
        )
    agent = agent or make_agent(run, ties)
    cells = run.board.cells
    lines, fences = np.array(run.board.line_masks, np.int64).reshape(-1, 2).T.copy()
    played, scores = np.zeros((2, cells), np.int64)
    hunt = Hunt(
        lines,
        fences,
        images=np.zeros((cells + 1, agent.growth.images.size), np.int64),
        marks=np.zeros((cells + 1, 2), np.int64),
        moves=np.zeros((cells + 1, cells), np.int64),
        left=np.zeros(cells + 1, np.int64),
        played=played,
        scores=scores,
        at=np.array([0, 0, 1], np.int64),
        slots=np.zeros(n_slots, np.int64),
    )
    status = PAUSED
    while status == PAUSED and hunt.at[SEEN] < budget:
        until = min(budget, int(hunt.at[SEEN]) + AT_ONCE)
        status = hunt_losses(agent, hunt, number, not run.learner.occupied, until)
    line = hunt.played[: hunt.at[PLY]].tolist() if status == REFUTED else None
    return Verdict(STATUS[status], int(hunt.at[SEEN]), line)
