"""Certificates: what is written is read, and no damage escapes the reader or the script."""

import dataclasses
import functools
import importlib.util
import itertools
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers.proof_agents import Weigher, naive_picks, read_certificate, weigher

from ttt_batch.__main__ import run
from ttt_batch.core.errors import CertificateError, UsageError
from ttt_batch.evaluation.certificates import (
    FIELDS,
    Certificate,
    certify,
    check_match,
    check_path,
    fault_of,
    place_of,
    write_certificate,
)
from ttt_batch.evaluation.prover import ALWAYS_WINS, CANNOT_LOSE, Goal
from ttt_batch.games.board import parse_board

SCRIPT = Path(__file__).parents[2] / "scripts" / "check_certificate.py"
specification = importlib.util.spec_from_file_location("check_certificate", SCRIPT)
assert specification is not None and specification.loader is not None
script = importlib.util.module_from_spec(specification)
specification.loader.exec_module(script)

CASES: list[tuple[str, int, bool, int, Goal]] = [
    ("3x3", 0, True, 0, CANNOT_LOSE),
    ("4x4x4", 12, True, 1, CANNOT_LOSE),
    ("4x4x3", 2, True, 0, ALWAYS_WINS),
    ("3x4x4", 0, True, 0, CANNOT_LOSE),
    ("3x4x4-misere", 5, False, 1, CANNOT_LOSE),
    ("2x4x3-exact", 5, True, 1, CANNOT_LOSE),
    ("2x4x3-misere-exact", 6, False, 0, CANNOT_LOSE),
    ("2x3x2", 0, False, 0, ALWAYS_WINS),
    ("1x5x5", 0, False, 0, CANNOT_LOSE),
    ("1x5x5", 0, False, 1, CANNOT_LOSE),
    ("3x4x4-gravity", 20, True, 0, CANNOT_LOSE),
    ("3x5x3-gravity", 4, True, 0, ALWAYS_WINS),
    ("3x4x4-gravity", 11, False, 1, CANNOT_LOSE),
]
"""Agents that are proved: board, seed, whether they take wins and stop them, seat and goal."""


@functools.cache
def agent_of(board: str, seed: int, takes: bool) -> Weigher:
    return weigher(parse_board(board), seed, takes=takes)


@functools.cache
def made(case: int, symmetric: bool = True) -> Certificate:
    board, seed, takes, seat, goal = CASES[case]
    source = {"agent": "weigher", "seed": seed}
    return certify(agent_of(board, seed, takes), parse_board(board), seat, goal, symmetric=symmetric, source=source)


def arrays_of(certificate: Certificate, path: Path) -> dict[str, Any]:
    write_certificate(certificate, path, overwrite=True)
    with np.load(path) as content:
        return dict(content)


def by_script(arrays: dict[str, Any]) -> str | None:
    """Return the script's message about the arrays of a file, or None if it accepts them."""
    try:
        script.Checker(arrays).check()
    except Exception as error:
        return str(error) or type(error).__name__
    return None


@pytest.mark.sampled(2)
@pytest.mark.parametrize("symmetric", [True, False])
@pytest.mark.parametrize("case", range(len(CASES)))
def test_what_is_written_is_read_and_holds(case: int, symmetric: bool, tmp_path: Path) -> None:
    board, seed, takes, seat, goal = CASES[case]
    certificate, path = made(case, symmetric), tmp_path / "proof.npz"
    arrays = arrays_of(certificate, path)
    read = read_certificate(path)
    assert (read.board, read.seat, read.goal, read.symmetric) == (parse_board(board), seat, goal, symmetric)
    assert read.source == {"agent": "weigher", "seed": seed, "program": read.source["program"]}
    for name in ("first", "second", "move"):
        assert np.array_equal(getattr(read, name), getattr(certificate, name))
    assert arrays.keys() == FIELDS.keys() and by_script(arrays) is None
    once = path.read_bytes()
    write_certificate(read, path, overwrite=True)
    assert path.read_bytes() == once
    agent = agent_of(board, seed, takes)
    for first, second, move in list(zip(read.first.tolist(), read.second.tolist(), read.move.tolist(), strict=True))[
        :99
    ]:
        position = tuple((first >> cell & 1) + 2 * (second >> cell & 1) for cell in range(read.board.cells))
        assert move == naive_picks(agent, read.board, position)[0]
        assert not symmetric or position == min(
            (tuple(position[cell] for cell in image) for image in read.board.symmetries),
            key=lambda marks: [sum((mark == player) << cell for cell, mark in enumerate(marks)) for player in (1, 2)],
        )


