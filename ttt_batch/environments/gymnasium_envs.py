"""Gymnasium's interfaces: `ttt_batch/MNK-v0`, one environment (`make`) or thousands (`make_vec`).

Gymnasium knows the name once this module is imported, which it does itself for a name that begins with the module:
`ttt_batch.environments.gymnasium_envs:ttt_batch/MNK-v0`.

An agent plays against an opponent inside the environment, `random` unless another one is named, and gets 1 for a win,
-1 for a loss and 0 otherwise.  With `opponent=None` it moves for both players, and the reward is of the one who has
just moved.  `info["action_mask"]` says which actions are legal; an illegal one loses.  Environment i of many is the
single one with `first_env=i`, with the same seed.
"""

from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
from gymnasium.spaces import Box, Discrete
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space
from numpy.typing import NDArray

from ttt_batch.base.choices import check_switches, choose
from ttt_batch.base.errors import UsageError, quoted
from ttt_batch.environments.batch import AUTORESET, Batch
from ttt_batch.environments.pictures import RENDER_MODES, rendered
from ttt_batch.game.board import Board, Position
from ttt_batch.runs.loading import AnyRun

NAME = "ttt_batch/MNK-v0"
MODES = dict(zip(AUTORESET, (AutoresetMode.SAME_STEP, AutoresetMode.NEXT_STEP, AutoresetMode.DISABLED), strict=True))

Info = dict[str, Any]
Opponent = AnyRun | str | Path | None


def register() -> None:
    """Make the environments known to Gymnasium.  Importing this module does it."""
    if NAME not in gymnasium.registry:
        here = __name__
        gymnasium.register(NAME, entry_point=f"{here}:MNKEnv", vector_entry_point=f"{here}:MNKVectorEnv")


def spaces_of(batch: Batch) -> tuple[Box, Discrete]:
    """The observations and actions of one environment."""
    return Box(0, 1, batch.planes.shape[1:], np.uint8), Discrete(batch.n_actions)


def position_of(batch: Batch, env: int) -> Position:
    """The marks of an environment's cells."""
    first, second = batch.bitboards[env]
    return tuple((int(first) >> cell & 1) + 2 * (int(second) >> cell & 1) for cell in range(batch.board.cells))


def one_action(batch: Batch, action: object) -> NDArray[np.int64]:
    """int64[1]: the action of the only environment.  Raises UsageError for what is no number of an action."""
    number = action[()] if isinstance(action, np.ndarray) and action.shape == () else action
    least = f"from 0 to {batch.n_actions - 1}"
    if not isinstance(number, int | np.integer) or isinstance(number, bool):
        raise UsageError(f"action {quoted(action)} is no whole number; give one {least}")
    if not 0 <= number < batch.n_actions:
        raise UsageError(f"action {quoted(int(number))} is none of this board; give one {least}")
    return np.array([number], np.int64)


def reset_mask(options: object) -> NDArray[np.bool_] | None:
    """Which environments `options` of a reset name; None: all of them.  Raises UsageError."""
    if not isinstance(options, dict | None):
        raise UsageError(f"options are {quoted(type(options).__name__)}; give a dictionary, or none")
    return (options or {}).get("reset_mask")


def check_render_mode(mode: str | None) -> str | None:
    """The render mode.  Raises UsageError."""
    return None if mode is None else choose("render mode", mode, RENDER_MODES)


class MNKEnv(gymnasium.Env):
    """One game.  Observations: uint8[2, rows, cols], the agent's marks and its opponent's; actions: cells or columns.

    board, opponent, seat, illegal, first_env, seed: as for `Batch`; a seed given to `reset` replaces this one.
    """

    metadata: dict[str, Any] = {"render_modes": list(RENDER_MODES), "render_fps": 4}  # noqa: RUF012 - Gymnasium's form

    def __init__(
        self,
        board: Board | str = "3x3",
        opponent: Opponent = "random",
        *,
        seat: str = "alternate",
        illegal: str = "lose",
        first_env: int = 0,
        seed: int = 0,
        render_mode: str | None = None,
    ) -> None:
        self.batch = Batch(1, board, seed, opponent, "disabled", seat=seat, illegal=illegal, first_env=first_env)
        self.observation_space, self.action_space = spaces_of(self.batch)
        self.render_mode = check_render_mode(render_mode)
        self._untouched = True

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[NDArray[Any], Info]:
        """Begin the next game; with a seed, the first one of that seed."""
        super().reset(seed=seed)
        if seed is not None or not self._untouched:
            self.batch.reset(seed=seed)
        self._untouched = False
        return self.batch.planes[0].copy(), self._info()

    def step(self, action: Any) -> tuple[NDArray[Any], float, bool, bool, Info]:
        """Make a move, and the opponent's reply.  Raises UsageError for an action that is none."""
        mover = movers(self.batch)[0]
        seen = self.batch.step(one_action(self.batch, action))
        self._untouched = False
        if self.render_mode == "human":
            self.render()
        reward = float(seen.rewards[0, mover])
        return seen.planes[0].copy(), reward, bool(seen.terminated[0]), False, self._info()

    def _info(self) -> Info:
        return {"action_mask": self.batch.mask[0].astype(np.int8)}

    def render(self) -> Any:
        """The position, as the render mode says."""
        return rendered(self.batch.board, position_of(self.batch, 0), self.render_mode)


