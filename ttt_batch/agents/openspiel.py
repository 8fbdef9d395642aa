"""Adapters for OpenSpiel: its policies and bots as agents, and agents and runs as its policies.

OpenSpiel is not among this package's requirements; `pip install open_spiel` brings it.  Its game `tic_tac_toe` is 3x3,
`mnk(m=COLUMNS,n=ROWS,k=K)` any other plain board, `connect_four(rows=ROWS,columns=COLUMNS,x_in_row=K)` a `-gravity`
board, and `misere(game=...)` the `-misere` variant of each.  It has no game for `-exact`.

An action of OpenSpiel is a cell, in games with gravity a column.  An adapter compares its board's legal
moves with OpenSpiel's in every position, to detect a game of another board.  It cannot detect a missing `misere`.
"""

from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ttt_batch.agents.adapter import AgentAdapter
from ttt_batch.agents.base import SUM_TOLERANCE, Agent, Positions, where
from ttt_batch.agents.builtin import adapter_of
from ttt_batch.agents.external import AgentLike, at_board, is_agent
from ttt_batch.core.errors import AgentError, BoardError, UsageError, quoted
from ttt_batch.core.named_code import reason_of
from ttt_batch.games.board import EMPTY, FIRST, SECOND, UNFINISHED, Board, Position, parse_board
from ttt_batch.runs.loading import AnyRun, any_run

if TYPE_CHECKING:
    from types import ModuleType

NO_ACTION = -1
"""`pyspiel.INVALID_ACTION`."""


def from_openspiel(policy: Any, game: Any = None) -> Agent:
    """Return a pyspiel policy or bot, in Python or C++, as an agent for `ttt_batch.judge`.

    policy: with `action_probabilities(state)`, or a bot with `step(state)`.  A bot that draws by chance should return
    its policy by `step_with_policy` or `get_policy`, which is then judged.  Many bots play one seat only: give a pair,
    for the first and the second player.
    A policy must not depend on the order of the moves before a position: it is asked after one of these orders.
    game: the pyspiel game that it plays, or its name, such as `mnk(m=4,n=4,k=4)`; `tic_tac_toe` if not given.
    Raises UsageError for other objects, and AgentError without OpenSpiel.
    """
    return _FromOpenSpiel(policy, game)


def to_openspiel(agent: AgentLike | AnyRun | Path | AgentAdapter, board: Board | str | None = None) -> Any:
    """Return an agent of any kind, or a run, as an `open_spiel.python.policy.Policy` of the same board.

    agent: as for `ttt_batch.judge`, or what `ttt_batch.agents.at_board` returns.
    board: of an agent that has none of its own; 3x3 if not given.  The policy's `game` is the pyspiel game.
    Raises BoardError for a variant that OpenSpiel lacks, AgentError if it is not installed, and UsageError.
    """
    wanted = None if board is None else parse_board(board)
    player: Any = agent
    if not isinstance(agent, AgentAdapter):
        run = None if is_agent(agent) else any_run(agent)
        player = at_board(agent, wanted or "3x3") if run is None else adapter_of(run, run.board)
    if wanted not in (None, player.board):
        raise UsageError(f"the agent plays {player.board.name}, not {wanted.name}; leave board out")
    return _policy_class()(_game_of(player.board), player)


