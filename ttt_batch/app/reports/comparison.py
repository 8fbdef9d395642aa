"""What `compare` prints."""

from typing import Any

from ttt_batch.app.reports.layout import hanging
from ttt_batch.base.quantities import counted
from ttt_batch.game.board import Board


def comparison_text(found: dict[str, Any], one: str, other: str, board: Board) -> str:
    """What `compare` prints."""
    tables, policies = found["tables"], found["policies"]
    if tables is None:
        lines = ["tables:   of different learners, not comparable number by number"]
    else:
        differing = f"{tables['differing']:,} of {counted(tables['entries'], 'entry', 'entries')} differ"
        by = f"by {tables['largest_difference']:.6g} at most and {tables['mean_difference']:.6g} on average"
        lines = hanging("tables:", f"{differing}, {by}", 10)
    moves = f"other moves in {policies['differing']:,} of {counted(policies['positions'], 'position')}"
    loses = f"in {policies['differing_optimal']:,} only one of the two may give the result away"
    lines += hanging("policies:", f"{moves}; {loses}", 10)
    for example in found["examples"]:
        cells = [" ".join(board.cell_name(cell) for cell in example[key]) for key in ("first", "second")]
        lines.append(f"  {example['position']}   {one}: {cells[0]}   {other}: {cells[1]}")
    return "\n".join(lines)
