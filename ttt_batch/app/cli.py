"""Command line: every command by name, in the order of `--help`."""

import functools
import importlib
import sys
from collections.abc import Iterator, Mapping
from typing import Annotated, Any

import typer

from ttt_batch.app.commands.usage import PlainCommand, Program
from ttt_batch.core import VERSION
from ttt_batch.core.console import print_lines

app = typer.Typer(
    cls=Program,
    help="Train agents for tic-tac-toe and larger boards by self-play, and prove how good they are.",
    invoke_without_command=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _show_version(wanted: bool) -> None:
    if wanted:
        print_lines(f"ttt-batch {VERSION}", sys.stdout)
        raise typer.Exit


WELCOME = """\
ttt-batch trains tabular self-play agents for tic-tac-toe and small boards, and
proves whether they can be beaten. Three things to try first:

  ttt-batch train   a million games against itself, and the proof
  ttt-batch play    a game against an agent, here in the terminal
  ttt-batch page    a page for your browser that shows a table learning

ttt-batch --help lists every command; ttt-batch COMMAND --help explains one."""
"""Output of the program without a command."""


@app.callback()
def _program(
    ctx: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", "-V", help="Show the version and exit.", callback=_show_version, is_eager=True)
    ] = False,
) -> None:
    if ctx.invoked_subcommand is None:
        print_lines(WELCOME, sys.stdout)


COMMANDS = {
    "train": ("train.train_command", "Train a learner by self-play and prove how good it is."),
    "study": ("study.study_command", "Compare settings over many seeds, each evaluated exactly."),
    "evaluate": ("judge.evaluate_command", "Evaluate a run: results per seat, and how to beat it."),
    "prove": ("judge.prove_command", "Prove that an agent cannot lose, and let others check it."),
    "play": ("play.play_command", "Play against an agent in the terminal."),
    "page": ("no_run.page", "Write a page that shows a table learning."),
    "watch": ("play.watch_command", "Watch two agents play, or count the results of many games."),
    "plot": ("no_run.plot_command", "Draw learning curves, as a picture or on the terminal."),
    "show": ("judge.show_command", "Show everything about a position: values, truth, best replies."),
    "tournament": ("judge.tournament_command", "Play agents against each other, all pairs in both seats."),
    "learners": ("no_run.learners", "List the learners, or describe one."),
    "boards": ("no_run.boards", "List boards, or count and solve one."),
    "compare": ("judge.compare", "Show where the tables of two runs differ."),
    "learn-from": ("train.learn_from_command", "Learn from recorded games."),
    "export": ("files.export_", "Write a run's table in another program's format."),
    "import": ("files.import_", "Read another program's table into a run file."),
    "info": ("files.info", "Show the contents of a run file."),
    "check": ("files.check_command", "Check a run file and list all errors."),
    "warmup": ("no_run.warmup", "Compile all kernels once."),
    "bench": ("no_run.bench_command", "Measure the speed of this machine."),
}
"""Each command: its module and function in `commands`, loaded when the command is built, and its line in `--help`.

A terminal of 80 columns shows 64 characters of the line.
"""


@functools.cache
def _build(name: str) -> Any:
    where, line = COMMANDS[name]
    module, function = where.split(".")
    command = getattr(importlib.import_module(f"ttt_batch.app.commands.{module}"), function)
    alone = typer.Typer(add_completion=False, rich_markup_mode=None)
    alone.command(name, cls=PlainCommand, short_help=line)(command)
    return typer.main.get_command(alone)


class _Built(Mapping[str, Any]):
    """Commands by name, each built when it is asked for: to build all takes 20 ms, as long as some commands run."""

    def __getitem__(self, name: str) -> Any:
        return _build(name)

    def __iter__(self) -> Iterator[str]:
        return iter(COMMANDS)

    def __len__(self) -> int:
        return len(COMMANDS)


program: Any = typer.main.get_command(app)
program.commands = _Built()
