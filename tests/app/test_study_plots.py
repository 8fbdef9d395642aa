"""Pictures of studies: what they show is what the study's arrays hold, and what they cannot show is refused."""

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers.studyfiles import missing, results, store, store_all
from helpers.support import command

import ttt_batch as ttt
from ttt_batch.app.plots import STUDY_KINDS, draw_picture
from ttt_batch.app.plots.studies.canvas import LINES, METRICS, TIME, Selection, at_end, readable, spread
from ttt_batch.app.plots.studies.panels import ABOVE, KINDS, horizontal_axis, steps_of, study_figure
from ttt_batch.app.plots.style import package_style
from ttt_batch.core.errors import StudyFileError, UsageError
from ttt_batch.runs.base import unbeatable_since
from ttt_batch.studies.designs.design import make_design
from ttt_batch.studies.storage.reading import StudyFile, open_study
from ttt_batch.studies.storage.writing import StudyWriter, create_study

pytest.importorskip("matplotlib")
pytest.importorskip("scipy")

BATCHED: dict[str, Any] = {"batch": 100, "games": 2_000}
STEPS = {**BATCHED, "learner": "td,sutton-barto", "epsilon": "0.1,0.3", "alpha": "0.05,0.1,0.2"}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """Makes the file of a study with results that mean nothing."""

    def make(
        options: dict[str, Any] = STEPS, seeds: Any = 5, fill: Callable[[StudyWriter], None] = store_all, **more: Any
    ) -> Path:
        path = tmp_path_factory.mktemp("study") / "steps.h5"
        with create_study(path, make_design(options, seeds, **more)) as study:
            fill(study)
        return path

    return make


@pytest.fixture(scope="module")
def path(made: Callable[..., Path]) -> Path:
    return made()


def some(study: StudyWriter) -> None:
    """A third of the learners is done, two failed, the others are missing."""
    for setting, seed in missing(study)[::3]:
        store(study, setting, seed)
    study.fail(0, 1, "no memory")
    study.fail(1, 1, "no memory")


