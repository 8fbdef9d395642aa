"""Learners from beans that no study plays: they meet an opponent by rules, and one of them is not MENACE.

    python scripts/claims_beans.py --learners 1000

The opponent wins, blocks, forks, blocks a fork, takes the centre, a corner or a side; any of equal moves.  As it was
published it is not perfect: after centre, corner and opposite corner it may play a side, and loses.  `most_beans` meets
it so; `menace` meets one that leaves out what loses.

`most_beans` is what letstalkdata.com published as MENACE (2013), by the listing of its program (phillipjohnson/TTT): a
box for each position and all images of it, with ten beans for each empty cell; the learner plays a cell with the most,
any of equal ones; after the game every move of it, the opponent's too, gets the learner's reward, and the last bean of
a cell stays.  Who plays first is drawn before each game.  `menace` is Michie's machine, as `ttt-batch learners menace`
describes it.
"""

import argparse
import functools
import random
from collections.abc import Callable
from typing import Any

import numpy as np

CELLS, CENTRE, CORNERS, OPPOSITE = range(9), 4, (0, 2, 6, 8), ((0, 8), (2, 6))
LINES = ((0, 1, 2), (3, 4, 5), (6, 7, 8), (0, 3, 6), (1, 4, 7), (2, 5, 8), (0, 4, 8), (2, 4, 6))
START = (0,) * 9

BEANS, BEAN_REWARDS = 10, (1, 0, -1)
BEADS, BEAD_REWARDS = (4, 3, 2, 1), (3, 1, -1)
"""Of a kind in a box at first, by the learner's turn; for a win, a draw and a loss."""

Position = tuple[int, ...]
"""Nine cells: 1 and -1 are the first and the second player's, 0 is empty."""


# --- the game ---------------------------------------------------------------------------------------------------------


def images() -> list[tuple[int, ...]]:
    """The eight symmetries of the board, as orders of its cells."""
    found, order = [], np.arange(9).reshape(3, 3)
    for _ in range(4):
        order = np.rot90(order)
        found += [tuple(order.ravel().tolist()), tuple(order.T.ravel().tolist())]
    return found


IMAGES = images()


@functools.cache
def canonical(board: Position) -> Position:
    """The image that stands for a position."""
    return min(tuple(board[cell] for cell in order) for order in IMAGES)


def played(board: Position, cell: int, player: int) -> Position:
    """The position after a move."""
    return (*board[:cell], player, *board[cell + 1 :])


def empty(board: Position) -> list[int]:
    """The cells that may be played."""
    return [cell for cell in CELLS if not board[cell]]


def won(board: Position) -> bool:
    """Return whether a line is complete."""
    return any(abs(board[a] + board[b] + board[c]) == 3 for a, b, c in LINES)


def result(board: Position, player: int) -> int | None:
    """1 or -1 if that player has just won, 0 of a draw, None of a game that goes on."""
    return player if won(board) else None if 0 in board else 0


def forks(board: Position, cell: int, player: int) -> bool:
    """Return whether a move leaves a player two ways to win."""
    after = played(board, cell, player)
    return sum(won(played(after, other, player)) for other in empty(after)) > 1


@functools.cache
def by_rules(board: Position, player: int) -> list[int]:
    """The moves that the first rule with any allows.

    Against opposite corners around its centre it plays a side: there, to block a fork would make another.
    """
    cells = empty(board)
    opposite = any(board[a] == board[b] == -player for a, b in OPPOSITE)
    trapped = len(cells) == 6 and board[CENTRE] == player and opposite
    rules = (
        [cell for cell in cells if won(played(board, cell, player))],
        [cell for cell in cells if won(played(board, cell, -player))],
        [cell for cell in cells if forks(board, cell, player)],
        [cell for cell in cells if trapped and cell % 2],
        [cell for cell in cells if forks(board, cell, -player)],
        [cell for cell in cells if cell == CENTRE],
        [cell for cell in cells if cell in CORNERS],
        cells,
    )
    return next(rule for rule in rules if rule)


@functools.cache
def loses(board: Position, player: int) -> bool:
    """Return whether a position is lost for the player to move, against the best replies."""
    return won(board) or (bool(cells := empty(board)) and all(blunders(board, cell, player) for cell in cells))


def blunders(board: Position, cell: int, player: int) -> bool:
    """Return whether a move of a player lets the other one win."""
    after = canonical(played(board, cell, player))
    if won(after):
        return False
    return any(loses(canonical(played(after, reply, -player)), player) for reply in empty(after))


