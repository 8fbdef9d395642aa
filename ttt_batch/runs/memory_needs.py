"""Estimates of the memory that a board takes in training."""

import math

from ttt_batch.base.errors import BoardError, flag
from ttt_batch.game.state_space import most_positions, positions_of_ply
from ttt_batch.learners import learner_named
from ttt_batch.runs.config import Config


def bytes_a_row(config: Config, *, uneven: bool = False) -> float:
    """Return the approximate bytes of a row and its edges in training.

    uneven: True if the fixed opponent's moves are not equally likely, so that all moves are drawn from probabilities.
    """
    learner, cells = learner_named(config.learner), config.board.cells
    edges = cells if learner.occupied else cells * 0.75  # most rows are late in a game and have few moves
    by_row = sum(8 * (2 if axes.startswith("P") else 1) for axes, _ in learner.fields.values() if axes.endswith("S"))
    by_edge = sum(8 * (2 if axes.startswith("2") else 1) for axes, _ in learner.fields.values() if axes.endswith("E"))
    entries = (by_edge * edges if learner.by_moves else by_row) if config.alpha.power else 0
    # Rows: code, outcome, ply, first edge, hash table.  Edges: child, cell.
    taken = 14 + 32 + by_row + entries + edges * (5 + by_edge)
    if config.grown and learner.final_rows:  # as many final rows, without edges
        taken += 10 + 32 + by_row + entries + (0 if config.batch == 1 else 40)
    if config.batch != 1:
        taken += 53 + 16 * edges  # visit counts, scratch, lists; edge counts
    if (config.temperature is not None or uneven) and not config.grown:
        if config.batch != 1 and config.engine != "flow":  # for each seat: alias tables, draws of each slot
            taken += (2 + 24 * edges) * (2 if config.seat == "both" else 1)
        if config.opponent:
            taken += 8 * edges  # its move probabilities
    return taken


def bytes_needed(config: Config, *, uneven: bool = False) -> int:
    """Return an upper estimate of the bytes for training on an enumerated board; uneven: see `bytes_a_row`."""
    rows = most_positions(config.board) / (len(config.board.symmetries) if config.symmetry else 1)
    return math.ceil(rows * bytes_a_row(config, uneven=uneven))


def rows_within(config: Config, max_bytes: int) -> int:
    """Return how many unfinished rows of a growing board fit into `max_bytes`.  Raises BoardError below 10,000 rows."""
    rows = int(max_bytes / bytes_a_row(config))
    if rows < 10_000:
        raise BoardError(
            f"{max_bytes:,} bytes hold {rows:,} positions of board {config.board.name}, fewer than 10,000; "
            f"raise {flag('max_memory')}, or choose a smaller board"
        )
    return rows


def check_space(config: Config, max_bytes: int, *, uneven: bool = False) -> None:
    """Raise BoardError if the board needs more than `max_bytes` of memory, before any work starts.

    uneven: see `bytes_a_row`.
    """
    if config.grown or config.small:
        return
    needed = bytes_needed(config, uneven=uneven)
    if needed > max_bytes:
        board, images = config.board, len(config.board.symmetries)
        shared = images if config.symmetry else 1
        rows = most_positions(board) // shared
        edges = sum(positions_of_ply(board, ply) * (board.cells - ply) for ply in range(board.cells)) // shared
        remedy = "" if config.symmetry or images == 1 else f"{flag('symmetry', 'on')} takes a {images}th, or "
        raise BoardError(
            f"board {board.name} has up to {rows:,} rows with {edges:,} edges, which take up to "
            f"{needed / 1e9:.1f} GB; {max_bytes / 1e9:.1f} GB may be used: {remedy}raise {flag('max_memory')}"
        )
