"""Reports of `evaluate`, `prove` and `show`.

Text is plain ASCII within 80 columns, except for file names.  `show` omits boards that are wider; its table and lists
of moves hold the same facts.
"""

import math
from typing import TYPE_CHECKING, Any

from ttt_batch.analysis.judge import Proofs
from ttt_batch.analysis.matches import Shares, Tally
from ttt_batch.analysis.position import Move, PositionReport
from ttt_batch.app.reports import layout
from ttt_batch.core.console import one_line
from ttt_batch.core.errors import flag
from ttt_batch.core.files import shown
from ttt_batch.core.text import PATTERN_LEARNERS, RESULTS, SEATS, Ties, count_text, percent
from ttt_batch.evaluation.prover import ALWAYS_WINS, DOES
from ttt_batch.evaluation.ties import meaning
from ttt_batch.games.board import DRAW, EMPTY, FIRST_WINS, MARKS, UNFINISHED
from ttt_batch.games.gravity_solver import LIMIT, can_solve
from ttt_batch.games.notation import moves_text, rows_text
from ttt_batch.games.solution import in_plies
from ttt_batch.runs.evaluation import PLAYED_AGAINST, Evaluation, PlayedEvaluation
from ttt_batch.runs.run import Run

if TYPE_CHECKING:
    from ttt_batch.analysis.judge import SampledEvaluation
    from ttt_batch.analysis.position import LabelledEvaluation
    from ttt_batch.analysis.smallest import SmallestProof


_LEAVES: dict[Ties, str] = {
    "sharp": "it takes what wins most against random moves",
    "soonest": "it takes the quickest win or the longest loss",
}
"""Reason, by its ties, why `play` leaves a line."""

INTERVAL, CONFIDENT = "{:.4f} ({:.4f}-{:.4f})", "with 95 % confidence intervals"

NO_WAY = "no way to beat it among its answers"


def evaluation_text(evaluation: Evaluation, name: str = "") -> str:
    """Return the text of `evaluate`: exact results per seat, verdicts, and losing lines.

    name: of the run, such as its file.
    """
    samples, lines = evaluation.samples, _head(evaluation, name)
    if samples is None:
        lines.append(layout.row(f"against {evaluation.against}, exactly", *RESULTS))
    else:
        how = f"{count_text(samples.answers, 'answer')} in each position, seed {samples.seed}, {CONFIDENT}"
        lines += [how, "", f"against {evaluation.against}", _wide_row("", *RESULTS)]
    for seat in SEATS:
        shares = getattr(evaluation, seat)
        if math.isnan(shares[0]):
            who = evaluation.against if seat == SEATS[0] else "it"
            lines.append(f"as {seat}: not applicable, {who} moves first")
        elif samples is None:
            lines.append(layout.row(f"as {seat}", *shares))
        else:
            both = zip(shares, samples.intervals[seat], strict=True)
            lines.append(_wide_row(f"as {seat}", *(INTERVAL.format(share, *ends) for share, ends in both)))
    lines.append("")
    for seat, line in evaluation.losing_line.items():
        if line is None:
            proved = evaluation.unbeatable[seat] is not None
            lines.append(_unbeaten(seat, evaluation.ties) if proved else f"not proved as {seat}: {NO_WAY}")
        else:
            lines += _beaten(evaluation, seat, line)
    return "\n".join(lines)


def _unbeaten(seat: str, ties: str) -> str:
    """Return that an agent cannot be beaten; with other ties than `any` some tie-break may still lose."""
    beats = "and no tie-break beats it" if ties == "any" else f"beats it with {flag('ties', ties)}"
    return f"unbeatable as {seat}: no opponent {beats}"


def played_text(evaluation: PlayedEvaluation, name: str = "") -> str:
    """Return the text of `evaluate --as-played`: exact results per opponent and seat, and a hint about best moves."""
    lines = [_title(evaluation.run, name), f"judged: as it plays while it learns, by {evaluation.how}", ""]
    for against in PLAYED_AGAINST:
        title = "random" if against == "random" else "the best"
        lines.append(layout.row(f"against {title}, exactly", *RESULTS))
        for seat, shares in zip(SEATS, getattr(evaluation, against), strict=False):
            lines.append(layout.row(f"as {seat}", *shares))
        lines.append("")
    return "\n".join([*lines, f"its best moves are judged without {flag('as_played', True)}"])


