"""The step of games of which nothing but the next position is wanted, which is what most training takes.

Nobody replies, the next games begin in the step that ends the last ones, and nothing is kept of those.  So everybody
moves in every step, and half as many loops are enough.  A block's planes and masks are written before the next block
moves, on boards of any size: while they go to memory, it computes.  On 6x7x4 a second pass that wrote them took 3 to
8 % longer, and a step of a single game half as long again.
"""

from typing import Any

from ttt_batch.base.jit import kernel
from ttt_batch.environments.rules import Rules
from ttt_batch.environments.steps import JOINED, BatchState, Scratch, judge_step, renew, report
from ttt_batch.environments.views import ObservationLayout, show_rows, write_observations

TOGETHER = 256
"""Boards that go through all loops together."""


@kernel
def fast_step(rules: Rules, state: BatchState, seen: Any, scratch: Scratch, look: ObservationLayout) -> None:
    """Make the moves of `scratch.wanted` and write all that is seen then.

    state, seen, scratch: modified in place.  No game may be over.  seen: see `kernels.Seen`.
    For boards of more than JOINED cells it is compiled for each number of cells, which takes 2 s.
    """
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
