"""The options and arguments that several commands share, with the readers of what was typed."""

from pathlib import Path
from typing import Annotated, Any

import typer

from ttt_batch.app.commands.declare import BOARDS, File, Text, argument, option, switch
from ttt_batch.app.commands.shared import newest_file
from ttt_batch.base.choices import ILLEGAL, SEATS, TIES, choose_seat
from ttt_batch.base.errors import UsageError, quoted
from ttt_batch.base.files import EVERYWHERE, is_file, with_ending
from ttt_batch.base.named_code import is_callable_name


def find_named_run(path: File) -> File:
    """The run file that is meant, `.h5` or not."""
    from ttt_batch.runs.lookup import find_run

    return None if path is None else find_run(path)


def new_run(path: File) -> File:
    """Return the file to write a run or a study to: a name without an ending gets `.h5`."""
    return None if path is None else with_ending(path, ".h5")


def find_named_runs(paths: list[Path] | None) -> list[Path]:
    """The run files that are meant, `.h5` or not."""
    from ttt_batch.runs.lookup import find_run

    return [find_run(path) for path in paths or []]


def _run_or_newest(ctx: typer.Context, path: File) -> Path:
    return newest_file(ctx.info_name or "") if path is None else find_named_run(path) or path


def _player_or_newest(ctx: typer.Context, player: Text) -> str:
    return str(newest_file(ctx.info_name or "")) if player is None else player


def _file_or_newest(ctx: typer.Context, path: File) -> Path:
    return newest_file(ctx.info_name or "", "run or study") if path is None else find_named_run(path) or path


def player_named(name: Text) -> Text:
    """A player by the order of moving, or as X or O.  Raises UsageError."""
    return None if name is None else choose_seat(name, what="player")


def split_learners(typed: str) -> list[str]:
    """Return names of learners with commas between; FILE.py:NAME alone may have commas in its path."""
    return [typed] if is_file(Path(typed.rpartition(":")[0])) else typed.split(",")


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


def learner_meant(ctx: typer.Context, typed: Text) -> Text:
    """Return the first of `learners_meant`; after it FILE.py:NAME may name those of other runs that are opened."""
    if typed is None or ctx.resilient_parsing:  # no code runs while a shell completes
        return typed
    names, others = learners_meant(typed), split_learners(typed)[1:]
    return names.partition(",")[0] if names and all(map(is_callable_name, others)) else names


def own_learners(ctx: typer.Context, typed: Text) -> Text:
    """Register the learners of the files that are named, for the runs to open.  Raises UsageError for other words."""
    if typed is None or ctx.resilient_parsing:  # no code runs while a shell completes
        return typed
    for one in split_learners(typed):
        if not one.endswith(".py") and not is_callable_name(one):
            raise UsageError(
                f"learner {quoted(one)} is not of the form FILE.py:NAME; leave --learner out for a run of a learner "
                "that comes with the package"
            )
    learners_meant(typed)
    return typed


def first_given(options: dict[str, bool]) -> str:
    """The name of the first option that was given, of those that must not be; empty if none was."""
    return next((name for name, there in options.items() if there), "")


BOARD = "ROWSxCOLUMNS or ROWSxCOLUMNSxK, and -misere, -exact, -gravity"

NEWEST: Any = None
"""The default of an argument that stands for the newest run here."""

RunPath = Annotated[Path, argument("[RUN]", "A run file; the newest here if not given.", read=_run_or_newest)]
FilePath = Annotated[
    Path, argument("[FILE]", "File of a run or a study; the newest here if not given.", read=_file_or_newest)
]
AnyPlayer = Annotated[
    str, argument("[RUN]", "A run file, or an agent; the newest run here if not given.", read=_player_or_newest)
]
AgentBoard = Annotated[
    Text, option("BOARD", f"An agent's board: {BOARD}.", offers=BOARDS, default="3x3, or that of a run named beside it")
]
Illegal = Annotated[
    Text, option("error|loses", "What an agent's move to an occupied cell is.", offers=ILLEGAL, default="error")
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
        help="The learner of a run, if it is one of your own: a Python file, which runs with your rights, and the "
        "Learner in it; commas between several.",
        callback=own_learners,
        expose_value=False,
    ),
]
Workers = Annotated[Text, option("N", "Learn in N processes of this machine, by Dask.")]
Scheduler = Annotated[Text, option("ADDRESS", "Workers of a Dask scheduler instead, such as tcp://host:8786.")]
NewRun = Annotated[File, option("FILE", "Run file to write; a new name if not given.", "--out", "-o", read=new_run)]
DrawWorth = Annotated[Text, option("A,B", "What a draw is worth to the first and the second player.")]
StartValue = Annotated[
    Text, option("NUMBER", "What unfinished positions or moves start at.", default="the learner's own start")
]
Lambda = Annotated[
    Text, option("NUMBER", "td-lambda, ntuple-td: how far targets look ahead, 0 to 1.", "--lambda", default="0.7; 0.5")
]
Cut = Annotated[bool, switch("--cut", "td-lambda: exploratory moves end the targets before them (Watkins).")]
Beta = Annotated[
    Text, option("NUMBER", "reinforce, actor-critic: step size of their values, above 0 up to 1.", default="0.1")
]
Beads = Annotated[
    Text, option("A,B,C,D", "menace: beads of a kind, by the first player's turns one to four.", default="4,3,2,1")
]
Rewards = Annotated[
    Text, option("WIN,DRAW,LOSS", "menace: beads that a game adds to those drawn in it.", default="3,1,-1")
]
Explore = Annotated[
    Text, option("softmax:T", "Draw moves by softmax of their scores, at a temperature above 0, instead of by epsilon.")
]
Gamma = Annotated[Text, option("NUMBER", "Discount, 0 to 1.")]
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
