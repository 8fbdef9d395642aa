"""Reader of command lines: values as typed, `--help` in sections, and one line for each error.

Every option is text, a path or a switch.  Text is parsed where it is used, by the parsers that Python calls share
(`core.text`), so no library's wording appears.  typer parses even text with pydantic, which takes 0.04 s to load;
`PlainCommand` keeps the typed text.

Near misses are words of other programs for our commands and options, each with its probable meaning.
"""

import functools
import inspect
import itertools
import re
import typing
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from typer.core import TyperCommand, TyperGroup

from ttt_batch.compiler.settings import check_compiler_settings
from ttt_batch.core.console import for_shell
from ttt_batch.core.errors import TttBatchError, UsageError, command_line_messages, dashed, quoted
from ttt_batch.core.files import PICTURES, exists, has_ending, is_file, reason, shown
from ttt_batch.core.text import SEAT_WORDS, either, find_name, fold_case, suggested_name, whole_number
from ttt_batch.games.board import BOARD_NAMES, NAMED
from ttt_batch.runs.lookup import find_agent_or_run, find_run
from ttt_batch.runs.options import OPTIONS

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
"""Other words that people type for each command."""

OPTION_WORDS = {
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
"""Other words that people type for each option; the first option that the command has is meant."""

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
    **{("", word): ": progress is shown unless --quiet is given; leave it out" for word in ("verbose", "progress")},
    ("", "debug"): "; after TTT_BATCH_DEBUG=1 an internal error shows where it arose",
    **{("", word): ": all work is done by processors; leave it out" for word in ("gpu", "cuda", "device")},
    ("", "render"): "; watch shows games",
}
"""Reason, as the end of a message, why a command (any if empty) lacks an option that a person may expect (folded)."""

NO_ARGUMENT = {
    "play": "; watch takes two players, and play only yours",
    "compare": "; it takes two runs, and tournament takes more",
    "info": "; it takes one file at a time",
    "check": "; it takes one file at a time",
    "prove": "; it takes one run at a time",
    "page": "; export --to html makes a page of a run, and --out names the file",
}
"""Reason, as the end of a message, why a command takes no more arguments."""

SWEPT = [name for name, declared in OPTIONS.items() if declared.swept and declared.help]
LISTED = ("--learner", "--opponent", "--seeds", *map(dashed, SWEPT))
"""Options of `study` that take a list as one word, by their names in Python and as they are typed."""

OPTION_START = re.compile(r"--?[a-zA-Z]")
"""Pattern of the beginning of an option, not of a negative number."""

UNITS = {"thousand": "k", "million": "M", "billion": "G", "k": "k", "m": "M"}
"""Words after a number of games, and their letters."""


def _meanings(table: Mapping[str, str]) -> dict[str, list[str]]:
    """Turn a table around: what each word, folded, may mean."""
    found: dict[str, list[str]] = {}
    for meaning, words in table.items():
        for word in words.split():
            found.setdefault(fold_case(word), []).append(meaning)
    return found


def meant_options(given: str) -> list[str]:
    """Return the options that one of another program may mean, some with a value; a command may lack them."""
    return _meanings(OPTION_WORDS).get(fold_case(given), [])


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
    shapes = {
        "--games": whole_number(word) is not None,
        "--seconds": whole_number(word) is not None,
        "--board": re.fullmatch(r"\d+x\d+(x\d+)?(-[a-z]+)*", word.lower(), re.ASCII) is not None,
        "--resume": is_file(find_run(word or " ")),
        "--against": is_file(find_run(word or " ")),
        "--out": has_ending(Path(word)),
    }
    if (folded := fold_case(word)) in NAMED | BOARD_NAMES:
        word, shapes["--board"] = NAMED.get(folded, word), True
    return next((f"{opt} {word}" for opt, fits in shapes.items() if fits and opt in options), None)


def without_brackets(words: Sequence[str]) -> list[str]:
    """Return the words of `[0.1, 0.2]`, or of other brackets, without them; nothing without brackets."""
    text = " ".join(words)
    if text[:1] + text[-1:] not in ("[]", "()", "{}"):
        return []
    return text[1:-1].replace(",", " ").split()


