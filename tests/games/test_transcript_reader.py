"""Reading games from text: the kernel beside the parser of one line, any cut of the text, and what is no text."""

import codecs
import io
import json
import os
import random
import signal
import sys
import threading
from collections.abc import Iterable, Iterator
from itertools import chain, pairwise, repeat
from pathlib import Path

import pytest
from helpers.support import cells_of, command
from hypothesis import given, settings
from hypothesis import strategies as st
from oracle import naive

import ttt_batch as ttt
from ttt_batch.app.progress import Reporter
from ttt_batch.core.errors import GamesError, UsageError
from ttt_batch.games import transcript_reader
from ttt_batch.games.board import Board, parse_board
from ttt_batch.games.notation import DigitReading
from ttt_batch.games.transcript_reader import LONGEST_LINE, SHOWN, GameFile, GameLines, GameReader, whole_lines
from ttt_batch.games.transcripts import Moves, parse_line
from ttt_batch.training.from_games import GamesLearnt

CLASSIC = Board()
BOARDS = ["3x3", "2x2", "1x30x3", "3x4x3", "4x4x3-misere", "5x5x3-exact", "6x6x4", "1x1"]
GOOD = "0 3 1 4 2"


def read(pieces: Iterable[bytes], reader: GameReader) -> list[Moves]:
    """The games of all pieces."""
    games: list[Moves] = []
    for found in reader.read(pieces):
        moves = list(zip(found.move.tolist(), found.exploring.tolist(), strict=True))
        start = found.start.tolist()
        assert start[0] == 0 and start[-1] == len(moves)
        games += [moves[a:b] for a, b in pairwise(start)]
    return games


def by_oracle(text: bytes, board: Board, *, occupied: bool, cells_from: int) -> tuple[list[Moves], list[str]]:
    """Games and messages, line by line."""
    games, messages = [], []
    for number, line in enumerate(text.splitlines(), 1):
        try:
            decoded = line.decode("utf-8", "backslashreplace")
            moves = parse_line(decoded, board, occupied=occupied, reading=DigitReading(first=cells_from))
        except GamesError as error:
            messages.append(f"games, line {number}: {error}")
        else:
            games += [moves] if moves else []
    return games, messages


def cut(text: bytes, cuts: Iterable[int]) -> Iterator[bytes]:
    """The text in blocks that begin at the cuts."""
    edges = [0, *sorted(cuts), len(text)]
    return (text[a:b] for a, b in pairwise(edges) if a < b)


# --- what a line may say ----------------------------------------------------------------------------------


def test_comments_blank_lines_and_spaces() -> None:
    lines = ["# mine", "", "   ", "0 3 1 4 2 # won", "\t0\t3! 1  4 2!\n", "#0 0 0", "  8 0 7 1 6#x#y"]
    reader = GameReader(CLASSIC, occupied=False)
    games = read(GameLines(lines), reader)
    assert [naive.format_game(moves) for moves in games] == ["0 3 1 4 2", "0 3! 1 4 2!", "8 0 7 1 6"]
    assert reader.games == 3 and reader.skipped == [] and reader.skipped.total == 0
    empty = cells_of([])
    assert empty.start.tolist() == [0] and empty.move.size == 0


