"""Files of games as people write them: each notation and layout comes back as the same moves, and doubts are asked."""

import json
import random
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import pytest
from helpers.players import random_game
from helpers.support import command
from hypothesis import given, settings
from hypothesis import strategies as st

import ttt_batch as ttt
from ttt_batch.core.errors import GamesError
from ttt_batch.games.board import LETTERS, Board, column_name, parse_board
from ttt_batch.games.game_files import find_games
from ttt_batch.games.notation import moves_text
from ttt_batch.games.transcript_reader import GameLines, GameReader

GOOD = "0 3 1 4 2"
SQUARES = ["3x3", "4x4x3", "3x3-misere", "5x5x4"]
BOARDS = [*SQUARES, "3x4x3", "5x4x4"]
FALLING = ["6x7x4-gravity", "4x4x3-gravity", "5x4x4-gravity"]


def random_games(board: Board, rng: random.Random, number: int = 30) -> list[list[int]]:
    return [random_game(board, rng) for _ in range(number)]


def result(board: Board, cells: list[int], words: tuple[str, str, str]) -> str:
    """One of the words for a win of X, a win of O and a draw."""
    position = (0,) * board.cells
    for cell in cells:
        position = board.after(position, cell)
    return words[board.outcome(position) - 1]


def read(text: str, name: str, **options: object) -> tuple[list[list[int]], str]:
    """The cells of all games in a text, and what is said of it."""
    board = parse_board(name)
    found = find_games(
        GameLines(text.split("\n")),
        board,
        name="g.txt",
        occupied=False,
        resigns=False,
        **options,  # type: ignore[arg-type]
    )
    games = []
    for some in GameReader(board, occupied=False, reading=found.reading, name="g.txt").read(found.pieces):
        cells, start = some.move.tolist(), some.start.tolist()
        games += [cells[a:b] for a, b in pairwise(start)]
    return games, found.said


def named(board: Board, cell: int, *, up: bool = False) -> str:
    row, col = divmod(cell, board.cols)
    return f"{column_name(col)}{board.rows - row if up else row + 1}"


def pairs(form: str, first: int = 0, *, up: bool = False) -> Callable[[Board, list[int]], str]:
    """Writes each cell by its row and column."""

    def write(board: Board, cells: list[int]) -> str:
        each = ((board.rows - 1 - row if up else row, col) for row, col in (divmod(cell, board.cols) for cell in cells))
        return " ".join(form.format(r=row + first, c=col + first) for row, col in each)

    return write


def joined(sign: str, first: int = 0) -> Callable[[Board, list[int]], str]:
    return lambda _, cells: sign.join(str(cell + first) for cell in cells)


def numbered(board: Board, cells: list[int]) -> str:
    return " ".join(f"{ply}. {named(board, cell)}" for ply, cell in enumerate(cells, 1))


def by_turns(board: Board, cells: list[int]) -> str:
    """Move numbers as in chess, and the result."""
    words = [named(board, cell) for cell in cells]
    turns = [f"{ply // 2 + 1}.{' '.join(words[ply : ply + 2])}" for ply in range(0, len(words), 2)]
    return f"{' '.join(turns)} {result(board, cells, ('1-0', '0-1', '1/2-1/2'))}"


