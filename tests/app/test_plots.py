"""Pictures: what they show is what the runs hold, and files come out whole, the same, or not at all."""

import math
import struct
import sys
from itertools import pairwise, product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers.support import mostly_slow

import ttt_batch as ttt
from ttt_batch.app.plots import KINDS, draw_picture, make_figure
from ttt_batch.app.plots.boards import BINS, coverage_of, first_moves, most_of_ply, openings, reach_probabilities
from ttt_batch.app.plots.curves import BEATEN, learning_panels, medians, shares_in_play
from ttt_batch.app.plots.style import (
    common_title,
    log_counts,
    log_ticks,
    make_legend,
    make_look,
    new_figure,
    package_style,
    render,
    verdict,
)
from ttt_batch.core.errors import TttBatchError, UsageError
from ttt_batch.core.text import short_number
from ttt_batch.games.board import EMPTY, Board
from ttt_batch.runs.base import unbeatable_since
from ttt_batch.runs.config import make_config
from ttt_batch.runs.importing import export_table, import_tables
from ttt_batch.runs.network_run import PatternRun
from ttt_batch.runs.options import opponent_text
from ttt_batch.runs.run import Run
from ttt_batch.training.from_games import LearningRun

pytest.importorskip("matplotlib")


@pytest.fixture(scope="module")
def td() -> Run:
    return ttt.train(games=65_536)


@pytest.fixture(scope="module")
def grown() -> Run:
    return ttt.train(games=30, board="5x5x5")


def panel(runs: list[Run], name: str) -> Any:
    return next(panel for panel in learning_panels(runs) if panel.name == name)


def test_the_lines_of_a_picture_are_the_columns_of_the_runs(td: Run) -> None:
    other = ttt.train(games=49_152, epsilon=0.1)
    with package_style():
        figure = make_figure([td, other], ["a", "b"])
    axes = {ax.get_title(loc="left"): ax for ax in figure.axes}
    wanted = {
        "Lost against random play, exactly": 100 * td.statistics["versus_random"][:, :, 2],
        "Positions played optimally": 100 * td.statistics["optimal_share"],
        "Values: distance from the truth": td.statistics["value_error"],
    }
    for title, column in wanted.items():
        lines = axes[title].get_lines()
        assert axes[title].get_xscale() == "log" and axes[title].get_xlabel() and axes[title].get_ylabel()
        for seat in range(2):
            assert lines[seat].get_xdata().tolist() == td.statistics["games"].tolist()
            assert lines[seat].get_ydata() == pytest.approx(column[:, seat], abs=0)
        assert lines[0].get_linestyle() != lines[1].get_linestyle()
        assert lines[2].get_xdata().tolist() == other.statistics["games"].tolist()
        assert lines[0].get_color() != lines[2].get_color() and lines[0].get_marker() != lines[2].get_marker()
    draws = axes["Draws in play, latest half of the games"].get_lines()
    assert draws[1].get_ydata() == pytest.approx(shares_in_play(other.statistics)[:, 1], abs=0)


def strips(figure: Any) -> list[list[tuple[float, float, str]]]:
    """The strips of a picture, from the top: beginning, end and colour of each stretch."""
    from matplotlib.colors import to_hex

    axes = next(axes for axes in figure.axes if axes.get_title(loc="left") == "Against the best opponent (ties any)")
    found: dict[float, list[tuple[float, float, str]]] = {}
    for collection in axes.collections:
        (box,) = [path.get_extents() for path in collection.get_paths()]
        found.setdefault(box.y0, []).append((box.x0, box.x1, to_hex(collection.get_facecolor()[0])))
    return [sorted(found[top]) for top in sorted(found)]


