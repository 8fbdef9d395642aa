"""Tables in and out of runs, comparisons, and the commands for both, run in this process."""

import dataclasses
import json
import pickle
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers.support import BOTH_SEATS, bytes_of, command, recorded, untaught

import ttt_batch as ttt
from ttt_batch.analysis.compare import compare_runs
from ttt_batch.core.errors import BoardError, UsageError
from ttt_batch.core.text import PATTERN_LEARNERS, SEATS
from ttt_batch.learners import LEARNERS
from ttt_batch.runs.config import make_config
from ttt_batch.runs.formats import FORMATS
from ttt_batch.runs.formats.base import ACTION_VALUES, POSITION_VALUES, STATES, FormatError
from ttt_batch.runs.importing import check_export, export_table, import_tables
from ttt_batch.runs.run import Run

ACTIONS = [name for name, learner in LEARNERS.items() if "q" in learner.fields]
VALUES = [name for name in LEARNERS if name not in ACTIONS]


class Learnt(dict[str, Run]):
    """A run of each learner that is asked for, made of fifty games."""

    def __missing__(self, name: str) -> Run:
        self[name] = ttt.learn_from(recorded("backward-q")["games"].tolist()[:50], learner=name, seed=3)[0]
        return self[name]


@pytest.fixture(scope="module")
def runs() -> dict[str, Run]:
    return Learnt()


def formats_for(name: str) -> list[str]:
    kind = ACTION_VALUES if name in ACTIONS else POSITION_VALUES
    return [form for form, it in FORMATS.items() if {kind, STATES} & set(it.kinds)]


CASES = [(name, form) for name in BOTH_SEATS for form in formats_for(name)]


@pytest.mark.slow
@pytest.mark.parametrize(("name", "form"), CASES)
def test_out_and_in_gives_the_same_bits(name: str, form: str, runs: dict[str, Run], tmp_path: Path) -> None:
    if form == "parquet":
        pytest.importorskip("pyarrow")
    run = runs[name]
    paths = [tmp_path / "a", tmp_path / "b"][: 1 + FORMATS[form].per_player]
    said: list[str] = []
    assert export_table(run, form, paths, warn=said.append) == paths
    found = import_tables(paths, name, form=form)
    whole = STATES in FORMATS[form].kinds or name not in ("double-q", "reinforce", "actor-critic")
    assert (bytes_of(found.tables) == bytes_of(run.tables)) == whole == (not said)
    if not whole:
        told = (
            "the mean of the two tables" if name == "double-q" else "preferences for moves, not the values of positions"
        )
        assert said == [f"{form} holds {told}; npz, json and parquet hold both"]
        mean = run.tables.q if name != "double-q" else np.tile(0.5 * run.tables.q.sum(axis=0), (2, 1))
        assert found.tables.q.tobytes() == mean.tobytes()
    found.save(tmp_path / "run.h5")
    loaded = ttt.load(tmp_path / "run.h5")
    again = [path.with_suffix(".again") for path in paths]
    export_table(loaded, form, again, warn=said.append)
    assert [path.read_bytes() for path in again] == [path.read_bytes() for path in paths]
    assert found.config.learner == name and found.games == 0 and found.config.engine == "given"
    assert found.evaluation("random") == run.evaluation("random")
    assert name == "double-q" or not compare_runs(run, loaded)["tables"]["differing"]


@pytest.mark.slow  # kernels of other learners
def test_tables_beside_the_actions_have_names_of_their_own(tmp_path: Path) -> None:
    run, rng = untaught("double-q"), np.random.default_rng(1)
    run.tables.q[:] = rng.normal(size=run.tables.q.shape)
    export_table(run, "npz", [tmp_path / "two.npz"])
    with np.load(tmp_path / "two.npz") as file:
        both = dict(file)
    seen = ~np.isnan(both["q"])
    assert (0.5 * (both["a"] + both["b"]))[seen].tolist() == both["q"][seen].tolist()
    assert sorted(both["a"][seen]) == sorted(run.tables.q[0]) != sorted(run.tables.q[1]) == sorted(both["b"][seen])
    run = untaught("actor-critic")
    run.tables.value[:] = rng.normal(size=run.tables.value.size)
    export_table(run, "json", [tmp_path / "one.json"])
    states = json.loads((tmp_path / "one.json").read_text())["states"]
    assert [state["value"] for state in states] == run.tables.value.tolist()