def grown_evaluation_text(evaluation: "SampledEvaluation", name: str = "") -> str:
    """Return the text of `evaluate` without enumeration: verdicts of the search, then sampled matches."""
    lines = _head(evaluation, name)
    for seat, verdict in evaluation.verdicts.items():
        found = count_text(verdict.positions, "position")
        wins = evaluation.wins.get(seat)
        if wins is not None and wins.unbeatable:
            lines += [f"always wins as {seat}, against any opponent and with any tie-break ({found} searched)", ""]
            continue
        if wins is not None:
            lines += [f"not proved that it always wins as {seat} ({count_text(wins.positions, 'position')} searched)"]
        if verdict.line is not None:
            lines += _beaten(evaluation, seat, verdict.line)
        elif verdict.unbeatable:
            lines += [f"{_unbeaten(seat, evaluation.ties)} ({found} searched)", ""]
        elif evaluation.samples is not None:
            lines += [f"not proved as {seat}: {NO_WAY} in {found}", ""]
        else:
            nothing = f"no way to beat it among {found}; {flag('budget', 'N')} searches on"
            lines += [f"undecided as {seat} within the budget: {nothing}", ""]
    if any(isinstance(tally, Tally) for tallies in evaluation.matches.values() for tally in tallies.values()):
        lines += [f"{count_text(evaluation.games, 'game')} each, seed {evaluation.seed}, {CONFIDENT}", ""]
    for player, tallies in evaluation.matches.items():
        lines += [f"against {player}", _wide_row("", *RESULTS)]
        for seat, tally in tallies.items():
            form = "{:.4f} (exact)" if isinstance(tally, Shares) else INTERVAL
            lines.append(_wide_row(f"as {seat}", *(form.format(*tally.share(result)) for result in RESULTS)))
        lines.append("")
    return "\n".join(lines[:-1])


def _title(run: Any, name: str) -> str:
    """Return the line that names a run."""
    return f"{name}{': ' * bool(name)}{run.config.learner} on {run.board.name}, {count_text(run.games, 'game')}"


def _head(evaluation: "Evaluation | SampledEvaluation", name: str) -> list[str]:
    """Return the lines that name the evaluated run and its ties, or an agent and how it was judged."""
    run, agent = evaluation.run, evaluation.agent
    if run is not None:
        judged = []
        if isinstance(run, Run) and run.config.by_chances:
            judged = [f"judged: its best moves; the chances that it plays by: {flag('as_played', True)}"]
        return [_title(run, name), *judged, f"ties: {meaning(evaluation.ties)}", ""]
    assert agent is not None
    asked = "" if agent.asked is None else f", asked about {count_text(agent.asked, 'position')}"
    lines = [f"{one_line(name or agent.name)} on {agent.board.name}{asked}"]
    if agent.symmetric:
        lines.append(f"up to symmetry: as an agent that plays alike in all images ({flag('symmetric', True)})")
    return [*lines, ""]


def _beaten(evaluation: "Evaluation | SampledEvaluation", seat: str, line: list[int]) -> list[str]:
    """Return that an agent can be beaten in a seat, the line, and where `play`, with its own ties, leaves that line."""
    run: Any = evaluation.run or evaluation.agent
    lines = [f"can be beaten as {seat}:", *layout.line_of_play(run.board, line)]
    if not isinstance(run, Run) or evaluation.ties != "any":  # with networks ties make no difference
        return lines
    followed = run.leaves(line, SEATS.index(seat))
    if followed is not None:
        left, kept = moves_text(run.board, line[: followed + 1]).split()[-1], run.usual_ties
        lines += [f"  play leaves this line before {left}: {_LEAVES[kept]};"]
        lines += [f"  to judge that: {flag('ties', kept)}", ""]
    return lines


def _wide_row(label: str, *cells: str) -> str:
    """Return a row of shares with their intervals, of which three fill the width of a report."""
    return f"{label:<10}" + "".join(f"{cell:<24}" for cell in cells).rstrip()


_JUDGED = {
    "values": "by the value of each position: the nearest of a win, a draw and a loss",
    "play": "by the end of the game if it plays both sides on, each time its likeliest move",
}