def in_one_word(command: str, option: str, metavar: str, words: Sequence[str]) -> str | None:
    """Return several words after an option as the one word that it takes; None if it takes no such value."""
    if option == "--board" and (named := (NAMED | BOARD_NAMES).get(fold_case("".join(words)))):
        return named
    digits = all(re.fullmatch(r"\d+", word, re.ASCII) for word in words)
    if option == "--board" and digits and len(words) <= 3:
        return "x".join(words)
    if option in ("--games", "--more", "--until"):
        if digits and all(len(word) == 3 for word in words[1:]):
            return ",".join(words)
        if len(words) == 2 and (unit := UNITS.get(words[1].rstrip("s").lower())):
            return f"{words[0]}{unit}"
    numbers = all(re.fullmatch(r"[-\d.,]+", word, re.ASCII) for word in words)
    if ("," in metavar and numbers) or (command == "study" and option in LISTED):
        return ",".join(word.strip(",") for word in words)
    return None


def is_list(option: str, value: str) -> bool:
    """Return whether a value is a list, such as `td,sarsa`, of a single-value option; `0,5` is a number."""
    if ":" in value:  # FILE.py:NAME may stand beside a name
        return False
    single = ("--learner", "--board", "--alpha", "--epsilon", "--gamma")
    return option in single and "," in value and re.search(r"(?:^|,)\d*(?:,|$)", value) is None


PROGRAM = "ttt-batch"
FILE_ARGUMENT = re.compile(r"\[?(RUN|FILE)")
"""Beginnings of the metavar of an argument that is a file or an agent."""