def figure(path: Path, kind: str, metric: str | None = None, **only: Any) -> Any:
    """A picture on a canvas, not drawn yet: that takes longer than all else."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    with open_study(path) as study, package_style():
        made = study_figure(study, kind, metric=metric, only=only)
        FigureCanvasAgg(made)
    return made


def panels(drawn: Any) -> dict[str, Any]:
    """The axes of a picture by their titles, but for the bar of colours."""
    found = drawn.findobj(lambda artist: hasattr(artist, "get_xlabel"))
    return {axes.get_title(loc="left"): axes for axes in found if axes.get_label() != "<colorbar>"}


def texts(drawn: Any) -> str:
    from matplotlib.text import Text

    return " ".join(text.get_text().replace("\n", " ") for text in drawn.findobj(Text))


def legend(drawn: Any) -> list[str]:
    from matplotlib.legend import Legend

    return [text.get_text() for found in drawn.findobj(Legend) for text in found.get_texts()]


def column(study: StudyFile, setting: int, name: str) -> np.ndarray:
    """A statistic of the learners of a setting that are done, at its points."""
    done = study.state[setting] == 1
    return study.array(name)[setting, done, : study.points[setting]]


def setting_with(study: StudyFile, **values: Any) -> int:
    rows = [setting.written for setting in study.design.settings]
    (found,) = [i for i, row in enumerate(rows) if all(row[name] == value for name, value in values.items())]
    return found


# --- numbers ------------------------------------------------------------------------------------------------


@pytest.mark.sampled(1)
@pytest.mark.parametrize("fill", [store_all, some])
def test_metrics_at_the_end_are_those_of_each_learner(made: Callable[..., Path], fill: Any) -> None:
    with open_study(made(fill=fill)) as study:
        ends = {name: at_end(study, metric) for name, metric in METRICS.items() if name != "positions"}
        for setting, seed in np.ndindex(*study.state.shape):
            own = {name: values[setting, seed] for name, values in ends.items()}
            if study.state[setting, seed] != 1:
                assert all(np.isnan(list(own.values())))
                continue
            learner = results(study, setting, seed)
            holds = learner["unbeatable"].all(axis=1)
            since = unbeatable_since(learner["games"], learner["unbeatable"])
            half = learner["games"][-1] // 2
            wins = learner["outcomes"][-1] - learner["outcomes"][learner["games"] <= half][-1]
            assert own == pytest.approx(
                {
                    "proof": learner["games"][holds.argmax()] if holds.any() else np.inf,
                    "settling": np.inf if since is None else since,
                    "proved": 100 * holds.any(),
                    "unbeatable": 100 * holds[-1],
                    "first": 100 * learner["unbeatable"][-1, 0],
                    "second": 100 * learner["unbeatable"][-1, 1],
                    "loss": 100 * learner["versus_random"][-1, :, 2].mean(),
                    "error": learner["value_error"][-1].mean(),
                    "optimal": 100 * learner["optimal_share"][-1].mean(),
                    "response": learner["best_response"][-1].mean(),
                    "draws": 100 * learner["self_play"][-1, 1],
                    "play": 100 * wins[1] / wins.sum(),
                    "first-wins": 100 * wins[0] / wins.sum(),
                    "second-wins": 100 * wins[2] / wins.sum(),
                    "time": 1000 * learner["seconds"][-1],
                }
            )


def test_seeds_are_summed_up_as_numpy_does_it() -> None:
    rng = np.random.default_rng(1)
    values = rng.random((20, 9))
    values[rng.random(values.shape) < 0.4] = np.nan
    values[3] = np.nan
    values[4, 1:] = np.nan
    values[4, 0] = 0.5
    number, time = METRICS["error"], METRICS["proof"]
    late = np.where(values > 0.6, np.inf, values)
    for i, (row, times) in enumerate(zip(values, late, strict=True)):
        there = ~np.isnan(row)
        for share, part, timed in zip((0.5, 0.25, 0.75), spread(values, number), spread(late, time), strict=True):
            if there.any():
                assert part[i] == pytest.approx(np.quantile(row[there], share))
                assert timed[i] == np.quantile(times[there], share, method="inverted_cdf")
            else:
                assert np.isnan(part[i]) and np.isnan(timed[i])


@pytest.mark.slow
@pytest.mark.parametrize("hits", [0, 1, 7, 20])
def test_intervals_of_shares_are_those_of_wilson(hits: int) -> None:
    from scipy.stats import binomtest

    found = spread(np.array([[100.0] * hits + [0.0] * (20 - hits) + [np.nan] * 3]), METRICS["proved"])
    wanted = binomtest(hits, 20).proportion_ci(0.95, method="wilson")
    assert found.middle == pytest.approx(5 * hits)
    assert (found.low, found.high) == pytest.approx((100 * wanted.low, 100 * wanted.high), abs=1e-9)


def test_the_estimate_reaches_the_share_that_happened() -> None:
    """All seeds are watched to the same end, so the estimate is the plain share."""
    steps = steps_of(np.array([200.0, np.inf, np.nan, 100.0, 200.0, np.inf]), 1_000)
    assert steps.times.tolist() == [100, 200, 1_000]
    assert (1 - steps.left).tolist() == pytest.approx([0.2, 0.6, 0.6])
    assert (steps.low <= steps.left).all() and (steps.left <= steps.high).all()


# --- what is drawn -------------------------------------------------------------------------------------------


@pytest.mark.sampled(1)
@pytest.mark.parametrize("metric", ["error", "proof"])
def test_a_line_of_sensitivity_is_the_middle_of_the_seeds(path: Path, metric: str) -> None:
    drawn = panels(figure(path, "sensitivity", metric, learner="td"))[""]
    assert drawn.get_xscale() == "log" and drawn.get_xlabel() == "alpha"
    assert [text.get_text() for text in drawn.get_xticklabels()] == ["0.05", "0.1", "0.2"]
    measured = METRICS[metric]
    with open_study(path) as study:
        ends = spread(at_end(study, measured), measured)
        ceiling = ABOVE * 2_000 if measured.kind == TIME else np.inf
        for line, band, epsilon in zip(drawn.get_lines(), drawn.collections, (0.1, 0.3), strict=True):
            own = [setting_with(study, learner="td", epsilon=epsilon, alpha=alpha) for alpha in (0.05, 0.1, 0.2)]
            assert line.get_xdata().tolist() == [0.05, 0.1, 0.2]
            assert line.get_ydata() == pytest.approx(np.minimum(ends.middle[own], ceiling), abs=0)
            edges = {tuple(vertex) for vertex in band.get_paths()[0].vertices}
            for part in (ends.low, ends.high):
                wanted = zip((0.05, 0.1, 0.2), np.minimum(part[own], ceiling).tolist(), strict=True)
                assert edges >= set(wanted)


def test_many_lines_have_a_panel_for_each_learner(made: Callable[..., Path]) -> None:
    several = made({**BATCHED, "learner": "td,sutton-barto", "epsilon": "0.1..0.5:3", "alpha": "0.1,0.2"}, 3)
    drawn = figure(several, "sensitivity")
    assert {"td", "sutton-barto"} <= panels(drawn).keys()
    assert legend(drawn) == ["epsilon 0.1", "epsilon 0.3", "epsilon 0.5"]
    assert "line: median of the seeds" in texts(drawn).lower() and "12 settings with 3 seeds each" in texts(drawn)


@pytest.mark.slow
def test_the_horizontal_axis_is_alpha_or_the_first_one_that_differs(made: Callable[..., Path]) -> None:
    def axis(seeds: int = 1, **options: Any) -> tuple[str, bool, bool]:
        with open_study(made({**BATCHED, **options}, seeds)) as study:
            place = horizontal_axis(Selection(study))
            return place.option, place.numeric, place.log

    assert axis(epsilon="0.1,0.2,0.4", alpha="0.1,0.2,0.3") == ("alpha", True, False)
    assert axis(epsilon="0.1,0.2,0.4", learner="td,sutton-barto") == ("epsilon", True, True)
    assert axis(batch="100,200", board="3x3,3x4x3") == ("batch", True, False)
    assert axis(epsilon="0,0.5,1") == ("epsilon", True, False)
    assert axis(alpha="0.1,0.3->0.1:linear,0.2") == ("alpha", False, False)
    assert axis(learner="td,sutton-barto") == ("learner", False, False)
    assert axis() == ("alpha", False, False)


@pytest.mark.slow
def test_curves_are_medians_and_shares_over_games(path: Path) -> None:
    drawn = panels(figure(path, "curves", alpha="0.1,0.2", learner="td"))
    with open_study(path) as study:
        for number, (epsilon, alpha) in enumerate([(0.1, 0.1), (0.1, 0.2), (0.3, 0.1), (0.3, 0.2)]):
            own = setting_with(study, learner="td", epsilon=epsilon, alpha=alpha)
            wanted = {
                "Losses against random play": 100 * np.median(column(study, own, "versus_random")[..., 2].mean(2), 0),
                "Values: distance from the truth": np.median(column(study, own, "value_error").mean(2), 0),
                "Seeds unbeatable in every seat": 100 * column(study, own, "unbeatable").all(2).mean(0),
                "Positions played optimally": 100 * np.median(column(study, own, "optimal_share").mean(2), 0),
            }
            for title, values in wanted.items():
                axes = drawn[title]
                assert axes.get_xscale() == "log" and axes.get_ylabel()
                line = axes.get_lines()[number]
                assert line.get_xdata().tolist() == study.games[own].tolist()
                assert line.get_ydata() == pytest.approx(values)


def test_settling_rises_by_the_seeds_that_are_proved(path: Path) -> None:
    drawn = panels(figure(path, "settling", alpha=0.1, epsilon=0.1))
    with open_study(path) as study:
        for number, learner in enumerate(("td", "sutton-barto")):
            own = setting_with(study, learner=learner, epsilon=0.1, alpha=0.1)
            for title, name in (("Proved by then", "proof"), ("Settled by then", "settling")):
                line = drawn[title].get_lines()[number]
                times = at_end(study, METRICS[name])[own]
                games, shares = line.get_xdata(), line.get_ydata()
                assert line.get_drawstyle() == "steps-post"
                wanted = [100 * (times <= game).mean() for game in games.tolist()]
                assert shares == pytest.approx(wanted)


@pytest.mark.sampled(1)
@pytest.mark.parametrize("metric", ["error", "proof"])
def test_a_cell_has_the_number_of_its_setting(made: Callable[..., Path], metric: str) -> None:
    several = made({**BATCHED, "epsilon": "0.1,0.2", "alpha": "0.1,0.2,0.4"}, 4)
    axes = panels(figure(several, "heat", metric))[""]
    with open_study(several) as study:
        ends = spread(at_end(study, METRICS[metric]), METRICS[metric]).middle
        for text in axes.texts:
            column, row = text.get_position()
            own = setting_with(study, alpha=(0.1, 0.2, 0.4)[int(column)], epsilon=(0.1, 0.2)[int(row)])
            wanted = "never" if np.isinf(ends[own]) else f"{ends[own]:.{2 if metric == 'error' else 0}f}"
            assert text.get_text().replace("2 k", "2000").replace("1 k", "1000") == wanted or " k" in text.get_text()
    assert len(axes.texts) == 6 and axes.get_xlabel() == "alpha" and axes.get_ylabel() == "epsilon"


def test_what_is_not_done_is_said_and_not_drawn(made: Callable[..., Path]) -> None:
    def few(study: StudyWriter) -> None:
        for seed in range(2):
            store(study, 1, seed)
        study.fail(0, 0, "no memory")

    partial = made({**BATCHED, "epsilon": "0.1,0.2", "alpha": "0.1,0.2"}, 3, few)
    drawn = {kind: figure(partial, kind) for kind in KINDS}
    assert all("1 failed and 9 missing of 12 learners" in texts(one) for one in drawn.values())
    cells = [text.get_text() for text in panels(drawn["heat"])[""].texts]
    assert cells.count("none") == 3
    assert "epsilon 0.1, alpha 0.1 (0 of 3 seeds)" in legend(drawn["curves"])
    (line,) = [line for line in panels(drawn["sensitivity"])[""].get_lines() if len(line.get_xdata())]
    assert line.get_xdata().tolist() == [0.2]


@pytest.mark.slow
def test_of_many_settings_the_best_are_drawn_and_the_others_named(made: Callable[..., Path]) -> None:
    forty = made({**BATCHED, "alpha": "0.001..1:40log"}, 3)
    for kind, metric in (("curves", "error"), ("settling", "proof")):
        drawn = figure(forty, kind, metric)
        assert len(legend(drawn)) == LINES and f"only {LINES} of 40 settings" in texts(drawn)
        with open_study(forty) as study:
            ends = spread(at_end(study, METRICS[metric]), METRICS[metric]).middle
            alphas = [setting.written["alpha"] for setting in study.design.settings]
        best = sorted(np.argsort(ends, kind="stable")[:LINES].tolist())
        assert [text.split(" (")[0] for text in legend(drawn)] == [f"alpha {alphas[i]:.4g}" for i in best]
    assert "only 8" not in texts(figure(forty, "curves", alpha=[0.001, 1.0]))


# --- how it looks --------------------------------------------------------------------------------------------

EXTREMES: dict[str, tuple[dict[str, Any], int]] = {
    "one": (BATCHED, 1),
    "forty": ({**BATCHED, "alpha": "0.001..1:40log"}, 2),
    "grid": ({**BATCHED, "alpha": "0.001..1:5log", "epsilon": "0..1:8"}, 2),
    "learners": ({**BATCHED, "learner": "td,sutton-barto,value-feed", "alpha": "0.1,0.2", "epsilon": "0..1:6"}, 2),
    "schedules": ({**BATCHED, "alpha": [f"0.{i}123456->0.0123456:linear" for i in range(1, 9)], "epsilon": "0,1"}, 2),
    "grown": ({"games": 200, "batch": 100, "board": "5x5x5", "alpha": "0.1,0.2", "epsilon": "0,1"}, 2),
    "boards": ({"games": 200, "batch": 100, "board": "5x5x5,3x3", "alpha": "0.1,0.2"}, 2),
    "large": ({"games": 100, "batch": 100, "alpha": "0.001..1:60log", "epsilon": "0..1:9"}, 1),
}


@pytest.mark.slow
@pytest.mark.parametrize("case", EXTREMES)
@pytest.mark.parametrize("kind", KINDS)
def test_labels_do_not_overlap(made: Callable[..., Path], case: str, kind: str, recwarn: Any) -> None:
    several = made(*EXTREMES[case])
    try:
        drawn = figure(several, kind)
    except UsageError as error:
        assert (case, kind) in {("one", "heat"), ("forty", "heat"), ("grown", "settling")}, error
        return
    with package_style():
        drawn.canvas.draw()  # places are known then
    assert not recwarn.list
    renderer = drawn.canvas.get_renderer()
    for axes in panels(drawn).values():
        for axis in (axes.xaxis, axes.yaxis):
            shown = [text for text in axis.get_ticklabels() if text.get_text() and text.get_visible()]
            boxes = [text.get_window_extent(renderer) for text in shown if not text.get_rotation()]
            assert not any(a.overlaps(b) for i, a in enumerate(boxes) for b in boxes[:i]), [t.get_text() for t in shown]
        for text in axes.texts:
            assert text.get_window_extent(renderer).width < axes.get_window_extent().width / axes.get_xlim()[1]
    inside = drawn.bbox.padded(1)
    notes = [text for text in drawn.texts if text.get_text() != drawn.get_suptitle()]
    foot = [found.get_window_extent(renderer) for found in (*drawn.legends, *notes)]
    lowest = min(axes.get_tightbbox(renderer).y0 for axes in panels(drawn).values())
    for box in foot:
        assert inside.x0 <= box.x0 and box.x1 <= inside.x1 and inside.y0 <= box.y0 and box.y1 <= lowest + 1
    assert not any(one.overlaps(other) for i, one in enumerate(foot) for other in foot[:i])


def test_labels_that_touch_are_left_out() -> None:
    assert readable([0, 1, 2, 3, 10], [1.5] * 5) == [0, 2, 4]
    assert readable([0, 1, 2], [0.9] * 3) == [0, 1, 2]
    assert readable([], []) == []


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "suffix"), [("curves", ".svg"), ("heat", ".png")])
def test_a_picture_is_the_same_bytes_again(path: Path, tmp_path: Path, kind: str, suffix: str) -> None:
    drawn = {
        draw_picture([], [], tmp_path / f"x{suffix}", kind, study=path, overwrite=True).read_bytes() for _ in range(2)
    }
    assert len(drawn) == 1


def test_places_are_rounded_once_and_for_all(path: Path) -> None:
    """The last bits of matplotlib's layout differ, in one picture of twenty."""
    drawn = figure(path, "curves")
    assert type(drawn.get_layout_engine()).__name__ == "PlaceHolderLayoutEngine"
    for axes in drawn.axes:
        bounds = axes.get_position().bounds
        assert bounds == pytest.approx([round(number, 6) for number in bounds], abs=1e-12)


