"""To OpenSpiel and back: its policies and bots as agents, and agents, runs among them, as its policies.

OpenSpiel is not among this package's requirements; `pip install open_spiel` brings it.  Its game `tic_tac_toe` is 3x3,
and `mnk(m=COLUMNS,n=ROWS,k=K)` any plain board.
"""

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ttt_batch.agents.agent import Agent
from ttt_batch.agents.answers import where
from ttt_batch.agents.known import agent_of_run
from ttt_batch.agents.naming import AgentLike, make_agent
from ttt_batch.agents.player import Player
from ttt_batch.agents.positions import Batch, batch_at, words_of
from ttt_batch.base.errors import AgentError, BoardError, UsageError, quoted
from ttt_batch.base.named_code import reason_of
from ttt_batch.game.board import EMPTY, FIRST, SECOND, Board, Position
from ttt_batch.runs.loading import AnyRun

if TYPE_CHECKING:
    from types import ModuleType


def from_openspiel(policy: Any, game: Any = None) -> Agent:
    """A pyspiel policy or bot, in Python or C++, as an agent for `ttt_batch.judge`.

    policy: with `action_probabilities(state)`, or a bot with `step(state)`; a bot that draws by chance should provide
    its policy (`provides_policy`), which is then judged.
    game: the pyspiel game that it plays, such as `mnk(m=4,n=4,k=4)`; `tic_tac_toe` if not given.
    Raises UsageError for what is neither, and AgentError without OpenSpiel.
    """
    return _FromOpenSpiel(policy, game)


def to_openspiel(agent: AgentLike | AnyRun, board: Board | None = None) -> Any:
    """An agent of any kind, or a run, as an `open_spiel.python.policy.Policy` of the same board.

    board: of an agent that is no run; 3x3 if not given.  Its `game` is the pyspiel game.
    Raises BoardError for a variant that OpenSpiel does not have, and AgentError without it.
    """
    if isinstance(agent, AnyRun):
        player = Player(agent_of_run(agent), agent.board)
    else:
        board = board or Board()
        player = Player(make_agent(agent, board), board)
    return _policy_class()(_game_of(player.board), player)


class _FromOpenSpiel(Agent):
    """A pyspiel policy or bot."""

    def __init__(self, policy: Any, game: Any) -> None:
        self._game = _pyspiel().load_game("tic_tac_toe") if game is None else game
        self.name = f"OpenSpiel's {type(policy).__name__}"
        self._policy = policy
        self._is_bot = not hasattr(policy, "action_probabilities")
        if self._is_bot and not hasattr(policy, "step"):
            raise UsageError(f"{quoted(policy)} is neither a policy nor a bot; give an object of OpenSpiel")
        if self._is_bot:
            self._tells = policy.provides_policy()

    def ask(self, batch: Batch) -> NDArray[np.float64]:
        """float64[n, cells]: its probabilities; all of a bot's on the cell that it steps to, unless it tells them."""
        chances = np.zeros(batch.legal.shape)
        for number in range(batch.size):
            state = self._state(batch.position(number))
            try:
                for action, chance in self._chances(state):
                    chances[number, action] = chance
            except Exception as error:  # of the policy's own
                rows, cols = batch.boards.shape[1:]
                position = where(Board(rows, cols, 1), batch, number)
                raise AgentError(f"in position {position} {self.name} failed: {reason_of(error)}") from error
        return chances

    def _chances(self, state: Any) -> list[tuple[int, float]]:
        if not self._is_bot:
            found = self._policy.action_probabilities(state)
            return list(found.items() if isinstance(found, dict) else found)
        if self._tells:
            return list(self._policy.get_policy(state))
        self._policy.restart_at(state)
        return [(self._policy.step(state), 1.0)]

    def _state(self, position: Position) -> Any:
        """The state of a position, by some moves that lead there: none of them ends the game."""
        state = self._game.new_initial_state()
        cells = [[cell for cell, mark in enumerate(position) if mark == player] for player in (FIRST, SECOND)]
        for ply in range(len(position) - position.count(EMPTY)):
            cell = cells[ply % 2][ply // 2]
            if state.is_terminal() or cell not in state.legal_actions():
                raise AgentError(
                    f"{self.name} plays {self._game}, where cell {cell} is no move; give the game of this board"
                )
            state.apply_action(cell)
        return state


def _pyspiel() -> "ModuleType":
    try:
        import pyspiel
    except ImportError:
        raise AgentError("OpenSpiel is not installed; pip install open_spiel brings it") from None
    return pyspiel  # type: ignore[no-any-return]


def _game_of(board: Board) -> Any:
    """The pyspiel game of a board."""
    if board.misere or board.exact:
        raise BoardError(f"OpenSpiel has no game for board {board.name}; choose one without -misere and -exact")
    if board == Board():
        return _pyspiel().load_game("tic_tac_toe")
    return _pyspiel().load_game(f"mnk(m={board.cols},n={board.rows},k={board.k})")


def _policy_class() -> Any:
    """The class of policies that ask an agent; made here because its base class comes with OpenSpiel."""
    _pyspiel()
    from open_spiel.python import policy

    class AgentPolicy(policy.Policy):  # type: ignore[misc]
        """A pyspiel policy that plays as an agent does.  Each position is asked about once."""

        def __init__(self, game: Any, player: Player) -> None:
            super().__init__(game, list(range(game.num_players())))
            self._player = player
            self._found: dict[Position, dict[int, float]] = {}

        def action_probabilities(self, state: Any, player_id: int | None = None) -> dict[int, float]:
            """The probability of every legal action."""
            marks = [EMPTY] * self._player.board.cells
            for ply, cell in enumerate(state.history()):
                marks[cell] = FIRST + ply % 2
            position = tuple(marks)
            if position not in self._found:
                own, other = words_of(batch_at(self._player.board, position))
                chances = self._player.answers(own, other, len(position) - position.count(EMPTY))[0]
                self._found[position] = {cell: float(chances[cell]) for cell in state.legal_actions()}
            return self._found[position]

    return AgentPolicy
