"""Pattern networks: a dense table of weights for each tuple of cells, and which weights are the same.

A position's value is the sum of one weight of each tuple, the one whose number in base 3 is what stands on its cells: 0
an empty cell, 1 the first player's mark, 2 the second's; the tuple's first cell is the lowest digit.  Tuples that are
images of each other share a table, and patterns that a symmetry of their tuple turns into each other share a weight.
So images of a position have one value.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ttt_batch.base.jit import kernel
from ttt_batch.game.board import Board
from ttt_batch.patterns.tuples import Tuples

SHARING = ("symmetry", "translation", "none")
"""Which tuples are images of each other: those that the board's symmetries turn into each other, also those that are
the same shape elsewhere on the board, or none."""


class Network(NamedTuple):
    """The shape of a network: `N` tuples, `W` weights of `K` kinds.

    All are uint32, so that no index is checked for being negative.

    offset: [N], the first weight of each tuple's table.
    start: [cells + 1]; the tuples through a cell are `through[start[cell] : start[cell + 1]]`, in whose numbers a first
    player's mark there counts `power` (as long as `through`).
    place: [N + 1]; the cells of a tuple are `cell[place[n] : place[n + 1]]`, in whose number they count `digit`.
    kind: [W], weights that are always the same have one number, below `K`.
    kind_start: [K + 1]; `members[kind_start[k] : kind_start[k + 1]]` ([W] in all) are the weights of a kind.
    """

    offset: Any
    start: Any
    through: Any
    power: Any
    place: Any
    cell: Any
    digit: Any
    kind: Any
    kind_start: Any
    members: Any


class PlacedTuple(NamedTuple):
    """One tuple of a network.  cells: in the order of their digits.  table: number of its table."""

    cells: tuple[int, ...]
    table: int


class Layout(NamedTuple):
    """All tuples of a network, and its tables.

    placed: every tuple.  shapes: the first tuple of each table.  turns: the symmetries of each table's tuple, as the
    digit to which each digit moves; itself is one.
    """

    placed: list[PlacedTuple]
    shapes: list[tuple[int, ...]]
    turns: list[set[tuple[int, ...]]]


def weights_of(tuples: Tuples, board: Board, sharing: str) -> int:
    """How many weights a network of one player has, before any memory is taken."""
    return sum(3 ** len(one) for one in layout_of(tuples, board, sharing).shapes)


def make_network(tuples: Tuples, board: Board, sharing: str) -> Network:
    """The network of these tuples and of all their images on the board.

    sharing: one of `SHARING`.
    """
    placed, shapes, turns = layout_of(tuples, board, sharing)
    first = np.concatenate([[0], np.cumsum([3 ** len(shape) for shape in shapes])]).astype(np.uint32)
    leader = np.concatenate(
        [_leaders(len(shape), turned) + start for shape, turned, start in zip(shapes, turns, first[:-1], strict=True)]
    )
    # A leader's kind is the number of leaders before it: no sorting.
    number = np.cumsum(leader == np.arange(leader.size, dtype=np.uint32), dtype=np.uint32)
    kind = number[leader] - np.uint32(1)
    kind_start = np.concatenate([[0], np.cumsum(np.bincount(kind))]).astype(np.uint32)
    members = np.zeros_like(kind)
    list_members(kind, kind_start[:-1].copy(), members)
    cells = [cell for one in placed for cell in one.cells]
    digits = [3**digit for one in placed for digit in range(len(one.cells))]
    numbers = np.repeat(np.arange(len(placed)), [len(one.cells) for one in placed])
    by_cell = np.argsort(cells, kind="stable")
    return Network(
        offset=first[[one.table for one in placed]],
        start=np.searchsorted(np.array(cells)[by_cell], np.arange(board.cells + 1)).astype(np.uint32),
        through=numbers[by_cell].astype(np.uint32),
        power=np.array(digits, np.uint32)[by_cell],
        place=np.searchsorted(numbers, np.arange(len(placed) + 1)).astype(np.uint32),
        cell=np.array(cells, np.uint32),
        digit=np.array(digits, np.uint32),
        kind=kind,
        kind_start=kind_start,
        members=members,
    )


@kernel
def list_members(kind: Any, end: Any, members: Any) -> None:
    """Write the weights of each kind, one kind after the other, into `members`, in place.

    kind, members: uint32[W].  end: uint32[K], where each kind begins; becomes where it ends.
    """
    for weight in range(kind.shape[0]):
        members[end[kind[weight]]] = weight
        end[kind[weight]] += np.uint32(1)


def layout_of(tuples: Tuples, board: Board, sharing: str) -> Layout:
    """These tuples with all their images on the board, and the tables that they share."""
    placed: dict[frozenset[int], PlacedTuple] = {}
    shapes: list[tuple[int, ...]] = []
    turns: list[set[tuple[int, ...]]] = []
    for cells in tuples:
        if frozenset(cells) in placed:
            continue
        digit = {cell: number for number, cell in enumerate(cells)}
        shapes.append(cells)
        turns.append(set())
        for image in _images(cells, board, sharing):
            if digit.keys() == set(image):
                turns[-1].add(tuple(digit[cell] for cell in image))
            placed.setdefault(frozenset(image), PlacedTuple(image, len(shapes) - 1))
    return Layout(list(placed.values()), shapes, turns)


def _images(cells: tuple[int, ...], board: Board, sharing: str) -> list[tuple[int, ...]]:
    """Where the cells of a tuple lie in each of its images, the tuple itself first."""
    if sharing == "none":
        return [cells]
    # `symmetries` says from where a cell comes: `index` where it goes.
    found = [tuple(image.index(cell) for cell in cells) for image in board.symmetries]
    if sharing == "translation":
        found = [moved for one in found for moved in _moved(one, board)]
    return list(dict.fromkeys([cells, *found]))


def _moved(cells: tuple[int, ...], board: Board) -> list[tuple[int, ...]]:
    """The same shape everywhere on the board."""
    places = [divmod(cell, board.cols) for cell in cells]
    top, left = (min(place[axis] for place in places) for axis in (0, 1))
    bottom, right = (max(place[axis] for place in places) for axis in (0, 1))
    return [
        tuple((row + down) * board.cols + col + across for row, col in places)
        for down in range(-top, board.rows - bottom)
        for across in range(-left, board.cols - right)
    ]


def _leaders(cells: int, turns: set[tuple[int, ...]]) -> NDArray[np.uint32]:
    """uint32[3**cells]: the lowest number among the images of each pattern.

    turns: symmetries of the tuple, as the digit to which each digit moves.
    """
    lowest = np.arange(3**cells, dtype=np.uint32)
    for turn in turns:
        image = np.zeros(1, np.uint32)
        for to in turn:
            image = (np.arange(3, dtype=np.uint32)[:, np.newaxis] * np.uint32(3**to) + image).ravel()
        np.minimum(lowest, image, out=lowest)
    return lowest
