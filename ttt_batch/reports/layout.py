"""What all reports share: rows of numbers in columns, JSON, and games drawn as boards side by side."""

import json
import math
from typing import Any

from ttt_batch.board import Board

RESULTS = ("win", "draw", "loss")


def to_json(value: Any) -> str:
    """Render plain values as JSON; numbers that JSON lacks become null."""
    return json.dumps(_finite(value), indent=2)


def _finite(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(item) for item in value]
    return value


def row(label: str, *cells: Any) -> str:
    """A line of a table: a label, and cells of nine columns, numbers with four digits."""
    return f"{label:<28}" + "".join(f"{cell if isinstance(cell, str) else format(cell, '.4f'):>9}" for cell in cells)


def line_of_play(board: Board, cells: list[int]) -> list[str]:
    """A game as moves and as boards side by side, the last move in brackets."""
    moves = " ".join(f"{'XO'[ply % 2]}{board.cell_name(cell)}" for ply, cell in enumerate(cells))
    marks, pictures = [0] * board.cells, []
    for ply, cell in enumerate(cells):
        marks[cell] = 1 + ply % 2
        rows = []
        for row in range(board.rows):
            text = "".join(
                f"[{'.XO'[marks[i]]}]" if i == cell else f" {'.XO'[marks[i]]} "
                for i in range(row * board.cols, (row + 1) * board.cols)
            )
            rows.append(text)
        pictures.append(rows)
    per_line = max(1, 76 // (3 * board.cols + 2))
    lines = [f"  {moves}"]
    for start in range(0, len(pictures), per_line):
        group = pictures[start : start + per_line]
        lines += [
            "",
            *("  " + "  ".join(picture[row] for picture in group).rstrip() for row in range(board.rows)),
        ]
    return [*lines, ""]
