"""What there is to choose from: `learners` and `boards`."""

from typing import Annotated

from ttt_batch.app.commands.declare import BOARDS, SWITCH, File, Text, argument, option
from ttt_batch.app.commands.options import Json, Overwrite, Quiet
from ttt_batch.app.commands.shared import answer, working
from ttt_batch.base.choices import LEARNER_NAMES
from ttt_batch.base.errors import UsageError


def learners(
    name: Annotated[Text, argument("[NAME]", "One learner, in full.", offers=LEARNER_NAMES)] = None, json: Json = False
) -> None:
    """List the learners, or describe one."""
    from ttt_batch.app.reports.catalogues import learner_description, learner_text, learners_text
    from ttt_batch.learners import LEARNERS, learner_named

    if name is None:
        known = list(LEARNERS.values())
        answer(json, lambda: [learner_description(learner) for learner in known], lambda: learners_text(known))
    else:
        learner = learner_named(name)
        answer(json, lambda: learner_description(learner), lambda: learner_text(learner))


def boards(
    name: Annotated[Text, argument("[BOARD]", "Count this one, e.g. 4x4x3.", offers=BOARDS)] = None,
    symmetry: Annotated[
        str, option("on|off|auto", "Whether images of a position count as one.", offers=SWITCH)
    ] = "auto",
    solution: Annotated[File, option("FILE.npz", "Write every position's result with best play.")] = None,
    overwrite: Overwrite = False,
    quiet: Quiet = False,
    json: Json = False,
) -> None:
    """List boards with their positions, memory and value, or count and solve one."""
    from ttt_batch.analysis.boards import check_solution, known_boards, measure, write_solution
    from ttt_batch.app.reports.catalogues import board_information, board_text, boards_text
    from ttt_batch.game.board import parse_board

    if name is None:
        if solution is not None:
            raise UsageError("--solution goes with a board; name one, e.g. 4x4x4")
        entries = known_boards()
        answer(json, lambda: [board_information(entry) for entry in entries], lambda: boards_text(entries))
        return
    board = parse_board(name)
    if solution is not None:
        check_solution(solution, overwrite=overwrite)
    with working(quiet=quiet):
        entry = measure(board, symmetry)
        if solution is not None:
            write_solution(board, solution, symmetry, overwrite=overwrite)
    answer(json, lambda: board_information(entry), lambda: board_text(entry))
