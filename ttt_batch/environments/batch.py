"""`Batch`: thousands of games at once, stepped by one call, with opponents inside the kernel.

Opponents that move inside the kernel are built-in agents and runs, as `agents.builtin` gives them to kernels.  Any
other agent is asked before the kernel runs, once a step; the kernel plays the cells drawn from its answers.
"""

import math
from collections.abc import Mapping
from copy import deepcopy
from functools import partial
from itertools import combinations
from pathlib import Path
from typing import Any, NamedTuple, TypeGuard

import numpy as np
from numpy.typing import DTypeLike, NDArray

from ttt_batch.agents.adapter import AgentAdapter
from ttt_batch.agents.base import batch_of
from ttt_batch.agents.builtin import KernelAgent, Scripted, named_agent, table_player
from ttt_batch.agents.external import AgentLike, at_board, is_agent
from ttt_batch.compiler.intrinsics import zeros
from ttt_batch.compiler.jit import Int64, compile_elsewhere, entry_point
from ttt_batch.compiler.numerics import OPPONENT, SAMPLED, stream_key
from ttt_batch.core.errors import BoardError, UsageError, quoted
from ttt_batch.core.resources import check_memory, startable_threads, thread_count
from ttt_batch.core.text import (
    AGENT_NAMES,
    Number,
    Ties,
    check_switches,
    check_ties,
    choose,
    choose_person,
    parse_int,
    parse_seed,
    random_seed,
)
from ttt_batch.environments import kernels, rules, team
from ttt_batch.environments.observations import make_observer, planes_of
from ttt_batch.environments.pictures import picture_of
from ttt_batch.games.bitboards import RANDOM, make_lines
from ttt_batch.games.board import MAX_CODED_CELLS, Board, parse_board
from ttt_batch.runs.loading import AnyRun, load_any
from ttt_batch.runs.lookup import RUNS_OR_AGENTS, find_agent_or_run, name_or_run

Shapes = dict[str, tuple[tuple[int, ...], np.dtype[Any]]]


def output_arrays(shapes: Shapes, given: Mapping[str, NDArray[Any]] | None, more: int) -> dict[str, NDArray[Any]]:
    """Return an array for each name of `shapes` (shape and dtype): the given one, or a new one of zeros.

    more: additional bytes that are needed.
    Raises UsageError for an unknown name, for an array of another shape or dtype, that is not contiguous, is
    read-only, or shares memory with another one, and for too little memory.  Nothing is written before.
    """
    if not isinstance(given, Mapping | None):
        raise UsageError(f"arrays is {quoted(type(given).__name__)}; give a dictionary of arrays by name")
    given = {} if given is None else dict(given)
    for name in given:
        choose("array", name, list(shapes))
    for name, array in given.items():
        check_array(name, array, *shapes[name])
    for (one, first), (other, second) in combinations(given.items(), 2):
        if np.may_share_memory(first, second):
            raise UsageError(f"{one} and {other} overlap; give arrays that share no memory")
    missing = [math.prod(shape) * dtype.itemsize for name, (shape, dtype) in shapes.items() if name not in given]
    check_memory(sum(missing) + more, "the batch")
    return {name: given[name] if name in given else zeros(*wanted) for name, wanted in shapes.items()}


def check_look(dtype: DTypeLike) -> np.dtype[Any]:
    """Return the dtype of planes.  Raises UsageError unless it is uint8 or bool."""
    try:
        look = None if dtype is None else np.dtype(dtype)  # NumPy takes None for float64
    except TypeError:
        look = None
    if look not in (np.dtype(np.uint8), np.dtype(np.bool_)):
        what = quoted(dtype) if look is None else look
        raise UsageError(f"planes of the dtype {what} are not supported; choose uint8 or bool")
    return look


def flags_of(name: str, given: Any, n: int) -> NDArray[np.bool_]:
    """Return `given`, an array, a list or a tensor, as bool[n].  Raises UsageError."""
    flags = read_array(given)
    if flags is None or flags.dtype != np.bool_ or flags.shape != (n,):
        raise UsageError(f"{name} is {words_for(given, flags)}; give an array of bool with the shape ({n},)")
    return np.ascontiguousarray(flags)


