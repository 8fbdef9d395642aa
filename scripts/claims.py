"""Repeat what others have published about learning tic-tac-toe, judge it exactly, and write the page of verdicts.

    python scripts/claims.py --json data/claims.json --page data/claims.md
    python scripts/claims.py --only openspiel --json data/claims.json --page data/claims.md
    python scripts/claims.py --from data/claims.json --page data/claims.md

Most claims are a study of `data/claims/`, which `ttt-batch study` runs, too; four are those of headlines.md, two need
no learning, and what no study plays is in `claims_beans.py`.  `--only` repeats some claims and takes the figures of the
others from the file of `--json`.  `--studies` keeps the studies' files in a folder, and goes on with those that are
there.  What each claim says, and where, stands in `claims_list.py`, how its verdict follows in `claims_verdicts.py`,
and both of beads and softmax play in `claims_menace.py`; the page's text in `scripts/pages/`.
"""

import argparse
import json
import tempfile
import textwrap
from pathlib import Path
from typing import Any

import numpy as np
from claims_beans import lost_of
from claims_list import CLAIMS
from claims_verdicts import FAILS, HOLDS, SELF_PLAY, Claim
from page_writer import add_page_options, fill, markdown_table, say, write_from, write_report
from study_pages import LIBRARIES, learnt_with

import ttt_batch as ttt
from ttt_batch.games.board import Board
from ttt_batch.games.enumeration import enumerate_graph
from ttt_batch.games.graph import Graph, rows_of_edges
from ttt_batch.games.solution import ends_alone, solve
from ttt_batch.studies.storage.layout import DONE

DATA = Path(__file__).parent.parent / "data"
STUDIES, HEADLINES = DATA / "claims", DATA / "headlines.json"

OPTIONS = ("learner", "games", "batch", "epsilon", "alpha", "symmetry", "opponent", "seat", "start_value")
OF_SOME = ("explore", "beads", "rewards")
"""Options that are listed where they have a value."""

SINCE = (0, 20, 97, 149, 940_769)
"""Recorded points after which the lost games of a learner that plays first alone are counted."""

PROVENANCE = ("created", "processor", *(f"{name}_version" for name in LIBRARIES))
LATER = 1 << 62
"""After the last game."""

Row = dict[str, Any]


# --- figures ------------------------------------------------------------------------------------------------------


def study_rows(study: ttt.Study) -> list[Row]:
    """The figures of a study, a row for each setting: counts of seeds, and means with the lowest and highest seed.

    proof: median games to the first proof in both seats, its interval (None: later, or never), and the seeds proved.
    Those of `menace`, which plays first alone, are `first_seat`.
    """
    summary, rows = study.summary(), []
    for number in range(len(study.keys)):
        if study.design.settings[number].written["learner"] == "menace":
            rows.append(first_seat(study, number))
            continue
        figures = summary.figures(number)
        proved = figures["proved"]
        row: Row = {"proof": [*figures["first_proof"].values()], "proved": proved["ever"], "at_end": proved["at_end"]}
        if "seats" not in figures:
            point, games = study.points[number] - 1, study.games[number]
            unbeatable = study.array("unbeatable")[number, :, : point + 1]
            last = {name: study.array(name)[number, :, point] for name in ("self_play", "versus_random", "unbeatable")}
            row |= {
                "drawn": int(np.count_nonzero(last["self_play"][:, 1] == 1.0)),
                "unbeatable": last["unbeatable"].sum(axis=0).tolist(),
                "both": int(last["unbeatable"].all(axis=1).sum()),
                "first": [first_median(unbeatable[..., seat], games) for seat in (0, 1)],
                "random": spread(last["versus_random"]),
                "error": spread(study.array("value_error")[number, :, point].mean(axis=1)),
            }
        rows.append(row)
    return rows


def first_seat(study: ttt.Study, number: int) -> Row:
    """The figures of learners that play first alone: the seeds that are unbeatable, and the games that they lose.

    since: for each of the points `SINCE` the games after it and those lost, as `lost_of` in `claims_beans.py` has them.
    """
    point, games = int(study.points[number]) - 1, study.games[number]
    unbeatable = study.array("unbeatable")[number, :, : point + 1, 0]
    losses, since = study.array("outcomes")[number, :, : point + 1, 2], {}
    for start in SINCE:
        if start < games[point]:
            before = losses[:, int(np.searchsorted(games, start))] if start else 0
            since[str(start)] = lost_of(losses[:, point] - before, int(games[point]) - start)
    return {
        "unbeatable": int(unbeatable[:, -1].sum()),
        "ever": int(unbeatable.any(axis=1).sum()),
        "random": spread(study.array("versus_random")[number, :, point, 0]),
        "since": since,
    }