@pytest.mark.sampled(2)
@pytest.mark.parametrize("form", ["npz", "json", "parquet"])
def test_a_list_of_classes_comes_back_as_one(form: str, tmp_path: Path) -> None:
    if form == "parquet":
        pytest.importorskip("pyarrow")
    run = ttt.train(2_000, learner="minimax-q", board="2x3x2", symmetry="on")
    path = tmp_path / f"table.{form}"
    export_table(run, form, [path])
    found = import_tables([path], "Minimax_Q", board=run.board)
    assert found.config.symmetry and bytes_of(found.tables) == bytes_of(run.tables)


def test_a_list_of_other_numbers_or_another_board_is_refused(runs: dict[str, Run], tmp_path: Path) -> None:
    path = tmp_path / "table.json"
    export_table(runs["td"], "json", [path])
    with pytest.raises(FormatError, match=r"table\.json: the file holds position values, which do not fit backward-q"):
        import_tables([path], "backward-q")
    with pytest.raises(FormatError, match=r"table\.json: the file is of board '3x3', not 4x4x3; give board as"):
        import_tables([path], "td", board="4x4x3")


@pytest.mark.sampled(1)
@pytest.mark.parametrize("learner", ["td", "backward-q"])
@pytest.mark.parametrize("form", ["npz", "json", "parquet"])
def test_a_list_of_other_rules_is_refused(form: str, learner: str, tmp_path: Path) -> None:
    """Misere tic-tac-toe has the very positions of the plain one."""
    if form == "parquet":
        pytest.importorskip("pyarrow")
    run = ttt.train(200, board="2x2x2-misere", learner=learner)
    path = tmp_path / f"table.{form}"
    export_table(run, form, [path])
    if form == "json":
        path.write_text(path.read_text().replace("2x2x2-misere", "2x2x2"))
    outcomes = "second wins in the table, first wins here"
    same_positions = rf"end differently under this board's rules, such as OXX\.: {outcomes}"
    with pytest.raises(FormatError, match=rf"table\.{form}: .*{same_positions if form == 'json' else 'not 2x2x2'}"):
        import_tables([path], learner, board="2x2x2")
    if form != "json":
        assert bytes_of(import_tables([path], learner, board=run.board).tables) == bytes_of(run.tables)


@pytest.mark.parametrize("form", ["csv", "pickle", "pickle-text"])
@pytest.mark.parametrize("learner", ["td", "sutton-barto"])
def test_values_by_code_of_other_rules_are_refused(form: str, learner: str, tmp_path: Path) -> None:
    """Such a table names no board, but a misere one is worth most to the player who completed a line."""
    run = ttt.train(200, board="2x3x2-misere", learner=learner)
    path = tmp_path / "table"
    export_table(run, form, [path])
    with pytest.raises(FormatError, match=r"table: the table's won positions are worth less than its lost ones"):
        import_tables([path], learner, board="2x3x2", form=form)
    first = run.tables.value if learner == "td" else run.tables.value[0]
    found = import_tables([path], learner, board=run.board, form=form).tables.value
    assert np.array_equal(found if learner == "td" else found[0], first)


def test_a_list_need_not_say_how_games_end(runs: dict[str, Run], tmp_path: Path) -> None:
    path = tmp_path / "table.json"
    export_table(runs["td"], "json", [path])
    path.write_text(re.sub(r'"outcome": "[a-z ]*", ', "", path.read_text()))
    assert "outcome" not in path.read_text()
    assert bytes_of(import_tables([path], "td").tables) == bytes_of(runs["td"].tables)


