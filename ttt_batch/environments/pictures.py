"""A game for people to look at: as text, or as a small picture."""

import sys

import numpy as np
from numpy.typing import NDArray

from ttt_batch.base.console import put
from ttt_batch.environments.batch import Batch
from ttt_batch.game.board import EMPTY, FIRST, MARKS, Board, Position
from ttt_batch.game.notation import rows_text

RENDER_MODES = ("human", "ansi", "rgb_array")
"""Ways to show it: printed, text, and a picture."""

SIDE = 24
"""Pixels of a cell's side."""

GROUND, LINE, FREE = (250, 250, 248), (200, 200, 196), (232, 232, 228)
COLOURS = {FIRST: (31, 119, 180), FIRST + 1: (214, 72, 54)}


def position_of(batch: Batch, env: int) -> Position:
    """Return the marks of an environment's cells."""
    first, second = batch.bitboards[env]
    return tuple((int(first) >> cell & 1) + 2 * (int(second) >> cell & 1) for cell in range(batch.board.cells))


def game_text(batch: Batch, env: int) -> str:
    """Return rows of `.`, `X` and `O`, and a line that says who moves next, or how the game has ended."""
    position = position_of(batch, env)
    mover, (first, second) = (batch.board.cells - position.count(EMPTY)) % 2, batch.rewards[env]
    status = f"{MARKS[FIRST + mover]} to move"
    if not batch.mask[env].any():  # a game that goes on has a legal action
        status = "a draw" if first == second else f"{MARKS[FIRST] if first > second else MARKS[FIRST + 1]} has won"
    return rows_text(batch.board, position).replace("/", "\n") + f"\n{status}\n"


def position_picture(board: Board, position: Position) -> NDArray[np.uint8]:
    """uint8[rows * SIDE, cols * SIDE, 3]: a disc for each mark, the first player's blue, the second's red."""
    across = np.arange(SIDE) - (SIDE - 1) / 2
    distance = np.hypot(across[:, None], across)
    picture = np.zeros((board.rows, board.cols, SIDE, SIDE, 3), np.uint8)
    picture[:] = GROUND
    picture[..., 0, :, :] = LINE
    picture[..., :, 0, :] = LINE
    for cell, mark in enumerate(position):
        picture[divmod(cell, board.cols)][distance < SIDE * 0.38] = COLOURS.get(mark, FREE)
    return picture.transpose(0, 2, 1, 3, 4).reshape(board.rows * SIDE, board.cols * SIDE, 3)


def rendered(batch: Batch, env: int, mode: str | None) -> str | NDArray[np.uint8] | None:
    """Return an environment's game in a render mode; `human` prints it and gives None."""
    if mode == "rgb_array":
        return position_picture(batch.board, position_of(batch, env))
    if mode == "ansi":
        return game_text(batch, env)
    if mode == "human":
        put(game_text(batch, env), sys.stdout)
    return None
