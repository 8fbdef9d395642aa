"""Lesson for a class: five experiments on the page (`page --lesson`), on paper (`export --to lesson`), in the guide.

Each begins with a question and a prediction to write down.  The learning takes a minute at the pace of a lesson: it
begins with a game a second and becomes twice as fast every five seconds.  All figures were measured with `train
--batch 1`; those of several seeds are of the seeds 0 to 19.
"""

import html
import textwrap
from pathlib import Path
from typing import Any, NamedTuple

from ttt_batch.app import sheets

GAMES = 30_000
"""Games of each experiment, which a lesson plays in 60 seconds."""

SEEDS = 20
"""Seeds, from 0 on, of figures that are said to be of 20 seeds."""


class Experiment(NamedTuple):
    """Experiment: a learner with its options, and what to find out.

    title, question: for the class.  predict: what to write down before.
    alpha, epsilon: as for `train`; None for a learner without them.  seed: of the run.
    found: what this run and others show.  reason: why.
    """

    title: str
    question: str
    predict: str
    learner: str
    alpha: float | None
    epsilon: float | None
    seed: int
    found: str
    reason: str

    @property
    def command(self) -> str:
        """Return the command that learns the same table as the page, byte for byte."""
        numbers = "" if self.alpha is None else f" --alpha {self.alpha:g} --epsilon {self.epsilon:g}"
        return f"ttt-batch train --learner {self.learner} --batch 1{numbers} --seed {self.seed} --games {GAMES}"


EXPERIMENTS = (
    Experiment(
        "What does exploration do?",
        "This table learns from 30,000 games against itself. It always plays the move that it thinks best, and never "
        "tries another one. How good is it in the end?",
        "Of 100 games as second against random moves it loses …",
        "sutton-barto",
        0.1,
        0.0,
        0,
        "It loses 40.1 of 100 games as second against random moves, and the best opponent wins every game. None of 20 "
        "seeds is unbeatable in a seat at the end. With exploration 0.1 half of them lose at most 3.3 of 100, and "
        "18 of 20 are unbeatable as first.",
        "A move that looks worse than another is not played, so its value is not corrected. The table knows only the "
        "few games that it likes to play. Exploration shows it the others.",
    ),
    Experiment(
        "What does the step size do?",
        "After a game each value moves towards its target. With step size 1 it goes all the way. Does this table "
        "become unbeatable as first within 30,000 games?",
        "Sketch the curve of the best opponent: does it fall and stay, or does it jump?",
        "backward-q",
        1.0,
        0.3,
        0,
        "It is unbeatable at no recorded point, and neither is any other of 20 seeds. With step size 0.1 all 20 are "
        "unbeatable as first at some point, half of them by game 1,092. With 0.01 half are by game 5,668.",
        "With step size 1 a value remembers the last game alone, also if a player had just explored a bad move. "
        "Smaller steps average over many games, but need more games to arrive.",
    ),
    Experiment(
        "Why does the second player learn later?",
        "This table learns both seats from the same 30,000 games. In which seat will it be unbeatable first?",
        "Unbeatable as first from game …, as second from game …",
        "td",
        0.5,
        0.3,
        3,
        "It is unbeatable as first since game 13,480 and as second since game 20,788. Of 20 seeds half are unbeatable "
        "as first by game 13,480, and as second by game 19,063.",
        "The second player must know more. The first player never loses if it knows a move for 13 positions, chosen "
        "well. The second player needs 66. It answers nine openings, where the first player chooses one.",
    ),
    Experiment(
        "Can it be beaten?",
        "After 30,000 games this table draws every game against itself. Can anybody beat it?",
        "As first yes or no, as second yes or no, because …",
        "sutton-barto",
        0.1,
        0.1,
        1,
        "As first nobody beats it. As second anybody does: press “Play against it”, take X, and play the middle, then "
        "the bottom left, then the top right corner. It answers with the same moves each time. None of 20 seeds is "
        "unbeatable as second at the end.",
        "Its own best games never go this way. Draws against one opponent prove nothing about others. A proof looks at "
        "every answer in every position.",
    ),
    Experiment(
        "Thirteen cards",
        "MENACE has 304 matchboxes, one for each position that it may have to move in. How many positions must a "
        "player who begins know a move for, so as never to lose?",
        "At least … positions are needed.",
        "menace",
        None,
        None,
        0,
        "Thirteen are enough if they are chosen well, and twelve are not, which is proved. This machine is unbeatable "
        "after 30,000 games if each box plays its most frequent colour, as are 10 of 20 seeds. The games have "
        "changed the beads of 303 boxes.",
        "Who chooses the moves never meets most positions. A turned or mirrored position is the same one. No card is "
        "needed where the opponent cannot complete a line any more.",
    ),
)


