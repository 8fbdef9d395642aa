"""Smallest proofs against an exhaustive search in plain Python: sizes, numbers of players, depths and matchboxes."""

import itertools

import pytest
from oracle.boards import variant_of
from oracle.smallest import Choices

import ttt_batch as ttt
from ttt_batch.evaluation.certificates import fault_of
from ttt_batch.evaluation.integer_program import Solver, solve_program
from ttt_batch.games.board import parse_board

DEFINITIONS = [
    dict(zip(("seat", "goal", "images", "harmless"), words, strict=True))
    for words in itertools.product(
        ("first", "second"), ("cannot-lose", "always-wins"), ("merge", "separate"), (False, True)
    )
    if words[1] == "cannot-lose" or not words[3]
]

TOO_MANY = [
    ("2x4x3-gravity", "second", "cannot-lose", "separate", True),
    ("3x3-misere", "second", "cannot-lose", "separate", False),
    ("3x3-misere", "second", "cannot-lose", "separate", True),
    ("3x3-misere", "second", "cannot-lose", "merge", True),
]
"""Boards and definitions with too many choices for plain Python."""

LIMIT = 600.0
"""Seconds for a program that takes one or two: no result depends on how busy the machine is."""


class Here(Solver):
    """Solver in the process of the test, which need not start another one for each program."""

    def __init__(self):
        pass

    def __exit__(self, *_):
        pass

    def solve(self, program, seconds, follow):
        return solve_program(program, LIMIT)


@pytest.fixture(autouse=True)
def solve_here(monkeypatch):
    monkeypatch.setattr("ttt_batch.evaluation.smallest.Solver", Here)


def choices_of(board, definition, **options):
    """Return the oracle's choices."""
    return Choices(
        variant_of(parse_board(board)),
        1 + (definition["seat"] == "second"),
        wins=definition["goal"] == "always-wins",
        merged=definition["images"] == "merge",
        harmless=definition["harmless"],
        **options,
    )


def reachable(board):
    """Yield the definitions in which some player of a board reaches the goal, and its choices."""
    for definition in DEFINITIONS:
        choices = choices_of(board, definition)
        if choices.reachable and (board, *definition.values()) not in TOO_MANY:
            yield definition, choices


@pytest.mark.slow
@pytest.mark.parametrize(
    ("seat", "harmless", "size", "players"),
    [("first", False, 13, 5), ("first", True, 22, 111), ("second", False, 66, 147_456), ("second", True, 71, 786_432)],
)
def test_no_choice_on_3x3_is_smaller_than_the_known_ones(seat, harmless, size, players):
    definition = {"seat": seat, "goal": "cannot-lose", "images": "merge", "harmless": harmless}
    assert choices_of("3x3", definition).fewest() == (size, players)
    counted = (seat, harmless) in [("first", False), ("second", True)]
    found = ttt.smallest_proof("3x3", **definition, count=counted)
    assert found.minimal and found.positions == found.cost == found.bound == size
    assert found.players == (players if counted else None) and fault_of(found.certificate) is None
    assert harmless or found.certificate.move.size == size


QUICK = ["1x1", "1x3x3", "2x2", "2x3x2-misere", "1x5x2-exact", "3x3x2-gravity"]
LONG = ["2x3x2", "3x2x2", "3x3x2", "3x3-gravity", "3x3-misere", "2x4x3-gravity", "3x3x2-misere-gravity"]
BOARDS = [*QUICK, *(pytest.param(board, marks=pytest.mark.slow) for board in LONG)]


@pytest.mark.sampled(1)
@pytest.mark.parametrize("board", BOARDS)
def test_no_choice_is_smaller_than_the_smallest_proof(board):
    for definition, choices in reachable(board):
        found = ttt.smallest_proof(board, **definition, count=True)
        size, players = choices.fewest()
        assert (found.positions, found.cost, found.bound, found.players) == (size, size, size, players), definition
        assert fault_of(found.certificate) is None
        assert definition["harmless"] or found.certificate.move.size == size


@pytest.mark.sampled(1)
@pytest.mark.parametrize("board", [*QUICK, "3x3-gravity"])
def test_a_goal_is_refused_where_no_choice_reaches_it(board):
    for definition in DEFINITIONS:
        if choices_of(board, definition).reachable:
            continue
        why = "cannot avoid every loss"
        if definition["goal"] == "always-wins":
            draw = choices_of(board, definition | {"goal": "cannot-lose"}).reachable
            why = "cannot always win: the game is a draw" if draw else "cannot always win: the game is lost"
        with pytest.raises(ttt.UsageError, match=why):
            ttt.smallest_proof(board, **definition)


OTHERS = [
    "1x3x3",
    "2x3x2-misere",
    "3x3x2-gravity",
    pytest.param("3x3-gravity", marks=pytest.mark.slow),
    pytest.param("2x4x3-gravity", marks=pytest.mark.slow),
]


@pytest.mark.sampled(1)
@pytest.mark.parametrize("board", OTHERS)
def test_no_player_is_shallower_or_smaller_among_the_shallow_ones(board):
    for definition, _ in reachable(board):
        shallow = ((depth, choices_of(board, definition, most=depth)) for depth in itertools.count())
        depth, choices = next((depth, choices) for depth, choices in shallow if choices.reachable)
        found = ttt.smallest_proof(board, **definition, weigh="depth")
        size, _ = choices.fewest()
        assert found.minimal and (found.depth, found.positions, found.cost) == (depth, size, size), definition


@pytest.mark.sampled(1)
@pytest.mark.parametrize("board", OTHERS)
def test_no_player_needs_fewer_matchboxes(board):
    oracle = variant_of(parse_board(board))
    for definition, choices in reachable(board):
        found = ttt.smallest_proof(board, **definition, weigh="beads")
        least, _ = choices.fewest(lambda position: int(len(oracle.legal(position)) > 1))
        assert found.minimal and found.cost == least, definition
