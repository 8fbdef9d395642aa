"""`prove`: an exhaustive proof of a run, and a certificate that others can check."""

import sys
from typing import Annotated, Any

import typer

from ttt_batch.app.commands.declare import CLAIMS, File, Text, option
from ttt_batch.app.commands.options import NEWEST, Json, Overwrite, OwnLearner, Quiet, RunPath, TiesRule, Trust
from ttt_batch.app.commands.shared import print_result, run_name, say, working
from ttt_batch.base.choices import SEATS, check_ties
from ttt_batch.base.console import is_live
from ttt_batch.base.quantities import count_text

Seat = Annotated[
    Text,
    option(
        "first|second|both",
        "The seat to prove; X and O will do.",
        "--as",
        offers=(*SEATS, "both"),
        default="the run's own, or both",
    ),
]
Claim = Annotated[
    Text,
    option(
        "cannot-lose|always-wins",
        "What is to be proved.",
        offers=CLAIMS,
        default="what the run was trained for, or cannot-lose",
    ),
]
Certificate = Annotated[
    File,
    option(
        "FILE.npz",
        "Write every position that the agent lets happen with its move; two seats make FILE-first.npz and "
        "FILE-second.npz.  A certificate proves the agent that plays these moves; scripts/check_certificate.py "
        "checks it with NumPy alone.",
    ),
]


def prove_command(
    path: RunPath = NEWEST,
    seat: Seat = None,
    goal: Claim = None,
    budget: Annotated[Text, option("N", "Positions to enter per seat at most.", default="100M")] = None,
    certificate: Certificate = None,
    threads: Annotated[Text, option("N", "Threads; all processors if not given.")] = None,
    ties: TiesRule = "any",
    overwrite: Overwrite = False,
    trust: Trust = False,
    learner: OwnLearner = None,
    quiet: Quiet = False,
    json: Json = False,
) -> None:
    """Prove by exhaustive search that an agent cannot lose, or always wins: status 0 if it is proved, 1 if not."""
    from ttt_batch.analysis.proving import prove as prove_run
    from ttt_batch.app.reports.proof import proofs_text

    rule = check_ties(ties)
    limit: dict[str, Any] = {} if budget is None else {"budget": budget}
    entered = [0]

    def progress(positions: int, _lost: int) -> None:
        entered[0] = positions

    with working(quiet=quiet) as report:
        if not quiet and is_live(sys.stderr):
            report.spin(lambda: f"proving: {count_text(entered[0], 'position')}")
        found = prove_run(
            path,
            seat=seat,
            goal=goal,
            ties=rule,
            threads=threads,
            certificate=certificate,
            overwrite=overwrite,
            trust=trust,
            progress=progress,
            **limit,
        )
    say(path, found.run.notes)
    written = next((file for file, _ in found.certificates.values()), None)
    print_result(
        json, found.to_dict, lambda: proofs_text(found, run_name(path)), saved=written if found.proved else None
    )
    if not found.proved:
        raise typer.Exit(1)
