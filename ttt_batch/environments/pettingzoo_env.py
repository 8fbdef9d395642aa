"""PettingZoo's interface: two agents that take turns (AEC), with the legal actions in their observations.

    from ttt_batch.environments.pettingzoo_env import env
    boards = env(board="6x7x4-gravity")

From PettingZoo 1.27 on this module also registers the name `ttt_batch/MNK-v0`:

    boards = pettingzoo.make("aec", "ttt_batch/MNK-v0", board="4x4x4")

An illegal action loses the game.
"""

from typing import Any

import gymnasium
import numpy as np
import pettingzoo
from gymnasium.spaces import Box, Discrete
from numpy.typing import DTypeLike, NDArray
from pettingzoo import AECEnv

from ttt_batch.core.errors import UsageError
from ttt_batch.core.text import choose
from ttt_batch.environments import gymnasium_envs
from ttt_batch.environments.batch import Batch
from ttt_batch.environments.observations import make_observer
from ttt_batch.environments.pictures import RENDER_MODES, check_render_mode, picture_of
from ttt_batch.games.board import Board

NAME = "ttt_batch/MNK-v0"
AGENTS = ("player_0", "player_1")
NUMBERS = {agent: number for number, agent in enumerate(AGENTS)}


class MNKAEC(AECEnv):
    """A game of two agents, `player_0`, which begins, and `player_1`.

    Observations: `observation`, by default uint8[2, rows, cols], the agent's marks and the other's; `action_mask`,
    int8[actions], all 0 unless the agent is to move.  Each agent views the game as its own, also after the end.
    Rewards: 1 for a win, -1 for a loss.  Infos: `seat`, 0 for `player_0`, 1 for `player_1`.
    observation, dtype: see `observations`.
    """

    metadata: dict[str, Any] = {  # noqa: RUF012 - PettingZoo's form
        "render_modes": list(RENDER_MODES),
        "name": "ttt_batch_mnk_v0",
        "is_parallelizable": False,
        "render_fps": 4,
    }

    def __init__(
        self,
        board: Board | str = "3x3",
        *,
        observation: str = "planes",
        dtype: DTypeLike | None = None,
        render_mode: str | None = None,
    ) -> None:
        super().__init__()
        self.batch = Batch(1, board, autoreset="disabled", illegal="lose")
        self.render_mode = check_render_mode(render_mode)
        self.possible_agents = list(AGENTS)
        self._observer = make_observer(observation, dtype)
        self._plain = self._observer == make_observer("planes")
        seen, actions = gymnasium_envs.spaces_of(self.batch, self._observer)
        mask = Box(0, 1, (self.batch.n_actions,), np.int8)
        self.observation_spaces = {
            agent: gymnasium.spaces.Dict({"observation": seen, "action_mask": mask}) for agent in AGENTS
        }
        self.action_spaces = {agent: Discrete(int(actions.n)) for agent in AGENTS}
        self._begin()

    def observation_space(self, agent: str) -> Any:
        """Return the observation space of an agent.  Raises UsageError for an unknown agent."""
        return self.observation_spaces[agent if agent in AGENTS else choose("agent", agent, AGENTS)]

    def action_space(self, agent: str) -> Any:
        """Return the action space of an agent.  Raises UsageError for an unknown agent."""
        return self.action_spaces[agent if agent in AGENTS else choose("agent", agent, AGENTS)]

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> None:
        """Begin a game.  It has no random moves, so the seed changes nothing.  Raises UsageError."""
        gymnasium_envs.reset_options(options)
        self.batch.reset(seed=seed)
        self._begin()
        if self.render_mode == "human":
            self.render()

    def _begin(self) -> None:
        """Reset the agents, their rewards and their ends for a new game."""
        self.agents, self.agent_selection = list(AGENTS), AGENTS[0]
        self._viewer = 0  # whose marks come first in the planes of `batch`
        self.rewards = dict.fromkeys(AGENTS, 0.0)
        self._cumulative_rewards = dict.fromkeys(AGENTS, 0.0)
        self.terminations = dict.fromkeys(AGENTS, False)
        self.truncations = dict.fromkeys(AGENTS, False)
        self.infos: dict[str, dict[str, Any]] = {agent: {"seat": seat} for agent, seat in NUMBERS.items()}

    def observe(self, agent: str) -> dict[str, NDArray[Any]]:
        """Return an agent's observation.  Raises UsageError for an unknown agent."""
        number = NUMBERS[agent] if agent in AGENTS else NUMBERS[choose("agent", agent, AGENTS)]
        planes, mask = self.batch.planes[0], self.batch.mask[0].astype(np.int8)
        if number != self._viewer:
            planes = planes[::-1]
        if agent != self.agent_selection:
            mask[:] = 0
        if self._plain:
            return {"observation": planes.copy(), "action_mask": mask}
        return {"observation": self._observer(planes[None], np.array([number]))[0], "action_mask": mask}

    def step(self, action: int | None) -> None:
        """Make a move of the agent to move; pass None after the end."""
        agent = self.agent_selection
        if not self.agents:
            raise UsageError("the game is over for both agents; reset the environment")
        if self.terminations[agent] or self.truncations[agent]:
            self._was_dead_step(action)
            return
        number = gymnasium_envs.one_action(self.batch, action)
        legal = self.batch.mask.item(number)
        seen = self.batch.step(np.array([number]))
        self._viewer ^= legal  # an illegal action leaves no mark, and so the turn
        if seen.terminated.item():
            self.rewards = dict(zip(AGENTS, seen.rewards[0].tolist(), strict=True))
            self.terminations = dict.fromkeys(AGENTS, True)
            self._accumulate_rewards()
        self.agent_selection = AGENTS[1 - NUMBERS[agent]]
        if self.render_mode == "human":
            self.render()

    def render(self) -> Any:
        """Return the game in the render mode."""
        return picture_of(self.batch, 0, self.render_mode)

    def close(self) -> None:
        """Do nothing, as nothing is open."""


def env(board: Board | str = "3x3", **options: Any) -> MNKAEC:
    """Return the environment of a board of up to 64 cells.  options: of `MNKAEC`.  Raises BoardError and UsageError."""
    return MNKAEC(board, **options)


if hasattr(pettingzoo, "register") and NAME not in pettingzoo.aec_registry:
    pettingzoo.register("aec", NAME, entry_point=env)
