"""The Learn tab of a page, of 3x3 and 3x3-misere: learners in JavaScript, with the very tables of `train --batch 1`.

The scripts are in `learning/`.  Those that learn run in a Web Worker, too, which the page makes from its own scripts,
so that it stays one file; the others show what is learnt.
"""

from typing import NamedTuple

from ttt_batch.base.errors import BoardError
from ttt_batch.game.board import Board

SIDE = 3
LEARNERS = ("td", "sutton_barto", "backward_q", "q_learning", "menace")
"""Scripts of the learners that the tab offers."""

IN_THE_WORKER = (
    "game",
    *(
        f"learning/{name}"
        for name in ("random", "exploration", "graph", *LEARNERS, "self_play", "judge", "session", "files", "worker")
    ),
)
"""Scripts that run on the page and in its worker, in order."""

CLASS = "learning"
"""Marks these scripts on the page."""


class Extra(NamedTuple):
    """What a page that learns has besides.

    before, after: scripts before those of every page, and after them.  shared: those that its worker runs, too.
    html: pieces, by name, and the file of each.
    """

    before: tuple[str, ...]
    after: tuple[str, ...]
    shared: tuple[str, ...]
    html: dict[str, str]


LEARNING = Extra(
    before=IN_THE_WORKER[1:],
    after=tuple(f"learning/{name}" for name in ("learnt", "curve", "looking", "matchboxes", "learn", "tabs")),
    shared=IN_THE_WORKER,
    html={"tabs": "learning/tabs.html", "learn": "learning/learn.html"},
)
NONE = Extra((), (), (), {"tabs": "", "learn": ""})


def learns(board: Board) -> bool:
    """Whether a page of `board` has the tab."""
    return board.rows == board.cols == board.k == SIDE and not board.gravity


def check_learns(board: Board) -> None:
    """Raise BoardError if a page of `board` would not have the tab."""
    if not learns(board):
        raise BoardError(f"a page learns on 3x3 and 3x3-misere, not on {board.name}; export a run of it as html")
