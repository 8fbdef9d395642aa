"""The page: its file, and its own rules, table and match under Node against the run that it was made from."""

import base64
import dataclasses
import hashlib
import html
import json
import math
import re
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers.pages import Answers, drive, trained

import ttt_batch as ttt
from ttt_batch.app import web
from ttt_batch.app.reports.training import information_text, run_information
from ttt_batch.app.web.packing import bare, table_part, tight
from ttt_batch.core.errors import BoardError, TttBatchError
from ttt_batch.core.text import SEATS, Ties
from ttt_batch.games.board import DRAW, UNFINISHED, Game, Position
from ttt_batch.games.solution import QUICKEST
from ttt_batch.runs.run import Run

RUNS: dict[str, dict[str, Any]] = {
    "td": {},
    "sutton-barto": {"learner": "sutton-barto"},
    "value-feed, never-seen values": {"learner": "value-feed", "games": 3000},
    "minimax-q, long": {"learner": "minimax-q", "games": 1_000_000},
    "minimax-q, forfeits": {"learner": "minimax-q", "games": 2000},
    "symmetry": {"symmetry": "on", "games": 2000},
    "symmetry, one best move": {"learner": "minimax-q", "symmetry": "on", "games": 20_000},
    "misere": {"board": "3x3-misere"},
    "exact": {"board": "2x4x3-exact"},
    "2x3": {"board": "2x3", "games": 1000},
    "1x1": {"board": "1x1", "games": 10},
    "gravity": {"board": "3x3-gravity", "games": 1000},
    "gravity, forfeits": {"board": "3x3-gravity", "learner": "minimax-q", "games": 2000},
    "gravity, symmetry": {"board": "3x4x3-gravity", "symmetry": "on", "games": 2000},
}


def check_positions(run: Run, found: Any, ties: Ties = "sharp") -> None:
    """The page says of every position that it met what the run says."""
    answers = Answers(run, ties)
    for text, said in found["positions"].items():
        position = run.position(text)
        mover = 1 + sum(mark > 0 for mark in position) % 2
        assert said["candidates"] == answers.candidates(position), text
        truths = {cell: truth for cell, truth in enumerate(said["truths"]) if truth is not None}
        expected = answers.true_moves(position)
        assert expected is not None
        assert {cell: (t["result"], t["plies"]) for cell, t in truths.items()} == {
            cell: (truth.seen_by(mover - 1).result, truth.plies) for cell, truth in expected.items()
        }, text
        if said["values"] is None:
            continue
        values = {cell: value for cell, value in enumerate(said["values"]) if value is not None}
        for cell, value in answers.move_values(position).items():
            shown = values.pop(cell)
            if math.isnan(value):
                assert shown == "never", text
            else:
                assert abs(shown - value) <= found["step"] / 2 + 1e-12, (text, cell)
        assert not values, text


def count_games(run: Run, seat: int) -> Counter[str]:
    """Return how many games end how for the agent in `seat`, counted from the run by position."""
    answers = Answers(run)
    known: dict[Position, Counter[str]] = {}

    def games_from(game: Game) -> Counter[str]:
        if game.outcome != UNFINISHED:
            won = "draw" if game.outcome == DRAW else "agent" if game.outcome == 1 + seat else "you"
            return Counter({won: 1})
        if game.position not in known:
            mine = len(game.moves) % 2 == seat
            cells = answers.candidates(game.position) if mine else run.board.open_cells(game.position)
            known[game.position] = sum((games_from(game.after(cell)) for cell in cells), Counter())
        return known[game.position]

    return games_from(Game(run.board))


@pytest.mark.slow
@pytest.mark.parametrize("name", RUNS)
def test_every_game_on_the_page_is_one_of_the_run(name: str, tmp_path: Path) -> None:
    run = trained(**RUNS[name])
    found = drive(run, tmp_path)
    check_positions(run, found)
    unbeatable = run.evaluation("random", "sharp").unbeatable
    for number, seat in enumerate(SEATS):
        tally = found["tallies"][seat]
        assert Counter(tally) == count_games(run, number) + Counter(), seat
        assert (tally["you"] == 0) == unbeatable[seat]
    assert (tmp_path / "page.html").stat().st_size < 170_000


@pytest.mark.slow
def test_a_page_may_play_any_of_its_rules_moves(tmp_path: Path) -> None:
    learned = trained(board="2x3", games=1000)
    # Every move is as good as any other.
    run = dataclasses.replace(learned, tables=learned.tables._replace(value=np.zeros_like(learned.tables.value)))
    folders = [tmp_path / "any", tmp_path / "soonest"]
    for folder in folders:
        folder.mkdir()
    found = drive(run, folders[0], ties="any")
    check_positions(run, found, "any")
    assert found["positions"] != drive(run, folders[1])["positions"]
    assert web.about(run, "any")["results"] == {seat: list(getattr(run.evaluation("random"), seat)) for seat in SEATS}


