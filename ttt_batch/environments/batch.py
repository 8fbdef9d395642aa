"""`Batch`: thousands of games at once, stepped by one call."""

from collections.abc import Mapping
from copy import deepcopy
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import DTypeLike, NDArray

from ttt_batch.base.choices import Ties, check_switches, check_ties, choose, choose_person
from ttt_batch.base.errors import BoardError, UsageError
from ttt_batch.base.jit import entry_point
from ttt_batch.base.quantities import Number, parse_int, parse_seed, random_seed
from ttt_batch.base.streams import OPPONENT, SAMPLED, stream_key
from ttt_batch.environments.arrays import (
    Shapes,
    actions_of,
    check_array,
    check_look,
    flags_of,
    flat,
    is_array,
    is_plain,
    output_arrays,
)
from ttt_batch.environments.kernels import (
    FINE,
    IN_TURN,
    BatchSettings,
    Seen,
    draw_actions,
    start_games,
    step,
    wanted_moves,
)
from ttt_batch.environments.lean import fast_step
from ttt_batch.environments.opponents import NOBODY, make_opponent
from ttt_batch.environments.rules import make_rules, n_actions, word_type
from ttt_batch.environments.steps import JOINED, make_scratch, make_state
from ttt_batch.environments.views import make_observation_layout, show_wide, write_boards, write_codes
from ttt_batch.game.board import MAX_CODED_CELLS, Board, parse_board
from ttt_batch.game.lines import make_lines
from ttt_batch.runs.loading import AnyRun

MAX_BOARDS = 2**31 - 1
AUTORESET = ("same-step", "next-step", "disabled")
ILLEGAL = ("raise", "lose")
INT64 = np.dtype(np.int64)
SETTINGS = ("_n", "board", "seed", "first_env", "autoreset", "illegal", "n_actions", "_player", "_settings", "_keys")
ARRAYS = ("planes", "mask", "rewards", "terminated", "seats", "last", "_moves", "_played")
"""What a copy of a batch is made of, beside its state."""


class StepArrays(NamedTuple):
    """What a step gives: the batch's own arrays, which the next step overwrites; see `Batch`."""

    planes: NDArray[Any]
    mask: NDArray[np.bool_]
    rewards: NDArray[np.float32]
    terminated: NDArray[np.bool_]


