"""Commands `evaluate`, `compare`, `show`, `tournament` and `prove`."""

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ttt_batch.app.commands import shared
from ttt_batch.app.commands.shared import File, Text, argument, option, switch
from ttt_batch.core.console import print_message
from ttt_batch.core.errors import InterruptedTraining, RunFileError, UsageError, dashed
from ttt_batch.core.files import command_text, exists, shown
from ttt_batch.core.hooks import call_hook
from ttt_batch.core.outputs import check_distinct
from ttt_batch.core.text import AGAINST, IMAGES, SEATS, WEIGHTS, check_ties, count_text, find_name
from ttt_batch.games.board import BOARD, BOARDS, parse_board
from ttt_batch.runs.lookup import find_run, is_agent_name

if TYPE_CHECKING:
    from ttt_batch.runs.loading import AnyRun


NAMED = 10
"""Most files left out of a tournament that are named one by one."""

Folded = Annotated[
    bool, switch("--symmetric", "Query an agent about one image of each position, as if it played alike in all.")
]
AsPlayed = Annotated[
    bool,
    switch(
        "--as-played",
        "Judge a run as it plays while it learns, exploring or drawing by chances, not by its best moves: exact shares "
        "against random moves and the best opponent.",
    ),
]

Samples = Annotated[
    Text,
    option(
        "N",
        "Judge an agent that draws by chance by N answers in each position, with intervals; on boards of more than 12 "
        "cells by N games a match.  --seed is that of Python's and NumPy's own generators.",
    ),
]

Positions = Annotated[
    File,
    option(
        "FILE",
        "Compare its values with a file of positions and results, such as tic-tac-toe.data: a mark for each cell, x, o "
        "or b, then a result.",
    ),
]

Against = Annotated[
    Text,
    option(
        "random|one-ply|two-ply|optimal|self|RUN2",
        "The opponent; a run file or an agent for another one.  On boards too large to enumerate, and with "
        "networks, one of the first three; also optimal where marks fall.",
        offers=AGAINST,
        default="random; all three there",
    ),
]


def evaluate_command(
    path: shared.AnyPlayer = shared.NEWEST,
    against: Against = None,
    games: Annotated[
        Text,
        option(
            "N",
            "Games a match, on boards too large to enumerate and with networks only.",
            default="10k; 1k against optimal; 100 of optimal",
        ),
    ] = None,
    seed: shared.SeedOfGames = None,
    budget: Annotated[
        Text,
        option(
            "N",
            "Positions to search per seat for a way to beat it, on large boards and with networks.",
            default="2M; 20M with networks; 5k of optimal",
        ),
    ] = None,
    samples: Samples = None,
    ties: shared.TiesRule = "any",
    board: shared.AgentBoard = None,
    symmetric: Folded = False,
    as_played: AsPlayed = False,
    positions: Positions = None,
    illegal: shared.Illegal = None,
    time_limit: shared.TimeLimit = None,
    trust: shared.Trust = False,
    learner: shared.OwnLearner = None,
    quiet: shared.Quiet = False,
    json: shared.Json = False,
) -> None:
    """Judge a run, exactly unless its board is too large or it is of networks: results per seat, and how to beat it.

    RUN may also be an agent: random, one-ply, two-ply, optimal, or one of your own.  FILE.py:NAME is a Python callable;
    the file runs with your rights.  agent(board) gets one position, int8[rows, cols] (1 the player to move, -1 the
    other, 0 empty), and returns a cell (from 0), a pair (row, column), or a probability for each cell.
    agent(boards, to_move, legal) is faster: it gets int8[n, rows, cols], int8[n] and bool[n, cells], and returns a cell
    for each, int[n], or probabilities, float[n, cells].  cmd:PROGRAM ARGS is a program that reads lines such as
    "3x3 X XO..X...." (board, mover, cells row by row) and answers each with a line that holds a cell, counted from 0;
    it has to flush each answer.

    These eight lines in a file agent.py wrap a dictionary, for ttt-batch evaluate agent.py:agent.  Read yours in the
    line of table, and write a position as it does in that of worth.  A position that it lacks counts 0, so look up
    one of its keys first: if none is found, the agent takes the first free cell.

    \b
    import json
    from pathlib import Path
    table = json.loads(Path("table.json").read_text())
    def agent(board):
        marks = board.ravel().tolist()
        def worth(cell):
            return table.get(str([*marks[:cell], 1, *marks[cell + 1 :]]), 0)
        return max((cell for cell in range(9) if not marks[cell]), key=worth)
    """
    from ttt_batch.api.judging import evaluate

    rule, rules = check_ties(ties), shared.AgentOptions(board, illegal, time_limit, symmetric)
    outside = against is not None and is_agent_name(against) and find_name(against, AGAINST) is None
    if not is_agent_name(path) and not outside:
        rules.refuse("none is named")
    how: dict[str, Any] = {"games": games, "seed": seed, "budget": budget, "samples": samples, "ties": rule}
    with shared.working(quiet=quiet) as report:
        how |= {"as_played": as_played, "positions": positions, "progress": report.asking}
        result = evaluate(path, against, **how, **rules.opening(trust, report))
    shared.print_result(json, result.to_dict, lambda: call_hook(type(result).__name__, result, shared.called(path)))