@pytest.mark.parametrize("n", [1, 3])
def test_verdicts_are_strips_of_each_run_and_seat(n: int, td: Run) -> None:
    """Zigzags between 0 and 1 of several runs hid each other."""
    runs = [td, *(ttt.train(games=40_000, epsilon=0.2, seed=seed) for seed in range(n - 1))]
    with package_style():
        drawn = strips(make_figure(runs, [str(number) for number in range(n)]))
    assert len(drawn) == 2 * n
    for number, run in enumerate(runs):
        games, holds = run.statistics["games"], run.statistics["unbeatable"]
        for seat in range(2):
            strip = drawn[2 * number + seat]
            assert strip[0][0] == games[0]
            assert all(one[1] == other[0] and one[2] != other[2] for one, other in pairwise(strip))
            for point, good in zip(games.tolist(), holds[:, seat].tolist(), strict=True):
                (colour,) = [colour for start, end, colour in strip if start <= point < end]
                assert (colour == BEATEN.lower()) != good


def test_a_legend_names_no_panel_that_is_not_there(td: Run, grown: Run) -> None:
    with package_style():
        here, there = make_figure([td], ["a"]), make_figure([grown], ["a"])
    legends = [
        [text.get_text() for axes in figure.axes if axes.get_legend() for text in axes.get_legend().get_texts()]
        for figure in (here, there)
    ]
    assert legends[0][:3] == ["agent wins; in play X wins", "draw", "agent loses; in play O wins"]
    assert legends[1][:3] == ["X wins", "draw", "O wins"] and not any("agent" in text for text in legends[1])


def test_an_opening_of_equal_values_says_so(td: Run) -> None:
    alike = Run(td.config, td.tables._replace(value=np.zeros_like(td.tables.value)), td.games, td.statistics)
    other = ttt.train(games=2_000, learner="minimax-q")

    def said(*runs: Run) -> str:
        with package_style():
            return str(make_figure(list(runs), [f"{n}.h5" for n in range(len(runs))], "opening").get_supxlabel())

    assert "Every value shown is 0.00; the agent expects the same" in said(alike)
    assert "value shown" not in said(other)
    assert said(alike, other).count("td: every value shown is 0.00;") == 1


def test_a_single_run_shows_wins_draws_and_losses(td: Run) -> None:
    lines = panel([td], "versus_random").lines
    for result, what in enumerate(("win", "draw", "loss")):
        for seat in range(2):
            (line,) = (line for line in lines if (line.what, line.seat) == (what, seat))
            assert line.value == pytest.approx(100 * td.statistics["versus_random"][:, seat, result])


def test_shares_in_play_are_those_of_the_latest_half() -> None:
    games = np.array([1, 2, 3, 8, 20])
    outcomes = np.array([[1, 0, 0], [1, 1, 0], [1, 1, 1], [3, 3, 2], [10, 5, 5]])
    shares = shares_in_play({"games": games, "outcomes": outcomes})
    # Since 0, 1, 1, 3 and 8 games: the last points at or before half as many.
    wanted = [[1, 0, 0], [0, 1, 0], [0, 0.5, 0.5], [0.4, 0.4, 0.2], [7 / 12, 2 / 12, 3 / 12]]
    assert shares == pytest.approx(100 * np.array(wanted))
    imported = shares_in_play({"games": games[-1:], "outcomes": np.zeros((1, 3), np.int64)})
    assert np.isnan(imported).all()


def test_the_proof_is_marked_where_it_holds_from_on(td: Run) -> None:
    since = unbeatable_since(td.statistics["games"], td.statistics["unbeatable"])
    assert since is not None
    other = ttt.train(games=49_152, epsilon=0.1)
    with package_style():
        one, several = make_figure([td], ["a"]), make_figure([td, other], ["a", "b"])
    for number in (0, 2, 3, 4):  # the strips show it themselves
        assert one.axes[number].get_lines()[-1].get_xdata() == [since, since]
    best = next(ax for ax in several.axes if ax.get_title(loc="left") == "Against the best opponent (ties any)")
    stars = [line.get_xdata()[0] for line in best.get_lines() if line.get_marker() == "*"]
    proofs = [unbeatable_since(run.statistics["games"], run.statistics["unbeatable"]) for run in (td, other)]
    assert stars == [proof for proof in proofs if proof is not None]
    assert verdict([td]) == f"unbeatable since game {since:,}"


