"""What `study` prints: the figures of its settings as a table, of one alone as a list."""

from collections.abc import Sequence
from typing import Any

from ttt_batch.app.reports.layout import REPORT_WIDTH, hanging
from ttt_batch.app.reports.study_columns import Column, figure_columns, legend, listing, table
from ttt_batch.app.reports.tournament import cut
from ttt_batch.base.console import one_line
from ttt_batch.base.errors import display_name, flag
from ttt_batch.base.quantities import count_text
from ttt_batch.studies.designs.values import listed, seed_runs
from ttt_batch.studies.figures.ranking import DEFAULT_METRIC, METRICS, metric_named
from ttt_batch.studies.figures.summary import Summary
from ttt_batch.studies.repetition import Repetition
from ttt_batch.studies.storage.declared import DONE, FAILED, MISSING
from ttt_batch.studies.study import MEMORY, Study

MOST_ROWS, MOST_REASONS = 20, 3
"""Settings of a table, and reasons of failures; JSON has all."""

LONG, LONGEST = 8, 18
"""Characters of a number within an option, from which on only those digits are shown that tell it from the others; and
of any value, from which on it is cut."""

INDENT = 11


def study_text(summary: Summary, best: str | None = None, *, name: str = "", width: int = REPORT_WIDTH) -> str:
    """What `study` prints at the end.

    best: a metric by which settings are ranked; without it they stand in order, and of more than MOST_ROWS those that
    are the best by DEFAULT_METRIC.  name: what to call the study.  width: characters of a line.  Raises UsageError.
    """
    settings = len(summary.design.settings)
    if best is not None or settings > MOST_ROWS:
        best = metric_named(best or DEFAULT_METRIC)
    order = summary.ranked(best)[:MOST_ROWS]
    columns = figure_columns([summary.figures(number) for number in order])
    seeds = count_text(len(summary.design.seeds), "seed")
    lines = [
        f"{name}{': ' * bool(name)}{count_text(settings, 'setting')}, {seeds} each",
        *_facts_shared(summary, width),
    ]
    if settings == 1:
        lines += ["", *listing(columns)]
    else:
        labels = _option_columns(summary, order)
        if best is not None:
            lacking = "" if summary.is_any_good(best, order[0]) else ", which none has"
            lines += hanging("ranked by", f"{METRICS[best]}{lacking}", INDENT, width)
            labels.insert(0, Column("", "", [str(place) for place in range(1, len(order) + 1)]))
        lines += table(labels, columns, width)
    if settings > MOST_ROWS:
        more = (
            f"{count_text(settings - MOST_ROWS, 'more setting')}; {flag('best', 'METRIC')} ranks by another metric "
            f"({', '.join(METRICS)}), {flag('json', True)} and the file have all"
        )
        lines += ["", *hanging("", more, 0, width)]
    return "\n".join([*lines, *_end(summary, columns, width)])


def file_text(study: Study) -> str:
    """Return what `study` prints of a file; of one in memory without the last line."""
    saved = "" if study.path == MEMORY else f"\nsaved:   {one_line(str(study.path))}"
    return f"{study_text(study.summary())}{saved}"


def confirmation_text(repetition: Repetition, *, width: int = REPORT_WIDTH) -> str:
    """What the repetition of a study's best setting says.  width: characters of a line."""
    confirmation, fresh = repetition.confirmation, repetition.fresh
    found = [fresh.figures(number) for number in range(len(fresh.design.settings))]
    text = (
        f"the best of {count_text(confirmation.settings, 'setting')} by {METRICS[confirmation.metric]}, again on seeds "
        f"that did not choose it{'; it is the default itself' if len(found) == 1 else ''}"
    )
    options = _option_columns(fresh, range(len(found)))
    columns = figure_columns([confirmation.winner, *found])
    heads = ["winner", "winner", "default"], ["in the study", "fresh seeds", "fresh seeds"]
    both = [*(one._replace(cells=one.cells[:1] + one.cells) for one in options), *columns]
    return "\n".join(
        [
            *hanging("", text, 0, width),
            *_facts_shared(fresh, width),
            "",
            *listing(both, [line[: 1 + len(found)] for line in heads]),
            *_end(fresh, columns, width),
        ]
    )


def _facts_shared(summary: Summary, width: int) -> list[str]:
    """Lines about learners, seeds and options that hold for all settings."""
    count = summary.states.sum(axis=0).tolist()
    words = ((DONE, "done"), (FAILED, "failed"), (MISSING, "missing"))
    learners = ", ".join(f"{count[state]:,} {word}" for state, word in words if count[state] or state == DONE)
    if summary.reasons:
        reasons = [f"{number:,} {reason}" for reason, number in list(summary.reasons.items())[:MOST_REASONS]]
        learners += f" ({'; '.join([*reasons, '...'][: len(summary.reasons)])})"
    shared = ", ".join(f"{display_name(name)} {listed([value])}" for name, value in summary.design.shared.items())
    facts = {"learners": learners, "seeds": listed(seed_runs(summary.design.seeds)), "all have": shared}
    return [line for name, text in facts.items() for line in hanging(name, text, INDENT, width)]


def _end(summary: Summary, columns: Sequence[Column], width: int) -> list[str]:
    """Lines below the figures: what they mean, and what is lacking."""
    return ["", *legend(columns, width), *(["", summary.note] if summary.note else [])]


# --- options ------------------------------------------------------------------------------------------------------


def _option_columns(summary: Summary, numbers: Sequence[int]) -> list[Column]:
    """A column for each option that differs among the study's settings."""
    rows = [summary.design.settings[number].written for number in numbers]
    columns = []
    for name, values in summary.design.axes.items():
        texts = _value_texts(values)
        columns.append(Column("", display_name(name), [texts[row[name]] for row in rows]))
    return columns


def _value_texts(values: Sequence[Any]) -> dict[Any, str]:
    """The text of each value of an option."""
    texts = short = {value: listed([value]) for value in values}
    long = [value for value, text in texts.items() if isinstance(value, float) and len(text) > LONG]
    for digits in range(3, 18):
        short = texts | {value: f"{value:.{digits}g}" for value in long}
        if len(set(short.values())) == len(texts):
            break
    return {value: cut(text, LONGEST) for value, text in short.items()}
