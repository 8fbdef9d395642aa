"""What there is to choose from: `learners` and `boards`."""

from pathlib import Path
from typing import Annotated

import typer

from ttt_batch.app.commands.completion import BOARDS, SWITCH, offering
from ttt_batch.app.commands.shared import Json, Overwrite, Quiet, answer, working
from ttt_batch.base.choices import LEARNER_NAMES


def learners(
    name: Annotated[
        str | None,
        typer.Argument(metavar="[NAME]", help="One learner, in full.", autocompletion=offering(*LEARNER_NAMES)),
    ] = None,
    json: Json = False,
) -> None:
    """List the learners, or describe one."""
    from ttt_batch.app.reports.learners import learner_description, learner_text, learners_text
    from ttt_batch.learners import LEARNERS, learner_named

    chosen = list(LEARNERS.values()) if name is None else [learner_named(name)]
    if name is None:
        answer(json, lambda: [learner_description(one) for one in chosen], lambda: learners_text(chosen))
    else:
        answer(json, lambda: learner_description(chosen[0]), lambda: learner_text(chosen[0]))


def boards(
    name: Annotated[
        str | None,
        typer.Argument(metavar="[BOARD]", help="Count this one, e.g. 4x4x3.", autocompletion=offering(*BOARDS)),
    ] = None,
    symmetry: Annotated[
        str,
        typer.Option(
            metavar="on|off|auto", help="Whether images of a position count as one.", autocompletion=offering(*SWITCH)
        ),
    ] = "auto",
    solution: Annotated[
        Path | None, typer.Option(metavar="FILE.npz", help="Write every position's result with best play.")
    ] = None,
    overwrite: Overwrite = False,
    quiet: Quiet = False,
    json: Json = False,
) -> None:
    """List boards with their positions, memory and value, or count and solve one."""
    from ttt_batch.analysis.boards import check_solution, known_boards, measure, write_solution
    from ttt_batch.app.reports.boards import board_information, board_text, boards_text
    from ttt_batch.base.errors import UsageError
    from ttt_batch.game.board import parse_board

    if name is None:
        if solution is not None:
            raise UsageError("--solution goes with a board; name one, e.g. 4x4x4")
        entries = known_boards()
    else:
        board = parse_board(name)
        if solution is not None:
            check_solution(solution, overwrite=overwrite)
        with working(quiet=quiet):
            entries = [measure(board, symmetry)]
            if solution is not None:
                write_solution(board, solution, symmetry, overwrite=overwrite)
    if name is None:
        answer(json, lambda: [board_information(entry) for entry in entries], lambda: boards_text(entries))
    else:
        answer(json, lambda: board_information(entries[0]), lambda: board_text(entries[0]))
