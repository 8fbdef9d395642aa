"""What determines a run's result, checked: board, learner, its numbers, batch, engine and seed."""

import math
from dataclasses import asdict, dataclass
from typing import Any

from ttt_batch.board import parse_board
from ttt_batch.errors import RunFileError, UsageError
from ttt_batch.learners import learner_named
from ttt_batch.learners.base import Settings

DEFAULT_BATCH = 16_384
MAX_GAMES = 10**15
ENGINES = ("walk",)


@dataclass(frozen=True)
class Config:
    """The configuration of a run.  The same configuration gives the same bytes on any number of threads.

    board: `3x3` and so on.  learner: a registered name.  epsilon, alpha, gamma, draw_worth: see `Settings`.
    batch: games played with the same tables.  engine: `walk`.  seed: any integer of 64 bits.
    """

    board: str
    learner: str
    epsilon: float
    alpha: float
    gamma: float
    draw_worth: tuple[float, float]
    batch: int
    engine: str
    seed: int

    @property
    def settings(self) -> Settings:
        """The learner's numbers."""
        return Settings(self.epsilon, self.alpha, self.gamma, self.draw_worth)

    def as_dict(self) -> dict[str, Any]:
        """Plain values, as the run file keeps them."""
        return {**asdict(self), "draw_worth": list(self.draw_worth)}


def make_config(
    *,
    learner: str = "td",
    board: str = "3x3",
    epsilon: float | None = None,
    alpha: float | None = None,
    gamma: float | None = None,
    draw_worth: tuple[float, float] | None = None,
    batch: int = DEFAULT_BATCH,
    engine: str = "walk",
    seed: int = 0,
) -> Config:
    """Check every value and fill in the learner's defaults.  Raises UsageError."""
    defaults = learner_named(learner).defaults
    if engine not in ENGINES:
        raise UsageError(f"unknown engine {engine!r}; choose one of: {', '.join(ENGINES)}")
    worth = defaults.draw_worth if draw_worth is None else draw_worth
    for number in worth:
        if not math.isfinite(number):
            raise UsageError(f"draw worth {number} is not a finite number; give two numbers such as 0.5,0.5")
    return Config(
        board=parse_board(board).name,
        learner=learner,
        epsilon=_between("epsilon", defaults.epsilon if epsilon is None else epsilon, 0.0, 1.0, "e.g. 0.1"),
        alpha=_between("alpha", defaults.alpha if alpha is None else alpha, 0.0, 1.0, "e.g. 0.5", open_below=True),
        gamma=_between("gamma", defaults.gamma if gamma is None else gamma, 0.0, 1.0, "e.g. 0.9"),
        draw_worth=(float(worth[0]), float(worth[1])),
        batch=whole("batch", batch, 1, MAX_GAMES),
        engine=engine,
        seed=whole("seed", seed, -(2**63), 2**63 - 1),
    )


def config_from_dict(values: dict[str, Any]) -> Config:
    """The configuration of a run file.  Raises RunFileError where it is not one of ours."""
    try:
        fields = {**values, "draw_worth": tuple(values["draw_worth"])}
        config = Config(**fields)
        checked = make_config(**fields)
    except (KeyError, TypeError, ValueError) as error:
        raise RunFileError(
            f"the run's configuration is not usable ({error}); was it made by another version?"
        ) from None
    if checked != config:
        raise RunFileError("the run's configuration is not written as this version writes it; train it again")
    return config


def whole(name: str, value: int, low: int, high: int) -> int:
    """Return `value` where it is a whole number from `low` to `high`.  Raises UsageError."""
    if isinstance(value, bool) or int(value) != value:
        raise UsageError(f"{name} {value!r} is not a whole number; give one from {low:,} to {high:,}")
    if not low <= value <= high:
        raise UsageError(f"{name} {value:,} is outside {low:,} .. {high:,}")
    return int(value)


def _between(name: str, value: float, low: float, high: float, example: str, *, open_below: bool = False) -> float:
    """Return `value` where it lies in the interval; NaN does not.  Raises UsageError."""
    if not (low < value <= high if open_below else low <= value <= high):
        raise UsageError(
            f"{name} {value} is outside {'(' if open_below else '['}{low:g}, {high:g}]; give a number in it, {example}"
        )
    return float(value)