# --- refusals and ways to ask ---------------------------------------------------------------------------------


def test_refusals(path: Path, made: Callable[..., Path], tmp_path: Path) -> None:
    def refused(wanted: str, file: Path = path, kind: str = "curves", **more: Any) -> None:
        with pytest.raises(UsageError, match=wanted) as caught:
            draw_picture([], [], tmp_path / "x.png", kind, study=file, **more)
        assert "\n" not in str(caught.value) and not list(tmp_path.iterdir())

    refused("unknown metric 'eror' .did you mean error", metric="eror")
    refused("unknown option 'alhpa' .did you mean alpha", only={"alhpa": 0.1})
    refused("no setting of .* has alpha 0.3; choose from 0.05, 0.1, 0.2", only={"alpha": "0.1,0.3"})
    refused("alpha 2 ", only={"alpha": 2})
    refused("only has alpha twice", only=[("alpha", "0.1"), ("Alpha", "0.2")])
    refused("only alpha differs", kind="heat", only={"learner": "td", "epsilon": 0.1})
    refused("no option differs", kind="heat", only={"learner": "td", "epsilon": 0.1, "alpha": 0.1})
    refused("counts no positions", kind="sensitivity", metric="positions")
    many = made({**BATCHED, "board": "3x3,2x3,3x4x3", "engine": "walk,flow", "alpha": "0.1,0.2"} | {
        "epsilon": "0.1,0.2", "learner": "td,sutton-barto",
    }, 1)  # fmt: skip
    refused("12 combinations of learner, board, engine; a picture of alpha and epsilon has room for 6", many, "heat")
    grown = made({"games": 100, "batch": 100, "board": "5x5x5", "alpha": "0.1,0.2"}, 1)
    refused(
        "has no exact results.* choose play, first-wins, second-wins, time or positions",
        grown,
        "sensitivity",
        metric="error",
    )
    refused("has no proofs", grown, "settling")
    wide = made({"games": 100, "batch": 100, "alpha": "0.001..1:101log", "epsilon": "0,1"}, 1)
    refused("101 values of alpha are too many for a picture", wide, "heat")
    nothing = made(fill=lambda study: None)
    for kind in KINDS:
        refused("no learner in .* is done: 60 missing of 60 learners", nothing, kind)
    failed = made(BATCHED, 1, lambda study: study.fail(0, 0, "no memory"))
    refused("1 failed of 1 learner", failed)
    apart = made({**BATCHED, "alpha": "0.1,0.2", "epsilon": "0.1,0.2"}, 1, sweep="one-at-a-time")
    refused("has all of these values", apart, only={"alpha": 0.2, "epsilon": 0.2})