NUMBERS = "cells count from 0 in game files, 0 to 8; choose cells_from=1 if these count from 1"
BAD = [
    ("0 0", "move 2, '0', is not a free cell of the board"),
    ("0 3 1 4 3", "move 5, '3', is not a free cell of the board"),
    ("9", f"move 1, '9', is not a free cell of the board: {NUMBERS}"),
    ("5 1 9 3 7", f"move 3, '9', is not a free cell of the board: {NUMBERS}"),
    ("0 3 999", f"move 3, '999', is not a free cell of the board: {NUMBERS}"),
    ("0 3 1000", "move 3, '1000', is not a cell number"),
    ("0 -1", "move 2, '-1', is not a cell number"),
    ("0 1.0", "move 2, '1.0', is not a cell number"),
    ("0,3,1,4,9", f"move 5, '9', is not a free cell of the board: {NUMBERS}"),
    ("0 x!", "move 2, 'x!', is not a cell number"),
    ("0 !", "move 2, '!', is not a cell number"),
    ("0 3!!", "move 2, '3!!', is not a cell number"),
    ("0 3!1", "move 2, '3!1', is not a cell number"),
    ("0 ³", "move 2, '³', is not a cell number"),
    ("0 \u0663", "move 2, '\u0663', is not a cell number"),
    ("0 \0", r"move 2, '\x00', is not a cell number"),
    ("0 b0", "move 2, 'b0', is not a cell number"),
    ("0 b01", "move 2, 'b01', is not a cell number"),
    ("0 d1", "move 2, 'd1', is not a free cell of the board"),
    ("0 a4!", "move 2, 'a4!', is not a free cell of the board"),
    ("0 a1", "move 2, 'a1', is not a free cell of the board"),
    ("0 b111", "move 2, 'b111', is not a cell number"),
    ("0 X1", "move 2, 'X1', is not O's: X and O take turns, and X begins"),
    ("X0 O0", "move 2, 'O0', is not a free cell of the board"),
    ("(0, 0) (1, 1)", "move 1, '(0, 0)', is not a cell number"),
    ("0 3 1 4 X wins", "the game is not finished after 4 moves, but 'X wins' follows"),
    ("0 3 1 4 2 O wins", "the moves let X win, but the line says 'O wins'"),
    ("0 3 1 4 2 0-1", "the moves let X win, but the line says '0-1'"),
    ("0 3 1 4 2 1/2-1/2", "the moves let X win, but the line says '1/2-1/2'"),
    ("0 1 2 4 3 5 7 6 8 1-0", "the moves are a draw, but the line says '1-0'"),
    ("0 3 1 4 2 8", "the game is over after 5 moves, but '8' follows"),
    ("0", "the game is not finished after 1 move"),
    ("0 3 1 4", "the game is not finished after 4 moves"),
    ("0 3 1 4 2 5", "the game is over after 5 moves, but '5' follows"),
    ("0 1 2 4 3 5 7 6 8 8", "the game is over after 9 moves, but '8' follows"),
    ("0 " + 100 * "é", "move 2, '" + 56 * "é" + "..., is not a cell number"),
]


@pytest.mark.parametrize(("line", "reason"), BAD)
def test_a_bad_line_is_named_with_its_reason(line: str, reason: str) -> None:
    lines = ["# first", "", GOOD, line, "0 0"]
    with pytest.raises(GamesError) as raised:
        read(GameLines(lines), GameReader(CLASSIC, occupied=False, name="my.txt"))
    remedy = "fix the line, or leave such lines out with skip_bad=True"
    assert str(raised.value) == f"my.txt, line 4: {reason}; {remedy}"
    with pytest.raises(GamesError) as again:
        text = "\n".join(lines).encode()
        read(whole_lines(cut(text, range(len(text)))), GameReader(CLASSIC, occupied=False, name="my.txt"))
    assert str(again.value) == str(raised.value)


def test_bad_lines_can_be_skipped_and_are_all_reported() -> None:
    good = [GOOD, "8 0! 7 1 6"]
    lines = [good[0], *(line for line, _ in BAD), good[1]]
    reader = GameReader(CLASSIC, occupied=False, name="my.txt", skip_bad=True)
    assert [naive.format_game(moves) for moves in read(GameLines(lines), reader)] == good
    assert reader.skipped.total == len(BAD)
    assert reader.skipped == [f"my.txt, line {number}: {reason}" for number, (_, reason) in enumerate(BAD, 2)]


def test_of_many_bad_lines_the_first_are_kept_and_all_counted() -> None:
    reader = GameReader(CLASSIC, occupied=False, skip_bad=True)
    assert len(read(GameLines(["x"] * (SHOWN + 5) + [GOOD]), reader)) == 1
    assert len(reader.skipped) == SHOWN and reader.skipped.total == SHOWN + 5


@pytest.mark.parametrize(
    ("line", "board", "cells"),
    [
        ("a1 a2! b1 B2 C1", CLASSIC, [0, 3, 1, 4, 2]),
        ("0 a2! 1 4 c1#won", CLASSIC, [0, 3, 1, 4, 2]),
        ("f1 a6 e1 b6! d1 c6 c1", Board(6, 6, 4), [5, 30, 4, 31, 3, 32, 2]),
        ("aa1 a1 ab1 b1 ac1", Board(1, 30, 3), [26, 0, 27, 1, 28]),
    ],
)
def test_names_of_cells(line: str, board: Board, cells: list[int]) -> None:
    assert cells_of([line], board).move.tolist() == cells
    assert cells_of([line], board).exploring.sum() == line.count("!")


