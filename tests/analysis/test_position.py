"""A position shown: against plain minimax, images made by turning grids, and the run's own arrays read by hand."""

import functools
import json
import math
import random
import re

import numpy as np
import pytest
from helpers.players import best_play as minimax
from helpers.support import mostly_slow

import ttt_batch as ttt
from ttt_batch.agents.external import at_board
from ttt_batch.analysis.position import best_play, describe_position
from ttt_batch.app.reports.evaluation import evaluation_text, show_text
from ttt_batch.app.reports.layout import line_of_play
from ttt_batch.core.errors import BoardError
from ttt_batch.core.text import RESULTS
from ttt_batch.games.board import EMPTY, SECOND_WINS, UNFINISHED, Board, Position
from ttt_batch.runs.network_run import PatternRun
from ttt_batch.runs.run import Run

KEYS = {
    *("board", "learner", "position", "code", "to_move", "winner", "value", "truth", "moves", "forfeits", "keeps"),
    *("best", "line", "images", "ties"),
}
MOVE_KEYS = {"cell", "name", "value", "probability", "visits", "result", "plies", "keeps", "best"}


@functools.cache
def trained(learner: str = "td", games: int = 2000, **options: object) -> Run:
    return ttt.train(games, learner=learner, seed=5, **options)


def some_positions(board: Board, n: int, seed: int = 0) -> list[Position]:
    """Positions of random games, the empty board and a final one among them."""
    rng, found = random.Random(seed), {(EMPTY,) * board.cells: None}
    while len(found) < n:
        marks = (EMPTY,) * board.cells
        while board.outcome(marks) == UNFINISHED:
            marks = board.after(marks, rng.choice(board.open_cells(marks)))
            found[marks] = None
    return list(found)


QUICK_LEARNERS = ("td", "value-feed", "minimax-q")

RUNS = {
    "td": {},
    "td up to symmetry": {"symmetry": "on"},
    "td, misere": {"board": "3x3-misere"},
    "greedy-td": {"learner": "greedy-td", "games": 300, "batch": 1},
    "value-feed": {"learner": "value-feed", "games": 20, "batch": 1},
    "minimax-q": {"learner": "minimax-q", "games": 3000, "batch": 10},
    "td, gravity": {"board": "3x3-gravity"},
    "minimax-q, gravity": {"learner": "minimax-q", "games": 3000, "batch": 10, "board": "3x3-gravity"},
}


@pytest.mark.sampled(1)
@pytest.mark.parametrize("name", mostly_slow(RUNS, *(name for name in RUNS if name != "greedy-td")))
def test_it_is_what_the_run_says_and_what_minimax_finds(name):
    run = trained(**RUNS[name])
    board = run.board
    for marks in some_positions(board, 60):
        shown = describe_position(run, marks)
        result, plies = minimax(board, marks)
        assert shown.truth == (result, plies) and shown.outcome == board.outcome(marks)
        assert shown.value == run.value(marks) or math.isnan(shown.value)
        if shown.outcome != UNFINISHED:
            assert shown.player is None and shown.moves == () and shown.line == () and shown.keeps is None
            continue
        mover = (9 - marks.count(EMPTY)) % 2
        assert shown.player == mover
        values, chosen = run.move_values(marks), run.candidates(marks)
        assert [move.cell for move in shown.moves] == board.open_cells(marks)
        for move in shown.moves:
            assert move.value == values[move.cell] or (math.isnan(move.value) and math.isnan(values[move.cell]))
            assert move.probability == (1 / len(chosen) if move.cell in chosen else 0)
            then = minimax(board, board.after(marks, move.cell))
            assert move.truth == (then[0], then[1] + 1)
            assert move.keeps == (then[0] == result)
            assert move.best == (then == (result, plies - 1))
        assert any(move.best for move in shown.moves)
        legal = [cell for cell in chosen if board.is_open(marks, cell)]
        assert list(shown.forfeits) == [cell for cell in chosen if cell not in legal]
        kept = [cell for cell in legal if minimax(board, board.after(marks, cell))[0] == result]
        assert shown.keeps == pytest.approx(len(kept) / len(chosen))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["minimax-q", "minimax-q, gravity"])
