"""What `info` prints of a run file, a notebook shows of a run, and `compare` prints of two."""

from html import escape
from typing import Any

from ttt_batch.app.reports.heads import file_head
from ttt_batch.app.reports.layout import facts_text, hanging
from ttt_batch.app.reports.training import verdict_facts, verdict_text
from ttt_batch.base.choices import RESULTS
from ttt_batch.base.quantities import count_text, size_text
from ttt_batch.evaluation.ties import meaning
from ttt_batch.game.board import Board
from ttt_batch.runs.loading import AnyRun
from ttt_batch.runs.own_options import READ, own_text
from ttt_batch.runs.run import Run


def run_information(run: Run, path: str) -> dict[str, Any]:
    """What `info --json` prints."""
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
    """What `info` prints."""
    config = information["config"]
    batch = config["batch"] if isinstance(config["batch"], str) else f"{config['batch']:,}"
    goal = f" of {information['goal']:,}" if information["goal"] > information["games"] else ""
    rows = "rows in the table so far" if run.grown is not None else "positions"
    worth = f"draw worth {','.join(f'{number:g}' for number in config['draw_worth'])}"
    # Play by softmax has no epsilon, and the 0 of its configuration would read as if it did not explore.
    keys = ("alpha", "gamma") if run.config.by_chances else ("epsilon", "alpha", "gamma")
    own = [own_text(name, config[name]) for name in READ if name in config]
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
    """At which points the tables are kept; empty if at none."""
    if run.points is None:
        return ""
    games, size = run.points.games, run.points.nbytes
    span = f", from game {games[0]:,} to {games[-1]:,}" if games.size else ""
    return f"tables kept at {count_text(int(games.size), 'recorded point')}{span} ({size_text(size)})"


def comparison_text(found: dict[str, Any], one: str, other: str, board: Board) -> str:
    """What `compare` prints."""
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