def test_a_point_before_the_first_game_does_not_move_the_proof(td: Run, tmp_path: Path) -> None:
    """A table of another program that goes on learning is recorded before its first game, which no curve shows."""
    export_table(td, "csv", [tmp_path / "td.csv"])
    pupil = LearningRun(import_tables([tmp_path / "td.csv"], "td"))
    pupil.update([4, 0, 8, 2, 1, 7, 3, 5, 6])
    taught = pupil.run
    assert taught.statistics["games"].tolist() == [0, 1] and taught.statistics["unbeatable"].all()
    # Beaten before the first game, and unbeatable at the last point only.
    since = unbeatable_since(td.statistics["games"], td.statistics["unbeatable"])
    points = td.statistics["games"].tolist().index(since) + 1
    late = Run(td.config, td.tables, td.games, {})
    late.statistics = {
        name: np.concatenate([0 * c[:1], c[:points]]).astype(c.dtype) for name, c in td.statistics.items()
    }
    with package_style():
        one, several = make_figure([taught], ["a"]), make_figure([taught, late], ["a", "b"])
    assert one.axes[2].get_lines()[-1].get_xdata() == [1, 1]
    best = next(ax for ax in several.axes if ax.get_title(loc="left") == "Against the best opponent (ties any)")
    stars = [line.get_xdata().tolist() for line in best.get_lines() if line.get_marker() == "*"]
    assert stars == [[1], [since]]


def test_an_interrupted_run_says_where_it_stopped() -> None:
    calls = iter(range(3))
    run = ttt.train(games=100_000, stop=lambda: next(calls, None) is None)
    assert run.interrupted and run.games > 0
    assert f"stopped at {short_number(run.games)} of 100 k games" in verdict([run])
    with package_style():
        legend = make_figure([run], ["a"]).axes[5].get_legend()
    assert any("stopped at" in text.get_text() for text in legend.get_texts())


def named(games: int = 64, **settings: Any) -> Run:
    """A run of these settings, as far as a legend needs one."""
    return Run(make_config(**{"batch": 16} | settings), None, games, {})


def test_legends_say_what_differs() -> None:
    def texts(*settings: dict[str, Any]) -> list[str]:
        runs = [named(**changes) for changes in settings]
        return make_legend(runs, [f"{number}.h5" for number in range(len(runs))]).texts

    assert texts({"seed": 1}, {"seed": 2}) == ["seed 1", "seed 2"]
    assert texts({"epsilon": 0.1}, {"epsilon": 0.2}) == ["epsilon 0.1", "epsilon 0.2"]
    assert texts({"epsilon": 0.1, "seed": 1}, {"alpha": 0.25, "seed": 2}) == [
        "epsilon 0.1, alpha 0.5, seed 1",
        "epsilon 0.3, alpha 0.25, seed 2",
    ]
    # Beside another learner what a learner has by default goes without saying.
    assert texts({}, {"learner": "sutton-barto"}) == ["td", "sutton-barto"]
    assert texts({}, {"learner": "value-feed", "alpha": 0.5}) == ["td", "value-feed, alpha 0.5"]
    assert texts({"batch": 8}, {"engine": "flow"}) == ["batch 8, engine walk", "batch 16, engine flow"]
    assert texts({"games": 64}, {"games": 128}) == ["64 games", "128 games"]
    assert texts({}, {}) == ["0.h5", "1.h5"]
    assert texts({}, {}, {"seed": 4}) == ["seed 0, 0.h5", "seed 0, 1.h5", "seed 4"]
    assert texts({"alpha": "1/n"}, {"symmetry": "on"}) == ["alpha 1/n, not symmetric", "alpha 0.5, symmetric"]
    assert texts({"opponent": "random", "seat": "both"}, {}) == ["against random, as both", "self-play"]
    assert texts({}) == ["0.h5"]


