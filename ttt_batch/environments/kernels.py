"""Kernels of `Batch`: all boards at once, block by block.

A call with an opponent is a full turn: the agent's move, the opponent's, the start of new games, and the opponent's
first move in those in which it begins.

Game `k` of environment `i` draws from (seed, i, k), and number `p` decides at ply p.  Other environments and the
process do not matter.

`fast_step` serves the common case without an opponent, with an immediate restart and without kept positions.  Every
game moves in every step, so half as many loops are enough.  A block's planes and masks are written before the next
block moves, so that computing overlaps with writing: a second pass on 6x7x4 took 3 to 8 % longer.
"""

from typing import Any, NamedTuple, get_args

import numpy as np

from ttt_batch.agents.builtin import KernelPlayer, cells_of
from ttt_batch.compiler.bits import (
    NONE,
    ONE,
    intersection,
    lowest_bit,
    nth_member,
    popcount,
    shift_left,
    shift_right,
    single,
)
from ttt_batch.compiler.jit import (
    Float32Array,
    Float64Array,
    Int8Array,
    Int64,
    Int64Array,
    Uint8Array,
    Uint64Array,
    WordArray,
    generic,
    inlined,
    kernel,
)
from ttt_batch.compiler.numerics import GOLDEN, below, draw, mix
from ttt_batch.environments.rules import (
    BLOCK,
    FORFEIT,
    JOINED,
    BatchState,
    ObservationLayout,
    Rules,
    Scratch,
    find_sides,
    judge_step,
    landing,
    make_moves,
    renew,
    report,
    restart,
    show_rows,
    write_observations,
)
from ttt_batch.games.bitboards import Lines
from ttt_batch.games.board import UNFINISHED


@inlined
def drawn_cell(key: np.uint64, environment: Int64, game: Int64, taken: np.uint64, cells: np.uint64) -> np.int64:
    """Return a random one of `cells` in a position with marks on `taken` (sets, uint64).

    key: uint64, `stream_key(seed, purpose)`; the others are integers from 0.
    """
    base = mix(mix(key + np.uint64(environment) * GOLDEN) + np.uint64(game) * GOLDEN)
    return nth_member(cells, below(draw(base, popcount(taken)), popcount(cells)))


SAME_STEP, NEXT_STEP, DISABLED = range(3)
"""Start of the next game: in the step that ends one, in the step after it, or when the caller resets it."""

IN_TURN = 2
"""The agent's seat: 0 or 1 always, or first and second in turn, beginning with environment 0 as first."""

FINE = -1
"""No action is wrong."""


class BatchSettings(NamedTuple):
    """Settings of a batch.

    autoreset: SAME_STEP, NEXT_STEP or DISABLED.  forfeits: True if an illegal action loses, otherwise it is an error.
    seat: 0, 1 or IN_TURN, the agent's with an opponent.  first_env: the number of the first environment.
    at_random: True if the opponent picks evenly among all legal actions.
    """

    autoreset: int
    forfeits: bool
    seat: int
    first_env: int
    at_random: bool


class Seen(NamedTuple):
    """Observations for the caller; every array in one dimension, and bool as uint8.

    planes: uint8[n * 2 * cells], cells of the player and of its opponent.  mask: uint8[n * actions], legal actions;
    none in games that are over.  rewards: float32[n * 2].  terminated: uint8[n].
    seat: uint8[n], the agent's seat; uint8[0] without an opponent.
    last_own, last_other: W[n], the cells of the two sides of `planes` in the position in which a game ended, or W[0].
    moves, played: int8[n * cells], the cells of the current game, and of one that ended in this step, or int8[0].
    """

    planes: Uint8Array
    mask: Uint8Array
    rewards: Float32Array
    terminated: Uint8Array
    seat: Uint8Array
    last_own: WordArray
    last_other: WordArray
    moves: Int8Array
    played: Int8Array


class BatchGames(NamedTuple):
    """Batch without its opponent, for kernels that modify it in place."""

    rules: Rules
    state: BatchState
    settings: BatchSettings
    seen: Seen
    scratch: Scratch


