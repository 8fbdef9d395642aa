"""What `show` prints of a position: boards side by side, a few lines in words, a table of moves.

Plain ASCII within 80 columns, but for the name of a file.  Boards that are wider are left out; what they show stands in
the table and in lists of moves, too.
"""

import math

from ttt_batch.analysis.position import Move, PositionReport
from ttt_batch.app.reports.layout import REPORT_WIDTH, draw_labels, hanging, pictures, plain, side_by_side
from ttt_batch.base.choices import PATTERN_LEARNERS
from ttt_batch.base.errors import flag
from ttt_batch.base.quantities import percent
from ttt_batch.evaluation.ties import meaning
from ttt_batch.game.board import DRAW, EMPTY, FIRST_WINS, MARKS, UNFINISHED
from ttt_batch.game.notation import moves_text, rows_text


def show_text(shown: PositionReport, name: str = "") -> str:
    """What `show` prints; name: what to call the run, such as its file."""
    board = shown.board
    lines = [
        f"{name}{': ' * bool(name)}{shown.learner} on {board.name}",
        *hanging("position ", f"{rows_text(board, shown.position)}, code {shown.code}: {_state(shown)}", 2),
        "",
        *side_by_side(_boards(shown)),
        "",
        *_summary(shown),
        *_table(shown),
        *_line(shown),
        *_images(shown),
    ]
    return "\n".join(line.rstrip() for line in lines)


def _state(shown: PositionReport) -> str:
    """Who moves, or how the game ended."""
    if shown.player is not None:
        return f"{MARKS[1 + shown.player]} to move"
    return "a draw" if shown.outcome == DRAW else f"{'X' if shown.outcome == FIRST_WINS else 'O'} has won"


def _boards(shown: PositionReport) -> list[list[str]]:
    """The position with the names of its free cells, the agent's value of each, and the truth of each."""
    board, position = shown.board, shown.position
    free = {move.cell: move for move in shown.moves}

    def drawn(title: str, labels: dict[int, str]) -> list[str]:
        texts = [labels[cell] if cell in labels else MARKS[mark] for cell, mark in enumerate(position)]
        return [title, *draw_labels(board, texts)]

    small = board.cells <= 9
    names = {cell: move.name if small else MARKS[EMPTY] for cell, move in free.items()}
    found = [drawn("position", names)]
    if free:
        if not shown.outside:
            titles = "chances by softmax" if shown.prefers else "agent's values" if shown.beads is None else "beads"
            found.append(drawn(titles, {cell: _number_text(shown, move) for cell, move in free.items()}))
        player = shown.player or 0
        truths = {cell: move.truth.seen_by(player).short for cell, move in free.items() if move.truth is not None}
        if truths:
            found.append(drawn("truth, in plies", truths))
    return [block for block in found if max(map(len, block)) <= REPORT_WIDTH]


def _number_text(shown: PositionReport, move: Move) -> str:
    """What the agent gives a move, as it stands on a board: its chance by softmax, its beads or its value."""
    if shown.beads is not None:
        return f"{move.value:.6g}"
    return position_value_text(move.value) if move.softmax is None else percent(move.softmax)


def position_value_text(value: float) -> str:
    """A value as it stands on a board; `?` if never visited."""
    return "?" if math.isnan(value) else f"{value:+z.2f}"


def _summary(shown: PositionReport) -> list[str]:
    """The position's value, the truth, what the agent plays, what is best."""
    plies = shown.board.cells - shown.position.count(EMPTY)
    whose = MARKS[1 + plies % 2] + ("" if shown.player is not None else ", who would move next")
    win, drawn, loss = (f"{worth:g}" for worth in shown.worth)
    scale = f"for {whose} (a win {win}, a draw {drawn}, a loss {loss})"
    unknown = "an agent that is no run tells none" if shown.outside else "never seen"
    value = unknown if math.isnan(shown.value) else f"{shown.value:z.4f} {scale}"
    rows = [("value", value)]
    if shown.beads is not None:
        rows = [("box", f"{shown.beads:g} beads; moves that are images of each other share theirs")]
    if shown.truth is None:
        rows.append(("truth", "not known: the board is too large to enumerate"))
    elif shown.outcome == UNFINISHED:
        rows.append(("truth", f"{shown.truth} with best play (a ply is one move of either player)"))
    if shown.outcome == UNFINISHED:
        rows += [("ties", meaning(shown.ties)), ("agent", _choice(shown))]
        best = [move.name for move in shown.moves if move.best]
        if best:
            why = {"win": " (quickest win)", "draw": "", "loss": " (longest loss)"}
            rows.append(("best", " ".join(best) + why[_result(shown)]))
    return [line for key, text in rows for line in hanging(key, text, 8)]


def _result(shown: PositionReport) -> str:
    """`win`, `draw_labels` or `loss` of best play for the player to move."""
    return "" if shown.truth is None or shown.player is None else shown.truth.seen_by(shown.player).word