def test_opponents_and_starts_are_named_or_known_by_their_digests() -> None:
    assert [opponent_text(name) for name in ("", "random", "optimal", "0123456789abcdef" * 4)] == [
        *("self-play", "against random", "against optimal", "against 01234567"),
    ]


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_names_are_drawn_as_they_are(kind: str, td: Run, tmp_path: Path, recwarn: pytest.WarningsRecorder) -> None:
    from matplotlib.text import Text

    names = ["a$\\q$b, p$x_1$.h5", "_训练नमस्ते" + "x" * 45 + "\\$y$.h5"]
    draw_picture([td, td], names, tmp_path / "two.svg", kind)
    assert not recwarn.list  # about signs that the font does not have
    with package_style():
        texts = make_figure([td, td], names, kind).findobj(Text)
    for name in names:
        (shown,) = (text for text in texts if text.get_text().replace("\n", "").startswith(name))
        assert not shown.get_parse_math()


@pytest.mark.sampled(1)
@pytest.mark.parametrize(("counts", "labels"), [((40, 70), {"40", "60"}), ((1, 9_000), {"1", "100", "1 k"})])
def test_counts_are_labelled_without_mathematics(counts: tuple[int, int], labels: set[str]) -> None:
    with package_style():
        figure = new_figure(2.0)
        axes = figure.subplots()
        axes.plot([1, 2], counts)
        log_counts(axes)
        render(figure, "png")
        texts = {text.get_text() for which in ("major", "minor") for text in axes.get_yticklabels(which=which)}
    assert labels <= texts and not any("$" in text for text in texts)


def test_names_are_on_one_line() -> None:
    assert make_legend([named()], ["a\nb\x1b[2J.h5"]).texts == [r"'a\nb\x1b[2J.h5'"]


def test_other_warnings_than_those_of_drawing_are_heard() -> None:
    import warnings

    class Figure:
        def savefig(self, *_: Any, **__: Any) -> None:
            warnings.warn("Glyph 1 missing", UserWarning, stacklevel=1)
            warnings.warn("going away", DeprecationWarning, stacklevel=1)

    with pytest.raises(DeprecationWarning, match="going away"):
        render(Figure(), "png")
    with pytest.raises(UserWarning, match="after"):
        warnings.warn("after", UserWarning, stacklevel=1)


def test_seeds_of_the_same_settings_share_a_colour_and_show_their_median() -> None:
    runs = [ttt.train(games=64, batch=16, epsilon=epsilon, seed=seed) for epsilon in (0.1, 0.2) for seed in range(3)]
    names = [f"{number}.h5" for number in range(6)]
    look = make_look(runs, make_legend(runs, names), 7)
    assert look.style == [0, 0, 0, 1, 1, 1]
    assert [text for text, _ in look.entries] == ["epsilon 0.1, 3 seeds", "epsilon 0.2, 3 seeds"]
    first = medians(panel(runs, "value_error"), look.entries[0][1])
    wanted = np.median([run.statistics["value_error"][:, 0] for run in runs[:3]], axis=0)
    assert first[0].value.tolist() == wanted.tolist()
    few = make_look(runs[:3], make_legend(runs[:3], names[:3]), 7)
    assert few.style == [0, 1, 2] and [text for text, _ in few.entries] == ["seed 0", "seed 1", "seed 2"]
    many = make_look(runs[:3] * 3, make_legend(runs[:3] * 3, names[:3] * 3), 7)
    assert many.entries[0][0] == "9 runs"


def test_titles_say_what_runs_share(td: Run, grown: Run) -> None:
    assert common_title([td]) == "td on 3x3, seed 0"
    assert common_title([td, grown]) == "td on 2 boards, seed 0"


def test_ticks_and_numbers() -> None:
    assert log_ticks(1, 1e6) == [1, 10, 100, 1e3, 1e4, 1e5, 1e6][::2]
    assert log_ticks(100, 12_345) == [100, 1000, 10_000]
    assert log_ticks(20_000, 70_000) == [20_000, 50_000]
    assert log_ticks(3, 4) == [3]
    assert [short_number(n) for n in (7, 999, 999.7, 1000, 16_384, 999_700, 2.5e6, 1e9, 1e12, 1e15, 1e100)] == [
        *("7", "999", "1 k", "1 k", "16.4 k", "1 M", "2.5 M", "1 G", "1 T", "1 P", "1e+100"),
    ]