class AskedPlayer(NamedTuple):
    """Moves of an agent outside the kernels, which is asked before each step.

    replies: uint64[n], the cell that it marks in each game, as a set.  openings: uint64[n], in each next game.
    """

    replies: Uint64Array
    openings: Uint64Array


@generic
def cells_in_game(player: Any, lines: Lines, own: np.uint64, other: np.uint64, ply: Int64, game: Int64) -> Any:
    """Run `cells_of` in one game of a batch, which an agent that was asked tells apart."""


@cells_in_game.register(AskedPlayer)
def _asked_cells(
    player: AskedPlayer, lines: Lines, own: np.uint64, other: np.uint64, ply: Int64, game: Int64
) -> np.uint64:
    return player.openings[game] if ply == 0 else player.replies[game]


def _cells_anywhere(player: Any, lines: Lines, own: np.uint64, other: np.uint64, ply: Int64, game: Int64) -> Any:
    return cells_of(player, lines, own, other, ply)


for _player in get_args(KernelPlayer):
    cells_in_game.register(_player)(_cells_anywhere)


@kernel
def find_replies(games: BatchGames, going: Uint8Array) -> None:
    """Write 1 to `going` (uint8[n]) for each game that goes on after the move in `scratch.wanted`, otherwise 0.

    Of the games only scratch changes.
    """
    rules, state, _, _, scratch = games
    for first in range(0, state.own.shape[0], BLOCK):
        last = min(first + BLOCK, state.own.shape[0])
        marked = scratch.wanted[first:last]
        block = Scratch(marked, scratch.won, scratch.idle, scratch.ended, scratch.wanted, scratch.words)
        judge_step(rules, state.own[first:last], state.other[first:last], block, True)
        for g in range(first, last):
            going[g] = np.uint8((scratch.ended[g - first] == UNFINISHED) & (state.over[g] == 0))


@kernel
def draw_replies(
    key: np.uint64,
    environments: Int64Array,
    games: Int64Array,
    plies: Int64Array,
    sums: Float64Array,
    cells: Uint64Array,
) -> None:
    """Draw a cell for each of m games into `cells` (uint64[m], sets of one), by the random numbers of `drawn_cell`.

    key: uint64.  games: int64[m], their numbers.  sums: float64[m, cells], cumulative probabilities of cells, or
    float64[1, cells] for all.
    """
    final, last = sums.shape[0] - 1, sums.shape[1] - 1
    for i in range(games.shape[0]):
        base = mix(mix(key + np.uint64(environments[i]) * GOLDEN) + np.uint64(games[i]) * GOLDEN)
        row, cell = min(i, final), 0
        share = np.float64(draw(base, plies[i]) >> np.uint64(11)) / 2.0**53 * sums[row, last]
        while cell < last and sums[row, cell] <= share:
            cell += 1
        cells[i] = single(cell)


@kernel
def wanted_moves(
    rules: Rules, state: BatchState, settings: BatchSettings, actions: Int64Array, wanted: WordArray
) -> Int64:
    """Write the mover's cells after its action to `wanted` (W[n]), unchanged by an illegal move or in an ended game.

    Returns the first game with a wrong action, or FINE.  Wrong are actions out of range, actions in ended games that do
    not restart in this step, and illegal moves unless they lose.
    """
    word = state.own.dtype.type
    full, column, below, bottom = rules.full[0], rules.column[0], rules.below, rules.bottom[0]
    last, least = np.uint64(63), np.uint64(rules.actions)
    wrong = word(0)
    if settings.autoreset == SAME_STEP:
        for g in range(actions.shape[0]):
            own, number = state.own[g], np.uint64(actions[g])
            taken = word(own | state.other[g])
            free = word(word(full & ~taken) & word(shift_right(taken, below) | bottom))
            cell = intersection(free, shift_left(column, number & last))
            bad = (number >= least) | ((cell == word(0)) & (not settings.forfeits))
            wrong = word(wrong | word(bad))
            wanted[g] = word(own | cell)
    else:
        waits = settings.autoreset == NEXT_STEP
        for g in range(actions.shape[0]):
            own, number, over = state.own[g], np.uint64(actions[g]), state.over[g] != 0
            taken = word(own | state.other[g])
            free = word(word(full & ~taken) & word(shift_right(taken, below) | bottom))
            cell = word(0) if over else intersection(free, shift_left(column, number & last))
            bad = (number >= least) | ((cell == word(0)) & (not settings.forfeits))
            wrong = word(wrong | word(not waits if over else bad))
            wanted[g] = word(own | cell)
    return FINE if wrong == word(0) else first_wrong(rules, state, settings, actions)


