"""Certificates, which list a move for every position that an agent allows and so let others check a proof.

Of tied moves a certificate holds the one to the lowest cell.  So it proves an agent that plays these moves, while a
proof covers all ways to break ties.  If images are merged, a position and its move stand for all their images.

The file is an `.npz`, readable with NumPy alone: see `FIELDS`.  `scripts/check_certificate.py` checks it without this
package.

Enumeration, layer by layer, of the positions that can occur if an agent has one fixed move in each position.
A layer holds the positions after the same number of moves with the agent to move.  Each is represented by its lowest
image, which has the lowest pair of sets (first player's cells, second player's cells).  Every reply to every move leads
into the next layer, unless the game ends or the goal is decided.
"""

import io
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ttt_batch.compiler.bits import NONE, ONE, lowest_bit, single
from ttt_batch.compiler.jit import Bool, Int64, Int64Array, Uint8Array, Uint64Array, inlined, kernel
from ttt_batch.core import VERSION
from ttt_batch.core.errors import BoardError, CertificateError, UsageError
from ttt_batch.core.files import command_text, open_ordinary, reading, reason, shown, size_of, unpacked_size
from ttt_batch.core.outputs import OutputKind
from ttt_batch.core.text import SEATS, count_text
from ttt_batch.evaluation.prover import DOES, GOALS, Goal
from ttt_batch.evaluation.search import (
    ALWAYS_WINS,
    CANNOT_LOSE,
    Claim,
    find,
    make_positions,
    make_task,
    mark_cell,
    reset,
    tied_cells,
)
from ttt_batch.games.bitboards import Lines, can_fill, make_lines, open_cells, view_of
from ttt_batch.games.board import Board
from ttt_batch.games.notation import rows_text

AT_ONCE = 1 << 14
"""Number of positions whose replies are listed together."""

NO_FAULT, TAKEN, LOST, NOT_WON = range(4)
"""Faults of a move: none, it is illegal, the agent loses by it or by a reply, or the agent does not win."""


class ClosureLayer(NamedTuple):
    """Positions after `ply` moves, as sorted lowest images.  first, second: uint64[n], the players' cells."""

    ply: int
    first: NDArray[np.uint64]
    second: NDArray[np.uint64]


class Fault(NamedTuple):
    """Fault `why` of the move in position `number` of a layer, after the opponent's `reply` or -1."""

    number: int
    why: int
    reply: int


@kernel
def list_tied(agent: Any, lines: Lines, firsts: Uint64Array, seconds: Uint64Array, cells: Uint64Array) -> None:
    """Write the cells that an agent may pick in each of its positions into `cells` (uint64[n], sets), in place."""
    for number in range(firsts.shape[0]):
        left, ply = (firsts[number], seconds[number]), 0
        reset(agent)
        while left[ply & 1] != NONE:
            mark_cell(agent, lowest_bit(left[ply & 1]), ply & 1)
            rest = left[ply & 1] & (left[ply & 1] - ONE)
            left = (left[0], rest) if ply & 1 else (rest, left[1])
            ply += 1
        own, other = (seconds[number], firsts[number]) if ply & 1 else (firsts[number], seconds[number])
        cells[number] = tied_cells(agent, lines, own, other, view_of(lines, own, other), ply)


@inlined
def take_image(positions: Any, images: Uint64Array, first: np.uint64, second: np.uint64) -> None:
    """Write the images of a position into the first row of `images`, in place."""
    n_images = positions.image.shape[1]
    images[0] = NONE
    for cell in range(positions.image.shape[0]):
        for image in range(n_images):
            here = positions.image[cell, image]
            images[0, image] |= here if first & single(cell) else NONE
            images[0, n_images + image] |= here if second & single(cell) else NONE


