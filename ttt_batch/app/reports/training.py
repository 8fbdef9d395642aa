"""Reports of `train`, `info` and `compare`, and verdicts in words."""

from collections.abc import Mapping
from html import escape
from pathlib import Path
from typing import Any

import numpy as np

from ttt_batch.app.reports.catalogues import SOURCES
from ttt_batch.app.reports.layout import facts_text, hanging, row
from ttt_batch.core.console import one_line
from ttt_batch.core.files import command_text
from ttt_batch.core.text import RESULTS, SEATS, count_text, size_text
from ttt_batch.evaluation.ties import meaning
from ttt_batch.games.board import Board
from ttt_batch.runs.loading import AnyRun
from ttt_batch.runs.network_run import REFUTED, PatternRun
from ttt_batch.runs.options import OWN, option_text
from ttt_batch.runs.run import Run, unbeatable_since

OUTCOMES = ("first_wins", "draws", "second_wins")
"""Results of games, as `--json` names them."""


def training_head(run: AnyRun) -> dict[str, Any]:
    """Return the first values of `train --json`."""
    seconds, in_play = run.provenance.get("seconds"), run.statistics["outcomes"][-1].tolist()
    return {
        "learner": run.config.learner,
        "board": run.board.name,
        "games": run.games,
        "interrupted": run.interrupted,
        "seconds": seconds,
        "games_per_second": run.games / float(seconds) if seconds and any(in_play) else 0.0,  # an import plays none
        "in_play": dict(zip(OUTCOMES, in_play, strict=True)),
    }


def training_title(run: AnyRun, *, compiled: bool) -> str:
    """Return the first line of `train`.  compiled: the seconds include compiling."""
    took = f"{float(run.provenance['seconds']):.2f} s{' (compiling included)' if compiled else ''}"
    games = count_text(run.games, "game")
    return f"{run.config.learner} on {run.board.name}: {games} in {took}, seed {run.config.seed}"


def file_head(run: AnyRun, path: str) -> dict[str, Any]:
    """Return the first values of `info --json`."""
    return {
        "file": path,
        "bytes": run.size,
        "format": f"{run.version[0]}.{run.version[1]}",
        "games": run.games,
        "goal": run.goal or run.games,
        "config": run.config.to_report(),
    }


def verdict_lines(run: PatternRun) -> list[str]:
    """Return the proofs of a run, a line for each seat, with the number of later proofs that succeeded."""
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
    """Return the verdict by seat as plain values."""
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
    """Return the values of `train --json`."""
    return {**training_head(run), **network_verdicts(run), "config": run.config.to_report(), "run": path}


def pattern_training_text(run: PatternRun, path: Path, *, compiled: bool = False) -> str:
    """Return the text of `train`.  compiled: the seconds include compiling."""
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
    """Return the values of `info --json`."""
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
    """Return the text of `info`."""
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


def verdict_text(run: Run) -> str:
    """Return the verdict on the tables as they are, with any ties, and the game since which it is good in its seats."""
    if run.grown is not None:
        return (
            f"{count_text(int(run.statistics['positions'][-1]), 'position')} in the table; "
            "whether it can be beaten is for evaluate to search"
        )
    return proof_text(run, verdict_facts(run)["unbeatable"])


def proof_text(run: Run, unbeatable: Mapping[str, bool | None]) -> str:
    """Return a verdict by seat, with the game since which it holds; the caller names the ties.

    Training records verdicts for ties `any`; a run that is unbeatable with these is unbeatable with all.
    """
    since = _since(run)
    if since is not None:
        points = f" at every recorded point since game {since:,}" if since else " from its start" if run.games else ""
        return f"unbeatable {'in both seats' if run.seats == SEATS else f'as {SEATS[0]}'}{points}"
    verdicts = {seat: "unbeatable" if unbeatable[seat] else "can be beaten" for seat in run.seats}
    return ", ".join(f"{verdict} as {seat}" for seat, verdict in verdicts.items())


def _since(run: Run) -> int | None:
    """Return the games since which a run is unbeatable in every seat that it plays, None if it is not."""
    return unbeatable_since(run.statistics["games"], run.statistics["unbeatable"][:, : len(run.seats)])


def verdict_facts(run: Run) -> dict[str, Any]:
    """Return the recorded verdict of a run on an enumerated board; None for a seat that it cannot play."""
    found = zip(SEATS, run.statistics["unbeatable"][-1].tolist(), strict=True)
    return {
        "unbeatable": {seat: good if seat in run.seats else None for seat, good in found},
        "ties": "any",
        "unbeatable_since": _since(run),
    }


