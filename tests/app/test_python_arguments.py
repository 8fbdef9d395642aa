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


@pytest.mark.slow
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
    assert ttt.judge(td, "3x3").first == ttt.judge(td).first
    monkeypatch.setattr("sys.stdin", io.StringIO("q\n"))
    assert ttt.play("optimal", seat="second").to_dict()["losses"] == 0
    assert "You are O" in capsys.readouterr().out
    large = ttt.train(10, board="4x4x3")
    assert ttt.tournament([FIRST, large]).board == "4x4x3"
    with pytest.raises(ttt.UsageError, match="the opponent plays 3x3, not 4x4x3"):
        ttt.train(10, board="4x4x3", opponent=ttt.agents.at_board(FIRST))


@pytest.mark.sampled(1)
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


@pytest.mark.slow
def test_a_study_without_a_file_is_kept_in_memory(tmp_path: Path, monkeypatch: Any) -> None:
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


NO_FILE = "3 is not the name of a file; give text or a path"
NO_RUN_FILE = "3 is not the name of a run file; give text, a path or a Run"
AN_AGENT = "is an agent, but a run file is needed here; name one, or judge the agent with judge"
NO_RUN = "3 is not a run; give a run, the name of its file, or an agent"
NO_NAMES = "names 'ab' is one string; give a list with a name for each run, or leave it out"
NO_LIST = "names 'b.h5' is no list; give a list with a name for each run, or leave it out"
NO_OPTIONS = "are no options with values; give them as {'alpha': '0.1,0.2'}"
NO_SWITCH = "is 'no'; give True or False"
NO_GAMES = "are none; give a file, or lines of text"


def study_plot(only: Any) -> None:
    with ttt.study(games=10, seeds=1) as study:
        ttt.plot(study, out="x.png", only=only)


AT_3X3 = ttt.agents.at_board(FIRST)

