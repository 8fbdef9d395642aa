"""Write the pages of the studies in `data/`: their tables are figures of what `ttt-batch study` has stored.

    ttt-batch study data/settling.toml -o settling.h5
    python scripts/study_pages.py settling settling.h5 --json data/settling.json --page data/settling.md

`settling`: how soon each learner is proved unbeatable in both seats, and whether it stays so, by engine, batch and step
size.  `headlines`: what every preset reaches at its own published number of games, beside what its source claims; the
sources test greedy self-play or a few games against people, and the columns are exact.  `exercises`: Sutton and Barto's
exercises 1.1 to 1.5.  `--json` keeps the figures of a
study, from which `--from` writes the page again.  The pages' text is in `scripts/pages/`.
"""

import argparse
import textwrap
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from page_writer import add_page_options, fill, markdown_table, write_from, write_report

import ttt_batch as ttt
from ttt_batch.core.text import count_text
from ttt_batch.studies.storage.layout import DONE

Row = dict[str, Any]
LIBRARIES = ("ttt_batch", "python", "numpy", "numba")
OPTIONS = ("learner", "epsilon", "alpha", "engine", "batch", "games")

VERDICTS = ("unbeatable", "versus_random")
EXERCISE_OPTIONS = (*OPTIONS, "symmetry", "opponent", "cut")

CLAIMS = {
    "sutton-barto": "1,000 greedy games against itself end in draws",
    "value-feed": "holds its own against a person",
    "minimax-q": "greedy self-play is a draw",
    "backward-q": "none named",
    "greedy-td": "holds a person to draws",
}


# --- figures ------------------------------------------------------------------------------------------------------


def settling_rows(study: ttt.Study) -> list[Row]:
    """The figures of `settling`, a row for each setting: medians over the seeds (None: never), and shares of seeds."""
    summary = study.summary()
    rows = []
    for number in range(len(study.keys)):
        figures, games = summary.figures(number), study.games[number, : study.points[number]]
        early = np.searchsorted(games, games[-1] / 2, side="right")
        rows.append(
            {
                "proved": figures["proved"]["ever"],
                "first_proof_games": figures["first_proof"]["games"],
                "later_points_that_hold": figures["later_points_that_hold"],
                # The last point alone says little of a verdict that comes and goes.
                "settled_by_half": float(np.mean(summary.events["settling"][number] < early)),
                "settled_games": figures["settling"]["games"],
            }
        )
    return rows


def headlines_rows(study: ttt.Study) -> list[Row]:
    """The figures of `headlines`, a row for each setting: medians over the seeds, and how many seeds for verdicts."""
    names = ("self_play", "versus_random", "unbeatable")
    last = {name: study.array(name)[np.arange(len(study.keys)), :, study.points - 1] for name in names}
    return [
        {
            "self_play_drawn": int(np.count_nonzero(last["self_play"][number, :, 1] == 1.0)),
            "versus_random": np.median(last["versus_random"][number], axis=0).tolist(),
            "unbeatable": last["unbeatable"][number].sum(axis=0).tolist(),
        }
        for number in range(len(study.keys))
    ]


def exercises_rows(study: ttt.Study) -> list[Row]:
    """The figures of `exercises`, a row for each setting: counts of seeds, medians, and the median first proof."""
    summary = study.summary()
    last = {name: study.array(name)[np.arange(len(study.keys)), :, study.points - 1] for name in VERDICTS}
    return [
        {
            "unbeatable": last["unbeatable"][number].sum(axis=0).tolist(),
            "losses": np.median(last["versus_random"][number, ..., 2], axis=0).tolist(),
            "first_proof_games": summary.figures(number)["first_proof"]["games"],
        }
        for number in range(len(study.keys))
    ]


def provenance_of(study: ttt.Study) -> Row:
    """Return when and with what a study was done: what `learnt_with` says."""
    return {name: study.provenance[name] for name in ("created", "processor", *(f"{one}_version" for one in LIBRARIES))}


def opened(path: str | None) -> ttt.Study:
    """Open the study of a page.  Raises SystemExit if none is named, or none can be read."""
    if path is None:
        raise SystemExit("name the study's file, or figures that were kept with --from")
    try:
        return ttt.load_study(path)
    except ttt.TttBatchError as error:
        raise SystemExit(str(error)) from None


