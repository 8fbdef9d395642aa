"""Sheets of a certificate's cards as a PDF or an HTML page: the page about them, and the cards to cut out.

The player's move is white on black.  A card with a back is two faces side by side, to be folded between them.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from ttt_batch.app import sheets
from ttt_batch.app.cards import Deck, Face, Next, deck_of
from ttt_batch.app.web import export_page
from ttt_batch.core.errors import CertificateError
from ttt_batch.core.files import shown
from ttt_batch.evaluation.certificates import check_holds, load_certificate
from ttt_batch.games.board import Board
from ttt_batch.runs.formats import check_targets

MOST_CARDS, MOST_SIDE = 500, 12
"""Most cards of a deck, and most cells in a row or a column of a printed board."""

EXAMPLE = "The other player marks the cell with the ring. So the next card lies like this:"


class FaceLayout(NamedTuple):
    """Faces in a row of a sheet, rows of a sheet, and sizes: of a face and of its cells in mm, of letters in points."""

    columns: int
    rows: int
    width: float
    height: float
    cell: float
    mark: float
    number: float


SHEET = 184.0, 276.0
"""Width and height of all faces of a sheet."""

HEAD, FOOT = 10.0, 9.0
"""Height of a face above and below its board."""


def face_layout(board: Board) -> FaceLayout:
    """Return the layout of the faces of a board."""
    columns = 4 if board.cols <= 4 else 2
    width = SHEET[0] / columns
    cell = min(12.0, (width - 7) / board.cols, (SHEET[1] - HEAD - FOOT) / board.rows)
    height = HEAD + board.rows * cell + FOOT
    mark, number = round(1.9 * cell, 1), round(min(11.0, 0.9 * cell), 1)
    return FaceLayout(columns, int(SHEET[1] // height), width, height, cell, mark, number)


STYLE = """
@page {{ margin: 10mm 13mm }}
ol {{ display: grid; grid-template-columns: repeat({columns}, {width:g}mm); margin: 0; padding: 0; list-style: none;
  break-before: page }}
