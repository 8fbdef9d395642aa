"""Numbered cards of a certificate, for a player without a computer.

A card shows a position and the player's move.  In each cell that the opponent can mark then, it shows what follows: the
number of the next card, or a sign.  Images of a position share a card.  So the next card may have to be turned, and
turned over: its back is its mirror image.  A number is printed just as its card must lie, beside the card on which it
stands.  Then the card looks like the board, and the player sees at once if it does not.

Cards are numbered by moves.  A card's front is as the position first comes about, so that most numbers are upright.
A card has a back only if some game needs it.  If the opponent begins, card 0 shows the empty board.
"""

from collections.abc import Iterator
from typing import NamedTuple

from ttt_batch.app.sheets import Paragraphs
from ttt_batch.core.text import count_text
from ttt_batch.evaluation.certificates import Certificate
from ttt_batch.evaluation.prover import CANNOT_LOSE
from ttt_batch.games.board import DRAW, EMPTY, MARKS, UNFINISHED, Board, Position, rules_text

WON, SAFE, DRAWN = "★", "☺", "="
"""Signs: the player has won, cannot lose any more whatever it marks, or the board is full."""

MEANINGS = {WON: "you win", DRAWN: "a draw", SAFE: "you cannot lose any more"}
"""Meanings of the signs, in the words of a card."""


def face_name(card: int, back: bool) -> str:
    """Return the name of a face: `7`, or `7b` for a back."""
    return f"{card}{'b' if back else ''}"


class Next(NamedTuple):
    """Next card, as it must lie in relation to the present face.

    card: its number.  back: True if its back is up.  turns: quarter turns clockwise, 0 to 3.
    """

    card: int
    back: bool
    turns: int

    @property
    def name(self) -> str:
        """Return the name of its face."""
        return face_name(self.card, self.back)


class Face(NamedTuple):
    """Front or back of a card.

    position: the marks that it shows, upright.  move: the cell of the player's move; None on card 0.
    replies: by the cell of the opponent's reply, the next card or a sign.
    end: sign for the move itself, if the game is over after it; else empty.
    """

    card: int
    back: bool
    position: Position
    move: int | None
    replies: dict[int, Next | str]
    end: str

    @property
    def name(self) -> str:
        """Return its name."""
        return face_name(self.card, self.back)

    @property
    def head(self) -> str:
        """Return the text beside its name."""
        return "start" if self.move is None else f"move {self.marks // 2 + 1}"

    @property
    def foot(self) -> list[str]:
        """Return the lines below its board."""
        if self.end:
            return [MEANINGS[self.end]]
        return [f"{sign} {meaning}" for sign, meaning in MEANINGS.items() if sign in self.replies.values()]

    @property
    def marks(self) -> int:
        """Return the number of marks on it, without the player's move."""
        return len(self.position) - self.position.count(EMPTY)

    def cells(self) -> Iterator[tuple[str, Next | str]]:
        """Yield what each cell holds: its kind, which is `mark`, `own`, `next`, `sign` or `free`, and what."""
        for cell, mark in enumerate(self.position):
            reply = self.replies.get(cell, "")
            if mark != EMPTY:
                yield "mark", MARKS[mark]
            elif cell == self.move:
                yield "own", MARKS[1 + self.marks % 2]
            else:
                yield "next" if isinstance(reply, Next) else "sign" if reply else "free", reply


class Deck(NamedTuple):
    """Cards of a certificate that holds, and the page about them.

    cards: by number, each with its front and its back, or only its front.
    title: one line.  paragraphs: how to make the cards, to play with them and to check them, for a child.
    example: a face, the cell of a reply, and the next card, turned if there is such a card; None without a next card.
    """

    certificate: Certificate
    cards: list[list[Face]]
    title: str
    paragraphs: Paragraphs
    example: tuple[Face, int, Next] | None

    @property
    def board(self) -> Board:
        """Return the board of the certificate."""
        return self.certificate.board


def looks_of(board: Board, symmetric: bool) -> Iterator[tuple[bool, int, tuple[int, ...]]]:
    """Yield (back, turns, cells) for each way to lay a card; cell `i` of the picture shows the front's `cells[i]`.

    turns: quarter turns clockwise.  symmetric: whether images of a position share a card.
    """
    images = board.images(symmetric)
    front = [[row * board.cols + col for col in range(board.cols)] for row in range(board.rows)]
    for back, grid in ((False, front), (True, [line[::-1] for line in front])):
        for turns in range(4):
            cells = tuple(cell for line in grid for cell in line)
            if len(grid) == board.rows and cells in images:
                yield back, turns, cells
            grid = [list(line) for line in zip(*grid[::-1], strict=True)]


