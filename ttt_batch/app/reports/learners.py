"""What `learners` prints."""

import sys
from typing import Any

from ttt_batch.app.reports.layout import hanging, paragraphs
from ttt_batch.base.quantities import counted
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
        d = learner.defaults
        numbers = f"epsilon {d.epsilon:g}, alpha {d.alpha:g}, gamma {d.gamma:g}, draw worth {_draw_worth(learner)}"
        lines += [
            *hanging(learner.name, learner.source, 14),
            *hanging("", learner.rule, 14),
            *hanging("", f"{numbers}, {counted(learner.games, 'game')}", 14),
            "",
        ]
    return "\n".join([*lines, "ttt-batch learners NAME tells more; ttt-batch train --learner NAME trains one"])


def learner_text(learner: Learner) -> str:
    """What `learners NAME` prints: the description of its file, its choice rule, tables and options."""
    d = learner.defaults
    falling = "or 0.3->0.01:linear, 0.3->0.01:exp"
    options = [
        (f"--games {learner.games}", ""),
        (f"--epsilon {d.epsilon:g}", falling),
        (f"--alpha {d.alpha:g}", f"{falling}, 1/n, 1/n^0.8"),
        (f"--gamma {d.gamma:g}", ""),
        (f"--draw-worth {_draw_worth(learner)}", ""),
    ]
    width = max(len(option) for option, _ in options) + 2
    fields = [hanging(f"tables/{name:<9}", f"[{axes}] {text}", 16) for name, (axes, text) in learner.fields.items()]
    return "\n".join(
        [
            *paragraphs(sys.modules[learner.tables.__module__].__doc__ or ""),
            "",
            *hanging("greedy moves", choice_text(learner), 16),
            *(line for lines in fields for line in lines),
            "",
            "options and defaults",
            *(f"  {option:<{width}}{also}".rstrip() for option, also in options),
        ]
    )


def _draw_worth(learner: Learner) -> str:
    """What a draw is worth to the first and to the second player, as an option takes it."""
    return ",".join(f"{number:g}" for number in learner.defaults.draw_worth)
