"""Texts of the page about tables, networks and cards: verdict, results, and how they were trained.

The agent there may play by other ties than those that training judges (see `ties`); verdict, results and losing lines
are those of the agent on the page.
"""

from collections.abc import Mapping
from typing import Any

from ttt_batch.analysis.judge import SEARCH_BUDGET, SampledEvaluation, evaluate_sampled
from ttt_batch.analysis.matches import GAMES
from ttt_batch.app.cards import Deck
from ttt_batch.app.reports.catalogues import RULES, SOURCES, choice_text
from ttt_batch.app.reports.training import proof_text
from ttt_batch.core.console import one_line
from ttt_batch.core.text import RESULTS, SEATS, Ties, count_text
from ttt_batch.evaluation.prover import DOES
from ttt_batch.games.board import Board, rules_text
from ttt_batch.games.solution import DRAWN, known_board
from ttt_batch.ntuple.objectives import OBJECTIVES
from ttt_batch.runs.evaluation import Evaluation
from ttt_batch.runs.network_run import PatternRun
from ttt_batch.runs.options import option_text
from ttt_batch.runs.run import Run

AGAINST = {"": "itself", "random": "random moves", "optimal": "best play"}
"""Opponents in words, by the configuration's opponent; others are digests of a run's table."""

EQUALS = {
    "sharp": "the best against random moves, of equal ones the quickest true win or the longest true loss",
    "soonest": "the quickest true win or the longest true loss, else any with equal chance",
    "any": "any with equal chance",
}
"""Choice among the moves that the agent's rule may pick, in words."""


def about(run: Run, ties: Ties = "sharp") -> dict[str, Any]:
    """Return the page's texts as plain values.

    proof: basis of the verdict.
    against: opponent of the results.  results: by seat the probabilities of win, draw and loss.
    losing_line: by seat the cells of a shortest game that the agent can lose, None if it cannot.
    facts: label and text pairs.
    """
    evaluation = run.evaluation("random", ties)
    found = exact_texts(run.board, evaluation, proof_text(run, evaluation.unbeatable))
    return {"learner": run.config.learner, "introduction": _introduction(run), **found, "facts": _facts(run, ties)}


def exact_texts(board: Board, evaluation: Evaluation, verdict: str) -> dict[str, Any]:
    """Return the texts that follow from an exact evaluation against random moves."""
    return {
        "rules": rules_text(board),
        "verdict": verdict,
        "proof": "This is a proof over all positions and every move that the agent on this page may choose, not a "
        "sample.",
        "against": "Against random moves",
        "results": {seat: list(getattr(evaluation, seat)) for seat in SEATS},
        "losing_line": evaluation.losing_line,
    }


def _introduction(run: Run) -> str:
    """Return a sentence about how the agent got its table."""
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


def _facts(run: Run, ties: Ties) -> list[tuple[str, str]]:
    """Return labels and texts about the training; unknown facts are left out."""
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
        ("Of its rule", ", ".join(option_text(name, value) for name, value in own.items() if value is not None)),
        ("Batch", f"{batch}, engine {config.engine}"),
        ("Board", f"{config.board.name}, {positions}{' up to symmetry' if config.symmetry else ''}"),
    ]
    return known_facts(facts, origin)


def games_text(games: int, origin: Mapping[str, str | int | float]) -> str:
    """Return the number of games that a run has learnt from, and their duration if known."""
    duration = f" in {float(origin['seconds']):.2f} s" if games and "seconds" in origin else ""
    return f"{games:,}{duration}"


def known_facts(facts: list[tuple[str, str]], origin: Mapping[str, object]) -> list[tuple[str, str]]:
    """Return the facts with a text, each on one line, and the program and the date of a run with this `origin`."""
    made = [("Version", str(origin.get("ttt_batch_version", ""))), ("Date", str(origin.get("created", ""))[:10])]
    return [(label, one_line(text)) for label, text in (*facts, *made) if text]


CHOICE = "a win at once; no loss at once, if there is a way around it; then uniform among the highest sums"
"""Choice of a move by networks, in words."""


