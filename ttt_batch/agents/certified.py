"""Agent that plays the moves of a certificate."""

import numpy as np
from numpy.typing import NDArray

from ttt_batch.agents.base import Agent, Positions, as_cells, as_words, mover_words
from ttt_batch.core.errors import AgentError
from ttt_batch.core.text import SEATS
from ttt_batch.evaluation.certificates import Certificate, list_places
from ttt_batch.games.board import FIRST, Board, Position


class CertifiedAgent(Agent):
    """Agent that plays a certificate's moves, and in any other position the lowest cell that may be marked.

    No game that it plays in the certificate's seat reaches another position, except one in which no line can beat it.
    """

    own = True

    def __init__(self, certificate: Certificate, board: Board, name: str = "certificate") -> None:
        """Raises AgentError if the certificate is for another board or lists a cell outside its own."""
        if certificate.board != board:
            raise AgentError(
                f"{name} is for board {certificate.board.name}, not for {board.name}; choose that board or leave it out"
            )
        if certificate.move.max(initial=0) >= board.cells:
            raise AgentError(f"{name} lists moves outside its board; write the certificate again")
        self.board, self.name, self.proved = board, name, SEATS[certificate.seat]
        self._images = np.array(board.images(certificate.symmetric))
        self._certificate = certificate

    def knows(self, position: Position) -> bool:
        """Return whether the certificate lists a position, or an image of it if it merges images."""
        cells = np.array(position)[self._images]
        first, second = (as_words(cells == mark) for mark in (FIRST, FIRST + 1))
        return bool((self._places(first, second) >= 0).any())

    def _places(self, first: NDArray[np.uint64], second: NDArray[np.uint64]) -> NDArray[np.int64]:
        """Return the number of each pair of cells in the certificate (int64[n]), -1 if it is not listed."""
        places = np.full(first.size, -1)
        list_places(self._certificate.first, self._certificate.second, first, second, places)
        return places

    def ask(self, batch: Positions) -> NDArray[np.int64]:
        """Return a cell for each position."""
        own, other = mover_words(batch)
        second = batch.to_move == 1
        first, later = np.where(second, other, own), np.where(second, own, other)
        marks = as_cells(first, self.board.cells), as_cells(later, self.board.cells)
        lowest: NDArray[np.int64] = batch.legal.argmax(1)
        for image in self._images:
            # Cell i of the image shows cell image[i] of the board.
            places = self._places(*(as_words(side[:, image]) for side in marks))
            listed = places >= 0
            lowest[listed] = image[self._certificate.move[places[listed]]]
        return lowest