NOTATIONS: dict[str, Callable[[Board, list[int]], str]] = {
    "as the program prints": moves_text,
    "X: b2, O: a1": lambda board, cells: ", ".join(
        f"{'XO'[ply % 2]}: {named(board, cell)}" for ply, cell in enumerate(cells)
    ),
    "commas": joined(","),
    "commas and blanks, from 1": joined(", ", 1),
    "a list of Python": lambda _, cells: str(cells),
    "names": lambda board, cells: " ".join(named(board, cell) for cell in cells),
    "names, capitals and commas": lambda board, cells: ",".join(named(board, cell).upper() for cell in cells),
    "names with quotes": lambda board, cells: str([named(board, cell) for cell in cells]),
    "arrows": joined(" -> "),
    "numbered": numbered,
    "numbered by turns": by_turns,
    "a result in words": lambda board, cells: (
        f"{joined(' ')(board, cells)} {result(board, cells, ('X wins', 'O wins', 'draw'))}"
    ),
    "winner: X": lambda board, cells: (
        f"Game 7: {joined(' ')(board, cells)} ({result(board, cells, ('winner: X', 'winner: O', 'tie'))})"
    ),
    "(row, col)": pairs("({r}, {c})"),
    "(row,col) from 1": pairs("({r},{c})", 1),
    "[[row, col], ...]": lambda board, cells: str([list(divmod(cell, board.cols)) for cell in cells]),
    "tuples in a list": lambda board, cells: str([divmod(cell, board.cols) for cell in cells]),
    "row-col": pairs("{r}-{c}"),
    "row-col from 1": pairs("{r}-{c}", 1),
    "two digits": pairs("{r}{c}"),
    "two digits from 1": pairs("{r}{c}", 1),
    "r0c1": pairs("r{r}c{c}"),
    "X(0, 1)": lambda board, cells: "; ".join(
        f"{'XO'[ply % 2]}({cell // board.cols}, {cell % board.cols})" for ply, cell in enumerate(cells)
    ),
    "X(0, 1) without blanks": lambda board, cells: ",".join(
        f"{'xo'[ply % 2]}({cell // board.cols},{cell % board.cols})" for ply, cell in enumerate(cells)
    ),
}


@settings(max_examples=2, deadline=None)
@given(st.integers(0, 10**9))
@pytest.mark.slow
@pytest.mark.parametrize("name", BOARDS)
@pytest.mark.parametrize("notation", NOTATIONS)
def test_every_notation_comes_back_as_the_same_moves(notation: str, name: str, seed: int) -> None:
    board, rng = parse_board(name), random.Random(seed)
    games = random_games(board, rng)
    text = "\n".join(NOTATIONS[notation](board, cells) for cells in games)
    assert read(text, name)[0] == games


@pytest.mark.parametrize("first", [0, 1])
def test_digits_without_blanks_are_moves(first: int) -> None:
    board, rng = parse_board("3x3"), random.Random(first)
    games = random_games(board, rng)
    assert read("\n".join(joined("", first)(board, cells) for cells in games), "3x3")[0] == games
    board = parse_board("6x7x4-gravity")
    games = random_games(board, rng)
    text = "\n".join("".join(str(cell % 7 + first) for cell in cells) for cells in games)
    assert read(text, board.name)[0] == games


FALLEN: dict[str, Callable[[Board, list[int]], str]] = {
    "cells": joined(" "),
    "columns": lambda board, cells: " ".join(str(cell % board.cols) for cell in cells),
    "columns from 1": lambda board, cells: ", ".join(str(cell % board.cols + 1) for cell in cells),
    "letters of columns": lambda board, cells: " ".join(LETTERS[cell % board.cols] for cell in cells),
    "X: D": lambda board, cells: " ".join(
        f"{'XO'[ply % 2]}: {LETTERS[cell % board.cols].upper()}" for ply, cell in enumerate(cells)
    ),
    "names from the top": lambda board, cells: " ".join(named(board, cell) for cell in cells),
    "names from the bottom": lambda board, cells: " ".join(named(board, cell, up=True) for cell in cells),
    "pairs": pairs("({r}, {c})"),
    "pairs from the bottom": pairs("({r}, {c})", 1, up=True),
    "column first": pairs("{c}-{r}"),
}


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", FALLING)
@pytest.mark.parametrize("notation", FALLEN)
def test_with_gravity_columns_and_rows_from_either_end_are_found(notation: str, name: str) -> None:
    board, rng = parse_board(name), random.Random(notation)
    games = random_games(board, rng)
    text = "\n".join(FALLEN[notation](board, cells) for cells in games)
    assert read(text, name)[0] == games
    if notation == "cells":
        with pytest.raises(GamesError, match="move 1, '0', has a free cell below it; with gravity a mark falls"):
            read("0 1 2", name, moves="numbers", cells_from=0)