def test_boards_too_large_to_enumerate_show_what_is_recorded_of_them(td: Run, grown: Run) -> None:
    assert [p.name for p in learning_panels([grown])] == ["in_play", "positions"]
    assert panel([grown], "positions").lines[0].value.tolist() == grown.statistics["positions"].tolist()
    assert [p.name for p in learning_panels([grown, td])] == ["in_play"]
    with package_style():
        figure = make_figure([grown, td], ["a", "b"])
    assert any("no\nexact results" in text.get_text() for text in figure.axes[1].get_legend().get_texts())


def test_opening_boards_show_values_choices_and_truth(td: Run) -> None:
    boards = openings(td)
    empty = (EMPTY,) * 9
    assert boards[0].position == empty and boards[0].values == td.move_values(empty)
    assert boards[0].choices == td.candidates(empty) and boards[0].truth == dict.fromkeys(range(9), 0)
    after = {board.position: board for board in boards}
    corner = after[(1,) + (EMPTY,) * 8]
    # The one reply to a corner that does not lose is the centre.
    assert {cell for cell, result in corner.truth.items() if result == 0} == {4}
    assert set(corner.truth.values()) == {0, -1} and 0 not in corner.values
    assert len(boards) == 4 and sorted(first_moves(td)) == [0, 1, 4]
    with package_style():
        figure = make_figure([td], ["a"], "opening")
    texts = [text.get_text() for text in figure.subfigs[0].axes[1].texts]
    assert texts.count("X") == 1 and texts.count("D") == sum(r == 0 for r in corner.truth.values())


def test_first_moves_are_told_apart_up_to_symmetry() -> None:
    run = ttt.train(games=64, board="2x3", batch=16)
    assert sorted(first_moves(run)) == [0, 1]
    assert first_moves(run)[0] in {{0: 0, 2: 0, 3: 0, 5: 0, 1: 1, 4: 1}[cell] for cell in run.candidates((EMPTY,) * 6)}


@pytest.mark.slow
@pytest.mark.parametrize(("learner", "board"), [("td", "3x3"), ("minimax-q", "3x3")])
def test_reach_is_what_playing_every_game_out_gives(learner: str, board: str) -> None:
    run = ttt.train(games=512, batch=64, learner=learner, board=board, epsilon="0.9->0.4:linear")
    reach = reach_probabilities(run)
    graph, epsilon, wanted = run.graph, 0.4, np.zeros(run.graph.code.size)
    wanted[0] = 1.0
    for row in range(graph.first_edge.size - 1):
        edges = range(int(graph.first_edge[row]), int(graph.first_edge[row + 1]))
        chosen = run.candidates(int(graph.code[row]))
        for edge in edges:
            greedy = (1 - epsilon) / len(chosen) if graph.cell[edge] in chosen else 0.0
            wanted[graph.child[edge]] += wanted[row] * (epsilon / len(edges) + greedy)
    assert reach == pytest.approx(wanted, abs=1e-15)
    assert reach[graph.first_edge.size - 1 :].sum() == pytest.approx(1.0)


def test_coverage_counts_positions_by_expected_visits() -> None:
    run = ttt.train(games=256, batch=64, epsilon=1.0)
    cover = coverage_of(run)
    assert cover.kind == "expected" and cover.positions.tolist()[:3] == [1, 9, 72]
    assert cover.shares.sum(axis=1) == pytest.approx(np.ones(9))
    # At random: 256 games, 256/9 of them at each first move, 256/72 at each second one.
    for ply, name in enumerate(("100 to 10 k", "10 to 100", "1 to 10 times")):
        assert cover.shares[ply, BINS.index(name)] == 1
    never = coverage_of(ttt.train(games=256, batch=64, epsilon=0.0, learner="minimax-q"))
    assert never.shares[1, BINS.index("never")] == pytest.approx(8 / 9)  # greedy play knows one first move


