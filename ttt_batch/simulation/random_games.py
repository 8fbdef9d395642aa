"""Random games in bulk, without learning: their results, by as many threads as there are pieces of work."""

import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from numpy.typing import NDArray

from ttt_batch.base.errors import BoardError, UsageError
from ttt_batch.base.processors import startable_threads
from ttt_batch.base.streams import RANDOM_PLAY, stream_key
from ttt_batch.game.board import Board
from ttt_batch.game.state_space import check_gravity, check_table_cells
from ttt_batch.simulation.random_ranks import AT_ONCE, make_random_block, make_random_rules, play_random

MAX_RANDOM_GAMES = 10**15
STOP_EVERY = 2**24
"""Games that a thread plays before it takes others or stops: 20 ms on 3x3."""

WORTH_A_THREAD = 2**18
"""Games that take longer than handing them to a thread."""


def play_random_games(
    board: Board, games: int, *, seed: int = 0, threads: int = 1, block: int = AT_ONCE
) -> NDArray[np.int64]:
    """Play `games` random games (0 to 10**15): int64[3], the first player's wins, draws, the second player's wins.

    seed: any int, taken modulo 2**64.
    threads: at least 1.  block: games in a block.  Neither changes the result.
    Raises UsageError if a number is outside its range, and BoardError for a board of more than MAX_TABLE_CELLS cells
    and if longer lines do not count: whether a line counts then depends on the marks around it.
    """
    check_table_cells(board, "random games")
    check_gravity(board, "playing random games in bulk")
    if board.exact:
        raise BoardError(f"random games on {board.name} cannot be played in bulk; choose a board without -exact")
    if not 0 <= games <= MAX_RANDOM_GAMES:
        raise UsageError(f"{games} random games: the number must be from 0 to {MAX_RANDOM_GAMES:,}")
    if threads < 1 or block < 1:
        raise UsageError(f"{threads} threads and {block} games in a block: both must be at least 1")
    rules, key = make_random_rules(board), stream_key(seed, RANDOM_PLAY)
    threads = min(threads, 1 + games // WORTH_A_THREAD)
    if threads > 1:
        threads = max(1, startable_threads(threads))
    piece = max(1, min(STOP_EVERY, -(-games // threads)))
    starts = iter(range(0, games, piece))  # shared: a thread that is done takes the next piece
    stopped = threading.Event()

    def work(_: int) -> NDArray[np.int64]:
        scratch, wins = make_random_block(rules, block), np.zeros(2, np.int64)
        for start in starts:
            if stopped.is_set():
                break
            play_random(rules, key, start, min(start + piece, games), scratch, wins)
        return wins

    if threads == 1:
        first, second = work(0)
    else:
        with ThreadPoolExecutor(threads) as pool:
            try:
                first, second = sum(pool.map(work, range(threads)), np.zeros(2, np.int64))
            except BaseException:
                stopped.set()  # or leaving the pool would wait until all games are played
                raise
    if board.misere:  # the player who makes a line loses
        first, second = second, first
    return np.array([first, games - first - second, second], np.int64)