def table(board: Board, games: list[list[int]], kind: str) -> str:
    """The games in a table."""
    rows = [(number, ply, cell) for number, cells in enumerate(games) for ply, cell in enumerate(cells)]
    lines = {
        "a game a line": ["id,moves,winner"]
        + [
            f'{number},"{joined(" ")(board, cells)}",{result(board, cells, ("X", "O", "draw"))}'
            for number, cells in enumerate(games)
        ],
        "columns of moves": [";".join(["game", *(f"move_{n + 1}" for n in range(board.cells)), "result"])]
        + [
            ";".join([str(number), *map(str, cells), *[""] * (board.cells - len(cells)), "1"])
            for number, cells in enumerate(games)
        ],
        "a move a line": ["Game ID,Move Number,Player,Position"]
        + [f"{number},{ply + 1},{'XO'[ply % 2]},{cell}" for number, ply, cell in rows],
        "row and column": [",game,player,row,col"]
        + [
            f"{line},{number},{ply % 2 + 1},{cell // board.cols},{cell % board.cols}"
            for line, (number, ply, cell) in enumerate(rows)
        ],
        "ply alone": ["ply\tcell"] + [f"{ply}\t{named(board, cell)}" for _, ply, cell in rows],
        "x and y": ["game|x|y"] + [f"{number}|{cell % board.cols}|{cell // board.cols}" for number, _, cell in rows],
        "JSON": [
            json.dumps(
                {
                    "winner": result(board, cells, ("X", "O", "draw")),
                    "moves": [divmod(cell, board.cols) for cell in cells],
                }
            )
            for cells in games
        ],
        "one column": ["moves", *(f'"{joined(",", 1)(board, cells)}"' for cells in games)],
        "moves below each other": ["\n".join([*(named(board, cell) for cell in cells), ""]) for cells in games],
    }
    return "\n".join(lines[kind]) + "\n"


LAYOUTS = [
    *("a game a line", "columns of moves", "a move a line", "row and column", "ply alone", "x and y", "one column"),
    "JSON",
    "moves below each other",
]


@pytest.mark.parametrize("name", BOARDS)
@pytest.mark.parametrize("kind", LAYOUTS)
def test_every_layout_comes_back_as_the_same_moves(kind: str, name: str) -> None:
    board, rng = parse_board(name), random.Random(f"{kind}{name}")
    games = random_games(board, rng)
    found, said = read(table(board, games, kind), name)
    assert found == games
    assert said.startswith("g.txt: ") and "\n" not in said


def test_numbered_games_may_go_over_several_lines_and_have_headers() -> None:
    board, rng = parse_board("3x3"), random.Random(3)
    games = random_games(board, rng)
    text = ""
    for number, cells in enumerate(games):
        words = by_turns(board, cells).split()
        text += f'[Event "casual {number}"]\n[Result "*"]\n\n{" ".join(words[:3])}\n{" ".join(words[3:])}\n\n'
    assert read(text, "3x3") == (games, "g.txt: numbered moves; cells count from 0")
    with pytest.raises(GamesError, match=r"^g.txt, line 3: the game is not finished after 4 moves; fix"):
        read("1. a1 b1\n2. a2\nb2\n\n1. a1 b1\n", "3x3")


def test_two_digits_are_pairs_if_any_has_a_leading_zero() -> None:
    pairs_text = "00 10 01 11 02 12 03"
    assert read(pairs_text, "4x4")[0] == [[0, 4, 1, 5, 2, 6, 3]]
    numbers = "00 04 01 05 02 06 03"
    assert read(numbers, "4x4")[0] == [[0, 4, 1, 5, 2, 6, 3]]
    assert read("0 10 1 11 2 12 3", "4x4")[0] == [[0, 10, 1, 11, 2, 12, 3]]
    assert read("10 00 11 01 12 02 13", "4x4") == ([[4, 0, 5, 1, 6, 2, 7]], f"g.txt: {ROWS_FIRST} 0")
    numbers = "12 00 13 01 14 02 15"  # 14 is no row and column
    assert read(numbers, "4x4") == ([[12, 0, 13, 1, 14, 2, 15]], "")


def test_the_person_says_what_digits_are() -> None:
    text = "11 22 12 33 13"
    assert read(text, "3x3", moves="row-col")[0] == [[0, 4, 1, 8, 2]]
    assert read(text, "3x3", moves="col-row")[0] == [[0, 4, 3, 8, 6]]
    assert read(text, "3x3", cells_from=1) == ([[0, 4, 1, 8, 2]], f"g.txt: {ROWS_FIRST} 1")
    with pytest.raises(ttt.BoardError, match="moves='columns' is for boards with gravity, and the board is 3x3"):
        read(text, "3x3", moves="columns")
    with pytest.raises(ttt.UsageError, match="unknown moves 'rows'"):
        read(text, "3x3", moves="rows")


