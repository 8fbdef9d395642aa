"""Lines that people typed and that name nothing here: each is answered in a line that names the way."""

import io
import os
import re
import shlex
from pathlib import Path

import numpy as np
import pytest
from helpers.support import command

import ttt_batch as ttt
from ttt_batch.app.cli import COMMANDS, program
from ttt_batch.app.commands import usage
from ttt_batch.app.commands.play import NETWORKS

MISUSED = [
    # Options of other programs, and of other commands.
    ("train --episodes 9", "train has no option --episodes; did you mean --games?"),
    ("train --iterations=9", "train has no option --iterations; did you mean --games?"),
    ("train -n 9", "train has no option -n; did you mean --games?"),
    ("train --lr 0.1", "train has no option --lr; did you mean --alpha?"),
    ("train --learning-rate 0.1", "train has no option --learning-rate; did you mean --alpha?"),
    ("train --discount 0.9", "train has no option --discount; did you mean --gamma?"),
    ("train --algo td", "train has no option --algo; did you mean --learner?"),
    ("train --output x.h5", "train has no option --output; did you mean --out?"),
    ("train --jobs 2", "train has no option --jobs; did you mean --threads?"),
    ("warmup --jobs 2", "warmup has no option --jobs; did you mean --processes?"),
    ("train --against random", "train has no option --against; did you mean --opponent?"),
    ("evaluate --opponent random", "evaluate has no option --opponent; did you mean --against?"),
    ("train -games 9", "train has no option -games; did you mean --games?"),
    ("train --game 9", "train has no option --game; did you mean --games?"),
    ("train -lr 0.1", "train has no option -lr; did you mean --alpha?"),
    ("train -help", "train has no option -help; did you mean --help?"),
    ("-help", "ttt-batch has no option -help; did you mean --help?"),
    ("--train", "ttt-batch has no option --train; did you mean train?"),
    ("export x --html", "export has no option --html; did you mean --to html?"),
    (
        "show --position 5",
        "show has no option --position: the position is its argument, e.g. ttt-batch show td-3x3.h5 5 1 9",
    ),
    ("study --seed 3", "study has no option --seed; did you mean --seeds?"),
    ("play --first", "play has no option --first; did you mean --as first?"),
    ("play --difficulty 3", "play has no option --difficulty; did you mean --level?"),
    ("evaluate --format json", "evaluate has no option --format; did you mean --json?"),
    ("evaluate --alpha 0.1", "evaluate has no option --alpha; --alpha is for train, study or learn-from"),
    ("evaluate --lr 0.1", "evaluate has no option --lr; --alpha is for train, study or learn-from"),
    ("train --budget 5", "train has no option --budget; --budget is for evaluate or prove"),
    ("play --against td", "play has no option --against: the opponent is its argument, e.g. ttt-batch play td-3x3.h5"),
    (
        "plot x --width 60",
        "plot has no option --width: pictures have one size, and an .svg file can be drawn at any; leave it out",
    ),
    ("learn-from x --resume y.h5", "learn-from has no option --resume; did you mean --run?"),
    ("train --verbose", "train has no option --verbose: progress is shown unless --quiet is given; leave it out"),
    ("--board 4x4", "ttt-batch has no option --board; name a command first, e.g. ttt-batch train --board"),
    # Arguments too many.
    ("train 100000", "train takes no argument '100000'; did you mean --games 100000?"),
    ("train td", "train takes no argument 'td'; did you mean --learner td?"),
    ("train 4x7", "train takes no argument '4x7'; did you mean --board 4x7?"),
    ("train games=9", "train takes no argument 'games=9'; did you mean --games=9?"),
    ("train \N{EN DASH}games 9", "train takes no argument '\N{EN DASH}games'; did you mean --games?"),
    ("train my.h5", "train takes no argument 'my.h5'; did you mean --out my.h5?"),
    (
        "evaluate cmd:python3 p.py",
        "evaluate takes no argument 'p.py'; quote a program with its arguments: 'cmd:python3 p.py'",
    ),
    ("play random td", "play takes no argument 'td'; watch takes two players, and play only yours"),
    ("train td,sarsa", "train takes no argument 'td,sarsa'; did you mean --learner td,sarsa?"),
    # Words in the place of a file that describes a study.
    ("study 1000", "there is no file 1000; did you mean --games 1000?"),
    ("study td,sarsa", "there is no file td,sarsa; did you mean --learner td,sarsa?"),
    ("study 4x4 --games 9", "there is no file 4x4; did you mean --board 4x4?"),
    # Words in the place of a run.
    ("play first", "there is no file first; did you mean --as first?"),
    ("play O", "there is no file O; did you mean --as second?"),
    ("play as first", "there is no file as; did you mean --as?"),
    ("play 4x4", "there is no file 4x4; did you mean --board 4x4?"),
    ("play connect4", "there is no file connect4; did you mean --board connect4?"),
    ("evaluate tictactoe", "there is no file tictactoe; did you mean --board 3x3?"),
    ("play human", "there is no file human: the opponent is its argument, e.g. ttt-batch play td-3x3.h5"),
    ("show center", "there is no file center: a position is moves or rows, e.g. ttt-batch show b2 a1"),
    ("evaluate vs random", "there is no file vs; did you mean --against?"),
    (
        "watch random vs one-ply",
        "there is no file vs: both players are its arguments, e.g. ttt-batch watch td-3x3.h5 random",
    ),
    ("watch 10", "there is no file 10; did you mean --games 10?"),
    ("plot td-3x3 heat", "there is no file heat; did you mean --kind heat?"),
    ("plot live", "there is no file live; did you mean --live?"),
    ("plot td-3x3.h5 td.png", "there is no file td.png; did you mean --out td.png?"),
    ("learn-from td", "there is no file td; did you mean --learner td?"),
    ("study study", "there is no file study; study is a command, and a line has one"),
    ("train train", "train takes no argument 'train'; train is a command, and a line has one"),
    ("bench 5", "bench takes no argument '5'; did you mean --seconds 5?"),
    ("export x --to html x.html", "export takes no argument 'x.html'; did you mean --out x.html?"),
    ("train ''", "train takes no argument ''"),
    ("check a b", "check takes no argument 'b'; it takes one file at a time"),
    # Several words for one.
    ("study --alpha 0.1 0.2", "--alpha takes one word; write --alpha 0.1,0.2"),
    ("study --alpha 0.1, 0.2", "--alpha takes one word; write --alpha 0.1,0.2"),
    ("study --alpha [0.1,0.2]", "--alpha takes no brackets; write --alpha 0.1,0.2"),
    ("study --alpha=[0.1, 0.2]", "--alpha takes no brackets; write --alpha 0.1,0.2"),
    ("study --alpha '(0.1 0.2)'", "--alpha takes no brackets; write --alpha 0.1,0.2"),
    ("study --alpha '0.1 0.2'", "--alpha takes one word; write --alpha 0.1,0.2"),
    ("train --alpha [0.1]", "--alpha takes no brackets; write --alpha 0.1"),
    ("train --board '(4, 4)'", "--board takes no brackets; write --board 4x4"),
    ("train --board connect 4", "--board takes one word; write --board 6x7x4-gravity"),
    ("study --board tic tac toe", "--board takes one word; write --board 3x3"),
    ("train --games 1 000 000", "--games takes one word; write --games 1,000,000"),
    ("train --games 10 million", "--games takes one word; write --games 10M"),
    ("train --beads 4 3 2 1", "--beads takes one word; write --beads 4,3,2,1"),
    ("train --alpha 0.1 0.2", "--alpha takes one value; compare several with ttt-batch study --alpha 0.1,0.2"),
    # Commands.
    ("eval", "there is no command 'eval'; did you mean evaluate?"),
    ("plots", "there is no command 'plots'; did you mean plot?"),
    ("simulate", "there is no command 'simulate'; did you mean watch?"),
    ("run", "there is no command 'run'; did you mean train?"),
    ("resume x.h5", "there is no command 'resume'; did you mean train --resume RUN?"),
    ("ttt-batch train", "there is no command 'ttt-batch'; the program's name is there twice"),
    ("-", "there is no command '-'"),
    ("''", "there is no command ''"),
    ("help nothing", "there is no command 'nothing'"),
    ("td", "there is no command 'td'; did you mean train --learner td?"),
]
"""What is typed, and the line but for where to read on."""

