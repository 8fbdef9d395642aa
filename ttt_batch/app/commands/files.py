"""Run files and tables of other programs: `info`, `check`, `export`, `import`."""

from contextlib import ExitStack
from pathlib import Path
from typing import Annotated, Any

import typer

from ttt_batch.app.commands import shared
from ttt_batch.app.commands.shared import File, Text, argument, option, switch
from ttt_batch.core.errors import UsageError
from ttt_batch.core.files import command_text, shown
from ttt_batch.core.named_code import is_callable_name
from ttt_batch.core.outputs import check_distinct
from ttt_batch.core.text import LEARNER_NAMES, SEATS, TIES, check_ties, either, find_name
from ttt_batch.games.board import BOARD, BOARDS
from ttt_batch.runs.lookup import find_run, is_agent_name, is_certificate


def info(
    path: Annotated[
        File, argument("[FILE]", "File of a run or a study; the newest here if not given.", read=shared.run_or_none)
    ] = None,
    form: Annotated[bool, switch("--format", "Explain the format of run files instead.")] = False,
    trust: shared.Trust = False,
    learner: shared.OwnLearner = None,
    json: shared.Json = False,
) -> None:
    """Say what a run file, or a study's, holds."""
    if form:
        from ttt_batch.runs.storage.declaration import format_documentation, format_information

        if path is not None:
            raise UsageError("--format explains every run file; leave the name of one out")
        shared.print_result(json, format_information, lambda: format_documentation().rstrip())
        return
    if path is None:
        path = shared.newest_file("info", "run or study")
    from ttt_batch.studies.storage.header import STUDY_FILE

    if STUDY_FILE.begins(path):
        from ttt_batch.app.reports.study import study_information, study_information_text
        from ttt_batch.studies.storage.reading import open_study

        _no_trust(trust)
        with open_study(path) as study:
            about_study = study_information(study, str(path))
        shared.print_result(json, lambda: about_study, lambda: study_information_text(about_study))
        return
    from ttt_batch.app.reports.training import information_text, run_information

    run = shared.load_any_run(path, trust)
    information = run_information(run, str(path))
    shared.print_result(json, lambda: information, lambda: information_text(information, run))


def _no_trust(trust: bool) -> None:
    """Raise UsageError if a study or a certificate is to be trusted."""
    if trust:
        raise UsageError("--trust is for runs; leave it out")


def check_command(
    path: shared.FilePath = shared.NEWEST,
    of: Annotated[File, option("RUN", "With a certificate: the run that it should be of.", read=find_run)] = None,
    trust: shared.Trust = False,
    learner: shared.OwnLearner = None,
    quiet: shared.Quiet = False,
    json: shared.Json = False,
) -> None:
    """Look for all that is wrong with the file of a run, a study or a certificate: status 0 if nothing is, else 1."""
    from ttt_batch.runs.loading import check_run, grounds_of, load_any
    from ttt_batch.runs.network_run import PatternRun
    from ttt_batch.studies.storage.header import STUDY_FILE

    study, certificate = STUDY_FILE.begins(path), path.suffix == ".npz"
    if study or certificate:
        _no_trust(trust)
    if of is not None and not certificate:
        raise UsageError(f"--of goes with a certificate, an .npz file; {shown(path)} is none: leave it out")
    verified, trusted, claims = tuple[str, ...](), tuple[str, ...](), list[str]()
    with shared.working(quiet=quiet):
        if study:
            from ttt_batch.studies.checks import check_study

            findings, notes, (verified, trusted) = check_study(path)
        elif certificate:
            from ttt_batch.analysis.judge import check_certificate

            claim, findings = check_certificate(path, None if of is None else shared.load_any_run(of, False))
            notes, claims = (), [f"{shown(path)} claims: {claim}"] if claim else []
        else:
            findings, notes = check_run(path, trust=trust)
            if not findings:
                run = load_any(path, trust=trust)
                if isinstance(run, PatternRun):
                    from ttt_batch.training.network_trainer import check_proofs

                    findings = [f"{shown(path)}: {finding}" for finding in check_proofs(run)]
                if not findings:
                    verified, trusted = grounds_of(run, digest=not trust or not run.notes)
    shared.say(path, notes)
    nothing = "nothing else" if notes and trust else "nothing"
    lines = [*claims, *(findings or [f"{shown(path)}: {nothing} is wrong with it"])]
    for what, items in (("verified", verified), ("taken on trust", trusted)):
        lines = [*lines, f"{what}: {'; '.join(items)}"] if items else lines
    shared.print_result(
        json,
        lambda: {"file": str(path), "findings": findings, "verified": verified, "taken_on_trust": trusted},
        lambda: "\n".join(lines),
    )
    if findings:
        raise typer.Exit(1)


