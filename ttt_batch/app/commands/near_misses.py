"""Words of other programs for our commands and options, and what each was probably meant to be.

All of it is data but for the look-ups at the end; `usage` makes the sentences.
"""

import re
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

from ttt_batch.base.choices import SEAT_WORDS, find_name, fold_case
from ttt_batch.base.files import has_ending, is_file
from ttt_batch.base.quantities import whole_number

COMMANDS = {
    "train": "learn teach fit run start new create init self-play selfplay",
    "train --resume RUN": "resume continue",
    "study": "sweep grid search gridsearch tune experiment experiments",
    "evaluate": "test score judge assess analyze analyse strength",
    "prove": "verify certify",
    "play": "game human",
    "page": "web html site browser serve",
    "watch": "simulate simulation sim match versus vs duel demo",
    "plot": "draw graph chart figure curve curves visualize picture",
    "show": "position state values inspect print display",
    "tournament": "league compete rank ranking elo",
    "learners": "algorithms algorithm agents models list ls",
    "boards": "games sizes solve count",
    "compare": "diff",
    "export": "save convert dump write",
    "import": "load read",
    "info": "describe about stats status",
    "check": "validate doctor",
    "warmup": "compile setup install",
    "bench": "speed perf performance",
    "--version": "version",
}
"""What people type for each command."""

OPTIONS = {
    "--games": "episodes epochs iterations iters n-games num-games number-of-games n-episodes num-episodes max-games "
    "total-games timesteps total-timesteps steps rounds matches count n g",
    "--alpha": "lr learning-rate learn-rate step-size rate a",
    "--gamma": "discount discount-factor discount-rate",
    "--epsilon": "eps exploration exploration-rate explore-rate randomness e",
    "--lambda": "lam trace-decay traces",
    "--explore": "temperature softmax tau",
    "--learner": "algo algorithm agent method model l",
    "--board": "size board-size dim dims shape rows cols columns width height k b",
    "--seed": "random-seed random-state rng seeds s",
    "--seeds": "seed n-seeds num-seeds repeats repetitions replicates trials runs",
    "--out": "output output-file outfile file filename save save-to save-as dest destination name path",
    "--workers": "processes num-workers n-workers",
    "--processes": "threads jobs n-jobs workers cores cpus j",
    "--threads": "jobs n-jobs num-threads n-threads cores cpus cpu processes processors workers j t",
    "--against": "opponent versus vs enemy rival adversary",
    "--opponent": "against versus vs enemy rival adversary",
    "--as": "seat side role player",
    "--as first": "first as-first go-first",
    "--as second": "second as-second go-second",
    "--player": "as seat side",
    "--level": "strength difficulty skill easy medium hard",
    "--batch": "batch-size batches bs",
    "--max-memory": "memory mem ram memory-limit",
    "--checkpoint-every": "save-every checkpoint checkpoint-interval save-interval",
    "--resume": "continue load restore from run",
    "--run": "resume continue start load from",
    "--start": "init initial warm-start init-from",
    "--overwrite": "force replace clobber yes f y",
    "--quiet": "silent no-progress",
    "--to": "format type fmt",
    "--to html": "html page",
    "--to csv": "csv",
    "--to npz": "npz",
    "--json": "format",
    "--kind": "type plot",
    "--record": "log log-games save-games",
    "--symmetry": "symmetric symmetries",
    "--symmetric": "symmetry symmetries",
    "--ties": "tie-break tiebreak tie-breaking",
    "--pace": "delay sleep speed",
    "--time-limit": "timeout time",
    "--seconds": "time duration",
    "--draw-worth": "draw draw-reward draw-value",
    "--start-value": "initial-value init-value q-init initial-q optimistic",
    "--rewards": "reward",
    "--budget": "nodes max-nodes positions",
    "--certificate": "proof cert",
    "--dry-run": "plan estimate",
    "--best": "rank sort sort-by",
    "--version": "v",
    "--help": "usage man h",
}
"""What people type for each option; of several that are possible, the first one that the command has is meant."""

OPPONENT = {
    "play": ": the opponent is its argument, e.g. ttt-batch play td-3x3.h5",
    "watch": ": both players are its arguments, e.g. ttt-batch watch td-3x3.h5 random",
    "tournament": ": the players are its arguments, e.g. ttt-batch tournament td-3x3.h5 random",
}
RIVALS = ("against", "opponent", "vs", "versus", "with", "computer", "ai", "human", "me", "you")
NO_OPTION = {
    ("study", "keeppoints"): ": it keeps what was recorded of each learner, not its tables; train keeps those of one",
    **{(name, word): why for name, why in OPPONENT.items() for word in RIVALS},
    ("show", "position"): ": the position is its argument, e.g. ttt-batch show td-3x3.h5 5 1 9",
    **{
        ("show", word): ": a position is moves or rows, e.g. ttt-batch show b2 a1"
        for word in ("center", "centre", "middle", "corner", "edge", "empty", "start", "opening", "first", "second")
    },
    ("show", "moves"): ": moves are its argument, e.g. ttt-batch show td-3x3.h5 5 1 9",
    **{
        ("plot", word): ": pictures have one size, and an .svg file can be drawn at any; leave it out"
        for word in ("width", "height", "size", "figsize", "dpi")
    },
    ("warmup", "all"): ": it compiles all unless --small is given; leave it out",
    ("", "verbose"): ": progress is shown unless --quiet is given; leave it out",
    ("", "progress"): ": progress is shown unless --quiet is given; leave it out",
    ("", "debug"): "; after TTT_BATCH_DEBUG=1 an internal error shows where it arose",
    ("", "gpu"): ": all work is done by processors; leave it out",
    ("", "cuda"): ": all work is done by processors; leave it out",
    ("", "device"): ": all work is done by processors; leave it out",
    ("", "render"): "; watch shows games",
}
"""Why a command, or any if it is empty, lacks an option (folded) that a person may expect; for a message's end."""