def positions_text(evaluation: "LabelledEvaluation", name: str = "") -> str:
    """Return the text of `evaluate --positions`.  name: of the run or agent."""
    some = "all" if evaluation.final == evaluation.positions else f"{evaluation.final:,}"
    lines = [
        f"{one_line(name or evaluation.agent)} on {evaluation.board.name}",
        f"positions: {evaluation.positions:,} in {evaluation.file}",
    ]
    if evaluation.final:
        lines.append(f"final: {some} of them, whose results follow from the rules")
    if evaluation.left_out:
        lines.append(f"left out: {evaluation.left_out:,} that no game reaches; {evaluation.left_out_example}")
    lines.append(f"judged: {_JUDGED[evaluation.judged_by]}")
    if evaluation.unvalued:
        lines.append(f"without a value: {count_text(evaluation.unvalued, 'position')}")
    lines += ["", layout.row("", "agree", "of", "share")]
    for title, agreement in (
        ("value and exact truth", evaluation.value_truth),
        ("value and label", evaluation.value_label),
        ("label and exact truth", evaluation.label_truth),
    ):
        if agreement.of:
            lines.append(layout.row(title, f"{agreement.agree:,}", f"{agreement.of:,}", agreement.agree / agreement.of))
        else:
            missing = "truth is not known" if evaluation.compared_with == "label" and "truth" in title else "no labels"
            lines.append(f"{title}: not compared, {missing}")
    lines += ["", layout.row(f"{evaluation.compared_with} of the mover, valued", *RESULTS)]
    for result, counts in evaluation.counts.items():
        lines.append(layout.row(result, *(f"{counts[valued]:,}" for valued in RESULTS)))
    return "\n".join(lines)


def proofs_text(proofs: Proofs, name: str = "", *, certified: bool = False, compiled: bool = False) -> str:
    """Return the text of `prove`: findings per seat, a game that misses the goal, and the certificates written.

    certified: name the seats without a certificate, too.  compiled: the first seat's seconds include compiling.
    """
    title = f"{name}: {proofs.run.config.learner} on {proofs.board.name}".removeprefix(": ")
    lines = [title, f"ties: {meaning(proofs.ties)}", ""]
    for seat, proof in proofs.found.items():
        size = f"{count_text(proof.positions, 'position')} in {proof.seconds:.2f} s{layout.COMPILED * compiled}"
        compiled = False
        if proof.line is not None:
            missed = "does not always win" if proofs.goal == ALWAYS_WINS else "can lose"
            lines += [f"{seat} {missed}: refuted, {size}", *layout.hanging("", moves_text(proofs.board, proof.line), 2)]
            if seat in proofs.corrections:
                lines.append("  best play does not reach this goal: no correction can help")
            continue
        found = f"proved, {size}"
        if proof.status != "proved":
            found = f"undecided, {size}; {'memory is full' if proof.full else 'the budget is spent'}"
        lines.append(f"{seat} {DOES[proofs.goal]}: {found}")
        if seat in proofs.corrections:
            moves = count_text(proofs.corrections[seat].size, "corrected position")
            lines.append(f"  with moves of best play in {moves}, images counted once")
    for path, n in proofs.certificates.values():
        listed = f"{count_text(n, 'position')} with a move each, the first of those that tie"
        lines += layout.hanging("", f"certificate: {shown(path)}, {listed}", 0)
    if certified and (missing := [seat for seat in proofs.found if seat not in proofs.certificates]):
        lines.append(f"no certificate for {' or '.join(missing)}: not proved")
    return "\n".join(lines)


def smallest_text(proof: "SmallestProof", *files: str, compiled: bool = False) -> str:
    """Return the text of `prove --smallest`: what was found, its bound, and the files that hold it."""
    what = count_text(proof.positions, "position")
    if proof.weigh == "beads":
        what = f"{count_text(proof.cost, 'matchbox', 'matchboxes')}, {what}"
    elif proof.weigh == "depth":
        what = f"{count_text(proof.depth, 'move')} to know in the longest game, the fewest possible; {what}"
    known = "minimal" if proof.minimal else f"at least {proof.bound:,}"
    lines = [f"{proof.board.name}: the {proof.seat} player {DOES[proof.goal]}", f"{what}, {known}"]
    if proof.images == "merge":
        lines.append("images: a position stands for its turned and mirrored images")
    if proof.harmless:
        lines.append("listed, too: positions in which no line can beat it any more")
    took = f"{proof.seconds:.1f} s{layout.COMPILED * compiled}"
    lines.append(f"chosen among {count_text(proof.candidates, 'position')} in {took}; checked")
    if proof.players is not None:
        lines.append(f"players with as few: {proof.players:,}")
    lines += [f"wrote {file}" for file in files]
    return "\n".join(lines)


