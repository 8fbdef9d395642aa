"""Make the opening book of a board with gravity by solving its early positions.

    python scripts/opening_book.py connect4 [--signs 7] [--plies 4] [--minutes 30] [--book FILE]

The winner of every position after `--signs` moves is found, a mirror image only once, and those before them follow.
Then every position after `--plies` moves is solved: how soon the winner wins, too.  The book is written once a minute
and at the end.  A later call continues with those that are missing, also where it was stopped.
"""

import argparse
import time
from pathlib import Path

import ttt_batch as ttt
from ttt_batch.games.board import FIRST, UNFINISHED, Position
from ttt_batch.games.gravity_solver import ALL, SIGN, GravitySolver, can_solve
from ttt_batch.games.opening_book import SIGN_ONLY, book_path, read_book, write_book

PAUSE = 60
"""Seconds between two writes."""


def parser() -> argparse.ArgumentParser:
    """Return the parser of the script's options."""
    found = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    found.add_argument("board", help="e.g. connect4")
    found.add_argument("--signs", type=int, default=0, help="moves before the positions whose winner is to be found")
    found.add_argument("--plies", type=int, default=0, help="moves before the positions to solve")
    found.add_argument("--minutes", type=float, default=1e9, help="begin no position after that time")
    found.add_argument(
        "--slots", type=int, default=1 << 27, help="of the table, 8 bytes each; a power of two from 256 on"
    )
    found.add_argument("--book", type=Path, help="the file; the one that the package reads if not given")
    return found


def positions_by_ply(solver: GravitySolver, plies: int) -> list[dict[int, Position]]:
    """Return the unfinished positions after 0 to `plies` moves, by key."""
    board = solver.board
    found: list[dict[int, Position]] = [{solver.key((0,) * board.cells): (0,) * board.cells}]
    for _ in range(plies):
        after = [board.after(marks, cell) for marks in found[-1].values() for cell in board.open_cells(marks)]
        found.append({solver.key(marks): marks for marks in after if board.outcome(marks) == UNFINISHED})
    return found


def derived(solver: GravitySolver, scores: dict[int, int], marks: Position) -> int | None:
    """Return a position's score from those after its moves; None if one of them is missing.

    Return SIGN_ONLY or its negative if the exact score depends on a reply that has only a sign.
    """
    board, found = solver.board, list[int]()
    for cell in board.open_cells(marks):
        after = board.after(marks, cell)
        if board.outcome(after) in (FIRST, FIRST + 1):
            return (marks.count(0) + 1) // 2
        score = 0 if board.outcome(after) != UNFINISHED else scores.get(solver.key(after))
        if score is None:
            return None
        found.append(-score)
    best = max(found)
    return -SIGN_ONLY if best < 0 and -SIGN_ONLY in found else best


def solve_missing(
    solver: GravitySolver, layer: dict[int, Position], scores: dict[int, int], path: Path, end: float, *, sign: bool
) -> None:
    """Add the missing scores of a layer; with `sign`, only the winners.  Start none after `end` (monotonic s)."""
    missing = [key for key in layer if key not in scores or (not sign and abs(scores[key]) == SIGN_ONLY)]
    written = time.monotonic()
    for number, key in enumerate(missing, 1):
        if time.monotonic() >= end:
            return
        score = solver.score(layer[key], between=SIGN if sign else ALL)
        assert score is not None, "no limit was given"
        scores[key] = SIGN_ONLY * ((score > 0) - (score < 0)) if sign else score
        if time.monotonic() - written > PAUSE or number == len(missing):
            write_book(solver.board, scores, path)
            print(f"{number} of {len(missing)}: {solver.entered:,} positions entered", flush=True)
            written = time.monotonic()


def derive(solver: GravitySolver, layers: list[dict[int, Position]], scores: dict[int, int]) -> None:
    """Add what follows for earlier positions from those after them."""
    for layer in reversed(layers[:-1]):
        for key, marks in layer.items():
            score = derived(solver, scores, marks)
            if score is not None and (key not in scores or abs(score) != SIGN_ONLY):
                scores[key] = score


def main() -> None:
    """Solve, derive and write."""
    options = parser().parse_args()
    if min(options.signs, options.plies) < 0 or max(options.signs, options.plies) == 0:
        parser().error("give --signs N, --plies N, or both, N from 1 on")
    end = time.monotonic() + 60 * options.minutes
    try:
        board = ttt.parse_board(options.board)
        if not can_solve(board):
            raise SystemExit(f"{board.name}: the solver takes boards with gravity of at most 64 = columns * (rows + 1)")
        path = options.book or book_path(board)
        if path.suffix != ".npz" or not path.parent.is_dir():
            raise SystemExit(f"{path} is no .npz file in a folder that exists; choose another name")
        scores, solver = read_book(board, path), GravitySolver(board, options.slots)
    except ttt.TttBatchError as error:
        raise SystemExit(str(error)) from None
    layers = positions_by_ply(solver, max(options.plies, options.signs))
    for plies, sign in ((options.signs, True), (options.plies, False)):
        if plies:
            solve_missing(solver, layers[plies], scores, path, end, sign=sign)
    derive(solver, layers, scores)
    write_book(board, scores, path)
    print(f"{path.name}: {len(scores):,} positions, {path.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