def actions_of(given: Any, n: int) -> NDArray[Any]:
    """Return `given`, an array, a list or a tensor, as integers[n] that kernels take.  Raises UsageError."""
    actions = read_array(given)
    wanted = f"an array of integers with the shape ({n},)"
    if actions is not None:
        if actions.dtype.kind in "iu" and actions.shape == (n,) and actions.dtype.isnative:
            return actions
        wanted = wanted if actions.dtype.isnative else "integers in this machine's byte order"
    raise UsageError(f"actions are {words_for(given, actions)}; give {wanted}")


def words_for(given: object, array: NDArray[Any] | None) -> str:
    """Return in words what was given; array: what `read_array` made of it."""
    if array is None:
        return f"{quoted(type(given).__name__)}, no array of numbers"
    return f"an array of {array.dtype} with the shape {array.shape}"


def read_array(given: Any) -> NDArray[Any] | None:
    """Return an array, a list or a tensor as an array of numbers or flags; None for anything else."""
    if is_array(given):
        return given
    try:
        array = np.asarray(given)
    except Exception:  # lists of several lengths, and what a tensor of another device raises
        return None
    return None if array.dtype.kind not in "biuf" or isinstance(given, np.ma.MaskedArray) else array


def is_array(given: object) -> TypeGuard[NDArray[Any]]:
    """Return whether kernels take this object: a plain array, not a masked one."""
    # The first question spares nearly all the others, which take 0.1 us: 5 % of a step of one game.
    return type(given) is np.ndarray or (isinstance(given, np.ndarray) and not isinstance(given, np.ma.MaskedArray))


def is_plain(given: object, shape: tuple[int, ...]) -> bool:
    """Return whether this object is a contiguous array of int64 with this shape, in the fewest steps."""
    if type(given) is not np.ndarray or given.dtype != INT64 or given.shape != shape:
        return False
    flags = given.flags
    return flags.c_contiguous and flags.aligned


def check_array(name: str, array: object, shape: tuple[int, ...], dtype: DTypeLike) -> None:
    """Raise UsageError unless `array` is one that kernels can write to."""
    wanted = f"give a contiguous, writable array of {np.dtype(dtype)} with the shape {shape}"
    if not is_array(array):
        raise UsageError(f"{name} is {quoted(type(array).__name__)}, not an array: {wanted}")
    faults = {
        f"has the dtype {array.dtype}": array.dtype != dtype,
        f"has the shape {array.shape}": array.shape != shape,
        "is not contiguous": not array.flags.c_contiguous,
        "is read-only": not array.flags.writeable,
    }
    if fault := next((fault for fault, there in faults.items() if there), None):
        raise UsageError(f"{name} {fault}: {wanted}")


def flat(array: NDArray[Any]) -> NDArray[Any]:
    """Return the same memory in one dimension, bool as uint8."""
    line = array.reshape(-1)
    return line.view(np.uint8) if line.dtype == np.bool_ else line


Opponent = AnyRun | AgentAdapter | AgentLike | Path | None
"""Opponent in an environment: an agent of any kind, or None."""


def make_opponent(given: Opponent, board: Board, ties: Ties = "any") -> Any:
    """Return what kernels play for a built-in agent, by its name, or for a run or its file; other agents as adapters.

    Raises UsageError, also for a run of another board, AgentError, RunFileError for its file, and BoardError, also for
    games of one move.
    """
    if board.k == 1 or board.cells == 1:
        larger = "board" if board.cells == 1 else "k"
        raise BoardError(f"a game on {board.name} is over after one move; choose a larger {larger} for an opponent")
    built_in = isinstance(given, str) and find_agent_or_run(given) in AGENT_NAMES
    if is_agent(given) and not built_in:
        return at_board(given, board)
    if not isinstance(given, AnyRun | AgentAdapter):
        named = name_or_run("opponent", given, AGENT_NAMES, others=RUNS_OR_AGENTS)  # type: ignore[arg-type]
        if isinstance(named, str):
            agent = named_agent(named, board)
            return agent.player if isinstance(agent, KernelAgent) else AgentAdapter(agent, board)
        given = load_any(named)
    if given.board != board:
        raise UsageError(f"the opponent plays {given.board.name}, and the boards are {board.name}; give a run of these")
    return given if isinstance(given, AgentAdapter) else table_player(given, ties)


