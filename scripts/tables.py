"""Tables as programs found in the wild write them: each shape made, imported, and compared with the run it is of.

    python scripts/tables.py [--page FILE] [--folder FOLDER]

`--page` writes `data/tables.md`, whose text is `scripts/pages/tables.md`.  `--folder` keeps the files.
"""

import argparse
import io
import json
import pickle
import tempfile
from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from page_writer import fill, markdown_table

import ttt_batch as ttt
from ttt_batch.games.board import Board
from ttt_batch.games.enumeration import enumerate_graph
from ttt_batch.games.graph import rows_of_edges
from ttt_batch.games.solution import solve

BOARD = Board()
GAMES = 100_000
LONGEST = 100
"""Characters of an example."""

Values = Mapping[int, float]
"""What each position is worth to the first player, by its code."""

Moves = Mapping[int, Mapping[int, float]]
"""What each move is worth to its mover, by position and cell."""


@dataclass(frozen=True)
class Shape:
    """One shape of a table.

    name: of the file.  what: in words.  make: the file's bytes from a table.  moves: it holds moves, not positions.
    """

    name: str
    what: str
    make: Callable[[Any], bytes]
    moves: bool = False


def values_of(run: ttt.Run) -> dict[int, float]:
    """Return the values of a run of `td`."""
    return dict(zip(run.graph.code.tolist(), run.tables.value.tolist(), strict=True))


def moves_of(run: ttt.Run) -> dict[int, dict[int, float]]:
    """Return the values of moves of a run of `q-learning`."""
    found: dict[int, dict[int, float]] = defaultdict(dict)
    codes = run.graph.code[rows_of_edges(run.graph)]
    for code, cell, q in zip(codes.tolist(), run.graph.cell.tolist(), run.tables.q.tolist(), strict=True):
        found[code][cell] = q
    return dict(found)


def best_values() -> dict[int, float]:
    """Return what best play makes of each position, a quicker win being worth more."""
    graph = enumerate_graph(BOARD)
    worth = solve(graph) * (1 - graph.ply / 100)
    return dict(zip(graph.code.tolist(), worth.tolist(), strict=True))


def best_moves() -> dict[int, dict[int, float]]:
    """Return what best play makes of each move, for its mover."""
    graph, worth = enumerate_graph(BOARD), best_values()
    found: dict[int, dict[int, float]] = defaultdict(dict)
    for row, child, cell in zip(rows_of_edges(graph).tolist(), graph.child.tolist(), graph.cell.tolist(), strict=True):
        after = worth[int(graph.code[child])]
        found[int(graph.code[row])][cell] = after if graph.ply[row] % 2 == 0 else -after
    return dict(found)


# --- keys ---------------------------------------------------------------------------------------------------


def marks(code: int, empty: Any, first: Any, second: Any) -> list[Any]:
    """Return the cells of a position in other symbols."""
    return [(empty, first, second)[mark] for mark in BOARD.decode(code)]


def number(code: int, digits: tuple[int, int, int] = (0, 1, 2), *, low: bool = False) -> int:
    """Return the number of a position in base 3: digits for empty, first and second, the first cell highest."""
    cells = marks(code, *digits)
    return sum(digit * 3**place for place, digit in enumerate(cells if low else cells[::-1]))


def by_mover(code: int) -> list[int]:
    """Return 1 for marks of the player to move, -1 for the other's, 0 for empty cells."""
    turned = sum(mark != 0 for mark in BOARD.decode(code)) % 2 == 1
    return marks(code, 0, -1, 1) if turned else marks(code, 0, 1, -1)


def text(code: int, symbols: str = " XO") -> str:
    """Return a position as nine characters; symbols: of an empty cell, the first player and the second."""
    return "".join(marks(code, *symbols))


def listed(q: Mapping[int, float], empty: Any = 0.0) -> list[Any]:
    """Return a number for each cell; `empty` where there is none."""
    return [q.get(cell, empty) for cell in range(9)]


def as_npy(array: Any) -> bytes:
    """Return the bytes of a .npy file."""
    buffer = io.BytesIO()
    np.save(buffer, array)
    return buffer.getvalue()


def dense(moves: Moves, key: Callable[[int], int]) -> np.ndarray:
    """Return float64[19683, 9] by a numbering; 0 elsewhere."""
    table = np.zeros((3**9, 9))
    for code, q in moves.items():
        table[key(code), list(q)] = list(q.values())
    return table


def cube(values: Values) -> np.ndarray:
    """Return float64[3, 3, 3, 3, 3, 3, 3, 3, 3], an axis for each cell; 0 elsewhere."""
    table = np.zeros((3,) * 9)
    for code, value in values.items():
        table[tuple(marks(code, 0, 1, 2))] = value
    return table


