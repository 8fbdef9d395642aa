"""Learners of a study learn byte for byte what `train` learns, in one kernel or not."""

import random
from typing import Any

import numpy as np
import pytest

import ttt_batch as ttt
from ttt_batch.studies import work
from ttt_batch.studies.designs.design import make_design
from ttt_batch.studies.designs.methods import Setting
from ttt_batch.studies.work import Worker, is_short

VALUES: dict[str, list[Any]] = {
    "batch": ["auto", 64, 1000, 1, 16_384],
    "engine": ["walk", "walk", "flow"],
    "epsilon": [None, 0.1, 0.3, "0.5->0.01:linear", "0.3->0.05:exp"],
    "alpha": [None, 0.2, "1/n", "0.3->0.01:linear", "1/n^0.8"],
    "board": ["3x3", "3x3", "3x3", "2x3x2", "3x3-misere"],
    "gamma": [None, 0.9],
    "draw_worth": [None, "0.1,0.2"],
    "opponent": ["self", "self", "random", "optimal", "two-ply"],
    "symmetry": [None, None, "on"],
    "games": [1, 500, 3_000, 20_000],
}


def drawn(chance: random.Random, **fixed: Any) -> dict[str, Any] | None:
    """Options of a setting; None if a learner cannot have them together."""
    options = {name: chance.choice(values) for name, values in VALUES.items()} | fixed
    if options["opponent"] == "self":
        del options["opponent"]
    else:
        options["seat"] = chance.choice(["first", "second", "both"])
    given = {name: value for name, value in options.items() if value is not None}
    try:
        make_design({name: [value] for name, value in given.items()}, 1)
    except ttt.TttBatchError:
        return None
    return given


def setting_of(options: dict[str, Any]) -> Setting:
    (setting,) = make_design({name: [value] for name, value in options.items()}, 1).settings
    return setting


def assert_as_train(room: Worker, options: dict[str, Any], seeds: list[int]) -> None:
    learnt = room.learn(setting_of(options), seeds)
    assert learnt.failure is None and learnt.learners == len(seeds)
    for i, seed in enumerate(seeds):
        run = ttt.train(seed=seed, **options)
        for name, column in run.statistics.items():
            if name not in ("games", "seconds"):
                assert column.tobytes() == learnt.statistics[name][i].tobytes(), (name, options, seed)
        assert learnt.statistics.keys() == run.statistics.keys() - {"games"}
        tables = run.tables._asdict() | ({"visits": run.visits} if run.visits.size else {})
        assert tables.keys() == learnt.tables.keys()
        for name, array in tables.items():
            assert array.tobytes() == learnt.tables[name][i].tobytes(), (name, options, seed)


def room() -> Worker:
    return Worker(keep=True, stop=lambda: False)


@pytest.mark.parametrize("count", [12, pytest.param(300, marks=pytest.mark.slow)])
def test_learners_are_those_of_train(count: int) -> None:
    """All in one room, so that whatever one learner leaves there would show in the next."""
    chance, classroom, ways = random.Random(count), room(), set()
    learners = ["td"] if count < 100 else list(ttt.LEARNERS)
    while count:
        options = drawn(chance, learner=chance.choice(learners))
        if options is not None and not (len(learners) == 1 and options.get("engine") == "flow"):
            assert_as_train(classroom, options, [chance.randrange(2**63), 3, 5][: chance.randrange(1, 4)])
            ways.add(is_short(setting_of(options)))
            count -= 1
    assert ways == {False, True}


def test_the_order_of_seeds_and_settings_does_not_show() -> None:
    settings = [setting_of({"batch": 64, "games": 700, "alpha": alpha}) for alpha in (0.2, 0.5)]
    alone = [[room().learn(setting, [seed]).statistics for seed in (0, 1)] for setting in settings]
    shared = room()
    for i, seed in ((1, 1), (0, 0), (0, 1), (1, 0), (1, 1)):
        found = shared.learn(settings[i], [seed]).statistics
        for name, column in alone[i][seed].items():
            assert name == "seconds" or column.tobytes() == found[name].tobytes()


def test_growing_boards_have_what_train_has() -> None:
    learnt = room().learn(setting_of({"board": "4x5x4", "games": 30}), [5])
    run = ttt.train(30, board="4x5x4", seed=5)
    assert learnt.statistics["positions"][0].tolist() == run.statistics["positions"].tolist()
    assert learnt.tables["value"][0].tobytes() == run.tables.value.tobytes()


def test_seconds_are_those_of_the_whole_run() -> None:
    seconds = room().learn(setting_of({"batch": 64, "games": 700}), [0, 1]).statistics["seconds"]
    assert np.isnan(seconds[:, :-1]).all() and (seconds[:, -1] > 0).all()


def test_a_learner_that_fails_ends_its_chunk_and_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    classroom, calls = room(), []

    def learn(setting: Setting, seeds: list[int]) -> Any:
        calls.extend(seeds)
        if 2 in seeds:
            raise MemoryError
        return {"outcomes": np.zeros((1, 1, 3), np.int64)}, {}

    monkeypatch.setattr(work, "LEARNERS_AT_ONCE", 1)
    monkeypatch.setattr(classroom, "_in_kernel", learn)
    learnt = classroom.learn(setting_of({"batch": 64, "games": 64}), [1, 2, 3])
    assert (learnt.learners, calls) == (1, [1, 2])
    assert learnt.failure == "not enough memory for this board or batch; choose a smaller one"


def test_it_stops_between_kernels(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(work, "LEARNERS_AT_ONCE", 1)
    answers = iter([False, False, True])
    learnt = Worker(keep=False, stop=lambda: next(answers)).learn(setting_of({"batch": 64, "games": 64}), [1, 2, 3])
    assert learnt.learners == 2 and learnt.failure is None and learnt.tables == {}
