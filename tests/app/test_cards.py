"""Cards of certificates: whoever follows what is printed reaches the goal in every game, and no card is too many."""

import dataclasses
import functools
import re
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from helpers.browser import Browser
from helpers.pages import drive
from helpers.proof_agents import weigher
from helpers.support import command
from helpers.web import play_match

import ttt_batch as ttt
from ttt_batch.app import card_sheets, sheets
from ttt_batch.app.cards import deck_of
from ttt_batch.app.web import page_text
from ttt_batch.core.errors import UsageError
from ttt_batch.core.text import SEATS
from ttt_batch.evaluation.certificates import Certificate, certify, write_certificate
from ttt_batch.evaluation.prover import ALWAYS_WINS, CANNOT_LOSE, Goal
from ttt_batch.games.board import DRAW, FIRST_WINS, UNFINISHED, Board, Game, parse_board

THIRTEEN = (
    (0, 16, 16, 18, 18, 18, 18, 18, 18, 18, 18, 28, 28),
    (0, 1, 2, 5, 9, 12, 65, 68, 129, 136, 192, 352, 416),
    (4, 1, 7, 7, 6, 7, 7, 7, 6, 6, 8, 7, 6),
)
"""A certificate of 13 positions: marks of the first and of the second player, and moves."""

CASES: list[tuple[str, int, bool, int, Goal, bool]] = [
    ("3x3", 0, True, 0, CANNOT_LOSE, True),
    ("3x3", 0, True, 0, CANNOT_LOSE, False),
    ("3x4x4", 0, True, 0, CANNOT_LOSE, True),
    ("3x4x4-misere", 5, False, 1, CANNOT_LOSE, True),
    ("2x4x3-exact", 5, True, 1, CANNOT_LOSE, True),
    ("2x4x3-exact", 5, True, 1, CANNOT_LOSE, False),
    ("2x4x3-misere-exact", 6, False, 0, CANNOT_LOSE, True),
    ("2x3x2", 0, False, 0, ALWAYS_WINS, True),
    ("4x4x3", 2, True, 0, ALWAYS_WINS, True),
    ("3x5x3-gravity", 4, True, 0, ALWAYS_WINS, True),
]
"""Agents that are proved: board, seed, whether they take wins and stop them, seat, goal, and whether images merge."""


@functools.cache
def made(case: int) -> Certificate:
    """Return the certificate of a case, or of 13 positions for -1."""
    if case < 0:
        first, second, move = map(np.array, THIRTEEN)
        words = first.astype(np.uint64), second.astype(np.uint64), move.astype(np.uint8)
        return Certificate(Board(), 0, CANNOT_LOSE, True, *words, {})
    name, seed, takes, seat, goal, symmetric = CASES[case]
    board = parse_board(name)
    return certify(weigher(board, seed, takes=takes), board, seat, goal, symmetric=symmetric)


class Printed(NamedTuple):
    """Face as the page shows it: its foot, and what each cell holds, `X`, `*X` for the own move, `2b@3` or a sign."""

    foot: str
    cells: Any


def printed(certificate: Certificate) -> dict[str, Printed]:
    """Return the faces of a certificate's HTML page, by name."""
    page = card_sheets.cards_html(deck_of(certificate))
    faces = {}
    for name, table, foot in re.findall(
        r"<section><u>(\w+)</u><span>[^<]*</span><table>(.*?)</table><p>(.*?)</p></section>",
        page[page.index("<ol>") :],
    ):
        cells = re.findall(r'<td( class="own")?>(.*?)</td>', table)
        held = [f"{'*' if own else ''}{without_tags(what)}" for own, what in cells]
        assert name not in faces
        faces[name] = Printed(foot, np.array(held, object).reshape(certificate.board.rows, -1))
    return faces


def without_tags(html: str) -> str:
    """Return a cell's text; a number is followed by @ and its quarter turns."""
    number = re.fullmatch(r'<u(?: class="t(\d)")?>(\w+)</u>', html)
    return f"{number[2]}@{number[1] or 0}" if number else re.sub("<.*?>", "", html)


