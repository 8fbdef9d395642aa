"""Python interface of studies: create, extend or resume a study, and open its file."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ttt_batch.base.choices import check_switches, choose
from ttt_batch.base.errors import UsageError, flag, warn_python
from ttt_batch.base.outputs import check_distinct, named_file
from ttt_batch.base.printable import Printable, progress_callback
from ttt_batch.base.processors import thread_count
from ttt_batch.base.quantities import Number, count_text
from ttt_batch.cluster.crew import WorkerPool
from ttt_batch.cluster.place import ClusterConfig, cluster_config
from ttt_batch.patterns.tuples import FileText
from ttt_batch.runs.lookup import find_run
from ttt_batch.runs.recorder import Clock
from ttt_batch.studies import frames
from ttt_batch.studies.designs.description import read_description
from ttt_batch.studies.designs.design import Design, make_design
from ttt_batch.studies.designs.grid import FULL
from ttt_batch.studies.designs.opponents import RunOpponent
from ttt_batch.studies.figures.summary import Summary, summarise
from ttt_batch.studies.repetition import Repetition, confirmed, temporary
from ttt_batch.studies.storage.creation import create_study, extend_study
from ttt_batch.studies.storage.declared import DONE, FAILED, KEEPS, MISSING, NONE
from ttt_batch.studies.storage.reading import StudyFile, open_as, open_study
from ttt_batch.studies.storage.writing import resume_study
from ttt_batch.studies.work.loop import StudyProgress, run_study

if TYPE_CHECKING:
    from pandas import DataFrame
    from xarray import Dataset

MEMORY = Path("a study in memory")
"""Path that marks a study without a file of its own."""


class Study(StudyFile, Printable):
    """A study's file, open for reading: its design, its results and their figures.

    design: the settings and seeds.  state: uint8[settings, seeds], 0 missing, 1 done, 2 failed.
    `array("unbeatable")`, or `array("proof")` for networks, returns results [settings, seeds, points, ...].
    """

    def __repr__(self) -> str:
        settings, seeds = self.state.shape
        states = {"done": DONE, "failed": FAILED, "missing": MISSING}
        counts = [f"{np.count_nonzero(self.state == state):,} {name}" for name, state in states.items()]
        return f"<Study: {count_text(settings, 'setting')}, {count_text(seeds, 'seed')} each; {', '.join(counts)}>"

    def to_dict(self) -> dict[str, Any]:
        """Return plain values with stable keys, as `study --json` prints them."""
        return {"file": None if self.path == MEMORY else str(self.path), **self.summary().to_dict()}

    def records(self) -> tuple[Sequence[Mapping[str, Any]], str]:
        """Return a row for each setting."""
        return self.summary().records()

    def summary(self) -> Summary:
        """Return the figures of every setting over its seeds."""
        return summarise(self)

    def confirm(
        self,
        seeds: Number | Iterable[int],
        best: str | None = None,
        *,
        threads: Number | None = None,
        workers: Number | None = None,
        scheduler: str | None = None,
        progress: Callable[[StudyProgress], None] | bool | None = None,
    ) -> Repetition:
        """Repeat the best setting, and the default, on fresh seeds, because the best of many looks better than it is.

        seeds: number of fresh seeds.  best: the metric, `proof` by default.
        threads, workers, scheduler, progress: as for `study`.
        Raises UsageError, ClusterError, and TttBatchError if no setting has a usable figure of that metric.
        """
        where: dict[str, Any] = {"threads": threads, "workers": workers, "scheduler": scheduler}
        with progress_callback(progress, "studying") as follow:
            return confirmed(self.summary(), seeds, best, **where, progress=follow)

    def to_dataframe(self, *, last: bool = False) -> "DataFrame":
        """Return a pandas DataFrame with a row for each recorded point of every learner that is done.

        Columns: `setting`, `seed`, the options, `point`, `games`, and the statistics, such as `seconds` (NaN at points
        within one kernel) and `unbeatable.first`.  last: include only the last points.
        Raises TttBatchError if pandas is missing.
        """
        return frames.to_dataframe(self, last=last)

    def to_xarray(self) -> "Dataset":
        """Return an xarray Dataset of the statistics on axes `setting`, `seed`, `point` and others.

        The options are coordinates.  Where `state` is not 1, and after a setting's last point, floats are NaN and other
        values False or 0.  `seconds` are also NaN at points within one kernel.
        Raises TttBatchError if xarray is missing.
        """
        found: Dataset = frames.to_xarray(self)
        return found


def load_study(path: str | Path) -> Study:
    """Open a study's file for reading.  Raises StudyFileError."""
    return open_as(Study, path)