def lines(rows: list[list[Any]], separator: str) -> bytes:
    """Return rows of text."""
    return "".join(separator.join(map(str, row)) + "\n" for row in rows).encode()


def as_npz(**arrays: Any) -> bytes:
    """Return the bytes of a .npz file."""
    buffer = io.BytesIO()
    np.savez_compressed(buffer, **arrays)
    return buffer.getvalue()


def as_json(found: Any) -> bytes:
    """Return JSON."""
    return json.dumps(found).encode()


def of_moves(moves: Moves) -> list[tuple[int, int, float]]:
    """Return position, cell and number of each move."""
    return [(code, cell, q) for code, row in moves.items() for cell, q in row.items()]


ODD = (1, 2, 0)
"""Digits of an empty cell, the first player and the second in the book's program since June 2019."""

SHAPES = [
    Shape(
        "book.pickle",
        "number in base 3, digits 1 empty, 2 first, 0 second, to value from 0 to 1 (the book's program)",
        lambda values: pickle.dumps({number(code, ODD): (value + 1) / 2 for code, value in values.items()}, 2),
    ),
    Shape(
        "older-book.pickle",
        "the same with digits 0 empty, 1 first, 2 second (until June 2019)",
        lambda values: pickle.dumps({number(code): (value + 1) / 2 for code, value in values.items()}, 2),
    ),
    Shape(
        "printed.pickle",
        "text that NumPy prints for 1, -1 and 0, to value",
        lambda values: pickle.dumps({str(np.array(marks(c, 0.0, 1.0, -1.0))): v for c, v in values.items()}),
    ),
    Shape(
        "tuples.pickle",
        "tuple of 1, -1 and 0, to value",
        lambda values: pickle.dumps({tuple(marks(code, 0, 1, -1)): value for code, value in values.items()}),
    ),
    Shape(
        "mover.pickle",
        "tuple with 1 for the player to move, to what the position is worth to that player",
        lambda values: pickle.dumps(
            {tuple(by_mover(c)): v if sum(map(abs, by_mover(c))) % 2 == 0 else -v for c, v in values.items()}
        ),
    ),
    Shape(
        "nested.json",
        "text of three rows that Python prints, to value, inside a dictionary",
        lambda values: as_json(
            {"episodes": 1000, "V": {str(np.reshape(marks(c, 0, 1, 2), (3, 3)).tolist()): v for c, v in values.items()}}
        ),
    ),
    Shape(
        "marks.json", "nine characters X, O and blank, to value", lambda v: as_json({text(c): x for c, x in v.items()})
    ),
    Shape(
        "commas.json",
        "marks separated by commas, to value",
        lambda values: as_json({",".join(marks(code, " ", "X", "O")): value for code, value in values.items()}),
    ),
    Shape(
        "second.json",
        "nine characters x, o and -, to what the position is worth to the second player",
        lambda values: as_json({text(code, "-xo"): -value for code, value in values.items()}),
    ),
    Shape("cube.npy", "array with an axis for each cell", lambda values: as_npy(cube(values))),
    Shape(
        "columns.npz",
        "array of positions and array of values",
        lambda values: as_npz(
            state=np.array([marks(c, 0, 1, -1) for c in values]), value=np.array(list(values.values()))
        ),
    ),
    Shape(
        "visits.txt",
        "position, value and visits, separated by tabs",
        lambda values: lines([[text(c, "_XO"), v, 7] for c, v in values.items()], "\t"),
    ),
    Shape(
        "indexed.csv",
        "index, position and value, separated by semicolons, with a header",
        lambda values: lines(
            [
                ["", "state", "value"],
                *([n, text(c, "012"), v] for n, (c, v) in enumerate(values.items())),
            ],
            ";",
        ),
    ),
    Shape("codes.npy", "array with a row of nine numbers for each code of ours", lambda m: as_npy(dense(m, int)), True),
    Shape(
        "digits.npy",
        "the same with digits 1 empty, 2 first, 0 second, the first cell highest",
        lambda moves: as_npy(dense(moves, lambda code: number(code, ODD))),
        True,
    ),
    Shape(
        "object.npy",
        "dictionary that `numpy.save` has pickled: number to an array of nine",
        lambda moves: as_npy(
            np.array({number(c, low=True): np.array(listed(q)) for c, q in moves.items()}, dtype=object)
        ),
        True,
    ),
    Shape(
        "lists.json",
        "nine characters to a list of nine, null for occupied cells, inside a dictionary",
        lambda moves: as_json({"q_table": {text(c, ".XO"): listed(q, None) for c, q in moves.items()}}),
        True,
    ),
    Shape(
        "moves.json",
        "nine characters to {move: number}",
        lambda moves: as_json({text(c, "-XO"): q for c, q in moves.items()}),
        True,
    ),
    Shape(
        "default.pickle",
        "a `defaultdict` from tuple to {(row, column): number}",
        lambda moves: pickle.dumps(
            defaultdict(
                dict, {tuple(marks(c, 0, 1, 2)): {divmod(a, 3): x for a, x in q.items()} for c, q in moves.items()}
            )
        ),
        True,
    ),
    Shape(
        "pairs.pickle",
        "(position, move) to number, moves from 1",
        lambda moves: pickle.dumps({(tuple(by_mover(c)), a + 1): q for c, a, q in of_moves(moves)}),
        True,
    ),
    Shape(
        "pairs.json",
        "text of (position, move) to number",
        lambda moves: as_json({str((tuple(marks(c, 0, 1, -1)), a)): q for c, a, q in of_moves(moves)}),
        True,
    ),
    Shape(
        "occupied.csv",
        "position and nine numbers, `-` for occupied cells",
        lambda moves: lines([[text(c, "bxo"), *listed(q, "-")] for c, q in moves.items()], ","),
        True,
    ),
    Shape(
        "actions.csv",
        "columns state, action, value",
        lambda moves: lines([["state", "action", "value"], *([number(c), a, q] for c, a, q in of_moves(moves))], ","),
        True,
    ),
    Shape(
        "records.jsonl",
        "an object a line",
        lambda moves: b"\n".join(
            as_json({"board": marks(c, "", "X", "O"), "move": a, "q": q}) for c, a, q in of_moves(moves)
        ),
        True,
    ),
]