class Child:
    """Player who knows nothing but the faces; plays all games.  used: the faces that some game needs."""

    def __init__(self, certificate: Certificate) -> None:
        self.board, self.seat, self.wins = certificate.board, certificate.seat, certificate.goal == ALWAYS_WINS
        self.faces, self.used, self.safe = printed(certificate), set[str](), set[tuple[int, ...]]()
        self.met: dict[tuple[Any, ...], list[int]] = {}

    def play(self, moves: list[int], name: str, turns: int) -> None:
        """Play all games after some moves, with a face beside the board that is turned clockwise."""
        position = Game(self.board, tuple(moves)).position
        if (position, name, turns) in self.met:
            return
        self.met[position, name, turns] = moves
        self.used.add(name)
        face = self.faces[name]
        seen = np.rot90(face.cells, -turns).ravel()
        assert tuple({"X": 1, "O": 2}.get(what, 0) for what in seen) == position
        own = [cell for cell, what in enumerate(seen) if what in ("*X", "*O")]
        if name == "0":
            assert not own and self.seat == 1
        else:
            assert len(own) == 1 and seen[own[0]] == "*" + "XO"[self.seat]
            moves = [*moves, own[0]]
            position = self.board.after(position, own[0])
            if self.ended(position, {"you win": "★", "a draw": "="}.get(face.foot, "")):
                return
        for cell in self.board.open_cells(position):
            after = self.board.after(position, cell)
            if self.ended(after, seen[cell]):
                continue
            if seen[cell] == "☺":
                assert "☺ you cannot lose any more" in face.foot
                self.play_anything(after)
            else:
                following, more = seen[cell].split("@")
                self.play([*moves, cell], following, (turns + int(more)) % 4)

    def ended(self, position: tuple[int, ...], sign: str) -> bool:
        """Return whether a game is over, as the sign says and not against the goal."""
        outcome = self.board.outcome(position)
        won = outcome == FIRST_WINS + self.seat
        assert won or outcome == UNFINISHED or (outcome == DRAW and not self.wins)
        assert outcome == UNFINISHED or sign == ("★" if won else "=")
        assert outcome != UNFINISHED or sign not in ("★", "=")
        return outcome != UNFINISHED

    def play_anything(self, position: tuple[int, ...]) -> None:
        """The player loses from here in no way of playing on."""
        if position in self.safe:
            return
        self.safe.add(position)
        assert not self.wins and self.board.outcome(position) != FIRST_WINS + 1 - self.seat
        if self.board.outcome(position) == UNFINISHED:
            for cell in self.board.open_cells(position):
                self.play_anything(self.board.after(position, cell))


@pytest.mark.sampled(1)
@pytest.mark.parametrize("case", range(-1, len(CASES)))
def test_whoever_follows_the_cards_reaches_the_goal(case: int) -> None:
    certificate = made(case)
    child = Child(certificate)
    child.play([], str(1 - certificate.seat), 0)
    assert child.used == child.faces.keys()
    numbers = {int(name.rstrip("b")) for name in child.faces}
    assert numbers == set(range(1 - certificate.seat, certificate.move.size + 1))
    assert certificate.symmetric or not any(name.endswith("b") for name in child.faces)


@pytest.mark.slow
def test_thirteen_cards_have_eighteen_faces_on_a_page_of_text_and_one_sheet() -> None:
    deck = deck_of(made(-1))
    assert (len(deck.cards), sum(map(len, deck.cards))) == (13, 18)
    assert deck.title == "13 cards with which X never loses: tic-tac-toe"
    texts = dict(deck.paragraphs)
    assert "every number from 1 to 13" in texts["Make the cards"] and "fold it there" in texts["Make the cards"]
    assert texts["Play"].endswith("lay card 1 beside it. Mark the cell that is black on the card.")
    assert texts["Is a card missing?"].endswith("Then you have proved that X never loses.")
    content = sheets.pdf_of(deck.title, card_sheets.pages_of(deck))
    assert content.startswith(b"%PDF") and content.count(b"/MediaBox") == 2
    assert sheets.pdf_of(deck.title, card_sheets.pages_of(deck)) == content  # also seconds later


def test_the_words_fit_the_certificate() -> None:
    second = deck_of(made(3))
    assert second.title == "121 cards with which O never loses: board 3x4x4-misere"
    texts = dict(second.paragraphs)
    assert "from 0 to 121" in texts["Make the cards"]
    assert "loses. You are O, and X begins." in texts["Play"]
    assert "see that O cannot complete a line" in texts["Is a card missing?"]
    upright = dict(deck_of(made(1)).paragraphs)
    assert "fold" not in upright["Make the cards"] and "Lay it upright." in upright["The next card"]
    falls = dict(deck_of(made(9)).paragraphs)
    assert "A mark falls to the lowest free cell of its column. You are X and begin." in falls["Play"]
    wins = deck_of(made(7))
    assert wins.title == "4 cards with which X always wins: board 2x3x2" and "Signs" not in dict(wins.paragraphs)


