"""The page's text about networks: what was proved, results against random play, and how they were trained."""

from typing import Any

from ttt_batch.analysis.matches import GAMES, SampledEvaluation, evaluate_sampled
from ttt_batch.analysis.search import SEARCH_BUDGET
from ttt_batch.app.reports.network_learners import RULES, SOURCES
from ttt_batch.app.web.about import EQUALS, games_text, known_facts, origin_facts, rules_text
from ttt_batch.base.choices import RESULTS, SEATS
from ttt_batch.base.quantities import count_text
from ttt_batch.game.known_values import DRAWN, known_board
from ttt_batch.runs.patterns.config import PatternConfig
from ttt_batch.runs.patterns.run import PatternRun

CHOICE = "a win at once; no loss at once, if there is a way around it; then uniform among the highest sums"
"""How networks choose a move."""

OBJECTIVES = {
    "safe": "not to lose",
    "win": "to win, the sooner the better",
    "plain": "what games bring",
}
"""What networks learn, by the configuration's objective."""


def describe_networks(run: PatternRun, *, solved: bool) -> dict[str, Any]:
    """Plain values for the page, as `about` has them.  solved: whether the page knows the truth of all positions."""
    evaluation = evaluate_sampled(run, ["random"], budget=SEARCH_BUDGET)
    found = {seat: _finding(run, evaluation, seat) for seat in SEATS}
    unbeatable = all(words == "unbeatable" for words, _ in found.values())
    shares = evaluation.matches["random"]
    return {
        "learner": run.config.learner,
        "introduction": f"The agent learnt from {count_text(run.games, 'game')} against itself, "
        "with no hint but who won.",
        "rules": rules_text(run.board) if solved else f"{rules_text(run.board)}{_known(run)}",
        "verdict": "unbeatable in both seats"
        if unbeatable
        else ", ".join(f"{words} as {seat}" for seat, (words, _) in found.items()),
        "proof": " ".join(f"As {seat}: {basis}." for seat, (_, basis) in found.items()),
        "against": f"Against random moves, in {GAMES:,} games each",
        "results": {seat: [shares[seat].share(result)[0] for result in RESULTS] for seat in SEATS},
        "losing_line": {seat: evaluation.verdicts[seat].line for seat in SEATS},
        "facts": _network_facts(run),
    }


def _finding(run: PatternRun, evaluation: SampledEvaluation, seat: str) -> tuple[str, str]:
    """What is known of a seat, and what that rests on.

    A search that ends undecided gives way to a proof of training, if that was of the weights by which the run plays.
    """
    number, verdict, wins = SEATS.index(seat), evaluation.verdicts[seat], evaluation.wins.get(seat)
    through = "proved by search through every reply and all moves that tie"
    if wins is not None and wins.unbeatable:
        return "always wins", f"{through}, {count_text(wins.positions, 'position')}"
    if verdict.line is not None:
        return "can be beaten", "a search found a game that it can lose"
    in_training = run.plays_proved(number) or run.proofs(number)[-1:].any()
    if in_training and (run.config.always_wins or not verdict.unbeatable):
        words = "always wins" if run.config.always_wins else "unbeatable"
        return words, f"{through} in training, {count_text(run.proved_positions(number), 'position')}"
    if verdict.unbeatable:
        return "unbeatable", f"{through}, {count_text(verdict.positions, 'position')}"
    return "undecided", f"no way to beat it among {count_text(verdict.positions, 'position')}"


def _known(run: PatternRun) -> str:
    """What best play brings, in a sentence, if the literature says it."""
    known = known_board(run.board)
    if known is None:
        return ""
    end = "it is a draw" if known.value == DRAWN else f"the {'first' if known.value > 0 else 'second'} player wins"
    return f" With best play on both sides {end} ({known.source})."


def _network_facts(run: PatternRun) -> list[tuple[str, str]]:
    """How the networks were trained, as label and text; what is not known is left out."""
    config, network = run.config, run.network
    facts = [
        ("Learner", config.learner),
        ("Source", SOURCES[config.learner]),
        ("Update", RULES[config.learner]),
        ("Greedy moves", CHOICE),
        ("Ties", EQUALS["any"]),
        ("Networks", f"{len(config.aims)}, each of {count_text(network.offset.size, 'tuple')} ({config.tuples[:60]})"),
        ("Weights", f"{network.kind.size:,} a player, shared by {config.sharing}"),
        ("Objective", f"{OBJECTIVES[config.objective]}{_seat(config)}"),
        ("Games", games_text(run.games, run.provenance)),
        ("Proofs", f"every {count_text(config.prove_every, 'game')}" if config.prove_every else "none"),
        ("Weights kept", _kept(run)),
        ("Seed", str(config.seed)),
        ("Exploration (epsilon)", f"{config.epsilon:g}"),
        ("Step size (alpha)", f"{config.alpha:g}"),
        ("Discount (gamma)", f"{config.gamma:g}"),
        ("Trace (lambda)", f"{config.trace:g}"),
        ("Batch", count_text(config.batch, "game")),
        ("Board", config.board.name),
    ]
    return known_facts([*facts, *origin_facts(run.provenance)])


def _seat(config: PatternConfig) -> str:
    return f", as {config.seat}" if config.seat in SEATS else ""


def _kept(run: PatternRun) -> str:
    """With the weights of which moment it plays."""
    kept = [run.proved_after(seat) if run.plays_proved(seat) else run.games for seat in (0, 1)]
    after = [count_text(games, "game") for games in kept]
    return f"those after {after[0]}" + ("" if kept[0] == kept[1] else f" as first, after {after[1]} as second")
