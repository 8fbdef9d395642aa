"""Python interface of studies: create, extend, resume, estimate, repeat and convert to frames.

A repetition trains the best setting, beside the default, on fresh seeds.  The best of many settings looks better than
it is, because luck on its seeds helped to select it.
"""

import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypedDict, Unpack

import numpy as np
from numpy.typing import NDArray

from ttt_batch.cluster.config import cluster_config
from ttt_batch.cluster.worker_pool import WorkerPool
from ttt_batch.core.errors import StudyFileError, TttBatchError, UsageError, flag, warn_python
from ttt_batch.core.files import reason
from ttt_batch.core.outputs import check_distinct, named_file
from ttt_batch.core.resources import thread_count
from ttt_batch.core.results import Printable, labelled, progress_callback, stop_callback
from ttt_batch.core.text import (
    Number,
    check_switches,
    choose,
    count_text,
    given_options,
    parse_int,
    with_options,
)
from ttt_batch.learners import homes_of
from ttt_batch.ntuple.network import FileText
from ttt_batch.runs.base import played
from ttt_batch.runs.config import default_weights
from ttt_batch.runs.lookup import find_run
from ttt_batch.runs.options import OWN
from ttt_batch.runs.run import Clock
from ttt_batch.studies.designs.description import description_text, read_description
from ttt_batch.studies.designs.design import FULL, Design, Request, make_design, make_designs
from ttt_batch.studies.designs.methods import NETWORKS, TALLIES, TALLY, RunOpponent, Setting
from ttt_batch.studies.designs.values import MAX_SEEDS, seed_runs
from ttt_batch.studies.storage import layout
from ttt_batch.studies.storage.reading import StudyFile, open_study
from ttt_batch.studies.storage.writing import StudyWriter, create_study, extend_study, resume_study
from ttt_batch.studies.summary import DEFAULT_METRIC, Result, Summary, plays, summarise
from ttt_batch.studies.work import StudyProgress, Worker, run_study
from ttt_batch.training.network_trainer import last_game

if TYPE_CHECKING:
    from pandas import DataFrame
    from xarray import Dataset


TASK = ("board", "opponent", "seat", "prove_every", "games")
"""Options that define the task and the points of proofs.  All others define the method."""


class Confirmation(NamedTuple):
    """Best setting of a study, and the design of its repetition.

    metric: the metric of the ranking.  settings: number of ranked settings.
    winner: figures of the best setting in the study.
    design: the winner, then the default unless both are the same, on fresh seeds.
    """

    metric: str
    settings: int
    winner: Result
    design: Design


def confirm(summary: Summary, count: Any, best: str | None = None) -> Confirmation:
    """Return the confirmation of a study: its best setting and the default, on the `count` seeds after its largest.

    The default is the winner with `train`'s defaults for every option that the study varies.  It keeps the options
    that the study fixes, and the winner's board, opponent, seat, games and interval of proofs.
    best: a metric (`METRICS`), DEFAULT_METRIC by default.
    Raises UsageError for an invalid metric or count, and TttBatchError if no setting has a usable figure of it.
    """
    seeds = fresh_seeds(count)
    study = summary.design
    metric, number = summary.winner(DEFAULT_METRIC if best is None else best)
    given = {name for grid in study.grids for name in grid.values}
    tally = {TALLY: True} if study.family is TALLIES else {}
    best_setting = study.settings[number]
    written = best_setting.written | ({} if best_setting.opponent is None else {"opponent": best_setting.opponent})
    winner = {name: [value] for name, value in written.items() if value != ""}  # without a seat in self-play
    default = {name: winner[name] for name in winner if name in TASK or name in given - study.axes.keys()}
    default.setdefault("learner", [study.family.default_learner])
    first = max(study.seeds) + 1
    requests = [Request(winner | tally), Request(default | tally, place=lambda name: "the default of this study: ")]
    design = make_designs(requests, range(first, first + seeds))
    return Confirmation(metric, len(study.settings), summary.figures(number), design)


def fresh_seeds(count: Any) -> int:
    """Return `count` as the number of seeds of a confirmation.  Raises UsageError."""
    return parse_int("confirm", count, 1, MAX_SEEDS)


