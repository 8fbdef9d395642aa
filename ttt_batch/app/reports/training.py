"""Reports of `train`, `info` and `compare`, and verdicts in words."""

from collections.abc import Mapping
from html import escape
from pathlib import Path
from typing import Any

import numpy as np

from ttt_batch.app.reports.catalogues import SOURCES
from ttt_batch.app.reports.layout import COMPILED, Facts, file_text, hanging, row
from ttt_batch.core.console import one_line
from ttt_batch.core.files import command_text
from ttt_batch.core.results import SELF_PLAY, by_name
from ttt_batch.core.text import RESULTS, SEATS, count_text, size_text
from ttt_batch.evaluation.ties import meaning
from ttt_batch.games.board import Board
from ttt_batch.runs.loading import AnyRun
from ttt_batch.runs.network_run import REFUTED, PatternRun
from ttt_batch.runs.options import OWN, option_text
from ttt_batch.runs.run import Run
from ttt_batch.runs.storage.container import version_text


def verdict_lines(run: AnyRun) -> list[str]:
    """Return the verdict on a run; of networks a line for each seat, with the number of later proofs that succeeded."""
    if not isinstance(run, PatternRun):
        return [verdict_text(run)]
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
        line = f"{goal}: {last} after {count_text(run.games, 'game')}"
        return line if run.average is None else f"{line}; it plays by an average of its weights"
    first = int(run.statistics["games"][run.proofs(seat)][0])
    line = f"{goal}: proved, {count_text(run.proved_positions(seat), 'position')}"
    line += f"; the earliest after {count_text(first, 'game')}"
    held, later = run.later_proofs(seat)
    line += f", {held:,} of {count_text(later, 'later snapshot')} proved, too" if later else ""
    kept = run.kept_after(seat)
    if kept is None:
        return f"{line}; it plays by an average of its weights, which is not proved"
    return f"{line}; kept: that after {count_text(kept, 'game')}"


def network_verdicts(run: PatternRun) -> dict[str, Any]:
    """Return the verdict by seat as plain values."""
    seats = {SEATS[seat]: seat for seat in run.config.seats}
    found = {name: run.statistics["games"][run.proofs(seat)][:1].tolist() for name, seat in seats.items()}
    later = {name: run.later_proofs(seat) for name, seat in seats.items()}
    return {
        "claim": "always wins" if run.config.always_wins else "cannot lose",
        "proved": {name: run.claims_proof(seat) for name, seat in seats.items()},
        "positions": {name: run.proved_positions(seat) for name, seat in seats.items()},
        "first_proof": {name: games[0] if games else None for name, games in found.items()},
        "later_snapshots": {name: total for name, (_, total) in later.items()},
        "later_proofs": {name: held for name, (held, _) in later.items()},
        "kept": {name: run.kept_after(seat) for name, seat in seats.items()},
    }


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
    since = run.since
    if since is not None:
        points = f" at every recorded point since game {since:,}" if since else " from its start" if run.games else ""
        return f"unbeatable {'in both seats' if run.seats == SEATS else f'as {SEATS[0]}'}{points}"
    verdicts = {seat: "unbeatable" if unbeatable[seat] else "can be beaten" for seat in run.seats}
    return ", ".join(f"{verdict} as {seat}" for seat, verdict in verdicts.items())


def verdict_facts(run: Run) -> dict[str, Any]:
    """Return the recorded verdict of a run on an enumerated board; None for a seat that it cannot play."""
    found = by_name(run.statistics["unbeatable"][-1].tolist(), SEATS)
    return {
        "unbeatable": {seat: good if seat in run.seats else None for seat, good in found.items()},
        "ties": "any",
        "unbeatable_since": run.since,
    }


def training_summary(run: AnyRun, path: str | None = None) -> dict[str, Any]:
    """Return the values of `train --json`.  path: of its file; by default the one that training has saved."""
    seconds, in_play = run.provenance.get("seconds"), run.statistics["outcomes"][-1].tolist()
    return {
        "learner": run.config.learner,
        "board": run.board.name,
        "games": run.games,
        "interrupted": run.interrupted,
        "seconds": seconds,
        "games_per_second": run.games / float(seconds) if seconds and any(in_play) else 0.0,  # an import plays none
        "in_play": by_name(in_play, SELF_PLAY),
        **(network_verdicts(run) if isinstance(run, PatternRun) else _last_point(run)),
        "config": run.config.to_report(),
        "run": str(run.file) if path is None and run.file is not None else path,
    }


