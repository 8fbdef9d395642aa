"""Depth-first search through all games that an agent allows, with an explicit stack.

The opponent may make any move, and the agent any that its rule may pick.  A position is listed when a move to it is
found, unless it or an image of it was listed before.  It is entered later, in depth-first order.  A branch ends when
the goal is decided: the agent has no line left by which it could lose or, if it must win, could win.  Where marks fall,
some of the lines that count as left can never be filled.  So branches end later than they could, and never too soon.

The opponent's most promising moves are tried first.  They are ranked by the marks in the lines that a move extends or
blocks, its own lines before the agent's, and cells of two such lines before cells of one.

A hunt looks for lost games that are far apart.  It tries the opponent's moves in random order.  After a lost game it
skips what is left of the game's last one to `LEVELS` moves of the agent.  A hunt that finds none is a proof.

Proofs call agents through kernels with one body for each class of agents.
An agent is a NamedTuple of arrays and numbers.  Some arrays are scratch, such as sums updated move by move.  So each
thread needs its own copy of the agent, made by `copy_for_thread`.

Threads share a hash table of the positions that a search has reached, with exact keys.
A position's key is that of its lowest image under the merged symmetries.  On boards of up to 40 cells the key is the
position's base-3 code, in one word.  On larger boards it is the two players' cells, in two words.  The empty board is
never stored, since its key 0 marks an empty slot; no game returns to it.

The keys of all images follow from those of the parent by one operation each.
"""

import functools
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ttt_batch.compiler.bits import NONE, ONE, lowest_bit, nth_member, popcount, single
from ttt_batch.compiler.intrinsics import compare_and_swap, prefetch_word, read_word, write_word
from ttt_batch.compiler.jit import Bool, Int8Array, Int64, Int64Array, Uint8Array, Uint64Array, generic, inlined, kernel
from ttt_batch.compiler.numerics import below, draw, mix
from ttt_batch.games.bitboards import Lines, LineView, can_fill, hash_of, make_lines, open_cells, view_of
from ttt_batch.games.board import Board

inlined_generic = functools.partial(generic, inline=True)
"""Decorator of kernels that are inlined, since passing an agent's arrays takes longer than most of the bodies."""


@inlined_generic
def reset(agent: Any) -> None:
    """Reset the agent's scratch to the empty board, in place."""


@inlined_generic
def mark_cell(agent: Any, cell: Any, player: Any) -> None:
    """Update the agent's scratch for a move of `player` (0 or 1) to a free `cell`; both int64."""


@inlined_generic
def unmark_cell(agent: Any, cell: Any, player: Any) -> None:
    """Undo the latest `mark_cell`, with the same parameters."""


@inlined_generic
def tied_cells(agent: Any, lines: Any, own: Any, other: Any, view: Any, ply: Any) -> Any:
    """Return all cells (uint64, a set) that tie for the agent's move after `ply` moves; at least one.

    lines: `games.bitboards.Lines`.  own, other: uint64, the marks of the agent and its opponent.  view: the result of
    `games.bitboards.view_of` for them.  An agent that picks a cell that may not be marked has lost.
    """


@functools.singledispatch
def copy_for_thread(agent: Any) -> Any:
    """Return a copy of an agent with its own scratch, for another thread; one body for each class."""
    raise TypeError(
        f"{type(agent).__name__} cannot be copied for threads: decorate a function with @copy_for_thread.register"
    )


CODE_CELLS = 40
"""Number of cells of the largest board whose codes fit into one word."""

TOGETHER = 4
"""Number of images whose keys are computed together; fewer images are repeated up to it."""

S32 = np.uint64(32)


class Codes(NamedTuple):
    """Table of positions by their codes.

    power: uint64[P, cells, images], what a mark adds to each image's code.  slots: uint64[S], 0 if empty.
    """

    power: Uint64Array
    slots: Uint64Array


class Pairs(NamedTuple):
    """Table of positions by the two players' cells.

    image: uint64[cells, images], the image of each cell, as a set.
    slots: uint64[2 S], pairs of the first player's cells (0 if empty) and the complement of the second player's cells
    (0 while it is being written).
    """

    image: Uint64Array
    slots: Uint64Array


