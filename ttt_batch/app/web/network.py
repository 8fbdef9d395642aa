"""A run's networks for the page: their tuples, and the weights that are not 0.

Patterns that a symmetry of their tuple turns into each other share a weight, which is written down once, as that of the
pattern with the lowest number.  Each is a gap after the one before and its weight: on 6x5x4 175,000 of 2,326,293 for
each player, 1.1 MB of a page.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ttt_batch.app.web.packing import PagePart, planes
from ttt_batch.base.choices import SEATS
from ttt_batch.patterns.network import layout_of
from ttt_batch.patterns.sums import UNIT
from ttt_batch.runs.patterns.run import PatternRun


def network_part(run: PatternRun) -> PagePart:
    """The part of a run of networks.

    Its values are
      unit: what weights are whole parts of;
      tables: of each table the number of its first weight, and the symmetries of its tuple, as the power of 3 that each
      of the cells counts;
      tuples: of each tuple the number of its table, and its cells.
    Its arrays are, for each seat, uint8[4, weights that are not 0] (see `packing.planes`):
      gaps-SEAT: by how much the number of each is larger than the one before, which begins at 0;
      weights-SEAT: twice the weight, or -1 less twice one below 0.
    """
    config, network = run.config, run.network
    layout = layout_of(config.cells(), config.board, config.sharing)
    first = np.cumsum([0, *(3 ** len(shape) for shape in layout.shapes)])
    tables = [
        {"first": int(start), "powers": [[3**to for to in turn] for turn in sorted(turned)]}
        for start, turned in zip(first[:-1], layout.turns, strict=True)
    ]
    lowest = network.members[network.kind_start[:-1]]
    arrays: dict[str, NDArray[Any]] = {}
    for seat, weights in zip(SEATS, run.agent.weights, strict=True):
        places = lowest[weights[lowest] != 0]
        kept = weights[places]
        arrays[f"gaps-{seat}"] = planes(np.diff(places, prepend=np.uint32(0)))
        arrays[f"weights-{seat}"] = planes(((kept << 1) ^ (kept >> 31)).view(np.uint32))
    tuples = [[one.table, *one.cells] for one in layout.placed]
    return PagePart("network", {"unit": UNIT, "tables": tables, "tuples": tuples}, arrays)