@dataclass(frozen=True, repr=False)
class Repetition(Printable):
    """The repeated settings, and the figures of the learners that are done."""

    confirmation: Confirmation
    fresh: Summary

    def to_dict(self) -> dict[str, Any]:
        """Return what `study --confirm N --json` prints.  `default` is None if the winner is the default."""
        settings = [self.fresh.setting_facts(number) for number in range(len(self.fresh.design.settings))]
        return {
            "best": self.confirmation.metric,
            "of_settings": self.confirmation.settings,
            "seeds": seed_runs(self.fresh.design.seeds),
            "note": self.fresh.note or None,
            "in_the_study": self.confirmation.winner,
            "winner": settings[0],
            "default": settings[1] if len(settings) > 1 else None,
        }

    def records(self) -> tuple[Sequence[Mapping[str, Any]], str]:
        """Return a row for each setting on its fresh seeds, the winner first."""
        return self.fresh.records()


@contextmanager
def temporary(design: Design, what: str, keep: str = layout.NONE, *, command: str = "") -> Iterator[StudyWriter]:
    """Yield the writer of a temporary study file.  what: name of the study in messages.  Raises StudyFileError."""
    with ExitStack() as stack:
        try:
            folder = stack.enter_context(_Folder())
            fresh = stack.enter_context(create_study(Path(folder) / "fresh.h5", design, keep, command=command))
        except (OSError, StudyFileError) as error:
            raise StudyFileError(
                f"no temporary file for the {what}: {reason(error.__cause__ or error)}; make room there, or "
                "name another folder in the variable TMPDIR"
            ) from None
        yield fresh


class _Folder(tempfile.TemporaryDirectory[str]):
    """Temporary folder that is removed even if a second Ctrl-C interrupts the removal."""

    def __exit__(self, *_: object) -> None:
        try:
            self.cleanup()
        except BaseException:
            self.cleanup()
            raise


FIRST_GAMES, FACTOR = 1_000, 8
"""Games of the first trial run, and the factor from each trial run to the next."""

ENOUGH_SECONDS, ALL_SECONDS = 0.05, 4.0
"""Duration of a trial run that suffices for extrapolation, and limit of all trials without loading kernels."""


class Estimate(NamedTuple):
    """Estimated costs.  bytes: size of the file.  seconds: training time, None if no trial run succeeded."""

    bytes: int
    seconds: float | None


def estimated(design: Design, keep: str, threads: int, missing: Sequence[int]) -> Estimate:
    """Return an estimate from short trial runs, one for each kind of learner, within the time limit.

    missing: number of learners still to train, for each setting.  Raises UsageError as `study_layout` does.
    """
    size = layout.layout_size(layout.study_layout(design, description_text(design), keep))
    kinds: dict[Any, tuple[Setting, int]] = {}
    for setting, learners in zip(design.settings, missing, strict=True):
        if learners:
            base = [name for name in setting.family.options if name not in (*setting.family.numbers, *OWN)]
            kind = *(getattr(setting.config, name, None) for name in (*base, "batch", "prove_every")), setting.games
            first, others = kinds.get(kind, (setting, 0))
            kinds[kind] = first, others + learners
    room, ends = Worker(keep=False, stop=lambda: False), time.perf_counter() + ALL_SECONDS
    seconds, tried = 0.0, 0
    for setting, learners in kinds.values():
        if time.perf_counter() > ends:
            break
        own, loading = _seconds_of(room, setting)
        ends += loading
        if own is not None:
            seconds += own * learners
            tried += setting.games * learners
    games = sum(setting.games * learners for setting, learners in kinds.values())
    return Estimate(size, seconds * games / tried / threads if tried else None if games else 0.0)


def _seconds_of(room: Worker, setting: Setting) -> tuple[float | None, float]:
    """Return a learner's estimated training time (None if it fails) and the time for loading or compiling kernels."""
    known: list[tuple[int, float]] = [(0, 0.0)]
    short = _shortened(setting, FIRST_GAMES)
    began = time.perf_counter()
    if not room.learn(short, [0]).learners:
        return None, 0.0
    loading = time.perf_counter() - began
    while True:
        began = time.perf_counter()
        room.learn(short, [0])
        known.append((short.games, time.perf_counter() - began))
        if short.games == setting.games or known[-1][1] > ENOUGH_SECONDS:
            break
        short = _shortened(setting, short.games * FACTOR)
    (before, less), (last, more) = known[-2:]
    return more + (setting.games - last) * max(more - less, 0.0) / (last - before), loading


