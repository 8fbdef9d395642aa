"""Parts that commands share: their options and arguments, the files that they read and write, and how they end."""

import functools
import os
import re
import shlex
import sys
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, TypeVar

import typer

import ttt_batch
from ttt_batch.app.commands.usage import manual
from ttt_batch.core import console
from ttt_batch.core.console import one_line
from ttt_batch.core.errors import NameTakenError, TttBatchError, UsageError, dashed, quoted
from ttt_batch.core.files import EVERYWHERE, exists, is_file, reason, shown, unused_paths, with_ending
from ttt_batch.core.named_code import is_callable_name
from ttt_batch.core.text import ILLEGAL, SEATS, TIES, F, choose_seat, with_options
from ttt_batch.games.board import BOARD, BOARDS
from ttt_batch.runs.lookup import find_agent_or_run, find_run
from ttt_batch.runs.options import OPTIONS, NumberOptions, OwnOptions, PatternOptions

if TYPE_CHECKING:
    from ttt_batch.agents.adapter import AgentAdapter
    from ttt_batch.app.progress import Reporter
    from ttt_batch.runs.loading import AnyRun


Text = str | None
File = Path | None
"""Types of the values of options that may be left out."""

BEYOND_TABLES = ("7x7x5", "8x8x5", "6x7x4-gravity")
TABLE_FORMATS = tuple(
    name
    for file in sorted((Path(ttt_batch.__file__).parent / "runs" / "formats").glob("format_*.py"), reverse=True)
    for name in re.findall('^    name="(.+)",$', file.read_text("utf-8"), re.MULTILINE)
)
"""Names of formats, read from the files that declare them: importing these takes time."""
FORMATS = ("html", "boxes", "cards", "hdf5", "lesson", *TABLE_FORMATS)
PLOTS = ("curves", "opening", "coverage", "movie", "sensitivity", "settling", "heat")
METRICS = (
    *("proof", "settling", "proved", "unbeatable", "first", "second", "loss", "error", "optimal", "response"),
    *("draws", "play", "first-wins", "second-wins", "time", "positions"),
)
RANKS = ("proof", "settling", "proved", "holds", "loss", "error", "time")
SWEEPS = ("grid", "one-at-a-time")
KEEPS = ("none", "last")
CLAIMS = ("cannot-lose", "always-wins")
"""Words that the shell offers while a value is being typed.

A person is waiting, so nothing here may load numba: names of registries that would load it are written out, and a test
compares them with the registries.
"""


def option(
    metavar: str,
    meaning: str,
    *names: str,
    offers: Collection[str] = (),
    default: str = "",
    panel: str | None = None,
    read: Callable[..., Any] | None = None,
    kind: Callable[..., Any] = typer.Option,
) -> Any:
    """Declare an option, or another `kind` of parameter, that takes a value.

    meaning: its help.  names: if they differ from the parameter's.  offers: values that the shell completes.
    default: for the help, if the parameter's is None.  panel: section of the help.  read: converts the typed value.
    """
    return kind(
        *names,
        metavar=metavar,
        help=f"{meaning}  [default: {default}]" if default else meaning,
        autocompletion=_completing(offers) if offers else None,
        callback=read,
        rich_help_panel=panel,
    )


def _completing(names: Collection[str]) -> Callable[[str], list[str]]:
    """Return a completion function for typer: the `names` that begin with the typed text.

    After a comma, as in a study's lists, it offers another one.
    """

    def complete(incomplete: str) -> list[str]:
        before, comma, begun = incomplete.rpartition(",")
        return [f"{before}{comma}{name}" for name in names if name.startswith(begun)]

    return complete


argument = functools.partial(option, kind=typer.Argument)
"""An argument: as `option`, without names."""


def switch(name: str, meaning: str, panel: str | None = None) -> Any:
    """Declare an option without a value."""
    return typer.Option(name, help=meaning, rich_help_panel=panel)


Result = TypeVar("Result")


def load_any_run(path: Path, trust: bool, report: "Reporter | None" = None) -> "AnyRun":
    """Read a run file, with notes about it on standard error, after the notice of `report`."""
    from ttt_batch.runs.loading import load_any

    run = load_any(path, trust=trust)
    if report is not None and run.notes:
        report.clear()
    say(path, run.notes)
    return run