def actions_of(given: Any) -> NDArray[Any]:
    """An array of what a caller gives.  Raises UsageError for what is none, such as lists of several lengths."""
    try:
        return np.asarray(given)
    except (ValueError, TypeError):
        raise UsageError("actions are no array; give an integer for each environment") from None


def movers(batch: Batch) -> NDArray[np.int64]:
    """int64[n]: whose reward an agent gets that acts now: its seat, or the player to move."""
    if batch.seats is not None:
        return batch.seats.astype(np.int64)
    marks: NDArray[np.int64] = np.bitwise_count(batch.bitboards).sum(axis=1, dtype=np.int64)
    return marks % 2


class MNKVectorEnv(VectorEnv):
    """`num_envs` games, which one call steps.

    board, opponent, seat, illegal, first_env, seed: as for `Batch`.  autoreset_mode: one of Gymnasium's
    (`AutoresetMode`, or its text), or of `Batch`'s names.
    copy: whether observations are copies; else they are the arrays that the next step overwrites.
    """

    def __init__(
        self,
        num_envs: int = 1,
        board: Board | str = "3x3",
        opponent: Opponent = "random",
        *,
        autoreset_mode: AutoresetMode | str = AutoresetMode.NEXT_STEP,
        seat: str = "alternate",
        illegal: str = "lose",
        first_env: int = 0,
        seed: int = 0,
        copy: bool = True,
        render_mode: str | None = None,
    ) -> None:
        given = autoreset_mode.value if isinstance(autoreset_mode, AutoresetMode) else autoreset_mode
        name = choose("autoreset", given, AUTORESET)
        check_switches(copy=copy)
        self.batch = Batch(
            num_envs,
            board,
            seed,
            opponent,
            name,
            seat=seat,
            illegal=illegal,
            first_env=first_env,
            keep_last=name == "same-step",
        )
        self.num_envs, self.copy, self.render_mode = self.batch.n, copy, check_render_mode(render_mode)
        self.metadata = {"render_modes": list(RENDER_MODES), "render_fps": 4, "autoreset_mode": MODES[name]}
        self.single_observation_space, self.single_action_space = spaces_of(self.batch)
        self.observation_space = batch_space(self.single_observation_space, self.num_envs)
        self.action_space = batch_space(self.single_action_space, self.num_envs)
        self._untouched, self._everywhere = True, np.ones(self.num_envs, np.bool_)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[NDArray[Any], Info]:
        """Begin the next games everywhere, or where `options["reset_mask"]` (bool[num_envs]) is True.

        seed: one for all, which the numbers of the environments tell apart; then the games are the first ones.
        Raises UsageError.
        """
        if seed is not None and not isinstance(seed, int | np.integer):
            raise UsageError(f"seed {quoted(seed)} is no whole number; give one for all environments")
        which = reset_mask(options)
        super().reset(seed=None if seed is None else int(seed))
        if seed is not None or which is not None or not self._untouched:
            self.batch.reset(which, seed=seed)
        self._untouched = False
        return self._seen(), self._info(self._everywhere if which is None else which)

    def step(
        self, actions: Any
    ) -> tuple[NDArray[Any], NDArray[np.float64], NDArray[np.bool_], NDArray[np.bool_], Info]:
        """Make a move in every game, and the opponents' replies.  Raises UsageError before anything changes."""
        mover = movers(self.batch)
        seen = self.batch.step(actions_of(actions))
        self._untouched = False
        rewards = seen.rewards[np.arange(self.num_envs), mover].astype(np.float64)
        info, over = self._info(self._everywhere), seen.terminated.copy()
        if self.batch.last is not None and over.any():
            last = np.full(self.num_envs, None, object)
            for env in np.flatnonzero(over):
                last[env] = self.batch.last[env].copy()
            none = np.zeros((self.num_envs, self.batch.n_actions), np.int8)
            info |= {"final_obs": last, "_final_obs": over.copy()}
            info |= {"final_info": {"action_mask": none, "_action_mask": over.copy()}, "_final_info": over.copy()}
        return self._seen(), rewards, over, np.zeros(self.num_envs, np.bool_), info

    def _seen(self) -> NDArray[Any]:
        return self.batch.planes.copy() if self.copy else self.batch.planes

    def _info(self, which: NDArray[np.bool_]) -> Info:
        return {"action_mask": self.batch.mask * which[:, None].astype(np.int8), "_action_mask": which.copy()}

    def render(self) -> Any:
        """A tuple with the position of each environment, as the render mode says."""
        positions = (position_of(self.batch, env) for env in range(self.num_envs))
        return tuple(rendered(self.batch.board, position, self.render_mode) for position in positions)


register()
