"""A run in a notebook: a small table."""

from html import escape

from ttt_batch.base.choices import RESULTS, SEATS
from ttt_batch.runs.run import Run


def run_html(run: Run) -> str:
    """Return an HTML table of a run: what it is, its verdict, and if known its results against random.

    Every text is escaped: a file may hold anything.
    """
    facts = {
        "learner": run.config.learner,
        "board": run.board.name,
        "games": f"{run.games:,}{' (interrupted)' * run.interrupted}",
        "seed": str(run.config.seed),
        "verdict": run.verdict(),
        "file": "" if run.file is None else str(run.file),
    }
    if run.verdict() and run.grown is None:
        for seat, shares in zip(SEATS, run.statistics["versus_random"][-1].tolist(), strict=True):
            results = ", ".join(f"{name} {share:.4f}" for name, share in zip(RESULTS, shares, strict=True))
            facts[f"as {seat}, against random"] = results
    rows = (f"<tr><th>{escape(name)}</th><td>{escape(value)}</td></tr>" for name, value in facts.items() if value)
    return f"<table>{''.join(rows)}</table>"