class _FromOpenSpiel(Agent):
    """Agent around a pyspiel policy or bot."""

    at_once = 1

    def __init__(self, policy: Any, game: Any) -> None:
        game = "tic_tac_toe" if game is None else game
        self._game: Any = _load_game(game) if isinstance(game, str) else game
        if not hasattr(self._game, "new_initial_state"):
            raise UsageError(f"game {quoted(game)} is not a game of OpenSpiel; give one, or its name")
        pair = isinstance(policy, list | tuple) and len(policy) == 2
        self._players = tuple(policy) if pair else (policy, policy)
        for player in self._players:
            if not any(hasattr(player, name) for name in ("action_probabilities", "step", "step_with_policy")):
                raise UsageError(f"{quoted(player)} is neither a policy nor a bot; give an object of OpenSpiel")
        self.name = f"OpenSpiel's {type(self._players[0]).__name__}"

    def ask(self, batch: Positions) -> NDArray[np.float64]:
        """Return its probabilities (float64[n, cells]).  A bot without a policy gets 1 for the action of its step."""
        rows, cols = batch.boards.shape[1:]
        chances, board = np.zeros(batch.legal.shape), Board(rows, cols, 1)
        for number in range(batch.size):
            player, (state, cells) = self._players[batch.to_move[number]], self._state(batch, number)
            try:
                told = [(action, float(chance)) for action, chance in _chances(player, state)]
            except Exception as error:  # raised by the policy
                failed = f"{self.name} failed: {reason_of(error)}"
                raise AgentError(f"in position {where(board, batch, number)} {failed}") from error
            known = [isinstance(action, int | np.integer) and 0 <= action < len(cells) for action, _ in told]
            if not told or not all(known):
                what = f"action {quoted(told[known.index(False)][0])}" if told else "no action"
                remedy = ", or give a pair of bots, one for each seat" if _is_bot(player) else ""
                wrong = f"{self.name} answered {what}; return one from 0 to {len(cells) - 1}{remedy}"
                raise AgentError(f"in position {where(board, batch, number)} {wrong}")
            for action, chance in told:
                chances[number, cells[action]] += chance
        return chances

    def _state(self, batch: Positions, number: int) -> tuple[Any, list[int]]:
        """Return the state of a position, and the cell of each action, for a full column the topmost one.

        Some moves that lead there are made; none of them ends the game.
        """
        position, (rows, cols) = batch.position(number), batch.boards.shape[1:]
        state, n_actions = self._game.new_initial_state(), self._game.num_distinct_actions()
        remedy = f"{self.name} plays {self._game}, which is not the game of this board; give that one"
        if n_actions not in (cols, rows * cols):
            raise AgentError(remedy)
        by_column = n_actions == cols
        marked = [[cell for cell, mark in enumerate(position) if mark == player] for player in (FIRST, SECOND)]
        in_turn = [cell for pair in zip_longest(*marked) for cell in pair if cell is not None]
        for action in _moves_to(position, cols) if by_column else in_turn:
            if state.is_terminal() or action not in state.legal_actions():
                raise AgentError(remedy)
            state.apply_action(action)
        legal = np.flatnonzero(batch.legal[number]).tolist()
        if sorted(state.legal_actions()) != sorted(cell % n_actions for cell in legal):
            raise AgentError(remedy)
        cells = list(range(n_actions))
        for cell in legal:
            cells[cell % n_actions] = cell
        return state, cells


def _is_bot(player: Any) -> bool:
    return not hasattr(player, "action_probabilities")


def _chances(player: Any, state: Any) -> list[tuple[Any, Any]]:
    """Return pairs of an action and its probability; a bot without a policy has one pair."""
    if not _is_bot(player):
        return _pairs(player.action_probabilities(state))
    # A bot in Python that inherits `restart_at` has no memory to set back, and the inherited method only fails.
    inherited = type(player).__module__ != _pyspiel().Bot.__module__ and not _defines(player, "restart_at")
    if hasattr(player, "restart_at") and not inherited:
        player.restart_at(state)
    if _defines(player, "step_with_policy"):
        told, action = player.step_with_policy(state)
        # `PolicyBot` of OpenSpiel 2.0 answers that there is no action where 0 is the only one.
        return _pairs(told) or [(0 if action == NO_ACTION and state.legal_actions() == [0] else action, 1.0)]
    if hasattr(player, "provides_policy") and player.provides_policy():
        return _pairs(player.get_policy(state))
    return [(player.step(state), 1.0)]


def _defines(bot: Any, name: str) -> bool:
    """Return whether a bot overrides a method of `pyspiel.Bot`; the inherited method may only fail."""
    method = getattr(type(bot), name, None)
    return method is not None and method is not getattr(_pyspiel().Bot, name, None)


def _pairs(found: Any) -> list[tuple[Any, Any]]:
    """Return the pairs of a list or a dictionary."""
    return list(found.items() if isinstance(found, dict) else found)


def _moves_to(position: Position, cols: int) -> list[int]:
    """Return moves (columns) that lead to a position with gravity.  Raises AgentError if there are none."""
    stacks = [[mark for mark in position[col::cols][::-1] if mark != EMPTY] for col in range(cols)]
    seen: set[tuple[int, ...]] = set()

    def rest(heights: tuple[int, ...]) -> list[int] | None:
        """Return moves that complete the position from stacks of these heights; None if there are none."""
        ply = sum(heights)
        if ply == sum(map(len, stacks)):
            return []
        if heights in seen:
            return None
        seen.add(heights)
        # The stack with the most marks left first: on 8x8 that finds moves in up to 70 tries instead of 40,000.
        for col in sorted(range(cols), key=lambda col: heights[col] - len(stacks[col])):
            if stacks[col][heights[col] :][:1] == [FIRST + ply % 2]:
                found = rest((*heights[:col], heights[col] + 1, *heights[col + 1 :]))
                if found is not None:
                    return [col, *found]
        return None

    moves = rest((0,) * cols)
    if moves is None:
        raise AgentError("no moves lead to this position; give one that a game reaches")
    return moves


