"""The package from Python: functions for what the commands do, results as plain values and tables, runs compared."""

import dataclasses
import importlib
import io
import json
import os
import pkgutil
import subprocess
import sys
from base64 import b64decode
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from helpers.support import command

import ttt_batch as ttt
from ttt_batch.api import public
from ttt_batch.app import hook
from ttt_batch.app.terminal.faces import Score
from ttt_batch.core.results import Printable
from ttt_batch.simulation.random_games import play_random_games


@pytest.fixture(scope="module")
def run() -> ttt.Run:
    return ttt.train(20_000, seed=1)


@pytest.fixture(scope="module")
def file(run: ttt.Run, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return run.save(tmp_path_factory.mktemp("runs") / "td.h5")


def findings(run: Any) -> dict[str, Any]:
    """Return the result of each function, by its name."""
    return {
        "evaluate": ttt.evaluate(run),
        "tournament": ttt.tournament([run, run], ["one", "other"], games=10, seed=2),
        "show": ttt.show(run, "X.O/.X./..."),
    }


def import_all() -> None:
    """Import every module of the package whose library is there: Stable-Baselines3 is too large for the tests."""
    for module in pkgutil.walk_packages(ttt.__path__, "ttt_batch."):
        missing = module.name.endswith("stable_baselines") and find_spec("stable_baselines3") is None
        if not module.name.endswith("__main__") and not missing:
            importlib.import_module(module.name)


@pytest.mark.skipif(find_spec("stable_baselines3") is not None, reason="Stable-Baselines3 is installed")
def test_a_missing_library_is_named_with_the_way_to_get_it():
    with pytest.raises(ImportError, match=r"needs stable-baselines3 .*pip install 'ttt-batch\[stable-baselines\]'"):
        importlib.import_module("ttt_batch.environments.stable_baselines")


def test_every_public_name_stays_what_it_is_whatever_is_imported():
    import_all()
    for name in ttt.__all__:
        assert not isinstance(getattr(ttt, name), ModuleType), name


@pytest.mark.slow
def test_importing_the_package_and_its_exceptions_loads_no_library():
    code = (
        "import sys, ttt_batch as ttt, ttt_batch.app.cli\n"
        "assert issubclass(ttt.BoardError, ttt.TttBatchError)\n"
        "print(sorted({'numpy', 'numba', 'h5py'} & set(sys.modules)))\n"
        "print(set(ttt.__all__) <= set(dir(ttt)), ttt.learners.register.__name__)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=300)
    assert done.stdout.split("\n") == ["[]", "True register", ""]


def test_the_public_list_is_in_one_place():
    names: dict[str, Any] = {}
    exec("from ttt_batch import *", names)  # what `__all__` names is there, and nothing else comes along
    assert set(public.__all__) == set(names) - {"__builtins__"}
    assert {name for name in dir(ttt) if name not in vars(ttt)} == set(public.__all__)
    with pytest.raises(AttributeError, match="no attribute 'thread_count'"):
        ttt.thread_count  # noqa: B018 - `api.public` has it for itself


def test_random_games_give_their_results_by_board_and_seed():
    found = ttt.random_games("4x4x3", "10k", seed=3)
    assert found.dtype == np.int64 and found.shape == (3,) and found.sum() == 10_000
    assert found.tolist() == play_random_games(ttt.Board(4, 4, 3), 10_000, seed=3).tolist()
    assert ttt.random_games(games=5_000, threads=1).tolist() == ttt.random_games(ttt.Board(), 5_000).tolist()
    for wrong in ({"games": -1}, {"threads": 0}, {"seed": "x"}, {"board": "3"}, {"board": "7x7x5"}):
        with pytest.raises(ttt.UsageError):
            ttt.random_games(**wrong)


@pytest.mark.slow
def test_a_file_is_as_good_as_a_run(run, file):
    for name, found in findings(run).items():
        assert findings(file)[name].to_dict() == found.to_dict() == findings(str(file))[name].to_dict()
    assert ttt.evaluate(run, against=file).to_dict()["against"] == "td"


def test_results_print_and_say_what_their_commands_do(run, file, capsys):
    def printed(*words):
        """Return the output of a command, with its options as Python's parameters."""
        text = command(capsys, *words)[1]
        return text.replace("--ties any", "ties='any'").replace("--alpha 1/n", "alpha='1/n'")

    evaluation = ttt.evaluate(run, "one-ply")
    assert printed("evaluate", file, "--against", "one-ply").partition(": ")[2] == f"{evaluation}\n"
    assert json.loads(command(capsys, "evaluate", file, "--against", "one-ply", "--json")[1]) == evaluation.to_dict()
    assert printed("show", file, "X.O/.X./...").partition(": ")[2] == f"{ttt.show(file, 'X.O/.X./...')}\n"
    text = printed("tournament", file, file)
    assert text == f"{ttt.tournament([file, file], [str(file), str(file)])}\n"


def test_a_board_too_large_to_enumerate_is_searched_and_sampled():
    run = ttt.train(50, board="4x5x4", seed=3)
    found = ttt.evaluate(run, "two-ply", games=20, budget=50)
    assert list(found.to_dict()["matches"]) == ["two-ply"] and "20 games each" in str(found)
    assert found.to_frame().shape[0] == 2
    with pytest.raises(ttt.UsageError, match="against='optimal' needs an enumerated board; 4x5x4 is too large to enum"):
        ttt.evaluate(run, "optimal")
    with pytest.raises(
        ttt.UsageError, match=r"^another run needs an enumerated board; 4x5x4 is too large to enumerate"
    ):
        ttt.evaluate(run, run)
    with pytest.raises(ttt.UsageError, match=r"unknown opponent 'rnadom' \(did you mean random\?\)"):
        ttt.evaluate(run, "rnadom")
    with pytest.raises(ttt.BoardError, match="export needs an enumerated board; 4x5x4 is too large to enumerate"):
        ttt.export_run(run, "table.npz", "npz")
    undecided = str(ttt.evaluate(run, "two-ply", games=1, budget=1))
    assert "budget=N searches on" in undecided and "(ties='any')" in undecided
    with pytest.raises(ttt.BoardError):
        run.evaluation()


def test_games_are_for_large_boards_only(run):
    with pytest.raises(ttt.UsageError, match="budget is for boards too large"):
        ttt.evaluate(run, budget=10)
    with pytest.raises(ttt.RunFileError):
        ttt.evaluate("nothing.h5")


def test_results_are_tables_of_pandas(run):
    frames = {name: found.to_frame() for name, found in findings(run).items()}
    evaluation = ttt.evaluate(run)
    assert list(frames["evaluate"].index) == ["first", "second"]
    assert tuple(frames["evaluate"].loc["second", ["win", "draw", "loss"]]) == evaluation.second
    assert list(frames["tournament"].index) == [1, 1] and set(frames["tournament"]["name"]) == {"one", "other"}
    moves = ttt.show(run, "X.O/.X./...").to_dict()["moves"]
    assert list(frames["show"].index) == [move["cell"] for move in moves]
    assert frames["show"]["value"].tolist() == [move["value"] for move in moves]


def test_a_finished_game_has_a_table_without_rows(run):
    shown = ttt.show(run, "XXX/OO./...")
    assert shown.to_dict()["moves"] == []
    frame = shown.to_frame()
    assert len(frame) == 0 and frame.index.name == "cell"


def test_recorded_points_are_a_table_in_one_call(run):
    frame = run.to_frame()
    assert frame.index.tolist() == run.statistics["games"].tolist()
    assert frame["versus_random.second.loss"].tolist() == run.statistics["versus_random"][:, 1, 2].tolist()
    assert frame["outcomes.first_wins"].tolist() == run.statistics["outcomes"][:, 0].tolist()
    assert frame["self_play.draws"].tolist() == run.statistics["self_play"][:, 1].tolist()
    assert frame["unbeatable.first"].tolist() == run.statistics["unbeatable"][:, 0].tolist()
    assert frame["seconds"].tolist() == run.statistics["seconds"].tolist()


def test_without_pandas_a_table_says_what_to_install(run, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "pandas", None)
    with pytest.raises(ttt.TttBatchError, match=r"pip install 'ttt-batch\[pandas\]'"):
        run.to_frame()


def test_runs_are_equal_if_their_bytes_are(run, file):
    again = ttt.train(20_000, seed=1, threads=1)
    assert again == run and ttt.load(file) == run
    others = [{"seed": 2}, {"games": 20_001}, {"learner": "minimax-q"}, {"batch": 1000}, {"symmetry": True}]
    for options in others:
        assert ttt.train(**{"games": 20_000, "seed": 1, **options}) != run, options
    changed = ttt.load(file)
    changed.tables.value[7] = np.nextafter(changed.tables.value[7], 2)
    assert changed != run and run != "td.h5"
    with pytest.raises(TypeError, match="unhashable"):
        hash(run)


def test_runs_of_growing_boards_are_compared_too(tmp_path):
    one, other = (ttt.train(30, board="4x5x4", seed=seed, out=tmp_path / f"{seed}.h5") for seed in (1, 2))
    assert one == ttt.load(tmp_path / "1.h5") and one != other


def test_a_run_draws_itself(run):
    pytest.importorskip("matplotlib")
    from matplotlib.figure import Figure

    figure, content = run.plot("coverage"), io.BytesIO()
    assert isinstance(figure, Figure)
    figure.savefig(content, format="png")
    assert content.getvalue().startswith(b"\x89PNG")
    with pytest.raises(ttt.UsageError, match="pie"):
        run.plot("pie")


@pytest.mark.slow
def test_a_picture_of_runs_or_of_their_files(run, file, tmp_path):
    pytest.importorskip("matplotlib")
    by_run = ttt.plot([run], [str(file)], tmp_path / "run.png").read_bytes()
    assert ttt.plot([str(file)], out="file.png").read_bytes() == by_run
    assert ttt.plot(file) == Path("td-curves.png") and Path("td-curves.png").read_bytes() == by_run
    assert ttt.plot([run, file], kind="Opening") == Path("opening.png")
    with pytest.raises(ttt.UsageError, match=r"names 'x\.png' is one string; give a list"):
        ttt.plot([file], "x.png")  # type: ignore[arg-type]
    with pytest.raises(ttt.RunFileError, match="no file"):
        ttt.plot(["gone.h5"], out="gone.png")
    with pytest.raises(ttt.UsageError, match="at least one run"):
        ttt.plot([])


def test_a_table_goes_out_and_comes_back(tmp_path):
    run = ttt.train(20_000, learner="minimax-q")
    assert ttt.export_run(run, tmp_path / "table.bin", "raw") == [tmp_path / "table.bin"]
    back = ttt.import_run(tmp_path / "table.bin", "minimax-q", out=tmp_path / "back.h5")
    assert np.array_equal(back.tables.q, run.tables.q) and ttt.load(tmp_path / "back.h5") == back
    assert ttt.export_run(run, str(tmp_path / "page.html"), "html")[0].read_text(encoding="utf-8").startswith("<!")
    assert ttt.export_run(run, tmp_path / "again.html", "HTML")[0].read_text(encoding="utf-8").startswith("<!")
    with pytest.raises(ttt.UsageError, match="one file"):
        ttt.export_run(run, [tmp_path / "a.html", tmp_path / "b.html"], "html")
    with pytest.raises(
        ttt.UsageError, match=r"unknown format 'htm' \(did you mean html\?\); .* html, boxes, cards, hdf5"
    ):
        ttt.export_run(run, tmp_path / "x.html", "htm")


def test_a_person_plays_from_python(run, monkeypatch, capsys):
    monkeypatch.setattr("sys.stdin", io.StringIO("q\n"))
    score = ttt.play(run, seat="second", seed=1)
    assert score.to_dict() == {"wins": 0, "losses": 0, "draws": 0}
    assert "You are O and move second." in capsys.readouterr().out
    with pytest.raises(ttt.UsageError, match="third"):
        ttt.play(run, seat="third")


def test_every_kind_of_finding_has_a_text():
    """Every kind of finding says itself how it is printed, or a function that is there does."""
    import_all()
    kinds = {kind.__name__: kind for kind in Printable.__subclasses__()}
    assert {
        "Evaluation",
        "SampledEvaluation",
        "PlayedEvaluation",
        "PositionReport",
        "Tournament",
        "Score",
    } <= kinds.keys()
    for name, kind in kinds.items():
        if "__str__" not in kind.__dict__:
            assert callable(hook(name)), name


def test_a_run_says_what_it_is(run, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)  # no picture is looked at
    last = run.statistics["unbeatable"][-1].tolist()
    assert repr(run).startswith("<Run: td on 3x3, 20,000 games, seed 1; ")
    assert ("unbeatable in both seats" in repr(run)) == all(last)
    for pair, words in {
        (True, True): "unbeatable in both seats",
        (False, False): "can be beaten in both seats",
        (True, False): "unbeatable as first, can be beaten as second",
    }.items():
        judged = np.tile(np.array(pair), (run.statistics["games"].size, 1))
        said = dataclasses.replace(run, statistics={**run.statistics, "unbeatable": judged})
        assert said.verdict() == words and repr(said).endswith(f"; {words}>") and words in said._repr_html_()
    unjudged = dataclasses.replace(run, games=run.games + 1)
    assert unjudged.verdict() == "" and repr(unjudged) == "<Run: td on 3x3, 20,001 games, seed 1>"
    assert "verdict" not in unjudged._repr_html_() and "against random" not in unjudged._repr_html_()


@pytest.mark.slow
def test_a_run_is_a_table_and_a_curve_in_a_notebook(run, monkeypatch):
    named = dataclasses.replace(run, file=Path("<b>&.h5"))
    whole = ElementTree.fromstring(named._repr_html_())
    root, picture = whole
    kind, _, content = picture.get("src").partition(",")
    assert kind == "data:image/png;base64" and b64decode(content).startswith(b"\x89PNG")
    assert picture.get("alt") == "learning curve"
    rows = {row[0].text: row[1].text for row in root}
    assert root.tag == "table" and rows["file"] == "<b>&.h5"
    once = dataclasses.replace(run, statistics={name: column[-1:] for name, column in run.statistics.items()})
    assert ElementTree.fromstring(once._repr_html_()).tag == "table"
    monkeypatch.setitem(sys.modules, "matplotlib", None)  # not installed
    assert ElementTree.tostring(root) == ElementTree.tostring(ElementTree.fromstring(named._repr_html_()))
    assert rows["learner"] == "td" and rows["board"] == "3x3" and rows["games"] == "20,000"
    win, draw, loss = run.evaluation("random").first
    assert rows["as first, against random"] == f"win {win:.4f}, draw {draw:.4f}, loss {loss:.4f}"


def test_results_print_in_notebooks_as_their_commands_do(run):
    """Escaped in HTML: an agent's name may hold anything."""

    def odd(boards, to_move, legal):
        return legal.argmax(1)

    odd.__name__ = "<script>&"
    results = [*findings(run).values(), ttt.prove(run), ttt.evaluate(run, as_played=True), Score(1, 2, 3)]
    results += [ttt.judge(odd), ttt.study(learner="td", games=200, seeds=2)]
    results += [results[-1].summary(), ttt.evaluate(ttt.train(50, board="4x5x4"), games=5, budget=50)]
    for result in results:
        shown = result._repr_mimebundle_()
        assert shown["text/plain"] == str(result) != repr(result)
        assert ElementTree.fromstring(shown["text/html"]).text == str(result)
        json.dumps(result.to_dict())
        assert len(result.to_frame()) > 0
    assert {type(result).__name__ for result in results} >= {
        "Evaluation",
        "SampledEvaluation",
        "Study",
        "Summary",
        "Score",
    }


def test_a_run_has_the_values_of_its_command(run, file, pattern_run, capsys):
    status, out, _ = command(
        capsys, "train", "--games", "20000", "--seed", "1", "--json", "-q", "-o", file.parent / "j.h5"
    )
    measured = {"seconds", "games_per_second", "run"}
    printed, found = json.loads(out), json.loads(json.dumps(run.to_dict()))
    assert status == 0 and printed.keys() == found.keys()
    assert {name: printed[name] for name in printed.keys() - measured} == {
        name: found[name] for name in found.keys() - measured
    }
    assert ttt.load(file).to_dict()["games"] == 20_000 and pattern_run.to_dict()["learner"] == "patterns"
    imported = ttt.import_run(*ttt.export_run(run, file.parent / "i.json", "json"), "td").to_dict()
    assert (imported["games"], imported["games_per_second"]) == (0, 0.0)


def test_a_picture_is_its_path_and_shows_itself(run, tmp_path):
    pytest.importorskip("matplotlib")
    picture = ttt.plot(run, out=tmp_path / "a.png")
    assert picture == tmp_path / "a.png" and os.fspath(picture) == str(tmp_path / "a.png") and isinstance(picture, Path)
    assert picture._repr_png_() == picture.read_bytes() and picture._repr_svg_() is picture._repr_html_() is None
    drawn = ttt.plot(run, out=tmp_path / "a.svg")
    assert drawn._repr_svg_().startswith("<?xml") and drawn._repr_png_() is None
    kept = ttt.train(3000, keep_points=True)
    movie = ttt.plot(kept, kind="movie", out=tmp_path / "a.gif")
    assert b64decode(ElementTree.fromstring(movie._repr_html_()).get("src").partition(",")[2])[:3] == b"GIF"
    picture.unlink()
    assert picture._repr_png_() is None and picture.parent._repr_png_() is None


def test_moves_by_digits_are_refused_where_cells_come_back(run, pattern_run):
    """Digits count from 1, as on screen, and cells from 0; letters count from nothing."""
    agent, menace = ttt.agents.at_board("one-ply"), ttt.train(10, learner="menace")
    softmax = ttt.train(10, learner="reinforce", batch=1)
    asked = [run.move_values, run.candidates, run.true_moves, run.sharp_cells, agent.shares, agent.move_values]
    asked += [agent.candidates, agent.true_moves, menace.drawn_shares, softmax.move_preferences]
    for ask in asked:
        for digits, letters in {"5 1": "b2 a1", "X5, O1": "b2 a1", "5": "b2"}.items():
            with pytest.raises(ttt.BoardError) as refused:
                ask(digits)
            assert str(refused.value) == (
                f"position '{digits}': digits count cells from 1, but returned cells count from 0; write "
                f"'{letters}', or the cells' marks"
            )
            ask(letters)
        for clear in ("X.. .O. ...", "code 5", 0, "b2 a1"):
            ask(clear)
    assert run.value("5 1") == run.value("b2 a1") and ttt.show(run, "5 1").position == run.position("b2 a1")
    assert pattern_run.candidates("11") == pattern_run.candidates(11)  # a code: its board has no digits


def test_networks_are_a_table_and_a_curve_in_a_notebook(pattern_run):
    table, picture = ElementTree.fromstring(pattern_run._repr_html_())
    rows = {row[0].text: row[1].text for row in table}
    assert picture.get("alt") == "learning curve" and rows["learner"] == "patterns" and rows["board"] == "4x4x4"
    assert rows["verdict"] == pattern_run.verdict() and "cannot lose: proved" in rows["verdict"]


def test_names_and_numbers_are_read_as_in_commands():
    """Names and numbers that a function accepts can be printed by its result."""
    run = ttt.train(100)
    assert "--ties soonest" not in str(ttt.evaluate(run, ties="Soonest"))  # type: ignore[arg-type]
    assert ttt.evaluate(run, ties="Soonest").ties == "soonest"  # type: ignore[arg-type]
    assert "quickest" in str(ttt.tournament([run, run], ["a", "b"], ties="SOONEST"))  # type: ignore[arg-type]
    assert ttt.train(10, draw_worth=0.5).config.draw_worth == (0.5, 0.5)
    for alone in (run, "td-3x3"):
        with pytest.raises(ttt.UsageError, match="two runs or more"):
            ttt.tournament(alone)  # type: ignore[arg-type]
    for wrong in (3, None, b"td"):
        with pytest.raises(ttt.UsageError, match=r"not the name of a run file; give text, a path or a Run"):
            ttt.load(wrong)  # type: ignore[arg-type]
    for nameless, said in ((lambda position: 0, "<lambda>"), (object(), "<object object>")):
        with pytest.raises(ttt.UsageError, match=f"^{said} is not the name of a run file"):
            ttt.prove(nameless)  # type: ignore[arg-type]
    with pytest.raises(ttt.UsageError, match="the name of the run file is empty"):
        ttt.evaluate("")
    for seat in ("-1", "-2"):
        with pytest.raises(ttt.UsageError, match=f"unknown seat '{seat}'"):
            ttt.train(10, opponent="random", seat=seat)
    with pytest.raises(ttt.UsageError, match=r"alpha '1/n\^2': its exponent 2 is outside \(0, 1\]"):
        ttt.train(10, alpha="1/n^2")


def test_a_run_is_one_whatever_its_name(tmp_path, capsys):
    ttt.train(100, out=tmp_path / "noext")
    status, _, err = command(
        capsys, "train", "--games", "10", "--start", str(tmp_path / "noext"), "-q", "-o", str(tmp_path / "a.h5")
    )
    assert (status, err) == (0, "")
    with pytest.raises(ttt.FormatError, match="is a run already"):
        ttt.import_run(tmp_path / "noext", "td")