class Batch:
    """`n` games of a board at once; `reset` begins them all, `step(actions)` makes a move in each.

    planes: uint8 or bool[n, 2, rows, cols], the marks of the player to move, and of its opponent; with an opponent,
    always of the agent and of the opponent.
    mask: bool[n, actions], which actions are legal; none if the game is over.  An action is a cell, row by row from 0
    at the top left, or on a `-gravity` board a column.
    rewards: float32[n, 2], of the first and the second player, for the games that this step has ended: 1 for a win,
    -1 for a loss, 0 otherwise.  terminated: bool[n], whether this step has ended the game.
    seats: uint8[n], with an opponent the agent's seat in each current game, 0 or 1; else None.
    last: as planes, if `keep_last`: the final positions, of the games that the last step has ended.

    Game k (from 0) of environment i draws from (seed, i, k) alone, whatever other environments there are.
    """

    def __init__(
        self,
        n: Number,
        board: Board | str = "3x3",
        seed: Number | None = None,
        opponent: AnyRun | str | Path | None = None,
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
    ) -> None:
        """Make the arrays and begin the games.

        n: how many boards, 1 to 2**31 - 1.  board: up to 64 cells.
        seed: of all chance; None: drawn from the system's entropy, and `seed` then says which.
        opponent: `random`, `one-ply`, `two-ply`, `optimal`, or a run or its file, which replies in every step; None:
        the caller moves for both.  seat: the agent's against it, `first`, `second` or `alternate`: in turn, so that
        in each environment and across them both seats are as frequent.  ties: of a run as opponent.
        autoreset: the next game begins in the step that ends one (`same-step`), in the one after it, which ignores its
        action (`next-step`), or when the caller resets (`disabled`).
        illegal: `raise` before anything changes, or `lose` the game.
        first_env: the number of the first environment.
        dtype: of planes, uint8 or bool.  arrays: by name (`planes`, `mask`, `rewards`, `terminated`) those to write to
        instead of new ones; they may lie in shared memory, and must be contiguous and not overlap.
        keep_last: keep final positions in `last`.  record: keep moves, for `games`.
        Raises UsageError and BoardError, and RunFileError for an opponent's file.
        """
        self._n, self.board = parse_int("n", n, 1, MAX_BOARDS), parse_board(board)
        self.seed = random_seed() if seed is None else parse_seed(seed)
        self.first_env = parse_int("first_env", first_env, 0, 2**62)
        self.autoreset, self.illegal = choose("autoreset", autoreset, AUTORESET), choose("illegal", illegal, ILLEGAL)
        person, ties = choose_person(seat), check_ties(ties)
        check_switches(keep_last=keep_last, record=record)
        self._player: Any = NOBODY
        if opponent is not None:
            self._player = make_opponent(opponent, self.board, ties)
        self.n_actions = n_actions(self.board)
        self._make_arrays(check_look(dtype), arrays, opponent is not None, keep_last, record)
        self._settings = BatchSettings(
            AUTORESET.index(self.autoreset),
            self.illegal == "lose",
            IN_TURN if person is None else person,
            self.first_env,
        )
        self._prepare()
        self.reset(seed=self.seed)

    @property
    def n(self) -> int:
        """How many boards there are."""
        return self._n

    def _prepare(self) -> None:
        """Make everything that settings and arrays determine."""
        self._rules, self._lines, word = make_rules(self.board), make_lines(self.board), word_type(self.board)
        self._state, self._scratch = make_state(self.n, word), make_scratch(self.n, word)
        self._step = StepArrays(self.planes, self.mask, self.rewards, self.terminated)
        self._held = self._rules, self._lines, self._state, self._settings, self._seen, self._scratch, self._player
        self._compiled: dict[Any, Any] = {}
        self._all = np.ones(self.n, np.uint8)
        self._look = make_observation_layout(self._rules, self._seen, self._scratch.words)
        more = self._seen.seat, self._seen.last, self._seen.played  # empty if nobody replies and nothing is kept
        self._lean = self.autoreset == "same-step" and not any(array.size for array in more)

    def _make_arrays(
        self, dtype: Any, given: Mapping[str, NDArray[Any]] | None, against: bool, keep_last: bool, record: bool
    ) -> None:
        """Make what `step` writes to."""
        n, cells = self.n, self.board.cells
        look = (n, 2, self.board.rows, self.board.cols), dtype
        shapes: Shapes = {
            "planes": look,
            "mask": ((n, self.n_actions), np.dtype(np.bool_)),
            "rewards": ((n, 2), np.dtype(np.float32)),
            "terminated": ((n,), np.dtype(np.bool_)),
        }
        word = np.dtype(word_type(self.board)).itemsize
        more = n * (3 * word + 10 + against + 2 * cells * (keep_last + record))
        made = output_arrays(shapes, given, more)
        self.planes, self.mask, self.rewards, self.terminated = (made[name] for name in shapes)
        self.seats = np.zeros(n, np.uint8) if against else None
        self.last = np.zeros(*look) if keep_last else None
        none = np.zeros(0, np.uint8)
        moves, played = np.full((2, n * cells if record else 0), -1, np.int8)
        self._moves, self._played = moves, played.reshape(-1, cells)
        self._seen = Seen(
            flat(self.planes),
            flat(self.mask),
            flat(self.rewards),
            flat(self.terminated),
            none if self.seats is None else self.seats,
            none if self.last is None else flat(self.last),
            moves,
            played,
        )

    def reset(self, which: Any = None, *, seed: Number | None = None) -> StepArrays:
        """Begin the next game everywhere, or where `which` (bool[n]) is True; with a seed, game 0 of that seed.

        Rewards and `terminated` are zeros there.  Raises UsageError.
        """
        chosen = self._all
        if which is not None:
            chosen = flags_of("which", which, self.n).view(np.uint8)
        if seed is not None:
            self.seed = parse_seed(seed)
            self._keys = stream_key(self.seed, OPPONENT), stream_key(self.seed, SAMPLED)
            self._state.games[chosen != 0] = -1
        self._run(start_games, *self._held, self._keys[0], chosen)
        return self._shown()

    def step(self, actions: Any) -> StepArrays:
        """Make the move of an action in every game; with an opponent, its reply, too.

        actions: integers[n] of any integer dtype, as an array, a list or a tensor.  For an array nothing is allocated:
        the result holds the batch's own arrays.
        Raises UsageError before anything changes: for an action that is illegal (unless illegal actions lose), that is
        outside 0 .. n_actions - 1, or for a game that is over and not reset.
        """
        fits = is_array(actions) and actions.dtype.kind in "iu" and actions.shape == (self.n,)
        if not (fits and actions.dtype.isnative):
            actions = actions_of(actions, self.n)
        given = self._rules, self._state, self._settings, actions, self._scratch.wanted
        wrong = self._run(wanted_moves, *given) if is_plain(actions, INT64) else wanted_moves(*given)
        if wrong != FINE:
            raise self._wrong_action(int(wrong), int(actions[wrong]))
        if self._lean:
            self._run(fast_step, self._rules, self._state, self._seen, self._scratch, self._look)
            return self._step
        self._run(step, *self._held, self._keys[0])
        return self._shown()

    def _shown(self) -> StepArrays:
        """What is seen now; of small boards the kernels have written it."""
        if self.board.cells > JOINED:
            self._run(show_wide, self._state, self._look)
        return self._step

    def _run(self, kernel: Any, *arguments: Any) -> Any:
        """Call a kernel that gets arguments of the same types every time."""
        code = self._compiled.get(kernel)
        if code is None:
            code = self._compiled[kernel] = entry_point(kernel, *arguments)
        return code(*arguments)

    def _wrong_action(self, game: int, action: int) -> UsageError:
        """The error for a wrong action."""
        where = f"action {action} of environment {self.first_env + game}"
        if self._state.over[game] and self.autoreset == "disabled":
            return UsageError(f"{where}: its game is over; reset it first, or choose another autoreset")
        if not 0 <= action < self.n_actions:
            return UsageError(f"{where} is outside 0 .. {self.n_actions - 1}")
        what = "column is full" if self.board.gravity else "cell is not free"
        return UsageError(f"{where} is illegal: the {what}; choose among those that mask allows")

    def sample(self, actions: NDArray[np.int64] | None = None) -> NDArray[np.int64]:
        """Random legal actions (int64[n]), 0 for games that are over; written to `actions` if it is given.

        They are a function of the seed, the environment, its game and the ply.  Raises UsageError.
        """
        if actions is None:
            actions = np.zeros(self.n, np.int64)
        check_array("actions", actions, (self.n,), np.int64)
        draw_actions(self._rules, self._state, self._settings, self._keys[1], actions)
        return actions

    @property
    def codes(self) -> NDArray[np.int64]:
        """int64[n]: the code of each position, as everywhere in the package.

        Raises BoardError for a board of more than 39 cells, for which 64 bits are too few; see `bitboards`.
        """
        if self.board.cells > MAX_CODED_CELLS:
            raise BoardError(
                f"board {self.board.name} has {self.board.cells} cells; codes take 63 bits up to {MAX_CODED_CELLS}: "
                "use bitboards"
            )
        codes = np.zeros(self.n, np.int64)
        write_codes(self._rules, self._state, 3 ** np.arange(self.board.cells, dtype=np.int64), codes)
        return codes

    @property
    def bitboards(self) -> NDArray[np.uint64]:
        """uint64[n, 2]: the cells of the first and of the second player, cell i as bit i."""
        boards = np.zeros((self.n, 2), np.uint64)
        write_boards(self._state, boards)
        return boards

    @property
    def game_numbers(self) -> NDArray[np.int64]:
        """int64[n]: the number of each environment's current game, from 0."""
        return np.array(self._state.games)

    def games(self) -> list[str]:
        """The games that the last step has ended, in order of environments, as lines of cells that `learn_from` reads.

        It reads those of boards without gravity that a learner takes.  A game that ended with an illegal action is left
        out.  Raises UsageError unless moves are recorded.
        """
        if self._played.size == 0:
            raise UsageError("moves are not kept; make the batch with record=True")
        ended = self._played[self._played[:, 0] >= 0]
        return [" ".join(map(str, cells[cells >= 0])) for cells in ended]

    def __getstate__(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """What a copy needs, by `copy`, `deepcopy` or `pickle`: it goes on alone, from here, in arrays of its own."""
        settings = {name: self.__dict__[name] for name in SETTINGS}
        arrays = {name: self.__dict__[name] for name in ARRAYS}
        return settings, arrays | {"_state": self._state}

    def __setstate__(self, kept: tuple[dict[str, Any], dict[str, Any]]) -> None:
        settings, arrays = kept
        self.__dict__.update(settings)
        against, keep_last, record = arrays["seats"] is not None, arrays["last"] is not None, arrays["_played"].size > 0
        self._make_arrays(arrays["planes"].dtype, None, against, keep_last, record)
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