def _pyspiel() -> "ModuleType":
    try:
        import pyspiel
    except ImportError:
        raise AgentError("OpenSpiel is not installed; pip install open_spiel brings it") from None
    return pyspiel  # type: ignore[no-any-return]


def _load_game(name: str) -> Any:
    """Return a pyspiel game by its name.  Raises UsageError."""
    pyspiel = _pyspiel()
    try:
        return pyspiel.load_game(name)
    except Exception:
        raise UsageError(f"this version of OpenSpiel has no game {quoted(name)}; check the name") from None


def _game_of(board: Board) -> Any:
    """Return the pyspiel game of a board.  Raises BoardError."""
    for rule in set(board.rules) - {"misere", "gravity"}:
        raise BoardError(f"OpenSpiel has no game for board {board.name}; choose one without -{rule}")
    rows, cols, k = board.rows, board.cols, board.k
    name = f"mnk(m={cols},n={rows},k={k})"
    if board.gravity:  # older versions of OpenSpiel know this size alone
        known = (rows, cols, k) == (6, 7, 4)
        name = "connect_four()" if known else f"connect_four(rows={rows},columns={cols},x_in_row={k})"
    elif (rows, cols, k) == (3, 3, 3):
        name = "tic_tac_toe()"
    return _load_game(f"misere(game={name})" if board.misere else name)


def _position_of(state: Any, board: Board) -> Position:
    """Return the position of a state.  Raises UsageError for a state of another game."""
    marks, n_actions = [EMPTY] * board.cells, _n_actions(board)
    for ply, action in enumerate(state.history()):
        free = [cell for cell in range(action, board.cells, n_actions) if marks[cell] == EMPTY]
        if not free or action >= n_actions:
            raise _another_game(state, board)
        marks[free[-1]] = FIRST + ply % 2
    return tuple(marks)


def _n_actions(board: Board) -> int:
    """Return how many actions there are: action `a` marks cell `a`, or the lowest free one of column `a`."""
    return board.cols if board.gravity else board.cells


def _another_game(state: Any, board: Board) -> UsageError:
    """Return the error for a state of another game."""
    return UsageError(f"the state is of {state.get_game()}, and the agent plays {board.name}; give a state of its game")


def _policy_class() -> Any:
    """Return the class of policies around an agent; it is created here because its base class is OpenSpiel's."""
    _pyspiel()
    from open_spiel.python import policy

    class AgentPolicy(policy.Policy):  # type: ignore[misc]
        """Pyspiel policy that plays like an agent.  Each position is queried once."""

        def __init__(self, game: Any, player: AgentAdapter) -> None:
            super().__init__(game, list(range(game.num_players())))
            self._player = player
            self._found: dict[Position, dict[int, float]] = {}

        def action_probabilities(self, state: Any, player_id: int | None = None) -> dict[int, float]:
            """Return the probability of every legal action, nothing after the end.  Raises UsageError, AgentError."""
            position = _position_of(state, self._player.board)
            if position not in self._found:
                self._found[position] = self._asked(state, position)
            return self._found[position]

        def _asked(self, state: Any, position: Position) -> dict[int, float]:
            board, name = self._player.board, self._player.name
            open_cells = board.open_cells(position) if board.outcome(position) == UNFINISHED else []
            cells = {cell % _n_actions(board): cell for cell in open_cells}
            if sorted(cells) != sorted(state.legal_actions()):
                raise _another_game(state, board)
            if not cells:
                return {}
            shares = self._player.shares(position)
            if sum(shares.get(cell, 0.0) for cell in open_cells) < 1 - SUM_TOLERANCE:
                raise AgentError(
                    f"in position {board.format_position(position)!r} {name} resigns or chooses an occupied cell, "
                    "which OpenSpiel does not allow; give another agent"
                )
            return {action: shares.get(cells[action], 0.0) for action in state.legal_actions()}

    return AgentPolicy
