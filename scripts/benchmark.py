"""Measure the package's speeds, beside other programs in the same run.

    python scripts/benchmark.py [--quick|--once] [--only NAME ...] [--peers PYTHON] [--json FILE] [--page FILE]
        [--from JSON]

The contestants (`contestants.py`) are measured in turn, round after round, each for a fraction of a second, and the
median over the rounds is reported with its spread.  A machine's speed changes from one second to the next with what
its neighbours do, so a ratio is a *duel*: of its two contestants one is measured, then the other one, then the first
one again, and the second one's value is set against the mean of the two around it, in every round.  Contestants that
share an opponent share its measurements: T a T b T c T.  The opponent comes twice unless it is dear to start; then its
challenger does.  The table goes to standard output, progress to standard error; `--json -` swaps the table for JSON,
and `--page` writes `data/benchmark.md`, whose text is `scripts/pages/benchmark.md`.
"""

import argparse
import importlib.util
import json
import math
import operator
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from benchmark_report import added, page, show, table
from cluster_contestants import can_run_clusters, cluster_contestants
from contestants import (
    BATCH,
    BOARD_BATCH,
    GAMES,
    GIVEN_GAMES,
    LARGE_BATCH,
    MENACE_GAMES,
    NETWORK_THREADS,
    NETWORKS,
    PEERS,
    STUDIES,
    Contestant,
    Measure,
    Plan,
    Values,
    run_peer,
)
from contestants import contestants as contestants_here
from environment_contestants import (
    BOARDS,
    DRAWS,
    IN_NUMPY,
    LONG_STEPS,
    MADE,
    SHARED,
    SIZES,
    SLOWEST,
    TURNS,
    N,
    environment_contestants,
)
from environment_contestants import PEERS as STEP_PEERS
from itemise import STAGES
from page_writer import add_page_options, say, write_from, write_page
from peers import REPLAYS, WAYS

from ttt_batch.analysis.warmup import environment_info
from ttt_batch.core.text import TEXTBOOK
from ttt_batch.environments.batch import AUTORESET
from ttt_batch.learners import LEARNERS

QUICK: dict[str, Any] = {"rounds": 5, "peer_rounds": 5, "cold_rounds": 1, "seeds": 20, "once": 1, "long": 0}
QUICK |= {"seconds": 0.1, "random_games": 10**8, "cluster_rounds": 5, "short_learners": 10**4}
ONCE: dict[str, Any] = QUICK | {"rounds": 1, "peer_rounds": 1, "cluster_rounds": 1, "seeds": 1, "seconds": 0.01}
# Many short rounds rather than few long ones: the machine's speed must not change within a duel.
FULL: dict[str, Any] = {"rounds": 15, "peer_rounds": 7, "cold_rounds": 2, "seeds": 100, "once": 1, "long": 15}
FULL |= {"seconds": 0.1, "random_games": 10**9, "cluster_rounds": 7, "short_learners": 10**5}

Target = tuple[str, float] | None
COMPARE: dict[str, Callable[[float, float], bool]] = {
    ">=": operator.ge,
    "<=": operator.le,
    "<": operator.lt,
    "1 +-": lambda value, bound: abs(value - 1) <= bound,
}


class Figure(NamedTuple):
    """A number to report: a quantity of a contestant, or its ratio to the same quantity of another one.

    over: the contestant to divide by, in a duel.  target: comparison and bound.  summary: of the rounds, one number.
    """

    name: str
    contestant: str
    quantity: str
    unit: str
    over: str | None = None
    target: Target = None
    summary: Callable[[list[float]], float] = statistics.median


class Duel(NamedTuple):
    """Two contestants of a ratio: `around` is measured before and after `inner`."""

    around: str
    inner: str


class Measurements(NamedTuple):
    """Measurements by contestant, and those of a duel (before, inner, after) by round."""

    values: dict[str, list[Values]]
    duels: dict[Duel, list[tuple[Values, Values, Values]]]