def _choice(shown: PositionReport) -> str:
    """What the agent plays and whether that keeps the result."""
    cells = [move.name for move in shown.moves if move.probability > 0]
    occupied = [shown.board.cell_name(cell) for cell in shown.forfeits]
    n = len(cells) + len(occupied)
    if shown.boxless:
        return "not applicable: it has boxes for the first player alone"
    if shown.resigns:
        return "resigns: its box is empty"
    text = f"plays {' '.join(cells)}" if cells else "plays no free cell"
    even = len({round(move.probability, 9) for move in shown.moves if move.probability > 0}) < 2
    text += f" (1 in {n} each)" if n > 1 and even else " (as often as stands below)" if n > 1 else ""
    if occupied:
        text += f", and forfeits by choosing {' '.join(occupied)}, taken already"
    lost = {"win": "the win", "draw": "the draw"}.get(_result(shown), "")
    if shown.keeps is None or not lost:
        return text
    if shown.keeps > 1 - 1e-9:
        return f"{text}: keeps {lost}"
    return f"{text}: gives {lost} away" + (f" {100 * (1 - shown.keeps):.0f} % of the time" if shown.keeps else "")


def _table(shown: PositionReport) -> list[str]:
    """A line for each move; `*` marks what the agent may play."""
    if not shown.moves:
        return []
    known, unseen = shown.truth is not None, "-" if shown.outside else "never"
    name = "value" if shown.beads is None else "beads"
    numbers = f"{'preference':>12}{'softmax':>10}" if shown.prefers else f"{name:>9}"
    head = f"  {'cell':<6}{numbers}{'chance':>10}" + f"{'visits':>14}" * shown.counted + "   truth" * known
    lines = ["", head]
    for move in shown.moves:
        lines.append(
            f"{'*' if move.probability else ' '} {move.name:<6}"
            f"{_numbers(move, unseen)}"
            f"{f'{100 * move.probability:.1f} %' if move.probability else '-':>10}"
            + (f"{'-' if move.visits is None else format(move.visits, ','):>14}" if shown.counted else "")
            + (f"   {_truth(move)}" if known else "")
        )
    if shown.prefers:
        lines += ["", "softmax: how likely each move is in training; chance: by its best moves alone"]
    if not shown.counted and not shown.outside and shown.learner not in PATTERN_LEARNERS:
        lines += ["", f"visits are counted only if the step size depends on them ({flag('alpha', '1/n')})"]
    return lines


def _numbers(move: Move, unseen: str) -> str:
    """The columns of what the agent keeps of a move: its value, or the preference for it and the chance by softmax."""
    if move.preference is not None and move.softmax is not None:
        return f"{format(move.preference, 'z.4f'):>12}{f'{100 * move.softmax:.1f} %':>10}"
    return f"{unseen if math.isnan(move.value) else format(move.value, 'z.4f'):>9}"


def _truth(move: Move) -> str:
    """The truth of a move and what it means."""
    if move.truth is None:
        return ""
    return str(move.truth) + ("" if move.keeps is None else (", best" if move.best else "") * bool(move.keeps))


def _line(shown: PositionReport) -> list[str]:
    """Best play from here on, as moves and as boards."""
    if not shown.line or shown.player is None:
        return []
    blocks = pictures(shown.board, shown.position, shown.line)
    moves = moves_text(shown.board, shown.line, shown.player)
    head = "best play from here, of equal moves the lowest cell:"
    return ["", head, *hanging("", moves, 2), *_fitting(blocks)]


def _fitting(blocks: list[list[str]]) -> list[str]:
    """Boards side by side below an empty line, if they fit."""
    return ["", *side_by_side(blocks)] if max(map(len, blocks[0])) <= REPORT_WIDTH else []


def _images(shown: PositionReport) -> list[str]:
    """The images of the position with their codes and values."""
    if shown.images is None:
        return []
    one = any(image.own_row is False for image in shown.images)
    n = len(shown.images)
    rows = "one row for all of them, that of image 1" if one else "a row for each of them"
    which = "" if shown.learner in PATTERN_LEARNERS else f": the table has {rows}"
    head = f"{n} distinct images{which}" if n > 1 else "no image differs from the position itself"
    boards, lines = [], []
    for number, image in enumerate(shown.images, 1):
        own = "  <- its row" * (one and image.own_row is True) + "  <- shown above" * (image.position == shown.position)
        value = "never" if math.isnan(image.value) else f"{image.value:z.4f}"
        text = rows_text(shown.board, image.position)
        lines += hanging(f"  {number}  ", f"{text}  code {image.code}  value {value}{own}", 5)
        boards.append([f" {number}", *plain(shown.board, image.position)])
    return ["", head, *lines, *_fitting(boards)]
