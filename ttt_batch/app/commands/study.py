"""`study`: many learners, every combination of settings with every seed, into one file."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from ttt_batch.app.commands import shared
from ttt_batch.app.commands.shared import File, Text, argument, option, switch
from ttt_batch.app.commands.usage import SWEPT
from ttt_batch.core.errors import ClusterError, InterruptedTraining, TttBatchError, display_name
from ttt_batch.core.files import command_text, shown
from ttt_batch.core.named_code import is_callable_name
from ttt_batch.core.resources import thread_count
from ttt_batch.core.text import AGAINST, ALL_LEARNERS, count_text, duration_text, size_text
from ttt_batch.runs.lookup import find_run

if TYPE_CHECKING:
    from ttt_batch.studies.study import Repetition, Study
    from ttt_batch.studies.summary import Summary


Learners = Annotated[
    Text,
    option(
        "NAMES",
        "Learners; FILE.py:NAME for one of your own, alone beside STUDY.toml.",
        offers=ALL_LEARNERS,
        default="td",
    ),
]

Description = Annotated[File, argument("[STUDY.toml]", "These options in a file, or several grids.")]


@shared.learning_options(*SWEPT, command="study")
def study_command(
    description: Description = None,
    games: Annotated[Text, option("N", "Games of each learner; the learner's published number if not given.")] = None,
    learner: Learners = None,
    *,
    opponent: Annotated[
        Text,
        option(
            "NAMES",
            "self, random, one-ply, two-ply, optimal or run files.",
            offers=AGAINST,
            default="self; menace: random",
        ),
    ] = None,
    seeds: Annotated[
        Text, option("N", "Number of seeds, from 0 on, or a list: 5,7 or 100..199.", default="100")
    ] = None,
    sweep: Annotated[
        Text,
        option(
            "grid|one-at-a-time",
            "All combinations, or one option at a time around the first values.",
            offers=shared.SWEEPS,
        ),
    ] = None,
    keep: Annotated[
        Text,
        option("none|last", "Which tables or weights of the learners to keep.", offers=shared.KEEPS, default="none"),
    ] = None,
    tally: Annotated[bool | None, switch("--tally", "Count results only, without evaluating tables.")] = None,
    resume: Annotated[File, option("STUDY.h5", "Continue a study, or extend it.", read=find_run)] = None,
    best: Annotated[
        Text, option("METRIC", "Rank by proof, settling, proved, holds, loss, error or time.", offers=shared.RANKS)
    ] = None,
    confirm: Annotated[
        Text, option("N", "Repeat the best setting and the default on N fresh seeds.", default="no repetition")
    ] = None,
    threads: Annotated[Text, option("N", "Threads; all processors if not given. Never changes a result.")] = None,
    workers: shared.Workers = None,
    scheduler: shared.Scheduler = None,
    dry_run: Annotated[bool, switch("--dry-run", "Estimate number of learners, time and disk space.")] = False,
    out: Annotated[
        File, option("FILE", "File to write; a new name if not given.", "--out", "-o", read=shared.new_run)
    ] = None,
    overwrite: shared.Overwrite = False,
    quiet: shared.Quiet = False,
    json: shared.Json = False,
    **options: Any,
) -> None:
    """Compare settings over many seeds, each learner judged exactly, in one file that can be resumed and extended.

    Options that shape learning take one value, a list (0.1,0.2) or a range (0.1..0.5:5, 0.001..1:7log).  Semicolons
    separate values that have commas.
    """
    given = locals()
    given["learner"] = shared.learners_meant(learner)  # FILE.py:NAME alone makes them known
    if (description or resume) and learner is not None and all(map(is_callable_name, shared.split_learners(learner))):
        given["learner"] = None  # another file says which to study
    _study(**given.pop("options"), **given)


def _study(
    *, out: Path | None, best: Text, confirm: Text, dry_run: bool, quiet: bool, json: bool, **given: Any
) -> None:
    """Do what `study` was given."""
    from ttt_batch.app.interrupt import Interrupt
    from ttt_batch.app.progress import Reporter
    from ttt_batch.studies.study import fresh_seeds
    from ttt_batch.studies.study import study as run_study
    from ttt_batch.studies.summary import check_counted, metric_named

    if best is not None:
        metric_named(best)
    if confirm is not None:
        fresh_seeds(confirm)
    if given["tally"]:
        check_counted(best, confirm)
    if dry_run:
        _say_plan(out=out, json=json, **given)
        return
    resume = given["resume"]
    nothing = "interrupted; nothing was written" if resume is None else "interrupted; nothing more was written"
    with Interrupt(nothing) as interrupt:
        with Reporter(quiet=quiet) as report:

            def work(target: Path) -> "Study":
                saved = ""

                def progress(now: Any) -> None:
                    nonlocal saved
                    # Nothing is lost before that, and kernels take long to compile.
                    saved, interrupt.gently = f"; what was learnt is saved; {_go_on(now.path)}", now.games > 0
                    interrupt.message = f"interrupted{saved}"
                    report.studying(now)

                where = out if resume is not None else target
                follow: dict[str, Any] = {"progress": progress, "stop": interrupt.requested, "warn": report.warn}
                try:
                    return run_study(**given, out=where, **follow, command=shared.command_line())
                except ClusterError as error:
                    raise ClusterError(f"{error}{saved}") from None

            done = shared.in_new_file(out if resume is None else resume, "study", work)
        interrupt.message = f"interrupted; the study is saved in {shown(done.path)}; {_go_on(done.path)}"
        with done:
            found, failure, again = done.summary(), _unfinished(done), None
        if confirm is not None and failure is None:
            try:
                with Reporter(quiet=quiet) as report:
                    watched: dict[str, Any] = {name: given[name] for name in ("threads", "workers", "scheduler")}
                    watched |= {"progress": report.studying, "stop": interrupt.requested, "warn": report.warn}
                    again = done.confirm(confirm, best, **watched)
                failure = _unconfirmed(again, done.path)
            except TttBatchError as error:  # it is said below the study's figures
                failure = error
    _say_end(done.path, found, best, again, failure, json=json)


def _go_on(path: Path) -> str:
    return f"go on with {command_text('study', '--resume', path)}"


def _unfinished(done: "Study") -> TttBatchError | None:
    """Return the error of an unfinished study, InterruptedTraining or one of failed learners; otherwise None."""
    from ttt_batch.studies.storage.layout import count_states

    learners = count_states(done.state)
    if learners["missing"]:
        left = count_text(learners["missing"], "learner is", "learners are")
        return InterruptedTraining(f"interrupted; {left} missing, the others are saved; {_go_on(done.path)}")
    if learners["failed"]:
        reason = next(done.failures())[2]
        return TttBatchError(
            f"{count_text(learners['failed'], 'learner')} failed ({reason}); try again: {_go_on(done.path)}"
        )
    return None


def _unconfirmed(again: "Repetition", path: Path) -> TttBatchError | None:
    """Return the error of an unfinished repetition; otherwise None."""
    learners = again.fresh.learners()
    if learners["missing"]:
        return InterruptedTraining(
            f"interrupted while the best was repeated; the study is saved in {shown(path)}; {_go_on(path)} --confirm N"
        )
    if learners["failed"]:
        reason = next(iter(again.fresh.reasons))
        return TttBatchError(f"{count_text(learners['failed'], 'learner')} of the repetition failed ({reason})")
    return None


def _say_plan(
    *, json: bool, resume: Path | None, threads: Text, workers: Text, scheduler: Text, overwrite: bool, **given: Any
) -> None:
    """Print what a study would learn."""
    from ttt_batch.cluster.config import cluster_config
    from ttt_batch.studies.designs.values import listed
    from ttt_batch.studies.study import estimated, plan_study

    place = cluster_config(workers, scheduler, threads)
    at_once = place.workers if place is not None and place.workers else thread_count(threads)
    plan = plan_study(resume=resume, **given)
    design, done = plan.design, plan.design.learners - sum(plan.missing)
    settings, n_seeds, learners = len(design.settings), len(design.seeds), design.learners
    games = sum(setting.games for setting in design.settings) * n_seeds
    needs = estimated(design, plan.keep, at_once, plan.missing)
    numbers = {"settings": settings, "seeds": n_seeds, "learners": learners, "done": done}

    def text() -> str:
        takes = "unknown"
        if needs.seconds is not None:
            takes = f"about {duration_text(needs.seconds)} on {count_text(at_once, 'thread')}"
        several = f"{count_text(settings, 'setting')}, {count_text(n_seeds, 'seed')}"
        lines = [f"{several}: {count_text(learners, 'learner')}, {count_text(games, 'game')}"]
        for name, values in design.axes.items():
            lines.append(f"  {display_name(name)}: {listed([value for value in values if value != ''])}")  # '': none
        lines += [f"done: {count_text(done, 'learner')}"] if resume is not None else []
        return "\n".join([*lines, f"time: {takes}", f"file: {size_text(needs.bytes)}"])

    shared.print_result(json, lambda: {**numbers, "games": games, "seconds": needs.seconds, "bytes": needs.bytes}, text)


def _say_end(
    path: Path, found: "Summary", best: Text, again: "Repetition | None", failure: TttBatchError | None, *, json: bool
) -> None:
    """Print what was learnt.  Raises `failure` then."""
    from ttt_batch.app.reports.study import confirmation_text, study_text

    def facts() -> dict[str, Any]:
        more = {} if again is None else {"confirmation": again.to_dict()}
        return {"file": str(path), **found.to_dict(best), **more}

    def text() -> str:
        repeated = "" if again is None else f"\n\n{confirmation_text(again)}"
        return f"{study_text(found, best)}{repeated}\nsaved:   {shown(path)}"

    try:
        shared.print_result(json, facts, text, saved=path)
    finally:
        if failure is not None:
            raise failure