@pytest.mark.slow
def test_the_script_needs_nothing_of_ours_and_ends_with_a_status(tmp_path: Path) -> None:
    text = SCRIPT.read_text(encoding="utf-8")
    assert "import ttt_batch" not in text and "from ttt_batch" not in text and len(text.splitlines()) <= 160
    path = tmp_path / "proof.npz"
    write_certificate(made(0), path)
    good = subprocess.run([sys.executable, SCRIPT, path], capture_output=True, text=True)
    claim = "board 3x3, the first player cannot lose"
    assert good.returncode == 0
    assert good.stdout == f"claim: {claim}\nholds: {claim}, {made(0).move.size} positions\n"
    path.write_bytes(path.read_bytes()[:-300])
    bad = subprocess.run([sys.executable, SCRIPT, path], capture_output=True, text=True)
    assert bad.returncode == 1 and bad.stderr.startswith("does not hold: ") and bad.stderr.count("\n") == 1


def changed(case: int, number: int, **fields: Any) -> Certificate:
    """A certificate with other values of one position."""
    lists = {name: getattr(made(case), name).copy() for name in fields}
    for name, value in fields.items():
        lists[name][number] = value
    return dataclasses.replace(made(case), **lists)


def without(certificate: Certificate, number: int) -> Certificate:
    lists = {name: np.delete(getattr(certificate, name), number) for name in ("first", "second", "move")}
    return dataclasses.replace(certificate, **lists)


@pytest.mark.slow
@pytest.mark.parametrize("case", [1, 2, 3, 4, 10, 11])
def test_a_position_less_or_a_move_changed_is_found(case: int) -> None:
    certificate = made(case)
    cells, depth = certificate.board.cells, np.bitwise_count(certificate.first)
    numbers = [*np.random.default_rng(case).permutation(certificate.move.size)[:1].tolist(), int(depth.argmax())]
    for number in numbers:
        less = without(certificate, number)
        position = certificate.board.position_of(certificate.first[number], certificate.second[number])
        for wrong in (less, changed(case, number, move=cells), changed(case, number, move=200)):
            assert_refused(wrong)
        for cell in range(cells):
            other = changed(case, number, move=cell)
            if not certificate.board.is_open(position, cell):
                assert_refused(other)
            else:  # it may be a draw as well, or lead only to positions that are listed
                assert (fault_of(other) is None) == (by_script(fields_of(other)) is None)
                assert cell != int(certificate.move[number]) or fault_of(other) is None


def test_a_move_into_the_air_is_refused_in_its_words() -> None:
    wrong = changed(10, 0, move=0)
    assert "the move a1 is in the air" in str(fault_of(wrong))
    assert "has a move that is not allowed" in str(by_script(fields_of(wrong)))


def test_only_boards_on_which_marks_fall_have_the_second_format(tmp_path: Path) -> None:
    for case, version in ((0, 1), (10, 2)):
        arrays = arrays_of(made(case), tmp_path / "proof.npz")
        assert (int(arrays["format"]), arrays["board"].size) == (version, 4 + version)
        np.savez(tmp_path / "other.npz", **arrays | {"format": np.array(3 - version)})
        with pytest.raises(CertificateError, match="its board has a wrong number of entries"):
            read_certificate(tmp_path / "other.npz")
        assert by_script(arrays | {"format": np.array(3 - version)}) == "it is no certificate of format 1 or 2"


