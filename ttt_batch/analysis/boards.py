"""Boards to choose from: how many positions they have, what they take, and who wins with best play.

This program counted and solved what is listed here, except the value of 5x5x5; `measure` does it for any board that
can be enumerated.
"""

import io
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ttt_batch.base.errors import TttBatchError, UsageError
from ttt_batch.base.files import shown
from ttt_batch.base.memory import free_memory
from ttt_batch.base.outputs import Kind
from ttt_batch.game.board import Board
from ttt_batch.game.enumeration import enumerate_graph
from ttt_batch.game.solution import solve
from ttt_batch.game.state_space import Space, check_enumerable, most_positions
from ttt_batch.runs.config import Config, make_config
from ttt_batch.runs.memory_needs import bytes_needed, check_space

WON, DRAWN, LOST = 1, 0, -1
"""Values of boards: what best play brings the first player."""

_SOLUTION = Kind(TttBatchError, "solution")
"""A solution's file, as `outputs` speaks of it."""


@dataclass(frozen=True)
class Entry:
    """What is known of a board.

    space: how `td` keeps it.  positions: rows of an enumerated board (classes if `space.symmetry`), else None.
    most: positions at most, before symmetry.  moves: edges of all unfinished rows; None if not enumerated.
    value: with best play WON, DRAWN or LOST for the first player; None if unknown.
    bytes: what training `td` takes at most; None on a growing board, which takes what it is given.
    """

    board: Board
    space: Space
    positions: int | None
    most: int
    moves: int | None
    value: int | None
    bytes: int | None


KNOWN: dict[str, tuple[int | None, int | None, int | None]] = {
    "3x3": (5_478, 16_167, DRAWN),
    "3x3-misere": (5_478, 16_167, DRAWN),
    "3x4x3": (111_973, 391_062, WON),
    "3x4x4": (142_231, 588_732, DRAWN),
    "3x5x3": (573_900, 2_212_810, WON),
    "3x5x4": (857_514, 4_353_759, DRAWN),
    "4x4x3": (756_387, 2_940_818, WON),
    "4x4x3-exact": (801_875, 3_173_855, WON),
    "4x4x4": (1_217_977, 6_460_008, DRAWN),
    "4x4x4-misere": (1_217_977, 6_460_008, DRAWN),
    "4x5x4": (None, None, None),
    "5x5x4": (None, None, None),
    "5x5x5": (None, None, DRAWN),
    "6x6x4": (None, None, None),
}
"""Positions, moves and value.  5x5x5 is a draw: the second player can pair the cells so that every line holds a pair
(Berlekamp, Conway and Guy, "Winning Ways for your Mathematical Plays", 2nd edition, volume 3, chapter 22)."""


def known_boards() -> list[Entry]:
    """Every board of the catalogue."""
    return [_entry(make_config(board=name), *found) for name, found in KNOWN.items()]


def measure(board: Board | str, symmetry: str = "auto") -> Entry:
    """Count and solve a board that can be enumerated; of others return the entry of the catalogue.

    Raises UsageError for an unknown symmetry, and BoardError for a board that does not fit into memory.
    """
    config = make_config(board=board, symmetry=symmetry)
    if config.grown:
        return _entry(config, *KNOWN.get(config.board.name, (None, None, None)))
    check_space(config, free_memory())
    graph = enumerate_graph(config.board, False, config.symmetry)
    return _entry(config, graph.code.size, graph.child.size, int(solve(graph)[0]))


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


def _entry(config: Config, positions: int | None, moves: int | None, value: int | None) -> Entry:
    board, space = config.board, Space(config.grown, config.symmetry)
    needed = None if config.grown else bytes_needed(config)
    return Entry(board, space, positions, most_positions(board), moves, value, needed)
