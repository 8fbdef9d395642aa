"""Which rule is best?  Tune every rule on some seeds, and report its best setting on others.

    python scripts/rules.py --json data/rules.json --page data/rules.md --picture data/rules.png

The settings are those of `data/rules.toml`.  Each learner's are a study of their own; the setting that settles soonest
is repeated with `confirm` beside the default, on seeds that did not choose it.  `--from` writes the page and the
picture again from the figures that were kept.
"""

import argparse
import json
import tempfile
import tomllib
from collections.abc import Iterator
from keyword import iskeyword
from pathlib import Path
from typing import Any

import numpy as np
from page_writer import add_page_options, fill, markdown_table, read_report, say, write_report
from study_pages import learnt_with, provenance_of, shown

import ttt_batch as ttt
from ttt_batch.app.plots.curves import games_axis, games_edges
from ttt_batch.app.plots.style import COLOURS, FIGURE_WIDTH, MARKERS, package_style, render
from ttt_batch.studies.summary import Summary

Row = dict[str, Any]
METRICS = ("settling", "proof", "loss")
"""By which a rule's best setting is chosen; the next where no setting settles, or is proved."""

DESCRIPTION = Path(__file__).parent.parent / "data" / "rules.toml"
GIVEN = ("epsilon", "alpha", "lambda", "beta")
"""Options that are tuned; `cut` and whatever else the file says is the same for a learner's settings."""


# --- learning -----------------------------------------------------------------------------------------------------


def questions(description: dict[str, Any]) -> Iterator[tuple[str, Row]]:
    """Yield each learner of the description with the options of its study."""
    for grid in description["grid"]:
        names = grid["learner"]
        for learner in [names] if isinstance(names, str) else names:
            options = {name: description[name] for name in ("games", "batch")} | grid | {"learner": learner}
            yield learner, {f"{name}_" if iskeyword(name) else name: value for name, value in options.items()}


def figures_of(fresh: Summary, number: int) -> Row:
    """Return the figures of a setting on fresh seeds: median games (None: not half), shares of seeds, a loss."""
    found, games = fresh.figures(number), fresh.games[number, : fresh.points[number]]
    early = np.searchsorted(games, games[-1] / 2, side="right")
    written = fresh.design.settings[number].written
    return {
        "options": {name: written[name] for name in GIVEN if written.get(name) not in (None, "")},
        "proved": found["proved"]["ever"],
        "first_proof": found["first_proof"],
        "settled_by_half": float(np.mean(fresh.events["settling"][number] < early)),
        "settled": found["settling"],
        "loss": found["loss_against_random"]["median"],
    }


def learn(description: dict[str, Any], seeds: int, only: list[str]) -> Row:
    """Tune every learner (or `only` these), and repeat its best setting and its default on so many fresh seeds."""
    rows: list[Row] = []
    with tempfile.TemporaryDirectory() as folder:
        for learner, options in questions(description):
            if only and learner not in only:
                continue
            with ttt.study(out=Path(folder) / f"{learner}.h5", seeds=description["seeds"], **options) as study:
                summary = study.summary()
                metric = next(one for one in METRICS if summary.is_any_good(one, summary.ranked(one)[0]))
                again = study.confirm(seeds, best=metric)
                provenance = provenance_of(study)
            settings = [figures_of(again.fresh, number) for number in range(len(again.fresh.design.settings))]
            row = {"learner": learner, "of_settings": again.confirmation.settings, "tuned": settings[0]}
            rows.append(row | {"default": settings[-1]})
            say(f"{learner}: {json.dumps(row['tuned'])}")
    tuning = {name: description[name] for name in ("seeds", "games")}
    return {"provenance": provenance, **tuning, "fresh_seeds": seeds, "rules": rows}


# --- the page and the picture -------------------------------------------------------------------------------------


def ranked(rows: list[Row]) -> list[Row]:
    """Return the rules, the best first: those that settle on more seeds, then sooner."""
    never = float("inf")
    return sorted(rows, key=lambda row: (-row["tuned"]["settled_by_half"], row["tuned"]["settled"]["games"] or never))