def compare(
    path: Annotated[Path, argument("RUN", "A run file.", read=find_run)],
    other: Annotated[Path, argument("RUN2", "The run to compare it with.", read=find_run)],
    trust: shared.Trust = False,
    learner: shared.OwnLearner = None,
    quiet: shared.Quiet = False,
    json: shared.Json = False,
) -> None:
    """Say where two runs' tables and policies differ; with networks, in positions of random games."""
    from ttt_batch.analysis.compare import compare_runs
    from ttt_batch.app.reports.training import comparison_text

    with shared.working(quiet=quiet):
        run, second = shared.load_any_run(path, trust), shared.load_any_run(other, trust)
        differences = compare_runs(run, second)
    shared.print_result(
        json, lambda: differences, lambda: comparison_text(differences, shown(path), shown(other), run.board)
    )


def show_command(
    path: Annotated[
        Text, argument("[RUN]", "A run file, or an agent; the newest run here if not given, or a position is first.")
    ] = None,
    position: Annotated[
        list[str] | None,
        argument(
            "[POSITION]",
            "A position: rows (X.O/.X./...), moves (5 1 9 or b2 a1 c3), or a code; the empty board if not given.",
        ),
    ] = None,
    symmetric: Annotated[
        bool, switch("--symmetric", "Its images under the board's rotations and reflections, too.")
    ] = False,
    ties: shared.TiesRule = "any",
    board: shared.AgentBoard = None,
    illegal: shared.Illegal = None,
    time_limit: shared.TimeLimit = None,
    trust: shared.Trust = False,
    learner: shared.OwnLearner = None,
    quiet: shared.Quiet = False,
    json: shared.Json = False,
) -> None:
    """Say everything about a position: its value, each move's value and visits, the truth, the best replies."""
    from ttt_batch.api.judging import show
    from ttt_batch.app.reports.evaluation import show_text
    from ttt_batch.games.notation import may_be_position

    rule, rules = check_ties(ties), shared.AgentOptions(board, illegal, time_limit)
    typed = [*([] if path is None else [path]), *(position or [])]
    unknown = "" if path is None or is_agent_name(path) or exists(find_run(path)) else path
    if unknown and board is not None:
        example = command_text("show", "optimal", "POSITION", "--board", board)
        missing = f"no run or agent is called {shared.called(unknown)}"
        raise UsageError(f"{missing}; name one before a position, e.g. {example}")
    if path is None or (unknown and any(map(may_be_position, (unknown, " ".join(typed))))):
        position, path = typed, str(shared.newest_file("show"))
    if not is_agent_name(path):
        rules.refuse(f"{shared.called(path)} is a run")
    with shared.working(quiet=quiet), rules.open([path], trust) as (player,):
        asked = " ".join(position or []).strip() or 0
        found = show(player, asked, symmetric=symmetric, ties=rule)
    shared.print_result(
        json, found.to_dict, lambda: show_text(found, "" if is_agent_name(path) else shared.called(path))
    )


