"""Boards to choose from: how many positions they have, what they take, and who wins with best play.

This program counted and solved the smaller boards of the catalogue; `measure` does it for any board that can be
enumerated.  Values of larger ones come from the literature, each with its source.
"""

import io
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ttt_batch.base.choices import SWITCH_WORDS, choose
from ttt_batch.base.errors import TttBatchError, UsageError
from ttt_batch.base.files import shown
from ttt_batch.base.memory import free_memory
from ttt_batch.base.outputs import Kind
from ttt_batch.game.board import MAX_TABLE_CELLS, Board, parse_board
from ttt_batch.game.enumeration import enumerate_graph
from ttt_batch.game.known_values import KNOWN, SOLVED, Known, known_board
from ttt_batch.game.solution import solve
from ttt_batch.game.state_space import WORDS, Space, check_enumerable, most_positions
from ttt_batch.runs.config import make_config
from ttt_batch.runs.memory_needs import bytes_needed, check_space

_SOLUTION = Kind(TttBatchError, "solution")
"""A solution's file, as `outputs` speaks of it."""


@dataclass(frozen=True)
class Entry:
    """What is known of a board.

    space: how `td` keeps it; None if it has too many cells for tables.
    positions: rows of an enumerated board (classes if up to symmetry), else None.
    most: positions at most, before symmetry.  moves: edges of all unfinished rows; None if not enumerated.
    value: with best play WON, DRAWN or LOST for the first player; None if the catalogue has none.
    source: who found the value; None without one.
    bytes: what training `td` takes at most; None on a growing board, which takes what it is given, and without tables.
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
    """Every board of the catalogue."""
    return [_entry(parse_board(name), "auto", known) for name, known in KNOWN.items()]


def measure(board: Board | str, symmetry: str = "auto") -> Entry:
    """Count and solve a board that can be enumerated; of others return what the catalogue has, turned if need be.

    Raises UsageError for an unknown symmetry, and BoardError for a board that does not fit into memory, and for one of
    more than MAX_TABLE_CELLS cells that is not in the catalogue.
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
    return _entry(board, symmetry, known)


def check_solution(path: Path, *, overwrite: bool) -> None:
    """Make sure, before anything is counted, that `path` may be written.  Raises UsageError and TttBatchError."""
    if path.suffix != ".npz":
        raise UsageError(f"cannot write a solution into {shown(path)}: it is an .npz file; name one")
    _SOLUTION.check(path, overwrite=overwrite)


def write_solution(board: Board | str, path: Path, symmetry: str = "auto", *, overwrite: bool = False) -> int:
    """Write every position of a board with its result under best play; return how many they are.

    An `.npz` of `code` (int64), `outcome` (int8: 0 unfinished, 1 first wins, 2 second wins, 3 draw), `ply` (int8) and
    `value` (int8: 1 first wins, 0 draw, -1 second wins), and whether they are classes: `symmetry` (bool).
    Raises BoardError if the board cannot be enumerated, UsageError and TttBatchError as `check_solution` does.
    """
    config = make_config(board=board, symmetry=symmetry)
    check_enumerable(config.board, config.grown, "a solution")
    check_space(config, free_memory())
    check_solution(path, overwrite=overwrite)
    graph = enumerate_graph(config.board, False, config.symmetry)
    content, symmetric = io.BytesIO(), np.array(config.symmetry)
    arrays = {"code": graph.code, "outcome": graph.outcome, "ply": graph.ply, "value": solve(graph)}
    np.savez_compressed(content, **arrays, symmetry=symmetric)
    with content.getbuffer() as view:  # ends before its buffer does, also if the disk refuses
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