def figures(plan: Plan) -> Iterator[Figure]:
    """Return the reported figures, in order, with their targets."""

    def speed(name: str, contestant: str, target: Target = None) -> Iterator[Figure]:
        yield Figure(name, contestant, "games/s", "games/s")
        yield Figure(f"{name} / textbook", contestant, "games/s", "x", "textbook", target)

    yield Figure("textbook C, backward-q", "textbook", "games/s", "games/s")
    for epsilon, least in ((0.1, 50), (0.3, 30)):
        name, contestant = f"sutton-barto, epsilon {epsilon}, batch {BATCH:,}", f"sutton-barto {epsilon}"
        yield from speed(name, contestant, (">=", least))
    for name in LEARNERS:
        least = 8 if LEARNERS[name].by_chances else 15 if name in TEXTBOOK else 20
        yield from speed(f"{name}, batch {BATCH:,}", f"{name} batched", (">=", least))
    yield from speed(f"td, softmax:0.1, batch {BATCH:,}", "td softmax", (">=", 8))
    for name in LEARNERS:
        least = 10 if name in ("backward-q", "sutton-barto") else 6
        old = name not in TEXTBOOK and not LEARNERS[name].by_chances  # others have no target one by one
        yield from speed(f"{name}, sequential", f"{name} sequential", (">=", least) if old else None)
    # The headline and the presets are held to a figure.  At epsilon 0.3 `sutton-barto` visits three rows in five,
    # while the C program sweeps all rows, sixteen at a time: there is no target.
    reached: Target = (">=", 0.75)
    for ours, theirs, settings, target in (
        ("sutton-barto 0.1", "tuned sutton-barto 0.1", f"sutton-barto, epsilon 0.1, batch {BATCH:,}", reached),
        ("sutton-barto 0.3", "tuned sutton-barto 0.3", f"sutton-barto, epsilon 0.3, batch {BATCH:,}", None),
        ("sutton-barto batched", "tuned sutton-barto 0.01", f"sutton-barto, batch {BATCH:,}", reached),
        ("td batched", "tuned td 0.3", f"td, batch {BATCH:,}", reached),
    ):
        yield Figure(f"hand-tuned C, {settings}", theirs, "games/s", "games/s")
        yield Figure(f"{settings} / hand-tuned C", ours, "games/s", "x", theirs, target)

    flow = "flow, sutton-barto, epsilon 0.1"
    yield Figure(f"{flow}, batch {LARGE_BATCH:,}", "flow sutton-barto 0.1", "games/s", "games/s", target=(">=", 2e9))
    for name in ("sutton-barto 0.1", *LEARNERS):
        label = f"flow, {name.replace(' 0.1', ', epsilon 0.1')}"
        yield Figure(f"{label}, 10^15 games", f"flow sizes {name}", "1e+15", "ms")
        yield Figure(f"{label}, slowest of 10^6 to 10^15", f"flow sizes {name}", "slowest", "ms", None, ("<=", 2))

    for engine, batch, _, least in STUDIES:
        name, contestant = f"study, td, {engine}, batch {batch:,}, {GAMES:,} games a learner", f"study {engine} {batch}"
        yield Figure(name, contestant, "games/s", "games/s")
        yield Figure(f"{name} / kernel alone", contestant, "games/s", "x", f"kernel {engine} {batch}", (">=", least))

    name = f"study --tally, menace, optimal opponent, {MENACE_GAMES} games a learner, two threads"
    yield Figure(name, "tallied menaces", "games/s", "games/s", target=(">=", 1e6 * MENACE_GAMES / 30))

    yield Figure("OpenSpiel, tabular_qlearner self-play", "openspiel-learning", "games/s", "games/s")
    yield Figure("random play", "random play", "games/s", "games/s")
    for name, contestant, label, target in (
        ("OpenSpiel, random playouts", "openspiel-playouts", "OpenSpiel", (">=", 2000)),
        ("OpenSpiel, random bots in C++", "openspiel-bots", "OpenSpiel bots", None),
        ("Pgx, random play", "pgx-random", "Pgx", (">=", 350)),
        ("Pgx, random play, tuned", "pgx-tuned", "Pgx tuned", None),
    ):
        yield Figure(name, contestant, "games/s", "games/s")
        yield Figure(f"random play / {label}", "random play", "games/s", "x", contestant, target)
    size = f"10^{math.log10(plan.random_games):.0f}"
    yield Figure(f"random play, shares of {size}: largest |z|", "random shares", "largest |z|", "", None, ("<", 4), max)

    for batch in (BATCH, LARGE_BATCH):
        name, pair, large = f"two threads, batch {batch:,}", f"threads {batch}", batch == LARGE_BATCH
        yield Figure(name, pair, "two", "games/s")
        # Small batches: never slower, less 3 % for the noise of the measurement.
        yield Figure(f"{name} / one thread", pair, "two/one", "x", target=None if large else (">=", 0.97))
        # What the machine has to give: where a neighbour has the second core, no program gets more.
        yield Figure(f"two runs at once, batch {batch:,} / one", pair, "at once/one", "x")
        if large:
            yield Figure(f"{name} / one thread, on two free cores", pair, "two/one, free", "x", target=(">=", 1.5))
        yield Figure(f"{name}: same bytes (1 = yes)", pair, "same", "", target=(">=", 1), summary=min)
    name = f"two threads, td on 4x4x4, batch {BOARD_BATCH:,}"
    yield Figure(name, "threads 4x4x4", "two", "games/s")
    yield Figure(f"{name} / one thread", "threads 4x4x4", "two/one", "x")
    yield Figure(f"{name} / one thread, on two free cores", "threads 4x4x4", "two/one, free", "x", target=(">=", 1.7))
    yield Figure(f"{name}: same bytes (1 = yes)", "threads 4x4x4", "same", "", target=(">=", 1), summary=min)
    for batch in (BATCH, 1):
        name, pair = f"td on 4x4x4, batch {batch:,}: a point judged", f"judging 4x4x4 {batch}"
        yield Figure(f"{name} by two threads", pair, "ms", "ms")
        yield Figure(f"{name} by two threads / by one", pair, "one/two", "x")
        yield Figure(f"{name}: same bytes (1 = yes)", pair, "same", "", target=(">=", 1), summary=min)
    for board in NETWORKS:
        yield Figure(f"networks: {board}, without proofs", f"network {board}", "games/s", "games/s")
    alone, pair = f"network {NETWORK_THREADS}", f"network {NETWORK_THREADS}, two threads"
    yield Figure(f"networks: {NETWORK_THREADS}, two threads / one thread", pair, "games/s", "x", alone)
    yield from cluster_figures(plan)
    yield from environment_figures()
    long = f"td, batch {BATCH:,}"
    yield Figure(f"{long}, after 10^7 games", "long run", "early", "games/s")
    yield Figure(f"{long}, after 10^9 games", "long run", "late", "games/s")
    yield Figure(f"{long}, after 10^9 / after 10^7", "long run", "late/early", "x", target=("1 +-", 0.1))
    yield Figure(f"{long}, memory grown from 10^7 to 10^9", "long run", "megabytes", "MB", target=("<=", 1))

    good = f"td, batch {BATCH:,}, unbeatable for good"
    yield Figure(f"{good}, median seed", "settling td", "settled games", "games")
    slowest = ("<=", 50_000)
    yield Figure(f"{good}, slowest seed", "settling td", "settled games", "games", None, slowest, max)
    yield Figure(f"{good}, seconds", "settling td", "settled seconds", "s", target=("<", 0.005))
    classic = f"sutton-barto, epsilon 0.1, batch {BATCH:,}"
    yield Figure(f"{classic}, first proof, games", "settling sutton-barto 0.1", "first games", "games")
    yield Figure(
        f"{classic}, first proof, seconds", "settling sutton-barto 0.1", "first seconds", "s", None, ("<", 0.015)
    )
    yield Figure(
        f"{classic}, later points that hold", "settling sutton-barto 0.1", "later", "", summary=statistics.mean
    )

    for name, quantity, target in (("read", "read", 2e6), ("read and learnt from, td", "learnt", None)):
        bound: Target = None if target is None else (">=", target)
        yield Figure(f"{GIVEN_GAMES:,} given games {name}", "given games", quantity, "games/s", target=bound)

    yield Figure("ttt-batch --help", "help", "seconds", "s", target=("<", 0.3))
    yield Figure("ttt-batch learners", "learners", "seconds", "s", target=("<", 0.5))
    yield Figure("train --games 100000", "train 100k", "seconds", "s", target=("<", 1.0))
    yield Figure("100,000 games in process: play, learn, prove", "in process", "seconds", "s", target=("<", 0.015))
    for stage in STAGES:
        yield Figure(f"train --games 100000: {stage}", "stages", stage, "ms")
    for name, contestant, most in (("", "train 10M", 2.5), (", first run ever", "train 10M cold", 25)):
        yield Figure(f"train --games 10000000{name}", contestant, "seconds", "s", target=("<", most))
        yield Figure(f"train --games 10000000{name}: peak", contestant, "megabytes", "MB", target=("<", 300))