def tournament_command(
    paths: Annotated[list[str], argument("RUN...", "Two run files of one board, or more, e.g. *.h5; also agents.")],
    games: Annotated[
        Text,
        option(
            "N",
            "Play N games a meeting.",
            default="exact results; 1000 on boards too large to enumerate and with networks",
        ),
    ] = None,
    seed: shared.SeedOfGames = None,
    ties: shared.TiesRule = "any",
    board: shared.AgentBoard = None,
    illegal: shared.Illegal = None,
    time_limit: shared.TimeLimit = None,
    trust: shared.Trust = False,
    learner: shared.OwnLearner = None,
    quiet: shared.Quiet = False,
    json: shared.Json = False,
) -> None:
    """Play agents against each other, all pairs in both seats; exact between tables of boards that are enumerated.

    Files that cannot be opened and runs of another board than most are named and left out, and the others play if they
    are two or more; the status is 1 then.
    """
    from ttt_batch.agents.adapter import watched
    from ttt_batch.api.judging import tournament
    from ttt_batch.app.reports.tournament import tournament_text

    rule, rules = check_ties(ties), shared.AgentOptions(board, illegal, time_limit)
    if not any(map(is_agent_name, paths)):
        rules.refuse("none is named")
    with shared.working(quiet=quiet) as report, watched(report.asking):
        names, given, played = _openable(paths, trust, board)
        with rules._replace(board=played).open(given, trust) as runs:
            if seed is not None and games is None and all(run.exact for run in runs):
                raise UsageError(f"--seed {seed} is for games that are played; results here are exact: leave it out")
            result = tournament(runs, names, games=games, seed=0 if seed is None else seed, ties=rule)
    shared.print_result(json, result.to_dict, lambda: tournament_text(result))
    if len(names) < len(paths):
        raise typer.Exit(1)


def _openable(paths: list[str], trust: bool, board: str | None) -> tuple[list[str], list["AnyRun | str"], str]:
    """Return names of the players, the runs of one board that can be opened and names of agents, and that board.

    Print the other runs on standard error.  board: of agents, if it is given.
    The board is that of most runs, at equal numbers that of the first; all runs stay if no two share a board.
    Raises RunFileError if fewer than two of several can be opened.
    """
    read: list[tuple[str, AnyRun | str]] = []
    left_out: list[str] = []
    try:
        for path in paths:
            try:
                read.append(
                    (shared.called(path), path if is_agent_name(path) else shared.load_any_run(find_run(path), trust))
                )
            except RunFileError as error:
                left_out.append(str(error))
        boards = Counter(one.board.name for _, one in read if not isinstance(one, str))
        agents = len(read) - boards.total()
        if len(read) < min(2, len(paths)):
            players = "players" if agents else "files"
            raise RunFileError(f"{len(read)} of {len(paths)} {players} can be opened; a tournament takes two or more")
        played, most = boards.most_common(1)[0] if boards else ("3x3", 0)
        if agents:
            played, most = parse_board(board or played).name, len(read)
        if most > 1:
            for name, one in read:
                if not isinstance(one, str) and one.board.name != played:
                    left_out.append(f"{name} plays {one.board.name}, most runs {played}")
            read = [(name, one) for name, one in read if isinstance(one, str) or one.board.name == played]
    finally:
        for reason in left_out[:NAMED]:
            print_message(f"ttt-batch: left out: {reason}")
        if len(left_out) > NAMED:
            print_message(f"ttt-batch: left out: {count_text(len(left_out) - NAMED, 'more file')}")
    return [name for name, _ in read], [one for _, one in read], played