def test_what_settling_needs_is_named(made: Callable[..., Path], tmp_path: Path, monkeypatch: Any) -> None:
    path = made(BATCHED, 17)  # as many seeds as no other test, whose estimates may be known already
    monkeypatch.setitem(sys.modules, "scipy", None)
    with pytest.raises(ttt.TttBatchError, match=r"pip install 'ttt-batch\[study\]'"):
        draw_picture([], [], tmp_path / "x.png", "settling", study=path)


@pytest.mark.slow
def test_a_study_is_drawn_by_the_command(path: Path, tmp_path: Path, capsys: Any) -> None:
    (tmp_path / "steps.h5").write_bytes(path.read_bytes())
    assert tuple(KINDS) == STUDY_KINDS
    for kind in ("curves", "settling"):
        status, out, err = command(capsys, "plot", "steps", "--kind", kind)
        assert (status, out, err) == (0, f"wrote steps-{kind}.png\n", "")
        assert (tmp_path / f"steps-{kind}.png").read_bytes().startswith(b"\x89PNG")
    words = ["steps.h5", "--kind", "Heat", "--metric", "Error", "--only", "learner=TD", "--only", "alpha=0.1,0.2"]
    status, out, _ = command(capsys, "plot", *words, "-o", "x.svg", "--json")
    assert status == 0 and json.loads(out) == {"file": "x.svg", "kind": "heat", "study": "steps.h5"}
    only = {"learner": "td", "alpha": [0.1, 0.2]}
    same = ttt.plot("steps.h5", out="y.svg", kind="heat", metric="error", only=only)
    assert same.read_bytes() == (tmp_path / "x.svg").read_bytes()
    assert ttt.plot(tmp_path / "steps.h5", kind="settling") == Path("steps-settling-2.png")


