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

from collections import UserDict
from functools import partial
from typing import Any

import gymnasium
import numpy as np
from gymnasium.spaces import Box, Discrete
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space
from numpy.typing import DTypeLike, NDArray

from ttt_batch.core.errors import UsageError, quoted
from ttt_batch.core.text import check_switches, choose, parse_int
from ttt_batch.environments.batch import AUTORESET, MAX_BOARDS, Batch, Opponent, StepArrays, flags_of, read_array
from ttt_batch.environments.observations import TERMINAL_VIEWS, Observer, make_observer, planes_of, turned
from ttt_batch.environments.pictures import ENDINGS, RENDER_MODES, check_render_mode, picture_of, rendered
from ttt_batch.games.board import Board

NAME = "ttt_batch/MNK-v0"
MODES = dict(zip(AUTORESET, (AutoresetMode.SAME_STEP, AutoresetMode.NEXT_STEP, AutoresetMode.DISABLED), strict=True))
Info = dict[str, Any]


def spaces_of(batch: Batch, observer: Observer) -> tuple[Box, Discrete]:
    """Return the observation and action spaces of one environment."""
    shape = observer(batch.planes[:1], np.zeros(1)).shape[1:]
    return Box(*observer.bounds, shape, observer.dtype.type), Discrete(batch.n_actions)


class BatchEnv:
    """Base of environments of Gymnasium and Stable-Baselines3: games of a batch, and how they are observed."""

    def _take(
        self, batch: Batch, observation: str, dtype: DTypeLike | None, terminal_view: str, render_mode: str | None
    ) -> tuple[Box, Discrete]:
        """Take a new batch and the options; return the observation and action spaces of one environment."""
        self.batch, self.render_mode = batch, check_render_mode(render_mode)
        self._observer = make_observer(observation, dtype)
        self._plain = self._observer == make_observer("planes")
        self._view = choose("terminal_view", terminal_view, TERMINAL_VIEWS)
        # With same-step no game is over when it is observed.
        self._shows_actor = self._view == "acted" and batch.seats is None and batch.autoreset != "same-step"
        self._acted: NDArray[np.int64] | None = None
        self._untouched = True
        return spaces_of(batch, self._observer)

    def _restart(self, seed: int | None, which: NDArray[np.bool_] | None = None) -> None:
        """Begin the next games where `which` is True, by default all; of a new batch, with no seed, the first ones."""
        if seed is not None or which is not None or not self._untouched:
            self.batch.reset(which, seed=seed)
        self._untouched = False

    def _move(self, actions: Any) -> tuple[NDArray[np.int64], StepArrays]:
        """Make a step of all games; return who moved (int64[n]), and the result."""
        mover = self.batch.movers
        seen = self.batch.step(actions)
        self._untouched = False
        if self._shows_actor:
            self._acted = mover
        return mover, seen

    def _observe(self) -> tuple[NDArray[Any], NDArray[np.int64]]:
        """Return new observations of all games, and their viewers (int64[n]).

        The viewer is the player to move, or in games that are over who acted last, if that is to be shown.
        """
        planes, movers = self.batch.planes, self.batch.movers
        if self._acted is None:
            return self._observer(planes, movers), movers
        viewers = np.where(self.batch.mask.any(axis=1), movers, self._acted)
        return self._observer(turned(planes, movers, viewers), viewers), viewers

    def action_masks(self) -> NDArray[np.bool_]:
        """Return the legal actions (bool[num_envs, actions]); all False where the game is over."""
        return self.batch.mask.copy()


def final_views(
    batch: Batch, last: NDArray[Any], ended: NDArray[np.bool_], acted: NDArray[np.int64], view: str
) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """Return the final planes of games that ended and restarted in a step, and their viewers (int64).

    last: `batch.last_sets` after that step.  ended: bool[n], which games.  acted: int64[n], who made the last action.
    view: one of `TERMINAL_VIEWS`.
    """
    own, other = last[:, ended]
    planes, seats = planes_of(batch.board, own, other), acted[ended]
    if batch.seats is not None:
        return planes, seats
    movers = (np.bitwise_count(own | other) & 1).astype(np.int64)
    return (turned(planes, movers, seats), seats) if view == "acted" else (planes, movers)


FinalViews = partial[tuple[NDArray[Any], NDArray[np.int64]]]
"""Call of `final_views`."""


