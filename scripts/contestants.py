"""Subjects of `benchmark.py`: this package, programs in C, and other people's programs, by name.

A contestant is prepared once (built, compiled, warmed) and then measured again and again; each measurement is short,
so that what is compared can be measured close together.
"""

import itertools
import json
import math
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import tuned
from itemise import itemise

import ttt_batch as ttt
from ttt_batch.core.resources import available_threads
from ttt_batch.evaluation.exact_results import match
from ttt_batch.games.board import Board, parse_board
from ttt_batch.games.enumeration import enumerate_graph
from ttt_batch.games.transcript_reader import GameFile, GameReader
from ttt_batch.learners import LEARNERS
from ttt_batch.runs.config import make_config, make_pattern_config
from ttt_batch.runs.run import Recorder
from ttt_batch.simulation.policy import random_policy
from ttt_batch.simulation.random_games import play_random_games
from ttt_batch.studies.designs.methods import points_of
from ttt_batch.studies.study import study
from ttt_batch.studies.summary import first_proof, games_at, settled_since
from ttt_batch.training.network_trainer import PatternTrainer
from ttt_batch.training.trainers.base import TableTrainer
from ttt_batch.training.trainers.batched import make_trainer

TEXTBOOK = Path(__file__).with_name("textbook.c")
PEERS_SCRIPT = Path(__file__).with_name("peers.py")
BATCH, LARGE_BATCH, BOARD_BATCH = 16_384, 1_000_000, 262_144
WARM_GAMES, SETTLE_GAMES, SLICES = 100 * BATCH, 1_000_000, 8
FLOW_SIZES, FLOWS = (10**6, 10**9, 10**12, 10**15), 10
TWO_CORES = 1.6
GIVEN_GAMES = 200_000
GAMES = 100_000
STUDIES = (("walk", BATCH, 1000, 0.85), ("flow", BATCH, 1000, 0.85), ("walk", 1024, 200, 0.7))
"""Engines, batches and seeds of studies, with the share of the kernel's speed that is asked."""

NETWORKS, WARM_NETWORK_GAMES, NETWORK_THREADS = ("5x5x4", "6x5x4", "connect4"), 2_048, "5x5x4"
"""Boards of networks that learn, games before they are measured, and the board that is also measured with two threads,
which has two networks."""

MENACE_GAMES = 220
"""Of each `menace` in a study: as many as Michie's had."""

EARLY, LATE = 10**7 // BATCH * BATCH, 10**9 // BATCH * BATCH
PEERS = (
    "openspiel-learning",
    "openspiel-playouts",
    "openspiel-bots",
    "pgx-random",
    "pgx-tuned",
    "pgx-steps",
    "gymnasium-steps",
)
"""The names that `peers.py` knows and that are reported."""

# Runs a command and prints its seconds and peak memory.  In a process of its own: a child's peak starts from that
# of the process it was forked from, and this one holds Numba.
WATCH = """
import json, os, subprocess, sys, time
start = time.perf_counter()
child = subprocess.Popen(sys.argv[1:], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
_, status, usage = os.wait4(child.pid, 0)
seconds = time.perf_counter() - start
peak = usage.ru_maxrss * (1 if sys.platform == "darwin" else 1024) / 1e6
print(json.dumps({"seconds": seconds, "megabytes": peak}))
sys.exit(status != 0)
"""

Values = dict[str, Any]
Measure = Callable[[], Values]


class Plan(NamedTuple):
    """How much to measure.

    folder: for files made on the way.  peers: an interpreter that has the peers.
    rounds: how often a contestant is measured.  peer_rounds, cold_rounds, cluster_rounds, seeds, once, long: how often
    one of `peers.py` is, one that compiles everything, one that starts workers, one that takes a seed each time, one
    that is exact by itself, and one that takes a billion games to prepare; 0 leaves it out.
    seconds: work per measurement.  random_games: of which the shares are checked.  short_learners: of a long study.
    """

    folder: Path
    peers: str
    rounds: int
    peer_rounds: int
    cold_rounds: int
    cluster_rounds: int
    seeds: int
    once: int
    long: int
    seconds: float
    random_games: int
    short_learners: int