@pytest.mark.sampled(7)
@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda text: text[:-20], "is not valid JSON"),
        (lambda text: text.replace('"unfinished"', '"over"', 1), "outcome 'over' must be one of unfinished, first"),
        (lambda text: "[" * 100_000, "is not valid JSON"),
        (lambda text: "[]", "it holds nothing"),
        (lambda text: text.replace('"code": 1,', '"code": 1.5,'), "1.5 is not a whole number"),
        (lambda text: text.replace('"code": 1,', '"code": true,'), "True is not a whole number"),
        (lambda text: text.replace('"code": 1,', '"code": 3,'), "listed twice"),
        (lambda text: text.replace('"value"', '"worth"', 1), "state 0 has no value"),
        (lambda text: text.replace('"first": 0.0', '"first": "0.0"', 1), "must have only numbers"),
        (lambda text: text.replace('"first": 0.0', '"first": 1e999', 1), "finite numbers only"),
        (lambda text: text.replace('"first": 0.0', '"first": NaN', 1), "NaN or Infinity, which JSON does not have"),
        (lambda text: text.replace('"first": 0.0', f'"first": {"9" * 400}', 1), "too large for a float"),
        (lambda text: text.replace('"best": [0', '"best": [9', 1), "9 is not a whole number from 0 to 8"),
        (lambda text: text.replace('"best": [0', '"best": [[0]', 1), r"\[0\] is not a whole number"),
    ],
)
def test_a_damaged_list_costs_a_line(damage: Any, message: str, runs: dict[str, Run], tmp_path: Path) -> None:
    path = tmp_path / "table.json"
    export_table(runs["td"], "json", [path])
    text = path.read_text(encoding="utf-8")
    assert damage(text) != text
    path.write_text(damage(text), encoding="utf-8")
    with pytest.raises(FormatError, match=message) as caught:
        import_tables([path], "td")
    assert str(caught.value).startswith(str(path)) and "\n" not in str(caught.value)


def test_positions_that_cannot_occur_are_left_out_of_a_list(runs: dict[str, Run], tmp_path: Path) -> None:
    """A few are a program's mistake; a list of many is of another board."""
    path = tmp_path / "table.json"
    export_table(runs["td"], "json", [path])
    text, said = path.read_text(encoding="utf-8"), list[str]()
    path.write_text(text.replace('"code": 1,', '"code": 13,'), encoding="utf-8")
    found = import_tables([path], "td", warn=said.append)
    assert said == [f"{path}: 1 position left out that cannot occur, XXX...... for one"]
    differing = found.tables.value != runs["td"].tables.value
    assert found.graph.code[differing].tolist() in ([], [1])
    many = json.loads(text)
    many["states"] = [state for state in many["states"] if state["code"] < 50]
    many["states"] += [{"code": code, "value": {"first": 0, "second": 0}} for code in (13, 26, 39, 2, 4, 8, 10, 12)]
    path.write_text(json.dumps(many), encoding="utf-8")
    with pytest.raises(FormatError, match="8 of the table's positions do not occur in play, such as XXX"):
        import_tables([path], "td")


# --- whole tables of the programs -------------------------------------------------------------------------


@pytest.mark.slow
def test_rows_that_cannot_occur_survive_in_minimax_q(tmp_path: Path) -> None:
    given, out, stored = tmp_path / "given.csv", tmp_path / "out.csv", tmp_path / "run.h5"
    table = np.random.default_rng(1).standard_normal((3**9, 9))
    np.savetxt(given, table, delimiter=",")
    import_tables([given], "minimax-q").save(stored)
    export_table(ttt.load(stored), "csv", [out])
    assert out.read_bytes() == given.read_bytes()
    run = ttt.load(stored)
    rows = np.arange(run.graph.first_edge.size - 1).repeat(np.diff(run.graph.first_edge))
    assert np.array_equal(run.tables.q, table[run.graph.code[rows], run.graph.cell])


@pytest.mark.slow  # kernels of another learner
def test_backward_q_writes_the_whole_table_of_the_program(tmp_path: Path) -> None:
    data = recorded("backward-q")
    run, _ = ttt.learn_from(data["games"].tolist(), learner="backward-q")
    export_table(run, "raw", [tmp_path / "q.bin"])
    found = np.fromfile(tmp_path / "q.bin", "<f8").reshape(3**9, 9)
    assert np.array_equal(found, data["Q"])
    (tmp_path / "theirs.bin").write_bytes(data["Q"].astype("<f8").tobytes())
    assert bytes_of(import_tables([tmp_path / "theirs.bin"], "backward-q").tables) == bytes_of(run.tables)


