"""Pictures of how agents learnt: `plot`."""

import sys
from pathlib import Path
from typing import Annotated

from ttt_batch.app.commands.declare import METRICS, PLOTS, File, Text, argument, option, switch
from ttt_batch.app.commands.options import (
    NEWEST,
    Json,
    Overwrite,
    OwnLearner,
    Quiet,
    Trust,
    find_named_runs,
    first_given,
)
from ttt_batch.app.commands.shared import in_new_files, load_any_run, newest_file, print_result, run_name, working
from ttt_batch.base.choices import choose
from ttt_batch.base.console import is_live
from ttt_batch.base.errors import UsageError, quoted
from ttt_batch.base.quantities import count_text

Live = Annotated[bool, switch("--live", "Draw the curve of one run on the terminal, while it is being trained.")]


def plot_command(
    paths: Annotated[
        list[Path],
        argument(
            "[FILE...]",
            "Run files; several are drawn together.  Or the file of a study.  The newest here if not given.",
            read=find_named_runs,
        ),
    ] = NEWEST,
    out: Annotated[
        File,
        option("FILE", "The picture to write, .png or .svg, .gif for a movie; a new name if not given.", "--out", "-o"),
    ] = None,
    kind: Annotated[
        str,
        option(
            "curves|opening|coverage|movie, or of a study curves|sensitivity|settling|heat",
            "Learning curves, the opening values as boards, which positions were visited, or how the opening values "
            "moved (of a run trained with --keep-points).  Of a study: how a metric depends on the step size, which "
            "share of the seeds was proved by each game, or two options against each other.",
            offers=PLOTS,
        ),
    ] = "curves",
    metric: Annotated[
        Text,
        option(
            "NAME",
            "Of a study, what sensitivity and heat show, and by which other pictures choose the best eight settings: "
            f"{', '.join(METRICS)}.",
            offers=METRICS,
        ),
    ] = None,
    only: Annotated[
        list[str] | None,
        option("OPTION=VALUES", "Of a study, draw the settings with these values, e.g. alpha=0.1,0.2; repeatable."),
    ] = None,
    live: Live = False,
    overwrite: Overwrite = False,
    trust: Trust = False,
    learner: OwnLearner = None,
    quiet: Quiet = False,
    json: Json = False,
) -> None:
    """Draw how agents learnt, into a picture or on the terminal."""
    choose("kind of plot", kind, PLOTS)
    pairs = [_pair(text) for text in only or []]
    paths = paths or [_newest(kind, live=live, of_study=metric is not None or bool(pairs))]
    if live:
        from ttt_batch.app.plots.live import watch_curve

        given = {"--out": out is not None, "--kind": kind != "curves", "--overwrite": overwrite, "--json": json}
        given |= {"--metric": metric is not None, "--only": bool(pairs)}
        extra = first_given(given) or (f"{len(paths)} runs" if len(paths) > 1 else "")
        if extra:
            raise UsageError(f"--live draws the curve of one run on the terminal; leave {extra} out")
        # Ctrl-C and signals that end programs leave the live screen as it was found; nothing there compiles.
        with working(quiet=quiet):
            watch_curve(paths[0], sys.stdout, stdin=sys.stdin, trust=trust)
        return
    _draw(paths, out, kind, metric, pairs, overwrite=overwrite, trust=trust, quiet=quiet, json=json)


def _newest(kind: str, *, live: bool, of_study: bool) -> Path:
    """Return the newest file here of which there is such a picture.  Raises UsageError if there is none."""
    if of_study or kind in ("sensitivity", "settling", "heat"):
        return newest_file("plot", "study")
    return newest_file("plot", "run" if live or kind in ("opening", "coverage", "movie") else "run or study")


def _draw(
    paths: list[Path],
    out: Path | None,
    kind: str,
    metric: str | None,
    only: list[tuple[str, str]],
    *,
    overwrite: bool,
    trust: bool,
    quiet: bool,
    json: bool,
) -> None:
    """Draw runs or a study into a file."""
    import logging

    from ttt_batch.app.plots import draw_runs as draw
    from ttt_batch.app.plots import plot_study, study_to_draw
    from ttt_batch.base.outputs import check_distinct

    if out is not None:
        check_distinct([("--out", out)], [("FILE", path) for path in paths])
    study, kind = study_to_draw(paths, kind)
    wrong = {"--trust": trust} if study else {"--metric": metric is not None, "--only": bool(only)}
    if extra := first_given(wrong):
        raise UsageError(f"{extra} is for {'runs' if study else 'a study'}; leave it out")
    # Its warnings repeat names from the environment as they are, and tell a person nothing about the picture.
    logging.getLogger("matplotlib").setLevel(logging.ERROR)
    frames = (0, 0)

    def progress(drawn: int, of: int) -> None:
        nonlocal frames
        frames = drawn, of

    with working(quiet=quiet) as report:
        runs = [] if study else [load_any_run(path, trust) for path in paths]

        def work(files: list[Path]) -> Path:
            if study:
                return plot_study(study, files[0], kind, metric=metric, only=only, overwrite=overwrite)
            if kind == "movie" and not quiet and is_live(sys.stderr):
                report.spin(lambda: f"drawing the movie: {frames[0]:,} of {count_text(frames[1], 'frame')}")
            names = [run_name(path) for path in paths]
            return draw(runs, names, files[0], kind, overwrite=overwrite, progress=progress)

        stem = f"{paths[0].stem}-{kind}" if len(paths) == 1 else kind
        written = in_new_files([] if out is None else [out], [f"{stem}{'.gif' if kind == 'movie' else '.png'}"], work)
    print_result(
        json,
        lambda: (
            {"file": str(written), "kind": kind}
            | ({"study": str(study)} if study else {"runs": [str(path) for path in paths]})
        ),
        lambda: f"wrote {run_name(written)}",
        saved=written,
    )


def _pair(text: str) -> tuple[str, str]:
    """An option and its values from `OPTION=VALUES`.  Raises UsageError."""
    name, _, values = text.partition("=")
    if not name.strip() or not values.strip():
        raise UsageError(f"--only {quoted(text)} names no values; write an option and its values, e.g. alpha=0.1,0.2")
    return name.strip(), values
