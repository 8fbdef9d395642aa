"""The textbook's rules: what they equal at their limits, pooled formulas by hand, and that pooling expects the same."""

import importlib
import math
import random
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
from helpers.support import Subject
from oracle import naive
from oracle import textbook as naive_textbook
from oracle.boards import action_values

import ttt_batch as ttt
from ttt_batch.core.errors import UsageError
from ttt_batch.core.text import TEXTBOOK
from ttt_batch.learners import LEARNERS
from ttt_batch.learners.base import Settings

REPLIED = ["0 3 1 4 2", "0 3 1 4 2", "0 3 1 5 2", "0 4 1 3 2", "0 3 2 4 1"]
"""Five games that the first player wins with its third move, after replies that part ways."""


def action(cells: str) -> tuple[int, int]:
    """The action, as the oracle names it, that is the last of these moves."""
    *before, cell = (int(word) for word in cells.split())
    return sum((1 + number % 2) * 3**at for number, at in enumerate(before)), cell


def edge_of(subject: Subject, cells: str) -> int:
    """The edge of the last of these moves, each played in turn."""
    return list(action_values(subject)).index(action(cells))


# --- what a batch means, by hand


def sarsa_with(values: dict[str, float], name: str = "sarsa", **changes: Any) -> Subject:
    subject = Subject(name, alpha=1.0, gamma=0.5, **changes)
    for cells, value in values.items():
        subject.tables.q[edge_of(subject, cells)] = value
    return subject


VALUES = {"0 3 1": 0.4, "0 3 2": 0.8, "0 3 4": -0.2, "0 4 1": 0.2, "0 3 1 4 2": 0.6, "0 3 1 4 5": 0.9}


@pytest.mark.slow
def test_sarsa_pools_replies_and_own_moves() -> None:
    """With a step size of 1 a move holds its target: 4 replies of 5 are 3, where 3 moves of 4 are 1."""
    subject = sarsa_with(VALUES)
    subject.fold(REPLIED)
    q = subject.tables.q
    after_3, after_4 = 0.75 * 0.4 + 0.25 * 0.8, 0.2
    assert q[edge_of(subject, "0")] == pytest.approx(0.5 * (0.8 * after_3 + 0.2 * after_4))
    assert q[edge_of(subject, "0 3 1")] == pytest.approx(0.5 * (2 / 3 * 0.6 + 1 / 3 * 0.0))  # after reply 5 it is 0
    assert q[edge_of(subject, "0 3 1 4 2")] == 1.0 and q[edge_of(subject, "0 3 1 4")] == -1.0


@pytest.mark.slow  # kernels of three learners more
@pytest.mark.parametrize(
    ("name", "after_3", "after_4", "changes"),
    [
        ("q-learning", 0.8, 0.2, {}),
        # Seven moves, of which one is best; the sums of all values are 1 and 0.2.
        ("expected-sarsa", 0.7 * 0.8 + 0.3 / 7 * 1.0, 0.7 * 0.2 + 0.3 / 7 * 0.2, {"epsilon": 0.3}),
        ("expected-sarsa", 0.8, 0.2, {"epsilon": 0.0}),
    ],
)
def test_others_pool_replies_alone(name: str, after_3: float, after_4: float, changes: dict[str, Any]) -> None:
    subject = sarsa_with(VALUES, name, **changes)
    subject.fold(REPLIED)
    assert subject.tables.q[edge_of(subject, "0")] == pytest.approx(0.5 * (0.8 * after_3 + 0.2 * after_4))


@pytest.mark.slow
def test_the_other_table_says_what_the_best_move_is_worth() -> None:
    oracle = naive_textbook.DoubleQ(naive.Board(), coins=lambda game: 0)
    position = oracle.board.empty
    for cell, (one, other) in enumerate([(0.1, 0.9), (0.7, 0.3), (0.7, 0.8)]):
        oracle.pair[0][0, cell], oracle.pair[1][0, cell] = one, other
    assert oracle.turn(oracle.pair[0], position, []) == 0.3  # the first of equals
    assert oracle.candidates(position) == [2]  # by the sum


