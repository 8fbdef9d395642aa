"""Gymnasium environments `ttt_batch/MNK-v0`: one (`make`) or thousands (`make_vec`).

Importing this module registers the name.  Gymnasium imports it for a name that begins with the module:
`ttt_batch.environments.gymnasium_envs:ttt_batch/MNK-v0`.

An agent plays against an opponent inside the environment, `random` unless another one is named, and gets 1 for a win,
-1 for a loss and 0 otherwise.  With `opponent=None` it moves for both players, and the reward is that of the last
mover.  `info["action_mask"]` has the legal actions; an illegal one loses.  `action_masks()` returns the same as bool,
for `MaskablePPO` of sb3-contrib.  `info["seat"]` is the seat of the agent, 0 if it begins the game, otherwise 1; with
`opponent=None` that of the player to move.  Observations are in the view of that player.  With `opponent=None` a final
one is in the view of the player who would move next (`terminal_view="to-move"`), or of the player whose reward comes
with it (`"acted"`); `info["seat"]` is then the seat of the same player.

Without a seed each environment draws its own, `batch.seed`.  Environment i of many equals
a single one with `first_env=i` and the same seed.
"""

from typing import Any

import gymnasium
import numpy as np
from gymnasium.spaces import Box, Discrete
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space
from numpy.typing import DTypeLike, NDArray

from ttt_batch.core.errors import UsageError, quoted
from ttt_batch.core.text import check_switches, choose, parse_int
from ttt_batch.environments.batch import AUTORESET, Batch, Opponent, flags_of, read_array
from ttt_batch.environments.observations import TERMINAL_VIEWS, Observer, make_observer, players_to_move, turned
from ttt_batch.environments.pictures import ENDINGS, RENDER_MODES, check_render_mode, picture_of, rendered
from ttt_batch.games.board import Board

NAME = "ttt_batch/MNK-v0"
MODES = dict(zip(AUTORESET, (AutoresetMode.SAME_STEP, AutoresetMode.NEXT_STEP, AutoresetMode.DISABLED), strict=True))
Info = dict[str, Any]


def spaces_of(batch: Batch, observer: Observer) -> tuple[Box, Discrete]:
    """Return the observation and action spaces of one environment."""
    shape = observer(batch.planes[:1], np.zeros(1)).shape[1:]
    return Box(*observer.bounds, shape, observer.dtype.type), Discrete(batch.n_actions)


def viewers_of(batch: Batch, acted: NDArray[np.int64] | None) -> NDArray[np.int64]:
    """Return who views each game (int64[n]): in games that are over `acted`, if given, otherwise the player to move."""
    movers = batch.movers
    return movers if acted is None else np.where(batch.mask.any(axis=1), movers, acted)


def observed(batch: Batch, observer: Observer, acted: NDArray[np.int64] | None) -> NDArray[Any]:
    """Return new observations of all games, viewed as in `viewers_of`."""
    if acted is None:
        return observer(batch.planes, batch.movers)
    viewers = viewers_of(batch, acted)
    return observer(turned(batch.planes, batch.movers, viewers), viewers)


def final_views(
    batch: Batch, ended: NDArray[np.int64], acted: NDArray[np.int64], view: str
) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """Return the final planes of games that ended and restarted in the last step, and their viewers (int64).

    ended: int64, their places.  acted: int64[n], who made the last action.  view: one of `TERMINAL_VIEWS`.
    """
    planes, seats = np.asarray(batch.last).take(ended, axis=0), acted[ended]
    if batch.seats is not None:
        return planes, seats
    movers = players_to_move(planes).astype(np.int64)
    return (turned(planes, movers, seats), seats) if view == "acted" else (planes, movers)


def first_seed(env: Any, seed: Any) -> Any:
    """Return the seed given to a constructor, or else one that the environment's `np_random` draws."""
    return int(env.np_random.integers(2**63)) if seed is None else seed


def reset_seed(seed: object) -> int | None:
    """Return the seed given to `reset`, which Gymnasium and `Batch` both have to take.  Raises UsageError."""
    if seed is None:
        return None
    if not isinstance(seed, int | np.integer) or isinstance(seed, bool):
        raise UsageError(f"seed {quoted(seed)} is no whole number; give one for all environments")
    return parse_int("seed", int(seed), 0, 2**63 - 1)


def one_action(batch: Batch, action: object) -> NDArray[np.int64]:
    """Return the action of a single environment as int64[1].  Raises UsageError if invalid."""
    number, least = action, f"from 0 to {batch.n_actions - 1}"
    if not isinstance(action, int):
        array = read_array(action)
        number = int(array) if array is not None and array.shape == () and array.dtype.kind in "iu" else None
    if not isinstance(number, int) or isinstance(number, bool):
        raise UsageError(f"action {quoted(action)} is no whole number; give one {least}")
    if not 0 <= number < batch.n_actions:
        raise UsageError(f"action {quoted(number)} is none of this board; give one {least}")
    return np.array([number], np.int64)