NETWORKS_INSTEAD = "choose a smaller board, or networks: train --learner patterns"

VALUES = [
    *[
        (f"train --board '{text}'", f"board '{text}'", f"did you mean {board}?")
        for text, board in (
            ("4", "4x4x4"),
            ("c4", "connect4"),
            ("Four in a Row", "connect4"),
            ("tic-tac-toe", "3x3"),
            ("3,3", "3x3"),
            ("5x5,4", "5x5x4"),
            ("3 by 4", "3x4x3"),
            ("33", "3x3"),
            ("gomoku", "8x8x5"),
            ("connect4-misere", "6x7x4-misere-gravity"),
            ("connect-5", "6x7x5-gravity"),
            ("c4 exact", "6x7x4-exact-gravity"),
            ("4x4x4-gravity-misere", "4x4x4-misere-gravity"),
        )
    ],
    ("train --board 9x8x4-gravity", "has 72 cells; at most 64 are supported", "choose fewer"),
    *[
        (f"{words} --board {board}", f"has {cells} cells; tables by position take at most 36", NETWORKS_INSTEAD)
        for words in ("train", "study")
        for board, cells in (("9x7x4-gravity", 63), ("connect4", 42))
    ],
    ("show random X....../......./......./......./......./....... --board connect4", "stands above a free", "(code 0)"),
    ("show random a6 h --board connect4", "move 2, 'h', names no cell; there are a1 to g6", "or a code (code 0)"),
    ("train --alpha 0,1", "alpha '0,1' is not a number", "give 0.1, with a point"),
    ("train --seed random", "seed 'random' is not a whole number", "give any, e.g. 7: it fixes the randomness"),
    ("evaluate random --board 9x7x4-gravity --against optimal", "has 7 x 10 = 70", "choose random, one-ply or two-ply"),
    ("play optimal --board 9x7x4-gravity", "columns x (rows + 1) up to 64; 9x7x4-gravity has 7 x 10 = 70", "or a run"),
    *[
        (typed, "'foo'", "a run file, a certificate, FILE.py:NAME or cmd:PROGRAM")
        for typed in ("train --opponent foo", "evaluate random --against foo")
    ],
    ("learn-from games.txt", "no learner is named", "give --learner NAME, or --run RUN for a run to continue"),
    ("play --illegal loses", "--illegal is for agents such as one-ply, and none is named", "leave it out"),
    (
        "train --opponent random --time-limit 3",
        "--time-limit is for agents such as one-ply, and no other opponent is named",
        "leave it out",
    ),
]
"""What is typed, what is wrong, and the remedy."""


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with runs of two boards and a study; td-3x3.h5 is the newest run, and older than the study."""
    where = tmp_path_factory.mktemp("files")
    ttt.train(500, out=where / "old.h5")
    ttt.train(500, board="2x3x2", out=where / "small.h5")
    ttt.train(500, out=where / "td-3x3.h5")
    ttt.study(games=100, seeds=2, alpha="0.1,0.2", out=where / "study.h5").close()
    for age, name in enumerate(("study.h5", "td-3x3.h5", "small.h5", "old.h5")):
        os.utime(where / name, (1e9 - age, 1e9 - age))
    return where


@pytest.fixture
def here(files: Path, tmp_path: Path) -> Path:
    """A copy of these files to type beside."""
    for path in files.iterdir():
        (tmp_path / path.name).write_bytes(path.read_bytes())
        os.utime(tmp_path / path.name, (path.stat().st_mtime, path.stat().st_mtime))
    return tmp_path


@pytest.mark.parametrize(("typed", "line"), MISUSED, ids=[typed for typed, _ in MISUSED])
def test_a_line_names_the_way(tmp_path, capsys, typed, line):
    status, out, err = command(capsys, *shlex.split(typed))
    said, reads_on, _ = err.partition(" (see ttt-batch ")
    assert (status, out, said, reads_on != "") == (2, "", f"ttt-batch: {line}", True)
    assert err.count("\n") == 1 and list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("typed", ["", "train", "evaluate random", "train --learner", "train --opponent"])
def test_a_word_that_no_file_can_have_for_a_name_is_refused(capsys, typed):
    status, out, err = command(capsys, *typed.split(), f"{'n' * 300}.py:NAME")
    assert (status in (1, 2), out, err.count("\n"), "OSError" in err) == (True, "", 1, False)


@pytest.mark.parametrize(("typed", "wrong", "remedy"), VALUES, ids=[typed for typed, _, _ in VALUES])
def test_a_value_is_refused_with_the_one_that_was_meant(capsys, typed, wrong, remedy):
    status, out, err = command(capsys, *shlex.split(typed))
    assert (status, out, err.count("\n")) == (2, "", 1)
    assert wrong in err and err.endswith(f"{remedy}\n")


def test_every_near_miss_leads_somewhere():
    """Each command and option of the tables is one, and no word of them is a name itself."""
    options = {opt for command in program.commands.values() for param in command.params for opt in param.opts}
    options |= {opt for param in program.params for opt in param.opts} | {"--help"}
    assert {meant.split()[0] for meant in usage.COMMANDS} <= {*COMMANDS, "--version"}
    assert {meant.split()[0] for meant in usage.OPTION_WORDS} <= options
    assert set(usage.LISTED) <= {opt for param in program.commands["study"].params for opt in param.opts}
    assert not {word for words in usage.COMMANDS.values() for word in words.split()} & set(COMMANDS)


@pytest.mark.slow
def test_every_word_of_other_programs_names_what_is_meant(capsys):
    for meant, words in usage.COMMANDS.items():
        for word in words.split():
            assert f"there is no command '{word}'; did you mean {meant}?" in command(capsys, word)[2]
    own = {opt for param in program.commands["train"].params for opt in param.opts}
    for word in {word for words in usage.OPTION_WORDS.values() for word in words.split()}:
        meanings = [meant for meant in usage.meant_options(word) if meant.split()[0] in own]
        option = f"-{word}" if len(word) == 1 else f"--{word}"
        if meanings and option not in own:
            said = command(capsys, "train", option)[2]
            assert said.startswith(f"ttt-batch: train has no option {option}; did you mean {meanings[0]}?")


def test_help_and_version_by_other_names(capsys):
    assert command(capsys, "help") == command(capsys, "--help")
    assert command(capsys, "help", "train") == command(capsys, "train", "help") == command(capsys, "train", "-h")
    assert command(capsys, "-V") == command(capsys, "--version") == (0, f"ttt-batch {ttt.__version__}\n", "")


@pytest.mark.parametrize(
    "name",
    [
        *("evaluate", "show", "watch", "prove", "show 5 1 9", "show d d", "export --to html", "plot --live"),
        *("info", "check", "plot"),
    ],
)
def test_without_any_run_the_command_that_makes_one_is_named(capsys, name):
    verb = name.split()[0]
    run = "a run or study" if name in ("info", "check", "plot") else "a run"
    line = f"ttt-batch: {verb} needs {run}, and none is here; name one, or make one with ttt-batch train"
    assert command(capsys, *name.split()) == (2, "", f"{line} (see ttt-batch {verb} --help)\n")


@pytest.mark.parametrize("typed", [("d",), ("d d",), ("one-plyy",), ("5", "1")])
def test_show_asks_for_an_agent_of_a_board_before_the_position(here, capsys, typed):
    assert command(capsys, "show", *typed, "--board", "connect4") == (
        2,
        "",
        f"ttt-batch: no run or agent is called {typed[0]}; name one before a position, e.g. "
        "ttt-batch show optimal POSITION --board connect4\n",
    )


@pytest.mark.sampled(1)
@pytest.mark.parametrize(
    ("typed", "same"),
    [
        ("evaluate", "evaluate td-3x3.h5"),
        ("evaluate --against old", "evaluate td-3x3.h5 --against old"),
        ("show", "show td-3x3.h5"),
        ("show 5 1 9", "show td-3x3.h5 5 1 9"),
        ("show X.O/.X./...", "show td-3x3.h5 X.O/.X./..."),
        ("show 'X.O .X. ...'", "show td-3x3.h5 'X.O .X. ...'"),
        ("show code 5", "show td-3x3.h5 code 5"),
        ("show b2,a1", "show td-3x3.h5 b2,a1"),
        ("watch --games 5", "watch td-3x3.h5 --games 5"),
        ("plot --live", "plot td-3x3.h5 --live"),
    ],
)
def test_the_newest_run_is_taken_and_said(here, capsys, typed, same):
    status, out, err = command(capsys, *shlex.split(typed))
    named, its_out, _ = command(capsys, *shlex.split(same))
    assert (status, *re.split(r"\d+ s ago", out)) == (named, *re.split(r"\d+ s ago", its_out))
    assert err.startswith("taking td-3x3.h5, the newest run here\n") and "ttt-batch:" not in err


@pytest.mark.parametrize("typed", ["info", "check"])
def test_studies_are_among_the_newest_where_they_may_be(here, capsys, typed):
    status, out, err = command(capsys, typed)
    assert (status, out) == command(capsys, typed, "study.h5")[:2]
    assert err == "taking study.h5, the newest run or study here\n"


@pytest.mark.slow
def test_plot_takes_the_newest_of_which_there_is_such_a_picture(here, capsys):
    pytest.importorskip("matplotlib")
    for typed, wrote in (
        ("", "study-curves.png"),
        ("--kind opening", "td-3x3-opening.png"),
        ("--kind sensitivity", "study-sensitivity.png"),
    ):
        assert command(capsys, "plot", *typed.split())[:2] == (0, f"wrote {wrote}\n")


def test_play_takes_the_newest_run_of_the_board_or_trains_one(here, capsys, monkeypatch):
    monkeypatch.setattr("sys.stdin", io.StringIO(""))
    assert command(capsys, "play", "--board", "2x3")[2].startswith("playing small.h5, the newest run here\n")
    said = "no run file of 2x2x2 here: training td on 2x2x2 for 100,000 games first\n"
    status, out, err = command(capsys, "play", "--board", "2x2")
    assert (status, err.startswith(said)) == (0, True) and "Board 2x2x2" in out
    monkeypatch.setitem(NETWORKS, "games", 64)
    monkeypatch.setattr("sys.stdin", io.StringIO("h\n0\n"))
    status, out, err = command(capsys, "play", "--board", "connect4", "--as", "first")
    said = "no run file of 6x7x4-gravity here: training ntuple-td on 6x7x4-gravity for 64 games first\n"
    assert (status, err.startswith(said)) == (0, True) and "What the agent gives each cell for X" in out


@pytest.mark.parametrize("typed", ["play {}", "show {}", "evaluate old --against {}", "train --start {}", "info {}"])
def test_a_learner_in_the_place_of_a_run(here, capsys, typed):
    status, _, err = command(capsys, *typed.format("td").split())
    assert (status, err) == (1, "ttt-batch: there is no file td (did you mean td-3x3.h5?); check the name\n")
    status, _, err = command(capsys, *typed.format("sarsa").split())
    assert (status, err) == (
        1,
        "ttt-batch: there is no file sarsa; sarsa is a learner, and train --learner sarsa makes a run of it\n",
    )


@pytest.mark.parametrize("typed", ["evaluate {}", "tournament {} random", "evaluate old --against {}", "info {}"])
def test_an_agent_without_the_ending_of_its_file(here, capsys, typed):
    (here / "mine.py").touch()
    said = "there is no file mine:first (did you mean mine.py:first?); judge this agent with ttt-batch evaluate, or "
    assert said in command(capsys, *typed.format("mine:first").split())[2]
    assert "did you mean" not in command(capsys, *typed.format("other:first").split())[2]


def test_a_file_in_the_place_of_a_command(here, capsys):
    assert command(capsys, "old.h5")[2] == (
        "ttt-batch: there is no command 'old.h5', and old.h5 is a file; name a command first, e.g. ttt-batch info "
        "(see ttt-batch --help)\n"
    )
    assert "did you mean --against old.h5?" in command(capsys, "evaluate", "td-3x3", "old.h5")[2]
    assert "did you mean --resume old.h5?" in command(capsys, "train", "old.h5")[2]


@pytest.mark.parametrize("typed", ["evaluate", "show", "watch", "evaluate old", "tournament old td-3x3"])
def test_a_board_beside_runs_of_others_leads_to_a_run_of_it(here, capsys, typed):
    status, out, err = command(capsys, *typed.split(), "--board", "4x4")
    assert (status, out) == (2, "")
    assert "--board is for agents such as one-ply" in err
    assert err.endswith("; leave it out, or name a run of 4x4\n")
    _, _, err = command(capsys, "play", "old", "--board", "4x4")
    assert err.endswith("and old.h5 is a run; leave it out, or leave old.h5 out to play on 4x4\n")


def test_a_number_behind_a_point_is_no_ending(tmp_path, capsys):
    assert command(capsys, "train", "--games", "10", "--quiet", "--out", "td-0.1")[0] == 0
    assert [path.name for path in tmp_path.iterdir()] == ["td-0.1.h5"]


def test_another_opponent_of_a_resumed_run_is_refused_without_digests(here, capsys):
    words = ["--games", "100", "--opponent", "old", "--quiet", "--out", "rival"]
    assert command(capsys, "train", *words)[0] == 0
    for rival in ("random", "optimal"):
        _, _, err = command(capsys, "train", "--resume", "rival", "--more", "100", "--opponent", rival)
        assert err.startswith("ttt-batch: rival.h5 was trained against another run or agent; name that one (info ")
    _, _, err = command(capsys, "train", "--resume", "td-3x3", "--more", "100", "--opponent", "old")
    assert "opponent none, not a run or an agent" in err


def test_a_tournament_says_in_which_seats_all_play(here, capsys):
    assert command(capsys, "train", "--learner", "menace", "--games", "10", "--quiet")[0] == 0
    assert "all against all, in both seats: exactly" in command(capsys, "tournament", "old", "td-3x3")[1]
    assert "all against all, in the seats that they play: " in command(capsys, "tournament", "old", "menace-3x3")[1]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("train --resume m.h5 --learner td --more 10", "m.h5 was trained with learner menace, not td; leave"),
        (
            "train --resume t.h5 --learner menace --more 9",
            "t.h5 was trained with learner td, not menace; leave",
        ),
        (
            "check solution.npz",
            "solution.npz is an .npz file, but no certificate; ttt-batch prove RUN",
        ),
        ("import empty.npy --out q.h5", "empty.npy: the array is empty; name another file"),
        ("import nan.npy --out q.h5", "nan.npy: it has no number for any position; name a file of a trained table"),
    ],
)
def test_files_that_do_not_fit_are_named_as_what_they_are(
    words: str, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    ttt.train(10, out="t.h5")
    ttt.train(10, learner="menace", out="m.h5")
    np.savez("solution.npz", value=np.zeros(3))
    np.save("empty.npy", np.zeros(0))
    np.save("nan.npy", np.full(3**9, np.nan))
    status, out, err = command(capsys, *words.split())
    assert (status, (out + err).count("\n")) == (2 if "train" in words else 1, 1)
    assert message in out + err


def test_keys_without_marks_say_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "one.json").write_text('{".........": 0.5}')
    _, _, err = command(capsys, "import", tmp_path / "one.json", "--out", tmp_path / "q.h5")
    assert "keys are marks: . empty; the only numbering that fits" in err