def _last_point(run: Run) -> dict[str, Any]:
    """Return the record of the last point, or the number of positions on a growing board."""
    last = {name: column[-1] for name, column in run.own_statistics.items()}
    if run.grown is not None:
        lacking = int(run.provenance.get("positions_without_room", 0))
        return {"positions": int(last["positions"]), "positions_without_room": lacking}
    return {
        **verdict_facts(run),
        "against_random": by_name(last["versus_random"].tolist(), SEATS, RESULTS),
        "self_play": by_name(last["self_play"].tolist(), SELF_PLAY),
        **{name: by_name(last[name].tolist(), SEATS) for name in ("optimal_share", "value_error")},
    }


def training_text(run: AnyRun, path: Path, *, compiled: bool = False) -> str:
    """Return the text of `train`: a short table, the file, and two commands to run next.

    compiled: the seconds include compiling.
    """
    last, exact = {name: column[-1] for name, column in run.statistics.items()}, []
    judged = "versus_random" in last
    if judged:
        exact = [row(f"as {seat}, against random", *last["versus_random"][i]) for i, seat in enumerate(run.seats)]
        if run.seats == SEATS:  # without a second player's boxes it does not play itself
            exact.append(row("greedy self-play, as first", *last["self_play"]))
    took = f"{float(run.provenance['seconds']):.2f} s{COMPILED * compiled}"
    games, verdicts = count_text(run.games, "game"), verdict_lines(run)
    following = ("play", "show") if run.generalises else ("evaluate", "play")
    lines = [
        f"{run.config.learner} on {run.board.name}: {games} in {took}, seed {run.config.seed}",
        "",
        row("", *RESULTS),
        *exact,
        *(
            [row("games played, as first", *last["outcomes"] / last["outcomes"].sum())]
            if last["outcomes"].any()
            else []
        ),
        "",
        *hanging("verdict:", verdicts[0], 9),
        *(line for verdict in verdicts[1:] for line in hanging("", verdict, 9)),
        *([f"ties:    {meaning('any')}"] if judged else []),
        f"saved:   {one_line(str(path))}",
        "",
        f"next:    {command_text(following[0], path)}",
        f"         {command_text(following[1], path)}",
    ]
    return "\n".join(lines)


def run_information(run: AnyRun, path: str) -> dict[str, Any]:
    """Return the values of `info --json`."""
    return {
        "file": path,
        "bytes": run.size,
        "format": version_text(run.version),
        "games": run.games,
        "goal": run.goal or run.games,
        "config": run.config.to_report(),
        **(_network_information(run) if isinstance(run, PatternRun) else _table_information(run)),
        "provenance": dict(run.provenance),
    }


def _table_information(run: Run) -> dict[str, Any]:
    return {
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
    }


def _network_information(run: PatternRun) -> dict[str, Any]:
    network = run.network
    return {
        "tuples": int(network.offset.size),
        "weights": int(network.kind.size),
        "kinds": int(network.kind_start.size - 1),
        "networks": len(run.config.aims),
        "used": int(np.count_nonzero(run.learnt.coherence[..., 1])),
        "lost_games": sum(map(len, run.learnt.lost)),
        "recorded_points": int(run.statistics["games"].size),
        **network_verdicts(run),
    }


def information_text(information: dict[str, Any], run: AnyRun) -> str:
    """Return the text of `info`."""
    goal = f" of {information['goal']:,}" if information["goal"] > information["games"] else ""
    own = _network_facts(information, run) if isinstance(run, PatternRun) else _table_facts(information, run)
    source, above, played, numbers, below = own
    facts: Facts = [
        ("learner", f"{run.config.learner}: {source}"),
        *above,
        ("games", f"{information['games']:,}{goal}, {played}"),
        ("numbers", numbers),
        ("seed", str(run.config.seed)),
        *(("verdict", line) for line in verdict_lines(run)),
        *below,
    ]
    return file_text(information, facts, [("points", _kept_text(run))] if isinstance(run, Run) else ())