def test_a_short_minimax_q_forfeits_somewhere_and_that_keeps_nothing(name):
    run = trained(**RUNS[name])
    found = [shown for marks in some_positions(run.board, 400) if (shown := describe_position(run, marks)).forfeits]
    assert found
    for shown in found:
        assert shown.keeps == 0 and sum(move.probability for move in shown.moves) == 0  # it picks the first of the best
        text = show_text(shown, "run.h5")
        cells = " ".join(str(cell + 1) for cell in shown.forfeits)
        why = "taken already" if shown.position[shown.forfeits[0]] else "in the air"
        assert f"plays no free cell, and forfeits by choosing {cells}, {why}" in " ".join(text.split())


@pytest.mark.parametrize("name", ["minimax-q", "minimax-q, gravity"])
def test_a_game_that_is_lost_by_a_forfeit_is_drawn_without_that_mark(name):
    run = trained(**RUNS[name])
    evaluation, games = run.evaluation(), 0
    text = evaluation_text(evaluation, "run.h5")
    for seat, line in evaluation.losing_line.items():
        marks: Position = (EMPTY,) * 9
        for cell in line[:-1]:
            marks = run.board.after(marks, cell)
        player = "XO"[(len(line) - 1) % 2]
        drawn = line_of_play(run.board, line)
        assert "\n".join([f"can be beaten as {seat}:", *drawn]) in text
        if run.board.is_open(marks, line[-1]):
            continue
        games += 1
        why = "taken already" if marks[line[-1]] else "in the air"
        assert player == "XO"[seat == "second"]
        assert drawn[1] == f"  {player} forfeits by choosing {line[-1] + 1}, {why}"
        rows = [row[2 + 11 * (len(line) - 1) :] for row in drawn[3:6]]  # the last board: 9 columns and 2 between
        shown = "".join(rows).replace(" ", "")
        assert shown.replace("[", "").replace("]", "") == "".join(".XO"[mark] for mark in marks)
        assert shown.index("[") == line[-1]
    assert games


def test_a_game_as_boards():
    assert line_of_play(Board(), [0, 4, 8, 2, 6, 3, 7]) == [
        "  X1 O5 X9 O3 X7 O4 X8",
        "",
        "  [X] .  .    X  .  .    X  .  .    X  . [O]   X  .  O    X  .  O",
        "   .  .  .    . [O] .    .  O  .    .  O  .    .  O  .   [O] O  .",
        "   .  .  .    .  .  .    .  . [X]   .  .  X   [X] .  X    X  .  X",
        "",
        "   X  .  O",
        "   O  O  .",
        "   X [X] X",
        "",
    ]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["3x3", "3x3-misere", "2x4x3", "2x4x2", "3x3-gravity"])
def test_best_play_ends_as_the_truth_says_and_takes_the_lowest_cell(name):
    run = trained(games=100, board=name)
    for marks in some_positions(run.board, 60, seed=1):
        result, plies = minimax(run.board, marks)
        line = best_play(run, marks)
        assert len(line) == plies
        for number, cell in enumerate(line):
            rest = (result, plies - number - 1)
            good = [c for c in run.board.open_cells(marks) if minimax(run.board, run.board.after(marks, c)) == rest]
            best = [move.cell for move in describe_position(run, marks).moves if move.best]
            assert cell == min(good) and best == good
            marks = run.board.after(marks, cell)
        assert minimax(run.board, marks) == (result, 0) and run.board.outcome(marks) != UNFINISHED
        assert best_play(run, marks) == ()


def grids(board: Board, marks: Position) -> set[Position]:
    """All images by turning and mirroring a grid."""
    grid = np.array(marks).reshape(board.rows, board.cols)
    turned = [np.rot90(side, turn) for side in (grid, np.fliplr(grid)) for turn in range(4)]
    return {tuple(image.ravel().tolist()) for image in turned if image.shape == grid.shape}