REFUSED: dict[str, tuple[Any, ...]] = {
    "train, out": (lambda td: ttt.train(10, out=3), f"out {NO_FILE}"),
    "train, record": (lambda td: ttt.train(10, record=3), f"record {NO_FILE}"),
    "train, start": (lambda td: ttt.train(10, start=3), NO_RUN_FILE),
    "train, resume": (lambda td: ttt.train(resume=3, more=10), NO_RUN_FILE),
    "train, overwrite": (lambda td: ttt.train(10, out=td, overwrite="no"), NO_SWITCH),
    "train, points": (lambda td: ttt.train(10, keep_points="no"), NO_SWITCH),
    "load": (lambda td: ttt.load("link.h5"), "link.h5 is a link to a file that is not there", ttt.RunFileError),
    "save": (lambda td: ttt.load(td).save(3), NO_FILE),
    "save nowhere": (lambda td: ttt.load(td).save(""), "is not the name of a file; give text or a path"),
    "save, overwrite": (lambda td: ttt.load(td).save(td, overwrite="no"), NO_SWITCH),
    "learn_from, out": (lambda td: ttt.learn_from(["0 3 1 4 2"], learner="td", out=3), f"out {NO_FILE}"),
    "learn_from, skip_bad": (lambda td: ttt.learn_from(["0 1"], learner="td", skip_bad="no"), NO_SWITCH),
    "games of numbers": (lambda td: ttt.learn_from([5], learner="td"), "is no line of text", ttt.GamesError),
    "games of bytes": (lambda td: ttt.learn_from([b"0 1"], learner="td"), "is no line of text", ttt.GamesError),
    "games, a number": (lambda td: ttt.learn_from(5, learner="td"), NO_GAMES, ttt.GamesError),
    "games, none": (lambda td: ttt.learn_from(None, learner="td"), NO_GAMES, ttt.GamesError),
    "evaluate": (lambda td: ttt.evaluate(3), NO_RUN),
    "evaluate nothing": (lambda td: ttt.evaluate(None), NO_RUN.replace("3", "None")),
    "evaluate, as played": (lambda td: ttt.evaluate(3, as_played=True), NO_RUN),
    "an agent, as played": (lambda td: ttt.evaluate(FIRST, as_played=True), "as_played=True is for runs of tables"),
    "judge": (lambda td: ttt.judge(td, "4x4x4"), "the run plays 3x3, not 4x4x4; leave board out"),
    "judge a run": (lambda td: ttt.judge(ttt.load(td), "4x4x4"), "the run plays 3x3, not 4x4x4; leave board out"),
    "judge, symmetric": (lambda td: ttt.judge(FIRST, symmetric="no"), NO_SWITCH),
    "tournament": (lambda td: ttt.tournament([3, 3]), NO_RUN),
    "tournament of one": (lambda td: ttt.tournament(3), "3 is not a run"),
    "tournament, names": (lambda td: ttt.tournament([td, "random"], names="ab"), NO_NAMES),
    "show": (lambda td: ttt.show(3), NO_RUN),
    "play, level": (lambda td: ttt.play(td, level=float("nan")), "level nan is outside 0 to 1"),
    "play, epsilon": (lambda td: ttt.play(td, epsilon=2), "epsilon 2 is outside 0 to 1"),
    "plot": (lambda td: ttt.plot(3, out="x.png"), NO_RUN_FILE),
    "plot code": (lambda td: ttt.plot("mine.py:first"), f"mine.py:first {AN_AGENT}", ttt.RunFileError),
    "plot a program": (lambda td: ttt.plot("cmd:./agent"), f"cmd:./agent {AN_AGENT}", ttt.RunFileError),
    "plot an agent": (lambda td: ttt.plot("optimal"), f"optimal {AN_AGENT}", ttt.RunFileError),
    "plot, out": (lambda td: ttt.plot(td, out=3), f"out {NO_FILE}"),
    "plot, names": (lambda td: ttt.plot([td, td], names="ab"), NO_NAMES),
    "plot, two runs without a list": (lambda td: ttt.plot(td, Path("b.h5")), NO_LIST),
    "plot, overwrite": (lambda td: ttt.plot(td, out="x.png", overwrite="no"), NO_SWITCH),
    "plot, only text": (lambda td: study_plot("alpha=0.1"), NO_OPTIONS),
    "plot, only a list": (lambda td: study_plot(["alpha"]), NO_OPTIONS),
    "plot, only a number": (lambda td: study_plot(5), NO_OPTIONS),
    "prove": (lambda td: ttt.prove(td, certificate=3), f"certificate {NO_FILE}"),
    "page": (lambda td: ttt.export_run(3, "x.html", "html"), NO_RUN),
    "table": (lambda td: ttt.export_run(3, "x.csv", "csv"), NO_RUN),
    "export, out": (lambda td: ttt.export_run(td, 3, "csv"), f"out {NO_FILE}"),
    "export to none": (lambda td: ttt.export_run(td, [], "csv"), "out is empty; give a file"),
    "import": (lambda td: ttt.import_run(3), f"files {NO_FILE}"),
    "import of none": (lambda td: ttt.import_run([]), "files is empty; give a file"),
    "import, out": (lambda td: ttt.import_run("x.csv", out=3), f"out {NO_FILE}"),
    "study, overwrite": (lambda td: ttt.study(learner="td", seeds=1, out="s.h5", overwrite="no"), NO_SWITCH),
    "study of a run": (lambda td: ttt.study(td, games=100, out="s.h5"), "describe the study in TOML"),
    "batch, keep": (lambda td: ttt.Batch(2, keep_last=None), "is None; give True or False"),
    "batch, record": (lambda td: ttt.Batch(2, record="no"), NO_SWITCH),
    "agent at another board": (
        lambda td: ttt.judge(AT_3X3, "3x4x3"),
        "'<lambda>' plays 3x3, not 3x4x3; leave board out",
    ),
    "run on another board": (lambda td: ttt.evaluate(td, board="4x4"), "the run plays 3x3, not 4x4x4; leave board out"),
    "option of agents": (lambda td: ttt.evaluate(td, symmetric=7), "symmetric is for agents that are opened here"),
    "option given too late": (
        lambda td: ttt.judge(AT_3X3, illegal="loses"),
        "illegal is for agents that are opened here; leave it out, or give it to at_board",
    ),
    "run at a board": (lambda td: ttt.agents.at_board(td), "at_board is for agents"),
    "trust": (lambda td: ttt.load(td, trust="no"), "trust is 'no'; give True or False"),
    "trust of a proof": (lambda td: ttt.prove(td, trust="no"), "trust is 'no'; give True or False"),
    "check": (lambda td: ttt.load(td, check=3), "check is 3; give a function, or leave it out"),
    "evaluate, load": (lambda td: ttt.evaluate(td, load=3), "load is 3; give a function"),
    "stop": (lambda td: ttt.train(300, stop=3), "stop is 3; give a function"),
    "stop of a study": (lambda td: ttt.study(learner="td", games=300, seeds=2, stop=3), "stop is 3; give a function"),
    "stop of a proof": (lambda td: ttt.prove(td, stop=3), "stop is 3; give a function"),
    "stop of the smallest": (lambda td: ttt.smallest_proof("3x3", stop=3), "stop is 3; give a"),
    "runs of the smallest": (lambda td: ttt.smallest_proof(within=3), NO_RUN_FILE),
    "rule of a board": (lambda td: ttt.Board(3, 3, 3, misere="no"), "misere is 'no'; give True or"),
    "side of a board": (lambda td: ttt.Board(True, 3, 1), "rows, columns and k are whole numbers", ttt.BoardError),
    "interval": (
        lambda td: ttt.train(300, checkpoint_every=30),
        "checkpoint_every 30 is not an interval; give e.g. 30s, 1Mgames or never",
    ),
    "option of an export": (
        lambda td: ttt.export_run(td, "x.html", overwrit=True),
        "export_run() got an unexpected keyword argument 'overwrit'; did you mean 'overwrite'?",
        TypeError,
    ),
    "opponent": (lambda td: ttt.train(300, opponent="one-pl"), "unknown opponent 'one-pl' (did you mean one-ply?)"),
    "opponent of a study": (
        lambda td: ttt.study(learner="td", games=300, seeds=2, opponent=FIRST),
        "opponent is a function, and studies take no agents of one's own",
    ),
}
"""Calls, the line with which each is refused, and the class of the error unless it is a UsageError."""


@pytest.mark.parametrize("name", REFUSED)
def test_a_wrong_argument_is_refused_in_a_line_and_nothing_is_written(name: str, td: Path, tmp_path: Path) -> None:
    (tmp_path / "link.h5").symlink_to("nowhere")
    call, line, *kind = REFUSED[name]
    before = td.read_bytes()
    with pytest.raises(kind[0] if kind else ttt.UsageError) as refused:
        call(td)
    assert line in str(refused.value) and "\n" not in str(refused.value)
    assert td.read_bytes() == before and [path.name for path in tmp_path.iterdir()] == ["link.h5"]


@pytest.mark.slow
def test_names_of_a_picture_may_be_numbers(td: Path, tmp_path: Path) -> None:
    assert ttt.plot(td, names=[3], out=tmp_path / "x.png").stat().st_size > 0  # type: ignore[list-item]
