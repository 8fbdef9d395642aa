"""How a command line is read: values as they were typed, and one line in our words for what cannot be read.

Every option is text, a path or a switch.  What the text stands for is read where it is used, by the readers that Python
calls share (`quantities`, `choices`), so no library's wording comes up.  typer reads even text with pydantic, which
takes 0.04 s to load; `Command` takes it as it is.
"""

import functools
import inspect
import typing
from pathlib import Path
from typing import Any

from typer.core import TyperCommand, TyperGroup

from ttt_batch.base.choices import find_name, suggested_name
from ttt_batch.base.compiler_settings import check_compiler_settings
from ttt_batch.base.errors import UsageError, command_line_words, quoted

PROGRAM = "ttt-batch"


_WHY_NOT: dict[tuple[str | None, str], str] = {
    ("study", "--keep-points"): ": it keeps what was recorded of each learner, not its tables; train keeps those of one"
}
"""Why a command lacks an option that a person may expect, for the end of its message."""


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


class Command(_Taking, TyperCommand):
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
            rest: list[str] = super().parse_args(ctx, args)
        except Exception as error:
            if getattr(error, "ctx", ctx) is None:
                error.ctx = ctx  # type: ignore[attr-defined]
            raise
        if rest and not ctx.resilient_parsing:
            before = dict(zip(typed[1:], typed, strict=False)).get(rest[0])
            if any(before in param.opts and getattr(param, "is_flag", False) for param in self.params):
                raise UsageError(
                    f"{before} is a switch and takes no value; leave {quoted(rest[0])} out{manual(self.name)}"
                )
            raise UsageError(f"{self.name} takes no argument {quoted(rest[0])}{manual(self.name)}")
        return rest

    def invoke(self, ctx: Any) -> Any:
        """Run the command; messages speak of options."""
        check_compiler_settings()
        with command_line_words():
            return super().invoke(ctx)


class Program(_Taking, TyperGroup):
    """The program: its commands by name, however they are spelled."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """The command that the first of `args` names.  Raises UsageError."""
        if not ctx.resilient_parsing and not args[0].startswith("-"):
            found = find_name(args[0], self.commands)
            if found is None:
                asked = _question(suggested_name(args[0], self.commands))
                raise UsageError(f"there is no command {quoted(args[0])}{asked}{manual()}")
            args = [found, *args[1:]]
        return super().resolve_command(ctx, args)


def manual(command: str | None = None) -> str:
    """Where to read on, for the end of a message."""
    return f" (see {PROGRAM} {command} --help)" if command else f" (see {PROGRAM} --help)"


def _question(meant: str | None) -> str:
    """Asks whether a name was meant, if there is one."""
    return "" if meant is None else f"; did you mean {meant}?"


def misuse(error: Any) -> str:
    """One line for a usage error of typer, which carries click under different names in different versions."""
    kind, ctx, param = type(error).__name__, getattr(error, "ctx", None), getattr(error, "param", None)
    command = getattr(ctx, "command", None)
    name = getattr(command, "name", None) if getattr(ctx, "parent", None) is not None else None
    known = {opt: each for each in getattr(command, "params", []) for opt in (*each.opts, *each.secondary_opts)}
    given = str(getattr(error, "option_name", ""))
    if kind == "NoSuchOption":
        asked = _question(suggested_name(given, [opt for opt in known if opt.startswith("-")]))
        why = _WHY_NOT.get((name, given), "")
        shown = given if given.isprintable() else quoted(given)
        return f"{name or PROGRAM} has no option {shown}{why}{asked}{manual(name)}"
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
    if (param.required and not given) or (kind is None and given):
        return usual(ctx, value)
    named = kind in (Path, list[Path]) or (param.metavar or "").strip("[.]") == "RUN"
    if named and given and "" in (value if isinstance(value, list | tuple) else (value,)):
        name = param.opts[0] if param.param_type_name == "option" else param.metavar
        raise UsageError(f"the name for {name} is empty; name a file{manual(ctx.command.name)}")
    if given and param.param_type_name == "option" and kind is not None and _is_option(ctx, value):
        wanted = f"{param.opts[0]} {param.metavar or 'VALUE'}"
        raise UsageError(f"{param.opts[0]} takes a value; give {wanted}{manual(ctx.command.name)}")
    if kind in (list[str], list[Path]):
        value = [typing.get_args(kind)[0](text) for text in value] if given else None
    elif kind is Path and given:
        value = Path(value)
    return value if param.callback is None else param.callback(ctx, param, value)