@pytest.mark.slow  # kernels of another learner
def test_the_runs_are_of_every_kind() -> None:
    """What the test above is for: runs that never lose and runs that do, forfeits, and values never seen."""
    assert all(trained(**RUNS["td"]).evaluation("random").unbeatable.values())
    assert not any(trained(**RUNS["minimax-q, forfeits"]).evaluation("random").unbeatable.values())
    run = trained(**RUNS["value-feed, never-seen values"])
    assert any(math.isnan(value) for value in run.tables.value.ravel())
    run = trained(**RUNS["minimax-q, forfeits"])
    occupied = run.graph.code[run.graph.child[run.policy.ordered[run.graph.first_edge[:-1]]]] < 0
    assert occupied.any()


@pytest.mark.slow
@pytest.mark.parametrize("board", ["3x4x3", "3x4x4", "4x3x3-misere"])
def test_sampled_games_on_twelve_cells(board: str, tmp_path: Path) -> None:
    run = trained(board=board, games=1_000_000)
    found = drive(run, tmp_path, 800)
    assert len(found["positions"]) > 1000
    check_positions(run, found)
    assert (tmp_path / "page.html").stat().st_size < 1_000_000


@pytest.mark.slow
def test_sampled_games_on_four_by_four(tmp_path: Path) -> None:
    """Without values, which would take more room than all else."""
    run = trained(board="4x4x4", games=10_000_000, batch=10_000_000, engine="flow", epsilon=1.0)
    found = drive(run, tmp_path, 100)
    assert len(found["positions"]) > 1000
    assert all(said["values"] is None for said in found["positions"].values())
    check_positions(run, found)
    assert (tmp_path / "page.html").stat().st_size < web.MAX_BYTES
    assert all(found["tallies"][seat]["you"] == 0 for seat in SEATS)


def test_scripts_lose_only_comments_and_indentation() -> None:
    text = '"use strict";\n\n/*\n * What it is.\n */\nconst a = (() => {\n  /** One. */\n  // two\n'
    assert bare(text + '  let b = "/* no */ // no"; // said\n  return b;\n})();\n') == (
        '"use strict";\nconst a = (() => {\nlet b = "/* no */ // no"; // said\nreturn b;\n})();'
    )
    folder = Path(web.__file__).parent
    for path in [*folder.rglob("*.js"), *folder.rglob("*.css")]:
        for line in path.read_text("utf-8").splitlines():
            assert line.count("`") % 2 == 0, f"{path.name}: a string over several lines: {line}"
            _, end, after = line.strip().partition("*/")
            assert not (end and after), f"{path.name}: something follows a comment: {line}"


def test_spaces_that_count_stay() -> None:
    for line, expected in {
        'if (a === " = ") return b - -c; // why': 'if(a===" = ")return b - -c;',
        "const a = `x = ${y}`; // why": "const a = `x = ${y}`;",
        "text.replace(/ = /g, b)": "text.replace(/ = /g, b)",
        'say("a // b", c)': 'say("a // b", c)',
    }.items():
        assert tight(line) == expected


def test_the_page_needs_nothing_else() -> None:
    text = web.page_text(trained())
    head = text.partition("<style>")[0]
    assert '<html lang="en">' in head
    assert "<title>Tic-tac-toe that learns</title>" in head
    assert '<meta name="viewport" content="width=device-width, initial-scale=1">' in head
    # The only addresses are names of SVG's own elements.
    assert set(re.findall(r"https?://[^\s'\"]*", text)) == {"http://www.w3.org/2000/svg"}
    assert all(
        address.startswith("data:") or address == "#" for address in re.findall(r"(?:src|href)=\"([^\"]*)", text)
    )
    assert "{{" not in re.sub(r"<script type=.*", "", text)


def test_the_policy_allows_its_own_scripts_and_nothing_else() -> None:
    text = web.page_text(trained())
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', text)
    assert policy
    assert policy[1].startswith("default-src 'none';")
    for tag, word in (("script", "script-src"), ("style", "style-src")):
        bodies = re.findall(rf"<{tag}(?: class=\"learning\")?>(.*?)</{tag}>", text, re.DOTALL)
        digests = {base64.b64encode(hashlib.sha256(body.encode()).digest()).decode() for body in bodies}
        allowed = re.search(rf"{word} ([^;]*)", policy[1])
        assert allowed
        assert {f"'sha256-{digest}'" for digest in digests} == set(allowed[1].split())


def test_what_is_told_of_the_run() -> None:
    run = trained("minimax-q", games=2000)
    about = web.about(run)
    evaluation = run.evaluation("random", "sharp")
    assert about["verdict"] == "can be beaten as first, can be beaten as second"
    assert about["results"] == {"first": list(evaluation.first), "second": list(evaluation.second)}
    assert about["losing_line"] == evaluation.losing_line
    assert about["rules"] == "The player who first completes a line of 3 (row, column or diagonal) wins."
    facts = dict(about["facts"])
    assert facts["Learner"] == "minimax-q"
    assert facts["Ties"].startswith("the best against random moves")
    assert dict(web.about(run, "soonest")["facts"])["Ties"].startswith("the quickest true win")
    assert dict(web.about(run, "any")["facts"])["Ties"] == "any with equal chance"
    assert facts["Games"].startswith("2,000 in ")
    assert facts["Seed"] == "1"
    assert facts["Date"] == run.provenance["created"][:10]
    assert facts["Version"] == run.provenance["ttt_batch_version"]
    run.provenance = {}
    assert "Date" not in dict(web.about(run)["facts"])


