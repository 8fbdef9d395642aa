"""The configuration: what was given as text is held as objects, and written as the same text."""

import inspect
import json
from dataclasses import fields, replace

import pytest

import ttt_batch as ttt
from ttt_batch.games.board import Board
from ttt_batch.learners.base import OwnNumbers
from ttt_batch.runs.config import DEFAULTS, Config, config_from_dict, make_config
from ttt_batch.runs.options import EXPONENTIAL, OWN, VISITS, LearnerOptions, Options, Schedule

GIVEN = {"board": "3X4x3-misere", "epsilon": "30%->0.01:EXP", "alpha": "1/n^0.8", "draw_worth": "0.2,0.7"}
WRITTEN = {
    "board": "3x4x3-misere",
    "learner": "td",
    "epsilon": "0.3->0.01:exp",
    "alpha": "1/n^0.8",
    "gamma": 1.0,
    "draw_worth": [0.2, 0.7],
    "batch": "auto",
    "engine": "walk",
    "seed": 7,
    "horizon": 90,
    "start": "",
    "opponent": "",
    "seat": "",
    "symmetry": False,
}


@pytest.fixture
def config() -> Config:
    return make_config(**GIVEN, seed="7", horizon=90)


def test_it_holds_what_the_text_stands_for(config: Config):
    assert config.board == Board(3, 4, 3, misere=True)
    assert config.epsilon == Schedule(EXPONENTIAL, 0.3, 0.01)
    assert config.alpha == Schedule(VISITS, 1.0, 1.0, 0.8)


def test_it_is_written_as_text_in_the_order_of_its_fields(config: Config):
    assert json.dumps(config.to_dict()) == json.dumps(WRITTEN)
    assert config.to_report() == WRITTEN
    constant = make_config(epsilon="10%", alpha=0.5)
    assert (constant.to_dict()["epsilon"], constant.to_report()["epsilon"]) == ("0.1", 0.1)


def test_what_is_written_or_held_makes_the_same_again(config: Config):
    assert config_from_dict(WRITTEN) == config
    assert make_config(**{field.name: getattr(config, field.name) for field in fields(config)}) == config


@pytest.mark.parametrize("board", ["7x7x5", "1x37x3", Board(8, 8, 5, misere=True)])
def test_boards_without_tables_are_refused_in_one_line(board: Board | str):
    refusal = r"^board \S+ has \d\d cells; tables by position take at most 36: choose a smaller board, or networks: "
    refusal += r"train\(learner='patterns'\)$"
    with pytest.raises(ttt.BoardError, match=refusal):
        make_config(board=board)
    name = board if isinstance(board, str) else board.name
    with pytest.raises(ttt.RunFileError, match="tables by position take at most 36"):
        config_from_dict({**WRITTEN, "board": name})
    assert make_config(board="6x6x5").board.cells == 36


def test_a_held_schedule_is_checked_like_a_written_one(config: Config):
    with pytest.raises(ttt.UsageError, match=r"epsilon '1/n\^0.8': only alpha can depend on visits"):
        make_config(epsilon=config.alpha)


def test_older_files_may_lack_the_newer_keys(config: Config):
    plain = make_config()
    oldest = {name: value for name, value in plain.to_dict().items() if name in list(WRITTEN)[:9]}
    assert config_from_dict(oldest) == plain
    with pytest.raises(ttt.RunFileError, match="board is missing"):
        config_from_dict({name: value for name, value in oldest.items() if name != "board"})
    with pytest.raises(ttt.RunFileError, match="not written as this version writes it"):
        config_from_dict({**plain.to_dict(), "board": "3X3"})


def test_every_option_is_a_field_and_has_a_default():
    assert Options.__annotations__.keys() <= {field.name for field in fields(Config)}
    assert list(OWN) == [field.name for field in fields(OwnNumbers)]
    assert make_config() == make_config(**DEFAULTS) == make_config(**dict.fromkeys(Options.__annotations__))
    assert replace(make_config(), seed=3) == make_config(seed=3)


@pytest.mark.parametrize(("function", "options"), [(ttt.train, Options), (ttt.learn_from, LearnerOptions)])
def test_public_functions_show_name_and_check_their_options(function, options):
    parameters = inspect.signature(function).parameters
    assert options.__annotations__.keys() <= parameters.keys()
    assert not any(given.kind is given.VAR_KEYWORD for given in parameters.values())
    assert not [name for name in options.__annotations__ if name not in function.__doc__]
    with pytest.raises(TypeError, match=r"\(\) got an unexpected keyword argument 'epsilom'; did you mean 'epsilon'\?"):
        function(["4 0 8 2 6"] if function is ttt.learn_from else 10, learner="td", epsilom=0.2)


def test_an_option_of_the_training_is_suggested_too():
    with pytest.raises(TypeError, match=r"train\(\) got an unexpected keyword argument 'overwrit'; .* 'overwrite'"):
        ttt.train(10, overwrit=True)  # type: ignore[call-arg]
