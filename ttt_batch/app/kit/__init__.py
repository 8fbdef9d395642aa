"""The kit: a menace's matchboxes on paper, for a class without a computer.

`boxes` says what stands on each box and what is in it, `rules` what else the class has to know; `sheets` prints them
into a PDF by matplotlib, `paper` as a page for a browser's printer.
"""

from pathlib import Path

from ttt_batch.app.kit.boxes import boxes_of
from ttt_batch.app.kit.rules import rules_of
from ttt_batch.base.errors import UsageError
from ttt_batch.base.files import shown
from ttt_batch.runs.boxes import lacks_boxes_error
from ttt_batch.runs.formats import EXPORT, check_targets
from ttt_batch.runs.loading import AnyRun
from ttt_batch.runs.run import Run

SUFFIXES = (".pdf", ".html")


def export_boxes(run: AnyRun, path: str | Path, *, overwrite: bool = False) -> Path:
    """Write the kit of a run with matchboxes to `path`, a .pdf or an .html file; return the path.

    Raises UsageError for a run without boxes and another ending, TttBatchError for a PDF without matplotlib, and
    FormatError if the file cannot be written or exists already (unless `overwrite`).
    """
    path = Path(path)
    if not isinstance(run, Run) or not run.learner.boxes:
        raise lacks_boxes_error(run.config.learner)
    if path.suffix.lower() not in SUFFIXES:
        raise UsageError(f"cannot print boxes into {shown(path)}: a kit is a .pdf or an .html file; name one of these")
    check_targets([path], overwrite=overwrite)
    boxes = boxes_of(run)
    rules = rules_of(run, boxes)
    if path.suffix.lower() == ".pdf":
        from ttt_batch.app.kit.sheets import make_pdf

        content = make_pdf(boxes, rules)
    else:
        from ttt_batch.app.kit.paper import make_html

        content = make_html(boxes, rules).encode()
    EXPORT.write([path], [content], overwrite=overwrite)
    return path
