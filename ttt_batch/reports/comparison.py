"""What `compare` prints."""

from typing import Any

from ttt_batch.board import Board


def comparison_text(found: dict[str, Any], one: str, other: str, board: Board) -> str:
    """What `compare` prints."""
    tables, policies = found["tables"], found["policies"]
    if tables is None:
        lines = ["tables:   of different learners, not comparable number by number"]
    else:
        lines = [
            f"tables:   {tables['differing']:,} of {tables['entries']:,} entries differ, "
            f"by {tables['largest_difference']:.6g} at most and {tables['mean_difference']:.6g} on average"
        ]
    lines.append(
        f"policies: other moves in {policies['differing']:,} of {policies['positions']:,} positions; in "
        f"{policies['differing_optimal']:,} only one of the two may give the result away"
    )
    for example in found["examples"]:
        cells = [" ".join(board.cell_name(cell) for cell in example[key]) for key in ("first", "second")]
        lines.append(f"  {example['position']}   {one}: {cells[0]}   {other}: {cells[1]}")
    return "\n".join(lines)