def training_summary(run: AnyRun, path: str | None) -> dict[str, Any]:
    """Return the values of `train --json`."""
    if isinstance(run, PatternRun):
        return pattern_training_summary(run, path)
    last = {name: column[-1] for name, column in run.own_statistics.items()}
    summary = training_head(run)
    if run.grown is not None:
        summary |= {
            "positions": int(last["positions"]),
            "positions_without_room": int(run.provenance.get("positions_without_room", 0)),
        }
    else:
        summary |= {
            **verdict_facts(run),
            "against_random": {
                seat: dict(zip(RESULTS, shares, strict=True))
                for seat, shares in zip(SEATS, last["versus_random"].tolist(), strict=True)
            },
            "self_play": dict(zip(OUTCOMES, last["self_play"].tolist(), strict=True)),
            **{name: dict(zip(SEATS, last[name].tolist(), strict=True)) for name in ("optimal_share", "value_error")},
        }
    return {**summary, "config": run.config.to_report(), "run": path}


def run_summary(run: AnyRun) -> dict[str, Any]:
    """Return what `train --json` prints, for `to_dict` of a run."""
    return training_summary(run, None if run.file is None else str(run.file))


def training_text(run: AnyRun, path: Path, *, compiled: bool = False) -> str:
    """Return the text of `train`: a short table, the file, and two commands to run next.

    compiled: the seconds include compiling.
    """
    if isinstance(run, PatternRun):
        return pattern_training_text(run, path, compiled=compiled)
    last = {name: column[-1] for name, column in run.statistics.items()}
    played = last["outcomes"] / max(1, int(last["outcomes"].sum()))
    exact = []
    if run.grown is None:
        seats = SEATS[:1] if run.learner.boxes else SEATS
        exact = [row(f"as {seat}, against random", *last["versus_random"][i]) for i, seat in enumerate(seats)]
        if not run.learner.boxes:  # without a second player's boxes it does not play itself
            exact.append(row("greedy self-play, as first", *last["self_play"]))
    lines = [
        training_title(run, compiled=compiled),
        "",
        row("", "win", "draw", "loss"),
        *exact,
        row("games played, as first", *played),
        "",
        *hanging("verdict:", verdict_text(run), 9),
        *([f"ties:    {meaning('any')}"] if run.grown is None else []),
        f"saved:   {one_line(str(path))}",
        "",
        f"next:    {command_text('evaluate', path)}",
        f"         {command_text('play', path)}",
    ]
    return "\n".join(lines)


def run_information(run: Run, path: str) -> dict[str, Any]:
    """Return the values of `info --json`."""
    return {
        **file_head(run, path),
        "states": int(run.graph.code.size),
        "edges": int(run.graph.child.size),
        "tables": {
            name: {
                "dtype": str(array.dtype),
                "shape": list(array.shape),
                "axes": run.learner.fields[name][0],
                "meaning": run.learner.fields[name][1],
            }
            for name, array in run.tables._asdict().items()
        },
        "recorded_points": int(run.statistics["games"].size),
        "kept_points": 0 if run.points is None else int(run.points.games.size),
        **({"positions": int(run.statistics["positions"][-1])} if run.grown is not None else verdict_facts(run)),
        "provenance": dict(run.provenance),
    }


def information_text(information: dict[str, Any], run: Run) -> str:
    """Return the text of `info`."""
    config = information["config"]
    batch = config["batch"] if isinstance(config["batch"], str) else f"{config['batch']:,}"
    goal = f" of {information['goal']:,}" if information["goal"] > information["games"] else ""
    rows = "rows in the table so far" if run.grown is not None else "positions"
    worth = f"draw worth {','.join(f'{number:g}' for number in config['draw_worth'])}"
    # Play by softmax has no epsilon, and the 0 of its configuration would read as if it did not explore.
    keys = ("alpha", "gamma") if run.config.by_chances else ("epsilon", "alpha", "gamma")
    own = [option_text(name, config[name]) for name in OWN if name in config]
    played = f"in batches of {batch} ({config['engine']})"
    if config["engine"] == "given":
        played = "learnt elsewhere" if run.made_elsewhere else "the latest of them given or played with people"
    facts = [
        ("file", f"{information['file']} ({count_text(information['bytes'], 'byte')}, format {information['format']})"),
        ("learner", f"{config['learner']}: {run.learner.source}"),
        ("rule", run.learner.rule),
        ("board", f"{config['board']}: {information['states']:,} {rows}, {count_text(information['edges'], 'move')}"),
        ("games", f"{information['games']:,}{goal}, {played}"),
        ("numbers", ", ".join(own if run.learner.boxes else [*(f"{key} {config[key]}" for key in keys), worth, *own])),
        ("seed", str(config["seed"])),
        ("verdict", verdict_text(run)),
        ("ties", meaning("any") if run.grown is None else ""),
        *(
            (f"tables/{name}", f"{table['dtype']} [{table['axes']}] {table['shape']}: {table['meaning']}")
            for name, table in information["tables"].items()
        ),
        ("statistics", count_text(information["recorded_points"], "recorded point")),
        ("points", _kept_text(run)),
        *((key.replace("_", " "), value) for key, value in information["provenance"].items()),
    ]
    return facts_text(facts)


