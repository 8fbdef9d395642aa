"""What `learners` prints of pattern networks."""

from typing import Any

from ttt_batch.app.reports.layout import NAME_WIDTH, hanging, paragraphs
from ttt_batch.base.choices import PATTERN_LEARNERS
from ttt_batch.base.quantities import count_text
from ttt_batch.patterns.network import SHARING
from ttt_batch.runs.patterns.config import OBJECTIVES, make_pattern_config
from ttt_batch.training.patterns.train import GAMES

SOURCES = {
    "patterns": "ours; n-tuple networks: Bledsoe and Browning 1959, in games Lucas 2008; temporal coherence: Beal and "
    "Smith 2000",
    "ntuple-td": "n-tuple networks by TD(lambda) and temporal coherence: Thill, Bagheri, Koch and Konen 2014",
}

RULES = {
    "patterns": "V(afterstate) -> the best child's value, by the sum of a weight for each tuple of cells",
    "ntuple-td": "V(afterstate) -> the lambda-return of the game, by the sum of a weight for each tuple of cells",
}

_EXPLAINED = """
A value is a sum of weights, one for each tuple of cells, by what stands on them, so that it says something of positions
never seen before. Each player's moves have a table of their own; images of a position share their weights.

Errors are whole numbers, added up over a batch of games that are played with the same weights. Every weight then moves
by its mean error, times the share of its errors that do not cancel out (temporal coherence).

The objective `safe` trains a network for each seat: a loss is worth -1, a win 1, and a position in which the opponent
can fill no line any more up to 0.8, more the earlier. `win` discounts results by 0.98 a ply. `plain` is what games
bring.

With --prove-every the moves that the networks prefer, with all that tie, are proved by search through every reply of
the opponent; the number of games is rounded up to the next proof. Half of the games then begin with moves of a game
that a proof found lost.

A game with a person (play --learn) or a given one (learn-from --run) is a batch of its own. It changes the weights by
which the run plays, so no proof counts after it, and training does not go on.
"""


def network_description(name: str) -> dict[str, Any]:
    """What `learners --json` prints of one."""
    config = make_pattern_config(learner=name)
    return {
        "name": name,
        "source": SOURCES[name],
        "rule": RULES[name],
        "epsilon": config.epsilon,
        "alpha": config.alpha,
        "gamma": config.gamma,
        "lambda": config.trace,
        "batch": config.batch,
        "prove_every": config.prove_every,
        "games": GAMES,
    }


def networks_text() -> str:
    """What `learners` prints of all."""
    lines = []
    for name in PATTERN_LEARNERS:
        config = make_pattern_config(learner=name)
        numbers = f"epsilon {config.epsilon:g}, alpha {config.alpha:g}, lambda {config.trace:g}"
        numbers += f", {count_text(GAMES, 'game')}"
        for label, text in ((name, SOURCES[name]), ("", RULES[name]), ("", numbers)):
            lines += hanging(label, text, NAME_WIDTH)
        lines.append("")
    return "\n".join(lines[:-1])


def network_text(name: str) -> str:
    """What `learners NAME` prints."""
    config = make_pattern_config(learner=name)
    options = [
        f"--games {GAMES}",
        f"--epsilon {config.epsilon:g}",
        f"--alpha {config.alpha:g}",
        f"--gamma {config.gamma:g}",
        f"--lambda {config.trace:g}",
        f"--batch {config.batch}",
        f"--prove-every {config.prove_every}",
        "--tuples lines|segments|segments:N|blocks:RxC|FILE",
        f"--sharing {'|'.join(SHARING)}",
        f"--objective {'|'.join(OBJECTIVES)}",
    ]
    head = [*hanging(name, SOURCES[name], 14), *hanging("", RULES[name], 14)]
    return "\n".join([*head, "", *paragraphs(_EXPLAINED), "", "options and defaults", *(f"  {one}" for one in options)])
