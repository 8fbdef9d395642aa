"""What `show` prints of a position: boards side by side, a few lines in words, a table of moves.

Plain ASCII within 80 columns, but for the name of a file.  Boards that are wider are left out; what they show stands in
the table and in lists of moves, too.
"""

import math
import textwrap
from collections.abc import Sequence

from ttt_batch.board import DRAW, EMPTY, FIRST_WINS, MARKS, UNFINISHED, Board, Position
from ttt_batch.notation import moves_text, rows_text
from ttt_batch.showing import WORDS, Move, Shown
from ttt_batch.truth import Truth

WIDTH = 80

GAP = "   "
"""Between boards that stand side by side."""


def show_text(shown: Shown, name: str) -> str:
    """What `show` prints; name: what to call the run."""
    board = shown.board
    lines = [
        f"{name}: {shown.learner} on {board.name}",
        *_folded(f"position {rows_text(board, shown.position)}, code {shown.code}: {_state(shown)}"),
        "",
        *side_by_side(_boards(shown)),
        "",
        *_summary(shown),
        *_table(shown),
        *_line(shown),
        *_images(shown),
    ]
    return "\n".join(line.rstrip() for line in lines)


def _folded(text: str, indent: str = "") -> list[str]:
    """A line in as many as it takes."""
    return textwrap.wrap(
        text,
        WIDTH,
        initial_indent=indent,
        subsequent_indent=indent or "  ",
        break_long_words=False,
        break_on_hyphens=False,
    )


def _state(shown: Shown) -> str:
    """Who moves, or how the game ended."""
    if shown.player is not None:
        return f"{MARKS[1 + shown.player]} to move"
    return "a draw" if shown.outcome == DRAW else f"{'X' if shown.outcome == FIRST_WINS else 'O'} has won"


def _boards(shown: Shown) -> list[list[str]]:
    """The position with the names of its free cells, the agent's value of each, and the truth of each."""
    board, position = shown.board, shown.position
    free = {move.cell: move for move in shown.moves}

    def drawn(title: str, labels: dict[int, str]) -> list[str]:
        texts = [labels[cell] if cell in labels else MARKS[mark] for cell, mark in enumerate(position)]
        return [title, *draw(board, texts)]

    small = board.cells <= 9
    names = {cell: move.name if small else MARKS[EMPTY] for cell, move in free.items()}
    found = [drawn("position", names)]
    if free:
        found.append(drawn("agent's values", {cell: value_text(move.value) for cell, move in free.items()}))
        truths = {cell: _short(move.truth, shown.player or 0) for cell, move in free.items() if move.truth is not None}
        if truths:
            found.append(drawn("truth, in plies", truths))
    return [block for block in found if max(map(len, block)) <= WIDTH]


def draw(board: Board, labels: Sequence[str]) -> list[str]:
    """One label per cell: between rules on boards of up to nine cells, else below column letters, beside numbers."""
    width = max(map(len, labels))
    rows = [labels[row * board.cols : (row + 1) * board.cols] for row in range(board.rows)]
    if board.cells <= 9:
        lines = ["|".join(f" {label.center(width)} " for label in row) for row in rows]
        rule = "+".join(["-" * (width + 2)] * board.cols)
        return [line for row in lines for line in (rule, row)][1:]
    edge = len(str(board.rows))
    letters = [board.cell_name(col).rstrip("0123456789") for col in range(board.cols)]
    return [
        f"{'':{edge}}" + "".join(f" {letter.center(width)}" for letter in letters),
        *(
            f"{number:>{edge}}" + "".join(f" {label.center(width)}" for label in row)
            for number, row in enumerate(rows, 1)
        ),
    ]


def side_by_side(blocks: Sequence[Sequence[str]], width: int = WIDTH) -> list[str]:
    """Blocks of lines beside each other, as many as fit into `width` columns, the others below them."""
    bands: list[list[Sequence[str]]] = []
    used = width
    for block in blocks:
        wide = max(map(len, block)) + len(GAP)
        if used + wide > width + len(GAP) or not bands:
            bands.append([])
            used = 0
        bands[-1].append(block)
        used += wide
    lines = []
    for band in bands:
        widths = [max(map(len, block)) for block in band]
        for row in range(max(map(len, band))):
            cells = (block[row] if row < len(block) else "" for block in band)
            lines.append(GAP.join(f"{cell:<{wide}}" for cell, wide in zip(cells, widths, strict=True)).rstrip())
        lines.append("")
    return lines[:-1]


def value_text(value: float) -> str:
    """A value as it stands on a board; `?` where never seen."""
    return "?" if math.isnan(value) else f"{value:+z.2f}"


def _short(truth: Truth, player: int) -> str:
    """A truth as it stands on a board: `W3`, `D`, `L4` for the player to move."""
    word = WORDS[truth.for_player(player)][0].upper()
    return word if word == "D" else f"{word}{truth.plies}"


def truth_text(truth: Truth) -> str:
    """A truth in words: `X wins in 3 plies`."""
    winner = {1: "X wins", 0: "a draw", -1: "O wins"}[truth.result]
    return f"{winner} in {truth.plies} {'ply' if truth.plies == 1 else 'plies'}"


