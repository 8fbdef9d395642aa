"""Settings and seeds: the configurations are those of `train`, and nothing is lost when a design is extended."""

import itertools
import random

import pytest

import ttt_batch as ttt
from ttt_batch.core.errors import BoardError, RunFileError, UsageError
from ttt_batch.core.text import LEARNER_NAMES
from ttt_batch.studies.designs.design import DEFAULT_SEEDS, OPTION_NAMES, make_design
from ttt_batch.studies.designs.methods import TALLY
from ttt_batch.studies.designs.values import TABLE_OPTIONS
from ttt_batch.studies.study import Execution, StudyOptions
from ttt_batch.training.plan import make_plan
from ttt_batch.training.trainers.base import check_opponent

LISTS = {
    "learner": [None, *LEARNER_NAMES, "TD"],
    "board": [None, "3x3", "3x4", "4x4x4", "5x5", "3x3-misere"],
    "symmetry": [None, "on", False, "auto"],
    "engine": [None, "walk", "flow"],
    "opponent": [None, "random", "optimal"],
    "seat": [None, "first", "O", "both"],
    "batch": [None, 1, "auto", "10k"],
    "epsilon": [None, "5%", 0, "0.3->0.01:linear"],
    "alpha": [None, 0.25, "1/n^0.8", "0.5->0.1:exp"],
    "gamma": [None, 0.9],
    "draw_worth": [None, (0.5, 0.5), "1,0"],
    "games": [None, 2, "1M"],
}


def test_type_checkers_know_every_option():
    assert StudyOptions.__annotations__.keys() - Execution.__annotations__.keys() == {*OPTION_NAMES, TALLY}


def train_config(options, seed):
    """The configuration and games that `train` has, or None if it refuses."""
    options = {name: value for name, value in options.items() if value is not None}
    opponent, seat, games = (options.pop(name, None) for name in ("opponent", "seat", "games"))
    way = {"start": None, "opponent": opponent, "seat": seat, "trust": False, "fork": False}
    options |= {"seed": seed, "points": 8}  # a study records as many on every board
    try:
        plan = make_plan(options, way, games)
        if plan.opponent is not None:  # `train` does so by `policy_of_opponent`, which also enumerates the board
            check_opponent(plan.opponent, plan.config)
    except UsageError:
        return None
    return plan.config, plan.total


@pytest.mark.slow
def test_every_combination_is_that_of_train():
    """1,500 drawn ones, each alone: the same configuration, or refused by both."""
    draw, refused = random.Random(19), 0
    for seed in range(1500):
        options = {name: draw.choice(values) for name, values in LISTS.items()}
        expected = train_config(options, seed)
        if expected is None:
            refused += 1
            with pytest.raises(UsageError):
                make_design(options, [seed])
            continue
        (setting,) = make_design(options, [seed]).settings
        assert setting.config.seed == 0
        assert (setting.config_for(seed), setting.games) == expected
        assert setting.plan_opponent == options["opponent"]
    assert 300 < refused < 1200


def test_a_grid_is_every_combination():
    lists = {
        "learner": ["td", "minimax-q"],
        "board": ["3x3", "5x5"],
        "symmetry": ["on", "auto"],
        "batch": [1, "auto"],
        "epsilon": ["0.3->0.01:linear", 0.1],
        "alpha": ["1/n", 0.2],
        "draw_worth": [(0.5, 0.5), (1, 0.25)],
        "games": [2, 7],
    }
    design = make_design(lists, 3)
    expected = [train_config(dict(zip(lists, values, strict=True)), 5) for values in itertools.product(*lists.values())]
    assert [(setting.config_for(5), setting.games) for setting in design.settings] == list(dict.fromkeys(expected))
    assert design.seeds == (0, 1, 2) and design.learners == 3 * len(design.settings)
    assert len({setting.key for setting in design.settings}) == len(design.settings)


def test_one_at_a_time_varies_one_option_around_the_first_values():
    design = make_design({"alpha": [0.1, 0.2, 0.3], "learner": ["td", "minimax-q"], "games": 5}, 1, "one at a time")
    found = [(setting.config.learner, setting.config.alpha.start) for setting in design.settings]
    assert found == [("td", 0.1), ("minimax-q", 0.1), ("td", 0.2), ("td", 0.3)]