@inlined
def list_replies(
    positions: Any,
    task: Claim,
    images: Uint64Array,
    keys: Uint64Array,
    n: np.int64,
    agents: np.uint64,
    replier: np.uint64,
    ply: Int64,
) -> tuple[np.int64, Int64]:
    """Append the key of the position after each reply at ply `ply` to the first `n` of `keys`.

    Return the new number of keys, and the reply after which the agent misses its goal, or -1.
    agents, replier: uint64, marks of the agent and of its opponent, who is to move.
    """
    lines, player = task.lines, ply & 1
    view = view_of(lines, replier, agents)
    free = open_cells(lines, agents | replier)
    if lines.misere == 0 and free & view.own != NONE:
        return n, lowest_bit(free & view.own)
    free &= ~view.own
    while free != NONE:
        cell = lowest_bit(free)
        free &= free - ONE
        if ply + 1 == lines.cells:
            if task.goal == ALWAYS_WINS:
                return n, cell
            continue
        if task.goal == CANNOT_LOSE:
            left, then = (lines.cells - ply) // 2, replier | single(cell)
            if task.filler == player:
                if not can_fill(lines, then, agents, (lines.cells - ply - 1) // 2):
                    continue
            elif not can_fill(lines, agents, then, left):
                continue
        find(positions, images, 0, cell, player, keys, n)
        n += 1
    return n, np.int64(-1)


@inlined
def fault_of_move(task: Claim, own: np.uint64, other: np.uint64, cell: Int64, ply: Int64) -> tuple[Int64, Bool]:
    """Return the fault of the agent's move to `cell` at ply `ply`, before any reply, and whether the game then ends."""
    lines, goal = task.lines, task.goal
    if cell >= lines.cells or open_cells(lines, own | other) & single(cell) == NONE:
        return TAKEN, True
    if view_of(lines, own, other).own & single(cell):
        return LOST if lines.misere else NO_FAULT, True
    if ply + 1 == lines.cells:
        return NOT_WON if goal == ALWAYS_WINS else NO_FAULT, True
    return NO_FAULT, False


@inlined
def list_next(
    positions: Any,
    task: Claim,
    images: Uint64Array,
    keys: Uint64Array,
    n: np.int64,
    first: np.uint64,
    second: np.uint64,
    ply: Int64,
) -> tuple[np.int64, Int64]:
    """Append the keys of the positions that follow one with the opponent to move, as `list_replies` does."""
    lines = task.lines
    agents, replier = (second, first) if task.seat else (first, second)
    if task.goal == CANNOT_LOSE:
        left = (lines.cells - ply + 1) // 2
        if task.filler != task.seat:
            if not can_fill(lines, replier, agents, left):
                return n, np.int64(-1)
        elif not can_fill(lines, agents, replier, (lines.cells - ply) // 2):
            return n, np.int64(-1)
    take_image(positions, images, first, second)
    return list_replies(positions, task, images, keys, n, agents, replier, ply)


@kernel
def list_layer(
    positions: Any,
    task: Claim,
    ply: Int64,
    layer: tuple[Uint64Array, Uint64Array],
    moves: Uint8Array,
    images: Uint64Array,
    keys: Uint64Array,
) -> tuple[Int64, Int64, Int64, Int64]:
    """Write the keys of the positions that follow a layer, after the opponent's reply, into `keys`.

    Return (number of keys, index of a faulty position or -1, why, reply).
    ply: marks on the board.  layer: two uint64[n].  moves: uint8[n], the agent's; unused if its opponent is to move.
    """
    lines, n, mine = task.lines, np.int64(0), ply & 1 == task.seat
    for number in range(layer[0].shape[0]):
        first, second = layer[0][number], layer[1][number]
        after = ply
        if mine:
            cell, own, other = np.int64(moves[number]), second if ply & 1 else first, first if ply & 1 else second
            why, ended = fault_of_move(task, own, other, cell, ply)
            if why != NO_FAULT:
                return n, number, why, np.int64(-1)
            if ended:
                continue
            own |= single(cell)
            first, second = (other, own) if ply & 1 else (own, other)
            after = ply + 1
        n, reply = list_next(positions, task, images, keys, n, first, second, after)
        if reply >= 0:
            missed = task.goal == ALWAYS_WINS and after + 1 == lines.cells
            return n, number, NOT_WON if missed else LOST, reply
    return n, np.int64(-1), NO_FAULT, np.int64(-1)


Choice = Callable[[ClosureLayer], NDArray[np.uint8]]
"""Function that returns a move for each position of a layer."""


def is_harmless(board: Board, task: Claim) -> bool:
    """Return whether the agent cannot lose whatever it plays: the board has no line, or too few moves for one."""
    possible = bool(board.lines) and board.k <= (board.cells + 1 - task.filler) // 2
    return task.goal == CANNOT_LOSE and not possible


def layers_of(board: Board, seat: int, goal: int, *, symmetric: bool, choose: Choice) -> Iterator[ClosureLayer | Fault]:
    """Yield every layer, after `choose` has returned its moves; after a faulty layer, yield the fault and end.

    seat: 0 or 1, the agent's.  goal: as in `search`.  symmetric: merge images.
    """
    task = make_task(board, seat, goal)
    positions = make_positions(board, symmetric=symmetric, wide=True)
    images = np.zeros((1, 2 * positions[0].shape[-1]), np.uint64)
    layer = ClosureLayer(0, np.zeros(1, np.uint64), np.zeros(1, np.uint64))
    if is_harmless(board, task):
        return
    while layer.first.size:
        mine = layer.ply & 1 == seat
        moves = choose(layer) if mine else np.zeros(1, np.uint8)
        if mine:
            yield layer
        found = []
        for start in range(0, layer.first.size, AT_ONCE):
            some = layer.first[start : start + AT_ONCE], layer.second[start : start + AT_ONCE]
            keys = np.empty(2 * board.cells * some[0].size, np.uint64)
            n, number, why, reply = list_layer(
                positions, task, layer.ply, some, moves[start : start + AT_ONCE], images, keys
            )
            if number >= 0:
                yield Fault(start + int(number), int(why), int(reply))
                return
            found.append(unique_pairs(keys[: 2 * n : 2], ~keys[1 : 2 * n : 2])[:2])
        first, second, _ = unique_pairs(*map(np.concatenate, zip(*found, strict=True)))
        layer = ClosureLayer(layer.ply + (2 if mine else 1), first, second)


def unique_pairs(
    first: NDArray[np.uint64], second: NDArray[np.uint64]
) -> tuple[NDArray[np.uint64], NDArray[np.uint64], NDArray[np.int64]]:
    """Return pairs of words, sorted and without duplicates, and for each given pair its index among them."""
    order = np.lexsort((second, first))
    first, second = first[order], second[order]
    new = np.ones(first.size, np.bool_)
    new[1:] = (first[1:] != first[:-1]) | (second[1:] != second[:-1])
    index = np.empty(first.size, np.int64)
    index[order] = np.cumsum(new) - 1
    return first[new], second[new], index


@kernel
def place_of(firsts: Uint64Array, seconds: Uint64Array, first: np.uint64, second: np.uint64) -> Int64:
    """Return the number of a pair among those of `firsts` and `seconds` (uint64[n], ascending).

    If it is not there, return -1 - m for the m pairs that are lower.
    """
    low, high = np.int64(0), np.int64(firsts.shape[0])
    while low < high:
        middle = (low + high) >> 1
        if firsts[middle] < first or (firsts[middle] == first and seconds[middle] < second):
            low = middle + 1
        else:
            high = middle
    there = low < firsts.shape[0] and firsts[low] == first and seconds[low] == second
    return low if there else -1 - low


@kernel
def list_places(
    firsts: Uint64Array, seconds: Uint64Array, first: Uint64Array, second: Uint64Array, places: Int64Array
) -> None:
    """Write the number of each pair of `first` and `second` (uint64[m]) among ascending ones, or -1, in place.

    firsts, seconds: uint64[n], the ascending pairs.  places: int64[m].
    """
    for number in range(first.shape[0]):
        places[number] = max(place_of(firsts, seconds, first[number], second[number]), -1)


FORMATS = 1, 2
"""Formats: 2 is written for boards on which marks fall, which are the sixth number of its board; 1 for all others."""

FIELDS = {
    "format": "int64, 1 or 2",
    "board": "int64[5]: rows, columns, k, 1 if misère, 1 if longer lines do not count; format 2: [6], 1 if marks fall",
    "seat": "int64, the agent's: 0 first, 1 second",
    "goal": "int64, 0: it cannot lose, 1: it always wins",
    "symmetric": "bool, whether a position stands for all its images",
    "first": "uint64[n], the first player's cells in each position with the agent to move, a bit each, row by row",
    "second": "uint64[n], the second player's; the pairs are sorted",
    "move": "uint8[n], the cell that the agent marks",
    "source": "text, JSON: where it comes from",
}
"""Arrays of a certificate's file."""

MOST_UNPACKED = 100
"""Maximum ratio of unpacked to packed size; sorted positions are compressed by less than 10."""

_OUTPUT = OutputKind(CertificateError, "certificate")


@dataclass(frozen=True)
class Certificate:
    """Moves for all positions that an agent in `seat` (0 or 1) allows; arrays as in `FIELDS`."""

    board: Board
    seat: int
    goal: Goal
    symmetric: bool
    first: NDArray[np.uint64]
    second: NDArray[np.uint64]
    move: NDArray[np.uint8]
    source: Mapping[str, Any]


def tied_in(agent: Any, board: Board, layer: ClosureLayer) -> NDArray[np.uint64]:
    """Return the cells, as sets (uint64[n]), that an agent may pick in the positions of a layer."""
    cells = np.zeros(layer.first.size, np.uint64)
    list_tied(agent, make_lines(board), layer.first, layer.second, cells)
    return cells


def certify(
    agent: Any, board: Board, seat: int, goal: Goal, *, symmetric: bool = True, source: Mapping[str, Any] | None = None
) -> Certificate:
    """Make the certificate of a proved agent; parameters as for `Prover.prove`, `source` and errors as `certify_moves`.

    Of tied moves it takes the one to the lowest cell.
    """

    def choose(layer: ClosureLayer) -> NDArray[np.uint8]:
        cells = tied_in(agent, board, layer)
        return np.bitwise_count((cells & -cells) - ONE)

    return certify_moves(choose, board, seat, goal, symmetric=symmetric, source=source)


def certify_moves(
    choose: Choice,
    board: Board,
    seat: int,
    goal: Goal,
    *,
    symmetric: bool = True,
    source: Mapping[str, Any] | None = None,
) -> Certificate:
    """Make the certificate of chosen moves; parameters as for `layers_of`.

    source: JSON-compatible description of the agent; the version of this program is added.
    Raises CertificateError, with the position, if the moves miss the goal.
    """
    moves, kept = list[NDArray[np.uint8]](), list[ClosureLayer]()

    def note(layer: ClosureLayer) -> NDArray[np.uint8]:
        moves.append(choose(layer))
        return moves[-1]

    for found in layers_of(board, seat, GOALS.index(goal), symmetric=symmetric, choose=note):
        if isinstance(found, Fault):
            raise CertificateError(f"no certificate: {_said(board, kept[-1], moves[-1], found)}")
        kept.append(found)
    first = np.concatenate([np.zeros(0, np.uint64), *(layer.first for layer in kept)])
    second = np.concatenate([np.zeros(0, np.uint64), *(layer.second for layer in kept)])
    move = np.concatenate([np.zeros(0, np.uint8), *moves])
    order = np.lexsort((second, first))
    about = {"program": f"ttt-batch {VERSION}", **(source or {})}
    return Certificate(board, seat, goal, symmetric, first[order], second[order], move[order], about)


def check_path(path: Path, *, overwrite: bool = False) -> None:
    """Check that a certificate can be written, before hours of work.  Raises UsageError and CertificateError."""
    if path.suffix != ".npz":
        raise UsageError(f"cannot write a certificate to {shown(path)}; give a name such as proof.npz")
    _OUTPUT.check(path, overwrite=overwrite)


def write_certificate(certificate: Certificate, path: Path, *, overwrite: bool = False) -> None:
    """Write a certificate; equal certificates give equal bytes.  Raises errors as `check_path` does."""
    check_path(path, overwrite=overwrite)
    board, content = certificate.board, io.BytesIO()
    rules = board.misere, board.exact, board.gravity
    np.savez_compressed(
        content,
        format=np.array(FORMATS[board.gravity], np.int64),
        board=np.array([board.rows, board.cols, board.k, *rules[: 2 + board.gravity]], np.int64),
        seat=np.array(certificate.seat, np.int64),
        goal=np.array(GOALS.index(certificate.goal), np.int64),
        symmetric=np.array(certificate.symmetric),
        first=certificate.first,
        second=certificate.second,
        move=certificate.move,
        source=np.array(json.dumps(certificate.source, sort_keys=True)),
    )
    with content.getbuffer() as view:
        _OUTPUT.write([path], [view], overwrite=overwrite)


def goal_of_certificate(certificate: Certificate) -> str:
    """Return a certificate's claim in words, with its board, seat, goal and number of positions."""
    does = DOES[certificate.goal]
    size = count_text(certificate.move.size, "position")
    return f"board {certificate.board.name}, the {SEATS[certificate.seat]} player {does}, {size}"


def load_certificate(path: Path) -> Certificate:
    """Read a certificate and check its form, but not its moves.  Raises CertificateError."""
    arrays = _arrays(path)
    try:
        return _certificate_of(arrays)
    except (ValueError, BoardError) as error:
        raise CertificateError(f"{shown(path)} is not a valid certificate: {error}") from error


def check_holds(certificate: Certificate, path: Path) -> None:
    """Check the rules, closure and goal of the certificate of a file.  Raises CertificateError, with the position."""
    if (wrong := fault_of(certificate)) is not None:
        raise CertificateError(f"{shown(path)} does not prove its claim: {wrong}")


def check_match(certificate: Certificate, board: Board, source: Mapping[str, Any]) -> None:
    """Raise CertificateError if a certificate is of another board, or differs from `source` in an entry of both."""
    if certificate.board != board:
        raise CertificateError(f"the certificate is for board {certificate.board.name}, not for {board.name}")
    for name, value in source.items():
        if certificate.source.get(name, value) != value:
            raise CertificateError(
                f"the certificate comes from another {name}: {certificate.source[name]}, not {value}"
            )


def fault_of(certificate: Certificate) -> str | None:
    """Describe the first fault in the positions and moves of a certificate; return None if they prove its claim."""
    board, goal = certificate.board, GOALS.index(certificate.goal)
    ply = (np.bitwise_count(certificate.first) + np.bitwise_count(certificate.second)).astype(np.int64)
    moves, reached, wrong = certificate.move, np.zeros(ply.size, np.bool_), list[str]()

    def choose(layer: ClosureLayer) -> NDArray[np.uint8]:
        """Return the moves of a layer, and note if its positions differ from the listed ones."""
        nonlocal moves
        listed = ply == layer.ply
        same = ClosureLayer(layer.ply, certificate.first[listed], certificate.second[listed])
        if not (np.array_equal(same.first, layer.first) and np.array_equal(same.second, layer.second)):
            wrong.append(_difference(board, same, layer))
        reached[listed] = True
        moves = certificate.move[listed] if not wrong else np.zeros(layer.first.size, np.uint8)
        return moves

    last = ClosureLayer(0, certificate.first, certificate.second)
    for found in layers_of(board, certificate.seat, goal, symmetric=certificate.symmetric, choose=choose):
        if wrong:
            return wrong[0]
        if isinstance(found, Fault):
            return _said(board, last, moves, found)
        last = found
    for number in np.flatnonzero(~reached)[:1]:
        return f"no game reaches position {_rows(board, certificate.first[number], certificate.second[number])}"
    return None


def _difference(board: Board, listed: ClosureLayer, reached: ClosureLayer) -> str:
    """Describe the first difference between the positions listed and those reached."""
    here, wanted = (set(zip(layer.first.tolist(), layer.second.tolist(), strict=True)) for layer in (listed, reached))
    for pair in sorted(wanted - here)[:1]:
        return f"position {_rows(board, *pair)} is not listed"
    return f"no game reaches position {_rows(board, *min(here - wanted))}"


def _said(board: Board, layer: ClosureLayer, moves: NDArray[np.uint8], fault: Fault) -> str:
    """Describe the fault of a move of a layer, or of the empty board if `moves` is empty."""
    number, ended = fault.number, "does not win" if fault.why == NOT_WON else "loses"
    position = "the empty board"
    if moves.size:
        position = f"position {_rows(board, layer.first[number], layer.second[number])}"
    cell = int(moves[number]) if moves.size else 0
    move = board.cell_name(cell) if cell < board.cells else str(cell)
    if fault.why == TAKEN:
        floats = cell < board.cells and board.floats(board.position_of(layer.first[number], layer.second[number]), cell)
        return f"in {position} the move {move} is {'in the air' if floats else 'not to a free cell'}"
    reply = f" after the reply {board.cell_name(fault.reply)}" if fault.reply >= 0 else ""
    return f"in {position} the move {move} {ended}{reply}"


def _rows(board: Board, first: Any, second: Any) -> str:
    """Format a position as `X.O/.X./...`."""
    return rows_text(board, board.position_of(first, second))


_NUMBERS = "format", "board", "seat", "goal"
_POSITIONS = {"first": np.uint64, "second": np.uint64, "move": np.uint8}


def _arrays(path: Path) -> dict[str, NDArray[Any]]:
    """Read the arrays of a file.  Raises CertificateError if one is missing, or the file is not an `.npz` file."""
    with reading(path, CertificateError, lambda: f"there is no file {shown(path)}; check the name"):
        opened = open_ordinary(path)
    try:
        with opened as file:
            size = unpacked_size(file)
            if size > 2**20 + MOST_UNPACKED * size_of(file):
                raise CertificateError(
                    f"{shown(path)} is not a valid certificate: it unpacks to {size:,} bytes, more than "
                    f"{MOST_UNPACKED} times its size"
                )
            with np.load(file, allow_pickle=False) as content:
                return {name: content[name] for name in FIELDS}
    except CertificateError:
        raise
    except KeyError:
        how = command_text("prove", "RUN", "--certificate", "FILE")
        raise CertificateError(f"{shown(path)} is an .npz file, but no certificate; {how} writes one") from None
    except OSError as error:
        raise CertificateError(f"cannot read {shown(path)}: {reason(error)}; check its disk, or restore it") from error
    except Exception as error:  # a damaged archive makes zipfile and NumPy raise almost anything
        raise CertificateError(f"{shown(path)} is not a valid certificate: damaged, or not an .npz file") from error


def _certificate_of(arrays: Mapping[str, NDArray[Any]]) -> Certificate:
    """Return the certificate of these arrays.  Raises ValueError and BoardError if they are invalid."""
    numbers = {name: arrays[name] for name in _NUMBERS}
    if any(array.dtype != np.int64 or array.ndim != (name == "board") for name, array in numbers.items()):
        raise ValueError("its numbers have a wrong type or shape")
    if (version := int(arrays["format"])) not in FORMATS:
        raise ValueError(f"it has format {version}, and this program reads formats {FORMATS[0]} and {FORMATS[1]}")
    if arrays["board"].size != 4 + version:
        raise ValueError("its board has a wrong number of entries")
    rows, cols, k, *rules = map(int, arrays["board"])
    seat, goal, symmetric = int(arrays["seat"]), int(arrays["goal"]), arrays["symmetric"]
    if not {seat, goal, *rules} <= {0, 1} or symmetric.dtype != np.bool_ or symmetric.shape:
        raise ValueError("its seat, goal, symmetry or rules are invalid")
    board = Board(rows, cols, k, *map(bool, rules))
    _check_positions(board, seat, arrays)
    first, second, move = (arrays[name] for name in _POSITIONS)
    return Certificate(board, seat, GOALS[goal], bool(symmetric), first, second, move, _source_of(arrays["source"]))


def _source_of(text: NDArray[Any]) -> dict[str, Any]:
    """Parse the source of a certificate.  Raises ValueError if it is not a JSON object."""
    try:
        source = json.loads(str(text[()]))
    except (ValueError, RecursionError):
        source = None
    if not isinstance(source, dict):
        raise ValueError("its source is not a JSON object")
    return source


def _check_positions(board: Board, seat: int, arrays: Mapping[str, NDArray[Any]]) -> None:
    """Raise ValueError unless the position arrays have equal length, and are sorted and possible on the board."""
    first, second, move = (arrays[name] for name in _POSITIONS)
    kinds = zip((first, second, move), _POSITIONS.values(), strict=True)
    if any(array.dtype != kind or array.shape != (first.size,) for array, kind in kinds):
        raise ValueError("its lists have a wrong type or length")
    counts = np.bitwise_count(first).astype(np.int64), np.bitwise_count(second).astype(np.int64)
    off = np.uint64((1 << 64) - (1 << board.cells))
    impossible = (first & second) | ((first | second) & off) | (counts[0] - counts[1] != seat)
    for number in np.flatnonzero(impossible)[:1]:
        raise ValueError(f"position {number} (first {first[number]}, second {second[number]}) is impossible")
    later = (first[1:] > first[:-1]) | ((first[1:] == first[:-1]) & (second[1:] > second[:-1]))
    for number in np.flatnonzero(~later)[:1]:
        raise ValueError(
            f"position {_rows(board, first[number + 1], second[number + 1])} is out of order or a duplicate"
        )
