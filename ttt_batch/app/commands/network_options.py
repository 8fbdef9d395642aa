"""The options of `train` for pattern networks alone."""

from typing import Annotated

from ttt_batch.app.commands.declare import KEPT, OBJECTIVES, SHARINGS, Text, option

Tuples = Annotated[
    Text,
    option(
        "lines|segments|blocks:3x3,3x4|FILE",
        "Networks: the tuples of cells that they look at; several names with commas, or one file.",
        offers=("lines", "segments"),
        default="lines if they cross the board, else segments and blocks",
    ),
]
Sharing = Annotated[
    Text,
    option("symmetry|translation|none", "Networks: which tuples share weights.", offers=SHARINGS, default="symmetry"),
]
Objective = Annotated[
    Text,
    option(
        "safe|win|plain",
        "Networks: not to lose (one for each seat), to win soon, or what games bring.",
        offers=OBJECTIVES,
        default="win on boards that the first player wins, else safe; plain for ntuple-td",
    ),
]
ProveEvery = Annotated[
    Text, option("N", "Networks: games between two proofs; 0 for none.", default="2000; 0 for ntuple-td")
]
Keep = Annotated[
    Text,
    option("proved|last", "Networks: the weights to play with.", offers=KEPT, default="proved, with proofs"),
]
