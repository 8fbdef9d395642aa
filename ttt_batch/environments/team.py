"""Steps of one batch by several threads.

A step of 65,536 boards takes 0.3 ms.  On the machine of these figures, waking a thread took the caller 0.07 ms, and
more until the thread had Python's lock.  So a helper stays in the machine code of a step for a while after it, and
watches a word for the next one.

The caller never waits for a helper that is not there.  All take pieces of the batch until none is left, each thread
first those that it had in the last step, which are in its processor's cache.  A helper that sleeps takes none.
"""

import math
import time
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import suppress
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ttt_batch.agents.builtin import KernelPlayer, Scripted
from ttt_batch.compiler.intrinsics import LINE, array_at, claim, read_word, write_word, yield_processor, zeros
from ttt_batch.compiler.jit import JIT_DISABLED, Int64, Uint64Array, entry_point, inlined, kernel
from ttt_batch.core.resources import available_threads
from ttt_batch.core.signals import uninterrupted
from ttt_batch.environments.kernels import (
    FINE,
    AskedPlayer,
    BatchGames,
    BatchSettings,
    Seen,
    draw_actions,
    fast_step,
    first_wrong,
    step,
    wanted_moves,
)
from ttt_batch.environments.rules import (
    BLOCK,
    JOINED,
    BatchState,
    ObservationLayout,
    Scratch,
    make_observation_layout,
    make_scratch,
    show_wide,
)
from ttt_batch.evaluation.search import copy_for_thread
from ttt_batch.games.bitboards import Lines

PIECE = 2 * BLOCK
"""Boards that a thread takes at once; so no more threads than pieces."""

PATIENCE = 1 if JIT_DISABLED else 2_000_000
"""Number of times that a helper looks for the next step before it sleeps; this takes a millisecond or more."""

LOOKS = 1 << 8
"""Number of looks, half a microsecond, after which a thread that waits lets another one run.

Beside a busy process two threads on two processors step 65,536 boards of 3x3 at 0.93 of the speed of one.  Without this
it was 0.46, because the awaited thread had no processor.
"""

SOON, LONG = 0.0005, 0.002
"""A helper that sleeps is woken for a job that follows the last call in SOON s, or if one alone took more than LONG s.

Until it helps, up to 0.5 ms pass, so that shorter jobs, further apart, take less time without help.
"""

CALLER = 0
"""Number of the caller's thread; those of helpers follow."""

APART = LINE // 8
"""Words between words that several threads write to: each has a line of the cache of its own."""

STEP, DRAW = range(2)
"""Jobs of all threads: a step, or random actions."""

JOBS, LEAVE, JOB, ADDRESS, KEY, WRONG = range(6)
CHECKED, MOVED, TAKEN = APART, 2 * APART, 3 * APART
"""Places of words that threads share.

JOBS: number of jobs so far.  LEAVE: 1 to end helpers.  JOB: STEP or DRAW.  ADDRESS: that of the caller's actions.
KEY: see `step` and `draw_actions`.  WRONG: 1 if an action is wrong.
CHECKED, MOVED: pieces whose actions have been checked, and that have moved or got actions.
TAKEN: the next piece to check, and then the next one to move, from those of the first thread, of the second, ...
"""


class BatchPart(NamedTuple):
    """Games of a batch that one thread steps: views of the batch's arrays, with scratch of their own.

    player: the opponent or None, with its own scratch.  at: which games they are.
    """

    games: BatchGames
    look: ObservationLayout
    player: Any
    at: slice