class Contestant(NamedTuple):
    """prepare: builds and warms what is needed and returns the measurement.

    rounds: how often, a field of the plan.  dear: whether a measurement takes much longer than its work.
    """

    prepare: Callable[[Plan], Measure]
    rounds: str = "rounds"
    dear: bool = False


def textbook(plan: Plan) -> Measure:
    """The C program: sequential `backward-q`, timed by itself; as fast in its first 100,000 games as later."""
    program = plan.folder / "textbook"
    subprocess.run(["gcc", "-O2", "-o", str(program), str(TEXTBOOK)], check=True)

    def measure() -> Values:
        command = [str(program), str(round(1_500_000 * plan.seconds)), "1"]
        lines = subprocess.check_output(command, text=True).splitlines()
        values = {name: float(value) for name, value in map(str.split, lines)}
        return values | {"games/s": values["games"] / values["seconds"]}

    return measure


def hand_tuned(learner: str, epsilon: float) -> Contestant:
    """The C program tuned by hand, after a check that it learns the same bytes, from the learner's start each time."""

    def prepare(plan: Plan) -> Measure:
        folder = plan.folder / f"{learner}-{epsilon:g}"
        folder.mkdir()
        program = tuned.build(folder)
        tuned.check(program, learner, epsilon, BATCH, 20)
        start = make_trainer(make_config(learner=learner, epsilon=epsilon, batch=BATCH))
        warm = WARM_GAMES // BATCH
        rate = tuned.run(program, start, warm, warm=warm).values["games/s"]
        batches = math.ceil(rate * plan.seconds / BATCH)
        return lambda: tuned.run(program, start, batches, warm=warm).values

    return Contestant(prepare)


def peer(name: str) -> Contestant:
    """Another program, in a process and under an interpreter of its own; see `peers.py`."""
    return Contestant(lambda plan: lambda: run_peer(plan.peers, name, 2 * plan.seconds), "peer_rounds", dear=True)


def run_peer(interpreter: str, name: str, seconds: float) -> Values:
    """Return the output of `peers.py`.  Raises LookupError with its own line if the peer is not installed."""
    done = subprocess.run([interpreter, str(PEERS_SCRIPT), name, str(seconds)], capture_output=True, text=True)
    if done.returncode == 3:
        raise LookupError(done.stderr.strip().splitlines()[-1])
    if done.returncode:
        raise SystemExit(f"peers.py {name} failed: {done.stderr.strip()}")
    return dict(json.loads(done.stdout))


def learning(
    learner: str, batch: int, epsilon: float | None = None, engine: str = "walk", explore: str | None = None
) -> Contestant:
    """One thread that learns, kernels and tables warm; from the same games each time.

    The same games, since speed depends on them: the policy of `sutton-barto` wanders among equally good ones for ever,
    and with it, by up to half, how fast it is played.
    """

    def prepare(plan: Plan) -> Measure:
        trainer = warm_trainer(learner, batch, epsilon, engine, explore)
        seconds = stretch(trainer)
        games = games_in(trainer, plan.seconds)
        return lambda: {"games/s": games / seconds(games)}

    return Contestant(prepare)


def studied(engine: str, batch: int, seeds: int) -> Contestant:
    """A study of one setting of td on one thread: learners of 100,000 games, with its file and every judgement."""

    def prepare(plan: Plan) -> Measure:
        path = plan.folder / f"study-{engine}-{batch}.h5"

        def measure() -> Values:
            start = time.perf_counter()
            study(out=path, overwrite=True, batch=batch, engine=engine, games=GAMES, seeds=seeds, threads=1)
            return {"games/s": seeds * GAMES / (time.perf_counter() - start)}

        measure()
        return measure

    return Contestant(prepare)


