"""Pictures of how agents learnt: `plot`."""

import sys
from pathlib import Path
from typing import Annotated

from ttt_batch.app.commands.declare import PLOTS, File, argument, option, switch
from ttt_batch.app.commands.options import Json, Overwrite, Quiet, Trust, all_found, first_given
from ttt_batch.app.commands.shared import answer, in_new_files, load_run, run_name, working
from ttt_batch.base.choices import choose
from ttt_batch.base.errors import UsageError


def plot(
    paths: Annotated[list[Path], argument("RUN...", "Run files; several are drawn together.", read=all_found)],
    out: Annotated[
        File, option("FILE", "The picture to write, .png or .svg; a new name if not given.", "--out", "-o")
    ] = None,
    kind: Annotated[
        str,
        option(
            "curves|opening|coverage",
            "Learning curves, the opening values as boards, or which positions were visited.",
            offers=PLOTS,
        ),
    ] = "curves",
    live: Annotated[
        bool, switch("--live", "Draw the curve of one run on the terminal, while it is being trained.")
    ] = False,
    overwrite: Overwrite = False,
    trust: Trust = False,
    quiet: Quiet = False,
    json: Json = False,
) -> None:
    """Draw how agents learnt, into a picture or on the terminal."""
    kind = choose("kind of plot", kind, PLOTS)
    if live:
        from ttt_batch.app.plots.live import watch_curve

        given = {"--out": out is not None, "--kind": kind != "curves", "--overwrite": overwrite, "--json": json}
        extra = first_given(given) or (f"{len(paths)} runs" if len(paths) > 1 else "")
        if extra:
            raise UsageError(f"--live draws the curve of one run on the terminal; leave {extra} out")
        # Ctrl-C and signals that end programs leave the live screen as it was found; nothing there compiles.
        with working(quiet=quiet):
            watch_curve(paths[0], sys.stdout, stdin=sys.stdin, trust=trust)
        return
    import logging

    from ttt_batch.app.plots import plot as draw
    from ttt_batch.base.outputs import check_distinct

    if out is not None:
        check_distinct([("--out", out)], [("RUN", path) for path in paths])
    # Its warnings repeat names from the environment as they are, and tell a person nothing about the picture.
    logging.getLogger("matplotlib").setLevel(logging.ERROR)
    with working(quiet=quiet):
        runs, names = [load_run(path, trust) for path in paths], [run_name(path) for path in paths]

        def work(files: list[Path]) -> Path:
            return draw(runs, names, files[0], kind, overwrite=overwrite)

        stem = f"{paths[0].stem}-{kind}" if len(paths) == 1 else kind
        written = in_new_files([] if out is None else [out], [f"{stem}.png"], work)
    answer(
        json,
        lambda: {"file": str(written), "kind": kind, "runs": [str(path) for path in paths]},
        lambda: f"wrote {run_name(written)}",
        saved=written,
    )