def _shortened(setting: Setting, games: int) -> Setting:
    """Return the setting shortened to about `games` games, or unchanged if it has no more than that.

    Networks make no proofs if the first one would come later.
    """
    if games >= setting.games:
        return setting
    config = setting.config
    if setting.family is NETWORKS:
        if config.prove_every > games:
            config = replace(config, prove_every=0, keep=default_weights(0))
        games = last_game(config, games)
    return replace(setting, config=config, games=games)


_INSTALL = "install it with: pip install 'ttt-batch[frames]'"

MEMORY = Path("a study in memory")
"""Path that marks a study without a file of its own."""


class Execution(TypedDict, total=False):
    """Execution of a study, which changes no result: see `study`."""

    threads: Number | None
    workers: Number | None
    scheduler: str | None
    progress: Callable[[StudyProgress], None] | bool | None
    stop: Callable[[], bool] | None
    warn: Callable[[str], None] | None


class StudyOptions(Execution, total=False):
    """Execution of a study, and the values of every option of learning (`designs.design.OPTION_NAMES`)."""

    learner: object
    board: object
    symmetry: object
    engine: object
    opponent: object
    seat: object
    start_value: object
    lambda_: object
    cut: object
    beta: object
    explore: object
    beads: object
    rewards: object
    batch: object
    epsilon: object
    alpha: object
    gamma: object
    draw_worth: object
    games: object
    tuples: object
    sharing: object
    objective: object
    prove_every: object
    trace: object
    tally: object


class Study(StudyFile, Printable):
    """A study's file, open for reading: its design, its results and their figures.

    design: the settings and seeds.  state: uint8[settings, seeds], 0 missing, 1 done, 2 failed.
    `array("unbeatable")`, or `array("proof")` for networks, returns results [settings, seeds, points, ...].
    """

    rows = "settings", "setting"
    _figures: Summary | None = None

    def __repr__(self) -> str:
        settings, seeds = self.state.shape
        counts = [f"{count:,} {name}" for name, count in layout.count_states(self.state).items()]
        return f"<Study: {count_text(settings, 'setting')}, {count_text(seeds, 'seed')} each; {', '.join(counts)}>"

    def to_dict(self) -> dict[str, Any]:
        """Return plain values with stable keys, as `study --json` prints them."""
        return {"file": None if self.path == MEMORY else str(self.path), **self.summary().to_dict()}

    def summary(self) -> Summary:
        """Return the figures of every setting over its seeds."""
        if self._figures is None:
            self._figures = summarise(self)
        return self._figures

    @with_options(Execution)
    def confirm(
        self, seeds: Number | Iterable[int], best: str | None = None, **execution: Unpack[Execution]
    ) -> Repetition:
        """Repeat the best setting, and the default, on fresh seeds, because the best of many looks better than it is.

        seeds: number of fresh seeds.  best: the metric, `proof` by default.
        threads, workers, scheduler, progress, stop, warn: as for `study`.
        Raises UsageError, ClusterError, TttBatchError if no setting has a usable figure of that metric, and
        StudyFileError if temporary files do not fit on the disk.
        """
        way: dict[str, Any] = dict.fromkeys(Execution.__annotations__) | given_options(Study.confirm, execution)
        place, threads = cluster_config(way["workers"], way["scheduler"], way["threads"]), thread_count(way["threads"])
        stop, say = stop_callback(way["stop"]), way["warn"] or warn_python
        again = confirm(self.summary(), seeds, best)
        with ExitStack() as stack:
            follow = stack.enter_context(progress_callback(way["progress"], "studying"))
            pool = None if place is None else stack.enter_context(WorkerPool(place, say))
            fresh = stack.enter_context(temporary(again.design, "repetition"))
            run_study(fresh, threads=threads, workers=pool, progress=follow, stop=stop, say=say)
            return Repetition(again, summarise(fresh))

    def to_dataframe(self, *, last: bool = False) -> "DataFrame":
        """Return a pandas DataFrame with a row for each recorded point of every learner that is done.

        The columns are `setting` (its number), `seed`, the setting's options (text as categories), `point`, `games`
        and the statistics.  A statistic of several numbers has several columns: `unbeatable.first`,
        `versus_random.second.loss`.  `seconds` are NaN at points within one kernel, never at a learner's last point.
        Results that a growing board lacks, and those of a seat that the learner does not play, are NaN in float columns
        and False or 0 in others.
        last: include only the last point of each learner.
        Raises TttBatchError if pandas is missing, and StudyFileError.
        """
        try:
            import pandas as pd
        except ImportError:
            raise TttBatchError(f"a table needs pandas; {_INSTALL}") from None
        points, ends = np.arange(self.games.shape[1]), self.points[:, None]
        own = points == ends - 1 if last else points < ends
        rows = (self.state == layout.DONE)[:, :, None] & own[:, None]
        setting, seed, point = np.nonzero(rows)
        columns: dict[str, Any] = {"setting": setting, "seed": self.seeds[seed]}
        for name in self.options:
            for label, part in labelled(name, self.array(name), self._labels(name, 1)).items():
                if part.dtype.kind == "U":
                    kinds, codes = np.unique(part, return_inverse=True)
                    columns[label] = pd.Categorical.from_codes(codes[setting], list(map(str, kinds)))
                else:
                    columns[label] = part[setting]
        columns |= {"point": point, "games": self.games[setting, point]}
        for name in self._statistics:
            columns |= labelled(name, self._blanked(name)[rows], self._labels(name, 3))
        return pd.DataFrame(columns)

    def to_xarray(self) -> "Dataset":
        """Return an xarray Dataset of all statistics, with axes `setting`, `seed`, `point` and others such as `seat`.

        The coordinates are the options along `setting`, and `games` at each point.  `state` is 1 for learners that are
        done.  For other learners, and after the last point of a setting, floats are NaN and other values False or 0.
        `seconds` are also NaN at points within one kernel, never at a learner's last point.
        Raises TttBatchError if xarray is missing, and StudyFileError.
        """
        try:
            import xarray as xr
        except ImportError:
            raise TttBatchError(f"a Dataset needs xarray; {_INSTALL}") from None
        arrays = self.header.arrays
        variables: dict[str, Any] = {"state": (("setting", "seed"), self.state.copy())}
        for name in self._statistics:
            about = {"meaning": layout.STATISTICS[name].meaning, "unit": layout.STATISTICS[name].unit}
            variables[name] = arrays[name].axes, self._blanked(name), about
        labels = {axis: ((axis,), self.array(axis)) for axis in ("setting", "seed", "point", *layout.LABELS)}
        along = {name: (arrays[name].axes, self.array(name)) for name in (*self.options, "key", "games", "points")}
        return xr.Dataset(variables, coords={**labels, **along}, attrs=dict(self.provenance))

    @property
    def _statistics(self) -> list[str]:
        """Return the names of the statistics, without games."""
        return [name for name in layout.STATISTICS if name in self.header.arrays and name != "games"]

    def _blanked(self, name: str) -> NDArray[Any]:
        """Return a statistic with NaN, False or 0 where a learner is not done or does not play the seat."""
        array = self.array(name)
        blank = np.nan if array.dtype.kind == "f" else 0
        array[self.state != layout.DONE] = blank
        return played(name, array, plays(self), blank).astype(array.dtype)

    def _labels(self, name: str, first: int) -> list[Sequence[str]]:
        """Return the labels of an array's axes from number `first` on."""
        return [layout.LABELS[axis] for axis in self.header.arrays[name].axes[first:]]