def test_studies_and_runs_are_not_mixed(path: Path, tmp_path: Path, capsys: Any) -> None:
    (tmp_path / "steps.h5").write_bytes(path.read_bytes())
    ttt.train(100, batch=100, out="run.h5")

    def refused(wanted: str, *words: str) -> None:
        status, out, err = command(capsys, "plot", *words, "-o", "x.png")
        assert (status, out, err.count("\n")) == (2, "", 1) and wanted in err, err

    refused("one study alone", "steps.h5", "run.h5")
    refused("one study alone", "run.h5", "steps.h5", "--kind", "opening")
    refused("one study alone", "steps.h5", "steps.h5")
    refused("opening is a picture of runs, not of a study; choose curves, sensitivity", "steps.h5", "--kind", "opening")
    refused("heat is a picture of a study, not of runs; choose curves, opening", "run.h5", "--kind", "heat")
    refused("--metric is for a study", "run.h5", "--metric", "error")
    refused("--only is for a study", "run.h5", "--only", "alpha=1")
    refused("--trust is for runs", "steps.h5", "--trust")
    refused("--only 'alpha' names no values", "steps.h5", "--only", "alpha")
    refused("--only 'alpha=' names no values", "steps.h5", "--only", "alpha=")
    status, _, err = command(capsys, "plot", "steps.h5", "-o", "steps.h5", "--overwrite")
    assert status == 2 and "steps.h5" in err
    for changes, wanted in (({"metric": "error"}, "metric"), ({"only": {"alpha": 1}}, "only")):
        with pytest.raises(UsageError, match=f"{wanted} is for a study"):
            ttt.plot("run.h5", **changes)
    with pytest.raises(UsageError, match="names is for runs"):
        ttt.plot("steps.h5", ["a"])
    with pytest.raises(UsageError, match="one study alone"):
        ttt.plot([ttt.load("run.h5"), "steps.h5"])
    content = path.read_bytes()
    (tmp_path / "cut.h5").write_bytes(content[: len(content) // 2])
    with pytest.raises(StudyFileError):
        ttt.plot("cut.h5")


# --- networks -----------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def networks(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A study of pattern networks in several seats, with proofs and without."""
    path = tmp_path_factory.mktemp("study") / "networks.h5"
    asked: dict[str, Any] = {"learner": "patterns", "games": 300, "prove_every": "100,0", "epsilon": "0.1,0.3"}
    ttt.study(out=path, seeds=4, seat="first,both", **asked).close()
    return path


def test_metrics_of_networks_are_what_their_proofs_say(networks: Path) -> None:
    with open_study(networks) as study:
        names = ("proof", "settling", "proved", "unbeatable", "first", "second")
        ends = {name: at_end(study, METRICS[name]) for name in names}
        assert np.isnan(at_end(study, METRICS["loss"])).all()
        for setting, seed in np.ndindex(*study.state.shape):
            own = {name: values[setting, seed] for name, values in ends.items()}
            config = study.design.settings[setting].config
            if not config.prove_every:
                assert np.isnan(list(own.values())).all()
                continue
            proved = study.array("proof")[setting, seed, : study.points[setting]] == 1
            held, games = proved[:, list(config.seats)].all(axis=1), study.games[setting]
            since = held.size - int(np.logical_and.accumulate(held[::-1]).sum())
            second = 100 * proved[-1, 1] if config.seat == "both" else np.nan
            assert own == pytest.approx(
                {
                    "proof": games[held.argmax()] if held.any() else np.inf,
                    "settling": games[since] if held[-1] else np.inf,
                    "proved": 100 * held.any(),
                    "unbeatable": 100 * held[-1],
                    "first": 100 * proved[-1, 0],
                    "second": second,
                },
                nan_ok=True,
            )


@pytest.mark.slow
def test_every_kind_of_picture_shows_networks(networks: Path, tmp_path: Path) -> None:
    for kind in STUDY_KINDS:
        path = draw_picture([], [], tmp_path / f"{kind}.png", kind, study=networks)
        assert path.stat().st_size > 10_000
    unproved = {"prove_every": 0, "seat": "both"}
    draw_picture([], [], tmp_path / "unproved.png", "curves", study=networks, only=unproved)
    for kind, said in (("settling", "has no proofs"), ("heat", "only epsilon differs")):
        with pytest.raises(UsageError, match=said):
            draw_picture([], [], tmp_path / "a.png", kind, study=networks, only=unproved)


def test_what_networks_have_not_is_refused(networks: Path, tmp_path: Path) -> None:
    for metric, said in (
        ("loss", "has no exact results: it is of networks; choose proof,"),
        ("positions", "no tables"),
    ):
        with pytest.raises(UsageError, match=said):
            draw_picture([], [], tmp_path / "a.png", "sensitivity", study=networks, metric=metric)
    with pytest.raises(UsageError, match="makes no proofs; choose play, first-wins, second-wins or time"):
        draw_picture([], [], tmp_path / "a.png", "sensitivity", study=networks, metric="proof", only={"prove_every": 0})


@pytest.mark.slow
def test_a_title_names_only_what_is_drawn(made: Callable[..., Path]) -> None:
    def of_td(study: StudyWriter) -> None:
        for setting, seed in missing(study):
            if study.design.settings[setting].written["learner"] == "td":
                store(study, setting, seed)

    half = made({**BATCHED, "learner": "td,backward-q", "alpha": "0.1,0.2"}, 3, of_td)
    drawn = {kind: figure(half, kind) for kind in KINDS if kind != "heat"}
    assert all(one.get_suptitle().endswith(": td on 3x3") for one in drawn.values())
    assert all("backward-q" not in text for text in legend(drawn["sensitivity"]))


@pytest.mark.slow
def test_a_learner_that_plays_first_alone_has_one_seat_and_no_values(tmp_path: Path) -> None:
    path = tmp_path / "study.h5"
    ttt.study(learner="menace", games=50, seeds=2, out=path)
    drawn = figure(path, "curves")
    assert "Values: distance from the truth" not in panels(drawn) and "Positions played optimally" in panels(drawn)
    assert "seats are averaged" not in texts(drawn)
    ttt.study(out=tmp_path / "both.h5", learner="menace,td", games=50, seeds=2)
    both = figure(tmp_path / "both.h5", "curves")
    assert "the two seats are averaged (menace: as first)" in texts(both)
    with open_study(tmp_path / "both.h5") as study:
        draws = at_end(study, METRICS["draws"])
        learners = [setting.written["learner"] for setting in study.design.settings]
    assert np.isnan(draws[learners.index("menace")]).all() and not np.isnan(draws[learners.index("td")]).any()