ExportFormat = Annotated[
    Text,
    option(
        "FORMAT",
        "html, a page to play on; boxes, menace's to print; cards, a certificate's to print; lesson, experiments "
        "for a class to print, without a run; hdf5, arrays that say what they are; or "
        f"{', '.join(shared.TABLE_FORMATS)}.",
        default="as FILE ends",
        offers=shared.FORMATS,
    ),
]


def export_(
    *,
    run: Annotated[Text, argument("[RUN]", "A run file, or an agent; the newest run here if not given.")] = None,
    to: ExportFormat = None,
    out: Annotated[
        list[Path] | None, option("FILE", "File to write; two for two players; new names if not given.", "--out", "-o")
    ] = None,
    player: shared.Player = None,
    ties: Annotated[
        Text, option("sharp|soonest|any", "How the agent plays on a page, as for play.", offers=TIES, default="sharp")
    ] = None,
    board: shared.AgentBoard = None,
    illegal: shared.Illegal = None,
    time_limit: shared.TimeLimit = None,
    overwrite: shared.Overwrite = False,
    trust: shared.Trust = False,
    learner: shared.OwnLearner = None,
    quiet: shared.Quiet = False,
    json: shared.Json = False,
) -> None:
    """Write a run as a page that plays in any browser, or its table in another program's format.

    Of an agent (see evaluate) html, or as json and csv the probability of each cell where it may come.
    Of a certificate, an .npz file, the same, and cards to print (PDF or HTML), which tell a player without a computer
    each move.
    """
    from ttt_batch.agents.adapter import watched
    from ttt_batch.api.tables import check_export_options, export_run, formats_of, resolve_format
    from ttt_batch.runs import loading
    from ttt_batch.runs.formats import WHOLE
    from ttt_batch.runs.importing import check_export

    rules = shared.AgentOptions(board, illegal, time_limit)
    if find_name(to, ["lesson"]):
        rules.refuse("a lesson is of no agent")
        given = {"RUN": run is not None, "--player": player is not None, "--ties": ties is not None, "--trust": trust}
        given |= {"--learner": learner is not None, "all but one --out": len(out or []) > 1}
        if extra := shared.first_given(given):
            raise UsageError(f"a lesson is one file, of no run; leave {extra} out")
        return _export_lesson(out or [], overwrite=overwrite, quiet=quiet, json=json)
    run = str(shared.newest_file("export", "run")) if run is None else run
    certified = is_certificate(run)
    of_agent = is_agent_name(run) and not certified
    if not of_agent:
        rules.refuse(f"{shared.called(run)} is a {'certificate' if certified else 'run'}")
    _no_trust(trust and certified)
    to = resolve_format(to, out or [], formats_of(run, of_agent=of_agent))
    if of_agent and to == "html" and illegal is not None:
        raise UsageError("--illegal is for json and csv: on a page every move is to a free cell; leave it out")
    path = Path(run.rpartition(":")[0]) if is_callable_name(run) else find_run(run)
    names = [f"{shared.file_stem(run)}.{to}"] if of_agent else _new_names(path, to, player)
    if not of_agent or is_callable_name(run):
        check_distinct([("--out", file) for file in shared.with_endings(out or [], names)], [("RUN", path)])
    options = dict[str, Any](ties=None if ties is None else check_ties(ties), overwrite=overwrite, player=player)
    check_export_options(to, out or [], player, ties, of_run=not (of_agent or certified))
    with shared.working(quiet=quiet) as report, watched(report.asking), ExitStack() as stack:
        table: Any = path
        if of_agent:
            (table,) = stack.enter_context(rules.open([run], trust))
        elif not certified:
            load = loading.load_any if to in WHOLE else loading.load
            table = load(path, trust=trust, check=lambda config: check_export(config, to))
            shared.say(path, table.notes)
            options["warn"] = report.warn
        files = shared.in_new_files(out or [], names, lambda paths: export_run(table, paths, to, **options))
    shared.print_result(
        json,
        lambda: {"files": [str(written) for written in files]},
        lambda: "\n".join(f"wrote {shown(written)}" for written in files),
        saved=files[0],
    )