def cluster_figures(plan: Plan) -> Iterator[Figure]:
    """Return the figures of clusters: the cost of Dask in time and in memory."""
    study = f"cluster: study, td, batch {BATCH:,}, {GAMES:,} games a learner"
    yield Figure(f"{study}, one worker", "cluster studies", "games/s", "games/s")
    yield Figure(f"{study}, one worker / one thread", "cluster studies", "one/thread", "x", target=(">=", 0.95))
    # Whatever the machine does besides: the rest of a worker's time is what Dask takes, at both ends, too.
    for who, quantity in (("one worker learns", "one learns"), ("two workers learn", "two learn")):
        name = f"{study}, share of the time in which {who}"
        yield Figure(name, "cluster studies", quantity, "", target=(">=", 0.95))
    yield Figure(f"{study}, two workers / one worker", "cluster studies", "two/one", "x")
    # What the machine has to give at that moment; of 1.95 times workers have to get 1.85 times.
    yield Figure(f"{study}, two processes / one thread", "cluster studies", "processes/thread", "x")
    pair = f"{study}, two workers / two processes"
    yield Figure(pair, "cluster studies", "two/processes", "x")
    least = (">=", 1.85 / 1.95)
    yield Figure(f"{pair}, on two free cores", "cluster studies", "two/processes, free", "x", target=least)
    yield Figure("cluster: two workers ready", "cluster start", "seconds", "s", target=("<", 4))
    yield Figure("cluster: a worker after a study, memory", "cluster worker", "RSS", "MB", target=("<=", 200))
    yield Figure("cluster: a worker after a study, peak", "cluster worker", "HWM", "MB")
    short = f"cluster: {plan.short_learners:,} short learners"
    yield Figure(f"{short}, tasks at the scheduler, at most", "cluster scheduler", "tasks", "", target=("<=", 16))
    yield Figure(f"{short}, scheduler's memory", "cluster scheduler", "megabytes", "MB")
    yield Figure(f"{short}, scheduler's memory grown", "cluster scheduler", "grown", "MB", target=("<=", 2))