class _Maker:
    """Maker of faces.  fronts: position and move of each card's front, by number; grows as cards are met."""

    def __init__(self, certificate: Certificate) -> None:
        self.board = certificate.board
        self.looks = list(looks_of(self.board, certificate.symmetric))
        self.fronts: list[tuple[Position, int | None]] = [((EMPTY,) * self.board.cells, None)]
        self._listed: dict[Position, tuple[int, int]] = {}
        self._numbers: dict[int, int] = {}
        moves = zip(certificate.first.tolist(), certificate.second.tolist(), certificate.move.tolist(), strict=True)
        for index, (first, second, move) in enumerate(moves):
            position = self.board.position_of(first, second)
            for _, _, cells in self.looks:
                self._listed.setdefault(tuple(position[cell] for cell in cells), (index, cells.index(move)))

    def follow(self, position: Position) -> Next | str:
        """Return what follows a position with the player to move; a card is added if none has an image of it.

        A certificate that holds lists every unfinished position in which something can be lost yet.
        """
        if (sign := self.sign(position)) or position not in self._listed:
            return sign or SAFE
        index, move = self._listed[position]
        number = self._numbers.setdefault(index, len(self.fronts))
        if number == len(self.fronts):
            self.fronts.append((position, move))
        front = self.fronts[number][0]
        ways = (way for way in self.looks if tuple(front[cell] for cell in way[2]) == position)
        back, turns, _ = next(ways)
        return Next(number, back, turns)

    def sign(self, position: Position) -> str:
        """Return the sign for the end of a game, which the player has not lost; empty for an unfinished one."""
        outcome = self.board.outcome(position)
        return "" if outcome == UNFINISHED else DRAWN if outcome == DRAW else WON

    def face(self, card: int, *, back: bool = False) -> Face:
        """Return a face of a card."""
        cells = next(cells for turned, turns, cells in self.looks if turned is back and not turns)
        position, move = self.fronts[card]
        position = now = tuple(position[cell] for cell in cells)
        if move is not None:
            move = cells.index(move)
            now = self.board.after(position, move)
        end = self.sign(now)
        cells_left = [] if end else self.board.open_cells(now)
        replies = {cell: self.follow(self.board.after(now, cell)) for cell in cells_left}
        return Face(card, back, position, move, replies, end)


def faces_of(certificate: Certificate) -> list[list[Face]]:
    """Return the cards of a certificate that holds (see `certificates.fault_of`), as in `Deck`."""
    maker, first = _Maker(certificate), 1 - certificate.seat
    if first == 1:
        maker.follow(maker.fronts[0][0])
    fronts, backs = list[Face](), dict[int, Face]()
    while first + len(fronts) < len(maker.fronts):
        fronts.append(maker.face(first + len(fronts)))
    todo = [*fronts]
    while todo:
        for reply in todo.pop().replies.values():
            if isinstance(reply, Next) and reply.back and reply.card not in backs:
                backs[reply.card] = maker.face(reply.card, back=True)
                todo.append(backs[reply.card])
    return [[front, *([backs[front.card]] if front.card in backs else [])] for front in fronts]


def deck_of(certificate: Certificate) -> Deck:
    """Return the deck of a certificate that holds and lists a position."""
    board, cards, mark = certificate.board, faces_of(certificate), MARKS[1 + certificate.seat]
    does = "never loses" if certificate.goal == CANNOT_LOSE else "always wins"
    game = "tic-tac-toe" if board == Board() else f"board {board.name}"
    title = f"{count_text(certificate.move.size, 'card')} with which {mark} {does}: {game}"
    replies = [(face, *reply) for card in cards for face in card for reply in face.replies.items()]
    follows = [(face, cell, reply) for face, cell, reply in replies if isinstance(reply, Next)]
    example = min(follows, key=lambda one: (one[2].turns == 0, not one[2].back), default=None)
    return Deck(certificate, cards, title, _paragraphs(certificate, cards, f"{mark} {does}"), example)


def _paragraphs(certificate: Certificate, cards: list[list[Face]], claim: str) -> Paragraphs:
    """Return the paragraphs of a deck.  claim: what the cards do, such as `X never loses`."""
    board, mark, other = certificate.board, MARKS[1 + certificate.seat], MARKS[2 - certificate.seat]
    replies = [reply for card in cards for face in card for reply in face.replies.values()]
    backs = any(len(card) > 1 for card in cards)
    turned = backs or any(isinstance(reply, Next) and reply.turns for reply in replies)
    first, last = (card[0].card for card in (cards[0], cards[-1]))
    fold = "Two boards with a dotted line between them are one card: fold it there and glue it. A b marks the back. "
    make = f"Cut along the dashed lines. {fold if backs else ''}You need every number from {first} to {last}."
    draw = f"Draw a board of {count_text(board.rows, 'row')} and {count_text(board.cols, 'column')}"
    begin = (
        f"You are {mark} and begin. {draw}, and lay card 1 beside it. Mark the cell that is black on the card."
        if first
        else f"You are {mark}, and {other} begins. {draw}, and lay card 0 beside it."
    )
    lay = (
        "Lay it just as the number in the cell stands, with the lines below both numbers on the same side. Now it "
        f"looks like the board. If it does not, turn it{', or turn it over,' if backs else ''} until it does."
        if turned
        else "Lay it upright. Now it looks like the board."
    )
    step = (
        f"Look on your card into the cell that {other} has marked. A number there is your next card. {lay} Its black "
        "cell is your next move. Go on like this to the end of the game."
    )
    signs = {
        WON: "You have won.",
        SAFE: "You cannot lose any more. Mark any free cells until the end, and perhaps you win.",
        DRAWN: "The board is full, and nobody has won.",
    }
    told = " ".join(f"{sign} {meaning}" for sign, meaning in signs.items() if sign in replies)
    safe = f"At each {SAFE}, see that {mark if board.misere else other} cannot complete a line, wherever both mark. "
    check = (
        f"On every card, each cell that {other} can mark must hold a number or a sign, unless the game is over. Take "
        "the card of each number, and lay it as the number stands. It must show the same marks, your move, and the "
        f"reply in that cell. Where you win, find the line. {safe if SAFE in replies else ''}If all this is right, no "
        f"game leaves the cards. Then you have proved that {claim}."
    )
    return [
        ("Make the cards", make),
        ("Play", f"{rules_text(board)} {begin}"),
        ("The next card", step),
        *([("Signs", told)] if told else []),
        ("Is a card missing?", check),
    ]
