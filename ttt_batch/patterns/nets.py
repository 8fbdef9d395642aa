"""Networks that learn: their weights, how far each may be trusted, and the games from which they begin."""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ttt_batch.base.jit import kernel
from ttt_batch.base.streams import PATTERNS, stream_key
from ttt_batch.game.lines import Lines
from ttt_batch.patterns.fold import fold_errors
from ttt_batch.patterns.games import Aim, Errors, GameWorkspace, play_network_games
from ttt_batch.patterns.network import Network
from ttt_batch.patterns.scores import make_scores

WORTH_SHARING = 128
"""Games of a batch from which on threads share it: it takes a millisecond or more, and handing it over 0.1 ms."""

OUTCOMES = 4


class Net(NamedTuple):
    """One network that learns.

    aim: what.  weights: int32[P, W].  coherence: int64[P K, 2], see `fold`.  key: uint64, of its random numbers.
    """

    aim: Aim
    weights: NDArray[np.int32]
    coherence: NDArray[np.int64]
    key: Any


class NetworkWorkspace(NamedTuple):
    """Working space of some threads.  game: of each.  errors: of all, one after the other on a first axis."""

    game: list[GameWorkspace]
    errors: Errors


def make_net(network: Network, aim: Aim, seed: int) -> Net:
    """A network whose weights are all 0."""
    kinds = network.kind_start.size - 1
    weights = np.zeros((2, network.kind.size), np.int32)
    return Net(aim, weights, np.zeros((2 * kinds, 2), np.int64), stream_key(seed, PATTERNS[aim.seat]))


def make_game(lines: Lines, network: Network) -> GameWorkspace:
    """Scratch for one thread."""
    cells, tuples = lines.cells, network.offset.size
    value, target = np.zeros((2, cells + 1))
    path = np.zeros((cells + 1, tuples), np.uint32)
    path[0] = network.kind[network.offset]
    return GameWorkspace(
        network.offset.copy(),
        make_scores(network),
        make_scores(network),
        np.zeros(cells, np.int8),
        path,
        value,
        target,
        np.zeros(cells + 1, np.bool_),
    )


def make_errors(network: Network, threads: int) -> Errors:
    """Empty sums for some threads, one after the other on a first axis."""
    entries = 2 * (network.kind_start.size - 1)
    return Errors(
        np.zeros((threads, entries, 3), np.int64),
        np.zeros((threads, entries + 1), np.int32),
        np.zeros((threads, 1), np.int64),
        np.zeros((threads, OUTCOMES), np.int64),
    )


def make_space(lines: Lines, network: Network, threads: int) -> NetworkWorkspace:
    """Working space for so many threads."""
    return NetworkWorkspace([make_game(lines, network) for _ in range(threads)], make_errors(network, threads))


def of_thread(errors: Errors, thread: int) -> Errors:
    """The part of one thread."""
    return Errors(*(array[thread] for array in errors))


@kernel
def learn_batches(
    lines: Lines,
    network: Network,
    net: Net,
    starts: Any,
    step: float,
    games: Any,
    batch: int,
    game: GameWorkspace,
    errors: Errors,
) -> None:
    """Learn from games `games[0]` to `games[1] - 1` in batches on one thread; `net` changes in place."""
    first = games[0]
    own = Errors(errors.sums[0], errors.touched[0], errors.n_touched[0], errors.outcomes[0])
    while first < games[1]:
        last = min(games[1], first + batch)
        play_network_games(lines, network, net.weights, net.aim, starts, net.key, (first, last), game, own)
        fold_errors(network, net.weights, net.coherence, step, errors.sums, errors.touched, errors.n_touched, (0, 1))
        first = last


def learn_shared(
    lines: Lines,
    network: Network,
    net: Net,
    starts: Any,
    step: float,
    games: tuple[int, int],
    batch: int,
    space: NetworkWorkspace,
    pool: ThreadPoolExecutor,
) -> None:
    """As `learn_batches`, each batch by all threads that `space` is for; `pool` has them."""
    threads, errors = len(space.game), space.errors

    def play(thread: int, bounds: Sequence[int]) -> None:
        own = bounds[thread], bounds[thread + 1]
        play_network_games(
            lines, network, net.weights, net.aim, starts, net.key, own, space.game[thread], of_thread(errors, thread)
        )

    def fold(thread: int) -> None:
        part = thread, threads
        fold_errors(network, net.weights, net.coherence, step, errors.sums, errors.touched, errors.n_touched, part)

    for first in range(games[0], games[1], batch):
        last = min(games[1], first + batch)
        bounds = [first + (last - first) * thread // threads for thread in range(threads + 1)]
        list(pool.map(lambda thread, bounds=bounds: play(thread, bounds), range(threads)))
        list(pool.map(fold, range(threads)))