def test_axes_are_the_options_given_that_differ():
    design = make_design({"learner": "td,minimax-q", "alpha": "0.1,1/n", "draw_worth": "1,0; 1,0", "gamma": 1})
    assert design.axes == {"learner": ("td", "minimax-q"), "alpha": (0.1, "1/n")}
    assert make_design({}).axes == {} and len(make_design({}).seeds) == DEFAULT_SEEDS
    assert list(design.settings[0].written) == list(TABLE_OPTIONS)


def test_equal_settings_are_one():
    assert len(make_design({"symmetry": "auto,off", "alpha": "0.1,10%,1/n", "seat": None}).settings) == 2


def test_a_key_is_of_all_but_the_seed_and_stays():
    first, second = make_design({"games": "10,20", "epsilon": 0.1}).settings
    assert first.config == second.config and first.key != second.key
    assert first.key == make_design({"games": 10, "epsilon": "10%"}, [9]).settings[0].key
    assert first.key == "9ec8e5408de523e4", "a study's file holds it: another key would learn everything once more"


@pytest.mark.sampled(12)
@pytest.mark.parametrize(
    ("options", "seeds", "sweep", "message"),
    [
        ({"engine": "walk,flow", "batch": "auto,1"}, 1, "grid", r"^engine flow, batch 1: batch 1 belongs to engine="),
        ({"engine": "flow,walk", "batch": "1"}, 1, "grid", "^engine flow: batch 1 belongs"),
        ({"engine": "walk", "batch": ["auto", 10**15]}, 1, "grid", "^batch 1_000_000_000_000_000: batch 1,000"),
        ({"seat": "first"}, 1, "grid", "^seat 'first' needs an opponent"),
        ({"seat": "first", "opponent": "random,self"}, 1, "grid", "^opponent self: seat 'first' needs an opponent"),
        ({"board": "3x3,5x5", "opponent": "optimal"}, 1, "grid", r"^an opponent that is not .*; 5x5x5 is too large"),
        ({"board": "3x3,7x7"}, 1, "grid", "^board 7x7x7 has 49 cells"),
        ({"board": "3x3,5x5", "learner": "menace"}, 1, "grid", "^menace is not applicable to 5x5x5: its boxes"),
        ({"engine": "given"}, 1, "grid", "unknown engine 'given'"),
        ({"alpa": 1}, 1, "grid", r"unknown option 'alpa' \(did you mean alpha\?\)"),
        ({"seed": 1}, 1, "grid", "unknown option 'seed'"),
        ({}, 1, "some", "unknown sweep 'some'; choose grid or one-at-a-time"),
        ({"alpha": "0.1..1:400", "gamma": "0..1:251"}, 1, "grid", "100,400 settings are too many"),
        ({"alpha": "0.1..1:60000", "gamma": "0..1:60000"}, 1, "one-at-a-time", "119,999 settings are too many"),
        ({"alpha": "0.1..1:1000"}, 10_001, "grid", "10,001,000 learners; a study has at most 10,000,000"),
        (dict.fromkeys(("alpha", "epsilon", "gamma", "draw_worth"), "0.1..1:10000"), 1, "grid", "1e.16 settings"),
        ({"alpha": "0.1..1:1000"}, "0..999999999", "grid", "seeds has 1,000,000,000 values"),
    ],
    ids=str,
)
def test_refusals(options, seeds, sweep, message):
    with pytest.raises(UsageError, match=message) as error:
        make_design(options, seeds, sweep)
    assert len(str(error.value)) < 300


def test_a_run_as_opponent(trained):
    one, other = trained(1), trained(2)
    design = make_design({"opponent": ["self", one, other], "board": "3x3"}, 2)
    digests = [setting.config.opponent for setting in design.settings]
    assert digests[0] == "" and len(set(digests)) == 3
    assert [setting.plan_opponent for setting in design.settings] == [None, one, other]
    run = ttt.train(2, opponent=one, seed=4)
    assert make_design({"opponent": one, "games": 2}).settings[0].config_for(4) == run.config
    with pytest.raises(UsageError, match=r"^the opponent plays 3x3, not 3x4x3"):
        make_design({"opponent": one, "board": "3x3,3x4"})
    (setting,) = make_design({"opponent": one, "symmetry": "on"}).settings
    assert setting.plan_opponent == one and setting.config.symmetry and not one.config.symmetry