@pytest.mark.sampled(1)
@pytest.mark.parametrize("options", [{}, {"symmetry": "on"}, {"board": "2x4x3"}, {"learner": "minimax-q", "games": 50}])
def test_images_are_the_turned_and_mirrored_grids(options):
    run = trained(**options)
    for marks in some_positions(run.board, 40, seed=2):
        images = describe_position(run, marks, symmetric=True).images
        assert [image.code for image in images] == sorted(run.board.encode(image) for image in grids(run.board, marks))
        assert {image.position for image in images} == grids(run.board, marks)
        for image in images:
            assert run.board.encode(image.position) == image.code
            assert image.value == run.value(image.position)
        own = [image.own_row for image in images]
        # The row of a class is that of the lowest code: it is in the graph, and the others are not.
        assert own == ([True] + [False] * (len(own) - 1) if run.config.symmetry else [True] * len(own))
        assert own == [image.code in run.graph.code for image in images]
    assert describe_position(run, 0).images is None
    assert len(describe_position(run, 0, symmetric=True).images) == 1


@pytest.mark.sampled(1)
@pytest.mark.parametrize("symmetry", ["off", "on"])
@pytest.mark.parametrize("learner", mostly_slow(["greedy-td", *QUICK_LEARNERS], *QUICK_LEARNERS))
def test_visits_are_those_of_the_entry_behind_the_value(learner, symmetry):
    run = trained(learner, 500, alpha="1/n", symmetry=symmetry, batch=1)
    board, graph, seen = run.board, run.graph, 0
    rows = {code: row for row, code in enumerate(graph.code.tolist())}
    counts = run.visits.reshape(run.tables[0].shape)
    for marks in some_positions(board, 60, seed=3):
        for move in describe_position(run, marks).moves:
            player = sum(mark != EMPTY for mark in marks) % 2
            then = board.after(marks, move.cell)
            if learner == "minimax-q":
                lowest, image = board.representative(marks, run.config.symmetry)
                row = rows[board.encode(lowest)]
                edges = range(graph.first_edge[row], graph.first_edge[row + 1])
                # The entry behind the value: it holds the same random start, or what was learnt since.
                sign = -1 if player else 1
                entry = next(edge for edge in edges if image[graph.cell[edge]] == move.cell)
                assert move.value == sign * run.tables.q[entry]
                expected = counts[entry]
            elif board.outcome(then) != UNFINISHED and learner != "value-feed":
                expected = None  # what the end of a game is worth is not learnt
            else:
                row = rows[board.encode(board.representative(then, run.config.symmetry)[0])]
                expected = counts[row] if counts.ndim == 1 else counts[player, row]
            assert move.visits == expected and (expected is None or isinstance(move.visits, int))
            seen += move.visits or 0
    assert seen > 500


def test_visits_of_known_games():
    run, _ = ttt.learn_from(["0 3 1 4 2"] * 3 + ["0 4 1 3 2"], learner="td", alpha="1/n")
    moves = {move.name: move.visits for move in describe_position(run, "X1 O4 X2").moves}
    assert moves == {"3": 0, "5": 4, "6": 0, "7": 0, "8": 0, "9": 0}
    # X on 3 wins: that is worth what it is, not learnt.
    assert {move.name: move.visits for move in describe_position(run, "X1 O4 X2 O5").moves} == {
        "3": None, "6": 0, "7": 0, "8": 0, "9": 0,
    }  # fmt: skip
    assert {move.name: move.visits for move in describe_position(run, "1").moves}["4"] == 3
    text = show_text(describe_position(run, "X1 O4 X2"), "run.h5")
    assert re.search(r"cell +value +chance +visits +truth", text) and "--alpha" not in text
    assert re.search(r"^. 5 .* 4   X wins in 2 plies$", text, re.MULTILINE)


def test_visits_that_are_not_counted():
    shown = describe_position(trained(), 0)
    assert not shown.counted and {move.visits for move in shown.moves} == {None}
    assert "visits are counted only if the step size depends on them (alpha='1/n')" in show_text(shown, "run.h5")


