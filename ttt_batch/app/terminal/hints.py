"""Hints: the agent's value of each free cell, or how likely it is to take it, and its true result if that is known.

Letters tell wins, draws and losses apart; with colour, wins are on blue and losses on orange.
"""

import math
from collections.abc import Collection, Mapping
from typing import NamedTuple

from ttt_batch.analysis.review import move_results
from ttt_batch.app.terminal.drawing import draw_grid, styled
from ttt_batch.base.choices import Ties
from ttt_batch.base.quantities import percent
from ttt_batch.game.board import EMPTY, MARKS, Game
from ttt_batch.game.solution import Prospect
from ttt_batch.runs.knowledge import PlayingAgent

PLY = "(a ply is one move of either player)"
"""Explains the word where plies are first counted."""


class Hints(NamedTuple):
    """What is known of the moves of a position.

    values: the agent's value of free cells for the player to move, NaN or left out if never visited; or chances.
    truths: what each free cell truly leads to; None if unknown.
    gives: what the values are, `value` or `chance`.
    """

    values: Mapping[int, float]
    truths: Mapping[int, Prospect] | None = None
    gives: str = "value"


def hints_of(agent: PlayingAgent, game: Game) -> Hints:
    """What an agent knows of the moves of an unfinished position."""
    return Hints(agent.move_values(game.position), move_results(agent, game.position), agent.gives)


def query_once(agent: PlayingAgent, ties: Ties) -> None:
    """Query an agent as a game does, before a screen is taken: compiling and enumerating may write lines.

    ties: those that it will play by.
    """
    game = Game(agent.board)
    hints_of(agent, game)
    agent.candidates(game.position)
    if ties == "sharp" and agent.sharpens:
        agent.sharp_cells(game.position)


def draw_hints(game: Game, hints: Hints, colour: bool = False) -> list[str]:
    """Draw the hints for the player to move over the board, and a legend."""
    what = "What the agent gives" if hints.gives == "value" else "The agent's chance of"
    title = f"{what} each cell for {MARKS[game.mover]}:"
    legend = [*draw_highest(game, hints), *draw_legend(game, hints, colour)]
    return [title, "", *draw_values(game, hints, colour), "", *legend]


def draw_values(
    game: Game, hints: Hints, colour: bool = False, cursor: int | None = None, marked: Collection[int] = ()
) -> list[str]:
    """Draw the board with the value of each free cell, `?` if never visited, above the truth.

    The `marked` cells stand in brackets.
    """
    known, best = _known(game, hints), _highest(game, hints)
    labels: list[str | tuple[str, ...]] = []
    styles = []
    for cell, mark in enumerate(game.position):
        text = shown_number(hints, known[cell]) if cell in known else "?" if mark == EMPTY else MARKS[mark]
        truth = hints.truths.get(cell) if hints.truths is not None else None
        labels.append(text if hints.truths is None else (text, truth.short if truth is not None else ""))
        look = MARKS[mark] if mark != EMPTY else truth.word if truth is not None else ""
        inverse = cell == cursor or (cell in best and hints.truths is None)
        styles.append((look, "best" if cell in best else "", "marked" if inverse else ""))
    return draw_grid(game.board, labels, marked, styles if colour else None, cursor)


def draw_highest(game: Game, hints: Hints) -> list[str]:
    """Name the cells of the highest value, in a line; none if no cell was visited."""
    best = _highest(game, hints)
    cells = " ".join(game.board.cell_name(cell) for cell in best) if len(best) < 10 else f"{len(best)} cells"
    return [f"Highest: {cells}"] if best else []


def draw_legend(game: Game, hints: Hints, colour: bool = False) -> list[str]:
    """Say what the values and the signs below them mean, in lines of at most 40 columns."""
    lines = ["? = never seen"] if len(_known(game, hints)) < game.position.count(EMPTY) else []
    if hints.gives == "chance":
        lines += ["Per cent: how likely the agent is to", "take the cell; it keeps no values."]
    if hints.truths is None:
        return [*lines, "The true results of this board are", "unknown: it has too many positions."]
    signs = (("W3", "win in 3 plies", "win"), ("D", "draw", "draw"), ("L2", "loss in 2", "loss"))
    parts = [f"{styled(sign, style) if colour else sign} {meaning}" for sign, meaning, style in signs]
    return [*lines, f"Below each {hints.gives} the truth:", ", ".join(parts), PLY]


def _known(game: Game, hints: Hints) -> dict[int, float]:
    """Values of the free cells that were visited."""
    values = {cell: hints.values.get(cell, math.nan) for cell, mark in enumerate(game.position) if mark == EMPTY}
    return {cell: value for cell, value in values.items() if not math.isnan(value)}


def _highest(game: Game, hints: Hints) -> list[int]:
    """The free cells of the highest value; none if none was visited."""
    known = _known(game, hints)
    return [cell for cell, value in known.items() if value == max(known.values())]


def shown_number(hints: Hints, number: float) -> str:
    """What the agent gives a cell: a value, or a chance in per cent."""
    return shown_value(number) if hints.gives == "value" else percent(number)


def shown_value(value: float) -> str:
    """A value in few columns, whatever a draw is worth; adding 0.0 after rounding turns a "-0.00" into "+0.00"."""
    return f"{round(value, 2) + 0.0:+.2f}" if abs(value) < 1000 else f"{value:+.1e}"
