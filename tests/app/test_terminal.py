"""A person plays an agent: whole games through text streams."""

import io
import random
from collections.abc import Sequence
from typing import Any

import pytest
from helpers.pages import trained
from helpers.players import FakeAgent, KnowingAgent, Terminal

import ttt_batch as ttt
from ttt_batch.agents.adapter import PlayingAgent
from ttt_batch.app.terminal import loop
from ttt_batch.app.terminal.faces import Result, Score
from ttt_batch.app.terminal.keys import KeyCommand
from ttt_batch.core.console import wants_colour
from ttt_batch.core.errors import BoardError, UsageError
from ttt_batch.games.board import DRAW, EMPTY, FIRST_WINS, SECOND_WINS, Board, Game

BOARD = Board()
FOUR = Board(4, 4, 4)


class Interrupted(io.StringIO):
    """Input at whose end Ctrl-C is pressed."""

    def readline(self, size: int = -1) -> str:
        line = super().readline(size)
        if not line:
            raise KeyboardInterrupt
        return line


def session(
    typed: str,
    agent: PlayingAgent | None = None,
    person: int | None = 0,
    wide: bool = False,
    seed: int = 1,
    **keepers: Any,
) -> tuple[Score, str]:
    """Play with the answers in `typed`, separated by `;`, then the end of input.  wide: more than a telephone shows."""
    answers = "".join(f"{answer}\n" for answer in typed.split(";")) if typed else ""
    stdout = io.StringIO()
    stdin = io.StringIO(answers)
    score = loop.play_in_terminal(agent or FakeAgent(), person=person, stdin=stdin, stdout=stdout, seed=seed, **keepers)
    text = stdout.getvalue()
    assert all(character == "\n" or character.isprintable() for character in text)
    assert text.isascii()
    assert max(map(len, text.splitlines())) <= (80 if wide else 40)
    return score, text


# --- the game


def test_a_game_follows_from_its_moves():
    game = Game(BOARD)
    for cell in (4, 0, 2, 1, 6):
        game = game.after(cell)
    assert game.position == (2, 2, 1, 0, 1, 0, 1, 0, 0)
    assert game.outcome == FIRST_WINS
    assert not game.forfeited
    with pytest.raises(BoardError, match="over"):
        game.after(8)


@pytest.mark.parametrize(("moves", "winner"), [((4, 4), FIRST_WINS), ((4, 0, 0), SECOND_WINS)])
def test_an_occupied_cell_forfeits(moves, winner):
    game = Game(BOARD, moves)
    assert game.forfeited
    assert game.outcome == winner
    assert game.position == Game(BOARD, moves[:-1]).position


@pytest.mark.parametrize("cell", [-1, 10])
def test_a_cell_outside_is_no_move(cell):
    with pytest.raises(BoardError, match="outside"):
        Game(BOARD).after(cell)


def test_who_resigns_has_lost():
    game = Game(BOARD, (4, 0)).after(BOARD.resignation)
    assert game.resigned and game.forfeited and game.outcome == SECOND_WINS
    assert game.position == Game(BOARD, (4, 0)).position


def test_taking_back():
    assert Game(BOARD, (4, 0, 2, 1)).before_move_of(1) == Game(BOARD, (4, 0))
    assert Game(BOARD, (4, 0, 2)).before_move_of(2) == Game(BOARD, (4,))
    assert Game(BOARD, (4,)).before_move_of(2) is None
    assert Game(BOARD).before_move_of(1) is None


# --- whole sessions


def test_a_game_as_first_from_start_to_goodbye():
    score, text = session("5;3;7;q")
    assert score == Score(wins=1)
    assert text == (
        "Board 3x3: 3 in a line win. ? = keys.\n"
        "You are X and move first.\n"
        "\n 1 | 2 | 3\n---+---+---\n 4 | 5 | 6\n---+---+---\n 7 | 8 | 9\n\n"
        "Your move (X): 5\n"
        "The agent plays 1.\n"
        "\n[O]| 2 | 3\n---+---+---\n 4 | X | 6\n---+---+---\n 7 | 8 | 9\n\n"
        "Your move (X): 3\n"
        "The agent plays 2.\n"
        "\n O |[O]| X\n---+---+---\n 4 | X | 6\n---+---+---\n 7 | 8 | 9\n\n"
        "Your move (X): 7\n"
        "\n O | O |[X]\n---+---+---\n 4 |[X]| 6\n---+---+---\n[X]| 8 | 9\n\n"
        "You win.\n"
        "Score: You 1, agent 0, draws 0.\n"
        "Oversights found:\n"
        "4. O 2 (agent): left a win; better: 7\n"
        "Another game? [Enter/q] q\n"
        "Goodbye. You 1, agent 0, draws 0.\n"
    )