@pytest.mark.sampled(1)
@pytest.mark.parametrize("symmetry", ["off", "on"])
def test_a_grown_board_knows_values_and_no_truth(symmetry):
    run = trained("td", 300, board="5x5x5", symmetry=symmetry, alpha="1/n", batch=1)
    codes = {code: row for row, code in enumerate(run.graph.code.tolist()) if code >= 0}
    seen = 0
    for marks in some_positions(run.board, 60):
        shown = describe_position(run, marks, symmetric=True)
        assert shown.keeps is None
        if shown.player is None:  # ends of games are known
            assert shown.truth is not None and shown.truth.plies == 0 and shown.line == ()
        else:
            assert shown.truth is None and shown.line is None
        assert shown.value == run.value(marks)
        assert {image.position for image in shown.images} == grids(run.board, marks)
        for move in shown.moves:
            assert (move.truth, move.keeps, move.best) == (None, None, None)
            then = run.board.after(marks, move.cell)
            code = min(map(run.board.encode, grids(run.board, then))) if symmetry == "on" else run.board.encode(then)
            if run.board.outcome(then) == UNFINISHED:
                assert move.visits == (int(run.visits[codes[code]]) if code in codes else 0)
                seen += move.visits
    assert seen > 300
    text = show_text(describe_position(run, "c3 a1"), "run.h5")
    assert "not known: the board is too large to enumerate" in text and "best" not in text
    assert describe_position(run, "c3 a1").to_dict()["best"] is None


@pytest.mark.slow  # kernels of another learner
def test_what_was_never_seen_is_shown_as_such():
    run = trained(**RUNS["value-feed"])
    shown = next(
        shown for marks in some_positions(run.board, 300) if math.isnan((shown := describe_position(run, marks)).value)
    )
    text = show_text(shown, "run.h5")
    assert re.search(r"^value +never seen$", text, re.MULTILINE) and " ? " in text and " never " in text


QUICK = [
    *(options for name, options in RUNS.items() if name != "greedy-td"),
    {"board": "2x4x3", "alpha": "1/n"},
    {"board": "6x6x4", "games": 20, "batch": 1, "symmetry": "off"},
    {"board": "1x36x3", "games": 20, "batch": 1, "symmetry": "off"},
]
LONGER = [
    RUNS["greedy-td"],
    {"board": "4x4x4", "games": 50},
    {"learner": "greedy-td", "board": "5x5x5", "games": 50, "batch": 1},
    {"learner": "greedy-td", "board": "6x6x4", "games": 20, "batch": 1},
    {"learner": "greedy-td", "board": "1x36x3", "games": 20, "batch": 1},
]


@pytest.mark.sampled(6)
@pytest.mark.parametrize("options", mostly_slow([*QUICK, *LONGER], *QUICK), ids=str)
def test_the_text_is_plain_and_fits_a_terminal(options):
    run = trained(**options)
    positions = some_positions(run.board, 30, seed=4)
    for marks in [positions[0], *positions[-3:], *random.Random(1).sample(positions, 4)]:
        text = show_text(describe_position(run, marks, symmetric=True), "run.h5")
        lines = text.splitlines()
        assert text.isascii() and "\x1b" not in text and max(map(len, lines)) <= 80
        assert all(line == line.rstrip() for line in lines) and not re.search(r"-0\.0+(?![0-9])", text)
        assert lines[0] == f"run.h5: {run.config.learner} on {run.config.board.name}"