class _Taking:
    """Takes the values of options as they were typed; also of those that typer adds, such as --help."""

    kinds: typing.Mapping[str, Any] = {}
    """Types of the options that take text, paths or lists of them."""

    def get_params(self, ctx: Any) -> list[Any]:
        """Return all options and arguments."""
        params: list[Any] = super().get_params(ctx)  # type: ignore[misc]
        for param in params:
            if not isinstance(param.process_value, functools.partial):
                kind = self.kinds.get(str(param.name))
                param.process_value = functools.partial(_as_typed, param, kind, param.process_value)
                if param.param_type_name == "argument":  # typer would add brackets of its own, and a type of Python
                    param.get_usage_pieces = lambda _ctx, param=param: [str(param.metavar)]
                    param.get_help_record = lambda _ctx, param=param: (str(param.metavar), str(param.help))
        return params

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read the arguments into `ctx`.  An option of one dash and a word, as -games, is named whole in errors."""
        typed = list(args)
        try:
            rest: list[str] = super().parse_args(ctx, args)  # type: ignore[misc]
        except Exception as error:
            if getattr(error, "ctx", ctx) is None:
                error.ctx = ctx  # type: ignore[attr-defined]
            given = str(getattr(error, "option_name", ""))
            if len(given) == 2 and given not in typed:
                whole = (word for word in typed if word[0] == "-" != word[1:2] and given[1] in word)
                error.option_name = next(whole, given)  # type: ignore[attr-defined]
            raise
        return rest


TRAINING_PANELS = {
    "Learning": "games learner start",
    "Opponents": "opponent time-limit",
    "Networks": "",
    "Seeds and settings": "seeds sweep tally confirm best dry-run",
    "Resuming": "resume more until fork run checkpoint-every",
    "Output": "out overwrite record keep keep-points watch pace quiet json help",
    "Clusters": "workers scheduler",
    "Advanced": "max-memory threads trust",
}
"""Sections of `--help` for commands that learn, each with its options beside those that declare it."""

PLAYING_PANELS = {
    "Smallest proofs": "",
    "Agents": "samples symmetric illegal time-limit",
    "Output": "out overwrite certificate record quiet json help",
    "Advanced": "budget threads trust learner",
}
"""The same for commands that use what was learnt."""

PANELS = dict.fromkeys(("train", "study", "learn-from"), TRAINING_PANELS)
FEW_OPTIONS = 10
"""Options of a command whose `--help` lists them in one section."""


class PlainCommand(_Taking, TyperCommand):
    """Command that takes values as they were typed."""

    @functools.cached_property
    def kinds(self) -> typing.Mapping[str, Any]:  # type: ignore[override]
        """Return the types of the options that take `str`, `Path` or a list of them, also if optional."""
        assert self.callback is not None  # a command has a function
        found = {}
        for name, one in inspect.signature(inspect.unwrap(self.callback), eval_str=True).parameters.items():
            hint = one.annotation
            hint = typing.get_args(hint)[0] if typing.get_origin(hint) is typing.Annotated else hint
            kinds = [hint] if typing.get_origin(hint) is list else typing.get_args(hint) or (hint,)
            found[name] = next((kind for kind in kinds if kind in (str, Path, list[str], list[Path])), None)
        return found

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read the arguments into `ctx`.  Raises UsageError for one too many, and typer's own errors."""
        ctx.allow_extra_args, typed = True, list(args)
        try:
            rest = super().parse_args(ctx, args)
        except UsageError:
            self._refuse_lists(typed, [])  # it says more of a word that was also taken for an argument
            raise
        if not ctx.resilient_parsing:
            self._refuse_lists(typed, rest)
            if rest:
                raise self._one_too_many(ctx, typed, rest[0])
        return rest

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write the arguments and options of `--help`, many options in sections."""
        sections: dict[str, list[Any]] = {"Arguments": [], "Options": []}
        many = len(self.params) > FEW_OPTIONS
        panels = PANELS.get(str(self.name), PLAYING_PANELS) if many else {}
        panel_of = {f"--{option}": panel for panel, options in panels.items() for option in options.split()}
        sections |= {panel: [] for panel in panels}
        for param in self.get_params(ctx):
            if (record := param.get_help_record(ctx)) is not None:
                panel = next((panel_of[name] for name in param.opts if name in panel_of), "Options")
                panel = param.rich_help_panel if param.rich_help_panel in panels else panel
                sections["Arguments" if param.param_type_name == "argument" else panel].append(record)
        for title, records in sections.items():
            if records:
                with formatter.section(title):
                    formatter.write_dl(records)

    def _refuse_lists(self, typed: list[str], rest: list[str]) -> None:
        """Raise UsageError for several words after an option that takes one, as `--alpha 0.1 0.2`.

        rest: the arguments too many.  Nothing is refused if one of the words may be the name of a file.
        """
        known = options_of(self)
        for place, word in enumerate(typed):
            option, equals, value = word.partition("=")
            if option not in known or known[option].is_flag:
                continue
            after = itertools.takewhile(lambda other: not OPTION_START.match(other), typed[place + 1 :])
            words = [*([value] if equals else []), *after]
            metavar = known[option].metavar or ""
            if not FILE_ARGUMENT.match(metavar) and (inner := without_brackets(words)):
                value = in_one_word(str(self.name), option, metavar, inner) or ",".join(inner)
                raise UsageError(f"{option} takes no brackets; write {option} {value}{manual(self.name)}")
            if self.name == "train" and len(words) == 1 and is_list(option, words[0]):
                raise self._several(option, words)
            listed = "," in metavar or (self.name == "study" and option in LISTED)
            if len(words) == 1 and listed and re.fullmatch(r"[\d.]+(\s+[\d.]+)+", words[0]):
                words = words[0].split()
            if len(words) < 2 or any(exists(Path(other)) or has_ending(Path(other)) for other in words[1:]):
                continue
            one = in_one_word(str(self.name), option, metavar, words)
            if one is not None:
                raise UsageError(f"{option} takes one word; write {option} {one}{manual(self.name)}")
            if self.name == "train" and option in LISTED and set(words) & set(rest):
                raise self._several(option, words)

    def _several(self, option: str, words: list[str]) -> UsageError:
        """Return the error for several values of an option of `train` that takes one."""
        several = f"{PROGRAM} study {option} {','.join(words)}"
        return UsageError(f"{option} takes one value; compare several with {several}{manual(self.name)}")

    def _one_too_many(self, ctx: Any, typed: list[str], word: str) -> UsageError:
        """Return the error for an argument that the command does not take."""
        known = options_of(self)
        before = dict(zip(typed[1:], typed, strict=False)).get(word, "")
        if before in known and known[before].is_flag:
            return UsageError(f"{before} is a switch and takes no value; leave {quoted(word)} out{manual(self.name)}")
        if before.startswith("cmd:"):
            why = f"; quote a program with its arguments: {for_shell(f'{before} {word}')}"
        else:
            why = NO_ARGUMENT.get(str(self.name)) or _instead_of_word(word, ctx)
        return UsageError(f"{self.name} takes no argument {quoted(word)}{why}{manual(self.name)}")

    def invoke(self, ctx: Any) -> Any:
        """Run the command; messages speak of options."""
        check_compiler_settings()
        with command_line_messages():
            return super().invoke(ctx)


class Program(_Taking, TyperGroup):
    """The program: its commands by name, however they are spelled."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read the arguments into `ctx`; `help train` and `train help` are `train --help`.

        Raises UsageError, and TttBatchError if completion cannot be installed.
        """
        if args[:1] == ["help"] or (args[1:] == ["help"] and not exists(Path("help"))):
            args = [*[word for word in args if word != "help"][:1], "--help"]
        if args[:1] in (["--install-completion"], ["--show-completion"]) and args[1:] and not ctx.resilient_parsing:
            what = f"{args[0]} is for the shell in which it runs"
            raise UsageError(f"{what}; leave {quoted(args[1])} out, and run it there{manual()}")
        installs = args == ["--install-completion"]
        try:
            return super().parse_args(ctx, args)
        except (OSError, UnicodeError) as error:
            if not installs:
                raise
            name = getattr(error, "filename", None)
            what = f"write {shown(Path(name))}" if name else "install completion"
            why = reason(error) if isinstance(error, OSError) else "the shell's file is not UTF-8"
            remedy = "put what --show-completion prints where your shell reads it"
            raise TttBatchError(f"cannot {what}: {why}; {remedy}") from None

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Return the command that the first of `args` names.  Raises UsageError."""
        if not ctx.resilient_parsing and (args[0] == "-" or not args[0].startswith("-")):
            found = find_name(args[0], self.commands)
            if found is None:
                raise UsageError(f"there is no command {quoted(args[0])}{self._meant(ctx, args[0])}{manual()}")
            args = [found, *args[1:]]
        return super().resolve_command(ctx, args)

    def _meant(self, ctx: Any, word: str) -> str:
        """Return the end of a message about a word in the place of a command: what it probably means."""
        if fold_case(word) == fold_case(PROGRAM):
            return "; the program's name is there twice"
        if exists(path := find_run(word or " ")):
            return f", and {shown(path)} is a file; name a command first, e.g. {PROGRAM} info"
        meanings = _meanings(COMMANDS).get(fold_case(word), [])
        meant = next((one for one in meanings if one.startswith("-") or one.split()[0] in self.commands), None)
        meant = meant or suggested_name(word, self.commands)
        if meant is None:
            train = self.commands["train"]
            option = meant_argument(word, options_of(train), ctx)
            meant = None if option is None else f"train {option}"
        return _question(meant)