def final_observations(views: FinalViews, ended: NDArray[np.bool_], observer: Observer) -> NDArray[Any]:
    """Return observations of the games that ended (bool[n]) in Gymnasium's form: object[n], None in the others."""
    seen, last = observer(*views()), np.full(len(ended), None, object)
    last[ended] = np.fromiter(seen, object, len(seen))  # views of one copy: a copy for each took twice as long
    return last


def final_infos(views: FinalViews, ended: NDArray[np.bool_], n_actions: int) -> Info:
    """Return the last infos of the games that ended (bool[n])."""
    mask, seat = np.zeros((len(ended), n_actions), np.int8), np.zeros(len(ended), np.int64)
    seat[ended] = views()[1]
    return {"action_mask": mask, "_action_mask": ended.copy(), "seat": seat, "_seat": ended.copy()}


class Infos(UserDict[str, Any], dict[str, Any]):  # type: ignore[misc]
    """Infos whose values are made when they are first read, where a `partial` is in their place.

    Gymnasium wants an array for each ended game in `final_obs`: they take longer than the step, and training loops
    without truncated games do not need them.
    """

    def __init__(self, infos: Info) -> None:
        self.data = infos

    def __getitem__(self, key: str) -> Any:
        value = super().__getitem__(key)
        if isinstance(value, partial):
            value = self.data[key] = value()
        return value

    def __repr__(self) -> str:
        return repr(dict(self))

    def __reduce__(self) -> Any:
        return dict, (dict(self),)


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


def one_action(batch: Batch, action: object) -> int:
    """Return the action of a single environment.  Raises UsageError if invalid."""
    number = int(action) if isinstance(action, np.integer) else action
    if not isinstance(number, int):
        array = read_array(action)
        number = int(array) if array is not None and array.shape == () and array.dtype.kind in "iu" else None
    if not isinstance(number, int) or isinstance(number, bool):
        raise UsageError(f"action {quoted(action)} is no whole number; give one from 0 to {batch.n_actions - 1}")
    if not 0 <= number < batch.n_actions:
        raise UsageError(f"action {quoted(number)} is none of this board; give one from 0 to {batch.n_actions - 1}")
    return number


def reset_options(options: object) -> dict[str, Any]:
    """Return the options of a reset.  Raises UsageError."""
    if not isinstance(options, dict | None):
        raise UsageError(f"options are {quoted(type(options).__name__)}; give a dictionary, or none")
    return options or {}


class MNKEnv(BatchEnv, gymnasium.Env):
    """One game.  Actions are cells or columns.

    observation, dtype, terminal_view: see `observations`; by default uint8[2, rows, cols], the agent's marks and its
    opponent's.
    board, opponent, seat, illegal, first_env, threads: as for `Batch`; one game is played by one thread.
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
        threads: int | None = 1,
        render_mode: str | None = None,
    ) -> None:
        seed = first_seed(self, seed)
        own: dict[str, Any] = {"seat": seat, "illegal": illegal, "first_env": first_env, "threads": threads}
        batch = Batch(1, board, seed, opponent, "disabled", **own)
        self.observation_space, self.action_space = self._take(batch, observation, dtype, terminal_view, render_mode)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[NDArray[Any], Info]:
        """Begin the next game; with a seed, the first one of that seed.  Raises UsageError."""
        seed, _ = reset_seed(seed), reset_options(options)
        super().reset(seed=seed)
        self._restart(seed)
        if self.render_mode == "human":
            self.render()
        return self._seen()

    def step(self, action: Any) -> tuple[NDArray[Any], float, bool, bool, Info]:
        """Make a move, and the opponent's reply.  Raises UsageError for an invalid action."""
        mover, seen = self._move(np.array([one_action(self.batch, action)]))
        if self.render_mode == "human":
            self.render()
        reward = float(seen.rewards[0, mover[0]])
        observation, info = self._seen()
        return observation, reward, bool(seen.terminated[0]), False, info

    def action_masks(self) -> NDArray[np.bool_]:
        """Return the legal actions (bool[actions]); all False if the game is over."""
        return self.batch.mask[0].copy()

    def _seen(self) -> tuple[NDArray[Any], Info]:
        """Return the observation and the info."""
        seen, viewers = self._observe()
        return seen[0], {"action_mask": self.batch.mask[0].astype(np.int8), "seat": int(viewers[0])}

    def render(self) -> Any:
        """Return the game in the render mode."""
        return picture_of(self.batch, 0, self.render_mode)