MAX_BOARDS = 2**31 - 1
AUTORESET = ("same-step", "next-step", "disabled")
ILLEGAL = ("raise", "lose")
GAMES_SHOWN = 5
INT64 = np.dtype(np.int64)
NO_ACTIONS = np.zeros(0, INT64)
SETTINGS = (
    "_n",
    "board",
    "seed",
    "first_env",
    "autoreset",
    "illegal",
    "threads",
    "n_actions",
    "_asked",
    "_player",
    "_settings",
    "_keys",
)
ARRAYS = ("planes", "mask", "rewards", "terminated", "seats", "last_sets", "_moves", "_played")
"""Arguments of a copy of a batch, besides its state."""


class StepArrays(NamedTuple):
    """Result of a step: the batch's own arrays, which the next step overwrites; see `Batch`."""

    planes: NDArray[Any]
    mask: NDArray[np.bool_]
    rewards: NDArray[np.float32]
    terminated: NDArray[np.bool_]


class Batch:
    """Batch of `n` games of a board; `reset` starts them all, `step(actions)` makes a move in each.

    planes: uint8 or bool[n, 2, rows, cols], the marks of the player to move, and of its opponent; with an opponent,
    always of the agent and of the opponent.  `observe` makes other observations of them.
    mask: bool[n, actions], legal actions; all False if the game is over.  An action is a cell, row by row from 0
    at the top left, or on a `-gravity` board a column.
    rewards: float32[n, 2], of the first and the second player, for the games that this step has ended: 1 for a win,
    -1 for a loss, 0 otherwise.  terminated: bool[n], True if this step ended the game.
    seats: uint8[n], with an opponent the agent's seat in each current game, 0 or 1; otherwise None.
    last_sets: with `keep_last`, the positions of `last` as W[2, n], uint32 or uint64.  They are the cells of the viewer
    and of its opponent, cell i as bit i.

    Game k (from 0) of environment i draws from (seed, i, k) only, independent of other environments.
    """

    def __init__(
        self,
        n: Number,
        board: Board | str = "3x3",
        seed: Number | None = None,
        opponent: Opponent = None,
        autoreset: str = "next-step",
        *,
        seat: str = "alternate",
        illegal: str = "raise",
        first_env: Number = 0,
        dtype: DTypeLike = np.uint8,
        arrays: Mapping[str, NDArray[Any]] | None = None,
        keep_last: bool = False,
        record: bool = False,
        ties: Ties = "any",
        threads: Number | None = 1,
    ) -> None:
        """Make the arrays and begin the games.

        n: how many boards, 1 to 2**31 - 1.  board: up to 64 cells.
        seed: of all chance; None: drawn from the system's entropy, and `seed` then says which.
        opponent: any agent, as for `judge`, which replies in every step; None: the caller moves for both.  Built-in
        agents and runs move inside the kernel.  Others are asked once a step about all games, and about the empty board
        where they may begin.  seat: the agent's against it, `first`, `second` or `alternate`: in turn, so that
        in each environment and across them both seats are as frequent.  ties: of a run as opponent.
        autoreset: the next game begins in the step that ends one (`same-step`), in the one after it, which ignores its
        action (`next-step`), or when the caller resets (`disabled`).
        illegal: `raise` before anything changes, or `lose` the game.
        first_env: the number of the first environment.
        dtype: of planes, uint8 or bool.  arrays: by name (`planes`, `mask`, `rewards`, `terminated`) those to write to
        instead of new ones; they may lie in shared memory, and must be contiguous and not overlap.
        keep_last: keep final positions, for `last`.  record: keep moves, for `games`.
        threads: how many step at once, each at least 2,048 boards; None: one for each processor.  Results do not depend
        on it.  If one step soon follows the other, two were 1.9 times as fast as one with 65,536 boards, and 1.2 times
        with 4,096.  Helpers keep their processors busy for some milliseconds after a step.
        Raises UsageError and BoardError, and RunFileError for an opponent's file.
        """
        self._n, self.board = parse_int("n", n, 1, MAX_BOARDS), parse_board(board)
        self.seed = random_seed() if seed is None else parse_seed(seed)
        self.first_env = parse_int("first_env", first_env, 0, 2**62)
        self.autoreset, self.illegal = choose("autoreset", autoreset, AUTORESET), choose("illegal", illegal, ILLEGAL)
        person, ties = choose_person(seat), check_ties(ties)
        check_switches(keep_last=keep_last, record=record)
        self.threads = thread_count(threads)
        self._player: Any = None if opponent is None else make_opponent(opponent, self.board, ties)
        self._asked: AgentAdapter | None = None
        if isinstance(self._player, AgentAdapter):
            self._asked, self._player = self._player, kernels.AskedPlayer(*np.zeros((2, self.n), np.uint64))
        self.n_actions = rules.n_actions(self.board)
        self._make_arrays(check_look(dtype), arrays, opponent is not None, keep_last, record)
        self._settings = kernels.BatchSettings(
            AUTORESET.index(self.autoreset),
            self.illegal == "lose",
            kernels.IN_TURN if person is None else person,
            self.first_env,
            isinstance(self._player, Scripted) and self._player.plies == RANDOM,
        )
        self._prepare()
        self._keys = stream_key(self.seed, OPPONENT), stream_key(self.seed, SAMPLED)
        step: Any = kernels.fast_step if self._lean else kernels.step
        key = () if self._lean else self._keys[:1]
        first = (step, *self._calls[step][0], *key, NO_ACTIONS)
        compile_elsewhere(first if self._sharing is None else self._sharing.first_call(self._keys[0]))
        self.reset(seed=self.seed)

    @property
    def n(self) -> int:
        """Return the number of boards."""
        return self._n

    def _prepare(self) -> None:
        """Set up the rules, the state and the scratch."""
        self._rules, self._lines = rules.make_rules(self.board), make_lines(self.board)
        word = rules.word_type(self.board)
        self._state, self._scratch = rules.make_state(self.n, word), rules.make_scratch(self.n, word)
        self._step = StepArrays(self.planes, self.mask, self.rewards, self.terminated)
        games = kernels.BatchGames(self._rules, self._state, self._settings, self._seen, self._scratch)
        threads = min(self.threads, -(-self.n // team.PIECE))
        parts = team.make_parts(games, self._player, 1 + startable_threads(threads - 1))
        more = self._seen.seat, self._seen.last_own, self._seen.played  # empty without an opponent and kept positions
        self._lean = self.autoreset == "same-step" and not any(array.size for array in more)
        self._team = team.Team(games, self._lines, parts, self._lean) if len(parts) > 1 else None
        self._sharing = self._team if self._asked is None else None
        turns = [(one.games, self._lines, one.player) for one in parts]
        boards = [(self._rules, one.games.state, one.games.settings) for one in parts]
        self._calls: dict[Any, list[tuple[Any, ...]]] = {
            kernels.fast_step: [(one.games, one.look) for one in parts],
            kernels.step: turns,
            kernels.start_games: turns,
            kernels.wanted_moves: boards,
            kernels.find_replies: [(one.games,) for one in parts],
            kernels.draw_actions: boards,
            rules.show_wide: [(one.games.state, one.look) for one in parts],
            kernels.choose_rewards: [(self._seen.rewards,)],  # it takes less time than to wake a thread
        }
        self._compiled: dict[Any, partial[Any]] = {}
        self._all, self._shape = np.ones(self.n, np.uint8), (self.n,)

    def _make_arrays(
        self, dtype: Any, given: Mapping[str, NDArray[Any]] | None, against: bool, keep_last: bool, record: bool
    ) -> None:
        """Allocate `step`'s outputs."""
        n, cells = self.n, self.board.cells
        look = (n, 2, self.board.rows, self.board.cols), dtype
        shapes: Shapes = {
            "planes": look,
            "mask": ((n, self.n_actions), np.dtype(np.bool_)),
            "rewards": ((n, 2), np.dtype(np.float32)),
            "terminated": ((n,), np.dtype(np.bool_)),
        }
        word = np.dtype(rules.word_type(self.board))
        more = n * ((3 + 2 * keep_last) * word.itemsize + 10 + against + 2 * cells * record)
        made = output_arrays(shapes, given, more)
        self.planes, self.mask, self.rewards, self.terminated = (made[name] for name in shapes)
        self.seats = np.zeros(n, np.uint8) if against else None
        self.last_sets = np.zeros((2, n), word) if keep_last else None
        none = np.zeros(0, np.uint8)
        moves, played = np.full((2, n * cells if record else 0), -1, np.int8)
        self._moves, self._played = moves, played.reshape(-1, cells)
        planes, mask, rewards, terminated = (flat(made[name]) for name in shapes)
        seats = none if self.seats is None else self.seats
        last_own, last_other = np.zeros((2, 0), word) if self.last_sets is None else self.last_sets
        self._seen = kernels.Seen(planes, mask, rewards, terminated, seats, last_own, last_other, moves, played)

    def reset(self, which: Any = None, *, seed: Number | None = None) -> StepArrays:
        """Begin the next game everywhere, or where `which` (bool[n]) is True; with a seed, game 0 of that seed.

        Rewards and `terminated` are zeros there.  Raises UsageError.
        """
        chosen = self._all
        if which is not None:
            chosen = flags_of("which", which, self.n).view(np.uint8)
        opening = self._ask(NO_ACTIONS)
        if seed is not None:
            self.seed = parse_seed(seed)
            self._keys = stream_key(self.seed, OPPONENT), stream_key(self.seed, SAMPLED)
            self._state.games[chosen != 0] = -1
        self._draw(NO_ACTIONS, opening)
        self._run(kernels.start_games, self._keys[0], chosen)
        return self._shown()

    def step(self, actions: Any) -> StepArrays:
        """Make the move of an action in every game; with an opponent, its reply, too.

        actions: integers[n] of any integer dtype, as an array, a list or a tensor.  For an array nothing is allocated:
        the result holds the batch's own arrays.
        Raises UsageError before anything changes: for an action that is illegal (unless illegal actions lose), that is
        outside 0 .. n_actions - 1, or for a game that is over and not reset.
        """
        plain = is_plain(actions, self._shape)
        if not plain:
            actions = actions_of(actions, self.n)
            plain = is_plain(actions, self._shape)
        wrong: Int64 = kernels.FINE
        given, wanted = actions if plain else NO_ACTIONS, self._scratch.wanted
        sharing = self._sharing
        if sharing is not None:
            wrong = sharing.share(team.STEP, self._keys[0], actions if plain else actions.astype(np.int64))
        elif not plain:
            wrong = kernels.wanted_moves(self._rules, self._state, self._settings, actions, wanted)
        elif self._team is not None or self._asked is not None:  # all actions are checked before a part moves
            wrong, given = self._run(kernels.wanted_moves, actions, wanted), NO_ACTIONS
        if wrong == kernels.FINE and self._asked is not None:
            going = np.zeros(self.n, np.uint8)
            self._run(kernels.find_replies, going)
            self._draw(numbers := np.flatnonzero(going), self._ask(numbers))
        if wrong == kernels.FINE and sharing is None:
            lean = self._lean
            wrong = self._run(kernels.fast_step, given) if lean else self._run(kernels.step, self._keys[0], given)
        if wrong != kernels.FINE:
            raise self._wrong_action(int(wrong), int(actions[wrong]))
        return self._step if self._lean or sharing is not None else self._shown()

    def _ask(self, games: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the opponent's probabilities (float64[m, cells]) in some games after the moves in `wanted`.

        The last row is of the empty board, if the opponent begins games.  Nothing is asked of opponents in kernels.
        """
        opens = self._settings.seat != 0
        if self._asked is None or not (opens or games.size):
            return np.zeros((0, self.board.cells))
        own, other = (one[games].astype(np.uint64) for one in (self._state.other, self._scratch.wanted))
        if opens:
            own, other = np.append(own, np.uint64(0)), np.append(other, np.uint64(0))
        return self._asked.answered(batch_of(self.board, own, other, np.bitwise_count(own | other) & 1))

    def _draw(self, games: NDArray[np.int64], chances: NDArray[np.float64]) -> None:
        """Draw an asked opponent's replies in some games, and its openings of all next games; see `_ask`."""
        if self._asked is None:
            return
        sums, cells, key = chances.cumsum(1), np.zeros(games.size, np.uint64), self._keys[0]
        plies = np.bitwise_count(self._state.other[games] | self._scratch.wanted[games]).astype(np.int64)
        kernels.draw_replies(key, self.first_env + games, self._state.games[games], plies, sums[: games.size], cells)
        self._player.replies[games] = cells
        if len(sums) > games.size:
            all_games, numbers, openings = np.arange(self.n), self._state.games + 1, self._player.openings
            kernels.draw_replies(key, self.first_env + all_games, numbers, 0 * all_games, sums[-1:], openings)

    def _shown(self) -> StepArrays:
        """Write the current observations, which kernels have written for small boards."""
        if self.board.cells > rules.JOINED:
            self._run(rules.show_wide)
        return self._step

    def _run(self, kernel: Any, *more: Any) -> Any:
        """Call a kernel for all parts, one in each thread; return the first wrong game that they find, or FINE.

        more: its last arguments, of the same types every time.  Of an array each part gets its own games.
        """
        first = self._compiled.get(kernel)
        if first is None:
            calls = self._calls[kernel]
            first = self._compiled[kernel] = partial(entry_point(kernel, *calls[0], *more), *calls[0])
        calls = self._calls[kernel]
        return first(*more) if self._team is None or len(calls) == 1 else self._team.run(first.func, calls, more)

    def _wrong_action(self, game: int, action: int) -> UsageError:
        """Return the error for a wrong action."""
        where = f"action {action} of environment {self.first_env + game}"
        if self._state.over[game] and self.autoreset == "disabled":
            return UsageError(f"{where}: its game is over; reset it first")
        if not 0 <= action < self.n_actions:
            return UsageError(f"{where} is outside 0 .. {self.n_actions - 1}")
        what = "column is full" if self.board.gravity else "cell is not free"
        return UsageError(f"{where} is illegal: the {what}; choose among those that mask allows")

    def sample(self, actions: NDArray[np.int64] | None = None) -> NDArray[np.int64]:
        """Return random legal actions (int64[n]), 0 for games that are over; written to `actions` if given.

        They depend on seed, environment, game and ply only.  Raises UsageError.
        """
        if actions is None:
            actions = np.zeros(self.n, np.int64)
        elif not (is_plain(actions, self._shape) and actions.flags.writeable):
            check_array("actions", actions, self._shape, np.int64)
        if self._sharing is not None:
            self._sharing.share(team.DRAW, self._keys[1], actions)
        else:
            self._run(kernels.draw_actions, self._keys[1], actions)
        return actions

    def rewards_of(self, players: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the reward of one player of each game in the last step (float64[n]).

        players: int64[n], 0 for the first player and 1 for the second, as `movers` before the step.  Raises UsageError.
        """
        if not is_plain(players, self._shape):
            check_array("players", players, self._shape, np.int64)
        chosen = np.empty(self.n)
        wrong = self._run(kernels.choose_rewards, players, chosen)
        if wrong != kernels.FINE:
            raise UsageError(f"player {players[wrong]} of environment {self.first_env + wrong} is none; give 0 or 1")
        return chosen

    def observe(self, observation: str = "planes", dtype: DTypeLike | None = None) -> NDArray[Any]:
        """Return new observations of the positions that `planes` has, of a kind and dtype of `observations`.

        The viewer is whose marks come first in `planes`.  Raises UsageError.
        """
        return make_observer(observation, dtype)(self.planes, self.movers)

    @property
    def last(self) -> NDArray[Any] | None:
        """Return, with `keep_last`, the final `planes` of the games that the last step ended, in a new array.

        Without an opponent the viewer is the player who would move next.  Rows of other games have no meaning.
        """
        return None if self.last_sets is None else planes_of(self.board, *self.last_sets).view(self.planes.dtype)

    @property
    def codes(self) -> NDArray[np.int64]:
        """Return the code of each position (int64[n]).

        Raises BoardError for a board of more than 39 cells, whose codes exceed 64 bits; see `bitboards`.
        """
        if self.board.cells > MAX_CODED_CELLS:
            raise BoardError(
                f"board {self.board.name} has {self.board.cells} cells; codes take 63 bits up to {MAX_CODED_CELLS}: "
                "use bitboards"
            )
        codes = np.zeros(self.n, np.int64)
        rules.write_codes(self._rules, self._state, 3 ** np.arange(self.board.cells, dtype=np.int64), codes)
        return codes

    @property
    def bitboards(self) -> NDArray[np.uint64]:
        """Return the cells of the first and the second player (uint64[n, 2]), cell i as bit i."""
        boards = np.zeros((self.n, 2), np.uint64)
        rules.write_boards(self._state, boards)
        return boards

    @property
    def movers(self) -> NDArray[np.int64]:
        """Return who acts in each game (int64[n]): the agent's seat, without an opponent the player to move."""
        if self.seats is not None:
            return self.seats.astype(np.int64)
        return (np.bitwise_count(self._state.own | self._state.other) & 1).astype(np.int64)

    @property
    def game_numbers(self) -> NDArray[np.int64]:
        """Return the number of each environment's current game (int64[n]), from 0."""
        return np.array(self._state.games)

    def games(self) -> list[str]:
        """Return the games that the last step ended, in order of environments, as lines of cells for `learn_from`.

        It reads those of boards that a learner takes.  Games with an illegal action are left out.
        Raises UsageError unless moves are recorded.
        """
        if self._played.size == 0:
            raise UsageError("moves are not kept; make the batch with record=True")
        ended = self._played[self._played[:, 0] >= 0]
        return [" ".join(map(str, cells[cells >= 0])) for cells in ended]

    def render(self, env: Number = 0) -> str:
        """Return a game as text: rows of marks, and who is to move or has won.  Raises UsageError.

        env: its place in the batch, from 0.  A game that restarted in the last step is shown at its beginning.
        """
        text: str = picture_of(self, parse_int("env", env, 0, self.n - 1), "ansi")
        return text

    def __str__(self) -> str:
        """Return the settings, and the first games side by side."""
        games = [self.render(env).splitlines() for env in range(min(self.n, GAMES_SHOWN))]
        wide = max(len(line) for game in games for line in game)
        lines = ("   ".join(line.ljust(wide) for line in row).rstrip() for row in zip(*games, strict=True))
        return "\n".join([repr(self), *lines])

    def __getstate__(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return the state for `copy`, `deepcopy` or `pickle`: a copy continues independently, in its own arrays."""
        settings = {name: self.__dict__[name] for name in SETTINGS}
        arrays = {name: self.__dict__[name] for name in ARRAYS}
        return settings, arrays | {"_state": self._state}

    def __setstate__(self, kept: tuple[dict[str, Any], dict[str, Any]]) -> None:
        settings, arrays = kept
        self.__dict__.update(settings)
        against, keep_last = (arrays[name] is not None for name in ("seats", "last_sets"))
        self._make_arrays(arrays["planes"].dtype, None, against, keep_last, arrays["_played"].size > 0)
        self._prepare()
        for name in ARRAYS:
            if arrays[name] is not None:
                self.__dict__[name][...] = arrays[name]
        for mine, its in zip(self._state, arrays["_state"], strict=True):
            mine[...] = its

    def __copy__(self) -> "Batch":
        return deepcopy(self)

    def __repr__(self) -> str:
        return f"Batch({self.n}, {self.board.name!r}, seed={self.seed}, autoreset={self.autoreset!r})"