def tallied(plan: Plan) -> Measure:
    """A study of many `menace` on two threads, with its file, in which results are counted and no table is judged."""
    path, seeds = plan.folder / "menaces.h5", max(1000, round(100_000 * plan.seconds))
    asked: dict[str, Any] = {"learner": "menace", "opponent": "optimal", "games": MENACE_GAMES, "tally": True}

    def measure() -> Values:
        start = time.perf_counter()
        study(out=path, overwrite=True, seeds=seeds, threads=2, **asked)
        return {"games/s": seeds * MENACE_GAMES / (time.perf_counter() - start)}

    measure()
    return measure


def kernel_alone(engine: str, batch: int, seeds: int) -> Contestant:
    """The same games as `studied`, by the kernel that plays and learns, and nothing else: making trainers is free."""

    def prepare(plan: Plan) -> Measure:
        config = make_config(batch=batch, engine=engine)

        def measure() -> Values:
            trainers = (make_trainer(replace(config, seed=seed)) for seed in range(seeds))
            return {"games/s": seeds * GAMES / sum(advance(trainer, GAMES) for trainer in trainers)}

        measure()
        return measure

    return Contestant(prepare)


def stretch(trainer: TableTrainer) -> Callable[[int], float]:
    """Return a function that times the next games of `trainer`, always from its present state."""
    state, batch = trainer.state(), int(trainer.config.batch)

    def seconds(games: int) -> float:
        again = make_trainer(trainer.config, state=state)
        advance(again, math.ceil(BATCH / batch) * batch)  # orders every row, which no batch within a run does
        return advance(again, games)

    return seconds


def network(board: str, threads: int = 1) -> Contestant:
    """Networks that learn from self-play, without proofs; each measurement goes on where the one before ended."""

    def prepare(plan: Plan) -> Measure:
        trainer = PatternTrainer(make_pattern_config(board=parse_board(board), seed=1), None, threads)
        advance(trainer, WARM_NETWORK_GAMES)
        rate, whole = WARM_NETWORK_GAMES / advance(trainer, WARM_NETWORK_GAMES), trainer.config.round
        games = max(1, round(rate * plan.seconds / whole)) * whole
        return lambda: {"games/s": games / advance(trainer, games)}

    return Contestant(prepare)


def flow_sizes(learner: str, epsilon: float | None = None) -> Contestant:
    """Milliseconds a batch of flow, by the batch's size, and those of the slowest size."""

    def prepare(plan: Plan) -> Measure:
        state = warm_trainer(learner, LARGE_BATCH, epsilon, "flow").state()
        trainers = [
            make_trainer(make_config(learner=learner, epsilon=epsilon, batch=size, engine="flow"), state=state)
            for size in FLOW_SIZES
        ]

        def measure() -> Values:
            spent = dict.fromkeys(FLOW_SIZES, 0.0)
            for trainer in trainers * FLOWS:
                trainer.games = 0  # no run is longer than the largest batch; the tables go on
                spent[trainer.config.batch] += advance(trainer, trainer.config.batch)
            values = {f"{size:.0e}": 1e3 * seconds / FLOWS for size, seconds in spent.items()}
            return values | {"slowest": max(values.values())}

        measure()
        return measure

    return Contestant(prepare)


def judging(learner: str, batch: int, board: str) -> Contestant:
    """A recorded point after 16,384 more games, on one thread and on two, in turn; and whether both agree."""

    def prepare(_: Plan) -> Measure:
        pair = [make_trainer(make_config(learner=learner, batch=batch, board=board), threads=n) for n in (1, 2)]
        for trainer in pair:
            trainer.judge()

        def measure() -> Values:
            seconds, points = [], []
            for trainer in pair:
                advance(trainer, BATCH)
                start = time.perf_counter()
                points.append(b"".join(number.tobytes() for number in trainer.judge().values()))
                seconds.append(time.perf_counter() - start)
            one, two = seconds
            return {"ms": 1e3 * two, "one/two": one / two, "same": float(points[0] == points[1])}

        return measure

    return Contestant(prepare)


