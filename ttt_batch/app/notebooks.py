"""A run in a notebook: its small table, and below it its learning curve if matplotlib is installed."""

import base64

from ttt_batch.app.plots import figure
from ttt_batch.app.plots.style import render, styled
from ttt_batch.app.reports.information import run_html
from ttt_batch.base.errors import TttBatchError
from ttt_batch.runs.loading import AnyRun

LEAST_POINTS = 2
"""Recorded points of which a curve is drawn; a table from elsewhere has one."""


def notebook_html(run: AnyRun) -> str:
    """Return HTML, a single element: the table, and the curve as a picture within the text."""
    table = run_html(run)
    if run.statistics["games"].size < LEAST_POINTS:
        return table
    try:
        with styled():
            picture = base64.b64encode(render(figure(run), "png")).decode()
    except TttBatchError:  # without matplotlib; or nothing is recorded that could be drawn
        return table
    return f'<div>{table}<img alt="learning curve" width="800" src="data:image/png;base64,{picture}"/></div>'