def base_3(code: int) -> int:
    """The number under which `sutton-barto` files a position: cell 0 first, second player 0, empty 1, first 2."""
    digit = (1, 2, 0)
    number = 0
    for cell in range(9):
        number = 3 * number + digit[code // 3**cell % 3]
    return number


@pytest.mark.slow  # kernels of another learner
def test_sutton_barto_reads_and_writes_two_pickles(tmp_path: Path) -> None:
    data = recorded("sutton-barto")
    run, _ = ttt.learn_from(data["games"].tolist(), learner="sutton-barto", alpha=0.1)
    paths = [tmp_path / "policy_first.bin", tmp_path / "policy_second.bin"]
    export_table(run, "pickle", paths)
    for player, path in enumerate(paths):
        found = pickle.loads(path.read_bytes())
        codes = np.flatnonzero(~np.isnan(data["V"][player])).tolist()
        assert {base_3(code): float(data["V"][player, code]) for code in codes} == {
            int(key): float(value) for key, value in found.items()
        }
        keyed = {np.float64(base_3(code)): np.float64(data["V"][player, code]) for code in codes}
        path.with_suffix(".theirs").write_bytes(pickle.dumps(keyed))
    theirs = [path.with_suffix(".theirs") for path in paths]
    assert bytes_of(import_tables(theirs, "sutton-barto").tables) == bytes_of(run.tables)
    fresh = import_tables([theirs[0]], "sutton-barto", player="first").tables.value
    assert np.array_equal(fresh[0], run.tables.value[0])
    only_second = import_tables([theirs[1]], "sutton-barto", player="second").tables.value
    assert np.array_equal(only_second[1], run.tables.value[1])
    start = untaught("sutton-barto").tables.value
    assert np.array_equal(only_second[0], start[0]) and np.array_equal(fresh[1], start[1])
    one = tmp_path / "one.bin"
    export_table(run, "pickle", [one], player="second")
    assert one.read_bytes() == paths[1].read_bytes()


@pytest.mark.slow  # kernels of another learner
def test_value_feed_reads_the_pickle_of_its_program(tmp_path: Path) -> None:
    data = recorded("value-feed")
    run, _ = ttt.learn_from(data["games"].tolist(), learner="value-feed")
    first = data["V"][0]
    states = {}
    for code in np.flatnonzero(~np.isnan(first)).tolist():
        marks = np.array([(0.0, 1.0, -1.0)[code // 3**cell % 3] for cell in range(9)])
        states[str(marks)] = float(first[code])
    path = tmp_path / "policy_p1"
    path.write_bytes(pickle.dumps(states))
    found = import_tables([path], "value-feed", form="pickle-text", player="first")
    assert np.array_equal(found.tables.value[0], run.tables.value[0], equal_nan=True)
    assert np.isnan(found.tables.value[1]).all()
    assert found.evaluation("random").first == run.evaluation("random").first
    told = import_tables([path], "value-feed", warn=lambda _: None)
    assert bytes_of(told.tables) == bytes_of(found.tables)
    export_table(found, "pickle-text", [tmp_path / "ours"])
    assert pickle.loads((tmp_path / "ours").read_bytes()) == states


def test_a_zero_sum_learner_reads_either_players_file(runs: dict[str, Run], tmp_path: Path) -> None:
    for player in ("first", "second"):
        path = tmp_path / player
        export_table(runs["td"], "pickle", [path], player=player)
        found = import_tables([path], "td", form="pickle", player=player)
        assert np.array_equal(found.tables.value, runs["td"].tables.value)


# --- comparing --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", LEARNERS)
def test_a_run_equals_itself(name: str, runs: dict[str, Run]) -> None:
    found = compare_runs(runs[name], runs[name])
    assert found["tables"] == {
        "entries": runs[name].tables[0].size,
        "differing": 0,
        "largest_difference": 0.0,
        "mean_difference": 0.0,
    }
    seat_to_move = runs[name].graph.ply[: runs[name].graph.legal.size] % 2
    played = sum(np.count_nonzero(seat_to_move == SEATS.index(seat)) for seat in runs[name].seats)
    assert found["policies"] == {"positions": played, "differing": 0, "differing_optimal": 0}
    assert found["examples"] == []


def test_what_differs_is_counted_and_shown(runs: dict[str, Run]) -> None:
    one = runs["td"]
    other = untaught(run=one)
    child = int(one.graph.child[4])
    other.tables.value[child] = 5.0
    found = compare_runs(one, other)
    assert found["tables"]["differing"] == 1
    distance = 5.0 - one.tables.value[child]
    assert found["tables"]["largest_difference"] == distance
    assert found["tables"]["mean_difference"] == pytest.approx(distance / one.tables.value.size)
    assert found["policies"]["differing"] == 1 and found["policies"]["differing_optimal"] == 0
    (example,) = found["examples"]
    assert example["first"] == one.candidates(0) and example["second"] == [4] == other.candidates(0)
    assert set(example["position"]) <= {".", "/"}


def test_learners_of_different_kinds_compare_by_policy(runs: dict[str, Run]) -> None:
    found = compare_runs(runs["td"], runs["minimax-q"])
    assert found["tables"] is None
    assert found["policies"]["positions"] == 4_520 and found["policies"]["differing"] > 1_000
    assert len(found["examples"]) == 5
    back = compare_runs(runs["minimax-q"], runs["td"])
    assert back["policies"] == found["policies"]
    assert [(e["second"], e["first"]) for e in back["examples"]] == [
        (e["first"], e["second"]) for e in found["examples"]
    ]
    with pytest.raises(BoardError, match="compare runs of one board"):
        compare_runs(runs["td"], untaught("td", board="2x2"))


@pytest.mark.slow  # kernels of another learner
def test_unseen_states_compare_as_equal(runs: dict[str, Run]) -> None:
    fresh = untaught("value-feed")
    found = compare_runs(fresh, runs["value-feed"])["tables"]
    assert found["differing"] == np.count_nonzero(~np.isnan(runs["value-feed"].tables.value))
    assert found["largest_difference"] == 0.0


# --- starting from tables ---------------------------------------------------------------------------------


@pytest.mark.parametrize("name", LEARNERS)
def test_training_starts_from_given_tables(name: str, runs: dict[str, Run]) -> None:
    before = bytes_of(runs[name].tables)
    run = ttt.train(20, learner=name, batch=10, start=runs[name], seed=8)
    fresh = ttt.train(20, learner=name, batch=10, seed=8)
    assert before == bytes_of(runs[name].tables) != bytes_of(run.tables)
    far = compare_runs(runs[name], fresh)["tables"]["differing"]
    assert 0 < compare_runs(runs[name], run)["tables"]["differing"] < far
    assert run.config.start and not fresh.config.start


def test_training_cannot_start_from_another_learner_or_board(runs: dict[str, Run]) -> None:
    with pytest.raises(UsageError, match="cannot start td on 3x3 from a run of minimax-q"):
        ttt.train(20, batch=10, start=runs["minimax-q"])
    with pytest.raises(UsageError, match="cannot start td on 2x2x2 from a run of td on 3x3"):
        ttt.train(20, batch=10, board="2x2", start=runs["td"])


# --- the commands -----------------------------------------------------------------------------------------


def ok(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    status, out, err = command(capsys, *" ".join(words).split())
    assert status == 0, err
    return out


def refused(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    status, out, err = command(capsys, *" ".join(words).split())
    assert status in (1, 2)
    assert out == "" and len(err.splitlines()) == 1 and err.startswith("ttt-batch: ")
    return err


@pytest.mark.slow
def test_export_import_and_compare(tmp_path: Path, runs: dict[str, Run], capsys: pytest.CaptureFixture[str]) -> None:
    runs["value-feed"].save("run.h5")
    assert ok(capsys, "export run.h5 --to pickle -o a.bin -o b.bin") == "wrote a.bin\nwrote b.bin\n"
    out = ok(capsys, "import a.bin b.bin --learner value-feed -o back.h5")
    assert out.startswith("saved back.h5: value-feed on 3x3, ")
    assert bytes_of(ttt.load("back.h5").tables) == bytes_of(runs["value-feed"].tables)
    found = json.loads(ok(capsys, "compare", "run.h5", "back.h5", "--json"))
    assert found["tables"]["differing"] == found["policies"]["differing"] == 0
    ok(capsys, "import b.bin --learner value-feed --player second -o half.h5")
    found = json.loads(ok(capsys, "compare", "run.h5", "half.h5", "--json"))
    assert found["tables"]["differing"] > 0 and found["policies"]["differing"] > 0
    text = ok(capsys, "compare", "run.h5", "half.h5")
    assert "run.h5" in text and "half.h5" in text and f"{found['tables']['differing']:,}" in text
    assert "a.bin" in refused(capsys, "export run.h5 --to pickle -o a.bin")
    wrong = {"csv": "x.json", "json": "x.jsonl", "html": "x.csv", "hdf5": "x.npz", "pickle": "x.npy", "npz": "x.txt"}
    for to, name in wrong.items():
        said = refused(capsys, f"export run.h5 --to {to} -o {name}")
        assert said.endswith(f" ends in {Path(name).suffix}, which is not for {to}; name another file or format\n")
    assert ok(capsys, "export run.h5 --to pickle -o a.pkl -o b.pickle") == "wrote a.pkl\nwrote b.pickle\n"
    assert ok(capsys, "export run.h5 --to json -o a.txt") == "wrote a.txt\n"
    assert "back.h5" in refused(capsys, "import a.bin b.bin --learner value-feed -o back.h5")
    assert "third" in refused(capsys, "import b.bin --learner value-feed --player third -o x.h5")
    assert "3 files" in refused(capsys, "import a.bin b.bin a.bin --learner value-feed -o x.h5")
    assert "unknown format 'xml'" in refused(capsys, "export run.h5 --to xml -o x")
    assert "none.h5" in refused(capsys, "compare", "run.h5", "none.h5")
    assert not (tmp_path / "x.h5").exists() and not (tmp_path / "x").exists()
    ok(capsys, "export run.h5 --to csv -o t.csv")
    ok(capsys, "import t.csv --learner value-feed -o csv.h5 --draw-worth 0.5,0.5")
    assert json.loads(ok(capsys, "compare", "run.h5", "csv.h5", "--json"))["tables"]["differing"] == 0


@pytest.mark.slow
def test_training_from_a_run_and_from_a_table(
    tmp_path: Path, runs: dict[str, Run], capsys: pytest.CaptureFixture[str]
) -> None:
    runs["minimax-q"].save("run.h5")
    ok(capsys, "export run.h5 --to csv -o table.csv")
    ok(capsys, "export run.h5 --to raw -o table.bin")
    train = "train --games 100 --batch 10 --seed 4 --learner minimax-q"
    for number, start in enumerate(("run.h5", "table.csv", "table.bin")):
        ok(capsys, train, "--start", start, "-o", f"{number}.h5")
        assert bytes_of(ttt.load(f"{number}.h5").tables) == bytes_of(ttt.load("0.h5").tables)
    expected = ttt.train(100, batch=10, seed=4, learner="minimax-q", start=runs["minimax-q"])
    assert bytes_of(expected.tables) == bytes_of(ttt.load("0.h5").tables)
    assert "none.csv" in refused(capsys, train, "--start", "none.csv", "-o", "x.h5")
    assert "minimax-q" in refused(capsys, "train --games 10 --start run.h5 -o x.h5")
    assert not (tmp_path / "x.h5").exists()


@pytest.mark.slow
def test_recording_learning_and_opponents(capsys: pytest.CaptureFixture[str]) -> None:
    ok(capsys, "train --games 300 --batch 1 --learner td --record games.txt -o run.h5 --seed 2")
    ok(capsys, "learn-from games.txt --learner td --seed 2 -o given.h5")
    assert bytes_of(ttt.load("run.h5").tables) == bytes_of(ttt.load("given.h5").tables)
    with Path("games.txt").open("a") as file:
        file.write("0 0\n")
    message = refused(capsys, "learn-from games.txt --run given.h5 -o on.h5")
    assert "games.txt, line 301: move 2, '0', is not a free cell" in message and not Path("on.h5").exists()
    found = json.loads(ok(capsys, "learn-from games.txt --run given.h5 -o on.h5 --skip-bad --json"))
    assert found["skipped"] == 1 and found["games"] == 600
    for opponent in ("random", "optimal", "run.h5"):
        words = f"train --games 100 --batch 10 --opponent {opponent} --as second -o against.h5 --overwrite --json"
        assert sum(json.loads(ok(capsys, words))["in_play"].values()) == 100
    assert ttt.load("against.h5").config.seat == "second"
    assert "opponent" in refused(capsys, "train --games 10 --as first -o x.h5")
    assert "games.txt" in refused(capsys, "train --games 10 --record games.txt -o x.h5")
    ok(capsys, "train --games 100 --batch 10 --alpha 1/n^0.8 --epsilon 0.3->0.01:exp -o visits.h5")
    config = ttt.load("visits.h5").config
    assert (config.alpha.text, config.epsilon.text, config.horizon) == ("1/n^0.8", "0.3->0.01:exp", 100)


def test_learners_are_listed_and_described(capsys: pytest.CaptureFixture[str]) -> None:
    listing = " ".join(ok(capsys, "learners").split())  # in lines of 80 columns
    every = json.loads(ok(capsys, "learners", "--json"))
    assert [one["name"] for one in every] == [*LEARNERS, *PATTERN_LEARNERS]
    for name in PATTERN_LEARNERS:
        assert name in listing and json.loads(ok(capsys, "learners", name, "--json")) in every
        assert "--prove-every" in ok(capsys, "learners", name)
    for name, learner in LEARNERS.items():
        assert name in listing and learner.source in listing and learner.rule in listing
        text = ok(capsys, "learners", name)
        d = learner.defaults
        for line, there in (
            (f"--epsilon {d.epsilon:g}", not learner.by_chances),
            (f"--gamma {d.gamma:g}", not learner.undiscounted),
            (f"--alpha {d.alpha:g}", not learner.by_beads),
            ("--draw-worth", not learner.by_beads),
        ):
            assert (line in text) == there
        assert f"--games {learner.games}" in text
        one = json.loads(ok(capsys, "learners", name, "--json"))
        assert one in every
        assert (one["epsilon"], one["alpha"], one["gamma"]) == (d.epsilon, d.alpha, d.gamma)
        assert one["games"] == learner.games and one["draw_worth"] == list(d.draw_worth)
    assert "nobody" in refused(capsys, "learners", "nobody")


def test_boxes_are_offered_to_those_who_have_some(monkeypatch: pytest.MonkeyPatch) -> None:
    first_alone = dataclasses.replace(LEARNERS["td"], name="first-alone", seats=SEATS[:1])
    monkeypatch.setitem(LEARNERS, "first-alone", first_alone)
    for name, remedy in (("menace", "boxes, to print them, or json"), ("first-alone", "to='hdf5'")):
        config = make_config(learner=name, opponent="random", seat="first")
        with pytest.raises(UsageError, match=f"to {name}, which plays as the first player alone; choose {remedy}$"):
            check_export(config, "html")
    check_export(config, "hdf5")


@pytest.mark.parametrize("to", ["html", "npz"])
def test_a_board_too_large_for_a_table_is_refused_before_anything_is_compiled_for_it(
    to: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = ttt.train(10, board="5x5x5", batch=10).save(tmp_path / "large.h5")
    monkeypatch.setattr("ttt_batch.runs.loading._grown_of", lambda *_: pytest.fail("the table was built"))
    status, out, err = command(capsys, "export", path, "--to", to, "--out", tmp_path / "table")
    assert (status, out, err.count("\n")) == (2, "", 1) and "5x5x5 is too large to enumerate" in err
    with pytest.raises(BoardError, match="5x5x5 is too large to enumerate"):
        ttt.export_run(path, tmp_path / "table", to)