class MNKVectorEnv(BatchEnv, VectorEnv):
    """`num_envs` games, stepped together.

    observation, dtype, terminal_view: as for `MNKEnv`.
    board, opponent, seat, illegal, first_env, threads: as for `Batch`.
    autoreset_mode: one of Gymnasium's (`AutoresetMode`, or its text), or of `Batch`'s names.
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
        threads: int | None = 1,
        render_mode: str | None = None,
    ) -> None:
        given = autoreset_mode.value if isinstance(autoreset_mode, AutoresetMode) else autoreset_mode
        name = choose("autoreset_mode", given, AUTORESET)
        check_switches(copy=copy)
        seed = first_seed(self, seed)
        own: dict[str, Any] = {"seat": seat, "illegal": illegal, "first_env": first_env, "threads": threads}
        num_envs = parse_int("num_envs", num_envs, 1, MAX_BOARDS)
        batch = Batch(num_envs, board, seed, opponent, name, keep_last=name == "same-step", **own)
        spaces = self._take(batch, observation, dtype, terminal_view, render_mode)
        self.num_envs, self.copy = batch.n, copy
        self.metadata = {"render_modes": list(RENDER_MODES), "render_fps": 4, "autoreset_mode": MODES[name]}
        self.single_observation_space, self.single_action_space = spaces
        self.observation_space = batch_space(self.single_observation_space, self.num_envs)
        self.action_space = batch_space(self.single_action_space, self.num_envs)
        self._all = np.ones(self.num_envs, np.bool_)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[NDArray[Any], Info]:
        """Begin the next games everywhere, or where `options["reset_mask"]` (bool[num_envs]) is True.

        seed: one for all, which the numbers of the environments tell apart; then the games are the first ones.
        Raises UsageError.
        """
        seed, which = reset_seed(seed), reset_options(options).get("reset_mask")
        if which is not None:
            which = flags_of("reset_mask", which, self.num_envs)
        super().reset(seed=seed)
        self._restart(seed, which)
        if self.render_mode == "human":
            self.render()
        return self._seen(which)

    def step(
        self, actions: Any
    ) -> tuple[NDArray[Any], NDArray[np.float64], NDArray[np.bool_], NDArray[np.bool_], Info]:
        """Make a move in every game, and the opponents' replies.  Raises UsageError before anything changes."""
        mover, seen = self._move(actions)
        # In NumPy, to take them from a flat view took three times as long, and a choice of columns longer.
        rewards, over = self.batch.rewards_of(mover), seen.terminated.copy()
        observations, info = self._seen()
        if self.batch.last_sets is not None and over.any():
            info = self._final(info, over, mover)
        if self.render_mode == "human":
            self.render()
        return observations, rewards, over, np.zeros(self.num_envs, np.bool_), info

    def _final(self, info: Info, over: NDArray[np.bool_], mover: NDArray[np.int64]) -> Info:
        """Return `info` with the infos of games that ended in a step in which they restarted."""
        ended = over.copy()
        views = partial(final_views, self.batch, np.array(self.batch.last_sets), ended, mover, self._view)
        if self.render_mode == "human":  # `render` shows the next games, already started
            for env, marks in zip(np.flatnonzero(over), make_observer("cells")(*views()), strict=True):
                ending = ENDINGS[int(self.batch.rewards[env, 0])]
                rendered(self.batch.board, tuple(marks.ravel().tolist()), ending, self.render_mode)
        seen = partial(final_observations, views, ended, self._observer)
        more = partial(final_infos, views, ended, self.batch.n_actions)
        final = {"final_obs": seen, "_final_obs": over.copy(), "final_info": more, "_final_info": over.copy()}
        return Infos(info | final)

    def _seen(self, which: NDArray[np.bool_] | None = None) -> tuple[NDArray[Any], Info]:
        """Return observations of all games, and infos of those in `which` (bool[num_envs]), by default all."""
        mask = self.action_masks()
        if self._plain and not self.copy and self._acted is None:
            seen, seat = self.batch.planes, self.batch.movers
        else:
            seen, seat = self._observe()
        if which is None:
            which = self._all
        else:
            mask &= which.repeat(mask.shape[1]).reshape(mask.shape)  # half the time of a product with a column
            seat *= which
        info = {"action_mask": mask.view(np.int8), "_action_mask": which.copy(), "seat": seat, "_seat": which.copy()}
        return seen, info

    def render(self) -> Any:
        """Return a tuple with the game of each environment in the render mode."""
        return tuple(picture_of(self.batch, env, self.render_mode) for env in range(self.num_envs))


if NAME not in gymnasium.registry:
    gymnasium.register(NAME, entry_point=f"{__name__}:MNKEnv", vector_entry_point=f"{__name__}:MNKVectorEnv")