def show_text(shown: PositionReport, name: str = "") -> str:
    """Return the text of `show`.  name: the run's, such as its file."""
    board = shown.board
    state = "a draw" if shown.outcome == DRAW else f"{'X' if shown.outcome == FIRST_WINS else 'O'} has won"
    if shown.player is not None:
        state = f"{MARKS[1 + shown.player]} to move"
    lines = [
        f"{name}{': ' * bool(name)}{shown.learner} on {board.name}",
        *layout.hanging("position ", f"{rows_text(board, shown.position)}, code {shown.code}: {state}", 2),
        "",
        *layout.side_by_side(_boards(shown)),
        "",
        *_summary(shown),
        *_table(shown),
    ]
    if shown.line and shown.player is not None:
        whole = shown.truth is not None and len(shown.line) == shown.truth.plies
        lines += [
            "",
            f"best play from here{'' if whole else ', as far as it is known'}, of equal moves the lowest cell:",
        ]
        lines += layout.hanging("", moves_text(board, shown.line, shown.player), 2)
        if len(shown.line) <= MOST_PICTURES:
            lines += _fitting(layout.pictures(board, shown.position, shown.line))
    return "\n".join(line.rstrip() for line in [*lines, *_images(shown)])


MOST_PICTURES = 16
"""Moves of best play of which each has a picture."""


def _boards(shown: PositionReport) -> list[list[str]]:
    """Draw the position with the names of its free cells, the agent's value of each, and the truth of each."""
    board, free = shown.board, {move.cell: move for move in shown.moves}

    def number(move: Move) -> str:
        if shown.beads is not None:
            return f"{move.value:.6g}"
        if move.softmax is not None:
            return percent(move.softmax)
        return "?" if math.isnan(move.value) else f"{move.value:+z.2f}"

    labels = {"position": {cell: move.name if board.cells <= 9 else MARKS[EMPTY] for cell, move in free.items()}}
    if free and not shown.outside:
        title = "chances by softmax" if shown.prefers else "agent's values" if shown.beads is None else "beads"
        labels[title] = {cell: number(move) for cell, move in free.items()}
    if free and shown.truth is not None:
        player = shown.player or 0
        truths = {cell: move.truth.seen_by(player) for cell, move in free.items() if move.truth is not None}
        title = "truth, in plies" if in_plies(truths.values()) else "truth"
        labels[title] = {cell: truth.short for cell, truth in truths.items()}
    marks = [MARKS[mark] for mark in shown.position]
    drawn = [
        [title, *layout.draw_labels(board, [texts.get(cell, mark) for cell, mark in enumerate(marks)])]
        for title, texts in labels.items()
    ]
    return [block for block in drawn if max(map(len, block)) <= layout.REPORT_WIDTH]


def _summary(shown: PositionReport) -> list[str]:
    """Return lines with the position's value, the truth, the agent's moves and the best moves."""
    plies = shown.board.cells - shown.position.count(EMPTY)
    whose = MARKS[1 + plies % 2] + ("" if shown.player is not None else ", who would move next")
    win, drawn, loss = (f"{worth:g}" for worth in shown.worth)
    scale = f"for {whose} (a win {win}, a draw {drawn}, a loss {loss})"
    unknown = "an agent that is no run tells none" if shown.outside else "never seen"
    value = unknown if math.isnan(shown.value) else f"{shown.value:z.4f} {scale}"
    rows = [("value", value)]
    if shown.beads is not None:
        rows = [("box", f"{shown.beads:g} beads; moves that are images of each other share theirs")]
    if shown.truth is None:
        searched = f"a search of {LIMIT:,} positions does not find it; it is known later in a game"
        reason = searched if can_solve(shown.board) else "the board is too large to enumerate"
        rows.append(("truth", f"not known: {reason}"))
    elif shown.outcome == UNFINISHED:
        more = " (a ply is one move of either player)"
        if shown.truth.plies is None:
            more = "; how soon takes a longer search" if shown.truth.result else ""
        rows.append(("truth", f"{shown.truth} with best play{more}"))
    if shown.player is not None:
        result = "" if shown.truth is None else shown.truth.seen_by(shown.player).word
        rows += [("ties", meaning(shown.ties)), ("agent", _choice(shown, result))]
        best = [move.name for move in shown.moves if move.best]
        if best:
            why = {"win": " (quickest win)", "draw": "", "loss": " (longest loss)"}
            rows.append(("best", " ".join(best) + why[result]))
    return [line for key, text in rows for line in layout.hanging(key, text, 8)]