Positions = Codes | Pairs


def make_positions(board: Board, *, symmetric: bool, wide: bool | None = None) -> Positions:
    """Return a table without slots.  symmetric: merge images.  wide: use keys of two words; None: only if needed."""
    images = board.images(symmetric)
    images *= -(-TOGETHER // len(images))
    target = np.array([np.argsort(image) for image in images]).T  # each cell's place in each image
    if board.cells > CODE_CELLS if wide is None else wide:
        return Pairs(ONE << target.astype(np.uint64), np.zeros(0, np.uint64))
    power = np.array([3**cell for cell in range(board.cells)], np.uint64)[target]
    return Codes(np.stack([power, 2 * power]), np.zeros(0, np.uint64))


def words_a_key(positions: Positions) -> int:
    """Return the number of words of a key."""
    return 1 if isinstance(positions, Codes) else 2


@inlined_generic
def extend_table(positions: Any, images: Any, ply: Any, cell: Any, player: Any) -> None:
    """Write the keys of all images after a move of `player` to `cell` into row `ply + 1` of `images`, in place.

    images: uint64[cells + 1, words x images], a row for each number of moves.
    """


@inlined_generic
def find(positions: Any, images: Any, ply: Any, cell: Any, player: Any, keys: Any, number: Any) -> None:
    """Write the key of the position after a move into `keys`, at index `number`, and prefetch its slot."""


@inlined_generic
def enter_position(positions: Any, keys: Any, number: Any) -> Any:
    """Store the position with the key at index `number` of `keys`; return whether it is new.

    Thread-safe.  The table must have an empty slot, which is not checked.
    """


@inlined
def _first_slot(key: np.uint64, n_slots: Int64) -> np.uint64:
    """Return the first slot (uint64) to try for a code; `n_slots` must be below 2**32."""
    return ((hash_of(key) >> S32) * np.uint64(n_slots)) >> S32


@inlined
def _first_pair(one: np.uint64, other: np.uint64, n_slots: Int64) -> np.uint64:
    """Return the index of the first word of the slot to try first for a key of two words."""
    return _first_slot(one ^ hash_of(other), n_slots >> 1) << ONE


@extend_table.register(Codes)
def _extend_codes(positions: Codes, images: Uint64Array, ply: Int64, cell: Int64, player: Int64) -> None:
    for image in range(positions.power.shape[2]):
        images[ply + 1, image] = images[ply, image] + positions.power[player, cell, image]


@find.register(Codes)
def _find_codes(
    positions: Codes, images: Uint64Array, ply: Int64, cell: Int64, player: Int64, keys: Uint64Array, number: Int64
) -> None:
    power = positions.power
    key = images[ply, 0] + power[player, cell, 0]
    for first in range(0, power.shape[2], TOGETHER):
        a = images[ply, first] + power[player, cell, first]
        b = images[ply, first + 1] + power[player, cell, first + 1]
        c = images[ply, first + 2] + power[player, cell, first + 2]
        d = images[ply, first + 3] + power[player, cell, first + 3]
        a = a if a < b else b
        c = c if c < d else d
        a = a if a < c else c
        key = a if a < key else key
    keys[number] = key
    prefetch_word(positions.slots, _first_slot(key, positions.slots.shape[0]))


@enter_position.register(Codes)
def _enter_codes(positions: Codes, keys: Uint64Array, number: Int64) -> bool:
    slots, key = positions.slots, keys[number]
    slot, last = _first_slot(key, slots.shape[0]), np.uint64(slots.shape[0] - 1)
    while True:
        held = read_word(slots, slot)
        if held == NONE:
            held = compare_and_swap(slots, slot, NONE, key)
            if held == NONE:
                return True
        if held == key:
            return False
        slot = slot + ONE if slot < last else NONE


@extend_table.register(Pairs)
def _extend_pairs(positions: Pairs, images: Uint64Array, ply: Int64, cell: Int64, player: Int64) -> None:
    n_images = positions.image.shape[1]
    for image in range(n_images):
        mine = positions.image[cell, image]
        images[ply + 1, image] = images[ply, image] | (NONE if player else mine)
        images[ply + 1, n_images + image] = images[ply, n_images + image] | (mine if player else NONE)


@find.register(Pairs)
def _find_pairs(
    positions: Pairs, images: Uint64Array, ply: Int64, cell: Int64, player: Int64, keys: Uint64Array, number: Int64
) -> None:
    n_images = positions.image.shape[1]
    lowest, lowest_other = ~NONE, ~NONE
    for image in range(n_images):
        mine = positions.image[cell, image]
        first = images[ply, image] | (NONE if player else mine)
        second = images[ply, n_images + image] | (mine if player else NONE)
        if first < lowest or (first == lowest and second < lowest_other):
            lowest, lowest_other = first, second
    keys[2 * number], keys[2 * number + 1] = lowest, ~lowest_other
    prefetch_word(positions.slots, _first_pair(lowest, ~lowest_other, positions.slots.shape[0]))


@enter_position.register(Pairs)
def _enter_pairs(positions: Pairs, keys: Uint64Array, number: Int64) -> bool:
    slots, one, other = positions.slots, keys[2 * number], keys[2 * number + 1]
    slot, last = _first_pair(one, other, slots.shape[0]), np.uint64(slots.shape[0] - 2)
    while True:
        held = read_word(slots, slot)
        if held == NONE:
            held = compare_and_swap(slots, slot, NONE, one)
            if held == NONE:
                write_word(slots, slot + ONE, other)
                return True
        if held == one:
            beside = read_word(slots, slot + ONE)
            while beside == NONE:  # its writer is between the two words
                beside = read_word(slots, slot + ONE)
            if beside == other:
                return False
        slot = slot + ONE + ONE if slot < last else NONE


@kernel
def move_over(positions: Any, keys: Uint64Array, words: Int64) -> None:
    """Store the keys of another table's slots in `positions`, which must have room.  words: words of a key."""
    for number in range(keys.shape[0] // words):
        if keys[words * number] != NONE:
            enter_position(positions, keys, number)


FEWEST_SLOTS, MOST_SLOTS = 1 << 12, (1 << 32) - 1
GROWTH = 4
"""Growth factor of the slots.  Moving the keys takes a third of the time of finding them."""

FILLED, CROWDED = 0.5, 0.85
"""Load factors at which the slots grow, and at which they are full if they cannot grow."""


class Slots:
    """Slots of the positions reached, which grow up to a memory limit."""

    def __init__(self, positions: Positions, kept: NDArray[np.uint64], limit: int, needed: int) -> None:
        """Reuse the memory `kept` of an earlier proof, or allocate more for its `needed` keys, up to `limit` bytes."""
        self.array, self._words, self._limit = kept, words_a_key(positions), limit
        wanted = min(max(FEWEST_SLOTS, int(1.25 * needed / FILLED)), self._most())
        if kept.size < wanted * self._words:
            self.array = kept = np.empty(wanted * self._words, np.uint64)
        self._view(positions, kept[: wanted * self._words])

    def _view(self, positions: Positions, slots: NDArray[np.uint64]) -> None:
        slots[:] = 0  # not np.zeros, for which NumPy does not request huge pages
        self.positions = positions._replace(slots=slots)

    def _most(self, beside: int = 0) -> int:
        """Return the maximum of slots if `beside` other slots stay allocated."""
        return max(1, min(self._limit // (8 * self._words) - beside, MOST_SLOTS))

    @property
    def _number(self) -> int:
        return int(self.positions.slots.size) // self._words

    def _next(self) -> int:
        """Return the number of slots after growing, or 0 if growing does not pay any more."""
        number = min(GROWTH * self._number, self._most(self._number))
        return number if number > self._number * 5 // 4 else 0

    @property
    def room(self) -> int:
        """Return the number of keys that fit before the next growth."""
        return int(self._number * (FILLED if self._next() else CROWDED))

    def grow(self) -> bool:
        """Add slots; return False if memory is full."""
        number = self._next()
        if not number:
            return False
        old = self.positions.slots
        self.array = np.empty(number * self._words, np.uint64)
        self._view(self.positions, self.array)
        move_over(self.positions, old, self._words)
        return True


CANNOT_LOSE, ALWAYS_WINS = 0, 1
"""Goals in kernels, as indices of `prover.GOALS`."""

DONE, ENOUGH, BUDGET_SPENT, NO_ROOM, CALLED = range(5)
"""Reasons why a search returns: no moves are left, enough lost games were found, the limit of positions is reached, the
slots are nearly full, or another thread is idle."""

PLY, BASE, ARRIVING, ENTERED, KEPT, LOST = range(6)
"""Indices of `Walk.at`: marks on the board, marks at the bottom of the stack, and whether the current position is still
to be entered; then positions entered, keys stored and lost games found since the start of the search."""

LEVELS = 6
"""Most moves of the agent that a hunt takes back after a lost game."""

PATIENCE = 1024
"""Least number of positions that a thread enters before it checks for idle threads."""


class Walk(NamedTuple):
    """State of a thread's search.  The first five arrays have a row for each number of moves of the current game.

    images: see `extend_table`.  marks: uint64[cells + 1, P].
    moves: uint8[cells + 1, cells], the moves to new positions.
    tried, listed: int64[cells + 1], the number of these moves that were made, and of all.

    played: int8[cells], the moves of the current game.  keys: uint64[words x cells], scratch.
    ranks: uint64[4 k + 4], scratch, sets of cells by ascending rank; the lowest set holds all cells.
    lost: int8[limit, cells], lost games, -1 after their ends.  at: int64[6], see `PLY`.
    """

    images: Uint64Array
    marks: Uint64Array
    moves: Uint8Array
    tried: Int64Array
    listed: Int64Array
    played: Int8Array
    keys: Uint64Array
    ranks: Uint64Array
    lost: Int8Array
    at: Int64Array


class Claim(NamedTuple):
    """Claim to be proved.  seat: 0 or 1, the agent's.  goal: CANNOT_LOSE or ALWAYS_WINS.

    cut: 1 if a branch ends as soon as the goal is decided.
    filler: the player whose lines matter.  That is the agent if it must win, else its opponent; on misere boards, where
    the player who fills a line loses, the other way round.
    hunt: key of a hunt's random numbers, from 1; 0 if this is no hunt.
    """

    lines: Lines
    seat: int
    goal: int
    cut: int
    filler: int
    hunt: int = 0


def make_task(board: Board, seat: int, goal: int, *, occupied: bool = False, hunt: int = 0) -> Claim:
    """Return the claim about an agent in `seat`.  occupied: whether it may pick illegal cells, which lose the game."""
    cut = int(goal == ALWAYS_WINS or not occupied)
    return Claim(make_lines(board), seat, goal, cut, seat ^ (goal == CANNOT_LOSE) ^ board.misere, hunt)


def make_walk(board: Board, positions: Positions, lost: int) -> Walk:
    """Return a walk at the empty board, with room for `lost` lost games."""
    cells, words, n_images = board.cells, words_a_key(positions), positions[0].shape[-1]
    return Walk(
        images=np.zeros((cells + 1, words * n_images), np.uint64),
        marks=np.zeros((cells + 1, 2), np.uint64),
        moves=np.zeros((cells + 1, cells), np.uint8),
        tried=np.zeros(cells + 1, np.int64),
        listed=np.zeros(cells + 1, np.int64),
        played=np.zeros(cells, np.int8),
        keys=np.zeros(words * cells, np.uint64),
        ranks=np.zeros(4 * board.k + 4, np.uint64),
        lost=np.full((lost, cells), -1, np.int8),
        at=np.array([0, 0, 1, 0, 0, 0], np.int64),
    )


@inlined
def descend(agent: Any, positions: Any, walk: Walk, ply: Int64, cell: Int64) -> None:
    """Update walk and agent, except `walk.at`, for the move to `cell` after `ply` moves."""
    player = ply & 1
    walk.played[ply] = cell
    walk.marks[ply + 1, player] = walk.marks[ply, player] | single(cell)
    walk.marks[ply + 1, 1 - player] = walk.marks[ply, 1 - player]
    extend_table(positions, walk.images, ply, cell, player)
    mark_cell(agent, cell, player)


@kernel
def begin_at(agent: Any, positions: Any, walk: Walk, moves: Int8Array) -> None:
    """Set walk and agent to the position after `moves` (int8[n]), the bottom of the stack, in place."""
    reset(agent)
    for ply in range(moves.shape[0]):
        descend(agent, positions, walk, ply, np.int64(moves[ply]))
    walk.at[PLY] = walk.at[BASE] = moves.shape[0]


@inlined
def rank_cells(lines: Lines, ranks: Uint64Array, own: np.uint64, other: np.uint64) -> None:
    """Write the cells into `ranks` by their promise for the player to move; cells of several lines rank above one.

    On misere boards the order is reversed, since a player who builds lines must fill one later.
    """
    ranks[:] = NONE
    for number in range(lines.mask.shape[0]):
        line = lines.mask[number]
        if line & other == NONE:
            rank = 4 * popcount(line & own) + 2
        elif line & own == NONE:
            rank = 4 * popcount(line & other)
        else:
            continue
        ranks[rank + 1] |= ranks[rank] & line
        ranks[rank] |= line
    if lines.misere == 1:
        highest, above = ranks.shape[0] - 1, NONE
        for rank in range(highest, 0, -1):
            ranks[rank] &= ~above
            above |= ranks[rank]
        for rank in range(1, highest // 2 + 1):
            ranks[rank], ranks[highest + 1 - rank] = ranks[highest + 1 - rank], ranks[rank]
        ranks[highest] |= ~above


@inlined
def shuffle_cells(ranks: Uint64Array, cells: np.uint64, bits: np.uint64) -> None:
    """Write `cells` into `ranks` in random order; those for which there is no rank come last.  bits: uint64, random."""
    ranks[:] = NONE
    for rank in range(ranks.shape[0] - 1, 0, -1):
        if cells == NONE:
            return
        ranks[rank] = single(nth_member(cells, below(bits, popcount(cells))))
        cells ^= ranks[rank]
        bits = mix(bits)


@inlined
def list_moves(positions: Any, walk: Walk, task: Claim, ply: Int64, cells: np.uint64, highest: Int64) -> None:
    """List the moves to those of `cells` that lead to new positions, from `walk.ranks[highest]` down, and store these.

    All keys are computed before any lookup, so that their slots are prefetched together.
    Moves that block the last line that matters are not listed; on 5x5x5 they are a third of all positions stored.
    """
    moves, player, found = walk.moves, ply & 1, 0
    own, other = walk.marks[ply, player], walk.marks[ply, 1 - player]
    closing = task.cut == 1 and task.goal == CANNOT_LOSE and player != task.filler
    walk.ranks[0] = ~NONE
    for number in range(highest, -1, -1):
        ranked = cells & walk.ranks[number]
        cells &= ~ranked
        while ranked != NONE:
            cell = lowest_bit(ranked)
            ranked &= ranked - ONE
            if closing and not can_fill(task.lines, other, own | single(cell), (task.lines.cells - ply) // 2):
                continue
            moves[ply, found] = cell
            find(positions, walk.images, ply, cell, player, walk.keys, found)
            found += 1
    listed = 0
    for number in range(found):
        if enter_position(positions, walk.keys, number):
            moves[ply, listed] = moves[ply, number]
            listed += 1
    walk.tried[ply], walk.listed[ply] = 0, listed
    walk.at[KEPT] += listed


@inlined
def note_loss(walk: Walk, length: Int64) -> bool:
    """Store the first `length` moves played as a lost game; return whether `walk.lost` is full."""
    game = walk.at[LOST]
    for ply in range(length):
        walk.lost[game, ply] = walk.played[ply]
    walk.at[LOST] = game + 1
    return game + 1 == walk.lost.shape[0]


@inlined
def losing_cells(task: Claim, view: LineView, cells: np.uint64, legal: np.uint64, mine: Bool, last: Bool) -> np.uint64:
    """Return those of `cells`, the possible moves, after which the agent has missed its goal.

    legal: the cells that may be marked.  mine: whether the agent is to move.  last: whether it is the last move.
    """
    lost = NONE
    if mine:
        lost = cells & ~legal
    if mine == (task.lines.misere == 1):
        lost |= cells & view.own
    if last and task.goal == ALWAYS_WINS:
        lost |= cells & ~view.own
    return lost


@inlined
def enter_next(agent: Any, positions: Any, walk: Walk, task: Claim, ply: Int64, view: LineView) -> bool:
    """Enter the position after `ply` moves; list its moves or store a lost game; return whether `walk.lost` is full."""
    lines = task.lines
    own, other = walk.marks[ply, ply & 1], walk.marks[ply, 1 - (ply & 1)]
    mine, legal = ply & 1 == task.seat, open_cells(lines, own | other)
    cells = tied_cells(agent, lines, own, other, view, ply) if mine else legal
    lost = losing_cells(task, view, cells, legal, mine, ply + 1 == lines.cells)
    if lost != NONE:
        walk.played[ply] = lowest_bit(lost)
        return note_loss(walk, ply + 1)
    if ply + 1 < lines.cells:
        if task.hunt != 0 and not mine:
            shuffle_cells(walk.ranks, cells, draw(np.uint64(task.hunt), walk.at[ENTERED]))
        elif not mine:
            rank_cells(lines, walk.ranks, own, other)
        list_moves(positions, walk, task, ply, cells & ~view.own, 0 if mine else walk.ranks.shape[0] - 1)
    return False


@inlined
def take_back(walk: Walk, task: Claim, ply: Int64) -> None:
    """Skip the other moves at the ends of the game just lost, a random number of levels; it ended after `ply` moves."""
    levels = 1 + below(draw(~np.uint64(task.hunt), walk.at[LOST]), LEVELS)
    lowest = ply - 2 * levels + (1 if ply & 1 == task.seat else 2)
    for before in range(max(walk.at[BASE], lowest), ply):
        walk.tried[before] = walk.listed[before]


@kernel
def advance_search(
    agent: Any, positions: Any, walk: Walk, task: Claim, until: Int64, room: Int64, idle: Int64Array
) -> Int64:
    """Continue a search until it has entered `until` positions or stored `room` keys; return the reason for the end.

    idle: int64[1], not 0 if a thread is idle.  Agent, positions and walk are modified in place.
    """
    lines, at, patience = task.lines, walk.at, walk.at[ENTERED] + PATIENCE
    ply, arriving = at[PLY], at[ARRIVING] != 0
    while True:
        if not arriving:
            if walk.tried[ply] == walk.listed[ply]:
                if ply == at[BASE]:
                    at[PLY], at[ARRIVING] = ply, 0
                    return DONE
                ply -= 1
                unmark_cell(agent, np.int64(walk.played[ply]), ply & 1)
                continue
            descend(agent, positions, walk, ply, np.int64(walk.moves[ply, walk.tried[ply]]))
            walk.tried[ply] += 1
            ply += 1
        arriving = False
        walk.tried[ply] = walk.listed[ply] = 0
        view = view_of(lines, walk.marks[ply, ply & 1], walk.marks[ply, 1 - (ply & 1)])
        enough: Bool = False
        lost = at[LOST]
        if task.cut == 0 or (view.own_open if ply & 1 == task.filler else view.other_open):
            why = BUDGET_SPENT if at[ENTERED] >= until else DONE
            if at[KEPT] + lines.cells > room:
                why = NO_ROOM
            if at[ENTERED] >= patience and idle[0] > 0:
                why = CALLED
            if why != DONE:
                at[PLY], at[ARRIVING] = ply, 1
                return why
            at[ENTERED] += 1
            enough = enter_next(agent, positions, walk, task, ply, view)
        elif task.goal == ALWAYS_WINS:
            if ply > at[BASE]:
                walk.tried[ply - 1] = walk.listed[ply - 1]
            enough = note_loss(walk, ply)
        if task.hunt != 0 and walk.at[LOST] > lost:
            take_back(walk, task, ply)
        if enough:
            at[PLY], at[ARRIVING] = ply, 0
            return ENOUGH