def test_the_text_of_a_known_position():
    text = show_text(describe_position(trained(games=100_000), "X.O/.X./..."), "td.h5")
    assert text.startswith(
        """td.h5: td on 3x3
position X.O/.X./..., code 100: O to move

position      agent's values            truth, in plies
 X | 2 | O       X   | -1.00 |   O       X  | L2 | O
---+---+---   -------+-------+-------   ----+----+----
 4 | X | 6     -1.00 |   X   | -1.00     L2 | X  | L2
---+---+---   -------+-------+-------   ----+----+----
 7 | 8 | 9     -1.00 | -1.00 | +0.00     L2 | L2 | D

value   0.0000 for O (a win 1, a draw 0, a loss -1)
truth   a draw in 6 plies with best play (a ply is one move of either player)
ties    any move that its rule may pick (ties='any')
agent   plays 9: keeps the draw
best    9
"""
    )
    assert "* 9        0.0000   100.0 %   a draw in 6 plies, best" in text
    assert "  O9 X6 O4 X2 O8 X7\n" in text
    final = show_text(describe_position(trained(), "XXX/OO./..."), "td.h5")
    assert "code 229: X has won" in final and "for O, who would move next" in final and "chance" not in final


def test_plain_values_with_stable_keys():
    run = trained(**RUNS["minimax-q"])
    for marks in some_positions(run.board, 20):
        found = describe_position(run, marks, symmetric=True).to_dict()
        assert set(found) == KEYS and all(set(move) == MOVE_KEYS for move in found["moves"])
        assert json.loads(json.dumps(found)) == found
        assert all(set(image) == {"code", "position", "value", "own_row"} for image in found["images"])
    found = describe_position(run, "X1 O4 X2 O5").to_dict()
    assert found["to_move"] == "first" and found["winner"] is None and found["position"] == "XX./OO./..."
    assert found["truth"] == {"winner": "first", "plies": 1} and found["best"] == [2] and found["line"] == [2]
    assert [found["moves"][0][key] for key in ("name", "result", "plies")] == ["3", "win", 1]
    assert {move["result"] for move in found["moves"]} <= set(RESULTS)
    final = describe_position(run, "X1 O4 X2 O5 X3").to_dict()
    assert (final["winner"], final["to_move"], final["moves"], final["line"]) == ("first", None, [], [])


@pytest.mark.parametrize("position", ["XXX/OOO/...", "XX./.../...", 12345, 3**25, -1, (1, 1) + (0,) * 7])
def test_positions_that_no_game_reaches_are_refused(position):
    with pytest.raises(BoardError):
        describe_position(trained(), position)


@pytest.mark.parametrize("text", ["XXXXX/OOOOO/...../...../.....", "XX.../...../...../...../....."])
def test_so_they_are_on_a_grown_board(text):
    run = trained("td", 50, board="5x5x5", batch=1)
    for position in (text, run.board.encode(tuple(".XO".index(mark) for mark in text.replace("/", "")))):
        with pytest.raises(BoardError, match="position"):
            describe_position(run, position)


@pytest.mark.slow
def test_a_position_as_networks_see_it(pattern_run: PatternRun) -> None:
    found = describe_position(pattern_run, "X.../.O../..../....", symmetric=True)
    values = pattern_run.move_values(found.position)
    assert {move.cell: move.value for move in found.moves} == pytest.approx(values)
    assert found.value == max(values.values())
    picked = [move.cell for move in found.moves if move.probability]
    assert picked == pattern_run.candidates(found.position)
    assert found.images is not None and {image.value for image in found.images} == {found.value}
    assert found.to_dict().keys() == KEYS
    text = show_text(found)
    assert "visits" not in text and "has a row" not in text and "truth   a draw in 14 plies with best play" in text


@pytest.mark.sampled(1)
@pytest.mark.parametrize("board", ["3x3", "3x3-misere", "2x4x3", "3x4x3"])
def test_networks_show_the_truth_that_tables_show(board: str) -> None:
    """Of a position, its moves, best play and images; on boards kept with and without symmetry."""
    networks = ttt.train(32, learner="patterns", board=board, prove_every=0, tuples="segments:2")
    table = trained(board=board)
    for marks in some_positions(networks.board, 40):
        found, known = describe_position(networks, marks), describe_position(table, marks)
        assert (found.truth, found.line) == (known.truth, known.line)
        assert [(move.cell, move.truth, move.keeps, move.best) for move in found.moves] == [
            (move.cell, move.truth, move.keeps, move.best) for move in known.moves
        ]
        assert networks.true_value(marks) == table.true_value(marks)
        if found.player is not None:
            picked = [move for move in found.moves if move.probability]
            assert found.keeps == pytest.approx(sum(move.probability for move in picked if move.keeps))
            assert [move.cell for move in picked] == networks.candidates(marks)
            assert describe_position(networks, marks, ties="soonest").moves == found.moves, "ties make no difference"