def manual(command: str | None = None) -> str:
    """Return where to read on, for the end of a message."""
    return f" (see {PROGRAM} {command} --help)" if command else f" (see {PROGRAM} --help)"


def _question(meant: str | None) -> str:
    """Return the question whether a name was meant, if there is one."""
    return "" if meant is None else f"; did you mean {meant}?"


def _instead_of_word(word: str, ctx: Any) -> str:
    """Return the end of a message about a word in the wrong place: a reason, or what to write instead, if known."""
    if why := NO_OPTION.get((ctx.command.name, fold_case(word))):
        return why
    if meant := meant_argument(word, options_of(ctx.command), ctx):
        return _question(meant)
    other = find_name(word, getattr(ctx.parent and ctx.parent.command, "commands", {}))
    return "" if other is None else f"; {other} is a command, and a line has one"


def _refuse_words(words: typing.Sequence[str], ctx: Any) -> None:
    """Raise UsageError for a word in the place of a file, such as `play first`, that means an option."""
    for word in words:
        ending = has_ending(Path(word)) and not word.lower().endswith(PICTURES)
        letter = len(word) == 1 and fold_case(word) not in SEAT_WORDS
        meant = find_agent_or_run(word)
        if ending or letter or isinstance(meant, str) or is_file(meant) or exists(Path(word)):
            continue
        if instead := _instead_of_word(word, ctx):
            raise UsageError(f"there is no file {shown(Path(word))}{instead}{manual(ctx.command.name)}")


