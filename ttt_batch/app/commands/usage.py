"""How a command line is read: values as they were typed, and one line in our words for what cannot be read.

Every option is text, a path or a switch.  What the text stands for is read where it is used, by the readers that Python
calls share (`quantities`, `choices`), so no library's wording comes up.  typer reads even text with pydantic, which
takes 0.04 s to load; `PlainCommand` takes it as it is.
"""

import functools
import inspect
import itertools
import re
import typing
from pathlib import Path
from typing import Any

from typer.core import TyperCommand, TyperGroup

from ttt_batch.app.commands.near_misses import (
    LISTED,
    NO_ARGUMENT,
    NO_OPTION,
    OPTION_START,
    PICTURE_ENDINGS,
    in_one_word,
    is_list,
    meant_argument,
    meant_command,
    meant_options,
    without_brackets,
)
from ttt_batch.base.choices import SEAT_WORDS, either, find_name, fold_case, suggested_name
from ttt_batch.base.compiler_settings import check_compiler_settings
from ttt_batch.base.errors import UsageError, command_line_messages, quoted
from ttt_batch.base.files import exists, has_ending, is_file, shown

PROGRAM = "ttt-batch"
FILE_ARGUMENT = re.compile(r"\[?(RUN|FILE)")
"""How the metavar of an argument begins that is a file, or an agent."""


class _Taking:
    """Takes the values of options as they were typed; also of those that typer adds, such as --help."""

    kinds: typing.Mapping[str, Any] = {}

    def get_params(self, ctx: Any) -> list[Any]:
        """All options and arguments."""
        params: list[Any] = super().get_params(ctx)  # type: ignore[misc]
        for param in params:
            if not isinstance(param.process_value, functools.partial):
                kind = _kind(self.kinds.get(str(param.name)))
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


class PlainCommand(_Taking, TyperCommand):
    """A command whose values are taken as they were typed."""

    def __init__(self, name: str | None, *, callback: Any = None, **settings: Any) -> None:
        super().__init__(name, callback=callback, **settings)
        self._function = callback

    @functools.cached_property
    def kinds(self) -> typing.Mapping[str, Any]:  # type: ignore[override]
        """The types of the command's parameters."""
        return typing.get_type_hints(inspect.unwrap(self._function))

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
        before = dict(zip(typed[1:], typed, strict=False)).get(word)
        if before in known and known[before].is_flag:
            return UsageError(f"{before} is a switch and takes no value; leave {quoted(word)} out{manual(self.name)}")
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
        """Read the arguments into `ctx`; `help train` and `train help` are `train --help`."""
        if args[:1] == ["help"] or (args[1:] == ["help"] and not exists(Path("help"))):
            args = [*[word for word in args if word != "help"][:1], "--help"]
        rest: list[str] = super().parse_args(ctx, args)
        return rest

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """The command that the first of `args` names.  Raises UsageError."""
        if not ctx.resilient_parsing and (args[0] == "-" or not args[0].startswith("-")):
            found = find_name(args[0], self.commands)
            if found is None:
                raise UsageError(f"there is no command {quoted(args[0])}{self._meant(ctx, args[0])}{manual()}")
            args = [found, *args[1:]]
        return super().resolve_command(ctx, args)

    def _meant(self, ctx: Any, word: str) -> str:
        """Return the end of a message about a word in the place of a command: what it probably means."""
        from ttt_batch.runs.lookup import find_run

        if fold_case(word) == fold_case(PROGRAM):
            return "; the program's name is there twice"
        if exists(path := find_run(word or " ")):
            return f", and {shown(path)} is a file; name a command first, e.g. {PROGRAM} info"
        meant = meant_command(word, self.commands) or suggested_name(word, self.commands)
        if meant is None:
            train = self.commands["train"]
            option = meant_argument(word, options_of(train), ctx)
            meant = None if option is None else f"train {option}"
        return _question(meant)


def manual(command: str | None = None) -> str:
    """Where to read on, for the end of a message."""
    return f" (see {PROGRAM} {command} --help)" if command else f" (see {PROGRAM} --help)"


def _question(meant: str | None) -> str:
    """Asks whether a name was meant, if there is one."""
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
    """Raise UsageError for a word in the place of a file, such as `play first`, that names none and means an option."""
    from ttt_batch.runs.lookup import find_agent_or_run

    for word in words:
        ending = has_ending(Path(word)) and not word.lower().endswith(PICTURE_ENDINGS)
        letter = len(word) == 1 and fold_case(word) not in SEAT_WORDS
        meant = find_agent_or_run(word)
        if ending or letter or isinstance(meant, str) or is_file(meant) or exists(Path(word)):
            continue
        if instead := _instead_of_word(word, ctx):
            raise UsageError(f"there is no file {shown(Path(word))}{instead}{manual(ctx.command.name)}")


def misuse(error: Any) -> str:
    """One line for a usage error of typer, which carries click under different names in different versions."""
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


def _kind(hint: Any) -> Any:
    """Of an option's type `str`, `Path` or a list of them, also if it may be None; None for others."""
    kinds = [hint] if typing.get_origin(hint) is list else typing.get_args(hint) or (hint,)
    return next((kind for kind in kinds if kind in (str, Path, list[str], list[Path])), None)


def _is_option(ctx: Any, value: Any) -> bool:
    """Whether what was taken for a value is an option of the command: the value itself was left out."""
    words = value if isinstance(value, list | tuple) else (value,)
    return any(str(word).startswith("--") and word in param.opts for word in words for param in ctx.command.params)


def _as_typed(param: Any, kind: Any, usual: Any, ctx: Any, value: Any) -> Any:
    """The value of an option: as it was typed, or its default.  What is missing is left to typer's own way."""
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
    if given and param.param_type_name == "option" and kind is not None and _is_option(ctx, value):
        wanted = f"{param.opts[0]} {param.metavar or 'VALUE'}"
        raise UsageError(f"{param.opts[0]} takes a value; give {wanted}{manual(ctx.command.name)}")
    if named and given and param.param_type_name == "argument":
        _refuse_words([str(word) for word in words], ctx)
    if kind in (list[str], list[Path]):
        value = [typing.get_args(kind)[0](text) for text in value] if given else None
    elif kind is Path and given:
        value = Path(value)
    return value if param.callback is None else param.callback(ctx, param, value)
