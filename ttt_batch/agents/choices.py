"""An agent's choices as a table: every position that its own play lets happen, with the probability of each cell."""

import csv
import io
import json
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ttt_batch.agents.answers import Answered
from ttt_batch.agents.layers import LayerRules
from ttt_batch.agents.outsider import AgentAdapter
from ttt_batch.agents.positions import Words, position_codes
from ttt_batch.agents.reach import Reached
from ttt_batch.game.notation import rows_text
from ttt_batch.game.state_space import check_enumerable


class Choices(NamedTuple):
    """code: int64[n], ascending.  chances: float64[n, cells], the probability of each cell, row by row."""

    code: NDArray[np.int64]
    chances: Answered


def choices_of(agent: AgentAdapter) -> Choices:
    """An agent's choices in both seats.  Raises BoardError on a board too large to enumerate, and AgentError."""
    board = agent.board
    check_enumerable(board, not agent.exact, "a table of an agent's choices")
    code, chances = list[NDArray[np.int64]](), list[Answered]()

    def answers(own: Words, other: Words, ply: int) -> Answered:
        found = agent.answers(own, other, ply)
        code.append(position_codes(*((other, own) if ply % 2 else (own, other)), board.cells))
        chances.append(found)
        return found

    for seat in (0, 1):
        Reached(LayerRules(board, agent.symmetric), answers, seat)
    agent.ask_again()
    codes, first = np.unique(np.concatenate(code), return_index=True)
    return Choices(codes, np.concatenate(chances)[first])


def as_json(agent: AgentAdapter) -> bytes:
    """The table as JSON: board, agent, symmetric, and positions, each with code, position and chances."""
    found = choices_of(agent)
    positions = [
        {"code": code, "position": rows_text(agent.board, agent.board.decode(code)), "chances": row}
        for code, row in zip(found.code.tolist(), found.chances.tolist(), strict=True)
    ]
    whole = {"board": agent.board.name, "agent": agent.name, "symmetric": agent.symmetric, "positions": positions}
    return (json.dumps(whole, indent=1) + "\n").encode()


def as_csv(agent: AgentAdapter) -> bytes:
    """The table as CSV: code, position, and a column for each cell, counted from 0."""
    found, text = choices_of(agent), io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["code", "position", *range(agent.board.cells)])
    for code, row in zip(found.code.tolist(), found.chances.tolist(), strict=True):
        writer.writerow([code, rows_text(agent.board, agent.board.decode(code)), *(f"{one:.17g}" for one in row)])
    return text.getvalue().encode()
