"""STUDY.toml: the same design as from options, and errors that name line and key."""

import pytest

from ttt_batch.core.errors import RunFileError, TttBatchError, UsageError
from ttt_batch.studies.designs.description import MAX_BYTES, description_text, parse_description, read_description
from ttt_batch.studies.designs.design import make_design

NAME = "STUDY.toml"


def parse(text, **given):
    return parse_description(text, NAME, **given)


def test_the_same_keys_as_the_options():
    text = """
        learner = "td,sutton-barto"
        alpha = [0.05, 0.1, "0.2..0.4:3"]
        draw-worth = [[0.5, 0.5], "1,0"]   # as on the command line
        batch = ["auto", 16384]
        symmetry = [true, "off"]
        opponent = "random"
        as = "first"
        games = "1M"
        seeds = "5,7"
        sweep = "one-at-a-time"
    """
    options = {
        "learner": ["td", "sutton-barto"],
        "alpha": [0.05, 0.1, 0.2, 0.3, 0.4],
        "draw_worth": "0.5,0.5;1,0",
        "batch": "auto,16384",
        "symmetry": "on,off",
        "opponent": "random",
        "seat": "first",
        "games": 10**6,
    }
    assert parse(text) == make_design(options, [5, 7], "one-at-a-time")
    assert parse(text, seeds=3).seeds == (0, 1, 2)


def test_keys_outside_hold_for_every_grid_that_has_none_of_its_own():
    design = parse("""
        epsilon = 0.2
        games = 9
        [[grid]]
        alpha = "0.1,0.2"
        [[grid]]
        epsilon = [0.2, 0.3]
        alpha = 0.1
    """)
    found = [(setting.config.epsilon.start, setting.config.alpha.start, setting.games) for setting in design.settings]
    assert found == [(0.2, 0.1, 9), (0.2, 0.2, 9), (0.3, 0.1, 9)]
    assert design.axes == {"epsilon": (0.2, 0.3), "alpha": (0.1, 0.2)}


@pytest.mark.sampled(32)
@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "STUDY.toml has no key"),
        ("alpha = 0.1,0.2", r"line 1 (alpha): not valid TOML at column 12: Expected newline"),
        ("\n\nlearner = td\n", r"line 3 (learner): not valid TOML at column 11: Invalid value; text needs quotes"),
        ("seeds = 1\nalpha = '0.1\n\n", "line 2 (alpha): not valid TOML: Expected"),
        ("alpha=0.1\nalpha=0.2", "line 2 (alpha): it is given twice"),
        ("draw_worth=1\ndraw-worth=0", "line 2 (draw-worth): draw_worth and draw-worth mean the same; remove one"),
        ("\nalfa = 0.1", "line 2 (alfa): unknown key 'alfa' (did you mean alpha?)"),
        ("lambda = 2\nlearner = 'td-lambda'", "line 1 (lambda): lambda 2 is outside"),
        ("lambda = 2\nlearner = 'patterns'", "line 1 (lambda): lambda 2 is outside"),
        ("lambda = '0.1..0.5'\nlearner = 'patterns'", "line 1 (lambda): lambda '0.1..0.5' has no number of values"),
        ("games = 3\nlambda = 0.5", "line 2 (lambda): lambda_ is not an option of td, only of td-lambda, ntuple-td"),
        (
            "learner = ['menace', 'td']\n\nbeads = '4,3,2,1'",
            "line 3 (beads): beads is not an option of td, only of menace",
        ),
        ("lambda = 0.5\ntrace = 0.5", "line 2 (trace): lambda and trace mean the same; remove one"),
        ("lambd = 1", "line 1 (lambd): unknown key 'lambd' (did you mean lambda?)"),
        ("as = 'third'", "line 1 (as): unknown seat 'third'"),
        ("as = 'third'\n[[grid]]\ngames = 3", "line 1 (as): unknown seat 'third'"),
        ("digest = 3", "unknown key 'digest'; choose one of: seeds"),
        ("trac = 3", "unknown key 'trac'; choose one of: seeds"),
        ("[settings]\nalpha = 0.1", "line 1 (settings): unknown key 'settings'"),
        ("alpha = 'fast'", "line 1 (alpha): alpha 'fast' is not a number"),
        ("\n'draw_worth' = [0.5, 'x']", "line 2 (draw_worth): draw worth 'x' is not a number"),
        ("alpha = [[[0.1]]]", "line 1 (alpha): alpha has a list or table"),
        ("alpha.from = 1", "line 1 (alpha): alpha has a list or table"),
        ("alpha = 1979-05-27", "line 1 (alpha): alpha datetime.date(1979, 5, 27) is not a number"),
        ("games = inf", "line 1 (games): games inf is not a whole number"),
        ("sweep = 'all of it'", "line 1 (sweep): unknown sweep"),
        ("\nseeds = 10000000000", "line 2 (seeds): seeds 10,000,000,000 is outside"),
        ("seed = 3", "line 1 (seed): a study has many seeds"),
        ("alpha = 0.1\nthreads = 2", "line 2 (threads): threads belongs on the command line, as --threads"),
        ("alpha = 0.1\nfork = true", "line 2 (fork): fork is an option of train, but not of a study"),
        ('learner = "menace"\nbeads = [4, 3, 2, 1]', "line 2 (beads): beads '4' are not four whole numbers"),
        ("grid = 3", "line 1 (grid): it is not a list of grids"),
        ("grid = [3]", "line 1 (grid): it is not a list of grids"),
        ("seeds = 3\n[[grid]]\n", "line 2: this grid has no key"),
        ("[[grid]]\nseeds = 3", "line 2 (seeds): seeds holds for the whole study"),
        ("[[grid]]\n[[grid.grid]]\nalpha = 1", "(grid): grid holds for the whole study"),
        ("grid = [{alpha = 0.1},\n {alpha = 'x'}]", "line 1 (alpha): alpha 'x' is not a number"),
        ("[[grid]]\nalpha = 0.1\n\n[[grid]]\n# one\nalpha = 7", "line 6 (alpha): alpha 7 is outside"),
        ("alpha = 'x'\n[[grid]]\ngames = 3", "line 1 (alpha): alpha 'x' is not a number"),
        ("alpha = 0.1\n[[grid]]\ngames = '''\nalpha = 3\n'''\nboard = 3", "line 6 (board): board 3 is not"),
        ('alpha = """\\\n  0.1"""\n\nepsilon = "x"', "line 4 (epsilon): epsilon 'x' is not a number"),
        ("alpha = [\n 0.1, # 'a\n 0.2]\nepsilon = 'x'", "line 4 (epsilon): epsilon 'x' is not a number"),
        ("\n[[grid]]\nengine = ['walk', 'flow']\nbatch = [1, 'auto']", "line 2: engine flow, batch 1: batch 1 belongs"),
        ("alpha = " + "[" * 100_000, "nested too deep to read"),
        ("a." * 100_000 + "a = 1", "nested too deep to read"),
        ("alpha = " + "{a=" * 50_000, "nested too deep to read"),
        ("games = 1" + "0" * 5000, "a number of more than 4,300 digits"),
        ("alpha = '" + "x" * 900_000 + "'", "line 1 (alpha): alpha 'xxx"),
        ("[[grid]]\nalpha = 0.1\n" * 5000, "STUDY.toml has 5,000 grids"),
        ("[[grid]]\nalpha = '0.1..1:60000'\n" * 900, "120,000 settings are too many"),
        ("digests = 3", "line 1 (digests): it is not a table"),
        ("[digests]\n'td.h5' = 'x'", "line 1 (digests): 'x' is not a digest"),
        ("opponent = 'gone.h5'", "line 1 (opponent): there is no file gone.h5"),
        ("\0", "line 1: not valid TOML"),
    ],
    ids=lambda text: text[:40],
)
def test_errors_name_line_and_key(text, message):
    with pytest.raises(TttBatchError) as error:
        parse(text)
    assert message in str(error.value) and "\n" not in str(error.value)
    assert str(error.value).startswith(NAME) or "settings are" in message
    assert len(str(error.value)) < 400


