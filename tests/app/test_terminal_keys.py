"""Typed cells and commands, on boards of every shape."""

import os
import termios
from pathlib import Path

import pytest

from ttt_batch.app.terminal.keys import (
    Keyboard,
    KeyCommand,
    KeyContext,
    commands_for,
    draw_again_help,
    draw_help,
    is_complete,
    read_again,
    read_entry,
)
from ttt_batch.core.errors import BoardError, UsageError
from ttt_batch.games.board import Board, parse_board

AFTER_LEARNING = KeyContext.AFTER | KeyContext.LEARNT
BOARD = Board()
FOUR = Board(4, 4, 4)


def test_every_cell_in_every_notation():
    for cell in range(9):
        forms = [
            str(cell + 1),
            f"{cell // 3 + 1} {cell % 3 + 1}",
            f"{cell // 3 + 1},{cell % 3 + 1}",
            f"{'abc'[cell % 3]}{cell // 3 + 1}",
            f"{'abc'[cell % 3]} {cell // 3 + 1}",
        ]
        for form in [
            *forms,
            *map(str.upper, forms),
            f"  {forms[1]}\t\n",
            f"{cell // 3 + 1}  ,  {cell % 3 + 1}",
        ]:
            assert read_entry(form, BOARD) == cell, form


SHAPES = [(4, 3, 3), (5, 5, 5), (8, 8, 5), (2, 12, 3), (1, 64, 5), (64, 1, 3), (2, 4, 3), (9, 1, 3), (1, 1, 1)]
BOARDS = [Board(*shape) for shape in SHAPES]


@pytest.mark.parametrize("board", BOARDS, ids=lambda b: b.name)
def test_every_board_takes_column_letter_and_row_number(board):
    alphabet = "abcdefghijklmnopqrstuvwxyz"
    letters = [*alphabet, *(f"a{letter}" for letter in alphabet), *(f"b{letter}" for letter in alphabet)]
    for cell in range(board.cells):
        row, col = divmod(cell, board.cols)
        assert read_entry(f"{letters[col]}{row + 1}", board) == cell
        assert read_entry(f"{letters[col].upper()}{row + 1} \n", board) == cell
        assert read_entry(f"{row + 1} {col + 1}", board) == cell
        assert read_entry(board.cell_name(cell), board) == cell
    for outside in (f"{letters[board.cols]}1", f"a{board.rows + 1}", "a0", "a01", "zz9"):
        with pytest.raises(UsageError):
            read_entry(outside, board)


def test_every_key_has_one_meaning_wherever_it_is_of_use():
    keys = [key for command in KeyCommand for key in command.keys]
    assert len(keys) == len(set(keys))
    for command in KeyCommand:
        assert command.places
        for key in command.keys:
            if KeyContext.GAME in command.places:
                assert read_entry(key, BOARD) is read_entry(f" {key.upper()}\n", FOUR) is command
            if command.places & AFTER_LEARNING:
                assert read_again(key, AFTER_LEARNING) is read_again(f" {key.upper()}\n", AFTER_LEARNING) is command
    assert commands_for(KeyContext.SHOW) == [KeyCommand.LEAVE]


@pytest.mark.parametrize(
    ("board", "text", "message"),
    [
        (BOARD, "", "type a cell"),
        (BOARD, " \t\n", "type a cell"),
        (BOARD, "10", "no cell 10; there are 1 to 9"),
        (BOARD, "-1", "'-1' is no cell"),
        (BOARD, "0 1", "row 0, column 1 is outside 3x3"),
        (BOARD, "1 2 3", "'1 2 3' is no cell"),
        (BOARD, "b4", "no cell b4; there are a1 to c3"),
        (BOARD, "d1", "no cell d1; there are a1 to c3"),
        (BOARD, "x", "'x' is no cell"),
        (BOARD, "1.0", "'1.0' is no cell"),
        (BOARD, "٣", "is no cell"),
        (BOARD, "²", "is no cell"),
        (BOARD, "\x1b[A", r"'\\x1b\[a' is no cell"),
        (BOARD, "x" * 100_000, r"'xxxxxxx\.\.\. is no cell"),
        (Board(2, 3, 2), "7", "no cell 7; there are 1 to 6"),
        (FOUR, "5", "'5' is no cell"),
        (FOUR, "e1", "no cell e1; there are a1 to d4"),
        (FOUR, "5 5", "row 5, column 5 is outside 4x4"),
        (FOUR, "b 9", "no cell b9; there are a1 to d4"),
        (Board(1, 36, 5), "ak1", "no cell ak1; there are a1 to aj1"),
        (Board(1, 64, 5), "bm1", "no cell bm1; there are a1 to bl1"),
        (Board(36, 1, 3), "a37", "no cell a37; there are a1 to a36"),
    ],
)
def test_anything_else_is_refused_in_one_short_line(board, text, message):
    with pytest.raises(UsageError, match=message) as caught:
        read_entry(text, board)
    assert len(str(caught.value)) <= 40
    assert str(caught.value).isascii()
    assert str(caught.value).isprintable()


