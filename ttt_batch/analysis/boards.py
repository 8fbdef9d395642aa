"""Board catalogue: number of positions, memory needed, and the result under best play.

This program counted and solved the smaller boards; `measure` does so for any board that can be enumerated.  It searches
for the value of a larger board with gravity.  Values of other boards come from the literature, each with its source.
"""

import io
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ttt_batch.core.errors import TttBatchError, UsageError
from ttt_batch.core.files import shown
from ttt_batch.core.outputs import OutputKind
from ttt_batch.core.resources import free_memory
from ttt_batch.core.text import SWITCH_WORDS, choose
from ttt_batch.games.board import EMPTY, MAX_TABLE_CELLS, Board, most_positions, parse_board
from ttt_batch.games.enumeration import WORDS, Space, check_enumerable, enumerate_graph
from ttt_batch.games.gravity_solver import searched_moves
from ttt_batch.games.solution import KNOWN, SOLVED, Known, best_of, known_board, solve
from ttt_batch.runs.config import make_config
from ttt_batch.runs.growing_table import bytes_needed, check_space

_SOLUTION = OutputKind(TttBatchError, "solution")
"""Kind of output file: `outputs` uses it in messages about a solution's file."""


@dataclass(frozen=True)
class Entry:
    """Facts about a board.

    space: state space of `td`; None if the board has too many cells for tables.
    positions: rows of an enumerated board (symmetry classes if it merges them), else None.
    most: upper bound of the positions, before symmetry.  moves: edges of all unfinished rows; None if not enumerated.
    value: WON, DRAWN or LOST for the first player under best play; None if unknown.  source: its origin, or None.
    bytes: most memory that training `td` takes; None without tables, and on a growing board, which has a set limit.
    """

    board: Board
    space: Space | None
    positions: int | None
    most: int
    moves: int | None
    value: int | None
    source: str | None
    bytes: int | None


def known_boards() -> list[Entry]:
    """Return every board of the catalogue."""
    return [_entry(parse_board(name), "auto", known) for name, known in KNOWN.items()]


def measure(board: Board | str, symmetry: str = "auto") -> Entry:
    """Count and solve a board that can be enumerated; for others return the catalogue's entry, transposed if needed.

    Raises UsageError for an unknown symmetry.  Raises BoardError for a board that does not fit into memory, and for one
    of more than MAX_TABLE_CELLS cells outside the catalogue.
    """
    board = parse_board(board)
    choose("symmetry", symmetry, WORDS, words=SWITCH_WORDS)
    known = known_board(board)
    if known is None or board.cells <= MAX_TABLE_CELLS:
        config = make_config(board=board, symmetry=symmetry)
        if not config.grown:
            check_space(config, free_memory())
            graph = enumerate_graph(board, False, config.symmetry)
            known = Known(graph.code.size, graph.child.size, int(solve(graph)[0]), SOLVED)
        elif known is None and (moves := searched_moves(board, (EMPTY,) * board.cells)):
            known = Known(None, None, best_of(moves.values(), 0).result, "solved by a search of this program")
    return _entry(board, symmetry, known)


def check_solution(path: Path, *, overwrite: bool) -> None:
    """Check that `path` may be written, before the counting starts.  Raises UsageError and TttBatchError."""
    if path.suffix != ".npz":
        raise UsageError(f"cannot write a solution into {shown(path)}: its name must end in .npz")
    _SOLUTION.check(path, overwrite=overwrite)


def write_solution(board: Board | str, path: Path, symmetry: str = "auto", *, overwrite: bool = False) -> int:
    """Write every position of a board with its result under best play, and return their number.

    The `.npz` holds `code` (int64), `outcome` (int8: 0 unfinished, 1 first wins, 2 second wins, 3 draw), `ply` (int8)
    and `value` (int8: 1 first wins, 0 draw, -1 second wins).  `symmetry` (bool) is True if rows are symmetry classes.
    Raises BoardError if the board cannot be enumerated, and UsageError and TttBatchError as `check_solution` does.
    """
    config = make_config(board=board, symmetry=symmetry)
    check_enumerable(config.board, config.grown, "a solution")
    check_space(config, free_memory())
    check_solution(path, overwrite=overwrite)
    graph = enumerate_graph(config.board, False, config.symmetry)
    content, symmetric = io.BytesIO(), np.array(config.symmetry)
    arrays: dict[str, Any] = {"code": graph.code, "outcome": graph.outcome, "ply": graph.ply, "value": solve(graph)}
    np.savez_compressed(content, **arrays, symmetry=symmetric)
    with content.getbuffer() as view:  # released before its buffer, even if the disk is full
        _SOLUTION.write([path], [view], overwrite=overwrite)
    return int(graph.code.size)


def _entry(board: Board, symmetry: str, known: Known | None) -> Entry:
    space = needed = None
    if board.cells <= MAX_TABLE_CELLS:
        config = make_config(board=board, symmetry=symmetry)
        space = Space(config.grown, config.symmetry)
        needed = None if config.grown else bytes_needed(config)
    positions, moves, value, source = known or (None, None, None, None)
    return Entry(board, space, positions, most_positions(board), moves, value, source, needed)