def test_cells_may_count_from_one() -> None:
    reader = GameReader(CLASSIC, occupied=False, reading=DigitReading(first=1), skip_bad=True)
    games = read(GameLines(["5 1 9 3 7 2", "1 4 2 5 3", "a1 4 b1 5 3", "0 4 2", "1 10"]), reader)
    assert [[cell for cell, _ in moves] for moves in games] == [[4, 0, 8, 2, 6, 1], *([[0, 3, 1, 4, 2]] * 2)]
    numbers = "cells count from 1 in game files, 1 to 9"
    assert reader.skipped[0] == f"games, line 4: move 1, '0', is not a free cell of the board: {numbers}"
    assert reader.skipped[1] == f"games, line 5: move 2, '10', is not a free cell of the board: {numbers}"
    for wrong in (2, -1):
        with pytest.raises(UsageError, match=f"cells from {wrong}: .* from 0 or from 1"):
            ttt.learn_from([GOOD], learner="td", cells_from=wrong)


@pytest.mark.slow  # kernels of another learner
def test_the_same_games_counted_from_one_teach_the_same() -> None:
    lines = {
        0: ["0 3! 1 4 2", "8 0 7 1 6"],
        1: ["1 4! 2 5 3", "9 1 8 2 7"],
        None: ["a1 a2! b1 b2 c1", "c3 a1 b3 b1 a3"],
    }
    runs = [ttt.learn_from(games, learner="sutton-barto", cells_from=first)[0] for first, games in lines.items()]
    assert len({run.tables.value.tobytes() for run in runs}) == 1


# --- the kernel beside the parser of one line -------------------------------------------------------------


@st.composite
def texts(draw: st.DrawFn) -> tuple[bytes, Board, bool, int]:
    """Lines of games, good and broken, with every end of line; the board, occupied cells, and how cells count."""
    board = parse_board(draw(st.sampled_from(BOARDS)))
    occupied, first = draw(st.booleans()), draw(st.integers(0, 1))
    rng = draw(st.randoms(use_true_random=False))
    lines = [random_line(rng, board, first) for _ in range(draw(st.integers(0, 6)))]
    text = "".join(line + rng.choice(["\n", "\n", "\r\n", "\r"]) for line in lines).encode()
    return text.rstrip(b"\r\n") if rng.random() < 0.3 else text, board, occupied, first


def random_cells(rng: random.Random, board: Board, occupied: float) -> list[int]:
    """A game under the rules; it may end with an occupied cell, which each move names with this probability."""
    marks, cells = [0] * board.cells, list[int]()
    while board.outcome(tuple(marks)) == 0:
        taken = [cell for cell, mark in enumerate(marks) if mark]
        if taken and rng.random() < occupied:
            return [*cells, rng.choice(taken)]
        cells.append(rng.choice([cell for cell, mark in enumerate(marks) if not mark]))
        marks[cells[-1]] = 2 - len(cells) % 2
    return cells


def cell_name(board: Board, cell: int) -> str:
    """A column's letter and a row's number."""
    row, col = divmod(cell, board.cols)
    return f"{'a' if col > 25 else ''}{chr(97 + col % 26)}{row + 1}"


def random_line(rng: random.Random, board: Board, first: int) -> str:
    """A game as somebody may write it, now and then with a mistake or two."""
    words = [
        (cell_name(board, cell) if rng.random() < 0.1 else str(cell + first)) + "!" * (rng.random() < 0.2)
        for cell in random_cells(rng, board, occupied=0.05)
    ]
    line = rng.choice([" ", " ", "  ", "\t"]).join(words) + rng.choice(["", "", " ", "#", " # 0 3\xa0é"])
    for _ in range(rng.choice([0, 0, 0, 1, 3])):
        at, signs = rng.randrange(len(line) + 1), "0123456789 !#\tabcxAZ,-\x0b\x1c\xa0\x85é\u2028"
        line = line[:at] + rng.choice(["", rng.choice(signs)]) + line[at + rng.randrange(2) :]
    return line