def _table_facts(information: dict[str, Any], run: Run) -> tuple[str, Facts, str, str, Facts]:
    """Return what `info` says of tables: source, facts before the games, how they were played, numbers, facts below."""
    config = information["config"]
    batch = config["batch"] if isinstance(config["batch"], str) else f"{config['batch']:,}"
    rows = "rows in the table so far" if run.grown is not None else "positions"
    worth = f"draw worth {','.join(f'{number:g}' for number in config['draw_worth'])}"
    # Play by softmax has no epsilon, and the 0 of its configuration would read as if it did not explore.
    keys = ("alpha", "gamma") if run.config.by_chances else ("epsilon", "alpha", "gamma")
    own = [option_text(name, config[name]) for name in OWN if name in config]
    played = f"in batches of {batch} ({config['engine']})"
    if config["engine"] == "given":
        played = "learnt elsewhere" if run.made_elsewhere else LATEST
    size = f"{information['states']:,} {rows}, {count_text(information['edges'], 'move')}"
    return (
        run.learner.source,
        [("rule", run.learner.rule), ("board", f"{config['board']}: {size}")],
        played,
        ", ".join(own if run.learner.by_beads else [*(f"{key} {config[key]}" for key in keys), worth, *own]),
        [
            ("ties", meaning("any") if run.grown is None else ""),
            *(
                (f"tables/{name}", f"{table['dtype']} [{table['axes']}] {table['shape']}: {table['meaning']}")
                for name, table in information["tables"].items()
            ),
        ],
    )


LATEST = "the latest of them given or played with people"


def _network_facts(information: dict[str, Any], run: PatternRun) -> tuple[str, Facts, str, str, Facts]:
    """Return what `info` says of networks, as `_table_facts` does of tables."""
    config = run.config
    every = f"a proof every {config.prove_every:,}" if config.prove_every else "no proofs"
    shape = (
        f"{count_text(information['networks'], 'network')} of {count_text(information['tuples'], 'tuple')} "
        f"({config.tuples[:60]}), shared by {config.sharing}: "
        f"{information['weights']:,} weights a player, {information['kinds']:,} of them different"
    )
    begun = "" if config.start else "; half of the games begin with moves of one"
    numbers = [("epsilon", config.epsilon), ("alpha", config.alpha), ("gamma", config.gamma), ("lambda", config.trace)]
    return (
        SOURCES[config.learner],
        [("board", config.board.name), ("networks", shape), ("objective", f"{config.objective}, seat {config.seat}")],
        LATEST if config.start else f"in batches of {config.batch:,}, {every}",
        ", ".join(f"{name} {number:g}" for name, number in numbers),
        [
            ("lost games", f"{information['lost_games']:,} kept{begun}"),
            *((f"tables/{name}", f"{array.dtype} {list(array.shape)}") for name, array in run.data().tables.items()),
        ],
    )


def _kept_text(run: Run) -> str:
    """Return the points at which tables are kept, in words; empty for none."""
    if run.points is None:
        return ""
    games, size = run.points.games, run.points.nbytes
    span = f", from game {games[0]:,} to {games[-1]:,}" if games.size else ""
    return f"tables kept at {count_text(int(games.size), 'recorded point')}{span} ({size_text(size)})"


def comparison_text(found: dict[str, Any], one: str, other: str, board: Board) -> str:
    """Return the text of `compare`.  one, other: names of the runs."""
    tables, policies = found["tables"], found["policies"]
    networks = "games" in policies
    text = f"of different {'shapes' if networks else 'learners or symmetry'}, not comparable number by number"
    if tables is not None:
        entries = count_text(tables["entries"], *(("weight",) if networks else ("entry", "entries")))
        by = f"by {tables['largest_difference']:.6g} at most and {tables['mean_difference']:.6g} on average"
        text = f"{tables['differing']:,} of {entries} differ, {by}"
    lines = hanging("weights:" if networks else "tables:", text, 10)
    moves = f"other moves in {policies['differing']:,} of {count_text(policies['positions'], 'position')}"
    if networks:
        moves += f" of {count_text(policies['games'], 'random game')}"
    else:
        moves += f"; in {policies['differing_optimal']:,} only one of the two may give the result away"
    lines += hanging("policies:", moves, 10)
    for example in found["examples"]:
        names = zip((one, other), ("first", "second"), strict=True)
        cells = [f"{name}: {' '.join(board.cell_name(cell) for cell in example[key])}" for name, key in names]
        if networks:
            lines += [f"  {example['position']}", *(line for text in cells for line in hanging("", text, 4))]
        else:
            lines.append("   ".join([f"  {example['position']}", *cells]))
    return "\n".join(lines)


def run_html(run: AnyRun) -> str:
    """Return an HTML table of a run: what it is, its verdict, and if known its results against random.

    Every text is escaped: a file may hold anything.
    """
    grown = run.grown is not None
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