TITLE = "How does a table learn tic-tac-toe? Five experiments"

START = (
    "Open the page that ttt-batch page --lesson writes. For each experiment write down what you expect, press Start, "
    "and watch the curve for a minute. It shows how many of 100 games the table loses to random moves, and by how "
    "many the best opponent leads. Then write down what you saw and why."
)


def for_page() -> list[dict[str, Any]]:
    """Return the experiments as plain values for `lesson.js`."""
    return [
        {
            "title": one.title,
            "question": one.question,
            "predict": one.predict,
            "settings": {"learner": one.learner, "seed": str(one.seed)}
            | ({} if one.alpha is None else {"alpha": one.alpha, "epsilon": one.epsilon}),
            "games": GAMES,
            "found": one.found,
            "reason": one.reason,
        }
        for one in EXPERIMENTS
    ]


GUIDE = """# A lesson: five experiments

```sh
ttt-batch page --lesson --out lesson.html
ttt-batch export --to lesson --out lesson.pdf
```

The first command writes a page with a third tab, *Lesson*. Each experiment asks a question and for a prediction, learns
for a minute after one click, and then says what is true and why. The second command prints the same: a sheet for the
class, and one with the answers. `--out lesson.html` writes these as a page to print.

A lesson begins with a game a second and becomes twice as fast every five seconds. The page learns the same tables as
the commands below, byte for byte. Figures of 20 seeds are of the seeds 0 to 19; a test measures them again.

![the page with an experiment: its question, the board with values, and the curve](../lesson.png)
"""


def guide() -> str:
    """Return the page of the lesson in `data/guide/`."""
    parts = [GUIDE]
    for number, one in enumerate(EXPERIMENTS, 1):
        parts.append(
            f"## {number}. {one.title}\n\n```sh\n{one.command}\n```\n\n{_wrapped(one.question)}\n\n"
            f"*Write down:* {one.predict}\n\n{_wrapped(f'*What is true:* {one.found}')}\n\n"
            f"{_wrapped(f'*Why:* {one.reason}')}\n"
        )
    parts.append(LAST)
    return "\n".join(parts)


LAST = """## The cards

`ttt-batch prove --smallest --as first --certificate first.npz` finds the thirteen positions, and `ttt-batch export
first.npz --to cards` prints them ([more](play.md)). [All sizes](../smallest.md) has the second player and other boards.
"""


def _wrapped(text: str) -> str:
    """Return a paragraph of the guide in lines of at most 120 characters."""
    return textwrap.fill(text, 120, break_on_hyphens=False)


def _numbered(number: int, one: Experiment) -> str:
    return f"{number}. {one.title}"


def sheet() -> sheets.Paragraphs:
    """Return the paragraphs of the sheet for the class, which leaves room to write below each experiment."""
    asked = [
        (_numbered(number, one), f"{one.question} Write down: {one.predict}")
        for number, one in enumerate(EXPERIMENTS, 1)
    ]
    return [("Before you begin", START), *asked]


def answers() -> sheets.Paragraphs:
    """Return the paragraphs of the sheet with the answers."""
    return [(_numbered(number, one), f"{one.found} {one.reason}") for number, one in enumerate(EXPERIMENTS, 1)]


ANSWERS = "What is true, and why"

ROOM = 14.0
"""Millimetres below each experiment to write in."""

STYLE = f"""
body > p {{ margin-bottom: {ROOM}mm }}
h1 + h2 + p, section p {{ margin-bottom: 0 }}
section {{ break-before: page }}
"""


def lesson_html() -> str:
    """Return both sheets as a page to print."""
    found = "".join(f"<h2>{html.escape(head)}</h2>\n<p>{html.escape(body)}</p>\n" for head, body in answers())
    return sheets.html_page(TITLE, sheet(), STYLE, f"<section>\n<h1>{ANSWERS}</h1>\n{found}</section>")


def export_lesson(path: Path, *, overwrite: bool = False) -> Path:
    """Write the two sheets to `path`, a .pdf or an .html file; return the path.

    Raises UsageError for another ending, TttBatchError for a PDF without matplotlib, and FormatError if the file cannot
    be written or exists already (unless `overwrite`).
    """
    sheets.check_sheets(path, "a lesson", overwrite=overwrite)
    pages = ((TITLE, sheet(), ROOM), (ANSWERS, answers(), 0.0))
    figures = (sheets.text_page(title, paragraphs, room)[0] for title, paragraphs, room in pages)
    sheets.write_sheets(path, TITLE, figures, lesson_html, overwrite=overwrite)
    return path
