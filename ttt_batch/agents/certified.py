"""Agent that plays the moves of a certificate."""

import numpy as np
from numpy.typing import NDArray

from ttt_batch.agents.base import Agent, Positions, as_cells, as_words, mover_words
from ttt_batch.core.errors import AgentError
from ttt_batch.evaluation.certificates import Certificate
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
        self.board, self.name = board, name
        self._images = np.array(board.images(certificate.symmetric))
        pairs = zip(certificate.first.tolist(), certificate.second.tolist(), strict=True)
        self._move = dict(zip(pairs, certificate.move.tolist(), strict=True))

    def knows(self, position: Position) -> bool:
        """Return whether the certificate lists a position, or an image of it if it merges images."""
        cells = np.array(position)[self._images]
        words = (as_words(cells == mark).tolist() for mark in (FIRST, FIRST + 1))
        return any(pair in self._move for pair in zip(*words, strict=True))

    def ask(self, batch: Positions) -> NDArray[np.int64]:
        """Return a cell for each position."""
        own, other = mover_words(batch)
        second = batch.to_move == 1
        first, later = np.where(second, other, own), np.where(second, own, other)
        marks = as_cells(first, self.board.cells), as_cells(later, self.board.cells)
        lowest: NDArray[np.int64] = batch.legal.argmax(1)
        for image in self._images:
            # Cell i of the image shows cell image[i] of the board.
            pairs = zip(*(as_words(side[:, image]).tolist() for side in marks), strict=True)
            for number, pair in enumerate(pairs):
                if pair in self._move:
                    lowest[number] = image[self._move[pair]]
        return lowest
