"""How much do a few seeds tell?  Measure how often the usual intervals hold the true figure of a rule.

    ttt-batch study data/seeds.toml -o seeds.h5
    python scripts/seeds.py seeds.h5 --json data/seeds.json --page data/seeds.md --picture data/seeds.png

The study has so many seeds of each rule that all of them together count as the truth.  Samples of a few seeds are drawn
from them, with replacement.  Each sample gets the intervals that papers print, and the share of the samples whose
interval holds the figure of all seeds is the interval's true coverage.

A bootstrap interval lies between two quantiles of the figure in resamples.  The mean and the interquartile mean are
weighted sums of a sample's sorted values, and the weights depend only on how often a resample has each value.  So the
figures of all resamples of many samples are one product of matrices.
"""

import argparse
import statistics
from collections.abc import Callable, Iterator
from itertools import combinations
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from page_writer import add_page_options, fill, markdown_table, read_report, say, write_report
from scipy import stats
from study_pages import check_done, learnt_with, opened, provenance_of

import ttt_batch as ttt
from ttt_batch.app.plots.style import COLOURS, FIGURE_WIDTH, MARKERS, package_style, render
from ttt_batch.core.text import RESULTS
from ttt_batch.studies.summary import CONFIDENCE, LEAST, games_at, survival

Row = dict[str, Any]
Values = NDArray[np.float64]
"""float64[samples, n]: samples of n seeds each, sorted; infinite where an event did not happen."""

NUMBERS = 3, 5, 10, 20
"""Seeds of a sample."""

