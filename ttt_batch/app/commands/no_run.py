"""Commands without a run: `learners`, `boards`, `warmup`, `bench`, `page` and `plot`."""

import sys
from pathlib import Path
from typing import Annotated, Any

from ttt_batch.app.commands import shared
from ttt_batch.app.commands.shared import File, Text, argument, option, switch
from ttt_batch.core.errors import UsageError, flag, quoted
from ttt_batch.core.files import shown
from ttt_batch.core.outputs import check_distinct
from ttt_batch.core.text import ALL_LEARNERS, PATTERN_LEARNERS, choose, count_text
from ttt_batch.games.board import BOARDS, parse_board
from ttt_batch.runs.lookup import find_run, is_certificate
from ttt_batch.runs.options import SWITCH

MORE = "ttt-batch learners NAME tells more; ttt-batch train --learner NAME trains one"


def learners(
    name: Annotated[
        Text,
        argument(
            "[NAME]",
            "One learner, in full; FILE.py:NAME for one of your own.",
            offers=ALL_LEARNERS,
            read=shared.learner_meant,
        ),
    ] = None,
    json: shared.Json = False,
) -> None:
    """List the learners, or describe one."""
    from ttt_batch.app.reports.catalogues import learner_description, learner_text, learners_text
    from ttt_batch.learners import LEARNERS, any_learner

    if name is None:
        names = [*LEARNERS, *PATTERN_LEARNERS]
        shared.print_result(
            json, lambda: [*map(learner_description, names)], lambda: f"{learners_text(names)}\n\n{MORE}"
        )
        return
    name = any_learner(name)
    shared.print_result(json, lambda: learner_description(name), lambda: learner_text(name))


def boards(
    name: Annotated[
        Text, argument("[BOARD]", "Count this one, e.g. 4x4x3.", offers=(*BOARDS, *shared.BEYOND_TABLES))
    ] = None,
    symmetry: Annotated[
        str, option("on|off|auto", "Whether images of a position count as one.", offers=SWITCH)
    ] = "auto",
    solution: Annotated[File, option("FILE.npz", "Write every position's result with best play.")] = None,
    overwrite: shared.Overwrite = False,
    quiet: shared.Quiet = False,
    json: shared.Json = False,
) -> None:
    """List boards with their positions, memory and value, or count and solve one."""
    from ttt_batch.analysis.boards import check_solution, known_boards, measure, write_solution
    from ttt_batch.app.reports.catalogues import board_information, board_text, boards_text

    if name is None:
        if solution is not None:
            raise UsageError("--solution goes with a board; name one, e.g. 4x4x4")
        entries = known_boards()
        shared.print_result(json, lambda: [board_information(entry) for entry in entries], lambda: boards_text(entries))
        return
    board = parse_board(name)
    if solution is not None:
        check_solution(solution, overwrite=overwrite)
    with shared.working(quiet=quiet):
        entry = measure(board, symmetry)
        if solution is not None:
            write_solution(board, solution, symmetry, overwrite=overwrite)
    wrote = "" if solution is None else f"\nwrote {shown(solution)}"
    shared.print_result(json, lambda: board_information(entry), lambda: board_text(entry) + wrote)


def warmup(
    processes: Annotated[
        Text, option("N", "Processes that compile at the same time; as many as processors if not given.")
    ] = None,
    larger: Annotated[bool, switch("--larger/--small", "Also what only boards of more than nine cells need.")] = True,
    quiet: shared.Quiet = False,
    json: shared.Json = False,
) -> None:
    """Compile everything once, so that no command ever waits for the compiler."""
    from ttt_batch.analysis.warmup import warm_up, warmup_text

    with shared.working("interrupted; what was compiled is kept", quiet=quiet) as report:
        warmth = warm_up(processes=processes, larger=larger, report=report.warming)
    shared.print_result(json, lambda: vars(warmth) | {"cache": str(warmth.cache)}, lambda: warmup_text(warmth))