def fields_of(certificate: Certificate) -> dict[str, Any]:
    """Return the contents of a certificate's file."""
    board, goals = certificate.board, (CANNOT_LOSE, ALWAYS_WINS)
    numbers = [board.rows, board.cols, board.k, board.misere, board.exact, *([True] if board.gravity else [])]
    return {
        "format": np.array(2 if board.gravity else 1),
        "board": np.array(numbers, np.int64),
        "seat": np.array(certificate.seat),
        "goal": np.array(goals.index(certificate.goal)),
        "symmetric": np.array(certificate.symmetric),
        "first": certificate.first,
        "second": certificate.second,
        "move": certificate.move,
    }


def assert_refused(certificate: Certificate) -> None:
    """Reader and script refuse it, both with a position."""
    said, scripts = fault_of(certificate), by_script(fields_of(certificate))
    assert said is not None and scripts is not None
    assert any(mark in said for mark in "/") and "position " in scripts


def test_more_positions_than_needed_are_found() -> None:
    certificate = made(1)
    for first, second in ((0b11000, 0b100000), (0b1111000, 0b11), (1 << 15, 0), (1 << 15 | 3, 1 << 14 | 4)):
        pairs = sorted({*zip(certificate.first.tolist(), certificate.second.tolist(), strict=True), (first, second)})
        if len(pairs) > certificate.move.size:
            lists = np.array(pairs, np.uint64).T
            at = pairs.index((first, second))
            move = np.insert(certificate.move, at, 7)
            assert_refused(dataclasses.replace(certificate, first=lists[0].copy(), second=lists[1].copy(), move=move))


def test_a_spoilt_move_deep_in_the_tree_is_refused_with_its_position(tmp_path: Path) -> None:
    """A forced block that is not made."""
    certificate, path = made(1), tmp_path / "proof.npz"
    board, found = certificate.board, 0
    for number in np.argsort(-np.bitwise_count(certificate.first))[:20].tolist():
        first, second = int(certificate.first[number]), int(certificate.second[number])
        threats, wins = (
            [line & ~own for line, _ in board.line_masks if not line & other and (line & ~own).bit_count() == 1]
            for own, other in ((first, second), (second, first))
        )
        others = [cell for cell in range(16) if not (first | second | sum(set(threats))) >> cell & 1]
        if wins or threats != [1 << int(certificate.move[number])] or not others:
            continue
        found += 1
        poor = changed(1, number, move=others[0])
        with pytest.raises(
            CertificateError, match=r"does not prove its claim: .*/.*/.*/.* the move .. loses after the reply"
        ):
            arrays_of(poor, path)
            read_certificate(path)
        assert "a reply that beats the agent" in str(by_script(arrays_of(poor, path)))
    assert found


ODD = {
    "board of fractions": {"board": np.array([3.4, 3, 3, 0, 0])},
    "other byte order": {"seat": np.array(0, ">i8")},
    "lists of the other byte order": {
        "first": np.zeros(1, ">u8"),
        "second": np.zeros(1, "u8"),
        "move": np.zeros(1, "u1"),
    },
    "format of a switch": {"format": np.array(True)},
    "two flags": {"symmetric": np.array([True, False])},
    "deep source": {"source": np.array("[" * 100_000)},
    "source of Python": {"source": np.array([{}])},
    "long number": {"source": np.array('{"seed": ' + "9" * 10_000 + "}")},
}
"""Fields that are not what they should be."""


@pytest.mark.parametrize("field", [*FIELDS, "cut", "text", "order", "twice", "off", "turn", "goal", "newer", *ODD])
def test_damage_is_one_line(field: str, tmp_path: Path) -> None:
    path = tmp_path / "proof.npz"
    arrays = arrays_of(made(0), path)
    if field in arrays:
        del arrays[field]
    elif field == "order":
        arrays |= {name: arrays[name][::-1] for name in ("first", "second", "move")}
    elif field == "twice":
        arrays |= {name: np.repeat(arrays[name], 2) for name in ("first", "second", "move")}
    elif field == "off":
        arrays["first"] = arrays["first"] | np.uint64(1 << 40)
    elif field == "turn":
        arrays["seat"] = np.array(1)
    elif field == "newer":
        arrays["format"] = np.array(3)
    elif field in ODD:
        arrays |= ODD[field]
    if field == "goal":
        arrays["goal"] = np.array(1)
    np.savez(path, **arrays)
    if field == "cut":
        path.write_bytes(path.read_bytes()[:-100])
    if field == "text":
        path.write_text("no certificate")
    with pytest.raises(CertificateError, match=r"proof\.npz") as refusal:
        read_certificate(path)
    assert "\n" not in str(refusal.value)
    assert len(str(refusal.value)) < 200 + len(str(path))
    with pytest.raises(Exception):  # noqa: B017 - the script words whatever it meets
        script.Checker(script.read(path)).check()