def check_done(study: ttt.Study) -> None:
    """Raise SystemExit if a learner of a study is not done."""
    left = int(np.count_nonzero(study.state != DONE))
    if left:
        raise SystemExit(
            f"{study.path}: {count_text(left, 'learner is', 'learners are')} not done; resume the study first"
        )


def report_of(study: ttt.Study, figures: Callable[[ttt.Study], list[Row]], names: Sequence[str] = OPTIONS) -> Row:
    """All that a page is made of.  names: the options of each setting that it holds."""
    check_done(study)
    options = [{name: setting.written[name] for name in names} for setting in study.design.settings]
    rows = [one | found for one, found in zip(options, figures(study), strict=True)]
    return {"provenance": provenance_of(study), "seeds": len(study.design.seeds), "settings": rows}


# --- tables -------------------------------------------------------------------------------------------------------


def shown(number: float | None, form: str = ",.0f") -> str:
    """Return the number in this form, or `-` if there is none."""
    return "-" if number is None else format(number, form)


def batch_name(batch: int | str) -> str:
    """Return a batch as it is written in the tables."""
    return batch if isinstance(batch, str) else f"{batch:,}"


def together(rows: Sequence[Row], *names: str) -> list[Row]:
    """Return the rows with equal values of these options next to each other, values in the order of the rows."""
    places = {name: list(dict.fromkeys(row[name] for row in rows)) for name in names}
    return sorted(rows, key=lambda row: [places[name].index(row[name]) for name in names])


def settling_table(rows: Sequence[Row]) -> str:
    """Return a row for each setting, in Markdown."""
    head = ["learner", "epsilon", "alpha", "engine", "batch", "proved", "first proof", "then holds", "by half"]
    return markdown_table(
        [*head, "settled"],
        (
            (
                *(row["learner"], row["epsilon"], row["alpha"], row["engine"], batch_name(row["batch"])),
                f"{row['proved']:.0%}",
                shown(row["first_proof_games"]),
                shown(row["later_points_that_hold"], ".1%"),
                f"{row['settled_by_half']:.0%}",
                shown(row["settled_games"]),
            )
            for row in rows
        ),
    )


def settled(row: Row) -> str:
    """Return the share of seeds that settle by half of the games, and the median game since which they hold."""
    if row["proved"] == 0:
        return "never proved"
    games = row["settled_games"]
    return f"{row['settled_by_half']:.0%}" + ("" if games is None else f", {shown(games)}")


def falling_table(rows: Sequence[Row]) -> str:
    """Return the settings whose step size falls: a line for each of them, a column for each engine and batch."""
    lines = dict.fromkeys((row["learner"], row["epsilon"], row["alpha"]) for row in rows)
    ways = dict.fromkeys((row["engine"], row["batch"]) for row in rows)
    found = {(*(row[key] for key in ("learner", "epsilon", "alpha", "engine", "batch")),): settled(row) for row in rows}
    return markdown_table(
        ["learner", "epsilon", "alpha", *(f"{engine}, {batch_name(batch)}" for engine, batch in ways)],
        ((*line, *(found.get((*line, *way), "-") for way in ways)) for line in lines),
    )


def learnt_with(provenance: Row) -> str:
    """Return a sentence of its own lines: the processor, the versions and the date of a study."""
    versions = ", ".join(f"{name.replace('_', '-')} {provenance[f'{name}_version']}" for name in LIBRARIES)
    return textwrap.fill(f"Learnt on {provenance['processor']}; {versions}; {provenance['created']}.", 120)


def settling_page(report: Row) -> str:
    """Return the page: the settings with a constant step size, then those whose step size falls."""
    rows = report["settings"]
    constant = [row for row in rows if not isinstance(row["alpha"], str)]
    falling = [row for row in rows if isinstance(row["alpha"], str)]
    return fill(
        "settling.md",
        machine=learnt_with(report["provenance"]),
        games=f"{rows[0]['games']:,}",
        seeds=f"{report['seeds']:,}",
        constant=settling_table(together(constant, "learner", "epsilon")),
        falling=falling_table(together(falling, "alpha", "learner", "epsilon")),
    )


def verdicts(rows: Sequence[Row], seeds: int) -> str:
    """Return each preset's claim and what is proved of it, in Markdown."""
    return markdown_table(
        ["preset", "games", "batch", "the source's claim", "self-play drawn", "unbeatable as first", "as second"],
        (
            (
                *(row["learner"], f"{row['games']:,}", batch_name(row["batch"]), CLAIMS[row["learner"]]),
                *(f"{number} of {seeds}" for number in (row["self_play_drawn"], *row["unbeatable"])),
            )
            for row in rows
        ),
    )


