"""What `info` prints of a study's file."""

from typing import Any

from ttt_batch.app.reports.layout import facts_text
from ttt_batch.base.errors import display_name
from ttt_batch.base.quantities import count_text
from ttt_batch.runs.runfile.declaration import version_text
from ttt_batch.studies.designs.family import written
from ttt_batch.studies.designs.values import listed, seed_runs
from ttt_batch.studies.storage.declared import DONE, FAILED
from ttt_batch.studies.storage.reading import StudyFile

MOST_RUNS = 6
"""Runs of seeds that a line lists."""


def study_information(study: StudyFile, path: str) -> dict[str, Any]:
    """What `info --json` prints of a study.  Raises StudyFileError."""
    done, failed = (int((study.state == state).sum()) for state in (DONE, FAILED))
    design = study.design
    return {
        "file": path,
        "bytes": study.header.length,
        "format": version_text(study.header.version),
        "settings": len(design.settings),
        "seeds": seed_runs(design.seeds),
        "learners": {"done": done, "failed": failed, "missing": study.state.size - done - failed},
        "options": {name: [written(value) for value in values] for name, values in design.axes.items()},
        "shared": {name: written(value) for name, value in design.shared.items()},
        "keep": study.keep,
        "recorded_points": int(study.points.max()),
        "arrays": {
            name: {"dtype": str(place.dtype), "shape": list(place.shape), "axes": list(place.axes)}
            for name, place in study.header.arrays.items()
        },
        "provenance": {**study.provenance, **study.progress},
    }


def study_information_text(information: dict[str, Any]) -> str:
    """What `info` prints of a study."""
    learners = information["learners"]
    rest = "".join(f", {learners[name]:,} {name}" for name in ("failed", "missing") if learners[name])
    return facts_text(
        [
            (
                "file",
                f"{information['file']} ({count_text(information['bytes'], 'byte')}, format {information['format']})",
            ),
            ("settings", information["settings"]),
            *((f"  {display_name(name)}", listed(values)) for name, values in information["options"].items()),
            *((display_name(name), listed([value])) for name, value in information["shared"].items()),
            ("seeds", listed(information["seeds"], MOST_RUNS)),
            ("learners", f"{learners['done']:,} done{rest}"),
            ("tables", f"{information['keep']} kept"),
            ("statistics", count_text(information["recorded_points"], "recorded point")),
            *((name.replace("_", " "), value) for name, value in information["provenance"].items()),
        ]
    )