def test_files_that_are_none(tmp_path):
    path = tmp_path / "S.toml"
    with pytest.raises(RunFileError, match=r"there is no file .*S.toml; check the name"):
        read_description(path)
    with pytest.raises(RunFileError, match=r"cannot read .*: it is a folder; name a file in it"):
        read_description(tmp_path)
    path.write_bytes(b"alpha = '" + b"x" * MAX_BYTES)
    with pytest.raises(UsageError, match=f"S.toml has more than {MAX_BYTES:,} bytes"):
        read_description(path)
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(UsageError, match=r"S.toml is not UTF-8 text"):
        read_description(path)


def test_a_file_as_editors_write_it(tmp_path):
    path = tmp_path / "S.toml"
    path.write_bytes(b"\xef\xbb\xbfalpha = [0.1, 0.2]\r\nseeds = 3\r\n")
    assert read_description(path) == make_design({"alpha": "0.1,0.2"}, 3)


@pytest.mark.parametrize(
    ("options", "seeds", "sweep"),
    [
        ({}, None, "grid"),
        ({"alpha": "0.1,1/n,0.3->0.01:linear", "epsilon": "1e-7..1:3log"}, 3, "grid"),
        ({"draw_worth": "0.5;1,0", "batch": "auto,128", "symmetry": "auto,on"}, "5..5", "one-at-a-time"),
        ({"learner": "td,minimax-q", "board": "3x3,3x4-misere", "games": "10,1M"}, "-3..3,9", "grid"),
        ({"opponent": "self,random", "engine": "flow,walk"}, [2**63 - 1, 0], "grid"),
    ],
)
def test_a_design_as_text_and_back(options, seeds, sweep):
    design = make_design(options, seeds, sweep)
    assert parse(description_text(design)) == design


def test_an_extended_design_as_text_and_back():
    design = parse("[[grid]]\nalpha = [0.1, 0.2]\n[[grid]]\nlearner = 'minimax-q'\nalpha = [0.2, 0.3]\n")
    more = design.extended(seeds="0..199", alpha="0.1,0.2,0.3,0.4", games="5,1M,10M")
    again = parse(description_text(more))
    assert set(again.settings) == set(more.settings) and again != more
    assert again.in_order([setting.key for setting in more.settings]) == more


def test_opponents_are_kept_with_their_digests(tmp_path, trained):
    names = ["r\u00e4v 'al\".h5", "other,one.h5"]
    for seed, name in enumerate(names, 1):
        trained(seed).save(name)
    design = make_design({"opponent": [*names, "self"], "games": 2}, 2)
    text = description_text(design)
    assert parse(text) == design
    for name in names:
        (tmp_path / name).rename(tmp_path / f"moved-{name}")
    again = parse(text)
    assert again == design, "read without the runs"
    with pytest.raises(RunFileError, match="there is no file"):
        _ = again.settings[0].plan_opponent
    moved = again.extended(opponent=[f"moved-{name}" for name in names] + ["self"])
    assert moved == design and moved.settings[0].plan_opponent.config == trained(1).config


def test_a_run_without_a_file_is_written_as_its_digest(trained):
    design = make_design({"opponent": trained(1)}, 1)
    assert design.settings[0].written["opponent"] == design.settings[0].config.opponent
    assert parse(description_text(design)) == design