def threads(learner: str, batch: int, epsilon: float | None = None, board: str = "3x3") -> Contestant:
    """The same games on one and on two threads, slice by slice in turn, and whether the tables agree.

    Beside them two runs that know nothing of each other, at once: what the two cores have to give at that moment.
    Where that is less than TWO_CORES times one run, the second core is not free, and nothing is said about it.
    All are made again for each measurement, in one order and in the other: the addresses of its arrays make a run up
    to 5 % faster than its twin.
    """

    def prepare(plan: Plan) -> Measure:
        warm = warm_trainer(learner, batch, epsilon, board=board)
        games = games_in(warm, plan.seconds / SLICES)
        state, orders = warm.state(), itertools.cycle([(0, 1, 2, 3), (3, 2, 1, 0)])

        def measure() -> Values:
            made = {i: make_trainer(warm.config, state=state, threads=2 if i == 1 else 1) for i in next(orders)}
            for trainer in made.values():
                advance(trainer, batch)

            def at_once() -> float:
                start = time.perf_counter()
                other = threading.Thread(target=advance, args=(made[2], games))
                other.start()
                advance(made[3], games)
                other.join()
                return time.perf_counter() - start

            ways = (lambda: advance(made[0], games), lambda: advance(made[1], games), at_once)
            seconds = [0.0, 0.0, 0.0]
            for turn in range(SLICES):
                for i in (0, 1, 2) if turn % 2 else (2, 1, 0):
                    seconds[i] += ways[i]()
            one, two = (b"".join(array.tobytes() for array in made[i].tables) for i in (0, 1))
            ratio, at_once_ratio = seconds[0] / seconds[1], 2 * seconds[0] / seconds[2]
            return {
                "two": SLICES * games / seconds[1],
                "two/one": ratio,
                "at once/one": at_once_ratio,
                "two/one, free": ratio if at_once_ratio >= TWO_CORES else math.nan,
                "same": float(one == two),
            }

        return measure

    return Contestant(prepare)


def long_run(plan: Plan) -> Measure:
    """Games/s from 10^7 games on and from 10^9 games on, in turn, and what memory grew by in between.

    Of `td`, whose policy settles: see `learning`.
    """
    trainer = warm_trainer("td", BATCH)
    games = games_in(trainer, plan.seconds / SLICES)
    times, memories = [], []
    for moment in (EARLY, LATE):
        advance(trainer, moment - trainer.games)
        times.append(stretch(trainer))
        memories.append(memory())

    def measure() -> Values:
        seconds = [0.0, 0.0]
        for turn in range(SLICES):
            for i in (0, 1) if turn % 2 else (1, 0):
                seconds[i] += times[i](games)
        early, late = (SLICES * games / spent for spent in seconds)
        return {"early": early, "late": late, "late/early": late / early, "megabytes": memories[1] - memories[0]}

    return measure


def memory() -> float:
    """Megabytes that this process holds; where the system does not tell, the most it ever held."""
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE") / 1e6
    except OSError:
        import resource

        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return peak * (1 if sys.platform == "darwin" else 1024) / 1e6


def random_play(plan: Plan) -> Measure:
    """Random games on one thread, nothing learnt."""
    board, warm = Board(), 1_000_000
    play_random_games(board, warm)

    def time_of(games: int) -> float:
        start = time.perf_counter()
        play_random_games(board, games)
        return time.perf_counter() - start

    games = round(warm * plan.seconds / time_of(warm))
    return lambda: {"games/s": games / time_of(games)}


def random_shares(plan: Plan) -> Measure:
    """Return how many standard deviations the results of random games are off, at most; another seed each time."""
    graph = enumerate_graph(Board())
    exact = match(graph, random_policy(graph), random_policy(graph))
    seeds = iter(range(1 << 31))

    def measure() -> Values:
        n = plan.random_games
        counts = play_random_games(Board(), n, seed=next(seeds), threads=available_threads())
        off = [
            (int(count) - n * share) / math.sqrt(n * share * (1 - share))
            for count, share in zip(counts, exact, strict=True)
        ]
        return {"games": n, "counts": counts.tolist(), "z": off, "largest |z|": max(map(abs, off))}

    return measure


