"""Opening books: scores of early positions of a board with gravity, which a search takes too long for.

A book is an `.npz` beside this module, made by `scripts/opening_book.py` with `gravity_solver.GravitySolver`.  It has
`key` (uint64[n], ascending, `GravitySolver.key` of each position), `score` (int8[n]), `board` (its name) and `digest`.
An entry may hold only the winner, as SIGN_ONLY or its negative.  That takes less than half the time to compute.
"""

import zipfile
import zlib
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ttt_batch.core.errors import TttBatchError
from ttt_batch.core.files import shown
from ttt_batch.games.board import Board

SIGN_ONLY = 100
"""Score, or its negative, of a position of which a book knows the winner, but not how soon."""

DAMAGED = (OSError, EOFError, KeyError, TypeError, ValueError, NotImplementedError)
"""Errors that NumPy raises for files that are no `.npz` of such arrays."""


def book_path(board: Board) -> Path:
    """Return the file of a board's book, which need not exist."""
    return Path(__file__).with_name(f"book-{board.name}.npz")


def read_book(board: Board, path: Path | None = None) -> dict[int, int]:
    """Return the scores of a book by key; empty without a file.  path: another file.

    Raises TttBatchError for the book of another board, and for a file whose digest is wrong.
    """
    path = book_path(board) if path is None else path
    if not path.exists():
        return {}
    try:
        with np.load(path) as held:
            key, score = held["key"], held["score"]
            name, right = str(held["board"]), str(held["digest"]) == _digest(board, key, score)
    except (*DAMAGED, zipfile.BadZipFile, zlib.error):
        name, right = board.name, False
    if name != board.name:
        raise TttBatchError(f"{shown(path)} is the opening book of {name}, not of {board.name}; choose another file")
    if not right:
        raise TttBatchError(f"{shown(path)} is no opening book, or was changed; scripts/opening_book.py makes it again")
    return dict(zip(key.tolist(), score.tolist(), strict=True))


def write_book(board: Board, scores: Mapping[int, int], path: Path) -> None:
    """Write scores by key as the book of a board; replace an existing file."""
    key, score = np.array(sorted(scores), np.uint64), np.array([scores[one] for one in sorted(scores)], np.int8)
    digest = np.array(_digest(board, key, score))
    np.savez_compressed(path, key=key, score=score, board=np.array(board.name), digest=digest)


def _digest(board: Board, key: NDArray[np.uint64], score: NDArray[np.int8]) -> str:
    return sha256(board.name.encode() + key.astype("<u8").tobytes() + score.astype("i1").tobytes()).hexdigest()