def load_study(path: str | Path) -> Study:
    """Open a study's file for reading.  Raises StudyFileError."""
    return Study(find_run(path))


@with_options(StudyOptions)
def study(
    description: str | Path | None = None,
    *,
    out: str | Path | None = None,
    resume: str | Path | None = None,
    seeds: Number | Iterable[int] | None = None,
    sweep: str | None = None,
    keep: str | None = None,
    overwrite: bool = False,
    command: str = "",
    **options: Unpack[StudyOptions],
) -> Study:
    """Train a learner for every combination of the options' values and every seed, and return the study.

    description: a STUDY.toml instead of options.
    learner, board, epsilon, alpha, ...: as for `train`.  Each is one value, a list of values, or text as in the
    command: `"0.1,0.2"`, `"0.01..0.5:6"` (six values, evenly spaced), `"0.001..1:7log"`.  A study has either tables
    or networks.  Networks continue to the end of their last proof, as in `train`.
    opponent: `self`, the name of a built-in agent, a run of a table or its file, but not an agent of your own.
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
    given: dict[str, Any] = dict(options)
    way = {name: given.pop(name, None) for name in Execution.__annotations__}
    place, threads = cluster_config(way["workers"], way["scheduler"], way["threads"]), thread_count(way["threads"])
    stop, say = stop_callback(way["stop"]), way["warn"] or warn_python
    if resume is not None and overwrite:
        raise UsageError(
            f"{flag('resume')} continues in the study's own file and replaces nothing; leave out "
            f"{flag('overwrite', True)}"
        )
    with ExitStack() as room, ExitStack() as stack:
        follow = stack.enter_context(progress_callback(way["progress"], "studying"))
        plan, pool = plan_study(description, resume, out, seeds, sweep, keep, **given), None
        if out is not None:
            _check_places(named_file("out", out), description, plan.design)
        if place is not None:
            homes_of(setting.config.learner for setting in plan.design.settings)
            pool = stack.enter_context(WorkerPool(place, say, way["warn"]))
        if out is not None:
            writer = create_study(out, plan.design, plan.keep, command=command, overwrite=overwrite)
        elif plan.path is None:
            writer = room.enter_context(temporary(plan.design, "study", plan.keep, command=command))
        elif plan.extends:
            writer = extend_study(plan.path, plan.design, command=command)
        else:
            writer = resume_study(plan.path)
        stack.enter_context(writer)
        keys = [setting.key for setting in plan.design.settings]
        if (writer.keys, writer.seeds.tolist()) == (keys, list(plan.design.seeds)):  # not extended since then
            writer.design = plan.design  # with opponents' runs as given
        clock = Clock(writer.progress)
        run_study(writer, threads=threads, workers=pool, progress=follow, stop=stop, say=say)
        writer.note(ended=clock.now(), seconds=clock.seconds)
        stack.close()
        done = Study(writer.path)  # a temporary file stays readable while it is open
        done.design = writer.design  # reading 100,000 settings again takes seconds and 100 MB
        done.path = MEMORY if out is None and resume is None else done.path
        return done


def _check_places(out: Path, description: str | Path | None, design: Design) -> None:
    """Raise UsageError if `out` would overwrite the study's description, an opponent or a file of tuples."""
    given = [value for grid in design.grids for name in ("opponent", "tuples") for value in grid.values.get(name, ())]
    read = [(flag("opponent"), Path(run.name)) for run in given if isinstance(run, RunOpponent)]
    read += [(flag("tuples"), text.path) for text in given if isinstance(text, FileText)]
    described = [] if description is None else [("the description", Path(description))]
    check_distinct([(flag("out"), out)], [*described, *read])


