"""Evaluation against the scripted players: exact on enumerated boards, by search and sampled matches on larger ones.

A game depends only on the random key and its own number; its random number p decides the move of ply p.  A player that
chooses an occupied cell (an untrained `minimax-q` may) loses the game.

On an enumerated board `play_walk` follows the graph's edges.  A game takes less than a microsecond, and the kernel
compiles once for all learners.  On any board `play_agents` plays ply by ply.

Shares have Wilson's interval (Wilson, "Probable inference, the law of succession, and statistical inference",
Journal of the American Statistical Association 22, 1927).  It stays within [0, 1], and its width is above 0 even if no
game was lost.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ttt_batch.agents.adapter import AgentAdapter
from ttt_batch.agents.builtin import KernelAgent, KernelPlayer, Scripted, kernel_player, move_cells
from ttt_batch.agents.layers import LayerRules, Reached, distinct
from ttt_batch.compiler.bits import NONE, nth_member, popcount, single
from ttt_batch.compiler.jit import Float64Array, Int8Array, Int64, Int64Array, Uint64Array, kernel
from ttt_batch.compiler.numerics import MATCHES, below, draw, game_base, stream_key
from ttt_batch.core.text import RESULTS, SCRIPTED, SEATS, Number, Ties, choose, choose_seat, parse_int, parse_seed
from ttt_batch.games.bitboards import Lines, make_lines, open_cells, view_of
from ttt_batch.games.board import DRAW, FIRST_WINS, SECOND_WINS, UNFINISHED
from ttt_batch.games.graph import Graph, n_unfinished
from ttt_batch.runs.config import cannot_play_second_error
from ttt_batch.runs.loading import AnyRun
from ttt_batch.simulation.policy import Policy

MAX_MATCH_GAMES = 10**9

AT_ONCE, WALKS_AT_ONCE = 1 << 12, 1 << 18
"""Games between two chances to interrupt: of `play_agents` and of `play_walk`."""

CONFIDENCE, DEVIATIONS = 0.95, 1.959963984540054
"""Confidence level of an interval, and half its width in standard deviations of a normal distribution."""


class GameBlock(NamedTuple):
    """Block of B games that advance ply by ply.

    marks: uint64[P, B], each player's cells.  outcome: int8[B].
    cells: uint64[B], the cells that the player to move picks among.
    """

    marks: Uint64Array
    outcome: Int8Array
    cells: Uint64Array


class Tally(NamedTuple):
    """Number of games by result, from one player's side."""

    win: int
    draw: int
    loss: int

    @property
    def games(self) -> int:
        """Return the number of all games."""
        return sum(self)

    def share(self, result: str) -> tuple[float, float, float]:
        """Return the share of `win`, `draw` or `loss` with its interval: (share, low, high)."""
        count = getattr(self, result)
        return count / self.games, *map(float, wilson(count, self.games))

    def to_dict(self) -> dict[str, Any]:
        """Return plain values with stable keys, as `--json` prints them."""
        names = ("games", "share", "low", "high")
        return {
            result: dict(zip(names, (getattr(self, result), *self.share(result)), strict=True)) for result in RESULTS
        }


class Shares(NamedTuple):
    """Exact shares of games by result, from one player's side; used as a `Tally` is."""

    win: float
    draw: float
    loss: float

    def share(self, result: str) -> tuple[float, float, float]:
        """Return the share of `win`, `draw` or `loss`, also as both ends of its interval."""
        exact: float = getattr(self, result)
        return exact, exact, exact

    def to_dict(self) -> dict[str, Any]:
        """Return plain values as `Tally.to_dict` does; no games were played."""
        names = ("games", "share", "low", "high")
        return {result: dict(zip(names, (None, *self.share(result)), strict=True)) for result in RESULTS}


def wilson(count: Any, games: Any) -> tuple[Any, Any]:
    """Return the ends of the 95 % confidence interval of a share, from `count` of at least one `games`.

    Both take numbers or arrays; NaN gives NaN.
    """
    share, z2 = count / games, DEVIATIONS**2 / games
    middle = (share + z2 / 2) / (1 + z2)
    half = np.sqrt(z2 * (share * (1 - share) + z2 / 4)) / (1 + z2)
    # These ends are exactly 0 and 1, which rounding would miss.
    return np.where(count == 0, 0.0, middle - half), np.where(count == games, 1.0, middle + half)