def describe_networks(run: PatternRun, *, solved: bool) -> dict[str, Any]:
    """Return plain values for the page, as `about` does.  solved: whether the page knows the truth of all positions."""
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
    """Return the verdict about a seat, and its basis.

    After an undecided search a proof of training counts, if it is about the weights by which the run plays.
    """
    number, verdict, wins = SEATS.index(seat), evaluation.verdicts[seat], evaluation.wins.get(seat)
    through = "proved by search through every reply and all moves that tie"
    if wins is not None and wins.unbeatable:
        return "always wins", f"{through}, {count_text(wins.positions, 'position')}"
    if verdict.line is not None:
        return "can be beaten", "a search found a game that it can lose"
    in_training = run.plays_proved(number) or (run.average is None and run.proofs(number)[-1:].any())
    if in_training and (run.config.always_wins or not verdict.unbeatable):
        words = "always wins" if run.config.always_wins else "unbeatable"
        return words, f"{through} in training, {count_text(run.proved_positions(number), 'position')}"
    if verdict.unbeatable:
        return "unbeatable", f"{through}, {count_text(verdict.positions, 'position')}"
    return "undecided", f"no way to beat it among {count_text(verdict.positions, 'position')}"


def _known(run: PatternRun) -> str:
    """Return a sentence about best play, if the literature has its result."""
    known = known_board(run.board)
    if known is None:
        return ""
    end = "it is a draw" if known.value == DRAWN else f"the {'first' if known.value > 0 else 'second'} player wins"
    return f" With best play on both sides {end} ({known.source})."


def _network_facts(run: PatternRun) -> list[tuple[str, str]]:
    """Return labels and texts about the training of networks; unknown facts are left out."""
    config, network = run.config, run.network
    seat = f", as {config.seat}" if config.seat in SEATS else ""
    kept = "an average over the last proofs"
    if run.average is None:
        first, second = (count_text(run.kept_after(number) or 0, "game") for number in (0, 1))
        kept = f"those after {first}" if first == second else f"those after {first} as first, after {second} as second"
    facts = [
        ("Learner", config.learner),
        ("Source", SOURCES[config.learner]),
        ("Update", RULES[config.learner]),
        ("Greedy moves", CHOICE),
        ("Ties", EQUALS["any"]),
        ("Networks", f"{len(config.aims)}, each of {count_text(network.offset.size, 'tuple')} ({config.tuples[:60]})"),
        ("Weights", f"{network.kind.size:,} a player, shared by {config.sharing}"),
        ("Objective", f"{OBJECTIVES[config.objective].words}{seat}"),
        ("Games", games_text(run.games, run.provenance)),
        ("Proofs", f"every {count_text(config.prove_every, 'game')}" if config.prove_every else "none"),
        ("Weights kept", kept),
        ("Seed", str(config.seed)),
        ("Exploration (epsilon)", f"{config.epsilon:g}"),
        ("Step size (alpha)", f"{config.alpha:g}"),
        ("Discount (gamma)", f"{config.gamma:g}"),
        ("Trace (lambda)", f"{config.trace:g}"),
        ("Batch", count_text(config.batch, "game")),
        ("Board", config.board.name),
    ]
    return known_facts(facts, run.provenance)


def describe_cards(deck: Deck) -> dict[str, Any]:
    """Return plain values for the page of a deck, as `about` does."""
    certificate = deck.certificate
    source = {name: value for name, value in certificate.source.items() if isinstance(value, str | int)}
    facts = [(name.capitalize(), str(source.get(name, ""))) for name in ("program", "learner", "games", "seed")]
    return {
        "learner": "cards",
        "introduction": f"{deck.title}. The agent plays by them, and the card in use is shown.",
        "rules": rules_text(certificate.board),
        "verdict": f"{DOES[certificate.goal]} as {SEATS[certificate.seat]}",
        "proof": "Each reply to each card was checked when this page was made.",
        "against": "",
        "results": {},
        "losing_line": {},
        "facts": known_facts([*facts, ("Board", certificate.board.name)], {}),
    }