Seat = Annotated[
    Text,
    option(
        "first|second|both",
        "The seat to prove; also X and O. --smallest takes one, by default the first.",
        "--as",
        offers=(*SEATS, "both"),
        default="the run's own, or both",
    ),
]
Claim = Annotated[
    Text,
    option(
        "cannot-lose|always-wins",
        "Goal of the proof.",
        offers=shared.CLAIMS,
        default="the run's objective, or cannot-lose",
    ),
]
Certificate = Annotated[
    File,
    option(
        "FILE.npz",
        "Write every position that the agent allows, with its move; two seats make FILE-first.npz and "
        "FILE-second.npz.  A certificate proves the agent that plays these moves; scripts/check_certificate.py "
        "checks it with NumPy alone.",
    ),
]


Correct = Annotated[
    bool,
    switch(
        "--correct",
        "Replace moves that give the goal away by moves of best play, and prove the corrected player.  The report "
        "counts the positions, and a certificate holds the new moves.  It is for boards with gravity.",
    ),
]


Smallest = "Smallest proofs"
SmallestOnly = Annotated[
    bool,
    switch(
        "--smallest",
        "Find the player that needs to know a move in the fewest positions, and prove how few are possible.  It needs "
        "no run.",
        Smallest,
    ),
]
SmallestBoard = Annotated[
    Text, option("BOARD", f"{BOARD}.", offers=BOARDS, default="3x3, or that of the run", panel=Smallest)
]
Within = Annotated[
    list[Path] | None,
    option("RUN", "Use only moves that this run may play; several, moves of any of them.", panel=Smallest),
]
Images = Annotated[
    Text,
    option(
        "merge|separate",
        "Whether a position stands for its turned and mirrored images.",
        offers=IMAGES,
        default="merge, if the run shares images",
        panel=Smallest,
    ),
]
Weigh = Annotated[
    Text,
    option(
        "positions|depth|beads",
        "What is smallest: the positions; the moves to know in the longest game, then the positions; or the matchboxes "
        "that menace needs.",
        offers=WEIGHTS,
        default="positions",
        panel=Smallest,
    ),
]
Harmless = Annotated[
    bool, switch("--harmless", "List positions in which no line can beat the player any more, too.", Smallest)
]
TimeLimit = Annotated[
    Text,
    option(
        "TIME",
        "Time to search, such as 90s, 10min or 1h; then the best so far is the result.  If the time ends while a "
        "large board's positions are listed, there is no result.",
        default="10min",
        panel=Smallest,
    ),
]
Count = Annotated[bool, switch("--count", "Count the players that are as small, on boards of up to 9 cells.", Smallest)]
AsRun = Annotated[
    File, option("FILE.h5", "Write the player as a run, too.", "--out", "-o", read=shared.new_run, panel=Smallest)
]