def followed(seed: int, games: int, **options: Any) -> tuple[Recorder, list[float]]:
    """Return the record of one training in batches of BATCH on one thread, and the seconds up to each point."""
    trainer = make_trainer(make_config(batch=BATCH, seed=seed, horizon=games, **options))
    recorder = Recorder()
    seconds, start = list[float](), time.perf_counter()
    for point in points_of(trainer.batches, games):
        trainer.advance(point, lambda: False)
        recorder.record(trainer.games, 0.0, trainer.outcomes, trainer.judge())
        seconds.append(time.perf_counter() - start)
    return recorder, seconds


def settling(**options: Any) -> Contestant:
    """One more seed each time: games and seconds to the first proof, and to the one from which on all hold."""

    def prepare(plan: Plan) -> Measure:
        followed(0, SETTLE_GAMES, **options)
        seeds = iter(range(1 << 31))

        def measure() -> Values:
            recorder, seconds = followed(next(seeds), SETTLE_GAMES, **options)
            found, values = recorder.statistics(), Values()
            games, holds = found["games"], found["unbeatable"].all(axis=1)
            for name, when in (("first", first_proof), ("settled", settled_since)):
                (until,) = games_at(games[None], when(holds[None])).tolist()
                values[f"{name} games"] = until
                values[f"{name} seconds"] = math.inf if until == math.inf else seconds[games.tolist().index(until)]
            later = holds[games > values["first games"]]
            return values | {"later": later.mean() if later.size else math.nan}

        return measure

    return Contestant(prepare, "seeds")


def in_process(games: int) -> Contestant:
    """Playing, learning and judging of a short training, kernels loaded; another seed each time."""

    def prepare(plan: Plan) -> Measure:
        followed(0, games)
        seeds = iter(range(1 << 31))
        return lambda: {"seconds": followed(next(seeds), games)[1][-1]}

    return Contestant(prepare)


def given_games(games: int) -> Contestant:
    """A file of games: reading it, and reading and learning from it."""

    def prepare(plan: Plan) -> Measure:
        path = Path(plan.folder, "games.txt")
        ttt.train(games, epsilon=1.0, batch=BATCH, record=path)  # random play: games of all lengths

        def measure() -> Values:
            began = time.perf_counter()
            for _ in GameReader(Board(), occupied=False).read(GameFile(path)):
                pass
            read = time.perf_counter()
            ttt.learn_from(path, learner="td")
            return {"read": games / (read - began), "learnt": games / (time.perf_counter() - read)}

        measure()
        return measure

    return Contestant(prepare)


def environment() -> dict[str, str]:
    """That of the commands: Python may keep its bytecode, or every start would compile the sources of a checkout."""
    return {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}


def command(*arguments: str, cold: bool = False) -> Contestant:
    """A whole `ttt-batch` command from start to finish; cold: with an empty kernel cache each time."""
    beside = Path(sys.executable).with_name("ttt-batch")
    program = [str(beside)] if beside.exists() else [sys.executable, "-m", "ttt_batch"]
    watcher = [sys.executable, "-I", "-S", "-c", WATCH, *program, *arguments]

    def prepare(plan: Plan) -> Measure:
        def measure() -> Values:
            with tempfile.TemporaryDirectory(dir=plan.folder) as folder:
                out = ["--out", str(Path(folder, "run.h5"))] if arguments[0] == "train" else []
                around = environment() | ({"TTT_BATCH_CACHE_DIR": folder} if cold else {})
                done = subprocess.run([*watcher, *out], env=around, capture_output=True, text=True)
            if done.returncode:
                raise SystemExit(f"ttt-batch {' '.join(arguments)} failed: {done.stderr.strip()}")
            return dict(json.loads(done.stdout))

        if not cold:
            measure()  # fills the kernel cache and the system's file cache
        return measure

    return Contestant(prepare, "cold_rounds" if cold else "rounds")