def misuse(error: Any) -> str:
    """Return one line for a usage error of typer, whose versions carry click under different names."""
    kind, ctx, param = type(error).__name__, getattr(error, "ctx", None), getattr(error, "param", None)
    command, parent = getattr(ctx, "command", None), getattr(ctx, "parent", None)
    name = None if parent is None else getattr(command, "name", None)
    known = options_of(command)
    given = str(getattr(error, "option_name", ""))
    if kind == "NoSuchOption":
        commands = getattr(command if parent is None else parent.command, "commands", {})
        written = given if given.isprintable() else quoted(given)
        instead = _instead(given, name, {**known, "--help": None}, commands)
        return f"{name or PROGRAM} has no option {written}{instead}{manual(name)}"
    if kind == "BadOptionUsage" and given in known:
        if known[given].is_flag:
            return f"{given} is a switch and takes no value; leave the value out{manual(name)}"
        return f"{given} takes a value; give {given} {known[given].metavar or 'VALUE'}{manual(name)}"
    if kind == "MissingParameter" and param is not None:
        metavar = (param.metavar or str(param.name).upper()).strip("[]")
        wanted = f"{param.opts[0]} {metavar}" if param.opts[0].startswith("-") else metavar
        meaning = f": {param.help.rstrip('.')}" if getattr(param, "help", None) else ""
        return f"{name} needs {wanted}{meaning}{manual(name)}"
    return f"{' '.join(str(error.format_message()).split()).rstrip('.')}{manual(name)}"


def options_of(command: Any) -> dict[str, Any]:
    """Return the options of a command by each of their names."""
    params = getattr(command, "params", [])
    return {opt: each for each in params for opt in (*each.opts, *each.secondary_opts) if opt.startswith("-")}


def _instead(given: str, name: str | None, known: typing.Mapping[str, Any], commands: typing.Mapping[str, Any]) -> str:
    """Return the end of a message about an option that a command lacks: a reason, or the option to give instead.

    The option is one of the command by the table of near misses, else of other commands, else of similar spelling.
    name: of the command, None for the program.  known: its options.  commands: all commands.
    """
    if why := NO_OPTION.get((name or "", fold_case(given))) or NO_OPTION.get(("", fold_case(given))):
        return why
    meanings = meant_options(given)
    if name is None and (called := find_name(given, commands)):
        return _question(called)
    if meant := find_name(given, known) or next((each for each in meanings if each.split()[0] in known), None):
        return _question(meant)
    for option in (given, *meanings):
        if owners := [other for other, command in commands.items() if option in options_of(command)]:
            if name is None:
                return f"; name a command first, e.g. {PROGRAM} {owners[0]} {option}"
            listed = either(owners[:3] if len(owners) <= 3 else [*owners[:2], "another command"])
            return f"; {option} is for {listed}"
    return _question(suggested_name(given, list(known)) if len(fold_case(given)) > 1 else None)


def _as_typed(param: Any, kind: Any, usual: Any, ctx: Any, value: Any) -> Any:
    """Return the value of an option as typed, or its default.  typer itself handles missing ones."""
    given = value not in (None, (), [])
    if ctx.resilient_parsing:  # a shell completes: nothing is looked up, or said
        return value
    if (param.required and not given) or (kind is None and given):
        return usual(ctx, value)
    words = value if isinstance(value, list | tuple) else (value,)
    named = kind in (Path, list[Path]) or FILE_ARGUMENT.match(param.metavar or "") is not None
    if named and given and "" in words:
        name = param.opts[0] if param.param_type_name == "option" else (param.metavar or "").strip("[]")
        raise UsageError(f"the name for {name} is empty; name a file{manual(ctx.command.name)}")
    options = options_of(ctx.command)
    if param.param_type_name == "option" and kind is not None and any(str(word) in options for word in words):
        wanted = f"{param.opts[0]} {param.metavar or 'VALUE'}"  # the value itself is missing
        raise UsageError(f"{param.opts[0]} takes a value; give {wanted}{manual(ctx.command.name)}")
    if named and given and param.param_type_name == "argument":
        _refuse_words([str(word) for word in words], ctx)
    if kind in (list[str], list[Path]):
        value = [typing.get_args(kind)[0](text) for text in value] if given else None
    elif kind is Path and given:
        value = Path(value)
    # Readers take given values; an argument that is not given may stand for the newest file.
    read = param.callback if given or param.param_type_name == "argument" else None
    return value if read is None else read(ctx, param, value)
