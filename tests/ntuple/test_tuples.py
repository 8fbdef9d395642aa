"""Tuples of cells by name, list and file, and what is refused."""

import os
from pathlib import Path

import pytest

from ttt_batch.core.errors import UsageError
from ttt_batch.games.board import Board, parse_board
from ttt_batch.ntuple.network import COLUMNS, MAX_FILE, parse_tuples

BOARD = parse_board("4x4x3")


def number(given: str, name: str = "4x4x3") -> int:
    return len(parse_tuples(given, parse_board(name))[1])


def test_names_give_lines_runs_and_rectangles() -> None:
    assert parse_tuples("lines", parse_board("3x3"))[1] == list(parse_board("3x3").lines)
    assert number("lines") == 24
    assert number("segments:4") == 10
    assert number("segments") == 34, "runs of k and of k + 1"
    assert number("blocks:2x3") == 12, "lying and standing"
    assert number("blocks:2x2") == 9
    assert number("blocks:2x2,2x3, Lines") == 45, "sizes go on, names follow"
    assert parse_tuples("blocks:2x2,2x3", BOARD)[0] == "blocks:2x2,blocks:2x3"


def test_no_set_of_cells_comes_twice() -> None:
    assert number("segments,lines,segments:3") == 34
    assert number("a1 b1; b1 a1; a1 b2") == 2
    assert parse_tuples("b1 a1; a1 b1", BOARD)[1] == [(1, 0)], "the first order stays"


def test_by_default_lines_that_cross_the_board_and_else_runs_and_blocks() -> None:
    assert parse_tuples("auto", parse_board("4x4x4"))[0] == "lines"
    assert parse_tuples("auto", parse_board("4x5x4"))[0] == "segments,blocks:3x3,blocks:3x4"
    assert parse_tuples("auto", parse_board("2x5x3"))[0] == "segments"


def test_boards_with_gravity_have_lines_and_blocks_or_columns() -> None:
    falls = parse_board("5x6x4-gravity")
    assert parse_tuples("auto", falls, COLUMNS)[0] == "lines+below,blocks:4x4"
    assert parse_tuples("auto", parse_board("6x6x4-gravity"), COLUMNS)[0] == "lines+below,blocks:4x4,blocks:3x5"
    assert parse_tuples("auto", parse_board("connect4"), COLUMNS)[0] == "lines+below,blocks:4x4"
    small = parse_tuples("lines+below", parse_board("2x2x2-gravity"), COLUMNS)[1]
    assert sorted(map(sorted, small)) == [[0, 1, 2, 3], [0, 2], [0, 2, 3], [1, 2, 3], [1, 3], [2, 3]]
    assert parse_tuples("auto", parse_board("3x4x3-gravity"), COLUMNS)[0] == "lines,columns:3"
    assert parse_tuples("auto", parse_board("20x3x3-gravity"), COLUMNS)[0] == "lines,columns:1"
    assert parse_tuples("columns:2", falls, COLUMNS)[1][0] == (24, 18, 12, 6, 0, 25, 19, 13, 7, 1), "from below"
    assert len(parse_tuples("columns:3", falls, COLUMNS)[1]) == 20
    for given, part in [("columns:4", "20 cells and 4 runs of"), ("blocks:5x5", "25 cells; a tuple has 1 to 20")]:
        with pytest.raises(UsageError, match=part):
            parse_tuples(given, falls, COLUMNS)


def test_a_file_is_kept_as_its_cells(tmp_path: Path) -> None:
    path = tmp_path / "mine.txt"
    path.write_text("a1 b1 c1  # the top row\n\n# nothing\nA2 b2; c3\n", encoding="utf-8")
    text, cells = parse_tuples(str(path), BOARD)
    assert cells == [(0, 1, 2), (4, 5), (10,)]
    assert parse_tuples(text, BOARD) == (text, cells), "what a configuration keeps needs no file"


@pytest.mark.parametrize(
    ("given", "part"),
    [
        ("a1 b1 a1", "cell a1 stands twice"),
        ("a1 e5", "'e5' is no cell of board 4x4x3; its last one is d4"),
        ("a1 e5; b1", "'e5' is no cell of board 4x4x3; its last one is d4"),
        ("blocks:4x4", "16 cells; a tuple has 1 to 12"),
        ("segments:" + "9" * 5000, "neither lines, segments"),
        ("segments:0", "0 cells; a tuple has 1 to 12"),
        ("a1 b1 c1 d1 a2 b2 c2 d2 a3 b3 c3 d3 a4", "13 cells; a tuple has 1 to 12"),
        ("segments:13", "there are none on board 4x4x3"),
        ("segments:9", "there are none on board 4x4x3"),
        (";", "there are none; write the cells"),
        ("nosuchfile", "neither lines, segments, lines+below, blocks:RxC, columns:N nor a file that can be read"),
    ],
)
def test_what_is_no_tuple_is_refused_in_one_line(given: str, part: str) -> None:
    with pytest.raises(UsageError) as refused:
        parse_tuples(given, BOARD)
    assert part in str(refused.value)
    assert "\n" not in str(refused.value)


def test_bad_files_are_refused_in_one_line(tmp_path: Path) -> None:
    path = tmp_path / "bad.txt"
    for content, part in [
        (b"a1 b1\na1 z9\n", "'z9' is no cell"),
        (b"\xff\xfe\x00", "nor a file that can be read"),
        (b"a1\n" * MAX_FILE, "too long for tuples"),
        (b"# nothing\n", "there are none"),
    ]:
        path.write_bytes(content)
        with pytest.raises(UsageError) as refused:
            parse_tuples(str(path), BOARD)
        assert part in str(refused.value)
        assert "\n" not in str(refused.value)


def test_a_pipe_without_a_writer_is_refused_at_once(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(UsageError, match="nor a file that can be read"):
        parse_tuples(str(tmp_path / "pipe"), BOARD)


def test_segments_longer_than_a_tuple_count_only_if_they_fit_on_the_board() -> None:
    assert parse_tuples("segments", Board(1, 12, 12))[1] == [tuple(range(12))]
    with pytest.raises(UsageError, match="'segments' have 13 cells"):
        parse_tuples("segments", Board(1, 13, 12))