def newest_file(command: str, what: str = "run") -> Path:
    """Return the newest file of a kind here, and print its name on standard error.

    command: its user, for messages.  what: `run`, `study` or `run or study`.
    Raises UsageError without one.
    """
    from ttt_batch.runs.storage.run_file import RUN_FILE, find_newest_run
    from ttt_batch.studies.storage.header import STUDY_FILE

    kinds = {"run": RUN_FILE.begins, "study": STUDY_FILE.begins}
    path = find_newest_run(Path(), lambda file: any(kinds[kind](file) for kind in what.split(" or ")))
    if path is None:
        remedy = f"name one, or make one with ttt-batch {'study' if what == 'study' else 'train'}"
        raise UsageError(f"{command} needs a {what}, and none is here; {remedy}{manual(command)}")
    console.print_message(f"taking {shown(path)}, the newest {what} here")
    return path


def print_result(json: bool, plain: Callable[[], Any], text: Callable[[], str], *, saved: Path | None = None) -> None:
    """Print a result: plain values as JSON, or text.

    saved: the file that holds the result, too.  If the reader of a pipe has gone, the command ends as it would anyway.
    Raises TttBatchError if the result cannot be printed for another reason.
    """
    from ttt_batch.app.reports.layout import to_json

    result = to_json(plain()) if json else text()
    try:
        console.print_lines(result, sys.stdout)
    except OSError as error:
        console.discard_output(sys.stdout)
        if not isinstance(error, BrokenPipeError):
            remedy = "send it elsewhere" if saved is None else f"it is saved in {shown(saved)}"
            raise TttBatchError(f"cannot print the result: {reason(error)}; {remedy}") from None


def say(path: Path, notes: tuple[str, ...]) -> None:
    """Print the notes about a run file, on standard error."""
    for note in notes:
        console.print_message(f"ttt-batch: {shown(path)}: {note}")


@contextmanager
def working(
    message: str = "interrupted", *, quiet: bool = False, doing: str = "", keys: bool = False
) -> "Iterator[Reporter]":
    """Report that kernels are compiled unless `quiet`, and end with `message` if the command is interrupted.

    doing: what takes time before there is anything to show; on a terminal, until the reporter is cleared.
    keys: keep the terminal's keys for the command from now on; they are neither shown nor left for the shell.
    """
    from ttt_batch.app.interrupt import Interrupt

    notice = console.Notice(doing, sys.stderr) if doing and not quiet else None
    with Interrupt(message), ExitStack() as stack:
        if notice is not None:
            stack.callback(notice.wipe)
        if keys:
            from ttt_batch.app.terminal.keys import Keyboard

            stack.enter_context(Keyboard(sys.stdin))
        from ttt_batch.app.progress import Reporter as Reporting  # with the compiler, which takes up to a second

        yield stack.enter_context(Reporting(quiet=quiet, notice=notice))


def in_new_file(path: Path | None, stem: str, work: Callable[[Path], Result]) -> Result:
    """Do work that writes a file: `path`, or without one the first of stem.h5, stem-2.h5, stem-3.h5 ... that is free.

    work: raises TakenError at its beginning if another process has taken the name.
    """
    return in_new_files([] if path is None else [path], [f"{stem}.h5"], lambda paths: work(paths[0]))


def with_endings(paths: list[Path], names: list[str]) -> list[Path]:
    """Return `paths`, in which new names without an ending get those of `names`; the last one serves all others."""
    endings = [Path(name).suffix for name in names]
    return [with_ending(path, endings[min(i, len(endings) - 1)]) for i, path in enumerate(paths)]


def in_new_files(paths: list[Path], names: list[str], work: Callable[[list[Path]], Result]) -> Result:
    """Do work that writes files: `paths`, or if empty for each of `names` the first of a.png, a-2.png ... that is free.

    A new name without an ending in `paths` gets that of `names`.
    work: raises NameTakenError if another process has taken a name; it is then done again with the next ones.
    """
    if paths:
        return work(with_endings(paths, names))
    for free in zip(*(unused_paths(Path(name.replace(os.sep, "_"))) for name in names), strict=True):
        with suppress(NameTakenError):
            return work(list(free))
    raise AssertionError("names do not run out")


def command_line() -> str:
    """Return the command for the run file, ready to paste; the program by its name, not by its path."""
    return shlex.join(["ttt-batch", *sys.argv[1:]])