class StudyPlan(NamedTuple):
    """Learners that a study trains.

    keep: the kept tables, of KEEPS.  missing: number of learners still to train, for each setting of `design`.
    path: the file of a study to continue, None for a new one.  extends: whether it gets more settings or seeds.
    """

    design: Design
    keep: str
    missing: list[int]
    path: Path | None = None
    extends: bool = False


def plan_study(
    description: str | Path | None,
    resume: str | Path | None,
    out: str | Path | None,
    seeds: Any,
    sweep: str | None,
    keep: str | None,
    **options: Any,
) -> StudyPlan:
    """Return the plan of a new study, or of one to continue, extended by what is given.  Raises as `study` does."""
    if resume is None:
        design = _designed(description, seeds, sweep, options)
        kept = layout.NONE if keep is None else choose("keep", keep, layout.KEEPS)
        return StudyPlan(design, kept, [len(design.seeds)] * len(design.settings))
    if out is not None or keep is not None:
        named = "out" if out is not None else "keep"
        raise UsageError(f"{flag('resume')} continues in the study's own file, unchanged; leave out {flag(named)}")
    path, name = find_run(resume), str(resume)
    with open_study(path) as before:
        known, kept, done = before.design, before.keep, np.count_nonzero(before.state == layout.DONE, axis=1).tolist()
    wider = known
    if description is not None:
        wider = known.extended_to(_designed(description, seeds, sweep, options), name=name)
    elif seeds is not None or sweep is not None or any(value is not None for value in options.values()):
        wider = known.extended(name=name, seeds=seeds, sweep=sweep, **options)
    done += [0] * (len(wider.settings) - len(done))  # new settings follow
    missing = [len(wider.seeds) - n for n in done]
    return StudyPlan(wider, kept, missing, path, (wider.settings, wider.seeds) != (known.settings, known.seeds))


def _designed(description: str | Path | None, seeds: Any, sweep: str | None, options: dict[str, Any]) -> Design:
    """Return the design of options or of a description.  Raises UsageError, and RunFileError."""
    if description is None:
        return make_design(options, seeds, FULL if sweep is None else sweep)
    design = read_description(named_file("description", description), seeds=seeds)
    given = [name for name, value in {**options, "sweep": sweep}.items() if value is not None]
    if given:
        raise UsageError(f"{flag(given[0])} cannot be combined with a description; write it into {description}")
    return design
