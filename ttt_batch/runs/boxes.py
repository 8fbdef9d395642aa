"""Checks of the uses that a learner with matchboxes supports."""

from collections.abc import Collection

from ttt_batch.base.choices import SEATS, SWITCH_WORDS, choose, choose_seat
from ttt_batch.base.errors import UsageError, flag
from ttt_batch.game.board import Board
from ttt_batch.game.state_space import WORDS

BOXED_BOARD = Board(3, 3, 3)


def check_boxes(name: str, board: Board, symmetry: bool | str, seat: str) -> None:
    """Raise UsageError unless the board is 3x3, symmetry is on, and the seat is the first.

    name: of the learner.  seat: empty if the user chose no seat.
    """
    if board != BOXED_BOARD:
        raise UsageError(
            f"{name} is not applicable to {board.name}: its boxes are the 304 of 3x3; choose {flag('board', '3x3')}, "
            "or another learner"
        )
    if not isinstance(symmetry, bool):
        symmetry = choose("symmetry", symmetry, WORDS, words=SWITCH_WORDS) != "off"
    if not symmetry:
        raise UsageError(
            f"symmetry off is not applicable to {name}: a box stands for all images of its position; leave "
            f"{flag('symmetry')} out"
        )
    if seat and choose_seat(seat, "both") != "first":
        raise cannot_play_second_error(name, f"seat {seat}", f"leave {flag('seat')} out")


def lacks_boxes_error(name: str) -> UsageError:
    """Return the error for printing boxes of a learner without boxes."""
    return UsageError(f"only menace has boxes, not {name}; train {flag('learner', 'menace')}, or choose another format")


def cannot_play_second_error(name: str, what: str, remedy: str) -> UsageError:
    """Return the error for `what`, which needs a learner with boxes in the second seat."""
    return UsageError(f"{what} is not applicable to {name}, which has boxes for the first player alone; {remedy}")


def can_meet(first: Collection[str], second: Collection[str]) -> bool:
    """Return whether a player of the seats `first` can move first against one of the seats `second`."""
    return SEATS[0] in first and SEATS[1] in second


def check_meeting(one: str, seats: Collection[str], other: str, its_seats: Collection[str]) -> None:
    """Raise UsageError if neither of two players, called `one` and `other`, can play second."""
    if not can_meet(seats, its_seats) and not can_meet(its_seats, seats):
        whom = "itself" if other == "self" else other
        raise cannot_play_second_error(one, f"play against {whom}", "choose an opponent that plays second")