def environment_figures() -> Iterator[Figure]:
    """Return the figures of environments."""
    for board in dict.fromkeys((*BOARDS, *SIZES)):
        name = f"environments: {N:,} boards of {board}"
        yield Figure(name, f"steps {board}", "games/s", "steps/s")
        for kind in IN_NUMPY if board in BOARDS else ():
            over, least = f"{kind} NumPy steps {board}", (">=", BOARDS[board]) if kind == "plain" else None
            yield Figure(f"{name}, {kind} NumPy", over, "games/s", "steps/s")
            yield Figure(f"{name} / {kind} NumPy", f"steps {board}", "games/s", "x", over, least)
        if board != "3x3":
            yield Figure(f"{name} / 3x3", f"steps {board}", "games/s", "x", "steps 3x3", (">=", 1 / SLOWEST))
    for opponent, board in TURNS:
        over = f"turns {opponent} {board}"
        yield Figure(f"environments: {board}, full turns against {opponent}", over, "games/s", "steps/s")
    for board in DRAWS:
        yield Figure(f"environments: {N:,} boards of {board}, random actions", f"draws {board}", "games/s", "actions/s")
    for what, unit in (("steps", "steps/s"), ("draws", "actions/s")):
        yield Figure(f"environments: one game of 3x3, {what}", f"alone {what}", "games/s", unit)
    for peer, label, least in (("pgx-steps", "Pgx", 20), ("gymnasium-steps", "SyncVectorEnv", 1000)):
        yield Figure(f"environments: {label}, 3x3", peer, "games/s", "steps/s")
        yield Figure(f"environments: 3x3 / {label}", "steps 3x3", "games/s", "x", peer, (">=", least))
    for board, envs in REPLAYS:
        name, ours = f"environments: {envs:,} of {board} / ", f"steps {board} {envs}"
        yield Figure(f"{name}Pgx, recorded moves", ours, "games/s", "x", f"pgx-{board}-{envs}")
        for way in WAYS:
            yield Figure(f"{name}EnvPool, {way}", ours, way, "x", f"envpool-{board}-{envs}")
    for mode in AUTORESET:
        name = f"environments: make_vec, {MADE:,} of 3x3 against random, {mode}"
        yield Figure(name, f"make_vec {mode}", "games/s", "steps/s")
        yield Figure(f"{name} / Batch", f"make_vec {mode}", "of Batch", "x", target=(">=", 0.7))
    for opponent in (None, "random"):
        against = f" against {opponent}" if opponent else ""
        name, pair = f"environments: {SHARED:,} of 3x3{against}, two threads", f"steps in threads {opponent}"
        yield Figure(name, pair, "games/s", "steps/s")
        yield Figure(f"{name} / one thread", pair, "two/one", "x")
        yield Figure(f"{name} / one thread, on two free cores", pair, "two/one, free", "x", target=(">=", 1.8))
    memory = f"environments: memory grown over 10^{math.log10(LONG_STEPS):.0f} steps"
    yield Figure(memory, "steps memory", "megabytes", "MB", None, ("<=", 1))