def test_a_small_file_that_fills_the_memory_is_refused_unread(tmp_path: Path) -> None:
    path = tmp_path / "proof.npz"
    arrays = arrays_of(made(0), path) | {"move": np.zeros(20_000_000, np.uint8)}
    np.savez_compressed(path, **arrays)
    with pytest.raises(CertificateError, match=r"unpacks to 20,\d{3},\d{3} bytes, more than 100 times its size$"):
        read_certificate(path)
    with pytest.raises(ValueError, match=r"more than 100 times its size$"):
        script.read(path)


def test_both_checkers_name_what_is_claimed_first(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "first-wins-6x5x4.npz"
    write_certificate(made(0), path)
    assert run(["check", str(path)]) == 0
    said = capsys.readouterr().out.splitlines()[0]
    assert said.endswith(f"claims: board 3x3, the first player cannot lose, {made(0).move.size} positions")
    assert script.Checker(script.read(path)).claim == "board 3x3, the first player cannot lose"


def test_an_archive_of_an_unknown_kind_and_a_pipe_are_refused_in_our_words(tmp_path: Path) -> None:
    path = tmp_path / "proof.npz"
    arrays_of(made(0), path)
    content = bytearray(path.read_bytes())
    content[content.rfind(b"PK\x01\x02") + 10] = 77  # the compression method of the last field
    path.write_bytes(content)
    with pytest.raises(CertificateError, match=r"certificate: damaged, or not an \.npz file$"):
        read_certificate(path)
    os.mkfifo(tmp_path / "pipe.npz")
    with pytest.raises(CertificateError, match="not an ordinary file"):
        read_certificate(tmp_path / "pipe.npz")


def test_an_agent_that_loses_gets_no_certificate_and_one_of_another_board_is_refused(tmp_path: Path) -> None:
    board = parse_board("3x3")
    with pytest.raises(CertificateError, match=r"no certificate: in position .../.../... the move . loses"):
        certify(weigher(board, 1, takes=False), board, 1, CANNOT_LOSE)
    with pytest.raises(CertificateError, match="does not win"):
        certify(agent_of("3x3", 0, True), board, 0, ALWAYS_WINS)
    with pytest.raises(CertificateError, match="for board 3x3, not for 3x4x3"):
        check_match(made(0), parse_board("3x4x3"), {})
    with pytest.raises(CertificateError, match="another seed: 0, not 7"):
        check_match(made(0), board, {"agent": "weigher", "seed": 7})
    check_match(made(0), board, {"agent": "weigher", "digest": "unknown there"})
    with pytest.raises(UsageError, match=r"give a name such as proof\.npz"):
        check_path(tmp_path / "proof.txt")
    write_certificate(made(0), tmp_path / "proof.npz")
    with pytest.raises(CertificateError, match="exists already"):
        write_certificate(made(0), tmp_path / "proof.npz")


def test_a_pair_is_found_among_ascending_ones():
    """Or the number of lower ones, as a negative number, if it is not there."""
    for held in itertools.combinations(itertools.product(range(3), repeat=2), 3):
        first, second = np.array(held, np.uint64).T.copy()
        for pair in itertools.product(range(4), repeat=2):
            lower = sum(one < pair for one in held)
            found = place_of(first, second, np.uint64(pair[0]), np.uint64(pair[1]))
            assert found == (lower if pair in held else -1 - lower)
