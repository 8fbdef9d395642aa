"""A step of a block of boards, in loops that each do one thing to a few arrays, without a branch.

Such loops become vector code: a compiled loop tells its arrays apart when it starts, and gives up if there are many.
Every value is cast back to its word at once, because Numba would widen it to 64 bits.
"""

from typing import Any, NamedTuple

import numpy as np

from ttt_batch.base.bits import lowered, odd, raised
from ttt_batch.base.jit import inlined
from ttt_batch.environments.rules import Rules
from ttt_batch.game.board import DRAW, FIRST_WINS, SECOND_WINS, UNFINISHED

BLOCK = 1024
"""Boards that go through all loops together: their arrays stay in the processor's first cache."""

FORFEIT, OUTCOME = 4, 3
"""The bit that an outcome by forfeit has, and the bits of the outcome itself."""


class State(NamedTuple):
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
    won: W[BLOCK], first cells of lines among these.  idle: uint8[BLOCK], 1 for games that do not move.
    ended: uint8[BLOCK], the outcomes of games that end in this step, else UNFINISHED; with FORFEIT, by forfeit.
    words: uint64[2, BLOCK], for what is seen.
    """

    marked: Any
    won: Any
    idle: Any
    ended: Any
    words: Any


def make_state(n: int, word: Any) -> State:
    """`n` games at the empty board."""
    return State(np.zeros(n, word), np.zeros(n, word), np.zeros(n, np.uint8), np.zeros(n, np.int64))


def make_scratch(word: Any) -> Scratch:
    """Scratch for a block."""
    (marked, won), (idle, ended) = np.zeros((2, BLOCK), word), np.zeros((2, BLOCK), np.uint8)
    return Scratch(marked, won, idle, ended, np.zeros((2, BLOCK), np.uint64))


@inlined
def landing(rules: Rules, taken: Any) -> Any:
    """The cells that may be marked if `taken` are: all free ones, with gravity the lowest of each column."""
    word = rules.full.dtype.type
    return word(word(rules.full[0] & ~taken) & word(lowered(taken, rules.below) | rules.bottom[0]))


@inlined
def place(rules: Rules, own: Any, other: Any, actions: Any, scratch: Scratch) -> None:
    """Mark the cells of the actions, for all games of the block that are not idle.  All arrays are the block's."""
    word = own.dtype.type
    full, column, below, bottom = rules.full[0], rules.column[0], rules.below, rules.bottom[0]
    marked, idle = scratch.marked, scratch.idle
    for g in range(own.shape[0]):
        taken = word(own[g] | other[g])
        free = word(word(full & ~taken) & word(lowered(taken, below) | bottom))
        cell = word(free & raised(column, np.uint64(actions[g]) & np.uint64(63)))
        marked[g] = word(own[g] | (word(0) if idle[g] != 0 else cell))


@inlined
def find_lines(rules: Rules, marked: Any, won: Any) -> None:
    """Write the first cells of all lines that the cells in `marked` hold to `won` (W[block] both)."""
    word = marked.dtype.type
    for direction in range(rules.starts.shape[0]):
        one, two, three = rules.shifts[direction, 0], rules.shifts[direction, 1], rules.shifts[direction, 2]
        starts = rules.starts[direction]
        keep = word(0) if direction == 0 else ~word(0)
        if rules.plain:
            for g in range(marked.shape[0]):
                run = marked[g]
                run = word(run & lowered(run, one))
                run = word(run & lowered(run, two))
                run = word(run & lowered(run, three))
                won[g] = word(word(won[g] & keep) | word(run & starts))
            continue
        four, five, six = rules.shifts[direction, 3], rules.shifts[direction, 4], rules.shifts[direction, 5]
        back, before, ahead, after = (
            rules.back[direction],
            rules.before[direction],
            rules.ahead[direction],
            rules.after[direction],
        )
        for g in range(marked.shape[0]):
            run = marked[g]
            longer = word(word(raised(run, back) & before) | word(lowered(run, ahead) & after))
            run = word(run & lowered(run, one))
            run = word(run & lowered(run, two))
            run = word(run & lowered(run, three))
            run = word(run & lowered(run, four))
            run = word(run & lowered(run, five))
            run = word(run & lowered(run, six))
            won[g] = word(word(won[g] & keep) | word(word(run & starts) & word(~longer)))


@inlined
def judge(rules: Rules, own: Any, other: Any, scratch: Scratch) -> None:
    """Write how the games that move end to `scratch.ended`; that of idle ones stays.

    Who completes a line wins or, in misère games, loses; who may not move where it wants to loses.
    """
    word = own.dtype.type
    full, flip = rules.full[0], np.uint8(rules.misere)
    marked, won, idle, ended = scratch.marked, scratch.won, scratch.idle, scratch.ended
    for g in range(own.shape[0]):
        mover = odd(word(own[g] | other[g]))
        by_line, by_forfeit = won[g] != word(0), marked[g] == own[g]
        winner = np.uint8(np.uint8(mover ^ (flip & np.uint8(not by_forfeit))) ^ np.uint8(by_forfeit))
        result = np.uint8(DRAW) if word(marked[g] | other[g]) == full else np.uint8(UNFINISHED)
        result = np.uint8(np.uint8(FIRST_WINS) + winner) if by_line | by_forfeit else result
        result = np.uint8(result | np.uint8(FORFEIT)) if by_forfeit else result
        ended[g] = ended[g] if idle[g] != 0 else result


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
def move(rules: Rules, own: Any, other: Any, scratch: Scratch) -> None:
    """Finish a move: lines, ends, and the turn."""
    find_lines(rules, scratch.marked[: own.shape[0]], scratch.won[: own.shape[0]])
    judge(rules, own, other, scratch)
    turn(own, other, scratch)


@inlined
def report(ended: Any, rewards: Any, terminated: Any, over: Any) -> None:
    """Write rewards (float32[2 * block], first and second player), `terminated` and `over` (uint8[block] both)."""
    for g in range(terminated.shape[0]):
        outcome = np.uint8(ended[g] & np.uint8(OUTCOME))
        value = np.int32(outcome == FIRST_WINS) - np.int32(outcome == SECOND_WINS)
        rewards[2 * g] = np.float32(value)
        rewards[2 * g + 1] = np.float32(-value)
    for g in range(terminated.shape[0]):
        terminated[g] = np.uint8(ended[g] != UNFINISHED)
    for g in range(terminated.shape[0]):
        over[g] = np.uint8(ended[g] != UNFINISHED)


@inlined
def restart(own: Any, other: Any, games: Any, fresh: Any) -> None:
    """Begin the next games where `fresh` (uint8[block]) is 1."""
    word = own.dtype.type
    for g in range(own.shape[0]):
        own[g] = word(0) if fresh[g] != 0 else own[g]
        other[g] = word(0) if fresh[g] != 0 else other[g]
    for g in range(own.shape[0]):
        games[g] += np.int64(fresh[g])