@inlined
def first_wrong(rules: Rules, state: BatchState, settings: BatchSettings, actions: Int64Array) -> Int64:
    """Return the first game with a wrong action, or FINE."""
    for g in range(actions.shape[0]):
        number = np.int64(actions[g])
        free = np.uint64(rules.top[0]) & ~(np.uint64(state.own[g]) | np.uint64(state.other[g]))
        if state.over[g] != 0:
            if settings.autoreset == DISABLED:
                return g
            continue
        if number < 0 or number >= rules.actions:
            return g
        if not settings.forfeits and (free >> np.uint64(number)) & ONE == NONE:
            return g
    return FINE


TOGETHER = 256
"""Boards that go through all loops together."""


@kernel
def fast_step(games: BatchGames, look: ObservationLayout, actions: Int64Array) -> Int64:
    """Make the moves of `actions`, and write the results to `games.seen`; return FINE.

    Change nothing if an action is wrong, and return the first game with one.
    actions: int64[n], or int64[0] for the moves of `scratch.wanted`.  No game may be over.
    Above JOINED cells, each number of cells needs its own compilation of 2 s.
    """
    rules, state, settings, seen, scratch = games
    wrong = wanted_moves(rules, state, settings, actions, scratch.wanted)
    if wrong != FINE:
        return wrong
    n = state.own.shape[0]
    for first in range(0, n, TOGETHER):
        last = min(first + TOGETHER, n)
        own, other = state.own[first:last], state.other[first:last]
        # The moves stay where they are: a step that copied them to `scratch.marked` took 15 % longer.
        block = Scratch(
            scratch.wanted[first:last], scratch.won, scratch.idle, scratch.ended, scratch.wanted, scratch.words
        )
        judge_step(rules, own, other, block, True)
        report(block.ended[: last - first], seen.rewards[2 * first : 2 * last], seen.terminated[first:last])
        renew(own, other, state.games[first:last], block)
        if rules.cells > JOINED:
            show_rows(state, look, own, other, first, last)
        else:
            write_observations(rules, state, scratch, seen, first, last)
    return FINE


@inlined
def opponent_moves(games: BatchGames, lines: Lines, player: Any, key: np.uint64, first: Int64) -> None:
    """Mark the opponent's cell in the games of the block, whose first is `first`, that are not idle.

    key: uint64.  An occupied cell, which only `minimax-q` chooses, is left as it is, and forfeits.
    """
    rules, state, settings, _, scratch = games
    word, first_env = state.own.dtype.type, settings.first_env + first
    last = min(first + BLOCK, state.own.shape[0])
    own, other, played = state.own[first:last], state.other[first:last], state.games[first:last]
    marked, idle, moving = scratch.marked, scratch.idle, scratch.won
    count: Any = 0
    for g in range(own.shape[0]):
        marked[g] = own[g]
    # List the games that move: the processor would mispredict a branch for each.
    for g in range(own.shape[0]):
        moving[count] = word(g)
        count += idle[g] == word(0)
    for number in range(count):
        at = np.int64(moving[number])
        legal, taken = landing(rules, word(own[at] | other[at])), np.uint64(own[at] | other[at])
        ply = popcount(taken)
        cells = cells_in_game(player, lines, np.uint64(own[at]), np.uint64(other[at]), ply, first + at)
        cell = drawn_cell(key, first_env + at, played[at], taken, cells)
        marked[at] = word(own[at] | word(legal & shift_left(word(1), cell)))