def test_between_games_enter_is_yes_and_only_a_lesson_can_be_undone():
    for place in (KeyContext.AFTER, AFTER_LEARNING):
        for yes in ("", "\n", " Y", "yes", "n"):
            assert read_again(yes, place) is KeyCommand.NEW
        for text in ("5", "q5"):
            with pytest.raises(UsageError, match=r": no key here; \? shows them") as caught:
                read_again(text, place)
            assert len(str(caught.value)) <= 40
    with pytest.raises(UsageError, match="no key here"):
        read_again("u", KeyContext.AFTER)


# --- single keys


def typed(text, board):
    """What is left to read where every key of `text` is pressed: the first that is complete, or all of it."""
    for n in range(1, len(text) + 1):
        if is_complete(text[:n], board):
            return text[:n]
    return None


@pytest.mark.parametrize("board", BOARDS, ids=lambda b: b.name)
def test_single_keys_name_every_cell_by_letter_and_number_or_wait_for_enter(board):
    for cell in range(board.cells):
        name = board.cell_name(cell)
        pressed = typed(name, board)
        assert pressed in (name, None)
        assert read_entry(name, board) == cell
        if pressed is None:  # one more digit would name another cell
            assert board.cells > 9 and any(
                board.cell_name(other).startswith(name) and other != cell for other in range(board.cells)
            )


@pytest.mark.parametrize("board", BOARDS, ids=lambda b: b.name)
def test_commands_are_single_keys_unless_a_column_has_their_letter(board):
    columns = {board.cell_name(cell).rstrip("0123456789") for cell in range(board.cells)}
    for command in commands_for(KeyContext.GAME):
        key = command.keys[0]
        assert is_complete(key, board) == (key not in columns)


def test_every_key_of_a_small_board_is_an_entry():
    for key in "123456789hurnq?0":
        assert is_complete(key, BOARD)
        read_entry(key, BOARD)
    assert typed("b4", FOUR) == "b4" and typed("b", FOUR) is None
    assert typed("b2", BOARD) == "b2" and typed("b", BOARD) is None
    assert typed("3 2", FOUR) is None and not is_complete("12", FOUR)
    assert is_complete("b9", FOUR) and is_complete("g", FOUR)  # there is nothing that these could become


@pytest.mark.parametrize("board", [BOARD, FOUR, Board(5, 5, 5), None], ids=str)
def test_words_that_leave_can_be_typed_key_by_key(board):
    assert typed("quit", board) == "q" and typed("exit", board) == "exit" and typed("exam", board) == "exa"


@pytest.mark.parametrize("name", ["6x7x4-gravity", "3x3-gravity"])
def test_where_marks_fall_numbers_and_letters_are_columns(name):
    board = parse_board(name)
    for column, letter in enumerate("abc"):
        for text in (str(column + 1), letter, f"{letter}{board.rows}"):
            assert read_entry(text, board) % board.cols == column
        assert is_complete(str(column + 1), board) and not is_complete(letter, board)
    with pytest.raises(BoardError, match=r"no column 8; there are 1 to 7|no cell 10; there are 1 to 9"):
        read_entry("8" if board.cols == 7 else "10", board)
    assert draw_help(board, single_keys=True)[:3] == [
        "arrows  choose a column; Enter moves",
        f"column  1 to {board.cols}",
        f"        or a to {'abcdefg'[board.cols - 1]}, Enter: where a mark falls",
    ]


# --- help


def test_help_of_lines_stands_in_two_columns():
    assert draw_help(BOARD) == [
        "a cell     1 to 9, as drawn on the board",
        "           or a1 to c3: column and row",
        "           or row and column: 3 3",
        "h, hints   what each cell is worth",
        "u, undo    undo your last move",
        "r, replay  the game so far, move by move",
        "n, new     a new game",
        "?, help    these keys",
        "q, quit    leave (exit and 0 do, too)",
    ]


def test_help_for_single_keys_names_no_words_and_asks_for_enter_where_it_is_needed():
    assert draw_help(BOARD, single_keys=True) == [
        "arrows  choose a cell; Enter moves",
        "a cell  1 to 9, as drawn on the board",
        "        or a1 to c3: column and row",
        "h       what each cell is worth",
        "u       undo your last move",
        "r       the game so far, move by move",
        "n       a new game",
        "?       these keys",
        "q       leave (0 does, too)",
    ]
    assert draw_help(Board(4, 8, 4), single_keys=True)[1:5] == [
        "a cell  a1 to h4: column and row",
        "        or row and column, Enter: 4 8",
        "h Enter what each cell is worth",
        "u       undo your last move",
    ]


def test_help_after_a_game_names_the_sides():
    text = "\n".join(draw_again_help(("O", "X"), AFTER_LEARNING))
    assert "Enter, n  a new game, as O\ns         a new game, as X\n" in text
    assert "forgets" in text and "forgets" not in "\n".join(draw_again_help(("O", "X"), KeyContext.AFTER))
    assert max(map(len, text.split("\n"))) <= 40


def test_a_terminal_that_is_gone_has_no_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    """The system's refusal is a termios.error there, which is no OSError."""

    def refuse(*_: object) -> None:
        raise termios.error(5, "Input/output error")

    monkeypatch.setattr("ttt_batch.app.terminal.keys.is_live", lambda _: True)
    monkeypatch.setattr(os, "tcgetpgrp", lambda _: os.getpgrp())
    monkeypatch.setattr(termios, "tcgetattr", refuse)
    with Path(os.devnull).open() as stdin, Keyboard(stdin) as keyboard:
        assert "Ctrl-C" in keyboard.how_to_leave