def first_median(unbeatable: Any, games: Any) -> int | None:
    """The median game at which seeds are first unbeatable in a seat (bool[seeds, points]); None: most never are."""
    reached = sorted(int(games[one.argmax()]) if one.any() else LATER for one in unbeatable)
    middle = reached[(len(reached) - 1) // 2]
    return None if middle == LATER else middle


def merged(rows: list[Row]) -> list[Row]:
    """A row for both seats of those settings that differ in the learner's seat alone, as against a fixed opponent."""
    if {row.get("seat") for row in rows} != {"first", "second"}:
        return rows
    pairs, found = {}, []
    for row in rows:
        pairs.setdefault(tuple(row[key] for key in OPTIONS if key in row and key != "seat"), []).append(row)
    for first, second in pairs.values():
        row = {key: first[key] for key in OPTIONS if key in first and key != "seat"}
        row |= {name: [first[name][0], second[name][1]] for name in ("unbeatable", "first")}
        both = zip(first["random"], second["random"], strict=True)
        found.append(row | {"random": [[one[0], other[1]] for one, other in both]})
    return found


def spread(values: Any) -> Any:
    """Mean, lowest and highest over the first axis, the seeds."""
    return [part.tolist() for part in (values.mean(axis=0), values.min(axis=0), values.max(axis=0))]


def from_headlines(learner: str) -> Row:
    """The figures of a preset at its own published number of games, game by game: those of headlines.md."""
    report = json.loads(HEADLINES.read_text(encoding="utf-8"))
    rows = [row for row in report["settings"] if (row["learner"], row["batch"]) == (learner, 1)]
    # No more seeds can be unbeatable in both seats than in either.
    rows = [row | {"drawn": row["self_play_drawn"], "both": min(row["unbeatable"])} for row in rows]
    return {"provenance": report["provenance"], "seeds": report["seeds"], "settings": rows}


def best_against_random(graph: Graph, allowed: Any, draw: float, loss: float) -> list[float]:
    """Return the largest expectation of each player against uniformly random moves; a win counts 1.

    allowed: bool[E], the moves that it may choose.
    """
    found = []
    ends = ends_alone(graph.outcome, 1)
    for seat in (0, 1):
        own = ends * (1 - 2 * seat)
        value = np.where(own > 0, 1.0, np.where(own < 0, loss, draw))
        for row in range(graph.first_edge.size - 2, -1, -1):
            edges = slice(int(graph.first_edge[row]), int(graph.first_edge[row + 1]))
            after = value[graph.child[edges]]
            value[row] = after[allowed[edges]].max() if graph.ply[row] % 2 == seat else after.mean()
        found.append(float(value[0]))
    return found


def exact_figures() -> Row:
    """Return the figures without learning: the best against random play, with and without a guarantee; optimal play."""
    graph = enumerate_graph(Board())
    truth, mover = solve(graph), 1 - 2 * (graph.ply[rows_of_edges(graph)] & 1)
    kept, every = truth[graph.child] * mover >= 0, np.ones(graph.child.size, np.bool_)
    kept |= ~np.logical_or.reduceat(kept, graph.first_edge[:-1])[rows_of_edges(graph)]  # where all moves lose
    optimal, random = (ttt.judge(name, against="random") for name in ("optimal", "random"))
    return {
        "best": best_against_random(graph, every, 0.0, -1.0),
        "best_unbeatable": best_against_random(graph, kept, 0.0, -1.0),
        "most_wins": best_against_random(graph, every, 0.0, 0.0),
        "optimal": [list(optimal.first), list(optimal.second)],
        "random": list(random.first),
    }


def repeat(claim: Claim, studies: Path) -> Row:
    """Repeat a claim: its figures, the seeds, and what they were learnt with.  studies: where files are kept."""
    if claim.headline:
        return from_headlines(claim.headline)
    if claim.simulate and not claim.study:
        return claim.simulate()
    file = studies / f"{claim.study}.h5"
    with ttt.study(resume=file) if file.exists() else ttt.study(STUDIES / f"{claim.study}.toml", out=file) as study:
        if (study.state != DONE).any():
            raise SystemExit(f"{file} is not done; resume the study, or remove the file")
        written = [setting.written for setting in study.design.settings]
        keys = [[*(key for key in OPTIONS if key in one), *(key for key in OF_SOME if one.get(key))] for one in written]
        rows = [{key: one[key] for key in chosen} for chosen, one in zip(keys, written, strict=True)]
        return {
            "provenance": {name: study.provenance[name] for name in PROVENANCE},
            "seeds": len(study.design.seeds),
            "settings": merged([row | figures for row, figures in zip(rows, study_rows(study), strict=True)]),
        } | ({"simulated": claim.simulate()} if claim.simulate else {})


# --- the page -----------------------------------------------------------------------------------------------------


def details(claim: Claim, report: Row) -> str:
    """A claim's part of the page: what it says, where, how it was repeated, what was found."""
    repeated = claim.repeated
    if claim.study:
        repeated = f"[claims/{claim.study}.toml](claims/{claim.study}.toml), {report['seeds']:,} seeds. {repeated}"
    elif claim.simulate:
        repeated = f"[scripts/claims_beans.py](../scripts/claims_beans.py), {report['seeds']:,} seeds. {repeated}"
    elif claim.headline:
        repeated = f"[headlines.toml](headlines.toml), batch 1, {report['seeds']:,} seeds. {repeated}"
    parts = {"Source": claim.source, "Repeated": repeated, "Found": claim.found(report)}
    lines = [f"## {claim.says}", "", f"**{claim.verdict(report)}** (`{claim.name}`)", ""]
    for title, text in parts.items():
        lines += textwrap.wrap(
            f"- {title}: {text}", 120, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False
        )
    return "\n".join(lines)


def page(report: Row) -> str:
    """The page of all claims."""
    found = [(claim, report["claims"][claim.name] | {"exact": report["exact"]}) for claim in CLAIMS]
    given = [claim.verdict(figures) for claim, figures in found]
    words = {HOLDS: "hold", SELF_PLAY: "hold in self-play only", FAILS: "do not hold"}
    return fill(
        "claims.md",
        machine=learnt_with(report["provenance"]),
        claims=str(len(CLAIMS)),
        counts=", ".join(f"{given.count(verdict)} {text}" for verdict, text in words.items()),
        telling=markdown_table(
            ["claim", "verdict", "found"],
            ((one.says, one.verdict(figures), one.brief(figures)) for one, figures in found if one.brief),
        ),
        table=markdown_table(
            ["claim", "games", "seeds", "verdict"],
            (
                (claim.says, claim.games(figures), figures.get("seeds", "exact"), claim.verdict(figures))
                for claim, figures in found
            ),
        ),
        details="\n\n".join(details(claim, figures) for claim, figures in found),
    )


def parser() -> argparse.ArgumentParser:
    """Return the options."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--only", action="append", choices=[claim.name for claim in CLAIMS], help="repeat this claim")
    parser.add_argument("--studies", type=Path, metavar="FOLDER", help="keep the studies' files there, and go on")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures as JSON; --only changes its own")
    add_page_options(parser)
    return parser


def main() -> None:
    """Repeat claims and write their page, or write it of figures that were kept."""
    options = parser().parse_args()
    if write_from(options, page):
        return
    kept: Row = {"claims": {}}
    if options.only:
        if options.json is None or not options.json.exists():
            raise SystemExit("--only needs --json: a file that has the figures of the other claims")
        kept = json.loads(options.json.read_text(encoding="utf-8"))
    report: Row = {"exact": exact_figures(), "claims": dict(kept["claims"])}
    with tempfile.TemporaryDirectory() as scratch:
        for claim in CLAIMS:
            if not options.only or claim.name in options.only:
                say(claim.name)
                studied = bool(claim.study or claim.headline or claim.simulate)
                report["claims"][claim.name] = repeat(claim, options.studies or Path(scratch)) if studied else {}
    studied = [one for name, one in report["claims"].items() if "provenance" in one and not name.startswith("preset")]
    report["provenance"] = max((one["provenance"] for one in studied), key=lambda one: one["created"])
    write_report(options, report, page)


if __name__ == "__main__":
    main()