@pytest.mark.slow
def test_the_coin_is_fair_and_of_seed_and_game_alone() -> None:
    subject, changed = Subject("double-q", seed=4, alpha=1.0), []
    for _ in range(400):
        subject.tables.q[:] = 0.25
        subject.learn(["0 3 1 4 2"])
        changed.append(int(np.flatnonzero((subject.tables.q != 0.25).any(axis=1))[0]))
        assert (subject.tables.q != 0.25).any(axis=1).sum() == 1
    assert 140 < sum(changed) < 260  # six standard deviations
    again = Subject("double-q", seed=4)
    again.games = 7
    again.learn(["0 3 1 4 2"])
    assert (again.tables.q[changed[7]] != 0).any() and not again.tables.q[1 - changed[7]].any()


# --- the limits of lambda


@pytest.fixture
def monte_carlo(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The learner of the example, whatever it is registered as."""
    monkeypatch.syspath_prepend(str(Path(__file__).parents[2] / "scripts" / "examples"))
    return importlib.import_module("own_learner").MONTE_CARLO


@pytest.mark.slow  # kernels of a learner from outside are compiled every time
def test_lambda_1_is_every_visit_monte_carlo(monte_carlo: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(LEARNERS, monte_carlo.name, monte_carlo)
    for batch in (1, 64):
        options: dict[str, Any] = {"batch": batch, "seed": 2, "epsilon": 0.2, "alpha": 0.05, "symmetry": "off"}
        theirs = ttt.train(6_400, learner=monte_carlo.name, **options)
        ours = ttt.train(6_400, learner="td-lambda", lambda_=1, **options)
        assert ours.tables.value.tobytes() == theirs.tables.value.tobytes()


def test_lambda_0_is_td_0() -> None:
    board, rng = naive.Board(), random.Random(3)
    oracle = naive_textbook.TDLambda(board, alpha=0.3, gamma=0.9, lambda_=0.0)
    values: dict[int, float] = {}
    for _ in range(300):
        moves = oracle.play(rng, 0.4)
        steps, before = oracle.replay(moves), dict(values)
        for step in steps:
            s = board.code(step.position)
            assert step.after is not None
            ended = board.outcome(step.after)
            after = before.get(board.code(step.after), 0.0)
            target = oracle.result(ended) if ended != naive.UNFINISHED else 0.9 * after
            values[s] = before.get(s, 0.0) + 0.3 * (target - before.get(s, 0.0))
        oracle.learn(moves)
    assert {s: oracle.V[s] for s in values} == values and len(values) > 500


# --- pooling expects what games one by one do

BOARD = naive.Board(2, 3, 3)
GAMES, BATCHES = 6, 800


def per_game(oracle: Any, games: list[naive.Moves]) -> dict[Any, float]:
    """For each entry the sum over the visits of a batch of what each game alone would give it."""
    found: dict[Any, float] = {}
    for moves in games:
        steps = oracle.replay(moves)
        if isinstance(oracle, naive_textbook.TDLambda):
            for step, target in zip(steps, oracle.returns(steps), strict=True):
                if not (oracle.cut and step.exploratory):
                    s = oracle.board.code(step.position)
                    found[s] = found.get(s, 0.0) + target
            continue
        final, Q = steps[-1].after, oracle.learning()
        for t, step in enumerate(steps):
            target = oracle.worth(oracle.board.outcome(final), naive.mover(step.position))
            if t + 2 < len(steps):
                later = steps[t + 2]
                target = oracle.gamma * oracle.turn(Q, later.position, [(later.cell, 1)])
            key = oracle.board.code(step.position), step.cell
            found[key] = found.get(key, 0.0) + target
    return found


def pooled(oracle: Any, games: list[naive.Moves], fold: Any) -> dict[Any, float]:
    """For each entry its visits in a batch times its target; fold: does what a batch means, with a step size of 1."""
    tally, found = oracle.tally(games), {}
    table = oracle.V if isinstance(oracle, naive_textbook.TDLambda) else oracle.learning()
    kept = dict(table)
    fold(oracle, games)
    for position in tally.visits:
        if oracle.board.outcome(position) != naive.UNFINISHED:
            continue
        s = oracle.board.code(position)
        if isinstance(oracle, naive_textbook.TDLambda):
            if n := tally.leaving(position, exploring=not oracle.cut):
                found[s] = n * table[s]
        else:
            found |= {(s, cell): n * table[s, cell] for cell, n in tally.edges(position)}
    table.clear()
    table.update(kept)
    return found


def worst_score(oracle: Any, fold: Any) -> float:
    """By how many standard errors the sums over many batches differ at most, over the entries visited often."""
    rng = random.Random(5)
    sums: dict[Any, list[float]] = {}
    for _ in range(BATCHES):
        games = [oracle.play(rng, 0.5) for _ in range(GAMES)]
        one, other = per_game(oracle, games), pooled(oracle, games, fold)
        assert one.keys() == other.keys()
        for key in one:
            sums.setdefault(key, []).append(other[key] - one[key])
    scores = []
    for differences in sums.values():
        if len(differences) > 100 and (error := np.std(differences) / math.sqrt(len(differences))) > 1e-6:
            scores.append(abs(np.mean(differences)) / error)
    assert len(scores) > 10
    return float(max(scores))


def random_oracle(name: str, **options: Any) -> Any:
    """A learner with a step size of 1 and a random table, which is the policy of all batches."""
    oracle, rng = naive_textbook.LEARNERS[name](BOARD, alpha=1.0, gamma=0.9, **options), random.Random(6)
    table = oracle.V if name == "td-lambda" else oracle.Q
    for position in sorted(BOARD.states()):
        if BOARD.outcome(position) == naive.UNFINISHED:
            for cell in BOARD.legal(position):
                table[BOARD.code(position) if name == "td-lambda" else (BOARD.code(position), cell)] = rng.gauss(0, 1)
    return oracle


POOLED: list[tuple[str, dict[str, Any]]] = [
    ("sarsa", {}),
    ("q-learning", {}),
    ("expected-sarsa", {"epsilon": 0.5}),
    ("td-lambda", {"lambda_": 0.7}),
    ("td-lambda", {"lambda_": 0.7, "cut": True}),
]


@pytest.mark.slow
@pytest.mark.parametrize(("name", "options"), POOLED)
def test_pooling_expects_what_games_one_by_one_do(name: str, options: dict[str, Any]) -> None:
    assert worst_score(random_oracle(name, **options), lambda oracle, games: oracle.fold(games)) < 4.5


class GreedyPooling(naive_textbook.Sarsa):
    """Wrong: of the moves taken at the next turn only the best one counts."""

    def turn(self, Q: Any, position: Any, taken: list[tuple[int, int]]) -> float:
        return max(Q[self.board.code(position), cell] for cell, _ in taken)


class EvenReplies(naive_textbook.Sarsa):
    """Wrong: every reply seen counts alike."""

    def pooled(self, tally: Any, before: Any, position: Any, after: Any) -> float:
        if self.board.outcome(after) != naive.UNFINISHED:
            return super().pooled(tally, before, position, after)
        even = naive.Tally(tally.board, dict.fromkeys(tally.greedy | tally.exploring, 1), {}, {})
        even.visits[after] = len(even.edges(after))
        return super().pooled(even, before, position, after)


@pytest.mark.slow
@pytest.mark.parametrize("wrong", [GreedyPooling, EvenReplies])
def test_wrong_pooling_is_caught(wrong: Any) -> None:
    oracle = random_oracle("sarsa")

    def fold(oracle: Any, games: list[naive.Moves]) -> None:
        oracle.__class__ = wrong
        oracle.fold(games)
        oracle.__class__ = naive_textbook.Sarsa

    assert worst_score(oracle, fold) > 6


# --- options


@pytest.mark.parametrize("name", [name for name, learner in LEARNERS.items() if learner.start_value is not None])
def test_a_start_value_is_where_everything_undecided_starts(name: str) -> None:
    """Whatever the learner's own start holds elsewhere stays."""
    learner = LEARNERS[name]
    own, raised = Subject(name), Subject(name, start_value=0.75)
    for field, before, after in zip(learner.fields, own.tables, raised.tables, strict=True):
        undecided = own.graph.outcome == 0
        if learner.fields[field][0].endswith("E"):
            if LEARNERS[name].temperature is not None:
                continue  # preferences start at 0
            alike = name in TEXTBOOK  # also moves that end the game
            undecided = np.ones(before.shape[-1], bool) if alike else own.graph.outcome[own.graph.child] == 0
        assert (after[..., undecided] == 0.75).all() and (before[..., undecided] == learner.start_value).all()
        assert (after[..., ~undecided] == before[..., ~undecided]).all()


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"learner": "td-lambda", "lambda_": 2}, "lambda 2 is outside 0 to 1; 0.7 is usual"),
        ({"learner": "td-lambda", "lambda_": "x"}, "lambda 'x' is not a number"),
        (
            {"learner": "td", "lambda_": 0.5},
            "lambda_ is not an option of td, only of td-lambda, ntuple-td; leave it out",
        ),
        ({"learner": "sarsa", "cut": True}, "cut is not an option of sarsa, only of td-lambda"),
        ({"learner": "td-lambda", "cut": "maybe"}, "unknown cut 'maybe'"),
        ({"learner": "minimax-q", "start_value": 1}, "whose start values are not a single number"),
        ({"learner": "value-feed", "start_value": 1}, "whose start values are not a single number"),
        ({"learner": "td", "start_value": math.nan}, "start value nan is out of range"),
        ({"learner": "td", "start_value": "1e101"}, "start value 1e.101 is out of range"),
        ({"learner": "ntuple-td", "lambda_": 0.5, "trace": 0.5}, "lambda_ and trace mean the same; leave one out"),
        ({"learner": "patterns", "cut": True}, "cut is for tables of positions"),
    ],
)
def test_what_a_learner_does_not_take_is_refused(options: dict[str, Any], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        ttt.train(1, **options)


def test_options_that_are_not_given_are_not_written() -> None:
    from ttt_batch.runs.config import config_from_dict, make_config

    own = {"start_value", "lambda_", "cut"}
    assert not own & make_config(learner="td").to_dict().keys()
    config = make_config(learner="td-lambda", start_value="0.5", cut="on")
    written = config.to_dict()
    assert {name: written[name] for name in own} == {"start_value": 0.5, "lambda_": 0.7, "cut": True}
    assert config_from_dict(written) == config
    assert config.settings == Settings(0.1, 0.1, 1.0, (0.0, 0.0), 0.5, 0.7, True)


@pytest.mark.slow  # kernels of double-q
def test_two_tables_are_read_by_position(tmp_path: Path) -> None:
    """By h5py alone; and `show` counts the updates of both."""
    run = ttt.train(300, learner="double-q", alpha="1/n", batch=1, seed=1, out=tmp_path / "run.h5")
    with h5py.File(tmp_path / "run.h5") as file:
        first, cell = file["states/first_edge"][:2], file["states/cell"][:]
        visits = file["tables/visits"][:, slice(*first)].sum(axis=0)
        assert file["states/code"][0] == 0 and cell[slice(*first)].tolist() == list(range(9))
    assert visits.sum() == 300
    assert [move.visits for move in ttt.show(run, ".../.../...").moves] == visits.astype(int).tolist()