@pytest.mark.slow
@settings(max_examples=100, deadline=None)
@given(texts(), st.sets(st.integers(0, 300), max_size=8))
def test_any_text_in_any_cut_reads_as_line_by_line(made: tuple[bytes, Board, bool, int], cuts: set[int]) -> None:
    text, board, occupied, first = made
    games, messages = by_oracle(text, board, occupied=occupied, cells_from=first)
    for blocks in (
        [text] if text else [],
        cut(text, {at for at in cuts if at < len(text)}),
        cut(text, range(len(text))),
    ):
        reader = GameReader(board, occupied=occupied, reading=DigitReading(first=first), skip_bad=True)
        assert read(whole_lines(blocks), reader) == games
        assert reader.skipped == messages and reader.games == len(games)
    strict = GameReader(board, occupied=occupied, reading=DigitReading(first=first))
    if messages:
        with pytest.raises(GamesError) as raised:
            read(whole_lines([text]), strict)
        assert str(raised.value).startswith(messages[0])
    else:
        assert read(whole_lines([text]), strict) == games


@pytest.mark.parametrize("occupied", [False, True])
@pytest.mark.parametrize("name", BOARDS)
def test_the_kernel_leaves_no_ordinary_line_to_the_slow_parser(
    name: str, occupied: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    board, rng = parse_board(name), random.Random(4)
    lines = []
    for _ in range(40):
        cells = random_cells(rng, board, occupied=0.1 * occupied)
        named = [cell_name(board, cell) if cell % board.cols < 26 else f"{cell}" for cell in cells]
        words = [rng.choice([f"{cell}", f"{cell}!", name]) for cell, name in zip(cells, named, strict=True)]
        lines.append(" ".join(words) + rng.choice(["", "  ", "# é", "\r"]))
    text = "\n".join(["# é", "", *lines]).encode()
    expected = by_oracle(text, board, occupied=occupied, cells_from=0)
    monkeypatch.delattr(transcript_reader, "parse_line")
    assert (read(whole_lines([text]), GameReader(board, occupied=occupied)), []) == expected


# --- lines that never end, and what is no text -------------------------------------------------------------


def longest(comment: int) -> bytes:
    return f"{GOOD}#{'x' * (LONGEST_LINE - len(GOOD) - 1 + comment)}".encode()


@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r"])
@pytest.mark.parametrize("block", [1 << 20, 70_000, 65_537, 1_000])
def test_a_line_has_a_limit_whatever_the_cut(end: bytes, block: int) -> None:
    lines = [longest(0), GOOD.encode(), longest(1), longest(90_000), b"8 0 7 1 6", longest(2)]
    text = end.join(lines)
    reader = GameReader(CLASSIC, occupied=False, skip_bad=True)
    games = read(whole_lines(cut(text, range(block, len(text), block))), reader)
    assert [naive.format_game(moves) for moves in games] == [GOOD, GOOD, "8 0 7 1 6"]
    assert reader.skipped == [f"games, line {n}: the line is longer than 65,536 bytes" for n in (3, 4, 6)]
    assert len(read(GameLines([longest(0).decode()]), GameReader(CLASSIC, occupied=False))) == 1
    with pytest.raises(GamesError, match="games, line 1: the line is longer than 65,536 bytes"):
        read(GameLines([longest(1).decode()]), GameReader(CLASSIC, occupied=False))


def test_text_without_an_end_is_refused_at_its_first_bad_line() -> None:
    for endless in (repeat(b"0 " * 1_000), chain([b"0 0\n"], repeat(b"0 3 1 4 2\n"))):
        with pytest.raises(GamesError, match="games, line 1: "):
            read(whole_lines(endless), GameReader(CLASSIC, occupied=False))


def test_no_more_is_held_than_a_piece_and_a_line() -> None:
    blocks = [b"x" * 50_000] * 20 + [b"\n" + GOOD.encode() + b"\n"] * 3 + [b"y" * 50_000] * 20
    pieces = list(whole_lines(blocks))
    assert max(map(len, pieces)) <= 50_000 + LONGEST_LINE + 2
    reader = GameReader(CLASSIC, occupied=False, skip_bad=True)
    assert len(read(pieces, reader)) == 3 and reader.skipped.total == 2


def of_file(path: Path, content: bytes) -> list[Moves]:
    path.write_bytes(content)
    return read(GameFile(path), GameReader(CLASSIC, occupied=False))


@pytest.mark.parametrize("piece", [1 << 20, 1])
def test_encodings(piece: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transcript_reader, "PIECE", piece)
    path, expected = tmp_path / "games.txt", [[(cell, False) for cell in (0, 3, 1, 4, 2)]]
    assert of_file(path, b"\xef\xbb\xbf" + GOOD.encode()) == expected
    assert of_file(path, GOOD.encode() + b" # \xe9 in Latin-1, \xc3\xa9 in UTF-8") == expected
    with pytest.raises(GamesError, match=r"games, line 2: move 2, '\\\\xe9', is not a cell number"):
        of_file(path, GOOD.encode() + b"\n0 \xe9")
    with pytest.raises(GamesError, match="it is not a text file"):
        of_file(path, b"\xef\xbb\0")


WIDE = "it is text in UTF-16; save it as UTF-8"
NO_TEXT = "it is not a text file; name a text file with a game per line"


@pytest.mark.parametrize("piece", [1 << 20, 1])
@pytest.mark.parametrize(
    ("content", "why"),
    [
        (GOOD.encode("utf-16"), WIDE),
        (codecs.BOM_UTF16_BE + GOOD.encode("utf-16-be"), WIDE),
        (GOOD.encode("utf-32"), WIDE),  # it begins with the mark of UTF-16
        (GOOD.encode("utf-16-le"), NO_TEXT),
        (GOOD.encode("utf-16-be"), NO_TEXT),
        (codecs.BOM_UTF32_BE + GOOD.encode("utf-32-be"), NO_TEXT),
    ],
    ids=["utf-16", "utf-16-be with its mark", "utf-32", "utf-16-le", "utf-16-be", "utf-32-be with its mark"],
)
def test_encodings_that_are_refused(
    content: bytes, why: str, piece: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transcript_reader, "PIECE", piece)
    path = tmp_path / "games.txt"
    with pytest.raises(GamesError) as caught:
        of_file(path, content)
    assert str(caught.value) == f"cannot read games from {path}: {why}"


# --- the command ------------------------------------------------------------------------------------------


def refused(capsys: pytest.CaptureFixture[str], *words: object) -> str:
    status, out, err = command(capsys, "learn-from", *words, "--learner", "td", "-o", "x.h5", "--quiet")
    assert (status, out) == (1, "") and err.count("\n") == 1 and not Path("x.h5").exists()
    return err


def test_files_that_hold_no_games(capsys: pytest.CaptureFixture[str]) -> None:
    with Path("sparse").open("wb") as file:
        file.truncate(10**12)
    Path("none.txt").write_text("# none\n\n")
    Path("bad\x1b.txt").write_text("x\n0 0\n")
    assert "cannot read games from sparse: it is not a text file; name a text" in refused(capsys, "sparse")
    assert "cannot read games from .: it is a folder; name a" in refused(capsys, ".")
    assert "cannot read games from missing: No such file" in refused(capsys, "missing")
    assert "none.txt: no games" in refused(capsys, "none.txt")
    assert r"'bad\x1b.txt', line 1: move 1, 'x', is not a cell" in refused(capsys, "bad\x1b.txt")
    assert "no games, only bad lines (2); the first: " in refused(capsys, "bad\x1b.txt", "--skip-bad")
    if Path("/dev/zero").exists():
        assert "cannot read games from /dev/zero: it is not a text file" in refused(capsys, "/dev/zero")
        assert "/dev/null: no games" in refused(capsys, "/dev/null")


def test_cells_that_seem_to_count_from_one(capsys: pytest.CaptureFixture[str]) -> None:
    learn = ["learn-from", "one.txt", "--learner", "td", "--overwrite", "-o", "x.h5", "--quiet"]
    Path("one.txt").write_text("1 2 4 3 7 # cell 0 is free\n")
    two_ways = "one.txt: the games can be read in two ways, cells count from 0 or cells count from 1; choose "
    assert refused(capsys, "one.txt") == f"ttt-batch: {two_ways}--cells-from 0 or --cells-from 1\n"
    with pytest.raises(GamesError, match=f"^{two_ways}cells_from=0 or cells_from=1$"):
        ttt.learn_from("one.txt", learner="td")
    assert ttt.learn_from(["1 2 4 3 7"], learner="td") == ttt.learn_from("one.txt", learner="td", cells_from=0)
    Path("one.txt").write_text("1 4 2 5 3\n5 1 9 3 7 2\n")
    status, out, err = command(capsys, *learn, "--cells-from", "1")
    assert (status, err) == (0, "") and "2 games" in out
    assert command(capsys, *learn)[::2] == (0, "ttt-batch: one.txt: cells count from 1\n")
    with pytest.warns(RuntimeWarning, match=r"^one.txt: cells count from 1$"):
        ttt.learn_from("one.txt", learner="td")
    remedy = "; counted from 1 it is a whole game: choose --cells-from 1, fix the line, or"
    Path("x.h5").unlink()
    err = refused(capsys, "one.txt", "--cells-from", "0")
    assert "one.txt, line 1: the game is not finished after 5 moves" + remedy in err
    Path("one.txt").write_text("1 4 2 5 3 0-1\n")
    both = ", but '0-1' follows (counted from 1, the moves let X win, but the line says '0-1'); fix the line"
    assert "the game is not finished after 5 moves" + both in refused(capsys, "one.txt")
    for silent in (["--cells-from", "0"], ["--cells-from", "1"]):
        Path("one.txt").write_text("1 2 4 3 7\n" if silent[1] == "0" else "1 4 2 5 3\n")
        assert command(capsys, *learn, *silent)[2] == ""
    status, _, err = command(capsys, *learn, "--cells-from", "2")
    assert status == 2 and "from 0 or from 1" in err and err.count("\n") == 1


def test_games_from_standard_input(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"0 3 1 4 2\r\n\r\n0 0\r\n")))
    words = ["learn-from", "-", "--learner", "td", "-o", "x.h5", "--skip-bad", "--quiet", "--json"]
    status, out, err = command(capsys, *words)
    assert (status, json.loads(out)["games"], json.loads(out)["skipped"]) == (0, 1, 1)
    assert err == "skipped standard input, line 3: move 2, '0', is not a free cell of the board\n"
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"0 0")))
    assert "standard input, line 1: move 2" in command(capsys, "learn-from", "-", "--learner", "td")[2]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no FIFOs here")