@pytest.mark.sampled(1)
@pytest.mark.parametrize("case", [-1, 8])
def test_the_sheets_hold_what_the_page_holds(case: int) -> None:
    certificate = made(case)
    wanted = []
    for name, face in printed(certificate).items():
        for what in (f"{name}@0", *face.cells.ravel()):
            text, _, turns = what.lstrip("*").partition("@")
            wanted += [(text, -90 * int(turns or 0) % 360)] if text else []
    with sheets.package_style():
        _, *pages = card_sheets.pages_of(deck_of(certificate))
    assert all(page.get_size_inches() * 25.4 == pytest.approx((210, 297)) for page in pages)
    drawn = [(text.get_text(), text.get_rotation() % 360) for page in pages for text in page.axes[0].texts]
    apart = [one for one in drawn if one[0] and not re.match("move|start|you win|a draw|☺ you|★ you|= a", one[0])]
    assert sorted(apart) == sorted(wanted)


@pytest.mark.sampled(1)
@pytest.mark.parametrize("case", [-1, 3, 7, 9])
def test_the_page_lays_the_cards_as_a_child_does(case: int, tmp_path: Path) -> None:
    certificate = made(case)
    child = Child(certificate)
    child.play([], str(1 - certificate.seat), 0)
    said = play_match(deck_of(certificate), tmp_path, [{"at": moves} for moves in child.met.values()])
    for (position, name, turns), found in zip(child.met, said, strict=True):
        assert found["on"] and not found["safe"]
        assert (found["laid"]["name"], found["laid"]["turns"]) == (name, turns)
        assert found["laid"]["marks"] == "".join(".XO"[mark] for mark in position)


@pytest.mark.slow
@pytest.mark.parametrize("case", [-1, 4, 7, 9])
def test_the_page_plays_the_cards(case: int, tmp_path: Path) -> None:
    certificate = made(case)
    found = drive(deck_of(certificate), tmp_path, 300)
    tally = found["tallies"][SEATS[certificate.seat]]
    assert sum(tally.values()) == 300
    assert tally["you"] == 0 and (certificate.goal == CANNOT_LOSE or tally["draw"] == 0)
    solved = 150_000 if certificate.board.gravity else 80_000  # 15 cells have more positions to know the truth of
    assert (tmp_path / "page.html").stat().st_size < solved


def test_a_game_off_the_cards_and_one_that_needs_none(tmp_path: Path) -> None:
    """The agent goes on with any free cell; a position of a card that comes by other moves is found by its marks."""
    jobs = [{"at": moves} for moves in ([4], [4, 0, 1, 3, 6, 2], [0], [1, 0, 4])]
    first, safe, other, moved = play_match(deck_of(made(-1)), tmp_path, jobs)
    assert (first["laid"]["name"], first["on"], first["safe"]) == ("1", True, False)
    assert (safe["laid"]["name"], safe["on"], safe["safe"]) == ("5", False, True)
    assert (other["laid"], other["on"], other["safe"]) == (None, False, False)
    assert (moved["laid"], moved["on"]) == (None, False)


@pytest.mark.slow  # a browser takes five seconds to start
def test_the_card_in_use_is_beside_the_board(browser: Browser) -> None:
    deck = deck_of(made(-1))
    browser.open(deck)
    browser.wait_for_agent()
    card = browser.driver.find_element("class name", "card")
    assert card.text.startswith("Card in use: 1") and browser.position[4] == 1
    assert not browser.do("return document.querySelector('input[value=first]').checked")
    browser.press("s")
    assert browser.status == "It has cards for the first player alone: you are O."
    browser.cells()[7].click()
    browser.wait_for_agent()
    assert browser.position[1] == 1 and card.text.split("\n")[0] == "Card in use: 3"
    assert browser.do("return document.querySelector('.card u').style.getPropertyValue('--turns')") == "2"
    browser.do("location.hash = 'XX./.O./...'")
    browser.wait("document.querySelector('.card').textContent.endsWith('This position is on no card.')")
    browser.do("location.hash = 'X../.O./...'")
    browser.wait("document.getElementById('status').textContent.startsWith('It has cards')")
    assert browser.errors() == [] and browser.do("return violations") == []


@pytest.mark.parametrize(
    ("name", "columns", "rows"), [("3x3", 4, 5), ("3x4x3", 4, 5), ("6x6x5", 2, 3), ("5x12x5", 2, 5), ("12x1x3", 4, 1)]
)
def test_faces_have_room_on_a_sheet(name: str, columns: int, rows: int) -> None:
    board = parse_board(name)
    layout = card_sheets.face_layout(board)
    assert (layout.columns, layout.rows) == (columns, rows)
    assert layout.columns * layout.width <= 190 and layout.rows * layout.height <= 277
    assert board.cols * layout.cell <= layout.width - 6


