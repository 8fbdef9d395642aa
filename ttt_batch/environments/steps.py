"""A step of a block of boards, in loops that each do one thing to a few arrays, without a branch.

Such loops become vector code: a compiled loop tells its arrays apart when it starts, and gives up if there are many.
Every value is cast back to its word at once, because Numba would widen it to 64 bits.
"""

from typing import Any, NamedTuple

import numpy as np

from ttt_batch.base.aligned import zeros
from ttt_batch.base.bits import intersection, parity, shift_left, shift_right
from ttt_batch.base.jit import inlined
from ttt_batch.environments.rules import STAGES, Rules
from ttt_batch.game.board import DRAW, FIRST_WINS, SECOND_WINS, UNFINISHED

BLOCK = 1024
"""Boards that go through all loops together: their arrays stay in the processor's first cache."""

JOINED = 32
"""Cells up to which the words of boards are joined in vector code before they are spread to bytes."""

FORFEIT, OUTCOME = 4, 3
"""The bit that an outcome by forfeit has, and the bits of the outcome itself."""


class BatchState(NamedTuple):
    """Where the games stand.

    own, other: W[n], the cells of the player to move and of its opponent.  over: uint8[n], 1 if the game is over.
    games: int64[n], how many games of the environment came before.
    """

    own: Any
    other: Any
    over: Any
    games: Any


class Scratch(NamedTuple):
    """What a block needs on its way.

    marked: W[BLOCK], the mover's cells after its move; equal to those before if it may not move there.
    won: W[BLOCK], first cells of lines among these.  idle: W[BLOCK], not 0 for games that do not move.
    ended: uint8[BLOCK], the outcomes of games that end in this step, else UNFINISHED; with FORFEIT, by forfeit.  Bytes
    because what is made of them is narrow, too: with W a step took 5 % longer.
    wanted: W[n], `marked` of all games for the actions given, see `kernels.wanted_moves`.
    words: uint64[3, 2 * BLOCK], for what is seen.
    """

    marked: Any
    won: Any
    idle: Any
    ended: Any
    wanted: Any
    words: Any


def make_state(n: int, word: Any) -> BatchState:
    """`n` games at the empty board."""
    return BatchState(zeros((n,), word), zeros((n,), word), zeros((n,), np.uint8), zeros((n,), np.int64))


def make_scratch(n: int, word: Any) -> Scratch:
    """Scratch for `n` games."""
    marked, won, idle = zeros((3, BLOCK), word)
    return Scratch(marked, won, idle, zeros((BLOCK,), np.uint8), zeros((n,), word), zeros((3, 2 * BLOCK), np.uint64))


@inlined
def landing(rules: Rules, taken: Any) -> Any:
    """The cells that may be marked if `taken` are: all free ones, with gravity the lowest of each column."""
    word = rules.full.dtype.type
    return word(word(rules.full[0] & ~taken) & word(shift_right(taken, rules.below) | rules.bottom[0]))


@inlined
def judge_step(rules: Rules, own: Any, other: Any, scratch: Scratch, all_move: bool) -> None:
    """Write how the games that move end to `scratch.ended`; unless all of them move, that of idle ones stays.

    Who completes a line wins or, in misère games, loses; who may not move where it wants to loses.
    """
    if rules.plain:
        judge_plain(rules, own, other, scratch, all_move)
        return
    word = own.dtype.type
    marked, won = scratch.marked, scratch.won
    for g in range(own.shape[0]):
        won[g] = word(0)
    for direction in range(rules.starts.shape[0]):
        starts, shifts = rules.starts[direction], rules.shifts[direction]
        back, before, ahead, after = (
            rules.back[direction],
            rules.before[direction],
            rules.ahead[direction],
            rules.after[direction],
        )
        for g in range(own.shape[0]):
            run = marked[g]
            longer = word(word(shift_left(run, back) & before) | word(shift_right(run, ahead) & after))
            for stage in range(STAGES):
                run = word(run & shift_right(run, shifts[stage]))
            won[g] = word(won[g] | word(word(run & starts) & word(~longer)))
    for g in range(own.shape[0]):
        before, idle = scratch.ended[g], scratch.idle[g]
        result = results_after(rules, own[g], other[g], marked[g], won[g])
        scratch.ended[g] = result if all_move or idle == word(0) else before


@inlined
def starts_of_lines(cells: Any, one: Any, two: Any, three: Any) -> Any:
    """The first cells of lines in one direction, which FEW_STAGES shifts find."""
    cells = intersection(cells, shift_right(cells, one))
    cells = intersection(cells, shift_right(cells, two))
    return intersection(cells, shift_right(cells, three))