def test_a_draw():
    # 1 X, 5 O, 9 X, 2 O, 8 X, 7 O, 3 X, 6 O, 4 X
    replies = {1: 4, 3: 1, 5: 6, 7: 5}
    agent = FakeAgent(choose=lambda position: [replies[9 - position.count(EMPTY)]])
    score, text = session("1;9;8;3;4;q", agent)
    assert Game(BOARD, (0, 4, 8, 1, 7, 6, 2, 5, 3)).outcome == DRAW
    assert score == Score(draws=1)
    assert "\nDraw.\nScore: You 0, agent 0, draws 1.\n" in text


def test_a_larger_board_in_a_session():
    score, text = session("a4;a1;b4;c4;4 4;q", FakeAgent(FOUR))
    assert score == Score(wins=1)
    assert "cell a1 is taken by O\n" in text
    assert "The agent plays a1." in text
    assert "\n4 [X] [X] [X] [X]\n" in text


@pytest.mark.parametrize("board", [Board(1, 64, 5), Board(64, 1, 3)], ids=lambda b: b.name)
def test_the_longest_boards_in_a_session(board):
    names = [board.cell_name(63 - i) for i in range(board.k)]
    score, text = session(";".join(["h", "?", *names, "q"]), FakeAgent(board), wide=True)
    assert score == Score(wins=1)
    assert "You win." in text


def test_who_makes_a_line_may_lose():
    board = Board(3, 3, 3, misere=True)
    score, text = session("5;3;7;q", FakeAgent(board), wide=True)
    assert score == Score(losses=1)
    assert "3 in a line lose." in text
    assert "exactly 3 in a line win." in session("0", FakeAgent(Board(5, 5, 3, exact=True)), wide=True)[1]


@pytest.mark.parametrize("board", ["3x3", "2x4x3"])
@pytest.mark.parametrize("person", [0, 1])
def test_a_whole_game_against_a_run(board, person):
    """By trying every cell in order: those taken are refused, and one game comes to its end."""
    run = trained(games=20_000, board=board)
    cells = [run.board.cell_name(cell) for cell in range(run.board.cells)]
    score, text = session(";".join(["h", *cells]), run, person)
    assert score.wins + score.losses + score.draws == 1
    assert "What the agent gives each cell" in text


# --- lessons and records


class FakePupil:
    """Notes its lessons; fails on demand."""

    stored = True

    def __init__(self, changed: Sequence[int] = (), fails: bool = False) -> None:
        self.lessons: list[tuple[int, ...]] = []
        self.changed, self.fails = list(changed), fails

    def update(self, cells: Sequence[int]) -> int:
        if self.fails:
            raise ttt.RunFileError("the disk is full")
        self.lessons.append(tuple(cells))
        return self.changed.pop(0)

    def undo(self) -> bool:
        if self.fails:
            raise ttt.RunFileError("the disk is full")
        return bool(self.lessons) and bool(self.lessons.pop())


WON = (4, 0, 2, 1, 6)


def test_a_pupil_is_taught_every_finished_game():
    pupil, recorded = FakePupil([5, 1, 0]), []
    _, text = session("5;n;5;3;7;y;5;u;5;3;7;;5;3;7;;5;0", pupil=pupil, record=recorded.append)
    assert pupil.lessons == recorded == [WON, WON, WON]
    assert "The agent learns from finished games.\n" in text
    learnt = [line for line in text.splitlines() if line.startswith("Learnt")]
    assert learnt == [
        "Learnt: 5 positions changed (u: undo).",
        "Learnt: 1 position changed (u: undo).",
        "Learnt: nothing changed (u: undo).",
    ]


def test_a_game_that_an_agent_forfeits_is_taught_with_that_move():
    pupil = FakePupil([1])
    session("1;q", FakeAgent(choose=lambda position: [4]), 1, pupil=pupil)
    assert pupil.lessons == [(4, 0, 4)]


