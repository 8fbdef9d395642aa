"""Games of environments as text and as pictures."""

import sys
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ttt_batch.core.console import print_lines
from ttt_batch.core.text import choose
from ttt_batch.games.board import EMPTY, FIRST, MARKS, SECOND, Board, Position
from ttt_batch.games.notation import rows_text

if TYPE_CHECKING:
    from ttt_batch.environments.batch import Batch

RENDER_MODES = ("human", "ansi", "rgb_array")
"""Ways to show it: printed, text, and a picture."""

SIDE = 24
"""Pixels of a cell's side."""

GROUND, LINE, FREE = (250, 250, 248), (200, 200, 196), (232, 232, 228)
COLOURS = {FIRST: (31, 119, 180), SECOND: (214, 72, 54)}


def position_picture(board: Board, position: Position) -> NDArray[np.uint8]:
    """Return an image, uint8[rows * SIDE, cols * SIDE, 3]: discs, blue for the first player, red for the second."""
    across = np.arange(SIDE) - (SIDE - 1) / 2
    distance = np.hypot(across[:, None], across)
    picture = np.zeros((board.rows, board.cols, SIDE, SIDE, 3), np.uint8)
    picture[:] = GROUND
    picture[..., 0, :, :] = LINE
    picture[..., :, 0, :] = LINE
    for cell, mark in enumerate(position):
        picture[divmod(cell, board.cols)][distance < SIDE * 0.38] = COLOURS.get(mark, FREE)
    return picture.transpose(0, 2, 1, 3, 4).reshape(board.rows * SIDE, board.cols * SIDE, 3)


ENDINGS = {1: f"{MARKS[FIRST]} has won", 0: "a draw", -1: f"{MARKS[SECOND]} has won"}
"""Results of a game in words, by the reward of the first player."""


def rendered(board: Board, position: Position, ending: str, mode: str | None) -> str | NDArray[np.uint8] | None:
    """Return a game in a render mode, as a picture or as text; `human` prints the text and returns None.

    The text has rows of marks, and a line with the ending or the next mover.  ending: empty if unfinished.
    """
    if mode == "rgb_array":
        return position_picture(board, position)
    mover = MARKS[FIRST + (board.cells - position.count(EMPTY)) % 2]
    text = rows_text(board, position).replace("/", "\n") + f"\n{ending or f'{mover} to move'}\n"
    if mode == "human":
        print_lines(text, sys.stdout)
    return text if mode == "ansi" else None


def check_render_mode(mode: str | None) -> str | None:
    """Return the render mode.  Raises UsageError."""
    return None if mode is None else choose("render mode", mode, RENDER_MODES)


def picture_of(batch: "Batch", env: int, mode: str | None) -> Any:
    """Return an environment's game in a render mode."""
    position = batch.board.position_of(*batch.bitboards[env])
    going = batch.mask[env].any()  # an unfinished game has a legal action
    ending = "" if going else ENDINGS[int(batch.rewards[env, 0])]
    return rendered(batch.board, position, ending, mode)