def contestants() -> dict[str, Contestant]:
    """Everything that can be measured, by name."""
    return contestants_here() | cluster_contestants() | environment_contestants()


def choose(wanted: list[str], plan: Plan) -> list[Figure]:
    """The figures whose name contains one of `wanted` (all without), as far as this machine and the plan have them."""
    known, possible = contestants(), list(figures(plan))
    possible = [figure for figure in possible if getattr(plan, known[figure.contestant].rounds)]
    if shutil.which("gcc") is None:
        say("no C compiler (gcc) found: the programs in C and the ratios to them are left out")
        in_c = {name for name in known if name == "textbook" or name.startswith("tuned ")}
        possible = [figure for figure in possible if not in_c & {figure.contestant, figure.over}]
    if not can_run_clusters():
        say("Dask is not installed: what is measured of clusters is left out")
        possible = [figure for figure in possible if figure.contestant not in cluster_contestants()]
    if importlib.util.find_spec("gymnasium") is None:
        say("Gymnasium is not installed: make_vec is left out")
        possible = [figure for figure in possible if not figure.contestant.startswith("make_vec")]
    chosen = [f for f in possible if not wanted or any(word.lower() in f.name.lower() for word in wanted)]
    if not chosen:
        names = "\n  ".join(figure.name for figure in possible)
        raise SystemExit(f"no figure that can be measured here contains {' or '.join(wanted)}; there are\n  {names}")
    return chosen


def without_missing(chosen: list[Figure], interpreter: str) -> tuple[list[Figure], dict[str, str]]:
    """`chosen` without what needs a peer that is not installed, and the versions of those that are."""
    versions: dict[str, str] = {}
    missing = set()
    needed = {name for figure in chosen for name in (figure.contestant, figure.over)}
    for name in filter(needed.__contains__, dict.fromkeys(PEERS + STEP_PEERS)):
        try:
            versions |= run_peer(interpreter, name, 0)["versions"]
        except LookupError as error:
            say(f"left out: {error}")
            missing.add(name)
    versions.pop("python", None)  # the interpreter's, not this one's
    left = [figure for figure in chosen if not missing & {figure.contestant, figure.over}]
    if not left:
        raise SystemExit("every figure asked for needs a program that is not installed; see --peers")
    return left, versions


def duel_of(figure: Figure, known: dict[str, Contestant]) -> Duel:
    """Return who is measured around whom for a ratio."""
    assert figure.over is not None
    if known[figure.over].dear:
        return Duel(figure.contestant, figure.over)
    return Duel(figure.over, figure.contestant)


