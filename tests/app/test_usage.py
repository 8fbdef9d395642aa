"""Typed numbers, names, positions and files as people write them, and one line of ours for everything else."""

import json
import shlex
import sys
from pathlib import Path

import pytest
from helpers.support import command

import ttt_batch as ttt
from ttt_batch.app.cli import COMMANDS
from ttt_batch.app.commands.shared import command_line
from ttt_batch.core.files import command_text
from ttt_batch.games.notation import read_position


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two runs of one board."""
    where = tmp_path_factory.mktemp("runs")
    ttt.train(2_000, out=where / "td-3x3.h5")
    ttt.train(2_000, learner="minimax-q", out=where / "other.h5")
    return where


@pytest.fixture
def here(folder: Path, tmp_path: Path) -> Path:
    """An empty folder but for the two runs."""
    for path in folder.iterdir():
        (tmp_path / path.name).write_bytes(path.read_bytes())
    return tmp_path


def misused(capsys, *words):
    """The one line that a misuse costs."""
    status, out, err = command(capsys, *words)
    assert (status, out, err.count("\n")) == (2, "", 1), (words, err)
    assert err.startswith("ttt-batch: ")
    for library in ("pydantic", "Invalid value", "valid integer", "valid number", "parse string"):
        assert library not in err
    return err


def test_the_program_alone_says_what_to_try_first(capsys):
    status, out, err = command(capsys)
    assert (status, err) == (0, "")
    named = [line.split()[1] for line in out.splitlines() if line.lstrip().startswith("ttt-batch")]
    tried = [name for name in named if name in COMMANDS]
    assert tried == ["train", "play", "page"]
    assert "ttt-batch --help lists every command" in out
    assert max(map(len, out.splitlines())) <= 80


# Numbers.


@pytest.mark.slow
def test_numbers_of_games_are_written_freely(here, capsys):
    runs = {}
    for number, games in enumerate(("2k", "2e3", "2,000", "2_000", "2000")):
        status, out, _ = command(capsys, "train", "--games", games, "-o", f"{number}.h5", "--json")
        assert status == 0
        runs[games] = json.loads(out)["config"]
    assert len({json.dumps(config) for config in runs.values()}) == 1
    assert command(capsys, "train", "--resume", "0.h5", "--more", "1k")[0] == 0
    assert command(capsys, "train", "--resume", "0.h5", "--until", "4e3", "--checkpoint-every", "1kgames")[0] == 0
    assert ttt.load("0.h5").games == 4_000
    assert command(capsys, "watch", "0.h5", "--games", "1e2", "--seed", "1,000")[0] == 0
    assert command(capsys, "tournament", "0.h5", "1.h5", "--games", "0.1k", "--seed", "1")[0] == 0


def test_shares_are_percentages_too(here, capsys):
    status, out, _ = command(
        capsys, "train", "--games", "1k", "--epsilon", "30%->1%:Linear", "--gamma", "90%", "--json"
    )
    config = json.loads(out)["config"]
    assert (status, config["epsilon"], config["gamma"]) == (0, "0.3->0.01:linear", 0.9)
    shown = [
        command(capsys, "watch", "td-3x3", "--seed", "4", "--level", level, "--epsilon", epsilon)[:2]
        for level, epsilon in (("0.5", "0.2"), ("50%", "20%"))
    ]
    assert shown[0][0] == 0 and shown[0] == shown[1]


# Names.


@pytest.mark.sampled(1)
@pytest.mark.parametrize(
    ("options", "name"),
    [
        ("--learner TD --board 3X3", "td-3x3-2.h5"),
        ("--learner sutton_barto", "sutton-barto-3x3.h5"),
        ("--board 3x3x2", "td-3x3x2.h5"),
        ("--board 2x3", "td-2x3x2.h5"),
        ("--board 2X3x2-MISERE", "td-2x3x2-misere.h5"),
    ],
)
def test_files_get_names_as_they_are_spelled_here(here, capsys, options, name):
    status, out, _ = command(capsys, "train", "--games", "1k", *options.split())
    assert status == 0 and f"saved:   {name}\n" in out and (here / name).exists()


def test_configurations_hold_names_as_they_are_spelled_here(here, capsys):
    plain = ["--learner", "minimax-q", "--engine", "walk", "--symmetry", "on", "--board", "2x3x2", "--batch", "auto"]
    plain += ["--opponent", "random", "--as", "second"]
    free = ["--learner", "Minimax_Q", "--engine", "Walk", "--symmetry", "YES", "--board", "2 X 3", "--batch", "AUTO"]
    free += ["--opponent", "Random", "--as", "o"]
    configs = []
    for words in (plain, free):
        status, out, err = command(capsys, "train", "--games", "1k", "--json", *words)
        assert status == 0, err
        configs.append(json.loads(out)["config"])
    assert configs[0] == configs[1]
    assert configs[0]["seat"] == "second" and configs[0]["learner"] == "minimax-q"


def test_names_in_other_commands(here, capsys):
    assert command(capsys, "learners", "SUTTON_BARTO")[1] == command(capsys, "learners", "sutton-barto")[1]
    assert command(capsys, "boards", "3 X 3 misere")[1] == command(capsys, "boards", "3x3-misere")[1]
    against = [command(capsys, "evaluate", "td-3x3", "--against", name)[:2] for name in ("one-ply", "One_Ply")]
    assert against[0][0] == 0 and against[0] == against[1]
    assert command(capsys, "evaluate", "td-3x3", "--against", "OPTIMAL")[0] == 0
    assert command(capsys, "export", "td-3x3", "--to", "CSV", "-o", "x.csv")[:2] == (0, "wrote x.csv\n")
    for player in ("O", "second"):
        assert command(capsys, "export", "td-3x3", "--to", "pickle", "--player", player, "-o", player)[0] == 0
    assert (here / "O.bin").read_bytes() == (here / "second.bin").read_bytes()


# Runs by name.


@pytest.mark.slow
def test_the_ending_of_a_run_may_be_left_out(here, capsys):
    for words in (
        ["info"],
        ["check"],
        ["show"],
        ["compare", "other"],
        ["evaluate", "--against", "other"],
        ["tournament", "other"],
    ):
        whole = [words[0], "td-3x3.h5", *[f"{word}.h5" if word == "other" else word for word in words[1:]]]
        status, out, _ = command(capsys, words[0], "td-3x3", *words[1:])
        assert status == 0 and out == command(capsys, *whole)[1]
    assert command(capsys, "show", "td-3x3.")[0] == 0  # as far as a shell completes it
    assert ttt.load("td-3x3").games == ttt.load("td-3x3.h5").games
    assert command(capsys, "train", "--resume", "td-3x3", "--more", "1k")[0] == 0
    assert ttt.train(resume="td-3x3", more="1k").games == ttt.load("td-3x3.h5").games
    assert not (here / "td-3x3").exists()
    (here / "other").mkdir()
    assert command(capsys, "info", "other")[0] == 0


def test_a_file_that_is_not_there(here, capsys):
    for name in ("td-3x", "TD-3x3", "td-3x3.hdf5"):
        status, _, err = command(capsys, "info", name)
        if not Path(name).exists():  # a file system may not tell capitals apart
            assert (status, err) == (
                1,
                f"ttt-batch: there is no file {name} (did you mean td-3x3.h5?); check the name\n",
            )
    assert "(did you mean" not in command(capsys, "info", "something-else")[2]
    assert "there is no file nobody.h5;" in command(capsys, "train", "--opponent", "nobody.h5")[2]
    assert "there is no file a  b.h5;" in command(capsys, "info", "a  b.h5")[2]


# Positions.


@pytest.mark.sampled(1)
@pytest.mark.parametrize("position", ["X.O/.X./...", "5 3 1", "b2 c1 a1", "X5 O3 X1", "code 100", "XO. .X. ...", "b2"])
def test_python_reads_the_positions_that_commands_read(here, capsys, position):
    run = ttt.load("td-3x3")
    shown = json.loads(command(capsys, "show", "td-3x3", position, "--json")[1])
    assert run.position(position) == read_position(position, run.board) == run.board.decode(shown["code"])
    assert run.value(position) == shown["value"]
    marks = run.position(position)  # digits count from 1, so what answers in cells refuses them
    assert sorted(run.move_values(marks)) == [move["cell"] for move in shown["moves"]]


def test_a_position_needs_no_quotes(here, capsys):
    for words in (["5", "3", "1"], ["b2", "c1", "a1"], ["X.O", ".X.", "..."]):
        assert command(capsys, "show", "td-3x3", *words) == command(capsys, "show", "td-3x3", " ".join(words))


@pytest.mark.sampled(1)
@pytest.mark.parametrize("position", ["5 5", "XXX/.../...", "d4", "12 1", "xyz", "code 99999"])
def test_python_refuses_the_positions_that_commands_refuse(here, capsys, position):
    err = misused(capsys, "show", "td-3x3", position)
    with pytest.raises(ttt.BoardError) as caught:
        ttt.load("td-3x3").value(position)
    assert err == f"ttt-batch: {caught.value}\n"


# What typer has to say, in our words.


@pytest.mark.parametrize(
    ("words", "line"),
    [
        ("tranin", "there is no command 'tranin'; did you mean train? (see ttt-batch --help)"),
        ("xyzzy", "there is no command 'xyzzy' (see ttt-batch --help)"),
        ("train --gmes 5", "train has no option --gmes; did you mean --games? (see ttt-batch train --help)"),
        ("train -x", "train has no option -x (see ttt-batch train --help)"),
        ("--foo", "ttt-batch has no option --foo (see ttt-batch --help)"),
        ("train --games", "--games takes a value; give --games N (see ttt-batch train --help)"),
        ("train -o", "-o takes a value; give -o FILE (see ttt-batch train --help)"),
        ("train --fork=3", "--fork is a switch and takes no value; leave the value out (see ttt-batch train --help)"),
        ("train 10M", "train takes no argument '10M'; did you mean --games 10M? (see ttt-batch train --help)"),
        ("compare", "compare needs RUN: A run file (see ttt-batch compare --help)"),
        (
            "tournament",
            "tournament needs RUN...: Two run files of one board, or more, e.g. *.h5; also agents (see ttt-batch "
            "tournament --help)",
        ),
        ("show ''", "the name for RUN is empty; name a file (see ttt-batch show --help)"),
        ("tournament a ''", "the name for RUN... is empty; name a file (see ttt-batch tournament --help)"),
        ("train --out ''", "the name for --out is empty; name a file (see ttt-batch train --help)"),
        ("train --opponent ''", "the name of the run file is empty; name one"),
        ("import x", "import needs --out RUN: Run file to write (see ttt-batch import --help)"),
        (
            "import x.html --learner menace -o y.h5",
            "x.html is a page; import the .json file that Download on a learning page saves",
        ),
        (
            "train --learner own.py",
            "learner 'own.py' is not of the form FILE.py:NAME; give a Python file and a name in it",
        ),
        (
            "import x.csv -o y.h5 --keys 0,1",
            "--keys '0,1' does not name three symbols; give those of an empty cell, the first player and the second, "
            "such as 0,1,2 or space,X,O",
        ),
        ("study --cut --games 100", "--cut takes a value; give --cut on|off,... (see ttt-batch study --help)"),
        ("study --games 100 --cut -o x.h5", "--cut takes a value; give --cut on|off,... (see ttt-batch study --help)"),
        ("plot --metric --json x.h5", "--metric takes a value; give --metric NAME (see ttt-batch plot --help)"),
        (
            "train --learner td-lambda --cut on",
            "--cut is a switch and takes no value; leave 'on' out (see ttt-batch train --help)",
        ),
        ("evaluate random --ties sharp", "--ties sharp is for runs, and random makes its own choices; leave it out"),
        (
            "evaluate random --ties soonest --against optimal",
            "--ties soonest is for runs, and random makes its own choices; leave it out",
        ),
        (
            "train --start-value none",
            "start value 'none' is not a number; give one from -1e+100 to 1e+100, such as 1, or leave it out for the "
            "learner's own start",
        ),
        ("page -o -", "cannot write to standard output (-); name a file"),
        ("train --games 10 -o -", "cannot write to standard output (-); name a file with --out"),
    ],
)
def test_misuses_in_our_words(capsys, words, line):
    assert misused(capsys, *shlex.split(words)) == f"ttt-batch: {line}\n"


REFUSED = {
    # Numbers.
    "train --games many": "games 'many' is not a whole number; give one from 1 to 1,000,000,000,000,000, e.g. 10000, ",
    "train --games 0": "games 0 is outside 1 .. 1,000,000,000,000,000; give at least 1",
    f"train --games {10**400}": "0000... is outside 1 .. 1,000,000,000,000,000; give at most 1,000,000,000,000,000",
    "train --resume td-3x3 --more x": "more 'x' is not a whole number",
    "train --batch some": "batch 'some' is not a number of games; give a whole number, e.g. 16384 or 10k",
    "train --batch 0": "batch 0 is outside 1 .. 1,000,000,000,000,000; give at least 1",
    "train --engine flow --batch 1": "batch 1 belongs to --engine walk, which plays games one by one; flow takes 2 or",
    "train --seed x": "seed 'x' is not a whole number",
    f"train --seed {10**20}": "seed 100,000,000,000,000,000,000 is outside -9,223,372,036,854,775,808 .. 9",
    "train --threads all": "threads 'all' is not a whole number; give one from 1 to 1,024, e.g. 1",
    "train --threads 0": "threads 0 is outside 1 .. 1,024; give at least 1",
    "train --gamma high": "gamma 'high' is not a number; give one from 0 to 1",
    "train --epsilon 0.3-": "epsilon '0.3-' is cut off: a shell takes > for itself; quote the value, as in",
    "train --alpha nan": "alpha 'nan' is not a number; give a number such as 0.1 or 10%",
    "train --draw-worth half": "draw worth 'half' is not a number; give two numbers such as 0.5,0.5",
    "train --draw-worth 1,2,3": "draw worth '1,2,3' is not one or two numbers",
    "train --checkpoint-every 5x": "--checkpoint-every '5x' is not an interval; give e.g. 30s, 1Mgames or never",
    "train --watch --pace 0": "pace 0 is not above 0; give games per second, e.g. 10, or max",
    "train --watch --pace fast": "pace 'fast' is not a number; give games per second, e.g. 10, lesson or max",
    "watch td-3x3 --games x": "games 'x' is not a whole number",
    "watch td-3x3 --seed x": "seed 'x' is not a whole number",
    "watch td-3x3 --pace slow": "pace 'slow' is not a number; give seconds per move, e.g. 0.5",
    "watch td-3x3 --pace -1": "pace -1 is outside 0 to 3600 seconds per move; give 0 for no pause",
    "watch td-3x3 --epsilon -1": "epsilon -1 is outside 0 to 1",
    "watch td-3x3 --level strong": "level 'strong' is not a number; give one from 0 to 1, or a percentage such as 70%",
    "play td-3x3 --level 170%": "level 170% is outside 0 to 1",
    "play td-3x3 --epsilon x": "epsilon 'x' is not a number",
    "play td-3x3 --seed 1.5": "seed 1.5 is not a whole number",
    "tournament td-3x3 other --games x": "games 'x' is not a whole number",
    "tournament td-3x3 other --games 5 --seed x": "seed 'x' is not a whole number",
    "warmup --processes two": "processes 'two' is not a whole number",
    "bench --seconds x": "seconds 'x' is not a number; give one in 0.1 .. 3600, e.g. 15",
    "bench --threads x": "threads 'x' is not a whole number",
    "import x.csv --learner td -o x.h5 --draw-worth x": "draw worth 'x' is not a number",
    # Names.
    "train --learner sutton": "unknown learner 'sutton' (did you mean sutton-barto?); choose one of: td, ",
    "train --learner xyz": "menace, patterns, ntuple-td",
    "train --engine flwo": "unknown engine 'flwo' (did you mean flow?); choose walk or flow",
    "train --opponent minimax": "unknown opponent 'minimax' (did you mean optimal?); choose one of: random,",
    "train --opponent random --as third": "unknown seat 'third'; choose first, second or both",
    "train --symmetry offf": "unknown symmetry 'offf' (did you mean off?); choose on, off or auto",
    "train --board 3x3x9": "board 3x3x9: k must be between 1 and the longer side, 3",
    "evaluate td-3x3 --against minimax": "unknown opponent 'minimax' (did you mean optimal?)",
    "export td-3x3 --to htm": "unknown format 'htm' (did you mean html?); choose one of: html, boxes, cards, hdf5, csv",
    "export td-3x3 --to csv --player X1": "unknown player 'X1'",
    "plot td-3x3 --kind curve": "unknown kind of plot 'curve' (did you mean curves?)",
    "learners backward": "unknown learner 'backward' (did you mean backward-q?)",
    "learners ntuple-tdd": "unknown learner 'ntuple-tdd' (did you mean ntuple-td?)",
    "boards four": "board 'four' is not of the form",
    "play td-3x3 --as third": "unknown seat 'third'",
    "play td-3x3 --ties sonest": "unknown ties 'sonest' (did you mean soonest?)",
    # What does not go together.
    "train --pace 10": "--pace 10 is for games that are shown; add --watch, or leave it out",
    "train --watch --quiet": "--quiet shows no games, and --watch shows them; leave one out",
    "watch td-3x3 --json": "--json",
    "watch td-3x3 --games 5 --pace 1": "--pace",
    "watch td-3x3 --games 5 --level 0.5": "--level",
    "tournament td-3x3": "two runs or more",
    "tournament td-3x3 other --seed 1": "--seed 1",
    "boards 3x3 --solution s.txt": ".npz",
    "export one-ply --to h5": "format hdf5 is for runs; choose html, json or csv",
    "export td-3x3 --to html -o a.html -o b.html": "one file for both players",
    "plot td-3x3 -o x.pdf": "x.pdf",
    "plot td-3x3 other --live": "2 runs",
    "plot td-3x3 --live --overwrite": "leave --overwrite out",
    "plot td-3x3 --live --kind opening": "leave --kind out",
    "plot td-3x3 --live --json": "leave --json out",
    "plot td-3x3 --live -o a.png": "leave --out out",
    # These are told before what is wrong with files.
    "train --learner td --lambda 0.5 -o td-3x3.h5": "--lambda is not an option of td",
    "train --as first -o td-3x3.h5": "needs an opponent",
    "learn-from none.txt --learner td --lambda 0.5 -o td-3x3.h5": "--lambda is not an option of td",
    "import none.npz --learner td --format nope -o td-3x3.h5": "unknown format 'nope'",
    "import none.npz --learner tdd -o td-3x3.h5": "unknown learner 'tdd'",
}
"""What is typed, and what its line says."""


@pytest.mark.parametrize("typed", REFUSED, ids=lambda typed: typed[:60])
def test_a_misuse_costs_a_line_and_writes_nothing(here, capsys, typed):
    before = {path: path.read_bytes() for path in here.iterdir()}
    assert REFUSED[typed] in misused(capsys, *typed.split())
    assert before == {path: path.read_bytes() for path in here.iterdir()}


TEMPERATURES = {
    "nan": "is not a number",
    "warm": "is not a number",
    "inf": "is too large",
    "1e999": "is too large",
    "-1": "is not above 0",
    "0.5->0.1:linear": "does not change with the games",
    "1/n": "does not change with the games",
}


@pytest.mark.parametrize(("given", "why"), TEMPERATURES.items())
def test_what_is_no_temperature(capsys, given, why):
    assert misused(capsys, "train", "--explore", f"softmax:{given}") == (
        f"ttt-batch: explore 'softmax:{given}': its temperature {why}; give a number above 0, such as softmax:0.1\n"
    )


def test_a_format_of_the_other_kind_names_every_one_that_holds_the_table(here, capsys):
    err = misused(capsys, "export", "td-3x3", "--to", "raw")
    assert err.endswith("formats that do: csv, json, jsonl, pickle, pickle-text, npy, npz, parquet\n")


@pytest.mark.slow
def test_a_file_of_a_page_names_its_learner(here, capsys):
    assert command(capsys, "export", "td-3x3", "--to", "json", "-o", "plain.json")[0] == 0
    whole = json.loads(Path("plain.json").read_text())
    Path("saved.json").write_text(json.dumps(whole | {"learnt": {"learner": "td", "alpha": 0.1, "games": 7}}))
    assert command(capsys, "import", "saved.json", "-o", "from-page.h5")[0] == 0
    assert ttt.load("from-page.h5").tables.value.tobytes() == ttt.load("td-3x3").tables.value.tobytes()
    back = ttt.import_run("saved.json")
    assert (back.config.learner, back.games, back.config.alpha.text) == ("td", 7, "0.1") and back.made_elsewhere
    assert ttt.import_run("saved.json", alpha=0.2).config.alpha.text == "0.2"
    assert ttt.import_run("saved.json", "sutton-barto").config.alpha.text != "0.5"
    assert "7, learnt elsewhere" in command(capsys, "info", "from-page")[1]
    for wrong in (-1, True, 1.5, "7", None, 10**40):
        Path("bad.json").write_text(json.dumps(whole | {"learnt": {"learner": "td", "games": wrong}}))
        with pytest.raises(ttt.FormatError, match="is not a number of games from 0 to"):
            ttt.import_run("bad.json")
    status, _, err = command(capsys, "import", "plain.json", "-o", "new.h5")
    assert (status, err) == (0, "ttt-batch: plain.json: taken for the format json; imported as td, whose table fits\n")
    assert ttt.load("new.h5").tables.value.tobytes() == ttt.load("td-3x3").tables.value.tobytes()


def test_commands_are_names_like_others(here, capsys):
    assert command(capsys, "INFO", "td-3x3") == command(capsys, "info", "td-3x3")
    assert command(capsys, "Learn_From")[2].startswith("ttt-batch: learn-from needs GAMES")


def test_every_option_with_a_value_says_what_it_takes(capsys):
    for name in COMMANDS:
        text = command(capsys, name, "--help")[1]
        assert not [kind for kind in ("<", "{", "[[", "TEXT", "INTEGER", "FLOAT") if kind in text]


# Printed commands.


@pytest.mark.sampled(1)
@pytest.mark.parametrize("name", ["my  run.h5", "it's.h5", "-run.h5", "$HOME;x.h5", "run.h5", "$'x'.h5"])
def test_printed_commands_can_be_pasted(here, capsys, name):
    status, out, _ = command(capsys, "train", "--games", "1k", "--out", f"./{name}" if name[0] == "-" else name)
    assert status == 0
    lines = out.partition("next:")[2].splitlines()
    assert len(lines) == 2
    for line, verb in zip(lines, ("evaluate", "play"), strict=True):
        assert shlex.split(line)[:2] == ["ttt-batch", verb]
        assert Path(shlex.split(line)[2]).exists()
    assert command(capsys, *shlex.split(lines[0])[1:])[0] == 0


def test_a_name_that_is_no_text_is_one_line():
    text = command_text("play", Path("a\nb'c\x1b.h5"))
    assert text.isprintable() and text == "ttt-batch play $'a\\012b\\'c\\033.h5'"


def test_the_command_of_a_run_file_can_be_pasted(monkeypatch):
    monkeypatch.setattr(sys, "argv", ["/bin/ttt-batch", "train", "--out", "my run.h5"])
    assert command_line() == "ttt-batch train --out 'my run.h5'"


# Files that nobody named.


@pytest.mark.slow
def test_plot_and_export_invent_names(here, capsys):
    assert command(capsys, "plot", "td-3x3")[:2] == (0, "wrote td-3x3-curves.png\n")
    assert command(capsys, "plot", "td-3x3")[:2] == (0, "wrote td-3x3-curves-2.png\n")
    status, out, _ = command(capsys, "plot", "td-3x3", "other", "--kind", "Opening", "--json")
    found = {"file": "opening.png", "kind": "opening", "runs": ["td-3x3.h5", "other.h5"]}
    assert (status, json.loads(out)) == (0, found)
    assert command(capsys, "export", "td-3x3", "--to", "html")[:2] == (0, "wrote td-3x3.html\n")
    status, out, _ = command(capsys, "export", "td-3x3", "--to", "json", "--json")
    assert (status, json.loads(out)) == (0, {"files": ["td-3x3.json"]})
    written = command(capsys, "export", "td-3x3", "--to", "pickle")
    assert written[:2] == (0, "wrote td-3x3-first.bin\nwrote td-3x3-second.bin\n")
    assert command(capsys, "export", "td-3x3", "--to", "pickle", "--player", "x")[1] == "wrote td-3x3-first-2.bin\n"


def test_a_tournament_of_those_that_can_be_opened(here, capsys):
    (here / "bad.h5").write_bytes(b"no run")
    status, out, err = command(capsys, "tournament", "bad.h5", "other.h5", "td-3x3.h5", "gone.h5", "--json")
    found = json.loads(out)
    assert status == 1 and found["exact"] and found["runs"] == ["other.h5", "td-3x3.h5"]
    assert {one["name"] for one in found["standings"]} == {*found["runs"]} and len(found["meetings"]) == 4
    assert [line.partition(" ")[0] for line in err.splitlines()] == ["ttt-batch:"] * 2
    assert "left out: bad.h5" in err and "left out: there is no file gone.h5" in err
    status, out, err = command(capsys, "tournament", "bad.h5", "td-3x3.h5")
    assert (status, out) == (1, "") and "1 of 2 files can be opened; a tournament takes two or more" in err
    assert "1 of 2 players can be opened" in command(capsys, "tournament", "bad.h5", "random")[2]


def test_a_tournament_is_of_the_board_of_most_runs_or_of_the_first(here, capsys):
    for name in ("a.h5", "b.h5"):
        ttt.train(200, board="2x2x2", out=name)
    for given, board, runs in (
        ("a.h5 td-3x3.h5 other.h5", "3x3", "td-3x3.h5 other.h5"),
        ("other td-3x3 a", "3x3", "other.h5 td-3x3.h5"),
        ("td-3x3.h5 other.h5 a.h5 b.h5", "3x3", "td-3x3.h5 other.h5"),
        ("b.h5 a.h5 other.h5 td-3x3.h5", "2x2x2", "b.h5 a.h5"),
    ):
        status, out, err = command(capsys, "tournament", *given.split(), "--json")
        found = json.loads(out)
        assert (status, found["board"], " ".join(found["runs"])) == (1, board, runs)
        assert err.count("\n") == len(given.split()) - 2 and err.startswith("ttt-batch: left out: ")
        assert len(given.split()) > 3 or err == "ttt-batch: left out: a.h5 plays 2x2x2, most runs 3x3\n"
    said = misused(capsys, "tournament", "td-3x3.h5", "a.h5")
    assert "td-3x3.h5 plays 3x3, a.h5 plays 2x2x2; choose runs of one board" in said


def test_many_runs_that_are_left_out_are_counted(here, capsys):
    for number in range(13):
        (here / f"bad-{number}.h5").write_bytes(b"no run")
    bad = [f"bad-{number}.h5" for number in range(13)]
    status, _, err = command(capsys, "tournament", *bad, "other.h5", "td-3x3.h5")
    assert status == 1 and err.count("\n") == 11 and err.endswith("ttt-batch: left out: 3 more files\n")


def test_training_starts_from_a_file_beside_a_folder_of_its_name(here, capsys):
    (here / "td-3x3").mkdir()
    assert command(capsys, "train", "--games", "1k", "--start", "td-3x3", "-o", "more.h5")[0] == 0
    assert ttt.load("more.h5").config.start == ttt.train(1_000, start="td-3x3.h5").config.start


# Python.


def test_python_takes_what_commands_take(here):
    run = ttt.train(
        "2k", learner="TD", board=ttt.Board(3, 3, 3), epsilon="30%", batch="1,024", engine="Walk", seed="1e3"
    )
    same = ttt.train(2_000, learner="td", board="3x3", epsilon=0.3, batch=1_024, engine="walk", seed=1_000)
    assert run.config == same.config and run.tables.value.tobytes() == same.tables.value.tobytes()
    assert run.evaluation("Random") == run.evaluation("random")
    with pytest.raises(
        ttt.UsageError, match=r"games 'many' is not a whole number; give one from 1 to .*, e\.g\. 10000, 10k"
    ):
        ttt.train("many")
    with pytest.raises(ttt.UsageError, match="did you mean optimal"):
        run.evaluation("minimax")
    given = ["0 1 4 2 8"]
    learnt = [ttt.learn_from(given, learner="TD", board=board)[0].config for board in (ttt.Board(), "3X3")]
    assert learnt[0] == learnt[1]
    assert ttt.learn_from(given, learner="Td", run=run)[0].games == run.games + 1


def test_remedies_are_parameters_in_python_and_options_in_commands(here, capsys):
    run = ttt.load("other")
    with pytest.raises(ttt.RunFileError, match=r"replace it with overwrite=True, or name another file$"):
        run.save("td-3x3.h5")
    err = command(capsys, "train", "--games", "1k", "--out", "td-3x3.h5")[2]
    assert "replace it with --overwrite, or name another file with --out\n" in err
    with pytest.raises(ttt.UsageError, match=r"choose engine='flow'"):
        ttt.train(batch=10**12)
    assert "choose --engine flow" in misused(capsys, "train", "--batch", "1T")
    with pytest.raises(ttt.UsageError, match=r"^max_memory 'a lot' is not a number of bytes"):
        ttt.train(10, max_memory="a lot")
    assert "--max-memory 'a lot' is not" in misused(capsys, "train", "--games", "10", "--max-memory", "a lot")
    with pytest.raises(
        ttt.UsageError, match=r"^checkpoint_every '5x' is not an interval; give e.g. 30s, 1Mgames or never"
    ):
        ttt.train(10, checkpoint_every="5x", out="x.h5")
    with pytest.raises(ttt.UsageError, match="belongs to learn_from; choose walk or flow"):
        ttt.train(10, engine="given")
    assert "belongs to learn-from; choose" in misused(capsys, "train", "--games", "10", "--engine", "given")
    Path("empty.json").write_text('{"board": "3x3"}')
    with pytest.raises(
        ttt.TttBatchError,
        match=r"empty\.json: its keys, such as 'board', are not positions of board 3x3; name a file of a table",
    ):
        ttt.import_run("empty.json", "td")
    lost = str(ttt.evaluate(ttt.train(300, seed=2)))
    assert "(ties='any')" in lost and "--" not in lost.replace("---+", "")
    with pytest.raises(ttt.UsageError, match=r"go with resume=RUN; name the run to continue, or give games"):
        ttt.train(more=5)
    assert "go with --resume RUN; name the run to continue, or give --games" in misused(capsys, "train", "--more", "5")


@pytest.mark.slow
def test_a_new_name_without_an_ending_gets_the_usual_one(here, capsys):
    for words in (
        ["train", "--games", "100", "-o", "a"],
        ["study", "--games", "100", "--seeds", "1", "-o", "b"],
        ["export", "a", "--to", "csv", "-o", "c"],
        ["export", "a", "--to", "html", "-o", "d"],
        ["export", "a", "--to", "pickle", "-o", "e", "-o", "f"],
        ["export", "random", "--to", "json", "-o", "g"],
        ["import", "c.csv", "--learner", "td", "-o", "h"],
    ):
        status, out, err = command(capsys, *words, "--quiet")
        assert (status, err) == (0, ""), words
    names = {path.name for path in here.iterdir()} - {"td-3x3.h5", "other.h5"}
    assert names == {"a.h5", "b.h5", "c.csv", "d.html", "e.bin", "f.bin", "g.json", "h.h5"}
    assert "saved h.h5" in out


@pytest.mark.parametrize(
    ("words", "said"),
    {
        "train --games 9 -o x.CSV": "ends in .CSV, which is not for runs and studies; name another file, e.g. x.h5",
        "study --games 9 --seeds 1 -o x.png": "x.png ends in .png, which is not for runs and studies",
        "import x.json -o y.txt": "y.txt ends in .txt, which is not for runs and studies",
        "export td-3x3 --to raw -o x.svg": "x.svg ends in .svg, which is not for raw; name another file or format",
        "page -o x.png": "x.png ends in .png, which is not for html",
    }.items(),
)
def test_a_new_name_with_the_ending_of_another_format_is_refused(here, capsys, words, said):
    status, out, err = command(capsys, *words.split())
    assert (status, out, len(err.splitlines())) == (2, "", 1) and said in err
    assert not list(here.glob("[xy].*"))


def test_a_name_that_is_there_is_taken_as_it_is(here, capsys):
    (here / "kept").write_text("mine")
    (here / "odd.csv").write_bytes((here / "td-3x3.h5").read_bytes())
    assert command(capsys, "train", "--games", "100", "-o", "odd.csv", "--overwrite", "--quiet")[0] == 0
    status, _, err = command(capsys, "train", "--games", "100", "-o", "kept")
    assert (status, "kept exists already" in err, (here / "kept").read_text()) == (1, True, "mine")
    assert command(capsys, "train", "--games", "100", "-o", "run.v2", "--quiet")[0] == 0
    assert (here / "run.v2").is_file()