def _kept_text(run: Run) -> str:
    """Return the points at which tables are kept, in words; empty for none."""
    if run.points is None:
        return ""
    games, size = run.points.games, run.points.nbytes
    span = f", from game {games[0]:,} to {games[-1]:,}" if games.size else ""
    return f"tables kept at {count_text(int(games.size), 'recorded point')}{span} ({size_text(size)})"


def comparison_text(found: dict[str, Any], one: str, other: str, board: Board) -> str:
    """Return the text of `compare`."""
    tables, policies = found["tables"], found["policies"]
    if tables is None:
        lines = ["tables:   of different learners or symmetry, not comparable number by number"]
    else:
        differing = f"{tables['differing']:,} of {count_text(tables['entries'], 'entry', 'entries')} differ"
        by = f"by {tables['largest_difference']:.6g} at most and {tables['mean_difference']:.6g} on average"
        lines = hanging("tables:", f"{differing}, {by}", 10)
    moves = f"other moves in {policies['differing']:,} of {count_text(policies['positions'], 'position')}"
    loses = f"in {policies['differing_optimal']:,} only one of the two may give the result away"
    lines += hanging("policies:", f"{moves}; {loses}", 10)
    for example in found["examples"]:
        cells = [" ".join(board.cell_name(cell) for cell in example[key]) for key in ("first", "second")]
        lines.append(f"  {example['position']}   {one}: {cells[0]}   {other}: {cells[1]}")
    return "\n".join(lines)


def run_html(run: AnyRun) -> str:
    """Return an HTML table of a run: what it is, its verdict, and if known its results against random.

    Every text is escaped: a file may hold anything.
    """
    grown = isinstance(run, Run) and run.grown is not None
    facts = {
        "learner": run.config.learner,
        "board": run.board.name,
        "games": f"{run.games:,}{' (interrupted)' * run.interrupted}",
        "seed": str(run.config.seed),
        "positions" if grown else "verdict": run.verdict().removesuffix(" positions" if grown else ""),
        "file": "" if run.file is None else str(run.file),
    }
    if isinstance(run, Run) and run.verdict() and not grown:
        for seat, shares in zip(run.seats, run.statistics["versus_random"][-1].tolist(), strict=False):
            results = ", ".join(f"{name} {share:.4f}" for name, share in zip(RESULTS, shares, strict=True))
            facts[f"as {seat}, against random"] = results
    rows = (f"<tr><th>{escape(name)}</th><td>{escape(value)}</td></tr>" for name, value in facts.items() if value)
    return f"<table>{''.join(rows)}</table>"


def network_comparison_text(found: dict[str, Any], one: str, other: str, board: Board) -> str:
    """Return the report.  one, other: names of the runs."""
    tables, policies = found["tables"], found["policies"]
    text = "of different shapes, not comparable number by number"
    if tables is not None:
        differing = f"{tables['differing']:,} of {count_text(tables['entries'], 'weight')} differ"
        text = (
            f"{differing}, by {tables['largest_difference']:.6g} at most and {tables['mean_difference']:.6g} on average"
        )
    lines = hanging("weights:", text, 10)
    moves = f"other moves in {policies['differing']:,} of {count_text(policies['positions'], 'position')}"
    lines += hanging("policies:", f"{moves} of {count_text(policies['games'], 'random game')}", 10)
    for example in found["examples"]:
        lines.append(f"  {example['position']}")
        for key, name in (("first", one), ("second", other)):
            lines += hanging("", f"{name}: {' '.join(board.cell_name(cell) for cell in example[key])}", 4)
    return "\n".join(lines)