@functools.cache
def soundly(board: Position, player: int) -> list[int]:
    """The moves by rules but those that lose."""
    moves = by_rules(board, player)
    return [cell for cell in moves if not blunders(board, cell, player)] or moves


@functools.cache
def kinds(board: Position) -> list[int]:
    """A cell for each kind of bead: cells that a symmetry of the position turns into each other are one kind."""
    return list({canonical(played(board, cell, 1)): cell for cell in empty(board)}.values())


# --- the learners -----------------------------------------------------------------------------------------------------


def most_beans(seed: int, games: int) -> list[bool]:
    """Return which games a learner loses that plays the move with the most beans."""
    draw, boxes, lost = random.Random(seed), dict[Position, list[int]](), []
    for _ in range(games):
        learner, board, player, end, moves = draw.choice((1, -1)), START, -1, None, []
        while end is None:
            board, player = canonical(board), -player
            box, cells = boxes.setdefault(board, [BEANS] * 9), empty(board)
            most = max(box[cell] for cell in cells)
            best = [cell for cell in cells if box[cell] == most]
            cell = draw.choice(best if player == learner else by_rules(board, player))
            moves.append((box, cell))
            board = played(board, cell, player)
            end = result(board, player)
        for box, cell in moves:
            box[cell] = max(box[cell] + BEAN_REWARDS[1 - end * learner], 1)
        lost.append(end == -learner)
    return lost


def menace(seed: int, games: int) -> list[bool]:
    """Return which games Michie's machine loses or resigns."""
    draw, boxes, lost = random.Random(seed), dict[Position, list[int]](), []
    for _ in range(games):
        board, end, drawn = START, None, []
        while end is None:
            found = kinds(board)
            box = (
                boxes.setdefault(board, [BEADS[(9 - board.count(0)) // 2]] * len(found)) if board.count(0) > 1 else [1]
            )
            if not any(box):
                end = -1
                break
            kind = draw.choices(range(len(found)), box)[0]
            drawn.append((box, kind))
            board = canonical(played(board, found[kind], 1))
            end = result(board, 1)
            if end is None:
                board = canonical(played(board, draw.choice(soundly(board, -1)), -1))
                end = result(board, -1)
        for box, kind in drawn:
            box[kind] = max(box[kind] + BEAD_REWARDS[1 - end], 0)
        lost.append(end == -1)
    return lost


# --- figures ----------------------------------------------------------------------------------------------------------


def quantiles(numbers: Any) -> list[float]:
    """The median of numbers, its 95 % interval by their ranks, and the numbers between which 95 % of them lie."""
    ranked, half = np.sort(numbers), 0.98 * len(numbers) ** 0.5
    low, high = (int(np.clip(len(ranked) / 2 + side, 0, len(ranked) - 1)) for side in (-half - 0.5, half))
    return [float(one) for one in (np.median(ranked), ranked[low], ranked[high], *np.quantile(ranked, (0.025, 0.975)))]


def lost_of(lost: Any, of: int) -> dict[str, Any]:
    """Of the games that each learner lost the quantiles, and how many learners lost none, at most a tenth, and all."""
    seeds = [int(np.count_nonzero(chosen)) for chosen in (lost == 0, lost <= of / 10, lost == of)]
    return {"of": of, "lost": quantiles(lost), "seeds": seeds}


def simulate(
    learner: Callable[[int, int], list[bool]], games: int, since: tuple[int, ...], learners: int = 1_000
) -> dict[str, Any]:
    """The figures of many learners, as `first_seat` in `claims.py` has them.  since: after how many games to count."""
    lost = np.array([learner(seed, games) for seed in range(learners)])
    counts = {str(start): lost_of(lost[:, start:].sum(axis=1), games - start) for start in since}
    return {"seeds": learners, "settings": [{"games": games, "since": counts}]}


def main() -> None:
    """Print the medians."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--learners", type=int, default=1_000, metavar="N", help="of each kind, with seeds from 0 on")
    options = parser.parse_args()
    if options.learners < 1:
        parser.error(f"--learners {options.learners}: give 1 or more")
    for learner, games in ((most_beans, 100), (menace, 220)):
        row = simulate(learner, games, (0,), options.learners)["settings"][0]["since"]["0"]
        middle, _, _, low, high = row["lost"]
        print(f"{learner.__name__}: {middle:.0f} of {games} games lost (median; 95 % of them {low:.0f} to {high:.0f})")


if __name__ == "__main__":
    main()