def test_undoing_lessons():
    pupil = FakePupil([5, 5])
    _, text = session("5;3;7;u;undo;y;5;3;7;q", pupil=pupil)
    assert text.count("The last update is undone.\n") == 1
    assert text.count("There is no update to undo.\n") == 1
    assert pupil.lessons == [WON]
    assert "'u': no key here; ? shows them" in session("5;3;7;u")[1]


@pytest.mark.parametrize("stream", [io.StringIO, Interrupted])
def test_what_ends_a_game_early_loses_that_game_only(stream):
    pupil, recorded = FakePupil([5]), []
    loop.play_in_terminal(
        FakeAgent(),
        person=0,
        stdin=stream("5\n3\n7\n\n5\n"),
        stdout=io.StringIO(),
        seed=1,
        pupil=pupil,
        record=recorded.append,
    )
    assert pupil.lessons == recorded == [WON]


def test_a_lesson_or_record_that_fails_costs_two_lines_and_the_session_goes_on():
    def record(cells: Sequence[int]) -> None:
        raise ttt.TttBatchError("cannot append games")

    score, text = session("5;3;7;u;;5;3;7;q", pupil=FakePupil(fails=True), record=record)
    assert score == Score(wins=2)
    assert text.count("cannot append games\n") == 2
    assert text.count("the disk is full\nThis game was not learnt.\n") == 2
    assert text.count("the disk is full\nThe last update stays.\n") == 1


def test_bad_answers_cost_a_line_and_nothing_else():
    score, text = session("5;1;5;10;4 1;foo;;\x1b[A;\xff;3;7;maybe;5;q")
    assert score == Score(wins=1)
    for line in (
        "cell 1 is taken by O",
        "cell 5 is taken by X",
        "no cell 10; there are 1 to 9",
        "row 4, column 1 is outside 3x3",
        "'foo' is no cell; ? shows the keys",
        "type a cell, or ? for the keys",
        "'maybe': no key here; ? shows them",
        "'5': no key here; ? shows them",
    ):
        assert text.count(f"{line}\n") == 1
    # As many boards as without the slips.
    assert text.count("---+---+---") == session("5;3;7;q")[1].count("---+---+---")


def test_bytes_that_are_no_text_do_not_end_the_game_and_the_last_line_needs_no_newline():
    stdin = io.TextIOWrapper(io.BytesIO(b"\xff\xfe\n5\n3\n7"), encoding="utf-8")
    stdout = io.StringIO()
    assert loop.play_in_terminal(FakeAgent(), person=0, stdin=stdin, stdout=stdout, seed=1) == Score(wins=1)
    assert stdout.getvalue().count("is no cell") == 1


def test_undo_takes_back_the_persons_move_and_the_reply():
    score, text = session("u;5;4;u;u;u;5;3;7;q")
    assert score == Score(wins=1)
    assert text.count("You have no move to take back.") == 2
    assert text.count("Your last move is taken back.") == 2
    assert text.split("Your last move is taken back.\n")[1].startswith("\n[O]| 2 | 3\n---+---+---\n 4 | X | 6\n")
    assert text.split("Your last move is taken back.\n")[2].startswith("\n 1 | 2 | 3\n---+---+---\n 4 | 5 | 6\n")


def test_undo_as_second_leaves_the_agents_opening():
    _, text = session("u;5;u;u", person=1)
    assert text.count("You have no move to take back.") == 2
    assert text.split("Your last move is taken back.\n")[1].startswith("\n[X]| 2 | 3\n---+---+---\n 4 | 5 | 6\n")


def test_hints_and_help_in_a_session():
    score, text = session("h;?;5;h;3;7;q")
    assert score == Score(wins=1)
    assert "for X:\n\n -0.40 | -0.30 | -0.20\n" in text
    assert "Highest: 9\n? = never seen\n" in text
    assert " O     | -0.30 | -0.20\n" in text
    assert "undo your last move" in text


def test_a_key_means_the_same_in_a_game_and_after_it():
    """`n` was a new game in a game and left after it."""
    score, text = session("n;5;3;7;n;5;3;7;q;5")
    assert score == Score(wins=2)
    assert text.count("You are X and move first.") == 3 and text.count("does not count") == 1
    assert text.endswith("Another game? [Enter/q] q\nGoodbye. You 2, agent 0, draws 0.\n")