def reset_options(options: object) -> dict[str, Any]:
    """Return the options of a reset.  Raises UsageError."""
    if not isinstance(options, dict | None):
        raise UsageError(f"options are {quoted(type(options).__name__)}; give a dictionary, or none")
    return options or {}


class MNKEnv(gymnasium.Env):
    """One game.  Actions are cells or columns.

    observation, dtype, terminal_view: see `observations`; by default uint8[2, rows, cols], the agent's marks and its
    opponent's.
    board, opponent, seat, illegal, first_env: as for `Batch`.
    seed: of all chance; None: `np_random` draws it.  A seed given to `reset` replaces it.
    render_mode: `human` prints the game at each reset and step; `ansi` and `rgb_array` are for `render`.
    """

    metadata: dict[str, Any] = {"render_modes": list(RENDER_MODES), "render_fps": 4}  # noqa: RUF012 - Gymnasium's form

    def __init__(
        self,
        board: Board | str = "3x3",
        opponent: Opponent = "random",
        *,
        observation: str = "planes",
        dtype: DTypeLike | None = None,
        terminal_view: str = "to-move",
        seat: str = "alternate",
        illegal: str = "lose",
        first_env: int = 0,
        seed: int | None = None,
        render_mode: str | None = None,
    ) -> None:
        seed = first_seed(self, seed)
        self.batch = Batch(1, board, seed, opponent, "disabled", seat=seat, illegal=illegal, first_env=first_env)
        self._observer = make_observer(observation, dtype)
        self._shows_actor = choose("terminal_view", terminal_view, TERMINAL_VIEWS) == "acted" and opponent is None
        self._acted: NDArray[np.int64] | None = None
        self.observation_space, self.action_space = spaces_of(self.batch, self._observer)
        self.render_mode = check_render_mode(render_mode)
        self._untouched = True

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[NDArray[Any], Info]:
        """Begin the next game; with a seed, the first one of that seed.  Raises UsageError."""
        seed, _ = reset_seed(seed), reset_options(options)
        super().reset(seed=seed)
        if seed is not None or not self._untouched:
            self.batch.reset(seed=seed)
        self._untouched = False
        if self.render_mode == "human":
            self.render()
        return self._seen(), self._info()

    def step(self, action: Any) -> tuple[NDArray[Any], float, bool, bool, Info]:
        """Make a move, and the opponent's reply.  Raises UsageError for an invalid action."""
        mover = self.batch.movers
        seen = self.batch.step(one_action(self.batch, action))
        self._untouched = False
        if self._shows_actor:
            self._acted = mover
        if self.render_mode == "human":
            self.render()
        reward = float(seen.rewards[0, mover[0]])
        return self._seen(), reward, bool(seen.terminated[0]), False, self._info()

    def action_masks(self) -> NDArray[np.bool_]:
        """Return the legal actions (bool[actions]); all False if the game is over."""
        legal: NDArray[np.bool_] = self.batch.mask[0].copy()
        return legal

    def _seen(self) -> NDArray[Any]:
        return observed(self.batch, self._observer, self._acted)[0]

    def _info(self) -> Info:
        return {"action_mask": self.batch.mask[0].astype(np.int8), "seat": int(viewers_of(self.batch, self._acted)[0])}

    def render(self) -> Any:
        """Return the game in the render mode."""
        return picture_of(self.batch, 0, self.render_mode)