NO_ARGUMENT = {
    "play": "; watch takes two players, and play only yours",
    "compare": "; it takes two runs, and tournament takes more",
    "info": "; it takes one file at a time",
    "check": "; it takes one file at a time",
    "prove": "; it takes one run at a time",
    "page": "; export --to html makes a page of a run, and --out names the file",
}
"""Why a command takes no more arguments, for the end of a message."""

LISTED = (
    *("--learner", "--board", "--epsilon", "--alpha", "--gamma", "--draw-worth", "--start-value", "--lambda"),
    *("--cut", "--beta", "--explore", "--batch", "--engine", "--symmetry", "--opponent", "--as"),
    *("--tuples", "--sharing", "--objective", "--prove-every", "--seeds"),
)
"""Options of `study` that take a list as one word."""


OPTION_START = re.compile(r"--?[a-zA-Z]")
"""How an option begins, and no negative number does."""
PICTURE_ENDINGS = (".png", ".svg", ".gif")
"""How the names of files end that no command reads."""

UNITS = {"thousand": "k", "million": "M", "billion": "G", "k": "k", "m": "M"}
"""Words after a number of games, and their letters."""


def _meanings(table: Mapping[str, str]) -> dict[str, list[str]]:
    """Turn a table around: what each word, folded, may mean."""
    found: dict[str, list[str]] = {}
    for meaning, words in table.items():
        for word in words.split():
            found.setdefault(fold_case(word), []).append(meaning)
    return found


def meant_command(word: str, names: Collection[str]) -> str | None:
    """Return the command that a word of another program probably means, None if none is known."""
    meanings = _meanings(COMMANDS).get(fold_case(word), [])
    return next((meant for meant in meanings if meant.startswith("-") or meant.split()[0] in names), None)


def meant_options(given: str) -> list[str]:
    """Return the options that one of another program may mean, some with a value; a command may lack them."""
    return _meanings(OPTIONS).get(fold_case(given), [])


def meant_argument(word: str, options: Mapping[str, Any], ctx: Any) -> str | None:
    """Return the option, with its value, that a stray argument was probably meant for, None if none is known.

    options: of the command, by their names.
    """
    name, equals, value = word.lstrip("\u2012\u2013\u2014").partition("=")  # dashes that a text editor makes of --
    found = find_name(name, [opt for opt in options if opt.startswith("--")])
    seat = None if name.isdigit() else SEAT_WORDS.get(fold_case(name))
    found = found or next((opt for opt in meant_options(seat or name) if opt.split()[0] in options), None)
    if found is not None:
        return f"{found}{equals}{value}"
    for opt, param in options.items():
        if opt.startswith("--") and all(
            any(item.value == one for item in param.shell_complete(ctx, one)) for one in word.split(",")
        ):
            return f"{opt} {word}"
    from ttt_batch.runs.lookup import find_run

    shapes = {
        "--games": whole_number(word) is not None,
        "--seconds": whole_number(word) is not None,
        "--board": re.fullmatch(r"\d+x\d+(x\d+)?(-[a-z]+)*", word.lower(), re.ASCII) is not None,
        "--resume": is_file(find_run(word or " ")),
        "--against": is_file(find_run(word or " ")),
        "--out": has_ending(Path(word)),
    }
    return next((f"{opt} {word}" for opt, fits in shapes.items() if fits and opt in options), None)


def without_brackets(words: Sequence[str]) -> list[str]:
    """Return the words of `[0.1, 0.2]`, or of other brackets, without them; none if there are no brackets."""
    text = " ".join(words)
    if text[:1] + text[-1:] not in ("[]", "()", "{}"):
        return []
    return text[1:-1].replace(",", " ").split()


def in_one_word(command: str, option: str, metavar: str, words: Sequence[str]) -> str | None:
    """Return several words after an option as the one word that it takes; None if it takes no such value."""
    from ttt_batch.game.board import NAMED

    if option == "--board" and (named := NAMED.get(fold_case("".join(words)))):
        return named
    digits = all(re.fullmatch(r"\d+", word, re.ASCII) for word in words)
    if option == "--board" and digits and len(words) <= 3:
        return "x".join(words)
    if option in ("--games", "--more", "--until") and digits and all(len(word) == 3 for word in words[1:]):
        return ",".join(words)
    if (
        option in ("--games", "--more", "--until")
        and len(words) == 2
        and (unit := UNITS.get(words[1].rstrip("s").lower()))
    ):
        return f"{words[0]}{unit}"
    numbers = all(re.fullmatch(r"[-\d.,]+", word, re.ASCII) for word in words)
    if ("," in metavar and numbers) or (command == "study" and option in LISTED):
        return ",".join(word.strip(",") for word in words)
    return None


def is_list(option: str, value: str) -> bool:
    """Return whether a value is a list, such as `td,sarsa`, where its option takes one; `0,5` is none."""
    if ":" in value:  # FILE.py:NAME may stand beside a name
        return False
    single = ("--learner", "--board", "--alpha", "--epsilon", "--gamma")
    return option in single and "," in value and re.search(r"(?:^|,)\d*(?:,|$)", value) is None
