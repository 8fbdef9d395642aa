"""The command line: every command by its name, in the order in which `--help` lists them."""

from collections.abc import Callable
from typing import Annotated

import typer

from ttt_batch.commands import catalogues, files, judge, machine, play, train

app = typer.Typer(
    help="Batch simulator and tabular self-play laboratory for tic-tac-toe and small m,n,k boards.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


def _show_version(wanted: bool) -> None:
    if wanted:
        from ttt_batch.version import VERSION

        typer.echo(f"ttt-batch {VERSION}")
        raise typer.Exit


@app.callback()
def _program(
    version: Annotated[
        bool,
        typer.Option("--version", help="Show the version and leave.", callback=_show_version, is_eager=True),
    ] = False,
) -> None:
    pass


COMMANDS: dict[str, Callable[..., None]] = {
    "train": train.train,
    "evaluate": judge.evaluate,
    "play": play.play,
    "learners": catalogues.learners,
    "boards": catalogues.boards,
    "compare": judge.compare,
    "learn-from": train.learn_from,
    "export": files.export_,
    "import": files.import_,
    "info": files.info,
    "check": files.check,
    "warmup": machine.warmup,
    "bench": machine.bench,
}

for name, command in COMMANDS.items():
    app.command(name)(command)
