"""What a class has to know about a kit: how to build it, how it plays, how it learns, and what to write down."""

from typing import NamedTuple

import numpy as np

from ttt_batch.app.kit.boxes import COLOURS, Box
from ttt_batch.base.quantities import count_text
from ttt_batch.runs.config import GIVEN
from ttt_batch.runs.run import Run


class KitRules(NamedTuple):
    """The first page.

    title: one line.  paragraphs: (heading, text).  beads: how many of each cell's beads all boxes hold together.
    """

    title: str
    paragraphs: list[tuple[str, str]]
    beads: list[int]


def rules_of(run: Run, boxes: list[Box]) -> KitRules:
    """The rules of a run's kit, whose boxes these are."""
    win, draw, loss = (int(number) for number in (run.config.rewards or "").split(","))
    start = run.learner.fresh(run.graph, run.config.settings, np.random.default_rng(0)).q
    untouched = (
        "as at the beginning"
        if np.array_equal(run.tables.q, start, equal_nan=True)
        else "as in the table that was imported"
    )
    # Only given games and forks count on from those of the table that they begin with.
    apart = run.config.start and run.config.engine != GIVEN and not run.config.inherited
    games = f"after {count_text(run.games, 'game')}{' that began with another table' if apart else ''}"
    learnt = games if run.games else untouched
    return KitRules(
        f"MENACE: {len(boxes)} matchboxes that learn noughts and crosses",
        [
            ("Build", _build(boxes, learnt)),
            ("Play", PLAY),
            ("Learn", _learn(win, draw, loss)),
            ("Write down", WRITE),
        ],
        [sum(box.beads.get(cell, 0) for box in boxes) for cell in range(len(COLOURS))],
    )


def _build(boxes: list[Box], learnt: str) -> str:
    return (
        f"Cut out the {len(boxes)} labels and stick each on a matchbox. A number in a coloured circle is how many "
        f"beads of that cell's colour go into the box, {learnt}. Cells that a turn or a reflection of the board makes "
        "the same share the beads of one of them. Keep the boxes in the order of their numbers, by move."
    )


PLAY = (
    "The machine plays X and begins. Find the box with the position on the board; it may have to be turned or held to "
    "a mirror. Shake it, take out one bead without looking, and put X where the bead's cell is. Leave the box open "
    "with the bead beside it. If the box is empty, the machine resigns and has lost. Its last move, when one cell is "
    "free, needs no box."
)

WRITE = (
    "Write each game on a line of a text file: the cells in the order in which they were taken, from 1 at the top left "
    "to 9, such as 1 5 9 3 7 4 8; the word resigns where the machine gave up. Then a computer can learn from your "
    "games and judge them: ttt-batch learn-from games.txt --learner menace --cells-from 1"
)


def _learn(win: int, draw: int, loss: int) -> str:
    """What is done to the open boxes after a game, in words."""
    words = [f"after a {name} {_given(number)}" for name, number in (("win", win), ("draw", draw), ("loss", loss))]
    return (
        f"At the end of a game {'; '.join(words)}: so in every open box, with beads of the colour that was drawn. "
        "Boxes that stayed closed remain as they are."
    )


def _given(number: int) -> str:
    if number >= 0:
        return "put the bead back" + (f" and add {count_text(number, 'more bead')}" if number else "")
    rest = f" and {count_text(-number - 1, 'more bead')} with it, as far as there are any" if number < -1 else ""
    return f"keep the bead out{rest}"
