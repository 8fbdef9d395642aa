"""Commands about no run: what there is to choose from (`learners`, `boards`), and this machine (`warmup`, `bench`)."""

from typing import Annotated

from ttt_batch.app.commands.declare import BEYOND_TABLES, BOARDS, SWITCH, File, Text, argument, option, switch
from ttt_batch.app.commands.options import Json, Overwrite, Quiet, learner_meant
from ttt_batch.app.commands.shared import print_result, working
from ttt_batch.base.choices import ALL_LEARNERS, PATTERN_LEARNERS
from ttt_batch.base.errors import UsageError

MORE = "ttt-batch learners NAME tells more; ttt-batch train --learner NAME trains one"


def learners(
    name: Annotated[
        Text,
        argument(
            "[NAME]", "One learner, in full; FILE.py:NAME for one of your own.", offers=ALL_LEARNERS, read=learner_meant
        ),
    ] = None,
    json: Json = False,
) -> None:
    """List the learners, or describe one."""
    from ttt_batch.app.reports.catalogues import learner_description, learner_text, learners_text
    from ttt_batch.app.reports.network_learners import network_description, network_text, networks_text
    from ttt_batch.learners import LEARNERS, any_learner

    if name is None:
        known, networks = list(LEARNERS.values()), [network_description(name) for name in PATTERN_LEARNERS]
        print_result(
            json,
            lambda: [*map(learner_description, known), *networks],
            lambda: f"{learners_text(known)}\n\n{networks_text()}\n\n{MORE}",
        )
        return
    name = any_learner(name)
    if name in PATTERN_LEARNERS:
        print_result(json, lambda: network_description(name), lambda: network_text(name))
    else:
        learner = LEARNERS[name]
        print_result(json, lambda: learner_description(learner), lambda: learner_text(learner))


def boards(
    name: Annotated[Text, argument("[BOARD]", "Count this one, e.g. 4x4x3.", offers=(*BOARDS, *BEYOND_TABLES))] = None,
    symmetry: Annotated[
        str, option("on|off|auto", "Whether images of a position count as one.", offers=SWITCH)
    ] = "auto",
    solution: Annotated[File, option("FILE.npz", "Write every position's result with best play.")] = None,
    overwrite: Overwrite = False,
    quiet: Quiet = False,
    json: Json = False,
) -> None:
    """List boards with their positions, memory and value, or count and solve one."""
    from ttt_batch.analysis.boards import check_solution, known_boards, measure, write_solution
    from ttt_batch.app.reports.catalogues import board_information, board_text, boards_text
    from ttt_batch.game.board import parse_board

    if name is None:
        if solution is not None:
            raise UsageError("--solution goes with a board; name one, e.g. 4x4x4")
        entries = known_boards()
        print_result(json, lambda: [board_information(entry) for entry in entries], lambda: boards_text(entries))
        return
    board = parse_board(name)
    if solution is not None:
        check_solution(solution, overwrite=overwrite)
    with working(quiet=quiet):
        entry = measure(board, symmetry)
        if solution is not None:
            write_solution(board, solution, symmetry, overwrite=overwrite)
    print_result(json, lambda: board_information(entry), lambda: board_text(entry))


def warmup(
    processes: Annotated[
        Text, option("N", "Processes that compile at the same time; as many as processors if not given.")
    ] = None,
    larger: Annotated[bool, switch("--larger/--small", "Also what only boards of more than nine cells need.")] = True,
    quiet: Quiet = False,
    json: Json = False,
) -> None:
    """Compile everything once, so that no command ever waits for the compiler."""
    from ttt_batch.analysis.warmup import warm_up, warmup_summary, warmup_text

    with working("interrupted; what was compiled is kept", quiet=quiet) as report:
        warmth = warm_up(processes=processes, larger=larger, report=report.warming)
    print_result(json, lambda: warmup_summary(warmth), lambda: warmup_text(warmth))


def bench_command(
    seconds: Annotated[str, option("SECONDS", "How long to measure, about.")] = "15",
    threads: Annotated[Text, option("N", "The most threads; all processors if not given.")] = None,
    quiet: Quiet = False,
    json: Json = False,
) -> None:
    """Measure what this machine can do: games per second with each learner and engine, threads, evaluation."""
    from ttt_batch.analysis import bench as benches

    with working("interrupted before everything was measured", quiet=quiet) as report:
        benches.check_bench(seconds, threads)
        benches.compile_bench(report.warming)
        figures = benches.measure_machine(seconds=seconds, threads=threads, progress=report.measuring)
    print_result(json, lambda: benches.bench_summary(figures), lambda: benches.bench_text(figures))
