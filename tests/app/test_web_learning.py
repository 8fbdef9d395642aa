"""The Learn tab under Node: its tables are those of the command line to the bit, and its files come and go."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers.pages import trained
from helpers.web import bytes_of, learn_on_page, settings, tables_of

import ttt_batch as ttt
from ttt_batch.app import web
from ttt_batch.app.web.packing import LEARNERS, check_learns
from ttt_batch.core.errors import BoardError
from ttt_batch.games.board import parse_board
from ttt_batch.runs.base import unbeatable_since
from ttt_batch.runs.importing import export_table, import_tables
from ttt_batch.runs.run import Run

NAMES = [name.replace("_", "-") for name in LEARNERS]
DEFAULTS = {
    "td": (0.5, 0.3),
    "sutton-barto": (0.1, 0.01),
    "backward-q": (0.1, 0.3),
    "q-learning": (0.1, 0.1),
    "menace": (1, 0),
}
"""Step size and exploration of each learner, as the page suggests them."""

OPTIONS: list[dict[str, Any]] = [
    {"learner": "td", "seed": -3, "alpha": 1.0, "epsilon": 0.0},
    {"learner": "td", "seed": 2**63 - 1, "alpha": 0.037, "epsilon": 1.0},
    {"learner": "sutton-barto", "seed": 5, "alpha": 0.3, "epsilon": 0.5},
    {"learner": "backward-q", "seed": 2**53 + 1, "alpha": 0.9, "epsilon": 0.013},
    {"learner": "q-learning", "seed": 9, "alpha": 0.6, "epsilon": 0.7},
    {"learner": "backward-q", "seed": 1, "alpha": 0.25, "epsilon": 0.3, "board": "3x3-misere"},
]


def check_equal(found: Any, run: Run) -> None:
    """Table, games, and all that was recorded."""
    assert found["games"] == run.games
    assert tables_of(found) == bytes_of(run)
    points, recorded = found["points"], run.statistics
    if points[-1]["games"] == points[-2]["games"]:
        points.pop()
    assert [point["games"] for point in points] == recorded["games"].tolist()
    for name, read in {
        "unbeatable": lambda seat: seat["unbeatable"],
        "best_response": lambda seat: seat["response"],
        "versus_random": lambda seat: [seat["win"], seat["draw"], seat["loss"]],
    }.items():
        there = np.array([[read(seat) for seat in point["seats"]] for point in points])
        assert np.allclose(there, recorded[name], rtol=0, atol=1e-12), name
    if not recorded["unbeatable"][-1].all():
        assert found["since"] is None
    elif found["since"] is not None:
        assert found["since"] == unbeatable_since(recorded["games"], recorded["unbeatable"])


@pytest.mark.slow
@pytest.mark.parametrize("names", [["td"], NAMES[1:]], ids=lambda names: names[0])
@pytest.mark.parametrize("games", [2000, 100_000, 1_000_000])
def test_the_table_is_that_of_the_command_line(names: list[str], games: int, tmp_path: Path) -> None:
    found = learn_on_page(
        tmp_path, *({"settings": settings(name, 7, *DEFAULTS[name]), "games": games} for name in names)
    )
    for name, one in zip(names, found, strict=True):
        check_equal(one, ttt.train(games, learner=name, batch=1, seed=7))


@pytest.mark.sampled(1)
@pytest.mark.parametrize("options", OPTIONS, ids=lambda options: f"{options['learner']}-{options['seed']}")
def test_with_other_numbers(options: dict[str, Any], tmp_path: Path) -> None:
    numbers = {key: value for key, value in options.items() if key != "board"}
    (found,) = learn_on_page(
        tmp_path, {"settings": settings(**numbers), "games": 3000}, board=options.get("board", "3x3")
    )
    check_equal(found, ttt.train(3000, batch=1, **options))


@pytest.mark.slow
@pytest.mark.parametrize("names", [["td"], NAMES[1:]], ids=lambda names: names[0])
def test_the_page_suggests_the_learners_own_numbers(names: list[str], tmp_path: Path) -> None:
    """A file that says nothing of how it was learnt goes on with them."""
    files, runs = [], {name: ttt.train(500, learner=name, batch=1) for name in names}
    for name, run in runs.items():
        export_table(run, "json", [tmp_path / f"{name}.json"])
        files.append({"text": (tmp_path / f"{name}.json").read_text()})
    for name, one in zip(names, learn_on_page(tmp_path, *files), strict=True):
        learnt = json.loads(one["text"])["learnt"]
        learner = runs[name].learner
        assert one["learner"] == name
        assert (learnt["alpha"], learnt["epsilon"]) == (learner.defaults.alpha, learner.defaults.epsilon)
        assert DEFAULTS[name] == (learner.defaults.alpha, learner.defaults.epsilon)


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_a_download_becomes_a_run_and_an_export_is_loaded(name: str, tmp_path: Path) -> None:
    job = {"settings": settings(name, 3, *DEFAULTS[name]), "games": 4000}
    (found,) = learn_on_page(tmp_path, job)
    run = ttt.train(4000, learner=name, batch=1, seed=3)
    (tmp_path / "page.json").write_text(found["text"])
    assert bytes_of(import_tables([tmp_path / "page.json"], name)) == bytes_of(run)
    export_table(run, "json", [tmp_path / "run.json"])
    exported, downloaded = (json.loads((tmp_path / f"{file}.json").read_text()) for file in ("run", "page"))
    assert downloaded.pop("learnt") == job["settings"] | {"games": 4000}
    assert downloaded == exported  # best moves included
    again, loaded, on = learn_on_page(
        tmp_path,
        {"text": found["text"]},
        {"text": (tmp_path / "run.json").read_text()},
        {"text": found["text"], "more": 1000},
    )
    assert tables_of(again) == tables_of(loaded) == bytes_of(run)
    assert (again["games"], loaded["games"]) == (4000, 0)
    (reloaded,) = learn_on_page(tmp_path, {"text": loaded["text"]})
    elsewhere = [one["elsewhere"] for one in (found, again, on, loaded, reloaded)]
    assert elsewhere == [False, False, False, True, True]  # an export does not say how its table was learnt
    # Loaded and gone on with is learnt in one go.
    assert tables_of(on) == bytes_of(ttt.train(5000, learner=name, batch=1, seed=3))


@pytest.mark.slow
def test_what_is_no_table_is_refused(tmp_path: Path) -> None:
    export_table(trained(games=1000), "json", [tmp_path / "td.json"])
    good = json.loads((tmp_path / "td.json").read_text())

    def states(change: Any, number: int = 5) -> dict[str, Any]:
        changed = [dict(state) for state in good["states"]]
        change(changed[number])
        return good | {"states": changed}

    def disagree(state: dict[str, Any]) -> None:
        state["value"] = {"first": 0.5, "second": 0.5}

    wrong: dict[str, Any] = {
        "no JSON": "{",
        "no list of states": [],
        "it has no list of states": {},
        "list of states": {"board": "3x3", "states": []},
        "has no list of states; choose": {"board": "3x3", "states": [None]},
        "of the board 4x4x3": good | {"board": "4x4x3"},
        "does not say of which board": good | {"board": None},
        "it does not say of which board it is": good | {"board": {"toString": 1}},
        "positions are missing": good | {"states": good["states"][:-2]},
        "state 5478 is of no position of 3x3, or there twice": good | {"states": [*good["states"], good["states"][0]]},
        "state 5 is of no position": states(lambda state: state.update(code=19682)),
        "state 5 has a value that is no number": states(lambda state: state.update(value=None)),
        "state 6 has a value that": states(lambda state: state.update(value={"first": "1", "second": 0}), 6),
        "state 5 has a value beyond 1e+100": states(lambda state: state.update(value={"first": -1e101, "second": 0})),
        "state 6 has values that are not each other": good | {"learnt": {"learner": "td"}} | states(disagree, 6),
        "learner is not on this page": good | {"learnt": {"learner": "constructor"}},
        "its learner is not on this page; choose": good | {"learnt": {"learner": {"toString": 1}}},
        "settings are damaged": good | {"learnt": {"learner": "td", "alpha": 2}},
        "its settings are damaged": good | {"learnt": {"learner": "td", "alpha": "0.5"}},
        "its settings are damaged; choose": good | {"learnt": {"alpha": {"valueOf": 1, "toString": 1}}},
        "state 4 has a value that": states(lambda state: state.update(value={"first": {"valueOf": 1}}), 4),
        "settings are damaged; choose one": good | {"learnt": {"learner": "menace", "beads": "4,3"}},
        "its settings are damaged; choose one": good | {"learnt": {"learner": "menace", "rewards": [3, 1, -1]}},
        "number of games is damaged": good | {"learnt": {"learner": "td", "games": -1}},
    }
    occupied = ttt.train(1000, learner="minimax-q")
    export_table(occupied, "json", [tmp_path / "q.json"])
    wrong["not one value for each free cell"] = json.loads((tmp_path / "q.json").read_text())
    texts = [{"text": what if isinstance(what, str) else json.dumps(what)} for what in wrong.values()]
    for expected, found in zip(wrong, learn_on_page(tmp_path, *texts), strict=True):
        assert expected in found["refused"]


@pytest.mark.slow
def test_it_stops_at_the_first_point_that_is_as_wanted(tmp_path: Path) -> None:
    """The point is that of the command line, and learning goes on behind it."""
    run = ttt.train(20_000, batch=1, seed=0)
    games, recorded = run.statistics["games"], run.statistics
    proof = games[recorded["unbeatable"].all(axis=1).argmax()]
    few = games[(recorded["versus_random"][:, :, 2] < 0.02).all(axis=1).argmax()]
    job = {"settings": settings("td", 0, 0.5, 0.3), "games": 20_000}
    found = learn_on_page(tmp_path, job | {"ends": "proof"}, job | {"ends": 0.02}, job | {"ends": 0})
    assert [one["games"] for one in found] == [proof, few, 20_000]
    assert tables_of(found[0]) == bytes_of(ttt.train(int(proof), batch=1, seed=0))
    again, boxes = learn_on_page(
        tmp_path,
        {"text": found[0]["text"], "more": 1000, "ends": "proof"},
        {"settings": settings("menace", 8, 1, 0), "games": 1000, "ends": 0.1},
    )
    assert again["games"] == proof + 1000
    assert boxes["games"] < 1000 and boxes["points"][-1]["seats"][0]["loss"] < 0.1  # boxes are for one seat alone


@pytest.mark.slow
def test_paces(tmp_path: Path) -> None:
    """Games a second by the worker's own clock; a lesson doubles its pace every five seconds."""
    told = settings("td", 1, 0.5, 0.3)
    steady, lesson = learn_on_page(
        tmp_path, {"settings": told, "paces": [1, 3, 10, 100, 1]}, {"settings": told, "paces": ["lesson"] * 20}
    )
    each = np.diff([0, *steady])
    assert (np.abs(each - [1, 4, 10, 100, 1]) <= [0, 1, 1, 10, 10]).all(), each
    for second in (5, 10, 20):
        assert lesson[second - 1] == pytest.approx(5 / np.log(2) * (2 ** (second / 5) - 1), rel=0.1, abs=3)


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in NAMES if name != "menace"])
def test_the_last_game_tells_its_updates(name: str, tmp_path: Path) -> None:
    """What it tells of a move's value is what the table held before the game, and holds after it."""
    job = {"settings": settings(name, 3, 0.25, 0.3)}
    before, after = learn_on_page(tmp_path, *(job | {"games": games} for games in (300, 301)))
    states = [{state["board"]: state for state in json.loads(one["text"])["states"]} for one in (before, after)]
    cells, updates = after["cells"], after["updates"]
    assert len(updates) >= len(cells) - 2

    def boards(plies: int) -> str:
        marks = ["."] * 9
        for ply, cell in enumerate(cells[:plies]):
            marks[cell] = "XO"[ply % 2]
        return "".join(marks)

    def value(table: dict[str, Any], ply: int) -> float:
        held = table[boards(ply + 1)] if "value" in table[boards(ply)] else table[boards(ply)]
        return float(held["value"][("first", "second")[ply % 2]] if "value" in held else held["q"][cells[ply]])

    for update in updates:
        ply, (old, target, new) = update["by"], (update[key] for key in ("before", "target", "after"))
        assert [value(states[0], ply), value(states[1], ply)] == pytest.approx([old, new], abs=1e-12)
        share = 1 if name == "backward-q" and update["to"] is None else 0.25
        assert new == pytest.approx(old + share * (target - old), abs=1e-12)