@inlined
def random_moves(games: BatchGames, key: np.uint64, first: Int64) -> None:
    """Run `opponent_moves` for an opponent that moves at random, in vector code, also for idle games."""
    rules, state, settings, _, scratch = games
    word, first_env = state.own.dtype.type, settings.first_env + first
    last = min(first + BLOCK, state.own.shape[0])
    own, other, played = state.own[first:last], state.other[first:last], state.games[first:last]
    marked, idle = scratch.marked, scratch.idle
    for g in range(own.shape[0]):
        legal = landing(rules, word(own[g] | other[g]))
        cell = drawn_cell(key, first_env + g, played[g], np.uint64(own[g] | other[g]), np.uint64(legal))
        mine = word(own[g] | word(legal & shift_left(word(1), cell)))
        marked[g] = own[g] if idle[g] != word(0) else mine


@inlined
def note(rules: Rules, own: WordArray, other: WordArray, scratch: Scratch, moves: Int8Array) -> None:
    """Write the cells that are marked in this move to `moves` (int8[block * cells], or int8[0])."""
    if moves.shape[0] == 0:
        return
    for g in range(own.shape[0]):
        cell = np.uint64(scratch.marked[g] ^ own[g])
        if cell != 0:
            moves[rules.cells * g + popcount(np.uint64(own[g] | other[g]))] = lowest_bit(cell)


@inlined
def keep_moves(rules: Rules, state: BatchState, seen: Seen, ended: Uint8Array, first: Int64) -> None:
    """Store the moves of ended games, unless an illegal one ended them."""
    cells = rules.cells
    for g in range(first, min(first + BLOCK, state.own.shape[0])):
        seen.played[cells * g] = -1
        if ended[g - first] != UNFINISHED and ended[g - first] < FORFEIT:
            plies = popcount(np.uint64(state.own[g]) | np.uint64(state.other[g]))
            for ply in range(cells):
                seen.played[cells * g + ply] = seen.moves[cells * g + ply] if ply < plies else -1


@inlined
def keep_positions(state: BatchState, seen: Seen, first: Int64, last: Int64) -> None:
    """Keep the positions of games `first` to `last - 1` before those that ended restart."""
    own, other = state.own[first:last], state.other[first:last]
    kept_own, kept_other = seen.last_own[first:last], seen.last_other[first:last]
    if seen.seat.shape[0] == 0:
        for g in range(own.shape[0]):
            kept_own[g] = own[g]
        for g in range(own.shape[0]):
            kept_other[g] = other[g]
    else:
        find_sides(own, other, seen.seat[first:last], kept_own, kept_other)


@inlined
def find_openings(games: BatchGames, first: Int64) -> None:
    """Set `scratch.idle` to 0 in the block's new games (where it is not 0) that the opponent begins, else to 1."""
    _, state, settings, seen, scratch = games
    word = state.own.dtype.type
    for g in range(first, min(first + BLOCK, state.own.shape[0])):
        fresh = scratch.idle[g - first] != 0
        if fresh:
            turn = (settings.first_env + g + state.games[g]) & 1
            seen.seat[g] = turn if settings.seat == IN_TURN else settings.seat
        scratch.idle[g - first] = word(not (fresh and seen.seat[g] == 1))


AGENT, REPLY, OPENING = range(3)
"""Moves of a step: the agent's, the opponent's reply, and its first move in games that it begins."""