def _choice(shown: PositionReport, result: str) -> str:
    """Return what the agent plays, and whether that keeps the `result` of best play, if it is known."""
    cells = [move.name for move in shown.moves if move.probability > 0]
    occupied = [shown.board.cell_name(cell) for cell in shown.forfeits]
    n = len(cells) + len(occupied)
    if shown.absent:
        return f"not applicable: it plays as {SEATS[1 - (shown.player or 0)]} alone"
    if shown.resigns:
        return "resigns: its box is empty"
    text = f"plays {' '.join(cells)}" if cells else "plays no free cell"
    even = len({round(move.probability, 9) for move in shown.moves if move.probability > 0}) < 2
    text += f" (1 in {n} each)" if n > 1 and even else " (as often as stands below)" if n > 1 else ""
    if occupied:
        why = {shown.board.why_closed(shown.position, cell): None for cell in shown.forfeits}
        text += f", and forfeits by choosing {' '.join(occupied)}, {' or '.join(why)}"
    if shown.keeps is None or result not in ("win", "draw"):
        return text
    if shown.keeps > 1 - 1e-9:
        return f"{text}: keeps the {result}"
    return f"{text}: gives the {result} away" + (f" {100 * (1 - shown.keeps):.0f} % of the time" if shown.keeps else "")


def _table(shown: PositionReport) -> list[str]:
    """Return a line for each move; `*` marks moves that the agent may play."""
    if not shown.moves:
        return []
    known, unseen = shown.truth is not None, "-" if shown.outside else "never"
    name = "value" if shown.beads is None else "beads"
    numbers = f"{'preference':>12}{'softmax':>10}" if shown.prefers else f"{name:>9}"
    head = f"  {'cell':<6}{numbers}{'chance':>10}" + f"{'visits':>14}" * shown.counted + "   truth" * known
    lines = ["", head]
    for move in shown.moves:
        text = f"{'*' if move.probability else ' '} {move.name:<6}"
        if move.preference is not None and move.softmax is not None:
            text += f"{format(move.preference, 'z.4f'):>12}{f'{100 * move.softmax:.1f} %':>10}"
        else:
            text += f"{unseen if math.isnan(move.value) else format(move.value, 'z.4f'):>9}"
        text += f"{f'{100 * move.probability:.1f} %' if move.probability else '-':>10}"
        if shown.counted:
            text += f"{'-' if move.visits is None else format(move.visits, ','):>14}"
        if move.truth is not None:
            text += f"   {move.truth}{', best' if move.keeps and move.best else ''}"
        lines.append(text)
    if shown.prefers:
        lines += ["", "softmax: how likely each move is in training; chance: by its best moves alone"]
    if not shown.counted and not shown.outside and shown.learner not in PATTERN_LEARNERS:
        lines += ["", f"visits are counted only if the step size depends on them ({flag('alpha', '1/n')})"]
    return lines


def _fitting(blocks: list[list[str]]) -> list[str]:
    """Draw boards side by side below an empty line, if they fit."""
    return ["", *layout.side_by_side(blocks)] if max(map(len, blocks[0])) <= layout.REPORT_WIDTH else []


def _images(shown: PositionReport) -> list[str]:
    """Return the images of the position with their codes and values."""
    if shown.images is None:
        return []
    one = any(image.own_row is False for image in shown.images)
    n = len(shown.images)
    rows = "one row for all of them, that of image 1" if one else "a row for each of them"
    which = "" if shown.learner in PATTERN_LEARNERS else f": the table has {rows}"
    head = f"{n} distinct images{which}" if n > 1 else "no image differs from the position itself"
    boards, lines = [], []
    for number, image in enumerate(shown.images, 1):
        own = "  <- its row" * (one and image.own_row is True) + "  <- shown above" * (image.position == shown.position)
        value = "never" if math.isnan(image.value) else f"{image.value:z.4f}"
        text = rows_text(shown.board, image.position)
        lines += layout.hanging(f"  {number}  ", f"{text}  code {image.code}  value {value}{own}", 5)
        boards.append([f" {number}", *layout.plain(shown.board, image.position)])
    return ["", head, *lines, *_fitting(boards)]
