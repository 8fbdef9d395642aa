"""Repetition of a study's best setting and its default on fresh seeds, to correct the bias of choosing the best."""

import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ttt_batch.base.errors import StudyFileError, warn_python
from ttt_batch.base.files import reason
from ttt_batch.base.printable import Printable
from ttt_batch.base.processors import thread_count
from ttt_batch.base.quantities import Number
from ttt_batch.cluster.crew import WorkerPool
from ttt_batch.cluster.place import cluster_config
from ttt_batch.studies.designs.design import Design
from ttt_batch.studies.designs.values import seed_runs
from ttt_batch.studies.figures.confirmation import Confirmation, confirm
from ttt_batch.studies.figures.summary import Summary, summarise
from ttt_batch.studies.storage.creation import create_study
from ttt_batch.studies.storage.declared import NONE
from ttt_batch.studies.storage.writing import StudyWriter
from ttt_batch.studies.work.loop import StudyProgress, run_study


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
            "in_the_study": self.confirmation.winner.to_dict(),
            "winner": settings[0],
            "default": settings[1] if len(settings) > 1 else None,
        }

    def records(self) -> tuple[Sequence[dict[str, Any]], str]:
        """Return a row for each setting on its fresh seeds, the winner first."""
        return self.fresh.records()


def confirmed(
    summary: Summary,
    seeds: Any,
    best: str | None = None,
    *,
    threads: Number | None = None,
    workers: Number | None = None,
    scheduler: str | None = None,
    warn: Callable[[str], None] = warn_python,
    progress: Callable[[StudyProgress], None] | None = None,
    stop: Callable[[], bool] | None = None,
) -> Repetition:
    """Repeat the best setting of a study, and the default, on `seeds` fresh seeds as described at `confirm`.

    best: a metric, `proof` by default.  The other parameters are as for `study`.
    Raises as `confirm` does, and StudyFileError if temporary files do not fit on the disk.
    """
    place, n_threads = cluster_config(workers, scheduler, threads), thread_count(threads)
    again = confirm(summary, seeds, best)
    with ExitStack() as stack:
        crew = None if place is None else stack.enter_context(WorkerPool(place, warn))
        fresh = stack.enter_context(temporary(again.design, "repetition"))
        run_study(fresh, threads=n_threads, crew=crew, progress=progress, stop=stop or (lambda: False), say=warn)
        return Repetition(again, summarise(fresh))


@contextmanager
def temporary(design: Design, what: str, keep: str = NONE, *, command: str = "") -> Iterator[StudyWriter]:
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
