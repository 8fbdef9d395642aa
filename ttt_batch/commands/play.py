"""Agents at play: `play`."""

import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ttt_batch.commands.shared import Trust, command_line, load_run, working

if TYPE_CHECKING:
    from ttt_batch.run import Run


def play(
    path: Annotated[
        Path | None,
        typer.Argument(metavar="[RUN]", help="A run file; the newest in this folder if not given."),
    ] = None,
    seat: Annotated[str, typer.Option("--as", metavar="first|second", help="Your seat; first moves first.")] = "first",
    seed: Annotated[int | None, typer.Option(help="Seed of the agent's choices among equals.")] = None,
    learn: Annotated[
        bool, typer.Option("--learn", help="The run learns from every finished game, and is saved after each.")
    ] = False,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", metavar="FILE", help="With --learn: a new run file for that; RUN stays as it is."),
    ] = None,
    record: Annotated[
        Path | None, typer.Option(metavar="GAMES", help="Append finished games to a text file, for learn-from.")
    ] = None,
    trust: Trust = False,
) -> None:
    """Play against an agent in the terminal."""
    from ttt_batch import terminal
    from ttt_batch.errors import UsageError
    from ttt_batch.run import SEATS
    from ttt_batch.runfile import check_target, find_newest_run

    if seat not in SEATS:
        raise UsageError(f"unknown seat {seat!r}; choose first or second")
    if out is not None and not learn:
        raise UsageError("--out is for what a run learns; give it with --learn")
    if out is not None:
        check_target(out, overwrite=False)
    elif learn and path is None:
        path = find_newest_run(Path())
        if path is None:
            raise UsageError("no run file here that could learn; train one first, or name a file for one with --out")
        typer.echo(f"teaching {path}, the newest run here", err=True)
    with working():
        agent = _agent(path, trust)
        keeper = pupil = None
        if record is not None or learn:
            from ttt_batch.lessons import GameRecord, Lessons

            keeper = None if record is None else GameRecord(record)
            pupil = Lessons(agent, out or path, command=command_line()) if learn else None
        terminal.play(
            pupil or agent,
            person=SEATS.index(seat),
            stdin=sys.stdin,
            stdout=sys.stdout,
            seed=time.time_ns() if seed is None else seed,
            pupil=pupil,
            record=keeper,
        )


def _agent(path: Path | None, trust: bool) -> "Run":
    """The run to play against: the one named, else the newest here, else one trained on the spot."""
    from ttt_batch.runfile import find_newest_run

    newest = path if path is not None else find_newest_run(Path())
    if newest is None:
        from ttt_batch.training import train as train_run

        typer.echo("no run file here: training td on 3x3 for 100,000 games first", err=True)
        return train_run(100_000)
    if path is None:
        typer.echo(f"playing {newest}, the newest run here", err=True)
    return load_run(newest, trust)