def study(
    description: str | Path | None = None,
    *,
    out: str | Path | None = None,
    resume: str | Path | None = None,
    seeds: Number | Iterable[int] | None = None,
    sweep: str | None = None,
    keep: str | None = None,
    threads: Number | None = None,
    workers: Number | None = None,
    scheduler: str | None = None,
    overwrite: bool = False,
    progress: Callable[[StudyProgress], None] | bool | None = None,
    stop: Callable[[], bool] | None = None,
    warn: Callable[[str], None] | None = None,
    command: str = "",
    **options: object,
) -> Study:
    """Train a learner for every combination of the options' values and every seed, and return the study.

    description: a STUDY.toml instead of options.
    learner, board, epsilon, alpha, ...: as for `train`.  Each is one value, a list of values, or text as in the
    command: `"0.1,0.2"`, `"0.01..0.5:6"` (six values, evenly spaced), `"0.001..1:7log"`.  A study has either tables
    or networks.  Networks continue to the end of their last proof, as in `train`.
    seeds: the number of seeds from 0 on (100 by default), or the seeds, such as `"5,7"` or `"100..199"`.
    sweep: `grid` for all combinations, or `one-at-a-time` to change one option at a time around the first values.
    out: the file to write.  Without `out` and `resume`, no file is left and the results last as long as the study.
    resume: the file of a study to continue, without repeating finished learners.  Options and seeds extend it.
    tally: count results only and evaluate no table, for a million short runs.
    keep: `last` to keep every learner's final tables, or a network's final weights; or `none`.
    threads: number of threads, None for all processors.  workers: number of processes of this machine instead.
    scheduler: address of a Dask scheduler, such as `tcp://host:8786`, instead.  None of the three changes a result.
    progress: True for a bar on standard error, or a function that is called about ten times a second.
    stop: called as often.  Once it returns True, the study ends after the learners in progress (at once with workers)
    and can be resumed.
    warn: called with each message about workers, instead of a Python warning.

    The file records a learner that fails, with its reason.  Resuming the study tries it again.
    Raises UsageError, BoardError, RunFileError, StudyFileError, and ClusterError if the scheduler or the workers are
    missing.  The file contains the results up to the error.
    """
    check_switches(overwrite=overwrite)
    place, n_threads = cluster_config(workers, scheduler, threads), thread_count(threads)
    room = ExitStack()
    with room, ExitStack() as stack:
        follow = stack.enter_context(progress_callback(progress, "studying"))
        if resume is not None:
            if overwrite:
                raise UsageError(
                    f"{flag('resume')} continues in the study's own file and replaces nothing; leave out "
                    f"{flag('overwrite', True)}"
                )
            more = more_of(resume, out, description, seeds, sweep, keep, options)
            crew = _worker_pool(place, more.wider, warn, stack)
            writer = extend_study(more.path, more.wider, command=command) if more.is_wider else resume_study(more.path)
            if (writer.keys, writer.seeds.tolist()) == (more.keys, list(more.wider.seeds)):  # not extended since then
                writer.design = more.wider  # with opponents' runs as given
        else:
            design, kept = designed(description, seeds, sweep, options), snapshot_tables(keep)
            if out is not None:
                _check_places(named_file("out", out), description, design)
            crew = _worker_pool(place, design, warn, stack)
            if out is None:
                writer = room.enter_context(temporary(design, "study", kept, command=command))
            else:
                writer = create_study(out, design, kept, command=command, overwrite=overwrite)
        stack.enter_context(writer)
        clock = Clock(writer.progress.get("seconds", 0.0))
        run_study(
            writer,
            threads=n_threads,
            crew=crew,
            progress=follow,
            stop=stop or (lambda: False),
            say=warn or warn_python,
        )
        writer.note(ended=clock.now(), seconds=clock.seconds)
        stack.close()
        done = load_study(writer.path)  # a temporary file stays readable while it is open
        done.design = writer.design  # reading 100,000 settings again takes seconds and 100 MB
        done.path = MEMORY if out is None and resume is None else done.path
        return done