@kernel
def step(games: BatchGames, lines: Lines, player: Any, key: np.uint64, actions: Int64Array) -> Int64:
    """Run `fast_step` for every batch, with full turns if there is an opponent.

    player: the opponent or None.  key: uint64.
    """
    rules, state, settings, seen, scratch = games
    wrong = wanted_moves(rules, state, settings, actions, scratch.wanted)
    if wrong != FINE:
        return wrong
    word = state.own.dtype.type
    for first in range(0, state.own.shape[0], BLOCK):
        last = min(first + BLOCK, state.own.shape[0])
        own, other, over = state.own[first:last], state.other[first:last], state.over[first:last]
        idle, ended = scratch.idle[: last - first], scratch.ended[: last - first]
        # The moves stay where they are, as in `fast_step`.
        marked, wanted = scratch.wanted[first:last], scratch.wanted
        scratch = Scratch(marked, scratch.won, scratch.idle, scratch.ended, wanted, scratch.words)
        block = BatchGames(rules, state, settings, seen, scratch)
        for g in range(over.shape[0]):
            ended[g] = np.uint8(UNFINISHED)
        # One loop instead of three calls: LLVM takes 1.5 s for three copies of the code.
        for move in range(3):
            if move == OPENING:
                # All games of a block in vector code: a loop over those that ended took three times as long.
                if seen.last_own.shape[0] != 0:
                    keep_positions(state, seen, first, last)
                if seen.played.shape[0] != 0:
                    keep_moves(rules, state, seen, ended, first)
                report(ended, seen.rewards[2 * first : 2 * last], seen.terminated[first:last])
                for g in range(over.shape[0]):  # those that waited begin
                    idle[g] = word(ended[g] if settings.autoreset == SAME_STEP else over[g])
                restart(own, other, state.games[first:last], idle)
                if settings.autoreset != SAME_STEP:
                    for g in range(over.shape[0]):
                        over[g] = np.uint8(ended[g] != UNFINISHED)
            else:
                for g in range(over.shape[0]):
                    idle[g] = word(over[g] | ended[g])
            if player is not None:
                if move == OPENING:
                    find_openings(block, first)
                if move == REPLY and settings.at_random:
                    random_moves(block, key, first)
                elif move != AGENT:
                    opponent_moves(block, lines, player, key, first)
            elif move != AGENT:
                continue
            note(rules, own, other, scratch, seen.moves[rules.cells * first :])
            make_moves(rules, own, other, scratch)
        write_observations(rules, state, scratch, seen, first, last)
    return FINE


@kernel
def start_games(games: BatchGames, lines: Lines, player: Any, key: np.uint64, which: Uint8Array) -> None:
    """Begin the next games where `which` (uint8[n]) is 1.  Otherwise as `step`."""
    rules, state, _, seen, scratch = games
    word = state.own.dtype.type
    for first in range(0, state.own.shape[0], BLOCK):
        last = min(first + BLOCK, state.own.shape[0])
        for g in range(first, last):
            scratch.idle[g - first] = word(which[g])
            if which[g] != 0:
                state.over[g], seen.terminated[g] = np.uint8(0), np.uint8(0)
                seen.rewards[2 * g], seen.rewards[2 * g + 1] = np.float32(0), np.float32(0)
        restart(state.own[first:last], state.other[first:last], state.games[first:last], scratch.idle)
        if player is not None:
            find_openings(games, first)
            opponent_moves(games, lines, player, key, first)
            note(rules, state.own[first:last], state.other[first:last], scratch, seen.moves[rules.cells * first :])
            make_moves(rules, state.own[first:last], state.other[first:last], scratch)
        write_observations(rules, state, scratch, seen, first, last)


@kernel
def draw_actions(rules: Rules, state: BatchState, settings: BatchSettings, key: np.uint64, actions: Int64Array) -> None:
    """Write a random legal action for every game to `actions` (int64[n]), 0 for games that are over.  key: uint64."""
    top = np.uint64(rules.top[0])
    for g in range(actions.shape[0]):
        taken = np.uint64(state.own[g] | state.other[g])
        action = drawn_cell(key, settings.first_env + g, state.games[g], taken, ~taken & top)
        actions[g] = np.int64(0) if state.over[g] != 0 else action


@kernel
def choose_rewards(rewards: Float32Array, players: Int64Array, chosen: Float64Array) -> Int64:
    """Write the reward of one player of each game to `chosen` (float64[n]); return the first wrong player, or FINE.

    rewards: float32[2 * n], see `Seen`.  players: int64[n], 0 or 1.
    """
    wrong = np.int64(0)
    for g in range(players.shape[0]):
        # An index instead of a choice of two values, which the processor would mispredict for half the games.
        chosen[g] = np.float64(rewards[2 * g + np.int64(players[g] != 0)])
        wrong |= players[g] & ~np.int64(1)
    if wrong != 0:
        for g in range(players.shape[0]):
            if players[g] & ~np.int64(1) != 0:
                return g
    return FINE
