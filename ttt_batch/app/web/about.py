"""The page's text about a table: the verdict, exact results against random play, and how it was trained.

The agent there may play by other ties than those that training judges (see `ties`); verdict, results and losing lines
are those of the agent on the page.
"""

from collections.abc import Mapping
from typing import Any

from ttt_batch.app.reports.catalogues import choice_text
from ttt_batch.app.reports.training import proof_text
from ttt_batch.base.choices import SEATS, Ties
from ttt_batch.base.console import one_line
from ttt_batch.base.quantities import count_text
from ttt_batch.game.board import Board
from ttt_batch.runs.own_options import own_text
from ttt_batch.runs.run import Run

AGAINST = {"": "itself", "random": "random moves", "optimal": "best play"}
"""What an agent learnt against, by the configuration's opponent; others are digests of a run's table."""


PROOF = "This is a proof over all positions and every move that the agent on this page may choose, not a sample."

EQUALS = {
    "sharp": "the best against random moves, of equal ones the quickest true win or the longest true loss",
    "soonest": "the quickest true win or the longest true loss, else any with equal chance",
    "any": "any with equal chance",
}
"""How the agent chooses among the moves that its rule may pick."""


def about(run: Run, ties: Ties = "sharp") -> dict[str, Any]:
    """Plain values for the page; every text is a text for people.

    proof: what the verdict rests on.
    against: whom the results are against.  results: by seat the probabilities of win, draw and loss.
    losing_line: by seat the cells of a shortest game that the agent can lose, None if it cannot.
    facts: label and text pairs.
    """
    evaluation = run.evaluation("random", ties)
    return {
        "learner": run.config.learner,
        "introduction": _introduction(run),
        "rules": rules_text(run.board),
        "verdict": proof_text(run, evaluation.unbeatable),
        "proof": PROOF,
        "against": "Against random moves",
        "results": {seat: list(getattr(evaluation, seat)) for seat in SEATS},
        "losing_line": evaluation.losing_line,
        "facts": _facts(run, ties),
    }


def _introduction(run: Run) -> str:
    """How the agent came to its table, in a sentence."""
    if run.made_elsewhere:
        games = f", in {count_text(run.games, 'game')}" if run.games else ""
        return f"The agent plays by a table that was made elsewhere{games}."
    config = run.config
    if config.engine == "given":
        if config.start:  # the games of that table are counted, too
            return f"The agent began with another table and learnt from games that it was given: {run.games:,} in all."
        return f"The agent learnt from {count_text(run.games, 'game')} that it was given."
    against = AGAINST.get(config.opponent, "another table")
    if config.start:
        # A fork counts on from the games of its table; the digest is followed by their number.
        before = config.start.partition("@")[2]
        games = count_text(run.games - (int(before) if before.isdecimal() else 0), "game")
        return f"The agent began with another table and learnt from {games} against {against}."
    hints = "" if config.opponent else ", with no hint but who won"
    return f"The agent learnt from {count_text(run.games, 'game')} against {against}{hints}."


def rules_text(board: Board) -> str:
    """How the game is won and lost, in a sentence."""
    line = f"completes a line of {board.k} (row, column or diagonal)" if board.k > 1 else "makes a mark"
    exact = "; longer lines count for nothing" if board.exact else ""
    return f"The player who first {line} {'loses' if board.misere else 'wins'}{exact}."


def _facts(run: Run, ties: Ties) -> list[tuple[str, str]]:
    """How the agent was trained, as label and text; what is not known is left out."""
    config, origin = run.config, run.provenance
    batch = count_text(config.batch, "game") if isinstance(config.batch, int) else config.batch
    seat = f", as {config.seat}" if config.seat in SEATS else ""
    opponent = config.opponent if config.opponent in AGAINST else "another table"
    first, second = config.draw_worth
    draw = f"{first:g}" if run.learner.zero_sum or first == second else f"{first:g} to first and {second:g} to second"
    own = {name: value for name, value in config.own.items() if name != "explore"}
    positions = count_text(run.graph.code.size, "position")
    facts = [
        ("Learner", config.learner),
        ("Source", run.learner.source),
        ("Update", run.learner.rule),
        ("Greedy moves", choice_text(run.learner)),
        ("Ties", EQUALS[ties]),
        ("Games", games_text(run.games, {} if run.made_elsewhere else origin)),
        ("Opponent", f"{opponent}{seat}" or "itself"),
        ("Seed", str(config.seed)),
        ("Exploration (epsilon)", "" if config.by_chances else config.epsilon.text),
        ("Exploration", config.explore or ""),
        ("Step size (alpha)", config.alpha.text),
        ("Discount (gamma)", f"{config.gamma:g}"),
        ("Rewards", f"a win 1, a draw {draw}, a loss {run.learner.lost:g}"),
        ("Of its rule", ", ".join(own_text(name, value) for name, value in own.items() if value is not None)),
        ("Batch", f"{batch}, engine {config.engine}"),
        ("Board", f"{config.board.name}, {positions}{' up to symmetry' if config.symmetry else ''}"),
    ]
    return known_facts([*facts, *origin_facts(origin)])


def games_text(games: int, origin: Mapping[str, str | int | float]) -> str:
    """How many games a run has learnt from, and how long that took, if it is known."""
    duration = f" in {float(origin['seconds']):.2f} s" if games and "seconds" in origin else ""
    return f"{games:,}{duration}"


def origin_facts(origin: Mapping[str, str | int | float]) -> list[tuple[str, str]]:
    """By what and when a run was made, as label and text; origin: its provenance."""
    return [
        ("Version", str(origin.get("ttt_batch_version", ""))),
        ("Date", str(origin.get("created", ""))[:10]),
    ]


def known_facts(facts: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """Those facts of which something is known, each text on one line."""
    return [(label, one_line(text)) for label, text in facts if text]