@pytest.mark.slow
@pytest.mark.parametrize(("games", "seed"), [(32, 1), (2000, 1), (4000, 2)])
def test_evaluate_says_of_networks_what_show_does(games: int, seed: int) -> None:
    """A seat is unbeatable if and only if no move picked there, in any game, is a true loss."""
    run = ttt.train(games, learner="patterns", board="3x3", prove_every=500 if games > 500 else 0, seed=seed)
    found = ttt.evaluate(run, games=10).to_dict()
    for seat, name in enumerate(("first", "second")):
        seen, stack, lost = set(), [(0,) * 9], False
        while stack:
            marks = stack.pop()
            if marks in seen or run.board.outcome(marks):
                continue
            seen.add(marks)
            shown = describe_position(run, marks)
            if shown.player == seat:
                picked = [move for move in shown.moves if move.probability]
                lost |= any(move.truth.seen_by(seat).result < 0 for move in picked)
                stack += [run.board.after(marks, move.cell) for move in picked]
            else:
                stack += [run.board.after(marks, move.cell) for move in shown.moves]
        assert found["unbeatable"][name] is not lost
        assert (found["losing_line"][name] is None) is not lost


def test_networks_know_the_results_of_finished_games(pattern_run: PatternRun) -> None:
    for moves, value, result in (("a1 a2 b1 b2 c1 c2 d1", -1, 1), ("a1 a2 b1 b2 c1 c2 a4 d2", -1, -1)):
        found = describe_position(pattern_run, moves)
        assert found.value == value and found.truth is not None and found.truth.result == result and not found.moves
    win = describe_position(pattern_run, "a1 a2 b1 b2 c1 c2", ties="soonest")
    assert [move.name for move in win.moves if move.probability] == ["d1"] and win.value == 1


def test_networks_of_64_cells_have_positions() -> None:
    run = ttt.train(32, learner="patterns", board="8x8x5", tuples="lines", prove_every=0)
    found = describe_position(run, "a1 h8")
    assert len(found.moves) == 62 and "64 " not in show_text(found)
    assert found.truth is None and found.line is None and run.true_moves("a1 h8") is None
    assert "not known: the board is too large to enumerate" in show_text(found)


@pytest.mark.slow
def test_where_marks_fall_a_search_knows_the_truth_late_in_a_game() -> None:
    with at_board("two-ply", "7x8x4-gravity") as agent:
        unknown = describe_position(agent, "d d d")
    assert unknown.truth is None and unknown.line is None and unknown.keeps is None
    assert "not known: a search of 6,000,000 positions does not find it" in " ".join(show_text(unknown).split())
    with at_board("two-ply", "connect4") as agent:
        early, late = (describe_position(agent, moves) for moves in ("d d d c", "d d d d d c e e c c g"))
    assert early.truth == (1, None) and early.line is None and 0 < (early.keeps or 0) < 1
    assert not any(move.best for move in early.moves) and early.to_dict()["best"] is None
    assert "X wins with best play; how soon takes a longer search" in " ".join(show_text(early).split())
    assert late.truth == (-1, 29) and [move.name for move in late.moves if move.best] == ["f6"] and late.keeps == 1
    assert {move.name: move.truth for move in late.moves if move.name != "f6"} == dict.fromkeys(
        ("d1", "c3", "e4", "g5", "a6", "b6"), (1, 2)
    )
    assert late.line is not None and len(late.line) == 29
    position = late.position
    for cell in late.line:
        position = agent.board.after(position, cell)
    assert agent.board.outcome(position) == SECOND_WINS
