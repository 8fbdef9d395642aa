"""Games between two players, and their tally.

A game is a function of the random key and its own number alone: number p of its random numbers decides
the move of ply p.  A player that chooses an occupied cell (`minimax-q` before it has learnt better) loses the game.

On an enumerated board `play_walk` follows edges: a game takes less than a microsecond, and no learner's code has to be
compiled (half a second once, against 6 s for each learner).  On any board `play_agents` plays ply by ply.

Shares come with Wilson's interval (Wilson, "Probable inference, the law of succession, and statistical inference",
Journal of the American Statistical Association 22, 1927).  It stays within [0, 1], and also says something if no game
was lost.
"""

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ttt_batch.analysis.agent import Agent, agent_cells, move_outcome
from ttt_batch.analysis.opponents import Scripted, scripted_cells
from ttt_batch.base.choices import RESULTS
from ttt_batch.base.jit import kernel
from ttt_batch.base.streams import below, draw, game_base
from ttt_batch.game.bitboards import Places, n_bits, nth_cell
from ttt_batch.game.board import DRAW, FIRST_WINS, SECOND_WINS, UNFINISHED
from ttt_batch.game.graph import Graph, n_unfinished
from ttt_batch.simulation.policy import Policy

MAX_MATCH_GAMES = 10**9

AT_ONCE, WALKS_AT_ONCE = 1 << 12, 1 << 18
"""Games between two chances to interrupt, ply by ply and along edges."""

CONFIDENCE, DEVIATIONS = 0.95, 1.959963984540054
"""The confidence of an interval, and half its width in standard deviations of a normal distribution."""


class OpenGames(NamedTuple):
    """Games that are played ply by ply.

    code: int64[B], their positions.  marks: int64[P, B], the players' cells as bits.  outcome: int8[B].
    cells: int64[B], bits, what the player to move picks among.
    """

    code: Any
    marks: Any
    outcome: Any
    cells: Any


class Tally(NamedTuple):
    """Games by result for one of the players."""

    win: int
    draw: int
    loss: int

    @property
    def games(self) -> int:
        """All games."""
        return sum(self)

    def share(self, result: str) -> tuple[float, float, float]:
        """The share of `win`, `draw` or `loss`, and its interval: (share, low, high)."""
        count = getattr(self, result)
        return count / self.games, *wilson(count, self.games)

    def to_dict(self) -> dict[str, Any]:
        """Plain values with stable keys, as `--json` prints them."""
        names = ("games", "share", "low", "high")
        return {
            result: dict(zip(names, (getattr(self, result), *self.share(result)), strict=True)) for result in RESULTS
        }


def wilson(count: int, games: int) -> tuple[float, float]:
    """The interval that holds the true share with 95 % confidence if `count` of `games` (at least 1) were so."""
    share, z2 = count / games, DEVIATIONS**2 / games
    middle = (share + z2 / 2) / (1 + z2)
    half = math.sqrt(z2 * (share * (1 - share) + z2 / 4)) / (1 + z2)
    # At the ends the exact value is 0 or 1, which rounding misses.
    return 0.0 if count == 0 else middle - half, 1.0 if count == games else middle + half


@kernel
def walk_games(
    graph: Graph, first: Policy, second: Policy, key: Any, first_game: int, last_game: int, counts: Any
) -> None:
    """Play games `first_game` to `last_game - 1` along the edges of an enumerated board.

    key: uint64.  counts: int64[4], games by outcome, added to in place.
    """
    n_open = n_unfinished(graph)
    for number in range(first_game, last_game):
        base = game_base(key, number)
        row, ply = np.int64(0), 0
        while row < n_open:
            policy = second if ply & 1 else first
            slot = graph.first_edge[row] + below(draw(base, ply), policy.best[row])
            row = np.int64(graph.child[policy.ordered[slot]])
            ply += 1
        counts[graph.outcome[row]] += 1


@kernel
def list_agent_cells(agent: Agent, ply: int, games: OpenGames) -> None:
    """Write what an agent picks among at `ply` into `games.cells`."""
    for game in range(games.code.shape[0]):
        if games.outcome[game] == UNFINISHED:
            games.cells[game] = agent_cells(agent, games.code[game], ply)


@kernel
def list_scripted_cells(player: Scripted, ply: int, games: OpenGames) -> None:
    """Write what a scripted player picks among at `ply` into `games.cells`."""
    mover = ply & 1
    for game in range(games.code.shape[0]):
        if games.outcome[game] == UNFINISHED:
            own, other = games.marks[mover, game], games.marks[1 - mover, game]
            games.cells[game] = scripted_cells(player.places, own, other, player.plies)


@kernel
def play_ply(places: Places, ply: int, key: Any, first_game: int, games: OpenGames) -> Any:
    """Make the move of `ply` in every unfinished game, in place; return how many games go on.

    key: uint64.  first_game: the number of the first of the games.
    """
    mover, left = ply & 1, 0
    code, marks, outcome = games.code, games.marks, games.outcome
    for game in range(code.shape[0]):
        if outcome[game] != UNFINISHED:
            continue
        cells = games.cells[game]
        cell = nth_cell(cells, below(draw(game_base(key, first_game + game), ply), n_bits(cells)))
        outcome[game] = move_outcome(places, cell, marks[mover, game], marks[1 - mover, game], ply)
        marks[mover, game] |= np.int64(1) << cell
        code[game] += (1 + mover) * places.power[cell, 0]
        left += outcome[game] == UNFINISHED
    return left


def play_walk(graph: Graph, first: Policy, second: Policy, games: int, key: Any) -> Tally:
    """Play two policies over one graph against each other; return the tally of the first player.

    key: uint64, of the games' random numbers.
    """
    counts = np.zeros(4, np.int64)
    for start in range(0, games, WALKS_AT_ONCE):
        walk_games(graph, first, second, key, start, min(games, start + WALKS_AT_ONCE), counts)
    return _tally(counts)


def play_agents(first: Agent | Scripted, second: Agent | Scripted, games: int, key: Any) -> Tally:
    """Play two players of one board, enumerated or not, against each other; return the tally of the first player.

    key: uint64, of the games' random numbers.
    """
    counts = np.zeros(4, np.int64)
    for start in range(0, games, AT_ONCE):
        size = min(games - start, AT_ONCE)
        code, cells = np.zeros((2, size), np.int64)
        block = OpenGames(code, np.zeros((2, size), np.int64), np.zeros(size, np.int8), cells)
        ply, left = 0, size
        while left:
            player = second if ply & 1 else first
            if isinstance(player, Agent):
                list_agent_cells(player, ply, block)
            else:
                list_scripted_cells(player, ply, block)
            left = play_ply(player.places, ply, key, start, block)
            ply += 1
        counts += np.bincount(block.outcome, minlength=4)
    return _tally(counts)


def _tally(counts: NDArray[np.int64]) -> Tally:
    """Games by outcome, from the first player's side."""
    return Tally(int(counts[FIRST_WINS]), int(counts[DRAW]), int(counts[SECOND_WINS]))
