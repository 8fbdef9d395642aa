"""What `compare` prints of networks: how their weights differ, and in how many positions of random games the moves."""

from typing import Any

from ttt_batch.app.reports.layout import hanging
from ttt_batch.base.quantities import count_text
from ttt_batch.game.board import Board


def network_comparison_text(found: dict[str, Any], one: str, other: str, board: Board) -> str:
    """The report.  one, other: what the runs are called."""
    tables, policies = found["tables"], found["policies"]
    text = "of different shapes, not comparable number by number"
    if tables is not None:
        differing = f"{tables['differing']:,} of {count_text(tables['entries'], 'weight')} differ"
        text = (
            f"{differing}, by {tables['largest_difference']:.6g} at most and {tables['mean_difference']:.6g} on average"
        )
    lines = hanging("weights:", text, 10)
    moves = f"other moves in {policies['differing']:,} of {count_text(policies['positions'], 'position')}"
    lines += hanging("policies:", f"{moves} of {count_text(policies['games'], 'random game')}", 10)
    for example in found["examples"]:
        lines.append(f"  {example['position']}")
        for key, name in (("first", one), ("second", other)):
            lines += hanging("", f"{name}: {' '.join(board.cell_name(cell) for cell in example[key])}", 4)
    return "\n".join(lines)
