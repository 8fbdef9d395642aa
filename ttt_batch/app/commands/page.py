"""`page`: a page on which a table learns, without any run."""

from pathlib import Path
from typing import Annotated

from ttt_batch.app.commands.declare import File, option
from ttt_batch.app.commands.options import Json, Overwrite, Quiet
from ttt_batch.app.commands.shared import in_new_files, print_result, run_name, working

GAMES = 100_000
"""Games of the agent that the page has to play against from the start."""


def page(
    board: Annotated[str, option("BOARD", "3x3 or 3x3-misere.", offers=("3x3", "3x3-misere"))] = "3x3",
    out: Annotated[File, option("FILE", "File to write; a new name if not given.", "--out", "-o")] = None,
    overwrite: Overwrite = False,
    quiet: Quiet = False,
    json: Json = False,
) -> None:
    """Write a page on which a table learns before your eyes: one file for any browser, offline.

    You may play against that table at any moment, and against td, trained for 100,000 games. The same page comes from
    export --to html, with a run of your own to play against.
    """
    from ttt_batch.app.web import export_page
    from ttt_batch.app.web.learn_tab import check_learns
    from ttt_batch.game.board import parse_board
    from ttt_batch.runs.formats import check_targets

    where = parse_board(board)
    check_learns(where)
    if out is not None:
        check_targets([out], overwrite=overwrite)
    with working("interrupted; no page was written", quiet=quiet) as report:
        from ttt_batch.training.train import train_table

        report.clear()
        run = train_table(GAMES, board=where)

        def work(paths: list[Path]) -> Path:
            return export_page(run, paths[0], opens="learn", overwrite=overwrite)

        written = in_new_files([] if out is None else [out], [f"learn-{where.name}.html"], work)
    print_result(
        json,
        lambda: {"files": [str(written)]},
        lambda: f"wrote {run_name(written)}: open it in a browser",
        saved=written,
    )