@kernel
def walk_games(
    graph: Graph, first: Policy, second: Policy, key: np.uint64, first_game: Int64, last_game: Int64, counts: Int64Array
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


def draw_answers(player: AgentAdapter, ply: int, key: Any, first_game: int, games: GameBlock) -> None:
    """Draw the moves of an `AgentAdapter` at `ply`, in place; where it resigns, the game ends.

    The player answers once for each distinct position, or in every game if `samples` > 0.
    key, first_game: as for `play_ply`.
    """
    going = np.flatnonzero(games.outcome == UNFINISHED)
    own, other = games.marks[ply & 1, going], games.marks[1 - (ply & 1), going]
    number, kept = (np.arange(going.size),) * 2 if player.samples else distinct(own, other)
    chances = player.answers(own[kept], other[kept], ply, anew=player.samples > 0)
    draw_cells(chances.cumsum(1), number, going + first_game, ply, key, cells := np.empty(going.size, np.uint64))
    games.cells[going] = cells
    resigned = chances.max(1) == 0.0
    games.outcome[going[resigned[number]]] = FIRST_WINS + 1 - (ply & 1)


@kernel
def draw_cells(
    sums: Float64Array, rows: Int64Array, numbers: Int64Array, ply: Int64, key: np.uint64, cells: Uint64Array
) -> None:
    """Draw one cell for each of n games into `cells` (uint64[n], single bits), in place.

    sums: float64[positions, cells], cumulative probabilities.  rows: int64[n], the position of each game.
    numbers: int64[n], the games' numbers.
    """
    for game in range(rows.shape[0]):
        row, last = rows[game], sums.shape[1] - 1
        share = np.float64(draw(game_base(key, numbers[game]), ply) >> np.uint64(11)) / 2.0**53 * sums[row, last]
        cell = 0
        while cell < last and sums[row, cell] <= share:
            cell += 1
        cells[game] = single(cell)


@kernel
def play_ply(lines: Lines, ply: Int64, key: np.uint64, first_game: Int64, games: GameBlock) -> Any:
    """Make the move of `ply` in every unfinished game, in place; return the number of games still unfinished.

    key: uint64.  first_game: number of the block's first game.
    """
    mover, left = ply & 1, 0
    marks, outcome = games.marks, games.outcome
    for game in range(outcome.shape[0]):
        if outcome[game] != UNFINISHED:
            continue
        cells, own, other = games.cells[game], marks[mover, game], marks[1 - mover, game]
        cell = nth_member(cells, below(draw(game_base(key, first_game + game), ply), popcount(cells)))
        here = single(cell)
        if open_cells(lines, own | other) & here == NONE:  # a forfeit
            outcome[game] = FIRST_WINS + 1 - mover
        elif view_of(lines, own, other).own & here != NONE:
            outcome[game] = FIRST_WINS + (mover ^ lines.misere)
        elif ply + 1 == lines.cells:
            outcome[game] = DRAW
        else:
            left += 1
        marks[mover, game] = own | here
    return left


def play_walk(graph: Graph, first: Policy, second: Policy, games: int, key: Any) -> Tally:
    """Play two policies over one graph against each other; return the tally of the first player.

    key: uint64, the key of the games' random numbers.
    """
    counts = np.zeros(4, np.int64)
    for start in range(0, games, WALKS_AT_ONCE):
        walk_games(graph, first, second, key, start, min(games, start + WALKS_AT_ONCE), counts)
    return _tally(counts)


def start_block(games: int) -> GameBlock:
    """Return a block of games at the empty board."""
    return GameBlock(np.zeros((2, games), np.uint64), np.zeros(games, np.int8), np.zeros(games, np.uint64))


def play_agents(
    first: Any, second: Any, lines: Lines, games: int, key: Any, seen: Callable[[int, GameBlock], None] | None = None
) -> Tally:
    """Play two players of one board, enumerated or not, against each other; return the tally of the first player.

    first, second: an `AgentAdapter`, or an object of a class registered for `builtin.cells_of`.
    key: uint64, the key of the games' random numbers.  seen: called after each ply with its number and the games.
    """
    counts = np.zeros(4, np.int64)
    for start in range(0, games, AT_ONCE):
        size = min(games - start, AT_ONCE)
        block, ply, left = start_block(size), 0, size
        while left:
            mover = second if ply & 1 else first
            if isinstance(mover, AgentAdapter):
                draw_answers(mover, ply, key, start, block)
            else:
                move_cells(mover, lines, block.marks[ply & 1], block.marks[1 - (ply & 1)], block.outcome, block.cells)
            left = play_ply(lines, ply, key, start, block)
            if seen is not None:
                seen(ply, block)
            ply += 1
        counts += np.bincount(block.outcome, minlength=4)
    return _tally(counts)


def _tally(counts: NDArray[np.int64]) -> Tally:
    """Return the first player's tally from counts by outcome."""
    return Tally(int(counts[FIRST_WINS]), int(counts[DRAW]), int(counts[SECOND_WINS]))


GAMES = 10_000
"""Default number of games in a match: shares have a 95 % interval of about +-1 percentage point."""


BEST = "optimal"
"""Opponent that plays any move that keeps the game's value."""

BEST_GAMES = 1_000
"""Default number of games against best play, each of whose moves takes searches."""

EXACT_POSITIONS = 100_000
"""Positions up to which games against best play are followed with all choices: 1.4 s for 45,000 of 5x5x4-gravity."""


def check_both_seats(agent: AnyRun | AgentAdapter) -> None:
    """Raise UsageError for a run that may resign, as it plays in one seat only."""
    if agent.resigns:
        raise cannot_play_second_error(agent.name, "a match in both seats, or a search,", "evaluate judges it exactly")


def play_scripted(
    run: AnyRun | AgentAdapter,
    player: str,
    seat: str,
    *,
    games: Number = GAMES,
    seed: Number = 0,
    ties: Ties = "any",
    agent: KernelPlayer | AgentAdapter | None = None,
    seen: Callable[[int, GameBlock], None] | None = None,
) -> Tally:
    """Play a run's agent or another one in a seat, `first` or `second`, against a scripted player.

    games: 1 to 10**9.  seed: any integer of 64 bits.  ties: as for `Run.candidates`.
    agent: result of `kernel_player` for the run and these ties, if available.  seen: as for `play_agents`.
    Raises UsageError.  The run does not change.
    """
    games, number = parse_int("games", games, 1, MAX_MATCH_GAMES), SEATS.index(choose_seat(seat))
    plies = SCRIPTED.index(choose("player", player, SCRIPTED))
    check_both_seats(run)
    key = stream_key(parse_seed(seed), MATCHES[2 * plies + number])
    agent, opponent, lines = agent or kernel_player(run, ties), Scripted(plies), make_lines(run.board)
    if number == 0:
        return play_agents(agent, opponent, lines, games, key, seen)
    return Tally(*play_agents(opponent, agent, lines, games, key, seen)[::-1])


def play_best(
    run: AnyRun | AgentAdapter,
    best: AgentAdapter,
    seat: str,
    *,
    games: int,
    seed: int,
    agent: KernelPlayer | AgentAdapter,
    seen: Callable[[int, GameBlock], None] | None = None,
) -> Tally | Shares:
    """Play an agent in a seat against best play; the result is exact if their games reach few positions.

    The exact shares include all moves that either may pick, each equally likely.
    best: `optimal` on the board.  It remembers what it has searched, so one for both seats saves time.  Other
    parameters as for `play_scripted`.
    """
    check_both_seats(run)
    number = SEATS.index(seat)
    if not (isinstance(agent, AgentAdapter) and agent.samples):
        own = agent
        if not isinstance(own, AgentAdapter):
            own = AgentAdapter(KernelAgent(run.name, run.board, own, loses=run.occupied), run.board)
        met = Reached(LayerRules(run.board), own.answers, number, against=best.answers, both=True, most=EXACT_POSITIONS)
        if met.whole:
            return Shares(*met.shares[:: 1 - 2 * number])
    first, second = (best, agent) if number else (agent, best)
    key = stream_key(seed, MATCHES[2 * len(SCRIPTED) + number])
    return Tally(*play_agents(first, second, make_lines(run.board), games, key, seen)[:: 1 - 2 * number])