@inlined
def judge_plain(rules: Rules, own: Any, other: Any, scratch: Scratch, all_move: bool) -> None:
    """`judge` of boards without fences whose lines FEW_STAGES shifts find: all four directions in one loop."""
    word = own.dtype.type
    marked, idle, ended = scratch.marked, scratch.idle, scratch.ended
    shifts, starts = rules.shifts, rules.starts
    a, b, c = shifts[0, 0], shifts[0, 1], shifts[0, 2]
    d, e, f = shifts[1, 0], shifts[1, 1], shifts[1, 2]
    h, i, j = shifts[2, 0], shifts[2, 1], shifts[2, 2]
    k, m, n = shifts[3, 0], shifts[3, 1], shifts[3, 2]
    first, second, third, fourth = starts[0], starts[1], starts[2], starts[3]
    for g in range(own.shape[0]):
        cells = marked[g]
        won = word(word(starts_of_lines(cells, a, b, c) & first) | word(starts_of_lines(cells, d, e, f) & second))
        won = word(won | word(starts_of_lines(cells, h, i, j) & third))
        won = word(won | word(starts_of_lines(cells, k, m, n) & fourth))
        result = results_after(rules, own[g], other[g], cells, won)
        ended[g] = result if all_move or idle[g] == word(0) else ended[g]


@inlined
def results_after(rules: Rules, own: Any, other: Any, marked: Any, won: Any) -> Any:
    """How a game stands after a move.  All are words, so that vectors have one width."""
    word = rules.full.dtype.type
    one, mover = word(1), word(parity(word(own | other)))
    flip = word(rules.misere)
    by_line = word(FIRST_WINS) + word(mover ^ flip)
    by_forfeit = word(FIRST_WINS + FORFEIT) + word(mover ^ one)
    result = word(DRAW) if word(marked | other) == rules.full[0] else word(UNFINISHED)
    result = word(by_line) if won != word(0) else result
    return word(by_forfeit) if marked == own else result


@inlined
def turn(own: Any, other: Any, scratch: Scratch) -> None:
    """Give the turn to the opponent of those who have moved; after a forfeit nothing changes."""
    # One array written a loop: with both in one, the vector code gave the opponent its own cells and the mover's.
    marked, before = scratch.marked, scratch.won
    for g in range(own.shape[0]):
        before[g] = other[g] if marked[g] != own[g] else own[g]
    for g in range(own.shape[0]):
        other[g] = marked[g] if marked[g] != own[g] else other[g]
    for g in range(own.shape[0]):
        own[g] = before[g]


@inlined
def make_moves(rules: Rules, own: Any, other: Any, scratch: Scratch) -> None:
    """Finish a move: lines, ends, and the turn."""
    judge_step(rules, own, other, scratch, False)
    turn(own, other, scratch)


@inlined
def report(ended: Any, rewards: Any, terminated: Any) -> None:
    """Write rewards (float32[2 * block], first and second player) and `terminated` (uint8[block])."""
    one, none = np.float32(1), np.float32(0)
    for g in range(terminated.shape[0]):
        outcome = ended[g] & ended.dtype.type(OUTCOME)
        rewards[2 * g] = one if outcome == FIRST_WINS else (-one if outcome == SECOND_WINS else none)
        rewards[2 * g + 1] = one if outcome == SECOND_WINS else (-one if outcome == FIRST_WINS else none)
    for g in range(terminated.shape[0]):
        terminated[g] = np.uint8(ended[g] != UNFINISHED)


@inlined
def renew(own: Any, other: Any, games: Any, scratch: Scratch) -> None:
    """`turn`, and `restart` of the games that have ended, of which nothing is kept: in half as many loops.

    A forfeit ends its game, so that who has not moved makes no difference.
    """
    word = own.dtype.type
    marked, ended = scratch.marked, scratch.ended
    for g in range(own.shape[0]):
        own[g] = word(0) if ended[g] != word(0) else other[g]
    for g in range(own.shape[0]):
        other[g] = word(0) if ended[g] != word(0) else marked[g]
    for g in range(own.shape[0]):
        games[g] += np.int64(ended[g] != word(0))


@inlined
def restart(own: Any, other: Any, games: Any, fresh: Any) -> None:
    """Begin the next games where `fresh` (W or uint8[block]) is not 0."""
    word = own.dtype.type
    for g in range(own.shape[0]):
        own[g] = word(0) if fresh[g] != word(0) else own[g]
    for g in range(own.shape[0]):
        other[g] = word(0) if fresh[g] != word(0) else other[g]
    for g in range(own.shape[0]):
        games[g] += np.int64(fresh[g] != word(0))