def table(rows: list[Row], which: str) -> str:
    """Return a row for each rule in Markdown, of its `tuned` setting or of its `default`."""
    lines = []
    for row in ranked(rows):
        found = row[which]
        options = ", ".join(f"{name} {value}" for name, value in found["options"].items())
        proof, settled = (shown(found[name]["games"]) for name in ("first_proof", "settled"))
        shares = f"{found['proved']:.0%}", proof, f"{found['settled_by_half']:.0%}", settled
        lines.append((row["learner"], options, *shares, f"{found['loss']:.2%}"))
    head = ["rule", "setting", "proved", "first proof", "by half", "settled", "loses to random play"]
    return markdown_table(head, lines)


def page(report: Row) -> str:
    """Return the page."""
    return fill(
        "rules.md",
        machine=learnt_with(report["provenance"]),
        seeds=f"{report['seeds']:,}",
        fresh=f"{report['fresh_seeds']:,}",
        games=f"{report['games']:,}",
        tuned=table(report["rules"], "tuned"),
        default=table(report["rules"], "default"),
    )


def draw(report: Row, path: Path) -> None:
    """Draw games to the first proof and to settling, with 95 % intervals, and the share of seeds that settles."""
    rows = ranked(report["rules"])[::-1]
    with package_style():
        from matplotlib.figure import Figure

        figure = Figure(figsize=(FIGURE_WIDTH, 4.2), layout="constrained")
        games, shares = figure.subplots(1, 2, sharey=True, width_ratios=[3, 2])
        draw_games(games, rows, report)
        width = [row["tuned"]["settled_by_half"] for row in rows]
        shares.barh(range(len(rows)), width, height=0.5, color=COLOURS[2])
        for place, share in enumerate(width):
            shares.annotate(f"{share:.0%}", (share, place), (4, 0), textcoords="offset points", va="center")
        shares.set(xlim=(0, 1.18), title="seeds settled by half of the games")
        shares.xaxis.set_major_formatter("{x:.0%}")
        shares.set_xticks([0, 0.5, 1])
        for axes in (games, shares):
            axes.grid(False, axis="y")
        path.write_bytes(render(figure, path.suffix[1:]))


def draw_games(axes: Any, rows: list[Row], report: Row) -> None:
    """Draw a line for each rule, the first at the bottom."""
    games = report["games"]
    kinds = ("first proof", "first_proof", 0.14, 0), ("settled: every later point is proved, too", "settled", -0.14, 1)
    for label, name, shift, number in kinds:
        look = {"color": COLOURS[number], "marker": MARKERS[number]}
        axes.plot([], [], linestyle="none", label=label, **look)
        for place, row in enumerate(rows):
            found = row["tuned"][name]
            if found["games"] is not None:
                axes.plot([found["low"], found["high"] or games], [place + shift] * 2, color=COLOURS[number])
                axes.plot(found["games"], place + shift, **look)
    for place, row in enumerate(rows):
        if row["tuned"]["settled"]["games"] is None:
            said = "does not settle" if row["tuned"]["proved"] else "never proved"
            axes.annotate(said, (0.02, place), xycoords=("axes fraction", "data"), va="center", color="0.4")
    games_axis(axes, *games_edges(10_000, games))
    axes.set(title=f"games (median of {report['fresh_seeds']} seeds, 95 % interval)", xlabel="")
    axes.set_yticks(range(len(rows)), [row["learner"] for row in rows])
    axes.legend(loc="lower right")


def parser() -> argparse.ArgumentParser:
    """Return the options."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures as JSON")
    parser.add_argument("--picture", type=Path, metavar="FILE", help="draw the figures, PNG or SVG")
    parser.add_argument("--games", type=int, metavar="N", help="games of each learner, instead of the study's")
    parser.add_argument("--only", nargs="+", metavar="RULE", help="these rules instead of all", default=[])
    parser.add_argument("--seeds", type=int, metavar="N", help="fresh seeds for the best settings (50)", default=50)
    add_page_options(parser)
    return parser


def main() -> None:
    """Learn, or take figures that were kept; write what is asked for."""
    options = parser().parse_args()
    if options.source is None:
        description = tomllib.loads(DESCRIPTION.read_text(encoding="utf-8"))
        games = {} if options.games is None else {"games": options.games}
        report = learn(description | games, options.seeds, options.only)
    else:
        report = read_report(options.source)
    write_report(options, report, page, draw)


if __name__ == "__main__":
    main()
