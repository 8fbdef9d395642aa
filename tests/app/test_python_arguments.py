"""What Python functions are given by mistake: one line that says what is wrong, before anything is lost."""

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
    remedy = "is no run; give a run, the name of its file, or an agent at a board"
    remedy = "is not the name of a run file; give text, a path or a Run" if call == "plot" else remedy
    for given in (FIRST, 5, None):
        with pytest.raises(ttt.UsageError, match=remedy):
            CALLS[call](given, tmp_path)
    for name in ("mine.py:first", "cmd:./agent", "optimal"):
        with pytest.raises(ttt.RunFileError, match=f"{name} is an agent, and this takes the file of a run"):
            CALLS[call](name, tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_tournament_of_one_number_is_refused() -> None:
    with pytest.raises(ttt.UsageError, match="5 is no run"):
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
    with pytest.raises(ttt.UsageError, match="a study is described in TOML"):
        ttt.study(td, games=100, out=tmp_path / "s.h5")