def bench_command(
    seconds: Annotated[str, option("SECONDS", "How long to measure, about.")] = "15",
    threads: Annotated[Text, option("N", "The most threads; all processors if not given.")] = None,
    quiet: shared.Quiet = False,
    json: shared.Json = False,
) -> None:
    """Measure what this machine can do: games per second with each learner and engine, threads, evaluation."""
    from ttt_batch.analysis import warmup as benches

    with shared.working("interrupted before everything was measured", quiet=quiet) as report:
        benches.check_bench(seconds, threads)
        benches.compile_bench(report.warming)
        figures = benches.measure_machine(seconds=seconds, threads=threads, progress=report.measuring)
    shared.print_result(json, lambda: benches.bench_summary(figures), lambda: benches.bench_text(figures))


GAMES = 100_000
"""Games of the agent that the page has to play against from the start."""


def page(
    certificate: Annotated[
        Text, argument("[CERTIFICATE]", "An .npz file of prove: a page that plays by its cards, not one that learns.")
    ] = None,
    board: Annotated[Text, option("BOARD", "3x3 or 3x3-misere.", offers=("3x3", "3x3-misere"), default="3x3")] = None,
    out: Annotated[File, option("FILE", "File to write; a new name if not given.", "--out", "-o")] = None,
    lesson: Annotated[bool, switch("--lesson", "Add a tab with five experiments for a class.")] = False,
    overwrite: shared.Overwrite = False,
    quiet: shared.Quiet = False,
    json: shared.Json = False,
) -> None:
    """Write a page on which a table learns before your eyes: one file for any browser, offline.

    You may play against that table at any moment, and against td, trained for 100,000 games. The same page comes from
    export --to html, with a run of your own to play against.
    """
    from ttt_batch.api.tables import check_export_options, export_run
    from ttt_batch.app.web import export_page
    from ttt_batch.app.web.packing import check_learns
    from ttt_batch.runs.formats import check_targets

    if certificate is not None and not is_certificate(certificate):
        raise UsageError(
            f"{quoted(certificate)} is no certificate, an .npz file of prove; for a run give export RUN --to html"
        )
    if certificate is not None and board is not None:
        raise UsageError("--board is that of the certificate; leave it out")
    where = parse_board("3x3" if board is None else board)
    if lesson and (certificate is not None or where.misere):
        extra = f"--board {where.name}" if certificate is None else quoted(certificate)
        raise UsageError(f"the experiments of --lesson are about learning on 3x3; leave {extra} out")
    check_learns(where)
    if out is not None:
        check_export_options("html", [out], None, None, of_run=False)
        check_targets([out], overwrite=overwrite)
    name = Path(certificate).stem if certificate else "lesson" if lesson else f"learn-{where.name}"
    with shared.working("interrupted; no page was written", quiet=quiet) as report:
        from ttt_batch.training.train import train

        report.clear()
        run = train(GAMES, board=where) if certificate is None else None

        def work(paths: list[Path]) -> Path:
            if run is None:
                return export_run(str(certificate), paths[0], "html", overwrite=overwrite)[0]
            return export_page(run, paths[0], opens="lesson" if lesson else "learn", overwrite=overwrite)

        written = shared.in_new_files([] if out is None else [out], [f"{name}.html"], work)
    shared.print_result(
        json, lambda: {"files": [str(written)]}, lambda: f"wrote {shown(written)}: open it in a browser", saved=written
    )


MoviePace = Annotated[
    Text, option("lesson", "Of a movie: begins slowly, and doubles its pace every 5 seconds.", offers=("lesson",))
]
Live = Annotated[bool, switch("--live", "Draw the curve of one run on the terminal, while it is being trained.")]


