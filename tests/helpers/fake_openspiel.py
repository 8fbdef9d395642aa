"""A stand-in for the few parts of OpenSpiel that the adapters use, by rules of its own: games, states, bots, policies.

Its games are read from the names that OpenSpiel gives them, and refuse what OpenSpiel refuses.
"""

import re
from types import ModuleType


class SpielError(Exception):
    """Exception of `pyspiel`."""


class Game:
    """`tic_tac_toe`, `mnk`, `connect_four`, or `misere` of one of them."""

    def __init__(self, name: str):
        self.name = name
        inner = re.fullmatch(r"misere\(game=(.*)\)", name)
        self.misere = inner is not None
        kind, given = re.fullmatch(r"(\w+)(?:\((.*)\))?", inner[1] if inner else name).groups()
        numbers = {key: int(number) for key, number in re.findall(r"(\w+)=(\d+)", given or "")}
        sides = {"tic_tac_toe": (3, 3, 3), "connect_four": (6, 7, 4), "mnk": (15, 15, 5)}
        words = {"tic_tac_toe": (), "connect_four": ("rows", "columns", "x_in_row"), "mnk": ("n", "m", "k")}
        if kind not in sides or set(numbers) - set(words[kind]):
            raise SpielError(f"Unknown game {name!r}")
        self.falls = kind == "connect_four"
        wanted = dict(zip(words[kind], sides[kind], strict=False)) | numbers
        self.rows, self.cols, self.k = wanted.values() or sides[kind]

    def __str__(self) -> str:
        return self.name

    def new_initial_state(self) -> "State":
        return State(self, [])

    def num_distinct_actions(self) -> int:
        return self.cols if self.falls else self.rows * self.cols

    def num_players(self) -> int:
        return 2


class State:
    """The moves so far.  Connect Four's rows are counted from below."""

    def __init__(self, game: Game, moves: list[int]):
        self.game, self.moves = game, moves
        self.marks: dict[tuple[int, int], int] = {}
        self.lines = 0
        for action in moves:
            self._mark(action)

    def _mark(self, action: int) -> None:
        game, player = self.game, len(self.marks) % 2
        row, col = divmod(action, game.cols)
        if game.falls:
            row = sum((below, col) in self.marks for below in range(game.rows))
        self.marks[row, col] = player
        for down, right in ((0, 1), (1, 0), (1, 1), (1, -1)):
            run = 1
            for way in (-1, 1):
                step = 1
                while self.marks.get((row + way * step * down, col + way * step * right)) == player:
                    run, step = run + 1, step + 1
            self.lines += run >= game.k

    def get_game(self) -> Game:
        return self.game

    def history(self) -> list[int]:
        return list(self.moves)

    def current_player(self) -> int:
        return -4 if self.is_terminal() else len(self.moves) % 2

    def is_terminal(self) -> bool:
        return self.lines > 0 or len(self.marks) == self.game.rows * self.game.cols

    def returns(self) -> list[float]:
        last = 1 - len(self.moves) % 2
        worth = (-1.0 if self.game.misere else 1.0) * (self.lines > 0)
        return [worth if player == last else -worth for player in (0, 1)]

    def player_return(self, player: int) -> float:
        return self.returns()[player]

    def legal_actions(self) -> list[int]:
        if self.is_terminal():
            return []
        top = [(self.game.rows - 1, col) for col in range(self.game.cols)]
        cells = [divmod(cell, self.game.cols) for cell in range(self.game.rows * self.game.cols)]
        return [action for action, cell in enumerate(top if self.game.falls else cells) if cell not in self.marks]

    def apply_action(self, action: int) -> None:
        if action not in self.legal_actions():
            raise SpielError(f"illegal action {action}")
        self.moves.append(action)
        self._mark(action)

    def child(self, action: int) -> "State":
        after = State(self.game, list(self.moves))
        after.apply_action(action)
        return after


class Bot:
    """Bot without a policy, as `pyspiel.Bot` is."""

    def provides_policy(self) -> bool:
        return False

    def _missing(self, _state: State) -> None:
        raise SpielError("not implemented")

    get_policy = step_with_policy = step = restart_at = _missing


class Policy:
    """The base class of policies."""

    def __init__(self, game: Game, player_ids: list[int]):
        self.game, self.player_ids = game, player_ids


class UniformRandomPolicy(Policy):
    """Every legal action alike."""

    def __init__(self, game: Game):
        super().__init__(game, [0, 1])

    def action_probabilities(self, state: State, _player_id: int | None = None) -> dict[int, float]:
        legal = state.legal_actions()
        return dict.fromkeys(legal, 1 / len(legal))


def modules() -> dict[str, ModuleType]:
    """Return the entries for `sys.modules`."""
    found = {
        name: ModuleType(name) for name in ("pyspiel", "open_spiel", "open_spiel.python", "open_spiel.python.policy")
    }
    found["pyspiel"].load_game, found["pyspiel"].Bot = Game, Bot
    found["open_spiel.python"].policy = found["open_spiel.python.policy"]
    found["open_spiel.python.policy"].Policy = Policy
    found["open_spiel.python.policy"].UniformRandomPolicy = UniformRandomPolicy
    return found