@pytest.mark.sampled(1)
@pytest.mark.parametrize("learner", ["td", "minimax-q", "value-feed"])
def test_coverage_shows_counted_updates_where_there_are_any(learner: str) -> None:
    run = ttt.train(games=300, batch=1, learner=learner, alpha="1/n")
    cover = coverage_of(run)
    assert cover.kind == "updates"
    if learner == "td":  # every game updates the empty board
        assert cover.shares[0, BINS.index("100 to 10 k")] == 1
        once = coverage_of(ttt.train(games=1, batch=1, alpha="1/n"))
        assert once.shares[0, BINS.index("1 to 10 times")] == 1  # a bin begins with its lower bound
    met = cover.positions * (1 - cover.shares[:, 0])
    assert 0 < met[1:].sum() <= 300 * 9


def test_positions_there_are_at_most() -> None:
    board = Board()
    for ply in range(10):
        marks = [
            position
            for position in product(range(3), repeat=9)
            if position.count(1) == ply - ply // 2 and position.count(2) == ply // 2
        ]
        assert most_of_ply(board, ply, False) == len(marks)
        assert most_of_ply(board, ply, True) == len({board.representative(position)[0] for position in marks})


def test_coverage_of_a_growing_board_counts_what_was_met(grown: Run) -> None:
    cover = coverage_of(grown)
    assert cover.kind == "visited" and cover.shares.sum() == grown.statistics["positions"][-1]
    assert cover.shares[0] == 1 and (cover.shares <= cover.positions).all()
    assert cover.positions[1] == 6  # td takes all images of a position for one there


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "suffix"), [("curves", ".svg"), ("opening", ".svg"), ("coverage", ".png")])
def test_a_picture_is_the_same_bytes_twice(kind: str, suffix: str, td: Run, tmp_path: Path) -> None:
    first = draw_picture([td], ["a.h5"], tmp_path / f"one{suffix}", kind)
    second = draw_picture([td], ["a.h5"], tmp_path / f"two{suffix}", kind)
    content = first.read_bytes()
    assert content == second.read_bytes()
    if suffix == ".png":
        width, height = struct.unpack(">II", content[16:24])
        assert content.startswith(b"\x89PNG") and width == 1200 and height > 300
    else:
        assert content.startswith(b"<?xml") and b"<svg" in content and b"dc:date" not in content
    assert sorted(path.name for path in tmp_path.iterdir()) == [f"one{suffix}", f"two{suffix}"]


@pytest.mark.parametrize("kind", mostly_slow(KINDS, "coverage"))
def test_every_kind_of_run_has_every_kind_of_picture(kind: str, td: Run, grown: Run, tmp_path: Path) -> None:
    runs = [
        ttt.train(games=1, batch=1),
        ttt.train(games=32, batch=16, symmetry="on"),
        ttt.train(games=32, batch=16, alpha="1/n"),
        ttt.train(games=32, batch=16, learner="minimax-q"),
    ]
    for run in (runs[0], grown):
        draw_picture([run], ["run.h5"], tmp_path / "one.svg", kind, overwrite=True)
    draw_picture([*runs[1:], grown], ["a.h5", "b.h5", "c.h5", "d.h5"], tmp_path / "all.png", kind)


@pytest.mark.slow
def test_nothing_of_matplotlib_is_changed_for_others(td: Run, tmp_path: Path) -> None:
    import matplotlib

    before = dict(matplotlib.rcParams)
    with matplotlib.rc_context({"font.size": 30, "axes.facecolor": "red"}):
        strange = draw_picture([td], ["a"], tmp_path / "strange.svg", "coverage").read_bytes()
    assert dict(matplotlib.rcParams) == before
    assert strange == draw_picture([td], ["a"], tmp_path / "plain.svg", "coverage").read_bytes()


