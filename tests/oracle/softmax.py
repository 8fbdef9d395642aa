"""Softmax play from its definition: our own exponential, the chances, and how a move is drawn from them.

e**x for x <= 0, of plus and times only: k = floor(x * 1.4426950408889634 + 0.5), r = (x - k * A) - k * B with A + B =
ln 2 in two parts, the Taylor polynomial of e**r up to r**13 by Horner's rule, times 2**k; 0 below -700.

A game's number `ply` decides its move at that ply, from a position's n slots with a chance above 0, by cell, and within
a cell greedy before exploring.  In games one by one its upper 53 bits are a fraction of 1, and the first slot is drawn
up to which the chances add up to more.  In batches an alias table is made: the upper 32 bits choose a column, and the
lower 32 its own slot or the other one.
"""

import math
from collections.abc import Callable
from typing import Any

from oracle import naive
from oracle.naive import Position
from oracle.streams import below, drawn

Slots = list[tuple[int, bool, float]]
"""(cell, whether it counts as exploring, chance), by cell."""

Draw = Callable[[Slots, int], tuple[int, bool]]
"""How 64 random bits choose a slot."""

LN2_PARTS = 0.6931471803691238, 1.9082149292705877e-10


def exponential(x: float) -> float:
    """e**x for x <= 0."""
    if not x >= -700.0:
        return 0.0
    k = math.floor(x * 1.4426950408889634 + 0.5)
    r = (x - k * LN2_PARTS[0]) - k * LN2_PARTS[1]
    total = 1.0 / math.factorial(13)
    for n in range(12, -1, -1):
        total = 1.0 / math.factorial(n) + r * total
    return total * 2.0**k


def softmax(scores: dict[int, float], greedy: list[int], temperature: float) -> Slots:
    """The slots of a position; a score that is NaN, of a move never seen, counts as 0."""
    seen = {cell: 0.0 if math.isnan(score) else score for cell, score in scores.items()}
    highest = max(seen.values())
    powers = {cell: exponential((score - highest) / temperature) for cell, score in seen.items()}
    total = 0.0
    for power in powers.values():
        total += power
    return [(cell, cell not in greedy, power / total) for cell, power in powers.items()]


def alias_table(chances: list[float]) -> list[tuple[int, int]]:
    """For each column (threshold out of 2**32, the other column): Vose's method, poor ones from the last on, rich ones
    from the last found."""
    n = len(chances)
    weight = [chance * n for chance in chances]
    poor = [i for i in range(n) if weight[i] < 1.0]
    rich = [i for i in range(n) if weight[i] >= 1.0]
    table = [(0, i) for i in range(n)]
    while poor and rich:
        low, high = poor.pop(), rich[-1]
        table[low] = int(weight[low] * 2.0**32), high
        weight[high] -= 1.0 - weight[low]
        if weight[high] < 1.0:
            rich.pop()
            poor.append(high)
    return table


def reached_slot(slots: Slots, bits: int) -> tuple[int, bool]:
    """(cell, whether it counts as exploring) that 64 random bits choose in a game by itself."""
    there = [slot for slot in slots if slot[2] > 0.0]
    total = 0.0
    for slot in there:
        total += slot[2]
        if total > (bits >> 11) / 2**53:
            return slot[:2]
    return there[-1][:2]


def drawn_slot(slots: Slots, bits: int) -> tuple[int, bool]:
    """(cell, whether it counts as exploring) that 64 random bits choose in a game of a batch."""
    there = [(cell, exploring, chance) for cell, exploring, chance in slots if chance > 0.0]
    column = below(bits, len(there))
    threshold, other = alias_table([chance for _, _, chance in there])[column]
    return there[column if bits % 2**32 < threshold else other][:2]


def scores_of(oracle: Any, position: Position) -> dict[int, float]:
    """Return the score of each move in a naive learner's table, from its mover's side."""
    board, code = oracle.board, oracle.board.code(position)
    sign = 1.0 if naive.mover(position) == naive.FIRST else -1.0
    if isinstance(oracle, naive.MinimaxQ):
        return {cell: sign * oracle.Q[code, cell] for cell in range(board.cells)}
    if hasattr(oracle, "played"):  # the textbook's rules for moves
        return {cell: oracle.played((code, cell)) for cell in board.legal(position)}
    if isinstance(oracle, naive.BackwardQ):
        return {cell: oracle.Q[code, cell] for cell in board.legal(position)}
    after = {cell: board.code(board.place(position, cell)) for cell in board.legal(position)}
    if isinstance(oracle, naive.TD):
        return {cell: sign * oracle.V[there] for cell, there in after.items()}
    table = oracle.V[naive.mover(position)]
    if isinstance(oracle, naive.ValueFeed):
        return {cell: table.get(there, math.nan) for cell, there in after.items()}
    return {cell: table[there] for cell, there in after.items()}


def play(oracle: Any, temperature: float, key: int, number: int, draw: Draw = reached_slot) -> naive.Moves:
    """Game `number` of the stream of `key`.  draw: `drawn_slot` in a batch."""
    board, position = oracle.board, oracle.board.empty
    moves: naive.Moves = []
    while board.outcome(position) == naive.UNFINISHED:
        slots = softmax(scores_of(oracle, position), list(oracle.candidates(position)), temperature)
        cell, exploring = draw(slots, drawn(key, number, len(moves)))
        moves.append((cell, exploring))
        if position[cell] != 0:
            break
        position = board.place(position, cell)
    return moves
