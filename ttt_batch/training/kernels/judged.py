"""A judgement between two batches, which share the best moves that both of them need.

To list best moves takes longest in a judgement; a batch lists those again that may have changed, and no others.
"""

from typing import Any

from ttt_batch.base.jit import kernel
from ttt_batch.evaluation.judgement import Judgement, judge_tables
from ttt_batch.evaluation.proof import ProofSpace
from ttt_batch.game.graph import Graph
from ttt_batch.simulation.policy import Choice
from ttt_batch.training.kernels.batch import Workspace, order_dirty


@kernel
def judge_now(
    tables: Any, graph: Graph, choice: Choice, work: Workspace, bench: ProofSpace, verdict: Judgement
) -> None:
    """Fill `verdict` in place with what `judge` says of `tables`, which play against themselves.

    bench: `bench.policy` is that of `work`.  Both are modified in place: the best moves that are listed here are also
    those of the next batch.
    """
    n_changed = order_dirty(tables, graph, choice, work)
    judge_tables(tables, graph, choice, bench, True, verdict)
    work.listed[0] = n_changed
