"""Review of a game, and agents that are made weaker on purpose.

A mistake makes the result of best play worse for its mover: a won position becomes a draw or a loss, or a draw a loss.
Winning later than possible, or losing sooner, does not count.

Without exact results the rules still show oversights: a missed win in one move, or one left to the opponent.

An agent is weakened so that players of any strength can win against it.  With probability `epsilon` a move is uniformly
random, as in training.  Otherwise, with probability `1 - level`, it is sampled by softmax over the agent's values.  In
all other cases the agent's own rule picks, with the given ties.  A learner of action preferences is sampled by its own
softmax probabilities, and `menace` by the beads in its boxes.  At level 1 and epsilon 0 nothing is sampled here, and
with ties `any` the agent's play is unchanged.
"""

import random
import textwrap
from collections.abc import Sequence
from typing import NamedTuple, TypedDict

from ttt_batch.agents.adapter import AgentProxy, PlayingAgent
from ttt_batch.compiler.numerics import softmax_probabilities
from ttt_batch.core.text import Number, Ties, parse_share
from ttt_batch.games.board import EMPTY, MARKS, UNFINISHED, Board, Game, Position, cells_in
from ttt_batch.games.gravity_solver import LIMIT, QUICK_LIMIT
from ttt_batch.games.solution import QUICKEST, WORDS, Prospect

TEMPERATURE = 0.25
"""Softmax temperature, as a share of the distance between the best and the worst result on the learner's scale.

It therefore means the same for all learners: a move is e**4 = 55 times as likely if it is worth a whole game more, and
7.4 times if half a game more."""

TIED = "\N{NO-BREAK SPACE}"
"""Space at which a review does not wrap."""


class Handicap(TypedDict, total=False):
    """Arguments of `HandicappedAgent` that say how an agent plays."""

    level: Number
    epsilon: Number
    ties: Ties


class HandicappedAgent(AgentProxy):
    """Agent that plays below its strength.

    level: share of moves by its own rule, 0 to 1 or a percentage; the others are sampled by softmax over its values.
    epsilon: share of uniformly random moves, 0 to 1; it applies first.
    rng: generator for both; the caller samples from `candidates` and may use the same one.
    ties: rule that chooses among the moves of its own rule, see `ties`; without effect on a player with `own_ties`.

    Raises UsageError for a level or an epsilon outside 0 to 1, for unknown ties, and for `sharp` with networks.  Raises
    BoardError for `sharp` on a board too large to enumerate.
    """

    def __init__(
        self,
        agent: PlayingAgent,
        level: Number = 1.0,
        epsilon: Number = 0.0,
        rng: random.Random | None = None,
        ties: Ties = "any",
    ):
        self.level = parse_share("level", level, "1 plays its best, 0 draws every move by softmax")
        self.epsilon = parse_share("epsilon", epsilon, "it is the share of random moves")
        super().__init__(agent)
        self._ties, self._rng = agent.checked_ties(ties), rng or random.Random()

    def candidates(self, position: Position) -> list[int]:
        """Return the cells to pick among for one move: those of its rule, or the one that this call has sampled."""
        free = self.board.open_cells(position)
        if self.epsilon > 0 and self._rng.random() < self.epsilon:
            return [self._rng.choice(free)]
        if self.level < 1 and self._rng.random() >= self.level:
            shares = self.move_values(position)
            if self.gives == "value" or self._agent.outside:  # an adapter's probabilities may be 0 or 1
                shares = softmax_probabilities(shares, TEMPERATURE * result_range(self._agent, position))
            return self._rng.choices(list(shares), list(shares.values()))
        if (drawn := self._agent.drawn_shares(position)) is not None:
            certain = self._agent.outside and len(drawn) == 1
            return list(drawn) if certain else self._rng.choices(list(drawn), list(drawn.values()))
        return self._agent.best_cells(position, self._agent.candidates(position), self._ties)


def result_range(agent: PlayingAgent, position: Position) -> float:
    """Return the distance between the best and the worst result for the player to move, on the agent's scale.

    It is 1 if all results are worth the same, so that the temperature stays above 0.
    """
    mover = (len(position) - position.count(EMPTY)) % 2
    ends = [float(value) for outcome, value in enumerate(agent.worth[mover]) if outcome != UNFINISHED]
    return max(ends) - min(ends) or 1.0


class Mistake(NamedTuple):
    """Move that worsened the mover's result of best play.

    ply: its number from 0.  player: the mover, 0 or 1.
    before: the mover's result of best play before the move, 1 a win or 0 a draw.  after: the result after it.
    better: cells that would have kept the result, each with its own result, quickest first.
    """

    ply: int
    player: int
    cell: int
    before: int
    after: Prospect
    better: tuple[tuple[int, Prospect], ...]


def move_results(knowing: PlayingAgent, position: Position, limit: int = LIMIT) -> dict[int, Prospect] | None:
    """Return the mover's result of best play after each free cell, with plies from now on; None if unknown.

    Empty for a final position.  limit: as for `true_moves`.  Raises BoardError for a position that no game reaches.
    """
    truths = knowing.true_moves(position, limit)
    if truths is None:
        return None
    player = (len(position) - position.count(EMPTY)) % 2
    return {cell: truth.a_ply_earlier.seen_by(player) for cell, truth in sorted(truths.items())}