def same(found: ttt.Run, expected: ttt.Run) -> bool:
    """Return whether two runs have the same verdict and the same exact results."""
    one, other = found.evaluation("random"), expected.evaluation("random")
    return (one.unbeatable, one.first, one.second) == (other.unbeatable, other.first, other.second)


def smallest(shape: Shape, table: Mapping[int, Any]) -> str:
    """Return the first two entries of a file, as Python, JSON or text."""
    few = {
        code: {cell: round(q, 2) for cell, q in row.items()} if isinstance(row, dict) else round(row, 2)
        for code, row in list(table.items())[:2]
    }
    content = shape.make(few)
    if shape.name.endswith(".pickle"):
        shown = repr(pickle.loads(content))
    elif shape.name.endswith((".npy", ".npz")):
        found = np.load(io.BytesIO(content), allow_pickle=True)
        arrays = dict(found) if shape.name.endswith("z") else {"array": found}
        if shape.name == "object.npy":
            shown = repr(found.item())
        else:
            shown = ", ".join(f"{name}: {array.dtype}{list(array.shape)}" for name, array in arrays.items())
    else:
        shown = content.decode().rstrip("\n").replace("\n", " / ").replace("\t", " <tab> ")
    shown = " ".join(shown.split()) if "\n" in shown else shown
    return shown if len(shown) <= LONGEST else f"{shown[: LONGEST - 3]}..."


def taken(path: Path) -> str:
    """Import a file and return how its keys were read."""
    return ttt.import_run(path).notes[0].split("; ")[1].removeprefix("keys are ")


def rows(folder: Path, values: ttt.Run, moves: ttt.Run) -> list[list[str]]:
    """Write and import a file of each shape; return a row of the page for each.

    Raises SystemExit if a file does not come back as the run that it is of.
    """
    found = []
    for shape in SHAPES:
        run, table = (moves, moves_of(moves)) if shape.moves else (values, values_of(values))
        path = folder / shape.name
        path.write_bytes(shape.make(table))
        if not same(ttt.import_run(path), run):
            raise SystemExit(f"{shape.name} does not come back as the run that it is of")
        found.append([f"`{shape.name}`", shape.what, f"`{smallest(shape, table)}`", taken(path)])
    return found


def page(folder: Path) -> str:
    """Return the page."""
    values, moves = (ttt.train(GAMES, learner=learner, seed=1) for learner in ("td", "q-learning"))
    found = rows(folder, values, moves)
    return fill("tables.md", shapes=markdown_table(["file", "holds", "smallest example", "keys are read as"], found))


def parser() -> argparse.ArgumentParser:
    """Return the options."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--page", type=Path, metavar="FILE", help="write the page; standard output if not given")
    parser.add_argument("--folder", type=Path, metavar="FOLDER", help="keep the files there")
    return parser


def main() -> None:
    """Make and import a file of each shape, then write the page."""
    options = parser().parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.folder or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        text = page(folder)
    if options.page is None:
        print(text, end="")
    else:
        options.page.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