li {{ display: flex; height: {height:g}mm; border: .2mm dashed #777; box-sizing: border-box; break-inside: avoid }}
.faces2 {{ grid-column: span 2 }}
section {{ width: {width:g}mm; box-sizing: border-box; padding: 1.5mm 3mm }}
li > section + section {{ border-left: .5mm dotted #777 }}
section > u {{ font: bold 13pt sans-serif }}
section > span {{ float: right; font-size: 8pt }}
section > p {{ text-align: center; font-size: 6.5pt; line-height: 1.25 }}
table {{ border-collapse: collapse; margin: 1mm auto }}
td {{ border: .25mm solid #000; width: {cell:g}mm; height: {cell:g}mm; box-sizing: border-box; padding: 0;
  text-align: center; font: bold {mark:g}pt/1 sans-serif }}
tr:first-child td {{ border-top: 0 }} tr:last-child td {{ border-bottom: 0 }}
td:first-child {{ border-left: 0 }} td:last-child {{ border-right: 0 }}
td u, td i {{ display: inline-block; font: {number:g}pt/1.1 sans-serif; vertical-align: middle }}
u {{ text-underline-offset: .15em }}
.t1 {{ transform: rotate(90deg) }} .t2 {{ transform: rotate(180deg) }} .t3 {{ transform: rotate(270deg) }}
.own {{ background: #000; color: #fff; -webkit-print-color-adjust: exact; print-color-adjust: exact }}
.ring {{ outline: .4mm solid #000; outline-offset: -1mm; border-radius: 50% }}
div {{ display: flex; gap: 12mm; break-inside: avoid }}
"""


def cards_html(deck: Deck) -> str:
    """Return the page of a deck."""
    board, pieces = deck.board, ""
    if deck.example is not None:
        face, cell, reply = deck.example
        pair = f"{_section(board, face, ring=cell)}{_section(board, _face(deck, reply), reply.turns)}"
        pieces = f"<h2>An example</h2>\n<p>{EXAMPLE}</p>\n<div>{pair}</div>\n"
    items = "\n".join(
        f'<li class="faces{len(card)}">{"".join(_section(board, face) for face in card)}</li>' for card in deck.cards
    )
    style = STYLE.format(**face_layout(board)._asdict())
    return sheets.html_page(deck.title, deck.paragraphs, style, f"{pieces}<ol>\n{items}\n</ol>")


def _face(deck: Deck, reply: Next) -> Face:
    return deck.cards[reply.card - deck.cards[0][0].card][reply.back]


def _section(board: Board, face: Face, turns: int = 0, ring: int | None = None) -> str:
    """Return a face as HTML, turned clockwise.  ring: a cell to be ringed."""
    cells = []
    for cell, (kind, what) in enumerate(face.cells()):
        held = str(what)
        if isinstance(what, Next):
            held = f"<u{_turned(what.turns)}>{what.name}</u>"
        elif kind == "sign":
            held = f"<i>{what}</i>"
        known = "ring" if cell == ring else "own" if kind == "own" else ""
        cells.append(f'<td class="{known}">{held}</td>' if known else f"<td>{held}</td>")
    rows = ("".join(cells[first : first + board.cols]) for first in range(0, board.cells, board.cols))
    table = "".join(f"<tr>{row}</tr>" for row in rows)
    head = f"<u>{face.name}</u><span>{face.head}</span>"
    return f"<section{_turned(turns)}>{head}<table>{table}</table><p>{'<br>'.join(face.foot)}</p></section>"


def _turned(turns: int) -> str:
    return f' class="t{turns}"' if turns else ""


def pages_of(deck: Deck) -> Iterator[Any]:
    """Yield the figures of a deck: the page of text, and the sheets of cards."""
    layout = face_layout(deck.board)
    yield _first_page(deck, layout)
    pages: list[list[tuple[int, int, list[Face]]]] = [[]]
    row = column = 0
    for card in deck.cards:
        if column + len(card) > layout.columns:
            row, column = row + 1, 0
        if row == layout.rows:
            row = 0
            pages.append([])
        pages[-1].append((row, column, card))
        column += len(card)
    for places in pages:
        yield _sheet(deck.board, layout, places)


LEFT, TOP = ((whole - used) / 2 for whole, used in zip((sheets.WIDTH, sheets.HEIGHT), SHEET, strict=True))


def _first_page(deck: Deck, layout: FaceLayout) -> Any:
    """Return the page of text, with the example if it has room."""
    figure, axes, y = sheets.text_page(deck.title, deck.paragraphs)
    if deck.example is not None and y + 4 + layout.height < sheets.HEIGHT - TOP:
        face, cell, reply = deck.example
        axes.text(20, y, "An example", size=11, weight="bold")
        axes.text(20, y + 4, EXAMPLE, size=10, va="top")
        _draw(axes, LEFT + 7, y + 12, deck.board, layout, face, ring=cell)
        _draw(axes, LEFT + layout.width + 20, y + 12, deck.board, layout, _face(deck, reply), reply.turns)
    return figure


def _sheet(board: Board, layout: FaceLayout, places: list[tuple[int, int, list[Face]]]) -> Any:
    """Return a sheet of cards.  places: row, column and faces of each."""
    figure, axes = sheets.empty_page()
    for row, column, card in places:
        x, y = LEFT + column * layout.width, TOP + row * layout.height
        sheets.draw_cut(axes, x, y, len(card) * layout.width, layout.height)
        for number, face in enumerate(card):
            _draw(axes, x + number * layout.width, y, board, layout, face)
        if len(card) > 1:
            fold = [x + layout.width] * 2
            axes.plot(fold, [y, y + layout.height], color="0.45", linewidth=1, linestyle=(0, (1, 3)))
    return figure


def _draw(
    axes: Any, x: float, y: float, board: Board, layout: FaceLayout, face: Face, turns: int = 0, ring: int | None = None
) -> None:
    """Draw a face in the rectangle from (x, y), turned clockwise about its middle.  ring: a cell to be ringed."""
    from matplotlib.patches import Circle, Rectangle
    from matplotlib.transforms import Affine2D

    side, middle = layout.cell, x + layout.width / 2
    turned = Affine2D().rotate_deg_around(middle, y + layout.height / 2, 90 * turns) + axes.transData

    def write(u: float, v: float, text: str, size: float, more: int = 0, **look: Any) -> None:
        """Write text at (u, v), turned clockwise by `more` quarters."""
        place: dict[str, Any] = {"rotation": -90 * (turns + more), "rotation_mode": "anchor", "transform": turned}
        axes.text(u, v, text, size=size, **place, **look)

    def number(u: float, v: float, text: str, size: float, more: int = 0, **look: Any) -> None:
        """Write a number around (u, v), with the line at its foot."""
        write(u, v, text, size, more, ha="center", va="center", **look)
        foot, half = 0.22 * size, 0.11 * size * len(text)
        line = Affine2D().rotate_deg(90 * more).translate(u, v) + turned
        axes.plot([-half, half], [foot, foot], color="black", linewidth=0.9, transform=line)

    number(x + 8, y + 5.5, face.name, 13, weight="bold")
    write(x + layout.width - 3, y + 6.5, face.head, 8, ha="right")
    left, top = middle - board.cols * side / 2, y + HEAD
    sheets.draw_lines(axes, left, top, board.rows, board.cols, side, transform=turned)
    for cell, (kind, what) in enumerate(face.cells()):
        row, column = divmod(cell, board.cols)
        center = left + (column + 0.5) * side, top + (row + 0.5) * side
        if kind == "own":
            corner = left + column * side, top + row * side
            axes.add_patch(Rectangle(corner, side, side, color="black", transform=turned))
        if isinstance(what, Next):
            number(*center, what.name, layout.number, what.turns)
        elif kind == "sign":
            write(*center, what, layout.number, ha="center", va="center")
        else:
            ink = "white" if kind == "own" else "black"
            write(*center, what, layout.mark, weight="bold", ha="center", va="center_baseline", color=ink)
        if cell == ring:
            axes.add_patch(Circle(center, 0.45 * side, fill=False, linewidth=1.2, transform=turned))
    foot = "\n".join(face.foot)
    write(middle, top + board.rows * side + 1, foot, 6.5, ha="center", va="top", linespacing=1.2)


def export_cards(path: str | Path, out: str | Path, *, to: str = "cards", overwrite: bool = False) -> Path:
    """Write the cards of a certificate's file to `out`, and return that path.

    to: `cards`, a .pdf or an .html file to print; or `html`, a page that plays by them.
    Raises CertificateError for a certificate that does not hold or that has too many cards, and the errors of
    `sheets.check_sheets`, `sheets.write_sheets` and `web.export_page`.
    """
    path, out = Path(path), Path(out)
    if to == "html":
        check_targets([out], overwrite=overwrite)
        return export_page(read_deck(path), out, overwrite=overwrite)
    sheets.check_sheets(out, "cards", overwrite=overwrite)
    deck = read_deck(path)
    sheets.write_sheets(out, deck.title, pages_of(deck), lambda: cards_html(deck), overwrite=overwrite)
    return out


def read_deck(path: Path) -> Deck:
    """Return the deck of a certificate's file.  Raises CertificateError as `export_cards` does."""
    certificate = load_certificate(path)
    n, board = certificate.move.size, certificate.board
    if not 0 < n <= MOST_CARDS:
        remedy = "print a smaller one" if n else "nothing can be lost on this board"
        raise CertificateError(f"{shown(path)} has {n:,} positions, and cards are for 1 to {MOST_CARDS}; {remedy}")
    if max(board.rows, board.cols) > MOST_SIDE:
        raise CertificateError(
            f"board {board.name} of {shown(path)} is too large for cards: they show at most {MOST_SIDE} rows and "
            "columns; print a certificate of a smaller board"
        )
    check_holds(certificate, path)
    return deck_of(certificate)
