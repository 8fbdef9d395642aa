# mypy: disable-error-code="no-untyped-def"
"""Make an agent of a table that `import` does not read: eight lines wrap a dictionary.

    ttt-batch evaluate scripts/examples/dictionary_agent.py:agent

The dictionary is in `table.json` here.  It says what a position is worth to the player who made it by the last move.
Read yours in the line of `table`, and write a position as it does in that of `worth`.
The first player moves where `board.sum() == 0`.
"""

import json
from pathlib import Path

table = json.loads(Path("table.json").read_text())


def agent(board):
    """Return the cell with the best position after it; board: int8[3, 3], 1 own marks, -1 the other's, 0 free."""
    marks = board.ravel().tolist()

    def worth(cell):
        return table.get(str([*marks[:cell], 1, *marks[cell + 1 :]]), 0)

    return max((cell for cell in range(9) if not marks[cell]), key=worth)


if __name__ == "__main__":
    import ttt_batch as ttt

    print(ttt.judge(agent))