@pytest.mark.slow
def test_a_worker_that_is_stopped_goes_on(tmp_path: Path) -> None:
    games = 60_000
    (found,) = learn_on_page(tmp_path, {"settings": settings("td", 2, 0.5, 0.3), "games": games, "stopped": True})
    assert 0 < found["before"] <= games and not found["running"]
    assert tables_of(found) == bytes_of(ttt.train(games, batch=1, seed=2))


@pytest.mark.slow
def test_a_table_that_is_loaded_is_not_taught_by_what_ran_before(tmp_path: Path) -> None:
    job = {"settings": settings("td", 2, 0.5, 0.3), "games": 500}
    (saved,) = learn_on_page(tmp_path, job)
    (found,) = learn_on_page(tmp_path, {"loaded": saved["text"], "settings": job["settings"]})
    assert found == {"running": False, "games": 500}


@pytest.mark.slow
def test_pages_of_other_boards_have_no_tab() -> None:
    for board, tab in {"3x3": True, "3x3-misere": True, "2x3": False, "3x4": False}.items():
        text = web.page_text(trained(games=100, board=board))
        assert ('id="learn"' in text) == ('class="learning"' in text) == ("worker-src blob:" in text) == tab
        if not tab:
            with pytest.raises(BoardError, match=rf"a page learns on 3x3 and 3x3-misere, not on {board}"):
                check_learns(parse_board(board))