@pytest.mark.sampled(1)
@pytest.mark.parametrize(
    ("options", "explores", "numbers"),
    [
        ({"epsilon": 0.25}, {"Exploration (epsilon)": "0.25"}, "epsilon 0.25, alpha 0.5,"),
        ({"explore": "softmax:0.5", "batch": 1}, {"Exploration": "softmax:0.5"}, "alpha 0.5,"),
        ({"learner": "reinforce", "alpha": 0.25, "batch": 1}, {}, "alpha 0.25,"),
    ],
    ids=["epsilon", "softmax", "reinforce"],
)
def test_play_by_softmax_has_no_epsilon(options: dict[str, Any], explores: dict[str, str], numbers: str) -> None:
    """Neither on the page nor in what `info` prints, where 0 would read as if it did not explore."""
    run = ttt.train(50, board="2x3", **options)
    facts = dict(web.about(run)["facts"])
    assert {label: text for label, text in facts.items() if label.startswith("Exploration")} == explores
    assert "softmax" not in facts.get("Of its rule", "")
    told = information_text(run_information(run, "run.h5"), run)
    (line,) = re.findall(r"^numbers:? +(.*)", told, re.MULTILINE)
    assert line.startswith(numbers)


def test_how_the_agent_learned_is_told_truly(tmp_path: Path) -> None:
    run, lines = trained(games=1000, batch=100), ["0 3 1 4 2"] * 3
    against = {
        "random moves": ("random, as first", ttt.train(1000, opponent="random", seat="first")),
        "best play": ("optimal", ttt.train(1000, opponent="optimal")),
        "another table": ("another table", ttt.train(1000, opponent=run)),
    }
    for whom, (opponent, made) in against.items():
        about = web.about(made)
        assert about["introduction"] == f"The agent learnt from 1,000 games against {whom}."
        assert dict(about["facts"])["Opponent"] == opponent
    fork = ttt.train(resume=run, fork=True, until=1500, epsilon="0.5", out=tmp_path / "fork.h5")
    alone = {
        "learnt from 1,000 games against itself, with no hint but who won.": run,
        "learnt from 1 game against itself, with no hint but who won.": ttt.train(1),
        "began with another table and learnt from 300 games against itself.": ttt.train(300, start=run),
        "began with another table and learnt from 500 games against itself.": fork,
        "learnt from 3 games that it was given.": ttt.learn_from(lines, learner="td")[0],
        "began with another table and learnt from games that it was given: 1,003 in all.": ttt.learn_from(
            lines, run=run
        )[0],
    }
    for text, made in alone.items():
        about = web.about(made)
        assert about["introduction"] == f"The agent {text}"
        assert dict(about["facts"])["Opponent"] == "itself"


def test_nothing_of_the_run_is_taken_for_html() -> None:
    run = trained(seed=2)
    run.provenance = {"ttt_batch_version": "</script><script>alert(1)</script>{{style}}"}
    text = web.page_text(run)
    assert text.count("</script>") == text.count("<script")  # those of the version would not be as many
    data = re.search(r'id="data">(.*?)</script>', text)
    assert data
    assert dict(json.loads(html.unescape(data[1]))["about"]["facts"])["Version"] == run.provenance["ttt_batch_version"]


def test_large_values_fit() -> None:
    run = trained("td", games=1000, draw_worth=(500.0, -500.0))
    assert table_part(run).values["step"] > 500 / 32_768
    assert QUICKEST < 128  # truths are signed bytes


def test_the_same_run_gives_the_same_bytes(tmp_path: Path) -> None:
    path = web.export_page(trained(), tmp_path / "page.html")
    first = path.read_bytes()
    assert web.export_page(trained(), path, overwrite=True) == path
    assert path.read_bytes() == first


def test_what_makes_no_page_is_refused_and_an_existing_file_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "page.html"
    path.write_text("mine")
    with pytest.raises(TttBatchError, match=r"exists already; replace it with overwrite=True"):
        web.export_page(trained(), path)
    with pytest.raises(TttBatchError, match=r"page\.PDF: a page is an .html file; export_run\(.*\) writes a .pdf"):
        web.export_page(trained(), tmp_path / "page.PDF")
    run = trained(board="5x5x5", games=10)
    with pytest.raises(BoardError, match=r"a page of a table needs an enumerated board; 5x5x5 .*learner='patterns'"):
        web.export_page(run, tmp_path / "other.html")
    monkeypatch.setattr(web, "MAX_BYTES", 5_000)
    said = r"the agent of this run of 3x3 takes [0-9,]+ bytes; a page has room for 5,000: train with symmetry='on'"
    with pytest.raises(BoardError, match=said):
        web.export_page(trained(), tmp_path / "other.html")
    assert list(tmp_path.iterdir()) == [path] and path.read_text() == "mine"