class MNKVectorEnv(VectorEnv):
    """`num_envs` games, stepped together.

    observation, dtype, terminal_view: as for `MNKEnv`.
    board, opponent, seat, illegal, first_env: as for `Batch`.  autoreset_mode: one of Gymnasium's (`AutoresetMode`, or
    its text), or of `Batch`'s names.
    seed: of all random draws; None: `np_random` draws it.  A seed given to `reset` replaces it.
    copy: whether observations are copies; else planes of bytes are the array that the next step overwrites.
    render_mode: `human` prints every game at each reset and step, and with same-step also each ended game.
    """

    def __init__(
        self,
        num_envs: int = 1,
        board: Board | str = "3x3",
        opponent: Opponent = "random",
        *,
        autoreset_mode: AutoresetMode | str = AutoresetMode.NEXT_STEP,
        observation: str = "planes",
        dtype: DTypeLike | None = None,
        terminal_view: str = "to-move",
        seat: str = "alternate",
        illegal: str = "lose",
        first_env: int = 0,
        seed: int | None = None,
        copy: bool = True,
        render_mode: str | None = None,
    ) -> None:
        given = autoreset_mode.value if isinstance(autoreset_mode, AutoresetMode) else autoreset_mode
        name = choose("autoreset", given, AUTORESET)
        check_switches(copy=copy)
        self.batch = Batch(
            num_envs,
            board,
            first_seed(self, seed),
            opponent,
            name,
            seat=seat,
            illegal=illegal,
            first_env=first_env,
            keep_last=name == "same-step",
        )
        self.num_envs, self.copy, self.render_mode = self.batch.n, copy, check_render_mode(render_mode)
        self.metadata = {"render_modes": list(RENDER_MODES), "render_fps": 4, "autoreset_mode": MODES[name]}
        self._observer = make_observer(observation, dtype)
        self._view = choose("terminal_view", terminal_view, TERMINAL_VIEWS)
        self._shows_actor = self._view == "acted" and opponent is None
        self._acted: NDArray[np.int64] | None = None
        self.single_observation_space, self.single_action_space = spaces_of(self.batch, self._observer)
        self.observation_space = batch_space(self.single_observation_space, self.num_envs)
        self.action_space = batch_space(self.single_action_space, self.num_envs)
        self._untouched = True

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[NDArray[Any], Info]:
        """Begin the next games everywhere, or where `options["reset_mask"]` (bool[num_envs]) is True.

        seed: one for all, which the numbers of the environments tell apart; then the games are the first ones.
        Raises UsageError.
        """
        seed, which = reset_seed(seed), reset_options(options).get("reset_mask")
        if which is not None:
            which = flags_of("reset_mask", which, self.num_envs)
        super().reset(seed=seed)
        if seed is not None or which is not None or not self._untouched:
            self.batch.reset(which, seed=seed)
        self._untouched = False
        if self.render_mode == "human":
            self.render()
        return self._seen(), self._info(which)

    def step(
        self, actions: Any
    ) -> tuple[NDArray[Any], NDArray[np.float64], NDArray[np.bool_], NDArray[np.bool_], Info]:
        """Make a move in every game, and the opponents' replies.  Raises UsageError before anything changes."""
        mover = self.batch.movers
        seen = self.batch.step(actions)
        self._untouched = False
        if self._shows_actor:
            self._acted = mover
        rewards = np.where(mover, seen.rewards[:, 1], seen.rewards[:, 0]).astype(np.float64)
        info, over = self._info(), seen.terminated.copy()
        if self.batch.last is not None and over.any():
            info |= self._final(mover, over)
        if self.render_mode == "human":
            self.render()
        return self._seen(), rewards, over, np.zeros(self.num_envs, np.bool_), info

    def _final(self, mover: NDArray[np.int64], over: NDArray[np.bool_]) -> Info:
        """Return the infos of games that ended in a step in which they restarted."""
        last, ended = np.full(self.num_envs, None, object), np.flatnonzero(over)
        rows, mover[ended] = final_views(self.batch, ended, mover, self._view)
        seen = self._observer(rows, mover[ended])
        last[ended] = np.fromiter(seen, object, len(seen))  # views of one copy: a copy for each took twice as long
        if self.render_mode == "human":  # `render` shows the next games, already started
            for env, (own, other) in zip(ended, rows, strict=True):
                marks = own * (1 + mover[env]) + other * (2 - mover[env])
                ending = ENDINGS[int(self.batch.rewards[env, 0])]
                rendered(self.batch.board, tuple(marks.ravel().tolist()), ending, self.render_mode)
        none = np.zeros((self.num_envs, self.batch.n_actions), np.int8)
        final = {"action_mask": none, "_action_mask": over.copy(), "seat": mover * over, "_seat": over.copy()}
        return {"final_obs": last, "_final_obs": over.copy(), "final_info": final, "_final_info": over.copy()}

    def _seen(self) -> NDArray[Any]:
        if not self.copy and self._acted is None and self._observer == make_observer("planes"):
            return self.batch.planes
        return observed(self.batch, self._observer, self._acted)

    def action_masks(self) -> NDArray[np.bool_]:
        """Return the legal actions (bool[num_envs, actions]); all False where the game is over."""
        return self.batch.mask.copy()

    def _info(self, which: NDArray[np.bool_] | None = None) -> Info:
        mask, seat = self.batch.mask.astype(np.int8), viewers_of(self.batch, self._acted)
        if which is None:
            which = np.ones(self.num_envs, np.bool_)
        else:
            begun, told = np.flatnonzero(which), mask
            mask, seat = np.zeros_like(mask), seat * which
            mask[begun] = told.take(begun, axis=0)  # half the time of a product with `which`
        return {"action_mask": mask, "_action_mask": which.copy(), "seat": seat, "_seat": which.copy()}

    def render(self) -> Any:
        """Return a tuple with the game of each environment in the render mode."""
        return tuple(picture_of(self.batch, env, self.render_mode) for env in range(self.num_envs))


if NAME not in gymnasium.registry:
    gymnasium.register(NAME, entry_point=f"{__name__}:MNKEnv", vector_entry_point=f"{__name__}:MNKVectorEnv")