def _summary(shown: Shown) -> list[str]:
    """The position's value, the truth, what the agent plays, what is best."""
    plies = shown.board.cells - shown.position.count(EMPTY)
    whose = MARKS[1 + plies % 2] + ("" if shown.player is not None else ", who would move next")
    win, drawn, loss = (f"{worth:g}" for worth in shown.worth)
    scale = f"for {whose} (a win {win}, a draw {drawn}, a loss {loss})"
    value = "never seen" if math.isnan(shown.value) else f"{shown.value:z.4f} {scale}"
    rows = [("value", value)]
    if shown.truth is None:
        rows.append(("truth", "not known: the board is too large to enumerate"))
    elif shown.outcome == UNFINISHED:
        rows.append(("truth", f"{truth_text(shown.truth)} with best play"))
    if shown.outcome == UNFINISHED:
        rows.append(("agent", _choice(shown)))
        best = [move.name for move in shown.moves if move.best]
        if best:
            why = {"win": " (win soonest)", "draw": "", "loss": " (lose latest)"}
            rows.append(("best", " ".join(best) + why[_result(shown)]))
    keyed = [(key if number == 0 else "", line) for key, text in rows for number, line in enumerate(_parts(text))]
    return [f"{key:<8}{line}" for key, line in keyed]


def _parts(text: str) -> list[str]:
    """A text in lines that leave room for a key."""
    return textwrap.wrap(text, WIDTH - 8)


def _result(shown: Shown) -> str:
    """`win`, `draw` or `loss` of best play for the player to move."""
    return WORDS[shown.truth.for_player(shown.player)] if shown.truth is not None and shown.player is not None else ""


def _choice(shown: Shown) -> str:
    """What the agent plays and whether that keeps the result."""
    cells = [move.name for move in shown.moves if move.probability > 0]
    occupied = [shown.board.cell_name(cell) for cell in shown.forfeits]
    n = len(cells) + len(occupied)
    text = f"plays {' '.join(cells)}" if cells else "plays no free cell"
    if len(cells) > 1 or occupied:
        text += f" (1 in {n} each)" if n > 1 else ""
    if occupied:
        text += f", and forfeits by choosing {' '.join(occupied)}, taken already"
    if shown.keeps is None:
        return text
    lost = {"win": "the win", "draw": "the draw"}.get(_result(shown), "")
    if not lost:
        return text
    if shown.keeps > 1 - 1e-9:
        return f"{text}: keeps {lost}"
    return f"{text}: gives {lost} away" + (f" {100 * (1 - shown.keeps):.0f} % of the time" if shown.keeps else "")


def _table(shown: Shown) -> list[str]:
    """A line for each move; `*` marks what the agent may play."""
    if not shown.moves:
        return []
    known = shown.truth is not None
    head = f"  {'cell':<6}{'value':>9}{'chance':>10}" + f"{'visits':>14}" * shown.counted + "   truth" * known
    lines = ["", head]
    for move in shown.moves:
        lines.append(
            f"{'*' if move.probability else ' '} {move.name:<6}"
            f"{'never' if math.isnan(move.value) else format(move.value, 'z.4f'):>9}"
            f"{f'{100 * move.probability:.1f} %' if move.probability else '-':>10}"
            + (f"{'-' if move.visits is None else format(move.visits, ','):>14}" if shown.counted else "")
            + (f"   {_truth(move)}" if known else "")
        )
    if not shown.counted:
        lines += ["", "visits are counted only where the step size goes by them: --alpha 1/n"]
    return lines


def _truth(move: Move) -> str:
    """The truth of a move and what it means."""
    if move.truth is None:
        return ""
    return truth_text(move.truth) + ("" if move.keeps is None else (", best" if move.best else "") * bool(move.keeps))


def _line(shown: Shown) -> list[str]:
    """Best play from here on, as moves and as boards."""
    if not shown.line or shown.player is None:
        return []
    board, marks = shown.board, list(shown.position)
    blocks = []
    for ply, cell in enumerate(shown.line):
        marks[cell] = 1 + (shown.player + ply) % 2
        blocks.append(_plain(board, tuple(marks), cell))
    moves = moves_text(board, shown.line, shown.player)
    head = "best play from here, the lowest cell of equals each time:"
    return ["", head, *_folded(moves, "  "), *_pictures(blocks)]


def _pictures(blocks: list[list[str]]) -> list[str]:
    """Boards side by side below an empty line, where they fit."""
    return ["", *side_by_side(blocks)] if max(map(len, blocks[0])) <= WIDTH else []


def _plain(board: Board, position: Position, last: int = -1) -> list[str]:
    """A board as rows of marks, the last move in brackets."""
    marks = [f"[{MARKS[mark]}]" if cell == last else f" {MARKS[mark]} " for cell, mark in enumerate(position)]
    return ["".join(marks[row * board.cols : (row + 1) * board.cols]) for row in range(board.rows)]


def _images(shown: Shown) -> list[str]:
    """The images of the position with their codes and values."""
    if shown.images is None:
        return []
    one = not all(image.own for image in shown.images)
    n = len(shown.images)
    which = "the table has one row for all of them, that of image 1" if one else "the table has a row for each of them"
    head = f"{n} distinct images: {which}" if n > 1 else "no image differs from the position itself"
    boards, lines = [], []
    for number, image in enumerate(shown.images, 1):
        own = "  <- its row" * (one and image.own) + "  <- shown above" * (image.position == shown.position)
        value = "never" if math.isnan(image.value) else f"{image.value:z.4f}"
        text = rows_text(shown.board, image.position)
        line = f"  {number}  {text}  code {image.code}  value {value}{own}"
        lines += textwrap.wrap(line, WIDTH, subsequent_indent=" " * 5, break_long_words=False)
        boards.append([f" {number}", *_plain(shown.board, image.position)])
    return ["", head, *lines, *_pictures(boards)]
