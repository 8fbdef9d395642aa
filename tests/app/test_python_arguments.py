"""Wrong arguments of Python functions: one line that says what is wrong, before anything is lost."""

import gc
import io
import json
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest

import ttt_batch as ttt

FIRST: Any = lambda boards, to_move, legal: legal.argmax(1)  # noqa: E731 - an agent is a function


@pytest.fixture(scope="module")
def td(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("runs") / "td.h5"
    ttt.train(300, out=path, seed=1)
    return path


CALLS: dict[str, Any] = {
    "evaluate": lambda given, out: ttt.evaluate(given),
    "evaluate as played": lambda given, out: ttt.evaluate(given, as_played=True),
    "tournament": lambda given, out: ttt.tournament([given, given]),
    "show": lambda given, out: ttt.show(given),
    "plot": lambda given, out: ttt.plot(given, out=out / "x.png"),
    "page": lambda given, out: ttt.export_run(given, out / "x.html", "html"),
    "table": lambda given, out: ttt.export_run(given, out / "x.csv", "csv"),
}


@pytest.mark.parametrize("call", CALLS)
def test_what_is_no_run_is_refused_by_name(call: str, tmp_path: Path) -> None:
    remedy = "is not a run; give a run, the name of its file, or an agent"
    remedy = "is not the name of a run file; give text, a path or a Run" if call == "plot" else remedy
    for given in (5, None):
        with pytest.raises(ttt.UsageError, match=remedy):
            CALLS[call](given, tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_picture_is_of_runs_alone(tmp_path: Path) -> None:
    for name in ("mine.py:first", "cmd:./agent", "optimal"):
        with pytest.raises(ttt.RunFileError, match=f"{name} is an agent, but a run file is needed here"):
            ttt.plot(name, out=tmp_path / "x.png")
    with pytest.raises(ttt.UsageError, match="as_played=True is for runs of tables"):
        ttt.evaluate(FIRST, as_played=True)
    assert list(tmp_path.iterdir()) == []


def test_agents_go_wherever_the_commands_take_them(td: Path, tmp_path: Path, capsys: Any, monkeypatch: Any) -> None:
    """By name, as a callable and at a board: all the same agent."""
    (tmp_path / "mine.py").write_text("def first(boards, to_move, legal):\n    return legal.argmax(1)\n")
    mine = f"{tmp_path / 'mine.py'}:first"
    program = f"cmd:{sys.executable} {tmp_path / 'program.py'}"
    (tmp_path / "program.py").write_text(
        "import sys\nfor line in sys.stdin:\n    print(line.split()[2].index('.'), flush=True)\n"
    )
    agents: list[Any] = [FIRST, mine, program, ttt.agents.at_board(FIRST)]

    def both(call: Any) -> None:
        found = [call(agent) for agent in agents]
        assert all(one == found[0] for one in found), found

    both(lambda agent: ttt.evaluate(agent).first)  # type: ignore[union-attr]
    both(lambda agent: ttt.evaluate(agent, td).second)  # type: ignore[union-attr]
    both(lambda agent: ttt.show(agent, "b2").to_dict()["keeps"])
    both(lambda agent: ttt.tournament([td, agent, "random"]).standings[0].points)
    both(lambda agent: ttt.export_run(agent, tmp_path / "x.csv", "csv", overwrite=True)[0].read_text())
    both(lambda agent: ttt.train(300, opponent=agent))
    assert ttt.tournament([td, mine, "Random", FIRST]).names == (str(td), mine, "Random", "<lambda>")
    assert ttt.train(300, opponent="one-ply") != ttt.train(300, opponent=FIRST)
    monkeypatch.setattr("sys.stdin", io.StringIO("q\n"))
    assert ttt.play("optimal", seat="second").to_dict()["losses"] == 0
    assert "You are O" in capsys.readouterr().out
    large = ttt.train(10, board="4x4x3")
    assert ttt.tournament([FIRST, large]).board == "4x4x3"
    with pytest.raises(ttt.UsageError, match="the opponent plays 3x3, not 4x4x3"):
        ttt.train(10, board="4x4x3", opponent=ttt.agents.at_board(FIRST))


@pytest.mark.parametrize("name", ["train", "study", "confirm", "learn_from", "prove"])
def test_progress_is_true_a_function_or_nothing(name: str, td: Path, capsys: Any) -> None:
    seen: list[Any] = []
    study = ttt.study(learner="td", games=300, seeds=1)
    calls: dict[str, Any] = {
        "train": lambda progress: ttt.train(3000, progress=progress),
        "study": lambda progress: ttt.study(learner="td", games=300, seeds=2, progress=progress),
        "confirm": lambda progress: study.confirm(2, "error", progress=progress),
        "learn_from": lambda progress: ttt.learn_from(["4 0 2 1 6"] * 3, learner="td", progress=progress),
        "prove": lambda progress: ttt.prove(td, progress=progress),
    }
    calls[name](False), calls[name](None)
    assert capsys.readouterr() == ("", "")
    before = gc.get_threshold()
    calls[name](True)
    out, err = capsys.readouterr()
    assert out == "" and gc.get_threshold() == before
    assert {"train": "3,000 games", "learn_from": "3 games"}.get(name, "") in err
    assert name not in ("study", "confirm") or "2 of 2 learners" in err
    calls[name](lambda *now: seen.append(now))
    assert seen or name == "prove"  # a proof of few positions reports nothing
    for wrong in (5, "yes", 0):
        with pytest.raises(
            ttt.UsageError, match=r"progress is ('yes'|5|0); give True for a bar on standard error, or a"
        ):
            calls[name](wrong)


def test_a_study_without_a_file_is_kept_in_memory(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    options: dict[str, Any] = {"learner": "td", "games": "2k", "alpha": "0.1,0.5", "seeds": 3}
    study, stored = ttt.study(**options), ttt.study(**options, out="s.h5")
    assert [path.name for path in tmp_path.iterdir()] == ["s.h5"]

    def figures(found: ttt.Study) -> dict[str, Any]:
        whole = json.loads(json.dumps(found.to_dict()))
        for setting in whole["settings"]:
            del setting["milliseconds"]
        return whole

    assert figures(study) | {"file": "s.h5"} == figures(stored)
    assert (study.array("unbeatable") == stored.array("unbeatable")).all()
    assert study.to_frame().shape == stored.to_frame().shape and len(study.to_dataframe()) > 0
    assert "saved:" not in str(study) and str(stored).endswith("saved:   s.h5")
    pytest.importorskip("matplotlib")
    assert ttt.plot(study, out="a.png").read_bytes() == ttt.plot("s.h5", out="b.png").read_bytes()
    assert ttt.plot(study, kind="sensitivity").name == "study-sensitivity.png"
    with pytest.raises(ttt.UsageError, match="only alpha differs in a study in memory"):
        ttt.plot(study, kind="heat")


def test_a_tournament_of_one_number_is_refused() -> None:
    with pytest.raises(ttt.UsageError, match="5 is not a run"):
        ttt.tournament(5)  # type: ignore[arg-type]


def test_a_run_is_judged_on_its_own_board_alone(td: Path) -> None:
    for given in (td, ttt.load(td)):
        with pytest.raises(ttt.UsageError, match="the run plays 3x3, not 4x4x4; leave board out"):
            ttt.judge(given, "4x4x4")
    assert ttt.judge(td, "3x3").first == ttt.judge(td).first


def test_a_switch_is_true_or_false(td: Path, tmp_path: Path) -> None:
    before = td.read_bytes()
    calls: list[Any] = [
        lambda: ttt.train(10, out=td, overwrite="no"),
        lambda: ttt.train(10, keep_points="no"),
        lambda: ttt.load(td).save(td, overwrite="no"),
        lambda: ttt.plot(td, out=td.with_suffix(".png"), overwrite="no"),
        lambda: ttt.study(learner="td", seeds=1, out=tmp_path / "s.h5", overwrite="no"),
        lambda: ttt.learn_from(["0 1"], learner="td", skip_bad="no"),
        lambda: ttt.judge(FIRST, symmetric="no"),
        lambda: ttt.Batch(2, keep_last=None),
        lambda: ttt.Batch(2, record="no"),
    ]
    for call in calls:
        with pytest.raises(ttt.UsageError, match=r"is ('no'|None); give True or False"):
            call()
    assert td.read_bytes() == before
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("games", [[5], [b"0 1"], 5, None])
def test_games_are_text(games: Any) -> None:
    with pytest.raises(ttt.TttBatchError, match=r"is no line of text|are none; give a file, or lines of text"):
        ttt.learn_from(games, learner="td")


def test_a_run_is_saved_under_a_name(td: Path) -> None:
    wrong: list[Any] = [5, ""]
    for name in wrong:
        with pytest.raises(ttt.UsageError, match="is not the name of a file; give text or a path"):
            ttt.load(td).save(name)


def test_a_link_to_nothing_is_said_to_be_one(tmp_path: Path) -> None:
    (tmp_path / "link.h5").symlink_to("nowhere")
    with pytest.raises(ttt.RunFileError, match="is a link to a file that is not there"):
        ttt.load(tmp_path / "link.h5")


def test_what_is_no_description_is_not_to_be_written_into(td: Path, tmp_path: Path) -> None:
    with pytest.raises(ttt.UsageError, match="describe the study in TOML"):
        ttt.study(td, games=100, out=tmp_path / "s.h5")


NO_FILE = "3 is not the name of a file; give text or a path"
NO_RUN = "3 is not the name of a run file; give text, a path or a Run"
NO_NAMES = "names 'ab' is one string; give a list with a name for each run, or leave it out"
NO_OPTIONS = "are no options with values; give them as {'alpha': '0.1,0.2'}"

REFUSED: dict[str, tuple[Any, str]] = {
    "train, out": (lambda td: ttt.train(10, out=3), f"out {NO_FILE}"),  # type: ignore[call-overload]
    "train, record": (lambda td: ttt.train(10, record=3), f"record {NO_FILE}"),  # type: ignore[call-overload]
    "train, start": (lambda td: ttt.train(10, start=3), NO_RUN),  # type: ignore[call-overload]
    "train, resume": (lambda td: ttt.train(resume=3, more=10), NO_RUN),  # type: ignore[call-overload]
    "learn_from": (lambda td: ttt.learn_from(["0 3 1 4 2"], learner="td", out=3), f"out {NO_FILE}"),  # type: ignore[arg-type]
    "plot": (lambda td: ttt.plot(td, out=3), f"out {NO_FILE}"),  # type: ignore[arg-type]
    "prove": (lambda td: ttt.prove(td, certificate=3), f"certificate {NO_FILE}"),  # type: ignore[arg-type]
    "export": (lambda td: ttt.export_run(td, 3, "csv"), f"out {NO_FILE}"),  # type: ignore[arg-type]
    "export to none": (lambda td: ttt.export_run(td, [], "csv"), "out is empty; give a file"),
    "import": (lambda td: ttt.import_run(3), f"files {NO_FILE}"),  # type: ignore[arg-type]
    "import of none": (lambda td: ttt.import_run([]), "files is empty; give a file"),
    "import, out": (lambda td: ttt.import_run("x.csv", out=3), f"out {NO_FILE}"),  # type: ignore[arg-type]
    "names of a plot": (lambda td: ttt.plot([td, td], names="ab"), NO_NAMES),
    "names of a tournament": (lambda td: ttt.tournament([td, "random"], names="ab"), NO_NAMES),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_names_no_file_is_refused_in_our_words(name: str, td: Path, tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.chdir(tmp_path)
    call, line = REFUSED[name]
    with pytest.raises(ttt.UsageError) as refused:
        call(td)
    assert str(refused.value) == line
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("only", ["alpha=0.1", ["alpha"], 5])
def test_options_of_a_study_to_draw_have_values(only: Any, tmp_path: Path) -> None:
    with pytest.raises(ttt.UsageError) as refused, ttt.study(games=10, seeds=1) as study:
        ttt.plot(study, out=tmp_path / "x.png", only=only)
    assert str(refused.value).endswith(NO_OPTIONS)
    assert list(tmp_path.iterdir()) == []