def _export_lesson(out: list[Path], *, overwrite: bool, quiet: bool, json: bool) -> None:
    """Write the printed lesson."""
    from ttt_batch.app.lesson import export_lesson

    with shared.working(quiet=quiet):
        written = shared.in_new_files(out, ["lesson.pdf"], lambda paths: export_lesson(paths[0], overwrite=overwrite))
    shared.print_result(json, lambda: {"files": [str(written)]}, lambda: f"wrote {shown(written)}", saved=written)


ImportFormat = Annotated[
    Text,
    option(
        "FORMAT",
        f"{either((*shared.TABLE_FORMATS, 'hdf5'))}, exactly as export writes it.",
        "--format",
        offers=shared.FORMATS[3:],
    ),
]
"""A format of ours that the file of `import` has."""

Keys = Annotated[
    Text,
    option(
        "E,F,S",
        "How keys write an empty cell, the first player and the second, such as 0,1,2 or space,X,O; then mover if "
        "F is the player to move, and low if the first cell is the lowest digit.",
        default="found",
    ),
]
"""Form of a table's keys, for `import`."""


@shared.learning_options("draw_worth")
def import_(
    files: Annotated[list[Path], argument("FILE...", "The table; one or two files, a player each.")],
    out: Annotated[Path, option("RUN", "Run file to write.", "--out", "-o", read=shared.new_run)],
    learner: Annotated[
        Text,
        option(
            "NAME",
            "The learner whose table it is.",
            default="the one that fits",
            offers=LEARNER_NAMES,
            read=shared.learner_meant,
        ),
    ] = None,
    form: ImportFormat = None,
    keys: Keys = None,
    player: shared.Player = None,
    board: Annotated[str, option("BOARD", f"{BOARD}; few files name it.", offers=BOARDS)] = "3x3",
    overwrite: shared.Overwrite = False,
    quiet: shared.Quiet = False,
    json: shared.Json = False,
    **options: Any,
) -> None:
    """Read another program's table into a run file.

    It may be plain HDF5 of export, a dictionary (JSON or pickle), an array (npy, npz) or columns (csv, text, parquet),
    of values or of moves to play, such as b2.  Keys may be numbers, text or tuples, and data/tables.md shows each
    shape.  Wrap any other table as an agent; `ttt-batch evaluate --help` shows eight lines for a dictionary.
    """
    from ttt_batch.app.reports.training import training_summary, verdict_text
    from ttt_batch.runs.config import make_config
    from ttt_batch.runs.importing import import_form, import_tables
    from ttt_batch.runs.storage.run_file import RUN_FILE

    check_distinct([("--out", out)], [("FILE", file) for file in files])
    make_config(learner=learner or None, board=board, **options)
    if form is not None:
        import_form(form)
    RUN_FILE.check(out, overwrite=overwrite)
    with shared.working(quiet=quiet) as report:
        run = import_tables(
            files,
            learner,
            form=form,
            board=board,
            player=player,
            keys=keys,
            command=shared.command_line(),
            warn=report.warn,
            **options,
        )
    run.save(out, overwrite=overwrite)
    if not quiet:
        shared.say(files[0], run.notes)
    judged = " (--ties any)" if run.grown is None else ""
    shared.print_result(
        json,
        lambda: training_summary(run, str(out)),
        lambda: (
            f"saved {shown(out)}: {run.config.learner} on {run.config.board.name}, {verdict_text(run)}{judged}\n"
            f"next: {command_text('evaluate', out)}"
        ),
        saved=out,
    )


def _new_names(path: Path, to: str, player: str | None) -> list[str]:
    """Return new names for the files of a table: after its run, one per player if there are two."""
    from ttt_batch.runs.formats import format_named

    ends = {"html": ".html", "hdf5": "-table.h5", "boxes": "-boxes.pdf", "cards": "-cards.pdf"}
    if to in ends:
        return [f"{path.stem}{ends[to]}"]
    form = format_named(to)
    if not form.per_player:
        return [f"{path.stem}{form.suffix}"]
    return [f"{path.stem}-{seat}{form.suffix}" for seat in ([player] if player else SEATS)]