def prove_command(
    path: Annotated[
        File, argument("[RUN]", "A run file; the newest here if not given.", read=shared.run_or_none)
    ] = None,
    seat: Seat = None,
    goal: Claim = None,
    budget: Annotated[Text, option("N", "Positions to enter per seat at most.", default="100M")] = None,
    certificate: Certificate = None,
    threads: Annotated[Text, option("N", "Threads; all processors if not given, 1 with --correct.")] = None,
    ties: shared.TiesRule = "any",
    correct: Correct = False,
    smallest: SmallestOnly = False,
    board: SmallestBoard = None,
    within: Within = None,
    images: Images = None,
    weigh: Weigh = None,
    harmless: Harmless = False,
    count: Count = False,
    time_limit: TimeLimit = None,
    out: AsRun = None,
    overwrite: shared.Overwrite = False,
    trust: shared.Trust = False,
    learner: shared.OwnLearner = None,
    quiet: shared.Quiet = False,
    json: shared.Json = False,
) -> None:
    """Prove by exhaustive search that an agent cannot lose, or always wins: status 0 if it is proved, 1 if not."""
    rule = check_ties(ties)
    least: dict[str, Any] = {"board": board, "within": within or None, "images": images, "weigh": weigh}
    least |= {"harmless": harmless or None, "count": count or None, "time_limit": time_limit, "out": out}
    how: dict[str, Any] = {"budget": budget, "threads": threads, "trust": trust or None, "correct": correct or None}
    how["ties"] = None if rule == "any" else rule
    _check_kind(how if smallest else least, smallest=smallest)
    if smallest:
        if path is not None:
            raise UsageError(f"--smallest takes no run; for moves of {shown(path)} alone give --within {shown(path)}")
        given = {name: value for name, value in least.items() if value is not None}
        _prove_smallest({"seat": seat, "goal": goal, **given}, certificate, overwrite=overwrite, quiet=quiet, json=json)
        return
    from ttt_batch.analysis.judge import prove as prove_run
    from ttt_batch.app.reports.evaluation import proofs_text

    path = path or shared.newest_file("prove")
    with shared.working(quiet=quiet) as report:
        found = prove_run(
            path,
            seat=seat,
            goal=goal,
            ties=rule,
            threads=threads,
            correct=correct,
            certificate=certificate,
            overwrite=overwrite,
            trust=trust,
            progress=report.proving(),
            budget=budget,
        )
    shared.say(path, found.run.notes)
    saved = next((file for file, _ in found.certificates.values()), None) if found.proved else None
    told = {"certified": certificate is not None, "compiled": report.compiled}
    shared.print_result(json, found.to_dict, lambda: proofs_text(found, shown(path), **told), saved=saved)
    if not found.proved:
        raise typer.Exit(1)


def _check_kind(others: dict[str, Any], *, smallest: bool) -> None:
    """Raise UsageError for a given option of the other kind of proof."""
    for name, given in others.items():
        if given is not None:
            why = "does not go with" if smallest else "goes with"
            raise UsageError(f"{dashed(name)} {why} --smallest; leave it out")


def _prove_smallest(
    asked: dict[str, Any], certificate: Path | None, *, overwrite: bool, quiet: bool, json: bool
) -> None:
    """Find a smallest proof, write and print it; also the best one so far after Ctrl-C, which then ends the command."""
    from ttt_batch.analysis.smallest import smallest_proof
    from ttt_batch.app.interrupt import Interrupt
    from ttt_batch.app.progress import Reporter
    from ttt_batch.app.reports.evaluation import smallest_text
    from ttt_batch.runs.storage.run_file import RUN_FILE

    out = asked.pop("out", None)
    asked |= {"certificate": certificate, "overwrite": overwrite}
    written = [(name, file) for name, file in (("--certificate", certificate), ("--out", out)) if file is not None]
    check_distinct(written, [("--within", find_run(run)) for run in asked.get("within", [])])
    if out is not None:
        RUN_FILE.check(out, overwrite=overwrite)
    with Interrupt("interrupted before anything was found") as interrupt, Reporter(quiet=quiet) as report:
        tell = report.shrinking()

        def progress(size: int, bound: int) -> None:
            interrupt.gently, interrupt.message = True, "interrupted; the search has no result"
            tell(size, bound)

        found = smallest_proof(**asked, progress=progress, stop=interrupt.requested)
        stopped = interrupt.requested()
    if out is not None:
        found.to_run().save(out, overwrite=overwrite)
    files = [file for file in (certificate, out) if file is not None]
    names, compiled, saved = [shown(file) for file in files], report.compiled, (*files, None)[0]
    shared.print_result(json, found.to_dict, lambda: smallest_text(found, *names, compiled=compiled), saved=saved)
    if stopped and not found.minimal:
        raise InterruptedTraining("interrupted; the proof holds, and a smaller one may exist")