@pytest.mark.parametrize("person", [0, 1])
@pytest.mark.parametrize("word", KeyCommand.LEAVE.keys)
def test_leaving(person, word):
    score, text = session(f"{word};5;3;7", person=person)
    assert score == Score()
    assert text.endswith(f": {word}\nGoodbye. You 0, agent 0, draws 0.\n")
    score, text = session(f"5;3;7;{word}")
    assert text.endswith(f"[Enter/q] {word}\nGoodbye. You 1, agent 0, draws 0.\n")


@pytest.mark.parametrize("stream", [io.StringIO, Interrupted])
@pytest.mark.parametrize("read", range(6))
def test_the_end_of_input_and_an_interrupt_at_every_prompt(stream, read):
    answers = ["5\n", "h\n", "3\n", "7\n", "\n", "1\n"][:read]
    stdout = io.StringIO()
    score = loop.play_in_terminal(FakeAgent(), person=0, stdin=stream("".join(answers)), stdout=stdout, seed=1)
    assert score == Score(wins=int(read >= 4))
    prompt = "Another game? [Enter/q] " if read == 4 else "Your move (X): "
    assert stdout.getvalue().endswith(f"{prompt}\nGoodbye. {score}\n")


@pytest.mark.parametrize("person", [0, 1])
def test_an_agent_that_chooses_an_occupied_cell_loses(person):
    # As first the agent opens on 5 and then insists on it.
    score, text = session("5;q" if person == 0 else "1;q", FakeAgent(choose=lambda position: [4]), person)
    assert score == Score(wins=1)
    assert "The agent plays 5.\n" in text
    assert "The agent chose a taken cell and loses.\nYou win.\nScore: You 1, agent 0, draws 0.\n" in text


def test_the_agent_draws_evenly_among_its_candidates_and_the_seed_fixes_it():
    def opening(seed: int) -> int:
        agent = FakeAgent(choose=lambda position: [0, 4, 8])
        return int(session("0", agent, 1, seed=seed)[1].split("The agent plays ")[1][0])

    openings = [opening(seed) for seed in range(300)]
    assert set(openings) == {1, 5, 9}
    # 300 fair draws: 100 each, standard deviation 8.2; the seeds are fixed, so this never flickers.
    assert all(70 < openings.count(cell) < 130 for cell in (1, 5, 9))
    assert openings == [opening(seed) for seed in range(300)]


@pytest.mark.parametrize("person", [2, -1])
def test_another_seat_is_refused(person):
    with pytest.raises(UsageError, match="no seat"):
        loop.play_in_terminal(FakeAgent(), person=person, stdin=io.StringIO(), stdout=io.StringIO(), seed=1)


# --- sides


def sides(text: str) -> list[str]:
    return [line[8] for line in text.splitlines() if line.startswith("You are ")]


def test_sides_alternate_after_every_finished_game():
    # As O the person has to wait: the fake agent takes 1, 2 and 3.
    score, text = session("5;3;7;;5;4;;n;5;3;7;;0", person=None)
    assert sides(text) == ["X", "O", "X", "X", "O"]
    assert score == Score(wins=2, losses=1)


def test_switching_sides_between_games():
    _, text = session("5;3;7;s;5;4;;5;4;s;0")
    assert sides(text) == ["X", "O", "O", "X"]
    _, text = session("5;3;7;s;5;3;7;;5;4;0", person=None)  # the same side once more, then on in turns
    assert sides(text) == ["X", "X", "O"]


def test_the_keys_between_games_say_which_side_is_next():
    _, text = session("5;3;7;?;q")
    assert "\nEnter, n  a new game, as X\ns         a new game, as O\n" in text
    _, text = session("5;3;7;?;q", person=None)
    assert "\nEnter, n  a new game, as O\ns         a new game, as X\n" in text


# --- truth, review, replay


def test_hints_show_the_truth_where_it_is_known():
    _, text = session("5;h;0", KnowingAgent())
    assert " O     | -0.30 | -0.20\n       | D     | D\n" in text
    legend = "W3 win in 3 plies, D draw, L2 loss in 2\n(a ply is one move of either player)\n"
    assert f"Below each value the truth:\n{legend}" in text
    assert "unknown: it has too many positions.\n" in session("h;0")[1]