def stages(plan: Plan) -> Measure:
    """Milliseconds of `train --games 100000` by stage; see `itemise.py`."""
    itemise(plan.folder, environment())
    return lambda: itemise(plan.folder, environment())


def warm_trainer(
    learner: str,
    batch: int,
    epsilon: float | None = None,
    engine: str = "walk",
    explore: str | None = None,
    board: str = "3x3",
) -> TableTrainer:
    """A trainer with compiled kernels, past the first batches, whose tables change most."""
    config = make_config(learner=learner, epsilon=epsilon, batch=batch, engine=engine, explore=explore, board=board)
    trainer = make_trainer(config)
    advance(trainer, batches_to_warm(trainer) * batch)
    return trainer


def batches_to_warm(trainer: TableTrainer) -> int:
    """Batches that settle the tables: so many games, or steps of flow, whose batches may be of any size."""
    return 20 if trainer.config.engine == "flow" else math.ceil(WARM_GAMES / int(trainer.config.batch))


def advance(trainer: TableTrainer | PatternTrainer, games: int) -> float:
    """Learn from `games` more games; return the seconds."""
    start = time.perf_counter()
    trainer.advance(trainer.games + games, lambda: False)
    return time.perf_counter() - start


def games_in(trainer: TableTrainer, seconds: float) -> int:
    """Games, in whole batches, that `trainer` learns from in about `seconds`."""
    batch, batches = int(trainer.config.batch), batches_to_warm(trainer)
    return max(1, int(batches * seconds / advance(trainer, batches * batch))) * batch


def contestants() -> dict[str, Contestant]:
    """Everything that can be measured, by name."""
    return {
        "textbook": Contestant(textbook),
        **{f"sutton-barto {epsilon}": learning("sutton-barto", BATCH, epsilon) for epsilon in (0.1, 0.3)},
        **{f"{name} batched": learning(name, BATCH) for name in LEARNERS},
        "td softmax": learning("td", BATCH, explore="softmax:0.1"),
        **{f"{name} sequential": learning(name, 1) for name in LEARNERS},
        **{f"tuned sutton-barto {epsilon}": hand_tuned("sutton-barto", epsilon) for epsilon in (0.1, 0.3, 0.01)},
        "tuned td 0.3": hand_tuned("td", 0.3),
        "flow sutton-barto 0.1": learning("sutton-barto", LARGE_BATCH, 0.1, "flow"),
        "flow sizes sutton-barto 0.1": flow_sizes("sutton-barto", 0.1),
        **{f"flow sizes {name}": flow_sizes(name) for name in LEARNERS},
        **{f"study {engine} {batch}": studied(engine, batch, seeds) for engine, batch, seeds, _ in STUDIES},
        **{f"kernel {engine} {batch}": kernel_alone(engine, batch, seeds) for engine, batch, seeds, _ in STUDIES},
        "tallied menaces": Contestant(tallied),
        "random play": Contestant(random_play),
        "random shares": Contestant(random_shares, "once"),
        **{name: peer(name) for name in PEERS},
        **{f"threads {batch}": threads("sutton-barto", batch, 0.1) for batch in (BATCH, LARGE_BATCH)},
        "threads 4x4x4": threads("td", BOARD_BATCH, board="4x4x4"),
        **{f"judging 4x4x4 {batch}": judging("td", batch, "4x4x4") for batch in (BATCH, 1)},
        **{f"network {board}": network(board) for board in NETWORKS},
        f"network {NETWORK_THREADS}, two threads": network(NETWORK_THREADS, threads=2),
        "long run": Contestant(long_run, "long"),
        "settling td": settling(),
        "settling sutton-barto 0.1": settling(learner="sutton-barto", epsilon=0.1),
        "in process": in_process(100_000),
        "given games": given_games(GIVEN_GAMES),
        "help": command("--help"),
        "learners": command("learners"),
        "train 100k": command("train", "--games", "100000"),
        "stages": Contestant(stages),
        "train 10M": command("train", "--games", "10000000"),
        "train 10M cold": command("train", "--games", "10000000", cold=True),
    }