def test_a_fifo_says_that_it_waits_for_games(capsys: pytest.CaptureFixture[str]) -> None:
    os.mkfifo("fifo")
    # A daemon: opening a FIFO that nobody reads waits for ever.
    writer = threading.Thread(target=lambda: Path("fifo").write_text("0 3 1 4 2\n8 0 7 1 6"), daemon=True)
    writer.start()
    status, out, err = command(capsys, "learn-from", "fifo", "--learner", "td", "-o", "x.h5")
    assert status == 0 and "2 games" in out
    writer.join(60)
    assert not writer.is_alive()
    assert "waiting for games from fifo ...\n" in err


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no FIFOs here")
@pytest.mark.usefixtures("own_signals")
def test_waiting_for_games_can_be_interrupted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    os.mkfifo("fifo")
    note = Reporter.note

    def soon(self: Reporter, line: str) -> None:
        note(self, line)
        threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGINT)).start()

    monkeypatch.setattr(Reporter, "note", soon)
    status, out, err = command(capsys, "learn-from", "fifo", "--learner", "td", "-o", "x.h5")
    assert (status, out) == (130, "") and err.endswith("ttt-batch: interrupted; nothing was written\n")
    assert [path.name for path in tmp_path.iterdir()] == ["fifo"]


def test_progress_off_a_terminal_comes_at_doubling_numbers_of_games(capsys: pytest.CaptureFixture[str]) -> None:
    with Reporter(live=False) as report:
        for games in (100, 150, 200, 399, 400, 500, 800):
            report.reading(GamesLearnt(games, games, 800, games / 100))
    lines = capsys.readouterr().err.splitlines()
    assert [" ".join(line.split()) for line in lines] == [
        "100 games 12% of the file",
        "200 games 100/s 25% of the file",
        "400 games 100/s 50% of the file",
    ]
    with Reporter(live=False, quiet=True) as report:
        report.reading(GamesLearnt(1, 1, 0, 1.0))
    assert capsys.readouterr().err == ""


def test_progress_on_a_terminal_is_a_bar_that_goes(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    with Reporter(live=True) as report:
        report.reading(GamesLearnt(1_000_000, 10, 40, 1.0))
        report.reading(GamesLearnt(3_000_000, 20, 40, 2.0))
        report._display.refresh()
        seen = capsys.readouterr().err
        assert "3,000,000 games, about 2 s left" in seen and "2 M/s" in seen
    assert report._display is None