def _worker_pool(
    place: ClusterConfig | None, design: Design, warn: Callable[[str], None] | None, stack: ExitStack
) -> WorkerPool | None:
    """Return the worker pool of a place, closed by `stack`, or None.  Raises UsageError and ClusterError."""
    if place is None:
        return None
    design.family.homes(setting.config.learner for setting in design.settings)
    return stack.enter_context(WorkerPool(place, warn or warn_python, warn))


def designed(description: str | Path | None, seeds: Any, sweep: str | None, options: dict[str, Any]) -> Design:
    """Return the design of a new study.  Raises UsageError, and RunFileError for a description or opponent."""
    if description is None:
        return make_design(options, seeds, FULL if sweep is None else sweep)
    design = read_description(named_file("description", description), seeds=seeds)
    given = [name for name, value in options.items() if value is not None] + (["sweep"] if sweep is not None else [])
    if given:
        raise UsageError(f"{flag(given[0])} cannot be combined with a description; write it into {description}")
    return design


def _check_places(out: Path, description: str | Path | None, design: Design) -> None:
    """Raise UsageError if `out` would overwrite the study's description, an opponent or a file of tuples."""
    given = [value for grid in design.grids for name in ("opponent", "tuples") for value in grid.values.get(name, ())]
    read = [(flag("opponent"), Path(run.name)) for run in given if isinstance(run, RunOpponent)]
    read += [(flag("tuples"), text.path) for text in given if isinstance(text, FileText)]
    described = [] if description is None else [("the description", Path(description))]
    check_distinct([(flag("out"), out)], [*described, *read])


def snapshot_tables(keep: str | None) -> str:
    """Return the choice from KEEPS for a new study.  Raises UsageError."""
    return NONE if keep is None else choose("keep", keep, KEEPS)


class More(NamedTuple):
    """Continuation of a study.

    path: its file.  known: its design.  wider: its design extended by the given options and seeds.
    keep: the kept tables, of KEEPS.  done: int64[settings of `known`], number of learners that are done.
    """

    path: Path
    known: Design
    wider: Design
    keep: str
    done: NDArray[np.int64]

    @property
    def is_wider(self) -> bool:
        """Return whether the design was extended."""
        return (self.wider.settings, self.wider.seeds) != (self.known.settings, self.known.seeds)

    @property
    def keys(self) -> list[str]:
        """Return the keys of the settings of `wider`."""
        return [setting.key for setting in self.wider.settings]

    @property
    def missing(self) -> list[int]:
        """Return the number of learners still to train for each setting of `wider`, which starts with `known`'s."""
        done = [*self.done.tolist(), *[0] * (len(self.wider.settings) - len(self.known.settings))]
        return [len(self.wider.seeds) - n for n in done]


def more_of(
    resume: str | Path,
    out: str | Path | None,
    description: str | Path | None,
    seeds: Any,
    sweep: str | None,
    keep: str | None,
    options: dict[str, Any],
) -> More:
    """Return the continuation of a study, extended by the given options, without writing.  Raises as `study` does."""
    if out is not None or keep is not None:
        named = "out" if out is not None else "keep"
        raise UsageError(f"{flag('resume')} continues in the study's own file, unchanged; leave out {flag(named)}")
    path, more = find_run(resume), {name: value for name, value in options.items() if value is not None}
    with open_study(path) as before:
        known, kept, done = before.design, before.keep, np.count_nonzero(before.state == DONE, axis=1)
    wider = known
    if description is not None:
        wider = known.extended_to(designed(description, seeds, sweep, options), name=str(resume))
    elif more or seeds is not None or sweep is not None:
        wider = known.extended(name=str(resume), seeds=seeds, sweep=sweep, **more)
    return More(path, known, wider, kept, done)