ROWS_FIRST = "moves are row and column, counted from"
DOUBTS = [
    ("1 2 4 3 7", "3x3", "cells count from 0 or cells count from 1; choose cells_from=0 or cells_from=1"),
    (
        "(1,1) (3,1) (1,2) (3,2) (1,3)",
        "5x5x3",
        f"{ROWS_FIRST} 0 or {ROWS_FIRST} 1; choose cells_from=0 or cells_from=1",
    ),
    (
        "2-2 1-2 2-1 1-1 2-0",
        "3x4x3",
        f"{ROWS_FIRST} 0 or moves are column and row, counted from 0; choose moves='row-col' or moves='col-row'",
    ),
]


@pytest.mark.parametrize(("line", "name", "why"), DOUBTS)
def test_what_the_games_do_not_decide_is_asked(line: str, name: str, why: str) -> None:
    with pytest.raises(GamesError) as caught:
        read(f"{line}\n" * 300, name)
    assert str(caught.value) == f"g.txt: the games can be read in two ways, {why}"


def test_a_game_that_decides_may_come_late() -> None:
    board = parse_board("3x3")
    doubtful = ["1 2 4 3 7"] * 10_000
    late = "\n".join([*doubtful, GOOD])
    assert len(read(late, "3x3")[0]) == 10_001
    assert read("\n".join([*doubtful, "9 1 8 2 7"]), "3x3")[0][0] == [0, 1, 3, 2, 6]
    assert board.cells == 9


def test_the_likeliest_reading_is_taken_if_lines_are_bad(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    board, rng = parse_board("3x3"), random.Random(1)
    lines = [pairs("({r}, {c})", 1)(board, cells) for cells in random_games(board, rng)]
    path = tmp_path / "games.txt"
    path.write_text("\n".join(["(1, 1) (9, 9)", *lines, "(1, 1) (1, 1)"]))
    learn = ("learn-from", path, "--learner", "td", "-o", tmp_path / "x.h5", "--quiet")
    status, _, err = command(capsys, *learn)
    assert status == 1 and "line 1: move 2, '(9, 9)', is not a free cell of the board; fix the line, or" in err
    status, out, err = command(capsys, *learn, "--skip-bad")
    assert status == 0 and "30 games" in out and "skipped: 2 bad lines" in out
    assert err.splitlines()[0] == f"ttt-batch: {path}: {ROWS_FIRST} 1"


@pytest.mark.parametrize("line", ["x,x,x,x,o,o,x,o,o,positive", f"{','.join('bx' * 10)},{','.join('ob' * 11)},draw"])
@pytest.mark.parametrize("before", ["", "c1,c2,c3,c4,c5,c6,c7,c8,c9,class\n"])
def test_positions_with_results_are_no_games(
    line: str, before: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    path = tmp_path / "tic-tac-toe.data"
    path.write_text(f"{before}{line}\n{line}\n")
    for board in ("3x3", "6x7x4-gravity"):
        status, out, err = command(capsys, "learn-from", path, "--learner", "td", "--board", board)
        assert (status, out) == (1, "")
        assert err == (
            f"ttt-batch: {path} holds positions with results, not moves, so nothing can be learnt from it; "
            f"to judge by them: ttt-batch evaluate RUN --positions {path}\n"
        )
    with pytest.raises(GamesError, match=r"to judge by them: evaluate\(run, positions='games'\)$"):
        ttt.learn_from([line], learner="td")


def test_other_notations_teach_the_same_bytes() -> None:
    board, rng = parse_board("3x3"), random.Random(9)
    games = random_games(board, rng)
    plain, _ = ttt.learn_from([joined(" ")(board, cells) for cells in games], learner="td")
    with pytest.warns(RuntimeWarning, match="^games: moves are row and column, counted from 1$"):
        other, _ = ttt.learn_from([pairs("({r},{c})", 1)(board, cells) for cells in games], learner="td")
    assert other == plain
