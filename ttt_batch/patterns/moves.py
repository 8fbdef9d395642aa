"""The moves that a network prefers: by its sums, but for moves that end the game, whose worth the rules say."""

from typing import Any

import numpy as np

from ttt_batch.base.bits import NONE, ONE, lowest_bit, single
from ttt_batch.base.jit import inlined
from ttt_batch.game.lines import Lines, LineView
from ttt_batch.patterns.network import Network
from ttt_batch.patterns.sums import total_after, total_of

WINS, DRAWS, LOSES, BY_SUM = range(4)
"""What the best moves do: they end the game, or only the network knows."""


@inlined
def by_rules(lines: Lines, free: Any, view: LineView) -> Any:
    """The moves that the rules leave to choose from: (cells as bits, one of `WINS` to `BY_SUM`).  free: uint64."""
    candidates = free
    if view.own != NONE:
        if lines.misere == 0:
            return view.own, WINS
        candidates &= ~view.own
        if candidates == NONE:
            return free, LOSES
    return candidates, DRAWS if free & (free - ONE) == NONE else BY_SUM


@inlined
def best_network_moves(
    lines: Lines, network: Network, weights: Any, index: Any, current: Any, free: Any, view: LineView, sign: Any
) -> Any:
    """The best moves of the player to move, as bits.

    weights: int32[W], the table of moves by this player.  index: uint32[N], of the position.  current: int32[N],
    scratch.  free: uint64.  sign: 1 if the first player moves, -1 for the second.
    """
    candidates, kind = by_rules(lines, free, view)
    if kind != BY_SUM:
        return candidates
    total = total_of(weights, index, current)
    step = np.int64(1) if sign > 0 else np.int64(2)
    chosen, best = NONE, np.int64(0)
    while candidates != NONE:
        cell = lowest_bit(candidates)
        candidates &= candidates - ONE
        after = total_after(network, weights, index, current, total, cell, step)
        if chosen == NONE or (after - best) * sign > 0:
            chosen, best = single(cell), after
        elif after == best:
            chosen |= single(cell)
    return chosen


@inlined
def best_scores(score: Any, candidates: Any, sign: Any) -> Any:
    """Return the candidates (uint64) with the best scores (int64[cells]); sign: as for `best_network_moves`."""
    chosen, best = NONE, np.int64(-1) << np.int64(62)
    while candidates != NONE:
        bit = candidates & (~candidates + ONE)
        one = score[np.uint64(lowest_bit(candidates))] * sign
        chosen = bit if one > best else chosen | (bit if one == best else NONE)
        best = max(best, one)
        candidates ^= bit
    return chosen
