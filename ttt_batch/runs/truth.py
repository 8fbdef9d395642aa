"""The truth about positions, for every run whose board is enumerated: tables and networks alike."""

import functools

import numpy as np
from numpy.typing import NDArray

from ttt_batch.base.choices import SEATS
from ttt_batch.base.errors import BoardError, quoted
from ttt_batch.game.board import EMPTY, FIRST_WINS, MAX_TABLE_CELLS, SECOND_WINS, UNFINISHED, Board, Position
from ttt_batch.game.enumeration import enumerate_graph
from ttt_batch.game.graph import Graph, row_of
from ttt_batch.game.notation import lettered, read_position
from ttt_batch.game.solution import Truth, solve_in_plies, truth_of
from ttt_batch.game.state_space import Space, check_enumerable, choose_space


class Solved:
    """A board with the results of best play; on one too large to enumerate only the ends of games are known.

    A run says what its graph is, and by what.
    """

    board: Board

    @property
    def seats(self) -> tuple[str, ...]:
        """The seats in which it can play."""
        return SEATS

    @property
    def gives(self) -> str:
        """What its `move_values` are: a `value` of each move, or the `chance` that it makes it."""
        return "value"

    @property
    def sharpens(self) -> bool:
        """Whether it can play by ties `sharp`; tables of enumerated boards can."""
        return False

    def sharp_cells(self, position: Position) -> list[int]:
        """Cells that it may pick with ties `sharp`, if it can play by them."""
        raise NotImplementedError

    @property
    def graph(self) -> Graph:
        """Positions and moves of the board."""
        raise NotImplementedError

    @property
    def enumerated(self) -> bool:
        """Whether the graph has every position."""
        raise NotImplementedError

    @property
    def images_share(self) -> bool:
        """Whether a row of the graph stands for all images of a position."""
        raise NotImplementedError

    @functools.cached_property
    def solution(self) -> NDArray[np.int8]:
        """int8[S]: the true result of every position, 1 first wins, 0 draw, -1 second wins.  Raises BoardError."""
        return np.sign(self.solution_in_plies)

    @functools.cached_property
    def solution_in_plies(self) -> NDArray[np.int8]:
        """int8[S]: `solution`, with distances, as `solution.solve_in_plies` gives it.  Raises BoardError."""
        self._needs_all("a solution")
        return solve_in_plies(self.graph)

    def position(self, position: str | int | Position) -> Position:
        """Read a position given as text (rows, moves or a code, see `notation`), code or marks.  Raises BoardError."""
        return read_position(position, self.board)

    def position_asked(self, position: str | int | Position) -> Position:
        """Read a position as `position` does, for an answer in cells, which count from 0.

        Raises BoardError also for moves by digits, because these count from 1.
        """
        marks = self.position(position)
        if isinstance(position, str) and (letters := lettered(position, self.board)) is not None:
            raise BoardError(
                f"position {quoted(position)}: digits count cells from 1, and the cells that come back count from 0; "
                f"write {letters!r}, or the cells' marks"
            )
        return marks

    def _needs_all(self, what: str) -> None:
        check_enumerable(self.board, not self.enumerated, what)

    def _located(self, marks: Position) -> tuple[int, tuple[int, ...]]:
        """The row of a position on an enumerated board, and which cell stands on each cell of its image."""
        representative, image = self.board.representative(marks, self.images_share)
        return row_of(self.graph, self.board.encode(representative)), image

    def truth(self, position: str | int | Position) -> Truth | None:
        """Who wins with best play from a position, and after how many plies; None if it is not known.

        Raises BoardError for a position that no game reaches.
        """
        marks = self.position(position)
        if not self.enumerated:
            outcome = self.board.outcome(marks)
            return None if outcome == UNFINISHED else Truth({FIRST_WINS: 1, SECOND_WINS: -1}.get(outcome, 0), 0)
        return truth_of(int(self.solution_in_plies[self._located(marks)[0]]), marks.count(EMPTY))

    def true_moves(self, position: str | int | Position) -> dict[int, Truth] | None:
        """The truth of each move: by free cell the result of best play after it, plies counted from there.

        Empty for a final position, None on a board too large to enumerate.  Raises BoardError for a position that no
        game reaches.
        """
        marks = self.position_asked(position)
        if not self.enumerated:
            return None
        if self.board.outcome(marks) != UNFINISHED:
            return {}
        truths = ((cell, self.truth(self.board.after(marks, cell))) for cell in self.board.open_cells(marks))
        return {cell: truth for cell, truth in truths if truth is not None}

    def true_value(self, position: str | int | Position) -> int | None:
        """The result of best play from a position: 1 first wins, 0 draw, -1 second wins; None if it is not known."""
        truth = self.truth(position)
        return None if truth is None else truth.result


class SolvedBoard(Solved):
    """What knows the truth of a board although it has no rows of its own: networks, and agents of other people."""

    @functools.cached_property
    def graph(self) -> Graph:
        """Positions and moves of its board, as tables of that board have them.  Raises BoardError."""
        self._needs_all("a list of positions")
        return enumerate_graph(self.board, symmetry=self.images_share)

    @property
    def enumerated(self) -> bool:
        """Whether the board is small enough for a list of all positions."""
        return self.board.cells <= MAX_TABLE_CELLS and not self._space.grown

    @property
    def images_share(self) -> bool:
        """Whether a row of the list stands for all images of a position."""
        return self._space.symmetry

    @functools.cached_property
    def _space(self) -> Space:
        return choose_space(self.board, "auto", prefers=False)