def measure_all(chosen: list[Figure], plan: Plan) -> Measurements:
    """Measure in turn what the figures need, round after round."""
    known = contestants()
    needed = {name for figure in chosen for name in (figure.contestant, figure.over)}
    names = [name for name in known if name in needed]
    say(f"preparing {', '.join(names)}")
    measures: dict[str, Measure] = {name: known[name].prepare(plan) for name in names}
    # By who is around, so that one measurement serves the duels on both its sides.
    duels = sorted(
        {duel_of(figure, known) for figure in chosen if figure.over is not None},
        key=lambda duel: (names.index(duel.around), names.index(duel.inner)),
    )
    single = [name for name in names if not any(name in duel for duel in duels)]
    found = Measurements({name: [] for name in names}, defaultdict(list))

    def measure(name: str) -> Values:
        found.values[name].append(measures[name]())
        return found.values[name][-1]

    times: dict[str, int] = {name: getattr(plan, known[name].rounds) for name in names}
    rounds = max(times.values())
    for number in range(rounds):
        say(f"round {number + 1} of {rounds}")
        latest: tuple[str, Values] = "", {}
        for duel in duels:
            if number >= min(times[duel.around], times[duel.inner]):
                continue
            before = latest[1] if latest[0] == duel.around else measure(duel.around)
            inner, after = measure(duel.inner), measure(duel.around)
            found.duels[duel].append((before, inner, after))
            latest = duel.around, after
        for name in single:
            if number < times[name]:
                measure(name)
    return found


def ratios(figure: Figure, found: Measurements) -> list[float]:
    """The figure's contestant over the other one, round by round."""
    duel = duel_of(figure, contestants())
    rounds = []
    for before, inner, after in found.duels[duel]:
        around = (before[figure.quantity] + after[figure.quantity]) / 2
        times = inner[figure.quantity] / around
        rounds.append(times if duel.inner == figure.contestant else 1 / times)
    return rounds


def results(chosen: list[Figure], found: Measurements) -> Iterator[dict[str, Any]]:
    """Each figure with its values per round, their summary, and whether the target is reached."""
    for figure in chosen:
        if figure.over is not None:
            rounds = ratios(figure, found)
        else:
            rounds = [value[figure.quantity] for value in found.values[figure.contestant]]
        known = [value for value in rounds if not math.isnan(value)] or [math.nan]  # some have nothing to say
        value = figure.summary(known)
        spread = {"median": statistics.median(known), "min": min(known), "max": max(known), "rounds": rounds}
        aim: dict[str, Any] = {"target": None, "reached": None}
        if figure.target is not None:
            sign, bound = figure.target
            reached = None if math.isnan(value) else COMPARE[sign](value, bound)
            aim = {"target": f"{sign} {show(bound)}", "reached": reached}
        yield {"figure": figure.name, "unit": figure.unit, "value": value, **spread, **aim}


def parser() -> argparse.ArgumentParser:
    """Return the options."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="less work per measurement, fewer rounds and seeds")
    parser.add_argument("--once", action="store_true", help="one short round, which shows that all can be measured")
    parser.add_argument("--only", nargs="+", default=[], metavar="NAME", help="figures whose name contains NAME")
    parser.add_argument("--peers", default=sys.executable, metavar="PYTHON", help="an interpreter that has the peers")
    parser.add_argument("--json", metavar="FILE", help="write everything as JSON; - for standard output")
    parser.add_argument("--into", metavar="JSON", help="keep the figures of this report that are not measured now")
    add_page_options(parser)
    return parser


def main() -> None:
    """Measure, then print."""
    options = parser().parse_args()
    if write_from(options, page):
        return
    with tempfile.TemporaryDirectory() as folder:
        plan = Plan(Path(folder), options.peers, **(ONCE if options.once else QUICK if options.quick else FULL))
        chosen, peer_versions = without_missing(choose(options.only, plan), options.peers)
        found = measure_all(chosen, plan)
    report = environment_info()
    report["versions"] |= peer_versions
    if shutil.which("gcc"):
        report["versions"]["gcc"] = subprocess.check_output(["gcc", "-dumpfullversion"], text=True).strip()
    report |= {"quick": options.once or options.quick}
    report |= {"figures": list(results(chosen, found)), "measurements": found.values}
    # JSON has no infinity: a seed that never settles becomes null.
    report = json.loads(json.dumps(report), parse_constant=lambda _: None)
    if options.into is not None:
        report = added(json.loads(Path(options.into).read_text(encoding="utf-8")), report)
    text = json.dumps(report, indent=1)
    print(text if options.json == "-" else table(report))
    if options.json not in (None, "-"):
        Path(options.json).write_text(text + "\n", encoding="utf-8")
    if options.page is not None:
        write_page(options, page(report))


if __name__ == "__main__":
    main()