def cut_games(games: BatchGames, first: Int64, last: Int64) -> BatchGames:
    """Return games `first` to `last - 1`, as views of the same arrays; an empty array stays empty."""
    rules, state, settings, seen, scratch = games
    cells = rules.cells
    return BatchGames(
        rules,
        BatchState(state.own[first:last], state.other[first:last], state.over[first:last], state.games[first:last]),
        BatchSettings(
            settings.autoreset, settings.forfeits, settings.seat, int(settings.first_env + first), settings.at_random
        ),
        Seen(
            seen.planes[2 * cells * first : 2 * cells * last],
            seen.mask[rules.actions * first : rules.actions * last],
            seen.rewards[2 * first : 2 * last],
            seen.terminated[first:last],
            seen.seat[first:last],
            seen.last_own[first:last],
            seen.last_other[first:last],
            seen.moves[cells * first : cells * last],
            seen.played[cells * first : cells * last],
        ),
        Scratch(scratch.marked, scratch.won, scratch.idle, scratch.ended, scratch.wanted[first:last], scratch.words),
    )


_cut_games = inlined(cut_games)
"""`cut_games` for kernels; Python cuts the parts."""


def make_parts(games: BatchGames, player: Any, threads: int) -> list[BatchPart]:
    """Split a batch into parts of whole pieces, at most `threads`; one part is the batch itself."""
    n, word = games.state.own.size, games.state.own.dtype
    size = -(-n // (min(threads, -(-n // PIECE)) * PIECE)) * PIECE
    if size >= n:
        look = make_observation_layout(games.rules, games.seen, games.scratch.words)
        return [BatchPart(games, look, player, slice(0, n))]
    parts = []
    for first in range(0, n, size):
        at = slice(first, min(first + size, n))
        mine = cut_games(games, at.start, at.stop)
        mine = mine._replace(scratch=make_scratch(1, word)._replace(wanted=mine.scratch.wanted))
        if isinstance(player, AskedPlayer):
            own: Any = AskedPlayer(player.replies[at], player.openings[at])
        elif first == 0 or isinstance(player, Scripted | None):
            own = player
        else:
            own = copy_for_thread(player)
        parts.append(BatchPart(mine, make_observation_layout(mine.rules, mine.seen, mine.scratch.words), own, at))
    return parts


@kernel
def share_step(
    games: BatchGames,
    look: ObservationLayout | None,
    lines: Lines | None,
    player: KernelPlayer | None,
    words: Uint64Array,
    thread: Int64,
    job: Int64,
    key: np.uint64,
    address: Int64,
) -> Int64:
    """Make a step, or draw actions, with other threads.

    Returns the first game with a wrong action, before which nothing changes, or FINE.

    games: all, with the thread's own scratch, as `player`.
    look: None for small boards that `step` serves.  lines: None for `fast_step`.
    words: uint64[TAKEN + 2 * APART * threads], see JOBS.
    thread: its number.  CALLER begins a job; helpers take part in any number of jobs, and return FINE.
    job: STEP or DRAW.  key: uint64.  address: int64, of the actions.  Helpers take these from `words`.
    """
    # One loop for the caller and for helpers, so that `take_pieces` is compiled once.
    n, here, known, looks = games.state.own.shape[0], np.uint64(JOBS), np.uint64(0), 0
    if thread == CALLER:
        post_job(words, n, job, key, address)
    while thread == CALLER or (looks < PATIENCE and read_word(words, np.uint64(LEAVE)) == 0):
        if read_word(words, here) == known:
            looks += 1
            give_way(looks)
            continue
        known, looks = read_word(words, here), 0
        take_pieces(games, look, lines, player, words, thread)
        if thread == CALLER:
            break
    if thread != CALLER:
        return FINE
    wait_for(words, MOVED, pieces_of(n))
    if read_word(words, np.uint64(WRONG)) == 0:
        return FINE
    actions = array_at(games.state.games, np.uint64(address))
    return first_wrong(games.rules, games.state, games.settings, actions)


@inlined
def pieces_of(n: Int64) -> Int64:
    """Return how many pieces `n` boards have."""
    return (n + PIECE - 1) // PIECE


@inlined
def threads_of(words: Uint64Array) -> Int64:
    """Return the number of threads that share these words."""
    return (words.shape[0] - TAKEN) // (2 * APART)


@inlined
def wait_for(words: Uint64Array, place: Int64, pieces: Int64) -> None:
    """Wait until this many pieces have been checked, or have moved; threads that took them are at work."""
    looks = 0
    while read_word(words, np.uint64(place)) < np.uint64(pieces):
        looks += 1
        give_way(looks)


@inlined
def give_way(looks: Int64) -> None:
    """Let another thread run after every `LOOKS` looks."""
    if looks % LOOKS == 0:
        yield_processor()


@inlined
def post_job(words: Uint64Array, n: Int64, job: Int64, key: np.uint64, address: Int64) -> None:
    """Begin a job."""
    threads, pieces = threads_of(words), pieces_of(n)
    for place in (LEAVE, WRONG, CHECKED, MOVED):
        write_word(words, np.uint64(place), np.uint64(0))
    write_word(words, np.uint64(JOB), np.uint64(job))
    write_word(words, np.uint64(ADDRESS), np.uint64(address))
    write_word(words, np.uint64(KEY), key)
    # Last, because a thread that is late with the last job may take a piece as soon as it can.
    for number in range(2 * threads):
        first = np.uint64(pieces * (number % threads) // threads)
        write_word(words, np.uint64(TAKEN + APART * number), first)
    write_word(words, np.uint64(JOBS), read_word(words, np.uint64(JOBS)) + np.uint64(1))


@inlined
def take_pieces(
    games: BatchGames,
    look: ObservationLayout | None,
    lines: Lines | None,
    player: KernelPlayer | None,
    words: Uint64Array,
    thread: Int64,
) -> None:
    """Check the actions of pieces until none is left, and then move them unless one is wrong; or draw actions."""
    n, threads = games.state.own.shape[0], threads_of(words)
    pieces = pieces_of(n)
    for number in range(2 * threads):
        checks, owner = number < threads, (thread + number) % threads
        place, end = TAKEN + APART * (owner if checks else threads + owner), pieces * (owner + 1) // threads
        piece = claim(words[place : place + 1], 1)
        while piece < end:
            first, last = PIECE * piece, min(PIECE * (piece + 1), n)
            mine = _cut_games(games, first, last)
            steps = read_word(words, np.uint64(JOB)) == STEP
            actions = array_at(games.state.games, read_word(words, np.uint64(ADDRESS)))[first:last]
            if not checks:
                wait_for(words, CHECKED, pieces)
                key = read_word(words, np.uint64(KEY))
                if not steps:
                    draw_actions(mine.rules, mine.state, mine.settings, key, actions)
                elif read_word(words, np.uint64(WRONG)) == 0:
                    move_piece(mine, look, lines, player, key)
            elif steps and wanted_moves(mine.rules, mine.state, mine.settings, actions, mine.scratch.wanted) != FINE:
                write_word(words, np.uint64(WRONG), np.uint64(1))
            done = CHECKED if checks else MOVED
            claim(words[done : done + 1], 1)
            piece = claim(words[place : place + 1], 1)


@inlined
def move_piece(
    games: BatchGames, look: ObservationLayout | None, lines: Lines | None, player: KernelPlayer | None, key: np.uint64
) -> None:
    """Make the moves of these games, whose actions have been checked."""
    seen, none = games.seen, games.state.games[:0]
    if look is not None:
        own_look = ObservationLayout(
            look.cells, look.actions, look.top, seen.planes, seen.mask, seen.seat, look.words, look.ruler
        )
        if lines is None:
            fast_step(games, own_look, none)
    if lines is not None:
        step(games, lines, player, key, none)
        if look is not None:
            show_wide(games.state, own_look)


class Call(Future[Any]):
    """Call in another thread.

    over: whether it has ended.  Unlike `done()` it takes no lock, which Ctrl-C could leave locked.
    """

    over = False


def make_call(call: Call, function: Any, *arguments: Any) -> None:
    """Make a call in another thread, unless it has been cancelled."""
    if call.set_running_or_notify_cancel():
        try:
            call.set_result(function(*arguments))
        except BaseException as error:
            call.set_exception(error)
    call.over = True


class Team:
    """Threads that work on a batch with the caller's; they end when this object is collected.

    The caller makes the calls that no other thread has begun.  So nothing waits for threads that do not run, as in a
    copy of the process, which has none of them.
    """

    def __init__(self, games: BatchGames, lines: Lines, parts: Sequence[BatchPart], lean: bool) -> None:
        self._parts, self._pool = parts, ThreadPoolExecutor(len(parts) - 1)
        # A helper that shared the caller's processor would only be in its way.
        self._helpers: list[Call | None] = [None] * min(len(parts) - 1, available_threads() - 1)
        self._words = zeros((TAKEN + 2 * APART * len(parts),), np.uint64)
        self._calls = []
        for thread, part in enumerate(parts):
            look = part.look if lean or games.rules.cells > JOINED else None
            mine = games._replace(scratch=part.games.scratch._replace(wanted=games.scratch.wanted))
            self._calls.append((mine, look, None if lean else lines, part.player, self._words, thread))
        self._share: Any = None
        self._ended, self._alone = -math.inf, 0.0

    def first_call(self, key: np.uint64) -> tuple[Any, ...]:
        """Return the kernel that `share` calls, and arguments of the types that it gets.  key: uint64."""
        return share_step, *self._calls[CALLER], STEP, key, 0

    def _submit(self, call: Call, function: Any, *arguments: Any) -> None:
        """Let another thread make a call.

        call: new; the caller keeps it beforehand, because an interrupt (Ctrl-C) may come when it is already queued.
        """
        with uninterrupted(), suppress(RuntimeError):  # no thread can start, or the interpreter is about to end
            self._pool.submit(make_call, call, function, *arguments)

    def share(self, job: int, key: np.uint64, actions: NDArray[np.int64]) -> Int64:
        """Make the moves of all games, or draw their actions; return as `share_step` does.

        job: STEP or DRAW.  actions: int64[n], contiguous.
        """
        if self._share is None:
            self._share = entry_point(*self.first_call(key))
        begun = time.perf_counter()
        asleep = [number for number, helper in enumerate(self._helpers) if helper is None or helper.over]
        wakes = begun - self._ended < SOON or self._alone > LONG
        for number in asleep if wakes else ():
            self._helpers[number] = call = Call()
            self._submit(call, self._share, *self._calls[number + 1], job, key, 0)
        # One call of machine code, so that an interrupt comes before it or after it.
        wrong: Int64 = self._share(*self._calls[CALLER], job, key, actions.ctypes.data)
        self._ended = time.perf_counter()
        took = self._ended - begun
        if asleep and (not wakes or took < LONG / 2):
            self._alone = took
        return wrong

    @uninterrupted()
    def run(self, function: Any, calls: Sequence[tuple[Any, ...]], more: tuple[Any, ...]) -> Any:
        """Make one call for each part; return the first wrong game that they find, or FINE.

        more: last arguments of all calls.  Of an array each part gets its own games.
        """
        self._words[LEAVE] = 1
        own = [[one[part.at] if isinstance(one, np.ndarray) else one for one in more] for part in self._parts]
        first, *others = [(*call, *rest) for call, rest in zip(calls, own, strict=True)]
        begun: list[Call] = []
        try:
            for arguments in others:
                begun.append(Call())
                self._submit(begun[-1], function, *arguments)
            found = [function(*first)]
            for arguments, call in zip(others, begun, strict=True):
                found.append(function(*arguments) if call.cancel() else call.result())
        finally:
            wait([call for call in begun if not call.cancel()])
            self._ended = time.perf_counter()
        wrong = (part.at.start + at for part, at in zip(self._parts, found, strict=True) if at not in (None, FINE))
        return next(wrong, FINE)