def known_from(knowing: PlayingAgent, game: Game) -> int:
    """Return the ply from which on the exact results of all moves of a game are known; the number of plies if none."""
    ply = len(game.moves)
    while ply > 0 and _results_before(knowing, game, ply - 1) is not None:
        ply -= 1
    return ply


def _results_before(knowing: PlayingAgent, game: Game, ply: int) -> dict[int, Prospect] | None:
    """Return `move_results` of the position after `ply` moves, with plies only where they are found quickly."""
    position = Game(game.board, game.moves[:ply]).position
    found = move_results(knowing, position, QUICK_LIMIT)
    return move_results(knowing, position) if found is None else found


def review(knowing: PlayingAgent, game: Game) -> list[Mistake] | None:
    """Return the mistakes of a game, finished or not, in order; None if no exact results are known.

    Moves before `known_from` are left out.  A move to an occupied cell loses at once.
    """
    slips, start = [], known_from(knowing, game)
    if game.moves and start == len(game.moves):
        return None
    for ply, cell in enumerate(game.moves[start:], start):
        found = _results_before(knowing, game, ply) or {}
        best = max(prospect.result for prospect in found.values())
        if cell in found and found[cell].result == best:
            continue
        # How soon is worth a longer search for mistakes only.
        found = move_results(knowing, Game(game.board, game.moves[:ply]).position) or found
        better = [choice for choice in found.items() if choice[1].result == best]
        better.sort(key=lambda choice: (QUICKEST if choice[1].plies is None else choice[1].plies, choice[0]))
        slips.append(Mistake(ply, ply % 2, cell, best, found.get(cell, Prospect(-1, 1)), tuple(better)))
    return slips


class Oversight(NamedTuple):
    """Move that a look two plies ahead shows to be wrong.

    ply, player: as in `Mistake`.  text: description without cells.  better: every cell that would have been right.
    """

    ply: int
    player: int
    cell: int
    text: str
    better: tuple[int, ...]


def oversights(game: Game) -> list[Oversight]:
    """Return the oversights of a game, in order; they need the rules only.

    An oversight misses a win in one move, or leaves open the only cell with which the opponent then wins.  On misere
    boards it completes a line although a cell that completes none was free.
    """
    board, found = game.board, []
    marks = [0, 0]
    for ply, cell in enumerate(game.moves):
        mover = ply % 2
        own, other = marks[mover], marks[1 - mover]
        lines, threats = _closing(board, own, other), _closing(board, other, own)
        text, better = "passed up a win", lines
        if board.misere:
            text = "made a line without need"
            better = _open(board, own | other) & ~lines if lines >> cell & 1 else 0
        elif not lines:
            text, better = "left a win", threats if threats.bit_count() == 1 else 0
        if better and not better >> cell & 1:
            found.append(Oversight(ply, mover, cell, text, tuple(cells_in(better))))
        marks[mover] |= 1 << cell
    return found


def _closing(board: Board, own: int, other: int) -> int:
    """Return the legal cells, as bits, with which the player of `own` completes a line."""
    cells = 0
    for line, fence in board.line_masks:
        missing = line & ~own
        if missing.bit_count() == 1 and not line & other and not fence & own:
            cells |= missing
    return cells & _open(board, own | other)


def _open(board: Board, taken: int) -> int:
    """Return the legal cells, as bits, if the cells `taken` are marked."""
    return board.open_among(~taken & (1 << board.cells) - 1)


def oversights_text(
    found: Sequence[Oversight], board: Board, names: tuple[str, str] = ("X", "O"), width: int = 40
) -> list[str]:
    """Format oversights in lines as `review_text` does; empty without oversights."""
    lines = ["Oversights found:"] if found else []
    for one in found:
        who = f"{one.ply + 1}. {MARKS[1 + one.player]} {board.cell_name(one.cell)} ({names[one.player]})"
        better = " ".join(board.cell_name(cell) for cell in one.better)
        lines += _wrap(f"{who}: {one.text}; better:{TIED}{better}", width, "", "   ")
    return lines


def _wrap(text: str, width: int, first: str, later: str) -> list[str]:
    """Wrap a text after indents, neither within a name nor at `TIED`, which becomes a space."""
    lines = textwrap.wrap(text, width, initial_indent=first, subsequent_indent=later, break_on_hyphens=False)
    return [line.replace(TIED, " ") for line in lines]


def review_text(
    slips: Sequence[Mistake] | None, board: Board, names: tuple[str, str] = ("X", "O"), width: int = 40
) -> list[str]:
    """Format a review in lines of at most `width` columns.  names: of the first and the second player."""
    if slips is None:
        return textwrap.wrap(f"No review: {board.name} has too many positions to solve.", width)
    if not slips:
        return ["No mistakes found."]
    lines = ["Mistakes found:"]
    for slip in slips:
        who = f"{slip.ply + 1}. {MARKS[1 + slip.player]} {board.cell_name(slip.cell)} ({names[slip.player]})"
        change = f"{WORDS[slip.before]} -> {slip.after}".replace(" ", TIED)
        lines += _wrap(f"{who}: {change}", width, "", "   ")
        kept: dict[str, list[str]] = {}
        for cell, prospect in slip.better:
            kept.setdefault(f"({prospect})".replace(" ", TIED), []).append(board.cell_name(cell))
        better = "; ".join(f"{' '.join(cells)}{TIED}{result}" for result, cells in kept.items())
        lines += _wrap(f"better: {better}", width, "   ", "     ")
    return lines