def random_results(rows: Sequence[Row]) -> str:
    """Return each preset's results against random play, in Markdown."""
    return markdown_table(
        ["preset", "games", "batch", "as first", "as second"],
        (
            (
                *(row["learner"], f"{row['games']:,}", batch_name(row["batch"])),
                *(" / ".join(f"{number:.3f}" for number in seat) for seat in row["versus_random"]),
            )
            for row in rows
        ),
    )


def headlines_page(report: Row) -> str:
    """Return the page of the presets."""
    rows, seeds = report["settings"], report["seeds"]
    return fill("headlines.md", seeds=f"{seeds:,}", verdicts=verdicts(rows, seeds), random=random_results(rows))


def exercise_table(rows: Sequence[Row], seeds: int, *names: str) -> str:
    """Return settings with the options `names`, and what is found of each, in Markdown."""

    def option(value: object) -> object:
        return ("off", "on")[value] if isinstance(value, bool) else value

    return markdown_table(
        [*names, "unbeatable as first", "as second", "loses as first", "as second"],
        (
            (
                *(option(row[name]) for name in names),
                *(f"{number} of {seeds}" for number in row["unbeatable"]),
                *(f"{100 * share:.1f}" for share in row["losses"]),
            )
            for row in rows
        ),
    )


def exercises_page(report: Row) -> str:
    """Return the page of the exercises: each has the settings that it compares."""
    rows, seeds = report["settings"], report["seeds"]
    example = [row for row in rows if row["learner"] == "sutton-barto"]
    plain = [row for row in example if row["alpha"] == 0.1 and not row["symmetry"]]
    alone = [row for row in plain if row["opponent"] == "self" and not isinstance(row["epsilon"], str)]
    images = [row for row in rows if row["epsilon"] == 0.1 and row["opponent"] == "self" and row["cut"] == ""]
    off, on = (row["first_proof_games"] for row in images if row["learner"] == "td")
    others = [row for row in example if row["epsilon"] not in (0, 0.01, 0.1, 0.6)]
    own = [row for row in rows if row["learner"] == "td" and row["epsilon"] != 0.1]
    return fill(
        "exercises.md",
        machine=learnt_with(report["provenance"]),
        seeds=f"{seeds:,}",
        games=f"{rows[0]['games']:,}",
        self_play=exercise_table(
            [row for row in plain if row["epsilon"] == 0.1], seeds, "learner", "epsilon", "opponent"
        ),
        symmetries=exercise_table(images, seeds, "learner", "epsilon", "symmetry"),
        symmetric_speed=f"{off / on:.0f}",
        greedy=exercise_table(sorted(alone, key=lambda row: row["epsilon"]), seeds, "learner", "epsilon"),
        exploration=exercise_table(
            [row for row in rows if row["learner"] == "td-lambda"], seeds, "learner", "epsilon", "alpha", "cut"
        ),
        others=exercise_table(together([*others, *own], "learner"), seeds, "learner", "epsilon", "alpha", "symmetry"),
    )


class Page(NamedTuple):
    """A page of `data/`.

    figures: those of its study, a row for each setting.  text: the page of a report.  options: those of each row.
    """

    figures: Callable[[ttt.Study], list[Row]]
    text: Callable[[Row], str]
    options: Sequence[str] = OPTIONS


PAGES = {
    "settling": Page(settling_rows, settling_page),
    "headlines": Page(headlines_rows, headlines_page),
    "exercises": Page(exercises_rows, exercises_page, EXERCISE_OPTIONS),
}


def parser() -> argparse.ArgumentParser:
    """Return the options."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("name", choices=PAGES, help="which page")
    parser.add_argument("study", nargs="?", metavar="STUDY.h5", help="the file that ttt-batch study wrote")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures as JSON")
    add_page_options(parser)
    return parser


def main() -> None:
    """Write the page of a study, or of figures that were kept."""
    options = parser().parse_args()
    page = PAGES[options.name]
    if write_from(options, page.text):
        return
    with opened(options.study) as study:
        report = report_of(study, page.figures, page.options)
    write_report(options, report, page.text)


if __name__ == "__main__":
    main()
