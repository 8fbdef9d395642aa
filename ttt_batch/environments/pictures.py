"""A game for people to look at: as text, or as a small picture."""

import sys

import numpy as np
from numpy.typing import NDArray

from ttt_batch.base.console import print_lines
from ttt_batch.game.board import EMPTY, FIRST, MARKS, Board, Position
from ttt_batch.game.notation import rows_text

RENDER_MODES = ("human", "ansi", "rgb_array")
"""Ways to show it: printed, text, and a picture."""

SIDE = 24
"""Pixels of a cell's side."""

GROUND, LINE, FREE = (250, 250, 248), (200, 200, 196), (232, 232, 228)
COLOURS = {FIRST: (31, 119, 180), FIRST + 1: (214, 72, 54)}


def game_text(board: Board, position: Position, ending: str) -> str:
    """Return rows of `.`, `X` and `O`, and a line with the ending, or if there is none with who moves next."""
    mover = MARKS[FIRST + (board.cells - position.count(EMPTY)) % 2]
    return rows_text(board, position).replace("/", "\n") + f"\n{ending or f'{mover} to move'}\n"


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


def rendered(board: Board, position: Position, ending: str, mode: str | None) -> str | NDArray[np.uint8] | None:
    """Return a game in a render mode; `human` prints it and gives None.  ending: how it has ended, or nothing."""
    if mode == "rgb_array":
        return position_picture(board, position)
    if mode == "ansi":
        return game_text(board, position, ending)
    if mode == "human":
        print_lines(game_text(board, position, ending), sys.stdout)
    return None
