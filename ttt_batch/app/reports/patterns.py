"""What `train` and `info` print of pattern networks."""

from pathlib import Path
from typing import Any

import numpy as np

from ttt_batch.app.reports.heads import file_head, training_head, training_title
from ttt_batch.app.reports.layout import facts_text, hanging, row
from ttt_batch.app.reports.network_learners import SOURCES
from ttt_batch.base.choices import SEATS
from ttt_batch.base.console import one_line
from ttt_batch.base.files import command_text
from ttt_batch.base.quantities import count_text
from ttt_batch.runs.patterns.run import REFUTED, PatternRun


def verdict_lines(run: PatternRun) -> list[str]:
    """What was proved of a run, a line for each seat, with how many later proofs succeeded."""
    config = run.config
    if config.start:
        return [f"not proved since it learnt from given games; {command_text('prove', 'RUN')} tries again"]
    if not config.prove_every:
        return [f"no proof was tried; {command_text('prove', 'RUN')} tries one"]
    return [_seat_line(run, seat) for seat in config.seats]


def _seat_line(run: PatternRun, seat: int) -> str:
    goal = f"{SEATS[seat]} {'always wins' if run.config.always_wins else 'cannot lose'}"
    if not run.proved_after(seat):
        last = {REFUTED: "refuted"}.get(int(run.statistics["proof"][-1:, seat].sum()), "undecided")
        return f"{goal}: {last} after {count_text(run.games, 'game')}"
    first = int(run.statistics["games"][run.proofs(seat)][0])
    line = f"{goal}: proved, {count_text(run.proved_positions(seat), 'position')}"
    line += f"; the earliest after {count_text(first, 'game')}"
    held, later = run.later_proofs(seat)
    line += f", {held:,} of {count_text(later, 'later snapshot')} proved, too" if later else ""
    kept = run.proved_after(seat) if run.plays_proved(seat) else run.games
    return f"{line}; kept: that after {count_text(kept, 'game')}"


def network_verdicts(run: PatternRun) -> dict[str, Any]:
    """The verdict by seat as plain values."""
    seats = {SEATS[seat]: seat for seat in run.config.seats}
    found = {name: run.statistics["games"][run.proofs(seat)][:1].tolist() for name, seat in seats.items()}
    later = {name: run.later_proofs(seat) for name, seat in seats.items()}
    return {
        "claim": "always wins" if run.config.always_wins else "cannot lose",
        "proved": {name: run.proved_after(seat) > 0 for name, seat in seats.items()},
        "positions": {name: run.proved_positions(seat) for name, seat in seats.items()},
        "first_proof": {name: games[0] if games else None for name, games in found.items()},
        "later_snapshots": {name: total for name, (_, total) in later.items()},
        "later_proofs": {name: held for name, (held, _) in later.items()},
        "kept": {name: run.proved_after(seat) if run.plays_proved(seat) else run.games for name, seat in seats.items()},
    }


def pattern_training_summary(run: PatternRun, path: str | None) -> dict[str, Any]:
    """What `train --json` prints."""
    return {**training_head(run), **network_verdicts(run), "config": run.config.to_report(), "run": path}


def pattern_training_text(run: PatternRun, path: Path, *, compiled: bool = False) -> str:
    """What `train` prints at the end.  compiled: kernels were compiled meanwhile, which its seconds include."""
    played = run.statistics["outcomes"][-1] / max(1, run.games)
    verdicts = verdict_lines(run)
    lines = [
        training_title(run, compiled=compiled),
        "",
        row("", "win", "draw", "loss"),
        row("games played, as first", *played),
        "",
        *hanging("verdict:", verdicts[0], 9),
        *(line for verdict in verdicts[1:] for line in hanging("", verdict, 9)),
        f"saved:   {one_line(str(path))}",
        "",
        f"next:    {command_text('play', path)}",
        f"         {command_text('show', path)}",
    ]
    return "\n".join(lines)


def pattern_information(run: PatternRun, path: str) -> dict[str, Any]:
    """What `info --json` prints."""
    network = run.network
    return {
        **file_head(run, path),
        "tuples": int(network.offset.size),
        "weights": int(network.kind.size),
        "kinds": int(network.kind_start.size - 1),
        "networks": len(run.config.aims),
        "used": int(np.count_nonzero(run.learnt.coherence[..., 1])),
        "lost_games": sum(map(len, run.learnt.lost)),
        "recorded_points": int(run.statistics["games"].size),
        **network_verdicts(run),
        "provenance": dict(run.provenance),
    }


def pattern_information_text(information: dict[str, Any], run: PatternRun) -> str:
    """What `info` prints."""
    config, tables = run.config, run.data().tables
    goal = f" of {information['goal']:,}" if information["goal"] > information["games"] else ""
    every = f"a proof every {config.prove_every:,}" if config.prove_every else "no proofs"
    played = f"in batches of {config.batch:,}, {every}"
    if config.start:
        played = "the latest of them given or played with people"
    networks = count_text(information["networks"], "network")
    shape = (
        f"{networks} of {count_text(information['tuples'], 'tuple')} ({config.tuples[:60]}), "
        f"shared by {config.sharing}: "
        f"{information['weights']:,} weights a player, {information['kinds']:,} of them different"
    )
    begun = "" if config.start else "; half of the games begin with moves of one"
    size = f"{count_text(information['bytes'], 'byte')}, format {information['format']}"
    numbers = [("epsilon", config.epsilon), ("alpha", config.alpha), ("gamma", config.gamma), ("lambda", config.trace)]
    facts = [
        ("file", f"{information['file']} ({size})"),
        ("learner", f"{config.learner}: {SOURCES[config.learner]}"),
        ("board", config.board.name),
        ("networks", shape),
        ("objective", f"{config.objective}, seat {config.seat}"),
        ("games", f"{information['games']:,}{goal}, {played}"),
        ("numbers", ", ".join(f"{name} {number:g}" for name, number in numbers)),
        ("seed", str(config.seed)),
        *(("verdict", line) for line in verdict_lines(run)),
        ("lost games", f"{information['lost_games']:,} kept{begun}"),
        *((f"tables/{name}", f"{array.dtype} {list(array.shape)}") for name, array in tables.items()),
        ("statistics", count_text(information["recorded_points"], "recorded point")),
        *((key.replace("_", " "), value) for key, value in information["provenance"].items()),
    ]
    return facts_text(facts)
