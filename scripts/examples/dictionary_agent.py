"""Make an agent of a table that `import` does not read: eight lines wrap a dictionary.

    ttt-batch evaluate scripts/examples/dictionary_agent.py:agent

The dictionary is in `table.json` here.  It says what a position is worth to the player who made it by the last move.
Change the line of `table` to read what you have, and that of `after` to write a position as your dictionary does.
The first player moves where `board.sum() == 0`.
"""

import json
from pathlib import Path

table = json.loads(Path("table.json").read_text())


def agent(board):
    """Return the cell with the best position after it; board: int8[3, 3], 1 own marks, -1 the other's, 0 free."""

    def worth(cell):
        after = [1 if place == cell else mark for place, mark in enumerate(board.ravel().tolist())]
        return table.get(str(after), 0)

    return max((board.ravel() == 0).nonzero()[0], key=worth)


if __name__ == "__main__":
    import ttt_batch as ttt

    print(ttt.judge(agent))
