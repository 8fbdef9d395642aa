"""Data of the page: arrays, tables, networks, solutions and agents, packed with its sources.

Each part of a page is a script, the plain values that it reads, and its arrays: `solution`, `table` and `network`.

`solution` holds the unfinished positions of an enumerated board and their true results.  Rows are the positions in the
order of their codes (up to symmetry: the lowest code of each class).  A bit for each of the 3**cells codes says which
have a row, so no code is written down.

`table` holds the moves that the agent may play, and its values, or probabilities by softmax if it has none.  Rows are
those of `solution`; 3x3 takes 8 to 40 KB, the 1,135,214 unfinished classes of 4x4x4 take 0.9 MB.

`network` holds the tuples of a run's networks, and the weights that are not 0.  Patterns that a symmetry of their tuple
turns into each other share a weight, which is written down once, as that of the pattern with the lowest number.  Each
is a gap after the one before and its weight: on 6x5x4 175,000 of 2,326,293 for each player, 1.1 MB of a page.

`cards` holds the faces of a certificate's cards, cell by cell, as they are printed.

The sources of a page lose their comments and indentation: 30 KB of a page of 3x3 that learns.

The Learn tab, for 3x3 and 3x3-misere, has learners in JavaScript that compute the very tables of `train --batch 1`.
The scripts are in `learning/`.  Those that learn run in a Web Worker, too, which the page makes from its own scripts,
so that it stays one file; the others show what is learnt.
"""

import base64
import re
import zlib
from importlib.resources import files
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ttt_batch.agents.adapter import AgentAdapter, are_even, edge_chances, judge_exactly
from ttt_batch.agents.builtin import named_agent
from ttt_batch.app.cards import Deck, Next
from ttt_batch.app.web.texts import exact_texts, known_facts
from ttt_batch.core.errors import BoardError
from ttt_batch.core.text import SEATS, Ties
from ttt_batch.games.board import Board
from ttt_batch.games.enumeration import check_enumerable
from ttt_batch.games.graph import Graph, rows_of_edges
from ttt_batch.games.solution import QUICKEST
from ttt_batch.ntuple.network import MARKS, UNIT, WeightTable, layout_of, powers_of, reads_of
from ttt_batch.runs.evaluation import played_chances
from ttt_batch.runs.network_run import PatternRun
from ttt_batch.runs.run import Run
from ttt_batch.simulation.policy import Policy, cell_sets, chosen_edges, edge_scores, legal_edges, policy_among


class PagePart(NamedTuple):
    """Data of one script of the page.

    script: its name without `.js`, the key of its values on the page.  values: plain values.
    arrays: by name, little-endian; no two parts of a page have the same name.
    """

    script: str
    values: dict[str, Any]
    arrays: dict[str, NDArray[Any]]


def pack_arrays(parts: list[PagePart]) -> dict[str, Any]:
    """Return the arrays of all parts as plain values.

    sizes: bytes of each, in order.  deflated: a zlib stream of them, in base 64.
    """
    arrays = {name: array for part in parts for name, array in part.arrays.items()}
    content = b"".join(array.tobytes() for array in arrays.values())
    return {
        "sizes": {name: array.nbytes for name, array in arrays.items()},
        "deflated": base64.b64encode(zlib.compress(content, 9)).decode(),
    }


def planes(numbers: NDArray[np.uint32]) -> NDArray[np.uint8]:
    """Return the bytes of numbers as uint8[4, n], lowest first, so that the mostly empty highest bytes compress."""
    return np.ascontiguousarray(numbers.astype("<u4").view(np.uint8).reshape(-1, 4).T)


def solution_part(board: Board, graph: Graph, symmetry: bool, solution: NDArray[np.int8]) -> PagePart:
    """Return the part of a board whose graph is enumerated, as itself or up to `symmetry`; at most MAX_CELLS cells.

    solution: int8[S], as `solution.solve_in_plies` gives it.
    Its arrays are `rows`, a bit for each code, lowest first; and `truths`, int8[U], of each row.
    """
    codes, present = open_codes(graph), np.zeros(3**board.cells, np.bool_)
    present[codes] = True
    arrays = {"rows": np.packbits(present, bitorder="little"), "truths": solution[np.argsort(codes)].astype("i1")}
    return PagePart("solution", {"rows": codes.size, "quickest": QUICKEST, "images": board.images(symmetry)}, arrays)


MAX_CELLS = 16
"""Cells of a board at most whose positions a page holds: a bit for each code, and 16 for the moves of a row."""


def check_cells(board: Board) -> None:
    """Raise BoardError if a page does not hold the positions of a board."""
    if board.cells > MAX_CELLS:
        raise BoardError(
            f"board {board.name} has {board.cells} cells; a page of all positions takes at most {MAX_CELLS}: "
            "choose a smaller board, such as 4x4x4"
        )


