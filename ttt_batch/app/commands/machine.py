"""This machine: `warmup` and `bench`."""

from typing import Annotated

from ttt_batch.app.commands.declare import Text, option, switch
from ttt_batch.app.commands.options import Json, Quiet
from ttt_batch.app.commands.shared import answer, working


def warmup(
    processes: Annotated[
        Text, option("N", "Processes that compile at the same time; as many as processors if not given.")
    ] = None,
    larger: Annotated[bool, switch("--larger/--small", "Also what only boards of more than nine cells need.")] = True,
    quiet: Quiet = False,
    json: Json = False,
) -> None:
    """Compile everything once, so that no command ever waits for the compiler."""
    from ttt_batch.analysis.warmup import warm_up, warmth_summary, warmth_text

    with working("interrupted; what was compiled is kept", quiet=quiet) as report:
        warmth = warm_up(processes=processes, larger=larger, report=report.warming)
    answer(json, lambda: warmth_summary(warmth), lambda: warmth_text(warmth))


def bench(
    seconds: Annotated[str, option("SECONDS", "How long to measure, about.")] = "15",
    threads: Annotated[Text, option("N", "The most threads; all processors if not given.")] = None,
    quiet: Quiet = False,
    json: Json = False,
) -> None:
    """Measure what this machine can do: games per second with each learner and engine, threads, evaluation."""
    from ttt_batch.analysis import bench as benches

    with working("interrupted before everything was measured", quiet=quiet) as report:
        benches.check(seconds, threads)
        benches.prepare(report.warming)
        figures = benches.bench(seconds=seconds, threads=threads, progress=report.measuring)
    answer(json, lambda: benches.bench_summary(figures), lambda: benches.bench_text(figures))
