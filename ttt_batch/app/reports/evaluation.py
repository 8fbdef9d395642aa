"""What `evaluate` prints: results per seat, the verdicts, and if an agent can be beaten, how."""

import math
from collections.abc import Iterable
from typing import TYPE_CHECKING

from ttt_batch.app.reports.layout import line_of_play, row
from ttt_batch.base.choices import RESULTS, SEATS, Ties
from ttt_batch.base.console import one_line
from ttt_batch.base.errors import flag
from ttt_batch.base.quantities import count_text
from ttt_batch.evaluation.ties import default_ties, meaning
from ttt_batch.game.notation import moves_text
from ttt_batch.runs.as_played import PLAYED_AGAINST, PlayedEvaluation
from ttt_batch.runs.evaluation import AnyEvaluation, Evaluation, JudgedAgent

if TYPE_CHECKING:
    from ttt_batch.analysis.matches import SampledEvaluation
    from ttt_batch.runs.patterns.run import PatternRun

_LEAVES: dict[Ties, str] = {
    "sharp": "it takes what wins most against random moves",
    "soonest": "it takes the quickest win or the longest loss",
}
"""Why `play` leaves a line, by its ties."""

INTERVAL = "{:.4f} ({:.4f}-{:.4f})"

NO_WAY = "no way to beat it among its answers"


def evaluation_text(evaluation: Evaluation, name: str = "") -> str:
    """What `evaluate` prints: exact results per seat, the verdicts, and if it can be beaten, how.

    name: what to call the run, such as its file.
    """
    run, agent = evaluation.run, evaluation.agent
    assert run is not None or agent is not None
    lines = [
        *(_head(run, name, evaluation.ties) if run is not None else _agent_head(agent, name)),
        *_against(evaluation),
        f"as first: not applicable, {evaluation.against} moves first"
        if math.isnan(evaluation.first[0])
        else _shares(evaluation, "first"),
        "as second: not applicable, it moves first"
        if math.isnan(evaluation.second[0])
        else _shares(evaluation, "second"),
        "",
    ]
    for seat in evaluation.losing_line:
        line = evaluation.losing_line[seat]
        if line is None:
            proved = evaluation.unbeatable[seat] is not None
            lines.append(_unbeaten(seat, evaluation.ties) if proved else f"not proved as {seat}: {NO_WAY}")
        else:
            lines += _beaten(agent if run is None else run, seat, line, evaluation.ties)
    return "\n".join(lines)


def _against(evaluation: Evaluation) -> list[str]:
    """Return the heading of the shares: the opponent, and how they are known."""
    if evaluation.samples is None:
        return [row(f"against {evaluation.against}, exactly", *RESULTS)]
    number, seed = evaluation.samples.answers, evaluation.samples.seed
    how = f"{count_text(number, 'answer')} in each position, seed {seed}, with 95 % confidence intervals"
    return [how, "", f"against {evaluation.against}", _wide_row("", RESULTS)]


def _shares(evaluation: Evaluation, seat: str) -> str:
    """Return the line of a seat's shares, with intervals if they are by samples."""
    shares = getattr(evaluation, seat)
    if evaluation.samples is None:
        return row(f"as {seat}", *shares)
    ends = evaluation.samples.intervals[seat]
    return _wide_row(f"as {seat}", (INTERVAL.format(one, *pair) for one, pair in zip(shares, ends, strict=True)))


def _unbeaten(seat: str, ties: str) -> str:
    """That an agent cannot be beaten; with other ties than `any` some tie-break may still lose."""
    beats = "and no tie-break beats it" if ties == "any" else f"beats it with {flag('ties', ties)}"
    return f"unbeatable as {seat}: no opponent {beats}"


def played_text(evaluation: PlayedEvaluation, name: str = "") -> str:
    """What `evaluate --as-played` prints: exact results per opponent and seat, and that best moves are judged apart."""
    run = evaluation.run
    assert run is not None
    lines = [
        f"{name}{': ' * bool(name)}{run.config.learner} on {run.config.board.name}, {count_text(run.games, 'game')}"
    ]
    lines += [f"judged: as it plays while it learns, by {evaluation.how}", ""]
    for against in PLAYED_AGAINST:
        title = "random" if against == "random" else "the best"
        lines.append(row(f"against {title}, exactly", *RESULTS))
        for seat, shares in zip(SEATS, getattr(evaluation, against), strict=False):
            lines.append(row(f"as {seat}", *shares))
        lines.append("")
    return "\n".join([*lines, f"its best moves are judged without {flag('as_played', True)}"])