def new_run(path: Path) -> Path:
    """Return the file for a run or a study, by default an `.h5`.  Raises UsageError for endings of other formats."""
    path = with_ending(path, ".h5")
    if path.suffix != ".h5" and not exists(path):
        from ttt_batch.runs.formats import check_ending  # loads all formats

        check_ending(path, "hdf5", "runs and studies", f"name another file, e.g. {shown(path.with_suffix('.h5'))}")
    return path


def run_or_none(named: Path | None) -> Path | None:
    """Return the run file that is named, or None without a name."""
    return None if named is None else find_run(named)


def _or_newest(find: Callable[[Any], Any], what: str = "run") -> Callable[..., Any]:
    """Return a reader that finds what is named, or without a name takes the newest file here."""

    def read(ctx: typer.Context, named: Any) -> Any:
        return find(newest_file(ctx.info_name or "", what) if named is None else named)

    return read


def player_named(name: str) -> str:
    """Return a player named by order, or as X or O.  Raises UsageError."""
    return choose_seat(name, what="player")


def split_learners(typed: str) -> list[str]:
    """Return names of learners with commas between; FILE.py:NAME alone may have commas in its path."""
    path, _, name = typed.rpartition(":")
    return [typed] if name.isidentifier() and is_file(Path(path)) else typed.split(",")


def learners_meant(typed: Text) -> Text:
    """Return names of learners: each FILE.py:NAME is run and registered, and replaced by its learner's name.

    Raises UsageError, also for FILE.py without a name.
    """
    words = [] if typed is None else split_learners(typed)
    own = [word for word in words if word.endswith(".py") or is_callable_name(word)]
    if not own:
        return typed
    from ttt_batch.learners import register_named

    names = [register_named(word) if word in own else word for word in words]
    EVERYWHERE["--learner"] = ",".join(own)
    return ",".join(names)


def learner_meant(typed: Text) -> Text:
    """Return the first of `learners_meant`; after it FILE.py:NAME may name those of other runs that are opened."""
    if typed is None:
        return None
    names, others = learners_meant(typed), split_learners(typed)[1:]
    return names.partition(",")[0] if names and all(map(is_callable_name, others)) else names


def own_learners(typed: str) -> str:
    """Register the learners of the files that are named, for the runs to open.  Raises UsageError for other words."""
    for one in split_learners(typed):
        if not one.endswith(".py") and not is_callable_name(one):
            raise UsageError(
                f"learner {quoted(one)} is not of the form FILE.py:NAME; leave --learner out for a run of a learner "
                "that comes with the package"
            )
    learners_meant(typed)
    return typed


def first_given(options: dict[str, bool]) -> str:
    """Return the name of the first forbidden option that was given; empty without one."""
    return next((name for name, there in options.items() if there), "")


def learning_options(*names: str, command: str = "train") -> Callable[[F], F]:
    """Return a decorator that replaces the `**options` of a command by declared ones (`OPTIONS`), as they are typed.

    command: whose help they show: `train`, `study`, or `learn-from`.
    """
    hints: dict[str, Any] = {}
    for name in names:
        declared, study = OPTIONS[name], command == "study"
        meaning = (command == "learn-from" and declared.given) or declared.help
        panel = declared.panel if declared.read else "Networks"
        if declared.switch and not study:
            hints[name] = Annotated[bool | None, switch(dashed(name), meaning, panel)]
            continue
        metavar = f"{declared.metavar}{';' if declared.commas else ','}..." if study else declared.metavar
        default = "" if meaning == declared.given else declared.default
        hints[name] = Annotated[
            Text, option(metavar, meaning, dashed(name), offers=declared.offers, default=default, panel=panel)
        ]
    return with_options(hints)


OF_LEARNERS = (*NumberOptions.__annotations__, *OwnOptions.__annotations__)
OF_NETWORKS = tuple(name for name in PatternOptions.__annotations__ if OPTIONS[name].help)
"""Options that commands which learn take: of tables, and of networks."""

NEWEST: Any = None
"""The default of an argument that stands for the newest run here."""