def test_a_finished_game_is_reviewed():
    _, text = session("5;3;7;q", KnowingAgent())
    assert text.split("Score: You 1, agent 0, draws 0.\n")[1].startswith(
        "Mistakes found:\n4. O 2 (agent): draw -> loss in 2\n   better: 7 (draw)\nAnother game?"
    )
    replies = {1: 4, 3: 1, 5: 6, 7: 5}
    agent = KnowingAgent(choose=lambda position: [replies[9 - position.count(EMPTY)]])
    assert "draws 1.\nNo mistakes found.\nAnother" in session("1;9;8;3;4;q", agent)[1]
    _, text = session("6;5;q", KnowingAgent(choose=lambda position: [position.index(EMPTY)]), person=1)
    assert "2. O 6 (you): draw -> loss in " in text
    for unknown in ("given", "gave", "Review"):
        assert unknown not in session("5;3;7;q")[1]


def test_the_game_so_far_is_replayed():
    _, text = session("5;r;3;7;r;q")
    first = "start    1. X 5   2. O 1\n . . .    . . .   [O]. .\n . . .    .[X].    . X .\n . . .    . . .    . . .\n"
    assert f"r\n\n{first}\nYour move" in text
    assert "r\n\nstart    1. X 5   2. O 1   3. X 3\n" in text and "\n4. O 2   5. X 7\n" in text
    assert text.endswith("[Enter/q] q\nGoodbye. You 1, agent 0, draws 0.\n")


# --- strength


def test_a_weaker_agent_leaves_its_rule_and_the_seed_fixes_it():
    def openings(**strength: float) -> list[str]:
        agent = FakeAgent(choose=lambda position: [0])
        texts = [session("0", agent, 1, wide=True, seed=seed, **strength)[1] for seed in range(30)]
        return [text.split("The agent plays ")[1][0] for text in texts]

    assert set(openings()) == set(openings(level=1.0, epsilon=0.0)) == {"1"}
    assert len(set(openings(level=0.0))) > 3 and openings(level=0.0) == openings(level=0.0)
    assert len(set(openings(epsilon=1.0))) > 3
    assert openings(level=0.9).count("1") > openings(level=0.0).count("1")


def test_a_weaker_agent_says_so():
    assert "\nAgent: level 0.5, epsilon 0.1.\nYou are X" in session("0", level=0.5, epsilon=0.1)[1]
    assert "level" not in session("0", level=1.0, epsilon=0.0)[1]


# --- terminals


def test_on_a_terminal_there_is_colour_and_no_echo(monkeypatch):
    monkeypatch.setenv("TERM", "xterm")
    stdout = Terminal()
    loop.play_in_terminal(FakeAgent(), person=0, stdin=Terminal("5\n0\n"), stdout=stdout, seed=1, plain=True)
    assert "\x1b[1;38;5;208;7m[O]\x1b[0m" in stdout.getvalue()
    assert "Your move (X): The agent plays 1.\n" in stdout.getvalue()


def test_colour_only_where_it_is_wanted():
    for variables, coloured in (({}, True), ({"NO_COLOR": ""}, True), ({"NO_COLOR": "1"}, False)):
        assert wants_colour(Terminal(), {"TERM": "xterm"} | variables) == coloured
    for name in ("dumb", "unknown", ""):
        assert not wants_colour(Terminal(), {"TERM": name})
    assert not wants_colour(io.StringIO(), {"TERM": "xterm"})


def test_random_typing_never_breaks_a_session():
    rng = random.Random(5)
    words = [*"123456789weasdzxchun?", "1 1", "3 3", "4 4", "b2", "", "y", "help", "\t", "\x07", "é"]
    for trial in range(60):
        agent = FakeAgent(choose=lambda position: [cell for cell in range(9) if position[cell] == EMPTY])
        score, text = session(";".join(rng.choices(words, k=60)), agent, trial % 2)
        assert text.endswith(f"Goodbye. {score}\n")
        counted = [text.count(f"\n{result.value}\n") for result in (Result.WIN, Result.LOSS, Result.DRAW)]
        assert counted == [score.wins, score.losses, score.draws]