def open_codes(graph: Graph) -> NDArray[np.int64]:
    """Return the codes of unfinished positions (int64[U]), in the order of the graph."""
    return graph.code[: graph.first_edge.size - 1]


VALUED_CELLS = 12
"""Cells up to which values are packed: 3x4x3 has 391,062 moves, 4x4x4 has 6,460,008 (6 MB and more)."""

STEP = 0.001
"""Step to which values are rounded, unless the largest would not fit."""

LARGEST, NEVER_SEEN = 32_767, -32_768


def table_part(run: Run, ties: Ties = "sharp") -> PagePart:
    """Return the part of a run whose board is enumerated; at most MAX_CELLS cells.

    ties: which of the moves that its rule may pick the agent plays, as for `Run.candidates`.
    Its value `step` is what one unit of a value is worth; 0 if no values are packed.  Its arrays are
      candidates: uint16[U], a bit for each cell that the agent may pick, by row;
      values: int16[moves to free cells], by row and cell; chances for learners that keep no values.
    """
    graph, values, step = run.graph, np.zeros(0, "<i2"), 0.0
    if run.board.cells <= VALUED_CELLS:
        by_chances = run.learner.temperature is not None
        scores = played_chances(run).chance if by_chances else edge_scores(run.tables, graph)
        scores = scores[_by_code(graph, legal_edges(graph))]
        seen = np.isfinite(scores)
        step = max(STEP, float(np.abs(scores[seen]).max(initial=0.0)) / LARGEST)
        values = np.where(seen, np.rint(np.where(seen, scores, 0.0) / step), NEVER_SEEN).astype("<i2")
    return moves_part(graph, run.policy_on(graph, ties), values, step)


def moves_part(
    graph: Graph, policy: Policy, values: NDArray[np.int16], step: float, chances: NDArray[np.float64] | None = None
) -> PagePart:
    """Return the part of an agent with this policy; values, step: as for `table_part`.

    chances: float64[E], how likely each move is, if they are not equally likely; above 0 for those of the policy.
    Then there is one array more, `chances`, float32 for each bit of `candidates`, the lowest first.
    """
    candidates = cell_sets(graph, chosen_edges(graph, policy))[np.argsort(open_codes(graph))]
    arrays: dict[str, NDArray[Any]] = {"candidates": candidates.astype("<u2"), "values": values}
    if chances is not None:
        arrays["chances"] = chances[_by_code(graph, chances != 0)].astype("<f4")
    return PagePart("table", {"step": step}, arrays)