def plot_command(
    paths: Annotated[
        list[Path],
        argument(
            "[FILE...]",
            "Run files; several are drawn together.  Or the file of a study.  The newest here if not given.",
            read=lambda paths: [find_run(path) for path in paths or []],
        ),
    ] = shared.NEWEST,
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
            offers=shared.PLOTS,
        ),
    ] = "curves",
    metric: Annotated[
        Text,
        option(
            "NAME",
            "Of a study, what sensitivity and heat show, and by which other pictures choose the best eight settings: "
            f"{', '.join(shared.METRICS)}.",
            offers=shared.METRICS,
        ),
    ] = None,
    only: Annotated[
        list[str] | None,
        option("OPTION=VALUES", "Of a study, draw the settings with these values, e.g. alpha=0.1,0.2; repeatable."),
    ] = None,
    pace: MoviePace = None,
    live: Live = False,
    overwrite: shared.Overwrite = False,
    trust: shared.Trust = False,
    learner: shared.OwnLearner = None,
    quiet: shared.Quiet = False,
    json: shared.Json = False,
) -> None:
    """Draw how agents learnt, into a picture or on the terminal."""
    choose("kind of plot", kind, shared.PLOTS)
    pairs = [_pair(text) for text in only or []]
    what = "run" if live or kind in ("opening", "coverage", "movie") else "run or study"
    what = "study" if metric is not None or pairs or kind in ("sensitivity", "settling", "heat") else what
    paths = paths or [shared.newest_file("plot", what)]
    if live:
        from ttt_batch.app.plots.live import watch_curve

        given = {"--out": out is not None, "--kind": kind != "curves", "--overwrite": overwrite, "--json": json}
        given |= {"--metric": metric is not None, "--only": bool(pairs), "--pace": pace is not None}
        extra = shared.first_given(given) or (f"{len(paths)} runs" if len(paths) > 1 else "")
        if extra:
            raise UsageError(f"--live draws the curve of one run on the terminal; leave {extra} out")
        # Ctrl-C and signals that end programs leave the live screen as it was found; nothing there compiles.
        with shared.working(quiet=quiet):
            watch_curve(paths[0], sys.stdout, stdin=sys.stdin, trust=trust)
        return
    if pace is not None and choose("pace of a movie", pace, ("lesson",)) and kind != "movie":
        raise UsageError("--pace is for movies; add --kind movie, or leave it out")
    of_study = {"metric": metric, "only": pairs}
    _draw(paths, out, kind, of_study, lesson=pace is not None, overwrite=overwrite, trust=trust, quiet=quiet, json=json)


def _draw(
    paths: list[Path],
    out: Path | None,
    kind: str,
    of_study: dict[str, Any],
    *,
    lesson: bool,
    overwrite: bool,
    trust: bool,
    quiet: bool,
    json: bool,
) -> None:
    """Draw runs or a study into a file.  of_study: options for a study only, with the values given.

    lesson: show a movie at the pace of a lesson.
    """
    import logging

    from ttt_batch.app.plots import draw_picture, study_to_draw

    study, kind = study_to_draw(paths, kind)
    name = f"{f'{paths[0].stem}-{kind}' if len(paths) == 1 else kind}{'.gif' if kind == 'movie' else '.png'}"
    outs = [] if out is None else shared.with_endings([out], [name])
    check_distinct([("--out", file) for file in outs], [("FILE", path) for path in paths])
    wrong = {"--trust": trust} if study else {flag(name): value not in (None, []) for name, value in of_study.items()}
    if extra := shared.first_given(wrong):
        raise UsageError(f"{extra} is for {'runs' if study else 'a study'}; leave it out")
    # Its warnings repeat names from the environment as they are, and tell a person nothing about the picture.
    logging.getLogger("matplotlib").setLevel(logging.ERROR)
    with shared.working(quiet=quiet) as report:
        runs = [] if study else [shared.load_any_run(path, trust) for path in paths]

        def work(files: list[Path]) -> Path:
            more: dict[str, Any] = {"study": study, "lesson": lesson, **of_study}
            if kind == "movie":
                more["progress"] = report.counting(
                    lambda drawn, of: f"drawing the movie: {drawn:,} of {count_text(of, 'frame')}", 0, 0
                )
            names = [shown(path) for path in paths]
            return draw_picture(runs, names, files[0], kind, **more, overwrite=overwrite)

        written = shared.in_new_files(outs, [name], work)
    shared.print_result(
        json,
        lambda: (
            {"file": str(written), "kind": kind}
            | ({"study": str(study)} if study else {"runs": [str(path) for path in paths]})
        ),
        lambda: f"wrote {shown(written)}",
        saved=written,
    )


def _pair(text: str) -> tuple[str, str]:
    """Return an option and its values from `OPTION=VALUES`.  Raises UsageError."""
    name, _, values = text.partition("=")
    if not name.strip() or not values.strip():
        raise UsageError(f"--only {quoted(text)} names no values; write an option and its values, e.g. alpha=0.1,0.2")
    return name.strip(), values