ENDS = (0, NUMBERS[0]), (-1, NUMBERS[-1])
TAILS = (1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2
RESAMPLES = 2_000
AT_ONCE = 500
"""Samples that share their resamples: 8 MB."""


# --- figures and intervals ----------------------------------------------------------------------------------------


class Metric(NamedTuple):
    """Figure of a learner.  title: of its panel.  form: how a page prints it."""

    title: str
    form: str


METRICS = {
    "loss": Metric("loses to random play", ".3%"),
    "error": Metric("error of its values", ".4f"),
    "first proof": Metric("games to the first proof", ",.0f"),
}


def measured(study: ttt.Study) -> dict[str, Values]:
    """Return the figures of all learners by metric, float64[settings, seeds].

    loss: exact probability to lose against random play, mean of both seats.  error: mean error of the values of both
    players.  Both are at the end.  first proof: games, infinite without a proof.
    """
    rows, last = np.arange(len(study.keys)), study.points - 1
    loss = study.array("versus_random")[rows, :, last][..., RESULTS.index("loss")]
    points = study.summary().events["first_proof"].astype(np.float64)
    return {
        "loss": loss.mean(axis=-1),
        "error": study.array("value_error")[rows, :, last].mean(axis=-1),
        "first proof": np.stack([games_at(study.games[[row]].repeat(points.shape[1], 0), points[row]) for row in rows]),
    }


def cut(n: int) -> int:
    """Return how many of n sorted values the interquartile mean leaves out at each end, as scipy's `trim_mean`."""
    return n // 4


def trimmed(values: Values, left_out: int) -> NDArray[np.float64]:
    """Return the mean of each row without so many values at each end."""
    return np.asarray(values[:, left_out : values.shape[1] - left_out].mean(axis=1))


def t_interval(values: Values, _rng: np.random.Generator) -> Values:
    """Return Student's interval of each mean, float64[samples, 2]."""
    n = values.shape[1]
    half = stats.t.ppf(TAILS[1], n - 1) * values.std(axis=1, ddof=1) / n**0.5
    return values.mean(axis=1)[:, None] + half[:, None] * np.array([-1, 1])


def bootstrap(left_out: Callable[[int], int]) -> Callable[[Values, np.random.Generator], Values]:
    """Return a function of the percentile intervals of a mean, float64[samples, 2].

    left_out: of a number of seeds, how many sorted values are left out at each end.
    """

    def intervals(values: Values, rng: np.random.Generator) -> Values:
        n = values.shape[1]
        ends, low, high = np.empty((len(values), 2)), left_out(n), n - left_out(n)
        for start in range(0, len(values), AT_ONCE):
            drawn = rng.multinomial(n, np.full(n, 1 / n), size=RESAMPLES)  # how often each value is in a resample
            after = drawn.cumsum(axis=1)
            weights = (after.clip(low, high) - (after - drawn).clip(low, high)) / (high - low)
            part = slice(start, start + AT_ONCE)
            ends[part] = np.quantile(values[part] @ weights.T, TAILS, axis=1).T
        return ends

    return intervals


def median_interval(values: Values, _rng: np.random.Generator) -> Values | None:
    """Return the Kaplan-Meier interval of each median, float64[samples, 2]; None for too few seeds.

    All seeds have the same last game, so the ends are order statistics whose ranks depend only on their number.
    """
    n = values.shape[1]
    if n < LEAST:
        return None
    curve = survival(np.arange(n), np.ones(n, np.bool_))
    return values[:, [int(np.argmax(band <= 0.5)) for band in (curve.low, curve.high)]]


def median_of(values: Values) -> NDArray[np.float64]:
    """Return each row's Kaplan-Meier median: the first value by which half of the seeds have one."""
    return np.asarray(values[:, (values.shape[1] - 1) // 2])


class Method(NamedTuple):
    """Interval that papers print.

    figure: what it should hold.  intervals: of samples, None for too few seeds.
    censored: infinite values are left as they are, and not replaced by the last game.
    """

    figure: Callable[[Values], NDArray[np.float64]]
    intervals: Callable[[Values, np.random.Generator], Values | None]
    censored: bool = False


METHODS = {
    "mean, t": Method(lambda values: trimmed(values, 0), t_interval),
    "mean, bootstrap": Method(lambda values: trimmed(values, 0), bootstrap(lambda _: 0)),
    "interquartile mean, bootstrap": Method(lambda values: trimmed(values, cut(values.shape[1])), bootstrap(cut)),
    "median, Kaplan-Meier": Method(median_of, median_interval, censored=True),
}


def capped(values: Values, games: int) -> Values:
    """Return values in which a seed without the event counts as its last game, for means."""
    return np.minimum(values, games)


def coverage(values: Values, samples: Values, games: int, rng: np.random.Generator) -> dict[str, float | None]:
    """Return the share of samples whose interval holds the figure of all seeds, by method.

    values: float64[1, seeds], sorted.  samples: of these.
    """
    found: dict[str, float | None] = {}
    for name, method in METHODS.items():
        whole, some = (one if method.censored else capped(one, games) for one in (values, samples))
        ends, truth = method.intervals(some, rng), method.figure(whole)[0]
        if ends is None:
            found[name] = None
            continue
        slack = 1e-12 * truth if np.isfinite(truth) else 0.0  # sums of equal numbers may differ in the last bit
        found[name] = float(((ends[:, 0] <= truth + slack) & (truth - slack <= ends[:, 1])).mean())
    return found


def report_of(study: ttt.Study, n_samples: int) -> Row:
    """Return all that a page is made of.  n_samples: samples for each rule, metric and number of seeds."""
    check_done(study)
    figures, games = measured(study), int(study.games.max())
    rules = [{name: setting.written[name] for name in ("learner", "alpha")} for setting in study.design.settings]
    rng, rows, pairs = np.random.default_rng(0), list[Row](), list[Row]()
    for metric, values in figures.items():
        say(f"judging samples of {metric} ...")
        ordered = np.sort(values, axis=1)
        # Samples by rule, then by number of seeds.
        samples = [{n: np.sort(rng.choice(row, (n_samples, n)), axis=1) for n in NUMBERS} for row in ordered]
        for rule, row, drawn in zip(rules, ordered, samples, strict=True):
            each = [coverage(row[None], drawn[n], games, rng) for n in NUMBERS]
            rows.append(
                {"metric": metric, "rule": rule["learner"]}
                | facts_of(row, games)
                | {"coverage": {name: [one[name] for one in each] for name in METHODS}}
            )
        pairs += compared(metric, [rule["learner"] for rule in rules], capped(ordered, games), samples, games)
    return {
        "provenance": provenance_of(study),
        "seeds": len(study.design.seeds),
        "games": games,
        "samples": n_samples,
        "rules": rules,
        "rows": rows,
        "pairs": pairs,
    }


def facts_of(values: NDArray[np.float64], games: int) -> Row:
    """Return the figures of all seeds of a rule: values is float64[seeds], sorted."""
    whole, median = capped(values[None], games), float(median_of(values[None])[0])
    return {
        "mean": float(whole.mean()),
        "deviation": float(whole.std(ddof=1)),
        "interquartile_mean": float(trimmed(whole, cut(values.size))[0]),
        "median": median if np.isfinite(median) else None,
        "happened": float(np.isfinite(values).mean()),
        "quantiles": np.quantile(whole, np.linspace(0, 1, 41)).tolist(),
    }


def compared(
    metric: str, rules: list[str], values: Values, samples: list[dict[int, Values]], games: int
) -> Iterator[Row]:
    """Yield for each pair of rules how often the mean of a few seeds prefers the worse one, or neither."""
    means = values.mean(axis=1)
    for pair in combinations(range(len(rules)), 2):
        better, worse = sorted(pair, key=lambda rule: means[rule])  # every metric is better if it is lower
        one, other = ([capped(samples[rule][n], games).mean(axis=1) for n in NUMBERS] for rule in (better, worse))
        yield {
            "metric": metric,
            "better": rules[better],
            "worse": rules[worse],
            "wrong": [float((b < a).mean()) for a, b in zip(one, other, strict=True)],
            "equal": [float((b == a).mean()) for a, b in zip(one, other, strict=True)],
        }


# --- the page and the picture -------------------------------------------------------------------------------------


LEAST_SHOWN = 0.0005
"""Least share that is not printed as 0.0%."""


def share(number: float | None) -> str:
    """Return a share in percent, `-` for None."""
    return "-" if number is None else f"{number:.1%}"


def truth_table(report: Row) -> str:
    """Return the figures of all seeds in Markdown."""
    lines = []
    for row in report["rows"]:
        form = METRICS[row["metric"]].form
        shown = [format(row[name], form) for name in ("mean", "deviation", "interquartile_mean")]
        median = f"> {report['games']:,}" if row["median"] is None else format(row["median"], form)
        lines.append([row["metric"], row["rule"], *shown, median])
    return markdown_table(["metric", "rule", "mean", "standard deviation", "interquartile mean", "median"], lines)


def coverage_table(report: Row) -> str:
    """Return the coverage of each interval in Markdown."""
    lines = [
        [row["metric"], row["rule"], name, *map(share, shares)]
        for row in report["rows"]
        for name, shares in row["coverage"].items()
    ]
    return markdown_table(["metric", "rule", "interval", *(f"{n} seeds" for n in NUMBERS)], lines)


def pairs_table(report: Row) -> str:
    """Return how often the worse rule looks better in Markdown; pairs that every sample tells apart are left out."""
    lines = []
    for row in report["pairs"]:
        if max(row["wrong"] + row["equal"]) < LEAST_SHOWN:
            continue
        both = zip(row["wrong"], row["equal"], strict=True)
        cells = [f"{share(wrong)} ({share(equal)})" if equal else share(wrong) for wrong, equal in both]
        lines.append([row["metric"], row["better"], row["worse"], *cells])
    return markdown_table(["metric", "better rule", "worse rule", *(f"{n} seeds" for n in NUMBERS)], lines)


def summary_table(report: Row) -> str:
    """Return the median of the coverages of each interval, and the worst one, in Markdown."""
    lines = []
    for name in METHODS:
        columns = list(zip(*(row["coverage"][name] for row in report["rows"]), strict=True))
        known = [[one for one in column if one is not None] for column in columns]
        cells = [f"{share(statistics.median(one))} ({share(min(one))})" if one else "-" for one in known]
        lines.append([name, *cells])
    return markdown_table(["interval", *(f"{n} seeds" for n in NUMBERS)], lines)


def page(report: Row) -> str:
    """Return the page."""
    error = (CONFIDENCE * (1 - CONFIDENCE) / report["samples"]) ** 0.5
    return fill(
        "seeds.md",
        machine=learnt_with(report["provenance"]),
        seeds=f"{report['seeds']:,}",
        games=f"{report['games']:,}",
        samples=f"{report['samples']:,}",
        resamples=f"{RESAMPLES:,}",
        error=f"{100 * error:.2f}",
        widest=f"{100 * 0.5 / report['samples'] ** 0.5:.2f}",
        least=str(LEAST),
        truth=truth_table(report),
        coverage=coverage_table(report),
        pairs=pairs_table(report),
        summary=summary_table(report),
        **{f"wrong_{n}": share(max(row["wrong"][place] for row in report["pairs"])) for place, n in ENDS},
    )


def draw(report: Row, path: Path) -> None:
    """Draw the distribution of each metric, and below it the coverage of the intervals by number of seeds."""
    with package_style():
        from matplotlib.figure import Figure

        figure = Figure(figsize=(FIGURE_WIDTH, 6.0), layout="constrained")
        spread, held = figure.subplots(2, len(METRICS))
        for metric, above, below in zip(METRICS, spread, held, strict=True):
            rows = [row for row in report["rows"] if row["metric"] == metric]
            for number, row in enumerate(rows):
                points = row["quantiles"]
                above.plot(points, np.linspace(0, 1, len(points)), color=COLOURS[number], label=row["rule"])
                for kind, (name, shares) in enumerate(row["coverage"].items()):
                    look = {"color": COLOURS[kind], "marker": MARKERS[kind], "markersize": 4, "linewidth": 0.8}
                    known = [np.nan if one is None else one for one in shares]
                    below.plot(range(len(NUMBERS)), known, label=name if not number else None, **look)
            above.set(title=METRICS[metric].title, ylim=(0, 1.02))
            below.axhline(CONFIDENCE, color="0.4", linestyle="--", linewidth=0.8)
            below.set(ylim=(0, 1.02), xlabel="seeds")
            below.set_xticks(range(len(NUMBERS)), [str(n) for n in NUMBERS])
            for axes in (above, below):
                axes.yaxis.set_major_formatter(lambda value, _: f"{value:.0%}")
        spread[0].xaxis.set_major_formatter(lambda value, _: f"{value:.1%}")
        spread[2].xaxis.set_major_formatter(lambda value, _: f"{value / 1000:.0f} k")
        spread[0].set_ylabel("share of the seeds below")
        held[0].set_ylabel("intervals that hold the truth")
        spread[0].legend(loc="lower right", fontsize=7)
        held[1].legend(loc="lower right", fontsize=7)
        path.write_bytes(render(figure, path.suffix[1:]))


def parser() -> argparse.ArgumentParser:
    """Return the options."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("study", nargs="?", metavar="STUDY.h5", help="the file that ttt-batch study wrote")
    parser.add_argument("--samples", type=int, metavar="N", default=10_000, help="samples for each figure (10,000)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures as JSON")
    parser.add_argument("--picture", type=Path, metavar="FILE", help="draw the figures, PNG or SVG")
    add_page_options(parser)
    return parser


def main() -> None:
    """Judge the samples of a study, or take figures that were kept; write what is asked for."""
    options = parser().parse_args()
    if options.samples < 1:
        parser().error(f"--samples {options.samples} is below 1")
    if options.source is not None:
        report = read_report(options.source, "samples", "pairs")
    else:
        with opened(options.study) as study:
            report = report_of(study, options.samples)
    write_report(options, report, page, draw)


if __name__ == "__main__":
    main()