FilePath = Annotated[
    Path,
    argument(
        "[FILE]", "File of a run or a study; the newest here if not given.", read=_or_newest(find_run, "run or study")
    ),
]
AnyPlayer = Annotated[
    str, argument("[RUN]", "A run file, or an agent; the newest run here if not given.", read=_or_newest(str))
]
AgentBoard = Annotated[
    Text, option("BOARD", f"An agent's board: {BOARD}.", offers=BOARDS, default="3x3, or that of a run named beside it")
]
Illegal = Annotated[
    Text, option("error|loses", "Meaning of an agent's move to an occupied cell.", offers=ILLEGAL, default="error")
]
TimeLimit = Annotated[
    Text,
    option(
        "SECONDS",
        "For each answer of a program or of agent(board), or each 10,000 positions that another Python agent is asked "
        "about at once.",
        default="10",
    ),
]
Json = Annotated[bool, switch("--json", "Print JSON instead of text.")]
Overwrite = Annotated[bool, switch("--overwrite", "Replace an existing file.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No progress on standard error; warnings and errors only.")]
Trust = Annotated[bool, switch("--trust", "Open a run file that another program changed, though its digest is wrong.")]
OwnLearner = Annotated[
    Text,
    typer.Option(
        "--learner",
        metavar="FILE.py:NAME",
        help="Your own learner of a run: a Python file, which runs with your rights, and the Learner in it; "
        "commas between several.",
        callback=own_learners,
        expose_value=False,
    ),
]
Workers = Annotated[Text, option("N", "Learn in N processes of this machine, by Dask.")]
Scheduler = Annotated[Text, option("ADDRESS", "Workers of a Dask scheduler instead, such as tcp://host:8786.")]
NewRun = Annotated[File, option("FILE", "Run file to write; a new name if not given.", "--out", "-o", read=new_run)]
Player = Annotated[
    Text, option("first|second", "With one file: the player whose values it holds.", offers=SEATS, read=player_named)
]
SeedOfGames = Annotated[Text, option("N", "Seed of these games.", default="0")]

Level = Annotated[
    Text,
    option(
        "70%",
        "Strength: this share of moves is the agent's best, the others are drawn by softmax over its values.",
        default="1",
    ),
]
Epsilon = Annotated[Text, option("5%", "Share of moves to any free cell.", default="0")]
TiesRule = Annotated[
    str,
    option(
        "sharp|soonest|any",
        "What the agent plays of the moves that its rule may pick: sharp takes those with the best exact result "
        "against random play (tables of enumerated boards); soonest the quickest true win or the longest true loss "
        "(wins in one only, where a board is too large to enumerate); any takes any of them.",
        offers=TIES,
    ),
]
PlayTies = Annotated[
    Text,
    option(
        "sharp|soonest|any",
        "What the agent plays of the moves that its rule may pick, see evaluate.",
        offers=TIES,
        default="sharp; soonest on boards too large to enumerate",
    ),
]


class AgentOptions(NamedTuple):
    """Options of agents; None if not given.

    board, illegal, time_limit: as typed.  symmetric: query one image of each position.
    """

    board: str | None = None
    illegal: str | None = None
    time_limit: str | None = None
    symmetric: bool = False

    def open(
        self, players: Sequence[object], trust: bool, report: "Reporter | None" = None
    ) -> AbstractContextManager["list[AnyRun | AgentAdapter]"]:
        """Open players as `agents.external.open_players` does, with notes about run files on standard error."""
        from ttt_batch.agents.external import open_players

        return open_players(players, **self.opening(trust, report))

    def opening(self, trust: bool, report: "Reporter | None") -> dict[str, Any]:
        """Return the options with which `open_players` and `evaluate` open players."""
        given = {name: value for name, value in self._asdict().items() if value is not None}
        return given | {"load": lambda path: load_any_run(find_run(path), trust, report)}

    def refuse(self, why: str, instead: str = "name a run of") -> None:
        """Raise UsageError if any was given.  instead: the remedy in front of the name of a board."""
        for name, value in self._asdict().items():
            if value not in (None, False):
                other = f", or {instead} {value}" if name == "board" else ""
                raise UsageError(f"{dashed(name)} is for agents such as one-ply, and {why}; leave it out{other}")


def called(given: str | Path) -> str:
    """Return the name of a player in results and messages."""
    meant = find_agent_or_run(given)
    return one_line(meant) if isinstance(meant, str) else shown(meant)


def file_stem(given: str | Path) -> str:
    """Return the name of a new file of a player, without its ending."""
    meant = find_agent_or_run(given)
    if isinstance(meant, Path):
        return meant.stem
    words = meant.removeprefix("cmd:").split()
    return Path(words[0]).stem if words else meant