def test_the_command_writes_cards(capsys: Any) -> None:
    write_certificate(made(-1), Path("proof.npz"))
    assert command(capsys, "export", "proof.npz", "--to", "cards")[:2] == (0, "wrote proof-cards.pdf\n")
    assert command(capsys, "export", "proof.npz", "-o", "named.pdf")[:2] == (0, "wrote named.pdf\n")
    assert Path("named.pdf").read_bytes() == Path("proof-cards.pdf").read_bytes()
    status, out, _ = command(capsys, "export", "proof.npz", "--to", "cards", "-o", "cards.html", "--json")
    page = Path("cards.html").read_text(encoding="utf-8")
    assert status == 0 and '"cards.html"' in out and page == card_sheets.cards_html(deck_of(made(-1)))
    assert "<script" not in page and page.count("<section") == 20  # with the example
    assert ttt.export_run("proof.npz", "again.html", "cards") == [Path("again.html")]
    assert Path("again.html").read_text(encoding="utf-8") == page
    assert command(capsys, "export", "proof.npz", "-o", "page.html")[:2] == (0, "wrote page.html\n")
    assert Path("page.html").read_text(encoding="utf-8") == page_text(deck_of(made(-1)))
    assert command(capsys, "page", "proof.npz")[:2] == (0, "wrote proof.html: open it in a browser\n")
    assert Path("proof.html").read_bytes() == Path("page.html").read_bytes()
    assert command(capsys, "page", "proof.npz", "--board", "3x3")[0] == command(capsys, "page", "proof.h5")[0] == 2


def test_what_cannot_be_printed_is_refused_in_a_line(tmp_path: Path, capsys: Any) -> None:
    write_certificate(made(-1), Path("proof.npz"))
    Path("damaged.npz").write_bytes(Path("proof.npz").read_bytes()[:-200])
    moves = made(-1).move.copy()
    moves[1] = 2
    write_certificate(dataclasses.replace(made(-1), move=moves), Path("wrong.npz"))
    pairs = [1 << low | 1 << high for high in range(2, 64) for low in range(2, high)][:501]
    for name, board, first, second in (
        ("many", Board(8, 8, 5), [3] * 501, pairs),
        ("none", Board(1, 5, 5), [], []),
        ("long", Board(1, 13, 3), [0], [0]),
    ):
        lists = np.array(first, np.uint64), np.array(second, np.uint64), np.zeros(len(first), np.uint8)
        write_certificate(Certificate(board, 0, CANNOT_LOSE, True, *lists, {}), Path(f"{name}.npz"))
    cases = {
        "damaged.npz": "damaged.npz is not a valid certificate: damaged, or not an .npz file",
        "missing.npz": "there is no file missing.npz; check the name",
        "wrong.npz": "wrong.npz does not prove its claim: position ",
        "many.npz": "many.npz has 501 positions, and cards are for 1 to 500; print a smaller one",
        "none.npz": "none.npz has 0 positions, and cards are for 1 to 500; nothing can be lost on this board",
        "long.npz": "board 1x13x3 of long.npz is too large for cards: they show at most 12 rows and columns",
    }
    for name, wanted in cases.items():
        status, out, err = command(capsys, "export", name, "--to", "cards")
        assert (status, out) == (1, "") and err.startswith(f"ttt-batch: {wanted}") and err.count("\n") == 1, name
    options = {
        ("--to", "cards", "-o", "cards.png"): "cannot print cards into cards.png: sheets are a .pdf or an .html file",
        ("--to", "boxes"): "format boxes is for runs of menace; choose cards, html, json or csv",
        (): "no format given",
        ("--to", "html", "--ties", "any"): "--ties is for runs; leave it out",
        ("--to", "cards", "--player", "first"): "--player is for runs; leave it out",
        ("-o", "a.pdf", "-o", "b.pdf"): "a deck is one file; give one --out FILE",
        ("--board", "3x3"): "proof.npz is a certificate; leave it out",
        ("--trust",): "--trust is for runs; leave it out",
        ("-o", "proof.npz"): "proof.npz",
    }
    for words, wanted in options.items():
        status, _, err = command(capsys, "export", "proof.npz", *words)
        assert status == 2 and wanted in err and err.count("\n") == 1, words
    ttt.train(100, learner="td", out="td.h5")
    status, _, err = command(capsys, "export", "td.h5", "--to", "cards")
    assert status == 2 and "make one with ttt-batch prove RUN --certificate FILE.npz" in err
    with pytest.raises(UsageError, match="cards are of a certificate"):
        ttt.export_run("td.h5", "cards.pdf", "cards")
    assert {path.suffix for path in tmp_path.iterdir()} == {".npz", ".h5"}