@pytest.mark.parametrize("learner", ["td", "menace"])
def test_a_built_in_agent_as_opponent(learner):
    """The configuration is that of `train`, and the file of the study names the agent."""
    options = {"learner": learner, "opponent": "one-ply", "games": 2}
    (setting,) = make_design(options).settings
    assert setting.config_for(4) == ttt.train(2, learner=learner, opponent="one-ply", seed=4).config
    assert setting.written["opponent"] == "one-ply"
    with pytest.raises(BoardError, match=r"^an agent to train against, .* needs an enumerated board; 5x5x5 is"):
        make_design({"opponent": "two-ply", "board": "3x3,5x5"})


def test_a_design_is_extended_and_keeps_the_places():
    design = make_design({"alpha": "0.2,0.1", "epsilon": 0.1}, "3,4")
    more = design.extended(seeds=6, alpha="0.1,0.15,0.2", gamma=[0.9, 1])
    assert more.seeds == (3, 4, 0, 1, 2, 5)
    assert more.settings[:2] == design.settings and len(more.settings) == 6
    assert more.axes == {"alpha": (0.2, 0.1, 0.15), "gamma": (1.0, 0.9)}
    assert design.extended() == design
    assert set(more.settings) == set(make_design({"alpha": "0.1,0.15,0.2", "epsilon": 0.1, "gamma": "0.9,1"}).settings)
    again = more.extended(alpha="0.1..0.3:5")
    assert again.settings[:6] == more.settings and len(again.settings) == 10
    assert again.in_order([setting.key for setting in again.settings[::-1]]).settings == again.settings[::-1]


def test_one_at_a_time_is_extended_to_a_grid():
    design = make_design({"alpha": "0.1,0.2", "gamma": "1,0.9"}, 1, "one-at-a-time")
    assert len(design.settings) == 3
    more = design.extended(sweep="grid")
    assert more.settings[:3] == design.settings and len(more.settings) == 4
    with pytest.raises(UsageError, match=r"^s\.h5 studies 1 setting that would be left out, among them learner td"):
        more.extended(name="s.h5", sweep="one-at-a-time")


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"alpha": 0.2}, "steps.h5 studies alpha 0.05, 0.1; 0.2 alone would leave some out"),
        ({"alpha": "0.1"}, "steps.h5 studies alpha 0.05, 0.1; 0.1 alone would leave some out"),
        ({"seeds": 99}, "steps.h5 studies seeds 0..99; 0..98 alone would leave some out"),
        ({"seeds": "5,7"}, "steps.h5 studies seeds 0..99; 5, 7 alone would leave some out"),
        ({"games": "1k"}, "steps.h5 studies games 100_000, 1_000_000; 1_000 alone would leave some out"),
        ({"board": "4x4x4"}, "steps.h5 studies board 3x3; 4x4x4 alone would leave some out"),
        ({"symmetry": "on"}, "steps.h5 studies symmetry off; on alone would leave some out"),
        ({"opponent": "random"}, "steps.h5 studies opponent self; random alone would leave some out"),
        ({"learner": "td"}, "steps.h5 studies learner sutton-barto, td; td alone would leave some out"),
        ({"epsilon": "0.1..0.9:9"}, "; 0.1, 0.2, 0.3, 0.4, ..., 0.9 alone would leave some out"),
        ({"alpa": 0.1}, "unknown option 'alpa'"),
        ({"seeds": 10**8}, "seeds 100,000,000 is outside"),
        ({"alpha": "0.05,0.1,0.2..0.9:1000", "gamma": "0.1..1:1000"}, "2,004,000 settings are too many"),
        ({"seeds": 10**7}, "4 settings with 10,000,000 seeds are 40,000,000 learners"),
    ],
)
def test_an_extension_that_leaves_some_out_is_refused(given, message):
    design = make_design({"learner": "sutton-barto,td", "alpha": "0.05,0.1"}, 100)
    with pytest.raises(UsageError) as error:
        design.extended(name="steps.h5", **given)
    assert message in str(error.value)


def test_keys_of_another_design_are_refused():
    design = make_design({"alpha": "0.1,0.2"}, 1)
    keys = [setting.key for setting in design.settings]
    for wrong in ([], keys[:1], [*keys, keys[0]], [keys[0], keys[0]], [keys[0], "0" * 16]):
        with pytest.raises(RunFileError, match="differ from those of its description"):
            design.in_order(wrong)
