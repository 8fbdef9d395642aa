"""What `learners` prints."""

import sys
from typing import Any

from ttt_batch.learners.base import Learner


def learner_description(learner: Learner) -> dict[str, Any]:
    """What `learners --json` prints of one."""
    defaults = learner.defaults
    return {
        "name": learner.name,
        "source": learner.source,
        "rule": learner.rule,
        "epsilon": defaults.epsilon,
        "alpha": defaults.alpha,
        "gamma": defaults.gamma,
        "draw_worth": list(defaults.draw_worth),
        "games": learner.games,
        "choice": choice_text(learner),
        "tables": {name: {"axes": axes, "meaning": meaning} for name, (axes, meaning) in learner.fields.items()},
    }


def choice_text(learner: Learner) -> str:
    """A learner's choice rule in words."""
    if learner.choice.window:
        return f"uniform among moves within {learner.choice.window:g} of the best"
    return ("uniform among the best moves", "first of the best moves", "last of the best moves")[learner.choice.tie]


def learners_text(chosen: list[Learner]) -> str:
    """What `learners` prints: a table of names, sources, rules and defaults."""
    lines = []
    for learner in chosen:
        worth = ",".join(f"{number:g}" for number in learner.defaults.draw_worth)
        d = learner.defaults
        lines += [
            f"{learner.name:<14}{learner.source}",
            f"{'':<14}{learner.rule}",
            f"{'':<14}epsilon {d.epsilon:g}, alpha {d.alpha:g}, gamma {d.gamma:g}, draw worth {worth}, "
            f"{learner.games:,} games",
            "",
        ]
    return "\n".join([*lines, "ttt-batch learners NAME tells more; ttt-batch train --learner NAME trains one"])


def learner_text(learner: Learner) -> str:
    """What `learners NAME` prints: the description of its file, its choice rule, tables and options."""
    worth = ",".join(f"{number:g}" for number in learner.defaults.draw_worth)
    d = learner.defaults
    return "\n".join(
        [
            (sys.modules[learner.tables.__module__].__doc__ or "").strip(),
            "",
            f"greedy moves    {choice_text(learner)}",
            *(f"tables/{name:<9}[{axes}] {meaning}" for name, (axes, meaning) in learner.fields.items()),
            "",
            "options and defaults",
            f"  --games {learner.games}",
            f"  --epsilon {d.epsilon:g}        or 0.3->0.01:linear, 0.3->0.01:exp",
            f"  --alpha {d.alpha:g}          or 0.3->0.01:linear, 0.3->0.01:exp, 1/n, 1/n^0.8",
            f"  --gamma {d.gamma:g}",
            f"  --draw-worth {worth}",
        ]
    )