def grown_evaluation_text(evaluation: "SampledEvaluation", name: str = "") -> str:
    """What `evaluate` prints on a board too large to enumerate: verdicts of the search, then sampled matches."""
    run, agent = evaluation.run, evaluation.agent
    assert run is not None or agent is not None
    lines = _head(run, name, evaluation.ties) if run is not None else _agent_head(agent, name)
    for seat, verdict in evaluation.verdicts.items():
        found = count_text(verdict.positions, "position")
        wins = evaluation.wins.get(seat)
        if wins is not None and wins.unbeatable:
            lines += [f"always wins as {seat}, against any opponent and with any tie-break ({found} searched)", ""]
            continue
        if wins is not None:
            lines += [f"not proved that it always wins as {seat} ({count_text(wins.positions, 'position')} searched)"]
        if verdict.line is not None:
            lines += _beaten(agent if run is None else run, seat, verdict.line, evaluation.ties)
        elif verdict.unbeatable:
            lines += [f"{_unbeaten(seat, evaluation.ties)} ({found} searched)", ""]
        elif evaluation.samples is not None:
            lines += [f"not proved as {seat}: {NO_WAY} in {found}", ""]
        else:
            nothing = f"no way to beat it among {found}; {flag('budget', 'N')} searches on"
            lines += [f"undecided as {seat} within the budget: {nothing}", ""]
    lines.append(f"{count_text(evaluation.games, 'game')} each, seed {evaluation.seed}, with 95 % confidence intervals")
    for player, tallies in evaluation.matches.items():
        lines += ["", f"against {player}", _wide_row("", RESULTS)]
        for seat, tally in tallies.items():
            shares = (INTERVAL.format(*tally.share(result)) for result in RESULTS)
            lines.append(_wide_row(f"as {seat}", shares))
    return "\n".join(lines)


def _head(run: "AnyEvaluation | PatternRun", name: str, ties: Ties) -> list[str]:
    """Which run is judged, and by which ties."""
    title = f"{name}{': ' * bool(name)}{run.config.learner} on {run.config.board.name}, {count_text(run.games, 'game')}"
    judged = []
    if isinstance(run, AnyEvaluation) and run.config.by_chances:
        judged = [f"judged: its best moves; the chances that it plays by: {flag('as_played', True)}"]
    return [title, *judged, f"ties: {meaning(ties)}", ""]


def _agent_head(agent: JudgedAgent | None, name: str) -> list[str]:
    """Return the lines about an agent: its name, how much it was asked, and whether in one image of each position."""
    assert agent is not None
    asked = "" if agent.asked is None else f", asked about {count_text(agent.asked, 'position')}"
    lines = [f"{one_line(name or agent.name)} on {agent.board.name}{asked}"]
    if agent.symmetric:
        lines.append(f"up to symmetry: as an agent that plays alike in all images ({flag('symmetric', True)})")
    return [*lines, ""]


def _beaten(
    run: "AnyEvaluation | PatternRun | JudgedAgent | None", seat: str, line: list[int], ties: Ties
) -> list[str]:
    """That an agent can be beaten in a seat, how, and where `play`, with its own ties, leaves that line."""
    assert run is not None
    lines = [f"can be beaten as {seat}:", *line_of_play(run.board, line)]
    if not isinstance(run, AnyEvaluation) or ties != "any":  # with networks ties make no difference
        return lines
    followed = run.leaves(line, SEATS.index(seat))
    if followed is not None:
        left, kept = moves_text(run.board, line[: followed + 1]).split()[-1], default_ties(run)
        lines += [f"  play leaves this line before {left}: {_LEAVES[kept]};"]
        lines += [f"  to judge that: {flag('ties', kept)}", ""]
    return lines


def _wide_row(label: str, cells: Iterable[str]) -> str:
    """Three shares with their intervals fill a report's width; one column more would cut the last one in two."""
    return f"{label:<10}" + "".join(f"{cell:<24}" for cell in cells).rstrip()