def test_refusals(td: Run, grown: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(wanted: str, *args: Any, kind: type[Exception] = UsageError, **more: Any) -> None:
        with pytest.raises(kind, match=wanted) as caught:
            draw_picture(*args, **more)
        assert "\n" not in str(caught.value)

    refused("is a .png or a .svg file", [td], ["a"], tmp_path / "a.pdf")
    refused("is a .png or a .svg file", [td], ["a"], tmp_path / "a")
    refused(
        "unknown kind of plot 'pie'; choose curves, opening, coverage or movie", [td], ["a"], tmp_path / "a.png", "pie"
    )
    refused("at least one run", [], [], tmp_path / "a.png")
    refused("2 runs have 1 names", [td, td], ["a"], tmp_path / "a.png")
    refused("choose 4 at most", [td] * 5, ["a"] * 5, tmp_path / "a.png", "opening")
    refused("choose 6 at most", [td] * 7, ["a"] * 7, tmp_path / "a.png", "coverage")
    long = named(board="1x9x3")
    refused("up to 8 rows and columns", [long], ["a"], tmp_path / "a.png", "opening")
    refused("there is no folder", [td], ["a"], tmp_path / "no" / "a.png", kind=TttBatchError)
    (tmp_path / "folder.png").mkdir()
    refused("not an ordinary file", [td], ["a"], tmp_path / "folder.png", kind=TttBatchError)
    kept = tmp_path / "kept.svg"
    kept.write_text("mine")
    refused("exists already; replace it with overwrite=True", [td], ["a"], kept, kind=TttBatchError)
    assert kept.read_text() == "mine"
    draw_picture([td], ["a"], kept, overwrite=True)
    assert kept.read_text().startswith("<?xml")
    with monkeypatch.context() as patch:
        patch.setitem(sys.modules, "matplotlib", None)
        refused(r"pip install 'ttt-batch\[plot\]'", [td], ["a"], tmp_path / "a.png", kind=TttBatchError)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["folder.png", "kept.svg"]


def test_a_run_without_games_has_no_curve(td: Run) -> None:
    start = ttt.train(games=1, batch=1)
    start.statistics = {name: column[:0] for name, column in start.statistics.items()}
    with pytest.raises(UsageError, match="has learnt from no games and has no curve; train it first"):
        learning_panels([start])


@pytest.mark.slow  # kernels of another learner
def test_values_never_seen_are_named_as_such() -> None:
    run = ttt.train(games=2, batch=1, learner="value-feed")
    assert any(math.isnan(value) for value in openings(run)[0].values.values())
    with package_style():
        figure = make_figure([run], ["a"], "opening")
    assert any(text.get_text() == "new" for text in figure.subfigs[0].axes[0].texts)


@pytest.mark.slow
def test_networks_have_proofs_to_show(pattern_run: PatternRun, grown: Run, tmp_path: Path) -> None:
    panels = learning_panels([pattern_run])
    assert [panel.name for panel in panels] == ["in_play", "proof", "proof_positions"]
    for panel, column in zip(panels[1:], ("proof", "proof_positions"), strict=True):
        assert [line.seat for line in panel.lines] == [0, 1]
        for line in panel.lines:
            assert line.value.tolist() == np.maximum(0, pattern_run.statistics[column][:, line.seat]).tolist()
    assert [panel.name for panel in learning_panels([pattern_run, grown])] == ["in_play"]
    assert verdict([pattern_run]).startswith("proved since game ")
    assert verdict([pattern_run] * 2) == "2 of 2 proved at the end"
    unproved = ttt.train(64, learner="patterns", prove_every=0)
    assert [panel.name for panel in learning_panels([unproved])] == ["in_play"] and verdict([unproved]) == ""
    for kind, runs in (("curves", [pattern_run, unproved, grown]), ("opening", [pattern_run])):
        assert (
            draw_picture(runs, ["a.h5", "b.h5", "c.h5"][: len(runs)], tmp_path / f"{kind}.png", kind).stat().st_size
            > 10_000
        )
    with pytest.raises(UsageError, match="networks count no visits of positions; choose another kind"):
        draw_picture([pattern_run], ["a.h5"], tmp_path / "a.png", "coverage")


@pytest.fixture(scope="module")
def menace() -> Run:
    return ttt.train(games=220, learner="menace")


def written(figure: Any) -> str:
    from matplotlib.text import Text

    return " ".join(text.get_text().replace("\n", " ") for text in figure.findobj(Text))


@pytest.mark.slow
def test_a_seat_that_is_not_played_is_not_drawn(menace: Run, td: Run) -> None:
    panels = learning_panels([menace])
    assert [panel.name for panel in panels] == ["versus_random", "unbeatable", "optimal_share", "in_play"]
    assert {line.seat for panel in panels for line in panel.lines} == {0, -1}
    with package_style():
        alone = written(make_figure([menace], ["m"]))
        both = written(make_figure([menace, td], ["m", "t"]))
    assert "agent moves first" in alone and "second" not in alone
    assert "agent moves second" in both and "unbeatable in its seats from here on" in both
    for name in ("versus_random", "unbeatable", "optimal_share"):
        assert sorted((line.run, line.seat) for line in panel([menace, td], name).lines) == [(0, 0), (1, 0), (1, 1)]
    assert {line.run for line in panel([menace, td], "value_error").lines} == {1}
    assert [line.seat for line in medians(panel([menace, td], "versus_random"), [0])] == [0]
    assert len(learning_panels([menace, menace])[0].lines) == 2


def test_an_unbeatable_first_player_is_unbeatable_in_its_seat() -> None:
    run = ttt.train(games=50, learner="menace")
    run.statistics["unbeatable"][:] = [[number > 5, False] for number in range(len(run.statistics["games"]))]
    assert verdict([run]) == f"unbeatable since game {run.statistics['games'][6]}"
    with package_style():
        assert "unbeatable as first" in written(make_figure([run], ["m"]))


def test_the_opening_of_a_first_player_is_where_it_moves(menace: Run) -> None:
    boards = openings(menace)
    first = min(menace.candidates((EMPTY,) * 9))
    assert [board.position.count(EMPTY) for board in boards] == [9] + [7] * (len(boards) - 1)
    for board in boards[1:]:
        assert board.position[first] == 1
        code = sum(mark * 3**cell for cell, mark in enumerate(board.position))
        beads = menace.move_values(code)
        kinds: dict[int, list[int]] = {}
        for cell in beads:
            after = Board(3, 3, 3).after(board.position, cell)
            kinds.setdefault(Board(3, 3, 3).encode(Board(3, 3, 3).representative(after)[0]), []).append(cell)
        total = sum(beads[cells[0]] for cells in kinds.values())
        for cells in kinds.values():
            for cell in cells:
                assert board.values[cell] == pytest.approx(beads[cell] / total / len(cells))
    with package_style():
        shown = written(make_figure([menace], ["m"], "opening"))
    assert "Chances of the opening" in shown and "O replies" not in shown and "by its beads" in shown


@pytest.mark.sampled(1)
@pytest.mark.parametrize("learner", ["menace", "reinforce"])
def test_reach_by_chances_is_what_playing_every_game_out_gives(learner: str) -> None:
    run = ttt.train(games=100, learner=learner, batch=1)
    reach, graph = reach_probabilities(run), run.graph
    wanted = np.zeros(graph.code.size)
    wanted[0] = 1.0
    for row in range(graph.first_edge.size - 1):
        code = int(graph.code[row])
        shares = run.drawn_shares(code) if learner == "menace" else run.move_values(code)
        for edge in range(int(graph.first_edge[row]), int(graph.first_edge[row + 1])):
            wanted[graph.child[edge]] += wanted[row] * shares.get(int(graph.cell[edge]), 0.0)
    assert reach == pytest.approx(wanted, abs=1e-12)
    with package_style():
        shown = written(make_figure([run], ["m"], "coverage"))
    assert ("against random moves" in shown and "by its beads" in shown) == (learner == "menace")
    assert ("of self-play" in shown) == (learner == "reinforce")


def test_an_opening_whose_box_is_empty_is_drawn() -> None:
    empty = ttt.train(300, learner="menace", opponent="optimal", beads="1,1,1,1", rewards="0,-1,-1")
    assert openings(empty)[0].choices == []
