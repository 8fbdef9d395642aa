"""Stable-Baselines3's `VecEnv` over `Batch`: thousands of games in one call, and masks for `MaskablePPO`.

    from sb3_contrib import MaskablePPO
    from stable_baselines3.common.vec_env import VecMonitor
    from ttt_batch.environments.stable_baselines import MNKVecEnv
    model = MaskablePPO("MlpPolicy", VecMonitor(MNKVecEnv(256, "4x4x4"))).learn(100_000)

Games, opponents, rewards and seeds are those of `gymnasium_envs`.  `make_vec_env` would step the same games one by one.
"""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

try:
    from stable_baselines3.common.vec_env import VecEnv
except ImportError as error:
    remedy = "install it with: pip install 'ttt-batch[stable-baselines]'"
    raise ImportError(f"this module needs stable-baselines3 ({error}); {remedy}") from None

from ttt_batch.core.errors import UsageError
from ttt_batch.core.text import parse_int
from ttt_batch.environments.batch import MAX_BOARDS, Batch, Opponent
from ttt_batch.environments.gymnasium_envs import BatchEnv, final_views
from ttt_batch.environments.pictures import picture_of
from ttt_batch.games.board import Board

GOING_ON: Mapping[str, Any] = MappingProxyType({})
"""Info of every game that goes on: read-only, so that one serves all."""


class MNKVecEnv(BatchEnv, VecEnv):
    """`num_envs` games, stepped together.  A game that ends begins again in the same step.

    board, opponent, seat, illegal, first_env, seed, threads: as for `Batch`, but illegal actions lose by default.
    observation, dtype, terminal_view: see `observations`; by default uint8[2, rows, cols], the agent's marks and its
    opponent's.
    Infos of ended games hold `terminal_observation`, viewed as in `gymnasium_envs`, and `seat`, of the player whose
    reward it is; the other infos are empty and read-only.
    render_mode: as for `render`; `human` prints the games.
    """

    def __init__(
        self,
        num_envs: int = 1,
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
        own: dict[str, Any] = {"seat": seat, "illegal": illegal, "first_env": first_env, "threads": threads}
        num_envs = parse_int("num_envs", num_envs, 1, MAX_BOARDS)
        batch = Batch(num_envs, board, seed, opponent, "same-step", keep_last=True, **own)
        super().__init__(batch.n, *self._take(batch, observation, dtype, terminal_view, render_mode))
        self._actions: Any = None

    def reset(self) -> NDArray[Any]:
        """Begin the next games; after `seed(S)` the first ones of seed S, one seed for all environments."""
        self._restart(self._seeds[0])
        self._reset_seeds()
        self._reset_options()
        return self._observe()[0]

    def step_async(self, actions: Any) -> None:
        """Keep the actions for `step_wait`."""
        self._actions = actions

    def step_wait(self) -> tuple[NDArray[Any], NDArray[np.float32], NDArray[np.bool_], list[Mapping[str, Any]]]:
        """Make a move in every game, and the opponents' replies.  Raises UsageError before anything changes."""
        mover, seen = self._move(self._actions)
        rewards, over = self.batch.rewards_of(mover).astype(np.float32), seen.terminated.copy()
        infos, ended = [GOING_ON] * self.num_envs, np.flatnonzero(over)
        last: Any = self.batch.last_sets
        finals = self._observer(*final_views(self.batch, last, over, mover, self._view))
        for env, final, seat in zip(ended.tolist(), finals, mover[ended].tolist(), strict=True):
            infos[env] = {"terminal_observation": final, "seat": seat}
        return self._observe()[0], rewards, over, infos

    def env_method(self, method_name: str, *method_args: Any, indices: Any = None, **method_kwargs: Any) -> list[Any]:
        """Return, for each environment of `indices`, its `action_masks` or what `render` shows.

        Raises UsageError for other methods: the games are not objects.
        """
        numbers = self._get_indices(indices)
        if method_name == "action_masks":
            masks = self.action_masks()
            return [masks[env] for env in numbers]
        if method_name != "render":
            raise UsageError(f"games of a batch have no method {method_name!r}; call action_masks or render")
        return [picture_of(self.batch, env, self.render_mode) for env in numbers]

    def get_images(self) -> Sequence[NDArray[np.uint8]]:
        """Return a picture of each game."""
        return [picture_of(self.batch, env, "rgb_array") for env in range(self.num_envs)]

    def get_attr(self, attr_name: str, indices: Any = None) -> list[Any]:
        """Return an attribute for each environment, the same for all.  Raises AttributeError."""
        value = getattr(self, attr_name)
        return [value for _ in self._get_indices(indices)]

    def set_attr(self, attr_name: str, value: Any, indices: Any = None) -> None:
        """Raise UsageError, as games of a batch are not objects."""
        raise UsageError(f"games of a batch have no attribute {attr_name!r} to set; make another environment")

    def env_is_wrapped(self, wrapper_class: type[Any], indices: Any = None) -> list[bool]:
        """Return False for each environment."""
        return [False for _ in self._get_indices(indices)]

    def close(self) -> None:
        """Do nothing, as nothing is open."""