def _by_code(graph: Graph, chosen: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Return the `chosen` (bool[E]) edges by the codes of their positions, then by cell."""
    edges = np.flatnonzero(chosen)
    return edges[np.lexsort((graph.cell[edges], open_codes(graph)[rows_of_edges(graph)[edges]]))]


def network_part(run: PatternRun) -> PagePart:
    """Return the part of a run of networks.

    Its values are
      unit: weights are whole multiples of 1 / unit;
      tables: for each table the number of its first weight, and for each symmetry of its tuple what a first player's
      mark counts on each cell that is read; coded by columns also the number of runs (`feet`);
      tuples: for each tuple the number of its table, and the cells that it reads, see `reads_of`.
    Its arrays are, for each seat, uint8[4, weights that are not 0] (see `planes`):
      gaps-SEAT: differences between successive numbers of weights, the first one from 0;
      weights-SEAT: 2 * w for a weight w, or -2 * w - 1 if it is negative.
    """
    config, network = run.config, run.network
    board, coding = config.board, config.coding
    layout = layout_of(config.cells(), board, config.sharing, coding)
    read = [reads_of(one, layout.tables[one.table], board, coding) for one in layout.placed]
    first = np.cumsum([0, *(table.weights for table in layout.tables)])
    tables = [
        {"first": int(start), "powers": [_powers(table, turn, coding) for turn in sorted(table.turns)]}
        | ({} if coding == MARKS else {"feet": len(table.digits)})
        for start, table in zip(first[:-1], layout.tables, strict=True)
    ]
    lowest = network.members[network.kind_start[:-1]]
    arrays: dict[str, NDArray[Any]] = {}
    for seat, weights in zip(SEATS, run.agent.weights, strict=True):
        places = lowest[weights[lowest] != 0]
        kept = weights[places]
        arrays[f"gaps-{seat}"] = planes(np.diff(places, prepend=np.uint32(0)))
        arrays[f"weights-{seat}"] = planes(((kept << 1) ^ (kept >> 31)).view(np.uint32))
    tuples = [[one.table, *(r.cell for r in each)] for one, each in zip(layout.placed, read, strict=True)]
    return PagePart("network", {"unit": UNIT, "tables": tables, "tuples": tuples}, arrays)


def _powers(table: WeightTable, turn: tuple[int, ...], coding: str) -> list[int]:
    """Return what a first player's mark counts on each cell that a tuple of a table reads, after one of its turns."""
    return [powers[0] for powers in powers_of(table._replace(worth=[table.worth[to] for to in turn]), coding)]


def cards_part(deck: Deck) -> PagePart:
    """Return the part of a deck: the seat that plays by it, 1 or 2, and its faces with their cells, see `cards.js`."""
    faces = [
        {"name": face.name, "cells": [_held(kind, what) for kind, what in face.cells()]}
        for card in deck.cards
        for face in card
    ]
    return PagePart("cards", {"seat": 1 + deck.certificate.seat, "faces": faces}, {})


def _held(kind: str, what: Next | str) -> list[Any] | str:
    """Return what a cell of a card holds as plain values."""
    if isinstance(what, Next):
        return [what.name, what.turns]
    return "*" if kind == "own" else what


def agent_part(agent: AgentAdapter) -> PagePart:
    """Return the part of an agent's moves, without values.  Raises BoardError on a board too large, and AgentError."""
    check_enumerable(agent.board, not agent.exact, "a page of an agent")
    check_cells(agent.board)
    graph, seated = agent.graph, _seated(agent)
    chances = edge_chances(seated, graph, agent.images_share)
    policy, uneven = policy_among(graph, chances > 0), None if are_even(graph, chances) else chances
    return moves_part(graph, policy, np.zeros(0, "<i2"), 0.0, uneven)


def _seated(agent: AgentAdapter) -> AgentAdapter:
    """Return the agent for the page: it sees one image of each position if rows do, and illegal moves raise."""
    return AgentAdapter(agent.agent, agent.board, symmetric=agent.images_share, loses=None)


def about_agent(agent: AgentAdapter) -> dict[str, Any]:
    """Return plain values for the page, as `texts.about` does for a table."""
    evaluation = judge_exactly(_seated(agent), AgentAdapter(named_agent("random", agent.board), agent.board))
    verdict = [f"{'unbeatable' if good else 'can be beaten'} as {seat}" for seat, good in evaluation.unbeatable.items()]
    alike = "one image of each position, for all of them" if agent.images_share else "every position"
    return {
        "learner": agent.name,
        "introduction": "The agent was asked for its moves in every position that its play lets happen, and plays them "
        "here as likely as it said.",
        **exact_texts(agent.board, evaluation, ", ".join(verdict)),
        "facts": known_facts([("Agent", agent.name), ("Board", agent.board.name), ("Asked about", alike)], {}),
    }


FOLDER = "ttt_batch.app.web"


def source(name: str) -> str:
    """Return a part of the page as `bare` leaves it, without its last line end."""
    text = bare(files(FOLDER).joinpath(name).read_text("utf-8"))
    if name.endswith(".css"):
        return re.sub(r"(?<=[:;,]) | (?={)|(?<={) | (?=})", "", text)  # no string of a style has such a space
    if name.endswith(".js"):
        return "\n".join(map(tight, text.splitlines()))
    return text


def bare(text: str) -> str:
    """Return a script, style or frame without indentation, empty lines and comment lines.

    Lines are kept, so the meaning stays; strings must not span lines.
    """
    kept, comment = [], False
    for line in map(str.strip, text.splitlines()):
        if comment or line.startswith("/*"):
            comment = "*/" not in line
        elif line and not line.startswith("//"):
            kept.append(line)
    return "\n".join(kept)


def tight(line: str) -> str:
    """Return a script's line without needless spaces and without a comment at its end.

    Lines with templates, regular expressions or single quotes stay, because their spaces may matter.
    """
    line = re.sub(r"\s+// [^\"'`]*$", "", line)
    if re.search(r"[`'/\\]", line):
        return line
    parts = line.split('"')
    parts[::2] = [re.sub(r" ?([=<>*,;:?{}()&|]) ?", r"\1", part) for part in parts[::2]]
    return '"'.join(parts)


SIDE = 3
LEARNERS = ("td", "sutton_barto", "backward_q", "q_learning", "menace")
"""Scripts of the learners that the tab offers."""

IN_THE_WORKER = (
    "game",
    *(
        f"learning/{name}"
        for name in ("random", "exploration", "graph", *LEARNERS, "self_play", "judge", "session", "files", "worker")
    ),
)
"""Scripts that run on the page and in its worker, in order."""

CLASS = "learning"
"""Marks these scripts on the page."""

TO_SHOW = tuple(f"learning/{name}" for name in ("learnt", "curve", "film", "looking", "matchboxes", "learn", "tabs"))
"""Scripts that show on the page what its worker learns."""


def learns(board: Board) -> bool:
    """Return whether a page of `board` has the Learn tab."""
    return board.rows == board.cols == board.k == SIDE and not board.gravity


def check_learns(board: Board) -> None:
    """Raise BoardError if a page of `board` would not have the tab."""
    if not learns(board):
        raise BoardError(f"a page learns on 3x3 and 3x3-misere, not on {board.name}; export a run of it as html")
