"""A game so far: a tuple of moves.  `transcripts` reads and writes games as text."""

import functools
from dataclasses import dataclass, replace

from ttt_batch.base.errors import BoardError
from ttt_batch.game.board import EMPTY, FIRST, FIRST_WINS, SECOND_WINS, UNFINISHED, Board, Position


@dataclass(frozen=True)
class Game:
    """A game so far: its moves.  Position, player to move and outcome follow from them."""

    board: Board
    moves: tuple[int, ...] = ()

    @functools.cached_property
    def position(self) -> Position:
        """Marks of all cells.  A forfeiting move leaves no mark."""
        marks = [EMPTY] * self.board.cells
        for ply, cell in enumerate(self.moves):
            if marks[cell] == EMPTY:
                marks[cell] = FIRST + ply % 2
        return tuple(marks)

    @property
    def mover(self) -> int:
        """Mark of the player to move, FIRST or SECOND."""
        return FIRST + len(self.moves) % 2

    @property
    def forfeited(self) -> bool:
        """Whether the last move went to an occupied cell."""
        return self.board.cells - self.position.count(EMPTY) < len(self.moves)

    @functools.cached_property
    def outcome(self) -> int:
        """UNFINISHED, FIRST_WINS, SECOND_WINS or DRAW; a forfeit is won by the other player."""
        if self.forfeited:
            return FIRST_WINS if self.mover == FIRST else SECOND_WINS
        return self.board.outcome(self.position)

    def after(self, cell: int) -> "Game":
        """The game with one more move; an occupied cell forfeits it.

        Raises BoardError for a cell outside the board and for a move after the end.
        """
        if self.outcome != UNFINISHED:
            raise BoardError(f"no move to cell {cell}: the game is over")
        if not 0 <= cell < self.board.cells:
            raise BoardError(f"cell {cell} is outside 0 .. {self.board.cells - 1}")
        return replace(self, moves=(*self.moves, cell))

    def before_move_of(self, player: int) -> "Game | None":
        """The game before the last move of `player` (FIRST or SECOND), None if there is none."""
        plies = range(player - FIRST, len(self.moves), 2)
        return replace(self, moves=self.moves[: plies[-1]]) if plies else None
